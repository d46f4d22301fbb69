"""Generates messages_gen7.h: the messages and thread payloads of Ivy Bridge and Haswell, for the C core."""

from __future__ import annotations

from gen4emu.hw.c_header import family_header
from gen4emu.hw.gen7.state_c import FAMILY, is_of_messages
from gen4emu.hw.layout import Block, Message


def generate() -> str:
    return family_header(FAMILY, "G4_MESSAGES_GEN7_H", wanted=_is_message)


def _is_message(block: Block) -> bool:
    return isinstance(block, Message) or is_of_messages(block)
