"""What is said when the device server ends."""

from __future__ import annotations

import sys
from collections import Counter

from gen4emu.live.server import Totals


def show(totals: Totals, stats: bool) -> int:
    """To standard error; the number of kinds of things that are not modelled or not right."""
    _list(totals.complaints)
    if stats:
        _list(totals.events)
        for line in statistics(totals):
            print(line, file=sys.stderr)
    return len(totals.complaints) + len(totals.events)


def _list(what: Counter[str]) -> None:
    for text, count in sorted(what.items()):
        print(f"gen4emu: {text}: {count} times", file=sys.stderr)


def statistics(totals: Totals) -> list[str]:
    c = totals.counts
    milliseconds, geometry, pixels = 1000 * totals.seconds, c["geometry_ns"] / 1e6, c["raster_ns"] / 1e6
    return [
        f"{totals.connections} open devices, {totals.batches} batches, {totals.marks} frames shown, "
        f"{totals.hangs} hangs",
        f"{c['draws']} draws, {c['vertices']} vertices, {c['objects']} objects, {c['setups']} set up, "
        f"{c['tiles']} tiles",
        f"{c['instructions']} EU instructions, {c['channel_ops']} channel operations",
        f"{milliseconds:.1f} ms in batches: geometry {geometry:.1f} ms, pixels {pixels:.1f} ms, "
        f"the rest {milliseconds - geometry - pixels:.1f} ms",
    ]
