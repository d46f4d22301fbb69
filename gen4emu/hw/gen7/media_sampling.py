"""The state of the sampler's media functions on Ivy Bridge: wider surfaces, motion-compensated deinterlacing.

IVB PRM vol. 4 part 1, 2.8; the layouts as in intel-vaapi-driver (i965_structs.h), which programs all of them.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Bool, Enum, Field, Uint
from gen4emu.hw.gen6 import media_sampling as gen6
from gen4emu.hw.layout import Block
from gen4emu.hw.reserved import block

_REF = "intel-vaapi-driver i965_structs.h"


class SurfacePictureStructure(IntEnum):
    """The part of a frame that the surface is.  No driver sets it; the order is that of other manuals."""

    FRAME_PICTURE = 0
    TOP_FIELD_PICTURE = 1
    BOTTOM_FIELD_PICTURE = 2


class FilmModeSecondField(IntEnum):
    """The missing lines around the second field of the previous frame."""

    DEINTERLACE = 0
    WEAVE_WITH_1ST_FIELD_OF_PREVIOUS_FRAME = 1
    WEAVE_WITH_1ST_FIELD_OF_CURRENT_FRAME = 2


class FilmModeFirstField(IntEnum):
    """The missing lines around the first field of the current frame."""

    DEINTERLACE = 0
    WEAVE_WITH_2ND_FIELD_OF_PREVIOUS_FRAME = 1
    WEAVE_WITH_2ND_FIELD_OF_CURRENT_FRAME = 2


MEDIA_SURFACE_STATE = block("MEDIA_SURFACE_STATE", 8, [
    Address("surface_base_address", 0, 31, 0, target="SURFACE_DATA"),
    Uint("height", 1, 31, 18, bias=1),
    Uint("width", 1, 17, 4, bias=1),
    Enum("picture_structure", 1, 3, 2, SurfacePictureStructure),
    Uint("cbcr_vertical_pixel_offset", 1, 1, 0, doc="in quarter lines"),
    *gen6.surface_shape(2, pitch_hi=20),
    *gen6.planes(3, 29, 14),
], ref=_REF, align=32, doc="the surface of a media message, where other messages have a RENDER_SURFACE_STATE")

SAMPLER_8X8 = block("SAMPLER_8x8", 4, [
    Bool("disable_8x8_filter", 0, 31),
    Bool("ief_bypass", 0, 29),
    *gen6.chroma_key(),
    Uint("global_noise_estimation", 0, 7, 0),
    gen6.table_pointer(),
    Uint("r5c_coefficient", 2, 30, 26),
    Uint("r5cx_coefficient", 2, 25, 21),
    Uint("r5x_coefficient", 2, 20, 16),
    Uint("strong_edge_threshold", 2, 13, 8),
    Uint("weak_edge_threshold", 2, 5, 0),
    *gen6.edge_weights(),
    Uint("r3c_coefficient", 3, 10, 6),
    Uint("r3x_coefficient", 3, 4, 0),
], ref=_REF, align=32, doc="the sampler state of sample_8x8; an index counts 16 bytes")


def motion_compensation(dword: int) -> list[Field]:
    """The fields that four steps of motion-compensated deinterlacing added to dwords 0, 2 and 6 of the state."""
    return [
        Uint("denoise_history_increase", dword, 11, 8),
        Uint("good_neighbor_threshold", dword + 2, 29, 24),
        Uint("content_adaptive_threshold_slope", dword + 2, 23, 20, bias=1),
        Uint("sad_tight_threshold", dword + 2, 19, 16),
        Uint("smooth_mv_threshold", dword + 2, 15, 14),
        Uint("block_noise_estimate_edge_threshold", dword + 2, 11, 8),
        Uint("content_adaptive_threshold_1", dword + 6, 15, 14),
        Bool("mcdi_enable", dword + 6, 7),
        Bool("progressive_dn", dword + 6, 6),
        Bool("dndi_top_first", dword + 6, 3),
    ]


def film_mode(dword: int) -> list[Field]:
    """Dword 7 of the state."""
    return [
        Uint("neighbor_pixel_threshold", dword, 22, 19),
        Enum("vdi_progressive_cadence_reconstruction_for_2nd_field_of_previous_frame", dword, 17, 16,
             FilmModeSecondField),
        Uint("mc_pixel_consistency_threshold", dword, 15, 10),
        Enum("vdi_progressive_cadence_reconstruction_for_1st_field_of_current_frame", dword, 9, 8, FilmModeFirstField),
        Uint("sad_threshold_b", dword, 7, 4),
        Uint("sad_threshold_a", dword, 3, 0),
    ]


DNDI_STATE = block("DNDI_STATE", 8, [
    *gen6.denoise(0),
    Bool("frame_sharing_of_walker", 0, 14),
    Uint("walker_y_stride", 0, 13, 12),
    *gen6.deinterlace(4),
    *motion_compensation(0),
    *gen6.operation(6),
    Uint("column_width", 7, 31, 23, bias=1, doc="in blocks of 16 pixels"),
    Bool("vdi_walker_enable", 7, 18),
    *film_mode(7),
], ref=_REF, align=16, doc="the sampler state of the deinterlace message; an index counts 16 bytes")

REPLACED: tuple[Block, ...] = (MEDIA_SURFACE_STATE, SAMPLER_8X8, DNDI_STATE)
