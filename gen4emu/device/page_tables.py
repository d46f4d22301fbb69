"""The page tables of contexts of Gen8 and later, in physical memory: four levels of 512 entries.

A submission names the first table of its context.  The pages that it maps are mapped for the device until a submission
of another context follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

from gen4emu.core_enums import PAGE_SHIFT
from gen4emu.device.memory import PAGE_SIZE, Memory
from gen4emu.hw.page_tables import ENTRIES, LARGE_PAGE, LEVELS, PAGE_OF_ENTRY, PRESENT, TABLE_BITS

_MOST_ENTRIES = 1 << 20  # that one submission may have: a table may refer to itself
_MOST_KEPT = 4096  # tables

Mapping = tuple[dict[int, int], dict[int, int]]  # of a context, and the global one: graphics page to physical page


class PageTables:
    """The mapping of the context whose submission runs."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._mapped: dict[int, int] = {}  # graphics page: physical page
        self._global: dict[int, int] = {}
        self._dropped: set[int] = set()  # physical pages that were mapped before: writes to them leave no trace here
        self._tables: dict[int, bytes] = {}  # those of the mapping, as they were read: physical page, contents
        self._root: int | None = None  # the first of them; None: the mapping is not from tables
        self._numbers: tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]] | None = None  # as arrays

    def save(self) -> Mapping:
        """The pages that the running context's table and the global one map, for `load`."""
        return self._mapped, dict(self._global)

    def load(self, saved: Mapping) -> None:
        """Map what `save` has returned, and nothing else."""
        if saved[0] is self._mapped and saved[1] == self._global:
            return
        before, wanted = self._global | self._mapped, saved[1] | saved[0]
        for page in before.keys() - wanted.keys():
            self._memory.map_physical(page, None)
        for page, physical in wanted.items():
            if before.get(page) != physical:
                self._memory.map_physical(page, physical)
        self._drop(before, wanted)
        self._mapped, self._global, self._root = saved[0], dict(saved[1]), None

    def take_over(self, before: PageTables) -> None:
        """Begin with the mapping of a device that is gone, in whose memory this is."""
        self._mapped, self._global, self._dropped = before._mapped, before._global, before._dropped
        self._numbers, self._tables, self._root = before._numbers, before._tables, before._root

    def written_since(self, mark: int) -> npt.NDArray[np.uint64]:
        """The numbers of physical pages that may have been written since by an address that tables map."""
        import numpy as np

        if self._numbers is None:
            mapped = self._global | self._mapped
            self._numbers = (np.fromiter(mapped, np.uint64, len(mapped)),
                             np.fromiter(mapped.values(), np.uint64, len(mapped)))
        pages, physical = self._numbers
        dropped = np.fromiter(self._dropped, np.uint64, len(self._dropped))
        return np.concatenate((physical[self._memory.written_since(pages, mark)], dropped))

    def _drop(self, before: dict[int, int], now: dict[int, int]) -> None:
        """The mapping has changed."""
        self._dropped.update(physical for page, physical in before.items() if now.get(page) != physical)
        self._numbers = None

    def set_global(self, first: int, entries: Sequence[int]) -> None:
        """Map pages from number `first` on by entries of the global table."""
        before = {page: self._global[page] for page in range(first, first + len(entries)) if page in self._global}
        for page, entry in enumerate(entries, first):
            physical = (entry & PAGE_OF_ENTRY) >> PAGE_SHIFT if entry & PRESENT else None
            self._memory.map_physical(page, physical)
            if physical is None:
                self._global.pop(page, None)
            else:
                self._global[page] = physical
        self._drop(before, self._global)

    def select(self, root: int) -> None:
        """Map the pages of the context whose first table is at this physical address.

        Most submissions find the tables that the one before has left, and compare them only.
        """
        holds = self._memory.holds_physical
        if root == self._root and all(holds(table * PAGE_SIZE, data) for table, data in self._tables.items()):
            return
        self._tables, self._root = {}, root
        wanted = dict(self._pages(root >> PAGE_SHIFT))
        for page in self._mapped.keys() - wanted.keys():
            self._memory.map_physical(page, None)
        for page, physical in wanted.items():
            if self._mapped.get(page) != physical:
                self._memory.map_physical(page, physical)
        if wanted != self._mapped:
            self._drop(self._mapped, wanted)
            self._mapped = wanted

    def _pages(self, root: int) -> Iterator[tuple[int, int]]:
        """The graphics pages that a table maps, each with its physical page."""
        budget = _MOST_ENTRIES
        todo = [(root, 0, LEVELS - 1)]  # tables: physical page, first graphics page, level
        while todo:
            table, first, level = todo.pop()
            data = self._memory.read_physical(table * PAGE_SIZE, PAGE_SIZE)
            if len(self._tables) < _MOST_KEPT:
                self._tables[table] = data
            else:
                self._root = None
            for index, entry in enumerate(ENTRIES.unpack(data)):
                if not entry & PRESENT or budget == 0:
                    continue
                budget -= 1
                number, page = first | index << TABLE_BITS * level, (entry & PAGE_OF_ENTRY) >> PAGE_SHIFT
                if level == 0:
                    yield number, page
                elif level == 1 and entry & LARGE_PAGE:
                    yield from ((number | i, page & -(1 << TABLE_BITS) | i) for i in range(1 << TABLE_BITS))
                else:
                    todo.append((page, number, level - 1))
