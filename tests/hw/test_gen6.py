"""Sandy Bridge: the commands of the manual with their headers, dwords written down from the manual, what Gen4 had."""

from __future__ import annotations

import pytest

from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Engine
from tests.hw.command_numbers_gen6 import HEADERS, LISTS, VIDEO
from tests.hw.descriptions import dangling_pointers, found, header_of, packed, shown, unclaimed

SNB = Gen.SNB


@pytest.mark.parametrize(("name", "header"), HEADERS.items())
def test_headers(name: str, header: int) -> None:
    assert (header_of(name, SNB), found(header, SNB)) == (header, name)


@pytest.mark.parametrize(("name", "code"), LISTS.items())
def test_lists_grow_with_their_items(name: str, code: int) -> None:
    command = catalogue_of(SNB).command(name)
    item = next(iter(command.arrays_for(SNB)))
    one = command.pack(SNB, **{item.name: [{}]})
    assert one[0] == code << 16 | item.item.size(SNB) - 1
    assert len(one) == 1 + item.item.size(SNB)


@pytest.mark.parametrize(("name", "header"), VIDEO.items())
def test_headers_of_the_video_engine(name: str, header: int) -> None:
    assert (header_of(name, SNB), found(header, SNB, Engine.VIDEO)) == (header, name)


def test_pointers_lead_to_layouts() -> None:
    assert dangling_pointers(SNB) == []


# --- what changed since Gen4 ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("header", [
    0x60000001,  # URB_FENCE
    0x60010000,  # CS_URB_STATE
    0x60020000,  # CONSTANT_BUFFER
    0x61040000,  # the 965G's PIPELINE_SELECT
    0x78000005,  # 3DSTATE_PIPELINED_POINTERS
    0x79010003,  # 3DSTATE_CONSTANT_COLOR
    0x79090000,  # 3DSTATE_GLOBAL_DEPTH_OFFSET_CLAMP
    0x18000001,  # MI_BATCH_BUFFER
])
def test_commands_that_are_gone(header: int) -> None:
    assert found(header, SNB) is None


@pytest.mark.parametrize("name", ["VS_STATE", "WM_STATE", "SURFACE_STATE", "VFE_STATE", "INTERFACE_DESCRIPTOR",
                                  "PAYLOAD_PS_R0", "MEDIA_INLINE_VLD"])
def test_blocks_that_are_gone(name: str) -> None:
    with pytest.raises(KeyError):
        catalogue_of(SNB).block(name)


def test_statistics_are_enabled_by_either_encoding() -> None:
    assert found(0x680B0001, SNB) == found(0x780B0001, SNB) == "3DSTATE_VF_STATISTICS"
    assert header_of("3DSTATE_VF_STATISTICS", SNB) == 0x680B0000


def test_7000_is_another_command_on_each_engine() -> None:
    assert found(0x70000006, SNB) == "MEDIA_VFE_STATE"
    assert found(0x70000002, SNB, Engine.VIDEO) == "MFX_PIPE_MODE_SELECT"
    assert found(0x7A000003, SNB, Engine.VIDEO) == "PIPE_CONTROL"


@pytest.mark.parametrize(("header", "dwords"), [
    (0x68000100, 1),  # pipeline 1: one dword without a length
    (0x69FF0003, 1),
    (0x78FF0003, 5),
    (0x71FF0123, 0x125),  # media: 16 bits of length
    (0x17000041, 3),  # MI: 6 bits
    (0x07800003, 1),
    (0x5FC00003, 5),
])
def test_unknown_commands_are_skipped_by_the_rule_of_their_client(header: int, dwords: int) -> None:
    assert found(header, SNB) is None or header == 0x68000100
    assert catalogue_of(SNB).length(header) == dwords


# --- dwords from the manual -------------------------------------------------------------------------------------------
def test_bases_of_a_driver() -> None:
    # General state 0, surface and dynamic state at 0x100000, instructions at 0x200000, no bounds but the highest.
    words = [0x61010008, 0x00000001, 0x00100001, 0x00100001, 0x00000001, 0x00200001, 0x00000001, 0xFFFFF001, 0x00000001,
             0xFFFFF001]
    bases = {f"{name}_base_address_modify_enable": True
             for name in ("general_state", "surface_state", "dynamic_state", "indirect_object", "instruction")}
    bounds = {f"{name}_access_upper_bound_modify_enable": True
              for name in ("general_state", "dynamic_state", "indirect_object", "instruction")}
    assert packed("STATE_BASE_ADDRESS", SNB, surface_state_base_address=0x100000, dynamic_state_base_address=0x100000,
                  instruction_base_address=0x200000, dynamic_state_access_upper_bound=0xFFFFF000,
                  instruction_access_upper_bound=0xFFFFF000, **bases, **bounds) == words
    assert unclaimed("STATE_BASE_ADDRESS", SNB, *words) == []


def test_an_unflagged_pointer_is_ignored() -> None:
    words = [0x780E0002, 0xFFFFFFC0, 0x00000141, 0x00000000]
    assert shown("3DSTATE_CC_STATE_POINTERS", SNB, *words) == {
        "dword_length": 2, "pointer_to_depth_stencil_state": 0x140, "depth_stencil_state_change": True}
    assert unclaimed("3DSTATE_CC_STATE_POINTERS", SNB, *words) == []


def test_viewport_pointers_have_their_flags_in_the_header() -> None:
    assert packed("3DSTATE_VIEWPORT_STATE_POINTERS", SNB, cc_viewport_state_change=True,
                  pointer_to_cc_viewport=0x60) == [0x780D1002, 0, 0, 0x60]
    assert packed("3DSTATE_VIEWPORT_STATE_POINTERS", SNB, clip_viewport_state_change=True,
                  sf_viewport_state_change=True, pointer_to_clip_viewport=0x40,
                  pointer_to_sf_viewport=0x80) == [0x780D0C02, 0x40, 0x80, 0]


def test_the_urb_counts_units_of_128_bytes() -> None:
    assert packed("3DSTATE_URB", SNB, vs_urb_entry_allocation_size=2, vs_number_of_urb_entries=256,
                  gs_number_of_urb_entries=0, gs_urb_entry_allocation_size=1) == [0x78050001, 0x00010100, 0]


def test_constants_have_valid_bits_and_lengths_less_one() -> None:
    words = packed("3DSTATE_CONSTANT_PS", SNB, buffer_0_valid=True, pointer_to_constant_buffer_0=0x1000,
                   constant_buffer_0_read_length=4)
    assert words == [0x78171003, 0x1003, 0, 0, 0]


def test_a_primitive_has_its_topology_in_the_header() -> None:
    assert packed("3DPRIMITIVE", SNB, primitive_topology_type="RECTLIST", vertex_count_per_instance=3,
                  instance_count=1) == [0x7B003C04, 3, 0, 1, 0, 0]


def test_a_pipe_control_writes_64_bits() -> None:
    words = [0x7A000003, 0x00104000, 0x00002004, 0x00000001, 0x00000002]
    assert packed("PIPE_CONTROL", SNB, command_streamer_stall_enable=True, post_sync_operation="WRITE_IMMEDIATE_DATA",
                  destination_address_type="GLOBAL", address=0x2000, immediate_data_low=1,
                  immediate_data_high=2) == words


def test_the_setup_and_the_swizzles_are_one_command() -> None:
    words = packed("3DSTATE_SF", SNB, number_of_sf_output_attributes=2, attribute_swizzle_enable=True,
                   vertex_urb_entry_read_length=1, vertex_urb_entry_read_offset=1, viewport_transform_enable=True,
                   cull_mode="NONE", line_width=1.0, multisample_rasterization_mode="OFF_PIXEL",
                   attributes=[{"even_source_attribute": 1, "odd_source_attribute": 2,
                                "odd_swizzle_select": "INPUTATTR_FACING"}] + [{}] * 7,
                   constant_interpolation_enable=2)
    assert words[:5] == [0x78130012, 0x00A00810, 0x00000002, 0x22000000, 0]
    assert words[8] == 0x00420001
    assert words[17] == 2


def test_a_vertex_buffer_ends_at_an_address() -> None:
    assert packed("VERTEX_BUFFER_STATE", SNB, vertex_buffer_index=32, buffer_access_type="INSTANCEDATA",
                  null_vertex_buffer=True, buffer_pitch=12, buffer_starting_address=0x1000, end_address=0x100B,
                  instance_data_step_rate=1) == [0x8010200C, 0x1000, 0x100B, 1]


def test_a_vertex_element_has_no_destination() -> None:
    words = packed("VERTEX_ELEMENT_STATE", SNB, vertex_buffer_index=1, valid=True,
                   source_element_format="R32G32_FLOAT", source_element_offset=8, component_0_control="STORE_SRC",
                   component_1_control="STORE_SRC", component_2_control="STORE_0", component_3_control="STORE_1_FP")
    assert words == [0x06850008, 0x11230000]
    assert unclaimed("VERTEX_ELEMENT_STATE", SNB, words[0], words[1] | 0xFF) != []


def test_a_surface_with_four_samples() -> None:
    words = packed("RENDER_SURFACE_STATE", SNB, surface_type="SURFTYPE_2D", surface_format="R8G8B8A8_UNORM",
                   surface_base_address=0x10000, width=64, height=32, depth=1, surface_pitch=256, tiled_surface=True,
                   tile_walk="YMAJOR", number_of_multisamples="MULTISAMPLECOUNT_4",
                   surface_vertical_alignment="VALIGN_4", render_target_view_extent=1)
    assert words == [0x231C0000, 0x10000, 0x00F80FC0, 0x000007FB, 0x00000020, 0x01000000]


def test_a_sampler_says_whether_its_filters_differ() -> None:
    assert packed("SAMPLER_STATE", SNB, min_and_mag_state_not_equal=True, min_mode_filter="LINEAR",
                  texture_border_color_mode="DX9", max_lod=2.5, non_normalized_coordinate_enable=True) == [
        0x28004000, 0x000A0000, 0, 1]


def test_the_border_color_comes_in_six_forms() -> None:
    words = packed("SAMPLER_BORDER_COLOR_STATE", SNB, border_color_unorm_red=0xFF, border_color_unorm_alpha=0x80,
                   border_color_float_green=1.0, border_color_float16_alpha=0x3C00, border_color_unorm16_blue=0xFFFF,
                   border_color_snorm16_red=-1, border_color_snorm8_alpha=-127)
    assert words == [0x800000FF, 0, 0x3F800000, 0, 0, 0, 0x3C000000, 0, 0x0000FFFF, 0x0000FFFF, 0, 0x81000000]


def test_depth_and_stencil_state() -> None:
    assert packed("DEPTH_STENCIL_STATE", SNB, depth_test_enable=True, depth_test_function="LESS",
                  depth_buffer_write_enable=True, stencil_test_enable=True, stencil_test_function="ALWAYS",
                  stencil_pass_depth_pass_op="REPLACE", stencil_write_mask=0xFF) == [
        0x80100000, 0x00FF0000, 0x94000000]


def test_blend_state_is_eight_entries() -> None:
    words = packed("BLEND_STATE", SNB, entries=[
        {"color_buffer_blend_enable": True, "color_blend_function": "ADD", "source_blend_factor": "SRC_ALPHA",
         "destination_blend_factor": "INV_SRC_ALPHA", "pre_blend_color_clamp_enable": True,
         "color_clamp_range": "RTFORMAT"}])
    assert words[:2] == [0x80000073, 0x0000000A]
    assert len(words) == 16


# --- slips of the sources ---------------------------------------------------------------------------------------------
def test_the_compare_address_of_a_conditional_end_is_the_third_dword() -> None:
    # Mesa's gen6.xml: length 2, but a field in dword 2.
    assert packed("MI_CONDITIONAL_BATCH_BUFFER_END", SNB, compare_data_dword=7, compare_address=0x1000) == [
        0x1B000001, 7, 0x1000]


def test_a_video_surface_has_the_opcode_that_drivers_send() -> None:
    # Mesa's gen6.xml: pipeline 0, opcode 2.
    assert found(0x70010004, SNB, Engine.VIDEO) == "MFX_SURFACE_STATE"
    assert found(0x60020004, SNB, Engine.VIDEO) is None


def test_bits_of_an_avc_picture_that_a_driver_sets() -> None:
    # i965-va-driver: dword 3 has both offsets, dword 10 is 0x80601004, of which the manual has no bits 30:28 and 14:12.
    words = packed("MFX_AVC_IMG_STATE", SNB, first_chroma_qp_offset=-2, second_chroma_qp_offset=3)
    assert words[3] == 3 << 24 | 0x1E << 16
    words[10] = 0x80601004
    assert unclaimed("MFX_AVC_IMG_STATE", SNB, *words) == []


def test_sizes_of_a_picture_are_not_less_one_yet() -> None:
    assert packed("MFX_MPEG2_PIC_STATE", SNB, frame_width_in_mbs=45, frame_height_in_mbs=36)[3] == 36 << 16 | 45


# --- registers --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "offset"), [
    ("RENDER_RING_CTL", 0x203C), ("VIDEO_RING_CTL", 0x1203C), ("BLITTER_RING_CTL", 0x2203C),
    ("RENDER_ACTHD", 0x2074), ("BLITTER_IPEHR", 0x22068), ("RENDER_INSTDONE", 0x206C), ("INSTDONE1", 0x207C),
    ("VIDEO_INSTDONE", 0x1206C), ("BLITTER_INSTDONE", 0x2206C), ("RENDER_FAULT_REG", 0x4094),
    ("VIDEO_FAULT_REG", 0x4194), ("BLITTER_FAULT_REG", 0x4294), ("ERROR_GEN6", 0x40A0), ("RENDER_INSTPM", 0x20C0),
    ("BCS_SWCTRL", 0x22200), ("SO_PRIM_STORAGE_NEEDED", 0x2280), ("SO_NUM_PRIMS_WRITTEN", 0x2288),
    ("CL_INVOCATION_COUNT", 0x2338), ("PS_DEPTH_COUNT", 0x2350), ("TIMESTAMP", 0x2358), ("BLITTER_TIMESTAMP", 0x22358),
    ("FENCE_0", 0x100000), ("FENCE_15", 0x100078), ("GFX_MODE", 0x2520),
])
def test_registers(name: str, offset: int) -> None:
    register = catalogue_of(SNB).register_at(offset)
    assert register is not None
    assert (register.name, register.offset) == (name, offset)


def test_registers_of_gen4_that_are_gone() -> None:
    assert [hex(offset) for offset in (0x2020, 0x3000, 0x4030, 0x7500, 0x10200)
            if catalogue_of(SNB).register_at(offset) is not None] == []


def test_a_fence_has_its_pitch_next_to_its_end() -> None:
    assert packed("FENCE_3", SNB, start_address=0x200000, tile_walk="YMAJOR", valid=True, last_page_address=0x2FF000,
                  pitch_bytes=1024) == [0x00200003, 0x002FF007]


def test_a_fault_names_its_address() -> None:
    assert shown("RENDER_FAULT_REG", SNB, 0x00ABC00B) == {
        "virtual_address_of_fault": 0xABC000, "srcid_of_fault": 1, "fault_type": 1, "valid": True}
