"""Reports of several traces: each as if it were alone, and a list that says what became of all of them."""

from __future__ import annotations

import json
import lzma
import os
import re
import signal
from pathlib import Path
from urllib.parse import unquote

import pytest

from gen4emu.cli.main import run
from gen4emu.report.record import Recorded, Recorder
from gen4emu.report.trace_list import directories

TRACES = Path(__file__).parents[2] / "traces"
GEARS, TRIANGLE = TRACES / "gears-g4x.aub.xz", TRACES / "triangle-g4x.aub.xz"
HOSTILE = "<img src=x onerror=document.title='owned'>&<!--%2F\u202e.aub.xz"


@pytest.fixture(autouse=True)
def _in_the_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def rows(directory: Path) -> list[list[str]]:
    """The cells of the list, with the target of the link before the first one."""
    text = (directory / "index.html").read_text()
    found = []
    for row in re.findall(r"<tr>(<td>.*?)</tr>", text):
        link = re.search(r'href="([^"]*)"', row)
        cells = re.findall(r"<td[^>]*>(.*?)</td>", row)
        found.append([link[1] if link else "", *(re.sub(r"<[^>]*>", "", cell) for cell in cells)])
    return found


def test_each_report_is_that_of_the_trace_alone() -> None:
    assert run(["-q", "report", str(GEARS), str(TRIANGLE), "-o", "all", "-j", "2"]) == 0
    for trace in (GEARS, TRIANGLE):
        assert run(["-q", "report", str(trace)]) == 0
        name = trace.name.partition(".")[0]
        assert contents(Path("report", name)) == contents(Path("all", name))
    assert [(row[0], row[1], row[2], row[4], row[7], row[8]) for row in rows(Path("all"))] == [
        (f"{trace.name.partition('.')[0]}/index.html", trace.name, "gm45", str(draws),
         f"{sum(map(len, contents(Path('all', trace.name.partition('.')[0])).values())):,}", "")
        for trace, draws in ((GEARS, 6), (TRIANGLE, 3))]


def test_the_bytes_are_the_same_for_any_number_of_processes() -> None:
    traces = [str(path) for path in (GEARS, TRIANGLE, TRACES / "cubemap-g4x.aub.xz")]
    for jobs in ("1", "3"):
        assert run(["-q", "report", *traces, "missing.aub", "-o", jobs, "-j", jobs]) == 2
    assert contents(Path("1")) == contents(Path("3"))


def test_a_bad_trace_does_not_stop_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = lzma.decompress((TRACES / "gears-4frames-g4x.aub.xz").read_bytes())
    Path("cut.aub").write_bytes(whole[:len(whole) - 50])
    Path("text.aub").write_text("no trace")
    assert run(["report", "missing.aub", "cut.aub", "text.aub", str(TRIANGLE), "-o", "all"]) == 2
    output = capsys.readouterr()
    assert output.out == "all/index.html\n"
    assert "2 reports of 4 traces" in output.err and "missing.aub: cannot be opened" in output.err
    missing, cut, text, triangle = rows(Path("all"))
    assert not missing[0] and missing[8].startswith("missing.aub: cannot be opened")
    assert cut[0] == "cut/index.html" and re.match(r"cut\.aub: 0x[0-9a-f]+: ", cut[8]) and cut[5] != "0"
    assert not text[0] and text[8].startswith("text.aub: ")
    assert triangle[0] == "triangle-g4x/index.html" and not triangle[8]
    assert sorted(path.name for path in Path("all").iterdir()) == ["cut", "index.html", "triangle-g4x"]
    assert run(["-q", "report", "cut.aub", str(TRIANGLE), "-o", "all", "--partial"]) == 0


def test_a_process_that_dies_leaves_nothing_but_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    record = Recorder.record

    def dying(self: Recorder) -> Recorded:
        recorded = record(self)
        if recorded.overview["title"] == GEARS.name:
            Path("all/gears-g4x/data").mkdir(parents=True, exist_ok=True)
            os.kill(os.getpid(), signal.SIGKILL)
        return recorded

    assert run(["-q", "report", str(GEARS), "-o", "all/gears-g4x"]) == 0
    Path("all/gears-g4x/notes").write_text("mine")
    monkeypatch.setattr(Recorder, "record", dying)
    assert run(["-q", "report", str(GEARS), str(TRIANGLE), "-o", "all"]) == 2
    gears, triangle = rows(Path("all"))
    assert not gears[0] and gears[8] == f"{GEARS}: its process ended with SIGKILL"
    assert triangle[0] and list(contents(Path("all/gears-g4x"))) == ["notes"]
    assert run(["-q", "report", str(GEARS), str(TRIANGLE), "-o", "new"]) == 2
    assert not Path("new/gears-g4x").exists()


def test_an_internal_error_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Recorder) -> Recorded:
        raise KeyError("of a test")

    monkeypatch.setattr(Recorder, "record", broken)
    assert run(["-q", "report", str(GEARS), str(TRIANGLE), "-o", "all"]) == 2
    assert all(row[8].endswith("its process ended with exit status 1: KeyError: &#x27;of a test&#x27;")
               for row in rows(Path("all")))


def test_names_of_files_stay_text() -> None:
    for name in (HOSTILE, os.fsdecode(b"caf\xe9.aub.xz")):
        Path(name).write_bytes(TRIANGLE.read_bytes())
        assert run(["-q", "report", name, str(GEARS), "-o", "all"]) == 0
        text = (Path("all") / "index.html").read_text()
        assert "script-src 'none'" in text and "<script" not in text and "<img" not in text and "<!--" not in text
        link, shown = rows(Path("all"))[0][:2]
        assert shown.startswith(name[0].replace("<", "&lt;"))
        assert (Path("all") / unquote(link, errors="surrogateescape")).is_file()


def test_every_report_has_a_directory_of_its_own() -> None:
    assert directories(["a", "a-2", "a", "data", "a"]) == ["a", "a-2", "a-3", "data-2", "a-4"]
    Path("other").mkdir()
    Path("other", TRIANGLE.name).write_bytes(GEARS.read_bytes())
    assert run(["-q", "report", str(TRIANGLE), f"other/{TRIANGLE.name}", str(TRIANGLE)]) == 0
    assert [row[:2] for row in rows(Path("report"))] == [["triangle-g4x/index.html", str(TRIANGLE)],
                                                         ["triangle-g4x-2/index.html", f"other/{TRIANGLE.name}"]]


def test_the_list_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-q", "report", str(TRIANGLE), "missing.aub", "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["page"], found["status"]) == ("gen4emu.reports/1", "report/index.html", 2)
    triangle, missing = found["reports"]
    assert triangle["page"] == "report/triangle-g4x/index.html" and triangle["counts"]["draws"] == 3
    assert triangle["bytes"] == sum(map(len, contents(Path("report/triangle-g4x")).values()))
    assert (missing["page"], missing["bytes"], missing["status"]) == (None, 0, 2) and missing["errors"]


@pytest.mark.parametrize("more", [["--single-file", "x.html"], ["--against", str(GEARS)], ["--devices", "g45,gm45"],
                                  ["--options", "fp-rounding=rtz,rtne"], ["-"]])
def test_what_several_traces_exclude(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-q", "report", str(GEARS), str(TRIANGLE), *more]) == 2
    assert "TRACE" in capsys.readouterr().err or more == ["-"]
    assert not Path("report").exists()
