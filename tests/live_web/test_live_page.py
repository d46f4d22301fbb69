"""`run --web`: its socket, and its page in a browser."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from gen4emu.cli.main import run
from gen4emu.device.options import Options
from gen4emu.hw.chips import BY_NAME
from gen4emu.image.compare import load
from gen4emu.live.frames import frame_writer, watch_frames
from gen4emu.live.screen import Screen
from gen4emu.live.server import Server
from gen4emu.live_web.app import WebView, page_files
from gen4emu.loopback.websocket import CloseCode
from tests.live import real_client
from tests.live.frame_client import BATCH, connected, is_held, load_when_written, show
from tests.live.real_client import needs_client
from tests.loopback.client import Client, exchange, handshake, request, status
from tests.report.browser import Page, browser, chromium

HOSTILE = "<img src=x onerror=document.title='owned'>"
needs_chromium = [pytest.mark.client, pytest.mark.skipif(chromium() is None, reason="chromium is not installed")]


@pytest.fixture
def screen() -> Screen:
    return Screen()


@pytest.fixture
def view(screen: Screen) -> Iterator[WebView]:
    made = WebView(screen, HOSTILE, "g45")
    made.start()
    yield made
    made.end("The test has ended.")


@pytest.fixture
def server(view: WebView, screen: Screen, tmp_path: Path) -> Iterator[Server]:
    """A server that also writes the frames as files."""
    with Server(BY_NAME["g45"], Options(workers=1), quiet=True) as made:
        watch_frames(made, frame_writer(made, tmp_path / "frames"), screen.watcher(made))
        yield made
        screen.end()


@contextmanager
def signed_in(view: WebView) -> Iterator[Client]:
    with Client(view.server.url) as client:
        hello = client.sign_in()
        assert (hello["kind"], hello["title"], hello["device"], hello["paused"]) == ("hello", HOSTILE, "g45", False)
        yield client


def rgba(reply: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(reply["bytes"], np.uint8).reshape(reply["height"], reply["width"], 4)


# --- the socket -------------------------------------------------------------------------------------------------------
def test_frames_are_those_that_frames_writes(view: WebView, server: Server, tmp_path: Path) -> None:
    with connected(server) as program, signed_in(view) as client:
        for number, fourcc in enumerate((b"XR24", b"AR24", b"RG16", b"XR30")):
            show(program, number, fourcc)
            reply = client.ask("next")
            assert (reply["frame"], reply["shown"], reply["left_out"]) == (number, True, 0)
            png = client.ask("png")
            assert png["name"] == f"fake-frame-{number:05}.png"
            assert program.run(BATCH) == 0
            written = load_when_written(tmp_path / "frames" / f"frame-{number:05}-shown-00200000.png")
            assert np.array_equal(rgba(reply)[:, :, :3], written[:, :, :3]), fourcc
            assert (rgba(reply)[:, :, 3] == 255).all()
            (tmp_path / "saved.png").write_bytes(png["bytes"])
            assert np.array_equal(load(tmp_path / "saved.png"), written)


def test_only_the_latest_frame_is_sent_and_the_others_are_counted(view: WebView, server: Server) -> None:
    with connected(server) as program, signed_in(view) as client:
        show(program, 0)
        assert client.ask("next")["frame"] == 0
        for number in range(1, 6):
            show(program, number)
        assert program.run(BATCH) == 0, "the program does not wait for the page"
        reply = client.ask("next")
        assert (reply["frame"], reply["left_out"]) == (5, 4)


def test_a_picture_that_has_not_changed_is_not_sent_again(view: WebView, server: Server) -> None:
    with connected(server) as program, signed_in(view) as client:
        for number in (0, 0):
            show(program, number)
            reply = client.ask("next")
        assert reply["frame"] == 1 and "bytes" not in reply
        show(program, 1)
        assert "bytes" in client.ask("next")


def test_a_page_learns_that_the_server_does_not_answer(view: WebView, screen: Screen) -> None:
    with signed_in(view) as client:
        screen.problem = "the device server does not answer"
        client.send({"id": 1, "command": "next"})
        _, data = client.receive()
        assert json.loads(data) == {"kind": "lost", "error": "the device server does not answer"}


def test_a_new_page_gets_the_latest_frame(view: WebView, server: Server) -> None:
    with connected(server) as program:
        show(program, 0)
        for _ in range(2):
            with signed_in(view) as client:
                assert "bytes" in client.ask("next")


def test_pause_step_and_resume(view: WebView, server: Server) -> None:
    with connected(server) as program, signed_in(view) as client:
        assert client.ask("pause")["paused"] is True
        show(program, 0)
        assert client.ask("next")["frame"] == 0
        program.start(BATCH)
        assert is_held(program)
        assert client.ask("step")["paused"] is True
        program.receive("result")
        show(program, 1)
        assert client.ask("next")["frame"] == 1
        program.start(BATCH)
        assert is_held(program)
        assert client.ask("resume")["paused"] is False
        program.receive("result")


def test_a_page_that_leaves_ends_its_pause(view: WebView, server: Server) -> None:
    with connected(server) as program:
        with signed_in(view) as client:
            client.ask("pause")
            show(program, 0)
            assert client.ask("next")["frame"] == 0
            program.start(BATCH)
            assert is_held(program)
        program.receive("result")
        show(program, 1)
        assert program.run(BATCH) == 0


def test_messages_that_are_not_understood_are_answered(view: WebView) -> None:
    with signed_in(view) as client:
        assert client.ask("png")["error"] == "no frame has been shown"
        assert client.ask("__init__")["error"] == "unknown command '__init__'"
        client.send({"id": "x"})
        assert b"expected an id and a command" in client.receive()[1]
        for number in range(40):
            client.send({"id": 100 + number, "command": "next"})
        assert b"requests are waiting" in client.receive()[1]


def test_foreign_hosts_origins_and_tokens_are_refused(view: WebView) -> None:
    port = view.server.port
    assert status(exchange(port, request(port, Host="evil.example"))) == 403
    assert status(exchange(port, handshake(port, Origin="http://evil.example"))) == 403
    with Client(view.server.url) as client:
        client.send({"token": "wrong"})
        assert client.close_code() == CloseCode.NOT_ALLOWED
    for path in page_files():
        answer = exchange(port, request(port, path))
        assert status(answer) == 200 and view.server.token.encode() not in answer
    assert status(exchange(port, request(port, "/app.py"))) == 404


def test_the_last_frame_arrives_before_the_end(view: WebView, server: Server) -> None:
    with connected(server) as program, signed_in(view) as client:
        show(program, 0)
        assert program.run(BATCH) == 0
        ending = threading.Timer(0.2, view.end, ("It is over.",))
        ending.start()
        assert client.ask("next")["frame"] == 0
        assert client.close_code() == CloseCode.GOING_AWAY
        ending.join()


def test_a_port_in_use_is_an_error_before_the_program_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert run(["run", "--web", "--port", str(port), "--", "touch", str(tmp_path / "made")]) == 2
    assert f"port {port} of 127.0.0.1: Address already in use" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()


def test_a_program_that_does_not_start_frees_the_port(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "--web", "--", "/no/such/program"]) == 127
    address = capsys.readouterr().err.split("/#token")[0].rpartition(":")[2]
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", int(address)))


@pytest.mark.parametrize(("arguments", "message"), [
    (["--web", "--window"], "--web and --window exclude each other"),
    (["--port", "1000"], "--port and --open need --web"),
    (["--open"], "--port and --open need --web"),
    (["--web", "--attach", "/"], "belong to the server, not to --attach")])
def test_options_that_do_not_fit_are_refused(arguments: list[str], message: str,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", *arguments, "--", "true"]) == 2
    assert message in capsys.readouterr().err


# --- real programs ----------------------------------------------------------------------------------------------------
@contextmanager
def watched(*command: str, arguments: tuple[str, ...] = ()) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`run --web` and the address of its page."""
    process = subprocess.Popen([sys.executable, "-m", "gen4emu", "run", "--web", *arguments, "--", *command],
                               stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True,
                               env=real_client.environment())
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith(f"gen4emu: watch {Path(command[0]).name} at http://127.0.0.1:"), line
        yield process, line.split()[-1]
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(timeout=real_client.TIMEOUT)


def script(path: Path, *lines: str) -> str:
    """A program that waits for the file `go` after these lines."""
    path.write_text("\n".join(["#!/bin/sh", *lines]))
    path.chmod(0o755)
    return str(path)


@needs_client
def test_a_real_program_is_shown_and_its_status_is_kept(tmp_path: Path) -> None:
    scene = f"{real_client.scenes('gl')} gears {tmp_path}/x.raw 64 2"
    program = script(tmp_path / "app", f"while [ ! -e {tmp_path}/go ]; do sleep 0.05; done", scene, "exit 7")
    with watched(program) as (process, url), Client(url) as client:
        assert client.sign_in()["title"] == "app"
        (tmp_path / "go").touch()
        reply = client.ask("next")
        assert not reply["shown"] and reply["draws"] > 0 and reply["program"] == "scenes-gl"
        code = client.close_code()
        assert code == CloseCode.GOING_AWAY
        assert process.wait(timeout=real_client.TIMEOUT) == 7


@needs_client
def test_an_interrupt_ends_a_program_that_is_paused(tmp_path: Path) -> None:
    command = (real_client.scenes("gl"), "gears", str(tmp_path / "x.raw"), "64", "100000")
    with watched(*command) as (process, url), Client(url) as client:
        client.sign_in()
        client.ask("next")
        client.ask("pause")
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(timeout=real_client.TIMEOUT) == 130


# --- the page ---------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def opened(page: Page, view: WebView) -> Iterator[Page]:
    """The page, which must print nothing and load nothing but its own files."""
    page.send("Page.navigate", url="about:blank")
    page.console.clear()
    page.requests.clear()
    page.send("Page.navigate", url=view.server.url)
    page.wait("document.querySelector('.boot')?.textContent === 'The program has shown no frame yet.'")
    yield page
    assert page.console == []
    places = (f"http://{view.server.host}/", "blob:", "data:,")
    assert [url for url in page.requests if not url.startswith(places)] == []


def facts(page: Page, start: str) -> str:
    """The line of facts, once it begins so."""
    text = "(document.querySelector('.facts')?.textContent ?? '')"
    return str(page.wait(f"{text}.startsWith({start!r}) && {text}"))


def press(page: Page, text: str) -> None:
    page.evaluate(f"[...document.querySelectorAll('.steps button')].find(b => b.textContent === {text!r}).click()")


def canvas(page: Page) -> np.ndarray:
    """The canvas with its picture at 1:1."""
    page.evaluate("[...document.querySelectorAll('.picture button')].find(b => b.textContent === '1:1').click()")
    uri = page.evaluate("document.querySelector('.picture canvas').toDataURL()")
    with Image.open(BytesIO(base64.b64decode(uri.partition(",")[2]))) as image:
        return np.array(image.convert("RGB"))


def holds(whole: np.ndarray, picture: np.ndarray) -> bool:
    """Whether a picture is in the middle of a larger one, but for its frame of a pixel."""
    height, width = picture.shape[:2]
    top, left = (whole.shape[0] - height) // 2, (whole.shape[1] - width) // 2
    return any(np.array_equal(whole[y + 2:y + height - 2, x + 2:x + width - 2], picture[2:-2, 2:-2])
               for y in range(top - 1, top + 2) for x in range(left - 1, left + 2))


def draw(program: Any, number: int) -> None:
    """Show a frame whose pixels all differ from each other and from those of other frames."""
    for row in range(16):
        program.words(0x20000 + 512 * row, *(0x010101 * number + 0x000400 * row + 2 * x for x in range(128)))
    show(program, number)


class TestPage:
    pytestmark = needs_chromium

    def test_the_canvas_shows_the_frames_of_the_program(self, opened: Page, server: Server, tmp_path: Path) -> None:
        with connected(server) as program:
            for number in range(3):
                draw(program, number)
                text = facts(opened, f"fake on g45 · frame {number} · ")
                assert text.endswith("0 draws · 0 objects · 0 EU instructions · 128x16")
                assert program.run(BATCH) == 0
                picture = load_when_written(tmp_path / "frames" / f"frame-{number:05}-shown-00200000.png")
                assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 500
                assert holds(canvas(opened), picture), number

    def test_a_hostile_name_stays_text(self, opened: Page) -> None:
        assert opened.evaluate("document.querySelector('h1').textContent") == HOSTILE
        assert opened.evaluate("document.title") == f"{HOSTILE}: gen4emu"
        assert opened.evaluate("document.querySelectorAll('img').length") == 0

    def test_buttons_and_keys_pause_and_step(self, opened: Page, server: Server) -> None:
        with connected(server) as program:
            press(opened, "pause")
            opened.wait("document.querySelector('.steps button').textContent === 'resume'")
            draw(program, 0)
            facts(opened, "fake on g45 · frame 0 · ")
            program.start(BATCH)
            assert is_held(program)
            opened.key(".")
            program.receive("result")
            draw(program, 1)
            facts(opened, "fake on g45 · frame 1 · ")
            program.start(BATCH)
            assert is_held(program)
            opened.key(" ")
            opened.wait("document.querySelector('.steps button').textContent === 'pause'")
            program.receive("result")

    def test_a_picture_is_saved_as_frames_writes_it(self, opened: Page, server: Server, tmp_path: Path) -> None:
        opened.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
        with connected(server) as program:
            draw(program, 0)
            facts(opened, "fake on g45 · frame 0 · ")
            press(opened, "save PNG")
            saved = load_when_written(tmp_path / "fake-frame-00000.png")
        assert np.array_equal(saved, load(tmp_path / "frames" / "frame-00000-shown-00200000.png"))

    def test_the_page_says_how_the_program_has_ended_and_keeps_its_last_frame(self, opened: Page, server: Server,
                                                                              view: WebView) -> None:
        with connected(server) as program:
            draw(program, 0)
            assert program.run(BATCH) == 0
        view.end("fake has ended with status 3.")
        opened.wait("document.querySelector('.band.ended')?.textContent === 'fake has ended with status 3.'")
        assert facts(opened, "fake on g45 · frame 0 · ")
        assert opened.evaluate("[...document.querySelectorAll('.steps button')].every(b => b.disabled "
                               "&& getComputedStyle(b).opacity < 0.6)")

    def test_no_fact_is_cut_off_in_a_narrow_window(self, opened: Page, server: Server) -> None:
        opened.resize(600, 800)
        try:
            with connected(server) as program:
                draw(program, 0)
                facts(opened, "fake on g45 · frame 0 · ")
            assert opened.evaluate("""(() => { const box = document.querySelector('.facts');
                return box.scrollWidth <= box.clientWidth && box.scrollHeight <= box.clientHeight; })()""")
        finally:
            opened.resize(1280, 800)

    def test_a_page_that_is_closed_lets_the_program_go_on(self, opened: Page, server: Server) -> None:
        with connected(server) as program:
            press(opened, "pause")
            opened.wait("document.querySelector('.steps button').textContent === 'resume'")
            draw(program, 0)
            program.start(BATCH)
            assert is_held(program)
            opened.send("Page.navigate", url="about:blank")
            program.receive("result")

    def test_the_token_leaves_the_address_and_survives_a_reload(self, opened: Page, server: Server,
                                                                view: WebView) -> None:
        assert view.server.token not in opened.evaluate("location.href")
        with connected(server) as program:
            draw(program, 0)
            opened.evaluate("window.before = true")
            opened.send("Page.reload")
            opened.wait("!window.before")
            facts(opened, "fake on g45 · frame 0 · ")

    def test_a_wrong_token_is_a_message(self, page: Page, view: WebView) -> None:
        page.send("Page.navigate", url="about:blank")
        page.send("Page.navigate", url=f"http://{view.server.host}/#token=wrong")
        page.wait("document.querySelector('.band.ended')?.textContent === 'wrong token'")

    def test_a_second_page_asks_before_it_takes_over(self, opened: Page, view: WebView, tmp_path: Path) -> None:
        with browser(tmp_path / "second") as second:
            second.send("Page.navigate", url=view.server.url)
            second.wait("document.querySelector('.boot button') !== null")
            second.evaluate("document.querySelector('.boot button').click()")
            second.wait("document.querySelector('.boot')?.textContent === 'The program has shown no frame yet.'")
            opened.wait("document.querySelector('.band.ended')?.textContent === 'Another page has taken over.'")
