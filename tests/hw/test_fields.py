"""The kinds of fields: raw bits to values, values to raw bits, what is refused and what is complained about."""

from __future__ import annotations

import math
from enum import IntEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gen4emu.errors import FieldError
from gen4emu.hw.fields import (
    Address,
    Bool,
    Const,
    Enum,
    Field,
    Fixed,
    Float,
    Ignored,
    Mbz,
    Sint,
    Uint,
    claimed_bits,
    unless,
    when,
)


class Fruit(IntEnum):
    APPLE = 0
    PEAR = 2


def test_bits_come_from_their_place_in_the_dword() -> None:
    f = Field("f", 1, 11, 4)
    assert f.width == 8
    assert f.mask == 0xFF
    assert f.extract([0, 0xABCDE]) == 0xCD
    assert f.extract([9, 9, 0, 0xABCDE], 2) == 0xCD


def test_insertion_leaves_the_other_bits_alone() -> None:
    words = [0xFFFFFFFF]
    Field("f", 0, 11, 4).insert(words, 0)
    assert words == [0xFFFFF00F]
    Field("f", 0, 11, 4).insert(words, 0x1AB)
    assert words == [0xFFFFFABF]


def test_a_field_may_cross_dwords() -> None:
    f = Uint("f", 0, 39, 28)
    words = [0xFFFFFFFF, 0xFFFFFFFF]
    f.insert(words, 0x123)
    assert words == [0x3FFFFFFF, 0xFFFFFF12]
    assert f.extract(words) == 0x123
    assert f.last_dword == 1
    assert Uint("f", 0, 63, 0).extract([1, 2]) == 0x2_0000_0001


@pytest.mark.parametrize(("dword", "hi", "lo"), [(0, 3, 4), (0, 64, 0), (-1, 3, 0), (0, 3, -1)])
def test_impossible_bits_are_refused(dword: int, hi: int, lo: int) -> None:
    with pytest.raises(ValueError, match="bits"):
        Field("f", dword, hi, lo)


def test_unsigned_bias_and_scale() -> None:
    registers = Uint("grf_register_count", 0, 3, 1, bias=1, scale=16)
    assert [registers.decode(raw) for raw in (0, 1, 7)] == [16, 32, 128]
    assert registers.encode(64) == 3
    assert registers.default == 16
    for wrong in (0, 24, 144):
        with pytest.raises(FieldError, match="grf_register_count"):
            registers.encode(wrong)


def test_unsigned_range_is_a_complaint_and_not_an_error() -> None:
    entries = Uint("n", 0, 7, 0, low=8, high=32)
    assert entries.encode(200) == 200
    assert entries.complaint(7) == "7 is below 8"
    assert entries.complaint(33) == "33 is above 32"
    assert entries.complaint(8) is None
    assert entries.complaint(32) is None


def test_unsigned_text() -> None:
    assert Uint("n", 0, 7, 0).text(200) == "200"
    assert Uint("n", 0, 7, 0, hex=True).text(0xC) == "0x0c"


def test_signed_is_two_s_complement() -> None:
    f = Sint("f", 0, 15, 0, low=-4, high=4)
    assert [f.decode(raw) for raw in (0, 0x7FFF, 0x8000, 0xFFFF)] == [0, 32767, -32768, -1]
    assert f.encode(-1) == 0xFFFF
    assert f.complaint(0xFFFB) == "-5 is below -4"
    assert f.complaint(5) == "5 is above 4"
    for wrong in (32768, -32769):
        with pytest.raises(FieldError):
            f.encode(wrong)


def test_fixed_point() -> None:
    lod = Fixed("lod_bias", 0, 10, 0, signed=True, frac=6)
    assert lod.decode(0x7C0) == -1.0
    assert lod.decode(0x3FF) == 15.984375
    assert lod.encode(-1.0) == 0x7C0
    assert lod.text(0x20) == "0.5"
    assert Fixed("c", 0, 7, 0, frac=8).encode(0.5) == 0x80
    assert Fixed("c", 0, 7, 0, frac=4, low=0.125, high=8).complaint(1) == "0.0625 is below 0.125"
    assert Fixed("c", 0, 7, 0, frac=4, low=0.125, high=8).complaint(0x81) == "8.0625 is above 8"


@pytest.mark.parametrize("wrong", [16.0, -16.5, math.inf, math.nan])
def test_fixed_point_that_does_not_fit_is_refused(wrong: float) -> None:
    with pytest.raises(FieldError, match="lod_bias"):
        Fixed("lod_bias", 0, 10, 0, signed=True, frac=6).encode(wrong)


def test_float() -> None:
    f = Float("f", 0, 31, 0)
    assert f.decode(0x3F800000) == 1.0
    assert f.encode(-2.0) == 0xC0000000
    assert f.encode(math.inf) == 0x7F800000
    assert math.isnan(f.decode(0x7FC00001))
    with pytest.raises(FieldError):
        f.encode(1e39)
    with pytest.raises(ValueError, match="32 bits"):
        Float("f", 0, 15, 0)


def test_bool_is_one_bit() -> None:
    f = Bool("f", 0, 31)
    assert (f.hi, f.lo) == (31, 31)
    assert f.decode(1) is True
    assert f.decode(0) is False
    assert f.encode(True) == 1
    with pytest.raises(FieldError):
        f.encode(2)


def test_enum_keeps_reserved_values_and_complains() -> None:
    f = Enum("fruit", 0, 1, 0, enum=Fruit)
    assert f.decode(2) is Fruit.PEAR
    assert f.decode(1) == 1
    assert f.encode("PEAR") == 2
    assert f.encode(1) == 1
    assert f.complaint(1) == "1 is reserved"
    assert f.complaint(0) is None
    assert f.text(2) == "PEAR"
    assert f.text(3) == "3 (reserved)"
    with pytest.raises(FieldError, match="PLUM"):
        f.encode("PLUM")
    with pytest.raises(FieldError):
        f.encode(4)


def test_address_is_the_bits_at_their_place() -> None:
    f = Address("pointer", 0, 31, 6)
    assert f.decode(f.extract([0x12345FFF])) == 0x12345FC0
    assert f.encode(0x1000) == 0x40
    assert f.text(0x40) == "0x00001000"
    with pytest.raises(FieldError, match="aligned to 64"):
        f.encode(0x1004)
    with pytest.raises(FieldError):
        f.encode(1 << 32)


def test_an_address_that_reaches_bit_63_is_canonical() -> None:
    f = Address("f", 0, 63, 12)
    for address in (0, 0x7FFF_FFFF_F000, 0x8000_0000_0000, 0xFFFF_8000_0000_0000, 0xFFFF_FFFF_FFFF_F000):
        assert f.complaint(address >> 12) is None
    for address in (0x1_0000_0000_0000, 0xFFFF_7FFF_FFFF_F000):
        assert "is not canonical" in str(f.complaint(address >> 12))
    assert Address("f", 0, 47, 12).complaint(1 << 35) is None


def test_a_64_bit_address() -> None:
    f = Address("pointer", 1, 63, 12)
    assert f.decode(f.extract([0, 0x89ABC123, 0x00001234])) == 0x1234_89ABC000
    words = [0, 0xFFF, 0]
    f.insert(words, f.encode(0x1234_89ABC000))
    assert words == [0, 0x89ABCFFF, 0x1234]


def test_reserved_bits() -> None:
    assert Mbz(2, 11, 4).name == "reserved_2_11_4"
    assert Mbz(2).width == 32
    assert Mbz(2, 11, 4).complaint(0x80) == "reserved bits are 0x80, must be zero"
    assert Mbz(2, 11, 4).complaint(0) is None
    assert Ignored(2, 11, 4).complaint(0x80) is None


def test_constant() -> None:
    f = Const("opcode", 0, 28, 23, 0x22)
    assert f.default == 0x22
    assert f.complaint(0x22) is None
    assert f.complaint(0x23) == "is 0x23, must be 0x22"
    with pytest.raises(FieldError):
        f.encode(0x23)


def test_union_rules() -> None:
    assert when("kind", 1, 2).holds(2)
    assert not when("kind", 1, 2).holds(0)
    assert unless("kind", 1).holds(0)
    assert not unless("kind", Fruit.PEAR).holds(2)


def test_claims_name_each_owner_of_a_bit() -> None:
    a, b = Field("a", 0, 1, 0), Field("b", 0, 33, 1)
    owners = claimed_bits([a, b])
    assert owners[0, 0] == [a]
    assert owners[0, 1] == [a, b]
    assert owners[1, 1] == [b]
    assert (1, 2) not in owners


@given(st.integers(0, 63), st.integers(0, 63), st.integers(0, 3), st.data())
def test_what_is_inserted_is_extracted(a: int, b: int, dword: int, data: st.DataObject) -> None:
    f = Field("f", dword, max(a, b), min(a, b))
    raw = data.draw(st.integers(0, f.mask))
    before = data.draw(st.lists(st.integers(0, 2**32 - 1), min_size=5, max_size=5))
    words = list(before)
    f.insert(words, raw)
    assert f.extract(words) == raw
    f.insert(words, f.extract(before))
    assert words == before


@given(st.integers(1, 32), st.integers(0, 31), st.booleans(), st.integers(0, 2**32 - 1))
def test_fixed_point_brings_every_raw_value_back(width: int, frac: int, signed: bool, raw: int) -> None:
    f = Fixed("f", 0, width - 1, 0, frac=frac, signed=signed)
    assert f.encode(f.decode(raw & f.mask)) == raw & f.mask


@given(st.integers(0, 2**32 - 1).filter(lambda raw: raw & 0x7FFFFFFF <= 0x7F800000))
def test_float_brings_every_number_back(raw: int) -> None:
    f = Float("f", 0, 31, 0)
    assert f.encode(f.decode(raw)) == raw
