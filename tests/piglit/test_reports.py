"""Reports of the device server count for the test that they are about."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from gen4emu.suite.piglit.expectations import Expectations, Summary, pairs
from gen4emu.suite.piglit.outcome import Outcome
from gen4emu.suite.piglit.reports import Reports, kind

EVENT = "illegal opcode: 3 times, first at 0x00356740 (value 0x00300000)"


def reports(text: str) -> Reports:
    read, write = os.pipe()
    with os.fdopen(write, "w") as stream:
        stream.write(text)
    said = Reports(os.fdopen(read))
    said.join()
    return said


def test_what_is_said_of_a_program_belongs_to_it() -> None:
    said = reports("gen4emu: a[b]: c[7]: opened the device\n"
                   f"gen4emu: a[b]: c[7]: {EVENT}\n"
                   "gen4emu: a[b]: c[7]: closed the device after 3 batches\n"
                   "gen4emu: x[8]: unknown ioctl 0x9e\n"
                   "gen4emu: x[8]: ended before it read an answer ([Errno 32] Broken pipe)\n")
    assert said.take(7) == [EVENT]
    assert said.take(7) == []
    assert said.take_rest() == ["unknown ioctl 0x9e"]


def test_other_lines_are_passed_on(capsys: pytest.CaptureFixture[str]) -> None:
    reports("3 open devices, 5 batches\ngen4emu: x[8]: unknown ioctl 0x9e\n")
    assert capsys.readouterr().err == "3 open devices, 5 batches\n"


def test_a_program_that_has_ended_is_waited_for_until_the_server_knows() -> None:
    read, write = os.pipe()
    with os.fdopen(write, "w", buffering=1) as stream:
        said = Reports(os.fdopen(read))
        stream.write("gen4emu: x[8]: opened the device\n")
        stream.write(f"gen4emu: x[8]: {EVENT}\n")
        while not said._said:  # the thread has read so far
            pass
        late = threading.Timer(0.05, stream.write, ["gen4emu: x[8]: hang in X; error state in /tmp/y.txt\n"
                                                    "gen4emu: x[8]: closed the device after 3 batches\n"])
        late.start()
        assert said.take(8) == [EVENT, "hang in X; error state in /tmp/y.txt"]
        late.join()
    said.join()


@pytest.mark.parametrize(("report", "what"), [
    (EVENT, "illegal opcode"),
    ("hang at 0x00100ad0 in 3DPRIMITIVE: too long; error state in /tmp/x.txt",
     "hang at 0x... in 3DPRIMITIVE: too long"),
    ("unknown ioctl 0x9e", "unknown ioctl 0x9e"),
    ("read of an address that nothing maps: 12 times", "read of an address that nothing maps"),
])
def test_reports_of_one_kind_differ_in_numbers_only(report: str, what: str) -> None:
    assert kind(report) == what


def test_warnings_of_tests_that_fail_on_silicon_are_shown_and_excused() -> None:
    known = Expectations(silicon={"a"}, flakes={"b"})
    summary = Summary.of([Outcome("a", "fail", warnings=["x"]), Outcome("b", "fail", reports=["x"])], known)
    assert (summary.warnings, summary.excused, summary.good) == ({}, {"x": 2}, True)
    assert "excused warning, 2 tests, such as a: x" in summary.text()


def test_a_warning_is_known_for_a_test_not_for_all(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text("# why\nSpec@A | illegal opcode\n\n")
    known = Expectations(warnings=pairs(path))
    summary = Summary.of([Outcome("spec@a", "pass", reports=[EVENT]), Outcome("b", "pass", reports=[EVENT])], known)
    assert (summary.warnings, summary.excused) == ({"illegal opcode": 1}, {"illegal opcode": 1})
    assert summary.example["illegal opcode"] == "b"


def test_a_run_with_a_warning_is_not_good() -> None:
    tests = [Outcome("a", "pass"), Outcome("b", "pass", reports=[EVENT, EVENT]), Outcome("c", "pass", reports=[EVENT])]
    summary = Summary.of(tests, Expectations(), ["unknown ioctl 0x9e"])
    assert summary.warnings == {"illegal opcode": 2, "unknown ioctl 0x9e": 1}
    assert summary.example["illegal opcode"] == "c"
    assert not summary.good and not summary.bad
    assert Summary.of(tests[:1], Expectations()).good
