"""Scenes at the limits of what commands can say: sizes, counts, positions, addresses."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest

from gen4emu.device.events import BlitHang
from gen4emu.device.memory import FaultKind
from gen4emu.device.options import Options
from gen4emu.device.tiling import Tiling
from gen4emu.hw.catalogue import command_named
from gen4emu.hw.formats import SurfaceFormat
from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology as T
from gen4emu.isa import assemble
from tests.harness.messages import NO_VERTEX
from tests.harness.peak_memory import number_from_child, peak_bytes
from tests.harness.scene import KERNELS, TARGET, VERTICES, Scene, vertex

R8 = SurfaceFormat.R8_UNORM
WHITE = 0xFFFFFFFF
GENS = [Gen.CL, Gen.CTG]
INF, NAN = math.inf, math.nan


# --- large targets ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("gen", GENS)
@pytest.mark.parametrize("tiling", [t for t in Tiling if t is not Tiling.W])
@pytest.mark.parametrize("size", [4096, 8192])
def test_the_far_corner_of_a_large_target_is_drawn(gen: Gen, size: int, tiling: Tiling) -> None:
    scene = Scene(gen, size, size, tiling=tiling)
    far = size - 1
    scene.draw([vertex(far - 1, far - 1), vertex(far + 1, far - 1), vertex(far - 1, far + 1)])
    # the triangle's hypotenuse runs through the sample points of the other diagonal, whose right edge excludes them
    assert [scene.pixel(x, y) for x, y in ((far - 1, far - 1), (far, far - 1), (far - 1, far), (far, far))] == [
        WHITE, 0, 0, 0]
    scene.draw([vertex(far - 1, far - 1), vertex(far - 1, far + 1), vertex(far + 1, far + 1)], T.RECTLIST)
    assert [scene.pixel(x, y) for x, y in ((far, far - 1), (far - 1, far), (far, far), (far - 2, far))] == [
        WHITE, WHITE, WHITE, 0]


@pytest.mark.parametrize("gen", GENS)
def test_a_line_across_the_largest_target_lights_its_diagonal(gen: Gen) -> None:
    scene = Scene(gen, 8192, 8192, format=R8, tiling=Tiling.Y, sf={"line_width": 1.0})
    scene.draw([vertex(0.5, 0.5), vertex(8191.5, 8191.5)], T.LINELIST)
    assert all(scene.pixel(i, i) == 0xFF for i in range(0, 8191, 13))
    assert scene.pixel(8190, 8190) == 0xFF and scene.pixel(4097, 4096) == 0
    assert scene.device.counts()["tiles"] >= 256


def test_a_row_across_the_largest_target_has_no_gaps() -> None:
    scene = Scene(Gen.CTG, 8192, 8192, format=R8)
    scene.draw([vertex(0, 8191), vertex(0, 8192), vertex(8192, 8192)], T.RECTLIST)
    assert scene.peek(TARGET + 8191 * scene.pitch, 8192) == b"\xff" * 8192
    assert scene.peek(TARGET + 8190 * scene.pitch, 8192) == bytes(8192)


def test_a_triangle_over_a_large_target_has_its_area() -> None:
    scene = Scene(Gen.CTG, 4096, 4096, format=R8, wm={"statistics_enable": True})
    scene.draw([vertex(0, 0), vertex(1024, 4096), vertex(0, 4096)])
    assert abs(scene.device.streamers[scene.device.engine].read_counter(8) - 1024 * 4096 // 2) < 4096


def test_colors_are_right_at_both_ends_of_the_largest_triangle() -> None:
    scene = Scene(Gen.CTG, 8192, 64)
    scene.draw([vertex(0, 0, color=(0, 0, 0, 1)), vertex(8192, 0, color=(1, 0, 0, 1)),
                vertex(0, 64, color=(0, 0, 0, 1))])
    assert scene.pixel(0, 0) >> 16 & 0xFF == 0
    assert scene.pixel(4096, 16) >> 16 & 0xFF == 128
    assert scene.pixel(8100, 0) >> 16 & 0xFF == round(8100.5 / 8192 * 255)


# --- many -------------------------------------------------------------------------------------------------------------
def test_ten_thousand_draws_in_a_batch() -> None:
    scene = Scene(Gen.CTG, 100, 100)
    points = [vertex(x + 0.5, y + 0.5) for y in range(100) for x in range(100)]
    batch = scene.prepare(points)
    started = time.monotonic()
    scene.run(batch + b"".join(scene.primitive(T.POINTLIST, 1, start_vertex_location=i) for i in range(len(points))))
    assert time.monotonic() - started < 30
    assert scene.device.counts()["draws"] == 10000
    assert len(scene.lit()) == 10000


def zigzag(count: int, width: int = 128) -> list[tuple[float, ...]]:
    """A strip that fills rows of four pixels one below the other."""
    corners = []
    for i in range(count):
        row, at = divmod(i // 2, width)
        corners.append(vertex(float(at if row % 2 == 0 else width - 1 - at), 4.0 * row + 3.0 * (i % 2),
                              color=((i % 7) / 7, 0, 0, 1)))
    return corners


@pytest.mark.parametrize(("workers", "gen"), [(1, Gen.CTG), (2, Gen.CTG), (1, Gen.CL)])
def test_a_strip_of_8194_vertices_draws_8192_triangles(workers: int, gen: Gen) -> None:
    corners = zigzag(8194)
    strip = Scene(gen, 128, 136, options=Options(workers=workers))
    strip.draw(corners, T.TRISTRIP)
    listed = Scene(gen, 128, 136)
    order = [j for i in range(8192) for j in ((i, i + 1, i + 2) if i % 2 == 0 else (i + 1, i, i + 2))]
    listed.draw(corners, T.TRILIST, indices=order)
    assert len(strip.lit()) > 10000
    assert strip.pixels() == listed.pixels()
    assert strip.device.counts()["objects"] == 8192


def test_a_fan_of_8193_vertices() -> None:
    scene = Scene(Gen.CTG, 64, 64)
    rim = [vertex(32 + 60 * math.cos(i * math.tau / 8191), 32 + 60 * math.sin(i * math.tau / 8191))
           for i in range(8192)]
    scene.draw([vertex(32, 32), *rim], T.TRIFAN)
    assert scene.device.counts()["objects"] == 8191
    assert len(scene.lit()) == 64 * 64


@pytest.mark.parametrize("topology", [T.LINESTRIP, T.POINTLIST])
def test_more_vertices_than_sixteen_bits_can_count(topology: T) -> None:
    scene = Scene(Gen.CTG, 256, 256)
    snake = [(x if y % 2 == 0 else 255 - x, y) for y in range(256) for x in range(256)]
    scene.draw([vertex(0.5, 0.5), *(vertex(x + 0.5, y + 0.5) for x, y in snake), vertex(250.5, 255.5)], topology)
    assert scene.device.counts()["vertices"] == 65538
    turns = {(255, y) for y in range(1, 256, 2)}  # a line from right to left does not light where it starts
    assert len(scene.lit()) == 65536 - (len(turns) if topology is T.LINESTRIP else 0)


def draw_lines_across_all_tiles() -> None:
    """Another diagonal first, then 800 times the same; the last one has another color.  Prints bytes for the draw."""
    scene = Scene(Gen.CTG, 8192, 8192, format=R8, options=Options(workers=2), sf={"line_width": 1.0})
    colors = [0.25] * 799 + [0.5]
    batch = scene.prepare([vertex(8191.5, 0.5), vertex(0.5, 8191.5), *(
        vertex(x, x, color=(red, 0, 0, 1)) for red in colors for x in (0.5, 8191.5))])
    before = peak_bytes()
    scene.run(batch + scene.primitive(T.LINELIST, 2 * (1 + len(colors))))
    more = peak_bytes() - before
    assert [scene.pixel(i, 8191 - i) for i in (0, 77, 4000, 8190)] == [0xFF] * 4
    assert [scene.pixel(i, i) for i in (0, 77, 4000, 8190)] == [128] * 4
    assert scene.device.counts()["tiles"] == 256 * 256
    print(more)


def test_a_draw_of_many_large_objects_needs_little_memory() -> None:
    """Lists of the objects in each tile would have 52 million entries of 9 bytes."""
    code = f"from {__name__} import draw_lines_across_all_tiles as run; run()"
    assert number_from_child(code) < 250 << 20


def test_the_watchdog_stops_endless_instances() -> None:
    scene = Scene(Gen.CTG, 16, 16, options=Options(workers=1, watchdog=1))
    batch = scene.prepare([vertex(1.5, 1.5)])
    started = time.monotonic()
    with pytest.raises(Exception, match="threads do not end"):
        scene.run(batch + scene.primitive(T.POINTLIST, 0xFFFFFFFE, instance_count=0xFFFFFFFF))
    assert time.monotonic() - started < 20


# --- small, empty and invalid targets ---------------------------------------------------------------------------------
@pytest.mark.parametrize("gen", GENS)
@pytest.mark.parametrize("tiling", [Tiling.LINEAR, Tiling.X, Tiling.Y])
def test_a_target_of_one_pixel_receives_only_that_pixel(gen: Gen, tiling: Tiling) -> None:
    scene = Scene(gen, 1, 1, tiling=tiling, rectangle={"clipped_drawing_rectangle_x_max": 99,
                                                        "clipped_drawing_rectangle_y_max": 99})
    scene.draw([vertex(-50, -50), vertex(200, -50), vertex(-50, 200)])
    assert scene.pixel(0, 0) == WHITE
    assert scene.peek(TARGET + 4, 0x1000) == bytes(0x1000)


def everything(scene: Scene) -> bytes:
    """The target and the page behind it."""
    return scene.peek(TARGET, scene.pitch * scene.height + 0x1000)


BIG = [vertex(-50, -50), vertex(200, -50), vertex(-50, 200)]


@pytest.mark.parametrize("blocks", [
    {"rectangle": {"clipped_drawing_rectangle_x_min": 5, "clipped_drawing_rectangle_x_max": 4}},
    {"rectangle": {"clipped_drawing_rectangle_y_min": 9, "clipped_drawing_rectangle_y_max": 0}},
    {"surface": {"surface_type": "SURFTYPE_NULL"}},
    {"sf": {"viewport_transform_enable": True}},  # all scales are 0: the viewport is a point
    {"sf": {"viewport_transform_enable": True}, "sf_viewport": {"viewport_matrix_element_m11": 1.0}},
], ids=["no width", "no height", "null", "viewport without area", "viewport without width"])
def test_null_targets_and_empty_rectangles_draw_nothing(blocks: dict[str, dict[str, Any]]) -> None:
    scene = Scene(Gen.CTG, 16, 16, **blocks)
    scene.draw(BIG)
    assert everything(scene) == bytes(len(everything(scene)))


@pytest.mark.parametrize("gen", GENS)
@pytest.mark.parametrize("surface", [
    {"surface_type": "SURFTYPE_BUFFER"}, {"surface_type": 6}, {"surface_format": SurfaceFormat.BC1_UNORM},
    {"surface_format": 0x1FF}, {"surface_pitch": 1}, {"surface_pitch": 4}, {"mip_count_or_lod": 14},
    {"minimum_array_element": 400}, {"surface_base_address": 0xFFFFF000}, {"surface_base_address": 0x1FFFF003},
], ids=str)
def test_invalid_targets_leave_other_memory_alone(gen: Gen, surface: dict[str, Any]) -> None:
    scene = Scene(gen, 16, 16, surface=surface)
    before = scene.peek(VERTICES, 0x1000)
    scene.draw(BIG)
    assert scene.peek(VERTICES + 144, 0x1000 - 144) == before[144:]
    assert scene.peek(TARGET + 0x100000, 0x1000) == bytes(0x1000)


# A clip thread that gives its handle back: no vertices.
GIVE_BACK = f"""
mov(8) m0<1>UD g0<8,8,1>UD {{ align1 nomask }};
mov(8) m1<1>UD g1<8,8,1>UD {{ align1 nomask }};
send(8) 0 null<1>UD null<8,8,1>UD {NO_VERTEX} urb {{ align1 nomask EOT }};
"""


# --- positions --------------------------------------------------------------------------------------------------------
OBJECTS = {
    T.TRILIST: [(2, 2), (13, 3), (4, 12)], T.LINELIST: [(2, 2), (13, 9)], T.POINTLIST: [(7, 8)],
    T.RECTLIST: [(2, 2), (2, 12), (13, 12)], T.TRISTRIP: [(2, 2), (13, 3), (4, 12), (14, 14)],
    T.LINESTRIP: [(2, 2), (13, 9), (3, 14)], T.TRIFAN: [(2, 2), (13, 3), (14, 14), (4, 12)],
}


def strange(topology: T, which: int, component: int, value: float, **blocks: Any) -> Scene:
    """An object of which one component of one vertex is not what it was."""
    scene = Scene(Gen.CTG, 16, 16, **blocks)
    corners = [list(vertex(x, y, 0.5)) for x, y in OBJECTS[topology]]
    corners[which % len(corners)][component] = value
    scene.draw(corners, topology)
    return scene


@pytest.mark.parametrize("topology", list(OBJECTS))
@pytest.mark.parametrize("component", range(4))
@pytest.mark.parametrize("which", [0, 1, 2])
def test_an_object_with_a_nan_is_dropped_alone(topology: T, component: int, which: int) -> None:
    lit = strange(topology, which, component, NAN).lit()
    if topology in (T.TRISTRIP, T.TRIFAN) or (topology is T.LINESTRIP and which != 1):
        scene = Scene(Gen.CTG, 16, 16)
        whole = [[vertex(x, y, 0.5) for x, y in OBJECTS[topology]]]
        scene.draw(whole[0], topology)
        assert lit < scene.lit()
    else:
        assert lit == set()


@pytest.mark.parametrize("topology", [T.TRILIST, T.LINELIST, T.POINTLIST, T.RECTLIST])
@pytest.mark.parametrize(("value", "like"), [(INF, 8191.99609375), (-INF, -8192.0), (3e38, 8191.99609375),
                                             (-1e30, -8192.0), (1e-40, 0.0), (-1e-44, 0.0)])
@pytest.mark.parametrize("component", [0, 1])
def test_huge_positions_end_at_the_guardband_and_tiny_ones_at_zero(topology: T, component: int, value: float,
                                                                   like: float) -> None:
    assert strange(topology, 0, component, value).pixels() == strange(topology, 0, component, like).pixels()


@pytest.mark.parametrize("value", [0.0, -1.0, INF, -INF, 1e38, 1e-45])
@pytest.mark.parametrize("topology", list(OBJECTS))
def test_without_clipping_w_does_not_affect_pixels(topology: T, value: float) -> None:
    plain = strange(topology, 0, 3, 1.0)
    assert strange(topology, 0, 3, value).lit() == plain.lit() != set()


@pytest.mark.parametrize("value", [INF, -INF, 1e38, -1e38, 1e-45])
@pytest.mark.parametrize("topology", [T.TRILIST, T.LINELIST, T.POINTLIST])
def test_out_of_range_depths_are_clamped_to_the_viewport(topology: T, value: float) -> None:
    depth = {"depth_format": 1, "cc": {"depth_test_enable": True, "depth_test_function": 0,
                                       "depth_buffer_write_enable": True}}
    scene = strange(topology, 0, 2, value, **depth)
    depths = {word for row in scene.depths() for word in row}
    assert all(word <= 0x3F800000 for word in depths)
    assert scene.lit()


@pytest.mark.parametrize("gen", GENS)
@pytest.mark.parametrize("mode", ["NORMAL", "REJECT_ALL", "ACCEPT_ALL", "NON_REJECTED"])
def test_the_clipper_survives_every_special_number(gen: Gen, mode: str) -> None:
    scene = Scene(gen, 16, 16, clip={
        "clip_mode": mode, "viewport_z_clip_test_enable": True, "viewport_xy_clip_test_enable": True,
        "vertex_position_space": "NDC", "guardband_clip_test_enable": True,
        "maximum_number_of_threads": 1, "number_of_urb_entries": 5, "urb_entry_allocation_size": 2},
        sf={"viewport_transform_enable": True},
        sf_viewport={f"viewport_matrix_element_m{i}": 8.0 for i in ("00", "11", "30", "31")})
    scene.blocks["clip"]["kernel_start_pointer"] = KERNELS + 0x2000
    scene.memory.write(KERNELS + 0x2000, assemble(GIVE_BACK, gen))
    special = [0.0, -0.0, 0.5, -1.0, 1.0, 2.0, INF, -INF, NAN, 3e38, 1e-40]
    corners = [vertex(x, y, z, w) for x in special for y in (0.25, -INF, NAN) for z in (0.5, INF, NAN)
               for w in (1.0, -1.0, 0.0, INF, NAN)]
    for topology in (T.TRISTRIP, T.LINESTRIP, T.POINTLIST, T.TRIFAN, T.LINELIST, T.TRILIST):
        scene.draw(corners, topology)
    if mode == "REJECT_ALL":
        assert not scene.lit()


# --- memory that is not there -----------------------------------------------------------------------------------------
def test_unmapped_vertices_read_as_zeros() -> None:
    scene = Scene(Gen.CL, 16, 16, vertices={"buffer_starting_address": 0x30000000})  # beyond the table's 512 MiB
    scene.draw([vertex(1, 1), vertex(14, 2), vertex(3, 13)])
    assert not scene.lit()
    scene.draw([vertex(5.5, 5.5)], T.POINTLIST)
    assert scene.lit() <= {(0, 0)}


def test_pixels_beyond_the_page_table_are_dropped_and_the_rest_is_drawn() -> None:
    last = 0x20000000
    scene = Scene(Gen.CL, 16, 16, surface={"surface_base_address": last - 0x1000})  # eight rows of 512 bytes
    scene.draw([vertex(-50, -50), vertex(200, -50), vertex(-50, 200)])
    rows = [scene.peek(last - 0x1000 + 512 * y, 64) for y in range(8)]
    assert rows == [b"\xff" * 64] * 8
    assert scene.device.targets.take()


def test_an_unmapped_clip_kernel_fails_only_draws_that_need_it() -> None:
    scene = Scene(Gen.CL, 16, 16, clip={"kernel_start_pointer": 0x30000000, "viewport_z_clip_test_enable": True})
    scene.draw([vertex(2, 2, 0.5), vertex(13, 3, 0.5), vertex(4, 12, 0.5)])
    assert scene.lit()
    with pytest.raises(Exception, match=r"a kernel could not be read \(unit CLIP, address 0x30000000"):
        scene.draw([vertex(2, 2, 0.5), vertex(13, 3, 5.0), vertex(4, 12, 0.5)])


def test_state_and_kernels_that_are_not_mapped_hang_or_draw_nothing() -> None:
    scene = Scene(Gen.CL, 16, 16)
    scene.blocks["sf"] = {"kernel_start_pointer": 0x30000000}
    with pytest.raises(Exception, match="a kernel could not be read"):
        scene.draw(BIG)
    scene.device.reset()
    scene.blocks["sf"] = {}
    scene.draw(BIG)
    assert len(scene.lit()) == 256


def test_faults_of_a_draw_are_counted() -> None:
    scene = Scene(Gen.CL, 16, 16, vertices={"buffer_starting_address": 0x30000000})
    scene.draw([vertex(1, 1), vertex(14, 2), vertex(3, 13)])
    assert scene.device.faults.counts[FaultKind.UNMAPPED_READ] > 0


# --- every topology with few vertices ---------------------------------------------------------------------------------
def objects_of(code: int, n: int) -> int | None:
    """The number of objects of a topology with n vertices, None if it cannot be drawn without a GS."""
    if code in (T.POINTLIST, T.POINTLIST_BF):
        return n
    if code == T.LINELIST:
        return n // 2
    if code in (T.LINESTRIP, T.LINESTRIP_BF, T.LINESTRIP_CONT, T.LINESTRIP_CONT_BF):
        return max(n - 1, 0)
    if code in (T.LINELIST_ADJ, T.LINESTRIP_ADJ):
        return n // 4 if code == T.LINELIST_ADJ else max(n - 3, 0)
    if code in (T.TRILIST_ADJ, T.TRISTRIP_ADJ):
        return n // 6 if code == T.TRILIST_ADJ else max(n // 2 - 2, 0)
    if code in (T.TRILIST, T.RECTLIST):
        return n // 3
    if code in (T.TRISTRIP, T.TRISTRIP_REVERSE, T.TRIFAN, T.POLYGON, T.TRIFAN_NOSTIPPLE):
        return max(n - 2, 0)
    return None


@pytest.mark.parametrize("gen", GENS)
@pytest.mark.parametrize("code", range(32))
def test_every_topology_with_few_vertices(gen: Gen, code: int) -> None:
    scene = Scene(gen, 16, 16)
    around = [vertex(8 + 6 * math.cos(i * 2.4), 8 + 6 * math.sin(i * 2.4)) for i in range(9)]
    for n in range(10):
        before = scene.device.counts()["objects"]
        scene.draw(around[:n], code)
        expected = objects_of(code, n)
        if expected is not None:
            assert scene.device.counts()["objects"] - before == expected, n
    assert (objects_of(code, 9) is None) == (not scene.lit())


def test_the_watchdog_stops_endless_blits() -> None:
    scene = Scene(Gen.CTG, 16, 16, options=Options(workers=1, watchdog=1))
    blit = command_named("XY_COLOR_BLT", Gen.CTG).build(
        Gen.CTG, destination_x2=1000, destination_y2=500, color_depth=3, raster_operation=0xF0, write_rgb=True,
        destination_pitch=4096, destination_base_address=TARGET)
    scene.run(blit * 2)
    with pytest.raises(BlitHang, match="in XY_COLOR_BLT"):
        scene.run(blit * 3)
    assert not scene.device.registers.view("INSTDONE1").blt_busy
    scene.run(blit)
