"""`run --web`: sends the frames of a screen to a page, which requests one when it has drawn the one before."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from importlib.resources import files
from io import BytesIO
from typing import Any

import numpy as np

from gen4emu.image.canvas import canvas_bytes
from gen4emu.image.png import write_png
from gen4emu.image.raw_video import to_rgb
from gen4emu.live.screen import Frame, Screen
from gen4emu.loopback.messages import json_text, packed
from gen4emu.loopback.server import File, Server
from gen4emu.loopback.websocket import WebSocket

SCHEMA = "gen4emu.run-web/1"
_SHARED = ("dom", "picture")  # modules of the report
_WAIT_SECONDS = 0.25  # until a thread looks whether it is to end
_LAST_SECONDS = 2.0  # that the page has to take the last frame
_MOST_WAITING = 4  # requests of frames


def page_files() -> dict[str, File]:
    """The files of the page by their paths: its own, the connection, and those of the report that it shares."""
    own, report, loopback = (files(f"gen4emu.{name}") / "web" for name in ("live_web", "report", "loopback"))
    script, style = "text/javascript; charset=utf-8", "text/css; charset=utf-8"
    return {"/": File("text/html; charset=utf-8", (own / "live.html").read_bytes()),
            "/live.js": File(script, (own / "live.js").read_bytes()),
            "/live.css": File(style, (own / "live.css").read_bytes()),
            "/link.js": File(script, (loopback / "link.js").read_bytes()),
            "/report.css": File(style, (report / "report.css").read_bytes()),
            **{f"/{name}.js": File(script, (report / f"{name}.js").read_bytes()) for name in _SHARED}}


class WebView:
    """A screen, and the server of its page."""

    idle: Callable[[], None] | None = None  # threads do everything

    def __init__(self, screen: Screen, title: str, device: str, port: int = 0) -> None:
        """Raises OSError if the port is in use."""
        self._screen, self._title, self._device = screen, title, device
        self._client: WebSocket | None = None
        self._asked: queue.Queue[tuple[WebSocket, int]] = queue.Queue(_MOST_WAITING)
        self._sent: Frame | None = None  # the last one that the client has
        self._is_ending = self._has_ended = False
        self.server = Server(page_files(), self, port)
        self._thread = threading.Thread(target=self._send_frames, name="frames", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self.server.start()

    def end(self, reason: str) -> None:
        self._screen.end()
        if self._has_ended:
            return
        self._has_ended = True
        if self._thread.ident is None:
            self.server.discard()
            return
        until = time.monotonic() + _LAST_SECONDS
        while self._client is not None and self._has_more() and time.monotonic() < until:
            time.sleep(0.01)
        self._is_ending = True
        self._thread.join()
        self.server.close(reason)

    def _has_more(self) -> bool:
        return self._screen.take(0 if self._sent is None else self._sent.serial, 0) is not None

    # --- the socket (loopback.server.Service) -----------------------------------------------------------------------
    def attached(self, client: WebSocket) -> None:
        client.send(json_text({"kind": "hello", "schema": SCHEMA, "title": self._title, "device": self._device,
                               "paused": self._screen.paused}))
        self._sent, self._client = None, client

    def detached(self) -> None:
        """Without a page, no button can end a pause."""
        self._client = None
        self._screen.resume()

    def received(self, client: WebSocket, message: dict[str, Any]) -> None:
        """`{"id": N, "command": TEXT}`: next, pause, resume, step, or png."""
        number, command = message.get("id"), message.get("command")
        if not isinstance(number, int) or not isinstance(command, str):
            client.send(json_text({"kind": "error", "error": "expected an id and a command"}))
            return
        head: dict[str, Any] = {"id": number}
        if command == "next":
            try:
                self._asked.put_nowait((client, number))
            except queue.Full:
                client.send(json_text({**head, "error": f"{_MOST_WAITING} requests are waiting"}))
        elif command == "png":
            client.send(self._png(head))
        elif command in ("pause", "resume", "step"):
            getattr(self._screen, command)()
            client.send(json_text({**head, "paused": self._screen.paused}))
        else:
            client.send(json_text({**head, "error": f"unknown command {command[:40]!r}"}))

    def _png(self, head: dict[str, Any]) -> str | bytes:
        """The frame that the page shows, as `--frames` writes it."""
        frame = self._sent
        if frame is None:
            return json_text({**head, "error": "no frame has been shown"})
        file = BytesIO()
        write_png(file, frame.pixels)
        return packed({**head, "name": frame.name}, file.getvalue())

    # --- frames -----------------------------------------------------------------------------------------------------
    def _send_frames(self) -> None:
        while not self._is_ending:
            try:
                client, number = self._asked.get(timeout=_WAIT_SECONDS)
            except queue.Empty:
                continue
            while client is self._client and not self._is_ending:
                before = self._sent
                frame = self._screen.take(0 if before is None else before.serial, _WAIT_SECONDS)
                if frame is not None:
                    if client.send(_message(frame, before, number)) and client is self._client:
                        self._sent = frame
                    break
                if self._screen.problem:
                    client.send(json_text({"kind": "lost", "error": self._screen.problem}))
                    break


def _message(frame: Frame, before: Frame | None, number: int) -> str | bytes:
    """A frame, without its pixels if they are those of the frame before."""
    height, width = frame.pixels.shape[:2]
    head: dict[str, Any] = {
        "id": number, "program": frame.program, **frame.place.as_json(), "shown": frame.is_shown, "width": width,
        "height": height, "draws": frame.draws, "objects": frame.objects, "instructions": frame.instructions,
        "rate": frame.rate, "left_out": 0 if before is None else frame.serial - before.serial - 1}
    if before is not None and before.is_shown == frame.is_shown and before.pixels.dtype == frame.pixels.dtype and \
            np.array_equal(before.pixels, frame.pixels):
        return json_text(head)
    pixels = to_rgb(frame.pixels) if frame.is_shown else frame.pixels  # a display ignores alpha
    return packed({**head, "wide": pixels.dtype == np.uint16}, canvas_bytes(pixels))
