"""Threads that read and write surfaces through the data port, on a bench."""

from __future__ import annotations

import struct
from typing import Any

from gen4emu.hw.catalogue import block_named
from gen4emu.hw.gen import Gen
from tests.harness.probe import Probe

SURFACE_STATE_BASE = 0x100000
BINDING_TABLE = 0x101000
DATA = 0x200000
READ, WRITE = 4 << 24, 5 << 24
DATA_CACHE, RENDER_CACHE, SAMPLER_CACHE = 0 << 14, 1 << 14, 2 << 14
COMMIT = 1 << 15
OWORD_BLOCK, DUAL_BLOCK, MEDIA_BLOCK, SCATTERED = 0 << 12, 1 << 12, 2 << 12, 3 << 12
STATELESS = 255


class Port(Probe):
    """Surfaces 0, 1, ... whose bytes start at DATA + 64 KiB times their number."""

    def __init__(self, gen: Gen = Gen.EL, threads: int = 1, **setup: Any) -> None:
        super().__init__(gen)
        self.surfaces = 0
        self.start(threads, surface_state_base=SURFACE_STATE_BASE, binding_table=BINDING_TABLE, **setup)

    def surface(self, content: bytes, *, base_offset: int = 0, **fields: Any) -> int:
        index, base = self.surfaces, DATA + 0x10000 * self.surfaces + base_offset
        state = 0x40 * (index + 1)
        self.memory.write(base, content)
        self.memory.write(SURFACE_STATE_BASE + state, block_named("SURFACE_STATE", self.gen).build(
            self.gen, surface_base_address=base, **fields))
        self.memory.write(BINDING_TABLE + 4 * index, struct.pack("<I", state))
        self.surfaces += 1
        return index

    def buffer(self, content: bytes, entries: int | None = None, **fields: Any) -> int:
        """A BUFFER of as many OWords as there are, or as its fields say."""
        last = (len(content) // 16 if entries is None else entries) - 1
        return self.surface(content, **{
            "surface_type": "SURFTYPE_BUFFER", "buffer_entries_6_0": last & 0x7F,
            "buffer_entries_19_7": last >> 7 & 0x1FFF, "buffer_entries_26_20": last >> 20} | fields)

    def image(self, content: bytes, width: int, height: int, pitch: int, **fields: Any) -> int:
        """A 2D surface; the width is in dwords, as media blocks see it."""
        return self.surface(content, **{"surface_type": "SURFTYPE_2D", "surface_format": "R8_UINT", "width": width,
                                        "height": height, "surface_pitch": pitch} | fields)

    def content(self, index: int, size: int) -> bytes:
        return self.memory.read(DATA + 0x10000 * index, size)

    def bytes_of(self, reg: int, thread: int = 0) -> bytes:
        return self.grf(reg, thread).tobytes()


def message(function: int, mlen: int, rlen: int, control: int, index: int) -> int:
    return function | mlen << 20 | rlen << 16 | control | index
