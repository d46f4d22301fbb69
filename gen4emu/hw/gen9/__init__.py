"""Gen9: Skylake and Kaby Lake."""

from __future__ import annotations

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen8 import GEN8
from gen4emu.hw.gen9 import blt, commands, media_sampling, messages, registers, resource_streamer, state, vebox, video

GEN9 = GEN8.derive(
    "gen9", Gen.GEN9, like=Gen.BDW,
    replace=(*commands.REPLACED, *resource_streamer.REPLACED, *state.REPLACED, *video.REPLACED, *registers.REPLACED,
             *messages.REPLACED, *media_sampling.REPLACED, *vebox.REPLACED),
    add=(*commands.ADDED, *resource_streamer.ADDED, *blt.ADDED, *video.ADDED, *registers.ADDED,
         *media_sampling.ADDED, *vebox.ADDED),
    remove=(*commands.REMOVED, *registers.REMOVED))
