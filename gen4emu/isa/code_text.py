"""Machine code as text: bytes as Mesa's tools write them (`40 20 80 ...`), dwords as IGT's (`{ 0x..., },`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gen4emu.isa.lexer import without_comments

_BYTE = re.compile(r"[0-9a-fA-F]{2}")
_DWORD = re.compile(r"0[xX][0-9a-fA-F]{1,8}")
_BETWEEN_DWORDS = str.maketrans("{},", "   ")


def code_from(data: bytes) -> bytes:
    """The code in a file: decoded if the whole file is text of one of the two kinds, else the bytes themselves."""
    if not data.isascii():
        return data
    text = without_comments(data.decode("ascii")).strip()
    if text.startswith("{"):
        words = text.translate(_BETWEEN_DWORDS).split()
        if words and all(_DWORD.fullmatch(w) for w in words):
            return b"".join(int(w, 16).to_bytes(4, "little") for w in words)
    else:
        words = text.split()
        if words and all(_BYTE.fullmatch(w) for w in words):
            return bytes(int(w, 16) for w in words)
    return data


def hex_lines(code: bytes) -> Iterator[str]:
    """The code as lines of 16 bytes."""
    for at in range(0, len(code), 16):
        yield code[at:at + 16].hex(" ") + "\n"
