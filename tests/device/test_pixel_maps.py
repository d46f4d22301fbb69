"""Counts for each pixel: their sums are the counters, in the places where objects are, for any number of workers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gen4emu._native import ffi, lib
from gen4emu.core_enums import CountedPixels as P
from gen4emu.device.counters import total
from gen4emu.device.device import Device
from gen4emu.device.options import Options
from gen4emu.device.replay import Replay
from gen4emu.hw.topology import PrimitiveTopology as T
from gen4emu.trace import open as open_trace
from tests.harness.counted_replays import CAPTURES, SQUARE, TRACES, count_lines, counted, sums
from tests.harness.scene import Scene, vertex

SIZE = 2048


def map_pixels(device: Device) -> None:
    count_lines(device)
    device.map_pixels()


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name.split(".")[0])
def test_the_maps_of_a_trace_add_up_to_its_counters(path: Path) -> None:
    found = []
    for workers in (1, 3):
        counters = []
        run = Replay(open_trace(str(path)), None, Options(workers=workers), on_start=map_pixels,
                     on_counters=lambda draw, to=counters: to.append(draw.counters))
        for _ in run.frames():
            pass
        assert run.device is not None
        maps = run.device.pixel_maps(SIZE, SIZE)
        assert maps.complete
        run.close()
        expected = sums(total(counters).fragments)
        assert {kind: int(maps.maps[kind].sum(dtype=np.uint64)) for kind in expected} == expected
        found.append(maps.maps)
    for kind in P:
        assert np.array_equal(found[0][kind], found[1][kind]), kind


def scene() -> Scene:
    made = Scene(options=Options(workers=2))
    map_pixels(made.device)
    return made


def test_the_pixels_of_a_rectangle_count_once_for_each_draw() -> None:
    made = scene()
    made.draw(SQUARE, T.RECTLIST)
    made.draw([vertex(4, 8), vertex(0, 8), vertex(0, 0)], T.RECTLIST)
    expected = np.zeros((40, 40), np.uint32)
    expected[:8, :8] += 1
    expected[:8, :4] += 1
    maps = made.device.pixel_maps(40, 40).maps
    for kind in (P.COVERED, P.SHADED, P.ENDED, P.WRITTEN):
        assert np.array_equal(maps[kind], expected), kind
    assert not maps[P.DEPTH_FAILED].any() and not maps[P.UNWRITTEN].any()
    once = int(maps[P.INSTRUCTIONS][0, 7])
    assert once > 0 and np.array_equal(maps[P.INSTRUCTIONS], once * expected)


def test_cleared_maps_are_zero_and_counting_goes_on() -> None:
    made = scene()
    made.draw(SQUARE, T.RECTLIST)
    made.device.clear_pixel_maps()
    assert not any(found.any() for found in made.device.pixel_maps(40, 40).maps.values())
    made.draw(SQUARE, T.RECTLIST)
    assert int(made.device.pixel_maps(40, 40).maps[P.WRITTEN].sum()) == 64


def test_maps_end_where_the_window_does() -> None:
    made = scene()
    made.draw(SQUARE, T.RECTLIST)
    maps = made.device.pixel_maps(5, 3).maps
    assert maps[P.WRITTEN].shape == (3, 5) and (maps[P.WRITTEN] == 1).all()


def test_counting_has_to_be_on_before_pixels_are() -> None:
    with pytest.raises(ValueError, match="counting is off"):
        Scene().device.map_pixels()


def test_without_maps_there_are_no_tiles() -> None:
    made = Scene()
    tiles, count = ffi.new("const struct g4_pixel_map_tile **"), ffi.new("uint32_t *")
    assert lib.g4_device_pixel_maps(made.device.native, tiles, count) and count[0] == 0


def test_pictures_are_the_same_with_maps() -> None:
    path = TRACES / "gears-g4x.aub.xz"
    expected = counted(path)[2]
    pictures = b""
    run = Replay(open_trace(str(path)), None, Options(), on_start=map_pixels)
    for frame in run.frames():
        for target in frame.targets:
            assert run.device is not None
            pictures += run.device.memory.read(target.address, target.pitch * target.height)
    run.close()
    assert pictures == expected
