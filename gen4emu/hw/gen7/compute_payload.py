"""The first register of GPGPU threads (IVB PRM vol. 2 part 2, GPGPU Thread Payload)."""

from __future__ import annotations

from gen4emu.hw.fields import Address, Ignored, Uint
from gen4emu.hw.layout import Block

PAYLOAD_GPGPU_R0 = Block("PAYLOAD_GPGPU_R0", 8, [
    Ignored(0, 31, 28),
    Uint("shared_local_memory_index", 0, 27, 24, doc="which part of the shared local memory the group has"),
    Ignored(0, 23, 0),
    Uint("thread_group_id_x", 1, 31, 0),
    Ignored(2, 31, 28),
    Uint("barrier_id", 2, 27, 24),
    Ignored(2, 23, 0),
    Address("sampler_state_pointer", 3, 31, 5, base="dynamic_state", target="SAMPLER_STATE"),
    Ignored(3, 4, 4),
    Uint("per_thread_scratch_space", 3, 3, 0, doc="as MEDIA_VFE_STATE has it"),
    Address("binding_table_pointer", 4, 31, 5, base="surface_state", target="BINDING_TABLE_STATE"),
    Ignored(4, 4, 0),
    Address("scratch_space_pointer", 5, 31, 10, base="general_state", target="SCRATCH"),
    Ignored(5, 9, 9),
    Uint("fftid", 5, 8, 0),
    Uint("thread_group_id_y", 6, 31, 0),
    Uint("thread_group_id_z", 7, 31, 0),
], ref="IVBv2p2 GPGPU Thread Payload", align=32)

BLOCKS: tuple[Block, ...] = (PAYLOAD_GPGPU_R0,)
