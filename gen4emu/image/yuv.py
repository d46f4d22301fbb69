"""Decoded video: the planes of a picture, and their conversion to RGB (docs/decisions.md 79).

Planes are 8 bits, chroma has half the size; colors are BT.601 with limited range, as MPEG-2 at these sizes means them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gen4emu.device.memory import Memory
from gen4emu.device.targets import Target
from gen4emu.device.tiling import SurfaceLayout, Swizzle

Plane = npt.NDArray[np.uint8]


def read_planes(memory: Memory, target: Target, swizzle: Swizzle = Swizzle.NONE) -> tuple[Plane, Plane, Plane]:
    """Y, Cb and Cr of a target that has chroma."""
    luma, first, second = (_read(memory, plane, swizzle) for plane in (target, *target.chroma))
    return luma, first, second


def _read(memory: Memory, plane: Target, swizzle: Swizzle) -> Plane:
    layout = SurfaceLayout(plane.address, plane.pitch, plane.width, plane.height, 1, plane.tiling, swizzle)
    return np.frombuffer(bytes(layout.read(memory)), np.uint8).reshape(plane.height, plane.width)


def to_rgb(luma: Plane, cb: Plane, cr: Plane) -> dict[str, Plane]:
    """Integer BT.601; each chroma sample holds for the four luma samples around it."""
    height, width = luma.shape
    scaled = 298 * (luma.astype(np.int32) - 16) + 128
    u, v = (np.repeat(np.repeat(c, 2, axis=0), 2, axis=1)[:height, :width].astype(np.int32) - 128 for c in (cb, cr))
    planes = (scaled + 409 * v, scaled - 100 * u - 208 * v, scaled + 516 * u)
    return {name: np.clip(plane >> 8, 0, 255).astype(np.uint8) for name, plane in zip("RGB", planes, strict=True)}
