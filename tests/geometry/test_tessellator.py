"""The tessellator alone: points and objects of a patch (IVB PRM vol. 2 part 1, "Tessellation Engine (TE) Stage")."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest

from gen4emu.hw.gen7.pipeline import TessellationDomain as Domain
from gen4emu.hw.gen7.pipeline import TessellationOutput as Output
from gen4emu.hw.gen7.pipeline import TessellationPartitioning as Partitioning
from tests.harness.native import ffi, harness

INTEGER, ODD, EVEN = (Partitioning.INTEGER, Partitioning.ODD_FRACTIONAL, Partitioning.EVEN_FRACTIONAL)
HALF, THIRD, ONE = 0x8000, 0x5555, 0x10000


@dataclass(frozen=True, slots=True)
class Patch:
    points: list[tuple[int, int]]
    indices: list[int]

    @property
    def triangles(self) -> list[tuple[int, int, int]]:
        i = self.indices
        return [(i[k], i[k + 1], i[k + 2]) for k in range(0, len(i), 3)]

    def area(self, triangle: tuple[int, int, int]) -> int:
        """Twice the area; positive from U to V."""
        (au, av), (bu, bv), (cu, cv) = (self.points[i] for i in triangle)
        return (bu - au) * (cv - av) - (cu - au) * (bv - av)


def tessellate(domain: Domain, partitioning: Partitioning, edges: list[float], inside: list[float] | None = None,
               output: Output = Output.TRI_CW) -> Patch:
    factors = (edges + [0.0] * 4)[:4] + ((inside or []) + [0.0] * 2)[:2]
    view = ffi.new("struct g4_tessellated_view *")
    harness().g4_tessellated_view_of(int(domain), int(partitioning), int(output), factors, view)
    return Patch([(view.uv[i][0], view.uv[i][1]) for i in range(view.points)], list(view.index[0:view.indices]))


def test_a_triangle_with_two_segments_on_each_side_has_a_point_in_the_middle() -> None:
    patch = tessellate(Domain.TRI, INTEGER, [2, 2, 2], [2])
    assert patch.points == [(0, ONE), (0, HALF), (0, 0), (HALF, 0), (ONE, 0), (HALF, HALF), (THIRD, THIRD)]
    assert len(patch.triangles) == 6
    assert all(6 in triangle for triangle in patch.triangles)


def test_a_quad_with_two_segments_in_each_direction_has_nine_points() -> None:
    patch = tessellate(Domain.QUAD, INTEGER, [2] * 4, [2, 2])
    assert patch.points == [(0, ONE), (0, HALF), (0, 0), (HALF, 0), (ONE, 0), (ONE, HALF), (ONE, ONE), (HALF, ONE),
                            (HALF, HALF)]
    assert len(patch.triangles) == 8


def test_isolines_lie_at_fractions_of_the_density() -> None:
    """The last line, at V = 1, is that of the next patch."""
    patch = tessellate(Domain.ISOLINE, INTEGER, [3, 2], output=Output.LINE)
    assert patch.points == [(u, v) for v in (0, 0x5555, 0xAAAB) for u in (0, HALF, ONE)]
    assert patch.indices == [0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8]


def test_a_fractional_factor_lies_between_two_subdivisions() -> None:
    """1.5 in odd parts: a quarter of the way from one segment to three."""
    patch = tessellate(Domain.ISOLINE, ODD, [1, 1.5], output=Output.POINT)
    assert patch.points == [(0, 0), (0x1555, 0), (ONE - 0x1555, 0), (ONE, 0)]


def test_the_largest_quad_is_a_regular_grid() -> None:
    patch = tessellate(Domain.QUAD, INTEGER, [64] * 4, [64, 64])
    assert len(set(patch.points)) == len(patch.points) == 65 * 65
    assert {u for u, _ in patch.points} == {1024 * i for i in range(65)}
    assert len(patch.triangles) == 2 * 64 * 64


def test_factors_are_limited() -> None:
    for partitioning, most in ((INTEGER, 64), (EVEN, 64), (ODD, 63)):
        limited, largest = (tessellate(Domain.QUAD, partitioning, [f] * 4, [f, f]) for f in (math.inf, most))
        assert limited == largest
    assert tessellate(Domain.TRI, EVEN, [0.5] * 3, [0.5]) == tessellate(Domain.TRI, EVEN, [2] * 3, [2])


@pytest.mark.parametrize("domain", list(Domain))
@pytest.mark.parametrize("factor", [0.0, -1.0, math.nan, 1e-40])
def test_a_patch_with_an_edge_that_is_not_above_0_is_culled(domain: Domain, factor: float) -> None:
    edges = {Domain.QUAD: 4, Domain.TRI: 3, Domain.ISOLINE: 2}[domain]
    for i in range(edges):
        factors = [3.0] * edges
        factors[i] = factor
        assert tessellate(domain, INTEGER, factors, [3, 3]) == Patch([], [])


def test_a_nan_inside_is_the_smallest_factor() -> None:
    assert tessellate(Domain.TRI, INTEGER, [3] * 3, [math.nan]) == tessellate(Domain.TRI, INTEGER, [3] * 3, [1])


@pytest.mark.parametrize(("domain", "edges", "points", "triangles"), [
    (Domain.TRI, 3, [(0, ONE), (0, 0), (ONE, 0)], [(0, 1, 2)]),
    (Domain.QUAD, 4, [(0, 0), (ONE, 0), (ONE, ONE), (0, ONE)], [(0, 1, 3), (1, 2, 3)]),
])
@pytest.mark.parametrize("partitioning", [INTEGER, ODD])
def test_factors_of_1_leave_the_patch_whole(domain: Domain, edges: int, points: list[tuple[int, int]],
                                            triangles: list[tuple[int, int, int]],
                                            partitioning: Partitioning) -> None:
    patch = tessellate(domain, partitioning, [1] * edges, [1, 1])
    assert (patch.points, patch.triangles) == (points, triangles)


@pytest.mark.parametrize("partitioning", [INTEGER, ODD, EVEN])
@pytest.mark.parametrize(("domain", "whole"), [(Domain.TRI, ONE * ONE), (Domain.QUAD, 2 * ONE * ONE)])
def test_triangles_cover_the_domain_once_and_have_one_winding(domain: Domain, whole: int,
                                                              partitioning: Partitioning) -> None:
    for edges in ([1.0, 5.5, 64, 2.25], [7, 3, 3, 9.75], [1.0001, 1, 1, 1], [31.5, 63, 12, 40]):
        for inside in ([1.0, 8.0], [5.25, 5.25], [17.5, 3], [64, 63.5]):
            patch = tessellate(domain, partitioning, edges, inside)
            areas = [patch.area(triangle) for triangle in patch.triangles]
            assert sum(abs(area) for area in areas) == pytest.approx(whole, abs=ONE)
            assert all(area >= -ONE for area in areas)  # places are rounded to 1 / 65536
            assert sum(areas) == pytest.approx(whole, abs=ONE)


def test_the_other_winding_exchanges_two_points_of_each_triangle() -> None:
    edges, inside = [3.0, 4, 5, 6], [4.0, 7.0]
    one, other = (tessellate(Domain.QUAD, INTEGER, edges, inside, output) for output in (Output.TRI_CW, Output.TRI_CCW))
    assert [(a, c, b) for a, b, c in one.triangles] == other.triangles
    assert one.points == other.points


def test_points_are_listed_once() -> None:
    points = tessellate(Domain.QUAD, ODD, [3.5, 2, 7, 1], [4, 5], Output.POINT)
    assert points.indices == list(range(len(points.points)))
    assert len(set(points.points)) == len(points.points)


@pytest.mark.parametrize("partitioning", [INTEGER, ODD, EVEN])
@pytest.mark.parametrize("factor", [1.3, 2.0, 6.7, 33.0, 63.9])
def test_an_edge_is_divided_the_same_from_both_sides(partitioning: Partitioning, factor: float) -> None:
    """Patches with a common edge meet without cracks, whatever their inner factors."""
    quad = tessellate(Domain.QUAD, partitioning, [factor, 2, 2, 2], [3, 9], Output.POINT)
    tri = tessellate(Domain.TRI, partitioning, [factor, 7, 1], [20], Output.POINT)
    edges = [{v for u, v in patch.points if u == 0} for patch in (quad, tri)]
    assert edges[0] == edges[1] == {ONE - v for v in edges[0]}
