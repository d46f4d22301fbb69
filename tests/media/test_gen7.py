"""The media pipeline of Gen7: payloads, R0, media blocks, the walker (IVB PRM vol. 2 part 2)."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from gen4emu.device.media import MediaPayload
from tests.harness.media_gen7 import (
    END,
    KERNELS,
    PICTURES,
    SCRATCH,
    TABLE,
    MediaGen7,
    block_header,
    read_block,
    write_block,
)

PARTS = ("ivb", "byt", "hsw")
WORDS = tuple(range(0x100, 0x109))
BYTES = bytes(range(256)) * 3


def started(**options: Any) -> MediaGen7:
    media = MediaGen7(**options)
    media.select()
    return media


def as_bytes(rows: tuple[tuple[int, ...], ...]) -> bytes:
    return b"".join(struct.pack("<8I", *row) for row in rows)


def only(media: MediaGen7) -> MediaPayload:
    (thread,) = media.run()
    assert media.complaints() == []
    return thread


@pytest.mark.parametrize("part", PARTS)
def test_inline_and_indirect_data_follow_the_constants(part: str) -> None:
    media = MediaGen7(part, constants=bytes(range(96)))
    media.kernel(3, END, constant_urb_entry_read_length=2)
    media.select()
    media.object(WORDS, BYTES, interface_descriptor_offset=3)
    thread = only(media)
    assert thread.first == 3
    assert as_bytes(thread.constants) == bytes(range(64))
    assert thread.data[:2] == (WORDS[:8], (WORDS[8], 0, 0, 0, 0, 0, 0, 0))
    assert as_bytes(thread.data[2:]) == BYTES


def test_the_header_of_a_root_thread() -> None:
    media = MediaGen7(scratch_space_base_pointer=SCRATCH, per_thread_scratch_space=3 * 1024,
                      urb_entry_allocation_size=4)
    media.kernel(5, END, sampler_state_pointer=0x7000)
    media.select()
    for place in ((3, 4), (5, 6)):
        media.object(WORDS[:1], interface_descriptor_offset=5, scoreboard_x=place[0], scoreboard_y=place[1],
                     scoreboard_color=9)
    first, second = media.run()
    assert first.header == (0, 4 << 16 | 3, 5 << 4 | 9, 0x7000 | 2, TABLE, SCRATCH, 0, 0)
    assert second.header == (4, 6 << 16 | 5, 5 << 4 | 9, 0x7000 | 2, TABLE, SCRATCH + 3 * 1024 | 1, 1, 0)
    assert first.kernel == KERNELS + 5 * 0x2000


def test_haswell_has_scratch_space_of_powers_of_two() -> None:
    media = MediaGen7("hsw", scratch_space_base_pointer=SCRATCH, per_thread_scratch_space=2)
    media.select()
    media.object(WORDS[:1])
    media.object(WORDS[:1])
    first, second = media.run()
    assert (first.header[3], first.header[5], second.header[5]) == (2, SCRATCH, SCRATCH + 8192 | 1)


def test_threads_keep_the_state_with_which_they_started() -> None:
    media = MediaGen7(constants=bytes([1]) * 32)
    media.kernel(0, END, constant_urb_entry_read_length=1)
    media.select()
    media.object(WORDS[:1])
    media.execute()
    media.constants = bytes([2]) * 32
    media.object(WORDS[:1])
    media.load()
    media.object(WORDS[:1])
    assert [t.constants[0][0] for t in media.run()] == [0x01010101, 0x02020202]


def test_a_descriptor_that_was_not_loaded_has_no_kernel() -> None:
    media = started()
    media.object(WORDS[:1], interface_descriptor_offset=7)
    assert media.run()[0].kernel == KERNELS  # its kernel pointer is 0


def test_media_blocks_are_read_and_written() -> None:
    width, height, pitch = 64, 32, 128
    media = MediaGen7()
    media.kernel(0, block_header(20, "g1<0,1,0>UD", "g1.1<0,1,0>UD", 16, 4) + read_block(0, 20, 21, 2)
                 + write_block(1, 20, 2) + END)
    media.select()
    source = bytes((7 * i + i // pitch) & 0xFF for i in range(pitch * height))
    media.memory.write(PICTURES, source)
    media.surface(0, PICTURES, width, height, pitch)
    media.surface(1, PICTURES + 0x10000, width, height, pitch)
    for y in range(0, height, 4):
        for x in range(0, width, 16):
            media.object((x, y))
    media.run()
    assert media.complaints() == []
    assert media.rows(PICTURES + 0x10000, width, height, pitch) == media.rows(PICTURES, width, height, pitch)
    (picture,) = media.device.targets.latest
    assert (picture.kind, picture.address, picture.width, picture.height) == (
        "media", PICTURES + 0x10000, width, height)


def test_media_blocks_of_a_field_skip_lines() -> None:
    """The control overrides the vertical line stride: a bit for that, one for the stride, one for the offset."""
    media = MediaGen7()
    bottom = read_block(0, 20, 21, 1, cache="render", message_control=0b111)
    media.kernel(0, block_header(20, "0UD", "1UD", 8, 4) + bottom + write_block(1, 20, 1) + END)
    media.select()
    media.memory.write(PICTURES, bytes(i // 32 for i in range(32 * 16)))
    media.surface(0, PICTURES, 32, 16, 32)
    media.surface(1, PICTURES + 0x1000, 32, 16, 32)
    media.object((0,))
    media.run()
    assert media.complaints() == []
    assert [row[0] for row in media.rows(PICTURES + 0x1000, 1, 5, 32)] == [0, 3, 5, 7, 9]


# --- the walker -------------------------------------------------------------------------------------------------------
def places(media: MediaGen7, **walk: Any) -> list[tuple[int, int]]:
    media.object(WORDS[:1], name="MEDIA_OBJECT_WALKER", **walk)
    threads = media.run()
    assert media.complaints() == []
    assert all(t.data[0][0] == WORDS[0] for t in threads)
    return [(t.header[1] & 0x1FF, t.header[1] >> 16) for t in threads]


def raster(width: int, height: int) -> dict[str, Any]:
    """The walk of a whole picture, line by line."""
    return {
        "global_loop_exec_count": 0x3FF, "local_loop_exec_count": 0x3FF, "block_resolution_x": width,
        "block_resolution_y": height, "global_resolution_x": width, "global_resolution_y": height,
        "local_outer_loop_stride_y": 1, "local_inner_loop_unit_x": 1, "global_outer_loop_stride_x": width,
        "global_inner_loop_unit_y": height}


def test_the_walker_visits_every_position_line_by_line() -> None:
    assert places(started(), **raster(5, 3)) == [(x, y) for y in range(3) for x in range(5)]


def test_the_walker_goes_from_block_to_block() -> None:
    walk = raster(5, 4) | {"block_resolution_x": 2, "block_resolution_y": 2, "global_outer_loop_stride_x": 2,
                           "global_inner_loop_unit_y": 2}
    visited = places(started(), **walk)
    assert visited[:8] == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2), (0, 3), (1, 3)]
    assert sorted(visited) == [(x, y) for x in range(5) for y in range(4)]  # and not beyond the picture


def test_the_walker_goes_along_diagonals() -> None:
    """26 degrees, as encoders do: the outer loop goes past the right edge."""
    walk = raster(4, 3) | {"local_outer_loop_stride_x": 1, "local_outer_loop_stride_y": 0,
                           "local_inner_loop_unit_x": -2, "local_inner_loop_unit_y": 1, "local_loop_exec_count": 7}
    assert places(started(), **walk) == [
        (0, 0), (1, 0), (2, 0), (0, 1), (3, 0), (1, 1), (2, 1), (0, 2), (3, 1), (1, 2), (2, 2), (3, 2)]


def test_colors_start_several_threads_for_a_position() -> None:
    media = started()
    media.object(WORDS[:1], name="MEDIA_OBJECT_WALKER", **raster(2, 1), color_count_minus_one=2)
    assert [(t.header[1], t.header[2] & 15) for t in media.run()] == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]


def test_an_endless_walk_is_reported() -> None:
    media = started()
    walk = raster(512 - 1, 512 - 1) | {"local_start_x": 511, "middle_loop_extra_steps": 31,
                                       "global_outer_loop_stride_x": 1, "global_inner_loop_unit_y": 1}
    media.object(WORDS[:1], name="MEDIA_OBJECT_WALKER", **walk)
    assert media.run() == []
    assert any("reserved value" in c for c in media.complaints())


def test_an_object_of_a_scoreboard_waits_for_those_before_it() -> None:
    """The second thread reads what the first has written."""
    media = MediaGen7()
    fill = "mov(8) g21<1>UD 0x12345678UD { align1 nomask };\n"
    media.kernel(1, block_header(20, "0UD", "0UD", 32, 1) + fill + write_block(0, 20, 1) + END)
    media.kernel(2, block_header(20, "0UD", "0UD", 32, 1) + read_block(0, 20, 21, 1) + write_block(1, 20, 1) + END)
    media.select()
    media.surface(0, PICTURES, 64, 16, 64)
    media.surface(1, PICTURES + 0x1000, 64, 16, 64)
    media.memory.write(PICTURES, bytes(64))
    media.object((1,), interface_descriptor_offset=1)
    media.object((1,), interface_descriptor_offset=2, use_scoreboard=True, scoreboard_mask=1)
    media.run()
    assert media.complaints() == []
    assert media.rows(PICTURES + 0x1000, 4, 1, 64) == [[0x78, 0x56, 0x34, 0x12]]
