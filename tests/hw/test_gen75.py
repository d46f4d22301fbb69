"""Haswell: the commands of the manual with their headers, dwords written down from the manual, what moved."""

from __future__ import annotations

import pytest

from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Engine
from tests.hw import command_numbers_gen7
from tests.hw.descriptions import dangling_pointers, found, header_of, packed, shown, unclaimed

HSW, IVB = Gen.HSW, Gen.IVB

HEADERS = command_numbers_gen7.HEADERS | {
    "GPGPU_CSR_BASE_ADDRESS": 0x61040000, "3DSTATE_VF": 0x780C0000, "3DSTATE_RAST_MULTISAMPLE": 0x790E0004,
    "3DSTATE_BINDING_TABLE_POOL_ALLOC": 0x79190001, "3DSTATE_GATHER_POOL_ALLOC": 0x791A0001,
    "MI_SET_PREDICATE": 0x00800000, "MI_RS_CONTROL": 0x03000000, "MI_URB_ATOMIC_ALLOC": 0x04800000,
    "MI_RS_CONTEXT": 0x07800000, "MI_LOAD_REGISTER_REG": 0x15000001, "MI_RS_STORE_DATA_IMM": 0x15800002,
    "MI_LOAD_URB_MEM": 0x16000001, "MI_STORE_URB_MEM": 0x16800001,
}
LISTS = command_numbers_gen7.LISTS | {
    "3DSTATE_GATHER_CONSTANT_VS": 0x7834, "3DSTATE_GATHER_CONSTANT_GS": 0x7835, "3DSTATE_GATHER_CONSTANT_HS": 0x7836,
    "3DSTATE_GATHER_CONSTANT_DS": 0x7837, "3DSTATE_GATHER_CONSTANT_PS": 0x7838,
    "3DSTATE_BINDING_TABLE_EDIT_VS": 0x7843, "3DSTATE_BINDING_TABLE_EDIT_GS": 0x7844,
    "3DSTATE_BINDING_TABLE_EDIT_HS": 0x7845, "3DSTATE_BINDING_TABLE_EDIT_DS": 0x7846,
    "3DSTATE_BINDING_TABLE_EDIT_PS": 0x7847, "MI_MATH": 0x0D00,
}
VIDEO = command_numbers_gen7.VIDEO | {
    "MFX_PIPE_BUF_ADDR_STATE": 0x7002003B, "MFX_IND_OBJ_BASE_ADDR_STATE": 0x70030018,
    "MFX_BSP_BUF_BASE_ADDR_STATE": 0x70040008, "MFX_DBK_OBJECT": 0x7009000B, "MFX_AVC_IMG_STATE": 0x7100000F,
    "MFX_AVC_DIRECTMODE_STATE": 0x71020045, "MFD_AVC_PICID_STATE": 0x71250008, "MFD_AVC_DPB_STATE": 0x71260019,
    "MFX_VC1_DIRECTMODE_STATE": 0x72020005,
}
VIDEO_ENHANCEMENT = {"VEBOX_SURFACE_STATE": 0x74000004, "VEBOX_STATE": 0x74020004, "VEBOX_DI_IECP": 0x74030008}


@pytest.mark.parametrize(("name", "header"), HEADERS.items())
def test_headers(name: str, header: int) -> None:
    assert (header_of(name, HSW), found(header, HSW)) == (header, name)


@pytest.mark.parametrize("name", LISTS)
def test_lists_are_there(name: str) -> None:
    assert found(LISTS[name] << 16, HSW) == name


@pytest.mark.parametrize(("name", "header"), VIDEO.items())
def test_headers_of_the_video_engine(name: str, header: int) -> None:
    assert (header_of(name, HSW), found(header, HSW, Engine.VIDEO)) == (header, name)


@pytest.mark.parametrize(("name", "header"), VIDEO_ENHANCEMENT.items())
def test_headers_of_the_video_enhancement_engine(name: str, header: int) -> None:
    assert (header_of(name, HSW), found(header, HSW, Engine.VIDEO_ENHANCEMENT)) == (header, name)
    assert found(header, HSW) is None


def test_pointers_lead_to_layouts() -> None:
    assert dangling_pointers(HSW) == []


# --- what moved since Ivy Bridge --------------------------------------------------------------------------------------
@pytest.mark.parametrize(("header", "before", "haswell"), [
    (0x61040000, None, "GPGPU_CSR_BASE_ADDRESS"),
    (0x790E0004, None, "3DSTATE_RAST_MULTISAMPLE"),
    (0x0D000000, None, "MI_MATH"),
])
def test_codes_with_another_meaning(header: int, before: str | None, haswell: str) -> None:
    assert (found(header, IVB), found(header, HSW)) == (before, haswell)
    assert catalogue_of(HSW).length(0x61040000) == 2  # and one dword on the 965G


def test_the_cut_index_left_the_index_buffer() -> None:
    assert packed("3DSTATE_VF", HSW, indexed_draw_cut_index_enable=True, cut_index=7) == [0x780C0100, 7]
    assert unclaimed("3DSTATE_INDEX_BUFFER", IVB, 0x780A0501, 0, 0) == []
    assert unclaimed("3DSTATE_INDEX_BUFFER", HSW, 0x780A0501, 0, 0) == [
        "3DSTATE_INDEX_BUFFER: reserved_0_11_10 (dword 0, bits 11:10) reserved bits are 0x1, must be zero"]


def test_control_data_made_room_for_threads() -> None:
    words = packed("3DSTATE_GS", HSW, maximum_number_of_threads=256, control_data_format="SID", enable=True)
    assert words == [0x78110005, 0, 0, 0, 0, 0xFF000001, 0x80000000]


def test_threads_have_more_bits() -> None:
    assert packed("3DSTATE_VS", HSW, maximum_number_of_threads=280, enable=True)[5] == 279 << 23 | 1
    assert packed("3DSTATE_DS", HSW, maximum_number_of_threads=280, enable=True)[5] == 279 << 21 | 1
    assert packed("3DSTATE_HS", HSW, maximum_number_of_threads=256)[1] == 0xFF
    assert packed("3DSTATE_PS", HSW, maximum_number_of_threads=408, sample_mask=0xF)[4] == 407 << 23 | 0xF000


def test_the_software_exception_of_hs_moved() -> None:
    assert packed("3DSTATE_HS", IVB, software_exception_enable=True)[1] == 1 << 7
    assert packed("3DSTATE_HS", HSW, software_exception_enable=True)[1] == 1 << 12


def test_addresses_in_the_urb_have_one_more_bit() -> None:
    assert packed("3DSTATE_URB_GS", HSW, gs_urb_starting_address=63 * 8192)[1] == 63 << 25
    assert packed("3DSTATE_PUSH_CONSTANT_ALLOC_PS", HSW, constant_buffer_offset=16 * 1024,
                  constant_buffer_size=32 * 1024)[1] == 16 << 16 | 32
    assert packed("MI_URB_CLEAR", HSW, urb_clear_length=0x2000, urb_address=0x4000)[1] == 0x20004000


def test_the_stencil_buffer_has_an_enable() -> None:
    assert packed("3DSTATE_STENCIL_BUFFER", HSW, stencil_buffer_enable=True, surface_pitch=128,
                  surface_base_address=0x4000) == [0x78060001, 0x8000007F, 0x4000]


def test_channels_are_selected() -> None:
    words = packed("RENDER_SURFACE_STATE", HSW, shader_channel_select_red="RED", shader_channel_select_green="GREEN",
                   shader_channel_select_blue="BLUE", shader_channel_select_alpha="ALPHA")
    assert words[7] == 0x09770000
    assert unclaimed("RENDER_SURFACE_STATE", IVB, *words) != []


def test_integer_borders_are_at_dword_16() -> None:
    words = packed("SAMPLER_BORDER_COLOR_STATE", HSW, border_color_float_red=1.0, border_color_32bit_red=7,
                   border_color_32bit_blue=9)
    assert (len(words), words[0], words[16], words[18]) == (20, 0x3F800000, 7, 9)


def test_scratch_of_media_threads_is_a_power_of_two() -> None:
    assert packed("MEDIA_VFE_STATE", IVB, per_thread_scratch_space=3072)[1] == 2
    assert packed("MEDIA_VFE_STATE", HSW, per_thread_scratch_space=1, half_slice_disable=3)[1:4] == [1, 0, 3]


def test_an_offset_of_constants_became_a_shared_length() -> None:
    words = packed("INTERFACE_DESCRIPTOR_DATA", HSW, constant_urb_entry_read_length=1,
                   cross_thread_constant_data_read_length=2)
    assert words == [0, 0, 0, 0, 0x00010000, 0, 2, 0]


# --- dwords from the manual -------------------------------------------------------------------------------------------
def test_a_subtraction() -> None:
    # R0 = R1 - R2: LOAD SRCA, R1; LOAD SRCB, R2; SUB; STORE R0, ACCU.
    words = packed("MI_MATH", HSW, instructions=[
        {"alu_opcode": "LOAD", "operand_1": "SRCA", "operand_2": "REG1"},
        {"alu_opcode": "LOAD", "operand_1": "SRCB", "operand_2": "REG2"},
        {"alu_opcode": "SUB"},
        {"alu_opcode": "STORE", "operand_1": "REG0", "operand_2": "ACCU"}])
    assert words == [0x0D000003, 0x08008001, 0x08008402, 0x10100000, 0x18000031]
    assert catalogue_of(HSW).length(words[0]) == 5


def test_registers_are_copied() -> None:
    assert packed("MI_LOAD_REGISTER_REG", HSW, source_register_address=0x2600, destination_register_address=0x2400) == [
        0x15000001, 0x2600, 0x2400]
    assert packed("MI_STORE_REGISTER_MEM", HSW, predicate_enable=True, register_address=0x2350,
                  memory_address=0x1000) == [0x12200001, 0x2350, 0x1000]


def test_a_second_level_batch() -> None:
    assert packed("MI_BATCH_BUFFER_START", HSW, second_level_batch_buffer=True, predication_enable=True,
                  non_privileged=True, address_space_indicator="PPGTT", batch_buffer_start_address=0x8000) == [
        0x18C0A100, 0x8000]
    assert unclaimed("MI_BATCH_BUFFER_START", IVB, 0x18C00100, 0x8000) != []


def test_the_resource_streamer_has_the_bits_of_the_extended_state() -> None:
    assert packed("MI_SET_CONTEXT", HSW, logical_context_address=0x10000, resource_streamer_state_save_enable=True,
                  resource_streamer_state_restore_enable=True) == [0x0C000000, 0x1010C]
    assert packed("MI_SET_CONTEXT", IVB, logical_context_address=0x10000, extended_state_save_enable=True,
                  extended_state_restore_enable=True) == [0x0C000000, 0x1010C]


def test_binding_tables_are_edited() -> None:
    assert packed("3DSTATE_BINDING_TABLE_EDIT_PS", HSW, binding_table_block_clear=1,
                  binding_table_edit_target="ALL_CORES",
                  entries=[{"binding_table_index": 3, "surface_state_pointer": 0x140}]) == [
        0x78470001, 0x00010003, 0x0003000A]
    assert packed("3DSTATE_BINDING_TABLE_POOL_ALLOC", HSW, binding_table_pool_base_address=0x10000,
                  binding_table_pool_enable=True, binding_table_pool_upper_bound=0x20000) == [
        0x79190001, 0x10800, 0x20000]


def test_two_bits_of_the_gather_pool_must_be_set() -> None:
    assert packed("3DSTATE_GATHER_POOL_ALLOC", HSW, gather_pool_base_address=0x10000, gather_pool_enable=True) == [
        0x791A0001, 0x10830, 0]


def test_sixteen_rasterization_samples() -> None:
    assert packed("3DSTATE_RAST_MULTISAMPLE", HSW, number_of_rasterization_multisamples="NUMRASTSAMPLES_16",
                  sample15_x_offset=0.5, sample15_y_offset=0.25) == [0x790E0004, 8, 0, 0, 0, 0x84000000]


def test_the_state_of_vebox_denoise_as_a_driver_writes_it() -> None:
    words = packed(
        "VEBOX_DNDI_STATE", HSW, denoise_stad_threshold=140, denoise_maximum_history=192, denoise_history_increase=7,
        denoise_asd_threshold=38, initial_denoise_history=32, neighbor_pixel_threshold=10,
        mc_pixel_consistency_threshold=25, sad_threshold_b=10, sad_threshold_a=5, chroma_denoise_stad_threshold=140,
        chroma_denoise_enable=True, chroma_temporal_difference_threshold=13, chroma_low_temporal_difference_threshold=7,
        content_adaptive_threshold_slope=1, progressive_dn=True)
    assert words == [0, 0x8CC00726, 0, 0, 0, 0, 0, 0x00000040, 0x105064A5, 0x008C1347]


def test_drivers_leave_the_state_of_vebox_denoise_empty_if_they_balance_colors_only() -> None:
    block = catalogue_of(HSW).block("VEBOX_DNDI_STATE")
    assert block.complaints([0] * block.size(HSW), gen=HSW) == []


def test_vebox_commands() -> None:
    assert packed("VEBOX_STATE", HSW, di_output_frames="OUTPUT_CURRENT_FRAME_ONLY", di_enable=True,
                  dn_di_state_pointer=0x1000) == [0x74020004, 0x210, 0x1000, 0, 0, 0]
    assert packed("VEBOX_DI_IECP", HSW, ending_x=719, current_frame_input_address=0x2000) == [
        0x74030008, 719, 0x2000, 0, 0, 0, 0, 0, 0, 0]


def test_denoise_left_the_sampler() -> None:
    with pytest.raises(KeyError):
        catalogue_of(HSW).block("DNDI_STATE")


# --- slips of the sources ---------------------------------------------------------------------------------------------
def test_the_last_indirect_object_has_a_bound_like_the_others() -> None:
    # Mesa's gen75.xml leaves it out, but not its dwords.
    words = packed("MFX_IND_OBJ_BASE_ADDR_STATE", HSW, mfc_indirect_pak_bse_object_access_upper_bound=0x80000000)
    assert words == [0x70030018, *[0] * 23, 0x80000000, 0]


def test_views_of_multiview_avc_are_a_17th_dword() -> None:
    # Mesa's gen75.xml: length 14, but fields in dwords 14 to 16.
    assert packed("MFX_AVC_IMG_STATE", HSW, current_frame_view_id=5)[16] == 5


def test_an_encoder_leaves_the_views_out() -> None:
    # i965-va-driver's gen75_mfc.c sends 0x7100000e.
    assert catalogue_of(HSW).command("MFX_AVC_IMG_STATE").least(HSW) == 16


# --- registers --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "offset"), [
    ("VIDEO_ENHANCEMENT_RING_CTL", 0x1A03C), ("VIDEO_ENHANCEMENT_INSTDONE", 0x1A06C),
    ("VIDEO_ENHANCEMENT_FAULT_REG", 0x4394), ("VIDEO_ENHANCEMENT_TIMESTAMP", 0x1A358),
    ("VIDEO_ENHANCEMENT_HWS_PGA", 0x4380), ("CS_GPR_R0", 0x2600), ("CS_GPR_R15", 0x2678),
    ("MI_PREDICATE_RESULT_1", 0x241C), ("MI_PREDICATE_RESULT_2", 0x2214), ("SCRATCH1", 0xB038), ("CHICKEN3", 0xE49C),
    ("PERFCNT1", 0x91B8), ("PERFCNT2", 0x91C0),
])
def test_registers(name: str, offset: int) -> None:
    register = catalogue_of(HSW).register_at(offset)
    assert register is not None
    assert (register.name, register.offset) == (name, offset)


def test_units_that_came() -> None:
    busy = shown("RENDER_INSTDONE", HSW, 1 << 20 | 1 << 21)
    assert busy == {"rs": True, "cs": True}
    assert shown("ROW_INSTDONE", HSW, 1 << 20) == {"eu04_ss0": True}
    assert shown("ROW_INSTDONE", IVB, 1 << 20) == {"ma0_ss0": True}


def test_the_first_credits_have_one_more_bit() -> None:
    # The default that drivers load: 7 and 3 on Ivy Bridge, 12 and 4 on Haswell.
    assert packed("L3SQCREG1", IVB, l3sq_general_priority_credit_initialization=7,
                  l3sq_high_priority_credit_initialization=3) == [0x00730000]
    assert packed("L3SQCREG1", HSW, l3sq_general_priority_credit_initialization=12,
                  l3sq_high_priority_credit_initialization=4) == [0x00610000]
