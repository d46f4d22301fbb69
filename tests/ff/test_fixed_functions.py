"""Clipper, setup and samples of Gen6 and later, with numbers computed by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from gen4emu._native import lib
from gen4emu.hw.topology import PrimitiveTopology
from tests.harness.fixed import SAMPLES, SIZE, Corner, Fixed, on_screen

POINT, LINE, TRIANGLE = 0, 1, 2  # enum g4_object_type
FILL_SOLID, FILL_LINES, FILL_POINTS = 0, 1, 2
CULL_FRONT, CULL_BACK = 2, 3
HUGE = [on_screen(-100, -100), on_screen(300, -100), on_screen(-100, 300)]


# ---- clipper ----
def test_a_triangle_inside_passes_whole() -> None:
    assert Fixed().run([on_screen(4, 4), on_screen(40, 4), on_screen(4, 40)]).objects == 1


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("side", [-1.5, 1.5])
def test_an_object_beyond_one_plane_is_rejected(axis: int, side: float) -> None:
    corners = []
    for x, y in ((-0.5, -0.5), (0.5, -0.5), (-0.5, 0.5)):
        position = [x, y, 0.0, 1.0]
        position[axis] = side + 0.1 * x
        corners.append(Corner((position[0], position[1], position[2], position[3])))
    assert Fixed().run(corners).objects == 0


def test_inside_the_guardband_nothing_is_cut() -> None:
    assert Fixed(fields={"guardband": 8.0}).run([HUGE[0], on_screen(100, 0), on_screen(0, 100)]).objects == 1
    assert Fixed().run(HUGE).objects > 1  # without one the viewport cuts


def test_a_nan_drops_the_object() -> None:
    assert Fixed().run([on_screen(4, 4), on_screen(40, 4), Corner((math.nan, 0, 0, 1))]).objects == 0


def test_cull_distances_reject_only_what_is_all_outside() -> None:
    out, inside = (-1.0,) * 8, (1.0,) * 8
    corners = [(4, 4), (40, 4), (4, 40)]
    culled = Fixed(fields={"cull_distances": 4})
    assert culled.run([on_screen(x, y, distances=out) for x, y in corners]).objects == 0
    mixed = [on_screen(x, y, distances=inside if i else out) for i, (x, y) in enumerate(corners)]
    assert culled.run(mixed).objects == 1
    assert culled.covered(5, 5)


def test_a_clip_distance_cuts_where_it_is_0() -> None:
    corners = [on_screen(x, y, distances=(x - 20.0,) + (1.0,) * 7) for x, y in ((0, 0), (64, 0), (0, 64))]
    fixed = Fixed(fields={"clip_distances": 1}).run(corners)
    lit = [x for x in range(40) if any(fixed.covered(x, 10, i) for i in range(fixed.objects))]
    assert (min(lit), max(lit)) == (20, 39)


def test_a_nan_clip_distance_is_outside() -> None:
    corners = [on_screen(x, y, distances=(math.nan,) * 8) for x, y in ((4, 4), (40, 4), (4, 40))]
    assert Fixed(fields={"clip_distances": 2}).run(corners).objects == 0


def test_points_are_rejected_by_their_center_and_never_cut() -> None:
    wide = {"point_width": 8.0}
    assert Fixed(fields=wide).run([on_screen(-1, 30)], PrimitiveTopology.POINTLIST).objects == 0
    assert Fixed(fields=wide).run([on_screen(1, 30)], PrimitiveTopology.POINTLIST).objects == 1


def test_attributes_of_a_clipped_triangle_are_those_of_the_whole() -> None:
    """A vertex is behind the eye; the interpolation is the homogeneous one (2-D homogeneous rasterization)."""
    corners = [Corner((-0.5, -0.5, 0.1, 1.0)), Corner((0.5, -0.6, 0.1, 1.5)), Corner((0.2, 0.4, -0.2, -1.0))]
    fixed = Fixed().run(corners)
    assert fixed.objects >= 2
    screen = np.array([[(c.position[0] + c.position[3]) * SIZE / 2, (c.position[3] - c.position[1]) * SIZE / 2,
                        c.position[3]] for c in corners]).T
    seen = 0
    for i in range(fixed.objects):
        for y in range(0, SIZE, 3):
            for x in range(0, SIZE, 3):
                if not fixed.covered(x, y, i):
                    continue
                shares = np.linalg.solve(screen, [x + 0.5, y + 0.5, 1.0])  # of 1/w
                got = fixed.values(x + 0.5, y + 0.5, i)
                wanted = shares / shares.sum()
                assert np.allclose([got.perspective[0], got.perspective[1]], wanted[1:], atol=1e-5)
                assert got.w == pytest.approx(1 / shares.sum(), rel=1e-5)
                seen += 1
    assert seen > 20


# ---- setup ----
def test_coefficients_are_in_the_order_that_pln_takes() -> None:
    fixed = Fixed().run([on_screen(4, 4, first=(1, 2, 3, 4)), on_screen(40, 4, first=(5, 7, 9, 11)),
                         on_screen(4, 40, first=(0, 0, 1, 0))])
    assert fixed.coefficients(0) == [[4, -1, 0, 1], [5, -2, 0, 2], [6, -2, 0, 3], [7, -4, 0, 4]]


def test_a_flat_attribute_is_that_of_the_provoking_vertex() -> None:
    fixed = Fixed(fields={"flat": 1}).run([on_screen(4, 4, first=(1, 2, 3, 4)), on_screen(40, 4, first=(5, 6, 7, 8)),
                                           on_screen(4, 40, first=(9, 10, 11, 12))])
    assert fixed.coefficients(0) == [[0, 0, 0, 9], [0, 0, 0, 10], [0, 0, 0, 11], [0, 0, 0, 12]]


def test_back_facing_objects_take_the_next_attribute() -> None:
    clockwise = [on_screen(x, y, first=(1, 1, 1, 1), second=(2, 2, 2, 2)) for x, y in ((4, 4), (40, 4), (4, 40))]
    fixed = Fixed(fields={"back_color": True, "front_winding": 1})
    fixed.run(clockwise)
    assert (fixed.view().back_facing, fixed.coefficients(0)[0][3]) == (True, 2)
    fixed.run([clockwise[0], clockwise[2], clockwise[1]])
    assert (fixed.view().back_facing, fixed.coefficients(0)[0][3]) == (False, 1)


def test_barycentrics_are_corrected_by_w() -> None:
    fixed = Fixed().run([on_screen(0, 0, w=1), on_screen(64, 0, w=2), on_screen(0, 64, w=4)])
    middle = fixed.values(32, 0)
    assert (middle.linear[0], middle.linear[1]) == (0.5, 0)
    assert middle.perspective[0] == pytest.approx(1 / 3, rel=1e-6)  # (1/2)/2 of (1/2)/1 + (1/2)/2
    assert middle.w == pytest.approx(4 / 3, rel=1e-6)
    third = fixed.values(0, 64)
    assert (third.perspective[1], third.w) == (1, 4)


@pytest.mark.parametrize("w", [1.0, 3.0, 0.7])
def test_barycentrics_of_a_constant_w_are_linear_in_all_variants(w: float) -> None:
    before = lib.g4_variant_current()
    found = []
    try:
        for variant in range(lib.g4_variant_best() + 1):
            lib.g4_set_variant(variant)
            fixed = Fixed().run([on_screen(0, 0, w=w), on_screen(64, 0, w=w), on_screen(0, 64, w=w)])
            for x, y in ((0, 0), (32, 0), (5, 40)):
                at = fixed.values(x, y)
                assert list(at.perspective) == pytest.approx(list(at.linear), abs=1e-6)
                assert at.w == np.float32(w)
                found.append((x, y, *at.perspective))
    finally:
        lib.g4_set_variant(before)
    assert len(set(found)) == 3


def test_values_without_perspective_continue_across_a_cut() -> None:
    """A user clip plane cuts off the second vertex: linear coordinates of the piece are those of the whole object."""
    def corners(cut: bool) -> list[Corner]:
        distances = [(-1.0 if cut and i == 1 else 1.0, *(1.0,) * 7) for i in range(3)]
        places = [(0, 0, 1), (64, 0, 2), (0, 64, 4)]
        return [on_screen(x, y, w=w, distances=distances[i]) for i, (x, y, w) in enumerate(places)]

    whole, cut = (Fixed(fields={"clip_distances": 1}).run(corners(is_cut)) for is_cut in (False, True))
    assert (whole.objects, cut.objects) == (1, 2)
    for x, y in ((0, 0), (16, 0), (5, 40), (20, 20)):
        expected = whole.values(x, y)
        for piece in range(2):
            found = cut.values(x, y, piece)
            assert list(found.linear) == pytest.approx(list(expected.linear), abs=1e-6)
            assert list(found.perspective) == pytest.approx(list(expected.perspective), abs=1e-6)


def test_a_clipped_line_keeps_its_places_on_the_screen_without_perspective() -> None:
    ends = [on_screen(0, 8, w=1), on_screen(64, 8, w=3, distances=(-1.0, *(1.0,) * 7))]
    fixed = Fixed(fields={"clip_distances": 1}).run(ends, PrimitiveTopology.LINELIST)
    assert fixed.view().x_max == 47  # half of the way in clip space is 0.75 of it on the screen, by w
    for x in (0, 16, 40):
        assert fixed.values(x, 8).linear[0] == pytest.approx(x / 64, abs=1e-5)


def test_depth_is_linear_on_the_screen() -> None:
    fixed = Fixed().run([on_screen(0, 0, z=0.0), on_screen(64, 0, z=0.5, w=2), on_screen(0, 64, z=-1.0, w=4)])
    assert fixed.values(32, 0).z == pytest.approx(0.625)
    assert fixed.values(0, 32).z == pytest.approx(0.25)


def test_the_depth_offset_counts_in_units_and_slopes() -> None:
    corners = [on_screen(0, 0, z=0.0), on_screen(64, 0, z=0.5), on_screen(0, 64, z=0.0)]
    plain = Fixed().run(corners).values(20, 20).z
    offset = Fixed(fields={"depth_offset": True, "offset_constant": 1000, "offset_scale": 2}).run(corners)
    assert offset.values(20, 20).z - plain == pytest.approx(1000 / (2**24 - 1) + 2 * 0.25 / 64, rel=1e-3)


@pytest.mark.parametrize(("mode", "left"), [(CULL_FRONT, 1), (CULL_BACK, 0)])
def test_back_faces_are_culled_by_the_mode(mode: int, left: int) -> None:
    clockwise = [on_screen(4, 4), on_screen(40, 4), on_screen(4, 40)]
    assert Fixed(fields={"cull_mode": mode, "front_winding": 1}).run(clockwise).objects == left


def test_an_object_without_area_is_dropped() -> None:
    assert Fixed().run([on_screen(4, 4), on_screen(20, 20), on_screen(40, 40)]).objects == 0


def test_a_sprite_goes_from_0_to_1_across_the_point() -> None:
    fixed = Fixed(fields={"sprite": True, "point_width": 8.0}).run(
        [on_screen(32, 32, first=(5, 6, 7, 8))], PrimitiveTopology.POINTLIST)
    assert fixed.coefficients(1) == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]]
    assert fixed.coefficients(0) == [[0, 0, 0, 5], [0, 0, 0, 6], [0, 0, 0, 7], [0, 0, 0, 8]]
    at = fixed.values(32.5, 30)
    assert (at.perspective[0], at.perspective[1]) == (0.5625, 0.25)
    assert (fixed.view().x_min, fixed.view().x_max) == (28, 35)


@pytest.mark.parametrize(("flat", "expected"), [(0, [[0.25, -0.25, 0, 0.875], [-0.75, -0.25, 0, 0.875]]),
                                                (1, [[0, 0, 0, 0.625], [0, 0, 0, 0.625]])])
def test_wrap_shortest_goes_around_where_that_is_shorter(flat: int, expected: list[list[float]]) -> None:
    """Of x alone, and not where the attribute is that of the last vertex (KBL PRM vol. 2a, 3DSTATE_SBE)."""
    fixed = Fixed(fields={"wraps": 1, "flat": flat}).run(
        [on_screen(x, y, first=(u, u, 0, 1)) for (x, y), u in zip([(4, 4), (40, 4), (4, 40)], [0.875, 0.125, 0.625],
                                                                  strict=True)])
    assert fixed.coefficients(0)[:2] == expected


# ---- fill modes ----
def test_the_edges_of_a_triangle_keep_its_attributes() -> None:
    fixed = Fixed(fields={"fill": FILL_LINES}).run(
        [on_screen(4, 4, first=(1, 0, 0, 0)), on_screen(40, 4, first=(2, 0, 0, 0)),
         on_screen(4, 40, first=(4, 0, 0, 0))])
    assert [fixed.view(i).type for i in range(fixed.objects)] == [LINE] * 3
    for i in range(3):
        assert fixed.coefficients(0, i)[0] == [1, 3, 0, 1]
    middle = fixed.values(22, 22, 1)  # of the edge from vertex 1 to 2
    assert (middle.linear[0], middle.linear[1]) == (0.5, 0.5)


def test_inner_edges_of_a_polygon_are_not_drawn() -> None:
    square = [on_screen(4, 4), on_screen(40, 4), on_screen(40, 40), on_screen(4, 40)]
    assert Fixed(fields={"fill": FILL_LINES}).run(square, PrimitiveTopology.POLYGON).objects == 4


def test_cuts_are_not_edges() -> None:
    """The right corner is cut off: its edges end there, and the cut between them is not drawn."""
    corners = [on_screen(10, 10), on_screen(100, 30), on_screen(10, 50)]
    assert Fixed().run(corners).objects == 2
    fixed = Fixed(fields={"fill": FILL_LINES}).run(corners)
    assert fixed.objects == 3
    column = [y for y in range(SIZE) if any(fixed.covered(61, y, i) for i in range(3))]
    assert all(min(abs(y - 21), abs(y - 38)) <= 2 for y in column)
    assert column


def test_corners_become_points() -> None:
    fixed = Fixed(fields={"fill": FILL_POINTS, "flat": 2}).run(
        [on_screen(4, 4, first=(1, 0, 0, 0), second=(7, 0, 0, 0)), on_screen(40, 4, first=(2, 0, 0, 0)),
         on_screen(4, 40, first=(4, 0, 0, 0), second=(9, 0, 0, 0))])
    assert [fixed.view(i).type for i in range(fixed.objects)] == [POINT] * 3
    assert [fixed.coefficients(0, i)[0][3] for i in range(3)] == [1, 2, 4]
    assert [fixed.coefficients(1, i)[0][3] for i in range(3)] == [9, 9, 9]  # the provoking vertex's


@pytest.mark.parametrize(("fill", "left"), [(FILL_SOLID, 1), (FILL_LINES, 2), (FILL_POINTS, 2)])
def test_an_edge_and_its_corner_are_drawn_if_its_first_vertex_is_flagged(fill: int, left: int) -> None:
    """IVB PRM vol. 2 part 1, 3DSTATE_SF, FrontFace Fill Mode: by the edge flags of the vertices."""
    corners = [on_screen(4.5, 4.5), on_screen(40.5, 4.5, edge_flag=False), on_screen(4.5, 40.5)]
    fixed = Fixed(fields={"fill": fill}).run(corners)
    assert fixed.objects == left
    assert any(fixed.covered(20, 4, i) for i in range(left)) == (fill != FILL_POINTS)  # the edge from vertex 0 to 1
    assert not any(fixed.covered(23, 21, i) for i in range(left)) or fill == FILL_SOLID  # from vertex 1 to 2


def test_a_flag_that_is_clear_hides_an_edge_of_a_polygon_and_shows_no_inner_one() -> None:
    places = [(4, 4), (40, 4), (40, 40), (4, 40)]
    for clear in range(4):
        square = [on_screen(x, y, edge_flag=i != clear) for i, (x, y) in enumerate(places)]
        assert Fixed(fields={"fill": FILL_LINES}).run(square, PrimitiveTopology.POLYGON).objects == 3


# ---- samples ----
def test_half_a_pixel_covers_the_samples_on_its_side() -> None:
    """x + y < 1: 8/16, 20/16, 12/16 and 24/16 for samples 0 to 3."""
    fixed = Fixed(4).run([on_screen(0, 0), on_screen(1, 0), on_screen(0, 1)])
    assert fixed.covered(0, 0) == 0b0101


@pytest.mark.parametrize("samples", [1, 2, 4, 8])
def test_a_pixel_inside_covers_all_samples(samples: int) -> None:
    fixed = Fixed(samples, {"guardband": 16.0}).run(HUGE)
    assert fixed.covered(30, 30) == (1 << samples) - 1


@pytest.mark.parametrize("samples", [2, 4, 8])
def test_two_triangles_share_the_samples_of_an_edge(samples: int) -> None:
    a, b, c, d = on_screen(3.3, 2.1), on_screen(50.7, 9.4), on_screen(8.2, 47.9), on_screen(60.1, 55.5)
    first = Fixed(samples, {"guardband": 16.0}).run([a, b, c])
    second = Fixed(samples, {"guardband": 16.0}).run([b, d, c])
    for y in range(12, 46):
        for x in range(12, 46):
            one, other = first.covered(x, y), second.covered(x, y)
            assert (one & other, one | other) == (0, (1 << samples) - 1)


def exact_coverage(corners: Sequence[tuple[int, int]], places: Sequence[tuple[int, int]], x: int, y: int) -> int:
    """The samples of a pixel in a triangle whose corners are in 1/256 pixel, in integers: those on a top or left edge
    belong to it."""
    (ax, ay), (bx, by), (cx, cy) = corners
    area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    ordered = corners if area > 0 else corners[::-1]
    mask = 0
    for s, (dx, dy) in enumerate(places):
        px, py = 256 * x + 16 * dx, 256 * y + 16 * dy
        inside = area != 0
        for i in range(3):
            (ax, ay), (bx, by) = ordered[i], ordered[(i + 1) % 3]
            side = (bx - ax) * (py - ay) - (by - ay) * (px - ax)
            inside = inside and (side > 0 or (side == 0 and (by < ay or (by == ay and bx > ax))))
        mask |= inside << s
    return mask


@pytest.mark.parametrize("samples", [2, 4, 8])
def test_coverage_is_exact_at_the_published_places(samples: int) -> None:
    """Random triangles, half of them with corners on sixteenths, where edges meet samples."""
    random = Random(samples)
    edges = 0
    for i in range(60):
        step = 16 if i % 2 else 1
        corners = [(random.randrange(0, 24 * 256, step), random.randrange(0, 24 * 256, step)) for _ in range(3)]
        fixed = Fixed(samples).run([on_screen(x / 256, y / 256) for x, y in corners])
        for x in range(24):
            for y in range(24):
                expected = exact_coverage(corners, SAMPLES[samples], x, y)
                found = fixed.covered(x, y) if fixed.objects else 0
                assert found == expected, (corners, x, y)
                edges += expected not in (0, (1 << samples) - 1)
    assert edges > 500


@pytest.mark.parametrize("samples", [2, 4, 8])
def test_depth_is_exact_at_the_published_places(samples: int) -> None:
    """Slopes of powers of two, whose sums are floats."""
    fixed = Fixed(samples).run([on_screen(0, 0, z=-1.0), on_screen(64, 0, z=0.0), on_screen(0, 64, z=-0.5)])
    for x, y in ((0, 0), (10, 3), (3, 40)):
        for dx, dy in SAMPLES[samples]:
            assert fixed.values(x + dx / 16, y + dy / 16).z == (x + dx / 16) / 128 + (y + dy / 16) / 256



# ---- conservative rasterization: in units of 1/512 pixel, the square of a pixel reaches 257 from its center ----
Point = tuple[Fraction, Fraction]
REACH = 257


def touches(corners: Sequence[tuple[int, int]], x: int, y: int) -> bool:
    """Whether the closed triangle and the closed square have a common point: what remains of the triangle if it is cut
    at the four sides."""
    if any(min(2 * c[axis] for c in corners) > 512 * at + 256 + REACH or max(2 * c[axis] for c in corners)
           < 512 * at + 256 - REACH for axis, at in ((0, x), (1, y))):
        return False  # far away
    polygon: list[Point] = [(Fraction(2 * cx), Fraction(2 * cy)) for cx, cy in corners]
    for axis, center in ((0, 512 * x + 256), (1, 512 * y + 256)):
        for side in (-1, 1):
            cut: list[Point] = []
            for a, b in zip(polygon, polygon[1:] + polygon[:1], strict=True):
                da, db = (REACH - side * (p[axis] - center) for p in (a, b))
                if da >= 0:
                    cut.append(a)
                if (da < 0) != (db < 0) and da != 0 and db != 0:
                    t = da / (da - db)
                    cut.append((a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])))
            polygon = cut
    return bool(polygon)


def contains(corners: Sequence[tuple[int, int]], x: int, y: int) -> bool:
    """Whether the closed triangle has all four corners of the square."""
    (ax, ay), (bx, by), (cx, cy) = corners
    sign = 1 if (bx - ax) * (cy - ay) - (by - ay) * (cx - ax) > 0 else -1
    for px in (512 * x + 256 - REACH, 512 * x + 256 + REACH):
        for py in (512 * y + 256 - REACH, 512 * y + 256 + REACH):
            for (ax, ay), (bx, by) in zip(corners, [*corners[1:], corners[0]], strict=True):
                if sign * ((bx - ax) * (py - 2 * ay) - (by - ay) * (px - 2 * ax)) < 0:
                    return False
    return True


@pytest.mark.parametrize("samples", [1, 4])
def test_conservative_coverage_is_exact(samples: int) -> None:
    """Random triangles, large and smaller than a pixel; a third of them with corners on the sides of pixels."""
    random = Random(samples)
    partly = inside = 0
    for i in range(90):
        step = (1, 16, 128)[i % 3]
        size = (16, 3, 1)[i // 3 % 3] * 256
        corners = [(6 * 256 + random.randrange(0, size + 1, step), 6 * 256 + random.randrange(0, size + 1, step))
                   for _ in range(3)]
        fixed = Fixed(samples, {"conservative": True}).run([on_screen(x / 256, y / 256) for x, y in corners])
        (ax, ay), (bx, by), (cx, cy) = corners
        if (bx - ax) * (cy - ay) == (by - ay) * (cx - ax):
            assert fixed.objects == 0
            continue
        for x in range(4, 25):
            for y in range(4, 25):
                expected = touches(corners, x, y)
                assert fixed.covered(x, y) == (expected and (1 << samples) - 1), (corners, x, y)
                whole = contains(corners, x, y)
                assert fixed.inside(x, y) == whole, (corners, x, y)
                inside += whole
                partly += expected and not whole
    assert partly > 1000
    assert inside > 200


def test_points_lines_and_rectangles_ignore_conservative_rasterization() -> None:
    shapes = (([on_screen(9.4, 9.4)], PrimitiveTopology.POINTLIST),
              ([on_screen(3.3, 5.1), on_screen(19.2, 11.7)], PrimitiveTopology.LINELIST),
              ([on_screen(12.7, 12.7), on_screen(4.6, 12.7), on_screen(4.6, 4.6)], PrimitiveTopology.RECTLIST))
    for corners, topology in shapes:
        plain, other = (Fixed(fields={"conservative": on}).run(corners, topology) for on in (False, True))
        found = [plain.covered(x, y) for x in range(24) for y in range(24)]
        assert [other.covered(x, y) for x in range(24) for y in range(24)] == found
        assert 1 in found


def test_the_drawing_rectangle_cuts_conservative_triangles() -> None:
    fixed = Fixed(fields={"conservative": True, "guardband": 16.0}).run(HUGE)
    view = fixed.view()
    assert (view.x_min, view.y_min, view.x_max, view.y_max) == (0, 0, SIZE - 1, SIZE - 1)

def test_masked_samples_are_not_covered() -> None:
    assert Fixed(4, {"sample_mask": 0b1010, "guardband": 16.0}).run(HUGE).covered(9, 9) == 0b1010


def test_points_cover_samples_not_pixels() -> None:
    """From 24.5 to 33.5, across: pixel 33 has samples 0 and 2, left of its middle."""
    fixed = Fixed(4, {"point_width": 9.0}).run([on_screen(29, 29)], PrimitiveTopology.POINTLIST)
    assert fixed.covered(33, 29) == 0b0101
    assert fixed.covered(24, 29) == 0b1010
    assert fixed.covered(29, 29) == 0b1111
