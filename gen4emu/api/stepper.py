"""Runs a trace a step at a time: execution rests after draws, submissions and frames until the caller continues it.

The replay runs on a thread of its own, because a draw ends deep inside the command streamer.  Only one of the two
threads runs at any time, so the device needs no locks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from gen4emu.device.counters import CountedDraw
from gen4emu.device.device import Device
from gen4emu.device.options import Options
from gen4emu.device.place import Place
from gen4emu.device.replay import Bookmark, Replay
from gen4emu.device.targets import Target
from gen4emu.device.timeline import Bookmarks
from gen4emu.errors import HangError, TraceError
from gen4emu.hw.chips import Device as Part
from gen4emu.selection import ALL
from gen4emu.trace.reader import Trace


@dataclass(frozen=True, slots=True)
class Stop:
    """Where execution rests: after a draw, a submission or a frame."""

    unit: str  # "draw", "submission", "frame"; "draw begins", if a listener calls `rest_before_draw`
    number: int
    place: Place
    targets: tuple[Target, ...]


Until = Callable[[str, range], bool]  # the unit, and the numbers of what has ended: several of media objects
OnProgress = Callable[[str, int], None]  # a unit and a number


class Stepper:
    """One run of a trace.  `advance` continues it; `close` ends it at once."""

    def __init__(self, trace: Trace, part: Part | None, options: Options | None, partial: bool,
                 on_start: Callable[[Device], None] | None = None, on_progress: OnProgress | None = None,
                 on_counters: Callable[[CountedDraw], None] | None = None, bookmarks: Bookmarks | None = None,
                 at: Bookmark | None = None) -> None:
        """`bookmarks` are added to on the way; `at` is the one where the run begins, if not at the start."""
        self.replay = Replay(trace, part, options, on_start=on_start, on_draw=self._draw, on_counters=on_counters,
                             on_rest=self._pass_by, at=at)
        self._bookmarks = bookmarks
        self.stop: Stop | None = None
        self.ended = self.closed = False
        self.counts = {"draw": 0, "submission": 0, "frame": 0}  # that have ended
        if at is not None:
            self.counts = {"draw": at.checkpoint.draws, "submission": at.ended_submissions, "frame": at.frames}
        self.begun = self.counts["draw"]  # the draws that have begun, if a listener calls `rest_before_draw`
        if bookmarks is not None:
            bookmarks.begin()
        self.epoch = 0  # incremented when execution continues, which makes earlier views stale
        self._partial, self._on_progress = partial, on_progress
        self._until: Until = lambda unit, numbers: False
        self._error: BaseException | None = None
        self._continue, self._rests = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, name="gen4emu replay", daemon=True)

    @property
    def device(self) -> Device:
        if self.replay.device is None:
            raise TraceError(self.replay.trace.path, None, "holds nothing to execute")
        return self.replay.device

    def advance(self, until: Until) -> Stop | None:
        """Run to the first stop for which `until(unit, numbers)` is true; None at the end of the trace."""
        if self.closed or self.ended:
            return None
        self._until = until
        self.epoch += 1
        self.stop = None
        if not self._thread.is_alive():
            self._thread.start()
        self._continue.release()
        self._rests.acquire()
        error, self._error = self._error, None
        if error is not None:
            raise error
        return self.stop

    def close(self) -> None:
        """Free the device.  Nothing can be looked at afterwards."""
        if self.closed:
            return
        self.closed = True
        self.epoch += 1
        if self._thread.is_alive():
            self._continue.release()
            self._thread.join()
        self.replay.close()

    # --- on the replay's thread -----------------------------------------------------------------------------------
    def rest_before_draw(self) -> None:
        """Rest before the draw that has begun, if `until` wants that; a listener of the device calls it."""
        place = self.device.place
        self.begun = place.draw + 1
        self._rest_if_wanted(Stop("draw begins", place.draw, place, ()), range(place.draw, place.draw + 1))

    def _run(self) -> None:
        self._continue.acquire()
        try:
            if not self.closed:
                for frame in self.replay.frames(ALL, ALL):
                    self._rest(frame.unit, frame.number, frame.number, frame.place, frame.targets)
                self._check_damage()
        except HangError as e:
            where = self.replay.place.text
            self._error = HangError(f"{self.replay.trace.path}: {e} ({where})", e.reason)
            self._error.__cause__ = e
        except BaseException as e:
            self._error = e
        finally:
            self.ended = True
            self._rests.release()

    def _pass_by(self) -> None:
        if self._bookmarks is not None:
            self._bookmarks.pass_by(self.replay)

    def _draw(self, number: int) -> None:
        self._rest("draw", self.device.numbers.first, number, self.replay.place, self.device.targets.latest)

    def _rest(self, unit: str, first: int, number: int, place: Place, targets: tuple[Target, ...]) -> None:
        self.counts[unit] = number + 1
        if self._on_progress is not None:
            self._on_progress(unit, number)
        self._rest_if_wanted(Stop(unit, number, place, targets), range(first, number + 1))

    def _rest_if_wanted(self, stop: Stop, numbers: range) -> None:
        if self._until(stop.unit, numbers):
            self.stop = stop
            self._rests.release()
            self._continue.acquire()
        if self.closed:  # while this thread rested, or by Ctrl-C while it ran
            self.replay.stop()

    def _check_damage(self) -> None:
        if self.replay.damage and not self._partial and not self.closed:
            last = self.replay.damage[-1]
            raise TraceError(self.replay.trace.path, last.offset, last.text)
