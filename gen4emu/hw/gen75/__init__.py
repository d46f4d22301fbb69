"""Gen7.5: Haswell."""

from __future__ import annotations

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen7 import GEN7

GEN75 = GEN7.derive("gen75", Gen.GEN75, like=Gen.IVB)
