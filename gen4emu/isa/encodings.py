"""The encodings of all generations, and which one a device has."""

from __future__ import annotations

from functools import cache

from gen4emu.hw.gen import Gen
from gen4emu.isa.fields import Encoding
from gen4emu.isa.gen4 import GEN4
from gen4emu.isa.gen6 import GEN6
from gen4emu.isa.gen7 import GEN7
from gen4emu.isa.gen8 import GEN8
from gen4emu.isa.gen9 import GEN9

ENCODINGS: tuple[Encoding, ...] = (GEN4, GEN6, GEN7, GEN8, GEN9)  # a new generation is entered here


def encoding_of(gen: Gen) -> Encoding:
    """The encoding of a device's generation."""
    return _encoding_of(int(gen))


@cache
def _encoding_of(part: int) -> Encoding:
    for encoding in ENCODINGS:
        if encoding.gens & part:
            return encoding
    raise ValueError(f"no instruction encoding for {Gen(part)!r}")
