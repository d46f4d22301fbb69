"""The payload of hull shader threads on Haswell, where the instance and the barrier are one bit further up."""

from __future__ import annotations

from gen4emu.hw.gen7.payload import payload_hs_r0
from gen4emu.hw.layout import Block

REPLACED: tuple[Block, ...] = (payload_hs_r0(17, 13),)
