"""Writes `.g4c` captures, with the interface of AubWriter, and digests of expected memory contents.

Needs some 100 bytes of memory for each different page.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable

import gen4emu
from gen4emu.errors import FieldError
from gen4emu.hw.chips import Device
from gen4emu.trace import gl_notes
from gen4emu.trace.capture import (
    BYTES,
    DUMP,
    ENGINES,
    EXPECT,
    HEADER,
    INDEX,
    INDEX_MAGIC,
    MAGIC,
    MAX_RECORD_BYTES,
    NO_TABLES,
    PAGE_BYTES,
    PAGE_TABLE,
    RECORD,
    REGISTER,
    SPACES,
    SUBMISSION,
    TILINGS,
    TRAILER,
    WIDE_DUMP,
    WIDE_SUBMISSION,
    WIDE_WRITE,
    WRITE,
    Codec,
    Kind,
    digest,
)
from gen4emu.trace.events import Engine, GttWrite, RegisterWrite, Space, SurfaceDump
from gen4emu.trace.gl_notes import GlNote
from gen4emu.trace.output import Writer
from gen4emu.trace.source import fast_deflate

_BATCH_PAGES = 64  # new pages in one record
_NOTES_BYTES = 1 << 22  # of notes in one record
_ZEROS = bytes(PAGE_BYTES)


class CaptureWriter(Writer):
    """Writes one `.g4c` file."""

    def __init__(self, file: str | os.PathLike[str], device: Device, *, application: str = "") -> None:
        super().__init__(file)
        self._address_bits = device.address_bits
        self._at = 0
        self._numbers: dict[bytes, int] = {digest(_ZEROS): 0}
        self._fresh: list[bytes] = []  # pages with a number that are not in the file yet
        self._submissions: list[int] = []
        self._frames: list[int] = []
        try:
            self._write(MAGIC)
            self.header(device.pci_id, application)
        except BaseException:
            self._output.discard()
            raise

    # --- events -------------------------------------------------------------------------------------------------------
    def header(self, pci_id: int, application: str = "") -> None:
        name = application.encode("utf-8", "replace")[:31]
        self._record(Kind.HEADER, HEADER.pack(pci_id, name) + f"gen4emu {gen4emu.__version__}".encode())

    def write_memory(self, address: int, data: bytes | bytearray | memoryview, kind: str = "",
                     space: Space = Space.GRAPHICS) -> None:
        """Bytes that the CPU writes to memory; whole pages are stored once, without their `kind`."""
        view = memoryview(data).cast("B")
        end = 1 << (52 if space is Space.PHYSICAL else 32 if space is Space.GLOBAL else self._address_bits)
        if not 0 <= address <= end - len(view):
            raise FieldError(f"address 0x{address:x} with {len(view)} bytes is outside the address space")
        head = min(-address % PAGE_BYTES, len(view)) if space is Space.GRAPHICS else len(view)
        tail = (len(view) - head) % PAGE_BYTES
        self._bytes(address, view[:head], kind, space)
        self._pages(address + head, view[head:len(view) - tail])
        self._bytes(address + len(view) - tail, view[len(view) - tail:], kind, space)

    def _pages(self, address: int, view: memoryview) -> None:
        if not len(view):
            return
        numbers = [self._number(view[at:at + PAGE_BYTES]) for at in range(0, len(view), PAGE_BYTES)]
        self._flush()
        step = MAX_RECORD_BYTES // 8
        for at in range(0, len(numbers), step):
            part = numbers[at:at + step]
            kind, head = (Kind.WIDE_WRITE, WIDE_WRITE) if self._address_bits > 32 else (Kind.WRITE, WRITE)
            self._record(kind, head.pack(address // PAGE_BYTES + at, len(part)) + struct.pack(f"<{len(part)}I", *part))

    def _number(self, page: memoryview) -> int:
        key = digest(page)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._numbers)
            self._fresh.append(bytes(page))
            if len(self._fresh) == _BATCH_PAGES:
                self._flush()
        return number

    def _flush(self) -> None:
        if self._fresh:
            self._record(Kind.PAGES, b"".join(self._fresh))
            self._fresh = []

    def _bytes(self, address: int, view: memoryview, kind: str, space: Space) -> None:
        name = kind.encode()[:64]
        for at in range(0, len(view), MAX_RECORD_BYTES // 2):
            self._record(Kind.BYTES, BYTES.pack(address + at, SPACES.index(space), len(name)) + name
                         + bytes(view[at:at + MAX_RECORD_BYTES // 2]))

    def submit(self, engine: Engine, ring_bytes: bytes, ring_address: int, context: int = 0,
               page_table: int | None = None) -> None:
        """Ring contents to run."""
        self._submissions.append(self._at)
        if self._address_bits > 32:
            self._record(Kind.WIDE_SUBMISSION, WIDE_SUBMISSION.pack(
                ENGINES.index(engine.value), context, ring_address, NO_TABLES if page_table is None else page_table)
                + ring_bytes)
            return
        self._record(Kind.SUBMISSION, SUBMISSION.pack(ENGINES.index(engine.value), ring_address) + ring_bytes)

    def dump_surface(self, dump: SurfaceDump) -> None:
        """The end of a frame, and its picture."""
        self._frames.append(self._at)
        try:
            kind, layout = (Kind.WIDE_DUMP, WIDE_DUMP) if self._address_bits > 32 else (Kind.DUMP, DUMP)
            data = layout.pack(dump.address, dump.x, dump.y, dump.width, dump.height, dump.bytes_per_pixel,
                               dump.pitch_bytes, dump.format, TILINGS.index(dump.tiling), 0)
        except (struct.error, ValueError) as e:
            raise FieldError(f"surface dump: {e}") from None
        self._record(kind, data)

    def frame_boundary(self, note: str = "") -> None:
        """The end of a frame."""
        self._frames.append(self._at)
        self._record(Kind.FRAME, note.encode("utf-8", "replace")[:MAX_RECORD_BYTES])

    def expect(self, address: int, size: int, found: bytes) -> None:
        """The digest (`capture.digest`) that the memory of a reader must have at this point."""
        self._record(Kind.EXPECT, EXPECT.pack(address, size, found))

    def comment(self, text: str) -> None:
        self._record(Kind.COMMENT, text.encode("utf-8", "replace")[:MAX_RECORD_BYTES])

    def gl_notes(self, notes: Iterable[GlNote]) -> None:
        """Write GL notes of the program that precede the next submission."""
        waiting = bytearray()
        for note in gl_notes.pack(notes):
            if waiting and len(waiting) + len(note) > _NOTES_BYTES:
                self._record(Kind.GL_NOTES, gl_notes.record(bytes(waiting)))
                waiting.clear()
            waiting += note
        if waiting:
            self._record(Kind.GL_NOTES, gl_notes.record(bytes(waiting)))

    def write_register(self, event: RegisterWrite) -> None:
        self._record(Kind.REGISTER, REGISTER.pack(event.register & 0xFFFFFFFF, event.value & 0xFFFFFFFF))

    def write_gtt(self, event: GttWrite) -> None:
        """Page table entries."""
        code = "I" if event.entry_bytes == 4 else "Q"
        try:
            data = struct.pack(f"<{len(event.entries)}{code}", *event.entries)
        except struct.error as e:
            raise FieldError(f"page table from entry {event.first} on: {e}") from None
        self._record(Kind.PAGE_TABLE, PAGE_TABLE.pack(event.first, event.entry_bytes) + data)

    # --- life ---------------------------------------------------------------------------------------------------------
    def close(self) -> None:
        """Write the index, and complete the file."""
        at = self._at
        offsets = self._submissions + self._frames
        index = INDEX.pack(len(self._submissions), len(self._frames)) + struct.pack(f"<{len(offsets)}Q", *offsets)
        if len(index) <= MAX_RECORD_BYTES:  # otherwise readers scan the file
            self._record(Kind.INDEX, index)
            self._write(TRAILER.pack(at, INDEX_MAGIC))
        super().close()

    def _record(self, kind: Kind, data: bytes) -> None:
        stored, codec = data, Codec.RAW
        if len(data) >= 256:
            packed = fast_deflate()(data, 1)
            if len(packed) < len(data):
                stored, codec = packed, Codec.ZLIB
        self._write(RECORD.pack(kind, codec, len(stored), len(data), zlib.crc32(stored)))
        self._write(stored)

    def _write(self, data: bytes) -> None:
        self._output.write(data)
        self._at += len(data)
