"""`gen4emu replay`: pictures of draws and of any memory, and what --strict minds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gen4emu._native import lib
from gen4emu.cli.main import run
from gen4emu.device.device import EventCount

TRACES = Path(__file__).parent.parent.parent / "traces"


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_draws_writes_what_each_draw_changed_and_the_frame(tmp_path: Path) -> None:
    assert run(["replay", str(TRACES / "fbo-g4x.aub.xz"), "--draws", "-o", str(tmp_path)]) == 0
    assert names(tmp_path) == [
        "draw-00000-color-00113000.png", "draw-00001-color-00113000.png", "draw-00002-color-00356000.png",
        "draw-00003-color-003d8000.png", "frame-0000-color-00113000.png", "frame-0000-color-00356000.png",
        "frame-0000-color-003d8000.png"]
    first, second, last = (np.asarray(Image.open(tmp_path / f"{name}-color-00113000.png"))
                           for name in ("draw-00000", "draw-00001", "frame-0000"))
    assert (first == first[0, 0]).all()  # a clear
    assert (second != first).any()
    assert (second == last).all()


def test_a_draw_that_changes_nothing_leaves_no_picture(tmp_path: Path) -> None:
    assert run(["replay", str(TRACES / "blend-g4x.aub.xz"), "--draws", "-o", str(tmp_path)]) == 0
    drawn = [name for name in names(tmp_path) if name.startswith("draw-")]
    assert 2 < len(drawn) <= 62
    pictures = [(tmp_path / name).read_bytes() for name in drawn]
    same_target = [i for i in range(1, len(drawn)) if drawn[i][10:] == drawn[i - 1][10:]]
    assert all(pictures[i] != pictures[i - 1] for i in same_target)


def test_a_surface_is_any_piece_of_memory(tmp_path: Path) -> None:
    surface = "0x113000,B8G8R8A8_UNORM,64x32,linear,256"
    assert run(["replay", str(TRACES / "fbo-g4x.aub.xz"), "--surface", surface, "-o", str(tmp_path)]) == 0
    assert Image.open(tmp_path / "frame-0000-surface-00113000.png").size == (64, 32)


@pytest.mark.parametrize("surface", ["1,R8_UNORM,0x4,linear,64", "1,R8_UNORM,4x9999999999,linear,64",
                                     "0xfffff000,R8_UNORM,64x64,linear,512", "zz", "1,NOTHING,4x4,linear,64"])
def test_a_surface_that_cannot_be_is_bad_usage(surface: str, tmp_path: Path) -> None:
    assert run(["replay", str(TRACES / "clear-g4x.aub.xz"), "--surface", surface, "-o", str(tmp_path)]) == 2


@pytest.mark.parametrize("trace", sorted(TRACES.glob("*.aub.xz")), ids=lambda path: path.name)
def test_a_real_driver_s_batches_are_in_order(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", str(trace), "--strict", "-o", str(tmp_path)]) == 0
    assert "gen4emu:" not in capsys.readouterr().err


def test_notes_are_no_complaints() -> None:
    notes = {kind for kind in range(lib.G4_EVENTS) if EventCount(kind, "", 1, 0, 0).is_note}
    assert notes == {lib.G4_EVENT_SILICON_DIFFERS, lib.G4_EVENT_NO_DEPTH_BUFFER, lib.G4_EVENT_LARGE_OBJECT}
