"""Every layout of every generation on every part that has it, with random contents for every shape of its unions."""

from __future__ import annotations

import random
from collections.abc import Iterator

from gen4emu.hw.catalogue import generations
from gen4emu.hw.fields import Const
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block
from tests.hw.claims import shapes

PARTS: tuple[Gen, ...] = tuple(part for generation in generations() for part in generation.parts)

# A generation shares the layouts of its predecessor that it does not change.  Two encodings of a command share a name.
_PARTS_OF: dict[Block, list[Gen]] = {}
for _generation in generations():
    for _layout in {*_generation.commands, *_generation.layouts()}:
        _PARTS_OF.setdefault(_layout, []).extend(part for part in _generation.parts if _layout.gens & part)
LAYOUTS: tuple[Block, ...] = tuple(sorted(_PARTS_OF, key=lambda layout: (layout.name, _PARTS_OF[layout])))


def parts_of(layout: Block) -> Iterator[Gen]:
    return iter(_PARTS_OF[layout])


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
