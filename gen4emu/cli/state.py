"""`gen4emu state`: everything that a draw executes with."""

from __future__ import annotations

import json

import click

from gen4emu.api.trace import open as open_trace
from gen4emu.cli import options
from gen4emu.cli.sandbox_options import Confinement, confinement_options
from gen4emu.cli.terminal import damaged, output, uses_pager, wants_color
from gen4emu.decode.fieldtext import COLOR, PLAIN
from gen4emu.hw.chips import Device

SCHEMA = "gen4emu.state/1"


@click.command()
@click.argument("file", metavar="TRACE")
@click.option("--draw", type=click.IntRange(0), required=True, metavar="N", help="The number of the draw, from 0.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text (docs/json.md).")
@options.trace_options
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Use colours.")
@click.option("--pager/--no-pager", default=True, help="On a terminal, use less.")
@confinement_options
def state(file: str, draw: int, as_json: bool, kind: str | None, base: int, device: Device | None, force_device: bool,
          partial: bool, color: str, pager: bool, confinement: Confinement) -> int:
    """Show the state in force at a draw of TRACE: commands, blocks and kernels, and which commands set them.

    TRACE is executed up to the draw, and memory is read as the draw has left it. The trace of a device that does not
    execute is decoded up to the draw.

    \b
    Example:
      gen4emu state trace.aub.xz --draw 4
    """
    confinement.limit(file)
    if as_json or not uses_pager(pager):
        confinement.enter(file)
    with open_trace(file, device=device, force_device=force_device, kind=kind, base=base, partial=partial) as trace:
        found = trace.state(draw)
        group = trace.group(draw)
        damage = [] if partial else trace.damage()
        part = trace.device
    if as_json:
        grouped = {} if group is None else {"group": group.as_json()}
        errors = [f"{file}: 0x{d.offset:08x}: {d.text}" for d in damage]
        click.echo(json.dumps({"schema": SCHEMA, "file": file, "device": None if part is None else part.name,
                               **found.as_json(), **grouped, "errors": errors, "status": 2 if errors else 0}, indent=1))
    else:
        with output(None, pager) as write:
            if group is not None:
                write(f"gl: {group.text}\n")
            write(found.text(COLOR if wants_color(color) else PLAIN))
    return damaged(file, damage)
