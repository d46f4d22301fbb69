"""Gen6: Sandy Bridge."""

from __future__ import annotations

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import payload
from gen4emu.hw.gen6 import blt, common, media, media_sampling, messages, mfx, mi, pipeline, registers, state
from gen4emu.hw.gen45 import GEN45
from gen4emu.hw.gen45 import payload as gen45_payload
from gen4emu.hw.layout import Client

_ONE_DWORD_PIPELINE = 1  # of PIPELINE_SELECT, 3DSTATE_VF_STATISTICS and MFX_WAIT
_MEDIA_PIPELINE = 2


def command_length(header: int) -> int:
    """Total dwords of a command that is not in the table, by the rule of its client.

    The length of a media command has 16 bits and that of a command of the video engine 12: the four above are zero.
    """
    client = header >> 29
    if client == Client.MI:
        return 1 if header >> 23 < 0x10 else (header & 0x3F) + 2
    if client == Client.BLT:
        return (header & 0xFF) + 2
    if client == Client.GFXPIPE:
        pipeline_number = header >> 27 & 3
        if pipeline_number == _ONE_DWORD_PIPELINE:
            return 1
        return (header & (0xFFFF if pipeline_number == _MEDIA_PIPELINE else 0xFF)) + 2
    return 1


GEN6 = GEN45.derive(
    "gen6", Gen.GEN6, like=Gen.EL, unknown_length=command_length,
    replace=(*mi.REPLACED, *blt.REPLACED, *common.REPLACED, *pipeline.REPLACED, *media.REPLACED, *state.REPLACED,
             *messages.REPLACED, *registers.REPLACED),
    add=(*mi.ADDED, *pipeline.ADDED, *media.ADDED, *state.ADDED, *messages.ADDED, *registers.ADDED,
         *media_sampling.ADDED, *mfx.ADDED),
    remove=(*mi.REMOVED, *common.REMOVED, *pipeline.REMOVED, *media.REMOVED, *state.REMOVED, *messages.REMOVED,
            *registers.REMOVED,
            *(block.name for block in (*payload.BLOCKS, *gen45_payload.ADDED))))
