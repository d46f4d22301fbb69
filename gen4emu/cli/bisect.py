"""`gen4emu bisect`: the first draw, pixel and instruction at which two executions differ, and why."""

from __future__ import annotations

import json
from contextlib import ExitStack

import click

from gen4emu.api.trace import Trace
from gen4emu.bisect.first_difference import Finding, Side, find, find_against
from gen4emu.cli import options
from gen4emu.cli.sandbox_options import Confinement, confinement_options
from gen4emu.cli.terminal import Progress, complain
from gen4emu.cli.two_ways import devices_option, labels, options_option
from gen4emu.device.options import Options
from gen4emu.hw.chips import Device
from gen4emu.trace.reader import open as open_trace


@click.command()
@click.argument("files", metavar="TRACE [TRACE]", nargs=-1, required=True)
@devices_option
@options_option
@click.option("--against", metavar="FILE", help="Compare one TRACE with digests written by `gen4emu digest`.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text (docs/json.md).")
@options.trace_options
@confinement_options
@options.verbosity_options
def bisect(files: tuple[str, ...], devices: tuple[Device, Device] | None, pair: tuple[Options, Options] | None,
           against: str | None, as_json: bool, kind: str | None, base: int, device: Device | None, force_device: bool,
           partial: bool, confinement: Confinement) -> int:
    """Find the first draw that differs between two executions, its first pixel, the instruction and the cause.

    Both are executed side by side. Draws that only one of them has are listed but not compared. Exit status 0: the
    same, 1: they differ, 2: they cannot be compared.

    \b
    Examples:
      gen4emu bisect traces/gears-g4x.aub.xz traces/gears-4frames-g4x.aub.xz
      gen4emu bisect trace.aub.xz --options fp-rounding=rtz,rtne
    """
    ways = sum(way is not None for way in (devices, pair, against))
    if len(files) > 2 or ways != (0 if len(files) == 2 else 1):
        raise click.UsageError("give two traces, or one with exactly one of --devices, --options and --against")
    if devices is not None and device is not None:
        raise click.UsageError("--devices and --device exclude each other")
    names = files * 2 if len(files) == 1 else files
    chips = devices or (device, device)
    choices = pair or (Options(), Options())
    sides = labels(files, devices, pair)
    confinement.limit(" and ".join(files))
    confinement.enter(*files, *([against] if against is not None else []))
    with ExitStack() as stack:
        progress = Progress("comparing", scrolls=not as_json)
        stack.callback(progress.done)

        def side(number: int) -> Side:
            source = open_trace(names[number], device=chips[number], force_device=force_device,
                                in_family=devices is not None, base=base, kind=kind, again=True)
            trace = stack.enter_context(Trace(source, partial, choices[number]))
            return Side(sides[number], trace, source, choices[number])

        progress.follow()
        found = find_against(side(0), against) if against is not None else find(side(0), side(1))
        progress.done()
    _show(found, as_json)
    if found.status == 2:
        complain("not comparable: no draw of one side has a counterpart on the other")
    return found.status


def _show(found: Finding, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=1))
        return
    for line in found.lines():
        click.echo(line)
