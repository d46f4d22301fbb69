"""piglit and dEQP on a cluster: a worker starts a device server for each part of the tests, in a process of its own."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from gen4emu.cluster.files import code_digest
from gen4emu.cluster.pool import Call, ClusterLost, Failed, Pool, Worker
from gen4emu.errors import Gen4emuError
from gen4emu.suite import deqp
from gen4emu.suite.piglit import profiles, runner
from gen4emu.suite.piglit.outcome import Outcome

PART = 50  # tests; a server takes a second to start


@dataclass(frozen=True, slots=True)
class Part:
    """Some tests of a suite: of piglit, or of a module of dEQP."""

    tests: tuple[profiles.Case, ...]
    program: deqp.Program | None
    device: str
    workers: int
    timeout: float
    memory: int
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
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_TRIM_THRESHOLD_"}
    code = f"import sys; sys.path[:] = {sys.path!r}; from gen4emu.cluster.programs import child; child()"
    done = subprocess.run([sys.executable, "-P", "-c", code], input=pickle.dumps(part), capture_output=True,
                          env=environment, check=False)
    try:
        ended = pickle.loads(done.stdout)
    except Exception:  # of any kind: the child has died, or printed something else
        ended = None
    if not isinstance(ended, Ended):
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return Ended(socket.gethostname(), error=f"the child process ended with {done.returncode}: {last}")
    return ended


def child() -> None:
    """Reads a part from standard input, and writes its answer to standard output."""
    answers: BinaryIO = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # of everything else that prints
    part: Part = pickle.load(sys.stdin.buffer)
    ended = Ended(socket.gethostname())
    try:
        with runner.server(part.device, part.workers) as server:
            ended.outcomes += run(part, server)
        ended.rest = server.rest
    except (Gen4emuError, OSError) as e:
        ended.error = str(e)
    answers.write(pickle.dumps(ended))
    answers.close()


def run(part: Part, server: runner.Server) -> Iterator[Outcome]:
    """The tests of a part on a server, one after the other."""
    if part.program is None:
        return runner.run(part.tests, server, 1, part.timeout, memory=part.memory)
    names = [test.name for test in part.tests]
    return deqp.run(part.program, names, server, 1, part.timeout, part.memory, PART)


# ---- on the submitting machine --------------------------------------------------------------------------------------

def run_on_cluster(where: str, tests: Sequence[profiles.Case], program: deqp.Program | None, device: str,
                   workers: int, timeout: float, memory: int, rest: list[str]) -> Iterator[Outcome]:
    """Outcomes as parts end; `rest` receives what servers said of no test.  ClusterLost if tests are left."""
    calls = deque(
        Call(execute, (Part(tuple(tests[i:i + PART]), program, device, workers, timeout, memory),))
        for i in range(0, len(tests), PART))
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
