"""The arithmetic of the reference agrees with exact fractions."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from tests.eu.generate import register_dwords
from tests.eu.reference import floats
from tests.eu.reference.gen7 import fused


def toward_zero(value: Fraction, bits: int) -> Fraction:
    """The nearest number of `bits` significant bits that is not further from zero."""
    if not value:
        return value
    magnitude, exponent = abs(value), 0
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length() - bits
    unit = Fraction(2) ** exponent
    while magnitude / unit >= 1 << bits:
        unit *= 2
    found = math.floor(magnitude / unit) * unit
    return found if value > 0 else -found


def finite_floats(seed: int, count: int) -> list[float]:
    dwords = register_dwords(np.random.default_rng(seed), count, finite=True)
    return [floats.from_bits(int(d)) for d in dwords]


def test_sums_are_truncated_to_a_double() -> None:
    numbers = finite_floats(1, 4000)
    rng = random.Random(1)
    for a in numbers:
        b = rng.choice(numbers) * rng.choice(numbers)
        assert Fraction(floats.add(a, b)) == toward_zero(Fraction(a) + Fraction(b), 53)


def test_results_are_truncated_to_a_float() -> None:
    for a, b in zip(finite_floats(2, 4000), finite_floats(3, 4000), strict=True):
        exact = Fraction(a) * Fraction(b)
        bits = floats.to_bits(a * b)
        if abs(exact) >= 2 ** 128:
            assert bits & 0x7FFFFFFF == floats.INF_BITS
        elif abs(exact) < Fraction(1, 2 ** 126):
            assert bits & 0x7FFFFFFF == 0
        else:
            assert Fraction(floats.from_bits(bits)) == toward_zero(exact, 24)
        assert bits >> 31 == (math.copysign(1, a) != math.copysign(1, b))


def test_every_float_is_unchanged_by_conversion_to_double_and_back() -> None:
    for d in register_dwords(np.random.default_rng(4), 4000, finite=True):
        bits = int(d)
        if bits & 0x7F800000:
            assert floats.to_bits(floats.from_bits(bits)) == bits


@pytest.mark.parametrize(("value", "expected"), [
    ((1 << 24) + 1, 1 << 24), (-(1 << 25) - 3, -(1 << 25)), (0x7FFFFFFF, 0x7FFFFF80), (5, 5), (0, 0)])
def test_integers_keep_24_bits(value: int, expected: int) -> None:
    assert floats.from_int(value) == expected


@pytest.mark.parametrize(("byte", "value"), [
    (0x30, 1.0), (0x20, 0.5), (0x48, 3.0), (0x01, 0.1328125), (0x00, 0.0), (0xFF, -31.0), (0x0F, 0.2421875)])
def test_vector_bytes(byte: int, value: float) -> None:
    assert floats.vector_element(byte) == value
    assert math.copysign(1, floats.vector_element(byte)) == (-1 if byte & 0x80 else 1)


def test_an_infinite_addend_stays_if_the_product_overflows_a_double_only() -> None:
    large = np.array([1e200])
    assert fused(np.array([-np.inf]), large, large, 53)[0] == -np.inf
    assert np.isnan(fused(np.array([-np.inf]), np.array([np.inf]), large, 53)[0])
