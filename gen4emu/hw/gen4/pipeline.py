"""The commands of the 3D pipeline: pointers to its state, vertex input, non-pipelined state, and the primitive itself.

G45 PRM vol. 2, chapters 2, 3, 7 and 8; where the manual contradicts itself, as in Mesa's gen4.xml.  URB_FENCE,
PIPE_CONTROL and other commands that media shares are in `common`, the state blocks in `state`.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Fixed, Float, Ignored, Mbz, Sint, Uint, unless, when
from gen4emu.hw.formats import SurfaceFormat
from gen4emu.hw.gen4 import payload
from gen4emu.hw.gen4.surface import MipMapLayoutMode
from gen4emu.hw.layout import Block, Command, gfx
from gen4emu.hw.topology import PrimitiveTopology


class BufferAccessType(IntEnum):
    """The index that selects the structure of a vertex in its buffer."""

    VERTEXDATA = 0
    INSTANCEDATA = 1


class VertexComponentControl(IntEnum):
    """VFCOMP_*: the value that VF stores in one component of an element."""

    NOSTORE = 0
    STORE_SRC = 1
    STORE_0 = 2
    STORE_1_FP = 3
    STORE_1_INT = 4
    STORE_VID = 5
    STORE_IID = 6
    STORE_PID = 7


class IndexFormat(IntEnum):
    """INDEX_*, all unsigned."""

    BYTE = 0
    WORD = 1
    DWORD = 2


class VertexAccessType(IntEnum):
    """Whether vertices come in order or by way of the index buffer."""

    SEQUENTIAL = 0
    RANDOM = 1


class DepthSurfaceType(IntEnum):
    """SURFTYPE_*, as far as a depth buffer may have them."""

    SURFTYPE_1D = 0
    SURFTYPE_2D = 1
    SURFTYPE_3D = 2
    SURFTYPE_CUBE = 3
    SURFTYPE_NULL = 7


class DepthFormat(IntEnum):
    """The formats of a depth buffer.  D24_UNORM_X8_UINT is listed, but as reserved; it has no stencil."""

    D32_FLOAT_S8X24_UINT = 0
    D32_FLOAT = 1
    D24_UNORM_S8_UINT = 2
    D24_UNORM_X8_UINT = 3
    D16_UNORM = 5


class DepthTileWalk(IntEnum):
    """A tiled depth buffer is tiled in Y."""

    YMAJOR = 1


# --- vertex input -----------------------------------------------------------------------------------------------------
VERTEX_BUFFER_STATE = Block("VERTEX_BUFFER_STATE", 4, [
    Uint("vertex_buffer_index", 0, 31, 27, high=16),
    Enum("buffer_access_type", 0, 26, 26, BufferAccessType),
    Mbz(0, 25, 13),
    Bool("invalidate_vertex_overfetch_cache", 0, 12),
    # The manual ends at 2047; drivers advertise 2048 and send it, in the twelfth bit.
    Uint("buffer_pitch", 0, 11, 0, high=2048, doc="in bytes"),
    Address("buffer_starting_address", 1, 31, 0, target="VERTEX_DATA"),
    Uint("max_index", 2, 31, 0, doc="inclusive; 0 turns the check off"),
    Uint("instance_data_step_rate", 3, 31, 0, doc="of INSTANCEDATA; 0 never advances"),
], ref="G45v2 3.4.2")

VERTEX_ELEMENT_STATE = Block("VERTEX_ELEMENT_STATE", 2, [
    Uint("vertex_buffer_index", 0, 31, 27, high=16),
    Bool("valid", 0, 26),
    Mbz(0, 25, 25),
    Enum("source_element_format", 0, 24, 16, SurfaceFormat),
    Mbz(0, 15, 11),
    Uint("source_element_offset", 0, 10, 0, doc="in bytes"),
    Mbz(1, 31, 31),
    Enum("component_0_control", 1, 30, 28, VertexComponentControl),
    Mbz(1, 27, 27),
    Enum("component_1_control", 1, 26, 24, VertexComponentControl),
    Mbz(1, 23, 23),
    Enum("component_2_control", 1, 22, 20, VertexComponentControl),
    Mbz(1, 19, 19),
    Enum("component_3_control", 1, 18, 16, VertexComponentControl),
    Mbz(1, 15, 8),
    Uint("destination_element_offset", 1, 7, 0, doc="in dwords from the start of the vertex"),
], ref="G45v2 3.5.2")

POLY_STIPPLE_ROW = Block("POLY_STIPPLE_ROW", 1, [
    Uint("pattern", 0, 31, 0, hex=True, doc="bit 31 is the leftmost pixel"),
], ref="G45v2 8.3.3.3")

_GS_ON, _GS_OFF = (when("gs_enable", 1),), (unless("gs_enable", 1),)
_CLIP_ON, _CLIP_OFF = (when("clip_enable", 1),), (unless("clip_enable", 1),)

_PIPELINED: tuple[Command, ...] = (
    gfx("3DSTATE_PIPELINED_POINTERS", 0x7800, 7, [
        Mbz(0, 15, 8),
        Address("pointer_to_vs_state", 1, 31, 5, base="general_state", target="VS_STATE"),
        Mbz(1, 4, 0),
        Address("pointer_to_gs_state", 2, 31, 5, base="general_state", target="GS_STATE", when=_GS_ON),
        Ignored(2, 31, 5, when=_GS_OFF),
        Mbz(2, 4, 1),
        Bool("gs_enable", 2, 0),
        Address("pointer_to_clip_state", 3, 31, 5, base="general_state", target="CLIP_STATE", when=_CLIP_ON),
        Ignored(3, 31, 5, when=_CLIP_OFF),
        Mbz(3, 4, 1),
        Bool("clip_enable", 3, 0),
        Address("pointer_to_sf_state", 4, 31, 5, base="general_state", target="SF_STATE"),
        Mbz(4, 4, 0),
        Address("pointer_to_wm_state", 5, 31, 5, base="general_state", target="WM_STATE"),
        Mbz(5, 4, 0),
        Address("pointer_to_color_calc_state", 6, 31, 6, base="general_state", target="COLOR_CALC_STATE"),
        Mbz(6, 5, 0),
    ], ref="G45v2 2.5.2"),
    gfx("3DSTATE_BINDING_TABLE_POINTERS", 0x7801, 6, [
        Mbz(0, 15, 8),
        Address("pointer_to_vs_binding_table", 1, 31, 5, base="surface_state", target="BINDING_TABLE_STATE"),
        Mbz(1, 4, 0),
        Address("pointer_to_gs_binding_table", 2, 31, 5, base="surface_state", target="BINDING_TABLE_STATE"),
        Mbz(2, 4, 0),
        Address("pointer_to_clip_binding_table", 3, 31, 5, base="surface_state", target="BINDING_TABLE_STATE"),
        Mbz(3, 4, 0),
        Address("pointer_to_sf_binding_table", 4, 31, 5, base="surface_state", target="BINDING_TABLE_STATE"),
        Mbz(4, 4, 0),
        Address("pointer_to_ps_binding_table", 5, 31, 5, base="surface_state", target="BINDING_TABLE_STATE"),
        Mbz(5, 4, 0),
    ], ref="G45v2 2.5.3"),
    gfx("3DSTATE_VERTEX_BUFFERS", 0x7808, 1, [
        Mbz(0, 15, 8),
        Array("vertex_buffers", 1, VERTEX_BUFFER_STATE),
    ], ref="G45v2 3.4.1", doc="buffers that are not listed keep their definition"),
    gfx("3DSTATE_VERTEX_ELEMENTS", 0x7809, 1, [
        Mbz(0, 15, 8),
        Array("vertex_elements", 1, VERTEX_ELEMENT_STATE),
    ], ref="G45v2 3.5.1", doc="replaces the whole list"),
    gfx("3DSTATE_INDEX_BUFFER", 0x780A, 3, [
        Mbz(0, 15, 11),
        Bool("cut_index_enable", 0, 10),
        Enum("index_format", 0, 9, 8, IndexFormat),
        Address("buffer_starting_address", 1, 31, 0, target="INDEX_DATA"),
        Address("buffer_ending_address", 2, 31, 0, doc="of the last valid byte; 0 turns the check off"),
    ], ref="G45v2 3.3.1"),
)

# --- non-pipelined state ----------------------------------------------------------------------------------------------
_DEPTH, _NO_DEPTH = ((rule("surface_type", DepthSurfaceType.SURFTYPE_NULL),) for rule in (unless, when))
_TILED, _LINEAR = (when("tiled_surface", 1),), (unless("tiled_surface", 1),)

DEPTH_BUFFER: Command = gfx("3DSTATE_DEPTH_BUFFER", 0x7905, 5, [
    Mbz(0, 15, 8),
    Enum("surface_type", 1, 31, 29, DepthSurfaceType),
    Mbz(1, 28, 28),
    Bool("tiled_surface", 1, 27),
    Enum("tile_walk", 1, 26, 26, DepthTileWalk, when=_TILED),
    Ignored(1, 26, 26, when=_LINEAR),
    Bool("depth_buffer_coordinate_offset_disable", 1, 25, doc="without effect where dword 5 exists"),
    Mbz(1, 24, 23),
    Mbz(1, 22, 21),
    Enum("surface_format", 1, 20, 18, DepthFormat),
    Mbz(1, 17, 17),
    Uint("surface_pitch", 1, 16, 0, bias=1, doc="in bytes"),
    Address("surface_base_address", 2, 31, 0, target="SURFACE_DATA", when=_DEPTH),
    Ignored(2, when=_NO_DEPTH),
    Uint("height", 3, 31, 19, bias=1),
    Uint("width", 3, 18, 6, bias=1),
    Uint("lod", 3, 5, 2, high=13),
    Enum("mip_map_layout_mode", 3, 1, 1, MipMapLayoutMode),
    Mbz(3, 0, 0),
    Uint("depth", 4, 31, 21, bias=1),
    Uint("minimum_array_element", 4, 20, 10),
    Uint("render_target_view_extent", 4, 9, 1, bias=1),
    Mbz(4, 0, 0),
], ref="G45v2 8.4.4.1")

_NON_PIPELINED: tuple[Command, ...] = (
    gfx("3DSTATE_DRAWING_RECTANGLE", 0x7900, 4, [
        Mbz(0, 15, 8),
        Ignored(1, 31, 29),
        Uint("clipped_drawing_rectangle_y_min", 1, 28, 16),
        Ignored(1, 15, 13),
        Uint("clipped_drawing_rectangle_x_min", 1, 12, 0),
        Ignored(2, 31, 29),
        Uint("clipped_drawing_rectangle_y_max", 2, 28, 16, doc="inclusive"),
        Ignored(2, 15, 13),
        Uint("clipped_drawing_rectangle_x_max", 2, 12, 0, doc="inclusive"),
        Sint("drawing_rectangle_origin_y", 3, 31, 16, low=-8192, high=8191),
        Sint("drawing_rectangle_origin_x", 3, 15, 0, low=-8192, high=8191),
    ], ref="G45v2 7.3.5.1"),
    gfx("3DSTATE_CONSTANT_COLOR", 0x7901, 5, [
        Mbz(0, 15, 8),
        Float("blend_constant_color_red", 1, 31, 0),
        Float("blend_constant_color_green", 2, 31, 0),
        Float("blend_constant_color_blue", 3, 31, 0),
        Float("blend_constant_color_alpha", 4, 31, 0),
    ], ref="Mesa gen4.xml"),
    DEPTH_BUFFER,
    gfx("3DSTATE_POLY_STIPPLE_OFFSET", 0x7906, 2, [
        Mbz(0, 15, 8),
        Mbz(1, 31, 13),
        Uint("polygon_stipple_x_offset", 1, 12, 8),
        Mbz(1, 7, 5),
        Uint("polygon_stipple_y_offset", 1, 4, 0),
    ], ref="G45v2 8.3.3.2"),
    gfx("3DSTATE_POLY_STIPPLE_PATTERN", 0x7907, 33, [
        Mbz(0, 15, 8),
        Array("rows", 1, POLY_STIPPLE_ROW, 32, doc="from the top"),
    ], ref="G45v2 8.3.3.3"),
    gfx("3DSTATE_LINE_STIPPLE", 0x7908, 3, [
        Mbz(0, 15, 8),
        Bool("modify_enable", 1, 31, doc="of the two counters below: context restore only"),
        Mbz(1, 30, 30),
        Uint("current_repeat_counter", 1, 29, 21),
        Mbz(1, 20, 20),
        Uint("current_stipple_index", 1, 19, 16),
        Uint("line_stipple_pattern", 1, 15, 0, hex=True),
        # The counts start at 1, but drivers leave both words zero until stipple is first used.
        Fixed("line_stipple_inverse_repeat_count", 2, 31, 16, frac=13, high=1.0),
        Mbz(2, 15, 9),
        Uint("line_stipple_repeat_count", 2, 8, 0, high=256),
    ], ref="G45v2 8.3.2.4"),
    gfx("3DSTATE_GLOBAL_DEPTH_OFFSET_CLAMP", 0x7909, 2, [
        Mbz(0, 15, 8),
        Float("global_depth_offset_clamp", 1, 31, 0),
    ], ref="G45v2 8.3.3.4"),
)

# --- the primitive ----------------------------------------------------------------------------------------------------
PRIMITIVE: Command = gfx("3DPRIMITIVE", 0x7B00, 6, [
    Enum("vertex_access_type", 0, 15, 15, VertexAccessType),
    Enum("primitive_topology_type", 0, 14, 10, PrimitiveTopology),
    Mbz(0, 9, 9),
    Mbz(0, 8, 8),
    Uint("vertex_count_per_instance", 1, 31, 0, doc="0 is a no-op"),
    Uint("start_vertex_location", 2, 31, 0, doc="a structure, or a place in the index buffer"),
    Uint("instance_count", 3, 31, 0, low=1),
    Uint("start_instance_location", 4, 31, 0),
    Sint("base_vertex_location", 5, 31, 0, doc="added to indices; RANDOM only"),
], ref="G45v2 3.6.1")

COMMANDS: tuple[Command, ...] = (*_PIPELINED, *_NON_PIPELINED, PRIMITIVE)
BLOCKS: tuple[Block, ...] = (VERTEX_BUFFER_STATE, VERTEX_ELEMENT_STATE, POLY_STIPPLE_ROW, *payload.BLOCKS)
