"""dEQP: many tests in a process, and each result is that of the test alone."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from gen4emu.errors import DecodeError
from gen4emu.suite.deqp import Program, parse, read_cases, run_batch
from tests.suite.fake_deqp import FAKE

ENVIRONMENT = {"PATH": "/bin:/usr/bin"}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    path = tmp_path / "deqp-fake"
    path.write_text(FAKE)
    path.chmod(0o755)
    return Program(path)


def results(program: Program, *names: str, seconds: float = 20) -> dict[str, str]:
    done = run_batch(program, [f"a.{i}.{name}" for i, name in enumerate(names)], ENVIRONMENT, seconds)
    assert len(done) == len(names)
    return {one.name.rpartition(".")[2]: one.result for one in done}


def test_good_tests_share_a_process(program: Program) -> None:
    assert results(program, "one", "skip", "two") == {"one": "pass", "skip": "skip", "two": "pass"}
    assert Path(f"{program.path}.runs").read_text() == "3\n"


@pytest.mark.parametrize(("name", "result"), [("crash", "crash"), ("fail", "fail"), ("odd", "fail"), ("once", "pass")])
@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_test_that_is_not_good_costs_no_other_its_result(program: Program, name: str, result: str,
                                                           place: int) -> None:
    names = ["one", "two", "three"]
    names.insert(place, name)
    assert results(program, *names) == {"one": "pass", "two": "pass", "three": "pass", name: result}


def test_a_test_that_takes_too_long_is_a_timeout(program: Program) -> None:
    assert results(program, "sleep", "one", seconds=0.5) == {"sleep": "timeout", "one": "pass"}


def test_a_test_that_prints_forever_is_a_timeout(program: Program) -> None:
    assert results(program, "one", "chatty", "two", seconds=1) == {"one": "pass", "chatty": "timeout", "two": "pass"}


def test_time_is_for_a_test_and_not_for_its_batch(program: Program) -> None:
    assert results(program, "slow", "slow", "slow", seconds=1) == {"slow": "pass"}
    assert Path(f"{program.path}.runs").read_text() == "3\n"


def test_a_batch_waits_no_longer_than_a_test(program: Program) -> None:
    start = time.monotonic()
    assert results(program, *["one"] * 30, "sleep", seconds=1) == {"one": "pass", "sleep": "timeout"}
    assert time.monotonic() - start < 15  # twice a second, and not 31


def test_a_program_that_starts_no_test_has_failed_all(program: Program) -> None:
    done = run_batch(program, ["a.fatal", "a.fatal.too"], ENVIRONMENT, 20)
    assert [(one.result, "FATAL ERROR: no display" in one.output) for one in done] == [("fail", True)] * 2


def test_data_is_beside_the_program(program: Program, tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    assert results(program, "data", "one") == {"data": "pass", "one": "pass"}


def test_a_reason_may_have_lines(program: Program) -> None:
    [done] = run_batch(program, ["a.lines"], ENVIRONMENT, 20)
    assert (done.result, done.output) == ("fail", "Fail: two\nlines")


def test_only_crashes_are_tried_again(program: Program) -> None:
    results(program, "fail")
    assert Path(f"{program.path}.tests").read_text() == "a.0.fail\n"
    results(program, "crash")
    assert Path(f"{program.path}.tests").read_text().count("crash") == 2


def test_a_complaint_belongs_to_the_test_that_caused_it(program: Program) -> None:
    done = run_batch(program, ["a.one", "a.warns"], ENVIRONMENT, 20)
    assert [(one.name, one.warnings) for one in done] == [("a.one", []), ("a.warns", ["crocus: bad"])]


def test_what_the_server_says_is_traced_to_its_test_in_few_runs(program: Program) -> None:
    tests = Path(f"{program.path}.tests")
    seen = 0

    def reports(pid: int) -> list[str]:
        nonlocal seen
        ran = tests.read_text().splitlines()[seen:]
        seen += len(ran)
        return ["bad read"] if "a.30.bad" in ran else []

    names = [f"a.{i}.{'bad' if i == 30 else 'one'}" for i in range(32)]
    done = run_batch(program, names, ENVIRONMENT, 20, reports)
    assert [one.name for one in done if one.reports] == ["a.30.bad"]
    assert sorted(one.name for one in done if one.result == "pass") == sorted(names)
    assert seen == 32 + 2 * (16 + 8 + 4 + 2 + 1)  # the batch, and both halves of each batch that holds the test


def test_the_output_gives_results() -> None:
    text = "x\nTest case 'a.b'..\n  Pass (Supported)\n\nTest case 'a.c'..\nTest case 'a.d'..\n  Waiver (ok)\n"
    assert parse(text) == [("a.b", "pass", "Pass: Supported"), ("a.c", "crash", ""), ("a.d", "warn", "Waiver: ok")]
    assert parse("FATAL ERROR: no display\n") == []


def test_results_without_an_end_take_no_time() -> None:
    start = time.monotonic()
    assert parse("Test case 'a.b'..\n" + "  Fail (\n" * 200000) == [("a.b", "crash", "")]
    assert time.monotonic() - start < 10  # and not minutes


def test_a_list_holds_names_only(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text("# tests\na.b-c_d.1\n\na.b-c_d.1\nx.y # why\n")
    assert read_cases(path) == ["a.b-c_d.1", "x.y"]
    path.write_text("a.b\n--help\tx\n")
    with pytest.raises(DecodeError, match=r"line 2: '--help.*is not the name of a test"):
        read_cases(path)
