"""The operands of 2D commands as surfaces: address, size, depth, tiling.

The fields are spread over the words of a command and mean bytes or dwords by the tiling; here they come together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from gen4emu.decode.compiled import number_source
from gen4emu.hw.fields import Field
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block, View


@dataclass(slots=True, frozen=True)
class Operand:
    """A rectangle of one surface.  Pitch in bytes, negative for bottom-up; width in bytes if there are no pixels."""

    side: str  # "destination" or "source"
    address: int
    x: int
    y: int
    width: int
    height: int
    depth: str
    pitch_bytes: int
    tiling: str  # "linear", "X", "Y", or of fast copies also "YF", "YS"

    @property
    def tiled(self) -> bool:
        return self.tiling != "linear"

    @property
    def bytes(self) -> int:
        """The range of memory that the rectangle spans; for linear surfaces, from its first row on."""
        return abs(self.pitch_bytes) * max(0, self.height)

    def to_dict(self) -> dict[str, int | str | bool]:
        return {"side": self.side, "address": self.address, "x": self.x, "y": self.y, "width": self.width,
                "height": self.height, "depth": self.depth, "pitch_bytes": self.pitch_bytes, "tiled": self.tiled,
                "tiling": self.tiling}

    def __str__(self) -> str:
        return (f"{self.width}x{self.height} at ({self.x}, {self.y}), {self.depth}, pitch {self.pitch_bytes}, "
                f"{self.tiling}")


class YTiled(NamedTuple):
    """The sides whose tiled surfaces are tiled in Y, as BCS_SWCTRL says on Gen6 and later."""

    source: bool = False
    destination: bool = False


TILED_IN_X = YTiled()


def operands(view: View, y_tiled: YTiled = TILED_IN_X) -> list[Operand]:
    """The surfaces that a command names itself; SETUP commands name one without a rectangle."""
    read = _reader(view.layout, view.gen, y_tiled)
    words = view.words[view.at:view.at + view.dwords]
    return read([*words, *([0] * (view.layout.size(view.gen) - len(words)))])


@cache
def _reader(layout: Block, gen: Gen, y_tiled: YTiled) -> Callable[[Sequence[int]], list[Operand]]:
    """All operands of one command as a generated function of its dwords."""
    names = layout.by_name(gen)

    def value(name: str) -> str:
        f = names.get(name)
        source = None if f is None else number_source(f, {})
        return "0" if f is None or source is None else re.sub(r"\bv\b", f"w[{f.dword}]", source)

    rows = "width_bytes" in names
    width = value("width_bytes") if rows else f"{value('destination_x2')} - {value('destination_x1')}"
    height = value("height") if rows else f"{value('destination_y2')} - {value('destination_y1')}"
    depth = names.get("color_depth")
    depths = {} if depth is None else {raw: "bytes" if rows else depth.text(raw) for raw in range(depth.mask + 1)}
    depth_source = "'?'" if depth is None else f"depths[w[{depth.dword}] >> {depth.lo} & {depth.mask}]"
    parts = []
    for side, base in (("destination", "destination_base_address"), ("destination", "destination_address"),
                       ("source", "source_base_address"), ("source", "source_address")):
        if base in names:
            tiling = _tiling(names, side, getattr(y_tiled, side))
            pitch = f"{value(f'{side}_pitch')} * (1 if {tiling} == 'linear' else 4)"
            parts.append(f"Operand('{side}', {value(base)}, {value(f'{side}_x1')}, {value(f'{side}_y1')}, {width}, "
                         f"{height}, {depth_source}, {pitch}, {tiling})")
    scope = {"Operand": Operand, "depths": depths}
    made: Callable[[Sequence[int]], list[Operand]] = eval(f"lambda w: [{', '.join(parts)}]", scope)
    return made


def _tiling(names: Mapping[str, Field], side: str, in_y: bool) -> str:
    """An expression of a side's tiling: of a flag, or of a fast copy's method and type of Y tiles."""
    flag, method, kind = (names.get(f"{side}_{name}") for name in ("tiled", "tiling_method", "tile_y_type"))
    if flag is not None:
        return f"('linear', '{'Y' if in_y else 'X'}')[w[{flag.dword}] >> {flag.lo} & 1]"
    if method is None or kind is None:
        return "'linear'"
    return (f"(('linear', 'X', 'Y', 'YS'), ('linear', 'X', 'YF', 'YS'))[w[{kind.dword}] >> {kind.lo} & 1]"
            f"[w[{method.dword}] >> {method.lo} & 3]")
