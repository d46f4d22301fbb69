"""The `.g4c` capture format (docs/formats.md), and its reader.

A file is a sequence of records, each with its length and checksum, so a truncated file is valid up to the cut.  Pages
of memory are stored once and referred to by number; page 0 is the page of zeros and is not stored.

The reader makes one pass.  It keeps the compressed pages, so it needs at most as much memory as the file is long.  A
record with a wrong checksum is skipped with a warning.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from typing import BinaryIO

from gen4emu.core_enums import PAGE_SIZE
from gen4emu.errors import FieldError, TraceError
from gen4emu.hw.chips import BY_PCI_ID
from gen4emu.trace import gl_notes
from gen4emu.trace.devices import DeviceCheck
from gen4emu.trace.driver_block import printable
from gen4emu.trace.events import (
    Comment,
    Engine,
    Event,
    ExpectedMemory,
    FrameBoundary,
    GlNotes,
    GttWrite,
    MemoryWrite,
    RegisterWrite,
    Space,
    Submission,
    SurfaceDump,
    Warning,
)
from gen4emu.trace.ring import RingContexts, ring_contexts
from gen4emu.trace.source import Source

# --- format -----------------------------------------------------------------------------------------------------------
MAGIC = b"G4CAP\0\1\n"
INDEX_MAGIC = b"G4INDEX\n"
SUFFIX = ".g4c"
PAGE_BYTES = PAGE_SIZE
MAX_RECORD_BYTES = 8 << 20
DIGEST_BYTES = 16

RECORD = struct.Struct("<HHIII")  # kind, codec, stored bytes, unpacked bytes, CRC-32 of the stored bytes
TRAILER = struct.Struct("<Q8s")  # offset of the index, INDEX_MAGIC


class Kind(IntEnum):
    """Kinds of records."""

    HEADER = 1
    PAGES = 2  # numbered consecutively across such records
    WRITE = 3  # copies stored pages to pages of memory
    BYTES = 4  # a write of less than whole pages
    SUBMISSION = 5
    FRAME = 6
    DUMP = 7
    EXPECT = 8  # digest of memory contents at this point
    COMMENT = 9
    REGISTER = 10
    PAGE_TABLE = 11
    INDEX = 12
    WIDE_WRITE = 13  # as 3, 5 and 7, for addresses of more than 32 bits
    WIDE_SUBMISSION = 14
    WIDE_DUMP = 15
    GL_NOTES = 16  # gen4emu.trace.gl_notes


class Codec(IntEnum):
    RAW = 0
    ZLIB = 1


ENGINES = ("render", "bsd", "blt", "vebox")
TILINGS = ("linear", "x", "y")
SPACES = (Space.GRAPHICS, Space.PHYSICAL, Space.GLOBAL)

HEADER = struct.Struct("<I32s")  # PCI id, program; the name of the writer follows
WIDE_WRITE = struct.Struct("<QI")
WRITE = struct.Struct("<II")  # first page, count; `count` numbers of stored pages follow
BYTES = struct.Struct("<QII")  # address, space (of SPACES), length of the kind; kind and bytes follow
SUBMISSION = struct.Struct("<II")  # engine, address of the ring contents, which follow
WIDE_SUBMISSION = struct.Struct("<IIQQ")  # engine, context, address, root of the page tables or NO_TABLES; the contents
WIDE_DUMP = struct.Struct("<Q9I")
DUMP = struct.Struct("<10I")  # address, x, y, width, height, bytes of a pixel, pitch, format, tiling, 0
EXPECT = struct.Struct("<QI16s")  # address, bytes, digest
REGISTER = struct.Struct("<II")  # offset, value
PAGE_TABLE = struct.Struct("<II")  # first entry, bytes of an entry; the entries follow
INDEX = struct.Struct("<II")  # submissions, frames; the offsets of their records follow, eight bytes each


NO_TABLES = (1 << 64) - 1  # the addresses are those of the writes


def digest(data: bytes | memoryview) -> bytes:
    """The digest that identifies pages and checks memory contents."""
    return digest_of((data,))


def digest_of(pieces: Iterable[bytes | memoryview]) -> bytes:
    """`digest` of contents in pieces."""
    found = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for piece in pieces:
        found.update(piece)
    return found.digest()


# --- reader -----------------------------------------------------------------------------------------------------------
_MAX_UNPACKED = 64  # records of pages kept unpacked
_RUN_BYTES = 1 << 20
_ADDRESS_SPACE = 1 << 32

Events = Iterator[Event]


class _InvalidRecord(Exception):
    """The contents of a record are invalid."""


class _Pages:
    """The stored pages, by number."""

    def __init__(self) -> None:
        self._records: list[tuple[int, int, bytes]] = []  # first number, codec, stored bytes
        self._firsts: list[int] = []
        self._count = 1
        self._unpacked: OrderedDict[int, bytes] = OrderedDict()

    def add(self, codec: int, stored: bytes, size: int) -> None:
        if size % PAGE_BYTES:
            raise _InvalidRecord("not a whole number of pages")
        self._records.append((self._count, codec, stored))
        self._firsts.append(self._count)
        self._count += size // PAGE_BYTES

    def skip(self, size: int) -> None:
        """A damaged record of pages keeps its numbers."""
        self._count += size // PAGE_BYTES

    def get(self, number: int) -> bytes | None:
        if number == 0:
            return _ZEROS
        low, high = 0, len(self._firsts)
        while low < high:
            middle = (low + high) // 2
            if self._firsts[middle] <= number:
                low = middle + 1
            else:
                high = middle
        data = self._contents(low - 1) if low else b""
        at = (number - self._firsts[low - 1]) * PAGE_BYTES if low else 0
        page = data[at:at + PAGE_BYTES]
        return page if len(page) == PAGE_BYTES else None

    def _contents(self, record: int) -> bytes:
        data = self._unpacked.get(record)
        if data is None:
            _, codec, stored = self._records[record]
            data = self._unpacked[record] = _unpack(codec, stored)
            if len(self._unpacked) > _MAX_UNPACKED:
                self._unpacked.popitem(last=False)
        else:
            self._unpacked.move_to_end(record)
        return data


_ZEROS = bytes(PAGE_BYTES)


def _unpack(codec: int, stored: bytes) -> bytes:
    if codec == Codec.RAW:
        return stored
    if codec != Codec.ZLIB:
        raise _InvalidRecord(f"unknown codec {codec}")
    stream = zlib.decompressobj()
    try:
        return stream.decompress(stored, MAX_RECORD_BYTES)
    except zlib.error as e:
        raise _InvalidRecord(f"packed data: {e}") from None


class CaptureReader:
    """Reads one `.g4c` file."""

    def __init__(self, source: Source, check: DeviceCheck) -> None:
        self._source = source
        self._check = check
        self._pages = _Pages()
        self._readers: dict[int, Callable[[int, bytes], Events]] = {
            Kind.HEADER: self._header, Kind.WRITE: self._write, Kind.BYTES: self._bytes,
            Kind.SUBMISSION: self._submission, Kind.FRAME: self._frame, Kind.DUMP: self._dump,
            Kind.EXPECT: self._expect, Kind.COMMENT: self._comment, Kind.REGISTER: self._register,
            Kind.PAGE_TABLE: self._page_table, Kind.INDEX: self._nothing, Kind.WIDE_WRITE: self._wide_write,
            Kind.WIDE_SUBMISSION: self._wide_submission, Kind.WIDE_DUMP: self._wide_dump,
            Kind.GL_NOTES: self._gl_notes,
        }
        self._contexts: RingContexts | None = None
        self._end = _ADDRESS_SPACE

    def events(self) -> Events:
        source = self._source
        if bytes(source.take(len(MAGIC))) != MAGIC:
            raise TraceError(source.name, 0, "is a .g4c capture of an unknown version")
        while True:
            start = source.position
            head = bytes(source.take(RECORD.size))
            if not head or head[8:] == INDEX_MAGIC:  # the trailer
                return
            if len(head) < RECORD.size:
                yield Warning(start, "the file ends inside a record", damage=True)
                return
            kind, codec, stored_size, size, checksum = RECORD.unpack(head)
            if max(stored_size, size) > MAX_RECORD_BYTES:
                yield Warning(start, f"a record of {max(stored_size, size)} bytes: the rest of the file cannot be read",
                              damage=True)
                return
            stored = bytes(source.take(stored_size))
            if len(stored) < stored_size:
                yield Warning(start, "the file ends inside a record", damage=True)
                return
            yield from self._record(start, kind, codec, stored, size, checksum)

    def _record(self, start: int, kind: int, codec: int, stored: bytes, size: int, checksum: int) -> Events:
        try:
            if zlib.crc32(stored) != checksum:
                if kind == Kind.PAGES:
                    self._pages.skip(size)
                raise _InvalidRecord("wrong checksum")
            if kind == Kind.PAGES:
                self._pages.add(codec, stored, size)
                return
            reader = self._readers.get(kind)
            if reader is None:
                raise _InvalidRecord(f"unknown kind {kind}")
            data = _unpack(codec, stored)
            if len(data) != size:
                raise _InvalidRecord(f"{len(data)} bytes instead of {size}")
            yield from reader(start, data)
        except (_InvalidRecord, struct.error) as e:
            yield Warning(start, f"record skipped: {e}", damage=True)

    # --- records ------------------------------------------------------------------------------------------------------
    def _header(self, start: int, data: bytes) -> Events:
        pci_id, name = HEADER.unpack_from(data)
        header = self._check.header(start, pci_id, printable(name.split(b"\0")[0]), printable(data[HEADER.size:]))
        self._contexts = ring_contexts(header.pci_id)
        if header.pci_id is not None:
            self._end = 1 << BY_PCI_ID[header.pci_id].address_bits
        yield header

    def _write(self, start: int, data: bytes) -> Events:
        yield from self._copies(start, data, WRITE)

    def _wide_write(self, start: int, data: bytes) -> Events:
        yield from self._copies(start, data, WIDE_WRITE)

    def _copies(self, start: int, data: bytes, head: struct.Struct) -> Events:
        first, count = head.unpack_from(data)
        if len(data) != head.size + 4 * count or (first + count) * PAGE_BYTES > self._end:
            raise _InvalidRecord(f"{count} pages from page 0x{first:x} on")
        numbers = struct.unpack_from(f"<{count}I", data, head.size)
        run: list[bytes] = []
        lost = 0
        for at, number in enumerate(numbers):
            page = self._pages.get(number)
            if run and (page is None or len(run) == _RUN_BYTES // PAGE_BYTES):
                yield MemoryWrite(start, (first + at - len(run)) * PAGE_BYTES, b"".join(run))
                run = []
            if page is None:
                lost += 1
            else:
                run.append(page)
        if run:
            yield MemoryWrite(start, (first + count - len(run)) * PAGE_BYTES, b"".join(run))
        if lost:
            yield Warning(start, f"{lost} pages are not in the file", damage=True)

    def _bytes(self, start: int, data: bytes) -> Events:
        address, space, length = BYTES.unpack_from(data)
        if length > 64 or len(data) < BYTES.size + length:
            raise _InvalidRecord("invalid name of a kind")
        kind = printable(data[BYTES.size:BYTES.size + length])
        contents = data[BYTES.size + length:]
        if space >= len(SPACES):
            raise _InvalidRecord(f"address space {space}")
        if address + len(contents) > (self._end, 1 << 52, _ADDRESS_SPACE)[space]:
            raise _InvalidRecord(f"{len(contents)} bytes at 0x{address:x}")
        for at in range(0, len(contents), _RUN_BYTES):
            yield MemoryWrite(start, address + at, contents[at:at + _RUN_BYTES], SPACES[space], kind)

    def _submission(self, start: int, data: bytes) -> Events:
        engine, address = SUBMISSION.unpack_from(data)
        ring = data[SUBMISSION.size:]
        if engine >= len(ENGINES) or address + len(ring) > self._end or len(ring) % 4:
            raise _InvalidRecord("invalid submission")
        kind = Engine(ENGINES[engine])
        context = 0 if self._contexts is None else self._contexts.number(kind, ring)
        yield Submission(start, kind, ring, address, context=context)

    def _wide_submission(self, start: int, data: bytes) -> Events:
        engine, context, address, tables = WIDE_SUBMISSION.unpack_from(data)
        ring = data[WIDE_SUBMISSION.size:]
        if engine >= len(ENGINES) or address + len(ring) > self._end or len(ring) % 4:
            raise _InvalidRecord("invalid submission")
        yield Submission(start, Engine(ENGINES[engine]), ring, address, context=context,
                         page_table=None if tables == NO_TABLES else tables)

    def _frame(self, start: int, data: bytes) -> Events:
        yield FrameBoundary(start, printable(data))

    def _dump(self, start: int, data: bytes) -> Events:
        yield from self._picture(start, DUMP.unpack(data))

    def _wide_dump(self, start: int, data: bytes) -> Events:
        yield from self._picture(start, WIDE_DUMP.unpack(data))

    def _picture(self, start: int, fields: tuple[int, ...]) -> Events:
        address, x, y, width, height, cpp, pitch, form, tiling, _ = fields
        if tiling >= len(TILINGS) or max(width, height, x, y) > 0xFFFF:
            raise _InvalidRecord("invalid surface dump")
        yield SurfaceDump(start, address, x, y, width, height, cpp, pitch, form, TILINGS[tiling])

    def _expect(self, start: int, data: bytes) -> Events:
        address, size, found = EXPECT.unpack(data)
        if address + size > self._end:
            raise _InvalidRecord(f"{size} bytes at 0x{address:x}")
        yield ExpectedMemory(start, address, size, found)

    def _comment(self, start: int, data: bytes) -> Events:
        yield Comment(start, printable(data))

    def _gl_notes(self, start: int, data: bytes) -> Events:
        try:
            yield GlNotes(start, tuple(gl_notes.unpack(gl_notes.contents(data))))
        except FieldError as e:
            raise _InvalidRecord(str(e)) from None

    def _register(self, start: int, data: bytes) -> Events:
        yield RegisterWrite(start, *REGISTER.unpack(data))

    def _page_table(self, start: int, data: bytes) -> Events:
        first, entry_bytes = PAGE_TABLE.unpack_from(data)
        if entry_bytes not in (4, 8) or (len(data) - PAGE_TABLE.size) % entry_bytes:
            raise _InvalidRecord(f"page table entries of {entry_bytes} bytes")
        count = (len(data) - PAGE_TABLE.size) // entry_bytes
        entries = struct.unpack_from(f"<{count}{'I' if entry_bytes == 4 else 'Q'}", data, PAGE_TABLE.size)
        yield GttWrite(start, first, entries, entry_bytes)

    def _nothing(self, start: int, data: bytes) -> Events:
        return iter(())


def read_index(file: BinaryIO) -> tuple[list[int], list[int]] | None:
    """The offsets of the submissions and of the frames; None if there is no valid index."""
    size = file.seek(0, os.SEEK_END)
    if size < len(MAGIC) + RECORD.size + TRAILER.size:
        return None
    file.seek(size - TRAILER.size)
    at, magic = TRAILER.unpack(file.read(TRAILER.size))
    if magic != INDEX_MAGIC or not len(MAGIC) <= at <= size - TRAILER.size - RECORD.size:
        return None
    file.seek(at)
    kind, codec, stored_size, _, checksum = RECORD.unpack(file.read(RECORD.size))
    stored = file.read(min(stored_size, MAX_RECORD_BYTES))
    if kind != Kind.INDEX or zlib.crc32(stored) != checksum:
        return None
    try:
        data = _unpack(codec, stored)
        submissions, frames = INDEX.unpack_from(data)
        if len(data) != INDEX.size + 8 * (submissions + frames):
            return None
        offsets = list(struct.unpack_from(f"<{submissions + frames}Q", data, INDEX.size))
    except (_InvalidRecord, struct.error):
        return None
    return offsets[:submissions], offsets[submissions:]
