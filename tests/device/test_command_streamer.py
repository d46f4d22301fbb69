"""The command streamer: state commands, batches, register and memory writes, contexts."""

from __future__ import annotations

import mmap
import struct
import threading
import time
from typing import Any

import pytest

from gen4emu.device.command_streamer import BadCommand
from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.options import Options
from gen4emu.hw.catalogue import command_named
from gen4emu.hw.chips import BY_NAME
from gen4emu.hw.gen import Gen
from gen4emu.trace.events import Engine, Submission

BATCH, DATA, RING = 0x20000, 0x30000, 0x10000
NOOP, END = 0, 0x05000000


class Machine:
    def __init__(self, name: str = "gm45", **options: Any) -> None:
        self.device = Device(BY_NAME[name], Options(workers=1, **options))
        self.gen = self.device.info.gen
        self.streamer = self.device.streamers[Engine.RENDER]
        self.state = self.streamer.state.raw
        self.device.memory.write(DATA, bytes(0x1000))

    def run(self, *words: int, at: int = BATCH) -> None:
        self.device.memory.write(at, struct.pack(f"<{len(words) + 1}I", *words, END))
        self.device.run_batch(at)

    def command(self, name: str, **fields: Any) -> None:
        self.run(*command_named(name, self.gen).pack(self.gen, **fields))

    def dwords(self, address: int, count: int) -> list[int]:
        return list(self.device.memory.read_dwords(address, count))

    def register(self, name: str) -> int:
        return self.device.registers.read(self.device.registers.offset(name))


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_urb_fences(machine: Machine) -> None:
    machine.run(0x60003F01, 0x05212040, 0x18000062)
    assert list(machine.state.urb_fence) == [64, 72, 82, 98, 0, 384]
    machine.run(0x60003F01, 0x0320A020, 0x10000042)
    assert list(machine.state.urb_fence) == [32, 40, 50, 66, 0, 256]


def test_a_fence_without_its_request_bit_is_ignored(machine: Machine) -> None:
    machine.run(0x60003F01, 0x05212040, 0x18000062)
    machine.run(0x60003001, 0, 0x10000000)
    assert list(machine.state.urb_fence) == [64, 72, 82, 98, 0, 256]


def test_cs_urb_state(machine: Machine) -> None:
    machine.run(0x60010000, 0x24)
    assert (machine.state.cs_urb_entries, machine.state.cs_urb_entry_units) == (4, 3)


def test_base_addresses_change_one_by_one(machine: Machine) -> None:
    machine.run(0x61010004, 0x1000001, 0x2000001, 0x3000001, 0xFFFFF001, 1)
    machine.run(0x61010004, 0x5000000, 0x6000001, 0, 0, 0)
    s = machine.state
    assert (s.general_state_base, s.surface_state_base, s.indirect_object_base, s.general_state_bound) == (
        0x1000000, 0x6000000, 0x3000000, 0xFFFFF000)


def test_pointers_are_resolved_with_the_base_of_their_time(machine: Machine) -> None:
    machine.run(0x61010004, 0x100001, 0x200001, 0, 0, 0, 0x78000005, 0x20, 0x41, 0x61, 0x80, 0xA0, 0xC0,
                0x78010004, 0x20, 0x40, 0x60, 0x80, 0xA0, 0x61010004, 1, 1, 0, 0, 0)
    s = machine.state
    assert (s.vs_state, s.gs_state, s.clip_state, s.sf_state, s.wm_state, s.cc_state) == (
        0x100020, 0x100040, 0x100060, 0x100080, 0x1000A0, 0x1000C0)
    assert (s.gs_enable, s.clip_enable) == (1, 1)
    assert list(s.binding_table) == [0x200020, 0x200040, 0x200060, 0x200080, 0x2000A0]


@pytest.mark.parametrize("header", [0x61040001, 0x69040001])
@pytest.mark.parametrize("name", ["965gm", "gm45"])
def test_both_encodings_of_pipeline_select_everywhere(name: str, header: int) -> None:
    machine = Machine(name)
    machine.run(header)
    assert machine.state.media_selected == 1


def test_pipe_control_writes_its_immediate_qword(machine: Machine) -> None:
    machine.run(0x7A004402, DATA | 4, 0x11111111, 0xDEADBEEF)
    assert machine.dwords(DATA, 3) == [0x11111111, 0xDEADBEEF, 0]


def test_pipe_control_without_an_operation_writes_nothing(machine: Machine) -> None:
    machine.run(0x7A001002, DATA, 1, 2)
    assert machine.dwords(DATA, 2) == [0, 0]


def test_pipe_control_writes_the_depth_count(machine: Machine) -> None:
    machine.state.counter[8] = 0x123456789A
    machine.run(0x7A00A002, DATA | 4, 0, 0)
    assert machine.dwords(DATA, 2) == [0x3456789A, 0x12]


def test_timestamps_never_go_back(machine: Machine) -> None:
    machine.run(0x7A00C002, DATA, 0, 0, NOOP, 0x7A00C002, DATA + 8, 0, 0)
    low1, high1, low2, high2 = machine.dwords(DATA, 4)
    assert (high2, low2) > (high1, low1) and high1 < 16


def test_store_data_imm_of_one_and_two_dwords(machine: Machine) -> None:
    machine.run(0x10400002, 0, DATA, 0xAABBCCDD, 0x10400003, 0, DATA + 8, 1, 2)
    assert machine.dwords(DATA, 4) == [0xAABBCCDD, 0, 1, 2]


def test_store_data_index_goes_to_the_status_page(machine: Machine) -> None:
    machine.device.write_register(0x2080, DATA)
    machine.run(0x10800001, 0x100, 0x42)
    assert machine.dwords(DATA + 0x100, 1) == [0x42]


def test_load_register_imm_with_byte_disables(machine: Machine) -> None:
    machine.run(0x11000001, 0x2000, 0x11223344)
    machine.run(0x11000101, 0x2000, 0xAABBCCDD)
    assert machine.device.registers.read(0x2000) == 0xAABBCC44


def test_load_register_imm_of_several_pairs(machine: Machine) -> None:
    machine.run(0x11000003, 0x2000, 1, 0x2004, 2)
    assert [machine.device.registers.read(o) for o in (0x2000, 0x2004)] == [1, 2]


def test_masked_registers_change_only_masked_bits(machine: Machine) -> None:
    machine.device.write_register(0x20C0, 0x00400040)
    assert machine.register("RENDER_INSTPM") == 0x40
    machine.device.write_register(0x20C0, 0x00000000)
    assert machine.register("RENDER_INSTPM") == 0x40
    machine.device.write_register(0x20C0, 0x00400000)
    assert machine.register("RENDER_INSTPM") == 0


def test_store_register_mem_reads_both_halves_of_a_counter(machine: Machine) -> None:
    machine.state.counter[0] = 0x1122334455667788
    machine.run(0x12400001, 0x2310, DATA, 0x12400001, 0x2314, DATA + 4)
    assert machine.dwords(DATA, 2) == [0x55667788, 0x11223344]


def test_counters_can_be_written(machine: Machine) -> None:
    machine.run(0x11000003, 0x2350, 5, 0x2354, 1)
    assert machine.state.counter[8] == (1 << 32) + 5


def test_unknown_registers_read_back(machine: Machine) -> None:
    machine.device.write_register(0x7F000, 0x1234)
    assert machine.device.registers.read(0x7F000) == 0x1234


def test_the_constants_are_those_of_the_time_of_the_command(machine: Machine) -> None:
    machine.device.memory.write(DATA, bytes([1]) * 128)
    machine.run(0x60010000, 0x11, 0x60020100, DATA | 1, 0x10400002, 0, DATA, 0)
    assert machine.state.curbe_rows == 4
    assert machine.state.curbe[0] == 0x01010101


def test_constants_are_relative_to_the_general_base_unless_instpm_says_absolute(machine: Machine) -> None:
    machine.device.memory.write(DATA + 0x1000, bytes([2]) * 64)
    machine.device.memory.write(DATA, bytes([3]) * 64)
    machine.run(0x61010004, 0x1001, 0, 0, 0, 0, 0x60020100, DATA)
    assert machine.state.curbe[0] == 0x02020202
    machine.device.write_register(0x20C0, 0x00400040)
    machine.run(0x60020100, DATA)
    assert machine.state.curbe[0] == 0x03030303


def test_an_invalid_constant_buffer_leaves_none(machine: Machine) -> None:
    machine.run(0x60020100, DATA, 0x60020000, DATA)
    assert machine.state.curbe_rows == 0


def test_a_ring_wraps_and_counts_its_turns(machine: Machine) -> None:
    device = machine.device
    device.memory.write(RING, bytes(0x4000))
    for offset, value in ((0x2038, RING), (0x2034, 0x3FF8), (0x203C, 0x3001), (0x2030, 0x10)):
        device.write_register(offset, value)
    assert machine.register("RENDER_RING_HEAD") == 0x00200010
    assert machine.streamer.commands == 6


def test_a_command_may_straddle_the_ring_s_end(machine: Machine) -> None:
    device = machine.device
    device.memory.write(RING, bytes(0x4000))
    device.memory.write(RING + 0x3FF8, struct.pack("<2I", 0x10400002, 0))
    device.memory.write(RING, struct.pack("<2I", DATA, 77))
    for offset, value in ((0x2038, RING), (0x2034, 0x3FF8), (0x203C, 0x3001), (0x2030, 8)):
        device.write_register(offset, value)
    assert machine.dwords(DATA, 1) == [77]


def test_a_disabled_ring_does_nothing(machine: Machine) -> None:
    machine.device.write_register(0x2030, 0x10)
    assert machine.streamer.commands == 0


@pytest.mark.parametrize("space", [0x18800000, 0x18800080, 0x18800180])
def test_batches_chain_and_return_to_the_ring(machine: Machine, space: int) -> None:
    memory = machine.device.memory
    memory.write(BATCH + 0x1000, struct.pack("<5I", 0x10400002, 0, DATA, 5, END))
    memory.write(BATCH, struct.pack("<2I", space, BATCH + 0x1000))
    memory.write(RING, bytes(0x4000) )
    memory.write(RING, struct.pack("<6I", space, BATCH, 0x10400002, 0, DATA + 4, 6))
    for offset, value in ((0x2038, RING), (0x203C, 0x3001), (0x2030, 24)):
        machine.device.write_register(offset, value)
    assert machine.dwords(DATA, 2) == [5, 6]


def test_a_batch_with_an_end_address_needs_no_end_command(machine: Machine) -> None:
    machine.device.memory.write(BATCH + 0x1000, struct.pack("<8I", 0x10400002, 0, DATA, 5, 0x10400002, 0, DATA, 9))
    machine.run(0x18000001, BATCH + 0x1000, BATCH + 0x100C)
    assert machine.dwords(DATA, 1) == [5]


def test_a_batch_that_calls_itself_is_a_hang() -> None:
    machine = Machine(max_batch_dwords=1 << 16)
    with pytest.raises(BadCommand, match="goes on after"):
        machine.run(*[NOOP] * 1022, 0x18800080, BATCH)
    assert machine.register("RENDER_ACTHD") & 1


def test_a_batch_that_leaves_memory_is_a_hang(machine: Machine) -> None:
    with pytest.raises(BadCommand, match="nothing is mapped"):
        machine.run(0x18800080, 0xF0000000)
    assert machine.register("PGTBL_ER") == 1 << 20
    assert machine.register("EIR") != 0


def test_unknown_commands_are_skipped_by_their_length_or_hang(machine: Machine) -> None:
    machine.run(0x7FFF0001, 1, 2, 0x10400002, 0, DATA, 5)
    assert machine.dwords(DATA, 1) == [5]
    assert list(machine.device.findings.count) == ["unknown command 0x7fff0001"]
    strict = Machine(strict=True)
    with pytest.raises(BadCommand, match="unknown command 0x7fff0001"):
        strict.run(0x7FFF0001, 1, 2)
    assert strict.register("RENDER_IPEHR") == 0x7FFF0001
    assert strict.register("RENDER_IPEIR") == 8


def test_a_short_command_has_zero_operands_and_is_reported(machine: Machine) -> None:
    machine.run(0x79000002, 1, 2, 3, 0x79000000, 7)
    assert list(machine.state.drawing_rectangle) == [0x79000000, 7, 0, 0]
    assert list(machine.device.findings.count) == ["3DSTATE_DRAWING_RECTANGLE has only 2 dwords"]


def test_noop_may_store_its_identification(machine: Machine) -> None:
    machine.run(0x00412345)
    assert machine.register("RENDER_NOPID") == 0x12345


def test_contexts_keep_their_state_apart(machine: Machine) -> None:
    machine.run(0x0C000000, 0x100108, 0x79060000, 1)
    machine.run(0x0C000000, 0x200108, 0x79060000, 2)
    assert machine.state.poly_stipple_offset[1] == 2
    machine.run(0x0C000000, 0x100108)
    assert machine.state.poly_stipple_offset[1] == 1
    machine.run(0x0C000000, 0x200109)
    assert machine.state.poly_stipple_offset[1] == 1  # restore inhibited: what runs goes on


def test_the_same_context_again_does_nothing_unless_forced(machine: Machine) -> None:
    machine.run(0x0C000000, 0x100108, 0x79060000, 1, 0x0C000000, 0x100108)
    assert machine.state.poly_stipple_offset[1] == 1


def test_interrupts_latch_unless_masked(machine: Machine) -> None:
    machine.device.write_register(0x2080, DATA)
    machine.device.write_register(0x2098, 0xFFFFFFFF)
    machine.run(0x01000000)
    assert machine.register("IIR") == 2 and machine.dwords(DATA, 1) == [0]
    machine.device.write_register(0x20A4, 2)
    assert machine.register("IIR") == 0
    machine.device.write_register(0x2098, 0xFFFFFFFD)
    machine.run(0x01000000)
    assert machine.dwords(DATA, 1) == [2]
    machine.device.write_register(0x20A4, 2)
    machine.device.write_register(0x20A8, 2)
    machine.run(0x01000000)
    assert machine.register("IIR") == 0


def test_waits_and_scan_lines_do_not_hang(machine: Machine) -> None:
    machine.run(0x01820000, 0x09000000, 0x00100020, 0x09800000, 0, 0x02000022, 0x02800000, 0x10400002, 0, DATA, 1)
    assert machine.dwords(DATA, 1) == [1]


@pytest.mark.parametrize("words", [(0x0A000001, 0x1000, 0x40000), (0x0A000002, 0x1000, 0x40000, 0)])
def test_a_flip_says_what_is_shown(machine: Machine, words: tuple[int, ...]) -> None:
    shown: list[int] = []

    class Screen(Listener):
        def flip(self, address: int) -> None:
            shown.append(address)

    machine.device.add_listener(Screen())
    machine.run(*words)
    assert shown == [0x40000]


def test_two_devices_do_not_know_of_each_other() -> None:
    one, two = Machine(), Machine("965gm")
    one.run(0x79060000, 1)
    two.run(0x79060000, 2)
    assert (one.state.poly_stipple_offset[1], two.state.poly_stipple_offset[1]) == (1, 2)
    assert (one.gen, two.gen) == (Gen.CTG, Gen.CL)


def test_a_non_secure_batch_may_write_registers_unless_strict() -> None:
    for strict, expected in ((False, 5), (True, 0)):
        machine = Machine(strict=strict)
        machine.device.memory.write(BATCH, struct.pack("<5I", 0x10400002, 0, DATA, 5, END))
        machine.device.submit(Submission(0, Engine.RENDER, struct.pack("<2I", 0x18800100, BATCH), RING))
        assert machine.dwords(DATA, 1) == [expected]
        assert bool(machine.register("EIR") & 8) is strict  # command privilege, on GM45
        assert list(machine.device.findings.count) == ["MI_STORE_DATA_IMM in a non-secure batch"] * strict
        machine.device.submit(Submission(0, Engine.RENDER, struct.pack("<2I", 0x18800000, BATCH), RING))
        assert machine.dwords(DATA, 1) == [5]


def test_a_batch_called_by_a_non_secure_one_is_not_secure_either() -> None:
    machine = Machine(strict=True)
    machine.device.memory.write(BATCH, struct.pack("<2I", 0x18800000, BATCH + 0x100))
    machine.device.memory.write(BATCH + 0x100, struct.pack("<5I", 0x10400002, 0, DATA, 5, END))
    machine.device.submit(Submission(0, Engine.RENDER, struct.pack("<2I", 0x18800100, BATCH), RING))
    assert machine.dwords(DATA, 1) == [0]


def test_a_spinning_batch_ends_when_the_cpu_writes_its_end(machine: Machine) -> None:
    page = mmap.mmap(-1, 0x1000)
    page[:16] = struct.pack("<4I", NOOP, 0x18800080, 0x60000, NOOP)
    machine.device.memory.map_external(0x60000, page)
    timer = threading.Timer(0.05, lambda: page.__setitem__(slice(0, 4), struct.pack("<I", END)))
    timer.start()
    started = time.monotonic()
    machine.device.run_batch(0x60000)
    assert 0.03 < time.monotonic() - started < 10
    timer.join()
