"""The operation of each opcode, before saturation and conversion."""

from __future__ import annotations

import math

from gen4emu.isa.opcodes import Opcode
from tests.eu.reference import floats
from tests.eu.reference.thread import Unspecified

Number = float | int


def product(a: Number, b: Number) -> Number:
    return a * b  # exact: two floats of 24 bits, or integers


def total(a: Number, b: Number) -> Number:
    if isinstance(a, float) and isinstance(b, float):
        return floats.add(a, b)
    return a + b


def low_half(a: int, *, signed: bool) -> int:
    """The low half of a dword that is multiplied by a dword, with the sign of its type (docs/decisions.md 41)."""
    return (a & 0x7FFF) - (a & 0x8000) if signed else a & 0xFFFF


def whole(opcode: int, value: Number) -> Number:
    if not isinstance(value, float):
        raise Unspecified("rounding of an integer")
    if opcode == Opcode.FRC:
        if not math.isfinite(value):
            return math.nan
        fraction = floats.add(value, -math.floor(value))
        return fraction if fraction else 0.0
    if opcode == Opcode.RNDU:
        if not math.isfinite(value):
            return value
        return math.copysign(float(math.ceil(value)), value)
    return floats.floor(value)


def needs_increment(opcode: int, value: float) -> bool:
    """The `.r` flag of rnde and rndz: whether the next instruction must add 1."""
    if not math.isfinite(value):
        return False
    if opcode == Opcode.RNDE:
        return round(value) == math.floor(value) + 1
    if opcode == Opcode.RNDZ:
        return value < 0 and value != math.floor(value)
    return False


def shift(opcode: int, value: Number, count: Number) -> int:
    if isinstance(value, float) or isinstance(count, float):
        raise Unspecified("a shift of floats")
    count &= 31
    return value << count if opcode == Opcode.SHL else value >> count  # shr of a negative number sign-fills


def logic(opcode: int, a: Number, b: Number) -> int:
    if isinstance(a, float) or isinstance(b, float):
        raise Unspecified("logic on floats")
    match opcode:
        case Opcode.NOT:
            return ~a
        case Opcode.AND:
            return a & b
        case Opcode.OR:
            return a | b
        case _:
            return a ^ b


def average(a: Number, b: Number) -> int:
    if isinstance(a, float) or isinstance(b, float):
        raise Unspecified("an average of floats")
    return a + b + 1 >> 1


def leading_zeros(value: Number) -> int:
    if isinstance(value, float):
        raise Unspecified("leading zeros of a float")
    return 32 - (value & 0xFFFFFFFF).bit_length()


def dot(opcode: int, a: list[Number], b: list[Number]) -> Number:
    """The dot product of a 4-tuple, in the order of the channels; dph adds the fourth element of src1."""
    count = {Opcode.DP4: 4, Opcode.DPH: 3, Opcode.DP3: 3, Opcode.DP2: 2}[Opcode(opcode)]
    found = product(a[0], b[0])
    for i in range(1, count):
        found = total(found, product(a[i], b[i]))
    return total(found, b[3]) if opcode == Opcode.DPH else found


def compare(condition: int, a: Number, b: Number) -> bool:
    """Any comparison with NaN is false, except for `nz`."""
    match condition:
        case 1:
            return a == b
        case 2:
            return a != b
        case 3:
            return a > b
        case 4:
            return a >= b
        case 5:
            return a < b
        case 6:
            return a <= b
        case _:
            raise Unspecified(f"condition {condition} of a comparison")


def compare_ordered(condition: int, a: Number, b: Number) -> bool:
    """CMPN with NaN: true if src1 is NaN, false if only src0 is; inverted for `nz`."""
    if math.isnan(b):
        return condition != 2
    if math.isnan(a):
        return condition == 2
    return compare(condition, a, b)
