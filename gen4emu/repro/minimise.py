"""A trace without everything that can be left out while something stays: a hang, a pixel, a difference.

Delta debugging by levels: submissions and writes of the CPU, draws, state commands, pages, then parts of pages.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from gen4emu.api.trace import Trace
from gen4emu.bisect.digests import surface_bytes
from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.memory import PAGE_SIZE
from gen4emu.device.options import Options
from gen4emu.device.targets import Target
from gen4emu.errors import Gen4emuError, HangError, SelectionError
from gen4emu.hw import chips
from gen4emu.repro.reduction import leave_out
from gen4emu.repro.trim import Assembled, Part, Span, events_of, execute, record, without
from gen4emu.trace import reader
from gen4emu.trace.conversion import container_of, copy_event, new_writer
from gen4emu.trace.events import Event, Submission
from gen4emu.trace.write_aub import Dedup

Stays = Callable[[Sequence[Event]], bool]
_MOST_TRIES = 1 << 30  # time limits them
_BLOCKS = (1024, 256, 64, 16)  # bytes that are set to zero together


class _Over(Exception):
    """The time is over."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What is left of a part."""

    events: tuple[int, ...]  # indices
    commands: tuple[int, ...]  # indices
    pages: dict[int, bytes]

    def __str__(self) -> str:
        size = sum(len(data) - data.count(0) for data in self.pages.values())
        return (f"submissions and writes: {len(self.events)}, commands: {len(self.commands)}, "
                f"pages: {len(self.pages)}, bytes that are not 0: {size}")


# --- what stays -------------------------------------------------------------------------------------------------------
def same_hang(part: Part, options: Options | None = None) -> Stays:
    """The hang of the whole trace, at the same command and for the same reason."""
    reason = execute(part.device, events_of(part, part.pages, Assembled(part.events, {}, set(), [])), options)[0].hang
    if not reason:
        raise SelectionError("nothing hangs")
    return lambda events: execute(part.device, events, options)[0].hang == reason


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
    """The colour that a pixel of the last render target has in the end."""
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
            if last.target is None:
                return b""
            return pixel_bytes(device, target[0], x, y)

    wanted = color(events_of(part, part.pages, Assembled(part.events, {}, set(), [])))
    return lambda events: color(events) == wanted


def pixel_bytes(device: Device, target: Target, x: int, y: int) -> bytes:
    if not (0 <= x < target.width and 0 <= y < target.height):
        raise SelectionError(f"pixel {x},{y} is outside of a render target of {target.width}x{target.height}")
    return surface_bytes(device.memory, replace(target, x=target.x + x, y=target.y + y, width=1, height=1, chroma=()))


def differs_between(part: Part, left: chips.Device, right: chips.Device, options: Options | None = None) -> Stays:
    """Two devices draw other bytes, or one of them hangs."""
    def differs(events: Sequence[Event]) -> bool:
        first, second = (execute(device, events, options)[0] for device in (left, right))
        return first.draws != second.draws or first.hang != second.hang

    return differs


def command_succeeds(part: Part, command: Sequence[str], name: str) -> Stays:
    """A command exits with status 0; the path of the candidate is its last argument."""
    def succeeds(events: Sequence[Event]) -> bool:
        with TemporaryDirectory(prefix="gen4emu-") as directory:
            path = Path(directory, name)
            write(part, events, path)
            try:
                return subprocess.run([*command, str(path)], stdout=subprocess.DEVNULL, check=False).returncode == 0
            except OSError as e:
                raise Gen4emuError(f"{command[0]}: cannot be run: {e.strerror}") from None

    return succeeds


# --- the search -------------------------------------------------------------------------------------------------------
class Minimiser:
    """Leaves out parts of a trace, level by level, until nothing more can be left out or the time is over."""

    def __init__(self, part: Part, stays: Stays, seconds: float, on_step: Callable[[str, Kept], object]) -> None:
        self._part, self._stays, self._on_step = part, stays, on_step
        self._end = time.monotonic() + seconds
        self.kept = Kept(tuple(range(len(part.events))), tuple(range(len(part.commands))), dict(part.pages))
        self.tries = 0

    def run(self) -> Kept:
        """The smallest that was found.  Ctrl-C ends the search, too."""
        if not self._stays(list(self.events(self.kept))):
            raise Gen4emuError("the whole trace does not show what is to stay")
        try:
            before = None
            while before != self.kept:
                before = self.kept
                for level in (self._submissions, self._commands, self._pages, self._contents):
                    level()
        except (_Over, KeyboardInterrupt):
            pass
        return self.kept

    def events(self, kept: Kept) -> Iterator[Event]:
        """The events of a candidate."""
        result = Assembled([], dict(kept.pages), set(), [])
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
            if isinstance(event, Submission):
                for address, size in cleared.get(number, ()):
                    event = without(result, event, address, size, first=number == 0)
            result.events.append(event)
        pages = {page: data for page, data in result.pages.items() if page in kept.pages}
        return events_of(self._part, pages, result)

    def _try(self, candidate: Kept) -> bool:
        if time.monotonic() > self._end:
            raise _Over
        self.tries += 1
        if not self._stays(list(self.events(candidate))):
            return False
        self.kept = candidate
        return True

    def _submissions(self) -> None:
        leave_out(self.kept.events, lambda fewer: self._try(replace(self.kept, events=tuple(fewer))), _MOST_TRIES)
        self._on_step("submissions", self.kept)

    def _commands(self) -> None:
        for draws in (True, False):
            others = [index for index in self.kept.commands if self._part.commands[index][3] is not draws]
            mine = [index for index in self.kept.commands if self._part.commands[index][3] is draws]

            def stays(fewer: list[int], others: list[int] = others) -> bool:
                return self._try(replace(self.kept, commands=tuple(sorted([*fewer, *others]))))

            if not stays([]):
                leave_out(mine, stays, _MOST_TRIES)
            self._on_step("draws" if draws else "state commands", self.kept)

    def _pages(self) -> None:
        pages = dict(self.kept.pages)
        leave_out(sorted(pages), lambda fewer: self._try(replace(self.kept, pages={at: pages[at] for at in fewer})),
                  _MOST_TRIES)
        self._on_step("pages", self.kept)

    def _contents(self) -> None:
        """Set parts of pages to zero."""
        for size in _BLOCKS:
            blocks = [page + at for page, data in sorted(self.kept.pages.items()) for at in range(0, PAGE_SIZE, size)
                      if any(data[at:at + size])]
            pages = dict(self.kept.pages)

            def stays(fewer: list[int], size: int = size, blocks: list[int] = blocks,
                      pages: dict[int, bytes] = pages) -> bool:
                changed = {page: bytearray(data) for page, data in pages.items()}
                for block in set(blocks).difference(fewer):
                    page = block & -PAGE_SIZE
                    changed[page][block - page:block - page + size] = bytes(size)
                return self._try(replace(self.kept, pages={page: bytes(data) for page, data in changed.items()}))

            leave_out(blocks, stays, _MOST_TRIES)
            self._on_step(f"contents, {size} bytes at a time", self.kept)


def whole(trace: Trace, source: reader.Trace, options: Options | None = None) -> Part:
    """All of a trace as a part."""
    count = sum(isinstance(event, Submission) for event in source)
    if not count:
        raise SelectionError(f"{trace.path}: no submission")
    return record(trace, source, Span(0, count - 1), options)[0]


def write(part: Part, events: Sequence[Event], path: str | os.PathLike[str]) -> None:
    """Write events as a trace."""
    with new_writer(container_of(path), path, part.device, part.application, Dedup.NONE) as writer:
        for event in events[1:]:  # the writer has written the header
            copy_event(event, writer)


def verify(stays: Stays, path: str | os.PathLike[str]) -> None:
    if not stays(list(reader.open(path))):
        raise Gen4emuError(f"{path}: the file that was written does not show what is to stay")

