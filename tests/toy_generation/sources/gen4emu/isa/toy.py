"""The instructions of the toy: those of G45, but `line` has another number.  Generates isa_toy.h with the numbers."""

from __future__ import annotations

from gen4emu.hw.emit_c import guarded
from gen4emu.hw.gen import Gen
from gen4emu.isa.gen4 import GEN4
from gen4emu.isa.opcodes import OPCODES, Opcode

TOY = GEN4.derive("toy", Gen.TOY)


def generate() -> str:
    rows = [f"    [0x{o.number:02x}] = 0x{Opcode[o.name.upper()]:02x}," for o in OPCODES if o.gens & Gen.TOY]
    table = "\n".join(["static const uint8_t toy_opcode[128] = {", *rows, "};", ""])
    return guarded("gen4emu/isa/toy.py", "G4_ISA_TOY_H",
                   f"\n#include <stdint.h>\n\n/* G4_OPCODE_* by the number that the toy gives it. */\n{table}\n")
