"""The last change of memory: found from bookmarks, and the same as by an execution from the start."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gen4emu.debugger.memory_changes import Change, MemoryChanges, Range
from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.memory import Missing
from gen4emu.device.options import Options
from gen4emu.device.replay import Replay
from gen4emu.device.timeline import Bookmarks
from gen4emu.hw.command_reader import Words
from gen4emu.trace.reader import Trace
from gen4emu.trace.reader import open as open_trace

TRACES = Path(__file__).parents[2] / "traces"
NAMES = ["gears-4frames-g4x", "fbo-brw", "stencil-g4x", "mpeg2-g4x", "later/triangle-kbl"]


class Straight(Listener):
    """All changes before and in each draw, from the start of the trace."""

    def __init__(self, ranges: list[Range]) -> None:
        self.changes: list[tuple[int, bool, Range, Change]] = []
        self._before = {(address, size): bytes(size) for address, size in ranges}
        self._device: Device | None = None

    def join(self, device: Device) -> None:
        self._device = device
        device.add_listener(self)

    def draw_started(self, words: Words) -> None:
        self._compare(by_draw=False)

    def draw_done(self) -> None:
        self._compare(by_draw=True)

    def _compare(self, *, by_draw: bool) -> None:
        assert self._device is not None
        place = self._device.place
        for (address, size), before in self._before.items():
            now = self._device.memory.read(address, size, Missing.ZERO)
            if now != before:
                self._before[address, size] = now
                self.changes.append((place.draw, by_draw, (address, size), Change(place, by_draw)))

    def before(self, draw: int) -> dict[Range, Change]:
        found = {one: Change(None, by_draw=False) for one in self._before}
        found |= {one: change for number, by_draw, one, change in self.changes
                  if number < draw or (number == draw and not by_draw)}
        return found


def executed(trace: Trace, bookmarks: Bookmarks, listener: Straight | None = None) -> tuple[int, list[Range]]:
    """Execute a trace; the number of its draws, and ranges in its memory."""
    choose = random.Random(1)
    run = Replay(trace, None, Options(), on_start=None if listener is None else listener.join,
                 on_rest=lambda: bookmarks.keep(run))
    try:
        bookmarks.begin()
        for _ in run.frames():
            pass
        assert run.device is not None
        pages = [page.address for page in run.device.memory.pages()]
        ranges = [(choose.choice(pages) + choose.randrange(4090), choose.choice((4, 16, 64, 6000))) for _ in range(60)]
        return run.draws, [*ranges, (0x7F000000, 16)]
    finally:
        run.close()


@pytest.mark.parametrize("kept", ["all", "few", "dropped", "unknown"])
@pytest.mark.parametrize("name", NAMES)
def test_bookmarks_lead_to_the_same_changes(name: str, kept: str) -> None:
    with open_trace(str(TRACES / f"{name}.aub.xz"), again=True) as trace:
        bookmarks = Bookmarks(interval=0, most=5 if kept == "few" else 256)
        draws, ranges = executed(trace, bookmarks)
        listener = Straight(ranges)
        executed(trace, Bookmarks(), listener)
        if kept == "dropped":
            bookmarks.drop({bookmark.order for bookmark in list(bookmarks)[1::3]})
        elif kept == "unknown":
            other = Bookmarks()
            other.add(list(bookmarks)[::2])
            bookmarks = other
        for draw in {0, 1, draws // 2, draws - 2, draws - 1}:
            if 0 <= draw < draws:
                found = MemoryChanges(trace, None, Options(), bookmarks, draw).find(ranges)
                assert found == listener.before(draw), draw


def test_pages_that_were_not_written_are_not_executed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A range that the trace uploads at its start costs the executions of its end and its start."""
    starts = []
    frames = Replay.frames
    monkeypatch.setattr(Replay, "frames", lambda run, *rest: starts.append(run) or frames(run, *rest))
    with open_trace(str(TRACES / "gears-4frames-g4x.aub.xz"), again=True) as trace:
        bookmarks = Bookmarks(interval=0)
        draws, ranges = executed(trace, bookmarks)
        listener = Straight(ranges)
        executed(trace, Bookmarks(), listener)
        uploaded = [one for one, change in listener.before(draws - 1).items()
                    if change.place is not None and change.place.draw == 0 and not change.by_draw]
        assert uploaded and len(list(bookmarks)) > 20
        starts.clear()
        MemoryChanges(trace, None, Options(), bookmarks, draws - 1).find(uploaded[:1])
        assert len(starts) <= 3


def test_what_was_written_adds_up_over_removed_bookmarks() -> None:
    with open_trace(str(TRACES / "gears-4frames-g4x.aub.xz"), again=True) as trace:
        every, few = Bookmarks(interval=0), Bookmarks(interval=0)
        executed(trace, every)
        executed(trace, few)
        all_of = list(every)
        few.drop({bookmark.order for i, bookmark in enumerate(all_of) if i % 4})
        assert few.written(0) is None
        for n in range(1, len(list(few))):
            expected: frozenset[int] = frozenset()
            for i in range(4 * n - 3, 4 * n + 1):
                written = every.written(i)
                assert written is not None
                expected |= written
            assert few.written(n) == expected
