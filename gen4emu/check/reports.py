"""Reports of a run for machines: JSON (gen4emu.check/1, docs/json.md) and JUnit XML."""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from gen4emu.check.results import Outcome, PictureResult, Result, count, exit_status
from gen4emu.image.picture import replacing

SCHEMA = "gen4emu.check/1"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(slots=True)
class Report:
    """A complete run."""

    manifests: Sequence[Path]
    results: list[Result] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)  # lists that no longer apply
    seconds: float = 0.0

    @property
    def status(self) -> int:
        return exit_status(self.results, self.stale)

    def as_json(self) -> dict[str, Any]:
        counts = count(self.results)
        return {
            "schema": SCHEMA,
            "file": str(self.manifests[0]),
            "manifests": [str(path) for path in self.manifests],
            "status": self.status,
            "seconds": round(self.seconds, 3),
            "counts": {outcome.value: counts[outcome] for outcome in Outcome},
            "stale": self.stale,
            "errors": [text for result in self.results if result.is_error for text in result.failures],
            "cases": [_case_json(result) for result in self.results],
        }


def _case_json(result: Result) -> dict[str, Any]:
    return {
        "name": result.case.name,
        "manifest": str(result.case.manifest),
        "trace": str(result.case.trace),
        "device": result.device or None,
        "outcome": result.outcome.value,
        "reason": result.reason or None,
        "seconds": round(result.seconds, 3),
        "digest": result.digest or None,
        "messages": result.messages,
        "notes": result.notes,
        "changes": result.changes,
        "pictures": [_picture_json(picture) for picture in result.pictures],
    }


def _picture_json(picture: PictureResult) -> dict[str, Any]:
    def path(file: Path | None) -> str | None:
        return None if file is None else str(file)

    return {
        "name": picture.name,
        "digest": picture.digest or None,
        "expected_digest": picture.expected_digest or None,
        "new": picture.is_new,
        "message": picture.message or None,
        "difference": None if picture.difference is None else asdict(picture.difference),
        "actual": path(picture.actual),
        "expected": path(picture.expected),
        "heatmap": path(picture.heatmap),
    }


def write_junit(path: Path, report: Report) -> None:
    """One <testcase> a trace, with at most one <failure>, <error> or <skipped>, and paths as properties."""
    counts = count(report.results)
    numbers = {"tests": str(len(report.results)),
               "failures": str(counts[Outcome.FAIL] + counts[Outcome.UNEXPECTED_PASS]),
               "errors": str(counts[Outcome.CRASH] + counts[Outcome.TIMEOUT]),
               "skipped": str(sum(counts[o] for o in SKIPPED)), "time": f"{report.seconds:.3f}"}
    root = ElementTree.Element("testsuites", numbers)
    suite = ElementTree.SubElement(
        root, "testsuite", numbers | {"name": "gen4emu check", "hostname": xml_text(socket.gethostname()),
                                      "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")})
    for result in report.results:
        _add_case(suite, result)
    if report.stale:
        ElementTree.SubElement(suite, "system-err").text = xml_text("\n".join(report.stale))
    ElementTree.indent(root)
    with replacing(path) as file:
        ElementTree.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)


SKIPPED = (Outcome.SKIP, Outcome.EXPECTED_FAIL, Outcome.FLAKE)


def _add_case(suite: ElementTree.Element, result: Result) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=xml_text(str(result.case.manifest)),
                                  name=xml_text(result.case.name), time=f"{result.seconds:.3f}")
    properties = ElementTree.SubElement(case, "properties")
    for name, value in _properties(result):
        ElementTree.SubElement(properties, "property", name=name, value=xml_text(value))
    text = "\n".join(result.failures)
    first = result.failures[0] if result.failures else result.reason
    if result.outcome in (Outcome.CRASH, Outcome.TIMEOUT):
        ElementTree.SubElement(case, "error", message=xml_text(first), type=result.outcome.value).text = xml_text(text)
    elif result.is_bad:
        more = f" (and {len(result.failures) - 1} more)" if len(result.failures) > 1 else ""
        ElementTree.SubElement(case, "failure", message=xml_text(first + more),
                               type=result.outcome.value).text = xml_text(text)
    elif result.outcome in SKIPPED:
        ElementTree.SubElement(case, "skipped", message=xml_text(f"{result.outcome}: {result.reason or first}"))
    out = _output(result)
    if out:
        ElementTree.SubElement(case, "system-out").text = xml_text(out)
    if result.log:
        ElementTree.SubElement(case, "system-err").text = xml_text(result.log)


def _properties(result: Result) -> list[tuple[str, str]]:
    found = [("trace", str(result.case.trace)), ("outcome", result.outcome.value)]
    if result.device:
        found.append(("device", result.device))
    if result.digest and result.pictures:
        found.append(("digest", result.digest))
    for picture in result.pictures:
        found += [(kind, str(path)) for kind, path in (("actual", picture.actual), ("expected", picture.expected),
                                                       ("heatmap", picture.heatmap)) if path is not None]
    return found


def _output(result: Result) -> str:
    """The result of each picture, and the files in the notation with which GitLab and Jenkins attach them."""
    lines = [f"{p.name}: {p.message or 'as expected'}" for p in result.pictures]
    lines += [*result.notes, *result.changes]
    lines += [f"[[ATTACHMENT|{path.absolute()}]]" for path in result.evidence]
    return "\n".join(lines)


def xml_text(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
