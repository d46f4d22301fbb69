"""Draws, submissions and frames have the same numbers for the command streamer and for the decoder."""

from __future__ import annotations

from pathlib import Path

import pytest

from gen4emu.decode.document import Document
from gen4emu.decode.nodes import Command, SubmissionStart
from gen4emu.device.device import Device
from gen4emu.device.place import DrawKind, DrawNumbers, Place
from gen4emu.device.replay import Replay
from gen4emu.selection import Selection
from gen4emu.trace.reader import open as open_trace

TRACES = Path(__file__).parent.parent.parent / "traces"
ALL_TRACES = sorted(TRACES.glob("*.aub.xz"))


def executed(path: Path) -> list[tuple[int, int, int]]:
    """(submission, draw, address) of every draw command that runs."""
    found: list[tuple[int, int, int]] = []

    def start(device: Device) -> None:
        numbers = device.numbers

        class Watched(DrawNumbers):
            def begin(self, kind: DrawKind, address: int, words: memoryview) -> None:
                numbers.begin(kind, address, words)
                found.append((device.submissions, numbers.draw, numbers.address))

        for streamer in device.streamers.values():
            streamer.numbers = Watched()

    run = Replay(open_trace(str(path)), on_start=start)
    for _ in run.frames():
        pass
    run.close()
    return found


def decoded(path: Path) -> list[tuple[int, int, int]]:
    found, submission = [], -1
    for item in Document(open_trace(str(path)), file=str(path)):
        if isinstance(item, SubmissionStart):
            submission = item.number
        elif isinstance(item, Command) and item.draw is not None:
            found.append((submission, item.draw, item.address))
    return found


@pytest.mark.parametrize("path", ALL_TRACES, ids=lambda p: p.name)
def test_the_decoder_numbers_draws_as_the_command_streamer_does(path: Path) -> None:
    draws = executed(path)
    assert draws == decoded(path)
    assert [draw for _, draw, _ in draws] == list(range(len(draws))) and draws


def test_a_replay_ends_behind_the_last_selected_frame() -> None:
    run = Replay(open_trace(str(TRACES / "mpeg2-g4x.aub.xz")))
    frames = [(f.unit, f.number, f.place.submission) for f in run.frames(Selection.parse("1,3"))]
    run.close()
    assert frames == [("frame", 1, 1), ("frame", 3, 3)]
    assert run.submissions == 4


def test_a_selected_submission_has_pictures_of_its_own() -> None:
    run = Replay(open_trace(str(TRACES / "mpeg2-g4x.aub.xz")))
    found = [(f.unit, f.number, len(f.targets)) for f in run.frames(None, Selection.parse("2"))]
    run.close()
    assert found == [("submission", 2, 1)]
    assert run.submissions == 3


def test_a_replay_ends_behind_the_last_selected_draw() -> None:
    ended: list[int] = []
    run = Replay(open_trace(str(TRACES / "gears-g4x.aub.xz")), on_draw=ended.append)
    assert list(run.frames(None, None, Selection.parse("0,2"))) == []
    assert ended == [0, 1, 2]
    assert run.place == Place(0, 0, 2)
    run.close()
