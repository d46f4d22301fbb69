"""`gen4emu convert`: one trace container to another."""

from __future__ import annotations

import os
from pathlib import Path

import click

from gen4emu import trace as traces
from gen4emu.cli import options
from gen4emu.cli.sandbox_options import Confinement, confinement_options
from gen4emu.cli.terminal import Progress, complain, damaged, is_quiet, size_text, some
from gen4emu.errors import TraceError
from gen4emu.hw.chips import Device
from gen4emu.trace.conversion import CONTAINERS, Converted


@click.command()
@click.argument("source")
@click.argument("destination")
@click.option("--to", "container", type=click.Choice(CONTAINERS), help="The container, regardless of the name.")
@click.option("--force", is_flag=True, help="Let DESTINATION replace SOURCE.")
@options.trace_options
@confinement_options
@options.verbosity_options
def convert(source: str, destination: str, container: str | None, force: bool, kind: str | None, base: int,
            device: Device | None, force_device: bool, partial: bool, confinement: Confinement) -> int:
    """Convert SOURCE (any container that can be read) to DESTINATION.

    The name of DESTINATION selects the container, .aub or .g4c, and the compression: .xz, .gz, .zst or none.

    \b
    Example:
      gen4emu convert card0-error hang.aub.xz
    """
    if not force and _is_same(source, destination):
        raise TraceError(destination, None, "is SOURCE itself: use another name, or --force to replace it")
    confinement.limit(source)
    confinement.enter(source, outputs=(Path(destination),))
    trace = traces.open(source, device=device, force_device=force_device, base=base, kind=kind)
    before = _size(source)
    progress = Progress(f"converting {source}", lambda: trace.fraction)
    try:
        done = traces.convert(trace, destination, partial=partial, container=container,
                              watch=lambda number: progress.tick(lambda: some(number, "submission")))
    finally:
        progress.done()
    for warning in done.warnings:
        if not warning.damage:
            complain(f"{source}: 0x{warning.offset:08x}: {warning.text}")
    status = damaged(source, [w for w in done.warnings if w.damage], partial)
    if not done.submissions:
        complain(f"{source}: holds no submission")
    if not is_quiet():
        click.echo(_summary(done, source, before, destination), err=True)
    return status


def _is_same(source: str, destination: str) -> bool:
    if "-" in (source, destination):
        return False
    try:
        return os.path.isfile(destination) and os.path.samefile(source, destination)
    except (OSError, ValueError):
        return False  # opening it says what is wrong


def _size(path: str) -> int | None:
    return os.path.getsize(path) if path != "-" and os.path.isfile(path) else None


def _summary(done: Converted, source: str, before: int | None, destination: str) -> str:
    """How large both files are, and how much smaller the copy is than the memory contents that it stands for."""
    after = _size(destination)
    frames = f", {some(done.frames, 'frame')}" if done.frames else ""
    held = f"{some(done.submissions, 'submission')}{frames}, {size_text(done.bytes_read)} of memory contents"
    both = (source, before), (destination, after)
    sizes = [f"{name}: {size_text(size)}" for name, size in both if size is not None]
    saved = f" ({100 * (1 - after / before):.0f} % saved)" if before and after and after < before else ""
    return f"{', '.join(sizes)}{saved}; {held}" if sizes else held
