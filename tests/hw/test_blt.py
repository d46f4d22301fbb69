"""The 2D commands: every header, the words that clients write, and signed coordinates and pitches."""

from __future__ import annotations

import pytest

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import blt
from gen4emu.hw.gen4.blt import ColorDepth, CopyDirection, TextPacking

HEADERS = {
    "XY_SETUP_BLT": 0x40400006, "XY_SETUP_CLIP_BLT": 0x40C00001, "XY_SETUP_MONO_PATTERN_SL_BLT": 0x44400007,
    "XY_PIXEL_BLT": 0x49000000, "XY_SCANLINES_BLT": 0x49400001, "XY_TEXT_BLT": 0x49800002, "COLOR_BLT": 0x50000003,
    "SRC_COPY_BLT": 0x50C00004, "XY_COLOR_BLT": 0x54000004, "XY_PAT_BLT": 0x54400004, "XY_MONO_PAT_BLT": 0x54800007,
    "XY_SRC_COPY_BLT": 0x54C00006, "XY_MONO_SRC_COPY_BLT": 0x55000006, "XY_FULL_BLT": 0x55400007,
    "XY_FULL_MONO_SRC_BLT": 0x55800007, "XY_FULL_MONO_PATTERN_BLT": 0x55C0000A,
    "XY_FULL_MONO_PATTERN_MONO_SRC_BLT": 0x5600000A, "XY_MONO_PAT_FIXED_BLT": 0x56400005,
    "XY_SRC_COPY_CHROMA_BLT": 0x5CC00008, "XY_PAT_CHROMA_BLT": 0x5D800006,
}
# With n data dwords: the header for n = 0.
IMMEDIATE_HEADERS = {
    "XY_TEXT_IMMEDIATE_BLT": (0x4C400000, 3), "XY_MONO_SRC_COPY_IMMEDIATE_BLT": (0x5C400000, 7),
    "XY_PAT_BLT_IMMEDIATE": (0x5C800000, 5), "XY_FULL_IMMEDIATE_PATTERN_BLT": (0x5D000000, 8),
    "XY_FULL_MONO_SRC_IMMEDIATE_PATTERN_BLT": (0x5D400000, 8), "XY_PAT_CHROMA_BLT_IMMEDIATE": (0x5DC00000, 7),
}
BY_NAME = {c.name: c for c in blt.COMMANDS}


def test_every_command_of_the_table_is_here() -> None:
    assert set(BY_NAME) == HEADERS.keys() | IMMEDIATE_HEADERS.keys()


@pytest.mark.parametrize("name", HEADERS)
def test_headers(name: str) -> None:
    words = BY_NAME[name].pack(Gen.BW)
    assert words[0] == HEADERS[name]
    assert len(words) == (HEADERS[name] & 0xFF) + 2


@pytest.mark.parametrize("name", IMMEDIATE_HEADERS)
def test_headers_with_data(name: str) -> None:
    header, fixed = IMMEDIATE_HEADERS[name]
    words = BY_NAME[name].pack(Gen.BW, data=[{"value": 0x11}, {"value": 0x22}])
    assert words[0] == header | fixed
    assert words[fixed:] == [0x11, 0x22]


def test_headers_that_clients_write() -> None:
    mask = {"write_alpha": True, "write_rgb": True}
    assert blt.XY_SRC_COPY_BLT.pack(Gen.EL, **mask)[0] == 0x54F00006
    assert blt.XY_COLOR_BLT.pack(Gen.EL, write_alpha=True)[0] == 0x54200004
    assert blt.XY_SETUP_MONO_PATTERN_SL_BLT.pack(Gen.EL, **mask, destination_tiled=True)[0] == 0x44700807


def test_a_tiled_copy_as_crocus_writes_it() -> None:
    words = blt.XY_SRC_COPY_BLT.pack(
        Gen.EL, write_alpha=True, write_rgb=True, source_tiled=True, destination_tiled=True,
        color_depth=ColorDepth.BPP_32, raster_operation=0xCC, destination_pitch=512, destination_y1=1,
        destination_x1=2, destination_y2=17, destination_x2=34, destination_base_address=0x00200000, source_y1=3,
        source_x1=4, source_pitch=256, source_base_address=0x00300000)
    assert words == [0x54F08806, 0x03CC0200, 0x00010002, 0x00110022, 0x00200000, 0x00030004, 0x0100, 0x00300000]
    assert blt.XY_SRC_COPY_BLT.complaints(words, gen=Gen.EL) == []


def test_coordinates_and_pitches_are_signed() -> None:
    view = blt.XY_SRC_COPY_BLT.view([0x54C00006, 0x03CCFFC0, 0xFFFF8000, 0x7FFF0001, 0, 0xFFFE0000, 0xFF00, 0],
                                    gen=Gen.BW)
    assert view.destination_pitch == -64
    assert (view.destination_y1, view.destination_x1) == (-1, -32768)
    assert (view.destination_y2, view.destination_x2) == (32767, 1)
    assert (view.source_y1, view.source_pitch) == (-2, -256)


def test_text_as_the_x_server_writes_it() -> None:
    setup = blt.XY_SETUP_BLT.view([0x40700806, 0x63F00200, 0, 0x01000100, 0x1000, 0, 0xFFFFFFFF, 0], gen=Gen.CL)
    assert setup.clip_enable and setup.monochrome_source_transparency
    assert (setup.clip_y2, setup.clip_x2, setup.foreground_color) == (256, 256, 0xFFFFFFFF)
    text = blt.XY_TEXT_IMMEDIATE_BLT.view([0x4C410003, 0x00100010, 0x00120015, 0x000050A8, 0], gen=Gen.CL)
    assert text.text_packing is TextPacking.BYTE
    assert [d.value for d in text.data] == [0x000050A8, 0]


def test_a_span_carries_its_own_seeds_and_tiling() -> None:
    words = blt.XY_SCANLINES_BLT.pack(Gen.CL, pattern_horizontal_seed=5, pattern_vertical_seed=2,
                                      destination_tiled=True, destination_x2=9)
    assert words == [0x49400001 | 5 << 12 | 1 << 11 | 2 << 8, 0, 9]


def test_mono_source_start_and_fixed_pattern_share_no_bits_with_the_seeds() -> None:
    words = blt.XY_FULL_MONO_SRC_BLT.pack(Gen.CL, monochrome_source_start=7, pattern_horizontal_seed=1)
    assert words[0] == 0x55800007 | 7 << 17 | 1 << 12
    words = blt.XY_MONO_PAT_FIXED_BLT.pack(Gen.CL, fixed_pattern=blt.FixedPattern.WALKING_ZERO)
    assert words[0] == 0x56400005 | 11 << 15


def test_bit_30_is_a_direction_where_there_is_nothing_to_clip() -> None:
    assert blt.SRC_COPY_BLT.pack(Gen.CL, direction=CopyDirection.RIGHT_TO_LEFT)[1] == 0x40000000
    assert blt.XY_SRC_COPY_BLT.pack(Gen.CL, clip_enable=True)[1] == 0x40000000
    assert [c.dword for c in blt.COLOR_BLT.complaints([0x50000003, 0x40000000, 0, 0, 0], gen=Gen.CL)] == [1]


def test_a_solid_pattern_only_where_the_pattern_is_monochrome() -> None:
    solid = {c.name for c in blt.COMMANDS if "solid_pattern" in c.by_name(Gen.CL)}
    assert solid == {"XY_SETUP_MONO_PATTERN_SL_BLT", "XY_MONO_PAT_BLT", "XY_MONO_PAT_FIXED_BLT",
                     "XY_FULL_MONO_PATTERN_BLT", "XY_FULL_MONO_PATTERN_MONO_SRC_BLT"}


def test_no_command_has_the_two_reserved_bits_of_br13() -> None:
    for command in blt.COMMANDS:
        if "color_depth" in command.by_name(Gen.CL):
            words = command.pack(Gen.CL)
            words[1] |= 0x0C000000
            assert len(command.complaints(words, gen=Gen.CL)) == 1, command.name
