"""`gen4emu suite`: results, shards, resuming, expectations, with programs that stand for piglit and dEQP."""

from __future__ import annotations

from pathlib import Path

import pytest

from gen4emu.check.results import Outcome
from gen4emu.cli.main import run
from gen4emu.suite.judging import line_of, outcome_of
from gen4emu.suite.lines import read
from gen4emu.suite.piglit.expectations import Expectations
from gen4emu.suite.piglit.outcome import Outcome as Ran
from tests.suite.fake_deqp import FAKE

Capture = pytest.CaptureFixture[str]
KNOWN = Expectations(silicon={"a@old"}, flakes={"a@shaky"}, ours={"a@ours"})


@pytest.fixture
def place(tmp_path: Path) -> Path:
    program = tmp_path / "deqp-fake"
    program.write_text(FAKE)
    program.chmod(0o755)
    (tmp_path / "list").write_text("t.one\nt.two\nt.fail\nt.skip\nt.three\n")
    return tmp_path


def suite(place: Path, *options: str) -> int:
    return run(["suite", "deqp", str(place / "deqp-fake"), str(place / "list"), "-j", "1",
                "--jsonl", str(place / "r.jsonl"), *options])


def outcomes(path: Path) -> dict[str, str]:
    return {line.name: line.outcome for line in read(path)}


def test_results_follow_the_lists(place: Path, capsys: Capture) -> None:
    assert suite(place) == 1
    assert outcomes(place / "r.jsonl") == {"t.one": "pass", "t.two": "pass", "t.fail": "fail", "t.skip": "skip",
                                           "t.three": "pass"}
    assert "unexpected fail: t.fail" in capsys.readouterr().out
    (place / "ours").write_text("t.fail,Fail\n")
    assert suite(place, "--ours", str(place / "ours")) == 0
    assert outcomes(place / "r.jsonl")["t.fail"] == "expected-fail"


def test_a_skipped_test_is_not_run_and_has_a_reason(place: Path, capsys: Capture) -> None:
    (place / "skips").write_text("t.fail | hangs the host\n")
    assert suite(place, "--skips", str(place / "skips")) == 0
    line = next(line for line in read(place / "r.jsonl") if line.name == "t.fail")
    assert (line.outcome, line.reason) == (Outcome.SKIP, "hangs the host")
    assert "t.fail" not in (place / "deqp-fake.tests").read_text()
    (place / "skips").write_text("t.fail\n")
    assert suite(place, "--skips", str(place / "skips")) == 2
    assert "line 1: t.fail: needs a reason" in capsys.readouterr().err


def test_a_run_continues_where_it_ended(place: Path, capsys: Capture) -> None:
    assert suite(place) == 1
    path = place / "r.jsonl"
    kept = path.read_text().splitlines()[:2]
    path.write_text("\n".join(kept) + '\n{"schema":')
    (place / "deqp-fake.tests").unlink()
    assert suite(place, "--resume") == 1
    assert len(read(path)) == 5
    again = set((place / "deqp-fake.tests").read_text().split())
    assert again == {"t.one", "t.two", "t.fail", "t.skip", "t.three"} - {line.name for line in read(path)[:2]}
    capsys.readouterr()
    assert suite(place, "--resume", "-d", "g45") == 2
    assert "has results of deqp on g41, not of deqp on g45" in capsys.readouterr().err


def test_shards_join_to_the_whole(place: Path) -> None:
    assert suite(place) == 1
    whole = outcomes(place / "r.jsonl")
    (place / "before").write_bytes((place / "r.jsonl").read_bytes())
    joined: dict[str, str] = {}
    for part in ("1/2", "2/2"):
        suite(place, "--shard", part, "--durations", str(place / "before"))
        found = outcomes(place / "r.jsonl")
        assert found and not joined.keys() & found.keys()
        joined |= found
    assert joined == whole


@pytest.mark.parametrize(("options", "text"), [
    (("--durations", "{list}"), "--durations is for --shard"),
    (("--match", "nothing"), "no test is selected"),
    (("--match", "("), "is not a regular expression"),
    (("--shard", "3/2"), "shard 3/2 does not exist"),
])
def test_bad_options_are_refused(place: Path, capsys: Capture, options: tuple[str, ...], text: str) -> None:
    assert suite(place, *(option.format(list=place / "list") for option in options)) == 2
    assert text in capsys.readouterr().err
    assert not (place / "r.jsonl").exists()


def test_resume_needs_a_file(place: Path) -> None:
    assert run(["suite", "deqp", str(place / "deqp-fake"), str(place / "list"), "--resume"]) == 2


@pytest.mark.parametrize(("name", "result", "outcome"), [
    ("a@new", "fail", Outcome.FAIL), ("a@old", "fail", Outcome.EXPECTED_FAIL), ("a@old", "pass", Outcome.PASS),
    ("a@ours", "crash", Outcome.EXPECTED_FAIL), ("a@shaky", "timeout", Outcome.FLAKE), ("a@new", "skip", Outcome.SKIP),
    ("a@new", "crash", Outcome.CRASH), ("a@new", "warn", Outcome.PASS),
])
def test_a_line_has_the_verdict_and_the_outcome(name: str, result: str, outcome: Outcome) -> None:
    ran = Ran(name, result, {}, 1.0, "text", ["warning"], ["report"])
    line = line_of("piglit", "g41", ran, KNOWN)
    assert line.outcome is outcome
    assert outcome_of(Path("x"), line) == ran


def test_the_worst_subtest_counts() -> None:
    ran = Ran("a", "fail", {"good": "pass", "bad": "fail", "old": "fail"})
    line = line_of("piglit", "g41", ran, KNOWN)
    assert (line.outcome, line.messages) == (Outcome.FAIL, ["a@bad: unexpected fail"])
