"""Counters and pixel maps of draws with several samples a pixel: each sample is a fragment."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gen4emu
from gen4emu.core_enums import CountedPixels as P
from gen4emu.device.counters import CountedDraw, Fragments
from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.options import Options
from gen4emu.device.pixel_maps import PixelMaps
from gen4emu.device.replay import Replay
from gen4emu.trace import open as open_trace
from tests.harness.counted_replays import TRACES, count_lines, sums

TRIANGLE = TRACES / "later" / "triangle-ivb.aub.xz"
LAST, SIZE = 4, 64
TARGET, TARGET_BYTES = 0x8000000, 1 << 18  # with room for all samples
ENCODED = {1: 0, 4: 2, 8: 3}  # as number_of_multisamples


@dataclass
class _Multisampled(Listener):
    """Gives the target of a trace several samples, all at the same place."""

    device: Device
    samples: int
    surface: int  # address of the target's state

    def draw_started(self, words: Any) -> None:
        memory, gen7 = self.device.memory, self.device.state.gen7
        if self.device.numbers.draw != LAST:
            return
        memory.write(TARGET, bytes(TARGET_BYTES))
        (dword,) = struct.unpack("<I", memory.read(self.surface + 16, 4))
        memory.write(self.surface + 4, struct.pack("<I", TARGET))
        memory.write(self.surface + 16, struct.pack("<I", dword & ~0x78 | ENCODED[self.samples] << 3))
        gen7.multisample[1] = ENCODED[self.samples] << 1
        gen7.multisample[2] = gen7.multisample[3] = 0x88888888
        gen7.sample_mask[1] = 0xFF


def counted(samples: int, path: Path = TRIANGLE, workers: int = 2) -> tuple[Fragments, PixelMaps, CountedDraw]:
    """The last draw of the trace."""
    with gen4emu.open(path) as trace:
        (state,) = trace.state(LAST).blocks("RENDER_SURFACE_STATE")
    draws: list[CountedDraw] = []

    def start(device: Device) -> None:
        count_lines(device)
        device.map_pixels()
        device.add_listener(_Multisampled(device, samples, state.address))

    def done(number: int) -> None:
        assert run.device is not None
        if number < LAST:
            run.device.clear_pixel_maps()

    run = Replay(open_trace(str(path)), None, Options(workers=workers), on_start=start, on_draw=done,
                 on_counters=draws.append)
    for _ in run.frames():
        pass
    assert run.device is not None
    maps = run.device.pixel_maps(SIZE, SIZE)
    run.close()
    return draws[-1].counters.fragments, maps, draws[-1]


@pytest.mark.parametrize("samples", [4, 8])
def test_samples_at_one_place_count_as_often_as_there_are_samples(samples: int) -> None:
    one, maps, _ = counted(1)
    many, sampled, draw = counted(samples)
    assert one.fragments > 1000
    for name in ("fragments", "shaded", "ended", "written"):
        assert getattr(many, name) == samples * getattr(one, name), name
    for kind in (P.COVERED, P.SHADED, P.ENDED, P.WRITTEN):
        assert np.array_equal(sampled.maps[kind], samples * maps.maps[kind]), kind
    assert draw.counters.written_bytes == samples * counted(1)[2].counters.written_bytes


@pytest.mark.parametrize("samples", [1, 4, 8])
def test_the_maps_add_up_to_the_counters_for_any_number_of_workers(samples: int) -> None:
    fragments, maps, _ = counted(samples, workers=1)
    assert maps.complete
    assert {kind: int(maps.maps[kind].sum(dtype=np.uint64)) for kind in sums(fragments)} == sums(fragments)
    others = counted(samples, workers=3)
    assert others[0] == fragments
    assert all(np.array_equal(maps.maps[kind], others[1].maps[kind]) for kind in P)
