"""A family: the generations that one C loader serves, with their layouts merged.

`gen4emu.hw.c_header` writes one header for a family, so that a loader has one struct for a block whose fields differ
a little between its generations.  A merged layout has the fields of all of them, each marked with the parts that have
it; this is the only place where one layout describes several generations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from typing import TypeVar

from gen4emu.hw.fields import Array, Field
from gen4emu.hw.gen import Gen
from gen4emu.hw.generation import Generation, ordered
from gen4emu.hw.layout import Block, Command, Register, marked

B = TypeVar("B", bound=Block)
E = TypeVar("E", Field, Array)


@dataclass(frozen=True)
class Family:
    """Generations that share a loader, and the prefix of all C names that come from their tables."""

    prefix: str  # "g4": struct g4_urb_fence, G4_CMD_URB_FENCE
    generations: tuple[Generation, ...]
    wanted: Callable[[Block], bool] = lambda block: True  # of the tables' layouts

    @property
    def parts(self) -> Gen:
        parts = Gen(0)
        for generation in self.generations:
            parts |= generation.parts
        return parts

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        """In the order of the tables.  Encodings of one command stay apart."""
        return self._merge(lambda generation: generation.commands)

    @cached_property
    def layouts(self) -> tuple[Block, ...]:
        """All layouts, items of arrays before the layouts that hold them."""
        return ordered((*self.commands, *self._merge(lambda generation: generation.blocks),
                        *self._merge(lambda generation: generation.messages), *self.registers))

    @cached_property
    def registers(self) -> tuple[Register, ...]:
        return self._merge(lambda generation: generation.registers)

    def written_in(self, command: Command) -> Generation | None:
        """The first generation whose drivers write this encoding."""
        return next((generation for generation in self.generations for c in generation.commands
                     if (c.name, c.header) == (command.name, command.header) and c.written), None)

    @cached_property
    def _items(self) -> dict[str, Block]:
        return {}

    def _merge(self, blocks_of: Callable[[Generation], Iterable[B]]) -> tuple[B, ...]:
        variants: dict[tuple[str, int], list[tuple[Generation, B]]] = {}
        for generation in self.generations:
            for block in filter(self.wanted, blocks_of(generation)):
                key = block.name, block.header if isinstance(block, Command) else 0
                variants.setdefault(key, []).append((generation, block))
        return tuple(self._merged(found) for found in variants.values())

    def _merged(self, variants: Sequence[tuple[Generation, B]]) -> B:
        first = variants[0][1]
        if all(block is first for _, block in variants) and not first.all_arrays:
            return first
        gens = Gen(0)
        sizes: dict[Gen, int] = {}
        fields: list[Field] = []
        arrays: list[Array] = []
        for generation, block in variants:
            parts = generation.parts & block.gens
            gens |= parts
            sizes[parts] = block.size(parts)
            fields = _interleaved(fields, [marked(f, f.gens & parts) for f in block.all_fields], _on_any_part)
            arrays = _interleaved(arrays, [replace(a, item=self._item(a.item.name), gens=a.gens & parts)
                                           for a in block.all_arrays], _array_on_any_part)
        merged = copy(first)
        merged.define(gens, next(iter(sizes.values())) if len(set(sizes.values())) == 1 else sizes, fields, arrays)
        return merged

    def _item(self, name: str) -> Block:
        """The merged block that an array holds."""
        if name not in self._items:
            self._items[name] = self._merged([
                (generation, item) for generation in self.generations for item in _items_of(generation)
                if item.name == name])
        return self._items[name]


def _items_of(generation: Generation) -> Iterable[Block]:
    found = {array.item.name: array.item for block in generation.layouts() for array in block.all_arrays}
    return found.values()


def _on_any_part(f: Field) -> Field:
    return marked(f, Gen.ALL)


def _array_on_any_part(array: Array) -> Array:
    return replace(array, gens=Gen.ALL)


def _interleaved(ours: list[E], theirs: list[E], without_parts: Callable[[E], E]) -> list[E]:
    """Both lists in order, with equal entries once, marked with the parts of both."""
    merged: list[E] = []
    a, b = [without_parts(entry) for entry in ours], [without_parts(entry) for entry in theirs]
    for kind, a0, a1, b0, b1 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind == "equal":
            for mine, other in zip(ours[a0:a1], theirs[b0:b1], strict=True):
                gens = mine.gens | other.gens
                merged.append(marked(mine, gens) if isinstance(mine, Field) else replace(mine, gens=gens))
        else:
            merged += ours[a0:a1] + theirs[b0:b1]
    return merged
