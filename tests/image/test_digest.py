"""Digests of pixels: what counts, and what does not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gen4emu._native import lib
from gen4emu.image.digest import Blake3, pixels_digest
from tests.image.blake3 import blake3

VARIANTS = range(lib.g4_variant_best() + 1)


@pytest.fixture(params=VARIANTS)
def variant(request: pytest.FixtureRequest) -> Iterator[int]:
    """Each set of vector instructions in turn."""
    before = lib.g4_variant_current()
    assert lib.g4_set_variant(request.param) == lib.G4_OK
    yield request.param
    lib.g4_set_variant(before)


def test_the_reference_has_the_published_values() -> None:
    """test_vectors.json of the BLAKE3 team, for inputs of 0 and 1 bytes."""
    assert blake3(b"").hex() == "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
    assert blake3(b"\0").hex() == "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"


@pytest.mark.parametrize("size", [0, 1, 64, 65, 1023, 1024, 1025, 2048, 2049, 3073, 15360, 16384, 16385, 17409, 32768,
                                  32769, 49152, 51200, 65537])
def test_the_core_computes_blake3(size: int, variant: int) -> None:
    data = np.random.default_rng(size).bytes(size)
    expected = blake3(data)[:16].hex()
    assert Blake3(data).hexdigest() == expected
    for piece in (1000, 16384, 20000):
        pieces = Blake3()
        for start in range(0, size, piece):
            pieces.update(data[start:start + piece])
        assert pieces.hexdigest() == expected


def test_a_digest_is_that_of_a_line_and_the_pixels() -> None:
    """docs/check.md shows how to compute it with b3sum."""
    rgb = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    assert pixels_digest(rgb) == blake3(b"RGB 5 4\n" + rgb.tobytes())[:16].hex()
    grey = rgb[:, :, 0].astype(np.uint16) << 7
    assert pixels_digest(grey) == blake3(b"I;16 5 4\n" + grey.astype("<u2").tobytes())[:16].hex()


def test_a_digest_never_changes() -> None:
    """Manifests keep digests for years: these were computed when the format was defined."""
    assert pixels_digest(np.zeros((2, 3, 3), np.uint8)) == "e1fd41d39b3e1fae88b853911c87198b"
    assert pixels_digest(np.zeros((2, 3), np.uint16)) == "dfaff1c5ac3a56924f29097ce431b0a9"


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
