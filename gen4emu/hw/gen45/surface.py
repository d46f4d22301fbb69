"""SURFACE_STATE of Gen4.5: a sixth dword, and the media boundary modes (Mesa's gen45.xml)."""

from __future__ import annotations

from gen4emu.hw.fields import Enum, Uint
from gen4emu.hw.gen4 import surface
from gen4emu.hw.gen4.surface import MediaBoundaryPixelMode
from gen4emu.hw.layout import Block

SURFACE_STATE = surface.SURFACE_STATE.changed(
    Enum("media_boundary_pixel_mode", 0, 7, 6, MediaBoundaryPixelMode),
    Uint("x_offset", 5, 31, 25, scale=4, doc="in texels"),
    Uint("y_offset", 5, 23, 20, scale=2, doc="in rows"),
    dwords=6)

REPLACED: tuple[Block, ...] = (SURFACE_STATE,)
