"""The model of each generation."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import cast

from gen4emu.decode.model import Model
from gen4emu.hw.gen import Gen

# A new generation is entered here: the module that has the MODEL of these parts, imported when one of them is used.
_MODULES: dict[str, Gen] = {"gen4": Gen.ALL4, "gen6": Gen.GEN6, "gen7": Gen.GEN7 | Gen.GEN75,
                            "gen8": Gen.GEN8 | Gen.GEN9}


@cache
def model_of(gen: Gen) -> Model:
    """The model of a part."""
    module = next(name for name, parts in _MODULES.items() if parts & gen)
    return cast(Model, import_module(f"gen4emu.decode.{module}").MODEL)
