"""State blocks of Gen8 that the fixed functions read: blending, color calculator, viewports, scissor rectangles.

Mesa's gen8.xml; the manual's volume with these structures is not among the sources.  Surfaces and samplers are in
`gen4emu.hw.gen8.surface`, interface descriptors in `gen4emu.hw.gen8.media`.
"""

from __future__ import annotations

from gen4emu.hw.fields import Array, Bool, Enum, Float, Uint
from gen4emu.hw.gen4.state import (
    BlendFactor,
    BlendFunction,
    ColorClampRange,
    CompareFunction,
    LogicOpFunction,
)
from gen4emu.hw.layout import Block
from gen4emu.hw.reserved import block

BLEND_STATE_ENTRY = block("BLEND_STATE_ENTRY", 2, [
    Bool("color_buffer_blend_enable", 0, 31),
    Enum("source_blend_factor", 0, 30, 26, enum=BlendFactor),
    Enum("destination_blend_factor", 0, 25, 21, enum=BlendFactor),
    Enum("color_blend_function", 0, 20, 18, enum=BlendFunction),
    Enum("source_alpha_blend_factor", 0, 17, 13, enum=BlendFactor),
    Enum("destination_alpha_blend_factor", 0, 12, 8, enum=BlendFactor),
    Enum("alpha_blend_function", 0, 7, 5, enum=BlendFunction),
    Bool("write_disable_alpha", 0, 3),
    Bool("write_disable_red", 0, 2),
    Bool("write_disable_green", 0, 1),
    Bool("write_disable_blue", 0, 0),
    Bool("logic_op_enable", 1, 31),
    Enum("logic_op_function", 1, 30, 27, enum=LogicOpFunction),
    Bool("pre_blend_source_only_clamp_enable", 1, 4),
    Enum("color_clamp_range", 1, 3, 2, enum=ColorClampRange),
    Bool("pre_blend_color_clamp_enable", 1, 1),
    Bool("post_blend_color_clamp_enable", 1, 0),
], ref="Mesa gen8.xml BLEND_STATE_ENTRY")

BLEND_STATE = block("BLEND_STATE", 17, [
    Bool("alpha_to_coverage_enable", 0, 31),
    Bool("independent_alpha_blend_enable", 0, 30),
    Bool("alpha_to_one_enable", 0, 29),
    Bool("alpha_to_coverage_dither_enable", 0, 28),
    Bool("alpha_test_enable", 0, 27),
    Enum("alpha_test_function", 0, 26, 24, enum=CompareFunction),
    Bool("color_dither_enable", 0, 23),
    Uint("x_dither_offset", 0, 22, 21),
    Uint("y_dither_offset", 0, 20, 19),
    Array("entries", 1, BLEND_STATE_ENTRY, 8, doc="one for each render target; those after the last may be missing"),
], ref="Mesa gen8.xml BLEND_STATE", align=64)

SF_CLIP_VIEWPORT = block("SF_CLIP_VIEWPORT", 16, [
    Float("viewport_matrix_element_m00", 0, 31, 0),
    Float("viewport_matrix_element_m11", 1, 31, 0),
    Float("viewport_matrix_element_m22", 2, 31, 0),
    Float("viewport_matrix_element_m30", 3, 31, 0),
    Float("viewport_matrix_element_m31", 4, 31, 0),
    Float("viewport_matrix_element_m32", 5, 31, 0),
    Float("x_min_clip_guardband", 8, 31, 0),
    Float("x_max_clip_guardband", 9, 31, 0),
    Float("y_min_clip_guardband", 10, 31, 0),
    Float("y_max_clip_guardband", 11, 31, 0),
    Float("x_min_viewport", 12, 31, 0),
    Float("x_max_viewport", 13, 31, 0),
    Float("y_min_viewport", 14, 31, 0),
    Float("y_max_viewport", 15, 31, 0),
], ref="Mesa gen8.xml SF_CLIP_VIEWPORT", align=64, doc="an array of up to 16")

REPLACED: tuple[Block, ...] = (BLEND_STATE_ENTRY, BLEND_STATE, SF_CLIP_VIEWPORT)
