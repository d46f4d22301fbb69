"""The result of a case: the outcome, and each picture with the files that show a difference."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

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


EVIDENCE = ("actual", "expected", "heatmap")  # the files of a PictureResult
BAD = (Outcome.FAIL, Outcome.CRASH, Outcome.TIMEOUT, Outcome.UNEXPECTED_PASS)


@dataclass(slots=True)
class PictureResult:
    """One picture of a case.  Messages are empty if it is as expected."""

    name: str  # without suffix
    digest: str = ""  # of the pictures; empty if there are none
    expected_digest: str = ""  # empty if nothing is expected, or only a digest of all pictures
    message: str = ""
    is_new: bool = False  # drawn, but not expected
    difference: Difference | None = None
    actual: Path | None = None  # files under the directory of results
    expected: Path | None = None
    heatmap: Path | None = None
    thumbnail: bytes = b""  # a small PNG, made if a page is

    def as_json(self, results: Path | None) -> dict[str, Any]:
        found = asdict(self) | {"thumbnail": b64encode(self.thumbnail).decode()}
        for kind in EVIDENCE:
            path = getattr(self, kind)
            found[kind] = None if path is None or results is None else str(path.relative_to(results))
        return found

    @classmethod
    def from_json(cls, found: Mapping[str, Any], results: Path | None) -> PictureResult:
        """Raises ValueError, TypeError or KeyError unless `as_json` has made it."""
        texts = {name: _typed(found[name], str) for name in ("name", "digest", "expected_digest", "message")}
        picture = cls(**texts)
        picture.is_new, picture.thumbnail = _typed(found["is_new"], bool), b64decode(_typed(found["thumbnail"], str))
        if found["difference"] is not None:
            numbers = {name: found["difference"][name] for name in Difference.__slots__}
            if not all(isinstance(number, int | float) for number in numbers.values()):
                raise TypeError(numbers)
            picture.difference = Difference(**numbers)
        for kind in EVIDENCE:
            if found[kind] is not None and results is not None:
                relative = Path(_typed(found[kind], str))
                if relative.is_absolute() or ".." in relative.parts:
                    raise ValueError(relative)
                setattr(picture, kind, results / relative)
        return picture


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

    def as_json(self, results: Path | None) -> dict[str, Any]:
        """Everything but the case, for another process; files are relative to the directory of results."""
        found = {name: getattr(self, name) for name in (*_TEXTS, *_LISTS, "outcome", "is_error", "seconds")}
        return found | {"pictures": [picture.as_json(results) for picture in self.pictures]}

    @classmethod
    def from_json(cls, case: Case, found: Mapping[str, Any], results: Path | None) -> Result:
        """Raises ValueError, TypeError or KeyError unless `as_json` has made it."""
        texts = {name: _typed(found[name], str) for name in _TEXTS}
        lists = {name: [_typed(text, str) for text in _typed(found[name], list)] for name in _LISTS}
        result = cls(case, Outcome(found["outcome"]), _typed(found["is_error"], bool), _typed(found["seconds"], float),
                     pictures=[PictureResult.from_json(one, results) for one in _typed(found["pictures"], list)])
        for name, value in (texts | lists).items():
            setattr(result, name, value)
        return result

    @property
    def is_bad(self) -> bool:
        return self.outcome in BAD

    @property
    def failures(self) -> list[str]:
        """All that is wrong: messages of the case, then of its pictures."""
        return self.messages + [f"{p.name}: {p.message}" for p in self.pictures if p.message]

    @property
    def evidence(self) -> list[Path]:
        """The files that show the difference."""
        return [path for p in self.pictures for path in (p.actual, p.expected, p.heatmap) if path is not None]


_TEXTS, _LISTS = ("device", "reason", "digest", "log"), ("messages", "notes", "changes")


def _typed(value: Any, kind: type[Any]) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is not {kind.__name__}")
    return value


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
