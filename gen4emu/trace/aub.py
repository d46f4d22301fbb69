"""Reads AUB files: legacy blocks and memtrace packets, in any mixture.

One pass in bounded memory: data are passed on as they arrive, and sizes from headers are never allocated.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from enum import IntEnum
from functools import lru_cache

from gen4emu.errors import TraceError
from gen4emu.trace import driver_block
from gen4emu.trace.devices import DeviceCheck
from gen4emu.trace.driver_block import printable
from gen4emu.trace.events import (
    Comment,
    Engine,
    Event,
    FrameBoundary,
    GttWrite,
    Header,
    MemoryWrite,
    RegisterWrite,
    Space,
    Submission,
    SurfaceDump,
    Warning,
)
from gen4emu.trace.ring import MAX_RING_BYTES, RingContexts, Rings, Shadow, ring_contexts
from gen4emu.trace.source import Source

# --- numbers of AUB packets -------------------------------------------------------------------------------------------
PACKET_CLIENT = 7  # bits 31:29 of every packet header
OPCODE_LEGACY = 0x01
OPCODE_MEMTRACE = 0x2E
MAX_BLOCK_BYTES = 32 << 10  # of data in one written block
FRAME_NOTE = "frame boundary:"  # starts the comments with which AubWriter marks a frame without a surface dump


class Legacy(IntEnum):
    """Sub-opcodes of legacy packets."""

    HEADER = 0x05
    BMP = 0x1E  # written as 0x9E: bit 7 coincides with a bit of the opcode that is set anyway
    BLOCK = 0x41


class Memtrace(IntEnum):
    """Sub-opcodes of memtrace packets."""

    VERSION = 0x00
    REG_CMP = 0x01
    REG_POLL = 0x02
    REG_WRITE = 0x03
    MEM_CMP = 0x04
    MEM_POLL = 0x05
    MEM_WRITE = 0x06
    FRAME_BEGIN = 0x07
    COMMENT = 0x08
    TRACE_DELAY = 0x09
    MEM_DUMP = 0x0A
    MEM_WRITE_DISCONT = 0x0B
    TEST_PHASE_MARKER = 0x0C
    MEM_CONT_REGION = 0x0D
    VERSION_EXT = 0x0E
    PREDICATE = 0x0F
    DUMP_COMPRESS = 0x10


class Operation(IntEnum):
    """Operations of legacy blocks."""

    COMMENT = 0
    DATA_WRITE = 1
    COMMAND_WRITE = 2
    MMIO_WRITE = 3


class LegacySpace(IntEnum):
    """Address spaces of legacy blocks."""

    GTT = 0
    LOCAL = 1
    NONLOCAL = 2
    PCI = 3
    GTT_ENTRY = 4


class MemtraceSpace(IntEnum):
    """Address spaces of memtrace memory packets."""

    GGTT = 0
    LOCAL = 1
    PHYSICAL = 2
    GGTT_ENTRY = 4


ENGINE_OF_RING = {2: Engine.RENDER, 3: Engine.BSD, 4: Engine.BLT}  # types of command writes: PRB0, PRB1, PRB2
RING_OF_ENGINE = {engine: ring for ring, engine in ENGINE_OF_RING.items()} | {Engine.VEBOX: 3}
VEBOX_NOTE = "engine: vebox"  # a comment before command writes of this engine, which has no type of its own

# (type, subtype) of data writes, and `MemoryWrite.kind`.  Subtype 0 stands for unlisted ones.
KINDS: dict[tuple[int, int], str] = {
    (0, 0): "",
    (1, 0): "batch",
    (5, 0): "vertex_buffer",
    (6, 0): "map_2d",
    (7, 0): "map_cube",
    (9, 0): "map_volume",
    (10, 0): "map_1d",
    (11, 0): "vs_constants",
    (11, 1): "wm_constants",
    (12, 0): "constant_urb",
    (13, 0): "index_buffer",
    (14, 0): "general",
    (14, 0x01): "vs_state",
    (14, 0x02): "gs_state",
    (14, 0x03): "clip_state",
    (14, 0x04): "sf_state",
    (14, 0x05): "wm_state",
    (14, 0x06): "cc_state",
    (14, 0x07): "clip_viewport",
    (14, 0x08): "sf_viewport",
    (14, 0x09): "cc_viewport",
    (14, 0x0A): "sampler",
    (14, 0x0B): "kernel",
    (14, 0x0C): "scratch",
    (14, 0x0D): "default_color",
    (14, 0x15): "scissor",
    (14, 0x16): "blend_state",
    (14, 0x17): "depth_stencil",
    (15, 0): "surface",
    (15, 0x100): "binding_table",
    (15, 0x200): "surface_state",
}
TYPE_OF_KIND = {kind: number for number, kind in KINDS.items()}


@lru_cache(256)
def kind_name(type_number: int, subtype: int) -> str:
    """`MemoryWrite.kind` of a block: the name of its subtype, else of its type, else empty."""
    return KINDS.get((type_number, subtype)) or KINDS.get((type_number, 0), "")


def legacy_header(sub_opcode: int, dwords: int) -> int:
    return PACKET_CLIENT << 29 | OPCODE_LEGACY << 23 | sub_opcode << 16 | (dwords - 2)


def memtrace_header(sub_opcode: int, dwords: int) -> int:
    return PACKET_CLIENT << 29 | OPCODE_MEMTRACE << 23 | sub_opcode << 16 | (dwords - 1)


# --- reader -----------------------------------------------------------------------------------------------------------
_MAX_TEXT = 64 << 10  # bytes of a comment; the rest is skipped
_MAX_KINDS = 64  # kinds of skipped packets that are counted separately
_PCI_ID = re.compile(r"PCI-ID=\s*(0[xX][0-9a-fA-F]+|\d+)\s*")
_RECORD = struct.Struct("<QI")
_DISCONT_RECORDS = 63

Events = Iterator[Event]


class _Truncated(Exception):
    """The file ends inside a packet."""


class _Malformed(TraceError):
    """An invalid packet: nothing after it can be read."""


class AubReader:
    """Reads one AUB file from a source."""

    def __init__(self, source: Source, check: DeviceCheck) -> None:
        self._source = source
        self._check = check
        self._shadow = Shadow()
        self._rings = Rings(self._shadow)
        self._skipped: dict[str, int] = {}
        self._contexts: RingContexts | None = None
        self._is_vebox = False  # the next command write
        self._driver: driver_block.DriverBlock | None = None
        self._legacy: dict[int, Callable[[int, int], Events]] = {
            Legacy.HEADER: self._header, Legacy.BLOCK: self._block, Legacy.BMP: self._bmp,
        }
        self._memtrace: dict[int, Callable[[int, int], Events]] = {
            Memtrace.VERSION_EXT: self._version, Memtrace.REG_WRITE: self._register,
            Memtrace.MEM_WRITE: self._memory, Memtrace.MEM_WRITE_DISCONT: self._scattered,
            Memtrace.FRAME_BEGIN: self._frame, Memtrace.COMMENT: self._memtrace_comment,
        }

    def events(self) -> Events:
        """All events up to the end of the file, to a tail of zeros, or to the first invalid packet."""
        source = self._source
        while True:
            start = source.position
            word = source.take(4)
            header = int.from_bytes(word, "little")
            if len(word) < 4 or not header:
                if any(word):
                    yield Warning(start, "the file ends inside the header of a packet", damage=True)
                break
            try:
                yield from self._packet(start, header)
            except _Truncated as e:
                yield Warning(start, f"the file ends inside {e}", damage=True)
                break
            except _Malformed as e:
                if not start:
                    raise
                yield Warning(start, f"{e.what}: the rest of the file cannot be read", damage=True)
                break
        for what, count in self._skipped.items():
            if count > 1:
                yield Warning(source.position, f"{what}: skipped {count} times in all")

    def _packet(self, start: int, header: int) -> Events:
        opcode, sub_opcode, length = header >> 23 & 0x3F, header >> 16 & 0x7F, header & 0xFFFF
        if header >> 29 != PACKET_CLIENT or opcode not in (OPCODE_LEGACY, OPCODE_MEMTRACE):
            raise self._error(start, f"0x{header:08x} is not the header of an AUB packet")
        if opcode == OPCODE_LEGACY:
            body, handler, name = 4 * (length + 1), self._legacy.get(sub_opcode), f"legacy packet 0x{sub_opcode:02x}"
        else:
            body, handler, name = 4 * length, self._memtrace.get(sub_opcode), f"memtrace packet 0x{sub_opcode:02x}"
            if handler is None and sub_opcode in Memtrace._value2member_map_:
                name = f"memtrace packet {Memtrace(sub_opcode).name}"
        if handler is None:
            yield from self._skip_kind(start, name)
            self._skip(body, name)
        else:
            yield from handler(start, body)

    # --- legacy -------------------------------------------------------------------------------------------------------
    def _header(self, start: int, body: int) -> Events:
        words = self._take(body, "the header packet: no header", least=48, start=start)
        application = printable(bytes(words[4:36]).split(b"\0")[0])
        size = int.from_bytes(words[44:48], "little")
        comment = printable(bytes(words[48:48 + size]).split(b"\0")[0])
        yield self._named(self._check.header(start, _pci_id(comment), application, comment))

    def _named(self, header: Header) -> Header:
        self._contexts = ring_contexts(header.pci_id)
        return header

    def _in_context(self, submission: Submission) -> Submission:
        if self._contexts is None:
            return submission
        return replace(submission, context=self._contexts.number(submission.engine, submission.ring))

    def _block(self, start: int, body: int) -> Events:
        words = self._take(body, "a block's header", least=16, start=start)
        what, subtype, address, size = struct.unpack_from("<4I", words)
        limit = 1 << 32
        if len(words) >= 20:  # Gen8 and later
            address |= int.from_bytes(words[16:20], "little") << 32
            limit = 1 << 48
        operation, type_number, space = what & 0xFF, what >> 8 & 0xFF, what >> 16 & 0xFF
        padding = -size % 4
        if operation == Operation.DATA_WRITE and space == LegacySpace.GTT:
            self._within(start, address, size, limit)
            yield from self._data(start, address, size, Space.GRAPHICS, kind_name(type_number, subtype))
        elif operation == Operation.DATA_WRITE and space in (LegacySpace.GTT_ENTRY, LegacySpace.NONLOCAL):
            # old versions of libdrm write the page table as nonlocal memory
            yield from self._entries(start, address, size, 4)
        elif operation == Operation.COMMAND_WRITE and type_number in ENGINE_OF_RING:
            self._within(start, address, size, limit)
            if size > MAX_RING_BYTES:
                raise self._error(start, f"ring block: size {size} is more than a ring can hold ({MAX_RING_BYTES})")
            ring = bytes(self._take(size, "a ring block"))
            engine = Engine.VEBOX if self._is_vebox else ENGINE_OF_RING[type_number]
            self._is_vebox = False
            yield self._in_context(Submission(start, engine, ring, address))
        elif operation == Operation.MMIO_WRITE:
            self._within(start, address, size, 1 << 32)
            yield from self._registers(start, address, size)
        elif operation == Operation.COMMENT:
            yield from self._comment(start, size)
        else:
            name = f"legacy block of operation {operation}, type {type_number}, space {space}"
            yield from self._skip_kind(start, name)
            self._skip(size, name)
        if padding:
            self._skip(padding, "a block's padding")

    def _bmp(self, start: int, body: int) -> Events:
        words = self._take(body, "a surface dump", least=20, start=start)
        corner, layout, size, address, tiling = struct.unpack_from("<5I", words)
        yield SurfaceDump(
            start, address, x=corner & 0xFFFF, y=corner >> 16, width=size & 0xFFFF, height=size >> 16,
            bytes_per_pixel=layout >> 19 & 0x1F, pitch_bytes=(layout & 0x7FFFF) * 4, format=layout >> 24,
            tiling="linear" if not tiling & 4 else "y" if tiling & 8 else "x")

    def _registers(self, start: int, first: int, size: int) -> Events:
        for at in range(0, size & ~3, 4):
            value = int.from_bytes(self._take(4, "a register block"), "little")
            yield from self._register_event(RegisterWrite(start, first + at, value))
        self._skip(size & 3, "a register block")

    # --- memtrace -----------------------------------------------------------------------------------------------------
    def _version(self, start: int, body: int) -> Events:
        words = self._take(body, "the version packet: no header", least=16, start=start)
        text = printable(bytes(words[16:]).split(b"\0")[0])  # without a NUL if the name fills the last dword
        yield self._named(self._check.header(start, _pci_id(text), _PCI_ID.sub("", text).strip(), text))

    def _register(self, start: int, body: int) -> Events:
        words = self._take(body, "a register write", least=20, start=start)
        register, how = struct.unpack_from("<2I", words)
        if how >> 28:
            yield from self._skip_kind(start, f"register write to space {how >> 28}")
            return
        values = words[16:24]  # a qword is two
        self._within(start, register, len(values), 1 << 32)
        for at in range(0, len(values), 4):
            value = int.from_bytes(values[at:at + 4], "little")
            yield from self._register_event(RegisterWrite(start, register + at, value))

    def _memory(self, start: int, body: int) -> Events:
        words = self._take(min(body, 16), "a memory write", least=16, start=start)
        address, how, size = struct.unpack_from("<QII", words)
        if size > body - 16:
            raise self._error(start, f"memory write: size {size} is more than its packet holds ({body - 16})")
        yield from self._memtrace_data(start, how >> 28, address, size)
        self._skip(body - 16 - size, "a memory write")

    def _scattered(self, start: int, body: int) -> Events:
        table_bytes = 4 + _DISCONT_RECORDS * _RECORD.size
        table = self._take(min(body, table_bytes), "a scattered write", least=table_bytes, start=start)
        space = int.from_bytes(table[:4], "little") >> 28
        left = body - table_bytes
        for address, size in _RECORD.iter_unpack(table[4:]):
            left -= size + -size % 4
            if left < 0:
                raise self._error(start, f"scattered write: its sizes are {-left} bytes more than its packet holds")
            yield from self._memtrace_data(start, space, address, size)
            self._skip(-size % 4, "a scattered write")
        self._skip(left, "a scattered write")

    def _memtrace_data(self, start: int, space: int, address: int, size: int) -> Events:
        if space in (MemtraceSpace.GGTT, MemtraceSpace.LOCAL):
            self._within(start, address, size, 1 << 48)
            yield from self._data(start, address, size, Space.GRAPHICS, "", self._shadow.write_graphics)
        elif space == MemtraceSpace.PHYSICAL:
            self._within(start, address, size, 1 << 52)
            yield from self._data(start, address, size, Space.PHYSICAL, "", self._shadow.write_physical)
        elif space == MemtraceSpace.GGTT_ENTRY:
            yield from self._entries(start, address, size, 8)
        else:
            name = f"memory write to space {space}"
            yield from self._skip_kind(start, name)
            self._skip(size, name)

    def _frame(self, start: int, body: int) -> Events:
        self._skip(body, "a frame marker")
        yield FrameBoundary(start)

    def _memtrace_comment(self, start: int, body: int) -> Events:
        self._skip(min(body, 4), "a comment")
        yield from self._comment(start, max(body - 4, 0))

    # --- shared -------------------------------------------------------------------------------------------------------
    def _data(self, start: int, address: int, size: int, space: Space, kind: str,
              shadow: Callable[[int, memoryview], None] | None = None) -> Events:
        left = size
        for piece in self._source.pieces(size):
            if shadow is not None:
                shadow(address, piece)
            yield MemoryWrite(start, address, piece, space, kind)
            if left == size and (found := driver_block.find(address, piece)) and found != self._driver:
                self._driver = found
                yield Comment(start, str(found))
            address += len(piece)
            left -= len(piece)
        if left:
            raise _Truncated(f"a write of {size} bytes, {left} of which are missing")

    def _entries(self, start: int, address: int, size: int, entry_bytes: int) -> Events:
        if address % entry_bytes or size % entry_bytes:
            raise self._error(start, f"page table: address 0x{address:x} and size {size} are not whole entries "
                                     f"of {entry_bytes} bytes")
        self._within(start, address, size, entry_bytes << 32)
        first = address // entry_bytes
        while size:
            piece = self._source.take(min(size, 64 << 10))
            entries = tuple(piece[:len(piece) // entry_bytes * entry_bytes].cast("I" if entry_bytes == 4 else "Q"))
            if entry_bytes == 8:
                self._shadow.map(first, entries, entry_bytes)
            if entries:
                yield GttWrite(start, first, entries, entry_bytes)
            if len(piece) < min(size, 64 << 10):
                raise _Truncated("a page table")
            first += len(entries)
            size -= len(piece)

    def _register_event(self, event: RegisterWrite) -> Events:
        yield event
        for started in self._rings.write(event):
            yield self._in_context(started) if isinstance(started, Submission) else started

    def _comment(self, start: int, size: int) -> Events:
        text = printable(bytes(self._take(min(size, _MAX_TEXT), "a comment")).split(b"\0")[0])
        self._skip(size - min(size, _MAX_TEXT), "a comment")
        if text == VEBOX_NOTE:
            self._is_vebox = True
        elif text.startswith(FRAME_NOTE):
            yield FrameBoundary(start, text.removeprefix(FRAME_NOTE).strip())
        else:
            yield Comment(start, text)

    def _skip_kind(self, start: int, what: str) -> Events:
        """Warn about the first skipped packet of a kind; count the others."""
        if what not in self._skipped and len(self._skipped) >= _MAX_KINDS:
            what = "packets of other kinds"
        self._skipped[what] = self._skipped.get(what, 0) + 1
        if self._skipped[what] == 1:
            yield Warning(start, f"{what}: skipped")

    def _take(self, size: int, what: str, *, least: int = 0, start: int = 0) -> memoryview:
        if size < least:
            raise self._error(start, f"packet of {size // 4 + 1} dwords: {what} needs {least // 4 + 1}")
        data = self._source.take(size)
        if len(data) < size:
            raise _Truncated(what)
        return data

    def _skip(self, size: int, what: str) -> None:
        if self._source.skip(size) < size:
            raise _Truncated(what)

    def _within(self, start: int, address: int, size: int, limit: int) -> None:
        if address + size > limit:
            raise self._error(start, f"block at 0x{address:08x}: size {size} goes beyond the address space")

    def _error(self, offset: int, what: str) -> TraceError:
        return _Malformed(self._source.name, offset, what)


def _pci_id(text: str) -> int | None:
    found = _PCI_ID.search(text)
    if found is None:
        return None
    digits = found[1]
    if digits[:2].lower() == "0x":
        return int(digits[2:10], 16)
    return int(digits[:10], 8 if digits.startswith("0") and set(digits) <= set("01234567") else 10)
