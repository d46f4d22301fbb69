"""Clipping, setup and rasterisation on Gen8: CLIP, SF, RASTER, SBE, WM, stipple, sample positions and related commands.

Kaby Lake PRM vol. 2a, which Broadwell shares but for what `gen4emu.hw.gen9` changes; for commands that the published
part of that volume lacks, Mesa's gen8.xml.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from gen4emu.hw.fields import Array, Bool, Enum, Field, Fixed, Float, Ignored, Sint, Uint
from gen4emu.hw.gen4.state import (
    ApiMode,
    CompareFunction,
    CullMode,
    FrontWinding,
    LineRegionWidth,
    PointRasterizationRule,
    StencilOperation,
    SubPixelPrecision,
)
from gen4emu.hw.gen6.pipeline import (
    FillMode,
    FixedClipMode,
    MultisampleRasterizationMode,
    PixelLocation,
    PointSpriteOrigin,
    PointWidthSource,
    PositionZwInterpolationMode,
)
from gen4emu.hw.gen7.pipeline import ComputedDepthMode, EarlyDepthStencilControl
from gen4emu.hw.gen45.state import AaLineDistance
from gen4emu.hw.gen75 import GEN75
from gen4emu.hw.gen75.pipeline import CoreModeSelect
from gen4emu.hw.layout import Block
from gen4emu.hw.reserved import gfx


class RasterApiMode(IntEnum):
    """The rules of rasterisation."""

    DX9_OGL = 0
    DX10_0 = 1
    DX10_1 = 2


class ForcedSampleCount(IntEnum):
    """NUMRASTSAMPLES_*: the samples of rasterisation, if not those of the render target."""

    NOT_FORCED = 0
    ONE = 1
    TWO = 2
    FOUR = 3
    EIGHT = 4
    SIXTEEN = 5


class ForceMultisampling(IntEnum):
    """Whether DX Multisample Rasterization Mode is taken as it is."""

    COMPUTED = 0
    FORCED = 1


class SampleCount(IntEnum):
    """NUMSAMPLES_*, MULTISAMPLECOUNT_*: the logarithm of the number of samples of a pixel."""

    ONE = 0
    TWO = 1
    FOUR = 2
    EIGHT = 3
    SIXTEEN = 4


class Force(IntEnum):
    """Whether a computed enable is overridden."""

    NORMAL = 0
    FORCE_OFF = 1
    FORCE_ON = 2


# --- clip -------------------------------------------------------------------------------------------------------------
CLIP = gfx("3DSTATE_CLIP", 0x7812, 4, [
    Bool("force_user_clip_distance_cull_test_enable_bitmask", 1, 20, doc="else from the last shader stage"),
    Enum("vertex_sub_pixel_precision_select", 1, 19, 19, enum=SubPixelPrecision),
    Bool("early_cull_enable", 1, 18),
    Bool("force_user_clip_distance_clip_test_enable_bitmask", 1, 17, doc="else from the last shader stage"),
    Bool("force_clip_mode", 1, 16),
    Bool("clipper_statistics_enable", 1, 10),
    Uint("user_clip_distance_cull_test_enable_bitmask", 1, 7, 0, hex=True),
    Bool("clip_enable", 2, 31, doc="else everything passes"),
    Enum("api_mode", 2, 30, 30, enum=ApiMode),
    Bool("viewport_xy_clip_test_enable", 2, 28),
    Bool("guardband_clip_test_enable", 2, 26),
    Uint("user_clip_distance_clip_test_enable_bitmask", 2, 23, 16, hex=True),
    Enum("clip_mode", 2, 15, 13, enum=FixedClipMode),
    Bool("perspective_divide_disable", 2, 9),
    Bool("non_perspective_barycentric_enable", 2, 8),
    Uint("triangle_strip_list_provoking_vertex_select", 2, 5, 4, high=2),
    Uint("line_strip_list_provoking_vertex_select", 2, 3, 2, high=1),
    Uint("triangle_fan_provoking_vertex_select", 2, 1, 0, high=2),
    Fixed("minimum_point_width", 3, 27, 17, frac=3, doc="of widths in vertices"),
    Fixed("maximum_point_width", 3, 16, 6, frac=3, doc="of widths in vertices"),
    Bool("force_zero_rta_index_enable", 3, 5),
    Uint("maximum_vp_index", 3, 3, 0, doc="a larger index becomes 0"),
], ref="KBLv2a 3DSTATE_CLIP")

# --- setup ------------------------------------------------------------------------------------------------------------
SF = gfx("3DSTATE_SF", 0x7813, 4, [
    Bool("legacy_global_depth_bias_enable", 1, 11, doc="the constant is not scaled"),
    Bool("statistics_enable", 1, 10),
    Bool("viewport_transform_enable", 1, 1),
    Ignored(2, 28, 28),
    Fixed("line_width", 2, 27, 18, frac=7, doc="0 is the thinnest line"),
    Enum("line_end_cap_antialiasing_region_width", 2, 17, 16, enum=LineRegionWidth),
    Ignored(2, 13, 12),
    Bool("last_pixel_enable", 3, 31),
    Uint("triangle_strip_list_provoking_vertex_select", 3, 30, 29, high=2),
    Uint("line_strip_list_provoking_vertex_select", 3, 28, 27, high=1),
    Uint("triangle_fan_provoking_vertex_select", 3, 26, 25, high=2),
    Enum("aa_line_distance_mode", 3, 14, 14, enum=AaLineDistance),
    Bool("smooth_point_enable", 3, 13),
    Enum("vertex_sub_pixel_precision_select", 3, 12, 12, enum=SubPixelPrecision),
    Enum("point_width_source", 3, 11, 11, enum=PointWidthSource),
    Fixed("point_width", 3, 10, 0, frac=3, doc="0.125 to 255.875"),
], ref="KBLv2a 3DSTATE_SF")

RASTER = gfx("3DSTATE_RASTER", 0x7850, 5, [
    Enum("api_mode", 1, 23, 22, enum=RasterApiMode),
    Enum("front_winding", 1, 21, 21, enum=FrontWinding),
    Enum("forced_sample_count", 1, 20, 18, enum=ForcedSampleCount),
    Enum("cull_mode", 1, 17, 16, enum=CullMode),
    Enum("force_multisampling", 1, 14, 14, enum=ForceMultisampling),
    Bool("smooth_point_enable", 1, 13),
    Bool("dx_multisample_rasterization_enable", 1, 12),
    Enum("dx_multisample_rasterization_mode", 1, 11, 10, enum=MultisampleRasterizationMode),
    Bool("global_depth_offset_enable_solid", 1, 9),
    Bool("global_depth_offset_enable_wireframe", 1, 8),
    Bool("global_depth_offset_enable_point", 1, 7),
    Enum("front_face_fill_mode", 1, 6, 5, enum=FillMode),
    Enum("back_face_fill_mode", 1, 4, 3, enum=FillMode),
    Bool("antialiasing_enable", 1, 2),
    Bool("scissor_rectangle_enable", 1, 1),
    Bool("viewport_z_clip_test_enable", 1, 0),
    Float("global_depth_offset_constant", 2, 31, 0),
    Float("global_depth_offset_scale", 3, 31, 0),
    Float("global_depth_offset_clamp", 4, 31, 0),
], ref="KBLv2a 3DSTATE_RASTER")

SBE = gfx("3DSTATE_SBE", 0x781F, 4, [
    Bool("force_vertex_urb_entry_read_length", 1, 29, doc="else from the last shader stage"),
    Bool("force_vertex_urb_entry_read_offset", 1, 28, doc="else from the last shader stage"),
    Uint("number_of_sf_output_attributes", 1, 27, 22, high=32),
    Bool("attribute_swizzle_enable", 1, 21, doc="of the first 16 attributes"),
    Enum("point_sprite_texture_coordinate_origin", 1, 20, 20, enum=PointSpriteOrigin),
    Bool("primitive_id_override_component_w", 1, 19),
    Bool("primitive_id_override_component_z", 1, 18),
    Bool("primitive_id_override_component_y", 1, 17),
    Bool("primitive_id_override_component_x", 1, 16),
    Uint("vertex_urb_entry_read_length", 1, 15, 11, doc="in rows of 256 bits"),
    Uint("vertex_urb_entry_read_offset", 1, 10, 5, doc="in rows of 256 bits"),
    Uint("primitive_id_override_attribute_select", 1, 4, 0),
    Uint("point_sprite_texture_coordinate_enable", 2, 31, 0, hex=True, doc="bit i is attribute i"),
    Uint("constant_interpolation_enable", 3, 31, 0, hex=True, doc="bit i is attribute i"),
], ref="KBLv2a 3DSTATE_SBE")


SBE_SWIZ = gfx("3DSTATE_SBE_SWIZ", 0x7851, 11, [
    Array("attributes", 1, GEN75.layout("SF_OUTPUT_ATTRIBUTE_DETAIL"), 8),
    *(Uint(f"attribute_{i}_wrap_shortest_enables", 9 + i // 8, i % 8 * 4 + 3, i % 8 * 4, hex=True,
           doc="X is bit 0" if i == 0 else "") for i in range(16)),
], ref="KBLv2a 3DSTATE_SBE_SWIZ")

# --- windower and depth test ------------------------------------------------------------------------------------------
WM = gfx("3DSTATE_WM", 0x7814, 2, [
    Bool("statistics_enable", 1, 31),
    Bool("legacy_depth_buffer_clear_enable", 1, 30),
    Bool("legacy_depth_buffer_resolve_enable", 1, 28),
    Bool("legacy_hierarchical_depth_buffer_resolve_enable", 1, 27),
    Bool("legacy_diamond_line_rasterization", 1, 26),
    Enum("early_depth_stencil_control", 1, 22, 21, enum=EarlyDepthStencilControl),
    Enum("force_thread_dispatch_enable", 1, 20, 19, enum=Force),
    Enum("position_zw_interpolation_mode", 1, 18, 17, enum=PositionZwInterpolationMode),
    Uint("barycentric_interpolation_mode", 1, 16, 11, hex=True,
         doc="from bit 0: perspective pixel, centroid, sample, linear pixel, centroid, sample"),
    Enum("line_end_cap_antialiasing_region_width", 1, 9, 8, enum=LineRegionWidth),
    Enum("line_antialiasing_region_width", 1, 7, 6, enum=LineRegionWidth),
    Bool("polygon_stipple_enable", 1, 4),
    Bool("line_stipple_enable", 1, 3),
    Enum("point_rasterization_rule", 1, 2, 2, enum=PointRasterizationRule),
    Enum("force_kill_pixel_enable", 1, 1, 0, enum=Force),
], ref="Mesa gen8.xml 3DSTATE_WM")

WM_DEPTH_STENCIL = gfx("3DSTATE_WM_DEPTH_STENCIL", 0x784E, 3, [
    Enum("stencil_fail_op", 1, 31, 29, enum=StencilOperation),
    Enum("stencil_pass_depth_fail_op", 1, 28, 26, enum=StencilOperation),
    Enum("stencil_pass_depth_pass_op", 1, 25, 23, enum=StencilOperation),
    Enum("backface_stencil_test_function", 1, 22, 20, enum=CompareFunction),
    Enum("backface_stencil_fail_op", 1, 19, 17, enum=StencilOperation),
    Enum("backface_stencil_pass_depth_fail_op", 1, 16, 14, enum=StencilOperation),
    Enum("backface_stencil_pass_depth_pass_op", 1, 13, 11, enum=StencilOperation),
    Enum("stencil_test_function", 1, 10, 8, enum=CompareFunction),
    Enum("depth_test_function", 1, 7, 5, enum=CompareFunction),
    Bool("double_sided_stencil_enable", 1, 4),
    Bool("stencil_test_enable", 1, 3),
    Bool("stencil_buffer_write_enable", 1, 2),
    Bool("depth_test_enable", 1, 1),
    Bool("depth_buffer_write_enable", 1, 0),
    Uint("stencil_test_mask", 2, 31, 24, hex=True),
    Uint("stencil_write_mask", 2, 23, 16, hex=True),
    Uint("backface_stencil_test_mask", 2, 15, 8, hex=True),
    Uint("backface_stencil_write_mask", 2, 7, 0, hex=True),
], ref="Mesa gen8.xml 3DSTATE_WM_DEPTH_STENCIL")

WM_HZ_OP = gfx("3DSTATE_WM_HZ_OP", 0x7852, 5, [
    Bool("stencil_buffer_clear_enable", 1, 31),
    Bool("depth_buffer_clear_enable", 1, 30),
    Bool("scissor_rectangle_enable", 1, 29),
    Bool("depth_buffer_resolve_enable", 1, 28),
    Bool("hierarchical_depth_buffer_resolve_enable", 1, 27),
    Bool("pixel_position_offset_enable", 1, 26),
    Bool("full_surface_depth_and_stencil_clear", 1, 25),
    Uint("stencil_clear_value", 1, 23, 16),
    Enum("number_of_multisamples", 1, 15, 13, enum=SampleCount),
    Uint("clear_rectangle_y_min", 2, 31, 16),
    Uint("clear_rectangle_x_min", 2, 15, 0),
    Uint("clear_rectangle_y_max", 3, 31, 16, doc="exclusive, as drivers found"),
    Uint("clear_rectangle_x_max", 3, 15, 0, doc="exclusive, as drivers found"),
    Uint("sample_mask", 4, 15, 0, hex=True),
], ref="Mesa gen8.xml 3DSTATE_WM_HZ_OP", doc="arms an operation, which a PIPE_CONTROL with a post-sync write starts")

WM_CHROMAKEY = gfx("3DSTATE_WM_CHROMAKEY", 0x784C, 2, [
    Bool("chromakey_kill_enable", 1, 31),
], ref="Mesa gen8.xml 3DSTATE_WM_CHROMAKEY")

PS_EXTRA = gfx("3DSTATE_PS_EXTRA", 0x784F, 2, [
    Bool("pixel_shader_valid", 1, 31, doc="else the rest is 0"),
    Bool("pixel_shader_does_not_write_to_rt", 1, 30),
    Bool("omask_present_to_render_target", 1, 29),
    Bool("pixel_shader_kills_pixel", 1, 28),
    Enum("pixel_shader_computed_depth_mode", 1, 27, 26, enum=ComputedDepthMode),
    Bool("force_computed_depth", 1, 25, doc="to be left 0"),
    Bool("pixel_shader_uses_source_depth", 1, 24),
    Bool("pixel_shader_uses_source_w", 1, 23),
    Ignored(1, 9, 9),
    Bool("attribute_enable", 1, 8),
    Bool("pixel_shader_disables_alpha_to_coverage", 1, 7),
    Bool("pixel_shader_is_per_sample", 1, 6),
    Bool("pixel_shader_has_uav", 1, 2),
    Bool("pixel_shader_uses_input_coverage_mask", 1, 1),
], ref="KBLv2a 3DSTATE_PS_EXTRA")

# --- multisampling ----------------------------------------------------------------------------------------------------
MULTISAMPLE = gfx("3DSTATE_MULTISAMPLE", 0x780D, 2, [
    Bool("pixel_position_offset_enable", 1, 5, doc="DX9"),
    Enum("pixel_location", 1, 4, 4, enum=PixelLocation),
    Enum("number_of_multisamples", 1, 3, 1, enum=SampleCount),
], ref="KBLv2a 3DSTATE_MULTISAMPLE")

SAMPLE_MASK = gfx("3DSTATE_SAMPLE_MASK", 0x7818, 2, [
    Uint("sample_mask", 1, 15, 0, hex=True),
], ref="KBLv2a 3DSTATE_SAMPLE_MASK")


def sample_offsets(count: int, places: Iterable[tuple[int, int]]) -> list[Field]:
    """Offsets of samples 0, 1, ... of `count` from the upper left corner of the pixel, each at (dword, bit)."""
    return [Fixed(f"sample{i}_{axis}_offset_{count}x", dword, lo + half + 3, lo + half, frac=4)
            for i, (dword, lo) in enumerate(places) for axis, half in (("x", 4), ("y", 0))]


SAMPLE_PATTERN = gfx("3DSTATE_SAMPLE_PATTERN", 0x791C, 9, [
    *sample_offsets(8, [(6 - i // 4, i % 4 * 8) for i in range(8)]),
    *sample_offsets(4, [(7, i * 8) for i in range(4)]),
    *sample_offsets(1, [(8, 16)]),
    *sample_offsets(2, [(8, 0), (8, 8)]),
], ref="KBLv2a 3DSTATE_SAMPLE_PATTERN")


# --- lines, stipple, drawing rectangle --------------------------------------------------------------------------------
def _coverage(name: str, dword: int, hi: int) -> Field:
    return Fixed(name, dword, hi, hi - 7, frac=8)


AA_LINE_PARAMETERS = gfx("3DSTATE_AA_LINE_PARAMETERS", 0x790A, 3, [
    _coverage("aa_point_coverage_bias", 1, 31),
    _coverage("aa_coverage_bias", 1, 23),
    _coverage("aa_point_coverage_slope", 1, 15),
    _coverage("aa_coverage_slope", 1, 7),
    _coverage("aa_point_coverage_endcap_bias", 2, 31),
    _coverage("aa_coverage_endcap_bias", 2, 23),
    _coverage("aa_point_coverage_endcap_slope", 2, 15),
    _coverage("aa_coverage_endcap_slope", 2, 7),
], ref="KBLv2a 3DSTATE_AA_LINE_PARAMETERS", doc="a slope of 0 is the legacy coverage")

DRAWING_RECTANGLE = gfx("3DSTATE_DRAWING_RECTANGLE", 0x7900, 4, [
    Enum("core_mode_select", 0, 15, 14, enum=CoreModeSelect),
    Ignored(1, 31, 30),
    Uint("clipped_drawing_rectangle_y_min", 1, 29, 16),
    Ignored(1, 15, 14),
    Uint("clipped_drawing_rectangle_x_min", 1, 13, 0),
    Ignored(2, 31, 30),
    Uint("clipped_drawing_rectangle_y_max", 2, 29, 16, doc="inclusive"),
    Ignored(2, 15, 14),
    Uint("clipped_drawing_rectangle_x_max", 2, 13, 0, doc="inclusive"),
    Sint("drawing_rectangle_origin_y", 3, 31, 16, low=-16384, high=16383),
    Sint("drawing_rectangle_origin_x", 3, 15, 0, low=-16384, high=16383),
], ref="KBLv2a 3DSTATE_DRAWING_RECTANGLE")

REPLACED: tuple[Block, ...] = (
    CLIP, SF, SBE, WM, MULTISAMPLE, SAMPLE_MASK, AA_LINE_PARAMETERS, DRAWING_RECTANGLE,
)
ADDED: tuple[Block, ...] = (
    RASTER, SBE_SWIZ, WM_DEPTH_STENCIL, WM_HZ_OP, WM_CHROMAKEY, PS_EXTRA, SAMPLE_PATTERN,
)
