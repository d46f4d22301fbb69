"""`gen4emu minimise`: a small trace that still shows a problem."""

from __future__ import annotations

import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from gen4emu.api.trace import Trace
from gen4emu.cli import options
from gen4emu.cli.sandbox_options import Confinement, confinement_options
from gen4emu.cli.terminal import complain, damaged, is_quiet, size_text, some
from gen4emu.device.options import Options
from gen4emu.hw.chips import Device, device_named
from gen4emu.repro import minimise as minimising
from gen4emu.repro.trim import Part
from gen4emu.sandbox import Mode
from gen4emu.trace.conversion import container_of
from gen4emu.trace.reader import open as open_trace

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


def _seconds(ctx: click.Context, param: click.Parameter, value: str) -> float:
    found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)([smh]?)", value)
    if found is None:
        raise click.BadParameter(f"{value!r} is not a time such as 30s, 5m or 1h", ctx, param)
    return float(found[1]) * _UNITS[found[2]]


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
@click.option("--hang", is_flag=True, help="It still hangs at the same command, for the same reason.")
@click.option("--pixel", callback=_pixel, metavar="X,Y",
              help="This pixel of the last render target still has the same value in the end.")
@click.option("--differs-between", callback=_devices, metavar="DEVICE,DEVICE",
              help="Two devices still draw other bytes.")
@click.option("--budget", callback=_seconds, default="5m", show_default=True, metavar="TIME",
              help="The time for the search: 30s, 5m, 1h.")
@click.option("--tries", type=click.IntRange(1), metavar="N",
              help="Try at most N candidates, so that the result does not depend on the speed of the machine.")
@click.option("-j", "--jobs", type=click.IntRange(1, 256), default=1, show_default=True, metavar="N",
              help="Try so many candidates at a time; the result is the same.")
@click.option("--watchdog", type=click.IntRange(0), default=0, help="Million EU instructions before a draw hangs.")
@click.argument("command", nargs=-1, metavar="[-- COMMAND...]")
@options.trace_options
@confinement_options
@options.verbosity_options
def minimise(file: str, output: str, hang: bool, pixel: tuple[int, int] | None,
             differs_between: tuple[Device, Device] | None, budget: float, tries: int | None, jobs: int,
             watchdog: int, command: tuple[str, ...], kind: str | None, base: int, device: Device | None,
             force_device: bool, partial: bool, confinement: Confinement) -> int:
    """Remove everything from TRACE that a problem does not need.

    Submissions, draws, state commands, memory, objects of draws, instructions of kernels and fields of state are left
    out. COMMAND is run with the name of a candidate as its last argument; exit status 0 says that the problem is there.
    Ctrl-C ends the search: the smallest trace so far is written.

    \b
    Example:
      gen4emu minimise trace.aub.xz --pixel 60,60 --budget 2s -o min.aub.xz
    """
    if sum((hang, pixel is not None, differs_between is not None, bool(command))) != 1:
        raise click.UsageError("name exactly one of --hang, --pixel, --differs-between and a command")
    container_of(output)
    if command:
        confinement.refuse("a command")
    if confinement.mode is Mode.ON:
        jobs = 1  # a confined process makes no others
    confinement.limit(file)
    if jobs == 1 and not command:
        confinement.enter(file, outputs=(Path(output),))
    # Several processes draw alone: more threads would wait for each other.
    choices = Options(workers=1 if jobs > 1 else 0, watchdog=watchdog)
    source = open_trace(file, device=device, force_device=force_device, base=base, kind=kind, again=True)
    with Trace(source, partial) as trace:
        status = damaged(file, trace.damage(), partial)
        if status:
            return status
        part, reason = minimising.whole(trace, source, choices)
    stays = minimising.SameHang(part, reason, choices) if hang else \
        _stays(part, pixel, differs_between, command, Path(output).name, choices)

    def step(level: str, kept: minimising.Kept) -> None:
        if not is_quiet():
            click.echo(f"{level}: {kept}", err=True)

    search = minimising.Minimiser(part, stays, budget, step, tries, jobs)
    kept = search.run()
    target = Path(os.path.realpath(output))
    with TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as directory:
        place = Path(directory, target.name)
        minimising.write(part, list(search.events(kept)), place)
        minimising.verify(stays.surely if isinstance(stays, minimising.SameHang) else stays, place)
        size = place.stat().st_size
        place.replace(target)
    if not is_quiet():
        before = f"{file}: {size_text(os.path.getsize(file))}, " if os.path.isfile(file) else ""
        click.echo(f"{before}{output}: {size_text(size)}; {some(search.tries, 'candidate')} tried", err=True)
    if os.path.isfile(file) and size > os.path.getsize(file):
        complain(f"warning: {output}: larger than {file}; another container or compression may help")
    return 0


def _stays(part: Part, pixel: tuple[int, int] | None, devices: tuple[Device, Device] | None,
           command: tuple[str, ...], name: str, options: Options | None) -> minimising.Stays:
    if pixel is not None:
        return minimising.same_pixel(part, *pixel, options)
    if devices is not None:
        return minimising.differs_between(part, *devices, options)
    return minimising.command_succeeds(part, command, name)
