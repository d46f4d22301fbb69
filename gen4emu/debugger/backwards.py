"""Going back inside draws: a draw is executed again, with the same numbers of threads, up to an instruction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gen4emu._native import ffi, lib
from gen4emu.core_enums import DebugAction, DebugKind, TrapKind
from gen4emu.debugger.debugger import Debugger, Stop
from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.observer import Trap
from gen4emu.device.options import Options
from gen4emu.device.replay import Bookmark, Replay
from gen4emu.hw.chips import Device as Part
from gen4emu.hw.command_reader import Words
from gen4emu.trace.reader import Trace


@dataclass(frozen=True, slots=True)
class DrawStart:
    """The counts of the debugger before a draw."""

    draw: int
    counts: Any  # struct g4_debug_counts
    hits: dict[int, int]  # of traps and breakpoints, by their numbers
    traps: tuple[Trap, ...]  # whose occurrences `counts` has

    @classmethod
    def of(cls, debugger: Debugger) -> DrawStart | None:
        """None if the core has no debugger."""
        counts = ffi.new("struct g4_debug_counts *")
        if not lib.g4_debug_get_counts(debugger.device.native, counts):
            return None
        return cls(debugger.device.place.draw, counts, {n: hits for n, _, hits in debugger.items()},
                   tuple(debugger.subscription.traps))

    @classmethod
    def zero(cls, draw: int) -> DrawStart:
        """Before a draw with which counting begins."""
        return cls(draw, ffi.new("struct g4_debug_counts *"), {}, ())

    def restore(self, debugger: Debugger) -> None:
        """Count on from here.  Traps that were added later count from 0."""
        counts = ffi.new("struct g4_debug_counts *", self.counts[0])
        known = dict(zip(self.traps, self.counts.occurrences, strict=False))
        for i, trap in enumerate(debugger.subscription.traps):
            counts.occurrences[i] = known.get(trap, 0)
        lib.g4_debug_set_counts(debugger.device.native, counts)
        debugger.set_hits(self.hits)

    def knows(self, debugger: Debugger) -> bool:
        """Whether every trap for a certain occurrence has counted up to here."""
        return all(trap in self.traps for trap in debugger.subscription.traps if trap.instance)


def counts_matter(debugger: Debugger) -> bool:
    """Whether a stop depends on threads, vertices or stops of earlier draws."""
    return debugger.has_single_stops or any(trap.instance or trap.kind in _COUNTING
                                            for trap in debugger.subscription.traps)


_COUNTING = (TrapKind.THREAD, TrapKind.VERTEX_SEQUENCE, TrapKind.DEBUG_ID)


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment inside a draw."""

    start: DrawStart
    serial: int  # of the thread
    executed: int  # instructions of the thread
    flagged: bool  # the thread
    hit: tuple[int, DebugKind] | None = None  # the trap or breakpoint that stops there; None: a step does

    def arm(self, debugger: Debugger) -> None:
        """The draw begins: make it count as it did, and stop."""
        self.start.restore(debugger)
        if self.hit is None:
            lib.g4_debug_stop_at(debugger.device.native, self.serial, self.executed, self.flagged)

    def is_at(self, stop: Stop) -> bool:
        if stop.thread is None or (stop.thread.serial, stop.executed) != (self.serial, self.executed):
            return False
        return stop.reason == "step" if self.hit is None else (stop.number, stop.kind) == self.hit


# Between two instructions, what is reported first; before an instruction comes last.
_ORDER = {kind: n for n, kind in enumerate((DebugKind.THREAD, DebugKind.WRITE, DebugKind.NOT_FINITE,
                                           DebugKind.DENORMAL))}

Position = tuple[int, int, int, int]  # draw; thread in the draw, from 1; instructions; order of stops between two


def position_of(stop: Stop, start: DrawStart) -> Position | None:
    """None if the instructions of the thread are not counted."""
    if stop.thread is None or stop.executed is None:
        return None
    order = _ORDER.get(stop.kind, len(_ORDER))
    return stop.place.draw, stop.thread.serial - start.counts.serial, stop.executed, order


def position_before(draw: int) -> Position:
    """The start of a draw."""
    return draw, 0, 0, 0


class _Uncounted(Exception):
    """A draw that has not run under the debugger, while stops depend on what it counts."""


class _Search(Listener):
    """Executes a part of a trace, and remembers the last stop before a position."""

    def __init__(self, until: Position, starts: dict[int, DrawStart], records: bool, counts: bool) -> None:
        """Draws begin with the counts of `starts`, or (`records`) count on from the start of the trace into it.

        `counts` is whether stops depend on the counts.
        """
        self.found: Moment | None = None
        self._until, self._starts, self._records, self._counts = until, starts, records, counts
        self._start: DrawStart | None = None
        self.run: Replay | None = None
        self.debugger: Debugger | None = None

    def begin(self, device: Device, like: Debugger) -> None:
        self.debugger = Debugger(device, self._stopped)
        like.copy_to(self.debugger)
        device.add_listener(self)

    def draw_started(self, words: Words) -> None:
        assert self.debugger is not None
        assert self.run is not None
        draw = self.debugger.device.place.draw
        if position_before(draw) >= self._until:
            self.run.stop()
        start = self._starts.get(draw)
        if not self._records:
            if self._counts and (start is None or not start.knows(self.debugger)):
                raise _Uncounted
            (start or DrawStart.zero(draw)).restore(self.debugger)
        self._start = DrawStart.of(self.debugger)
        if self._records and self._start is not None:
            self._starts[draw] = self._start

    def _stopped(self, stop: Stop) -> DebugAction:
        assert self.run is not None
        start = self._start
        if start is None or start.draw != stop.place.draw or stop.number is None:
            return DebugAction.GO
        here = position_of(stop, start)
        if here is None or stop.thread is None or stop.executed is None:
            return DebugAction.GO
        if here >= self._until:
            self.run.stop()
        self.found = Moment(start, stop.thread.serial, stop.executed, stop.thread.flagged, (stop.number, stop.kind))
        return DebugAction.GO


def last_hit(trace: Trace, part: Part | None, options: Options, debugger: Debugger, until: Position,
             starts: dict[int, DrawStart], bookmarks: Sequence[Bookmark]) -> Moment | None:
    """The last trap or breakpoint that replays hit before a position: from the last of the bookmarks that is before it
    to the position, then from the bookmark before to that one, and so on.

    `starts` has the counts of draws that have run under the debugger.  If stops depend on counts that it lacks, or the
    debugger changes what is drawn, the whole trace is replayed, and `starts` is filled.
    """
    counts = counts_matter(debugger)

    def search(at: Bookmark | None, end: Position, records: bool) -> Moment | None:
        found = _Search(end, starts, records, counts)
        run = found.run = Replay(trace, part, options, on_start=lambda device: found.begin(device, debugger), at=at,
                                 compares=False)
        try:
            for _ in run.frames():
                pass
        finally:
            run.close()
        return found.found

    if debugger.alters or debugger.has_single_stops:
        return search(None, until, records=True)
    end = until
    try:
        for bookmark in (*reversed(bookmarks), None):
            start = position_before(0 if bookmark is None else bookmark.checkpoint.draws)
            if start >= end:
                continue
            found = search(bookmark, end, records=False)
            if found is not None:
                return found
            end = start
    except _Uncounted:
        return search(None, until, records=True)
    return None
