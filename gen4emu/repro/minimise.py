"""A trace without everything that can be left out while something stays: a hang, a pixel, a difference.

Delta debugging by levels: submissions and writes of the CPU, draws, state commands, pages, objects, parts of memory,
instructions of kernels, fields of commands and state.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from gen4emu.api.trace import Trace
from gen4emu.bisect.digests import surface_bytes
from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.options import Options
from gen4emu.device.targets import Target
from gen4emu.errors import Gen4emuError, HangError, SelectionError
from gen4emu.hw import chips
from gen4emu.hw.gen import family_parts
from gen4emu.repro import edits
from gen4emu.repro.command_runner import CommandRunner, Late, RunnerLost
from gen4emu.repro.parallel_trials import Changes, ParallelTrials, changed, changes
from gen4emu.repro.reduction import leave_out
from gen4emu.repro.trim import Assembled, Part, Span, events_of, execute, record, without
from gen4emu.trace import reader
from gen4emu.trace.conversion import container_of, copy_event, new_writer
from gen4emu.trace.events import Event, Header, MemoryWrite, Submission
from gen4emu.trace.write_aub import Dedup

_MOST_TRIES = 1 << 30
_T = TypeVar("_T")
WATCHDOG_OF_HANGS = 200  # million instructions of a draw, after which threads count as endless
WATCHDOGS = (2, 10, 50, WATCHDOG_OF_HANGS)  # while candidates are tried
_BLOCKS = (1024, 256, 64, 16)  # bytes that are set to zero together


class Over(Exception):
    """The time is over, or no more candidates may be tried."""


class Stays(Protocol):
    """Whether a candidate still shows what is to stay."""

    def __call__(self, events: Sequence[Event], deadline: float | None = None) -> bool:
        """`deadline`, by `time.monotonic`, is for what takes long: it raises `Over`."""


Difference = tuple[tuple[int, ...], tuple[int, ...], Changes, Changes]


@dataclass(frozen=True, slots=True)
class Kept:
    """The rest of a part."""

    events: tuple[int, ...]  # indices
    commands: tuple[int, ...]  # indices
    pages: dict[int, bytes]
    writes: dict[int, bytes]  # what the CPU writes: by the index of the event

    @property
    def memory(self) -> edits.Memory:
        return {(False, page): data for page, data in self.pages.items()} | \
            {(True, index): self.writes[index] for index in self.events if index in self.writes}

    def edited(self, changes: Iterable[edits.Edit]) -> Kept:
        return self.with_memory(edits.apply(self.memory, changes))

    def with_memory(self, memory: edits.Memory) -> Kept:
        pages = {number: data for (is_write, number), data in memory.items() if not is_write}
        return replace(self, pages=pages, writes=self.writes | {
            number: data for (is_write, number), data in memory.items() if is_write})

    def difference(self, before: Kept) -> Difference:
        return self.events, self.commands, changes(before.pages, self.pages), changes(before.writes, self.writes)

    def restored(self, difference: Difference) -> Kept:
        events, commands, pages, writes = difference
        return Kept(events, commands, changed(self.pages, pages), changed(self.writes, writes))

    def __str__(self) -> str:
        size = sum(len(data) - data.count(0) for data in self.memory.values())
        return (f"submissions and writes: {len(self.events)}, commands: {len(self.commands)}, "
                f"pages: {len(self.pages)}, bytes that are not 0: {size}")


# --- what stays -------------------------------------------------------------------------------------------------------
def _quick(shows: Callable[[Options], bool], options: Options) -> Options:
    """The options of candidates: the lowest watchdog with which the whole trace shows the problem.

    Threads that do not end, which removed instructions cause as well, take minutes until the default one stops them.
    """
    return next((choice for choice in _choices(options) if shows(choice)), options)


def _choices(options: Options) -> Iterator[Options]:
    """Lower watchdogs than that of the options."""
    return (replace(options, watchdog=watchdog) for watchdog in WATCHDOGS
            if not options.watchdog or watchdog < options.watchdog)


class SameHang:
    """The hang of the whole trace, at the same command and for the same reason."""

    def __init__(self, part: Part, reason: str, options: Options | None = None) -> None:
        if not reason:
            raise SelectionError("nothing hangs")
        self._device, self._reason, self._options = part.device, reason, options or Options()
        events = _all_events(part)
        self.quick = _quick(lambda choice: self._is_same(events, choice), self._options)

    def _is_same(self, events: Sequence[Event], options: Options) -> bool:
        return execute(self._device, events, options)[0].hang == self._reason

    def __call__(self, events: Sequence[Event], deadline: float | None = None) -> bool:
        return self._is_same(events, self.quick)

    def surely(self, events: Sequence[Event]) -> bool:
        """Use the watchdog of the whole trace: a slow draw is not endless."""
        return self._is_same(events, self._options)

    def wait_longer(self) -> bool:
        """Let the watchdog of candidates be the next higher one; false if there is none."""
        choices = [choice for choice in _choices(self._options) if choice.watchdog > self.quick.watchdog]
        if self.quick == self._options:
            return False
        self.quick = next(iter(choices), self._options)
        return True


class _Last(Listener):
    """The target that was drawn to last."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self.target: Target | None = None

    def draw_done(self) -> None:
        for target in self._device.targets.latest:
            if target.kind == "color":
                self.target = target


class SamePixel:
    """The color that a pixel of the last render target has in the end, which stays the last one."""

    def __init__(self, part: Part, x: int, y: int, options: Options | None = None) -> None:
        self._device, self._x, self._y = part.device, x, y
        self._target: Target | None = None
        events, chosen = _all_events(part), options or Options()
        try:
            self._wanted = self._color(events, chosen)
        except HangError as e:
            raise SelectionError(f"the whole trace hangs: {e}") from None
        self._quick = _quick(lambda choice: self._is_same(events, choice), chosen)

    def _color(self, events: Sequence[Event], options: Options) -> bytes:
        with Device(self._device, options) as device:
            last = _Last(device)
            device.add_listener(last)
            for event in events:
                device.apply(event)
            if self._target is None:
                if last.target is None:
                    raise SelectionError("nothing is drawn")
                self._target = last.target
            return pixel_bytes(device, self._target, self._x, self._y) if last.target == self._target else b""

    def _is_same(self, events: Sequence[Event], options: Options) -> bool:
        try:
            return self._color(events, options) == self._wanted
        except HangError:
            return False

    def __call__(self, events: Sequence[Event], deadline: float | None = None) -> bool:
        return self._is_same(events, self._quick)


def pixel_bytes(device: Device, target: Target, x: int, y: int) -> bytes:
    if not (0 <= x < target.width and 0 <= y < target.height):
        raise SelectionError(f"pixel {x},{y} is outside the render target of {target.width}x{target.height}")
    return surface_bytes(device.memory, replace(target, x=target.x + x, y=target.y + y, width=1, height=1, chroma=()))


class DiffersBetween:
    """Two devices draw other bytes, or one of them hangs."""

    def __init__(self, part: Part, left: chips.Device, right: chips.Device, options: Options | None = None) -> None:
        for device in (left, right):
            if not family_parts(part.device.gen) & device.gen:
                raise SelectionError(f"the trace is for {part.device.name}; {device.name} is too different")
        self._devices, self._options = (left, right), options or Options()

    def __call__(self, events: Sequence[Event], deadline: float | None = None) -> bool:
        first, second = (execute(device, events, self._options)[0] for device in self._devices)
        return first.draws != second.draws or first.hang != second.hang


def _all_events(part: Part) -> list[Event]:
    return list(events_of(part, part.pages, Assembled(part.events, {}, set(), [])))


class CommandSucceeds:
    """A command exits with status 0; the path of the candidate is its last argument."""

    def __init__(self, runner: CommandRunner) -> None:
        self._runner = runner

    def __call__(self, events: Sequence[Event], deadline: float | None = None) -> bool:
        write(events, self._runner.path)
        try:
            return self._runner.status(deadline) == 0
        except Late:
            raise Over from None


# --- the search -------------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class Trial:
    """Everything that a trial of a candidate needs."""

    part: Part
    stays: Stays | None  # None: each process has its own
    end: float  # by `time.monotonic`

    def __call__(self, candidate: Kept) -> tuple[bool, bool]:
        """Whether the time is over, and whether the problem stays."""
        assert self.stays is not None
        try:
            return False, self.stays(list(self.events(candidate)), self.end)
        except Over:
            return True, False
        except RunnerLost:
            raise
        except Gen4emuError:  # such as a register that is loaded from memory that was left out
            return False, False

    def events(self, kept: Kept) -> Iterator[Event]:
        """The events of a candidate."""
        pages, result, _ = self.assembled(kept)
        return events_of(self.part, pages, result)

    def assembled(self, kept: Kept) -> tuple[dict[int, bytes], Assembled, list[int]]:
        """Memory, events, and the index of each event; -1 is one that clears commands."""
        result, indices = Assembled([], dict(kept.pages), set(), []), list[int]()
        cleared: dict[int, list[tuple[int, int]]] = {}
        commands = set(kept.commands)
        for index, (submission, address, size, _) in enumerate(self.part.commands):
            if index not in commands:
                cleared.setdefault(submission, []).append((address, size))
        number, left = -1, set(kept.events)
        for index, event in enumerate(self.part.events):
            number += isinstance(event, Submission)
            if index not in left:
                continue
            if isinstance(event, MemoryWrite):
                event = replace(event, data=kept.writes[index])
            if isinstance(event, Submission):
                for address, size in cleared.get(number, ()):
                    event = without(result, event, address, size, first=number == 0)
            result.events.append(event)
            indices += [-1] * (len(result.events) - 1 - len(indices)) + [index]
        pages = {page: data for page, data in result.pages.items() if page in kept.pages}
        return pages, result, indices


class Minimiser:
    """Leaves out parts of a trace, level by level, until nothing more can be left out or time runs out."""

    def __init__(self, part: Part, stays: Stays, seconds: float, on_step: Callable[[str, Kept], object],
                 most_tries: int | None = None, parallel: ParallelTrials[Kept] | None = None) -> None:
        """`parallel` are other processes that try candidates.  Their number does not change the result."""
        self._trial = Trial(part, stays, time.monotonic() + seconds)
        self._part, self._on_step, self._most_tries, self._parallel = part, on_step, most_tries, parallel
        self._following: Iterator[Kept] = iter(())  # the candidates behind the next one
        writes = {index: bytes(event.data) for index, event in enumerate(part.events) if isinstance(event, MemoryWrite)}
        self.kept = Kept(tuple(range(len(part.events))), tuple(range(len(part.commands))), dict(part.pages), writes)
        self.tries = 0
        self.is_interrupted = False

    def run(self) -> Kept:
        """The smallest that was found.  Ctrl-C ends the search, too."""
        trial = self._trial
        assert trial.stays is not None
        if not trial.stays(list(self.events(self.kept))):
            raise Gen4emuError("the whole trace does not have the problem")
        try:
            if self._parallel is not None:
                has_own = isinstance(trial.stays, CommandSucceeds)
                self._parallel.begin(replace(trial, stays=None) if has_own else trial, self.kept)
            before = None
            while before != self.kept:
                before = self.kept
                for level in (self._submissions, self._commands, self._pages, self._objects, self._contents,
                              self._instructions, self._fields):
                    level()
        except Over:
            pass
        except KeyboardInterrupt:
            self.is_interrupted = True
        return self.kept

    def events(self, kept: Kept) -> Iterator[Event]:
        """The events of a candidate."""
        return self._trial.events(kept)

    def _found(self) -> edits.Found:
        """The parts of the smallest candidate's memory that can be changed."""
        pages, result, indices = self._trial.assembled(self.kept)
        return edits.find(self._part.device, pages, list(zip(indices, result.events, strict=True)))

    def _try(self, candidate: Kept) -> bool:
        if time.monotonic() > self._trial.end or self.tries == self._most_tries:
            raise Over
        self.tries += 1
        following, self._following = self._following, iter(())
        is_over, stays = self._trial(candidate) if self._parallel is None else self._parallel.ask(candidate, following)
        if is_over:
            raise Over
        self.kept = candidate if stays else self.kept
        return stays

    def _leave_out(self, items: Sequence[_T], candidate: Callable[[list[_T]], Kept], *, or_all: bool = False) -> None:
        """Leave out as many items as possible; with `or_all`, first all together.  `candidate` has those that stay."""
        def announce(following: Iterator[list[_T]]) -> None:
            self._following = map(candidate, following)

        if not (or_all and self._try(candidate([]))):
            leave_out(items, lambda fewer: self._try(candidate(fewer)), _MOST_TRIES, announce)

    def _submissions(self) -> None:
        self._leave_out(self.kept.events, lambda fewer: replace(self.kept, events=tuple(fewer)))
        self._on_step("submissions", self.kept)

    def _commands(self) -> None:
        for draws in (True, False):
            others = [index for index in self.kept.commands if self._part.commands[index][3] is not draws]
            mine = [index for index in self.kept.commands if self._part.commands[index][3] is draws]

            def candidate(fewer: list[int], others: list[int] = others) -> Kept:
                return replace(self.kept, commands=tuple(sorted([*fewer, *others])))

            self._leave_out(mine, candidate, or_all=True)
            self._on_step("draws" if draws else "state commands", self.kept)

    def _pages(self) -> None:
        pages = dict(self.kept.pages)
        self._leave_out(sorted(pages), lambda fewer: replace(self.kept, pages={at: pages[at] for at in fewer}))
        self._on_step("pages", self.kept)

    def _objects(self) -> None:
        """Fewer vertices and instances of each draw."""
        for draw in self._found().draws:
            values = {name: value for name, (_, _, value) in draw.fields.items()}

            def stays(start: int, count: int, draw: edits.Draw = draw) -> bool:
                return self._try(self.kept.edited(draw.edit(start_vertex_location=start,
                                                            vertex_count_per_instance=count)))

            def has_instances(start: int, count: int, draw: edits.Draw = draw) -> bool:
                return start == 0 and self._try(self.kept.edited(draw.edit(instance_count=count)))

            edits.shrink(0, values["instance_count"], 1, has_instances)
            edits.shrink(values["start_vertex_location"], values["vertex_count_per_instance"], draw.unit, stays)
        self._on_step("objects", self.kept)

    def _contents(self) -> None:
        """Set parts of memory to zero."""
        for size in _BLOCKS:
            self._change([edits.Edit.of_bytes(key, at, bytes(min(size, len(data) - at)))
                          for key, data in sorted(self.kept.memory.items()) for at in range(0, len(data), size)
                          if any(data[at:at + size])])
            self._on_step(f"contents, {size} bytes at a time", self.kept)

    def _instructions(self) -> None:
        """Replace instructions of kernels by nop, then remove these."""
        kernels = self._found().kernels
        for kernel in kernels:
            self._change(kernel)
        for kernel in kernels:
            without = edits.without_nops(self.kept.memory, kernel)
            if without:
                self._try(self.kept.edited(without))
        self._on_step("kernel instructions", self.kept)

    def _fields(self) -> None:
        """Set fields of commands and state to 0."""
        self._change(self._found().fields)
        self._on_step("fields", self.kept)

    def _change(self, wanted: list[edits.Edit]) -> None:
        """Make as many changes as possible."""
        before = self.kept

        def candidate(fewer: list[edits.Edit]) -> Kept:
            unchanged = set(fewer)
            return before.edited(change for change in wanted if change not in unchanged)

        if wanted:
            self._leave_out(wanted, candidate, or_all=True)


def whole(trace: Trace, source: reader.Trace, options: Options | None = None) -> tuple[Part, str]:
    """All of a trace as a part, and the reason of its hang, if it hangs."""
    count = sum(isinstance(event, Submission) for event in source)
    if not count:
        raise SelectionError(f"{trace.path}: no submission")
    part, outcome = record(trace, source, Span(0, count - 1), options)
    return part, outcome.hang


def write(events: Sequence[Event], path: str | os.PathLike[str]) -> None:
    """Write the events of a candidate as a trace."""
    header = events[0]
    assert isinstance(header, Header)
    device = None if header.pci_id is None else chips.BY_PCI_ID.get(header.pci_id)
    assert device is not None
    with new_writer(container_of(path), path, device, header.application, Dedup.NONE) as writer:
        for event in events[1:]:  # the writer has written the header
            copy_event(event, writer)


def shown(stays: Stays, path: str | os.PathLike[str]) -> bool:
    """Whether the file of a candidate shows the problem."""
    events = list(reader.open(path))
    return stays.surely(events) if isinstance(stays, SameHang) else stays(events)
