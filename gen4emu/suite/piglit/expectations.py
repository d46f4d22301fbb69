"""Known results of tests: those that real silicon fails, those that are unstable there, and those that only we fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from gen4emu.errors import DecodeError
from gen4emu.hw.chips import DEVICES
from gen4emu.hw.gen import Gen
from gen4emu.suite.piglit.outcome import GOOD, Outcome
from gen4emu.suite.piglit.reports import kind

HERE = Path(__file__).parent
# The devices whose lists apply to a device, its own first.  The chips of Gen4 use those of G41.
RECORDS = {"hsw": ("hsw",), "ivb": ("ivb", "hsw"), "byt": ("ivb", "hsw"), "kbl": ("kbl",), "skl": ("kbl",)}
RECORDS |= {chip.name: ("g41",) for chip in DEVICES if chip.gen & Gen.ALL4}


class Verdict(StrEnum):
    PASS = "pass"
    SKIP = "skip"
    EXPECTED_FAIL = "expected fail"
    KNOWN_FAIL = "known fail"  # silicon passes, we do not: in our list
    UNEXPECTED_FAIL = "unexpected fail"
    UNEXPECTED_PASS = "unexpected pass"
    FLAKE = "flake"
    CRASH = "crash"
    TIMEOUT = "timeout"


BAD = (Verdict.UNEXPECTED_FAIL, Verdict.CRASH, Verdict.TIMEOUT)


def recorded(name: str) -> str:
    """A name as Mesa's records have it, whose lines are split at commas."""
    return name.lower().replace(",", "-")


def names(path: Path) -> set[str]:
    """One a line, in front of a comma and a result or not; # begins a comment.  As recorded() gives them."""
    lines = (line.split("#", 1)[0].strip() for line in path.read_text().splitlines())
    return {_without_result(line) for line in lines if line}


def pairs(path: Path) -> set[tuple[str, str]]:
    """Tests and texts that they may print, with a bar between; # begins a comment."""
    lines = (line.split("#", 1)[0].partition("|") for line in path.read_text().splitlines())
    return {(test.strip().lower(), what.strip()) for test, bar, what in lines if bar}


def skips(path: Path) -> dict[str, str]:
    """Tests, and after a bar the reason, which is required."""
    found = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        test, _, reason = (part.strip() for part in line.split("#", 1)[0].partition("|"))
        if test and not reason:
            raise DecodeError(f"{path}: line {number}: {test}: needs a reason (TEST | REASON)")
        if test:
            found[test.lower()] = reason
    return found


def _without_result(line: str) -> str:
    name, _, result = line.rpartition(",")
    return recorded(name if result in ("Fail", "Crash", "Timeout") else line)


@dataclass(slots=True)
class Expectations:
    silicon: set[str] = field(default_factory=set)
    flakes: set[str] = field(default_factory=set)
    ours: set[str] = field(default_factory=set)
    warnings: set[tuple[str, str]] = field(default_factory=set)
    skips: dict[str, str] = field(default_factory=dict)  # tests that are not run, and why

    @classmethod
    def of(cls, device: str) -> Expectations:
        """The lists of a device: what its silicon fails, and of its own folder what only we fail or warn of."""
        folders = [HERE / name for name in _records(device)]
        return cls(silicon={name for folder in folders for name in names(folder / "silicon-fails.txt")},
                   flakes={name for folder in folders for name in names(folder / "flakes.txt")},
                   ours=names(folders[0] / "our-fails.txt"), warnings=pairs(folders[0] / "warnings.txt"))

    def skip_reason(self, name: str) -> str:
        """Why a test is not run; empty if it is."""
        return self.skips.get(name.lower(), "")

    def judge(self, outcome: Outcome) -> dict[str, Verdict]:
        return {name: self._verdict(outcome.name, name, result, outcome.crashed)
                for name, result in outcome.results().items()}

    def _verdict(self, test: str, name: str, result: str, crashed: bool) -> Verdict:
        both = {recorded(test), recorded(name)}
        if result == "skip":
            return Verdict.SKIP
        if crashed and result in GOOD:
            return Verdict.FLAKE
        if result in GOOD:
            return Verdict.UNEXPECTED_PASS if recorded(name) in self.silicon else Verdict.PASS
        for known, verdict in ((self.flakes, Verdict.FLAKE), (self.silicon, Verdict.EXPECTED_FAIL),
                               (self.ours, Verdict.KNOWN_FAIL)):
            if both & known:
                return verdict
        return {"crash": Verdict.CRASH, "timeout": Verdict.TIMEOUT}.get(result, Verdict.UNEXPECTED_FAIL)


def sample(device: str) -> Path:
    """The names of a sample over all groups of tests, which CI runs."""
    return HERE / _records(device)[0] / "sample.txt"


def _records(device: str) -> tuple[str, ...]:
    if device not in RECORDS:
        raise DecodeError(f"no known results of piglit for {device} (RECORDS of gen4emu/suite/piglit/expectations.py)")
    return RECORDS[device]


@dataclass(slots=True)
class Summary:
    tests: int
    counts: Counter[Verdict]
    bad: list[tuple[str, Verdict]]
    stale: list[str]  # lines of our list that may go
    warnings: Counter[str]  # kinds of what drivers, the shim and the server said, and how many tests made them
    excused: Counter[str]  # the same, known, or of tests that fail on silicon
    example: dict[str, str]  # a test for each
    stalls: list[tuple[str, str]] = field(default_factory=list)  # tests that ended at the second try, and their threads

    @classmethod
    def of(cls, outcomes: Iterable[Outcome], known: Expectations, rest: Iterable[str] = ()) -> Summary:
        summary = cls(0, Counter(), [], [], Counter(), Counter(), {})
        good: set[str] = set()
        for outcome in outcomes:
            verdicts = known.judge(outcome)
            summary.tests += 1
            if outcome.stall and outcome.result != "timeout":
                summary.stalls.append((outcome.name, outcome.stall))
            summary.counts.update(verdicts.values())
            summary.bad += [(name, verdict) for name, verdict in verdicts.items() if verdict in BAD]
            fails_there = bool({Verdict.FLAKE, Verdict.EXPECTED_FAIL} & set(verdicts.values()))
            for text in {kind(one) for one in outcome.warnings + outcome.reports}:
                summary._count(fails_there or (outcome.name, text) in known.warnings, outcome.name, text)
            fine = {name for name, verdict in verdicts.items() if verdict in (Verdict.PASS, Verdict.UNEXPECTED_PASS)}
            good |= fine | ({outcome.name} if fine and outcome.result in GOOD else set())
        for text in {kind(one) for one in rest}:
            summary._count(False, "a program that is not a test", text)
        summary.bad.sort()
        summary.stale = sorted(known.ours & {recorded(name) for name in good})
        return summary

    def _count(self, excused: bool, test: str, text: str) -> None:
        (self.excused if excused else self.warnings)[text] += 1
        if not excused or text not in self.example:
            self.example[text] = test

    @property
    def good(self) -> bool:
        return not (self.bad or self.stale or self.warnings)

    def text(self) -> str:
        lines = [f"{self.tests} tests, {sum(self.counts.values())} results"]
        lines += [f"{self.counts[verdict]:8} {verdict}" for verdict in Verdict]
        passed = self.counts[Verdict.PASS]
        wanted = passed + self.counts[Verdict.KNOWN_FAIL] + sum(self.counts[verdict] for verdict in BAD)
        if wanted:
            lines.append(f"{100 * passed / wanted:7.2f}% of what silicon passes")
        lines += [f"  {verdict}: {name}" for name, verdict in self.bad]
        lines += [f"  stale: {name}" for name in self.stale]
        lines += [f"  ended at the second try only: {name}\n{stall}" for name, stall in self.stalls]
        for title, warnings in (("warning", self.warnings), ("excused warning", self.excused)):
            lines += [f"  {title}, {count} tests, such as {self.example[text]}: {text}"
                      for text, count in warnings.most_common()]
        return "\n".join(lines)
