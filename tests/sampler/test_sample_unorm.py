"""sample_unorm, which filters media surfaces as textures (docs/decisions.md 125)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.harness.media_sampling import unorm


def codes(*values: int) -> list[int]:
    return [257 * value for value in values]


@pytest.mark.parametrize("kind", [0, 12])
def test_one_to_one_returns_the_picture_as_words(kind: int) -> None:
    picture = np.arange(256, dtype=np.uint8).reshape(4, 64)
    out, _ = unorm(picture, [((x + 0.5) / 64, 0.5 / 4) for x in range(0, 64, 8)], step=(1 / 64, 1 / 4), kind=kind)
    assert np.array_equal(np.concatenate(list(out[:, 0]), axis=1), picture.astype(np.uint16) * 257)


def test_positions_between_samples_are_linear_and_rounded_once() -> None:
    picture = np.tile(np.array([0, 100, 200, 255], np.uint8), (4, 1))
    out, _ = unorm(picture, [(0.5 / 4, 0.5 / 4)], step=(0.25 / 4, 0.0))
    exact = np.interp(np.arange(8) / 4, [0, 1, 2, 3], [0, 100, 200, 255])
    assert list(out[0, 0, 0]) == [int(value * 257 + 0.5) for value in exact]


def test_rows_follow_each_other() -> None:
    picture = np.tile(np.arange(4, dtype=np.uint8)[:, None], (1, 8))
    out, _ = unorm(picture, [(0.5 / 8, 0.5 / 4)], step=(1 / 8, 1 / 4))
    assert [list(row) for row in out[0, 0]] == [codes(y) * 8 for y in range(4)]


def test_without_a_linear_filter_the_sample_that_contains_the_position_counts() -> None:
    picture = np.tile(np.arange(8, dtype=np.uint8), (4, 1))
    out, _ = unorm(picture, [(0.99 / 8, 0.0)], step=(1 / 8, 0.0), mag_mode_filter="NEAREST")
    assert list(out[0, 0, 0]) == codes(*range(8))


@pytest.mark.parametrize(("mode", "expected"), [
    ("CLAMP", (0, 0, 0, 1, 2, 3, 3, 3)), ("WRAP", (2, 3, 0, 1, 2, 3, 0, 1)), ("MIRROR", (1, 0, 0, 1, 2, 3, 3, 2))])
def test_positions_outside(mode: str, expected: tuple[int, ...]) -> None:
    picture = np.tile(np.arange(4, dtype=np.uint8), (4, 1))
    out, _ = unorm(picture, [(-1.5 / 4, 0.5 / 4)], step=(1 / 4, 0.0), tcx_address_control_mode=mode)
    assert list(out[0, 0, 0]) == codes(*expected)
    out, _ = unorm(np.ascontiguousarray(np.tile(picture[0][:, None], (1, 4))), [(0.5 / 4, -1.5 / 4)], step=(0.0, 1 / 4),
                   tcy_address_control_mode=mode)
    assert list(out[0, 0, :, 0]) == codes(*expected[:4])


def test_planes_of_chroma_have_positions_of_their_own() -> None:
    """NV12: both planes reach from 0 to 1."""
    luma = np.full((8, 16), 7, np.uint8)
    chroma = np.empty((4, 16), np.uint8)
    chroma[:, 0::2], chroma[:, 1::2] = np.arange(8) * 10, np.arange(8) * 10 + 5
    out, _ = unorm(np.concatenate([luma, chroma]), [(0.5 / 8, 0.5 / 4)], step=(1 / 8, 1 / 4), mask=0b1000, surface={
        "surface_format": "PLANAR_420_8", "interleave_chroma": True, "height": 8, "y_offset_for_cb": 8})
    assert list(out[0, 0, 0]) == codes(*range(5, 85, 10))
    assert set(out[0, 1].flat) == {7 * 257}
    assert list(out[0, 2, 0]) == codes(*range(0, 80, 10))


def test_ten_bits_become_sixteen() -> None:
    code = 0x3FF | 0x155 << 10 | 1 << 20 | 1 << 30
    picture = np.frombuffer(np.full((4, 8), code, "<u4").tobytes(), np.uint8).reshape(4, 32)
    out, _ = unorm(picture, [(0.5 / 8, 0.5 / 4)], step=(1 / 8, 1 / 4), mask=0,
                   surface={"surface_format": "R10G10B10A2_UNORM", "width": 8})
    exact = [65535, 0x155 * 65535 / 1023, 65535 / 1023, 65535 / 3]
    assert [set(out[0, c].flat) for c in range(4)] == [{int(value + 0.5)} for value in exact]


@pytest.mark.parametrize("kind", [2, 10])
def test_killpix_adds_a_register_for_the_pixels_that_are_left(kind: int) -> None:
    out, more = unorm(np.full((4, 8), 9, np.uint8), [(0.1, 0.1)], step=(0.1, 0.1), kind=kind)
    assert set(out.flat) == {9 * 257}
    assert more[0, 0].tobytes() == b"\xff" * 4 + bytes(28)


def test_absent_channels_are_0_and_alpha_1() -> None:
    out, _ = unorm(np.full((4, 8), 9, np.uint8), [(0.1, 0.1)], step=(0.1, 0.1), mask=0)
    assert [set(out[0, c].flat) for c in range(4)] == [{0}, {9 * 257}, {0}, {65535}]


def test_borders_and_chroma_keys_are_reported() -> None:
    for state in ({"tcx_address_control_mode": "CLAMP_BORDER"}, {"chroma_key_enable": True}):
        unorm(np.full((4, 8), 9, np.uint8), [(0.1, 0.1)], step=(0.1, 0.1), complaint="not modelled", **state)
