"""A replacement of the shim in Python: speaks the protocol to a device server, for tests without a real client."""

from __future__ import annotations

import fcntl
import mmap
import os
import socket
import struct
from pathlib import Path
from typing import Any, Self

from gen4emu._native import ffi, lib
from gen4emu.trace import events
from gen4emu.trace.reader import Trace

F_ADD_SEALS, F_SEAL_SHRINK = 1033, 2


class Gone(Exception):
    """The server ended the connection."""


def memfd(size: int, seals: int = F_SEAL_SHRINK) -> int:
    descriptor = os.memfd_create("arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size)
    if seals:
        fcntl.fcntl(descriptor, F_ADD_SEALS, seals)
    return descriptor


class FakeClient:
    """One open device file.  `arena` is its memory, as a mmap."""

    def __init__(self, directory: Path, size: int = 16 << 20, program: str = "fake", hello: bool = True,
                 progress: int | None = None) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(60)
        self.socket.connect(os.fspath(directory / "socket"))
        self.sequence = 0
        self.descriptor = memfd(size)
        self.arena = mmap.mmap(self.descriptor, size)
        if hello:
            self.welcome = self.hello(size, program, progress=progress)

    def hello(self, size: int, program: str = "fake", version: int = int(lib.G4_LIVE_VERSION),
              progress: int | None = None) -> Any:
        """`progress` is the offset in the arena at which results are reported; without it, they are packets."""
        self.send("hello", lib.G4_LIVE_HELLO, descriptor=self.descriptor, version=version, pid=os.getpid(),
                  arena_size=size, program=program.encode(), has_progress=progress is not None, progress=progress or 0)
        return self.receive("welcome")

    # --- packets ---
    def send(self, kind: str, number: int, items: list[Any] | None = None, item: str = "",
             descriptor: int | None = None, **fields: Any) -> None:
        self.sequence += 1
        packet = ffi.new(f"struct g4_live_{kind} *", fields)
        packet.header.type, packet.header.sequence = number, self.sequence
        tail = b""
        if items is not None:
            packet.count = len(items)
            array = ffi.new(f"struct g4_live_{item}[]", items)
            tail = bytes(ffi.buffer(array))[:len(items) * ffi.sizeof(f"struct g4_live_{item}")]
        packet.header.size = ffi.sizeof(f"struct g4_live_{kind}") + len(tail)
        self.send_raw(bytes(ffi.buffer(packet)) + tail, *([] if descriptor is None else [descriptor]))

    def send_raw(self, data: bytes, *descriptors: int) -> None:
        try:
            if descriptors:
                socket.send_fds(self.socket, [data], list(descriptors))
            else:
                self.socket.send(data)
        except ConnectionError:
            raise Gone from None

    def receive(self, kind: str) -> Any:
        """A copy of the next packet, which must be a `struct g4_live_KIND`."""
        try:
            data, descriptors, _, _ = socket.recv_fds(self.socket, 65536, 4)
        except ConnectionError:
            raise Gone from None
        if not data:
            raise Gone
        packet = ffi.new(f"struct g4_live_{kind} *")
        assert len(data) == ffi.sizeof(f"struct g4_live_{kind}")
        ffi.memmove(packet, data, len(data))
        self.received = descriptors
        return packet

    # --- calls of the shim ---
    def bind(self, address: int, size: int, offset: int, file: int = 0) -> None:
        self.send("bind", lib.G4_LIVE_BIND, [(address, offset, size, file)], "range")

    def unbind(self, address: int, size: int) -> None:
        self.bind(address, size, 0, int(lib.G4_LIVE_UNBOUND))

    def file(self, number: int, descriptor: int | None, size: int) -> None:
        self.send("file", lib.G4_LIVE_FILE, descriptor=descriptor, file=number, size=size)

    def objects(self, *objects: tuple[int, int, int, int, int]) -> None:
        """Send (address, flags, size, tiling, pitch) of each buffer."""
        items = [(address, size, flags, tiling, pitch) for address, flags, size, tiling, pitch in objects]
        self.send("objects", lib.G4_LIVE_OBJECTS, items, "object")

    def start(self, address: int, context: int = 0, engine: int = int(lib.G4_LIVE_RENDER)) -> int:
        """Submit without waiting; return the sequence number."""
        self.send("exec", lib.G4_LIVE_EXEC, context=context, engine=engine, address=address, length=8)
        return self.sequence

    def run(self, address: int, context: int = 0, engine: int = int(lib.G4_LIVE_RENDER)) -> int:
        """Submit and wait; return the status."""
        sequence = self.start(address, context, engine)
        result = self.receive("result")
        assert result.header.sequence == sequence and result.context == context
        return int(result.status)

    def context(self, number: int, alive: bool = True) -> None:
        self.send("context", lib.G4_LIVE_CONTEXT, context=number, alive=alive)

    def words(self, offset: int, *words: int) -> None:
        """Write dwords into the arena."""
        self.arena[offset:offset + 4 * len(words)] = struct.pack(f"<{len(words)}I", *words)

    def dwords(self, offset: int, count: int) -> tuple[int, ...]:
        return struct.unpack(f"<{count}I", self.arena[offset:offset + 4 * count])

    def close(self) -> None:
        self.socket.close()
        self.arena.close()
        os.close(self.descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


PAGE = 4096


def play(client: FakeClient, trace: Trace) -> int:
    """Submit everything in a trace, whose addresses are bound to the same offsets of the arena; return the number."""
    size = len(client.arena)
    client.bind(PAGE, size - PAGE, PAGE)
    touched: set[int] = set()
    submissions = 0
    for event in trace:
        if isinstance(event, events.MemoryWrite):
            touched.update(range(event.address // PAGE, (event.address + len(event.data) - 1) // PAGE + 1))
            client.arena[event.address:event.address + len(event.data)] = bytes(event.data)
        elif isinstance(event, events.Submission):
            for first, count in runs(sorted(touched)):
                client.objects((first * PAGE, int(lib.G4_LIVE_OBJECT_WRITTEN), count * PAGE, 0, 0))
            start, batch = struct.unpack("<2I", event.ring[:8])
            assert start & ~0x180 == 0x18800000  # except its privilege and address space bits
            assert client.run(batch) == lib.G4_LIVE_DONE
            submissions += 1
    return submissions


def runs(pages: list[int]) -> list[tuple[int, int]]:
    """The runs of consecutive numbers, as (first, count)."""
    found: list[tuple[int, int]] = []
    for page in pages:
        if found and sum(found[-1]) == page:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((page, 1))
    return found
