"""Writes AUB files in the legacy format, which aubinator and gen4emu.trace.aub read.

Pages that the memory of the file's reader already holds are not written again.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterator
from enum import Enum

from gen4emu.core_enums import PAGE_SIZE
from gen4emu.errors import FieldError
from gen4emu.hw.chips import Device
from gen4emu.trace.aub import (
    FRAME_NOTE,
    MAX_BLOCK_BYTES,
    RING_OF_ENGINE,
    TYPE_OF_KIND,
    VEBOX_NOTE,
    Legacy,
    LegacySpace,
    Memtrace,
    MemtraceSpace,
    Operation,
    legacy_header,
    memtrace_header,
)
from gen4emu.trace.events import Engine, GttWrite, RegisterWrite, Space, SurfaceDump
from gen4emu.trace.output import Writer
from gen4emu.trace.ring import MAX_RING_BYTES

_ADDRESS_SPACE = 1 << 32
_MAX_COMMENT_BYTES = MAX_BLOCK_BYTES
_REGISTER_DWORD = 2 << 16  # size and space of a register write: a dword, MMIO


class Dedup(Enum):
    """How long a page is assumed to be in the memory of the file's reader."""

    TRACE = "trace"  # until other contents are written; the caller reports writes by the GPU (`gpu_wrote`)
    SUBMISSION = "submission"  # until the next submission, which may write anywhere
    NONE = "none"  # never: for readers that forget memory after each submission


class AubWriter(Writer):
    """Writes one AUB file."""

    def __init__(self, file: str | os.PathLike[str], device: Device, *, application: str = "",
                 dedup: Dedup = Dedup.TRACE) -> None:
        """The suffix of `file` (.xz, .gz, .zst) selects the compression; "-" is standard output."""
        self._dedup = dedup
        self._known = KnownPages()
        super().__init__(file)
        try:
            self.header(device.pci_id, application)
        except BaseException:
            self._output.discard()
            raise

    def header(self, pci_id: int, application: str = "") -> None:
        """Write the header.  The constructor does; call it again only if the trace continues on another device."""
        comment = f"PCI-ID=0x{pci_id:04x}".encode()
        name = application.encode("utf-8", "replace")[:31].ljust(32, b"\0")
        self._packet(Legacy.HEADER, struct.pack("<I32sQI", 4 << 24, name, 0, len(comment)) + _padded(comment))

    # --- events -------------------------------------------------------------------------------------------------------
    def write_memory(self, address: int, data: bytes | bytearray | memoryview, kind: str = "",
                     space: Space = Space.GRAPHICS) -> None:
        """Bytes that the CPU writes to memory."""
        view = memoryview(data).cast("B")
        _check(address, len(view), _ADDRESS_SPACE if space is Space.GRAPHICS else 1 << 52)
        if space is Space.PHYSICAL:
            self._known.forget_all()  # a page table may map it to any graphics page
            self._memtrace_data(MemtraceSpace.PHYSICAL, address, view)
            return
        runs = iter([(address, view)]) if self._dedup is Dedup.NONE else self._known.changed(address, view)
        type_number, subtype = TYPE_OF_KIND.get(kind, (0, 0))
        for start, run in runs:
            for at in range(0, len(run), MAX_BLOCK_BYTES):
                self._block(Operation.DATA_WRITE, type_number, LegacySpace.GTT, subtype, start + at,
                            run[at:at + MAX_BLOCK_BYTES])

    def gpu_wrote(self, address: int, size: int) -> None:
        """The GPU may have changed these bytes: do not omit the next write of them."""
        if size > 0:
            self._known.forget(address, size)

    def submit(self, engine: Engine, ring_bytes: bytes, ring_address: int, context: int = 0,
               page_table: int | None = None) -> None:
        """Ring contents to run; commands in them switch contexts."""
        if len(ring_bytes) > MAX_RING_BYTES or len(ring_bytes) % 4:
            raise FieldError(f"ring contents of {len(ring_bytes)} bytes: not whole dwords, or more than a ring holds")
        _check(ring_address, len(ring_bytes), _ADDRESS_SPACE)
        if engine is Engine.VEBOX:
            self.comment(VEBOX_NOTE)
        self._block(Operation.COMMAND_WRITE, RING_OF_ENGINE[engine], LegacySpace.GTT, 0, ring_address,
                    memoryview(ring_bytes))
        if self._dedup is Dedup.SUBMISSION:
            self._known.forget_all()

    def dump_surface(self, dump: SurfaceDump) -> None:
        """A request to save a surface as a picture."""
        numbers = {"x": dump.x, "y": dump.y, "width": dump.width, "height": dump.height}
        for name, number in numbers.items():
            if not 0 <= number <= 0xFFFF:
                raise FieldError(f"surface dump: {name} {number} does not fit 16 bits")
        if dump.pitch_bytes % 4 or not 0 <= dump.pitch_bytes // 4 <= 0x7FFFF:
            raise FieldError(f"surface dump: pitch {dump.pitch_bytes} is not a number of dwords that fits 19 bits")
        if not 0 <= dump.bytes_per_pixel <= 0x1F or not 0 <= dump.format <= 0xFF:
            raise FieldError(f"surface dump: format {dump.format} of {dump.bytes_per_pixel} bytes does not fit")
        _check(dump.address, 0, _ADDRESS_SPACE)
        tiling = {"linear": 0, "x": 4, "y": 12}.get(dump.tiling)
        if tiling is None:
            raise FieldError(f"surface dump: unknown tiling {dump.tiling!r} (known: linear, x, y)")
        self._packet(Legacy.BMP, struct.pack(
            "<5I", dump.y << 16 | dump.x, dump.format << 24 | dump.bytes_per_pixel << 19 | dump.pitch_bytes // 4,
            dump.height << 16 | dump.width, dump.address, tiling))

    def comment(self, text: str) -> None:
        """A comment."""
        data = _padded(text.encode("utf-8", "replace")[:_MAX_COMMENT_BYTES])  # aubinator cuts other sizes off
        self._block(Operation.COMMENT, 0, LegacySpace.GTT, 0, 0, memoryview(data))

    def frame_boundary(self, note: str = "") -> None:
        """The end of a frame without a surface dump; a comment for other readers."""
        self.comment(f"{FRAME_NOTE} {note}" if note else FRAME_NOTE)

    def write_gtt(self, event: GttWrite) -> None:
        """Page table entries."""
        self._known.forget_all()
        code = "I" if event.entry_bytes == 4 else "Q"
        try:
            data = memoryview(struct.pack(f"<{len(event.entries)}{code}", *event.entries))
        except struct.error:
            raise FieldError(f"page table from entry {event.first} on: a value is too big for its "
                             f"{event.entry_bytes} bytes") from None
        address = event.first * event.entry_bytes
        if event.entry_bytes == 8:
            self._memtrace_data(MemtraceSpace.GGTT_ENTRY, address, data)
            return
        _check(address, len(data), _ADDRESS_SPACE)
        for at in range(0, len(data), MAX_BLOCK_BYTES):
            self._block(Operation.DATA_WRITE, 0, LegacySpace.GTT_ENTRY, 0, address + at, data[at:at + MAX_BLOCK_BYTES])

    def write_register(self, event: RegisterWrite) -> None:
        """A register's new value."""
        _check(event.register, 4, _ADDRESS_SPACE)
        self._memtrace(Memtrace.REG_WRITE, struct.pack("<5I", event.register, _REGISTER_DWORD, 0xFFFFFFFF, 0,
                                                       event.value & 0xFFFFFFFF))

    # --- packets ------------------------------------------------------------------------------------------------------
    def _packet(self, sub_opcode: int, body: bytes) -> None:
        self._output.write(struct.pack("<I", legacy_header(sub_opcode, 1 + len(body) // 4)) + body)

    def _memtrace(self, sub_opcode: int, body: bytes) -> None:
        self._output.write(struct.pack("<I", memtrace_header(sub_opcode, 1 + len(body) // 4)) + body)

    def _block(self, operation: int, type_number: int, space: int, subtype: int, address: int,
               data: memoryview) -> None:
        what = space << 16 | type_number << 8 | operation
        self._packet(Legacy.BLOCK, struct.pack("<4I", what, subtype, address, len(data)))
        self._output.write(data)
        self._output.write(bytes(-len(data) % 4))

    def _memtrace_data(self, space: int, address: int, data: memoryview) -> None:
        for at in range(0, len(data), MAX_BLOCK_BYTES):
            piece = data[at:at + MAX_BLOCK_BYTES]
            self._memtrace(Memtrace.MEM_WRITE, struct.pack("<QII", address + at, space << 28, len(piece))
                           + _padded(bytes(piece)))


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _check(address: int, size: int, limit: int) -> None:
    if not 0 <= address < limit or address + size > limit:
        raise FieldError(f"address 0x{address:x} with {size} bytes is not inside the address space of an AUB block")


_DIGEST_BYTES = 16
_MAX_PIECES = 8  # of one page


class KnownPages:
    """Hashes of the pages, or pieces of pages, in the memory of the file's reader: some 200 bytes for each page."""

    def __init__(self) -> None:
        self._pages: dict[int, list[tuple[int, int, bytes]]] = {}  # page: first byte, end, digest

    def changed(self, address: int, data: memoryview) -> Iterator[tuple[int, memoryview]]:
        """The runs of `data` that the memory does not hold yet; from now on it does."""
        run_start: int | None = None
        at = 0
        while at < len(data):
            page, first = divmod(address + at, PAGE_SIZE)
            piece = data[at:at + PAGE_SIZE - first]
            if self._note(page, first, piece):
                run_start = at if run_start is None else run_start
            elif run_start is not None:
                yield address + run_start, data[run_start:at]
                run_start = None
            at += len(piece)
        if run_start is not None:
            yield address + run_start, data[run_start:]

    def _note(self, page: int, first: int, piece: memoryview) -> bool:
        """Record a piece; True if it is new."""
        entry = (first, first + len(piece), hashlib.blake2b(piece, digest_size=_DIGEST_BYTES).digest())
        known = self._pages.get(page, [])
        if entry in known:
            return False
        kept = [old for old in known if old[1] <= entry[0] or entry[1] <= old[0]]
        self._pages[page] = [*kept[-_MAX_PIECES + 1:], entry]
        return True

    def forget(self, address: int, size: int) -> None:
        """The contents of this range are unknown."""
        first, last = address // PAGE_SIZE, (address + size - 1) // PAGE_SIZE
        if last - first >= len(self._pages):
            self._pages = {p: known for p, known in self._pages.items() if not first <= p <= last}
            return
        for page in range(first, last + 1):
            self._pages.pop(page, None)

    def forget_all(self) -> None:
        self._pages.clear()
