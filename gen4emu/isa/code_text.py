"""Machine code written as text: bytes as Mesa's tools write them (`40 20 80 ...`), dwords as IGT's (`{ 0x..., },`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

_BYTES = re.compile(rb"\s*[0-9a-fA-F]{2}(?:\s+[0-9a-fA-F]{2})*\s*")
_DWORDS = re.compile(rb"\s*(?:\{\s*(?:0[xX][0-9a-fA-F]{1,8}\s*,?\s*)+\}\s*,?\s*)+")
_DWORD = re.compile(rb"0[xX]([0-9a-fA-F]{1,8})")
_COMMENT = re.compile(rb"//[^\n]*|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/")


def code_from(data: bytes) -> bytes:
    """The code in a file: decoded when the whole file is one of the two kinds of text, else the bytes themselves."""
    if not data.isascii():
        return data
    text = _COMMENT.sub(b" ", data)
    if _BYTES.fullmatch(text):
        return bytes(int(b, 16) for b in text.split())
    if text.lstrip().startswith(b"{") and _DWORDS.fullmatch(text):
        return b"".join(int(d, 16).to_bytes(4, "little") for d in _DWORD.findall(text))
    return data


def hex_lines(code: bytes) -> Iterator[str]:
    """The code as lines of 16 bytes."""
    for at in range(0, len(code), 16):
        yield code[at:at + 16].hex(" ") + "\n"
