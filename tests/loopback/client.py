"""A web socket client of a few lines, which can break every rule."""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
from typing import Any, Self
from urllib.parse import urlsplit

KEY = base64.b64encode(bytes(range(16))).decode()


def exchange(port: int, request: bytes) -> bytes:
    """Everything that the server answers to some bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(request)
        found = b""
        while part := connection.recv(1 << 16):
            found += part
        return found


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def request(port: int, path: str = "/", **headers: str | None) -> bytes:
    """A GET; `Host` is right unless it is named, and None leaves a header out."""
    chosen: dict[str, str | None] = {"Host": f"127.0.0.1:{port}"}
    chosen |= {name.replace("_", "-"): text for name, text in headers.items()}
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {text}" for name, text in chosen.items() if text is not None)]
    return "\r\n".join([*lines, "", ""]).encode()


def handshake(port: int, **headers: str | None) -> bytes:
    chosen: dict[str, str | None] = {
        "Origin": f"http://127.0.0.1:{port}", "Upgrade": "websocket", "Connection": "keep-alive, Upgrade",
        "Sec_WebSocket_Key": KEY, "Sec_WebSocket_Version": "13"}
    return request(port, "/socket", **chosen | headers)


def frame(opcode: int, data: bytes, *, first: int = 0x80, masked: bool = True, wide: int = 0) -> bytes:
    """A frame; `wide` writes the length in 2 or 8 bytes, also where fewer would do."""
    size = len(data)
    wide = wide or (0 if size < 126 else 2 if size < 1 << 16 else 8)
    code = {0: size, 2: 126, 8: 127}[wide]
    head = bytes([first | opcode, code | (0x80 if masked else 0)])
    head += {0: b"", 2: struct.pack(">H", size & 0xFFFF), 8: struct.pack(">Q", size)}[wide]
    if not masked:
        return head + data
    mask = os.urandom(4)
    return head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))


class Client:
    """A socket that has opened, before its first message."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname == "127.0.0.1" and parts.port
        self.port, self.token = parts.port, parts.fragment.partition("=")[2]
        self.connection = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        self.connection.sendall(handshake(self.port))
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            part = self.connection.recv(1)
            assert part, head
            head += part
        self.head = head
        self._last = 0
        self.told: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def raw(self, data: bytes) -> None:
        self.connection.sendall(data)

    def send(self, message: Any) -> None:
        self.raw(frame(1, json.dumps(message).encode()))

    def sign_in(self, **more: Any) -> dict[str, Any]:
        """Show the token; returns the first message."""
        self.send({"token": self.token, **more})
        found = json.loads(self.receive()[1])
        assert isinstance(found, dict)
        return found

    def _read(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            part = self.connection.recv(size - len(found))
            if not part:
                raise EOFError
            found += part
        return found

    def receive(self) -> tuple[int, bytes]:
        """The opcode and the data of a frame."""
        first, size = self._read(2)
        assert first & 0xF0 == 0x80 and size < 128, "final, and without a mask"
        if size >= 126:
            size = int.from_bytes(self._read(2 if size == 126 else 8), "big")
        return first & 15, self._read(size)

    def close_code(self) -> int:
        """The code with which the server ends the connection, after other messages."""
        while True:
            opcode, data = self.receive()
            if opcode == 8:
                return int.from_bytes(data[:2], "big")

    def ask(self, command: str) -> dict[str, Any]:
        """The answer to a command; `bytes` are those of a binary one."""
        self._last += 1
        self.send({"id": self._last, "command": command})
        while True:
            opcode, data = self.receive()
            assert opcode in (1, 2), data
            if opcode == 2:
                size = int.from_bytes(data[:4], "little")
                message = {**json.loads(data[4:4 + size]), "bytes": data[4 + size:]}
            else:
                message = json.loads(data)
            if message.get("id") == self._last:
                return message
            self.told.append(message)

    def overview(self) -> dict[str, Any]:
        """The overview of the trace, once it has been executed."""
        while True:
            for message in self.told:
                if message.get("kind") == "overview":
                    found: dict[str, Any] = message["overview"]
                    return found
            opcode, data = self.receive()
            assert opcode == 1, data
            self.told.append(json.loads(data))
