"""The commands, state blocks and registers of Gen8: dwords written by hand, and what differs from Gen7.5 and Gen9."""

from __future__ import annotations

import pytest

from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.fields import Address
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen8.registers import ENGINES
from gen4emu.hw.layout import Client, Engine

HSW, BDW, KBL = catalogue_of(Gen.HSW), catalogue_of(Gen.BDW), catalogue_of(Gen.KBL)


def packed(name: str, **values: object) -> list[int]:
    return BDW.block(name).pack(Gen.BDW, **values)


def complaints(name: str, words: list[int]) -> list[str]:
    return [c.field.name for c in BDW.block(name).complaints(words, gen=Gen.BDW)]


# --- the table --------------------------------------------------------------------------------------------------------
# Dwords on Gen7.5, Gen8 and Gen9; 0 is none.
@pytest.mark.parametrize(("name", "sizes"), [
    ("STATE_BASE_ADDRESS", (10, 16, 19)), ("STATE_SIP", (2, 3, 3)), ("PIPE_CONTROL", (5, 6, 6)),
    ("3DSTATE_VS", (6, 9, 9)), ("3DSTATE_HS", (7, 9, 9)), ("3DSTATE_DS", (6, 9, 11)), ("3DSTATE_GS", (7, 10, 10)),
    ("3DSTATE_PS", (8, 12, 12)), ("3DSTATE_SBE", (14, 4, 6)), ("3DSTATE_SF", (7, 4, 4)), ("3DSTATE_WM", (3, 2, 2)),
    ("3DSTATE_WM_DEPTH_STENCIL", (0, 3, 4)), ("3DSTATE_CONSTANT_VS", (7, 11, 11)), ("3DSTATE_DEPTH_BUFFER", (7, 8, 8)),
    ("3DSTATE_SO_BUFFER", (4, 8, 8)), ("3DSTATE_RASTER", (0, 5, 5)), ("3DSTATE_VF_TOPOLOGY", (0, 2, 2)),
    ("3DSTATE_RS_CONSTANT_POINTER", (0, 0, 4)), ("3DSTATE_VF_COMPONENT_PACKING", (0, 0, 5)),
    ("MEDIA_VFE_STATE", (8, 9, 9)), ("GPGPU_WALKER", (11, 15, 15)), ("GPGPU_OBJECT", (8, 0, 0)),
    ("MI_BATCH_BUFFER_START", (2, 3, 3)), ("MI_FLUSH_DW", (4, 4, 4)), ("MI_ATOMIC", (0, 3, 3)),
    ("MI_SEMAPHORE_MBOX", (3, 0, 0)), ("MI_URB_CLEAR", (2, 2, 0)), ("MI_FORCE_WAKEUP", (0, 0, 2)),
    ("3DSTATE_DEPTH_STENCIL_STATE_POINTERS", (2, 0, 0)), ("XY_SRC_COPY_BLT", (8, 10, 10)),
    ("XY_FAST_COPY_BLT", (0, 0, 10)),
])
def test_the_sizes_of_three_generations(name: str, sizes: tuple[int, int, int]) -> None:
    found = tuple(c.command(name).size(c.gen) if name in c.names else 0 for c in (HSW, BDW, KBL))
    assert found == sizes


def test_what_gen7_5_has_alike_is_inherited() -> None:
    for name in ("3DSTATE_SO_DECL_LIST", "3DSTATE_BINDING_TABLE_POINTERS_PS", "3DSTATE_TE", "MI_PREDICATE"):
        assert BDW.command(name) is HSW.command(name)


def test_vf_statistics_has_one_encoding() -> None:
    assert BDW.command_for(0x680B0001) is BDW.command("3DSTATE_VF_STATISTICS")
    assert BDW.command_for(0x780B0001) is None


def test_the_commands_of_the_dx9_constants_are_gen9_s() -> None:
    assert not [name for name in BDW.names if "DX9" in name]


# --- dwords written by hand -------------------------------------------------------------------------------------------
def test_base_addresses() -> None:
    words = packed("STATE_BASE_ADDRESS", dynamic_state_base_address=0x1_0000_0000,
                   dynamic_state_base_address_modify_enable=True, dynamic_state_buffer_size=0x1000,
                   dynamic_state_buffer_size_modify_enable=True)
    assert words == [0x6101000E, 0, 0, 0, 0, 0, 0x00000001, 0x00000001, 0, 0, 0, 0, 0, 0x00001001, 0, 0]


def test_the_geometry_shader_has_its_threads_in_another_place_than_on_gen9() -> None:
    words = packed("3DSTATE_GS", maximum_number_of_threads=504, enable=True, output_topology="POINTLIST")
    assert words[7] == 0xFB000001
    assert words[8] == 0


def test_the_domain_shader_has_two_dispatch_modes() -> None:
    words = packed("3DSTATE_DS", single_domain_point_dispatch=True, dispatch_mode="SIMD8_SINGLE_PATCH",
                   maximum_number_of_threads=504, function_enable=True)
    assert words == [0x781D0007, 0, 0, 0x80000000, 0, 0, 0, 0x3EE00009, 0]


def test_lines_have_ten_bits_of_width() -> None:
    assert packed("3DSTATE_SF", line_width=7.5)[2] == 0x0F000000


def test_the_pixel_shader_resolves_or_not() -> None:
    assert packed("3DSTATE_PS", render_target_resolve_enable=True)[6] == 0x00000040


def test_depth_clips_near_and_far_with_one_bit() -> None:
    assert packed("3DSTATE_RASTER", viewport_z_clip_test_enable=True)[1] == 0x00000001


def test_stencil_references_are_in_the_color_calculator_s_state() -> None:
    assert packed("COLOR_CALC_STATE", stencil_reference_value=0x12, backface_stencil_reference_value=0x34,
                  )[0] == 0x12340000
    assert "stencil_reference_value" not in KBL.block("COLOR_CALC_STATE").by_name(Gen.KBL)


def test_clear_colors_have_one_bit() -> None:
    words = packed("RENDER_SURFACE_STATE", red_clear_color=True, alpha_clear_color=True)
    assert words[7] == 0x90000000
    assert complaints("RENDER_SURFACE_STATE", [0xE0000000, *[0] * 11, 1, 0, 0, 0]) == ["reserved_12_31_0"]


def test_constants_have_no_control_state() -> None:
    assert complaints("3DSTATE_CONSTANT_VS", [0x78150109, *[0] * 10]) == ["reserved_0_15_8"]


def test_semaphores_in_memory() -> None:
    assert packed("MI_SEMAPHORE_SIGNAL", post_sync_operation=True, target_engine_select="VECS", target_context_id=7,
                  ) == [0x0DA18000, 7]
    assert packed("MI_SEMAPHORE_WAIT", memory_type="GLOBAL_GRAPHICS_ADDRESS", wait_mode="POLLING",
                  compare_operation="SAD_GREATER_THAN_OR_EQUAL_SDD", semaphore_data_dword=9, semaphore_address=0x1000,
                  ) == [0x0E409002, 9, 0x00001000, 0]


def test_the_walker_of_thread_groups() -> None:
    assert packed("GPGPU_WALKER", predicate_enable=True, interface_descriptor_offset=1, simd_size="SIMD16",
                  thread_width_counter_maximum=3, thread_group_id_x_dimension=16, thread_group_id_y_dimension=8,
                  thread_group_id_z_dimension=1, right_execution_mask=0xFFFF, bottom_execution_mask=0xFFFFFFFF,
                  ) == [0x7105010D, 1, 0, 0, 0x40000003, 0, 0, 16, 0, 0, 8, 0, 1, 0xFFFF, 0xFFFFFFFF]


def test_a_blend_state_has_a_dword_in_front_of_its_entries() -> None:
    words = packed("BLEND_STATE", alpha_to_coverage_enable=True, entries=[
        {"color_buffer_blend_enable": True, "source_blend_factor": "ONE", "destination_blend_factor": "ZERO",
         "write_disable_alpha": True, "color_clamp_range": "RTFORMAT"}])
    assert words[:3] == [0x80000000, 0x86200008, 0x00000008]


# --- the blitter: BR00, BR13 and two dwords for each address ----------------------------------------------------------
def test_a_copy_has_addresses_of_two_dwords() -> None:
    words = packed("XY_SRC_COPY_BLT", write_alpha=True, write_rgb=True, color_depth="BPP_32", raster_operation=0xCC,
                   destination_pitch=64, destination_x1=1, destination_y1=2, destination_x2=3, destination_y2=4,
                   destination_base_address=0x1_0000_0000, source_x1=5, source_y1=6, source_pitch=128,
                   source_base_address=0x2_0000_1000)
    assert words == [0x54F00008, 0x03CC0040, 0x00020001, 0x00040003, 0, 1, 0x00060005, 128, 0x1000, 2]


def test_a_fill_has_its_color_behind_the_address() -> None:
    assert packed("XY_COLOR_BLT", color=7, destination_base_address=0x1000)[4:] == [0x1000, 0, 7]


def test_commands_without_addresses_are_those_of_gen7_5() -> None:
    for command in BDW.commands:
        if command.client == Client.BLT:
            addresses = sum(isinstance(f, Address) for f in command.all_fields)
            assert command.size(Gen.BDW) == HSW.command(command.name).size(Gen.HSW) + addresses
            assert (command is HSW.command(command.name)) == (addresses == 0)


def test_a_fast_copy_names_the_tiling_of_both_sides() -> None:
    words = KBL.command("XY_FAST_COPY_BLT").pack(
        Gen.KBL, source_tiling_method="XMAJOR", destination_tiling_method="TILE_64K", source_tile_y_type="TILEYF",
        color_depth="BPP_32", destination_pitch=16, destination_x2=8, destination_y2=4, source_pitch=32)
    assert words == [0x50906008, 0x83000010, 0, 0x00040008, 0, 0, 0, 32, 0, 0]


# --- registers --------------------------------------------------------------------------------------------------------
def test_every_engine_has_execution_lists() -> None:
    for name, base in ENGINES.items():
        assert BDW.register(f"{name}_EXECLIST_SUBMIT_PORT").offset == base + 0x230
        assert BDW.register(f"{name}_RING_TAIL").offset == base + 0x30
        assert BDW.register(f"{name}_HWS_PGA").offset == base + 0x80
        assert BDW.register(f"{name}_PDP3").offset == base + 0x288
        for gone in ("SYNC_0", "PP_DIR_BASE"):
            assert f"{name}_{gone}" not in {r.name for r in BDW.registers}


def test_the_fault_registers() -> None:
    fault = BDW.register_at(0x4094)
    assert fault is not None
    assert fault.view([0x00002CA5], gen=Gen.BDW).to_dict() == {
        "engine_id": 2, "gttsel": 1, "srcid_of_fault": 0x94, "fault_type": 2, "valid_bit": True}
    data = BDW.register("FAULT_TLB_DATA").view([0x12345678, 0x1F], gen=Gen.BDW)
    assert data.virtual_address_47_44 << 44 | data.virtual_address_43_12 << 12 == 0xF123_4567_8000
    assert data.gttsel == 1


def test_idle_units_of_slices_and_subslices() -> None:
    assert {name: BDW.register(name).offset for name in ("SC_INSTDONE", "SAMPLER_INSTDONE", "ROW_INSTDONE")} == {
        "SC_INSTDONE": 0x7100, "SAMPLER_INSTDONE": 0xE160, "ROW_INSTDONE": 0xE164}
    assert BDW.register("ROW_INSTDONE").view([1 << 21], gen=Gen.BDW).eu10_ss0
    assert "dc3" not in BDW.register("SC_INSTDONE").by_name(Gen.BDW)
    assert KBL.register("SC_INSTDONE").field("dc3", Gen.KBL).lo == 19


def test_registers_that_batches_write() -> None:
    offsets = {"L3CNTLREG": 0x7034, "CS_DEBUG_MODE2": 0x20D8, "CS_CHICKEN1": 0x2580, "CACHE_MODE_0": 0x7000,
               "CACHE_MODE_1": 0x7004, "GT_MODE": 0x7008, "SLICE_COMMON_ECO_CHICKEN1": 0x731C,
               "MI_PREDICATE_RESULT_2": 0x23BC, "CS_GPR_R15": 0x2678, "3DPRIM_BASE_VERTEX": 0x2440,
               "GPGPU_DISPATCHDIMZ": 0x2508, "SO_WRITE_OFFSET3": 0x528C, "PS_DEPTH_COUNT": 0x2350}
    assert {name: KBL.register(name).offset for name in offsets} == offsets
    split = KBL.register("L3CNTLREG").view([0x60000060], gen=Gen.KBL)
    assert (split.all_allocation, split.urb_allocation, split.slm_enable) == (48, 48, False)


def test_memory_object_control_tables() -> None:
    assert KBL.register("GFX_MOCS_2").offset == 0xC808
    entry = KBL.register("GFX_MOCS_2").view([0x0000003B], gen=Gen.KBL)  # as Linux fills it
    assert (entry.cacheability, entry.target_cache, entry.age) == (3, 2, 3)
    assert KBL.register("LNCFCMOCS1").view([0x00100030], gen=Gen.KBL).l3_cacheability_2 == 3


def test_a_context_descriptor() -> None:
    words = BDW.block("CONTEXT_DESCRIPTOR").pack(
        Gen.BDW, valid=True, privilege_access=True, addressing_mode="LEGACY_64_BITS", l3llc_coherency=True,
        logical_ring_context_address=0x00123000, context_id=5)
    assert words == [0x00123139, 5]


def test_entries_of_page_tables_have_64_bits() -> None:
    for name in ("GTT_ENTRY", "PAGE_DIRECTORY_ENTRY", "PAGE_TABLE_ENTRY"):
        entry = BDW.block(name).view([0x12345003, 0x00000002], gen=Gen.BDW)
        assert entry.physical_address == 0x2_1234_5000


# --- video ------------------------------------------------------------------------------------------------------------
def test_an_opcode_means_another_command_on_the_video_engine() -> None:
    for header, engine, name in (
            (0x70000003, Engine.RENDER, "MEDIA_VFE_STATE"), (0x70000003, Engine.VIDEO, "MFX_PIPE_MODE_SELECT"),
            (0x71050060, Engine.RENDER, "GPGPU_WALKER"), (0x71050060, Engine.VIDEO, "MFX_AVC_WEIGHTOFFSET_STATE"),
            (0x73800002, Engine.VIDEO, "HCP_PIPE_MODE_SELECT"), (0x73800002, Engine.RENDER, None),
            (0x7402000E, Engine.VIDEO_ENHANCEMENT, "VEBOX_STATE")):
        command = KBL.command_for(header, engine)
        assert (command.name if command else None) == name


def test_opaque_commands_end_where_their_header_says() -> None:
    command = BDW.command("VEBOX_STATE")
    assert command.length(0x7402000E) == 16
    view = command.view([0x7402000E, *range(15)], gen=Gen.BDW, dwords=16)
    assert [item.value for item in view.data] == list(range(15))


def test_what_the_video_engine_has_alike_keeps_its_fields() -> None:
    assert BDW.command("MFX_QM_STATE") is HSW.command("MFX_QM_STATE")
    assert BDW.command("MFX_AVC_IMG_STATE") is HSW.command("MFX_AVC_IMG_STATE")


def test_buffers_of_the_video_engine_have_48_bits() -> None:
    words = BDW.command("MFX_PIPE_BUF_ADDR_STATE").pack(
        Gen.BDW, post_deblocking_destination_address=0x1234_5678_9AC0, reference_picture_15_address=0xFEDC_BA98_7000,
        second_mb_ildb_stream_out_buffer_memory_object_control_state=0x78)
    assert len(words) == 61
    assert {i: word for i, word in enumerate(words) if word} == {
        0: 0x7002003B, 4: 0x56789AC0, 5: 0x1234, 49: 0xBA987000, 50: 0xFEDC, 60: 0x78}


def test_vp8_has_two_tables_of_motion_vector_probabilities() -> None:
    words = BDW.command("MFX_VP8_PIC_STATE").pack(
        Gen.BDW, frame_width=20, quantizer_value_3_y2ac=127, mvupdateprobs_0_18=1, mvupdateprobs_1_0=2, modelfdelta3=-1)
    assert {i: word for i, word in enumerate(words) if word} == {
        0: 0x74000024, 1: 19, 15: 127 << 16, 27: 1 << 16, 28: 2, 34: 0x7F << 24}


@pytest.mark.parametrize(("name", "lengths"), [
    ("MFX_PIPE_BUF_ADDR_STATE", (61, 65, 68)), ("MFX_AVC_IMG_STATE", (16, 17, 21))])
def test_gen9_allows_commands_as_long_as_broadwells(name: str, lengths: tuple[int, ...]) -> None:
    command = KBL.command(name)
    assert command.least(Gen.KBL) == lengths[0]
    assert command.size(Gen.KBL) == lengths[-1]


# --- pointers ---------------------------------------------------------------------------------------------------------
def test_addresses_in_memory_have_48_bits() -> None:
    """But for those of the global table and of what no longer exists in earnest."""
    short = {layout.name for layout in (*BDW.commands, *BDW.blocks) if getattr(layout, "engine", None) is None
             for f in layout.fields_for(Gen.BDW) if isinstance(f, Address) and not f.base and f.hi == 31}
    assert short == {"MI_SET_CONTEXT", "MI_UPDATE_GTT", "MI_DISPLAY_FLIP", "CONTEXT_DESCRIPTOR", "SWTESS_BASE_ADDRESS"}


def test_no_two_registers_share_an_offset_or_a_name() -> None:
    for catalogue in (BDW, KBL):
        offsets = [r.offset + 4 * i for r in catalogue.registers for i in range(r.size(catalogue.gen))]
        assert len(set(offsets)) == len(offsets)
        assert len({r.name for r in catalogue.registers}) == len(catalogue.registers)
