"""Draws of Kaby Lake without shaders, which write depth: clipper, setup and windower by what their commands select."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gen4emu.hw.catalogue import block_named
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen6.messages import RenderTargetWriteTypeGen6
from gen4emu.hw.gen9.messages import RenderCacheTypeGen9
from gen4emu.hw.topology import PrimitiveTopology as Topology
from gen4emu.isa.assembler import assemble
from tests.harness.commands import command
from tests.harness.depth_only import DYNAMIC, SHIFT, SIDE, DepthOnly, corners
from tests.harness.messages import descriptor

LINE = [(2.5, 5.5), (6.5, 5.5)]
FORCE_OFF, FORCE_ON = 2, 3
WHOLE = corners(0, 0, SIDE, SIDE)
WHOLE_PIXELS = {(x, y) for x in range(SIDE) for y in range(SIDE)}
KERNEL = 0x70000


def pixels(x1: int, y1: int, x2: int, y2: int) -> set[tuple[int, int]]:
    return {(x, y) for x in range(x1, x2) for y in range(y1, y2)}


def test_a_rectangle_covers_its_pixels() -> None:
    assert DepthOnly().draw(corners(3, 4, 9, 11)) == pixels(3, 4, 9, 11)


@pytest.mark.parametrize("test_xy", [False, True])
def test_viewport_extents_cut_lines_and_points_whether_vertices_are_tested_or_not(test_xy: bool) -> None:
    """Iris turns the test off for both, and leaves the drawing rectangle as large as it can be."""
    machine, state = with_extents({"x_min_viewport": 4.0, "x_max_viewport": 6.0, "y_min_viewport": 5.0,
                                   "y_max_viewport": 8.0}, test_xy)
    line = [(-1.25, -0.65625), (1.25, -0.65625)]  # in row 5, from beyond the left to beyond the right
    assert machine.draw(line, Topology.LINELIST, **state) == pixels(4, 5, 7, 6)
    points = [((x + 0.5) / 16 - 1, (y + 0.5) / 16 - 1) for x, y in ((3, 6), (4, 6), (6, 8), (7, 8), (6, 9))]
    assert machine.draw(points, Topology.POINTLIST, **state) == {(4, 6), (6, 8)}


def with_extents(extents: dict[str, float], test_xy: bool = False) -> tuple[DepthOnly, dict[str, dict[str, Any]]]:
    """A machine whose viewport takes -1 to 1 to the whole target, and the state to draw with it."""
    machine = DepthOnly()
    guardband = {f"{axis}_{end}_clip_guardband": value for axis in "xy" for end, value in (("min", -4.0), ("max", 4.0))}
    machine.device.memory.write(DYNAMIC, block_named("SF_CLIP_VIEWPORT", machine.gen).build(
        machine.gen, viewport_matrix_element_m00=16.0, viewport_matrix_element_m11=16.0,
        viewport_matrix_element_m22=1.0, viewport_matrix_element_m30=16.0, viewport_matrix_element_m31=16.0,
        **guardband, **extents))
    state = {"clip": {"clip_enable": True, "guardband_clip_test_enable": True, "viewport_xy_clip_test_enable": test_xy},
             "sf": {"viewport_transform_enable": True, "point_width_source": 1, "point_width": 1.0}}
    return machine, state


@pytest.mark.parametrize("limit", [f"{axis}_{end}_viewport" for axis in "xy" for end in ("min", "max")])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_viewport_extent_that_is_not_a_number_is_the_least_one(limit: str, sign: float) -> None:
    whole = {"x_min_viewport": 0.0, "x_max_viewport": SIDE - 1.0, "y_min_viewport": 0.0, "y_max_viewport": SIDE - 1.0}
    machine, state = with_extents(whole | {limit: math.copysign(math.nan, sign)})
    triangle = [(-1.0, -1.0), (3.0, -1.0), (-1.0, 3.0)]
    assert machine.draw(triangle, Topology.TRILIST, **state) == (WHOLE_PIXELS if "_min_" in limit else set())


@pytest.mark.parametrize(("left", "right", "expected"), [(5, 5, pixels(5, 5, 6, 6)), (6, 5, set())])
def test_the_drawing_rectangle_keeps_one_pixel_or_none(left: int, right: int, expected: set[tuple[int, int]]) -> None:
    rectangle = {f"clipped_drawing_rectangle_{axis}_{end}": value for axis in "xy" for end, value in (
        ("min", left), ("max", right))}
    assert DepthOnly().draw(WHOLE, drawing_rectangle=rectangle) == expected


def test_conservative_triangles_cover_every_pixel_that_they_touch() -> None:
    """From the middle of pixel (3, 4) to just inside of pixels 8 and 9."""
    triangle = [(3.625, 4.625), (9.125, 4.625), (3.625, 8.125)]
    found = {on: DepthOnly().draw(triangle, Topology.TRILIST, raster={"conservative_rasterization_enable": on})
             for on in (False, True)}
    assert found[False] == {(x, y) for x, y in pixels(4, 5, 9, 8)
                            if 7 * (x + 0.5 - 3.625) + 11 * (y + 0.5 - 4.625) < 38.5}
    assert found[True] == {(x, y) for x, y in pixels(3, 4, 10, 9)
                           if 7 * (max(x, 3.625) - 3.625) + 11 * (max(y, 4.625) - 4.625) < 38.5}
    assert len(found[True]) > len(found[False]) > 5


@pytest.mark.parametrize("buffer", [False, True])
@pytest.mark.parametrize("test", [False, True])
def test_depth_is_written_if_buffer_and_test_enable_it(buffer: bool, test: bool) -> None:
    found = DepthOnly().draw(corners(0, 0, 2, 2), depth_buffer={"depth_write_enable": buffer},
                             wm_depth_stencil={"depth_buffer_write_enable": test})
    assert found == (pixels(0, 0, 2, 2) if buffer and test else set())


@pytest.mark.parametrize(("index", "most", "shift"), [(0, 1, 0), (1, 1, SHIFT), (2, 1, 0), (1, 0, 0)])
def test_a_viewport_index_above_the_maximum_is_viewport_0(index: int, most: int, shift: int) -> None:
    found = DepthOnly().draw(corners(0, 0, 4, 4), header=(0, 0, index, 0), clip={"maximum_vp_index": most},
                             sf={"viewport_transform_enable": True})
    assert found == pixels(shift, 0, shift + 4, 4)


@pytest.mark.parametrize("forced", [False, True])
def test_the_array_index_may_be_forced_to_0(forced: bool) -> None:
    machine = DepthOnly()
    for slice in (0, 1):
        found = machine.draw(corners(0, 0, 2, 2), header=(0, 1, 0, 0), slice=slice,
                             clip={"force_zero_rta_index_enable": forced})
        assert found == (pixels(0, 0, 2, 2) if slice != forced else set())


@pytest.mark.parametrize("in_clip", [0, 1])
@pytest.mark.parametrize("in_shader", [0, 1])
@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("kind", ["clip", "cull"])
def test_distances_are_those_of_the_last_stage_unless_forced(kind: str, in_clip: int, in_shader: int,
                                                             forced: bool) -> None:
    mask = f"user_clip_distance_{kind}_test_enable_bitmask"
    machine = DepthOnly()
    machine.run(command("3DSTATE_VS", machine.gen, **{mask: in_shader}))
    found = machine.draw([(0, 0), (4, 0), (0, 4)], Topology.TRILIST, distances=[-1.0] * 3,
                         clip={"clip_enable": True, mask: in_clip, f"force_{mask}": forced})
    tested = in_clip if forced else in_shader
    assert bool(found) == (not tested)


@pytest.mark.parametrize(("topology", "vertices", "without", "with_last"), [
    (Topology.LINELIST, LINE, {2, 3, 4, 5}, {2, 3, 4, 5, 6}),
    (Topology.LINESTRIP, [*LINE, (10.5, 5.5)], {2, 3, 4, 5, 6, 7, 8, 9}, {2, 3, 4, 5, 6, 7, 8, 9, 10})])
def test_the_last_pixel_of_lines(topology: Topology, vertices: list[tuple[float, float]], without: set[int],
                                 with_last: set[int]) -> None:
    for enabled, expected in ((False, without), (True, with_last)):
        found = DepthOnly().draw(vertices, topology, sf={"last_pixel_enable": enabled})
        assert found == {(x, 5) for x in expected}


@pytest.mark.parametrize(("fields", "rendered"), [
    ({}, True), ({"api_rendering_disable": True}, False), ({"force_rendering": FORCE_OFF}, False),
    ({"api_rendering_disable": True, "force_rendering": FORCE_ON}, True),
    ({"render_stream_select": 1}, True), ({"render_stream_select": 1, "so_function_enable": True}, False)])
def test_rendering_may_be_disabled_or_forced(fields: dict[str, Any], rendered: bool) -> None:
    """The stream that is rendered is selected only with the function enabled."""
    assert bool(DepthOnly().draw(corners(0, 0, 2, 2), streamout=fields)) == rendered


def test_a_stipple_starts_with_bit_0_and_advances_after_its_repeat_count() -> None:
    machine = DepthOnly()
    machine.run(command("3DSTATE_LINE_STIPPLE", machine.gen, line_stipple_pattern=0b0101, line_stipple_repeat_count=2,
                        line_stipple_inverse_repeat_count=0.5, modify_enable=True),
                command("3DSTATE_WM", machine.gen, line_stipple_enable=True))
    found = machine.draw([(0.5, 5.5), (12.5, 5.5)], Topology.LINELIST)
    assert {x for x, _ in found} == {0, 1, 4, 5}


def test_blend_entries_of_targets_not_in_use_need_no_memory() -> None:
    machine = DepthOnly()
    machine.device.memory.write(DYNAMIC + 0xFC0, bytes(64))  # the last of the page: seven entries and a half
    pointers = {"blend_state_pointer": 0xFC0, "blend_state_pointer_valid": True}
    assert machine.draw(WHOLE, blend_state_pointers=pointers)
    assert machine.device.faults.counts == {}


# A pixel shader that kills all its pixels: no channel takes part in its write.
_WRITE = descriptor("RENDER_CACHE_DATA_PORT_MESSAGE", Gen.KBL, length=4, end_of_thread=True,
                    message_type=RenderCacheTypeGen9.RENDER_TARGET_WRITE, last_render_target_select=True,
                    render_target_write_type=RenderTargetWriteTypeGen6.SIMD8)
_KILLER = f"""cmp.nz.f0.0(8) null<1>UD g0<0,1,0>UD g0<0,1,0>UD {{ align1 1Q }};
(+f0.0) sendc(8) null<1>UW g124<8,8,1>UD 0x{_WRITE:08x} render {{ align1 1Q EOT }};"""


@pytest.mark.parametrize(("kills", "forced", "expected"), [
    (False, False, WHOLE_PIXELS),  # the shader does not run: nothing says that it has an effect
    (True, False, set()),  # depth is written after the shader
    (False, True, WHOLE_PIXELS),  # and else before
    (True, True, set())])
def test_chroma_keys_that_kill_pixels_make_depth_wait_for_the_shader(kills: bool, forced: bool,
                                                                     expected: set[tuple[int, int]]) -> None:
    machine = DepthOnly()
    machine.device.memory.write(KERNEL, assemble(_KILLER, machine.gen))
    machine.run(
        command("3DSTATE_PS", machine.gen, kernel_start_pointer_0=KERNEL, dispatch_8_pixel_enable=True),
        command("3DSTATE_PS_EXTRA", machine.gen, pixel_shader_valid=True),
        command("3DSTATE_WM", machine.gen, force_thread_dispatch_enable=FORCE_ON if forced else 0),
        command("3DSTATE_WM_CHROMAKEY", machine.gen, chromakey_kill_enable=kills))
    assert machine.draw(WHOLE) == expected
