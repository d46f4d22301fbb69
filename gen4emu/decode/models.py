"""The model of each generation."""

from __future__ import annotations

from gen4emu.decode import gen4, gen6, gen7, gen8
from gen4emu.decode.model import Model
from gen4emu.hw.gen import Gen

_MODELS = {Gen.ALL4: gen4.MODEL, Gen.GEN6: gen6.MODEL, Gen.GEN7 | Gen.GEN75: gen7.MODEL,
           Gen.GEN8 | Gen.GEN9: gen8.MODEL}


def model_of(gen: Gen) -> Model:
    return next(model for parts, model in _MODELS.items() if parts & gen)
