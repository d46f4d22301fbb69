"""The pixels of two images in memory that differ, by their exact bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gen4emu.bisect.digests import surface_bytes
from gen4emu.device.memory import Memory
from gen4emu.device.targets import Target
from gen4emu.errors import FieldError
from gen4emu.hw.formats import format_info
from gen4emu.image.compare import where_different


@dataclass(frozen=True, slots=True)
class Pixels:
    """The pixels of a target that differ."""

    count: int
    total: int
    x: int  # of the first one, row by row
    y: int
    values: tuple[str, str]  # its bytes


def differing(images: Sequence[tuple[Memory, Target]]) -> tuple[Pixels, npt.NDArray[np.bool_]] | None:
    """How two images differ, and where; None if they are of different shapes, or no pixel differs.

    Pixels of a compressed format are its blocks.
    """
    targets = [target for _, target in images]
    if any((t.width, t.height, t.format) != (targets[0].width, targets[0].height, targets[0].format) for t in targets):
        return None
    info = format_info(int(targets[0].format))
    if info is None:
        return None
    try:
        surfaces = [np.frombuffer(surface_bytes(memory, target), np.uint8) for memory, target in images]
    except FieldError:
        return None
    columns, rows = -(-targets[0].width // info.block_width), -(-targets[0].height // info.block_height)
    size = columns * rows * info.block_bits // 8
    left, right = (surface[:size].reshape(rows, columns, -1) for surface in surfaces)
    differ = where_different(left, right)
    if not differ.any():
        return None  # chroma planes alone
    y, x = (int(n) for n in np.unravel_index(int(differ.argmax()), differ.shape))
    return Pixels(int(differ.sum()), differ.size, x * info.block_width, y * info.block_height,
                  (left[y, x].tobytes().hex(), right[y, x].tobytes().hex())), differ
