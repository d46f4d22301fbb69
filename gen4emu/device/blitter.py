"""The blitter: 2D commands are unpacked here and drawn by the C core (spec/05 2.13, 3.13 to 3.16)."""

from __future__ import annotations

from gen4emu.device.memory import Memory
from gen4emu.device.state import Words
from gen4emu.device.targets import Target
from gen4emu.errors import DecodeError
from gen4emu.hw.layout import Command


class Blitter:
    """Executes BLT commands; keeps what the SETUP commands set."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def execute(self, command: Command, words: Words) -> Target | None:
        """Draw; returns the surface that was drawn to."""
        raise DecodeError(f"{command.name} is not modelled")
