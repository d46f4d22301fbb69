"""Positions of levels, slices and texels in a surface (965 PRM vol. 4, 4.7.2)."""

from __future__ import annotations

import numpy as np
import pytest

from gen4emu.device.tiling import Tiling
from gen4emu.hw.formats import SurfaceFormat as F
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.surface import MipMapLayoutMode
from gen4emu.hw.gen4.surface import SurfaceType as T
from tests.harness.texturing import TEXTURE, Texturing


@pytest.fixture
def t() -> Texturing:
    return Texturing()


def test_levels_of_a_2d_texture_lie_below_and_beside_each_other(t: Texturing) -> None:
    t.surface(F.R8G8B8A8_UNORM, 65, 32, levels=7)
    assert [t.place(level) for level in range(7)] == [
        (0, 0), (0, 32), (32, 32), (32, 40), (32, 44), (32, 46), (32, 48)]


def test_levels_of_a_compressed_texture_are_whole_blocks(t: Texturing) -> None:
    t.surface(F.BC1_UNORM, 64, 64, levels=7)
    blocks = [(x // 4, y // 4) for x, y in (t.place(level) for level in range(7))]
    assert blocks == [(0, 0), (0, 16), (8, 16), (8, 20), (8, 22), (8, 23), (8, 24)]


def test_slices_of_a_volume_are_packed_2_to_the_level_in_a_row(t: Texturing) -> None:
    t.surface(F.R8_UNORM, 65, 32, 5, type=T.SURFTYPE_3D, levels=4)
    assert [t.place(0, z) for z in range(5)] == [(0, 0), (0, 32), (0, 64), (0, 96), (0, 128)]
    assert [t.place(1, z) for z in range(2)] == [(0, 160), (32, 160)]
    assert (t.place(2), t.place(3)) == ((0, 176), (0, 184))


def test_faces_of_a_cube_are_six_slices_at_every_level(t: Texturing) -> None:
    t.surface(F.R8_UNORM, 64, 64, type=T.SURFTYPE_CUBE, levels=7)
    for f in range(6):
        assert [t.place(level, f) for level in range(7)] == [
            (0, 64 * f), (32 * (f % 2), 384 + 32 * (f // 2)), (16 * (f % 4), 480 + 16 * (f // 4)),
            (8 * f, 512), (4 * f, 520), (4 * f, 524), (4 * f, 526)]


@pytest.mark.parametrize(("format", "type", "width", "height", "rows"), [
    (F.R8G8B8A8_UNORM, T.SURFTYPE_2D, 64, 64, 118),
    (F.R8G8B8A8_UNORM, T.SURFTYPE_1D, 33, 1, 26),
    (F.BC1_UNORM, T.SURFTYPE_2D, 64, 64, 35 * 4),
    (F.R8G8B8A8_UNORM, T.SURFTYPE_2D, 5, 5, 30),
])
def test_array_elements_are_one_qpitch_apart(t: Texturing, format: F, type: T, width: int, height: int,
                                             rows: int) -> None:
    t.surface(format, width, height, 3, type=type)
    assert [t.place(0, element) for element in range(3)] == [(0, 0), (0, rows), (0, 2 * rows)]


def test_the_right_layout_puts_all_small_levels_in_a_second_column(t: Texturing) -> None:
    t.surface(F.R8_UNORM, 65, 32, levels=4, mip_map_layout_mode=MipMapLayoutMode.RIGHT)
    assert [t.place(level) for level in range(4)] == [(0, 0), (68, 0), (68, 16), (68, 24)]


@pytest.mark.parametrize(("tiling", "pitch", "x", "y", "offset"), [
    (Tiling.Y, 256, 40, 35, 13360),
    (Tiling.X, 1024, 130, 9, 12808),
    (Tiling.LINEAR, 300, 7, 3, 928),
])
def test_a_texel_is_found_in_every_tiling(t: Texturing, tiling: Tiling, pitch: int, x: int, y: int,
                                          offset: int) -> None:
    t.surface(F.R8G8B8A8_UNORM, 256 if pitch > 500 else pitch // 4, 64, tiling=tiling, pitch=pitch)
    t.memory.write(TEXTURE + offset, bytes([51, 102, 153, 204]))
    assert list(t.load(x, y).view(np.float32)[0]) == [np.float32(v) for v in (0.2, 0.4, 0.6, 0.8)]
    width, height = (256 if pitch > 500 else pitch // 4), 64
    assert t.at((x + 0.5) / width, (y + 0.5) / height) == [np.float32(v) for v in (0.2, 0.4, 0.6, 0.8)]


def test_line_stride_reads_one_field(t: Texturing) -> None:
    t.surface(F.R8_UNORM, 16, 8, pitch=64, vertical_line_stride=1, vertical_line_stride_offset=1)
    t.memory.write(TEXTURE + 7 * 64, bytes([255]))
    assert t.load(0, 3)[0, 0] == 0x3F800000
    assert t.at(0.01, 3.5 / 8)[0] == 1.0


def test_tile_offsets_move_the_image_on_gen45_only() -> None:
    t = Texturing(Gen.CTG)
    t.surface(F.R8G8B8A8_UNORM, 16, 16, tiling=Tiling.X, x_offset=8, y_offset=4)
    assert t.place() == (8, 4)
    t.texels(np.full((1, 1, 4), 255, np.uint8))
    assert t.at(0.01, 0.01) == [1.0] * 4
    assert t.load(0, 0)[0, 0] == 0x3F800000
    old = Texturing(Gen.CL)
    old.surface(F.R8G8B8A8_UNORM, 16, 16, tiling=Tiling.X)
    assert old.place() == (0, 0)


def test_a_linear_texture_may_start_anywhere(t: Texturing) -> None:
    t.surface(F.R8G8B8A8_UNORM, 4, 4, base=TEXTURE + 0xFFD, pitch=64)
    t.texels(np.arange(64, dtype=np.uint8).reshape(4, 4, 4) * 4)
    assert [x * 255 for x in t.at(0.01, 0.01)] == pytest.approx([0, 4, 8, 12], abs=1e-4)
    assert [x * 255 for x in t.at(0.9, 0.9)] == pytest.approx([240, 244, 248, 252], abs=1e-4)


def test_unmapped_memory_reads_as_zero() -> None:
    t = Texturing()
    t.surface(F.R8G8B8A8_UNORM, 16, 16, base=0x7000000, size=0)
    assert t.at(0.5) == [0.0] * 4
    assert t.events() == set()


@pytest.mark.parametrize("slices", [(T.SURFTYPE_2D, 3, 3), (T.SURFTYPE_3D, 4, 4), (T.SURFTYPE_CUBE, 1, 6)])
def test_slices_outside_of_the_surface_have_no_place(t: Texturing, slices: tuple[T, int, int]) -> None:
    type_, depth, count = slices
    t.surface(F.R8_UNORM, 8, 8, depth, type=type_)
    t.place(0, count - 1)
    with pytest.raises(AssertionError):
        t.place(0, count)
