"""Parts of a suite for several machines."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from statistics import median

from gen4emu.errors import SelectionError

_SHARD = re.compile(r"(\d{1,6})/(\d{1,6})")


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `number` of `count`, from 1 on.  The same names and durations give the same parts on every machine."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        found = _SHARD.fullmatch(text.strip())
        if found is None:
            raise SelectionError(f"{text!r} is not a shard (example: 2/4, the second of four)")
        shard = cls(int(found[1]), int(found[2]))
        if not 1 <= shard.number <= shard.count:
            raise SelectionError(f"shard {text} does not exist (the first one is 1/{max(1, shard.count)})")
        return shard

    def of(self, names: Sequence[str], seconds: Mapping[str, float]) -> list[str]:
        """The names of this part, in their order.

        With durations of an earlier run the parts take the same time: the longest case first, each to the part that has
        least to do. A new case counts as the median. Without durations, by a hash of the name.
        """
        if not seconds:
            return [name for name in names if _hash(name) % self.count == self.number - 1]
        usual = median(seconds.values())
        loads = [(0.0, 0)] * self.count
        mine: set[str] = set()
        for name in sorted(set(names), key=lambda name: (-seconds.get(name, usual), name)):
            part = min(range(self.count), key=lambda i: (loads[i], i))
            loads[part] = loads[part][0] + seconds.get(name, usual), loads[part][1] + 1
            if part == self.number - 1:
                mine.add(name)
        return [name for name in names if name in mine]


def _hash(name: str) -> int:
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogateescape"), digest_size=8).digest(), "little")
