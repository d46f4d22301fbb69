"""Rings in a trace: turns register writes that start work into submissions.

Legacy rings start when TAIL moves, the execution lists of Gen8 and Gen9 files when a context is submitted.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from gen4emu.core_enums import PAGE_SIZE
from gen4emu.hw.catalogue import block_named, catalogue_of
from gen4emu.hw.chips import BY_PCI_ID
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.mi import MI_BATCH_BUFFER_START
from gen4emu.hw.gen4.registers import GTT_ENTRY, REGISTERS
from gen4emu.trace.events import Engine, RegisterWrite, Submission, Warning
from gen4emu.trace.logical_context import IMAGE_BYTES, REGISTER_BASES, decode

MAX_RING_BYTES = 2 << 20  # the largest buffer length in RING_CTL
_GRAPHICS = 1 << 62  # flag in the page numbers of unmapped graphics addresses
_MAX_ENTRIES = 1 << 20
_SPARED = 16  # pages that are looked at to find one to drop

_WIDE_START = struct.Struct("<IQI")  # MI_BATCH_BUFFER_START of Gen8, and a MI_NOOP

_BY_NAME = {register.name: register for register in REGISTERS}
_HEAD, _TAIL = _BY_NAME["RENDER_RING_HEAD"], _BY_NAME["RENDER_RING_TAIL"]
_START, _CTL = _BY_NAME["RENDER_RING_START"], _BY_NAME["RENDER_RING_CTL"]


@dataclass(slots=True, frozen=True)
class RingPosition:
    """The decoded registers of a ring."""

    start: int
    size: int
    head: int
    tail: int
    enabled: bool = True

    @staticmethod
    def of(start: int, ctl: int, head: int, tail: int) -> RingPosition:
        return RingPosition(_START.view((start,), gen=Gen.BW).starting_address, ring_size(ctl), head_offset(head),
                            tail_offset(tail), ring_enabled(ctl))

    def spans(self) -> tuple[tuple[int, int], ...]:
        """The one or two ranges (offset, size) from head to tail."""
        if self.head <= self.tail:
            return ((self.head, self.tail - self.head),)
        return (self.head, self.size - self.head), (0, self.tail)

    @property
    def wrap(self) -> tuple[int, int] | None:
        return (self.start, self.size) if self.head > self.tail else None


def head_offset(head: int) -> int:
    return int(_HEAD.view((head & 0xFFFFFFFF,), gen=Gen.BW).head_offset)


def tail_offset(tail: int) -> int:
    return int(_TAIL.view((tail & 0xFFFFFFFF,), gen=Gen.BW).tail_offset)


def ring_size(ctl: int) -> int:
    return int(_CTL.view((ctl & 0xFFFFFFFF,), gen=Gen.BW).buffer_length)


def ring_enabled(ctl: int) -> bool:
    return bool(_CTL.view((ctl & 0xFFFFFFFF,), gen=Gen.BW).enable)


def command_is_in_ring(acthd: int, start: int | None, size: int) -> bool:
    """True if ACTHD points into the ring.  Without START, ACTHD is an offset."""
    return acthd < size if start is None else start <= acthd < start + size


@cache
def _wide_start_header() -> int:
    return catalogue_of(Gen.BDW).command("MI_BATCH_BUFFER_START").pack(Gen.BDW, address_space_indicator=1)[0]


def start_batch(address: int, is_wide: bool = False) -> bytes:
    """Ring contents that run one batch; `is_wide` for chips with 48-bit addresses."""
    if is_wide:
        return _WIDE_START.pack(_wide_start_header(), address & ~3, 0)
    return struct.pack("<2I", *MI_BATCH_BUFFER_START.pack(Gen.BW, address=address & 0xFFFFFFFC))


def starts_batch(header: int) -> bool:
    return MI_BATCH_BUFFER_START.has_opcode_of(header)


def _image_of(descriptor: int) -> int:
    """The address of a context's image, from the lower dword of its descriptor."""
    view = block_named("CONTEXT_DESCRIPTOR", Gen.BDW).view((descriptor, 0), gen=Gen.BDW)
    return int(view.logical_ring_context_address)


def spare_ring_address(batch_address: int) -> int:
    """An address for a synthetic ring apart from its batch, in the 512 MiB that the GTT of every device maps.

    It must be mapped because the replay of an error state writes the ring to memory.
    """
    return 0 if batch_address >= PAGE_SIZE else 0x1FFFF000


class Shadow:
    """The latest written pages of memory, for reading rings and contexts.  Drops the oldest page at a limit."""

    def __init__(self, max_pages: int = 16384) -> None:
        self._pages: dict[int, bytearray] = {}
        self._entries: dict[int, int] = {}
        self._mapped: set[int] = set()  # physical pages in the entries
        self._max_pages = max_pages

    def map(self, first: int, entries: Sequence[int], entry_bytes: int) -> None:
        """Apply page table entries."""
        for number, entry in enumerate(entries, first):
            if number >= _MAX_ENTRIES:
                return
            self._entries[number] = page = _physical_page(entry, entry_bytes)
            self._mapped.add(page)

    def write_graphics(self, address: int, data: memoryview) -> None:
        for page, at, piece in _by_page(address, data):
            self._write(self._entries.get(page, page | _GRAPHICS), at, piece)

    def write_physical(self, address: int, data: memoryview) -> None:
        for page, at, piece in _by_page(address, data):
            self._write(page, at, piece)

    def _write(self, key: int, at: int, piece: memoryview) -> None:
        page = self._pages.get(key)
        if page is None:
            if len(self._pages) >= self._max_pages:
                self._drop_one()
            page = self._pages[key] = bytearray(PAGE_SIZE)
        page[at:at + len(piece)] = piece

    def _drop_one(self) -> None:
        """Drop the oldest page, preferably one without an entry: rings and contexts have entries."""
        for _ in range(_SPARED):
            key = next(iter(self._pages))
            page = self._pages.pop(key)
            if key not in self._mapped:
                return
            self._pages[key] = page
        del self._pages[next(iter(self._pages))]

    def read(self, address: int, size: int) -> bytes | None:
        """Bytes at a graphics address, or None if a page is unknown."""
        out = bytearray()
        while len(out) < size:
            number, at = divmod(address + len(out), PAGE_SIZE)
            page = self._pages.get(self._entries.get(number, -1), self._pages.get(number | _GRAPHICS))
            if page is None:
                return None
            out += page[at:at + size - len(out)]
        return bytes(out)


def _physical_page(entry: int, entry_bytes: int) -> int:
    if entry_bytes == 8:
        return (entry & 0x7F_FFFF_F000) >> 12
    view = GTT_ENTRY.view((entry,), gen=Gen.BW)
    return int(view.raw("physical_address_high") << 20 | view.raw("physical_address_low"))


def _by_page(address: int, data: memoryview) -> Iterator[tuple[int, int, memoryview]]:
    done = 0
    while done < len(data):
        page, at = divmod(address + done, PAGE_SIZE)
        piece = data[done:done + PAGE_SIZE - at]
        yield page, at, piece
        done += len(piece)


# Bases of the ring registers: Gen4 and Gen4.5, then later generations.
_BASES = {0x2000: Engine.RENDER, 0x4000: Engine.BSD} | {base: engine for engine, base in REGISTER_BASES.items()}
_RING_REGISTERS = {base + register.offset - 0x2000: base
                   for base in _BASES for register in (_HEAD, _TAIL, _START, _CTL)}
_TAILS = {base + _TAIL.offset - 0x2000: base for base in _BASES}

# Execution lists of Gen8+: registers by offset from the render engine's.
_ENGINE_STEP = {base - REGISTER_BASES[Engine.RENDER]: engine for engine, base in REGISTER_BASES.items()}
_SUBMIT_PORTS = {0x2230 + step: engine for step, engine in _ENGINE_STEP.items()}
_QUEUE_LOW = {0x2510 + step for step in _ENGINE_STEP}
_QUEUE_CONTROL = {0x2550 + step: engine for step, engine in _ENGINE_STEP.items()}

STARTS_WORK = frozenset(_TAILS) | frozenset(_SUBMIT_PORTS) | frozenset(_QUEUE_CONTROL)
"""Registers whose writes may become a Submission."""


class Rings:
    """Turns register writes into submissions."""

    def __init__(self, shadow: Shadow) -> None:
        self._shadow = shadow
        self._registers: dict[int, int] = {}
        self._ports: dict[int, list[int]] = {}
        self._contexts: dict[int, int] = {}  # address of the image: number, in the order of their first submission
        self._waiting: dict[int, tuple[int, int]] = {}  # that ran as element 1: place and hash of the ring

    def write(self, event: RegisterWrite) -> Iterator[Submission | Warning]:
        """The submissions that a register write starts, or warnings."""
        if event.register in _SUBMIT_PORTS:
            yield from self._pair(event, _SUBMIT_PORTS[event.register])
            return
        started = self._single(event)
        if started is not None:
            yield started

    def _single(self, event: RegisterWrite) -> Submission | Warning | None:
        register, value = event.register, event.value
        if register in _RING_REGISTERS or register in _QUEUE_LOW:
            self._registers[register] = value
        if register in _TAILS:
            return self._tail_moved(event, _TAILS[register])
        if register in _QUEUE_CONTROL and (low := self._registers.get(register - 0x40)) is not None:
            return self._context(event, _QUEUE_CONTROL[register], low)
        return None

    def _pair(self, event: RegisterWrite, engine: Engine) -> Iterator[Submission | Warning]:
        """A write to the port for pairs of contexts: the upper and the lower dword of element 1, then of element 0.

        Element 0 runs first.  Drivers submit a context that was element 1 again, as one of the two: it continues, and
        runs only if its ring has changed.
        """
        words = self._ports.setdefault(event.register, [])
        words.append(event.value)
        if len(words) < 4:
            return
        self._ports[event.register] = []
        for element, descriptor in enumerate((words[3], words[1])):
            if element and not _image_of(descriptor):
                continue  # there is none
            started = self._context(event, engine, descriptor)
            if isinstance(started, Submission):
                address, ran = _image_of(descriptor), (started.address_of(0), hash(bytes(started.ring)))
                waited = self._waiting.pop(address, None)
                if element:
                    self._waiting[address] = ran
                if waited == ran:
                    continue
            if started is not None:
                yield started

    def _tail_moved(self, event: RegisterWrite, base: int) -> Submission | Warning | None:
        head, start, ctl = (self._registers.get(base + r.offset - 0x2000) for r in (_HEAD, _START, _CTL))
        if start is None or ctl is None:
            return None
        position = RingPosition.of(start, ctl, head or 0, event.value)
        if not position.enabled:
            return None
        started = self._run(event, _BASES[base], position, None)
        if isinstance(started, Submission):
            self._registers[base + _HEAD.offset - 0x2000] = position.tail
        return started

    def _context(self, event: RegisterWrite, engine: Engine, descriptor: int) -> Submission | Warning | None:
        address = _image_of(descriptor) + PAGE_SIZE  # the first page is the per-process status page
        image = self._shadow.read(address, IMAGE_BYTES)
        if image is None:
            return Warning(event.offset, f"context at 0x{address:08x}: the file does not write it, so it cannot run")
        context = decode(image)
        position = RingPosition.of(context.start, context.ctl, context.head, context.tail)
        number = self._contexts.setdefault(address, len(self._contexts))
        return self._run(event, engine, position, context.page_table, number)

    def _run(self, event: RegisterWrite, engine: Engine, position: RingPosition,
             page_table: int | None, context: int = 0) -> Submission | Warning | None:
        if position.head == position.tail:
            return None
        if max(position.head, position.tail) >= position.size:
            return Warning(event.offset, f"ring of 0x{position.size:x} bytes: head 0x{position.head:x} or tail "
                                         f"0x{position.tail:x} is outside")
        ring = b""
        for at, size in position.spans():
            part = self._shadow.read(position.start + at, size)
            if part is None:
                return Warning(event.offset, f"ring at 0x{position.start:08x}: the file does not write it, "
                                             "so it cannot run")
            ring += part
        return Submission(event.offset, engine, ring, position.start + position.head, wrap=position.wrap,
                          page_table=page_table, context=context)


class RingContexts:
    """The hardware contexts that commands in rings select: those of Gen6 to Gen7.5, which have no execution lists."""

    def __init__(self, gen: Gen) -> None:
        self._catalogue = catalogue_of(gen)
        self._set = self._catalogue.command("MI_SET_CONTEXT")
        self._gen = gen
        self._numbers: dict[int, int] = {}  # address of the image: number, in the order of their first use
        self._current = 0

    def number(self, engine: Engine, ring: bytes) -> int:
        """The number of the context in which a submission runs its batch."""
        words = memoryview(ring[:len(ring) & ~3]).cast("I")
        at = 0
        while engine is Engine.RENDER and at < len(words):
            command = self._catalogue.command_for(words[at])
            end = at + self._catalogue.length(words[at])
            if command is self._set and end <= len(words):
                address = self._set.view(words[at:end], gen=self._gen).logical_context_address
                self._current = self._numbers.setdefault(address, len(self._numbers))
            at = end
        return self._current


def ring_contexts(pci_id: int | None) -> RingContexts | None:
    """For the chips whose traces have the numbers of contexts only in their rings."""
    chip = None if pci_id is None else BY_PCI_ID.get(pci_id)
    return None if chip is None or chip.gen & Gen.ALL4 or chip.address_bits > 32 else RingContexts(chip.gen)
