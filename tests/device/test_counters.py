"""Counters are exact: known objects, sums against the totals, and the same for any workers, handlers and vectors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gen4emu._native import ffi, lib
from gen4emu.device.counters import CountedDraw, Counters, SurfaceBytes, total
from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.memory import Missing
from gen4emu.device.observer import Subscription
from gen4emu.device.options import Options
from gen4emu.device.place import DrawKind, Place
from gen4emu.device.replay import Replay
from gen4emu.errors import HangError
from gen4emu.hw.catalogue import command_named
from gen4emu.hw.chips import BY_NAME
from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology as T
from gen4emu.isa import assemble
from gen4emu.trace import open as open_trace
from gen4emu.trace.events import Engine
from tests.harness.messages import NO_VERTEX, WRITE_8, WRITE_8_WITH_DEPTH
from tests.harness.scene import DEPTH, INDICES, KERNELS, TARGET, VERTICES, Scene, vertex

TRACES = sorted((Path(__file__).parents[2] / "traces").glob("*.aub.xz"))
D24S8 = 2
CONSTANT = [f"mov(8) m{2 + i}<1>F g{8 + i // 2}.{3 + 4 * (i % 2)}<0,1,0>F {{ align1 }};" for i in range(4)]
HEADER = "mov(8) m1<1>UD g1<8,8,1>UD { align1 nomask };"
SEND8 = f"send(8) 0 null<1>UW g0<8,8,1>UW {WRITE_8} write {{ align1 EOT }};"
ONE_PIXEL = "mov(1) g0<1>UD 0x00010001UD { align1 nomask };"  # of every thread
WITH_DEPTH = ("mov(8) m6<1>F g2<8,8,1>F { align1 };",
              f"send(8) 0 null<1>UW g0<8,8,1>UW {WRITE_8_WITH_DEPTH} write {{ align1 EOT }};")
NO_OUTPUT = f"send(8) 0 null<1>UD g0<8,8,1>UD {NO_VERTEX} urb {{ align1 nomask EOT }};"
SQUARE = [vertex(8, 8), vertex(0, 8), vertex(0, 0)]


def square(x: float, y: float, z: float) -> list[tuple[float, ...]]:
    return [vertex(x + 8, y + 8, z), vertex(x, y + 8, z), vertex(x, y, z)]


class Collector(Listener):
    """Keeps every draw that is counted."""

    def __init__(self, found: list[CountedDraw]) -> None:
        self.found = found

    def draw_counted(self, draw: CountedDraw) -> None:
        self.found.append(draw)


def count(scene: Scene) -> list[CountedDraw]:
    """Everything that the scene counts from now on."""
    found: list[CountedDraw] = []
    scene.device.counting = True
    scene.device.add_listener(Collector(found))
    return found


def drawn(scene: Scene, *args: Any, **fields: Any) -> Counters:
    found = count(scene)
    scene.draw(*args, **fields)
    assert len(found) == 1
    return found[0].counters


def bytes_of(counters: Counters, role: str) -> list[SurfaceBytes]:
    return [s for s in counters.surfaces if s.role == role]


# --- known objects ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("gen", [Gen.CL, Gen.CTG])
def test_a_square_of_eight_pixels_has_64_fragments_in_16_blocks(gen: Gen) -> None:
    counters = drawn(Scene(gen), SQUARE, T.RECTLIST)
    f = counters.fragments
    assert (f.blocks, f.fragments, f.shaded, f.ended, f.written) == (16, 64, 64, 64, 64)
    assert (f.killed, f.alpha_failed, f.stencil_failed, f.depth_failed, f.unwritten, f.without_shader) == (0,) * 6
    assert (counters.vertices.vertices, counters.vertices.primitives, counters.objects.set_up) == (3, 1, 1)
    assert counters.stages["sf"].threads == 1 and counters.stages["vs"].threads == 0
    assert counters.stages["wm"].threads == 8  # two blocks a thread
    assert bytes_of(counters, "render target") == [SurfaceBytes("render target", TARGET, 0, 64 * 4)]
    assert bytes_of(counters, "vertex buffer") == [SurfaceBytes("vertex buffer", VERTICES, 3 * 48, 0)]


def test_a_triangle_counts_what_it_lights() -> None:
    scene = Scene()
    counters = drawn(scene, [vertex(0, 0), vertex(8, 0), vertex(0, 8)])
    lit = scene.lit()
    assert counters.fragments.fragments == counters.fragments.written == len(lit) == 28
    assert counters.fragments.blocks == len({(x // 2, y // 2) for x, y in lit}) == 10


def test_a_counted_draw_has_its_place_its_command_and_its_targets() -> None:
    scene = Scene()
    found = count(scene)
    scene.draw(SQUARE, T.RECTLIST)
    scene.draw(SQUARE, T.RECTLIST)
    assert [d.place for d in found] == [Place(0, 0, 0), Place(0, 0, 1)]
    assert found[0].kind is DrawKind.PRIMITIVE and found[0].words[3] == 0x7B
    assert [t.address for t in found[1].targets] == [TARGET]


def test_indices_are_fetched_once_where_they_repeat() -> None:
    scene = Scene()
    corners = [vertex(0, 0), vertex(8, 0), vertex(8, 8), vertex(0, 8)]
    counters = drawn(scene, corners, T.TRILIST, indices=[0, 1, 2, 0, 2, 3])
    assert (counters.vertices.vertices, counters.vertices.vertices_fetched) == (6, 4)
    assert bytes_of(counters, "index buffer") == [SurfaceBytes("index buffer", INDICES, 6 * 4, 0)]
    assert counters.fragments.fragments == 64


@pytest.mark.parametrize("topology", [T.POINTLIST, T.LINELIST, T.TRILIST])
def test_the_vertices_of_long_lists_are_fetched_once(topology: T) -> None:
    """The ranges that a primitive is split into share no vertex; a shader with side effects runs once for each."""
    counters = drawn(Scene(), [vertex(i % 32, i % 31) for i in range(3000)], topology)
    assert (counters.vertices.vertices, counters.vertices.vertices_fetched) == (3000, 3000)


def test_each_range_of_a_fan_has_its_center() -> None:
    """600 triangles are three ranges, of which the second and third fetch the center and one vertex again."""
    counters = drawn(Scene(), [vertex(i % 32, i % 31) for i in range(602)], T.TRIFAN)
    assert (counters.vertices.vertices, counters.vertices.vertices_fetched) == (602, 602 + 2 * 2)


@pytest.mark.parametrize(("points", "fields", "reason"), [
    ([(0, 0), (8, 0), (0, 8)], {"cull_mode": "BOTH"}, "culled"),
    ([(0, 0), (8, 0), (4, 0)], {}, "degenerate"),
    ([(0, 0), (float("nan"), 0), (0, 8)], {}, "not_a_number"),
    ([(-9, -9), (-3, -9), (-9, -3)], {}, "outside"),
    ([(1.1, 1.1), (1.3, 1.1), (1.1, 1.3)], {}, "outside"),  # its bounds hold no sample point
    ([(1.1, 1.6), (2.6, 3.1), (2.6, 2.9)], {}, "no_pixel"),
])
def test_dropped_triangles_are_counted_by_reason(points: list[tuple[float, float]], fields: dict[str, Any],
                                                 reason: str) -> None:
    objects = drawn(Scene(sf=fields), [vertex(*p) for p in points]).objects
    names = ("not_a_number", "degenerate", "culled", "outside", "no_pixel")
    assert {name: getattr(objects, name) for name in names} == {name: int(name == reason) for name in names}
    assert (objects.objects, objects.set_up) == (1, 0)


@pytest.mark.parametrize(("mode", "expected"), [
    ("ACCEPT_ALL", (2, 0, 0, 0, 2)), ("REJECT_ALL", (2, 2, 0, 0, 0)), ("ALL", (2, 0, 2, 0, 0))])
def test_the_clipper_passes_discards_or_starts_threads(mode: str, expected: tuple[int, ...]) -> None:
    scene = Scene(clip={"clip_mode": mode, "kernel_start_pointer": KERNELS + 0x2000, "grf_register_count": 128,
                        "urb_entry_allocation_size": 2, "number_of_urb_entries": 8, "maximum_number_of_threads": 1},
                  clip_viewport={})
    scene.memory.write(KERNELS + 0x2000, assemble(NO_OUTPUT, Gen.CTG))
    triangle = [vertex(0, 0), vertex(8, 0), vertex(0, 8)]
    counters = drawn(scene, triangle + triangle)
    o = counters.objects
    assert (o.assembled, o.clip_discarded, o.clipped, o.clip_output, o.objects) == expected
    assert counters.stages["clip"].threads == o.clipped
    assert counters.stages["clip"].messages[6] == o.clipped


# --- what becomes of fragments --------------------------------------------------------------------------------------
DEPTH_TEST = {"depth_test_enable": True, "depth_test_function": "LESS", "depth_buffer_write_enable": True}


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("threads", [True, False])
def test_the_overlap_of_two_squares_fails_the_depth_test(late: bool, threads: bool) -> None:
    wm: dict[str, Any] = {"thread_dispatch_enable": threads}
    if late:
        wm["pixel_shader_kill_pixel"] = True
    scene = Scene(depth_format=D24S8, depth_clear=0xFFFFFF, cc=DEPTH_TEST, wm=wm)
    if late:
        scene.pixel_kernel = assemble("\n".join([*CONSTANT, HEADER, *WITH_DEPTH]), Gen.CTG)
    found = count(scene)
    scene.draw(square(0, 0, 0.25), T.RECTLIST)
    scene.draw(square(4, 4, 0.5), T.RECTLIST)
    first, second = (d.counters.fragments for d in found)
    assert (first.fragments, first.depth_failed, first.depth_passed) == (64, 0, 64)
    assert (second.fragments, second.depth_failed, second.depth_passed, second.stencil_failed) == (64, 16, 48, 0)
    after = late and threads
    assert (second.early_depth_failed, second.late_depth_failed) == ((0, 16) if after else (16, 0))
    assert second.shaded == (0 if not threads else 64 if late else 48)
    assert second.written == (48 if threads else 0) and second.without_shader == (0 if threads else 48)
    buffer = bytes_of(found[1].counters, "depth buffer")
    assert buffer == [SurfaceBytes("depth buffer", DEPTH, 64 * 4, 48 * 4)]


def test_the_stencil_test_comes_before_the_depth_test() -> None:
    """Stencil codes are 1 in one of the squares; where it passes, depth fails in half."""
    stencil = {"stencil_test_enable": True, "stencil_test_function": "EQUAL", "stencil_reference_value": 1,
               "stencil_test_mask": 0xFF, "stencil_write_mask": 0xFF, "stencil_buffer_write_enable": True,
               "stencil_pass_depth_pass_op": "KEEP", "stencil_fail_op": "KEEP"}
    scene = Scene(depth_format=D24S8, depth_clear=0x01000000 | 0x800000, cc=DEPTH_TEST | stencil)
    found = count(scene)
    scene.draw(square(0, 0, 0.25), T.RECTLIST)  # codes are 1 everywhere
    scene.draw(square(0, 0, 0.75), T.RECTLIST)  # too deep
    scene.blocks["cc"] = scene.blocks["cc"] | {"stencil_reference_value": 2}
    scene.draw(square(0, 0, 0.1), T.RECTLIST)
    passed, deep, other = (d.counters.fragments for d in found)
    assert (passed.early_stencil_failed, passed.early_depth_failed, passed.written) == (0, 0, 64)
    assert (deep.early_stencil_failed, deep.early_depth_failed, deep.written) == (0, 64, 0)
    assert (other.early_stencil_failed, other.early_depth_failed, other.written) == (64, 0, 0)


def test_pixels_that_a_kernel_masks_off_are_killed() -> None:
    scene = Scene()
    scene.pixel_kernel = assemble("\n".join([ONE_PIXEL, *CONSTANT, HEADER, SEND8]), Gen.CTG)
    f = drawn(scene, SQUARE, T.RECTLIST).fragments
    assert (f.shaded, f.ended, f.killed, f.written) == (64, 8, 56, 8)
    assert len(scene.lit()) == 8


def test_the_alpha_test_drops_fragments_after_the_shader() -> None:
    cc = {"alpha_test_enable": True, "alpha_test_function": "GREATER", "alpha_test_format": "FLOAT32",
          "alpha_reference_value_as_float32": 0.5}
    corners = [vertex(8, 8, color=(1, 1, 1, 1)), vertex(0, 8, color=(1, 1, 1, 0)), vertex(0, 0, color=(1, 1, 1, 0))]
    f = drawn(Scene(cc=cc), corners, T.RECTLIST).fragments
    assert f.ended == 64 and 0 < f.alpha_failed < 64
    assert f.written == 64 - f.alpha_failed


def test_blending_reads_the_render_target() -> None:
    scene = Scene(surface={"color_blend_enable": True},
                  cc={"color_buffer_blend_enable": True, "color_blend_function": "ADD", "source_blend_factor": "ONE",
                      "destination_blend_factor": "ONE"})
    counters = drawn(scene, SQUARE, T.RECTLIST)
    assert bytes_of(counters, "render target") == [SurfaceBytes("render target", TARGET, 256, 256)]


def test_statistics_counters_agree() -> None:
    on = {"statistics_enable": True}
    scene = Scene(sf=on, wm=on, cc=on, depth_format=D24S8, depth_clear=0x500000,
                  commands={"3DSTATE_VF_STATISTICS": {"statistics_enable": True}})
    triangles = [vertex(*p, 0.25 + i / 16) for i in range(6)
                 for p in ((i, i), (i + 9, i), (i, i + 12))]
    scene.blocks["cc"] = scene.blocks["cc"] | DEPTH_TEST
    counters = drawn(scene, triangles)
    registers = scene.device.registers

    def register(name: str) -> int:
        return int(registers.read(registers.offset(name)))

    assert register("IA_VERTICES_COUNT") == counters.vertices.vertices == 18
    assert register("IA_PRIMITIVES_COUNT") == counters.vertices.primitives == 6
    assert register("CL_PRIMITIVES_COUNT") == counters.objects.objects == 6
    assert register("PS_INVOCATION_COUNT") == counters.fragments.fragments
    assert register("PS_DEPTH_COUNT") == counters.fragments.depth_passed > 0
    assert counters.fragments.depth_failed > 0


# --- sums and equality ----------------------------------------------------------------------------------------------
def replayed(path: Path, counting: bool = True, **options: Any) -> tuple[list[CountedDraw], bytes, dict[str, int], Any]:
    """The counters of all draws, what the targets hold, the totals."""
    found: list[CountedDraw] = []
    run = Replay(open_trace(str(path)), None, Options(**options), on_counters=found.append if counting else None)
    pixels = [run.device.memory.read(t.address, t.pitch * t.height, Missing.ZERO)
              for frame in run.frames() for t in frame.targets if run.device is not None]
    assert run.device is not None
    raw = ffi.new("struct g4_device_counts *")
    lib.g4_device_counts(run.device.native, raw)
    counts, messages = run.device.counts(), tuple(raw.messages)
    run.close()
    return found, b"".join(pixels), counts, messages


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.removesuffix(".aub.xz"))
def test_sums_over_a_trace_are_the_totals(path: Path) -> None:
    draws, pixels, counts, messages = replayed(path, workers=1)
    c = total(d.counters for d in draws)
    assert [d.place.draw for d in draws] == list(range(len(draws)))
    assert (c.instructions, c.channel_ops, c.messages) == (counts["instructions"], counts["channel_ops"], messages)
    assert (c.vertices.vertices, c.objects.objects, c.objects.set_up) == (
        counts["vertices"], counts["objects"], counts["setups"])
    assert (c.media.media_objects, c.media.macroblocks, c.media.media_roots, c.media.media_children) == tuple(
        counts[f"media_{name}"] for name in ("objects", "macroblocks", "roots", "children"))
    o, f = c.objects, c.fragments
    assert o.objects == o.assembled - o.clip_discarded - o.clipped + o.clip_output
    assert o.set_up == o.objects - o.not_a_number - o.degenerate - o.culled - o.outside - o.no_pixel
    assert f.fragments - f.early_stencil_failed - f.early_depth_failed == f.without_shader + f.shaded
    assert f.ended == f.alpha_failed + f.late_stencil_failed + f.late_depth_failed + f.written + f.unwritten
    assert c.stages["sf"].threads <= o.set_up and c.stages["clip"].threads == o.clipped
    assert pixels == replayed(path, counting=False)[1]
    for workers, general in ((2, False), (4, False), (1, True)):
        again = replayed(path, workers=workers, general_only=general)
        assert again[0] == draws and again[1] == pixels


@pytest.fixture
def plain_vectors() -> Iterator[None]:
    before = lib.g4_variant_current()
    lib.g4_set_variant(lib.G4_VARIANT_PLAIN)
    yield
    lib.g4_set_variant(before)


@pytest.mark.parametrize("name", ["cubemap-g4x", "stencil-brw", "sprites-g4x", "mpeg2-g4x"])
def test_counters_do_not_depend_on_the_vector_variant(name: str, request: pytest.FixtureRequest) -> None:
    path = next(p for p in TRACES if p.name.startswith(name))
    wide = replayed(path)[0]
    request.getfixturevalue("plain_vectors")
    assert replayed(path)[0] == wide


def test_counters_can_be_switched_on_and_off() -> None:
    scene = Scene()
    found: list[CountedDraw] = []
    scene.device.add_listener(Collector(found))
    scene.draw(SQUARE, T.RECTLIST)
    assert not found and not scene.device.counting and lib.g4_device_counters(scene.device.native) == ffi.NULL
    scene.device.counting = True
    scene.draw(SQUARE, T.RECTLIST)
    scene.device.counting = False
    scene.draw(SQUARE, T.RECTLIST)
    assert [d.place.draw for d in found] == [1] and found[0].counters.fragments.written == 64


def test_a_debugger_changes_no_counter() -> None:
    plain, debugged = Scene(), Scene()
    debugged.device.observer.add(Subscription(messages=True))
    assert drawn(debugged, SQUARE, T.RECTLIST) == drawn(plain, SQUARE, T.RECTLIST)


def test_a_draw_that_hangs_is_counted_as_far_as_it_went() -> None:
    scene = Scene(options=Options(workers=1, watchdog=1))
    scene.pixel_kernel = assemble("jmpi(1) -2D { align1 nomask };", Gen.CTG)
    found = count(scene)
    with pytest.raises(HangError):
        scene.draw(SQUARE, T.RECTLIST)
    assert len(found) == 1 and found[0].counters.fragments.shaded == 64
    assert found[0].counters.instructions > 0


# --- blits ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("operation", "read"), [(0xCC, 0), (0x66, 32)])
def test_a_blit_counts_the_bytes_of_its_rectangle(operation: int, read: int) -> None:
    gen = Gen.CTG
    with Device(BY_NAME["gm45"]) as device:
        copy = command_named("XY_SRC_COPY_BLT", gen).build(
            gen, color_depth=3, write_rgb=True, write_alpha=True, raster_operation=operation, destination_pitch=64,
            destination_x1=0, destination_y1=0, destination_x2=4, destination_y2=2, destination_base_address=0x10000,
            source_x1=0, source_y1=0, source_pitch=64, source_base_address=0x20000)
        device.memory.write(0x1000, copy + command_named("MI_BATCH_BUFFER_END", gen).build(gen))
        device.memory.write(0x10000, bytes(0x20000))
        found: list[CountedDraw] = []
        device.counting = True
        device.add_listener(Collector(found))
        device.run_batch(0x1000, Engine.RENDER)
    assert [(d.kind, d.counters.pixels_blitted) for d in found] == [(DrawKind.BLIT, 8)]
    assert found[0].counters.surfaces == (SurfaceBytes("blit source", 0x20000, 32, 0),
                                          SurfaceBytes("blit destination", 0x10000, read, 32))


# --- sums -------------------------------------------------------------------------------------------------------------
def test_surfaces_are_added_by_role_and_address() -> None:
    a = Counters(surfaces=(SurfaceBytes("texture", 16, 4, 0), SurfaceBytes("depth buffer", 32, 4, 4)))
    b = Counters(surfaces=(SurfaceBytes("vertex buffer", 64, 1, 0), SurfaceBytes("texture", 16, 1, 0)))
    assert (a + b).surfaces == (SurfaceBytes("vertex buffer", 64, 1, 0), SurfaceBytes("texture", 16, 5, 0),
                                SurfaceBytes("depth buffer", 32, 4, 4))
    assert (a + b).read_bytes == 10 and total([]) == Counters()


def test_as_json_names_functions_and_what_was_killed() -> None:
    scene = Scene()
    scene.pixel_kernel = assemble("\n".join([ONE_PIXEL, *CONSTANT, HEADER, SEND8]), Gen.CTG)
    found = drawn(scene, SQUARE, T.RECTLIST).as_json()
    assert found["fragments"]["killed"] == 56
    assert found["stages"]["wm"]["messages"] == {"data_port_write": 8}
    assert found["surfaces"][0] == {"role": "vertex buffer", "address": VERTICES, "read_bytes": 144,
                                    "written_bytes": 0}
