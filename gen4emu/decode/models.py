"""The model of each generation."""

from __future__ import annotations

from gen4emu.decode import gen4
from gen4emu.decode.model import Model
from gen4emu.hw.gen import Gen

_MODELS = {Gen.ALL4: gen4.MODEL}


def model_of(gen: Gen) -> Model:
    return next(model for parts, model in _MODELS.items() if parts & gen)
