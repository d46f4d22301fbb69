"""The bytes of a trace: a file, standard input or memory, decompressed, behind a window of bounded size.

Compressed streams (.xz, .gz, .zst) are processed in bounded pieces, whatever their headers claim; several concatenated
streams count as one.  Everything before damage can still be read; `Source.damage` describes the damage.
"""

from __future__ import annotations

import gzip
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import IO, Any, BinaryIO, Protocol, cast

from gen4emu.errors import Gen4emuError, TraceError

# --- compressed streams -----------------------------------------------------------------------------------------------
CHUNK_BYTES = 1 << 20
_INPUT_BYTES = 1 << 14  # small, because `Source.fraction` counts input, and the output may be 100 times as large
_PIECE_BYTES = 1 << 13  # of output; small, because a codec that meets damage loses its finished output
_XZ_MEMORY_LIMIT = 256 << 20  # for the dictionary size in the header; xz -9 needs 64 MiB
_ZSTD_WINDOW_LOG = 27  # 128 MiB: the zstd program accepts as much by default

_MAGIC = {"xz": b"\xfd7zXZ\0", "gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
SUFFIXES = {".xz": "xz", ".gz": "gzip", ".zst": "zstd"}


class Damage(Exception):
    """The compressed stream is truncated or, if `corrupt`, invalid."""

    def __init__(self, what: str, corrupt: bool) -> None:
        self.what, self.corrupt = what, corrupt
        super().__init__(what)


class MissingCodec(Gen4emuError):
    """An optional package is not installed."""


class _Codec(Protocol):
    """One stream of one format."""

    eof: bool
    unused_data: bytes

    def feed(self, data: bytes) -> Iterator[bytes]: ...


class _Xz:
    def __init__(self) -> None:
        self._stream = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=_XZ_MEMORY_LIMIT)

    def feed(self, data: bytes) -> Iterator[bytes]:
        yield self._stream.decompress(data, _PIECE_BYTES)
        while not self._stream.eof and not self._stream.needs_input:
            yield self._stream.decompress(b"", _PIECE_BYTES)

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data


class _Gzip:
    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=31)

    def feed(self, data: bytes) -> Iterator[bytes]:
        while True:
            out = self._stream.decompress(data, 4 * _PIECE_BYTES)  # each call copies the rest of the input
            data = self._stream.unconsumed_tail
            yield out
            if self._stream.eof or (not data and len(out) < 4 * _PIECE_BYTES):
                return

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data


class _Zstd(_Xz):
    """Python's zstd module has the interface of its lzma module."""

    def __init__(self) -> None:
        zstd = _zstd()
        limit = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG}
        self._stream = zstd.ZstdDecompressor(options=limit)


_CODECS: dict[str, Callable[[], _Codec]] = {
    "xz": cast(Callable[[], _Codec], _Xz), "gzip": cast(Callable[[], _Codec], _Gzip),
    "zstd": cast(Callable[[], _Codec], _Zstd),
}


def _zstd() -> Any:
    """Python's module, from 3.14 on in the standard library."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        raise MissingCodec("zstd needs the package backports.zstd: pip install 'gen4emu[zstd]'") from None
    return zstd


def _errors(kind: str) -> tuple[type[Exception], ...]:
    return (_zstd().ZstdError,) if kind == "zstd" else (lzma.LZMAError, zlib.error)


def compression_of(head: bytes) -> str:
    """The format that a file's first bytes announce, or an empty string."""
    return next((kind for kind, magic in _MAGIC.items() if head.startswith(magic)), "")


def decompress(kind: str, read: Callable[[int], bytes]) -> Iterator[bytes]:
    """The contents of a file of compressed streams, in pieces.  Raises `Damage` after the last good one."""
    errors = _errors(kind)
    codec: _Codec | None = None
    streams = 0
    data = b""
    while data or (data := read(_INPUT_BYTES)):
        if codec is None:
            data = data.lstrip(b"\0") if streams else data  # padding between streams
            if not data:
                continue
            if streams and not _MAGIC[kind].startswith(data[:len(_MAGIC[kind])]):
                raise Damage(f"data after the end of the {kind} stream are not {kind}", corrupt=False)
            codec = _CODECS[kind]()
        try:
            yield from filter(None, codec.feed(data))
        except errors as e:
            raise Damage(f"the {kind} stream is broken: {e}", corrupt=True) from None
        data = b""
        if codec.eof:
            data, codec, streams = codec.unused_data, None, streams + 1
    if codec is not None:
        raise Damage(f"the {kind} stream ends early", corrupt=False)


@cache
def fast_deflate() -> Callable[[bytes, int], bytes]:
    """zlib.compress, or ISA-L's if it is installed (the extra `fast`): 7 times as fast, output 3 % smaller."""
    try:
        from isal import isal_zlib
    except ImportError:
        return zlib.compress
    return cast(Callable[[bytes, int], bytes], isal_zlib.compress)


def compressor(kind: str, file: IO[bytes]) -> IO[bytes]:
    """A file that compresses into another one.  Closing it completes the stream and leaves `file` open."""
    if kind == "xz":
        return lzma.LZMAFile(file, "wb", preset=6)
    if kind == "gzip":
        return cast(IO[bytes], gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0))
    return cast(IO[bytes], _zstd().ZstdFile(file, "wb", level=9))


# --- sources ----------------------------------------------------------------------------------------------------------
_HEAD_BYTES = 16
_FILL_BYTES = 1 << 18  # gathered at a time, so that tiny pieces do not copy the window each


class Source:
    """A forward window over the decompressed bytes.  `position` is the offset of the next one."""

    def __init__(self, file: BinaryIO, name: str, *, owned: bool = True) -> None:
        """If `owned`, the file is closed with the source."""
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
        self._head = b""
        self._head = self._read(_HEAD_BYTES)
        self.compression = compression_of(self._head)
        self._stream = decompress(self.compression, self._read) if self.compression else self._plain()

    def _read(self, size: int) -> bytes:
        """Read up to `size` bytes of the file; empty only at its end."""
        if self._head:
            head, self._head = self._head, b""
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
        """Read more bytes into the window; False at the end."""
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
        """The part of the file that has been read, from 0 to 1; None for a pipe, whose length is unknown."""
        if not self._file_bytes:
            return None
        return min(1.0, (self._bytes_read if self.compression else self.position) / self._file_bytes)

    def take(self, size: int) -> memoryview:
        """The next `size` bytes, fewer at the end of the file.  The view stays valid.  `size` is at most a few MiB."""
        at, end = self._at, self._at + size
        if end <= len(self._bytes):  # the common case
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
        """The next `size` bytes, without consuming them."""
        view = self.take(size)
        self._at -= len(view)
        self.position -= len(view)
        return view

    def pieces(self, size: int) -> Iterator[memoryview]:
        """The next `size` bytes in pieces of at most 1 MiB; fewer at the end of the file."""
        while size and (piece := self.take(min(size, CHUNK_BYTES))):
            size -= len(piece)
            yield piece

    def skip(self, size: int) -> int:
        """Skip `size` bytes; return how many there were."""
        return sum(len(piece) for piece in self.pieces(size))

    def line(self, limit: int) -> bytes:
        """The next line with its newline, but at most `limit` bytes; empty at the end."""
        while True:
            end = self._bytes.find(b"\n", self._at, self._at + limit)
            if end >= 0:
                return bytes(self.take(end + 1 - self._at))
            if len(self._bytes) - self._at >= limit or not self._fill():
                return bytes(self.take(limit))

    def close(self) -> None:
        """Close the file, if owned."""
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
