"""i915 error states: the kernel's report of a GPU hang, in every variant that a Gen4 machine gives.

One pass over the text; buffers are handed on as they are decoded, only rings are kept, to be unwrapped at the end.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from gen4emu.trace import ascii85, driver_block, error_lines
from gen4emu.trace.compression import CHUNK_BYTES
from gen4emu.trace.devices import DeviceCheck
from gen4emu.trace.driver_block import printable
from gen4emu.trace.error_lines import Title
from gen4emu.trace.error_ring import Ring, submission
from gen4emu.trace.events import Comment, Engine, ErrorState, Event, MemoryWrite, Warning
from gen4emu.trace.ring import MAX_RING_BYTES
from gen4emu.trace.source import Source

_LINE_BYTES = 64 << 10
_RUN_DWORDS = 16384
_ADDRESS_LIMIT = 1 << 48
_MAX_FIELDS, _MAX_TEXT, _MAX_REGISTERS, _MAX_BUFFERS, _MAX_SECTIONS = 1024, 512, 4096, 65536, 65536
_STARTS = ("GPU HANG", "Kernel", "Time", "PCI ID")  # each comes once in a state: a second one is the next state's
_COMPRESSED, _PLAIN = b":", b"~"

_ENGINES = {engine.value: engine for engine in Engine}
_Value = TypeVar("_Value", int, str)
Events = Iterator[Event]


@dataclass(slots=True)
class _Section:
    title: Title
    offset: int
    end: int = 0  # bytes of it that were delivered
    run_at: int = 0
    run: list[int] = field(default_factory=list)  # dwords that were read but not delivered


@dataclass(slots=True)
class _State:
    """What is known of one error state."""

    offset: int
    pci_id: int | None = None
    pci_offset: int = 0
    process: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    registers: dict[str, int] = field(default_factory=dict)
    buffers: list[tuple[str, int, int]] = field(default_factory=list)
    said: tuple[int, int, int] = (-1, 0, 0)  # how many of those were in an event
    rings: dict[str, Ring] = field(default_factory=dict)
    batches: dict[str, list[tuple[int, int]]] = field(default_factory=dict)  # engine: address, size


class ErrorStateReader:
    """Reads a file of one or more error states."""

    def __init__(self, source: Source, check: DeviceCheck) -> None:
        self._source = source
        self._check = check
        self._state = _State(0)
        self._section: _Section | None = None
        self._engine = Engine.RENDER.value
        self._table = ""
        self._driver: driver_block.DriverBlock | None = None

    def events(self) -> Events:
        source = self._source
        while True:
            offset = source.position
            line = source.line(_LINE_BYTES)
            if not line:
                break
            yield from self._line(offset, error_lines.strip(line), line.endswith(b"\n"))
        yield from self._finish()

    def _line(self, offset: int, line: bytes, complete: bool) -> Events:
        section = self._section
        if line[:1] in (_COMPRESSED, _PLAIN) and len(line) > 1:
            yield from self._encoded(offset, section, line, complete)
            return
        if section is not None:
            found = error_lines.dwords(line)
            if found is not None:
                yield from self._dwords(offset, section, *found)
                return
            explained = error_lines.explained_dword(line)
            if explained is not None:
                if explained[0] >= section.title.address:
                    yield from self._dwords(offset, section, explained[0] - section.title.address, [explained[1]])
                return
        text = printable(line)
        title = error_lines.title(text)
        if title is not None:
            yield from self._begin_section(offset, title)
        elif "---" in text:  # a count of requests or waiters, whose rows are of no use here
            yield from self._end_section()
        else:
            yield from self._words(offset, text)

    def _words(self, offset: int, text: str) -> Events:
        """A line of the report that is not part of a dump."""
        engine = error_lines.engine_title(text)
        if engine is not None:
            yield from self._end_section()
            self._engine, self._table = engine, ""
            return
        table = error_lines.table_title(text)
        if table is not None:
            yield from self._end_section()
            self._table = table
            return
        state = self._state
        fence = error_lines.fence(text)
        if fence is not None:
            _put(state.registers, *fence, _MAX_REGISTERS)
            return
        if text[:1].isspace():
            self._indented(text)
            return
        named = error_lines.field(text)
        if named is not None:
            self._table = ""
            yield from self._named(offset, *named)

    def _indented(self, text: str) -> None:
        state = self._state
        if self._table:
            row = error_lines.table_row(text)
            if row is not None and len(state.buffers) < _MAX_BUFFERS:
                state.buffers.append((self._table, *row))
            return
        if self._section is not None:
            return
        named = error_lines.register(text)
        if named is None:
            return
        name, value = named
        numbers = error_lines.values(name, value)
        for key, number in numbers.items():
            _put(state.registers, f"{self._engine}.{key}", number, _MAX_REGISTERS)
        if not numbers and value:
            _put(state.fields, f"{self._engine}.{name}", value[:_MAX_TEXT], _MAX_FIELDS)

    def _named(self, offset: int, name: str, value: str) -> Events:
        if name in _STARTS and name in self._state.fields:
            yield from self._finish()
            self._state = _State(offset)
            self._engine = Engine.RENDER.value
        state = self._state
        number = error_lines.values(name, value).get(name)
        if number is not None and name.isupper() and " " not in name:
            _put(state.registers, name, number, _MAX_REGISTERS)
            return
        _put(state.fields, name, value[:_MAX_TEXT], _MAX_FIELDS)
        if name.startswith("Active process") and not state.process:
            state.process = value.rpartition(" [")[0] or value
        elif name == "GPU HANG" and not state.process:
            state.process = error_lines.process(value)
        elif name == "PCI ID" and number is not None:
            state.pci_id, state.pci_offset = number, offset
            if state.said[0] >= 0:
                yield self._check.header(offset, state.pci_id, state.process, "i915 error state")

    # --- sections ----------------------------------------------------------------------------------------------------
    def _begin_section(self, offset: int, title: Title) -> Events:
        yield from self._end_section()
        if not self._state.process:
            self._state.process = title.process
        yield from self._announce()
        self._section = _Section(title, offset)

    def _end_section(self) -> Events:
        section, self._section = self._section, None
        if section is None:
            return
        yield from self._flush(section)
        title, state = section.title, self._state
        if title.kind == "batch" and section.end:
            batches = state.batches.setdefault(title.engine, [])
            if len(batches) < _MAX_SECTIONS:
                batches.append((title.address, section.end))

    def _dwords(self, offset: int, section: _Section, at: int, words: list[int]) -> Events:
        if section.run and (at != section.run_at + 4 * len(section.run) or len(section.run) >= _RUN_DWORDS):
            yield from self._flush(section)
        if not section.run:
            section.run_at, section.offset = at, offset
        section.run += words

    def _flush(self, section: _Section) -> Events:
        if section.run:
            data = struct.pack(f"<{len(section.run)}I", *section.run)
            section.run = []
            yield from self._write(section, section.run_at, data)

    def _encoded(self, offset: int, section: _Section | None, line: bytes, complete: bool) -> Events:
        """One line of ascii85, however long."""
        if section is None:
            yield Warning(offset, "buffer contents without a title: skipped")
            return
        section.offset = offset
        text, inflate = ascii85.Decoder(), zlib.decompressobj() if line[:1] == _COMPRESSED else None
        at = 0
        piece: bytes = line[1:]
        try:
            while True:
                for data in _inflated(inflate, text.feed(piece)):
                    yield from self._write(section, at, data)
                    at += len(data)
                if complete:
                    break
                piece = self._source.line(_LINE_BYTES)
                complete = piece.endswith(b"\n") or not piece
            if inflate is not None and not inflate.eof:
                yield Warning(offset, f"{_name(section)}: the compressed data end early, after {at} bytes", damage=True)
            elif inflate is None:
                text.finish()
        except (ascii85.Ascii85Error, zlib.error) as e:
            yield Warning(offset, f"{_name(section)}: broken after {at} bytes: {e}", damage=True)
            while not complete:
                rest = self._source.line(_LINE_BYTES)
                complete = rest.endswith(b"\n") or not rest
        if at % 4:
            yield Warning(offset, f"{_name(section)}: {at} bytes are not whole dwords")

    def _write(self, section: _Section, at: int, data: bytes) -> Events:
        """Deliver bytes of a section, and keep them if they are a ring's."""
        title = section.title
        if title.address + at + len(data) > _ADDRESS_LIMIT:
            yield Warning(section.offset, f"{_name(section)}: goes beyond the address space: skipped")
            return
        section.end = max(section.end, at + len(data))
        if title.kind == "ring":
            ring = self._state.rings.setdefault(title.engine, Ring(title.address))
            if title.address == ring.address and at + len(data) <= MAX_RING_BYTES:
                ring.put(at, data)
        yield MemoryWrite(section.offset, title.address + at, data, kind=title.kind)
        if at == 0 and (found := driver_block.find(title.address, data)) and found != self._driver:
            self._driver = found
            yield Comment(section.offset, str(found))

    # --- a whole state -----------------------------------------------------------------------------------------------
    def _announce(self) -> Events:
        """Header and registers, or what came to them since."""
        state = self._state
        fields, registers, buffers = state.said
        if fields < 0:
            yield self._check.header(state.pci_offset if state.pci_id is not None else state.offset, state.pci_id,
                                     state.process, "i915 error state")
            fields = 0
        known = (len(state.fields), len(state.registers), len(state.buffers))
        if known != state.said:
            state.said = known
            yield ErrorState(state.offset, dict(list(state.fields.items())[fields:]),
                             dict(list(state.registers.items())[registers:]), tuple(state.buffers[buffers:]))

    def _finish(self) -> Events:
        """The end of a state: what its rings were running."""
        yield from self._end_section()
        self._table = ""
        yield from self._announce()
        state = self._state
        engines = dict.fromkeys([*state.rings, *state.batches])
        for name in engines:
            if name not in _ENGINES:
                yield Warning(state.offset, f"engine {name} does not exist on these devices: its ring is not followed")
                continue
            registers = {key.removeprefix(f"{name}."): value for key, value in state.registers.items()
                         if key.startswith(f"{name}.")}
            if name == Engine.RENDER.value:  # pasted into a report, lines lose what they are indented by
                registers = {k: v for k, v in state.registers.items() if "." not in k} | registers
            yield from submission(state.offset, _ENGINES[name], registers, state.rings.get(name),
                                  state.batches.get(name, []))
        if not engines:
            yield Warning(state.offset, "the error state holds neither a ring nor a batch")


def _inflated(stream: zlib._Decompress | None, data: bytes) -> Iterator[bytes]:
    """Bounded pieces of what the data stand for.  Padding after the end of the stream is dropped."""
    if stream is None:
        if data:
            yield data
        return
    while not stream.eof:
        out = stream.decompress(data, CHUNK_BYTES)
        data = stream.unconsumed_tail
        if out:
            yield out
        if not data and len(out) < CHUNK_BYTES:
            return


def _name(section: _Section) -> str:
    return f"{section.title.kind} at 0x{section.title.address:08x}"


def _put(into: dict[str, _Value], key: str, value: _Value, limit: int) -> None:
    if key in into or len(into) < limit:
        into[key] = value
