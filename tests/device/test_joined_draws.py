"""Draws whose tiles are drawn together: everything ends as if each draw ended before the next one started."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gen4emu._native import lib
from gen4emu.device.device import Device
from gen4emu.device.events import EuHang
from gen4emu.device.options import Options
from gen4emu.errors import HangError
from gen4emu.hw.chips import BY_PCI_ID
from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology
from gen4emu.isa import assemble
from gen4emu.trace import events
from gen4emu.trace.reader import open as open_trace
from tests.harness.canvas_gen7 import Canvas7, color, send
from tests.harness.commands import DATA, command
from tests.harness.device_contents import everything, joined_draws
from tests.harness.scene import DEPTH, KERNELS, STATE, SURFACES, TARGET, VERTICES, Scene, depth_only, vertex

TRACES = Path(__file__).parents[2] / "traces"
ALL = [*sorted(TRACES.glob("*.aub.xz")), *(path for chip in ("ivb", "byt", "hsw", "kbl", "skl")
                                         for path in [TRACES / "later" / f"triangle-{chip}.aub.xz"])]
WRITTEN = 0x6000000  # by PIPE_CONTROL
OTHER_TARGET = 0x9000000

Build = Callable[[Scene], bytes]


def replayed(path: Path, options: Options) -> dict[str, Any]:
    stream = list(open_trace(str(path)))
    header = next(e for e in stream if isinstance(e, events.Header))
    with Device(BY_PCI_ID[header.pci_id or 0], options, finds_targets=False) as device:
        for event in stream:
            device.apply(event)
        return everything(device)


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name.partition(".")[0])
def test_traces_end_as_with_draws_one_by_one(path: Path) -> None:
    apart = replayed(path, Options(workers=1, draws_apart=True))
    for workers in (1, 2, 3, 5):
        assert replayed(path, Options(workers=workers)) == apart


# ---- what joins, and what ends the wait ----

class Run:
    """The end of a batch."""

    def __init__(self, build: Build, options: Options, **scene: Any) -> None:
        self.scene = Scene(options=options, width=96, height=96, **scene)
        self.scene.device._finds_targets = False
        self.hang = ""
        batch = build(self.scene)
        try:
            self.scene.run(batch)
        except HangError as error:
            self.hang = str(error)
        self.end = everything(self.scene.device)
        self.joined = joined_draws(self.scene.device)


def together(build: Build, *, followers: int | None = None, **scene: Any) -> int:
    """How many draws of the batch joined another; the end is the same as without that, for any number of workers.  With
    one worker, only those join that follow the draw before, whose state they share but for vertices and constants:
    all, unless `followers` says how many."""
    apart = Run(build, Options(workers=1, draws_apart=True), **scene)
    assert apart.joined == 0
    runs = [Run(build, Options(workers=workers), **scene) for workers in (1, 2, 3)]
    for run in runs:
        assert (run.end, run.hang) == (apart.end, apart.hang)
    assert runs[1].joined == runs[2].joined
    assert runs[0].joined == (runs[1].joined if followers is None else followers)
    return runs[1].joined


def triangles(count: int) -> list[tuple[float, ...]]:
    """Large ones that overlap, each of another color."""
    found = []
    for i in range(count):
        color = (i / count, 1 - i / count, 0.5, 0.5)
        found += [vertex(2.0 + i, 3.0 * i, 0.5 + 0.01 * i, 1.0, color), vertex(90.0, 5.0 + i, 0.4, 1.0, color),
                  vertex(40.0 - i, 93.0 - i, 0.6, 1.0, color)]
    return found


def draws(scene: Scene, count: int, between: Callable[[int], bytes] = lambda _: b"") -> bytes:
    """The state, then one triangle a draw, each with `between` before it."""
    batch = scene.prepare(triangles(count))
    return batch + b"".join(between(i) + scene.primitive(PrimitiveTopology.TRILIST, 3, start_vertex_location=3 * i)
                            for i in range(count))


BLEND = {"color_buffer_blend_enable": True, "source_blend_factor": "SRC_ALPHA",
         "destination_blend_factor": "INV_SRC_ALPHA"}
DEPTH_TEST = {"depth_test_enable": True, "depth_test_function": "LESS", "depth_buffer_write_enable": True}


def test_draws_with_the_same_targets_join() -> None:
    assert together(lambda scene: draws(scene, 5), cc=BLEND) == 4


def test_draws_that_test_depth_join() -> None:
    assert together(lambda scene: draws(scene, 5), cc=DEPTH_TEST, depth_format=1, depth_clear=0x3F200000) == 4


def test_more_draws_than_can_wait_join_in_parts() -> None:
    assert together(lambda scene: draws(scene, 130), cc=BLEND) == 128  # 128 and 2


def test_more_states_than_can_wait_join_in_parts() -> None:
    def constant(scene: Scene, i: int) -> bytes:
        return scene._command("3DSTATE_CONSTANT_COLOR", blend_constant_color_red=i / 100)

    assert together(lambda scene: draws(scene, 100, lambda i: constant(scene, i)), cc=BLEND,
                    followers=0) == 97  # 48, 48 and 4


def test_a_draw_alone_joins_none() -> None:
    assert together(lambda scene: draws(scene, 1)) == 0


def written(scene: Scene, address: int) -> bytes:
    return scene._command("PIPE_CONTROL", post_sync_operation=1, destination_address=address, immediate_data_low=0x1234)


def test_immediate_writes_wait_with_the_draws() -> None:
    def build(scene: Scene) -> bytes:
        scene.memory.write(WRITTEN, bytes(4096))
        return draws(scene, 6, lambda i: written(scene, WRITTEN + 8 * (i % 3)))

    assert together(build, followers=0) == 5


@pytest.mark.parametrize("address", [WRITTEN, TARGET + 40 * 512 + 64], ids=["missing", "target"])
def test_a_write_to_a_missing_page_or_a_target_ends_the_wait(address: int) -> None:
    assert together(lambda scene: draws(scene, 6, lambda i: written(scene, address) if i == 3 else b"")) == 2 + 2


def test_a_draw_reads_what_was_written_before_it() -> None:
    """The write changes the first vertex of draw 3, and comes after draw 2, which has the same vertices."""
    def build(scene: Scene) -> bytes:
        batch = scene.prepare(triangles(3))
        draw = scene.primitive(PrimitiveTopology.TRILIST, 3)
        first, second, third = (
            scene._command("PIPE_CONTROL", post_sync_operation=1, destination_address=VERTICES, immediate_data_low=x,
                           immediate_data_high=0x41000000) for x in (0x42800000, 0x42000000, 0x42900000))
        # Python executes the first write, which ends the wait, whatever it writes.
        return batch + draw * 3 + first + draw * 2 + second + draw + third + draw

    assert together(build, cc=BLEND) == 2 + 1


def test_a_draw_that_follows_reads_what_was_written_before_the_draw_it_follows() -> None:
    def build(scene: Scene) -> bytes:
        batch = scene.prepare(triangles(1) * 100)
        draw = scene.primitive(PrimitiveTopology.TRILIST, 3)
        near, far = (scene._command("3DSTATE_VERTEX_BUFFERS", vertex_buffers=[
            {"buffer_pitch": 48, "buffer_starting_address": VERTICES + offset}]) for offset in (0, 2 * 4096))
        constant = scene._command("3DSTATE_CONSTANT_COLOR", blend_constant_color_red=0.5)
        return batch + b"".join(
            far + draw + near + draw
            + scene._command("PIPE_CONTROL", post_sync_operation=1, destination_address=VERTICES, immediate_data_low=x,
                             immediate_data_high=0x41000000)
            + far + constant + draw + near + draw for x in (0x42000000, 0x42900000))

    assert together(build, cc=BLEND) == 5


def test_another_target_ends_the_wait() -> None:
    def other(scene: Scene, i: int) -> bytes:
        if i == 0:
            state = bytearray(scene.peek(SURFACES, 24))
            struct.pack_into("<I", state, 4, OTHER_TARGET)
            scene.memory.write(SURFACES + 0x800, bytes(state))
            scene.memory.write(SURFACES + 0xC00, struct.pack("<I", SURFACES + 0x800))
            scene.memory.write(OTHER_TARGET, bytes(96 * 512))
        return scene._command("3DSTATE_BINDING_TABLE_POINTERS",
                              pointer_to_ps_binding_table=SURFACES + (0xC00 if i // 2 % 2 else 0x400))

    assert together(lambda scene: draws(scene, 8, lambda i: other(scene, i)), followers=0) == 4


def with_colors(scene: Scene) -> bytes:
    """Switch back."""
    return scene._command("3DSTATE_PIPELINED_POINTERS", pointer_to_vs_state=STATE, pointer_to_sf_state=STATE + 0x40,
                          pointer_to_wm_state=STATE + 0x80, pointer_to_color_calc_state=STATE + 0x100)


def no_depth(scene: Scene) -> bytes:
    return scene._command("3DSTATE_DEPTH_BUFFER", surface_type=7)


def depth(scene: Scene) -> bytes:
    """The command of `Scene`."""
    return scene._command("3DSTATE_DEPTH_BUFFER", surface_type=1, surface_format=1, surface_pitch=scene.depth_pitch,
                          surface_base_address=DEPTH, width=scene.width, height=scene.height, depth=1,
                          tiled_surface=True, tile_walk=1)


def test_a_draw_of_depth_alone_joins_those_with_colors() -> None:
    """As clears do that drivers make of rectangles: first depth, then colors."""
    def between(scene: Scene, i: int) -> bytes:
        return depth_only(scene) if i == 0 else with_colors(scene) if i == 2 else b""

    assert together(lambda scene: draws(scene, 6, lambda i: between(scene, i)), cc=DEPTH_TEST, depth_format=1,
                    depth_clear=0x3F200000, followers=4) == 5


def test_a_draw_of_colors_alone_joins_those_with_depth() -> None:
    def between(scene: Scene, i: int) -> bytes:
        return no_depth(scene) if i == 0 else depth(scene) if i == 2 else b""

    assert together(lambda scene: draws(scene, 6, lambda i: between(scene, i)), cc=DEPTH_TEST, depth_format=1,
                    depth_clear=0x3F200000, followers=4) == 5


def test_a_target_that_a_waiting_draw_has_read_ends_the_wait() -> None:
    """Vertices of a draw of depth alone are in the target that the next draw writes."""
    def between(scene: Scene, i: int) -> bytes:
        if i > 1:
            return b""
        if i == 1:
            source = VERTICES
            state = with_colors(scene)
        else:
            scene.memory.write(TARGET, scene.peek(VERTICES, 3 * 48))
            source = TARGET
            state = depth_only(scene)
        return state + scene._command("3DSTATE_VERTEX_BUFFERS", vertex_buffers=[
            {"buffer_pitch": 48, "buffer_starting_address": source}])

    assert together(lambda scene: draws(scene, 4, lambda i: between(scene, i)), cc=DEPTH_TEST, depth_format=1,
                    depth_clear=0x3F200000) == 2


def test_draws_to_a_target_join_when_its_pages_are_there() -> None:
    """Draw 0 makes them; how many reads meet missing pages before that must not change."""
    def build(scene: Scene) -> bytes:
        scene.blocks["surface"] = {"surface_base_address": OTHER_TARGET}
        return draws(scene, 4)

    assert together(build) == 2


# ---- reads of what waiting draws write ----

def test_vertices_that_a_waiting_draw_writes_are_those_after_it() -> None:
    def source(scene: Scene, i: int) -> bytes:
        return b"" if i != 2 else scene._command("3DSTATE_VERTEX_BUFFERS", vertex_buffers=[
            {"buffer_pitch": 48, "buffer_starting_address": TARGET}])

    assert together(lambda scene: draws(scene, 4, lambda i: source(scene, i))) <= 1


def test_constants_that_a_waiting_draw_writes_are_those_after_it() -> None:
    def constants(scene: Scene, i: int) -> bytes:
        return b"" if i != 2 else scene._command("CONSTANT_BUFFER", valid=True, buffer_starting_address=TARGET + 512,
                                                 buffer_length=1)

    assert together(lambda scene: draws(scene, 4, lambda i: constants(scene, i))) == 1 + 1


def test_state_that_a_waiting_draw_writes_is_that_after_it() -> None:
    def build(scene: Scene) -> bytes:
        batch = draws(scene, 1)
        scene.memory.write(TARGET + 64 * 512, scene.peek(STATE, 0x400))  # in rows that draw 0 covers, too
        pointers = {"pointer_to_vs_state": TARGET + 64 * 512, "pointer_to_sf_state": TARGET + 64 * 512 + 0x40,
                    "pointer_to_wm_state": TARGET + 64 * 512 + 0x80,
                    "pointer_to_color_calc_state": TARGET + 64 * 512 + 0x100}
        return batch + scene._command("3DSTATE_PIPELINED_POINTERS", **pointers) + scene.primitive(
            PrimitiveTopology.TRILIST, 3)

    assert together(build) == 0


def test_a_waiting_draw_is_found_by_its_page_not_its_address() -> None:
    """Two entries of the page table may be one page."""
    alias = 0xA000000

    def build(scene: Scene) -> bytes:
        batch = draws(scene, 2)
        assert lib.g4_mem_map_physical(scene.memory.handle, alias >> 12,
                                       lib.g4_mem_physical(scene.memory.handle, TARGET) >> 12) == lib.G4_OK
        batch += scene._command("3DSTATE_VERTEX_BUFFERS", vertex_buffers=[
            {"buffer_pitch": 48, "buffer_starting_address": alias}])
        return batch + scene.primitive(PrimitiveTopology.TRILIST, 3)

    assert together(build) == 1


# ---- hangs ----

def test_a_hang_leaves_the_draws_before_it_and_nothing_after_it() -> None:
    def build(scene: Scene) -> bytes:
        batch = draws(scene, 3)
        bad = KERNELS + 0x3000
        scene.memory.write(bad, assemble("illegal { align1 };", Gen.CTG))
        state = bytearray(scene.peek(STATE + 0x80, 32))
        struct.pack_into("<I", state, 0, bad | (struct.unpack_from("<I", state)[0] & 63))
        scene.memory.write(STATE + 0x800, bytes(state))
        pointers = {"pointer_to_vs_state": STATE, "pointer_to_sf_state": STATE + 0x40,
                    "pointer_to_wm_state": STATE + 0x800, "pointer_to_color_calc_state": STATE + 0x100}
        good = scene.primitive(PrimitiveTopology.TRILIST, 3)
        return batch + scene._command("3DSTATE_PIPELINED_POINTERS", **pointers) + good + good

    assert together(build) == 2
    with pytest.raises(EuHang):
        scene = Scene(width=96, height=96)
        scene.device._finds_targets = False
        scene.run(build(scene))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_load_of_a_register_sees_the_write_that_waits(workers: int) -> None:
    canvas = Canvas7("hsw", workers=workers)
    canvas.device._finds_targets = False
    canvas.draw(color(1.0, 0.0, 0.0, 1.0) + send(canvas.write()))
    draw = command("3DPRIMITIVE", canvas.gen, vertex_count_per_instance=3, instance_count=1,
                   primitive_topology_type=PrimitiveTopology.RECTLIST)
    register = canvas.device.registers.offset("3DPRIM_START_INSTANCE")
    load = command("MI_LOAD_REGISTER_MEM", canvas.gen, register_address=register, memory_address=DATA + 8)
    for value in (98, 99):  # Python executes commands with a new header
        before = joined_draws(canvas.device)
        write = command("PIPE_CONTROL", canvas.gen, post_sync_operation=1, address=DATA + 8, immediate_data_low=value)
        canvas.run(draw, draw, write, draw, load, draw)
        assert canvas.register("3DPRIM_START_INSTANCE") == value
    assert joined_draws(canvas.device) - before == (2 if workers > 1 else 1)
