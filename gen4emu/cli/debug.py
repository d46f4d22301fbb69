"""`gen4emu debug`: stop a trace anywhere, look at threads, pixels and messages."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator

import click

from gen4emu.cli import options
from gen4emu.cli.browser import Browser
from gen4emu.cli.sandbox_options import Confinement, confinement_options
from gen4emu.cli.terminal import Progress, complain, damaged
from gen4emu.debugger.shell import OnError, Read, Shell, completions
from gen4emu.device import bookmark_file
from gen4emu.device.debug_registers import Reduction
from gen4emu.device.options import Options
from gen4emu.errors import Gen4emuError
from gen4emu.hw.chips import Device as Part
from gen4emu.trace.reader import Trace
from gen4emu.trace.reader import open as open_trace


@click.command()
@click.argument("trace")
@click.option("-c", "--command", "commands", multiple=True, metavar="COMMAND",
              help="Run this command instead of reading commands; may be repeated.")
@click.option("--keep-going", is_flag=True, help="Without a terminal: continue after a command that fails.")
@click.option("--json", "as_json", is_flag=True, help="Print answers as JSON, one object per line.")
@click.option("--web", is_flag=True, help="Serve a page for a browser on this machine, and print its address.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port of --web.  [default: a free one]")
@click.option("--open", "opens", is_flag=True, help="With --web: show the page in a browser.")
@options.trace_options
@click.option("--skip-prims", type=click.IntRange(0), default=0, help="Skip the first N 3DPRIMITIVEs.")
@click.option("--max-prims", type=click.IntRange(0), help="Only the first N 3DPRIMITIVEs; skipped ones count.")
@click.option("--watchdog", type=click.IntRange(0), default=0,
              help="Limit on each draw in million EU instructions; above it, the GPU hangs.")
@confinement_options
@options.verbosity_options
def debug(trace: str, commands: tuple[str, ...], keep_going: bool, as_json: bool, web: bool, port: int, opens: bool,
          kind: str | None, base: int, device: Part | None, force_device: bool, partial: bool, skip_prims: int,
          max_prims: int | None, watchdog: int, confinement: Confinement) -> int:
    """Replay TRACE under a debugger: traps, breakpoints, single steps, the history of pixels.

    `help` lists the commands. Without a terminal, commands are the lines of standard input. These, and the commands of
    -c, stop at the first that fails, with exit status 2.

    With --web, a page shows all draws, pictures after each of them, the history of pixels, threads, and memory; it
    takes the same commands. It can be reached only from this machine, at the printed address. Ctrl-C ends it.

    \b
    Examples:
      gen4emu debug trace.aub.xz
      gen4emu debug trace.aub.xz -c "history 100 50"
      gen4emu debug trace.aub.xz -c "trap pixel 100 50" -c continue -c thread -c "step 3"
      gen4emu debug trace.aub.xz --web
    """
    reduced = Options(watchdog=watchdog, reduction=Reduction(skip_prims, max_prims))

    def reopen() -> Trace:
        return open_trace(trace, device=device, force_device=force_device, base=base, kind=kind, again=True)

    if web:
        if commands or as_json or keep_going:
            raise click.UsageError("--web excludes --command, --json and --keep-going")
        return _serve(trace, reopen, device, reduced, port, opens, confinement)
    if port or opens:
        raise click.UsageError("--port and --open need --web")
    is_script = bool(commands) or not sys.stdin.isatty()
    on_error = OnError.FORGIVE if not is_script else OnError.COUNT if keep_going else OnError.STOP
    confinement.limit(trace)
    signed = bookmark_file.signed_if_valid(trace, complain) if device is None and kind is None else None
    if not is_script:
        _complete_words()  # reads the user's settings of the terminal
    confinement.enter(trace)
    opened = reopen()
    progress = Progress(f"running {trace}", lambda: opened.fraction)

    def say(line: str) -> None:
        progress.clear()
        click.echo(line)

    shell = Shell(opened, device, reduced, _reader(commands, progress), say, as_json, complain if is_script else say,
                  on_error, lambda number: progress.tick(lambda: f"draw {number}"))
    index = None if signed is None else signed.contents_if_valid(complain)
    if index is not None:
        shell.session.use(index.with_options(reduced), index.primitives)
    try:
        status = shell.run()
    finally:
        progress.done()
    damage = shell.session.damage if partial else shell.session.damage or opened.damage()
    return damaged(trace, damage, partial) or status or (3 if shell.session.hung else 0)


def _serve(trace: str, reopen: Callable[[], Trace], device: Part | None, chosen: Options, port: int,
           opens: bool, confinement: Confinement) -> int:
    """Serve the page until it is closed.  The process that is confined has its listening socket already."""
    from gen4emu.debugger_web.app import WebDebugger  # the page is large, and other sessions do not show it

    if trace == "-" or (os.path.exists(trace) and not os.path.isfile(trace)):
        raise click.UsageError(f"--web reads the trace more than once, but {trace} is not a file")
    confinement.limit(trace)
    try:
        served = WebDebugger(reopen, trace, device, chosen, port)
    except OSError as e:
        raise Gen4emuError(f"port {port} of 127.0.0.1: {e.strerror}") from None
    try:
        browser = Browser(served.server.url) if opens else None
        confinement.enter(trace)
        reopen().close()  # or what is wrong with it
    except BaseException:
        served.server.discard()
        raise
    served.start()
    try:
        click.echo(served.server.url)
        sys.stdout.flush()
        if browser is not None:
            browser.show()
        served.wait()
    finally:
        served.close()
    return 0


def _reader(commands: tuple[str, ...], progress: Progress) -> Read:
    if commands:
        return _given(iter(commands))
    if not sys.stdin.isatty():
        return _given(iter(sys.stdin))

    def ask(prompt: str) -> str | None:
        progress.clear()
        try:
            return input(prompt)
        except EOFError:
            click.echo()
            return None

    return ask


def _given(lines: Iterator[str]) -> Read:
    return lambda prompt: next(lines, None)


def _complete_words() -> None:
    """Let input() edit lines, remember them, and complete commands and registers with the tab key."""
    try:
        import readline
    except ImportError:
        return

    def complete(word: str, state: int) -> str | None:
        found = completions(readline.get_line_buffer()[:readline.get_begidx()], word)
        return f"{found[state]} " if state < len(found) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" \t")
    readline.parse_and_bind("tab: complete")
