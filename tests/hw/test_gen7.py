"""Ivy Bridge: the commands of the manual with their headers, dwords written down from the manual, what moved."""

from __future__ import annotations

import pytest

from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen7.state import buffer_entry_fields
from gen4emu.hw.layout import Engine
from tests.hw.command_numbers_gen7 import HEADERS, LISTS, VIDEO
from tests.hw.descriptions import dangling_pointers, found, header_of, packed, shown, unclaimed

IVB = Gen.IVB


@pytest.mark.parametrize(("name", "header"), HEADERS.items())
def test_headers(name: str, header: int) -> None:
    assert (header_of(name, IVB), found(header, IVB)) == (header, name)


@pytest.mark.parametrize("name", LISTS)
def test_lists_are_there(name: str) -> None:
    assert found(LISTS[name] << 16, IVB) == name


@pytest.mark.parametrize(("name", "header"), VIDEO.items())
def test_headers_of_the_video_engine(name: str, header: int) -> None:
    assert (header_of(name, IVB), found(header, IVB, Engine.VIDEO)) == (header, name)


def test_pointers_lead_to_layouts() -> None:
    assert dangling_pointers(IVB) == []


def test_bay_trail_has_the_tables_of_ivy_bridge() -> None:
    assert catalogue_of(Gen.BYT).commands == catalogue_of(IVB).commands


# --- what moved since Sandy Bridge ------------------------------------------------------------------------------------
@pytest.mark.parametrize(("header", "sandy_bridge", "ivy_bridge"), [
    (0x78050001, "3DSTATE_URB", "3DSTATE_DEPTH_BUFFER"),
    (0x78040001, None, "3DSTATE_CLEAR_PARAMS"),
    (0x79050005, "3DSTATE_DEPTH_BUFFER", None),
    (0x790E0001, "3DSTATE_STENCIL_BUFFER", None),
    (0x790F0001, "3DSTATE_HIER_DEPTH_BUFFER", None),
    (0x79100000, "3DSTATE_CLEAR_PARAMS", None),
    (0x78010002, "3DSTATE_BINDING_TABLE_POINTERS", None),
    (0x790B0002, "3DSTATE_GS_SVB_INDEX", None),
    (0x70030000, "MEDIA_GATEWAY_STATE", None),
])
def test_codes_with_another_meaning(header: int, sandy_bridge: str | None, ivy_bridge: str | None) -> None:
    assert (found(header, Gen.SNB), found(header, IVB)) == (sandy_bridge, ivy_bridge)


# --- dwords from the manual -------------------------------------------------------------------------------------------
def test_a_primitive_has_its_topology_in_a_dword() -> None:
    assert packed("3DPRIMITIVE", IVB, primitive_topology_type="PATCHLIST_4", vertex_access_type="RANDOM",
                  vertex_count_per_instance=16, instance_count=1, base_vertex_location=-1) == [
        0x7B000005, 0x00000123, 16, 0, 1, 0, 0xFFFFFFFF]
    assert packed("3DPRIMITIVE", IVB, predicate_enable=True)[0] == 0x7B000105


def test_an_indirect_primitive_has_no_operands() -> None:
    assert shown("3DPRIMITIVE", IVB, 0x7B000405, 4, 9, 9, 9, 9, 9) == {
        "dword_length": 5, "indirect_parameter_enable": True, "primitive_topology_type": 4}


def test_each_stage_has_its_own_pointers() -> None:
    assert packed("3DSTATE_BINDING_TABLE_POINTERS_PS", IVB, pointer_to_ps_binding_table=0x1E0) == [0x782A0000, 0x1E0]
    assert unclaimed("3DSTATE_BINDING_TABLE_POINTERS_PS", IVB, 0x782A0000, 0x10000) != []
    assert packed("3DSTATE_SAMPLER_STATE_POINTERS_VS", IVB, pointer_to_vs_sampler_state=0x10020) == [
        0x782B0000, 0x10020]


@pytest.mark.parametrize(("name", "pointer", "header"), [
    ("3DSTATE_CC_STATE_POINTERS", "color_calc_state_pointer", 0x780E0000),
    ("3DSTATE_BLEND_STATE_POINTERS", "blend_state_pointer", 0x78240000),
    ("3DSTATE_DEPTH_STENCIL_STATE_POINTERS", "pointer_to_depth_stencil_state", 0x78250000),
])
def test_bit_0_of_a_state_pointer_must_be_set_and_is_no_valid_bit(name: str, pointer: str, header: int) -> None:
    assert packed(name, IVB, **{pointer: 0x140}) == [header, 0x141]
    assert shown(name, IVB, header, 0x140) == shown(name, IVB, header, 0x141)


def test_a_urb_region_starts_at_a_multiple_of_8_kib() -> None:
    assert packed("3DSTATE_URB_VS", IVB, vs_urb_starting_address=16384, vs_urb_entry_allocation_size=2,
                  vs_number_of_urb_entries=704) == [0x78300000, 0x040102C0]


def test_push_constants_are_allocated_in_kib() -> None:
    assert packed("3DSTATE_PUSH_CONSTANT_ALLOC_PS", IVB, constant_buffer_offset=12288, constant_buffer_size=4096) == [
        0x79160000, 0x000C0004]


def test_constants_have_lengths_in_front_of_pointers() -> None:
    assert packed("3DSTATE_CONSTANT_VS", IVB, constant_buffer_0_read_length=4, constant_buffer_3_read_length=1,
                  pointer_to_constant_buffer_0=0x2000, pointer_to_constant_buffer_3=0x5000,
                  constant_buffer_object_control_state=1) == [0x78150005, 4, 0x10000, 0x2001, 0, 0, 0x5000]


def test_a_triangle_of_a_driver() -> None:
    assert packed("3DSTATE_VS", IVB, kernel_start_pointer=0x40, dispatch_grf_start_register_for_urb_data=1,
                  vertex_urb_entry_read_length=1, maximum_number_of_threads=128, statistics_enable=True,
                  enable=True) == [0x78100004, 0x40, 0, 0, 0x00100800, 0xFE000401]
    assert packed("3DSTATE_PS", IVB, kernel_start_pointer_0=0x80, kernel_start_pointer_2=0xC0,
                  binding_table_entry_count=1, maximum_number_of_threads=172, attribute_enable=True,
                  dispatch_8_pixel_enable=True, dispatch_16_pixel_enable=True,
                  dispatch_grf_start_register_for_constant_setup_data_0=4,
                  dispatch_grf_start_register_for_constant_setup_data_2=6) == [
        0x78200006, 0x80, 0x00040000, 0, 0xAB000403, 0x00040006, 0, 0xC0]
    assert packed("3DSTATE_WM", IVB, statistics_enable=True, thread_dispatch_enable=True,
                  barycentric_interpolation_mode=1, line_end_cap_antialiasing_region_width="ONE_PIXEL",
                  multisample_dispatch_mode="PERPIXEL", point_rasterization_rule="UPPER_RIGHT") == [
        0x78140001, 0xA0000904, 0x80000000]
    assert packed("3DSTATE_SBE", IVB, number_of_sf_output_attributes=1, attribute_swizzle_enable=True,
                  vertex_urb_entry_read_length=1, vertex_urb_entry_read_offset=1)[:2] == [0x781F000C, 0x00600810]
    assert packed("3DSTATE_SF", IVB, depth_buffer_surface_format="D24_UNORM_X8_UINT", statistics_enable=True,
                  viewport_transform_enable=True, cull_mode="NONE", scissor_rectangle_enable=True,
                  point_width_source="STATE", point_width=1.0) == [
        0x78130005, 0x00003402, 0x20000800, 0x00000808, 0, 0, 0]


def test_the_enable_of_gs_moved_to_dword_5() -> None:
    words = packed("3DSTATE_GS", IVB, enable=True, output_topology="TRISTRIP", output_vertex_size=2,
                   control_data_format="SID", control_data_header_size=1, dispatch_mode="DUAL_OBJECT",
                   maximum_number_of_threads=128, reorder_mode="TRAILING", instance_control=1)
    assert words == [0x78110005, 0, 0, 0, 0x008A0000, 0xFF101005, 0]


def test_the_output_of_a_gs_that_is_off_is_ignored() -> None:
    assert unclaimed("3DSTATE_GS", IVB, 0x78110005, 0, 0, 0, 0, 0, 0) == []
    assert unclaimed("3DSTATE_GS", IVB, 0x78110005, 0, 0, 0, 0, 1, 0) == [
        "3DSTATE_GS: output_topology (dword 4, bits 22:17) 0 is reserved"]


def test_tessellation() -> None:
    assert packed("3DSTATE_HS", IVB, maximum_number_of_threads=128, enable=True, instance_count=2,
                  kernel_start_pointer=0x100, include_vertex_handles=True,
                  dispatch_grf_start_register_for_urb_data=1) == [
        0x781B0005, 0x7F, 0x80000001, 0x100, 0, 0x01080000, 0]
    assert packed("3DSTATE_TE", IVB, te_enable=True, te_domain="TRI", partitioning="ODD_FRACTIONAL",
                  output_topology="TRI_CCW", maximum_tessellation_factor_odd=63.0,
                  maximum_tessellation_factor_not_odd=64.0) == [0x781C0002, 0x1311, 0x427C0000, 0x42800000]
    assert packed("3DSTATE_DS", IVB, kernel_start_pointer=0x140, maximum_number_of_threads=128, enable=True,
                  compute_w_coordinate_enable=True, patch_urb_entry_read_length=64) == [
        0x781D0004, 0x140, 0, 0, 0x00020000, 0xFE000005]


def test_stream_output() -> None:
    assert packed("3DSTATE_STREAMOUT", IVB, so_function_enable=True, so_statistics_enable=True, so_buffer_enable_0=True,
                  reorder_mode="TRAILING", stream_0_vertex_read_length=2) == [0x781E0001, 0x86000100, 1]
    assert packed("3DSTATE_SO_BUFFER", IVB, so_buffer_index=1, surface_pitch=12, surface_base_address=0x1000,
                  surface_end_address=0x103C) == [0x79180002, 0x2000000C, 0x1000, 0x103C]
    words = packed("3DSTATE_SO_DECL_LIST", IVB, stream_to_buffer_selects_0=1, num_entries_0=2, entries=[
        {"stream_0_register_index": 1, "stream_0_component_mask": 0xF},
        {"stream_0_hole_flag": True, "stream_0_component_mask": 3, "stream_1_output_buffer_slot": 2}])
    assert words == [0x79170005, 1, 2, 0x1F, 0, 0x20000803, 0]


def test_128_declarations_need_the_ninth_bit_of_the_length() -> None:
    command = catalogue_of(IVB).command("3DSTATE_SO_DECL_LIST")
    words = command.pack(IVB, entries=[{}] * 128)
    assert words[0] == 0x79170101
    assert command.length(words[0]) == len(words) == 259


def test_a_depth_buffer_without_tiling_bits() -> None:
    assert packed("3DSTATE_DEPTH_BUFFER", IVB, surface_type="SURFTYPE_2D", depth_write_enable=True,
                  stencil_write_enable=True, hierarchical_depth_buffer_enable=True, surface_format="D32_FLOAT",
                  surface_pitch=4096, surface_base_address=0x80000, width=1024, height=768, depth=1,
                  render_target_view_extent=1, depth_buffer_object_control_state=1) == [
        0x78050005, 0x38440FFF, 0x80000, 0x0BFC3FF0, 1, 0, 0]
    assert unclaimed("3DSTATE_DEPTH_BUFFER", IVB, 0x78050005, 0x20080000, 0, 0, 0, 0, 0) == [
        "3DSTATE_DEPTH_BUFFER: surface_format (dword 1, bits 20:18) 2 is reserved"]


def test_a_clear_value_has_its_valid_bit_behind_it() -> None:
    assert packed("3DSTATE_CLEAR_PARAMS", IVB, depth_clear_value=0x3F800000, depth_clear_value_valid=True) == [
        0x78040001, 0x3F800000, 1]


def test_sample_positions_are_in_the_packet() -> None:
    positions = {f"sample{i}_{axis}_offset": place / 16 for i, point in enumerate(((6, 2), (14, 6), (2, 10), (10, 14)))
                 for axis, place in zip("xy", point, strict=True)}
    assert packed("3DSTATE_MULTISAMPLE", IVB, number_of_multisamples="NUMSAMPLES_4", **positions) == [
        0x790D0002, 4, 0xAE2AE662, 0]


def test_a_surface_of_a_render_target() -> None:
    words = packed("RENDER_SURFACE_STATE", IVB, surface_type="SURFTYPE_2D", surface_array=True,
                   surface_format="B8G8R8A8_UNORM", surface_vertical_alignment="VALIGN_4", tiled_surface=True,
                   tile_walk="YMAJOR", surface_array_spacing="LOD0", surface_base_address=0x40000, width=300,
                   height=200, depth=4, surface_pitch=1280, render_target_view_extent=1, minimum_array_element=2,
                   number_of_multisamples="MULTISAMPLECOUNT_4", surface_object_control_state=1,
                   mcs_base_address=0x90000, mcs_surface_pitch=3, mcs_enable=True, red_clear_color=1)
    assert words == [0x33016400, 0x40000, 0x00C7012B, 0x006004FF, 0x00080010, 0x00010000, 0x00090011, 0x80000000]
    assert unclaimed("RENDER_SURFACE_STATE", IVB, *words) == []


def test_a_buffer_of_1000_entries() -> None:
    words = packed("RENDER_SURFACE_STATE", IVB, surface_type="SURFTYPE_BUFFER", surface_format="R32G32B32A32_FLOAT",
                   surface_pitch=16, **buffer_entry_fields(1000))
    assert words[2:4] == [7 << 16 | 103, 15]


def test_a_structured_buffer_has_a_first_element() -> None:
    assert shown("RENDER_SURFACE_STATE", IVB, 0xA0000000, 0, 0, 0, 0x00000123, 0, 0, 0) == {
        "surface_type": 5, "surface_pitch": 1, "strbuf_minimum_array_element": 0x123, "mcs_surface_pitch": 1}


def test_dword_6_is_a_control_surface_a_counter_or_a_chroma_plane() -> None:
    planar = 1 << 29 | 0x1A5 << 18
    assert "append_counter_address" in shown("RENDER_SURFACE_STATE", IVB, 0x20000000, 0, 0, 0, 0, 0, 0x1042, 0)
    assert shown("RENDER_SURFACE_STATE", IVB, planar, 0, 0, 0, 0, 0, 0x00000043, 0)["y_offset_for_uv_plane"] == 0x43


def test_lods_have_eight_bits_of_fraction() -> None:
    words = packed("SAMPLER_STATE", IVB, texture_lod_bias=-0.5, max_lod=2.5, min_lod=1.25, shadow_function="LESS",
                   tcx_address_control_mode="CLAMP", anisotropic_algorithm="EWA_APPROXIMATION",
                   non_normalized_coordinate_enable=True)
    assert words == [0x1F80 << 1 | 1, 0x14028004, 0, 0x00000480]


def test_the_viewports_of_sf_and_clip_are_one() -> None:
    words = packed("SF_CLIP_VIEWPORT", IVB, viewport_matrix_element_m00=1.0, x_max_clip_guardband=2.0)
    assert (len(words), words[0], words[9]) == (16, 0x3F800000, 0x40000000)


def test_a_pipe_control_may_write_a_register() -> None:
    assert packed("PIPE_CONTROL", IVB, lri_post_sync_operation="MMIO_WRITE_IMMEDIATE_DATA", register_offset=0x20C0,
                  immediate_data_low=0x00400040) == [0x7A000003, 0x00800000, 0x20C0, 0x00400040, 0]
    assert packed("PIPE_CONTROL", IVB, destination_address_type="GLOBAL", dc_flush_enable=True,
                  post_sync_operation="WRITE_TIMESTAMP", address=0x1004) == [0x7A000003, 0x0100C020, 0x1004, 0, 0]


@pytest.mark.parametrize(("values", "header"), [
    # Sent by conditional rendering and indirect compute (load, combine, compare).
    ({"load_operation": "LOADINV", "combine_operation": "SET", "compare_operation": "SRCS_EQUAL"}, 0x060000C2),
    ({"load_operation": "LOAD", "combine_operation": "XOR", "compare_operation": "SRCS_EQUAL"}, 0x0600009A),
    ({"load_operation": "LOADINV", "combine_operation": "OR", "compare_operation": "FALSE"}, 0x060000D1),
])
def test_predicates(values: dict[str, str], header: int) -> None:
    assert packed("MI_PREDICATE", IVB, **values) == [header]


def test_a_walker() -> None:
    assert packed("GPGPU_WALKER", IVB, simd_size="SIMD16", thread_width_counter_maximum=2,
                  thread_group_id_x_dimension=2, thread_group_id_y_dimension=3, thread_group_id_z_dimension=1,
                  right_execution_mask=0xFF, bottom_execution_mask=0xFFFFFFFF) == [
        0x71050009, 0, 0x40000002, 0, 2, 0, 3, 0, 1, 0xFF, 0xFFFFFFFF]


def test_shared_local_memory_is_counted_in_4_kib() -> None:
    words = packed("INTERFACE_DESCRIPTOR_DATA", IVB, kernel_start_pointer=0x40,
                   shared_local_memory_size="ENCODES_16K", barrier_enable=True,
                   number_of_threads_in_gpgpu_thread_group=8, constant_urb_entry_read_length=2)
    assert words == [0x40, 0, 0, 0, 0x00020000, 0x00240008, 0, 0]


def test_the_state_of_deinterlacing_as_a_driver_writes_it() -> None:
    words = packed(
        "DNDI_STATE", IVB, denoise_stad_threshold=140, denoise_maximum_history=192, denoise_history_increase=7,
        denoise_asd_threshold=38, stmm_c2=2, denoise_moving_pixel_threshold=1,
        denoise_threshold_for_sum_of_complexity_measure=38, good_neighbor_threshold=12,
        content_adaptive_threshold_slope=10, sad_tight_threshold=5, block_noise_estimate_edge_threshold=1,
        block_noise_estimate_noise_threshold=20, blending_constant_across_time_for_large_values_of_stmm=64,
        blending_constant_across_time_for_small_values_of_stmm=125, multiplier_for_vecm=30, maximum_stmm=150,
        minimum_stmm=118, stmm_shift_down=3, stmm_shift_up=1, stmm_output_shift=5, sdi_threshold=100, sdi_delta=5,
        di_enable=True, dndi_top_first=True, column_width=720 // 16 + 1)
    assert words == [0x8CC00726, 0x00004126, 0x0C950114, 0x407D1E96, 0x76D56405, 0, 0x0000000A, 45 << 23]


def test_avs_coefficients_are_bytes_of_six_fraction_bits() -> None:
    words = packed("SAMPLER_8x8_STATE", IVB, coefficients=[
        {"table_0x_filter_coefficient_3": 1.0, "table_1y_filter_coefficient_4": -0.5}], default_sharpness_level=255,
        bypass_x_adaptive_filtering=True, bypass_y_adaptive_filtering=True)
    assert (len(words), words[0], words[7], words[136], words[137]) == (138, 0x40000000, 0xE0, 0xFF000000, 0x00600000)


# --- slips of the sources ---------------------------------------------------------------------------------------------
def test_lengths_of_video_commands_are_those_that_drivers_send() -> None:
    # Mesa's gen7.xml: 831, 34, 2 and 14 dwords, and fields beyond the last two.
    sizes = {"MFX_JPEG_HUFF_TABLE_STATE": 53, "MFX_QM_STATE": 18, "MFX_MPEG2_PIC_STATE": 13, "MFX_AVC_IMG_STATE": 16}
    assert {name: len(packed(name, IVB)) for name in sizes} == sizes


def test_ac_bits_of_a_huffman_table_are_bytes() -> None:
    words = packed("MFX_JPEG_HUFF_TABLE_STATE", IVB, ac_bits_0=1, ac_bits_15=2, ac_huffval_161=3)
    assert (words[8], words[11], words[52]) == (1, 2 << 24, 3 << 8)


def test_sizes_of_a_picture_are_less_one() -> None:
    assert packed("MFX_MPEG2_PIC_STATE", IVB, frame_width_in_mbs=45, frame_height_in_mbs=36)[3] == 35 << 16 | 44


# --- registers --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "offset"), [
    ("RENDER_INSTDONE", 0x206C), ("SC_INSTDONE", 0x7100), ("SAMPLER_INSTDONE", 0xE160), ("ROW_INSTDONE", 0xE164),
    ("MI_PREDICATE_SRC0", 0x2400), ("MI_PREDICATE_SRC1", 0x2408), ("MI_PREDICATE_DATA", 0x2410),
    ("MI_PREDICATE_RESULT", 0x2418), ("3DPRIM_END_OFFSET", 0x2420), ("3DPRIM_START_VERTEX", 0x2430),
    ("3DPRIM_VERTEX_COUNT", 0x2434), ("3DPRIM_INSTANCE_COUNT", 0x2438), ("3DPRIM_START_INSTANCE", 0x243C),
    ("3DPRIM_BASE_VERTEX", 0x2440), ("GPGPU_DISPATCHDIMX", 0x2500), ("GPGPU_DISPATCHDIMZ", 0x2508),
    ("SO_NUM_PRIMS_WRITTEN3", 0x5218), ("SO_PRIM_STORAGE_NEEDED0", 0x5240), ("SO_WRITE_OFFSET2", 0x5288),
    ("HS_INVOCATION_COUNT", 0x2300), ("DS_INVOCATION_COUNT", 0x2308), ("CS_INVOCATION_COUNT", 0x2290),
    ("L3SQCREG1", 0xB010), ("L3CNTLREG2", 0xB020), ("L3CNTLREG3", 0xB024), ("RENDER_INSTPM", 0x20C0),
    ("RENDER_HWS_PGA", 0x4080), ("VIDEO_HWS_PGA", 0x4180), ("FENCE_31", 0x1000F8), ("ERR_INT", 0x44040),
])
def test_registers(name: str, offset: int) -> None:
    register = catalogue_of(IVB).register_at(offset)
    assert register is not None
    assert (register.name, register.offset) == (name, offset)


def test_registers_that_are_gone() -> None:
    assert [hex(offset) for offset in (0x207C, 0x2280, 0x2288, 0x2120, 0x2520, 0x14080)
            if catalogue_of(IVB).register_at(offset) is not None] == []


def test_busy_units_are_named() -> None:
    idle = catalogue_of(IVB).block("RENDER_INSTDONE").view([0xFFFFFFFF & ~(1 << 9 | 1 << 19)], gen=IVB)
    assert [name for name, value in idle.to_dict().items() if not value] == ["gam", "sf"]
