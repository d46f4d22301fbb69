"""The instructions of the toy: those of G45, but `line` has another number.  Generates isa_toy.h with the numbers."""

from __future__ import annotations

import struct

from gen4emu.hw.emit_c import guarded
from gen4emu.hw.gen import Gen
from gen4emu.isa.assembler import assemble as assemble_as
from gen4emu.isa.opcodes import OPCODES, Opcode

_NUMBERS = {o.number: o.number for o in OPCODES if o.gens & Gen.EL} | {Opcode.LINE: 0x70}
_INSTRUCTION_BYTES, _OPCODE_MASK = 16, 0x7F


def assemble(text: str) -> bytes:
    """Code without compacted instructions."""
    code = bytearray(assemble_as(text, Gen.EL))
    for at in range(0, len(code), _INSTRUCTION_BYTES):
        (word,) = struct.unpack_from("<I", code, at)
        struct.pack_into("<I", code, at, word & ~_OPCODE_MASK | _NUMBERS[word & _OPCODE_MASK])
    return bytes(code)


def generate() -> str:
    rows = [f"    [0x{number:02x}] = 0x{opcode:02x}," for opcode, number in sorted(_NUMBERS.items())]
    table = "\n".join(["static const uint8_t toy_opcode[128] = {", *rows, "};", ""])
    return guarded("gen4emu/isa/toy.py", "G4_ISA_TOY_H",
                   f"\n#include <stdint.h>\n\n/* G4_OPCODE_* by the number that the toy gives it. */\n{table}\n")
