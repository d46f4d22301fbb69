"""Many piglit tests on one emulated device: a server of its own process, several programs at a time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from gen4emu.errors import Gen4emuError
from gen4emu.suite.piglit import batches, profiles
from gen4emu.suite.piglit.outcome import Outcome
from gen4emu.suite.piglit.profiles import Case
from gen4emu.suite.piglit.reports import Reports


class ServerDied(Gen4emuError):
    """The tests that are left cannot be run."""


@dataclass(slots=True)
class Server:
    environment: Mapping[str, str]  # brings programs to it
    reports: Reports
    rest: list[str] = field(default_factory=list)  # at its end: what it said of programs that are no tests


@contextmanager
def server(device: str, workers: int = 1) -> Iterator[Server]:
    """A `gen4emu run --serve`."""
    with TemporaryDirectory(prefix="gen4emu-suite-") as place:
        directory = Path(place) / "live"
        command = [sys.executable, "-m", "gen4emu.cli.main", "run", "--serve", os.fspath(directory),
                   "--device", device, "--workers", str(workers), "--stats", "--verbose"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   errors="replace", process_group=0)
        assert process.stderr is not None
        reports = Reports(process.stderr)
        try:
            yield (served := Server(_environment(process), reports))
            if process.poll() is not None:
                raise ServerDied(f"the server ended with {process.returncode}")
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()
            reports.join()
        served.rest = reports.rest()


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
        memory: int = 0) -> Iterator[Outcome]:
    """In the order in which they end; shader tests in batches of a process each."""
    with ThreadPoolExecutor(jobs) as pool:
        running: list[Future[list[Outcome]]] = [
            pool.submit(batches.run, batch, server.environment, seconds, server.reports.take, memory)
            for batch in batches.group(tests, batch_size)]
        try:
            for done in as_completed(running):
                yield from done.result()
        finally:
            for future in running:
                future.cancel()
