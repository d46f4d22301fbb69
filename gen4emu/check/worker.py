"""A child process that runs cases one after the other; a crash affects only the current case.

It confines itself before the first case.  Its answers are JSON: a trace that takes over the child must not take over
the parent, too.
"""

from __future__ import annotations

import faulthandler
import json
import signal
import sys
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from gen4emu.check.execute import Task, run_case
from gen4emu.check.manifest import Case
from gen4emu.check.results import Outcome, Result
from gen4emu.limits import limit_memory
from gen4emu.ownership import own_process
from gen4emu.sandbox import Mode, Sandbox

_GRACE_SECONDS = 30  # after which a worker ends by itself, if its parent was killed


@dataclass(frozen=True, slots=True)
class Start:
    """The first message to a child."""

    memory: int  # the limit; 0: none
    mode: Mode
    temporary: Path
    reads: tuple[Path, ...]
    writes: tuple[Path, ...]


def main(handle: int) -> None:
    """Serve cases from a connection until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends its workers
    faulthandler.enable(2)
    connection = Connection(handle)
    own_process()
    start: Start = connection.recv()
    limit_memory(start.memory)
    _confine(start)
    _send(connection, None)  # ready: from here on, time counts
    while True:
        try:
            case, task, timeout = connection.recv()
        except EOFError:
            return
        signal.setitimer(signal.ITIMER_REAL, timeout + _GRACE_SECONDS)
        _send(connection, _run(case, task, start.memory).as_json(task.results))
        signal.setitimer(signal.ITIMER_REAL, 0)


def _confine(start: Start) -> None:
    sandbox = Sandbox(start.mode, start.temporary)
    for path in start.reads:
        sandbox.read(path)
    for path in start.writes:
        sandbox.write_directory(path)
    sandbox.enter()


def _send(connection: Connection, answer: object) -> None:
    connection.send_bytes(json.dumps(answer).encode())


def _run(case: Case, task: Task, memory: int) -> Result:
    try:
        return run_case(case, task)
    except MemoryError:
        limit = f" ({memory >> 20} MiB)" if memory else ""
        return Result(case, Outcome.CRASH, messages=[f"out of memory{limit}"])
    except Exception as e:
        last = traceback.extract_tb(e.__traceback__)[-1]
        where = f"{last.filename}:{last.lineno}"
        return Result(case, Outcome.CRASH, messages=[f"internal error: {type(e).__name__}: {e} (at {where})"],
                      log=traceback.format_exc())


if __name__ == "__main__":
    main(int(sys.argv[1]))
