"""The notes about GL calls in `.g4c` files: round trips, hostile contents."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

import pytest

from gen4emu import trace
from gen4emu.core_enums import NoteKind
from gen4emu.errors import FieldError
from gen4emu.hw.chips import BY_NAME
from gen4emu.trace import CaptureWriter, events, gl_notes
from gen4emu.trace.capture import Kind
from gen4emu.trace.gl_notes import GlNote

NOTES = (GlNote(NoteKind.SOURCE, 0, (7, 0x8B31), "void main() {\n\tint i;\n}\n"),
         GlNote(NoteKind.LABEL, 3, (0x82E2, 9), 'a "label" é'), GlNote(NoteKind.POP, 65535),
         GlNote(NoteKind.DRAW, 1, (4, 3, 1, 1)))


def head(kind: int, size: int) -> bytes:
    return struct.pack("<HHI", kind, 0, size)


def test_notes_survive_a_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "a.g4c"
    with CaptureWriter(path, BY_NAME["g45"]) as writer:
        writer.gl_notes(NOTES)
        writer.gl_notes(())
    found = [event for event in trace.open(path) if isinstance(event, events.GlNotes)]
    assert [event.notes for event in found] == [NOTES]


def test_many_notes_become_several_records(tmp_path: Path) -> None:
    path = tmp_path / "a.g4c"
    text = "x" * ((1 << 20) - 2) + "\n"
    sources = [GlNote(NoteKind.SOURCE, 0, (i, 0x8B30), f"{i}{text}") for i in range(9)]
    with CaptureWriter(path, BY_NAME["g45"]) as writer:
        writer.gl_notes(sources)
    found = [event for event in trace.open(path) if isinstance(event, events.GlNotes)]
    assert len(found) == 3
    assert [note.words[0] for event in found for note in event.notes] == list(range(9))


def test_text_becomes_printable_and_only_sources_have_lines() -> None:
    text = b"a\x1b[2J\r\nb\0\xff\x85\tc"
    source, digest = gl_notes.unpack(head(1, 8 + len(text)) + bytes(8) + text)
    (label,) = gl_notes.unpack(head(7, 8 + len(text)) + bytes(8) + text)
    assert source.text == "a?[2J\nb?\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}\tc\n"
    assert digest == GlNote(NoteKind.DIGEST, 0, (0, *struct.unpack("<5I", hashlib.sha1(text).digest())))
    assert label.text == "a?[2J b?\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}\tc"


def test_unknown_kinds_are_skipped() -> None:
    assert [n.kind for n in gl_notes.unpack(head(999, 3) + b"abc" + head(9, 0))] == [NoteKind.POP]


@pytest.mark.parametrize(("data", "message"), [
    (b"\1\0\0", "end inside a header, at byte 0"),
    (head(9, 0) + head(1, 100) + bytes(50), "of 100 bytes at byte 16, of which only 50 are present"),
    (head(11, 12) + bytes(12), "DRAW of 12 bytes, which has 4 words"),
])
def test_invalid_notes_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(FieldError, match=message):
        list(gl_notes.unpack(data))


@pytest.mark.parametrize(("data", "message"), [
    (b"\1", "GL notes without a version"), (struct.pack("<I", 2), "GL notes of version 2, which is not known"),
    (gl_notes.record(b"abc"), "end inside a header"),
])
def test_an_invalid_record_is_skipped_as_damage(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "a.g4c"
    with CaptureWriter(path, BY_NAME["g45"]) as writer:
        writer._record(Kind.GL_NOTES, data)
        writer.frame_boundary("after")
    found = list(trace.open(path))
    (warning,) = [event for event in found if isinstance(event, events.Warning)]
    assert warning.damage and message in warning.text
    assert any(isinstance(event, events.FrameBoundary) for event in found)
