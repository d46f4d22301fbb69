"""The command streamer of Ivy Bridge and Haswell: registers as operands, predicates, arithmetic, post-sync writes."""

from __future__ import annotations

from typing import Any

import pytest

from gen4emu._native import ffi
from gen4emu.device.listener import Listener
from gen4emu.device.memory import MemoryFault
from gen4emu.hw.gen4.common import PostSyncOperation
from gen4emu.hw.gen7.mi import PredicateCombine, PredicateCompare, PredicateLoad
from gen4emu.hw.gen75.mi import AluOpcode, AluOperand
from gen4emu.trace.events import Engine
from tests.harness.commands import BATCH, DATA, DRAW, END, Later, Machine, command

SECOND_BATCH = BATCH + 0x800
_ALL_ONES = 0xFFFFFFFFFFFFFFFF


def primitive(**fields: Any) -> tuple[str, dict[str, Any]]:
    return "3DPRIMITIVE", DRAW[1] | fields


def predicate(load: PredicateLoad, combine: PredicateCombine, compare: PredicateCompare) -> tuple[str, dict[str, Any]]:
    return "MI_PREDICATE", {"load_operation": load, "combine_operation": combine, "compare_operation": compare}


# --- engines ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["ivb", "byt", "hsw", "skl", "kbl"])
def test_the_video_engine_has_commands_of_its_own(name: str) -> None:
    """MFX_AVC_IMG_STATE has the opcode of MEDIA_OBJECT, and MFX_AVC_WEIGHTOFFSET_STATE that of GPGPU_WALKER."""
    machine = Later(name)
    names = ("MFX_AVC_IMG_STATE", "MFX_AVC_WEIGHTOFFSET_STATE")
    machine.device.memory.write(BATCH, b"".join(
        word.to_bytes(4, "little") for video in names for word in command(video, machine.gen)))
    end = BATCH + 4 * sum(len(command(video, machine.gen)) for video in names)
    machine.device.memory.write(end, command("MI_BATCH_BUFFER_END", machine.gen)[0].to_bytes(4, "little"))
    machine.device.run_batch(BATCH, Engine.BSD)
    streamer = machine.device.streamers[Engine.BSD]
    assert streamer.findings.count == {f"{video} is not executed": 1 for video in names}
    assert streamer.position.address == end


# --- registers and memory ---------------------------------------------------------------------------------------------
def test_registers_are_loaded_from_memory_copied_and_stored() -> None:
    machine = Later("hsw")
    machine.device.memory.write(DATA, (0x12345678).to_bytes(4, "little"))
    first, second = (machine.offset(f"CS_GPR_R{i}") for i in (0, 3))
    machine.do(("MI_LOAD_REGISTER_MEM", {"register_address": first, "memory_address": DATA}),
               ("MI_LOAD_REGISTER_REG", {"source_register_address": first, "destination_register_address": second}),
               ("MI_STORE_REGISTER_MEM", {"register_address": second, "memory_address": DATA + 8}))
    assert machine.dwords(DATA, 3) == [0x12345678, 0, 0x12345678]


@pytest.mark.parametrize("name", ["ivb", "hsw", "kbl"])
def test_the_core_loads_parameters_of_draws_after_earlier_writes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Later(name)
    names = [f"3DPRIM_{parameter}" for parameter in (
        "START_VERTEX", "VERTEX_COUNT", "INSTANCE_COUNT", "START_INSTANCE", "BASE_VERTEX", "END_OFFSET")]
    machine.device.memory.write(DATA, b"".join(value.to_bytes(4, "little") for value in range(10, 16)))
    left: list[int] = []  # addresses that Python reads
    streamer = machine.device.streamers[Engine.RENDER]
    read = streamer._read_dword

    def note(address: int) -> int:
        left.append(address)
        return read(address)

    monkeypatch.setattr(streamer, "_read_dword", note)
    data = "immediate_data" if name == "kbl" else "immediate_data_low"
    write = ("PIPE_CONTROL", {"post_sync_operation": PostSyncOperation.WRITE_IMMEDIATE_DATA, "address": DATA + 8,
                              data: 99})
    loads = (("MI_LOAD_REGISTER_MEM", {"register_address": machine.offset(parameter), "memory_address": DATA + 4 * i})
             for i, parameter in enumerate(names))
    machine.do(write, *loads)
    assert [machine.register(parameter) for parameter in names] == [10, 11, 99, 0, 14, 15]  # 64 bits are written
    assert left == [DATA + 20]


@pytest.mark.parametrize("name", ["hsw", "kbl"])
def test_other_engines_load_the_same_registers(name: str) -> None:
    machine = Later(name)
    machine.device.memory.write(DATA, (99).to_bytes(4, "little"))
    register = machine.offset("3DPRIM_START_VERTEX")
    machine.put(BATCH, command("MI_LOAD_REGISTER_MEM", machine.gen, register_address=register, memory_address=DATA),
                command("MI_STORE_REGISTER_MEM", machine.gen, register_address=register, memory_address=DATA + 8), END)
    machine.device.run_batch(BATCH, Engine.BLT)
    assert (machine.register("3DPRIM_START_VERTEX"), *machine.dwords(DATA + 8, 1)) == (99, 99)


def test_a_load_from_memory_that_nothing_has_written_is_a_fault() -> None:
    machine = Later("hsw")
    register = machine.offset("3DPRIM_START_INSTANCE")
    with pytest.raises(MemoryFault, match="0x07000000"):
        machine.do(("MI_LOAD_REGISTER_MEM", {"register_address": register, "memory_address": 0x7000000}))


@pytest.mark.parametrize("high", [[], [0x55667788]])
def test_the_length_decides_how_much_is_stored(high: list[int]) -> None:
    machine = Later()
    machine.do(("MI_STORE_DATA_IMM", {"address": DATA, "data_dword_0": 0x11223344,
                                      "data_dword_1": [{"value": value} for value in high]}))
    assert machine.dwords(DATA, 2) == [0x11223344, *(high or [0])]


@pytest.mark.parametrize(("opcode", "result", "zero", "carry"), [
    (AluOpcode.ADD, 12, 0, 0), (AluOpcode.SUB, _ALL_ONES - 1, 0, _ALL_ONES), (AluOpcode.AND, 5, 0, 0),
    (AluOpcode.OR, 7, 0, 0), (AluOpcode.XOR, 2, 0, 0),
])
def test_math_of_general_purpose_registers(opcode: AluOpcode, result: int, zero: int, carry: int) -> None:
    """HSW PRM vol. 2a, MI_MATH: CF is all ones on a borrow."""
    machine = Later("hsw")
    machine.set_qword("CS_GPR_R0", 5)
    machine.set_qword("CS_GPR_R1", 7)
    steps = [(AluOpcode.LOAD, AluOperand.SRCA, AluOperand.REG0), (AluOpcode.LOAD, AluOperand.SRCB, AluOperand.REG1),
             (opcode, 0, 0), (AluOpcode.STORE, AluOperand.REG2, AluOperand.ACCU),
             (AluOpcode.STORE, AluOperand.REG3, AluOperand.ZF), (AluOpcode.STORE, AluOperand.REG4, AluOperand.CF),
             (AluOpcode.STOREINV, AluOperand.REG5, AluOperand.ACCU)]
    machine.do(("MI_MATH", {"instructions": [
        {"alu_opcode": operation, "operand_1": first, "operand_2": second} for operation, first, second in steps]}))
    assert [machine.qword(f"CS_GPR_R{i}") for i in range(2, 6)] == [result, zero, carry, result ^ _ALL_ONES]


@pytest.mark.parametrize("source", [[], [{}]])
def test_a_flip_notifies_listeners_of_the_address(source: list[dict[str, int]]) -> None:
    shown: list[int] = []

    class Screen(Listener):
        def flip(self, address: int) -> None:
            shown.append(address)

    machine = Later()
    machine.device.add_listener(Screen())
    machine.do(("MI_DISPLAY_FLIP", {"display_buffer_pitch": 0x1000, "display_buffer_base_address": 0x40000,
                                    "source": source}))
    assert shown == [0x40000]


# --- predicates -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("before", "load", "combine", "compare", "after"), [
    (0, PredicateLoad.LOAD, PredicateCombine.SET, PredicateCompare.TRUE, 1),
    (1, PredicateLoad.KEEP, PredicateCombine.SET, PredicateCompare.FALSE, 1),
    (0, PredicateLoad.LOADINV, PredicateCombine.SET, PredicateCompare.FALSE, 1),
    (1, PredicateLoad.LOAD, PredicateCombine.AND, PredicateCompare.FALSE, 0),
    (1, PredicateLoad.LOADINV, PredicateCombine.OR, PredicateCompare.FALSE, 0),  # the combination is inverted
    (1, PredicateLoad.LOAD, PredicateCombine.XOR, PredicateCompare.TRUE, 0),
])
def test_the_predicate_combines_and_loads(before: int, load: PredicateLoad, combine: PredicateCombine,
                                          compare: PredicateCompare, after: int) -> None:
    machine = Later()
    machine.set("MI_PREDICATE_RESULT", before)
    machine.do(predicate(load, combine, compare))
    assert machine.register("MI_PREDICATE_RESULT") == after


def test_draws_of_a_count_in_memory_end_with_the_count() -> None:
    """As drivers do it: draw i is wanted while i is not the count; the state stays off from there on."""
    machine = Later()
    machine.set_qword("MI_PREDICATE_SRC0", 2)
    for draw in range(4):
        machine.set_qword("MI_PREDICATE_SRC1", draw)
        machine.do(
            predicate(PredicateLoad.LOADINV if draw == 0 else PredicateLoad.LOAD,
                      PredicateCombine.SET if draw == 0 else PredicateCombine.XOR, PredicateCompare.SRCS_EQUAL),
            primitive(predicate_enable=True, start_vertex_location=draw))
    assert [words[3] for words in machine.draws] == [0, 1]


# --- draws ------------------------------------------------------------------------------------------------------------
def test_an_indirect_draw_takes_its_parameters_from_registers() -> None:
    machine = Later()
    for i, name in enumerate(("VERTEX_COUNT", "START_VERTEX", "INSTANCE_COUNT", "START_INSTANCE", "BASE_VERTEX")):
        machine.set(f"3DPRIM_{name}", 10 + i)
    machine.do(primitive(indirect_parameter_enable=True))
    direct = command("3DPRIMITIVE", machine.gen, vertex_count_per_instance=10, start_vertex_location=11,
                     instance_count=12, start_instance_location=13, base_vertex_location=14)
    assert machine.draws == [direct]


@pytest.mark.parametrize("fields", [{"vertex_count_per_instance": 0}, {"instance_count": 0}])
def test_a_draw_of_nothing_does_nothing(fields: dict[str, int]) -> None:
    machine = Later()
    machine.do(primitive(**fields))
    assert machine.draws == []


# --- batches ----------------------------------------------------------------------------------------------------------
def test_a_second_level_batch_returns() -> None:
    machine = Later("hsw")
    machine.put(SECOND_BATCH, command("MI_STORE_DATA_IMM", machine.gen, address=DATA, data_dword_0=1),
                command("MI_BATCH_BUFFER_END", machine.gen))
    machine.do(("MI_BATCH_BUFFER_START", {"second_level_batch_buffer": True,
                                          "batch_buffer_start_address": SECOND_BATCH}),
               ("MI_STORE_DATA_IMM", {"address": DATA + 4, "data_dword_0": 2}))
    assert machine.dwords(DATA, 2) == [1, 2]


def test_a_chained_batch_does_not_return() -> None:
    machine = Later()
    machine.put(SECOND_BATCH, command("MI_BATCH_BUFFER_END", machine.gen))
    machine.do(("MI_BATCH_BUFFER_START", {"batch_buffer_start_address": SECOND_BATCH}),
               ("MI_STORE_DATA_IMM", {"address": DATA, "data_dword_0": 2}))
    assert machine.dwords(DATA, 1) == [0]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", ["ivb", "hsw", "kbl"])
def test_user_batches_may_use_privileged_commands_and_any_register(name: str, strict: bool) -> None:
    """docs/decisions.md 169."""
    machine = Machine(name, strict=strict)
    instpm = machine.device.registers.offset("RENDER_INSTPM")
    machine.device.memory.write(DATA, (0x00400040).to_bytes(4, "little"))
    machine.put(BATCH, *(command(kind, machine.gen, **fields) for kind, fields in (
        ("MI_LOAD_REGISTER_MEM", {"register_address": instpm, "memory_address": DATA}),
        ("MI_STORE_REGISTER_MEM", {"register_address": instpm, "memory_address": DATA + 4}),
        ("MI_STORE_DATA_IMM", {"address": DATA + 8, "data_dword_0": 5}), ("MI_BATCH_BUFFER_END", {}))))
    machine.submit(command("MI_BATCH_BUFFER_START", machine.gen, address_space_indicator=1,
                           batch_buffer_start_address=BATCH))
    assert machine.dwords(DATA + 4, 2) == [machine.register("RENDER_INSTPM"), 5]
    assert machine.register("RENDER_INSTPM") & 0x40
    assert not machine.device.findings.count


@pytest.mark.parametrize(("memory", "stored"), [(5, 0), (6, 1)])
def test_a_conditional_end_compares_memory_with_its_dword(memory: int, stored: int) -> None:
    machine = Later()
    machine.device.memory.write(DATA + 16, memory.to_bytes(4, "little"))
    machine.do(("MI_CONDITIONAL_BATCH_BUFFER_END", {"compare_data_dword": 5, "compare_address": DATA + 16}),
               ("MI_STORE_DATA_IMM", {"address": DATA, "data_dword_0": 1}))
    assert machine.dwords(DATA, 1) == [stored]


# --- PIPE_CONTROL -----------------------------------------------------------------------------------------------------
def test_the_short_form_writes_four_bytes() -> None:
    machine = Later()
    machine.device.memory.write(DATA, b"\xff" * 8)
    words = command("PIPE_CONTROL", machine.gen, post_sync_operation=PostSyncOperation.WRITE_IMMEDIATE_DATA,
                    address=DATA, immediate_data_low=0x11223344, dword_length=2)[:4]
    machine.run(words)
    assert machine.dwords(DATA, 2) == [0x11223344, 0xFFFFFFFF]
    assert not machine.device.findings.count


def test_post_sync_operations_write_eight_bytes() -> None:
    machine = Later()
    machine.state.counter[8] = 0x1_0000_0007  # PS_DEPTH_COUNT
    machine.do(("PIPE_CONTROL", {"post_sync_operation": PostSyncOperation.WRITE_IMMEDIATE_DATA, "address": DATA,
                                 "immediate_data_low": 3, "immediate_data_high": 4}),
               ("PIPE_CONTROL", {"post_sync_operation": PostSyncOperation.WRITE_PS_DEPTH_COUNT, "address": DATA + 8}),
               ("PIPE_CONTROL", {"post_sync_operation": PostSyncOperation.WRITE_TIMESTAMP, "address": DATA + 16}))
    assert machine.dwords(DATA, 6) == [3, 4, 7, 1, 3, 0]


def test_immediate_data_may_go_to_a_register() -> None:
    machine = Later()
    machine.do(("PIPE_CONTROL", {"lri_post_sync_operation": 1, "register_offset": machine.offset("3DPRIM_END_OFFSET"),
                                 "immediate_data_low": 99}))
    assert machine.register("3DPRIM_END_OFFSET") == 99


def test_disabling_indirect_state_pointers_turns_push_constants_off() -> None:
    machine = Later()
    machine.do(("3DSTATE_CONSTANT_PS", {"constant_buffer_0_read_length": 4, "constant_buffer_2_read_length": 1}))
    assert list(machine.state.gen7.constant_ps[1:3]) == [4, 1]
    machine.do(("PIPE_CONTROL", {"indirect_state_pointers_disable": True}))
    assert list(machine.state.gen7.constant_ps[1:3]) == [0, 0]


# --- state ------------------------------------------------------------------------------------------------------------
def test_state_commands_are_kept_whole() -> None:
    machine = Later()
    words = command("3DSTATE_PS", machine.gen, kernel_start_pointer_0=0x1240, dispatch_16_pixel_enable=True)
    machine.run(words)
    assert list(machine.state.gen7.ps) == words


def test_a_vertex_buffer_keeps_its_address_without_address_modify_enable() -> None:
    machine = Later()
    buffer = {"vertex_buffer_index": 32, "buffer_starting_address": 0x1000, "end_address": 0x10FF}
    machine.do(("3DSTATE_VERTEX_BUFFERS", {"vertex_buffers": [
        buffer | {"address_modify_enable": True, "buffer_pitch": 12}]}))
    machine.do(("3DSTATE_VERTEX_BUFFERS", {"vertex_buffers": [
        buffer | {"buffer_starting_address": 0x5000, "end_address": 0x5FFF, "buffer_pitch": 16,
                  "instance_data_step_rate": 2}]}))
    kept = list(machine.state.gen7.vertex_buffer[32])
    assert (kept[0] & 0xFFF, kept[1:]) == (16, [0x1000, 0x10FF, 2])


def test_only_bases_with_modify_enable_change() -> None:
    machine = Later()
    machine.do(("STATE_BASE_ADDRESS", {
        "dynamic_state_base_address": 0x10000, "dynamic_state_base_address_modify_enable": True,
        "instruction_base_address": 0x20000, "instruction_base_address_modify_enable": True}))
    machine.do(("STATE_BASE_ADDRESS", {
        "dynamic_state_base_address": 0x30000, "instruction_base_address": 0x40000,
        "instruction_base_address_modify_enable": True}))
    gen7 = machine.state.gen7
    assert (gen7.dynamic_state_base, gen7.instruction_base) == (0x10000, 0x40000)


def test_contexts_have_their_own_commands() -> None:
    machine = Later()
    context = [command("MI_SET_CONTEXT", machine.gen, logical_context_address=address)
               for address in (0x10000, 0x20000)]
    words = [command("3DSTATE_SAMPLE_MASK", machine.gen, sample_mask=mask) for mask in (0x3, 0xF)]
    machine.submit(context[0], words[0], context[1], words[1], context[0])
    assert list(machine.state.gen7.sample_mask) == words[0]
    assert ffi.sizeof(machine.state.gen7.sample_mask) == 8


def test_contexts_have_the_registers_that_their_batches_write() -> None:
    machine = Later("hsw")
    source = machine.offset("MI_PREDICATE_SRC0")
    machine.set_qword("CS_GPR_R0", 0x1234)

    def enter(number: int, **fields: bool) -> None:
        machine.submit(command("MI_SET_CONTEXT", machine.gen, logical_context_address=number << 16, **fields))

    enter(1)
    machine.do(("MI_LOAD_REGISTER_REG", {"source_register_address": machine.offset("CS_GPR_R0"),
                                         "destination_register_address": source}))
    enter(2, restore_inhibit=True)
    assert machine.qword("MI_PREDICATE_SRC0") == 0x1234  # not restored
    machine.set_qword("MI_PREDICATE_SRC0", 7)
    enter(1)
    assert machine.qword("MI_PREDICATE_SRC0") == 0x1234
    enter(2)
    assert machine.qword("MI_PREDICATE_SRC0") == 7


@pytest.mark.parametrize(("device", "name"), [
    ("ivb", "GPGPU_OBJECT"), ("hsw", "GPGPU_OBJECT"), ("hsw", "MI_LOAD_URB_MEM"), ("hsw", "MI_STORE_URB_MEM"),
    ("hsw", "MI_RS_STORE_DATA_IMM"),
])
def test_commands_that_are_not_executed_are_reported(device: str, name: str) -> None:
    machine = Later(device)
    machine.do((name, {}))
    (finding,) = machine.streamer.findings.count
    assert finding.startswith(name) and "not executed" in finding


def test_constants_and_descriptors_of_media_threads_are_those_of_the_time_of_the_command() -> None:
    machine = Later()
    machine.device.memory.write(0x10100, bytes(range(128)))
    machine.do(("STATE_BASE_ADDRESS", {
        "dynamic_state_base_address": 0x10000, "dynamic_state_base_address_modify_enable": True}))
    machine.do(("MEDIA_CURBE_LOAD", {"curbe_total_data_length": 96, "curbe_data_start_address": 0x120}))
    machine.do(("MEDIA_INTERFACE_DESCRIPTOR_LOAD", {
        "interface_descriptor_total_length": 64, "interface_descriptor_data_start_address": 0x100}))
    machine.device.memory.write(0x10100, bytes(128))
    state, gen7 = machine.state, machine.state.gen7
    assert state.curbe_rows == 3
    assert bytes(ffi.buffer(state.curbe))[:96] == bytes(range(32, 128))
    assert (gen7.media_descriptors, gen7.media_descriptor_address) == (2, 0x10100)
    assert bytes(ffi.buffer(gen7.media_descriptor))[:64] == bytes(range(64))
