"""Every layout of the catalogue on every part that has it, with random contents for every shape of its unions."""

from __future__ import annotations

import random
from collections.abc import Iterator

from gen4emu.hw import catalogue
from gen4emu.hw.fields import Const
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block
from tests.hw.claims import shapes

# Two encodings of one command have one name, so the commands come whole and not by name.
LAYOUTS: tuple[Block, ...] = tuple(dict.fromkeys(
    layout for table in catalogue.GENERATIONS
    for layout in (*table.commands, *catalogue.Catalogue(table.parts).all_layouts())))
LAYOUTS += tuple({a.item: None for layout in LAYOUTS for a in layout.all_arrays if a.item not in LAYOUTS})

PARTS = tuple(Gen)


def parts_of(layout: Block) -> Iterator[Gen]:
    return (part for part in PARTS if layout.gens & part)


def names(layout: Block) -> str:
    """The id of a test."""
    return layout.name


def random_dwords(layout: Block, part: Gen, rng: random.Random) -> Iterator[list[int]]:
    """Random contents for each shape, once with few bits set and once with many; open arrays get three items."""
    tail = max((3 * a.item.size(part) for a in layout.arrays_for(part) if a.count is None), default=0)
    selectors = {rule.field for f in layout.fields_for(part) for rule in f.when}
    for shape in shapes(layout, part):
        for mix in (rng.getrandbits, lambda bits: rng.getrandbits(bits) & rng.getrandbits(bits) & rng.getrandbits(bits),
                    lambda bits: (1 << bits) - 1):
            words = [mix(32) for _ in range(layout.size(part) + tail)]
            for f in layout.fields_for(part):
                if isinstance(f, Const):
                    f.insert(words, f.value)
                elif f.name in selectors:
                    f.insert(words, f.extract(shape))
            yield words
