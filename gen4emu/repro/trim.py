"""A part of a trace as a separate trace: the memory that it reads, the state in force, its submissions.

The part gets its name after it was executed: its draws write the same bytes as in the whole trace.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from gen4emu.api.trace import Trace
from gen4emu.bisect.digests import TargetDigest, target_digest
from gen4emu.device.bookmark_file import Index, Start
from gen4emu.device.checkpoints import restore
from gen4emu.device.command_streamer import CommandStreamer
from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.memory import PAGE_SIZE, Missing
from gen4emu.device.options import Options
from gen4emu.errors import Gen4emuError, HangError, SelectionError
from gen4emu.hw import chips
from gen4emu.hw.catalogue import command_named
from gen4emu.hw.command_reader import Words
from gen4emu.repro.commands import StateCommands
from gen4emu.repro.export import free_address, joined
from gen4emu.repro.reduction import leave_out
from gen4emu.repro.script import Dwords, batch_of, start_of_batch
from gen4emu.selection import Selection
from gen4emu.trace import reader
from gen4emu.trace.capture import digest
from gen4emu.trace.conversion import container_of, convert, copy_event, new_writer
from gen4emu.trace.events import (
    Engine,
    Event,
    ExpectedMemory,
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
from gen4emu.trace.write_aub import Dedup

_MOST_RUNS = 200  # of the part, to leave pages out
_MOST_BYTES = 1 << 20  # of a write


@dataclass(frozen=True, slots=True)
class Span:
    """The submissions that are kept: from `first` to `last`, both inclusive, and of these perhaps only some draws."""

    first: int
    last: int
    draws: range | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The results of a part; equal wherever it runs."""

    draws: list[tuple[TargetDigest, ...]]  # of the surfaces that each draw has written
    hang: str
    pages: dict[int, bytes]  # digests of the pages that it has written
    ends_with_draw: bool  # anything after the last draw does not count


@dataclass(frozen=True, slots=True)
class Trimmed:
    """Counts of a result."""

    submissions: int
    draws: int
    pages: int
    differing: int  # pages that it writes with other contents, such as counts and times
    size: int
    from_start: bool = False  # everything before the part was kept
    is_whole: bool = False  # the whole trace was kept


@dataclass(slots=True)
class _Contexts:
    """The state commands of an engine: those of each hardware context, in the end those of the one that runs."""

    saved: dict[int, tuple[Dwords, ...]]
    running: int | None
    found: tuple[Dwords, ...]


@dataclass(slots=True)
class Part:
    """A part of a trace before it is known which memory it needs."""

    device: chips.Device
    application: str
    registers: dict[int, RegisterWrite] = field(default_factory=dict)
    pages: dict[int, bytes] = field(default_factory=dict)  # all memory at its start
    page_table: dict[int, int] = field(default_factory=dict)  # entries of these pages
    state: dict[Engine, _Contexts] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    seeds: set[int] = field(default_factory=set)  # pages with commands
    commands: list[tuple[int, int, int, bool]] = field(default_factory=list)  # submission, address, bytes, draws
    drawn: list[tuple[int, int, int, int]] = field(default_factory=list)  # submission of the span, draw, address, bytes


# --- spans ------------------------------------------------------------------------------------------------------------
def span_of_submissions(source: reader.Trace, wanted: Selection, noun: str = "submission") -> Span:
    count = sum(isinstance(event, Submission) for event in source)
    wanted.require_any(count, noun, source.path)
    return Span(wanted.first, min(count - 1, _last(wanted, count)))


def span_of_frames(source: reader.Trace, wanted: Selection) -> Span:
    if not source.has_marks():
        return span_of_submissions(source, wanted, "frame")
    ends = [submissions for submissions, event in _marks(source)]
    wanted.require_any(len(ends), "frame", source.path)
    first = ends[wanted.first - 1] if wanted.first else 0
    last = ends[min(len(ends) - 1, _last(wanted, len(ends)))] - 1
    if last < first:
        raise SelectionError(f"{source.path}: frame {wanted.text} has no submission")
    return Span(first, last)


def _marks(source: reader.Trace) -> Iterator[tuple[int, SurfaceDump | FrameBoundary]]:
    """The marks at which frames end, with the number of submissions before each."""
    submissions = 0
    for event in source:
        submissions += isinstance(event, Submission)
        if isinstance(event, SurfaceDump | FrameBoundary):
            yield submissions, event


def span_of_surface(trace: Trace, source: reader.Trace, address: int) -> Span:
    """The frames that draw to a surface, or that show it."""
    places = [moment.place for moment in trace.draws()
              if any(target.address == address for target in moment.device.targets.latest)]
    frames = {place.frame for place in places}
    marks = list(_marks(source))
    frames |= {n for n, (_, event) in enumerate(marks) if isinstance(event, SurfaceDump) and event.address == address}
    if not frames:
        raise SelectionError(f"{trace.path}: no frame draws to a surface at 0x{address:08x}, or shows it")
    if marks and max(frames) >= len(marks):  # behind the last mark
        count = sum(isinstance(event, Submission) for event in source)
        return Span(marks[min(frames) - 1][0] if min(frames) else 0, count - 1)
    return span_of_frames(source, Selection.parse(f"{min(frames)}-{max(frames)}"))


def span_of_draws(trace: Trace, wanted: Selection) -> Span:
    places = [draw.place for draw in trace.draws(Selection.parse(f"{wanted.first}-{_last(wanted, 1 << 40)}"))]
    return Span(places[0].submission, places[-1].submission, range(wanted.first, places[-1].draw + 1))


def span_of_hang(trace: Trace, index: Index | None = None) -> Span:
    """The submission that hangs: none before the last bookmark of an index."""
    ended = index.bookmarks[-1].ended_submissions if index is not None and index.bookmarks else 0
    try:
        for moment in trace.submissions(f"{ended}-"):
            ended = moment.place.submission + 1
    except HangError:
        return Span(ended, ended)
    raise SelectionError(f"{trace.path}: nothing hangs")


def _last(wanted: Selection, count: int) -> int:
    return count - 1 if wanted.last is None else wanted.last


# --- executing --------------------------------------------------------------------------------------------------------
class _Run(Listener):
    """Collects the outcome of an execution, from `begin` on."""

    def __init__(self, device: Device, draws: range | None = None, most: int | None = None) -> None:
        """Up to the end of the last one of `draws`, or of `most` draws, if they are given."""
        self.pages: dict[int, bytes] | None = None
        self.digests: list[tuple[TargetDigest, ...]] = []
        self.hang = ""
        self.ignored: set[int] = set()  # pages that do not count
        self._device, self._draws, self._most = device, draws, most
        self._mark: int | None = None
        self._written: Iterable[int] | None = None
        self._ends_with_draw = False

    def begin(self, written: Iterable[int] | None = None) -> None:
        """`written` are the pages whose digests are wanted; else those that the device will have written."""
        self._mark, self._written = self._device.memory.mark(), written

    @property
    def begun(self) -> bool:
        return self._mark is not None

    def draw_done(self) -> None:
        numbers = self._device.numbers
        if not self.begun or self.pages is not None:
            return
        if self._draws is not None and (numbers.draw < self._draws.start or numbers.first >= self._draws.stop):
            return
        memory = self._device.memory
        self.digests.append(tuple(target_digest(memory, target) for target in self._device.targets.latest))
        if len(self.digests) == self._most or (self._draws is not None and numbers.draw >= self._draws.stop - 1):
            self.settle(ends_with_draw=True)

    def settle(self, ends_with_draw: bool = False) -> None:
        """The part has ended."""
        if self.pages is not None or self._mark is None:
            return
        self._ends_with_draw = ends_with_draw
        memory, written = self._device.memory, self._written
        if written is None:
            written = sorted(set(memory.written_pages(self._mark)) - self.ignored)
        self.pages = {page: digest(memory.read(page, PAGE_SIZE, Missing.ZERO)) for page in written}

    def hung(self, error: HangError) -> None:
        """A part that ends with a draw must not hang after it, as the whole trace may."""
        if self.pages is None or self._most is not None:
            self.hang = error.reason
        self.settle()

    def outcome(self) -> Outcome:
        self.settle()
        return Outcome(self.digests, self.hang, self.pages or {}, self._ends_with_draw)


def execute(device: chips.Device, events: Iterable[Event], options: Options | None = None,
            expected: Outcome | None = None) -> tuple[Outcome, set[int]]:
    """The outcome of events, and the pages that were read although they are missing.

    `expected` names the pages whose contents matter, and how many draws if it ends with one.
    """
    with Device(device, options) as running:
        run = _Run(running, most=len(expected.draws) if expected is not None and expected.ends_with_draw else None)
        running.add_listener(run)
        try:
            for event in events:
                if isinstance(event, Submission) and not run.begun:
                    run.begin(None if expected is None else expected.pages)
                running.apply(event)
        except HangError as e:
            run.hung(e)
        missed = {page for start, size in running.memory.missed_reads()
                  for page in range(start, start + size, PAGE_SIZE)}
        return run.outcome(), missed


def record(trace: Trace, source: reader.Trace, span: Span, options: Options | None,
           start: Start | None = None) -> tuple[Part, Outcome]:
    """Execute a trace up to the end of a span, from `start` on, which is before its first submission."""
    if trace.device is None:
        raise SelectionError(f"{trace.path}: the device is unknown")
    part = Part(trace.device, trace.application)
    number = -1  # of the submission
    listeners: dict[Engine, StateCommands] = {}
    with Device(trace.device, options) if start is None else restore(start.bookmark.checkpoint)[0] as device:
        run = _Run(device, span.draws)

        def begin() -> None:
            memory = device.memory
            part.pages = {page.address: memory.read(page.address, PAGE_SIZE, Missing.ZERO) for page in memory.pages()}
            part.page_table = {page: entry for page in part.pages if page // PAGE_SIZE < memory.gtt_entries
                               and (entry := memory.gtt_entry(page // PAGE_SIZE))}
            run.begin()

        def keep(streamer: CommandStreamer, words: Words, draws: bool) -> None:
            if not span.first <= number <= span.last:
                return
            address = streamer.position.address
            part.seeds.update(range(address & -PAGE_SIZE, address + 4 * len(words), PAGE_SIZE))
            part.commands.append((number - span.first, address, 4 * len(words), draws))
            if not draws:
                return
            draw = device.numbers.draw
            part.drawn.append((number - span.first, draw, address, 4 * len(words)))
            if span.draws is None:
                return
            if draw >= span.draws.stop:  # the last one that is kept drew nothing
                run.settle(ends_with_draw=True)
            elif not run.begun and draw >= span.draws.start:
                begin()

        for engine, streamer in device.streamers.items():
            listeners[engine] = StateCommands(streamer, partial(keep, streamer))
            if start is not None:
                listeners[engine].restore(start.tables.commands[engine])
            streamer.listen(listeners[engine])
        device.add_listener(run)
        uploads = _Uploads(device)
        before = 0 if start is None else start.bookmark.position + start.bookmark.is_inside  # events, executed already
        try:
            if start is not None:
                number = start.bookmark.submissions - 1
                if start.bookmark.is_inside:
                    device.resume()
            for position, event in enumerate(source):
                is_submission = isinstance(event, Submission)
                if position < before:
                    if isinstance(event, RegisterWrite):
                        _keep_register(part, event)
                    elif isinstance(event, MemoryWrite) and uploads.take(event):
                        run.ignored.update(_pages(event.address, len(event.data)))
                    elif isinstance(event, Submission) and event.page_table is not None:
                        uploads.forget()
                    continue
                if number == span.last:  # the end of the frame that follows belongs to it
                    is_mark = isinstance(event, SurfaceDump | FrameBoundary)
                    part.events += [event] if is_mark else []
                    if is_mark or is_submission:
                        break
                    continue
                number += is_submission
                if isinstance(event, MemoryWrite) and uploads.take(event):
                    run.ignored.update(_pages(event.address, len(event.data)))
                    device.apply(event)
                    continue
                if isinstance(event, Submission) and event.page_table is not None:
                    writes = uploads.enter(event.page_table)
                    part.events += writes if number > span.first else []
                    event = replace(event, page_table=None)  # the part has memory by graphics addresses
                if is_submission and number == span.first:
                    part.state = {engine: _contexts(of) for engine, of in listeners.items()}
                    if span.draws is None:
                        begin()
                if number < span.first and isinstance(event, RegisterWrite):
                    _keep_register(part, event)
                elif number >= span.first and not isinstance(event, Header | ExpectedMemory | Warning):
                    part.events.append(event)
                device.apply(event)
        except HangError as e:
            run.hung(e)
        return part, run.outcome()


def _keep_register(part: Part, event: RegisterWrite) -> None:
    """A register is written before the part: the last write counts."""
    part.registers.pop(event.register, None)
    part.registers[event.register] = event


class _Uploads:
    """Writes to physical memory as writes to the pages that a context's table maps there."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._written: set[int] = set()  # physical pages, since the submission before

    def take(self, event: MemoryWrite) -> bool:
        """Whether it is a write to memory that page tables map."""
        if event.space is not Space.PHYSICAL or self._device.info.address_bits == 32:
            return False
        self._written.update(page // PAGE_SIZE for page in _pages(event.address, len(event.data)))
        return True

    def forget(self) -> set[int]:
        """A context begins to run: returns the physical pages that were written before."""
        written, self._written = self._written, set()
        return written

    def enter(self, page_table: int) -> list[Event]:
        """Map the pages of a context; returns the writes to them."""
        device = self._device
        device.page_tables.select(page_table)
        written = self.forget()
        mapped, _ = device.page_tables.save()
        return [MemoryWrite(0, page * PAGE_SIZE, device.memory.read(page * PAGE_SIZE, PAGE_SIZE, Missing.ZERO))
                for page, physical in sorted(mapped.items()) if physical in written]


def _contexts(of: StateCommands) -> _Contexts:
    return _Contexts({address: tuple(found.values()) for address, found in of.saved.items() if address != of.running},
                     of.running, (*of.found.values(), *of.registers()))


# --- the result -------------------------------------------------------------------------------------------------------
def trim(trace: Trace, source: reader.Trace, span: Span, output: str, options: Options | None = None,
         index: Index | None = None) -> Trimmed:
    """Write the part of a trace; returns counts.

    The execution up to the part begins at a bookmark of `index`, if there is one.  What draws before the part have
    written may take more memory than these draws: then they are kept, or even the whole trace, which may be smaller
    in its own container and compression.
    """
    whole = Span(0, span.last, None if span.draws is None else range(span.draws.stop))
    start = None if index is None else index.start_before(span.first, "submission", options)
    target = Path(os.path.realpath(output))
    with TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as directory:
        def place() -> Path:
            return Path(mkdtemp(dir=directory), target.name)

        part = place()
        found = {part: _trim(trace, source, span, part, output, options, start)}
        most = os.path.getsize(trace.path) if os.path.isfile(trace.path) else found[part].size
        if found[part].size > most and span != whole:
            part = place()
            found[part] = replace(_trim(trace, source, whole, part, output, options), from_start=True)
        if all(trimmed.size > most for trimmed in found.values()):
            part = place()
            found[part] = _copy(trace, source, part, options)
        part = min(found, key=lambda place: found[place].size)
        part.replace(target)
    return found[part]


def _copy(trace: Trace, source: reader.Trace, place: Path, options: Options | None) -> Trimmed:
    """The whole trace in another container."""
    assert trace.device is not None  # or `record` would have refused it
    submissions = convert(source, place, partial=True).submissions
    outcome, _ = execute(trace.device, reader.open(place), options)
    pages = {page for event in source if isinstance(event, MemoryWrite)
             for page in _pages(event.address, len(event.data))}
    return Trimmed(submissions, len(outcome.draws), len(pages), 0, place.stat().st_size, is_whole=True)


def _trim(trace: Trace, source: reader.Trace, span: Span, place: Path, output: str, options: Options | None,
          start: Start | None = None) -> Trimmed:
    container = container_of(place)
    part, wanted = record(trace, source, span, options, start)
    whole = _assemble(part, span, state=True)
    found = _needed(part, whole, wanted, options)
    if found is None:  # perhaps a state command reads memory that has changed since
        whole = _assemble(part, span, state=False)
        found = _needed(part, whole, wanted, options)
    if found is None:
        raise Gen4emuError(f"{trace.path}: the part draws different pixels from the whole trace: it depends on more "
                           "than the state in force and memory, such as constants that were overwritten, registers or "
                           "streamed vertices")
    pages, outcome = found
    events = list(events_of(part, pages, whole))
    differing = sum(outcome.pages[page] != wanted.pages[page] for page in outcome.pages)
    if container == "g4c" and not wanted.hang:
        events += _expectations(part, events, wanted, options)
    size = _write(part, events, place, output, trace.path, outcome, options)
    count = sum(isinstance(event, Submission) for event in events)
    return Trimmed(count, len(outcome.draws), len(pages), differing, size)


@dataclass(frozen=True, slots=True)
class Assembled:
    """The events of a part, with the commands that set the state, and without draws that are not kept."""

    events: list[Event]
    pages: dict[int, bytes]  # all memory at its start
    partial: set[int]  # pages that the CPU writes in part
    own: list[MemoryWrite]  # the batches that set the state


def _assemble(part: Part, span: Span, state: bool) -> Assembled:
    result = Assembled([], dict(part.pages), set(), [])
    free = free_address(_used(part))
    waiting = _states(part) if state else {}
    number = -1
    for event in part.events:
        if isinstance(event, MemoryWrite):
            _note_partial(result, event.address, len(event.data))
        elif isinstance(event, Submission):
            number += 1
            for submission, draw, address, size in part.drawn:
                if submission == number and span.draws is not None and draw not in span.draws:
                    event = without(result, event, address, size, first=number == 0)
            contexts = waiting.pop((event.engine, event.context if part.device.address_bits > 32 else None), None)
            if contexts is not None:
                head, free = _set_state(result, contexts, part.device, free)
                if head:
                    event = replace(event, ring=head + event.ring, ring_address=free, wrap=None)
                    free += -(-len(event.ring) // PAGE_SIZE) * PAGE_SIZE
        result.events.append(event)
    return result


def _states(part: Part) -> dict[tuple[Engine, int | None], _Contexts]:
    """The states to set at the first submission of an engine, or of a logical context of it."""
    if part.device.address_bits == 32:
        return {(engine, None): contexts for engine, contexts in part.state.items()}
    found = {}
    for engine, contexts in part.state.items():
        for number, commands in [*contexts.saved.items(), (contexts.running, contexts.found)]:
            found[engine, number] = _Contexts({}, None, commands)
    return found


def _used(part: Part) -> Iterable[int]:
    yield from part.pages
    for event in part.events:
        if isinstance(event, MemoryWrite):
            yield from _pages(event.address, len(event.data))
        elif isinstance(event, Submission):
            yield from _pages(event.ring_address, len(event.ring))


def _pages(address: int, size: int) -> range:
    return range(address & -PAGE_SIZE, address + size, PAGE_SIZE)


def _note_partial(result: Assembled, address: int, size: int) -> None:
    """The rest of a page that a write covers in part is kept."""
    result.partial.update(page for page in _pages(address, size)
                          if page in result.pages and not address <= page <= address + size - PAGE_SIZE)


def without(result: Assembled, event: Submission, address: int, size: int, first: bool) -> Submission:
    """Replace a draw by MI_NOOP, whose dwords are 0, where it lies before a submission."""
    at = address - event.ring_address
    if event.wrap is None and 0 <= at < len(event.ring):
        return replace(event, ring=event.ring[:at] + bytes(size) + event.ring[at + size:])
    if not first:
        result.events.append(MemoryWrite(event.offset, address, bytes(size)))
        _note_partial(result, address, size)
        return event
    for page in _pages(address, size):
        if page in result.pages:
            data, start = bytearray(result.pages[page]), max(address - page, 0)
            end = min(address + size - page, PAGE_SIZE)
            data[start:end] = bytes(end - start)
            result.pages[page] = bytes(data)
    return event


def _set_state(result: Assembled, contexts: _Contexts, device: chips.Device, free: int) -> tuple[bytes, int]:
    """The contents of a ring that set the state of an engine, and the next free address."""
    head, gen = b"", device.gen
    if contexts.running is not None or contexts.found:
        for address, commands in [*contexts.saved.items(), (contexts.running, contexts.found)]:
            if address is not None:
                words = command_named("MI_SET_CONTEXT", gen).pack(gen, logical_context_address=address,
                                                                  restore_inhibit=True)
                head += b"".join(word.to_bytes(4, "little") for word in words)
            if commands:
                batch = batch_of(commands, gen)
                result.own.append(MemoryWrite(0, free, batch, kind="batch"))
                head += start_of_batch(free, device)
                free += -(-len(batch) // PAGE_SIZE) * PAGE_SIZE
    return head, free


def _needed(part: Part, whole: Assembled, wanted: Outcome, options: Options | None) \
        -> tuple[dict[int, bytes], Outcome] | None:
    """The pages that the part reads before it writes them; None if it does not do the same with all memory."""
    def run(pages: Iterable[int]) -> tuple[Outcome, set[int]]:
        events = events_of(part, {page: whole.pages[page] for page in pages}, whole)
        outcome, missed = execute(part.device, events, options, wanted)
        return outcome, missed & whole.pages.keys()

    def differing(outcome: Outcome) -> set[int]:
        return {page for page, found in outcome.pages.items() if found != wanted.pages[page]}

    def is_like(outcome: Outcome) -> bool:
        return outcome.draws == wanted.draws and outcome.hang == wanted.hang

    best, missed = run(whole.pages)
    if not is_like(best):
        return None
    allowed = differing(best)  # counts and times, which depend on what ran before
    kept = (whole.partial | part.seeds) & whole.pages.keys()
    while len(kept) < len(whole.pages):
        outcome, missed = run(kept)
        more = missed - kept or (differing(outcome) - allowed - kept) & whole.pages.keys()
        if not more and is_like(outcome) and differing(outcome) <= allowed:
            break
        kept = kept | more if more else set(whole.pages)

    def stays(fewer: list[int]) -> bool:
        outcome, missed = run(whole.partial.union(fewer))
        return not missed - set(fewer) and is_like(outcome) and differing(outcome) <= allowed

    kept = whole.partial.union(leave_out(sorted(kept - whole.partial), stays, _MOST_RUNS))
    return {page: whole.pages[page] for page in sorted(kept)}, run(kept)[0]


def events_of(part: Part, pages: dict[int, bytes], whole: Assembled) -> Iterator[Event]:
    yield Header(0, part.device.pci_id, part.application)
    yield from part.registers.values()
    for page in sorted(pages.keys() & part.page_table.keys()):
        yield GttWrite(0, page // PAGE_SIZE, (part.page_table[page],))
    for address, data in joined(pages):
        for at in range(0, len(data), _MOST_BYTES):
            yield MemoryWrite(0, address + at, data[at:at + _MOST_BYTES])
    yield from whole.own
    yield from whole.events


def _expectations(part: Part, events: Sequence[Event], wanted: Outcome, options: Options | None) \
        -> list[ExpectedMemory]:
    """The contents that the part has at its end, in the pages that it writes."""
    with Device(part.device, options) as device:
        for event in events:
            device.apply(event)
        pages = {page: device.memory.read(page, PAGE_SIZE, Missing.ZERO) for page in wanted.pages}
    same = {page: data for page, data in pages.items() if digest(data) == wanted.pages[page]}
    return [ExpectedMemory(0, address, len(data), digest(data)) for address, data in joined(same)]


def _write(part: Part, events: Sequence[Event], place: Path, output: str, trace: str, outcome: Outcome,
           options: Options | None) -> int:
    """Write a file, which is to become `output`, and verify it; returns its size."""
    with new_writer(container_of(place), place, part.device, part.application, Dedup.NONE) as writer:
        for event in events[1:]:  # the writer has written the header
            copy_event(event, writer)
    if execute(part.device, reader.open(place), options, outcome)[0] != outcome:
        raise Gen4emuError(f"{output}: the written file does not have the same results as {trace}")
    return place.stat().st_size
