"""The commands that 3D and media share, as drivers send them."""

from __future__ import annotations

import pytest

from gen4emu.errors import FieldError
from gen4emu.hw.catalogue import command_for, command_named
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import common
from gen4emu.hw.gen4.common import GraphicsAddressType, Pipeline, PostSyncOperation
from tests.hw.by_name import ByName

PIPE_CONTROL = ByName("PIPE_CONTROL")


@pytest.mark.parametrize(("words", "fences"), [
    ([0x60003F01, 0x05212040, 0x18000062], (64, 72, 82, 98, 0, 384)),
    ([0x60003F01, 0x0320A020, 0x10000042], (32, 40, 50, 66, 0, 256)),
])
def test_fences_of_two_captures(words: list[int], fences: tuple[int, ...]) -> None:
    view = common.URB_FENCE.view(words, gen=Gen.EL)
    units = ("vs", "gs", "clip", "sf", "vfe", "cs")
    assert tuple(getattr(view, f"{unit}_fence") for unit in units) == fences
    assert all(getattr(view, f"{unit}_urb_reallocation_request") for unit in units)
    assert common.URB_FENCE.complaints(words, gen=Gen.EL) == []
    assert common.URB_FENCE.pack(Gen.EL, **view.to_dict()) == words


def test_media_requests_two_fences() -> None:
    view = common.URB_FENCE.view([0x60003001, 0, 0], gen=Gen.EL)
    requests = [name for name, value in view.to_dict().items() if name.endswith("_request") and value]
    assert requests == ["cs_urb_reallocation_request", "vfe_urb_reallocation_request"]


def test_the_cs_fence_has_a_bit_more() -> None:
    assert common.URB_FENCE.pack(Gen.EL, cs_fence=2047)[2] == 0x7FF00000
    with pytest.raises(FieldError):
        common.URB_FENCE.pack(Gen.EL, sf_fence=1024)


def test_cs_urb_state_of_a_capture() -> None:
    view = common.CS_URB_STATE.view([0x60010000, 0x24], gen=Gen.EL)
    assert view.number_of_urb_entries == 4
    assert view.urb_entry_allocation_size * 64 == 192
    assert [c.what for c in common.CS_URB_STATE.complaints([0x60010000, 5], gen=Gen.EL)] == ["5 is above 4"]


def test_constant_buffer_of_a_capture() -> None:
    view = common.CONSTANT_BUFFER.view([0x60020100, 0x00012341], gen=Gen.EL)
    assert (view.valid, view.buffer_starting_address, view.buffer_length) == (True, 0x12340, 2)
    assert common.CONSTANT_BUFFER.complaints([0x60020100, 0x1F], gen=Gen.EL) == []
    assert len(common.CONSTANT_BUFFER.complaints([0x60020100, 0x20], gen=Gen.EL)) == 1


def test_the_bases_of_crocus() -> None:
    words = [0x61010004, 0x00000001, 0x00123001, 0x00000001, 0xFFFFF001, 0x00000001]
    view = common.STATE_BASE_ADDRESS.view(words, gen=Gen.EL)
    assert view.surface_state_base_address == 0x00123000
    assert view.general_state_access_upper_bound == 0xFFFFF000
    assert all(value for name, value in view.to_dict().items() if name.endswith("modify_enable"))
    assert common.STATE_BASE_ADDRESS.complaints(words, gen=Gen.EL) == []
    assert common.STATE_BASE_ADDRESS.complaints([*words, 0, 0], gen=Gen.EL) == []


def test_pipeline_select_in_both_encodings() -> None:
    gen4, gen45 = command_named("PIPELINE_SELECT", Gen.CL), command_named("PIPELINE_SELECT", Gen.EL)
    assert gen4.pack(Gen.CL, pipeline_selection=Pipeline.MEDIA) == [0x61040001]
    assert gen45.pack(Gen.EL, pipeline_selection=Pipeline.THREE_D) == [0x69040000]
    other = command_for(0x69040001, Gen.CL)
    assert other is not None and other.view([0x69040001], gen=Gen.CL).pipeline_selection is Pipeline.MEDIA
    assert [c.what for c in gen45.complaints([0x69040002], gen=Gen.EL)] == ["2 is reserved"]
    assert len(gen4.complaints([0x61040002], gen=Gen.CL)) == 1


def test_vf_statistics_in_both_encodings() -> None:
    for gen, header in ((Gen.CL, 0x780B0001), (Gen.EL, 0x680B0001)):
        assert command_named("3DSTATE_VF_STATISTICS", gen).pack(gen, statistics_enable=True) == [header]


def test_pipe_control_writes_an_immediate() -> None:
    words = PIPE_CONTROL.pack(
        Gen.EL, post_sync_operation=PostSyncOperation.WRITE_IMMEDIATE_DATA, destination_address=0x00123450,
        destination_address_type=GraphicsAddressType.GLOBAL, immediate_data_low=1, immediate_data_high=2)
    assert words == [0x7A004002, 0x00123454, 1, 2]


@pytest.mark.parametrize(("header", "operation", "set_bits"), [
    (0x7A001002, PostSyncOperation.NO_WRITE, {"write_cache_flush_enable"}),
    (0x7A000402, PostSyncOperation.NO_WRITE, {"texture_cache_flush_enable"}),
    (0x7A000802, PostSyncOperation.NO_WRITE, {"instruction_state_cache_flush_enable"}),
    (0x7A00A002, PostSyncOperation.WRITE_PS_DEPTH_COUNT, {"depth_stall_enable"}),
    (0x7A00C002, PostSyncOperation.WRITE_TIMESTAMP, set()),
    (0x7A000102, PostSyncOperation.NO_WRITE, {"notify_enable"}),
])
def test_pipe_controls_of_crocus(header: int, operation: PostSyncOperation, set_bits: set[str]) -> None:
    view = PIPE_CONTROL.view([header, 4, 0, 0], gen=Gen.EL)
    values = view.to_dict()
    assert values["post_sync_operation"] is operation
    assert {name for name, value in values.items() if value is True} == set_bits


def test_without_a_write_the_operands_are_ignored() -> None:
    words = [0x7A001002, 0xFFFFFFFC, 0xFFFFFFFF, 0xFFFFFFFF]
    assert PIPE_CONTROL.complaints(words, gen=Gen.EL) == []
    assert "destination_address" not in PIPE_CONTROL.view(words, gen=Gen.EL).to_dict()


def test_pipe_control_bits_of_gm45_are_reserved_before_it() -> None:
    words = [0x7A000602, 0, 0, 0]
    assert PIPE_CONTROL.complaints(words, gen=Gen.CTG) == []
    assert [c.field.name for c in PIPE_CONTROL.complaints(words, gen=Gen.CL)] == ["reserved_0_10_9"]


def test_prefetch_and_system_routine() -> None:
    assert common.STATE_PREFETCH.pack(Gen.BW, prefetch_pointer=0x1000, prefetch_count=8) == [0x60030000, 0x1007]
    assert common.STATE_SIP.pack(Gen.BW, system_instruction_pointer=0x20) == [0x61020000, 0x20]
