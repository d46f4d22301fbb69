"""Generates the C headers of Skylake and Kaby Lake: state_gen9.h for their loaders, messages_gen9.h for units."""

from __future__ import annotations

from gen4emu.hw.c_header import message_header, state_header
from gen4emu.hw.family import Family
from gen4emu.hw.gen9 import GEN9
from gen4emu.hw.layout import Block, Client, Command, Engine, Register

_BLITS = ("XY_COLOR_BLT", "XY_SRC_COPY_BLT")


def _is_executed(block: Block) -> bool:
    """Whether the core unpacks a layout: not MI commands, most blits and registers, nor what the video engines have."""
    if isinstance(block, Command):
        drawn = block.client == Client.GFXPIPE and block.engine in (None, Engine.RENDER)
        return drawn or block.name in _BLITS
    return not (isinstance(block, Register) or block.name.startswith(("MF", "VEBOX", "HCP"))
                or "INLINE_DATA_DESCRIPTION" in block.name)


_FAMILY = Family("gen9", (GEN9,), _is_executed)


def state() -> str:
    return state_header(_FAMILY, "G4_STATE_GEN9_H", enums=True)


def messages() -> str:
    return message_header(_FAMILY, "G4_MESSAGES_GEN9_H", enums=True)
