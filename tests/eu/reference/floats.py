"""Exact floating point of the EU: values are Python floats, rounded toward zero at every step.

A 32-bit float and the product of two are exact in a double.  A sum is not; its rounding error is found without error
(Knuth's TwoSum) and says whether the nearest double lies further from zero than the sum.
"""

from __future__ import annotations

import math
import struct

MAX_BITS = 0x7F7FFFFF
INF_BITS = 0x7F800000
SIGN = 0x80000000


def from_bits(bits: int) -> float:
    """A 32-bit float; a denormal is a zero with its sign."""
    if not bits & INF_BITS:
        return -0.0 if bits & SIGN else 0.0
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


def to_bits(value: float, *, alternate: bool = False) -> int:
    """Truncated to 24 bits, denormals flushed; overflow is infinity, or the largest number in ALT mode."""
    if math.isnan(value):
        return 0x7FC00000
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    sign = bits >> 32 & SIGN
    magnitude = abs(value)
    if magnitude >= 2.0 ** 128:
        return sign | (MAX_BITS if alternate else INF_BITS)
    if magnitude < 2.0 ** -126:
        return int(sign)
    return int(sign | (bits >> 29 & 0x3FFFFFFFF) - (896 << 23) & 0x7FFFFFFF)


def rounded(value: float, *, alternate: bool = False) -> float:
    """The value as a 32-bit float holds it."""
    return value if math.isnan(value) else from_bits(to_bits(value, alternate=alternate))


def add(a: float, b: float) -> float:
    """The sum as a double, rounded toward zero."""
    total = a + b
    if not math.isfinite(total) or not total:
        return total
    virtual = total - a
    error = (a - (total - virtual)) + (b - virtual)
    if error and (error < 0) != (total < 0):
        return math.nextafter(total, 0.0)
    return total


def from_int(value: int) -> float:
    """Truncated to 24 significant bits."""
    magnitude = abs(value)
    drop = max(0, magnitude.bit_length() - 24)
    magnitude = magnitude >> drop << drop
    return float(-magnitude if value < 0 else magnitude)


def to_int(value: float, low: int, high: int) -> int:
    """Toward zero, clamped; NaN is 0."""
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(int(value), low), high)


def floor(value: float) -> float:
    return math.copysign(float(math.floor(value)), value) if math.isfinite(value) else value


def vector_element(byte: int) -> float:
    """One byte of a VF immediate."""
    sign = -1.0 if byte & 0x80 else 1.0
    if not byte & 0x7F:
        return sign * 0.0
    return float(sign * (1 + (byte & 15) / 16) * 2.0 ** ((byte >> 4 & 7) + 124 - 127))
