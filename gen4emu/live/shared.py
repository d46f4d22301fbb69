"""Buffers that several connections know: by a global name (flink) or by their descriptor (prime) (spec/80 3.2).

An entry lives as long as a connection that shared or found it.
"""

from __future__ import annotations

import itertools
import os
import threading
from dataclasses import dataclass, field

Inode = tuple[int, int]


@dataclass(slots=True)
class Buffer:
    descriptor: int
    inode: Inode
    size: int
    tiling: int = 0
    pitch: int = 0
    name: int = 0  # 0: none
    holders: set[int] = field(default_factory=set)  # numbers of connections


class SharedBuffers:
    """All shared buffers of a server; any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_inode: dict[Inode, Buffer] = {}
        self._by_name: dict[int, Buffer] = {}
        self._names = itertools.count(1)

    def share(self, holder: int, descriptor: int, inode: Inode, size: int, tiling: int, pitch: int,
              named: bool) -> Buffer:
        """Enter a buffer, or what changed about it."""
        with self._lock:
            buffer = self._by_inode.get(inode)
            if buffer is None:
                buffer = self._by_inode[inode] = Buffer(os.dup(descriptor), inode, size)
            buffer.tiling, buffer.pitch = tiling, pitch
            buffer.holders.add(holder)
            if named and not buffer.name:
                buffer.name = next(self._names)
                self._by_name[buffer.name] = buffer
            return buffer

    def find(self, holder: int, name: int, inode: Inode | None) -> Buffer | None:
        with self._lock:
            buffer = self._by_name.get(name) if inode is None else self._by_inode.get(inode)
            if buffer is not None:
                buffer.holders.add(holder)
            return buffer

    def leave(self, holder: int, inode: Inode | None = None) -> None:
        """A connection lets go of one buffer, or ends."""
        with self._lock:
            found = list(self._by_inode.values()) if inode is None else \
                [b for b in (self._by_inode.get(inode),) if b is not None]
            for buffer in found:
                buffer.holders.discard(holder)
                if not buffer.holders:
                    del self._by_inode[buffer.inode]
                    self._by_name.pop(buffer.name, None)
                    os.close(buffer.descriptor)

    def __len__(self) -> int:
        with self._lock:
            return len(self._by_inode)
