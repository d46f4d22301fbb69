"""Going back inside draws: a draw is executed again, with the same numbers of threads, up to an instruction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gen4emu._native import ffi, lib
from gen4emu.core_enums import DebugAction, DebugKind
from gen4emu.debugger.debugger import Debugger, Stop
from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.options import Options
from gen4emu.device.replay import Replay
from gen4emu.hw.chips import Device as Part
from gen4emu.hw.command_reader import Words
from gen4emu.trace.reader import Trace


@dataclass(frozen=True, slots=True)
class DrawStart:
    """What the debugger counts, before a draw."""

    draw: int
    counts: Any  # struct g4_debug_counts
    hits: dict[int, int]  # of traps and breakpoints, by their numbers

    @classmethod
    def of(cls, debugger: Debugger) -> DrawStart | None:
        """None if the core has no debugger."""
        counts = ffi.new("struct g4_debug_counts *")
        if not lib.g4_debug_get_counts(debugger.device.native, counts):
            return None
        return cls(debugger.device.place.draw, counts, {n: hits for n, _, hits in debugger.items()})

    def restore(self, debugger: Debugger) -> None:
        """Count on from here."""
        lib.g4_debug_set_counts(debugger.device.native, self.counts)
        debugger.set_hits(self.hits)


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


Position = tuple[int, int, int, int]  # draw; thread in the draw, from 1; instructions; order of stops between two


def position_of(stop: Stop, start: DrawStart) -> Position | None:
    """None if the instructions of the thread are not counted."""
    if stop.thread is None or stop.executed is None:
        return None
    order = {DebugKind.WRITE: 0, DebugKind.NOT_FINITE: 0, DebugKind.THREAD: 0}.get(stop.kind, 1)
    return stop.place.draw, stop.thread.serial - start.counts.serial, stop.executed, order


def position_before(draw: int) -> Position:
    """The start of a draw."""
    return draw, 0, 0, 0


class _Search(Listener):
    """Executes a trace from its start, and remembers the last stop before a position."""

    def __init__(self, until: Position) -> None:
        self.found: Moment | None = None
        self._until = until
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
        self._start = DrawStart.of(self.debugger)
        if position_before(self.debugger.device.place.draw) >= self._until:
            self.run.stop()

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


def last_hit(trace: Trace, part: Part | None, options: Options, debugger: Debugger, until: Position) -> Moment | None:
    """The last trap or breakpoint that a replay of its own hits before a position."""
    search = _Search(until)
    search.run = Replay(trace, part, options, on_start=lambda device: search.begin(device, debugger))
    try:
        for _ in search.run.frames():
            pass
    finally:
        search.run.close()
    return search.found
