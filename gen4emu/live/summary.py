"""What is said, and written, when the device server ends."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

from gen4emu.live.server import Server
from gen4emu.live.totals import Totals, number

_NANOSECONDS = "_ns"


def show(totals: Totals, stats: bool, complaints: bool = True) -> int:
    """To standard error; the number of kinds of unmodelled or invalid operations."""
    if complaints:
        _list(totals.complaints)
    if stats:
        _list(totals.events)
        for line in statistics(totals):
            print(line, file=sys.stderr)
    return len(totals.complaints) + len(totals.events)


def _list(what: Counter[str]) -> None:
    for text, count in sorted(what.items()):
        print(f"gen4emu: {text}: {number(count, 'time')}", file=sys.stderr)


def statistics(totals: Totals) -> list[str]:
    c = totals.counts
    milliseconds, geometry, pixels = 1000 * totals.seconds, c["geometry_ns"] / 1e6, c["raster_ns"] / 1e6
    return [
        f"{number(totals.connections, 'open device')}, {number(totals.batches, 'batch', 'batches')}, "
        f"{number(totals.marks, 'frame')} shown, {number(totals.hangs, 'hang')}",
        f"{number(c['draws'], 'draw')}, {c['vertices']} vertices, {c['objects']} objects, {c['setups']} set up, "
        f"{c['tiles']} tiles",
        f"{c['instructions']} EU instructions, {c['channel_ops']} channel operations",
        f"{milliseconds:.1f} ms in batches: geometry {geometry:.1f} ms, pixels {pixels:.1f} ms, "
        f"the rest {milliseconds - geometry - pixels:.1f} ms",
    ]


def gpu_use(totals: Totals) -> str:
    """How far programs went: `used`, `display` (showed pictures that no batch drew), `opened` or `unused`."""
    if totals.used:
        return "used"
    if totals.marks:
        return "display"
    return "opened" if totals.opened else "unused"


def result(verb: str, server: Server, status: int, command: Sequence[str], program_status: int | None) -> str:
    """All of it as a JSON document (docs/json.md)."""
    totals = server.totals
    document: dict[str, Any] = {
        "schema": f"gen4emu.{verb}/1",
        "status": status,
        "program": {"command": list(command), "status": program_status} if command else None,
        "device": server.part.name,
        "gpu": gpu_use(totals),
        "connections": totals.connections,
        "batches": totals.batches,
        "frames": totals.marks,
        "hangs": totals.hangs,
        "hang_reports": [{"program": h.program, "pid": h.pid, "reason": h.reason,
                          "error_state": None if h.error_state is None else str(h.error_state)} for h in server.hangs],
        "counts": {name: count for name, count in totals.counts.items() if not name.endswith(_NANOSECONDS)},
        "milliseconds": {"batches": round(1000 * totals.seconds, 3)} | {
            name.removesuffix(_NANOSECONDS): round(count / 1e6, 3) for name, count in totals.counts.items()
            if name.endswith(_NANOSECONDS)},
        "complaints": _counted(totals.complaints),
        "events": _counted(totals.events),
        "errors": list(server.failures),
    }
    if verb == "capture":
        document["files"] = [{"file": str(c.path), "program": c.program, "submissions": c.submissions,
                              "bytes": c.size_bytes} for c in server.captures]
    return json.dumps(document, indent=2) + "\n"


def _counted(what: Counter[str]) -> list[dict[str, Any]]:
    return [{"text": text, "count": count} for text, count in sorted(what.items())]
