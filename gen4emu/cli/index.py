"""`gen4emu index`: write checkpoints of a trace, with which `debug` and `replay` begin near what they need."""

from __future__ import annotations

from pathlib import Path

import click

from gen4emu.cli import options
from gen4emu.cli.terminal import Progress, complain, damaged, is_quiet, some
from gen4emu.device import bookmark_file
from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.replay import Replay
from gen4emu.device.timeline import Bookmarks
from gen4emu.errors import HangError
from gen4emu.hw.command_reader import Words
from gen4emu.trace.reader import open as open_trace


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
              help="Of execution, between two checkpoints; 0: after every draw.")
@click.option("--partial", is_flag=True, help="Accept damaged and cut traces.")
@options.verbosity_options
def index(trace: str, interval: float, partial: bool) -> int:
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
    return write_index(trace, interval, partial=partial)


def write_index(trace: str, interval: float, *, partial: bool = False) -> int:
    """Execute a trace and write its index; the exit status."""
    bookmarks, primitives = Bookmarks(interval), _Primitives()
    opened = open_trace(trace)
    progress = Progress(f"executing {trace}", lambda: opened.fraction)
    run = Replay(opened, on_start=primitives.attach, on_rest=lambda: bookmarks.pass_by(run),
                 on_draw=lambda number: progress.tick(lambda: f"draw {number}"))
    bookmarks.begin()
    hang: HangError | None = None
    try:
        for _ in run.frames():
            pass
    except HangError as e:
        hang = HangError(f"{trace}: {e} ({run.place.text})", e.reason)
    finally:
        progress.done()
        draws = run.draws
        run.close()
    status = damaged(trace, run.damage, partial)
    if status:
        return status
    found = bookmark_file.Index(tuple(bookmarks), tuple(primitives.found))
    size = bookmark_file.write(trace, found)
    if not is_quiet():
        count = some(len(found.bookmarks), "checkpoint")
        complain(f"{bookmark_file.path_of(trace)}: {count} of {some(draws, 'draw')}, {size / (1 << 20):.1f} MiB")
    if hang is not None:
        raise hang
    return 0
