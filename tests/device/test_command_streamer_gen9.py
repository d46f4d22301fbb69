"""The command streamer and the state of Kaby Lake: 48-bit addresses, atomics, semaphores, depth operations."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from gen4emu._native import ffi
from gen4emu.device.blitter import FAST_COPY_BYTES, FAST_COPY_TILINGS
from gen4emu.device.tiling import SurfaceLayout, Tiling
from gen4emu.errors import HangError
from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.blt import ColorDepth
from gen4emu.hw.gen4.common import PostSyncOperation
from gen4emu.hw.gen8.mi import PredicateEnableGen8, SemaphoreCompare
from gen4emu.hw.gen9.blt import FastCopyDepth, FastCopyTiling, LegacyTileY
from gen4emu.trace.events import Engine
from tests.harness.commands import BATCH, DATA, DRAW, Later, Words, command

SECOND_BATCH = BATCH + 0x800
FAR = 0x7654_3210_0000  # bit 47 is 0
HIGH = 0x8000_0010_0000  # bit 47 is 1
HALF = 0x3F000000  # 0.5
CANONICAL = HIGH | 0xFFFF << 48


def kaby_lake() -> Later:
    machine = Later("kbl")
    for page in (FAR, HIGH):
        machine.device.memory.write(page, bytes(0x1000))
    return machine


def qwords(machine: Later, address: int, count: int = 1) -> list[int]:
    return list(struct.unpack(f"<{count}Q", machine.device.memory.read(address, 8 * count)))


# --- addresses --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("address", "place"), [(FAR, FAR), (HIGH, HIGH), (CANONICAL, HIGH)])
def test_registers_go_to_and_come_from_48_bit_addresses(address: int, place: int) -> None:
    machine = kaby_lake()
    first, second = (machine.offset(f"CS_GPR_R{i}") for i in (0, 3))
    machine.set_qword("CS_GPR_R0", 0x12345678)
    machine.do(("MI_STORE_REGISTER_MEM", {"register_address": first, "memory_address": address + 8}),
               ("MI_LOAD_REGISTER_MEM", {"register_address": second, "memory_address": address + 8}))
    assert machine.dwords(place + 8, 1) == [0x12345678]
    assert machine.qword("CS_GPR_R3") == 0x12345678


@pytest.mark.parametrize(("dwords", "reported"), [(19, False), (18, False), (16, False), (15, True)])
def test_the_bases_may_be_set_without_those_of_bindless_surfaces(dwords: int, reported: bool) -> None:
    """IGT's copies set all bases but the bindless size, with 18 dwords; Broadwell's form has 16."""
    machine = kaby_lake()
    words = command("STATE_BASE_ADDRESS", Gen.KBL, dynamic_state_base_address=HIGH,
                    dynamic_state_base_address_modify_enable=True, dword_length=dwords - 2)[:dwords]
    machine.run(words)
    assert machine.state.gen9.dynamic_state_base == HIGH
    assert bool(machine.device.findings.count) == reported


def test_data_and_copies_go_to_48_bit_addresses() -> None:
    machine = kaby_lake()
    machine.do(("MI_STORE_DATA_IMM", {"address": FAR, "data_dword_0": 0x11223344,
                                      "data_dword_1": [{"value": 0x55667788}]}),
               ("MI_COPY_MEM_MEM", {"source_memory_address": FAR + 4, "destination_memory_address": CANONICAL}))
    assert machine.dwords(FAR, 2) == [0x11223344, 0x55667788]
    assert machine.dwords(HIGH, 2) == [0x55667788, 0]


def test_a_second_level_batch_far_away_returns() -> None:
    machine = kaby_lake()
    machine.put(FAR, command("MI_STORE_DATA_IMM", machine.gen, address=DATA, data_dword_0=1),
                command("MI_BATCH_BUFFER_END", machine.gen))
    machine.do(("MI_BATCH_BUFFER_START", {"second_level_batch_buffer": True, "batch_buffer_start_address": FAR}),
               ("MI_STORE_DATA_IMM", {"address": DATA + 4, "data_dword_0": 2}))
    assert machine.dwords(DATA, 2) == [1, 2]


@pytest.mark.parametrize(("result", "expected"), [(0, [0, 2]), (1, [1, 0])])
def test_a_predicated_batch_starts_if_the_predicate_is_set(result: int, expected: list[int]) -> None:
    machine = kaby_lake()
    machine.put(SECOND_BATCH, command("MI_STORE_DATA_IMM", machine.gen, address=DATA, data_dword_0=1),
                command("MI_BATCH_BUFFER_END", machine.gen))
    machine.set("MI_PREDICATE_RESULT", result)
    machine.do(("MI_BATCH_BUFFER_START", {"predication_enable": True, "batch_buffer_start_address": SECOND_BATCH}),
               ("MI_STORE_DATA_IMM", {"address": DATA + 4, "data_dword_0": 2}))
    assert machine.dwords(DATA, 2) == expected


@pytest.mark.parametrize(("enable", "register", "skips_at"), [
    (PredicateEnableGen8.NOOP_NEVER, "MI_PREDICATE_RESULT", ()),
    (PredicateEnableGen8.NOOP_ON_RESULT2_CLEAR, "MI_PREDICATE_RESULT_2", (0,)),
    (PredicateEnableGen8.NOOP_ON_RESULT2_SET, "MI_PREDICATE_RESULT_2", (1,)),
    (PredicateEnableGen8.NOOP_ON_RESULT_CLEAR, "MI_PREDICATE_RESULT", (0,)),
    (PredicateEnableGen8.NOOP_ON_RESULT_SET, "MI_PREDICATE_RESULT", (1,)),
    (PredicateEnableGen8.NOOP_ALWAYS, "MI_PREDICATE_RESULT", (0, 1)),
])
def test_commands_are_skipped_until_the_next_predicate(enable: PredicateEnableGen8, register: str,
                                                       skips_at: tuple[int, ...]) -> None:
    for value in (0, 1):
        machine = kaby_lake()
        machine.set(register, value)
        machine.do(("MI_STORE_DATA_IMM", {"address": DATA, "data_dword_0": 1}),
                   ("MI_SET_PREDICATE", {"predicate_enable": enable}),
                   ("MI_STORE_DATA_IMM", {"address": DATA + 4, "data_dword_0": 2}), DRAW,
                   ("MI_SET_PREDICATE", {"predicate_enable": PredicateEnableGen8.NOOP_NEVER}),
                   ("MI_STORE_DATA_IMM", {"address": DATA + 8, "data_dword_0": 3}))
        skipped = value in skips_at
        assert machine.dwords(DATA, 3) == [1, 0 if skipped else 2, 3]
        assert len(machine.draws) == (not skipped)


def test_skipping_ends_with_the_batch_buffer() -> None:
    machine = kaby_lake()
    machine.put(SECOND_BATCH, command("MI_SET_PREDICATE", machine.gen, predicate_enable=15),
                command("MI_STORE_DATA_IMM", machine.gen, address=DATA, data_dword_0=1),
                command("MI_BATCH_BUFFER_END", machine.gen))
    machine.do(("MI_BATCH_BUFFER_START", {"second_level_batch_buffer": True,
                                          "batch_buffer_start_address": SECOND_BATCH}),
               ("MI_STORE_DATA_IMM", {"address": DATA + 4, "data_dword_0": 2}))
    assert machine.dwords(DATA, 2) == [0, 2]


def test_skipping_of_a_batch_that_does_not_end_hangs() -> None:
    """Each round skips a part of the batch; all parts count."""
    machine = kaby_lake()
    machine.streamer.max_batch_dwords = 256
    machine.put(SECOND_BATCH, command("MI_SET_PREDICATE", machine.gen, predicate_enable=15),
                [0] * 100, command("MI_BATCH_BUFFER_START", machine.gen, batch_buffer_start_address=SECOND_BATCH))
    with pytest.raises(HangError, match="does not end after 256 dwords"):
        machine.do(("MI_BATCH_BUFFER_START", {"batch_buffer_start_address": SECOND_BATCH}))
    assert machine.streamer.commands < 10


# --- PIPE_CONTROL -----------------------------------------------------------------------------------------------------
def test_the_short_form_writes_four_bytes() -> None:
    machine = kaby_lake()
    machine.device.memory.write(DATA, b"\xff" * 8)
    words = command("PIPE_CONTROL", machine.gen, post_sync_operation=PostSyncOperation.WRITE_IMMEDIATE_DATA,
                    address=DATA, immediate_data=0x11223344, dword_length=3)[:5]
    machine.run(words)
    assert machine.dwords(DATA, 2) == [0x11223344, 0xFFFFFFFF]
    assert not machine.device.findings.count


def test_post_sync_operations_write_eight_bytes_far_away() -> None:
    machine = kaby_lake()
    machine.state.counter[8] = 0x1_0000_0007  # PS_DEPTH_COUNT
    immediate = command("PIPE_CONTROL", machine.gen, post_sync_operation=PostSyncOperation.WRITE_IMMEDIATE_DATA,
                        address=HIGH, immediate_data=0x4_0000_0003)
    immediate[3] |= 0xFFFF0000  # the address is canonical
    machine.run(immediate)
    machine.do(("PIPE_CONTROL", {"post_sync_operation": PostSyncOperation.WRITE_PS_DEPTH_COUNT, "address": FAR}),
               ("PIPE_CONTROL", {"post_sync_operation": PostSyncOperation.WRITE_IMMEDIATE_DATA, "address": FAR + 8,
                                 "command_streamer_stall_enable": True, "immediate_data": 5}))
    assert qwords(machine, HIGH) == [0x4_0000_0003]
    assert qwords(machine, FAR, 2) == [0x1_0000_0007, 5]


def test_immediate_data_may_go_to_a_register() -> None:
    machine = kaby_lake()
    machine.do(("PIPE_CONTROL", {"lri_post_sync_operation": 1, "register_offset": machine.offset("CS_GPR_R2"),
                                 "immediate_data": 99}))
    assert machine.qword("CS_GPR_R2") == 99


def test_disabling_indirect_state_pointers_turns_push_constants_off() -> None:
    machine = kaby_lake()
    machine.do(("3DSTATE_CONSTANT_PS", {"constant_buffer_0_read_length": 4, "constant_buffer_2_read_length": 1}),
               ("3DSTATE_BINDING_TABLE_POINTERS_PS", {}))
    assert list(machine.state.gen9.constant_ps[1:3]) == [4, 1]
    machine.do(("PIPE_CONTROL", {"indirect_state_pointers_disable": True}))
    assert list(machine.state.gen9.constant_ps[1:3]) == [0, 0]
    machine.do(("3DSTATE_BINDING_TABLE_POINTERS_PS", {}))
    assert list(machine.state.gen9.constant_ps[1:3]) == [0, 0]  # nothing is pending


# --- atomics ----------------------------------------------------------------------------------------------------------
def atomic(opcode: int, *operands: tuple[int, int], size: int = 0, returns: bool = False,
           address: int = DATA) -> tuple[str, dict[str, Any]]:
    """MI_ATOMIC with its operands inside, one pair of dwords after the other."""
    inline = [{"operand1_data_dword": a, "operand2_data_dword": b} for a, b in operands]
    return "MI_ATOMIC", {"atomic_opcode": opcode, "data_size": size, "memory_address": address, "operands": inline,
                         "inline_data": bool(inline), "return_data_control": returns}


@pytest.mark.parametrize(("opcode", "old", "first", "second", "expected"), [
    (0x01, 0b1100, 0b1010, 0, 0b1000), (0x02, 0b1100, 0b1010, 0, 0b1110), (0x03, 0b1100, 0b1010, 0, 0b0110),
    (0x04, 1, 7, 0, 7), (0x05, 0xFFFFFFFF, 0, 0, 0), (0x06, 0, 0, 0, 0xFFFFFFFF), (0x07, 5, 7, 0, 12),
    (0x08, 5, 7, 0, 0xFFFFFFFE), (0x09, 5, 7, 0, 2), (0x0A, 0xFFFFFFFF, 1, 0, 1), (0x0B, 0xFFFFFFFF, 1, 0, 0xFFFFFFFF),
    (0x0C, 0xFFFFFFFF, 1, 0, 0xFFFFFFFF), (0x0D, 0xFFFFFFFF, 1, 0, 1), (0x0E, 5, 5, 9, 9), (0x0E, 5, 6, 9, 5),
])
def test_atomics_of_dwords(opcode: int, old: int, first: int, second: int, expected: int) -> None:
    machine = kaby_lake()
    machine.device.memory.write(DATA, struct.pack("<2I", old, 0x77))
    machine.do(atomic(opcode, (first, second)))
    assert machine.dwords(DATA, 2) == [expected, 0x77]


def test_an_atomic_of_a_qword_takes_operands_from_registers_and_returns_the_old_value() -> None:
    machine = kaby_lake()
    machine.device.memory.write(FAR, struct.pack("<Q", 0xFFFFFFFF))
    machine.set_qword("CS_GPR_R0", 0x1_0000_0001)
    machine.do(atomic(0x07, size=1, returns=True, address=FAR))
    assert qwords(machine, FAR) == [0x2_0000_0000]
    assert machine.qword("CS_GPR_R0") == 0xFFFFFFFF


def test_an_unknown_atomic_is_reported_and_writes_nothing() -> None:
    machine = kaby_lake()
    machine.do(atomic(0x1F, (1, 1)))
    assert machine.dwords(DATA, 1) == [0]
    assert list(machine.streamer.findings.count) == ["MI_ATOMIC with an unknown operation"]


# --- semaphores -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("compare", "below", "same", "above"), [
    (SemaphoreCompare.SAD_GREATER_THAN_SDD, False, False, True),
    (SemaphoreCompare.SAD_GREATER_THAN_OR_EQUAL_SDD, False, True, True),
    (SemaphoreCompare.SAD_LESS_THAN_SDD, True, False, False),
    (SemaphoreCompare.SAD_LESS_THAN_OR_EQUAL_SDD, True, True, False),
    (SemaphoreCompare.SAD_EQUAL_SDD, False, True, False),
    (SemaphoreCompare.SAD_NOT_EQUAL_SDD, True, False, True),
])
def test_a_wait_for_what_holds_goes_on_and_one_for_what_does_not_hangs(
        compare: SemaphoreCompare, below: bool, same: bool, above: bool) -> None:
    for value, passes in zip((4, 5, 6), (below, same, above), strict=True):
        machine = kaby_lake()
        machine.device.memory.write(FAR, struct.pack("<I", value))
        wait = ("MI_SEMAPHORE_WAIT", {"compare_operation": compare, "semaphore_data_dword": 5,
                                      "semaphore_address": FAR})
        after = ("MI_STORE_DATA_IMM", {"address": DATA, "data_dword_0": 1})
        if passes:
            machine.do(wait, after)
        else:
            with pytest.raises(HangError, match=f"MI_SEMAPHORE_WAIT.*operand is 0x{value:08x}"):
                machine.do(wait, after)
        assert machine.dwords(DATA, 1) == [passes]


def test_a_wait_may_poll_a_register() -> None:
    machine = kaby_lake()
    gpr = machine.device.registers.offset("CS_GPR_R0")
    machine.do(("MI_LOAD_REGISTER_IMM", {"writes": [{"register_offset": gpr, "data": 5}]}),
               ("MI_SEMAPHORE_WAIT", {"compare_operation": SemaphoreCompare.SAD_EQUAL_SDD, "semaphore_data_dword": 5,
                                      "register_poll_mode": True, "register_address": gpr}),
               ("MI_STORE_DATA_IMM", {"address": DATA, "data_dword_0": 1}))
    assert machine.dwords(DATA, 1) == [1] and not machine.device.waited_for


# --- blits ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("tiled", [False, True])
def test_blits_between_48_bit_addresses(tiled: bool) -> None:
    machine = kaby_lake()
    machine.device.memory.write(HIGH, struct.pack("<8I", *range(8)))
    side = 512 // 4 if tiled else 64  # pitch: dwords, or bytes
    machine.do(("XY_SRC_COPY_BLT", {
        "color_depth": ColorDepth.BPP_32, "write_alpha": True, "write_rgb": True, "raster_operation": 0xCC,
        "source_base_address": HIGH, "source_pitch": side, "source_tiled": tiled, "source_x1": 2,
        "destination_base_address": FAR, "destination_pitch": side, "destination_tiled": tiled,
        "destination_x1": 1, "destination_x2": 4, "destination_y2": 1}))
    assert machine.dwords(FAR, 5) == [0, 2, 3, 4, 0]


def test_a_fill_of_a_row_above_goes_to_a_48_bit_address() -> None:
    """A negative y: the row is before the base address, with a carry into the upper dword."""
    machine = kaby_lake()
    base = 0x7654_0000_0000
    machine.device.memory.write(base - 0x1000, bytes(0x1000))
    machine.do(("XY_COLOR_BLT", {
        "color_depth": ColorDepth.BPP_32, "write_alpha": True, "write_rgb": True, "raster_operation": 0xF0,
        "destination_base_address": base, "destination_pitch": 64, "color": 0x11223344, "destination_x2": 2,
        "destination_y1": -1, "destination_y2": 0}))
    assert machine.dwords(base - 64, 3) == [0x11223344, 0x11223344, 0]


@pytest.mark.parametrize("depth", list(FastCopyDepth))
@pytest.mark.parametrize("tiling", list(Tiling)[:3])
def test_a_fast_copy_reads_linear_pixels_and_writes_tiles(tiling: Tiling, depth: FastCopyDepth) -> None:
    machine = kaby_lake()
    size = FAST_COPY_BYTES[depth]
    method = next(code for code, found in FAST_COPY_TILINGS.items() if found is tiling)
    rows = np.arange(40 * 512, dtype=np.uint32).astype(np.uint8).reshape(40, 512)
    rows += np.arange(40, dtype=np.uint8)[:, None]
    machine.device.memory.write(HIGH, rows.tobytes())
    machine.device.memory.write(FAR, bytes(512 * 64))
    machine.do(("XY_FAST_COPY_BLT", {
        "color_depth": depth, "source_base_address": HIGH, "source_pitch": 512, "source_x1": 1, "source_y1": 2,
        "destination_tiling_method": method, "destination_base_address": FAR,
        "destination_pitch": 512 if tiling is Tiling.LINEAR else 128,
        "destination_x1": 3, "destination_y1": 1, "destination_x2": 14, "destination_y2": 38}))
    pixels = np.frombuffer(SurfaceLayout(FAR, 512, 512, 40, 1, tiling).read(machine.device.memory), np.uint8)
    wanted = np.zeros((40, 512), np.uint8)
    wanted[1:38, 3 * size:14 * size] = rows[2:39, size:12 * size]
    assert np.array_equal(pixels.reshape(40, 512), wanted)
    assert not machine.streamer.findings.count


@pytest.mark.parametrize("fields", [
    {"source_tiling_method": FastCopyTiling.TILE_64K}, {"color_depth": 7},
    {"destination_tiling_method": FastCopyTiling.YMAJOR_4K, "destination_tile_y_type": LegacyTileY.TILEYF}])
def test_a_fast_copy_with_other_tiles_is_reported(fields: dict[str, Any]) -> None:
    machine = kaby_lake()
    machine.do(("XY_FAST_COPY_BLT", {"destination_x2": 1, "destination_y2": 1} | fields))
    (finding,) = machine.streamer.findings.count
    assert finding.startswith("XY_FAST_COPY_BLT with tiles of TILEYF or TILEYS") and "not executed" in finding


# --- draws ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("own_mask", "mask", "clears"), [
    (0xFFFF, 0x1, True), (0x1, 0x0, True), (0xFFFE, 0x1, False)])
def test_a_depth_operation_clears_its_rectangle_and_ends_without_being_a_draw(own_mask: int, mask: int,
                                                                              clears: bool) -> None:
    """It has a sample mask of its own."""
    machine = kaby_lake()
    machine.do(
        ("3DSTATE_SAMPLE_MASK", {"sample_mask": mask}),
        ("3DSTATE_DRAWING_RECTANGLE", {"clipped_drawing_rectangle_x_max": 63, "clipped_drawing_rectangle_y_max": 63}),
        ("3DSTATE_DEPTH_BUFFER", {"surface_type": 1, "surface_format": 1, "depth_write_enable": True, "width": 16,
                                  "height": 16, "depth": 1, "render_target_view_extent": 1, "surface_pitch": 128,
                                  "surface_qpitch": 16, "surface_base_address": CANONICAL & ~0xFFF}),
        ("3DSTATE_CLEAR_PARAMS", {"depth_clear_value": 0.5, "depth_clear_value_valid": True}),
        ("3DSTATE_WM_HZ_OP", {"depth_buffer_clear_enable": True, "clear_rectangle_x_max": 8,
                              "clear_rectangle_y_max": 4, "sample_mask": own_mask}))
    base = CANONICAL & ~0xFFF & (1 << 48) - 1
    # a row of a Y tile has 16 bytes of each column of 512; columns are 4 pixels wide
    cleared = [[machine.device.memory.read_dwords(base + x // 4 * 512 + y * 16 + x % 4 * 4, 1)[0] == HALF
                for x in range(12)] for y in range(6)]
    assert cleared == [[clears and x < 8 and y < 4 for x in range(12)] for y in range(6)]
    assert machine.draws == []
    assert machine.state.gen9.wm_hz_op[1] == 0


def test_a_depth_operation_of_nothing_is_state() -> None:
    machine = kaby_lake()
    words = command("3DSTATE_WM_HZ_OP", machine.gen, clear_rectangle_x_max=8)
    machine.run(words)
    assert machine.draws == []
    assert list(machine.state.gen9.wm_hz_op) == words


# --- state ------------------------------------------------------------------------------------------------------------
def test_bases_have_48_bits_and_change_with_modify_enable() -> None:
    machine = kaby_lake()
    machine.do(("STATE_BASE_ADDRESS", {
        "dynamic_state_base_address": CANONICAL, "dynamic_state_base_address_modify_enable": True,
        "instruction_base_address": FAR, "instruction_base_address_modify_enable": True,
        "bindless_surface_state_base_address": 0x5000, "bindless_surface_state_base_address_modify_enable": True}))
    machine.do(("STATE_BASE_ADDRESS", {
        "dynamic_state_base_address": 0x30000, "instruction_base_address": 0x40000,
        "instruction_base_address_modify_enable": True}))
    gen9 = machine.state.gen9
    assert (gen9.dynamic_state_base, gen9.instruction_base) == (HIGH, 0x40000)
    assert gen9.bindless_surface_state_base == 0x5000


def test_a_vertex_buffer_keeps_address_and_size_without_address_modify_enable() -> None:
    machine = kaby_lake()
    buffer = {"vertex_buffer_index": 32, "buffer_starting_address": FAR, "buffer_size": 0x100}
    machine.do(("3DSTATE_VERTEX_BUFFERS", {"vertex_buffers": [
        buffer | {"address_modify_enable": True, "buffer_pitch": 12}]}))
    machine.do(("3DSTATE_VERTEX_BUFFERS", {"vertex_buffers": [
        buffer | {"buffer_starting_address": 0x5000, "buffer_size": 0x10, "buffer_pitch": 16}]}))
    kept = list(machine.state.gen9.vertex_buffer[32])
    assert (kept[0] & 0xFFF, kept[1] | kept[2] << 32, kept[3]) == (16, FAR, 0x100)


def test_instancing_is_kept_by_element() -> None:
    machine = kaby_lake()
    machine.do(*(("3DSTATE_VF_INSTANCING", {"vertex_element_index": i, "instancing_enable": True,
                                            "instance_data_step_rate": i + 1}) for i in (0, 33)))
    elements = machine.state.gen9.vf_instancing
    assert [(elements[i][0] >> 8 & 1, elements[i][1]) for i in (0, 1, 33)] == [(1, 1), (0, 0), (1, 34)]


@pytest.mark.parametrize("name", [
    "3DSTATE_PS", "3DSTATE_RASTER", "3DSTATE_SBE_SWIZ", "3DSTATE_WM_DEPTH_STENCIL", "3DSTATE_PS_BLEND",
    "3DSTATE_VF_SGVS", "3DSTATE_SAMPLE_PATTERN", "3DSTATE_INDEX_BUFFER",
])
def test_state_commands_are_kept_whole(name: str) -> None:
    machine = kaby_lake()
    words: Words = command(name, machine.gen)
    words[1:] = range(0x100, 0x100 + len(words) - 1)
    machine.run(words)
    assert list(getattr(machine.state.gen9, name.removeprefix("3DSTATE_").lower())) == words


def test_the_pipeline_changes_only_with_its_mask_bits() -> None:
    machine = kaby_lake()
    machine.do(("PIPELINE_SELECT", {"mask_bits": 3, "pipeline_selection": 2}))
    assert machine.state.media_selected == 2
    machine.do(("PIPELINE_SELECT", {"mask_bits": 0x10, "pipeline_selection": 0}))
    assert machine.state.media_selected == 2


def test_submissions_of_contexts_have_their_own_state() -> None:
    machine = kaby_lake()
    streamer = machine.device.streamers[Engine.RENDER]
    words = [command("3DSTATE_SAMPLE_MASK", machine.gen, sample_mask=mask) for mask in (0x3, 0xF)]
    streamer.enter_context(1)
    machine.run(words[0])
    streamer.enter_context(2)
    assert list(machine.state.gen9.sample_mask) == [0, 0]
    machine.run(words[1])
    streamer.enter_context(1)
    assert list(machine.state.gen9.sample_mask) == words[0]
    assert ffi.sizeof(machine.state.gen9.sample_mask) == 8


@pytest.mark.parametrize("name", ["3DPRIM_START_VERTEX", "3DPRIM_END_OFFSET"])  # in the state, and not
def test_submissions_of_contexts_have_their_own_registers(name: str) -> None:
    machine = kaby_lake()
    streamer = machine.device.streamers[Engine.RENDER]
    machine.set_qword("CS_GPR_R0", 0x1234)
    source, register = machine.offset("CS_GPR_R0"), machine.offset(name)

    def copy() -> None:
        machine.do(("MI_LOAD_REGISTER_REG", {"source_register_address": source,
                                             "destination_register_address": register}))

    streamer.enter_context(1)
    copy()
    streamer.enter_context(2)
    assert machine.device.registers.read(register) == 0  # as before the first write by a batch
    machine.set_qword("CS_GPR_R0", 0x5678)  # not by a batch: for all contexts
    copy()
    kept = machine.device.save()
    assert kept is not None
    streamer.enter_context(1)
    assert machine.device.registers.read(register) == 0x1234
    assert machine.qword("CS_GPR_R0") == 0x5678
    streamer.enter_context(2)
    assert machine.device.registers.read(register) == 0x5678
    machine.device.load(kept)
    streamer.enter_context(1)
    assert machine.device.registers.read(register) == 0x1234
    machine.device.reset()
    assert machine.device.registers.read(register) == 0  # the context that ran starts again


def test_palettes_and_the_mono_filter_are_state_of_the_sampler() -> None:
    machine = kaby_lake()
    machine.do(("3DSTATE_SAMPLER_PALETTE_LOAD0", {"palette_colors": [[0x11], [0x22]]}),
               ("3DSTATE_SAMPLER_PALETTE_LOAD1", {"palette_colors": [[0x33]]}),
               ("3DSTATE_MONOFILTER_SIZE", {"monochrome_filter_width": 5, "monochrome_filter_height": 3}))
    assert list(machine.state.sampler_palette)[:3] == [0x11, 0x22, 0]
    assert list(machine.state.sampler_palette1)[:2] == [0x33, 0]
    assert list(machine.state.mono_filter_size) == [5, 3]


ENTRIES = {"3DSTATE_VERTEX_BUFFERS": "vertex_buffers", "3DSTATE_VERTEX_ELEMENTS": "vertex_elements",
           "3DSTATE_SAMPLER_PALETTE_LOAD0": "palette_colors", "3DSTATE_SAMPLER_PALETTE_LOAD1": "palette_colors"}


@pytest.mark.parametrize("name", [c.name for c in catalogue_of(Gen.KBL).commands if c.name.startswith("3D")])
def test_every_command_of_the_3d_pipeline_is_known(name: str) -> None:
    """With zeros: those without an effect are in docs/kaby-lake.md."""
    machine = kaby_lake()
    machine.do((name, {ENTRIES[name]: [{}]} if name in ENTRIES else {}))
    assert list(machine.streamer.findings.count) == []
