"""A trace without everything that can be left out while something stays: a hang, a pixel, a difference.

Delta debugging by levels: submissions and writes of the CPU, draws, state commands, pages, objects, parts of memory,
instructions of kernels, fields of commands and state.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, TypeVar

from gen4emu.api.trace import Trace
from gen4emu.bisect.digests import surface_bytes
from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.options import Options
from gen4emu.device.targets import Target
from gen4emu.errors import Gen4emuError, HangError, SelectionError
from gen4emu.hw import chips
from gen4emu.repro import edits
from gen4emu.repro.ahead import Ahead, Changes, changed, changes
from gen4emu.repro.reduction import leave_out
from gen4emu.repro.trim import Assembled, Part, Span, events_of, execute, record, without
from gen4emu.trace import reader
from gen4emu.trace.conversion import container_of, copy_event, new_writer
from gen4emu.trace.events import Event, MemoryWrite, Submission
from gen4emu.trace.write_aub import Dedup

_MOST_TRIES = 1 << 30
_T = TypeVar("_T")
_WATCHDOGS = (50, 1000)  # million instructions of a draw, while candidates are tried
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
class SameHang:
    """The hang of the whole trace, at the same command and for the same reason.

    Threads that do not end take seconds until the watchdog stops them.  It stops those of candidates earlier, if the
    whole trace hangs in the same way then; `surely` is for the result.
    """

    def __init__(self, part: Part, reason: str, options: Options | None = None) -> None:
        if not reason:
            raise SelectionError("nothing hangs")
        self._part, self._reason, self._options = part, reason, options or Options()
        self._quick = self._options
        events = list(events_of(part, part.pages, Assembled(part.events, {}, set(), [])))
        for watchdog in _WATCHDOGS if not self._options.watchdog else ():
            choices = replace(self._options, watchdog=watchdog)
            if self._is_same(events, choices):
                self._quick = choices
                break

    def _is_same(self, events: Sequence[Event], options: Options) -> bool:
        return execute(self._part.device, events, options)[0].hang == self._reason

    def __call__(self, events: Sequence[Event], deadline: float | None = None) -> bool:
        return self._is_same(events, self._quick)

    def surely(self, events: Sequence[Event], deadline: float | None = None) -> bool:
        return self._is_same(events, self._options)


class _Last(Listener):
    """The target that was drawn to last."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self.target: Target | None = None

    def draw_done(self) -> None:
        for target in self._device.targets.latest:
            if target.kind == "color":
                self.target = target


def same_pixel(part: Part, x: int, y: int, options: Options | None = None) -> Stays:
    """The colour that a pixel of the last render target has in the end, which stays the last one."""
    target: list[Target] = []

    def color(events: Sequence[Event] | Iterator[Event]) -> bytes:
        with Device(part.device, options) as device:
            last = _Last(device)
            device.add_listener(last)
            try:
                for event in events:
                    device.apply(event)
            except HangError:
                return b""
            if not target:
                if last.target is None:
                    raise SelectionError("nothing is drawn")
                target.append(last.target)
            if last.target != target[0]:
                return b""
            return pixel_bytes(device, target[0], x, y)

    wanted = color(events_of(part, part.pages, Assembled(part.events, {}, set(), [])))

    def is_same(events: Sequence[Event], deadline: float | None = None) -> bool:
        return color(events) == wanted

    return is_same


def pixel_bytes(device: Device, target: Target, x: int, y: int) -> bytes:
    if not (0 <= x < target.width and 0 <= y < target.height):
        raise SelectionError(f"pixel {x},{y} is outside of a render target of {target.width}x{target.height}")
    return surface_bytes(device.memory, replace(target, x=target.x + x, y=target.y + y, width=1, height=1, chroma=()))


def differs_between(part: Part, left: chips.Device, right: chips.Device, options: Options | None = None) -> Stays:
    """Two devices draw other bytes, or one of them hangs."""
    def differs(events: Sequence[Event], deadline: float | None = None) -> bool:
        first, second = (execute(device, events, options)[0] for device in (left, right))
        return first.draws != second.draws or first.hang != second.hang

    return differs


def command_succeeds(part: Part, command: Sequence[str], name: str) -> Stays:
    """A command exits with status 0; the path of the candidate is its last argument."""
    def succeeds(events: Sequence[Event], deadline: float | None = None) -> bool:
        with TemporaryDirectory(prefix="gen4emu-") as directory:
            path = Path(directory, name)
            write(part, events, path)
            try:
                return _status([*command, str(path)], deadline) == 0
            except OSError as e:
                raise Gen4emuError(f"{command[0]}: cannot be run: {e.strerror}") from None

    return succeeds


def _status(command: Sequence[str], deadline: float | None) -> int:
    """The exit status of a command.  What it has started ends with it if it takes too long, or by Ctrl-C."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          start_new_session=True) as process:
        try:
            return process.wait(None if deadline is None else max(0.0, deadline - time.monotonic()))
        except BaseException as e:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(e, subprocess.TimeoutExpired):
                raise Over from None
            raise


# --- the search -------------------------------------------------------------------------------------------------------
class Minimiser:
    """Leaves out parts of a trace, level by level, until nothing more can be left out or the time is over."""

    def __init__(self, part: Part, stays: Stays, seconds: float, on_step: Callable[[str, Kept], object],
                 most_tries: int | None = None, jobs: int = 1) -> None:
        """`jobs` candidates are tried at a time.  Their number does not change the result."""
        self._part, self._stays, self._on_step, self._most_tries = part, stays, on_step, most_tries
        self._jobs = jobs
        self._ahead: Ahead[Kept] | None = None
        self._following: Iterator[Kept] = iter(())  # the candidates behind the next one
        self._end = time.monotonic() + seconds
        writes = {index: bytes(event.data) for index, event in enumerate(part.events) if isinstance(event, MemoryWrite)}
        self.kept = Kept(tuple(range(len(part.events))), tuple(range(len(part.commands))), dict(part.pages), writes)
        self.tries = 0

    def run(self) -> Kept:
        """The smallest that was found.  Ctrl-C ends the search, too."""
        if not self._stays(list(self.events(self.kept))):
            raise Gen4emuError("the whole trace does not show what is to stay")
        try:
            if self._jobs > 1:
                self._ahead = Ahead(self._ask, self.kept, self._jobs)
            before = None
            while before != self.kept:
                before = self.kept
                for level in (self._submissions, self._commands, self._pages, self._objects, self._contents,
                              self._instructions, self._fields):
                    level()
        except (Over, KeyboardInterrupt):
            pass
        finally:
            if self._ahead is not None:
                self._ahead.close()
        return self.kept

    def events(self, kept: Kept) -> Iterator[Event]:
        """The events of a candidate."""
        pages, result, _ = self._assembled(kept)
        return events_of(self._part, pages, result)

    def _assembled(self, kept: Kept) -> tuple[dict[int, bytes], Assembled, list[int]]:
        """Memory, events, and the index of each event; -1 is one that clears commands."""
        result, indices = Assembled([], dict(kept.pages), set(), []), list[int]()
        cleared: dict[int, list[tuple[int, int]]] = {}
        commands = set(kept.commands)
        for index, (submission, address, size, _) in enumerate(self._part.commands):
            if index not in commands:
                cleared.setdefault(submission, []).append((address, size))
        number, left = -1, set(kept.events)
        for index, event in enumerate(self._part.events):
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

    def _found(self) -> edits.Found:
        """The parts of the smallest candidate's memory that can be changed."""
        pages, result, indices = self._assembled(self.kept)
        return edits.find(self._part.device, pages, list(zip(indices, result.events, strict=True)))

    def _try(self, candidate: Kept) -> bool:
        if time.monotonic() > self._end or self.tries == self._most_tries:
            raise Over
        self.tries += 1
        following, self._following = self._following, iter(())
        is_over, stays = self._ask(candidate) if self._ahead is None else self._ahead.ask(candidate, following)
        if is_over:
            raise Over
        self.kept = candidate if stays else self.kept
        return stays

    def _ask(self, candidate: Kept) -> tuple[bool, bool]:
        """Whether the time is over, and whether the problem stays."""
        try:
            return False, self._stays(list(self.events(candidate)), self._end)
        except Over:
            return True, False
        except Gen4emuError:  # such as a register that is loaded from memory that was left out
            return False, False

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


def write(part: Part, events: Sequence[Event], path: str | os.PathLike[str]) -> None:
    """Write events as a trace."""
    with new_writer(container_of(path), path, part.device, part.application, Dedup.NONE) as writer:
        for event in events[1:]:  # the writer has written the header
            copy_event(event, writer)


def verify(stays: Stays, path: str | os.PathLike[str]) -> None:
    if not stays(list(reader.open(path))):
        raise Gen4emuError(f"{path}: the file that was written does not show what is to stay")

