"""Opens traces: detects the kind of a file from its contents, and reads its events, repeatedly if necessary.

The kinds are AUB, `.g4c` capture, i915 error state, raw batch and hexdump text, each plain or compressed.
"""

from __future__ import annotations

import builtins
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from io import BytesIO
from itertools import islice
from types import TracebackType
from typing import BinaryIO, Self

from gen4emu.errors import TraceError
from gen4emu.hw.chips import Device
from gen4emu.trace.aub import OPCODE_LEGACY, OPCODE_MEMTRACE, PACKET_CLIENT, AubReader, Legacy, Memtrace
from gen4emu.trace.capture import MAGIC, CaptureReader, read_index
from gen4emu.trace.devices import DeviceCheck
from gen4emu.trace.events import (
    Event,
    FrameBoundary,
    GttWrite,
    Header,
    MemoryWrite,
    Submission,
    SurfaceDump,
    Warning,
)
from gen4emu.trace.raw import dwords_in, is_batch, read_hexdump, read_raw
from gen4emu.trace.source import Source

# --- traces -----------------------------------------------------------------------------------------------------------
_SNIFF_BYTES = 256 << 10
_MAGIC_NAME = 6  # bytes of MAGIC before the version
_EVENT_BYTES = 200  # of an object in Python, about
_NUMBER_BYTES = 40
_STANDARD_INPUT = "standard input"  # in messages
_TEXT_BYTES = 4096  # a file with a control character among the first ones is binary
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))
_ERROR_STATE = re.compile(
    rb"PCI ID: 0x[0-9a-fA-F]|[a-z0-9] command stream:|GPU HANG: ecode|Time: \d+ s \d+ us|EIR: 0x[0-9a-fA-F]{8}"
    rb"|--- (?:gtt_offset|ringbuffer|ring|batch|user|HW [Ss]tatus|HW [Cc]ontext) = 0x")


class Kind(Enum):
    """Kinds of traces."""

    AUB = "aub"
    CAPTURE = "capture"
    ERROR_STATE = "error-state"
    RAW = "raw"
    HEXDUMP = "hexdump"


class _Kept:
    """The first events of a trace, or all of them."""

    def __init__(self, limit_bytes: int) -> None:
        self.events: list[Event] = []
        self.complete = False
        self._left = limit_bytes

    def add(self, number: int, event: Event) -> Event:
        """Keep the event with this number, if it is the next one and there is room; returns the event."""
        if number != len(self.events) or self._left <= 0:
            return event
        if isinstance(event, MemoryWrite) and not isinstance(event.data, bytes):
            event = replace(event, data=bytes(event.data))  # the reader's window moves on
        self._left -= _size(event)
        self.events.append(event)
        return event


def _size(event: Event) -> int:
    """About the bytes of memory that an event occupies."""
    if isinstance(event, MemoryWrite):
        return _EVENT_BYTES + len(event.data)
    if isinstance(event, GttWrite):
        return _EVENT_BYTES + _NUMBER_BYTES * len(event.entries)
    return _EVENT_BYTES + (len(event.ring) if isinstance(event, Submission) else 0)


class Trace:
    """The events of one trace, in file order.

    Iterating reads the file; every iteration starts at the beginning.  A pipe can be read only once: a second iteration
    raises an error.  Damage (a truncated file, a wrong checksum) is a Warning event with `damage` set, after everything
    that could be read before it.
    """

    def __init__(self, path: str, opener: Callable[[], Source], kind: Kind | None, check: DeviceCheck, *, base: int,
                 strict: bool) -> None:
        self.path = path
        self._opener = opener
        self._check = check
        self._base = base
        self._strict = strict
        self._first: Source | None = None
        self._reading: Source | None = None  # by the latest iteration
        self._kept: _Kept | None = None
        self._has_marks: bool | None = None
        self._damage: list[Warning] | None = None  # None until an iteration has reached the end
        source = opener()
        self._can_restart = source.can_restart
        try:
            self.compression = source.compression
            self._kind = sniff(source) if kind is None else kind
        except BaseException:
            source.close()
            raise
        if self._can_restart:
            source.close()
        else:
            self._first = source

    @property
    def kind(self) -> str:
        """"aub", "capture", "error-state", "raw" or "hexdump"."""
        return self._kind.value

    @property
    def is_standard_input(self) -> bool:
        """Whether iterations read an open file that other traces may read, too."""
        return self.path == _STANDARD_INPUT

    @property
    def named_device(self) -> Device | None:
        """The device that the user named; it counts instead of the file's."""
        return self._check.override

    def __iter__(self) -> Iterator[Event]:
        kept = self._kept
        if kept is not None and kept.complete:
            yield from kept.events
            return
        source = self._reading = self._source()
        try:
            first = 0
            while kept is not None and first < len(kept.events):
                yield kept.events[first]
                first += 1
            number = -1
            for number, event in enumerate(self._checked(source)):
                if kept is not None:
                    event = kept.add(number, event)
                if number >= first:
                    yield event
            if kept is not None:
                kept.complete = len(kept.events) == number + 1
        finally:
            source.close()

    def keep(self, limit_bytes: int) -> None:
        """Keep events in memory as they are read, about so many bytes at most, for later iterations."""
        if self._kept is None:
            self._kept = _Kept(limit_bytes)

    @property
    def fraction(self) -> float | None:
        """The part of the file that the latest iteration has read, from 0 to 1; None if unknown (a pipe).

        For a compressed file this counts compressed bytes, which is good enough to estimate the remaining time.
        """
        return 0.0 if self._reading is None else self._reading.fraction

    def frame_count(self) -> int | None:
        """The number of marked frames according to the container's index; None if there is no index."""
        if self._kind is not Kind.CAPTURE or self.compression or not os.path.isfile(self.path):
            return None
        with builtins.open(self.path, "rb") as file:
            index = read_index(file)
        return None if index is None else len(index[1])

    def has_marks(self) -> bool:
        """True if the trace marks the ends of frames; otherwise each submission is a frame.

        Reads the trace up to the first mark if there is no index.
        """
        if self._has_marks is None:
            count = self.frame_count()
            self._has_marks = count > 0 if count is not None else any(
                isinstance(event, SurfaceDump | FrameBoundary) for event in self)
        return self._has_marks

    def from_position(self, first: int) -> Iterator[tuple[int, Event]]:
        """The events from number `first` on, with their numbers."""
        kept = self._kept
        if kept is not None and kept.complete:
            for number in range(first, len(kept.events)):
                yield number, kept.events[number]
        else:
            yield from islice(enumerate(self), first, None)

    def damage(self) -> list[Warning]:
        """The damage found in the file.  Reads the trace to its end unless an earlier iteration did."""
        if self._damage is None:
            for _ in self:
                pass
        return self._damage or []

    def _source(self) -> Source:
        source, self._first = self._first, None
        if source is not None:
            return source
        if not self._can_restart:
            raise TraceError(self.path, None, "is a pipe, which can be read only once")
        return self._opener()

    def _checked(self, source: Source) -> Iterator[Event]:
        """The reader's events, after a Header if the user named the device, and before damage of the stream."""
        named = self._check.override is None
        found: list[Warning] = []
        for event in self._read(source):
            if not named and not isinstance(event, Header):
                yield self._check.header(0, None)
            named = True
            if isinstance(event, Warning):
                if self._strict:
                    raise TraceError(self.path, event.offset, event.text)
                if event.damage:
                    found.append(event)
            yield event
        damage = source.damage
        if damage is not None:
            if self._strict:
                raise TraceError(self.path, source.position, damage.what)
            found.append(Warning(source.position, damage.what, damage=True))
            yield found[-1]
        self._damage = found

    def _read(self, source: Source) -> Iterator[Event]:
        if self._kind is Kind.AUB:
            return AubReader(source, self._check).events()
        if self._kind is Kind.CAPTURE:
            return CaptureReader(source, self._check).events()
        if self._kind is Kind.ERROR_STATE:
            from gen4emu.trace.error_state import ErrorStateReader  # and with it NumPy, which is slow to import

            return ErrorStateReader(source, self._check).events()
        read = read_raw if self._kind is Kind.RAW else read_hexdump
        return read(source, self._check, self._base)

    def close(self) -> None:
        """Close a file that was opened but never read."""
        if self._first is not None:
            self._first.close()
            self._first = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


def open(path: str | os.PathLike[str], *, device: Device | str | int | None = None, force_device: bool = False,
         in_family: bool = False, base: int = 0, strict: bool = False, kind: Kind | str | None = None,
         again: bool = False) -> Trace:
    """Open the trace in a file; "-" is standard input.

    `device` is for files that do not name one; a device of another generation is an error unless `force_device`, but
    with `in_family` it may be of the same family.  `base` is the address of a raw batch.  `strict` turns Warning events
    into errors.  `kind` overrides the detected kind.  `again` copies a pipe to a temporary file, so that it can be read
    repeatedly.
    """
    name = os.fspath(path)
    shown = _STANDARD_INPUT if name == "-" else name
    opener = _copied(name, shown) if again and not _is_seekable(name) else _opener(name, shown)
    check = DeviceCheck(shown, device, force=force_device, in_family=in_family)
    return Trace(shown, opener, _kind(shown, kind), check, base=base, strict=strict)


def open_bytes(data: bytes, name: str = "bytes", *, device: Device | str | int | None = None,
               force_device: bool = False, base: int = 0, strict: bool = False,
               kind: Kind | str | None = None) -> Trace:
    """Open the trace in the bytes of a file."""
    return Trace(name, lambda: Source(BytesIO(data), name), _kind(name, kind),
                 DeviceCheck(name, device, force=force_device), base=base, strict=strict)


def contents(path: str, limit: int) -> bytes:
    """The decompressed contents of a file that is not a trace; "-" is standard input.

    Damage, and more than `limit` bytes, are errors.
    """
    shown = _STANDARD_INPUT if path == "-" else path
    source = _opener(path, shown)()
    try:
        data = b"".join(source.pieces(limit + 1))
        if source.damage is not None:
            raise TraceError(shown, source.position, source.damage.what)
    finally:
        source.close()
    if not data:
        raise TraceError(shown, None, "the file is empty")
    if len(data) > limit:
        raise TraceError(shown, None, f"is larger than {limit >> 20} MiB")
    return data


def _opener(path: str, name: str) -> Callable[[], Source]:
    if path != "-":
        return lambda: Source(_open_file(path), name)
    if sys.stdin is None:
        raise TraceError(name, None, "is closed")
    file: BinaryIO = sys.stdin.buffer
    start = file.tell() if file.seekable() else 0

    def restart() -> Source:
        if file.seekable():
            file.seek(start)
        return Source(file, name, owned=False)

    return restart


def _is_seekable(path: str) -> bool:
    if path == "-":
        return sys.stdin is None or sys.stdin.buffer.seekable()
    try:
        return not stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return True  # opening it reports the error


def _copied(path: str, name: str) -> Callable[[], Source]:
    """An opener for a pipe, which is copied to a temporary file now."""
    file: BinaryIO = sys.stdin.buffer if path == "-" else _open_file(path)
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the trace
    try:
        shutil.copyfileobj(file, copy)
    except OSError as e:
        raise TraceError(name, None, f"cannot be copied to {tempfile.gettempdir()}: {e.strerror or e}") from None
    finally:
        if path != "-":
            file.close()

    def restart() -> Source:
        copy.seek(0)
        return Source(copy, name, owned=False)

    return restart


def _open_file(path: str) -> BinaryIO:
    try:
        return builtins.open(path, "rb", buffering=0)
    except OSError as e:
        raise TraceError(path, None, f"cannot be opened: {e.strerror or e}") from None
    except ValueError as e:
        raise TraceError(repr(path), None, f"cannot be opened: {e}") from None


def _kind(name: str, kind: Kind | str | None) -> Kind | None:
    if kind is None or isinstance(kind, Kind):
        return kind
    try:
        return Kind(kind)
    except ValueError:
        known = ", ".join(k.value for k in Kind)
        raise TraceError(name, None, f"unknown kind {kind!r} (known: {known})") from None


def sniff(source: Source) -> Kind:
    """Detect the kind of trace that a source holds."""
    head = bytes(source.peek(_SNIFF_BYTES))
    if not head:
        damage = "" if source.damage is None else f": {source.damage.what}"
        raise TraceError(source.name, None, f"the file is empty{damage}")
    if _is_aub(head):
        return Kind.AUB
    if head.startswith(MAGIC[:_MAGIC_NAME]):
        return Kind.CAPTURE
    packed = f" ({source.compression} compressed)" if source.compression else ""
    if (known := foreign(head)) is not None:
        raise TraceError(source.name, None, f"{known}{packed}")
    if head[:_TEXT_BYTES].translate(None, _CONTROL) != head[:_TEXT_BYTES]:
        if is_batch(head, len(head) < _SNIFF_BYTES):
            return Kind.RAW
        raise _unknown(source.name, packed)
    if head.strip().lower() == b"no error state collected":
        raise TraceError(source.name, None, "the kernel had no error state: no hang happened since it started")
    if _ERROR_STATE.search(head):
        return Kind.ERROR_STATE
    if any(dwords_in(line) for line in head.split(b"\n", 1000)[:1000]):
        return Kind.HEXDUMP
    if head.decode("utf-8", "replace").count("\ufffd") > len(head) // 8:
        raise _unknown(source.name, packed)
    raise TraceError(source.name, None, f"{foreign_text(head)}{packed}")


def _unknown(name: str, packed: str) -> TraceError:
    return TraceError(name, None, f"unknown kind of file{packed}: neither an AUB file nor a .g4c capture nor an error "
                                  "state; use --raw for a raw batch or ring")


def _is_aub(head: bytes) -> bool:
    header = int.from_bytes(head[:4], "little")
    if len(head) < 4 or header >> 29 != PACKET_CLIENT:
        return False
    opcode, sub_opcode = header >> 23 & 0x3F, header >> 16 & 0x7F
    known: type[Enum] = Legacy if opcode == OPCODE_LEGACY else Memtrace
    return opcode in (OPCODE_LEGACY, OPCODE_MEMTRACE) and sub_opcode in known._value2member_map_


# --- files that are not traces ----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Foreign:
    """A kind of file that is not a trace: pictures, programs, archives, traces of other tools."""

    name: str  # with an article
    hint: str = ""  # which program reads it

    def __str__(self) -> str:
        return f"is {self.name}" + (f": {self.hint}" if self.hint else "")


_PICTURE = "`gen4emu diff` compares pictures"
_UNPACK = "unpack it first"
_OTHER_API = "it holds API calls, not GPU commands; replay it under `gen4emu capture` to get a trace"
_VIDEO = "play it under `gen4emu capture` to get a trace of its decoding"

# Offset and bytes that identify a kind.
_MAGIC: tuple[tuple[int, bytes, Foreign], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", Foreign("a PNG picture", _PICTURE)),
    (0, b"\xff\xd8\xff", Foreign("a JPEG picture")),
    (0, b"GIF8", Foreign("a GIF picture")),
    (0, b"\x93NUMPY", Foreign("a NumPy array", "exact values of a picture, as `gen4emu replay --npy` writes them")),
    (8, b"WEBP", Foreign("a WebP picture")),
    (0, b"P5\n", Foreign("a PGM picture")),
    (0, b"P6\n", Foreign("a PPM picture")),
    (0, b"\x7fELF", Foreign("an ELF program or library", "run it with `gen4emu run` or `gen4emu capture`")),
    (0, b"MZ", Foreign("a Windows program")),
    (257, b"ustar", Foreign("a tar archive", _UNPACK)),
    (0, b"PK\x03\x04", Foreign("a zip archive", _UNPACK)),
    (0, b"PK\x05\x06", Foreign("an empty zip archive")),
    (0, b"7z\xbc\xaf\x27\x1c", Foreign("a 7z archive", _UNPACK)),
    (0, b"Rar!\x1a\x07", Foreign("a RAR archive", _UNPACK)),
    (0, b"BZh", Foreign("compressed with bzip2", _UNPACK)),
    (0, b"\x04\x22\x4d\x18", Foreign("compressed with lz4", _UNPACK)),
    (0, b"!<arch>\n", Foreign("an ar archive or static library")),
    (0, b"%PDF-", Foreign("a PDF document")),
    (0, b"SQLite format 3\0", Foreign("an SQLite database")),
    (0, b"RDOC", Foreign("a RenderDoc capture", _OTHER_API)),
    (0, b"GFXR", Foreign("a gfxreconstruct capture", _OTHER_API)),
    (0, b"\x03\x02\x23\x07", Foreign("a SPIR-V module")),
    (0, b"OggS", Foreign("Ogg audio or video", _VIDEO)),
    (0, b"\x1aE\xdf\xa3", Foreign("a Matroska video", _VIDEO)),
    (4, b"ftyp", Foreign("an MP4 video", _VIDEO)),
    (8, b"AVI ", Foreign("an AVI video", _VIDEO)),
    (0, b"\0\0\x01\xba", Foreign("an MPEG program stream", _VIDEO)),
    (0, b"\0\0\x01\xb3", Foreign("an MPEG video", _VIDEO)),
)

_APITRACE = Foreign("an apitrace trace", _OTHER_API)
_MAX_CHUNK_BYTES = 4 << 20  # in apitrace's snappy container; apitrace writes chunks of 1 MiB
# Patterns for the beginning of a text (_TEXTS) and for any line of it (_LINES), which must not go beyond it: each line
# would look through the rest of the text.
_TEXTS: tuple[tuple[str, Foreign], ...] = (
    (r"version https://git-lfs", Foreign("a Git LFS pointer", "`git lfs pull` fetches the file itself")),
    (r'\s*\{\s*"schema"\s*:\s*"gen4emu\.', Foreign("JSON written by gen4emu", "name the trace itself")),
    (r'\s*(?:\{\s*["}]|\[\s*(?:[\[{"\d\]-]\s*)+[^\w\s\[])', Foreign("JSON")),
    (r"#![^\n]*python", Foreign("a Python program")),
    (r"#!", Foreign("a script")),
    (r"\s*(?:<!doctype html|<html)", Foreign("an HTML page")),
    (r"\s*(?:<\?xml|<svg)", Foreign("XML")),
)
_LINES: tuple[tuple[str, Foreign], ...] = (
    (r"[ \t]*\[\[trace\]\]", Foreign("a manifest", "`gen4emu check` reads manifests")),
    (r"(?:from [\w.]+ )?import \w[\w., ]*$", Foreign("a Python program")),
    (r"[ \t]*(?:\([^)\n]*\)[ \t]*)?(?:mov|add|mul|send|cmp|sel)(?:\.\w+)*[ \t]*\(\d+\)",
     Foreign("EU assembly", "`gen4emu asm` reads it")),
)


def foreign(head: bytes) -> Foreign | None:
    """The kind of a file that is not a trace, from its first bytes; None if they are not known."""
    for offset, magic, kind in _MAGIC:
        if head.startswith(magic, offset):
            return kind
    if head.startswith(b"at") and 0 < int.from_bytes(head[2:6], "little") <= _MAX_CHUNK_BYTES:
        return _APITRACE
    return None


def foreign_text(head: bytes) -> Foreign:
    """The kind of a text without dwords."""
    text = head.decode("utf-8", "replace")
    for pattern, kind in _TEXTS:
        if re.match(pattern, text, re.IGNORECASE):
            return kind
    for pattern, kind in _LINES:
        if re.search(f"^{pattern}", text, re.MULTILINE):
            return kind
    return Foreign("text without dwords")
