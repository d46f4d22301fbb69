"""The resource streamer of Kaby Lake: binding tables, gathered constants, DX9 constants.  No driver sends these."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from gen4emu.hw.catalogue import block_named
from gen4emu.hw.gen9.resource_streamer import ConstantMove, GatherTableUpdate, OnDieTable, ShaderSelect
from gen4emu.trace.events import Engine, Submission
from gen4emu.trace.ring import start_batch
from tests.harness.commands import BATCH, Later, command

POOL, GATHERED, DX9, SURFACES, BUFFER = 0x7654_0000_0000, 0x50000, 0x60000, 0x70000, 0x78000
START = ("MI_RS_CONTROL", {"resource_streamer_control": 1})
STOP = ("MI_RS_CONTROL", {"resource_streamer_control": 0})
TABLES = ("3DSTATE_BINDING_TABLE_POOL_ALLOC", {
    "binding_table_pool_base_address": POOL, "binding_table_pool_enable": True,
    "binding_table_pool_buffer_size": 0x1000})
STAGES = ("VS", "HS", "DS", "GS", "PS")
_FLOATS, _INTEGERS, _BOOLEANS = 256, 32, 16  # DX9 constants

Command = tuple[str, dict[str, Any]]


def kaby_lake() -> Later:
    machine = Later("kbl")
    for page in range(0, 0x3000, 0x1000):
        for pool in (POOL, GATHERED, DX9, SURFACES, BUFFER):
            machine.device.memory.write(pool + page, bytes(0x1000))
    return machine


def edit(stage: str, *entries: tuple[int, int], clear: int = 0) -> Command:
    return f"3DSTATE_BINDING_TABLE_EDIT_{stage}", {
        "binding_table_edit_target": 3, "binding_table_block_clear": clear,
        "entries": [{"binding_table_index": i, "surface_state_pointer": at} for i, at in entries]}


def pointer(stage: str, offset: int = 0) -> Command:
    """`offset` in the pool, in bytes."""
    return f"3DSTATE_BINDING_TABLE_POINTERS_{stage}", {f"pointer_to_{stage.lower()}_binding_table": offset // 2}


# --- constants --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("stage", STAGES)
def test_constants_take_effect_with_the_next_binding_table_pointer_of_their_stage(stage: str) -> None:
    machine = kaby_lake()
    lengths = getattr(machine.state.gen9, f"constant_{stage.lower()}")
    other = next(name for name in STAGES if name != stage)
    for rows in (2, 3):
        machine.do((f"3DSTATE_CONSTANT_{stage}", {"constant_buffer_0_read_length": rows}))
    machine.do(pointer(other))
    assert lengths[1] == 0
    machine.do(pointer(stage))
    assert lengths[1] == 3
    machine.do((f"3DSTATE_CONSTANT_{stage}", {"constant_buffer_0_read_length": 4}))
    assert lengths[1] == 3


@pytest.mark.parametrize(("more", "stored"), [((), 0), ((START,), 0x1234), ((START, STOP), 0)])
def test_the_resource_streamer_stores_data_while_it_parses(more: tuple[Command, ...], stored: int) -> None:
    machine = kaby_lake()
    machine.do(*more, ("MI_RS_STORE_DATA_IMM", {"destination_address": POOL + 0x24, "data_dword_0": 0x1234}))
    assert machine.dwords(POOL + 0x20, 3) == [0, stored, 0]
    assert not machine.streamer.findings.count


# --- binding tables ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("stage", STAGES)
def test_a_pointer_writes_the_table_of_its_stage_to_the_pool(stage: str) -> None:
    machine = kaby_lake()
    machine.do(START, TABLES, edit(stage, (0, 0x40), (255, 0x3FFFC0)), pointer(stage, 0x40))
    table = machine.dwords(POOL + 0x40, 256)
    assert (table[0], table[255]) == (0x40, 0x3FFFC0)
    assert not any(table[1:255])
    assert not any(machine.dwords(POOL, 16))


def test_blocks_are_cleared_before_the_edits_of_the_same_command() -> None:
    machine = kaby_lake()
    machine.do(START, TABLES, edit("PS", (15, 0x40), (16, 0x80), (31, 0xC0), (32, 0x100)),
               edit("PS", (17, 0x140), clear=1 << 1), pointer("PS"))
    assert {i: at for i, at in enumerate(machine.dwords(POOL, 256)) if at} == {15: 0x40, 17: 0x140, 32: 0x100}


def test_what_lies_behind_the_end_of_the_pool_is_lost() -> None:
    machine = kaby_lake()
    machine.do(START, TABLES, edit("VS", (0, 0x40), (16, 0x80)), pointer("VS", 0x1000 - 0x40))
    assert machine.dwords(POOL + 0x1000 - 0x40, 32) == [0x40] + [0] * 31


@pytest.mark.parametrize("before", [(), (START, STOP)])
def test_edits_have_no_effect_while_the_streamer_does_not_parse(before: tuple[Command, ...]) -> None:
    machine = kaby_lake()
    machine.do(*before, TABLES, edit("PS", (0, 0x40)), pointer("PS"), START, pointer("PS"))
    assert machine.dwords(POOL, 1) == [0]


def test_the_start_of_a_batch_may_turn_it_on() -> None:
    machine = kaby_lake()
    machine.put(BATCH + 0x800, *(command(name, machine.gen, **fields) for name, fields in (
        TABLES, edit("PS", (0, 0x40)), pointer("PS"), ("MI_BATCH_BUFFER_END", {}))))
    machine.do(("MI_BATCH_BUFFER_START", {"second_level_batch_buffer": True, "resource_streamer_enable": True,
                                          "batch_buffer_start_address": BATCH + 0x800}))
    assert machine.dwords(POOL, 1) == [0x40]
    assert machine.state.gen9.streamer.on == 1
    machine.put(BATCH, command("MI_BATCH_BUFFER_END", machine.gen))
    machine.device.submit(Submission(0, Engine.RENDER, start_batch(BATCH, is_wide=True), 0x1000))
    assert machine.state.gen9.streamer.on == 0


def test_contexts_have_tables_of_their_own() -> None:
    machine = kaby_lake()
    machine.streamer.enter_context(1)
    machine.do(START, edit("PS", (0, 0x40)))
    machine.streamer.enter_context(2)
    machine.do(START, TABLES, pointer("PS"))
    assert machine.dwords(POOL, 1) == [0]
    machine.streamer.enter_context(1)
    machine.do(START, TABLES, pointer("PS"))
    assert machine.dwords(POOL, 1) == [0x40]


# --- gathered constants -----------------------------------------------------------------------------------------------
POOL_OF_CONSTANTS = ("3DSTATE_GATHER_POOL_ALLOC", {
    "gather_pool_base_address": GATHERED, "gather_pool_enable": True, "gather_pool_buffer_size": 0x1000})


def gather(stage: str, *entries: tuple[int, int, int], offset: int = 0, valid: int = 0xFFFF, **more: Any) -> Command:
    """Entries: the buffer, 16-byte elements from its start, the channels."""
    pairs = [*entries, (0, 0, 0)]
    return f"3DSTATE_GATHER_CONSTANT_{stage}", {
        "constant_buffer_valid": valid, "constant_buffer_binding_table_block": 1, "gather_buffer_offset": offset,
        "entries": [{f"entry_{i}_{name}": value for i, entry in enumerate(pair) for name, value in (
            ("binding_table_index_offset", entry[0]), ("constant_buffer_offset", 16 * entry[1]),
            ("channel_mask", entry[2]))} for pair in zip(pairs[0::2], pairs[1::2], strict=False)]} | more


def machine_with_buffer() -> Later:
    """Entry 17 is a buffer of four elements with the numbers 1 to 16."""
    machine = kaby_lake()
    surface = block_named("RENDER_SURFACE_STATE", machine.gen).build(
        machine.gen, surface_type="SURFTYPE_BUFFER", surface_base_address=BUFFER, surface_pitch=16, width=4)
    machine.device.memory.write(SURFACES + 0x40, surface)
    machine.device.memory.write(BUFFER, struct.pack("<20I", *range(1, 21)))
    machine.do(("STATE_BASE_ADDRESS", {"surface_state_base_address": SURFACES,
                                       "surface_state_base_address_modify_enable": True}))
    machine.do(START, TABLES, POOL_OF_CONSTANTS, edit("PS", (17, 0x40)))
    return machine


def test_channels_are_packed_in_the_order_of_the_entries() -> None:
    machine = machine_with_buffer()
    machine.do(START, gather("PS", (1, 1, 0b0101), (1, 0, 0b1000), (1, 3, 0b1111), offset=0x40), pointer("PS"))
    assert machine.dwords(GATHERED + 0x40, 8) == [5, 7, 4, 13, 14, 15, 16, 0]
    assert not any(machine.dwords(GATHERED, 16))


@pytest.mark.parametrize(("entry", "valid"), [((1, 0, 15), 0xFFFD), ((1, 4, 15), 0xFFFF)])
def test_invalid_buffers_and_elements_behind_their_end_are_zeros(entry: tuple[int, int, int], valid: int) -> None:
    machine = machine_with_buffer()
    machine.device.memory.write(GATHERED, b"\xff" * 32)
    machine.do(START, gather("PS", entry, valid=valid), pointer("PS"))
    assert machine.dwords(GATHERED, 5) == [0, 0, 0, 0, 0xFFFFFFFF]


def test_a_table_may_be_kept_and_gathered_later() -> None:
    machine = machine_with_buffer()
    machine.do(START, gather("PS", (1, 1, 0b0001), update_gather_table_only=GatherTableUpdate.NON_COMMIT_GATHER),
               pointer("PS"))
    assert machine.dwords(GATHERED, 1) == [0]
    machine.do(START, ("3DSTATE_GATHER_CONSTANT_PS", {
        "constant_buffer_binding_table_block": 1, "gather_buffer_offset": 0x80, "on_die_table": OnDieTable.READ}),
        pointer("PS"))
    assert machine.dwords(GATHERED + 0x80, 2) == [5, 0]


# --- DX9 constants ----------------------------------------------------------------------------------------------------
POOL_OF_REGISTERS = ("3DSTATE_DX9_CONSTANT_BUFFER_POOL_ALLOC", {
    "dx9_constant_buffer_pool_base_address": DX9, "dx9_constant_buffer_pool_enable": True,
    "dx9_constant_buffer_pool_buffer_size": 0x4000})
NO_POOL = ("3DSTATE_DX9_CONSTANT_BUFFER_POOL_ALLOC", {})


def constants(kind: str, stage: str, first: int, *values: Any, is_global: bool = True) -> Command:
    entries = [{"value": v} for v in values] if kind == "B" else [
        dict(zip(("component_x", "component_y", "component_z", "component_w"), v, strict=True)) for v in values]
    return f"3DSTATE_DX9_CONSTANT{kind}_{stage}", {
        "global_constant_register": is_global, "constant_register_index": first, "entries": entries}


def generate(stage: str, offset: int = 0, **fields: bool) -> Command:
    return f"3DSTATE_DX9_GENERATE_ACTIVE_{stage}", {f"pointer_to_{stage.lower()}_constant_buffer": offset} | fields


def floats(machine: Later, index: int, offset: int = 0) -> tuple[float, ...]:
    return struct.unpack("<4f", machine.device.memory.read(DX9 + offset + 16 * index, 16))


@pytest.mark.parametrize("stage", ["VS", "PS"])
def test_valid_local_constants_shadow_global_ones(stage: str) -> None:
    machine = kaby_lake()
    machine.do(START, POOL_OF_REGISTERS, constants("F", stage, 254, (1, 2, 3, 4), (5, 6, 7, 8)),
               constants("F", stage, 255, (-9, 9, 0, 1), is_global=False),
               constants("I", stage, 31, (1, -2, 3, 4)), constants("B", stage, 15, 1), generate(stage))
    assert floats(machine, 255) == (5, 6, 7, 8)
    machine.do(START, generate(stage, 0x2000, dx9_enable=True))
    assert (floats(machine, 254, 0x2000), floats(machine, 255, 0x2000)) == ((1, 2, 3, 4), (-9, 9, 0, 1))
    integers = machine.dwords(DX9 + 0x2000 + 16 * _FLOATS, 4 * _INTEGERS + _BOOLEANS)
    assert integers[-_BOOLEANS - 4:-_BOOLEANS] == [1, 0xFFFFFFFE, 3, 4]
    assert integers[-1] == 1 and not any(integers[:4 * 31])


def test_global_floats_may_be_clamped() -> None:
    machine = kaby_lake()
    machine.do(START, POOL_OF_REGISTERS, constants("F", "PS", 0, (-3, 0.5, 3, 1), (2, 2, 2, 2)),
               constants("F", "PS", 1, (7, -7, 0, 0), is_global=False), generate("PS", dx9_enable=True,
                                                                                clamp_enable=True))
    assert (floats(machine, 0), floats(machine, 1)) == ((-1, 0.5, 1, 1), (7, -7, 0, 0))


def test_valid_bits_are_set_reset_and_cleared_with_the_pool() -> None:
    machine = kaby_lake()
    valid = machine.state.gen9.streamer.dx9[1].valid
    machine.do(START, POOL_OF_REGISTERS, constants("F", "PS", 32, (1, 1, 1, 1), is_global=False),
               constants("I", "PS", 3, (1, 1, 1, 1), is_global=False))
    assert list(valid) == [0, 1, 0, 0, 0, 0, 0, 0, 1 << 3, 0]
    machine.do(START, generate("PS", dx9_enable=True, buffer_write_disable=True, local_valid_bit_reset_enable=True))
    assert not any(valid) and floats(machine, 32) == (0, 0, 0, 0)
    machine.do(START, ("3DSTATE_DX9_LOCAL_VALID_PS", {
        "local_constantf_valid_bits_1": 1, "local_constantb_valid_bits": 2}),
               generate("PS", dx9_enable=True))
    assert list(valid)[1::8] == [1, 2] and floats(machine, 32) == (1, 1, 1, 1)
    machine.do(START, NO_POOL)
    assert not any(valid)


def test_global_constants_move_to_memory_and_back() -> None:
    machine = kaby_lake()
    move = {"shader_select": ShaderSelect.PS, "global_constant_buffer_address": BUFFER}
    machine.do(START, POOL_OF_REGISTERS, constants("F", "PS", 1, (1, 2, 3, 4)),
               ("3DSTATE_RS_CONSTANT_POINTER", move | {"operation_load_or_store": ConstantMove.STORE}))
    assert struct.unpack("<4f", machine.device.memory.read(BUFFER + 16, 16)) == (1, 2, 3, 4)
    machine.device.memory.write(BUFFER + 16, struct.pack("<f", 9))
    machine.do(START, ("3DSTATE_RS_CONSTANT_POINTER", move | {"operation_load_or_store": ConstantMove.LOAD}),
               generate("PS"))
    assert floats(machine, 1) == (9, 2, 3, 4)


def test_nothing_happens_while_the_pool_of_dx9_constants_is_disabled() -> None:
    machine = kaby_lake()
    machine.device.memory.write(BUFFER, struct.pack("<4f", 1, 2, 3, 4))
    move = {"shader_select": ShaderSelect.VS, "global_constant_buffer_address": BUFFER}
    machine.do(START, constants("F", "VS", 0, (5, 6, 7, 8)),
               ("3DSTATE_RS_CONSTANT_POINTER", move | {"operation_load_or_store": ConstantMove.LOAD}),
               generate("VS"), POOL_OF_REGISTERS, generate("VS"))
    assert floats(machine, 0) == (0, 0, 0, 0)
    machine.do(START, NO_POOL,
               ("3DSTATE_RS_CONSTANT_POINTER", move | {"operation_load_or_store": ConstantMove.STORE}))
    assert machine.dwords(BUFFER, 1) == [0x3F800000]


def test_constants_of_registers_are_gathered() -> None:
    machine = machine_with_buffer()
    machine.do(START, POOL_OF_REGISTERS, constants("F", "PS", 7, (1, 2, 3, 4)),
               gather("PS", (0, 7, 0b1010), constant_buffer_dx9_enable=True, dx9_on_die_register_read_enable=True),
               pointer("PS"))
    assert struct.unpack("<2f", machine.device.memory.read(GATHERED, 8)) == (2, 4)


def test_constants_behind_the_last_register_are_lost() -> None:
    machine = kaby_lake()
    machine.do(START, POOL_OF_REGISTERS, constants("I", "VS", 31, (1, 2, 3, 4), (5, 6, 7, 8)), generate("VS"))
    assert machine.dwords(DX9 + 16 * (_FLOATS + 31), 5) == [1, 2, 3, 4, 0]
