"""Object setup: positions, culling, payloads, scissor."""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology as T
from tests.harness.setup import Bench, box

NAN, INF = float("nan"), float("inf")
CORNER = {"destination_origin_horizontal_bias": 0.0, "destination_origin_vertical_bias": 0.0}
LAST = {"triangle_strip_list_provoking_vertex_select": 2, "triangle_fan_provoking_vertex_select": 2,
        "line_strip_list_provoking_vertex_select": 1}
A, B, C, D = (0.0, 0.0), (4.0, 0.0), (0.0, 4.0), (4.0, 4.0)


def bench(gen: Gen = Gen.EL, **sf: Any) -> Bench:
    return Bench(gen, sf=CORNER | LAST | sf)


@pytest.mark.parametrize(("vertices", "topology", "object_", "order", "deltas", "det", "provoking"), [
    ([A, B, C], T.TRILIST, 0, (0, 1, 2), (4, 0, 0, 4), 16, 2),
    ([A, C, B], T.TRILIST, 0, (0, 1, 2), (0, 4, 4, 0), -16, 2),
    ([A, B, C, D], T.TRISTRIP, 1, (1, 3, 2), (0, 4, -4, 4), 16, 1),
    ([(8, 6), (2, 6), (2, 3)], T.RECTLIST, 0, (2, 0, 1), (6, 3, 0, 3), 18, 1),
    ([(5, 7), (2, 3)], T.LINELIST, 0, (1, 0), (3, 4, 0, 0), 25, 0),
])
def test_setup_of_the_digests_examples(vertices: list[tuple[float, float]], topology: T, object_: int,
                                       order: tuple[int, ...], deltas: tuple[float, ...], det: float,
                                       provoking: int) -> None:
    setup = bench().primitive(vertices, topology)[object_]
    assert setup is not None
    assert setup.vertices == order
    assert setup.deltas == deltas
    assert setup.r1["determinant"] == det
    assert setup.r1["provoking_vertex"] == provoking


def test_a_point_gives_the_corners_of_its_square_and_one_vertex() -> None:
    setup = bench(point_width=4.0, sprite_point_enable=True).one([(8, 8, .25, 2.0)], T.POINTLIST)
    assert setup.vertices == (0,)
    assert setup.deltas == (4, 4, 0, 4)
    assert setup.r1["determinant"] == 16
    assert setup.r1["provoking_vertex"] == 0
    assert setup.r1["sprite_point_enable"]
    assert setup.start == (6.0, 6.0)
    assert [setup.r2[f"{n}{i}"] for i in range(3) for n in ("z", "inverse_w")] == [.25, 2.0] * 3


def test_a_sprites_start_is_its_biased_corner() -> None:
    """s is (pixel - 5.5) / 4, so 0.125 at pixel 6 and 0.875 at pixel 9."""
    setup = Bench(sf={"point_width": 4.0}).one([(8, 8)], T.POINTLIST)
    assert setup.start == (5.5, 5.5)
    assert [(x - setup.start[0]) / setup.r1["dx0"] for x in (6, 9)] == [.125, .875]


def test_depths_and_w_follow_the_new_order() -> None:
    setup = bench().one([(0, 4, .1, 1.0), (0, 0, .2, 2.0), (4, 0, .3, 3.0)])
    f32 = [struct.unpack("<f", struct.pack("<f", z))[0] for z in (.2, .3, .1)]
    assert [setup.r2[f"z{i}"] for i in range(3)] == f32
    assert [setup.r2[f"inverse_w{i}"] for i in range(3)] == [2.0, 3.0, 1.0]


def test_a_line_has_no_third_vertex() -> None:
    setup = bench().one([(0, 0, .5, 2.0), (4, 0, .5, 2.0)], T.LINELIST)
    assert (setup.r2["z2"], setup.r2["inverse_w2"]) == (0.0, 0.0)
    assert (setup.r1["dx2"], setup.r1["dy2"]) == (0.0, 0.0)


def test_1_over_w_is_copied_bit_for_bit() -> None:
    denormal = struct.unpack("<f", struct.pack("<I", 0x80000001))[0]
    setup = bench().one([(0, 0, 0, denormal), (4, 0), (0, 4)])
    assert setup.view.r2[1] == 0x80000001


@pytest.mark.parametrize(("topology", "select", "expected"), [
    (T.TRILIST, {"triangle_strip_list_provoking_vertex_select": 1}, 1),
    (T.TRIFAN, {"triangle_fan_provoking_vertex_select": 1}, 1),
    (T.POLYGON, {"triangle_fan_provoking_vertex_select": 1}, 0),
])
def test_the_provoking_vertex_is_selected_by_kind(topology: T, select: dict[str, int], expected: int) -> None:
    assert Bench(sf=CORNER | LAST | select).one([A, B, C], topology).r1["provoking_vertex"] == expected


def test_lines_select_their_own_provoking_vertex() -> None:
    ends = [(1, 1), (4, 4)]
    assert bench(line_strip_list_provoking_vertex_select=1).one(ends, T.LINELIST).r1["provoking_vertex"] == 1
    assert bench(line_strip_list_provoking_vertex_select=0).one(ends, T.LINELIST).r1["provoking_vertex"] == 0


# ---- facing ----

CW, CCW = 0, 1


@pytest.mark.parametrize("winding", [CW, CCW])
def test_both_triangles_of_a_strip_face_the_same_way(winding: int) -> None:
    for setup in bench(front_winding=winding).primitive([A, B, C, D], T.TRISTRIP):
        assert setup is not None
        assert setup.r1["determinant"] > 0  # positive if clockwise, after the correction for strips
        assert setup.view.back_facing == (winding == CCW)
        assert setup.r1["back_facing"] == (winding == CCW)


def test_a_reversed_strip_starts_with_the_other_winding() -> None:
    first, second = bench(front_winding=CW).primitive([A, B, C, D], T.TRISTRIP_REVERSE)
    assert first is not None
    assert second is not None
    assert first.view.back_facing
    assert second.view.back_facing
    assert first.r1["determinant"] < 0


@pytest.mark.parametrize(("mode", "kept"), [("NONE", (True, True)), ("FRONT", (False, True)), ("BACK", (True, False)),
                                            ("BOTH", (False, False))])
def test_cull_modes_drop_triangles(mode: str, kept: tuple[bool, bool]) -> None:
    front, back = bench(cull_mode=mode).primitive([A, B, C, A, C, B])
    assert (front is not None, back is not None) == kept


def test_zeroed_state_culls_triangles_and_draws_rectangles() -> None:
    """Cull mode 0 is BOTH."""
    assert bench(cull_mode=0).primitive([A, B, C]) == [None]
    assert bench(cull_mode=0).lit([D, C, A], T.RECTLIST) == box(range(4), range(4))
    assert len(bench(cull_mode=0).lit([(0, 1), (4, 1)], T.LINELIST)) == 4
    assert len(bench(cull_mode=0).lit([(1, 1)], T.POINTLIST)) == 1


@pytest.mark.parametrize(("vertices", "topology", "back"), [
    ([A], T.POINTLIST, False), ([A], T.POINTLIST_BF, True), ([A, B], T.LINESTRIP, False),
    ([A, B], T.LINESTRIP_BF, True), ([A, B], T.LINESTRIP_CONT_BF, True), ([D, C, A], T.RECTLIST, False)])
def test_other_objects_face_as_their_topology_says(vertices: list[tuple[float, float]], topology: T,
                                                   back: bool) -> None:
    setup = bench().one(vertices, topology)
    assert setup.view.back_facing == back
    assert setup.r1["primitive_type"] == topology


# ---- culling ----

@pytest.mark.parametrize("component", range(4))
def test_a_nan_in_any_component_drops_the_object(component: int) -> None:
    bad = [1.0, 1.0, 0.0, 1.0]
    bad[component] = NAN
    assert bench().primitive([A, B, bad]) == [None]
    assert bench().primitive([A, bad], T.LINELIST) == [None]
    assert bench().primitive([bad], T.POINTLIST) == [None]


def test_a_nan_out_of_the_viewport_transform_drops_the_object() -> None:
    viewport = {"viewport_matrix_element_m00": 0.0, "viewport_matrix_element_m11": 1.0,
                "viewport_matrix_element_m22": 1.0}
    transformed = Bench(sf={"viewport_transform_enable": True}, viewports=[viewport])
    assert transformed.primitive([A, (INF, 0), C]) == [None]


@pytest.mark.parametrize(("vertices", "topology"), [
    ([A, (2, 0), B], T.TRILIST), ([A, A, B], T.TRILIST), ([A, (1 / 1024, 0), (0, 1 / 1024)], T.TRILIST),
    ([A, (1 / 1024, 0)], T.LINELIST), ([B, A, A], T.RECTLIST)])
def test_objects_without_area_on_the_grid_are_dropped(vertices: list[tuple[float, float]], topology: T) -> None:
    assert bench().primitive(vertices, topology) == [None]


def test_objects_beside_the_drawing_rectangle_leave_no_setup() -> None:
    assert bench().primitive([(100, 0), (120, 0), (100, 20)]) == [None]


# ---- coordinates ----

@pytest.mark.parametrize(("x", "q"), [(9000.0, 2097151), (-9000.0, -2097152), (INF, 2097151), (10.5 - 1 / 512, 2688),
                                      (1 / 512, 1), (-1 / 512, 0), (-3 / 512, -1)])
def test_positions_round_half_up_and_clamp(x: float, q: int) -> None:
    setups = Bench(sf=CORNER, width=8192, height=8192).primitive([(x, 0), (100, 50), (200, 20)])
    assert setups[0] is not None
    assert q in list(setups[0].view.x)[:3]


@settings(max_examples=200)
@given(st.floats(-8300, 8300, width=32), st.sampled_from([0, 1]))
def test_any_float_is_the_nearest_position_ties_up(x: float, bits: int) -> None:
    """Decision 7, in exact fractions; whole vertices share groups of four with others."""
    scale = (256, 16)[bits]
    expected = math.floor(Fraction(x) * scale + Fraction(1, 2))
    expected = max(-8192 * scale, min(8192 * scale - 1, expected)) * (256 // scale)
    setups = Bench(sf=CORNER | {"vertex_sub_pixel_precision_select": bits}, width=8192, height=8192).primitive(
        [(0, 3), (9, 50), (200, 20), (x, 0), (100, 50), (200, 20)])
    assert setups[1] is None or expected in list(setups[1].view.x)[:3]
    assert setups[0] is not None
    assert sorted(list(setups[0].view.x)[:3]) == [0, 9 * 256, 200 * 256]


def test_four_bits_of_position_are_kept_as_multiples_of_16() -> None:
    setup = bench(vertex_sub_pixel_precision_select=1).one([(9000, 0), (-9000, 10), (1 / 32, 60)])
    assert sorted(list(setup.view.x)[:3]) == [-131072 * 16, 16, 131071 * 16]


def test_the_viewport_multiplies_then_adds() -> None:
    """A window of 256x256."""
    viewport = {"viewport_matrix_element_m00": 128.0, "viewport_matrix_element_m30": 128.0,
                "viewport_matrix_element_m11": -128.0, "viewport_matrix_element_m31": 128.0,
                "viewport_matrix_element_m22": .5, "viewport_matrix_element_m32": .5}
    window = Bench(width=256, height=256, sf={"viewport_transform_enable": True}, viewports=[viewport])
    setup = window.one([(0, 0, 0), (1, -1, 1), (-1, -1, -1)])
    assert sorted(zip(list(setup.view.x)[:3], list(setup.view.y)[:3], strict=True)) == [
        (-128, 65408), (32640, 32640), (65408, 65408)]
    assert {setup.r2[f"z{i}"] for i in range(3)} == {.5, 1.0, 0.0}


def test_each_object_takes_the_viewport_and_slice_of_its_leading_vertex() -> None:
    scale = [{"viewport_matrix_element_m00": s, "viewport_matrix_element_m11": s} for s in (1.0, 2.0)]
    two = Bench(sf=CORNER | {"viewport_transform_enable": True}, viewports=scale)
    first, second = two.primitive([A, B, C, D], T.TRISTRIP, viewport=[0, 1, 1, 1], array_index=[3, 5, 0, 0])
    assert first is not None
    assert second is not None
    assert (first.view.viewport, first.view.array_index, max(first.view.x)) == (0, 3, 4 * 256)
    assert (second.view.viewport, second.view.array_index, max(second.view.x)) == (1, 5, 8 * 256)


def test_the_origin_moves_vertices_and_scissor() -> None:
    """Origin (10, 20), scissor 0 to 4."""
    rectangle = {"clipped_drawing_rectangle_x_max": 63, "clipped_drawing_rectangle_y_max": 63,
                 "drawing_rectangle_origin_x": 10, "drawing_rectangle_origin_y": 20}
    scissor = {"scissor_rectangle_x_max": 4, "scissor_rectangle_y_max": 4}
    moved = Bench(sf={"scissor_rectangle_enable": True}, viewports=[scissor],
                  commands={"3DSTATE_DRAWING_RECTANGLE": rectangle})
    assert moved.lit([(0, 0), (8, 0), (8, 8), (8, 8), (0, 8), (0, 0)]) == box(range(10, 15), range(20, 25))


def test_a_negative_origin_is_sign_extended() -> None:
    rectangle = {"clipped_drawing_rectangle_x_max": 63, "clipped_drawing_rectangle_y_max": 63,
                 "drawing_rectangle_origin_x": -4, "drawing_rectangle_origin_y": -8192}
    moved = Bench(sf=CORNER, commands={"3DSTATE_DRAWING_RECTANGLE": rectangle})
    assert moved.lit([(8, 8194), (4, 8194), (4, 8192)], T.RECTLIST) == box(range(4), range(2))


@pytest.mark.parametrize("scissor", [{"scissor_rectangle_x_min": 5, "scissor_rectangle_x_max": 4},
                                     {"scissor_rectangle_y_min": 1}])
def test_an_inverted_scissor_draws_nothing(scissor: dict[str, int]) -> None:
    cut = Bench(sf={"scissor_rectangle_enable": True}, viewports=[scissor])
    assert cut.lit([(0, 0), (8, 0), (0, 8)]) == set()


def test_the_drawing_rectangle_is_inclusive_and_empty_when_inverted() -> None:
    def lit(x_min: int, x_max: int) -> set[tuple[int, int]]:
        rectangle = {"clipped_drawing_rectangle_x_min": x_min, "clipped_drawing_rectangle_x_max": x_max,
                     "clipped_drawing_rectangle_y_max": 3}
        return Bench(sf=CORNER, commands={"3DSTATE_DRAWING_RECTANGLE": rectangle}).lit(
            [(32, 32), (0, 32), (0, 0)], T.RECTLIST)
    assert lit(2, 5) == box(range(2, 6), range(4))
    assert lit(5, 4) == set()


def test_the_scissor_is_that_of_the_objects_viewport() -> None:
    boxes = [{"scissor_rectangle_x_max": 1, "scissor_rectangle_y_max": 1},
             {"scissor_rectangle_x_max": 3, "scissor_rectangle_y_max": 0}]
    cut = Bench(sf={"scissor_rectangle_enable": True}, viewports=boxes)
    corners = [(32, 32), (0, 32), (0, 0)]
    assert cut.lit(corners, T.RECTLIST, viewport=[0, 0, 0]) == box(range(2), range(2))
    assert cut.lit(corners, T.RECTLIST, viewport=[1, 0, 0]) == box(range(4), range(1))


def test_the_determinant_of_large_triangles_is_rounded_once() -> None:
    setup = Bench(sf=CORNER, width=8192, height=8192).one([(0, 0), (8191 + 255 / 256, 1 / 256), (1 / 256, 8191.5)])
    exact = (2097151 * 2097024 - 1) / 65536
    assert setup.r1["determinant"] == struct.unpack("<f", struct.pack("<f", exact))[0]
