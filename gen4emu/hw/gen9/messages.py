"""Messages of Gen9: those of Gen8, render target reads and, at data cache 1, atomics on floats and OWord blocks.

Skylake PRM vol. 7; Mesa, src/intel/compiler/brw_inst.h and brw_eu_defines.h.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Bool, Ignored, Uint, unless, when
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen6.messages import descriptor, header, render_target_header_fields, sampler_header_fields
from gen4emu.hw.gen7.messages import render_cache_message
from gen4emu.hw.gen7.payload import MEDIA_SCRATCH, state_pointers
from gen4emu.hw.gen8.messages import ACCESSES, ATOMICS, gen8_messages
from gen4emu.hw.gen75.messages import DataCache1Type, data_cache_1_message
from gen4emu.hw.layout import Block, Message


class RenderCacheTypeGen9(IntEnum):
    """The type of a message to the render cache."""

    MEDIA_BLOCK_READ = 4
    MEDIA_BLOCK_WRITE = 10
    RENDER_TARGET_WRITE = 12
    RENDER_TARGET_READ = 13


_READ = (when("message_type", RenderCacheTypeGen9.RENDER_TARGET_READ),)

MESSAGE_DESCRIPTOR = descriptor(Gen.GEN9, "SKLv7")
MESSAGES: tuple[Message, ...] = (
    *gen8_messages(Gen.GEN9, "SKLv7"),
    render_cache_message(
        RenderCacheTypeGen9, Gen.GEN9, "SKLv7",
        Bool("read_per_sample", 0, 13, when=_READ),
        Uint("reserved_read", 0, 12, 9, when=_READ),
        Bool("read_simd8", 0, 8, when=_READ),
        others=(unless("message_type", RenderCacheTypeGen9.RENDER_TARGET_WRITE,
                       RenderCacheTypeGen9.RENDER_TARGET_READ),)),
    data_cache_1_message(
        18, Gen.GEN9, "SKLv7", atomics=ATOMICS, accesses=ACCESSES,
        floats=(DataCache1Type.UNTYPED_ATOMIC_FLOAT, DataCache1Type.A64_UNTYPED_ATOMIC_FLOAT),
        blocks=(DataCache1Type.A64_OWORD_BLOCK_READ, DataCache1Type.A64_OWORD_BLOCK_WRITE),
        scattered=(DataCache1Type.A64_SCATTERED_READ, DataCache1Type.A64_SCATTERED_WRITE)),
)

SAMPLER_MESSAGE_HEADER = header("SAMPLER_MESSAGE_HEADER", [
    *sampler_header_fields(),
    Bool("pixel_null_mask_enable", 2, 23, doc="one more register tells which pixels were null"),
    Bool("simd4x2", 2, 22, doc="SIMD mode 0 is SIMD4x2, not SIMD8D"),
    Uint("gather_component", 2, 17, 16, doc="of gather4"),
], "SKLv7")
RENDER_TARGET_WRITE_HEADER = header("RENDER_TARGET_WRITE_HEADER", [
    *render_target_header_fields(),
    Bool("stencil_present", 0, 14),
], "SKLv7", dwords=16)

# No public text describes dwords 0 to 2 and 7; docs/decisions.md 190.
PAYLOAD_MEDIA_R0 = Block("PAYLOAD_MEDIA_R0", 8, [
    Ignored(0, 31, 28),
    Uint("shared_local_memory_index", 0, 27, 24),
    Ignored(0, 23, 16),
    Uint("urb_handle", 0, 15, 0),
    Ignored(1, 31, 27),
    Uint("scoreboard_y", 1, 26, 16, doc="from the object, or the position of the walker"),
    Ignored(1, 15, 11),
    Uint("scoreboard_x", 1, 10, 0),
    Ignored(2, 31, 28),
    Uint("barrier_id", 2, 27, 24),
    Ignored(2, 23, 10),
    Uint("interface_descriptor_offset", 2, 9, 4, doc="in descriptors"),
    Uint("scoreboard_color", 2, 3, 0),
    *state_pointers(MEDIA_SCRATCH, fftid_bits=9),
    Ignored(6, 31, 24),
    Uint("thread_count", 6, 23, 0),
    Uint("group_id", 7, 31, 0),
], ref="SKLv7 Root Thread Payload", align=32)

# against Gen8: the same shared functions
REPLACED: tuple[Block, ...] = (
    MESSAGE_DESCRIPTOR, SAMPLER_MESSAGE_HEADER, RENDER_TARGET_WRITE_HEADER, PAYLOAD_MEDIA_R0, *MESSAGES)
