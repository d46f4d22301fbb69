"""A child process that runs cases one after the other; a crash affects only the current case."""

from __future__ import annotations

import faulthandler
import resource
import signal
import sys
import traceback
from multiprocessing.connection import Connection

from gen4emu.check.execute import Task, run_case
from gen4emu.check.manifest import Case
from gen4emu.check.results import Outcome, Result

_GRACE_SECONDS = 30  # after which a worker ends by itself, if its parent was killed


def main(handle: int) -> None:
    """Serve cases from a connection until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends its workers
    faulthandler.enable(2)
    connection = Connection(handle)
    memory = connection.recv()
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    connection.send(None)  # ready: from here on, time counts
    while True:
        try:
            case, task, timeout = connection.recv()
        except EOFError:
            return
        signal.alarm(int(timeout) + _GRACE_SECONDS)
        connection.send(_run(case, task, memory))
        signal.alarm(0)


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
