"""`gen4emu trim`: a part of a trace as a trace of its own."""

from __future__ import annotations

import os
from pathlib import Path

import click

from gen4emu.api.trace import Trace
from gen4emu.cli import options
from gen4emu.cli.sandbox_options import Confinement, confinement_options
from gen4emu.cli.terminal import Progress, complain, damaged, is_quiet, size_text, some
from gen4emu.device.bookmark_file import signed_if_valid
from gen4emu.device.options import Options
from gen4emu.hw.chips import Device
from gen4emu.repro import trim as trimming
from gen4emu.selection import Selection
from gen4emu.trace.reader import open as open_trace


@click.command()
@click.argument("file", metavar="TRACE")
@click.option("-o", "--output", required=True, metavar="FILE",
              help="The trace to write: .aub or .g4c, also with .xz, .gz or .zst.")
@options.frames_option
@options.submissions_option
@options.draws_option
@click.option("--keep-frames-of", "surface", callback=options.address, metavar="ADDRESS",
              help="From the first to the last frame that draws to the surface at ADDRESS, or shows it.")
@click.option("--hang", is_flag=True, help="Only the submission that hangs.")
@options.trace_options
@confinement_options
@options.verbosity_options
def trim(file: str, output: str, frames: Selection | None, submissions: Selection | None, draws: Selection | None,
         surface: int | None, hang: bool, kind: str | None, base: int, device: Device | None, force_device: bool,
         partial: bool, confinement: Confinement) -> int:
    """Write a part of TRACE, from the first to the last selected item, as a separate trace.

    The part contains the memory that it reads, and commands that set the state in force at its start. It is executed
    before the file appears: its draws write the same bytes as in TRACE.

    \b
    Example:
      gen4emu trim trace.aub.xz --draws 0-1 -o small.aub.xz
    """
    if sum((frames is not None, submissions is not None, draws is not None, surface is not None, hang)) != 1:
        raise click.UsageError("name exactly one of --frames, --submissions, --draws, --keep-frames-of and --hang")
    confinement.limit(file)
    signed = signed_if_valid(file, complain) if device is None and kind is None else None
    confinement.enter(file, outputs=(Path(output),))
    index = None if signed is None else signed.contents_if_valid(complain)
    source = open_trace(file, device=device, force_device=force_device, base=base, kind=kind, again=True)
    bookmarks = () if index is None else index.with_options(Options())
    with Progress(f"trimming {file}") as progress, Trace(source, partial, bookmarks=bookmarks) as trace:
        status = damaged(file, trace.damage(), partial)
        if status:
            return status
        progress.follow()
        if frames is not None:
            span = trimming.span_of_frames(source, frames)
        elif submissions is not None:
            span = trimming.span_of_submissions(source, submissions)
        elif draws is not None:
            span = trimming.span_of_draws(trace, draws)
        elif surface is not None:
            span = trimming.span_of_surface(trace, source, surface)
        else:
            span = trimming.span_of_hang(trace, index)
        done = trimming.trim(trace, source, span, output, index=index)
    if done.from_start:
        complain(f"{output}: begins at the start of {file}, because the memory in which the part begins would make it "
                 "larger than that")
    if done.is_whole:
        complain(f"{output}: holds all of {file}, which is smaller than the part would be")
    if done.differing:
        complain(f"warning: {output}: {some(done.differing, 'page')} written with other contents than in {file}: "
                 "counts or times")
    if not is_quiet():
        before = f"{file}: {size_text(os.path.getsize(file))}, " if os.path.isfile(file) else ""
        click.echo(f"{before}{output}: {size_text(done.size)}; {some(done.submissions, 'submission')}, "
                   f"{some(done.draws, 'draw')}, {some(done.pages, 'page')} of memory", err=True)
    if os.path.isfile(file) and done.size > os.path.getsize(file):
        complain(f"warning: {output}: larger than {file}; another container or compression may help")
    return 0
