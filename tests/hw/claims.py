"""Rules for every layout: each bit is claimed once in every shape the layout can take, and packs as it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product

from gen4emu.hw.fields import Const, Field, Float, Mbz, claimed_bits
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block, View
from tests.harness.parts import GEN4_PARTS

PARTS = GEN4_PARTS


def shapes(layout: Block, gen: Gen) -> Iterator[list[int]]:
    """Dwords for every combination of the values that select between the parts of unions, and one value beside them."""
    mentioned: dict[str, set[int]] = {}
    for f in layout.fields_for(gen):
        for rule in f.when:
            mentioned.setdefault(rule.field, set()).update(rule.values)
    choices = []
    for name, values in mentioned.items():
        beside = (v for v in range(layout.field(name, gen).mask + 1) if v not in values)
        choices.append([*sorted(values), *islice(beside, 1)])
    for combination in product(*choices):
        words = [0] * layout.size(gen)
        for name, value in zip(mentioned, combination, strict=True):
            layout.field(name, gen).insert(words, value)
        yield words


def misclaimed(layout: Block, gen: Gen) -> list[str]:
    """The bits that no field or more than one field claims on one part."""
    wrong = []
    size = layout.size(gen)
    for words in shapes(layout, gen):
        fields = [f for f in layout.fields_for(gen) if layout.exists(f, words, 0, gen)]
        owners = {place: [f.name for f in claims] for place, claims in claimed_bits(fields).items()}
        for a in layout.arrays_for(gen):
            for dword in range(a.dword, a.dword + (a.count or 0) * a.item.size(gen)):
                for bit in range(32):
                    owners.setdefault((dword, bit), []).append(a.name)
        expected = set(product(range(size), range(32)))
        wrong += [f"dword {d} bit {b}: unclaimed" for d, b in sorted(expected - owners.keys())]
        wrong += [f"dword {d} bit {b}: {', '.join(names)}" for (d, b), names in sorted(owners.items())
                  if len(names) > 1 or (d, b) not in expected]
    return wrong


def meaningful(view: View) -> dict[str, int]:
    """The raw bits that a dictionary of values must bring back: not the reserved ones, not the payloads of NaNs."""
    out = {}
    for f, raw in view.fields():
        if not isinstance(f, Mbz | Const) and not _is_nan(f, raw):
            out[f.name] = raw
    for a in view.layout.arrays_for(view.gen):
        for i, item in enumerate(view.array(a)):
            out |= {f"{a.name}[{i}].{name}": raw for name, raw in meaningful(item).items()}
    return out


def _is_nan(f: Field, raw: int) -> bool:
    return isinstance(f, Float) and raw & 0x7FFFFFFF > 0x7F800000


def repacked(layout: Block, words: Sequence[int], gen: Gen) -> tuple[dict[str, int], dict[str, int]]:
    """The meaning of some dwords, before and after a way through values and back."""
    view = layout.view(words, gen=gen)
    again = layout.pack(gen, **view.to_dict())
    return meaningful(view), meaningful(layout.view(again, gen=gen))
