"""The layouts of Gen4.5: GM45 and G45 ("Cantiga" and "Eaglelake"), as differences from those of Gen4."""

from __future__ import annotations

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import GEN4
from gen4emu.hw.gen45 import (
    common,
    media,
    media_inline,
    messages,
    mi,
    payload,
    pipeline,
    registers,
    sampler,
    state,
    surface,
)

GEN45 = GEN4.derive(
    "gen45", Gen.GEN45, like=Gen.CL,
    replace=(*mi.REPLACED, *common.REPLACED, *pipeline.REPLACED, *state.REPLACED, *surface.REPLACED,
             *messages.REPLACED, *media.REPLACED, *payload.REPLACED, *registers.REPLACED),
    add=(*mi.ADDED, *pipeline.ADDED, *sampler.ADDED, *media.ADDED, *media_inline.ADDED, *payload.ADDED,
         *registers.ADDED),
    remove=mi.REMOVED)
