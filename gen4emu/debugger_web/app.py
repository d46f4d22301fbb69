"""The debugger in a browser: connects the page's socket with the shell, the view and the tables of the report."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from threading import Event, Lock, Timer
from typing import Any

from gen4emu.debugger_web.shell_worker import Opener, ShellWorker
from gen4emu.debugger_web.view_worker import ReportWorker, ViewWorker
from gen4emu.device.options import Options
from gen4emu.hw.chips import Device as Part
from gen4emu.loopback.messages import json_text
from gen4emu.loopback.server import File, Server
from gen4emu.loopback.websocket import WebSocket
from gen4emu.report.writer import MODULES

SCHEMA = "gen4emu.debug-web/1"
VIEW_COMMANDS = ("picture", "pixel", "tree", "live", "maps", "mesh", "memory", "change", "struct", "image")
LINGER_SECONDS = 30.0  # after the last page has left
_PROGRESS_SECONDS = 0.2
_MOST_COMMAND = 4096  # characters
_MOST_WAITING = 64  # commands
# The modules of this page alone.
_OWN = ("debug", "live_source", "scrub", "area", "pixel", "why", "thread", "memory", "console")


def page_files() -> dict[str, File]:
    """The files of the page by their paths: its own, and those of the report that it shares."""
    own, shared = files("gen4emu.debugger_web") / "web", files("gen4emu.report") / "web"
    script, style = "text/javascript; charset=utf-8", "text/css; charset=utf-8"
    found = {f"/{name}.js": File(script, (shared / f"{name}.js").read_bytes())
             for name in MODULES}
    found |= {f"/debug/{name}.js": File(script, (own / f"{name}.js").read_bytes()) for name in _OWN}
    found["/link.js"] = File(script, (files("gen4emu.loopback") / "web" / "link.js").read_bytes())
    found["/report.css"] = File(style, (shared / "report.css").read_bytes())
    found["/debug.css"] = File(style, (own / "debug.css").read_bytes())
    found["/"] = File("text/html; charset=utf-8", (own / "debug.html").read_bytes())
    return found


def _is_for_view(name: str, arguments: list[str]) -> bool:
    """Commands of the view name a draw at their end; the debugger has a `struct` and an `image` without one."""
    counts = {"struct": (1, 3), "image": (7,)}.get(name)
    if counts is not None:
        return len(arguments) in counts and arguments[-1].isdecimal()
    return name in VIEW_COMMANDS


@dataclass(slots=True)
class _Throttle:
    """Lets one call in so many seconds through."""

    last: float = 0.0

    def passes(self) -> bool:
        now = time.monotonic()
        if now - self.last < _PROGRESS_SECONDS:
            return False
        self.last = now
        return True


class WebDebugger:
    """A trace, its debugger, and the server; `wait` returns when it is over."""

    def __init__(self, open_trace: Opener, path: str, part: Part | None, options: Options, port: int = 0) -> None:
        """Raises OSError if the port is in use."""
        self._title = Path(path).name
        self._client: WebSocket | None = None
        self._waiting = 0
        self._lock = Lock()
        self._done = Event()
        self._leave: Timer | None = None
        self._throttles = {"shell": _Throttle(), "report": _Throttle()}
        self.server = Server(page_files(), self, port)
        self._shell = ShellWorker(open_trace, part, options, self._done.set, self._shell_progress)
        self._view = ViewWorker(open_trace, part, options, self._shell.look)
        self._report = ReportWorker(open_trace, part, options, self._title, self._report_done, self._report_progress)

    def start(self) -> None:
        for worker in (self._shell, self._view, self._report):
            worker.start()
        self.server.start()

    def wait(self) -> None:
        """Until `quit`, or until the last page has been gone for a while."""
        while not self._done.wait(0.5):  # a wait without end would not be interrupted by Ctrl-C everywhere
            pass

    def close(self) -> None:
        self.server.close("the debugger has ended")
        for worker in (self._report, self._view, self._shell):
            worker.close()
        if self._leave is not None:
            self._leave.cancel()

    # --- the socket (server.Service) --------------------------------------------------------------------------------
    def attached(self, client: WebSocket) -> None:
        with self._lock:
            self._client = client
            if self._leave is not None:
                self._leave.cancel()
                self._leave = None
        self._send({"kind": "hello", "schema": SCHEMA, "title": self._title})
        if self._report.recorded is not None or self._report.error:
            self._report_done()

    def detached(self) -> None:
        with self._lock:
            self._client = None
            self._leave = Timer(LINGER_SECONDS, self._done.set)
            self._leave.daemon = True
            self._leave.start()

    def received(self, client: WebSocket, message: dict[str, Any]) -> None:
        """`{"id": N, "command": TEXT}`: a command of the debugger, of the view, `chunk NAME`, or `pause`."""
        number, command = message.get("id"), message.get("command")
        if not isinstance(number, int) or not isinstance(command, str) or len(command) > _MOST_COMMAND:
            client.send(json.dumps({"kind": "error", "error": "expected an id and a command"}))
            return
        head = {"id": number}
        name, _, rest = command.strip().partition(" ")
        if "\n" in command:
            self._reply(client, {**head, "error": "a command is one line"})
        elif name == "chunk":
            self._reply(client, {**head, **self._chunk(rest)})
        elif name == "pause":
            self._shell.pause()
            self._reply(client, head)
        elif self._waiting >= _MOST_WAITING:
            self._reply(client, {**head, "error": f"{_MOST_WAITING} commands are waiting"})
        elif _is_for_view(name, rest.split()):
            self._view.ask(command, head, self._counted(client, lambda found: found))
        else:
            self._shell.ask(command, self._counted(client, lambda found: {**head, **found}))

    def _counted(self, client: WebSocket, complete: Callable[[Any], dict[str, Any] | bytes]) -> Callable[[Any], None]:
        """Count a command until it is answered."""
        with self._lock:
            self._waiting += 1

        def reply(found: Any) -> None:
            with self._lock:
                self._waiting -= 1
            self._reply(client, complete(found))

        return reply

    @staticmethod
    def _reply(client: WebSocket, found: dict[str, Any] | bytes) -> None:
        client.send(found if isinstance(found, bytes) else json_text(found))

    def _send(self, message: dict[str, Any]) -> None:
        client = self._client
        if client is not None:
            client.send(json_text(message))

    # --- workers --------------------------------------------------------------------------------------------------
    def _chunk(self, name: str) -> dict[str, Any]:
        recorded = self._report.recorded
        text = None if recorded is None else recorded.chunks.get(name)
        return {"chunk": text} if text is not None else {"error": f"no data {name!r}"}

    def _report_done(self) -> None:
        recorded = self._report.recorded
        if recorded is not None:
            # What a report leaves out is made here when it is shown.
            self._send({"kind": "overview", "overview": recorded.overview | {"left_out": []}})
        else:
            self._send({"kind": "failed", "error": self._report.error})

    def _report_progress(self, draw: int, fraction: float | None) -> None:
        if self._throttles["report"].passes():
            self._send({"kind": "progress", "of": "report", "draw": draw, "fraction": fraction})

    def _shell_progress(self, draw: int) -> None:
        if self._throttles["shell"].passes():
            self._send({"kind": "progress", "of": "shell", "draw": draw})
