"""The first register of GPGPU threads (IVB PRM vol. 2 part 2, GPGPU Thread Payload)."""

from __future__ import annotations

from gen4emu.hw.fields import Ignored, Uint
from gen4emu.hw.gen7.payload import MEDIA_SCRATCH, state_pointers
from gen4emu.hw.layout import Block

PAYLOAD_GPGPU_R0 = Block("PAYLOAD_GPGPU_R0", 8, [
    Ignored(0, 31, 28),
    Uint("shared_local_memory_index", 0, 27, 24, doc="which part of the shared local memory the group has"),
    Ignored(0, 23, 0),
    Uint("thread_group_id_x", 1, 31, 0),
    Ignored(2, 31, 28),
    Uint("barrier_id", 2, 27, 24),
    Ignored(2, 23, 0),
    *state_pointers(MEDIA_SCRATCH, fftid_bits=9),
    Uint("thread_group_id_y", 6, 31, 0),
    Uint("thread_group_id_z", 7, 31, 0),
], ref="IVBv2p2 GPGPU Thread Payload", align=32)

BLOCKS: tuple[Block, ...] = (PAYLOAD_GPGPU_R0,)
