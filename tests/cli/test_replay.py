"""`gen4emu replay`: pictures of draws and of any memory, and what --strict minds."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from gen4emu._native import lib
from gen4emu.cli.main import run
from gen4emu.cli.replay import trace_name
from gen4emu.device.events import EventCount
from gen4emu.hw.chips import device_named
from gen4emu.image.compare import load
from gen4emu.image.digest import pixels_digest
from gen4emu.trace import events
from gen4emu.trace.conversion import writer_for
from gen4emu.trace.reader import open as open_trace
from gen4emu.trace.write_aub import Dedup

TRACES = Path(__file__).parent.parent.parent / "traces"


def names(directory: Path) -> list[str]:
    """Of the pictures."""
    return sorted(path.name for path in directory.iterdir() if path.name != "index.json")


def index(directory: Path) -> dict[str, Any]:
    found = json.loads((directory / "index.json").read_text())
    assert isinstance(found, dict) and found["schema"] == "gen4emu.pictures/1"
    return found


def test_draws_writes_what_each_draw_changed_and_the_frame(tmp_path: Path) -> None:
    assert run(["replay", str(TRACES / "fbo-g4x.aub.xz"), "--draws", "-o", str(tmp_path)]) == 0
    assert names(tmp_path) == [
        "draw-00000-color-00113000.png", "draw-00001-color-00113000.png", "draw-00002-color-00356000.png",
        "draw-00003-color-003d8000.png", "frame-00000-color-00113000.png", "frame-00000-color-00356000.png",
        "frame-00000-color-003d8000.png"]
    first, second, last = (np.asarray(Image.open(tmp_path / f"{name}-color-00113000.png"))
                           for name in ("draw-00000", "draw-00001", "frame-00000"))
    assert (first == first[0, 0]).all()  # a clear
    assert (second != first).any()
    assert (second == last).all()


def test_a_draw_that_changes_nothing_leaves_no_picture(tmp_path: Path) -> None:
    assert run(["replay", str(TRACES / "blend-g4x.aub.xz"), "--draws", "-o", str(tmp_path)]) == 0
    drawn = [name for name in names(tmp_path) if name.startswith("draw-")]
    assert drawn == [p["file"] for p in index(tmp_path)["pictures"] if p["unit"] == "draw"]
    assert 2 < len(drawn) <= 62
    pictures = [(tmp_path / name).read_bytes() for name in drawn]
    same_target = [i for i in range(1, len(drawn)) if drawn[i][10:] == drawn[i - 1][10:]]
    assert all(pictures[i] != pictures[i - 1] for i in same_target)


def test_a_surface_is_any_piece_of_memory(tmp_path: Path) -> None:
    surface = "0x113000,B8G8R8A8_UNORM,64x32,linear,256"
    assert run(["replay", str(TRACES / "fbo-g4x.aub.xz"), "--surface", surface, "-o", str(tmp_path)]) == 0
    assert Image.open(tmp_path / "frame-00000-surface-00113000.png").size == (64, 32)


@pytest.mark.parametrize("surface", ["1,R8_UNORM,0x4,linear,64", "1,R8_UNORM,4x9999999999,linear,64",
                                     "0xfffff000,R8_UNORM,64x64,linear,512", "zz", "1,NOTHING,4x4,linear,64"])
def test_an_impossible_surface_is_bad_usage(surface: str, tmp_path: Path) -> None:
    assert run(["replay", str(TRACES / "clear-g4x.aub.xz"), "--surface", surface, "-o", str(tmp_path)]) == 2


@pytest.mark.parametrize("trace", sorted(TRACES.glob("*.aub.xz")), ids=lambda path: path.name)
def test_a_real_driver_s_batches_are_in_order(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", str(trace), "--strict", "-o", str(tmp_path)]) == 0
    assert "gen4emu:" not in capsys.readouterr().err


def test_notes_are_not_complaints() -> None:
    notes = {kind for kind in range(lib.G4_EVENTS) if EventCount(kind, "", 1, 0, 0).is_note}
    assert notes == {lib.G4_EVENT_SILICON_DIFFERS, lib.G4_EVENT_NO_DEPTH_BUFFER, lib.G4_EVENT_LARGE_OBJECT}


Text = pytest.CaptureFixture[str]
TRIANGLE = TRACES / "triangle-g4x.aub.xz"


# --- names, the index, the summary -----------------------------------------------------------------------------------
def test_the_index_describes_every_picture(tmp_path: Path) -> None:
    assert run(["replay", str(TRIANGLE), "--depth", "-o", str(tmp_path)]) == 0
    found = index(tmp_path)
    assert (found["file"], found["device"]) == (str(TRIANGLE), "gm45")
    assert sorted(p["file"] for p in found["pictures"]) == names(tmp_path)
    for picture in found["pictures"]:
        path = tmp_path / picture["file"]
        pixels = load(path)
        assert pixels.shape[:2] == (picture["height"], picture["width"])
        assert pixels_digest(pixels) == picture["digest"] and path.stat().st_size == picture["bytes"]
    first = found["pictures"][0]
    assert {name: first[name] for name in ("unit", "number", "frame", "submission", "kind", "address", "format",
                                           "pitch", "tiling", "level", "slice")} == {
        "unit": "frame", "number": 0, "frame": 0, "submission": 0, "kind": "color", "address": 0x113000,
        "format": "B8G8R8A8_UNORM", "pitch": 1024, "tiling": "x", "level": 0, "slice": 0}


def test_the_default_directory_is_named_after_the_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("triangle-g4x", "clear-g4x"):
        assert run(["replay", str(TRACES / f"{name}.aub.xz")]) == 0
        assert (tmp_path / "frames" / name / "index.json").exists()
    assert [trace_name(t) for t in ("-", "a/b.aub.xz", ".hidden.aub", "..")] == ["stdin", "b", "hidden", "trace"]


def test_the_summary_counts_in_plain_english(tmp_path: Path, capsys: Text) -> None:
    assert run(["replay", str(TRIANGLE), "-o", str(tmp_path)]) == 0
    assert capsys.readouterr().err.startswith("1 submission, 3 draws, 2 pictures, ")
    assert run(["replay", str(TRACES / "mpeg2-g4x.aub.xz"), "-o", str(tmp_path)]) == 0
    assert capsys.readouterr().err.startswith(
        "5 submissions, 0 draws, 30 media objects, 5 pictures (5 .png, 5 .yuv), ")


def test_no_pictures_writes_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Text) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["replay", str(TRIANGLE), "--no-pictures"]) == 0
    assert not list(tmp_path.iterdir())
    output = capsys.readouterr()
    assert output.out == "" and output.err.startswith("1 submission, 3 draws, ")
    assert run(["replay", str(TRIANGLE), "--no-pictures", "-o", str(tmp_path)]) == 2


def test_more_pictures_than_allowed_are_an_error(tmp_path: Path, capsys: Text) -> None:
    assert run(["replay", str(TRIANGLE), "--max-pictures", "1", "-o", str(tmp_path)]) == 2
    assert "more than 1 pictures (--max-pictures)" in capsys.readouterr().err
    assert names(tmp_path) == [p["file"] for p in index(tmp_path)["pictures"]] == ["frame-00000-color-00113000.png"]


def test_the_result_as_json(tmp_path: Path, capsys: Text) -> None:
    assert run(["replay", str(TRIANGLE), "--json", "-o", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found)[:2] == ["schema", "file"] and found["schema"] == "gen4emu.replay/1"
    assert found["pictures"] == index(tmp_path)["pictures"]
    assert (found["status"], found["submissions"], found["draws"], found["blits"], found["hang"]) == (0, 1, 3, 0, None)


def test_a_picture_is_announced_when_it_is_complete(tmp_path: Path) -> None:
    """While the replay goes on: its trace is a pipe that does not end."""
    whole = lzma.decompress((TRACES / "gears-4frames-g4x.aub.xz").read_bytes())
    trace = tmp_path / "a.g4c"
    capture(trace, [shown(), shown(0x201000), *[shown()] * 3])
    listed = subprocess.run([sys.executable, "-u", "-m", "gen4emu", "replay", str(trace), "-o", str(tmp_path / "o")],
                            capture_output=True, text=True, check=True).stdout.splitlines()
    assert listed == [str(tmp_path / "o" / p["file"]) for p in index(tmp_path / "o")["pictures"]]
    assert len(listed) == 5 and whole


# --- hangs, findings, damage -----------------------------------------------------------------------------------------
def test_the_error_state_of_a_hang_is_in_the_index(tmp_path: Path, capsys: Text) -> None:
    batch = tmp_path / "h.bin"
    batch.write_bytes(struct.pack("<2I", 0x7A030201, 0x05000000))
    out = tmp_path / "out"
    assert run(["replay", str(batch), "--raw", "-d", "g45", "--strict", "--json", "-o", str(out)]) == 3
    found = json.loads(capsys.readouterr().out)
    assert found["status"] == 3 and found["hang"]["error_state"] == str(out / "hang-00000.error.gz")
    assert index(out)["error_states"] == ["hang-00000.error.gz"] and index(out)["pictures"] == []
    gzip.decompress((out / "hang-00000.error.gz").read_bytes())


def test_a_store_that_nothing_maps_is_status_1(tmp_path: Path, capsys: Text) -> None:
    """Memory of a raw batch is 4 GiB; of a capture, the range of the chip's page table: 2 GiB."""
    trace = tmp_path / "a.g4c"
    capture(trace, [], batch=[0x10400002, 0, 0xF0000000, 7])  # MI_STORE_DATA_IMM
    assert run(["replay", str(trace), "--no-pictures"]) == 1
    assert "write to an address that nothing maps: 1 time, first at 0xf0000000" in capsys.readouterr().err


def test_memory_that_differs_from_the_capture_is_status_1(tmp_path: Path, capsys: Text) -> None:
    trace = tmp_path / "a.g4c"
    capture(trace, [], expect=(0x200000, 4096, bytes(16)))
    assert run(["replay", str(trace), "--no-pictures"]) == 1
    assert "4096 bytes at 0x00200000 differ from the memory of the capture" in capsys.readouterr().err


def test_a_damaged_trace_is_status_2_after_its_pictures(tmp_path: Path, capsys: Text) -> None:
    path = tmp_path / "cut.aub"
    path.write_bytes(lzma.decompress(TRIANGLE.read_bytes())[:-100])
    assert run(["replay", str(path), "-o", str(tmp_path / "o")]) == 2
    assert f"gen4emu: {path}: 0x" in capsys.readouterr().err
    assert run(["replay", str(path), "-o", str(tmp_path / "o"), "--partial"]) == 0
    assert f"gen4emu: warning: {path}: 0x" in capsys.readouterr().err


# --- limits on what a trace requests ----------------------------------------------------------------------------------
def shown(address: int = 0x200000, width: int = 16, height: int = 8, pitch: int = 64) -> events.SurfaceDump:
    return events.SurfaceDump(0, address, 0, 0, width, height, 4, pitch, 6, "linear")


def capture(path: Path, dumps: list[events.SurfaceDump], batch: list[int] | None = None,
            expect: tuple[int, int, bytes] | None = None) -> None:
    """A trace of one batch, and of pictures that are shown after it."""
    part = device_named("g45")
    assert part is not None
    with writer_for(path, part, "test", Dedup.NONE) as writer:
        words = [*(batch or []), 0x05000000, 0]
        writer.write_memory(0x100000, struct.pack(f"<{len(words)}I", *words).ljust(4096, b"\0"), "batch")
        writer.write_memory(0x200000, bytes(range(256)) * 16, "")
        writer.submit(events.Engine.RENDER, struct.pack("<2I", 0x18800080, 0x100000), 0x1000)
        for dump in dumps:
            writer.dump_surface(dump)
        if expect is not None:
            writer.expect(*expect)


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), int(sys.argv[1])))
from gen4emu.cli.main import run
sys.exit(run(sys.argv[2:]))
"""


def limited(size: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", LIMITED, str(size), *arguments], capture_output=True, text=True,
                          check=False, timeout=300)


@pytest.mark.parametrize("suffix", ["g4c", "aub"])
def test_a_picture_that_is_too_large_is_refused_and_the_rest_is_shown(suffix: str, tmp_path: Path) -> None:
    trace = tmp_path / f"a.{suffix}"
    capture(trace, [shown(), shown(width=16384, height=16384, pitch=65536), shown()])
    done = limited(3 << 30, "replay", str(trace), "-o", str(tmp_path / "o"))
    assert done.returncode == 2
    assert f"{trace}: 0x" in done.stderr and "a picture of 16384 x 16384 pixels; a picture has 1 to" in done.stderr
    assert names(tmp_path / "o") == ["frame-00000-shown-00200000.png", "frame-00002-shown-00200000.png"]


def test_the_largest_picture_costs_less_than_a_gigabyte(tmp_path: Path) -> None:
    trace = tmp_path / "a.g4c"
    capture(trace, [shown(width=8192, height=8192, pitch=32768)])
    small = tmp_path / "b.g4c"
    capture(small, [shown()])
    program = LIMITED.replace("sys.exit(run(sys.argv[2:]))", "run(sys.argv[2:])\n"
                              "from tests.harness.peak_memory import peak_bytes\nprint(peak_bytes())")
    peaks = [int(subprocess.run([sys.executable, "-c", program, str(8 << 30), "replay", str(path), "-j", "1", "-o",
                                 str(tmp_path / "o")], capture_output=True, text=True, check=True).stdout.split()[-1])
             for path in (small, trace)]
    assert peaks[1] - peaks[0] < 1 << 30


def test_an_expectation_of_all_memory_costs_little(tmp_path: Path) -> None:
    trace = tmp_path / "a.g4c"
    capture(trace, [], expect=(0, 0xFFFFFFFF, bytes(16)))
    done = limited(2 << 30, "replay", str(trace), "--no-pictures")
    assert done.returncode == 1 and "4294967295 bytes at 0x00000000 differ" in done.stderr


def test_too_little_memory_is_not_a_traceback(tmp_path: Path) -> None:
    trace = tmp_path / "a.g4c"
    capture(trace, [shown(width=8192, height=8192, pitch=32768)])
    done = limited(300 << 20, "replay", str(trace), "-j", "1", "-o", str(tmp_path / "o"))
    assert done.returncode == 2 and done.stderr.endswith("gen4emu: out of memory\n")


# --- depth, stencil, video, raw batches ------------------------------------------------------------------------------
def test_depth_pictures_have_a_range(tmp_path: Path) -> None:
    depths = {}
    for wanted in ("auto", "full", "0.9..1"):
        out = tmp_path / wanted
        assert run(["replay", str(TRACES / "gears-g4x.aub.xz"), "--depth", "--depth-range", wanted, "-o",
                    str(out)]) == 0
        (entry,) = (p for p in index(out)["pictures"] if p["kind"] == "depth")
        depths[wanted] = load(out / entry["file"]).astype(int), entry["range"]
    full, auto = depths["full"], depths["auto"]
    assert full[1] == [0, 1] and depths["0.9..1"][1] == [0.9, 1]
    assert full[0].min() > 40000  # nearly white
    assert (auto[0].min(), auto[0].max()) == (0, 65535)
    low, high = auto[1]
    assert np.abs(auto[0] / 65535 * (high - low) + low - full[0] / 65535).max() < 1e-4
    assert run(["replay", str(TRIANGLE), "--depth-range", "1..0"]) == 2


def test_the_stencil_is_a_picture_of_its_own(tmp_path: Path) -> None:
    assert run(["replay", str(TRACES / "stencil-g4x.aub.xz"), "--depth", "-o", str(tmp_path)]) == 0
    (entry,) = (p for p in index(tmp_path)["pictures"] if p["kind"] == "stencil")
    assert np.unique(load(tmp_path / entry["file"])).tolist() != [0]


def test_raw_video_is_the_pixels_of_the_frames(tmp_path: Path, capfd: Text) -> None:
    trace = tmp_path / "a.g4c"
    capture(trace, [shown(), shown(width=8), shown(0x200040)])
    video = tmp_path / "v.raw"
    assert run(["replay", str(trace), "--raw-video", str(video)]) == 0
    assert run(["replay", str(trace), "--no-pictures", "--raw-video", str(video)]) == 0
    pixels = np.fromfile(video, np.uint8).reshape(2, 8, 16, 3)
    assert pixels[0, 0, 0].tolist() == [2, 1, 0] and pixels[1, 0, 0].tolist() == [0x42, 0x41, 0x40]
    error = capfd.readouterr().err
    assert "raw video, rgb24, 16x8 (ffmpeg -f rawvideo -pixel_format rgb24 -video_size 16x8 -i ...)" in error
    assert "a frame of 8x8 is left out" in error
    done = subprocess.run([sys.executable, "-m", "gen4emu", "replay", str(trace), "--raw-video", "-"],
                          capture_output=True, check=True, cwd=tmp_path)
    assert done.stdout == video.read_bytes() and not os.path.exists(tmp_path / "frames")


def test_a_raw_batch_draws(tmp_path: Path) -> None:
    raw = TRACES / "raw" / "triangle.bin.xz"
    assert run(["replay", str(raw), "--raw", "-d", "gm45", "--base", "0xff000", "-o", str(tmp_path / "raw")]) == 0
    assert run(["replay", str(TRIANGLE), "-o", str(tmp_path / "aub")]) == 0
    digests = [[(p["file"], p["digest"]) for p in index(tmp_path / name)["pictures"]] for name in ("raw", "aub")]
    assert digests[0] == digests[1]
    assert run(["replay", str(raw), "-d", "gm45", "--base", "0xff000", "--no-pictures"]) == 0  # plainly a batch


@pytest.mark.parametrize("name", ["trace", "frame.png", "batch.bin"])
def test_a_container_is_recognized_whatever_its_name(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(TRIANGLE.read_bytes())
    assert run(["replay", str(tmp_path / name), "-o", str(tmp_path / "o")]) == 0
    assert len(names(tmp_path / "o")) == 2
    assert open_trace(tmp_path / name).kind == "aub"
