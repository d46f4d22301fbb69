"""Memory as state blocks and as pictures, and the targets of a draw beside those of the unchanged trace."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gen4emu.device.memory import Memory, Missing
from gen4emu.device.targets import Target
from gen4emu.errors import FieldError
from gen4emu.hw.catalogue import block_named, catalogue_of
from gen4emu.hw.fields import Const, Mbz, value_from_text
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block
from gen4emu.image.compare import alike, errors
from gen4emu.image.picture import read_pixels


def block_names(gen: Gen) -> list[str]:
    """The state blocks of a part."""
    return sorted({block.name for block in catalogue_of(gen).all_layouts() if type(block) is Block})


@dataclass(frozen=True, slots=True)
class BlockView:
    """Memory at an address as a state block; parts that nothing has written are zeros."""

    name: str
    address: int
    size: int  # bytes
    fields: list[tuple[str, str, int]]  # name, value as text, value

    def lines(self) -> list[str]:
        width = max((len(name) for name, _, _ in self.fields), default=0)
        return [f"{self.name} at 0x{self.address:08x}, {self.size} bytes",
                *(f"  {name:<{width}}  {text}" for name, text, _ in self.fields)]

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "address": self.address, "bytes": self.size, "fields": self.fields}


def block_view(memory: Memory, name: str, address: int, gen: Gen) -> BlockView:
    """`name` is one of block_names."""
    block = block_named(name, gen)
    size = block.size(gen)
    data = memory.read(address, min(4 * size, memory.size - address), Missing.ZERO).ljust(4 * size, b"\0")
    view = block.view(struct.unpack(f"<{size}I", data), gen=gen)
    fields = [(f.name, f.text(raw), raw) for f, raw in view.fields() if not isinstance(f, Mbz | Const)]
    return BlockView(name, address, 4 * size, fields)


def edit_block(memory: Memory, name: str, address: int, gen: Gen, field: str, text: str) -> tuple[str, str]:
    """Write a field of a block in memory; returns its old and its new value.  Raises FieldError."""
    block = block_named(name, gen)
    found = {f.name: f for f in block.by_name(gen).values() if not isinstance(f, Mbz | Const)}
    if field not in found:
        raise FieldError(f"{name}: no field is called {field}")
    chosen, size = found[field], block.size(gen)
    words = list(struct.unpack(f"<{size}I", memory.read(address, 4 * size)))
    before = chosen.text(chosen.extract(words))
    chosen.insert(words, chosen.encode(value_from_text(chosen, text)))
    first, count = chosen.dword, 1 + (chosen.hi >= 32)
    memory.write(address + 4 * first, struct.pack(f"<{count}I", *words[first:first + count]))
    return before, chosen.text(chosen.extract(words))


def ordered(targets: tuple[Target, ...]) -> list[Target]:
    """Colors before depth."""
    return sorted(targets, key=lambda target: target.kind == "depth")


def title(target: Target) -> str:
    return (f"{target.kind} 0x{target.address:08x} {target.format.name} {target.width}x{target.height}"
            + (f" level {target.level}" if target.level else "") + (f" slice {target.slice}" if target.slice else ""))


@dataclass(frozen=True, slots=True)
class Deviation:
    """The pixels of a target that differ from those of the unchanged trace."""

    title: str
    pixels: int
    differing: int
    first: tuple[int, int] | None  # x and y, in rows from the top
    box: tuple[int, int, int, int] | None  # left, top, right and bottom, inclusive
    before: list[int] | None  # channels of the first such pixel, unchanged and now
    after: list[int] | None

    def line(self) -> str:
        if self.first is None:
            return f"{self.title}: no pixel differs"
        assert self.box is not None
        left, top, right, bottom = self.box
        return (f"{self.title}: {self.differing} of {self.pixels} pixels differ, in {left},{top} to {right},{bottom}; "
                f"first {self.first[0]},{self.first[1]}: {self.before} unchanged, {self.after} now")

    def as_json(self) -> dict[str, Any]:
        return {"target": self.title, "pixels": self.pixels, "differing": self.differing, "first": self.first,
                "box": self.box, "unchanged": self.before, "now": self.after}


def _pixels(memory: Memory, target: Target) -> npt.NDArray[np.generic]:
    pixels = read_pixels(memory, target)
    return pixels if pixels.ndim == 3 else pixels[:, :, np.newaxis]


def deviation(target: Target, unchanged: Memory, now: Memory) -> Deviation:
    """A target in two memories."""
    a, b = alike(_pixels(unchanged, target), _pixels(now, target), "unchanged", "now")
    differs = (errors(a, b) > 0).any(axis=2)
    rows, columns = np.nonzero(differs)
    if not len(rows):
        return Deviation(title(target), differs.size, 0, None, None, None, None)
    y, x = int(rows[0]), int(columns[0])
    box = (int(columns.min()), y, int(columns.max()), int(rows.max()))
    return Deviation(title(target), differs.size, len(rows), (x, y), box, a[y, x].tolist(), b[y, x].tolist())
