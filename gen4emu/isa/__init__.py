"""The instruction set of the execution units: decode, disassemble, assemble.

`decode`/`encode` turn words into `Instruction` values and back; `disassemble`, `listing` and `kernel_length` read
code; `assemble` writes it.  All of them take the device as a `gen4emu.hw.gen.Gen`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gen4emu.deferred import deferred

if TYPE_CHECKING:
    from gen4emu.isa.assembler import assemble, detect_syntax
    from gen4emu.isa.codec import compact, decode, decode_word, encode, encode_bytes
    from gen4emu.isa.disassembler import Line, disassemble, instructions, kernel_length, listing
    from gen4emu.isa.instruction import Instruction
    from gen4emu.isa.lexer import Syntax

__all__ = [
    "Instruction", "Line", "Syntax", "assemble", "compact", "decode", "decode_word", "detect_syntax", "disassemble",
    "encode", "encode_bytes", "instructions", "kernel_length", "listing",
]

__getattr__, __dir__ = deferred(__name__, {
    "gen4emu.isa.assembler": ("assemble", "detect_syntax"),
    "gen4emu.isa.codec": ("compact", "decode", "decode_word", "encode", "encode_bytes"),
    "gen4emu.isa.disassembler": ("Line", "disassemble", "instructions", "kernel_length", "listing"),
    "gen4emu.isa.instruction": ("Instruction",),
    "gen4emu.isa.lexer": ("Syntax",),
})
