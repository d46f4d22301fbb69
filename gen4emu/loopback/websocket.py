"""The server's side of a web socket (RFC 6455), without extensions and subprotocols."""

from __future__ import annotations

import base64
import hashlib
import socket
import struct
import threading
from contextlib import suppress
from enum import IntEnum

_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, 1.3
_MOST_CONTROL_BYTES = 125  # RFC 6455, 5.5
_FINAL, _RESERVED, _OPCODE = 0x80, 0x70, 0x0F
_MASKED, _LENGTH = 0x80, 0x7F


class Opcode(IntEnum):
    """RFC 6455, 5.2."""

    CONTINUATION = 0
    TEXT = 1
    BINARY = 2
    CLOSE = 8
    PING = 9
    PONG = 10


class CloseCode(IntEnum):
    """RFC 6455, 7.4.1; those from 4000 on are ours."""

    NORMAL = 1000
    GOING_AWAY = 1001
    PROTOCOL = 1002
    UNSUPPORTED = 1003
    NOT_UTF8 = 1007
    TOO_LARGE = 1009
    NOT_ALLOWED = 4000
    TAKEN_OVER = 4001


class ProtocolError(Exception):
    """The peer breaks a rule; the connection ends with a code."""

    def __init__(self, code: CloseCode, text: str) -> None:
        super().__init__(text)
        self.code = code


class _Gone(Exception):
    """The peer has left, or is too slow."""


def accept_value(key: str) -> str:
    """The answer to a Sec-WebSocket-Key."""
    return base64.b64encode(hashlib.sha1(f"{key}{_GUID}".encode()).digest()).decode()


def is_key(text: str) -> bool:
    """Whether a Sec-WebSocket-Key is 16 bytes in base64."""
    try:
        return len(base64.b64decode(text, validate=True)) == 16
    except ValueError:
        return False


class WebSocket:
    """A connection after the handshake.  One thread receives; any thread may send."""

    def __init__(self, connection: socket.socket, most_bytes: int) -> None:
        """The timeout of the socket is the longest time that a frame may take; idle connections stay.

        `most_bytes` limits a message.
        """
        self._socket, self._most = connection, most_bytes
        self._sending = threading.Lock()
        self._is_closed = False

    # --- sending --------------------------------------------------------------------------------------------------
    def send(self, message: str | bytes) -> bool:
        """Send a text or binary message; returns whether the peer took it."""
        if isinstance(message, str):
            return self._send(Opcode.TEXT, message.encode())
        return self._send(Opcode.BINARY, message)

    def close(self, code: CloseCode = CloseCode.NORMAL, reason: str = "") -> None:
        """Send a close frame and end the connection."""
        self._send(Opcode.CLOSE, struct.pack(">H", code) + reason.encode()[:_MOST_CONTROL_BYTES - 2])
        self._is_closed = True
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _send(self, opcode: Opcode, data: bytes) -> bool:
        size = len(data)
        if size < 126:
            head = struct.pack(">BB", _FINAL | opcode, size)
        elif size < 1 << 16:
            head = struct.pack(">BBH", _FINAL | opcode, 126, size)
        else:
            head = struct.pack(">BBQ", _FINAL | opcode, 127, size)
        with self._sending:
            if self._is_closed:
                return False
            try:
                self._socket.sendall(head)
                self._socket.sendall(data)
            except OSError:  # also of a peer that reads nothing for too long: half a frame cannot be taken back
                self._is_closed = True
                with suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)
                return False
        return True

    # --- receiving ------------------------------------------------------------------------------------------------
    def receive(self) -> str | None:
        """The next text message; None if the connection has ended.  Pings are answered."""
        try:
            return self._receive()
        except ProtocolError as e:
            self.close(e.code, str(e))
        except _Gone:
            self._is_closed = True
        return None

    def _receive(self) -> str | None:
        parts: list[bytes] = []
        size = 0
        while True:
            final, opcode, data = self._frame(size, inside=bool(parts))
            if opcode is Opcode.CLOSE:
                self._answer_close(data)
                return None
            if opcode is Opcode.PING:
                self._send(Opcode.PONG, data)
                continue
            if opcode is Opcode.PONG:
                continue
            if opcode is Opcode.BINARY:
                raise ProtocolError(CloseCode.UNSUPPORTED, "only text is supported")
            if (opcode is Opcode.CONTINUATION) != bool(parts):
                raise ProtocolError(CloseCode.PROTOCOL, "a message inside another one")
            parts.append(data)
            size += len(data)
            if final:
                return _text(b"".join(parts))
            if not data and len(parts) > 16:
                raise ProtocolError(CloseCode.PROTOCOL, "too many empty fragments")

    def _frame(self, before: int, inside: bool) -> tuple[bool, Opcode, bytes]:
        """One frame; `before` are the bytes of the message that it continues."""
        first, second = self._read(2, may_wait=not inside)
        if first & _RESERVED:
            raise ProtocolError(CloseCode.PROTOCOL, "reserved bits are set")
        if first & _OPCODE not in set(Opcode):
            raise ProtocolError(CloseCode.PROTOCOL, f"unknown opcode {first & _OPCODE}")
        if not second & _MASKED:
            raise ProtocolError(CloseCode.PROTOCOL, "frames of a client must be masked")
        opcode, final, size = Opcode(first & _OPCODE), bool(first & _FINAL), second & _LENGTH
        if opcode >= Opcode.CLOSE and (not final or size > _MOST_CONTROL_BYTES):
            raise ProtocolError(CloseCode.PROTOCOL, "a control frame is too long or fragmented")
        if size >= 126:
            size = self._length(size)
        if opcode < Opcode.CLOSE and before + size > self._most:
            raise ProtocolError(CloseCode.TOO_LARGE, f"a message has at most {self._most} bytes")
        mask = self._read(4)
        data = self._read(size)
        pad = mask * (size // 4 + 1)
        plain = int.from_bytes(data, "little") ^ int.from_bytes(pad[:size], "little")
        return final, opcode, plain.to_bytes(size, "little")

    def _length(self, code: int) -> int:
        """A length after the header, in as few bytes as possible (RFC 6455, 5.2)."""
        wide = code == 127
        (size,) = struct.unpack(">Q" if wide else ">H", self._read(8 if wide else 2))
        if size < (1 << 16 if wide else 126) or size >> 63:
            raise ProtocolError(CloseCode.PROTOCOL, "the length is not minimal")
        return int(size)

    def _read(self, size: int, may_wait: bool = False) -> bytes:
        """So many bytes; with `may_wait`, however long the first one takes."""
        found = b""
        while len(found) < size:
            try:
                part = self._socket.recv(size - len(found))
            except TimeoutError:
                if may_wait and not found and not self._is_closed:
                    continue
                raise _Gone from None
            except OSError:
                raise _Gone from None
            if not part:
                raise _Gone
            found += part
        return found

    def _answer_close(self, data: bytes) -> None:
        if len(data) == 1:
            raise ProtocolError(CloseCode.PROTOCOL, "half a close code")
        _text(data[2:])
        self.close()


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ProtocolError(CloseCode.NOT_UTF8, "text is not UTF-8") from None
