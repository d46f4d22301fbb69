"""The encodings of all generations, and which one a device has."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import cast

from gen4emu.hw.gen import Gen
from gen4emu.isa.fields import Encoding

# A new generation is entered here: the module and the constant in capitals have its name.  A module is imported when a
# device needs it, since it also imports the description of its generation.
_MODULES: dict[str, Gen] = {"gen4": Gen.ALL4, "gen6": Gen.GEN6, "gen7": Gen.GEN7, "gen75": Gen.GEN75,
                            "gen8": Gen.GEN8, "gen9": Gen.GEN9}


def encoding_of(gen: Gen) -> Encoding:
    """The encoding of a device's generation."""
    return _encoding_of(int(gen))


def encodings() -> tuple[Encoding, ...]:
    """All encodings, in the order of the generations."""
    return tuple(_encoding(name) for name in _MODULES)


@cache
def _encoding_of(part: int) -> Encoding:
    for name, gens in _MODULES.items():
        if gens & part:
            return _encoding(name)
    raise ValueError(f"no instruction encoding for {Gen(part)!r}")


@cache
def _encoding(name: str) -> Encoding:
    return cast(Encoding, getattr(import_module(f"gen4emu.isa.{name}"), name.upper()))
