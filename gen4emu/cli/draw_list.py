"""`gen4emu info --draws`: the draws of a trace, executed and counted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from gen4emu.api.surface import Surface
from gen4emu.api.trace import Draw, Trace
from gen4emu.cli.terminal import Progress, complain, damaged
from gen4emu.decode.json_text import device_dict
from gen4emu.device.bookmark_file import Signed
from gen4emu.device.counters import Counters
from gen4emu.device.options import Options
from gen4emu.device.place import DrawKind
from gen4emu.errors import HangError, SelectionError
from gen4emu.hw.chips import Device
from gen4emu.selection import Selection
from gen4emu.trace.reader import open as open_trace

SCHEMA = "gen4emu.info.draws/1"
_WIDTHS = {"draw": 6, "frame": 5, "submission": 10, "address": 10, "what": 14, "vertices": 9, "objects": 8,
           "written": 9, "instructions": 13}
_RIGHT = frozenset({"draw", "frame", "submission", "vertices", "objects", "written", "instructions"})


def list_draws(file: str, selection: Selection, as_json: bool, *, kind: str | None, base: int, device: Device | None,
               force_device: bool, partial: bool, index: Signed | None) -> int:
    """Execute a trace, from its index if there is one, and print what the selected draws did; the exit status."""
    progress = Progress(f"executing {file}", lambda: trace.fraction, scrolls=not as_json)
    found: list[dict[str, Any]] = []
    total = Counters()
    hang: HangError | None = None
    nothing: SelectionError | None = None
    bookmark = None if index is None else index.bookmark_before([(selection.first, "draw")], Options(), complain)
    source = open_trace(file, device=device, force_device=force_device, base=base, kind=kind, again=True)
    with Trace(source, partial=True, bookmarks=() if bookmark is None else (bookmark,)) as trace:
        progress.follow()
        try:
            for draw in trace.draws(selection, counting=True):
                total += draw.counters
                row = _row(draw)
                if as_json:
                    found.append(_json(draw, row))
                else:
                    _print(row, head=not found)
                    found.append({})
        except HangError as e:
            hang = e
        except SelectionError as e:
            nothing = e
        finally:
            progress.done()
        damage = trace.damage(read_on=not partial)
        part = trace.device
    status = damaged(file, damage, partial)
    if nothing is not None and not status:
        raise nothing
    if as_json:
        click.echo(json.dumps({
            "schema": SCHEMA, "file": file, "container": trace.kind,
            "device": None if part is None else device_dict(part), "draws": found, "total": total.as_json(),
            "status": 3 if hang else status, "errors": [hang.reason] if hang else [],
        }, indent=1))
    if hang is not None:
        raise hang
    return status


def _row(draw: Draw) -> dict[str, Any]:
    counters, depth = draw.counters, draw.depth
    written = counters.pixels_blitted if draw.kind == DrawKind.BLIT.value else counters.fragments.written
    return {**draw.place.as_json(), "address": draw.command.address, "kind": draw.kind,
            "name": draw.command.body.name or "unknown", "topology": draw.topology or "",
            "vertices": counters.vertices.vertices, "objects": counters.objects.objects, "written": written,
            "instructions": counters.instructions,
            "targets": [_target(t) for t in (*draw.targets, *([] if depth is None else [depth]))]}


def _target(surface: Surface) -> dict[str, Any]:
    return {"kind": surface.kind, "address": surface.address, "format": surface.format, "width": surface.width,
            "height": surface.height, "pitch_bytes": surface.pitch, "tiling": surface.tiling, "level": surface.level,
            "slice": surface.slice}


def _json(draw: Draw, row: dict[str, Any]) -> dict[str, Any]:
    shown = {name: row[name] for name in ("frame", "submission", "draw", "address", "kind", "name", "topology",
                                          "targets")}
    return shown | {"counters": draw.counters.as_json()}


def _print(row: dict[str, Any], head: bool) -> None:
    if head:
        click.echo("  ".join([*(_cell(name, name) for name in _WIDTHS), "target"]))
    cells = row | {"address": f"0x{row['address']:08x}", "what": row["topology"] or row["name"]}
    text = "  ".join([*(_cell(name, str(cells[name])) for name in _WIDTHS), _targets(row["targets"])])
    click.echo(text.rstrip())


def _cell(name: str, text: str) -> str:
    width = _WIDTHS[name]
    return text.rjust(width) if name in _RIGHT else text.ljust(width)


def _targets(targets: Sequence[dict[str, Any]]) -> str:
    texts = [f"{t['kind']} 0x{t['address']:08x} {t['width']}x{t['height']} {t['format']}" for t in targets]
    return texts[0] + (f" and {len(texts) - 1} more" if len(texts) > 1 else "") if texts else ""
