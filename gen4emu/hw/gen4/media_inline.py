"""One macroblock in each VFE mode: inline data of MEDIA_OBJECT, indirect data, and registers of the thread.

G45 PRM vol. 2, 10.7.2.2 to 10.7.3.6 and 10.8.1.2 to 10.8.1.6.  VFE uses only some of the fields; all others are a
contract between the client and its kernels.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Bool, Enum, Field, Fixed, Ignored, Mbz, Sint, Uint
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


def coded_blocks(dword: int) -> list[Field]:
    return [Bool(f"coded_block_{block}", dword, 11 - i) for i, block in enumerate(("y0", "y1", "y2", "y3", "cb", "cr"))]


def subblock_codes(dword: int, *blocks: str) -> list[Field]:
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
    Uint("macroblock_count", 0, 14, 8, doc="skipped ones included; may exceed 127"),
    Mbz(0, 7, 3),
    Uint("first_macroblock_bit_offset", 0, 2, 0, doc="0 is the most significant bit"),
    Mbz(1, 31, 29),
    Uint("quantizer_scale_code", 1, 28, 24, low=1),
    Mbz(1, 23, 0),
], ref="G45v2 10.7.2.3", gens=Gen.CL)

PAYLOAD_VLD_R1 = Block("PAYLOAD_VLD_R1", 8, [
    *_mpeg2_mode(Ignored(0, 20, 19)),
    Ignored(1),
    *_mpeg2_picture(2),
    Ignored(2, 15, 15),
    Uint("intra_dc_precision", 2, 14, 13),
    Bool("disable_mismatch", 2, 12, doc="always 0"),
    *coded_blocks(2),
    Enum("quantizer_scale_type", 2, 5, 5, QuantizerScaleType),
    Uint("quantizer_scale_code", 2, 4, 0),
    *_mpeg2_origin(3),
    *_mpeg2_vectors(4),
], ref="G45v2 10.8.1.3", gens=Gen.CL, align=32, doc="after the constants; blocks follow")

MEDIA_INLINE_IS = Block("MEDIA_INLINE_IS", 10, [
    *_mpeg2_mode(Bool("overlap_transform", 0, 20), Bool("four_motion_vectors", 0, 19)),
    Ignored(1),
    *subblock_codes(2, "y1", "y0"),
    Ignored(2, 15, 12),
    *coded_blocks(2),
    Ignored(2, 5, 0),
    *subblock_codes(3, "cr", "cb", "y3", "y2"),
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

BLOCKS: tuple[Block, ...] = (MEDIA_INLINE_VLD, PAYLOAD_VLD_R1, MEDIA_INLINE_IS, COEFFICIENT)
