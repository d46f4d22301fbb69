"""The media pipeline's layouts, against the manual, the VA driver's bits and registers of threads."""

from __future__ import annotations

import pytest

from gen4emu.errors import FieldError
from gen4emu.hw import catalogue
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.media import (
    INTERFACE_DESCRIPTOR,
    PAYLOAD_MEDIA_R0,
    THREAD_SPAWNER_MESSAGE_HEADER,
    DebugCounterControl,
    InverseScanType,
    VfeMode,
)
from gen4emu.hw.gen4.media_inline import (
    COEFFICIENT,
    MEDIA_INLINE_IS,
    DctType,
    MotionType,
    PictureCodingType,
    PictureStructure,
    QuantizerScaleType,
)
from gen4emu.hw.gen4.state import FloatingPointMode
from gen4emu.hw.gen45.media import IndirectSubFieldPresent
from gen4emu.hw.gen45.media_inline import AvcMotionVectorSize, AvcSubMbPredMode, AvcSubMbShape
from gen4emu.hw.layout import Block, Command
from tests.harness.parts import GEN4_PARTS
from tests.hw.by_name import ByName, parts_with

AVC_EXPLICIT_WEIGHT = ByName("AVC_EXPLICIT_WEIGHT")
AVC_IMPLICIT_WEIGHT = ByName("AVC_IMPLICIT_WEIGHT")
AVC_MOTION_VECTOR = ByName("AVC_MOTION_VECTOR")
MEDIA_INLINE_AVC_IT = ByName("MEDIA_INLINE_AVC_IT")
MEDIA_INLINE_AVC_MC = ByName("MEDIA_INLINE_AVC_MC")
MEDIA_INLINE_VC1_IT = ByName("MEDIA_INLINE_VC1_IT")
MEDIA_INLINE_VLD = ByName("MEDIA_INLINE_VLD")
PAYLOAD_AVC_INLINE = ByName("PAYLOAD_AVC_INLINE")
PAYLOAD_VLD_R1 = ByName("PAYLOAD_VLD_R1")
VFE_STATE = ByName("VFE_STATE")
VFE_STATE_EX = ByName("VFE_STATE_EX")
VLD_STATE = ByName("VLD_STATE")


def hexes(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


def command(name: str) -> Command:
    return catalogue.command_named(name, Gen.EL)


def what(layout: Block | ByName, words: list[int], gen: Gen) -> list[str]:
    return [str(c) for c in layout.complaints(words, gen=gen)]


# --- state ----------------------------------------------------------------------------------------------------------
def test_vfe_state_of_a_decoder() -> None:
    words = VFE_STATE.pack(Gen.CTG, extended_vfe_state_present=True, maximum_number_of_threads=48,
                           urb_entry_allocation_size=14, number_of_urb_entries=28, vfe_mode=VfeMode.VLD,
                           interface_descriptor_base_pointer=0x1230)
    assert words == [0x80, 47 << 25 | 13 << 16 | 28 << 9 | 1 << 3, 0x1230]


def test_scratch_of_vfe_is_linear() -> None:
    assert VFE_STATE.pack(Gen.CL, per_thread_scratch_space=12 * 1024)[0] == 11
    assert VFE_STATE.view([11, 0, 0], gen=Gen.CL).per_thread_scratch_space == 12288
    assert what(VFE_STATE, [12, 1 << 9, 0], Gen.CL) == [
        "VFE_STATE: per_thread_scratch_space (dword 0, bits 3:0) 13312 is above 12288"]


@pytest.mark.parametrize(("mode", "parts"), [
    (VfeMode.GENERIC, Gen.ALL4), (VfeMode.IS, Gen.ALL4), (VfeMode.VLD, Gen.CL | Gen.GEN45), (VfeMode.AVC_MC, Gen.GEN45),
    (VfeMode.AVC_IT, Gen.GEN45), (VfeMode.VC1_IT, Gen.GEN45), (3, Gen(0)), (15, Gen(0)),
])
def test_each_part_has_its_modes(mode: int, parts: Gen) -> None:
    words = [0, 1 << 9 | mode << 3, 0]
    assert [g for g in GEN4_PARTS if what(VFE_STATE, words, g) == []] == [
        g for g in GEN4_PARTS if g & parts]


def test_the_extended_state_bit_is_reserved_on_965() -> None:
    assert what(VFE_STATE, [0x80, 1 << 9, 0], Gen.CTG) == []
    assert what(VFE_STATE, [0x80, 1 << 9, 0], Gen.CL) == [
        "VFE_STATE: reserved_0_7_7 (dword 0, bits 7) reserved bits are 0x1, must be zero"]


def test_the_rest_of_dword_1_of_vfe_state() -> None:
    words = VFE_STATE.pack(Gen.EL, children_present=True, debug_counter_control=DebugCounterControl.INITIALIZED_ALWAYS,
                           number_of_urb_entries=64, urb_entry_allocation_size=256)
    assert words[1] == 255 << 16 | 64 << 9 | 7


def test_vld_state_fields() -> None:
    words = VLD_STATE.pack(
        Gen.CTG, f_code_backward_vertical=4, f_code_backward_horizontal=3, f_code_forward_vertical=2,
        f_code_forward_horizontal=1, intra_dc_precision=2, picture_structure=PictureStructure.FRAME,
        top_field_first=True, frame_prediction_frame_dct=True, concealment_motion_vector_flag=True,
        quantizer_scale_type=QuantizerScaleType.NONLINEAR, intra_vlc_format=True,
        scan_order=InverseScanType.ALTERNATE_VERTICAL, picture_coding_type=PictureCodingType.B_PICTURE,
        interface_descriptor_remap_0=1, interface_descriptor_remap_7=7, interface_descriptor_remap_8=8,
        interface_descriptor_remap_15=15)
    assert words == [0x4321BFC0, 3 << 9, 0x70000001, 0xF0000008]


def test_vld_does_not_remap_on_965gm_and_does_not_exist_on_965g() -> None:
    assert "interface_descriptor_remap_0" not in VLD_STATE.view([0] * 4, gen=Gen.CL).to_dict()
    assert parts_with("VLD_STATE") == {Gen.CL, Gen.CTG, Gen.EL}
    assert what(VLD_STATE, [0x1111303F, 0x33FF, 0xFFFFFFFF, 0xFFFFFFFF], Gen.CL) == []


def test_vfe_state_ex_places_the_parts_of_an_avc_payload() -> None:
    words = VFE_STATE_EX.pack(
        Gen.EL, object_id=0xABCDEF, residual_data_fixed_source_offset_flag=True,
        indirect_sub_field_present_flag=IndirectSubFieldPresent.MV_AND_WO, residual_data_source_offset=48,
        inter_weight_offset_grf_destination_offset=4, inter_residual_data_grf_destination_offset=6,
        interface_descriptor_remap_1=2, interface_descriptor_remap_15=3)
    assert words == [0xABCDEF00, 1 << 26 | 3 << 24 | 48 << 16 | 4 << 8 | 6, 0x20, 0x30000000, 0, 0, 0, 0]
    scoreboard = [0, 0, 0, 0, 1 << 31 | 1 << 30 | 0xFF, 0, 0, 0]
    assert [c.split(" ")[1] for c in what(VFE_STATE_EX, scoreboard, Gen.EL)] == ["reserved_4_31_0"]


def test_an_interface_descriptor_with_all_128_registers() -> None:
    words = INTERFACE_DESCRIPTOR.pack(
        Gen.CTG, kernel_start_pointer=0x5C0, grf_register_count=128, constant_urb_entry_read_length=30,
        constant_urb_entry_read_offset=2, single_program_flow=True, floating_point_mode=FloatingPointMode.ALTERNATE,
        illegal_opcode_exception_enable=True, mask_stack_exception_enable=True, software_exception_enable=True,
        sampler_state_pointer=0x40, sampler_count=8, binding_table_pointer=0x80, binding_table_entry_count=12)
    assert words == [0x5CF, 30 << 26 | 2 << 20 | 1 << 18 | 1 << 16 | 1 << 13 | 1 << 11 | 1 << 7, 0x40 | 2 << 2, 0x8C]
    assert what(INTERFACE_DESCRIPTOR, words, Gen.CTG) == []
    assert INTERFACE_DESCRIPTOR.view([1, 0, 0, 0], gen=Gen.CTG).grf_register_count == 16


# --- commands -------------------------------------------------------------------------------------------------------
def test_media_state_pointers() -> None:
    words = command("MEDIA_STATE_POINTERS").pack(Gen.CTG, extended_state_pointer=0x1020, extended_vfe_state_enable=True,
                                                 pointer_to_vfe_state=0x2040)
    assert words == [0x70000001, 0x1021, 0x2040]
    off = command("MEDIA_STATE_POINTERS").view([0x70000001, 0x1020, 0x2040], gen=Gen.CTG).to_dict()
    assert "extended_state_pointer" not in off


def test_a_slice() -> None:
    inline = MEDIA_INLINE_VLD.pack(Gen.CTG, slice_horizontal_position=2, slice_vertical_position=5,
                                   macroblock_count=127, first_macroblock_bit_offset=6, quantizer_scale_code=12)
    assert inline == [2 << 24 | 5 << 16 | 127 << 8 | 6, 12 << 24]
    words = command("MEDIA_OBJECT").pack(Gen.CTG, indirect_data_length=321, indirect_data_start_address=0xE0001233,
                                         inline_data=[[w] for w in inline])
    assert words == [0x71000004, 0, 321, 0xE0001233, *inline]
    assert command("MEDIA_OBJECT").complaints(words, gen=Gen.CTG) == []
    assert what(MEDIA_INLINE_VLD, [0, 0], Gen.CTG) == [
        "MEDIA_INLINE_VLD: quantizer_scale_code (dword 1, bits 28:24) 0 is below 1"]


def test_a_generic_object() -> None:
    words = command("MEDIA_OBJECT").pack(Gen.CL, object_id=3, interface_descriptor_offset=5, retain_bit=True,
                                         thread_synchronization=True, inline_data=[{"data": i} for i in range(9)])
    assert words == [0x7100000B, 3 << 8 | 5, 1 << 28 | 1 << 24, 0, *range(9)]
    view = command("MEDIA_OBJECT").view(words, gen=Gen.CL)
    assert [d.data for d in view.inline_data] == list(range(9))
    assert "indirect_data_start_address" not in view.to_dict()


def test_media_object_ex_keeps_its_bits_elsewhere_and_is_new_on_g4x() -> None:
    words = command("MEDIA_OBJECT_EX").pack(Gen.EL, interface_descriptor_offset=5, thread_synchronization=True,
                                            indirect_data_length=64, indirect_data_start_address=0x100,
                                            inline_data=[[1]])
    assert words == [0x71010003, 0, 5 << 24 | 1 << 20 | 64, 0x100, 1]
    assert catalogue.command_for(0x71010003, Gen.CL) is None


def test_a_persistent_root_thread_has_no_indirect_data() -> None:
    words = command("MEDIA_OBJECT_PRT").pack(Gen.EL, interface_descriptor_offset=127, prt_fence_needed=True,
                                             thread_synchronization=True, inline_data=[[7]])
    assert words == [0x71020003, 0, 127 << 24 | 1 << 23 | 1 << 20, 0, 7]
    assert catalogue.command_for(0x71020003, Gen.BW) is None
    assert [c.field.name for c in command("MEDIA_OBJECT_PRT").complaints([0x71020003, 0, 64, 8, 7], gen=Gen.EL)] == [
        "reserved_2_19_0", "reserved_3_31_0"]


# --- threads --------------------------------------------------------------------------------------------------------
def test_r0_of_a_root_thread() -> None:
    words = PAYLOAD_MEDIA_R0.pack(Gen.CTG, urb_handle=0x21, interface_descriptor_pointer=0x1010,
                                  sampler_state_pointer=0x60, per_thread_scratch_space=3, binding_table_pointer=0x80,
                                  scratch_space_pointer=0x4400, fftid=9, thread_count=17)
    assert words == [0x21, 0, 0x1010, 0x63, 0x80, 0x4409, 17, 0]


def test_a_spawn_message() -> None:
    words = THREAD_SPAWNER_MESSAGE_HEADER.pack(Gen.CTG, dispatch_urb_handle=7, interface_descriptor_pointer=0x30,
                                               dispatch_urb_length=2, urb_handle_offset=4)
    assert words == [7, 0, 0x30, 0, 2 << 10 | 4, 0, 0, 0]


# --- MPEG-2 ---------------------------------------------------------------------------------------------------------
def test_an_intra_macroblock() -> None:
    r1 = PAYLOAD_VLD_R1.view(hexes("00010000 00000000 00070fc4 00000000 0 0 0 0"), gen=Gen.CTG)
    assert r1.macroblock_intra_type and r1.motion_type == MotionType.NONE
    assert (r1.picture_coding_type, r1.picture_structure) == (PictureCodingType.I_PICTURE, PictureStructure.FRAME)
    assert [getattr(r1, f"coded_block_{b}") for b in ("y0", "y1", "y2", "y3", "cb", "cr")] == [True] * 6
    assert (r1.quantizer_scale_code, r1.quantizer_scale_type) == (4, QuantizerScaleType.LINEAR)


def test_a_forward_macroblock() -> None:
    r1 = PAYLOAD_VLD_R1.view(hexes("02020000 0 000b0804 00100030 0002ffff 0 0 0"), gen=Gen.CTG)
    assert r1.macroblock_motion_forward and not r1.macroblock_motion_backward
    assert r1.motion_type == MotionType.FRAME_OR_16X8
    assert (r1.coded_block_y0, r1.coded_block_y1) == (True, False)
    assert (r1.horizontal_origin, r1.vertical_origin) == (3, 1)
    assert (r1.motion_vector_0_0_vertical, r1.motion_vector_0_0_horizontal) == (1.0, -0.5)


def test_field_motion_of_both_directions() -> None:
    r1 = PAYLOAD_VLD_R1.view(hexes("61060000 0 000f0006 00000020 00000004 00000000 ffff0000 00000002"), gen=Gen.CTG)
    selects = {(r, s): getattr(r1, f"motion_vertical_field_select_{r}_{s}") for r in (0, 1) for s in (0, 1)}
    assert selects == {(0, 0): False, (0, 1): True, (1, 0): True, (1, 1): False}
    assert r1.motion_type == MotionType.FIELD and r1.horizontal_origin == 2
    assert (r1.motion_vector_0_0_horizontal, r1.motion_vector_1_0_vertical, r1.motion_vector_1_1_horizontal) == (
        2.0, -0.5, 1.0)


def test_the_second_field_bit() -> None:
    assert PAYLOAD_VLD_R1.view(hexes("09020000 0 00090406 0 0 0 0 0"), gen=Gen.CL).second_field
    assert not PAYLOAD_VLD_R1.view(hexes("11020000 0 0 0 0 0 0 0"), gen=Gen.CL).second_field


def test_is_mode_shares_the_dwords_of_vld_mode() -> None:
    fields = {"motion_type": MotionType.FIELD, "dct_type": DctType.FIELD_DCT, "macroblock_motion_forward": True,
              "motion_vertical_field_select_1_1": True, "motion_vector_1_0_vertical": -2.5, "coded_block_cr": True}
    inline = MEDIA_INLINE_IS.pack(Gen.BW, **fields, picture_structure=PictureStructure.TOP_FIELD, horizontal_origin=9,
                                  vertical_origin=3)
    r1 = PAYLOAD_VLD_R1.pack(Gen.CL, **fields, picture_structure=PictureStructure.TOP_FIELD, horizontal_origin=9,
                             vertical_origin=3)
    assert (inline[0], inline[4:8]) == (r1[0], r1[4:8])
    assert (inline[2], inline[8] | inline[2], inline[9]) == (1 << 6, r1[2], r1[3])


def test_subblock_codes_are_bytes() -> None:
    words = MEDIA_INLINE_IS.pack(Gen.BW, subblock_present_y1=0b1001, subblock_partitioning_y1=3,
                                 subblock_partitioning_y0=1, subblock_present_cr=1, subblock_present_y2=15)
    assert words[2] == 0b100111 << 24 | 1 << 16
    assert words[3] == 1 << 26 | 15 << 2


@pytest.mark.parametrize(("word", "index", "value", "end"), [
    (0x00050000, 0, 5, False), (0xFFFD0000 | 19 << 1 | 1, 19, -3, True), (7 << 16 | 63 << 1 | 1, 63, 7, True)])
def test_coefficients(word: int, index: int, value: int, end: bool) -> None:
    view = COEFFICIENT.view([word], gen=Gen.BW)
    assert (view.index, view.coefficient, view.end_of_block) == (index, value, end)


# --- AVC and VC-1 ---------------------------------------------------------------------------------------------------
def test_an_inter_macroblock_of_avc() -> None:
    words = MEDIA_INLINE_AVC_IT.pack(
        Gen.EL, mv_size=AvcMotionVectorSize.MV_8, dc_block_coded_cr_flag=True, mb_type=22, cbp_y=0xFFFF,
        vertical_origin=2, horizontal_origin=1, qp_prime_y=30, cbp_cb=5, log2_weight_denom_luma=5,
        sub_mb_pred_mode_3=AvcSubMbPredMode.BI, sub_mb_shape_0=AvcSubMbShape.SHAPE_4X4, binding_table_index_forward_3=9,
        binding_table_index_backward_0=8, level_scale_cb=16, level_scale_y=17)
    assert words == [4 << 20 | 1 << 17 | 22 << 8, 0xFFFF0201, 30 << 8 | 5, 5 << 16 | 2 << 14 | 3, 9 << 24, 8,
                     16 << 16, 17]
    assert what(MEDIA_INLINE_AVC_IT, words, Gen.EL) == []


def test_an_intra_macroblock_of_avc() -> None:
    words = MEDIA_INLINE_AVC_MC.pack(
        Gen.EL, intra_mb_flag=True, intra_pred_avail_flag_f=True, coded_block_y0=True, coded_block_cr=True,
        chroma_intra_pred_mode=2, intra_pred_avail_flag_e=True, intra_pred_avail_flag_a=True,
        luma_intra_pred_modes_0=0x1234, luma_intra_pred_modes_3=0x5678)
    assert words == [1 << 13 | 1 << 4, 0, 1 << 13 | 1 << 8, 2 << 6 | 1 << 4 | 1, 0x1234, 0x56780000]
    fields = MEDIA_INLINE_AVC_MC.view(words, gen=Gen.EL).to_dict()
    assert "sub_mb_shape_0" not in fields and "binding_table_index_forward_0" not in fields


def test_a_thread_sees_nothing_of_what_vfe_consumes() -> None:
    consumed = {"mv_size", "dc_block_coded_y_flag", "dc_block_coded_cb_flag", "dc_block_coded_cr_flag",
                "intra_pred_avail_flag_f", "qp_prime_cr", "qp_prime_cb", "qp_prime_y", "level_scale_cb",
                "level_scale_cr", "level_scale_y"}
    names = {*MEDIA_INLINE_AVC_IT.view([0] * 8, gen=Gen.EL).to_dict()}
    assert names - {*PAYLOAD_AVC_INLINE.view([0] * 8, gen=Gen.EL).to_dict()} == consumed


def test_vectors_and_weights() -> None:
    vector = AVC_MOTION_VECTOR.view([0xFFFF0006], gen=Gen.EL)
    assert (vector.vertical, vector.horizontal) == (-0.25, 1.5)
    weight = AVC_EXPLICIT_WEIGHT.view([0x01FF8040], gen=Gen.EL)
    assert (weight.l1_offset, weight.l1_weight, weight.l0_offset, weight.l0_weight) == (1, -1, -128, 64)
    implicit = AVC_IMPLICIT_WEIGHT.view([0xFFC00060], gen=Gen.EL)
    assert (implicit.l1_weight, implicit.l0_weight) == (-64, 96)


def test_a_vc1_macroblock() -> None:
    words = MEDIA_INLINE_VC1_IT.pack(
        Gen.EL, mv_field_select_0=True, mv_switch=True, luma_intra_8x8_flag_y0=True, coded_block_cr=True,
        last_row_flag=True, edge_mask_left_chroma=True, edge_mask_left_y3=True, edge_mask_top_y0=True,
        horizontal_origin=4, motion_vector_chroma_vertical=-1, subblock_partitioning_y3=2, subblock_present_cr=1,
        subblock_present_cb=1)
    assert words == [1 << 28 | 1 << 22 | 1 << 15 | 1 << 6 | 1 << 4, 1 << 25 | 1 << 23 | 1 << 16 | 4, 0, 0, 0, 0,
                     0xFFFF0000, 2 << 24, 1 << 10 | 1 << 2]


def test_numbers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(FieldError, match="slice_vertical_position"):
        MEDIA_INLINE_VLD.pack(Gen.CTG, slice_vertical_position=128)
