"""How often each pixel was covered, dropped, shaded and written, and what that cost (docs/counters.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gen4emu._native import ffi, lib
from gen4emu.core_enums import CountedPixels

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

@dataclass(slots=True)
class PixelMaps:
    """Counts by pixel; row 0 is the uppermost one of the window.  All maps have the same size."""

    maps: dict[CountedPixels, npt.NDArray[np.uint32]]
    complete: bool  # False: pixels are missing, because memory for maps is bounded


def pixel_maps(native: Any, width: int, height: int) -> PixelMaps:
    """The counts of the core for the pixels of a window of this size."""
    import numpy as np

    size = int(lib.G4_PIXEL_MAP_TILE)
    columns, rows = -(-width // size), -(-height // size)
    sums = np.zeros((len(CountedPixels), rows * size, columns * size), np.uint32)
    tiles, count = ffi.new("const struct g4_pixel_map_tile **"), ffi.new("uint32_t *")
    complete = bool(lib.g4_device_pixel_maps(native, tiles, count))
    shape = (len(CountedPixels), size, size)
    for i in range(count[0]):
        tile = tiles[0][i]
        x, y = int(tile.x), int(tile.y)
        if x < width and y < height:
            sums[:, y:y + size, x:x + size] = np.frombuffer(
                ffi.buffer(tile.counts, 4 * sums.shape[0] * size * size), np.uint32).reshape(shape)
    return PixelMaps({kind: sums[kind, :height, :width] for kind in CountedPixels}, complete)
