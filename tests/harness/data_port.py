"""Threads that read and write surfaces through the data port, on a bench."""

from __future__ import annotations

import struct
from typing import Any

from gen4emu.hw.catalogue import block_named
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.messages import MESSAGE_DESCRIPTOR, OwordBlockSize
from tests.harness.messages import descriptor
from tests.harness.probe import Probe

SURFACE_STATE_BASE = 0x100000
BINDING_TABLE = 0x101000
DATA = 0x200000
READ, WRITE = (descriptor(f"DATA_PORT_{way}_MESSAGE", Gen.EL, length=0) for way in ("READ", "WRITE"))


def _part(**fields: Any) -> int:
    """The bits of a field of descriptors for reads."""
    return descriptor("DATA_PORT_READ_MESSAGE", Gen.EL, length=0, **fields) & ~READ


DATA_CACHE, RENDER_CACHE, SAMPLER_CACHE = (_part(target_cache=cache) for cache in ("DATA", "RENDER", "SAMPLER"))
COMMIT = descriptor("DATA_PORT_WRITE_MESSAGE", Gen.EL, length=0, send_write_commit_message=True) & ~WRITE
OWORD_BLOCK, DUAL_BLOCK, MEDIA_BLOCK, SCATTERED = (_part(message_type=name) for name in (
    "OWORD_BLOCK", "OWORD_DUAL_BLOCK", "MEDIA_BLOCK", "DWORD_SCATTERED"))
# Blocks and elements of the larger sizes.
DUAL_BLOCK_4 = _part(message_type="OWORD_DUAL_BLOCK", oword_dual_block_size="OWORDS_4")
SCATTERED_8, SCATTERED_16 = (_part(message_type="DWORD_SCATTERED", dword_scattered_block_size=size) for size in (
    "DWORDS_8", "DWORDS_16"))
STATELESS = 255


def oword_block(size: OwordBlockSize) -> int:
    return _part(message_type="OWORD_BLOCK", oword_block_size=size)


def media_block(**fields: Any) -> int:
    return _part(message_type="MEDIA_BLOCK", **fields)


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
    """`function` is READ or WRITE, `control` any of the bits above."""
    (lengths,) = MESSAGE_DESCRIPTOR.pack(Gen.EL, message_length=mlen, response_length=rlen)
    return function | lengths | control | index
