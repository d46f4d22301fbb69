"""`gen4emu info`: what a trace holds, on one screen."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import click

from gen4emu import trace as traces
from gen4emu.cli import options
from gen4emu.cli.terminal import Progress, damaged
from gen4emu.decode.document import Document
from gen4emu.decode.json_text import device_dict
from gen4emu.decode.options import Options
from gen4emu.decode.summary import Stretch, Summary, joined, summarize
from gen4emu.decode.text import device_text
from gen4emu.hw.gen import Device

SCHEMA = "gen4emu.info/1"


@click.command()
@click.argument("file", default="-")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")
@options.raw_option
@options.hexdump_option
@options.base_option
@options.device_option
def info(file: str, as_json: bool, kind: str | None, base: int, device: Device | None) -> int:
    """Show what FILE holds: device, submissions, memory, commands, surfaces, kernels.

    \b
    Example:
      gen4emu info trace.aub.xz
    """
    trace = traces.open(file, device=device, base=base, kind=kind)
    document = Document(trace, file=file, container=trace.kind, device=device, options=Options(max_rows=0))
    progress = Progress(f"reading {file}")

    def watched() -> Iterator[Any]:
        for item in document:
            progress.tick(lambda: f"{document.number} submissions")
            yield item

    summary = summarize(watched())
    progress.done()
    memory = joined(document.written)
    click.echo(_json(summary, memory) if as_json else "\n".join(_text(summary, memory)))
    return damaged(file, document.damage)


def _json(summary: Summary, memory: list[Stretch]) -> str:
    trace = summary.trace
    return json.dumps({
        "schema": SCHEMA,
        "file": "" if trace is None else trace.file,
        "container": "" if trace is None else trace.container,
        "application": "" if trace is None else trace.application,
        "device": None if trace is None or trace.device is None else device_dict(trace.device),
        "submissions": summary.submissions,
        "memory": [{"address": m.start, "bytes": m.end - m.start, "kind": m.kind} for m in memory],
        "commands": dict(sorted(summary.tally.kinds.items(), key=lambda kind: (-kind[1], kind[0]))),
        "draws": dict(summary.draws),
        "vertices": summary.vertices,
        "surfaces": [asdict(s) | {"uses": n} for s, n in summary.surfaces.items()],
        "kernels": list(summary.kernels.values()),
        "errors": summary.tally.errors,
    }, indent=1)


def _text(summary: Summary, memory: list[Stretch]) -> Iterator[str]:
    trace, tally = summary.trace, summary.tally
    if trace is not None:
        device = "unknown" if trace.device is None else device_text(trace.device)
        yield f"{'file':<12} {trace.file} ({trace.container})"
        yield f"{'device':<12} {device}"
        if trace.application:
            yield f"{'application':<12} {trace.application}"
    yield (f"{'holds':<12} {_some(tally.submissions, 'submission')}, {_some(tally.commands, 'command')} in "
           f"{4 * tally.dwords} bytes, {_some(sum(summary.draws.values()), 'draw')} of {summary.vertices} vertices")
    if tally.errors:
        yield f"{'problems':<12} {tally.errors}: see gen4emu decode"
    yield from _section("submissions", ("number", "ring", "at", "bytes", "commands", "draws", ""), [
        (str(s["number"]), s["engine"], f"0x{s['ring_address']:08x}", str(s["ring_bytes"]), str(s["commands"]),
         str(s["draws"]), "hung" if s["hung"] else "") for s in summary.submissions])
    yield from _section("memory", ("from", "to", "bytes", "what"), [
        (f"0x{m.start:08x}", f"0x{m.end - 1:08x}", str(m.end - m.start), m.kind) for m in memory])
    yield from _section("commands", ("count", "name"), [
        (str(n), name) for name, n in sorted(tally.kinds.items(), key=lambda kind: (-kind[1], kind[0]))])
    yield from _section("draws", ("count", "what"), [(str(n), name) for name, n in summary.draws.most_common()])
    yield from _section("surfaces", ("at", "what", "kind", "format", "size", "pitch", "tiling", "uses"), [
        (f"0x{s.address:08x}", s.what, s.kind, s.format, s.size, str(s.pitch_bytes), s.tiling, str(n))
        for s, n in sorted(summary.surfaces.items(), key=lambda entry: (entry[0].address, entry[0].what))])
    yield from _section("kernels", ("number", "instructions", "bytes", "stages", "at"), [
        (str(k["number"]), str(k["instructions"]), str(k["bytes"]), " ".join(k["stages"]),
         " ".join(f"0x{a:08x}" for a in k["addresses"][:4])) for k in summary.kernels.values()])


def _some(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _section(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table with columns as wide as they must be; numbers on the right."""
    if not rows:
        return
    yield ""
    yield title
    widths = [max(len(head), *(len(row[i]) for row in rows)) for i, head in enumerate(heads)]
    right = [all(row[i].isdigit() for row in rows) for i in range(len(heads))]
    for row in (heads, *rows):
        cells = (c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True))
        yield f"  {'  '.join(cells)}".rstrip()
