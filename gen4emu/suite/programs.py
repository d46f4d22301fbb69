"""Runs the programs of a suite, keeps their output, and ends all of them when a run is interrupted."""

from __future__ import annotations

import os
import resource
import selectors
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import IO, TypeVar, cast

from gen4emu.suite.interrupts import INTERRUPTS

_Result = TypeVar("_Result")
_KEPT_BYTES = 32 << 20  # of the begin and of the end of an output


@dataclass(frozen=True, slots=True)
class Execution:
    """A program that has ended, or was killed because it took too long."""

    pid: int
    status: int
    stdout: str
    stderr: str
    seconds: float
    stall: str = ""  # the threads of a program that took too long


class Interrupted(Exception):
    """The run that this program belongs to is ending."""


@dataclass(slots=True)
class _Running:
    """The programs of a pool."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    programs: set[subprocess.Popen[bytes]] = field(default_factory=set)
    ended: bool = False

    @contextmanager
    def start(self, command: Sequence[str], environment: Mapping[str, str], directory: Path | None) \
            -> Iterator[subprocess.Popen[bytes]]:
        with self.lock:
            if self.ended:
                raise Interrupted
            program = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, process_group=0, cwd=directory)
            self.programs.add(program)
        try:
            yield program
        finally:
            with self.lock:
                self.programs.remove(program)
        if self.ended:
            raise Interrupted

    def end(self) -> None:
        """Kill all of them; from now on, start() raises Interrupted."""
        with self.lock:
            self.ended = True
            for program in self.programs:
                if program.returncode is None:
                    _kill(program)


_THREAD = threading.local()


@contextmanager
def pool(jobs: int) -> Iterator[ThreadPoolExecutor]:
    """Threads for execute().  Their programs are killed if an exception ends the caller's block."""
    running = _Running()

    def begin() -> None:
        _THREAD.running = running

    with ThreadPoolExecutor(jobs, initializer=begin) as threads:
        try:
            yield threads
        except BaseException:
            running.end()
            threads.shutdown(cancel_futures=True)
            raise


def results(threads: ThreadPoolExecutor, calls: Iterable[Callable[[], _Result]]) -> Iterator[_Result]:
    """The results of the calls, in the order in which they end.  A signal interrupts only the wait for the next one."""
    ended: SimpleQueue[Future[_Result]] = SimpleQueue()
    with INTERRUPTS.deferred():
        running = [threads.submit(call) for call in calls]
        for future in running:
            future.add_done_callback(ended.put)
    for _ in running:
        future = ended.get()
        with INTERRUPTS.deferred():
            result = future.result()
        yield result


def execute(command: Sequence[str], environment: Mapping[str, str], seconds: float, memory: int = 0, *,
            directory: Path | None = None, step: bytes = b"") -> Execution:
    """Run a program in a process group of its own; `memory` limits its address space, if it is not 0.

    With `step`, each line of its standard output that begins with it restarts the time limit.
    """
    start = time.monotonic()
    running: _Running = getattr(_THREAD, "running", None) or _Running()
    with running.start(command, environment, directory) as process:
        if memory:
            with suppress(ProcessLookupError):
                resource.prlimit(process.pid, resource.RLIMIT_AS, (memory, memory))
        stdout, stderr, stall = _communicate(process, seconds, step)
    return Execution(process.pid, process.returncode, stdout.decode("utf-8", "replace"),
                     stderr.decode("utf-8", "replace"), round(time.monotonic() - start, 2), stall)


class _Output:
    """The output of a program.  If it is too long, the middle is dropped."""

    def __init__(self, step: bytes = b"") -> None:
        self._begin: list[bytes] = []
        self._end: deque[bytes] = deque()
        self._begin_bytes = self._end_bytes = 0
        self._mark = b"\n" + step if step else b""
        self._last = b"\n"  # bytes in which the mark may begin

    def add(self, data: bytes) -> bool:
        """Whether a line with the step has begun."""
        if self._begin_bytes < _KEPT_BYTES:
            self._begin.append(data)
            self._begin_bytes += len(data)
        else:
            self._end.append(data)
            self._end_bytes += len(data)
            while self._end_bytes - len(self._end[0]) >= _KEPT_BYTES:
                self._end_bytes -= len(self._end.popleft())
        if not self._mark:
            return False
        seen = self._last + data
        self._last = seen[1 - len(self._mark):]
        return self._mark in seen

    def all(self) -> bytes:
        return b"".join((*self._begin, *self._end))


def _communicate(process: subprocess.Popen[bytes], seconds: float, step: bytes) -> tuple[bytes, bytes, str]:
    """Its output; if it took too long, its threads before it was killed."""
    assert process.stdout is not None and process.stderr is not None
    printed: dict[IO[bytes], _Output] = {process.stdout: _Output(step), process.stderr: _Output()}
    deadline = time.monotonic() + seconds
    stall = ""
    with selectors.DefaultSelector() as selector:
        for pipe in printed:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            if not stall and time.monotonic() >= deadline:
                stall = _stop(process)
            for key, _ in selector.select(None if stall else max(0.0, deadline - time.monotonic())):
                pipe = cast(IO[bytes], key.fileobj)
                data = os.read(pipe.fileno(), 65536)
                if not data:
                    selector.unregister(pipe)
                if printed[pipe].add(data):
                    deadline = time.monotonic() + seconds
    try:
        process.wait(None if stall else max(0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:  # it has closed its outputs
        stall = _stop(process)
        process.wait()
    stdout, stderr = (output.all() for output in printed.values())
    process.stdout.close()
    process.stderr.close()
    return stdout, stderr, stall


def _stop(process: subprocess.Popen[bytes]) -> str:
    """Its threads, before it is killed."""
    threads = _threads(process.pid)
    _kill(process)
    return threads


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _threads(pid: int) -> str:
    """A line for each thread of a process: its name, its state, and the system call that it waits in."""
    lines = []
    for task in sorted(Path(f"/proc/{pid}/task").glob("*")):
        about = []
        for name in ("comm", "stat", "wchan", "syscall"):
            try:
                found = (task / name).read_text()
            except OSError as e:  # the thread has ended, or the system hides it
                found = e.strerror or ""
            about.append(found.rpartition(")")[2].split()[0] if name == "stat" and ")" in found else found.strip())
        lines.append(" ".join(about) + "\n")
    return "".join(lines) or "no threads\n"
