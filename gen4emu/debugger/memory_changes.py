"""The draw or upload that changed some ranges of memory last."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from gen4emu.device.checkpoints import Spare
from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.memory import PAGE_SIZE, Missing
from gen4emu.device.options import Options
from gen4emu.device.place import Place
from gen4emu.device.replay import Bookmark, Replay
from gen4emu.device.timeline import Bookmarks
from gen4emu.errors import HangError
from gen4emu.hw.chips import Device as Part
from gen4emu.hw.command_reader import Words
from gen4emu.trace.reader import Trace

Range = tuple[int, int]  # address and size


@dataclass(frozen=True, slots=True)
class Change:
    """How memory got its contents."""

    place: Place | None  # None: it has never changed
    by_draw: bool  # else by the trace itself, before this draw

    @property
    def text(self) -> str:
        if self.place is None:
            return "never written"
        return f"written by draw {self.place.draw}" if self.by_draw else f"uploaded before draw {self.place.draw}"

    def as_json(self) -> dict[str, Any]:
        if self.place is None:
            return {"kind": "none", "draw": None}
        return {"kind": "draw" if self.by_draw else "upload", **self.place.as_json()}


class _Comparison(Listener):
    """Compares ranges of memory at the start and the end of each draw.  Writes of equal bytes are not seen."""

    def __init__(self, ranges: Iterable[Range], draw: int, end: int | None, stop: Callable[[], None], *,
                 from_start: bool) -> None:
        """Up to the start of `draw`, or to the first comparison in or after the draw `end`.

        Unless the trace runs from its start, the first comparison belongs to an execution that comes from before.
        """
        self.found: dict[Range, Change] = {}
        self.changed_before: set[Range] = set()  # the first comparison
        self.pages: dict[Range, set[int]] = {}  # physical ones
        self._draw, self._end, self._stop = draw, end, stop
        self._before: dict[Range, bytes] = {(address, size): bytes(size) for address, size in ranges}
        self._is_first = not from_start
        self._device: Device | None = None

    def join(self, device: Device) -> None:
        self._device = device
        memory = device.memory
        for address, size in self._before:
            first, last = address // PAGE_SIZE, (address + max(size, 1) - 1) // PAGE_SIZE
            self.pages[address, size] = {memory.physical(page * PAGE_SIZE) // PAGE_SIZE
                                         for page in range(first, last + 1)}
            if self._is_first:
                self._before[address, size] = memory.read(address, size, Missing.ZERO)
        device.add_listener(self)

    def draw_started(self, words: Words) -> None:
        self._compare(by_draw=False)

    def draw_done(self) -> None:
        self._compare(by_draw=True)

    def _compare(self, *, by_draw: bool) -> None:
        assert self._device is not None
        place = self._device.place
        if place.draw > self._draw or (by_draw and place.draw == self._draw):
            return
        for (address, size), before in self._before.items():
            now = self._device.memory.read(address, size, Missing.ZERO)
            if now != before:
                self._before[address, size] = now
                if self._is_first:
                    self.changed_before.add((address, size))
                else:
                    self.found[address, size] = Change(place, by_draw)
        self._is_first = False
        if self._end is not None and place.draw >= self._end:
            self._stop()


class MemoryChanges:
    """Executes a trace from the last bookmarks before a draw, as far back as the memory in question was written."""

    def __init__(self, trace: Trace, part: Part | None, options: Options, bookmarks: Bookmarks, draw: int) -> None:
        self._trace, self._part, self._options, self._draw = trace, part, options, draw
        self._bookmarks = [bookmark for bookmark in bookmarks if bookmark.checkpoint.draws <= draw]
        # The pages written between each bookmark and the one before.
        self._written = [bookmarks.written(i) for i in range(len(self._bookmarks))]
        self._spare: Spare | None = None  # of the last replay

    def find(self, ranges: Iterable[Range]) -> dict[Range, Change]:
        """The last change of each range before the draw starts."""
        found = {one: Change(None, by_draw=False) for one in ranges}
        left = set(found)
        changed_behind: set[Range] = set()  # the next bookmark, and before the first comparison there
        pages: dict[Range, set[int]] = {}
        end, most = len(self._bookmarks), 1
        while left and end >= 0:
            written = self._written[end] if end < len(self._bookmarks) else None
            wanted = {one for one in left
                      if written is None or one in changed_behind or not written.isdisjoint(pages[one])}
            first = end
            if wanted and written is None and end < len(self._bookmarks):  # execute more at a time: less to restore
                while first > 0 and end - first + 1 < most and self._written[first - 1] is None:
                    first -= 1
                most *= 2
            if wanted:
                seen = self._execute(first, end, wanted)
                pages |= seen.pages
                found |= seen.found
                left -= seen.found.keys()
                changed_behind = seen.changed_before & left
            else:
                changed_behind = set()
            end = first - 1
        if self._spare is not None:
            self._spare.close()
        return found

    def _execute(self, first: int, end: int, ranges: set[Range]) -> _Comparison:
        """From the bookmark before that with the number `first` to the first comparison after that with `end`."""
        at: Bookmark | None = self._bookmarks[first - 1] if first else None
        until = self._bookmarks[end].checkpoint.draws if end < len(self._bookmarks) else None
        run: Replay
        seen = _Comparison(ranges, self._draw, until, lambda: run.stop(), from_start=at is None)
        run = Replay(self._trace, self._part, self._options, on_start=seen.join,
                     on_draw=lambda number: run.stop() if number >= self._draw else None, at=at,
                     spare=self._spare, compares=False)
        try:
            with suppress(HangError):  # after the draw
                for _ in run.frames():
                    pass
        finally:
            self._spare = run.release()
        return seen
