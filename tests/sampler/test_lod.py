"""Levels of detail (965 PRM vol. 4, 4.2.1)."""

from __future__ import annotations

import numpy as np
import pytest

from gen4emu.hw.formats import SurfaceFormat as F
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.sampler import MapFilter as Map
from gen4emu.hw.gen4.sampler import MipFilter as Mip
from tests.harness.probe import Event
from tests.harness.texturing import Texturing

NONE, NEAREST, LINEAR = Mip.NONE, Mip.NEAREST, Mip.LINEAR
SIZE = 512


def mipmapped(levels: int, first: int = 0, gen: Gen = Gen.EL, **options: bool) -> Texturing:
    """Level n holds the float n in red, so that a result is a level; the right edge of each level holds n + 100, so
    that a lookup beside it shows which filter was used."""
    t = Texturing(gen, **options)
    t.surface(F.R16_FLOAT, SIZE, SIZE, levels=levels + first, surface_min_lod=0, size=1 << 22)
    for level in range(levels + first):
        size = SIZE >> level
        row = np.full((1, size), level, np.float16)
        row[0, size // 2:] += 100
        t.texels(np.repeat(row, size, 0), level)
    t.surface(F.R16_FLOAT, SIZE, SIZE, levels=levels, surface_min_lod=first, data=b"")
    return t


def gradient(length: float) -> np.ndarray:
    """u of a SIMD16 message whose subspans cover `length` texels of level 0 from pixel to pixel."""
    return np.array([0.1, 0.1 + length / SIZE, 0.1, 0.1 + length / SIZE] * 4, np.float32)


def filters(t: Texturing, mip: Mip, **fields: float) -> None:
    """Nearest when magnified, linear when minified: a lookup at an edge tells."""
    t.sampler(mip=mip, mag_mode_filter=Map.NEAREST, min_mode_filter=Map.LINEAR, **fields)


def level_of(t: Texturing, length: float) -> float:
    return float(t.sample(gradient(length), 0.3, 0.0)[0, 0])


def test_lengths_give_their_logarithms() -> None:
    t = mipmapped(4)
    filters(t, LINEAR)
    lengths = {1.19811: 16, 1.22130: 18, 1.24540: 20, 1.27055: 21, 2.0: 64, 4.0: 128, 2.0000001: 64, 1.9999999: 64,
               3.0: 101}
    assert {x: level_of(t, x) * 64 for x in lengths} == lengths


@pytest.mark.parametrize("length", [1.417451, 2.838814, 2.837854, 5.669501])
def test_lengths_just_above_the_root_of_two_are_nearer_to_the_next_level(length: float) -> None:
    """Steps of four subspans in dEQP's `texture.mipmap.2d.projected.nearest_nearest`, which real G41 passes.

    Their logarithms are 0.0032 to 0.0053 above half a level, and the suite accepts the coarser level only.
    """
    t = mipmapped(4)
    filters(t, Mip.NEAREST)
    finer = int(np.log2(length))
    assert level_of(t, length) == finer + 1
    assert level_of(t, 1.414 * 2**finer) == finer


def test_a_delivered_level_is_rounded_down_to_64ths() -> None:
    t = mipmapped(4)
    filters(t, LINEAR)
    assert t.at_level(float(np.log2(np.float32(1.27055))), 0.1)[0] * 64 == 22


def magnified(t: Texturing, mip: Mip, length: float) -> bool:
    """Between 0 and 100, a linear filter shows something in between.  The lookup sits half way between two texels."""
    u = np.float32(0.5)
    column = np.array([u, u + np.float32(length / SIZE)] * 8, np.float32)
    return float(t.sample(column, 0.3)[0, 0]) % 100 in range(20)


@pytest.mark.parametrize("mip", list(Mip))
@pytest.mark.parametrize("length", [2 ** (17.4 / 64), 2 ** 2.9])
def test_one_level_and_preclamp_always_magnify(mip: Mip, length: float) -> None:
    t = mipmapped(1)
    filters(t, mip)
    assert magnified(t, mip, length)
    filters(t, mip, lod_preclamp_enable=0)
    assert not magnified(t, mip, length)


def test_many_levels_without_mip_filter_minify_level_0() -> None:
    t = mipmapped(7)
    filters(t, NONE)
    assert not magnified(t, NONE, 2 ** (17.4 / 64))
    assert level_of(t, 2 ** (17.4 / 64)) == 0
    assert magnified(t, NONE, 0.9)


def test_a_surface_minimum_above_0_always_minifies() -> None:
    t = mipmapped(1, first=1)
    filters(t, NONE)
    assert not magnified(t, NONE, 1.0)
    assert level_of(t, 1.0) == 1


@pytest.mark.parametrize(("lod", "level"), [(0.0, 2.0), (0.75, 2.75), (9.0, 5.0), (-5.0, 2.0), (2.5, 4.5)])
def test_sample_l_counts_from_the_surface_minimum(lod: float, level: float) -> None:
    t = mipmapped(4, first=2)
    filters(t, LINEAR)
    assert t.at_level(lod, 0.1)[0] == level


@pytest.mark.parametrize(("lod", "level"), [(0.5, 1), (0.484375, 0), (1.49, 1), (1.5, 2), (20.0, 6), (-1.0, 0)])
def test_the_nearest_level_starts_half_way(lod: float, level: int) -> None:
    t = mipmapped(7)
    filters(t, NEAREST)
    assert t.at_level(lod, 0.1)[0] == level


def test_the_minimum_level_mixes_only_after_a_preclamp() -> None:
    t = mipmapped(7)
    filters(t, LINEAR, min_lod=1.5)
    assert level_of(t, 1.0) == 1.5
    filters(t, LINEAR, min_lod=1.5, lod_preclamp_enable=0)
    assert level_of(t, 1.0) == 1
    assert magnified(t, LINEAR, 1.0)


def test_the_minimum_wins_over_a_smaller_maximum() -> None:
    t = mipmapped(7)
    filters(t, NEAREST, min_lod=3.0, max_lod=1.0)
    assert level_of(t, 4.0) == 3


def test_the_base_level_moves_the_start_of_minification() -> None:
    t = mipmapped(7)
    filters(t, NEAREST, base_mip_level=0.5)
    length = 2 ** 0.26
    assert magnified(t, NEAREST, length)
    assert level_of(t, length) == 0
    filters(t, NEAREST)
    assert not magnified(t, NEAREST, length)


def test_the_bias_parameter_is_rounded_down() -> None:
    t = mipmapped(7)
    filters(t, LINEAR)
    result = t.message("sample_b", "16", gradient(2.0), 0.3, 0.0, -0.3).view(np.float32)
    assert result[0, 0] * 64 == 44


def test_the_samplers_bias_is_added_to_every_kind() -> None:
    t = mipmapped(7)
    filters(t, LINEAR, texture_lod_bias=1.25)
    assert level_of(t, 2.0) == 2.25
    assert t.at_level(1.0, 0.1)[0] == 2.25
    assert t.message("sample_b", "16", gradient(2.0), 0.3, 0.0, 0.5).view(np.float32)[0, 0] == 2.75
    filters(t, LINEAR, texture_lod_bias=-0.5)
    assert t.at_level(1.0, 0.1)[0] == 0.5


def test_the_longer_of_both_directions_counts() -> None:
    t = mipmapped(7)
    filters(t, LINEAR)
    u = np.array([0.1, 0.1 + 2 / SIZE, 0.1, 0.1] * 4, np.float32)
    v = np.array([0.1, 0.1, 0.1 + 8 / SIZE, 0.1] * 4, np.float32)
    assert t.sample(u, v)[0, 0] == 3.0
    assert t.sample(v, u)[0, 0] == 3.0


def test_each_subspan_has_its_own_level() -> None:
    t = mipmapped(7)
    filters(t, LINEAR)
    u = np.concatenate([[0.1, 0.1 + k / SIZE, 0.1, 0.1] for k in (1, 2, 4, 8)]).astype(np.float32)
    assert list(t.sample(u, 0.2)[:, 0]) == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4


@pytest.mark.parametrize("name", ["sample_g 7", "sample_g 10", "sample_g 4"])
def test_delivered_gradients_are_in_normalized_units(name: str) -> None:
    t = mipmapped(7)
    filters(t, LINEAR)
    mlen = int(name.split()[1])
    if mlen == 7:
        result = t.message("sample_g", "8", 0.1, 0.1, 4 / SIZE, 0, 0, np.arange(8) / SIZE, mlen=7)
        assert list(result.view(np.float32)[:, 0]) == [2, 2, 2, 2, 2, 148 / 64, 165 / 64, 179 / 64]
        return
    if mlen == 10:
        result = t.message("sample_g", "8", 0.1, 0.1, 0, 4 / SIZE, 0, 9, 0, 8 / SIZE, 9, mlen=10)
    else:
        result = t.message("sample_g", "4x2", 0.1, 0.1, 0, 0, 4 / SIZE, 0, 9, 0, 0, 8 / SIZE, 9, 0)
    assert (result.view(np.float32)[:, 0] == 3).all()


def test_force_lod_to_zero_replaces_the_computed_level_only() -> None:
    t = mipmapped(7)
    filters(t, LINEAR, texture_lod_bias=1.5)
    force = {"force_lod_to_zero": 1}
    assert t.sample(gradient(8.0), 0.3, header=force)[0, 0] == 1.5
    assert t.message("sample_l", "16", 0.1, 0.1, 0.0, 2.0, header=force).view(np.float32)[0, 0] == 3.5


def test_degenerate_gradients_saturate() -> None:
    t = mipmapped(7)
    filters(t, LINEAR)
    inf, nan = float("inf"), float("nan")
    assert level_of(t, 0.0) == 0
    assert t.message("sample_g", "8", 0.1, 0.1, inf, 0, 0, 0, mlen=7).view(np.float32)[0, 0] == 6
    assert t.message("sample_g", "8", 0.1, 0.1, nan, 0, 0, 8 / SIZE, mlen=7).view(np.float32)[0, 0] == 0
    assert t.at_level(nan, 0.1)[0] == 0
    assert t.at_level(inf, 0.1)[0] == 6
    assert t.at_level(-inf, 0.1)[0] == 0


def test_the_fraction_of_the_minimum_is_an_erratum_that_can_be_switched_on() -> None:
    levels = {}
    for erratum in (False, True):
        t = mipmapped(7, min_lod_erratum=erratum)
        filters(t, NEAREST, min_lod=1.25)
        levels[erratum] = t.at_level(0.0, 0.1)[0]
    assert levels == {False: 1, True: 2}


def test_a_reserved_mip_filter_is_reported() -> None:
    t = mipmapped(2)
    t.sampler()
    words = np.frombuffer(t.memory.read(0x3000, 16), np.uint32).copy()
    words[0] |= np.uint32(2 << 20)
    t.memory.write(0x3000, words.tobytes())
    assert level_of(t, 8.0) == 0
    assert t.events() == {Event.BAD_STATE}


@pytest.mark.parametrize("levels", [1, 14, 16])
def test_any_level_count_is_survived(levels: int) -> None:
    t = Texturing()
    t.surface(F.R8_UNORM, 8192, 8192, levels=levels, surface_min_lod=13)
    t.sampler(Map.LINEAR, LINEAR)
    assert 0.0 <= t.at_level(13.0)[0] <= 1.0
    t.load(0, 0, 0, 15)


@pytest.mark.parametrize(("length", "bias", "level"), [(2.0**17, -15.0, 2), (2.0**20, -16.0, 4), (2.0**-20, 15.0, 0)])
def test_a_bias_brings_back_computed_levels_beyond_16(length: float, bias: float, level: int) -> None:
    t = mipmapped(7)
    filters(t, NEAREST, texture_lod_bias=bias)
    assert level_of(t, length) == level
