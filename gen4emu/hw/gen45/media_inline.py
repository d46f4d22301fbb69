"""One macroblock in the modes that VFE has on Gen4.5 only: AVC-IT, AVC-MC and VC1-IT.

G45 PRM vol. 2, 10.7.3.1 to 10.7.3.5 and 10.8.1.4; the modes of Gen4 are in `gen4emu.hw.gen4.media_inline`.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Bool, Enum, Field, Fixed, Ignored, Mbz, Sint, Uint, unless, when
from gen4emu.hw.gen4.media_inline import DctType, coded_blocks, subblock_codes
from gen4emu.hw.layout import Block


class Vc1MotionType(IntEnum):
    """The motion of a VC-1 macroblock."""

    INTRA = 0
    FIELD = 1
    FRAME = 2


class AvcMotionVectorSize(IntEnum):
    """MvSize: how many motion vectors the indirect data starts with."""

    MV_0 = 0
    MV_2 = 2
    MV_8 = 4
    MV_16 = 5
    MV_32 = 6


class AvcMbaffField(IntEnum):
    """One flag, in two bits that match the override bits of a media block read."""

    FRAME = 0
    FIELD = 3


class AvcWeightedPrediction(IntEnum):
    """WeightedBiPredFlag."""

    DEFAULT = 0
    EXPLICIT = 1
    IMPLICIT = 2


class AvcChromaFormat(IntEnum):
    """ChromaFormatIdc."""

    MONOCHROME = 0
    YUV420 = 1


class AvcSubMbPredMode(IntEnum):
    """The reference lists of an 8x8 block."""

    L0 = 0
    L1 = 1
    BI = 2


class AvcSubMbShape(IntEnum):
    """The partition of an 8x8 block."""

    SHAPE_8X8 = 0
    SHAPE_8X4 = 1
    SHAPE_4X8 = 2
    SHAPE_4X4 = 3


# --- AVC --------------------------------------------------------------------------------------------------------------
_INTRA, _INTER = (when("intra_mb_flag", 1),), (unless("intra_mb_flag", 1),)


def _avc_mode(flag_f: Field, *consumed: Field) -> list[Field]:
    """Dwords 0 and 1; `consumed` are bits 22:16, of which a thread sees nothing."""
    return [
        Mbz(0, 31, 27),
        Enum("mbaff_field_flag", 0, 26, 25, AvcMbaffField),
        Bool("field_mb_polarity_flag", 0, 24, doc="of the bottom field"),
        Mbz(0, 23, 23),
        *consumed,
        Bool("transform_8x8_flag", 0, 15),
        Bool("field_mb_flag", 0, 14),
        Bool("intra_mb_flag", 0, 13),
        Uint("mb_type", 0, 12, 8, high=25, doc="I types as in the standard; inter types have numbers of their own"),
        Enum("weighted_bipred_flag", 0, 7, 6, AvcWeightedPrediction),
        Bool("weighted_pred_flag", 0, 5),
        flag_f,
        Enum("chroma_format_idc", 0, 3, 2, AvcChromaFormat),
        Bool("mbaff_frame_flag", 0, 1),
        Bool("field_pic_flag", 0, 0),
        Uint("cbp_y", 1, 31, 16, hex=True, doc="a bit for each 4x4 block"),
        Uint("vertical_origin", 1, 15, 8, doc="in macroblocks"),
        Uint("horizontal_origin", 1, 7, 0, doc="in macroblocks"),
    ]


def _avc_prediction() -> list[Field]:
    """Dwords 3 to 5."""
    fields: list[Field] = [Ignored(3, 31, 8, when=_INTRA), Uint("chroma_intra_pred_mode", 3, 7, 6, when=_INTRA),
                           Ignored(3, 5, 5, when=_INTRA)]
    fields += [Bool(f"intra_pred_avail_flag_{x}", 3, 4 - i, when=_INTRA) for i, x in enumerate("edcba")]
    fields += [Uint(f"luma_intra_pred_modes_{i}", 4 + i // 2, 16 * (i % 2) + 15, 16 * (i % 2), hex=True, when=_INTRA)
               for i in (1, 0, 3, 2)]
    fields += [Uint("log2_weight_denom_chroma", 3, 31, 24, when=_INTER),
               Uint("log2_weight_denom_luma", 3, 23, 16, when=_INTER)]
    fields += [Enum(f"sub_mb_pred_mode_{i}", 3, 9 + 2 * i, 8 + 2 * i, AvcSubMbPredMode, when=_INTER)
               for i in reversed(range(4))]
    fields += [Enum(f"sub_mb_shape_{i}", 3, 1 + 2 * i, 2 * i, AvcSubMbShape, when=_INTER) for i in reversed(range(4))]
    fields += [Uint(f"binding_table_index_{way}_{i}", dword, 8 * i + 7, 8 * i, when=_INTER)
               for dword, way in ((4, "forward"), (5, "backward")) for i in reversed(range(4))]
    return fields


def _avc_coded_blocks() -> list[Field]:
    """Dword 2 where it has a bit for each 8x8 block: in AVC-MC mode, and in the registers of both."""
    names = ("y0", "y1", "y2", "y3", "cb", "cr")
    return [*(Bool(f"coded_block_{block}", 2, 13 - i) for i, block in enumerate(names)),
            Uint("cbp_cr", 2, 7, 4, hex=True), Uint("cbp_cb", 2, 3, 0, hex=True)]


_FLAG_F = Bool("intra_pred_avail_flag_f", 0, 4)
_MV_SIZE = Enum("mv_size", 0, 22, 20, AvcMotionVectorSize)

MEDIA_INLINE_AVC_IT = Block("MEDIA_INLINE_AVC_IT", 8, [
    *_avc_mode(_FLAG_F, _MV_SIZE, Bool("dc_block_coded_y_flag", 0, 19), Bool("dc_block_coded_cb_flag", 0, 18),
               Bool("dc_block_coded_cr_flag", 0, 17), Mbz(0, 16, 16)),
    Uint("qp_prime_cr", 2, 31, 24),
    Uint("qp_prime_cb", 2, 23, 16),
    Uint("qp_prime_y", 2, 15, 8),
    Uint("cbp_cr", 2, 7, 4, hex=True),
    Uint("cbp_cb", 2, 3, 0, hex=True),
    *_avc_prediction(),
    Uint("level_scale_cb", 6, 31, 16),
    Uint("level_scale_cr", 6, 15, 0),
    Mbz(7, 31, 16),
    Uint("level_scale_y", 7, 15, 0),
], ref="G45v2 10.7.3.1")

MEDIA_INLINE_AVC_MC = Block("MEDIA_INLINE_AVC_MC", 6, [
    *_avc_mode(_FLAG_F, _MV_SIZE, Mbz(0, 19, 16)),
    Mbz(2, 31, 14),
    *_avc_coded_blocks(),
    *_avc_prediction(),
], ref="G45v2 10.7.3.3")

PAYLOAD_AVC_INLINE = Block("PAYLOAD_AVC_INLINE", 8, [
    *_avc_mode(Mbz(0, 4, 4), Mbz(0, 22, 16)),
    Mbz(2, 31, 14),
    *_avc_coded_blocks(),
    *_avc_prediction(),
    Mbz(6),
    Mbz(7),
], ref="G45v2 10.8.1.4", align=32, doc="the register after the constants, in both modes")

AVC_MOTION_VECTOR = Block("AVC_MOTION_VECTOR", 1, [
    Fixed("vertical", 0, 31, 16, frac=2, signed=True, doc="in pixels"),
    Fixed("horizontal", 0, 15, 0, frac=2, signed=True, doc="in pixels"),
], ref="G45v2 10.7.3.2.1")

AVC_EXPLICIT_WEIGHT = Block("AVC_EXPLICIT_WEIGHT", 1, [
    Sint("l1_offset", 0, 31, 24),
    Sint("l1_weight", 0, 23, 16),
    Sint("l0_offset", 0, 15, 8),
    Sint("l0_weight", 0, 7, 0),
], ref="G45v2 10.7.3.2.2", doc="a block of four: Y, Cb, Cr and padding")

AVC_IMPLICIT_WEIGHT = Block("AVC_IMPLICIT_WEIGHT", 1, [
    Sint("l1_weight", 0, 31, 16, low=-256, high=255),
    Sint("l0_weight", 0, 15, 0, low=-256, high=255),
], ref="G45v2 10.7.3.2.3")

# --- VC-1 -------------------------------------------------------------------------------------------------------------
MEDIA_INLINE_VC1_IT = Block("MEDIA_INLINE_VC1_IT", 9, [
    *(Bool(f"mv_field_select_{i}", 0, 28 + i) for i in reversed(range(4))),
    Mbz(0, 27, 27),
    Bool("mv_field_select_chroma", 0, 26),
    Enum("motion_type", 0, 25, 24, Vc1MotionType),
    Mbz(0, 23, 23),
    Bool("mv_switch", 0, 22),
    Enum("dct_type", 0, 21, 21, DctType),
    Bool("overlap_transform", 0, 20),
    Bool("motion_4mv", 0, 19),
    Bool("motion_backward", 0, 18),
    Bool("motion_forward", 0, 17),
    Bool("intra_macroblock", 0, 16),
    *(Bool(f"luma_intra_8x8_flag_y{i}", 0, 15 - i) for i in range(4)),
    *coded_blocks(0),
    Bool("chroma_intra_flag", 0, 5),
    Bool("last_row_flag", 0, 4),
    Mbz(0, 3, 0),
    Mbz(1, 31, 26),
    Bool("edge_mask_left_chroma", 1, 25),
    Bool("edge_mask_top_chroma", 1, 24),
    *(Bool(f"edge_mask_left_y{i}", 1, 20 + i) for i in reversed(range(4))),
    *(Bool(f"edge_mask_top_y{i}", 1, 16 + i) for i in reversed(range(4))),
    Uint("vertical_origin", 1, 15, 8, doc="in macroblocks"),
    Uint("horizontal_origin", 1, 7, 0, doc="in macroblocks"),
    *(Sint(f"motion_vector_{which}_{axis}", dword, lo + 15, lo)
      for dword, which in enumerate(("0", "1", "2", "3", "chroma"), 2)
      for axis, lo in (("vertical", 16), ("horizontal", 0))),
    *subblock_codes(7, "y3", "y2", "y1", "y0"),
    Mbz(8, 31, 16),
    *(f for f in subblock_codes(8, "unused", "unused", "cr", "cb") if f.hi < 16),
], ref="G45v2 10.7.3.5")

ADDED: tuple[Block, ...] = (
    MEDIA_INLINE_AVC_IT, MEDIA_INLINE_AVC_MC, PAYLOAD_AVC_INLINE, AVC_MOTION_VECTOR, AVC_EXPLICIT_WEIGHT,
    AVC_IMPLICIT_WEIGHT, MEDIA_INLINE_VC1_IT,
)
