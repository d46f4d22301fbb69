"""The memory of a trace of Gen6 and later: 48 bits of graphics addresses, physical pages, and the tables between them.

Has the operations of `device.memory.Memory` that a decoder needs.  Nothing executes here, so it is plain Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gen4emu.core_enums import PAGE_SHIFT
from gen4emu.device.memory import PAGE_SIZE, Missing, PageFlags
from gen4emu.errors import FieldError
from gen4emu.hw.page_tables import (
    ENTRIES,
    LARGE_PAGE,
    LEVELS,
    PAGE_OF_ENTRY,
    PHYSICAL_BITS,
    PRESENT,
    TABLE_BITS,
    address_of_global,
)

_MAPPED_LIMIT = 1 << 20  # entries that `mapped` looks at: a table may refer to itself


class AddressSpace:
    """Pages by graphics address, or by physical address where the trace wrote page tables.

    A page that the global table maps is the physical page of its entry, another page its own, unless `strict_pte` says
    that it does not exist.  `select` adds the table of a context, whose pages come first.
    """

    def __init__(self, bits: int, gtt_entries: int, *, strict_pte: bool = False, limit_bytes: int = 1 << 32) -> None:
        self.end = 1 << bits
        self.gtt_entries, self.strict_pte = gtt_entries, strict_pte
        self._limit = limit_bytes // PAGE_SIZE
        self._pages: dict[int, bytearray] = {}  # by graphics address, without an entry in a table
        self._physical: dict[int, bytearray] = {}
        self._global: dict[int, int] = {}  # the physical page of an entry
        self._root: int | None = None  # the physical page of the context's first table
        self._tables: dict[int, tuple[int, ...]] = {}  # unpacked since the last write

    # --- contents --------------------------------------------------------------------------------------------------
    def write(self, address: int, data: bytes | bytearray | memoryview) -> None:
        self._check(address, len(data), self.end)
        for number, at, piece in _by_page(address, data):
            physical = self._global.get(number)
            self._place(self._pages, number, at, piece) if physical is None else \
                self._place(self._physical, physical, at, piece)

    def write_physical(self, physical: int, data: bytes | bytearray | memoryview) -> None:
        self._check(physical, len(data), 1 << PHYSICAL_BITS)
        self._tables.clear()
        for number, at, piece in _by_page(physical, data):
            self._place(self._physical, number, at, piece)

    def set_gtt(self, first: int, entries: Sequence[int]) -> None:
        """Entries of the global table from number `first` on."""
        for number, entry in enumerate(entries, first):
            if entry & PRESENT and number < self.gtt_entries:
                self._global[number] = address_of_global(entry) >> PAGE_SHIFT
            else:
                self._global.pop(number, None)

    def select(self, root: int | None) -> bool:
        """Read through the page table of a context, at this physical address, or through the global table alone.

        Returns whether that changes anything.
        """
        page = None if root is None else root >> PAGE_SHIFT
        changed, self._root = page != self._root, page
        return changed

    def read(self, address: int, size: int, missing: Missing = Missing.ZERO) -> bytes:
        """Bytes with zeros in place of pages that do not exist."""
        parts = []
        while size > 0:
            number, at = divmod(address, PAGE_SIZE)
            length = min(size, PAGE_SIZE - at)
            page = self._page(number)
            parts.append(bytes(length) if page is None else bytes(page[at:at + length]))
            address, size = address + length, size - length
        return b"".join(parts)

    def clear(self) -> None:
        for table in (self._pages, self._physical, self._global, self._tables):
            table.clear()

    def close(self) -> None:
        self.clear()

    # --- queries ---------------------------------------------------------------------------------------------------
    def page_flags(self, address: int) -> PageFlags:
        return PageFlags.PRESENT if self._page(address // PAGE_SIZE) is not None else PageFlags(0)

    def unmapped(self, address: int, size: int) -> list[tuple[int, int]]:
        """The first (address, size) of a range that does not exist, if there is one."""
        end = address + size
        while address < end:
            if address >= self.end or self._page(address // PAGE_SIZE) is None:
                return [(address, end - address)]
            address = (address // PAGE_SIZE + 1) * PAGE_SIZE
        return []

    def ranges(self) -> list[tuple[int, int]]:
        """The (address, size) of all pages that were written by graphics address, neighbours joined."""
        numbers = {*self._pages, *(n for n, page in self._global.items() if page in self._physical)}
        return _joined((number * PAGE_SIZE, PAGE_SIZE) for number in numbers)

    def mapped(self, root: int) -> list[tuple[int, int]]:
        """The (address, size) of the pages with contents that the table of a context maps, neighbours joined."""
        found: list[tuple[int, int]] = []
        budget = _MAPPED_LIMIT
        todo = [(root >> PAGE_SHIFT, 0, LEVELS - 1)]  # tables: physical page, first page number, level
        while todo and budget > 0:
            table, first, level = todo.pop()
            for index, entry in reversed(list(enumerate(self._table(table) or ()))):
                if not entry & PRESENT:
                    continue
                budget -= 1
                number, page = first | index << TABLE_BITS * level, (entry & PAGE_OF_ENTRY) >> PAGE_SHIFT
                if level and not (level == 1 and entry & LARGE_PAGE):
                    todo.append((page, number, level - 1))
                elif level:
                    found += [((number | i) * PAGE_SIZE, PAGE_SIZE) for i in range(1 << TABLE_BITS)
                              if page & -(1 << TABLE_BITS) | i in self._physical]
                elif page in self._physical:
                    found.append((number * PAGE_SIZE, PAGE_SIZE))
        return _joined(found)

    @property
    def owned_bytes(self) -> int:
        return (len(self._pages) + len(self._physical)) * PAGE_SIZE

    # --- pages -----------------------------------------------------------------------------------------------------
    def _page(self, number: int) -> bytearray | None:
        if self._root is not None:
            physical = self._translated(number)
            if physical is not None:
                return self._physical.get(physical)
        entry = self._global.get(number)
        if entry is not None:
            return self._physical.get(entry)
        return None if self.strict_pte else self._pages.get(number)

    def _translated(self, number: int) -> int | None:
        """The physical page of a graphics page by the table of the context."""
        table = self._root
        for level in range(LEVELS - 1, -1, -1):
            entries = None if table is None else self._table(table)
            if entries is None:
                return None
            entry = entries[number >> TABLE_BITS * level & (1 << TABLE_BITS) - 1]
            if not entry & PRESENT:
                return None
            table = (entry & PAGE_OF_ENTRY) >> PAGE_SHIFT
            if level == 1 and entry & LARGE_PAGE:
                return table | number & (1 << TABLE_BITS) - 1
        return table

    def _table(self, number: int) -> tuple[int, ...] | None:
        found = self._tables.get(number)
        if found is None:
            page = self._physical.get(number)
            if page is None:
                return None
            found = self._tables[number] = ENTRIES.unpack(page)
        return found

    def _place(self, pages: dict[int, bytearray], number: int, at: int, piece: bytes | bytearray | memoryview) -> None:
        page = pages.get(number)
        if page is None:
            if len(self._pages) + len(self._physical) >= self._limit:
                raise FieldError(f"the trace has more than {self._limit * PAGE_SIZE >> 20} MiB of memory contents")
            page = pages[number] = bytearray(PAGE_SIZE)
        page[at:at + len(piece)] = piece

    def _check(self, address: int, size: int, end: int) -> None:
        if address < 0 or address + size > end:
            raise FieldError(f"0x{address:x}: {size} bytes reach out of the address space of 0x{end:x} bytes")


def _joined(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges (address, size) in order, neighbours made one."""
    found: list[tuple[int, int]] = []
    for start, size in sorted(ranges):
        if found and sum(found[-1]) == start:
            found[-1] = found[-1][0], found[-1][1] + size
        else:
            found.append((start, size))
    return found


def _by_page(address: int, data: bytes | bytearray | memoryview) \
        -> Iterator[tuple[int, int, bytes | bytearray | memoryview]]:
    done, size = 0, len(data)
    while done < size:
        number, at = divmod(address + done, PAGE_SIZE)
        length = min(size - done, PAGE_SIZE - at)
        yield number, at, data[done:done + length]
        done += length
