"""Thread payloads of Gen4.5: negative W, antialias alpha in bytes, contiguous dispatch (G45 PRM vol. 2)."""

from __future__ import annotations

from gen4emu.hw.fields import Array, Bool, Float, Ignored, Uint
from gen4emu.hw.gen4 import payload
from gen4emu.hw.gen4.payload import SUBSPAN_BYTES, ps_thread
from gen4emu.hw.layout import Block

REPLACED: tuple[Block, ...] = (
    payload.PAYLOAD_CLIP_R0.changed(Bool("object_outcode_neg_w", 2, 12), remove=["reserved_2_12_12"]),
    payload.PAYLOAD_PS_ANTIALIAS_STENCIL.changed(
        Array("antialias_alpha_u0_8", 4, SUBSPAN_BYTES, 4),
        remove=["reserved_4_31_0", "reserved_5_31_0", "antialias_alpha_u0_4"]),
)

ADDED: tuple[Block, ...] = (
    Block("PAYLOAD_PS_CONTIGUOUS_R0", 8, [
        Uint("x", 0, 31, 0, doc="the upper-left pixel of the block"),
        Uint("y", 1, 31, 0),
        Uint("pixel_mask_0", 2, 31, 0, hex=True),
        *ps_thread(),
    ], ref="G45v2 8.5.3", align=32),
    Block("PAYLOAD_PS_CONTIGUOUS_R1", 8, [
        Float("x_start", 0, 31, 0),
        Float("y_start", 1, 31, 0),
        Uint("pixel_mask_1", 2, 31, 0, hex=True, doc="the lower half of a 64-pixel block"),
        *(Ignored(dword) for dword in range(3, 8)),
    ], ref="G45v2 8.5.3", align=32),
)
