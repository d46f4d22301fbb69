"""`gen4emu capture`: run a program on the emulated GPU and keep what it submits as a trace."""

from __future__ import annotations

from pathlib import Path

import click

from gen4emu.cli.run import PASS_ON, make_server, run_program, server_options
from gen4emu.hw.gen import Device as Part
from gen4emu.live.recorder import watch_capture
from gen4emu.trace.output import Output


@click.command(context_settings=PASS_ON)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True, metavar="[--] PROGRAM [ARGUMENTS]...")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, metavar="FILE",
              help="The trace: a capture in our own format if its name ends in .g4c, else an AUB file; .xz, .gz or "
                   ".zst at the end compresses it.")
@server_options
def capture(command: tuple[str, ...], output: Path, device: Part, frames: Path | None, stats: bool, workers: int,
            watchdog: int, error_state: Path | None, strict: bool, verbose: bool) -> int:
    """Run PROGRAM on the emulated GPU and write what it submits to FILE; `gen4emu replay` draws the same pictures.

    A program that opens the device several times, or several processes, give FILE, then FILE with numbers.

    \b
    Example:
      gen4emu capture -o app.aub.xz -- ./my-gl-program
    """
    if not output.exists() or output.is_file():
        Output(output).discard()  # what cannot be written is better known before the program runs
    server = make_server(device, workers, watchdog, strict, verbose, frames, error_state)
    files = watch_capture(server, output)
    status = run_program(server, command, stats)
    if not files.used:
        click.echo(f"gen4emu: {output}: not written, the program submitted nothing", err=True)
        return status or 1
    return status
