"""A trace under a debugger: started, stopped, started again (docs/debugger.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gen4emu.debugger.debugger import Debugger, OnStop
from gen4emu.debugger.history import History, record
from gen4emu.debugger.messages import Message
from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.options import Options
from gen4emu.device.place import Place
from gen4emu.device.replay import Replay
from gen4emu.hw.chips import Device as Part
from gen4emu.hw.command_reader import Words
from gen4emu.selection import ALL, Selection
from gen4emu.trace.events import Warning
from gen4emu.trace.reader import Trace


class Leave(Exception):
    """The session is over."""


class Restart(Exception):
    """From the beginning of the trace, with the same traps and breakpoints."""


@dataclass(slots=True)
class DrawStop:
    """Where to stop between draws: at a draw, or at the next one."""

    at: int | None = None
    required: bool = False  # the trace must have that draw

    def wanted(self, place: Place) -> bool:
        return self.at is not None and place.draw >= self.at


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
        self.replay: Replay | None = None
        self.debugger: Debugger | None = None
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

    def prepare(self, prompt: Callable[[], None]) -> None:
        """Replay up to the first submission, and stop there."""
        def start(device: Device) -> None:
            debugger = Debugger(device, self._on_stop, self._on_message)
            device.add_listener(self)
            if self.debugger is not None:
                self.debugger.copy_to(debugger)
            else:
                debugger.subscription.gang = 1  # threads one after the other are easier to follow
                debugger.update()
            self.debugger = debugger
            prompt()
            self._attach_for_the_next_draw()

        self.replay = Replay(self.trace, self.part, self.options, on_start=start, on_draw=self._on_progress)

    def run(self) -> None:
        """All of the trace, or until Leave is raised."""
        assert self.replay is not None
        for _ in self.replay.frames():
            pass
        self.damage = self.replay.damage

    def close(self) -> None:
        if self.replay is not None:
            self.replay.close()
            self.replay = None

    def draw_started(self, words: Words) -> None:
        if self.draw_stop.wanted(self.place()):
            self.draw_stop.at = None
            self._on_draw(words)
        self._attach_for_the_next_draw()

    def _attach_for_the_next_draw(self) -> None:
        """On the way to a draw the trace runs at full speed if there is nothing to stop at before it."""
        assert self.debugger is not None
        self.debugger.attach(self.draw_stop.at is None or self.debugger.is_watching)

    def history(self, x: int, y: int, until: Place | None, frames: Selection = ALL) -> History:
        """The history of a pixel, from a replay of its own."""
        found = record(self.trace, self.part, self.options, x, y, until, frames, self._on_progress)
        self.damage = self.damage or found.damage
        self.hung = self.hung or bool(found.hang)
        return found
