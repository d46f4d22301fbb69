"""Comparison of pictures, through the public functions and the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gen4emu.cli.main import run
from gen4emu.errors import DecodeError
from gen4emu.image.compare import compare, heat_map, load, pair, where_different


def picture(path: Path, pixels: np.ndarray) -> Path:
    Image.fromarray(pixels).save(path)
    return path


def test_equal_pictures_have_no_difference() -> None:
    a = np.arange(300, dtype=np.uint8).reshape(10, 10, 3)
    d = compare(a, a.copy())
    assert (d.differing, d.max_error, d.rmse, d.ssim, d.pixels) == (0, 0, 0.0, 1.0, 100)


def test_one_wrong_channel_is_one_differing_pixel() -> None:
    a = np.zeros((10, 10, 3), np.uint8)
    b = a.copy()
    b[3, 4, 1] = 30
    d = compare(a, b)
    assert (d.differing, d.max_error) == (1, 30)
    assert d.rmse == pytest.approx((900 / 300) ** 0.5)
    assert d.ssim < 1
    assert compare(a, b, tolerance=30).same and not compare(a, b, tolerance=29).same


def test_errors_do_not_wrap_around() -> None:
    a = np.zeros((1, 1, 1), np.uint8)
    assert compare(a, np.full((1, 1, 1), 255, np.uint8)).max_error == 255


def test_nan_equals_nan_and_nothing_else() -> None:
    a = np.array([[[np.nan], [1.0]]], np.float32)
    assert compare(a, a.copy()).same
    assert compare(a, np.array([[[0.0], [1.0]]], np.float32)).differing == 1


def test_infinities_of_the_same_sign_are_alike() -> None:
    a = np.array([[[np.inf]]], np.float32)
    assert compare(a, a.copy()).same
    assert not compare(a, -a).same


def test_the_heat_map_is_black_where_pictures_agree() -> None:
    a = np.zeros((2, 2, 3), np.uint8)
    b = a.copy()
    b[1, 1] = 9
    heat = heat_map(a, b)
    assert heat[0, 0].tolist() == [0, 0, 0] and heat[1, 1].tolist() == [255, 255, 255]


def test_a_picture_without_alpha_is_opaque(tmp_path: Path) -> None:
    rgb = picture(tmp_path / "a.png", np.full((4, 4, 3), 7, np.uint8))
    pixels = np.dstack([np.full((4, 4, 3), 7, np.uint8), np.full((4, 4), 255, np.uint8)])
    assert compare(*pair(rgb, picture(tmp_path / "b.png", pixels))).same
    pixels[2, 1, 3] = 200
    for order in ((rgb, picture(tmp_path / "c.png", pixels)), (tmp_path / "c.png", rgb)):
        difference = compare(*pair(*order))
        assert (difference.differing, difference.max_error) == (1, 55)


def test_sizes_must_agree(tmp_path: Path) -> None:
    a = picture(tmp_path / "a.png", np.zeros((4, 4, 3), np.uint8))
    b = picture(tmp_path / "b.png", np.zeros((4, 5, 3), np.uint8))
    with pytest.raises(DecodeError, match="5 x 4"):
        pair(a, b)


def test_a_file_that_is_not_a_picture_is_an_error(tmp_path: Path) -> None:
    junk = tmp_path / "junk.png"
    junk.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
    with pytest.raises(DecodeError, match=r"junk\.png"):
        load(junk)


def test_the_exit_status_says_whether_pictures_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = picture(tmp_path / "a.png", np.zeros((8, 8, 3), np.uint8))
    b = picture(tmp_path / "b.png", np.ones((8, 8, 3), np.uint8))
    heat = tmp_path / "heat.png"
    assert run(["diff", str(a), str(a)]) == 0
    assert run(["diff", str(a), str(b), "--heatmap", str(heat)]) == 1
    assert load(heat).shape == (8, 8, 3)
    assert run(["diff", str(a), str(b), "--tolerance", "1"]) == 0
    assert run(["diff", str(a), str(tmp_path / "none.png")]) == 2
    assert "64 of 64 pixels differ" in capsys.readouterr().out


@pytest.mark.parametrize("shape", [(7, 5), (7, 5, 1), (7, 5, 3), (7, 5, 4), (7, 5, 6), (7, 5, 16), (0, 5, 4)])
@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_pixels_that_differ_in_any_channel_are_found(shape: tuple[int, ...], kind: type[np.generic]) -> None:
    random = np.random.default_rng(1)
    left, right = (random.integers(0, 2, shape).astype(kind) for _ in range(2))
    right[1:] = left[1:]
    expected = left != right
    assert np.array_equal(where_different(left, right), expected.any(axis=2) if left.ndim == 3 else expected)
    assert not where_different(left, left).any()
