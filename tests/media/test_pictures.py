"""Whole pictures: the VA driver's kernels on the emulated device equal their closed form in every sample."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gen4emu._native import lib
from gen4emu.device.options import Options
from gen4emu.device.replay import Replay
from gen4emu.image.picture import read_channels
from gen4emu.image.yuv import read_planes, to_rgb
from gen4emu.trace.reader import open as open_trace

from .va_capture import decode

TRACES = Path(__file__).parents[2] / "traces"
CAPTURES = ["mpeg2", "interlaced"]


@pytest.mark.parametrize("name", CAPTURES)
def test_every_picture_equals_the_model(name: str) -> None:
    pictures = list(decode(TRACES / f"{name}-g4x.aub.xz"))
    assert [p.coding_type for p in pictures] == [1, 2, 3, 3, 2]
    for picture in pictures:
        assert len(picture.threads) == 48
        assert picture.differences == [0, 0, 0]
        assert picture.complaints == []


def planes(name: str, **options: object) -> list[bytes]:
    run = Replay(open_trace(str(TRACES / f"{name}-g4x.aub.xz")), None, Options(**options))
    found = []
    try:
        for frame in run.frames():
            (target,) = frame.targets
            assert (target.kind, target.width, target.height, len(target.chroma)) == ("media", 128, 96, 2)
            assert run.device is not None
            found.append(b"".join(p.tobytes() for p in read_planes(run.device.memory, target)))
    finally:
        run.close()
    return found


@pytest.mark.parametrize("name", CAPTURES)
def test_pictures_do_not_depend_on_workers_or_variants(name: str) -> None:
    expected = planes(name, workers=1)
    assert len(set(expected)) == 5
    assert planes(name, workers=4) == expected
    assert planes(name, workers=1, general_only=True) == expected
    before = lib.g4_variant_current()
    try:
        assert lib.g4_set_variant(lib.G4_VARIANT_PLAIN) == lib.G4_OK
        assert planes(name, workers=1) == expected
    finally:
        lib.g4_set_variant(before)


def test_a_replay_shows_decoded_pictures_in_color() -> None:
    run = Replay(open_trace(str(TRACES / "mpeg2-g4x.aub.xz")), None, Options(workers=1))
    frame = next(run.frames())
    assert run.device is not None
    channels = read_channels(run.device.memory, frame.targets[0])
    assert list(channels) == ["R", "G", "B"]
    assert channels["R"].shape == (96, 128)
    # testsrc2 has a red bar at the left
    assert channels["R"][90, 4] > 200
    assert channels["G"][90, 4] < 60
    run.close()


def test_colors_are_bt_601_with_limited_range() -> None:
    luma = np.array([[16, 235, 81, 145, 41, 41]], np.uint8)
    cb = np.array([[128, 90, 240]], np.uint8)
    cr = np.array([[128, 240, 110]], np.uint8)
    rgb = to_rgb(luma, cb, cr)
    pixels = list(zip(*(rgb[c][0].tolist() for c in "RGB"), strict=True))
    assert pixels[:3] == [(0, 0, 0), (255, 255, 255), (255, 0, 0)]
    assert pixels[4] == (0, 0, 255)
