"""The message: which pixels, which registers, in which order (965 PRM vol. 4, 5.10.6)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gen4emu.device.tiling import Tiling
from gen4emu.hw.gen import Gen
from tests.harness.canvas import AA, DEST_DEPTH, DEST_STENCIL, SOURCE_DEPTH, Canvas
from tests.harness.probe import Event, Unit

ADD: dict[str, Any] = {"color_buffer_blend_enable": True, "source_blend_factor": "ONE",
                       "destination_blend_factor": "ONE"}


def slots() -> np.ndarray[Any, np.dtype[np.float32]]:
    """Sixteen colors: red is the slot, green 100 + slot."""
    colors = np.zeros((16, 4), np.float32)
    colors[:, 0] = np.arange(16) / 255
    colors[:, 1] = (100 + np.arange(16)) / 255
    colors[:, 3] = 1
    return colors


def reds(board: Canvas) -> list[list[int]]:
    return [[board.target.channels(x, y)[0] for x in range(8)] for y in range(2)]


def test_sixteen_slots_are_four_subspans_of_four_pixels() -> None:
    board = Canvas()
    board.begin()
    board.draw(slots())
    assert reds(board) == [[0, 1, 4, 5, 8, 9, 12, 13], [2, 3, 6, 7, 10, 11, 14, 15]]
    assert board.target.channels(7, 1) == [15, 115, 0, 255]


@pytest.mark.parametrize(("kind", "shown"), [(4, [0, 1, 4, 5]), (2, [0, 1, 4, 5])])
def test_simd8_messages_write_the_first_two_subspans(kind: int, shown: list[int]) -> None:
    board = Canvas()
    board.begin()
    board.probe.header()
    board.probe.color8(slots())
    board.probe.write(kind, index=board.target.index)
    assert reds(board)[0] == shown + [0] * 4
    assert not board.probe.events()


def test_dual_source_of_the_upper_subspans_uses_their_coordinates_and_mask() -> None:
    board = Canvas()
    board.begin(cc={"color_buffer_blend_enable": True, "source_blend_factor": "SRC1_ALPHA",
                    "destination_blend_factor": "SRC1_COLOR"})
    board.target.clear(0xFF0000FF)
    board.probe.header(pixels=0xF0FF)
    board.probe.color8(np.tile(np.array([0.5, 1, 0, 1], np.float32), (16, 1)))
    board.probe.color8(np.tile(np.array([0.25, 0, 0, 0.5], np.float32), (16, 1)), first=6)
    board.probe.write(3, index=board.target.index)
    # 0.5 * 0.5 + 1.0 * 0.25 in red
    assert reds(board) == [[255] * 6 + [128] * 2] * 2
    assert not board.probe.events()


def test_dual_source_on_early_parts_is_reported() -> None:
    board = Canvas(gen=Gen.CL)
    board.begin()
    board.probe.header()
    board.probe.write(2, index=board.target.index)
    assert board.probe.event(Event.BAD_MESSAGE).count == 1


def test_replicated_color_goes_to_all_sixteen_slots() -> None:
    board = Canvas()
    board.begin()
    board.probe.header(pixels=0x7FFF)
    board.probe.mrf(2).view(np.float32)[:4] = (1, 0.5, 0, 1)
    board.probe.write(1, index=board.target.index)
    assert board.target.channels(0, 0) == [255, 128, 0, 255]
    assert board.target.channels(6, 1) == [255, 128, 0, 255]
    assert board.target.channels(7, 1) == [0, 0, 0, 0]
    assert not board.probe.events()


def test_execution_mask_is_ignored() -> None:
    board = Canvas()
    board.begin()
    board.message((1, 1, 1, 1))
    board.probe.send(5 << 24 | 10 << 20 | 4 << 12 | 1 << 11 | board.target.index, exec_size=16, emask=0)
    assert reds(board) == [[255] * 8] * 2


@pytest.mark.parametrize("flags", range(16))
def test_every_combination_of_flags_finds_the_color(flags: int) -> None:
    board = Canvas()
    board.begin()
    extra = 1 if flags & (AA | DEST_STENCIL) else 0
    length = 10 + extra + (2 if flags & SOURCE_DEPTH else 0) + (2 if flags & DEST_DEPTH else 0)
    board.message(slots(), flags=flags, first=2 + extra)
    if extra:
        board.probe.mrf(2)[:] = 0xFFFFFFFF
    board.probe.write(index=board.target.index, length=length)
    assert board.target.channels(7, 1) == [15, 115, 0, 255]
    assert not board.probe.events()


def test_length_that_contradicts_the_flags_is_reported_and_the_flags_count() -> None:
    board = Canvas()
    board.begin()
    board.draw(slots(), length=12)
    assert board.target.channels(7, 1) == [15, 115, 0, 255]
    assert board.probe.event(Event.RT_FLAGS).count == 1


def test_threads_commit_in_order() -> None:
    board = Canvas()
    board.begin(8)
    for t in range(8):
        board.message((t / 255, 0, 0, 1), 0, 0, thread=t, pixels=0xFFFF >> 2 * t)
    board.probe.write(index=board.target.index)
    # slot s is last written by the last thread whose mask has it
    expected = [min(7, (15 - s) // 2) for s in range(16)]
    assert reds(board) == [[expected[s] for s in (0, 1, 4, 5, 8, 9, 12, 13)],
                           [expected[s] for s in (2, 3, 6, 7, 10, 11, 14, 15)]]


def test_blending_threads_see_what_the_threads_before_them_wrote() -> None:
    board = Canvas()
    board.begin(8, cc=ADD)
    for t in range(8):
        board.message((1 / 255, 0, 0, 0), 0, 0, thread=t)
    board.probe.write(index=board.target.index)
    assert reds(board) == [[8] * 8] * 2


@pytest.mark.parametrize("shift", [0, 1])
def test_subspans_of_one_thread_that_share_pixels_are_done_one_after_the_other(shift: int) -> None:
    board = Canvas()
    board.begin(cc=ADD)
    board.message((1 / 255, 0, 0, 0))
    board.probe.header(x=[4, 4 + shift, 10, 12], y=[2, 2 + shift, 6, 6])
    board.probe.write(index=board.target.index)
    assert board.target.channels(4 + shift, 2 + shift)[0] == 2
    assert board.target.channels(5 + shift, 3 + shift)[0] == (2 if shift == 0 else 1)


def test_subspans_at_odd_coordinates_are_written_where_they_say() -> None:
    board = Canvas()
    board.begin()
    board.probe.header(x=[1, 5, 9, 13], y=[1, 3, 5, 7])
    board.probe.color16(slots())
    board.probe.write(index=board.target.index)
    assert [board.target.channels(x, y)[0] for x, y in ((1, 1), (2, 1), (1, 2), (2, 2))] == [0, 1, 2, 3]
    assert [board.target.channels(x, y)[0] for x, y in ((13, 7), (14, 7), (13, 8), (14, 8))] == [12, 13, 14, 15]


def test_targets_have_blending_and_masks_of_their_own() -> None:
    board = Canvas(color_blend_enable=False, color_write_disable_red=True, color_write_disable_green=True,
                   color_write_disable_blue=True)
    second = board.add("B8G8R8A8_UNORM")
    for target in (board.target, second):
        target.clear(0x10101010)
    board.begin(cc=ADD)
    board.draw((1 / 15, 1 / 15, 1 / 15, 1 / 15), last=False)
    board.draw((1 / 15, 1 / 15, 1 / 15, 1 / 15), index=second.index)
    assert board.target.channels(0, 0) == [0x10, 0x10, 0x10, 0x11]
    assert second.channels(0, 0) == [0x21] * 4


def test_alpha_test_is_per_target_and_depth_follows_any_of_them() -> None:
    """Depth changes where the alpha test of any target passed."""
    board = Canvas(zbuffer="D24_UNORM_S8_UINT")
    second = board.add()
    board.begin(cc={"alpha_test_enable": True, "alpha_test_format": "FLOAT32", "alpha_test_function": "GREATER",
                    "alpha_reference_value_as_float32": 0.5, "depth_buffer_write_enable": True,
                    "statistics_enable": True})
    left, right = np.ones((16, 4), np.float32), np.ones((16, 4), np.float32)
    left[8:, 3] = 0
    right[:12, 3] = 0
    depth = [np.full(8, 0.5, np.float32)] * 2
    more = {"flags": SOURCE_DEPTH, "payload": depth, "length": 12}
    board.draw(left, last=False, **more)
    board.draw(right, index=second.index, **more)
    assert reds(board)[0] == [255] * 4 + [0] * 4
    assert [second.channels(x, 0)[0] for x in range(8)] == [0] * 6 + [255] * 2
    assert [board.depth_raw(x, 0) for x in range(8)] == [0x800000] * 4 + [0] * 2 + [0x800000] * 2
    assert board.probe.depth_count == 12
    board.draw(right, y=4, index=second.index, **more)  # what the thread before passed is forgotten
    assert [board.depth_raw(x, 4) for x in range(8)] == [0] * 6 + [0x800000] * 2


@pytest.mark.parametrize("descriptor", [5 << 24 | 10 << 20 | 4 << 12 | 0xFF, 5 << 24 | 10 << 20 | 4 << 12 | 5 << 8,
                                        5 << 24 | 2 << 20 | 4 << 12])
def test_messages_that_do_not_exist_are_reported(descriptor: int) -> None:
    board = Canvas()
    board.begin()
    board.message((1, 1, 1, 1))
    board.probe.send(descriptor, exec_size=16, emask=0xFFFF)
    assert board.probe.event(Event.BAD_MESSAGE).count == 1
    assert board.target.image().max() == 0


def test_threads_of_other_units_have_no_render_target() -> None:
    board = Canvas()
    board.begin()
    board.probe.start(1, unit=Unit.VS, binding_table=0x1000)
    board.message((1, 1, 1, 1))
    board.probe.write(index=board.target.index)
    assert board.probe.event(Event.BAD_MESSAGE).count == 1


def test_replicated_message_has_no_room_for_flags() -> None:
    board = Canvas(tiling=Tiling.X)
    board.begin()
    board.probe.header(flags=SOURCE_DEPTH)
    board.probe.mrf(2).view(np.float32)[:4] = (1, 1, 1, 1)
    board.probe.write(1, index=board.target.index)
    assert board.target.raw(0, 0) == 0xFFFFFFFF
    assert board.probe.event(Event.RT_FLAGS).count == 1
