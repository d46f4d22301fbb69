"""`gen4emu convert`: one trace container to another."""

from __future__ import annotations

import click

from gen4emu import trace as traces
from gen4emu.cli import options
from gen4emu.hw.gen import Device


@click.command()
@click.argument("source")
@click.argument("destination")
@options.device_option
@options.base_option
@click.option("--partial", is_flag=True, help="Convert what is left of a SOURCE that is cut short.")
def convert(source: str, destination: str, device: Device | None, base: int, partial: bool) -> None:
    """Convert SOURCE (any container that can be read) to DESTINATION: a capture if it ends in .g4c, else an AUB file.

    The end of DESTINATION's name chooses the compression: .xz, .gz, .zst or none.

    \b
    Example:
      gen4emu convert card0-error hang.aub.xz
    """
    done = traces.convert(source, destination, device=device, base=base, partial=partial)
    for warning in done.warnings:
        click.echo(f"gen4emu: {source}: 0x{warning.offset:08x}: {warning.text}", err=True)
    if not done.submissions:
        click.echo(f"gen4emu: {source}: holds no submission", err=True)
