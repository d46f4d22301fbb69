"""Runs one piglit test, and interprets its output."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace

from gen4emu.suite.piglit.profiles import Case
from gen4emu.suite.programs import execute

GOOD = ("pass", "skip", "warn")
_REPORT = re.compile(r"PIGLIT: *(\{.*\})")
_SKIPPED = 77
_KEPT = 2000  # characters of what a test printed
# Messages of drivers and of the shim that report a problem.
_WARNING = re.compile(r"crocus|i915|intel_do_flush|libdrm|drmIoctl|gen4emu|MESA-LOADER|execbuf|GPU hang|"
                      r"mesa: (warning|error|info)|INTEL-MESA|libEGL warning", re.IGNORECASE)


@dataclass(slots=True)
class Outcome:
    name: str
    result: str  # pass, skip, warn, fail, crash, timeout
    subtests: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    output: str = ""  # of tests that did not pass
    warnings: list[str] = field(default_factory=list)  # of drivers and the shim
    reports: list[str] = field(default_factory=list)  # of the device server
    stall: str = ""  # the threads of a test that took too long, even if a second run of it ended
    crashed: bool = False  # at the first of two tries

    def results(self) -> dict[str, str]:
        """By full name: of the subtests if there are any and the test got to its end."""
        if self.result in ("crash", "timeout") or not self.subtests:
            return {self.name: self.result}
        return {f"{self.name}@{name}".lower(): result for name, result in self.subtests.items()}

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Outcome:
        return cls(**json.loads(line))


def run(test: Case, environment: Mapping[str, str], seconds: float,
        reports: Callable[[int], list[str]] = lambda pid: [], memory: int = 0) -> Outcome:
    """Without a window system; a test that gives up without a window gets one of GBM's.

    A test that takes too long or crashes runs a second time, which distinguishes a loop or a bug from an event that
    does not repeat.
    """
    surfaceless = {**environment, "PIGLIT_PLATFORM": "surfaceless_egl"}

    def attempt(command: tuple[str, ...], around: Mapping[str, str]) -> tuple[Outcome, int]:
        return _run(test, command, around, seconds, reports, memory)

    outcome, status = attempt(test.command, surfaceless)
    if outcome.stall:
        again, status = attempt(test.command, surfaceless)
        outcome = replace(again, stall=outcome.stall)
    if status == -signal.SIGABRT and not _REPORT.search(outcome.output):
        command = tuple(argument for argument in test.command if argument != "-fbo")
        window = {**environment, "PIGLIT_PLATFORM": "gbm", "WAFFLE_GBM_DEVICE": "/dev/dri/renderD128"}
        outcome, _ = attempt(command, window)
        if outcome.result == "crash":
            outcome = replace(attempt(command, window)[0], crashed=True)
    elif outcome.result == "crash":
        outcome = replace(attempt(test.command, surfaceless)[0], crashed=True)
    return outcome


def _run(test: Case, command: tuple[str, ...], environment: Mapping[str, str], seconds: float,
         reports: Callable[[int], list[str]], memory: int) -> tuple[Outcome, int]:
    """Its output and its exit status."""
    try:
        done = execute(command, environment, seconds, memory)
    except FileNotFoundError:
        return Outcome(test.name, "skip"), 0  # not built
    result, subtests = parse(done.stdout, done.status)
    if done.stall:
        result = "timeout"
    output = done.stdout[-_KEPT:] + done.stderr[-_KEPT:]
    return Outcome(test.name, result, subtests, done.seconds,
                   "" if result in GOOD and set(subtests.values()) <= set(GOOD) else output,
                   warnings(done.stderr), reports(done.pid), done.stall + output if done.stall else ""), done.status


def warnings(stderr: str) -> list[str]:
    """The lines in which drivers and the shim report a problem."""
    return sorted({line.strip() for line in stderr.splitlines() if _WARNING.search(line)})


def parse(text: str, status: int) -> tuple[str, dict[str, str]]:
    """A test's result and its subtests', from what it printed and its exit status."""
    result, subtests = "", {}
    for line in text.split("\n"):
        report = _REPORT.search(line, 0, line.rfind("}") + 1)
        if report is None:
            continue
        with suppress(ValueError, RecursionError):
            said = json.loads(report[1])
            if isinstance(found := said.get("result"), str):
                result = found
            if isinstance(found := said.get("subtest"), dict):
                subtests.update({name: text for name, text in found.items() if isinstance(text, str)})
    if status < 0:
        result = "crash"
    return result or ("skip" if status == _SKIPPED else "pass" if status == 0 and subtests else "fail"), subtests
