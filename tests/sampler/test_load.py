"""ld and resinfo (965 PRM vol. 4, 4.8.1.4)."""

from __future__ import annotations

import numpy as np
import pytest

from gen4emu.hw.formats import SurfaceFormat as F
from gen4emu.hw.formats import format_info
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.sampler import MapFilter as Map
from gen4emu.hw.gen4.surface import MipMapLayoutMode
from gen4emu.hw.gen4.surface import SurfaceType as T
from tests.harness.probe import Event
from tests.harness.texturing import TEXTURE, Texturing

ONE = 0x3F800000


@pytest.fixture
def t() -> Texturing:
    return Texturing()


def info(t: Texturing, lod: int = 0, simd: str = "16", **bits: int) -> list[int]:
    values = (0, 0, 0, lod) if simd == "4x2" else (lod,)
    return [int(x) for x in t.message("resinfo", simd, *values, integers=True, **bits)[0]]


def test_resinfo_of_every_type(t: Texturing) -> None:
    t.surface(F.R8G8B8A8_UNORM, 64, 64, levels=7)
    assert info(t) == [64, 64, 0, 7]
    assert info(t, simd="4x2") == [64, 64, 0, 7]
    assert info(t, 6) == [1, 1, 0, 7]
    assert info(t, 7) == [0, 0, 0, 7]
    t.surface(F.R8G8B8A8_UNORM, 64, 64, 3, levels=7)
    assert info(t) == [64, 64, 3, 7]
    t.surface(F.R8G8B8A8_UNORM, 65, 32, 5, type=T.SURFTYPE_3D, levels=7)
    assert info(t, 1) == [32, 16, 2, 7]
    assert info(t, 7) == [0, 0, 0, 7]
    assert info(t, 0xFFFFFFFF) == [0, 0, 0, 7]
    t.surface(F.R8_UNORM, 33, 1, 4, type=T.SURFTYPE_1D)
    assert info(t) == [33, 4, 0, 1]
    t.surface(F.R8_UNORM, 16, 16, type=T.SURFTYPE_CUBE, levels=2)
    assert info(t, 1) == [8, 8, 0, 2]
    t.surface(F.R32G32B32A32_FLOAT, 1000000, type=T.SURFTYPE_BUFFER)
    assert info(t) == [1000000, 0, 0, 1]


def test_resinfo_counts_from_the_surface_minimum(t: Texturing) -> None:
    t.surface(F.R8G8B8A8_UNORM, 64, 32, levels=3, surface_min_lod=2)
    assert [info(t, lod) for lod in range(4)] == [[16, 8, 0, 3], [8, 4, 0, 3], [4, 2, 0, 3], [0, 0, 0, 3]]


def test_resinfo_is_a_float_where_gen4_returns_one() -> None:
    t = Texturing(Gen.CL)
    t.surface(F.R8_UNORM, 64, 32)
    assert info(t, return_format=2) == [64, 32, 0, 1]
    assert info(t, return_format=0) == [int(np.float32(x).view(np.uint32)) for x in (64, 32, 0, 1)]


@pytest.mark.parametrize(("format", "color"), [
    (F.B5G6R5_UNORM, [0, 0, 0, ONE]), (F.R8_UNORM, [0, 0, 0, 0]), (F.R8G8B8A8_UNORM, [0, 0, 0, 0]),
    (F.R16_UINT, [0, 0, 0, 1]), (F.B8G8R8X8_UNORM, [0, 0, 0, 0]), (F.R32_FLOAT, [0, 0, 0, ONE]),
    (F.BC1_RGB, [0, 0, 0, ONE]),
])
def test_texels_outside_are_black_and_mostly_opaque(t: Texturing, format: F, color: list[int]) -> None:
    t.surface(format, 4, 4, 2, data=b"\xaa" * (1 << 14))
    for u, v, r, lod in ((4, 0, 0, 0), (0, 4, 0, 0), (0, 0, 2, 0), (0, 0, 0, 1), (-1, 0, 0, 0), (0, 1 << 31, 0, 0)):
        assert list(t.load(u, v, r, lod)[0]) == color
    assert list(t.load(3, 3, 1)[0]) != color


def test_ld_finds_levels_and_elements(t: Texturing) -> None:
    t.surface(F.R16_UINT, 16, 8, 3, levels=3)
    for level in range(3):
        for element in range(3):
            shape = (8 >> level, 16 >> level)
            t.texels(np.arange(shape[0] * shape[1], dtype=np.uint16).reshape(shape) + 1000 * level + 300 * element,
                     level, element)
    for level in range(3):
        width, height = 16 >> level, 8 >> level
        for element in range(3):
            x = np.arange(16) % width
            got = t.load(x, height - 1, element, level)[:, 0]
            assert list(got) == list((height - 1) * width + x + 1000 * level + 300 * element)


def test_1d_arrays_take_their_index_from_v(t: Texturing) -> None:
    t.surface(F.R16_UINT, 16, 1, 3, type=T.SURFTYPE_1D)
    for element in range(3):
        t.texels(np.arange(16, dtype=np.uint16)[np.newaxis] + 100 * element, slice=element)
    assert [int(t.load(5, v)[0, 0]) for v in range(4)] == [5, 105, 205, 0]


def test_volumes_are_right_and_differences_to_silicon_reported(t: Texturing) -> None:
    t.surface(F.R16_UINT, 8, 8, 4, type=T.SURFTYPE_3D, levels=2)
    for level in range(2):
        for z in range(4 >> level):
            t.texels(np.full((8 >> level, 8 >> level), 10 * level + z, np.uint16), level, z)
    assert [int(t.load(1, 1, z)[0, 0]) for z in range(5)] == [0, 1, 2, 3, 0]
    assert int(t.load(1, 1, 0, 1)[0, 0]) == 10
    assert t.events() == set()
    assert int(t.load(1, 1, 1, 1)[0, 0]) == 11
    assert t.events() == {Event.SILICON_DIFFERS}


def test_buffers_return_their_bits_and_end_where_they_end(t: Texturing) -> None:
    words = np.random.default_rng(5).integers(0, 1 << 32, 4 * 300, np.uint32)
    t.surface(F.R32G32B32A32_FLOAT, 300, type=T.SURFTYPE_BUFFER, data=words.tobytes())
    index = np.array([0, 1, 299, 300, 0x7FFFFFF, 0xFFFFFFFF] + [7] * 10)
    got = t.message("ld", "16", index, mlen=3, integers=True)
    for lane, i in enumerate(index):
        assert list(got[lane]) == (list(words[4 * i:4 * i + 4]) if i < 300 else [0, 0, 0, 0])
    t.surface(F.R32_UINT, 300, type=T.SURFTYPE_BUFFER, pitch=12, data=words.tobytes())
    assert [int(t.load(i)[0, 0]) for i in (0, 1, 99)] == [words[0], words[3], words[297]]


def test_a_buffer_may_start_anywhere(t: Texturing) -> None:
    t.surface(F.R32G32B32A32_FLOAT, 300, type=T.SURFTYPE_BUFFER, base=TEXTURE + 0xFF9, data=bytes(range(256)) * 20)
    assert bytes(t.load(0)[0].view(np.uint8)) == bytes(range(16))


@pytest.mark.parametrize("surface", ["cube", "right", "mono8"])
def test_surfaces_that_ld_can_not_read_give_zeros(t: Texturing, surface: str) -> None:
    if surface == "cube":
        t.surface(F.R8_UNORM, 4, 4, type=T.SURFTYPE_CUBE, data=b"\xff" * 4096)
    elif surface == "right":
        t.surface(F.R8_UNORM, 4, 4, mip_map_layout_mode=MipMapLayoutMode.RIGHT, data=b"\xff" * 4096)
    else:
        t.surface(F.MONO8, 32, 4, data=b"\xff" * 4096)
    assert list(t.load(0)[0]) == [0, 0, 0, 0]
    assert t.events() == {Event.BAD_FORMAT if surface == "mono8" else Event.BAD_SURFACE}


@pytest.mark.parametrize("format", [
    F.BC1_UNORM, F.BC3_UNORM, F.BC4_UNORM, F.BC4_SNORM, F.BC5_SNORM, F.FXT1, F.YCRCB_NORMAL], ids=lambda f: f.name)
def test_blocks_and_pairs_of_texels_are_no_elements_of_a_buffer(t: Texturing, format: F) -> None:
    t.surface(format, 300, type=T.SURFTYPE_BUFFER, pitch=16, data=b"\x85" * 4800)
    assert list(t.load(0)[0]) == [0, 0, 0, 0]
    assert t.events() == {Event.BAD_FORMAT}


def test_buffers_of_palette_formats_give_colors(t: Texturing) -> None:
    t.probe.state.sampler_palette[10] = 0xEE102030
    t.surface(F.P4A4_UNORM_PALETTE0, 300, type=T.SURFTYPE_BUFFER, data=b"\xfa" * 300)
    assert [round(float(c) * 255) for c in t.load(7)[0].view(np.float32)] == [0x10, 0x20, 0x30, 0xFF]


def test_ld_needs_no_sampler(t: Texturing) -> None:
    t.surface(F.R8_UINT, 4, 1)
    t.texels(np.array([[1, 2, 3, 4]], np.uint8))
    t.sampler(Map.LINEAR, sampler_disable=1)
    got = t.message("ld", "8", np.arange(8), 0, 0, integers=True, header={"sampler_state_pointer": 0x7FFFFFE0})
    assert list(got[:, 0]) == [1, 2, 3, 4, 0, 0, 0, 0]
    assert list(t.message("ld", "4x2", 2, 0, 0, 0, integers=True)[:, 0]) == [3, 3]


SMALL = [f for f in F if (i := format_info(f)) and i.block_width == 1 and not i.yuv and i.bits_per_texel <= 32]


@pytest.mark.parametrize("type", [T.SURFTYPE_2D, T.SURFTYPE_3D])
@pytest.mark.parametrize("format", SMALL, ids=lambda f: f.name)
def test_lanes_of_one_level_read_what_each_alone_reads(t: Texturing, format: F, type: T) -> None:
    """Lanes that agree in their level are looked up together, others one by one."""
    noise = np.random.default_rng(int(format)).bytes(1 << 14)
    t.surface(format, 13, 9, 3, type=type, levels=2, data=noise)
    u = np.array([0, 12, 3, 5, 13, 2, -1, 7, 11, 4, 6, 1, 8, 9, 10, 2])
    v = np.array([0, 8, 1, 2, 3, 9, 0, 4, 7, 1, 3, 0, 2, 1, 3, -5])
    r = np.array([0, 2, 1, 0, 0, 1, 2, 3, 0, 1, 0, 2, 1, 0, 0, 1])
    level = np.array([0, 1] * 8)
    apart = t.load(u, v, r, level)
    for n in range(2):
        together = t.load(u, v, r, n)
        assert np.array_equal(together[level == n], apart[level == n])
