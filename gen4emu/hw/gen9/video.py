"""The video engines of Gen9: commands by name and length, with opaque contents.

HEVC and VP9 (HCP), the microcontroller (HUC), the low-power encoder (VDENC), and the scaler (SFC) are new.  Mesa's
gen9.xml and intel-vaapi-driver (gen9_mfd.c, gen9_vdenc.c, gen75_vpp_vebox.c).
"""

from __future__ import annotations

from gen4emu.hw.gen8.video import opaque
from gen4emu.hw.layout import Command, Engine

_REF = "Mesa gen9.xml"
_VEBOX_REF = "intel-vaapi-driver gen75_vpp_vebox.c"


def _commands(codes: dict[str, int]) -> tuple[Command, ...]:
    return tuple(opaque(name, code, ref=_REF) for name, code in codes.items())


REPLACED: tuple[Command, ...] = (
    *_commands({
        "MFX_PIPE_MODE_SELECT": 0x7000, "MFX_PIPE_BUF_ADDR_STATE": 0x7002, "MFX_BSP_BUF_BASE_ADDR_STATE": 0x7004,
        "MFX_QM_STATE": 0x7007, "MFX_FQM_STATE": 0x7008, "MFX_DBK_OBJECT": 0x7009, "MFX_AVC_IMG_STATE": 0x7100,
        "MFC_AVC_PAK_OBJECT": 0x7149, "MFX_VP8_PIC_STATE": 0x7400, "MFX_VP8_PAK_OBJECT": 0x7449,
        "MFX_JPEG_PIC_STATE": 0x7700,
    }),
    opaque("VEBOX_SURFACE_STATE", 0x7400, Engine.VIDEO_ENHANCEMENT, _VEBOX_REF),
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
