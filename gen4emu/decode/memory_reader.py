"""Reads memory for the decoder, with a bounded cache of pages.

Memory does not change while a submission is decoded (nothing executes), so a page is fetched once.
"""

from __future__ import annotations

from typing import Any

from gen4emu.decode.address_space import AddressSpace
from gen4emu.decode.compiled import words_of
from gen4emu.device.memory import PAGE_SIZE, Memory, Missing, PageFlags
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block

_PAGES_KEPT = 8192  # 32 MiB
_WINDOW = 1 << 20  # bytes examined first: only the first hole is needed


class MemoryReader:
    """Reads memory.  Reads of memory without contents return None."""

    def __init__(self, memory: Memory | AddressSpace) -> None:
        self.memory = memory
        self.end = memory.end if isinstance(memory, AddressSpace) else memory.size
        self._pages: dict[int, bytes | None] = {}

    def forget(self) -> None:
        """Memory was written: drop cached pages."""
        self._pages.clear()

    def overlay(self, address: int, data: bytes) -> None:
        """Read these bytes in place of those in memory, until `forget`."""
        done = 0
        while done < len(data):
            number, at = divmod(address + done, PAGE_SIZE)
            page = bytearray(self.page(number) or bytes(PAGE_SIZE))
            piece = data[done:done + PAGE_SIZE - at]
            page[at:at + len(piece)] = piece
            self._pages[number] = bytes(page)
            done += len(piece)

    def page(self, number: int) -> bytes | None:
        try:
            return self._pages[number]
        except KeyError:
            return self._fetch(number)

    def _fetch(self, number: int) -> bytes | None:
        if len(self._pages) >= _PAGES_KEPT:
            self._pages.clear()
        address = number * PAGE_SIZE
        data = None
        if number < self.end // PAGE_SIZE and self.memory.page_flags(address) & PageFlags.PRESENT:
            data = self.memory.read(address, PAGE_SIZE, Missing.ZERO)
        self._pages[number] = data
        return data

    def available(self, address: int, size: int) -> bytes:
        """The bytes from an address on, up to `size` or to the first page without contents."""
        parts = []
        end = min(address + size, self.end)
        while address < end:
            page = self.page(address // PAGE_SIZE)
            if page is None:
                break
            first = address % PAGE_SIZE
            part = page[first:first + end - address] if first or end - address < PAGE_SIZE else page
            parts.append(part)
            address += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def read(self, address: int, size: int) -> bytes | None:
        """These bytes, or None if any has no contents."""
        data = self.available(address, size)
        return data if len(data) == size else None

    def words(self, address: int, count: int) -> tuple[int, ...] | None:
        data = self.read(address, 4 * count)
        return None if data is None else words_of(data)

    def view(self, block: Block, address: int, gen: Gen) -> Any:
        """A block at an address as a view, or None."""
        words = self.words(address, block.size(gen))
        return None if words is None else block.view(words, gen=gen)

    def missing(self, address: int, size: int) -> int | None:
        """The first address of a range without contents; None if all of it has contents."""
        end = address + size
        window = _WINDOW
        while address < end:
            holes = self.memory.unmapped(address, min(window, end - address))
            if holes:
                return holes[0][0]
            address += window
            window *= 2
        return None
