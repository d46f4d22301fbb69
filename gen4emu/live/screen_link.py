"""The screen of a server in a process of its own, for a view in the process that has made it.

A program that takes over the server must not take over the view, too: of the server it reads JSON and pixels only.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, TypeVar

import numpy as np

from gen4emu.device.place import Place
from gen4emu.device.targets import LARGEST_SIDE
from gen4emu.live.screen import Frame, Screen

_REQUEST_BYTES = 1000
_HEAD_BYTES = 64 << 10
_MOST_SECONDS = 1.0  # that a request waits for a frame
_ANSWER_SECONDS = 10.0  # that the answer may take after that
_SILENT = "the device server does not answer: no more frames are shown"
_NAME_LENGTH = 200
_ORDERS = ("pause", "resume", "step", "end")
_COUNTS = ("serial", "draws", "objects", "instructions")
_Made = TypeVar("_Made")


class ScreenLink:
    """Two pipes between a screen and the view of it: requests of frames, and orders, which must not wait for those."""

    def __init__(self, complain: Callable[[str], object] = lambda text: None) -> None:
        """`complain` gets a text if the server does not answer."""
        frames, self._frames = Pipe()
        orders, self._orders = Pipe()
        self.remote = RemoteScreen(frames, orders, complain)
        self._handles: set[int] = set()  # of the view, which the server must not have

    def made(self, make: Callable[[], _Made]) -> _Made:
        """Make the view, with the files and sockets that it opens."""
        before = _open_handles()
        try:
            return make()
        finally:
            self._handles |= _open_handles() - before

    def leave(self) -> None:
        """Called in the process of the view, when the process of the server is ready."""
        self._frames.close()
        self._orders.close()
        self.remote.is_lost = False

    def serve(self, screen: Screen) -> None:
        """Called in the process of the server: serve `screen` in two threads until the other side closes the pipes."""
        self.remote.close()
        for run in (self._serve_frames, self._serve_orders):
            threading.Thread(target=run, args=(screen,), daemon=True).start()

    def drop_view(self) -> None:
        """Called in the process of the server: close the files of the view, whose objects keep their numbers."""
        null = os.open(os.devnull, os.O_RDWR)
        for handle in self._handles:
            os.dup2(null, handle, inheritable=False)
        os.close(null)

    def _serve_frames(self, screen: Screen) -> None:
        with _until_closed(screen):
            while True:
                request = json.loads(self._frames.recv_bytes(_REQUEST_BYTES))
                frame = screen.take(request["after"], request["seconds"])
                self._frames.send_bytes(json.dumps(None if frame is None else _head(frame)).encode())
                if frame is not None:
                    self._frames.send_bytes(np.ascontiguousarray(frame.pixels).data.cast("B"))

    def _serve_orders(self, screen: Screen) -> None:
        with _until_closed(screen):
            while True:
                getattr(screen, _ORDERS[int(self._orders.recv_bytes(_REQUEST_BYTES))])()


@contextmanager
def _until_closed(screen: Screen) -> Iterator[None]:
    try:
        with suppress(EOFError, OSError):
            yield
    finally:
        screen.end()  # nothing can end a pause any more


class RemoteScreen(Screen):
    """The screen as its view sees it."""

    def __init__(self, frames: Connection, orders: Connection, complain: Callable[[str], object]) -> None:
        super().__init__()
        self._frames, self._orders, self._complain = frames, orders, complain
        os.set_blocking(orders.fileno(), False)  # a server that reads no orders must not stop the view
        self._asking = threading.Lock()
        self.is_lost = True  # before the server starts, after it has ended, and after an invalid message

    def close(self) -> None:
        self._frames.close()
        self._orders.close()

    def take(self, after: int, seconds: float) -> Frame | None:
        with self._asking:
            if not self.is_lost:
                try:
                    return self._asked(after, min(seconds, _MOST_SECONDS))
                except (EOFError, OSError, ArithmeticError, ValueError, TypeError, KeyError, RecursionError):
                    self.is_lost = True
                if self.problem:
                    self._complain(self.problem)
        time.sleep(seconds)
        return None

    def _asked(self, after: int, seconds: float) -> Frame | None:
        """The time limit applies to the whole answer: a server could send it byte by byte."""
        watch = threading.Timer(seconds + _ANSWER_SECONDS, self._give_up)
        watch.daemon = True
        watch.start()
        try:
            self._frames.send_bytes(json.dumps({"after": after, "seconds": seconds}).encode())
            head = json.loads(self._frames.recv_bytes(_HEAD_BYTES))
            return None if head is None else self._received(head)
        finally:
            watch.cancel()

    def _give_up(self) -> None:
        """End the wait of the other thread."""
        self.problem = _SILENT
        self.is_lost = True
        with suppress(OSError), socket.socket(fileno=os.dup(self._frames.fileno())) as pipe:
            pipe.shutdown(socket.SHUT_RDWR)

    def _received(self, head: dict[str, Any]) -> Frame:
        height, width, channels, item = (int(head[name]) for name in ("height", "width", "channels", "item"))
        if not (0 < height <= LARGEST_SIDE and 0 < width <= LARGEST_SIDE and 0 <= channels <= 4 and item in (1, 2)):
            raise ValueError
        data = self._frames.recv_bytes(height * width * max(1, channels) * item)
        shape = (height, width, channels) if channels else (height, width)
        pixels = np.frombuffer(data, f"<u{item}").reshape(shape)
        serial, draws, objects, instructions = (int(head[name]) for name in _COUNTS)
        return Frame(serial, str(head["program"])[:_NAME_LENGTH], Place(*(int(number) for number in head["place"])),
                     bool(head["is_shown"]), pixels, draws, objects, instructions, float(head["rate"]))

    def pause(self) -> None:
        super().pause()
        self._order("pause")

    def resume(self) -> None:
        super().resume()
        self._order("resume")

    def step(self) -> None:
        super().step()
        self._order("step")

    def end(self) -> None:
        super().end()
        self._order("end")

    def _order(self, name: str) -> None:
        with suppress(OSError):  # the server has ended
            self._orders.send_bytes(str(_ORDERS.index(name)).encode())


def _head(frame: Frame) -> dict[str, Any]:
    shape = frame.pixels.shape
    return {"height": shape[0], "width": shape[1], "channels": shape[2] if len(shape) > 2 else 0,
            "item": frame.pixels.itemsize, "program": frame.program[:_NAME_LENGTH], "is_shown": frame.is_shown,
            "place": [frame.place.frame, frame.place.submission, frame.place.draw], "rate": frame.rate,
            **{name: getattr(frame, name) for name in _COUNTS}}


def _open_handles() -> set[int]:
    found = set()
    for handle in map(int, os.listdir("/proc/self/fd")):
        with suppress(OSError):  # that of the listing itself is closed
            os.fstat(handle)
            found.add(handle)
    return found
