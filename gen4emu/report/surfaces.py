"""The contents of the surfaces of a report: the images of each, and its first bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from gen4emu.device.device import Device
from gen4emu.device.memory import Missing
from gen4emu.device.targets import Target
from gen4emu.report.chunks import packed
from gen4emu.report.pictures import Pictures
from gen4emu.report.states import SurfaceUse

MOST_IMAGES = 256  # with pictures
IMAGE_BYTES = 3 << 20  # of these pictures in base64
DUMP_BYTES = 1 << 20  # of all bytes in base64
_MOST_DUMPED = 64 << 10  # of a surface
_UNKNOWN_BYTES = 4096  # of a surface whose size is unknown: a buffer
_TILE_ROWS = 32


class SurfaceContents:
    """Reads surfaces at the end of a trace, as long as their chunks are small."""

    def __init__(self, add: Callable[[str, str], None], pictures: Pictures, device: Device) -> None:
        self._add, self._pictures, self._device = add, pictures, device
        self._most = pictures.bytes + IMAGE_BYTES
        self._images = self._bytes = 0
        self.lost = 0  # images and dumps that found no room

    def images(self, chosen: Target | None, use: SurfaceUse | None) -> list[dict[str, Any]]:
        """The pictures of a surface: of each level, slice and sample if a state block of a sampler describes it."""
        found = []
        for target, sample in self._described(chosen, use):
            if self._images >= MOST_IMAGES or self._pictures.bytes >= self._most:
                self.lost += 1
                continue
            picture = self._pictures.surface(self._device.memory, target)
            if picture is None:
                continue
            self._images += 1
            found.append({"level": target.level, "slice": target.slice, "sample": sample, "width": target.width,
                          "height": target.height, "picture": picture})
        return found

    def _described(self, chosen: Target | None, use: SurfaceUse | None) -> Iterator[tuple[Target, int]]:
        finder = self._device.targets
        images = [] if use is None or not use.sampled else list(finder.images(use.sampled))
        if len(images) < 2 or use is None:
            if chosen is not None:
                yield chosen, 0
            return
        samples = finder.samples_of(use.sampled)
        for target in images:
            yield replace(target, slice=target.slice // samples), target.slice % samples

    def bytes_of(self, address: int, chosen: Target | None) -> str | None:
        """The chunk with the bytes of a surface in the order of their addresses."""
        size = _UNKNOWN_BYTES
        if chosen is not None and chosen.pitch:
            size = chosen.pitch * -(-(chosen.y + chosen.height) // _TILE_ROWS) * _TILE_ROWS
        shown = min(size, _MOST_DUMPED, self._device.memory.size - address)
        if shown <= 0 or self._bytes >= DUMP_BYTES:
            self.lost += 1
            return None
        data = self._device.memory.read(address, shown, Missing.ZERO)
        name = f"bytes-{address:08x}"
        text = packed({"address": address, "bytes": size}, data)
        self._bytes += len(text)
        self._add(name, text)
        return name
