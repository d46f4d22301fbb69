"""The opcodes of the execution unit: number, generations, operands, accumulator and flag behaviour.

The decoder, the assembler, the printer and the C header read this table.  The arithmetic of each opcode is in
native/eu/general.c.  The numbers are those of Mesa, src/intel/compiler/brw_eu.c.  Later generations use some numbers of
Gen4 for other opcodes, so a number or a name means an opcode together with a device (`opcode_info`, `opcode_named`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag

from gen4emu.hw.gen import Gen


class Opcode(IntEnum):
    """The opcodes of Gen4 and Gen4.5."""

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


class LaterOpcode(IntEnum):
    """The opcodes of Gen7 to Gen9 that Gen4 does not have, or has with another meaning.

    The values are the numbers by which the C core knows them beside those of Gen4: their own numbers where Gen4 has no
    opcode, else numbers that no part uses.
    """

    DIM = 0x0A
    F32TO16 = 0x13
    F16TO32 = 0x14
    BFREV = 0x17
    BFE = 0x18
    BFI1 = 0x19
    BFI2 = 0x1A
    BRD = 0x21
    MATH = 0x38
    FBH = 0x4B
    FBL = 0x4C
    CBIT = 0x4D
    ADDC = 0x4E
    SUBB = 0x4F
    MAD = 0x5B
    LRP = 0x5C
    BRC = 0x60  # 0x23 is iff on Gen4
    CALL = 0x61  # msave
    RET = 0x62  # mrest
    ROUND_EVEN = 0x63  # rnde, but complete in one instruction
    TRUNCATE = 0x64  # rndz, too
    FRACTION = 0x65  # frc, but below 1 in any rounding mode
    CSEL = 0x66
    GOTO = 0x67  # push
    JOIN = 0x68  # pop


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
    # since Gen6
    MATH = 8  # destination, two sources; the condition modifier is the function
    TERNARY = 9  # destination, three sources
    BRANCH_JIP = 10  # one jump count
    BRANCH_JIP_UIP = 11  # two jump counts
    BRANCH_COMPARE = 12  # one jump count and two sources, which it may compare
    SPLIT_SEND = 13  # destination, two payloads, descriptor, extended descriptor
    WAIT_DESTINATION = 14  # as WAIT, but text has the destination


class Flag(IntFlag):
    """Modifiers that an opcode may have, and its effects besides the destination."""

    COND_MOD = 1  # takes a condition modifier
    SATURATE = 2  # takes .sat
    ACC_WRITE = 4  # writes the accumulator implicitly (since Gen6 only with AccWrEnable)
    ACC_READ = 8  # reads the accumulator implicitly
    BRANCH = 16  # may change ip by other means than its destination
    JUMP_NEXT = 32  # its jump count starts from the following instruction, not from itself
    POPS = 64  # its pop count matters
    FLOAT = 128  # float sources only
    INTEGER = 256  # integer sources only
    NO_PREDICATE = 512
    NEEDS_PREDICATE = 1024  # the predicate selects, it does not gate
    GROUP4 = 2048  # works on 4-tuples of channels
    # since Gen6
    LOGIC = 4096  # a negated source may be a complement (Encoding.negation_complements)
    NO_FLAG_WRITE = 8192  # a condition modifier selects or branches, and no flag is written
    BRANCH_CONTROL = 16384  # the bit of AccWrEn is BranchCtrl (Gen8)
    IMMEDIATE64 = 32768  # an immediate source has 64 bits whatever its type


_NO_FLAGS = Flag(0)
GEN4_FLAGS = Flag(Flag.LOGIC - 1)  # those that mean something on Gen4


_GEN8_ON = Gen.GEN8 | Gen.GEN9
_GEN75_ON = Gen.GEN75 | _GEN8_ON
_GEN7_ON = Gen.GEN7 | _GEN75_ON
_GEN6_ON = Gen.GEN6 | _GEN7_ON
_ALL_PARTS = Gen.ALL4 | _GEN6_ON


@dataclass(frozen=True, slots=True)
class OpcodeInfo:
    """An opcode of the parts `gens`."""

    name: str
    number: int
    shape: Shape
    flags: Flag = _NO_FLAGS
    gens: Gen = _ALL_PARTS
    flag_bits: int = field(init=False)  # flags as a plain integer, whose `&` takes a tenth of the time

    def __post_init__(self) -> None:
        object.__setattr__(self, "flag_bits", int(self.flags))

    @property
    def sources(self) -> int:
        return _SOURCES[self.shape]


_SOURCES = {Shape.NONE: 0, Shape.UNARY: 1, Shape.BINARY: 2, Shape.SEND: 2, Shape.JUMP: 2, Shape.BRANCH: 0,
            Shape.BARE: 0, Shape.WAIT: 1, Shape.MATH: 2, Shape.TERNARY: 3, Shape.BRANCH_JIP: 0,
            Shape.BRANCH_JIP_UIP: 0, Shape.BRANCH_COMPARE: 2, Shape.SPLIT_SEND: 2,
            Shape.WAIT_DESTINATION: 0}

_CM, _SAT, _ACCW, _ACCR = Flag.COND_MOD, Flag.SATURATE, Flag.ACC_WRITE, Flag.ACC_READ
_ALU = _CM | _SAT
_ARITH = _CM | _SAT | _ACCW
_FLOW = Flag.BRANCH
_LOGIC = _CM | Flag.INTEGER | Flag.LOGIC


OPCODES: tuple[OpcodeInfo, ...] = (
    OpcodeInfo("illegal", Opcode.ILLEGAL, Shape.NONE),
    OpcodeInfo("mov", Opcode.MOV, Shape.UNARY, _ALU),
    OpcodeInfo("sel", Opcode.SEL, Shape.BINARY, _SAT | Flag.NEEDS_PREDICATE, gens=Gen.ALL4),
    OpcodeInfo("movi", Opcode.MOVI, Shape.UNARY, _SAT, gens=Gen.GEN45 | _GEN6_ON),
    OpcodeInfo("not", Opcode.NOT, Shape.UNARY, _LOGIC),
    OpcodeInfo("and", Opcode.AND, Shape.BINARY, _LOGIC),
    OpcodeInfo("or", Opcode.OR, Shape.BINARY, _LOGIC),
    OpcodeInfo("xor", Opcode.XOR, Shape.BINARY, _LOGIC),
    OpcodeInfo("shr", Opcode.SHR, Shape.BINARY, _ALU | Flag.INTEGER),
    OpcodeInfo("shl", Opcode.SHL, Shape.BINARY, _ALU | Flag.INTEGER),
    OpcodeInfo("asr", Opcode.ASR, Shape.BINARY, _ALU | Flag.INTEGER),
    OpcodeInfo("cmp", Opcode.CMP, Shape.BINARY, _CM),
    OpcodeInfo("cmpn", Opcode.CMPN, Shape.BINARY, _CM),
    OpcodeInfo("jmpi", Opcode.JMPI, Shape.JUMP, _FLOW | Flag.JUMP_NEXT),
    OpcodeInfo("if", Opcode.IF, Shape.BRANCH, _FLOW, gens=Gen.ALL4),
    OpcodeInfo("iff", Opcode.IFF, Shape.BRANCH, _FLOW, gens=Gen.ALL4),
    OpcodeInfo("else", Opcode.ELSE, Shape.BRANCH, _FLOW | Flag.POPS | Flag.NO_PREDICATE, gens=Gen.ALL4),
    OpcodeInfo("endif", Opcode.ENDIF, Shape.BRANCH, Flag.POPS | Flag.NO_PREDICATE, gens=Gen.ALL4),
    OpcodeInfo("do", Opcode.DO, Shape.BARE, Flag.NO_PREDICATE, gens=Gen.ALL4),
    OpcodeInfo("while", Opcode.WHILE, Shape.BRANCH, _FLOW, gens=Gen.ALL4),
    OpcodeInfo("break", Opcode.BREAK, Shape.BRANCH, _FLOW | Flag.POPS, gens=Gen.ALL4),
    OpcodeInfo("cont", Opcode.CONT, Shape.BRANCH, _FLOW | Flag.POPS, gens=Gen.ALL4),
    OpcodeInfo("halt", Opcode.HALT, Shape.BRANCH, _FLOW, gens=Gen.ALL4),
    OpcodeInfo("msave", Opcode.MSAVE, Shape.UNARY, gens=Gen.ALL4),
    OpcodeInfo("mrest", Opcode.MREST, Shape.UNARY, gens=Gen.ALL4),
    OpcodeInfo("push", Opcode.PUSH, Shape.UNARY, gens=Gen.ALL4),
    OpcodeInfo("pop", Opcode.POP, Shape.BINARY, gens=Gen.ALL4),
    OpcodeInfo("wait", Opcode.WAIT, Shape.WAIT, gens=Gen.ALL4),
    OpcodeInfo("send", Opcode.SEND, Shape.SEND, gens=Gen.ALL4),
    OpcodeInfo("add", Opcode.ADD, Shape.BINARY, _ARITH),
    OpcodeInfo("mul", Opcode.MUL, Shape.BINARY, _ARITH),
    OpcodeInfo("avg", Opcode.AVG, Shape.BINARY, _ARITH | Flag.INTEGER),
    OpcodeInfo("frc", Opcode.FRC, Shape.UNARY, _ARITH | Flag.FLOAT),
    OpcodeInfo("rndu", Opcode.RNDU, Shape.UNARY, _ARITH | Flag.FLOAT),
    OpcodeInfo("rndd", Opcode.RNDD, Shape.UNARY, _ARITH | Flag.FLOAT),
    OpcodeInfo("rnde", Opcode.RNDE, Shape.UNARY, _ARITH | Flag.FLOAT),
    OpcodeInfo("rndz", Opcode.RNDZ, Shape.UNARY, _ARITH | Flag.FLOAT),
    OpcodeInfo("mac", Opcode.MAC, Shape.BINARY, _ARITH | _ACCR),
    OpcodeInfo("mach", Opcode.MACH, Shape.BINARY, _ARITH | _ACCR | Flag.INTEGER),
    OpcodeInfo("lzd", Opcode.LZD, Shape.UNARY, _ARITH | Flag.INTEGER),
    OpcodeInfo("sad2", Opcode.SAD2, Shape.BINARY, _ARITH | Flag.INTEGER),
    OpcodeInfo("sada2", Opcode.SADA2, Shape.BINARY, _ARITH | _ACCR | Flag.INTEGER),
    OpcodeInfo("dp4", Opcode.DP4, Shape.BINARY, _ARITH | Flag.GROUP4),
    OpcodeInfo("dph", Opcode.DPH, Shape.BINARY, _ARITH | Flag.FLOAT | Flag.GROUP4),
    OpcodeInfo("dp3", Opcode.DP3, Shape.BINARY, _ARITH | Flag.FLOAT | Flag.GROUP4),
    OpcodeInfo("dp2", Opcode.DP2, Shape.BINARY, _ARITH | Flag.FLOAT | Flag.GROUP4),
    OpcodeInfo("line", Opcode.LINE, Shape.BINARY, _ARITH | Flag.FLOAT),
    OpcodeInfo("pln", Opcode.PLN, Shape.BINARY, _ARITH | Flag.FLOAT, gens=Gen.GEN45 | _GEN6_ON),
    OpcodeInfo("nenop", Opcode.NENOP, Shape.NONE, gens=Gen.GEN45),
    OpcodeInfo("nop", Opcode.NOP, Shape.NONE),
    # --- Gen6 and later ---
    OpcodeInfo("sel", 0x02, Shape.BINARY, _CM | _SAT | Flag.NO_FLAG_WRITE, gens=_GEN6_ON),
    OpcodeInfo("dim", 0x0A, Shape.UNARY, Flag.IMMEDIATE64, gens=Gen.GEN75),
    OpcodeInfo("smov", 0x0A, Shape.BINARY, gens=_GEN8_ON),
    OpcodeInfo("csel", 0x12, Shape.TERNARY, _CM | _SAT | Flag.NO_FLAG_WRITE, gens=_GEN8_ON),
    OpcodeInfo("f32to16", 0x13, Shape.UNARY, _ALU, gens=Gen.GEN7 | Gen.GEN75),
    OpcodeInfo("f16to32", 0x14, Shape.UNARY, _ALU, gens=Gen.GEN7 | Gen.GEN75),
    OpcodeInfo("bfrev", 0x17, Shape.UNARY, Flag.INTEGER, gens=_GEN7_ON),
    OpcodeInfo("bfe", 0x18, Shape.TERNARY, Flag.INTEGER, gens=_GEN7_ON),
    OpcodeInfo("bfi1", 0x19, Shape.BINARY, Flag.INTEGER, gens=_GEN7_ON),
    OpcodeInfo("bfi2", 0x1A, Shape.TERNARY, Flag.INTEGER, gens=_GEN7_ON),
    OpcodeInfo("brd", 0x21, Shape.BRANCH_JIP, _FLOW, gens=_GEN7_ON),
    OpcodeInfo("if", 0x22, Shape.BRANCH_COMPARE, _FLOW | _CM | Flag.NO_FLAG_WRITE, gens=Gen.GEN6),
    OpcodeInfo("if", 0x22, Shape.BRANCH_JIP_UIP, _FLOW, gens=Gen.GEN7 | Gen.GEN75),
    OpcodeInfo("if", 0x22, Shape.BRANCH_JIP_UIP, _FLOW | Flag.BRANCH_CONTROL, gens=_GEN8_ON),
    OpcodeInfo("brc", 0x23, Shape.BRANCH_JIP_UIP, _FLOW, gens=_GEN7_ON),
    OpcodeInfo("else", 0x24, Shape.BRANCH_JIP, _FLOW | Flag.NO_PREDICATE, gens=Gen.GEN6 | Gen.GEN7 | Gen.GEN75),
    OpcodeInfo("else", 0x24, Shape.BRANCH_JIP_UIP, _FLOW | Flag.NO_PREDICATE | Flag.BRANCH_CONTROL, gens=_GEN8_ON),
    OpcodeInfo("endif", 0x25, Shape.BRANCH_JIP, _FLOW | Flag.NO_PREDICATE, gens=_GEN6_ON),
    OpcodeInfo("case", 0x26, Shape.BRANCH_JIP, _FLOW, gens=Gen.GEN6),
    OpcodeInfo("while", 0x27, Shape.BRANCH_JIP, _FLOW, gens=_GEN6_ON),
    OpcodeInfo("break", 0x28, Shape.BRANCH_JIP_UIP, _FLOW, gens=_GEN6_ON),
    OpcodeInfo("cont", 0x29, Shape.BRANCH_JIP_UIP, _FLOW, gens=_GEN6_ON),
    OpcodeInfo("halt", 0x2A, Shape.BRANCH_JIP_UIP, _FLOW, gens=_GEN6_ON),
    OpcodeInfo("calla", 0x2B, Shape.BINARY, _FLOW, gens=_GEN75_ON),
    OpcodeInfo("call", 0x2C, Shape.BINARY, _FLOW, gens=_GEN6_ON),
    OpcodeInfo("ret", 0x2D, Shape.UNARY, _FLOW, gens=_GEN6_ON),
    OpcodeInfo("fork", 0x2E, Shape.BRANCH_JIP, _FLOW, gens=Gen.GEN6),
    OpcodeInfo("goto", 0x2E, Shape.BRANCH_JIP_UIP, _FLOW | Flag.BRANCH_CONTROL, gens=_GEN8_ON),
    OpcodeInfo("join", 0x2F, Shape.BRANCH_JIP, _FLOW, gens=_GEN8_ON),
    OpcodeInfo("wait", 0x30, Shape.WAIT_DESTINATION, gens=_GEN6_ON),
    OpcodeInfo("send", 0x31, Shape.SEND, gens=_GEN6_ON),
    OpcodeInfo("sendc", 0x32, Shape.SEND, gens=_GEN6_ON),
    OpcodeInfo("sends", 0x33, Shape.SPLIT_SEND, gens=Gen.GEN9),
    OpcodeInfo("sendsc", 0x34, Shape.SPLIT_SEND, gens=Gen.GEN9),
    OpcodeInfo("math", 0x38, Shape.MATH, _SAT, gens=_GEN6_ON),
    OpcodeInfo("fbh", 0x4B, Shape.UNARY, Flag.INTEGER, gens=_GEN7_ON),
    OpcodeInfo("fbl", 0x4C, Shape.UNARY, Flag.INTEGER, gens=_GEN7_ON),
    OpcodeInfo("cbit", 0x4D, Shape.UNARY, Flag.INTEGER, gens=_GEN7_ON),
    OpcodeInfo("addc", 0x4E, Shape.BINARY, _ARITH | Flag.INTEGER, gens=_GEN7_ON),
    OpcodeInfo("subb", 0x4F, Shape.BINARY, _ARITH | Flag.INTEGER, gens=_GEN7_ON),
    OpcodeInfo("mad", 0x5B, Shape.TERNARY, _ARITH, gens=_GEN6_ON),
    OpcodeInfo("lrp", 0x5C, Shape.TERNARY, _ARITH | Flag.FLOAT, gens=_GEN6_ON),
    OpcodeInfo("madm", 0x5D, Shape.TERNARY, _ARITH, gens=_GEN8_ON),
)

# The opcodes of LaterOpcode that the table has under another name.
_LATER_NAMES = {LaterOpcode.ROUND_EVEN: "rnde", LaterOpcode.TRUNCATE: "rndz", LaterOpcode.FRACTION: "frc"}


def later_rows() -> Iterator[tuple[LaterOpcode, OpcodeInfo]]:
    """The opcodes that the C core has besides those of Gen4, each with its row for Gen7.5, Gen8 or Gen9."""
    for opcode in LaterOpcode:
        name = _LATER_NAMES.get(opcode, opcode.name.lower())
        row = next((info for gen in (Gen.GEN75, Gen.GEN8, Gen.GEN9) for info in OPCODES
                    if info.name == name and info.gens & gen), None)
        if row is None:
            raise ValueError(f"LaterOpcode.{opcode.name}: no row of OPCODES for Gen7.5, Gen8 or Gen9 is named {name!r}")
        yield opcode, row


def core_opcodes(gen: Gen) -> dict[int, int]:
    """The C core's opcode by the number of an opcode of Gen7 or later, for those that the core executes."""
    found = {name.lower(): int(opcode) for name, opcode in Opcode.__members__.items()}
    found |= {row.name: int(opcode) for opcode, row in later_rows()}
    found |= dict.fromkeys(("sendc", "sends", "sendsc"), found["send"])  # messages are in order
    found["madm"] = found["mad"]  # with operands of another form
    return {info.number: found[info.name] for info in OPCODES if info.gens & gen and info.name in found}


# Rows and generations by number.  Integers, because `&` of two Flag members takes longer than the rest of a lookup.
_BY_NUMBER: dict[int, list[tuple[OpcodeInfo, int]]] = {}
_BY_NAME: dict[str, list[OpcodeInfo]] = {}
for _info in OPCODES:
    _BY_NUMBER.setdefault(_info.number, []).append((_info, int(_info.gens)))
    _BY_NAME.setdefault(_info.name, []).append(_info)


def opcode_info(code: int, gen: Gen) -> OpcodeInfo | None:
    """The row of an opcode number, or None if the device does not have the opcode."""
    part = int(gen)
    for info, gens in _BY_NUMBER.get(code, ()):
        if gens & part:
            return info
    return None


def opcode_named(name: str, gen: Gen) -> OpcodeInfo | None:
    """The row of an opcode's name, or None if the device does not have the opcode."""
    return next((info for info in _BY_NAME.get(name, ()) if info.gens & gen), None)


def is_opcode_name(name: str) -> bool:
    """Whether any device has an opcode of this name."""
    return name in _BY_NAME
