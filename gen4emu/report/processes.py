"""Two pieces of work at a time, one of them in a child process."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, NoReturn, TypeVar

from gen4emu.children import end_with
from gen4emu.errors import Gen4emuError

First = TypeVar("First")
Second = TypeVar("Second")


def processors() -> int:
    """How many of them this process may use."""
    return len(os.sched_getaffinity(0))


def both(first: Callable[[], First], second: Callable[[], Second], name: str,
         confine: Callable[[], None] = lambda: None) -> tuple[First, Second]:
    """The results of two functions.  The second one, which `name` describes, runs in a copy of this process.

    `confine` is called in both of them before.  The second result is pickled; whatever else that function changes is
    lost.  An error of the first one ends the copy, one of the second one is raised here.  No thread may be at work.
    Unlike those of `gen4emu.children`, the copy may read files that are open here, and is trusted like the first
    function, which could do the same work with the same confinement.
    """
    receiver, sender = multiprocessing.Pipe(duplex=False)
    sys.stdout.flush()
    sys.stderr.flush()
    parent, process = os.getpid(), os.fork()
    if process == 0:
        receiver.close()
        _serve(second, sender, parent, confine)
    sender.close()
    has_ended = False
    try:
        confine()
        one = first()
        try:
            error, two = _received(receiver)
        except EOFError:
            has_ended, status = True, os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
            raise Gen4emuError(f"{name}: its process ended early: {_ending(status)}") from None
        has_ended = bool(os.waitpid(process, 0))
        if error is not None:
            raise error
        return one, two
    finally:
        receiver.close()
        if not has_ended:
            with suppress(PermissionError):  # a confined process sends no signals; the copy ends with it
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)


def _serve(work: Callable[[], Any], sender: Connection, parent: int, confine: Callable[[], None]) -> NoReturn:
    """The child: it ends with its parent."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends the child
        end_with(parent)
        try:
            confine()
            found: tuple[BaseException | None, Any] = None, work()
        except Exception as e:
            found = e, None
        sender.send(found)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


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
