"""The graphics address space of one connection: the shim's files, and where their pages are bound (spec/80 3.7).

Files are mapped whole and never copied.  A shim is not trusted: files must be memory that cannot shrink under us,
ranges must lie inside of them.
"""

from __future__ import annotations

import fcntl
import os
from typing import Any

from gen4emu._native import ffi, lib
from gen4emu.device.memory import PAGE_SIZE, Memory
from gen4emu.live.link import ProtocolError

F_GET_SEALS = getattr(fcntl, "F_GET_SEALS", 1034)
F_SEAL_SHRINK = getattr(fcntl, "F_SEAL_SHRINK", 2)
_MAX_FILE_BYTES = 1 << 44
_MAX_FILES = int(lib.G4_LIVE_MAX_FILES)


class File:
    """A mapped file."""

    __slots__ = ("host", "inode", "size")

    def __init__(self, descriptor: int, size: int) -> None:
        self.size = size
        self.inode = check_memory(descriptor, size)
        self.host = lib.g4_file_map(descriptor, size)
        if self.host == ffi.NULL:
            raise ProtocolError(f"file that cannot be mapped: {os.strerror(ffi.errno)}")

    def close(self) -> None:
        """Nothing may be bound from it any more."""
        lib.g4_file_unmap(self.host, self.size)


def check_memory(descriptor: int, size: int) -> tuple[int, int]:
    """Whether a descriptor is memory of at least `size` bytes for good; its device and inode numbers.

    Without the seal, a file could be cut while the core reads it; pages of huge size could be missing.
    """
    if size <= 0 or size % PAGE_SIZE or size > _MAX_FILE_BYTES:
        raise ProtocolError(f"file of {size} bytes")
    try:
        seals = fcntl.fcntl(descriptor, F_GET_SEALS)
        status = os.fstat(descriptor)
        if not seals & F_SEAL_SHRINK or os.fstatvfs(descriptor).f_bsize != PAGE_SIZE:
            raise ProtocolError("file that could shrink")
    except OSError:
        raise ProtocolError("file that is not shared memory") from None
    if status.st_size < size:
        raise ProtocolError(f"file of {status.st_size} bytes instead of {size}")
    return status.st_dev, status.st_ino


class Space:
    """What is bound where.  Belongs to one thread."""

    def __init__(self, pages: int) -> None:
        self._files: dict[int, File] = {}
        self._bytes = pages * PAGE_SIZE
        self._memory: Memory | None = None

    def attach(self, memory: Memory) -> None:
        self._memory = memory

    def add(self, number: int, descriptor: int, size: int) -> None:
        """A new file.  Its number was free, or nothing is bound from the file that had it."""
        if number >= _MAX_FILES:
            raise ProtocolError(f"invalid file number {number}")
        self._drop(number)
        self._files[number] = File(descriptor, size)

    def remove(self, number: int) -> tuple[int, int] | None:
        """A file goes; its device and inode numbers."""
        return self._drop(number)

    def _drop(self, number: int) -> tuple[int, int] | None:
        """The core must not keep pointers into a mapping that goes."""
        old = self._files.get(number)
        if old is None:
            return None
        if self._memory is not None and lib.g4_mem_uses(self._memory.handle, old.host, old.size):
            raise ProtocolError(f"file {number} removed while pages of it are bound")
        del self._files[number]
        old.close()
        return old.inode

    def bind(self, ranges: Any, count: int) -> None:
        """Change the map: `count` of `struct g4_live_range`."""
        assert self._memory is not None
        handle, limit = self._memory.handle, self._bytes
        for i in range(count):
            r = ranges[i]
            address, size, offset = r.address, r.size, r.offset
            if (address | size | offset) & PAGE_SIZE - 1 or not 0 < size <= limit - address:
                raise ProtocolError(f"bind: 0x{size:x} bytes at 0x{address:08x}")
            if r.file == lib.G4_LIVE_UNBOUND:
                lib.g4_mem_unmap_external(handle, address, size)
                continue
            file = self._files.get(r.file)
            if file is None or offset > file.size or size > file.size - offset:
                raise ProtocolError(f"bind: 0x{size:x} bytes at 0x{offset:x} of file {r.file}")
            host = ffi.cast("uint8_t *", file.host)
            if lib.g4_mem_map_external(handle, address, host + offset, size, False) != lib.G4_OK:
                raise ProtocolError(f"bind: 0x{size:x} bytes at 0x{address:08x}")

    def close(self) -> None:
        """Let all files go; the memory must be closed before."""
        for file in self._files.values():
            file.close()
        self._files.clear()
        self._memory = None
