"""`gen4emu kernels`: the kernels of a trace, listed or written to files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from gen4emu.api.trace import open as open_trace
from gen4emu.cli import options
from gen4emu.cli.sandbox_options import Confinement, confinement_options
from gen4emu.cli.tables import table
from gen4emu.cli.terminal import Progress, damaged, some
from gen4emu.decode.kernel_uses import KernelUse
from gen4emu.hw.chips import Device
from gen4emu.selection import Selection
from gen4emu.trace.output import Output

SCHEMA = "gen4emu.kernels/1"


@click.command()
@click.argument("file", metavar="TRACE")
@click.option("-o", "--output", "directory", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Write each kernel to this directory, as code (.bin) and as assembly (.g4a), and index.json; "
                   "with GL notes, also its GLSL (.glsl) and NIR (.nir).")
@options.draws_option
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text (docs/json.md).")
@options.trace_options
@confinement_options
@options.verbosity_options
def kernels(file: str, directory: Path | None, draws: Selection | None, as_json: bool, kind: str | None, base: int,
            device: Device | None, force_device: bool, partial: bool, confinement: Confinement) -> int:
    """List the kernels of TRACE with their stages, addresses and the draws that run them, or write them to files.

    \b
    Examples:
      gen4emu kernels trace.aub.xz
      gen4emu kernels trace.aub.xz --draws 4 -o kernels/
    """
    confinement.limit(file)
    confinement.enter(file, directory=directory)
    progress = Progress(f"reading {file}", lambda: trace.fraction)
    with open_trace(file, device=device, force_device=force_device, base=base, kind=kind, partial=True,
                    progress=lambda unit, number: progress.tick(lambda: some(number + 1, unit))) as trace:
        try:
            found = trace.kernels(draws)
        finally:
            progress.done()
        damage = trace.damage()
        part = trace.device
    # The last warning is the cause of those before it.
    errors = [] if partial else [f"{file}: 0x{w.offset:08x}: {w.text}" for w in damage[-1:]]
    paths = None if directory is None else _write(directory, found)
    document = {"schema": SCHEMA, "file": file, "device": None if part is None else part.name,
                "kernels": _entries(found, paths), "errors": errors, "status": 2 if errors else 0}
    if directory is not None:
        with Output(directory / "index.json") as out:
            out.write(f"{json.dumps(document, indent=1)}\n".encode())
    if as_json:
        click.echo(json.dumps(document, indent=1))
    elif directory is not None:
        for names in paths or ():
            click.echo("\n".join(str(directory / name) for name in names))
    else:
        click.echo("\n".join(_text(found)) or f"{file}: no kernels")
    return damaged(file, damage, partial)


def _write(directory: Path, found: list[KernelUse]) -> list[tuple[str, str]]:
    """The names of the files of each kernel."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for use in found:
        names = f"{use.name}.bin", f"{use.name}.g4a"
        for name, data in zip(names, (use.code.code, use.text().encode()), strict=True):
            with Output(directory / name) as out:
                out.write(data)
        if use.sources:
            with Output(directory / f"{use.name}.glsl") as out:
                out.write("\n".join(f"// {s.title}\n{s.source}" for s in use.sources).encode())
        if use.origin is not None and use.origin.compiled.nir:
            with Output(directory / f"{use.name}.nir") as out:
                out.write("\n".join(f"// {form}\n{text}" for form, text in use.origin.compiled.nir).encode())
        paths.append(names)
    return paths


def _entries(found: list[KernelUse], paths: list[tuple[str, str]] | None) -> list[dict[str, Any]]:
    entries = [use.as_json() for use in found]
    for entry, names in zip(entries, paths or (), strict=paths is not None):
        entry["code"], entry["assembly"] = names
    return entries


def _text(found: list[KernelUse]) -> Iterator[str]:
    if found:
        heads = ("number", "instructions", "bytes", "stages", "draws", "at")
        shows_origins = any(use.origin is not None for use in found)
        yield from table((*heads, "compiled from") if shows_origins else heads, [
            (str(use.number), str(use.code.instructions), str(len(use.code.code)), " ".join(use.stages),
             use.draws_text if len(use.draws) <= 4 else f"{use.draw_count} draws",
             " ".join(f"0x{a:08x}" for a in use.addresses[:4]),
             *((use.origin.title if use.origin is not None else "",) if shows_origins else ())) for use in found])
