"""Two pieces of work at a time, one of them in a child process."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from gen4emu.errors import Gen4emuError

First = TypeVar("First")
Second = TypeVar("Second")


def processors() -> int:
    """How many of them this process may use."""
    return len(os.sched_getaffinity(0))


def both(first: Callable[[], First], second: Callable[[], Second], name: str) -> tuple[First, Second]:
    """The results of two functions.  The second one, which `name` describes, runs in a copy of this process.

    Its result is pickled; whatever else it changes is lost.  An error of the first one ends the copy, one of the
    second one is raised here.  No thread may be at work.  Unlike those of `gen4emu.children`, the copy may read files
    that are open here, and is trusted like the first function, which could do the same work.
    """
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_serve, args=(second, sender, receiver), daemon=True)
    child.start()
    sender.close()
    try:
        one = first()
        try:
            error, two = _received(receiver)
        except EOFError:
            child.join()
            raise Gen4emuError(f"{name}: the process for it has ended early: {_ending(child.exitcode or 0)}") from None
        if error is not None:
            raise error
        return one, two
    finally:
        receiver.close()
        child.kill()
        child.join()


def _serve(work: Callable[[], Any], sender: Connection, receiver: Connection) -> None:
    """The child: it ends with the pipe if its parent has ended."""
    receiver.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends the child
    try:
        found: tuple[BaseException | None, Any] = None, work()
    except Exception as e:
        found = e, None
    sender.send(found)


def _received(receiver: Connection) -> tuple[BaseException | None, Any]:
    """A pickle makes many objects and no garbage: looking for some would take most of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        error, value = receiver.recv()
        return error, value
    finally:
        if was_enabled:
            gc.enable()


def _ending(status: int) -> str:
    return f"exit status {status}" if status >= 0 else signal.strsignal(-status) or f"signal {-status}"
