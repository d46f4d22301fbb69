"""Texels of every format as arrays."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from gen4emu.errors import DecodeError
from gen4emu.hw.formats import SurfaceFormat, format_info
from gen4emu.image.picture import to_pixels
from gen4emu.image.texels import decode


def one(name: str, data: bytes) -> dict[str, float]:
    info = format_info(SurfaceFormat[name])
    assert info is not None
    return {c: v[0, 0].item() for c, v in decode(data, info, info.block_width, 1).items()}


def test_bgra_bytes_are_in_memory_order() -> None:
    assert one("B8G8R8A8_UNORM", bytes([0, 51, 255, 102])) == pytest.approx({"R": 1, "G": 0.2, "B": 0, "A": 0.4})


def test_x_channels_are_no_alpha() -> None:
    assert set(one("B8G8R8X8_UNORM", bytes(4))) == {"R", "G", "B"}


def test_565_scales_each_channel_by_its_own_width() -> None:
    assert one("B5G6R5_UNORM", struct.pack("<H", 0xFFFF)) == {"R": 1, "G": 1, "B": 1}
    assert one("B5G6R5_UNORM", struct.pack("<H", 1 << 5))["G"] == pytest.approx(1 / 63)


def test_snorm_has_two_codes_for_minus_one() -> None:
    assert one("R8_SNORM", bytes([0x80])) == {"R": -1}
    assert one("R8_SNORM", bytes([0x81])) == {"R": -1}


def test_integers_stay_integers() -> None:
    assert one("R16G16_SINT", struct.pack("<hh", -5, 7)) == {"R": -5, "G": 7}
    assert one("R32_UINT", struct.pack("<I", 0xFFFFFFFF)) == {"R": 0xFFFFFFFF}


def test_floats_of_every_size() -> None:
    assert one("R16_FLOAT", struct.pack("<e", 1.5)) == {"R": 1.5}
    assert one("R32G32B32A32_FLOAT", struct.pack("<4f", 1, 2, 3, -4)) == {"R": 1, "G": 2, "B": 3, "A": -4}
    r, g, b = 0x3C0, 0x400, 0x200  # 1, 2 and 2 with exponent bias 15: e5m6, e5m6, e5m5
    assert one("R11G11B10_FLOAT", struct.pack("<I", r | g << 11 | b << 22)) == {"R": 1, "G": 2, "B": 2}


def test_yuv_pairs_share_their_chroma() -> None:
    info = format_info(SurfaceFormat.YCRCB_NORMAL)
    assert info is not None
    channels = decode(bytes([235, 128, 16, 128]), info, 2, 1)
    assert channels["R"][0].tolist() == [1.0, 0.0] and channels["B"][0].tolist() == [1.0, 0.0]


def test_compressed_formats_are_refused_by_name() -> None:
    info = format_info(SurfaceFormat.BC1_UNORM)
    assert info is not None
    with pytest.raises(DecodeError, match="BC1_UNORM"):
        decode(bytes(8), info, 4, 4)


def test_pixels_round_to_the_nearest_step() -> None:
    channels = {c: np.full((1, 1), v, np.float32) for c, v in {"R": 0.5, "G": 2.0, "B": -1.0}.items()}
    assert to_pixels(channels)[0, 0].tolist() == [128, 255, 0]


def test_a_single_channel_becomes_16_bit_grey() -> None:
    pixels = to_pixels({"R": np.array([[1.0, 0.5]], np.float32)})
    assert pixels.dtype == np.uint16 and pixels.tolist() == [[65535, 32768]]
