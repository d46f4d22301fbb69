"""Child processes that work for this one: how they start, what they answer, how they end."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any, BinaryIO, Protocol

_LOG_BYTES = 16 << 10  # of what a process printed last


class Process(Protocol):
    """A process, started by any means."""

    def wait(self, timeout: float | None = None) -> int: ...

    def kill(self) -> None: ...


class Child:
    """A process with a connection to this one, and a log of what it prints."""

    def __init__(self, start: Callable[[int, BinaryIO], Process]) -> None:
        """`start` gets the child's end of the connection, a descriptor, and the log."""
        self.connection, theirs = multiprocessing.Pipe()
        self._log: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the child
        self._process = start(theirs.fileno(), self._log)
        theirs.close()

    def end(self, patience: float = 0.0) -> tuple[str, str]:
        """Kill the process if it does not end by itself; how it ended and what it printed last."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)
        self._process.kill()
        status = self._process.wait()
        self.connection.close()
        size = self._log.seek(0, 2)
        self._log.seek(max(0, size - _LOG_BYTES))
        log = self._log.read().decode("utf-8", "replace")
        self._log.close()
        return _ending(status), log

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self.connection.close()
        self._log.close()


def forked(work: Callable[[int], object]) -> Callable[[int, BinaryIO], Process]:
    """How a copy of this process starts, which must have no thread at work: everything is imported already."""
    def start(handle: int, log: BinaryIO) -> Process:
        process = multiprocessing.get_context("fork").Process(target=_work, args=(work, handle, log.fileno()),
                                                              daemon=True)
        process.start()
        return _Forked(process)

    return start


class _Forked:
    def __init__(self, process: ForkProcess) -> None:
        self._process = process

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("worker", timeout or 0.0)
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()


def _work(work: Callable[[int], object], handle: int, log: int) -> None:
    os.dup2(log, 1)
    os.dup2(log, 2)
    stream = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115 - as long as the process
    sys.stdout = sys.stderr = stream
    for name in os.listdir("/proc/self/fd"):  # the parent's pipes, which must close when the parent dies
        if int(name) > 2 and int(name) != handle:
            with contextlib.suppress(OSError):
                os.close(int(name))
    work(handle)
    os._exit(0)


def _ending(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


@dataclass(frozen=True, slots=True)
class Ended:
    """A child that ended without an answer."""

    how: str
    log: str


def answers(works: Sequence[Callable[[], Any]], most: int,
            idle: Callable[[], object] = lambda: None) -> Iterator[tuple[int, Any]]:
    """Call functions in copies of this process, at most `most` at a time.

    Yields the index and the result of each as it ends, or Ended.  `idle` is called again and again meanwhile.
    """
    following = 0
    busy: dict[Connection, tuple[int, Child]] = {}
    try:
        while following < len(works) or busy:
            while following < len(works) and len(busy) < most:
                child = Child(forked(_answering(works[following])))
                busy[child.connection] = following, child
                following += 1
            idle()
            for connection in wait(list(busy), 0.2):
                assert isinstance(connection, Connection)
                index, child = busy.pop(connection)
                try:
                    answer = connection.recv()
                except (EOFError, OSError):
                    answer = Ended(*child.end(1.0))
                else:
                    child.end(1.0)
                yield index, answer
    finally:
        for _, child in busy.values():
            child.kill()


def _answering(work: Callable[[], Any]) -> Callable[[int], None]:
    def answer(handle: int) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends its children
        Connection(handle).send(work())

    return answer
