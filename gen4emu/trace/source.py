"""The bytes of a trace: a file, standard input or memory, decompressed on the way, behind a window of bounded size.

Damage in a compressed stream never loses what came before it: the window ends there, and `damage` says why.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO

from gen4emu.errors import TraceError
from gen4emu.trace.compression import CHUNK_BYTES, Damage, MissingCodec, compression_of, decompress

_HEAD_BYTES = 16
_FILL_BYTES = 1 << 18  # a stream of tiny pieces is gathered, so that the window is not copied for each


class Source:
    """A forward window over the decompressed bytes.  `position` is the offset of the next one."""

    def __init__(self, file: BinaryIO, name: str, *, owned: bool = True) -> None:
        """`owned` files are closed with the source."""
        self.name = name
        self.position = 0
        self.damage: Damage | None = None
        self.can_restart = file.seekable()
        self._file = file
        self._owned = owned
        self._file_bytes = _bytes_left(file) if self.can_restart else 0  # 0: unknown
        self._bytes_read = 0
        self._bytes = b""
        self._view = memoryview(self._bytes)
        self._at = 0
        self._ended = False
        self._looked_at = b""
        self._looked_at = self._read(_HEAD_BYTES)
        self.compression = compression_of(self._looked_at)
        self._stream = decompress(self.compression, self._read) if self.compression else self._plain()

    def _read(self, size: int) -> bytes:
        """Up to `size` bytes of the file; only its end gives none."""
        if self._looked_at:
            head, self._looked_at = self._looked_at, b""
            return head
        parts: list[bytes] = []
        missing = size
        try:
            while missing and (part := self._file.read(missing)):
                parts.append(part)
                missing -= len(part)
        except OSError as e:
            raise TraceError(self.name, None, f"cannot be read: {e.strerror or e}") from None
        data = b"".join(parts)
        self._bytes_read += len(data)
        return data

    def _plain(self) -> Iterator[bytes]:
        while chunk := self._read(CHUNK_BYTES):
            yield chunk

    def _fill(self) -> bool:
        """Bring more bytes into the window; False at the end."""
        if self._ended:
            return False
        parts = [self._bytes[self._at:]]
        size = 0
        try:
            while size < _FILL_BYTES:
                part = next(self._stream, b"")
                if not part:
                    self._ended = True
                    break
                parts.append(part)
                size += len(part)
        except Damage as e:
            self.damage, self._ended = e, True
        except MissingCodec as e:
            raise TraceError(self.name, None, str(e)) from None
        if not size:
            return False
        self._bytes = b"".join(parts)
        self._view = memoryview(self._bytes)
        self._at = 0
        return True

    @property
    def fraction(self) -> float | None:
        """The part of the file that was read, from 0 to 1; None of a pipe, whose length is unknown."""
        if not self._file_bytes:
            return None
        return min(1.0, (self._bytes_read if self.compression else self.position) / self._file_bytes)

    def take(self, size: int) -> memoryview:
        """The next `size` bytes, or what is left of them.  The view stays valid.  Callers keep `size` to a few MiB."""
        at, end = self._at, self._at + size
        if end <= len(self._bytes):  # nearly always
            self._at = end
            self.position += size
            return self._view[at:end]
        while len(self._bytes) - self._at < size and self._fill():
            pass
        view = self._view[self._at:self._at + size]
        self._at += len(view)
        self.position += len(view)
        return view

    def peek(self, size: int) -> memoryview:
        """As `take`, but leaves the bytes there."""
        view = self.take(size)
        self._at -= len(view)
        self.position -= len(view)
        return view

    def pieces(self, size: int) -> Iterator[memoryview]:
        """The next `size` bytes as they come, at most 1 MiB each; fewer when the file ends."""
        while size and (piece := self.take(min(size, CHUNK_BYTES))):
            size -= len(piece)
            yield piece

    def skip(self, size: int) -> int:
        """Pass over `size` bytes; gives how many there were."""
        return sum(len(piece) for piece in self.pieces(size))

    def line(self, limit: int) -> bytes:
        """The next bytes up to and with a newline, at most `limit` of them; empty at the end."""
        while True:
            end = self._bytes.find(b"\n", self._at, self._at + limit)
            if end >= 0:
                return bytes(self.take(end + 1 - self._at))
            if len(self._bytes) - self._at >= limit or not self._fill():
                return bytes(self.take(limit))

    def close(self) -> None:
        """Let the file go.  Nothing can be read any more."""
        self._ended = True
        self._bytes, self._at = b"", 0
        self._view = memoryview(b"")
        if self._owned:
            self._file.close()


def _bytes_left(file: BinaryIO) -> int:
    start = file.tell()
    end = file.seek(0, os.SEEK_END)
    file.seek(start)
    return end - start
