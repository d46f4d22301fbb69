"""The video engine of Haswell, as differences to Ivy Bridge: addresses of three dwords, multiview AVC, concealment.

HSW PRM vol. 2a; lengths as intel-vaapi-driver (gen75_mfd.c, gen75_mfc.c) sends them from the second stepping on.  The
first stepping has the address commands of Ivy Bridge.
"""

from __future__ import annotations

from collections.abc import Sequence

from gen4emu.hw.fields import Address, Array, Bool, Enum, Field, Uint
from gen4emu.hw.gen6 import mfx as gen6
from gen4emu.hw.gen6.mfx import INDIRECT_OBJECTS, ArbitrationPriority, avc_pocs, numbers
from gen4emu.hw.gen7 import mfx as gen7
from gen4emu.hw.layout import Block, Command
from gen4emu.hw.reserved import block

_REF = "HSW PRM vol2a "


def video(name: str, code: int, size: int, fields: Sequence[Field | Array] = (), *, optional: int = 0,
          doc: str = "") -> Command:
    """A command of the video engine."""
    return gen6.video(name, code, size, fields, ref=_REF, optional=optional, doc=doc)


def buffer(name: str, dword: int, lo: int = 6, *, control: bool = True) -> list[Field]:
    """The address of a buffer, whose upper half must be zero, and the control of its accesses."""
    return [
        Address(f"{name}_address", dword, 31, lo, target="DATA"),
        Enum(f"{name}_arbitration_priority_control", dword, 5, 4, ArbitrationPriority),
        *([Uint(f"{name}_memory_object_control_state", dword, 3, 0, hex=True)] if control else []),
    ]


def buffers(names: Sequence[str], dword: int) -> list[Field]:
    return [f for i, name in enumerate(names) for f in buffer(name, dword + 3 * i)]


PIPE_MODE_SELECT = gen7.PIPE_MODE_SELECT.changed(
    Bool("deblocker_stream_out_enable", 1, 12), ref=_REF + "MFX_PIPE_MODE_SELECT")

PIPE_BUF_ADDR_STATE = video("MFX_PIPE_BUF_ADDR_STATE", 0x7002, 61, [
    *buffers(("pre_deblocking_destination", "post_deblocking_destination", "original_uncompressed_picture_source",
              "stream_out_data_destination", "intra_row_store_scratch_buffer",
              "deblocking_filter_row_store_scratch"), 1),
    *(Address(f"reference_picture_{i}_address", 19 + 2 * i, 63, 0, target="DATA") for i in range(16)),
    *buffers(("mb_status_buffer", "mb_ildb_stream_out_buffer"), 52),
    *buffer("second_mb_ildb_stream_out_buffer", 58, control=False),
])

IND_OBJ_BASE_ADDR_STATE = video("MFX_IND_OBJ_BASE_ADDR_STATE", 0x7003, 26, [
    f for i, name in enumerate(INDIRECT_OBJECTS) for f in (
        *buffer(name, 1 + 5 * i, 12), Address(f"{name}_access_upper_bound", 4 + 5 * i, 31, 12))
])

BSP_BUF_BASE_ADDR_STATE = video("MFX_BSP_BUF_BASE_ADDR_STATE", 0x7004, 10, buffers(
    ("bsd_mpc_row_store_scratch_buffer", "mpr_row_store_scratch_buffer", "bitplane_read_buffer"), 1))

DBK_OBJECT = video("MFX_DBK_OBJECT", 0x7009, 13, buffers(
    ("pre_deblocking_source", "deblocking_control", "deblocking_destination", "deblock_row_store"), 1))

# --- AVC --------------------------------------------------------------------------------------------------------------
AVC_PICTURE: tuple[Field, ...] = (
    *gen7.AVC_PICTURE,
    Bool("inter_view_order_disable", 16, 31), Uint("max_view_idxl1", 16, 21, 18), Uint("max_view_idxl0", 16, 15, 12),
    Uint("current_frame_view_id", 16, 9, 0),
)

AVC_IMG_STATE = video("MFX_AVC_IMG_STATE", 0x7100, 17, AVC_PICTURE, optional=1,
                      doc="an encoder leaves the views of MVC out")

AVC_DIRECTMODE_STATE = video("MFX_AVC_DIRECTMODE_STATE", 0x7102, 71, [
    *(Address(f"direct_mv_buffer_{i}_address", 1 + 2 * i, 63, 0, target="DATA") for i in range(16)),
    Address("direct_mv_buffer_write_address", 34, 63, 0, target="DATA"),
    avc_pocs(37),
])

AVC_PICID_STATE = video("MFD_AVC_PICID_STATE", 0x7125, 10, [
    Bool("pictureid_remapping_disable", 1, 0), *numbers("picture_id", 2, 16, 16),
])

AVC_DPB_STATE = video("MFD_AVC_DPB_STATE", 0x7126, 27, [
    *gen7.avc_dpb(), *numbers("view_id", 11, 16, 16), *numbers("l0_view_order", 19, 16, 8),
    *numbers("l1_view_order", 23, 16, 8),
])

AVC_BSD_INLINE_DATA = block("INLINE_DATA_DESCRIPTION_FOR_MFD_AVC_BSD_OBJECT", 3, [
    *gen7.concealment(),
    Bool("intra_predmode_4x4_8x8_luma_error_control", 0, 29),
    *gen7.AVC_SLICE_DATA,
    Bool("i_slice_concealment_mode", 2, 31),
    Uint("concealment_reference_picture_field_bit", 2, 29, 24),
    Bool("p_slice_concealment_mode", 2, 23),
    Uint("p_slice_inter_concealment_mode", 2, 18, 16),
    Bool("b_slice_concealment_mode", 2, 15),
    Uint("b_slice_inter_direct_type_concealment_mode", 2, 13, 12),
    Uint("b_slice_spatial_inter_concealment_mode", 2, 10, 8),
    Uint("b_slice_temporal_inter_concealment_mode", 2, 6, 4),
    Bool("intra_8x8_4x4_prediction_error_concealment_control", 2, 1),
    Bool("intra_prediction_error_control", 2, 0),
], ref=_REF + "MFD_AVC_BSD_OBJECT")

# --- VC-1, MPEG-2, JPEG -----------------------------------------------------------------------------------------------
VC1_DIRECTMODE_STATE = video("MFX_VC1_DIRECTMODE_STATE", 0x7202, 7, buffers(
    ("direct_mv_write_buffer", "direct_mv_read_buffer"), 1))

MPEG2_PIC_STATE = gen7.MPEG2_PIC_STATE.changed(
    Bool("i_slice_concealment_mode", 2, 31),
    Uint("p_b_slice_concealment_mode", 2, 29, 28),
    Uint("p_b_slice_predicted_bi_direction_mv_type_override", 2, 26, 25),
    Bool("p_b_slice_predicted_mv_override", 2, 24),
    Bool("slice_concealment_disable", 3, 31),
    ref=_REF + "MFX_MPEG2_PIC_STATE")

MPEG2_BSD_INLINE_DATA = gen7.MPEG2_BSD_INLINE_DATA.changed(
    Uint("slice_horizontal_position", 0, 31, 24), Uint("slice_vertical_position", 0, 23, 16),
    Uint("mb_count", 0, 15, 8),
    Bool("slice_concealment_override", 0, 7), Uint("slice_concealment_type", 0, 6, 6),
    Uint("next_slice_vertical_position", 1, 16, 8), Uint("next_slice_horizontal_position", 1, 7, 0),
    ref=_REF + "MFD_MPEG2_BSD_OBJECT")

JPEG_PIC_STATE = gen7.JPEG_PIC_STATE.changed(
    Bool("vertical_up_sampling_enable", 1, 20), Bool("vertical_down_sampling_enable", 1, 17),
    Bool("average_down_sampling", 1, 16), Uint("output_format_yuv", 1, 11, 8),
    ref=_REF + "MFX_JPEG_PIC_STATE")

REPLACED: tuple[Block, ...] = (
    PIPE_MODE_SELECT, PIPE_BUF_ADDR_STATE, IND_OBJ_BASE_ADDR_STATE, BSP_BUF_BASE_ADDR_STATE, DBK_OBJECT, AVC_IMG_STATE,
    AVC_DIRECTMODE_STATE, AVC_DPB_STATE, AVC_BSD_INLINE_DATA, VC1_DIRECTMODE_STATE, MPEG2_PIC_STATE,
    MPEG2_BSD_INLINE_DATA, JPEG_PIC_STATE,
)
ADDED: tuple[Block, ...] = (AVC_PICID_STATE,)
