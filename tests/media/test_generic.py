"""Generic mode: payloads, R0, descriptors, constants, the debug counter (G45 PRM vol. 2, 10.4.2.1)."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from gen4emu.device.media import MediaPayload
from gen4emu.hw.gen4.media import VfeMode
from tests.harness.media import (
    CURBE,
    DATA,
    DESCRIPTORS,
    END,
    EXTENDED,
    KERNELS,
    SCRATCH,
    TABLES,
    TARGETS,
    VFE,
    Media,
    store,
)

WORDS = tuple(range(0x100, 0x109))
BYTES = bytes(range(256)) * 3


def generic(**options: Any) -> Media:
    media = Media(**options)
    media.select()
    return media


def as_bytes(rows: tuple[tuple[int, ...], ...]) -> bytes:
    return b"".join(struct.pack("<8I", *row) for row in rows)


def only(media: Media) -> MediaPayload:
    (thread,) = media.run()
    assert media.complaints() == []
    return thread


def test_inline_and_indirect_data_start_at_registers_of_their_own() -> None:
    media = generic()
    media.object(WORDS, BYTES)
    thread = only(media)
    assert thread.first == 1
    assert thread.data[0] == WORDS[:8]
    assert thread.data[1] == (WORDS[8], 0, 0, 0, 0, 0, 0, 0)
    assert as_bytes(thread.data[2:]) == BYTES
    assert len(thread.data) == 26


def test_data_that_ends_within_a_register_is_padded_with_zeros() -> None:
    media = generic()
    media.object((), BYTES[:33])
    thread = only(media)
    assert as_bytes(thread.data) == BYTES[:33] + bytes(31)


def test_constants_come_before_the_payload() -> None:
    constants = bytes(i & 0xFF for i in range(1024))
    media = generic(constants=constants)
    media.kernel(3, END, constant_urb_entry_read_length=2, constant_urb_entry_read_offset=5)
    media.object(WORDS[:1], interface_descriptor_offset=3)
    thread = only(media)
    assert thread.first == 3
    assert as_bytes(thread.constants) == constants[160:224]
    assert thread.data == ((WORDS[0], 0, 0, 0, 0, 0, 0, 0),)


def test_constants_are_those_of_the_time_of_the_command() -> None:
    media = generic(constants=bytes([1]) * 1024)
    media.kernel(0, END, constant_urb_entry_read_length=1)
    media.store_dword(CURBE, 0x09090909)
    media.object(WORDS[:1])
    assert only(media).constants[0][0] == 0x01010101


def test_the_header_of_a_root_thread() -> None:
    media = generic(scratch_space_base_pointer=SCRATCH, per_thread_scratch_space=3 * 1024,
                    urb_entry_allocation_size=4)
    media.kernel(5, END, sampler_state_pointer=0x7000, binding_table_pointer=TABLES + 0x100)
    media.object(WORDS[:1], interface_descriptor_offset=5)
    media.object(WORDS[:1], interface_descriptor_offset=5)
    first, second = media.run()
    assert first.header == (0, 0, DESCRIPTORS + 16 * 5, 0x7000 | 2, TABLES + 0x100, SCRATCH, 0, 0)
    # Both are queued before one starts: another URB entry, FFTID and scratch slot for the second.
    assert second.header == (4, 0, DESCRIPTORS + 16 * 5, 0x7000 | 2, TABLES + 0x100, SCRATCH + 3 * 1024 | 1, 1, 0)
    assert (first.descriptor, first.kernel) == (DESCRIPTORS + 16 * 5, KERNELS + 5 * 0x2000)


def test_scratch_slots_are_used_again() -> None:
    media = generic(scratch_space_base_pointer=SCRATCH)
    for _ in range(3):
        media.object(WORDS[:1])
        media.command("MI_FLUSH")
    assert [t.header[5] for t in media.run()] == [SCRATCH] * 3


@pytest.mark.parametrize(("control", "ids", "expected"), [
    (0, (7, 7, 7), (0, 1, 2)), (1, (7, 7, 7), (0, 0, 0)), (2, (7, 20, 30), (7, 8, 9)), (3, (7, 20, 30), (7, 20, 30)),
])
def test_the_debug_counter(control: int, ids: tuple[int, ...], expected: tuple[int, ...]) -> None:
    media = generic(debug_counter_control=control)
    for number in ids:
        media.object(WORDS[:1], object_id=number)
    assert tuple(t.header[6] for t in media.run()) == expected


def test_the_debug_counter_continues_in_the_next_batch() -> None:
    media = generic()
    media.object(WORDS[:1])
    assert [t.header[6] for t in media.run()] == [0]
    media.object(WORDS[:1])
    assert [t.header[6] for t in media.run()] == [1]


def test_retained_data_comes_first_in_the_next_object() -> None:
    media = generic()
    media.object((), BYTES[:64], retain_bit=True)
    media.object((), bytes(range(100, 132)), at=DATA + 0x1000, indirect_data_length=64)
    first, second = media.run()
    assert as_bytes(first.data) == BYTES[:64]
    assert as_bytes(second.data) == BYTES[32:64] + bytes(range(100, 132))


def test_more_registers_than_there_are_is_reported() -> None:
    media = generic()
    media.object((), BYTES * 6)  # 144 registers
    (thread,) = media.run()
    assert len(thread.registers) == 128
    assert as_bytes(thread.data) == (BYTES * 6)[:127 * 32]
    assert any("reserved value" in c for c in media.complaints())


def test_a_payload_larger_than_its_urb_entry_arrives_whole() -> None:
    media = generic(urb_entry_allocation_size=3, number_of_urb_entries=1)
    media.object(WORDS, BYTES)
    assert as_bytes(only(media).data[2:]) == BYTES


def test_fields_of_the_descriptor_reach_the_thread() -> None:
    media = generic()
    look = "".join(f"mov(8) g{60 + i}<1>UD {register}<8,8,1>UD {{ align1 nomask }};\n"
                   for i, register in enumerate(("cr0", "sr0")))
    media.kernel(0, look + store(60, f"0x{TARGETS:x}UD") + store(61, f"0x{TARGETS + 32:x}UD") + END,
                 single_program_flow=True, floating_point_mode=1, illegal_opcode_exception_enable=True,
                 mask_stack_exception_enable=True, software_exception_enable=True)
    media.memory.write(TARGETS, bytes(64))
    media.object(WORDS[:1])
    media.run()
    assert media.dwords(TARGETS, 2) == [0b101, 0b111 << 11]
    assert media.dwords(TARGETS + 32, 2) == [0, 0xFFFF]  # SR0: the first thread of the first EU, all channels


def test_offsets_are_remapped_with_extended_state() -> None:
    remap = {f"interface_descriptor_remap_{i}": 15 - i for i in range(16)}
    media = generic(extended=remap, extended_vfe_state_present=True)
    media.kernel(17, END)
    for offset in (0, 3, 15, 17):
        media.object(WORDS[:1], name="MEDIA_OBJECT_EX", interface_descriptor_offset=offset)
    media.object(WORDS[:1], interface_descriptor_offset=1)
    numbers = [(t.descriptor - DESCRIPTORS) // 16 for t in media.run()]
    assert numbers == [15, 12, 0, 17, 14]


def test_965_has_no_extended_state_for_generic_objects() -> None:
    media = Media("965gm")
    media.select()
    media.command("MEDIA_STATE_POINTERS", pointer_to_vfe_state=VFE, extended_state_pointer=EXTENDED,
                  extended_vfe_state_enable=True)
    media.memory.write(EXTENDED, b"\x55" * 32)
    media.object(WORDS[:1], interface_descriptor_offset=2)
    assert only(media).descriptor == DESCRIPTORS + 32


def test_a_persistent_root_thread_is_a_generic_one() -> None:
    media = generic()
    media.object(WORDS[:4], name="MEDIA_OBJECT_PRT", interface_descriptor_offset=2)
    thread = only(media)
    assert thread.descriptor == DESCRIPTORS + 32
    assert thread.data == ((*WORDS[:4], 0, 0, 0, 0),)


@pytest.mark.parametrize(("mode", "name"), [
    (VfeMode.IS, "MEDIA_OBJECT_EX"), (VfeMode.AVC_IT, "MEDIA_OBJECT"), (VfeMode.AVC_MC, "MEDIA_OBJECT"),
    (VfeMode.VC1_IT, "MEDIA_OBJECT"), (VfeMode.VLD, "MEDIA_OBJECT_PRT")])
def test_objects_that_a_mode_does_not_have_are_dropped(mode: VfeMode, name: str) -> None:
    media = Media(mode=mode, extended={} if mode != VfeMode.IS else None)
    media.select()
    media.object(WORDS, name=name)
    assert media.run() == []
    assert any("reserved value" in c for c in media.complaints())


def test_indirect_data_ends_at_the_upper_bound() -> None:
    media = generic()
    media.command("STATE_BASE_ADDRESS", indirect_object_access_upper_bound=DATA + 0x1000,
                  indirect_object_access_upper_bound_modify_enable=True)
    media.object((), b"\xAA" * 64, at=DATA + 0x1000 - 32)
    (thread,) = media.run()
    assert as_bytes(thread.data) == b"\xAA" * 32 + bytes(32)


def test_the_base_of_indirect_data_is_added() -> None:
    media = generic()
    media.memory.write(DATA, BYTES[:32])
    media.command("STATE_BASE_ADDRESS", indirect_object_base_address=DATA - 0x4000,
                  indirect_object_base_address_modify_enable=True)
    media.object((), indirect_data_length=32, indirect_data_start_address=0x4000)
    assert as_bytes(only(media).data) == BYTES[:32]
