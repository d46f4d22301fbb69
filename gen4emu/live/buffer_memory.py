"""The memory of a device that only records: the buffers of a program, at addresses of up to 48 bits.

There are no pages of the device: an address without a buffer reads as zeros, and writes to it are lost.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from gen4emu._native import ffi, lib
from gen4emu.device.memory import PAGE_SIZE, Missing

Hashes = npt.NDArray[np.uint64]
_START = itemgetter(0)


class BufferMemory:
    """Ranges of the shim's files, bound to addresses.  Used by one thread."""

    def __init__(self, size: int) -> None:
        self.page_count = size // PAGE_SIZE
        self._bound: list[tuple[int, int, int]] = []  # address, end, address in the host; disjoint, sorted

    def bind(self, address: int, host: Any, size: int) -> bool:
        """Bind host memory, in place of what was bound there."""
        self.unbind(address, size)
        at = bisect_right(self._bound, address, key=_START)
        self._bound.insert(at, (address, address + size, int(ffi.cast("uintptr_t", host))))
        return True

    def unbind(self, address: int, size: int) -> None:
        end = address + size
        first = max(bisect_right(self._bound, address, key=_START) - 1, 0)
        last = first
        kept = []
        for start, stop, host in self._bound[first:]:
            if start >= end:
                break
            last += 1
            if start < address:
                kept.append((start, min(stop, address), host))
            if stop > end and stop > address:
                kept.append((max(start, end), stop, host + max(start, end) - start))
        self._bound[first:last] = kept

    def uses(self, host: Any, size: int) -> bool:
        """True if a part of this range of host memory is bound."""
        start = int(ffi.cast("uintptr_t", host))
        return any(at < start + size and start < at + end - address for address, end, at in self._bound)

    def _parts(self, address: int, size: int) -> Iterator[tuple[int, int, int]]:
        """The bound parts of a range: offset in it, address in the host, size."""
        at = max(bisect_right(self._bound, address, key=_START) - 1, 0)
        for start, end, host in self._bound[at:]:
            if start >= address + size:
                break
            low, high = max(start, address), min(end, address + size)
            if low < high:
                yield low - address, host + low - start, high - low

    def read(self, address: int, size: int, missing: Missing = Missing.ZERO) -> bytes:
        data = bytearray(size)
        for offset, host, part in self._parts(address, size):
            data[offset:offset + part] = ffi.buffer(ffi.cast("uint8_t *", host), part)
        return bytes(data)

    def write(self, address: int, data: bytes) -> None:
        for offset, host, part in self._parts(address, len(data)):
            ffi.buffer(ffi.cast("uint8_t *", host), part)[:] = data[offset:offset + part]

    def hash_pages(self, first: int, count: int) -> Hashes:
        """128 bits for each page, as two numbers."""
        hashes = np.zeros((count, 2), np.uint64)
        for offset, host, size in self._parts(first * PAGE_SIZE, count * PAGE_SIZE):
            place = ffi.cast("uint64_t *", ffi.from_buffer(hashes)) + offset // PAGE_SIZE * 2
            lib.g4_hash_pages(ffi.cast("uint8_t *", host), size // PAGE_SIZE, place)
        return hashes

    def mark(self) -> int:
        return 0

    def written_since(self, pages: npt.NDArray[np.uint64], mark: int) -> npt.NDArray[np.bool_]:
        """The device of this memory computes nothing, so a replay of its recording writes nothing."""
        return np.zeros(len(pages), bool)
