"""Back inside a draw: instructions and stops, with the bits that registers had."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import mkdtemp
from types import SimpleNamespace
from typing import Any

import pytest

from gen4emu.cli.main import run
from gen4emu.debugger.debugger import Debugger
from gen4emu.debugger.session import Session
from gen4emu.device.place import Place
from gen4emu.device.replay import Replay
from gen4emu.device.timeline import Bookmarks
from gen4emu.errors import Gen4emuError
from tests.harness.joined import join, join_submissions
from tests.harness.noted_replays import note_beginnings
from tests.live.real_client import TIMEOUT, client, environment, needs_client

TRACES = Path(__file__).parents[2] / "traces"
Text = pytest.CaptureFixture[str]
LOOK = ("thread", "regs")


def debug(capsys: Text, path: str, *commands: str, status: int = 0) -> list[dict[str, Any]]:
    arguments = [argument for command in commands for argument in ("-c", command)]
    assert run(["debug", path, "--json", *arguments]) == status
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def stops(lines: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(line["draw"], line["thread"]["stage"], line["thread"]["number"], line["address"], line["reason"])
            for line in lines if line["kind"] == "stop"]


def moments(lines: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Address, thread and registers, wherever `thread` and `regs` were said."""
    found = []
    address = None
    for line, following in pairwise(lines):
        if line["kind"] == "stop":
            address = line["address"]
        if "state" in line:
            found.append((address, line["thread"], line["state"], following["registers"]))
    return found


@pytest.mark.parametrize("begin", [("c", "delete 1"), ("c", "c")])
@pytest.mark.parametrize(("trace", "stage", "steps"), [
    ("texture-g4x", "vs", 6), ("texture-g4x", "wm", 4), ("gears-brw", "wm", 4), ("mandelbrot-g4x", "wm", 30),
    ("later/triangle-ivb", "vs", 4), ("later/triangle-hsw", "vs", 4), ("later/triangle-hsw", "wm", 1)])
def test_steps_back_show_what_the_steps_forward_showed(trace: str, stage: str, steps: int, begin: tuple[str, ...],
                                                       capsys: Text) -> None:
    forward = [command for _ in range(steps) for command in (*LOOK, "step")]
    back = [command for _ in range(steps) for command in ("reverse-step", *LOOK)]
    lines = debug(capsys, str(TRACES / f"{trace}.aub.xz"), f"trap every in {stage}", *begin, *forward, *LOOK, *back,
                  "reverse-step 1", status=2)
    assert "`reverse-continue` goes to the stop before" in lines[-1]["error"]
    found = moments(lines)
    there, here = found[:steps + 1], found[steps + 1:]
    assert here == there[-2::-1]
    assert len({address for address, *_ in there}) > min(steps, 16)


def execute_draws_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads do not go back by themselves."""
    monkeypatch.setattr(Debugger, "go_back", lambda self, stop, executed: False)


def count_replays(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """One entry for each replay of a session."""
    begun: list[bool] = []

    class Counted(Replay):
        def __init__(self, *arguments: Any, **more: Any) -> None:
            begun.append(True)
            super().__init__(*arguments, **more)

    monkeypatch.setattr("gen4emu.debugger.session.Replay", Counted)
    return begun


THERE_AND_BACK = ("step 3", "reverse-step 2", *LOOK, "reverse-step", *LOOK, "list", "step 4", *LOOK, "reverse-step 3",
                  *LOOK, "list", "step", *LOOK, "list")


@pytest.mark.parametrize(("trace", "begin"), [
    ("texture-g4x.aub.xz", ("trap pixel 100 100", "break opcode mul")),
    ("mandelbrot-g4x.aub.xz", ("trap pixel 100 100", "break opcode add flagged if g2:f > 100")),
    ("gears-brw.aub.xz", ("trap thread 20 in vs", "break opcode send in vs")),
    ("gears-g4x.aub.xz", ("trap thread 20 in sf", "break opcode mul in sf")),
    ("later/triangle-ivb.aub.xz", ("trap thread 0 in vs", "break opcode send in vs")),
    ("later/triangle-kbl.aub.xz", ("trap pixel 30 30", "break opcode pln")),
])
def test_a_thread_goes_back_by_itself_as_an_execution_of_the_draw_does(
        trace: str, begin: tuple[str, ...], capsys: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = [*begin, "c", *THERE_AND_BACK]
    with monkeypatch.context() as patched:
        execute_draws_again(patched)
        expected = debug(capsys, str(TRACES / trace), *commands)
    begun = count_replays(monkeypatch)
    assert debug(capsys, str(TRACES / trace), *commands) == expected
    assert len(begun) == 1


def test_what_a_user_has_changed_is_undone_by_a_step_back(capsys: Text) -> None:
    lines = debug(capsys, str(TRACES / "gears-g4x.aub.xz"), "trap pixel 100 100", "c", "step 2", "regs g2",
                  "set g2.0:f 7", "step", "reverse-step", "regs g2")
    was, back = (line["registers"] for line in lines if "registers" in line)
    assert back == was


def test_stops_on_the_way_to_a_draw_count_after_a_step_back_and_after_a_draw(capsys: Text) -> None:
    path = str(TRACES / "fbo-g4x.aub.xz")
    lines = debug(capsys, path, "trap pixel 100 100", "c", "step", "reverse-step", "draw 2", "draw 0", "draw 2")
    assert [draw for draw, *_ in stops(lines)] == [0, 0, 0, 1, 0]


def test_a_step_back_ends_the_way_to_a_draw_that_a_trap_has_interrupted(capsys: Text) -> None:
    path = str(TRACES / "fbo-g4x.aub.xz")
    stopped = debug(capsys, path, "trap pixel 100 100", "draw 3", "step 2", "regs g2")
    lines = debug(capsys, path, "trap pixel 100 100", "draw 3", "step 3", "reverse-step", "regs g2", "delete 1", "c")
    assert next(line for line in lines if "registers" in line) == stopped[-1]
    assert stops(lines)[-1] == stops(stopped)[-1], "nothing stops at the draw"


@cache
def atomics(device: str) -> str:
    """A capture whose pixel shaders have atomics in the middle."""
    path = str(Path(mkdtemp(prefix="gen4emu-test-")) / "atomics.g4c")
    command = [sys.executable, "-m", "gen4emu", "-q", "capture", "-d", device, "-o", path, "--", client("atomics")]
    subprocess.run(command, env=environment(EGL_PLATFORM="surfaceless"), check=True, timeout=TIMEOUT,
                   stdout=subprocess.DEVNULL)
    return path


@needs_client
@pytest.mark.parametrize("device", ["hsw", "kbl"])
def test_a_step_back_repeats_no_atomic(device: str, capsys: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    path = atomics(device)
    place = ("break message 0x8000 0x3c000 in wm", "c", "delete 1")  # an untyped atomic
    forward = [command for _ in range(12) for command in ("step", *LOOK)]
    back = [command for _ in range(12) for command in ("reverse-step", *LOOK)]
    commands = [*place, *LOOK, *forward, *back, "step 5", "reverse-step 5", *LOOK, *forward, "c"]
    begun = count_replays(monkeypatch)
    lines = debug(capsys, path, *commands)
    assert 1 < len(begun) < 6  # those that go back over an atomic
    found = moments(lines)
    assert found[13:26] == [*found[11::-1], found[0]]
    assert found[26:] == found[1:13]
    with monkeypatch.context() as patched:
        execute_draws_again(patched)
        assert debug(capsys, path, *commands) == lines


def test_a_step_back_begins_at_a_checkpoint_and_counts_as_the_trace_does(tmp_path: Path, capsys: Text,
                                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []

    class Counted(Replay):
        def __init__(self, *arguments: Any, at: Any = None, **more: Any) -> None:
            begun.append(0 if at is None else at.submissions)
            super().__init__(*arguments, at=at, **more)

    monkeypatch.setattr("gen4emu.debugger.session.Replay", Counted)
    monkeypatch.setattr("gen4emu.debugger.session.Bookmarks", lambda: Bookmarks(interval=0))
    execute_draws_again(monkeypatch)
    path = join(tmp_path / "joined.g4c", "fbo-g4x", "gears-g4x", "texture-g4x")
    lines = debug(capsys, path, "draw 6", "trap every in wm", "c", "c", "c", "step", *LOOK, "step 2", "reverse-step 2",
                  *LOOK, "list", "c", "list")
    first, again = moments(lines)
    assert again == first
    assert [line["items"][0]["hits"] for line in lines if "items" in line] == [3, 4]
    assert begun[-1] > 0


def test_back_to_the_stops_that_were(capsys: Text) -> None:
    path = str(TRACES / "fbo-g4x.aub.xz")
    lines = debug(capsys, path, "trap pixel 100 100", "break opcode send in wm flagged", "c", "c", "c", "c", "c",
                  *["reverse-continue"] * 4, "c", "reverse-continue", "list")
    forward = stops(lines)[:5]
    assert stops(lines)[5:] == [*forward[3::-1], forward[1], forward[0]]
    assert len({draw for draw, *_ in forward}) > 1
    assert [item["hits"] for item in lines[-1]["items"]] == [1, 0]
    assert debug(capsys, path, "trap pixel 100 100", "c", "reverse-continue", status=2)[-1]["error"] == (
        "no trap or breakpoint was hit before this")
    assert debug(capsys, path, "reverse-continue", status=2)[-1]["error"] == "there are no traps or breakpoints"


def test_back_from_the_end_to_the_last_write(capsys: Text) -> None:
    path = str(TRACES / "fbo-g4x.aub.xz")
    lines = debug(capsys, path, "c", "history 100 100", "break write 0..0xffff", "draw 0", "draw 3",
                  "trap pixel 100 100", "reverse-continue")
    assert stops(lines)[-1][0] == 2
    assert "trap 2" in stops(lines)[-1][4]


def test_back_to_a_stop_behind_a_message(capsys: Text) -> None:
    path = str(TRACES / "triangle-g4x.aub.xz")
    lines = debug(capsys, path, "break write 0x113000..0x122fff in wm", "c", "c", *LOOK, "reverse-continue",
                  "c", *LOOK, "reverse-step", "step")
    first, second, back, again, *steps = stops(lines)
    assert "has changed" in second[4]
    assert (back, again) == (first, second)
    assert moments(lines)[0] == moments(lines)[1]
    assert steps[0][:4] == second[:4]  # before the message


class NoBookmarks(Bookmarks):
    """Every execution begins at the start of the trace."""

    def keep(self, run: Replay) -> bool:
        return False


def begins(monkeypatch: pytest.MonkeyPatch, kind: type[Bookmarks]) -> list[int]:
    """Use these bookmarks, taken as often as possible, and note the draws at which executions begin."""
    begun = note_beginnings(monkeypatch, ("debugger.session", "debugger.backwards"))
    monkeypatch.setattr("gen4emu.debugger.session.Bookmarks", lambda: kind(interval=0))
    return begun


BACK = ("previous", "list", "c", *LOOK, "list", "reverse-continue", *LOOK, "list", "previous", "previous", "list", "c",
        "step", "step", "reverse-step 2", *LOOK, "reverse-continue", "reverse-continue", *LOOK, "list", "c")


NEAR = ("step", "step", "reverse-step", *LOOK, "previous", "list", "c", *LOOK, "list", "c", "reverse-continue", *LOOK,
        "list")


@pytest.mark.parametrize("commands", [
    ("trap pixel 60 60", *["c"] * 12, *BACK),
    ("trap primitive 4", "c", "draw 9", "break opcode send in sf", "delete 1", *["c"] * 3, *BACK),
    ("draw 9", "trap pixel 60 60", "break eot in vs", *["c"] * 5, *BACK),
    ("trap pixel 60 60 3", "c", *NEAR),
    ("trap thread 8000 in wm", "c", *NEAR),
    ("draw 7", "trap thread 300 in wm", "c", "previous", "list", "c", "reverse-continue", *LOOK, "list"),
])
def test_checkpoints_change_no_stop_and_no_number(tmp_path: Path, capsys: Text, monkeypatch: pytest.MonkeyPatch,
                                                  commands: tuple[str, ...]) -> None:
    path = join(tmp_path / "joined.g4c", "fbo-g4x", "gears-g4x", "stencil-g4x", "gears-4frames-g4x")
    arguments = [argument for command in commands for argument in ("-c", command)]

    def said() -> str:
        assert run(["debug", path, "--json", *arguments]) == 0
        return capsys.readouterr().out

    with monkeypatch.context() as patched:
        from_the_start = begins(patched, NoBookmarks)
        expected = said()
    assert not any(from_the_start)
    from_checkpoints = begins(monkeypatch, Bookmarks)
    assert said() == expected
    assert any(from_checkpoints)


def test_the_stop_before_is_found_near_it(tmp_path: Path, capsys: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = begins(monkeypatch, Bookmarks)
    path = join_submissions(tmp_path / "long.g4c", "gears-g4x", 30)
    lines = debug(capsys, path, "draw 170", "trap pixel 60 60", "c", "c", "c", "reverse-continue", "previous")
    there, _, _, back = [line["draw"] for line in lines if line["kind"] == "stop"]
    assert 170 <= back <= there + 6
    assert begun[0] == 0
    assert min(begun[2:]) > 150


def test_an_execution_that_differs_says_where() -> None:
    lost = SimpleNamespace(_moment=object(), draw_stop=SimpleNamespace(at=None), place=lambda: Place(1, 2, 3))
    with pytest.raises(Gen4emuError, match="frame 1, submission 2, draw 3: the instruction was not reached again"):
        Session.draw_done(lost)  # type: ignore[arg-type]  # a stand-in
