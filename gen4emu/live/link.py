"""One connection to a shim: packets of native/shim/protocol.h in and out, each at most 64 KiB, descriptors beside.

Checks what every packet must have: a whole header, its own size, whole arrays, at most one descriptor.
"""

from __future__ import annotations

import array
import os
import socket
from contextlib import suppress
from typing import Any

from gen4emu._native import ffi, lib
from gen4emu.errors import Gen4emuError

_HEADER_BYTES = ffi.sizeof("struct g4_live_header")
_ANCILLARY_BYTES = socket.CMSG_SPACE(4 * 4)


class ProtocolError(Gen4emuError):
    """The other end sent something invalid; the connection ends."""


class Link:
    """Receives into one buffer: what a packet's structure holds is good until the next `receive`."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._buffer = bytearray(lib.G4_LIVE_MAX_PACKET)
        self._base = ffi.from_buffer(self._buffer)
        self._header = ffi.cast("struct g4_live_header *", self._base)
        self._size = 0
        self._descriptor: int | None = None

    def receive(self) -> int:
        """The type of the next packet; 0 when the other end is gone."""
        self._drop_descriptor()
        try:
            size, ancillary, flags, _ = self._socket.recvmsg_into([self._buffer], _ANCILLARY_BYTES,
                                                                 socket.MSG_CMSG_CLOEXEC)
        except ConnectionError:
            return 0
        descriptors = array.array("i")
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(data[:len(data) & ~3])
        if len(descriptors) == 1:
            self._descriptor = descriptors[0]
        else:
            for descriptor in descriptors:
                os.close(descriptor)
        if size == 0:
            return 0
        if len(descriptors) > 1 or flags & socket.MSG_CTRUNC:
            raise ProtocolError(f"packet with {len(descriptors)} descriptors")
        if flags & socket.MSG_TRUNC or size < _HEADER_BYTES or self._header.size != size:
            raise ProtocolError(f"packet of {size} bytes with a size of {self._header.size} in its header")
        self._size = size
        return int(self._header.type)

    @property
    def sequence(self) -> int:
        return int(self._header.sequence)

    def packet(self, name: str) -> Any:
        """The packet as `struct g4_live_NAME *`."""
        kind = f"struct g4_live_{name}"
        if self._size < ffi.sizeof(kind):
            raise ProtocolError(f"{name}: packet of {self._size} bytes")
        return ffi.cast(kind + " *", self._base)

    def counted(self, name: str, item: str) -> tuple[Any, int]:
        """The array of a packet that is `struct g4_live_NAME`, then `count` of `struct g4_live_ITEM`."""
        head, kind = ffi.sizeof(f"struct g4_live_{name}"), f"struct g4_live_{item}"
        count = int(self.packet(name).count)
        if head + count * ffi.sizeof(kind) > self._size:
            raise ProtocolError(f"{name}: {count} items in a packet of {self._size} bytes")
        return ffi.cast(kind + " *", self._base + head), count

    def take_descriptor(self) -> int | None:
        """The descriptor that came with the packet; the caller's to close."""
        descriptor, self._descriptor = self._descriptor, None
        return descriptor

    def _drop_descriptor(self) -> None:
        descriptor = self.take_descriptor()
        if descriptor is not None:
            os.close(descriptor)

    def send(self, message: Any, descriptor: int | None = None) -> None:
        """Send a `struct *` whose header has type and sequence; its size is filled in here."""
        kind = ffi.typeof(message).item
        message.header.size = ffi.sizeof(kind)
        data = ffi.buffer(message)
        if descriptor is None:
            self._socket.send(data, socket.MSG_NOSIGNAL)
        else:
            socket.send_fds(self._socket, [data], [descriptor], socket.MSG_NOSIGNAL)

    def hang_up(self) -> None:
        """Let nothing more arrive; what is queued can still be received, and answers can still be sent."""
        self._shutdown(socket.SHUT_RD)

    def cut(self) -> None:
        """Let nothing more pass in either direction."""
        self._shutdown(socket.SHUT_RDWR)

    def _shutdown(self, how: int) -> None:
        with suppress(OSError):  # it is gone already
            self._socket.shutdown(how)

    def close(self) -> None:
        self._drop_descriptor()
        self._socket.close()


def text(field: Any) -> str:
    """A char array of a packet, safe to show."""
    return "".join(c if c.isprintable() else "?" for c in ffi.string(field).decode("utf-8", "replace"))
