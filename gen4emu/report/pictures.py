"""The pictures of a report: thumbnails of every draw in sheets, and full pictures as what changed since others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, features

from gen4emu.device.memory import Memory
from gen4emu.device.targets import Target
from gen4emu.errors import DecodeError
from gen4emu.image.compare import where_different
from gen4emu.image.picture import Pixels, read_pixels
from gen4emu.report.chunks import THUMBNAILS, packed, plain

SHEET_COLUMNS = 16
PICTURE_BYTES = 8 << 20  # of full pictures in base64, unless the user names draws
MOST_LINKS = 16  # pictures between one and the whole picture that it depends on
_WIDE_SIDE = 4 / 3  # of thumbnails

Add = Callable[[str, str], None]  # the name and the text of a chunk


class Thumbnails:
    """Small pictures in sheets of 256."""

    def __init__(self, add: Add, width: int) -> None:
        self._add = add
        self.width, self.height = width, max(1, round(width / _WIDE_SIDE))
        self.type = "image/webp" if features.check("webp") else "image/png"
        self._count = 0
        self._sheet: Image.Image | None = None

    def take(self, pixels: Pixels) -> int:
        """The number of the thumbnail of a picture."""
        place = self._count % THUMBNAILS
        if self._sheet is None:
            self._sheet = Image.new("RGB", (self.width * SHEET_COLUMNS, self.height * (THUMBNAILS // SHEET_COLUMNS)))
        image = Image.fromarray(_rgb(pixels))
        scale = min(self.width / image.width, self.height / image.height)
        size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
        small = image.resize(size, Image.Resampling.BOX if scale < 1 else Image.Resampling.NEAREST,
                             reducing_gap=1.0 if scale < 1 else None)
        x = place % SHEET_COLUMNS * self.width + (self.width - size[0]) // 2
        y = place // SHEET_COLUMNS * self.height + (self.height - size[1]) // 2
        self._sheet.paste(small, (x, y))
        self._count += 1
        if self._count % THUMBNAILS == 0:
            self.flush()
        return self._count - 1

    def flush(self) -> None:
        """Write the sheet that is not full."""
        if self._sheet is None:
            return
        number = (self._count - 1) // THUMBNAILS
        rows = -(-((self._count - 1) % THUMBNAILS + 1) // SHEET_COLUMNS)
        out = BytesIO()
        sheet = self._sheet.crop((0, 0, self._sheet.width, rows * self.height))
        if self.type == "image/webp":
            sheet.save(out, "WEBP", quality=75, method=2)
        else:
            sheet.save(out, "PNG")
        self._add(f"thumbs-{number}", plain(out.getvalue()))
        self._sheet = None


def _rgb(pixels: Pixels) -> npt.NDArray[np.uint8]:
    """The channels that a thumbnail shows: no alpha, grey as three equal channels."""
    shown: npt.NDArray[Any] = pixels >> 8 if pixels.dtype == np.uint16 else pixels
    if shown.ndim == 2:
        shown = np.repeat(shown[:, :, np.newaxis], 3, axis=2)
    return np.ascontiguousarray(shown[:, :, :3].astype(np.uint8, copy=False))


def encoded(pixels: Pixels, base: tuple[str, Pixels] | None, name: str) -> str:
    """The text of a chunk with a picture: all of it, or the rectangle that differs from the picture of another chunk.

    That picture has the same shape.  Each row of bytes is stored as its difference from the row above.
    """
    height, width = pixels.shape[:2]
    x = y = 0
    w, h = width, height
    if base is not None:
        changed = where_different(base[1], pixels)
        rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
        y, h = (int(rows[0]), int(rows[-1] - rows[0]) + 1) if rows.size else (0, 0)
        x, w = (int(columns[0]), int(columns[-1] - columns[0]) + 1) if columns.size else (0, 0)
    channels = 1 if pixels.ndim == 2 else pixels.shape[2]
    head = {"width": width, "height": height, "x": x, "y": y, "w": w, "h": h, "channels": channels,
            "wide": pixels.dtype == np.uint16, "base": None if base is None else base[0], "name": name}
    data = np.ascontiguousarray(pixels[y:y + h, x:x + w]).view(np.uint8).reshape(h, w * channels * pixels.itemsize)
    changes = data.copy()
    changes[1:] -= data[:-1]  # deflate finds gradients only as differences, as in PNG files
    return packed(head, changes.tobytes())


@dataclass(slots=True)
class _Known:
    """A surface as it was last read."""

    mark: int
    pixels: Pixels
    thumbnail: int
    chunk: str | None  # that holds these pixels
    links: int


class Pictures:
    """Reads the targets of draws, once for each change."""

    def __init__(self, add: Add, thumbnails: Thumbnails) -> None:
        self._add, self._thumbnails = add, thumbnails
        self._known: dict[Target, _Known] = {}
        self._count = 0
        self.bytes = 0  # of full pictures

    def thumbnail(self, memory: Memory, target: Target) -> int:
        """The thumbnail of a target as it is now; -1 if it has no picture."""
        known = self._read(memory, target)
        if known is None:
            return -1
        if known.thumbnail < 0:
            known.thumbnail = self._thumbnails.take(known.pixels)
        return known.thumbnail

    def before_and_after(self, memory: Memory, target: Target) -> dict[str, Any] | None:
        """The full pictures of a target before this draw, as far as they are known, and now."""
        earlier = self._known.get(target)
        before = None if earlier is None else self._chunk(target, earlier, None)
        known = self._read(memory, target)
        if known is None:
            return None
        after = self._chunk(target, known, earlier)
        title = (f"{target.kind} 0x{target.address:08x} {target.format.name} {target.width}x{target.height}"
                 + (f" level {target.level}" if target.level else "")
                 + (f" slice {target.slice}" if target.slice else ""))
        return {"title": title, "after": after, "before": before}

    def latest(self, target: Target) -> str | None:
        """The full picture of a target as it was last read."""
        known = self._known.get(target)
        return None if known is None else self._chunk(target, known, None)

    def surface(self, memory: Memory, target: Target) -> str | None:
        """The full picture of a surface that was not drawn to."""
        known = self._read(memory, target)
        return None if known is None else self._chunk(target, known, None)

    def targets(self) -> list[Target]:
        return list(self._known)

    def _read(self, memory: Memory, target: Target) -> _Known | None:
        known = self._known.get(target)
        extent = min(target.pitch * ((target.y + target.height + 31) // 32 * 32), memory.size - target.address)
        if known is not None and not memory.changed_since(known.mark, target.address, extent):
            return known
        mark = memory.mark()
        try:
            pixels = read_pixels(memory, target)
        except DecodeError:
            return None  # of a format or size that has no picture
        if known is not None and known.pixels.shape == pixels.shape and np.array_equal(known.pixels, pixels):
            known.mark = mark
            return known
        self._known[target] = found = _Known(mark, pixels, -1, None, 0)
        return found

    def _chunk(self, target: Target, known: _Known, earlier: _Known | None) -> str:
        """The chunk of a picture, which is written if it is not yet."""
        if known.chunk is not None:
            return known.chunk
        base = None
        if (earlier is not None and earlier.chunk is not None and earlier.links < MOST_LINKS
                and earlier.pixels.shape == known.pixels.shape):
            base, known.links = (earlier.chunk, earlier.pixels), earlier.links + 1
        known.chunk = f"picture-{self._count}"
        self._count += 1
        text = encoded(known.pixels, base, f"{target.kind} 0x{target.address:08x}")
        self.bytes += len(text)
        self._add(known.chunk, text)
        return known.chunk
