"""The target of the device server: one connection, whose packets an input describes, and which is captured."""

from __future__ import annotations

import os
import socket
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from gen4emu._native import ffi, lib
from gen4emu.device.options import Options
from gen4emu.hw.chips import BY_NAME, Device
from gen4emu.live.connection import Connection, LiveDevice, Observer, PacketSocket
from gen4emu.live.recorder import Recorder
from gen4emu.live.server import Server
from gen4emu.live.shared_buffers import SharedBuffers
from tests.live.fake_client import memfd

CHIPS = ("965gm", "gm45", "g45", "ivb", "hsw", "kbl")
ARENA = 1 << 20
MOST_PACKETS = 32
STORE = 255  # instead of a packet: contents at an offset of the arena
WITH_ARENA, WITH_OPEN_FILE, AS_IT_IS = 1, 2, 4
_ITEM = struct.Struct("<BBH")  # type of the packet, flags, bytes that follow its header
_HEADER = struct.Struct("<2IQ")


class Host:
    """A server with one connection.  A traceback is a finding."""

    def __init__(self, chip: Device, capture: Path) -> None:
        self.chip = chip
        self.capture = capture
        self.options = Options(watchdog=1, workers=1, max_batch_dwords=10000)
        self.shared = SharedBuffers()
        self.records_buffers = True
        self.finds_targets = False
        self.patience_seconds = 0.0

    def observers(self, connection: Connection, device: LiveDevice) -> list[Observer]:
        return [Observer(), Recorder(connection, device, lambda: self.capture, cast(Server, self))]

    def add_capture(self, path: Path, program: str, submissions: int) -> None:
        assert path.exists() and submissions

    def connection_ended(self, connection: Connection) -> None:
        pass

    def connection_closed(self, connection: Connection) -> None:
        pass

    def report_hang(self, connection: Connection, device: LiveDevice, reason: str) -> None:
        assert reason

    def log_always(self, message: str) -> None:
        assert "Traceback" not in message, message

    def log_verbose(self, message: str) -> None:
        pass

    def warn_once(self, message: str, connection: Connection | None = None) -> None:
        assert message.isprintable()

    def error(self, message: str) -> None:
        assert message.isprintable()


def check(data: bytes) -> None:
    place = tempfile.TemporaryDirectory(prefix="gen4emu-fuzz-")
    host = Host(BY_NAME[CHIPS[(data[0] if data else 0) % len(CHIPS)]], Path(place.name) / "fuzz.g4c")
    arena, unsealed = memfd(ARENA), memfd(ARENA, seals=0)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        ours.setblocking(False)
        before = _descriptors()
        _send(ours, data[1:], arena, unsealed)
        ours.shutdown(socket.SHUT_WR)
        theirs.setblocking(False)  # an answer that finds no room ends the connection
        Connection(host, PacketSocket(theirs), 1)._run()
        assert len(host.shared) == 0
        # The answers in flight hold descriptors of their own until they are received or dropped.
        assert _descriptors() <= before
        assert not list(Path(place.name).glob("*.part")), "the capture is half-written"
    finally:
        place.cleanup()
        for end in (ours, theirs):
            end.close()
        for descriptor in (arena, unsealed):
            os.close(descriptor)


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _send(end: socket.socket, data: bytes, arena: int, unsealed: int) -> None:
    """Send the packets, as many as the socket takes before anybody reads."""
    at = 0
    for number in range(1, MOST_PACKETS):
        if at + _ITEM.size > len(data):
            break
        kind, flags, size = _ITEM.unpack_from(data, at)
        body = data[at + _ITEM.size:at + _ITEM.size + size]
        at += _ITEM.size + size
        if kind == STORE:
            if len(body) > 2:
                (page,) = struct.unpack_from("<H", body)
                offset = 16 * page % ARENA
                os.pwrite(arena, body[2:2 + ARENA - offset], offset)
            continue
        packet = body if flags & AS_IT_IS else _HEADER.pack(kind, _HEADER.size + len(body), number) + body
        passed = [descriptor for bit, descriptor in ((WITH_ARENA, arena), (WITH_OPEN_FILE, unsealed)) if flags & bit]
        try:
            socket.send_fds(end, [packet], passed)
        except OSError:
            break


def seeds() -> Iterator[bytes]:
    """A client that says hello, binds the arena and runs a batch; then packets of the other types."""
    for chip in range(len(CHIPS)):
        wide = BY_NAME[CHIPS[chip]].address_bits > 32
        start = (_packet("hello", lib.G4_LIVE_HELLO, WITH_ARENA, version=lib.G4_LIVE_VERSION, pid=1, arena_size=ARENA,
                         program=b"fuzz")
                 + _packet("bind", lib.G4_LIVE_BIND, 0, [{"address": 0x100000, "size": ARENA, "offset": 0, "file": 0}],
                           "range", count=1))
        store = struct.pack("<5I", 0x10000002, 0x101000, 0, 7, 0) if wide else struct.pack("<4I", 0x10400002, 0,
                                                                                           0x101000, 7)
        batch = _store(0, store + struct.pack("<2I", 0x02000000, 0x05000000))
        run = _packet("exec", lib.G4_LIVE_EXEC, 0, address=0x100000, length=32)
        yield bytes((chip,)) + start + batch + run
        yield (bytes((chip,)) + start + batch + _packet("context", lib.G4_LIVE_CONTEXT, 0, context=1, alive=1)
               + _packet("exec", lib.G4_LIVE_EXEC, 0, address=0x100000, length=32, context=1, slot=1)
               + _packet("register", lib.G4_LIVE_REGISTER, 0, offset=0x2358)
               + _packet("context", lib.G4_LIVE_CONTEXT, 0, context=1, alive=0))
        yield (bytes((chip,)) + start + _packet("file", lib.G4_LIVE_FILE, WITH_ARENA, file=1, size=ARENA)
               + _packet("objects", lib.G4_LIVE_OBJECTS, 0, [{"address": 0x100000, "size": 4096, "flags": 3}], "object",
                         count=1)
               + _packet("shared", lib.G4_LIVE_SHARE, WITH_ARENA, size=ARENA, pitch=512, name=1)
               + _packet("shared", lib.G4_LIVE_FIND, 0, name=1) + _packet("shared", lib.G4_LIVE_FIND, WITH_ARENA)
               + _packet("mark", lib.G4_LIVE_MARK, 0, address=0x100000, width=8, height=8, pitch=512)
               + _packet("note", lib.G4_LIVE_NOTE, 0, text=b"hello") + _packet("header", lib.G4_LIVE_USED, 0)
               + _packet("file", lib.G4_LIVE_FILE, 0, file=1, size=0))


def _packet(struct_name: str, kind: int, flags: int, items: list[dict[str, int]] | None = None, item: str = "",
            **fields: object) -> bytes:
    body = bytes(ffi.buffer(ffi.new(f"struct g4_live_{struct_name} *", fields)))[_HEADER.size:]
    if items is not None:
        body += bytes(ffi.buffer(ffi.new(f"struct g4_live_{item}[]", items)))
    return _ITEM.pack(kind, flags, len(body)) + body


def _store(offset: int, data: bytes) -> bytes:
    return _ITEM.pack(STORE, 0, len(data) + 2) + struct.pack("<H", offset // 16) + data
