"""Files that are not traces but are taken for some: pictures, programs, archives, traces of other tools.

`foreign` names the kind of a file by its first bytes: the error then says which program reads it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Foreign:
    """A kind of file that is not a trace."""

    name: str  # with its article
    hint: str = ""

    def __str__(self) -> str:
        return f"is {self.name}" + (f": {self.hint}" if self.hint else "")


_PICTURE = "`gen4emu diff` compares pictures"
_UNPACK = "unpack it first"
_OTHER_API = "it holds API calls, not what a GPU was given; replay it under `gen4emu capture` to get a trace"
_VIDEO = "play it under `gen4emu capture` to get a trace of its decoding"

# Offset, bytes, kind.
_MAGIC: tuple[tuple[int, bytes, Foreign], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", Foreign("a PNG picture", _PICTURE)),
    (0, b"\xff\xd8\xff", Foreign("a JPEG picture")),
    (0, b"GIF8", Foreign("a GIF picture")),
    (0, b"\x93NUMPY", Foreign("a NumPy array", "exact values of a picture, as `gen4emu replay --npy` writes them")),
    (8, b"WEBP", Foreign("a WebP picture")),
    (0, b"P5\n", Foreign("a PGM picture")),
    (0, b"P6\n", Foreign("a PPM picture")),
    (0, b"\x7fELF", Foreign("an ELF program or library", "run it with `gen4emu run` or `gen4emu capture`")),
    (0, b"MZ", Foreign("a Windows program")),
    (257, b"ustar", Foreign("a tar archive", _UNPACK)),
    (0, b"PK\x03\x04", Foreign("a zip archive", _UNPACK)),
    (0, b"PK\x05\x06", Foreign("an empty zip archive")),
    (0, b"7z\xbc\xaf\x27\x1c", Foreign("a 7z archive", _UNPACK)),
    (0, b"Rar!\x1a\x07", Foreign("a RAR archive", _UNPACK)),
    (0, b"BZh", Foreign("compressed with bzip2", _UNPACK)),
    (0, b"\x04\x22\x4d\x18", Foreign("compressed with lz4", _UNPACK)),
    (0, b"!<arch>\n", Foreign("an ar archive or static library")),
    (0, b"%PDF-", Foreign("a PDF document")),
    (0, b"SQLite format 3\0", Foreign("an SQLite database")),
    (0, b"RDOC", Foreign("a RenderDoc capture", _OTHER_API)),
    (0, b"GFXR", Foreign("a gfxreconstruct capture", _OTHER_API)),
    (0, b"\x03\x02\x23\x07", Foreign("a SPIR-V module")),
    (0, b"OggS", Foreign("Ogg audio or video", _VIDEO)),
    (0, b"\x1aE\xdf\xa3", Foreign("a Matroska video", _VIDEO)),
    (4, b"ftyp", Foreign("an MP4 video", _VIDEO)),
    (8, b"AVI ", Foreign("an AVI video", _VIDEO)),
    (0, b"\0\0\x01\xba", Foreign("an MPEG program stream", _VIDEO)),
    (0, b"\0\0\x01\xb3", Foreign("an MPEG video", _VIDEO)),
)

_APITRACE = Foreign("an apitrace trace", _OTHER_API)
_MAX_CHUNK_BYTES = 4 << 20  # of apitrace's snappy container; the program writes chunks of 1 MiB
# Patterns for the beginning of a text, and for any line of it.
_TEXTS: tuple[tuple[str, Foreign], ...] = (
    (r"version https://git-lfs", Foreign("a Git LFS pointer", "`git lfs pull` fetches the file itself")),
    (r'\s*\{\s*"schema"\s*:\s*"gen4emu\.', Foreign("JSON that gen4emu wrote", "name the trace itself")),
    (r'\s*(?:\{\s*["}]|\[\s*(?:[\[{"\d\]-]\s*)+[^\w\s\[])', Foreign("JSON")),
    (r"#![^\n]*python", Foreign("a Python program")),
    (r"#!", Foreign("a script")),
    (r"\s*(?:<!doctype html|<html)", Foreign("an HTML page")),
    (r"\s*(?:<\?xml|<svg)", Foreign("XML")),
)
_LINES: tuple[tuple[str, Foreign], ...] = (
    (r"\s*\[\[trace\]\]", Foreign("a manifest", "`gen4emu check` reads manifests")),
    (r"(?:from [\w.]+ )?import \w[\w., ]*$", Foreign("a Python program")),
    (r"\s*(?:\([^)]*\)\s*)?(?:mov|add|mul|send|cmp|sel)(?:\.\w+)*\s*\(\d+\)",
     Foreign("EU assembly", "`gen4emu asm` reads it")),
)


def foreign(head: bytes) -> Foreign | None:
    """The kind of a file that is not a trace, by its first bytes; None if they do not tell."""
    for offset, magic, kind in _MAGIC:
        if head.startswith(magic, offset):
            return kind
    if head.startswith(b"at") and 0 < int.from_bytes(head[2:6], "little") <= _MAX_CHUNK_BYTES:
        return _APITRACE
    return None


def foreign_text(head: bytes) -> Foreign:
    """The kind of a text that shows no dwords."""
    text = head.decode("utf-8", "replace")
    for pattern, kind in _TEXTS:
        if re.match(pattern, text, re.IGNORECASE):
            return kind
    for pattern, kind in _LINES:
        if re.search(f"^{pattern}", text, re.MULTILINE):
            return kind
    return Foreign("text that shows no dwords")
