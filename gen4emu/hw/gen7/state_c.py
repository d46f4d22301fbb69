"""Generates state_gen7.h: the commands and state blocks of Ivy Bridge and Haswell, for their loaders in the C core."""

from __future__ import annotations

from gen4emu.hw.c_header import family_header
from gen4emu.hw.family import Family
from gen4emu.hw.gen7 import GEN7
from gen4emu.hw.gen75 import GEN75
from gen4emu.hw.layout import Block, Client, Command, Engine, Message, Register

FAMILY = Family("gen7", (GEN7, GEN75))


def generate() -> str:
    return family_header(FAMILY, "G4_STATE_GEN7_H", wanted=_is_state)


def _is_state(block: Block) -> bool:
    """Commands of the 3D and media pipelines, state blocks, and the items of their arrays."""
    if isinstance(block, Command):
        return block.client == Client.GFXPIPE and block.engine in (None, Engine.RENDER)
    return not (isinstance(block, Register | Message) or is_of_messages(block) or block.name.startswith(("MF", "VEBOX"))
                or "INLINE_DATA_DESCRIPTION" in block.name)


def is_of_messages(block: Block) -> bool:
    """Headers and payloads of messages and threads."""
    return block.name.startswith(("PAYLOAD_", "GATEWAY_", "MESSAGE_")) or block.name.endswith(
        ("_HEADER", "_PAYLOAD", "_OFFSETS", "_RESPONSE"))
