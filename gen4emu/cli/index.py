"""`gen4emu index`: write checkpoints of a trace, with which `debug` and `replay` begin near what they need."""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from multiprocessing import Pipe
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

import click

from gen4emu.children import end_with
from gen4emu.cli import options
from gen4emu.cli.sandbox_options import Confinement, confinement_options
from gen4emu.cli.terminal import Progress, complain, damaged, is_quiet, some
from gen4emu.decode.in_force import StateTracker
from gen4emu.decode.landmarks import LANDMARK_DRAWS, find_landmarks
from gen4emu.device import bookmark_file
from gen4emu.device.bookmark_file import Tables
from gen4emu.device.command_streamer import Listeners
from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.replay import Order, Replay
from gen4emu.device.timeline import Bookmarks
from gen4emu.errors import Gen4emuError, HangError
from gen4emu.hw.command_reader import Words
from gen4emu.repro.commands import StateCommands
from gen4emu.sandbox import Mode, Sandbox
from gen4emu.trace.events import Engine
from gen4emu.trace.reader import open as open_trace

_MESSAGE_BYTES = 1 << 20
_MOST_TABLES = 1024  # at a time, of bookmarks that may have been dropped since


class _Notes(Listener):
    """Notes the numbers of primitives, and the commands that set the state in force at bookmarks."""

    def __init__(self) -> None:
        self._device: Device | None = None
        self._tracker: StateTracker | None = None
        self._commands: dict[Engine, StateCommands] = {}
        self._tables: dict[Order, Tables] = {}
        self.primitives: list[int] = []

    def attach(self, device: Device) -> None:
        self._device = device
        device.add_listener(self)
        tracker = self._tracker = StateTracker(device)
        for engine, streamer in device.streamers.items():
            self._commands[engine] = StateCommands(streamer, lambda words, draws: None)
            streamer.listen(Listeners((self._commands[engine], tracker.listener(engine))))

    def draw_started(self, words: Words) -> None:
        assert self._device is not None
        self.primitives.append(self._device.place.draw)

    def keep(self, order: Order) -> None:
        """There is a new bookmark."""
        self._tables[order] = Tables(None if self._tracker is None else self._tracker.kept(),
                                     {engine: commands.kept() for engine, commands in self._commands.items()})

    def tables(self, bookmarks: Bookmarks) -> dict[Order, Tables]:
        """Return those of the current bookmarks, and forget the others."""
        kept = (bookmark.order for bookmark in bookmarks)
        self._tables = {order: self._tables[order] for order in kept if order in self._tables}
        return self._tables

    @property
    def count(self) -> int:
        return len(self._tables)


@click.command()
@click.argument("trace")
@click.option("--interval", callback=options.seconds, default="250ms", show_default=True, metavar="TIME",
              help="Execution time between two checkpoints, such as 100ms or 1s; 0: after every draw.")
@click.option("--partial", is_flag=True, help="Accept a trace that is cut short or damaged.")
@confinement_options
@options.verbosity_options
def index(trace: str, interval: float, partial: bool, confinement: Confinement) -> int:
    """Execute TRACE, and write checkpoints of it to TRACE.index.

    `debug`, `replay`, `report`, `info`, `state`, `export` and `trim` use them as long as TRACE and gen4emu do not
    change: they begin at the last one before the draw or frame that they need. Indexes are signed with the user's key,
    and those of other users are ignored. There are at most 256 checkpoints, of at most 1 GiB altogether.

    \b
    Example:
      gen4emu index app.g4c
    """
    if not Path(trace).is_file():
        raise click.UsageError(f"{trace} is not a file: an index is written beside its trace")
    confinement.limit(trace)
    return write_index(trace, interval, confinement.mode, partial=partial)


@dataclass(frozen=True, slots=True)
class _Executed:
    """The report of the process that executes a trace, as JSON: the trace may have taken the process over."""

    status: int = 0
    checkpoints: int = 0
    draws: int = 0
    sizes: tuple[int, ...] = ()  # of the parts of the index
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
        try:
            first, packed, second = said.sizes
        except (TypeError, ValueError):
            first = packed = second = -1
        written = os.fstat(file.fileno()).st_size
        if not (all(type(size) is int and 0 <= size <= bookmark_file.MOST_BYTES for size in (first, packed, second))
                and packed <= written <= bookmark_file.MOST_BYTES):
            raise Gen4emuError(f"{trace}: the process that executes it has written no index")
        size = bookmark_file.write(trace, bookmark_file.Packed((first, packed, second), file.read()))
    if not is_quiet():
        complain(f"{bookmark_file.path_of(trace)}: {some(said.checkpoints, 'checkpoint')} of "
                 f"{some(said.draws, 'draw')}, {size / (1 << 20):.1f} MiB")
    if said.hang:
        raise HangError(said.error, said.hang)
    return 0


def _execute(trace: str, interval: float, partial: bool, file: BinaryIO) -> _Executed:
    """Execute a trace, and write its bookmarks to a file."""
    bookmarks, notes = Bookmarks(interval), _Notes()
    opened = open_trace(trace)
    progress = Progress(f"executing {trace}", lambda: opened.fraction)

    def rest() -> None:
        if bookmarks.pass_by(run):
            notes.keep(run.order)
            if notes.count > _MOST_TABLES:
                notes.tables(bookmarks)

    run = Replay(opened, on_start=notes.attach, on_rest=rest)
    progress.follow()
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
    progress = Progress(f"decoding {trace}", lambda: opened.fraction)
    try:
        landmarks = find_landmarks(opened, 1 if not interval else LANDMARK_DRAWS)
    finally:
        progress.done()
    found = bookmark_file.Index(tuple(bookmarks), tuple(notes.primitives), notes.tables(bookmarks))
    packed = bookmark_file.pack(landmarks, found)
    file.write(packed.data)
    file.flush()
    return _Executed(0, len(found.bookmarks), draws, packed.sizes, error, hang)


def _in_a_copy(work: Callable[[], _Executed], confine: Callable[[], None], trace: str) -> _Executed:
    """The result of a function that a copy of this process executes, which is confined."""
    receiver, sender = Pipe(duplex=False)
    sys.stdout.flush()
    sys.stderr.flush()
    parent, process = os.getpid(), os.fork()
    if process == 0:
        receiver.close()
        end_with(parent)
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
        said = replace(said, sizes=tuple(said.sizes))
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
