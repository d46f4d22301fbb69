"""A PNG encoder for speed: the Up filter and fast deflate, in bands, so that it needs little memory.

Deflate comes from `isal` if that is installed (the extra `fast`), else from zlib.  Files of the two differ; the pixels
do not, and each gives the same file for the same pixels.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from gen4emu.errors import FieldError

isal_zlib: Any = None
with suppress(ImportError):  # an optional extra
    isal_zlib = import_module("isal.isal_zlib")

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOR_TYPES = {1: 0, 3: 2, 4: 6}  # channels -> grey, RGB, RGBA (PNG specification, table 11.1)
_UP = 2  # the filter type: each byte is the difference to the one above
_BAND_BYTES = 1 << 18


def _compressor() -> Any:
    if isal_zlib is not None:
        return isal_zlib.compressobj(1)
    return zlib.compressobj(1)


def write_png(file: BinaryIO, pixels: npt.NDArray[np.generic], compressor: Callable[[], Any] = _compressor) -> None:
    """Write rows of 8-bit grey, RGB or RGBA pixels, or of 16-bit grey ones, as a PNG file."""
    if pixels.ndim == 2:
        pixels = pixels[:, :, np.newaxis]
    height, width, channels = pixels.shape
    if pixels.dtype not in (np.uint8, np.uint16) or channels not in _COLOR_TYPES or not height or not width or \
            (pixels.dtype == np.uint16 and channels != 1):
        raise FieldError(f"{width} x {height} pixels of {channels} channels of {pixels.dtype} are not a PNG picture")
    depth = 8 * pixels.dtype.itemsize
    file.write(_SIGNATURE)
    _chunk(file, b"IHDR", struct.pack(">IIBBBBB", width, height, depth, _COLOR_TYPES[channels], 0, 0, 0))
    stride = width * channels * pixels.dtype.itemsize
    rows = max(1, _BAND_BYTES // stride)
    filtered = np.empty((rows, 1 + stride), np.uint8)
    filtered[:, 0] = _UP
    above = np.zeros((1, stride), np.uint8)
    stream = compressor()
    for top in range(0, height, rows):
        band = _big_endian(pixels[top:top + rows]).reshape(-1, stride)
        count = len(band)
        np.subtract(band[:1], above, out=filtered[:1, 1:])
        np.subtract(band[1:], band[:-1], out=filtered[1:count, 1:])
        above = band[-1:]
        packed = stream.compress(filtered[:count])
        if packed:
            _chunk(file, b"IDAT", packed)
    _chunk(file, b"IDAT", stream.flush())
    _chunk(file, b"IEND", b"")


def _big_endian(rows: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
    ordered = rows.astype(">u2") if rows.dtype == np.uint16 else rows
    return np.ascontiguousarray(ordered).view(np.uint8)


def _chunk(file: BinaryIO, kind: bytes, data: bytes) -> None:
    file.write(struct.pack(">I", len(data)) + kind)
    file.write(data)
    file.write(struct.pack(">I", zlib.crc32(data, zlib.crc32(kind))))
