"""piglit and dEQP on a cluster: workers run parts of the tests on device servers, which are processes of their own."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import BinaryIO

from gen4emu.cluster.files import code_digest
from gen4emu.cluster.pool import Call, ClusterLost, Failed, Pool, Worker
from gen4emu.errors import Gen4emuError
from gen4emu.suite import deqp
from gen4emu.suite.interrupts import INTERRUPTS
from gen4emu.suite.piglit import batches, profiles, runner
from gen4emu.suite.piglit.outcome import Outcome

PART = 50  # tests: few enough that workers end at the same time
IDLE_SECONDS = 20.0  # until an idle server ends: starting one takes a second


@dataclass(frozen=True, slots=True)
class Part:
    """Some tests of a suite: of piglit, or of a module of dEQP."""

    tests: tuple[profiles.Case, ...]
    program: deqp.Program | None
    device: str
    workers: int
    timeout: float
    memory: int
    variables: tuple[tuple[str, str], ...] = ()  # of the environment
    code: str = field(default_factory=code_digest)


@dataclass(slots=True)
class Ended:
    """The answer to a part."""

    host: str
    outcomes: list[Outcome] = field(default_factory=list)
    rest: list[str] = field(default_factory=list)
    error: str = ""  # why tests are left


# ---- on a worker -----------------------------------------------------------------------------------------------------

def about() -> Worker:
    return Worker(socket.gethostname())


def execute(part: Part) -> Ended:
    """Run a part in a child process, which a crash or Dask's settings for memory do not affect."""
    if part.code != code_digest():
        return Ended(socket.gethostname(), error="another gen4emu than on the submitting machine")
    child = _waiting(part)
    if child is not None:
        child.ask(part)
        ended = child.answer()
        if ended is not None:
            return ended
    child = _Child(part)
    child.ask(part)
    return child.answer() or Ended(socket.gethostname(), error=child.error())


def end_children() -> Ended:
    """End idle children; return what their servers have reported outside of tests since the last part, and errors."""
    children = []
    with suppress(IndexError):  # none is left
        while True:
            children.append(_idle.pop())
            children[-1].ask(None)
    total = Ended(socket.gethostname())
    for child in children:
        ended = child.answer()
        if ended is not None:
            total.rest += ended.rest
            total.error = total.error or ended.error
    return total


def _server_of(part: Part) -> tuple[str, int, tuple[tuple[str, str], ...]]:
    """What a server must have in common with the one that a part needs."""
    return part.device, part.workers, part.variables


class _Child:
    """A process with a device server, which runs parts one after the other."""

    def __init__(self, first: Part) -> None:
        self._server = _server_of(first)
        self._is_ending = False
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the process
        environment = {name: value for name, value in os.environ.items() if name != "MALLOC_TRIM_THRESHOLD_"}
        code = f"import sys; sys.path[:] = {sys.path!r}; from gen4emu.cluster.programs import child; child()"
        self._process = subprocess.Popen([sys.executable, "-P", "-c", code], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, stderr=self._said, env=environment)

    def serves(self, part: Part) -> bool:
        return self._server == _server_of(part)

    def ask(self, part: Part | None) -> None:
        """Send a part to run; None tells the child to end."""
        assert self._process.stdin is not None
        self._is_ending = part is None
        with suppress(OSError):  # it has ended; answer() reports that
            pickle.dump(part, self._process.stdin)
            self._process.stdin.flush()

    def answer(self) -> Ended | None:
        """None if the child has ended without one."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            ended = pickle.load(self._process.stdout)
        except Exception:  # of any kind: the child has died or printed something else
            ended = None
        if isinstance(ended, Ended) and not ended.error and not self._is_ending:
            _idle.append(self)
            return ended
        with suppress(OSError):
            self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
        return ended if isinstance(ended, Ended) else None

    def error(self) -> str:
        """Why it has ended."""
        self._said.seek(0)
        last = self._said.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        return f"the child process ended with {self._process.returncode}: {last}"


_idle: list[_Child] = []


def _waiting(part: Part) -> _Child | None:
    """An idle child with a server for this part."""
    for child in list(_idle):
        if child.serves(part):
            with suppress(ValueError):  # another thread was faster
                _idle.remove(child)
                return child
    return None


def child() -> None:
    """Runs parts from standard input, until it ends or is silent for a while; answers on standard output."""
    asked: BinaryIO = os.fdopen(os.dup(0), "rb")  # Python closes its own standard input, which a thread still reads
    answers: BinaryIO = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # of everything else that prints
    parts: SimpleQueue[Part | None] = SimpleQueue()

    def read() -> None:
        following = part
        while following is not None:
            try:
                following = pickle.load(asked)
            except (EOFError, pickle.UnpicklingError):  # the worker has ended, perhaps in the middle of a part
                os.kill(os.getpid(), signal.SIGTERM)
                return
            parts.put(following)

    part: Part | None = pickle.load(asked)
    assert part is not None
    ended = Ended(socket.gethostname())
    with INTERRUPTS.delivered():
        try:
            with INTERRUPTS.deferred():
                threading.Thread(target=read, daemon=True).start()
            with runner.server(*_server_of(part)[:2], dict(part.variables)) as server:
                while part is not None:
                    ended.outcomes += run(part, server)
                    server.check()
                    ended.rest = server.reports.take_rest()
                    pickle.dump(ended, answers)
                    answers.flush()
                    ended = Ended(socket.gethostname())
                    try:
                        part = parts.get(timeout=IDLE_SECONDS)
                    except Empty:
                        return
                    server.check()
            ended.rest = server.rest
        except KeyboardInterrupt:
            return
        except (Gen4emuError, OSError) as e:
            ended.error = str(e)
    with suppress(BrokenPipeError):
        pickle.dump(ended, answers)
        answers.close()


def run(part: Part, server: runner.Server) -> Iterator[Outcome]:
    """The tests of a part on a server, one after the other."""
    if part.program is None:
        return runner.run(part.tests, server, 1, part.timeout, memory=part.memory)
    names = [test.name for test in part.tests]
    return deqp.run(part.program, names, server, 1, part.timeout, part.memory, PART)


# ---- on the submitting machine --------------------------------------------------------------------------------------

def run_on_cluster(where: str, tests: Sequence[profiles.Case], program: deqp.Program | None, device: str,
                   workers: int, timeout: float, memory: int, variables: tuple[tuple[str, str], ...],
                   rest: list[str]) -> Iterator[Outcome]:
    """Outcomes as parts end; `rest` receives what servers said of no test.  ClusterLost if tests are left."""
    calls = deque(Call(execute, (Part(some, program, device, workers, timeout, memory, variables),))
                  for some in _parts(tests, program))
    with Pool(where) as pool:
        pool.check_versions(about)
        for call, answer in pool.run(lambda: calls.popleft() if calls else None):
            part: Part = call.arguments[0]
            if isinstance(answer, Failed):
                if call.tries >= 2 or not answer.data_is_lost:
                    raise ClusterLost(f"{where}: {part.tests[0].name} and the tests after it: {answer.how}")
                calls.append(Call(call.function, call.arguments, tries=call.tries + 1))
                continue
            yield from answer.outcomes
            rest += answer.rest
            if answer.error:
                raise ClusterLost(f"{answer.host}: {answer.error}")
        for ended in pool.everywhere(end_children):
            rest += ended.rest
            if ended.error:
                raise ClusterLost(f"{ended.host}: {ended.error}")


def _parts(tests: Sequence[profiles.Case], program: deqp.Program | None) -> Iterator[tuple[profiles.Case, ...]]:
    """Tests that run in one process stay together."""
    groups = batches.group(tests, PART) if program is None else iter([[test] for test in tests])
    part: list[profiles.Case] = []
    for group in groups:
        if part and len(part) + len(group) > PART:
            yield tuple(part)
            part = []
        part += group
    yield tuple(part)
