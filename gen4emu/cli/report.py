"""`gen4emu report`: a page for the browser that shows a trace draw by draw."""

from __future__ import annotations

import json
import os
import re
import webbrowser
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import click

from gen4emu.api.trace import Trace
from gen4emu.bisect.first_difference import Side
from gen4emu.cli import options
from gen4emu.cli.browser import Browser
from gen4emu.cli.replay import STDIN, trace_name
from gen4emu.cli.sandbox_options import Confinement, confinement_options
from gen4emu.cli.terminal import Progress, complain, damaged, is_quiet, size_text, some
from gen4emu.cli.two_ways import devices_option, labels, options_option
from gen4emu.device.bookmark_file import Signed, signed_if_valid
from gen4emu.device.options import Options
from gen4emu.errors import HangError
from gen4emu.hw.chips import Device
from gen4emu.report.comparison import compare
from gen4emu.report.record import SCHEMA, Begin, Choices, Recorded, Recorder, at_the_start
from gen4emu.report.trace_list import SCHEMA as LIST_SCHEMA
from gen4emu.report.trace_list import bytes_of, directories, write_reports
from gen4emu.report.writer import PAGE, write_directory, write_file
from gen4emu.sandbox import Sandbox
from gen4emu.selection import Selection
from gen4emu.trace.reader import Trace as Source
from gen4emu.trace.reader import open as open_trace

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def size(ctx: click.Context, param: click.Parameter, value: str) -> int:
    """Bytes: 25M, 800k."""
    m = re.fullmatch(r"(\d{1,9})([kmg]?)b?", value.lower())
    if m is None or not int(m[1]):
        raise click.BadParameter(f"{value!r} is not a size such as 25M", ctx, param)
    return int(m[1]) * _UNITS[m[2]]


@click.command()
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Directory for the report, or for those of several traces.  [default: report/NAME, the name of "
                   "TRACE; report]")
@click.option("--single-file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write one HTML file instead of a directory.")
@click.option("--max-size", callback=size, default="25M", show_default=True, metavar="SIZE",
              help="With --single-file: leave out full-size pictures, then thumbnails, to stay below this.")
@click.option("--against", metavar="TRACE", help="Compare with the draws of this trace.")
@devices_option
@options_option
@options.trace_options
@options.frames_option
@click.option("--draws-full", callback=options.selection, metavar="[N,N-N,...]",
              help="Full-size pictures and meshes of these draws.  [default: of the first draws, up to 8 MiB]")
@click.option("--thumbs", type=click.IntRange(16, 512), default=96, show_default=True, metavar="WIDTH",
              help="The width of thumbnails.")
@click.option("--no-kernels", is_flag=True, help="Leave out the disassembly of kernels.")
@click.option("--no-lint", is_flag=True, help="Leave out the findings of lint.")
@click.option("-j", "--workers", type=click.IntRange(0, 64), default=0,
              help="Worker threads, or traces at the same time; 0: one per processor.")
@click.option("--open", "opens", is_flag=True, help="Show the report in a browser.")
@click.option("--json", "as_json", is_flag=True, help="Print the overview as JSON instead of the path.")
@confinement_options
@options.verbosity_options
def report(traces: tuple[str, ...], output: Path | None, single_file: Path | None, max_size: int, against: str | None,
           devices: tuple[Device, Device] | None, pair: tuple[Options, Options] | None, kind: str | None, base: int,
           device: Device | None, force_device: bool, partial: bool, frames: Selection | None,
           draws_full: Selection | None, thumbs: int, no_kernels: bool, no_lint: bool, workers: int, opens: bool,
           as_json: bool, confinement: Confinement) -> int:
    """Execute each TRACE and write a page that shows its draws, state, pictures, surfaces, kernels and counters.

    The page needs no server and no network: open index.html in a browser. If a trace is damaged or hangs the GPU, the
    report ends there, and the exit status is that of `replay`. With --against, --devices or --options the page compares
    two executions, and exit status 1 also means that they differ. For several traces, DIR has a directory for each, and
    an index.html that lists all, with those that failed; the exit status is the largest of theirs.

    \b
    Examples:
      gen4emu report traces/gears-g4x.aub.xz -o report/
      gen4emu report app.g4c --single-file bug-1234.html
      gen4emu report app.g4c -o report/ --frames 0-10 --draws-full 2-7
      gen4emu report traces/texture-g4x.aub.xz --options fp-rounding=rtz,rtne
      gen4emu report traces/gears-*.aub.xz -o report/ -j 4
    """
    if output is not None and single_file is not None:
        raise click.UsageError("--output and --single-file exclude each other")
    ways = sum(way is not None for way in (against, devices, pair))
    if ways > 1:
        raise click.UsageError("--against, --devices and --options exclude each other")
    if devices is not None and device is not None:
        raise click.UsageError("--devices and --device exclude each other")
    confinement.limit(", ".join(dict.fromkeys(traces)))
    choices = Choices(thumbs, draws_full, frames, kernels=not no_kernels, lint=not no_lint, partial=partial,
                      options=Options(workers=workers))

    def opened(name: str, chip: Device | None) -> Source:
        return open_trace(name, device=chip, force_device=force_device, in_family=devices is not None, base=base,
                          kind=kind, again=True)

    several = list(dict.fromkeys(traces))
    if len(several) > 1:
        for name, value in (("--single-file", single_file), ("--against", against), ("--devices", devices),
                            ("--options", pair)):
            if value is not None:
                raise click.UsageError(f"{name} takes one TRACE")
        if STDIN in several:
            raise click.UsageError("standard input cannot be one of several traces")
        return _reports(several, output or Path("report"), workers or os.cpu_count() or 1, choices,
                        lambda name: opened(name, device), lambda name: _index(name, kind, device, frames), device,
                        _Outlook(opens, as_json), confinement)
    (trace,) = several
    place = output or Path("report", trace_name(trace))
    browser = Browser((single_file or place / PAGE).resolve().as_uri()) if opens else None
    box = confinement.allowing(trace, *([against] if against is not None else []), outputs=(single_file,),
                               directory=place if single_file is None else None)
    if ways:
        names = (trace, against or trace)
        chips = devices or (device, device)
        sides = _Sides(names, labels([*dict.fromkeys(names)], devices, pair), chips,
                       _with_workers(pair or (Options(), Options()), workers),
                       (_index(names[0], kind, chips[0], frames), _index(names[1], kind, chips[1], frames)))
        box.prepare()
        recorded = _compared(sides, choices, opened, box.enter)
    else:
        index = _index(trace, kind, device, frames)
        box.enter()
        source = opened(trace, device)
        progress = Progress(f"reporting {trace}", lambda: source.fraction)
        try:
            progress.follow()
            recorder = Recorder(source, device, Path(trace).name, choices, begin=_begin(index, frames))
            recorded = recorder.record()
        finally:
            progress.done()
            source.close()
    if single_file is not None:
        page = single_file
        for text in write_file(page, recorded, max_size):
            complain(f"left out {text}")
    else:
        page = write_directory(place, recorded)
    if as_json:
        document = {"schema": SCHEMA, "file": trace, "page": str(page), **recorded.overview,
                    "errors": recorded.errors(trace), "status": recorded.status}
        click.echo(json.dumps(document, indent=1))
    else:
        click.echo(page)
    if not is_quiet():
        total = page.stat().st_size if single_file is not None else bytes_of(page)
        click.echo(f"{recorded.overview['counts']['draws']} draws, {size_text(total)}", err=True)
    if browser is not None:
        browser.show()
    if recorded.hang is not None:
        raise HangError(f"{trace}: {recorded.hang}", recorded.hang)
    return damaged(trace, recorded.damage, partial) or recorded.status


def _index(trace: str, kind: str | None, device: Device | None, frames: Selection | None) -> Signed | None:
    """The index of a trace, if its report can begin later than at the start.  Call it before the confinement."""
    if frames is None or not frames.first or kind is not None or device is not None:
        return None
    return signed_if_valid(trace, complain)


def _begin(index: Signed | None, frames: Selection | None) -> Begin:
    if index is None or frames is None:
        return at_the_start
    return lambda options: index.start_before(frames.first, complain, "whole frame", options)


@dataclass(frozen=True, slots=True)
class _Outlook:
    """The output of the list of several reports: opened in a browser, or printed as JSON."""

    opens: bool
    as_json: bool


def _reports(traces: Sequence[str], directory: Path, jobs: int, choices: Choices, opened: Callable[[str], Source],
             index_of: Callable[[str], Signed | None], device: Device | None, outlook: _Outlook,
             confinement: Confinement) -> int:
    """Reports of several traces, `jobs` at a time; the exit status."""
    alone = replace(choices, options=replace(choices.options, workers=max(1, jobs // len(traces))))
    indexes: dict[str, Signed | None] = {}  # in the process of a trace: its own

    def confined(trace: str, place: Path) -> Sandbox:
        indexes[trace] = index_of(trace)
        box = Sandbox(confinement.mode)
        box.read(Path(trace))
        box.write_directory(place)
        return box

    def record(trace: str) -> Recorded:
        source = opened(trace)
        try:
            return Recorder(source, device, Path(trace).name, alone,
                            begin=_begin(indexes[trace], choices.frames)).record()
        finally:
            source.close()

    ended = 0

    def idle(count: int) -> None:
        nonlocal ended
        ended = count
        progress.tick(lambda: f"{count} of {len(traces)} traces")

    progress = Progress("reporting", lambda: ended / len(traces))
    try:
        entries = write_reports(directory, dict(zip(traces, directories([trace_name(t) for t in traces]),
                                                    strict=True)), record, jobs, idle, confined)
    finally:
        progress.done()
    status = max(entry.status for entry in entries)
    page = directory / PAGE
    for entry in entries:
        for text in entry.errors:
            complain(text)
    if outlook.as_json:
        click.echo(json.dumps({"schema": LIST_SCHEMA, "page": str(page), "reports": [e.as_json() for e in entries],
                               "status": status}, indent=1))
    else:
        click.echo(page)
    if not is_quiet():
        made = [entry for entry in entries if entry.bytes]
        size = size_text(sum(entry.bytes for entry in made))
        click.echo(f"{some(len(made), 'report')} of {some(len(entries), 'trace')}, {size}", err=True)
    if outlook.opens:
        webbrowser.open(page.resolve().as_uri())
    return status


@dataclass(frozen=True, slots=True)
class _Sides:
    """Two executions."""

    names: tuple[str, str]
    labels: tuple[str, str]
    chips: tuple[Device | None, Device | None]
    options: tuple[Options, Options]
    indexes: tuple[Signed | None, Signed | None]


def _with_workers(pair: tuple[Options, Options], workers: int) -> tuple[Options, Options]:
    """-j holds for both, unless the comparison is between numbers of workers."""
    if pair[0].workers != pair[1].workers:
        return pair
    return replace(pair[0], workers=workers), replace(pair[1], workers=workers)


def _compared(sides: _Sides, choices: Choices, opened: Callable[[str, Device | None], Source],
              confine: Callable[[], None]) -> Recorded:
    with ExitStack() as stack:
        progress = Progress("comparing")
        stack.callback(progress.done)

        def side(number: int) -> Side:
            source = opened(sides.names[number], sides.chips[number])
            stack.callback(source.close)
            trace = stack.enter_context(Trace(source, choices.partial, sides.options[number]))
            return Side(sides.labels[number], trace, source, sides.options[number])

        process = os.getpid()

        def confined() -> None:
            """No thread is at work before; the copy of this process shows nothing."""
            confine()
            if os.getpid() == process:
                progress.follow()

        titles = Path(sides.names[0]).name, Path(sides.names[1]).name
        return compare((side(0), side(1)), sides.chips, titles, choices, confined,
                       (_begin(sides.indexes[0], choices.frames), _begin(sides.indexes[1], choices.frames)))
