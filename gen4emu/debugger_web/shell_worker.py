"""The debugger's shell in a thread: commands come from a queue, answers are those of `debug --json` with their text."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from gen4emu.debugger.session import Leave
from gen4emu.debugger.shell import Read, Shell
from gen4emu.device.device import Device
from gen4emu.device.options import Options
from gen4emu.errors import Gen4emuError, HangError
from gen4emu.hw.chips import Device as Part
from gen4emu.trace.reader import Trace

_MOST_ANSWERS = 5_000  # of one command that are kept

Reply = Callable[[dict[str, Any]], None]
Opener = Callable[[], Trace]


@dataclass(slots=True)
class _Request:
    command: str
    reply: Reply
    look: Callable[[Device | None], None] | None = None  # instead of a command


class _Shell(Shell):
    """Answers with data for the page and the lines that a terminal shows, together."""

    def __init__(self, keep: Callable[[dict[str, Any]], None], trace: Trace, part: Part | None, options: Options,
                 read: Read, on_progress: Callable[[int], None]) -> None:
        super().__init__(trace, part, options, read, lambda line: None, on_progress=on_progress)
        self._keep = keep

    def _answer(self, kind: str, lines: Iterable[str], data: dict[str, Any]) -> None:
        self._keep({"kind": kind, **data, "lines": list(lines)})

    def _failed(self, text: str) -> None:
        self._keep({"kind": "error", "error": text, "lines": [text]})


class ShellWorker:
    """One debugging session.  It lives through hangs; `quit` ends it."""

    def __init__(self, open_trace: Opener, part: Part | None, options: Options, on_end: Callable[[], None],
                 on_progress: Callable[[int], None]) -> None:
        self._open, self._part, self._options = open_trace, part, options
        self._on_end, self._on_progress = on_end, on_progress
        self._requests: SimpleQueue[_Request | None] = SimpleQueue()
        self._running: _Request | None = None
        self._answers: list[dict[str, Any]] = []
        self._dropped = 0
        self._is_closing = False
        self._shell: Shell | None = None
        self._thread = threading.Thread(target=self._run, name="shell", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """End at the next draw, or at once if no command runs."""
        self._is_closing = True
        self._requests.put(None)
        self._thread.join(2)

    def ask(self, command: str, reply: Reply) -> None:
        """Execute a command after those before it; `reply` is called in another thread."""
        self._requests.put(_Request(command, reply))

    def look(self, look: Callable[[Device | None], None]) -> None:
        """Call a function with the device where it stands, after the commands before it; None: no device yet."""
        self._requests.put(_Request("", lambda found: None, look))

    def pause(self) -> None:
        """Stop before the next primitive, if a command runs."""
        shell = self._shell
        if shell is not None and self._running is not None:
            shell.session.draw_stop.at, shell.session.draw_stop.required = 0, False

    # --- the thread -----------------------------------------------------------------------------------------------
    def _run(self) -> None:
        try:
            trace = self._open()
            shell = self._shell = _Shell(self._keep, trace, self._part, self._options, self._read, self._progress)
            while self._run_once(shell):
                pass
            trace.close()
        except Gen4emuError as e:  # of the trace: there is nothing to debug
            self._fail(str(e))
            while (request := self._requests.get()) is not None:
                if request.look is not None:
                    request.look(None)
                self._running = request
                self._fail(str(e))
        finally:
            self._on_end()

    def _run_once(self, shell: Shell) -> bool:
        """Run the trace, as often as commands restart it; returns whether there is more to do."""
        try:
            shell.run()
        except HangError as e:
            text = f"{shell.session.place()}: the GPU hangs: {e}"
            self._answers.append({"kind": "hang", "error": text, "lines": [text]})
        except Gen4emuError as e:
            if shell.session.debugger is None:
                raise
            self._answers.append({"kind": "error", "error": str(e), "lines": [str(e)]})
        else:
            self._answer("(quit) ", shell)
            return False
        shell.stop, shell.primitive, shell.ended = None, None, False
        shell.session.draw_stop.at = None
        shell.session.close()
        return not self._is_closing

    def _read(self, prompt: str) -> str | None:
        """The previous command is done: answer, and wait for the next one."""
        shell = self._shell
        assert shell is not None
        self._answer(prompt, shell)
        while (request := self._requests.get()) is not None and request.look is not None:
            request.look(shell.session.device if shell.session.started else None)
        if request is None:
            return None
        self._running = request
        return request.command

    def _answer(self, prompt: str, shell: Shell) -> None:
        session = shell.session
        place = session.place()
        answers, self._answers = self._answers, []
        if self._dropped:
            answers.append({"kind": "note", "lines": [f"{self._dropped} more answers are not shown"]})
            self._dropped = 0
        found = {"answers": answers, "prompt": prompt.strip(), "place": place.as_json(), "ended": shell.ended,
                 "stopped": shell.stop is not None, "before_draw": shell.primitive is not None,
                 "started": session.started}
        request, self._running = self._running, None
        if request is not None:
            request.reply(found)

    def _fail(self, error: str) -> None:
        request, self._running = self._running, None
        if request is not None:
            answer = {"kind": "error", "error": error, "lines": [error]}
            request.reply({"answers": [answer], "prompt": "()", "place": None, "ended": True, "stopped": False,
                           "before_draw": False, "started": False})

    def _keep(self, answer: dict[str, Any]) -> None:
        if len(self._answers) >= _MOST_ANSWERS:
            self._dropped += 1
            return
        self._answers.append(answer)

    def _progress(self, draw: int) -> None:
        if self._is_closing:
            raise Leave
        self._on_progress(draw)

