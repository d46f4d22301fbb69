"""`gen4emu build`: a trace from commands by name and field."""

from __future__ import annotations

from pathlib import Path

import click

from gen4emu.cli.sandbox_options import Confinement, confinement_options
from gen4emu.repro.script import parse


@click.command()
@click.argument("file", metavar="BATCH")
@click.option("-o", "--output", required=True, metavar="FILE",
              help="The trace: .aub or .g4c, also with .xz, .gz or .zst.")
@confinement_options
def build(file: str, output: str, confinement: Confinement) -> int:
    """Build a trace from BATCH, a text file that `gen4emu export` wrote and that may have been edited.

    \b
    Example:
      gen4emu export trace.aub.xz --draw 4 -o repro/ && gen4emu build repro/batch.txt -o draw.aub
    """
    confinement.limit(file)
    confinement.enter(str(Path(file).absolute().parent), outputs=(Path(output),))
    parse(file).build(output)
    return 0
