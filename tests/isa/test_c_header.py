"""The generated header says the same as the tables: compiled and run."""

from __future__ import annotations

import random
import subprocess
from enum import IntEnum
from pathlib import Path

import pytest

from gen4emu.hw.gen import Gen
from gen4emu.isa import opcodes
from gen4emu.isa.c_header import RESERVED, generate
from gen4emu.isa.codec import Codec
from gen4emu.isa.encodings import encodings
from gen4emu.isa.fields import Encoding
from gen4emu.isa.gen4 import GEN4
from gen4emu.isa.gen8 import GEN8
from gen4emu.isa.opcodes import GEN4_FLAGS, OPCODES, OpcodeInfo, Shape, later_rows

EVERY = pytest.mark.parametrize("encoding", encodings(), ids=lambda e: e.name)


def run(tmp_path: Path, body: str, data: bytes, encoding: Encoding = GEN4) -> list[str]:
    (tmp_path / "isa.h").write_text(generate(encoding))
    source = tmp_path / "probe.c"
    source.write_text('#include "isa.h"\n#include <stdio.h>\nint main(void)\n{\n' + body + "    return 0;\n}\n")
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
    subprocess.run(["cc", *flags, "-o", tmp_path / "probe", source], check=True)
    return subprocess.run([tmp_path / "probe"], input=data, capture_output=True, check=True).stdout.decode().split("\n")


@EVERY
def test_every_accessor_reads_what_python_reads(encoding: Encoding, tmp_path: Path) -> None:
    accessors = [f for f in encoding.fields if not f.reserved]
    words = [random.Random(7).getrandbits(128) for _ in range(50)] + [0, (1 << 128) - 1]
    prints = "".join(f'        printf("%lld ", (long long)g4_inst_{f.name}(w));\n' for f in accessors)
    body = f"    uint32_t w[4];\n    while (fread(w, 16, 1, stdin) == 1) {{\n{prints}        puts(\"\");\n    }}\n"
    lines = run(tmp_path, body, b"".join(w.to_bytes(16, "little") for w in words), encoding)
    for word, line in zip(words, lines, strict=False):
        assert [int(v) % 2**64 for v in line.split()] == [f.get(word) % 2**64 for f in accessors]
    assert len(lines) == len(words) + 1


@EVERY
def test_compacted_words_expand_alike(encoding: Encoding, tmp_path: Path) -> None:
    rng = random.Random(8)
    opcodes = sorted(o.number for o in OPCODES if o.gens & encoding.gens)
    words = [rng.getrandbits(64) & ~0x7F | rng.choice(opcodes) | 1 << 29 for _ in range(1000)]
    body = ('    uint32_t c[2], w[4];\n    while (fread(c, 8, 1, stdin) == 1) {\n        g4_inst_expand(c, w);\n'
            '        printf("%08x%08x%08x%08x\\n", w[3], w[2], w[1], w[0]);\n    }\n')
    lines = run(tmp_path, body, b"".join(w.to_bytes(8, "little") for w in words), encoding)
    codec = Codec(encoding)
    assert lines[:-1] == [f"{codec.compactor(w).expand(w):032x}" for w in words]


@EVERY
def test_types_by_code(encoding: Encoding, tmp_path: Path) -> None:
    if encoding is GEN4:
        assert all(int(t) == code for code, t in encoding.register_types.items())
        return
    body = ('    for (unsigned i = 0; i < sizeof g4_register_types; i++)\n        printf("%u %u\\n", '
            'g4_register_types[i], g4_immediate_types[i]);\n')
    lines = run(tmp_path, body, b"", encoding)
    assert len(lines) - 1 == 1 << encoding.by_name["dst_type"].width
    for code, line in enumerate(lines[:-1]):
        types = (encoding.register_types.get(code, RESERVED), encoding.immediate_types.get(code, RESERVED))
        assert line == f"{int(types[0])} {int(types[1])}"


def test_a_prefix_starts_all_names() -> None:
    text = generate(GEN8, "g8")
    assert "g4_" not in text and "G4_" not in text and "static inline void g8_inst_expand(" in text


def test_the_core_may_have_an_opcode_of_gen9_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    row = OpcodeInfo("made_up", 0x7A, Shape.BINARY, gens=Gen.GEN9)
    monkeypatch.setattr(opcodes, "LaterOpcode", IntEnum("LaterOpcode", {"MADE_UP": 0x7A}))
    with pytest.raises(ValueError, match=r"^LaterOpcode.MADE_UP: no row of OPCODES .* is named 'made_up'$"):
        list(later_rows())
    monkeypatch.setattr(opcodes, "OPCODES", (*OPCODES, row))
    assert [found for _, found in later_rows()] == [row]


def test_opcode_and_code_tables(tmp_path: Path) -> None:
    body = ('    for (int i = 0; i < 128; i++)\n        printf("%s %u %u %u %u\\n", g4_opcode_info[i].gens ? '
            'g4_opcode_info[i].name : "-", g4_opcode_info[i].flags, g4_opcode_info[i].gens, g4_opcode_info[i].shape,'
            ' g4_opcode_info[i].sources);\n    printf("%u %u %u %u\\n", g4_vstride_elements[6], g4_vstride_elements[7],'
            ' g4_type_bytes[G4_TYPE_UW], g4_exec_size_channels[5]);\n')
    lines = run(tmp_path, body, b"")
    expected = ["- 0 0 0 0"] * 128
    for o in OPCODES:
        if gens := o.gens & Gen.ALL4:
            expected[o.number] = f"{o.name} {int(o.flags & GEN4_FLAGS)} {int(gens)} {int(o.shape)} {o.sources}"
    for opcode, o in later_rows():  # Gen4 does not have them
        assert expected[opcode] == "- 0 0 0 0"
        expected[opcode] = f"- {int(o.flags & GEN4_FLAGS)} 0 {int(o.shape)} {o.sources}"
    assert lines[:128] == expected
    assert lines[128] == "32 255 2 32"
