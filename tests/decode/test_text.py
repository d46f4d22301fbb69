"""The text layouts."""

from __future__ import annotations

from gen4emu.decode import AubinatorRenderer, LibdrmRenderer, TextRenderer
from gen4emu.decode.fieldtext import COLOR
from tests.harness.batch import BATCH, BatchDecoder, bases, commands, pixel_pipeline, surface, table, triangle

RECTANGLE = [0x79000002, 0x00000000, 0x00FF00FF, 0x00000000]


def text(renderer: TextRenderer, *batch: list[int], machine: BatchDecoder | None = None) -> str:
    return "".join(renderer.render(item) for item in (machine or BatchDecoder()).run(*batch))


def test_compact_layout_has_a_line_a_dword() -> None:
    assert text(TextRenderer(), RECTANGLE).split("\n") == [
        "",
        "batch at 0x00100000 (not reached from the ring)",
        "0x00100000  79000002  3DSTATE_DRAWING_RECTANGLE",
        "            00000000    clipped_drawing_rectangle_y_min=0, clipped_drawing_rectangle_x_min=0",
        "            00ff00ff    clipped_drawing_rectangle_y_max=255, clipped_drawing_rectangle_x_max=255",
        "            00000000    drawing_rectangle_origin_y=0, drawing_rectangle_origin_x=0",
        "0x00100010  05000000  MI_BATCH_BUFFER_END",
        "5 dwords",
        "",
        "",
    ]


def test_libdrm_layout() -> None:
    """`0x%08x:      0x%08x: name`, operands indented."""
    lines = text(LibdrmRenderer(), bases(BatchDecoder(), 0x1000), [0x02000000]).split("\n")
    assert lines[2] == "0x00100000:      0x61010004: STATE_BASE_ADDRESS"
    assert lines[3] == ("0x00100004:      0x00001001:    general_state_base_address=0x00001000, "
                        "general_state_base_address_modify_enable")
    assert lines[8] == "0x00100018:      0x02000000: MI_FLUSH"


def test_libdrm_layout_of_arrays_keeps_every_address() -> None:
    machine = BatchDecoder()
    setup = triangle(machine)[:2]
    lines = [line for line in text(LibdrmRenderer(), *setup, machine=machine).split("\n") if line.startswith("0x")]
    assert [int(line[:10], 16) for line in lines] == [BATCH + 4 * i for i in range(len(lines))]


def test_libdrm_layout_marks_where_the_gpu_stopped() -> None:
    machine = BatchDecoder()
    machine.batch(RECTANGLE)
    items = machine.submit(0x18800000, BATCH, acthd=BATCH)
    out = "".join(LibdrmRenderer().render(i) for i in items)
    assert "0x00100000: HEAD 0x79000002: 3DSTATE_DRAWING_RECTANGLE\n" in out


def test_aubinator_layout_has_a_line_a_field() -> None:
    out = text(AubinatorRenderer(), [0x680B0001])
    assert "0x00100000:  0x680b0001:  3DSTATE_VF_STATISTICS\n    Statistics Enable: true\n" in out


def test_headers_only() -> None:
    lines = text(TextRenderer(headers=True), RECTANGLE).split("\n")
    assert lines[2:4] == ["0x00100000  79000002  3DSTATE_DRAWING_RECTANGLE",
                          "0x00100010  05000000  MI_BATCH_BUFFER_END"]


def test_without_offsets_no_address_and_no_raw_dword_is_left() -> None:
    machine = BatchDecoder()
    pointers = pixel_pipeline(machine)
    machine.dwords(0x40, 0x80)
    surface(machine, 0x80)
    out = text(TextRenderer(offsets=False), RECTANGLE, pointers, table(machine), *triangle(machine), machine=machine)
    assert "79000002" not in out
    assert "0x00100000" not in out.split("\n", 2)[2]
    assert "    clipped_drawing_rectangle_y_max=255" in out


def test_colors_are_complete() -> None:
    machine = BatchDecoder()
    out = text(TextRenderer(COLOR), pixel_pipeline(machine), table(machine), *triangle(machine), machine=machine)
    assert out.count("\x1b[0m") == out.count("\x1b[") - out.count("\x1b[0m")


def test_diagnostics_and_the_guilty_command_are_marked() -> None:
    machine = BatchDecoder()
    machine.batch([0x79060000, 0x00100000])
    items = machine.submit(0x18800000, BATCH, acthd=BATCH)
    out = "".join(TextRenderer().render(i) for i in items)
    assert "==> the command streamer stopped here\n0x00100000  79060000  3DSTATE_POLY_STIPPLE_OFFSET\n" in out
    assert "\n    !! reserved-bits: 3DSTATE_POLY_STIPPLE_OFFSET: dword 1 bits 31:13: reserved bits are 0x80" in out


def test_state_is_indented_below_its_command() -> None:
    machine = BatchDecoder()
    pointers = pixel_pipeline(machine)
    out = text(TextRenderer(), pointers, pointers, machine=machine)
    assert "\n    0x00000300  WM_STATE\n        00002002    kernel_start_pointer=0x00002000, grf_register_count=16\n" \
        .replace("00002002", "00002000") in out
    assert "\n        0x00002000  KERNEL 2 (ps): 1 instructions, 16 bytes\n            0000  send(16) 1" in out
    assert "\n    0x00000300  WM_STATE as above\n" in out


def test_repeated_noops_are_counted() -> None:
    assert "0x00100000  00000000  MI_NOOP  x 7\n" in text(TextRenderer(), [0] * 7)


def test_unknown_commands_show_their_dwords() -> None:
    out = text(TextRenderer(), [0x7A7F0001, 0x11111111, 0x22222222], [0x02000000])
    assert "0x00100000  7a7f0001  UNKNOWN_GFXPIPE\n            11111111 22222222\n" in out


def test_shared_children_have_the_same_text_as_others() -> None:
    machine = BatchDecoder()
    pointers = pixel_pipeline(machine)
    items = machine.run(pointers, pointers, pointers, pointers)
    texts = [TextRenderer().command(c)[10:] for c in commands(items)[1:4]]
    assert texts[0] == texts[1] == texts[2]
