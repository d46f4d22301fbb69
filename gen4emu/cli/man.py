"""`gen4emu man`: manual pages, shown or written for man(1)."""

from __future__ import annotations

import difflib
import shutil
import subprocess
import sys
from pathlib import Path

import click

from gen4emu.cli import manual
from gen4emu.trace.output import Output


@click.command()
@click.argument("verb", required=False)
@click.option("--write", "directory", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Write the pages of all verbs to this directory.")
@click.pass_context
def man(ctx: click.Context, verb: str | None, directory: Path | None) -> int:
    """Show the manual page of gen4emu, or of VERB.

    If standard output is not a terminal, or man is not installed, the page is printed as roff.

    \b
    Examples:
      gen4emu man replay
      gen4emu man --write ~/.local/share/man/man1
    """
    assert ctx.parent is not None and isinstance(ctx.parent.command, click.Group)
    group = ctx.parent.command
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
        paths = [(directory / name, of) for name, of in manual.names(group)]
        for path, of in paths:
            with Output(path) as out:
                out.write(manual.page(group, of).encode())
        for path, _ in paths:  # after the last file is written: the reader may leave before the end
            click.echo(path)
        return 0
    try:
        text = manual.page(group, verb)
    except KeyError:
        near = difflib.get_close_matches(str(verb), group.list_commands(ctx), 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise click.BadParameter(f"no such verb: '{verb}'{hint}", param_hint="VERB") from None
    viewer = shutil.which("man")
    if viewer is None or not sys.stdout.isatty():
        click.echo(text, nl=False)
        return 0
    return subprocess.run([viewer, "-l", "-"], input=text, text=True, check=False).returncode
