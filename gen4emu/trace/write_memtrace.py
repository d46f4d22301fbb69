"""Writes AUB files of memtrace packets for Gen8 and later: 48-bit addresses, page tables, execution lists.

The addresses of a capture are those of one address space, that of the program.  Its pages get physical pages in the
order of their first write; four levels of page tables map them (PPGTT).  Rings and context images lie in the global
address space.  aubinator reads these files.

A trace that has physical pages of its own keeps them and its page tables, and graphics addresses are global ones.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

from gen4emu.core_enums import PAGE_SIZE
from gen4emu.errors import FieldError
from gen4emu.hw.chips import Device
from gen4emu.hw.page_tables import LEVELS, PRESENT_WRITEABLE, TABLE_BITS
from gen4emu.trace.aub import FRAME_NOTE, MAX_BLOCK_BYTES, Memtrace, MemtraceSpace
from gen4emu.trace.events import Engine, GttWrite, RegisterWrite, Space, SurfaceDump
from gen4emu.trace.logical_context import REGISTER_BASES, STATUS_BYTES, LogicalContext, encode
from gen4emu.trace.ring import MAX_RING_BYTES
from gen4emu.trace.write_aub import AubWriter, Dedup

_SUBMIT_PORT = 0x230
_DESCRIPTOR_FLAGS = 0x119  # valid, 64-bit page tables, privileged
_RING_CTL_ENABLE = 1
# Where our pages are in a trace that has page tables: above all memory, and at the end of the global space.
_OWN_PHYSICAL_PAGE = 1 << 27
_OWN_GLOBAL_PAGE = 0xF0000


class PageTables:
    """The page tables of one address space, and the physical pages they map to."""

    def __init__(self) -> None:
        self._next = 1  # the first page stays free
        self.root = self.allocate()
        self._tables: dict[tuple[int, int], int] = {(LEVELS, 0): self.root}  # level, address bits above it
        self._pages: dict[int, int] = {}

    def move(self, page: int) -> None:
        """Allocate from this physical page on."""
        self._next = max(self._next, page)

    def allocate(self) -> int:
        """A physical page."""
        self._next += 1
        return (self._next - 1) * PAGE_SIZE

    def map(self, page: int) -> tuple[int, list[tuple[int, int]]]:
        """The physical address of a page, and the table entries (physical address, value) that are new."""
        physical = self._pages.get(page)
        if physical is not None:
            return physical, []
        new: list[tuple[int, int]] = []
        table = self.root
        for level in range(LEVELS, 0, -1):
            above = page >> TABLE_BITS * (level - 1)
            below = self._tables.get((level - 1, above))
            if below is None:
                below = self._tables[level - 1, above] = self.allocate()
                new.append((table + 8 * (above & (1 << TABLE_BITS) - 1), below | PRESENT_WRITEABLE))
            table = below
        del self._tables[0, page]
        self._pages[page] = table
        return table, new


class MemtraceWriter(AubWriter):
    """Writes one AUB file for a device with 48-bit addresses."""

    def __init__(self, file: str | os.PathLike[str], device: Device, *, application: str = "",
                 dedup: Dedup = Dedup.TRACE) -> None:
        self._address_space = 1 << device.address_bits
        self._tables = PageTables()
        self._global_pages = 1
        self._mapped_globally: set[int] = set()  # pages that the trace wrote through the global table
        self._is_translated = False  # the trace has physical pages and page tables
        self._images: dict[tuple[Engine, int], int] = {}  # graphics address of the status page
        self._rings: dict[tuple[Engine, int], tuple[int, int]] = {}  # address and size
        super().__init__(file, device, application=application, dedup=dedup)

    def header(self, pci_id: int, application: str = "") -> None:
        name = f"PCI-ID=0x{pci_id:04X} {application}".encode("utf-8", "replace")[:31]
        self._memtrace(Memtrace.VERSION_EXT, struct.pack("<4I", 1, 0, 0, 0) + name + bytes(4 - len(name) % 4))

    # --- events -------------------------------------------------------------------------------------------------------
    def write_memory(self, address: int, data: bytes | bytearray | memoryview, kind: str = "",
                     space: Space = Space.GRAPHICS) -> None:
        view = memoryview(data).cast("B")
        end = 1 << 52 if space is Space.PHYSICAL else self._address_space
        if not 0 <= address <= end - len(view):
            raise FieldError(f"address 0x{address:x} with {len(view)} bytes is not inside the address space")
        if space is Space.PHYSICAL:
            self._keep_tables()
            self._memtrace_data(MemtraceSpace.PHYSICAL, address, view)
            return
        if space is Space.GLOBAL:
            self._write_globally(address, view)
            return
        if self._is_translated:
            self._memtrace_data(MemtraceSpace.GGTT, address, view)
            return
        runs = iter([(address, view)]) if self._dedup is Dedup.NONE else self._known.changed(address, view)
        for start, run in runs:
            for physical, piece in self._physical_runs(start, run):
                self._memtrace_data(MemtraceSpace.PHYSICAL, physical, piece)

    def _write_globally(self, address: int, data: memoryview) -> None:
        """A write through the global table, to separate pages."""
        if address + len(data) > 1 << 32:
            raise FieldError(f"address 0x{address:x} with {len(data)} bytes is not inside the global address space")
        self._global_pages = max(self._global_pages, _OWN_GLOBAL_PAGE)
        for page in range(address // PAGE_SIZE, -(-(address + len(data)) // PAGE_SIZE)):
            if page not in self._mapped_globally:
                self._mapped_globally.add(page)
                entry = struct.pack("<Q", self._tables.allocate() | 1)
                self._memtrace_data(MemtraceSpace.GGTT_ENTRY, 8 * page, memoryview(entry))
        self._memtrace_data(MemtraceSpace.GGTT, address, data)

    def write_gtt(self, event: GttWrite) -> None:
        self._keep_tables()
        super().write_gtt(event)

    def _keep_tables(self) -> None:
        if not self._is_translated:
            self._is_translated = True
            self._tables.move(_OWN_PHYSICAL_PAGE)
            self._global_pages = max(self._global_pages, _OWN_GLOBAL_PAGE)

    def _physical_runs(self, address: int, data: memoryview) -> Iterator[tuple[int, memoryview]]:
        """The parts of a write that are consecutive physically; writes the page tables for them."""
        first = at = 0
        start = expected = -1
        while at < len(data):
            page, inside = divmod(address + at, PAGE_SIZE)
            physical, entries = self._tables.map(page)
            for place, entry in entries:
                self._memtrace_data(MemtraceSpace.PHYSICAL, place, memoryview(struct.pack("<Q", entry)))
            if physical + inside != expected:
                if start >= 0:
                    yield start, data[first:at]
                start, first = physical + inside, at
            at = min(at + PAGE_SIZE - inside, len(data))
            expected = physical + PAGE_SIZE
        if start >= 0:
            yield start, data[first:]

    def submit(self, engine: Engine, ring_bytes: bytes, ring_address: int, context: int = 0,
               page_table: int | None = None) -> None:
        """Ring contents to run in a context; their address in the program's run is not kept."""
        if len(ring_bytes) > MAX_RING_BYTES // 2 or len(ring_bytes) % 4:
            raise FieldError(f"ring contents of {len(ring_bytes)} bytes: not whole dwords, or more than a ring holds")
        contents = ring_bytes + bytes(-len(ring_bytes) % 8)
        ring, size = self._ring(engine, context, len(contents))
        self._memtrace_data(MemtraceSpace.GGTT, ring, memoryview(contents))
        root = self._tables.root if page_table is None else page_table
        image = encode(LogicalContext(0, len(contents), ring, (size - PAGE_SIZE) | _RING_CTL_ENABLE, root), engine)
        status = self._images[engine, context]
        self._memtrace_data(MemtraceSpace.GGTT, status + STATUS_BYTES, memoryview(image))
        port = REGISTER_BASES[engine] + _SUBMIT_PORT
        for value in (0, 0, context, status | _DESCRIPTOR_FLAGS):
            self.write_register(RegisterWrite(0, port, value))
        if self._dedup is Dedup.SUBMISSION:
            self._known.forget_all()

    def _ring(self, engine: Engine, context: int, size: int) -> tuple[int, int]:
        """The ring of a context; both are created by the first submission."""
        key = engine, context
        if key not in self._images:
            self._images[key] = self._map_globally(STATUS_BYTES // PAGE_SIZE + 1)
        known = self._rings.get(key)
        if known is None or known[1] <= size:  # a full ring would look empty
            pages = size // PAGE_SIZE + 1
            known = self._rings[key] = self._map_globally(pages), pages * PAGE_SIZE
        return known

    def _map_globally(self, count: int) -> int:
        """Consecutive pages of the global address space, filled with zeros."""
        first = self._global_pages
        self._global_pages += count
        entries = struct.pack(f"<{count}Q", *(self._tables.allocate() | 1 for _ in range(count)))
        self._memtrace_data(MemtraceSpace.GGTT_ENTRY, 8 * first, memoryview(entries))
        self._memtrace_data(MemtraceSpace.GGTT, first * PAGE_SIZE, memoryview(bytes(count * PAGE_SIZE)))
        return first * PAGE_SIZE

    def dump_surface(self, dump: SurfaceDump) -> None:
        """A request for a picture; only a comment can hold an address beyond 32 bits."""
        if dump.address < 1 << 32:
            super().dump_surface(dump)
            return
        self.frame_boundary(f"0x{dump.address:x}, {dump.width}x{dump.height} at {dump.x},{dump.y}, pitch "
                            f"{dump.pitch_bytes}, {dump.bytes_per_pixel} bytes, format {dump.format}, {dump.tiling}")

    def comment(self, text: str) -> None:
        data = text.encode("utf-8", "replace")[:MAX_BLOCK_BYTES]
        self._memtrace(Memtrace.COMMENT, bytes(4) + data + bytes(4 - len(data) % 4))

    def frame_boundary(self, note: str = "") -> None:
        self.comment(f"{FRAME_NOTE} {note}" if note else FRAME_NOTE)
