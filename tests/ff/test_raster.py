"""Inclusion rules of triangles, rectangles, points and lines (G45 PRM vol. 2, "Strips and Fans Unit")."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology as T
from tests.harness.setup import Bench, box

Point = tuple[float, float]
LEFT, RIGHT = {"point_rasterization_rule": 0}, {"point_rasterization_rule": 1}
NO_BIAS = {"destination_origin_horizontal_bias": 0.0, "destination_origin_vertical_bias": 0.0}
SMOOTH = {"antialiasing_enable": True}


def line(width: float = 1.0, **fields: Any) -> Bench:
    return Bench(sf={"line_width": width} | fields)


# ---- triangles ----

@pytest.mark.parametrize(("corners", "expected"), [
    ([(.5, .5), (4.5, .5), (.5, 4.5)], {(x, y) for y in range(4) for x in range(4 - y)}),
    ([(4.5, .5), (4.5, 4.5), (.5, 4.5)], {(3, 1), (2, 2), (3, 2), (1, 3), (2, 3), (3, 3)}),
    ([(0, 0), (8, 0), (0, 8)], {(x, y) for y in range(7) for x in range(7 - y)}),
    ([(1.25, .75), (6.75, 2.25), (3, 5.5)],
     {(2, 1), (3, 1), (2, 2), (3, 2), (4, 2), (5, 2), (2, 3), (3, 3), (4, 3), (3, 4)}),
    ([(0, 0), (4, 0), (0, 4)], {(x, y) for y in range(3) for x in range(3 - y)}),
])
def test_triangles_of_the_digest_light_their_pixels(corners: list[Point], expected: set[tuple[int, int]]) -> None:
    for turn in range(3):
        assert Bench().lit(corners[turn:] + corners[:turn]) == expected
    assert Bench().lit(corners[::-1]) == expected


def test_two_halves_of_a_square_light_all_its_pixels_once() -> None:
    first = Bench().lit([(0, 0), (4, 0), (0, 4)])
    second = Bench().lit([(4, 0), (4, 4), (0, 4)])
    assert len(first) == 6
    assert len(second) == 10
    assert first | second == box(range(4), range(4))


def inside(corners: list[tuple[int, int]]) -> set[tuple[int, int]]:
    """The inclusion rule in exact integers, for 64x64 pixels."""
    (x0, y0), (x1, y1), (x2, y2) = corners
    det = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    if det == 0:
        return set()
    ring = corners if det > 0 else corners[::-1]
    y, x = np.mgrid[0:64, 0:64].astype(np.int64) * 256
    lit = np.ones((64, 64), bool)
    for (ax, ay), (bx, by) in zip(ring, ring[1:] + ring[:1], strict=True):
        e = (bx - ax) * (y - ay) - (by - ay) * (x - ax)
        lit &= (e > 0) | ((e == 0) & bool(by < ay or (by == ay and bx > ax)))
    return {(int(i), int(j)) for j, i in np.argwhere(lit)}


coordinate = st.one_of(st.integers(-256 * 8, 256 * 72), st.integers(0, 64).map(lambda v: v * 256),
                       st.integers(-256 * 8192, 256 * 8192 - 1))
corner = st.tuples(coordinate, coordinate)


@settings(max_examples=150)
@given(st.lists(corner, min_size=3, max_size=3))
def test_any_triangle_agrees_with_the_formula_in_exact_integers(corners: list[tuple[int, int]]) -> None:
    lit = Bench(sf=NO_BIAS).lit([(x / 256, y / 256) for x, y in corners])
    assert lit == inside(corners)


near = st.tuples(st.integers(-256 * 5, 256 * 5), st.integers(-256 * 5, 256 * 5))


@settings(max_examples=150)
@given(st.tuples(st.integers(-256, 256 * 65), st.integers(-256, 256 * 65)), st.lists(near, min_size=3, max_size=3),
       st.integers(0, 8))
def test_small_triangles_agree_with_the_formula_wherever_tiles_end(middle: tuple[int, int],
                                                                   corners: list[tuple[int, int]], snap: int) -> None:
    around = [((middle[0] + x) >> snap << snap, (middle[1] + y) >> snap << snap) for x, y in corners]
    lit = Bench(sf=NO_BIAS).lit([(x / 256, y / 256) for x, y in around])
    assert lit == inside(around)


def test_a_scissor_leaves_a_corner_of_a_long_triangle() -> None:
    """Within the scissor it is small, on the whole it is not."""
    scissor = {"scissor_rectangle_x_min": 30, "scissor_rectangle_y_min": 29, "scissor_rectangle_x_max": 34,
               "scissor_rectangle_y_max": 33}
    corners = [(-8000 * 256 + 7, 20 * 256 + 1), (8000 * 256, 31 * 256 + 5), (-8000 * 256, 60 * 256 + 3)]
    lit = Bench(sf=NO_BIAS | {"scissor_rectangle_enable": True}, viewports=[scissor]).lit(
        [(x / 256, y / 256) for x, y in corners])
    assert lit == inside(corners) & box(range(30, 35), range(29, 34))


@settings(max_examples=100)
@given(st.tuples(st.integers(0, 64 * 256), st.integers(0, 64 * 256)), st.integers(3, 9))
def test_a_fan_around_any_point_lights_every_pixel_of_its_hull_once(center: tuple[int, int], sides: int) -> None:
    ring = [(32 + 100 * math.cos(i * 2 * math.pi / sides), 32 + 100 * math.sin(i * 2 * math.pi / sides))
            for i in range(sides)]
    bench = Bench()
    vertices = [(center[0] / 256, center[1] / 256), *ring, ring[0]]
    bench.primitive(vertices, T.TRIFAN)
    hits = bench.hits()
    assert hits.max() == 1
    bench.primitive([ring[0], *ring[1:]], T.TRIFAN)
    assert (bench.hits() == hits)[hits == 1].all()


def test_a_triangle_over_many_tiles_lights_each_pixel_once() -> None:
    bench = Bench(width=300, height=200)
    bench.primitive([(0, 0), (300, 0), (0, 200), (300, 0), (300, 200), (0, 200)])
    assert (bench.hits() == 1).all()


def test_huge_triangles_are_exact_to_the_last_unit() -> None:
    corners = [(-8192 * 256, -8192 * 256), (8192 * 256 - 1, 64 * 256 + 1), (-8192 * 256, 8192 * 256 - 1)]
    lit = Bench(sf=NO_BIAS).lit([(x / 256, y / 256) for x, y in corners])
    assert lit == inside(corners)


# ---- rectangles ----

@pytest.mark.parametrize("bias", [0.0, 0.5])
def test_a_rectangle_is_half_open(bias: float) -> None:
    bench = Bench(sf={"destination_origin_horizontal_bias": bias, "destination_origin_vertical_bias": bias})
    assert bench.lit([(8, 6), (2, 6), (2, 3)], T.RECTLIST) == box(range(2, 8), range(3, 6))


def test_rectangles_of_test_idea_2_light_left_and_top_only() -> None:
    assert Bench(sf=NO_BIAS).lit([(4, 4), (0, 4), (0, 0)], T.RECTLIST) == box(range(4), range(4))
    assert Bench().lit([(2.5, 2.5), (.5, 2.5), (.5, .5)], T.RECTLIST) == box(range(2), range(2))


def test_a_rectangle_that_leans_is_filled_as_a_parallelogram() -> None:
    lit = Bench(sf=NO_BIAS).lit([(12, 8), (4, 8), (0, 0)], T.RECTLIST)  # v3 = (8, 0)
    assert lit == {(x, y) for y in range(8) for x in range(math.ceil(y / 2), math.ceil(y / 2 + 8))}


# ---- points ----

@pytest.mark.parametrize(("at", "width", "rule", "expected"), [
    ((2.5, 2.5), 2, LEFT, box(range(1, 3), range(1, 3))),
    ((2.5, 2.5), 2, RIGHT, box(range(2, 4), range(1, 3))),
    ((2, 2), 1, LEFT, {(1, 1)}),
    ((2, 2), 1, RIGHT, {(2, 1)}),
    ((2.5, 2.5), 1, LEFT, {(2, 2)}),
    ((2.5, 2.5), 1, RIGHT, {(2, 2)}),
    ((2, 2), 2, LEFT | NO_BIAS, box(range(1, 3), range(1, 3))),
    ((8, 8), 4, RIGHT, box(range(6, 10), range(6, 10))),
])
def test_points_of_the_digest_light_their_square(at: Point, width: int, rule: dict[str, Any],
                                                 expected: set[tuple[int, int]]) -> None:
    assert Bench(sf={"point_width": width} | rule).lit([at], T.POINTLIST) == expected


def test_a_point_takes_its_width_from_the_vertex() -> None:
    bench = Bench(sf={"use_point_width_state": False})
    assert bench.lit([(8, 8)], T.POINTLIST, point_width=[4 * 8]) == box(range(6, 10), range(6, 10))


def test_a_point_of_width_0_is_culled() -> None:
    bench = Bench(sf={"use_point_width_state": False})
    assert bench.primitive([(8, 8)], T.POINTLIST, point_width=[0]) == [None]


# ---- wide lines ----

@pytest.mark.parametrize(("a", "b", "expected"), [
    ((.5, .5), (4.5, 4.5), {(i, i) for i in range(4)}),
    ((.5, 1), (4.5, 1), box(range(4), range(1))),
    ((1, .5), (1, 4.5), box(range(1), range(4))),
    ((.5, .5), (4.5, 2.5), {(0, 0), (1, 1), (2, 1), (3, 2)}),
    ((.5, 2.5), (4.5, .5), {(0, 2), (1, 1), (2, 1), (3, 0)}),
    ((24.5, 30.5), (24.5, 6.5), box(range(24, 25), range(6, 30))),
    ((10.5, 10.5), (34.5, 10.5), box(range(10, 34), range(10, 11))),
    ((.5, 2.5), (24.5, 2.5), box(range(24), range(2, 3))),
])
def test_lines_one_pixel_wide_light_the_same_pixels_in_both_directions(a: Point, b: Point,
                                                                       expected: set[tuple[int, int]]) -> None:
    assert line().lit([a, b], T.LINELIST) == expected
    assert line().lit([b, a], T.LINELIST) == expected


def test_a_line_three_pixels_wide_grows_along_its_minor_axis() -> None:
    assert line(3.0).lit([(2, 3), (9, 3)], T.LINELIST) == box(range(2, 9), range(1, 4))


def test_line_width_has_halves() -> None:
    assert len(line(1.5).lit([(2.5, 3), (10.5, 3)], T.LINELIST)) == 8 * 2  # rows 2.25 to 3.75 hold samples 2.5, 3.5


# ---- cosmetic lines ----

def on_diamond(p: tuple[int, int], a: tuple[int, int], b: tuple[int, int], legacy: bool) -> bool:
    """The segment meets the pixel's diamond and its border, with fractions on a fine grid of the parameter.

    All coordinates are multiples of 1/16 pixel here, and so are the diamonds' sides: the touch of a corner or a side
    happens at a parameter whose denominator is |du +- dv|, so those are the parameters to try.
    """
    u, v = a[0] - 256 * p[0], a[1] - 256 * p[1]
    du, dv = b[0] - a[0], b[1] - a[1]
    times = {Fraction(0), Fraction(1)}
    for start, delta in ((u + v, du + dv), (u - v, du - dv), (u, du), (v, dv)):
        for side in (-128, 0, 128):
            if delta:
                times.add(Fraction(side - start, delta))
    ordered = sorted(t for t in times if 0 <= t <= 1)
    tries = ordered + [(s + t) / 2 for s, t in pairwise(ordered)]
    return any(in_diamond(u + t * du, v + t * dv, du, dv, legacy) for t in tries)


def in_diamond(u: Any, v: Any, du: int, dv: int, legacy: bool) -> bool:
    m = abs(u) + abs(v)
    if m != 128:
        return bool(m < 128)
    if (u, v) == (0, 128):
        return True
    if (u, v) == (128, 0):
        return dv != du if legacy else abs(dv) > abs(du)
    if (u, v) == (-128, 0):
        return legacy and dv == du
    if v > 0 and u < 0:
        return not legacy or dv == du
    if v > 0 and u > 0:
        return not legacy or dv == -du
    return False


sixteenth = st.integers(0, 16 * 6).map(lambda v: v * 16)


@settings(max_examples=150)
@given(st.tuples(sixteenth, sixteenth), st.tuples(sixteenth, sixteenth), st.booleans(), st.booleans())
def test_cosmetic_lines_follow_the_diamond_rules(a: tuple[int, int], b: tuple[int, int], legacy: bool,
                                                 last: bool) -> None:
    if a == b:
        return
    bench = Bench(width=8, height=8, sf=NO_BIAS | {"line_width": 0.0, "last_pixel_enable": last},
                  wm={"legacy_diamond_line_rasterization": legacy})
    du, dv = b[0] - a[0], b[1] - a[1]
    expected = {(x, y) for x in range(8) for y in range(8)
                if on_diamond((x, y), a, b, legacy)
                and (last or not in_diamond(b[0] - 256 * x, b[1] - 256 * y, du, dv, legacy))}
    assert bench.lit([(a[0] / 256, a[1] / 256), (b[0] / 256, b[1] / 256)], T.LINELIST) == expected


def test_a_cosmetic_line_leaves_its_last_pixel_out_unless_told() -> None:
    ends = [(2.5, 3.5), (8.5, 3.5)]
    assert line(0.0).lit(ends, T.LINELIST) == box(range(2, 8), range(3, 4))
    assert line(0.0, last_pixel_enable=True).lit(ends, T.LINELIST) == box(range(2, 9), range(3, 4))
    assert line(0.0).lit(ends[::-1], T.LINELIST) == box(range(3, 9), range(3, 4))


def test_the_last_pixel_of_a_strip_is_that_of_its_last_line() -> None:
    strip = [(2.5, 3.5), (8.5, 3.5), (8.5, 9.5)]
    bench = line(0.0, last_pixel_enable=True)
    assert bench.lit(strip, T.LINESTRIP) == box(range(2, 8), range(3, 4)) | box(range(8, 9), range(3, 10))


def test_antialiasing_is_ignored_at_width_0() -> None:
    assert line(0.0, **SMOOTH).lit([(2.5, 3.5), (8.5, 3.5)], T.LINELIST) == box(range(2, 8), range(3, 4))


# ---- antialiased lines ----

def smooth(gen: Gen = Gen.EL, *, width: float = 1.5, region: int = 0, cap: int = 1, true: bool = True,
           parameters: dict[str, float] | None = None) -> Bench:
    sf: dict[str, Any] = {"antialiasing_enable": True, "line_width": width,
                          "line_end_cap_antialiasing_region_width": cap}
    if gen & Gen.GEN45:
        sf["aa_line_distance_mode"] = true
    commands = {"3DSTATE_AA_LINE_PARAMETERS": parameters} if parameters else {}
    return Bench(gen, sf=sf, commands=commands, wm={"line_antialiasing_region_width": region,
                                                    "line_end_cap_antialiasing_region_width": cap})


@pytest.mark.parametrize(("y", "expected"), [(10.5, 255), (10.0, 255), (9.875, 128), (9.75, 0)])
def test_coverage_falls_off_within_the_region_at_the_side(y: float, expected: int) -> None:
    """Width 1.5, region 0.5; the samples of row 10 are at distance |y - 10.5|."""
    bench = smooth()
    bench.primitive([(5.5, y), (25.5, y)], T.LINELIST)
    assert bench.coverage()[10, 15] == expected


def test_coverage_falls_off_beyond_the_ends() -> None:
    """End cap 1.0, u = -0.25 on the axis."""
    bench = smooth()
    bench.primitive([(5.75, 10.5), (25.5, 10.5)], T.LINELIST)
    assert bench.coverage()[10, 5] == 191
    assert bench.coverage()[10, 6] == 255


def test_slopes_of_aa_line_parameters_replace_the_regions() -> None:
    """The values that the manual gives for its slopes: 148 and 54 (docs/decisions.md 47)."""
    parameters = {"aa_coverage_slope": 141 / 256, "aa_coverage_bias": 87 / 256,
                  "aa_coverage_endcap_slope": 255 / 256, "aa_coverage_endcap_bias": 0.0}
    bench = smooth(width=4.0, parameters=parameters)
    bench.primitive([(2.5, 20.5), (60.5, 20.5)], T.LINELIST)
    assert bench.coverage()[20, 30] == 148
    assert bench.coverage()[21, 30] == 54
    assert bench.coverage()[19, 30] == 54


def test_gen4_delivers_four_bits_of_coverage() -> None:
    bench = smooth(Gen.CL)
    bench.primitive([(5.5, 10.5), (25.5, 10.5)], T.LINELIST)
    assert bench.coverage().max() == 15


def test_the_manhattan_distance_of_a_diagonal_is_longer_than_the_true_one() -> None:
    near, far = smooth(width=3.0, region=2), smooth(width=3.0, region=2, true=False)
    for bench in (near, far):
        bench.primitive([(5.5, 5.5), (35.5, 35.5)], T.LINELIST)
    assert near.coverage()[20, 21] == round(255 * (1.5 - math.sqrt(.5)))  # region 2: side = hw - d
    assert far.coverage()[20, 21] == 128  # |dx| + |dy| = 1: side 0.5
    assert (far.coverage() <= near.coverage()).all()


def test_an_antialiased_line_ends_with_its_caps() -> None:
    bench = smooth(width=2.0, cap=2)
    bench.primitive([(20.5, 20.5), (30.5, 20.5)], T.LINELIST)
    columns = np.flatnonzero(bench.hits().any(axis=0))
    assert (columns.min(), columns.max()) == (18, 31)


# ---- stipples ----

def stippled(pattern: int, repeat: int, vertices: list[Point], topology: T = T.LINELIST, **fields: Any) -> set[int]:
    bench = Bench(sf=fields, wm={"line_stipple_enable": True}, commands={"3DSTATE_LINE_STIPPLE": {
        "line_stipple_pattern": pattern, "line_stipple_repeat_count": repeat}})
    return {x for x, _ in bench.lit(vertices, topology)}


ROW: list[Point] = [(.5, 2.5), (24.5, 2.5)]


@pytest.mark.parametrize(("pattern", "repeat", "expected"), [
    (0x00ff, 1, {*range(8), *range(16, 24)}), (0x00ff, 2, set(range(16))), (0x0001, 3, {0, 1, 2})])
def test_the_line_stipple_counts_pixels(pattern: int, repeat: int, expected: set[int]) -> None:
    assert stippled(pattern, repeat, ROW) == expected


def test_the_line_stipple_runs_from_the_first_vertex() -> None:
    assert stippled(0x00ff, 1, ROW[::-1]) == {*range(16, 24), *range(8)} - set(range(8)) | set(range(8))
    assert stippled(0x000f, 1, ROW[::-1]) == {*range(20, 24), *range(4, 8)}


def test_the_line_stipple_continues_along_a_strip_and_restarts_in_a_list() -> None:
    strip: list[Point] = [(.5, 2.5), (6.5, 2.5), (12.5, 2.5)]
    assert stippled(0x00ff, 1, strip, T.LINESTRIP) == set(range(8))
    pairs = [strip[0], strip[1], strip[1], strip[2]]
    assert stippled(0x000f, 1, pairs) == {*range(4), *range(6, 10)}


def test_a_segment_without_pixels_still_starts_the_stipple() -> None:
    strip: list[Point] = [(.5, 2.5), (.5, 2.5), (24.5, 2.5)]
    assert stippled(0x000f, 1, strip, T.LINESTRIP) == {*range(4), *range(16, 20)}


def test_pixels_outside_the_drawing_rectangle_count() -> None:
    assert stippled(0x00ff, 1, [(-7.5, 2.5), (24.5, 2.5)]) == set(range(8, 16))


def test_a_continued_strip_keeps_the_count_of_the_one_before() -> None:
    bench = Bench(wm={"line_stipple_enable": True}, commands={"3DSTATE_LINE_STIPPLE": {
        "line_stipple_pattern": 0x000f, "line_stipple_repeat_count": 1}})
    assert len(bench.lit([(.5, 2.5), (2.5, 2.5)], T.LINESTRIP)) == 2
    assert {x for x, _ in bench.lit([(2.5, 2.5), (20.5, 2.5)], T.LINESTRIP_CONT)} == {2, 3, 16, 17, 18, 19}
    assert {x for x, _ in bench.lit([(2.5, 2.5), (20.5, 2.5)], T.LINESTRIP)} == {*range(2, 6), 18, 19}


def test_cosmetic_lines_are_stippled_along_their_direction() -> None:
    assert stippled(0x000f, 1, ROW, line_width=0.0) == {*range(4), *range(16, 20)}
    assert stippled(0x000f, 1, ROW[::-1], line_width=0.0) == {*range(21, 25), *range(5, 9)}


SQUARE: list[Point] = [(0, 0), (128, 0), (0, 128)]


@pytest.mark.parametrize(("topology", "masked"), [
    (T.TRILIST, True), (T.TRISTRIP, True), (T.TRISTRIP_REVERSE, True), (T.TRIFAN, True), (T.POLYGON, True),
    (T.TRIFAN_NOSTIPPLE, False), (T.RECTLIST, False)])
def test_the_polygon_stipple_masks_triangles_only(topology: T, masked: bool) -> None:
    """Row 0 = 0x80000000 leaves the pixels with x = 0 mod 32 and y = 0 mod 32."""
    bench = Bench(wm={"polygon_stipple_enable": True}, poly_stipple=[0x80000000])
    vertices = [(64, 64), (0, 64), (0, 0)] if topology == T.RECTLIST else SQUARE
    lit = bench.lit(vertices, topology)
    assert lit == ({(x, y) for x in (0, 32) for y in (0, 32)} if masked else box(range(64), range(64)))


def test_the_polygon_stipple_offset_is_added() -> None:
    offset = {"polygon_stipple_x_offset": 3, "polygon_stipple_y_offset": 5}
    bench = Bench(wm={"polygon_stipple_enable": True}, poly_stipple=[0x80000000],
                  commands={"3DSTATE_POLY_STIPPLE_OFFSET": offset})
    assert bench.lit(SQUARE) == {(x, y) for x in (29, 61) for y in (27, 59)}
