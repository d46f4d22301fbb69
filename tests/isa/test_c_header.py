"""The generated header says the same as the tables: compiled and run."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

from gen4emu.hw.gen import Gen
from gen4emu.isa.c_header import generate
from gen4emu.isa.compaction import Compactor
from gen4emu.isa.gen4 import COMPACT, FIELDS, GEN4
from gen4emu.isa.opcodes import GEN4_FLAGS, OPCODES

ACCESSORS = [f for f in FIELDS if not f.reserved]


def run(tmp_path: Path, body: str, data: bytes) -> list[str]:
    (tmp_path / "isa.h").write_text(generate())
    source = tmp_path / "probe.c"
    source.write_text('#include "isa.h"\n#include <stdio.h>\nint main(void)\n{\n' + body + "    return 0;\n}\n")
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
    subprocess.run(["cc", *flags, "-o", tmp_path / "probe", source], check=True)
    return subprocess.run([tmp_path / "probe"], input=data, capture_output=True, check=True).stdout.decode().split("\n")


def test_every_accessor_reads_what_python_reads(tmp_path: Path) -> None:
    words = [random.Random(7).getrandbits(128) for _ in range(50)] + [0, (1 << 128) - 1]
    prints = "".join(f'        printf("%lld ", (long long)g4_inst_{f.name}(w));\n' for f in ACCESSORS)
    body = f"    uint32_t w[4];\n    while (fread(w, 16, 1, stdin) == 1) {{\n{prints}        puts(\"\");\n    }}\n"
    lines = run(tmp_path, body, b"".join(w.to_bytes(16, "little") for w in words))
    for word, line in zip(words, lines, strict=False):
        assert [int(v) for v in line.split()] == [f.get(word) for f in ACCESSORS]
    assert len(lines) == len(words) + 1


def test_compacted_words_expand_alike(tmp_path: Path) -> None:
    words = [random.Random(8).getrandbits(64) | 1 << 29 for _ in range(500)]
    body = ('    uint32_t c[2], w[4];\n    while (fread(c, 8, 1, stdin) == 1) {\n        g4_inst_expand(c, w);\n'
            '        printf("%08x%08x%08x%08x\\n", w[3], w[2], w[1], w[0]);\n    }\n')
    lines = run(tmp_path, body, b"".join(w.to_bytes(8, "little") for w in words))
    assert lines[:-1] == [f"{Compactor(GEN4, COMPACT).expand(w):032x}" for w in words]


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
    assert lines[:128] == expected
    assert lines[128] == "32 255 2 32"
