"""`gen4emu index`: executions that begin at its checkpoints show the same, and no other index is used."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pickle
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gen4emu.api.stepper import Stepper
from gen4emu.cli import index as index_verb
from gen4emu.cli.main import run
from gen4emu.device import bookmark_file
from gen4emu.device.options import Options
from gen4emu.errors import Gen4emuError
from gen4emu.sandbox import Mode
from gen4emu.selection import Selection
from tests.harness.joined import join, join_submissions
from tests.harness.noted_replays import note_beginnings
from tests.report.page_data import chunk

Text = pytest.CaptureFixture[str]
SCENES = ("fbo-g4x", "gears-4frames-g4x", "texture-g4x", "stencil-g4x")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The draws at which executions begin."""
    return note_beginnings(monkeypatch, ("cli.replay", "debugger.session", "report.record"))


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


@pytest.mark.parametrize("draws", ["11", "20-22,9"])
def test_a_list_of_draws_from_the_index_is_the_same(draws: str, trace: str, capsys: Text,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    rest = Stepper._rest

    def noted(self: Stepper, unit: str, first: int, number: int, *more: Any) -> None:
        if unit == "draw":
            ended.append(number)
        rest(self, unit, first, number, *more)

    def listed() -> str:
        ended.clear()
        assert run(["info", trace, "--draws", draws, "--json"]) == 0
        return capsys.readouterr().out

    monkeypatch.setattr(Stepper, "_rest", noted)
    expected = listed()
    assert ended[0] == 0
    assert run(["index", trace, "--interval", "0"]) == 0
    capsys.readouterr()
    assert listed() == expected
    assert ended[0] == Selection.parse(draws).first


def reported(*arguments: str | Path) -> dict[str, bytes]:
    """The files of a report, or of several."""
    assert run(["-q", "report", *map(str, arguments)]) == 0
    directory = Path(arguments[arguments.index("-o") + 1])
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*.*") if path.is_file()}


@pytest.mark.parametrize("frames", ["1", "2-3", "1,3"])
def test_a_report_of_frames_from_the_index_is_the_same(frames: str, trace: str, tmp_path: Path,
                                                       begun: list[int]) -> None:
    expected = reported(trace, "-o", tmp_path / "straight", "--frames", frames)
    assert run(["index", trace, "--interval", "0"]) == 0
    assert reported(trace, "-o", tmp_path / "indexed", "--frames", frames) == expected
    assert begun == [0, chunk(tmp_path / "straight", "rows-0")["draw"][0]]
    assert begun[1] > 0


def test_reports_of_several_traces_begin_at_their_indexes(trace: str, tmp_path: Path,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    other = join(tmp_path / "other.g4c", "triangle-g4x", "fbo-g4x", "stencil-g4x", "fbo-g4x")
    expected = reported(trace, other, "-o", tmp_path / "straight", "--frames", "2-")
    for indexed in (trace, other):
        assert run(["index", indexed, "--interval", "0"]) == 0
    begun = tmp_path / "indexed"
    before = bookmark_file.Signed.start_before

    def noted(self: bookmark_file.Signed, *arguments: Any) -> Any:
        """Each trace has a process, which may write into the directory of its report."""
        found = before(self, *arguments)
        directory = begun / self.path.name.partition(".")[0]
        directory.mkdir(exist_ok=True)
        (directory / f"begins.{found.bookmark.checkpoint.draws}").touch()
        return found

    monkeypatch.setattr(bookmark_file.Signed, "start_before", noted)
    found = reported(trace, other, "-o", begun, "--frames", "2-")
    starts = sorted(name for name in found if "/begins." in name)
    assert {name: data for name, data in found.items() if name not in starts} == expected
    assert starts == [f"{name}/begins.{chunk(tmp_path / 'straight' / name, 'rows-0')['draw'][0]}"
                      for name in ("app", "other")]


def test_a_comparison_begins_at_both_indexes(trace: str, tmp_path: Path, begun: list[int]) -> None:
    other = join(tmp_path / "other.g4c", "triangle-g4x", *SCENES[1:])
    arguments = (trace, "--against", other, "-j", "1", "--frames", "2-")  # both in this process
    expected = reported(*arguments, "-o", tmp_path / "straight")
    for indexed in (trace, other):
        assert run(["index", indexed, "--interval", "0"]) == 0
    assert reported(*arguments, "-o", tmp_path / "indexed") == expected
    firsts = [chunk(tmp_path / "straight", f"{side}-rows-0")["draw"][0] for side in ("left", "right")]
    assert begun == [0, 0, *firsts]
    assert min(firsts) > 0


def test_a_report_with_a_damaged_index_begins_at_the_start(trace: str, tmp_path: Path, capsys: Text,
                                                           begun: list[int]) -> None:
    assert run(["index", trace]) == 0
    path = bookmark_file.path_of(trace)
    path.write_bytes(path.read_bytes()[:-1])
    reported(trace, "-o", tmp_path / "report", "--frames", "3")
    assert "`gen4emu index` writes a new one" in capsys.readouterr().err
    assert begun == [0]


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
    """Changed indexes: every field of the head, lengths, contents."""
    for at in (0, 8, 39, 40, 71, 72, 79, 80, 87, 88, 95, 96, 106, len(good) // 2, len(good) - 1):
        yield good[:at] + bytes([good[at] ^ 0x10]) + good[at + 1:]
    for size in (0, 7, 95, 96, len(good) - 1):
        yield good[:size]
    yield good + b"x"
    for at in (72, 80, 88):
        yield good[:at] + b"\xff" * 8 + good[at + 8:]


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


def packed(index: bytes) -> bookmark_file.Packed:
    """An index without landmarks."""
    return bookmark_file.Packed((0, 0, len(index)), zlib.compress(index))


class Calls:
    """A value whose pickle calls a function."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self._call = function, arguments

    def __reduce__(self) -> Any:
        return self._call


def payloads(victim: Path) -> Iterator[bytes]:
    """Pickles that do something when they are read.  The process that executes a trace may write them."""
    for value in (Calls(os.system, f"touch {victim}"), Calls(eval, f"open({str(victim)!r}, 'w')"),
                  Calls(open, str(victim), "w"), Calls(Path.touch, victim), Calls(getattr, "text", "upper")):
        yield pickle.dumps(value)
        yield pickle.dumps(bookmark_file.Index((), (value,)))  # type: ignore[arg-type]  # wrong on purpose
    for name in (b"replay\nReplay", b"checkpoints\nos.system", b"device\nDevice", b"bookmark_file\nread",
                 b"bookmark_file\nos"):
        yield b"cgen4emu.device." + name + b"\n(V" + str(victim).encode() + b"\ntR."


def test_a_signed_index_that_would_call_something_does_not(trace: str, tmp_path: Path, capsys: Text,
                                                           begun: list[int]) -> None:
    assert run(["index", trace, "--interval", "0"]) == 0
    for number, payload in enumerate(payloads(tmp_path / "victim")):
        bookmark_file.write(trace, packed(payload))
        assert "has no valid contents; `gen4emu index` writes a new one" in warned(trace, capsys)
        assert begun.pop() == 0
        if not number:
            assert run(["debug", trace, "-c", "draw 20"]) == 0
            assert "has no valid contents" in capsys.readouterr().err
            assert run(["replay", trace, "--no-pictures", "--processes", "2"]) == 2
            assert "has no valid contents" in capsys.readouterr().err
        assert not (tmp_path / "victim").exists()


def test_a_signed_index_that_wants_all_memory_does_not_get_it(trace: str, capsys: Text, begun: list[int]) -> None:
    assert run(["index", trace, "--interval", "0"]) == 0
    for keep in (b"r\xff\xff\xff\x0f", b"p268435455\n"):  # at a number for which the table has gigabytes
        bookmark_file.write(trace, packed(b"N" + keep + b"."))
        tracemalloc.start()
        assert "has no valid contents; `gen4emu index` writes a new one" in warned(trace, capsys)
        assert tracemalloc.get_traced_memory()[1] < 1 << 30
        tracemalloc.stop()
        assert begun.pop() == 0


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
    index = bookmark_file.signed(trace).contents()
    assert index.with_options(Options(workers=2, general_only=True))[0].checkpoint.options.workers == 2
    assert index.with_options(Options(round_to_nearest=True)) == ()
    assert index.with_options(Options(watchdog=1)) == ()


def test_intervals_are_times(tmp_path: Path, capsys: Text) -> None:
    trace = join(tmp_path / "app.g4c", *SCENES)
    counts = {}
    for interval in ("0", "0ms", "1h", "60"):
        assert run(["index", trace, "--interval", interval]) == 0
        counts[interval] = len(bookmark_file.signed(trace).contents().bookmarks)
    assert counts["0"] == counts["0ms"] > 20 > counts["1h"] == counts["60"]
    capsys.readouterr()
    for wrong in ("5x", "-1s", "s", "1e3", "1.2345s"):
        assert run(["index", trace, f"--interval={wrong}"]) == 2
        assert f"{wrong!r} is not a time such as 100ms, 30s, 5m or 1h" in " ".join(capsys.readouterr().err.split())


def test_errors_say_what_is_wrong(tmp_path: Path, capsys: Text) -> None:
    assert run(["index", "-"]) == 2
    assert "an index is written beside its trace" in capsys.readouterr().err
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
    assert bookmark_file.signed(trace).contents().bookmarks


@pytest.mark.parametrize("sizes", [(1.5, 2, 3), (True, 2, 3), (1, 2), (1, -2, 3), (1, 1 << 40, 3), (0, 5, 0)])
def test_sizes_that_a_report_makes_up_are_refused(sizes: tuple[object, ...], tmp_path: Path,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that executes a trace may have been taken over by it."""
    trace = tmp_path / "traces" / "t.aub.xz"
    trace.parent.mkdir()
    trace.write_bytes(b"")
    said = SimpleNamespace(status=0, checkpoints=0, draws=0, sizes=sizes, error="", hang="")
    monkeypatch.setattr(index_verb, "_execute", lambda *arguments: said)
    with pytest.raises(Gen4emuError, match="has written no index"):
        index_verb.write_index(str(trace), 1.0, Mode.OFF)
    assert list(trace.parent.iterdir()) == [trace]
