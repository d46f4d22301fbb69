"""The state of the sampler's media functions on Sandy Bridge: surfaces, adaptive scaling, denoise and deinterlace.

SNB PRM vol. 4 part 1; the layouts as in intel-vaapi-driver (i965_structs.h), which programs all of them.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Field, Fixed, Ignored, Sint, Uint
from gen4emu.hw.gen4.surface import TileWalk
from gen4emu.hw.layout import Block
from gen4emu.hw.reserved import block

_REF = "intel-vaapi-driver i965_structs.h"


class MediaSurfaceFormat(IntEnum):
    """The formats of a surface for sample_8x8, sample_unorm, deinterlace, and the video engines."""

    YCRCB_NORMAL = 0
    YCRCB_SWAPUVY = 1
    YCRCB_SWAPUV = 2
    YCRCB_SWAPY = 3
    PLANAR_420_8 = 4
    PLANAR_411_8 = 5
    PLANAR_422_8 = 6
    STMM_DN_STATISTICS = 7
    R10G10B10A2_UNORM = 8
    R8G8B8A8_UNORM = 9
    R8B8_UNORM = 10
    R8_UNORM = 11
    Y8_UNORM = 12


class AvsFilterType(IntEnum):
    """The filter of sample_8x8."""

    ADAPTIVE_8_TAP = 0
    NEAREST = 1


class IefFilterSize(IntEnum):
    """The window of the image enhancement filter."""

    THREE_BY_THREE = 0
    FIVE_BY_FIVE = 1


class IefFilterType(IntEnum):
    """The operation of the image enhancement filter."""

    COMBO = 0
    DETAIL = 1


# --- surfaces ---------------------------------------------------------------------------------------------------------
def planes(dword: int, x_hi: int, y_hi: int) -> list[Field]:
    """Where the chroma planes are, in pixels and rows from the base."""
    return [
        Uint("x_offset_for_cb", dword, x_hi, 16), Uint("y_offset_for_cb", dword, y_hi, 0),
        Uint("x_offset_for_cr", dword + 1, x_hi, 16), Uint("y_offset_for_cr", dword + 1, y_hi, 0),
    ]


def surface_shape(dword: int, pitch_hi: int = 19) -> list[Field]:
    """The format, the pitch and the tiling."""
    return [
        Enum("surface_format", dword, 31, 28, MediaSurfaceFormat),
        Bool("interleave_chroma", dword, 27, doc="as in NV12"),
        Uint("surface_object_control_state", dword, 25, 22, hex=True),
        Uint("surface_pitch", dword, pitch_hi, 3, bias=1, doc="in bytes"),
        Bool("half_pitch_for_chroma", dword, 2),
        Bool("tiled_surface", dword, 1),
        Enum("tile_walk", dword, 0, 0, TileWalk),
    ]


MEDIA_SURFACE_STATE = block("MEDIA_SURFACE_STATE", 5, [
    Address("surface_base_address", 0, 31, 0, target="SURFACE_DATA"),
    Uint("height", 1, 31, 19, bias=1),
    Uint("width", 1, 18, 6, bias=1),
    Uint("cbcr_vertical_pixel_offset", 1, 1, 0, doc="in quarter lines"),
    *surface_shape(2),
    *planes(3, 28, 12),
], ref=_REF, align=32, doc="the surface of a media message, where other messages have a RENDER_SURFACE_STATE")


# --- sample_8x8 -------------------------------------------------------------------------------------------------------
def chroma_key() -> list[Field]:
    return [Bool("chroma_key_enable", 0, 18), Uint("chroma_key_index", 0, 17, 16)]


def table_pointer() -> Field:
    return Address("sampler_8x8_state_pointer", 1, 31, 5, base="dynamic_state", target="SAMPLER_8x8_STATE")


def edge_weights() -> list[Field]:
    """Dword 3."""
    return [
        Bool("ief4_smooth_enable", 3, 31),
        Uint("strong_edge_weight", 3, 30, 28), Uint("regular_weight", 3, 26, 24), Uint("non_edge_weight", 3, 22, 20),
        Uint("gain_factor", 3, 19, 14),
    ]


def _bytes(names: list[str], dword: int, kind: type[Uint | Sint] = Uint) -> list[Field]:
    return [kind(name, dword + i // 4, 8 * (i % 4) + 7, 8 * (i % 4)) for i, name in enumerate(names)]


SAMPLER_8X8 = block("SAMPLER_8x8", 16, [
    Enum("avs_filter_type", 0, 31, 31, AvsFilterType),
    Bool("ief_bypass", 0, 29),
    Enum("ief_filter_type", 0, 28, 28, IefFilterType),
    Enum("ief_filter_size", 0, 27, 27, IefFilterSize),
    *chroma_key(),
    table_pointer(),
    Uint("global_noise_estimation", 2, 15, 8),
    Uint("strong_edge_threshold", 2, 7, 4),
    Uint("weak_edge_threshold", 2, 3, 0),
    *edge_weights(),
    Uint("r3x_coefficient", 3, 9, 5),
    Uint("r3c_coefficient", 3, 4, 0),
    Uint("r5c_coefficient", 4, 30, 26),
    Uint("r5cx_coefficient", 4, 24, 20),
    Uint("r5x_coefficient", 4, 18, 14),
    Uint("steepness_threshold", 4, 11, 8),
    Uint("steepness_boost", 4, 7, 7),
    Uint("mr_threshold", 4, 6, 3),
    Uint("mr_boost", 4, 2, 2),
    *_bytes([f"pwl1_point_{i}" for i in range(1, 7)], 5),
    *(Uint(f"pwl1_r3_bias_{i}", 6 + (i + 2) // 4, 8 * ((i + 2) % 4) + 7, 8 * ((i + 2) % 4)) for i in range(7)),
    *(Uint(f"pwl1_r5_bias_{i}", 8 + (i + 1) // 4, 8 * ((i + 1) % 4) + 7, 8 * ((i + 1) % 4)) for i in range(7)),
    *_bytes([f"pwl1_r3_slope_{i}" for i in range(7)], 10, Sint),
    *(Sint(f"pwl1_r5_slope_{i}", 11 + (i + 3) // 4, 8 * ((i + 3) % 4) + 7, 8 * ((i + 3) % 4)) for i in range(7)),
    Uint("maximum_limiter", 13, 31, 28),
    Uint("minimum_limiter", 13, 27, 24),
    Uint("limiter_boost", 13, 19, 16),
    Uint("clip_limiter", 14, 17, 8),
], ref=_REF, align=32, doc="the sampler state of sample_8x8; an index counts 16 bytes")


def _taps(table: str, dword: int) -> list[Field]:
    return [Fixed(f"{table}_filter_coefficient_{i}", dword + i // 4, 8 * (i % 4) + 7, 8 * (i % 4), frac=6, signed=True)
            for i in range(8)]


AVS_COEFFICIENTS = block("AVS_COEFFICIENTS", 8, [
    f for i, table in enumerate(("table_0x", "table_0y", "table_1x", "table_1y")) for f in _taps(table, 2 * i)
], ref=_REF, doc="eight taps of one phase: table 0 is for Y, table 1 for U and V, of which taps 2 to 5 count")

SAMPLER_8X8_STATE = block("SAMPLER_8x8_STATE", 138, [
    Array("coefficients", 0, AVS_COEFFICIENTS, 17, doc="phases 0 to 16 of 32; the others are their mirror images"),
    Uint("default_sharpness_level", 136, 31, 24, doc="0 is smooth, 255 sharp"),
    Uint("max_derivative_4_pixels", 136, 23, 16),
    Uint("max_derivative_8_pixels", 136, 15, 8),
    Uint("transition_area_with_4_pixels", 136, 6, 4),
    Uint("transition_area_with_8_pixels", 136, 2, 0),
    Bool("bypass_x_adaptive_filtering", 137, 22),
    Bool("bypass_y_adaptive_filtering", 137, 21),
], ref=_REF, align=32)


# --- denoise and deinterlace ------------------------------------------------------------------------------------------
def denoise(dword: int) -> list[Field]:
    """The first four dwords, as far as all generations have them."""
    return [
        Uint("denoise_stad_threshold", dword, 31, 24, doc="a 4x4 sum of temporal differences above is motion"),
        Uint("denoise_maximum_history", dword, 23, 16, low=128, high=240),
        Uint("denoise_asd_threshold", dword, 7, 0),
        Uint("temporal_difference_threshold", dword + 1, 29, 24),
        Uint("low_temporal_difference_threshold", dword + 1, 21, 16),
        Uint("stmm_c2", dword + 1, 15, 13),
        Uint("denoise_moving_pixel_threshold", dword + 1, 12, 8, high=16),
        Uint("denoise_threshold_for_sum_of_complexity_measure", dword + 1, 7, 0),
        Uint("block_noise_estimate_noise_threshold", dword + 2, 7, 0),
        Uint("stmm_blending_constant_select", dword + 3, 31, 31),
        Uint("blending_constant_across_time_for_large_values_of_stmm", dword + 3, 30, 24),
        Uint("blending_constant_across_time_for_small_values_of_stmm", dword + 3, 23, 16),
        Uint("multiplier_for_vecm", dword + 3, 13, 8),
        Uint("maximum_stmm", dword + 3, 7, 0),
    ]


def deinterlace(dword: int) -> list[Field]:
    """The next three dwords, as far as all generations have them."""
    return [
        Uint("minimum_stmm", dword, 31, 24),
        Uint("stmm_shift_down", dword, 23, 22),
        Uint("stmm_shift_up", dword, 21, 20),
        Uint("stmm_output_shift", dword, 19, 16),
        Uint("sdi_threshold", dword, 15, 8),
        Uint("sdi_delta", dword, 7, 0),
        Uint("sdi_fallback_mode_1_t1_constant", dword + 1, 31, 24),
        Uint("sdi_fallback_mode_1_t2_constant", dword + 1, 23, 16),
        Uint("sdi_fallback_mode_2_constant", dword + 1, 15, 8),
        Uint("fmd_temporal_difference_threshold", dword + 1, 7, 0),
        Uint("fmd_1_vertical_difference_threshold", dword + 2, 31, 24),
        Uint("fmd_2_vertical_difference_threshold", dword + 2, 23, 16),
        Uint("fmd_tear_threshold", dword + 2, 13, 8),
    ]


def operation(dword: int) -> list[Field]:
    """The operation of a message; the state of the video enhancement engine has no such bits."""
    return [
        Bool("dndi_first_frame", dword, 5),
        Uint("dndi_stream_id", dword, 4, 4),
        Bool("di_partial", dword, 2),
        Bool("di_enable", dword, 1),
        Bool("dn_enable", dword, 0),
    ]


DNDI_STATE = block("DNDI_STATE", 8, [
    *denoise(0),
    Uint("denoise_history_increase", 0, 15, 8),
    Uint("good_neighbor_threshold", 2, 31, 24),
    Uint("denoise_edge_threshold", 2, 23, 16),
    Uint("block_noise_estimate_edge_threshold", 2, 15, 8),
    *deinterlace(4),
    Bool("progressive_dn", 6, 6),
    Bool("dndi_top_first", 6, 3),
    *operation(6),
    Ignored(7, doc="the VA driver writes Ivy Bridge's film mode here"),
], ref=_REF, align=16, doc="the sampler state of the deinterlace message; an index counts 16 bytes")

ADDED: tuple[Block, ...] = (
    MEDIA_SURFACE_STATE, SAMPLER_8X8, AVS_COEFFICIENTS, SAMPLER_8X8_STATE, DNDI_STATE,
)
