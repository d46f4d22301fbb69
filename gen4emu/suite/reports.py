"""Results of any suite as JUnit XML and as a page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import gen4emu
from gen4emu.check.page import write_page
from gen4emu.check.reports import SKIPPED, xml_text
from gen4emu.check.results import BAD, Outcome
from gen4emu.image.picture import replacing
from gen4emu.suite.lines import Line

_ORDER = (Outcome.CRASH, Outcome.TIMEOUT, Outcome.FAIL, Outcome.UNEXPECTED_PASS, Outcome.FLAKE, Outcome.EXPECTED_FAIL,
          Outcome.SKIP, Outcome.PASS)
_GROUP = re.compile(r"(.*)[@/.]([^@/.]+)")


def write_junit(path: Path, lines: Sequence[Line]) -> None:
    """A <testsuite> for each suite and device, a <testcase> for each case."""
    root = ElementTree.Element("testsuites", _numbers(lines))
    for suite, device in sorted({(line.suite, line.device) for line in lines}):
        part = [line for line in lines if (line.suite, line.device) == (suite, device)]
        element = ElementTree.SubElement(root, "testsuite", {"name": xml_text(f"{suite} {device}".strip())}
                                         | _numbers(part))
        for line in part:
            _add(element, line)
    ElementTree.indent(root)
    with replacing(path) as file:
        ElementTree.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)


def _numbers(lines: Sequence[Line]) -> dict[str, str]:
    counts = Counter(line.outcome for line in lines)
    return {"tests": str(len(lines)), "failures": str(counts[Outcome.FAIL] + counts[Outcome.UNEXPECTED_PASS]),
            "errors": str(counts[Outcome.CRASH] + counts[Outcome.TIMEOUT]),
            "skipped": str(sum(counts[outcome] for outcome in SKIPPED)),
            "time": f"{sum(line.seconds for line in lines):.3f}"}


def _add(suite: ElementTree.Element, line: Line) -> None:
    found = _GROUP.fullmatch(line.name)
    group, name = (found[1], found[2]) if found else (line.suite, line.name)
    case = ElementTree.SubElement(suite, "testcase", classname=xml_text(group), name=xml_text(name),
                                  time=f"{line.seconds:.3f}")
    properties = ElementTree.SubElement(case, "properties")
    for key, value in (("outcome", line.outcome.value), ("device", line.device), ("host", line.host),
                       ("version", line.version), ("digest", line.digest)):
        if value:
            ElementTree.SubElement(properties, "property", name=key, value=xml_text(value))
    text = "\n".join(line.messages)
    first = line.messages[0].partition("\n")[0] if line.messages else line.reason or line.outcome.value
    if line.is_bad:
        kind = "error" if line.outcome in (Outcome.CRASH, Outcome.TIMEOUT) else "failure"
        ElementTree.SubElement(case, kind, message=xml_text(first), type=line.outcome.value).text = xml_text(text)
    elif line.outcome in SKIPPED:
        ElementTree.SubElement(case, "skipped", message=xml_text(f"{line.outcome}: {line.reason or first}"))


def write_html(path: Path, lines: Sequence[Line], title: str, notes: Sequence[str] = ()) -> None:
    """The page of `check --html`, without pictures: files of results have none."""
    counts = Counter(line.outcome for line in lines)
    data: dict[str, Any] = {
        "title": title, "version": gen4emu.__version__,
        "subtitle": ", ".join(sorted({f"{line.suite} {line.device}".strip() for line in lines})),
        "seconds": round(sum(line.seconds for line in lines), 1), "labels": ["actual", "expected"],
        "counts": {outcome.value: counts[outcome] for outcome in _ORDER if counts[outcome]},
        "bad": [outcome.value for outcome in Outcome if outcome in BAD], "notes": [*notes],
        "cases": [_case(line) for line in sorted(lines, key=lambda line: _ORDER.index(line.outcome))],
    }
    write_page(path, data)


def _case(line: Line) -> dict[str, Any]:
    about = [line.device, f"{line.seconds:.2f} s", line.host, line.reason]
    return {"name": line.name, "outcome": line.outcome.value, "new": False,
            "about": " · ".join(text for text in about if text), "messages": line.messages, "log": "", "accept": "",
            "history": [], "pictures": []}
