"""The state blocks of the fixed-function units, against the manual and against what crocus writes on G4x and Gen4."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gen4emu.errors import FieldError
from gen4emu.hw.catalogue import block_named
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import state
from gen4emu.hw.gen4.state import (
    CC_VIEWPORT,
    CLIP_VIEWPORT,
    SF_VIEWPORT,
    AlphaTestFormat,
    ApiMode,
    BlendFactor,
    BlendFunction,
    ClipMode,
    CompareFunction,
    CullMode,
    FloatingPointMode,
    FrontWinding,
    LineRegionWidth,
    LogicOpFunction,
    PointRasterizationRule,
    StencilOperation,
    SubPixelPrecision,
    VertexPositionSpace,
)
from gen4emu.hw.gen45.state import AaLineDistance
from gen4emu.hw.layout import Block
from tests.hw.by_name import ByName
from tests.hw.claims import PARTS, misclaimed, repacked

CLIP_STATE = ByName("CLIP_STATE")
COLOR_CALC_STATE = ByName("COLOR_CALC_STATE")
GS_STATE = ByName("GS_STATE")
SF_STATE = ByName("SF_STATE")
VS_STATE = ByName("VS_STATE")
WM_STATE = ByName("WM_STATE")


def hexes(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


def what(layout: Block, words: list[int], gen: Gen) -> list[str]:
    return [str(c) for c in layout.complaints(words, gen=gen)]


# Blocks of a draw that marks the stencil buffer, crocus on GM45, and of one that blends, crocus on 965GM.
VS = hexes("0014f000 00040000 00000000 02080801 3e020000 00109000 00000001")
CLIP = hexes("0014f202 80010000 00000000 00081001 02005000 1f000000 001093a0 bf800000 3f800000 bf800000 3f800000")
SF = hexes("0014fd00 00010000 00000000 00000813 0e084000 00109383 22131000 4c006808")
SF_VP = hexes("43000000 c3000000 3f000000 43000000 43000000 3f000000 00000000 00ff00ff")
WM = hexes("0014f0c0 00080100 00000000 02001002 00109000 62050002 00000000 00000000")
CC = hexes("801c0018 01ffff01 ffff1000 00008000 00109360 80000000 00000000 00000000")
GEN4_VS = hexes("0010e000 00040000 00000000 02080801 1e010000 00109000 00000001")
GEN4_CLIP = hexes("0010e304 80010000 00000000 00081001 02005000 1d400000 00109220 bf800000 3f800000 bf800000 3f800000")
GEN4_SF = hexes("0010f100 00010000 00000000 00000813 0e084000 00109203 22131000 4c002808")
GEN4_WM = hexes("0010e100 00080100 00000000 02001002 00109000 3e0d0002 00000000 00000000")
GEN4_CC = hexes("10001000 00000000 00001000 00009000 001091e0 800001cc 03980000 00000000")
# A clear: VS, GS and CLIP off, no transform, no scissor.
BLORP_VS = hexes("00000000 00000000 00000000 00000000 00020000 00000000 00000000")
BLORP_SF = hexes("0014fe80 00000000 00000000 00001013 0e184000 00000000 20000000 00000000")


@pytest.mark.parametrize("gen", PARTS, ids=lambda g: g.name)
@pytest.mark.parametrize("name", [block.name for block in state.BLOCKS])
def test_every_bit_is_claimed_once(name: str, gen: Gen) -> None:
    assert misclaimed(block_named(name, gen), gen) == []


@pytest.mark.parametrize("name", [block.name for block in state.BLOCKS])
@settings(max_examples=40)
@given(data=st.data())
def test_values_pack_to_the_bits_they_came_from(name: str, data: st.DataObject) -> None:
    gen = data.draw(st.sampled_from(PARTS))
    layout = block_named(name, gen)
    size = layout.size(gen)
    words = data.draw(st.lists(st.integers(0, 0xFFFFFFFF), min_size=size, max_size=size))
    before, after = repacked(layout, words, gen)
    assert after == before


@pytest.mark.parametrize(("layout", "dwords", "align"), [
    (VS_STATE, 7, 32), (GS_STATE, 7, 32), (CLIP_STATE, 11, 32), (CLIP_VIEWPORT, 4, 32), (SF_STATE, 8, 32),
    (SF_VIEWPORT, 8, 32), (WM_STATE, 8, 32), (COLOR_CALC_STATE, 8, 64), (CC_VIEWPORT, 2, 32),
], ids=lambda v: str(v) if isinstance(v, int) else v.name)
def test_sizes_and_alignments_are_the_manuals(layout: Block | ByName, dwords: int, align: int) -> None:
    assert [layout.size(gen) for gen in PARTS] == [dwords] * 4
    assert {block_named(layout.name, gen).align for gen in PARTS} == {align}


@pytest.mark.parametrize(("layout", "words", "gen"), [
    (VS_STATE, VS, Gen.CTG), (CLIP_STATE, CLIP, Gen.CTG), (SF_STATE, SF, Gen.CTG), (SF_VIEWPORT, SF_VP, Gen.CTG),
    (WM_STATE, WM, Gen.CTG), (COLOR_CALC_STATE, CC, Gen.CTG),
    (VS_STATE, GEN4_VS, Gen.CL), (CLIP_STATE, GEN4_CLIP, Gen.CL), (SF_STATE, GEN4_SF, Gen.CL),
    (WM_STATE, GEN4_WM, Gen.CL), (COLOR_CALC_STATE, GEN4_CC, Gen.CL),
    (VS_STATE, BLORP_VS, Gen.CTG), (SF_STATE, BLORP_SF, Gen.CTG),
])
def test_what_a_driver_writes_is_legal_and_packs_again(layout: Block, words: list[int], gen: Gen) -> None:
    assert what(layout, words, gen) == []
    assert layout.pack(gen, **layout.view(words, gen=gen).to_dict()) == words


# --- VS, GS -----------------------------------------------------------------------------------------------------------
def test_vs_state_of_crocus() -> None:
    assert VS_STATE.view(VS, gen=Gen.CTG).to_dict() == {
        "kernel_start_pointer": 0x14F000, "grf_register_count": 16, "single_program_flow": False,
        "binding_table_entry_count": 1, "thread_priority": 0, "floating_point_mode": FloatingPointMode.IEEE_754,
        "illegal_opcode_exception_enable": False, "mask_stack_exception_enable": False,
        "software_exception_enable": False, "scratch_space_base_pointer": 0, "per_thread_scratch_space": 0,
        "constant_urb_entry_read_length": 1, "constant_urb_entry_read_offset": 2,
        "vertex_urb_entry_read_length": 1, "vertex_urb_entry_read_offset": 0, "dispatch_grf_start_register": 1,
        "maximum_number_of_threads": 32, "urb_entry_allocation_size": 1, "number_of_urb_entries": 64,
        "statistics_enable": False, "sampler_state_pointer": 0x109000, "sampler_count": 0,
        "vertex_cache_disable": False, "vs_function_enable": True,
    }


def test_gen4_vs_has_half_the_threads_and_entries() -> None:
    v = VS_STATE.view(GEN4_VS, gen=Gen.CL)
    assert (v.maximum_number_of_threads, v.number_of_urb_entries) == (16, 32)
    assert what(VS_STATE, VS, Gen.CL) == [
        "VS_STATE: maximum_number_of_threads (dword 4, bits 30:25) 32 is above 16",
        "VS_STATE: number_of_urb_entries (dword 4, bits 17:11) 64 is above 32",
    ]


def test_disabled_vs_function_leaves_only_the_urb_fields_and_the_cache_bit() -> None:
    assert VS_STATE.view(BLORP_VS, gen=Gen.CTG).to_dict() == {
        "urb_entry_allocation_size": 1, "number_of_urb_entries": 64, "statistics_enable": False,
        "vertex_cache_disable": False, "vs_function_enable": False,
    }
    junk = [0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0x7E020000, 0xFFFFFFFF, 0]
    assert what(VS_STATE, junk, Gen.CTG) == []
    junk[6] = 1
    assert "kernel_start_pointer" in VS_STATE.view(junk, gen=Gen.CTG).to_dict()
    assert "VS_STATE: reserved_0_5_4 (dword 0, bits 5:4) reserved bits are 0x3, must be zero" in what(
        VS_STATE, junk, Gen.CTG)


def test_vs_reading_no_vertex_data_is_undefined() -> None:
    words = VS_STATE.pack(Gen.CTG, vs_function_enable=True, number_of_urb_entries=8, vertex_urb_entry_read_offset=1)
    assert what(VS_STATE, words, Gen.CTG) == [
        "VS_STATE: vertex_urb_entry_read_length (dword 3, bits 16:11) 0 is below 1"]


def test_exception_enables_stand_where_cr0_does_not_have_them() -> None:
    bits = {"illegal_opcode_exception_enable": 13, "mask_stack_exception_enable": 11, "software_exception_enable": 7}
    for layout in (VS_STATE, GS_STATE, CLIP_STATE, SF_STATE):
        assert {name: layout.field(name, Gen.CTG).lo for name in bits} == bits
    bits = {"illegal_opcode_exception_enable": 4, "mask_stack_exception_enable": 2, "software_exception_enable": 1}
    assert {name: WM_STATE.field(name, Gen.CTG).lo for name in bits} == bits


def test_thread_priority_must_be_zero() -> None:
    words = SF_STATE.pack(Gen.EL, vertex_urb_entry_read_length=1, number_of_urb_entries=1, thread_priority=1)
    assert words[1] == 1 << 17
    assert what(SF_STATE, words, Gen.EL) == ["SF_STATE: thread_priority (dword 1, bits 17) 1 is reserved"]
    with pytest.raises(FieldError, match="GS_STATE has no field thread_priority"):
        GS_STATE.pack(Gen.EL, thread_priority=1)


def test_counts_are_values_and_not_codes() -> None:
    words = GS_STATE.pack(Gen.EL, grf_register_count=128, maximum_number_of_threads=2, urb_entry_allocation_size=32,
                          number_of_urb_entries=8, sampler_count=16, per_thread_scratch_space=11)
    assert words[0] == 7 << 1
    assert words[2] == 11
    assert words[4] == 1 << 25 | 31 << 19 | 8 << 11
    assert words[5] == 4
    for wrong in (8, 24, 144):
        with pytest.raises(FieldError, match="grf_register_count"):
            GS_STATE.pack(Gen.EL, grf_register_count=wrong)


def test_crocus_gs_state() -> None:
    """As drivers set it: alternate mode, SPF, GRF start 1, two threads of eight entries, no reorder."""
    words = GS_STATE.pack(Gen.CTG, kernel_start_pointer=0x10E000, grf_register_count=32, single_program_flow=True,
                          floating_point_mode="ALTERNATE", vertex_urb_entry_read_length=2,
                          dispatch_grf_start_register=1, maximum_number_of_threads=2, number_of_urb_entries=8)
    assert words == [0x0010E002, 0x80010000, 0, 0x00001001, 0x02004000, 0, 0]
    assert what(GS_STATE, words, Gen.CTG) == []


def test_gs_flags() -> None:
    words = GS_STATE.pack(Gen.CTG, reorder_enable=True, discard_adjacency=True, maximum_vp_index=15)
    assert words[6] == 0x6000000F


def test_gs_bit_8_is_ignored_where_it_means_nothing_that_shows() -> None:
    words = hexes("0 80000000 0 800 00004100 0 0")
    assert what(GS_STATE, words, Gen.CTG) == []
    assert what(GS_STATE, words, Gen.CL) == [
        "GS_STATE: reserved_4_8_8 (dword 4, bits 8) reserved bits are 0x1, must be zero"]


# --- CLIP -------------------------------------------------------------------------------------------------------------
def test_clip_state_of_crocus() -> None:
    v = CLIP_STATE.view(CLIP, gen=Gen.CTG)
    assert (v.kernel_start_pointer, v.grf_register_count) == (0x14F200, 32)
    assert v.single_program_flow and v.floating_point_mode is FloatingPointMode.ALTERNATE
    assert (v.vertex_urb_entry_read_length, v.vertex_urb_entry_read_offset, v.dispatch_grf_start_register) == (2, 0, 1)
    assert (v.constant_urb_entry_read_length, v.constant_urb_entry_read_offset) == (0, 2)
    assert (v.maximum_number_of_threads, v.urb_entry_allocation_size, v.number_of_urb_entries) == (2, 1, 10)
    assert not v.clipper_statistics_enable and not v.gs_output_object_statistics_enable
    assert v.api_mode is ApiMode.OGL and v.vertex_position_space is VertexPositionSpace.NDC
    assert v.viewport_xy_clip_test_enable and v.viewport_z_clip_test_enable and v.guardband_clip_test_enable
    assert v.negative_w_clip_test_enable and v.user_clip_flags_must_clip_enable
    assert v.user_clip_flags_clip_test_enable_bitmask == 0
    assert v.clip_mode is ClipMode.NORMAL
    assert v.clipper_viewport_state_pointer == 0x1093A0
    assert [v.screen_space_viewport_x_min, v.screen_space_viewport_x_max,
            v.screen_space_viewport_y_min, v.screen_space_viewport_y_max] == [-1.0, 1.0, -1.0, 1.0]


def test_gen4_clips_negative_w_through_user_flag_6() -> None:
    v = CLIP_STATE.view(GEN4_CLIP, gen=Gen.CL)
    assert v.user_clip_flags_clip_test_enable_bitmask == 0x40
    with pytest.raises(AttributeError, match="negative_w_clip_test_enable"):
        _ = v.negative_w_clip_test_enable
    assert what(CLIP_STATE, CLIP, Gen.CL) == [
        "CLIP_STATE: reserved_5_25_25 (dword 5, bits 25) reserved bits are 0x1, must be zero"]


def test_statistics_of_gs_output_are_bit_9() -> None:
    assert CLIP_STATE.pack(Gen.EL, gs_output_object_statistics_enable=True)[4] == 1 << 9
    assert CLIP_STATE.pack(Gen.EL, clipper_statistics_enable=True)[4] == 1 << 10


def test_api_mode_1_puts_the_near_plane_at_zero() -> None:
    assert CLIP_STATE.pack(Gen.EL, api_mode=ApiMode.D3D)[5] == 1 << 30


@pytest.mark.parametrize("mode", range(8))
def test_clip_modes_above_accept_all_are_reserved(mode: int) -> None:
    words = CLIP_STATE.pack(Gen.EL, vertex_urb_entry_read_length=1, number_of_urb_entries=1)
    words[5] = mode << 13
    expected = [] if mode <= 4 else [f"CLIP_STATE: clip_mode (dword 5, bits 15:13) {mode} is reserved"]
    assert what(CLIP_STATE, words, Gen.EL) == expected


def test_guardband_of_a_256_pixel_viewport() -> None:
    """Exactly 64 viewport halves in each direction."""
    v = CLIP_VIEWPORT.view(hexes("c2800000 42800000 c2800000 42800000"), gen=Gen.CTG)
    assert v.to_dict() == {"x_min_clip_guardband": -64.0, "x_max_clip_guardband": 64.0,
                           "y_min_clip_guardband": -64.0, "y_max_clip_guardband": 64.0}


# --- SF ---------------------------------------------------------------------------------------------------------------
def test_sf_state_of_crocus() -> None:
    v = SF_STATE.view(SF, gen=Gen.CTG)
    assert (v.kernel_start_pointer, v.grf_register_count) == (0x14FD00, 16)
    assert not v.single_program_flow and v.floating_point_mode is FloatingPointMode.ALTERNATE
    assert (v.vertex_urb_entry_read_length, v.vertex_urb_entry_read_offset, v.dispatch_grf_start_register) == (1, 1, 3)
    assert (v.maximum_number_of_threads, v.urb_entry_allocation_size, v.number_of_urb_entries) == (8, 2, 8)
    assert not v.statistics_enable
    assert v.setup_viewport_state_offset == 0x109380
    assert v.viewport_transform_enable and v.front_winding is FrontWinding.CCW
    assert not v.antialiasing_enable and v.cull_mode is CullMode.NONE
    assert v.line_width == 1.0 and v.line_end_cap_antialiasing_region_width is LineRegionWidth.HALF_PIXEL
    assert v.point_rasterization_rule is PointRasterizationRule.UPPER_RIGHT
    assert v.scissor_rectangle_enable
    assert (v.destination_origin_horizontal_bias, v.destination_origin_vertical_bias) == (0.5, 0.5)
    assert not v.last_pixel_enable
    assert v.triangle_strip_list_provoking_vertex_select == 2
    assert v.line_strip_list_provoking_vertex_select == 1
    assert v.triangle_fan_provoking_vertex_select == 2
    assert v.aa_line_distance_mode is AaLineDistance.TRUE
    assert v.sprite_point_enable and v.use_point_width_state and v.point_width == 1.0
    assert v.vertex_sub_pixel_precision_select is SubPixelPrecision.EIGHT_BITS


def test_zeroed_sf_state_draws_no_triangle() -> None:
    assert SF_STATE.view([0] * 8, gen=Gen.EL).cull_mode is CullMode.BOTH


def test_sf_statistics_bit_is_ignored_before_g4x() -> None:
    words = SF_STATE.pack(Gen.CTG, vertex_urb_entry_read_length=1, number_of_urb_entries=64, statistics_enable=True)
    assert words[4] == 64 << 11 | 1 << 10
    assert what(SF_STATE, words, Gen.CL) == []
    assert "statistics_enable" not in SF_STATE.view(words, gen=Gen.CL).to_dict()


def test_aa_line_distance_is_reserved_before_g4x() -> None:
    assert what(SF_STATE, SF, Gen.BW) == [
        "SF_STATE: reserved_7_14_14 (dword 7, bits 14) reserved bits are 0x1, must be zero"]


def test_widths_are_fixed_point() -> None:
    words = SF_STATE.pack(Gen.EL, line_width=7.5, point_width=255.875, destination_origin_vertical_bias=0.5)
    assert words[6] == 0xF << 24 | 8 << 9
    assert words[7] == 0x7FF
    with pytest.raises(FieldError, match="line_width"):
        SF_STATE.pack(Gen.EL, line_width=8.0)


def test_sf_ranges() -> None:
    words = list(SF)
    words[4] |= 0x3F << 25 | 0xFF << 11
    words[6] |= 0xF << 13 | 3 << 20
    words[7] |= 3 << 29 | 3 << 27 | 3 << 25
    assert [c.field.name for c in SF_STATE.complaints(words, gen=Gen.CTG)] == [
        "maximum_number_of_threads", "number_of_urb_entries", "point_rasterization_rule",
        "destination_origin_horizontal_bias", "triangle_strip_list_provoking_vertex_select",
        "line_strip_list_provoking_vertex_select", "triangle_fan_provoking_vertex_select"]


def test_sf_viewport_of_a_window() -> None:
    """A 256x256 window: row 0 of the surface is the top, so m11 is negative."""
    assert SF_VIEWPORT.view(SF_VP, gen=Gen.CTG).to_dict() == {
        "viewport_matrix_element_m00": 128.0, "viewport_matrix_element_m11": -128.0,
        "viewport_matrix_element_m22": 0.5, "viewport_matrix_element_m30": 128.0,
        "viewport_matrix_element_m31": 128.0, "viewport_matrix_element_m32": 0.5,
        "scissor_rectangle_y_min": 0, "scissor_rectangle_x_min": 0,
        "scissor_rectangle_y_max": 255, "scissor_rectangle_x_max": 255,
    }


# --- WM ---------------------------------------------------------------------------------------------------------------
def test_wm_state_of_crocus() -> None:
    v = WM_STATE.view(WM, gen=Gen.CTG)
    assert (v.kernel_start_pointer, v.grf_register_count) == (0x14F0C0, 16)
    assert (v.binding_table_entry_count, v.depth_coefficient_urb_read_offset) == (2, 1)
    assert (v.constant_urb_entry_read_length, v.constant_urb_entry_read_offset) == (1, 0)
    assert (v.setup_urb_entry_read_length, v.setup_urb_entry_read_offset, v.dispatch_grf_start_register) == (2, 0, 2)
    assert (v.sampler_state_pointer, v.sampler_count) == (0x109000, 0)
    assert not v.statistics_enable
    assert v.maximum_number_of_threads == 50
    assert not v.transposed_urb_read_enable and not v.legacy_diamond_line_rasterization
    assert not v.pixel_shader_kill_pixel and not v.pixel_shader_computed_depth
    assert not v.thread_dispatch_enable, "the draw that only marks stencil runs no pixel shader"
    assert v.early_depth_test_enable
    assert v.line_end_cap_antialiasing_region_width is LineRegionWidth.ONE_PIXEL
    assert v.line_antialiasing_region_width is LineRegionWidth.HALF_PIXEL
    assert (v.dispatch_8_pixel_enable, v.dispatch_16_pixel_enable, v.dispatch_32_pixel_enable) == (False, True, False)


def test_gen4_wm_state_of_crocus() -> None:
    v = WM_STATE.view(GEN4_WM, gen=Gen.CL)
    assert v.maximum_number_of_threads == 32
    assert v.thread_dispatch_enable


def test_kill_pixel_and_samplers() -> None:
    words = hexes("0010e4ce 00040100 00000000 00002002 001094a4 624d0002 00000000 00000000")
    v = WM_STATE.view(words, gen=Gen.CTG)
    assert v.grf_register_count == 128 and v.pixel_shader_kill_pixel
    assert (v.sampler_state_pointer, v.sampler_count) == (0x1094A0, 4)


def test_wm_bits_of_g4x_are_reserved_on_gen4() -> None:
    words = WM_STATE.pack(Gen.EL, setup_urb_entry_read_length=1, transposed_urb_read_enable=True,
                          contiguous_64_pixel_dispatch_enable=True, contiguous_32_pixel_dispatch_enable=True)
    assert words[5] == 0x01000018
    assert [c.field.name for c in WM_STATE.complaints(words, gen=Gen.BW)] == ["reserved_5_24_24", "reserved_5_4_3"]


def test_setup_read_length_has_six_bits() -> None:
    """The manual prints bits 17:11; the range and the other units say 16:11."""
    assert WM_STATE.pack(Gen.EL, setup_urb_entry_read_length=63)[3] == 63 << 11
    with pytest.raises(FieldError, match="setup_urb_entry_read_length"):
        WM_STATE.pack(Gen.EL, setup_urb_entry_read_length=64)


def test_depth_offset_terms_are_floats() -> None:
    words = WM_STATE.pack(Gen.EL, global_depth_offset_constant=2.0, global_depth_offset_scale=-1.0)
    assert words[6:] == [0x40000000, 0xBF800000]


# --- color calculator ------------------------------------------------------------------------------------------------
def test_color_calc_state_of_a_stencil_draw() -> None:
    v = COLOR_CALC_STATE.view(CC, gen=Gen.CTG)
    assert v.stencil_test_enable and v.stencil_buffer_write_enable and not v.double_sided_stencil_enable
    assert v.stencil_test_function is CompareFunction.ALWAYS
    assert v.stencil_fail_op is StencilOperation.KEEP
    assert v.stencil_pass_depth_fail_op is StencilOperation.KEEP
    assert v.stencil_pass_depth_pass_op is StencilOperation.INCRSAT
    assert v.backface_stencil_pass_depth_pass_op is StencilOperation.INCRSAT
    assert (v.stencil_reference_value, v.stencil_test_mask, v.stencil_write_mask) == (1, 0xFF, 0xFF)
    assert (v.backface_stencil_reference_value, v.backface_stencil_test_mask,
            v.backface_stencil_write_mask) == (1, 0xFF, 0xFF)
    assert not v.depth_test_enable and not v.depth_buffer_write_enable and not v.logic_op_enable
    assert v.depth_test_function is CompareFunction.NEVER
    assert v.alpha_test_format is AlphaTestFormat.FLOAT32
    assert not v.color_buffer_blend_enable and v.source_blend_factor is BlendFactor.UNSET
    assert v.color_calculator_viewport_state_pointer == 0x109360
    assert v.color_dither_enable


def test_color_calc_state_of_a_blended_draw() -> None:
    v = COLOR_CALC_STATE.view(GEN4_CC, gen=Gen.CL)
    assert v.color_buffer_blend_enable and not v.independent_alpha_blend_enable
    assert v.color_blend_function is BlendFunction.ADD
    assert v.source_blend_factor is BlendFactor.SRC_ALPHA
    assert v.destination_blend_factor is BlendFactor.INV_SRC_ALPHA
    assert v.source_alpha_blend_factor is BlendFactor.SRC_ALPHA
    assert v.destination_alpha_blend_factor is BlendFactor.INV_SRC_ALPHA
    assert not v.pre_blend_color_clamp_enable and not v.post_blend_color_clamp_enable


def test_alpha_reference_follows_the_format() -> None:
    words = COLOR_CALC_STATE.pack(Gen.EL, alpha_test_format="FLOAT32", alpha_reference_value_as_float32=0.5)
    assert words[7] == 0x3F000000
    values = COLOR_CALC_STATE.view(words, gen=Gen.EL).to_dict()
    assert values["alpha_reference_value_as_float32"] == 0.5
    assert "alpha_reference_value_as_unorm8" not in values
    words = COLOR_CALC_STATE.pack(Gen.EL, alpha_test_format="UNORM8", alpha_reference_value_as_unorm8=128)
    assert words[7] == 128
    assert what(COLOR_CALC_STATE, words, Gen.EL) == []
    words[7] = 0x180
    assert what(COLOR_CALC_STATE, words, Gen.EL) == [
        "COLOR_CALC_STATE: reserved_7_31_8 (dword 7, bits 31:8) reserved bits are 0x1, must be zero"]


def test_round_disable_function_cannot_be_turned_off_on_the_965g() -> None:
    words = COLOR_CALC_STATE.pack(Gen.CL, round_disable_function_disable=True)
    assert words[5] == 1 << 30
    assert what(COLOR_CALC_STATE, words, Gen.EL) == []
    assert len(what(COLOR_CALC_STATE, words, Gen.BW)) == 1


@pytest.mark.parametrize("code", range(32))
def test_reserved_blend_factors(code: int) -> None:
    words = COLOR_CALC_STATE.pack(Gen.EL, destination_blend_factor=code)
    assert words[6] == code << 19
    reserved = {*range(0x0B, 0x11), 0x16, *range(0x1B, 0x20)}
    assert [c.raw for c in COLOR_CALC_STATE.complaints(words, gen=Gen.EL)] == ([code] if code in reserved else [])


def test_inverse_blend_factors_are_16_above() -> None:
    for factor in BlendFactor:
        if factor.name.startswith("INV_"):
            assert factor == BlendFactor[factor.name[4:]] + 16
    assert BlendFactor.ZERO == BlendFactor.ONE + 16


@pytest.mark.parametrize(("name", "function"), [
    ("CLEAR", lambda s, d: 0), ("NOR", lambda s, d: ~(s | d)), ("AND_INVERTED", lambda s, d: ~s & d),
    ("COPY_INVERTED", lambda s, d: ~s), ("AND_REVERSE", lambda s, d: s & ~d), ("INVERT", lambda s, d: ~d),
    ("XOR", lambda s, d: s ^ d), ("NAND", lambda s, d: ~(s & d)), ("AND", lambda s, d: s & d),
    ("EQUIV", lambda s, d: ~(s ^ d)), ("NOOP", lambda s, d: d), ("OR_INVERTED", lambda s, d: ~s | d),
    ("COPY", lambda s, d: s), ("OR_REVERSE", lambda s, d: s | ~d), ("OR", lambda s, d: s | d),
    ("SET", lambda s, d: ~0),
])
def test_logic_op_codes_are_their_truth_tables(name: str, function: object) -> None:
    assert callable(function)
    assert LogicOpFunction[name] == function(0b1100, 0b1010) & 0xF


def test_compare_and_stencil_codes() -> None:
    assert [c.name for c in CompareFunction] == [
        "ALWAYS", "NEVER", "LESS", "EQUAL", "LEQUAL", "GREATER", "NOTEQUAL", "GEQUAL"]
    assert [o.name for o in StencilOperation] == [
        "KEEP", "ZERO", "REPLACE", "INCRSAT", "DECRSAT", "INCR", "DECR", "INVERT"]


def test_cc_viewport_holds_what_drivers_use_for_no_limit() -> None:
    words = CC_VIEWPORT.pack(Gen.EL, minimum_depth=-1e35, maximum_depth=1e35)
    v = CC_VIEWPORT.view(words, gen=Gen.EL)
    assert math.isclose(v.minimum_depth, -1e35, rel_tol=1e-7) and v.maximum_depth == -v.minimum_depth
