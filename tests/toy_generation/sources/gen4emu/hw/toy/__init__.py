"""A generation that never was: G45, but for a command with another opcode and one whose fields moved."""

from __future__ import annotations

from gen4emu.hw.fields import Uint
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen45 import GEN45

TOY = GEN45.derive("toy", Gen.TOY, like=Gen.EL, replace=[
    GEN45.command("3DPRIMITIVE").renumbered(0x7C000000),
    GEN45.command("3DSTATE_DRAWING_RECTANGLE").changed(
        Uint("clipped_drawing_rectangle_x_max", 2, 28, 16, doc="inclusive"),
        Uint("clipped_drawing_rectangle_y_max", 2, 12, 0, doc="inclusive")),
])
