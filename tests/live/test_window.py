"""`run --window`, on SDL's driver without a screen."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gen4emu.cli.main import run
from gen4emu.device.options import Options
from gen4emu.hw.chips import BY_NAME
from gen4emu.image.compare import load
from gen4emu.live.frames import frame_writer, watch_frames
from gen4emu.live.screen import Screen
from gen4emu.live.server import Server
from gen4emu.live.window import WindowView
from tests.live import real_client
from tests.live.frame_client import BATCH, connected, is_held, load_when_written, show, taken
from tests.live.real_client import needs_client

sdl2: Any = pytest.importorskip("sdl2", reason="the extra gen4emu[window] is not installed")


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def view(said: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[WindowView]:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.chdir(tmp_path)
    made = WindowView(Screen(), "fake on g45", said.append)
    yield made
    made.end("")


@pytest.fixture
def server(view: WindowView, tmp_path: Path) -> Iterator[Server]:
    with Server(BY_NAME["g45"], Options(workers=1), quiet=True) as made:
        watch_frames(made, frame_writer(made, tmp_path / "frames"), view._screen.watcher(made))
        yield made
        view._screen.end()


def look(view: WindowView, frame: int) -> None:
    """Until the window has this frame."""
    assert view.idle is not None
    while view._frame is None or view._frame.place.frame < frame:
        view.idle()


def send(view: WindowView, kind: int, key: int = 0) -> None:
    event = sdl2.SDL_Event()
    event.type = kind
    if key:
        event.key.keysym.sym = key
    assert sdl2.SDL_PushEvent(event) == 1
    assert view.idle is not None
    view.idle()


def title(view: WindowView) -> str:
    return str(sdl2.SDL_GetWindowTitle(view._window).decode())


def test_the_window_shows_the_pixels_that_frames_writes(view: WindowView, server: Server, tmp_path: Path) -> None:
    with connected(server) as client:
        for number, fourcc in enumerate((b"XR24", b"AR24", b"RG16")):
            show(client, number, fourcc)
            look(view, number)
            path = tmp_path / "frames" / f"frame-{number:05}-shown-00200000.png"
            assert client.run(BATCH) == 0
            assert np.array_equal(view.read(), load_when_written(path)[:, :, :3]), fourcc
    assert title(view).startswith("fake on g45 - frame 0 - ")


def test_the_window_follows_the_size_of_the_picture(view: WindowView, server: Server) -> None:
    with connected(server) as client:
        show(client, 0)
        look(view, 0)
        assert view.read().shape == (16, 128, 3)
        show(client, 1, width=64)
        look(view, 1)
        assert view.read().shape == (16, 64, 3)


def test_keys_pause_step_and_save(view: WindowView, server: Server, said: list[str], tmp_path: Path) -> None:
    with connected(server) as client:
        show(client, 0)
        look(view, 0)
        send(view, sdl2.SDL_KEYDOWN, sdl2.SDLK_SPACE)
        show(client, 1)
        look(view, 1)
        assert title(view).endswith("draws - paused")
        client.start(BATCH)
        assert is_held(client)
        send(view, sdl2.SDL_KEYDOWN, sdl2.SDLK_PERIOD)
        client.receive("result")
        show(client, 2)
        look(view, 2)
        send(view, sdl2.SDL_KEYDOWN, sdl2.SDLK_s)
        assert said == ["fake-frame-00002.png: written"]
        assert np.array_equal(load(tmp_path / "fake-frame-00002.png")[:, :, :3], view.read())
        send(view, sdl2.SDL_KEYDOWN, sdl2.SDLK_SPACE)
        assert client.run(BATCH) == 0


def test_closing_the_window_ends_a_pause_and_not_the_program(view: WindowView, server: Server, said: list[str]) -> None:
    with connected(server) as client:
        view._screen.pause()
        show(client, 0)
        look(view, 0)
        client.start(BATCH)
        assert is_held(client)
        send(view, sdl2.SDL_QUIT)
        client.receive("result")
        assert said == ["the window is closed; the program continues"]
        show(client, 1)
        assert taken(view._screen, 1).place.frame == 1
        assert view.idle is not None
        view.idle()


def test_an_error_of_sdl_closes_the_window_and_not_the_program(view: WindowView, server: Server, said: list[str],
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdl2, "SDL_UpdateTexture", lambda *_: -1)
    with connected(server) as client:
        show(client, 0)
        look(view, 0)
        assert said and said[0].startswith("--window: ") and view._is_closed
        assert client.run(BATCH) == 0


def test_a_display_that_is_missing_is_an_error_before_the_program_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                                                       capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "none-such")
    assert run(["run", "--window", "--", "touch", str(tmp_path / "made")]) == 2
    assert "--window: " in capsys.readouterr().err and not (tmp_path / "made").exists()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "sdl2", None)
    assert run(["run", "--window", "--", "true"]) == 2
    assert "pip install 'gen4emu[window]'" in capsys.readouterr().err


@needs_client
def test_a_real_program_runs_with_a_window(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gen4emu", "run", "--window", "--", real_client.scenes("gl"), "gears",
         str(tmp_path / "x.raw"), "64", "2"], capture_output=True, text=True, timeout=real_client.TIMEOUT, check=False,
        env=real_client.environment(SDL_VIDEODRIVER="dummy"))
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "x.raw").stat().st_size == 2 * 64 * 64 * 4
