"""From coordinates to texels: wrapping, rounding, weights, arrays (965 PRM vol. 4, 4.1 and 4.2.4)."""

from __future__ import annotations

import numpy as np
import pytest

from gen4emu.hw.formats import SurfaceFormat as F
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.sampler import MapFilter as Map
from gen4emu.hw.gen4.sampler import TextureCoordinateMode as Mode
from gen4emu.hw.gen4.surface import SurfaceType as T
from tests.harness.texturing import Texturing

WHITE = [1.0, 1.0, 1.0, 1.0]


@pytest.fixture
def pair() -> Texturing:
    """Two texels, black and white."""
    t = Texturing()
    t.surface(F.R8_UNORM, 2, 1)
    t.texels(np.array([[0, 255]], np.uint8))
    t.sampler(Map.LINEAR)
    return t


@pytest.mark.parametrize(("u", "rounding", "red"), [
    (0.375, False, 0.25), (511 / 1024, True, 0.5), (511 / 1024, False, 0.49609375), (0.0, False, 0.0),
    (1.0, False, 1.0),
])
def test_weights_have_8_bits(pair: Texturing, u: float, rounding: bool, red: float) -> None:
    pair.sampler(Map.LINEAR, rounding=rounding)
    assert pair.at(u) == [red, 0.0, 0.0, 1.0]


@pytest.mark.parametrize(("mode", "u", "red"), [
    (Mode.WRAP, 0.0, 0.5), (Mode.MIRROR, 0.0, 0.0), (Mode.CLAMP_BORDER, 0.0, 0.5), (Mode.MIRROR, 1.25, 1.0),
    (Mode.MIRROR_ONCE, -0.75, 1.0), (Mode.MIRROR_ONCE, -3.0, 1.0), (Mode.CLAMP, -3.0, 0.0), (Mode.WRAP, -7.25, 1.0),
    (Mode.MIRROR, -0.25, 0.0), (Mode.MIRROR, 2.25, 0.0), (Mode.CLAMP_BORDER, -3.0, 1.0), (Mode.CLAMP, 99.0, 1.0),
])
def test_a_linear_lookup_of_two_texels_in_every_mode(pair: Texturing, mode: Mode, u: float, red: float) -> None:
    pair.sampler(Map.LINEAR, mode=[mode, Mode.WRAP, Mode.WRAP], border=WHITE)
    assert pair.at(u)[0] == red


@pytest.mark.parametrize(("mode", "u", "rounding", "red"), [
    (Mode.CLAMP, 0.2499, False, 10), (Mode.CLAMP, 0.2499, True, 20), (Mode.WRAP, 1.0, False, 10),
    (Mode.CLAMP, 1.0, False, 40), (Mode.CLAMP_BORDER, 1.0, False, 255), (Mode.MIRROR, 1.1, False, 40),
    (Mode.WRAP, -0.1, False, 40), (Mode.MIRROR_ONCE, -0.3, False, 20),
])
def test_a_nearest_lookup_of_four_texels(mode: Mode, u: float, rounding: bool, red: int) -> None:
    t = Texturing()
    t.surface(F.R8_UNORM, 4, 1)
    t.texels(np.array([[10, 20, 30, 40]], np.uint8))
    t.sampler(mode=[mode, Mode.WRAP, Mode.WRAP], rounding=rounding, border=WHITE)
    assert round(t.at(u)[0] * 255) == red


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7, 8, 31, 32, 33, 100])
@pytest.mark.parametrize("mode", [Mode.WRAP, Mode.MIRROR, Mode.CLAMP])
def test_texel_offsets_wrap_in_textures_of_any_size(n: int, mode: Mode) -> None:
    t = Texturing()
    t.surface(F.R8_UNORM, n, 1)
    t.texels(np.arange(n, dtype=np.uint8)[np.newaxis])
    t.sampler(mode=mode)
    for offset in (-8, -3, 0, 7):
        u = (np.arange(16) % n + 0.5) / n
        i = np.arange(16) % n + offset
        want = {Mode.WRAP: i % n, Mode.CLAMP: np.clip(i, 0, n - 1),
                Mode.MIRROR: np.where(i % (2 * n) >= n, 2 * n - 1 - i % (2 * n), i % (2 * n))}[mode]
        red = t.sample(u, 0.0, header={"u_offset": offset})[:, 0]
        assert list(np.rint(red * 255)) == list(want)


def test_a_1d_texture_runs_v_through_its_address_mode(pair: Texturing) -> None:
    pair.surface(F.R8_UNORM, 2, 1, type=T.SURFTYPE_1D)
    pair.sampler(Map.LINEAR, mode=[Mode.CLAMP, Mode.CLAMP_BORDER, Mode.WRAP], border=WHITE)
    assert pair.at(0.5)[0] == 0.5
    pair.sampler(Map.LINEAR, mode=[Mode.CLAMP, Mode.WRAP, Mode.WRAP], border=WHITE)
    assert pair.at(0.5)[0] == 0.0


@pytest.mark.parametrize(("index", "element"), [(0.5, 0), (1.5, 2), (-3.0, 0), (99.0, 3), (2.5, 2), (2.6, 3),
                                                (float("nan"), 0), (float("inf"), 3)])
def test_array_indices_round_to_even_and_are_clamped(index: float, element: int) -> None:
    t = Texturing()
    t.surface(F.R8_UNORM, 4, 4, 4)
    for i in range(4):
        t.texels(np.full((4, 4), 10 + i, np.uint8), slice=i)
    assert round(t.at(0.5, 0.5, index)[0] * 255) == 10 + element
    t.surface(F.R8_UNORM, 4, 1, 4, type=T.SURFTYPE_1D)
    for i in range(4):
        t.texels(np.full((1, 4), 20 + i, np.uint8), slice=i)
    assert round(t.at(0.5, index)[0] * 255) == 20 + element


def test_the_minimum_array_element_is_added_to_the_index() -> None:
    t = Texturing()
    t.surface(F.R8_UNORM, 4, 4, 2, minimum_array_element=1)
    for i in range(3):
        t.texels(np.full((4, 4), 10 + i, np.uint8), slice=i)
    assert [round(t.at(0.5, 0.5, r)[0] * 255) for r in (0.0, 1.0, 7.0)] == [11, 12, 12]
    assert [t.load(0, 0, r)[0, 0] for r in (0, 1, 2)] == [
        np.float32(11 / 255).view(np.uint32), np.float32(12 / 255).view(np.uint32), 0]


def test_a_linear_lookup_in_a_volume_takes_eight_texels() -> None:
    t = Texturing()
    t.surface(F.R8_UNORM, 2, 2, 2, type=T.SURFTYPE_3D)
    for z in range(2):
        t.texels(np.array([[0, 0], [0, 255]] if z else [[0, 0], [0, 0]], np.uint8), slice=z)
    t.sampler(Map.LINEAR)
    assert t.at(0.5, 0.5, 0.5)[0] == 0.125
    assert t.at(0.75, 0.75, 0.5)[0] == 0.5
    assert t.at(0.75, 0.75, 0.75)[0] == 1.0
    t.sampler(Map.LINEAR, mode=[Mode.CLAMP, Mode.CLAMP, Mode.CLAMP_BORDER], border=WHITE)
    assert t.at(0.1, 0.1, 0.0)[0] == 0.5
    t.sampler(mode=Mode.CLAMP)
    assert [t.at(0.9, 0.9, z)[0] for z in (0.2, 0.8)] == [0.0, 1.0]


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("filter", [Map.NEAREST, Map.LINEAR])
def test_infinities_and_nan_find_some_texel(mode: Mode, filter: Map) -> None:
    t = Texturing()
    t.surface(F.R8_UNORM, 5, 3, data=bytes([255]) * 4096)
    t.sampler(filter, mode=mode, border=WHITE)
    bad = [float("nan"), float("inf"), float("-inf"), 3e38, -3e38, 1e-45, -1e-30, 16777217.0]
    for x in bad:
        for y in bad:
            assert t.at(x, y)[0] == 1.0


def test_border_colors_show_what_the_format_has() -> None:
    t = Texturing()
    border = [0.125, 0.25, 0.5, 0.75]
    t.sampler(mode=Mode.CLAMP_BORDER, border=border)
    shown = {F.R8G8B8A8_UNORM: border, F.B8G8R8X8_UNORM: [0.125, 0.25, 0.5, 1.0], F.R8_UNORM: [0.125, 0, 0, 1.0],
             F.L8_UNORM: [0.125] * 3 + [1.0], F.L8A8_UNORM: [0.125] * 3 + [0.75], F.I8_UNORM: [0.125] * 4,
             F.A8_UNORM: [0.0, 0.0, 0.0, 0.75], F.R8G8_UNORM: [0.125, 0.25, 0.0, 1.0],
             F.BC1_UNORM: border, F.BC4_UNORM: [0.125, 0.0, 0.0, 1.0], F.R32G32B32A32_FLOAT: border,
             F.P4A4_UNORM_PALETTE0: border, F.YCRCB_NORMAL: [0.125, 0.25, 0.5, 1.0]}
    for format, color in shown.items():
        t.surface(format, 8, 8)
        assert t.at(-1.0) == color, format.name


def test_a_border_beyond_the_formats_range_is_not_clamped() -> None:
    t = Texturing()
    t.surface(F.R8_UNORM, 4, 4)
    t.sampler(Map.LINEAR, mode=Mode.CLAMP_BORDER, border=[-2.0, 0, 0, 0])
    assert t.at(0.0)[0] == -1.0


def test_reserved_address_modes_wrap() -> None:
    t = Texturing()
    t.surface(F.R8_UNORM, 4, 1)
    t.texels(np.array([[1, 2, 3, 4]], np.uint8))
    t.sampler()
    words = np.frombuffer(t.memory.read(0x3000, 16), np.uint32).copy()
    words[1] = words[1] & ~np.uint32(0x1C0) | np.uint32(7 << 6)
    t.memory.write(0x3000, words.tobytes())
    assert round(t.at(1.1)[0] * 255) == 1


@pytest.mark.parametrize("gen", [Gen.CL, Gen.EL])
def test_results_do_not_depend_on_how_many_lookups_come_along(gen: Gen) -> None:
    t = Texturing(gen)
    rng = np.random.default_rng(7)
    t.surface(F.R8G8B8A8_UNORM, 13, 9)
    t.texels(rng.integers(0, 256, (9, 13, 4), np.uint8))
    t.sampler(Map.LINEAR, mode=Mode.CLAMP_BORDER, border=[0.3, 0.6, 0.1, 0.9], rounding=True)
    u, v = rng.uniform(-0.2, 1.2, 16).astype(np.float32), rng.uniform(-0.2, 1.2, 16).astype(np.float32)
    together = t.sample(u, v)
    for i in range(16):
        assert list(t.sample(u, v, emask=1 << i)[i]) == list(together[i])
