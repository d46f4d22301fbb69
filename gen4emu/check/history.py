"""Results over revisions: a file with a line of JSON for each run (docs/check.md)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gen4emu.check.manifest import Case
from gen4emu.check.reports import Report
from gen4emu.check.results import Outcome
from gen4emu.errors import DecodeError
from gen4emu.trace.output import append as add

SCHEMA = "gen4emu.history/1"
_MOST_BYTES = 256 << 20
SHOWN = 60  # runs, the latest ones


@dataclass(frozen=True, slots=True)
class Run:
    """The results of a run of one revision: outcome and digest by the key of the case."""

    revision: str
    cases: dict[str, tuple[str, str]]


def key(case: Case) -> str:
    """The identity of a case, the same in every checkout."""
    return f"{case.manifest.absolute().parent.name}/{case.name}"


def run_of(report: Report, revision: str) -> Run:
    return Run(revision, {key(r.case): (r.outcome.value, r.digest) for r in report.results})


def append(path: Path, run: Run) -> None:
    """Add a run; runs that write at the same time do not mix their lines."""
    line = json.dumps({"schema": SCHEMA, "revision": run.revision, "cases": run.cases}, separators=(",", ":"))
    with path.open("ab", buffering=0) as file:
        add(file, line.encode() + b"\n")


def read(path: Path) -> list[Run]:
    """The latest runs, the oldest one first; none if there is no file yet."""
    if not path.exists():
        return []
    if path.stat().st_size > _MOST_BYTES:
        raise DecodeError(f"{path}: has more than {_MOST_BYTES >> 20} MiB")
    lines = list(enumerate(path.read_bytes().splitlines(), 1))
    return [_run(path, number, line) for number, line in lines[-SHOWN:]]


def _run(path: Path, number: int, line: bytes) -> Run:
    try:
        value = json.loads(line)
        if value["schema"] != SCHEMA or not isinstance(value["revision"], str):
            raise TypeError
        cases = {name: (Outcome(outcome).value, digest) for name, (outcome, digest) in value["cases"].items()}
        if not all(isinstance(digest, str) for _, digest in cases.values()):
            raise TypeError
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise DecodeError(f"{path}: line {number} is not a run that `gen4emu check --history` has written") from None
    return Run(value["revision"], cases)


def of_case(runs: Sequence[Run], case: Case) -> list[dict[str, object]]:
    """The result of a case in each run, and whether its picture differs from that of the last run that had it."""
    found: list[dict[str, object]] = []
    before = ""
    for run in runs:
        outcome, digest = run.cases.get(key(case), ("", ""))
        changed = bool(before and digest and digest != before)
        before = digest or before
        found.append({"revision": run.revision, "outcome": outcome, "digest": digest, "changed": changed})
    return found
