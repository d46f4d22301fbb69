"""The piglit runner: what tests print, what is known of them, which are chosen."""

from __future__ import annotations

import gzip
import json
import re
import time
from pathlib import Path

import pytest

from gen4emu.errors import DecodeError
from gen4emu.hw.chips import DEVICES
from gen4emu.suite.piglit import outcome, profiles
from gen4emu.suite.piglit.expectations import RECORDS, Expectations, Summary, Verdict, names, sample
from gen4emu.suite.piglit.outcome import Outcome
from gen4emu.suite.piglit.profiles import Case, matching, spread

KNOWN = Expectations(silicon={"spec@a@one", "spec@a@two@left"}, flakes={"spec@a@shaky"}, ours={"spec@b@ours"})


@pytest.mark.parametrize(("text", "status", "result", "subtests"), [
    ('PIGLIT: {"result": "pass" }', 0, "pass", {}),
    ('noise\nPIGLIT: {"result": "fail" }\n', 1, "fail", {}),
    ('PIGLIT: {"subtest": {"x, y" : "skip"}}\nPIGLIT: {"result": "warn" }', 0, "warn", {"x, y": "skip"}),
    ('PIGLIT: {"result": "pass" }', -11, "crash", {}),
    ('PIGLIT: {"result": "pa', 0, "fail", {}),
    ('PIGLIT: {"result": [], "subtest": 5}\nPIGLIT: {"subtest": {"a": 1, "b": "pass"}}', 0, "pass", {"b": "pass"}),
    ('PIGLIT: {"a": ' + "[" * 100000 + "}", 0, "fail", {}),
    ("", 77, "skip", {}),
    ("", 0, "fail", {}),
])
def test_a_report_gives_the_result(text: str, status: int, result: str, subtests: dict[str, str]) -> None:
    assert outcome.parse(text, status) == (result, subtests)


def test_reports_without_an_end_take_no_time() -> None:
    start = time.monotonic()
    assert outcome.parse("PIGLIT: {" * 100000, 0) == ("fail", {})
    assert time.monotonic() - start < 10  # and not minutes


def script(tmp_path: Path, text: str) -> Case:
    path = tmp_path / "program"
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return Case("spec@x@y", (str(path), "-auto", "-fbo"))


def test_a_test_that_aborts_is_run_again_with_a_window_system(tmp_path: Path) -> None:
    test = script(tmp_path, 'test $PIGLIT_PLATFORM = gbm -a "$*" = -auto || kill -ABRT $$\n'
                            """echo 'PIGLIT: {"result": "pass" }'\n""")
    assert outcome.run(test, {"PATH": "/bin:/usr/bin"}, 20).result == "pass"


@pytest.mark.parametrize("end", ["kill -SEGV $$", """echo 'PIGLIT: {"result": "pass" }'; kill -ABRT $$"""])
def test_a_test_that_crashes_is_tried_twice(tmp_path: Path, end: str) -> None:
    test = script(tmp_path, f"echo . >> {tmp_path}/runs; {end}")
    assert outcome.run(test, {"PATH": "/bin:/usr/bin"}, 20).result == "crash"
    assert (tmp_path / "runs").read_text() == ".\n.\n"


def test_a_crash_that_does_not_repeat_is_a_flake(tmp_path: Path) -> None:
    once = script(tmp_path, f"[ -e {tmp_path}/ran ] || {{ touch {tmp_path}/ran; kill -SEGV $$; }}\n"
                            """echo 'PIGLIT: {"result": "pass" }'\n""")
    result = outcome.run(once, {"PATH": "/bin:/usr/bin"}, 20)
    assert (result.result, result.crashed) == ("pass", True)
    assert KNOWN.judge(result) == {result.name: Verdict.FLAKE}
    failing = script(tmp_path, f"""echo . >> {tmp_path}/tries; echo 'PIGLIT: {{"result": "fail" }}'; exit 1""")
    assert outcome.run(failing, {"PATH": "/bin:/usr/bin"}, 20).result == "fail"
    assert (tmp_path / "tries").read_text() == ".\n", "only crashes are tried again"


def test_memory_is_limited(tmp_path: Path) -> None:
    # Waits, because the limit is set when the program has started.
    test = script(tmp_path, "sleep 0.5; ulimit -v; exit 1")
    assert outcome.run(test, {"PATH": "/bin:/usr/bin"}, 20, memory=512 << 20).output == f"{512 << 10}\n"


def test_a_crash_stays_a_crash_and_a_missing_program_is_skipped(tmp_path: Path) -> None:
    assert outcome.run(script(tmp_path, "kill -SEGV $$"), {"PATH": "/bin:/usr/bin"}, 20).result == "crash"
    assert outcome.run(Case("spec@x@y", (str(tmp_path / "none"),)), {}, 20).result == "skip"


def test_a_test_that_takes_too_long_is_killed_with_its_children(tmp_path: Path) -> None:
    test = script(tmp_path, "echo early; sleep 60 & sleep 60")
    result = outcome.run(test, {"PATH": "/bin:/usr/bin"}, 0.5)
    assert (result.result, result.output, result.seconds < 20) == ("timeout", "early\n", True)
    assert re.fullmatch(r"program S \S+ \d+ .*\nearly\n", result.stall), result.stall


def test_a_stall_that_does_not_repeat_is_told_apart_from_a_timeout(tmp_path: Path) -> None:
    once = f"""[ -e {tmp_path}/ran ] || {{ touch {tmp_path}/ran; sleep 60; }}; echo 'PIGLIT: {{"result": "pass" }}'"""
    result = outcome.run(script(tmp_path, once), {"PATH": "/bin:/usr/bin"}, 1)
    assert (result.result, bool(result.stall)) == ("pass", True)
    summary = Summary.of([result], KNOWN)
    assert ([name for name, _ in summary.stalls], summary.bad) == ([result.name], [])
    assert "ended at the second try only: " + result.name in summary.text()


def test_drivers_warnings_are_kept(tmp_path: Path) -> None:
    test = script(tmp_path, """echo 'crocus: bad' >&2; echo fine >&2; echo 'PIGLIT: {"result": "pass" }'""")
    assert outcome.run(test, {"PATH": "/bin:/usr/bin"}, 20).warnings == ["crocus: bad"]


@pytest.mark.parametrize(("test", "result", "verdict"), [
    ("spec@a@zero", "pass", Verdict.PASS),
    ("spec@a@zero", "warn", Verdict.PASS),
    ("spec@a@zero", "skip", Verdict.SKIP),
    ("spec@a@zero", "fail", Verdict.UNEXPECTED_FAIL),
    ("spec@a@zero", "crash", Verdict.CRASH),
    ("spec@a@zero", "timeout", Verdict.TIMEOUT),
    ("spec@a@one", "fail", Verdict.EXPECTED_FAIL),
    ("spec@a@one", "pass", Verdict.UNEXPECTED_PASS),
    ("spec@a@shaky", "crash", Verdict.FLAKE),
    ("spec@b@ours", "fail", Verdict.KNOWN_FAIL),
])
def test_each_result_has_a_verdict(test: str, result: str, verdict: Verdict) -> None:
    assert KNOWN.judge(Outcome(test, result)) == {test: verdict}


def test_subtests_count_one_by_one_unless_the_test_crashed() -> None:
    subtests = {"Left": "fail", "right": "fail"}
    assert KNOWN.judge(Outcome("spec@a@two", "fail", subtests)) == {
        "spec@a@two@left": Verdict.EXPECTED_FAIL, "spec@a@two@right": Verdict.UNEXPECTED_FAIL}
    assert KNOWN.judge(Outcome("spec@a@two", "crash", subtests)) == {"spec@a@two": Verdict.CRASH}
    assert set(KNOWN.judge(Outcome("spec@a@one", "fail", subtests)).values()) == {Verdict.EXPECTED_FAIL}


def test_a_line_of_our_list_that_passes_is_stale() -> None:
    summary = Summary.of([Outcome("spec@b@ours", "pass"), Outcome("spec@a@zero", "timeout")], KNOWN)
    assert summary.stale == ["spec@b@ours"]
    assert summary.bad == [("spec@a@zero", Verdict.TIMEOUT)]
    assert " 50.00% of what silicon passes" in summary.text()
    assert Summary.of([Outcome("spec@b@ours", "fail")], KNOWN).stale == []


def test_outcomes_survive_the_result_file() -> None:
    one = Outcome("spec@a@zero", "fail", {"x": "fail"}, 1.5, "text", ["warning"])
    assert Outcome.from_json(one.to_json()) == one
    assert json.loads(one.to_json())["result"] == "fail"


def test_names_may_hold_commas_and_lines_may_end_in_results(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text("# a comment\nspec@X@y,Fail\nspec@x@a, b\nspec@x@c, d,Crash\n\n")
    assert names(path) == {"spec@x@y", "spec@x@a- b", "spec@x@c- d"}


def test_commas_of_names_are_dashes_in_records() -> None:
    known = Expectations(silicon={"spec@a@formats (fs- arb)"})
    assert known.judge(Outcome("spec@a@formats (fs, arb)", "crash")) == {
        "spec@a@formats (fs, arb)": Verdict.EXPECTED_FAIL}


def test_a_sample_takes_from_every_group_in_turn() -> None:
    tests = [Case(f"spec@{group}@{i}", ()) for group, count in (("a", 50), ("b", 2), ("c", 10)) for i in range(count)]
    chosen = spread(tests, 12, seed=3)
    groups = [test.group for test in chosen]
    assert [groups.count(f"spec@{g}") for g in "abc"] == [5, 2, 5]
    assert chosen == spread(tests[::-1], 12, seed=3)
    assert len(set(spread(tests, 100, seed=3))) == 62


def test_selections_find_names_in_any_case() -> None:
    tests = [Case("spec@a@one", ()), Case("spec@b@two", ())]
    assert [test.name for test in matching(tests, "@B@")] == ["spec@b@two"]


@pytest.mark.parametrize(("device", "least"), [("g41", 100), ("ivb", 100), ("hsw", 100), ("kbl", 50)])
def test_the_lists_do_not_overlap(device: str, least: int) -> None:
    known = Expectations.of(device)
    assert len(known.silicon) > least
    assert not known.ours & (known.silicon | known.flakes)


def test_devices_of_a_generation_share_the_record_of_their_silicon() -> None:
    assert Expectations.of("gm45").silicon == Expectations.of("g41").silicon
    assert Expectations.of("ivb").silicon > Expectations.of("hsw").silicon
    assert Expectations.of("skl").silicon == Expectations.of("kbl").silicon


def test_every_device_that_executes_has_known_results_and_no_other_has_those_of_g41() -> None:
    assert {chip.name for chip in DEVICES if chip.executes} == set(RECORDS)
    for known in (Expectations.of, sample):
        with pytest.raises(DecodeError, match="no known results of piglit for snb "):
            known("snb")


def test_profiles_have_tests_of_opengl_and_of_opencl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    option = '<option name="{}" value="{}"/>'
    tests = [("gl", "spec@a", option.format("command", "['a-test', '-x']") + option.format("run_concurrent", "True")),
             ("shader", "shaders@b", option.format("command", "['shader_runner', 'tests/b.shader_test']")),
             ("cl", "api@C", option.format("command", "['cl-api-c']")),
             ("cl_prog", "program@d", option.format("filename", "'tests/cl/d.cl'"))]
    text = "".join(f'<Test type="{kind}" name="{name}">{options}</Test>' for kind, name, options in tests)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "all.xml.gz").write_bytes(gzip.compress(f"<PiglitTestList>{text}</PiglitTestList>".encode()))
    monkeypatch.setattr(profiles, "root", lambda: tmp_path)
    assert [(case.name, case.command) for case in profiles.load("all")] == [
        ("spec@a", (f"{tmp_path}/bin/a-test", "-x", "-auto", "-fbo")),
        ("shaders@b", (f"{tmp_path}/bin/shader_runner", f"{tmp_path}/tests/b.shader_test", "-auto")),
        ("api@c", (f"{tmp_path}/bin/cl-api-c",)),
        ("program@d", (f"{tmp_path}/bin/cl-program-tester", f"{tmp_path}/tests/cl/d.cl"))]
