"""Denoise and deinterlace on Ivy Bridge (docs/decisions.md 126 to 136): properties that any good filter has, and the
values that the decisions give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.harness.media_gen7 import DYNAMIC, MediaGen7
from tests.harness.media_sampling import (
    BLOCK,
    CURRENT,
    DEINTERLACING,
    PREVIOUS,
    STATES,
    STATISTICS,
    Bytes,
    Outcome,
    deinterlace,
    denoise,
    run,
    sampler_message,
)

DENOISING: dict[str, Any] = {
    "denoise_stad_threshold": 140, "temporal_difference_threshold": 16, "low_temporal_difference_threshold": 8,
    "denoise_moving_pixel_threshold": 16, "denoise_threshold_for_sum_of_complexity_measure": 255,
    "denoise_asd_threshold": 255,
}


def noise(seed: int, height: int = 32, width: int = 32, *, amplitude: int = 6, level: int = 100) -> Bytes:
    values = np.random.default_rng(seed).integers(-amplitude, amplitude + 1, (height, width))
    return np.asarray(level + values, np.uint8)


def texture(seed: int, height: int = 32, width: int = 32) -> Bytes:
    return np.random.default_rng(seed).integers(0, 256, (height, width), np.uint8)


def comb(height: int = 32, width: int = 64, *, at: int = 16, by: int = 8) -> tuple[Bytes, Bytes, Bytes]:
    """A bar that moves by `by` pixels a field: two frames of two fields each, and the frame that the third field is
    a part of."""
    def bar(field: int) -> Bytes:
        picture = np.full((height, width), 40, np.uint8)
        picture[:, at + by * field:at + by * field + 12] = 200
        return picture

    previous, current = bar(0), bar(2)
    previous[1::2], current[1::2] = bar(1)[1::2], bar(3)[1::2]
    return previous, current, bar(2)


# --- deinterlacing ----------------------------------------------------------------------------------------------------
def test_a_picture_that_stands_still_stays_as_it_is() -> None:
    """Its fields belong together, whatever its texture."""
    picture = texture(1)
    out = deinterlace(picture, picture)
    assert np.array_equal(out.previous, picture)
    assert np.array_equal(out.current, picture)
    assert (out.stmm == 0).all()


def test_the_motion_of_a_still_picture_fades() -> None:
    """Smaller values keep 125 / 256 of the one before."""
    picture = texture(2, 8, 16)
    values, stmm = [], 255
    for _ in range(4):
        stmm = int(deinterlace(picture, picture, stmm=stmm).stmm[0, 0])
        values.append(stmm)
    assert values == [125, 61, 30, 15]


@pytest.mark.parametrize("level", [0, 1, 128, 255])
def test_a_constant_stays_constant(level: int) -> None:
    before, after = np.full((16, 32), level, np.uint8), np.full((16, 32), level, np.uint8)
    for options in ({}, {"denoise": True}, {"dndi_first_frame": True}, {"mcdi_enable": True}):
        out = deinterlace(after, before, **options)
        assert {level} == set(out.previous.flat) == set(out.current.flat), options


def test_lines_of_the_shown_fields_are_copied() -> None:
    before, after = texture(3), texture(4)
    out = deinterlace(after, before)
    assert np.array_equal(out.previous[1::2], before[1::2])
    assert np.array_equal(out.current[0::2], after[0::2])
    out = deinterlace(after, before, dndi_top_first=False)
    assert np.array_equal(out.previous[0::2], before[0::2])
    assert np.array_equal(out.current[1::2], after[1::2])


def test_motion_does_not_comb() -> None:
    """Between lines of a moving bar there is the bar where it is now, not where it was or will be."""
    previous, current, shown = comb()
    out = deinterlace(current, previous, stmm=255)
    inner = slice(4, -4)
    assert np.abs(out.current[inner].astype(int) - shown[inner]).max() == 0
    woven = np.abs(current[inner].astype(int) - shown[inner])
    assert woven.max() == 160  # the frame itself combs


def test_a_still_part_keeps_its_lines_beside_a_moving_part() -> None:
    previous, current, _ = comb()
    still = texture(5, 32, 16)
    still[:, 8:] = 40
    for frame in (previous, current):
        frame[:, 48:] = np.where(np.arange(16) < 8, still, frame[:, 48:])
    previous[:, 40:48] = current[:, 40:48] = 40  # the bar ends before it
    out = deinterlace(current, previous, stmm=0)
    assert np.array_equal(out.current[4:-4, 50:55], current[4:-4, 50:55])


def test_edges_are_followed() -> None:
    """A moving diagonal edge has no steps: the missing pixels lie between their neighbours along the edge."""
    y, x = np.mgrid[0:32, 0:64]

    def edge(shift: int) -> Bytes:
        return np.where(x - y > shift, 60, 40).astype(np.uint8)

    shown = edge(12)
    previous, current = edge(2), shown.copy()
    current[1::2] = edge(30)[1::2]
    spatial = {"stmm": 255, "minimum_stmm": 0, "maximum_stmm": 1, "stmm_output_shift": 0}
    out = deinterlace(current, previous, **spatial)
    middle = (slice(6, -6), slice(16, 48))
    assert np.array_equal(out.current[middle], shown[middle])
    straight = deinterlace(current, previous, **spatial, sdi_delta=255)
    assert not np.array_equal(straight.current[middle], shown[middle])


def test_motion_is_compensated() -> None:
    """A texture that moves as a whole by four pixels a field is found again half-way."""
    wide = np.random.default_rng(6).integers(100, 125, (32, 128), np.uint8)

    def at(field: int) -> Bytes:
        return wide[:, 32 - 2 * field:96 - 2 * field].copy()

    previous, current = at(0), at(2)
    previous[1::2], current[1::2] = at(1)[1::2], at(3)[1::2]
    shown = at(2)
    inner = (slice(8, -8), slice(16, 48))
    plain, compensated = (deinterlace(current, previous, stmm=255, minimum_stmm=0, maximum_stmm=1, stmm_output_shift=0,
                                      mcdi_enable=on) for on in (False, True))
    errors = [np.abs(out.current[inner].astype(int) - shown[inner]).mean() for out in (plain, compensated)]
    assert errors[1] < errors[0] / 10


def test_the_first_frame_has_no_past() -> None:
    before, after = np.zeros((16, 32), np.uint8), np.full((16, 32), 90, np.uint8)
    out = deinterlace(after, before, dndi_first_frame=True)
    assert set(out.current.flat) == {90}
    assert (out.stmm == 255).all()


@pytest.mark.parametrize(("field", "code", "frame"), [
    ("vdi_progressive_cadence_reconstruction_for_1st_field_of_current_frame", 2, "current"),
    ("vdi_progressive_cadence_reconstruction_for_1st_field_of_current_frame", 1, "previous"),
    ("vdi_progressive_cadence_reconstruction_for_2nd_field_of_previous_frame", 1, "previous"),
    ("vdi_progressive_cadence_reconstruction_for_2nd_field_of_previous_frame", 2, "current"),
])
def test_film_is_woven(field: str, code: int, frame: str) -> None:
    before, after = texture(7), texture(8)
    out = deinterlace(after, before, **{field: code})
    source = after if frame == "current" else before
    if "1st" in field:
        assert np.array_equal(out.current[0::2], after[0::2])
        assert np.array_equal(out.current[1::2], source[1::2])
    else:
        assert np.array_equal(out.previous[1::2], before[1::2])
        assert np.array_equal(out.previous[0::2], source[0::2])


def test_chroma_is_doubled_within_its_field() -> None:
    """Rows of 4:2:0 belong to the top and the bottom field in turn."""
    luma = texture(9, 16, 16)
    rows = np.zeros((8, 16), np.uint8)
    rows[:, 0::2], rows[:, 1::2] = np.arange(8)[:, None] + 10, np.arange(8)[:, None] + 100
    out = deinterlace(luma, luma, chroma=(rows, rows))
    line = [2 * (y >> 2) + (y & 1) for y in range(16)]
    assert [int(v) for v in out.chroma[:, 0]] == [100 + k for k in line]
    assert [int(v) for v in out.chroma[:, 1]] == [10 + k for k in line]


def test_workers_do_not_matter() -> None:
    previous, current, _ = comb()
    one, four = (deinterlace(current, previous, workers=n, mcdi_enable=True) for n in (1, 4))
    assert np.array_equal(one.current, four.current)
    assert one.statistics == four.statistics


# --- denoising --------------------------------------------------------------------------------------------------------
def test_noise_falls_over_time() -> None:
    """A still picture with noise of its own in each frame: every frame is calmer than its source, until it is flat."""
    out, history = noise(0), 0
    errors = []
    for frame in range(1, 40):
        outcome = denoise(noise(frame), out, history=history, **DENOISING)
        out, history = outcome.current, int(outcome.history.max())
        errors.append(float(out.astype(int).std()))
    assert history == 192
    assert errors[-1] < 0.4 * float(noise(1).astype(int).std())
    assert abs(float(out.mean()) - 100) < 1


def test_the_history_of_a_still_block_rises_to_its_maximum() -> None:
    picture = np.full((8, 16), 77, np.uint8)
    history, frames = 0, 0
    while history < 192:
        outcome = denoise(picture, picture, history=history, **DENOISING)
        assert set(outcome.history.flat) == {min(history + 7, 192)}
        assert set(outcome.current.flat) == {77}
        history, frames = min(history + 7, 192), frames + 1
    assert frames == 28


def test_motion_ends_the_history() -> None:
    before, after = np.full((8, 16), 30, np.uint8), np.full((8, 16), 30, np.uint8)
    after[:4, :4] = 200
    outcome = denoise(after, before, history=100, **DENOISING)
    assert outcome.history.tolist() == [[0, 107, 107, 107], [107] * 4]
    assert np.array_equal(outcome.current, after)


def test_an_outlier_pixel_is_kept_out_of_the_mean_of_its_neighbours() -> None:
    picture = np.full((8, 16), 50, np.uint8)
    picture[4, 8] = 70
    outcome = denoise(picture, picture, dndi_first_frame=True, good_neighbor_threshold=12)
    assert np.array_equal(outcome.current, picture)
    outcome = denoise(picture, picture, dndi_first_frame=True, good_neighbor_threshold=21, progressive_dn=True)
    assert outcome.current[4, 8] == (70 + 8 * 50 + 4) // 9


def test_the_weight_of_the_past() -> None:
    """Half of it with a history of 128: (128 * 98 + 128 * 110 + 128) / 256."""
    current, previous = np.full((8, 16), 110, np.uint8), np.full((8, 16), 98, np.uint8)
    fields = DENOISING | {"denoise_stad_threshold": 255, "denoise_history_increase": 0,
                          "low_temporal_difference_threshold": 12}
    assert set(denoise(current, previous, history=128, **fields).current.flat) == {104}
    fields |= {"low_temporal_difference_threshold": 8}  # half-way between the thresholds: the mean with 110
    assert set(denoise(current, previous, history=128, **fields).current.flat) == {107}


def test_denoising_comes_before_deinterlacing() -> None:
    """A still picture with noise of its own in both frames: the current frame becomes calmer, the past stays."""
    before, after = noise(50), noise(51)
    quiet = deinterlace(after, before, denoise=True, history=185, **DENOISING)
    loud = deinterlace(after, before, history=185, **DENOISING)
    assert quiet.current[0::2].astype(int).std() < loud.current[0::2].astype(int).std()
    assert np.array_equal(quiet.previous[1::2], before[1::2])


# --- statistics -------------------------------------------------------------------------------------------------------
def words(outcome: Outcome, block: int = 0) -> dict[str, int]:
    dwords = outcome.statistics[block]
    halves = [half for dword in dwords[3:] for half in (dword & 0xFFFF, dword >> 16)]
    names = ("CbPt", "CtPb", "CtCb", "CbPb", "CtPt", "SVCM", "SHCM", "STAD", "X", "Y")
    counts = {"BNE": dwords[1] & 255, "moving": dwords[1] >> 8 & 255, "tears before": dwords[1] >> 16 & 255,
              "tears": dwords[1] >> 24}
    return dict(zip(names, halves, strict=True)) | counts


def test_the_sums_of_opposite_frames() -> None:
    values = words(deinterlace(np.full((8, 32), 255, np.uint8), np.zeros((8, 32), np.uint8)), 3)
    assert [values[n] for n in ("CtPt", "CbPb", "CtPb", "CbPt", "CtCb")] == [8160, 8160, 8160, 8160, 0]
    assert (values["STAD"], values["moving"], values["X"], values["Y"]) == (16320, 16, 16, 4)


def test_film_is_detected() -> None:
    """Three frames of film make two and a half of video: where a field repeats, its difference is zero, and the
    fields of one film frame do not tear."""
    a, b = texture(20), texture(21)
    mixed = a.copy()
    mixed[1::2] = b[1::2]
    repeated = words(deinterlace(mixed, a))
    assert repeated["CtPt"] == 0 < repeated["CbPb"]
    smooth = np.tile(np.arange(32, dtype=np.uint8)[:, None] * 4, (1, 32))
    film, video = smooth.copy(), smooth.copy()
    video[1::2] = 255 - video[1::2]
    assert words(deinterlace(film, film))["tears"] == 0
    torn = words(deinterlace(video, film), 0)
    assert torn["tears"] == 16
    assert torn["tears before"] == 0  # its first field fits the second one of the frame before


def test_comb_needs_both_differences() -> None:
    for middle, torn in ((180, 16), (130, 0)):
        picture = np.full((4, 16), 100, np.uint8)
        picture[1::2] = middle
        assert words(deinterlace(picture, picture))["tears"] == torn


def test_noise_is_estimated_where_a_block_is_flat() -> None:
    assert words(deinterlace(np.full((4, 16), 9, np.uint8), np.full((4, 16), 9, np.uint8)))["BNE"] == 0
    quiet, loud = (words(deinterlace(noise(30, 4, 16, amplitude=a), noise(31, 4, 16, amplitude=a)))["BNE"]
                   for a in (1, 3))
    assert 0 < quiet < loud
    edges = np.tile(np.array([0, 255], np.uint8), (4, 8))
    assert words(deinterlace(edges, edges))["BNE"] == 0  # no block is flat


def test_haswell_has_no_such_message() -> None:
    """It denoises and deinterlaces in an engine of its own."""
    picture = texture(40, 4, 16)
    out = deinterlace(picture, picture, part="hsw", complaint="not modelled")
    assert not out.current.any()


# --- packed pixels ----------------------------------------------------------------------------------------------------
def packed(response: int, rows: int, **state: Any) -> tuple[Bytes, Bytes]:
    """The response to the first block of a still picture of YUYV, and its first rows: Y, Cb, Y, Cr."""
    media = MediaGen7()
    picture = texture(60, 16, 64)
    for i, address in enumerate((CURRENT, PREVIOUS)):
        media.memory.write(address, picture.tobytes())
        media.media_surface(3 + i, address, 32, 16, 64, surface_format="YCRCB_NORMAL")
    media.surface(5, STATISTICS, 32, 16, 64)
    media.memory.write(STATISTICS, bytes(64 * 16))
    media.memory.write(DYNAMIC + STATES, media.build("DNDI_STATE", **DEINTERLACING | {"dn_enable": True} | state))
    return run(media, [(0, 0)], sampler_message(8, response), response, BLOCK)[0], picture[:rows, :32]


def test_denoised_blocks_of_packed_pixels_have_chroma() -> None:
    out, picture = packed(9, 8)
    assert np.array_equal(out[:4].reshape(8, 16), picture[:, 0::2])
    chroma = out[5:9].reshape(8, 16)
    assert np.array_equal(chroma[:, 0::2], picture[:, 3::4])
    assert np.array_equal(chroma[:, 1::2], picture[:, 1::4])


def test_deinterlaced_blocks_of_packed_pixels_end_with_the_second_field() -> None:
    out, picture = packed(12, 4, di_enable=True)
    for first in (0, 4):
        assert np.array_equal(out[first:first + 2].reshape(4, 16), picture[:, 0::2])
        assert np.array_equal(out[first + 2:first + 4].reshape(4, 16)[:, 0::2], picture[:, 3::4])
    assert np.array_equal(out[10].reshape(2, 16), picture[1::2, 0::2])
    assert np.array_equal(out[11].reshape(2, 16)[:, 1::2], picture[1::2, 1::4])
