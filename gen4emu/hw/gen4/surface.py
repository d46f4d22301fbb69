"""SURFACE_STATE and the binding table: memory as the sampler and the data port address it.

965 PRM vol. 4, 4.7.1 and 4.7.2.
Formats are in `gen4emu.hw.formats`.  The position of a texel in memory is not described here.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Bool, Enum, Ignored, Mbz, Uint, unless, when
from gen4emu.hw.formats import SurfaceFormat
from gen4emu.hw.layout import Block, View


class SurfaceType(IntEnum):
    """SURFTYPE_*."""

    SURFTYPE_1D = 0
    SURFTYPE_2D = 1
    SURFTYPE_3D = 2
    SURFTYPE_CUBE = 3
    SURFTYPE_BUFFER = 4
    SURFTYPE_NULL = 7


class DataReturnFormat(IntEnum):
    """DATA_RETURN_*: a hint, since both end as FLOAT32 in the register."""

    FLOAT32 = 0
    S1_14 = 1


class MipMapLayoutMode(IntEnum):
    """MIPLAYOUT_*: where level 1 lies, seen from level 0."""

    BELOW = 0
    RIGHT = 1


class MediaBoundaryPixelMode(IntEnum):
    """The row that a media block read returns for rows above or below the surface."""

    NORMAL = 0
    PROGRESSIVE = 2
    INTERLACED = 3


class TileWalk(IntEnum):
    """TILEWALK_*."""

    XMAJOR = 0
    YMAJOR = 1


_CUBE = (when("surface_type", SurfaceType.SURFTYPE_CUBE),)
_NOT_CUBE = (unless("surface_type", SurfaceType.SURFTYPE_CUBE),)
_BUFFER = (when("surface_type", SurfaceType.SURFTYPE_BUFFER),)
_NOT_BUFFER = (unless("surface_type", SurfaceType.SURFTYPE_BUFFER),)
_NULL = (when("surface_type", SurfaceType.SURFTYPE_NULL),)
_NOT_NULL = (unless("surface_type", SurfaceType.SURFTYPE_NULL),)
_TILED, _LINEAR = (when("tiled_surface", 1),), (unless("tiled_surface", 1),)

BINDING_TABLE_STATE = Block("BINDING_TABLE_STATE", 1, [
    Address("surface_state_pointer", 0, 31, 5, base="surface_state", target="SURFACE_STATE"),
    Mbz(0, 4, 0),
], ref="965v4 4.7.1", align=32, doc="one entry of up to 256; the table is 32-byte aligned")

SURFACE_STATE = Block("SURFACE_STATE", 5, [
    Enum("surface_type", 0, 31, 29, SurfaceType),
    Mbz(0, 28, 28),
    Enum("data_return_format", 0, 27, 27, DataReturnFormat),
    Enum("surface_format", 0, 26, 18, SurfaceFormat),
    Bool("color_write_disable_alpha", 0, 17, doc="this and the next four: render targets only"),
    Bool("color_write_disable_red", 0, 16),
    Bool("color_write_disable_green", 0, 15),
    Bool("color_write_disable_blue", 0, 14),
    Bool("color_blend_enable", 0, 13),
    Bool("vertical_line_stride", 0, 12, doc="skip every other line: one field of a frame"),
    Uint("vertical_line_stride_offset", 0, 11, 11, doc="the first line"),
    Enum("mip_map_layout_mode", 0, 10, 10, MipMapLayoutMode),
    Mbz(0, 9, 9),
    Bool("render_cache_read_write_mode", 0, 8),
    Uint("media_boundary_pixel_mode", 0, 7, 6, high=MediaBoundaryPixelMode.NORMAL),
    Bool("cube_face_enable_negative_x", 0, 5, when=_CUBE, doc="the border color stands for a disabled face"),
    Bool("cube_face_enable_positive_x", 0, 4, when=_CUBE),
    Bool("cube_face_enable_negative_y", 0, 3, when=_CUBE),
    Bool("cube_face_enable_positive_y", 0, 2, when=_CUBE),
    Bool("cube_face_enable_negative_z", 0, 1, when=_CUBE),
    Bool("cube_face_enable_positive_z", 0, 0, when=_CUBE),
    Ignored(0, 5, 0, when=_NOT_CUBE),
    Address("surface_base_address", 1, 31, 0, target="SURFACE_DATA", when=_NOT_NULL),
    Ignored(1, when=_NULL),
    Uint("height", 2, 31, 19, bias=1, when=_NOT_BUFFER, doc="of level 0; of one field if lines are skipped; 1 if 1D"),
    Uint("buffer_entries_19_7", 2, 31, 19, when=_BUFFER, doc="of the number of entries - 1, as the next two"),
    Uint("width", 2, 18, 6, bias=1, when=_NOT_BUFFER, doc="of level 0; in dwords for media block messages"),
    Mbz(2, 18, 13, when=_BUFFER),
    Uint("buffer_entries_6_0", 2, 12, 6, when=_BUFFER),
    Uint("mip_count_or_lod", 2, 5, 2, high=13, doc="sampler: levels - 1; render target: the level"),
    Mbz(2, 1, 0),
    Uint("depth", 3, 31, 21, bias=1, when=_NOT_BUFFER, doc="3D: slices of level 0; 1D, 2D: array elements"),
    Mbz(3, 31, 28, when=_BUFFER),
    Uint("buffer_entries_26_20", 3, 27, 21, when=_BUFFER),
    Mbz(3, 20, 20),
    Uint("surface_pitch", 3, 19, 3, bias=1, doc="in bytes; of a buffer, the distance of two entries"),
    Mbz(3, 2, 2),
    Bool("tiled_surface", 3, 1),
    Enum("tile_walk", 3, 0, 0, TileWalk, when=_TILED),
    Ignored(3, 0, 0, when=_LINEAR),
    Uint("surface_min_lod", 4, 31, 28, high=13, doc="added to the level of sample_l, ld and resinfo"),
    Uint("minimum_array_element", 4, 27, 17, doc="added to the array index"),
    Uint("render_target_view_extent", 4, 16, 8, bias=1),
    Mbz(4, 7, 0),
], ref="965v4 4.7.2", align=32)


def buffer_entries(surface: View) -> int:
    """The number of entries of a SURFTYPE_BUFFER, 1 to 2^27, from the three fields that hold it."""
    last: int = surface.buffer_entries_26_20 << 20 | surface.buffer_entries_19_7 << 7 | surface.buffer_entries_6_0
    return last + 1


def buffer_entry_fields(entries: int) -> dict[str, int]:
    """The fields, for building, that give a buffer this many entries."""
    last = entries - 1
    return {"buffer_entries_26_20": last >> 20, "buffer_entries_19_7": last >> 7 & 0x1FFF,
            "buffer_entries_6_0": last & 0x7F}


BLOCKS: tuple[Block, ...] = (BINDING_TABLE_STATE, SURFACE_STATE)
