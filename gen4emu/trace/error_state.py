"""Reads i915 error states: the kernel's reports of GPU hangs, as every kernel since 2.6.30 prints them.

One pass over the text.  Buffers are passed on as they are decoded; only rings are kept, and unwrapped at the end.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from gen4emu.hw.chips import BY_PCI_ID, Device
from gen4emu.hw.gen import Gen
from gen4emu.trace import ascii85, driver_block
from gen4emu.trace.devices import DeviceCheck
from gen4emu.trace.driver_block import printable
from gen4emu.trace.events import (
    Comment,
    Engine,
    ErrorState,
    Event,
    MemoryWrite,
    Space,
    Submission,
    Warning,
    from_canonical,
)
from gen4emu.trace.ring import (
    MAX_RING_BYTES,
    RingPosition,
    command_is_in_ring,
    head_offset,
    ring_enabled,
    ring_size,
    spare_ring_address,
    start_batch,
    starts_batch,
    tail_offset,
)
from gen4emu.trace.source import CHUNK_BYTES, Source

# --- lines ------------------------------------------------------------------------------------------------------------
_DMESG = re.compile(rb"(?:<\d+>)?(?:[A-Z][a-z]{2} [ \d]\d [\d:]{8} \S+ (?:kernel: )?)?\[[ \d]{1,12}\.\d{1,9}\] ?")
_TITLE_END = re.compile(r" = 0x([0-9a-fA-F]{1,8})(?:[ _]([0-9a-fA-F]{8}))?\s*$")
_ENGINE_TITLE = re.compile(r"(\w[\w ()]*?) command stream:")
_TABLE_TITLE = re.compile(r"((?:Active|Pinned)\b[^\[]*?) ?\[\s*\d+\]:")
_TABLE_ROW = re.compile(r"\s+(?:0x)?([0-9a-fA-F]{8})(?:[_ ]([0-9a-fA-F]{8})(?=\s+\d))?\s+(\d+)\b")
_DWORD = re.compile(rb"\s*([0-9a-fA-F]{8}) ?: {0,2}([0-9a-fA-F]{8})\s*$")
_FOUR_DWORDS = re.compile(rb"\s*\[([0-9a-fA-F]{4,8})\] ((?:[0-9a-fA-F]{8} ){0,3}[0-9a-fA-F]{8})\s*$")
# The output of intel_error_decode: titles and dwords with their addresses, each with an explanation.
_EXPLAINED_TITLE = re.compile(r"(batchbuffer|ringbuffer|batch|ring)(?: \((.+?)\))? at 0x([0-9a-fA-F]{8})"
                              r"(?:_([0-9a-fA-F]{8}))?(?:; HEAD points to: 0x[0-9a-fA-F_]{8,17})?:?\s*$")
_EXPLAINED_DWORD = re.compile(rb"0x(?:0{8}_)?([0-9a-fA-F]{8}):\s+(?:HEAD|TAIL)?\s*0x([0-9a-fA-F]{8}): ")
_FENCE = re.compile(r"\s*fence\[\s*(\d{1,2})\] = ([0-9a-fA-F]{1,16})\b")
_FIELD = re.compile(r"([A-Za-z][^:]{0,79}?)\s*: ?(.*)$")
_REGISTER = re.compile(r"\s+([A-Za-z][\w>\[\] -]{0,39}?)\s*: *(.*)$")
_VALUE = re.compile(r"0x([0-9a-fA-F]{1,16})(?:[ _]([0-9a-fA-F]{8})\b)?"
                    r"(?: \[0x([0-9a-fA-F]{1,8})(?:, 0x([0-9a-fA-F]{1,8}))?\])?")
_SECOND = re.compile(r"0x[0-9a-fA-F]{1,8} 0x([0-9a-fA-F]{1,8})$")
_RANGE = re.compile(r"\[0x([0-9a-fA-F]{8})_([0-9a-fA-F]{8}), 0x([0-9a-fA-F]{8})_([0-9a-fA-F]{8})\]")
_PROCESS = re.compile(r"(?:submitted by|\bin) (.{1,64}?) ?\[\d+\]")

_ENGINES = {"rcs": Engine.RENDER, "render": Engine.RENDER, "vcs": Engine.BSD, "bsd": Engine.BSD, "video": Engine.BSD,
            "bcs": Engine.BLT, "blt": Engine.BLT, "blitter": Engine.BLT, "vecs": Engine.VEBOX, "vebox": Engine.VEBOX,
            "video enhancement": Engine.VEBOX}
_ENGINE = re.compile(r"(?:gen\d+ )?(video enhancement|[a-z]*)(\d*)")
_FIRST_INSTANCE = {"bsd": 1}  # of engines that are not numbered from 0: "bsd2 ring" is the second one
# Sections that lie in the global address space on chips whose programs have their own.
_GLOBAL_KINDS = frozenset({"ring", "hw_context", "hw_status", "wa_context", "wa_batch", "null_context", "semaphores",
                           "guc_log"})

# Kind of a section by the start of its title; the longest match counts.
_KINDS = {
    "gtt_offset": "batch", "batch": "batch", "batch buffer": "batch", "ringbuffer": "ring", "ring": "ring",
    "hw context": "hw_context", "hw status": "hw_status", "wa context": "wa_context", "wa batchbuffer": "wa_batch",
    "null context": "null_context", "user": "user", "semaphore": "semaphores", "guc log buffer": "guc_log",
}


@dataclass(slots=True, frozen=True)
class Title:
    """The title line of a memory dump."""

    engine: str  # value of an Engine, or the kernel's name of another engine
    kind: str
    address: int
    process: str


def _address(first: str, second: str | None) -> int:
    """An address of one word, or of two, the high one first."""
    return int(first, 16) if second is None else from_canonical(int(first, 16) << 32 | int(second, 16))


def strip_log_prefix(line: bytes) -> bytes:
    """A line without its end and without the prefix of a kernel log."""
    line = line.rstrip(b"\r\n")
    prefix = _DMESG.match(line)
    return line if prefix is None else line[prefix.end():]


def engine_name(text: str) -> str:
    """The value of the Engine that `rcs0`, `render ring` or `Video (BSD)` means, with the number of a further one.

    Other names are unchanged.
    """
    found = _ENGINE.match(text.strip().lower())
    name, digits = ("", "") if found is None else found.groups()
    if name not in _ENGINES:
        return name or Engine.RENDER.value
    instance = int(digits[:2]) - _FIRST_INSTANCE.get(name, 0) if digits else 0
    return _ENGINES[name].value + (str(instance) if instance > 0 else "")


def parse_title(line: str) -> Title | None:
    found = _TITLE_END.search(line)
    who, _, what = line[:0 if found is None else found.start()].partition("--- ")
    if found is None or not what:
        return _explained_title(line)
    address = _address(*found.groups())
    kind = section_kind(what)
    if kind == "batch" and "(w/a)" in who:
        kind = "wa_batch"
    return Title(engine_name(who), kind, address, parse_process(who.removesuffix(" ")))


def _explained_title(line: str) -> Title | None:
    found = _EXPLAINED_TITLE.match(line)
    if found is None:
        return None
    what, who, first, second = found.groups()
    address = _address(first, second)
    return Title(engine_name(who or ""), "ring" if what.startswith("ring") else "batch", address, "")


def section_kind(what: str) -> str:
    fitting = [name for name in _KINDS if what.lower().startswith(name)]
    return _KINDS[max(fitting, key=len)] if fitting else "unknown"


def parse_process(text: str) -> str:
    """The program that a line names, or an empty string."""
    found = _PROCESS.search(text)
    return "" if found is None else found[1]


def parse_engine_title(line: str) -> str | None:
    found = _ENGINE_TITLE.match(line)
    return None if found is None else engine_name(found[1])


def parse_table_title(line: str) -> str | None:
    found = _TABLE_TITLE.match(line)
    return None if found is None else found[1]


def parse_table_row(line: str) -> tuple[int, int] | None:
    """Address and size of a buffer."""
    found = _TABLE_ROW.match(line)
    if found is None:
        return None
    first, second, size = found.groups()
    return _address(first, second), int(size[:12])


def parse_dwords(line: bytes) -> tuple[int, list[int]] | None:
    """The offset in the section, and one to four dwords."""
    found = _DWORD.match(line)
    if found is not None:
        return int(found[1], 16), [int(found[2], 16)]
    found = _FOUR_DWORDS.match(line)
    if found is not None:
        return int(found[1], 16), [int(word, 16) for word in found[2].split()]
    return None


def parse_explained_dword(line: bytes) -> tuple[int, int] | None:
    """Address and value."""
    found = _EXPLAINED_DWORD.match(line)
    return None if found is None else (int(found[1], 16), int(found[2], 16))


def parse_fence(line: str) -> tuple[str, int] | None:
    found = _FENCE.match(line)
    return None if found is None else (f"fence[{int(found[1])}]", int(found[2], 16))


def parse_field(line: str) -> tuple[str, str] | None:
    """`Key: value` at the start of a line."""
    found = _FIELD.match(line)
    return None if found is None else (found[1], found[2].strip())


def parse_register(line: str) -> tuple[str, str] | None:
    """`  NAME: value`."""
    found = _REGISTER.match(line)
    return None if found is None else (found[1], found[2].strip())


def parse_values(name: str, text: str) -> dict[str, int]:
    """The numbers of a register line, by name; empty if it has none."""
    found = _RANGE.match(text)
    if found is not None:
        first, low, last, last_low = found.groups()
        return {f"{name}_start": _address(first, low), f"{name}_end": _address(last, last_low)}
    found = _VALUE.match(text)
    if found is None:
        return {name: int(text)} if re.fullmatch(r"\d{1,10}", text) else {}
    first, low, third, fourth = found.groups()
    out = {name: _address(first, low)}
    if (second := _SECOND.match(text)) is not None:
        out[f"{name}_1"] = int(second[1], 16)
    if fourth is not None:
        out["request_post"], out["request_tail"] = int(third, 16), int(fourth, 16)
    elif third is not None:
        out["request_head"] = int(third, 16)
    return out


# --- rings ------------------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class Ring:
    """A ring's contents."""

    address: int
    data: bytearray = field(default_factory=bytearray)

    def put(self, at: int, data: bytes) -> None:
        if at > len(self.data):
            self.data.extend(bytes(at - len(self.data)))
        self.data[at:at + len(data)] = data


def _ring_submission(offset: int, engine: Engine, registers: Mapping[str, int], ring: Ring | None,
                     batches: Sequence[tuple[int, int]], is_wide: bool) -> Iterator[Submission | Warning]:
    """The submission that one engine was running; `is_wide` on chips with 48-bit addresses.

    Starts at the ring's head if the dump has the ring and its head, else at the batch.
    """
    size = _size(registers, ring)
    acthd = _acthd(registers, ring, size, batches)
    batch = _guilty(batches, acthd)
    hung = bool(registers.get("hung", 1))
    position = None if ring is None else _position(registers, ring, size)
    if ring is not None and position is not None and position.head != position.tail:
        spans = position.spans()
        contents = b"".join(ring.data[at:at + count] for at, count in spans)
        if len(contents) < sum(count for _, count in spans):
            yield Warning(offset, f"{engine.value} ring: the dump ends before the tail 0x{position.tail:x}")
        yield Submission(offset, engine, contents, ring.address + position.head, acthd, hung, batch, position.wrap)
    elif batch is not None:
        if batch >= 1 << 32 and not is_wide:
            yield Warning(offset, f"batch at 0x{batch:x}: above the 4 GiB that commands of this device can address")
            return
        yield Submission(offset, engine, start_batch(batch, is_wide), spare_ring_address(batch), acthd, hung, batch)
    elif ring is not None and position is None:
        yield Warning(offset, f"{engine.value} ring: the dump does not have its head: showing the whole ring")
        yield Submission(offset, engine, bytes(ring.data), ring.address, acthd, hung)


def _size(registers: Mapping[str, int], ring: Ring | None) -> int:
    """The length of the ring.  CTL of a disabled ring does not have it."""
    ctl = registers.get("CTL", 0)
    if ring_enabled(ctl):
        return ring_size(ctl)
    return MAX_RING_BYTES if ring is None else len(ring.data)


def _acthd(registers: Mapping[str, int], ring: Ring | None, size: int,
           batches: Sequence[tuple[int, int]]) -> int | None:
    """The address of the command that hung.  In dumps without START, ACTHD may be an offset in the ring.

    Without ACTHD, the command at the ring's head, or the MI_BATCH_BUFFER_START before it.
    """
    acthd = registers.get("ACTHD")
    if acthd is None:
        head = registers.get("HEAD")
        return None if head is None or ring is None else ring.address + _last_start(ring, size, head_offset(head))
    acthd &= ~3  # bit 0: the address is in a batch
    known = any(address <= acthd < address + length for address, length in batches)
    if ring is None or known or "START" in registers or ring.address <= acthd < ring.address + size:
        return acthd
    return ring.address + acthd if command_is_in_ring(acthd, None, size) else acthd


def _guilty(batches: Sequence[tuple[int, int]], acthd: int | None) -> int | None:
    """The address of the running batch: the one that contains ACTHD, else the first."""
    for address, size in batches:
        if acthd is not None and address <= acthd < address + size:
            return address
    return batches[0][0] if batches else None


def _position(registers: Mapping[str, int], ring: Ring, size: int) -> RingPosition | None:
    """Head and tail, if the dump has them.

    The start of the guilty request is the best head, then the driver's own; the HEAD register points beyond the
    MI_BATCH_BUFFER_START that was executed last.
    """
    tail = registers.get("TAIL", registers.get("ring->tail"))
    software = registers.get("request_head", registers.get("ring->head"))
    hardware = registers.get("HEAD")
    if tail is None or (software is None and hardware is None):
        return None
    head = head_offset(hardware or 0) if software is None else head_offset(software)
    if software is None:
        head = _last_start(ring, size, head)
    position = RingPosition(ring.address, size, head, tail_offset(tail))
    return position if max(position.head, position.tail) < size else None


def _last_start(ring: Ring, size: int, head: int) -> int:
    """The offset of an MI_BATCH_BUFFER_START directly before the head, else the head."""
    for length in (8, 12, 16):  # Gen8's has three dwords, and a MI_NOOP after it
        before = (head - length) % size if size else 0
        if starts_batch(int.from_bytes(ring.data[before:before + 4], "little")):
            return before
    return head


# --- reader -----------------------------------------------------------------------------------------------------------
_LINE_BYTES = 64 << 10
_RUN_DWORDS = 16384
_ADDRESS_LIMIT = 1 << 48
_MAX_FIELDS, _MAX_TEXT, _MAX_REGISTERS, _MAX_BUFFERS, _MAX_SECTIONS = 1024, 512, 4096, 65536, 65536
_MAX_RINGS = 32  # a line of text may make each as long as MAX_RING_BYTES
_STARTS = ("GPU HANG", "Kernel", "Time", "PCI ID")  # once in each state: a second one starts the next state
_COMPRESSED, _PLAIN = b":", b"~"

_ENGINE_OF_VALUE = {engine.value: engine for engine in Engine}
_DIGITS = "0123456789"
_Value = TypeVar("_Value", int, str)
Events = Iterator[Event]


@dataclass(slots=True)
class _Section:
    title: Title
    offset: int
    end: int = 0  # end of the bytes that have been delivered
    run_at: int = 0
    run: list[int] = field(default_factory=list)  # dwords read, but not delivered


@dataclass(slots=True)
class _State:
    """The contents of one error state."""

    offset: int
    pci_id: int | None = None
    pci_offset: int = 0
    process: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    registers: dict[str, int] = field(default_factory=dict)
    buffers: list[tuple[str, int, int]] = field(default_factory=list)
    announced: tuple[int, int, int] = (-1, 0, 0)  # numbers of fields, registers and buffers that events had
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
            yield from self._line(offset, strip_log_prefix(line), line.endswith(b"\n"))
        yield from self._finish()

    def _line(self, offset: int, line: bytes, complete: bool) -> Events:
        section = self._section
        if line[:1] in (_COMPRESSED, _PLAIN) and len(line) > 1:
            yield from self._encoded(offset, section, line, complete)
            return
        if section is not None:
            found = parse_dwords(line)
            if found is not None:
                yield from self._dwords(offset, section, *found)
                return
            explained = parse_explained_dword(line)
            if explained is not None:
                if explained[0] >= section.title.address:
                    yield from self._dwords(offset, section, explained[0] - section.title.address, [explained[1]])
                return
        text = printable(line)
        title = parse_title(text)
        if title is not None:
            yield from self._begin_section(offset, title)
        elif "---" in text:  # requests or waiters, whose rows are not needed
            yield from self._end_section()
        else:
            yield from self._words(offset, text)

    def _words(self, offset: int, text: str) -> Events:
        """Handle a line that is not part of a dump."""
        engine = parse_engine_title(text)
        if engine is not None:
            yield from self._end_section()
            self._engine, self._table = engine, ""
            return
        table = parse_table_title(text)
        if table is not None:
            yield from self._end_section()
            self._table = table
            return
        state = self._state
        fence = parse_fence(text)
        if fence is not None:
            _put(state.registers, *fence, _MAX_REGISTERS)
            return
        if text[:1].isspace():
            self._indented(text)
            return
        named = parse_field(text)
        if named is not None:
            self._table = ""
            yield from self._named(offset, *named)

    def _indented(self, text: str) -> None:
        state = self._state
        if self._table:
            row = parse_table_row(text)
            if row is not None and len(state.buffers) < _MAX_BUFFERS:
                state.buffers.append((self._table, *row))
            return
        if self._section is not None:
            return
        named = parse_register(text)
        if named is None:
            return
        name, value = named
        numbers = parse_values(name, value)
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
        numbers = parse_values(name, value)
        number = numbers.get(name)
        if number is not None and name.isupper() and " " not in name:
            for key, part in numbers.items():
                _put(state.registers, key, part, _MAX_REGISTERS)
            return
        _put(state.fields, name, value[:_MAX_TEXT], _MAX_FIELDS)
        if name.startswith("Active process") and not state.process:
            state.process = value.rpartition(" [")[0] or value
        elif name == "GPU HANG" and not state.process:
            state.process = parse_process(value)
        elif name == "PCI ID" and number is not None:
            state.pci_id, state.pci_offset = number, offset
            if state.announced[0] >= 0:
                yield self._check.header(offset, state.pci_id, state.process, "i915 error state")

    # --- sections -----------------------------------------------------------------------------------------------------
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
        """Handle one line of ascii85 of any length."""
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
        """Deliver bytes of a section; keep those of a ring."""
        title = section.title
        if title.address + at + len(data) > _ADDRESS_LIMIT:
            yield Warning(section.offset, f"{_name(section)}: goes beyond the address space: skipped")
            return
        if title.kind == "ring":
            yield from self._keep(section, at, data)
        section.end = max(section.end, at + len(data))
        is_global = self._is_wide() and (title.kind in _GLOBAL_KINDS or title.engine == "global")
        yield MemoryWrite(section.offset, title.address + at, data, Space.GLOBAL if is_global else Space.GRAPHICS,
                          title.kind)
        if at == 0 and (found := driver_block.find(title.address, data)) and found != self._driver:
            self._driver = found
            yield Comment(section.offset, str(found))

    def _keep(self, section: _Section, at: int, data: bytes) -> Events:
        """Keep bytes of a ring."""
        title, rings = section.title, self._state.rings
        if title.engine not in rings and len(rings) >= _MAX_RINGS:
            if not section.end:
                yield Warning(section.offset, f"{_name(section)}: more than {_MAX_RINGS} rings: it is not followed")
            return
        ring = rings.setdefault(title.engine, Ring(title.address))
        if title.address == ring.address and at + len(data) <= MAX_RING_BYTES:
            ring.put(at, data)

    def _chip(self) -> Device | None:
        return self._check.override or BY_PCI_ID.get(self._state.pci_id or 0)

    def _is_gen4(self) -> bool:
        chip = self._chip()
        return chip is None or bool(chip.gen & Gen.ALL4)

    def _is_wide(self) -> bool:
        """Whether programs have 48-bit address spaces of their own on the device of this state."""
        chip = self._chip()
        return chip is not None and chip.address_bits > 32

    # --- a whole state ------------------------------------------------------------------------------------------------
    def _announce(self) -> Events:
        """Deliver the header and the registers, or those that are new since the last call."""
        state = self._state
        fields, registers, buffers = state.announced
        if fields < 0:
            yield self._check.header(state.pci_offset if state.pci_id is not None else state.offset, state.pci_id,
                                     state.process, "i915 error state")
            fields = 0
        known = (len(state.fields), len(state.registers), len(state.buffers))
        if known != state.announced:
            state.announced = known
            yield ErrorState(state.offset, dict(list(state.fields.items())[fields:]),
                             dict(list(state.registers.items())[registers:]), tuple(state.buffers[buffers:]))

    def _finish(self) -> Events:
        """At the end of a state: deliver the submissions that its rings were running."""
        yield from self._end_section()
        self._table = ""
        yield from self._announce()
        state = self._state
        engines = dict.fromkeys([*state.rings, *state.batches])
        for name in engines:
            engine = _ENGINE_OF_VALUE.get(name.rstrip(_DIGITS))
            if engine is None or (engine is Engine.VEBOX and self._is_gen4()):
                yield Warning(state.offset, f"engine {name} does not exist on this device: its ring is not followed")
                continue
            registers = {key.removeprefix(f"{name}."): value for key, value in state.registers.items()
                         if key.startswith(f"{name}.")}
            if name == Engine.RENDER.value:  # lines pasted into a bug report lose their indentation
                registers = {k: v for k, v in state.registers.items() if "." not in k} | registers
            yield from _ring_submission(state.offset, engine, registers, state.rings.get(name),
                                        state.batches.get(name, []), self._is_wide())
        if not engines:
            yield Warning(state.offset, "the error state holds neither a ring nor a batch")


def _inflated(stream: zlib._Decompress | None, data: bytes) -> Iterator[bytes]:
    """The decompressed data in bounded pieces.  Padding after the end of the stream is dropped."""
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
