"""PNG files, encoded by the core for speed (native/image/png.c), in bands, so that they need little memory.

The same pixels always give the same file.
"""

from __future__ import annotations

import threading
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from gen4emu._native import ffi, lib
from gen4emu.errors import FieldError
from gen4emu.image.digest import PixelsDigest

_BAND_BYTES = 1 << 23  # of pixels that one call encodes: any usual picture


class _Encoder(threading.local):
    """An encoder of the core and space for what it writes, for each thread: both are used again."""

    def __init__(self) -> None:
        handle = lib.g4_png_new()
        if handle == ffi.NULL:
            raise MemoryError("no memory for a PNG encoder")
        self.native = ffi.gc(handle, lib.g4_png_free)
        self.space = np.empty(0, np.uint8)

    def start(self, width: int, height: int, channels: int, wide: bool, rows: int) -> None:
        """Begin a picture that comes in bands of up to `rows` rows."""
        status = lib.g4_png_start(self.native, width, height, channels, wide)
        if status != lib.G4_OK:
            raise MemoryError(f"no memory to encode a picture of {width} x {height} pixels")
        size = int(lib.g4_png_bound(self.native, rows))
        if self.space.nbytes < size:
            self.space = np.empty(size, np.uint8)


_encoder = _Encoder()


def write_png(file: BinaryIO, pixels: npt.NDArray[np.generic], digest: PixelsDigest | None = None) -> None:
    """Write rows of 8-bit grey, RGB or RGBA pixels, or of 16-bit grey ones, as a PNG file; and add them to `digest`."""
    if pixels.ndim == 2:
        pixels = pixels[:, :, np.newaxis]
    height, width, channels = pixels.shape
    wide = pixels.dtype == np.uint16
    if pixels.dtype not in (np.uint8, np.uint16) or channels not in (1, 3, 4) or not height or not width or \
            (wide and channels != 1):
        raise FieldError(f"{width} x {height} pixels of {channels} channels of {pixels.dtype} are not a PNG picture")
    pixels = np.ascontiguousarray(pixels, pixels.dtype.newbyteorder("="))
    if digest is not None and digest.spreads:
        digest.update(pixels)
        digest = None
    rows = min(height, max(1, _BAND_BYTES // (pixels.nbytes // height)))
    _encoder.start(width, height, channels, wide, rows)
    space, source = _encoder.space, ffi.from_buffer(pixels)
    for top in range(0, height, rows):
        count = lib.g4_png_rows(_encoder.native, source, pixels.nbytes, top, min(rows, height - top),
                                ffi.from_buffer("uint8_t[]", space), space.nbytes,
                                ffi.NULL if digest is None else digest.hash.native)
        assert count
        file.write(space[:count].data)
