"""The block by which Mesa's drivers mark a buffer: who made the batch, and for which frame.

It opens with a magic of 32 bytes; items {type, length, contents} follow, packed without alignment.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

MAGIC = struct.pack("<4Q", *(0xFFEEDDCCBBAA9988, 0x7766554433221100) * 2)
NOTE = "driver:"  # opens the comment that readers make of a block
_ITEM = struct.Struct("<II")
_TYPE_END, _TYPE_DRIVER, _TYPE_FRAME = 1, 2, 3
_PAGE_BYTES = 4096
_MAX_TEXT = 256


@dataclass(slots=True, frozen=True)
class DriverBlock:
    description: str
    frame: int | None

    def __str__(self) -> str:
        return f"{NOTE} {self.description}" + ("" if self.frame is None else f", frame {self.frame}")


def find(address: int, data: bytes | memoryview) -> DriverBlock | None:
    """The block at the start of a buffer, if one is there."""
    if address % _PAGE_BYTES or data[:len(MAGIC)] != MAGIC:
        return None
    block = bytes(data[:_PAGE_BYTES])
    at = len(MAGIC)
    description, frame = "", None
    while at + _ITEM.size <= len(block):
        kind, length = _ITEM.unpack_from(block, at)
        contents = block[at + _ITEM.size:at + length]
        if kind == _TYPE_END or length < _ITEM.size:
            break
        if kind == _TYPE_DRIVER:
            description = printable(contents.split(b"\0")[0][:_MAX_TEXT])
        elif kind == _TYPE_FRAME and len(contents) == 8:
            frame = int.from_bytes(contents, "little")
        at += length
    return DriverBlock(description, frame)


def printable(text: bytes) -> str:
    """Bytes of a trace as one line that is safe to show.

    Line ends become spaces, so that no text of a trace looks like lines of a decoder; control characters become
    question marks.
    """
    line = " ".join(text.decode("utf-8", "replace").splitlines())
    return "".join(c if c.isprintable() or c == "\t" else "?" for c in line)
