"""`gen4emu digest`: a file of the digests of what each draw has written."""

from __future__ import annotations

from pathlib import Path

import click

from gen4emu.api.trace import open as open_trace
from gen4emu.bisect import digests
from gen4emu.cli import options
from gen4emu.cli.sandbox_options import Confinement, confinement_options
from gen4emu.cli.terminal import Progress, complain, damaged
from gen4emu.errors import HangError
from gen4emu.hw.chips import Device


@click.command()
@click.argument("file", metavar="TRACE")
@click.option("-o", "--output", default="-", metavar="FILE", help="The file to write.  [default: standard output]")
@options.trace_options
@confinement_options
@options.verbosity_options
def digest(file: str, output: str, kind: str | None, base: int, device: Device | None, force_device: bool,
           partial: bool, confinement: Confinement) -> int:
    """Execute TRACE and write a line of JSON for each draw, with a digest of each surface that it has written.

    `gen4emu bisect TRACE --against FILE` compares them with an execution on another machine or by another version.

    \b
    Example:
      gen4emu digest trace.aub.xz -o trace.digests
    """
    confinement.limit(file)
    confinement.enter(file, outputs=(Path(output),))
    progress = Progress(f"executing {file}", lambda: trace.fraction, scrolls=output == "-")
    with open_trace(file, device=device, force_device=force_device, base=base, kind=kind, partial=True) as trace:
        progress.follow()
        stream = digests.execute(trace)
        try:
            count = digests.write(output, trace, stream)
        finally:
            progress.done()
        damage = trace.damage(read_on=not partial)
    if not count and not stream.hang:
        complain(f"warning: {file}: no draws")
    status = damaged(file, damage, partial)
    if stream.hang:
        raise HangError(f"{file}: {stream.hang}", stream.hang)
    return status
