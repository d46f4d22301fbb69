"""Gen7.5: Haswell."""

from __future__ import annotations

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen7 import GEN7
from gen4emu.hw.gen75 import media, media_sampling, messages, mfx, mi, payload, pipeline, registers, state, vebox

GEN75 = GEN7.derive(
    "gen75", Gen.GEN75, like=Gen.IVB,
    replace=(*mi.REPLACED, *pipeline.REPLACED, *media.REPLACED, *state.REPLACED, *messages.REPLACED,
             *registers.REPLACED, *media_sampling.REPLACED, *mfx.REPLACED, *payload.REPLACED),
    add=(*mi.ADDED, *pipeline.ADDED, *state.ADDED, *messages.ADDED, *registers.ADDED, *media_sampling.ADDED,
         *mfx.ADDED, *vebox.ADDED),
    remove=media_sampling.REMOVED)
