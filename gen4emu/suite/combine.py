"""Several files of results: one of them all, what differs between two, what changed from run to run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gen4emu.check.results import BAD, Outcome
from gen4emu.suite.lines import Line

Key = tuple[str, str, str]
Lines = Mapping[Key, Line]


def merge(parts: Iterable[Iterable[Line]]) -> tuple[list[Line], list[str]]:
    """All results by suite, device and name; of a case with several, the last.

    Second: a text for each case that drew different pictures in parts of the same version.
    """
    found: dict[Key, Line] = {}
    conflicts = []
    for part in parts:
        for line in part:
            old = found.get(line.key)
            if old is not None and differ(old, line) and old.version == line.version:
                conflicts.append(f"{label(line)}: {old.host} drew {old.digest}, {line.host} {line.digest}")
            found[line.key] = line
    return [found[key] for key in sorted(found)], conflicts


def by_key(lines: Iterable[Line]) -> dict[Key, Line]:
    return {line.key: line for line in lines}


def label(line: Line) -> str:
    return f"{line.suite}: {line.name} ({line.device})" if line.device else f"{line.suite}: {line.name}"


def differ(a: Line, b: Line) -> bool:
    """Whether both drew something, and not the same."""
    return bool(a.digest and b.digest and a.digest != b.digest)


@dataclass(frozen=True, slots=True)
class Change:
    """The change of a case: `broken`, `fixed`, `changed` (other pictures), `outcome`, `new`, `removed`."""

    kind: str
    old: Line | None
    new: Line | None

    @property
    def line(self) -> Line:
        line = self.new or self.old
        assert line is not None
        return line

    @property
    def text(self) -> str:
        states = [line.outcome.value for line in (self.old, self.new) if line is not None]
        digests = [line.digest for line in (self.old, self.new) if line is not None] if self.kind == "changed" else []
        return f"{self.kind}: {label(self.line)}: {' -> '.join(digests or states)}"


KINDS = ("broken", "changed", "removed", "new", "outcome", "fixed")


def diff(old: Lines, new: Lines) -> list[Change]:
    """The changes, the worst first."""
    changes = []
    for key in sorted({*old, *new}):
        a, b = old.get(key), new.get(key)
        kind = _kind(a, b)
        if kind:
            changes.append(Change(kind, a, b))
    return sorted(changes, key=lambda change: KINDS.index(change.kind))


def _kind(old: Line | None, new: Line | None) -> str:
    if new is None:
        return "removed"
    if old is None:
        return "broken" if new.is_bad else "new"
    if old.is_bad != new.is_bad:
        return "broken" if new.is_bad else "fixed"
    if differ(old, new):
        return "changed"
    return "outcome" if old.outcome is not new.outcome else ""


@dataclass(frozen=True, slots=True)
class Story:
    """A case in each run, None where it was not run."""

    key: Key
    lines: tuple[Line | None, ...]

    @property
    def is_eventful(self) -> bool:
        """Whether two runs differ in outcome or digest, or one was bad."""
        ran = [line for line in self.lines if line is not None]
        return (any(line.is_bad for line in ran) or len({line.outcome for line in ran}) > 1
                or len({line.digest for line in ran if line.digest}) > 1)

    @property
    def flips(self) -> int:
        """How often it went from good to bad or back: many of them mean a flake."""
        states = [line.outcome in BAD for line in self.lines if line is not None and line.outcome is not Outcome.SKIP]
        return sum(a != b for a, b in pairwise(states))


def history(runs: Sequence[Lines]) -> list[Story]:
    """The cases of all runs, the most unstable first."""
    stories = [Story(key, tuple(run.get(key) for run in runs)) for key in sorted({key for run in runs for key in run})]
    return sorted(stories, key=lambda story: -story.flips)
