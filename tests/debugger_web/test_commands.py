"""The commands of `gen4emu debug --web` over its socket: those of the shell, and those of the view."""

from __future__ import annotations

import base64
import json
import os
import queue
import signal
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import gen4emu
from gen4emu.cli.main import run
from gen4emu.debugger_web import app
from gen4emu.debugger_web.app import WebDebugger
from gen4emu.device.options import Options
from gen4emu.loopback.messages import json_text
from gen4emu.report.record import Choices, Recorder
from gen4emu.selection import Selection
from gen4emu.trace.reader import open as open_trace
from tests.loopback.client import Client

TRACES = Path(__file__).parents[2] / "traces"
GEARS = TRACES / "gears-g4x.aub.xz"


def serving(path: Path, **more: object) -> WebDebugger:
    made = WebDebugger(lambda: open_trace(str(path), again=True, **more), str(path), None, Options())  # type: ignore[arg-type]  # options by name
    made.start()
    return made


@pytest.fixture(scope="module")
def debugger() -> Iterator[WebDebugger]:
    made = serving(GEARS)
    yield made
    made.close()


@pytest.fixture
def client(debugger: WebDebugger) -> Iterator[Client]:
    with Client(debugger.server.url) as made:
        assert made.sign_in(take_over=True)["kind"] == "hello"
        yield made


def lines(reply: dict[str, object]) -> list[str]:
    answers = reply["answers"]
    assert isinstance(answers, list)
    return [line for answer in answers for line in answer["lines"]]


def test_commands_answer_with_lines_and_data(client: Client) -> None:
    reply = client.ask("draw 3")
    assert reply["prompt"] == "(draw 3)" and reply["before_draw"] and not reply["stopped"]
    assert lines(reply)[0].startswith("draw 3: 3DPRIMITIVE TRILIST")
    reply = client.ask("trap pixel 70 200")
    assert lines(reply) == ["trap 1: pixel 70 200"]
    assert client.ask("list")["answers"][0]["items"] == [{"number": 1, "text": "pixel 70 200", "hits": 0}]
    client.ask("delete all")
    reply = client.ask("nonsense")
    assert reply["answers"][0]["kind"] == "error" and "unknown command" in reply["answers"][0]["error"]


def test_answers_are_those_of_the_terminal(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-q", "debug", str(GEARS), "-c", "draw 3", "-c", "history 128 180"]) == 0
    wanted = capsys.readouterr().out.splitlines()
    assert lines(client.ask("draw 3")) + lines(client.ask("history 128 180")) == wanted


def test_pictures_are_those_of_replay(client: Client, tmp_path: Path) -> None:
    assert run(["-q", "replay", str(GEARS), "-o", str(tmp_path), "--draws", "2,3"]) == 0
    before, after = sorted(tmp_path.glob("*color*.png"))
    for when, path in (("after", after), ("before", before)):
        reply = client.ask(f"picture 3 {when}")
        rgba = np.frombuffer(reply["bytes"], np.uint8).reshape(reply["height"], reply["width"], 4)
        with Image.open(path) as image:
            assert np.array_equal(rgba, np.array(image.convert("RGBA")))
        assert [title.split()[0] for title in reply["targets"]] == ["color", "depth"]
    reply = client.ask("picture 3 after 1")
    depth = np.frombuffer(reply["bytes"], "<u2").reshape(reply["height"], reply["width"])
    assert reply["wide"] and depth.max() == 0xFFFF and depth.min() < 0xFFFF


@pytest.mark.parametrize(("draw", "index", "verdict", "fates"), [
    (4, 0, "drawn last by draw 3, object 814, ps kernel 0x0014f200", ["written"] * 5),
    (4, 1, "drawn last by draw 3, object 814, ps kernel 0x0014f200", ["written"] * 5 + ["depth_only"]),
    (2, 0, "drawn last by draw 1, object 2, ps kernel 0x00150000", ["written"]),
    (0, 0, "only depth written, last by draw 0, object 0", ["depth_only"])])
def test_a_pixel_has_a_verdict_and_the_fates_of_its_fragments(client: Client, draw: int, index: int, verdict: str,
                                                              fates: list[str]) -> None:
    reply = client.ask(f"pixel {draw} 160 140 {index}")
    assert reply["verdict"] == verdict
    assert [entry["fate"] for entry in reply["entries"]] == fates
    assert all(entry["draw"] <= draw for entry in reply["entries"]) and reply["more"] == 0


def test_numbers_that_json_lacks_are_strings() -> None:
    assert json_text({"a": [1.5, float("nan"), (float("-inf"),)]}) == '{"a": [1.5, "nan", ["-inf"]]}'


def test_memory_as_bytes_as_a_struct_and_as_a_picture(client: Client) -> None:
    reply = client.ask("memory 0x0010e000 64 3")
    assert reply["address"] == 0x10E000 and len(reply["bytes"]) == 64
    assert reply["bytes"] != client.ask("memory 0x0010e000 64 0")["bytes"], "draw 1 clears the target"
    assert "WM_STATE" in client.ask("struct 3")["names"]
    reply = client.ask("struct COLOR_CALC_STATE 0x001093c0 3")
    assert reply["bytes"] == 32 and ["color_buffer_blend_enable", "false", 0] in reply["fields"]
    picture = client.ask("picture 3")
    images = [client.ask(f"image 0x0010e000 B8G8R8A8_UNORM 256 256 1024 {tiling} 3")["bytes"]
              for tiling in ("linear", "x", "y")]
    assert images.count(picture["bytes"]) == 1, "one of the tilings is that of the target"


def planes(reply: dict[str, object]) -> dict[str, int]:
    """The sums of the overlays of a chunk."""
    chunk = reply["chunk"]
    assert isinstance(chunk, str)
    data = zlib.decompress(base64.b64decode(chunk))
    size = int.from_bytes(data[:4], "little")
    head = json.loads(data[4:4 + size])
    found, at = {}, 4 + size
    for plane in head["planes"]:
        end = at + plane["bytes"] * head["width"] * head["height"]
        found[plane["name"]] = int(np.frombuffer(data[at:end], f"<u{plane['bytes']}").sum())
        at = end
    return found


def test_overlays_of_any_draw_are_its_counters(client: Client) -> None:
    with gen4emu.open(GEARS) as trace:
        counters = {draw.number: draw.counters.fragments for draw in trace.draws(counting=True)}
    for draw in (4, 2, 3):  # also backwards
        found = planes(client.ask(f"maps {draw}"))
        assert (found["written"], found["depth failed"]) == (
            counters[draw].written, counters[draw].early_depth_failed + counters[draw].late_depth_failed)
    so_far = planes(client.ask("maps 4 1"))
    assert so_far["written"] == sum(counters[draw].written for draw in (1, 2, 3, 4))
    assert planes(client.ask("maps 4 3"))["written"] == counters[3].written + counters[4].written


def test_the_mesh_of_any_draw_is_that_of_the_report(client: Client) -> None:
    with open_trace(str(GEARS), again=True) as trace:
        recorded = Recorder(trace, None, "gears", Choices(full=Selection.parse("2-4"))).record()
    for draw in (4, 2):
        assert client.ask(f"mesh {draw}")["chunk"] == recorded.chunks[f"mesh-{draw}"]


def test_a_dword_names_the_draw_that_wrote_it(client: Client) -> None:
    assert client.ask("change 0x0010e000 4 5")["text"] == "written by draw 1"
    assert client.ask("change 0x0010e000 4 0")["text"] == "never written"
    assert client.ask("change 0x003ab000 16 4")["text"] == "uploaded before draw 0"


def test_struct_and_image_of_the_debugger_need_no_draw(client: Client, tmp_path: Path) -> None:
    client.ask("draw 3")
    assert lines(client.ask("struct SURFACE_STATE 0x0010d0e0"))
    assert "SURFACE_STATE" in lines(client.ask("struct"))
    client.ask(f"image {tmp_path / 'x.png'} 0x0010e000 B8G8R8A8_UNORM 256 256 1024 x")
    assert (tmp_path / "x.png").exists()


def test_an_edited_register_changes_the_live_picture_only(client: Client) -> None:
    for command in ("restart", "delete all", "trap pixel 160 140 object 814", "draw 3", "continue", "delete all"):
        reply = client.ask(command)
    assert reply["stopped"]
    client.ask("set g4.3:f 1")
    client.ask("next")
    found = client.ask("live 3")
    assert found["place"] == "draw 4"
    live, original = (np.frombuffer(data, np.uint8).reshape(256, 256, 4)
                      for data in (found["bytes"], client.ask("picture 3")["bytes"]))
    changed = np.argwhere((live != original).any(axis=2)).tolist()
    assert changed == [[140, 160], [141, 161], [142, 162], [143, 163], [144, 164]]
    assert (live[140, 160, 0], original[140, 160, 0]) == (255, 0)


def test_draws_are_reached_in_any_order(client: Client) -> None:
    first = {draw: client.ask(f"picture {draw}")["bytes"] for draw in (5, 0, 3, 4, 2)}
    second = {draw: client.ask(f"picture {draw}")["bytes"] for draw in (2, 5, 3, 0, 4)}
    assert first == second and len(set(first.values())) == 5


@pytest.mark.parametrize(("command", "error"), [
    ("picture", "usage: picture"), ("picture x", "draw must be a number"), ("picture 3 sideways", "usage: picture"),
    ("picture 3 after 9", "target must be 0 to 1"), ("picture 99", "99"),
    ("picture 0 before", "draw 0 has no draw before it"),
    ("picture 'x", "quotation"), ("chunk ../../etc/passwd", "no data"), ("chunk ", "no data"),
    ("x\ny", "one line"),
    ("memory 0 65537 3", "size must be"), ("memory 0 4", "usage: memory"),
    ("struct NOTHING 0 3", "unknown block"), ("image 0 X 1 1 1 x 3", "unknown format"),
    ("image 0 B8G8R8A8_UNORM 8192 9000 1 x 3", "height must be"), ("image 0 R8_UNORM 1 1 1 z 3", "unknown tiling"),
    ("maps", "usage: maps"), ("maps 3 4", "first draw must be"),
    ("mesh 3 3", "usage: mesh"), ("mesh 77", "77"), ("change 0 4", "usage: change"),
    ("pixel 3 1", "usage: pixel"), ("live", "usage: live"), ("live 3 7", "target must be"),
    ("pixel 3 9000 1", "x must be 0 to"), ("pixel 77 1 1", "77"), ("tree 3 1 1", "usage: tree"),
    ("tree 3 1 1 5", "object 5 of draw 3 has no fragment at 1,1")])
def test_impossible_commands_are_errors(client: Client, command: str, error: str) -> None:
    assert error in client.ask(command)["error"]
    assert client.ask("picture 3")["width"] == 256, "it still works"


def test_messages_without_id_or_command_are_errors(client: Client) -> None:
    for message in ({}, {"id": 1}, {"id": "x", "command": "help"}, {"id": 1, "command": "x" * 5000}):
        client.send(message)
    found = [client.receive()[1] for _ in range(5)]
    assert sum(b"expected an id and a command" in data for data in found) >= 4 - (len(found) - 4)


def test_the_report_is_there_in_chunks(client: Client) -> None:
    overview = client.overview()
    assert overview["counts"]["draws"] == 6 and overview["title"] == GEARS.name
    assert len(client.ask("chunk rows-0")["chunk"]) > 100


def test_a_picture_of_a_trace_of_the_seventh_generation() -> None:
    made = serving(TRACES / "later" / "triangle-ivb.aub.xz")
    try:
        with Client(made.server.url) as client:
            client.sign_in()
            assert client.overview()["counts"]["draws"] == 4
            assert len({client.ask(f"picture {draw}")["bytes"] for draw in range(4)}) > 1
    finally:
        made.close()


# --- hangs and damage -------------------------------------------------------------------------------------------------
def test_a_hang_is_a_message_and_the_debugger_continues(tmp_path: Path) -> None:
    batch = tmp_path / "h.bin"
    batch.write_bytes(struct.pack("<2I", 0x7A030201, 0x05000000))  # a command that swallows the end of the batch
    made = serving(batch, kind="raw", device="g45")
    try:
        with Client(made.server.url) as client:
            client.sign_in()
            for _ in range(2):
                answers = client.ask("continue")["answers"]
                assert [answer["kind"] for answer in answers] == ["hang"] and "the GPU hangs" in answers[0]["error"]
            assert "the GPU hangs" in client.ask("picture 0")["error"]
            assert client.overview()["band"].startswith("The GPU hangs in frame 0")
    finally:
        made.close()


# --- the program ------------------------------------------------------------------------------------------------------
def program(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", "gen4emu", "debug", *arguments], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"})


def test_ctrl_c_ends_it_at_once() -> None:
    process = program(str(GEARS), "--web")
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    with Client(url) as client:
        client.sign_in()
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert client.close_code() == 1001
        assert process.wait(20) == 130
        assert time.monotonic() - start < 10
    assert process.stderr is not None and process.stderr.read().strip() == ""
    with pytest.raises(OSError, match="refused"):
        Client(url)


def test_quit_ends_it_with_status_0() -> None:
    process = program(str(GEARS), "--web")
    assert process.stdout is not None
    with Client(process.stdout.readline().strip()) as client:
        client.sign_in()
        client.ask("quit")
        assert process.wait(20) == 0


class HandTimer:
    """Stands in for threading.Timer: its time is over when a test calls `end`."""

    started: queue.Queue[HandTimer]

    def __init__(self, seconds: float, function: Callable[[], None]) -> None:
        self.seconds, self.end = seconds, function
        self.cancelled = False

    def start(self) -> None:
        self.started.put(self)

    def cancel(self) -> None:
        self.cancelled = True


def test_the_last_page_ends_it_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    started = HandTimer.started = queue.Queue()
    monkeypatch.setattr(app, "Timer", HandTimer)
    made = serving(GEARS)
    try:
        with Client(made.server.url) as client:
            client.sign_in()
        first = started.get(timeout=20)
        with Client(made.server.url) as client:  # in time
            client.sign_in()
            assert first.cancelled
        last = started.get(timeout=20)
        assert last.seconds == app.LINGER_SECONDS and not last.cancelled
        assert not made._done.is_set()
        last.end()
        assert made._done.is_set()
    finally:
        made.close()


@pytest.mark.parametrize(("arguments", "text"), [
    (("missing.aub", "--web"), "missing.aub"), ((str(GEARS), "--port", "80"), "need --web"),
    (("-", "--web"), "is not a file"), ((str(GEARS), "--web", "-c", "help"), "excludes"),
    ((str(GEARS), "--open"), "need --web")])
def test_wrong_options_are_status_2(arguments: tuple[str, ...], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["debug", *arguments]) == 2
    assert text in capsys.readouterr().err


def test_a_port_in_use_is_status_2(debugger: WebDebugger, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["debug", str(GEARS), "--web", "--port", str(debugger.server.port)]) == 2
    assert f"port {debugger.server.port} of 127.0.0.1: Address already in use" in capsys.readouterr().err
