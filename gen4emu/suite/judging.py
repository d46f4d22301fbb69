"""Outcomes of piglit and dEQP as lines of results, and back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from gen4emu.check.results import Outcome as Judged
from gen4emu.errors import DecodeError
from gen4emu.suite.lines import Line
from gen4emu.suite.piglit.expectations import Expectations, Verdict
from gen4emu.suite.piglit.outcome import Outcome

# The worst first.  A test that silicon fails and the model passes is fine: a model need not fail.
_JUDGED = {Verdict.CRASH: Judged.CRASH, Verdict.TIMEOUT: Judged.TIMEOUT, Verdict.UNEXPECTED_FAIL: Judged.FAIL,
           Verdict.FLAKE: Judged.FLAKE, Verdict.KNOWN_FAIL: Judged.EXPECTED_FAIL,
           Verdict.EXPECTED_FAIL: Judged.EXPECTED_FAIL, Verdict.UNEXPECTED_PASS: Judged.PASS,
           Verdict.PASS: Judged.PASS, Verdict.SKIP: Judged.SKIP}
_REASONS = {Verdict.FLAKE: "unstable", Verdict.KNOWN_FAIL: "in the list of known failures",
            Verdict.EXPECTED_FAIL: "silicon fails, too", Verdict.UNEXPECTED_PASS: "silicon fails"}


def line_of(suite: str, device: str, outcome: Outcome, known: Expectations) -> Line:
    """One line for a test; of its subtests the worst counts, and all that are bad are named."""
    verdicts = known.judge(outcome)
    worst = min(verdicts.values(), key=list(_JUDGED).index)
    reason = known.skip_reason(outcome.name) if worst is Verdict.SKIP else _REASONS.get(worst, "")
    if outcome.crashed and worst is Verdict.FLAKE:
        reason = "crashed at the first of two tries"
    messages = [f"{name}: {verdict}" for name, verdict in verdicts.items() if _JUDGED[verdict] is _JUDGED[worst]]
    messages = messages if _JUDGED[worst] in (Judged.CRASH, Judged.TIMEOUT, Judged.FAIL) else []
    messages += [outcome.output] if messages and outcome.output else []
    return Line(suite, outcome.name, device, _JUDGED[worst], outcome.seconds, "",
                [*messages, *outcome.warnings, *outcome.reports], reason, details=asdict(outcome))


def outcome_of(path: Path, line: Line) -> Outcome:
    """The outcome that `line_of` made a line of."""
    try:
        return Outcome(**line.details)
    except TypeError:
        raise DecodeError(f"{path}: {line.name}: details: are not those of a {line.suite} test") from None


def outcomes_of(path: Path, lines: Iterable[Line], suite: str, device: str) -> list[Outcome]:
    """The outcomes that a run on this device can take over; DecodeError if the file is of another suite or device."""
    found = []
    for line in lines:
        if (line.suite, line.device) != (suite, device):
            raise DecodeError(f"{path}: has results of {line.suite} on {line.device or 'any device'}, not of {suite} "
                              f"on {device}")
        found.append(outcome_of(path, line))
    return found
