"""`gen4emu index`: executions that begin at its checkpoints show the same, and no other index is used."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gen4emu.cli.main import run
from gen4emu.device import bookmark_file
from gen4emu.device.options import Options
from gen4emu.device.replay import Replay
from tests.harness.joined import join, join_submissions

Text = pytest.CaptureFixture[str]
SCENES = ("fbo-g4x", "gears-4frames-g4x", "texture-g4x", "stencil-g4x")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The draws at which executions begin."""
    found: list[int] = []

    class Noted(Replay):
        def __init__(self, *arguments: Any, at: Any = None, **more: Any) -> None:
            found.append(0 if at is None else at.checkpoint.draws)
            super().__init__(*arguments, at=at, **more)

    for module in ("cli.replay", "debugger.session"):
        monkeypatch.setattr(f"gen4emu.{module}.Replay", Noted)
    return found


@pytest.fixture
def trace(tmp_path: Path) -> str:
    return join(tmp_path / "app.g4c", *SCENES)


def pictures(directory: Path) -> dict[str, str]:
    return {path.name: hashlib.blake2b(path.read_bytes()).hexdigest() for path in directory.glob("*.png")}


def replayed(trace: str, directory: Path, capsys: Text, *arguments: str) -> tuple[Any, Any]:
    assert run(["replay", trace, "-o", str(directory), "--json", *arguments]) == 0
    result = json.loads(capsys.readouterr().out)
    result.pop("seconds")
    return json.loads(json.dumps(result).replace(str(directory), "")), pictures(directory)


@pytest.mark.parametrize("selection", [
    ("--frames", "3"), ("--frames", "1-2"), ("--submissions", "3"), ("--draws", "11"), ("--draws", "20-23"),
    ("--draws", "9,30", "--frames", "2"), ("--draws", "7", "--depth", "-j", "1")])
def test_a_replay_from_the_index_writes_the_same(selection: tuple[str, ...], trace: str, tmp_path: Path, capsys: Text,
                                                 begun: list[int]) -> None:
    expected = replayed(trace, tmp_path / "straight", capsys, *selection)
    assert run(["index", trace, "--interval", "0"]) == 0
    found = replayed(trace, tmp_path / "indexed", capsys, *selection)
    assert found[1] == expected[1] != {}
    assert found[0] == expected[0]
    assert begun[0] == 0 < begun[1]


def test_the_debugger_begins_at_the_index(tmp_path: Path, capsys: Text, begun: list[int]) -> None:
    trace = join_submissions(tmp_path / "long.g4c", "gears-g4x", 30)
    commands = [word for command in ("draw 170", "bases", "previous", "bases", "trap pixel 60 60", "c", "regs g0..g4")
                for word in ("-c", command)]

    def said() -> str:
        assert run(["debug", trace, *commands]) == 0
        return capsys.readouterr().out

    expected = said()
    assert begun[0] == 0
    assert begun[1] < 170
    begun.clear()
    assert run(["index", trace, "--interval", "0"]) == 0
    capsys.readouterr()
    assert said() == expected
    assert begun == [0, 170, 169]


def warned(trace: str, capsys: Text) -> str:
    """The warning of a replay that could use the index."""
    assert run(["replay", trace, "--no-pictures", "--frames", "3"]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "`gen4emu index`" in line]
    assert len(lines) < 2
    return lines[0] if lines else ""


def damages(good: bytes) -> Iterator[bytes]:
    """Indexes that somebody or something has changed: every field of the head, lengths, contents."""
    for at in (0, 8, 39, 40, 71, 72, 79, 80, 90, len(good) // 2, len(good) - 1):
        yield good[:at] + bytes([good[at] ^ 0x10]) + good[at + 1:]
    for size in (0, 7, 79, 80, len(good) - 1):
        yield good[:size]
    yield good + b"x"
    yield good[:72] + b"\xff" * 8 + good[80:]


def test_a_damaged_index_is_refused_and_the_trace_replayed(trace: str, capsys: Text, begun: list[int]) -> None:
    assert run(["index", trace, "--interval", "0"]) == 0
    assert "app.g4c.index: " in capsys.readouterr().err
    path = bookmark_file.path_of(trace)
    good = path.read_bytes()
    assert warned(trace, capsys) == ""
    assert begun.pop() > 0
    for bad in damages(good):
        path.write_bytes(bad)
        assert "`gen4emu index` writes a new one" in warned(trace, capsys)
        assert begun.pop() == 0
    path.write_bytes(good)
    assert warned(trace, capsys) == ""


def test_an_index_of_another_user_or_program_or_file_is_refused(trace: str, tmp_path: Path, capsys: Text,
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(["index", trace, "--interval", "0"]) == 0
    capsys.readouterr()
    with monkeypatch.context() as patched:
        patched.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
        assert "the key of indexes: No such file" in warned(trace, capsys)
        other = join(tmp_path / "other.g4c", "fbo-g4x")
        assert run(["index", other]) == 0
        capsys.readouterr()
        assert "written by another user or version" in warned(trace, capsys)
    with monkeypatch.context() as patched:
        patched.setattr(bookmark_file, "_program", lambda: b"another build")
        assert "written by another user or version" in warned(trace, capsys)
    key = tmp_path / "state" / "gen4emu" / "index.key"
    assert key.stat().st_mode & 0o077 == 0
    join(Path(trace), *SCENES, "triangle-g4x")
    assert "has changed" in warned(trace, capsys)


def test_other_options_do_not_use_the_index(trace: str) -> None:
    assert run(["index", trace, "--interval", "0"]) == 0
    index = bookmark_file.read(trace)
    assert index.with_options(Options(workers=2, general_only=True))[0].checkpoint.options.workers == 2
    assert index.with_options(Options(round_to_nearest=True)) == ()
    assert index.with_options(Options(watchdog=1)) == ()


def test_errors_say_what_is_wrong(tmp_path: Path, capsys: Text) -> None:
    assert run(["index", "-"]) == 2
    assert "an index lies beside its trace" in capsys.readouterr().err
    trace = join(tmp_path / "app.g4c", "fbo-g4x")
    (tmp_path / "state").write_text("a file")
    assert run(["index", trace]) == 2
    assert "the key of indexes: " in capsys.readouterr().err
    (tmp_path / "state").unlink()
    (tmp_path / "app.g4c.index.part").mkdir()
    assert run(["index", trace]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_a_full_disk_leaves_nothing(tmp_path: Path, capsys: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    def fills(path: Path, data: bytes) -> int:
        path.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    trace = join(tmp_path / "app.g4c", "fbo-g4x")
    monkeypatch.setattr(Path, "write_bytes", fills)
    assert run(["index", trace]) == 2
    assert "app.g4c.index: cannot be written: No space left on device" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.index*"))


def test_a_damaged_trace_has_an_index_only_if_that_is_accepted(tmp_path: Path, capsys: Text) -> None:
    trace = join(tmp_path / "app.g4c", "fbo-g4x")
    data = Path(trace).read_bytes()
    Path(trace).write_bytes(data[:-40])
    assert run(["index", trace]) == 2
    assert not bookmark_file.path_of(trace).exists()
    assert run(["index", trace, "--partial", "--interval", "0"]) == 0
    assert bookmark_file.read(trace).bookmarks
