"""The color calculator alone: render target writes and early tests, without windower and shaders.

For tests, benchmarks and study (native/harness/color.c).  State is given as fields of WM_STATE and COLOR_CALC_STATE.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gen4emu.core_enums import Status
from gen4emu.device.memory import Memory
from gen4emu.errors import FieldError
from gen4emu.hw.catalogue import block_named
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.messages import RENDER_TARGET_WRITE_HEADER
from gen4emu.hw.gen4.payload import PAYLOAD_PS_R1
from tests.harness.messages import descriptor
from tests.harness.native import ffi, harness
from tests.harness.probe import THREADS, Probe

BINDING_TABLE = 0x1000
SURFACE_STATES = 0x2000

Fields = dict[str, Any]


_FLAGS = PAYLOAD_PS_R1.field("antialias_alpha_to_render_target", Gen.EL)  # the lowest one


def header_flag(name: str) -> int:
    """A field of M1.6, as a bit of a message's flags."""
    field = PAYLOAD_PS_R1.field(name, Gen.EL)
    assert field.dword == _FLAGS.dword
    return field.mask << field.lo - _FLAGS.lo


@dataclass(frozen=True, slots=True)
class IzDecision:
    """The unit that tests, and what the payload has: the four fields of R1.6 from source depth on."""

    mode: str  # P, N or C
    flags: int


class PixelProbe(Probe):
    """Threads of the windower that write to render targets."""

    def __init__(self, gen: Gen = Gen.EL, memory: Memory | None = None) -> None:
        super().__init__(gen, memory)
        self.surfaces = 0

    def add_surface(self, **fields: Any) -> int:
        """Add a SURFACE_STATE; returns its binding table index."""
        address = SURFACE_STATES + 32 * self.surfaces
        self.memory.write(address, block_named("SURFACE_STATE", self.gen).build(self.gen, **fields))
        self.memory.write(BINDING_TABLE + 4 * self.surfaces, struct.pack("<I", address))
        self.surfaces += 1
        return self.surfaces - 1

    def _blocks(self, wm: Fields, cc: Fields) -> tuple[Any, Any]:
        return (ffi.new("uint32_t[]", block_named("WM_STATE", self.gen).pack(self.gen, **wm)),
                ffi.new("uint32_t[]", block_named("COLOR_CALC_STATE", self.gen).pack(self.gen, **cc)))

    def begin(self, threads: int = 1, *, wm: Fields | None = None, cc: Fields | None = None,
              viewports: Sequence[tuple[float, float]] = ((0.0, 1.0),)) -> None:
        """Start the threads of a draw; `viewports` are least and greatest depth."""
        self.start(threads, binding_table=BINDING_TABLE)
        flat = [bound for viewport in viewports for bound in viewport]
        if len(flat) > 32:
            raise FieldError(f"{len(viewports)} viewports: there are 16")
        wm_state, cc_state = self._blocks(wm or {}, cc or {})
        bounds = ffi.new("float[]", flat + [0.0] * (32 - len(flat)))
        if harness().g4_probe_pixels(self._probe, wm_state, cc_state, bounds) != Status.OK:
            raise MemoryError("no memory for the color calculator")

    def depth_buffer(self, **fields: Any) -> None:
        """3DSTATE_DEPTH_BUFFER, for the draws that begin from now on."""
        words = block_named("3DSTATE_DEPTH_BUFFER", self.gen).pack(self.gen, **fields)
        for i, word in enumerate(words):
            self.state.depth_buffer[i] = word

    def constant_color(self, *color: float) -> None:
        for i, value in enumerate(color, 1):
            (self.state.constant_color[i],) = struct.unpack("<I", struct.pack("<f", value))

    def iz(self, *, depth_buffer: bool = True, wm: Fields | None = None, cc: Fields | None = None) -> IzDecision:
        """The IZ table's answer."""
        found = int(harness().g4_probe_iz(self._probe, *self._blocks(wm or {}, cc or {}), depth_buffer))
        return IzDecision("PNC"[found >> 4], found & 15)

    def early(self, x: Sequence[int], y: Sequence[int], lit: int, z: Sequence[float], *, viewport: int = 0,
              array_index: int = 0, back_facing: bool = False) -> int:
        """The windower's test of four subspans; returns the pixels that are left."""
        columns, rows = ffi.new("uint16_t[4]", list(x)), ffi.new("uint16_t[4]", list(y))
        return int(harness().g4_probe_early(self._probe, columns, rows, lit, ffi.new("float[16]", list(z)), viewport,
                                            array_index, back_facing))

    def destination(self, x: Sequence[int], y: Sequence[int], lit: int = 0xFFFF, *,
                    array_index: int = 0) -> tuple[list[int], list[int]]:
        """Raw depth and stencil of four subspans, as the payload carries them."""
        depth, stencil = ffi.new("uint32_t[16]"), ffi.new("uint8_t[16]")
        columns, rows = ffi.new("uint16_t[4]", list(x)), ffi.new("uint16_t[4]", list(y))
        harness().g4_probe_destination(self._probe, columns, rows, lit, array_index, depth, stencil)
        return list(depth), list(stencil)

    @property
    def depth_count(self) -> int:
        """PS_DEPTH_COUNT since the probe was made."""
        return int(harness().g4_probe_depth_count(self._probe))

    def header(self, thread: int = 0, *, pixels: int = 0xFFFF, x: Sequence[int] = (0, 2, 4, 6),
               y: Sequence[int] = (0, 0, 0, 0), flags: int = 0, viewport: int = 0, array_index: int = 0) -> None:
        """M0 and M1 of a message; `flags` as `header_flag` returns them."""
        places = {f"subspan_{s}_{axis}": at[s] for axis, at in (("x", x), ("y", y)) for s in range(4)}
        m1 = PAYLOAD_PS_R1.pack(self.gen, viewport_index=viewport, render_target_array_index=array_index, **places)
        m1[_FLAGS.dword] |= flags << _FLAGS.lo
        self.mrf(0, thread)[0] = RENDER_TARGET_WRITE_HEADER.pack(self.gen, dispatched_pixel_enables=pixels,
                                                                 pixel_enables=pixels)[0]
        self.mrf(1, thread)[2:] = m1[2:]

    def color16(self, color: NDArray[Any], thread: int = 0, first: int = 2) -> None:
        """The colors of sixteen slots, an array of 16 rows of R, G, B, A: floats, or integers as they are."""
        slots = np.ascontiguousarray(color)
        for half in range(2):
            for channel in range(4):
                self.mrf(first + 4 * half + channel, thread)[:] = (
                    np.ascontiguousarray(slots[8 * half:8 * half + 8, channel]).view(np.uint32))

    def color8(self, color: NDArray[Any], thread: int = 0, first: int = 2) -> None:
        """The colors of eight slots, as in `color16`."""
        for channel in range(4):
            self.mrf(first + channel, thread)[:] = np.ascontiguousarray(color[:8, channel]).view(np.uint32)

    def write(self, kind: int = 0, *, index: int = 0, last: bool = True, length: int | None = None) -> Status:
        """Render target writes of all threads from MRF 0 on."""
        base = {0: 10, 1: 3, 2: 10, 3: 10, 4: 6}[kind] if length is None else length
        return self.send(self._write(base, kind, last, index), exec_size=16, emask=0xFFFF)

    def _write(self, length: int, kind: int = 0, last: bool = True, index: int = 0) -> int:
        return descriptor("DATA_PORT_WRITE_MESSAGE", self.gen, length=length, message_type="RENDER_TARGET",
                          last_render_target_select=last, render_target_write_type=kind, binding_table_index=index)

    def fill(self, tiles: int, across: int, index: int = 0) -> Status:
        """Cover tiles of 32x32 pixels with SIMD16 messages of eight threads whose colors are in place."""
        if self.threads != THREADS:
            raise FieldError(f"fill needs {THREADS} threads")
        return Status(harness().g4_probe_fill(self._probe, self._write(10, index=index), tiles, across))

    def fill_depth(self, tiles: int, across: int, z: float) -> int:
        """Early tests of all pixels of tiles at one depth; returns the number that passed."""
        return int(harness().g4_probe_fill_depth(self._probe, z, tiles, across))
