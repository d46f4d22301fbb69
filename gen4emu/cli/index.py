"""`gen4emu index`: write checkpoints of a trace, with which `debug` and `replay` begin near what they need."""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from multiprocessing import Pipe
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

import click

from gen4emu.cli import options
from gen4emu.cli.sandbox_options import Confinement, confinement_options
from gen4emu.cli.terminal import Progress, complain, damaged, is_quiet, some
from gen4emu.device import bookmark_file
from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.replay import Replay
from gen4emu.device.timeline import Bookmarks
from gen4emu.errors import Gen4emuError, HangError
from gen4emu.hw.command_reader import Words
from gen4emu.sandbox import Mode, Sandbox
from gen4emu.trace.reader import open as open_trace

_MESSAGE_BYTES = 1 << 20


class _Primitives(Listener):
    """Notes the numbers of primitives."""

    def __init__(self) -> None:
        self.device: Device | None = None
        self.found: list[int] = []

    def attach(self, device: Device) -> None:
        self.device = device
        device.add_listener(self)

    def draw_started(self, words: Words) -> None:
        assert self.device is not None
        self.found.append(self.device.place.draw)


@click.command()
@click.argument("trace")
@click.option("--interval", type=click.FloatRange(0, 3600), default=0.25, show_default=True, metavar="SECONDS",
              help="Execution time between two checkpoints; 0: after every draw.")
@click.option("--partial", is_flag=True, help="Accept damaged and cut traces.")
@confinement_options
@options.verbosity_options
def index(trace: str, interval: float, partial: bool, confinement: Confinement) -> int:
    """Execute TRACE, and write checkpoints of it to TRACE.index.

    `debug` and `replay` use them, as long as TRACE and gen4emu are the same: they begin at the last one before the
    draw or frame that they need. An index of another user is not used: indexes are signed with a key of their user.
    There are at most 256 checkpoints, of at most 1 GiB.

    \b
    Example:
      gen4emu index app.g4c
    """
    if not Path(trace).is_file():
        raise click.UsageError(f"{trace} is not a file: an index lies beside its trace")
    confinement.limit(trace)
    return write_index(trace, interval, confinement.mode, partial=partial)


@dataclass(frozen=True, slots=True)
class _Executed:
    """What the process that executes a trace says of it, as JSON: the trace may have taken it over."""

    status: int = 0
    checkpoints: int = 0
    draws: int = 0
    size: int = 0  # of the index, unpacked
    error: str = ""
    hang: str = ""  # the reason of a hang, whose text is the error


def write_index(trace: str, interval: float, mode: Mode, *, partial: bool = False) -> int:
    """Execute a trace and write its index; the exit status.

    A process that is confined executes the trace: this one only signs what that one writes, which it does not read.
    """
    with Sandbox(mode) as box, TemporaryFile() as file:
        box.read(Path(trace))
        if box.wanted:
            box.prepare()
            said = _in_a_copy(lambda: _execute(trace, interval, partial, file), box.enter, trace)
        else:
            said = _execute(trace, interval, partial, file)
        if said.error and not said.hang:
            raise Gen4emuError(said.error)
        if said.status:
            return said.status
        file.seek(0)
        if not 0 <= said.size <= bookmark_file.MOST_BYTES or os.fstat(file.fileno()).st_size > bookmark_file.MOST_BYTES:
            raise Gen4emuError(f"{trace}: the process that executes it has written no index")
        size = bookmark_file.write(trace, bookmark_file.Packed(said.size, file.read()))
    if not is_quiet():
        complain(f"{bookmark_file.path_of(trace)}: {some(said.checkpoints, 'checkpoint')} of "
                 f"{some(said.draws, 'draw')}, {size / (1 << 20):.1f} MiB")
    if said.hang:
        raise HangError(said.error, said.hang)
    return 0


def _execute(trace: str, interval: float, partial: bool, file: BinaryIO) -> _Executed:
    """Execute a trace, and write its bookmarks to a file."""
    bookmarks, primitives = Bookmarks(interval), _Primitives()
    opened = open_trace(trace)
    progress = Progress(f"executing {trace}", lambda: opened.fraction)
    run = Replay(opened, on_start=primitives.attach, on_rest=lambda: bookmarks.pass_by(run),
                 on_draw=lambda number: progress.tick(lambda: f"draw {number}"))
    bookmarks.begin()
    hang = error = ""
    try:
        for _ in run.frames():
            pass
    except HangError as e:
        error, hang = f"{trace}: {e} ({run.place.text})", e.reason
    finally:
        progress.done()
        draws = run.draws
        run.close()
    status = damaged(trace, run.damage, partial)
    if status:
        return _Executed(status)
    found = bookmark_file.Index(tuple(bookmarks), tuple(primitives.found))
    packed = bookmark_file.pack(found)
    file.write(packed.data)
    file.flush()
    return _Executed(0, len(found.bookmarks), draws, packed.size, error, hang)


def _in_a_copy(work: Callable[[], _Executed], confine: Callable[[], None], trace: str) -> _Executed:
    """The result of a function that a copy of this process executes, which is confined."""
    receiver, sender = Pipe(duplex=False)
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        receiver.close()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends the copy
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        try:
            try:
                confine()
                said = work()
            except (Gen4emuError, OSError) as e:
                said = _Executed(2, error=str(e))
            except MemoryError:
                said = _Executed(2, error=f"{trace}: out of memory")
            sys.stderr.flush()
            sender.send_bytes(json.dumps(asdict(said)).encode())
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    sender.close()
    try:
        said = _Executed(**json.loads(receiver.recv_bytes(_MESSAGE_BYTES)))
        if not all(isinstance(value, type(default)) for value, default in zip(
                asdict(said).values(), asdict(_Executed()).values(), strict=True)):
            raise TypeError
        return said
    except (EOFError, OSError, ValueError, TypeError, RecursionError):
        raise Gen4emuError(f"{trace}: the process that executes it has ended early") from None
    finally:
        receiver.close()
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
