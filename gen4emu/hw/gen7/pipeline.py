"""The 3D commands of Ivy Bridge, as differences to Sandy Bridge: three more stages, and one command for each pointer.

IVB PRM vol. 2 part 1.  The depth commands, which had 7905, 790E, 790F and 7910, are now 7804 to 7807; 7805 was
3DSTATE_URB.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Field, Fixed, Float, Ignored, Sint, Uint, unless, when
from gen4emu.hw.gen4.pipeline import DepthFormat, DepthSurfaceType, VertexAccessType
from gen4emu.hw.gen4.state import (
    CullMode,
    FloatingPointMode,
    FrontWinding,
    LineRegionWidth,
    PointRasterizationRule,
    SubPixelPrecision,
)
from gen4emu.hw.gen6 import pipeline as gen6
from gen4emu.hw.gen6.pipeline import (
    MultisampleRasterizationMode,
    PositionXyOffsetSelect,
    PositionZwInterpolationMode,
    ReorderMode,
)
from gen4emu.hw.gen7.state import SO_DECL_ENTRY
from gen4emu.hw.layout import Block, Command
from gen4emu.hw.reserved import block, gfx, must_be_one
from gen4emu.hw.topology import PatchTopology

_REF = "IVB PRM vol2 part1 "

STAGES = ("VS", "HS", "DS", "GS", "PS")


class SeparateDepthFormat(IntEnum):
    """The formats of a depth buffer, whose stencil is always in a buffer of its own."""

    D32_FLOAT = 1
    D24_UNORM_X8_UINT = 3
    D16_UNORM = 5


class DispatchMode(IntEnum):
    """The objects or instances that share a thread of GS."""

    SINGLE = 0
    DUAL_INSTANCE = 1
    DUAL_OBJECT = 2


class ControlDataFormat(IntEnum):
    """GSCTL_*: one bit a vertex that ends a strip, or two bits that are its stream."""

    CUT = 0
    SID = 1


class TessellationMode(IntEnum):
    """TE Mode."""

    HW_TESS = 0
    SW_TESS = 1


class TessellationDomain(IntEnum):
    """TE Domain."""

    QUAD = 0
    TRI = 1
    ISOLINE = 2


class TessellationOutput(IntEnum):
    """Output Topology of TE."""

    POINT = 0
    LINE = 1
    TRI_CW = 2
    TRI_CCW = 3


class TessellationPartitioning(IntEnum):
    """Partitioning of an edge."""

    INTEGER = 0
    ODD_FRACTIONAL = 1
    EVEN_FRACTIONAL = 2


class AttributeSwizzleControlMode(IntEnum):
    """The attributes that the swizzle table is for."""

    SWIZ_0_15 = 0
    SWIZ_16_31 = 1


class EarlyDepthStencilControl(IntEnum):
    """EDSC_*."""

    NORMAL = 0
    PSEXEC = 1
    PREPS = 2


class ComputedDepthMode(IntEnum):
    """PSCDEPTH_*: how the depth of the pixel shader may differ from the interpolated one."""

    OFF = 0
    ON = 1
    ON_GE = 2
    ON_LE = 3


class RoundingMode(IntEnum):
    """The rounding of a thread's arithmetic (CR0.0)."""

    RTNE = 0
    RU = 1
    RD = 2
    RTZ = 3


class DenormalMode(IntEnum):
    """Whether denormal single-precision numbers are flushed to zero or retained."""

    FTZ = 0
    RET = 1


def stages(make: Callable[[str, int], Command], first: int, order: tuple[str, ...] = STAGES) -> tuple[Command, ...]:
    """A command for each stage, with consecutive codes."""
    return tuple(make(stage, first + i) for i, stage in enumerate(order))


# --- pointers ---------------------------------------------------------------------------------------------------------
def _pointer(name: str, code: int, field: str, target: str, lo: int, *more: Field, hi: int = 31,
             base: str = "dynamic_state") -> Command:
    return gfx(name, code, 2, [Address(field, 1, hi, lo, base=base, target=target), *more], ref=_REF + name)


def _binding_table(stage: str, code: int) -> Command:
    return _pointer(f"3DSTATE_BINDING_TABLE_POINTERS_{stage}", code, f"pointer_to_{stage.lower()}_binding_table",
                    "BINDING_TABLE_STATE", 5, hi=15, base="surface_state")


def _samplers(stage: str, code: int) -> Command:
    return _pointer(f"3DSTATE_SAMPLER_STATE_POINTERS_{stage}", code, f"pointer_to_{stage.lower()}_sampler_state",
                    "SAMPLER_STATE", 5)


POINTERS: tuple[Command, ...] = (
    _pointer("3DSTATE_VIEWPORT_STATE_POINTERS_SF_CLIP", 0x7821, "sf_clip_viewport_pointer", "SF_CLIP_VIEWPORT", 6),
    _pointer("3DSTATE_VIEWPORT_STATE_POINTERS_CC", 0x7823, "cc_viewport_pointer", "CC_VIEWPORT", 5),
    # Bit 0 was "change" on Sandy Bridge and is "valid" on Broadwell; in between it must be set and says nothing.
    _pointer("3DSTATE_BLEND_STATE_POINTERS", 0x7824, "blend_state_pointer", "BLEND_STATE", 6, must_be_one(1, 0)),
    _pointer("3DSTATE_DEPTH_STENCIL_STATE_POINTERS", 0x7825, "pointer_to_depth_stencil_state", "DEPTH_STENCIL_STATE",
             6, must_be_one(1, 0)),
    *stages(_binding_table, 0x7826),
    *stages(_samplers, 0x782B),
)
CC_STATE_POINTERS = _pointer("3DSTATE_CC_STATE_POINTERS", 0x780E, "color_calc_state_pointer", "COLOR_CALC_STATE", 6,
                             must_be_one(1, 0))


# --- URB and push constants -------------------------------------------------------------------------------------------
# Entries of each stage: of the GT2, which has the most.
_URB_ENTRIES = {"VS": (32, 704), "HS": (0, 64), "DS": (0, 448), "GS": (0, 320)}


def urb(stage: str, code: int, ref: str = _REF, start_hi: int = 29, entries: int = 0) -> Command:
    """The region of a stage in the URB; on Sandy Bridge one command had both regions."""
    name, field = f"3DSTATE_URB_{stage}", stage.lower()
    low, high = _URB_ENTRIES[stage]
    return gfx(name, code, 2, [
        Uint(f"{field}_urb_starting_address", 1, start_hi, 25, scale=8192, hex=True, doc="in bytes"),
        Uint(f"{field}_urb_entry_allocation_size", 1, 24, 16, bias=1, doc="in units of 512 bits"),
        Uint(f"{field}_number_of_urb_entries", 1, 15, 0, low=low, high=entries or high),
    ], ref=ref + name)


URB: tuple[Command, ...] = stages(urb, 0x7830, STAGES[:4])


def push_constant_alloc(stage: str, code: int, ref: str = _REF, offset_hi: int = 19, size_hi: int = 4) -> Command:
    """The part of the push constant buffer that a stage has."""
    name = f"3DSTATE_PUSH_CONSTANT_ALLOC_{stage}"
    return gfx(name, code, 2, [
        Uint("constant_buffer_offset", 1, offset_hi, 16, scale=1024, doc="in bytes"),
        Uint("constant_buffer_size", 1, size_hi, 0, scale=1024, high=512 << size_hi, doc="in bytes"),
    ], ref=ref + name)


PUSH_CONSTANT_ALLOCS: tuple[Command, ...] = stages(push_constant_alloc, 0x7912)


def _constant_body(dword: int) -> list[Field]:
    """Four lengths, of which 0 turns a buffer off, and four addresses; the first one is an offset."""
    return [
        *(Uint(f"constant_buffer_{i}_read_length", dword + i // 2, 16 * (i % 2) + 15, 16 * (i % 2),
               doc="in rows of 256 bits") for i in range(4)),
        *(Address(f"pointer_to_constant_buffer_{i}", dword + 2 + i, 31, 5, base="" if i else "dynamic_state",
                  target="CONSTANTS", count=f"constant_buffer_{i}_read_length",
                  doc="" if i else "absolute if INSTPM disables the constant buffer offset") for i in range(4)),
        Uint("constant_buffer_object_control_state", dword + 2, 4, 0, hex=True),
    ]


CONSTANT_BODY = block("3DSTATE_CONSTANT_BODY", 6, _constant_body(0), ref=_REF + "3DSTATE_CONSTANT_VS",
                      doc="dwords 1 to 6 of 3DSTATE_CONSTANT_*")


def _constants(stage: str, code: int) -> Command:
    name = f"3DSTATE_CONSTANT_{stage}"
    return gfx(name, code, 7, _constant_body(1), ref=_REF + name)


CONSTANTS: tuple[Command, ...] = tuple(_constants(stage, code) for stage, code in (
    ("VS", 0x7815), ("GS", 0x7816), ("PS", 0x7817)))
MORE_CONSTANTS: tuple[Command, ...] = (_constants("HS", 0x7819), _constants("DS", 0x781A))

# --- the shader stages ------------------------------------------------------------------------------------------------
VS = gen6.VS.changed(Uint("maximum_number_of_threads", 5, 31, 25, bias=1, high=128), ref=_REF + "3DSTATE_VS")

HS = gfx("3DSTATE_HS", 0x781B, 7, [
    Uint("sampler_count", 1, 29, 27, scale=4, high=16, doc="rounded up to 4; for prefetching only"),
    Uint("binding_table_entry_count", 1, 25, 18, doc="for prefetching only"),
    Enum("floating_point_mode", 1, 16, 16, FloatingPointMode),
    Bool("illegal_opcode_exception_enable", 1, 13),
    Bool("software_exception_enable", 1, 7),
    Uint("maximum_number_of_threads", 1, 6, 0, bias=1, high=128),
    Bool("enable", 2, 31),
    Bool("statistics_enable", 2, 29),
    Uint("instance_count", 2, 3, 0, bias=1, doc="threads for each patch"),
    gen6.kernel(3),
    *gen6.scratch(4),
    Bool("single_program_flow", 5, 27),
    Bool("vector_mask_enable", 5, 26),
    Bool("include_vertex_handles", 5, 24),
    Uint("dispatch_grf_start_register_for_urb_data", 5, 23, 19),
    *gen6.urb_reads("vertex", 5),
    Uint("semaphore_handle", 6, 11, 0, hex=True, doc="a URB address, in rows of 512 bits"),
], ref=_REF + "3DSTATE_HS")

TE = gfx("3DSTATE_TE", 0x781C, 4, [
    Enum("partitioning", 1, 13, 12, TessellationPartitioning),
    Enum("output_topology", 1, 9, 8, TessellationOutput),
    Enum("te_domain", 1, 5, 4, TessellationDomain),
    Enum("te_mode", 1, 2, 1, TessellationMode),
    Bool("te_enable", 1, 0),
    Float("maximum_tessellation_factor_odd", 2, 31, 0),
    Float("maximum_tessellation_factor_not_odd", 3, 31, 0),
], ref=_REF + "3DSTATE_TE")

DS = gfx("3DSTATE_DS", 0x781D, 6, [
    gen6.kernel(1),
    *gen6.thread_start(2, "single_domain_point_dispatch", priority=False, mask_stack=False),
    *gen6.scratch(3),
    Uint("dispatch_grf_start_register_for_urb_data", 4, 24, 20),
    *gen6.urb_reads("patch", 4, length_hi=17),
    Uint("maximum_number_of_threads", 5, 31, 25, bias=1, high=128),
    Bool("statistics_enable", 5, 10),
    Bool("compute_w_coordinate_enable", 5, 2),
    Bool("ds_cache_disable", 5, 1),
    Bool("enable", 5, 0),
], ref=_REF + "3DSTATE_DS")

# Nothing of dwords 5 and 6 is where Sandy Bridge has it but the threads and the statistics.
GS = gen6.GS.changed(
    Uint("output_vertex_size", 4, 28, 23, bias=1, doc="in units of 128 bits"),
    Enum("output_topology", 4, 22, 17, PatchTopology, when=(when("enable", 1),)),
    Ignored(4, 22, 17, when=(unless("enable", 1),)),
    Bool("include_vertex_handles", 4, 10),
    Uint("maximum_number_of_threads", 5, 31, 25, bias=1, high=128),
    Enum("control_data_format", 5, 24, 24, ControlDataFormat),
    Uint("control_data_header_size", 5, 23, 20, high=8, doc="in rows of 256 bits"),
    Uint("instance_control", 5, 19, 15, bias=1, doc="instances of each object"),
    Uint("default_streamid", 5, 14, 13),
    Enum("dispatch_mode", 5, 12, 11, DispatchMode),
    Uint("gs_invocations_increment_value", 5, 9, 5, bias=1),
    Bool("include_primitive_id", 5, 4),
    Uint("hint", 5, 3, 3, doc="for the payload"),
    Enum("reorder_mode", 5, 2, 2, ReorderMode),
    Bool("discard_adjacency", 5, 1),
    Bool("enable", 5, 0),
    Uint("semaphore_handle", 6, 11, 0, hex=True, doc="a URB address, in rows of 512 bits"),
    remove=["so_statistics_enable", "rendering_enabled", "svbi_payload_enable", "svbi_post_increment_enable",
            "svbi_post_increment_value"],
    ref=_REF + "3DSTATE_GS")

# --- stream output ----------------------------------------------------------------------------------------------------
STREAMOUT = gfx("3DSTATE_STREAMOUT", 0x781E, 3, [
    Bool("so_function_enable", 1, 31),
    Bool("rendering_disable", 1, 30),
    Uint("render_stream_select", 1, 28, 27),
    Enum("reorder_mode", 1, 26, 26, ReorderMode),
    Bool("so_statistics_enable", 1, 25),
    *(Bool(f"so_buffer_enable_{i}", 1, 8 + i) for i in range(4)),
    *(f for i in range(4) for f in (
        Uint(f"stream_{i}_vertex_read_offset", 2, 8 * i + 5, 8 * i + 5, doc="in rows of 256 bits"),
        Uint(f"stream_{i}_vertex_read_length", 2, 8 * i + 4, 8 * i, bias=1, doc="in rows of 256 bits"))),
], ref=_REF + "3DSTATE_STREAMOUT")

SO_DECL_LIST = gfx("3DSTATE_SO_DECL_LIST", 0x7917, 3, [
    *(Uint(f"stream_to_buffer_selects_{i}", 1, 4 * i + 3, 4 * i, hex=True, doc="bit b is buffer b") for i in range(4)),
    *(Uint(f"num_entries_{i}", 2, 8 * i + 7, 8 * i, high=128) for i in range(4)),
    Array("entries", 3, SO_DECL_ENTRY),
], length=(8, 0), ref=_REF + "3DSTATE_SO_DECL_LIST", doc="up to 128 entries, so the length has nine bits")

SO_BUFFER = gfx("3DSTATE_SO_BUFFER", 0x7918, 4, [
    Uint("so_buffer_index", 1, 30, 29),
    Uint("so_buffer_object_control_state", 1, 28, 25, hex=True),
    Uint("surface_pitch", 1, 11, 0, high=2048, doc="in bytes"),
    Address("surface_base_address", 2, 31, 2, target="DATA"),
    Address("surface_end_address", 3, 31, 2, doc="just past the buffer"),
], ref=_REF + "3DSTATE_SO_BUFFER")

# --- CLIP, SF, SBE ----------------------------------------------------------------------------------------------------
CLIP = gen6.CLIP.changed(
    Enum("front_winding", 1, 20, 20, FrontWinding),
    Enum("vertex_sub_pixel_precision_select", 1, 19, 19, SubPixelPrecision),
    Bool("early_cull_enable", 1, 18),
    Enum("cull_mode", 1, 17, 16, CullMode),
    ref=_REF + "3DSTATE_CLIP")

SF = gfx("3DSTATE_SF", 0x7813, 7, gen6.setup(1, Enum("depth_buffer_surface_format", 1, 14, 12, DepthFormat)),
         ref=_REF + "3DSTATE_SF")

SBE = gfx("3DSTATE_SBE", 0x781F, 14, [
    Enum("attribute_swizzle_control_mode", 1, 28, 28, AttributeSwizzleControlMode),
    *gen6.setup_output(1),
    *gen6.setup_attributes(2),
], ref=_REF + "3DSTATE_SBE")

# --- WM and PS, which Sandy Bridge has in one command -----------------------------------------------------------------
WM = gfx("3DSTATE_WM", 0x7814, 3, [
    *gen6.depth_buffer_operations(1),
    Bool("thread_dispatch_enable", 1, 29),
    Bool("legacy_diamond_line_rasterization", 1, 26),
    Bool("pixel_shader_kills_pixel", 1, 25),
    Enum("pixel_shader_computed_depth_mode", 1, 24, 23, ComputedDepthMode),
    Enum("early_depth_stencil_control", 1, 22, 21, EarlyDepthStencilControl),
    Bool("pixel_shader_uses_source_depth", 1, 20),
    Bool("pixel_shader_uses_source_w", 1, 19),
    Enum("position_zw_interpolation_mode", 1, 18, 17, PositionZwInterpolationMode),
    Uint("barycentric_interpolation_mode", 1, 16, 11, hex=True,
         doc="bits 0 to 2: perspective at the pixel, the centroid, the sample; 3 to 5: linear"),
    Bool("pixel_shader_uses_input_coverage_mask", 1, 10),
    Enum("line_end_cap_antialiasing_region_width", 1, 9, 8, LineRegionWidth),
    Enum("line_antialiasing_region_width", 1, 7, 6, LineRegionWidth),
    Bool("polygon_stipple_enable", 1, 4),
    Bool("line_stipple_enable", 1, 3),
    Enum("point_rasterization_rule", 1, 2, 2, PointRasterizationRule),
    Enum("multisample_rasterization_mode", 1, 1, 0, MultisampleRasterizationMode),
    Enum("multisample_dispatch_mode", 2, 31, 31, gen6.MultisampleDispatchMode),
], ref=_REF + "3DSTATE_WM")

PS = gfx("3DSTATE_PS", 0x7820, 8, [
    gen6.kernel(1, "_0"),
    *gen6.thread_start(2, "single_program_flow", priority=False),
    Enum("denormal_mode", 2, 26, 26, DenormalMode),
    Enum("rounding_mode", 2, 15, 14, RoundingMode),
    *gen6.scratch(3),
    Uint("maximum_number_of_threads", 4, 31, 24, bias=1, high=172),
    Bool("push_constant_enable", 4, 11),
    Bool("attribute_enable", 4, 10),
    Bool("omask_present_to_rendertarget", 4, 9),
    Bool("render_target_fast_clear_enable", 4, 8),
    Bool("dual_source_blend_enable", 4, 7),
    Bool("render_target_resolve_enable", 4, 6),
    Enum("position_xy_offset_select", 4, 4, 3, PositionXyOffsetSelect),
    *gen6.dispatch_enables(4),
    *gen6.dispatch_start(5),
    gen6.kernel(6, "_1"),
    gen6.kernel(7, "_2"),
], ref=_REF + "3DSTATE_PS")

SAMPLE_MASK = gen6.SAMPLE_MASK.changed(Uint("sample_mask", 1, 7, 0, hex=True), ref=_REF + "3DSTATE_SAMPLE_MASK")

# --- depth and stencil: the codes moved to the pipelined commands -----------------------------------------------------
_DEPTH, _NO_DEPTH = ((rule("surface_type", DepthSurfaceType.SURFTYPE_NULL),) for rule in (unless, when))

DEPTH_BUFFER = gfx("3DSTATE_DEPTH_BUFFER", 0x7805, 7, [
    Enum("surface_type", 1, 31, 29, DepthSurfaceType),
    Bool("depth_write_enable", 1, 28),
    Bool("stencil_write_enable", 1, 27),
    Bool("hierarchical_depth_buffer_enable", 1, 22),
    Enum("surface_format", 1, 20, 18, SeparateDepthFormat),
    Uint("surface_pitch", 1, 17, 0, bias=1, doc="in bytes"),
    Address("surface_base_address", 2, 31, 0, target="SURFACE_DATA", when=_DEPTH),
    Ignored(2, when=_NO_DEPTH),
    Uint("height", 3, 31, 18, bias=1),
    Uint("width", 3, 17, 4, bias=1),
    Uint("lod", 3, 3, 0, high=14),
    Uint("depth", 4, 31, 21, bias=1),
    Uint("minimum_array_element", 4, 20, 10),
    Uint("depth_buffer_object_control_state", 4, 3, 0, hex=True),
    Sint("depth_coordinate_offset_y", 5, 31, 16),
    Sint("depth_coordinate_offset_x", 5, 15, 0),
    Uint("render_target_view_extent", 6, 31, 21, bias=1),
], ref=_REF + "3DSTATE_DEPTH_BUFFER", doc="always tiled in Y, and without stencil")

STENCIL_BUFFER = gen6.STENCIL_BUFFER.renumbered(0x78060000).changed(ref=_REF + "3DSTATE_STENCIL_BUFFER")
HIER_DEPTH_BUFFER = gen6.HIER_DEPTH_BUFFER.renumbered(0x78070000).changed(ref=_REF + "3DSTATE_HIER_DEPTH_BUFFER")

CLEAR_PARAMS = gfx("3DSTATE_CLEAR_PARAMS", 0x7804, 3, [
    Uint("depth_clear_value", 1, 31, 0, hex=True, doc="the bits of a float for D32_FLOAT, else an integer"),
    Bool("depth_clear_value_valid", 2, 0),
], ref=_REF + "3DSTATE_CLEAR_PARAMS")

# --- other non-pipelined state ----------------------------------------------------------------------------------------
MULTISAMPLE = gfx("3DSTATE_MULTISAMPLE", 0x790D, 4, [
    Enum("pixel_location", 1, 4, 4, gen6.PixelLocation),
    Enum("number_of_multisamples", 1, 3, 1, gen6.NumberOfMultisamples),
    *gen6.sample_offsets(2, 8),
], ref=_REF + "3DSTATE_MULTISAMPLE")

LINE_STIPPLE = gen6.LINE_STIPPLE.changed(
    Fixed("line_stipple_inverse_repeat_count", 2, 31, 15, frac=16, high=1.0), ref=_REF + "3DSTATE_LINE_STIPPLE")

# --- the primitive ----------------------------------------------------------------------------------------------------
_DIRECT = (unless("indirect_parameter_enable", 1),)
_INDIRECT = (when("indirect_parameter_enable", 1),)
_COUNTED = (*_DIRECT, unless("end_offset_enable", 1))
_TO_THE_END = (*_DIRECT, when("end_offset_enable", 1))

PRIMITIVE = gfx("3DPRIMITIVE", 0x7B00, 7, [
    Bool("indirect_parameter_enable", 0, 10, doc="dwords 2 to 6 come from registers"),
    Bool("predicate_enable", 0, 8),
    Bool("end_offset_enable", 1, 9, doc="a register and the size of vertex buffer 0 give the count"),
    Enum("vertex_access_type", 1, 8, 8, VertexAccessType),
    Enum("primitive_topology_type", 1, 5, 0, PatchTopology),
    Uint("vertex_count_per_instance", 2, 31, 0, when=_COUNTED, doc="0 is a no-op"),
    Ignored(2, 31, 0, when=_TO_THE_END),
    Uint("start_vertex_location", 3, 31, 0, when=_DIRECT, doc="a structure, or a place in the index buffer"),
    Uint("instance_count", 4, 31, 0, when=_DIRECT),
    Uint("start_instance_location", 5, 31, 0, when=_DIRECT),
    Sint("base_vertex_location", 6, 31, 0, when=_DIRECT, doc="added to indices; RANDOM only"),
    *(Ignored(dword, 31, 0, when=_INDIRECT) for dword in range(2, 7)),
], ref=_REF + "3DPRIMITIVE")

REPLACED: tuple[Block, ...] = (
    CC_STATE_POINTERS, CONSTANT_BODY, *CONSTANTS, VS, GS, CLIP, SF, WM, SAMPLE_MASK, DEPTH_BUFFER, STENCIL_BUFFER,
    HIER_DEPTH_BUFFER, CLEAR_PARAMS, MULTISAMPLE, LINE_STIPPLE, PRIMITIVE,
)
ADDED: tuple[Block, ...] = (
    *POINTERS, *URB, *PUSH_CONSTANT_ALLOCS, *MORE_CONSTANTS, HS, TE, DS, STREAMOUT, SO_DECL_LIST, SO_BUFFER, SBE, PS,
)
REMOVED: tuple[str, ...] = (
    "3DSTATE_BINDING_TABLE_POINTERS", "3DSTATE_SAMPLER_STATE_POINTERS", "3DSTATE_VIEWPORT_STATE_POINTERS",
    "3DSTATE_URB", "3DSTATE_GS_SVB_INDEX",
)
