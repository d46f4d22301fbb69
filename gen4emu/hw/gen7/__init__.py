"""Gen7: Ivy Bridge and Bay Trail."""

from __future__ import annotations

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen6 import GEN6

GEN7 = GEN6.derive("gen7", Gen.GEN7, like=Gen.SNB)
