"""`gen4emu info`: the contents of a trace, on one screen."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial as bound
from pathlib import Path
from typing import Any

import click

from gen4emu import trace as traces
from gen4emu.cli import options
from gen4emu.cli.sandbox_options import Confinement, confinement_options
from gen4emu.cli.tables import table
from gen4emu.cli.terminal import Progress, complain, damaged, some
from gen4emu.decode.document import Document
from gen4emu.decode.gl_calls import GlCalls
from gen4emu.decode.json_text import device_dict
from gen4emu.decode.options import Options
from gen4emu.decode.summary import DRAW_KINDS, Stretch, Summary, joined, summarize
from gen4emu.decode.text import device_text
from gen4emu.hw.chips import Device
from gen4emu.selection import Selection
from gen4emu.trace.events import Warning

SCHEMA = "gen4emu.info/2"
BRIEF_ROWS = 20


@click.command()
@click.argument("file", default="-")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")
@click.option("--brief", is_flag=True, help=f"At most {BRIEF_ROWS} rows of each table.")
@click.option("--draws", is_flag=False, flag_value="all", metavar="[N,N-N,...]",
              help="Execute FILE and list what these draws did; without numbers, all draws.")
@options.trace_options
@confinement_options
@options.verbosity_options
def info(file: str, as_json: bool, brief: bool, draws: str | None, kind: str | None, base: int, device: Device | None,
         force_device: bool, partial: bool, confinement: Confinement) -> int:
    """Show the contents of FILE: device, submissions, memory, commands, surfaces, kernels.

    Frames are known only where the trace marks them; otherwise each submission counts as one.

    \b
    Examples:
      gen4emu info trace.aub.xz
      gen4emu info trace.aub.xz --draws 0-20
    """
    if draws is not None and file == "-" and Path(draws).is_file():  # `--draws FILE`, without numbers
        file, draws = draws, "all"
    confinement.limit(file)
    if draws is not None:
        from gen4emu.device.bookmark_file import signed_if_valid

        selection = Selection.parse(draws)
        index = signed_if_valid(file, complain) if selection.first and device is None and kind is None else None
        confinement.enter(file)
        from gen4emu.cli.draw_list import list_draws  # numpy starts threads, which could not be confined

        return list_draws(file, selection, as_json, kind=kind, base=base, device=device, force_device=force_device,
                          partial=partial, index=index)
    confinement.enter(file)
    trace = traces.open(file, device=device, force_device=force_device, base=base, kind=kind)
    document = Document(trace, file=file, container=trace.kind, device=device, options=Options(max_rows=0))
    progress = Progress(f"reading {file}", lambda: trace.fraction)

    def watched() -> Iterator[Any]:
        for item in document:
            progress.tick(lambda: some(document.number, "submission"))
            yield item

    summary = summarize(watched())
    progress.done()
    memory = joined(document.contents())
    if as_json:
        click.echo(_json(summary, memory, document.damage, document.gl, partial))
    else:
        click.echo("\n".join(_text(summary, memory, document.gl, BRIEF_ROWS if brief else None)))
    return damaged(file, document.damage, partial)


def _json(summary: Summary, memory: list[Stretch], damage: list[Warning], gl: GlCalls, partial: bool) -> str:
    trace = summary.trace
    return json.dumps({
        "schema": SCHEMA,
        "file": "" if trace is None else trace.file,
        "status": 2 if damage and not partial else 0,
        "errors": [f"0x{w.offset:08x}: {w.text}" for w in damage],
        "container": "" if trace is None else trace.container,
        "application": "" if trace is None else trace.application,
        "device": None if trace is None or trace.device is None else device_dict(trace.device),
        "counts": {"submissions": len(summary.submissions), "frames": summary.frames, **summary.counts},
        "submissions": summary.submissions,
        "memory": [{"address": m.start, "bytes": m.end - m.start, "kind": m.kind} for m in memory],
        "commands": dict(sorted(summary.tally.kinds.items(), key=lambda kind: (-kind[1], kind[0]))),
        "topologies": dict(summary.topologies),
        "vertices": summary.vertices,
        "surfaces": [asdict(s) | {"uses": n} for s, n in summary.surfaces.items()],
        "kernels": list(summary.kernels.values()),
        "problems": summary.tally.errors,
        **({"gl": gl.as_json()} if gl.present else {}),
    }, indent=1)


def _text(summary: Summary, memory: list[Stretch], gl: GlCalls, most: int | None) -> Iterator[str]:
    """`most`: rows of each table."""
    trace, tally = summary.trace, summary.tally
    section = bound(_section, most=most)
    if trace is not None:
        device = "unknown" if trace.device is None else device_text(trace.device)
        yield f"{'file':<12} {trace.file} ({trace.container})"
        yield f"{'device':<12} {device}"
        if trace.application:
            yield f"{'application':<12} {trace.application}"
    frames = "no marked frames" if summary.frames is None else some(summary.frames, "frame")
    yield (f"{'holds':<12} {frames}, {some(tally.submissions, 'submission')}, {some(tally.commands, 'command')} in "
           f"{4 * tally.dwords} bytes")
    yield (f"{'draws':<12} {some(summary.counts['draws'], 'draw')} of {summary.vertices} vertices, "
           f"{some(summary.counts['blits'], 'blit')}, {some(summary.counts['media_objects'], 'media object')}")
    if tally.errors:
        yield f"{'problems':<12} {tally.errors}: see gen4emu decode"
    yield from section("submissions", (
        "number", "frame", "ring", "at", "bytes", "commands", "draws", "blits", "media objects", "state"), [
        (str(s["number"]), str(s["frame"]), s["engine"], f"0x{s['ring_address']:08x}", str(s["ring_bytes"]),
         str(s["commands"]), *(str(s[kind]) for kind in DRAW_KINDS), "hung" if s["hung"] else "")
        for s in summary.submissions])
    yield from section("memory", ("from", "to", "bytes", "what"), [
        (f"0x{m.start:08x}", f"0x{m.end - 1:08x}", str(m.end - m.start), m.kind) for m in memory])
    yield from section("commands", ("count", "name"), [
        (str(n), name) for name, n in sorted(tally.kinds.items(), key=lambda kind: (-kind[1], kind[0]))])
    yield from section("draws", ("count", "topology"), [(str(n), name) for name, n in summary.topologies.most_common()])
    yield from section("surfaces", ("at", "what", "kind", "format", "size", "pitch", "tiling", "uses"), [
        (f"0x{s.address:08x}", s.what, s.kind, s.format, s.size, str(s.pitch_bytes), s.tiling, str(n))
        for s, n in sorted(summary.surfaces.items(), key=lambda entry: (entry[0].address, entry[0].what))])
    yield from section("kernels", ("number", "instructions", "bytes", "stages", "at"), [
        (str(k["number"]), str(k["instructions"]), str(k["bytes"]), " ".join(k["stages"]),
         " ".join(f"0x{a:08x}" for a in k["addresses"][:4])) for k in summary.kernels.values()])
    yield from section("GL programs", ("name", "label", "shaders"), [
        (str(p.name), p.label, ", ".join(f"{s.stage} {s.name}" for s in p.shaders)) for p in gl.programs])
    yield from section("GL labels", ("object", "name", "label"), [
        (kind, str(name), label) for (kind, name), label in sorted(gl.labels.items()) if kind != "program"])


def _section(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], most: int | None) -> Iterator[str]:
    """A table under a title.  Columns without a text are left out."""
    if not rows:
        return
    used = [i for i in range(len(heads)) if any(row[i] for row in rows)]
    yield ""
    yield title
    yield from table([heads[i] for i in used], [[row[i] for i in used] for row in rows[:most]])
    if most is not None and len(rows) > most:
        yield f"  ... and {len(rows) - most} more"
