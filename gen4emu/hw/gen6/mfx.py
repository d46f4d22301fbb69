"""The video engine of Sandy Bridge: commands that decode (MFD), encode (MFC) or do both (MFX) AVC, VC-1 and MPEG-2.

SNB PRM vol. 2 part 3; lengths as intel-vaapi-driver (gen6_mfd.c, gen6_mfc.c) sends them, where Mesa's gen6.xml has
others.  The opcodes are those of the media commands of the render engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Field, Ignored, Sint, Uint
from gen4emu.hw.gen4.common import DATA_DWORD
from gen4emu.hw.gen4.media import InverseScanType
from gen4emu.hw.gen4.media_inline import PictureCodingType, PictureStructure, QuantizerScaleType
from gen4emu.hw.gen4.surface import TileWalk
from gen4emu.hw.gen6.media_sampling import MediaSurfaceFormat
from gen4emu.hw.layout import Block, Command, Engine
from gen4emu.hw.reserved import gfx

_REF = "SNB PRM vol2 part3 "


class StandardSelect(IntEnum):
    """The standard of the stream; JPEG from Ivy Bridge on."""

    MPEG2 = 0
    VC1 = 1
    AVC = 2
    JPEG = 3


class CodecSelect(IntEnum):
    """The direction."""

    DECODE = 0
    ENCODE = 1


class DecoderModeSelect(IntEnum):
    """Whether the engine reads a stream or coefficients; the last two are Ivy Bridge's."""

    VLD_MODE = 0
    IT_MODE = 1
    DEBLOCKER_MODE = 2
    INTERLAYER_MODE = 3


class ArbitrationPriority(IntEnum):
    """The priority of an access."""

    HIGHEST_PRIORITY = 0
    SECOND_HIGHEST_PRIORITY = 1
    THIRD_HIGHEST_PRIORITY = 2
    LOWEST_PRIORITY = 3


class ImageStructure(IntEnum):
    """img_struct."""

    FRAME_PICTURE = 0
    TOP_FIELD_PICTURE = 1
    BOTTOM_FIELD_PICTURE = 3


class ChromaFormatIdc(IntEnum):
    """chroma_format_idc; the last two are not supported."""

    MONOCHROME = 0
    YUV_4_2_0 = 1
    YUV_4_2_2 = 2
    YUV_4_4_4 = 3


class SliceType(IntEnum):
    """slice_type."""

    P_SLICE = 0
    B_SLICE = 1
    I_SLICE = 2


class DirectPredictionType(IntEnum):
    """direct_spatial_mv_pred_flag."""

    TEMPORAL = 0
    SPATIAL = 1


class ReferenceList(IntEnum):
    """The list that a table is for."""

    L0 = 0
    L1 = 1


class Mpeg2QuantizerMatrix(IntEnum):
    """The matrix that a command loads."""

    INTRA_QUANTIZER_MATRIX = 0
    NON_INTRA_QUANTIZER_MATRIX = 1


class FrameCodingMode(IntEnum):
    """FCM of VC-1."""

    PROGRESSIVE_FRAME_PICTURE = 0
    INTERLACED_FRAME_PICTURE = 1
    FIELD_PICTURE_WITH_TOP_FIELD_FIRST = 2
    FIELD_PICTURE_WITH_BOTTOM_FIELD_FIRST = 3


class UnifiedMvMode(IntEnum):
    """MVMODE and MVMODE2 of VC-1."""

    MIXED_MV = 0
    ONE_MV = 1
    ONE_MV_HALF_PEL = 2
    ONE_MV_HALF_PEL_BILINEAR = 3


class PictureTransformType(IntEnum):
    """TTFRM of VC-1."""

    TRANSFORM_8X8 = 0
    TRANSFORM_8X4 = 1
    TRANSFORM_4X8 = 2
    TRANSFORM_4X4 = 3


class Vc1Profile(IntEnum):
    """The profile of the stream."""

    SIMPLE_PROFILE = 0
    MAIN_PROFILE = 1
    ADVANCED_PROFILE = 2


# --- constructors -----------------------------------------------------------------------------------------------------
def video(name: str, code: int, dwords: int, fields: Sequence[Field | Array] = (), *, ref: str = _REF,
          optional: int = 0, doc: str = "") -> Command:
    """A command of the video engine, with twelve bits of length."""
    return gfx(name, code, dwords, fields, length=(11, 0), ref=ref + name, engine=Engine.VIDEO, optional=optional,
               doc=doc)


def opaque(name: str, code: int, ref: str) -> Command:
    """A command whose fields no public source has."""
    return video(name, code, 1, [Array("data", 1, DATA_DWORD)], ref=ref)


def buffer(name: str, dword: int, lo: int = 6) -> list[Field]:
    """The address of a buffer with the control of its accesses in the low bits."""
    return [
        Address(f"{name}_address", dword, 31, lo, target="DATA"),
        Enum(f"{name}_arbitration_priority_control", dword, 5, 4, ArbitrationPriority),
        Uint(f"{name}_graphics_data_type", dword, 2, 2),
        Uint(f"{name}_cacheability_control", dword, 1, 0),
    ]


def numbers(name: str, dword: int, count: int, width: int, kind: type[Uint | Sint] = Uint) -> list[Field]:
    """Numbers side by side, from bit 0 of a dword on."""
    return [kind(f"{name}_{i}", dword + width * i // 32, width * i % 32 + width - 1, width * i % 32)
            for i in range(count)]


def flags(name: str, dword: int, count: int, first: int = 0) -> list[Field]:
    """Flags side by side."""
    return [Bool(f"{name}_{i}", dword, first + i) for i in range(count)]


def dwords(name: str, dword: int, count: int | None) -> Array:
    """Dwords of a table."""
    return Array(name, dword, DATA_DWORD, count)


def indirect(name: str, dword: int, hi: int = 21) -> list[Field]:
    """A part of the indirect bitstream object."""
    return [
        Uint(f"{name}_length", dword, hi, 0, doc="in bytes"),
        Address(f"{name}_start_address", dword + 1, 28, 0, target="DATA", doc="from the base of the indirect object"),
    ]


# --- common to all standards ------------------------------------------------------------------------------------------
PIPE_MODE_SELECT = video("MFX_PIPE_MODE_SELECT", 0x7000, 4, [
    Enum("decoder_mode_select", 1, 16, 16, DecoderModeSelect),
    Bool("stream_out_enable", 1, 10),
    Bool("post_deblocking_output_enable", 1, 9),
    Bool("pre_deblocking_output_enable", 1, 8),
    Bool("zlr_tlb_prefetch_enable", 1, 7),
    Bool("stitch_mode", 1, 5),
    Enum("codec_select", 1, 4, 4, CodecSelect),
    Enum("standard_select", 1, 1, 0, StandardSelect),
    Bool("slice_pb_rounding", 2, 20),
    Bool("intra_8x8_rounding", 2, 19),
    Bool("clock_gate_enable_at_slice_level", 2, 6),
    Bool("avc_mv_poc_table_error_disable", 2, 4),
    Bool("avc_mbdata_error_disable", 2, 3),
    Bool("avc_cabac_cavlc_decode_error_disable", 2, 2),
    Uint("avc_long_field_mv", 2, 1, 1),
    Uint("avc_ildb_boundary_strength_calculation", 2, 0, 0),
])


def surface(size_lo: int, width_lo: int, x_hi: int, u_hi: int, v_hi: int) -> list[Field]:
    """Dwords 1 to 5 of MFX_SURFACE_STATE."""
    return [
        Uint("height", 2, 31, size_lo, bias=1),
        Uint("width", 2, size_lo - 1, width_lo, bias=1),
        Uint("cr_v_cb_u_pixel_offset_v_direction", 2, 1, 0, doc="in quarter lines"),
        Enum("surface_format", 3, 31, 28, MediaSurfaceFormat),
        Bool("interleave_chroma", 3, 27),
        Uint("surface_pitch", 3, 19, 3, bias=1, doc="in bytes"),
        Bool("half_pitch_for_chroma", 3, 2),
        Bool("tiled_surface", 3, 1),
        Enum("tile_walk", 3, 0, 0, TileWalk),
        Uint("x_offset_for_u_cb", 4, x_hi, 16), Uint("y_offset_for_u_cb", 4, u_hi, 0),
        Uint("x_offset_for_v_cr", 5, 28, 16), Uint("y_offset_for_v_cr", 5, v_hi, 0),
    ]


# Mesa's gen6.xml gives it another opcode; the driver sends this one.
SURFACE_STATE = video("MFX_SURFACE_STATE", 0x7001, 6, surface(19, 6, 28, 12, 12))

PIPE_BUF_ADDR_STATE = video("MFX_PIPE_BUF_ADDR_STATE", 0x7002, 24, [
    *(f for i, name in enumerate((
        "pre_deblocking_destination", "post_deblocking_destination", "original_uncompressed_picture_source",
        "stream_out_data_destination", "intra_row_store_scratch_buffer",
        "deblocking_filter_row_store_scratch_buffer")) for f in buffer(name, 1 + i)),
    *(f for i in range(16) for f in buffer(f"reference_picture_{i}", 7 + i)),
    *buffer("mb_status_buffer", 23),
])

INDIRECT_OBJECTS = ("mfx_indirect_bitstream_object", "mfx_indirect_mv_object", "mfd_indirect_it_coeff_object",
                    "mfd_indirect_it_dblk_object", "mfc_indirect_pak_bse_object")

IND_OBJ_BASE_ADDR_STATE = video("MFX_IND_OBJ_BASE_ADDR_STATE", 0x7003, 11, [
    f for i, name in enumerate(INDIRECT_OBJECTS) for f in (
        *buffer(name, 1 + 2 * i, lo=12), Address(f"{name}_access_upper_bound", 2 + 2 * i, 31, 12))
])

BSP_BUF_BASE_ADDR_STATE = video("MFX_BSP_BUF_BASE_ADDR_STATE", 0x7004, 4, [
    *buffer("bsd_mpc_row_store_scratch_buffer", 1),
    *buffer("mpr_row_store_scratch_buffer", 2),
    *buffer("bitplane_read_buffer", 3),
])

STATE_POINTER = video("MFX_STATE_POINTER", 0x7006, 2, [
    Address("state_pointer", 1, 31, 5, target="DATA"),
    Uint("state_pointer_index", 1, 1, 0),
])

IT_OBJECT = video("MFD_IT_OBJECT", 0x7029, 7, [
    *indirect("indirect_it_mv_data", 1, 9),
    *indirect("indirect_it_coeff_data", 3, 11),
    *indirect("indirect_it_dblk_control_data", 5, 5),
    dwords("inline_data", 7, None),
])

WAIT = gfx("MFX_WAIT", 0x6800, 1, [
    Bool("mfx_sync_control_flag", 0, 8),
], length=None, ref=_REF + "MFX_WAIT", engine=Engine.VIDEO)


# --- AVC --------------------------------------------------------------------------------------------------------------
def _conformance(dword: int) -> list[Field]:
    return [
        Uint("inter_mb_conformance_max_size", dword, 27, 16), Uint("intra_mb_conformance_max_size", dword, 11, 0),
    ]


def slice_delta_qp(dword: int) -> list[Field]:
    return [*numbers("slice_delta_qp_max", dword, 4, 8, Sint), *numbers("slice_delta_qp_min", dword + 1, 4, 8, Sint)]


def avc_picture(bias: int = 0) -> list[Field]:
    """Dwords 1, 2, 4 and 6 of MFX_AVC_IMG_STATE, and what remains of dword 5; later sizes are less one."""
    return [
        Uint("frame_size", 1, 15, 0, doc="in macroblocks"),
        Uint("frame_height", 2, 23, 16, bias=bias, doc="in macroblocks"),
        Uint("frame_width", 2, 7, 0, bias=bias, doc="in macroblocks"),
        Uint("minimum_frame_size", 4, 31, 16),
        Bool("mb_status_read", 4, 15),
        Bool("load_bitstream_pointer_per_slice", 4, 14),
        Bool("mv_unpacked_enable", 4, 12),
        Enum("chroma_format_idc", 4, 11, 10, ChromaFormatIdc),
        Bool("entropy_coding_sync_enable", 4, 7),
        Bool("non_reference_picture", 4, 6),
        Bool("constrained_intra_prediction", 4, 5),
        Bool("direct_8x8_inference", 4, 4),
        Bool("idct_transform_mode_8x8", 4, 3),
        Bool("frame_mb_only", 4, 2),
        Bool("mbaff_mode", 4, 1),
        Bool("field_picture", 4, 0),
        Bool("inter_mb_force_cbp_to_zero_control", 5, 12),
        Bool("mb_level_rate_control", 5, 9),
        Bool("force_ipcm_control", 5, 7),
        Bool("frame_bitrate_min_report", 5, 3),
        Bool("frame_bitrate_max_report", 5, 2),
        Bool("inter_mb_max_bit_control", 5, 1),
        Bool("intra_mb_max_bit_control", 5, 0),
        *_conformance(6),
        *slice_delta_qp(8),
    ]


AVC_IMG_STATE = video("MFX_AVC_IMG_STATE", 0x7100, 13, [
    *avc_picture(),
    Sint("second_chroma_qp_offset", 3, 28, 24),
    Sint("first_chroma_qp_offset", 3, 20, 16),
    Bool("intra_mb_conformance", 3, 14),
    Bool("inter_mb_conformance", 3, 13),
    Bool("monochrome_pwt_decoding_mode", 3, 12),
    Bool("qm_present", 3, 10),
    Enum("image_structure", 3, 9, 8, ImageStructure),
    Uint("current_decoded_image_frame_store_id", 3, 7, 0),
    Bool("frame_size_rate_control", 5, 16),
    Uint("frame_bitrate_max_unit", 10, 31, 31),
    Ignored(10, 30, 28, doc="i965-va-driver writes 0x80601004, encoding or not"),
    Uint("frame_bitrate_max", 10, 27, 16),
    Uint("frame_bitrate_min_unit", 10, 15, 15),
    Ignored(10, 14, 12),
    Uint("frame_bitrate_min", 10, 11, 0),
    Uint("frame_bitrate_max_delta", 11, 27, 16),
    Uint("frame_bitrate_min_delta", 11, 11, 0),
])

AVC_QM_STATE = video("MFX_AVC_QM_STATE", 0x7101, 2, [
    Uint("use_built_in_default_qm_flags_for_the_current_slice", 1, 15, 8, hex=True),
    Uint("qm_list_present_flags_for_the_current_slice", 1, 7, 0, hex=True),
    dwords("weight_scales", 2, None),
], doc="up to 56 dwords: 4x4 intra Y, Cb, Cr, then inter; 8x8 intra, then inter; lists that are not present are left "
       "out")


def avc_pocs(dword: int) -> Array:
    return dwords("poc_list", dword, 34)


AVC_DIRECTMODE_STATE = video("MFX_AVC_DIRECTMODE_STATE", 0x7102, 69, [
    *(f for i in range(32) for f in buffer(f"direct_mv_buffer_{i}", 1 + i)),
    *(f for i in range(2) for f in buffer(f"direct_mv_buffer_write_{i}", 33 + i)),
    avc_pocs(35),
])

AVC_SLICE_STATE = video("MFX_AVC_SLICE_STATE", 0x7103, 11, [
    Enum("slice_type", 1, 3, 0, SliceType),
    Uint("number_of_reference_pictures_in_inter_prediction_list_1", 2, 29, 24),
    Uint("number_of_reference_pictures_in_inter_prediction_list_0", 2, 21, 16),
    Uint("log2_weight_denominator_chroma", 2, 10, 8),
    Uint("log2_weight_denominator_luma", 2, 2, 0),
    Uint("weighted_prediction_indicator", 3, 31, 30),
    Enum("direct_prediction_type", 3, 29, 29, DirectPredictionType),
    Uint("disable_deblocking_filter_indicator", 3, 28, 27),
    Uint("cabac_init_idc", 3, 25, 24),
    Uint("slice_quantization_parameter", 3, 21, 16),
    Sint("slice_beta_offset_div2", 3, 11, 8),
    Sint("slice_alpha_c0_offset_div2", 3, 3, 0),
    Uint("slice_vertical_position", 4, 31, 24),
    Uint("slice_horizontal_position", 4, 23, 16),
    Uint("slice_start_mb_number", 4, 14, 0),
    Uint("next_slice_vertical_position", 5, 23, 16),
    Uint("next_slice_horizontal_position", 5, 7, 0),
    Bool("rate_control_counter_enable", 6, 31),
    Bool("reset_rate_control_counter", 6, 30),
    Uint("rate_control_triggle_mode", 6, 29, 28),
    Uint("rate_control_stable_tolerance", 6, 27, 24),
    Bool("rate_control_panic_enable", 6, 23),
    Uint("rate_control_panic_type", 6, 22, 22),
    Bool("mb_type_direct_conversion_disable", 6, 21),
    Bool("mb_type_skip_conversion_disable", 6, 20),
    Bool("last_slice_group", 6, 19),
    Bool("header_insertion_present", 6, 17),
    Bool("slice_data_insertion_present", 6, 16),
    Bool("tail_insertion_present", 6, 15),
    Bool("emulation_byte_slice_insert_enable", 6, 13),
    Bool("cabac_zero_word_insertion_enable", 6, 12),
    Uint("slice_id", 6, 7, 4),
    Uint("stream_id", 6, 1, 0),
    Address("indirect_pak_bse_data_start_address", 7, 28, 0, target="DATA"),
    Uint("qp_max_negative_modifier_magnitude", 8, 31, 24),
    Uint("qp_max_positive_modifier_magnitude", 8, 23, 16),
    Uint("shrink_resistance", 8, 15, 12), Uint("shrink_init", 8, 11, 8),
    Uint("grow_resistance", 8, 7, 4), Uint("grow_init", 8, 3, 0),
    *(Uint(f"correct_{i + 1}", 9, 4 * i + 3, 4 * i) for i in range(6)),
    *numbers("cv", 10, 8, 4),
])

AVC_REF_IDX_STATE = video("MFX_AVC_REF_IDX_STATE", 0x7104, 10, [
    Enum("reference_picture_list_select", 1, 0, 0, ReferenceList),
    *numbers("reference_list_entry", 2, 32, 8),
])

AVC_WEIGHTOFFSET_STATE = video("MFX_AVC_WEIGHTOFFSET_STATE", 0x7105, 98, [
    Enum("weight_and_offset_select", 1, 0, 0, ReferenceList),
    dwords("weight_offsets", 2, 96),
])

AVC_BSD_OBJECT = video("MFD_AVC_BSD_OBJECT", 0x7128, 6, [
    *indirect("indirect_bsd_data", 1), dwords("inline_data", 3, 3),
])

# The order of the inverse weight scales is that of MFX_AVC_QM_STATE.
AVC_FQM_STATE = video("MFC_AVC_FQM_STATE", 0x7142, 113, [dwords("inverse_weight_scales", 1, 112)])


def pak_insert() -> list[Field | Array]:
    """MFC_AVC_PAK_INSERT_OBJECT, and later MFX_PAK_INSERT_OBJECT."""
    return [
        Uint("data_byte_offset", 1, 17, 16),
        Uint("data_bits_in_last_dw", 1, 13, 8),
        Uint("skip_emulation_byte_count", 1, 7, 4),
        Bool("emulation_byte_bits_insert_enable", 1, 3),
        Bool("last_header", 1, 2),
        Bool("end_of_slice", 1, 1),
        Bool("bitstream_start_reset", 1, 0),
        dwords("insert_data_payload", 2, None),
    ]


AVC_PAK_INSERT_OBJECT = video("MFC_AVC_PAK_INSERT_OBJECT", 0x7148, 2, pak_insert())


def avc_pak(more: int = 0) -> list[Field | Array]:
    return [
        Uint("indirect_pak_mv_data_length", 1, 9, 0, doc="in bytes"),
        Address("indirect_pak_mv_data_start_address_offset", 2, 28, 0, target="DATA"),
        dwords("inline_data", 3, 8 + more),
    ]


AVC_PAK_OBJECT = video("MFC_AVC_PAK_OBJECT", 0x7149, 11, avc_pak())

STITCH_OBJECT = video("MFC_STITCH_OBJECT", 0x714A, 4, [
    Uint("src_data_starting_byte_offset", 1, 17, 16),
    Uint("src_data_ending_bit_inclusion", 1, 13, 8),
    Bool("last_src_header_data_insert_command", 1, 2),
    Bool("last_dst_data_insert_command", 1, 1),
    Uint("indirect_data_length", 2, 18, 0, doc="in bytes"),
    Address("indirect_data_start_address", 3, 31, 0, target="DATA"),
    dwords("insert_data_payload", 4, None),
])


# --- VC-1 -------------------------------------------------------------------------------------------------------------
def vc1_size(bias: int = 0) -> list[Field]:
    return [Uint("picture_height_in_mbs", 1, 23, 16, bias=bias), Uint("picture_width_in_mbs", 1, 7, 0, bias=bias)]


def vc1_tables(dword: int) -> list[Field]:
    """Bits 22:0 of a dword."""
    return [
        Uint("mv_table", dword, 22, 20), Uint("four_mv_block_pattern_table", dword, 19, 18),
        Uint("two_mv_block_pattern_table", dword, 17, 16),
        Enum("picture_level_transform_type", dword, 13, 12, PictureTransformType),
        Bool("mb_transform_type", dword, 11), Uint("mb_mode_table", dword, 10, 8),
        Uint("picture_level_transform_luma_ac_coding_set_index", dword, 7, 6),
        Uint("picture_level_transform_chroma_ac_coding_set_index", dword, 5, 4),
        Uint("intra_transform_dc_table", dword, 3, 3), Uint("coded_block_pattern_table", dword, 2, 0),
    ]


VC1_RAW = ("fieldtx", "acpred", "overflags", "directmb", "skipmb", "mvtypemb", "forwardmb")


def vc1_raw(dword: int, first: int) -> list[Field]:
    """The flags of the bitplanes that are coded raw, and whether there is a buffer of the others."""
    return [*(Bool(f"{name}_raw", dword, first + i) for i, name in enumerate(VC1_RAW)),
            Bool("bitplane_buffer_present", dword, first + 7)]


VC1_PIC_STATE = video("MFX_VC1_PIC_STATE", 0x7200, 6, [
    *vc1_size(),
    Bool("sync_marker", 2, 31),
    Bool("concealment_enable", 2, 29),
    Uint("alternative_pq_value", 2, 28, 24),
    Bool("loop_filter_enable", 2, 23),
    Bool("overlap_smoothing_enable", 2, 22),
    Bool("implicit_quantizer", 2, 21),
    Uint("pq_value", 2, 20, 16),
    Uint("alternative_pq_edge_mask", 2, 15, 12, hex=True),
    Uint("alternative_pq_configuration", 2, 11, 10),
    Bool("half_qp", 2, 9),
    Bool("pq_uniform", 2, 8),
    Uint("condover", 2, 7, 6),
    Bool("second_field", 2, 5),
    Uint("picture_type", 2, 4, 2),
    Enum("frame_coding_mode", 2, 1, 0, FrameCodingMode),
    *vc1_raw(3, 16),
    Uint("extended_dmv_range", 3, 15, 14),
    Uint("extended_mv_range", 3, 13, 12),
    Uint("four_mv_switch", 3, 11, 11),
    Uint("fast_uv_motion_compensation", 3, 10, 10),
    Enum("unified_mv_mode", 3, 9, 8, UnifiedMvMode),
    Uint("reference_field_picture_polarity", 3, 6, 6),
    Uint("number_of_references", 3, 5, 5),
    Uint("frfd_reference_distance", 3, 4, 0),
    Uint("scale_factor", 4, 31, 24),
    *vc1_tables(4),
    Bool("dmv_surface_valid", 5, 13),
    Uint("brfd_reference_distance", 5, 12, 8),
    Uint("bitplane_buffer_pitch", 5, 7, 0, bias=1),
])


def luminance_scales() -> list[Field]:
    """Dwords 2 to 5 of MFX_VC1_PRED_PIPE_STATE."""
    return [
        f for i, name in enumerate(("single_fwd", "double_fwd", "single_bwd", "double_bwd")) for f in (
            Uint(f"lumshift2_{name}", 2 + i, 29, 24), Uint(f"lumshift1_{name}", 2 + i, 21, 16),
            Uint(f"lumscale2_{name}", 2 + i, 13, 8), Uint(f"lumscale1_{name}", 2 + i, 5, 0))
    ]


VC1_PRED_PIPE_STATE = video("MFX_VC1_PRED_PIPE_STATE", 0x7201, 7, [
    Uint("reference_frame_boundary_replication_mode", 1, 11, 8, hex=True, doc="bit 0: interlaced"),
    Uint("interpolation_rounder_control", 1, 4, 4),
    Enum("vc1_profile", 1, 3, 2, Vc1Profile),
    *luminance_scales(),
    Uint("mv_mode", 6, 20, 19),
    Bool("fast_uv_compensation", 6, 18),
    Uint("range_reduction_scale", 6, 17, 17),
    Bool("range_reduction", 6, 16),
    Uint("vin_intensity_compensation_double_forward_enable", 6, 7, 6),
    Uint("vin_intensity_compensation_double_backward_enable", 6, 5, 4),
    Uint("vin_intensity_compensation_single_forward_enable", 6, 3, 2),
    Uint("vin_intensity_compensation_single_backward_enable", 6, 1, 0),
])

VC1_DIRECTMODE_STATE = video("MFX_VC1_DIRECTMODE_STATE", 0x7202, 3, [
    *buffer("direct_mv_write_buffer", 1), *buffer("direct_mv_read_buffer", 2),
])

VC1_BSD_OBJECT = video("MFD_VC1_BSD_OBJECT", 0x7228, 4, [
    *indirect("indirect_data", 1),
    Uint("slice_start_vertical_position", 3, 31, 24),
    Uint("next_slice_start_vertical_position", 3, 23, 16),
    Uint("first_mb_bit_offset", 3, 2, 0),
])


# --- MPEG-2 -----------------------------------------------------------------------------------------------------------
def mpeg2_picture(bias: int = 0) -> list[Field]:
    """Dwords 1 and 3 of MFX_MPEG2_PIC_STATE; later sizes are less one."""
    return [
        *(Uint(f"f_code_{s}_{t}", 1, 8 * s + 4 * t + 19, 8 * s + 4 * t + 16) for s in (1, 0) for t in (1, 0)),
        Uint("intra_dc_precision", 1, 15, 14),
        Enum("picture_structure", 1, 13, 12, PictureStructure),
        Bool("top_field_first", 1, 11),
        Bool("frame_prediction_frame_dct", 1, 10),
        Bool("concealment_mv", 1, 9),
        Enum("quantizer_scale_type", 1, 8, 8, QuantizerScaleType),
        Bool("intra_vlc_format", 1, 7),
        Enum("scan_order", 1, 6, 6, InverseScanType),
        Uint("frame_height_in_mbs", 3, 23, 16, bias=bias), Uint("frame_width_in_mbs", 3, 7, 0, bias=bias),
    ]


MPEG2_PIC_STATE = video("MFX_MPEG2_PIC_STATE", 0x7300, 4, [
    *mpeg2_picture(), Enum("picture_coding_type", 2, 10, 9, PictureCodingType),
])

MPEG2_QM_STATE = video("MFX_MPEG2_QM_STATE", 0x7301, 18, [
    Enum("qm_type", 1, 1, 0, Mpeg2QuantizerMatrix), dwords("quantizer_matrix", 2, 16),
])

MPEG2_BSD_OBJECT = video("MFD_MPEG2_BSD_OBJECT", 0x7328, 5, [
    *indirect("indirect_data", 1, 16), dwords("inline_data", 3, 2),
])

AES_STATE = opaque("MFX_AES_STATE", 0x7005, "intel-vaapi-driver ")

COMMANDS: tuple[Command, ...] = (
    PIPE_MODE_SELECT, SURFACE_STATE, PIPE_BUF_ADDR_STATE, IND_OBJ_BASE_ADDR_STATE, BSP_BUF_BASE_ADDR_STATE, AES_STATE,
    STATE_POINTER, IT_OBJECT, WAIT, AVC_IMG_STATE, AVC_QM_STATE, AVC_DIRECTMODE_STATE, AVC_SLICE_STATE,
    AVC_REF_IDX_STATE, AVC_WEIGHTOFFSET_STATE, AVC_BSD_OBJECT, AVC_FQM_STATE, AVC_PAK_INSERT_OBJECT, AVC_PAK_OBJECT,
    STITCH_OBJECT, VC1_PIC_STATE, VC1_PRED_PIPE_STATE, VC1_DIRECTMODE_STATE, VC1_BSD_OBJECT, MPEG2_PIC_STATE,
    MPEG2_QM_STATE, MPEG2_BSD_OBJECT,
)
ADDED: tuple[Block, ...] = COMMANDS
