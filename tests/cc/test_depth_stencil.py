"""Depth and stencil, before and after the shader (G45 PRM vol. 2, 8.4.3 and 9)."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from gen4emu.hw.gen import Gen
from tests.harness.canvas import BACK, DEPTH, DEST_STENCIL, SOURCE_DEPTH, Canvas
from tests.harness.probe import Event

D24, D16, D32, D32S8 = "D24_UNORM_S8_UINT", "D16_UNORM", "D32_FLOAT", "D32_FLOAT_S8X24_UINT"
ALWAYS: dict[str, Any] = {"depth_test_enable": True, "depth_test_function": "ALWAYS",
                          "depth_buffer_write_enable": True}
LESS = ALWAYS | {"depth_test_function": "LESS"}
STENCIL: dict[str, Any] = {"stencil_test_enable": True, "stencil_buffer_write_enable": True,
                           "stencil_test_function": "ALWAYS", "stencil_test_mask": 255, "stencil_write_mask": 255}


def bits(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def canvas(format: str, cc: dict[str, Any], clear: int = 0, **more: Any) -> Canvas:
    result = Canvas(zbuffer=format, **more)
    result.clear_depth(clear)
    result.begin(cc=cc)
    return result


# --- conversion ---

@pytest.mark.parametrize(("format", "z", "raw"), [
    (D24, 0.25, 0x400000), (D24, 0.5, 0x800000), (D24, 1 / 3, 0x555555), (D24, 0.75, 0xBFFFFF), (D24, 1.0, 0xFFFFFF),
    (D24, 0.0, 0), (D16, 0.75, 49151), (D16, 1.0, 65535), (D32, 0.3, bits(0.3)), (D32S8, 0.3, bits(0.3)),
])
def test_source_depth_is_converted_to_the_format(format: str, z: float, raw: int) -> None:
    board = canvas(format, ALWAYS)
    assert board.early(z) == 0xFFFF
    assert board.depth_raw(0, 0) == raw
    assert board.depth_raw(7, 1) == raw
    assert board.depth_raw(8, 0) == 0


@pytest.mark.parametrize("format", [D24, D16, D32, D32S8])
def test_conversion_comes_before_the_comparison_so_that_a_redraw_is_equal(format: str) -> None:
    board = canvas(format, ALWAYS)
    depths = [0.1 + i / 37 for i in range(16)]
    board.early(depths)
    board.begin(cc=ALWAYS | {"depth_test_function": "EQUAL"})
    assert board.early(depths) == 0xFFFF


def test_depth_is_clamped_to_the_viewport_of_the_pixel() -> None:
    board = Canvas(zbuffer=D32)
    board.begin(cc=ALWAYS, viewports=[(0.0, 1.0), (0.25, 0.5)])
    board.early(2.0)
    assert board.depth_raw(0, 0) == bits(1.0)
    board.early(0.1, viewport=1)
    assert board.depth_raw(0, 0) == bits(0.25)
    board.early(0.7, viewport=1)
    assert board.depth_raw(0, 0) == bits(0.5)
    board.early(float("nan"), viewport=1)
    assert board.depth_raw(0, 0) == bits(0.25)


# --- comparison ---

@pytest.mark.parametrize(("function", "passing"), [
    ("ALWAYS", "<=>"), ("NEVER", ""), ("LESS", "<"), ("EQUAL", "="), ("LEQUAL", "<="), ("GREATER", ">"),
    ("NOTEQUAL", "<>"), ("GEQUAL", "=>")])
@pytest.mark.parametrize("format", [D24, D16, D32])
def test_every_depth_function_has_the_source_on_the_left(format: str, function: str, passing: str) -> None:
    board = canvas(format, ALWAYS)
    board.early(0.5)
    board.begin(cc={"depth_test_enable": True, "depth_test_function": function})
    depths = [(0.25, 0.5, 0.75)[i % 3] for i in range(16)]
    expected = sum(("<=>"[i % 3] in passing) << i for i in range(16))
    assert board.early(depths) == expected
    assert board.depth_raw(0, 0) == board.depth_raw(1, 0)  # no write enable, no write


def test_only_pixels_that_pass_change_the_buffer() -> None:
    board = canvas(D24, LESS, clear=0xAA800000)
    assert board.early([0.25 if i & 1 else 0.75 for i in range(16)]) == 0xAAAA
    assert [board.depth_raw(x, 0) for x in range(4)] == [0xAA800000, 0xAA400000] * 2


def test_depth_is_written_when_its_test_is_off() -> None:
    board = canvas(D24, {"depth_buffer_write_enable": True})
    assert board.early(0.5, lit=0x0F0F) == 0x0F0F
    assert [board.depth_raw(x, 0) for x in (0, 2, 4, 6)] == [0x800000, 0, 0x800000, 0]


def test_reserved_x8_format_works_and_is_reported() -> None:
    board = canvas("D24_UNORM_X8_UINT", ALWAYS | STENCIL | {"stencil_pass_depth_pass_op": "INVERT"}, clear=0x12000000)
    board.early(0.5)
    assert board.depth_raw(0, 0) == 0x12800000
    assert board.probe.event(Event.BAD_FORMAT).count == 1
    assert board.probe.event(Event.BAD_STATE).count == 1  # the stencil test that it cannot do


# --- stencil ---

def test_stencil_operations_of_a_quad() -> None:
    """The reference is on the left, the write mask keeps the low half."""
    board = canvas(D24, STENCIL | {
        "stencil_test_function": "LESS", "stencil_reference_value": 0x0F, "stencil_write_mask": 0xF0,
        "stencil_pass_depth_pass_op": "INVERT"}, clear=0x5A123456)
    assert board.early(0.5) == 0xFFFF
    assert board.depth_raw(0, 0) == 0xAA123456


@pytest.mark.parametrize(("operation", "before", "after"), [
    ("KEEP", 0x5A, 0x5A), ("ZERO", 0x5A, 0), ("REPLACE", 0x5A, 0x77), ("INCRSAT", 0xFF, 0xFF), ("INCRSAT", 1, 2),
    ("DECRSAT", 0, 0), ("DECRSAT", 2, 1), ("INCR", 0xFF, 0), ("DECR", 0, 0xFF), ("INVERT", 0x0F, 0xF0)])
@pytest.mark.parametrize("format", [D24, D32S8])
def test_every_stencil_operation(format: str, operation: str, before: int, after: int) -> None:
    shift = 24 if format == D24 else 32
    other = 0x123456 if format == D24 else 0xABCDEF << 40 | 0x3E800000
    board = canvas(format, STENCIL | {"stencil_pass_depth_pass_op": operation, "stencil_reference_value": 0x77},
                   clear=before << shift | other)
    board.early(0.5)
    assert board.depth_raw(3, 1) == after << shift | other


def test_three_operations_for_the_three_outcomes() -> None:
    board = canvas(D24, LESS | STENCIL | {
        "stencil_test_function": "EQUAL", "stencil_reference_value": 1, "stencil_fail_op": "INVERT",
        "stencil_pass_depth_fail_op": "INCR", "stencil_pass_depth_pass_op": "ZERO"})
    assert board.depth_layout is not None
    pixels = struct.pack("<8I", *([0x01800000] * 4 + [0x02800000] * 4))
    board.depth_layout.write(board.memory, pixels, 0, 0, 32, 1)
    depths = [0.75 if i in (1, 5, 9, 13) else 0.25 for i in range(16)]
    assert board.early(depths) & 0x3333 == 0x0011  # the upper row
    assert [board.depth_raw(x, 0) for x in range(8)] == [
        0x00400000, 0x02800000, 0x00400000, 0x02800000] + [0xFD800000] * 4


def test_back_faces_have_their_own_set_only_when_it_is_double_sided() -> None:
    cc = STENCIL | {"stencil_pass_depth_pass_op": "INCR", "backface_stencil_test_function": "ALWAYS",
                    "backface_stencil_pass_depth_pass_op": "DECR", "backface_stencil_write_mask": 255}
    board = canvas(D24, cc, clear=0x10000000)
    board.early(0.5, back_facing=True)
    assert board.depth_raw(0, 0) >> 24 == 0x11
    board.begin(cc=cc | {"double_sided_stencil_enable": True})
    board.early(0.5, back_facing=True)
    board.early(0.5, x=8, back_facing=False)
    assert board.depth_raw(0, 0) >> 24 == 0x10
    assert board.depth_raw(8, 0) >> 24 == 0x11


def test_stencil_writes_do_not_need_the_depth_write_enable() -> None:
    board = canvas(D24, STENCIL | {"depth_test_enable": True, "depth_test_function": "NEVER",
                                   "stencil_pass_depth_fail_op": "REPLACE", "stencil_reference_value": 9})
    assert board.early(0.5) == 0
    assert board.depth_raw(0, 0) == 0x09000000


# --- where the pixels are ---

def test_linear_depth_buffer() -> None:
    board = canvas(D16, ALWAYS, depth_fields={"tiled_surface": False, "surface_pitch": 256})
    board.early(1.0, x=8, y=4)
    assert board.memory.read(DEPTH + 4 * 256 + 16, 2) == b"\xff\xff"
    assert board.memory.read(DEPTH + 4 * 256 + 14, 2) == b"\0\0"


def test_level_and_minimum_array_element_select_the_image() -> None:
    """Slices are al(H0) + al(H1) + 22 rows apart, level 1 is under level 0."""
    board = canvas(D24, ALWAYS, depth_fields={"lod": 1, "minimum_array_element": 1, "depth": 2})
    board.early(0.5)
    assert board.depth_raw(0, 0) == 0
    assert board.depth_raw(0, (32 + 16 + 22) + 32) == 0x800000
    board.early(0.25, array_index=1, lit=0x1)
    assert board.depth_raw(0, 2 * (32 + 16 + 22) - 70 + 32) == 0x800000


def test_array_index_out_of_range_becomes_the_minimum_element() -> None:
    board = canvas(D24, ALWAYS, depth_fields={"depth": 1})
    board.early(0.5, array_index=7)
    assert board.depth_raw(0, 0) == 0x800000


def test_pixels_outside_of_the_depth_buffer_pass_and_write_nothing() -> None:
    board = canvas(D24, ALWAYS | {"depth_test_function": "NEVER"}, depth_fields={"width": 3, "height": 1})
    # Of the 8x2 pixels the buffer has the first three of the upper row.
    assert board.early(0.5) == 0xFFFF & ~0b0000_0000_0001_0011
    board.begin(cc=ALWAYS)
    assert board.early(0.5) == 0xFFFF
    assert [board.depth_raw(x, y) for y in (0, 1) for x in range(5)] == [0x800000] * 3 + [0] * 7


def test_depth_coordinate_offset_of_later_parts_is_added() -> None:
    board = canvas(D24, ALWAYS, depth_fields={"depth_coordinate_offset_x": 8, "depth_coordinate_offset_y": 16})
    board.early(0.5)
    assert board.depth_raw(0, 0) == 0
    assert board.depth_raw(8, 16) == 0x800000


@pytest.mark.parametrize(("format", "kept"), [("R8G8B8A8_UNORM", 3), ("B5G6R5_UNORM", 7)])
def test_offset_disable_of_early_parts_keeps_the_low_bits(format: str, kept: int) -> None:
    board = Canvas(format, zbuffer=D24, gen=Gen.CL, depth_fields={"depth_buffer_coordinate_offset_disable": True})
    board.probe.state.drawing_rectangle[3] = 14 << 16 | 14  # origin
    board.begin(cc=ALWAYS)
    board.early(0.5, x=24, y=20)
    assert board.depth_raw(24 - (14 & ~kept), 20 - 12) == 0x800000
    assert board.depth_raw(24, 20) == 0


def test_destination_values_are_raw() -> None:
    board = canvas(D24, ALWAYS, clear=0x5A123456)
    depth, stencil = board.probe.destination([0, 2, 4, 6], [0] * 4, 0x00FF)
    assert depth == [0x123456] * 8 + [0] * 8
    assert stencil == [0x5A] * 8 + [0] * 8
    board = canvas(D32S8, ALWAYS, clear=0xFFFFFF7B_3F000000)
    depth, stencil = board.probe.destination([0, 2, 4, 6], [0] * 4)
    assert (depth[15], stencil[15]) == (0x3F000000, 0x7B)


# --- after the shader ---

def test_late_test_uses_the_messages_source_depth_and_masks_the_color() -> None:
    board = canvas(D24, LESS, clear=0x800000)
    board.late([0.25 if i & 1 else 0.75 for i in range(16)])
    assert [board.depth_raw(x, 0) for x in range(4)] == [0x800000, 0x400000] * 2
    assert board.target.row(0) == [0, 0xFFFFFFFF] * 4
    assert not board.probe.events()


def test_killed_pixels_change_nothing() -> None:
    board = canvas(D24, ALWAYS | STENCIL | {"stencil_pass_depth_pass_op": "INVERT"})
    board.late(0.5, pixels=0x0FFE, flags=SOURCE_DEPTH | DEST_STENCIL)
    assert [board.depth_raw(x, 0) for x in (0, 1, 6)] == [0, 0xFF800000, 0]
    assert [board.target.raw(x, 0) for x in (0, 1, 6)] == [0, 0xFFFFFFFF, 0]


def test_back_face_bit_of_the_header_selects_the_stencil_set() -> None:
    board = canvas(D24, STENCIL | {"double_sided_stencil_enable": True, "backface_stencil_test_function": "ALWAYS",
                                   "backface_stencil_pass_depth_pass_op": "INVERT",
                                   "backface_stencil_write_mask": 255})
    board.late(0.5, flags=SOURCE_DEPTH | DEST_STENCIL | BACK)
    assert board.depth_raw(0, 0) == 0xFF000000


def test_header_without_depth_flags_means_that_the_windower_has_tested() -> None:
    board = canvas(D24, ALWAYS | {"depth_test_function": "NEVER"})
    board.draw((1, 1, 1, 1))
    assert board.target.raw(0, 0) == 0xFFFFFFFF
    assert board.depth_raw(0, 0) == 0


def test_only_the_last_target_writes_depth_but_all_obey_it() -> None:
    board = Canvas(zbuffer=D24)
    second = board.add()
    board.clear_depth(0x800000)
    board.begin(cc=LESS | {"statistics_enable": True})
    depths = [0.25 if i & 1 else 0.75 for i in range(16)]
    board.late(depths, last=False)
    assert board.depth_raw(1, 0) == 0x800000
    assert board.probe.depth_count == 0
    board.late(depths, index=second.index)
    assert board.depth_raw(1, 0) == 0x400000
    assert board.target.row(0) == second.row(0) == [0, 0xFFFFFFFF] * 4
    assert board.probe.depth_count == 8


# --- counting ---

@pytest.mark.parametrize(("wm", "cc", "count"), [(True, False, 16), (False, True, 0)])
def test_windower_counts_what_it_tests(wm: bool, cc: bool, count: int) -> None:
    board = Canvas()
    board.begin(wm={"statistics_enable": wm}, cc={"statistics_enable": cc})
    assert board.early(0.5) == 0xFFFF
    board.draw((1, 1, 1, 1))
    assert board.probe.depth_count == count


def test_ps_depth_count_of_a_quad() -> None:
    """8x8 pixels, the left half fails, odd columns are discarded."""
    board = canvas(D24, LESS | {"statistics_enable": True}, clear=0x800000)
    for y in range(0, 8, 2):
        board.late([0.75 if i < 8 else 0.25 for i in range(16)], y=y, pixels=0x5555)
    assert board.probe.depth_count == 16


def test_null_depth_buffer_still_counts() -> None:
    board = Canvas()
    board.begin(cc={"statistics_enable": True} | LESS)
    board.late(0.5, pixels=0x0F0F, flags=SOURCE_DEPTH)
    assert board.probe.depth_count == 8


def test_computed_depth_without_a_buffer_is_reported() -> None:
    board = Canvas()
    board.begin(wm={"pixel_shader_computed_depth": True})
    assert board.probe.event(Event.NO_DEPTH_BUFFER).count == 1
