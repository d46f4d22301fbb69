"""How render targets encode and place colors, format by format (G45 PRM vol. 2, 9)."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from gen4emu._native import lib
from gen4emu.device.tiling import SurfaceLayout, Tiling
from gen4emu.hw.formats import FORMATS, Channel, ChannelType, Encoding, FormatInfo
from gen4emu.hw.gen import Gen
from tests.harness.canvas import Canvas
from tests.harness.probe import Event

TARGETS = [info for info in FORMATS if info.support.render_target and info.encoding is Encoding.PLAIN]
COLORS = [(0.0, 0.25, 0.5, 1.0), (1.0, 0.1, 0.9, 0.5), (2.0, -1.0, 0.3333, 0.999), (math.nan, math.inf, -math.inf, 0.0),
          (1e-6, 70000.0, -70000.0, 0.7), (6e-8, 3e-5, 0.002, -0.25)]
INTEGERS = [(0, 1, 2, 3), (255, 256, 0x7FFFFFFF, 0x80000000), (0xFFFFFFFF, 0xFFFFFF80, 0xFFFFFF7F, 128),
            (1023, 1024, 4, 65535), (65536, 0xFFFF8000, 0xFFFF7FFF, 32767)]


def small_float(value: float, mantissa: int) -> int:
    """Unsigned, five bits of exponent, cut off."""
    if math.isnan(value):
        return 31 << mantissa | 1 << (mantissa - 1)
    if value <= 0:
        return 0
    if math.isinf(value):
        return 31 << mantissa
    fraction, exponent = math.frexp(float(np.float32(value)))
    if exponent - 1 > 15:
        return (31 << mantissa) - 1
    if exponent - 1 < -14:
        return int(math.ldexp(fraction, exponent + 14 + mantissa))
    return (exponent - 1 + 15 << mantissa) + int((fraction * 2 - 1) * (1 << mantissa))


def code_of(channel: Channel, value: float, linear: bool) -> int:
    """The rules of the encoding, in exact arithmetic."""
    v = np.float32(value)
    top = (1 << channel.bits) - 1
    match channel.type:
        case ChannelType.UNORM:
            clear = np.float32(0) if np.isnan(v) else np.clip(v, np.float32(0), np.float32(1))
            if linear:
                return int(np.floor(clear * np.float32(top) + np.float32(0.5)))
            x = float(clear)
            curve = 12.92 * x if x <= 0.0031308 else 1.055 * x ** (1 / 2.4) - 0.055
            return math.floor(curve * top + 0.5)
        case ChannelType.SNORM:
            clear = np.float32(0) if np.isnan(v) else np.clip(v, np.float32(-1), np.float32(1))
            scaled = clear * np.float32(top >> 1)
            return int(np.trunc(scaled + np.copysign(np.float32(0.5), scaled))) & top
        case ChannelType.FLOAT if channel.bits == 32:
            return int(v.view(np.uint32))
        case ChannelType.FLOAT:
            with np.errstate(over="ignore"):
                return int(np.float16(v).view(np.uint16))
        case ChannelType.UFLOAT:
            return small_float(value, channel.bits - 5)
    raise AssertionError(channel)


@pytest.mark.parametrize("info", TARGETS, ids=lambda info: info.name)
def test_every_target_format_encodes_by_the_rules(info: FormatInfo) -> None:
    integer = info.data_class.name in ("UINT", "SINT")
    tiling = Tiling.X if info.block_bits == 128 else Tiling.Y
    board = Canvas(info.name, tiling=tiling)
    board.begin()
    for color in INTEGERS if integer else COLORS:
        values = np.array(color, np.uint32) if integer else np.array(color, np.float32)
        board.draw(np.tile(values, (16, 1)))
        expected = []
        for index, channel in enumerate(info.outputs):
            if not channel.bits:
                expected.append(-1)
            elif channel.type is ChannelType.UINT:
                expected.append(min(int(values[index]), (1 << channel.bits) - 1))
            elif channel.type is ChannelType.SINT:
                half = 1 << (channel.bits - 1)
                signed = int(values[index].view(np.int32))
                expected.append(max(-half, min(half - 1, signed)) & ((1 << channel.bits) - 1))
            else:
                expected.append(code_of(channel, float(values[index]), not info.srgb or index == 3))
        assert board.target.channels(0, 0) == expected
        assert board.target.channels(7, 1) == expected
        assert board.target.channels(8, 0) == [0 if c.bits else -1 for c in info.outputs]
    assert not board.probe.events()


def test_format_that_is_no_target_is_reported() -> None:
    board = Canvas("R16_UNORM", surface_format="L8_UNORM")
    board.begin()
    board.draw((1, 1, 1, 1))
    assert board.target.raw(0, 0) == 0
    assert board.probe.event(Event.BAD_FORMAT).count == 1


@pytest.mark.parametrize(("linear", "code"), [(0.1, 89), (0.5, 188), (0.002, 7), (1.0, 255), (0.0, 0)])
def test_srgb_codes_of_these_numbers(linear: float, code: int) -> None:
    board = Canvas("B8G8R8A8_UNORM_SRGB")
    board.begin()
    board.draw((linear, linear, linear, linear))
    assert board.target.channels(0, 0) == [code] * 3 + [round(linear * 255)]


def test_srgb_destination_is_decoded_for_blending_and_comes_back_unchanged() -> None:
    board = Canvas("R8G8B8A8_UNORM_SRGB", width=256)
    board.begin(cc={"color_buffer_blend_enable": True, "source_blend_factor": "ONE",
                    "destination_blend_factor": "ONE"})
    row = np.arange(256, dtype=np.uint32) * 0x01010101
    for y in range(2):
        SurfaceLayout(board.target.address, 1024, 1024, 32, 1, Tiling.Y).write(
            board.memory, row.tobytes(), 0, y, 1024, 1)
    for x in range(0, 256, 8):
        board.draw((0, 0, 0, 0), x)
    assert board.target.row(0, 256) == list(row)
    board.draw((0.5, 0.5, 0.5, 0), 184)  # code 188 is 0.503: together more than 1
    assert board.target.channels(188, 0) == [255, 255, 255, 188]


# --- dither ---

DITHER = {"color_dither_enable": True}


def dithered(value: float, **cc: Any) -> list[list[int]]:
    board = Canvas("B5G6R5_UNORM")
    board.begin(cc=DITHER | cc)
    for y in (0, 2):
        board.draw((value, value, value, value), y=y)
    return [[board.target.channels(x, y)[0] for x in range(8)] for y in range(4)]


def test_dither_of_these_pixels() -> None:
    assert dithered(0.5)[0][:4] == [15, 16, 15, 16]
    assert dithered(0.5)[1][:4] == [16, 15, 16, 15]
    assert dithered(10 / 31) == [[10] * 8] * 4
    assert dithered(1.0) == [[31] * 8] * 4
    assert dithered(0.0) == [[0] * 8] * 4


def test_dither_offsets_move_the_pattern() -> None:
    plain, moved = dithered(0.52), dithered(0.52, x_dither_offset=1, y_dither_offset=2)
    assert moved[1] == plain[3][1:] + plain[3][:1]
    assert moved[0][:7] == plain[2][1:]


def test_channels_of_eight_bits_do_not_dither() -> None:
    board = Canvas("R8G8B8A8_UNORM")
    board.begin(cc=DITHER)
    board.draw((0.499, 0.2, 0.7, 0.1))
    assert {board.target.raw(x, 0) for x in range(8)} == {board.target.raw(0, 0)}


# --- packed video ---

@pytest.mark.parametrize(("name", "expected"), [
    ("YCRCB_NORMAL", [0x80, 0x20, 0x40, 0xFF]), ("YCRCB_SWAPUV", [0x80, 0xFF, 0x40, 0x20]),
    ("YCRCB_SWAPY", [0x20, 0x80, 0xFF, 0x40]), ("YCRCB_SWAPUVY", [0xFF, 0x80, 0x20, 0x40])])
def test_video_targets_share_the_even_pixels_chroma(name: str, expected: list[int]) -> None:
    """R is Cr, G is Y, B is Cb."""
    board = Canvas(name)
    board.begin()
    colors = np.zeros((16, 4), np.float32)
    colors[0::2] = (1.0, 0x80 / 255, 0x20 / 255, 0)
    colors[1::2] = (0.3, 0x40 / 255, 0.3, 0)
    board.draw(colors)
    assert board.target.image()[0, :8].reshape(-1).tolist() == expected * 4
    assert board.target.image()[1, :8].reshape(-1).tolist() == expected * 4
    assert board.target.image()[2].max() == 0
    assert not board.probe.events()


# --- where the pixels go ---

@pytest.mark.parametrize("tiling", [Tiling.LINEAR, Tiling.X, Tiling.Y])
@pytest.mark.parametrize("name", ["R8_UNORM", "B5G6R5_UNORM", "R8G8B8A8_UNORM", "R16G16B16A16_UNORM",
                                  "R32G32B32A32_FLOAT"])
def test_every_pixel_of_a_surface_gets_its_own_color(name: str, tiling: Tiling) -> None:
    board = Canvas(name, width=64, height=32, tiling=tiling)
    board.begin()
    rng = np.random.default_rng(7)
    picture = rng.integers(0, 32, (32, 64, 4))
    info = board.target.info
    tops = np.array([(1 << c.bits) - 1 if c.type is ChannelType.UNORM else 1 for c in info.outputs])
    for y in range(0, 32, 2):
        for x in range(0, 64, 8):
            block = picture[y:y + 2, x:x + 8].reshape(2, 4, 2, 4).transpose(1, 0, 2, 3).reshape(16, 4)
            board.draw((block / np.maximum(tops, 1)).astype(np.float32), x, y)
    image = board.target.image()
    for y in range(32):
        for x in range(64):
            value = int.from_bytes(image[y, x].tobytes(), "little")
            for c, channel in enumerate(info.outputs):
                if channel.type is ChannelType.UNORM and channel.bits:
                    assert value >> channel.at & tops[c] == min(picture[y, x, c], tops[c])
                elif channel.type is ChannelType.FLOAT:
                    assert value >> channel.at & 0xFFFFFFFF == int(np.float32(picture[y, x, c]).view(np.uint32))


@pytest.mark.parametrize("name", ["R32G32B32A32_UINT", "R32G32B32A32_SINT"])
@pytest.mark.parametrize("variant", range(lib.g4_variant_best() + 1))
def test_integers_of_32_bits_are_stored_as_they_are_in_columns_of_a_y_tile(variant: int, name: str) -> None:
    before = lib.g4_variant_current()
    lib.g4_set_variant(variant)
    rng = np.random.default_rng(13)
    board = Canvas(name, width=17, height=35, tiling=Tiling.Y)  # three tiles across, two down, cut in a subspan
    board.target.layout.write(board.memory, rng.bytes(board.target.pitch * board.target.layout.height))
    board.begin()
    lane = np.arange(16)
    dx, dy = lane // 4 * 2 + lane % 2, lane // 2 % 2
    for i in range(80):
        x, y = int(rng.integers(0, 10)) * 2, int(rng.integers(0, 18)) * 2
        pixels = 0xFFFF if i % 2 else int(rng.integers(1, 1 << 16))
        colors = rng.integers(0, 1 << 32, (16, 4), dtype=np.uint32)
        want = board.target.image().copy().view(np.uint32)
        inside = (pixels >> lane & 1).astype(bool) & (x + dx < 17) & (y + dy < 35)
        want[y + dy[inside], x + dx[inside]] = colors[inside]
        board.draw(colors, x, y, pixels=pixels)
        assert np.array_equal(board.target.image().view(np.uint32), want)
    lib.g4_set_variant(before)


@pytest.mark.parametrize("tiling", [Tiling.LINEAR, Tiling.Y])
def test_pixels_outside_of_the_surface_are_dropped(tiling: Tiling) -> None:
    board = Canvas(width=5, height=3, tiling=tiling)
    board.begin()
    for y in (0, 2):
        board.draw((1, 1, 1, 1), y=y)
    image = board.target.image()[..., 0]
    assert image[:3, :5].min() == 255
    image = image.copy()
    image[:3, :5] = 0
    assert image.max() == 0


def test_coordinates_far_outside_are_dropped() -> None:
    board = Canvas()
    board.begin()
    for x, y in ((0xFFF8, 0), (0, 0xFFFE), (0x8000, 0x8000), (64, 0), (0, 32)):
        board.draw((1, 1, 1, 1), x, y)
    assert board.target.image().max() == 0


def test_linear_surface_at_any_address_and_pitch() -> None:
    """Pixels that cross pages and pairs that are not aligned."""
    board = Canvas(width=21, height=8, tiling=Tiling.LINEAR, surface_base_address=0x200FFE, surface_pitch=85)
    board.memory.write(0x200000, bytes(0x2000))
    board.begin()
    for y in range(0, 8, 2):
        for x in range(0, 24, 8):
            board.draw((x / 255, y / 255, 1, 0), x, y)
    data = board.memory.read(0x200FFE, 85 * 8)
    for y in range(8):
        for x in range(21):
            at = 85 * y + 4 * x
            assert data[at:at + 4] == bytes([x & ~7, y & ~1, 255, 0])
        assert data[85 * y + 84] == 0


def test_level_and_slice_select_the_image() -> None:
    """Level 1 lies under level 0, slices are al(H0) + al(H1) + 22 rows apart."""
    board = Canvas(width=64, height=32, mip_count_or_lod=1, minimum_array_element=1, depth=3)
    board.begin()
    board.draw((1, 1, 1, 1), array_index=1)
    rows = 32 + 16 + 22
    layout = SurfaceLayout(board.target.address, board.target.pitch, 4, 256, 1, Tiling.Y)
    assert layout.read(board.memory, 0, 2 * rows + 32, 4, 1) == b"\xff" * 4
    assert layout.read(board.memory, 0, 2 * rows + 31, 4, 1) == bytes(4)
    board.draw((1, 1, 1, 1), 32, 14)  # right and below of the 32x16 image
    assert layout.read(board.memory, 0, 32 + rows + 14, 4, 1) == bytes(4)


def test_array_index_out_of_range_falls_back_to_the_first_slice() -> None:
    board = Canvas(depth=2)
    board.begin()
    board.draw((1, 1, 1, 1), array_index=2)
    assert board.target.raw(0, 0) == 0xFFFFFFFF


@pytest.mark.parametrize(("gen", "place"), [(Gen.EL, (8, 4)), (Gen.CL, (0, 0))])
def test_offsets_exist_on_later_parts(gen: Gen, place: tuple[int, int]) -> None:
    fields = {"x_offset": 8, "y_offset": 4} if gen is Gen.EL else {}
    board = Canvas(gen=gen, **fields)
    board.begin()
    board.draw((1, 1, 1, 1))
    assert board.target.raw(*place) == 0xFFFFFFFF
    assert board.target.raw(place[0] + 8, place[1]) == 0


def test_buffer_target_uses_x_only() -> None:
    board = Canvas(tiling=Tiling.LINEAR)
    index = board.probe.add_surface(surface_type="SURFTYPE_BUFFER", surface_format=board.target.info.format,
                                    buffer_entries_6_0=5, surface_pitch=16,
                                    surface_base_address=board.target.address)
    board.begin()
    board.draw((1, 1, 1, 1), index=index)
    data = board.memory.read(board.target.address, 128)
    assert data == (b"\xff" * 4 + bytes(12)) * 6 + bytes(32)


def test_field_of_a_video_frame_skips_every_other_line() -> None:
    board = Canvas(height=16, vertical_line_stride=True, vertical_line_stride_offset=1)
    board.begin()
    board.draw((1, 1, 1, 1))
    assert [board.target.raw(0, y) != 0 for y in range(6)] == [False, True, False, True, False, False]


def test_null_target_takes_no_color() -> None:
    board = Canvas(surface_type="SURFTYPE_NULL")
    board.begin()
    board.draw((1, 1, 1, 1))
    assert board.target.image().max() == 0
    assert not board.probe.events()


@pytest.mark.parametrize("tiling", [Tiling.X, Tiling.Y])
def test_a_target_without_memory_takes_no_color(tiling: Tiling) -> None:
    """Its rows have no host address, and none may be derived from that (UBSan of Clang sees it)."""
    nowhere = 0xC0000000
    canvas = Canvas(tiling=tiling, surface_base_address=nowhere)
    canvas.begin()
    canvas.draw((1, 1, 1, 1))
    assert canvas.memory.unmapped(nowhere, 0x4000) == [(nowhere, 0x4000)]


@pytest.mark.parametrize(("tiling", "events"), [(Tiling.X, set()), (Tiling.Y, {Event.BAD_SURFACE})])
def test_targets_of_128_bits_a_pixel_may_not_be_y_tiled_before_gen7(tiling: Tiling, events: set[Event]) -> None:
    """SNB PRM vol. 1 part 2, Tiled Resources: "must be either TileX or Linear"; they are written all the same."""
    canvas = Canvas("R32G32B32A32_FLOAT", tiling=tiling)
    canvas.begin()
    canvas.draw((1, 1, 1, 1))
    assert set(canvas.probe.events()) == events
    assert canvas.target.image().max() > 0


def test_missing_surface_state_is_reported() -> None:
    board = Canvas()
    board.memory.write(0x1004, b"\x00\x00\x00\xf0")
    board.begin()
    board.draw((1, 1, 1, 1), index=1)
    assert board.probe.event(Event.BAD_SURFACE).count == 1
    assert board.target.image().max() == 0


def test_random_pictures_are_the_same_in_every_vector_variant() -> None:
    before = lib.g4_variant_current()
    pictures = []
    for variant in range(lib.g4_variant_best() + 1):
        lib.g4_set_variant(variant)
        rng = random.Random(11)
        noise = np.random.default_rng(11)
        seen = []
        for info in TARGETS:
            board = Canvas(info.name, tiling=Tiling.X)
            board.target.layout.write(board.memory, noise.bytes(board.target.pitch * board.target.layout.height))
            board.begin(cc={
                "color_buffer_blend_enable": True, "color_dither_enable": True,
                "source_blend_factor": rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 18, 19]),
                "destination_blend_factor": rng.choice([1, 2, 3, 4, 5, 17, 20, 21]),
                "color_blend_function": rng.randrange(5), "pre_blend_color_clamp_enable": rng.random() < 0.5,
                "color_clamp_range": rng.randrange(3)})
            colors = noise.integers(0, 1 << 32, (16, 4), dtype=np.uint32)
            for x in range(0, 32, 8):
                board.draw(colors if x else (colors.astype(np.float32) / 2.0 ** 32), x,
                           pixels=rng.randrange(1 << 16))
            seen.append(board.target.image().tobytes())
        pictures.append(seen)
    lib.g4_set_variant(before)
    assert all(picture == pictures[0] for picture in pictures)
