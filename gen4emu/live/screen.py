"""The screen of a live program: its latest frame, for a page or a window that shows it, and a pause between frames.

The threads of connections put frames here and do not wait for the viewer, unless the program is paused.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from gen4emu.device.device import Device
from gen4emu.device.place import Place
from gen4emu.device.targets import Target
from gen4emu.errors import Gen4emuError
from gen4emu.image.picture import Pixels, read_pixels
from gen4emu.image.raw_video import frame_picture
from gen4emu.live.connection import BufferUse, Connection
from gen4emu.live.frames import Frames
from gen4emu.live.server import Server
from gen4emu.trace.events import Submission

_RATE_SECONDS = 2.0  # over which frames are counted
_MOST_TIMES = 256


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame that a program has shown or drawn; `serial` counts those of the screen from 1."""

    serial: int
    program: str
    place: Place
    is_shown: bool  # else it is a render target
    pixels: Pixels  # as `--frames` writes them
    draws: int  # draw commands since the frame before
    objects: int
    instructions: int
    rate: float  # frames in a second, lately

    @property
    def name(self) -> str:
        """A file name for its picture."""
        program = "".join(c if c.isascii() and (c.isalnum() or c in "-_+.") else "_" for c in self.program).lstrip(".")
        return f"{program or 'program'}-frame-{self.place.frame:05}.png"


class View(Protocol):
    """Shows a screen."""

    idle: Callable[[], None] | None  # called repeatedly by the main thread, if not None

    def start(self) -> None:
        """The program is about to start."""

    def end(self, reason: str) -> None:
        """Show the last frame and why no other follows, and close.  May be called twice, or without `start`."""


class Screen:
    """The latest frame.  If several connections have frames, those of the first that shows any on the display count,
    and before that, those of the first that draws."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._latest: Frame | None = None
        self._owner: _Watcher | None = None
        self._owner_shows = False
        self._times: deque[float] = deque(maxlen=_MOST_TIMES)
        self._paused = self._ended = False
        self.problem = ""  # why there are no more frames, although the program may continue
        self._steps = 0  # frames that may still pass a pause

    def watcher(self, server: Server) -> Callable[[Connection, Device], Frames]:
        """For `watch_frames`."""
        return lambda connection, device: _Watcher(self, server, connection, device)

    # --- views, in any thread ---------------------------------------------------------------------------------------
    def take(self, after: int, seconds: float) -> Frame | None:
        """The latest frame, if its serial number is above `after` or becomes so within this time."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._is_newer(after), seconds)
            return self._latest if self._is_newer(after) else None

    def _is_newer(self, after: int) -> bool:
        return self._latest is not None and self._latest.serial > after

    @property
    def paused(self) -> bool:
        return self._paused

    def pause(self) -> None:
        """Let the program wait after its next frame."""
        with self._changed:
            self._paused = True
            self._steps = 0

    def resume(self) -> None:
        with self._changed:
            self._paused = False
            self._times.clear()
            self._changed.notify_all()

    def step(self) -> None:
        """Pause, but let one more frame pass."""
        with self._changed:
            if self._paused:
                self._steps += 1
            self._paused = True
            self._changed.notify_all()

    def end(self) -> None:
        """Keep no program waiting from now on."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    # --- watchers, each in the thread of its connection -------------------------------------------------------------
    def takes(self, watcher: _Watcher, is_shown: bool) -> bool:
        """Whether a frame of this connection is to be put here."""
        with self._changed:
            if self._owner is None or (is_shown and not self._owner_shows):
                self._owner, self._owner_shows = watcher, is_shown
                self._times.clear()
            if self._owner is watcher:
                self._owner_shows |= is_shown
            return self._owner is watcher

    def put(self, frame: Callable[[int, float], Frame]) -> None:
        """Show a frame, made from its serial number and the rate; return when the program may continue."""
        with self._changed:
            now = time.monotonic()
            self._times.append(now)
            while now - self._times[0] > _RATE_SECONDS:
                self._times.popleft()
            passed = now - self._times[0]
            rate = (len(self._times) - 1) / passed if passed else 0.0
            self._latest = frame(self._latest.serial + 1 if self._latest is not None else 1, rate)
            self._steps = max(0, self._steps - 1)
            self._changed.notify_all()
            self._changed.wait_for(self._may_run)

    def pass_by(self, watcher: _Watcher) -> None:
        """Before a submission: a pause holds the connections that have no frames here, too."""
        with self._changed:
            self._changed.wait_for(lambda: self._owner in (None, watcher) or self._may_run())

    def _may_run(self) -> bool:
        return not self._paused or self._steps > 0 or self._ended

    def leave(self, watcher: _Watcher) -> None:
        with self._changed:
            if self._owner is watcher:
                self._owner = None
                self._owner_shows = False
                self._changed.notify_all()


class _Watcher(Frames):
    """Puts the frames of one connection on a screen."""

    def __init__(self, screen: Screen, server: Server, connection: Connection, device: Device) -> None:
        super().__init__(device)
        self._screen, self._server, self._connection = screen, server, connection
        self._draws = 0
        self._counts: dict[str, int] = {"objects": 0, "instructions": 0}

    def before(self, submission: Submission, buffers: Sequence[BufferUse]) -> None:
        self._screen.pass_by(self)

    def show(self, place: Place, targets: Sequence[Target]) -> None:
        target = frame_picture(targets)
        if target is None or not self._screen.takes(self, target.kind == "shown"):
            return
        try:
            pixels = read_pixels(self.device.memory, target)
        except Gen4emuError as e:
            self._server.warn_once(f"frame {place.frame} cannot be shown: {e}", self._connection)
            return
        draws, counts = self.device.numbers.total, self.device.counts()
        work = {name: counts[name] - self._counts[name] for name in self._counts}
        new_draws = draws - self._draws
        self._draws, self._counts = draws, {name: counts[name] for name in self._counts}
        self._screen.put(lambda serial, rate: Frame(
            serial, self._connection.program, place, target.kind == "shown", pixels, new_draws, work["objects"],
            work["instructions"], rate))

    def close(self) -> None:
        self._screen.leave(self)
