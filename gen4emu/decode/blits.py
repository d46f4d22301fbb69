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

    def __str__(self) -> str:
        return (f"{self.width}x{self.height} at ({self.x}, {self.y}), {self.depth}, pitch {self.pitch_bytes}, "
                f"{self.tiling}")


def operands(view: View) -> Iterator[Operand]:
    """The surfaces that a command names itself; SETUP commands name one without a rectangle."""
    names = view.layout.by_name(view.gen)
    depth_field = names.get("color_depth")
    depth = depth_field.text(view.raw("color_depth")) if depth_field is not None else "?"

    def value(name: str, default: int = 0) -> int:
        return int(getattr(view, name)) if name in names else default

    width = value("destination_x2") - value("destination_x1") if "destination_x2" in names else value("width_bytes")
    height = value("destination_y2") - value("destination_y1") if "destination_y2" in names else value("height")
    for side in ("destination", "source"):
        base = next((n for n in (f"{side}_base_address", f"{side}_address") if n in names), None)
        if base is None:
            continue
        tiled = bool(value(f"{side}_tiled"))
        yield Operand(side, value(base), value(f"{side}_x1"), value(f"{side}_y1"), width, height,
                      "bytes" if "width_bytes" in names else depth, value(f"{side}_pitch") * (4 if tiled else 1), tiled)
