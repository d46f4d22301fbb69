"""Values of texels: every format, compressed blocks, YUV, palettes, sRGB (965 PRM vol. 4, 4.7.2)."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from gen4emu.hw.formats import FORMATS, ChannelType, Encoding, FormatInfo
from gen4emu.hw.formats import SurfaceFormat as F
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.sampler import MapFilter as Map
from gen4emu.hw.gen4.sampler import TextureCoordinateMode as Mode
from tests.harness.texturing import TEXTURE, Texturing


@pytest.fixture
def t() -> Texturing:
    return Texturing()


def one(t: Texturing, format: F, data: bytes, u: float = 0.01, v: float = 0.01, width: int = 1,
        height: int = 1) -> list[float]:
    t.surface(format, width, height)
    t.memory.write(TEXTURE, data)
    return t.at(u, v)


# --- numbers ---


def srgb(c: float) -> float:
    return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4


def channel(info: FormatInfo, index: int, word: int) -> int:
    """The 32 bits of a channel of an uncompressed format."""
    c = info.outputs[index]
    integers = info.data_class.value != 0
    if c.type in (ChannelType.ZERO, ChannelType.ONE):
        return 0 if c.type == ChannelType.ZERO else 1 if integers else 0x3F800000
    value = word >> c.at & ((1 << c.bits) - 1)
    signed = value - (1 << c.bits) if value >> (c.bits - 1) else value
    if c.type == ChannelType.UNORM:
        real = value / ((1 << c.bits) - 1)
        plain = np.float32(value) / np.float32((1 << c.bits) - 1)
        number = np.float32(srgb(real)) if info.srgb and index < 3 else plain
    elif c.type == ChannelType.SNORM:
        number = np.float32(max(np.float32(-1), np.float32(signed) / np.float32((1 << (c.bits - 1)) - 1)))
    elif c.type in (ChannelType.UINT, ChannelType.SINT):
        return (signed if c.type == ChannelType.SINT else value) & 0xFFFFFFFF
    elif c.type == ChannelType.FLOAT and c.bits == 32:
        return value
    elif c.type == ChannelType.FLOAT:
        number = np.array([value], np.uint16).view(np.float16).astype(np.float32)[0]
    elif c.type == ChannelType.UFLOAT:
        number = np.array([value << (15 - c.bits)], np.uint16).view(np.float16).astype(np.float32)[0]
    else:
        assert c.type == ChannelType.SHARED_EXPONENT
        number = np.float32(value * 2.0 ** ((word >> 27) - 24))
    return int(np.array([number], np.float32).view(np.uint32)[0])


PLAIN = [f for f in FORMATS if f.support.sample and f.encoding is Encoding.PLAIN and f.palette is None
         and f.block_bits >= 8 and f.format != F.MONO8]


@pytest.mark.parametrize("info", PLAIN, ids=lambda f: f.name)
def test_every_plain_format_is_decoded_by_ld_and_by_sample(t: Texturing, info: FormatInfo) -> None:
    rng = np.random.default_rng(int(info.format))
    count, size = 64, info.block_bits // 8
    data = rng.integers(0, 256, count * size, np.uint8).tobytes()
    t.surface(info.format, count, 1, pitch=4096)
    t.memory.write(TEXTURE, data)
    for start in range(0, count, 16):
        x = np.arange(start, start + 16)
        words = [int.from_bytes(data[i * size:(i + 1) * size], "little") for i in x]
        want = np.array([[channel(info, c, word) for c in range(4)] for word in words], np.uint32)
        for got in (t.load(x), t.sample((x + 0.5) / count, 0.5).view(np.uint32)):
            nan = np.isnan(want.view(np.float32)) & np.isnan(got.view(np.float32))
            exact = [c.type == ChannelType.FLOAT and c.bits == 32 for c in info.outputs]
            assert ((got == want) | nan & ~np.array(exact)).all()


@pytest.mark.parametrize("info", PLAIN, ids=lambda f: f.name)
def test_the_vector_path_and_the_path_of_single_texels_agree(info: FormatInfo) -> None:
    """A surface that is not aligned, so that only single texels can be read, has equal texels."""
    rng = np.random.default_rng(int(info.format))
    data = rng.integers(0, 256, 1 << 15, np.uint8).tobytes()
    u, v = rng.uniform(0, 1, 16), rng.uniform(0, 1, 16)
    results = []
    for base in (TEXTURE, TEXTURE + 1):
        t = Texturing()
        t.surface(info.format, 16, 16, base=base, data=data)
        t.sampler(Map.LINEAR)
        results.append(t.sample(u, v).view(np.uint32))
    assert (results[0] == results[1]).all()


def test_srgb_is_the_standard_curve_applied_before_filtering(t: Texturing) -> None:
    curve = {0: 0.0, 1: 0.00030353, 10: 0.00303527, 11: 0.00334654, 64: 0.05126946, 128: 0.21586050, 188: 0.50288646}
    for code, value in curve.items():
        red, green, blue, alpha = one(t, F.R8G8B8A8_UNORM_SRGB, bytes([code] * 4))
        assert (red, green, blue) == pytest.approx((value,) * 3, abs=2e-8)
        assert alpha == np.float32(code / 255)
    t.surface(F.R8G8B8A8_UNORM_SRGB, 2, 1)
    t.texels(np.array([[[0] * 4, [255] * 4]], np.uint8))
    t.sampler(Map.LINEAR)
    assert t.at(0.5) == [0.5] * 4


def test_a_border_is_not_srgb_decoded(t: Texturing) -> None:
    t.surface(F.R8G8B8A8_UNORM_SRGB, 2, 1, data=b"\xff" * 64)
    t.sampler(Map.LINEAR, mode=[Mode.CLAMP_BORDER, Mode.WRAP, Mode.WRAP], border=[0.1] * 4)
    assert t.at(0.0)[0] == pytest.approx(0.55, abs=1e-7)


@pytest.mark.parametrize(("format", "word", "color"), [
    (F.R11G11B10_FLOAT, 0x3C0 | 0x7BF << 11 | 0x1E0 << 22, (1.0, 65024.0, 1.0, 1.0)),
    (F.R9G9B9E5_SHAREDEXP, 15 << 27 | 256, (0.5, 0.0, 0.0, 1.0)),
    (F.R9G9B9E5_SHAREDEXP, 16 << 27 | 384 << 9, (0.0, 1.5, 0.0, 1.0)),
    (F.R9G9B9E5_SHAREDEXP, 31 << 27 | 511 << 18, (0.0, 0.0, 65408.0, 1.0)),
    (F.R8G8B8A8_SNORM, 0x7F008180, (-1.0, -1.0, 0.0, 1.0)),
    (F.R24_UNORM_X8_TYPELESS, 0xAB800000, (float(np.float32(8388608 / 16777215)), 0.0, 0.0, 1.0)),
])
def test_packed_words_have_these_values(t: Texturing, format: F, word: int,
                                                    color: tuple[float, ...]) -> None:
    assert one(t, format, struct.pack("<I", word)) == list(color)


def test_stencil_views_return_integers(t: Texturing) -> None:
    t.surface(F.X24_TYPELESS_G8_UINT, 1, 1, data=struct.pack("<I", 0xA5123456))
    assert list(t.load(0)[0]) == [0, 0xA5, 0, 1]
    t.surface(F.X32_TYPELESS_G8X24_UINT, 1, 1, data=struct.pack("<II", 0x3F800000, 0xFFFFFF5A))
    assert list(t.load(0)[0]) == [0, 0x5A, 0, 1]


def test_floats_of_32_bits_pass_bit_by_bit(t: Texturing) -> None:
    for word in (0x00000001, 0x7F800001, 0xFF812345, 0x80000000):
        t.surface(F.R32G32B32A32_FLOAT, 1, 1, data=struct.pack("<IIII", word, 1, word, 0))
        assert list(t.load(0)[0]) == [word, 1, word, 0]
        assert list(t.sample(0.5, 0.5).view(np.uint32)[0]) == [word, 1, word, 0]


# --- blocks ---


def bc1(c0: int, c1: int, *indices: int) -> bytes:
    return struct.pack("<HHI", c0, c1, sum(k << (2 * i) for i, k in enumerate(indices)))


def texel(t: Texturing, format: F, block: bytes, i: int, width: int = 4, row: int = 0) -> list[float]:
    return one(t, format, block, (i + 0.5) / width, (row + 0.5) / 4, width, 4)


def test_bc1_interpolates_in_thirds_or_has_a_half_and_black(t: Texturing) -> None:
    red, blue = 0xF800, 0x001F
    third, two = float(np.float32(255 / 765)), float(np.float32(510 / 765))
    block = bc1(red, blue, 0, 1, 2, 3)
    assert [texel(t, F.BC1_UNORM, block, i) for i in range(4)] == [
        [1, 0, 0, 1], [0, 0, 1, 1], [two, 0, third, 1], [third, 0, two, 1]]
    block = bc1(blue, red, 0, 1, 2, 3)
    assert [texel(t, F.BC1_UNORM, block, i) for i in range(4)] == [
        [0, 0, 1, 1], [1, 0, 0, 1], [0.5, 0, 0.5, 1], [0, 0, 0, 0]]
    assert texel(t, F.BC1_RGB, block, 3) == [0, 0, 0, 1]
    assert texel(t, F.BC1_RGB_SRGB, block, 2)[0] == np.float32(srgb(0.5))


def test_bc1_endpoints_are_widened_by_repeating_bits(t: Texturing) -> None:
    color = texel(t, F.BC1_UNORM, bc1(0b10000_100000_00001, 0), 0)
    assert [x * 255 for x in color[:3]] == pytest.approx([132, 130, 8], abs=1e-4)


def test_bc2_has_four_bits_of_alpha_and_always_four_colors(t: Texturing) -> None:
    block = struct.pack("<Q", 0xFEDCBA9876543210) + bc1(0x001F, 0xF800, 0, 1, 2, 3)
    colors = [texel(t, F.BC2_UNORM, block, i) for i in range(4)]
    assert [c[3] for c in colors] == [float(np.float32(i / 15)) for i in range(4)]
    assert colors[3][:3] == [float(np.float32(510 / 765)), 0.0, float(np.float32(255 / 765))]
    assert texel(t, F.BC2_UNORM, block, 1, row=3)[3] == float(np.float32(13 / 15))


def alpha_block(a0: int, a1: int, *indices: int) -> bytes:
    return (a0 | a1 << 8 | sum(k << (16 + 3 * i) for i, k in enumerate(indices))).to_bytes(8, "little")


def test_bc3_and_bc4_have_eight_or_six_steps(t: Texturing) -> None:
    eight = alpha_block(255, 3, 0, 1, 2, 7)
    want = [np.float32(x) for x in (1.0, 3 / 255, (6 * 255 + 3) / 1785, (255 + 6 * 3) / 1785)]
    assert [texel(t, F.BC4_UNORM, eight, i) for i in range(4)] == [[x, 0, 0, 1] for x in want]
    assert [texel(t, F.BC3_UNORM, eight + bc1(0, 0), i)[3] for i in range(4)] == want
    six = alpha_block(3, 255, 2, 5, 6, 7)
    want = [np.float32(x) for x in ((4 * 3 + 255) / 1275, (3 + 4 * 255) / 1275, 0.0, 1.0)]
    assert [texel(t, F.BC4_UNORM, six, i)[0] for i in range(4)] == want


def test_signed_blocks_treat_minus_128_as_minus_127(t: Texturing) -> None:
    block = alpha_block(0x80, 0x7F, 0, 1, 6, 7) + alpha_block(0x7F, 0x81, 0, 1, 2, 7)
    colors = [texel(t, F.BC5_SNORM, block, i) for i in range(4)]
    assert [c[0] for c in colors] == [-1.0, 1.0, -1.0, 1.0]
    assert [c[1] for c in colors] == [1.0, -1.0, float(np.float32(635 / 889)), float(np.float32(-635 / 889))]
    assert all(c[2:] == [0.0, 1.0] for c in colors)
    assert texel(t, F.BC4_SNORM, block, 0) == [-1.0, 0.0, 0.0, 1.0]
    assert texel(t, F.BC5_UNORM, block, 1)[0] == float(np.float32(127 / 255))


def test_srgb_blocks_decode_interpolated_colors(t: Texturing) -> None:
    block = bc1(0xF800, 0x001F, 0, 1, 2, 3)
    assert texel(t, F.BC1_UNORM_SRGB, block, 2)[0] == np.float32(srgb(510 / 765))
    full = alpha_block(128, 0) + block
    assert texel(t, F.BC3_UNORM_SRGB, full, 3) == [
        float(np.float32(srgb(1 / 3))), 0.0, float(np.float32(srgb(2 / 3))), float(np.float32(128 / 255))]


def test_a_linear_lookup_spans_blocks(t: Texturing) -> None:
    t.surface(F.BC1_UNORM, 8, 4)
    t.memory.write(TEXTURE, bc1(0, 0) + bc1(0xFFFF, 0))
    t.sampler(Map.LINEAR)
    assert t.at(0.5)[0] == 0.5
    t.memory.write(TEXTURE, bc1(0xFFFF, 0) + bc1(0xFFFF, 0))
    assert t.at(0.5)[0] == 1.0  # a new draw reads memory again


def fxt1(**fields: tuple[int, int]) -> bytes:
    return sum(value << at for at, value in fields.values()).to_bytes(16, "little")


def color15(red: int, green: int, blue: int) -> int:
    return red << 10 | green << 5 | blue


def bytes_of(color: list[float]) -> list[int]:
    return [round(x * 255) for x in color]


def test_fxt1_hi_blends_sixths(t: Texturing) -> None:
    block = fxt1(index=(0, 0 | 6 << 3 | 3 << 6 | 7 << 9), a=(96, color15(0, 0, 0)), b=(111, color15(31, 16, 0)))
    assert [bytes_of(texel(t, F.FXT1, block, i, 8)) for i in range(4)] == [
        [0, 0, 0, 255], [255, 132, 0, 255], [128, 66, 0, 255], [0, 0, 0, 0]]


def test_fxt1_chroma_has_four_colors(t: Texturing) -> None:
    block = fxt1(mode=(125, 2), left=(0, 0 | 1 << 2 | 2 << 4 | 3 << 6), right=(32, 3), a=(64, color15(31, 0, 0)),
                 b=(79, color15(0, 31, 0)), c=(94, color15(0, 0, 31)), d=(109, color15(31, 31, 31)))
    assert [bytes_of(texel(t, F.FXT1, block, i, 8)) for i in range(5)] == [
        [255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 255], [255, 255, 255, 255], [255, 255, 255, 255]]


def test_fxt1_mixed_has_two_colors_for_each_half(t: Texturing) -> None:
    plain = fxt1(mode=(127, 1), left=(0, 0 | 3 << 2 | 2 << 4), right=(32, 0), a=(64, color15(31, 31, 0)),
                 b=(79, color15(0, 0, 31)), c=(94, color15(0, 31, 0)), d=(109, 0))
    # glsb 0 and selb 1 (bit 1 is part of the first index, here 0): the sixth green bit of the first color is 0
    assert [bytes_of(texel(t, F.FXT1, plain, i, 8))[0] for i in (0, 1, 2)] == [255, 0, 85]
    assert bytes_of(texel(t, F.FXT1, plain, 0, 8)) == [255, 251, 0, 255]
    assert bytes_of(texel(t, F.FXT1, plain, 4, 8)) == [0, 251, 0, 255]
    alpha = fxt1(mode=(127, 1), flag=(124, 1), left=(0, 0 | 1 << 2 | 2 << 4 | 3 << 6), a=(64, color15(31, 31, 0)),
                 b=(79, color15(0, 0, 31)))
    assert [bytes_of(texel(t, F.FXT1, alpha, i, 8)) for i in range(4)] == [
        [255, 255, 0, 255], [127, 127, 127, 255], [0, 0, 255, 255], [0, 0, 0, 0]]


def test_fxt1_alpha_blends_or_chooses(t: Texturing) -> None:
    chosen = fxt1(mode=(125, 3), left=(0, 0 | 1 << 2 | 2 << 4 | 3 << 6), a=(64, color15(31, 0, 0)),
                  b=(79, color15(0, 31, 0)), c=(94, color15(0, 0, 31)), alphas=(109, 31 | 16 << 5))
    assert [bytes_of(texel(t, F.FXT1, chosen, i, 8)) for i in range(4)] == [
        [255, 0, 0, 255], [0, 255, 0, 132], [0, 0, 255, 0], [0, 0, 0, 0]]
    lerp = fxt1(mode=(125, 3), lerp=(124, 1), left=(0, 1 << 2), a=(64, color15(31, 0, 0)), b=(79, color15(0, 0, 31)),
                alphas=(109, 31))
    assert bytes_of(texel(t, F.FXT1, lerp, 1, 8)) == [170, 0, 85, 170]


# --- YUV, palettes, single bits ---


@pytest.mark.parametrize(("format", "data"), [
    (F.YCRCB_NORMAL, "10 20 30 40"), (F.YCRCB_SWAPY, "20 10 40 30"), (F.YCRCB_SWAPUV, "10 40 30 20"),
    (F.YCRCB_SWAPUVY, "40 10 20 30"),
])
def test_pairs_of_yuv_share_their_chroma(t: Texturing, format: F, data: str) -> None:
    t.surface(format, 2, 1, data=bytes.fromhex(data))
    assert [bytes_of(t.at(u)) for u in (0.1, 0.9)] == [[0x40, 0x10, 0x20, 255], [0x40, 0x30, 0x20, 255]]
    assert t.load(1).view(np.float32)[0, 1] == np.float32(0x30 / 255)


def test_the_chroma_of_odd_texels_lies_between_two_pairs_when_filtering(t: Texturing) -> None:
    t.surface(F.YCRCB_NORMAL, 4, 1, data=bytes([0, 100, 0, 0, 0, 200, 0, 50]))
    t.sampler(Map.LINEAR)
    assert [round(t.at((x + 0.5) / 4)[2] * 510) for x in range(4)] == [200, 300, 400, 400]
    assert [round(t.at((x + 0.5) / 4)[0] * 510) for x in range(4)] == [0, 50, 100, 100]


@pytest.mark.parametrize(("format", "byte"), [(F.P4A4_UNORM_PALETTE0, 0x5A), (F.A4P4_UNORM_PALETTE0, 0xA5)])
def test_palettes_give_colors_and_the_texel_alpha(t: Texturing, format: F, byte: int) -> None:
    t.surface(format, 1, 1, data=bytes([byte]))
    t.probe.state.sampler_palette[10] = 0xEE102030
    assert bytes_of(t.at(0.5)) == [16, 32, 48, 85]
    assert t.at(0.5)[3] == np.float32(5 / 15)


def test_the_palettes_of_gen45(t: Texturing) -> None:
    t.probe.state.sampler_palette[200] = 0x010203
    t.probe.state.sampler_palette1[200] = 0x040506
    t.probe.state.sampler_palette1[3] = 0x070809
    t.surface(F.P8_UNORM_PALETTE0, 1, 1, data=bytes([200]))
    assert bytes_of(t.at(0.5)) == [1, 2, 3, 255]
    t.surface(F.P8_UNORM_PALETTE1, 1, 1, data=bytes([200]))
    assert bytes_of(t.at(0.5)) == [4, 5, 6, 255]
    t.surface(F.P2_UNORM_PALETTE1, 8, 1, data=bytes([0, 0b00001100]))
    assert [bytes_of(t.at((x + 0.5) / 8)) for x in (4, 5)] == [[0, 0, 0, 255], [7, 8, 9, 255]]


def test_single_bits_count_from_the_lowest(t: Texturing) -> None:
    t.surface(F.R1_UNORM, 16, 1, data=bytes([0b00000101, 0x80]))
    assert [t.at((x + 0.5) / 16)[0] for x in range(16)] == [1, 0, 1] + [0] * 12 + [1]


@pytest.mark.parametrize("info", [f for f in FORMATS if f.support.sample & Gen.EL], ids=lambda f: f.name)
@pytest.mark.parametrize("filter", [Map.NEAREST, Map.LINEAR, Map.ANISOTROPIC, Map.MONO])
def test_every_format_with_every_filter_survives_noise(t: Texturing, info: FormatInfo, filter: Map) -> None:
    rng = np.random.default_rng(int(info.format))
    t.surface(info.format, 11, 7, data=rng.integers(0, 256, 1 << 14, np.uint8).tobytes())
    t.sampler(filter, mode=Mode.CLAMP_BORDER, maximum_anisotropy=16)
    color = t.sample(rng.uniform(-1, 2, 16), rng.uniform(-1, 2, 16))
    kinds = {c.type for c in info.outputs}
    if not kinds & {ChannelType.FLOAT, ChannelType.UFLOAT, ChannelType.UINT, ChannelType.SINT,
                    ChannelType.SHARED_EXPONENT}:
        assert (np.abs(color) <= 1.0).all()
