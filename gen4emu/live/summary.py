"""Totals of a device server, and their output when it ends: statistics on standard error, and JSON."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gen4emu.device import hierarchical_depth

_NANOSECONDS = "_ns"


@dataclass(frozen=True, slots=True)
class Hang:
    """A batch that hung."""

    program: str
    pid: int
    reason: str
    error_state: Path | None  # the file


@dataclass(frozen=True, slots=True)
class Capture:
    """A complete trace."""

    path: Path
    program: str
    submissions: int
    size_bytes: int


@dataclass(slots=True)
class Totals:
    """Sums over all connections that have ended."""

    opened: int = 0  # connections, including those that only probe the device
    used: int = 0  # connections of drivers that used it
    connections: int = 0  # with an emulated device
    batches: int = 0
    hangs: int = 0
    marks: int = 0
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    hierarchical_depth: Counter[str] = field(default_factory=Counter)  # docs/counters.md
    complaints: Counter[str] = field(default_factory=Counter)  # unmodelled operations, faults
    events: Counter[str] = field(default_factory=Counter)  # rules broken by kernels and messages
    hang_reports: list[Hang] = field(default_factory=list)  # of the first hangs
    captures: list[Capture] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)  # messages about requests of the user that failed


def number(count: int, noun: str, nouns: str = "") -> str:
    """`1 batch`, `2 batches`."""
    return f"{count} {noun if count == 1 else nouns or noun + 's'}"


def print_totals(totals: Totals, stats: bool, complaints: bool = True) -> int:
    """Print to standard error; return the number of kinds of unmodelled or invalid operations."""
    if complaints:
        _print_counts(totals.complaints)
    if stats:
        _print_counts(totals.events)
        for line in statistics(totals):
            print(line, file=sys.stderr)
    return len(totals.complaints) + len(totals.events)


def _print_counts(counts: Counter[str]) -> None:
    for text, count in sorted(counts.items()):
        print(f"gen4emu: {text}: {number(count, 'time')}", file=sys.stderr)


def statistics(totals: Totals) -> list[str]:
    c = totals.counts
    milliseconds, geometry, pixels = 1000 * totals.seconds, c["geometry_ns"] / 1e6, c["raster_ns"] / 1e6
    hiz = hierarchical_depth.summary(totals.hierarchical_depth)
    return [
        f"{number(totals.connections, 'open device')}, {number(totals.batches, 'batch', 'batches')}, "
        f"{number(totals.marks, 'frame')} shown, {number(totals.hangs, 'hang')}",
        f"{number(c['draws'], 'draw')}, {c['vertices']} vertices, {c['objects']} objects, {c['setups']} set up, "
        f"{c['tiles']} tiles",
        f"{c['instructions']} EU instructions, {c['channel_ops']} channel operations",
        f"{milliseconds:.1f} ms in batches: geometry {geometry:.1f} ms, pixels {pixels:.1f} ms, "
        f"the rest {milliseconds - geometry - pixels:.1f} ms",
        *([hiz] if hiz else []),
    ]


def gpu_use(totals: Totals) -> str:
    """How far programs went: `used`, `display` (showed pictures that no batch drew), `opened` or `unused`."""
    if totals.used:
        return "used"
    if totals.marks:
        return "display"
    return "opened" if totals.opened else "unused"


def result_json(verb: str, chip: str, totals: Totals, status: int, command: Sequence[str],
                program_status: int | None) -> str:
    """The result of `gen4emu run` or `capture` as a JSON document (docs/json.md)."""
    document: dict[str, Any] = {
        "schema": f"gen4emu.{verb}/1",
        "status": status,
        "program": {"command": list(command), "status": program_status} if command else None,
        "device": chip,
        "gpu": gpu_use(totals),
        "connections": totals.connections,
        "batches": totals.batches,
        "frames": totals.marks,
        "hangs": totals.hangs,
        "hang_reports": [{"program": h.program, "pid": h.pid, "reason": h.reason,
                          "error_state": None if h.error_state is None else str(h.error_state)}
                         for h in totals.hang_reports],
        "counts": {name: count for name, count in totals.counts.items() if not name.endswith(_NANOSECONDS)},
        "milliseconds": {"batches": round(1000 * totals.seconds, 3)} | {
            name.removesuffix(_NANOSECONDS): round(count / 1e6, 3) for name, count in totals.counts.items()
            if name.endswith(_NANOSECONDS)},
        "complaints": _counted(totals.complaints),
        "events": _counted(totals.events),
        "errors": list(totals.errors),
    }
    if any(totals.hierarchical_depth.values()):
        document["hierarchical_depth"] = hierarchical_depth.as_json(totals.hierarchical_depth)
    if verb == "capture":
        document["files"] = [{"file": str(c.path), "program": c.program, "submissions": c.submissions,
                              "bytes": c.size_bytes} for c in totals.captures]
    return json.dumps(document, indent=2) + "\n"


def _counted(counts: Counter[str]) -> list[dict[str, Any]]:
    return [{"text": text, "count": count} for text, count in sorted(counts.items())]
