"""Hierarchical depth alone, for any number of samples, beside a depth buffer without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gen4emu.hw.gen4.pipeline import DepthFormat
from gen4emu.hw.gen4.state import CompareFunction
from tests.harness.native import ffi, harness

D24, D16, D32F = DepthFormat.D24_UNORM_X8_UINT, DepthFormat.D16_UNORM, DepthFormat.D32_FLOAT
UNDECIDED, PASS, FAIL = range(3)
EVERYWHERE = ((-64, -64), (1000, -64), (-64, 1000))  # a triangle that covers the screen, pixels


@dataclass(frozen=True, slots=True)
class Half:
    mask: int
    minimum: int
    maximum: int

    @classmethod
    def decode(cls, slot: int) -> Half:
        view = harness().g4_hiz_bench_decode(slot)
        return cls(view.mask, view.minimum, view.maximum)

    @property
    def range(self) -> tuple[int, int]:
        return self.minimum, self.maximum


class Model:
    """A depth buffer with entries, and the same one without, which must always hold the same depths."""

    def __init__(self, width: int = 8, height: int = 4, samples: int = 1, depth_format: DepthFormat = D24, *,
                 exact: bool = False) -> None:
        self.size, self.samples = (width, height), samples
        self._handle = ffi.gc(harness().g4_hiz_model_new(width, height, samples, int(depth_format), exact),
                              harness().g4_hiz_model_free)

    def clear(self, value: float, rectangle: Sequence[int] | None = None) -> None:
        harness().g4_hiz_model_clear(self._handle, value, rectangle or (0, 0, *self.size))

    def draw(self, plane: tuple[float, float, float], triangle: Sequence[tuple[float, float]] = EVERYWHERE, *,
             function: int = CompareFunction.ALWAYS, **fields: Any) -> int:
        """A triangle; `plane` is C0, Cx, Cy.  The number of samples that should pass: see `difference`."""
        draw = ffi.new("struct g4_hiz_model_draw *", {
            "c0": plane[0], "cx": plane[1], "cy": plane[2], "function": int(function), "test": True, "write": True,
            "maximum": 1.0, "x": [round(16 * x) for x, _ in triangle],
            "y": [round(16 * y) for _, y in triangle]} | fields)
        return int(harness().g4_hiz_model_draw(self._handle, draw))

    def pixels(self, covered: Mapping[int, int], depth: int, *, function: int = CompareFunction.ALWAYS, column: int = 0,
               row: int = 0, **fields: Any) -> int:
        """Samples of pixels of a group, all of one depth.  The number that should pass."""
        masks, depths = [0] * 32, [0] * 512
        for pixel, samples in covered.items():
            masks[pixel] = samples
            depths[16 * pixel:16 * pixel + 16] = [depth] * 16
        pixels = ffi.new("struct g4_hiz_model_pixels *", {
            "covered": masks, "depth": depths, "function": int(function), "test": True, "write": True} | fields)
        return int(harness().g4_hiz_model_pixels(self._handle, column, row, pixels))

    def resolve(self) -> None:
        harness().g4_hiz_model_resolve(self._handle)

    def ambiguate(self) -> None:
        harness().g4_hiz_model_ambiguate(self._handle)

    def soak(self, seed: int, steps: int) -> int:
        return int(harness().g4_hiz_model_soak(self._handle, seed, steps))

    def exhaust(self) -> int:
        return int(harness().g4_hiz_model_exhaust(self._handle))

    def depth(self, x: int, y: int, sample: int = 0) -> int:
        return int(harness().g4_hiz_model_depth(self._handle, x, y, sample))

    def stored(self, x: int, y: int, sample: int = 0) -> int:
        """The contents of the depth buffer, up to date or not."""
        return int(harness().g4_hiz_model_stored(self._handle, x, y, sample))

    def entry(self, column: int = 0, row: int = 0) -> tuple[int, int]:
        slots = ffi.new("uint64_t[2]")
        harness().g4_hiz_model_entry(self._handle, column, row, slots)
        return slots[0], slots[1]

    def set_entry(self, entry: tuple[int, int], column: int = 0, row: int = 0) -> None:
        harness().g4_hiz_model_set_entry(self._handle, column, row, list(entry))

    def half(self, half: int = 0, column: int = 0, row: int = 0) -> Half:
        return Half.decode(self.entry(column, row)[half])

    @property
    def is_plane(self) -> bool:
        return is_plane(self.entry())

    @property
    def counts(self) -> dict[str, int]:
        raw = ffi.new("struct g4_hiz_counts *")
        harness().g4_hiz_model_counts(self._handle, raw)
        return {name: int(getattr(raw, name)) for name, _ in ffi.typeof("struct g4_hiz_counts").fields}

    @property
    def base(self) -> tuple[int, int, int]:
        """Bytes that the depth buffer without entries read, wrote and cleared, counted by itself."""
        raw = ffi.new("uint64_t[3]")
        harness().g4_hiz_model_base(self._handle, raw)
        return raw[0], raw[1], raw[2]

    @property
    def census(self) -> tuple[int, int, int, int]:
        """Groups of planes, of ranges, of the clear value alone, and unknown ones."""
        raw = ffi.new("uint32_t[4]")
        harness().g4_hiz_model_census(self._handle, raw)
        return raw[0], raw[1], raw[2], raw[3]

    @property
    def difference(self) -> Any:
        """The first one; `found` is False without."""
        return harness().g4_hiz_model_difference(self._handle)


def is_plane(entry: tuple[int, int]) -> bool:
    return bool(harness().g4_hiz_bench_is_plane(list(entry)))


def plane_entry(c0: float, cx: float, cy: float) -> tuple[int, int] | None:
    """None: the plane has no entry."""
    slots = ffi.new("uint64_t[2]")
    return (slots[0], slots[1]) if harness().g4_hiz_bench_encode_plane(c0, cx, cy, slots) else None


def plane_value(entry: tuple[int, int], x: float, y: float) -> float:
    return float(harness().g4_hiz_bench_plane_value(list(entry), x, y))


def encode(mask: int, minimum: int, maximum: int) -> int:
    return int(harness().g4_hiz_bench_encode(mask, minimum, maximum))


def verdict(function: CompareFunction, source: tuple[float, float], destination: tuple[float, float], *,
            is_clear: bool = False) -> int:
    return int(harness().g4_hiz_bench_verdict(int(function), source, destination, is_clear))


def bounds(depth_format: DepthFormat, depth: int) -> tuple[int, int] | None:
    """The 24 bits below and above a depth; None: it is outside of 0..1."""
    found = ffi.new("uint32_t[2]")
    return (found[0], found[1]) if harness().g4_hiz_bench_bounds(int(depth_format), depth, found) else None
