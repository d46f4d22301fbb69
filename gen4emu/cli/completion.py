"""`gen4emu completion`: the script with which a shell completes verbs, options and their values."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

# Where each shell looks for completions below a prefix such as /usr/local or ~/.local.
PLACES = {
    "bash": "share/bash-completion/completions/gen4emu",
    "zsh": "share/zsh/site-functions/_gen4emu",
    "fish": "share/fish/vendor_completions.d/gen4emu.fish",
}


@click.command()
@click.argument("shell", type=click.Choice(list(PLACES)))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script for SHELL.

    \b
    Examples:
      eval "$(gen4emu completion bash)"
      gen4emu completion fish > ~/.config/fish/completions/gen4emu.fish
    """
    assert ctx.parent is not None
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.parent.command, {}, "gen4emu", "_GEN4EMU_COMPLETE").source())
