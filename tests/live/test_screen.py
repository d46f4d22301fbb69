"""The screen that `run --web` and `run --window` show: the latest frame of the right connection, and pauses."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gen4emu.device.options import Options
from gen4emu.hw.chips import BY_NAME
from gen4emu.image.compare import load
from gen4emu.live.frames import frame_writer, watch_frames
from gen4emu.live.screen import Frame, Screen
from gen4emu.live.server import Server
from gen4emu.trace.reader import open as open_trace
from tests.live.fake_client import FakeClient, play
from tests.live.frame_client import BATCH, connected, is_held, show, taken

TRACES = Path(__file__).parents[2] / "traces"


@pytest.fixture
def screen() -> Screen:
    return Screen()


@pytest.fixture
def server(screen: Screen) -> Iterator[Server]:
    with Server(BY_NAME["g45"], Options(workers=1), quiet=True) as made:
        watch_frames(made, screen.watcher(made))
        yield made
        screen.end()


def first_dword(frame: Frame) -> int:
    """The dword that `show` has drawn."""
    red, green, blue = map(int, frame.pixels[0, frame.place.frame, :3])
    return red << 16 | green << 8 | blue


def test_the_latest_frame_is_there_and_nothing_waits_for_those_who_look(screen: Screen, server: Server) -> None:
    with connected(server) as client:
        for number in range(5):
            show(client, number)
        assert client.run(BATCH) == 0, "all frames before are done"
        frame = taken(screen)
        assert (frame.serial, frame.place.frame, frame.is_shown, frame.program) == (5, 4, True, "fake")
        assert frame.pixels.shape == (16, 128, 3) and first_dword(frame) == 0x112237
        assert frame.name == "fake-frame-00004.png"
        assert screen.take(5, 0) is None
        show(client, 5)
        assert taken(screen, 5).place.frame == 5


def test_a_pause_holds_the_program_behind_its_frame_and_a_step_lets_one_pass(screen: Screen, server: Server) -> None:
    with connected(server) as client:
        screen.pause()
        show(client, 0)
        assert taken(screen).place.frame == 0
        sequence = client.start(BATCH)
        assert is_held(client)
        screen.step()
        assert client.receive("result").header.sequence == sequence
        assert screen.take(1, 0.3) is None, "a submission is not a frame"
        show(client, 1)
        assert taken(screen, 1).place.frame == 1
        client.start(BATCH)
        assert is_held(client)
        screen.resume()
        client.receive("result")
        show(client, 2)
        assert client.run(BATCH) == 0


def test_a_pause_holds_other_connections_too(screen: Screen, server: Server) -> None:
    with connected(server) as client, connected(server) as other:
        show(client, 0)
        taken(screen)
        screen.pause()
        other.start(BATCH)
        assert is_held(other)
        screen.resume()
        other.receive("result")


def test_the_end_of_the_screen_releases_a_program_that_is_held(screen: Screen, server: Server) -> None:
    with connected(server) as client:
        screen.pause()
        show(client, 0)
        client.start(BATCH)
        assert is_held(client)
        screen.end()
        client.receive("result")


def test_the_end_is_seen_by_a_view_that_waits(screen: Screen) -> None:
    timer = threading.Timer(0.05, screen.end)
    timer.start()
    start = time.monotonic()
    assert screen.take(0, 30) is None and time.monotonic() - start < 20
    timer.join()


def test_the_first_connection_that_shows_frames_keeps_the_screen_until_it_ends(screen: Screen, server: Server) -> None:
    with connected(server) as first:
        show(first, 0)
        assert taken(screen).serial == 1
        with connected(server) as second:
            show(second, 0)
            assert second.run(BATCH) == 0
            assert screen.take(1, 0) is None
            first.socket.close()
            while server.connections > 1:
                time.sleep(0.01)
            show(second, 1)
            assert taken(screen, 1).place.frame == 1


def test_a_shown_frame_takes_the_screen_from_render_targets(screen: Screen) -> None:
    with Server(BY_NAME["gm45"], Options(workers=1)) as server:
        watch_frames(server, screen.watcher(server))
        with FakeClient(server.directory, 256 << 20) as drawing, connected(server) as showing:
            play(drawing, open_trace(TRACES / "clear-g4x.aub.xz"))
            before = taken(screen)
            assert not before.is_shown and before.draws > 0 and before.instructions > 0
            show(showing, 0)
            assert taken(screen, before.serial).is_shown


@pytest.mark.parametrize("fourcc", [b"XR24", b"AR24", b"RG16", b"XR30"])
def test_pixels_are_those_of_frames(fourcc: bytes, screen: Screen, tmp_path: Path) -> None:
    """`--frames` and a screen on one server."""
    with Server(BY_NAME["g45"], Options(workers=1)) as server:
        watch_frames(server, frame_writer(server, tmp_path), screen.watcher(server))
        with connected(server) as client:
            show(client, 0, fourcc)
    with_alpha = load(tmp_path / "frame-00000-shown-00200000.png")
    assert np.array_equal(taken(screen).pixels, with_alpha[:, :, :taken(screen).pixels.shape[2]])


def test_a_frame_of_an_impossible_size_is_left_out(screen: Screen, server: Server) -> None:
    with connected(server) as client:
        show(client, 0, width=60000)
        show(client, 1)
        assert client.run(BATCH) == 0
        assert taken(screen).serial == 1


def test_the_name_of_a_picture_is_no_path(screen: Screen, server: Server) -> None:
    with FakeClient(server.directory, program="../a b") as client:
        client.bind(BATCH, 0x10000, 0x10000)
        client.bind(0x200000, 0x10000, 0x20000)
        show(client, 0)
        assert taken(screen).name == "_a_b-frame-00000.png"
