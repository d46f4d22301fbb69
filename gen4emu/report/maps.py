"""The overlays of a report: how often the pixels of a draw, and of its frame, were dropped, written and shaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gen4emu.core_enums import CountedPixels as P
from gen4emu.device.device import Device
from gen4emu.device.targets import Target
from gen4emu.errors import Gen4emuError
from gen4emu.report.chunks import packed

MAPS_BYTES = 4 << 20  # of maps in base64, unless the user names draws
MOST_DRAWS = 1024  # whose maps are read, unless the user names draws

Maps = Mapping[P, npt.NDArray[Any]]  # of integers
Names = dict[str, str]  # the chunks of a draw: of itself ("draw") and of its frame ("frame")


@dataclass(slots=True)
class _Sum:
    """The effects of a frame's draws on one surface."""

    name: str  # of the chunk
    shape: tuple[int, int]
    maps: Maps
    draws: list[int] = field(default_factory=list)
    is_wanted: bool = False


class PixelOverlays:
    """Takes the maps of every draw until their chunks are too large; a frame that is not complete then has none."""

    def __init__(self, add: Callable[[str, str], None], has_limit: bool) -> None:
        self._add, self._has_limit = add, has_limit
        self._frame = -1
        self._sums: dict[int, _Sum] = {}  # of the frame, by address
        self._names: dict[int, Names] = {}
        self._bytes = self._draws = 0
        self.is_full = False
        self.incomplete = 0  # draws with more pixels than the core counts

    def draw_done(self, device: Device, number: int, frame: int, target: Target | None, full: bool) -> None:
        """Take the maps of a draw.  `full`: the report shows them, and those of its frame."""
        if self.is_full:
            return
        if frame != self._frame:
            self._end_frame()
            self._frame = frame
        if self._has_limit and (self._bytes >= MAPS_BYTES or self._draws >= MOST_DRAWS):
            self.is_full = True
            self._sums.clear()
            device.map_pixels(False)
            return
        if target is None:
            device.clear_pixel_maps()
            return
        self._draws += 1
        found = device.pixel_maps(target.width, target.height)
        device.clear_pixel_maps()
        if not found.complete:
            self.incomplete += 1
            return
        if not any(one.any() for one in found.maps.values()):
            return
        if full:
            self._store(f"maps-{number}", found.maps)
            self._names[number] = {"draw": f"maps-{number}"}
        self._accumulate(number, target, found.maps, full)

    def _accumulate(self, number: int, target: Target, maps: Maps, full: bool) -> None:
        shape = (target.height, target.width)
        known = self._sums.get(target.address)
        if known is None or known.shape != shape:
            zero = {kind: np.zeros(shape, np.uint64) for kind in maps}
            name = f"maps-frame-{self._frame}-{target.address:08x}-{shape[1]}x{shape[0]}"
            known = self._sums[target.address] = _Sum(name, shape, zero)
        for kind, counts in maps.items():
            np.add(known.maps[kind], counts, out=known.maps[kind])
        known.draws.append(number)
        known.is_wanted |= full

    def _end_frame(self) -> None:
        for one in self._sums.values():
            if one.is_wanted and len(one.draws) > 1:
                self._store(one.name, one.maps)
                for number in one.draws:
                    self._names.setdefault(number, {})["frame"] = one.name
        self._sums.clear()

    def _store(self, name: str, maps: Maps) -> None:
        text = encoded(maps)
        self._bytes += len(text)
        self._add(name, text)

    def names(self) -> dict[int, Names]:
        """The chunks of each draw that has some.  Call it when the trace has ended."""
        self._end_frame()
        return self._names


class SummedOverlays:
    """Adds up what draws do to the pixels of one surface."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._maps: dict[P, npt.NDArray[Any]] = {}

    def draw_done(self, device: Device, counts: bool) -> None:
        """Call after each draw of a device that maps pixels; those that do not count are left out."""
        target = self._target
        if counts and any((t.address, t.width, t.height) == (target.address, target.width, target.height)
                          for t in device.targets.latest):
            found = device.pixel_maps(target.width, target.height)
            if not found.complete:
                raise Gen4emuError("a draw has more pixels than the counters can hold")
            for kind, one in found.maps.items():
                self._maps[kind] = one.astype(np.uint64) + self._maps.get(kind, np.uint64(0))
        device.clear_pixel_maps()

    def encoded(self) -> str:
        """The text of a chunk."""
        shape = (self._target.height, self._target.width)
        return encoded(self._maps or {kind: np.zeros(shape, np.uint64) for kind in P})


def encoded(maps: Maps) -> str:
    """The text of a chunk: planes with counts other than 0, in integers as large as the largest count needs."""
    discarded = maps[P.ALPHA_FAILED]
    if not np.array_equal(maps[P.SHADED], maps[P.ENDED]):
        killed = np.maximum(maps[P.SHADED].astype(np.int64) - maps[P.ENDED].astype(np.int64), 0)
        discarded = killed + discarded.astype(np.int64)
    planes: dict[str, npt.NDArray[Any]] = {
        "covered": maps[P.COVERED], "stencil failed": maps[P.STENCIL_FAILED], "depth failed": maps[P.DEPTH_FAILED],
        "discarded": discarded, "written": maps[P.WRITTEN], "unwritten": maps[P.UNWRITTEN],
        "instructions": maps[P.INSTRUCTIONS],
    }
    head = []
    data = b""
    for name, counts in planes.items():
        most = min(int(counts.max(initial=0)), 0xffffffff)
        if most:
            size = 1 if most < 1 << 8 else 2 if most < 1 << 16 else 4
            head.append({"name": name, "bytes": size})
            data += (np.minimum(counts, 0xffffffff) if size == 4 else counts).astype(f"<u{size}").tobytes()
    height, width = maps[P.COVERED].shape
    return packed({"width": width, "height": height, "planes": head}, data)
