"""From a surface in memory to pixels and to a file: PNG to look at, npy for exact numbers.

Formats whose channels have at most 16 bits are converted by the core (native/core/picture.c), all others by numpy;
`to_pixels` defines the result of both.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

import numpy as np
import numpy.typing as npt

from gen4emu._native import ffi, lib
from gen4emu.device.memory import Memory, Missing, ProbePort, Unit
from gen4emu.device.targets import Target, check_picture_size
from gen4emu.device.tiling import SurfaceLayout, Swizzle
from gen4emu.errors import DecodeError
from gen4emu.hw.formats import ChannelType, Encoding, FormatInfo, format_info
from gen4emu.image.digest import PixelsDigest
from gen4emu.image.png import write_png
from gen4emu.image.texels import Array, decode, decode_channel
from gen4emu.image.yuv import read_planes, to_rgb

Pixels = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]
AnyPixels = TypeVar("AnyPixels", bound=npt.NDArray[np.generic])
Buffer = npt.NDArray[np.uint8]

DepthRange = tuple[float, float]  # the depths that become black and white
FULL_RANGE: DepthRange = (0.0, 1.0)
AUTO_RANGE: DepthRange = (-np.inf, np.inf)  # from the smallest to the largest depth of the picture

_BAND_TEXELS = 1 << 20  # that numpy converts at once: tens of megabytes
_MOST_TABLE_BITS = 16
_BYTE = np.arange(256, dtype=np.uint16)


# --- surfaces to channels --------------------------------------------------------------------------------------------
def read_channels(memory: Memory, target: Target, swizzle: Swizzle = Swizzle.NONE) -> dict[str, Array]:
    """The channels of one image of a surface; of decoded video, what an eye sees."""
    if target.chroma:
        _check_size(target)
        return dict(to_rgb(*read_planes(memory, target, swizzle)))
    info, layout = _layout(target, swizzle)
    columns = -(-target.width // info.block_width)
    data = layout.read(memory, target.x, target.y, columns, target.height)
    return decode(data, info, target.width, target.height)


def _layout(target: Target, swizzle: Swizzle) -> tuple[FormatInfo, SurfaceLayout]:
    _check_size(target)
    info = format_info(int(target.format))
    if info is None:
        raise DecodeError(f"format 0x{int(target.format):03x} is reserved")
    if info.encoding not in (Encoding.PLAIN, Encoding.YUV_422):
        raise DecodeError(f"{info.name} cannot be shown as a picture")
    columns = -(-target.width // info.block_width)
    return info, SurfaceLayout(target.address, target.pitch, target.x + columns, target.y + target.height,
                               info.block_bits // 8, target.tiling, swizzle)


def _check_size(target: Target) -> None:
    problem = check_picture_size(target.width, target.height)
    if problem is not None:
        raise DecodeError(f"picture of the surface at 0x{target.address:08x}: {problem}")


def channel_bands(memory: Memory, target: Target, swizzle: Swizzle = Swizzle.NONE) -> Iterator[dict[str, Array]]:
    """As `read_channels`, in pieces of whole rows, so that a large surface does not need many times its memory."""
    rows = max(2, _BAND_TEXELS // max(1, target.width) & ~1)
    if target.chroma:
        _check_size(target)
        luma, cb, cr = read_planes(memory, target, swizzle)
        for top in range(0, target.height, rows):
            yield dict(to_rgb(luma[top:top + rows], *(c[top // 2:(top + rows) // 2] for c in (cb, cr))))
        return
    for top in range(0, target.height, rows):
        yield read_channels(memory, replace(target, y=target.y + top, height=min(rows, target.height - top)), swizzle)


# --- channels to pixels ----------------------------------------------------------------------------------------------
def to_pixels(channels: dict[str, Array]) -> Pixels:
    """8-bit grey, RGB or RGBA; integers and floats beyond 0..1 are clipped.  One wide channel gives 16-bit grey."""
    if _is_grey(channels):
        return _grey_plane(channels["R"])
    height, width = next(iter(channels.values())).shape
    planes = [_byte_plane(channels[c]) if c in channels else np.zeros((height, width), np.uint8) for c in "RGB"]
    if "A" in channels:
        planes.append(_byte_plane(channels["A"]))
    return np.stack(planes, axis=2)


def _is_grey(channels: dict[str, Array]) -> bool:
    return list(channels) == ["R"] and channels["R"].dtype == np.float32


def _grey_plane(channel: Array) -> npt.NDArray[np.uint16]:
    grey = np.clip(np.nan_to_num(channel), 0.0, 1.0).astype(np.float64)
    return np.floor(grey * 65535.0 + 0.5).astype(np.uint16)


def _byte_plane(channel: Array) -> npt.NDArray[np.uint8]:
    if channel.dtype.kind in "ui":
        return np.clip(channel, 0, 255).astype(np.uint8)
    with np.errstate(invalid="ignore"):  # of a signaling NaN
        value = np.clip(np.nan_to_num(channel.astype(np.float64)), 0.0, 1.0)
    return np.floor(value * 255.0 + 0.5).astype(np.uint8)


# --- surfaces to pixels, fast ----------------------------------------------------------------------------------------
class PixelReader:
    """Reads surfaces as pixels for a file, without an alpha channel that is 255 throughout."""

    def __init__(self, memory: Memory, target: Target, swizzle: Swizzle = Swizzle.NONE,
                 depth_range: DepthRange | None = None) -> None:
        """`depth_range` holds for depth buffers; `range` has the one that was used after `read`."""
        self.range = None if depth_range is None or target.kind != "depth" else depth_range
        self._memory, self._target, self._swizzle = memory, target, swizzle
        self._native: Any = None
        _check_size(target)
        if not target.chroma:
            _, self._layout = _layout(target, swizzle)
            if self.range is None and target.kind != "stencil":
                self._native = _native_format(int(target.format))
        self.max_bytes = target.width * target.height * 4  # of the pixels, whatever they hold

    def read(self, buffer: Buffer | None = None) -> Pixels:
        """The pixels, in `buffer` if one of at least `max_bytes` is given: it belongs to the result then."""
        space = np.empty(self.max_bytes, np.uint8) if buffer is None else buffer
        if self._native is None:
            return self._read_bands(space)
        if self._native.channels == 4:
            pixels = self._read_native(space, 3)
            if pixels is not None:
                return pixels
        pixels = self._read_native(space, self._native.channels)
        assert pixels is not None
        return pixels

    def _read_native(self, space: Buffer, channels: int) -> Pixels | None:
        """None: the alpha channel that was to be left out is not 255 throughout."""
        target, native = self._target, self._native
        size = target.width * target.height * channels * (2 if native.wide else 1)
        opaque = ffi.new("bool *")
        with ProbePort(self._memory, Missing.ZERO, Unit.CPU) as port:
            status = lib.g4_picture_read(port, self._layout._native(), target.x, target.y, target.width, target.height,
                                         native, channels, ffi.from_buffer(space), space.nbytes, opaque)
        if status != lib.G4_OK:
            raise DecodeError(f"the surface at 0x{target.address:08x} cannot be read as a picture")
        if not opaque[0]:
            return None
        pixels: Pixels = space[:size].view(np.uint16) if native.wide else space[:size]
        return pixels.reshape((target.height, target.width) if channels == 1
                              else (target.height, target.width, channels))

    def _read_bands(self, space: Buffer) -> Pixels:
        whole: Pixels | None = None
        top = 0
        if self.range is not None:
            self.range = self._used_range(self.range)
        for channels in channel_bands(self._memory, self._target, self._swizzle):
            band = self._convert(channels)
            if whole is None:
                shape = (self._target.height, *band.shape[1:])
                whole = space[:int(np.prod(shape)) * band.itemsize].view(band.dtype).reshape(shape)
            whole[top:top + len(band)] = band
            top += len(band)
        assert whole is not None
        return without_opaque_alpha(whole)

    def _convert(self, channels: dict[str, Array]) -> Pixels:
        if self.range is not None:
            low, high = (np.float64(bound) for bound in self.range)
            return _grey_plane((channels["R"].astype(np.float64) - low) / (high - low))
        if self._target.kind == "stencil":
            return channels["G"].astype(np.uint8)
        return to_pixels(channels)

    def _used_range(self, wanted: DepthRange) -> DepthRange:
        """The smallest and the largest depth for `AUTO_RANGE`; the full range if all are alike."""
        if wanted != AUTO_RANGE:
            return wanted
        low, high = np.inf, -np.inf
        for channels in channel_bands(self._memory, self._target, self._swizzle):
            depth = channels["R"][np.isfinite(channels["R"])]
            if depth.size:
                low, high = min(low, float(depth.min())), max(high, float(depth.max()))
        return (low, high) if low < high else FULL_RANGE

    @property
    def is_exact(self) -> bool:
        """Whether different texels always give different pixels."""
        native = self._native
        return native is not None and all(native.channel[i].bits <= 8 for i in range(native.channels))

    def raw(self) -> bytearray:
        """The texels as they are in memory, untiled."""
        target = self._target
        columns = self._layout.width - target.x
        return self._layout.read(self._memory, target.x, target.y, columns, target.height)


def read_pixels(memory: Memory, target: Target, swizzle: Swizzle = Swizzle.NONE) -> Pixels:
    """A surface as `replay` writes it: 8-bit RGB, RGBA where a pixel is not opaque, or 16-bit grey."""
    return PixelReader(memory, target, swizzle).read()


def without_opaque_alpha(pixels: AnyPixels) -> AnyPixels:
    """RGBA whose alpha is 255 throughout as RGB, everything else as it is."""
    if pixels.ndim == 3 and pixels.shape[2] == 4 and (pixels[:, :, 3] == 255).all():
        return cast(AnyPixels, np.ascontiguousarray(pixels[:, :, :3]))
    return pixels


@cache
def _native_format(form: int) -> Any:
    """The `struct g4_picture_format *` of a surface format; None if the core cannot convert it."""
    info = format_info(form)
    if info is None or info.encoding is not Encoding.PLAIN or info.palette is not None or info.block_bits % 8 or \
            info.block_bits > 64:
        return None
    stored = [(name, c) for name, c in zip("RGBA", info.outputs, strict=True)
              if c.type not in (ChannelType.ZERO, ChannelType.ONE)]
    if not stored or any(not 0 < c.bits <= _MOST_TABLE_BITS or c.type not in _CONVERTED for _, c in stored):
        return None
    samples = {name: decode_channel(c) for name, c in stored}
    wide = _is_grey(samples)
    channels = 1 if wide else 4 if "A" in samples else 3
    native = ffi.new("struct g4_picture_format *")
    native.texel_bytes, native.channels, native.wide = info.block_bits // 8, channels, wide
    tables = []
    for place, name in zip(native.channel, "RGBA"[:channels], strict=False):
        table = np.zeros(1, np.uint16)
        if name in samples:
            channel = dict(stored)[name]
            place.at, place.bits = channel.at, channel.bits
            table = _grey_plane(samples[name]) if wide else _byte_plane(samples[name]).astype(np.uint16)
        if not np.array_equal(table, _BYTE) or place.at % 8 or place.at >= 32:
            tables.append(np.ascontiguousarray(table))
            place.table = ffi.cast("const uint16_t *", ffi.from_buffer(tables[-1]))
    _tables[form] = tables
    return native


_tables: dict[int, list[npt.NDArray[np.uint16]]] = {}  # keeps them alive: the structures point to them
_CONVERTED = (ChannelType.UNORM, ChannelType.SNORM, ChannelType.UINT, ChannelType.SINT, ChannelType.USCALED,
              ChannelType.SSCALED, ChannelType.FLOAT, ChannelType.UFLOAT)


# --- files -----------------------------------------------------------------------------------------------------------
def save_pixels(path: Path, pixels: Pixels) -> str:
    """Write a PNG file; alpha that is 255 throughout is left out.  Returns the digest of the pixels."""
    return save_stripped(path, without_opaque_alpha(pixels))


def save_stripped(path: Path, pixels: Pixels) -> str:
    """As `save_pixels`, of pixels that have no alpha channel that is 255 throughout."""
    digest = PixelsDigest((*pixels.shape, 1)[:3], pixels.dtype)
    with replacing(path) as file:
        write_png(file, pixels, digest)
    return digest.hexdigest()


def save_npy(path: Path, memory: Memory, target: Target) -> str:
    """Write the exact channels of a surface as rows of pixels of channels, without holding all of them; the digest."""
    digest: PixelsDigest | None = None
    with replacing(path) as file:
        for channels in channel_bands(memory, target):
            band = np.ascontiguousarray(np.stack([channels[c] for c in channels], axis=2))
            if digest is None:
                shape = (target.height, *band.shape[1:])
                header = {"descr": band.dtype.str, "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(file, header)
                digest = PixelsDigest(shape, band.dtype)
            file.write(band.data)
            digest.update(band)
    assert digest is not None  # a picture has rows
    return digest.hexdigest()


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
    try:
        if not _is_missing_or_regular(path):
            path = Path(os.path.realpath(path))
            if path.exists() and not path.is_file():
                with path.open("wb") as there:
                    yield there
                return
        with _create_beside(path) as file:
            try:
                yield file
                file.close()
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as e:
        if e.filename is None:  # of a write: a full disk
            raise OSError(e.errno, e.strerror, os.fspath(path)) from None
        raise


def _is_missing_or_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return True


def _create_beside(path: Path) -> BinaryIO:
    """A new file in the directory of `path`, which is made if it is missing."""
    temporary = f"{path}{secrets.token_hex(4)}.part"
    try:
        return open(temporary, "xb")
    except (FileNotFoundError, NotADirectoryError):
        path.parent.mkdir(parents=True, exist_ok=True)
        return open(temporary, "xb")
