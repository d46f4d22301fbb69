"""`gen4emu debug`: stop a trace anywhere, look at threads, pixels and messages."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

import click

from gen4emu.cli.options import device_option
from gen4emu.debug.shell import Read, Shell
from gen4emu.device.debug import Reduction
from gen4emu.device.device import Options
from gen4emu.hw.gen import Device as Part
from gen4emu.trace.opening import open as open_trace


@click.command()
@click.argument("trace")
@click.option("-c", "--command", "commands", multiple=True, metavar="COMMAND",
              help="Run this instead of asking; more than once, in order.")
@click.option("--json", "as_json", is_flag=True, help="Answers as JSON, one object a line.")
@device_option
@click.option("--skip-prims", type=click.IntRange(0), default=0, help="Leave out the first N 3DPRIMITIVEs.")
@click.option("--max-prims", type=click.IntRange(0), help="Only the first N 3DPRIMITIVEs; skipped ones count.")
@click.option("--watchdog", type=click.IntRange(0), default=0, help="Million EU instructions before a draw hangs.")
def debug(trace: str, commands: tuple[str, ...], as_json: bool, device: Part | None, skip_prims: int,
          max_prims: int | None, watchdog: int) -> int:
    """Replay TRACE under a debugger: traps, breakpoints, single steps, the history of pixels.

    `help` lists the commands. Without a terminal, commands are the lines of standard input.

    \b
    Examples:
      gen4emu debug trace.aub.xz
      gen4emu debug trace.aub.xz -c "history 100 50"
      gen4emu debug trace.aub.xz -c "trap pixel 100 50" -c continue -c thread -c "step 3"
    """
    options = Options(watchdog=watchdog, reduction=Reduction(skip_prims, max_prims))
    shell = Shell(open_trace(trace, device=device, again=True), device, options, _reader(commands), click.echo, as_json)
    shell.run()
    return 0


def _reader(commands: tuple[str, ...]) -> Read:
    if commands:
        return _given(iter(commands))
    if sys.stdin.isatty():
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401 - input() edits lines and remembers them
        return _terminal
    return _given(iter(sys.stdin))


def _given(lines: Iterator[str]) -> Read:
    return lambda prompt: next(lines, None)


def _terminal(prompt: str) -> str | None:
    try:
        return input(prompt)
    except EOFError:
        click.echo()
        return None
