"""Generates isa_gen7.h, the C header of the instruction words of Gen7 and Gen7.5."""

from __future__ import annotations

from collections.abc import Iterable

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen6.messages import MathFunctionGen6
from gen4emu.isa import c_header
from gen4emu.isa.gen7 import GEN7
from gen4emu.isa.opcodes import Opcode, core_opcodes

UNDEFINED = 0xFF  # in a table of opcodes
LATER_MATH_FUNCTIONS = (MathFunctionGen6.INVM, MathFunctionGen6.RSQRTM)


def generate() -> str:
    """The whole header; its names start with gen7."""
    text = c_header.generate(GEN7, "gen7").removesuffix("#endif\n")
    tables = (("gen7", Gen.GEN7), ("gen75", Gen.GEN75))
    functions = [f for f in MathFunctionGen6 if f not in LATER_MATH_FUNCTIONS]
    return "\n".join([text, f"#define GEN7_OPCODE_UNDEFINED 0x{UNDEFINED:x}u\n", math_functions("gen7", functions),
                      *(opcode_table(name, gen) for name, gen in tables), "#endif\n"])


def math_functions(name: str, functions: Iterable[MathFunctionGen6]) -> str:
    lines = [f"    {name.upper()}_MATH_FUNCTION_{f.name} = {f.value}," for f in functions]
    return "\n".join([f"enum {name}_math_function {{", *lines, "};\n"])


def opcode_table(name: str, gen: Gen) -> str:
    """The core's opcodes by the numbers of a generation."""
    numbers = core_opcodes(gen)
    values = [f"{numbers.get(number, UNDEFINED)}" for number in range(max(Opcode) + 2)]
    rows = ["    " + ", ".join(values[i:i + 16]) + "," for i in range(0, len(values), 16)]
    return "\n".join([f"/* enum g4_opcode by the number of an opcode of {name}. */",
                      f"static const uint8_t {name}_opcodes[{len(values)}] = {{", *rows, "};\n"])
