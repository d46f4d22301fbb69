"""Digests of pictures: equal for equal pixels, whatever file format, encoder or redundant alpha channel holds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gen4emu._native import ffi, lib

DIGEST_BYTES = 16  # of the 32 of BLAKE3


class Blake3:
    """BLAKE3 of bytes that come in pieces; `native` is the `struct g4_blake3 *`, for other functions of the core."""

    def __init__(self, data: bytes = b"") -> None:
        self.native: Any = ffi.new("struct g4_blake3 *")
        lib.g4_blake3_start(self.native)
        self.update(data)

    def update(self, data: bytes | memoryview) -> None:
        piece = ffi.from_buffer("uint8_t[]", data)
        lib.g4_blake3_add(self.native, piece, len(piece))

    def hexdigest(self) -> str:
        """32 hexadecimal digits; nothing can be added afterwards."""
        value = ffi.new("uint8_t[]", lib.G4_BLAKE3_VALUE_BYTES)
        lib.g4_blake3_end(self.native, value)
        return bytes(value)[:DIGEST_BYTES].hex()


def pixels_digest(pixels: npt.NDArray[np.generic]) -> str:
    """32 hexadecimal digits for rows of pixels, with or without an axis of channels.

    8-bit pixels count as RGB, or as RGBA if one of them is not opaque; grey is spread over the three colors.  16-bit
    grey and arrays of any other type (floats of an .npy file) count as they are.  The size and the type of the pixels
    belong to the digest.
    """
    if pixels.ndim == 2:
        pixels = pixels[:, :, np.newaxis]
    pixels = pixels.astype(pixels.dtype.newbyteorder("<"), copy=False)
    if pixels.dtype == np.uint8 and pixels.shape[2] == 4 and (pixels[:, :, 3] == 255).all():
        pixels = pixels[:, :, :3]
    digest = PixelsDigest(pixels.shape, pixels.dtype)
    digest.update(pixels)
    return digest.hexdigest()


class PixelsDigest:
    """`pixels_digest` of rows of pixels that come in bands, without an alpha channel that is 255 throughout."""

    def __init__(self, shape: tuple[int, ...], kind: np.dtype[Any]) -> None:
        """`shape` is height, width and channels of the whole."""
        height, width, channels = shape
        self.spreads = kind == np.uint8 and channels == 1  # bytes are counted three times
        if kind == np.uint8 and channels in (1, 3, 4):
            mode = "RGBA" if channels == 4 else "RGB"
        elif kind == np.uint16 and channels == 1:
            mode = "I;16"
        else:
            mode = f"{kind.kind}{8 * kind.itemsize}x{channels}"
        self.hash = Blake3(f"{mode} {width} {height}\n".encode())

    def update(self, band: npt.NDArray[np.generic]) -> None:
        """The next rows: rows, columns, channels."""
        if self.spreads:
            band = np.repeat(band, 3, axis=2)
        self.hash.update(np.ascontiguousarray(band, band.dtype.newbyteorder("<")).data)

    def hexdigest(self) -> str:
        return self.hash.hexdigest()


def pictures_digest(digests: Mapping[str, str]) -> str:
    """One digest for all pictures of a trace, from their names and digests, whatever their order."""
    return Blake3("".join(f"{name} {digest}\n" for name, digest in sorted(digests.items())).encode()).hexdigest()
