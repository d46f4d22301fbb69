"""`gen4emu state`: everything that a draw executes with."""

from __future__ import annotations

import json

import click

from gen4emu.api.trace import Trace
from gen4emu.cli import options
from gen4emu.cli.sandbox_options import Confinement, confinement_options
from gen4emu.cli.terminal import complain, damaged, output, wants_color
from gen4emu.decode.fieldtext import COLOR, PLAIN
from gen4emu.device.bookmark_file import signed_if_valid
from gen4emu.hw.chips import Device
from gen4emu.trace import reader

SCHEMA = "gen4emu.state/1"


@click.command()
@click.argument("file", metavar="TRACE")
@click.option("--draw", type=click.IntRange(0), required=True, metavar="N", help="The number of the draw, from 0.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text (docs/json.md).")
@options.trace_options
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Use colors.")
@click.option("--pager/--no-pager", default=True, help="On a terminal, use a pager.")
@confinement_options
def state(file: str, draw: int, as_json: bool, kind: str | None, base: int, device: Device | None, force_device: bool,
          partial: bool, color: str, pager: bool, confinement: Confinement) -> int:
    """Show the state in force at a draw of TRACE: commands, blocks and kernels, and which commands set them.

    TRACE is executed up to the draw, and memory is shown as the draw finds it. On devices that are only decoded
    (`gen4emu devices`), memory is shown as TRACE wrote it, without what the GPU has written since.

    \b
    Example:
      gen4emu state trace.aub.xz --draw 4
    """
    confinement.limit(file)
    index = signed_if_valid(file, complain) if draw and device is None and kind is None else None
    with output(None, pager and not as_json) as write:  # starts the pager, which is not confined
        confinement.enter(file)
        source = reader.open(file, device=device, force_device=force_device, kind=kind, base=base, again=True)
        with Trace(source, partial,
                   start=None if index is None else lambda number: index.start_before(number, complain),
                   landmarks=None if index is None else lambda: index.landmarks_if_valid(complain)) as trace:
            found = trace.state(draw)
            group = trace.group(draw)
            damage = [] if partial else trace.damage()
            part = trace.device
        if as_json:
            grouped = {} if group is None else {"group": group.as_json()}
            errors = [f"{file}: 0x{d.offset:08x}: {d.text}" for d in damage]
            document = {"schema": SCHEMA, "file": file, "device": None if part is None else part.name,
                        **found.as_json(), **grouped, "errors": errors, "status": 2 if errors else 0}
            write(json.dumps(document, indent=1) + "\n")
        else:
            if group is not None:
                write(f"gl: {group.text}\n")
            write(found.text(COLOR if wants_color(color) else PLAIN))
    return damaged(file, damage)
