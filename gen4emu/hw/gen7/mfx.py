"""The video engine of Ivy Bridge, as differences to Sandy Bridge: JPEG, short formats, one command for matrices.

IVB PRM vol. 2 part 3; lengths as intel-vaapi-driver (gen7_mfd.c, gen7_mfc.c) sends them, where Mesa's gen7.xml has
others.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Field, Sint, Uint
from gen4emu.hw.gen4.media_inline import PictureCodingType
from gen4emu.hw.gen6 import mfx as gen6
from gen4emu.hw.gen6.mfx import buffer, dwords, flags, indirect, numbers, vc1_raw, vc1_size, vc1_tables
from gen4emu.hw.layout import Block, Command
from gen4emu.hw.reserved import block

_REF = "IVB PRM vol2 part3 "


class DecoderShortFormatMode(IntEnum):
    """Whether the driver parses slice headers or the engine."""

    SHORT_FORMAT_DRIVER_INTERFACE = 0
    LONG_FORMAT_DRIVER_INTERFACE = 1


class QuantizerMatrixType(IntEnum):
    """The matrix that MFX_QM_STATE and MFX_FQM_STATE load: of AVC, and 0 and 1 intra and non-intra of MPEG-2."""

    AVC_4X4_INTRA_MATRIX = 0
    AVC_4X4_INTER_MATRIX = 1
    AVC_8X8_INTRA_MATRIX = 2
    AVC_8X8_INTER_MATRIX = 3


class LongVc1Profile(IntEnum):
    """The profile of the stream."""

    SIMPLE_MAIN_PROFILE = 0
    ADVANCED_PROFILE = 1


def video(name: str, code: int, size: int, fields: Sequence[Field | Array] = (), *, doc: str = "") -> Command:
    """A command of the video engine."""
    return gen6.video(name, code, size, fields, ref=_REF, doc=doc)


# --- common to all standards ------------------------------------------------------------------------------------------
PIPE_MODE_SELECT = gen6.PIPE_MODE_SELECT.changed(
    Bool("extended_stream_out_enable", 1, 18),
    Enum("decoder_short_format_mode", 1, 17, 17, DecoderShortFormatMode),
    Enum("decoder_mode_select", 1, 16, 15, gen6.DecoderModeSelect),
    Bool("pic_error_status_report_enable", 1, 11),
    Enum("standard_select", 1, 3, 0, gen6.StandardSelect),
    Uint("pic_status_error_report_id", 3, 31, 0, hex=True),
    remove=["zlr_tlb_prefetch_enable", "slice_pb_rounding", "intra_8x8_rounding", "clock_gate_enable_at_slice_level",
            "avc_mv_poc_table_error_disable", "avc_mbdata_error_disable", "avc_cabac_cavlc_decode_error_disable",
            "avc_long_field_mv", "avc_ildb_boundary_strength_calculation"],
    dwords=5, ref=_REF + "MFX_PIPE_MODE_SELECT")

SURFACE_STATE = video("MFX_SURFACE_STATE", 0x7001, 6, gen6.surface(18, 4, 30, 14, 15))

_MATRIX = Enum("qm_type", 1, 1, 0, QuantizerMatrixType)

QM_STATE = video("MFX_QM_STATE", 0x7007, 18, [_MATRIX, *numbers("quantizer_matrix", 2, 64, 8)])
FQM_STATE = video("MFX_FQM_STATE", 0x7008, 34, [_MATRIX, dwords("forward_quantizer_matrix", 2, 32)])

DBK_OBJECT = video("MFX_DBK_OBJECT", 0x7009, 5, [
    f for i, name in enumerate(("pre_deblocking_source", "deblocking_control", "deblocking_destination",
                                "deblock_row_store")) for f in buffer(name, 1 + i)
])

PAK_INSERT_OBJECT = video("MFX_PAK_INSERT_OBJECT", 0x7048, 2, [
    *gen6.pak_insert(), Bool("header_length_excluded_from_size", 1, 15), Bool("slice_header_indicator", 1, 14),
])
STITCH_OBJECT = gen6.STITCH_OBJECT.renumbered(0x704A0000).changed(
    Bool("last_header", 1, 2), Bool("end_of_slice", 1, 1),
    remove=["last_src_header_data_insert_command", "last_dst_data_insert_command"], name="MFX_STITCH_OBJECT",
    ref=_REF + "MFX_STITCH_OBJECT")

# --- AVC --------------------------------------------------------------------------------------------------------------
AVC_PICTURE: tuple[Field, ...] = (
    *gen6.avc_picture(bias=1),
    Sint("second_chroma_qp_offset", 3, 28, 24),
    Sint("first_chroma_qp_offset", 3, 20, 16),
    Bool("weighted_prediction_enable", 3, 12),
    Uint("weighted_biprediction_idc", 3, 11, 10, doc="0 default, 1 explicit, 2 implicit"),
    Enum("image_structure", 3, 9, 8, gen6.ImageStructure),
    Uint("mb_mv_format", 4, 8, 8),
    Bool("trellis_quantization_enable", 5, 31),
    Uint("trellis_quantization_rounding", 5, 30, 28),
    Bool("trellis_quantization_chroma_disable", 5, 27),
    Bool("non_first_pass", 5, 16),
    Uint("minimum_frame_size_units", 5, 11, 10),
    Uint("frame_bitrate_max_unit", 10, 31, 31), Uint("frame_bitrate_max_unit_mode", 10, 30, 30),
    Uint("frame_bitrate_max", 10, 29, 16),
    Uint("frame_bitrate_min_unit", 10, 15, 15), Uint("frame_bitrate_min_unit_mode", 10, 14, 14),
    Uint("frame_bitrate_min", 10, 13, 0),
    Bool("slice_stats_stream_out_enable", 11, 31),
    Uint("frame_bitrate_max_delta", 11, 30, 16), Uint("frame_bitrate_min_delta", 11, 14, 0),
    Bool("current_picture_has_performed_mmco5", 13, 29),
    Uint("number_of_reference_frames", 13, 28, 24),
    Uint("number_of_active_reference_pictures_from_l1", 13, 21, 16),
    Uint("number_of_active_reference_pictures_from_l0", 13, 13, 8),
    Sint("initial_qp_value", 13, 7, 0),
    Uint("log2_max_pic_order_count_lsb", 14, 31, 24), Uint("log2_max_frame_number", 14, 23, 16),
    Bool("deblocking_filter_control_present", 14, 15),
    Uint("number_of_slice_groups", 14, 14, 12),
    Bool("redundant_pic_count_present", 14, 11),
    Uint("slice_group_map_type", 14, 10, 8),
    Uint("pic_order_count_type", 14, 3, 2),
    Bool("delta_pic_order_always_zero", 14, 1),
    Bool("pic_order_present", 14, 0),
    Uint("current_picture_frame_number", 15, 31, 16), Uint("slice_group_change_rate", 15, 15, 0),
)

AVC_IMG_STATE = video("MFX_AVC_IMG_STATE", 0x7100, 16, AVC_PICTURE)

AVC_SLICE_STATE = gen6.AVC_SLICE_STATE.changed(
    Bool("round_inter_enable", 9, 31), Uint("round_inter", 9, 30, 28, bias=1, doc="sixteenths"),
    Bool("round_intra_enable", 9, 27), Uint("round_intra", 9, 26, 24, bias=1, doc="sixteenths"),
    ref=_REF + "MFX_AVC_SLICE_STATE")


def avc_dpb() -> list[Field]:
    """Dwords 1 to 10 of MFD_AVC_DPB_STATE."""
    return [
        *flags("long_term_frame", 1, 16, 16), *flags("non_existing_frame", 1, 16),
        *numbers("used_for_reference", 2, 16, 2), *numbers("ltst_frame_number_list", 3, 16, 16),
    ]


AVC_DPB_STATE = video("MFD_AVC_DPB_STATE", 0x7126, 11, avc_dpb())

AVC_SLICEADDR = video("MFD_AVC_SLICEADDR", 0x7127, 3, indirect("indirect_bsd_data", 1, 31))

AVC_SLICE_DATA = (
    Uint("first_mb_byte_offset_of_slice_data_or_slice_header", 1, 31, 16),
    Bool("fix_prev_mb_skipped", 1, 7),
    Bool("emulation_prevention_byte_present", 1, 4),
    Bool("last_slice", 1, 3),
    Uint("first_mb_bit_offset", 1, 2, 0),
)


def concealment() -> list[Field]:
    """Dword 0 of the inline data of an AVC slice, as far as Haswell has it, too."""
    return [
        Uint("concealment_method", 0, 31, 31),
        Bool("init_current_mb_number", 0, 30),
        Uint("mb_error_concealment_b_temporal_prediction_mode", 0, 28, 27),
        Bool("mb_error_concealment_b_temporal_motion_vectors_override_enable", 0, 25),
        Bool("mb_error_concealment_b_temporal_weight_prediction_disable", 0, 24),
        Uint("concealment_picture_id", 0, 21, 16),
        Bool("bsd_premature_complete_error_handling", 0, 14),
        Bool("mpr_error_handling", 0, 12),
        Bool("entropy_error_handling", 0, 10),
        Bool("mb_header_error_handling", 0, 8),
        Uint("mb_error_concealment_b_spatial_prediction_mode", 0, 7, 6),
        Bool("mb_error_concealment_b_spatial_motion_vectors_override_disable", 0, 4),
        Bool("mb_error_concealment_b_spatial_weight_prediction_disable", 0, 3),
        Bool("mb_error_concealment_p_slice_motion_vectors_override_disable", 0, 1),
        Bool("mb_error_concealment_p_slice_weight_prediction_disable", 0, 0),
    ]


AVC_BSD_INLINE_DATA = block("INLINE_DATA_DESCRIPTION_FOR_MFD_AVC_BSD_OBJECT", 3, [
    *concealment(),
    Bool("mb_error_concealment_b_temporal_reference_index_override_enable", 0, 26),
    Bool("mb_error_concealment_b_spatial_reference_index_override_disable", 0, 5),
    Bool("mb_error_concealment_p_slice_reference_index_override_disable", 0, 2),
    *AVC_SLICE_DATA,
], ref=_REF + "MFD_AVC_BSD_OBJECT")

AVC_BSD_OBJECT = video("MFD_AVC_BSD_OBJECT", 0x7128, 6, [
    *indirect("indirect_bsd_data", 1, 31), Array("inline_data", 3, AVC_BSD_INLINE_DATA, 1),
])

AVC_PAK_OBJECT = video("MFC_AVC_PAK_OBJECT", 0x7149, 12, gen6.avc_pak(more=1))

# --- VC-1 -------------------------------------------------------------------------------------------------------------
VC1_PRED_PIPE_STATE = video("MFX_VC1_PRED_PIPE_STATE", 0x7201, 6, [
    Uint("vin_intensitycomp_double_fwden", 1, 15, 14), Uint("vin_intensitycomp_double_bwden", 1, 13, 12),
    Uint("vin_intensitycomp_single_fwden", 1, 11, 10), Uint("vin_intensitycomp_single_bwden", 1, 9, 8),
    Uint("reference_frame_boundary_replication_mode", 1, 7, 4, hex=True, doc="bit 0: interlaced"),
    *gen6.luminance_scales(),
])

VC1_SHORT_PIC_STATE = video("MFD_VC1_SHORT_PIC_STATE", 0x7220, 5, [
    Uint("picture_height", 1, 23, 16), Uint("picture_width", 1, 7, 0),
    Uint("bitplane_buffer_pitch", 2, 31, 24, bias=1),
    Bool("interpolation_rounder_control", 2, 23),
    Uint("mv_mode", 2, 19, 16),
    Bool("dmv_surface_valid", 2, 15),
    Enum("vc1_profile", 2, 11, 11, LongVc1Profile),
    Bool("backward_prediction_present", 2, 5), Bool("intra_picture", 2, 4), Bool("second_field", 2, 3),
    Uint("picture_structure", 2, 1, 0),
    Bool("overlap_smoothing_enable", 3, 30), Uint("range_reduction_scale", 3, 29, 29),
    Bool("range_reduction_enable", 3, 28), Uint("progressive_pic_type", 3, 23, 22),
    Uint("p_pic_ref_distance", 3, 20, 16), Uint("quantizer", 3, 15, 14), Bool("multires_present", 3, 13),
    Bool("syncmarker_present", 3, 12), Bool("rangered_present", 3, 11), Uint("maxbframes", 3, 10, 8),
    Bool("panscan_present", 3, 7), Bool("refdist_flag", 3, 6), Bool("loop_filter_enable", 3, 5),
    Uint("fast_uv_motion_compensation", 3, 4, 4), Bool("extended_mv_present", 3, 3), Uint("dquant", 3, 2, 1),
    Bool("variable_sized_transform_coding", 3, 0),
    Uint("bfraction_enumeration", 4, 28, 24), Bool("four_mv_allowed", 4, 8), Bool("postproc", 4, 7),
    Bool("pulldown", 4, 6), Bool("interlace", 4, 5), Bool("tfcntrflag", 4, 4), Bool("finterflag", 4, 3),
    Bool("refpic", 4, 2), Bool("psf", 4, 1), Bool("extended_dmv_present", 4, 0),
])

VC1_LONG_PIC_STATE = video("MFD_VC1_LONG_PIC_STATE", 0x7221, 6, [
    *vc1_size(bias=1),
    Uint("bitplane_buffer_pitch", 2, 31, 24, bias=1),
    Bool("dmv_surface_valid", 2, 15), Bool("implicit_quantizer", 2, 14), Bool("interpolation_rounder_control", 2, 13),
    Bool("sync_marker", 2, 12), Uint("mv_mode", 2, 11, 8), Uint("range_reduction_scale", 2, 7, 7),
    Bool("range_reduction_enable", 2, 6), Bool("loop_filter_enable", 2, 5), Bool("overlap_smoothing_enable", 2, 4),
    Bool("second_field", 2, 3), Enum("vc1_profile", 2, 0, 0, LongVc1Profile),
    Uint("condover", 3, 30, 29), Uint("picture_type", 3, 28, 26),
    Enum("frame_coding_mode", 3, 25, 24, gen6.FrameCodingMode),
    Uint("alternative_pq_value", 3, 20, 16), Uint("pq_value", 3, 12, 8), Uint("b_scale_factor", 3, 7, 0),
    Enum("unified_mv_mode", 4, 29, 28, gen6.UnifiedMvMode), Uint("four_mv_switch", 4, 27, 27),
    Uint("fast_uv_motion_compensation", 4, 26, 26), Uint("reference_field_picture_polarity", 4, 25, 25),
    Uint("number_of_references", 4, 24, 24), Uint("backward_reference_distance", 4, 23, 20),
    Uint("forward_reference_distance", 4, 19, 16), Uint("extended_dmv_range", 4, 11, 10),
    Uint("extended_mv_range", 4, 9, 8), Uint("alternative_pq_edge_mask", 4, 7, 4, hex=True),
    Uint("alternative_pq_configuration", 4, 3, 2), Bool("half_qp", 4, 1), Bool("pq_uniform", 4, 0),
    *vc1_raw(5, 24), *vc1_tables(5),
])

VC1_BSD_OBJECT = video("MFD_VC1_BSD_OBJECT", 0x7228, 5, [
    *indirect("indirect_bsd_data", 1, 23),
    Uint("slice_start_vertical_position", 3, 23, 16), Uint("next_slice_vertical_position", 3, 8, 0),
    Uint("first_mb_byte_offset_of_slice_data_or_slice_header", 4, 31, 16),
    Bool("emulation_prevention_byte_present", 4, 4), Uint("first_mb_bit_offset", 4, 2, 0),
])


# --- MPEG-2 -----------------------------------------------------------------------------------------------------------
MPEG2_PIC_STATE = video("MFX_MPEG2_PIC_STATE", 0x7300, 13, [
    *gen6.mpeg2_picture(bias=1),
    Bool("load_bitstream_pointer_per_slice", 2, 14),
    Enum("picture_coding_type", 2, 10, 9, PictureCodingType),
    Bool("mismatch_control_disable", 2, 1), Bool("disable_mismatch", 2, 0),
    Uint("minimum_frame_size", 4, 31, 16), Uint("round_inter_ac", 4, 14, 12), Uint("round_intra_ac", 4, 10, 8),
    Uint("round_inter_dc", 4, 6, 4), Uint("round_intra_dc", 4, 2, 1),
    Bool("frame_size_control", 5, 16), Bool("inter_mb_force_cbp_to_zero_control", 5, 12),
    Uint("minimum_frame_size_units", 5, 11, 10), Bool("mbratecontrolmask", 5, 9),
    Bool("frame_bitrate_min_report", 5, 3), Bool("frame_bitrate_max_report", 5, 2),
    Bool("inter_mb_max_bit_control", 5, 1), Bool("intra_mb_max_bit_control", 5, 0),
    Uint("inter_mb_conformance_max_size", 6, 27, 16), Uint("intra_mb_conformance_max_size", 6, 11, 0),
    *gen6.slice_delta_qp(8),
    Uint("frame_bitrate_max_unit", 10, 31, 31), Uint("frame_bitrate_max_unit_mode", 10, 30, 30),
    Uint("frame_bitrate_max", 10, 29, 16),
    Uint("frame_bitrate_min_unit", 10, 15, 15), Uint("frame_bitrate_min_unit_mode", 10, 14, 14),
    Uint("frame_bitrate_min", 10, 13, 0),
    Uint("frame_bitrate_max_delta", 11, 30, 16), Uint("frame_bitrate_min_delta", 11, 14, 0),
])

MPEG2_BSD_INLINE_DATA = block("MFD_MPEG2_BSD_OBJECT_INLINE_DATA_DESCRIPTION", 2, [
    Uint("slice_horizontal_position", 0, 30, 24), Uint("slice_vertical_position", 0, 22, 16),
    Uint("mb_count", 0, 14, 8),
    Bool("last_pic_slice", 0, 5), Bool("last_mb", 0, 3), Uint("first_mb_bit_offset", 0, 2, 0),
    Uint("quantizer_scale_code", 1, 28, 24),
], ref=_REF + "MFD_MPEG2_BSD_OBJECT")

MPEG2_BSD_OBJECT = video("MFD_MPEG2_BSD_OBJECT", 0x7328, 5, [
    *indirect("indirect_bsd_data", 1, 31), Array("inline_data", 3, MPEG2_BSD_INLINE_DATA, 1),
])

MPEG2_SLICEGROUP_STATE = video("MFC_MPEG2_SLICEGROUP_STATE", 0x7343, 8, [
    Bool("rate_control_counter_enable", 1, 31), Bool("reset_rate_control_counter", 1, 30),
    Uint("rate_control_triggle_mode", 1, 29, 28), Uint("rate_control_stable_tolerance", 1, 27, 24),
    Bool("rate_control_panic_enable", 1, 23), Uint("rate_control_panic_type", 1, 22, 22),
    Bool("mb_type_skip_conversion_disable", 1, 20), Bool("last_slice", 1, 19),
    Bool("compressed_bitstream_output_disable", 1, 18), Bool("header_insertion_present", 1, 17),
    Bool("slice_data_insertion_present", 1, 16), Bool("tail_insertion_present", 1, 15),
    Bool("first_slice_header_disable", 1, 14), Bool("intra_slice", 1, 13), Bool("intra_slice_flag", 1, 12),
    Uint("slice_id", 1, 7, 4), Uint("stream_id", 1, 1, 0),
    Uint("next_slice_group_mb_y_count", 2, 31, 24), Uint("next_slice_group_mb_x_count", 2, 23, 16),
    Uint("first_mb_y_count", 2, 15, 8), Uint("first_mb_x_count", 2, 7, 0),
    Bool("slice_group_skip", 3, 8), Uint("slice_group_qp", 3, 5, 0),
    Address("indirect_pak_bse_data_start_address", 4, 28, 0, target="DATA"),
    Uint("qp_max_negative_modifier_magnitude", 5, 31, 24), Uint("qp_max_positive_modifier_magnitude", 5, 23, 16),
    Uint("shrink_resistance", 5, 15, 12), Uint("shrink_init", 5, 11, 8), Uint("grow_resistance", 5, 7, 4),
    Uint("grow_init", 5, 3, 0),
    *(Uint(f"correct_{i + 1}", 6, 4 * i + 3, 4 * i) for i in range(6)),
    *numbers("cv", 7, 8, 4),
])

MPEG2_PAK_OBJECT = video("MFC_MPEG2_PAK_OBJECT", 0x7349, 9, [dwords("inline_data", 1, 8)])

# --- JPEG -------------------------------------------------------------------------------------------------------------
JPEG_PIC_STATE = video("MFX_JPEG_PIC_STATE", 0x7700, 3, [
    Uint("rotation", 1, 5, 4, doc="quarter turns"),
    Uint("input_format_yuv", 1, 2, 0),
    Uint("frame_height_in_blocks", 2, 28, 16, bias=1), Uint("frame_width_in_blocks", 2, 12, 0, bias=1),
])

# Mesa's gen7.xml gives AC_BITS 16 bits each, so that they overlap, and the command 831 dwords.
JPEG_HUFF_TABLE_STATE = video("MFX_JPEG_HUFF_TABLE_STATE", 0x7702, 53, [
    Uint("huffman_table_id", 1, 0, 0, doc="0 luminance, 1 chrominance"),
    *numbers("dc_bits", 2, 12, 8), *numbers("dc_huffval", 5, 12, 8),
    *numbers("ac_bits", 8, 16, 8), *numbers("ac_huffval", 12, 162, 8),
])

JPEG_BSD_OBJECT = video("MFD_JPEG_BSD_OBJECT", 0x7728, 6, [
    *indirect("indirect_data", 1, 31),
    Uint("scan_horizontal_position", 3, 28, 16), Uint("scan_vertical_position", 3, 12, 0),
    Bool("interleaved", 4, 30), Uint("scan_components", 4, 29, 27, hex=True), Uint("mcu_count", 4, 25, 0),
    Uint("restart_interval", 5, 15, 0),
])

REPLACED: tuple[Block, ...] = (
    PIPE_MODE_SELECT, SURFACE_STATE, AVC_IMG_STATE, AVC_SLICE_STATE, AVC_BSD_OBJECT, AVC_PAK_OBJECT,
    VC1_PRED_PIPE_STATE, VC1_BSD_OBJECT, MPEG2_PIC_STATE, MPEG2_BSD_OBJECT,
)
ADDED: tuple[Block, ...] = (
    QM_STATE, FQM_STATE, DBK_OBJECT, PAK_INSERT_OBJECT, STITCH_OBJECT, AVC_DPB_STATE, AVC_SLICEADDR,
    AVC_BSD_INLINE_DATA, VC1_SHORT_PIC_STATE, VC1_LONG_PIC_STATE, MPEG2_BSD_INLINE_DATA, MPEG2_SLICEGROUP_STATE,
    MPEG2_PAK_OBJECT, JPEG_PIC_STATE, JPEG_HUFF_TABLE_STATE, JPEG_BSD_OBJECT,
)
REMOVED: tuple[str, ...] = (
    "MFC_AVC_FQM_STATE", "MFC_AVC_PAK_INSERT_OBJECT", "MFC_STITCH_OBJECT", "MFX_AVC_QM_STATE", "MFX_MPEG2_QM_STATE",
    "MFX_VC1_PIC_STATE",
)
