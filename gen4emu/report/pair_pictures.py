"""The pictures of pairs of draws that differ: both executions side by side, once more, up to the last such pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gen4emu.api.trace import Draw, Trace
from gen4emu.bisect.pixels import Pixels, differing
from gen4emu.device.targets import Target
from gen4emu.errors import DecodeError, HangError
from gen4emu.image import picture
from gen4emu.image.compare import where_different
from gen4emu.report.chunks import packed
from gen4emu.report.pictures import MOST_LINKS, Add, encoded

_Kept = tuple[str, picture.Pixels, int]  # the chunk, its pixels, the links after it


@dataclass(slots=True)
class PairPictures:
    """The pictures of a pair's targets, an entry for each target that differs."""

    targets: list[dict[str, Any]] = field(default_factory=list)
    pixels: int = 0  # that differ, in all of them


class PairReader:
    """Compares the targets of pairs, and adds their pictures as chunks up to a limit of bytes."""

    def __init__(self, add: Add, most_bytes: int) -> None:
        self._add, self._left_bytes = add, most_bytes
        self._kept: dict[Target, _Kept] = {}
        self._count = 0
        self.without_picture = 0

    def read(self, draws: tuple[Draw, Draw], indices: Sequence[int]) -> PairPictures:
        """The targets with these indices."""
        found = PairPictures()
        for index in indices:
            left, right = (draw.device.targets.latest[index:index + 1] for draw in draws)
            if left and right:
                found.targets.append(self._target(draws, (left[0], right[0]), found))
            else:
                side = "left" if left else "right"
                found.targets.append({"title": f"{_title((left or right)[0])} (only {side})", "left": None,
                                      "right": None, "mask": None, "pixels": None})
        return found

    def _target(self, draws: tuple[Draw, Draw], targets: tuple[Target, Target], found: PairPictures) -> dict[str, Any]:
        titles = [_title(target) for target in targets]
        entry: dict[str, Any] = {"title": titles[0] if titles[0] == titles[1] else f"{titles[0]} | {titles[1]}",
                                 "left": None, "right": None, "mask": None, "pixels": None}
        images = [(draw.memory, target) for draw, target in zip(draws, targets, strict=True)]
        known = differing(images)
        if known is not None:
            pixels, mask = known
            found.pixels += pixels.count
            rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
            entry["pixels"] = {"count": pixels.count, "total": pixels.total, "first": [pixels.x, pixels.y],
                               "values": list(pixels.values),
                               "box": [int(columns[0]), int(rows[0]), int(columns[-1]), int(rows[-1])]}
        if self._left_bytes <= 0:
            self.without_picture += 1
            return entry
        try:
            shown = [picture.read_pixels(memory, target) for memory, target in images]
        except DecodeError:
            return entry  # of a format or size that has no picture
        shown = _with_alpha(shown)
        entry["left"], entry["right"] = self._pictures(targets, shown)
        entry["mask"] = None if known is None else self._mask(known, shown)
        return entry

    def _pictures(self, targets: tuple[Target, Target], shown: list[picture.Pixels]) -> tuple[str, str]:
        """The left picture as what changed since the one before, the right one as what differs from the left one."""
        left, right = shown
        before = self._kept.get(targets[0])
        base, links = None, 0
        if before is not None and before[1].shape == left.shape and before[2] < MOST_LINKS:
            base, links = (before[0], before[1]), before[2] + 1
        name = self._chunk("picture-", encoded(left, base, _title(targets[0])))
        self._kept[targets[0]] = name, left, links
        twin = (name, left) if left.shape == right.shape and left.dtype == right.dtype else None
        return name, self._chunk("picture-", encoded(right, twin, _title(targets[1])))

    def _mask(self, known: tuple[Pixels, npt.NDArray[np.bool_]], shown: list[picture.Pixels]) -> str | None:
        """The pixels that differ, where the pictures are not exact."""
        _, mask = known
        if shown[0].shape != shown[1].shape:
            return None
        visible = where_different(*shown)
        if visible.shape != mask.shape or np.array_equal(visible, mask):
            return None
        height, width = mask.shape
        return self._chunk("mask-", packed({"width": width, "height": height}, np.packbits(mask).tobytes()))

    def _chunk(self, kind: str, text: str) -> str:
        name = f"{kind}{self._count}"
        self._count += 1
        self._left_bytes -= len(text)
        self._add(name, text)
        return name


def _with_alpha(shown: list[picture.Pixels]) -> list[picture.Pixels]:
    """Pictures have no alpha where all pixels are opaque: give both one if only one has it."""
    if {pixels.shape[2:] for pixels in shown} != {(3,), (4,)}:
        return shown
    return [pixels if pixels.shape[2] == 4 else np.dstack([pixels, np.full(pixels.shape[:2], 255, pixels.dtype)])
            for pixels in shown]


def _title(target: Target) -> str:
    level = f" level {target.level}" if target.level else ""
    part = f" slice {target.slice}" if target.slice else ""
    return (f"{target.kind} 0x{target.address:08x} {target.format.name} {target.width}x{target.height}" + level + part)


def together(traces: tuple[Trace, Trace], wanted: Sequence[tuple[int, int]]) \
        -> Iterator[tuple[int, int, Draw, Draw]]:
    """Execute both traces and yield the draws with these numbers, which ascend on both sides.

    A hang ends it, and draws that do not end by themselves are left out.
    """
    if not wanted:
        return
    sides = [trace.draws(f"{min(numbers)}-{max(numbers)}")
             for trace, numbers in zip(traces, zip(*wanted, strict=True), strict=True)]
    left: Draw | None = None
    right: Draw | None = None
    try:
        with ThreadPoolExecutor(1) as pool:
            for pair in wanted:
                execution = pool.submit(_up_to, sides[1], right, pair[1])
                left, right = _up_to(sides[0], left, pair[0]), execution.result()
                if left is None or right is None:
                    return
                if (left.number, right.number) == pair:
                    yield *pair, left, right
    except HangError:
        return
    finally:
        for one in sides:
            one.close()  # type: ignore[attr-defined]  # they are generators


def _up_to(draws: Iterator[Draw], now: Draw | None, number: int) -> Draw | None:
    """Execute up to a draw, or the next one after it; None at the end."""
    while now is None or now.number < number:
        now = next(draws, None)
        if now is None:
            return None
    return now
