"""Buffers that several connections know, by a global name (flink) or by their descriptor (PRIME).

An entry lives as long as a connection that has shared or found it.
"""

from __future__ import annotations

import itertools
import os
import threading
from dataclasses import dataclass, field

Inode = tuple[int, int]


@dataclass(slots=True)
class SharedBuffer:
    """A buffer, with a descriptor of its own."""

    descriptor: int
    inode: Inode
    size: int
    tiling: int = 0
    pitch: int = 0
    name: int = 0  # 0: none
    holders: set[int] = field(default_factory=set)  # numbers of connections


class SharedBuffers:
    """All shared buffers of a server.  Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_inode: dict[Inode, SharedBuffer] = {}
        self._by_name: dict[int, SharedBuffer] = {}
        self._names = itertools.count(1)

    def share(self, holder: int, descriptor: int, inode: Inode, size: int, tiling: int, pitch: int,
              named: bool) -> SharedBuffer:
        """Add a buffer, or update its tiling; `named` gives it a global name."""
        with self._lock:
            buffer = self._by_inode.get(inode)
            if buffer is None:
                buffer = self._by_inode[inode] = SharedBuffer(os.dup(descriptor), inode, size)
            buffer.tiling, buffer.pitch = tiling, pitch
            buffer.holders.add(holder)
            if named and not buffer.name:
                buffer.name = next(self._names)
                self._by_name[buffer.name] = buffer
            return buffer

    def find(self, holder: int, name: int, inode: Inode | None) -> SharedBuffer | None:
        """The buffer with an inode or, if that is None, with a name."""
        with self._lock:
            buffer = self._by_name.get(name) if inode is None else self._by_inode.get(inode)
            if buffer is not None:
                buffer.holders.add(holder)
            return buffer

    def leave(self, holder: int, inode: Inode | None = None) -> None:
        """Remove a connection from the holders of one buffer or, if `inode` is None, of all."""
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
