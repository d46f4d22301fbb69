"""`run --frames` and `capture --frames`: names, numbers and pixels equal those of a `replay` of the capture."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gen4emu._native import lib
from gen4emu.cli.main import run
from gen4emu.device.options import Options
from gen4emu.hw.chips import BY_NAME
from gen4emu.hw.scanout import SCANOUT
from gen4emu.image.compare import load
from gen4emu.live.frames import frame_writer, watch_frames
from gen4emu.live.recorder import watch_capture
from gen4emu.live.server import Server
from gen4emu.trace.reader import open as open_trace
from tests.live import real_client
from tests.live.fake_client import FakeClient, play
from tests.live.frame_client import connected, show

TRACES = Path(__file__).parents[2] / "traces"


def pictures(directory: Path) -> list[tuple[object, ...]]:
    """Names and digests of the pictures in a directory."""
    found = json.loads((directory / "index.json").read_text())["pictures"]
    assert sorted(p["file"] for p in found) == sorted(p.name for p in directory.glob("*.png"))
    return [tuple(p[name] for name in ("file", "frame", "submission", "draw", "kind", "address", "width", "height",
                                       "digest")) for p in found]


def replayed(trace: Path, directory: Path) -> list[tuple[object, ...]]:
    assert run(["replay", str(trace), "-o", str(directory)]) == 0
    return pictures(directory)


@pytest.mark.parametrize("suffix", ["aub", "g4c"])
def test_shown_frames_have_the_names_and_digests_of_the_replay(suffix: str, tmp_path: Path) -> None:
    trace, live = tmp_path / f"a.{suffix}", tmp_path / "live"
    with Server(BY_NAME["g45"], Options(workers=1)) as server:
        watch_capture(server, trace)
        watch_frames(server, frame_writer(server, live))
        with connected(server) as client:
            for number, fourcc in enumerate((b"XR24", b"AR24", b"????", b"XR24")):
                show(client, number, fourcc)
    found = pictures(live)
    assert [p[0] for p in found] == [f"frame-0000{n}-shown-00200000.png" for n in (0, 1, 3)]
    assert found == replayed(trace, tmp_path / "replay")


# The first pixel of what `show` stores, 0x00112233, in the formats of a display.  RG16: 4, 17 and 19 of 31, 63 and 31;
# XR30 and AR30: 1, 72 and 563 of 1023.
FIRST_PIXELS = {"XR24": [0x11, 0x22, 0x33], "AR24": [0x11, 0x22, 0x33, 0], "XB24": [0x33, 0x22, 0x11],
                "AB24": [0x33, 0x22, 0x11, 0], "RG16": [33, 69, 156], "XR30": [0, 18, 140], "AR30": [0, 18, 140, 0]}


@pytest.mark.parametrize("fourcc", FIRST_PIXELS)
@pytest.mark.parametrize("suffix", ["aub", "g4c"])
def test_every_format_that_is_shown_is_a_picture_of_the_replay_too(suffix: str, fourcc: str, tmp_path: Path) -> None:
    assert set(SCANOUT) == set(FIRST_PIXELS)
    trace, live = tmp_path / f"a.{suffix}", tmp_path / "live"
    with Server(BY_NAME["g45"], Options(workers=1)) as server:
        watch_capture(server, trace)
        watch_frames(server, frame_writer(server, live))
        with connected(server) as client:
            show(client, 0, fourcc.encode())
    found = pictures(live)
    assert [p[0] for p in found] == ["frame-00000-shown-00200000.png"]
    assert load(live / str(found[0][0]))[0, 0].tolist() == FIRST_PIXELS[fourcc]
    assert found == replayed(trace, tmp_path / "replay")


def test_only_shown_frames_remain(tmp_path: Path) -> None:
    """The batches with which a driver starts are not frames if the program shows any."""
    trace, live = tmp_path / "a.aub", tmp_path / "live"
    with Server(BY_NAME["gm45"], Options(workers=1)) as server:
        watch_capture(server, trace)
        watch_frames(server, frame_writer(server, live))
        with FakeClient(server.directory, 256 << 20) as client:
            play(client, open_trace(TRACES / "clear-g4x.aub.xz"))
            client.send("mark", lib.G4_LIVE_MARK, address=0x113000, width=64, height=16, pitch=1024, tiling=1,
                        fourcc=int.from_bytes(b"XR24", "little"))
    found = pictures(live)
    assert [p[0] for p in found] == ["frame-00000-shown-00113000.png"]
    assert found == replayed(trace, tmp_path / "replay")


@pytest.mark.parametrize("name", ["fbo-g4x", "gears-4frames-g4x"])
def test_frames_of_programs_that_show_none_equal_those_of_the_replay(name: str, tmp_path: Path) -> None:
    trace, live = tmp_path / "a.g4c", tmp_path / "live"
    with Server(BY_NAME["gm45"], Options(workers=1)) as server:
        watch_capture(server, trace)
        watch_frames(server, frame_writer(server, live))
        with FakeClient(server.directory, 256 << 20) as client:
            play(client, open_trace(TRACES / f"{name}.aub.xz"))
    assert pictures(live) == replayed(trace, tmp_path / "replay") != []


def test_further_connections_have_their_own_directories(tmp_path: Path) -> None:
    trace, live = tmp_path / "a.aub", tmp_path / "live"
    with Server(BY_NAME["g45"], Options(workers=1)) as server:
        watch_capture(server, trace)
        watch_frames(server, frame_writer(server, live))
        for count in (1, 2):
            with connected(server) as client:
                for number in range(count):
                    show(client, number)
    assert pictures(live) == replayed(trace, tmp_path / "replay")
    assert pictures(live / "connection-2") == replayed(tmp_path / "a-2.aub", tmp_path / "replay-2")


def test_an_impossible_picture_does_not_end_the_connection(tmp_path: Path) -> None:
    with Server(BY_NAME["g45"], Options(workers=1)) as server:
        watch_frames(server, frame_writer(server, tmp_path))
        with connected(server) as client:
            show(client, 0, width=60000)
            show(client, 1, width=512)  # wider than the pitch
            show(client, 2)
    assert [p[0] for p in pictures(tmp_path)] == ["frame-00002-shown-00200000.png"]


@pytest.mark.skipif(bool(real_client.missing()), reason=real_client.missing())
@pytest.mark.client
def test_run_pipes_raw_frames_and_separates_the_program_s_output(tmp_path: Path) -> None:
    """A program that shows nothing: no frames, and its output is on standard error."""
    done = subprocess.run([sys.executable, "-m", "gen4emu", "run", "--frames", "-", "--", "echo", "hello"],
                          capture_output=True, check=True, cwd=tmp_path)
    assert done.stdout == b"" and b"hello" in done.stderr
    assert not list(tmp_path.iterdir())
