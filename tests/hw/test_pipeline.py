"""The commands of the 3D pipeline, against the manual and against what crocus and blorp write on G4x and Gen4."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gen4emu.errors import FieldError
from gen4emu.hw import catalogue
from gen4emu.hw.formats import SurfaceFormat
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import pipeline
from gen4emu.hw.gen4.pipeline import (
    VERTEX_BUFFER_STATE,
    BufferAccessType,
    DepthFormat,
    DepthSurfaceType,
    DepthTileWalk,
    IndexFormat,
    VertexAccessType,
    VertexComponentControl,
)
from gen4emu.hw.gen45.pipeline import ADDED
from gen4emu.hw.layout import Block, Command
from gen4emu.hw.topology import (
    ADJACENCY_TOPOLOGIES,
    CUT_INDEX_TOPOLOGIES,
    GS_OUTPUT_TOPOLOGIES,
    PrimitiveTopology,
)
from tests.hw.by_name import ByName, on_parts, parts_with
from tests.hw.claims import misclaimed, repacked

PRIMITIVE = ByName("3DPRIMITIVE")

COMMANDS = [c.name for c in (*pipeline.COMMANDS, *ADDED)]
COMMAND = {name: ByName(name) for name in COMMANDS}
LAYOUTS = (*COMMANDS, "VERTEX_BUFFER_STATE", "VERTEX_ELEMENT_STATE", "POLY_STIPPLE_ROW")
ON_PARTS = [pytest.param(b, g, id=f"{b.name}-{g.name}") for b, g in on_parts(LAYOUTS)]


def hexes(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


def what(layout: Block | ByName, words: list[int], gen: Gen) -> list[str]:
    return [str(c) for c in layout.complaints(words, gen=gen)]


@pytest.mark.parametrize(("layout", "gen"), ON_PARTS)
def test_every_bit_is_claimed_once(layout: Block, gen: Gen) -> None:
    assert misclaimed(layout, gen) == []


@pytest.mark.parametrize(("layout", "gen"), ON_PARTS)
@settings(max_examples=40)
@given(data=st.data())
def test_values_pack_to_the_bits_they_came_from(layout: Block, gen: Gen, data: st.DataObject) -> None:
    size = layout.size(gen)
    open_ended = [a.item.size(gen) for a in layout.arrays_for(gen) if a.count is None]
    size += data.draw(st.integers(0, 18)) * open_ended[0] if open_ended else 0
    words = data.draw(st.lists(st.integers(0, 0xFFFFFFFF), min_size=size, max_size=size))
    before, after = repacked(layout, words, gen)
    assert after == before


@pytest.mark.parametrize(("name", "gen", "header"), [
    ("3DSTATE_PIPELINED_POINTERS", Gen.BW, 0x78000005),
    ("3DSTATE_BINDING_TABLE_POINTERS", Gen.BW, 0x78010004),
    ("3DSTATE_INDEX_BUFFER", Gen.BW, 0x780A0001),
    ("3DSTATE_DRAWING_RECTANGLE", Gen.BW, 0x79000002),
    ("3DSTATE_CONSTANT_COLOR", Gen.BW, 0x79010003),
    ("3DSTATE_DEPTH_BUFFER", Gen.BW, 0x79050003),
    ("3DSTATE_DEPTH_BUFFER", Gen.CL, 0x79050003),
    ("3DSTATE_DEPTH_BUFFER", Gen.CTG, 0x79050004),
    ("3DSTATE_DEPTH_BUFFER", Gen.EL, 0x79050004),
    ("3DSTATE_POLY_STIPPLE_OFFSET", Gen.BW, 0x79060000),
    ("3DSTATE_POLY_STIPPLE_PATTERN", Gen.BW, 0x7907001F),
    ("3DSTATE_LINE_STIPPLE", Gen.BW, 0x79080001),
    ("3DSTATE_GLOBAL_DEPTH_OFFSET_CLAMP", Gen.BW, 0x79090000),
    ("3DSTATE_AA_LINE_PARAMETERS", Gen.CTG, 0x790A0001),
    ("3DSTATE_GS_SVB_INDEX", Gen.CTG, 0x790B0002),
    ("3DPRIMITIVE", Gen.BW, 0x7B000004),
])
def test_headers(name: str, gen: Gen, header: int) -> None:
    command = catalogue.command_named(name, gen)
    words = command.pack(gen)
    assert words[0] == header
    assert command.length(header) == len(words)
    assert set(words[1:]) <= {0}


def test_commands_of_g4x_are_not_on_gen4() -> None:
    later = {name for name in COMMANDS if not parts_with(name) & {Gen.BW, Gen.CL}}
    assert later == {"3DSTATE_AA_LINE_PARAMETERS", "3DSTATE_GS_SVB_INDEX"}
    assert all(parts_with(name) >= {Gen.CTG, Gen.EL} for name in COMMANDS)


# Commands of crocus and blorp: a clear, then a draw.
DRIVER = [
    ("3DSTATE_AA_LINE_PARAMETERS", Gen.CTG, "790a0001 00000000 00000000"),
    ("3DSTATE_POLY_STIPPLE_OFFSET", Gen.CTG, "79060000 00000000"),
    ("3DSTATE_CONSTANT_COLOR", Gen.CTG, "79010003 00000000 00000000 00000000 00000000"),
    ("3DSTATE_BINDING_TABLE_POINTERS", Gen.CTG, "78010004 00000400 00000000 00000000 00000000 00000460"),
    ("3DSTATE_DEPTH_BUFFER", Gen.CTG, "79050004 2c0803ff 00154000 07f83fc0 00000000 00000000"),
    ("3DSTATE_DEPTH_BUFFER", Gen.CTG, "79050004 e0040000 00000000 00000000 00000000 00000000"),
    ("3DSTATE_DEPTH_BUFFER", Gen.CL, "79050003 2c0803ff 00255000 07f83fc0 00000000"),
    ("3DSTATE_LINE_STIPPLE", Gen.CTG, "79080001 00000000 00000000"),
    ("3DSTATE_POLY_STIPPLE_PATTERN", Gen.CTG, "7907001f " + "ffffffff " * 32),
    ("3DSTATE_PIPELINED_POINTERS", Gen.CTG, "78000005 00109120 00000000 001090e1 00109160 00109180 00109080"),
    ("3DSTATE_PIPELINED_POINTERS", Gen.CTG, "78000005 00109240 00000000 00000000 00109280 001092c0 00109300"),
    ("3DSTATE_DRAWING_RECTANGLE", Gen.CTG, "79000002 00000000 00ff00ff 00000000"),
    ("3DSTATE_VERTEX_BUFFERS", Gen.CTG,
     "78080007 0000000c 001091c0 00000003 00000000 0c000000 00109200 00000000 00000000"),
    ("3DSTATE_VERTEX_ELEMENTS", Gen.CTG, "78090009 0c000000 12220000 04400000 11130004 04400000 11130008 "
                                         "0c000010 1111000c 0c000020 11110010"),
    ("3DSTATE_VERTEX_ELEMENTS", Gen.CTG, "78090001 04850000 11230000"),
    ("3DSTATE_INDEX_BUFFER", Gen.CTG, "780a0101 00418000 004cda4b"),
    ("3DPRIMITIVE", Gen.CTG, "7b009004 0005ad26 00000000 00000001 00000000 00000000"),
    ("3DPRIMITIVE", Gen.CL, "7b003c04 00000003 00000000 00000001 00000000 00000000"),
]


@pytest.mark.parametrize(("name", "gen", "text"), DRIVER)
def test_what_a_driver_writes_is_legal_and_packs_again(name: str, gen: Gen, text: str) -> None:
    command, words = catalogue.command_named(name, gen), hexes(text)
    assert command.length(words[0]) == len(words)
    assert what(command, words, gen) == []
    assert command.pack(gen, **command.view(words, gen=gen).to_dict()) == words


# --- pointers ---------------------------------------------------------------------------------------------------------
def test_pipelined_pointers_of_a_draw() -> None:
    words = hexes("78000005 00109120 00000000 001090e1 00109160 00109180 00109080")
    assert COMMAND["3DSTATE_PIPELINED_POINTERS"].view(words, gen=Gen.CTG).to_dict() == {
        "dword_length": 5, "pointer_to_vs_state": 0x109120, "gs_enable": False, "pointer_to_clip_state": 0x1090E0,
        "clip_enable": True, "pointer_to_sf_state": 0x109160, "pointer_to_wm_state": 0x109180,
        "pointer_to_color_calc_state": 0x109080,
    }


def test_pointer_of_a_disabled_unit_is_ignored() -> None:
    command = COMMAND["3DSTATE_PIPELINED_POINTERS"]
    words = hexes("78000005 0 ffffffe0 ffffffe0 0 0 0")
    assert what(command, words, Gen.EL) == []
    values = command.view(words, gen=Gen.EL).to_dict()
    assert "pointer_to_gs_state" not in values and "pointer_to_clip_state" not in values


def test_color_calc_pointer_is_64_byte_aligned_and_the_rest_32() -> None:
    command = COMMAND["3DSTATE_PIPELINED_POINTERS"]
    assert command.pack(Gen.EL, pointer_to_wm_state=0x20)[5] == 0x20
    with pytest.raises(FieldError, match="0x20 is not aligned to 64 bytes"):
        command.pack(Gen.EL, pointer_to_color_calc_state=0x20)
    assert what(command, hexes("78000005 0 0 0 0 0 20"), Gen.EL) == [
        "3DSTATE_PIPELINED_POINTERS: reserved_6_5_0 (dword 6, bits 5:0) reserved bits are 0x20, must be zero"]


def test_pointers_know_their_base_and_target() -> None:
    command = catalogue.command_named("3DSTATE_PIPELINED_POINTERS", Gen.EL)
    targets = {f.name.removeprefix("pointer_to_").upper(): f for f in command.all_fields
               if f.name.startswith("pointer_to_")}
    assert list(targets) == ["VS_STATE", "GS_STATE", "CLIP_STATE", "SF_STATE", "WM_STATE", "COLOR_CALC_STATE"]
    for name, f in targets.items():
        assert (getattr(f, "target", None), getattr(f, "base", None)) == (name, "general_state")
    command = catalogue.command_named("3DSTATE_BINDING_TABLE_POINTERS", Gen.EL)
    tables = [f for f in command.all_fields if f.name.startswith("pointer_to_")]
    assert [f.dword for f in tables] == [1, 2, 3, 4, 5]
    assert {getattr(f, "base", None) for f in tables} == {"surface_state"}


# --- vertex input -----------------------------------------------------------------------------------------------------
def test_vertex_buffers_of_a_clear() -> None:
    words = hexes("78080007 0000000c 001091c0 00000003 00000000 0c000000 00109200 00000000 00000000")
    per_vertex, flat = COMMAND["3DSTATE_VERTEX_BUFFERS"].view(words, gen=Gen.CTG).vertex_buffers
    assert per_vertex.to_dict() == {
        "vertex_buffer_index": 0, "buffer_access_type": BufferAccessType.VERTEXDATA,
        "invalidate_vertex_overfetch_cache": False, "buffer_pitch": 12, "buffer_starting_address": 0x1091C0,
        "max_index": 3, "instance_data_step_rate": 0,
    }
    assert (flat.vertex_buffer_index, flat.buffer_access_type, flat.buffer_pitch, flat.max_index) == (
        1, BufferAccessType.INSTANCEDATA, 0, 0)


def test_pitch_has_twelve_bits() -> None:
    """Drivers advertise a stride of 2048 and write it unmasked."""
    words = VERTEX_BUFFER_STATE.pack(Gen.EL, buffer_pitch=2048)
    assert words[0] == 0x800
    assert what(VERTEX_BUFFER_STATE, words, Gen.EL) == []
    assert what(VERTEX_BUFFER_STATE, hexes("00000801 0 0 0"), Gen.EL) == [
        "VERTEX_BUFFER_STATE: buffer_pitch (dword 0, bits 11:0) 2049 is above 2048"]


def test_there_are_17_vertex_buffers() -> None:
    words = COMMAND["3DSTATE_VERTEX_BUFFERS"].pack(Gen.EL, vertex_buffers=[
        {"vertex_buffer_index": i, "buffer_pitch": 16} for i in range(18)])
    assert words[0] == 0x78080000 | 4 * 18 - 1
    assert what(COMMAND["3DSTATE_VERTEX_BUFFERS"], words, Gen.EL) == [
        "3DSTATE_VERTEX_BUFFERS.vertex_buffers[17]: vertex_buffer_index (dword 69, bits 31:27) 17 is above 16"]


def test_vertex_elements_of_a_clear() -> None:
    """Mesa's blorp: a header of zeros, the position twice with z in it, then flat inputs of the second buffer."""
    words = hexes("78090009 0c000000 12220000 04400000 11130004 04400000 11130008 0c000010 1111000c 0c000020 11110010")
    elements = COMMAND["3DSTATE_VERTEX_ELEMENTS"].view(words, gen=Gen.CTG).vertex_elements
    src, zero, one = VertexComponentControl.STORE_SRC, VertexComponentControl.STORE_0, VertexComponentControl.STORE_1_FP
    f4, f3 = SurfaceFormat.R32G32B32A32_FLOAT, SurfaceFormat.R32G32B32_FLOAT
    assert [(e.vertex_buffer_index, e.valid, e.source_element_format, e.source_element_offset,
             (e.component_0_control, e.component_1_control, e.component_2_control, e.component_3_control),
             e.destination_element_offset) for e in elements] == [
        (1, True, f4, 0, (src, zero, zero, zero), 0),
        (0, True, f3, 0, (src, src, src, one), 4),
        (0, True, f3, 0, (src, src, src, one), 8),
        (1, True, f4, 16, (src, src, src, src), 12),
        (1, True, f4, 32, (src, src, src, src), 16),
    ]


def test_partial_vertex_element_is_not_one() -> None:
    words = hexes("78090002 04850000 11230000 04850000")
    assert len(COMMAND["3DSTATE_VERTEX_ELEMENTS"].view(words, gen=Gen.CTG).vertex_elements) == 1


def test_index_buffer_of_a_grid() -> None:
    """372006 indices of two bytes: the end address is that of the last byte."""
    v = COMMAND["3DSTATE_INDEX_BUFFER"].view(hexes("780a0101 00418000 004cda4b"), gen=Gen.CTG)
    assert v.index_format is IndexFormat.WORD and not v.cut_index_enable
    assert v.buffer_ending_address == v.buffer_starting_address + 2 * 372006 - 1


def test_index_buffer_options_are_in_the_header() -> None:
    words = COMMAND["3DSTATE_INDEX_BUFFER"].pack(Gen.EL, cut_index_enable=True, index_format="DWORD")
    assert words[0] == 0x780A0601
    assert what(COMMAND["3DSTATE_INDEX_BUFFER"], [0x780A0301, 0, 0], Gen.EL) == [
        "3DSTATE_INDEX_BUFFER: index_format (dword 0, bits 9:8) 3 is reserved"]


# --- primitives -------------------------------------------------------------------------------------------------------
def test_primitive_of_a_grid() -> None:
    words = hexes("7b009004 0005ad26 00000000 00000001 00000000 00000000")
    assert PRIMITIVE.view(words, gen=Gen.CTG).to_dict() == {
        "dword_length": 4, "vertex_access_type": VertexAccessType.RANDOM,
        "primitive_topology_type": PrimitiveTopology.TRILIST, "indirect_vertex_count": False,
        "vertex_count_per_instance": 372006, "start_vertex_location": 0, "instance_count": 1,
        "start_instance_location": 0, "base_vertex_location": 0,
    }


def test_base_vertex_is_signed() -> None:
    words = PRIMITIVE.pack(Gen.EL, vertex_access_type="RANDOM", primitive_topology_type="TRILIST",
                           base_vertex_location=-7)
    assert (words[0], words[5]) == (0x7B009004, 0xFFFFFFF9)
    assert PRIMITIVE.view(words, gen=Gen.EL).base_vertex_location == -7


def test_indirect_vertex_count_turns_the_count_into_an_address() -> None:
    words = PRIMITIVE.pack(Gen.CTG, primitive_topology_type="TRILIST", indirect_vertex_count=True,
                           vertex_count_address=0x1234, instance_count=1)
    assert words == [0x7B001204, 0x1234, 0, 1, 0, 0]
    values = PRIMITIVE.view(words, gen=Gen.CTG).to_dict()
    assert values["vertex_count_address"] == 0x1234 and "vertex_count_per_instance" not in values
    assert PRIMITIVE.view(words, gen=Gen.CL).to_dict()["vertex_count_per_instance"] == 0x1234
    assert what(PRIMITIVE, words, Gen.CL) == [
        "3DPRIMITIVE: reserved_0_9_9 (dword 0, bits 9) reserved bits are 0x1, must be zero"]


def test_no_instances_is_undefined() -> None:
    words = PRIMITIVE.pack(Gen.EL, primitive_topology_type="RECTLIST", vertex_count_per_instance=3)
    assert what(PRIMITIVE, words, Gen.EL) == ["3DPRIMITIVE: instance_count (dword 3, bits 31:0) 0 is below 1"]


@pytest.mark.parametrize("name", ["3DSTATE_VERTEX_BUFFERS", "3DSTATE_VERTEX_ELEMENTS"])
def test_lists_need_an_item(name: str) -> None:
    """The manual wants one at least, and a command of a single dword has no length that fits."""
    with pytest.raises(FieldError, match="dword_length"):
        COMMAND[name].pack(Gen.EL)


@pytest.mark.parametrize("code", range(32))
def test_reserved_topologies(code: int) -> None:
    words = [0x7B000004 | code << 10, 3, 0, 1, 0, 0]
    reserved = {0x00, 0x15, *range(0x17, 0x20)}
    assert [c.raw for c in PRIMITIVE.complaints(words, gen=Gen.EL)] == ([code] if code in reserved else [])


def test_topologies_that_the_stages_accept() -> None:
    """CUT_INDEX_TOPOLOGIES may have cut indices, GS_OUTPUT_TOPOLOGIES may leave GS."""
    assert {int(t) for t in set(PrimitiveTopology) - CUT_INDEX_TOPOLOGIES} == {
        0x06, 0x07, 0x08, 0x0E, 0x0F, 0x10, 0x16}
    assert {int(t) for t in GS_OUTPUT_TOPOLOGIES} == {
        0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x0D, 0x0E, 0x0F, 0x11, 0x12, 0x13, 0x14, 0x16}
    assert {int(t) for t in ADJACENCY_TOPOLOGIES} == {0x09, 0x0A, 0x0B, 0x0C}


# --- non-pipelined state ----------------------------------------------------------------------------------------------
def test_depth_buffer_of_crocus() -> None:
    words = hexes("79050004 2c0803ff 00154000 07f83fc0 00000000 00000000")
    assert COMMAND["3DSTATE_DEPTH_BUFFER"].view(words, gen=Gen.CTG).to_dict() == {
        "dword_length": 4, "surface_type": DepthSurfaceType.SURFTYPE_2D, "tiled_surface": True,
        "tile_walk": DepthTileWalk.YMAJOR, "depth_buffer_coordinate_offset_disable": False,
        "software_tiled_rendering_mode": 0, "surface_format": DepthFormat.D24_UNORM_S8_UINT, "surface_pitch": 1024,
        "surface_base_address": 0x154000, "height": 256, "width": 256, "lod": 0, "mip_map_layout_mode": 0, "depth": 1,
        "minimum_array_element": 0, "render_target_view_extent": 1, "depth_coordinate_offset_y": 0,
        "depth_coordinate_offset_x": 0,
    }


def test_null_depth_buffer_is_nowhere() -> None:
    words = hexes("79050003 e0040000 ffffffff 00000000 00000000")
    assert what(COMMAND["3DSTATE_DEPTH_BUFFER"], words, Gen.CL) == []
    assert "surface_base_address" not in COMMAND["3DSTATE_DEPTH_BUFFER"].view(words, gen=Gen.CL).to_dict()


def test_tiled_depth_buffers_walk_in_y() -> None:
    command = COMMAND["3DSTATE_DEPTH_BUFFER"]
    assert what(command, hexes("79050003 280403ff 0 0 0"), Gen.CL) == [
        "3DSTATE_DEPTH_BUFFER: tile_walk (dword 1, bits 26) 0 is reserved"]
    assert what(command, hexes("79050003 200403ff 0 0 0"), Gen.CL) == []


def test_depth_offsets_and_software_tiling_are_of_g4x() -> None:
    command = COMMAND["3DSTATE_DEPTH_BUFFER"]
    words = command.pack(Gen.EL, software_tiled_rendering_mode="STR2", depth_coordinate_offset_x=-8,
                         depth_coordinate_offset_y=16)
    assert (words[1] >> 23 & 3, words[5]) == (3, 0x0010FFF8)
    with pytest.raises(FieldError, match="has no field depth_coordinate_offset_x"):
        command.pack(Gen.CL, depth_coordinate_offset_x=0)


@pytest.mark.parametrize(("code", "legal"), [(0, True), (1, True), (2, True), (3, True), (4, False), (5, True),
                                             (6, False), (7, False)])
def test_depth_formats(code: int, legal: bool) -> None:
    words = COMMAND["3DSTATE_DEPTH_BUFFER"].pack(Gen.EL, surface_format=code)
    assert words[1] == code << 18
    assert (what(COMMAND["3DSTATE_DEPTH_BUFFER"], words, Gen.EL) == []) is legal


def test_drawing_rectangle_ignores_high_bits_and_signs_the_origin() -> None:
    command = COMMAND["3DSTATE_DRAWING_RECTANGLE"]
    words = hexes("79000002 e001e002 ffffffff e0001fff")
    assert what(command, words, Gen.EL) == []
    assert command.view(words, gen=Gen.EL).to_dict() == {
        "dword_length": 2, "clipped_drawing_rectangle_y_min": 1, "clipped_drawing_rectangle_x_min": 2,
        "clipped_drawing_rectangle_y_max": 8191, "clipped_drawing_rectangle_x_max": 8191,
        "drawing_rectangle_origin_y": -8192, "drawing_rectangle_origin_x": 8191,
    }
    assert len(what(command, hexes("79000002 0 0 80002000"), Gen.EL)) == 2


def test_constant_color_is_rgba() -> None:
    words = COMMAND["3DSTATE_CONSTANT_COLOR"].pack(
        Gen.EL, blend_constant_color_red=1.0, blend_constant_color_green=0.5, blend_constant_color_blue=-2.0,
        blend_constant_color_alpha=0.25)
    assert words == [0x79010003, 0x3F800000, 0x3F000000, 0xC0000000, 0x3E800000]


def test_aa_line_parameters_of_the_manual() -> None:
    """G45 volume 2, 8.3.2.2: slope 0.55078125 and bias 0.33984375."""
    words = COMMAND["3DSTATE_AA_LINE_PARAMETERS"].pack(
        Gen.EL, aa_coverage_slope=0.55078125, aa_coverage_bias=0.33984375, aa_coverage_endcap_slope=0.55078125,
        aa_coverage_endcap_bias=0.33984375)
    assert words == [0x790A0001, 0x0057008D, 0x0057008D]


def test_line_stipple() -> None:
    """1/3 truncates to 0x0AAA."""
    command = COMMAND["3DSTATE_LINE_STIPPLE"]
    words = hexes("79080001 8045a5a5 0aaa0003")
    v = command.view(words, gen=Gen.EL)
    assert v.modify_enable and (v.current_repeat_counter, v.current_stipple_index) == (2, 5)
    assert v.line_stipple_pattern == 0xA5A5
    assert (v.line_stipple_inverse_repeat_count, v.line_stipple_repeat_count) == (2730 / 8192, 3)
    assert what(command, words, Gen.EL) == []
    words = command.pack(Gen.EL, line_stipple_repeat_count=256, line_stipple_inverse_repeat_count=1 / 256)
    assert words[2] == 0x00200100
    assert len(what(command, hexes("79080001 0 20010101"), Gen.EL)) == 2


def test_polygon_stipple() -> None:
    rows = [{"pattern": 1 << 31 - i} for i in range(32)]
    words = COMMAND["3DSTATE_POLY_STIPPLE_PATTERN"].pack(Gen.EL, rows=rows)
    assert words == [0x7907001F, *(1 << 31 - i for i in range(32))]
    with pytest.raises(FieldError, match="at most 32 items, not 33"):
        COMMAND["3DSTATE_POLY_STIPPLE_PATTERN"].pack(Gen.EL, rows=[*rows, {}])
    assert COMMAND["3DSTATE_POLY_STIPPLE_OFFSET"].pack(
        Gen.EL, polygon_stipple_x_offset=31, polygon_stipple_y_offset=1)[1] == 0x1F01


def test_depth_offset_clamp_is_a_float() -> None:
    assert COMMAND["3DSTATE_GLOBAL_DEPTH_OFFSET_CLAMP"].pack(Gen.EL, global_depth_offset_clamp=-0.5)[1] == 0xBF000000


@pytest.mark.parametrize("command", [c for c in pipeline.COMMANDS if all(a.count for a in c.all_arrays)],
                         ids=lambda c: c.name)
def test_short_commands_read_as_zero(command: Command) -> None:
    gen = Gen.EL
    header = command.pack(gen)[0]
    values = command.view([header], gen=gen).to_dict()
    assert values["dword_length"] == header & 0xFF
    assert command.complaints([header], gen=gen) == command.complaints(command.pack(gen), gen=gen)
