"""Gen6: Sandy Bridge."""

from __future__ import annotations

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import GEN4

GEN6 = GEN4.derive("gen6", Gen.GEN6, like=Gen.EL)
