"""Results of `check` as lines of results, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b, file_digest
from pathlib import Path

from gen4emu.check.history import key
from gen4emu.check.manifest import Case, Listing
from gen4emu.check.results import PictureResult, Result
from gen4emu.suite.lines import Line

SUITE = "traces"


def line_of(result: Result, listings: Sequence[Listing], options: Mapping[str, object]) -> Line:
    """The line of a case; `options` are those on which results depend."""
    messages = [*result.failures, *result.notes, *([result.log] if result.log else [])]
    pictures = {p.name: p.digest for p in result.pictures if p.digest}
    details = {"options": dict(options), "input": input_digest(result.case, listings), "error": result.is_error,
               "failures": result.failures, "pictures": pictures, "device": result.device}
    return Line(SUITE, key(result.case), "" if options["device"] is None else str(options["device"]), result.outcome,
                round(result.seconds, 3), result.digest, messages, result.reason, details=details)


def result_of(case: Case, line: Line) -> Result | None:
    """The result in a line that line_of has made; None if the line is not of that kind."""
    failures, pictures = line.details.get("failures"), line.details.get("pictures")
    if not isinstance(failures, list) or not isinstance(pictures, dict):
        return None
    return Result(case, line.outcome, bool(line.details.get("error")), line.seconds,
                  str(line.details.get("device", "")), [PictureResult(str(n), str(d)) for n, d in pictures.items()],
                  [str(text) for text in failures], reason=line.reason, digest=line.digest)


def input_files(case: Case) -> Iterator[Path]:
    """The files that the result of a case depends on: the trace, and golden pictures."""
    yield case.trace
    directories = [case.golden, *(a.golden for a in case.accepted if a.golden is not None)]
    for directory in dict.fromkeys(directories):
        yield from sorted(directory.glob("*.png"))


def input_digest(case: Case, listings: Sequence[Listing]) -> str:
    """A digest of everything that the judged result of a case depends on; empty if a file cannot be read."""
    expected = (case.tolerance, case.device, case.digests, case.is_raw, case.base, case.allows_damage,
                [(a.digests, a.device, a.reason) for a in case.accepted],
                [(one.list, one.names, one.reason, one.device, one.results) for one in listings])
    total = blake2b(repr(expected).encode(), digest_size=16)
    try:
        for path in input_files(case):
            total.update(f"\n{path.name} {content_digest(path)}".encode())
    except OSError:
        return ""
    return total.hexdigest()


def content_digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()
