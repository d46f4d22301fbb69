"""The state blocks of the fixed-function units of the 3D pipeline: VS, GS, CLIP, SF, WM and the color calculator.

G45 PRM vol. 2, chapters 4 to 9; where the manual contradicts itself, as in Mesa's gen4.xml.  The commands that point to
these blocks are in `gen4emu.hw.gen4.pipeline`.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Bool, Enum, Field, Fixed, Float, Ignored, Mbz, Uint, When, unless, when
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block


class FloatingPointMode(IntEnum):
    """The arithmetic a thread starts with (CR0.0)."""

    IEEE_754 = 0
    ALTERNATE = 1


class ThreadPriority(IntEnum):
    """The manual also prints 1, HIGH, and then forbids it."""

    NORMAL = 0


class ApiMode(IntEnum):
    """Where the near plane is.  The manual's table swaps the two; its pseudo-code and the drivers do not."""

    OGL = 0  # NDC z = -1
    D3D = 1  # NDC z = 0


class VertexPositionSpace(IntEnum):
    """VPOS_*: the space of the X and Y that reach the clip test."""

    NDC = 0
    SCREEN = 1


class ClipMode(IntEnum):
    """CLIPMODE_*.  5 is a mode of the next generation."""

    NORMAL = 0
    ALL = 1
    NON_REJECTED = 2
    REJECT_ALL = 3
    ACCEPT_ALL = 4


class FrontWinding(IntEnum):
    """The visual order of a front face, with y down."""

    CW = 0
    CCW = 1


class CullMode(IntEnum):
    """CULLMODE_*: which triangles are dropped.  A zeroed SF_STATE draws no triangle at all."""

    BOTH = 0
    NONE = 1
    FRONT = 2
    BACK = 3


class LineRegionWidth(IntEnum):
    """The widths of the two antialiasing regions of a line."""

    HALF_PIXEL = 0
    ONE_PIXEL = 1
    TWO_PIXELS = 2
    FOUR_PIXELS = 3


class PointRasterizationRule(IntEnum):
    """RASTRULE_*."""

    UPPER_LEFT = 0
    UPPER_RIGHT = 1


class SubPixelPrecision(IntEnum):
    """The number of fraction bits of vertex coordinates."""

    EIGHT_BITS = 0
    FOUR_BITS = 1


class CompareFunction(IntEnum):
    """COMPAREFUNCTION_*, of the depth, stencil and alpha tests."""

    ALWAYS = 0
    NEVER = 1
    LESS = 2
    EQUAL = 3
    LEQUAL = 4
    GREATER = 5
    NOTEQUAL = 6
    GEQUAL = 7


class StencilOperation(IntEnum):
    """STENCILOP_*."""

    KEEP = 0
    ZERO = 1
    REPLACE = 2
    INCRSAT = 3
    DECRSAT = 4
    INCR = 5
    DECR = 6
    INVERT = 7


class AlphaTestFormat(IntEnum):
    """ALPHATEST_*."""

    UNORM8 = 0
    FLOAT32 = 1


class LogicOpFunction(IntEnum):
    """LOGICOP_*: the truth table of the operation, bit 3 for S=1 D=1, 2 for S=1 D=0, 1 for S=0 D=1, 0 for both 0."""

    CLEAR = 0x0
    NOR = 0x1
    AND_INVERTED = 0x2
    COPY_INVERTED = 0x3
    AND_REVERSE = 0x4
    INVERT = 0x5
    XOR = 0x6
    NAND = 0x7
    AND = 0x8
    EQUIV = 0x9
    NOOP = 0xA
    OR_INVERTED = 0xB
    COPY = 0xC
    OR_REVERSE = 0xD
    OR = 0xE
    SET = 0xF


class BlendFunction(IntEnum):
    """BLENDFUNCTION_*."""

    ADD = 0
    SUBTRACT = 1
    REVERSE_SUBTRACT = 2
    MIN = 3
    MAX = 4


class BlendFactor(IntEnum):
    """BLENDFACTOR_*.  UNSET is reserved, but every driver leaves it there while blending is off."""

    UNSET = 0x00
    ONE = 0x01
    SRC_COLOR = 0x02
    SRC_ALPHA = 0x03
    DST_ALPHA = 0x04
    DST_COLOR = 0x05
    SRC_ALPHA_SATURATE = 0x06
    CONST_COLOR = 0x07
    CONST_ALPHA = 0x08
    SRC1_COLOR = 0x09
    SRC1_ALPHA = 0x0A
    ZERO = 0x11
    INV_SRC_COLOR = 0x12
    INV_SRC_ALPHA = 0x13
    INV_DST_ALPHA = 0x14
    INV_DST_COLOR = 0x15
    INV_CONST_COLOR = 0x17
    INV_CONST_ALPHA = 0x18
    INV_SRC1_COLOR = 0x19
    INV_SRC1_ALPHA = 0x1A


class ColorClampRange(IntEnum):
    """COLORCLAMP_*."""

    UNORM = 0
    SNORM = 1
    RTFORMAT = 2


# --- dwords 0 to 3, which the thread-spawning units have in common ----------------------------------------------------
_Used = tuple[When, ...]


def _kernel(used: _Used = ()) -> list[Field]:
    """Dword 0."""
    return [
        Address("kernel_start_pointer", 0, 31, 6, base="general_state", target="KERNEL", when=used),
        Mbz(0, 5, 4, when=used),
        Uint("grf_register_count", 0, 3, 1, bias=1, scale=16, when=used),
        Mbz(0, 0, 0, when=used),
    ]


def _thread_start(used: _Used = ()) -> list[Field]:
    """The upper half of dword 1."""
    return [
        Bool("single_program_flow", 1, 31, when=used),
        Mbz(1, 30, 26, when=used),
        Uint("binding_table_entry_count", 1, 25, 18, when=used, doc="for prefetching only"),
        Enum("thread_priority", 1, 17, 17, ThreadPriority, when=used),
        Enum("floating_point_mode", 1, 16, 16, FloatingPointMode, when=used),
    ]


def exception_enables(used: _Used = ()) -> list[Field]:
    """The lower half of dword 1, everywhere but in WM_STATE.  CR0.1 has them at bits 12, 11 and 13."""
    return [
        Mbz(1, 15, 14, when=used),
        Bool("illegal_opcode_exception_enable", 1, 13, when=used),
        Mbz(1, 12, 12, when=used),
        Bool("mask_stack_exception_enable", 1, 11, when=used),
        Mbz(1, 10, 8, when=used),
        Bool("software_exception_enable", 1, 7, when=used),
        Mbz(1, 6, 0, when=used),
    ]


def _scratch(used: _Used = ()) -> list[Field]:
    """Dword 2."""
    return [
        Address("scratch_space_base_pointer", 2, 31, 10, base="general_state", target="SCRATCH", when=used),
        Mbz(2, 9, 4, when=used),
        Uint("per_thread_scratch_space", 2, 3, 0, high=11, when=used, doc="bytes are 1024 << n"),
    ]


def _urb_reads(entry: str, used: _Used = ()) -> list[Field]:
    """Dword 3: the rows of the CURBE and of each entry of the unit before that go into the payload."""
    return [
        Mbz(3, 31, 31, when=used),
        Uint("constant_urb_entry_read_length", 3, 30, 25, when=used, doc="in rows of 256 bits"),
        Mbz(3, 24, 24, when=used),
        Uint("constant_urb_entry_read_offset", 3, 23, 18, when=used),
        Mbz(3, 17, 17, when=used),
        Uint(f"{entry}_urb_entry_read_length", 3, 16, 11, low=1, when=used),
        Mbz(3, 10, 10, when=used),
        Uint(f"{entry}_urb_entry_read_offset", 3, 9, 4, when=used),
        Uint("dispatch_grf_start_register", 3, 3, 0, when=used),
    ]


def _vertex_thread(used: _Used = ()) -> list[Field]:
    """Dwords 0 to 3 of the units whose threads read vertices."""
    return [*_kernel(used), *_thread_start(used), *exception_enables(used), *_scratch(used),
            *_urb_reads("vertex", used)]


def _urb_entry_size() -> Field:
    return Uint("urb_entry_allocation_size", 4, 23, 19, bias=1, doc="in units of 512 bits")


def _samplers(used: _Used = ()) -> list[Field]:
    """Dword 5 of VS_STATE and GS_STATE."""
    return [
        Address("sampler_state_pointer", 5, 31, 5, base="general_state", target="SAMPLER_STATE",
                count="sampler_count", when=used),
        Mbz(5, 4, 3, when=used),
        Uint("sampler_count", 5, 2, 0, scale=4, high=16, when=used, doc="rounded up to 4; for prefetching only"),
    ]


# --- VS, GS -----------------------------------------------------------------------------------------------------------
VS_ON = (when("vs_function_enable", 1),)
_VS_OFF = (unless("vs_function_enable", 1),)

VS_STATE = Block("VS_STATE", 7, [
    *_vertex_thread(VS_ON),
    *(Ignored(dword, when=_VS_OFF) for dword in range(4)),
    Mbz(4, 31, 31),
    Uint("maximum_number_of_threads", 4, 30, 25, bias=1, high=16, when=VS_ON),
    Ignored(4, 30, 25, when=_VS_OFF),
    Mbz(4, 24, 24),
    _urb_entry_size(),
    Mbz(4, 18, 18),
    Uint("number_of_urb_entries", 4, 17, 11, low=8, high=32),
    Bool("statistics_enable", 4, 10),
    Mbz(4, 9, 0),
    *_samplers(VS_ON),
    Ignored(5, when=_VS_OFF),
    Mbz(6, 31, 2),
    Bool("vertex_cache_disable", 6, 1),
    Bool("vs_function_enable", 6, 0),
], ref="G45v2 4.2.1.2", align=32)

GS_STATE = Block("GS_STATE", 7, [
    *_kernel(),
    Bool("single_program_flow", 1, 31, doc="0 is reserved"),
    Mbz(1, 30, 26),
    Uint("binding_table_entry_count", 1, 25, 18, doc="for prefetching only"),
    Mbz(1, 17, 17),
    Enum("floating_point_mode", 1, 16, 16, FloatingPointMode),
    *exception_enables(),
    *_scratch(),
    *_urb_reads("vertex"),
    Mbz(4, 31, 30),
    Uint("maximum_number_of_threads", 4, 29, 25, bias=1, high=2),
    Mbz(4, 24, 24),
    _urb_entry_size(),
    Mbz(4, 18, 18),
    Uint("number_of_urb_entries", 4, 17, 11, low=1, high=32),
    Bool("gs_statistics_enable", 4, 10),
    Mbz(4, 9, 9),
    Mbz(4, 8, 8),
    Mbz(4, 7, 0),
    *_samplers(),
    Mbz(6, 31, 31),
    Bool("reorder_enable", 6, 30),
    Bool("discard_adjacency", 6, 29),
    Mbz(6, 28, 4),
    Uint("maximum_vp_index", 6, 3, 0),
], ref="G45v2 5.2.1.1", align=32)

# --- CLIP -------------------------------------------------------------------------------------------------------------
CLIP_STATE = Block("CLIP_STATE", 11, [
    *_vertex_thread(),
    Mbz(4, 31, 30),
    Uint("maximum_number_of_threads", 4, 29, 25, bias=1, high=2),
    Mbz(4, 24, 24),
    _urb_entry_size(),
    Mbz(4, 18, 18),
    Uint("number_of_urb_entries", 4, 17, 11, low=1, high=32),
    Bool("clipper_statistics_enable", 4, 10),
    Bool("gs_output_object_statistics_enable", 4, 9),
    Mbz(4, 8, 0),
    Mbz(5, 31, 31),
    Enum("api_mode", 5, 30, 30, ApiMode),
    Enum("vertex_position_space", 5, 29, 29, VertexPositionSpace),
    Bool("viewport_xy_clip_test_enable", 5, 28),
    Bool("viewport_z_clip_test_enable", 5, 27),
    Bool("guardband_clip_test_enable", 5, 26),
    Mbz(5, 25, 25),
    Bool("user_clip_flags_must_clip_enable", 5, 24),
    Uint("user_clip_flags_clip_test_enable_bitmask", 5, 23, 16, hex=True, doc="bit i tests user clip flag i"),
    Enum("clip_mode", 5, 15, 13, ClipMode),
    Mbz(5, 12, 0),
    Address("clipper_viewport_state_pointer", 6, 31, 5, base="general_state", target="CLIP_VIEWPORT"),
    Mbz(6, 4, 0),
    Float("screen_space_viewport_x_min", 7, 31, 0),
    Float("screen_space_viewport_x_max", 8, 31, 0),
    Float("screen_space_viewport_y_min", 9, 31, 0),
    Float("screen_space_viewport_y_max", 10, 31, 0),
], ref="G45v2 6.3.1.1", align=32)

CLIP_VIEWPORT = Block("CLIP_VIEWPORT", 4, [
    Float("x_min_clip_guardband", 0, 31, 0),
    Float("x_max_clip_guardband", 1, 31, 0),
    Float("y_min_clip_guardband", 2, 31, 0),
    Float("y_max_clip_guardband", 3, 31, 0),
], ref="G45v2 6.3.1.2", align=32, doc="an array of up to 16")

# --- SF ---------------------------------------------------------------------------------------------------------------
SF_STATE = Block("SF_STATE", 8, [
    *_vertex_thread(),
    Mbz(4, 31, 31),
    Uint("maximum_number_of_threads", 4, 30, 25, bias=1, high=24),
    Mbz(4, 24, 24),
    _urb_entry_size(),
    Uint("number_of_urb_entries", 4, 18, 11, low=1, high=64),
    Ignored(4, 10, 10, doc="two drivers set it there"),
    Mbz(4, 9, 0),
    Address("setup_viewport_state_offset", 5, 31, 5, base="general_state", target="SF_VIEWPORT"),
    Mbz(5, 4, 2),
    Bool("viewport_transform_enable", 5, 1),
    Enum("front_winding", 5, 0, 0, FrontWinding),
    Bool("antialiasing_enable", 6, 31, doc="of lines"),
    Enum("cull_mode", 6, 30, 29, CullMode),
    Bool("fast_scissor_clip_disable", 6, 28),
    Fixed("line_width", 6, 27, 24, frac=1, doc="0 is the cosmetic line"),
    Enum("line_end_cap_antialiasing_region_width", 6, 23, 22, LineRegionWidth),
    Enum("point_rasterization_rule", 6, 21, 20, PointRasterizationRule),
    Bool("zero_pixel_triangle_filter_disable", 6, 19),
    Bool("two_by_two_pixel_triangle_filter_disable", 6, 18),
    Bool("scissor_rectangle_enable", 6, 17),
    Fixed("destination_origin_horizontal_bias", 6, 16, 13, frac=4, high=0.5, doc="0 or 0.5"),
    Fixed("destination_origin_vertical_bias", 6, 12, 9, frac=4, high=0.5, doc="0 or 0.5"),
    Mbz(6, 8, 0),
    Bool("last_pixel_enable", 7, 31),
    Uint("triangle_strip_list_provoking_vertex_select", 7, 30, 29, high=2),
    Uint("line_strip_list_provoking_vertex_select", 7, 28, 27, high=1),
    Uint("triangle_fan_provoking_vertex_select", 7, 26, 25, high=2),
    Mbz(7, 24, 15),
    Mbz(7, 14, 14),
    Bool("sprite_point_enable", 7, 13),
    Enum("vertex_sub_pixel_precision_select", 7, 12, 12, SubPixelPrecision),
    Bool("use_point_width_state", 7, 11, doc="else the width in the vertex header"),
    Fixed("point_width", 7, 10, 0, frac=3),
], ref="G45v2 7.4.1", align=32)

SF_VIEWPORT = Block("SF_VIEWPORT", 8, [
    Float("viewport_matrix_element_m00", 0, 31, 0),
    Float("viewport_matrix_element_m11", 1, 31, 0),
    Float("viewport_matrix_element_m22", 2, 31, 0),
    Float("viewport_matrix_element_m30", 3, 31, 0),
    Float("viewport_matrix_element_m31", 4, 31, 0),
    Float("viewport_matrix_element_m32", 5, 31, 0),
    Uint("scissor_rectangle_y_min", 6, 31, 16, high=8191, doc="inclusive, from the drawing rectangle's origin"),
    Uint("scissor_rectangle_x_min", 6, 15, 0, high=8191),
    Uint("scissor_rectangle_y_max", 7, 31, 16, high=8191),
    Uint("scissor_rectangle_x_max", 7, 15, 0, high=8191),
], ref="G45v2 7.4.2", align=32, doc="an array of up to 16")

# --- WM ---------------------------------------------------------------------------------------------------------------
WM_STATE = Block("WM_STATE", 8, [
    *_kernel(),
    *_thread_start(),
    Mbz(1, 15, 14),
    Uint("depth_coefficient_urb_read_offset", 1, 13, 8, doc="the attribute-major row whose low half is the Z plane"),
    Mbz(1, 7, 5),
    Bool("illegal_opcode_exception_enable", 1, 4),
    Mbz(1, 3, 3),
    Bool("mask_stack_exception_enable", 1, 2),
    Bool("software_exception_enable", 1, 1),
    Mbz(1, 0, 0),
    *_scratch(),
    *_urb_reads("setup"),
    Address("sampler_state_pointer", 4, 31, 5, base="general_state", target="SAMPLER_STATE", count="sampler_count"),
    Uint("sampler_count", 4, 4, 2, scale=4, high=16, doc="rounded up to 4; for prefetching only"),
    Mbz(4, 1, 1),
    Bool("statistics_enable", 4, 0),
    Uint("maximum_number_of_threads", 5, 31, 25, bias=1, high=32),
    Mbz(5, 24, 24),
    Bool("legacy_diamond_line_rasterization", 5, 23),
    Bool("pixel_shader_kill_pixel", 5, 22),
    Bool("pixel_shader_computed_depth", 5, 21),
    Bool("pixel_shader_uses_source_depth", 5, 20),
    Bool("thread_dispatch_enable", 5, 19),
    Bool("early_depth_test_enable", 5, 18),
    Enum("line_end_cap_antialiasing_region_width", 5, 17, 16, LineRegionWidth),
    Enum("line_antialiasing_region_width", 5, 15, 14, LineRegionWidth),
    Bool("polygon_stipple_enable", 5, 13),
    Bool("global_depth_offset_enable", 5, 12),
    Bool("line_stipple_enable", 5, 11),
    Bool("legacy_global_depth_bias_enable", 5, 10),
    Mbz(5, 9, 5),
    Mbz(5, 4, 3),
    Bool("dispatch_32_pixel_enable", 5, 2),
    Bool("dispatch_16_pixel_enable", 5, 1),
    Bool("dispatch_8_pixel_enable", 5, 0),
    Float("global_depth_offset_constant", 6, 31, 0),
    Float("global_depth_offset_scale", 7, 31, 0),
], ref="G45v2 8.2.1", align=32)

# --- color calculator ------------------------------------------------------------------------------------------------
_UNORM8_ALPHA = (when("alpha_test_format", AlphaTestFormat.UNORM8),)
_FLOAT32_ALPHA = (when("alpha_test_format", AlphaTestFormat.FLOAT32),)

COLOR_CALC_STATE = Block("COLOR_CALC_STATE", 8, [
    Bool("stencil_test_enable", 0, 31),
    Enum("stencil_test_function", 0, 30, 28, CompareFunction),
    Enum("stencil_fail_op", 0, 27, 25, StencilOperation),
    Enum("stencil_pass_depth_fail_op", 0, 24, 22, StencilOperation),
    Enum("stencil_pass_depth_pass_op", 0, 21, 19, StencilOperation),
    Bool("stencil_buffer_write_enable", 0, 18),
    Mbz(0, 17, 16),
    Bool("double_sided_stencil_enable", 0, 15),
    Enum("backface_stencil_test_function", 0, 14, 12, CompareFunction),
    Enum("backface_stencil_fail_op", 0, 11, 9, StencilOperation),
    Enum("backface_stencil_pass_depth_fail_op", 0, 8, 6, StencilOperation),
    Enum("backface_stencil_pass_depth_pass_op", 0, 5, 3, StencilOperation),
    Mbz(0, 2, 0),
    Uint("stencil_reference_value", 1, 31, 24),
    Uint("stencil_test_mask", 1, 23, 16, hex=True),
    Uint("stencil_write_mask", 1, 15, 8, hex=True),
    Uint("backface_stencil_reference_value", 1, 7, 0),
    Uint("backface_stencil_test_mask", 2, 31, 24, hex=True),
    Uint("backface_stencil_write_mask", 2, 23, 16, hex=True),
    Bool("depth_test_enable", 2, 15),
    Enum("depth_test_function", 2, 14, 12, CompareFunction),
    Bool("depth_buffer_write_enable", 2, 11),
    Mbz(2, 10, 1),
    Bool("logic_op_enable", 2, 0),
    Mbz(3, 31, 16),
    Enum("alpha_test_format", 3, 15, 15, AlphaTestFormat),
    Mbz(3, 14, 14),
    Bool("independent_alpha_blend_enable", 3, 13),
    Bool("color_buffer_blend_enable", 3, 12),
    Bool("alpha_test_enable", 3, 11),
    Enum("alpha_test_function", 3, 10, 8, CompareFunction),
    Mbz(3, 7, 0),
    Address("color_calculator_viewport_state_pointer", 4, 31, 5, base="general_state", target="CC_VIEWPORT"),
    Mbz(4, 4, 0),
    Bool("color_dither_enable", 5, 31),
    Mbz(5, 30, 30, gens=Gen.BW),
    Bool("round_disable_function_disable", 5, 30, gens=Gen.CL),
    Mbz(5, 29, 20),
    Enum("logic_op_function", 5, 19, 16, LogicOpFunction),
    Bool("statistics_enable", 5, 15),
    Enum("alpha_blend_function", 5, 14, 12, BlendFunction),
    Enum("source_alpha_blend_factor", 5, 11, 7, BlendFactor),
    Enum("destination_alpha_blend_factor", 5, 6, 2, BlendFactor),
    Mbz(5, 1, 0),
    Enum("color_blend_function", 6, 31, 29, BlendFunction),
    Enum("source_blend_factor", 6, 28, 24, BlendFactor),
    Enum("destination_blend_factor", 6, 23, 19, BlendFactor),
    Uint("x_dither_offset", 6, 18, 17),
    Uint("y_dither_offset", 6, 16, 15),
    Mbz(6, 14, 4),
    Enum("color_clamp_range", 6, 3, 2, ColorClampRange),
    Bool("pre_blend_color_clamp_enable", 6, 1),
    Bool("post_blend_color_clamp_enable", 6, 0),
    Mbz(7, 31, 8, when=_UNORM8_ALPHA),
    Uint("alpha_reference_value_as_unorm8", 7, 7, 0, when=_UNORM8_ALPHA),
    Float("alpha_reference_value_as_float32", 7, 31, 0, when=_FLOAT32_ALPHA),
], ref="G45v2 9.2.1", align=64)

CC_VIEWPORT = Block("CC_VIEWPORT", 2, [
    Float("minimum_depth", 0, 31, 0),
    Float("maximum_depth", 1, 31, 0),
], ref="G45v2 9.2.2", align=32, doc="an array of up to 16")

BLOCKS: tuple[Block, ...] = (
    VS_STATE, GS_STATE, CLIP_STATE, CLIP_VIEWPORT, SF_STATE, SF_VIEWPORT, WM_STATE, COLOR_CALC_STATE, CC_VIEWPORT,
)
