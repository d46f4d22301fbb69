"""Limits of this process on memory and time."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time

from gen4emu.errors import Gen4emuError
from gen4emu.ownership import is_own_process

_GRACE_SECONDS = 5.0  # for a process whose time is over to remove its temporary files
_TIMED_OUT = 2
_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


class LimitError(Gen4emuError):
    """A limit that cannot be set."""


def limit_memory(size: int) -> None:
    """Limit the address space of this process; 0: no limit."""
    if size:
        try:
            resource.setrlimit(resource.RLIMIT_AS, (size, size))
        except ValueError:
            raise LimitError(f"--memory {size >> 20}M: above the limit of this process (ulimit -v)") from None


def limit_time(seconds: float | None, name: str) -> None:
    """Return in a copy of this process, which has one thread; this one ends with it, or after that time ends it."""
    if seconds is None:
        return
    if not is_own_process():
        raise LimitError("--timeout: only a process of gen4emu itself can be limited")
    sys.stdout.flush()
    sys.stderr.flush()
    end = time.monotonic() + seconds
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    process = os.fork()
    if process == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the copy, too
    for number in _FORWARDED:
        signal.signal(number, lambda number, frame: os.kill(process, number))
    status = _wait(process, end)
    if status is None:
        os.write(2, f"gen4emu: {name}: not done after {seconds:g} s (--timeout)\n".encode("utf-8", "surrogateescape"))
        os.kill(process, signal.SIGTERM)
        if _wait(process, time.monotonic() + _GRACE_SECONDS) is None:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        status = _TIMED_OUT
    elif status < 0:
        os.write(2, f"gen4emu: {name}: ended with {signal.Signals(-status).name}\n".encode("utf-8", "surrogateescape"))
        status = 128 - status
    os._exit(status)


def _wait(process: int, end: float) -> int | None:
    """The exit status of a child, or the negative number of a signal; None: it has not ended in time."""
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        left = end - time.monotonic()
        if left <= 0:
            return None
        signal.sigtimedwait({signal.SIGCHLD}, min(left, 60.0))
