"""The option --sandbox of verbs that execute what others have made."""

from __future__ import annotations

import click

from gen4emu.sandbox import Mode


def _mode(ctx: click.Context, param: click.Parameter, value: str) -> Mode:
    return Mode(value)


sandbox_option = click.option("--sandbox", callback=_mode, default="auto", show_default=True,
                              type=click.Choice([mode.value for mode in Mode]),
                              help="Confine this process: no other files, sockets, programs.  auto: if it can.")
