"""The commands of Gen9's video enhancement engine, with addresses of 48 bits, and its state of denoise and deinterlace.

The layouts as intel-vaapi-driver (gen75_vpp_vebox.c) sends them.
"""

from __future__ import annotations

from gen4emu.hw.fields import Address, Bool, Field, Ignored, Uint
from gen4emu.hw.gen6 import media_sampling as gen6
from gen4emu.hw.gen7 import media_sampling as gen7
from gen4emu.hw.gen75 import vebox as gen75
from gen4emu.hw.layout import Block, Command
from gen4emu.hw.reserved import block

_REF = "intel-vaapi-driver gen75_vpp_vebox.c"


def _pointer(name: str, dword: int, target: str = "DATA") -> Field:
    return Address(name, dword, 47, 12, target=target)


SURFACE_STATE = gen75.vebox("VEBOX_SURFACE_STATE", 0x7400, 9, [
    *gen75.SURFACE_FIELDS,
    Ignored(6),
    Uint("derived_surface_pitch", 7, 16, 0, bias=1, doc="in bytes"),
    Ignored(8),
])

STATE = gen75.vebox("VEBOX_STATE", 0x7402, 16, [
    Uint("state_surface_control_bits", 1, 31, 25, hex=True),
    Bool("gamut_expansion_position", 1, 22),
    Bool("single_slice_enable", 1, 14),
    Bool("hot_pixel_filtering_enable", 1, 13),
    Bool("alpha_plane_enable", 1, 12),
    Bool("vignette_enable", 1, 11),
    Bool("demosaic_enable", 1, 10),
    *gen75.OPERATION,
    _pointer("dn_di_state_pointer", 2, "VEBOX_DNDI_STATE"),
    _pointer("iecp_state_pointer", 4),
    _pointer("gamut_state_pointer", 6),
    _pointer("vertex_table_state_pointer", 8),
    _pointer("capture_pipe_state_pointer", 10),
    _pointer("lace_lut_table_state_pointer", 12),
    _pointer("gamma_correction_values_address", 14),
])

DI_IECP = gen75.vebox("VEBOX_DI_IECP", 0x7403, 20, [
    *gen75.COLUMNS,
    *(f for i, name in enumerate(gen75.FRAMES) for f in (
        Address(f"{name}_address", 2 + 2 * i, 47, 12, target="SURFACE_DATA"),
        Uint(f"{name}_surface_control_bits", 2 + 2 * i, 10, 0, hex=True))),
    Ignored(18),
    Ignored(19),
])

DNDI_STATE = block("VEBOX_DNDI_STATE", 18, [
    Uint("denoise_stad_threshold", 0, 31, 20, doc="a 4x4 sum of temporal differences above is motion"),
    Uint("denoise_maximum_history", 0, 19, 12, high=240, doc="from 128 on; 0 if the state is not used"),
    Uint("denoise_history_increase", 0, 11, 8),
    Uint("denoise_moving_pixel_threshold", 0, 4, 0, high=16),
    Uint("denoise_asd_threshold", 1, 31, 20),
    Uint("temporal_difference_threshold", 1, 19, 10),
    Uint("low_temporal_difference_threshold", 1, 9, 0),
    Bool("progressive_dn", 2, 28),
    Uint("denoise_threshold_for_sum_of_complexity_measure", 2, 27, 16),
    Uint("initial_denoise_history", 2, 15, 10),
    Uint("hot_pixel_count_threshold", 3, 31, 28),
    Uint("hot_pixel_threshold", 3, 27, 20),
    Uint("block_noise_estimate_edge_threshold", 3, 19, 12),
    Uint("block_noise_estimate_noise_threshold", 3, 11, 0),
    Uint("chroma_denoise_stad_threshold", 4, 27, 16),
    Bool("chroma_denoise_enable", 4, 12),
    Uint("chroma_temporal_difference_threshold", 4, 11, 6),
    Uint("chroma_low_temporal_difference_threshold", 4, 5, 0),
    *(Uint(f"range_filter_{i}", 5 + i, 31, 0, hex=True, doc="thresholds and weights of the spatial filter")
      for i in range(7)),
    Uint("stmm_c2", 12, 12, 10),
    Uint("content_adaptive_threshold_slope", 12, 9, 6, bias=1),
    Uint("sad_tight_threshold", 12, 5, 2),
    Uint("smooth_mv_threshold", 12, 1, 0),
    Uint("stmm_blending_constant_select", 13, 31, 31),
    Uint("blending_constant_across_time_for_large_values_of_stmm", 13, 30, 24),
    Uint("blending_constant_across_time_for_small_values_of_stmm", 13, 23, 16),
    Uint("multiplier_for_vecm", 13, 13, 8),
    Uint("maximum_stmm", 13, 7, 0),
    *gen6.deinterlace(14),
    Uint("content_adaptive_threshold_1", 16, 15, 14),
    Bool("mcdi_enable", 16, 7),
    Bool("dndi_top_first", 16, 3),
    *gen7.film_mode(17),
], ref=_REF)

REPLACED: tuple[Command, ...] = (SURFACE_STATE, STATE, DI_IECP)
ADDED: tuple[Block, ...] = (DNDI_STATE, gen75.PROCAMP_STATE)
