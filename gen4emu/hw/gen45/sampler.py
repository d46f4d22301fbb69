"""The sampler of Gen4.5: a second palette."""

from __future__ import annotations

from gen4emu.hw.fields import Array, Mbz, Uint
from gen4emu.hw.layout import Block, gfx

SAMPLER_PALETTE_ARGB_ENTRY = Block("SAMPLER_PALETTE_ARGB_ENTRY", 1, [
    Uint("palette_color_alpha", 0, 31, 24),
    Uint("palette_color_red", 0, 23, 16),
    Uint("palette_color_green", 0, 15, 8),
    Uint("palette_color_blue", 0, 7, 0),
], ref="Mesa gen6.xml")

ADDED: tuple[Block, ...] = (
    SAMPLER_PALETTE_ARGB_ENTRY,
    # Only later manuals have this command; the second palette exists on Gen4.5, and this is how they load it.
    gfx("3DSTATE_SAMPLER_PALETTE_LOAD1", 0x790C, 1, [
        Mbz(0, 15, 8),
        Array("palette_colors", 1, SAMPLER_PALETTE_ARGB_ENTRY),
    ], ref="Mesa gen6.xml"),
)
