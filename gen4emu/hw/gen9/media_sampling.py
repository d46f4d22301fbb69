"""The state of the sampler's media functions on Gen9: surfaces above 4 GiB, sample_8x8 with its tables in one block.

The layouts are those of intel-vaapi-driver (i965_structs.h, gen8_post_processing.c), which programs all of them.
"""

from __future__ import annotations

from gen4emu.hw.fields import Address, Array, Bool, Enum, Fixed, Float, Ignored, Uint
from gen4emu.hw.gen4.surface import TileWalk
from gen4emu.hw.gen6.media_sampling import MediaSurfaceFormat, planes
from gen4emu.hw.gen7.media_sampling import SurfacePictureStructure
from gen4emu.hw.layout import Block
from gen4emu.hw.reserved import block

_REF = "intel-vaapi-driver i965_structs.h"

MEDIA_SURFACE_STATE = block("MEDIA_SURFACE_STATE", 8, [
    Uint("rotation", 0, 31, 30),
    Uint("x_offset", 0, 26, 20),
    Uint("y_offset", 0, 19, 16),
    Uint("height", 1, 31, 18, bias=1),
    Uint("width", 1, 17, 4, bias=1),
    Enum("picture_structure", 1, 3, 2, SurfacePictureStructure),
    Uint("cbcr_vertical_pixel_offset", 1, 1, 0, doc="in quarter lines"),
    Enum("surface_format", 2, 31, 27, MediaSurfaceFormat),
    Bool("interleave_chroma", 2, 26, doc="as in NV12"),
    Uint("cbcr_horizontal_pixel_offset", 2, 25, 25),
    Uint("cbcr_vertical_pixel_offset_msb", 2, 24, 24),
    Uint("memory_compression_mode", 2, 23, 23),
    Bool("memory_compression_enable", 2, 22),
    Bool("mirrors", 2, 21, doc="outside of the surface, else the nearest edge"),
    Uint("surface_pitch", 2, 20, 3, bias=1, doc="in bytes"),
    Bool("half_pitch_for_chroma", 2, 2),
    Bool("tiled_surface", 2, 1),
    Enum("tile_walk", 2, 0, 0, TileWalk),
    *planes(3, 29, 14),
    Bool("vertical_line_stride", 5, 31),
    Uint("vertical_line_stride_offset", 5, 30, 30),
    Uint("tiled_resource_mode", 5, 19, 18),
    Uint("surface_object_control_state", 5, 6, 0, hex=True),
    Address("surface_base_address", 6, 47, 0, target="SURFACE_DATA"),
], ref=_REF, align=64, doc="the surface of a media message, where other messages have a RENDER_SURFACE_STATE")


def _tap(name: str, dword: int, low: int) -> Fixed:
    return Fixed(name, dword, low + 7, low, frac=6, signed=True)


AVS_COEFFICIENTS = block("AVS_COEFFICIENTS", 8, [
    *(_tap(f"table_0{axis}_filter_coefficient_{i}", i // 2, 16 * (i % 2) + 8 * (axis == "y"))
      for i in range(8) for axis in "xy"),
    *(_tap(f"table_1{axis}_filter_coefficient_{i}", first + i // 4, 8 * (i % 4))
      for axis, first in (("x", 4), ("y", 6)) for i in range(2, 6)),
], ref=_REF, doc="the taps of one phase: eight in table 0, for Y, and four in table 1, for U and V")

SAMPLER_8X8 = block("SAMPLER_8x8", 280, [
    Uint("r3c_coefficient", 0, 27, 23),
    Uint("r3x_coefficient", 0, 22, 18),
    Uint("strong_edge_threshold", 0, 17, 12),
    Uint("weak_edge_threshold", 0, 11, 6),
    Uint("gain_factor", 0, 5, 0),
    Uint("r5c_coefficient", 2, 31, 27),
    Uint("r5cx_coefficient", 2, 26, 22),
    Uint("r5x_coefficient", 2, 21, 17),
    Uint("strong_edge_weight", 2, 16, 14),
    Uint("regular_weight", 2, 13, 11),
    Uint("non_edge_weight", 2, 10, 8),
    Uint("global_noise_estimation", 2, 7, 0),
    Bool("skin_ief_enable", 3, 31),
    Bool("ief4_smooth_enable", 3, 30),
    Uint("enable_8_tap_adaptive_filter", 3, 29, 28),
    *(Uint(f"skin_detection_{dword}", dword, 31 if dword > 3 else 27, 0, hex=True) for dword in range(3, 16)),
    Array("coefficients", 16, AVS_COEFFICIENTS, 17, doc="the first phases of half a texel"),
    Uint("default_sharpness_level", 152, 31, 24, doc="0 is smooth, 255 sharp"),
    Uint("max_derivative_4_pixels", 152, 23, 16),
    Uint("max_derivative_8_pixels", 152, 15, 8),
    Uint("transition_area_with_4_pixels", 152, 6, 4),
    Uint("transition_area_with_8_pixels", 152, 2, 0),
    Bool("bypass_x_adaptive_filtering", 153, 22),
    Bool("bypass_y_adaptive_filtering", 153, 21),
    Bool("adaptive_filter_for_all_channels", 153, 1),
    Bool("rgb_adaptive", 153, 0),
    Array("more_coefficients", 160, AVS_COEFFICIENTS, 15, doc="the other ones"),
], ref=_REF, align=32, doc="the sampler state of sample_8x8; an index counts 16 bytes")

SAMPLE_8X8_PAYLOAD = Block("SAMPLE_8X8_PAYLOAD", 8, [
    Ignored(0),
    Uint("vertical_block_number", 1, 31, 0, high=3, doc="of 16x4 pixels"),
    Float("u", 2, 31, 0, doc="normalized, of the first pixel"),
    Float("v", 3, 31, 0),
    Float("delta_u", 4, 31, 0),
    Float("delta_v", 5, 31, 0),
    Float("second_derivative_of_u", 6, 31, 0),
    Ignored(7, 31, 28),
    Bool("ief_bypass", 7, 27),
    Uint("block_size", 7, 26, 25, doc="16x4, 8x4, 16x8, 4x4 pixels"),
    Ignored(7, 24, 0),
], ref="intel-vaapi-driver, shaders of video processing", align=32, doc="the pixels of sample_8x8")

REPLACED: tuple[Block, ...] = (SAMPLE_8X8_PAYLOAD,)
ADDED: tuple[Block, ...] = (MEDIA_SURFACE_STATE, AVS_COEFFICIENTS, SAMPLER_8X8)
