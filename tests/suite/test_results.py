"""Files of results: whole lines, hostile ones, merge, diff, history."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gen4emu.check.results import Outcome
from gen4emu.cli.main import run
from gen4emu.errors import DecodeError
from gen4emu.suite.lines import Line, Writer, read

Capture = pytest.CaptureFixture[str]


def line(name: str, outcome: Outcome = Outcome.PASS, digest: str = "", **more: object) -> Line:
    made = Line("traces", name, "", outcome, 1.5, digest, host="a", version="1")
    for key, value in more.items():
        setattr(made, key, value)
    return made


def write(path: Path, *lines: Line) -> str:
    path.write_text("".join(one.to_json() + "\n" for one in lines))
    return str(path)


def test_lines_survive_the_file(tmp_path: Path) -> None:
    one = line("x\ud800", Outcome.FAIL, "12", messages=["a\nb"], details={"x": [1]})
    write(tmp_path / "r", one)
    assert read(tmp_path / "r") == [one]


@pytest.mark.parametrize(("change", "text"), [
    ({"outcome": "good"}, "line 2: outcome: 'good' is not one of pass"),
    ({"seconds": True}, "line 2: seconds: true is invalid"),
    ({"seconds": float("inf")}, "line 2: seconds: inf is invalid"),
    ({"seconds": float("nan")}, "line 2: seconds: nan is invalid"),
    ({"seconds": 10 ** 400}, "line 2: seconds: 1000"),
    ({"seconds": 1e308}, "line 2: seconds: 1e+308 is invalid"),
    ({"name": 3}, "line 2: name: 3 is invalid"),
    ({"messages": [1]}, "line 2: messages"),
    ({"schema": "gen4emu.check/1"}, "line 2: is not a result"),
    (None, "line 2: is not JSON"),
])
def test_an_invalid_line_is_named(tmp_path: Path, capsys: Capture, change: dict[str, object] | None,
                                  text: str) -> None:
    good = line("a").to_json()
    bad = "{" if change is None else json.dumps(json.loads(good) | change)
    path = tmp_path / "r"
    path.write_text(f"{good}\n{bad}\n")
    assert run(["results", "merge", str(path), "-o", str(tmp_path / "out")]) == 2
    assert f"{path}: {text}" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_line_that_was_cut_short_is_replaced_when_a_run_continues(tmp_path: Path) -> None:
    path = tmp_path / "r"
    write(path, line("a"))
    with path.open("a") as file:
        file.write(line("b").to_json()[:40])
    with pytest.raises(DecodeError, match="line 2 is cut short"):
        read(path)
    writer = Writer(path, resume=True)
    writer.add(line("c"))
    writer.close()
    assert [one.name for one in writer.done] == ["a"]
    assert [one.name for one in read(path)] == ["a", "c"]


def test_merge_takes_the_last_result_and_writes_reports(tmp_path: Path, capsys: Capture) -> None:
    first = write(tmp_path / "1", line("a@b", Outcome.CRASH, messages=["SIGSEGV <&>\x01"]), line("c"))
    second = write(tmp_path / "2", line("a@b", Outcome.FAIL, messages=["differs"]), line("d", Outcome.SKIP))
    out, junit, html = (tmp_path / name for name in ("all", "junit.xml", "page.html"))
    assert run(["results", "merge", first, second, "-o", str(out), "--junit", str(junit), "--html", str(html)]) == 1
    assert capsys.readouterr().out == "traces: a@b: fail\n1 pass, 1 fail, 1 skip\n"
    assert [(one.name, one.outcome) for one in read(out)] == [("a@b", "fail"), ("c", "pass"), ("d", "skip")]
    root = ElementTree.parse(junit).getroot()
    assert (root.get("tests"), root.get("failures"), root.get("errors"), root.get("skipped")) == ("3", "1", "0", "1")
    case = root.find(".//testcase[@name='b']")
    assert case is not None and case.get("classname") == "a"
    assert '"outcome":"fail"' in html.read_text().replace(" ", "")


def test_merge_reports_different_pictures_of_one_version(tmp_path: Path, capsys: Capture) -> None:
    first = write(tmp_path / "1", line("a", digest="11"))
    second = write(tmp_path / "2", line("a", digest="22", host="b"))
    assert run(["results", "merge", first, second]) == 1
    assert "different pictures: traces: a: a drew 11, b 22" in capsys.readouterr().err
    write(tmp_path / "2", line("a", digest="22", version="2"))
    assert run(["results", "merge", first, second]) == 0, "another version may draw otherwise"


def test_diff_tells_what_became_of_each_case(tmp_path: Path, capsys: Capture) -> None:
    old = write(tmp_path / "old", line("same"), line("worse"), line("better", Outcome.CRASH), line("gone"),
                line("drawn", digest="11"), line("listed", Outcome.SKIP))
    new = write(tmp_path / "new", line("same"), line("worse", Outcome.FAIL), line("better"), line("more"),
                line("drawn", digest="22"), line("listed"))
    assert run(["results", "diff", old, new]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "broken: traces: worse: pass -> fail", "changed: traces: drawn: 11 -> 22", "removed: traces: gone: pass",
        "new: traces: more: pass", "outcome: traces: listed: skip -> pass", "fixed: traces: better: crash -> pass",
        "1 broken, 1 changed, 1 removed, 1 new, 1 outcome, 1 fixed"]
    assert run(["results", "diff", old, old]) == 0
    assert capsys.readouterr().out == "no changes\n"
    assert run(["results", "diff", "--json", old, new]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "gen4emu.results.diff/1" and found["changes"][0]["new"]["outcome"] == "fail"


def test_history_shows_the_most_unstable_first(tmp_path: Path, capsys: Capture) -> None:
    runs = [write(tmp_path / str(i), line("flaky", outcome), line("good"), line("drawn", digest=digest), *extra)
            for i, (outcome, digest, extra) in enumerate([
                (Outcome.PASS, "1", []), (Outcome.FAIL, "1", [line("late", Outcome.FAIL)]), (Outcome.PASS, "2", [])])]
    assert run(["results", "history", *runs]) == 0
    assert capsys.readouterr().out.splitlines() == [".F.  traces: flaky", "..*  traces: drawn", "-F-  traces: late"]
    assert run(["results", "history", "--all", "--json", *runs]) == 0
    cases = json.loads(capsys.readouterr().out)["cases"]
    assert [(case["name"], case["flips"]) for case in cases] == [("flaky", 2), ("drawn", 0), ("good", 0), ("late", 0)]
