"""The findings of a trace, each with its place, rule and severity (`gen4emu lint`, `gen4emu decode --lint`)."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gen4emu.decode.document import Document
from gen4emu.decode.lint_rules import RuleSelection, Severity, rule_named
from gen4emu.decode.nodes import Command, Diagnostic, Item, SubmissionStart
from gen4emu.device.place import Place
from gen4emu.errors import DecodeError
from gen4emu.trace.output import Output


@dataclass(slots=True, frozen=True)
class Finding:
    """A diagnostic with its position.  The draw is that of the command, or the first one after it."""

    file: str
    place: Place
    diagnostic: Diagnostic

    @property
    def rule(self) -> str:
        return self.diagnostic.rule

    @property
    def severity(self) -> Severity:
        return self.diagnostic.severity

    def __str__(self) -> str:
        d, place = self.diagnostic, self.place
        return (f"{self.file}: 0x{d.address:08x}: {d.severity.value}: {d.where}: {d.text} "
                f"({d.rule}, submission {place.submission}, draw {place.draw})")

    def as_json(self) -> dict[str, Any]:
        d = self.diagnostic
        values: dict[str, Any] = {"file": self.file, "rule": d.rule, "severity": d.severity.value,
                                  "place": self.place.as_json(), "address": d.address, "where": d.where,
                                  "text": d.text}
        if d.field:
            values["field"] = d.field
        if d.value is not None:
            values["value"] = d.value
        return values


def findings(items: Iterable[Item], document: Document, marked: bool) -> Iterator[Finding]:
    """The findings among items of a document, while it is being decoded, with the numbers of frames and draws so far.

    `marked`: the trace marks its frames; else each submission is one.
    """
    submission = 0
    for item in items:
        if isinstance(item, SubmissionStart):
            submission = item.number
        elif isinstance(item, Diagnostic):
            yield Finding(document.file, _place(document, submission, None, marked), item)
        elif isinstance(item, Command) and (item.children or item.diagnostics):
            for node in item.walk():
                for diagnostic in node.diagnostics:
                    yield Finding(document.file, _place(document, submission, item.draw, marked), diagnostic)


def _place(document: Document, submission: int, draw: int | None, marked: bool) -> Place:
    return Place(document.frames if marked else submission, submission, document.draws if draw is None else draw)


def damage_texts(document: Document) -> list[str]:
    """Truncations of a file.  The last warning is the cause of those before it."""
    return [f"{document.file}: 0x{w.offset:08x}: {w.text}" for w in document.damage[-1:]]


@dataclass(slots=True)
class Report:
    """Selects the findings to report, and counts all of them."""

    selection: RuleSelection
    baseline: Baseline
    reported: Counter[str] = field(default_factory=Counter)  # by rule
    hidden: Counter[str] = field(default_factory=Counter)  # below the threshold, or not selected
    known: Counter[str] = field(default_factory=Counter)  # in the baseline

    def sort(self, found: Iterable[Finding]) -> Iterator[Finding]:
        """The findings to report."""
        for finding in found:
            if not self.selection.takes(finding.rule, finding.severity):
                self.hidden[finding.rule] += 1
            elif self.baseline.knows(finding):
                self.known[finding.rule] += 1
            else:
                self.reported[finding.rule] += 1
                yield finding


class Baseline:
    """Known findings: the number for each rule, by trace and by command, block or kernel.

    Files are compared by name, not by directory, so that a baseline works from everywhere.
    """

    def __init__(self, counts: Counter[tuple[str, str, str]] | None = None) -> None:
        self.counts: Counter[tuple[str, str, str]] = Counter() if counts is None else counts
        self._seen: Counter[tuple[str, str, str]] = Counter()

    @classmethod
    def read(cls, path: Path) -> Baseline:
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as e:
            raise DecodeError(f"{path}: {e.strerror}") from None
        except (ValueError, RecursionError) as e:  # not UTF-8, not TOML, or of a number with thousands of digits
            raise DecodeError(f"{path}: not a baseline of gen4emu lint: {e}") from None
        entries = table.get("known", [])
        if set(table) - {"known"} or not isinstance(entries, list):
            raise DecodeError(f"{path}: not a baseline of gen4emu lint: only [[known]] tables are allowed")
        counts: Counter[tuple[str, str, str]] = Counter()
        for i, entry in enumerate(entries):
            counts[_key(entry, f"{path}: known {i}")] += entry["count"]
        return cls(counts)

    def knows(self, finding: Finding) -> bool:
        """Whether a finding is within its count."""
        key = _key_of(finding)
        self._seen[key] += 1
        return self._seen[key] <= self.counts[key]

    def add(self, finding: Finding) -> None:
        self.counts[_key_of(finding)] += 1

    def stale(self, files: Iterable[str]) -> list[str]:
        """The entries for these traces that list more than was found."""
        names = {Path(file).name for file in files}
        return [f"{file}: {rule} in {where}: {count} known, {self._seen[file, rule, where]} found"
                for (file, rule, where), count in self.counts.items()
                if file in names and self._seen[file, rule, where] < count]

    def write(self, path: Path) -> None:
        with Output(path) as out:
            out.write(b"# Known findings, by gen4emu lint --update-baseline\n")
            for (file, rule, where), count in sorted(self.counts.items()):
                out.write(f"\n[[known]]\nfile = {_toml(file)}\nrule = {_toml(rule)}\nwhere = {_toml(where)}\n"
                          f"count = {count}\n".encode())


def _key_of(finding: Finding) -> tuple[str, str, str]:
    return Path(finding.file).name, finding.rule, finding.diagnostic.where


def _key(entry: Any, place: str) -> tuple[str, str, str]:
    texts = ("file", "rule", "where")
    if not isinstance(entry, dict) or set(entry) != {*texts, "count"}:
        raise DecodeError(f"{place}: needs file, rule, where and count, and nothing else")
    file, rule, where, count = (entry[name] for name in (*texts, "count"))
    if not all(isinstance(entry[name], str) for name in texts):
        raise DecodeError(f"{place}: file, rule and where are strings")
    if type(count) is not int or count < 1:
        raise DecodeError(f"{place}: count is not a number of at least 1")
    rule_named(rule)
    return file, rule, where


def _toml(text: str) -> str:
    """A basic string: quotes, backslashes and control characters escaped."""
    parts = (f"\\{c}" if c in '"\\' else c if c.isprintable() else f"\\U{ord(c):08x}" for c in text)
    return f'"{"".join(parts)}"'
