"""Generates isa_gen9.h, the C header of the instruction words of Gen9."""

from __future__ import annotations

from gen4emu.hw.gen import Gen
from gen4emu.isa import c_header
from gen4emu.isa.gen7_c import LATER_MATH_FUNCTIONS, UNDEFINED, math_functions, opcode_table
from gen4emu.isa.gen9 import GEN9


def generate() -> str:
    """The whole header; its names start with gen9."""
    text = c_header.generate(GEN9, "gen9").removesuffix("#endif\n")
    return "\n".join([text, f"#define GEN9_OPCODE_UNDEFINED 0x{UNDEFINED:x}u\n",
                      math_functions("gen9", LATER_MATH_FUNCTIONS), opcode_table("gen9", Gen.GEN9), "#endif\n"])
