"""`gen4emu convert`: one trace container to another."""

from __future__ import annotations

import click

from gen4emu.cli import options
from gen4emu.hw.gen import Device
from gen4emu.trace import convert as convert_trace


@click.command()
@click.argument("source")
@click.argument("destination")
@options.device_option
def convert(source: str, destination: str, device: Device | None) -> None:
    """Convert SOURCE (any container that can be read) to DESTINATION, an AUB file.

    The end of DESTINATION's name chooses the compression: .xz, .gz, .zst or none.

    \b
    Example:
      gen4emu convert card0-error hang.aub.xz
    """
    convert_trace(source, destination, device=device)
