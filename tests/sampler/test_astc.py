"""ASTC blocks of the LDR profile, which Gen9 samples (Khronos Data Format Specification, ASTC)."""

from __future__ import annotations

import hashlib
import random

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.harness.texturing_gen7 import Message, Simd
from tests.harness.texturing_gen9 import Texturing9

ERROR = [1.0, 0.0, 1.0, 1.0]
LDR_MODES = (0, 1, 4, 5, 6, 8, 9, 10, 12, 13)


def block(*fields: tuple[int, int, int]) -> bytes:
    """128 bits from (value, first bit, bits)."""
    word = 0
    for value, at, bits in fields:
        assert value < 1 << bits
        word |= value << at
    return word.to_bytes(16, "little")


def weights(*values: int) -> tuple[int, int, int]:
    """Weights of two bits, which are stored from the highest bit of the block down."""
    return sum((v & 1) << (127 - 2 * i) | (v >> 1) << (126 - 2 * i) for i, v in enumerate(values)), 0, 128


def image(data: list[bytes], width: int, height: int, columns: int, channels: str = "FLT16") -> NDArray[np.float32]:
    """The texels [y][x] of rows of blocks."""
    rows = len(data) // columns
    pitch = -(-16 * columns // 64) * 64
    t = Texturing9()
    t.surface(f"ASTC_LDR_2D_{width}X{height}_{channels}", columns * width, rows * height, pitch=pitch,
              data=b"".join(b"".join(data[columns * r:columns * (r + 1)]).ljust(pitch, b"\0") for r in range(rows)))
    y, x = (axis.ravel() for axis in np.mgrid[0:rows * height, 0:columns * width])
    found = [t.message(Message.LD, Simd.SIMD16, u=np.resize(x[i:i + 16], 16), v=np.resize(y[i:i + 16], 16),
                       integers=True).view(np.float32) for i in range(0, len(x), 16)]
    return np.concatenate(found)[:len(x)].reshape(rows * height, columns * width, 4)


def texels(data: bytes, width: int = 4, height: int = 4, channels: str = "FLT16") -> NDArray[np.float32]:
    return image([data], width, height, 1, channels)


# --- all footprints, against another decoder --------------------------------------------------------------------------
def random_block(source: random.Random, width: int, height: int) -> bytes:
    """Mostly valid: a grid of at least 4x2 weights, endpoints of the LDR profile in all partitions or in some."""
    bits = source.getrandbits(128)
    kind = source.randrange(8)
    grid = source.randrange(min(4, height - 1)) << 5 | source.randrange(min(4, width - 3)) << 7
    mode = source.randrange(1, 4) | source.randrange(2) << 4 | grid | (kind == 0) << 9 | (kind < 3) << 10
    partitions = source.randrange(4) if kind > 1 else 0
    bits = bits >> 13 << 13 | partitions << 11 | mode
    if partitions == 0:
        bits = bits & ~(15 << 13) | source.choice(LDR_MODES) << 13
    elif kind > 3:
        bits = bits & ~(63 << 23) | source.choice(LDR_MODES[:6]) << 25
    return bits.to_bytes(16, "little")


@pytest.mark.parametrize(("width", "height", "digest"), [
    # Of the half floats that Arm's astcenc 5 gives for these blocks, with the color of errors for its NaN.
    (4, 4, "90984219a8a36df3"), (5, 4, "250f84a1a18f95bd"), (5, 5, "1478c2a619ee3e23"), (6, 5, "cbf43467b7f94b3f"),
    (6, 6, "ab4fb01c042af03b"), (8, 5, "62194e331a19069a"), (8, 6, "c4589a244207c10b"), (8, 8, "1dbfae26a8f62cc7"),
    (10, 5, "072cce759b56e199"), (10, 6, "3291f3b3f4c25648"), (10, 8, "795613126c58e53c"),
    (10, 10, "e6436bc58fc306e1"), (12, 10, "c5ea900a1c091815"), (12, 12, "e00c53a0eb7c78aa"),
])
def test_blocks_of_each_size_have_the_texels_of_another_decoder(width: int, height: int, digest: str) -> None:
    source = random.Random(100 * width + height)
    data = [random_block(source, width, height) for _ in range(96)]
    found = image(data, width, height, 12)
    valid = (found != ERROR).any(axis=2).mean()
    assert valid > 0.4
    assert hashlib.sha256(found.astype(np.float16).tobytes()).hexdigest()[:16] == digest


# --- modes, one by one ------------------------------------------------------------------------------------------------
FOUR_BY_FOUR = 0x42  # weights of two bits: 0, 21, 43 and 64 of 64
DUAL = 1 << 10
BOTH = (0, 11, 2), (0, 13, 4), (0, 17, 8), (255, 25, 8)  # one partition, luminance from 0 to 255


def half(numerator: int) -> float:
    """n / 65536 rounded toward zero to eleven bits."""
    excess = max(0, numerator.bit_length() - 11)
    return (numerator >> excess << excess) / 65536


def test_weights_are_between_two_endpoints_of_16_bits() -> None:
    found = texels(block((FOUR_BY_FOUR, 0, 11), *BOTH, weights(*[0, 1, 2, 3] * 4)))
    steps = [0.0, half((0xFFFF * 21 + 32) >> 6), half((0xFFFF * 43 + 32) >> 6), 1.0]
    assert found[2].tolist() == [[step, step, step, 1.0] for step in steps]


def test_srgb_interpolates_eight_bits_and_a_half() -> None:
    found = texels(block((FOUR_BY_FOUR, 0, 11), *BOTH, weights(*[0, 1, 2, 3] * 4)), channels="U8SRGB")
    code = (0x80 * 43 + 0xFF80 * 21 + 32) >> 14
    assert found[0, 1, :3] == pytest.approx([((code / 255 + 0.055) / 1.055) ** 2.4] * 3)
    assert found[0, 0].tolist() == [0.0, 0.0, 0.0, 1.0]
    assert found[0, 3].tolist() == [1.0] * 4


def test_a_channel_can_have_weights_of_its_own() -> None:
    green = 1
    found = texels(block((FOUR_BY_FOUR | DUAL, 0, 11), *BOTH, (green, 62, 2), weights(*[0, 3, 3, 0] * 8)))
    assert found[0, 0].tolist() == [0.0, 1.0, 0.0, 1.0]
    assert found[0, 1].tolist() == [1.0, 0.0, 1.0, 1.0]


def test_blocks_of_one_color() -> None:
    anywhere = (1 << 52) - 1
    color = (0x8000, 64, 16), (0x4000, 80, 16), (0xFFFF, 96, 16), (0x0001, 112, 16)
    found = texels(block((0xDFC, 0, 12), (anywhere, 12, 52), *color), 12, 10)
    assert (found == [0.5, 0.25, 1.0, 1 / 65536]).all()
    part = (0, 12, 13), (8, 25, 13), (3, 38, 13), (4, 51, 13)
    assert texels(block((0xDFC, 0, 12), *part, *color))[3, 3].tolist() == [0.5, 0.25, 1.0, 1 / 65536]
    srgb = texels(block((0xDFC, 0, 12), (anywhere, 12, 52), *color), channels="U8SRGB")
    assert srgb[0, 0] == pytest.approx([((128 / 255 + 0.055) / 1.055) ** 2.4, ((64 / 255 + 0.055) / 1.055) ** 2.4, 1.0,
                                        0.0])


EMPTY = (8, 12, 13), (8, 25, 13), (3, 38, 13), (4, 51, 13)


@pytest.mark.parametrize("data", [
    pytest.param(block(), id="reserved mode"),
    pytest.param(block((0x1C4, 0, 11), *BOTH), id="reserved grid"),
    pytest.param(block((0xDFC, 0, 12), *EMPTY), id="empty extent"),
    pytest.param(block((0x9FC, 0, 12), ((1 << 52) - 1, 12, 52)), id="reserved bit of an extent"),
    pytest.param(block((0xFFC, 0, 12), ((1 << 52) - 1, 12, 52)), id="half floats"),
    pytest.param(block((0xC2, 0, 11), *BOTH), id="grid wider than the block"),
    pytest.param(block((0x41, 0, 11), *BOTH), id="sixteen bits of weights"),
    pytest.param(block((FOUR_BY_FOUR | DUAL, 0, 11), (3, 11, 2)), id="two weights in four partitions"),
    pytest.param(block((FOUR_BY_FOUR, 0, 11), (3, 11, 2), (12, 25, 4)), id="too many endpoints"),
])
def test_invalid_blocks_are_magenta(data: bytes) -> None:
    for channels in ("FLT16", "U8SRGB"):
        assert (texels(data, channels=channels) == ERROR).all()


def test_partitions_of_the_hdr_profile_are_magenta_alone() -> None:
    """The endpoints of partition 0 are luminance, those of partition 1 luminance of the HDR profile."""
    data = block((FOUR_BY_FOUR, 0, 11), (1, 11, 2), (5, 13, 10), (1, 23, 2), (0, 25, 4), (2, 94, 2), (255, 29, 8))
    found = texels(data)
    wrong = (found == ERROR).all(axis=2)
    assert 0 < wrong.sum() < 16
    assert (found[~wrong] == found[~wrong][0]).all()


def test_lookups_filter_across_blocks() -> None:
    """The last texel of one block of 5x4 and the first of the next."""
    anywhere = (0xDFC, 0, 12), ((1 << 52) - 1, 12, 52)
    t = Texturing9()
    t.surface("ASTC_LDR_2D_5X4_FLT16", 10, 4, pitch=64,
              data=block(*anywhere, (0, 64, 16)) + block(*anywhere, (0xFFFF, 64, 16)))
    t.sampler("LINEAR")
    assert t.at(0.5)[0] == 0.5
    assert t.at(0.45)[0] == 0.0
