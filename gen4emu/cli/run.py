"""`gen4emu run`: an unmodified program on the emulated GPU."""

from __future__ import annotations

import functools
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import click

from gen4emu.cli.options import device, hiz_option
from gen4emu.core_enums import HierarchicalDepthMode
from gen4emu.device.options import Options
from gen4emu.errors import Gen4emuError, NotExecutedError
from gen4emu.hw.chips import Device as Part
from gen4emu.image.raw_video import STDOUT
from gen4emu.live import program, summary
from gen4emu.live.error_states import ErrorStates
from gen4emu.live.frames import watch_pictures
from gen4emu.live.server import Server
from gen4emu.trace.output import Output

Command = Callable[..., Any]
# Messages about a program, by how far it used the GPU.
_ABSENCES = {"used": "", "display": "showed pictures but never drew with the GPU",
             "opened": "opened the GPU but never used it", "unused": "never opened the GPU"}
PASS_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """The options that `run` and `capture` have in common."""

    device: Part
    frames: Path | None
    stats: bool
    json: str | None
    workers: int
    watchdog: int
    hiz: HierarchicalDepthMode
    error_state: Path | None
    strict: bool
    require_gpu: bool
    quiet: bool
    verbose: bool


def live_options(command: Command) -> Command:
    """Adds the common options to a command, which gets them as `options`."""
    @functools.wraps(command)
    def collect(**arguments: Any) -> Any:
        options = LiveOptions(**{field.name: arguments.pop(field.name) for field in fields(LiveOptions)})
        if options.quiet and options.verbose:
            raise click.UsageError("--quiet and --verbose exclude each other")
        if options.json == "-" and options.frames == STDOUT:
            raise click.UsageError("--json - and --frames - both want standard output")
        return command(options=options, **arguments)

    for option in reversed((
        click.option("-d", "--device", callback=device, metavar="DEVICE", default="g45", show_default=True,
                     help="The GPU that programs see: g41, g45, gm45, g965, 965gm, ivb, byt, hsw, ... or a PCI id.  "
                          "`capture` also knows snb, bdw, skl, kbl."),
        click.option("--frames", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
                     help="Write every frame that a program shows as a picture, or each batch's render targets if it "
                          "shows none.  -: raw video (rgb24) of shown frames on standard output, for ffmpeg; PROGRAM's "
                          "own output goes to standard error."),
        click.option("--stats", is_flag=True, help="Print statistics at the end, on standard error."),
        click.option("--json", type=click.Path(dir_okay=False, allow_dash=True), metavar="FILE",
                     help="Write the result as JSON at the end; - is standard output, and PROGRAM's own goes to "
                          "standard error."),
        click.option("-j", "--workers", type=click.IntRange(0, 64), default=0,
                     help="Worker threads for each open device; 0: one per processor."),
        click.option("--watchdog", type=click.IntRange(0), default=0,
                     help="Million EU instructions before a draw hangs."),
        hiz_option,
        click.option("--error-state", "error_state", type=click.Path(path_type=Path), metavar="FILE",
                     help="Write the error state of a hang to FILE instead of a new file in the temporary directory."),
        click.option("--strict", is_flag=True,
                     help="Unknown commands hang; exit with status 1 after unmodelled or invalid operations."),
        click.option("--require-gpu", is_flag=True, help="Exit with status 1 if no program used the GPU."),
        click.option("-q", "--quiet", is_flag=True, help="Print errors only."),
        click.option("-v", "--verbose", is_flag=True,
                     help="Report when programs open and close the device, and their unmodelled or invalid "
                          "operations."),
    )):
        collect = option(collect)
    return collect


def make_server(options: LiveOptions, directory: Path | None = None) -> Server:
    if options.json not in (None, "-"):
        Output(options.json).discard()  # a file that cannot be written is an error before the program runs
    device_options = Options(workers=options.workers, watchdog=options.watchdog, strict=options.strict,
                             hierarchical_depth=options.hiz)
    server = Server(options.device, device_options, directory=directory, quiet=options.quiet, verbose=options.verbose)
    server.error_state = ErrorStates(server, options.error_state)
    if options.frames is not None:
        watch_pictures(server, options.frames)
    return server


def run_program(server: Server, command: tuple[str, ...], options: LiveOptions, trace: Path | None = None) -> int:
    """The program's exit status, unless it is 0 and the server has a reason for another one."""
    program_status: int | None = None
    try:
        with server:
            stdout = sys.stderr if options.json == "-" or options.frames == STDOUT else None
            program_status = program.wait(program.start(command, server.directory, stdout))
    except program.ProgramError as e:
        server.error(str(e))
        status = e.status
    else:
        verdict = _verdict(server, options, command[0], trace)
        status = program_status or verdict
    _write_result("run" if trace is None else "capture", server, options, status, command, program_status)
    return status


def _verdict(server: Server, options: LiveOptions, name: str, trace: Path | None = None) -> int:
    """Report what the server has seen; the exit status for that.  Without a program, `name` is empty."""
    complaints = summary.print_totals(server.totals, options.stats, options.strict or not options.quiet)
    use = summary.gpu_use(server.totals)
    absence = f"{name} {_ABSENCES[use]}" if name else "no program used the GPU"
    missing = trace is not None and not server.totals.captures and not server.totals.errors
    if missing:
        server.log_always(f"{trace}: not written, {name} submitted nothing" if use == "used" else
                        f"{trace}: not written, {absence}")
    elif use != "used" and options.require_gpu:
        server.log_always(absence)
    elif use != "used" and name:
        server.log(absence)
    if options.strict and server.totals.hangs:
        return 3
    failed = (server.totals.errors or missing or (complaints and options.strict)
              or (use != "used" and options.require_gpu))
    return 1 if failed else 0


def _write_result(verb: str, server: Server, options: LiveOptions, status: int, command: tuple[str, ...] = (),
                  program_status: int | None = None) -> None:
    if options.json is not None:
        with Output(options.json) as output:
            output.write(summary.result_json(verb, server.chip.name, server.totals, status, command,
                                             program_status).encode())


@click.command(context_settings=PASS_ON)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[--] PROGRAM [ARGUMENTS]...")
@live_options
@click.option("--serve", type=click.Path(path_type=Path), metavar="DIR",
              help="Run no program; serve any that connects through the new directory DIR, until interrupted.")
@click.option("--attach", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="DIR",
              help="Become PROGRAM, on the device that serves DIR.")
def run(command: tuple[str, ...], options: LiveOptions, serve: Path | None, attach: Path | None) -> int:
    """Run PROGRAM on the emulated GPU, with the drivers that are installed.

    \b
    Example:
      gen4emu run --device g45 --stats -- ./my-gl-program
    """
    if (serve is None) == (not command) or (serve is not None and attach is not None):
        raise click.UsageError("name a PROGRAM to run, or --serve DIR")
    if attach is not None:
        if options.json is not None or options.require_gpu:
            raise click.UsageError("--json and --require-gpu belong to the server, not to --attach")
        try:
            program.replace_self(command, attach)
        except program.ProgramError as e:
            click.echo(f"gen4emu: {e}", err=True)
            return e.status
    if not options.device.executes:
        raise NotExecutedError(f"{options.device.name} only captures, it does not execute yet: gen4emu capture "
                               f"--device {options.device.name} records what a program submits")
    server = make_server(options, serve)
    if serve is None:
        return run_program(server, command, options)
    return _serve(server, options)


def _serve(server: Server, options: LiveOptions) -> int:
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
    status = _verdict(server, options, "")
    _write_result("run", server, options, status)
    return status
