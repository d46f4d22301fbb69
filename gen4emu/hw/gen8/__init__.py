"""Gen8: Broadwell."""

from __future__ import annotations

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen8 import (
    blt,
    common,
    media,
    messages,
    mi,
    output,
    pointers,
    raster,
    registers,
    shader_stages,
    state,
    surface,
    vertex_fetch,
    video,
)
from gen4emu.hw.gen75 import GEN75
from gen4emu.hw.layout import Client


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


GEN8 = GEN75.derive(
    "gen8", Gen.GEN8, like=Gen.HSW, unknown_length=command_length,
    replace=(*mi.REPLACED, *common.REPLACED, *vertex_fetch.REPLACED, *shader_stages.REPLACED, *raster.REPLACED,
             *output.REPLACED, *pointers.REPLACED, *media.REPLACED, *state.REPLACED, *surface.REPLACED, *blt.REPLACED,
             *video.REPLACED, *registers.REPLACED, *messages.REPLACED),
    add=(*mi.ADDED, *vertex_fetch.ADDED, *raster.ADDED, *output.ADDED, *media.ADDED, *video.ADDED, *registers.ADDED,
         *messages.ADDED),
    remove=(*mi.REMOVED, *pointers.REMOVED, *media.REMOVED, *video.REMOVED, *registers.REMOVED))
