"""The output of Gen8's pipeline: depth, stencil and HiZ buffers, blending, and streamed vertices.

Kaby Lake PRM vol. 2a, which Broadwell shares but for what `gen4emu.hw.gen9` changes.  That volume ends inside
3DSTATE_STREAMOUT: the rest of it is from Mesa's gen8.xml.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from gen4emu.hw.fields import Address, Bool, Enum, Field, Float, Ignored, Uint
from gen4emu.hw.gen4.state import BlendFactor
from gen4emu.hw.gen6.pipeline import ReorderMode
from gen4emu.hw.gen7.pipeline import SeparateDepthFormat
from gen4emu.hw.gen8.vertex_fetch import address_48, memory_object_control_state
from gen4emu.hw.layout import Block
from gen4emu.hw.reserved import gfx


class DepthBufferType(IntEnum):
    """SURFTYPE_* of a depth buffer.  Drivers also send 2, 3D, which the manual reserves."""

    SURFTYPE_2D = 1
    SURFTYPE_CUBE = 3
    SURFTYPE_NULL = 7


class ForceRendering(IntEnum):
    """Whether the computed enable of rendering is overridden."""

    NORMAL = 0
    FORCE_OFF = 2
    FORCE_ON = 3


# --- depth and stencil ------------------------------------------------------------------------------------------------
def _qpitch(dword: int) -> Field:
    return Uint("surface_qpitch", dword, 14, 0, scale=4, doc="rows from one array slice to the next")


DEPTH_BUFFER = gfx("3DSTATE_DEPTH_BUFFER", 0x7805, 8, [
    Enum("surface_type", 1, 31, 29, enum=DepthBufferType),
    Bool("depth_write_enable", 1, 28, doc="and that of 3DSTATE_WM_DEPTH_STENCIL"),
    Bool("stencil_write_enable", 1, 27, doc="and that of 3DSTATE_WM_DEPTH_STENCIL"),
    Bool("hierarchical_depth_buffer_enable", 1, 22),
    Enum("surface_format", 1, 20, 18, enum=SeparateDepthFormat),
    Uint("surface_pitch", 1, 17, 0, bias=1, doc="in bytes; a multiple of 128"),
    Address("surface_base_address", 2, 63, 0, target="SURFACE_DATA"),
    Uint("height", 4, 31, 18, bias=1),
    Uint("width", 4, 17, 4, bias=1),
    Uint("lod", 4, 3, 0, high=14),
    Uint("depth", 5, 31, 21, bias=1, doc="in array elements"),
    Uint("minimum_array_element", 5, 20, 10),
    memory_object_control_state("depth_buffer_object_control_state", 5, 6, 0),
    Uint("render_target_view_extent", 7, 31, 21, bias=1),
    Ignored(7, 20, 15),
    _qpitch(7),
], ref="KBLv2a 3DSTATE_DEPTH_BUFFER")

STENCIL_BUFFER = gfx("3DSTATE_STENCIL_BUFFER", 0x7806, 5, [
    Bool("stencil_buffer_enable", 1, 31),
    memory_object_control_state("stencil_buffer_object_control_state", 1, 28, 22),
    Uint("surface_pitch", 1, 16, 0, bias=1, doc="in bytes, of two interleaved rows; a multiple of 128"),
    Address("surface_base_address", 2, 63, 0, target="SURFACE_DATA"),
    _qpitch(4),
], ref="KBLv2a 3DSTATE_STENCIL_BUFFER")

HIER_DEPTH_BUFFER = gfx("3DSTATE_HIER_DEPTH_BUFFER", 0x7807, 5, [
    memory_object_control_state("hierarchical_depth_buffer_object_control_state", 1, 31, 25),
    Uint("surface_pitch", 1, 16, 0, bias=1, doc="in bytes; a multiple of 128"),
    Address("surface_base_address", 2, 63, 0, target="SURFACE_DATA"),
    _qpitch(4),
], ref="KBLv2a 3DSTATE_HIER_DEPTH_BUFFER")

CLEAR_PARAMS = gfx("3DSTATE_CLEAR_PARAMS", 0x7804, 3, [
    Float("depth_clear_value", 1, 31, 0),
    Bool("depth_clear_value_valid", 2, 0),
], ref="KBLv2a 3DSTATE_CLEAR_PARAMS")

# --- blending ---------------------------------------------------------------------------------------------------------
PS_BLEND = gfx("3DSTATE_PS_BLEND", 0x784D, 2, [
    Bool("alpha_to_coverage_enable", 1, 31),
    Bool("has_writeable_rt", 1, 30),
    Bool("color_buffer_blend_enable", 1, 29),
    Enum("source_alpha_blend_factor", 1, 28, 24, enum=BlendFactor),
    Enum("destination_alpha_blend_factor", 1, 23, 19, enum=BlendFactor),
    Enum("source_blend_factor", 1, 18, 14, enum=BlendFactor),
    Enum("destination_blend_factor", 1, 13, 9, enum=BlendFactor),
    Bool("alpha_test_enable", 1, 8),
    Bool("independent_alpha_blend_enable", 1, 7),
], ref="KBLv2a 3DSTATE_PS_BLEND", doc="repeats what BLEND_STATE says of render target 0")

# --- stream output ----------------------------------------------------------------------------------------------------
# The manual's addresses reach bit 63; drivers write 48 bits and leave the others zero.
SO_BUFFER = gfx("3DSTATE_SO_BUFFER", 0x7918, 8, [
    Bool("so_buffer_enable", 1, 31),
    Uint("so_buffer_index", 1, 30, 29),
    memory_object_control_state("so_buffer_object_control_state", 1, 28, 22),
    Bool("stream_offset_write_enable", 1, 21, doc="even if the buffer is disabled"),
    Bool("stream_output_buffer_offset_address_enable", 1, 20, doc="even if the buffer is disabled"),
    *address_48("surface_base_address", 2, 2),
    Uint("surface_size", 4, 29, 0, bias=1, scale=4, doc="in bytes"),
    *address_48("stream_output_buffer_offset_address", 5, 2),
    Uint("stream_offset", 7, 31, 0, hex=True, doc="in bytes; 0xFFFFFFFF loads it from the offset address"),
], ref="KBLv2a 3DSTATE_SO_BUFFER")

def _streams(streams: Iterable[int]) -> list[Field]:
    return [field for stream in streams for field in (
        Uint(f"stream_{stream}_vertex_read_offset", 2, 8 * stream + 5, 8 * stream + 5, doc="in rows of 256 bits"),
        Uint(f"stream_{stream}_vertex_read_length", 2, 8 * stream + 4, 8 * stream, bias=1, doc="in rows of 256 bits"),
    )]


STREAMOUT = gfx("3DSTATE_STREAMOUT", 0x781E, 5, [
    Bool("so_function_enable", 1, 31),
    Bool("api_rendering_disable", 1, 30, doc="even if the function is disabled"),
    Uint("render_stream_select", 1, 28, 27),
    Enum("reorder_mode", 1, 26, 26, enum=ReorderMode),
    Bool("so_statistics_enable", 1, 25),
    Enum("force_rendering", 1, 24, 23, enum=ForceRendering),
    *_streams((3, 2, 1, 0)),
    Uint("buffer_1_surface_pitch", 3, 27, 16, high=2048, doc="in bytes"),
    Uint("buffer_0_surface_pitch", 3, 11, 0, high=2048, doc="in bytes"),
    Uint("buffer_3_surface_pitch", 4, 27, 16, high=2048, doc="in bytes"),
    Uint("buffer_2_surface_pitch", 4, 11, 0, high=2048, doc="in bytes"),
], ref="KBLv2a 3DSTATE_STREAMOUT")

REPLACED: tuple[Block, ...] = (
    DEPTH_BUFFER, STENCIL_BUFFER, HIER_DEPTH_BUFFER, CLEAR_PARAMS, SO_BUFFER, STREAMOUT,
)
ADDED: tuple[Block, ...] = (PS_BLEND,)
