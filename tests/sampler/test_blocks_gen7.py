"""Compressed formats that Gen7 added (Khronos Data Format Specification, BPTC and ETC2)."""

from __future__ import annotations

import pytest

from gen4emu.hw.gen import Gen
from tests.harness.texturing_gen7 import Texturing7


def texel(format: str, block: bytes, gen: Gen = Gen.BYT, x: int = 0, y: int = 0) -> list[float]:
    t = Texturing7(gen)
    t.surface(format, 4, 4, data=block + bytes(64))
    return t.at((x + 0.5) / 4, (y + 0.5) / 4)


def little(*fields: tuple[int, int]) -> bytes:
    """A block of 128 bits from fields of (value, bits), the lowest first."""
    value = at = 0
    for number, bits in fields:
        value |= number << at
        at += bits
    return value.to_bytes(16, "little")


def big(*fields: tuple[int, int]) -> bytes:
    """A block of 64 bits from fields of (value, bits), the highest first."""
    value = 0
    for number, bits in fields:
        value = value << bits | number
    assert sum(bits for _, bits in fields) == 64
    return value.to_bytes(8, "big")


def test_bc7_with_one_subset_has_endpoints_of_eight_bits() -> None:
    """Mode 6: seven bits and one that the channels of an endpoint share; four bits of index."""
    block = little((1 << 6, 7), (100, 7), (0, 7), (50, 7), (0, 7), (127, 7), (127, 7), (0, 7), (127, 7), (1, 1), (1, 1),
                   (0, 3), (15, 4), (8, 4))
    assert texel("BC7_UNORM", block) == pytest.approx([201 / 255, 101 / 255, 1.0, 1 / 255])
    assert texel("BC7_UNORM", block, x=1) == pytest.approx([1 / 255, 1 / 255, 1.0, 1.0])
    middle = (201 * 30 + 1 * 34 + 32) >> 6  # the weight of index 8 is 34
    assert texel("BC7_UNORM", block, x=2)[0] == pytest.approx(middle / 255)


def test_bc7_with_two_subsets_takes_the_partition_of_the_number() -> None:
    """Mode 1, partition 13: the upper half is subset 0, the lower half subset 1."""
    red, green, blue = (63, 63, 0, 0), (0, 0, 63, 63), (0, 0, 0, 0)
    block = little((2, 2), (13, 6), *((v, 6) for channel in (red, green, blue) for v in channel), (1, 1), (1, 1))
    assert texel("BC7_UNORM", block, y=1) == pytest.approx([1.0, 2 / 255, 2 / 255, 1.0])
    assert texel("BC7_UNORM", block, y=2) == pytest.approx([2 / 255, 1.0, 2 / 255, 1.0])


def test_reserved_bc7_blocks_are_black() -> None:
    assert texel("BC7_UNORM", bytes(16)) == [0.0, 0.0, 0.0, 0.0]


def test_bc6h_scales_to_half_floats() -> None:
    """Mode 3: two endpoints of ten bits.  The largest is 0xffff * 31 / 64, the largest half float."""
    block = little((3, 5), (1023, 10), (512, 10), (0, 10), (1023, 10), (512, 10), (0, 10))
    middle = (((512 << 15) + 0x4000) >> 9) * 31 >> 6
    assert middle == 0x3E0F
    expected = (1 + (middle & 0x3FF) / 1024) * 2.0 ** ((middle >> 10) - 15)
    assert texel("BC6H_UF16", block) == [65504.0, expected, 0.0, 1.0]
    negative = little((3, 5), (512, 10), (511, 10), (0, 10), (512, 10), (511, 10), (0, 10))
    assert texel("BC6H_SF16", negative) == [-65504.0, 65504.0, 0.0, 1.0]


def test_etc2_brightens_two_halves() -> None:
    """Four bits of color for each half, steps 2 and 8 of table 0."""
    block = big((8, 4), (4, 4), (0, 4), (15, 4), (0, 4), (0, 4), (0, 3), (0, 3), (0, 1), (0, 1), (0, 16), (0x0001, 16))
    assert texel("ETC2_RGB8", block) == pytest.approx([144 / 255, 8 / 255, 8 / 255, 1.0])
    assert texel("ETC2_RGB8", block, x=1) == pytest.approx([138 / 255, 2 / 255, 2 / 255, 1.0])
    assert texel("ETC2_RGB8", block, x=2) == pytest.approx([70 / 255, 1.0, 2 / 255, 1.0])


def test_etc2_with_punch_through_has_transparent_texels() -> None:
    block = big((16, 5), (0, 3), (16, 5), (0, 3), (16, 5), (0, 3), (0, 3), (0, 3), (0, 1), (0, 1), (1, 16), (0, 16))
    assert texel("ETC2_RGB8_PTA", block) == [0.0, 0.0, 0.0, 0.0]
    assert texel("ETC2_RGB8_PTA", block, x=1) == pytest.approx([132 / 255] * 3 + [1.0])


def test_etc2_planes_go_through_three_colors() -> None:
    """Blue overflows: 31 + 3.  From the origin's red to the right one's, green and blue constant."""
    origin, right, below = (0, 0, 63), (63, 0, 63), (0, 0, 63)
    word = origin[0] << 57 | 1 << 48 | 3 << 43 | 7 << 39 | 0b111 << 45 | 1 << 33
    word |= (right[0] >> 1) << 34 | (right[0] & 1) << 32 | right[1] << 25 | right[2] << 19
    word |= below[0] << 13 | below[1] << 6 | below[2]
    block = word.to_bytes(8, "big")
    assert texel("ETC2_RGB8", block) == pytest.approx([0.0, 0.0, 1.0, 1.0])
    assert texel("ETC2_RGB8", block, x=2) == pytest.approx([((2 * 255 + 2) >> 2) / 255, 0.0, 1.0, 1.0])


def test_eac_has_eleven_bits() -> None:
    block = big((255, 8), (0, 4), (0, 4), (4, 3), (0, 45))
    assert texel("EAC_R11", block) == [pytest.approx(2046 / 2047), 0.0, 0.0, 1.0]
    signed = big((0x80, 8), (1, 4), (0, 4), (3, 3), (0, 45))
    assert texel("EAC_SIGNED_R11", signed) == [-1.0, 0.0, 0.0, 1.0]
    assert texel("EAC_RG11", block + block)[1] == pytest.approx(2046 / 2047)


def test_the_alpha_of_etc2_is_a_block_of_its_own() -> None:
    alpha = big((100, 8), (2, 4), (0, 4), (7, 3), (0, 45))
    assert texel("ETC2_EAC_RGBA8", alpha + bytes(8))[3] == pytest.approx((100 + 2 * 14) / 255)


def test_only_bay_trail_has_etc2() -> None:
    assert texel("ETC2_RGB8", bytes(8), Gen.HSW) == [0.0] * 4
