"""The commands and state blocks of Gen9: an index of all of them, dwords written by hand, and the manual's slips.

"KBLv2a" is the Kaby Lake command reference, which has 79 commands.  The other commands are those that Mesa's gen9.xml
has for the render engine.
"""

from __future__ import annotations

import struct

import pytest

from gen4emu.hw import catalogue
from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.fields import Address, Field, Ignored, Mbz, claimed_bits
from gen4emu.hw.gen import Gen

KBL = catalogue_of(Gen.KBL)

# Upper half of the header, highest bit of the length, dwords of the fixed part, name.
OF_THE_MANUAL = """
7B00 7 7 3DPRIMITIVE
790A 7 3 3DSTATE_AA_LINE_PARAMETERS
7846 8 2 3DSTATE_BINDING_TABLE_EDIT_DS
7844 8 2 3DSTATE_BINDING_TABLE_EDIT_GS
7845 8 2 3DSTATE_BINDING_TABLE_EDIT_HS
7847 8 2 3DSTATE_BINDING_TABLE_EDIT_PS
7843 8 2 3DSTATE_BINDING_TABLE_EDIT_VS
7828 7 2 3DSTATE_BINDING_TABLE_POINTERS_DS
7829 7 2 3DSTATE_BINDING_TABLE_POINTERS_GS
7827 7 2 3DSTATE_BINDING_TABLE_POINTERS_HS
782A 7 2 3DSTATE_BINDING_TABLE_POINTERS_PS
7826 7 2 3DSTATE_BINDING_TABLE_POINTERS_VS
7919 7 4 3DSTATE_BINDING_TABLE_POOL_ALLOC
7824 7 2 3DSTATE_BLEND_STATE_POINTERS
780E 7 2 3DSTATE_CC_STATE_POINTERS
7904 7 4 3DSTATE_CHROMA_KEY
7804 7 3 3DSTATE_CLEAR_PARAMS
7812 7 4 3DSTATE_CLIP
781A 7 11 3DSTATE_CONSTANT_DS
7816 7 11 3DSTATE_CONSTANT_GS
7819 7 11 3DSTATE_CONSTANT_HS
7817 7 11 3DSTATE_CONSTANT_PS
7815 7 11 3DSTATE_CONSTANT_VS
7805 7 8 3DSTATE_DEPTH_BUFFER
7900 7 4 3DSTATE_DRAWING_RECTANGLE
781D 7 11 3DSTATE_DS
783E 7 2 3DSTATE_DX9_CONSTANTB_PS
783D 7 2 3DSTATE_DX9_CONSTANTB_VS
783A 10 2 3DSTATE_DX9_CONSTANTF_PS
7839 10 2 3DSTATE_DX9_CONSTANTF_VS
783C 7 2 3DSTATE_DX9_CONSTANTI_PS
783B 7 2 3DSTATE_DX9_CONSTANTI_VS
791B 7 4 3DSTATE_DX9_CONSTANT_BUFFER_POOL_ALLOC
7842 7 2 3DSTATE_DX9_GENERATE_ACTIVE_PS
7841 7 2 3DSTATE_DX9_GENERATE_ACTIVE_VS
7840 7 11 3DSTATE_DX9_LOCAL_VALID_PS
783F 7 11 3DSTATE_DX9_LOCAL_VALID_VS
7837 7 3 3DSTATE_GATHER_CONSTANT_DS
7835 7 3 3DSTATE_GATHER_CONSTANT_GS
7836 7 3 3DSTATE_GATHER_CONSTANT_HS
7838 7 3 3DSTATE_GATHER_CONSTANT_PS
7834 7 3 3DSTATE_GATHER_CONSTANT_VS
791A 7 4 3DSTATE_GATHER_POOL_ALLOC
7811 7 10 3DSTATE_GS
7807 7 5 3DSTATE_HIER_DEPTH_BUFFER
781B 7 9 3DSTATE_HS
780A 7 5 3DSTATE_INDEX_BUFFER
7908 7 3 3DSTATE_LINE_STIPPLE
7911 7 2 3DSTATE_MONOFILTER_SIZE
780D 7 2 3DSTATE_MULTISAMPLE
7906 7 2 3DSTATE_POLY_STIPPLE_OFFSET
7907 7 33 3DSTATE_POLY_STIPPLE_PATTERN
7820 7 12 3DSTATE_PS
784D 7 2 3DSTATE_PS_BLEND
784F 7 2 3DSTATE_PS_EXTRA
7914 7 2 3DSTATE_PUSH_CONSTANT_ALLOC_DS
7915 7 2 3DSTATE_PUSH_CONSTANT_ALLOC_GS
7913 7 2 3DSTATE_PUSH_CONSTANT_ALLOC_HS
7916 7 2 3DSTATE_PUSH_CONSTANT_ALLOC_PS
7912 7 2 3DSTATE_PUSH_CONSTANT_ALLOC_VS
7850 7 5 3DSTATE_RASTER
7854 7 4 3DSTATE_RS_CONSTANT_POINTER
7902 7 1 3DSTATE_SAMPLER_PALETTE_LOAD0
790C 7 1 3DSTATE_SAMPLER_PALETTE_LOAD1
782D 7 2 3DSTATE_SAMPLER_STATE_POINTERS_DS
782E 7 2 3DSTATE_SAMPLER_STATE_POINTERS_GS
782C 7 2 3DSTATE_SAMPLER_STATE_POINTERS_HS
782F 7 2 3DSTATE_SAMPLER_STATE_POINTERS_PS
782B 7 2 3DSTATE_SAMPLER_STATE_POINTERS_VS
7818 7 2 3DSTATE_SAMPLE_MASK
791C 7 9 3DSTATE_SAMPLE_PATTERN
781F 7 6 3DSTATE_SBE
7851 7 11 3DSTATE_SBE_SWIZ
780F 7 2 3DSTATE_SCISSOR_STATE_POINTERS
7813 7 4 3DSTATE_SF
7918 7 8 3DSTATE_SO_BUFFER
7917 8 3 3DSTATE_SO_DECL_LIST
7806 7 5 3DSTATE_STENCIL_BUFFER
781E 7 5 3DSTATE_STREAMOUT
"""

OF_THE_DRIVERS = """
6101 7 19 STATE_BASE_ADDRESS
6102 7 3 STATE_SIP
6003 7 2 STATE_PREFETCH
6104 7 3 GPGPU_CSR_BASE_ADDRESS
6904 - 1 PIPELINE_SELECT
680B - 1 3DSTATE_VF_STATISTICS
7A00 7 6 PIPE_CONTROL
7808 7 1 3DSTATE_VERTEX_BUFFERS
7809 7 1 3DSTATE_VERTEX_ELEMENTS
780C 7 2 3DSTATE_VF
7849 7 3 3DSTATE_VF_INSTANCING
784A 7 2 3DSTATE_VF_SGVS
784B 7 2 3DSTATE_VF_TOPOLOGY
7855 7 5 3DSTATE_VF_COMPONENT_PACKING
7810 7 9 3DSTATE_VS
781C 7 4 3DSTATE_TE
7830 7 2 3DSTATE_URB_VS
7831 7 2 3DSTATE_URB_HS
7832 7 2 3DSTATE_URB_DS
7833 7 2 3DSTATE_URB_GS
791D 7 2 3DSTATE_URB_CLEAR
7823 7 2 3DSTATE_VIEWPORT_STATE_POINTERS_CC
7821 7 2 3DSTATE_VIEWPORT_STATE_POINTERS_SF_CLIP
7814 7 2 3DSTATE_WM
784E 7 4 3DSTATE_WM_DEPTH_STENCIL
7852 7 5 3DSTATE_WM_HZ_OP
784C 7 2 3DSTATE_WM_CHROMAKEY
7000 15 9 MEDIA_VFE_STATE
7001 15 4 MEDIA_CURBE_LOAD
7002 15 4 MEDIA_INTERFACE_DESCRIPTOR_LOAD
7004 15 2 MEDIA_STATE_FLUSH
7105 7 15 GPGPU_WALKER
7100 15 6 MEDIA_OBJECT
7102 15 16 MEDIA_OBJECT_PRT
7103 15 17 MEDIA_OBJECT_WALKER
7106 15 7 MEDIA_OBJECT_GRPID
"""

# MI opcode, highest bit of the length, dwords of the fixed part, name.
OF_MI = """
00 - 1 MI_NOOP
01 - 1 MI_SET_PREDICATE
02 - 1 MI_USER_INTERRUPT
03 - 1 MI_WAIT_FOR_EVENT
05 - 1 MI_ARB_CHECK
06 - 1 MI_RS_CONTROL
07 - 1 MI_REPORT_HEAD
08 - 1 MI_ARB_ON_OFF
09 - 1 MI_URB_ATOMIC_ALLOC
0A - 1 MI_BATCH_BUFFER_END
0B - 1 MI_SUSPEND_FLUSH
0C - 1 MI_PREDICATE
0D - 1 MI_TOPOLOGY_FILTER
0F - 1 MI_RS_CONTEXT
12 5 2 MI_LOAD_SCAN_LINES_INCL
13 5 2 MI_LOAD_SCAN_LINES_EXCL
14 7 3 MI_DISPLAY_FLIP
18 7 2 MI_SET_CONTEXT
1A 7 1 MI_MATH
1B 7 2 MI_SEMAPHORE_SIGNAL
1C 7 4 MI_SEMAPHORE_WAIT
1D 7 2 MI_FORCE_WAKEUP
20 9 4 MI_STORE_DATA_IMM
21 7 3 MI_STORE_DATA_INDEX
22 7 1 MI_LOAD_REGISTER_IMM
24 7 4 MI_STORE_REGISTER_MEM
26 5 4 MI_FLUSH_DW
27 9 3 MI_CLFLUSH
28 5 4 MI_REPORT_PERF_COUNT
29 7 4 MI_LOAD_REGISTER_MEM
2A 7 3 MI_LOAD_REGISTER_REG
2B 7 4 MI_RS_STORE_DATA_IMM
2C 7 4 MI_LOAD_URB_MEM
2D 7 4 MI_STORE_URB_MEM
2E 7 5 MI_COPY_MEM_MEM
2F 7 3 MI_ATOMIC
31 7 3 MI_BATCH_BUFFER_START
36 7 4 MI_CONDITIONAL_BATCH_BUFFER_END
"""

# Dwords and name.  SO_DECL and SF_OUTPUT_ATTRIBUTE_DETAIL have 16 bits: the former is in SO_DECL_ENTRY, of the latter
# a block holds two, as of GATHER_CONSTANT_ENTRY.
BLOCKS = """
16 RENDER_SURFACE_STATE
4 SAMPLER_STATE
4 SAMPLER_BORDER_COLOR_STATE
17 BLEND_STATE
2 BLEND_STATE_ENTRY
6 COLOR_CALC_STATE
2 CC_VIEWPORT
16 SF_CLIP_VIEWPORT
2 SCISSOR_RECT
8 INTERFACE_DESCRIPTOR_DATA
1 BINDING_TABLE_STATE
10 3DSTATE_CONSTANT_BODY
1 SF_OUTPUT_ATTRIBUTE_DETAIL
2 SO_DECL_ENTRY
4 VERTEX_BUFFER_STATE
2 VERTEX_ELEMENT_STATE
1 GATHER_CONSTANT_ENTRY
1 BINDING_TABLE_EDIT_ENTRY
1 PALETTE_ENTRY
1 MI_MATH_ALU_INSTRUCTION
"""


def rows(table: str) -> list[tuple[str, ...]]:
    return [tuple(line.split()) for line in table.split("\n") if line]


def check(header: int, length: str, dwords: str, name: str) -> None:
    command = KBL.command(name)
    assert command.header == header
    assert KBL.command_for(header) is command
    assert command.size(Gen.KBL) == int(dwords)
    if length == "-":
        assert command.length_field is None
    else:
        assert command.length_field is not None
        assert (command.length_field.hi, command.length_field.lo) == (int(length), 0)


def test_every_command_of_the_manual_has_its_header_and_length() -> None:
    for code, length, dwords, name in rows(OF_THE_MANUAL):
        check(int(code, 16) << 16, length, dwords, name)
    assert len(rows(OF_THE_MANUAL)) == 79


def test_every_other_command_of_the_render_engine_has_its_header_and_length() -> None:
    for code, length, dwords, name in rows(OF_THE_DRIVERS):
        check(int(code, 16) << 16, length, dwords, name)
    for code, length, dwords, name in rows(OF_MI):
        check(int(code, 16) << 23, length, dwords, name)
    assert len(rows(OF_THE_DRIVERS)) + len(rows(OF_MI)) == 74


def test_every_state_block_has_its_size() -> None:
    for dwords, name in rows(BLOCKS):
        assert KBL.block(name).size(Gen.KBL) == int(dwords), name


def test_codes_of_gen4_that_mean_something_else_or_nothing() -> None:
    assert {code: command.name for code in (0x6104, 0x7000, 0x7905, 0x7805, 0x7902)
            if (command := KBL.command_for(code << 16))} == {
        0x6104: "GPGPU_CSR_BASE_ADDRESS", 0x7000: "MEDIA_VFE_STATE", 0x7805: "3DSTATE_DEPTH_BUFFER",
        0x7902: "3DSTATE_SAMPLER_PALETTE_LOAD0"}
    for code in (0x780B, 0x6000, 0x6001, 0x6002, 0x7800, 0x7801, 0x7901, 0x7909, 0x790B):
        assert KBL.command_for(code << 16) is None
    assert KBL.command_for(0x04 << 23) is None


# Mesa's intel_decoder.c has these rules.
@pytest.mark.parametrize(("header", "dwords"), [
    (0x02000000, 1), (0x087000FE, 0x100), (0x5FC000FE, 0x100), (0x600F00FE, 0x100), (0x690F0003, 1),
    (0x700F01FE, 0x100), (0x710F01FE, 0x200), (0x7DFF00FE, 0x100), (0x80000005, 1),
])
def test_the_length_of_unknown_commands(header: int, dwords: int) -> None:
    assert KBL.command_for(header) is None
    assert KBL.length(header) == dwords


def test_every_command_agrees_with_the_length_rule_of_its_client() -> None:
    for command in KBL.commands:
        for length in (0, 1, 0x1F):
            words = [command.header]
            if command.length_field is not None:
                command.length_field.insert(words, length)
            assert KBL.generation.unknown_length(words[0]) == command.length(words[0]), command.name


# --- dwords written by hand -------------------------------------------------------------------------------------------
def floats(*values: float) -> list[int]:
    return list(struct.unpack(f"<{len(values)}I", struct.pack(f"<{len(values)}f", *values)))


def packed(name: str, **values: object) -> list[int]:
    return KBL.block(name).pack(Gen.KBL, **values)


def shown(name: str, words: list[int]) -> dict[str, object]:
    return KBL.block(name).view(words, gen=Gen.KBL, dwords=len(words)).to_dict()


def test_a_64_bit_address() -> None:
    words = packed("3DSTATE_BINDING_TABLE_POOL_ALLOC", binding_table_pool_base_address=0x0000_1234_5678_9000,
                   binding_table_pool_enable=True, surface_object_control_state=2, binding_table_pool_buffer_size=65536)
    assert words == [0x79190002, 0x56789802, 0x00001234, 0x00010000]
    assert shown("3DSTATE_BINDING_TABLE_POOL_ALLOC", words)["binding_table_pool_base_address"] == 0x1234_5678_9000


def test_256_entries_need_the_ninth_bit_of_the_length() -> None:
    edit = KBL.command("3DSTATE_BINDING_TABLE_EDIT_PS")
    entries = [{"binding_table_index": i, "surface_state_pointer": 64 * i} for i in range(256)]
    words = edit.pack(Gen.KBL, binding_table_block_clear=0xFFFF, binding_table_edit_target="ALL_CORES",
                      entries=entries)
    assert words[:4] == [0x78470100, 0xFFFF0003, 0x00000000, 0x00010001]
    assert edit.length(words[0]) == len(words) == 258
    assert edit.view(words, gen=Gen.KBL).entries[255].surface_state_pointer == 64 * 255


def test_an_indirect_draw_ignores_its_operands() -> None:
    direct = packed("3DPRIMITIVE", vertex_count_per_instance=3, instance_count=1, base_vertex_location=-1)
    assert direct == [0x7B000005, 0, 3, 0, 1, 0, 0xFFFFFFFF]
    assert shown("3DPRIMITIVE", direct)["base_vertex_location"] == -1
    assert "instance_count" not in shown("3DPRIMITIVE", [direct[0] | 1 << 10, *direct[1:]])
    to_the_end = shown("3DPRIMITIVE", [direct[0], 1 << 9, *direct[2:]])
    assert "vertex_count_per_instance" not in to_the_end
    assert to_the_end["instance_count"] == 1


def test_clip() -> None:
    assert packed(
        "3DSTATE_CLIP", force_user_clip_distance_cull_test_enable_bitmask=True, early_cull_enable=True,
        clipper_statistics_enable=True, user_clip_distance_cull_test_enable_bitmask=0x81, clip_enable=True,
        api_mode="D3D", viewport_xy_clip_test_enable=True, guardband_clip_test_enable=True,
        user_clip_distance_clip_test_enable_bitmask=0x0F, clip_mode="REJECT_ALL", perspective_divide_disable=True,
        non_perspective_barycentric_enable=True, triangle_strip_list_provoking_vertex_select=2,
        line_strip_list_provoking_vertex_select=1, triangle_fan_provoking_vertex_select=2,
        minimum_point_width=0.125, maximum_point_width=255.875, force_zero_rta_index_enable=True, maximum_vp_index=15,
    ) == [0x78120002, 0x00140481, 0xD40F6326, 0x0003FFEF]


def test_raster() -> None:
    assert packed(
        "3DSTATE_RASTER", viewport_z_far_clip_test_enable=True, conservative_rasterization_enable=True,
        api_mode="DX10_1", front_winding="CCW", forced_sample_count="SIXTEEN", cull_mode="BACK",
        dx_multisample_rasterization_mode="ON_PATTERN", global_depth_offset_enable_solid=True,
        front_face_fill_mode="WIREFRAME", back_face_fill_mode="POINT", scissor_rectangle_enable=True,
        viewport_z_near_clip_test_enable=True, global_depth_offset_constant=2.0, global_depth_offset_scale=-1.0,
    ) == [0x78500003, 0x05B70E33, *floats(2.0, -1.0, 0.0)]


def test_geometry_shader() -> None:
    words = packed(
        "3DSTATE_GS", kernel_start_pointer=0x1_0000_0040, single_program_flow=True, vector_mask_enable=True,
        sampler_count=8, binding_table_entry_count=5, floating_point_mode="ALTERNATE", expected_vertex_count=3,
        scratch_space_base_pointer=0x400, per_thread_scratch_space=1,
        dispatch_grf_start_register_for_urb_data_5_4=1, output_vertex_size=32, output_topology="TRISTRIP",
        vertex_urb_entry_read_length=2, include_vertex_handles=True, dispatch_grf_start_register_for_urb_data=4,
        control_data_header_size=64, instance_control=1, dispatch_mode="SIMD8", statistics_enable=True,
        invocations_increment_value=1, reorder_mode="TRAILING", enable=True, control_data_format="SID",
        static_output=True, static_output_vertex_count=6, maximum_number_of_threads=336,
        vertex_urb_entry_output_read_offset=1, vertex_urb_entry_output_length=2,
        user_clip_distance_clip_test_enable_bitmask=3, user_clip_distance_cull_test_enable_bitmask=4)
    assert words == [0x78110008, 0x00000040, 0x00000001, 0xD0150003, 0x00000401, 0x00000000, 0x208A1404, 0x00201C05,
                     0xC006014F, 0x00220304]


def test_pixel_shader() -> None:
    assert packed(
        "3DSTATE_PS", kernel_start_pointer_0=0x40, sampler_count=4, single_precision_denormal_mode="RET",
        binding_table_entry_count=255, rounding_mode="RTZ", maximum_number_of_threads_per_psd=64,
        push_constant_enable=True, render_target_fast_clear_enable=True, render_target_resolve_type="FULL",
        position_xy_offset_select="SAMPLE", dispatch_16_pixel_enable=True,
        dispatch_grf_start_register_for_constant_setup_data_0=6,
        dispatch_grf_start_register_for_constant_setup_data_2=7, kernel_start_pointer_2=0x80,
    ) == [0x7820000A, 0x40, 0, 0x0FFCC000, 0, 0, 0x1F8009DA, 0x00060007, 0, 0, 0x80, 0]


def test_setup_of_attributes() -> None:
    words = packed("3DSTATE_SBE", force_vertex_urb_entry_read_length=True, number_of_sf_output_attributes=2,
                   attribute_swizzle_enable=True, vertex_urb_entry_read_length=1, vertex_urb_entry_read_offset=1,
                   attribute_0_active_component_format="XYZW", attribute_1_active_component_format="XY",
                   attribute_31_active_component_format="XYZ")
    assert words == [0x781F0004, 0x20A00820, 0, 0, 0x00000007, 0x80000000]


def test_the_swizzle_of_two_attributes_in_a_dword() -> None:
    words = packed("3DSTATE_SBE_SWIZ", attributes=[
        {"even_source_attribute": 3, "even_component_override_w": True, "odd_source_attribute": 1,
         "odd_constant_source": "PRIM_ID"},
    ], attribute_15_wrap_shortest_enables=0xF)
    assert words == [0x78510009, 0x06018003, 0, 0, 0, 0, 0, 0, 0, 0, 0xF0000000]


def test_depth_buffer() -> None:
    words = packed("3DSTATE_DEPTH_BUFFER", surface_type="SURFTYPE_2D", depth_write_enable=True,
                   hierarchical_depth_buffer_enable=True, surface_format="D24_UNORM_X8_UINT", surface_pitch=1024,
                   surface_base_address=0xFFFF_8000_0000_1000, height=256, width=200, depth=1,
                   depth_buffer_object_control_state=4, tiled_resource_mode="TILEYS", render_target_view_extent=1,
                   surface_qpitch=256)
    assert words == [0x78050006, 0x304C03FF, 0x00001000, 0xFFFF8000, 0x03FC0C70, 0x00000004, 0x80000000, 0x00000040]
    assert KBL.command("3DSTATE_DEPTH_BUFFER").complaints(words, gen=Gen.KBL) == []


def test_constants_in_four_buffers() -> None:
    words = packed("3DSTATE_CONSTANT_PS", constant_buffer_object_control_state=4, constant_buffer_2_read_length=2,
                   constant_buffer_3_read_length=1, pointer_to_constant_buffer_2=0x1_0000_0020,
                   pointer_to_constant_buffer_3=0x2000)
    assert words == [0x78170409, 0, 0x00010002, 0, 0, 0, 0, 0x00000020, 0x00000001, 0x00002000, 0]
    assert "pointer_to_constant_buffer_0" not in shown("3DSTATE_CONSTANT_PS", words)


def test_stream_output() -> None:
    assert packed("3DSTATE_STREAMOUT", so_function_enable=True, api_rendering_disable=True, render_stream_select=2,
                  reorder_mode="TRAILING", so_statistics_enable=True, stream_3_vertex_read_length=1,
                  stream_2_vertex_read_offset=1, stream_2_vertex_read_length=2, stream_0_vertex_read_length=32,
                  buffer_1_surface_pitch=16, buffer_0_surface_pitch=8, buffer_3_surface_pitch=2048,
                  ) == [0x781E0003, 0xD6000000, 0x0021001F, 0x00100008, 0x08000000]
    assert packed("3DSTATE_SO_BUFFER", so_buffer_enable=True, so_buffer_index=3, stream_offset_write_enable=True,
                  stream_output_buffer_offset_address_enable=True, surface_base_address=0x8000_0000_0004,
                  surface_size=4096, stream_output_buffer_offset_address=0x10, stream_offset=0xFFFFFFFF,
                  ) == [0x79180006, 0xE0300000, 0x00000004, 0x00008000, 0x000003FF, 0x00000010, 0, 0xFFFFFFFF]


def test_stream_output_declarations() -> None:
    words = packed("3DSTATE_SO_DECL_LIST", stream_to_buffer_selects_0=3, stream_to_buffer_selects_3=8, num_entries_0=2,
                   num_entries_3=1, entries=[
                       {"stream_0_register_index": 1, "stream_0_component_mask": 0xF, "stream_3_output_buffer_slot": 3,
                        "stream_3_component_mask": 1},
                       {"stream_0_output_buffer_slot": 1, "stream_0_hole_flag": True, "stream_0_component_mask": 7}])
    assert words == [0x79170005, 0x00008003, 0x01000002, 0x0000001F, 0x30010000, 0x00001807, 0x00000000]


def test_sample_positions() -> None:
    words = packed("3DSTATE_SAMPLE_PATTERN", sample0_x_offset_16x=0.5, sample0_y_offset_16x=0.25,
                   sample15_y_offset_16x=0.9375, sample7_x_offset_8x=0.125, sample0_y_offset_8x=0.0625,
                   sample3_x_offset_4x=0.75, sample0_x_offset_1x=0.5, sample0_y_offset_1x=0.5, sample1_x_offset_2x=0.25,
                   sample0_y_offset_2x=0.75)
    assert words == [0x791C0007, 0x00000084, 0, 0, 0x0F000000, 0x20000000, 0x00000001, 0xC0000000, 0x0088400C]


def test_base_addresses() -> None:
    words = packed("STATE_BASE_ADDRESS", surface_state_base_address=0x1_0000_0000,
                   surface_state_memory_object_control_state=4, surface_state_base_address_modify_enable=True,
                   instruction_base_address=0x2000, instruction_base_address_modify_enable=True,
                   instruction_buffer_size=0xFFFFF000, instruction_buffer_size_modify_enable=True,
                   bindless_surface_state_base_address=0x3000, bindless_surface_state_base_address_modify_enable=True,
                   bindless_surface_state_size=1 << 20)
    assert words == [0x61010011, 0, 0, 0, 0x00000041, 0x00000001, 0, 0, 0, 0, 0x00002001, 0, 0, 0, 0, 0xFFFFF001,
                     0x00003001, 0, 0xFFFFF000]


def test_pipe_control() -> None:
    words = packed("PIPE_CONTROL", destination_address_type="GGTT", command_streamer_stall_enable=True,
                   post_sync_operation="WRITE_IMMEDIATE_DATA", render_target_cache_flush_enable=True, flush_llc=True,
                   depth_cache_flush_enable=True, address=0x1_2345_6780, immediate_data=0x1122334455667788)
    assert words == [0x7A000004, 0x05105001, 0x23456780, 0x00000001, 0x55667788, 0x11223344]
    assert "address" not in shown("PIPE_CONTROL", [0x7A000004, 0x00100000, 0, 0, 0, 0])


def test_mi() -> None:
    assert packed("MI_BATCH_BUFFER_START", second_level_batch_buffer="SECOND", address_space_indicator="PPGTT",
                  batch_buffer_start_address=0x8000_0000_1000) == [0x18C00101, 0x00001000, 0x00008000]
    assert packed("MI_LOAD_REGISTER_IMM", writes=[{"register_offset": 0x2580, "data": 1},
                                                  {"register_offset": 0x7034, "data": 2}],
                  ) == [0x11000003, 0x2580, 1, 0x7034, 2]
    assert packed("MI_MATH", instructions=[
        {"alu_opcode": "LOAD", "operand_1": "SRCA", "operand_2": "REG3"},
        {"alu_opcode": "STOREINV", "operand_1": "REG15", "operand_2": "CF"}]) == [0x0D000001, 0x08008003, 0x58003C33]
    assert packed("MI_SEMAPHORE_WAIT", wait_mode="POLLING", compare_operation="SAD_EQUAL_SDD", semaphore_data_dword=5,
                  semaphore_address=0x1_0000_0004) == [0x0E00C002, 5, 0x00000004, 0x00000001]
    assert packed("MI_ATOMIC", data_size="QWORD", inline_data=True, atomic_opcode="ADD8B", memory_address=0x100,
                  operands=[{"operand1_data_dword": 1}, {"operand1_data_dword": 2}, {}, {}],
                  ) == [0x178C2709, 0x100, 0, 1, 0, 2, 0, 0, 0, 0, 0]
    assert packed("MI_STORE_DATA_IMM", store_qword=True, address=0x1_0000_0008, data_dword_0=1, data_dword_1=[[2]],
                  ) == [0x10200003, 0x00000008, 0x00000001, 1, 2]
    assert packed("MI_COPY_MEM_MEM", destination_memory_address=4, source_memory_address=0x1_0000_0008,
                  ) == [0x17000003, 4, 0, 8, 1]
    assert packed("MI_FORCE_WAKEUP", mask_bits=3, force_media_awake=True) == [0x0E800000, 0x00030001]


def test_vertex_buffers_and_elements() -> None:
    assert packed("3DSTATE_VERTEX_BUFFERS", vertex_buffers=[
        {"vertex_buffer_index": 32, "memory_object_control_state": 4, "address_modify_enable": True,
         "buffer_pitch": 2048, "buffer_starting_address": 0x1_0000_0001, "buffer_size": 0x1000}],
    ) == [0x78080003, 0x80044800, 1, 1, 0x1000]
    assert packed("3DSTATE_VERTEX_ELEMENTS", vertex_elements=[
        {"vertex_buffer_index": 1, "valid": True, "source_element_format": "R32G32B32_FLOAT",
         "source_element_offset": 12, "component_0_control": "STORE_SRC", "component_3_control": "STORE_1_FP"}],
    ) == [0x78090001, 0x0640000C, 0x10030000]


def test_render_surface_state() -> None:
    words = packed("RENDER_SURFACE_STATE", surface_type="SURFTYPE_2D", surface_format="ASTC_LDR_2D_8X8_FLT16",
                   surface_vertical_alignment="VALIGN_4", surface_horizontal_alignment="HALIGN_16", tile_mode="YMAJOR",
                   memory_object_control_state=4, surface_qpitch=8, height=16384, width=1, surface_pitch=128,
                   tiled_resource_mode="TILEYF", mip_tail_start_lod=15, auxiliary_surface_pitch=256,
                   auxiliary_surface_mode="CCS_E", shader_channel_select_red="RED", shader_channel_select_alpha="ONE",
                   surface_base_address=0xFFFF_FFFF_FFFF_0000, auxiliary_surface_base_address=0x1_0000_1000,
                   red_clear_color=0x3F800000, alpha_clear_color=1)
    assert words == [0x2991F000, 0x04000002, 0x3FFF0000, 0x0000007F, 0, 0x00040F00, 0x0000000D, 0x08010000,
                     0xFFFF0000, 0xFFFFFFFF, 0x00001000, 0x00000001, 0x3F800000, 0, 0, 1]
    fields = shown("RENDER_SURFACE_STATE", words)
    assert "hierarchical_depth_clear_value" not in fields
    assert shown("RENDER_SURFACE_STATE", [*words[:6], 3, *words[7:]])["hierarchical_depth_clear_value"] == 1.0


def test_the_entries_of_a_buffer_surface_are_in_three_fields() -> None:
    last = 0x9876_5432
    words = [0x87FC4000, 0, (last >> 7 & 0x3FFF) << 16 | last & 0x7F, last >> 21 << 21, *[0] * 12]
    fields = shown("RENDER_SURFACE_STATE", words)
    assert fields["surface_format"] == 0x1FF
    assert (fields["buffer_entries_31_21"], fields["buffer_entries_20_7"], fields["buffer_entries_6_0"]) == (
        last >> 21, last >> 7 & 0x3FFF, last & 0x7F)
    assert "width" not in fields


def test_sampler_state() -> None:
    assert packed("SAMPLER_STATE", texture_border_color_mode="DX9", lod_preclamp_mode="OGL", mip_mode_filter="LINEAR",
                  mag_mode_filter="ANISOTROPIC", min_mode_filter="LINEAR", texture_lod_bias=-0.5, max_lod=14.0,
                  shadow_function="GEQUAL", border_color_pointer=0x123440, reduction_type="MAXIMUM",
                  maximum_anisotropy=16, reduction_type_enable=True, tcx_address_control_mode="HALF_BORDER",
                  ) == [0x30347F00, 0x000E000E, 0x00123440, 0x00F80380]


# --- where the manual slips -------------------------------------------------------------------------------------------
def field_at(name: str, dword: int, hi: int, lo: int) -> Field:
    """The one field of a layout at these bits."""
    found = [f for f in KBL.block(name).fields_for(Gen.KBL) if (f.dword, f.hi, f.lo) == (dword, hi, lo)]
    assert len(found) == 1, found
    return found[0]


def kinds(name: str, dword: int, hi: int, lo: int) -> set[type[Field]]:
    """The kinds of the fields that own these bits."""
    owners = claimed_bits(KBL.block(name).fields_for(Gen.KBL))
    return {type(f) for bit in range(lo, hi + 1) for f in owners[dword, bit]}


def complaints(name: str, words: list[int]) -> list[str]:
    return [c.field.name for c in KBL.block(name).complaints(words, gen=Gen.KBL)]


def test_indirect_parameters_replace_five_dwords_and_not_four() -> None:
    words = [0x7B000405, 0, *[0xFFFFFFFF] * 5]
    fields = KBL.command("3DPRIMITIVE").view(words, gen=Gen.KBL).fields()
    assert [f.dword for f, _ in fields if type(f) is Ignored and f.dword > 1] == [2, 3, 4, 5, 6]


def test_the_api_mode_of_the_clipper_has_both_values() -> None:
    api_mode = field_at("3DSTATE_CLIP", 2, 30, 30)
    assert (api_mode.text(0), api_mode.text(1)) == ("OGL", "D3D")


@pytest.mark.parametrize(("name", "dword", "bit", "field"), [
    ("3DSTATE_CLIP", 1, 10, "clipper_statistics_enable"),
    ("3DSTATE_DS", 7, 0, "function_enable"),
    ("3DSTATE_STREAMOUT", 1, 30, "api_rendering_disable"),
    ("3DSTATE_PS_EXTRA", 1, 30, "pixel_shader_does_not_write_to_rt"),
    ("3DSTATE_MULTISAMPLE", 1, 5, "pixel_position_offset_enable"),
])
def test_bits_that_drivers_call_otherwise_have_the_manual_s_names(name: str, dword: int, bit: int, field: str) -> None:
    assert field_at(name, dword, bit, bit).name == field


def test_forced_rendering_1_is_reserved() -> None:
    assert complaints("3DSTATE_STREAMOUT", [0x781E0003, 1 << 23, 0, 0, 0]) == ["force_rendering"]
    assert complaints("3DSTATE_STREAMOUT", [0x781E0003, 2 << 23, 0, 0, 0]) == []


def test_what_the_manual_no_longer_has_of_streamout_is_from_the_drivers() -> None:
    assert field_at("3DSTATE_STREAMOUT", 2, 4, 0).name == "stream_0_vertex_read_length"
    assert field_at("3DSTATE_STREAMOUT", 4, 27, 16).name == "buffer_3_surface_pitch"


def test_the_body_of_the_constants_is_that_of_the_drivers() -> None:
    assert field_at("3DSTATE_CONSTANT_VS", 1, 31, 16).name == "constant_buffer_1_read_length"
    assert isinstance(KBL.command("3DSTATE_CONSTANT_VS").field("pointer_to_constant_buffer_3", Gen.KBL), Address)
    body, command = KBL.block("3DSTATE_CONSTANT_BODY"), KBL.command("3DSTATE_CONSTANT_VS")
    assert [(f.name, f.dword + 1) for f in body.fields_for(Gen.KBL) if not isinstance(f, Mbz)] == [
        (f.name, f.dword) for f in command.fields_for(Gen.KBL) if not isinstance(f, Mbz) and f.dword]


def test_addresses_of_stream_output_have_48_bits_and_any_bits_above() -> None:
    assert field_at("3DSTATE_SO_BUFFER", 2, 47, 2).name == "surface_base_address"
    assert kinds("3DSTATE_SO_BUFFER", 3, 31, 16) == kinds("3DSTATE_SO_BUFFER", 6, 31, 16) == {Ignored}


def test_a_gather_table_has_at_least_three_dwords() -> None:
    for stage in ("VS", "HS", "DS", "GS", "PS"):
        assert packed(f"3DSTATE_GATHER_CONSTANT_{stage}")[0] & 0xFF == 1


def test_dx9_commands_are_known_though_no_driver_sends_them() -> None:
    assert len([c for c in KBL.commands if "DX9" in c.name]) == 11


def test_control_states_have_seven_bits_of_which_none_is_reserved() -> None:
    found = [f for layout in KBL.all_layouts() if getattr(layout, "engine", None) is None
             for f in layout.fields_for(Gen.KBL) if f.name.endswith("control_state")]
    assert len(found) > 20
    assert {f.width for f in found} == {7}
    assert all(f.complaint(1 << 2) is None for f in found)


def test_rows_of_similar_fields() -> None:
    assert field_at("3DSTATE_SBE", 5, 31, 30).name == "attribute_31_active_component_format"
    assert field_at("3DSTATE_SBE_SWIZ", 10, 31, 28).name == "attribute_15_wrap_shortest_enables"
    assert field_at("3DSTATE_SAMPLE_PATTERN", 5, 7, 4).name == "sample4_x_offset_8x"
    assert KBL.command("3DSTATE_POLY_STIPPLE_PATTERN").array_by_name(Gen.KBL)["rows"].count == 32


def test_the_pitch_of_a_depth_buffer_has_18_bits() -> None:
    assert packed("3DSTATE_DEPTH_BUFFER", surface_pitch=256 * 1024)[1] == 0x3FFFF


def test_the_view_extent_of_a_depth_buffer_is_not_its_qpitch() -> None:
    assert field_at("3DSTATE_DEPTH_BUFFER", 7, 31, 21).name == "render_target_view_extent"
    assert field_at("3DSTATE_DEPTH_BUFFER", 7, 14, 0).name == "surface_qpitch"


def test_depth_buffers_of_1d_and_3d_are_reserved() -> None:
    surface_type = field_at("3DSTATE_DEPTH_BUFFER", 1, 31, 29)
    assert [raw for raw in range(8) if surface_type.complaint(raw) is None] == [1, 3, 7]


def test_the_depth_packets_are_pipelined() -> None:
    names = ("3DSTATE_DEPTH_BUFFER", "3DSTATE_STENCIL_BUFFER", "3DSTATE_HIER_DEPTH_BUFFER", "3DSTATE_CLEAR_PARAMS")
    assert {KBL.command(name).header >> 24 & 7 for name in names} == {0}


@pytest.mark.parametrize(("name", "align"), [("BINDING_TABLE_POOL", 4096), ("GATHER_POOL", 4096),
                                             ("DX9_CONSTANT_BUFFER_POOL", 8192)])
def test_the_bases_of_pools_are_aligned_to_a_page_of_their_size_field(name: str, align: int) -> None:
    command = KBL.command(f"3DSTATE_{name}_ALLOC")
    assert 1 << command.field(f"{name.lower()}_base_address", Gen.KBL).lo == align
    size = command.field(f"{name.lower()}_buffer_size", Gen.KBL)
    assert size.decode(1) == 1 << size.lo == align


def test_blend_state_pointers_point_to_blend_state() -> None:
    pointer = field_at("3DSTATE_BLEND_STATE_POINTERS", 1, 31, 6)
    assert isinstance(pointer, Address)
    assert (pointer.base, pointer.target) == ("dynamic_state", "BLEND_STATE")


def test_a_chroma_key_has_four_whole_bytes() -> None:
    for dword, bound in ((2, "low"), (3, "high")):
        assert [field_at("3DSTATE_CHROMA_KEY", dword, lo + 7, lo).name for lo in (24, 16, 8, 0)] == [
            f"chroma_key_{bound}_{channel}" for channel in ("alpha", "red_or_cr", "green_or_y", "blue_or_cb")]


def test_a_geometry_shader_has_1_to_32_instances() -> None:
    instances = field_at("3DSTATE_GS", 7, 19, 15)
    assert (instances.decode(0), instances.decode(31)) == (1, 32)


def test_the_scratch_space_of_a_geometry_shader_depends_on_no_other_field() -> None:
    assert field_at("3DSTATE_GS", 4, 63, 10).when == ()


def test_the_mask_stack_exception_of_the_pixel_shader_is_that_of_the_geometry_shader() -> None:
    assert field_at("3DSTATE_PS", 3, 11, 11) == field_at("3DSTATE_GS", 3, 11, 11)


def test_threads_per_psd_have_9_bits_minus_one_and_are_2_to_64() -> None:
    threads = field_at("3DSTATE_PS", 6, 31, 23)
    assert [raw for raw in range(512) if threads.complaint(raw) is None] == list(range(1, 64))


def test_uav_access_and_illegal_opcodes_of_a_domain_shader() -> None:
    assert field_at("3DSTATE_DS", 3, 14, 14).name == "accesses_uav"
    assert field_at("3DSTATE_DS", 3, 13, 13).name == "illegal_opcode_exception_enable"


def test_a_hull_shader_without_single_program_flow_is_legal() -> None:
    assert field_at("3DSTATE_HS", 7, 27, 27).complaint(0) is None


def test_the_dispatch_modes_of_a_hull_shader() -> None:
    mode = field_at("3DSTATE_HS", 7, 18, 17)
    assert [mode.text(raw) for raw in range(4)] == ["SINGLE_PATCH", "DUAL_PATCH", "EIGHT_PATCH", "3 (reserved)"]


def test_software_may_reset_the_counters_of_line_stipple() -> None:
    words = packed("3DSTATE_LINE_STIPPLE", modify_enable=True, current_repeat_counter=1, line_stipple_pattern=0xF0F0,
                   line_stipple_inverse_repeat_count=1.0, line_stipple_repeat_count=1)
    assert words == [0x79080001, 0x8020F0F0, 0x80000001]
    assert complaints("3DSTATE_LINE_STIPPLE", words) == []


@pytest.mark.parametrize(("name", "header"), [
    ("F_VS", 0x78390008), ("F_PS", 0x783A0008), ("I_VS", 0x783B0008), ("I_PS", 0x783C0008)])
def test_dx9_constants_have_four_dwords_each(name: str, header: int) -> None:
    words = packed(f"3DSTATE_DX9_CONSTANT{name}", entries=[{"component_x": 1}, {"component_w": 2}])
    assert words[0] == header
    assert len(words) == 10


def test_float_constants_need_11_bits_of_length() -> None:
    words = packed("3DSTATE_DX9_CONSTANTF_VS", entries=[{}] * 256)
    assert words[0] == 0x78390400


def test_boolean_constants_of_the_vertex_shader_are_not_those_of_the_pixel_shader() -> None:
    assert packed("3DSTATE_DX9_CONSTANTB_VS", entries=[{"value": 1}])[0] == 0x783D0001
    assert packed("3DSTATE_DX9_CONSTANTB_PS", entries=[{"value": 1}])[0] == 0x783E0001


def test_software_must_not_disable_the_production_of_dx9_constants() -> None:
    for stage in ("VS", "PS"):
        assert kinds(f"3DSTATE_DX9_GENERATE_ACTIVE_{stage}", 1, 8, 8) == {Mbz}


def test_all_stages_allocate_push_constants_alike() -> None:
    alloc = [KBL.command(f"3DSTATE_PUSH_CONSTANT_ALLOC_{stage}") for stage in ("VS", "HS", "DS", "GS", "PS")]
    assert all(c.fields_for(Gen.KBL)[2:] == alloc[0].fields_for(Gen.KBL)[2:] for c in alloc)


def test_push_constants_are_allocated_in_kib() -> None:
    assert packed("3DSTATE_PUSH_CONSTANT_ALLOC_PS", constant_buffer_offset=24 * 1024, constant_buffer_size=8 * 1024,
                  ) == [0x79160000, 0x00180008]


def test_the_direction_of_a_move_of_constants() -> None:
    direction = field_at("3DSTATE_RS_CONSTANT_POINTER", 1, 12, 12)
    assert (direction.text(0), direction.text(1)) == ("STORE", "LOAD")


def test_palette_entries_have_the_channels_of_their_names() -> None:
    for name, header in (("3DSTATE_SAMPLER_PALETTE_LOAD0", 0x79020000), ("3DSTATE_SAMPLER_PALETTE_LOAD1", 0x790C0000)):
        assert packed(name, palette_colors=[{"alpha": 1, "red": 2, "green": 3, "blue": 4}]) == [header, 0x01020304]


def test_the_rectangle_of_a_hiz_operation_is_exclusive() -> None:
    assert "exclusive" in field_at("3DSTATE_WM_HZ_OP", 3, 31, 16).doc


def test_reserved_bits_that_need_not_be_zero() -> None:
    for dword, hi, lo in ((0, 15, 15), (0, 12, 11)):
        assert kinds("3DPRIMITIVE", dword, hi, lo) == {Ignored}
    assert kinds("3DPRIMITIVE", 0, 14, 13) == {Mbz}
    assert kinds("3DSTATE_BINDING_TABLE_POOL_ALLOC", 1, 10, 7) == {Ignored}
    assert kinds("3DSTATE_GATHER_POOL_ALLOC", 1, 10, 7) == {Mbz}
    assert kinds("3DSTATE_DEPTH_BUFFER", 7, 20, 15) == {Ignored}
    assert kinds("3DSTATE_PS_EXTRA", 1, 9, 9) == {Ignored}
    assert kinds("3DSTATE_SF", 2, 28, 28) == kinds("3DSTATE_SF", 2, 13, 12) == {Ignored}


# --- values out of range ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "dword", "value", "field"), [
    ("3DSTATE_BINDING_TABLE_EDIT_VS", 1, 0, "binding_table_edit_target"),
    ("3DSTATE_CLIP", 2, 1 << 13, "clip_mode"),
    ("3DSTATE_CLIP", 2, 3 << 4, "triangle_strip_list_provoking_vertex_select"),
    ("3DSTATE_DEPTH_BUFFER", 1, 1 << 29 | 2 << 18, "surface_format"),
    ("3DSTATE_DEPTH_BUFFER", 4, 15, "lod"),
    ("3DSTATE_DEPTH_BUFFER", 6, 3 << 30, "tiled_resource_mode"),
    ("3DSTATE_DRAWING_RECTANGLE", 0, 0x7900C002, "core_mode_select"),
    ("3DSTATE_DRAWING_RECTANGLE", 3, 0x4000, "drawing_rectangle_origin_x"),
    ("3DSTATE_DS", 6, 65 << 11, "patch_urb_entry_read_length"),
    ("3DSTATE_DS", 7, 336 << 21, "maximum_number_of_threads"),
    ("3DSTATE_GS", 3, 5 << 27, "sampler_count"),
    ("3DSTATE_GS", 4, 12, "per_thread_scratch_space"),
    ("3DSTATE_GS", 7, 9 << 20, "control_data_header_size"),
    ("3DSTATE_HS", 2, 336 << 8, "maximum_number_of_threads"),
    ("3DSTATE_LINE_STIPPLE", 2, 257, "line_stipple_repeat_count"),
    ("3DSTATE_MONOFILTER_SIZE", 1, 1, "monochrome_filter_width"),
    ("3DSTATE_MULTISAMPLE", 1, 5 << 1, "number_of_multisamples"),
    ("3DSTATE_PS", 6, 1 << 3, "position_xy_offset_select"),
    ("3DSTATE_PS", 6, 2 << 6, "render_target_resolve_type"),
    ("3DSTATE_PUSH_CONSTANT_ALLOC_VS", 1, 33, "constant_buffer_size"),
    ("3DSTATE_RASTER", 1, 6 << 18, "forced_sample_count"),
    ("3DSTATE_RASTER", 1, 3 << 22, "api_mode"),
    ("3DSTATE_RASTER", 1, 3 << 3, "back_face_fill_mode"),
    ("3DSTATE_SBE", 1, 33 << 22, "number_of_sf_output_attributes"),
    ("3DSTATE_SF", 3, 2 << 27, "line_strip_list_provoking_vertex_select"),
    ("3DSTATE_SO_DECL_LIST", 2, 129, "num_entries_0"),
])
def test_values_that_the_manual_forbids(name: str, dword: int, value: int, field: str) -> None:
    command = KBL.command(name)
    words = command.pack(Gen.KBL)
    words[dword] = value
    assert field in complaints(name, words)


def test_a_geometry_shader_that_is_enabled_has_8_threads() -> None:
    for enable, expected in ((0, []), (1, ["output_topology", "maximum_number_of_threads"])):
        assert complaints("3DSTATE_GS", [0x78110008, 0, 0, 0, 0, 0, 0, enable, 6, 0]) == expected


def test_an_address_is_canonical() -> None:
    words = packed("3DSTATE_GATHER_POOL_ALLOC")
    assert complaints("3DSTATE_GATHER_POOL_ALLOC", [*words[:2], 0xFFFF8000, 0]) == []
    assert complaints("3DSTATE_GATHER_POOL_ALLOC", [*words[:2], 0x00008000, 0]) == []  # hardware ignores the upper bits
    assert complaints("3DSTATE_GATHER_POOL_ALLOC", [*words[:2], 0x00018000, 0]) == ["gather_pool_base_address"]
    # The upper 16 bits of this one must be zero.
    words = packed("3DSTATE_RS_CONSTANT_POINTER")
    assert complaints("3DSTATE_RS_CONSTANT_POINTER", [*words[:3], 0x00008000]) == []
    assert complaints("3DSTATE_RS_CONSTANT_POINTER", [*words[:3], 0xFFFF8000]) == ["reserved_3_31_16"]


def test_pointers_name_bases_and_layouts_that_exist() -> None:
    data = {"KERNEL", "SCRATCH", "VERTEX_DATA", "INDEX_DATA", "CONSTANTS", "SURFACE_DATA", "INDIRECT_DATA", "BATCH",
            "DATA", ""}
    names = {b.name for b in KBL.all_layouts()} | data
    for layout in KBL.all_layouts():
        for f in layout.fields_for(Gen.KBL):
            if isinstance(f, Address):
                assert f.target in names, (layout.name, f.name)
                assert f.base in {"", "general_state", "surface_state", "dynamic_state", "indirect_object",
                                  "instruction"}, (layout.name, f.name)
                assert isinstance(f.count, int) or f.count in layout.by_name(Gen.KBL), (layout.name, f.name)


def test_skylake_has_the_layouts_of_kaby_lake() -> None:
    skl = catalogue_of(Gen.SKL)
    assert [c.name for c in skl.commands] == [c.name for c in KBL.commands]
    assert skl.command("3DSTATE_PS").pack(Gen.SKL) == KBL.command("3DSTATE_PS").pack(Gen.KBL)


def test_gen4_does_not_know_them() -> None:
    assert catalogue.command_for(0x78470000, Gen.EL) is None
    found = catalogue.command_for(0x7B001804, Gen.EL)
    assert found is not None
    assert found is not KBL.command("3DPRIMITIVE")


# --- VEBOX ------------------------------------------------------------------------------------------------------------
def test_the_state_of_vebox_denoise_as_a_driver_writes_it() -> None:
    words = KBL.block("VEBOX_DNDI_STATE").pack(
        Gen.KBL, denoise_stad_threshold=140, denoise_maximum_history=192, denoise_history_increase=7,
        denoise_moving_pixel_threshold=1, denoise_asd_threshold=38, progressive_dn=True,
        denoise_threshold_for_sum_of_complexity_measure=38, initial_denoise_history=32,
        block_noise_estimate_edge_threshold=1, block_noise_estimate_noise_threshold=20,
        chroma_denoise_stad_threshold=140, chroma_denoise_enable=True, chroma_temporal_difference_threshold=13,
        chroma_low_temporal_difference_threshold=7, stmm_c2=2, content_adaptive_threshold_slope=10,
        sad_tight_threshold=5, mcdi_enable=True, dndi_top_first=True, neighbor_pixel_threshold=10,
        mc_pixel_consistency_threshold=25, sad_threshold_b=10, sad_threshold_a=5)
    assert words == [0x08CC0701, 0x02600000, 0x10268000, 0x00001014, 0x008C1347, *[0] * 7, 2 << 10 | 9 << 6 | 5 << 2,
                     0, 0, 0, 0x88, 0x005064A5]


def test_vebox_commands_have_addresses_of_48_bits() -> None:
    state = KBL.command("VEBOX_STATE").pack(Gen.KBL, di_enable=True, iecp_state_pointer=0x1234_0000_1000)
    assert state == [0x7402000E, 0x10, 0, 0, 0x00001000, 0x1234, *[0] * 10]
    frame = KBL.command("VEBOX_DI_IECP").pack(Gen.KBL, ending_x=719, previous_frame_input_address=0x5678_0000_2000)
    assert frame == [0x74030012, 719, 0, 0, 0x00002000, 0x5678, *[0] * 14]
    surface = KBL.command("VEBOX_SURFACE_STATE").pack(
        Gen.KBL, surface_identification=1, width=720, height=576, surface_pitch=768, derived_surface_pitch=768)
    assert surface == [0x74000007, 1, 575 << 18 | 719 << 4, 767 << 3, 0, 0, 0, 767, 0]


def test_drivers_leave_the_state_of_vebox_denoise_empty_if_they_balance_colors_only() -> None:
    block = KBL.block("VEBOX_DNDI_STATE")
    assert block.complaints([0] * block.size(Gen.KBL), gen=Gen.KBL) == []
