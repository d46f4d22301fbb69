"""`gen4emu info --draws`: the draws of a trace, executed and counted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from gen4emu.cli.terminal import Progress, damaged
from gen4emu.decode.json_text import device_dict
from gen4emu.device.counters import CountedDraw, Counters
from gen4emu.device.device import Options
from gen4emu.device.place import DrawKind
from gen4emu.device.replay import Replay
from gen4emu.device.targets import Target
from gen4emu.errors import HangError
from gen4emu.hw.catalogue import command_for
from gen4emu.hw.chips import Device
from gen4emu.hw.gen import Gen
from gen4emu.selection import ALL, Selection
from gen4emu.trace.reader import Trace

SCHEMA = "gen4emu.info/2"
_WIDTHS = {"draw": 6, "frame": 5, "submission": 10, "address": 10, "what": 14, "vertices": 9, "objects": 8,
           "written": 9, "instructions": 13}
_RIGHT = frozenset({"draw", "frame", "submission", "vertices", "objects", "written", "instructions"})


def list_draws(trace: Trace, file: str, device: Device | None, selection: Selection, as_json: bool,
               partial: bool) -> int:
    """Execute a trace and print what the selected draws did; the exit status."""
    run = Replay(trace, device, Options())
    progress = Progress(f"executing {file}", lambda: trace.fraction, scrolls=not as_json)
    found: list[dict[str, Any]] = []
    total = Counters()

    def counted(draw: CountedDraw) -> None:
        nonlocal total
        progress.tick(lambda: f"draw {draw.place.draw}")
        if draw.place.draw not in selection:
            return
        assert run.device is not None
        total += draw.counters
        row = _row(draw, run.device.info.gen)
        if as_json:
            found.append(_json(draw, row))
        else:
            _print(row, head=not found)
            found.append({})

    run.on_counters = counted
    hang: HangError | None = None
    try:
        for _ in run.frames(None if not selection.is_all else ALL, None, selection):
            pass
    except HangError as e:
        hang = e
    finally:
        progress.done()
        run.close()
    if not partial:
        run.look_for_damage()
    status = damaged(file, run.damage, partial)
    if hang is None and not status and not selection.is_all:
        selection.require_any(run.draws, "draw", file)
    if as_json:
        click.echo(json.dumps({
            "schema": SCHEMA, "file": file, "container": trace.kind,
            "device": None if run.device is None else device_dict(run.device.info), "draws": found,
            "total": total.as_json(), "status": 3 if hang else status, "errors": [str(hang)] if hang else [],
        }, indent=1))
    if hang is not None:
        raise HangError(f"{file}: {hang} ({run.place.text})")
    return status


def _name(draw: CountedDraw, gen: Gen) -> tuple[str, str]:
    """The command's name, and the topology of a primitive."""
    words = memoryview(draw.words).cast("I")
    command = command_for(words[0], gen)
    if command is None:
        return "unknown", ""
    if draw.kind is not DrawKind.PRIMITIVE:
        return command.name, ""
    view = command.view(words, gen=gen)
    return command.name, command.field("primitive_topology_type", gen).text(view.raw("primitive_topology_type"))


def _row(draw: CountedDraw, gen: Gen) -> dict[str, Any]:
    name, topology = _name(draw, gen)
    counters = draw.counters
    written = counters.pixels_blitted if draw.kind is DrawKind.BLIT else counters.fragments.written
    return {**draw.place.as_json(), "address": draw.address, "kind": draw.kind.value, "name": name,
            "topology": topology, "vertices": counters.vertices.vertices, "objects": counters.objects.objects,
            "written": written, "instructions": counters.instructions,
            "targets": [_target(t) for t in draw.targets]}


def _target(target: Target) -> dict[str, Any]:
    return {"kind": target.kind, "address": target.address, "format": target.format.name, "width": target.width,
            "height": target.height, "pitch_bytes": target.pitch, "tiling": target.tiling.name.lower(),
            "level": target.level, "slice": target.slice}


def _json(draw: CountedDraw, row: dict[str, Any]) -> dict[str, Any]:
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
