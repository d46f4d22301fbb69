"""Surfaces in the memory of a device, as arrays and pictures."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gen4emu.device.memory import Memory
from gen4emu.device.targets import Target
from gen4emu.image.digest import pixels_digest
from gen4emu.image.picture import Pixels, read_channels, read_pixels, save_npy, save_pixels
from gen4emu.image.png import write_png

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Surface:
    """An image in memory: a render target, a depth buffer, the destination of a blit, or any other piece of memory.

    The memory is read when pixels are asked for.  A surface of a trace can be read until the trace moves on.
    """

    def __init__(self, memory: Memory, target: Target, check: Callable[[], None] = lambda: None) -> None:
        self._memory, self._target, self._check = memory, target, check

    @property
    def kind(self) -> str:
        """`color`, `depth`, `blt` (destination of a blit), `media` (decoded video), `shown` (a frame), `surface`."""
        return self._target.kind

    @property
    def address(self) -> int:
        """The graphics address of the surface."""
        return self._target.address

    @property
    def format(self) -> str:
        """The name of the surface format."""
        return self._target.format.name

    @property
    def width(self) -> int:
        """Pixels in a row."""
        return self._target.width

    @property
    def height(self) -> int:
        """Rows."""
        return self._target.height

    @property
    def pitch(self) -> int:
        """Bytes from one row to the next."""
        return self._target.pitch

    @property
    def tiling(self) -> str:
        """`linear`, `x` or `y`."""
        return self._target.tiling.name.lower()

    @property
    def level(self) -> int:
        """The mipmap level."""
        return self._target.level

    @property
    def slice(self) -> int:
        """The array element, cube face or depth slice."""
        return self._target.slice

    def channels(self) -> dict[str, npt.NDArray[np.generic]]:
        """The channels of the format by name, `R`, `G`, `B`, `A`: floats, or integers for integer formats."""
        self._check()
        return read_channels(self._memory, self._target)

    def float(self) -> npt.NDArray[np.float32]:
        """The exact values of the channels as height x width x channels."""
        import numpy as np

        return np.stack([c.astype(np.float32) for c in self.channels().values()], axis=2)

    def numpy(self) -> npt.NDArray[np.generic]:
        """The pixels as they are shown: uint8, height x width x 4 (RGBA).

        A surface with one wide channel, such as a depth buffer, gives uint16, height x width, where 65535 is 1.0.
        """
        import numpy as np

        pixels: npt.NDArray[np.generic] = self._pixels()
        if pixels.ndim == 2 and pixels.dtype == np.uint8:
            pixels = np.repeat(pixels[:, :, np.newaxis], 3, axis=2)
        if pixels.ndim == 3 and pixels.shape[2] == 3:
            opaque = np.full((*pixels.shape[:2], 1), 255, np.uint8)
            return np.concatenate([pixels, opaque], axis=2)
        return pixels

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .png file, or the exact values of the channels as .npy."""
        path = Path(path)
        if path.suffix == ".npy":
            self._check()
            save_npy(path, self._memory, self._target)
        else:
            save_pixels(path, self._pixels())

    def png(self) -> bytes:
        """The picture as the bytes of a PNG file."""
        buffer = io.BytesIO()
        write_png(buffer, self._pixels())
        return buffer.getvalue()

    @property
    def digest(self) -> str:
        """The digest of the pixels, as index.json and `check` have it (docs/check.md)."""
        return pixels_digest(self._pixels())

    def _pixels(self) -> Pixels:
        self._check()
        return read_pixels(self._memory, self._target)

    def _repr_png_(self) -> bytes:
        return self.png()

    def __repr__(self) -> str:
        return f"<Surface {self.kind} 0x{self.address:08x} {self.format} {self.width}x{self.height}>"
