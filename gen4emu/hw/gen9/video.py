"""The video engines of Gen9: AVC and JPEG as differences from Broadwell, the others by name and length.

HEVC and VP9 (HCP), the microcontroller (HUC), the low-power encoder (VDENC), and the scaler (SFC) are new; their
contents are opaque.  Mesa's gen9.xml and intel-vaapi-driver (gen9_mfd.c, gen9_vdenc.c).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from gen4emu.hw.fields import Address, Bool, Enum, Field, Uint
from gen4emu.hw.gen6.mfx import ArbitrationPriority
from gen4emu.hw.gen8 import video as gen8
from gen4emu.hw.gen8.video import opaque, video
from gen4emu.hw.gen9.commands import TiledResourceMode
from gen4emu.hw.gen75 import mfx as gen75
from gen4emu.hw.layout import Command

_REF = "Mesa gen9.xml"


def _commands(codes: dict[str, int]) -> tuple[Command, ...]:
    return tuple(opaque(name, code, ref=_REF) for name, code in codes.items())


class VdencMode(IntEnum):
    """The part of an encoder that feeds the engine."""

    MBENC = 0
    VDENC = 1


# --- AVC, JPEG --------------------------------------------------------------------------------------------------------
def _attributes(name: str, dword: int) -> list[Field]:
    """MEMORYADDRESSATTRIBUTES, the dword after an address."""
    return [
        Enum(f"{name}_tiled_resource_mode", dword, 14, 13, TiledResourceMode),
        Bool(f"{name}_row_store_in_media_storage", dword, 12),
        Uint(f"{name}_memory_compression_mode", dword, 10, 10),
        Bool(f"{name}_memory_compression_enable", dword, 9),
        Enum(f"{name}_arbitration_priority_control", dword, 8, 7, ArbitrationPriority),
        Uint(f"{name}_memory_object_control_state", dword, 6, 0, hex=True),
    ]


def _buffers(names: Sequence[str], dword: int) -> list[Field]:
    return [f for i, name in enumerate(names) for f in (
        Address(f"{name}_address", dword + 3 * i, 47, 6, target="DATA"), *_attributes(name, dword + 3 * i + 2))]


def _mfx(name: str, code: int, size: int, fields: Sequence[Field], optional: int = 0, doc: str = "") -> Command:
    return video(name, code, size, fields, ref=f"{_REF} ", optional=optional, doc=doc)


PIPE_MODE_SELECT = gen75.PIPE_MODE_SELECT.changed(
    Bool("standalone_vdenc_mode_enable", 1, 14),
    Enum("vdenc_mode", 1, 13, 13, VdencMode),
    Bool("scaled_surface_enable", 1, 7),
    Bool("frame_statistics_stream_out_enable", 1, 6),
    ref=f"{_REF} MFX_PIPE_MODE_SELECT")

PIPE_BUF_ADDR_STATE = _mfx("MFX_PIPE_BUF_ADDR_STATE", 0x7002, 68, [
    *_buffers(gen8.DESTINATIONS, 1), *gen8.REFERENCES, *_attributes("reference_pictures", 51),
    *_buffers(gen8.STATUS_BUFFERS, 52),
    *(f for i in range(16) for f in (
        Uint(f"reference_picture_{i}_memory_compression_mode", 61, 2 * i + 1, 2 * i + 1),
        Bool(f"reference_picture_{i}_memory_compression_enable", 61, 2 * i))),
    *_buffers(("scaled_reference_surface", "slicesize_stream_out_data_destination"), 62),
], optional=7, doc="a decoder leaves the last three dwords out, and one that knows Broadwell only the last seven")

BSP_BUF_BASE_ADDR_STATE = _mfx("MFX_BSP_BUF_BASE_ADDR_STATE", 0x7004, 10, _buffers(
    ("bsd_mpc_row_store_scratch_buffer", "mpr_row_store_scratch_buffer", "bitplane_read_buffer"), 1))

DBK_OBJECT = _mfx("MFX_DBK_OBJECT", 0x7009, 13, _buffers(gen8.DEBLOCKING, 1))

AVC_IMG_STATE = _mfx("MFX_AVC_IMG_STATE", 0x7100, 21, [
    *gen75.AVC_PICTURE,
    Bool("rho_domain_rate_control_enable", 3, 13),
    Uint("rho_domain_average_mb_qp", 17, 21, 16),
    Uint("threshold_size", 19, 31, 0),
    Uint("target_slice_size", 20, 31, 0),
], optional=5, doc="a decoder leaves the limits of slices out")

JPEG_PIC_STATE = gen8.JPEG_PIC_STATE.changed(
    Uint("pixels_in_horizontal_last_mcu", 1, 30, 26), Uint("pixels_in_vertical_last_mcu", 1, 25, 21),
    Uint("output_pixel_normalize", 2, 29, 29), Uint("rounding_quant", 2, 15, 13),
    ref=f"{_REF} MFX_JPEG_PIC_STATE", doc="of an encoder, input_format_yuv is the structure of the MCU and "
                                          "output_format_yuv the format of the source")

# --- the tables -------------------------------------------------------------------------------------------------------
REPLACED: tuple[Command, ...] = (
    PIPE_MODE_SELECT, PIPE_BUF_ADDR_STATE, BSP_BUF_BASE_ADDR_STATE, DBK_OBJECT, AVC_IMG_STATE, JPEG_PIC_STATE,
    *_commands({"MFC_AVC_PAK_OBJECT": 0x7149, "MFX_VP8_PIC_STATE": 0x7400, "MFX_VP8_PAK_OBJECT": 0x7449}),
)
ADDED: tuple[Command, ...] = _commands({
    "MFX_MPEG_TS_CONTROL": 0x704B, "MFX_VP8_ENCODER_CFG": 0x7441, "MFX_VP8_BSP_BUF_BASE_ADDR_STATE": 0x7443,
    "MFC_JPEG_HUFF_TABLE_STATE": 0x7743, "MFC_JPEG_SCAN_OBJECT": 0x7749, "VD_PIPELINE_FLUSH": 0x7780,
    "VDENC_PIPE_MODE_SELECT": 0x7080, "VDENC_SRC_SURFACE_STATE": 0x7081, "VDENC_REF_SURFACE_STATE": 0x7082,
    "VDENC_DS_REF_SURFACE_STATE": 0x7083, "VDENC_PIPE_BUF_ADDR_STATE": 0x7084, "VDENC_IMG_STATE": 0x7085,
    "VDENC_CONST_QPT_STATE": 0x7086, "VDENC_WALKER_STATE": 0x7087,
    "HCP_PIPE_MODE_SELECT": 0x7380, "HCP_SURFACE_STATE": 0x7381, "HCP_PIPE_BUF_ADDR_STATE": 0x7382,
    "HCP_IND_OBJ_BASE_ADDR_STATE": 0x7383, "HCP_QM_STATE": 0x7384, "HCP_FQM_STATE": 0x7385,
    "HEVC_VP9_RDOQ_STATE": 0x7388, "HCP_PIC_STATE": 0x7390, "HCP_TILE_STATE": 0x7391, "HCP_REF_IDX_STATE": 0x7392,
    "HCP_WEIGHTOFFSET_STATE": 0x7393, "HCP_SLICE_STATE": 0x7394, "HCP_TILE_CODING": 0x7395, "HCP_BSD_OBJECT": 0x73A0,
    "HCP_PAK_OBJECT": 0x73A1, "HCP_PAK_INSERT_OBJECT": 0x73A2, "HCP_VP9_PIC_STATE": 0x73B0,
    "HCP_VP9_SEGMENT_STATE": 0x73B2,
    "SFC_LOCK": 0x7500, "SFC_STATE": 0x7501, "SFC_AVS_STATE": 0x7502, "SFC_IEF_STATE": 0x7503,
    "SFC_FRAME_START": 0x7504, "SFC_AVS_LUMA_COEFF_TABLE": 0x7505, "SFC_AVS_CHROMA_COEFF_TABLE": 0x7506,
    "HUC_PIPE_MODE_SELECT": 0x7580, "HUC_IMEM_STATE": 0x7581, "HUC_DMEM_STATE": 0x7582, "HUC_CFG_STATE": 0x7583,
    "HUC_VIRTUAL_ADDR_STATE": 0x7584, "HUC_IND_OBJ_BASE_ADDR_STATE": 0x7585, "HUC_STREAM_OBJECT": 0x75A0,
    "HUC_START": 0x75A1,
})
