"""`state`, `export`, `trim` and pictures of pairs from an index: the same as from the start, of less of the trace."""

from __future__ import annotations

import pickle
import sys
import zlib
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from gen4emu.cli.main import run
from gen4emu.decode.commands import CommandWalker
from gen4emu.decode.landmarks import find_landmarks
from gen4emu.device import bookmark_file
from gen4emu.device.checkpoints import Checkpoint, restore
from gen4emu.device.landmarks import Landmark, Landmarks
from gen4emu.hw.chips import BY_NAME
from gen4emu.trace import CaptureWriter
from gen4emu.trace.conversion import copy_event
from gen4emu.trace.events import Header, MemoryWrite, Submission, Warning
from gen4emu.trace.gl_notes import GlNote, NoteKind
from gen4emu.trace.reader import open as open_trace
from tests.harness.joined import join, join_submissions
from tests.harness.noted_replays import note_beginnings

Text = pytest.CaptureFixture[str]
TRACES = Path(__file__).parents[2] / "traces"
SCENES = ("fbo-g4x", "gears-4frames-g4x", "texture-g4x", "stencil-g4x")
TRIANGLES = {"ivb": 16, "hsw": 15, "kbl": 19}  # a draw that can be exported
DEVICES = ("g45", "ivb", "hsw", "kbl")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The draws at which executions begin."""
    return note_beginnings(monkeypatch, ("api.stepper", "repro.export"))


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The draws before each submission that is decoded."""
    found: list[int] = []
    submission = CommandWalker.submission

    def noted(self: CommandWalker, event: Submission) -> Any:
        found.append(self.draws)
        return submission(self, event)

    monkeypatch.setattr(CommandWalker, "submission", noted)
    return found


def repeated(path: Path, device: str, count: int = 4) -> str:
    """A capture of the triangle of a device several times, each time in a debug group of its own."""
    calls = [GlNote(NoteKind.DRAW, 0, (4, 3, 1, 1)), GlNote(NoteKind.POP, 0, ())]
    with CaptureWriter(path, BY_NAME[device]) as writer:
        for number in range(count):
            with open_trace(str(TRACES / "later" / f"triangle-{device}.aub.xz")) as trace:
                for event in trace:
                    if isinstance(event, Submission):
                        writer.gl_notes([GlNote(NoteKind.PUSH, 0, (0, 0), f"group {number}"), *calls])
                    if not isinstance(event, Header | Warning):
                        copy_event(event, writer)
            writer.frame_boundary("")
    return str(path)


def trace_of(device: str, path: Path) -> str:
    return join(path, *SCENES) if device == "g45" else repeated(path, device)


def shown(trace: str, draw: int, capsys: Text, *arguments: str) -> str:
    assert run(["state", trace, "--draw", str(draw), *arguments]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    return said.out


def exported(trace: str, draw: int, directory: Path) -> dict[str, bytes]:
    assert run(["-q", "export", trace, "--draw", str(draw), "-o", str(directory)]) == 0
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*.*") if path.is_file()}


@pytest.mark.parametrize("device", DEVICES)
def test_the_state_from_the_index_is_the_same(device: str, tmp_path: Path, capsys: Text, begun: list[int],
                                              walked: list[int]) -> None:
    trace = trace_of(device, tmp_path / "app.g4c")
    draws = {"g45": (1, 11, 29), "hsw": (1, 12, 13, 14, 15)}.get(device, (1, 15, 17, 18, 19))
    expected = {(draw, form): shown(trace, draw, capsys, *form) for draw in draws for form in ((), ("--json",))
                if not form or draw == draws[-1]}
    assert run(["index", trace, "--interval", "0"]) == 0
    capsys.readouterr()
    begun.clear()
    walked.clear()
    assert {(draw, form): shown(trace, draw, capsys, *form) for draw, form in expected} == expected
    assert all(draw - 1 <= at <= draw for draw, at in zip((*draws, draws[-1]), begun, strict=True))
    if device == "g45":
        assert walked == []  # nothing looks for debug groups, as there are none
    else:
        assert any(text.startswith("gl: group ") for text in expected.values())
        walked.clear()
        shown(trace, draws[-1], capsys)
        assert min(walked) >= 4  # the first submissions are not decoded


def test_the_state_of_repeated_batches_keeps_who_set_it(tmp_path: Path, capsys: Text) -> None:
    trace = join_submissions(tmp_path / "long.g4c", "gears-g4x", 30)
    expected = [shown(trace, draw, capsys) for draw in (100, 170)]
    assert run(["index", trace, "--interval", "0"]) == 0
    capsys.readouterr()
    assert [shown(trace, draw, capsys) for draw in (100, 170)] == expected


@pytest.mark.parametrize("device", DEVICES)
def test_an_export_from_the_index_is_the_same(device: str, tmp_path: Path, capsys: Text, begun: list[int]) -> None:
    trace = trace_of(device, tmp_path / "app.g4c")
    draw = 20 if device == "g45" else TRIANGLES[device]
    expected = exported(trace, draw, tmp_path / "straight")
    assert run(["index", trace, "--interval", "0"]) == 0
    begun.clear()
    assert exported(trace, draw, tmp_path / "indexed") == expected
    assert "batch.txt" in expected
    assert draw - 1 <= begun[0] == begun[1] <= draw


@pytest.mark.parametrize(("device", "selection", "draws"), [
    ("g45", ("--frames", "2"), 25), ("g45", ("--draws", "20-21"), 4), ("kbl", ("--draws", "15-16"), 15),
    ("ivb", ("--submissions", "4-"), 10), ("hsw", ("--frames", "3"), 12)])
def test_a_part_is_the_same_from_the_index(device: str, selection: tuple[str, str], draws: int,
                                           tmp_path: Path, capsys: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = trace_of(device, tmp_path / "app.g4c")
    begun: list[int] = []

    def noted(checkpoint: Checkpoint) -> Any:
        begun.append(checkpoint.draws)
        return restore(checkpoint)

    monkeypatch.setattr("gen4emu.repro.trim.restore", noted)

    def trimmed(path: Path) -> tuple[bytes, str]:
        assert run(["trim", trace, *selection, "-o", str(path)]) == 0
        return path.read_bytes(), capsys.readouterr().err.replace(str(path), "")

    expected = trimmed(tmp_path / "straight.g4c")
    assert not begun
    assert run(["index", trace, "--interval", "0"]) == 0
    capsys.readouterr()
    assert trimmed(tmp_path / "indexed.g4c") == expected
    assert begun == [draws]  # before the part, or inside the submission before it after its last draw


def test_the_submission_that_hangs_is_found_from_the_index(tmp_path: Path, capsys: Text, begun: list[int]) -> None:
    trace = join(tmp_path / "hang.g4c", *SCENES[:2], (0x18800000, 0x0FF00000))  # a batch where nothing is mapped
    assert run(["trim", trace, "--hang", "-o", str(tmp_path / "straight.g4c")]) == 0
    assert run(["index", trace, "--interval", "0"]) == 3
    begun.clear()
    assert run(["trim", trace, "--hang", "-o", str(tmp_path / "indexed.g4c")]) == 0
    assert begun == [25]
    assert (tmp_path / "indexed.g4c").read_bytes() == (tmp_path / "straight.g4c").read_bytes()
    with open_trace(str(tmp_path / "indexed.g4c")) as part:
        assert sum(isinstance(event, Submission) for event in part) == 1


def with_other_texels(trace: str, path: Path) -> str:
    """A copy of a trace with other contents in the largest upload of its last frames."""
    with open_trace(trace) as opened:
        events = [event for event in opened if not isinstance(event, Header | Warning)]
    later = [at for at, event in enumerate(events) if isinstance(event, MemoryWrite) and at > len(events) // 2]
    largest = max(later, key=lambda at: len(events[at].data))  # type: ignore[union-attr]  # memory writes have data
    with CaptureWriter(path, BY_NAME["g45"]) as writer:
        for at, event in enumerate(events):
            if at == largest and isinstance(event, MemoryWrite):
                event = replace(event, data=bytes(255 - byte for byte in event.data))
            copy_event(event, writer)
    return str(path)


def test_pictures_of_pairs_begin_at_both_indexes(tmp_path: Path, begun: list[int]) -> None:
    trace = join(tmp_path / "app.g4c", "fbo-g4x", "gears-g4x", "texture-g4x")
    other = with_other_texels(trace, tmp_path / "other.g4c")

    def reported(directory: Path) -> dict[str, bytes]:
        assert run(["-q", "report", trace, "--against", other, "-j", "1", "--frames", "2", "-o", str(directory)]) == 1
        return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*.*")
                if path.is_file()}

    expected = reported(tmp_path / "straight")
    assert begun[:2] == [0, 0]
    for indexed in (trace, other):
        assert run(["index", indexed, "--interval", "0"]) == 0
    begun.clear()
    assert reported(tmp_path / "indexed") == expected
    assert min(begun[:2]) > 6


def test_an_unusable_index_is_left_alone(tmp_path: Path, capsys: Text, begun: list[int]) -> None:
    trace = trace_of("g45", tmp_path / "app.g4c")
    expected = shown(trace, 20, capsys)
    assert run(["index", trace, "--interval", "0"]) == 0
    index = bookmark_file.signed(trace)
    capsys.readouterr()
    begun.clear()

    def refused(landmarks: bytes, bookmarks: bytes) -> None:
        packed = [zlib.compress(data) for data in (landmarks, bookmarks)]
        bookmark_file.write(trace, bookmark_file.Packed((len(landmarks), len(packed[0]), len(bookmarks)),
                                                        b"".join(packed)))
        assert run(["state", trace, "--draw", "20"]) == 0
        said = capsys.readouterr()
        assert said.out == expected
        assert "`gen4emu index` writes a new one" in said.err

    for wrong in (b"", b"x", pickle.dumps(print), pickle.dumps(Path(trace))):
        refused(pickle.dumps(Landmarks()), wrong)
        assert begun.pop() == 0
        refused(wrong, pickle.dumps(bookmark_file.Index((), ())))
    assert run(["index", trace, "--interval", "0"]) == 0
    capsys.readouterr()
    assert index.landmarks_if_valid(print).places
    path = bookmark_file.path_of(trace)
    path.write_bytes(path.read_bytes()[:-1])
    assert run(["state", trace, "--draw", "20"]) == 0
    assert "was damaged" in capsys.readouterr().err


def test_landmarks_get_sparse_in_long_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gen4emu.decode.landmarks._MOST", 4)
    with open_trace(repeated(tmp_path / "app.g4c", "kbl", 9)) as trace:
        found = find_landmarks(trace, 1)
    assert 2 <= len(found.places) <= 4
    assert found.places[-1].submission >= 6
    assert [place.draws for place in found.places] == sorted(place.draws for place in found.places)
    assert all(submission < place.submission for place in found.places for submission, _ in place.needed)
    assert found.before(0) is None or found.before(0) == Landmark(0, 0, (), 0, 1, None)


def with_contexts(path: Path, count: int) -> str:
    """A capture whose submissions each run in a context of their own."""
    triangle = TRACES / "later" / "triangle-kbl.aub.xz"
    with open_trace(str(triangle)) as trace, CaptureWriter(path, BY_NAME["kbl"]) as writer:
        for event in trace:
            if isinstance(event, Submission):
                for context in range(count):
                    copy_event(replace(event, context=context), writer)
                break
            if not isinstance(event, Header | Warning):
                copy_event(event, writer)
    return str(path)


def test_a_context_for_each_submission_does_not_let_landmarks_grow(tmp_path: Path, capsys: Text,
                                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gen4emu.decode.landmarks._MOST_NEEDED", 16)
    lines: dict[int, int] = {}
    file = find_landmarks.__code__.co_filename

    def called(frame: FrameType, event: str, argument: object) -> Any:
        lines[count] += event == "line"
        return called if frame.f_code.co_filename == file else None

    for count in (32, 64, 128):
        lines[count] = 0
        with open_trace(with_contexts(tmp_path / "app.g4c", count)) as trace:
            tracer = sys.gettrace()
            sys.settrace(called)
            try:
                found = find_landmarks(trace, 1)
            finally:
                sys.settrace(tracer)
        assert len(found.places) == 16  # then too many contexts have state
        assert max(len(place.needed) for place in found.places) <= 16
    assert lines[128] - lines[64] <= 2.1 * (lines[64] - lines[32])
    trace_path = with_contexts(tmp_path / "app.g4c", 40)
    expected = shown(trace_path, 100, capsys)
    assert run(["index", trace_path, "--interval", "0"]) == 0
    capsys.readouterr()
    assert shown(trace_path, 100, capsys) == expected
