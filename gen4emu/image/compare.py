"""How two pictures differ: largest error, RMSE, SSIM, number of pixels; a heat map of where."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from pathlib import Path
from tokenize import TokenError

import numpy as np
import numpy.typing as npt
from PIL import Image

from gen4emu.errors import DecodeError

Pixels = npt.NDArray[np.generic]
_MAX_PIXELS = 1 << 27
_FORMATS = ("PNG", "PPM")  # Pillow's readers of some others start programs such as Ghostscript, or fail in any way


@dataclass(frozen=True, slots=True)
class Difference:
    """Numbers in units of the pictures' own steps (255 or 65535 is white)."""

    pixels: int
    differing: int  # pixels with any channel beyond the tolerance
    max_error: int
    rmse: float
    ssim: float  # 1 is identical

    @property
    def same(self) -> bool:
        return self.differing == 0

    def __str__(self) -> str:
        share = 100.0 * self.differing / self.pixels if self.pixels else 0.0
        return (f"{self.differing} of {self.pixels} pixels differ ({share:.3f} %), max error {self.max_error}, "
                f"RMSE {self.rmse:.4f}, SSIM {self.ssim:.6f}")


def load(path: Path) -> Pixels:
    """A picture as rows of pixels of channels."""
    try:
        if path.suffix == ".npy":
            array: Pixels = np.load(path, allow_pickle=False)
        else:
            with Image.open(path, formats=_FORMATS) as image:
                if image.width * image.height > _MAX_PIXELS:
                    raise DecodeError(f"{path}: {image.width} x {image.height} pixels are too many")
                array = np.asarray(image if image.mode in _MODES else image.convert("RGBA"))
    except (OSError, ValueError, SyntaxError, TokenError, Image.DecompressionBombError) as e:
        raise DecodeError(f"{path}: not a picture that can be read ({e})") from None
    if array.ndim == 2:
        array = array[:, :, np.newaxis]
    if array.ndim != 3 or array.dtype.kind not in "uif":
        raise DecodeError(f"{path}: not a picture")
    return array


_MODES = ("L", "RGB", "RGBA", "I;16")


def where_different(left: Pixels, right: Pixels) -> npt.NDArray[np.bool_]:
    """Which pixels differ in any bit of two pictures of one shape and type.

    This takes a tenth of the time of `(left != right).any(axis=2)`.
    """
    sides = []
    for pixels in (left, right):
        pixels = pixels[:, :, np.newaxis] if pixels.ndim == 2 else pixels
        unit = _UNITS[gcd(pixels.shape[2] * pixels.itemsize, 8)]
        sides.append(np.ascontiguousarray(pixels).view(unit))
    found = np.zeros(left.shape[:2], np.bool_)
    for part in range(sides[0].shape[2]):
        found |= sides[0][:, :, part] != sides[1][:, :, part]
    return found


_UNITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}  # by their bytes


def pair(first: Path, second: Path) -> tuple[Pixels, Pixels]:
    """Two pictures to compare."""
    return alike(load(first), load(second), str(first), str(second))


def alike(a: Pixels, b: Pixels, first: str, second: str) -> tuple[Pixels, Pixels]:
    """Pixels of equal shape and type, or a DecodeError that names the pictures `first` and `second`.

    A picture without an alpha channel is opaque: against one with alpha it counts as alpha 255.
    """
    if {a.shape[2], b.shape[2]} == {3, 4} and a.dtype == b.dtype:
        a, b = _with_alpha(a), _with_alpha(b)
    if a.shape != b.shape:
        raise DecodeError(f"{first} is {_size(a)}, {second} is {_size(b)}")
    if a.dtype != b.dtype:
        raise DecodeError(f"{first} has {a.dtype} channels, {second} has {b.dtype}")
    return a, b


def _with_alpha(pixels: Pixels) -> Pixels:
    if pixels.shape[2] == 4:
        return pixels
    opaque = 1 if pixels.dtype.kind == "f" else (1 << 8 * pixels.dtype.itemsize) - 1
    alpha = np.full((*pixels.shape[:2], 1), opaque, pixels.dtype)
    return np.concatenate([pixels, alpha], axis=2)


def _size(a: Pixels) -> str:
    return f"{a.shape[1]} x {a.shape[0]} with {a.shape[2]} channels"


def compare(a: Pixels, b: Pixels, tolerance: float = 0) -> Difference:
    """How two pictures of equal shape and type differ."""
    if np.array_equal(a, b):
        return Difference(a.shape[0] * a.shape[1], 0, 0, 0.0, 1.0)
    error = errors(a, b)
    beyond = (error > tolerance).any(axis=2)
    worst = float(error.max()) if error.size else 0.0
    return Difference(
        pixels=beyond.size, differing=int(beyond.sum()), max_error=int(np.ceil(worst)),
        rmse=float(np.sqrt(np.mean(error * error))) if error.size else 0.0, ssim=_ssim(a, b))


def errors(a: Pixels, b: Pixels) -> npt.NDArray[np.float64]:
    """The distance of each channel.  Two NaN are alike; a NaN and a number are as far apart as can be."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(invalid="ignore"):
        error = np.abs(x - y)
    error[(np.isnan(x) & np.isnan(y)) | (x == y)] = 0.0
    return np.nan_to_num(error, nan=_FAR, posinf=_FAR)


_FAR = float(1 << 31)


def _ssim(a: Pixels, b: Pixels) -> float:
    """Mean structural similarity over 8x8 blocks of the mean of the channels (Wang et al. 2004)."""
    x, y = _grey(a), _grey(b)
    size = min(8, *x.shape)
    if size == 0:
        return 1.0
    x, y = _blocks(x, size), _blocks(y, size)
    peak = 65535.0 if a.dtype == np.uint16 else 255.0 if a.dtype == np.uint8 else max(1.0, float(np.abs(x).max()))
    c1, c2 = (0.01 * peak) ** 2, (0.03 * peak) ** 2
    mx, my = x.mean(axis=1), y.mean(axis=1)
    vx, vy = x.var(axis=1), y.var(axis=1)
    cov = ((x - mx[:, None]) * (y - my[:, None])).mean(axis=1)
    ssim = (2 * mx * my + c1) * (2 * cov + c2) / ((mx * mx + my * my + c1) * (vx + vy + c2))
    return float(ssim.mean())


def _grey(a: Pixels) -> npt.NDArray[np.float64]:
    finite = np.clip(np.nan_to_num(a.astype(np.float64)), -_FAR, _FAR)
    return np.asarray(finite.mean(axis=2))


def _blocks(plane: npt.NDArray[np.float64], size: int) -> npt.NDArray[np.float64]:
    rows, columns = plane.shape[0] // size, plane.shape[1] // size
    cut = plane[:rows * size, :columns * size].reshape(rows, size, columns, size)
    return cut.transpose(0, 2, 1, 3).reshape(rows * columns, size * size)


def heat_map(a: Pixels, b: Pixels) -> npt.NDArray[np.uint8]:
    """Black where the pictures agree; blue, red, yellow, white the more they differ (white: the largest error)."""
    error = errors(a, b).max(axis=2)
    level = error / error.max() if error.size and error.max() > 0 else error
    hot = np.where(level > 0, 0.25 + 0.75 * level, 0.0)
    red, green = np.clip(hot * 3 - 0.75, 0, 1), np.clip(hot * 3 - 1.5, 0, 1)
    blue = np.where(hot < 0.5, np.clip(hot * 4, 0, 1) * (hot > 0), np.clip(hot * 4 - 3, 0, 1))
    return (np.stack([red, green, blue], axis=2) * 255).astype(np.uint8)
