"""The generated C headers: they compile without a warning and unpack every layout to what the Python view shows."""

from __future__ import annotations

import random
import re
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gen4emu.hw import c_header, catalogue, formats_c, message_shapes_c
from gen4emu.hw.c_header import member
from gen4emu.hw.emit_c import c_name
from gen4emu.hw.fields import Const, Field, Fixed, Float, Mbz
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block, Message
from tests.hw.everything import random_dwords

NATIVE = Path(__file__).resolve().parents[2] / "native"
HEADERS = {"hw_enums.h": c_header.enumerations, "hw_messages.h": c_header.messages, "hw_state.h": c_header.state,
           "hw_formats.h": formats_c.generate, "sampler_messages.h": message_shapes_c.generate}
WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
FAMILY = catalogue.FAMILIES[0]
LAYOUTS = FAMILY.layouts

# Prints every member as 64 bits, whatever its type; the type is the compiler's word and not this test's.
PRELUDE = """
#include <stdio.h>
#include "hw_enums.h"
#include "hw_formats.h"
#include "hw_messages.h"
#include "hw_state.h"
#include "sampler_messages.h"

static void put(uint64_t bits) { fwrite(&bits, sizeof bits, 1, stdout); }
static void put_unsigned(uint64_t v) { put(v); }
static void put_signed(int64_t v) { put((uint64_t)v); }
static void put_float(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    put(bits);
}
#define PUT(v) _Generic((v), float: put_float, int32_t: put_signed, int64_t: put_signed, default: put_unsigned)(v)
"""

MAIN = """
int main(void)
{
    uint32_t head[3], dw[1024];
    while (fread(head, sizeof head, 1, stdin) == 1) {
        if (head[2] > 1024 || fread(dw, 4, head[2], stdin) != head[2] || head[0] >= sizeof table / sizeof *table)
            return 1;
        table[head[0]](dw, head[1]);
    }
    return 0;
}
"""


def parts_of(block: Block) -> Iterator[Gen]:
    return (part for part in FAMILY.parts if part & block.gens)


def fields_by_member(block: Block) -> dict[str, list[Field]]:
    found: dict[str, list[Field]] = {}
    for f in block.all_fields:
        if not isinstance(f, Mbz | Const):
            found.setdefault(member(f), []).append(f)
    return found


def member_paths(block: Block, path: str = "s") -> Iterator[str]:
    for name in fields_by_member(block):
        yield f"{path}.{name}"
    for a in block.all_arrays:
        for i in range(a.count or 0):
            yield from member_paths(a.item, f"{path}.{a.name}[{i}]")


def member_values(block: Block, words: list[int], at: int, part: Gen) -> Iterator[int]:
    """The output expected of C, in the order of `member_paths`."""
    for fields in fields_by_member(block).values():
        here = [f for f in fields if f.gens & part]
        yield c_value(here[0], here[0].extract(words, at)) if here else 0
    for a in block.all_arrays:
        for i in range(a.count or 0):
            if a.gens & part:
                yield from member_values(a.item, words, at + a.dword + i * a.item.size(part), part)
            else:
                yield from (0 for _ in member_paths(a.item))


def c_value(f: Field, raw: int) -> int:
    if isinstance(f, Float):
        return raw
    if isinstance(f, Fixed):
        return (raw - (1 << f.width) if f.signed and raw >> (f.width - 1) else raw) & 2**64 - 1
    return int(f.decode(raw)) & 2**64 - 1


def accessor_calls(block: Block) -> Iterator[str]:
    """A call of the accessor of every member; it has a parameter `gen` only where generations differ."""
    source = "dw[0]" if isinstance(block, Message) or block.name == "MESSAGE_DESCRIPTOR" else "dw"
    for name, fields in fields_by_member(block).items():
        places = {(f.dword, f.hi, f.lo) for f in fields}
        gens = Gen(0)
        for f in fields:
            gens |= f.gens & block.gens
        same = len(places) == 1 and gens == block.gens
        yield f"g4_{c_name(block.name)}_{name}({source}{'' if same else ', gen'})"


def program() -> str:
    functions = []
    for i, block in enumerate(LAYOUTS):
        name = f"g4_{c_name(block.name)}"
        puts = "".join(f"    PUT({path});\n" for path in member_paths(block))
        if c_header.is_accessible(block):
            puts += "".join(f"    PUT({call});\n" for call in accessor_calls(block))
        functions.append(f"static void show_{i}(const uint32_t *dw, uint32_t gen)\n{{\n    struct {name} s;\n"
                         f"    {name}_unpack(dw, gen, &s);\n{puts}}}\n")
    entries = ", ".join(f"show_{i}" for i in range(len(LAYOUTS)))
    table = f"static void (*const table[])(const uint32_t *, uint32_t) = {{ {entries} }};\n"
    return PRELUDE + "\n".join(functions) + table + MAIN


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("header")
    for name, generate in HEADERS.items():
        (folder / name).write_text(generate())
    (folder / "show.c").write_text(program())
    return folder


def compile_with(compiler: str, folder: Path, *options: str) -> None:
    command = [compiler, *WARNINGS, "-I", str(NATIVE), *options, "show.c"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]


def test_a_compiler_is_there() -> None:
    assert COMPILERS


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_headers_compile_without_a_warning(compiler: str, sources: Path) -> None:
    compile_with(compiler, sources, "-fsyntax-only")


@pytest.mark.parametrize("name", HEADERS)
def test_each_header_compiles_alone(name: str, tmp_path: Path) -> None:
    (tmp_path / "show.c").write_text(HEADERS[name]())
    compile_with(COMPILERS[0], tmp_path, "-fsyntax-only", "-Wno-unused-const-variable")


def test_messages_and_thread_payloads_are_apart_from_commands_and_state() -> None:
    messages, state = structs(c_header.messages()), structs(c_header.state())
    assert messages.isdisjoint(state)
    assert messages | state == {f"g4_{c_name(block.name)}" for block in LAYOUTS}
    assert {"g4_sampler_message", "g4_payload_ps_r1", "g4_subspan_bytes", "g4_vertex_header"} <= messages
    assert {"g4_3dprimitive", "g4_surface_state", "g4_vertex_element_state", "g4_instdone1"} <= state


def structs(header: str) -> set[str]:
    return set(re.findall(r"^struct (\w+) \{", header, re.MULTILINE))


def test_c_unpacks_and_reads_what_python_shows(sources: Path) -> None:
    compile_with(COMPILERS[0], sources, "-O0", "-o", "show")
    rng = random.Random(4)
    cases = [(i, part, words) for i, block in enumerate(LAYOUTS) for part in parts_of(block)
             for words in random_dwords(block, part, rng)]
    data = b"".join(struct.pack(f"<3I{len(words)}I", i, part, len(words), *words) for i, part, words in cases)
    done = subprocess.run([str(sources / "show")], input=data, capture_output=True, timeout=60, check=True)
    shown = iter(struct.unpack(f"<{len(done.stdout) // 8}Q", done.stdout))
    for i, part, words in cases:
        block = LAYOUTS[i]
        paths, values = [*member_paths(block)], [*member_values(block, words, 0, part)]
        if c_header.is_accessible(block):
            calls = [*accessor_calls(block)]
            paths, values = paths + calls, values + values[:len(calls)]
        for path, expected in zip(paths, values, strict=True):
            got = next(shown)
            assert got == expected, f"{block.name}: {path} on {part!r}: C 0x{got:x}, Python 0x{expected:x}"
    assert next(shown, None) is None


def test_numbers_that_c_needs_are_defined() -> None:
    text = c_header.enumerations() + c_header.state()
    for line in (
        "#define G4_CMD_MI_BATCH_BUFFER_END 0x05000000u",
        "#define G4_CMD_XY_SRC_COPY_BLT 0x54c00000u",
        "#define G4_CMD_PIPE_CONTROL 0x7a000000u",
        "#define G4_CMD_PIPELINE_SELECT_GEN4 0x61040000u",
        "#define G4_CMD_PIPELINE_SELECT_GEN45 0x69040000u",
        "#define G4_REG_PS_DEPTH_COUNT 0x2350u",
        "#define G4_GEN_GEN45 12u",
        "    G4_POST_SYNC_OPERATION_WRITE_PS_DEPTH_COUNT = 2,",
    ):
        assert line in text.splitlines()


def test_a_macro_is_defined_once() -> None:
    macros = [line.split()[1] for generate in HEADERS.values() for line in generate().splitlines()
              if line.startswith("#define ")]
    assert sorted(set(macros)) == sorted(macros)


def test_fixed_point_members_say_their_format() -> None:
    assert member(Fixed("lod_bias", 0, 10, 0, signed=True, frac=6)) == "lod_bias_s4_6"
    assert member(Fixed("slope", 0, 7, 0, frac=8)) == "slope_u0_8"


@pytest.mark.parametrize("generate", HEADERS.values(), ids=HEADERS)
def test_a_header_is_the_same_each_time(generate: Callable[[], str]) -> None:
    assert generate() == generate()
