"""sample_8x8, the adaptive video scaler of Gen7 (docs/decisions.md 125)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.harness.media_sampling import scaled

LANCZOS = (  # rows of some driver tables: taps sum to 64
    [0, 0, 0, 64, 0, 0, 0, 0], [1, -2, 6, 62, -5, 3, -1, 0],
)


def lanczos(phase: int) -> list[int]:
    return LANCZOS[min(phase, 1)]


def test_one_to_one_returns_the_picture() -> None:
    picture = np.arange(256, dtype=np.uint8).reshape(4, 64)
    out = scaled(picture, [(x / 64, 0.0) for x in range(0, 64, 16)], step=(1 / 64, 1 / 4))
    assert np.array_equal(np.concatenate(list(out[:, 0]), axis=1), picture.astype(np.uint16) << 8)


def test_positions_between_texels_are_linear() -> None:
    picture = np.tile(np.array([0, 100, 200, 200, 200, 200, 200, 200], np.uint8), (4, 1))
    out = scaled(picture, [(0.0, 0.0)], step=(0.25 / 8, 0.0))
    assert list(out[0, 0, 0, :9]) == [25 * i << 8 for i in range(9)]


def test_the_last_phase_belongs_to_the_next_texel() -> None:
    """127/128 is nearer to the next of 32 phases."""
    picture = np.tile(np.array([0, 100, 200, 200], np.uint8), (4, 1))
    out = scaled(picture, [(127 / 128 / 4, 0.0)], step=(0.0, 0.0))
    assert out[0, 0, 0, 0] == 100 << 8


def test_a_constant_stays_for_any_coefficients() -> None:
    out = scaled(np.full((8, 32), 255, np.uint8), [(0.1, 0.3)], step=(0.7 / 32, 0.7 / 8), taps=lanczos)
    assert (out == 255 << 8).all()


def test_phases_above_a_half_are_mirror_images() -> None:
    picture = np.random.default_rng(1).integers(0, 256, (8, 32), np.uint8)
    mirrored = picture[:, ::-1].copy()
    out = scaled(picture, [(12.25 / 32, 0.25)], step=(1 / 32, 0.0), taps=lanczos)
    back = scaled(mirrored, [((31 - 12.25) / 32, 0.25)], step=(-1 / 32, 0.0), taps=lanczos)
    assert np.array_equal(out, back)


def test_the_second_derivative_moves_columns_apart() -> None:
    picture = np.tile(np.arange(64, dtype=np.uint8), (4, 1))
    out = scaled(picture, [(0.0, 0.0)], step=(1 / 64, 0.0), acceleration=1 / 64)
    assert [int(v) >> 8 for v in out[0, 0, 0, :8]] == [0, 1, 3, 6, 10, 15, 21, 28]


def test_a_block_number_counts_four_rows() -> None:
    picture = np.tile(np.arange(16, dtype=np.uint8)[:, None], (1, 16))
    out = scaled(picture, [(0.0, 0.0)], step=(1 / 16, 1 / 16), number=2)
    assert [int(row[0]) >> 8 for row in out[0, 0]] == [8, 9, 10, 11]


def test_sharpness_blends_with_the_bilinear_filter() -> None:
    picture = np.random.default_rng(2).integers(0, 256, (8, 32), np.uint8)

    def at(level: int, taps: object = lanczos) -> np.ndarray:
        return scaled(picture, [(0.2, 0.3)], step=(0.6 / 32, 0.6 / 8), taps=taps, default_sharpness_level=level)

    sharp, smooth = at(255).astype(int), at(0).astype(int)
    assert not np.array_equal(sharp, smooth)
    assert np.array_equal(at(100), (100 * sharp + 155 * smooth + 127) // 255)


def test_without_the_filter_the_nearest_texel_counts() -> None:
    picture = np.arange(64, dtype=np.uint8).reshape(4, 16)
    out = scaled(picture, [(0.4 / 16, 0.0)], step=(1 / 16, 0.0), sampler={"disable_8x8_filter": True})
    assert [int(v) >> 8 for v in out[0, 0, 0]] == list(range(16))
    out = scaled(picture, [(0.6 / 16, 0.0)], step=(1 / 16, 0.0), sampler={"disable_8x8_filter": True})
    assert [int(v) >> 8 for v in out[0, 0, 0]] == [*range(1, 16), 15]


@pytest.mark.parametrize(("form", "places"), [
    ("YCRCB_NORMAL", (3, 0, 1)), ("YCRCB_SWAPUV", (1, 0, 3)), ("YCRCB_SWAPY", (2, 1, 0)),
    ("YCRCB_SWAPUVY", (0, 1, 2)),
])
def test_channels_of_packed_pixels(form: str, places: tuple[int, int, int]) -> None:
    """Cr, Y and Cb are red, green and blue; alpha is 1."""
    picture = np.tile(np.array([10, 20, 30, 40], np.uint8), (4, 8))
    out = scaled(picture, [(0.0, 0.0)], step=(1 / 16, 0.25), mask=0, surface={"surface_format": form, "width": 16})
    assert [int(out[0, c, 0, 0]) >> 8 for c in range(4)] == [10 + 10 * p for p in places] + [255]


def test_channels_of_interleaved_chroma() -> None:
    picture = np.concatenate([np.full((8, 16), 1, np.uint8), np.tile(np.array([50, 60], np.uint8), (4, 8))])
    out = scaled(picture, [(0.0, 0.0)], step=(1 / 16, 1 / 8), mask=0b1000, surface={
        "surface_format": "PLANAR_420_8", "interleave_chroma": True, "height": 8, "y_offset_for_cb": 8})
    assert [set(out[0, c].flat) for c in range(3)] == [{60 << 8}, {1 << 8}, {50 << 8}]


@pytest.mark.parametrize(("form", "mask", "expected"), [("R8_UNORM", 0b1110, 7), ("R8_UNORM", 0b1101, 0)])
def test_channels_that_a_format_does_not_have_are_zero(form: str, mask: int, expected: int) -> None:
    out = scaled(np.full((4, 16), 7, np.uint8), [(0.0, 0.0)], step=(1 / 16, 1 / 4), mask=mask,
                 surface={"surface_format": form})
    assert set(out.flat) == {expected << 8}


def test_r8b8_has_red_and_blue() -> None:
    picture = np.tile(np.array([3, 9], np.uint8), (4, 16))
    out = scaled(picture, [(0.0, 0.0)], step=(1 / 16, 1 / 4), mask=0b1010,
                 surface={"surface_format": "R8B8_UNORM", "width": 16})
    assert [set(out[0, c].flat) for c in range(2)] == [{3 << 8}, {9 << 8}]


def ten_bits(*channels: int) -> np.ndarray:
    """4x16 pixels of R10G10B10A2."""
    code = sum(value << 10 * i for i, value in enumerate(channels))
    return np.frombuffer(np.full((4, 16), code, "<u4").tobytes(), np.uint8).reshape(4, 64)


def test_channels_of_ten_bits_keep_all_of_them() -> None:
    out = scaled(ten_bits(0x3FF, 0x201, 1, 2), [(0.0, 0.0)], step=(1 / 16, 1 / 4), mask=0,
                 surface={"surface_format": "R10G10B10A2_UNORM", "width": 16})
    assert [set(out[0, c].flat) for c in range(4)] == [{0x3FF << 6}, {0x201 << 6}, {1 << 6}, {0x2AA << 6}]


def test_ten_bits_are_filtered_with_their_fraction() -> None:
    picture = np.frombuffer(np.tile(np.array([0, 10], "<u4"), (4, 8)).tobytes(), np.uint8).reshape(4, 64)
    out = scaled(picture, [(0.5 / 16, 0.0)], step=(0.0, 0.0), mask=0b1110,
                 surface={"surface_format": "R10G10B10A2_UNORM", "width": 16})
    assert set(out.flat) == {5 << 6}
    out = scaled(picture, [(0.6 / 16, 0.0)], step=(0.0, 0.0), mask=0b1110, sampler={"disable_8x8_filter": True},
                 surface={"surface_format": "R10G10B10A2_UNORM", "width": 16})
    assert set(out.flat) == {10 << 6}


def test_sharpness_of_ten_bits_is_the_same_blend() -> None:
    rng = np.random.default_rng(4)
    coarse = rng.integers(0, 256, (8, 32), np.uint8)
    fine = np.frombuffer(((coarse.astype("<u4") << 2) << 10).tobytes(), np.uint8).reshape(8, 128)

    def at(picture: np.ndarray, **surface: object) -> np.ndarray:
        return scaled(picture, [(0.2, 0.3)], step=(0.6 / 32, 0.6 / 8), taps=lanczos, default_sharpness_level=100,
                      surface={"width": 32, **surface})

    assert np.array_equal(at(coarse), at(fine, surface_format="R10G10B10A2_UNORM"))
