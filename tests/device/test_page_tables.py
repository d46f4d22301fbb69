"""Page tables of Gen8 and later: tables that have not changed are not walked again, and changes are found."""

from __future__ import annotations

import struct

import pytest

from gen4emu.device.memory import PAGE_SIZE, Memory
from gen4emu.device.page_tables import PageTables

ROOT, POINTERS, DIRECTORY, TABLE = 0x10, 0x11, 0x12, 0x13  # physical pages
PRESENT = 1


def write_table(memory: Memory, table: int, first: int, *pages: int) -> None:
    entries = struct.pack(f"<{len(pages)}Q", *(page * PAGE_SIZE | PRESENT for page in pages))
    memory.write_physical(table * PAGE_SIZE + 8 * first, entries)


def made(*pages: int) -> tuple[Memory, PageTables]:
    """Graphics pages from 0 on, whose physical pages begin with their numbers."""
    memory = Memory(address_bits=48)
    for table, page in ((ROOT, POINTERS), (POINTERS, DIRECTORY), (DIRECTORY, TABLE)):
        write_table(memory, table, 0, page)
    write_table(memory, TABLE, 0, *pages)
    for page in range(0x20, 0x30):
        memory.write_physical(page * PAGE_SIZE, page.to_bytes(1, "little"))
    tables = PageTables(memory)
    tables.select(ROOT * PAGE_SIZE)
    return memory, tables


def found(memory: Memory, count: int) -> list[int]:
    return [memory.read(page * PAGE_SIZE, 1)[0] for page in range(count)]


def test_unchanged_tables_are_not_walked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, tables = made(0x20, 0x21)
    before = tables.save()[0]
    monkeypatch.setattr(tables, "_pages", lambda root: pytest.fail("walked"))
    tables.select(ROOT * PAGE_SIZE)
    assert tables.save()[0] is before
    assert found(memory, 2) == [0x20, 0x21]


def test_physical_memory_holds_what_it_would_return() -> None:
    memory = Memory(address_bits=48)
    memory.write_physical(2 * PAGE_SIZE - 3, b"across")
    assert memory.holds_physical(2 * PAGE_SIZE - 3, b"across")
    assert memory.holds_physical(PAGE_SIZE, bytes(PAGE_SIZE - 3) + b"acr")  # zeros where nothing was written
    assert not memory.holds_physical(2 * PAGE_SIZE - 3, b"acrosS")
    assert not memory.holds_physical(2 * PAGE_SIZE - 3, b"Across")
    assert not memory.holds_physical(1 << 60, b"\0")  # no such address


@pytest.mark.parametrize("table", [DIRECTORY, TABLE])
def test_a_change_of_any_table_is_found(table: int) -> None:
    memory, tables = made(0x20, 0x21)
    if table == DIRECTORY:
        write_table(memory, 0x14, 0, 0x22, 0x23)
        write_table(memory, DIRECTORY, 0, 0x14)
    else:
        write_table(memory, TABLE, 0, 0x22, 0x23)
    tables.select(ROOT * PAGE_SIZE)
    assert found(memory, 2) == [0x22, 0x23]


def test_another_mapping_in_between_is_replaced() -> None:
    memory, tables = made(0x20, 0x21)
    own = tables.save()
    tables.load(({0: 0x2A}, {}))
    assert found(memory, 1) == [0x2A]
    tables.select(ROOT * PAGE_SIZE)
    assert found(memory, 2) == [0x20, 0x21]
    assert tables.save() == own
