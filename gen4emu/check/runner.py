"""Runs cases in child processes: a crash or a timeout costs one case, and `jobs` of them run at a time."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from gen4emu.check.execute import Task
from gen4emu.check.manifest import Case
from gen4emu.check.results import Outcome, Result
from gen4emu.check.worker import Start
from gen4emu.check.worker import main as serve
from gen4emu.children import Child, Process, forked
from gen4emu.sandbox import Mode, Sandbox

_ANSWER_BYTES = 1 << 30
_START_SECONDS = 120.0  # for a process to import everything
_CODE = "import sys; sys.path[:] = {path!r}; from gen4emu.check.worker import main; main({handle})"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a case."""

    timeout: float | None = None  # seconds; None: as the manifest says
    memory: int = 0  # bytes of address space; 0: no limit
    sandbox: Mode = Mode.AUTO

    def timeout_of(self, case: Case) -> float:
        return case.timeout if self.timeout is None else self.timeout


@dataclass(frozen=True, slots=True)
class _Reach:
    """The files that a child may read and write."""

    reads: frozenset[Path]
    writes: frozenset[Path]

    def covers(self, other: _Reach) -> bool:
        if other.reads <= self.reads and other.writes <= self.writes:  # of nearly all cases
            return True
        return (all(self.reads & {path, *path.parents} for path in other.reads)
                and all(self.writes & {path, *path.parents} for path in other.writes))

    def __or__(self, other: _Reach) -> _Reach:
        return _Reach(self.reads | other.reads, self.writes | other.writes)


class _Worker(Child):
    """A child process and the case it runs."""

    def __init__(self, limits: Limits, fork: bool, mode: Mode, reach: _Reach) -> None:
        self.limits, self.reach = limits, reach
        self.running: _Run | None = None
        self._results: Path | None = None
        self._is_ready = False
        self._temporary = TemporaryDirectory(prefix="gen4emu-", ignore_cleanup_errors=True)
        super().__init__(forked(serve) if fork else _spawn)
        with contextlib.suppress(BrokenPipeError):  # if it could not even start, the first answer will be its end
            self.connection.send(Start(limits.memory, mode, Path(self._temporary.name),
                                       tuple(reach.reads), tuple(reach.writes)))

    def end(self, patience: float = 0.0) -> tuple[str, str]:
        ended = super().end(patience)
        self._temporary.cleanup()
        return ended

    def kill(self) -> None:
        super().kill()
        self._temporary.cleanup()

    def start(self, run: _Run, task: Task) -> None:
        self.running, self._results = run, task.results
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
        assert self.running is not None
        try:
            left = self.deadline - time.monotonic()  # a process that its trace has taken over could send half an answer
            answer = json.loads(self.receive_bytes(_ANSWER_BYTES, left))
            if answer is not None:
                yield Result.from_json(self.running.case, answer, self._results)
                return
        except (EOFError, OSError, ValueError, TypeError, KeyError, RecursionError):
            yield None
            return
        self._is_ready = True
        self.running.started = time.monotonic()


def _spawn(handle: int, log: BinaryIO) -> Process:
    """A new interpreter: a second of work, but safe whatever threads this process has."""
    # Dask sets this variable for its workers.  With it, replays, which repeatedly allocate large buffers, take
    # twice as long.
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_TRIM_THRESHOLD_"}
    environment.setdefault("OPENBLAS_NUM_THREADS", "1")  # a process that has threads cannot be confined
    return subprocess.Popen([sys.executable, "-P", "-c", _CODE.format(path=sys.path, handle=handle)],
                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(handle,), env=environment)


@dataclass(slots=True)
class _Run:
    case: Case
    index: int
    started: float = 0.0
    crashes: list[str] = field(default_factory=list)


class Runner:
    """Worker processes that live until `close`, and are replaced when they die.  `task` may change between runs.

    With `fork` they are forked, which needs a process without devices and other threads.  They may read the
    files of the cases only; those that are not forked, which take long to start, also what is beside these files, and
    `reads`.
    """

    def __init__(self, task: Task, limits: Limits | None = None, jobs: int = 1, fork: bool = False,
                 reads: Sequence[Path] = ()) -> None:
        self.task, self.limits, self.jobs, self.fork = task, limits or Limits(), max(1, jobs), fork
        self._workers: list[_Worker] = []
        self._reach = _Reach(frozenset(path.absolute() for path in reads), frozenset())
        # Those that children write to; --update writes golden pictures to many, and accepts traces as they are.
        self._mode = Mode.OFF if task.update else self.limits.sandbox
        self._directories = Sandbox(self._mode)
        self._directories.wanted = self._mode is not Mode.OFF  # also in a process that is not our own

    def start(self, cases: Sequence[Case]) -> None:
        """Fork all worker processes now, while this process has no other thread.  They may do all that these cases
        need."""
        self._allow(cases)
        while len(self._workers) < self.jobs:
            self._workers.append(_Worker(self.limits, True, self._mode, self._reach))

    def close(self) -> None:
        for worker in self._workers:
            worker.kill()
        self._workers.clear()
        self._directories.remove_empty()

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def run(self, cases: Sequence[Case]) -> Iterator[tuple[int, Result]]:
        """Run cases; yields the index and the result of each as it ends."""
        self._allow(cases)
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

    def _allow(self, cases: Sequence[Case]) -> None:
        """Replace workers that may not read or write the files of these cases."""
        reads: set[Path] = set()
        writes = set() if self.task.results is None else {self.task.results.absolute()}
        for case in cases:
            trace, golden = case.trace.absolute(), [case.golden, *(o.golden for o in case.accepted if o.golden)]
            reads |= {trace if self.fork else trace.parent, *(path.absolute() for path in golden)}
        reach = _Reach(frozenset(reads), frozenset(writes))
        for path in writes - self._reach.writes:
            self._directories.write_directory(path)
        if not self._reach.covers(reach):
            self._reach |= reach
        for worker in [worker for worker in self._workers if not worker.reach.covers(reach)]:
            self._workers.remove(worker)
            worker.kill()

    def _hand_out(self, waiting: deque[_Run]) -> None:
        idle = [worker for worker in self._workers if worker.running is None]
        while waiting and (idle or len(self._workers) < self.jobs):
            if not idle:
                idle.append(_Worker(self.limits, self.fork, self._mode, self._reach))
                self._workers.append(idle[-1])
            idle.pop().start(waiting.popleft(), self.task)

    def _collect(self) -> Iterator[tuple[_Run, Result | None]]:
        """The runs that have ended; those that are to be tried again have no result."""
        busy: dict[Connection, _Worker] = {w.connection: w for w in self._workers if w.running is not None}
        patience = max(0.0, min(worker.deadline for worker in busy.values()) - time.monotonic())
        ready = wait(list(busy), patience)
        for connection, worker in busy.items():
            run = worker.running
            assert run is not None
            if connection in ready:
                for result in worker.receive():
                    if result is not None:
                        yield run, self._ended(worker, run, result)
                    elif time.monotonic() >= worker.deadline:
                        yield run, self._timed_out(worker, run)
                    else:
                        yield run, self._crashed(worker, run)
            elif time.monotonic() >= worker.deadline:
                yield run, self._timed_out(worker, run)

    def _ended(self, worker: _Worker, run: _Run, result: Result) -> Result:
        worker.running = None
        if run.crashes and result.outcome is Outcome.PASS:
            result.outcome = Outcome.FLAKE
            result.notes.append(f"crashed with {run.crashes[0]}, and passed when it was tried again")
        return result

    def _timed_out(self, worker: _Worker, run: _Run) -> Result:
        worker.running = None
        self._workers.remove(worker)
        worker.kill()
        text = f"no result after {self.limits.timeout_of(run.case):g} s"
        return Result(run.case, Outcome.TIMEOUT, seconds=time.monotonic() - run.started, messages=[text])

    def _crashed(self, worker: _Worker, run: _Run) -> Result | None:
        """None: to be tried once more."""
        self._workers.remove(worker)
        how, log = worker.end(1.0)  # a process that closed its pipe is about to end by itself
        run.crashes.append(how)
        if len(run.crashes) == 1:
            return None
        return Result(run.case, Outcome.CRASH, seconds=time.monotonic() - run.started, log=log,
                      messages=[f"crashed twice: {', '.join(run.crashes)}"])
