"""The commands of the 2D blitter (BLT): fills, copies, patterns, text, and the SETUP commands that others rely on.

The volume of the manual that has these commands is not public for Gen4; the sources are libdrm (intel_decode.c) and
xf86-video-intel (sna_blt.c).  Common words are BR00, the header, and BR13 (called BR01 in SETUP commands).
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Field, Mbz, Sint, Uint
from gen4emu.hw.gen4.common import DATA_DWORD
from gen4emu.hw.layout import Command, blt


class ColorDepth(IntEnum):
    """The size of a pixel; the two 16-bit formats differ only in color compares."""

    BPP_8 = 0
    BPP_16_565 = 1
    BPP_16_1555 = 2
    BPP_32 = 3


class TextPacking(IntEnum):
    """Whether a row of text bits starts right after the last one or at the next byte."""

    BIT = 0
    BYTE = 1


class TransparencyRangeMode(IntEnum):
    """The comparison of colors in the CHROMA commands."""

    OFF = 0
    SKIP_SOURCE_IN_RANGE = 1
    WRITE_DESTINATION_IN_RANGE = 2
    ALPHA = 3


class FixedPattern(IntEnum):
    """The built-in 8x8 patterns of XY_MONO_PAT_FIXED_BLT."""

    HORIZONTAL = 0
    VERTICAL = 1
    FORWARD_DIAGONAL = 2
    BACKWARD_DIAGONAL = 3
    CROSS = 4
    DIAGONAL_CROSS = 5
    SCREEN_DOOR = 8
    WIDE_SCREEN_DOOR = 9
    WALKING_ONE = 10
    WALKING_ZERO = 11


class CopyDirection(IntEnum):
    """The order of the bytes of a row in SRC_COPY_BLT."""

    LEFT_TO_RIGHT = 0
    RIGHT_TO_LEFT = 1


def _with_reserved(dword: int, hi: int, lo: int, fields: list[Field]) -> list[Field]:
    """The fields and, between them, the bits of `hi`..`lo` that they leave: those must be zero."""
    out: list[Field] = []
    top = hi
    for f in sorted(fields, key=lambda f: -f.lo):
        if f.hi < top:
            out.append(Mbz(dword, top, f.hi + 1))
        out.append(f)
        top = f.lo - 1
    if top >= lo:
        out.append(Mbz(dword, top, lo))
    return out


# --- BR00: bits 21:8 of the header of each kind of command ------------------------------------------------------------
def _br00(*fields: Field | list[Field]) -> list[Field]:
    flat = [f for item in fields for f in (item if isinstance(item, list) else [item])]
    return _with_reserved(0, 21, 8, flat)


_BYTE_MASK: list[Field] = [
    Bool("write_alpha", 0, 21, doc="32 bits per pixel only"),
    Bool("write_rgb", 0, 20, doc="32 bits per pixel only"),
]
_MONO_START = Uint("monochrome_source_start", 0, 19, 17, doc="first bit in the first byte of each row")
_RANGE_MODE = Enum("transparency_range_mode", 0, 18, 17, enum=TransparencyRangeMode)
_PACKING = Enum("text_packing", 0, 16, 16, enum=TextPacking)
_SOURCE_TILED = Bool("source_tiled", 0, 15)
_TILED = Bool("destination_tiled", 0, 11)
_SEEDS: list[Field] = [
    Uint("pattern_horizontal_seed", 0, 14, 12),
    Uint("pattern_vertical_seed", 0, 10, 8),
]

# --- BR13: bits 31:26 of the second dword of each kind of command -----------------------------------------------------
_SOLID = Bool("solid_pattern", 1, 31, doc="the pattern is the foreground color everywhere")
_CLIP = Bool("clip_enable", 1, 30)
_MONO_SOURCE = Bool("monochrome_source_transparency", 1, 29, doc="0-bits do not write")
_MONO_PATTERN = Bool("monochrome_pattern_transparency", 1, 28, doc="0-bits do not write")


def _br13(*fields: Field) -> list[Field]:
    return [
        *_with_reserved(1, 31, 26, list(fields)),
        Enum("color_depth", 1, 25, 24, enum=ColorDepth),
        Uint("raster_operation", 1, 23, 16, hex=True),
        Sint("destination_pitch", 1, 15, 0, doc="bytes, or dwords when tiled"),
    ]


# --- operand dwords ---------------------------------------------------------------------------------------------------
def _point(name: str, dword: int, number: str = "") -> list[Field]:
    return [Sint(f"{name}_y{number}", dword, 31, 16), Sint(f"{name}_x{number}", dword, 15, 0)]


def _rectangle(name: str, dword: int) -> list[Field]:
    """X1, Y1 inclusive; X2, Y2 exclusive."""
    return [*_point(name, dword, "1"), *_point(name, dword + 1, "2")]


def _destination(dword: int = 2) -> list[Field]:
    """The rectangle and where pixel (0, 0) of it is counted from."""
    return [*_rectangle("destination", dword), Address("destination_base_address", dword + 2, 31, 0, target="DATA")]


def _source(dword: int) -> list[Field]:
    """A color source."""
    return [
        *_point("source", dword, "1"),
        Mbz(dword + 1, 31, 16),
        Sint("source_pitch", dword + 1, 15, 0, doc="bytes, or dwords when tiled"),
        Address("source_base_address", dword + 2, 31, 0, target="DATA"),
    ]


def _source_bits(dword: int) -> Field:
    return Address("source_bits_address", dword, 31, 0, target="DATA")


def _pattern_address(dword: int) -> Field:
    """8x8 pixels, aligned to their own size: 64, 128 or 256 bytes."""
    return Address("pattern_address", dword, 31, 0, target="DATA")


def _colors(dword: int, prefix: str = "") -> list[Field]:
    return [
        Uint(f"{prefix}background_color", dword, 31, 0, hex=True),
        Uint(f"{prefix}foreground_color", dword + 1, 31, 0, hex=True),
    ]


def _mono_pattern(dword: int) -> list[Field]:
    return [
        Uint("pattern_data_0", dword, 31, 0, hex=True, doc="rows 0 to 3, a byte each, bit 7 leftmost"),
        Uint("pattern_data_1", dword + 1, 31, 0, hex=True, doc="rows 4 to 7"),
    ]


def _chroma(dword: int) -> list[Field]:
    return [
        Uint("transparency_color_low", dword, 31, 0, hex=True),
        Uint("transparency_color_high", dword + 1, 31, 0, hex=True),
    ]


def _data(dword: int) -> Array:
    return Array("data", dword, DATA_DWORD)


def _size(dword: int) -> list[Field]:
    return [Uint("height", dword, 31, 16), Uint("width_bytes", dword, 15, 0)]


_REF = "libdrm intel_decode.c"

# --- setup: operands of PIXEL, SCANLINES and TEXT ---------------------------------------------------------------------
XY_SETUP_BLT = blt("XY_SETUP_BLT", 0x01, 8, [
    *_br00(_BYTE_MASK, _TILED),
    *_br13(_CLIP, _MONO_SOURCE),
    *_rectangle("clip", 2),
    Address("destination_base_address", 4, 31, 0, target="DATA"),
    *_colors(5),
    _pattern_address(7),
], ref=_REF)

XY_SETUP_CLIP_BLT = blt("XY_SETUP_CLIP_BLT", 0x03, 3, [*_br00(), *_rectangle("clip", 1)], ref=_REF)

XY_SETUP_MONO_PATTERN_SL_BLT = blt("XY_SETUP_MONO_PATTERN_SL_BLT", 0x11, 9, [
    *_br00(_BYTE_MASK, _TILED),
    *_br13(_SOLID, _CLIP, _MONO_SOURCE, _MONO_PATTERN),
    *_rectangle("clip", 2),
    Address("destination_base_address", 4, 31, 0, target="DATA"),
    *_colors(5),
    *_mono_pattern(7),
], ref=_REF)

XY_PIXEL_BLT = blt("XY_PIXEL_BLT", 0x24, 2, [*_br00(_TILED), *_point("destination", 1)], ref=_REF)

XY_SCANLINES_BLT = blt("XY_SCANLINES_BLT", 0x25, 3, [
    *_br00(_SEEDS, _TILED),
    *_rectangle("destination", 1),
], ref=_REF)

XY_TEXT_BLT = blt("XY_TEXT_BLT", 0x26, 4, [
    *_br00(_PACKING, _TILED),
    *_rectangle("destination", 1),
    _source_bits(3),
], ref=_REF)

XY_TEXT_IMMEDIATE_BLT = blt("XY_TEXT_IMMEDIATE_BLT", 0x31, 3, [
    *_br00(_PACKING, _TILED),
    *_rectangle("destination", 1),
    _data(3),
], ref=_REF, doc="an even number of data dwords")

# --- rows of bytes, without coordinates -------------------------------------------------------------------------------
COLOR_BLT = blt("COLOR_BLT", 0x40, 5, [
    *_br00(_BYTE_MASK),
    *_br13(),
    *_size(2),
    Address("destination_address", 3, 31, 0, target="DATA"),
    Uint("color", 4, 31, 0, hex=True),
], ref=_REF)

SRC_COPY_BLT = blt("SRC_COPY_BLT", 0x43, 6, [
    *_br00(_BYTE_MASK),
    *_br13(Enum("direction", 1, 30, 30, enum=CopyDirection)),
    *_size(2),
    Address("destination_address", 3, 31, 0, target="DATA"),
    Mbz(4, 31, 16),
    Sint("source_pitch", 4, 15, 0, doc="bytes"),
    Address("source_address", 5, 31, 0, target="DATA"),
], ref=_REF)

# --- fills and patterns -----------------------------------------------------------------------------------------------
XY_COLOR_BLT = blt("XY_COLOR_BLT", 0x50, 6, [
    *_br00(_BYTE_MASK, _TILED),
    *_br13(_CLIP),
    *_destination(),
    Uint("color", 5, 31, 0, hex=True),
], ref=_REF)

XY_PAT_BLT = blt("XY_PAT_BLT", 0x51, 6, [
    *_br00(_BYTE_MASK, _SEEDS, _TILED),
    *_br13(_CLIP),
    *_destination(),
    _pattern_address(5),
], ref=_REF)

XY_PAT_CHROMA_BLT = blt("XY_PAT_CHROMA_BLT", 0x76, 8, [
    *_br00(_BYTE_MASK, _RANGE_MODE, _SEEDS, _TILED),
    *_br13(_CLIP),
    *_destination(),
    _pattern_address(5),
    *_chroma(6),
], ref=_REF)

XY_PAT_BLT_IMMEDIATE = blt("XY_PAT_BLT_IMMEDIATE", 0x72, 5, [
    *_br00(_BYTE_MASK, _SEEDS, _TILED),
    *_br13(_CLIP),
    *_destination(),
    _data(5),
], ref=_REF, doc="16, 32 or 64 pattern dwords for 8, 16 or 32 bits per pixel")

XY_PAT_CHROMA_BLT_IMMEDIATE = blt("XY_PAT_CHROMA_BLT_IMMEDIATE", 0x77, 7, [
    *_br00(_BYTE_MASK, _RANGE_MODE, _SEEDS, _TILED),
    *_br13(_CLIP),
    *_destination(),
    *_chroma(5),
    _data(7),
], ref=_REF)

XY_MONO_PAT_BLT = blt("XY_MONO_PAT_BLT", 0x52, 9, [
    *_br00(_BYTE_MASK, _SEEDS, _TILED),
    *_br13(_SOLID, _CLIP, _MONO_PATTERN),
    *_destination(),
    *_colors(5),
    *_mono_pattern(7),
], ref=_REF)

XY_MONO_PAT_FIXED_BLT = blt("XY_MONO_PAT_FIXED_BLT", 0x59, 7, [
    *_br00(_BYTE_MASK, Enum("fixed_pattern", 0, 18, 15, enum=FixedPattern), _SEEDS, _TILED),
    *_br13(_SOLID, _CLIP, _MONO_PATTERN),
    *_destination(),
    *_colors(5),
], ref=_REF)

# --- copies -----------------------------------------------------------------------------------------------------------
XY_SRC_COPY_BLT = blt("XY_SRC_COPY_BLT", 0x53, 8, [
    *_br00(_BYTE_MASK, _SOURCE_TILED, _TILED),
    *_br13(_CLIP),
    *_destination(),
    *_source(5),
], ref=_REF)

XY_SRC_COPY_CHROMA_BLT = blt("XY_SRC_COPY_CHROMA_BLT", 0x73, 10, [
    *_br00(_BYTE_MASK, _RANGE_MODE, _SOURCE_TILED, _TILED),
    *_br13(_CLIP),
    *_destination(),
    *_source(5),
    *_chroma(8),
], ref=_REF)

XY_MONO_SRC_COPY_BLT = blt("XY_MONO_SRC_COPY_BLT", 0x54, 8, [
    *_br00(_BYTE_MASK, _MONO_START, _TILED),
    *_br13(_CLIP, _MONO_SOURCE),
    *_destination(),
    _source_bits(5),
    *_colors(6),
], ref=_REF)

XY_MONO_SRC_COPY_IMMEDIATE_BLT = blt("XY_MONO_SRC_COPY_IMMEDIATE_BLT", 0x71, 7, [
    *_br00(_BYTE_MASK, _MONO_START, _TILED),
    *_br13(_CLIP, _MONO_SOURCE),
    *_destination(),
    *_colors(5),
    _data(7),
], ref=_REF, doc="an even number of data dwords")

# --- source and pattern at once ---------------------------------------------------------------------------------------
XY_FULL_BLT = blt("XY_FULL_BLT", 0x55, 9, [
    *_br00(_BYTE_MASK, _SOURCE_TILED, _SEEDS, _TILED),
    *_br13(_CLIP),
    *_destination(),
    *_source(5),
    _pattern_address(8),
], ref=_REF)

XY_FULL_IMMEDIATE_PATTERN_BLT = blt("XY_FULL_IMMEDIATE_PATTERN_BLT", 0x74, 8, [
    *_br00(_BYTE_MASK, _SOURCE_TILED, _SEEDS, _TILED),
    *_br13(_CLIP),
    *_destination(),
    *_source(5),
    _data(8),
], ref=_REF)

XY_FULL_MONO_SRC_BLT = blt("XY_FULL_MONO_SRC_BLT", 0x56, 9, [
    *_br00(_BYTE_MASK, _MONO_START, _SEEDS, _TILED),
    *_br13(_CLIP, _MONO_SOURCE),
    *_destination(),
    _source_bits(5),
    *_colors(6),
    _pattern_address(8),
], ref=_REF)

XY_FULL_MONO_SRC_IMMEDIATE_PATTERN_BLT = blt("XY_FULL_MONO_SRC_IMMEDIATE_PATTERN_BLT", 0x75, 8, [
    *_br00(_BYTE_MASK, _MONO_START, _SEEDS, _TILED),
    *_br13(_CLIP, _MONO_SOURCE),
    *_destination(),
    _source_bits(5),
    *_colors(6),
    _data(8),
], ref=_REF)

XY_FULL_MONO_PATTERN_BLT = blt("XY_FULL_MONO_PATTERN_BLT", 0x57, 12, [
    *_br00(_BYTE_MASK, _SOURCE_TILED, _SEEDS, _TILED),
    *_br13(_SOLID, _CLIP, _MONO_PATTERN),
    *_destination(),
    *_source(5),
    *_colors(8, "pattern_"),
    *_mono_pattern(10),
], ref=_REF)

XY_FULL_MONO_PATTERN_MONO_SRC_BLT = blt("XY_FULL_MONO_PATTERN_MONO_SRC_BLT", 0x58, 12, [
    *_br00(_BYTE_MASK, _MONO_START, _SEEDS, _TILED),
    *_br13(_SOLID, _CLIP, _MONO_SOURCE, _MONO_PATTERN),
    *_destination(),
    _source_bits(5),
    *_colors(6, "source_"),
    *_colors(8, "pattern_"),
    *_mono_pattern(10),
], ref=_REF)

COMMANDS: tuple[Command, ...] = (
    XY_SETUP_BLT, XY_SETUP_CLIP_BLT, XY_SETUP_MONO_PATTERN_SL_BLT, XY_PIXEL_BLT, XY_SCANLINES_BLT, XY_TEXT_BLT,
    XY_TEXT_IMMEDIATE_BLT, COLOR_BLT, SRC_COPY_BLT, XY_COLOR_BLT, XY_PAT_BLT, XY_MONO_PAT_BLT, XY_SRC_COPY_BLT,
    XY_MONO_SRC_COPY_BLT, XY_FULL_BLT, XY_FULL_MONO_SRC_BLT, XY_FULL_MONO_PATTERN_BLT,
    XY_FULL_MONO_PATTERN_MONO_SRC_BLT, XY_MONO_PAT_FIXED_BLT, XY_MONO_SRC_COPY_IMMEDIATE_BLT, XY_PAT_BLT_IMMEDIATE,
    XY_SRC_COPY_CHROMA_BLT, XY_FULL_IMMEDIATE_PATTERN_BLT, XY_FULL_MONO_SRC_IMMEDIATE_PATTERN_BLT,
    XY_PAT_CHROMA_BLT, XY_PAT_CHROMA_BLT_IMMEDIATE,
)
