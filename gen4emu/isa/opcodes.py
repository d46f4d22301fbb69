"""The opcodes of the execution unit: number, first generation, operands, accumulator and flag behaviour.

The decoder, the assembler, the printer and the C header read this table.  The arithmetic of each opcode is in
native/eu/general.c.  The numbers are those of Mesa, src/intel/compiler/brw_eu.c.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag

from gen4emu.hw.gen import Gen


class Opcode(IntEnum):
    ILLEGAL = 0x00
    MOV = 0x01
    SEL = 0x02
    MOVI = 0x03
    NOT = 0x04
    AND = 0x05
    OR = 0x06
    XOR = 0x07
    SHR = 0x08
    SHL = 0x09
    ASR = 0x0C
    CMP = 0x10
    CMPN = 0x11
    JMPI = 0x20
    IF = 0x22
    IFF = 0x23
    ELSE = 0x24
    ENDIF = 0x25
    DO = 0x26
    WHILE = 0x27
    BREAK = 0x28
    CONT = 0x29
    HALT = 0x2A
    MSAVE = 0x2C
    MREST = 0x2D
    PUSH = 0x2E
    POP = 0x2F
    WAIT = 0x30
    SEND = 0x31
    ADD = 0x40
    MUL = 0x41
    AVG = 0x42
    FRC = 0x43
    RNDU = 0x44
    RNDD = 0x45
    RNDE = 0x46
    RNDZ = 0x47
    MAC = 0x48
    MACH = 0x49
    LZD = 0x4A
    SAD2 = 0x50
    SADA2 = 0x51
    DP4 = 0x54
    DPH = 0x55
    DP3 = 0x56
    DP2 = 0x57
    LINE = 0x59
    PLN = 0x5A
    NENOP = 0x7D
    NOP = 0x7E


class Shape(IntEnum):
    """The operands of an opcode, in the word and in assembly text."""

    NONE = 0  # nothing: nop
    UNARY = 1  # destination, one source
    BINARY = 2  # destination, two sources
    SEND = 3  # first message register, destination, implied move source, descriptor
    JUMP = 4  # ip += index, an immediate or a register
    BRANCH = 5  # jump count and pop count in DW3; destination and sources are implied
    BARE = 6  # do: implied null operands, nothing is written
    WAIT = 7  # one notification register, source and destination


class Flag(IntFlag):
    """Modifiers that an opcode may have, and its effects besides the destination."""

    COND_MOD = 1  # takes a condition modifier
    SATURATE = 2  # takes .sat
    ACC_WRITE = 4  # writes the accumulator implicitly
    ACC_READ = 8  # reads the accumulator implicitly
    BRANCH = 16  # may change ip by other means than its destination
    JUMP_NEXT = 32  # its jump count starts from the following instruction, not from itself
    POPS = 64  # its pop count matters
    FLOAT = 128  # float sources only
    INTEGER = 256  # integer sources only
    NO_PREDICATE = 512
    NEEDS_PREDICATE = 1024  # the predicate selects, it does not gate
    GROUP4 = 2048  # works on 4-tuples of channels


_NO_FLAGS = Flag(0)
_GENERATIONS = (Gen.GEN4, Gen.GEN45)  # in order


@dataclass(frozen=True, slots=True)
class OpcodeInfo:
    """An opcode; `since` is the first generation that has it, `until` the last one."""

    opcode: Opcode
    shape: Shape
    flags: Flag = _NO_FLAGS
    since: Gen = _GENERATIONS[0]
    until: Gen = _GENERATIONS[-1]

    @property
    def gens(self) -> Gen:
        """All devices that have the opcode."""
        found = Gen(0)
        for generation in _GENERATIONS[_GENERATIONS.index(self.since):_GENERATIONS.index(self.until) + 1]:
            found |= generation
        return found

    @property
    def name(self) -> str:
        return self.opcode.name.lower()

    @property
    def sources(self) -> int:
        return _SOURCES[self.shape]


_SOURCES = {Shape.NONE: 0, Shape.UNARY: 1, Shape.BINARY: 2, Shape.SEND: 2, Shape.JUMP: 2, Shape.BRANCH: 0,
            Shape.BARE: 0, Shape.WAIT: 1}

_CM, _SAT, _ACCW, _ACCR = Flag.COND_MOD, Flag.SATURATE, Flag.ACC_WRITE, Flag.ACC_READ
_ALU = _CM | _SAT
_ARITH = _CM | _SAT | _ACCW
_FLOW = Flag.BRANCH

OPCODES: tuple[OpcodeInfo, ...] = (
    OpcodeInfo(Opcode.ILLEGAL, Shape.NONE),
    OpcodeInfo(Opcode.MOV, Shape.UNARY, _ALU),
    OpcodeInfo(Opcode.SEL, Shape.BINARY, _SAT | Flag.NEEDS_PREDICATE),
    OpcodeInfo(Opcode.MOVI, Shape.UNARY, _SAT, since=Gen.GEN45),
    OpcodeInfo(Opcode.NOT, Shape.UNARY, _CM | Flag.INTEGER),
    OpcodeInfo(Opcode.AND, Shape.BINARY, _CM | Flag.INTEGER),
    OpcodeInfo(Opcode.OR, Shape.BINARY, _CM | Flag.INTEGER),
    OpcodeInfo(Opcode.XOR, Shape.BINARY, _CM | Flag.INTEGER),
    OpcodeInfo(Opcode.SHR, Shape.BINARY, _ALU | Flag.INTEGER),
    OpcodeInfo(Opcode.SHL, Shape.BINARY, _ALU | Flag.INTEGER),
    OpcodeInfo(Opcode.ASR, Shape.BINARY, _ALU | Flag.INTEGER),
    OpcodeInfo(Opcode.CMP, Shape.BINARY, _CM),
    OpcodeInfo(Opcode.CMPN, Shape.BINARY, _CM),
    OpcodeInfo(Opcode.JMPI, Shape.JUMP, _FLOW | Flag.JUMP_NEXT),
    OpcodeInfo(Opcode.IF, Shape.BRANCH, _FLOW),
    OpcodeInfo(Opcode.IFF, Shape.BRANCH, _FLOW),
    OpcodeInfo(Opcode.ELSE, Shape.BRANCH, _FLOW | Flag.POPS | Flag.NO_PREDICATE),
    OpcodeInfo(Opcode.ENDIF, Shape.BRANCH, Flag.POPS | Flag.NO_PREDICATE),
    OpcodeInfo(Opcode.DO, Shape.BARE, Flag.NO_PREDICATE),
    OpcodeInfo(Opcode.WHILE, Shape.BRANCH, _FLOW),
    OpcodeInfo(Opcode.BREAK, Shape.BRANCH, _FLOW | Flag.POPS),
    OpcodeInfo(Opcode.CONT, Shape.BRANCH, _FLOW | Flag.POPS),
    OpcodeInfo(Opcode.HALT, Shape.BRANCH, _FLOW),
    OpcodeInfo(Opcode.MSAVE, Shape.UNARY),
    OpcodeInfo(Opcode.MREST, Shape.UNARY),
    OpcodeInfo(Opcode.PUSH, Shape.UNARY),
    OpcodeInfo(Opcode.POP, Shape.BINARY),
    OpcodeInfo(Opcode.WAIT, Shape.WAIT),
    OpcodeInfo(Opcode.SEND, Shape.SEND),
    OpcodeInfo(Opcode.ADD, Shape.BINARY, _ARITH),
    OpcodeInfo(Opcode.MUL, Shape.BINARY, _ARITH),
    OpcodeInfo(Opcode.AVG, Shape.BINARY, _ARITH | Flag.INTEGER),
    OpcodeInfo(Opcode.FRC, Shape.UNARY, _ARITH | Flag.FLOAT),
    OpcodeInfo(Opcode.RNDU, Shape.UNARY, _ARITH | Flag.FLOAT),
    OpcodeInfo(Opcode.RNDD, Shape.UNARY, _ARITH | Flag.FLOAT),
    OpcodeInfo(Opcode.RNDE, Shape.UNARY, _ARITH | Flag.FLOAT),
    OpcodeInfo(Opcode.RNDZ, Shape.UNARY, _ARITH | Flag.FLOAT),
    OpcodeInfo(Opcode.MAC, Shape.BINARY, _ARITH | _ACCR),
    OpcodeInfo(Opcode.MACH, Shape.BINARY, _ARITH | _ACCR | Flag.INTEGER),
    OpcodeInfo(Opcode.LZD, Shape.UNARY, _ARITH | Flag.INTEGER),
    OpcodeInfo(Opcode.SAD2, Shape.BINARY, _ARITH | Flag.INTEGER),
    OpcodeInfo(Opcode.SADA2, Shape.BINARY, _ARITH | _ACCR | Flag.INTEGER),
    OpcodeInfo(Opcode.DP4, Shape.BINARY, _ARITH | Flag.GROUP4),
    OpcodeInfo(Opcode.DPH, Shape.BINARY, _ARITH | Flag.FLOAT | Flag.GROUP4),
    OpcodeInfo(Opcode.DP3, Shape.BINARY, _ARITH | Flag.FLOAT | Flag.GROUP4),
    OpcodeInfo(Opcode.DP2, Shape.BINARY, _ARITH | Flag.FLOAT | Flag.GROUP4),
    OpcodeInfo(Opcode.LINE, Shape.BINARY, _ARITH | Flag.FLOAT),
    OpcodeInfo(Opcode.PLN, Shape.BINARY, _ARITH | Flag.FLOAT, since=Gen.GEN45),
    OpcodeInfo(Opcode.NENOP, Shape.NONE, since=Gen.GEN45),
    OpcodeInfo(Opcode.NOP, Shape.NONE),
)

BY_NAME: dict[str, OpcodeInfo] = {o.name: o for o in OPCODES}


# Integers, because `&` of two Flag members takes longer than the rest of a lookup.
_ROWS: dict[int, tuple[OpcodeInfo, int]] = {int(o.opcode): (o, int(o.gens)) for o in OPCODES}


def opcode_info(code: int, gen: Gen) -> OpcodeInfo | None:
    """The row of an opcode number, or None if the device does not have the opcode."""
    row = _ROWS.get(code)
    return row[0] if row is not None and row[1] & int(gen) else None
