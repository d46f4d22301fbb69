"""Filters: sums, mixed levels, anisotropy, MONO8, shadow compares, chroma keys (965 PRM vol. 4, 4.2 to 4.4)."""

from __future__ import annotations

import numpy as np
import pytest

from gen4emu.hw.formats import SurfaceFormat as F
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.sampler import ChromaKeyMode, PrefilterOperation
from gen4emu.hw.gen4.sampler import MapFilter as Map
from gen4emu.hw.gen4.sampler import MipFilter as Mip
from gen4emu.hw.gen4.sampler import TextureCoordinateMode as Mode
from gen4emu.hw.gen4.surface import SurfaceType as T
from tests.harness.probe import Event
from tests.harness.texturing import Texturing


def weighted(texels: np.ndarray, x: float, y: float, bits: int = 8) -> np.float32:
    """The four texels around (x, y) in texel units, in double precision, rounded once."""
    one = 1 << bits
    fx, fy = int(np.floor(x * one)), int(np.floor(y * one))
    i, j, wx, wy = fx >> bits, fy >> bits, fx & (one - 1), fy & (one - 1)
    total = 0.0
    for dj, wj in ((0, one - wy), (1, wy)):
        for di, wi in ((0, one - wx), (1, wx)):
            if wi and wj:
                row, column = np.clip(j + dj, 0, texels.shape[0] - 1), np.clip(i + di, 0, texels.shape[1] - 1)
                total += wi * wj / (one * one) * float(texels[row, column])
    return np.float32(total)


@pytest.mark.parametrize("format", [F.R8_UNORM, F.R8_SNORM, F.L16_UNORM, F.R16_FLOAT])
def test_a_linear_sum_is_rounded_once(format: F) -> None:
    t = Texturing()
    rng = np.random.default_rng(3)
    size = 16
    if format == F.R8_UNORM:
        raw = rng.integers(0, 256, (size, size), np.uint8)
        values = raw.astype(np.float32) / np.float32(255)
    elif format == F.R8_SNORM:
        raw = rng.integers(-127, 128, (size, size), np.int8)
        values = raw.astype(np.float32) / np.float32(127)
    elif format == F.L16_UNORM:
        raw = rng.integers(0, 65536, (size, size), np.uint16)
        values = raw.astype(np.float32) / np.float32(65535)
    else:
        raw = rng.normal(size=(size, size)).astype(np.float16)
        values = raw.astype(np.float32)
    t.surface(format, size, size)
    t.texels(raw)
    t.sampler(Map.LINEAR)
    for _ in range(20):
        u, v = rng.uniform(0, 1, 16).astype(np.float32), rng.uniform(0, 1, 16).astype(np.float32)
        red = t.sample(u, v)[:, 0]
        want = [weighted(values, float(np.float32(a * size) - np.float32(0.5)),
                         float(np.float32(b * size) - np.float32(0.5))) for a, b in zip(u, v, strict=True)]
        assert list(red) == want


def test_equal_texels_give_just_that_value() -> None:
    t = Texturing()
    for value in range(256):
        t.surface(F.L8_UNORM, 4, 4, data=bytes([value]) * 4096)
        t.sampler(Map.LINEAR)
        assert t.at(0.43, 0.57)[:3] == [float(np.float32(value) / np.float32(255))] * 3


def test_texels_of_weight_0_do_not_count_even_if_they_are_nan() -> None:
    t = Texturing()
    t.surface(F.R16_FLOAT, 4, 4)
    image = np.full((4, 4), np.nan, np.float16)
    image[1, 1] = 2.0
    t.texels(image)
    t.sampler(Map.LINEAR)
    assert t.at(1.5 / 4, 1.5 / 4)[0] == 2.0
    image[1, 2] = np.inf
    t.texels(image)
    assert t.at(1.5 / 4, 1.5 / 4)[0] == 2.0
    assert t.at(1.75 / 4, 1.5 / 4)[0] == float("inf")


def test_float_formats_of_32_bits_are_not_filtered() -> None:
    t = Texturing()
    t.surface(F.R32G32B32A32_FLOAT, 2, 1)
    t.texels(np.array([[0, 4]], np.float32).repeat(4).reshape(1, 2, 4))
    t.sampler(Map.LINEAR, rounding=True)
    assert (t.at(0.49)[0], t.at(0.51)[0]) == (0.0, 4.0)


def test_depth_of_24_bits_is_filtered() -> None:
    t = Texturing()
    t.surface(F.R24_UNORM_X8_TYPELESS, 2, 1)
    t.texels(np.array([[0xAB000000, 0x12FFFFFF]], np.uint32))
    t.sampler(Map.LINEAR)
    assert t.at(0.5) == [0.5, 0.0, 0.0, 1.0]


@pytest.mark.parametrize(("beta", "color"), [(21, (173, 85, 0)), (22, (165, 89, 0))])
def test_levels_are_mixed_in_64ths(beta: int, color: tuple[int, int, int]) -> None:
    """A measurement of G41: what a 565 frame buffer shows between red and green."""
    t = Texturing()
    t.surface(F.R8G8B8A8_UNORM, 8, 8, levels=2)
    t.texels(np.full((8, 8, 4), [255, 0, 0, 255], np.uint8))
    t.texels(np.full((4, 4, 4), [0, 255, 0, 255], np.uint8), level=1)
    t.sampler(Map.LINEAR, Mip.LINEAR)
    red, green, blue, alpha = t.at_level(beta / 64)
    assert (red, green, blue, alpha) == (1 - beta / 64, beta / 64, 0.0, 1.0)

    def widen(value: float, bits: int) -> int:
        code = int(value * ((1 << bits) - 1) + 0.5)
        return code << (8 - bits) | code >> (2 * bits - 8)

    assert (widen(red, 5), widen(green, 6), widen(blue, 5)) == color


# --- anisotropy ---


def row_response(ratio: float, most: int) -> list[float]:
    """How much each column of level 0 counts."""
    t = Texturing()
    found = []
    for column in range(20, 44):
        t.surface(F.R16_FLOAT, 64, 64, levels=3)
        image = np.zeros((64, 64), np.float16)
        image[:, column] = 1.0
        t.texels(image)
        t.sampler(Map.ANISOTROPIC, maximum_anisotropy=most)
        result = t.message("sample_g", "8", 0.5, 0.5, ratio / 64, 0, 0, 1 / 64, mlen=7)
        found.append(float(result.view(np.float32)[0, 0]))
    return found


def test_a_ratio_of_3_is_four_samples_of_which_the_outer_two_count_half() -> None:
    """4 ways at +-0.5, +-1.5 texel, weights 1/6 1/3 1/3 1/6; u = 0.5 lies between texels 31 and 32."""
    response = row_response(3, 4)
    assert response[9:15] == pytest.approx([0, 1 / 6, 1 / 3, 1 / 3, 1 / 6, 0], abs=1e-6)
    assert sum(response) == pytest.approx(1.0)


def test_a_ratio_of_4_is_four_equal_samples() -> None:
    assert row_response(4, 4)[9:15] == pytest.approx([0, 0.25, 0.25, 0.25, 0.25, 0], abs=1e-6)


def test_a_ratio_of_5_2_is_six_samples() -> None:
    response = row_response(5.2, 16)
    assert response[9] == pytest.approx(0.11538, abs=1e-4)
    assert response[10] == pytest.approx(1 / 5.2, abs=1e-4)
    assert sum(response) == pytest.approx(1.0)


def test_a_ratio_of_1_is_a_linear_lookup() -> None:
    assert row_response(1, 16)[11:13] == [0.5, 0.5]


def test_the_ratio_is_limited_and_the_level_follows() -> None:
    t = Texturing()
    t.surface(F.R16_FLOAT, 64, 64, levels=4)
    for level in range(4):
        t.texels(np.full((64 >> level, 64 >> level), level, np.float16), level)
    t.sampler(Map.ANISOTROPIC, Mip.LINEAR, maximum_anisotropy=4)
    result = t.message("sample_g", "8", 0.5, 0.5, 16 / 64, 0, 0, 1 / 64, mlen=7).view(np.float32)
    assert result[0, 0] == 2.0  # 16 texels over 4 ways


def test_explicit_levels_make_anisotropy_linear() -> None:
    t = Texturing()
    t.surface(F.R8_UNORM, 4, 4)
    t.texels(np.array([[0, 255] * 2] * 4, np.uint8))
    t.sampler(Map.ANISOTROPIC, maximum_anisotropy=16)
    assert t.at_level(0.0, 0.25)[0] == 0.5


@pytest.mark.parametrize(("gen", "share"), [(Gen.EL, 0.0), (Gen.CL, 0.25)])
def test_force_lod_to_zero_makes_anisotropy_linear_on_gen45_only(gen: Gen, share: float) -> None:
    t = Texturing(gen)
    t.surface(F.R16_FLOAT, 64, 64, levels=3)
    image = np.zeros((64, 64), np.float16)
    image[:, 30] = 1.0
    t.texels(image)
    t.sampler(Map.ANISOTROPIC, maximum_anisotropy=4)
    result = t.message("sample_g", "8", 0.5, 0.5, 4 / 64, 0, 0, 1 / 64, mlen=7, header={"force_lod_to_zero": 1})
    assert result.view(np.float32)[0, 0] == pytest.approx(share, abs=1e-6)


# --- shadow compares ---


@pytest.mark.parametrize(("function", "results"), [
    (PrefilterOperation.LESS, [0, 1, 1]), (PrefilterOperation.ALWAYS, [0, 0, 0]),
    (PrefilterOperation.NEVER, [1, 1, 1]), (PrefilterOperation.EQUAL, [1, 0, 1]),
    (PrefilterOperation.LEQUAL, [0, 0, 1]), (PrefilterOperation.GREATER, [1, 1, 0]),
    (PrefilterOperation.NOTEQUAL, [0, 1, 0]), (PrefilterOperation.GEQUAL, [1, 0, 0]),
])
@pytest.mark.parametrize("format", [F.R32_FLOAT, F.I32_FLOAT, F.A32_FLOAT, F.L32_FLOAT])
def test_a_compare_is_0_where_it_holds(function: PrefilterOperation, results: list[int], format: F) -> None:
    t = Texturing()
    t.surface(format, 3, 1)
    t.texels(np.array([[0.25, 0.5, 0.75]], np.float32))
    t.sampler(shadow_function=function)
    u = np.array([0.1, 0.5, 0.9, 0.1] * 4, np.float32)
    got = t.message("sample_c", "16", u, 0.5, 0.0, 0.5).view(np.float32)
    channels = {F.R32_FLOAT: [0], F.I32_FLOAT: [0, 1, 2, 3], F.A32_FLOAT: [3], F.L32_FLOAT: [0, 1, 2]}[format]
    for channel in range(4):
        want = results if channel in channels else [1, 1, 1] if channel == 3 else [0, 0, 0]
        assert list(got[:3, channel]) == want


def compare(t: Texturing, reference: float, u: float = 0.5) -> float:
    return float(t.message("sample_c", "16", u, 0.5, 0.0, reference).view(np.float32)[0, 0])


def test_the_reference_of_a_unorm_texture_is_clamped() -> None:
    t = Texturing()
    t.surface(F.R24_UNORM_X8_TYPELESS, 1, 1)
    t.sampler(shadow_function=PrefilterOperation.NOTEQUAL)
    assert compare(t, -1.0) == 1.0
    t.surface(F.R32_FLOAT, 1, 1)
    assert compare(t, -1.0) == 0.0


def test_compares_are_made_before_filtering() -> None:
    t = Texturing()
    t.surface(F.R32_FLOAT, 2, 2)
    t.texels(np.array([[0.1, 0.9], [0.1, 0.2]], np.float32))
    t.sampler(Map.LINEAR, shadow_function=PrefilterOperation.LESS)
    assert compare(t, 0.5) == 0.25


def test_a_border_is_compared_too() -> None:
    t = Texturing()
    t.surface(F.R32_FLOAT, 2, 2)
    t.sampler(Map.LINEAR, mode=Mode.CLAMP_BORDER, border=[0.75, 0, 0, 0], shadow_function=PrefilterOperation.LESS)
    assert (compare(t, 0.5, 0.5), compare(t, 0.5, 0.0), compare(t, 0.5, -2.0)) == (0.0, 0.5, 1.0)


def test_a_compare_ignores_the_array_index_but_not_the_first_element() -> None:
    for gen, first in ((Gen.BW, 1.0), (Gen.EL, 0.0)):
        t = Texturing(gen)
        t.surface(F.R32_FLOAT, 2, 2, 3, minimum_array_element=1)
        for element, value in enumerate((0.75, 0.25, 0.75, 0.75)):
            t.texels(np.full((2, 2), value, np.float32), slice=element)
        t.sampler(shadow_function=PrefilterOperation.LESS)
        got = t.message("sample_c", "16", 0.5, 0.5, np.arange(16) % 3, 0.5).view(np.float32)
        assert (got[:, 0] == first).all()


def test_every_shadow_message_finds_its_reference() -> None:
    t = Texturing()
    t.surface(F.R32_FLOAT, 1, 1)
    t.texels(np.array([[0.5]], np.float32))
    t.sampler(shadow_function=PrefilterOperation.LESS)
    for reference, red in ((0.6, 0.0), (0.4, 1.0)):
        for name, simd, values in (
                ("sample_c", "16", (0.5, 0.5, 0.0, reference)), ("sample_b_c", "8", (0.5, 0.5, 0.0, 0.0, reference)),
                ("sample_l_c", "8", (0.5, 0.5, 0.0, 0.0, reference)), ("sample_c", "4x2", (0.5, 0.5, 0.0, reference)),
                ("sample_l_c", "4x2", (0.5, 0.5, 0.0, 0.0, reference))):
            got = t.message(name, simd, *values, header={"force_lod_to_zero": 1}).view(np.float32)
            assert (got[:, 0] == red).all(), name
    assert t.events() == set()


def test_a_volume_can_not_be_compared() -> None:
    t = Texturing()
    t.surface(F.R32_FLOAT, 2, 2, 2, type=T.SURFTYPE_3D)
    t.sampler(shadow_function=PrefilterOperation.NEVER)
    assert compare(t, 0.5) == 0.0
    assert t.events() == {Event.BAD_SURFACE}


def test_a_compare_of_a_color_format_is_reported() -> None:
    t = Texturing()
    t.surface(F.R8G8_UNORM, 2, 2)
    t.texels(np.array([[[100, 200]] * 2] * 2, np.uint8))
    t.sampler(shadow_function=PrefilterOperation.LESS)
    assert (compare(t, 0.5), compare(t, 0.3)) == (0.0, 1.0)
    assert t.events() == {Event.BAD_FORMAT}


@pytest.mark.parametrize(("gen", "result"), [(Gen.CL, 0.0), (Gen.EL, 1.0)])
def test_nan_in_a16_float_counts_as_infinity_on_gen4(gen: Gen, result: float) -> None:
    t = Texturing(gen)
    t.surface(F.A16_FLOAT, 1, 1)
    t.texels(np.array([[0x7E00]], np.uint16))
    t.sampler(shadow_function=PrefilterOperation.GREATER)
    assert t.message("sample_c", "16", 0.5, 0.5, 0.0, 9.0).view(np.float32)[0, 3] == result


# --- MONO8 ---


def mono(width: int, height: int, bits: np.ndarray) -> Texturing:
    t = Texturing()
    t.surface(F.MONO8, 32, 8, pitch=64)
    packed = np.zeros((8, 64), np.uint8)
    packed[:, :4] = np.packbits(bits.astype(bool), axis=1, bitorder="little")
    t.memory.write(t.base, packed.tobytes())
    t.sampler(Map.MONO, mode=Mode.CLAMP_BORDER, monochrome_filter_width=width, monochrome_filter_height=height)
    return t


def test_a_mono_filter_of_one_texel_takes_the_mean_of_its_neighbours() -> None:
    bits = np.zeros((8, 32))
    bits[:, 2] = 1
    t = mono(1, 1, bits)
    assert t.at(3.0 / 32, 0.5) == [0.5] * 4
    assert t.at(2.5 / 32, 0.5) == [1.0] * 4
    assert t.at(2.75 / 32, 0.5) == [0.75] * 4


def test_a_mono_filter_of_2x2_weights_the_outer_ring_by_fractions() -> None:
    bits = np.ones((8, 32))
    bits[4, 10] = 0
    t = mono(2, 2, bits)
    assert t.at(10.5 / 32, 4.5 / 8)[0] == 1 - 1 / 4
    assert t.at(0.0, 0.5)[0] == 0.5  # the border is black


def test_mono8_needs_its_own_filter() -> None:
    t = mono(1, 1, np.ones((8, 32)))
    t.sampler(Map.LINEAR)
    assert t.at(0.5) == [0.0] * 4
    assert t.events() == {Event.BAD_FORMAT}


# --- chroma keys ---


def keyed(format: F, low: int, high: int, texel: bytes, mode: ChromaKeyMode = ChromaKeyMode.REPLACE_BLACK,
          filter: Map = Map.NEAREST) -> Texturing:
    t = Texturing()
    t.surface(format, 8, 1)
    t.memory.write(t.base, texel)
    t.sampler(filter, chroma_key_enable=1, chroma_key_index=3, chroma_key_mode=mode)
    t.probe.state.chroma_key[3] = (low, high)
    return t


@pytest.mark.parametrize(("format", "texel", "low", "high"), [
    (F.B8G8R8A8_UNORM, bytes([1, 2, 3, 4]), 0x04030201, 0x04030201),
    (F.B8G8R8A8_UNORM, bytes([1, 2, 3, 4]), 0x00000000, 0x04040404),
    (F.B5G6R5_UNORM, (0b10101 << 11 | 0b110011 << 5 | 0b00001).to_bytes(2, "little"), 0x00ADCF08, 0xFFADCF08),
    (F.B4G4R4A4_UNORM, (0xA731).to_bytes(2, "little"), 0xAA773311, 0xAA773311),
    (F.R8G8_SNORM, bytes([0x83, 0x05]), 0x80FD0500, 0x7FFD0500),
    (F.L8_UNORM, bytes([0x42]), 0x00424242, 0xFF424242),
])
def test_a_texel_in_the_range_of_a_key_turns_black(format: F, texel: bytes, low: int, high: int) -> None:
    assert keyed(format, low, high, texel).at(0.01)[:3] == [0.0] * 3
    low, high = low & ~0xFF | (high & 0xFF) + 1, high | (0x7F if format == F.R8G8_SNORM else 0xFF)
    assert keyed(format, low, high, texel).at(0.01)[:3] != [0.0] * 3


def test_replaced_texels_have_alpha_0_even_if_the_format_has_none() -> None:
    assert keyed(F.B8G8R8X8_UNORM, 0, 0xFFFFFFFF, bytes([1, 2, 3, 4])).at(0.01) == [0.0] * 4
    t = keyed(F.B8G8R8X8_UNORM, 0, 0xFF030202, bytes([1, 2, 3, 4, 9, 9, 9, 9]), filter=Map.LINEAR)
    assert t.at(1 / 8)[3] == 0.5


def test_replaced_texels_of_yuv_are_video_black() -> None:
    t = keyed(F.YCRCB_NORMAL, 0x00302010, 0xFF403020, bytes([0x10, 0x20, 0x30, 0x40]))
    red, green, blue, alpha = t.at(0.01)
    assert (red * 255, green * 255, blue * 255, alpha) == pytest.approx((64, 16, 32, 1.0), abs=1e-4)
    t = keyed(F.YCRCB_NORMAL, 0x00401020, 0xFF401020, bytes([0x10, 0x20, 0x30, 0x40]))
    assert [round(x * 255) for x in t.at(0.01)] == [0x80, 0x10, 0x80, 0]


def test_keys_are_compared_before_filtering() -> None:
    t = keyed(F.B8G8R8A8_UNORM, 0x64646464, 0x64646464, bytes([100] * 4 + [200] * 4), filter=Map.LINEAR)
    assert t.at(1 / 8)[0] == float(np.float32(100 / 255))


def test_keys_of_formats_without_them_are_reported() -> None:
    t = keyed(F.R16_UNORM, 0, 0xFFFFFFFF, b"\xff\xff")
    assert t.at(0.01)[0] == 1.0
    assert t.events() == {Event.BAD_FORMAT}
