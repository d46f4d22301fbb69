"""Child processes that work for this one: their start, their answers, their end."""

from __future__ import annotations

import contextlib
import ctypes
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any, BinaryIO, Protocol

_LOG_BYTES = 16 << 10  # bytes of the last output of a process
_MESSAGE_BYTES = 64 << 20
_GRACE_SECONDS = 10.0  # for a child that is asked to end, and for the rest of a message
_POLL_SECONDS = 0.002
_PR_SET_PDEATHSIG = 1  # of Linux: the signal that the end of the parent sends


def end_with(parent: int) -> None:
    """End this process, a copy of `parent` that its main thread has made, as soon as that ends, even by SIGKILL."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it has ended before
        os._exit(1)


class Process(Protocol):
    """A process, started by any means."""

    def wait(self, timeout: float | None = None) -> int: ...

    def kill(self) -> None: ...

    def terminate(self) -> None: ...


class Child:
    """A process with a connection to this one, and a log of what it prints."""

    def __init__(self, start: Callable[[int, BinaryIO], Process]) -> None:
        """`start` gets the child's end of the connection, a descriptor, and the log."""
        self.connection, theirs = multiprocessing.Pipe()
        self._log: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the child
        self._process = start(theirs.fileno(), self._log)
        theirs.close()

    def receive_bytes(self, most: int, seconds: float) -> bytes:
        """The next message, which has begun.  A process that does not send the rest is killed after `seconds`.

        Raises EOFError if the process has ended, OSError if the message has more than `most` bytes or is not whole.
        """
        watch = threading.Timer(max(0.0, seconds), self._process.kill)
        watch.start()
        try:
            return self.connection.recv_bytes(most)
        finally:
            watch.cancel()
            watch.join()  # this process may fork again

    def end(self, patience: float = 0.0) -> tuple[str, str]:
        """Kill the process if it does not end by itself; returns its exit and its last output."""
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

    def ask_to_end(self) -> None:
        self._process.terminate()

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
        # join() ignores its time limit here: the pipe that would signal the end of the child is closed already.
        if timeout is None:
            self._process.join()
        else:
            end = time.monotonic() + timeout
            while self._process.exitcode is None and time.monotonic() < end:
                time.sleep(_POLL_SECONDS)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("worker", timeout or 0.0)
        return self._process.exitcode

    def kill(self) -> None:
        with contextlib.suppress(PermissionError):  # a confined process sends no signals
            self._process.kill()

    def terminate(self) -> None:
        self._process.terminate()


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


Messages = Generator[tuple[int, Any], None, None]  # the index of a child, and its message
Tell = Callable[[Any], None]  # takes a value of JSON


@dataclass(frozen=True, slots=True)
class Ended:
    """The last message of a child: how it ended, and its last output."""

    how: str
    log: str

    def text(self, name: str) -> str:
        """The error text for a child that ended too early."""
        last = (self.log.strip().splitlines() or [""])[-1]
        return f"{name} ended with {self.how}{': ' * bool(last)}{last}"


def messages(works: Sequence[Callable[[Tell], object]], most: int, idle: Callable[[], object] = lambda: None,
             late: Callable[[int, Any], object] = lambda index, message: None) -> Messages:
    """Call functions in copies of this process, at most `most` at a time.

    Yields the index of a child with each of its messages, and at last with Ended.  Meanwhile, `idle` is called
    repeatedly.  Children that run when the iterator is closed are stopped, and `late` receives their last messages.
    Messages are JSON: a trace that takes over a child must not take over this process, too.
    """
    following = 0
    busy: dict[Connection, tuple[int, Child]] = {}
    try:
        while following < len(works) or busy:
            while following < len(works) and len(busy) < most:
                child = Child(forked(_telling(works[following])))
                busy[child.connection] = following, child
                following += 1
            idle()
            for connection in wait(list(busy), 0.2):
                assert isinstance(connection, Connection)
                index, child = busy[connection]
                try:
                    message = _message(child, _GRACE_SECONDS)
                except EOFError:
                    del busy[connection]
                    message = Ended(*child.end(1.0))
                yield index, message
    finally:
        for _, child in busy.values():
            child.ask_to_end()
        for connection, (index, child) in busy.items():
            end = time.monotonic() + _GRACE_SECONDS
            with contextlib.suppress(EOFError):
                while (left := end - time.monotonic()) > 0 and connection.poll(left):
                    late(index, _message(child, left))
            child.kill()


def _message(child: Child, seconds: float) -> Any:
    """Raises EOFError if the child has ended, or sends anything but a message."""
    try:
        return json.loads(child.receive_bytes(_MESSAGE_BYTES, seconds))
    except (OSError, ValueError, RecursionError):
        raise EOFError from None


def _telling(work: Callable[[Tell], object]) -> Callable[[int], None]:
    def run(handle: int) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends its children
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))
        connection = Connection(handle)
        work(lambda message: connection.send_bytes(json.dumps(message).encode()))

    return run
