"""`gen4emu minimise`: a small trace that still shows a problem."""

from __future__ import annotations

import os
import re
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from gen4emu.api.trace import Trace
from gen4emu.cli import options
from gen4emu.cli.sandbox_options import Confinement, confinement_options
from gen4emu.cli.terminal import Progress, complain, damaged, is_quiet, size_text, some
from gen4emu.device.options import Options
from gen4emu.errors import Gen4emuError
from gen4emu.hw.chips import Device, device_named
from gen4emu.repro import minimise as minimising
from gen4emu.repro.command_runner import CommandRunner
from gen4emu.repro.parallel_trials import ParallelTrials
from gen4emu.repro.trim import Part
from gen4emu.trace.conversion import container_of
from gen4emu.trace.reader import open as open_trace


def _pixel(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    found = re.fullmatch(r"(\d{1,5}),(\d{1,5})", value)
    if found is None:
        raise click.BadParameter(f"{value!r} is not a pixel such as 512,384", ctx, param)
    return int(found[1]), int(found[2])


def _devices(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[Device, Device] | None:
    if value is None:
        return None
    names = value.split(",")
    if len(names) != 2:
        raise click.BadParameter(f"{value!r} are not two devices such as g45,g965", ctx, param)
    left, right = (device_named(name) for name in names)
    if left is None or right is None:
        raise click.BadParameter(options.unknown_device(names[0] if left is None else names[1]), ctx, param)
    return left, right


@click.command()
@click.argument("file", metavar="TRACE")
@click.option("-o", "--output", required=True, metavar="FILE",
              help="The trace to write: .aub or .g4c, also with .xz, .gz or .zst.")
@click.option("--hang", is_flag=True, help="Keep a hang: the same command, for the same reason.")
@click.option("--pixel", callback=_pixel, metavar="X,Y",
              help="Keep the final value of this pixel of the last render target.")
@click.option("--differs-between", callback=_devices, metavar="DEVICE,DEVICE",
              help="Keep a difference between the bytes that two devices draw.")
@click.option("--budget", callback=options.seconds, default="5m", show_default=True, metavar="TIME",
              help="Time limit for the search: 30s, 5m, 1h.")
@click.option("--tries", type=click.IntRange(1), metavar="N",
              help="Try at most N candidates, so that the result does not depend on the speed of the machine.")
@click.option("-j", "--jobs", type=click.IntRange(1, 256), default=1, show_default=True, metavar="N",
              help="Try N candidates at a time; the result is the same.")
@click.option("--watchdog", type=click.IntRange(0), default=0,
              help="Limit on each draw in million EU instructions; above it, the GPU hangs.")
@click.argument("command", nargs=-1, metavar="[-- COMMAND...]")
@options.trace_options
@confinement_options
@options.verbosity_options
def minimise(file: str, output: str, hang: bool, pixel: tuple[int, int] | None,
             differs_between: tuple[Device, Device] | None, budget: float, tries: int | None, jobs: int,
             watchdog: int, command: tuple[str, ...], kind: str | None, base: int, device: Device | None,
             force_device: bool, partial: bool, confinement: Confinement) -> int:
    """Remove everything from TRACE that a problem does not need.

    The search leaves out submissions, draws, state commands, memory, objects of draws, instructions of kernels and
    fields of state. COMMAND is run with the name of a candidate as its last argument; exit status 0 means that the
    candidate has the problem. Ctrl-C ends the search and writes the smallest trace so far.

    \b
    Example:
      gen4emu minimise trace.aub.xz --pixel 60,60 --budget 2s -o min.aub.xz
    """
    if sum((hang, pixel is not None, differs_between is not None, bool(command))) != 1:
        raise click.UsageError("name exactly one of --hang, --pixel, --differs-between and a command")
    container_of(output)
    confinement.limit(file)
    with ExitStack() as stack:
        runners, parallel = _processes(command, Path(output).name, jobs, file, Path(output), confinement, stack)
        # Several processes draw alone: more threads would wait for each other.
        choices = Options(workers=1 if jobs > 1 else 0, watchdog=watchdog)
        if hang and not watchdog:
            choices = replace(choices, watchdog=minimising.WATCHDOG_OF_HANGS)
        source = open_trace(file, device=device, force_device=force_device, base=base, kind=kind, again=True)
        with Trace(source, partial) as trace:
            status = damaged(file, trace.damage(), partial)
            if status:
                return status
            progress = stack.enter_context(Progress(f"minimising {file}"))
            progress.follow()
            part, reason = minimising.whole(trace, source, choices)
        if runners:
            stays: minimising.Stays = minimising.CommandSucceeds(runners[-1])
        elif hang:
            stays = minimising.SameHang(part, reason, choices)
            if not watchdog and not is_quiet() and "threads do not end" in reason:
                progress.clear()
                click.echo(f"threads count as endless after {choices.watchdog} million instructions of a draw, in "
                           f"candidates after {stays.quick.watchdog} million; --watchdog sets another limit", err=True)
        elif pixel is not None:
            stays = minimising.SamePixel(part, *pixel, choices)
        else:
            assert differs_between is not None
            stays = minimising.DiffersBetween(part, *differs_between, choices)
        size, count = _search(part, stays, Path(output), budget, tries, parallel, progress)
    if not is_quiet():
        before = f"{file}: {size_text(os.path.getsize(file))}, " if os.path.isfile(file) else ""
        click.echo(f"{before}{output}: {size_text(size)}; {some(count, 'candidate')} tried", err=True)
    if os.path.isfile(file) and size > os.path.getsize(file):
        complain(f"warning: {output}: larger than {file}; another container or compression may help")
    return 0


def _processes(command: tuple[str, ...], name: str, jobs: int, file: str, output: Path, confinement: Confinement,
               stack: ExitStack) -> tuple[list[CommandRunner], ParallelTrials[minimising.Kept] | None]:
    """Make the other processes, and confine all but those that run the command.

    Returns the runner of this process, if there is a command.
    """
    box = confinement.allowing(file, outputs=(output,))
    directory = None
    if command:
        directory = Path(stack.enter_context(TemporaryDirectory(prefix="gen4emu-", dir=box.temporary)))

    def runner(number: int) -> CommandRunner:
        assert directory is not None
        place = directory / str(number)
        place.mkdir()
        return CommandRunner(command, place / name)

    def prepare(number: int) -> minimising.Stays | None:
        stays = minimising.CommandSucceeds(runner(number)) if command else None
        box.enter()
        return stays

    runners = [runner(jobs)] if command else []
    for made in runners:
        stack.callback(made.close)
    parallel = None
    if jobs > 1:
        parallel = ParallelTrials[minimising.Kept](prepare, jobs)
        stack.callback(parallel.close)
    box.enter()
    return runners, parallel


def _search(part: Part, stays: minimising.Stays, output: Path, budget: float, tries: int | None,
            parallel: ParallelTrials[minimising.Kept] | None, progress: Progress) -> tuple[int, int]:
    """Write the smallest trace; its bytes, and the number of candidates."""
    def step(level: str, kept: minimising.Kept) -> None:
        if not is_quiet():
            progress.clear()
            click.echo(f"{level}: {kept}", err=True)

    end, count = time.monotonic() + budget, 0
    while True:
        search = minimising.Minimiser(part, stays, max(0.0, end - time.monotonic()), step,
                                      None if tries is None else max(0, tries - count), parallel)
        kept = search.run()
        count += search.tries
        target = Path(os.path.realpath(output))
        with TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as directory:
            place = Path(directory, target.name)
            minimising.write(list(search.events(kept)), place)
            if not minimising.shown(stays, place):
                if isinstance(stays, minimising.SameHang) and stays.wait_longer():
                    if search.is_interrupted:
                        end = 0.0  # the next search only confirms the whole trace
                    if not is_quiet():
                        progress.clear()
                        click.echo("the threads that are left do end: " + (
                            f"again, with a watchdog of {stays.quick.watchdog} million instructions"
                            if time.monotonic() < end else "the whole trace is the result"), err=True)
                    continue
                raise Gen4emuError(f"{place}: the written file does not have the problem")
            size = place.stat().st_size
            place.replace(target)
            return size, count
