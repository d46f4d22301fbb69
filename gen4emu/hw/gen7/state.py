"""The state blocks of Ivy Bridge that differ from Sandy Bridge.

IVB PRM vol. 2 part 1 (3D pipeline) and vol. 4 part 1 (surfaces, samplers, the denoise and deinterlace unit).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from gen4emu.hw.fields import Address, Bool, Enum, Field, Fixed, Float, Ignored, Mbz, Uint, When, unless, when
from gen4emu.hw.gen4.sampler import CubeSurfaceControlMode, PrefilterOperation, TextureCoordinateMode
from gen4emu.hw.gen4.surface import MediaBoundaryPixelMode, TileWalk
from gen4emu.hw.gen6 import state as gen6
from gen4emu.hw.gen6.state import RenderTargetRotation, SurfaceMultisamples, SurfaceVerticalAlignment
from gen4emu.hw.later_formats import LaterSurfaceFormat
from gen4emu.hw.layout import Block, View
from gen4emu.hw.reserved import block

_REF = "IVB PRM vol2 part1 "
_SAMPLER = "IVB PRM vol4 part1 "


class StructuredSurfaceType(IntEnum):
    """SURFTYPE_*, with structured buffers."""

    SURFTYPE_1D = 0
    SURFTYPE_2D = 1
    SURFTYPE_3D = 2
    SURFTYPE_CUBE = 3
    SURFTYPE_BUFFER = 4
    SURFTYPE_STRBUF = 5
    SURFTYPE_NULL = 7


class SurfaceHorizontalAlignment(IntEnum):
    """HALIGN_*: the columns to which levels are aligned."""

    HALIGN_4 = 0
    HALIGN_8 = 1


class SurfaceArraySpacing(IntEnum):
    """ARYSPC_*: whether array elements keep room for all levels or for the first alone."""

    FULL = 0
    LOD0 = 1


class MultisampledSurfaceStorageFormat(IntEnum):
    """MSFMT_*: samples as array slices, or interleaved as in depth and stencil buffers."""

    MSS = 0
    DEPTH_STENCIL = 1


class AnisotropicAlgorithm(IntEnum):
    """The shape of the footprint."""

    LEGACY = 0
    EWA_APPROXIMATION = 1


class TrilinearFilterQuality(IntEnum):
    """TRIQUAL_*."""

    FULL = 0
    MED = 2
    LOW = 3


# --- 3D pipeline ------------------------------------------------------------------------------------------------------
VERTEX_BUFFER_STATE = gen6.VERTEX_BUFFER_STATE.changed(
    Bool("address_modify_enable", 0, 14, doc="else start and end keep their old values"),
    ref=_REF + "VERTEX_BUFFER_STATE")

SF_CLIP_VIEWPORT = block("SF_CLIP_VIEWPORT", 16, [
    *(Float(f"viewport_matrix_element_{name}", dword, 31, 0)
      for dword, name in enumerate(("m00", "m11", "m22", "m30", "m31", "m32"))),
    Float("x_min_clip_guardband", 8, 31, 0),
    Float("x_max_clip_guardband", 9, 31, 0),
    Float("y_min_clip_guardband", 10, 31, 0),
    Float("y_max_clip_guardband", 11, 31, 0),
], ref=_REF + "SF_CLIP_VIEWPORT", align=64, doc="an array of up to 16; SF_VIEWPORT and CLIP_VIEWPORT in one")


def _declaration(dword: int, at: int, stream: int) -> list[Field]:
    name = f"stream_{stream}_"
    return [
        Uint(name + "output_buffer_slot", dword, at + 13, at + 12),
        Bool(name + "hole_flag", dword, at + 11),
        Uint(name + "register_index", dword, at + 9, at + 4, doc="from the vertex read offset on"),
        Uint(name + "component_mask", dword, at + 3, at, hex=True),
    ]


SO_DECL = block("SO_DECL", 1, [
    Uint("output_buffer_slot", 0, 13, 12),
    Bool("hole_flag", 0, 11),
    Uint("register_index", 0, 9, 4),
    Uint("component_mask", 0, 3, 0, hex=True),
], ref=_REF + "3DSTATE_SO_DECL_LIST", doc="half a dword of SO_DECL_ENTRY")

SO_DECL_ENTRY = block("SO_DECL_ENTRY", 2, [
    f for stream in range(4) for f in _declaration(stream // 2, 16 * (stream % 2), stream)
], ref=_REF + "3DSTATE_SO_DECL_LIST", doc="one declaration for each stream")

# --- surfaces ---------------------------------------------------------------------------------------------------------
_Type = StructuredSurfaceType
_NULL = when("surface_type", _Type.SURFTYPE_NULL)
_NOT_NULL = unless("surface_type", _Type.SURFTYPE_NULL)
_CUBE, _NOT_CUBE = when("surface_type", _Type.SURFTYPE_CUBE), unless("surface_type", _Type.SURFTYPE_CUBE)
_BUFFERS = (_Type.SURFTYPE_BUFFER, _Type.SURFTYPE_STRBUF)
_BUFFER, _IMAGE = when("surface_type", *_BUFFERS), unless("surface_type", *_BUFFERS)
_STRBUF, _NOT_STRBUF = when("surface_type", _Type.SURFTYPE_STRBUF), unless("surface_type", _Type.SURFTYPE_STRBUF)
_PLANAR = when("surface_format", LaterSurfaceFormat["PLANAR_420_8"])
_NOT_PLANAR = unless("surface_format", LaterSurfaceFormat["PLANAR_420_8"])
_APPEND, _NO_APPEND = when("append_counter_enable", 1), unless("append_counter_enable", 1)


def _size(names: Sequence[tuple[str, int, int, int]], used: When) -> list[Field]:
    return [Uint(name, dword, hi, lo, bias=1, when=(used,)) for name, dword, hi, lo in names]


RENDER_SURFACE_STATE = block("RENDER_SURFACE_STATE", 8, [
    Enum("surface_type", 0, 31, 29, StructuredSurfaceType),
    Bool("surface_array", 0, 28),
    Enum("surface_format", 0, 26, 18, LaterSurfaceFormat),
    Enum("surface_vertical_alignment", 0, 17, 16, SurfaceVerticalAlignment),
    Enum("surface_horizontal_alignment", 0, 15, 15, SurfaceHorizontalAlignment),
    Bool("tiled_surface", 0, 14),
    Enum("tile_walk", 0, 13, 13, TileWalk),
    Bool("vertical_line_stride", 0, 12),
    Uint("vertical_line_stride_offset", 0, 11, 11),
    Enum("surface_array_spacing", 0, 10, 10, SurfaceArraySpacing),
    Bool("render_cache_read_write_mode", 0, 8),
    Enum("media_boundary_pixel_mode", 0, 7, 6, MediaBoundaryPixelMode),
    *(Bool(f"cube_face_enable_{sign}_{axis}", 0, bit, when=(_CUBE,)) for bit, sign, axis in (
        (5, "negative", "x"), (4, "positive", "x"), (3, "negative", "y"), (2, "positive", "y"), (1, "negative", "z"),
        (0, "positive", "z"))),
    Ignored(0, 5, 0, when=(_NOT_CUBE,)),
    Address("surface_base_address", 1, 31, 0, target="SURFACE_DATA", when=(_NOT_NULL,)),
    Ignored(1, when=(_NULL,)),
    *_size([("height", 2, 29, 16), ("width", 2, 13, 0), ("depth", 3, 31, 21)], _IMAGE),
    Uint("buffer_entries_20_7", 2, 29, 16, when=(_BUFFER,), doc="of the number of entries - 1, as the next two"),
    Mbz(2, 13, 7, when=(_BUFFER,)),
    Uint("buffer_entries_6_0", 2, 6, 0, when=(_BUFFER,)),
    Uint("buffer_entries_30_21", 3, 30, 21, when=(_BUFFER,), doc="of RAW; else up to bit 26"),
    Mbz(3, 31, 31, when=(_BUFFER,)),
    Uint("surface_pitch", 3, 17, 0, bias=1, doc="in bytes; of a buffer, the distance of two entries"),
    Enum("render_target_rotation", 4, 30, 29, RenderTargetRotation, when=(_NOT_STRBUF,)),
    Uint("minimum_array_element", 4, 28, 18, when=(_NOT_STRBUF,)),
    Uint("render_target_view_extent", 4, 17, 7, bias=1, when=(_NOT_STRBUF,)),
    Enum("multisampled_surface_storage_format", 4, 6, 6, MultisampledSurfaceStorageFormat, when=(_NOT_STRBUF,)),
    Enum("number_of_multisamples", 4, 5, 3, SurfaceMultisamples, when=(_NOT_STRBUF,)),
    Uint("multisample_position_palette_index", 4, 2, 0, when=(_NOT_STRBUF,)),
    Mbz(4, 30, 27, when=(_STRBUF,)),
    Uint("strbuf_minimum_array_element", 4, 26, 0, when=(_STRBUF,)),
    Uint("x_offset", 5, 31, 25, scale=4, doc="in texels"),
    Uint("y_offset", 5, 23, 20, scale=2, doc="in rows"),
    Uint("surface_object_control_state", 5, 19, 16, hex=True),
    Uint("surface_min_lod", 5, 7, 4, high=14),
    Uint("mip_count_lod", 5, 3, 0, high=14, doc="sampler: levels - 1; render target: the level"),
    # Dword 6 is the multisample control surface, or the append counter, or where the chroma of a planar format is.
    Mbz(6, 31, 30, when=(_PLANAR,)),
    Uint("x_offset_for_uv_plane", 6, 29, 16, when=(_PLANAR,)),
    Mbz(6, 15, 14, when=(_PLANAR,)),
    Uint("y_offset_for_uv_plane", 6, 13, 0, when=(_PLANAR,)),
    Address("append_counter_address", 6, 31, 6, target="DATA", when=(_NOT_PLANAR, _APPEND)),
    Mbz(6, 5, 2, when=(_NOT_PLANAR, _APPEND)),
    Address("mcs_base_address", 6, 31, 12, target="SURFACE_DATA", when=(_NOT_PLANAR, _NO_APPEND)),
    Uint("mcs_surface_pitch", 6, 11, 3, bias=1, when=(_NOT_PLANAR, _NO_APPEND), doc="in tiles"),
    Mbz(6, 2, 2, when=(_NOT_PLANAR, _NO_APPEND)),
    Bool("append_counter_enable", 6, 1, when=(_NOT_PLANAR,)),
    Bool("mcs_enable", 6, 0, when=(_NOT_PLANAR,)),
    *(Uint(f"{channel}_clear_color", 7, bit, bit, doc="0.0 or 1.0; 0 or 1 of an integer format")
      for bit, channel in ((31, "red"), (30, "green"), (29, "blue"), (28, "alpha"))),
    Fixed("resource_min_lod", 7, 11, 0, frac=8, high=14.0),
], ref=_SAMPLER + "SURFACE_STATE", align=32)


def buffer_entries(surface: View) -> int:
    """The entries of a buffer, whose number less 1 lies in the dimensions of images; of later generations, too."""
    return (surface.raw("depth") << 21 | surface.raw("height") << 7 | surface.raw("width")) + 1


def buffer_entry_fields(entries: int) -> dict[str, int]:
    """The fields, for building, that give a buffer this many entries."""
    last = entries - 1
    return {"buffer_entries_30_21": last >> 21, "buffer_entries_20_7": last >> 7 & 0x3FFF,
            "buffer_entries_6_0": last & 0x7F}


# --- samplers ---------------------------------------------------------------------------------------------------------
# Fractions of LODs have eight bits instead of six, so everything after them moved.
SAMPLER_STATE = gen6.SAMPLER_STATE.changed(
    Fixed("texture_lod_bias", 0, 13, 1, signed=True, frac=8),
    Enum("anisotropic_algorithm", 0, 0, 0, AnisotropicAlgorithm),
    Fixed("base_mip_level", 0, 26, 22, frac=1, high=14.0),
    Fixed("min_lod", 1, 31, 20, frac=8, high=14.0),
    Fixed("max_lod", 1, 19, 8, frac=8, high=14.0),
    Enum("shadow_function", 1, 3, 1, PrefilterOperation),
    Enum("cube_surface_control_mode", 1, 0, 0, CubeSurfaceControlMode),
    Enum("trilinear_filter_quality", 3, 12, 11, TrilinearFilterQuality),
    Bool("non_normalized_coordinate_enable", 3, 10),
    Enum("tcx_address_control_mode", 3, 8, 6, TextureCoordinateMode),
    Enum("tcy_address_control_mode", 3, 5, 3, TextureCoordinateMode),
    Enum("tcz_address_control_mode", 3, 2, 0, TextureCoordinateMode),
    remove=["min_and_mag_state_not_equal", "monochrome_filter_height", "monochrome_filter_width", "reserved_3_31_26"],
    ref=_SAMPLER + "SAMPLER_STATE")

# In DX9 mode the first dword has four bytes.  SAMPLER_STATE knows the mode, so the block shows the floats.
SAMPLER_BORDER_COLOR_STATE = block("SAMPLER_BORDER_COLOR_STATE", 4, [
    Float("border_color_float_red", 0, 31, 0, doc="in DX9 mode four bytes: red, green, blue and alpha from bit 0 on"),
    Float("border_color_float_green", 1, 31, 0),
    Float("border_color_float_blue", 2, 31, 0),
    Float("border_color_float_alpha", 3, 31, 0),
], ref=_SAMPLER + "SAMPLER_BORDER_COLOR_STATE", align=64)

MEMORY_OBJECT_CONTROL_STATE = block("MEMORY_OBJECT_CONTROL_STATE", 1, [
    Bool("graphics_data_type", 0, 2),
    Bool("llc_cacheability_control", 0, 1),
    Bool("l3_cacheability_control", 0, 0),
], ref="IVB PRM vol1 part1 MEMORY_OBJECT_CONTROL_STATE", doc="four bits of a command or block")

REPLACED: tuple[Block, ...] = (
    VERTEX_BUFFER_STATE, RENDER_SURFACE_STATE, SAMPLER_STATE, SAMPLER_BORDER_COLOR_STATE, MEMORY_OBJECT_CONTROL_STATE,
)
ADDED: tuple[Block, ...] = (SF_CLIP_VIEWPORT, SO_DECL, SO_DECL_ENTRY)
REMOVED: tuple[str, ...] = ("SF_VIEWPORT", "CLIP_VIEWPORT")
