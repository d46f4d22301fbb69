"""Gen8: Broadwell."""

from __future__ import annotations

import dataclasses

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen8 import (
    common,
    media,
    messages,
    mi,
    output,
    pointers,
    setup,
    shader_stages,
    state,
    surface,
    vertex_fetch,
)
from gen4emu.hw.gen75 import GEN75
from gen4emu.hw.layout import Block, Client


def command_length(header: int) -> int:
    """Total dwords by the rule of the command's client, whether the command is known or not."""
    client = header >> 29
    if client == Client.MI:
        return 1 if header >> 23 < 0x10 else (header & 0xFF) + 2
    if client == Client.BLT:
        return (header & 0xFF) + 2
    if client == Client.GFXPIPE:
        pipeline_number, opcode = header >> 27 & 3, header >> 24 & 7
        if pipeline_number == 1:
            return 1
        return (header & (0xFFFF if pipeline_number == 2 and opcode else 0xFF)) + 2
    return 1


LAYOUTS: tuple[Block, ...] = (
    *mi.COMMANDS, *common.COMMANDS, *vertex_fetch.COMMANDS, *shader_stages.COMMANDS, *setup.COMMANDS, *output.COMMANDS,
    *pointers.COMMANDS, *media.COMMANDS,
    *mi.BLOCKS, *vertex_fetch.BLOCKS, *shader_stages.BLOCKS, *setup.BLOCKS, *output.BLOCKS, *pointers.BLOCKS,
    *media.BLOCKS, *state.BLOCKS, *surface.BLOCKS, *messages.REPLACED,
)

GEN8 = dataclasses.replace(GEN75, commands=(), blocks=(), messages=(), registers=()).derive(
    "gen8", Gen.GEN8, like=Gen.HSW, add=LAYOUTS, unknown_length=command_length)
