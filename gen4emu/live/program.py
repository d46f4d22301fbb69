"""Starts programs on the emulated GPU: environment, signals, exit status."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, NoReturn

from gen4emu.errors import Gen4emuError
from gen4emu.live.driver_output import DriverOutput
from gen4emu.live.socket_directory import check_server

SHIM = Path(__file__).with_name("libgen4emu-shim.so")
SHIM_32 = Path(__file__).with_name("libgen4emu-shim-32.so")  # for 32-bit programs
GL = Path(__file__).with_name("libgen4emu-gl.so")  # notes GL calls; preloaded after the shim
GL_32 = Path(__file__).with_name("libgen4emu-gl-32.so")
_PRELOADS = "preload"
# The driver works in the thread that calls it, so that a batch holds exactly the draws before it.
_GL_VARIABLES = {"GALLIUM_THREAD": "0", "mesa_glthread": "false"}
NOT_FOUND, NOT_EXECUTABLE = 127, 126  # the exit statuses of shells
_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_GRACE_SECONDS = 5.0  # for a program that is to end
_FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)


class ProgramError(Gen4emuError):
    """The program cannot be started; `status` is the exit status to use."""

    def __init__(self, message: str, status: int = 2) -> None:
        self.status = status
        super().__init__(message)


def place_shims(directory: Path) -> None:
    """If there are two shims, create links from which the loader chooses by expanding $LIB."""
    if not SHIM_32.exists():
        return
    merged = Path("/usr/lib64").resolve() == Path("/usr/lib").resolve()  # then $LIB of 64-bit programs is lib
    wide, narrow = (SHIM, GL), (SHIM_32, GL_32)
    names = {"lib64": wide, "lib/x86_64-linux-gnu": wide, "lib32": narrow, "lib/i386-linux-gnu": narrow,
             "lib": wide if merged else narrow}
    for name, libraries in names.items():
        folder = directory / _PRELOADS / name
        folder.mkdir(parents=True, exist_ok=True)
        for link, library in zip(wide, libraries, strict=True):
            (folder / link.name).symlink_to(library)


def additions(directory: Path, old: Mapping[str, str], for_shells: bool = False, gl: bool = False) -> dict[str, str]:
    """The environment variables that connect a program to the server in `directory`.

    `for_shells` avoids $LIB, which a shell would expand.  With `gl`, the program's GL calls are noted.
    """
    if not SHIM.exists():
        raise ProgramError(f"{SHIM}: not found; was the package built completely?")
    both = (directory / _PRELOADS).is_dir() and not for_shells
    libraries = [f"{directory.absolute()}/{_PRELOADS}/$LIB/{library.name}" if both else os.fspath(library)
                 for library in ((SHIM, GL) if gl else (SHIM,))]
    preload = old.get("LD_PRELOAD", "")
    return {"GEN4EMU_LIVE": os.fspath(directory.absolute()),
            "LD_PRELOAD": ":".join([preload, *libraries] if preload else libraries)} | (_GL_VARIABLES if gl else {})


def start(command: Sequence[str], directory: Path, stdout: IO[str] | None = None,
          driver: DriverOutput | None = None) -> subprocess.Popen[bytes]:
    """Start a program; its standard output is that of this process, or `stdout`, and its standard error `driver`."""
    environment = {**os.environ, **additions(directory, os.environ, gl=driver is not None),
                   **(driver.variables if driver is not None else {})}
    try:
        program = subprocess.Popen(command, env=environment, stdout=stdout,
                                   stderr=None if driver is None else driver.descriptor)
    except OSError as e:
        raise _cannot_start(command[0], e) from None
    if driver is not None:
        driver.started()
    return program


def replace_self(command: Sequence[str], directory: Path) -> NoReturn:
    """Replace this process by the program, on the device of the server in `directory`."""
    check_server(directory)
    try:
        os.execvpe(command[0], list(command), {**os.environ, **additions(directory, os.environ)})
    except OSError as e:
        raise _cannot_start(command[0], e) from None


def _cannot_start(name: str, error: OSError) -> ProgramError:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return ProgramError(f"{name}: no such program", NOT_FOUND)
    return ProgramError(f"{name}: {error.strerror or error}", NOT_EXECUTABLE)


@dataclass(frozen=True, slots=True)
class End:
    """How a program has ended."""

    status: int  # its exit status, or 128 plus the number of a signal
    timed_out: bool = False


def wait(program: subprocess.Popen[bytes], idle: Callable[[], None] | None = None,
         timeout: float | None = None) -> End:
    """Wait until the program ends; it is ended after `timeout` seconds.

    Signals to this process are forwarded to the program meanwhile.  `idle`, which takes a moment, is called again and
    again.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    timed_out = False
    with _forwarding(program):
        while idle is not None and program.poll() is None and (deadline is None or time.monotonic() < deadline):
            idle()
        try:
            status = program.wait(None if deadline is None else max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            timed_out = True
            program.terminate()
            try:
                status = program.wait(_GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                program.kill()
                status = program.wait()
    return End(128 - status if status < 0 else status, timed_out)


@contextmanager
def _forwarding(program: subprocess.Popen[bytes]) -> Iterator[None]:
    def forward(number: int, frame: FrameType | None) -> None:
        if number not in _FROM_TERMINAL or not _in_foreground():
            with suppress(ProcessLookupError):
                program.send_signal(number)

    old = {number: signal.signal(number, forward) for number in (*_FORWARDED, *_FROM_TERMINAL)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _in_foreground() -> bool:
    """True if the terminal sends signals such as SIGINT both to this process and to the program."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
