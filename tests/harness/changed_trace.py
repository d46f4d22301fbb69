"""Traces with a changed byte, and the blocks and memory of their draws."""

from __future__ import annotations

import lzma
from pathlib import Path

import gen4emu
from gen4emu.decode.nodes import Data, Kernel


def with_change(trace: Path, to: Path, old: bytes, at: int, mask: int) -> str:
    """A copy of a trace in which some bits of one of these bytes are inverted, wherever they occur."""
    data = lzma.decompress(trace.read_bytes())
    assert old in data
    new = bytearray(old)
    new[at] ^= mask
    to.write_bytes(data.replace(old, bytes(new)))
    return str(to)


def block(trace: Path, draw: int, name: str) -> bytes:
    with gen4emu.open(trace) as opened:
        (found,) = opened.state(draw).blocks(name)
    return b"".join(word.to_bytes(4, "little") for word in found.body.words)


def memory(trace: Path, draw: int, kind: type[Kernel | Data], role: str) -> bytes:
    """The bytes of a kernel, or of data, that a draw uses."""
    with gen4emu.open(trace) as opened:
        (node,) = (n for n in opened.state(draw).nodes() if isinstance(n, kind) and n.role == role)
        return opened.at(draw=draw).read(node.address, node.size)
