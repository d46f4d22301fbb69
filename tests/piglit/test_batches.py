"""Batches of shader tests: each result is that of the test alone, whatever the others do."""

from __future__ import annotations

from pathlib import Path

import pytest

from gen4emu.suite.piglit import batches
from gen4emu.suite.piglit.profiles import Case

RUNNER = """#!/bin/sh
# Reports as shader_runner does: a file holds the result of its test, or a signal to die by.
[ "$NO_BATCHES" ] && [ $# -gt 3 ] && exit 77
count=0
for file; do
    case $file in
        *.shader_test) ;;
        *) continue ;;
    esac
    echo "$#" >> "$file.runs"
    name=$(basename "$file" .shader_test)
    count=$((count + 1))
    what=$(cat "$file")
    case $* in
        *-report-subtests*)
            echo "PIGLIT TEST: $count - $name"
            echo "PIGLIT TEST: $count - $name" >&2 ;;
    esac
    case $what in
        SEGV) kill -SEGV $$ ;;
        sleep) sleep 60 ;;
        warning) echo "crocus: bad" >&2; what=pass ;;
        contagious) what=pass; others=fail ;;
        *) what=${others:-$what} ;;
    esac
    case $* in
        *-report-subtests*) echo "PIGLIT: {\\"subtest\\": {\\"$name\\" : \\"$what\\"}}" ;;
        *) echo "PIGLIT: {\\"result\\": \\"$what\\" }" ;;
    esac
done
"""
ENVIRONMENT = {"PATH": "/bin:/usr/bin"}


def cases(tmp_path: Path, *contents: str) -> list[Case]:
    runner = tmp_path / "shader_runner"
    runner.write_text(RUNNER)
    runner.chmod(0o755)
    tests = []
    for i, content in enumerate(contents):
        file = tmp_path / f"test{i}.shader_test"
        file.write_text(content)
        tests.append(Case(f"spec@x@test{i}", (str(runner), str(file), "-auto", "-fbo")))
    return tests


def runs(test: Case) -> int:
    return len(Path(test.command[1] + ".runs").read_text().splitlines())


def test_good_tests_share_a_process(tmp_path: Path) -> None:
    tests = cases(tmp_path, "pass", "skip", "pass")
    done = batches.run(tests, ENVIRONMENT, 20)
    assert [(one.name, one.result, one.subtests) for one in done] == [
        ("spec@x@test0", "pass", {}), ("spec@x@test1", "skip", {}), ("spec@x@test2", "pass", {})]
    assert [runs(test) for test in tests] == [1, 1, 1]


@pytest.mark.parametrize(("content", "result", "limit"), [
    ("fail", "fail", 20), ("SEGV", "crash", 20), ("warning", "pass", 20), ("sleep", "timeout", 0.5)])
def test_a_test_that_is_not_good_runs_alone_and_costs_no_other_its_result(
        tmp_path: Path, content: str, result: str, limit: float) -> None:
    tests = cases(tmp_path, "pass", content, "pass", "pass")
    done = {one.name: one for one in batches.run(tests, ENVIRONMENT, limit)}
    assert [done[test.name].result for test in tests] == ["pass", result, "pass", "pass"]
    assert done["spec@x@test1"].warnings == (["crocus: bad"] if content == "warning" else [])
    assert runs(tests[0]) == 1
    assert runs(tests[1]) >= 2


def test_a_test_that_fails_only_after_another_passes(tmp_path: Path) -> None:
    assert [one.result for one in batches.run(cases(tmp_path, "contagious", "pass"), ENVIRONMENT, 20)] == ["pass"] * 2


def test_a_batch_that_ends_before_a_test_begins_is_split(tmp_path: Path) -> None:
    tests = cases(tmp_path, "pass", "pass", "pass")
    environment = {**ENVIRONMENT, "NO_BATCHES": "1"}
    assert [one.result for one in batches.run(tests, environment, 20)] == ["pass"] * 3


def test_all_tests_of_a_batch_run_alone_if_the_server_complains(tmp_path: Path) -> None:
    tests = cases(tmp_path, "pass", "pass")
    complaints = iter([["GPU hang"], [], ["GPU hang"]])
    done = batches.run(tests, ENVIRONMENT, 20, lambda pid: next(complaints))
    assert [one.reports for one in done] == [[], ["GPU hang"]]
    assert [runs(test) for test in tests] == [2, 2]


def test_only_shader_tests_of_one_runner_share_a_batch() -> None:
    shaders = [Case(f"s{i}", ("/bin/shader_runner", f"{i}.shader_test", "-auto", "-fbo")) for i in range(5)]
    others = [Case("o", ("/bin/other", "-auto", "-fbo")),
              Case("gles", ("/bin/shader_runner_gles2", "a.shader_test", "-auto", "-fbo")),
              Case("flags", ("/bin/shader_runner", "a.shader_test", "-auto"))]
    found = [[test.name for test in batch] for batch in batches.group([*shaders, *others], 2)]
    assert sorted(found) == [["flags"], ["gles"], ["o"], ["s0", "s1"], ["s2", "s3"], ["s4"]]
