"""The kernel's DRM interface for programs under the shim, and a decorator for tests that are such programs.

Uses the standard library only, so that clients start quickly.  A function decorated with `in_client` is a test whose
body runs in a process of its own with the shim, and receives an open device.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CARD, RENDER = "/dev/dri/card0", "/dev/dri/renderD128"
PAGE = 4096
PROT_RW, MAP_SHARED, MAP_FIXED = 3, 1, 0x10

END = 0x05000000
STORE = 0x10400002  # MI_STORE_DATA_IMM of one dword
# Commands of the tests' server only: wait so many milliseconds, end as a hang, end with the server, wait for open_gate.
SLEEP, HANG, DIE, GATE = 0xF0000000, 0xF1000000, 0xF2000000, 0xF3000000

# Numbers of ioctls: include/uapi/drm/drm.h and i915_drm.h.
VERSION, CLOSE, FLINK, OPEN, GET_CAP = 0x00, 0x09, 0x0A, 0x0B, 0x0C
TO_FD, FROM_FD = 0x2D, 0x2E
SYNC_CREATE, SYNC_DESTROY, SYNC_TO_FD, SYNC_FROM_FD, SYNC_WAIT, SYNC_RESET, SYNC_SIGNAL = range(0xBF, 0xC6)
TIMELINE_WAIT, TIMELINE_QUERY, TRANSFER, TIMELINE_SIGNAL = range(0xCA, 0xCE)
GETPARAM, BUSY, CREATE, PREAD, PWRITE, MMAP, SET_DOMAIN, SW_FINISH = 0x46, 0x57, 0x5B, 0x5C, 0x5D, 0x5E, 0x5F, 0x60
SET_TILING, GET_TILING, APERTURE, MAP_OFFSET, MADVISE, EXEC, WAIT = 0x61, 0x62, 0x63, 0x64, 0x66, 0x69, 0x6C
CONTEXT_CREATE, CONTEXT_DESTROY, SET_CACHING, GET_CACHING, REG_READ, RESET_STATS = 0x6D, 0x6E, 0x6F, 0x70, 0x71, 0x72
USERPTR, CONTEXT_GET, CONTEXT_SET, QUERY, CREATE_EXT = 0x73, 0x74, 0x75, 0x79, 0x7C

RENDER_RING, BSD_RING = 1, 2
NO_RELOC, HANDLE_LUT, BATCH_FIRST = 1 << 11, 1 << 12, 1 << 18
FENCE_IN, FENCE_OUT, FENCE_ARRAY = 1 << 16, 1 << 17, 1 << 19
CROCUS = RENDER_RING | NO_RELOC | HANDLE_LUT | BATCH_FIRST | FENCE_ARRAY
WRITE, PINNED, PAD_TO_SIZE, CAPTURE = 4, 16, 32, 128
GTT, WC, WB = 0, 1, 2

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p]


def gate_of(directory: str | os.PathLike[str]) -> Path:
    """The file that opens the gate of the server in this directory."""
    return Path(directory, "gate")


def open_gate() -> None:
    """Batches of this client's server no longer wait at GATE."""
    gate_of(os.environ["GEN4EMU_LIVE"]).touch()


def address_of(data: Any) -> int:
    return ctypes.addressof(data)


class Map:
    """Mapped memory."""

    def __init__(self, address: int, size: int) -> None:
        self.address, self.size = address, size

    def __getitem__(self, offset: int) -> int:
        return ctypes.c_uint8.from_address(self.address + offset).value

    def __setitem__(self, offset: int, value: int) -> None:
        ctypes.c_uint8.from_address(self.address + offset).value = value

    def dword(self, offset: int) -> int:
        return ctypes.c_uint32.from_address(self.address + offset).value

    def set(self, offset: int, *dwords: int) -> None:
        ctypes.memmove(self.address + offset, struct.pack(f"<{len(dwords)}I", *dwords), 4 * len(dwords))

    def bytes(self) -> bytes:
        return ctypes.string_at(self.address, self.size)

    def fill(self, data: bytes) -> None:
        ctypes.memmove(self.address, data, len(data))

    def unmap(self) -> None:
        assert libc.munmap(self.address, self.size) == 0


class Relocs:
    """The relocations of an object, in memory that the kernel may write."""

    def __init__(self, *entries: tuple[int, int, int, int, int, int]) -> None:
        """Each (target, delta, offset, presumed, read domains, write domain)."""
        self.count = len(entries)
        self.data = ctypes.create_string_buffer(b"".join(struct.pack("<IIQQII", *e) for e in entries))

    def presumed(self, number: int) -> int:
        return int(struct.unpack_from("<Q", self.data, 32 * number + 16)[0])


class Object:
    """An entry of an EXECBUFFER2."""

    def __init__(self, handle: int, relocs: Relocs | None = None, offset: int = 0, flags: int = 0,
                 alignment: int = 0, pad_to_size: int = 0) -> None:
        self.handle, self.relocs, self.offset, self.flags, self.alignment = handle, relocs, offset, flags, alignment
        self.pad_to_size = pad_to_size


class Device:
    """An open device file."""

    def __init__(self, path: str = RENDER, fd: int | None = None) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_CLOEXEC) if fd is None else fd

    def close(self) -> None:
        os.close(self.fd)

    def call(self, number: int, layout: str, *values: int) -> tuple[int, ...]:
        """Call an ioctl whose argument has this layout; return the argument afterwards."""
        data = ctypes.create_string_buffer(struct.pack("<" + layout, *values), struct.calcsize("<" + layout))
        request = 3 << 30 | len(data) << 16 | ord("d") << 8 | number
        self.error_data = data
        if libc.ioctl(self.fd, request, address_of(data)):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return struct.unpack("<" + layout, data.raw)

    def create(self, size: int = PAGE) -> int:
        return self.call(CREATE, "QII", size, 0, 0)[1]

    def drop(self, handle: int) -> None:
        self.call(CLOSE, "II", handle, 0)

    def offset(self, handle: int, kind: int = WB) -> int:
        return self.call(MAP_OFFSET, "IIQQQ", handle, 0, 0, kind, 0)[2]

    def map_at(self, offset: int, size: int, address: int = 0, flags: int = MAP_SHARED) -> Map:
        result = libc.mmap(address, size, PROT_RW, flags, self.fd, offset)
        if result == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return Map(result, size)

    def map(self, handle: int, size: int = PAGE, kind: int = WB) -> Map:
        return self.map_at(self.offset(handle, kind), size)

    def write(self, handle: int, data: bytes, offset: int = 0) -> None:
        buffer = ctypes.create_string_buffer(data, len(data))
        self.call(PWRITE, "IIQQQ", handle, 0, offset, len(data), address_of(buffer))

    def read(self, handle: int, size: int, offset: int = 0) -> bytes:
        buffer = ctypes.create_string_buffer(size)
        self.call(PREAD, "IIQQQ", handle, 0, offset, size, address_of(buffer))
        return buffer.raw

    def set_tiling(self, handle: int, mode: int, stride: int) -> tuple[int, int]:
        return self.call(SET_TILING, "IIII", handle, mode, stride, 0)[1:3]

    def param(self, number: int) -> int:
        value = ctypes.c_int(-1)
        self.call(GETPARAM, "iIQ", number, 0, address_of(value))
        return value.value

    def batch(self, *dwords: int) -> int:
        """Create a buffer with commands."""
        handle = self.create(max(PAGE, 4 * len(dwords)))
        self.write(handle, struct.pack(f"<{len(dwords)}I", *dwords))
        return handle

    def exec(self, objects: list[Object], flags: int = RENDER_RING | HANDLE_LUT | BATCH_FIRST, start: int = 0,
             length: int = 0, context: int = 0, fences: list[tuple[int, int]] | None = None, sync: int = 0,
             **other: int) -> int:
        """EXECBUFFER2; updates the offsets in `objects` and returns the field of the sync files."""
        array = ctypes.create_string_buffer(b"".join(
            struct.pack("<IIQQQQQQ", o.handle, o.relocs.count if o.relocs else 0,
                        address_of(o.relocs.data) if o.relocs else 0, o.alignment, o.offset, o.flags, o.pad_to_size, 0)
            for o in objects) + b"\0")
        cliprects, count = other.get("cliprects", 0), other.get("cliprect_count", 0)
        if fences is not None:
            entries = ctypes.create_string_buffer(b"".join(struct.pack("<II", *f) for f in fences) + b"\0")
            cliprects, count, flags = address_of(entries), len(fences), flags | FENCE_ARRAY
        try:
            result = self.call(EXEC, "QIIIIIIQQQQ", other.get("pointer", address_of(array)),
                               other.get("count", len(objects)), start, length, other.get("dr1", 0),
                               other.get("dr4", 0), count, cliprects, flags, context, sync)
        finally:
            for i, o in enumerate(objects):
                o.offset = struct.unpack_from("<Q", array, 56 * i + 24)[0]
        return result[10]

    def store(self, target: int, offset: int, value: int, *before: int, flags: int = WRITE, context: int = 0,
              fences: list[tuple[int, int]] | None = None) -> tuple[Object, Object]:
        """Submit a batch that writes a dword."""
        at = 4 * len(before)
        batch = self.batch(*before, STORE, 0, 0, value, END, 0)
        objects = [Object(batch, Relocs((1, offset, at + 8, 1, 0, 0))), Object(target, flags=flags)]
        self.exec(objects, context=context, fences=fences)
        return objects[0], objects[1]

    def wait(self, handle: int, timeout: int = -1) -> None:
        self.call(WAIT, "IIq", handle, 0, timeout)

    def busy(self, handle: int) -> int:
        return self.call(BUSY, "II", handle, 0)[1]

    def sync(self, flags: int = 0) -> int:
        return self.call(SYNC_CREATE, "II", 0, flags)[0]

    def sync_wait(self, handles: list[int], flags: int = 0, timeout_ns: int = 0) -> int:
        """Wait at most `timeout_ns`; return the index of the first signalled object."""
        array = (ctypes.c_uint32 * len(handles))(*handles)
        return self.call(SYNC_WAIT, "QqIIII", address_of(array), time.monotonic_ns() + timeout_ns, len(handles), flags,
                         0, 0)[4]

    def export(self, handle: int) -> int:
        return self.call(TO_FD, "IIi", handle, os.O_CLOEXEC | os.O_RDWR, -1)[2]

    def import_(self, fd: int) -> int:
        return self.call(FROM_FD, "IIi", 0, 0, fd)[0]


@contextmanager
def fails(*numbers: int) -> Any:
    """Expect the block to fail with one of these errors."""
    wanted = [errno.errorcode[n] for n in numbers]
    try:
        yield
    except OSError as e:
        assert e.errno in numbers, f"{errno.errorcode.get(e.errno or 0)} instead of {wanted}"
    else:
        raise AssertionError(f"no error instead of {wanted}")


def in_client(function: Callable[..., None] | None = None, *, device: str = "g45", path: str = RENDER) -> Any:
    """A test whose body runs under the shim, with an open device."""
    def mark(body: Callable[[Device], None]) -> Callable[..., None]:
        if "GEN4EMU_LIVE" in os.environ:
            body.path = path
            return body

        def test(start_live: Callable[[str], Any]) -> None:
            with start_live(device) as live:
                live.call(body)

        test.__name__, test.__doc__, test.__module__ = body.__name__, body.__doc__, body.__module__
        return test

    return mark if function is None else mark(function)
