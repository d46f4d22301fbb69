"""Video processing on Haswell: denoise and deinterlace moved from the sampler to the video enhancement engine.

The layouts as in intel-vaapi-driver (i965_structs.h, gen75_vpp_vebox.c).
"""

from __future__ import annotations

from gen4emu.hw.fields import Bool, Uint
from gen4emu.hw.gen6 import media_sampling as gen6
from gen4emu.hw.gen7 import media_sampling as gen7
from gen4emu.hw.layout import Block
from gen4emu.hw.reserved import block

SAMPLER_8X8_STATE = gen6.SAMPLER_8X8_STATE.changed(
    Bool("adaptive_filter_for_all_channels", 137, 1),
    Bool("rgb_adaptive", 137, 0))

# The state of the message, one dword later and without what the command says.
VEBOX_DNDI_STATE = block("VEBOX_DNDI_STATE", 10, [
    *gen6.denoise(1),
    *gen6.deinterlace(5),
    *gen7.motion_compensation(1),
    Uint("initial_denoise_history", 8, 28, 23),
    *gen7.film_mode(8),
    Uint("chroma_denoise_stad_threshold", 9, 23, 16),
    Bool("chroma_denoise_enable", 9, 12),
    Uint("chroma_temporal_difference_threshold", 9, 11, 6),
    Uint("chroma_low_temporal_difference_threshold", 9, 5, 0),
], ref="intel-vaapi-driver gen75_vpp_vebox.c").changed(
    Uint("denoise_maximum_history", 1, 23, 16, high=240, doc="from 128 on; 0 if the state is not used"))

REPLACED: tuple[Block, ...] = (SAMPLER_8X8_STATE,)
ADDED: tuple[Block, ...] = (VEBOX_DNDI_STATE,)
REMOVED: tuple[str, ...] = ("DNDI_STATE",)
