"""Memory above 4 GiB, as generations with 48-bit addresses have it."""

from __future__ import annotations

import mmap
from tempfile import TemporaryFile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gen4emu._native import ffi, lib
from gen4emu.device.memory import PAGE_SIZE, FaultKind, Memory, MemoryFault, Missing, PageFlags, Unit
from gen4emu.errors import FieldError

GIB = 1 << 30
END = 1 << 48
ENDS = st.sampled_from([0, 4 * GIB, 1 << 36, 1 << 40, END - 8 * PAGE_SIZE])


def far_memory(**options: int) -> Memory:
    return Memory(1 << 20, address_bits=48, **options)


def read32(memory: Memory, address: int) -> tuple[int, int]:
    """A dword as a unit reads it, and the number of faults."""
    port, value = memory.new_port(Unit.EU), ffi.new("uint32_t *")
    lib.g4_mem_read(port, address, value, 4)
    return value[0], sum(port.log.count)


@pytest.mark.parametrize("bits", [31, 49])
def test_address_space_of_an_impossible_size_is_refused(bits: int) -> None:
    with pytest.raises(FieldError, match="address_bits"):
        Memory(address_bits=bits)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(ENDS, st.integers(-2 * PAGE_SIZE, 2 * PAGE_SIZE), st.integers(0, 2 * PAGE_SIZE),
                          st.integers(0, 255)), max_size=8))
def test_random_writes_read_back_as_in_a_model(writes: list[tuple[int, int, int, int]]) -> None:
    model: dict[int, int] = {}
    with far_memory() as memory:
        for end, offset, length, value in writes:
            address = max(0, end + offset)
            data = bytes((value + i) & 0xFF for i in range(length))
            memory.write(address, data)
            model.update(enumerate(data, address))
        written = sorted({address // PAGE_SIZE * PAGE_SIZE for address in model})
        assert [page.address for page in memory.pages()] == written
        for page in written:
            assert memory.read(page, PAGE_SIZE) == bytes(model.get(page + i, 0) for i in range(PAGE_SIZE))
        assert memory.owned_pages().tolist() == [page // PAGE_SIZE for page in written]


def test_access_crosses_4_gib() -> None:
    with far_memory() as memory:
        memory.write(4 * GIB - 2, b"\x01\x02\x03\x04")
        assert read32(memory, 4 * GIB - 2) == (0x04030201, 0)
        assert memory.ranges() == [(4 * GIB - PAGE_SIZE, 2 * PAGE_SIZE)]
        assert memory.unmapped(4 * GIB - 2 * PAGE_SIZE, 4 * PAGE_SIZE) == [
            (4 * GIB - 2 * PAGE_SIZE, PAGE_SIZE), (4 * GIB + PAGE_SIZE, PAGE_SIZE)]


def test_addresses_wrap_at_the_end_and_may_be_sign_extended() -> None:
    with far_memory() as memory:
        memory.write(END - PAGE_SIZE, b"high" + bytes(PAGE_SIZE - 4))
        assert read32(memory, (0xFFFF << 48) | (END - PAGE_SIZE)) == (int.from_bytes(b"high", "little"), 0)
        memory.write(0, b"low!")
        assert read32(memory, END) == (int.from_bytes(b"low!", "little"), 0)


def test_sums_of_32_bit_devices_wrap_at_4_gib() -> None:
    with Memory() as memory:
        memory.write(0x1000, b"wrap")
        assert read32(memory, 4 * GIB + 0x1000) == (int.from_bytes(b"wrap", "little"), 0)
        port = memory.new_port(Unit.EU)
        lib.g4_mem_read(port, 4 * GIB + 0xFFFF_F000, ffi.new("uint32_t *"), 4)
        fault = port.log.first[FaultKind.UNMAPPED_READ]
        assert (fault.address, fault.unit) == (0xFFFF_F000, Unit.EU)


def test_missing_memory_is_reported_with_its_whole_address() -> None:
    with far_memory() as memory:
        assert memory.read(0x7654_3210_F000, 4, Missing.REPORT) == bytes(4)
        assert memory.faults.first[FaultKind.UNWRITTEN_READ].address == 0x7654_3210_F000
        assert memory.missed_reads() == [(0x7654_3210_F000, PAGE_SIZE)]
        assert memory.missed() == [(0x7654_3210_F, PageFlags.MISSED_READ)]
        assert memory.owned_bytes == 0


def test_limit_includes_the_tables_of_scattered_pages() -> None:
    with far_memory(limit_bytes=64 << 20) as memory:
        written = 0
        with pytest.raises(MemoryFault):
            for page in range(1 << 16):
                memory.write(page << 32, b"x")
                written += 1
        assert 50 < written < 1000  # each needs about 130 KiB of tables
        memory.write(0, b"y")  # a page that exists


def test_external_pages_are_shared_and_unmapped() -> None:
    with mmap.mmap(-1, 2 * PAGE_SIZE) as buffer, far_memory() as memory:
        address = 5 * GIB
        memory.write(address, b"below")
        memory.map_external(address, buffer)
        assert memory.uses(ffi.from_buffer("uint8_t[]", buffer), 2 * PAGE_SIZE)
        memory.write(address + PAGE_SIZE, b"shared")
        assert buffer[PAGE_SIZE:PAGE_SIZE + 6] == b"shared"
        memory.unmap_external(address, 2 * PAGE_SIZE)
        assert not memory.uses(ffi.from_buffer("uint8_t[]", buffer), 2 * PAGE_SIZE)
        assert memory.read(address, 5) == b"below"
        with pytest.raises(FieldError):
            memory.map_external(END - PAGE_SIZE, buffer)


def test_external_pages_may_be_more_than_4_gib() -> None:
    with TemporaryFile() as file:
        file.truncate(5 * GIB)
        buffer = mmap.mmap(file.fileno(), 5 * GIB)
    with buffer, far_memory() as memory:
        memory.map_external(PAGE_SIZE, buffer)
        memory.write(PAGE_SIZE + 5 * GIB - 4, b"last")
        assert buffer[-4:] == b"last"
        memory.unmap_external(PAGE_SIZE, 5 * GIB)


def test_changes_are_tracked() -> None:
    with far_memory() as memory:
        memory.write(6 * GIB, bytes(3 * PAGE_SIZE))
        mark = memory.mark()
        assert not memory.changed_since(mark, 6 * GIB, 3 * PAGE_SIZE)
        memory.write(6 * GIB + PAGE_SIZE, b"new")
        assert memory.changed_since(mark, 6 * GIB, 3 * PAGE_SIZE)
        assert not memory.changed_since(mark, 6 * GIB, PAGE_SIZE)
        assert memory.written_pages(mark) == [6 * GIB + PAGE_SIZE]


def test_hashes_are_those_of_near_pages_with_the_same_contents() -> None:
    with far_memory() as memory:
        memory.write(7 * GIB, b"same")
        memory.write(0, b"same")
        assert memory.hash_pages(7 * GIB // PAGE_SIZE, 2).tolist() == memory.hash_pages(0, 2).tolist()


@pytest.mark.parametrize("windows", [1, 2, 255, 256, 257, 4096])
def test_pages_at_any_distance_are_apart(windows: int) -> None:
    """Those 4 GiB apart share a window, which only the first of them has."""
    addresses = [base + windows * n * (16 << 20) for n in range(3) for base in (5 * GIB, 7 * GIB + PAGE_SIZE)]
    with far_memory() as memory:
        for value, address in enumerate(addresses):
            memory.write(address, bytes([value + 1]) * 4)
        assert [memory.read(address, 1)[0] for address in addresses] == list(range(1, len(addresses) + 1))
        assert [read32(memory, address)[1] for address in addresses] == [0] * len(addresses)
        assert read32(memory, addresses[-1] + windows * (16 << 20)) == (0, 1)
        memory.clear()
        assert [read32(memory, address) for address in addresses] == [(0, 1)] * len(addresses)


def test_clear_forgets_far_pages() -> None:
    with far_memory() as memory:
        memory.write(9 * GIB, b"old")
        memory.clear()
        assert (memory.ranges(), memory.owned_bytes) == ([], 0)
        assert memory.read(9 * GIB, 3, Missing.ZERO) == bytes(3)


def test_pages_of_a_checkpoint_are_copied_and_written_back() -> None:
    with far_memory() as memory, far_memory() as other:
        memory.write(11 * GIB, b"far")
        memory.write(0x1000, b"near")
        pages = memory.owned_pages()
        other.write_pages(dict(zip(pages.tolist(), memory.copy_pages(pages), strict=True)))
        assert other.ranges() == memory.ranges()
        assert other.read(11 * GIB, 3) == b"far"
