"""Cube maps: faces, edges, corners, gradients (965 PRM vol. 4, 4.1 and 4.2.4)."""

from __future__ import annotations

import numpy as np
import pytest

from gen4emu.hw.formats import SurfaceFormat as F
from gen4emu.hw.gen4.sampler import CubeSurfaceControlMode, PrefilterOperation
from gen4emu.hw.gen4.sampler import MapFilter as Map
from gen4emu.hw.gen4.sampler import MipFilter as Mip
from gen4emu.hw.gen4.sampler import TextureCoordinateMode as Mode
from gen4emu.hw.gen4.surface import SurfaceType as T
from tests.harness.probe import Event
from tests.harness.texturing import Texturing

DIRECTIONS = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]


def cube(size: int = 1, levels: int = 1, *, face: int = 1, level: int = 0, **fields: int) -> Texturing:
    """Every texel tells where it is: `face` times its face and `level` times its level."""
    t = Texturing()
    t.surface(F.R16_FLOAT, size, size, type=T.SURFTYPE_CUBE, levels=levels, **fields)
    for mip in range(levels):
        for f in range(6):
            n = max(1, size >> mip)
            t.texels(np.full((n, n), face * f + level * mip, np.float16), mip, f)
    t.sampler(mode=Mode.CUBE)
    return t


def coordinates(size: int, face: int, i: float, j: float) -> tuple[float, float, float]:
    """The direction through the point (i, j), in texels, of a face: the inverse of the table of major axes."""
    s, t = 2 * i / size - 1, 2 * j / size - 1
    return [(1, -t, -s), (-1, -t, s), (s, 1, t), (s, -1, -t), (s, -t, 1), (-s, -t, -1)][face]


@pytest.mark.parametrize("face", range(6))
def test_an_axis_points_at_its_face(face: int) -> None:
    t = cube()
    for filter in (Map.NEAREST, Map.LINEAR):
        t.sampler(filter, mode=Mode.CUBE)
        assert t.at(*DIRECTIONS[face])[0] == face


@pytest.mark.parametrize(("direction", "face"), [
    ((1, 1, 1), 4), ((1, 1, -1), 5), ((1, 1, 0.5), 2), ((1, -1, 0.5), 3), ((-1, 0.5, 0.5), 1), ((-1, 0.5, -1), 5),
])
def test_ties_go_to_z_then_y(direction: tuple[float, float, float], face: int) -> None:
    t = cube()
    t.sampler(mode=Mode.CLAMP)
    assert t.at(*direction)[0] == face


def test_each_face_is_oriented_as_the_table_says() -> None:
    t = Texturing()
    t.surface(F.R16_FLOAT, 4, 4, type=T.SURFTYPE_CUBE)
    t.sampler(mode=Mode.CUBE)
    for f in range(6):
        t.texels(np.arange(16, dtype=np.float16).reshape(4, 4) + 100 * f, slice=f)
    for f in range(6):
        for j in range(4):
            for i in range(4):
                assert t.at(*coordinates(4, f, i + 0.5, j + 0.5))[0] == 100 * f + 4 * j + i


def test_an_edge_is_the_mean_of_its_faces_and_a_corner_of_three() -> None:
    t = cube()
    t.sampler(Map.LINEAR, mode=Mode.CUBE)
    assert t.at(1, 0, 1)[0] == (0 + 4) / 2
    assert t.at(0, 1, 1)[0] == (2 + 4) / 2
    # on +Z at the corner to +X and +Y: the face itself, both neighbours, and the mean of the three
    assert t.at(1, 1, 1)[0] == (4 + 0 + 2 + (4 + 0 + 2) / 3) / 4


def test_equal_faces_around_a_corner_give_just_that() -> None:
    t = Texturing()
    t.surface(F.R8_UNORM, 1, 1, type=T.SURFTYPE_CUBE, data=b"\x35" * 4096)
    t.sampler(Map.LINEAR, mode=Mode.CUBE)
    assert t.at(1, 1, 1)[0] == float(np.float32(0x35 / 255))


def neighbours(size: int) -> dict[tuple[int, int, int], float]:
    """Every texel centre of the surface of a cube, from geometry alone."""
    return {(f, i, j): 1000 * f + size * j + i for f in range(6) for j in range(size) for i in range(size)}


@pytest.mark.parametrize("face", range(6))
def test_the_texel_across_each_edge_is_the_one_beside_it_in_space(face: int) -> None:
    size = 4
    t = Texturing()
    t.surface(F.R16_FLOAT, size, size, type=T.SURFTYPE_CUBE)
    for f in range(6):
        t.texels(np.arange(size * size, dtype=np.float16).reshape(size, size) + 32 * f, slice=f)
    t.sampler(Map.LINEAR, mode=Mode.CUBE)
    centres = {(f, i, j): np.array(coordinates(size, f, i + 0.5, j + 0.5)) for f, i, j in neighbours(size)}
    for k in range(size):
        for i, j in ((0, k + 0.5), (size, k + 0.5), (k + 0.5, 0), (k + 0.5, size)):
            inside = np.array(coordinates(size, face, min(max(i, 0.5), size - 0.5), min(max(j, 0.5), size - 0.5)))
            edge = np.array(coordinates(size, face, i, j))
            # the mirror image of this face's own texel lies beyond the edge, as near to it
            beyond = min((at for at in centres if at[0] != face), key=lambda at: np.linalg.norm(centres[at] - edge))
            own = min(centres, key=lambda at: np.linalg.norm(centres[at] - inside))
            assert own[0] == face
            value = [32 * f + size * y + x for f, x, y in (own, beyond)]
            # a little inside of the edge, to be on this face for sure: no more than 1/256 texel of weight
            point = np.array(coordinates(size, face, min(max(i, 1e-3), size - 1e-3), min(max(j, 1e-3), size - 1e-3)))
            assert t.at(*point)[0] == pytest.approx(sum(value) / 2, abs=0.01 * 32 * 6)


def test_clamped_faces_do_not_see_each_other() -> None:
    t = cube()
    t.sampler(Map.LINEAR, mode=Mode.CLAMP)
    assert t.at(1, 0, 1)[0] == 4
    t.sampler(Map.LINEAR, mode=Mode.CLAMP, cube_surface_control_mode=CubeSurfaceControlMode.OVERRIDE)
    assert t.at(1, 0, 1)[0] == 2


def test_a_disabled_face_is_all_border() -> None:
    t = cube(cube_face_enable_positive_x=0)
    t.sampler(Map.LINEAR, mode=Mode.CUBE, border=[7.0, 0, 0, 0])
    assert t.at(1, 0, 0)[0] == 7.0
    assert t.at(1, 0, 1)[0] == (7 + 4) / 2
    assert t.at(-1, 0, 0)[0] == 1


@pytest.mark.parametrize("shrink", [4.0, 2.0, 1.0])
def test_levels_follow_the_gradient_on_the_face(shrink: float) -> None:
    t = cube(64, 4, face=0, level=1)
    t.sampler(mip=Mip.LINEAR, mode=Mode.CUBE)
    step = np.tile([0, shrink, 0, shrink], 4) * 2 / 64
    assert t.sample(0.1 + step, 0.2, 1.0)[0, 0] == np.log2(shrink)


def test_a_subspan_across_an_edge_takes_gradients_on_one_face() -> None:
    t = cube(64, 4, face=0, level=1)
    t.sampler(mip=Mip.LINEAR, mode=Mode.CUBE)
    x = np.tile([1.0, 1.0, 1.0, 1.0], 4)
    z = np.tile([0.99, 1.0, 0.99, 1.0], 4)  # the second pixel is a tie, which belongs to +Z
    faces = t.sample(x, 0.0, z)[:4, 0]
    assert (faces <= 0.01).all()


@pytest.mark.parametrize("size", [3, 8, 32])
@pytest.mark.parametrize("first", [(-1, -1), (0, -1), (-1, 0), (0, 0)])
def test_a_face_drawn_texel_for_texel_shows_one_level_up_to_its_corners(size: int, first: tuple[int, int]) -> None:
    """Pixels beyond a corner belong to up to two other faces; piglit's cube map tests pass on G41."""
    t = cube(2 * size, 3, face=10, level=1)
    t.sampler(mip=Mip.NEAREST, mode=Mode.CLAMP)
    for face in range(6):
        for corner in np.ndindex(2, 2):  # the subspan over this corner
            x, y = (first[k] + (size - first[k] - 1) // 2 * 2 * corner[k] for k in range(2))
            points = np.array([coordinates(size, face, x + i + 0.5, y + j + 0.5) for j in (0, 1) for i in (0, 1)] * 4)
            levels = t.sample(*(points / abs(points).max(axis=1, keepdims=True)).T)[:4, 0]
            inside = [0 <= x + i < size and 0 <= y + j < size for j in (0, 1) for i in (0, 1)]
            assert set(levels[inside]) == {10 * face + 1}


@pytest.mark.parametrize("start", [0.05, 0.25, 0.5, 0.75, 0.9])
def test_steps_of_half_a_face_across_an_edge_show_their_level(start: float) -> None:
    """piglit's tex-miplevel-selection passes for cubes on G41."""
    t = cube(32, 6, face=0, level=1)
    t.sampler(mip=Mip.NEAREST, mode=Mode.CLAMP)
    points = np.array([(start + i, -0.5 + j, 1.0) for j in (0, 1) for i in (0, 1)] * 4)
    assert t.sample(*(points / abs(points).max(axis=1, keepdims=True)).T)[0, 0] == 4


def test_delivered_gradients_come_with_face_coordinates() -> None:
    t = cube(64, 4, face=10, level=1)
    t.sampler(mip=Mip.LINEAR, mode=Mode.CUBE)
    result = t.message("sample_g", "8", 0.0, 0.0, np.arange(8), 2 * 4 / 64, 0, 9, 0, 0, 9, mlen=10).view(np.float32)
    assert list(result[:, 0]) == [2, 12, 22, 32, 42, 52, 52, 52]


def test_compares_on_cubes_are_right_and_reported() -> None:
    t = Texturing()
    t.surface(F.R32_FLOAT, 1, 1, type=T.SURFTYPE_CUBE)
    for f in range(6):
        t.texels(np.full((1, 1), f / 8, np.float32), slice=f)
    t.sampler(Map.LINEAR, mode=Mode.CUBE, shadow_function=PrefilterOperation.LESS)
    x, y, z = (np.array([d[i] for d in DIRECTIONS] + [0] * 10, float) for i in range(3))
    got = t.message("sample_c", "16", x, y, z, 0.3).view(np.float32)
    assert list(got[:6, 0]) == [0, 0, 0, 1, 1, 1]
    # at the corner of +X, +Y and +Z: 0, 0, 1 and their mean
    corner = t.message("sample_c", "16", 1, 1, 1, 0.3).view(np.float32)[0, 0]
    assert corner == np.float32((0 + 0 + 1 + float(np.float32(1 / 3))) / 4)
    assert t.events() == {Event.SILICON_DIFFERS}


def test_directions_of_nothing_find_something() -> None:
    t = cube(4)
    for filter in (Map.NEAREST, Map.LINEAR):
        t.sampler(filter, mode=Mode.CUBE)
        for x in (0.0, float("nan"), float("inf"), -3e38):
            assert 0 <= t.at(x, x, x)[0] <= 5
