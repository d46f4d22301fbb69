"""The state in force at draws of Gen7 and Gen9: as commands were executed, with what registers and memory held."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

import gen4emu
from gen4emu.cli.main import run
from gen4emu.decode.in_force import StateInForce, StateTracker
from gen4emu.decode.nodes import Data, Register
from gen4emu.hw.catalogue import command_named
from gen4emu.hw.formats import SurfaceFormat
from gen4emu.hw.gen8.mi import PredicateEnableGen8
from gen4emu.trace.events import Engine, Submission
from tests.harness.commands import BATCH, DATA, DRAW, END, RING, Later, command, joined, register_write
from tests.harness.endless import endless

SECOND_BATCH = BATCH + 0x800
CONSTANTS = DATA + 0x100
LATER = ("ivb", "hsw", "kbl")
Commands = tuple[str, dict[str, Any]]
every_later = pytest.mark.parametrize("chip", LATER)


class Watched(Later):
    """A machine that notes the state of each draw when it begins."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.states: list[StateInForce] = []
        self.tracker = StateTracker(self.device)
        self.tracker.before_draw = lambda: self.states.append(self.tracker.in_force())

    def constants(self, stage: str = "VS", address: int = CONSTANTS, offset: int = 0) -> Commands:
        """3DSTATE_CONSTANT_* with a row in a buffer: the second one of Gen7, whose first is relative; the first."""
        buffer = 0 if self.gen.name == "KBL" else 1
        return f"3DSTATE_CONSTANT_{stage}", self.fields(
            **{f"constant_buffer_{buffer}_read_length": 1, f"pointer_to_constant_buffer_{buffer}": address + offset})

    def fields(self, **fields: Any) -> dict[str, Any]:
        """These fields of 3DSTATE_CONSTANT_*, whose body is an array on Gen9."""
        arrays = command_named("3DSTATE_CONSTANT_VS", self.gen).arrays_for(self.gen)
        return {arrays[0].name: [fields]} if arrays else fields


def names(state: StateInForce) -> list[str]:
    return [setting.command.body.name for setting in state.settings]


def sample_mask(mask: int) -> Commands:
    return "3DSTATE_SAMPLE_MASK", {"sample_mask": mask}


def mask_of(state: StateInForce) -> int:
    return int(state["3DSTATE_SAMPLE_MASK"].body.view.sample_mask)


def registers(state: StateInForce) -> dict[str, tuple[int, ...]]:
    return {n.title: tuple(n.body.words) for n in state.draw.children if isinstance(n, Register)}


def vertex_input(pitch: int = 16, **buffer: Any) -> tuple[Commands, Commands]:
    buffers = [{"vertex_buffer_index": 0, "buffer_pitch": pitch, **buffer}]
    return (("3DSTATE_VERTEX_BUFFERS", {"vertex_buffers": buffers}),
            ("3DSTATE_VERTEX_ELEMENTS", {"vertex_elements": [{
                "vertex_buffer_index": 0, "valid": True, "source_element_format": SurfaceFormat.R32_FLOAT,
                "component_0_control": 1}]}))


def buffer_at(machine: Later, address: int) -> dict[str, Any]:
    end = {"buffer_size": 0x200} if machine.gen.name == "KBL" else {"end_address": address + 0x1FF}
    return {"address_modify_enable": True, "buffer_starting_address": address, **end}


@every_later
def test_an_indirect_draw_has_the_parameters_and_the_vertices_of_its_registers(chip: str) -> None:
    machine = Watched(chip)
    machine.device.memory.write(DATA, struct.pack("<2I", 2, 5))
    machine.device.memory.write(CONSTANTS + 16 * 5, struct.pack("<f12xf", 0.5, 0.25))
    machine.do(*vertex_input(**buffer_at(machine, CONSTANTS)),
               ("MI_LOAD_REGISTER_MEM", {"register_address": machine.offset("3DPRIM_VERTEX_COUNT"),
                                         "memory_address": DATA}),
               ("MI_LOAD_REGISTER_MEM", {"register_address": machine.offset("3DPRIM_START_VERTEX"),
                                         "memory_address": DATA + 4}),
               ("MI_LOAD_REGISTER_IMM", {"writes": [{"register_offset": machine.offset("3DPRIM_INSTANCE_COUNT"),
                                                     "data": 1}]}),
               ("3DPRIMITIVE", {"indirect_parameter_enable": True}))
    (state,) = machine.states
    found = registers(state)
    assert (found["3DPRIM_VERTEX_COUNT"], found["3DPRIM_START_VERTEX"]) == ((2,), (5,))
    (vertices,) = [n for n in state.draw.children if isinstance(n, Data)]
    assert vertices.rows == ["[5] (0.5)", "[6] (0.25)"]
    assert "3DPRIM_VERTEX_COUNT (register)" in state.text()


@every_later
@pytest.mark.parametrize("result", [0, 1])
def test_a_predicated_draw_has_the_result_that_decides_whether_it_draws(chip: str, result: int) -> None:
    machine = Watched(chip)
    machine.set("MI_PREDICATE_RESULT", result)
    machine.do(("3DPRIMITIVE", {"predicate_enable": True, "vertex_count_per_instance": 3, "instance_count": 1}))
    assert registers(machine.states[0]) == {"MI_PREDICATE_RESULT": (result,)}
    assert len(machine.draws) == result


@every_later
def test_state_of_an_earlier_submission_is_in_force(chip: str) -> None:
    machine = Watched(chip)
    machine.do(sample_mask(3))
    machine.do(DRAW)
    assert mask_of(machine.states[0]) == 3


@pytest.mark.parametrize("chip", ["hsw", "kbl"])
@pytest.mark.parametrize(("result", "expected"), [(0, 1), (1, 2)])
def test_state_of_a_predicated_second_level_batch_is_in_force_if_the_batch_runs(
        chip: str, result: int, expected: int) -> None:
    machine = Watched(chip)
    name, fields = sample_mask(2)
    machine.put(SECOND_BATCH, command(name, machine.gen, **fields), END)
    machine.set("MI_PREDICATE_RESULT", result)
    machine.do(sample_mask(1), ("MI_BATCH_BUFFER_START", {
        "second_level_batch_buffer": True, "predication_enable": True, "batch_buffer_start_address": SECOND_BATCH}),
        DRAW)
    assert mask_of(machine.states[0]) == expected


def test_commands_that_a_predicate_skips_are_not_in_force() -> None:
    machine = Watched("kbl")
    machine.do(sample_mask(1), ("MI_SET_PREDICATE", {"predicate_enable": PredicateEnableGen8.NOOP_ALWAYS}),
               sample_mask(2), ("MI_SET_PREDICATE", {"predicate_enable": PredicateEnableGen8.NOOP_NEVER}), DRAW)
    assert mask_of(machine.states[0]) == 1


@pytest.mark.parametrize("chip", ["ivb", "hsw"])
def test_a_context_that_is_restored_brings_its_state_back(chip: str) -> None:
    machine = Watched(chip)

    def context(address: int) -> Commands:
        return "MI_SET_CONTEXT", {"logical_context_address": address}

    machine.do(context(0x100000), sample_mask(1), context(0x110000), sample_mask(2), DRAW, context(0x100000), DRAW)
    assert [mask_of(state) for state in machine.states] == [2, 1]


def test_each_logical_context_has_its_own_state() -> None:
    machine = Watched("kbl")

    def submit(context: int, *commands: Commands) -> None:
        ring = joined(*(command(name, machine.gen, **fields) for name, fields in commands))
        machine.device.submit(Submission(0, Engine.RENDER, ring, RING, context=context))

    submit(1, sample_mask(1))
    submit(2, DRAW)
    submit(1, DRAW)
    assert names(machine.states[0]) == []
    assert mask_of(machine.states[1]) == 1


def test_constants_of_gen9_wait_for_the_binding_table_pointer_of_their_stage() -> None:
    """KBL PRM vol. 2a, 3DSTATE_CONSTANT_*: they are committed with 3DSTATE_BINDING_TABLE_POINTER_*."""
    machine = Watched("kbl")
    commit: Commands = "3DSTATE_BINDING_TABLE_POINTERS_VS", {}
    machine.do(machine.constants(), DRAW, commit, DRAW, machine.constants(offset=0x40), DRAW, commit, DRAW)
    found = [[n.address for n in state["3DSTATE_CONSTANT_VS"].children] if "3DSTATE_CONSTANT_VS" in state else []
             for state in machine.states]
    assert found == [[], [CONSTANTS], [CONSTANTS], [CONSTANTS + 0x40]]


@every_later
def test_pipe_control_takes_the_constants_of_all_stages_out_of_force(chip: str) -> None:
    machine = Watched(chip)
    commit: list[Commands] = [("3DSTATE_BINDING_TABLE_POINTERS_VS", {}), ("3DSTATE_BINDING_TABLE_POINTERS_PS", {})]
    machine.do(machine.constants("VS"), machine.constants("PS"), *commit, DRAW,
               ("PIPE_CONTROL", {"indirect_state_pointers_disable": True}), DRAW)
    found = [[name for name in names(state) if "CONSTANT" in name] for state in machine.states]
    assert found == [["3DSTATE_CONSTANT_VS", "3DSTATE_CONSTANT_PS"], []]


@pytest.mark.parametrize("loads", ["MI_LOAD_REGISTER_IMM", "MI_LOAD_REGISTER_MEM"])
def test_a_register_says_what_the_first_constant_buffer_is_relative_to(loads: str) -> None:
    machine = Watched("hsw")
    write = register_write("RENDER_INSTPM", machine.gen, constant_buffer_address_offset_disable=True)
    machine.device.memory.write(DATA, struct.pack("<I", write["data"]))
    load: Commands = (loads, {"writes": [write]}) if loads.endswith("IMM") else (
        loads, {"register_address": write["register_offset"], "memory_address": DATA})
    base: Commands = "STATE_BASE_ADDRESS", {"dynamic_state_base_address": 0x1000,
                                            "dynamic_state_base_address_modify_enable": True}
    fields = machine.fields(constant_buffer_0_read_length=1, pointer_to_constant_buffer_0=CONSTANTS)
    machine.do(base, ("3DSTATE_CONSTANT_VS", fields), DRAW, load, DRAW)
    assert [state["3DSTATE_CONSTANT_VS"].children[0].address for state in machine.states] == [
        CONSTANTS + 0x1000, CONSTANTS]


@every_later
def test_a_vertex_buffer_without_address_modify_enable_keeps_its_address(chip: str) -> None:
    machine = Watched(chip)
    machine.device.memory.write(CONSTANTS + 32, struct.pack("<f", 0.5))
    first, elements = vertex_input(**buffer_at(machine, CONSTANTS))
    second, _ = vertex_input(pitch=32, address_modify_enable=False, buffer_starting_address=0x5000)
    machine.do(first, second, elements, ("3DPRIMITIVE", {
        "vertex_count_per_instance": 1, "start_vertex_location": 1, "instance_count": 1}))
    (vertices,) = machine.states[0].draw.children
    assert isinstance(vertices, Data)
    assert (vertices.address, vertices.rows) == (CONSTANTS + 32, ["[1] (0.5)"])


@every_later
def test_memory_is_read_when_the_draw_begins(chip: str) -> None:
    machine = Watched(chip)
    store: Commands = "MI_STORE_DATA_IMM", {"address": CONSTANTS + 8, "data_dword_0": 0x3F000000}
    machine.do(("3DSTATE_CC_STATE_POINTERS", {"color_calc_state_pointer": CONSTANTS, **(
        {"color_calc_state_pointer_valid": True} if chip == "kbl" else {})}), DRAW, store, DRAW)
    assert [state.blocks("COLOR_CALC_STATE")[0].body.words[2] for state in machine.states] == [0, 0x3F000000]


@every_later
def test_media_state_is_the_copy_that_the_commands_have_made(chip: str) -> None:
    machine = Watched(chip)
    machine.device.memory.write(CONSTANTS, struct.pack("<8f", *[0.5] * 8))
    machine.set("GPGPU_DISPATCHDIMX", 7)
    machine.do(("PIPELINE_SELECT", {"pipeline_selection": 2, **({"mask_bits": 3} if chip == "kbl" else {})}),
               ("MEDIA_CURBE_LOAD", {"curbe_total_data_length": 32, "curbe_data_start_address": CONSTANTS}),
               ("STATE_BASE_ADDRESS", {"dynamic_state_base_address": 0x1000,
                                       "dynamic_state_base_address_modify_enable": True}),
               ("MI_STORE_DATA_IMM", {"address": CONSTANTS, "data_dword_0": 0}),
               ("GPGPU_WALKER", {"indirect_parameter_enable": True, "predicate_enable": True}))
    (state,) = machine.states
    (data,) = state["MEDIA_CURBE_LOAD"].children
    assert isinstance(data, Data)
    assert (data.address, data.values[0]) == (CONSTANTS, [0.5] * 4)
    assert (registers(state)["GPGPU_DISPATCHDIMX"], registers(state)["MI_PREDICATE_RESULT"]) == ((7,), (0,))


@pytest.mark.parametrize("name", ["later/triangle-kbl", "triangle-g4x"])
def test_a_draw_that_never_ends_has_a_state(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = endless(name, "2", tmp_path)
    with gen4emu.open(trace) as opened:
        assert opened.state(0).draw.draw == 0  # is not executed for it
    capsys.readouterr()
    assert run(["state", str(trace), "--draw", "0"]) == 0
    assert "KERNEL 1" in capsys.readouterr().out


def test_the_states_of_draws_come_in_any_order() -> None:
    with gen4emu.open(Path(__file__).parents[2] / "traces/later/triangle-kbl.aub.xz") as trace:
        expected = [trace.state(number).text() for number in range(4)]
        assert [trace.state(number).text() for number in (2, 0, 1, 1)] == [expected[n] for n in (2, 0, 1, 1)]
        assert [draw.state().text() for draw in trace.draws("0-3")] == expected
