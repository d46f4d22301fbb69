"""Surfaces and samplers of Gen8 as the state in memory describes them: RENDER_SURFACE_STATE, SAMPLER_STATE and so on.

Mesa's gen8.xml; the manual's volume with these structures is not among the sources.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Bool, Enum, Field, Fixed, Float, Ignored, Mbz, Uint, unless, when
from gen4emu.hw.gen4.sampler import ChromaKeyMode, CubeSurfaceControlMode, MapFilter, MipFilter, PrefilterOperation
from gen4emu.hw.gen4.surface import MediaBoundaryPixelMode
from gen4emu.hw.gen6.state import TextureBorderColorMode
from gen4emu.hw.gen7.state import (
    AnisotropicAlgorithm,
    MultisampledSurfaceStorageFormat,
    StructuredSurfaceType,
)
from gen4emu.hw.gen8.raster import SampleCount
from gen4emu.hw.gen8.vertex_fetch import memory_object_control_state
from gen4emu.hw.gen75.state import ShaderChannelSelect
from gen4emu.hw.later_formats import LaterSurfaceFormat
from gen4emu.hw.layout import Block
from gen4emu.hw.reserved import block


class TileMode(IntEnum):
    """The order of bytes in memory."""

    LINEAR = 0
    WMAJOR = 1
    XMAJOR = 2
    YMAJOR = 3


class HorizontalAlignment(IntEnum):
    """HALIGN_*, in texels."""

    HALIGN_4 = 1
    HALIGN_8 = 2
    HALIGN_16 = 3


class VerticalAlignment(IntEnum):
    """VALIGN_*, in rows."""

    VALIGN_4 = 1
    VALIGN_8 = 2
    VALIGN_16 = 3


class RenderCacheMode(IntEnum):
    """Whether the render cache keeps data for reading."""

    WRITE_ONLY = 0
    READ_WRITE = 1


class Rotation(IntEnum):
    """The rotation of a render target."""

    DEGREES_0 = 0
    DEGREES_90 = 1
    DEGREES_180 = 2
    DEGREES_270 = 3


class CoherencyType(IntEnum):
    """The agents that see coherent data."""

    GPU = 0
    IA = 1


class AuxiliaryMode(IntEnum):
    """AUX_*: the use of the auxiliary surface on Gen8."""

    NONE = 0
    MCS = 1
    APPEND = 2
    HIZ = 3


class LodPreclampMode(IntEnum):
    """When the level of detail is clamped."""

    NONE = 0
    OGL = 2


class LodClampMagnificationMode(IntEnum):
    """The clamp of the level when magnifying."""

    MIPNONE = 0
    MIPFILTER = 1


class MemoryType(IntEnum):
    """The caching in the last level cache."""

    UC_WITH_FENCE = 0
    UC = 1
    WT = 2
    WB = 3


class TargetCache(IntEnum):
    """The caches that keep data."""

    ELLC_ONLY = 0
    LLC_ONLY = 1
    LLC_ELLC = 2
    L3_DEFER_TO_PAT = 3


class TrilinearFilterQualityGen8(IntEnum):
    """How often two levels are read."""

    FULL = 0
    HIGH = 1
    MED = 2
    LOW = 3


class AddressControlMode(IntEnum):
    """TEXCOORDMODE_*, with the mode that Gen8 added."""

    WRAP = 0
    MIRROR = 1
    CLAMP = 2
    CUBE = 3
    CLAMP_BORDER = 4
    MIRROR_ONCE = 5
    HALF_BORDER = 6


# --- surfaces ---------------------------------------------------------------------------------------------------------
_CUBE = (when("surface_type", StructuredSurfaceType.SURFTYPE_CUBE),)
_NOT_CUBE = (unless("surface_type", StructuredSurfaceType.SURFTYPE_CUBE),)
_BUFFER_TYPES = (StructuredSurfaceType.SURFTYPE_BUFFER, StructuredSurfaceType.SURFTYPE_STRBUF)
_BUFFER, _NOT_BUFFER = (when("surface_type", *_BUFFER_TYPES),), (unless("surface_type", *_BUFFER_TYPES),)
_LINEAR_TYPES = (*_BUFFER_TYPES, StructuredSurfaceType.SURFTYPE_NULL)
_ALIGNED, _NOT_ALIGNED = (unless("surface_type", *_LINEAR_TYPES),), (when("surface_type", *_LINEAR_TYPES),)

# A planar surface has a second plane where others have an auxiliary surface, and with "separate" a third one.
_SEPARATE = (when("separate_uv_plane_enable", 1),)
_NOT_SEPARATE = (unless("separate_uv_plane_enable", 1),)
_PLANAR_FORMATS = (LaterSurfaceFormat["PLANAR_420_8"], LaterSurfaceFormat["PLANAR_420_16"])
_PLANAR = (*_NOT_SEPARATE, when("surface_format", *_PLANAR_FORMATS))
_AUXILIARY = (*_NOT_SEPARATE, unless("surface_format", *_PLANAR_FORMATS))

BINDING_TABLE_STATE = block("BINDING_TABLE_STATE", 1, [
    Address("surface_state_pointer", 0, 31, 6, base="surface_state", target="RENDER_SURFACE_STATE"),
], ref="Mesa gen8.xml BINDING_TABLE_STATE", align=32, doc="one entry of up to 256; the table is 32-byte aligned")

RENDER_SURFACE_STATE = block("RENDER_SURFACE_STATE", 16, [
    Enum("surface_type", 0, 31, 29, enum=StructuredSurfaceType),
    Bool("surface_array", 0, 28),
    Enum("surface_format", 0, 26, 18, enum=LaterSurfaceFormat),
    Enum("surface_vertical_alignment", 0, 17, 16, enum=VerticalAlignment, when=_ALIGNED),
    Enum("surface_horizontal_alignment", 0, 15, 14, enum=HorizontalAlignment, when=_ALIGNED),
    Ignored(0, 17, 14, when=_NOT_ALIGNED),
    Enum("tile_mode", 0, 13, 12, enum=TileMode),
    Bool("vertical_line_stride", 0, 11, doc="skip every other line: one field of a frame"),
    Uint("vertical_line_stride_offset", 0, 10, 10, doc="the first line"),
    Bool("sampler_l2_bypass_mode_disable", 0, 9),
    Enum("render_cache_read_write_mode", 0, 8, 8, enum=RenderCacheMode),
    Enum("media_boundary_pixel_mode", 0, 7, 6, enum=MediaBoundaryPixelMode),
    Bool("cube_face_enable_negative_x", 0, 5, when=_CUBE),
    Bool("cube_face_enable_positive_x", 0, 4, when=_CUBE),
    Bool("cube_face_enable_negative_y", 0, 3, when=_CUBE),
    Bool("cube_face_enable_positive_y", 0, 2, when=_CUBE),
    Bool("cube_face_enable_negative_z", 0, 1, when=_CUBE),
    Bool("cube_face_enable_positive_z", 0, 0, when=_CUBE),
    Ignored(0, 5, 0, when=_NOT_CUBE),
    memory_object_control_state("memory_object_control_state", 1, 30, 24),
    Fixed("base_mip_level", 1, 23, 19, frac=1),
    Uint("surface_qpitch", 1, 14, 0, scale=4, doc="rows from one array slice to the next"),
    Uint("height", 2, 29, 16, bias=1, when=_NOT_BUFFER),
    Uint("buffer_entries_20_7", 2, 29, 16, when=_BUFFER, doc="of the number of entries - 1, as the next two"),
    Uint("width", 2, 13, 0, bias=1, when=_NOT_BUFFER),
    Mbz(2, 13, 7, when=_BUFFER),
    Uint("buffer_entries_6_0", 2, 6, 0, when=_BUFFER),
    Uint("depth", 3, 31, 21, bias=1, when=_NOT_BUFFER, doc="slices of level 0, or array elements"),
    Uint("buffer_entries_31_21", 3, 31, 21, when=_BUFFER),
    Uint("surface_pitch", 3, 17, 0, bias=1, doc="in bytes; of a buffer, the distance of two entries"),
    Enum("render_target_and_sample_unorm_rotation", 4, 30, 29, enum=Rotation),
    Uint("minimum_array_element", 4, 28, 18),
    Uint("render_target_view_extent", 4, 17, 7, bias=1),
    Enum("multisampled_surface_storage_format", 4, 6, 6, enum=MultisampledSurfaceStorageFormat),
    Enum("number_of_multisamples", 4, 5, 3, enum=SampleCount),
    Uint("multisample_position_palette_index", 4, 2, 0),
    Uint("x_offset", 5, 31, 25, scale=4, doc="in texels"),
    Uint("y_offset", 5, 23, 21, scale=4, doc="in rows"),
    Bool("ewa_disable_for_cube", 5, 20),
    Enum("coherency_type", 5, 14, 14, enum=CoherencyType),
    Uint("surface_min_lod", 5, 7, 4, high=14),
    Uint("mip_count_lod", 5, 3, 0, high=14, doc="sampler: levels - 1; render target: the level"),
    Bool("separate_uv_plane_enable", 6, 31),
    Uint("auxiliary_surface_qpitch", 6, 30, 16, scale=4, when=_AUXILIARY, doc="in rows"),
    Mbz(6, 15, 12, when=_AUXILIARY),
    Uint("auxiliary_surface_pitch", 6, 11, 3, bias=1, scale=128, when=_AUXILIARY, doc="in bytes"),
    Enum("auxiliary_surface_mode", 6, 2, 0, enum=AuxiliaryMode, when=_AUXILIARY),
    *(field for plane, rules in (("u", _SEPARATE), ("uv", _PLANAR)) for field in (
        Mbz(6, 30, 30, when=rules),
        Uint(f"x_offset_for_{plane}_plane", 6, 29, 16, when=rules),
        Mbz(6, 15, 14, when=rules),
        Uint(f"y_offset_for_{plane}_plane", 6, 13, 0, when=rules),
    )),
    Bool("red_clear_color", 7, 31, doc="this and the next three: 1 or 0, in the number format of the surface"),
    Bool("green_clear_color", 7, 30),
    Bool("blue_clear_color", 7, 29),
    Bool("alpha_clear_color", 7, 28),
    *(Enum(f"shader_channel_select_{channel}", 7, 27 - 3 * i, 25 - 3 * i, enum=ShaderChannelSelect)
      for i, channel in enumerate(("red", "green", "blue", "alpha"))),
    Fixed("resource_min_lod", 7, 11, 0, frac=8, high=14.0),
    Address("surface_base_address", 8, 63, 0, target="SURFACE_DATA"),
    Address("auxiliary_surface_base_address", 10, 63, 12, target="SURFACE_DATA", when=_NOT_SEPARATE),
    Mbz(10, 11, 0, when=_NOT_SEPARATE),
    Ignored(10, 31, 0, when=_SEPARATE),
    Mbz(11, 31, 30, when=_SEPARATE),
    Uint("x_offset_for_v_plane", 11, 29, 16, when=_SEPARATE),
    Mbz(11, 15, 14, when=_SEPARATE),
    Uint("y_offset_for_v_plane", 11, 13, 0, when=_SEPARATE),
], ref="Mesa gen8.xml RENDER_SURFACE_STATE", align=64)

MEMORY_OBJECT_CONTROL_STATE = block("MEMORY_OBJECT_CONTROL_STATE", 1, [
    Enum("memory_type", 0, 6, 5, enum=MemoryType),
    Enum("target_cache", 0, 4, 3, enum=TargetCache),
    Uint("age_for_quadlru", 0, 1, 0),
], ref="Mesa gen8.xml MEMORY_OBJECT_CONTROL_STATE", doc="the seven bits of each memory object control state")

# --- samplers ---------------------------------------------------------------------------------------------------------
SAMPLER_STATE = block("SAMPLER_STATE", 4, [
    Bool("sampler_disable", 0, 31, doc="every channel returns 0"),
    Enum("texture_border_color_mode", 0, 29, 29, enum=TextureBorderColorMode),
    Enum("lod_preclamp_mode", 0, 28, 27, enum=LodPreclampMode),
    Fixed("base_mip_level", 0, 26, 22, frac=1, high=14.0),
    Enum("mip_mode_filter", 0, 21, 20, enum=MipFilter),
    Enum("mag_mode_filter", 0, 19, 17, enum=MapFilter),
    Enum("min_mode_filter", 0, 16, 14, enum=MapFilter),
    Fixed("texture_lod_bias", 0, 13, 1, signed=True, frac=8),
    Enum("anisotropic_algorithm", 0, 0, 0, enum=AnisotropicAlgorithm),
    Fixed("min_lod", 1, 31, 20, frac=8, high=14.0),
    Fixed("max_lod", 1, 19, 8, frac=8, high=14.0),
    Bool("chromakey_enable", 1, 7),
    Uint("chromakey_index", 1, 6, 5),
    Enum("chromakey_mode", 1, 4, 4, enum=ChromaKeyMode),
    Enum("shadow_function", 1, 3, 1, enum=PrefilterOperation),
    Enum("cube_surface_control_mode", 1, 0, 0, enum=CubeSurfaceControlMode),
    Address("border_color_pointer", 2, 23, 6, base="dynamic_state", target="SAMPLER_BORDER_COLOR_STATE"),
    Enum("lod_clamp_magnification_mode", 2, 0, 0, enum=LodClampMagnificationMode),
    Uint("maximum_anisotropy", 3, 21, 19, bias=1, scale=2, doc="n in n:1"),
    Bool("u_address_mag_filter_rounding_enable", 3, 18),
    Bool("u_address_min_filter_rounding_enable", 3, 17),
    Bool("v_address_mag_filter_rounding_enable", 3, 16),
    Bool("v_address_min_filter_rounding_enable", 3, 15),
    Bool("r_address_mag_filter_rounding_enable", 3, 14),
    Bool("r_address_min_filter_rounding_enable", 3, 13),
    Enum("trilinear_filter_quality", 3, 12, 11, enum=TrilinearFilterQualityGen8),
    Bool("non_normalized_coordinate_enable", 3, 10),
    Enum("tcx_address_control_mode", 3, 8, 6, enum=AddressControlMode),
    Enum("tcy_address_control_mode", 3, 5, 3, enum=AddressControlMode),
    Enum("tcz_address_control_mode", 3, 2, 0, enum=AddressControlMode),
], ref="Mesa gen8.xml SAMPLER_STATE", align=32, doc="an array of up to 16; only its start is aligned")


def _border(i: int, channel: str) -> Field:
    return Float(f"border_color_{channel}", i, 31, 0, doc="or a 32-bit integer, by the format of the surface")


SAMPLER_BORDER_COLOR_STATE = block("SAMPLER_BORDER_COLOR_STATE", 4, [
    _border(i, channel) for i, channel in enumerate(("red", "green", "blue", "alpha"))
], ref="Mesa gen8.xml SAMPLER_BORDER_COLOR_STATE", align=64)

REPLACED: tuple[Block, ...] = (
    BINDING_TABLE_STATE, RENDER_SURFACE_STATE, MEMORY_OBJECT_CONTROL_STATE, SAMPLER_STATE, SAMPLER_BORDER_COLOR_STATE,
)
