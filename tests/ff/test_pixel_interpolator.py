"""Messages to the pixel interpolator, from shaders of rectangles: offsets from the centers of pixels."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.harness.canvas_gen7 import Canvas7, send
from tests.harness.messages import descriptor

WIDTH, HEIGHT = 8, 4  # of the rectangle
PARTS = pytest.mark.parametrize("part", ["ivb", "hsw", "kbl"])


def interpolated(part: str, payload: str = "", **fields: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both coordinates of each pixel at the place that a message names, and at the center: [row][pixel][coordinate].

    `payload` is code that fills the payload, from g40 on.
    """
    canvas = Canvas7(part, ("R32G32B32A32_FLOAT",))

    def message(reg: int, **more: Any) -> str:
        word = descriptor("PIXEL_INTERPOLATOR_MESSAGE", canvas.gen, response=2, **more)
        return f"send(8) g{reg}<1>UW g40<8,8,1>UD 0x{word:08x} pixel interp {{ align1 1Q }};\n"

    kernel = payload + message(120, **fields) + message(122, message_type="SHARED_OFFSET") + send(canvas.write())
    image = canvas.draw(kernel, 0, 0, WIDTH, HEIGHT).view(np.float32)[:HEIGHT, :WIDTH]
    assert canvas.device.events() == []
    return image[..., :2], image[..., 2:]


def moved(centers: np.ndarray, x: float, y: float) -> np.ndarray:
    """The coordinates at an offset in pixels: they are linear on the screen, as all vertices have the same W."""
    by_row = centers[1, 0] - centers[0, 0]
    by_column = centers[0, 1] - centers[0, 0]
    assert np.abs(by_row).max() > 0.1 and np.abs(by_column).max() > 0.1
    for direction, step in ((centers, by_row), (centers.transpose(1, 0, 2), by_column)):
        for a, b in pairwise(direction):
            assert np.allclose(b - a, step, atol=1e-6)
    return centers + x * by_column + y * by_row


@PARTS
@pytest.mark.parametrize(("x", "y"), [(0, 0), (7, 0), (0, 7), (-8, -8), (3, -5)])
def test_a_shared_offset_counts_sixteenths_of_a_pixel(part: str, x: int, y: int) -> None:
    found, centers = interpolated(part, message_type="SHARED_OFFSET", message_data=x & 15 | (y & 15) << 4)
    assert np.allclose(found, moved(centers, x / 16, y / 16), atol=1e-6)


@PARTS
def test_each_pixel_may_have_its_own_offset(part: str) -> None:
    """Channels 0 to 3 are a subspan of 2x2 pixels, 4 to 7 the one to its right."""
    offsets = ((-8, -5, -1, 0, 1, 2, 6, 7), (7, 5, 3, 1, -1, -3, -5, -8))
    payload = "".join(f"mov(1) g{40 + axis}.{channel}<1>D {value}D {{ align1 WE_all 1N }};\n"
                      for axis, values in enumerate(offsets) for channel, value in enumerate(values))
    found, centers = interpolated(part, payload, length=2, message_type="PER_SLOT_OFFSET")
    x, y = (np.tile(np.array(values).reshape(2, 2, 2).transpose(1, 0, 2).reshape(2, 4), (HEIGHT // 2, WIDTH // 4)) / 16
            for values in offsets)
    expected = moved(centers, 0, 0) + x[..., None] * (centers[0, 1] - centers[0, 0])
    assert np.allclose(found, expected + y[..., None] * (centers[1, 0] - centers[0, 0]), atol=1e-6)


@PARTS
@pytest.mark.parametrize("kind", ["SAMPLE_POSITION", "CENTROID"])
def test_with_one_sample_its_position_and_the_centroid_are_the_center(part: str, kind: str) -> None:
    found, centers = interpolated(part, message_type=kind)
    assert np.array_equal(found, moved(centers, 0, 0))
