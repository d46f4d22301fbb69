"""Runs the user's command in an unconfined process, for the confined process that needs its result.

A trace may have taken over the confined process.  That process decides when the command runs and for how long, but not
which command, or on which file; it receives an exit status.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import NoReturn

from gen4emu.errors import Gen4emuError

_MESSAGE_BYTES = 4096
_CANNOT_RUN = 127


class Late(Exception):
    """The command was killed at its deadline."""


class RunnerLost(Gen4emuError):
    """The process that runs the command has ended."""


class CommandRunner:
    """Create it before the confinement, while there is one thread.  The process ends with this one."""

    def __init__(self, command: Sequence[str], path: Path) -> None:
        """`path` is the last argument of the command, each time."""
        self.path = path
        self._name = command[0]
        self._number = 0
        self._connection, theirs = Pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._process = os.fork()
        if self._process == 0:
            self._connection.close()
            _serve([*command, str(path)], theirs)
        theirs.close()

    def status(self, deadline: float | None) -> int:
        """Run the command; its exit status.  Raises Late if it has not ended at `deadline`, by `time.monotonic`."""
        self._number += 1
        try:
            self._connection.send_bytes(json.dumps([self._number, deadline]).encode())
            while True:
                number, status, error = json.loads(self._connection.recv_bytes(_MESSAGE_BYTES))
                if number == self._number:  # others were interrupted
                    break
        except (EOFError, OSError):
            raise RunnerLost("the process that runs the command has ended") from None
        except BaseException:  # Ctrl-C
            with suppress(OSError):
                self._connection.send_bytes(b"null")
            raise
        if error:
            raise Gen4emuError(f"{self._name}: cannot be run: {error}")
        if status is None:
            raise Late
        return int(status)

    def close(self) -> None:
        """End the process, and the command with it."""
        self._connection.close()
        os.waitpid(self._process, 0)


def _serve(command: list[str], connection: Connection) -> NoReturn:
    """The process that runs the command; it ends when the other side is closed."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the other process, too, which reports it
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        while True:
            request = json.loads(connection.recv_bytes(_MESSAGE_BYTES))
            if request is not None:
                number, deadline = request
                connection.send_bytes(json.dumps([number, *_run(command, connection, deadline)]).encode())
    except (EOFError, ConnectionError):
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _run(command: list[str], connection: Connection, deadline: float | None) -> tuple[int | None, str]:
    """The exit status, or None at the deadline; and the reason why the command cannot be run."""
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    except OSError as e:
        return _CANNOT_RUN, e.strerror or str(e)
    ended = os.pidfd_open(process.pid)
    try:
        ready = wait([ended, connection], None if deadline is None else max(0.0, deadline - time.monotonic()))
        if ended in ready:
            return process.wait(), ""
        return None, ""
    finally:
        os.close(ended)
        if process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # and the processes that it has started
            process.wait()
