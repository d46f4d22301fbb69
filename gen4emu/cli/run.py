"""`gen4emu run`: an unmodified program on the emulated GPU."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from gen4emu.cli.options import device
from gen4emu.device.device import Options
from gen4emu.errors import Gen4emuError
from gen4emu.hw.gen import Device as Part
from gen4emu.live import program, summary
from gen4emu.live.error_states import ErrorStates
from gen4emu.live.pictures import watch_pictures
from gen4emu.live.server import Server

Command = Callable[..., Any]
PASS_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False}


def server_options(command: Command) -> Command:
    """What `run` and `capture` have in common."""
    for option in reversed((
        click.option("-d", "--device", callback=device, metavar="DEVICE", default="g45", show_default=True,
                     help="The GPU that programs see: g41, g45, gm45, g965, 965gm, ... or a PCI id."),
        click.option("--frames", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
                     help="Write every frame that is shown as a picture; of programs that show none, what each batch "
                          "drew."),
        click.option("--stats", is_flag=True, help="Say at the end what was done, on standard error."),
        click.option("-j", "--workers", type=click.IntRange(0, 64), default=0,
                     help="Worker threads for each open device; 0: one per processor."),
        click.option("--watchdog", type=click.IntRange(0), default=0,
                     help="Million EU instructions before a draw hangs."),
        click.option("--error-state", "error_state", type=click.Path(path_type=Path), metavar="FILE",
                     help="Where the error state of a hang goes; by default a new file in the temporary directory."),
        click.option("--strict", is_flag=True, help="Unknown commands hang; exit with status 1 when anything is not "
                                                    "modelled or not right."),
        click.option("-v", "--verbose", is_flag=True,
                     help="Tell when programs open and close the device, and what each did that is not modelled or not "
                          "right."),
    )):
        command = option(command)
    return command


def make_server(part: Part, workers: int, watchdog: int, strict: bool, verbose: bool, frames: Path | None,
                error_state: Path | None, directory: Path | None = None) -> Server:
    server = Server(part, Options(workers=workers, watchdog=watchdog, strict=strict), directory=directory,
                    verbose=verbose)
    server.error_state = ErrorStates(server, error_state)
    if frames is not None:
        watch_pictures(server, frames)
    return server


def run_program(server: Server, command: tuple[str, ...], stats: bool) -> int:
    """The program's exit status, unless the server has something to complain about."""
    try:
        with server:
            status = program.wait(program.start(command, server.directory))
    except program.ProgramError as e:
        click.echo(f"gen4emu: {e}", err=True)
        return e.status
    complaints = summary.show(server.totals, stats)
    return status or _verdict(server, complaints)


def _verdict(server: Server, complaints: int) -> int:
    """What is said of a program that succeeded."""
    if server.options.strict and server.totals.hangs:
        return 3
    return 1 if server.failures or (complaints and server.options.strict) else 0


@click.command(context_settings=PASS_ON)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[--] PROGRAM [ARGUMENTS]...")
@server_options
@click.option("--serve", type=click.Path(path_type=Path), metavar="DIR",
              help="No program: serve any that come through the new directory DIR, until interrupted.")
@click.option("--attach", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="DIR",
              help="Become PROGRAM, on the device that serves DIR.")
def run(command: tuple[str, ...], device: Part, frames: Path | None, stats: bool, workers: int, watchdog: int,
        error_state: Path | None, strict: bool, verbose: bool, serve: Path | None, attach: Path | None) -> int:
    """Run PROGRAM on the emulated GPU, with the drivers that are installed.

    \b
    Example:
      gen4emu run --device g45 --stats -- ./my-gl-program
    """
    if (serve is None) == (not command) or (serve is not None and attach is not None):
        raise click.UsageError("name a PROGRAM to run, or --serve DIR")
    if attach is not None:
        try:
            program.replace_self(command, attach)
        except program.ProgramError as e:
            click.echo(f"gen4emu: {e}", err=True)
            return e.status
    server = make_server(device, workers, watchdog, strict, verbose, frames, error_state, serve)
    if serve is None:
        return run_program(server, command, stats)
    return _serve(server, stats)


def _serve(server: Server, stats: bool) -> int:
    """Until SIGINT or SIGTERM."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: stop.set())
    with server:
        try:
            for name, value in program.additions(server.directory, {}, for_shells=True).items():
                click.echo(f"{name}={value}")
        except Gen4emuError as e:
            click.echo(f"gen4emu: {e}", err=True)
            return 2
        stop.wait()
    complaints = summary.show(server.totals, stats)
    return _verdict(server, complaints)
