"""`gen4emu info --draws`: rows and JSON of executed draws, selections, statuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gen4emu.cli.main import run
from gen4emu.device.counters import Counters

TRACES = Path(__file__).parent.parent.parent / "traces"
TRIANGLE = str(TRACES / "triangle-g4x.aub.xz")


def test_each_draw_is_a_row_of_what_it_did(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", TRIANGLE, "--draws"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["draw", "frame", "submission", "address", "what", "vertices", "objects", "written",
                            "instructions", "target"]
    assert [row.split()[0] for row in rows] == ["0", "1", "2"]
    triangle = rows[1].split()
    assert triangle[4:8] == ["TRILIST", "3", "1", "20106"]
    assert triangle[9:12] == ["color", "0x00113000", "256x256"]


def test_the_file_may_follow_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", TRIANGLE, "--draws"]) == 0
    expected = capsys.readouterr().out
    assert run(["info", "--draws", TRIANGLE]) == 0
    assert capsys.readouterr().out == expected


def test_only_selected_draws_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", str(TRACES / "gears-4frames-g4x.aub.xz"), "--draws", "4,10-12"]) == 0
    rows = capsys.readouterr().out.splitlines()[1:]
    assert [row.split()[0] for row in rows] == ["4", "10", "11", "12"]


@pytest.mark.parametrize(("selection", "message"), [
    ("9", "no draw 9: it has 3 draws, 0 to 2"), ("x", "invalid selection 'x'")])
def test_a_selection_of_nothing_is_an_error(selection: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", TRIANGLE, "--draws", selection]) == 2
    assert message in capsys.readouterr().err


def test_json_has_all_counters_and_their_sums(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", TRIANGLE, "--draws", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["file"]) == ("gen4emu.info.draws/1", TRIANGLE)
    assert (found["status"], found["errors"]) == (0, [])
    assert [d["draw"] for d in found["draws"]] == [0, 1, 2]
    draw = found["draws"][1]
    assert (draw["kind"], draw["name"], draw["topology"]) == ("draw", "3DPRIMITIVE", "TRILIST")
    assert draw["targets"][0]["format"] == "B8G8R8A8_UNORM"
    assert draw["counters"]["fragments"]["written"] == 20106
    assert set(draw["counters"]) == set(Counters().as_json())
    written = sum(d["counters"]["fragments"]["written"] for d in found["draws"])
    assert found["total"]["fragments"]["written"] == written


def test_a_trace_that_is_cut_short_ends_with_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = tmp_path / "cut.aub.xz"
    cut.write_bytes(Path(TRIANGLE).read_bytes()[:-200])
    assert run(["info", str(cut), "--draws"]) == 2
    assert str(cut) in capsys.readouterr().err
