"""Running cases in child processes: crashes and timeouts cost one case, `jobs` of them run at the same time."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import BinaryIO, Protocol

from gen4emu.check.execute import Task
from gen4emu.check.manifest import Case
from gen4emu.check.results import Outcome, Result
from gen4emu.check.worker import main as serve

_START_SECONDS = 120.0  # for a process to import everything
_LOG_BYTES = 16 << 10  # of what a crashed process printed last
_CODE = "import sys; sys.path[:] = {path!r}; from gen4emu.check.worker import main; main({handle})"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a case."""

    timeout: float | None = None  # seconds; None: as the manifest says
    memory: int = 0  # bytes of address space; 0: no limit

    def timeout_of(self, case: Case) -> float:
        return case.timeout if self.timeout is None else self.timeout


class _Worker:
    """A child process and the case it runs."""

    def __init__(self, limits: Limits, fork: bool) -> None:
        self.limits = limits
        self.running: _Run | None = None
        self._is_ready = False
        self.connection, theirs = multiprocessing.Pipe()
        self._log: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the worker
        self._process = (_fork if fork else _spawn)(theirs.fileno(), self._log)
        theirs.close()
        with contextlib.suppress(BrokenPipeError):  # if it could not even start, the first answer will be its end
            self.connection.send(limits.memory)

    def start(self, run: _Run, task: Task) -> None:
        self.running = run
        run.started = time.monotonic()
        with contextlib.suppress(BrokenPipeError):
            self.connection.send((run.case, task, self.limits.timeout_of(run.case)))

    @property
    def deadline(self) -> float:
        assert self.running is not None
        patience = self.limits.timeout_of(self.running.case)
        return self.running.started + (patience if self._is_ready else max(patience, _START_SECONDS))

    def receive(self) -> Iterator[Result | None]:
        """The result, None if the process has died, nothing if it has only become ready."""
        try:
            result = self.connection.recv()
        except (EOFError, OSError):
            yield None
            return
        if isinstance(result, Result):
            yield result
            return
        assert self.running is not None
        self._is_ready = True
        self.running.started = time.monotonic()

    def end(self) -> tuple[str, str]:
        """Kill the process; how it ended and what it printed last."""
        with contextlib.suppress(subprocess.TimeoutExpired):  # a process that closed its pipe is about to end by itself
            self._process.wait(0.0 if self.running is None else 1.0)
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


class _Process(Protocol):
    """The interface of both kinds of processes."""

    def wait(self, timeout: float | None = None) -> int: ...

    def kill(self) -> None: ...


def _spawn(handle: int, log: BinaryIO) -> _Process:
    """A new interpreter: a second of work, but safe whatever threads this process has."""
    # Dask sets this variable for its workers.  With it, replays, which allocate large buffers again and again, take
    # twice as long.
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_TRIM_THRESHOLD_"}
    return subprocess.Popen([sys.executable, "-P", "-c", _CODE.format(path=sys.path, handle=handle)],
                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(handle,), env=environment)


def _fork(handle: int, log: BinaryIO) -> _Process:
    """A copy of this process, which must have no thread at work: everything is imported already."""
    process = multiprocessing.get_context("fork").Process(target=_forked, args=(handle, log.fileno()), daemon=True)
    process.start()
    return _Forked(process)


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


def _forked(handle: int, log: int) -> None:
    os.dup2(log, 1)
    os.dup2(log, 2)
    for name in os.listdir("/proc/self/fd"):  # the parent's pipes, which must close when the parent dies
        if int(name) > 2 and int(name) != handle:
            with contextlib.suppress(OSError):
                os.close(int(name))
    serve(handle)
    os._exit(0)


@dataclass(slots=True)
class _Run:
    case: Case
    index: int
    started: float = 0.0
    crashes: list[str] = field(default_factory=list)


def _ending(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


class Runner:
    """Worker processes that live until `close`, and are replaced when they die.  `task` may change between runs.

    `fork` starts them by fork, which is for processes that have no device and no thread at work.
    """

    def __init__(self, task: Task, limits: Limits | None = None, jobs: int = 1, fork: bool = False) -> None:
        self.task, self.limits, self.jobs, self.fork = task, limits or Limits(), max(1, jobs), fork
        self._workers: list[_Worker] = []

    def close(self) -> None:
        for worker in self._workers:
            worker.kill()
        self._workers.clear()

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def run(self, cases: Sequence[Case]) -> Iterator[tuple[int, Result]]:
        """Run cases; yields the index and the result of each as it ends."""
        waiting = deque(_Run(case, i) for i, case in enumerate(cases))
        left = len(waiting)
        while left:
            self._hand_out(waiting)
            for run, result in self._collect():
                if result is None:
                    waiting.appendleft(run)
                else:
                    left -= 1
                    yield run.index, result

    def _hand_out(self, waiting: deque[_Run]) -> None:
        idle = [worker for worker in self._workers if worker.running is None]
        while waiting and (idle or len(self._workers) < self.jobs):
            if not idle:
                idle.append(_Worker(self.limits, self.fork))
                self._workers.append(idle[-1])
            idle.pop().start(waiting.popleft(), self.task)

    def _collect(self) -> Iterator[tuple[_Run, Result | None]]:
        """Runs that have ended; without a result those that are tried again."""
        busy: dict[Connection, _Worker] = {w.connection: w for w in self._workers if w.running is not None}
        patience = max(0.0, min(worker.deadline for worker in busy.values()) - time.monotonic())
        ready = wait(list(busy), patience)
        for connection, worker in busy.items():
            run = worker.running
            assert run is not None
            if connection in ready:
                for result in worker.receive():
                    yield run, self._crashed(worker, run) if result is None else self._ended(worker, run, result)
            elif time.monotonic() >= worker.deadline:
                worker.running = None
                self._workers.remove(worker)
                worker.kill()
                text = f"no result after {self.limits.timeout_of(run.case):g} s"
                yield run, Result(run.case, Outcome.TIMEOUT, seconds=time.monotonic() - run.started, messages=[text])

    def _ended(self, worker: _Worker, run: _Run, result: Result) -> Result:
        worker.running = None
        if run.crashes and result.outcome is Outcome.PASS:
            result.outcome = Outcome.FLAKE
            result.notes.append(f"crashed with {run.crashes[0]}, and passed when it was tried again")
        return result

    def _crashed(self, worker: _Worker, run: _Run) -> Result | None:
        """None: to be tried once more."""
        self._workers.remove(worker)
        how, log = worker.end()
        run.crashes.append(how)
        if len(run.crashes) == 1:
            return None
        return Result(run.case, Outcome.CRASH, seconds=time.monotonic() - run.started, log=log,
                      messages=[f"crashed twice: {', '.join(run.crashes)}"])
