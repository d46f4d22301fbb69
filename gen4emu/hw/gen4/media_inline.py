"""One macroblock in each VFE mode: inline data of MEDIA_OBJECT, indirect data, and registers of the thread.

G45 PRM vol. 2, 10.7.2.2 to 10.7.3.6 and 10.8.1.2 to 10.8.1.6.  VFE uses only some of the fields; all others are a
contract between the client and its kernels.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Bool, Enum, Field, Fixed, Ignored, Mbz, Sint, Uint, unless, when
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block


class PictureStructure(IntEnum):
    """MPEG_PICTURE_STRUCTURE."""

    TOP_FIELD = 1
    BOTTOM_FIELD = 2
    FRAME = 3


class PictureCodingType(IntEnum):
    """MPEG_PICTURE_CODING_TYPE."""

    I_PICTURE = 1
    P_PICTURE = 2
    B_PICTURE = 3


class QuantizerScaleType(IntEnum):
    """MPEG_Q_SCALE_TYPE."""

    LINEAR = 0
    NONLINEAR = 1


class MotionType(IntEnum):
    """The motion of an MPEG-2 macroblock.  Its second value depends on the picture structure."""

    NONE = 0  # an intra macroblock
    FIELD = 1
    FRAME_OR_16X8 = 2
    DUAL_PRIME = 3


class DctType(IntEnum):
    """The assignment of lines of a macroblock to its blocks."""

    FRAME_DCT = 0
    FIELD_DCT = 1


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


# --- MPEG-2: VLD and IS -----------------------------------------------------------------------------------------------
def _mpeg2_mode(*other: Field) -> list[Field]:
    """Dword 0 of a macroblock, in the command (IS) and in the register (both)."""
    return [
        *(Bool(f"motion_vertical_field_select_{r}_{s}", 0, 28 + 2 * r + s) for r in (1, 0) for s in (1, 0)),
        Bool("second_field", 0, 27, doc="of a frame, in a P field picture"),
        Ignored(0, 26, 26),
        Enum("motion_type", 0, 25, 24, MotionType),
        Ignored(0, 23, 22),
        Enum("dct_type", 0, 21, 21, DctType),
        *other,
        Bool("macroblock_motion_backward", 0, 18),
        Bool("macroblock_motion_forward", 0, 17),
        Bool("macroblock_intra_type", 0, 16),
        Ignored(0, 15, 0),
    ]


def _coded_blocks(dword: int) -> list[Field]:
    return [Bool(f"coded_block_{block}", dword, 11 - i) for i, block in enumerate(("y0", "y1", "y2", "y3", "cb", "cr"))]


def _subblock_codes(dword: int, *blocks: str) -> list[Field]:
    """A byte for each block, from the top: which of its sub-blocks are there, and how it is divided."""
    fields: list[Field] = []
    for i, block in enumerate(blocks):
        lo = 24 - 8 * i
        fields += [Ignored(dword, lo + 7, lo + 6),
                   Uint(f"subblock_present_{block}", dword, lo + 5, lo + 2, hex=True, doc="bit 0 is sub-block 0"),
                   Uint(f"subblock_partitioning_{block}", dword, lo + 1, lo, doc="8x8, 8x4, 4x8, 4x4")]
    return fields


def _mpeg2_vectors(first: int) -> list[Field]:
    """Four motion vectors in half pixels: vector r of direction s."""
    return [Fixed(f"motion_vector_{r}_{s}_{axis}", first + 2 * r + s, lo + 15, lo, frac=1, signed=True)
            for r in (0, 1) for s in (0, 1) for axis, lo in (("vertical", 16), ("horizontal", 0))]


def _mpeg2_picture(dword: int) -> list[Field]:
    return [Ignored(dword, 31, 20),
            Enum("picture_coding_type", dword, 19, 18, PictureCodingType),
            Enum("picture_structure", dword, 17, 16, PictureStructure)]


def _mpeg2_origin(dword: int) -> list[Field]:
    """So placed that the two halves of the dword are the position in pixels."""
    return [Ignored(dword, 31, 27), Uint("vertical_origin", dword, 26, 20, doc="in macroblocks"),
            Ignored(dword, 19, 11), Uint("horizontal_origin", dword, 10, 4, doc="in macroblocks"),
            Ignored(dword, 3, 0)]


MEDIA_INLINE_VLD = Block("MEDIA_INLINE_VLD", 2, [
    Mbz(0, 31, 31),
    Uint("slice_horizontal_position", 0, 30, 24, doc="in macroblocks"),
    Mbz(0, 23, 23),
    Uint("slice_vertical_position", 0, 22, 16, doc="in macroblocks of this picture"),
    Mbz(0, 15, 15),
    Uint("macroblock_count", 0, 14, 8, doc="with the skipped ones; 127 is no limit"),
    Mbz(0, 7, 3),
    Uint("first_macroblock_bit_offset", 0, 2, 0, doc="0 is the most significant bit"),
    Mbz(1, 31, 29),
    Uint("quantizer_scale_code", 1, 28, 24, low=1),
    Mbz(1, 23, 0),
], ref="G45v2 10.7.2.3", gens=Gen.CL | Gen.GEN45)

PAYLOAD_VLD_R1 = Block("PAYLOAD_VLD_R1", 8, [
    *_mpeg2_mode(Ignored(0, 20, 19)),
    Ignored(1),
    *_mpeg2_picture(2),
    Ignored(2, 15, 15),
    Uint("intra_dc_precision", 2, 14, 13),
    Bool("disable_mismatch", 2, 12, doc="always 0"),
    *_coded_blocks(2),
    Enum("quantizer_scale_type", 2, 5, 5, QuantizerScaleType),
    Uint("quantizer_scale_code", 2, 4, 0),
    *_mpeg2_origin(3),
    *_mpeg2_vectors(4),
], ref="G45v2 10.8.1.3", gens=Gen.CL | Gen.GEN45, align=32, doc="after the constants; blocks follow")

MEDIA_INLINE_IS = Block("MEDIA_INLINE_IS", 10, [
    *_mpeg2_mode(Bool("overlap_transform", 0, 20), Bool("four_motion_vectors", 0, 19)),
    Ignored(1),
    *_subblock_codes(2, "y1", "y0"),
    Ignored(2, 15, 12),
    *_coded_blocks(2),
    Ignored(2, 5, 0),
    *_subblock_codes(3, "cr", "cb", "y3", "y2"),
    *_mpeg2_vectors(4),
    *_mpeg2_picture(8),
    Ignored(8, 15, 0),
    *_mpeg2_origin(9),
], ref="G45v2 10.7.2.2", doc="VFE reads the coded blocks only; the thread finds all of it in R1 and R2")

COEFFICIENT = Block("COEFFICIENT", 1, [
    Sint("coefficient", 0, 31, 16),
    Mbz(0, 15, 7),
    Uint("index", 0, 6, 1, doc="row * width + column"),
    Bool("end_of_block", 0, 0),
], ref="G45v2 10.7.2.2", doc="indirect data of IS, AVC-IT and VC1-IT modes")

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
], ref="G45v2 10.7.3.1", gens=Gen.GEN45)

MEDIA_INLINE_AVC_MC = Block("MEDIA_INLINE_AVC_MC", 6, [
    *_avc_mode(_FLAG_F, _MV_SIZE, Mbz(0, 19, 16)),
    Mbz(2, 31, 14),
    *_avc_coded_blocks(),
    *_avc_prediction(),
], ref="G45v2 10.7.3.3", gens=Gen.GEN45)

PAYLOAD_AVC_INLINE = Block("PAYLOAD_AVC_INLINE", 8, [
    *_avc_mode(Mbz(0, 4, 4), Mbz(0, 22, 16)),
    Mbz(2, 31, 14),
    *_avc_coded_blocks(),
    *_avc_prediction(),
    Mbz(6),
    Mbz(7),
], ref="G45v2 10.8.1.4", gens=Gen.GEN45, align=32, doc="the register after the constants, in both modes")

AVC_MOTION_VECTOR = Block("AVC_MOTION_VECTOR", 1, [
    Fixed("vertical", 0, 31, 16, frac=2, signed=True, doc="in pixels"),
    Fixed("horizontal", 0, 15, 0, frac=2, signed=True, doc="in pixels"),
], ref="G45v2 10.7.3.2.1", gens=Gen.GEN45)

AVC_EXPLICIT_WEIGHT = Block("AVC_EXPLICIT_WEIGHT", 1, [
    Sint("l1_offset", 0, 31, 24),
    Sint("l1_weight", 0, 23, 16),
    Sint("l0_offset", 0, 15, 8),
    Sint("l0_weight", 0, 7, 0),
], ref="G45v2 10.7.3.2.2", gens=Gen.GEN45, doc="a block of four: Y, Cb, Cr and padding")

AVC_IMPLICIT_WEIGHT = Block("AVC_IMPLICIT_WEIGHT", 1, [
    Sint("l1_weight", 0, 31, 16, low=-256, high=255),
    Sint("l0_weight", 0, 15, 0, low=-256, high=255),
], ref="G45v2 10.7.3.2.3", gens=Gen.GEN45)

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
    *_coded_blocks(0),
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
    *_subblock_codes(7, "y3", "y2", "y1", "y0"),
    Mbz(8, 31, 16),
    *(f for f in _subblock_codes(8, "unused", "unused", "cr", "cb") if f.hi < 16),
], ref="G45v2 10.7.3.5", gens=Gen.GEN45)

BLOCKS: tuple[Block, ...] = (
    MEDIA_INLINE_VLD, PAYLOAD_VLD_R1, MEDIA_INLINE_IS, COEFFICIENT, MEDIA_INLINE_AVC_IT, MEDIA_INLINE_AVC_MC,
    PAYLOAD_AVC_INLINE, AVC_MOTION_VECTOR, AVC_EXPLICIT_WEIGHT, AVC_IMPLICIT_WEIGHT, MEDIA_INLINE_VC1_IT,
)
