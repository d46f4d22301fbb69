"""From a surface in memory to a file: PNG for what an eye can see, npy for exact numbers (spec/06 3.5)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from PIL import Image

from gen4emu.device.memory import Memory
from gen4emu.device.targets import Target
from gen4emu.device.tiling import SurfaceLayout, Swizzle
from gen4emu.errors import DecodeError
from gen4emu.hw.formats import Encoding, format_info
from gen4emu.image.texels import Array, decode
from gen4emu.image.yuv import read_planes, to_rgb

Pixels = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]


def read_channels(memory: Memory, target: Target, swizzle: Swizzle = Swizzle.NONE) -> dict[str, Array]:
    """The channels of one image of a surface; of decoded video, what an eye sees."""
    if target.chroma:
        return dict(to_rgb(*read_planes(memory, target, swizzle)))
    info = format_info(int(target.format))
    if info is None:
        raise DecodeError(f"format 0x{int(target.format):03x} is reserved")
    if info.encoding not in (Encoding.PLAIN, Encoding.YUV_422):
        raise DecodeError(f"{info.name} cannot be shown as a picture")
    cpp = info.block_bits // 8
    columns = -(-target.width // info.block_width)
    layout = SurfaceLayout(target.address, target.pitch, target.x + columns, target.y + target.height, cpp,
                           target.tiling, swizzle)
    data = layout.read(memory, target.x, target.y, columns, target.height)
    return decode(data, info, target.width, target.height)


def to_pixels(channels: dict[str, Array]) -> Pixels:
    """8-bit grey, RGB or RGBA; integers and floats beyond 0..1 are clipped.  One wide channel gives 16-bit grey."""
    if list(channels) == ["R"] and channels["R"].dtype == np.float32:
        grey = np.clip(np.nan_to_num(channels["R"]), 0.0, 1.0).astype(np.float64)
        return np.floor(grey * 65535.0 + 0.5).astype(np.uint16)
    height, width = next(iter(channels.values())).shape
    planes = [_byte_plane(channels[c]) if c in channels else np.zeros((height, width), np.uint8) for c in "RGB"]
    if "A" in channels:
        planes.append(_byte_plane(channels["A"]))
    return np.stack(planes, axis=2)


def _byte_plane(channel: Array) -> npt.NDArray[np.uint8]:
    if channel.dtype.kind in "ui":
        return np.clip(channel, 0, 255).astype(np.uint8)
    value = np.clip(np.nan_to_num(channel.astype(np.float64)), 0.0, 1.0)
    return np.floor(value * 255.0 + 0.5).astype(np.uint8)


def save(path: Path, channels: dict[str, Array]) -> None:
    """Write a .png or .npy file of a surface."""
    if path.suffix == ".npy":
        with replacing(path) as file:
            np.save(file, np.stack([channels[c] for c in channels], axis=2))
    else:
        save_pixels(path, to_pixels(channels))


def save_pixels(path: Path, pixels: Pixels) -> None:
    with replacing(path) as file:
        Image.fromarray(pixels).save(file, "PNG")


def save_planes(path: Path, planes: Iterable[npt.NDArray[np.uint8]]) -> None:
    """Decoded video as it is: one plane after the other."""
    with replacing(path) as file:
        for plane in planes:
            file.write(plane.tobytes())


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` when it is complete; nothing half-written stays behind.

    Devices and pipes are written in place: they must not be replaced by a file.
    """
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as there:
                yield there
            return
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as e:
        if e.filename is None:  # of a write: a full disk
            raise OSError(e.errno, e.strerror, os.fspath(path)) from None
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
