"""The state blocks of Sandy Bridge that remain in memory: color calculator, viewports, surfaces and samplers.

SNB PRM vol. 2 part 1 (3D pipeline) and vol. 4 part 1 (sampler, surfaces).
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Field, Float, Mbz, Sint, Uint, when
from gen4emu.hw.gen4 import pipeline as gen4_pipeline
from gen4emu.hw.gen4 import sampler as gen4_sampler
from gen4emu.hw.gen4 import state as gen4_state
from gen4emu.hw.gen4 import surface as gen4_surface
from gen4emu.hw.gen4.state import (
    AlphaTestFormat,
    BlendFactor,
    BlendFunction,
    ColorClampRange,
    CompareFunction,
    LogicOpFunction,
    StencilOperation,
)
from gen4emu.hw.gen45 import GEN45
from gen4emu.hw.later_formats import LaterSurfaceFormat
from gen4emu.hw.layout import Block
from gen4emu.hw.reserved import block

_REF = "SNB PRM vol2 part1 "
_SAMPLER = "SNB PRM vol4 part1 "


class CubeMapCornerMode(IntEnum):
    """CUBE_*: the texel at a corner of a cube, where three faces meet."""

    REPLICATE = 0
    AVERAGE = 1


class RenderTargetRotation(IntEnum):
    """RTROTATE_*."""

    RTROTATE_0DEG = 0
    RTROTATE_90DEG = 1
    RTROTATE_270DEG = 3


class SurfaceVerticalAlignment(IntEnum):
    """VALIGN_*: the rows to which levels are aligned."""

    VALIGN_2 = 0
    VALIGN_4 = 1


class SurfaceMultisamples(IntEnum):
    """MULTISAMPLECOUNT_*; 8 from Gen7 on."""

    MULTISAMPLECOUNT_1 = 0
    MULTISAMPLECOUNT_4 = 2
    MULTISAMPLECOUNT_8 = 3


class TextureBorderColorMode(IntEnum):
    """The form of the border color."""

    DX10_OGL = 0
    DX9 = 1


class SwizzleSelect(IntEnum):
    """INPUTATTR*: the attribute itself, or the next one if the object faces backwards; W: its W in all components."""

    INPUTATTR = 0
    INPUTATTR_FACING = 1
    INPUTATTR_W = 2
    INPUTATTR_FACING_W = 3


class ConstantSource(IntEnum):
    """The value of overridden components."""

    CONST_0000 = 0
    CONST_0001_FLOAT = 1
    CONST_1111_FLOAT = 2
    PRIM_ID = 3


# --- color calculator: on Gen4 one block of eight dwords --------------------------------------------------------------
BLEND_STATE_ENTRY = block("BLEND_STATE_ENTRY", 2, [
    Bool("color_buffer_blend_enable", 0, 31),
    Bool("independent_alpha_blend_enable", 0, 30),
    Enum("alpha_blend_function", 0, 28, 26, BlendFunction),
    Enum("source_alpha_blend_factor", 0, 24, 20, BlendFactor),
    Enum("destination_alpha_blend_factor", 0, 19, 15, BlendFactor),
    Enum("color_blend_function", 0, 13, 11, BlendFunction),
    Enum("source_blend_factor", 0, 9, 5, BlendFactor),
    Enum("destination_blend_factor", 0, 4, 0, BlendFactor),
    Bool("alphatocoverage_enable", 1, 31, doc="this, the next two, alpha test and dither count in entry 0 alone"),
    Bool("alphatoone_enable", 1, 30),
    Bool("alphatocoverage_dither_enable", 1, 29),
    Bool("write_disable_alpha", 1, 27),
    Bool("write_disable_red", 1, 26),
    Bool("write_disable_green", 1, 25),
    Bool("write_disable_blue", 1, 24),
    Bool("logic_op_enable", 1, 22),
    Enum("logic_op_function", 1, 21, 18, LogicOpFunction),
    Bool("alpha_test_enable", 1, 16),
    Enum("alpha_test_function", 1, 15, 13, CompareFunction),
    Bool("color_dither_enable", 1, 12),
    Uint("x_dither_offset", 1, 11, 10),
    Uint("y_dither_offset", 1, 9, 8),
    Enum("color_clamp_range", 1, 3, 2, ColorClampRange),
    Bool("pre_blend_color_clamp_enable", 1, 1),
    Bool("post_blend_color_clamp_enable", 1, 0),
], ref=_REF + "BLEND_STATE")

BLEND_STATE = block("BLEND_STATE", 16, [
    Array("entries", 0, BLEND_STATE_ENTRY, 8, doc="by render target"),
], ref=_REF + "BLEND_STATE", align=64)

DEPTH_STENCIL_STATE = block("DEPTH_STENCIL_STATE", 3, [
    Bool("stencil_test_enable", 0, 31),
    Enum("stencil_test_function", 0, 30, 28, CompareFunction),
    Enum("stencil_fail_op", 0, 27, 25, StencilOperation),
    Enum("stencil_pass_depth_fail_op", 0, 24, 22, StencilOperation),
    Enum("stencil_pass_depth_pass_op", 0, 21, 19, StencilOperation),
    Bool("stencil_buffer_write_enable", 0, 18),
    Bool("double_sided_stencil_enable", 0, 15),
    Enum("backface_stencil_test_function", 0, 14, 12, CompareFunction),
    Enum("backface_stencil_fail_op", 0, 11, 9, StencilOperation),
    Enum("backface_stencil_pass_depth_fail_op", 0, 8, 6, StencilOperation),
    Enum("backface_stencil_pass_depth_pass_op", 0, 5, 3, StencilOperation),
    Uint("stencil_test_mask", 1, 31, 24, hex=True),
    Uint("stencil_write_mask", 1, 23, 16, hex=True),
    Uint("backface_stencil_test_mask", 1, 15, 8, hex=True),
    Uint("backface_stencil_write_mask", 1, 7, 0, hex=True),
    Bool("depth_test_enable", 2, 31),
    Enum("depth_test_function", 2, 29, 27, CompareFunction),
    Bool("depth_buffer_write_enable", 2, 26),
], ref=_REF + "DEPTH_STENCIL_STATE", align=64)

_UNORM8_ALPHA = (when("alpha_test_format", AlphaTestFormat.UNORM8),)
_FLOAT32_ALPHA = (when("alpha_test_format", AlphaTestFormat.FLOAT32),)

COLOR_CALC_STATE = block("COLOR_CALC_STATE", 6, [
    Uint("stencil_reference_value", 0, 31, 24),
    Uint("backface_stencil_reference_value", 0, 23, 16),
    Bool("round_disable_function_disable", 0, 15),
    Enum("alpha_test_format", 0, 0, 0, AlphaTestFormat),
    Mbz(1, 31, 8, when=_UNORM8_ALPHA),
    Uint("alpha_reference_value_as_unorm8", 1, 7, 0, when=_UNORM8_ALPHA),
    Float("alpha_reference_value_as_float32", 1, 31, 0, when=_FLOAT32_ALPHA),
    Float("blend_constant_color_red", 2, 31, 0),
    Float("blend_constant_color_green", 3, 31, 0),
    Float("blend_constant_color_blue", 4, 31, 0),
    Float("blend_constant_color_alpha", 5, 31, 0),
], ref=_REF + "COLOR_CALC_STATE", align=64)

# --- viewports and scissors -------------------------------------------------------------------------------------------
_SCISSOR = [f"scissor_rectangle_{axis}_{end}" for axis in "xy" for end in ("min", "max")]

# The scissor rectangle has a block of its own; the dwords that it had remain.
SF_VIEWPORT = gen4_state.SF_VIEWPORT.changed(remove=_SCISSOR, ref=_REF + "SF_VIEWPORT")

SCISSOR_RECT = block("SCISSOR_RECT", 2, [
    Uint("scissor_rectangle_y_min", 0, 31, 16, doc="inclusive, from the drawing rectangle's origin"),
    Uint("scissor_rectangle_x_min", 0, 15, 0),
    Uint("scissor_rectangle_y_max", 1, 31, 16, doc="nothing is drawn if a minimum is above its maximum"),
    Uint("scissor_rectangle_x_max", 1, 15, 0),
], ref=_REF + "SCISSOR_RECT", align=32, doc="an array of up to 16")

# --- vertex fetch, setup ----------------------------------------------------------------------------------------------
# An index takes six bits instead of five, and the buffer ends at an address instead of an index.
VERTEX_BUFFER_STATE = gen4_pipeline.VERTEX_BUFFER_STATE.changed(
    Uint("vertex_buffer_index", 0, 31, 26, high=32),
    Enum("buffer_access_type", 0, 20, 20, gen4_pipeline.BufferAccessType),
    Uint("memory_object_control_state", 0, 19, 16, hex=True),
    Bool("null_vertex_buffer", 0, 13, doc="every component reads as 0"),
    Bool("vertex_fetch_invalidate", 0, 12),
    Address("end_address", 2, 31, 0, doc="of the last byte"),
    remove=["invalidate_vertex_overfetch_cache", "max_index"], ref=_REF + "VERTEX_BUFFER_STATE")

VERTEX_ELEMENT_STATE = gen4_pipeline.VERTEX_ELEMENT_STATE.changed(
    Uint("vertex_buffer_index", 0, 31, 26, high=32),
    Bool("valid", 0, 25),
    Enum("source_element_format", 0, 24, 16, LaterSurfaceFormat),
    Bool("edge_flag_enable", 0, 15, doc="of the last element only"),
    Uint("source_element_offset", 0, 11, 0, high=2047, doc="in bytes"),
    remove=["destination_element_offset"], ref=_REF + "VERTEX_ELEMENT_STATE",
    doc="element i goes to dwords 4i to 4i + 3 of the vertex")


def _attribute(prefix: str, at: int) -> list[Field]:
    return [
        *(Bool(f"{prefix}component_override_{name}", 0, at + 15 - i) for i, name in enumerate("wzyx")),
        Enum(f"{prefix}constant_source", 0, at + 10, at + 9, ConstantSource),
        Enum(f"{prefix}swizzle_select", 0, at + 7, at + 6, SwizzleSelect),
        Uint(f"{prefix}source_attribute", 0, at + 4, at, doc="from the read offset on"),
    ]


SF_OUTPUT_ATTRIBUTE_DETAIL = block("SF_OUTPUT_ATTRIBUTE_DETAIL", 1, [
    *_attribute("odd_", 16),
    Bool("odd_swizzle_control_mode", 0, 27),
    *_attribute("even_", 0),
    Bool("even_swizzle_control_mode", 0, 11, doc="of attribute 0: the table is that of attributes 16 to 31"),
], ref=_REF + "3DSTATE_SF", doc="a pair of attributes, 2i and 2i + 1")

# --- surfaces ---------------------------------------------------------------------------------------------------------
BINDING_TABLE_STATE = gen4_surface.BINDING_TABLE_STATE.changed(
    Address("surface_state_pointer", 0, 31, 5, base="surface_state", target="RENDER_SURFACE_STATE"),
    ref=_SAMPLER + "BINDING_TABLE_STATE")




# Blending and write masks are in BLEND_STATE.
RENDER_SURFACE_STATE = GEN45.layout("SURFACE_STATE").changed(
    Enum("surface_format", 0, 26, 18, LaterSurfaceFormat),
    Enum("cube_map_corner_mode", 0, 9, 9, CubeMapCornerMode),
    Enum("render_target_rotation", 2, 1, 0, RenderTargetRotation),
    Enum("number_of_multisamples", 4, 6, 4, SurfaceMultisamples),
    Uint("multisample_position_palette_index", 4, 2, 0),
    Enum("surface_vertical_alignment", 5, 24, 24, SurfaceVerticalAlignment),
    Uint("surface_object_control_state", 5, 19, 16, hex=True),
    remove=["color_write_disable_alpha", "color_write_disable_red", "color_write_disable_green",
            "color_write_disable_blue", "color_blend_enable"],
    name="RENDER_SURFACE_STATE", ref=_SAMPLER + "SURFACE_STATE")


# --- samplers ---------------------------------------------------------------------------------------------------------
SAMPLER_STATE = gen4_sampler.SAMPLER_STATE.changed(
    Enum("texture_border_color_mode", 0, 29, 29, TextureBorderColorMode),
    Bool("min_and_mag_state_not_equal", 0, 27),
    Address("border_color_pointer", 2, 31, 5, base="dynamic_state", target="SAMPLER_BORDER_COLOR_STATE"),
    Bool("non_normalized_coordinate_enable", 3, 0),
    remove=["reserved_0_29_29"], ref=_SAMPLER + "SAMPLER_STATE")


def _colors(name: str, dword: int, width: int, kind: type[Uint | Sint | Float] = Uint) -> list[Field]:
    """Red, green, blue and alpha from bit 0 of a dword on."""
    fields: list[Field] = []
    for i, channel in enumerate(("red", "green", "blue", "alpha")):
        at = width * i
        fields.append(kind(f"border_color_{name}_{channel}", dword + at // 32, at % 32 + width - 1, at % 32))
    return fields


SAMPLER_BORDER_COLOR_STATE = block("SAMPLER_BORDER_COLOR_STATE", 12, [
    *_colors("unorm", 0, 8),
    *_colors("float", 1, 32, Float),
    *_colors("float16", 5, 16),
    *_colors("unorm16", 7, 16),
    *_colors("snorm16", 9, 16, Sint),
    *_colors("snorm8", 11, 8, Sint),
], ref=_SAMPLER + "SAMPLER_BORDER_COLOR_STATE", align=32, doc="one color in the six forms that formats need")

PALETTE_ENTRY = block("PALETTE_ENTRY", 1, [
    Uint("alpha", 0, 31, 24),
    Uint("red", 0, 23, 16),
    Uint("green", 0, 15, 8),
    Uint("blue", 0, 7, 0),
], ref=_SAMPLER + "3DSTATE_SAMPLER_PALETTE_LOAD0")


class CacheabilityControl(IntEnum):
    """Where data is cached: as the page table entry says, nowhere, in the last level cache, or also in the mid one."""

    USE_GTT_ENTRY = 0
    UNCACHED = 1
    LLC = 2
    LLC_AND_MLC = 3


MEMORY_OBJECT_CONTROL_STATE = block("MEMORY_OBJECT_CONTROL_STATE", 1, [
    Bool("graphics_data_type", 0, 2),
    Enum("cacheability_control", 0, 1, 0, CacheabilityControl),
], ref="SNB PRM vol1 part2 MEMORY_OBJECT_CONTROL_STATE", doc="four bits of a command or block")

REPLACED: tuple[Block, ...] = (
    COLOR_CALC_STATE, SF_VIEWPORT, VERTEX_BUFFER_STATE, VERTEX_ELEMENT_STATE, BINDING_TABLE_STATE, SAMPLER_STATE,
    SAMPLER_BORDER_COLOR_STATE,
)
ADDED: tuple[Block, ...] = (
    BLEND_STATE_ENTRY, BLEND_STATE, DEPTH_STENCIL_STATE, SCISSOR_RECT, SF_OUTPUT_ATTRIBUTE_DETAIL,
    RENDER_SURFACE_STATE, PALETTE_ENTRY, MEMORY_OBJECT_CONTROL_STATE,
)
REMOVED: tuple[str, ...] = (
    "VS_STATE", "GS_STATE", "CLIP_STATE", "SF_STATE", "WM_STATE", "SURFACE_STATE", "SAMPLER_PALETTE_RGB_ENTRY",
    "SAMPLER_PALETTE_ARGB_ENTRY",
)
