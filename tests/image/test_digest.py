"""Digests of pixels: what counts, and what does not."""

from __future__ import annotations

import numpy as np

from gen4emu.image.digest import pixels_digest


def test_a_digest_never_changes() -> None:
    """Manifests keep digests for years: these were computed when the format was defined."""
    assert pixels_digest(np.zeros((2, 3, 3), np.uint8)) == "e83792657ed5b32d3b7b74eb087a6efb"
    assert pixels_digest(np.zeros((2, 3), np.uint16)) == "e1decfcdad7e331d71d11e45290db019"


def test_an_opaque_alpha_channel_does_not_count() -> None:
    rgb = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    rgba = np.dstack([rgb, np.full((4, 5), 255, np.uint8)])
    assert pixels_digest(rgb) == pixels_digest(rgba)
    rgba[0, 0, 3] = 254
    assert pixels_digest(rgb) != pixels_digest(rgba)


def test_grey_is_equal_to_the_same_grey_in_three_channels() -> None:
    grey = np.arange(20, dtype=np.uint8).reshape(4, 5)
    assert pixels_digest(grey) == pixels_digest(np.dstack([grey] * 3)) == pixels_digest(grey[:, :, np.newaxis])


def test_the_size_counts() -> None:
    assert pixels_digest(np.zeros((2, 8, 3), np.uint8)) != pixels_digest(np.zeros((8, 2, 3), np.uint8))


def test_byte_order_and_memory_layout_do_not_count() -> None:
    grey = np.arange(20, dtype=np.uint16).reshape(4, 5)
    assert pixels_digest(grey) == pixels_digest(grey.astype(">u2")) == pixels_digest(np.asfortranarray(grey))


def test_floats_differ_from_integers_of_the_same_bytes() -> None:
    floats = np.zeros((4, 4, 4), np.float32)
    assert pixels_digest(floats) != pixels_digest(floats.view(np.uint32))
