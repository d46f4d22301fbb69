"""The layouts of Gen4: 965G and 965GM ("Broadwater" and "Crestline"), the first generation that this project knows."""

from __future__ import annotations

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import blt, common, media, messages, mi, pipeline, registers, sampler, state, surface
from gen4emu.hw.generation import Generation
from gen4emu.hw.layout import Client

_LONG_MI_OPCODES = (0x22, 0x24)  # MI_LOAD_REGISTER_IMM and MI_STORE_REGISTER_MEM have 8 bits of length, not 6


def command_length(header: int) -> int:
    """Total dwords by the rule of the command's client, whether the command is known or not."""
    client = header >> 29
    if client == Client.MI:
        opcode = header >> 23
        return 1 if opcode < 0x10 else (header & (0xFF if opcode in _LONG_MI_OPCODES else 0x3F)) + 2
    if client == Client.BLT:
        return (header & 0xFF) + 2
    if client == Client.GFXPIPE:
        code = header >> 16
        pipeline_number = header >> 27 & 3
        if pipeline_number == 1 or code in (0x6104, 0x780B):
            return 1
        return (header & (0xFFFF if pipeline_number == 2 else 0xFF)) + 2
    return 1


GEN4 = Generation(
    "gen4", Gen.GEN4, command_length,
    commands=(*mi.COMMANDS, *blt.COMMANDS, *common.COMMANDS, *pipeline.COMMANDS, *sampler.COMMANDS, *media.COMMANDS),
    blocks=(*pipeline.BLOCKS, *state.BLOCKS, *surface.BLOCKS, *sampler.BLOCKS, *messages.BLOCKS, *media.BLOCKS,
            *registers.BLOCKS),
    messages=messages.MESSAGES,
    registers=registers.REGISTERS)
