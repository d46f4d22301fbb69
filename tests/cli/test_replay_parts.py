"""`replay --processes`: the same result as from one process, whatever happens in a part."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from gen4emu.cli import replay_parts
from gen4emu.cli.main import run
from gen4emu.cli.replay_parts import parts_of
from gen4emu.cli.replay_run import Writer
from gen4emu.device import bookmark_file
from gen4emu.device.options import Options
from gen4emu.sandbox import Mode
from gen4emu.selection import ALL, Selection
from tests.harness.joined import join

Text = pytest.CaptureFixture[str]
SCENES = ("fbo-g4x", "gears-4frames-g4x", "texture-g4x", "stencil-g4x", "cubemap-g4x", "triangle-g4x", "blend-g4x")
UNMAPPED_STORE = (0x10400002, 0, 0xF0000000, 7)  # MI_STORE_DATA_IMM
UNKNOWN = (0x7A030201, 0, 0, 0)
BEYOND_MEMORY = (0x18800000, 0xF0000000)  # MI_BATCH_BUFFER_START


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def trace(tmp_path: Path) -> str:
    name = join(tmp_path / "app.g4c", *SCENES)
    assert run(["-q", "index", name, "--interval", "0"]) == 0
    return name


def files(directory: str) -> dict[str, str]:
    return {path.name: hashlib.blake2b(path.read_bytes()).hexdigest() for path in Path(directory).iterdir()}


def document(capsys: Text, status: int, directory: str, *arguments: str) -> Any:
    """The JSON of a replay, without what depends on time and place."""
    assert run(["replay", "--json", "-o", directory, *arguments]) == status
    found = json.loads(capsys.readouterr().out)
    found.pop("seconds")
    return json.loads(json.dumps(found).replace(directory, "DIR"))


@pytest.mark.parametrize("options", [
    (), ("--frames", "1-4"), ("--frames", "2,5"), ("--frames", "5-"), ("--frames", "3"), ("--depth", "-j", "1"),
    ("--npy",), ("--partial", "--sandbox", "off"), ("--general",)])
def test_the_result_is_that_of_one_process(options: tuple[str, ...], trace: str, capsys: Text) -> None:
    straight = document(capsys, 0, "straight", trace, *options)
    for processes in ("2",) if options else ("2", "3"):
        divided = document(capsys, 0, f"divided-{processes}", trace, *options, "--processes", processes)
        assert divided == straight
        assert files(f"divided-{processes}") == files("straight") != {}
    assert straight["pictures"] and len(parts_of(trace, Options(), ALL, 2, Mode.OFF)[1]) == 4


def test_paths_and_the_summary_are_those_of_one_process(trace: str, capsys: Text) -> None:
    def shown(*options: str) -> tuple[list[str], list[str]]:
        assert run(["replay", trace, *options]) == 0
        output = capsys.readouterr()
        return output.out.splitlines(), output.err.rpartition(",")[0].splitlines()

    assert shown("--processes", "2") == shown() != ([], [])
    assert shown("--processes", "2", "--no-pictures") == shown("--no-pictures")


def test_parts_have_about_as_many_draws(trace: str) -> None:
    bookmarks = bookmark_file.signed(trace).contents().bookmarks
    _, parts = parts_of(trace, Options(), ALL, 2, Mode.OFF)
    assert [part.is_last for part in parts] == [False, False, False, True]
    assert parts[0].at is None and parts[-1].frames.last is None
    for before, part in itertools.pairwise(parts):
        assert part.at is not None
        found = bookmarks[part.at.number]
        assert (part.at.frames, part.at.draws) == (found.frames, found.checkpoint.draws)
        assert part.at.frames == part.frames.first == (before.frames.last or 0) + 1
    _, (only,) = parts_of(trace, Options(), Selection.parse("3"), 4, Mode.OFF)
    assert only.at is not None and only.at.frames == 3 and only.is_last


def test_a_limit_of_pictures_stops_at_the_same_one(trace: str, capsys: Text) -> None:
    for more in ((), ("--processes", "2")):
        assert run(["replay", trace, "-o", f"{len(more)}", "--max-pictures", "5", *more]) == 2
        assert "more than 5 pictures (--max-pictures)" in capsys.readouterr().err
    assert files("0") == files("2") and len(files("0")) == 6


def test_a_frame_that_is_not_there(trace: str, capsys: Text) -> None:
    errors = []
    for more in ((), ("--processes", "2")):
        assert run(["replay", trace, "-o", "none", "--frames", "99", *more]) == 2
        errors.append([line for line in capsys.readouterr().err.splitlines() if "frame 99" in line])
    assert errors[0] == errors[1] != []


@pytest.mark.parametrize(("last", "status"), [("blend-g4x", 1), (BEYOND_MEMORY, 3)])
def test_findings_faults_and_hangs_of_every_part_are_in_the_result(last: Any, status: int, tmp_path: Path,
                                                                   capsys: Text) -> None:
    scenes = (SCENES[0], UNMAPPED_STORE, *SCENES[1:3], UNKNOWN, *SCENES[3:], UNMAPPED_STORE, last, "triangle-g4x")
    trace = join(tmp_path / "app.g4c", *scenes)
    assert run(["-q", "index", trace, "--interval", "0"]) == (3 if status == 3 else 0)
    capsys.readouterr()
    straight = document(capsys, status, "straight", trace)
    divided = document(capsys, status, "divided", trace, "--processes", "2")
    assert divided == straight and files("divided") == files("straight")
    assert sum(fault["count"] for fault in straight["faults"]) == 2 and straight["findings"]
    assert (straight["hang"] is not None) == (status == 3) == any("hang" in name for name in files("divided"))


def test_damage_of_the_trace_is_that_of_one_process(trace: str, tmp_path: Path, capsys: Text) -> None:
    data = Path(trace).read_bytes()
    Path(trace).write_bytes(data[:-200])
    assert run(["-q", "index", trace, "--partial", "--interval", "0"]) == 0
    capsys.readouterr()
    for status, options in ((2, ()), (0, ("--partial",))):
        straight = document(capsys, status, "straight", trace, *options)
        assert document(capsys, status, "divided", trace, "--processes", "2", *options) == straight
        assert files("divided") == files("straight") and straight["damage"]


def test_a_process_that_dies_is_named_and_later_pictures_are_removed(trace: str, capsys: Text,
                                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(["-q", "replay", trace, "-o", "straight"]) == 0
    _, parts = parts_of(trace, Options(), ALL, 2, Mode.OFF)
    dying = parts[1].frames.first
    write = Writer.write

    def written(self: Writer, device: Any, frame: Any) -> None:
        if frame.number == dying:
            os.kill(os.getpid(), signal.SIGKILL)
        write(self, device, frame)

    monkeypatch.setattr(Writer, "write", written)
    capsys.readouterr()
    assert run(["replay", trace, "-o", "divided", "--processes", "2"]) == 2
    assert f"the process of frames {dying}-{parts[1].frames.last} ended with SIGKILL" in capsys.readouterr().err
    expected = {name for name in files("straight") if name < f"frame-{dying:05}"} | {"index.json"}
    assert set(files("divided")) == expected
    listed = json.loads(Path("divided/index.json").read_text())
    assert {entry["file"] for entry in listed["pictures"]} == expected - {"index.json"}


@pytest.mark.parametrize("message", [
    5, "picture", {}, {"picture": {}}, {"picture": {"file": 1}}, {"device": 5, "picture": None},
    {"outcome": {}, "error": None, "hung": False, "error_states": []},
    {"outcome": {"document": {}, "complaints": [], "notes": [], "damage": [], "hierarchical_depth": ""},
     "error": None, "hung": False, "error_states": []}])
def test_a_process_that_tells_nonsense_is_named(message: Any, trace: str, capsys: Text,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_parts, "_execute", lambda job, part, tell: tell(message))
    assert run(["replay", trace, "-o", "divided", "--processes", "2"]) == 2
    assert re.search(r"the process of frames 0-\d+ told nonsense", capsys.readouterr().err)


def test_an_interrupt_stops_the_processes_and_keeps_what_is_complete(trace: str, capsys: Text,
                                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(done: int) -> None:
        if done:
            raise KeyboardInterrupt

    execute = replay_parts.replay_parts
    monkeypatch.setattr("gen4emu.cli.replay.replay_parts",
                        lambda job, parts, processes, store, tick: execute(job, parts, processes, store, interrupted))
    assert run(["replay", trace, "-o", "divided", "--processes", "2"]) == 130
    listed = json.loads(Path("divided/index.json").read_text())
    assert {entry["file"] for entry in listed["pictures"]} | {"index.json"} == set(files("divided"))
    assert listed["pictures"]


@pytest.mark.parametrize(("options", "text"), [
    (("--draws", "1"), "--processes and --draws exclude each other"),
    (("--raw-video", "-"), "--processes and --raw-video exclude each other"),
    (("--device", "gm45"), "--processes and --device exclude each other"),
    (("--fp-rounding", "rtne"), "app.g4c.index: has no checkpoint for these options")])
def test_what_cannot_be_divided(options: tuple[str, ...], text: str, trace: str, capsys: Text) -> None:
    assert run(["replay", trace, "--processes", "2", "-o", "none", *options]) == 2
    assert text in capsys.readouterr().err
    assert not Path("none").exists()


def test_a_short_trace_without_checkpoints_is_one_part(trace: str, capsys: Text) -> None:
    assert run(["-q", "index", trace, "--interval", "3600"]) == 0
    assert [part.at for part in parts_of(trace, Options(), ALL, 4, Mode.OFF)[1]] == [None]
    capsys.readouterr()
    straight = document(capsys, 0, "straight", trace)
    assert document(capsys, 0, "divided", trace, "--processes", "4") == straight
    assert files("divided") == files("straight")


def test_without_an_index_the_command_that_writes_it_is_named(trace: str, capsys: Text) -> None:
    Path(f"{trace}.index").unlink()
    assert run(["replay", trace, "--processes", "2"]) == 2
    assert f"`gen4emu index {trace}` writes it" in capsys.readouterr().err
