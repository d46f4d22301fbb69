"""Error states of a hang in the triangle capture, as every kernel variant prints them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gen4emu import trace
from gen4emu.trace import ascii85
from gen4emu.trace.events import MemoryWrite

TRIANGLE = Path(__file__).parents[2] / "traces" / "triangle-g4x.aub.xz"
BATCH, RING_AT, RING_BYTES = 0x100000, 0x1000, 4096
VARIANTS = "ABCDE"


@dataclass
class Hang:
    """The values in the dump; None leaves a line out."""

    acthd: int | None
    ring: Sequence[int] = (0x02000000, 0, 0x02000000, 0, 0x18800180, BATCH)
    head: int | None = 0x10
    tail: int = 0x18
    start: int | None = RING_AT


def dump(variant: str, hang: Hang) -> str:
    modern = variant in "DE"
    lines = ["Time: 1331234567 s 123456 us", "PCI ID: 0x2a42", "EIR: 0x00000000",
             "rcs0 command stream:" if modern else "render command stream:", *_registers(variant, hang)]
    if variant == "E":
        lines.append("  hung: 1")
    owner = {"C": "render ring (submitted by gears [7])", "D": "rcs0 (submitted by gears [7])",
             "E": "rcs0"}.get(variant, "render ring")
    batch, ring = ("batch", "ring") if variant == "E" else ("gtt_offset", "ringbuffer")
    high = "" if variant in "AB" else "00000000 "
    for address, data in _memory():
        kind = batch if address == BATCH or variant in "ABC" else "user"
        lines += [f"{owner} --- {kind} = 0x{high}{address:08x}", *_contents(data, modern)]
    data = struct.pack(f"<{len(hang.ring)}I", *hang.ring).ljust(RING_BYTES, b"\0")
    lines += [f"{owner} --- {ring} = 0x{high}{RING_AT:08x}", *_contents(data, modern)]
    return "\n".join(lines) + "\n"


def _registers(variant: str, hang: Hang) -> Iterator[str]:
    if hang.acthd is not None:
        yield f"  ACTHD: 0x{hang.acthd:08x}" if variant in "AB" else f"  ACTHD: 0x00000000 {hang.acthd:08x}"
    yield "  IPEHR: 0x7b001004"
    if variant == "A":  # one engine, and nothing about its ring
        return
    if hang.start is not None:
        yield f"  START: 0x{hang.start:08x}"
    request = variant in "DE"
    if hang.head is not None:
        yield f"  HEAD: 0x{0x00200000 | hang.head:08x}{f' [0x{hang.head:08x}]' if request else ''}"
    yield f"  TAIL: 0x{hang.tail:08x}{f' [0x{hang.tail:08x}, 0x{hang.tail:08x}]' if request else ''}"
    yield f"  CTL: 0x{RING_BYTES - 4096 | 1:08x}"


def _memory() -> Iterator[tuple[int, bytes]]:
    """The batch first, as kernels have it."""
    writes = [(e.address, bytes(e.data)) for e in trace.open(TRIANGLE) if isinstance(e, MemoryWrite)]
    return iter(sorted(writes, key=lambda w: w[0] != BATCH))


def _contents(data: bytes, encoded: bool) -> Iterator[str]:
    if encoded:
        yield ":" + ascii85.encode(zlib.compress(data)).decode()
        return
    data = data.ljust(len(data) + -len(data) % 4, b"\0")
    for i, word in enumerate(struct.unpack(f"<{len(data) // 4}I", data)):
        yield f"{4 * i:08x} :  {word:08x}"
