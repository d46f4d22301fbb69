"""The operands of 2D commands as surfaces: where, how large, how deep, how tiled (spec/05 2.13).

The fields are spread over the words of a command and mean bytes or dwords by the tiling; here they come together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gen4emu.hw.layout import View


@dataclass(slots=True, frozen=True)
class Operand:
    """A rectangle of one surface.  Pitch in bytes, negative for bottom-up; width in bytes where there are no pixels."""

    side: str  # "destination" or "source"
    address: int
    x: int
    y: int
    width: int
    height: int
    depth: str
    pitch_bytes: int
    tiled: bool

    @property
    def tiling(self) -> str:
        return "X" if self.tiled else "linear"

    @property
    def bytes(self) -> int:
        """What the rectangle spans in memory, for linear surfaces from its first row on."""
        return abs(self.pitch_bytes) * max(0, self.height)

    def to_dict(self) -> dict[str, int | str | bool]:
        return {"side": self.side, "address": self.address, "x": self.x, "y": self.y, "width": self.width,
                "height": self.height, "depth": self.depth, "pitch_bytes": self.pitch_bytes, "tiled": self.tiled}

    def __str__(self) -> str:
        return (f"{self.width}x{self.height} at ({self.x}, {self.y}), {self.depth}, pitch {self.pitch_bytes}, "
                f"{self.tiling}")


def operands(view: View) -> Iterator[Operand]:
    """The surfaces that a command names itself; SETUP commands name one without a rectangle."""
    plan = view.layout.by_name(view.gen)
    words, at = view.words, view.at

    def value(name: str) -> int:
        f = plan.get(name)
        return 0 if f is None or f.last_dword >= view.dwords else int(f.decode(f.extract(words, at)))

    rows = "width_bytes" in plan
    depth_field = plan.get("color_depth")
    depth = "?" if depth_field is None else depth_field.text(depth_field.extract(words, at))
    width = value("width_bytes") if rows else value("destination_x2") - value("destination_x1")
    height = value("height") if rows else value("destination_y2") - value("destination_y1")
    for side, base in (("destination", "destination_base_address"), ("destination", "destination_address"),
                       ("source", "source_base_address"), ("source", "source_address")):
        if base in plan:
            tiled = bool(value(f"{side}_tiled"))
            yield Operand(side, value(base), value(f"{side}_x1"), value(f"{side}_y1"), width, height,
                          "bytes" if rows else depth, value(f"{side}_pitch") * (4 if tiled else 1), tiled)
