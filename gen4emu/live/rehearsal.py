"""A submission that draws nothing, executed before the first program arrives.

The first use of Python code takes several times as long as later ones, and so do tables that are filled on demand.  A
program that has just started has time for that; its first frame does not.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from functools import cache

from gen4emu.device.device import Device
from gen4emu.device.options import Options
from gen4emu.hw.catalogue import command_named
from gen4emu.hw.chips import Device as Chip
from gen4emu.live.contexts import RING_ADDRESS, contexts_of
from gen4emu.trace.events import Engine, Submission

_BATCH, _CONTEXT = 0x100000, 1
_TIMES = 2  # the second submission switches no context


@cache
def rehearse(chip: Chip) -> None:
    """Execute an empty batch on a device of its own, once for each chip."""
    if not chip.executes:
        return
    with suppress(MemoryError), Device(chip, Options(workers=1), finds_targets=False) as device:
        device.prepare()
        end, = command_named("MI_BATCH_BUFFER_END", chip.gen).pack(chip.gen)
        device.memory.write(_BATCH, struct.pack("<2I", end, 0))
        contexts = contexts_of(chip)
        contexts.create(_CONTEXT)
        for _ in range(_TIMES):
            device.submit(Submission(0, Engine.RENDER, contexts.ring(_CONTEXT, _BATCH), RING_ADDRESS,
                                     batch_address=_BATCH, context=contexts.number(_CONTEXT, 0)))
