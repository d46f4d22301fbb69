"""Many piglit tests on one emulated device: a server of its own process, several programs at a time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from gen4emu.errors import Gen4emuError
from gen4emu.suite.interrupts import INTERRUPTS
from gen4emu.suite.piglit import batches, profiles
from gen4emu.suite.piglit.outcome import Outcome
from gen4emu.suite.piglit.profiles import Case
from gen4emu.suite.piglit.reports import Reports
from gen4emu.suite.programs import pool, results

# The command line, in a process that ends when the thread that started it ends, even if that is killed.
_SERVER = """import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGINT, 0, 0, 0)  # PR_SET_PDEATHSIG of Linux
if os.getppid() == int(sys.argv.pop(1)):
    from gen4emu.cli.main import main
    main()
"""
_GRACE_SECONDS = 60.0  # for the server to finish its draws and end


class ServerDied(Gen4emuError):
    """The tests that are left cannot be run."""


@dataclass(slots=True)
class Server:
    environment: Mapping[str, str]  # makes programs use it
    reports: Reports
    process: subprocess.Popen[str]
    rest: list[str] = field(default_factory=list)  # at its end: what it said of programs that are no tests

    def check(self) -> None:
        """ServerDied if it has ended."""
        if self.process.poll() is not None:
            raise ServerDied(f"the server ended with {self.process.returncode}")


@contextmanager
def server(device: str, workers: int = 1, variables: Mapping[str, str] | None = None) -> Iterator[Server]:
    """A `gen4emu run --serve`, with an environment for programs to which `variables` are added."""
    with TemporaryDirectory(prefix="gen4emu-suite-") as place:
        directory = Path(place) / "live"
        command = [sys.executable, "-c", _SERVER, str(os.getpid()), "run", "--serve", os.fspath(directory),
                   "--device", device, "--workers", str(workers), "--stats", "--verbose"]
        process = None
        try:
            with INTERRUPTS.deferred():
                process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                           errors="replace", process_group=0)
                assert process.stderr is not None
                reports = Reports(process.stderr)
            yield (served := Server(_environment(process) | dict(variables or {}), reports, process))
            served.check()
        finally:
            if process is not None:
                with INTERRUPTS.deferred():
                    process.send_signal(signal.SIGINT)
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(_GRACE_SECONDS)
                    process.kill()
                    process.wait()
                    reports.join()
        served.rest = reports.take_rest()


def _environment(process: subprocess.Popen[str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("LIBGL_", "GALLIUM_", "MESA_", "EGL_", "GEN4EMU_")) and name != "LD_PRELOAD"}
    kept |= {"PIGLIT_SOURCE_DIR": os.fspath(profiles.root() or ""), "EGL_PLATFORM": "surfaceless"}
    # With a thread of its own for draws, crocus compiles programs in two threads that share a cache without a lock: a
    # program that one of them has just moved may be missing from the other's copy, and a draw executes zeros.
    kept |= {"GALLIUM_THREAD": "0"}
    assert process.stdout is not None
    told: dict[str, str] = {}
    while not {"GEN4EMU_LIVE", "LD_PRELOAD"} <= told.keys():
        name, found, value = process.stdout.readline().rstrip("\n").partition("=")
        if not found:
            raise ServerDied("the server did not start")
        told[name] = value
    return kept | told


def run(tests: Sequence[Case], server: Server, jobs: int, seconds: float, batch_size: int = 50,
        memory: int = 0) -> Generator[Outcome, None, None]:
    """In the order in which they end; shader tests in batches of a process each."""
    with pool(jobs) as threads:
        for outcomes in results(threads, (partial(batches.run, batch, server.environment, seconds,
                                                  server.reports.take, memory)
                                          for batch in batches.group(tests, batch_size))):
            yield from outcomes
