"""The state in force at a draw: which commands set it, what they point to at that moment, contexts, media, blits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gen4emu
from gen4emu.decode.in_force import StateInForce, StateTracker
from gen4emu.device.device import Device
from gen4emu.device.place import DrawKind
from gen4emu.device.replay import Replay
from gen4emu.hw.catalogue import block_named, command_named
from gen4emu.hw.chips import BY_NAME
from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology as T
from gen4emu.repro.export import export
from gen4emu.trace.reader import open as open_trace
from tests.harness.scene import BATCH, KERNELS, STATE, SURFACES, TARGET, VERTICES, Scene, vertex

TRACES = Path(__file__).parents[2] / "traces"
SQUARE = [vertex(8, 8), vertex(0, 8), vertex(0, 0)]
CONTEXTS = (0x100000, 0x110000)


class Seen:
    """The states of the draws of a device, each as its command begins."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.states: list[StateInForce] = []
        self.tracker = StateTracker(device)
        self.tracker.before_draw = lambda: self.states.append(self.tracker.in_force())


def names(state: StateInForce) -> list[str]:
    return [setting.command.body.name for setting in state.settings]


def command(name: str, **fields: Any) -> bytes:
    return command_named(name, Gen.CTG).build(Gen.CTG, **fields)


def test_a_draw_has_its_units_surfaces_kernels_and_vertices() -> None:
    scene = Scene()
    seen = Seen(scene.device)
    scene.draw(SQUARE, T.RECTLIST)
    state = seen.states[0]
    assert (state.kind, state.place.draw, state.draw.body.name) == (DrawKind.PRIMITIVE, 0, "3DPRIMITIVE")
    assert [n.title for n in state["3DSTATE_PIPELINED_POINTERS"].children] == [
        "VS_STATE", "SF_STATE", "WM_STATE", "COLOR_CALC_STATE"]
    assert [s.address for s in state.blocks("SURFACE_STATE")] == [SURFACES]
    assert state.blocks("SURFACE_STATE")[0].body.view.surface_base_address == TARGET
    kernels = [n.address for n in state.nodes() if n.title == "KERNEL"]
    assert kernels == [KERNELS, KERNELS + 0x1000]
    assert [n.address for n in state.draw.children] == [VERTICES]
    assert state["3DSTATE_DRAWING_RECTANGLE"].body.view.clipped_drawing_rectangle_x_max == 31
    assert "CONSTANT_BUFFER" not in state and all(s.after_draw is None for s in state.settings)
    with pytest.raises(KeyError):
        state["CONSTANT_BUFFER"]


def test_each_command_is_named_with_the_draw_before_it() -> None:
    scene = Scene()
    seen = Seen(scene.device)
    batch = scene.prepare(SQUARE)
    first = scene.primitive(T.RECTLIST, 3)
    scene.run(batch + first + command("3DSTATE_CONSTANT_COLOR", blend_constant_color_red=0.5) + first + first)
    after = {s.command.body.name: s.after_draw for s in seen.states[2].settings}
    assert after["3DSTATE_CONSTANT_COLOR"] == 0 and after["3DSTATE_DEPTH_BUFFER"] is None
    where = next(s for s in seen.states[2].settings if s.command.body.name == "3DSTATE_CONSTANT_COLOR")
    assert where.command.address == BATCH + len(batch) + len(first)
    assert seen.states[2]["3DSTATE_CONSTANT_COLOR"].body.view.blend_constant_color_red == 0.5
    assert "3DSTATE_CONSTANT_COLOR" not in seen.states[0]


def test_memory_is_read_when_the_draw_begins() -> None:
    scene = Scene()
    seen = Seen(scene.device)
    batch = scene.prepare(SQUARE)
    primitive = scene.primitive(T.RECTLIST, 3)
    store = command("MI_STORE_DATA_IMM", use_global_gtt=True, address=SURFACES + 4, data=0x8100000)
    scene.run(batch + primitive + store + primitive)
    assert [s.blocks("SURFACE_STATE")[0].body.words[1] for s in seen.states] == [TARGET, 0x8100000]


def test_only_the_parts_of_a_command_that_were_not_replaced_are_in_force() -> None:
    scene = Scene()
    seen = Seen(scene.device)
    batch = scene.prepare(SQUARE)

    def buffers(*indices: int) -> bytes:
        return command("3DSTATE_VERTEX_BUFFERS", vertex_buffers=[
            {"vertex_buffer_index": i, "buffer_pitch": 48, "buffer_starting_address": VERTICES + i} for i in indices])

    scene.run(batch + buffers(1, 2, 3) + buffers(2) + scene.primitive(T.RECTLIST, 3))
    found = [s for s in seen.states[0].settings if s.command.body.name == "3DSTATE_VERTEX_BUFFERS"]
    assert [s.parts for s in found] == [(), (1, 3), ()]
    assert "in force: vertex buffer 1, vertex buffer 3" in seen.states[0].text()


def test_pointers_are_those_of_the_time_of_their_command() -> None:
    """A base that changes afterwards moves what blocks point to, not the blocks."""
    scene = Scene()
    seen = Seen(scene.device)
    batch = scene.prepare(SQUARE)
    scene.memory.write(KERNELS + 0x100000, scene.peek(KERNELS, 0x2000))
    base = command("STATE_BASE_ADDRESS", general_state_base_address=0x100000,
                   general_state_base_address_modify_enable=True)
    scene.run(batch + base + scene.primitive(T.RECTLIST, 3))
    state = seen.states[0]
    assert [b.address for b in state.blocks("SF_STATE")] == [STATE + 0x40]
    assert [n.address for n in state.nodes() if n.title == "KERNEL"] == [KERNELS + 0x100000, KERNELS + 0x101000]
    assert [s.parts for s in state.settings if s.command.body.name == "STATE_BASE_ADDRESS"] == [
        ("surface_state_base", "indirect_object_base", "general_state_bound", "indirect_object_bound"), ()]


def test_constants_are_those_that_the_command_copied() -> None:
    scene = Scene()
    seen = Seen(scene.device)
    batch = scene.prepare(SQUARE)
    scene.memory.write(0x90000, b"\0\0\x80\x3f" * 16)
    store = command("MI_STORE_DATA_IMM", use_global_gtt=True, address=0x90000, data=0)
    constants = command("CS_URB_STATE", urb_entry_allocation_size=1, number_of_urb_entries=1) + command(
        "CONSTANT_BUFFER", valid=True, buffer_starting_address=0x90000, buffer_length=1)
    urb = command("CS_URB_STATE", urb_entry_allocation_size=1, number_of_urb_entries=1)
    primitive = scene.primitive(T.RECTLIST, 3)
    scene.run(batch + constants + store + primitive + urb + primitive)
    data = seen.states[0]["CONSTANT_BUFFER"].children[0]
    assert data.address == 0x90000 and data.values[0] == [1.0] * 4
    assert "CONSTANT_BUFFER" not in seen.states[1]  # CS_URB_STATE makes it invalid


def test_a_context_that_is_restored_brings_its_commands_back() -> None:
    scene = Scene()
    seen = Seen(scene.device)
    batch = scene.prepare(SQUARE)
    primitive = scene.primitive(T.RECTLIST, 3)

    def context(address: int) -> bytes:
        return command("MI_SET_CONTEXT", logical_context_address=address)

    def color(red: float) -> bytes:
        return command("3DSTATE_CONSTANT_COLOR", blend_constant_color_red=red)

    a, b = CONTEXTS
    scene.run(context(a) + batch + color(0.25) + context(b) + color(0.5) + primitive + context(a) + primitive)
    reds = [s["3DSTATE_CONSTANT_COLOR"].body.view.blend_constant_color_red for s in seen.states]
    assert reds == [0.5, 0.25]


def test_a_tracker_that_is_closed_is_not_notified() -> None:
    scene = Scene()
    seen = Seen(scene.device)
    scene.draw(SQUARE, T.RECTLIST)
    seen.tracker.close()
    scene.draw(SQUARE, T.RECTLIST)
    assert len(seen.states) == 1


def test_without_a_draw_there_is_no_state() -> None:
    with Device(BY_NAME["gm45"]) as device, pytest.raises(ValueError, match="no draw has begun"):
        StateTracker(device).in_force()


def test_a_blit_has_the_setup_that_it_uses() -> None:
    gen = Gen.CTG
    with Device(BY_NAME["gm45"]) as device:
        seen = Seen(device)
        device.memory.write(BATCH, b"".join(command_named(name, gen).build(gen, **fields) for name, fields in (
            ("XY_SETUP_BLT", {"color_depth": 3, "raster_operation": 0xF0, "destination_pitch": 64,
                              "destination_base_address": 0x10000, "clip_x2": 8, "clip_y2": 8}),
            ("XY_SETUP_CLIP_BLT", {"clip_x2": 4, "clip_y2": 4}),
            ("XY_PIXEL_BLT", {"destination_x": 1, "destination_y": 1}),
            ("XY_COLOR_BLT", {"color_depth": 3, "raster_operation": 0xF0, "destination_pitch": 64,
                              "destination_base_address": 0x10000, "destination_x2": 2, "destination_y2": 2}),
            ("MI_BATCH_BUFFER_END", {}))))
        device.memory.write(0x10000, bytes(0x1000))
        device.run_batch(BATCH)
    pixel, color = seen.states
    assert names(pixel) == ["XY_SETUP_BLT", "XY_SETUP_CLIP_BLT"] and pixel.kind is DrawKind.BLIT
    assert pixel.settings[0].parts == ("setup",)
    assert names(color) == [] and color.draw.children


def states_of(name: str) -> Iterator[StateInForce]:
    found: list[StateInForce] = []

    def start(device: Device) -> None:
        found_by = Seen(device)
        found_by.states = found

    run = Replay(open_trace(str(TRACES / f"{name}.aub.xz")), on_start=start)
    for _ in run.frames():
        pass
    run.close()
    yield from found


def test_media_objects_have_vfe_state_descriptors_and_kernels() -> None:
    state = next(states_of("mpeg2-g4x"))
    assert state.kind is DrawKind.MEDIA_OBJECT
    assert {"VLD_STATE", "VFE_STATE"} == {n.title for n in state["MEDIA_STATE_POINTERS"].children}
    assert state.blocks("INTERFACE_DESCRIPTOR") and any(n.title == "KERNEL" for n in state.nodes())
    assert not [name for name in names(state) if name.startswith("3D")]


@pytest.mark.parametrize("name", ["gears-g4x", "blend-brw", "cubemap-g4x", "stencil-g4x"])
def test_every_draw_of_a_trace_has_a_complete_state(name: str) -> None:
    for state in states_of(name):
        assert not [d for n in state.nodes() for d in n.diagnostics]
        assert {"VS_STATE", "SF_STATE", "WM_STATE", "COLOR_CALC_STATE", "CC_VIEWPORT"} <= {
            n.title for n in state.nodes()}
        assert state.blocks("SURFACE_STATE") or not state.blocks("WM_STATE")[0].body.view.thread_dispatch_enable


@pytest.mark.parametrize(("chip", "draw"), [("ivb", 4), ("hsw", 3), ("kbl", 2)])
def test_a_draw_without_new_state_has_tables_and_vertices_too(chip: str, draw: int, tmp_path: Path) -> None:
    """From Gen6 on they are read when a draw begins, and belong to its state even if nothing has changed."""
    with gen4emu.open(TRACES / "later" / f"triangle-{chip}.aub.xz") as trace:
        script = export(trace, open_trace(trace.path, again=True), draw).script
    script.commands.append(script.commands[-1])
    script.build(tmp_path / "twice.aub")
    with gen4emu.open(tmp_path / "twice.aub") as trace:
        first, second = ([node.title for node in trace.state(number).draw.walk()] for number in (0, 1))
    assert first == second and {"BINDING_TABLE", "VERTEX_DATA"} <= {title.split()[0] for title in first}


def test_json_and_text_say_the_same() -> None:
    state = next(states_of("triangle-g4x"))
    found = json.loads(json.dumps(state.as_json()))
    assert (found["frame"], found["submission"], found["draw"], found["kind"]) == (0, 0, 0, "draw")
    assert found["command"]["name"] == "3DPRIMITIVE"
    by_name = {s["command"]["name"]: s for s in found["settings"]}
    assert by_name["STATE_BASE_ADDRESS"]["after_draw"] is None
    blocks = [b["name"] for b in by_name["3DSTATE_PIPELINED_POINTERS"]["command"]["state"]]
    assert blocks[0] == "VS_STATE"
    text = state.text()
    assert text.startswith("draw 0: frame 0, submission 0, draw 0\n")
    assert all(f"{s.command.address:#010x}" in text for s in state.settings)


def test_the_block_of_a_state_is_built_from_the_layout() -> None:
    scene = Scene(cc={"depth_test_enable": True})
    seen = Seen(scene.device)
    scene.draw(SQUARE, T.RECTLIST)
    block = seen.states[0].blocks("COLOR_CALC_STATE")[0]
    assert block.body.layout is block_named("COLOR_CALC_STATE", scene.gen) and block.body.view.depth_test_enable
