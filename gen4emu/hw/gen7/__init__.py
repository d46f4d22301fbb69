"""Gen7: Ivy Bridge and Bay Trail."""

from __future__ import annotations

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen6 import GEN6
from gen4emu.hw.gen7 import (
    common,
    compute_payload,
    media,
    media_messages,
    media_sampling,
    messages,
    mfx,
    mi,
    payload,
    pipeline,
    pixel_payload,
    registers,
    state,
)

GEN7 = GEN6.derive(
    "gen7", Gen.GEN7, like=Gen.SNB,
    replace=(*mi.REPLACED, *common.REPLACED, *pipeline.REPLACED, *media.REPLACED, *state.REPLACED,
             *messages.REPLACED, *registers.REPLACED, *media_sampling.REPLACED, *mfx.REPLACED),
    add=(*mi.ADDED, *common.ADDED, *pipeline.ADDED, *media.ADDED, *state.ADDED, *messages.ADDED, *registers.ADDED,
         *mfx.ADDED, *payload.ADDED, *pixel_payload.BLOCKS, *compute_payload.BLOCKS, *media_messages.ADDED),
    remove=(*messages.REMOVED, *pipeline.REMOVED, *media.REMOVED, *state.REMOVED, *registers.REMOVED, *mfx.REMOVED))
