"""The MI commands: headers, lengths, and words that drivers send."""

from __future__ import annotations

import pytest

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import mi
from gen4emu.hw.gen4.mi import BatchMemorySpace, ConditionCode, ContextAddressSpace, DisplayPipe, DisplayPlane
from gen4emu.hw.layout import Command
from tests.hw.by_name import ByName, parts_with

MI_FLUSH = ByName("MI_FLUSH")
MI_SET_CONTEXT = ByName("MI_SET_CONTEXT")
MI_SUSPEND_FLUSH = ByName("MI_SUSPEND_FLUSH")


# Header with all options off, dwords.
@pytest.mark.parametrize(("command", "header"), [
    (mi.MI_NOOP, 0x00000000),
    (mi.MI_USER_INTERRUPT, 0x01000000),
    (mi.MI_WAIT_FOR_EVENT, 0x01800000),
    (MI_FLUSH, 0x02000000),
    (mi.MI_ARB_CHECK, 0x02800000),
    (mi.MI_REPORT_HEAD, 0x03800000),
    (mi.MI_ARB_ON_OFF, 0x04000000),
    (mi.MI_BATCH_BUFFER_END, 0x05000000),
    (MI_SUSPEND_FLUSH, 0x05800000),
    (mi.MI_OVERLAY_FLIP, 0x08800000),
    (mi.MI_LOAD_SCAN_LINES_INCL, 0x09000000),
    (mi.MI_LOAD_SCAN_LINES_EXCL, 0x09800000),
    (mi.MI_DISPLAY_FLIP, 0x0A000001),
    (MI_SET_CONTEXT, 0x0C000000),
    (mi.MI_STORE_DATA_IMM, 0x10000002),
    (mi.MI_STORE_DATA_INDEX, 0x10800001),
    (mi.MI_STORE_REGISTER_MEM, 0x12000001),
    (mi.MI_BATCH_BUFFER, 0x18000001),
    (mi.MI_BATCH_BUFFER_START, 0x18800000),
], ids=lambda value: "" if isinstance(value, int) else value.name)
def test_headers(command: Command | ByName, header: int) -> None:
    part = Gen.CL if Gen.CL in parts_with(command.name) else Gen.EL
    words = command.pack(part)
    assert words[0] == header
    assert len(words) == (1 if header < 0x08000000 else (header & 0x3F) + 2)


def test_the_batch_start_of_linux() -> None:
    words = mi.MI_BATCH_BUFFER_START.pack(
        Gen.EL, non_secure=True, memory_space=BatchMemorySpace.GTT, address=0x00123450)
    assert words == [0x18800180, 0x00123450]


@pytest.mark.parametrize("header", [0x18800000, 0x18800080, 0x18800180])
def test_every_batch_start_that_clients_write_is_clean(header: int) -> None:
    assert mi.MI_BATCH_BUFFER_START.complaints([header, 0x00100001], gen=Gen.EL) == []
    assert mi.MI_BATCH_BUFFER_START.view([header, 0x00100001], gen=Gen.EL).address == 0x00100000


def test_two_registers_are_loaded() -> None:
    words = mi.MI_LOAD_REGISTER_IMM.pack(Gen.EL, writes=[
        {"register_offset": 0x20C0, "data": 0x00400040}, {"register_offset": 0x2120, "data": 1}])
    assert words == [0x11000003, 0x20C0, 0x00400040, 0x2120, 1]


def test_byte_write_disables_are_in_the_header() -> None:
    view = mi.MI_LOAD_REGISTER_IMM.view([0x11000101, 0x00002094, 0xAABBCCDD], gen=Gen.EL)
    assert view.byte_write_disables == 1
    assert [(w.register_offset, w.data) for w in view.writes] == [(0x2094, 0xAABBCCDD)]


def test_the_upper_bits_of_a_register_offset_are_ignored() -> None:
    words = [0x11000001, 0xFF802094, 0]
    assert mi.MI_LOAD_REGISTER_IMM.complaints(words, gen=Gen.EL) == []
    assert mi.MI_LOAD_REGISTER_IMM.view(words, gen=Gen.EL).writes[0].register_offset == 0x2094


def test_an_immediate_store_of_one_and_of_two_dwords() -> None:
    common = {"use_global_gtt": True, "address": 0x1000, "data": 5}
    assert mi.MI_STORE_DATA_IMM.pack(Gen.EL, **common) == [0x10400002, 0, 0x1000, 5]
    assert mi.MI_STORE_DATA_IMM.pack(Gen.EL, **common, data_high=[{"value": 6}]) == [0x10400003, 0, 0x1000, 5, 6]


def test_physical_address_bits_are_reserved_with_a_graphics_address() -> None:
    graphics, physical = [0x10400002, 3, 0x1000, 0], [0x10000002, 3, 0x1000, 0]
    assert [c.field.name for c in mi.MI_STORE_DATA_IMM.complaints(graphics, gen=Gen.EL)] == ["reserved_1_3_0"]
    assert mi.MI_STORE_DATA_IMM.complaints(physical, gen=Gen.EL) == []
    assert mi.MI_STORE_DATA_IMM.view(physical, gen=Gen.EL).physical_address_high == 3


def test_the_breadcrumbs_of_linux() -> None:
    seqno = mi.MI_STORE_DATA_INDEX.view([0x10800001, 0x00000100, 0x1234], gen=Gen.EL)
    assert (seqno.offset, seqno.data, seqno.data_high) == (0x100, 0x1234, [])
    assert mi.MI_STORE_DATA_INDEX.pack(Gen.EL, offset=0x200, data=7) == [0x10800001, 0x200, 7]
    low = mi.MI_STORE_DATA_INDEX.complaints([0x10800001, 0x3C, 0], gen=Gen.EL)
    assert [c.what for c in low] == ["60 is below 64"]


def test_a_store_of_a_register() -> None:
    words = mi.MI_STORE_REGISTER_MEM.pack(Gen.EL, use_global_gtt=True, register_offset=0x2350, address=0x8000)
    assert words == [0x12400001, 0x2350, 0x8000]


def test_flushes_of_linux() -> None:
    g4x = MI_FLUSH.view([0x02000022], gen=Gen.EL)
    assert g4x.indirect_state_pointers_disable
    assert g4x.state_instruction_cache_invalidate
    assert not g4x.sampler_cache_invalidate
    assert MI_FLUSH.complaints([0x02000022], gen=Gen.EL) == []
    assert [c.field.name for c in MI_FLUSH.complaints([0x02000022], gen=Gen.CL)] == ["reserved_0_6_5"]
    assert MI_FLUSH.pack(Gen.BW, global_snapshot_count_reset=True) == [0x02000008]


def test_a_context_switch_of_linux() -> None:
    view = MI_SET_CONTEXT.view([0x0C000000, 0x0010010D], gen=Gen.EL)
    assert view.logical_context_address == 0x00100000
    assert view.address_space is ContextAddressSpace.GTT
    assert view.extended_state_save_enable and view.extended_state_restore_enable
    assert view.restore_inhibit and not view.force_restore


def test_the_context_s_alignment_differs() -> None:
    assert MI_SET_CONTEXT.view([0x0C000000, 0x800], gen=Gen.CTG).logical_context_address == 0x800
    assert MI_SET_CONTEXT.view([0x0C000000, 0x800], gen=Gen.CL).logical_context_address == 0
    assert len(MI_SET_CONTEXT.complaints([0x0C000000, 0x800], gen=Gen.CL)) == 1


def test_a_wait_for_the_scan_line_window_of_pipe_b() -> None:
    lines = mi.MI_LOAD_SCAN_LINES_INCL.pack(Gen.CL, pipe=DisplayPipe.B, start_scan_line=10, end_scan_line=767)
    assert lines == [0x09100000, 10 << 16 | 767]
    assert mi.MI_WAIT_FOR_EVENT.pack(Gen.CL, pipe_b_scan_line_window=True) == [0x01800020]
    assert mi.MI_WAIT_FOR_EVENT.pack(Gen.CL, condition_code=ConditionCode.CODE_2) == [0x01800400]


def test_a_flip_in_three_and_in_four_dwords() -> None:
    flip = {"plane": DisplayPlane.B, "pitch_bytes": 4096, "base_address": 0x00800000, "tiled": True}
    assert mi.MI_DISPLAY_FLIP.pack(Gen.CL, **flip) == [0x0A100001, 4096, 0x00800001]
    words = mi.MI_DISPLAY_FLIP.pack(Gen.CL, **flip, source=[{"source_width": 1024, "source_height": 768}])
    assert words == [0x0A100002, 4096, 0x00800001, 0x03FF02FF]


def test_a_noop_that_identifies_itself() -> None:
    assert mi.MI_NOOP.pack(Gen.BW, identification_write_enable=True, identification=0x12345) == [0x00412345]


def test_what_user_batches_may_not_do() -> None:
    assert {c.name for c in mi.COMMANDS if c.privileged} == {
        "MI_STORE_DATA_IMM", "MI_LOAD_REGISTER_IMM", "MI_STORE_REGISTER_MEM"}


def test_what_some_parts_lack() -> None:
    assert parts_with("MI_OVERLAY_FLIP") == {Gen.BW, Gen.CL}
    assert parts_with("MI_SUSPEND_FLUSH") == {Gen.CTG, Gen.EL}
