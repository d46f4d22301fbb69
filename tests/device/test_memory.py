"""The graphics address space: page table, entries, faults ."""

from __future__ import annotations

import gc
import mmap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gen4emu.device.memory import (
    GTT_ENTRIES_GEN4,
    GTT_ENTRIES_GEN45,
    PAGE_SIZE,
    Fault,
    FaultKind,
    Memory,
    MemoryFault,
    Missing,
    PageFlags,
    Pte,
    Unit,
)
from gen4emu.errors import FieldError
from gen4emu.hw.gen4.registers import PageTableEntryType

# --- page table entries ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("physical", "uncached", "snooped"), [
    (0x12345000, 0x12345001, 0x12345007),
    (0x212345000, 0x12345021, 0x12345027),
    (0xFFFFFF000, 0xFFFFF0F1, 0xFFFFF0F7),
])
def test_encoded_entries(physical: int, uncached: int, snooped: int) -> None:
    assert Pte(physical).encode() == uncached
    assert Pte(physical, PageTableEntryType.SNOOPED).encode() == snooped
    assert Pte.decode(uncached) == Pte(physical, PageTableEntryType.UNCACHED)
    assert Pte.decode(snooped) == Pte(physical, PageTableEntryType.SNOOPED)


@given(st.integers(0, (1 << 24) - 1), st.integers(0, 3), st.booleans())
def test_entry_survives_encode_and_decode(page: int, kind: int, valid: bool) -> None:
    pte = Pte(page * PAGE_SIZE, kind, valid)
    assert Pte.decode(pte.encode()) == pte


@given(st.integers(0, 0xFFFFFFFF))
def test_encode_keeps_all_but_the_reserved_bits_of_any_entry(entry: int) -> None:
    assert Pte.decode(entry).encode() == entry & ~0xF08


@pytest.mark.parametrize("pte", [Pte(0x1234), Pte(1 << 36), Pte(-4096), Pte(0, 4)])
def test_entry_that_does_not_fit_its_bits_is_refused(pte: Pte) -> None:
    with pytest.raises(FieldError):
        pte.encode()


# --- contents -------------------------------------------------------------------------------------------------------


def test_writes_across_pages_read_back() -> None:
    with Memory() as memory:
        memory.write(0x1FFE, b"\x01\x02\x03\x04\x05")
        assert memory.read(0x1FFE, 5) == b"\x01\x02\x03\x04\x05"
        assert memory.read(0x1000, 0xFFE) == bytes(0xFFE)
        assert memory.ranges() == [(0x1000, 0x2000)]


def test_dwords_are_little_endian_whatever_the_alignment() -> None:
    with Memory() as memory:
        memory.write(0x1FFF, bytes.fromhex("78563412 efbeadde"))
        dwords = memory.read_dwords(0x1FFF, 2)
        assert dwords.format == "I"
        assert list(dwords) == [0x12345678, 0xDEADBEEF]


def test_newest_write_wins() -> None:
    with Memory() as memory:
        memory.write(0x1000, b"aaaaaaaa")
        memory.write(0x1004, b"bb")
        assert memory.read(0x1000, 8) == b"aaaabbaa"


class Model:
    """A second model: writes to a dictionary of bytes."""

    def __init__(self) -> None:
        self.bytes: dict[int, int] = {}

    def write(self, address: int, data: bytes) -> None:
        self.bytes.update(enumerate(data, address))

    def read(self, address: int, size: int) -> bytes:
        return bytes(self.bytes.get(a, 0) for a in range(address, address + size))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 6 * PAGE_SIZE), st.integers(0, 2 * PAGE_SIZE), st.integers(0, 255)),
                max_size=8), st.integers(0, 6 * PAGE_SIZE), st.integers(0, 3 * PAGE_SIZE))
def test_random_writes_read_back_as_in_a_model(writes: list[tuple[int, int, int]], at: int, size: int) -> None:
    model = Model()
    with Memory() as memory:
        for address, length, value in writes:
            data = bytes((value + i) & 0xFF for i in range(length))
            memory.write(address, data)
            model.write(address, data)
        assert memory.read(at, size, Missing.ZERO) == model.read(at, size)
        written = {address // PAGE_SIZE * PAGE_SIZE for address in model.bytes}
        assert {page.address for page in memory.pages()} == written
        holes = sum(length for _, length in memory.unmapped(at, size))
        assert holes == sum(1 for a in range(at, at + size) if a // PAGE_SIZE * PAGE_SIZE not in written)


def test_two_memories_share_no_state() -> None:
    with Memory() as one, Memory() as other:
        one.write(0x1000, b"one")
        other.write(0x1000, b"two")
        assert (one.read(0x1000, 3), other.read(0x1000, 3)) == (b"one", b"two")
        one.read(0x9000, 1, Missing.REPORT)
        assert (one.faults.total, other.faults.total) == (1, 0)


@pytest.mark.parametrize(("address", "size"), [(-1, 1), (0xFFFFFFFF, 2), (1 << 32, 1), (0, -1)])
def test_range_outside_of_32_bits_is_refused(address: int, size: int) -> None:
    with Memory() as memory, pytest.raises(FieldError):
        memory.read(address, size)


# --- what is not there ----------------------------------------------------------------------------------------------


def test_read_of_unwritten_memory_says_where_and_what() -> None:
    with Memory() as memory:
        memory.write(0x1000, b"x")
        with pytest.raises(MemoryFault) as caught:
            memory.read(0x1FF0, 0x20, unit=Unit.CS)
    assert caught.value.fault == Fault(FaultKind.UNWRITTEN_READ, 0x2000, Unit.CS, 0)
    assert str(caught.value) == ("0x00002000: CS: read of memory that nothing has written "
                                 "(page table entry 0x00000000)")


def test_missing_memory_reads_as_zeros_and_is_reported_on_request() -> None:
    with Memory() as memory:
        assert memory.read(0x5000, 4, Missing.ZERO) == bytes(4)
        assert memory.faults.total == 0
        assert memory.missed_reads() == []
        assert memory.read(0x5FFC, 8, Missing.REPORT, Unit.SAMPLER) == bytes(8)
        memory.read(0x6008, 8, Missing.REPORT, Unit.VF)
        assert memory.faults.counts == {FaultKind.UNWRITTEN_READ: 3}
        assert memory.faults.first == {
            FaultKind.UNWRITTEN_READ: Fault(FaultKind.UNWRITTEN_READ, 0x5FFC, Unit.SAMPLER, 0)}
        assert memory.missed_reads() == [(0x5000, 0x2000)]


def test_pages_beyond_the_table_do_not_exist() -> None:
    with Memory(GTT_ENTRIES_GEN4) as memory:  # 512 MiB
        memory.write(0x1FFFFFFC, b"last")
        assert memory.read(0x1FFFFFFC, 4) == b"last"
        with pytest.raises(MemoryFault) as write:
            memory.write(0x1FFFFFFC, b"lastnext")
        assert write.value.fault.kind is FaultKind.UNMAPPED_WRITE
        assert write.value.fault.address == 0x20000000
        with pytest.raises(MemoryFault) as read:
            memory.read(0x20000000, 4)
        assert read.value.fault.kind is FaultKind.UNMAPPED_READ


def test_table_of_gen45_reaches_2_gib() -> None:
    assert GTT_ENTRIES_GEN45 * PAGE_SIZE == 2 << 30
    with Memory(GTT_ENTRIES_GEN45) as memory:
        memory.write(0x7FFFFFFF, b"x")
        with pytest.raises(MemoryFault):
            memory.write(0x80000000, b"x")


@pytest.mark.parametrize("entries", [0, -1, (1 << 20) + 1])
def test_impossible_table_size_is_refused(entries: int) -> None:
    with pytest.raises(FieldError):
        Memory(entries)


def test_limit_bounds_what_a_hostile_capture_can_take() -> None:
    with Memory(limit_bytes=3 * PAGE_SIZE) as memory:
        memory.write(0, bytes(3 * PAGE_SIZE))
        with pytest.raises(MemoryFault) as caught:
            memory.write(0x700000, b"x")
        assert caught.value.fault.kind is FaultKind.NO_MEMORY_WRITE
        memory.write(0x1000, b"still writable")
        assert memory.owned_bytes == 3 * PAGE_SIZE


def test_unmapped_parts_of_a_range_are_exact() -> None:
    with Memory() as memory:
        memory.write(0x3000, b"x")
        assert memory.unmapped(0x2F00, 0x1200) == [(0x2F00, 0x100), (0x4000, 0x100)]
        assert memory.is_mapped(0x3000, 0x1000)
        assert not memory.is_mapped(0x3000, 0x1001)
        assert memory.unmapped(0xFFFFF000, 0x2000) == [(0xFFFFF000, 0x1000), (0x100000000, 0x1000)]


# --- strict page table ----------------------------------------------------------------------------------------------


def strict_pte() -> Memory:
    return Memory(GTT_ENTRIES_GEN45, strict_pte=True)


def test_graphics_page_finds_its_physical_page_above_4_gib() -> None:
    with strict_pte() as memory:
        memory.set_gtt(5, [Pte(0x212345000, PageTableEntryType.SNOOPED).encode()])
        memory.write_physical(0x212345010, b"physical")
        assert memory.read(0x5010, 8) == b"physical"
        memory.write(0x5010, b"graphics")
        assert memory.read_physical(0x212345010, 8) == b"graphics"
        assert memory.physical(0x5010) == 0x212345010
        assert memory.ranges() == [(0x5000, 0x1000)]


def test_two_entries_with_one_page_see_each_other() -> None:
    with strict_pte() as memory:
        memory.set_gtt(1, [Pte(0x9000).encode(), Pte(0x9000).encode()])
        memory.write(0x1000, b"alias")
        assert memory.read(0x2000, 5) == b"alias"


def test_new_entry_shows_another_page_and_the_old_one_keeps_its_contents() -> None:
    with strict_pte() as memory:
        memory.set_gtt(1, [Pte(0x9000).encode()])
        memory.write(0x1000, b"old")
        memory.set_gtt(1, [Pte(0xA000).encode()])
        assert memory.read(0x1000, 3, Missing.ZERO) == bytes(3)
        memory.set_gtt(1, [Pte(0x9000).encode()])
        assert memory.read(0x1000, 3) == b"old"


def test_valid_entry_without_contents_is_mapped_but_unwritten() -> None:
    with strict_pte() as memory:
        memory.set_gtt(7, [Pte(0x9000).encode()])
        assert memory.is_mapped(0x7000, 0x1000)
        assert memory.ranges() == []
        with pytest.raises(MemoryFault) as caught:
            memory.read(0x7000, 4)
        assert caught.value.fault == Fault(FaultKind.UNWRITTEN_READ, 0x7000, Unit.CPU, 0x9001)


def test_invalid_entry_faults_and_shows_itself() -> None:
    with strict_pte() as memory:
        memory.set_gtt(7, [Pte(0x9000, valid=False).encode()])
        with pytest.raises(MemoryFault) as caught:
            memory.read(0x7004, 4)
        assert caught.value.fault == Fault(FaultKind.UNMAPPED_READ, 0x7004, Unit.CPU, 0x9000)


def test_write_of_a_capture_creates_the_page_it_did_not_map() -> None:
    with strict_pte() as memory:
        memory.read(0x3000, 1, Missing.REPORT)  # to have been missed does not matter
        memory.write(0x3000, b"made")
        assert memory.read(0x3000, 4) == b"made"
        assert Pte.decode(memory.gtt_entry(3)) == Pte(0xF00003000)


def test_entries_are_kept_but_not_used_without_strict_pte() -> None:
    identity = [0x00200003 + 0x1000 * i for i in range(16384)]  # what captures begin with
    with Memory() as memory:
        memory.set_gtt(0, identity)
        memory.write(0x1000, b"flat")
        assert memory.read(0x1000, 4) == b"flat"
        assert memory.gtt_entry(16383) == 0x041FF003
        assert memory.physical(0x1234) == 0x1234


def test_reserved_type_of_a_valid_entry_still_maps() -> None:
    with strict_pte() as memory:
        memory.set_gtt(0, [0x00200003])
        memory.write(0x10, b"x")
        assert memory.read_physical(0x200010, 1) == b"x"


@pytest.mark.parametrize(("first", "entries"), [(GTT_ENTRIES_GEN45, [1]), (-1, [1]), (0, [1 << 32]), (0, [-1])])
def test_entries_that_do_not_fit_are_refused(first: int, entries: list[int]) -> None:
    with Memory() as memory, pytest.raises(FieldError):
        memory.set_gtt(first, entries)


@pytest.mark.parametrize("physical", [-1, 1 << 36, (1 << 36) - 3])
def test_physical_address_outside_of_36_bits_is_refused(physical: int) -> None:
    with Memory() as memory, pytest.raises(FieldError):
        memory.write_physical(physical, b"four")


# --- memory of others -----------------------------------------------------------------------------------------------


def test_external_pages_are_shared_without_a_copy() -> None:
    shared = mmap.mmap(-1, 3 * PAGE_SIZE)
    with Memory() as memory:
        memory.map_external(0x10000, shared)
        shared[0x1000:0x1005] = b"hello"
        assert memory.read(0x11000, 5) == b"hello"
        memory.write(0x12FFE, b"ab")
        assert shared[0x2FFE:] == b"ab"
        assert memory.page_flags(0x10000) == PageFlags.PRESENT | PageFlags.EXTERNAL | PageFlags.WRITTEN
        assert memory.owned_bytes == 0
        assert memory.ranges() == [(0x10000, 0x3000)]
    shared.close()


def test_read_only_pages_refuse_writes() -> None:
    shared = mmap.mmap(-1, PAGE_SIZE)
    with Memory() as memory:
        memory.map_external(0x10000, shared, read_only=True)
        with pytest.raises(MemoryFault) as caught:
            memory.write(0x10008, b"x")
        assert caught.value.fault.kind is FaultKind.READ_ONLY_WRITE
        assert caught.value.fault.address == 0x10008
        assert shared[:] == bytes(PAGE_SIZE)
    shared.close()


def test_unmapping_an_external_page_restores_the_page_below() -> None:
    shared = mmap.mmap(-1, PAGE_SIZE)
    with Memory() as memory:
        memory.write(0x10000, b"own")
        memory.map_external(0x10000, shared)
        assert memory.read(0x10000, 3) == bytes(3)
        memory.unmap_external(0x10000, PAGE_SIZE)
        assert memory.read(0x10000, 3) == b"own"
        assert memory.page_flags(0x10000) == PageFlags.PRESENT | PageFlags.WRITTEN
    shared.close()


def test_buffer_is_released_with_its_last_page() -> None:
    shared = mmap.mmap(-1, 3 * PAGE_SIZE)
    with Memory() as memory:
        memory.map_external(0x10000, shared)
        memory.unmap_external(0x11000, PAGE_SIZE)
        assert memory.unmapped(0x10000, 0x3000) == [(0x11000, 0x1000)]
        with pytest.raises(BufferError):
            shared.close()
        memory.unmap_external(0x10000, PAGE_SIZE)
        with pytest.raises(BufferError):
            shared.close()
        memory.unmap_external(0x12000, PAGE_SIZE)
        shared.close()
        assert memory.ranges() == []


def test_buffer_that_another_covers_is_released() -> None:
    first, second = mmap.mmap(-1, 2 * PAGE_SIZE), mmap.mmap(-1, 2 * PAGE_SIZE)
    with Memory() as memory:
        memory.map_external(0x10000, first)
        memory.map_external(0x10000, second)
        first.close()
        second[:6] = b"second"
        assert memory.read(0x10000, 6) == b"second"
    second.close()


@pytest.mark.parametrize(("address", "size"), [(0x10800, PAGE_SIZE), (0x10000, 100), (0x7FFFF000, 2 * PAGE_SIZE),
                                               (-4096, PAGE_SIZE), (1 << 32, PAGE_SIZE)])
def test_mapping_that_is_not_whole_pages_of_the_table_is_refused(address: int, size: int) -> None:
    shared = mmap.mmap(-1, size)
    with Memory() as memory:
        with pytest.raises(FieldError):
            memory.map_external(address, shared)
        gc.collect()
        assert memory.ranges() == []
    shared.close()


# --- life and change ------------------------------------------------------------------------------------------------


def test_closing_releases_all_memory() -> None:
    shared = mmap.mmap(-1, PAGE_SIZE)
    memory = Memory()
    memory.map_external(0, shared)
    memory.close()
    shared.close()
    memory.close()
    with pytest.raises(ValueError, match="closed"):
        memory.read(0, 1)


def test_clear_unmaps_everything() -> None:
    shared = mmap.mmap(-1, PAGE_SIZE)
    with strict_pte() as memory:
        memory.write(0x1000, b"x")
        memory.map_external(0x8000, shared)
        memory.read(0x5000, 1, Missing.REPORT)
        mark = memory.mark()
        memory.clear()
        shared.close()
        assert memory.ranges() == []
        assert memory.missed_reads() == []
        assert memory.gtt_entry(1) == 0
        assert memory.faults.total == 0
        assert memory.owned_bytes == 0
        assert memory.changed_since(mark, 0x1000, 1)


def test_changes_are_tracked_per_page() -> None:
    with Memory() as memory:
        memory.write(0x1000, bytes(0x3000))
        mark = memory.mark()
        assert not memory.changed_since(mark, 0x1000, 0x3000)
        memory.write(0x2000, b"x")
        assert memory.changed_since(mark, 0x1000, 0x3000)
        assert not memory.changed_since(mark, 0x1000, 0x1000)
        assert not memory.changed_since(mark, 0x3000, 0x1000)
        later = memory.mark()
        assert not memory.changed_since(later, 0x1000, 0x3000)
        memory.write_physical(0x3000, b"y")
        assert memory.changed_since(later, 0x3000, 1)


def test_external_memory_always_counts_as_changed() -> None:
    shared = mmap.mmap(-1, PAGE_SIZE)
    with Memory() as memory:
        memory.map_external(0x1000, shared)
        assert memory.changed_since(memory.mark(), 0x1000, 1)
    shared.close()
