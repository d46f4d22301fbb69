"""MPEG-2 of random syntax through VLD mode and the VA driver's kernels.

What VFE tells threads equals what the writer of the stream knows; pictures equal the closed form of the kernels in
every sample; and the streams are what we say they are, because ffmpeg makes the same of them as a model of the standard
does.
"""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from gen4emu.hw.gen4.media_inline import PictureCodingType
from gen4emu.hw.mpeg2 import TABLES

from . import iso_model
from .ffmpeg import software
from .mpeg2_random import DUAL, WITH_B, Stream, random_stream, steps
from .mpeg2_stream import (
    B_PICTURE,
    BOTTOM,
    DUAL_PRIME,
    FIELD_MOTION,
    FRAME,
    FRAME_MOTION,
    P_PICTURE,
    SIXTEEN_BY_EIGHT,
    TOP,
)
from .va_player import Player

# No predicted bottom fields: below the surface they read lines that their own picture writes, in an order that is open.
BELOW = steps("I0t P2 B1 I3b")
STREAMS = {"b": WITH_B, "dual-prime": DUAL}
SIZES = ((48, 32), (96, 64), (736, 64))
BOTH = pytest.mark.parametrize("kind", STREAMS)
ALL_SIZES = pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")


@cache
def made(kind: str, size: tuple[int, int]) -> Stream:
    return random_stream(f"{kind}-{size}-0", *size, STREAMS[kind])


@ALL_SIZES
@BOTH
def test_threads_and_pictures_of_random_syntax(kind: str, size: tuple[int, int]) -> None:
    for result in Player(*size).play(made(kind, size)):
        assert result.wrong_threads == []
        assert result.differences == [0, 0, 0]
        assert result.complaints == []


@pytest.mark.client
@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
@ALL_SIZES
@BOTH
def test_the_streams_say_to_ffmpeg_what_they_say_to_us(kind: str, size: tuple[int, int], tmp_path: Path) -> None:
    expected = iso_model.decode(made(kind, size), *size)
    decoded = software(made(kind, size).data, size, tmp_path)
    assert len(decoded) == len(expected)
    for planes, frame in zip(expected, decoded, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(planes, frame, strict=True))


def test_every_word_of_every_code_is_used() -> None:
    used = set().union(*(made(kind, size).used for kind in STREAMS for size in SIZES))
    words = {(name, code.value) for name, codes in TABLES.items() for code in codes}
    assert words - used == {("coded_block_pattern", 0)}  # for other chroma formats


def test_every_kind_of_macroblock_is_used() -> None:
    """Structure, coding type, directions or intra, motion type, transform."""
    used = {(m.structure, m.bit(2, 18, 2), m.bit(0, 16, 3), m.motion_type, m.bit(0, 21))
            for kind in STREAMS for size in SIZES for coded in made(kind, size).pictures for m in coded.macroblocks}
    intra, forward, directions = 1, 2, (2, 4, 6)
    wanted = {(FRAME, t, intra, 0, dct) for t in PictureCodingType for dct in (0, 1)}
    wanted |= {(FRAME, B_PICTURE, d, m, dct)
               for d in directions for m in (FIELD_MOTION, FRAME_MOTION) for dct in (0, 1)}
    wanted |= {(FRAME, P_PICTURE, forward, m, dct) for m in (FIELD_MOTION, FRAME_MOTION, DUAL_PRIME) for dct in (0, 1)}
    for structure in (TOP, BOTTOM):
        wanted |= {(structure, t, intra, 0, 0) for t in PictureCodingType}
        wanted |= {(structure, B_PICTURE, d, m, 0) for d in directions for m in (FIELD_MOTION, SIXTEEN_BY_EIGHT)}
        wanted |= {(structure, P_PICTURE, forward, m, 0) for m in (FIELD_MOTION, SIXTEEN_BY_EIGHT, DUAL_PRIME)}
    assert used == wanted


def test_every_setting_of_a_picture_is_used() -> None:
    pictures = [coded.picture for kind in STREAMS for size in SIZES for coded in made(kind, size).pictures]
    for name in ("concealment", "nonlinear", "intra_vlc", "alternate"):
        found = {(p.coding_type, getattr(p, name)) for p in pictures}
        assert found == {(t, v) for t in PictureCodingType for v in (0, 1)}
    assert {p.intra_dc_precision for p in pictures} == {0, 1, 2, 3}
    assert {(p.structure, p.top_field_first) for p in pictures} == {(FRAME, 0), (FRAME, 1), (TOP, 0), (BOTTOM, 0)}
    assert {p.frame_pred_frame_dct for p in pictures} == {False, True}
    slices = [(c.picture, column) for kind in STREAMS for size in SIZES for c in made(kind, size).pictures
              for column, *_ in c.slices]
    assert len({column for _, column in slices}) > 20


@pytest.mark.parametrize("rows", [220, 228, 244, 252])
def test_what_lies_below_a_surface_is_dropped_or_spills(rows: int) -> None:
    """Heights between multiples of 16: field pictures run into the chroma planes and what follows."""
    stream = random_stream(f"below-{rows}", 96, 256, BELOW)
    for result in Player(96, rows).play(stream):
        assert result.wrong_threads == []
        assert np.array_equal(result.decoded[0].memory, result.expected[0].memory)  # all that is in the buffer, too
        assert result.complaints == []
