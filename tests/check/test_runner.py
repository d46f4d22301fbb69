"""Runs of cases one after the other by the same child process."""

from __future__ import annotations

import os
import struct
import time
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from gen4emu.check.execute import Task
from gen4emu.check.manifest import Case
from gen4emu.check.results import Outcome
from gen4emu.check.runner import Limits, Runner
from gen4emu.sandbox import Sandbox

TRACE = Path(__file__).resolve().parents[2] / "traces" / "triangle-g4x.aub.xz"


def test_the_directory_of_results_is_allowed_once_for_all_cases(tmp_path: Path,
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []
    allow = Sandbox.write_directory
    monkeypatch.setattr(Sandbox, "write_directory", lambda self, path: (asked.append(path), allow(self, path))[1])
    case = Case("triangle", TRACE, tmp_path / "golden")
    with Runner(Task(results=tmp_path / "results")) as runner:
        for _ in range(3):
            ((_, result),) = runner.run([case])
            assert result.outcome is not Outcome.CRASH
    assert asked == [tmp_path / "results"]


def test_half_an_answer_does_not_outlast_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process of a case may be one that the trace has taken over."""
    def answers_half(handle: int) -> None:
        connection = Connection(handle)
        connection.recv()
        connection.send_bytes(b"null")
        connection.recv()
        os.write(handle, struct.pack("!i", 100) + b"{")
        time.sleep(20)

    monkeypatch.setattr("gen4emu.check.runner.serve", answers_half)
    begun = time.monotonic()
    with Runner(Task(), Limits(timeout=0.5), fork=True) as runner:
        ((_, result),) = runner.run([Case("triangle", TRACE, TRACE)])
    assert (result.outcome, result.messages) == (Outcome.TIMEOUT, ["no result after 0.5 s"])
    assert time.monotonic() - begun < 10
