"""`gen4emu export`: a draw as a directory."""

from __future__ import annotations

from pathlib import Path

import click

from gen4emu.api.trace import Trace
from gen4emu.cli import options
from gen4emu.cli.sandbox_options import Confinement, confinement_options
from gen4emu.cli.terminal import complain, is_quiet, size_text, some
from gen4emu.device.bookmark_file import signed_if_valid
from gen4emu.hw.chips import Device
from gen4emu.repro.export import export as export_draw
from gen4emu.repro.export import write
from gen4emu.trace.reader import open as open_trace


@click.command()
@click.argument("file", metavar="TRACE")
@click.option("--draw", type=click.IntRange(0), required=True, metavar="N", help="The number of the draw, from 0.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, metavar="DIR",
              help="The directory to create.")
@options.trace_options
@confinement_options
@options.verbosity_options
def export(file: str, draw: int, output: Path, kind: str | None, base: int, device: Device | None, force_device: bool,
           partial: bool, confinement: Confinement) -> int:
    """Write a draw of TRACE with its state and the memory that it needs as a directory.

    `gen4emu build` makes a trace from its batch.txt, which may be edited. repro.c is a C program that submits the draw
    to the i915 driver, on hardware or under `gen4emu run`. The directory is verified: its trace writes the same
    pixels as the draw does in TRACE.

    \b
    Example:
      gen4emu export trace.aub.xz --draw 4 -o repro/
    """
    confinement.limit(file)
    index = signed_if_valid(file, complain) if draw and device is None and kind is None else None
    confinement.enter(file, directory=output.absolute().parent)
    start = None if index is None else index.start_before(draw, complain)
    source = open_trace(file, device=device, force_device=force_device, base=base, kind=kind, again=True)
    with Trace(source, partial, bookmarks=() if start is None else (start.bookmark,)) as trace:
        exported = export_draw(trace, source, draw, start)
    without = write(exported, output)
    if without:
        complain(f"warning: {output}: without repro.c: {without}")
    if not is_quiet():
        size = sum(len(data) for _, data in exported.script.memory)
        click.echo(f"{output}: {some(len(exported.script.commands), 'command')}, {size_text(size)} of memory", err=True)
    return 0
