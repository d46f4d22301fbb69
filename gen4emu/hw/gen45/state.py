"""State blocks of Gen4.5: bits that are reserved on Gen4, and higher limits (G45 PRM vol. 2)."""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Bool, Enum, Ignored, Uint
from gen4emu.hw.gen4 import state
from gen4emu.hw.gen4.state import VS_ON
from gen4emu.hw.layout import Block


class AaLineDistance(IntEnum):
    """AALINEDISTANCE_*."""

    MANHATTAN = 0
    TRUE = 1


REPLACED: tuple[Block, ...] = (
    state.VS_STATE.changed(
        Uint("maximum_number_of_threads", 4, 30, 25, bias=1, high=32, when=VS_ON),
        Uint("number_of_urb_entries", 4, 17, 11, low=8, high=64)),
    state.GS_STATE.changed(
        Ignored(4, 8, 8, doc="a rendering enable by some accounts; quads draw with it clear")),
    state.CLIP_STATE.changed(
        Bool("negative_w_clip_test_enable", 5, 25)),
    state.SF_STATE.changed(
        Bool("statistics_enable", 4, 10),
        Enum("aa_line_distance_mode", 7, 14, 14, AaLineDistance),
        remove=["reserved_4_10_10"]),
    state.WM_STATE.changed(
        Uint("maximum_number_of_threads", 5, 31, 25, bias=1, high=50),
        Bool("transposed_urb_read_enable", 5, 24),
        Bool("contiguous_64_pixel_dispatch_enable", 5, 4),
        Bool("contiguous_32_pixel_dispatch_enable", 5, 3)),
)
