"""Notes about the GL calls of a program (`gen4emu capture --gl`): their kinds and encoding (docs/formats.md).

native/gl/notes.h makes them, except digests and the driver's output, which the capture adds.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha1

from gen4emu.core_enums import NoteKind
from gen4emu.errors import FieldError

VERSION = 1
UNKNOWN = 0xFFFFFFFF  # a count of a draw that only the driver knows
MAX_NOTE_BYTES = (1 << 20) + 64

_HEAD = struct.Struct("<HHI")  # kind, thread, bytes that follow
_VERSION = struct.Struct("<I")

_WORDS = {NoteKind.SOURCE: 2, NoteKind.COMPILE: 1, NoteKind.ATTACH: 2, NoteKind.DETACH: 2, NoteKind.LINK: 1,
          NoteKind.USE: 1, NoteKind.LABEL: 2, NoteKind.PUSH: 2, NoteKind.POP: 0, NoteKind.MARKER: 0, NoteKind.DRAW: 4,
          NoteKind.LOST: 1, NoteKind.DIGEST: 6, NoteKind.DRIVER: 0}
_LINES = frozenset({NoteKind.SOURCE, NoteKind.DRIVER})  # kinds whose text has several lines


@dataclass(slots=True, frozen=True)
class GlNote:
    """One note.  `text` has printable characters, tabs and, in sources and the driver's output, line ends only."""

    kind: NoteKind
    thread: int
    words: tuple[int, ...] = ()
    text: str = ""


def unpack(data: bytes) -> Iterator[GlNote]:
    """The notes of a record without its version.  Raises FieldError where they are invalid; skips unknown kinds."""
    at = 0
    while at < len(data):
        if len(data) - at < _HEAD.size:
            raise FieldError(f"the GL notes end inside a header, at byte {at}")
        kind, thread, size = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        if size > len(data) - at:
            raise FieldError(f"a GL note of {size} bytes at byte {at}, of which only {len(data) - at} are present")
        note = _note(kind, thread, data[at:at + size])
        if note is not None:
            yield note
            if note.kind is NoteKind.SOURCE:
                yield from _digest(note, data[at + 8:at + size])
        at += size


def _note(number: int, thread: int, data: bytes) -> GlNote | None:
    try:
        kind = NoteKind(number)
    except ValueError:
        return None  # of a later version
    count = _WORDS[kind]
    if len(data) < 4 * count:
        raise FieldError(f"a GL note {kind.name} of {len(data)} bytes, which has {count} words")
    return GlNote(kind, thread, struct.unpack_from(f"<{count}I", data), _text(data[4 * count:], kind in _LINES))


def _digest(source: GlNote, data: bytes) -> Iterator[GlNote]:
    if data != source.text.encode("utf-8", "replace"):
        words = struct.unpack("<5I", source_digest(data))
        yield GlNote(NoteKind.DIGEST, source.thread, (source.words[0], *words))


def source_digest(data: bytes) -> bytes:
    """SHA-1 of a source, by which Mesa's NIR names it."""
    return sha1(data, usedforsecurity=False).digest()


def driver_note(data: bytes) -> GlNote:
    """A section of the driver's output."""
    return GlNote(NoteKind.DRIVER, 0, (), _text(data[:MAX_NOTE_BYTES - 64], True))


def _text(data: bytes, several: bool) -> str:
    lines = data.decode("utf-8", "replace").splitlines()
    text = ("\n" if several else " ").join(lines) + ("\n" if several and lines else "")
    return "".join(c if c.isprintable() or c in "\t\n" else "?" for c in text)


def pack(notes: Iterable[GlNote]) -> Iterator[bytes]:
    """Each note in bytes."""
    for note in notes:
        text = note.text.encode("utf-8", "replace")[:MAX_NOTE_BYTES - 64]
        yield (_HEAD.pack(note.kind, note.thread, 4 * len(note.words) + len(text))
               + struct.pack(f"<{len(note.words)}I", *note.words) + text)


def record(data: bytes) -> bytes:
    """The contents of a record with notes."""
    return _VERSION.pack(VERSION) + data


def contents(data: bytes) -> bytes:
    """The notes of a record, whose version is checked."""
    if len(data) < _VERSION.size:
        raise FieldError("GL notes without a version")
    (version,) = _VERSION.unpack_from(data)
    if version != VERSION:
        raise FieldError(f"GL notes of version {version}, which is not known")
    return data[_VERSION.size:]
