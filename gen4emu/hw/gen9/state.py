"""The state blocks of Gen9 that differ from those of Gen8.

Mesa's gen9.xml; the manual's volume with these structures is not among the sources.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Bool, Enum, Float, Ignored, Mbz, Uint, unless, when
from gen4emu.hw.gen8 import GEN8, media, surface
from gen4emu.hw.gen9.commands import TiledResourceMode
from gen4emu.hw.later_formats import AstcSurfaceFormat
from gen4emu.hw.layout import Block
from gen4emu.hw.reserved import block


class AuxiliarySurfaceMode(IntEnum):
    """AUX_*: the use of the auxiliary surface.  With several samples, CCS_D is the MCS."""

    NONE = 0
    CCS_D = 1
    APPEND = 2
    HIZ = 3
    CCS_E = 5


class MemoryCompressionMode(IntEnum):
    """The direction in which lines of memory are compressed."""

    HORIZONTAL = 0
    VERTICAL = 1


class ReductionType(IntEnum):
    """The result of a filter."""

    STD_FILTER = 0
    COMPARISON = 1
    MINIMUM = 2
    MAXIMUM = 3


class SharedLocalMemoryCode(IntEnum):
    """The shared local memory of a thread group, as a logarithm."""

    NONE = 0
    KIB_1 = 1
    KIB_2 = 2
    KIB_4 = 3
    KIB_8 = 4
    KIB_16 = 5
    KIB_32 = 6
    KIB_64 = 7


# A media compressed surface has the index of a table instead of an auxiliary address.
_AUXILIARY = (unless("separate_uv_plane_enable", 1), unless("memory_compression_enable", 1))
_COMPRESSED = (unless("separate_uv_plane_enable", 1), when("memory_compression_enable", 1))
_HIZ = (when("auxiliary_surface_mode", AuxiliarySurfaceMode.HIZ),)
_COLOR = (unless("auxiliary_surface_mode", AuxiliarySurfaceMode.HIZ),)
_MODE = next(f for f in surface.RENDER_SURFACE_STATE.all_fields if f.name == "auxiliary_surface_mode")

RENDER_SURFACE_STATE = surface.RENDER_SURFACE_STATE.changed(
    Enum("surface_format", 0, 27, 18, enum=AstcSurfaceFormat),
    Enum("tiled_resource_mode", 5, 19, 18, enum=TiledResourceMode),
    Uint("mip_tail_start_lod", 5, 11, 8),
    Enum("auxiliary_surface_mode", 6, 2, 0, enum=AuxiliarySurfaceMode, when=_MODE.when),
    Enum("memory_compression_mode", 7, 31, 31, enum=MemoryCompressionMode),
    Bool("memory_compression_enable", 7, 30),
    Mbz(7, 29, 28),
    Address("auxiliary_surface_base_address", 10, 63, 12, target="SURFACE_DATA", when=_AUXILIARY),
    Mbz(10, 11, 10, when=_AUXILIARY),
    Uint("quilt_height", 10, 9, 5, when=_AUXILIARY),
    Uint("quilt_width", 10, 4, 0, when=_AUXILIARY),
    Uint("auxiliary_table_index_for_media_compressed_surface", 10, 31, 21, when=_COMPRESSED),
    Ignored(10, 20, 0, when=_COMPRESSED),
    Ignored(11, 31, 0, when=_COMPRESSED),
    Float("hierarchical_depth_clear_value", 12, 31, 0, when=_HIZ),
    Uint("red_clear_color", 12, 31, 0, hex=True, when=_COLOR, doc="a float or an integer, by the surface format"),
    *(Uint(f"{channel}_clear_color", 13 + i, 31, 0, hex=True) for i, channel in enumerate(("green", "blue", "alpha"))),
    remove=["reserved_10_11_0"])

MEMORY_OBJECT_CONTROL_STATE = block("MEMORY_OBJECT_CONTROL_STATE", 1, [
    Uint("index_to_mocs_tables", 0, 6, 1),
], ref="Mesa gen9.xml MEMORYADDRESSATTRIBUTES", doc="of a table that the kernel fills")

SAMPLER_STATE = surface.SAMPLER_STATE.changed(
    Uint("coarse_lod_quality_mode", 0, 26, 22),
    Enum("reduction_type", 3, 23, 22, enum=ReductionType),
    Bool("reduction_type_enable", 3, 9),
    remove=["base_mip_level"])

COLOR_CALC_STATE = GEN8.layout("COLOR_CALC_STATE").changed(
    remove=["stencil_reference_value", "backface_stencil_reference_value"])

INTERFACE_DESCRIPTOR_DATA = media.INTERFACE_DESCRIPTOR_DATA.changed(
    Enum("shared_local_memory_size", 6, 20, 16, enum=SharedLocalMemoryCode),
    Bool("global_barrier_enable", 6, 15))

REPLACED: tuple[Block, ...] = (
    RENDER_SURFACE_STATE, MEMORY_OBJECT_CONTROL_STATE, SAMPLER_STATE, COLOR_CALC_STATE, INTERFACE_DESCRIPTOR_DATA,
)
