"""A device server in a process of its own, which can be confined.

The process that makes it starts programs, has the directory by which they reach the server, and writes the result.  Of
the server it reads JSON only: a program that takes over the server must not take over this process, too.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any

from gen4emu.errors import Gen4emuError
from gen4emu.limits import limit_memory
from gen4emu.live.server import Server
from gen4emu.sandbox import Sandbox

_MESSAGE_BYTES = 64 << 20
_END_SECONDS = 10.0  # for a process that has sent its last message
_IGNORED = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


class Stop:
    """Ends a wait.  A signal handler may set it at any point of that wait, when an Event would be locked."""

    def __init__(self) -> None:
        self._is_set = False
        self._reads, self._writes = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def set(self) -> None:
        self._is_set = True
        with contextlib.suppress(BlockingIOError):  # full of earlier ones
            os.write(self._writes, b"s")

    def is_set(self) -> bool:
        return self._is_set

    def wait(self) -> None:
        select.select([self], [], [])

    def fileno(self) -> int:
        return self._reads


class ServerLost(Gen4emuError):
    """The process of the server has ended too early."""


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """How a program ended, or why it was not started."""

    status: int | None = None  # its exit status; None: there was no program, or it was not started
    error: str = ""
    error_status: int = 0  # of this process, if there is an error


@dataclass(frozen=True, slots=True)
class Verdict:
    """The last message of a server."""

    status: int
    document: str = ""  # the result as JSON, if that is wanted
    captures: tuple[str, ...] = ()  # the files


Serve = Callable[[Callable[[], ProgramEnd]], Verdict]  # gets a function that waits until programs have ended


class Apart:
    """The process of a server.  `serve` runs there; it is called when the process is confined."""

    def __init__(self, server: Server, serve: Serve, sandbox: Sandbox, memory: int = 0,
                 enter: Callable[[], None] = lambda: None) -> None:
        """`enter` is called there first, before the process is confined."""
        try:
            self._start(server, serve, sandbox, memory, enter)
        except BaseException:
            server.remove_directory()
            raise

    def _start(self, server: Server, serve: Serve, sandbox: Sandbox, memory: int, enter: Callable[[], None]) -> None:
        sandbox.prepare()
        sandbox.overwrite(server.error_file)
        self._server = server
        self._connection, theirs = Pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._process = os.fork()
        if self._process == 0:
            self._connection.close()
            enter()
            _run(server, serve, sandbox, memory, theirs)
        theirs.close()
        server.close_listener()
        if self._receive() is None:
            raise self._lost()

    def end(self, end: ProgramEnd, patience: float | None = None) -> Verdict:
        """Let the server execute what has arrived, and end; it is killed if it is not done after `patience` seconds."""
        with contextlib.suppress(OSError):  # it is gone, which is noticed below
            self._connection.send_bytes(json.dumps(asdict(end)).encode())
        answer = self._receive(patience)
        try:
            if answer is None:
                raise self._lost()
            verdict = Verdict(int(answer["status"]), str(answer["document"]), tuple(map(str, answer["captures"])))
        except (KeyError, TypeError, ValueError):
            raise self._lost() from None
        self._reap()
        return verdict

    def wait_until(self, stop: Stop, idle: Callable[[], None] | None = None) -> None:
        """Wait until `stop` is set by a signal, or the server has ended.  `idle` is called meanwhile."""
        while not wait([self._connection, stop.fileno()], None if idle is None else 0):
            if idle is not None:
                idle()

    def _lost(self) -> ServerLost:
        code = self._reap()
        how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        return ServerLost(f"the device server ended with {how}")

    def _reap(self) -> int:
        """Wait for the end, which is due: the exit status of the server, or minus the number of a signal."""
        self._connection.close()
        end = time.monotonic() + _END_SECONDS
        while True:
            ended, status = os.waitpid(self._process, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > end:
                os.kill(self._process, signal.SIGKILL)
            time.sleep(0.001)

    def _receive(self, patience: float | None = None) -> dict[str, Any] | None:
        """None: the process has ended.  Raises its errors.  It is killed if the whole message takes too long."""
        is_late = threading.Event()

        def kill() -> None:
            is_late.set()
            os.kill(self._process, signal.SIGKILL)

        watch = threading.Timer(patience or 0, kill)
        watch.daemon = True
        try:
            if patience is not None:
                watch.start()
            answer = json.loads(self._connection.recv_bytes(_MESSAGE_BYTES))
        except (EOFError, OSError, ValueError, RecursionError):
            answer = None
        finally:
            watch.cancel()
        if is_late.is_set():
            self._reap()
            raise ServerLost(f"the device server was killed: {patience:.0f} s after it had been told to end, it was "
                             "still executing what programs had submitted")
        if not isinstance(answer, dict):
            return None
        if "error" in answer:
            self._reap()
            raise Gen4emuError(str(answer["error"]))
        return answer

    def close(self) -> None:
        """Remove the directory of the server, whose process has ended."""
        self._connection.close()
        self._server.remove_directory()


def _run(server: Server, serve: Serve, sandbox: Sandbox, memory: int, connection: Connection) -> None:
    """The process of the server; does not return."""
    status = 1
    try:
        for number in _IGNORED:  # the terminal sends them to all processes; this one ends on a message
            signal.signal(number, signal.SIG_IGN)
        server.keeps_directory = True

        def tell(**answer: Any) -> None:
            with contextlib.suppress(BrokenPipeError):
                connection.send_bytes(json.dumps(answer).encode())

        def wait_for_end() -> ProgramEnd:
            tell()  # ready
            try:
                return ProgramEnd(**json.loads(connection.recv_bytes()))
            except (EOFError, ConnectionError):  # the other process was killed
                return ProgramEnd(error="gen4emu was killed", error_status=1)

        try:
            limit_memory(memory)
            sandbox.enter()
            gc.freeze()  # modules live as long as the process: let the collector, which stops frames, not visit them
            verdict = serve(wait_for_end)
            tell(**asdict(verdict))
        except Gen4emuError as e:
            tell(error=str(e))
        sys.stdout.flush()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(status)
