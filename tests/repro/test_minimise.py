"""`gen4emu minimise`: small traces that still show a problem."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import gen4emu
from gen4emu.cli.main import run
from gen4emu.repro.minimise import pixel_bytes

TRACES = Path(__file__).parents[2] / "traces"
TEXTURE = TRACES / "texture-g4x.aub.xz"


def reason(trace: Path) -> str:
    with pytest.raises(gen4emu.HangError) as found, gen4emu.open(trace) as opened:
        list(opened.draws())
    return found.value.reason


def with_hang(path: Path) -> Path:
    """A trace whose last command is none of the chip's: the parser hangs behind the draw."""
    assert run(["export", str(TEXTURE), "--draw", "0", "-o", str(path.parent / "repro")]) == 0
    batch = path.parent / "repro" / "batch.txt"
    batch.write_text(f"{batch.read_text()}dwords 0x7fff0000\n")
    assert run(["build", str(batch), "-o", str(path)]) == 0
    return path


def test_of_a_hang_the_command_that_hangs_stays(tmp_path: Path) -> None:
    whole, small = with_hang(tmp_path / "whole.aub"), tmp_path / "min.aub"
    assert run(["minimise", str(whole), "--hang", "--budget", "60s", "-o", str(small)]) == 0
    assert reason(small) == reason(whole)
    assert small.stat().st_size < 8192 < whole.stat().st_size
    with gen4emu.open(small) as opened, pytest.raises(gen4emu.HangError):
        assert not list(opened.draws())


def test_a_pixel_keeps_its_value_and_most_of_the_trace_is_left_out(tmp_path: Path,
                                                                    capsys: pytest.CaptureFixture[str]) -> None:
    trace, small = TRACES / "triangle-g4x.aub.xz", tmp_path / "min.aub.xz"
    with gen4emu.open(trace) as opened:
        moment = opened.at(submission=0)
        target = moment.device.targets.latest[0]
        wanted = pixel_bytes(moment.device, target, 60, 60)
    assert any(wanted)
    assert run(["minimise", str(trace), "--pixel", "60,60", "--budget", "8s", "-o", str(small)]) == 0
    with gen4emu.open(small) as opened:
        moment = opened.at(submission=0)
        assert pixel_bytes(moment.device, target, 60, 60) == wanted
        assert len(list(opened.draws())) == 2  # of 3: the triangle, and the copy of it to the last target
    assert small.stat().st_size < trace.stat().st_size
    assert "pages: " in capsys.readouterr().err


def test_a_command_decides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It looks for a draw in the summary of the trace."""
    small = tmp_path / "min.aub"
    look = f'{sys.executable} -m gen4emu info "$0" | grep -q "[1-9][0-9]* draw"'
    assert run(["minimise", str(TEXTURE), "--budget", "5s", "-o", str(small), "--", "sh", "-c", look]) == 0
    capsys.readouterr()
    assert run(["info", str(small)]) == 0
    assert "draws        1 draw of" in capsys.readouterr().out


def test_a_difference_between_devices_stays(tmp_path: Path) -> None:
    trace, small = TRACES / "triangle-brw.aub.xz", tmp_path / "min.aub.xz"
    assert run(["minimise", str(trace), "--differs-between", "965gm,g45", "--budget", "4s", "-o", str(small)]) == 0
    assert run(["bisect", str(small), "--devices", "965gm,g45"]) == 1
    assert small.stat().st_size < trace.stat().st_size


def test_the_search_ends_with_its_time_and_writes_the_best(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, small = with_hang(tmp_path / "whole.aub"), tmp_path / "min.aub"
    assert run(["minimise", str(whole), "--hang", "--budget", "0.001s", "-o", str(small)]) == 0
    assert reason(small) == reason(whole)
    assert "candidate" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "error"), [
    ([], "name exactly one of --hang, --pixel, --differs-between and a command"),
    (["--hang", "--pixel", "1,1"], "name exactly one of"),
    (["--hang"], "nothing hangs"),
    (["--pixel", "1"], "'1' is not a pixel such as 512,384"),
    (["--pixel", "9999,1"], "pixel 9999,1 is outside of a render target of 256x256"),
    (["--differs-between", "g45"], "are not two devices"),
    (["--differs-between", "g45,g46"], "unknown device 'g46'"),
    (["--differs-between", "g45,gm45"], "the whole trace does not show what is to stay"),
    (["--hang", "--budget", "soon"], "'soon' is not a time such as 30s, 5m or 1h"),
    (["--", "false"], "the whole trace does not show what is to stay"),
    (["--", "/nowhere/at-all"], "/nowhere/at-all: cannot be run: No such file or directory"),
])
def test_bad_requests_write_nothing(arguments: list[str], error: str, tmp_path: Path,
                                    capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["minimise", str(TEXTURE), "-o", str(tmp_path / "x.aub"), *arguments]) == 2
    assert error in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
