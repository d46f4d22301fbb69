"""Compressed streams (.xz, .gz, .zst), read and written in pieces of bounded size whatever the stream promises.

Several streams in a row are one, as their programs have it.  A stream that is cut or broken gives all that came before.
"""

from __future__ import annotations

import gzip
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import IO, Any, Protocol, cast

from gen4emu.errors import Gen4emuError

CHUNK_BYTES = 1 << 20
_INPUT_BYTES = 1 << 14  # small: `Source.fraction` counts input, which may stand for a hundred times as much output
_PIECE_BYTES = 1 << 13  # of output: small, because what a codec had ready before it met damage is lost with the error
_XZ_MEMORY_LIMIT = 256 << 20  # of the dictionary that a header may ask for; xz -9 needs 64 MiB
_ZSTD_WINDOW_LOG = 27  # 128 MiB: the zstd program accepts as much by default

_MAGIC = {"xz": b"\xfd7zXZ\0", "gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
SUFFIXES = {".xz": "xz", ".gz": "gzip", ".zst": "zstd"}


class Damage(Exception):
    """The compressed stream is cut short, or (`corrupt`) broken."""

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
    """The same interface as lzma's, by design of Python's module."""

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
                raise Damage(f"what follows the end of the {kind} stream is not {kind}", corrupt=False)
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
