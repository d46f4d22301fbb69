"""Layouts of Gen4 and Gen4.5 by name: each call uses the layout that the part has which the call names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gen4emu.hw.catalogue import block_named, catalogue_of
from gen4emu.hw.fields import Field
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block, Complaint, View
from tests.harness.parts import GEN4_PARTS

PARTS = GEN4_PARTS


def parts_with(name: str) -> set[Gen]:
    """The parts that have a layout with this name."""
    return {part for part in PARTS if name in {block.name for block in catalogue_of(part).all_layouts()}}


def on_parts(names: Iterable[str]) -> list[tuple[Block, Gen]]:
    """These layouts as each part has them."""
    return [(block_named(name, part), part) for name in names for part in PARTS if part in parts_with(name)]


class ByName:
    """The operations of a `Block`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def size(self, gen: Gen) -> int:
        return block_named(self.name, gen).size(gen)

    def field(self, name: str, gen: Gen) -> Field:
        return block_named(self.name, gen).field(name, gen)

    def by_name(self, gen: Gen) -> dict[str, Field]:
        return block_named(self.name, gen).by_name(gen)

    def view(self, words: Sequence[int], at: int = 0, *, gen: Gen, dwords: int | None = None) -> View:
        return block_named(self.name, gen).view(words, at, gen=gen, dwords=dwords)

    def complaints(self, words: Sequence[int], at: int = 0, *, gen: Gen, dwords: int | None = None) -> list[Complaint]:
        return block_named(self.name, gen).complaints(words, at, gen=gen, dwords=dwords)

    def pack(self, gen: Gen, **values: Any) -> list[int]:
        return block_named(self.name, gen).pack(gen, **values)

    def build(self, gen: Gen, **values: Any) -> bytes:
        return block_named(self.name, gen).build(gen, **values)
