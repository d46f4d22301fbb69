"""The 3D commands of Sandy Bridge: the state of a unit is in its command, where Gen4 had a pointer to a block.

SNB PRM vol. 2 part 1.  The blocks that remain in memory are in `gen4emu.hw.gen6.state`.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Field, Fixed, Float, Ignored, Sint, Uint, When, unless, when
from gen4emu.hw.gen4.state import (
    ApiMode,
    CullMode,
    FloatingPointMode,
    FrontWinding,
    LineRegionWidth,
    PointRasterizationRule,
    SubPixelPrecision,
)
from gen4emu.hw.gen6.state import PALETTE_ENTRY, SF_OUTPUT_ATTRIBUTE_DETAIL
from gen4emu.hw.gen45 import GEN45
from gen4emu.hw.gen45.state import AaLineDistance
from gen4emu.hw.layout import Block, Command
from gen4emu.hw.reserved import block, gfx

_REF = "SNB PRM vol2 part1 "


class ThreadDispatchPriority(IntEnum):
    """The priority of a unit's threads; Gen4 forbids HIGH."""

    NORMAL = 0
    HIGH = 1


class FillMode(IntEnum):
    """FILL_MODE_*: triangles as areas, as their edges or as their corners."""

    SOLID = 0
    WIREFRAME = 1
    POINT = 2


class FixedClipMode(IntEnum):
    """CLIPMODE_* of the clipper without a kernel."""

    NORMAL = 0
    REJECT_ALL = 3
    ACCEPT_ALL = 4


class MultisampleRasterizationMode(IntEnum):
    """MSRASTMODE_*."""

    OFF_PIXEL = 0
    OFF_PATTERN = 1
    ON_PIXEL = 2
    ON_PATTERN = 3


class MultisampleDispatchMode(IntEnum):
    """MSDISPMODE_*."""

    PERSAMPLE = 0
    PERPIXEL = 1


class PositionZwInterpolationMode(IntEnum):
    """INTERP_*: where Z and W of a pixel are evaluated."""

    PIXEL = 0
    CENTROID = 2
    SAMPLE = 3


class PositionXyOffsetSelect(IntEnum):
    """POSOFFSET_*."""

    NONE = 0
    CENTROID = 2
    SAMPLE = 3


class PixelLocation(IntEnum):
    """PIXLOC_*: the place of a pixel that stands for it."""

    CENTER = 0
    UL_CORNER = 1


class NumberOfMultisamples(IntEnum):
    """NUMSAMPLES_*, of which Sandy Bridge has 1 and 4, and Gen7 8, too."""

    NUMSAMPLES_1 = 0
    NUMSAMPLES_4 = 2
    NUMSAMPLES_8 = 3


class ReorderMode(IntEnum):
    """The order of the vertices of an odd triangle of a strip."""

    LEADING = 0
    TRAILING = 1


class PointSpriteOrigin(IntEnum):
    """The corner of a point sprite whose texture coordinate is (0, 0)."""

    UPPERLEFT = 0
    LOWERLEFT = 1


class PointWidthSource(IntEnum):
    """Whether the vertex or the state has the width of a point."""

    VERTEX = 0
    STATE = 1


Rules = tuple[When, ...]


# --- pointers ---------------------------------------------------------------------------------------------------------
def pointer(name: str, dword: int, lo: int, target: str, change: str, base: str = "dynamic_state") -> list[Field]:
    """A pointer that counts if a bit of the same command says so; the unit keeps its old one if not."""
    return [
        Address(name, dword, 31, lo, base=base, target=target, when=(when(change, 1),)),
        Ignored(dword, 31, lo, when=(unless(change, 1),)),
    ]


BINDING_TABLE_POINTERS = gfx("3DSTATE_BINDING_TABLE_POINTERS", 0x7801, 4, [
    Bool("ps_binding_table_change", 0, 12),
    Bool("gs_binding_table_change", 0, 9),
    Bool("vs_binding_table_change", 0, 8),
    *pointer("pointer_to_vs_binding_table", 1, 5, "BINDING_TABLE_STATE", "vs_binding_table_change", "surface_state"),
    *pointer("pointer_to_gs_binding_table", 2, 5, "BINDING_TABLE_STATE", "gs_binding_table_change", "surface_state"),
    *pointer("pointer_to_ps_binding_table", 3, 5, "BINDING_TABLE_STATE", "ps_binding_table_change", "surface_state"),
], ref=_REF + "3DSTATE_BINDING_TABLE_POINTERS", doc="CLIP and SF have no kernels and so no tables")

SAMPLER_STATE_POINTERS = gfx("3DSTATE_SAMPLER_STATE_POINTERS", 0x7802, 4, [
    Bool("ps_sampler_state_change", 0, 12),
    Bool("gs_sampler_state_change", 0, 9),
    Bool("vs_sampler_state_change", 0, 8),
    *pointer("pointer_to_vs_sampler_state", 1, 5, "SAMPLER_STATE", "vs_sampler_state_change"),
    *pointer("pointer_to_gs_sampler_state", 2, 5, "SAMPLER_STATE", "gs_sampler_state_change"),
    *pointer("pointer_to_ps_sampler_state", 3, 5, "SAMPLER_STATE", "ps_sampler_state_change"),
], ref=_REF + "3DSTATE_SAMPLER_STATE_POINTERS")

VIEWPORT_STATE_POINTERS = gfx("3DSTATE_VIEWPORT_STATE_POINTERS", 0x780D, 4, [
    Bool("cc_viewport_state_change", 0, 12),
    Bool("sf_viewport_state_change", 0, 11),
    Bool("clip_viewport_state_change", 0, 10),
    *pointer("pointer_to_clip_viewport", 1, 5, "CLIP_VIEWPORT", "clip_viewport_state_change"),
    *pointer("pointer_to_sf_viewport", 2, 5, "SF_VIEWPORT", "sf_viewport_state_change"),
    *pointer("pointer_to_cc_viewport", 3, 5, "CC_VIEWPORT", "cc_viewport_state_change"),
], ref=_REF + "3DSTATE_VIEWPORT_STATE_POINTERS")

CC_STATE_POINTERS = gfx("3DSTATE_CC_STATE_POINTERS", 0x780E, 4, [
    *pointer("pointer_to_blend_state", 1, 6, "BLEND_STATE", "blend_state_change"),
    Bool("blend_state_change", 1, 0),
    *pointer("pointer_to_depth_stencil_state", 2, 6, "DEPTH_STENCIL_STATE", "depth_stencil_state_change"),
    Bool("depth_stencil_state_change", 2, 0),
    *pointer("color_calc_state_pointer", 3, 6, "COLOR_CALC_STATE", "color_calc_state_pointer_valid"),
    Bool("color_calc_state_pointer_valid", 3, 0),
], ref=_REF + "3DSTATE_CC_STATE_POINTERS")

SCISSOR_STATE_POINTERS = gfx("3DSTATE_SCISSOR_STATE_POINTERS", 0x780F, 2, [
    Address("scissor_rect_pointer", 1, 31, 5, base="dynamic_state", target="SCISSOR_RECT"),
], ref=_REF + "3DSTATE_SCISSOR_STATE_POINTERS")

# --- vertex fetch and URB ---------------------------------------------------------------------------------------------
URB = gfx("3DSTATE_URB", 0x7805, 3, [
    Uint("vs_urb_entry_allocation_size", 1, 23, 16, bias=1, high=5, doc="in units of 1024 bits"),
    Uint("vs_number_of_urb_entries", 1, 15, 0, low=24, high=256, doc="a multiple of 4"),
    Uint("gs_number_of_urb_entries", 2, 17, 8, high=256, doc="a multiple of 4"),
    Uint("gs_urb_entry_allocation_size", 2, 2, 0, bias=1, high=5, doc="in units of 1024 bits"),
], ref=_REF + "3DSTATE_URB", doc="Gen7 gives this code to 3DSTATE_DEPTH_BUFFER")


INDEX_BUFFER = GEN45.command("3DSTATE_INDEX_BUFFER").changed(
    Uint("memory_object_control_state", 0, 15, 12, hex=True), ref=_REF + "3DSTATE_INDEX_BUFFER")

# --- the shader stages ------------------------------------------------------------------------------------------------
def kernel(dword: int, number: str = "", used: Rules = ()) -> Field:
    """The entry of a kernel; its registers are not counted any more."""
    return Address(f"kernel_start_pointer{number}", dword, 31, 6, base="instruction", target="KERNEL", when=used)


def thread_start(dword: int, single: str, *, priority: bool = True, mask_stack: bool = True) -> list[Field]:
    """The dword that Gen4 had after the kernel's address; `single` is the meaning of bit 31."""
    return [
        Bool(single, dword, 31),
        Bool("vector_mask_enable", dword, 30, doc="the mask of the subspan's pixels, else the dispatch mask"),
        Uint("sampler_count", dword, 29, 27, scale=4, high=16, doc="rounded up to 4; for prefetching only"),
        Uint("binding_table_entry_count", dword, 25, 18, doc="for prefetching only"),
        *([Enum("thread_priority", dword, 17, 17, ThreadDispatchPriority)] if priority else []),
        Enum("floating_point_mode", dword, 16, 16, FloatingPointMode),
        Bool("illegal_opcode_exception_enable", dword, 13),
        *([Bool("mask_stack_exception_enable", dword, 11)] if mask_stack else []),
        Bool("software_exception_enable", dword, 7),
    ]


def scratch(dword: int) -> list[Field]:
    """Scratch memory of the unit's threads."""
    return [
        Address("scratch_space_base_pointer", dword, 31, 10, base="general_state", target="SCRATCH"),
        Uint("per_thread_scratch_space", dword, 3, 0, high=11, doc="bytes are 1024 << n"),
    ]


def urb_reads(entry: str, dword: int, length_hi: int = 16) -> list[Field]:
    """The part of each input entry that goes into the payload."""
    return [
        Uint(f"{entry}_urb_entry_read_length", dword, length_hi, 11, doc="in rows of 256 bits"),
        Uint(f"{entry}_urb_entry_read_offset", dword, 9, 4, doc="in rows of 256 bits"),
    ]


VS = gfx("3DSTATE_VS", 0x7810, 6, [
    kernel(1),
    *thread_start(2, "single_vertex_dispatch", priority=False, mask_stack=False),
    *scratch(3),
    Uint("dispatch_grf_start_register_for_urb_data", 4, 24, 20),
    *urb_reads("vertex", 4),
    Uint("maximum_number_of_threads", 5, 31, 25, bias=1, high=60),
    Bool("statistics_enable", 5, 10),
    Bool("vertex_cache_disable", 5, 1),
    Bool("enable", 5, 0),
], ref=_REF + "3DSTATE_VS")

GS = gfx("3DSTATE_GS", 0x7811, 7, [
    kernel(1),
    *thread_start(2, "single_program_flow"),
    *scratch(3),
    *urb_reads("vertex", 4),
    Uint("dispatch_grf_start_register_for_urb_data", 4, 3, 0),
    Uint("maximum_number_of_threads", 5, 31, 25, bias=1, high=60),
    Bool("statistics_enable", 5, 10),
    Bool("so_statistics_enable", 5, 9),
    Bool("rendering_enabled", 5, 8, doc="0: the objects go no further"),
    Enum("reorder_mode", 6, 30, 30, ReorderMode),
    Bool("discard_adjacency", 6, 29),
    Bool("svbi_payload_enable", 6, 28),
    Bool("svbi_post_increment_enable", 6, 27),
    Uint("svbi_post_increment_value", 6, 25, 16),
    Bool("enable", 6, 15),
], ref=_REF + "3DSTATE_GS")


def _constant_buffer(i: int, dword: int, used: Rules = ()) -> list[Field]:
    return [
        Address(f"pointer_to_constant_buffer_{i}", dword, 31, 5, base="" if i else "dynamic_state", target="CONSTANTS",
                count=f"constant_buffer_{i}_read_length", when=used,
                doc="" if i else "absolute if INSTPM disables the constant buffer offset"),
        Uint(f"constant_buffer_{i}_read_length", dword, 4, 0, bias=1, when=used, doc="in rows of 256 bits"),
    ]


def _constants(stage: str, code: int) -> Command:
    """Up to four buffers, which go into the payload one after the other."""
    name = f"3DSTATE_CONSTANT_{stage}"
    fields: list[Field] = [Uint("constant_buffer_object_control_state", 0, 11, 8, hex=True)]
    for i in range(4):
        valid = f"buffer_{i}_valid"
        fields += [Bool(valid, 0, 12 + i), *_constant_buffer(i, 1 + i, (when(valid, 1),)),
                   Ignored(1 + i, 31, 0, when=(unless(valid, 1),))]
    return gfx(name, code, 5, fields, ref=_REF + name)


CONSTANT_BODY = block("3DSTATE_CONSTANT_BODY", 4, [f for i in range(4) for f in _constant_buffer(i, i)],
                      ref=_REF + "3DSTATE_CONSTANT_VS", doc="dwords 1 to 4 of 3DSTATE_CONSTANT_*")

# --- CLIP and SF, which have no kernels -------------------------------------------------------------------------------
def provoking_vertices(dword: int, strip: int, line: int, fan: int) -> list[Field]:
    """The three selects by their low bits."""
    return [
        Uint("triangle_strip_list_provoking_vertex_select", dword, strip + 1, strip, high=2),
        Uint("line_strip_list_provoking_vertex_select", dword, line + 1, line, high=1),
        Uint("triangle_fan_provoking_vertex_select", dword, fan + 1, fan, high=2),
    ]


CLIP = gfx("3DSTATE_CLIP", 0x7812, 4, [
    Bool("statistics_enable", 1, 10),
    Uint("user_clip_distance_cull_test_enable_bitmask", 1, 7, 0, hex=True),
    Bool("clip_enable", 2, 31),
    Enum("api_mode", 2, 30, 30, ApiMode),
    Bool("viewport_xy_clip_test_enable", 2, 28),
    Bool("viewport_z_clip_test_enable", 2, 27),
    Bool("guardband_clip_test_enable", 2, 26),
    Uint("user_clip_distance_clip_test_enable_bitmask", 2, 23, 16, hex=True),
    Enum("clip_mode", 2, 15, 13, FixedClipMode),
    Bool("perspective_divide_disable", 2, 9),
    Bool("non_perspective_barycentric_enable", 2, 8),
    *provoking_vertices(2, 4, 2, 0),
    Fixed("minimum_point_width", 3, 27, 17, frac=3, doc="of a width from the vertex"),
    Fixed("maximum_point_width", 3, 16, 6, frac=3),
    Bool("force_zero_rta_index_enable", 3, 5),
    Uint("maximum_vp_index", 3, 3, 0),
], ref=_REF + "3DSTATE_CLIP")


def setup_output(dword: int) -> list[Field]:
    """The attributes that leave SF: on Gen7 a command of their own, 3DSTATE_SBE."""
    return [
        Uint("number_of_sf_output_attributes", dword, 27, 22, high=32),
        Bool("attribute_swizzle_enable", dword, 21, doc="of the first 16 attributes, by the table that follows"),
        Enum("point_sprite_texture_coordinate_origin", dword, 20, 20, PointSpriteOrigin),
        Uint("vertex_urb_entry_read_length", dword, 15, 11, low=1, high=16, doc="in rows of 256 bits"),
        Uint("vertex_urb_entry_read_offset", dword, 9, 4, doc="in rows of 256 bits"),
    ]


def setup_attributes(dword: int) -> list[Field | Array]:
    """Twelve dwords: sources of attributes 0 to 15, masks of all 32, and wrapping of 0 to 15."""
    return [
        Array("attributes", dword, SF_OUTPUT_ATTRIBUTE_DETAIL, 8),
        Uint("point_sprite_texture_coordinate_enable", dword + 8, 31, 0, hex=True, doc="bit i is attribute i"),
        Uint("constant_interpolation_enable", dword + 9, 31, 0, hex=True, doc="bit i is attribute i"),
        *(Uint(f"attribute_{i}_wrapshortest_enables", dword + 10 + i // 8, 4 * (i % 8) + 3, 4 * (i % 8), hex=True)
          for i in range(16)),
    ]


def setup(dword: int, *more: Field) -> list[Field]:
    """Six dwords: facing, culling, widths and depth offsets."""
    return [
        *more,
        Bool("legacy_global_depth_bias_enable", dword, 11),
        Bool("statistics_enable", dword, 10),
        Bool("global_depth_offset_enable_solid", dword, 9),
        Bool("global_depth_offset_enable_wireframe", dword, 8),
        Bool("global_depth_offset_enable_point", dword, 7),
        Enum("frontface_fill_mode", dword, 6, 5, FillMode),
        Enum("backface_fill_mode", dword, 4, 3, FillMode),
        Bool("viewport_transform_enable", dword, 1),
        Enum("front_winding", dword, 0, 0, FrontWinding),
        Bool("antialiasing_enable", dword + 1, 31, doc="of lines"),
        Enum("cull_mode", dword + 1, 30, 29, CullMode),
        Fixed("line_width", dword + 1, 27, 18, frac=7, doc="0 is the cosmetic line"),
        Enum("line_end_cap_antialiasing_region_width", dword + 1, 17, 16, LineRegionWidth),
        Bool("scissor_rectangle_enable", dword + 1, 11),
        Enum("multisample_rasterization_mode", dword + 1, 9, 8, MultisampleRasterizationMode),
        Bool("last_pixel_enable", dword + 2, 31),
        *provoking_vertices(dword + 2, 29, 27, 25),
        Enum("aa_line_distance_mode", dword + 2, 14, 14, AaLineDistance),
        Enum("vertex_sub_pixel_precision_select", dword + 2, 12, 12, SubPixelPrecision),
        Enum("point_width_source", dword + 2, 11, 11, PointWidthSource),
        Fixed("point_width", dword + 2, 10, 0, frac=3),
        Float("global_depth_offset_constant", dword + 3, 31, 0),
        Float("global_depth_offset_scale", dword + 4, 31, 0),
        Float("global_depth_offset_clamp", dword + 5, 31, 0),
    ]


SF = gfx("3DSTATE_SF", 0x7813, 20, [*setup_output(1), *setup(2), *setup_attributes(8)], ref=_REF + "3DSTATE_SF")


# --- WM ---------------------------------------------------------------------------------------------------------------
def dispatch_start(dword: int) -> list[Field]:
    """The first register after the payload, for each of the three kernels."""
    return [Uint(f"dispatch_grf_start_register_for_constant_setup_data_{i}", dword, 22 - 8 * i, 16 - 8 * i)
            for i in range(3)]


def dispatch_enables(dword: int) -> list[Field]:
    """The widths at which pixels may be dispatched."""
    return [Bool(f"dispatch_{8 << i}_pixel_enable", dword, i) for i in range(3)]


def depth_buffer_operations(dword: int) -> list[Field]:
    """The operations of a rectangle on the depth buffer and its hierarchical depth buffer."""
    return [
        Bool("statistics_enable", dword, 31),
        Bool("depth_buffer_clear", dword, 30),
        Bool("depth_buffer_resolve_enable", dword, 28),
        Bool("hierarchical_depth_buffer_resolve_enable", dword, 27),
    ]


WM = gfx("3DSTATE_WM", 0x7814, 9, [
    kernel(1, "_0"),
    *thread_start(2, "single_program_flow"),
    *scratch(3),
    *depth_buffer_operations(4),
    *dispatch_start(4),
    Uint("maximum_number_of_threads", 5, 31, 25, bias=1, high=80),
    Bool("legacy_diamond_line_rasterization", 5, 23),
    Bool("pixel_shader_kills_pixel", 5, 22),
    Bool("pixel_shader_computed_depth", 5, 21),
    Bool("pixel_shader_uses_source_depth", 5, 20),
    Bool("thread_dispatch_enable", 5, 19),
    Enum("line_end_cap_antialiasing_region_width", 5, 17, 16, LineRegionWidth),
    Enum("line_antialiasing_region_width", 5, 15, 14, LineRegionWidth),
    Bool("polygon_stipple_enable", 5, 13),
    Bool("line_stipple_enable", 5, 11),
    Bool("omask_present_to_rendertarget", 5, 9),
    Bool("pixel_shader_uses_source_w", 5, 8),
    Bool("dual_source_blend_enable", 5, 7),
    *dispatch_enables(5),
    Uint("number_of_sf_output_attributes", 6, 25, 20, high=32),
    Enum("position_xy_offset_select", 6, 19, 18, PositionXyOffsetSelect),
    Enum("position_zw_interpolation_mode", 6, 17, 16, PositionZwInterpolationMode),
    Uint("barycentric_interpolation_mode", 6, 15, 10, hex=True,
         doc="bits 0 to 2: perspective at the pixel, the centroid, the sample; 3 to 5: linear"),
    Enum("point_rasterization_rule", 6, 9, 9, PointRasterizationRule),
    Enum("multisample_rasterization_mode", 6, 2, 1, MultisampleRasterizationMode),
    Enum("multisample_dispatch_mode", 6, 0, 0, MultisampleDispatchMode),
    kernel(7, "_1"),
    kernel(8, "_2"),
], ref=_REF + "3DSTATE_WM")

SAMPLE_MASK = gfx("3DSTATE_SAMPLE_MASK", 0x7818, 2, [
    Uint("sample_mask", 1, 3, 0, hex=True),
], ref=_REF + "3DSTATE_SAMPLE_MASK")

# --- depth and stencil ------------------------------------------------------------------------------------------------
DEPTH_BUFFER = GEN45.command("3DSTATE_DEPTH_BUFFER").changed(
    Bool("hierarchical_depth_buffer_enable", 1, 22),
    Bool("separate_stencil_buffer_enable", 1, 21, doc="equal to the bit before"),
    Uint("depth_buffer_object_control_state", 6, 31, 27, hex=True),
    remove=["depth_buffer_coordinate_offset_disable"], dwords=7, ref=_REF + "3DSTATE_DEPTH_BUFFER")


def depth_companion(name: str, code: int, control: str, *more: Field) -> Command:
    """The stencil buffer or the hierarchical depth buffer, whose size is that of the depth buffer."""
    return gfx(name, code, 3, [
        *more,
        Uint(f"{control}_object_control_state", 1, 28, 25, hex=True),
        Uint("surface_pitch", 1, 16, 0, bias=1, doc="in bytes; of a stencil buffer, two rows of it"),
        Address("surface_base_address", 2, 31, 0, target="SURFACE_DATA"),
    ], ref=_REF + name)


STENCIL_BUFFER = depth_companion("3DSTATE_STENCIL_BUFFER", 0x790E, "stencil_buffer")
HIER_DEPTH_BUFFER = depth_companion("3DSTATE_HIER_DEPTH_BUFFER", 0x790F, "hierarchical_depth_buffer")

CLEAR_PARAMS = gfx("3DSTATE_CLEAR_PARAMS", 0x7910, 2, [
    Bool("depth_clear_value_valid", 0, 15),
    Uint("depth_clear_value", 1, 31, 0, hex=True, doc="the bits of a float for D32_FLOAT, else an integer"),
], ref=_REF + "3DSTATE_CLEAR_PARAMS")


# --- other non-pipelined state ----------------------------------------------------------------------------------------
def sample_offsets(dword: int, count: int) -> list[Field]:
    """The positions of samples in units of 1/16 pixel from its upper left corner, four to a dword."""
    return [
        Fixed(f"sample{i}_{axis}_offset", dword + i // 4, 8 * (i % 4) + lo + 3, 8 * (i % 4) + lo, frac=4)
        for i in range(count) for axis, lo in (("x", 4), ("y", 0))
    ]


MULTISAMPLE = gfx("3DSTATE_MULTISAMPLE", 0x790D, 3, [
    Enum("pixel_location", 1, 4, 4, PixelLocation),
    Enum("number_of_multisamples", 1, 3, 1, NumberOfMultisamples),
    *sample_offsets(2, 4),
], ref=_REF + "3DSTATE_MULTISAMPLE")

PALETTE_LOADS = tuple(
    GEN45.command(name).changed(Array("palette_colors", 1, PALETTE_ENTRY), ref=f"SNB PRM vol4 part1 {name}")
    for name in ("3DSTATE_SAMPLER_PALETTE_LOAD0", "3DSTATE_SAMPLER_PALETTE_LOAD1"))

MONOFILTER_SIZE = gfx("3DSTATE_MONOFILTER_SIZE", 0x7911, 2, [
    Uint("monochrome_filter_width", 1, 5, 3, low=1),
    Uint("monochrome_filter_height", 1, 2, 0, low=1),
], ref=_REF + "3DSTATE_MONOFILTER_SIZE")

DRAWING_RECTANGLE = gfx("3DSTATE_DRAWING_RECTANGLE", 0x7900, 4, [
    Uint("clipped_drawing_rectangle_y_min", 1, 31, 16),
    Uint("clipped_drawing_rectangle_x_min", 1, 15, 0),
    Uint("clipped_drawing_rectangle_y_max", 2, 31, 16, doc="inclusive"),
    Uint("clipped_drawing_rectangle_x_max", 2, 15, 0, doc="inclusive"),
    Sint("drawing_rectangle_origin_y", 3, 31, 16),
    Sint("drawing_rectangle_origin_x", 3, 15, 0),
], ref=_REF + "3DSTATE_DRAWING_RECTANGLE")

LINE_STIPPLE = GEN45.command("3DSTATE_LINE_STIPPLE").changed(ref=_REF + "3DSTATE_LINE_STIPPLE")
GS_SVB_INDEX = GEN45.command("3DSTATE_GS_SVB_INDEX").changed(ref=_REF + "3DSTATE_GS_SVB_INDEX")

# --- the primitive ----------------------------------------------------------------------------------------------------
PRIMITIVE = GEN45.command("3DPRIMITIVE").changed(
    Bool("internal_vertex_count", 0, 9, doc="the count is the one that streamed output kept"),
    Uint("vertex_count_per_instance", 1, 31, 0, doc="0 is a no-op"),
    remove=["indirect_vertex_count", "vertex_count_address"], ref=_REF + "3DPRIMITIVE")

REPLACED: tuple[Block, ...] = (
    BINDING_TABLE_POINTERS, INDEX_BUFFER, DEPTH_BUFFER, DRAWING_RECTANGLE, LINE_STIPPLE, GS_SVB_INDEX, *PALETTE_LOADS,
    PRIMITIVE,
)
ADDED: tuple[Block, ...] = (
    SAMPLER_STATE_POINTERS, URB, VIEWPORT_STATE_POINTERS, CC_STATE_POINTERS, SCISSOR_STATE_POINTERS, VS, GS, CLIP, SF,
    WM, _constants("VS", 0x7815), _constants("GS", 0x7816), _constants("PS", 0x7817), SAMPLE_MASK, STENCIL_BUFFER,
    HIER_DEPTH_BUFFER, CLEAR_PARAMS, MULTISAMPLE, MONOFILTER_SIZE, CONSTANT_BODY,
)
REMOVED: tuple[str, ...] = (
    "3DSTATE_PIPELINED_POINTERS", "3DSTATE_CONSTANT_COLOR", "3DSTATE_GLOBAL_DEPTH_OFFSET_CLAMP",
)
