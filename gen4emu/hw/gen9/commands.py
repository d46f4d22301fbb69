"""The commands of Gen9 that differ from those of Gen8, and new ones: MI, common, 3D and media.

Kaby Lake PRM vol. 2a; for commands that the published part of that volume lacks, Mesa's gen9.xml.  The commands of the
resource streamer are in `gen4emu.hw.gen9.resource_streamer`.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Fixed, Ignored, Mbz, Uint, unless, when
from gen4emu.hw.gen8 import GEN8, common, media, mi, output, raster, shader_stages
from gen4emu.hw.gen8.vertex_fetch import memory_object_control_state
from gen4emu.hw.layout import Command
from gen4emu.hw.reserved import gfx
from gen4emu.hw.reserved import mi as mi_command


class TiledResourceMode(IntEnum):
    """The size of the tiles of a Y-tiled surface."""

    NONE = 0
    TILEYF = 1
    TILEYS = 2


class HsDispatchMode(IntEnum):
    """The patches that an HS thread works on."""

    SINGLE_PATCH = 0
    DUAL_PATCH = 1
    EIGHT_PATCH = 2


class DualPatchDispatchMode(IntEnum):
    """The domain points that a DS thread works on."""

    SIMD4X2 = 0
    SIMD8_SINGLE_PATCH = 1
    SIMD8_SINGLE_OR_DUAL_PATCH = 2


class RenderTargetResolveType(IntEnum):
    """Whether clear values, or compressed pixels as well, are replaced."""

    DISABLED = 0
    PARTIAL = 1
    FULL = 3


class InputCoverageMaskState(IntEnum):
    """ICMS_*: the coverage that a pixel shader reads."""

    NONE = 0
    NORMAL = 1
    INNER_CONSERVATIVE = 2
    DEPTH_COVERAGE = 3


class ActiveComponents(IntEnum):
    """ACF_*: the components of an attribute that have deltas."""

    DISABLED = 0
    XY = 1
    XYZ = 2
    XYZW = 3


class FlipTypeGen9(IntEnum):
    """When a flip takes effect."""

    SYNC_FLIP = 0
    ASYNC_FLIP = 1
    STEREO_3D_FLIP = 2


# --- MI ---------------------------------------------------------------------------------------------------------------
MI_WAIT_FOR_EVENT = mi.wait_for_event({
    21: "plane_1_c_vertical_blank", 20: "plane_6_flip_pending", 19: "plane_12_flip_pending",
    18: "plane_11_flip_pending", 17: "plane_10_flip_pending", 16: "plane_9_flip_pending", 15: "plane_3_flip_pending",
    14: "plane_1_c_scan_line", 11: "plane_1_b_vertical_blank", 10: "plane_5_flip_pending", 9: "plane_2_flip_pending",
    8: "plane_1_b_scan_line", 7: "plane_8_flip_pending", 6: "plane_7_flip_pending", 3: "plane_1_a_vertical_blank",
    2: "plane_4_flip_pending", 1: "plane_1_flip_pending", 0: "plane_1_a_scan_line",
})

MI_DISPLAY_FLIP = mi_command("MI_DISPLAY_FLIP", 0x14, 3, [
    Bool("async_flip_indicator", 0, 22),
    Uint("display_plane_select", 0, 12, 8, doc="plane 1 is 0, but planes 4 to 12 have their own number"),
    Bool("stereoscopic_3d_mode", 1, 31),
    Uint("display_buffer_pitch", 1, 15, 6),
    Uint("tile_parameter", 1, 2, 0),
    Address("display_buffer_base_address", 2, 31, 12),
    Enum("flip_type", 2, 1, 0, enum=FlipTypeGen9),
], length=(7, 0), privileged=True, ref="Mesa gen9.xml MI_DISPLAY_FLIP",
    doc="a stereo flip has a fourth dword, for the left eye")

MI_MATH = mi_command("MI_MATH", 0x1A, 1, [
    Array("instructions", 1, GEN8.layout("MI_MATH_ALU_INSTRUCTION")),
], length=(7, 0), ref="Mesa gen9.xml MI_MATH")

_POLL, _MEMORY = (when("register_poll_mode", 1),), (unless("register_poll_mode", 1),)

MI_SEMAPHORE_WAIT = mi.MI_SEMAPHORE_WAIT.changed(
    Bool("register_poll_mode", 0, 16),
    Address("semaphore_address", 2, 63, 2, target="DATA", when=_MEMORY),
    Mbz(2, 31, 23, when=_POLL),
    Uint("register_address", 2, 22, 2, scale=4, hex=True, when=_POLL),
    Ignored(3, 31, 0, when=_POLL),
    remove=["reserved_2_63_48"])

MI_FLUSH_DW = mi.MI_FLUSH_DW.changed(Bool("flush_llc", 0, 9))

MI_CONDITIONAL_BATCH_BUFFER_END = mi.MI_CONDITIONAL_BATCH_BUFFER_END.changed(
    Bool("compare_mask_mode", 0, 19),
    Address("compare_address", 2, 63, 3, target="DATA"),
    remove=["reserved_2_63_48"])

# --- common -----------------------------------------------------------------------------------------------------------
STATE_BASE_ADDRESS = common.STATE_BASE_ADDRESS.changed(
    *common.base_address("bindless_surface_state", 16),
    Uint("bindless_surface_state_size", 18, 31, 12, bias=1, doc="in surface states"),
    dwords=19).with_optional(3)  # IGT leaves the size out; Broadwell's form has neither

PIPELINE_SELECT = GEN8.command("PIPELINE_SELECT").changed(
    Uint("mask_bits", 0, 15, 8, hex=True, doc="bits 7:0 that change"),
    Bool("force_media_awake", 0, 5),
    Bool("media_sampler_dop_clock_gate_enable", 0, 4))

PIPE_CONTROL = common.PIPE_CONTROL.changed(Bool("flush_llc", 1, 26))

# --- vertex fetch -----------------------------------------------------------------------------------------------------
VF = GEN8.command("3DSTATE_VF").changed(
    Bool("sequential_draw_cut_index_enable", 0, 10),
    Bool("component_packing_enable", 0, 9))

VF_COMPONENT_PACKING = gfx("3DSTATE_VF_COMPONENT_PACKING", 0x7855, 5, [
    Uint(f"vertex_element_{i:02}_enables", 1 + i // 8, i % 8 * 4 + 3, i % 8 * 4, hex=True) for i in range(32)
], ref="Mesa gen9.xml 3DSTATE_VF_COMPONENT_PACKING", doc="the components of each element that are stored")

# --- shader stages ----------------------------------------------------------------------------------------------------
HS = shader_stages.HS.changed(
    Uint("maximum_number_of_threads", 2, 16, 8, bias=1, high=336),
    Uint("dispatch_grf_start_register_for_urb_data_5", 7, 28, 28, doc="bit 5 of the number in bits 23:19"),
    Enum("dispatch_mode", 7, 18, 17, enum=HsDispatchMode),
    Bool("include_primitive_id", 7, 0, doc="in DUAL_PATCH mode; in SINGLE_PATCH, R0 has it"))

DS = shader_stages.DS.changed(
    Uint("maximum_number_of_threads", 7, 29, 21, bias=1, high=336),
    Enum("dispatch_mode", 7, 4, 3, enum=DualPatchDispatchMode),
    shader_stages.kernel(9, "dual_patch_kernel_start_pointer"),
    remove=["single_domain_point_dispatch"], dwords=11)

GS = shader_stages.GS.changed(
    Uint("dispatch_grf_start_register_for_urb_data_5_4", 6, 30, 29, doc="bits 5:4 of the number in bits 3:0"),
    Uint("maximum_number_of_threads", 8, 8, 0, bias=1, low=8, high=336, when=shader_stages.GS_ON),
    Ignored(8, 8, 0, when=shader_stages.GS_OFF))

PS = shader_stages.PS.changed(
    Enum("render_target_resolve_type", 6, 7, 6, enum=RenderTargetResolveType),
    remove=["render_target_resolve_enable"])

PS_EXTRA = raster.PS_EXTRA.changed(
    Bool("pixel_shader_computes_stencil", 1, 5),
    Bool("pixel_shader_pulls_bary", 1, 3),
    Enum("input_coverage_mask_state", 1, 1, 0, enum=InputCoverageMaskState),
    remove=["pixel_shader_uses_input_coverage_mask"])

CONSTANTS: tuple[Command, ...] = tuple(
    command.changed(memory_object_control_state("constant_buffer_object_control_state", 0, 14, 8))
    for command in shader_stages.CONSTANTS)

URB: tuple[Command, ...] = shader_stages.each_stage(shader_stages.urb, {"VS": 1856, "HS": 672, "DS": 1120, "GS": 640})

URB_CLEAR = gfx("3DSTATE_URB_CLEAR", 0x791D, 2, [
    Uint("urb_clear_length", 1, 29, 16),
    Uint("urb_address", 1, 14, 0, hex=True),
], ref="Mesa gen9.xml 3DSTATE_URB_CLEAR")

# --- setup and depth --------------------------------------------------------------------------------------------------
SF = raster.SF.changed(
    Fixed("line_width", 1, 29, 12, frac=7, doc="0 is the thinnest line"))

RASTER = raster.RASTER.changed(
    Bool("viewport_z_far_clip_test_enable", 1, 26),
    Bool("conservative_rasterization_enable", 1, 24),
    Bool("viewport_z_near_clip_test_enable", 1, 0),
    remove=["viewport_z_clip_test_enable"])

SBE = raster.SBE.changed(
    *(Enum(f"attribute_{i}_active_component_format", 4 + i // 16, i % 16 * 2 + 1, i % 16 * 2, enum=ActiveComponents)
      for i in range(32)), dwords=6)

WM_DEPTH_STENCIL = raster.WM_DEPTH_STENCIL.changed(
    Uint("stencil_reference_value", 3, 15, 8),
    Uint("backface_stencil_reference_value", 3, 7, 0),
    dwords=4)

SAMPLE_PATTERN = raster.SAMPLE_PATTERN.changed(
    *raster.sample_offsets(16, [(1 + i // 4, i % 4 * 8) for i in range(16)]))

DEPTH_BUFFER = output.DEPTH_BUFFER.changed(
    Enum("tiled_resource_mode", 6, 31, 30, enum=TiledResourceMode),
    Uint("mip_tail_start_lod", 6, 29, 26))

# --- media ------------------------------------------------------------------------------------------------------------
MEDIA_VFE_STATE = media.MEDIA_VFE_STATE.changed(Mbz(3, 6, 6), remove=["bypass_gateway_control"])
MEDIA_OBJECT = media.MEDIA_OBJECT.changed(Uint("slice_destination_select_msbs", 2, 26, 25))
MEDIA_OBJECT_GRPID = media.MEDIA_OBJECT_GRPID.changed(Uint("slice_destination_select_msb", 2, 24, 24))
MEDIA_OBJECT_WALKER = media.media_object_walker(12, Uint("masked_dispatch", 2, 23, 22))

REPLACED: tuple[Command, ...] = (
    MI_DISPLAY_FLIP, MI_WAIT_FOR_EVENT, MI_MATH, MI_SEMAPHORE_WAIT, MI_FLUSH_DW, MI_CONDITIONAL_BATCH_BUFFER_END,
    STATE_BASE_ADDRESS, PIPELINE_SELECT, PIPE_CONTROL, VF, HS, DS, GS, PS, PS_EXTRA, *CONSTANTS, *URB, SF, RASTER, SBE,
    WM_DEPTH_STENCIL, SAMPLE_PATTERN, DEPTH_BUFFER, MEDIA_VFE_STATE, MEDIA_OBJECT, MEDIA_OBJECT_GRPID,
    MEDIA_OBJECT_WALKER,
)
ADDED: tuple[Command, ...] = (mi.MI_FORCE_WAKEUP, VF_COMPONENT_PACKING, URB_CLEAR)
REMOVED: tuple[str, ...] = ("MI_URB_CLEAR", "SWTESS_BASE_ADDRESS")
