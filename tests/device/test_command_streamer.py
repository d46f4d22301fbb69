"""The command streamer: state commands, batches, register and memory writes, contexts."""

from __future__ import annotations

import mmap
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from gen4emu.device.command_streamer import BadCommand
from gen4emu.device.listener import Listener
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.common import GraphicsAddressType, Pipeline, PostSyncOperation
from gen4emu.hw.gen4.mi import BatchMemorySpace, ContextAddressSpace
from tests.harness.commands import (
    BATCH,
    DATA,
    END,
    NOOP,
    RING,
    Machine,
    Words,
    command,
    joined,
    load_register,
    start_batch,
    store,
)

ABSOLUTE_CONSTANTS = 0x40  # in INSTPM: constant buffer address offset disable
USER_INTERRUPT = 2  # its bit in IIR, IMR and HWSTAM


@pytest.fixture
def machine() -> Machine:
    return Machine()


UNITS = ("vs", "gs", "clip", "sf", "vfe", "cs")


def fences(requests: Sequence[str], **fences: int) -> Words:
    """URB_FENCE that changes the fences of the units in `requests`."""
    return command("URB_FENCE", **{f"{unit}_urb_reallocation_request": True for unit in requests},
                   **{f"{unit}_fence": row for unit, row in fences.items()})


def test_urb_fences(machine: Machine) -> None:
    machine.run(fences(UNITS, vs=64, gs=72, clip=82, sf=98, cs=384))
    assert list(machine.state.urb_fence) == [64, 72, 82, 98, 0, 384]
    machine.run(fences(UNITS, vs=32, gs=40, clip=50, sf=66, cs=256))
    assert list(machine.state.urb_fence) == [32, 40, 50, 66, 0, 256]


def test_a_fence_without_its_request_bit_is_ignored(machine: Machine) -> None:
    machine.run(fences(UNITS, vs=64, gs=72, clip=82, sf=98, cs=384))
    machine.run(fences(("vfe", "cs"), cs=256))
    assert list(machine.state.urb_fence) == [64, 72, 82, 98, 0, 256]


def test_cs_urb_state(machine: Machine) -> None:
    machine.run(command("CS_URB_STATE", number_of_urb_entries=4, urb_entry_allocation_size=3))
    assert (machine.state.cs_urb_entries, machine.state.cs_urb_entry_units) == (4, 3)


def bases(**addresses: int) -> Words:
    """STATE_BASE_ADDRESS that changes these base addresses and upper bounds."""
    return command("STATE_BASE_ADDRESS", **addresses, **{f"{name}_modify_enable": True for name in addresses})


def test_base_addresses_change_one_by_one(machine: Machine) -> None:
    machine.run(bases(general_state_base_address=0x1000000, surface_state_base_address=0x2000000,
                      indirect_object_base_address=0x3000000, general_state_access_upper_bound=0xFFFFF000,
                      indirect_object_access_upper_bound=0))
    machine.run(command("STATE_BASE_ADDRESS", general_state_base_address=0x5000000,
                        surface_state_base_address=0x6000000, surface_state_base_address_modify_enable=True))
    s = machine.state
    assert (s.general_state_base, s.surface_state_base, s.indirect_object_base, s.general_state_bound) == (
        0x1000000, 0x6000000, 0x3000000, 0xFFFFF000)


def test_pointers_are_resolved_against_the_base_in_force(machine: Machine) -> None:
    machine.run(
        bases(general_state_base_address=0x100000, surface_state_base_address=0x200000),
        command("3DSTATE_PIPELINED_POINTERS", pointer_to_vs_state=0x20, pointer_to_gs_state=0x40, gs_enable=True,
                pointer_to_clip_state=0x60, clip_enable=True, pointer_to_sf_state=0x80, pointer_to_wm_state=0xA0,
                pointer_to_color_calc_state=0xC0),
        command("3DSTATE_BINDING_TABLE_POINTERS", pointer_to_vs_binding_table=0x20, pointer_to_gs_binding_table=0x40,
                pointer_to_clip_binding_table=0x60, pointer_to_sf_binding_table=0x80,
                pointer_to_ps_binding_table=0xA0),
        bases(general_state_base_address=0, surface_state_base_address=0))
    s = machine.state
    assert (s.vs_state, s.gs_state, s.clip_state, s.sf_state, s.wm_state, s.cc_state) == (
        0x100020, 0x100040, 0x100060, 0x100080, 0x1000A0, 0x1000C0)
    assert (s.gs_enable, s.clip_enable) == (1, 1)
    assert list(s.binding_table) == [0x200020, 0x200040, 0x200060, 0x200080, 0x2000A0]


@pytest.mark.parametrize("encoding", [Gen.CL, Gen.CTG])
@pytest.mark.parametrize("name", ["965gm", "gm45"])
def test_both_encodings_of_pipeline_select_work_on_every_device(name: str, encoding: Gen) -> None:
    machine = Machine(name)
    machine.run(command("PIPELINE_SELECT", encoding, pipeline_selection=Pipeline.MEDIA))
    assert machine.state.media_selected == 1


def pipe_control(address: int, operation: PostSyncOperation, **fields: Any) -> Words:
    return command("PIPE_CONTROL", destination_address=address, destination_address_type=GraphicsAddressType.GLOBAL,
                   post_sync_operation=operation, **fields)


def test_pipe_control_writes_its_immediate_qword(machine: Machine) -> None:
    machine.run(pipe_control(DATA, PostSyncOperation.WRITE_IMMEDIATE_DATA, texture_cache_flush_enable=True,
                             immediate_data_low=0x11111111, immediate_data_high=0xDEADBEEF))
    assert machine.dwords(DATA, 3) == [0x11111111, 0xDEADBEEF, 0]


def test_pipe_control_without_an_operation_writes_nothing(machine: Machine) -> None:
    machine.run(pipe_control(DATA, PostSyncOperation.NO_WRITE, write_cache_flush_enable=True, immediate_data_low=1,
                             immediate_data_high=2))
    assert machine.dwords(DATA, 2) == [0, 0]


def test_pipe_control_writes_the_depth_count(machine: Machine) -> None:
    machine.state.counter[8] = 0x123456789A
    machine.run(pipe_control(DATA, PostSyncOperation.WRITE_PS_DEPTH_COUNT, depth_stall_enable=True))
    assert machine.dwords(DATA, 2) == [0x3456789A, 0x12]


def test_timestamps_never_go_back(machine: Machine) -> None:
    machine.run(pipe_control(DATA, PostSyncOperation.WRITE_TIMESTAMP), NOOP,
                pipe_control(DATA + 8, PostSyncOperation.WRITE_TIMESTAMP))
    low1, high1, low2, high2 = machine.dwords(DATA, 4)
    assert (high2, low2) > (high1, low1) and high1 < 16


def test_store_data_imm_of_one_and_two_dwords(machine: Machine) -> None:
    machine.run(store(DATA, 0xAABBCCDD), store(DATA + 8, 1, 2))
    assert machine.dwords(DATA, 4) == [0xAABBCCDD, 0, 1, 2]


def test_store_data_index_goes_to_the_status_page(machine: Machine) -> None:
    machine.set("RENDER_HWS_PGA", DATA)
    machine.run(command("MI_STORE_DATA_INDEX", offset=0x100, data=0x42))
    assert machine.dwords(DATA + 0x100, 1) == [0x42]


def test_load_register_imm_with_byte_disables(machine: Machine) -> None:
    machine.run(load_register(0x2000, 0x11223344))
    machine.run(load_register(0x2000, 0xAABBCCDD, byte_write_disables=1))
    assert machine.device.registers.read(0x2000) == 0xAABBCC44


def test_load_register_imm_of_several_pairs(machine: Machine) -> None:
    machine.run(command("MI_LOAD_REGISTER_IMM", writes=[
        {"register_offset": 0x2000, "data": 1}, {"register_offset": 0x2004, "data": 2}]))
    assert [machine.device.registers.read(o) for o in (0x2000, 0x2004)] == [1, 2]


def test_masked_registers_change_only_masked_bits(machine: Machine) -> None:
    machine.set("RENDER_INSTPM", ABSOLUTE_CONSTANTS << 16 | ABSOLUTE_CONSTANTS)
    assert machine.register("RENDER_INSTPM") == ABSOLUTE_CONSTANTS
    machine.set("RENDER_INSTPM", 0)
    assert machine.register("RENDER_INSTPM") == ABSOLUTE_CONSTANTS
    machine.set("RENDER_INSTPM", ABSOLUTE_CONSTANTS << 16)
    assert machine.register("RENDER_INSTPM") == 0


def test_store_register_mem_reads_both_halves_of_a_counter(machine: Machine) -> None:
    machine.state.counter[0] = 0x1122334455667788
    offset = machine.device.registers.offset("IA_VERTICES_COUNT")
    machine.run(*(command("MI_STORE_REGISTER_MEM", use_global_gtt=True, register_offset=offset + half,
                          address=DATA + half) for half in (0, 4)))
    assert machine.dwords(DATA, 2) == [0x55667788, 0x11223344]


def test_counters_can_be_written(machine: Machine) -> None:
    offset = machine.device.registers.offset("PS_DEPTH_COUNT")
    machine.run(load_register(offset, 5), load_register(offset + 4, 1))
    assert machine.state.counter[8] == (1 << 32) + 5


def test_unknown_registers_read_back(machine: Machine) -> None:
    machine.device.write_register(0x7F000, 0x1234)
    assert machine.device.registers.read(0x7F000) == 0x1234


def constants(address: int, rows: int = 1, valid: bool = True) -> Words:
    """CONSTANT_BUFFER of rows of 64 bytes."""
    return command("CONSTANT_BUFFER", valid=valid, buffer_starting_address=address, buffer_length=rows)


def test_constants_are_read_when_the_command_executes(machine: Machine) -> None:
    machine.device.memory.write(DATA, bytes([1]) * 128)
    machine.run(command("CS_URB_STATE", number_of_urb_entries=1, urb_entry_allocation_size=2),
                constants(DATA, rows=2), store(DATA, 0))
    assert machine.state.curbe_rows == 4
    assert machine.state.curbe[0] == 0x01010101


def test_constants_are_relative_to_the_general_base_unless_instpm_says_absolute(machine: Machine) -> None:
    machine.device.memory.write(DATA + 0x1000, bytes([2]) * 64)
    machine.device.memory.write(DATA, bytes([3]) * 64)
    machine.run(bases(general_state_base_address=0x1000), constants(DATA))
    assert machine.state.curbe[0] == 0x02020202
    machine.set("RENDER_INSTPM", ABSOLUTE_CONSTANTS << 16 | ABSOLUTE_CONSTANTS)
    machine.run(constants(DATA))
    assert machine.state.curbe[0] == 0x03030303


def test_an_invalid_constant_buffer_leaves_none(machine: Machine) -> None:
    machine.run(constants(DATA), constants(DATA, valid=False))
    assert machine.state.curbe_rows == 0


def test_a_ring_wraps_and_counts_its_turns(machine: Machine) -> None:
    machine.device.memory.write(RING, bytes(0x4000))
    machine.set_ring(head=0x3FF8, tail=0x10)
    assert machine.register("RENDER_RING_HEAD") == 0x00200010
    assert machine.streamer.commands == 6


def test_a_command_may_straddle_the_ring_s_end(machine: Machine) -> None:
    words = store(DATA, 77)
    machine.device.memory.write(RING, bytes(0x4000))
    machine.put(RING + 0x3FF8, words[:2])
    machine.put(RING, words[2:])
    machine.set_ring(head=0x3FF8, tail=8)
    assert machine.dwords(DATA, 1) == [77]


def test_a_disabled_ring_does_nothing(machine: Machine) -> None:
    machine.set("RENDER_RING_TAIL", 0x10)
    assert machine.streamer.commands == 0


@pytest.mark.parametrize(("space", "non_secure"), [
    (BatchMemorySpace.UNSPECIFIED, False), (BatchMemorySpace.GTT, False), (BatchMemorySpace.GTT, True)])
def test_batches_chain_and_return_to_the_ring(machine: Machine, space: BatchMemorySpace, non_secure: bool) -> None:
    machine.put(BATCH + 0x1000, store(DATA, 5), END)
    machine.put(BATCH, start_batch(BATCH + 0x1000, space, non_secure=non_secure))
    machine.device.memory.write(RING, bytes(0x4000))
    machine.put(RING, start_batch(BATCH, space, non_secure=non_secure), store(DATA + 4, 6))
    machine.set_ring(head=0, tail=24)
    assert machine.dwords(DATA, 2) == [5, 6]


def test_a_batch_with_an_end_address_needs_no_end_command(machine: Machine) -> None:
    machine.put(BATCH + 0x1000, store(DATA, 5), store(DATA, 9))
    machine.run(command("MI_BATCH_BUFFER", start_address=BATCH + 0x1000, end_address=BATCH + 0x100C))
    assert machine.dwords(DATA, 1) == [5]


def test_a_batch_that_calls_itself_is_a_hang() -> None:
    machine = Machine(max_batch_dwords=1 << 16)
    with pytest.raises(BadCommand, match="does not end after"):
        machine.run(*[NOOP] * 1022, start_batch(BATCH))
    assert machine.register("RENDER_ACTHD") & 1


def test_a_batch_that_leaves_memory_is_a_hang(machine: Machine) -> None:
    with pytest.raises(BadCommand, match="nothing is mapped"):
        machine.run(start_batch(0xF0000000))
    assert machine.register("PGTBL_ER") == 1 << 20
    assert machine.register("EIR") != 0


def test_unknown_commands_are_skipped_by_their_length_or_hang(machine: Machine) -> None:
    unknown = (0x7FFF0001, 1, 2)
    machine.run(unknown, store(DATA, 5))
    assert machine.dwords(DATA, 1) == [5]
    assert list(machine.device.findings.count) == ["unknown command 0x7fff0001"]
    strict = Machine(strict=True)
    with pytest.raises(BadCommand, match="unknown command 0x7fff0001"):
        strict.run(unknown)
    assert strict.register("RENDER_IPEHR") == unknown[0]
    assert strict.register("RENDER_IPEIR") == 8


def test_a_short_command_has_zero_operands_and_is_reported(machine: Machine) -> None:
    whole = command("3DSTATE_DRAWING_RECTANGLE", clipped_drawing_rectangle_x_min=1, clipped_drawing_rectangle_x_max=2,
                    drawing_rectangle_origin_x=3)
    short = [*command("3DSTATE_DRAWING_RECTANGLE", dword_length=0)[:1], 7]
    machine.run(whole, short)
    assert list(machine.state.drawing_rectangle) == [*short, 0, 0]
    assert list(machine.device.findings.count) == ["3DSTATE_DRAWING_RECTANGLE has only 2 dwords"]


def test_noop_may_store_its_identification(machine: Machine) -> None:
    machine.run(command("MI_NOOP", identification_write_enable=True, identification=0x12345))
    assert machine.register("RENDER_NOPID") == 0x12345


def context(address: int, **fields: Any) -> Words:
    return command("MI_SET_CONTEXT", logical_context_address=address, address_space=ContextAddressSpace.GTT,
                   extended_state_save_enable=True, **fields)


def stipple_offset(y: int) -> Words:
    """A command whose effect is easy to see."""
    return command("3DSTATE_POLY_STIPPLE_OFFSET", polygon_stipple_y_offset=y)


def test_contexts_keep_their_state_apart(machine: Machine) -> None:
    machine.run(context(0x100000), stipple_offset(1))
    machine.run(context(0x200000), stipple_offset(2))
    assert machine.state.poly_stipple_offset[1] == 2
    machine.run(context(0x100000))
    assert machine.state.poly_stipple_offset[1] == 1
    machine.run(context(0x200000, restore_inhibit=True))
    assert machine.state.poly_stipple_offset[1] == 1  # the state of the context that ran is kept


def test_the_same_context_again_does_nothing_unless_forced(machine: Machine) -> None:
    machine.run(context(0x100000), stipple_offset(1), context(0x100000))
    assert machine.state.poly_stipple_offset[1] == 1


def test_interrupts_latch_unless_masked(machine: Machine) -> None:
    interrupt = command("MI_USER_INTERRUPT")
    machine.set("RENDER_HWS_PGA", DATA)
    machine.set("HWSTAM", 0xFFFFFFFF)
    machine.run(interrupt)
    assert machine.register("IIR") == USER_INTERRUPT and machine.dwords(DATA, 1) == [0]
    machine.set("IIR", USER_INTERRUPT)
    assert machine.register("IIR") == 0
    machine.set("HWSTAM", ~USER_INTERRUPT & 0xFFFFFFFF)
    machine.run(interrupt)
    assert machine.dwords(DATA, 1) == [USER_INTERRUPT]
    machine.set("IIR", USER_INTERRUPT)
    machine.set("IMR", USER_INTERRUPT)
    machine.run(interrupt)
    assert machine.register("IIR") == 0


def test_waits_and_scan_lines_do_not_hang(machine: Machine) -> None:
    machine.run(command("MI_WAIT_FOR_EVENT", pipe_a_start_of_vertical_blank=True),
                command("MI_LOAD_SCAN_LINES_INCL", start_scan_line=0x10, end_scan_line=0x20),
                command("MI_LOAD_SCAN_LINES_EXCL"),
                command("MI_FLUSH", indirect_state_pointers_disable=True, state_instruction_cache_invalidate=True),
                command("MI_ARB_CHECK"), store(DATA, 1))
    assert machine.dwords(DATA, 1) == [1]


@pytest.mark.parametrize("source", [[], [{}]])
def test_a_flip_notifies_listeners_of_the_address(machine: Machine, source: list[dict[str, int]]) -> None:
    shown: list[int] = []

    class Screen(Listener):
        def flip(self, address: int) -> None:
            shown.append(address)

    machine.device.add_listener(Screen())
    machine.run(command("MI_DISPLAY_FLIP", pitch_bytes=0x1000, base_address=0x40000, source=source))
    assert shown == [0x40000]


def test_two_devices_share_no_state() -> None:
    one, two = Machine(), Machine("965gm")
    one.run(stipple_offset(1))
    two.run(stipple_offset(2))
    assert (one.state.poly_stipple_offset[1], two.state.poly_stipple_offset[1]) == (1, 2)
    assert (one.gen, two.gen) == (Gen.CTG, Gen.CL)


def test_a_non_secure_batch_may_write_registers_unless_strict() -> None:
    for strict, expected in ((False, 5), (True, 0)):
        machine = Machine(strict=strict)
        machine.put(BATCH, store(DATA, 5), END)
        machine.submit(start_batch(BATCH, BatchMemorySpace.UNSPECIFIED, non_secure=True))
        assert machine.dwords(DATA, 1) == [expected]
        assert bool(machine.register("EIR") & 8) is strict  # command privilege, on GM45
        assert list(machine.device.findings.count) == ["MI_STORE_DATA_IMM in a non-secure batch"] * strict
        machine.submit(start_batch(BATCH, BatchMemorySpace.UNSPECIFIED))
        assert machine.dwords(DATA, 1) == [5]


def test_a_batch_called_by_a_non_secure_one_is_not_secure_either() -> None:
    machine = Machine(strict=True)
    machine.put(BATCH, start_batch(BATCH + 0x100, BatchMemorySpace.UNSPECIFIED))
    machine.put(BATCH + 0x100, store(DATA, 5), END)
    machine.submit(start_batch(BATCH, BatchMemorySpace.UNSPECIFIED, non_secure=True))
    assert machine.dwords(DATA, 1) == [0]


def test_a_spinning_batch_ends_when_the_cpu_writes_its_end(machine: Machine) -> None:
    page = mmap.mmap(-1, 0x1000)
    page[:16] = joined(NOOP, start_batch(0x60000), NOOP)
    machine.device.memory.map_external(0x60000, page)
    timer = threading.Timer(0.05, lambda: page.__setitem__(slice(0, 4), joined(END)))
    timer.start()
    started = time.monotonic()
    machine.device.run_batch(0x60000)
    assert 0.03 < time.monotonic() - started < 10
    timer.join()
