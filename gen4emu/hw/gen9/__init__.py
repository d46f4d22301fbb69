"""Gen9: Skylake and Kaby Lake."""

from __future__ import annotations

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import command_length
from gen4emu.hw.gen9 import commands
from gen4emu.hw.generation import Generation

GEN9 = Generation("gen9", Gen.GEN9, command_length, commands.COMMANDS)
