"""Goes to any draw of a trace, forwards and backwards, from the nearest checkpoint before it."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from gen4emu.device.device import Device
from gen4emu.device.options import Options
from gen4emu.device.place import Place
from gen4emu.device.replay import Bookmark, Order, Replay
from gen4emu.errors import Gen4emuError, HangError
from gen4emu.hw.chips import Device as Part
from gen4emu.selection import Selection
from gen4emu.trace.reader import Trace

_INTERVAL_SECONDS = 0.05  # of replay between two checkpoints
_MOST = 256
_MOST_BYTES = 1 << 30
_NEAR = 4  # bookmarks that are kept on each side of the latest one
KEPT_EVENT_BYTES = 256 << 20  # of the trace, so that going back does not read the file again


@dataclass(frozen=True, slots=True)
class Arrival:
    """The end of a draw: its device rests until the timeline goes elsewhere."""

    device: Device
    place: Place


# The numbers of what comes next at a bookmark.
_NUMBERS: dict[str, Callable[[Bookmark], int]] = {
    "draw": lambda bookmark: bookmark.checkpoint.draws,
    "submission": lambda bookmark: bookmark.submissions,  # one that has begun does not begin again
    "frame": lambda bookmark: bookmark.frames,
    "whole frame": lambda bookmark: max(bookmark.frames, bookmark.checkpoint.state.frame + 1) if bookmark.submissions
    else bookmark.frames}


class Bookmarks:
    """Places of one trace where an execution can begin, on the same chip with the same options, besides its start."""

    def __init__(self, interval: float = _INTERVAL_SECONDS, most: int = _MOST, most_bytes: int = _MOST_BYTES) -> None:
        """`interval` is the time of execution between two of them; 0 takes one wherever the device rests."""
        self._interval, self._most, self._most_bytes = interval, most, most_bytes
        self._all: list[Bookmark] = []  # in the order of the trace
        self._sizes: list[int] = []  # the bytes that each holds and the one before does not
        self._taken_at = 0.0

    def __iter__(self) -> Iterator[Bookmark]:
        return iter(self._all)

    def clear(self) -> None:
        """Forget all of them, and free their memory."""
        self._all.clear()
        self._sizes.clear()

    def add(self, bookmarks: Iterable[Bookmark]) -> None:
        """Take over bookmarks of another execution."""
        known = {bookmark.order: bookmark for bookmark in (*bookmarks, *self._all)}
        self._all = sorted(known.values(), key=lambda bookmark: bookmark.order)
        self._sizes = [0] * len(self._all)
        self._measure(0, len(self._all))
        self._thin(len(self._all) - 1)

    def drop(self, orders: Collection[Order]) -> None:
        """Forget some."""
        before = len(self._all)
        self._remove([i for i, bookmark in enumerate(self._all) if bookmark.order in orders])
        if len(self._all) != before:
            self._sizes = [0] * len(self._all)
            self._measure(0, len(self._all))

    def begin(self) -> None:
        """An execution begins: the next bookmark follows after the interval."""
        self._taken_at = time.monotonic()

    def before(self, number: int, unit: str = "draw") -> Bookmark | None:
        """The last one at which the draw or submission with this number has not begun, or the frame has not ended.

        With "whole frame", no submission of the frame has begun.
        """
        index = bisect_right(self._all, number, key=_NUMBERS[unit])
        return self._all[index - 1] if index else None

    def last(self) -> Bookmark | None:
        """The one that is nearest to the end of the trace."""
        return self._all[-1] if self._all else None

    def pass_by(self, run: Replay) -> bool:
        """An execution rests: keep a bookmark if the last one is far away.  Returns whether there is a new one."""
        return time.monotonic() - self._taken_at >= self._interval and self.keep(run)

    def keep(self, run: Replay) -> bool:
        """An execution rests: keep a bookmark.  Returns whether it is new."""
        new = False
        at = bisect_right(self._all, run.order, key=lambda bookmark: bookmark.order)
        if not at or self._all[at - 1].order != run.order:
            bookmark = run.bookmark()
            if bookmark is not None:
                new = True
                self._all.insert(at, bookmark)
                self._sizes.insert(at, 0)
                self._measure(at, at + 2)
                self._thin(at)
        self._taken_at = time.monotonic()
        return new

    def _thin(self, near: int) -> None:
        """Drop some while there are too many, or they hold too much: where they are closest, but for those around one.

        So distances stay alike all over the trace, and stay short where the execution is.
        """
        while len(self._all) > 1 and (len(self._all) > self._most or self.held_bytes > self._most_bytes):
            others = [i for i in range(len(self._all) - 1) if abs(i - near) > _NEAR] or range(len(self._all) - 1)
            victim = min(others, key=self._span)
            self._remove([victim])
            self._measure(victim, victim + 1)
            near -= victim < near

    def _span(self, index: int) -> int:
        """How many draws and submissions are between the neighbours of one."""
        before = _steps(self._all[index - 1]) if index else 0
        return _steps(self._all[index + 1]) - before

    def _remove(self, indices: Sequence[int]) -> None:
        """Remove some; those after them take over what was written since the ones before."""
        for i in reversed(indices):
            if i + 1 < len(self._all):
                self._all[i + 1] = _joined(self._all[i], self._all[i + 1])
            del self._all[i], self._sizes[i]

    def written(self, index: int) -> frozenset[int] | None:
        """The pages that may have changed between the bookmark before this one, by index, and it; None: not known."""
        bookmark = self._all[index]
        if not index or bookmark.since is None or bookmark.since > self._all[index - 1].order:
            return None
        return bookmark.checkpoint.memory.written

    @property
    def held_bytes(self) -> int:
        """The bytes of all pages that they hold, shared ones once."""
        return sum(self._sizes)

    def _measure(self, first: int, end: int) -> None:
        for i in range(first, min(end, len(self._all))):
            before: Mapping[int, bytes] = self._all[i - 1].checkpoint.memory.pages if i else {}
            pages = self._all[i].checkpoint.memory.pages
            self._sizes[i] = sum(len(data) for number, data in pages.items() if before.get(number) is not data)


def _steps(bookmark: Bookmark) -> int:
    return bookmark.checkpoint.draws + bookmark.submissions


def _joined(first: Bookmark, second: Bookmark) -> Bookmark:
    """The second one of two neighbours, which says what was written since the one before the first."""
    if second.since is None or second.since < first.order:
        return second
    image = second.checkpoint.memory
    pages = (first.checkpoint.memory.written, image.written)
    written = None if pages[0] is None or pages[1] is None or second.since != first.order else pages[0] | pages[1]
    checkpoint = replace(second.checkpoint, memory=replace(image, written=written))
    return replace(second, checkpoint=checkpoint, since=None if written is None else first.since)


class Timeline:
    """One trace on one device, executed as often as necessary.

    Executions take checkpoints on the way, where the device rests.  A later execution begins at the last one before its
    draw, so `attach` and `on_draw` see only a part of the draws before that draw.
    """

    def __init__(self, trace: Trace, part: Part | None = None, options: Options | None = None, *,
                 interval: float = _INTERVAL_SECONDS, most: int = _MOST, most_bytes: int = _MOST_BYTES) -> None:
        """For the last three, see Bookmarks."""
        self.trace, self.part, self.options = trace, part, options
        self._bookmarks = Bookmarks(interval, most, most_bytes)
        trace.keep(KEPT_EVENT_BYTES)
        self._run: Replay | None = None
        self._draws = 0  # that an execution has reached

    def close(self) -> None:
        """Free the device and the checkpoints."""
        self._leave()
        self._bookmarks.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.close()

    @property
    def bookmarks(self) -> tuple[Bookmark, ...]:
        """The places where an execution can begin, besides the start of the trace."""
        return tuple(self._bookmarks)

    @property
    def kept(self) -> Bookmarks:
        """Those places, with what was written between them."""
        return self._bookmarks

    def goto(self, draw: int, attach: Callable[[Device], None] | None = None,
             on_draw: Callable[[int], None] | None = None, first: int | None = None) -> Arrival:
        """Execute the trace to the end of a draw, or of the media objects that run together with it.

        `attach` is called with the device at rest before the draw, or before draw `first`, as late as possible.  The
        device of the last call is closed.  Raises SelectionError if there is no such draw, and HangError if the GPU
        hangs first.
        """
        if attach is not None and draw >= self._draws:
            with suppress(HangError):  # it hangs there again, with what is attached
                self._execute(draw, None, None)
        return self._execute(draw, attach, on_draw, first)

    def finish(self) -> Device:
        """Execute the trace from the last checkpoint to its end, and return the device at rest there."""
        return self._execute_all(self._bookmarks.last())

    def execute_from(self, bookmark: Bookmark) -> Device:
        """Execute the trace from a bookmark to its end, and return the device at rest there."""
        return self._execute_all(bookmark)

    def _execute(self, draw: int, attach: Callable[[Device], None] | None,
                 on_draw: Callable[[int], None] | None, first: int | None = None) -> Arrival:
        reached = False

        def drawn(number: int) -> None:
            nonlocal reached
            self._draws = max(self._draws, number + 1)
            if on_draw is not None:
                on_draw(number)
            if number >= draw:
                reached = True
                run.stop()

        run = self._begin(self._bookmarks.before(draw if first is None else min(first, draw)), attach, drawn)
        for _ in run.frames():
            pass
        if not reached:
            Selection.parse(str(draw)).require_any(run.draws, "draw", self.trace.path)
            raise Gen4emuError(f"{self.trace.path}: draw {draw} does not end")
        assert run.device is not None
        return Arrival(run.device, run.place)

    def _execute_all(self, bookmark: Bookmark | None) -> Device:
        run = self._begin(bookmark, None, None)
        for _ in run.frames():
            pass
        if run.device is None:
            raise Gen4emuError(f"{self.trace.path}: holds nothing to execute")
        return run.device

    def _begin(self, bookmark: Bookmark | None, attach: Callable[[Device], None] | None,
               on_draw: Callable[[int], None] | None) -> Replay:
        spare = None if self._run is None else self._run.release()
        self._bookmarks.begin()
        run = self._run = Replay(self.trace, self.part, self.options, on_start=attach, on_draw=on_draw,
                                 on_rest=lambda: self._bookmarks.pass_by(run), at=bookmark, spare=spare)
        return run

    def _leave(self) -> None:
        if self._run is not None:
            self._run.close()
            self._run = None
