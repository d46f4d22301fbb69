"""The result of a case: the outcome, and each picture with the files that show a difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from gen4emu.check.manifest import Case
from gen4emu.image.compare import Difference


class Outcome(StrEnum):
    PASS = "pass"
    FAIL = "fail"
    CRASH = "crash"
    TIMEOUT = "timeout"
    UNEXPECTED_PASS = "unexpected-pass"  # a case of the `fail` list
    EXPECTED_FAIL = "expected-fail"
    FLAKE = "flake"  # a failure of a case of the `flake` list, or a crash that did not happen again
    SKIP = "skip"


BAD = (Outcome.FAIL, Outcome.CRASH, Outcome.TIMEOUT, Outcome.UNEXPECTED_PASS)


@dataclass(slots=True)
class PictureResult:
    """One picture of a case.  Messages are empty if it is as expected."""

    name: str  # without suffix
    digest: str = ""  # of what was drawn; empty if it was not drawn
    expected_digest: str = ""  # empty if nothing is expected, or only a digest of all pictures
    message: str = ""
    is_new: bool = False  # drawn, but not expected
    difference: Difference | None = None
    actual: Path | None = None  # files under the directory of results
    expected: Path | None = None
    heatmap: Path | None = None
    thumbnail: bytes = b""  # a small PNG, made if a page is


@dataclass(slots=True)
class Result:
    """The result of a case."""

    case: Case
    outcome: Outcome = Outcome.PASS
    is_error: bool = False  # bad input, a damaged trace: not excused by any list
    seconds: float = 0.0
    device: str = ""
    pictures: list[PictureResult] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)  # why it failed
    notes: list[str] = field(default_factory=list)  # worth knowing, and not a failure
    changes: list[str] = field(default_factory=list)  # by --update
    reason: str = ""  # of the list that the case is on, or of the accepted result that it drew
    digest: str = ""  # of all pictures
    log: str = ""  # standard error of a process that crashed

    @property
    def is_bad(self) -> bool:
        return self.outcome in BAD

    @property
    def failures(self) -> list[str]:
        """All that is wrong: messages of the case, then of its pictures."""
        return self.messages + [f"{p.name}: {p.message}" for p in self.pictures if p.message]

    @property
    def evidence(self) -> list[Path]:
        """The files that show what is wrong."""
        return [path for p in self.pictures for path in (p.actual, p.expected, p.heatmap) if path is not None]


def count(results: Iterable[Result]) -> Counter[Outcome]:
    return Counter(result.outcome for result in results)


def exit_status(results: Iterable[Result], stale: Iterable[str]) -> int:
    """2 for bad input and damaged traces, 1 for a difference or a list that no longer applies, else 0."""
    status = 1 if any(True for _ in stale) else 0
    for result in results:
        if result.is_error:
            return 2
        status = max(status, int(result.is_bad))
    return status
