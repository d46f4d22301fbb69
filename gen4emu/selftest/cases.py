"""Replays small traces in every way that this host can execute them, and compares what they draw with known digests."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gen4emu._native import lib
from gen4emu.check.execute import Task, draw
from gen4emu.check.manifest import Case
from gen4emu.device.options import Options
from gen4emu.errors import Gen4emuError
from gen4emu.image.digest import pictures_digest, pixels_digest
from gen4emu.selftest.host import VARIANTS

HERE = Path(__file__).resolve().parent
DIGESTS = HERE / "digests.json"  # by the name of the trace; setup.py copies these traces into the package


@dataclass(frozen=True, slots=True)
class Way:
    """A way to execute a trace.  All give the same bits."""

    name: str
    variant: int
    options: Options


@dataclass(frozen=True, slots=True)
class Finding:
    """A trace that drew something else than expected, or could not be replayed."""

    trace: str
    way: str
    message: str


@dataclass(frozen=True, slots=True)
class Outcome:
    ways: list[Way]
    replays: int
    findings: list[Finding]
    seconds: float


def traces() -> dict[Path, str]:
    """The traces, each with the digest of its pictures; in a source tree they are those of traces/."""
    installed = HERE / "traces"
    folder = installed if installed.is_dir() else HERE.parents[1] / "traces"
    return {folder / name: digest for name, digest in json.loads(DIGESTS.read_text(encoding="utf-8")).items()}


def ways() -> list[Way]:
    """Each variant of the C core that the processor has; the best one on all processors; the general handlers."""
    best = int(lib.g4_variant_best())
    alone = Options(workers=1)
    return [*(Way(VARIANTS[variant], variant, alone) for variant in range(best + 1)),
            Way(f"{VARIANTS[best]}, all processors", best, Options()),
            Way("general handlers", best, Options(workers=1, general_only=True))]


def run() -> Outcome:
    """Replay every trace in every way.  The variant of the core is the same afterwards."""
    before = lib.g4_variant_current()
    started = time.perf_counter()
    expected, chosen = traces(), ways()
    try:
        findings = [finding for way in chosen for finding in _run(way, expected)]
    finally:
        lib.g4_set_variant(before)
    return Outcome(chosen, len(chosen) * len(expected), findings, time.perf_counter() - started)


def _run(way: Way, expected: dict[Path, str]) -> Iterator[Finding]:
    lib.g4_set_variant(way.variant)
    for trace, digest in expected.items():
        try:
            drawn = draw(Case(trace.name, trace, trace.parent), Task(options=way.options))
            found = pictures_digest({name: pixels_digest(pixels) for name, pixels in drawn})
        except (Gen4emuError, OSError) as e:
            yield Finding(trace.name, way.name, str(e))
            continue
        if found != digest:
            yield Finding(trace.name, way.name, f"the digest of its pictures is {found}, expected {digest}")
