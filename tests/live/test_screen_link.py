"""A screen in another process: frames and orders pass, and a server that sends nonsense harms nothing."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest

from gen4emu.device.place import Place
from gen4emu.live import screen_link
from gen4emu.live.screen import Frame, Screen
from gen4emu.live.screen_link import ScreenLink


def frame(pixels: np.ndarray, serial: int = 1) -> Frame:
    return Frame(serial, "<b>app</b>", Place(3, 2, 1), True, pixels, 10, 20, 30, 59.5)


@pytest.fixture
def link() -> ScreenLink:
    return ScreenLink()


def serving(link: ScreenLink, screen: Screen) -> None:
    """Both ends in this process: what `serve` closes in another one stays open."""
    remote, link.remote = link.remote, type("", (), {"close": lambda self: None})()
    link.serve(screen)
    link.remote = remote
    remote.is_lost = False


@pytest.mark.parametrize("pixels", [
    np.arange(24, dtype=np.uint8).reshape(2, 3, 4), np.array([[0, 65535]], np.uint16),
    np.arange(16, dtype=np.uint8).reshape(4, 4)[:, ::2]])
def test_a_frame_is_the_same_on_both_sides(pixels: np.ndarray, link: ScreenLink) -> None:
    screen = Screen()
    serving(link, screen)
    assert link.remote.take(0, 0) is None
    screen.put(lambda serial, rate: frame(pixels, serial))
    found = link.remote.take(0, 5)
    assert found is not None and found.pixels.dtype == pixels.dtype
    assert np.array_equal(found.pixels, pixels)
    wanted = frame(pixels)
    assert all(getattr(found, name) == getattr(wanted, name) for name in Frame.__slots__ if name != "pixels")
    assert link.remote.take(found.serial, 0) is None


def test_orders_pass_while_a_view_waits_for_a_frame(link: ScreenLink) -> None:
    screen = Screen()
    serving(link, screen)
    waiting = threading.Thread(target=link.remote.take, args=(0, 1))
    waiting.start()
    link.remote.pause()
    until = time.monotonic() + 0.9
    while not screen.paused and time.monotonic() < until:
        time.sleep(0.001)
    assert screen.paused and waiting.is_alive()
    waiting.join()
    link.remote.resume()
    while screen.paused:
        time.sleep(0.001)


def test_a_program_that_is_paused_goes_on_when_the_view_has_ended(link: ScreenLink) -> None:
    screen = Screen()
    serving(link, screen)
    screen.pause()
    link.remote.close()
    screen.put(lambda serial, rate: frame(np.zeros((1, 1, 4), np.uint8), serial))  # would wait


GOOD = {"height": 1, "width": 1, "channels": 4, "item": 1, "program": "p", "is_shown": True, "place": [0, 0, 0],
        "rate": 1.0, "serial": 1, "draws": 0, "objects": 0, "instructions": 0}


@pytest.mark.parametrize("messages", [
    [b"nonsense"], [b"[]"], [b"{}"], [json.dumps(GOOD | {"height": 1 << 20}).encode()],
    [json.dumps(GOOD | {"height": float("inf")}).encode()],
    [json.dumps(GOOD | {"channels": -1}).encode()], [json.dumps(GOOD | {"item": 8}).encode()],
    [json.dumps(GOOD | {"place": [1]}).encode(), bytes(4)], [json.dumps(GOOD).encode(), bytes(3)],
    [json.dumps(GOOD).encode(), bytes(5)], [b"[" * 100_000], []])
def test_nonsense_of_a_server_is_no_frame(messages: list[bytes], link: ScreenLink) -> None:
    server: Connection = link._frames
    for message in messages:
        server.send_bytes(message)
    link.leave()
    assert link.remote.take(0, 0.01) is None
    started = time.monotonic()
    assert link.remote.take(0, 0.05) is None
    assert time.monotonic() - started >= 0.05, "a view that asks again and again must not be busy"
    link.remote.pause()


@pytest.mark.parametrize("messages", [[], [b"\0\0"], [b"\0\0\0\x04nul"]])
def test_a_server_that_does_not_answer_is_reported_once(messages: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that begins an answer: a length of four bytes, and the bytes."""
    monkeypatch.setattr(screen_link, "_ANSWER_SECONDS", 0.2)
    said: list[str] = []
    link = ScreenLink(said.append)
    server = os.dup(link._frames.fileno())  # stays open, and silent
    for message in messages:
        os.write(server, message)
    link.leave()
    started = time.monotonic()
    assert link.remote.take(0, 0.01) is None
    assert time.monotonic() - started < 5
    assert link.remote.take(0, 0.01) is None
    assert said == ["the device server does not answer: no more frames are shown"] == [link.remote.problem]
    os.close(server)


def test_orders_that_a_server_does_not_read_do_not_stop_the_view(link: ScreenLink) -> None:
    orders = os.dup(link._orders.fileno())
    link.leave()
    for _ in range(5000):
        link.remote.pause()
    os.close(orders)


def test_a_view_of_a_server_that_did_not_start_waits_for_nothing(link: ScreenLink) -> None:
    assert link.remote.take(0, 0) is None
    link.remote.end()


def test_the_server_has_nothing_that_the_view_has_opened(link: ScreenLink, tmp_path: Path) -> None:
    kept = os.open(tmp_path / "kept", os.O_CREAT | os.O_WRONLY)
    view = link.made(lambda: socket.create_server(("127.0.0.1", 0)).detach())
    later = os.open(tmp_path / "later", os.O_CREAT | os.O_WRONLY)
    try:
        link.drop_view()
        assert os.readlink(f"/proc/self/fd/{view}") == os.devnull
        assert os.readlink(f"/proc/self/fd/{kept}").endswith("kept")
        assert os.readlink(f"/proc/self/fd/{later}").endswith("later")
    finally:
        for handle in (kept, view, later):
            os.close(handle)
