"""`gen4emu diff`: directories, mistakes, JSON, the legend of the heat map."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gen4emu.cli.main import run

Make = Callable[..., Path]
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def directories(tmp_path: Path) -> tuple[str, str]:
    """Equal, different, of another size, and one picture that only the first has; in a subdirectory, too."""
    black, white = np.zeros((8, 8, 3), np.uint8), np.full((8, 8, 3), 255, np.uint8)
    for name, first, second in (("equal.png", black, black), ("sub/wrong.png", black, white // 5),
                                ("size.png", black, white[:4]), ("only.png", white, None)):
        for side, pixels in (("a", first), ("b", second)):
            if pixels is not None:
                path = tmp_path / side / name
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(pixels).save(path)
    for side in ("a", "b"):
        np.save(tmp_path / side / "floats.npy", np.full((4, 4, 2), 0.5 if side == "a" else 0.25, np.float32))
    return str(tmp_path / "a"), str(tmp_path / "b")


def test_directories_are_compared_by_name(directories: tuple[str, str], capsys: Capture) -> None:
    assert run(["diff", *directories]) == 1
    out = capsys.readouterr().out
    assert "sub/wrong.png  64 of 64 pixels differ (100.000 %), max error 51" in out
    assert f"only.png       is missing in {directories[1]}" in out
    assert "size.png" in out and "8 x 8" in out and "equal.png" not in out
    assert out.endswith("5 pictures: 1 the same, 3 differ, 1 missing\n")
    assert run(["diff", *directories, "-v"]) == 1
    assert "equal.png      same\n" in capsys.readouterr().out
    assert run(["diff", directories[0], directories[0]]) == 0


def test_the_json_of_directories(directories: tuple[str, str], capsys: Capture, tmp_path: Path) -> None:
    assert run(["diff", *directories, "--json", "--heatmap", str(tmp_path / "heat")]) == 1
    report = json.loads(capsys.readouterr().out)
    assert list(report)[:2] == ["schema", "file"] and report["schema"] == "gen4emu.diff/1" and report["status"] == 1
    pictures = {one["name"]: one for one in report["pictures"]}
    assert pictures["equal.png"]["same"] and pictures["equal.png"]["heatmap"] is None
    assert pictures["only.png"]["second"] is None and not pictures["only.png"]["same"]
    heat = pictures["sub/wrong.png"]["heatmap"]
    assert heat["white"] == 51 and Path(heat["file"]).is_file()
    assert sorted(p.name for p in (tmp_path / "heat").rglob("*.png")) == ["floats.heatmap.png", "wrong.heatmap.png"]


def test_the_heat_map_has_a_legend(directories: tuple[str, str], capsys: Capture, tmp_path: Path) -> None:
    files = [f"{side}/sub/wrong.png" for side in directories]
    assert run(["diff", *files, "--heatmap", str(tmp_path / "heat.png")]) == 1
    assert "heat.png: black: equal; blue, red, yellow, white: up to the largest error, 51\n" in capsys.readouterr().out


def test_traces_are_named_as_traces(make: Make, capsys: Capture) -> None:
    make("clear-g4x", "clear-brw")
    assert run(["diff", "clear-g4x.aub.xz", "clear-brw.aub.xz"]) == 2
    err = capsys.readouterr().err
    assert "clear-g4x.aub.xz and clear-brw.aub.xz are traces; diff compares pictures: replay both" in err
    Image.new("RGB", (2, 2)).save("a.png")
    assert run(["diff", "a.png", "clear-brw.aub.xz"]) == 2
    assert "clear-brw.aub.xz: is a trace; diff compares pictures" in capsys.readouterr().err


def eps() -> bytes:
    return b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n"


def dds() -> bytes:
    """Of an unknown layout of pixels."""
    header = struct.pack("<31I", 124, 0x1007, 4, 4, *bytes(14), 32, 0x80000000, *bytes(11))
    return b"DDS " + header + bytes(64)


@pytest.mark.parametrize(("name", "data"), [
    ("a.png", eps()), ("a.png", dds()), ("a.npy", b"\x93NUMPY\1\0\1\0(")])
def test_files_that_are_neither_png_nor_npy(name: str, data: bytes, tmp_path: Path, capsys: Capture) -> None:
    """Whatever Pillow would do with them, such as to start Ghostscript."""
    file = tmp_path / name
    file.write_bytes(data)
    assert run(["diff", str(file), str(file)]) == 2
    err = capsys.readouterr().err
    assert f"{file}: not a picture that can be read" in err and "Ghostscript" not in err


def test_a_directory_and_a_file(directories: tuple[str, str], tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "none").mkdir()
    assert run(["diff", f"{directories[0]}/equal.png", directories[1]]) == 2
    assert "is a directory" in capsys.readouterr().err
    assert run(["diff", directories[0], str(tmp_path / "none")]) == 2
    assert "none: has no pictures (.png or .npy)" in capsys.readouterr().err
