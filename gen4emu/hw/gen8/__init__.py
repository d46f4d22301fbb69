"""Gen8: Broadwell."""

from __future__ import annotations

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen75 import GEN75

GEN8 = GEN75.derive("gen8", Gen.GEN8, like=Gen.HSW)
