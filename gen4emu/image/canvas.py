"""Pixels for the canvas of a browser."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gen4emu.image.picture import Pixels


def canvas_bytes(pixels: Pixels) -> bytes:
    """Red, green, blue and alpha of each pixel, or two bytes (little endian) of 16-bit grey."""
    if pixels.dtype == np.uint16:
        return np.ascontiguousarray(pixels).astype("<u2").tobytes()
    rgba: npt.NDArray[np.uint8] = np.full((*pixels.shape[:2], 4), 255, np.uint8)
    if pixels.ndim == 2:
        rgba[:, :, :3] = pixels[:, :, np.newaxis]
    else:
        rgba[:, :, :pixels.shape[2]] = pixels
    return rgba.tobytes()
