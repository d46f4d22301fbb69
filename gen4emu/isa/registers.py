"""Codes of instruction words: register files, types, strides, predicates and others (Mesa, brw_eu_defines.h).

Names are those of the assembly language where it has one.  The values of types are their codes on Gen4; the codes of
other generations are in their encodings (`gen4emu.isa.fields.Encoding`).
"""

from __future__ import annotations

from enum import IntEnum


class RegFile(IntEnum):
    ARF = 0
    GRF = 1
    MRF = 2
    IMM = 3


class RegType(IntEnum):
    """Data type of a register operand.  No Gen4 part has those after F."""

    UD = 0
    D = 1
    UW = 2
    W = 3
    UB = 4
    B = 5
    RESERVED = 6
    F = 7
    DF = 8
    UQ = 9
    Q = 10
    HF = 11


class ImmType(IntEnum):
    """Data type of an immediate; two codes differ from those of registers.  No Gen4 part has those after F."""

    UD = 0
    D = 1
    UW = 2
    W = 3
    UB = 4
    VF = 5
    V = 6
    F = 7
    UV = 8
    DF = 9
    UQ = 10
    Q = 11
    HF = 12
    RESERVED = 13


class Arf(IntEnum):
    """Architecture registers: the high nibble of the register number."""

    NULL = 0x0
    A = 0x1
    ACC = 0x2
    F = 0x3
    MASK = 0x4
    MS = 0x5
    MSD = 0x6
    SR = 0x7
    CR = 0x8
    N = 0x9
    IP = 0xA
    TDR = 0xB
    TM = 0xC


class Predicate(IntEnum):
    """Predicate control; 2 to 5 mean replicated channels in Align16."""

    NONE = 0
    NORMAL = 1
    ANYV = 2
    ALLV = 3
    ANY2H = 4
    ALL2H = 5
    ANY4H = 6
    ALL4H = 7
    ANY8H = 8
    ALL8H = 9
    ANY16H = 10
    ALL16H = 11
    ANY32H = 12
    ALL32H = 13


class Align16Predicate(IntEnum):
    NONE = 0
    NORMAL = 1
    X = 2
    Y = 3
    Z = 4
    W = 5
    ANY4H = 6
    ALL4H = 7


class CondMod(IntEnum):
    NONE = 0
    Z = 1
    NZ = 2
    G = 3
    GE = 4
    L = 5
    LE = 6
    R = 7
    O = 8  # noqa: E741  # its letter in assembly
    U = 9


class Compression(IntEnum):
    NONE = 0
    SECHALF = 1
    COMPR = 2
    RESERVED = 3


class ThreadCtrl(IntEnum):
    NORMAL = 0
    ATOMIC = 1
    SWITCH = 2
    RESERVED = 3


class ThreadException(IntEnum):
    """The bit of an exception, from `CONTROL_BITS` ENABLE_SHIFT and STATUS_SHIFT on in cr0.1 (965 PRM vol. 4, 3.4)."""

    MASK_STACK = 0
    ILLEGAL = 1
    SOFTWARE = 2
    HALT = 3
    BREAKPOINT = 4


# Bits of the control register; the shifts are of cr0.1, all others of cr0.0.
CONTROL_BITS: dict[str, int] = {
    "ALTERNATE": 1 << 0,
    "ACC_DISABLE": 1 << 1,
    "SINGLE_FLOW": 1 << 2,
    "ROUNDING_SHIFT": 4,
    "ROUNDING": 3 << 4,  # from Gen6 on: nearest, up, down, toward zero
    "KEEP_DOUBLES": 1 << 6,  # denormals of DF are not flushed
    "KEEP_FLOATS": 1 << 7,  # those of F
    "SUPPRESS": 1 << 15,
    "MASTER": 1 << 31,  # in the system routine
    "ENABLE_SHIFT": 11,
    "STATUS_SHIFT": 27,
}

TYPE_BYTES: dict[RegType, int] = {RegType.UD: 4, RegType.D: 4, RegType.UW: 2, RegType.W: 2, RegType.UB: 1, RegType.B: 1,
                                  RegType.RESERVED: 4, RegType.F: 4, RegType.DF: 8, RegType.UQ: 8, RegType.Q: 8,
                                  RegType.HF: 2}
IMM64_TYPES = frozenset({ImmType.DF, ImmType.UQ, ImmType.Q})  # `dim` also has a 64-bit immediate, of type F

# Elements by code; codes that are not listed are reserved.
HSTRIDES: dict[int, int] = {0: 0, 1: 1, 2: 2, 3: 4}
WIDTHS: dict[int, int] = {0: 1, 1: 2, 2: 4, 3: 8, 4: 16}
VSTRIDES: dict[int, int] = {0: 0, 1: 1, 2: 2, 3: 4, 4: 8, 5: 16, 6: 32}
EXEC_SIZES: dict[int, int] = {0: 1, 1: 2, 2: 4, 3: 8, 4: 16, 5: 32}
VSTRIDE_INDEXED = 15  # Vx1 and VxH: one address register per row

HSTRIDE_CODES = {v: k for k, v in HSTRIDES.items()}
WIDTH_CODES = {v: k for k, v in WIDTHS.items()}
VSTRIDE_CODES = {v: k for k, v in VSTRIDES.items()}
EXEC_SIZE_CODES = {v: k for k, v in EXEC_SIZES.items()}

REGISTER_BYTES = 32
MRF_COMPR4 = 0x80  # bit of the MRF number
SWIZZLE_XYZW = 0 | 1 << 2 | 2 << 4 | 3 << 6
WRITEMASK_XYZW = 15
CHANNELS = "xyzw"
