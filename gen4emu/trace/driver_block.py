"""The identifier block in a buffer of Mesa's drivers: the driver, and the number of the frame.

It starts with 32 magic bytes; items {type, length, contents} follow without alignment.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from gen4emu.core_enums import PAGE_SIZE

MAGIC = struct.pack("<4Q", *(0xFFEEDDCCBBAA9988, 0x7766554433221100) * 2)
NOTE = "driver:"  # starts the comment that readers make from a block
_ITEM = struct.Struct("<II")
_TYPE_END, _TYPE_DRIVER, _TYPE_FRAME = 1, 2, 3
_MAX_TEXT = 256


@dataclass(slots=True, frozen=True)
class DriverBlock:
    description: str
    frame: int | None

    def __str__(self) -> str:
        return f"{NOTE} {self.description}" + ("" if self.frame is None else f", frame {self.frame}")


def find(address: int, data: bytes | memoryview) -> DriverBlock | None:
    """The block at the start of a buffer, or None."""
    if address % PAGE_SIZE or data[:len(MAGIC)] != MAGIC:
        return None
    block = bytes(data[:PAGE_SIZE])
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
    """Bytes of a trace as one printable line.

    Line ends become spaces, so that text in a trace cannot imitate lines of a decoder; control characters become
    question marks.
    """
    line = " ".join(text.decode("utf-8", "replace").splitlines())
    return "".join(c if c.isprintable() or c == "\t" else "?" for c in line)
