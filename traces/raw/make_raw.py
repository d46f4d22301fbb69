"""Makes triangle.bin.xz, a raw batch that draws, from triangle-g4x.aub.xz: `python traces/raw/make_raw.py`.

A raw file is one range of memory that begins with its batch.  Here that is the whole memory of the trace, behind a page
whose only command starts the trace's own batch.
"""

from __future__ import annotations

import lzma
import struct
from pathlib import Path

from gen4emu.trace import events
from gen4emu.trace import open as open_trace

HERE = Path(__file__).parent
PAGE_BYTES = 4096
BATCH_START = 0x18800000 | 0x80  # MI_BATCH_BUFFER_START, two dwords, non-secure


def main() -> None:
    pages: dict[int, bytes] = {}
    batch = 0
    with open_trace(HERE.parent / "triangle-g4x.aub.xz") as trace:
        for event in trace:
            if isinstance(event, events.MemoryWrite):
                pages[event.address] = bytes(event.data)
            elif isinstance(event, events.Submission):
                batch = struct.unpack("<I", event.ring[-4:])[0]
    base = min(pages) - PAGE_BYTES
    memory = bytearray(max(address + len(data) for address, data in pages.items()) - base)
    memory[:8] = struct.pack("<2I", BATCH_START, batch)
    for address, data in pages.items():
        memory[address - base:address - base + len(data)] = data
    (HERE / "triangle.bin.xz").write_bytes(lzma.compress(bytes(memory), preset=9))
    print(f"gen4emu replay triangle.bin.xz --raw --device gm45 --base 0x{base:x}")


main()
