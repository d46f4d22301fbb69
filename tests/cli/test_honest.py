"""Exit statuses that a CI can trust: damage, wrong devices and selections of nothing are never status 0."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from gen4emu.cli.main import run

TRACES = Path(__file__).parents[2] / "traces"
TRIANGLE = TRACES / "triangle-g4x.aub.xz"
Text = pytest.CaptureFixture[str]


def broken(path: Path, how: str) -> Path:
    """A damaged copy of the triangle."""
    packed = TRIANGLE.read_bytes()
    whole = lzma.decompress(packed)
    data = {"cut": whole[:10000], "cut.xz": packed[:len(packed) // 2],
            "corrupt.xz": packed[:-40] + b"\xff" * 4 + packed[-36:]}[how]
    path.write_bytes(data)
    return path


def arguments(verb: str, path: Path, out: Path) -> list[str]:
    if verb == "convert":
        return [verb, "-q", str(path), str(out / "copy.aub")]
    if verb == "debug":
        return [verb, str(path), "-c", "history 1 1"]
    return [verb, str(path)]


@pytest.mark.parametrize("how", ["cut", "cut.xz", "corrupt.xz"])
@pytest.mark.parametrize("verb", ["info", "decode", "debug", "convert"])
def test_a_damaged_trace_is_status_2_and_partial_makes_it_a_warning(verb: str, how: str, tmp_path: Path,
                                                                    capsys: Text) -> None:
    path = broken(tmp_path / f"broken.{how}", how)
    assert run(arguments(verb, path, tmp_path)) == 2
    assert capsys.readouterr().err.startswith(f"gen4emu: {path}: 0x")
    assert run([*arguments(verb, path, tmp_path), "--partial"]) == 0
    assert capsys.readouterr().err.startswith(f"gen4emu: warning: {path}: 0x")


@pytest.mark.parametrize("verb", ["info", "decode", "debug", "convert"])
def test_a_device_of_another_generation_is_an_error_unless_forced(verb: str, tmp_path: Path, capsys: Text) -> None:
    assert run([*arguments(verb, TRIANGLE, tmp_path), "-d", "g965"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"gen4emu: {TRIANGLE}: 0x00000000: was made for Intel GM45 (gm45), g965 is of another gen")
    assert "--force-device" in line
    assert run([*arguments(verb, TRIANGLE, tmp_path), "-d", "g45"]) == 0  # the same generation
    assert run([*arguments(verb, TRIANGLE, tmp_path), "--force", "-d", "g965", "--force-device"]
               if verb == "convert" else [*arguments(verb, TRIANGLE, tmp_path), "-d", "g965", "--force-device"]) == 0


@pytest.mark.parametrize("verb", ["info", "decode", "debug"])
def test_an_unknown_device_is_named_with_a_suggestion(verb: str, capsys: Text) -> None:
    assert run([verb, str(TRIANGLE), "-d", "gm54"]) == 2
    error = capsys.readouterr().err
    assert "unknown device 'gm54' (known: g965, " in error
    assert "see `gen4emu devices`); did you mean gm45?" in error


@pytest.mark.parametrize("verb", ["info", "decode", "debug", "convert"])
def test_a_picture_is_not_a_trace(verb: str, tmp_path: Path, capsys: Text) -> None:
    picture = TRACES / "triangle.reference.png"
    for device in ((), ("-d", "g45")):
        assert run([*arguments(verb, picture, tmp_path), *device]) == 2
        assert capsys.readouterr().err == f"gen4emu: {picture}: is a PNG picture: `gen4emu diff` compares pictures\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", [
    ["replay", "--frames", "0"], ["replay", "--draws", "0"], ["replay", "--submissions", "0"], ["info", "--draws", "0"],
    ["debug", "-c", "where"], ["debug", "-c", "quit"], ["decode", "--draws", "0"], ["kernels"], ["lint"],
    ["state", "--draw", "0"],
])
def test_damage_behind_the_selected_part_is_status_2(arguments: list[str], tmp_path: Path,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cut.aub"
    path.write_bytes(lzma.decompress((TRACES / "mpeg2-g4x.aub.xz").read_bytes())[:-3000])
    out = ["-o", str(tmp_path / "out")] if arguments[0] == "replay" else []
    assert run([*arguments, *out, str(path)]) == 2
    assert f"{path}: 0x" in capsys.readouterr().err
    if arguments[0] == "replay":
        assert list((tmp_path / "out").glob("*.png"))
