"""A trace under a debugger: started, stopped, started again (docs/debugger.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from gen4emu.debugger.backwards import DrawStart, Moment, Position, counts_matter, last_hit
from gen4emu.debugger.debugger import Debugger, OnStop, Stop
from gen4emu.debugger.gl import GlKnowledge
from gen4emu.debugger.history import History, record
from gen4emu.debugger.memory_changes import Change, MemoryChanges
from gen4emu.debugger.messages import Message
from gen4emu.device.checkpoints import Spare
from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.observer import Trap
from gen4emu.device.options import Options
from gen4emu.device.place import Place
from gen4emu.device.replay import Bookmark, Order, Replay
from gen4emu.device.timeline import KEPT_EVENT_BYTES, Bookmarks
from gen4emu.errors import Gen4emuError, HangError
from gen4emu.hw.chips import Device as Part
from gen4emu.hw.command_reader import Words
from gen4emu.selection import ALL, Selection
from gen4emu.trace.events import Warning
from gen4emu.trace.reader import Trace

_MOST_STARTS = 200_000
_MOST_HISTORIES = 16


class Leave(Exception):
    """The session is over."""


class GoTo(Exception):
    """To a draw that is over, or that a bookmark is near: traps and breakpoints stay."""

    def __init__(self, draw: int, moment: Moment | None = None) -> None:
        """To the start of the draw, or to a moment inside it."""
        super().__init__(f"draw {draw}")
        self.draw, self.moment = draw, moment


class Restart(Exception):
    """From the beginning of the trace, with the same traps and breakpoints."""


@dataclass(slots=True)
class DrawStop:
    """Where to stop between draws: at a draw, or at the next one."""

    at: int | None = None
    required: bool = False  # the trace must have that draw

    def wanted(self, place: Place) -> bool:
        return self.at is not None and place.draw >= self.at


class _Arrived(Exception):
    """A replay has come to the place where it ends."""


class _Before(Listener):
    """Ends a replay before a draw; None: at the end of the trace."""

    def __init__(self, draw: int | None) -> None:
        self._draw = draw
        self._device: Device | None = None

    def join(self, device: Device) -> None:
        self._device = device
        device.add_listener(self)

    def draw_started(self, words: Words) -> None:
        assert self._device is not None
        if self._draw is not None and self._device.place.draw >= self._draw:
            raise _Arrived


class Session(Listener):
    """Replays of a trace, one after the other; traps and breakpoints are kept between them."""

    def __init__(self, trace: Trace, part: Part | None, options: Options, on_stop: OnStop,
                 on_draw: Callable[[Words], None], on_message: Callable[[Message], None],
                 on_progress: Callable[[int], None] | None = None) -> None:
        """`on_progress` is called after every draw, also of the replays of histories, with its number."""
        self.trace, self.part, self.options = trace, part, options
        self._on_stop, self._on_draw, self._on_message = on_stop, on_draw, on_message
        self._on_progress = on_progress
        self.damage: list[Warning] = []  # of the file, as far as it was read
        self.hung = False  # in the replay of a history
        self.draw_stop = DrawStop()
        self.gl = GlKnowledge(trace, part)
        self.replay: Replay | None = None
        self._spare: Spare | None = None  # of the replay before
        self.debugger: Debugger | None = None
        trace.keep(KEPT_EVENT_BYTES)
        self._bookmarks = Bookmarks()  # of a device that no user has changed
        self._flagging: tuple[Trap, ...] = ()  # traps whose flags threads had seen in some of them
        self._flagged: set[Order] = set()  # those
        self._is_flagged = False  # the device: its threads have seen the flags of traps
        self._starts: dict[int, DrawStart] = {}  # of draws that have run under the debugger, with a device not changed
        self._approaches: int | None = None  # the draw that this travels to, or was asked to stop at
        self._detached = False  # on the way there
        self._is_changed = False  # the device: its memory, its registers, or how it draws
        self._travels = False  # to a draw, from the start of the trace or a bookmark
        self._moment: Moment | None = None  # inside the draw that this travels to
        self.draw_start: DrawStart | None = None  # of the primitive that began last
        self._histories: dict[tuple[int, int, int | None, Selection], History] = {}  # by pixel, last draw and frames
        self._primitives: set[int] = set()  # the numbers of those that have begun; other draws have numbers, too
        self._fresh: Debugger | None = None  # of the last replay: its traps are taken over by the next one

    @property
    def device(self) -> Device:
        assert self.replay is not None
        assert self.replay.device is not None
        return self.replay.device

    @property
    def started(self) -> bool:
        return self.replay is not None and self.replay.device is not None

    def place(self) -> Place:
        return self.device.place if self.started else Place(0, 0, 0)

    def prepare(self, prompt: Callable[[], None], to: int | None = None, moment: Moment | None = None) -> None:
        """Replay up to the first submission, and stop there; or continue to a draw, or a moment inside it."""
        self._moment, self.draw_start = moment, None
        self._is_changed = False
        self._travels = to is not None
        self._approaches, self._detached = to, False
        bookmark = None
        if to is not None:
            self.draw_stop.at, self.draw_stop.required = to, True
            self._detached = self.debugger is None or self._can_detach(self.debugger, to, moment)
            if self._detached:
                self._drop_flagged()
                bookmark = self._bookmarks.before(to)
        self._is_flagged = bookmark is not None and bookmark.order in self._flagged

        def start(device: Device) -> None:
            debugger = Debugger(device, self._on_stop, self._on_message)
            device.add_listener(self)
            if self.debugger is not None:
                self.debugger.copy_to(debugger)
            else:
                debugger.subscription.gang = 1  # threads one after the other are easier to follow
                debugger.update()
            self.debugger = debugger
            if to is None:
                prompt()
            self._attach_for_the_next_draw()

        self._bookmarks.begin()
        self.replay = Replay(self.trace, self.part, self.options, on_start=start, on_draw=self._on_progress,
                             on_rest=self._rest, at=bookmark, spare=self._spare)
        self._spare = None

    def _can_detach(self, debugger: Debugger, to: int, moment: Moment | None) -> bool:
        """Whether draws before `to` may run without the debugger: what it counts there is known, or does not matter."""
        if debugger.alters:
            return moment is not None
        start = self._starts.get(to)
        return (moment is not None or not counts_matter(debugger) or (start is not None and start.knows(debugger)))

    def use(self, bookmarks: Iterable[Bookmark], primitives: Iterable[int]) -> None:
        """Begin at these bookmarks, too; the draws with these numbers are primitives."""
        self._bookmarks.add(bookmarks)
        self._primitives.update(primitives)

    def change(self) -> None:
        """The user changes the device: what follows is not what the trace does by itself."""
        self._is_changed = True

    def _rest(self) -> None:
        assert self.replay is not None
        if self.debugger is not None and self.debugger.is_attached and self.debugger.alters:
            self.change()
        if self._is_changed:
            return
        arrives = self.replay.draws == self._approaches  # the next steps back begin here
        is_new = self._bookmarks.keep(self.replay) if arrives else self._bookmarks.pass_by(self.replay)
        if is_new and self._is_flagged:
            self._drop_flagged()
            self._flagged.add(self.replay.order)

    def _drop_flagged(self) -> None:
        """Forget bookmarks after threads that traps have flagged, if the user has other traps now."""
        traps = () if self.debugger is None else tuple(self.debugger.subscription.traps)
        if traps != self._flagging:
            self._bookmarks.drop(self._flagged)
            self._flagged.clear()
            self._flagging = traps

    @property
    def is_travelling(self) -> bool:
        """Whether the trace runs to a draw that a command named, once more or from a bookmark: stops only count."""
        return self._travels and (self.draw_stop.at is not None or self._moment is not None)

    def arrives(self, stop: Stop) -> bool:
        """Whether a stop on the way is the moment that this travels to."""
        if self._moment is None or self.draw_stop.at is not None or not self._moment.is_at(stop):
            return False
        self._moment, self._travels = None, False
        return True

    def goes_back(self, stop: Stop, moment: Moment) -> bool:
        """Travel back within the thread of a stop, without another replay, if that has the same result."""
        assert self.debugger is not None
        if (self._is_changed or self.debugger.alters or self.debugger.has_single_stops
                or not self.debugger.go_back(stop, moment.executed)):
            return False
        self._moment, self._travels = moment, True
        self.draw_stop.at = None  # a draw that a command was on its way to when this thread stopped it
        return True

    def last_hit(self, until: Position) -> Moment | None:
        """The last trap or breakpoint hit before a position, from replays of its own."""
        assert self.debugger is not None
        self._drop_flagged()
        before = [bookmark for bookmark in self._bookmarks if bookmark.checkpoint.draws <= until[0]]
        return last_hit(self.trace, self.part, self.options, self.debugger, until, self._starts, before)

    def has_shortcut(self, draw: int) -> bool:
        """Whether a bookmark leads to a later draw faster than execution does from here."""
        assert self.debugger is not None
        bookmark = self._bookmarks.before(draw)
        return (bookmark is not None and bookmark.order > self.replay_order
                and not self._is_changed and not self.debugger.is_watching)

    @property
    def replay_order(self) -> Order:
        """Where the replay is, to compare with bookmarks."""
        return (0, True, 0) if self.replay is None else self.replay.order

    def primitive_before(self, draw: int) -> int | None:
        """The last primitive before a draw; None if there is none."""
        return max((number for number in self._primitives if number < draw), default=None)

    def run(self) -> None:
        """All of the trace, or until Leave is raised."""
        assert self.replay is not None
        for _ in self.replay.frames():
            pass
        self.damage = self.replay.damage

    def close(self) -> None:
        """End the replay; the next one may use its memory."""
        if self.replay is not None:
            self._spare, self.replay = self.replay.release(), None

    def draw_started(self, words: Words) -> None:
        assert self.debugger is not None
        draw = self.place().draw
        self._primitives.add(draw)
        if self.draw_stop.wanted(self.place()):
            self.draw_stop.at = None
            self._travels = self._moment is not None
            if self._detached:
                self._arrive(draw)
            if self._moment is None:
                self._on_draw(words)
        self._attach_for_the_next_draw()
        if self._moment is not None and self.draw_stop.at is None:
            self._moment.arm(self.debugger)
        self.draw_start = DrawStart.of(self.debugger)
        if self.draw_start is not None and not self._is_changed and len(self._starts) < _MOST_STARTS:
            self._starts[draw] = self.draw_start
        self._is_flagged |= self.debugger.is_attached and bool(self.debugger.subscription.traps)

    def _arrive(self, draw: int) -> None:
        """The draw that this has travelled to begins: attach the debugger, with the counts that it had here."""
        assert self.debugger is not None
        self._detached = False
        self._attach_for_the_next_draw()
        start = self._starts.get(draw)
        if start is not None:
            start.restore(self.debugger)

    def draw_done(self) -> None:
        if self._moment is not None and self.draw_stop.at is None:
            self._moment = None
            raise Gen4emuError(f"{self.place().text}: the instruction was not reached again: this execution differs "
                               "from the first")

    def _attach_for_the_next_draw(self) -> None:
        """On the way to a draw the trace runs at full speed if there is nothing to stop at before it."""
        assert self.debugger is not None
        self.debugger.attach(not self._detached and (self.draw_stop.at is None or self.debugger.is_watching))

    @contextmanager
    def unchanged(self, *, at_end: bool) -> Iterator[Device]:
        """A device without the user's changes, before the draw that has begun here or at the end of the trace."""
        bookmark = self._bookmarks.last() if at_end else self._bookmarks.before(self.place().draw)
        there = _Before(None if at_end else self.place().draw)
        replay = Replay(self.trace, self.part, self.options, on_start=there.join, at=bookmark, compares=False)
        try:
            with suppress(_Arrived):
                for _ in replay.frames():
                    pass
            assert replay.device is not None
            yield replay.device
        finally:
            replay.close()

    @contextmanager
    def at_end_of(self, draw: int, attach: Callable[[Device], None]) -> Iterator[Device]:
        """A device of the unchanged trace at the end of a draw; `attach` is called with it some draws before."""
        def drawn(number: int) -> None:
            if number >= draw:
                replay.stop()

        replay = Replay(self.trace, self.part, self.options, on_start=attach, on_draw=drawn,
                        at=self._bookmarks.before(draw), compares=False)
        try:
            with suppress(HangError):  # in a later thread of the draw
                for _ in replay.frames():
                    pass
            assert replay.device is not None
            yield replay.device
        finally:
            replay.close()

    def watch_memory(self, ranges: Iterable[tuple[int, int]], draw: int) -> dict[tuple[int, int], Change]:
        """How each range of memory, an address and a size, came to its contents before a draw."""
        return MemoryChanges(self.trace, self.part, self.options, self._bookmarks, draw).find(ranges)

    def history(self, x: int, y: int, until: Place | None, frames: Selection = ALL) -> History:
        """The history of a pixel, from a replay of its own, or from a longer history that is known."""
        draw = None if until is None else until.draw
        whole = self._histories.get((x, y, None, frames))
        found = self._histories.get((x, y, draw, frames))
        # Media objects end together, maybe after the one that is named.
        if found is None and whole is not None and whole.is_complete and draw in self._primitives:
            found = whole.up_to(draw)
        elif found is None:
            found = record(self.trace, self.part, self.options, x, y, until, frames, self._on_progress)
            self._histories[x, y, draw, frames] = found
            if len(self._histories) > _MOST_HISTORIES:
                del self._histories[next(iter(self._histories))]
        self.damage = self.damage or found.damage
        self.hung = self.hung or bool(found.hang)
        return found
