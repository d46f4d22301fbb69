"""The commands of Sandy Bridge that 3D and media share: base addresses, pipeline selection, synchronisation.

SNB PRM vol. 2 part 1 and vol. 1 part 1.  URB_FENCE, CS_URB_STATE and CONSTANT_BUFFER are gone: 3DSTATE_URB,
MEDIA_VFE_STATE and 3DSTATE_CONSTANT_* replace them.
"""

from __future__ import annotations

from gen4emu.hw.fields import Address, Bool, Enum, Field, Ignored, Uint, unless, when
from gen4emu.hw.gen4.common import GraphicsAddressType, PostSyncOperation
from gen4emu.hw.gen45 import GEN45
from gen4emu.hw.layout import Block
from gen4emu.hw.reserved import bits, gfx

_REF = "SNB PRM vol2 part1 "


def base(name: str, dword: int, control: str = "") -> list[Field]:
    """A base or a bound; `control` is the prefix of its memory object control state."""
    return [
        Address(name, dword, 31, 12, doc="0 means unbounded" if name.endswith("bound") else ""),
        *([Uint(f"{control}_memory_object_control_state", dword, 11, 8, hex=True)] if control else []),
        Bool(f"{name}_modify_enable", dword, 0),
    ]


STATE_BASE_ADDRESS = gfx("STATE_BASE_ADDRESS", 0x6101, 10, [
    *base("general_state_base_address", 1, "general_state"),
    Uint("stateless_data_port_access_memory_object_control_state", 1, 7, 4, hex=True),
    Bool("stateless_data_port_access_force_write_thru", 1, 3),
    *base("surface_state_base_address", 2, "surface_state"),
    *base("dynamic_state_base_address", 3, "dynamic_state"),
    *base("indirect_object_base_address", 4, "indirect_object"),
    *base("instruction_base_address", 5, "instruction"),
    *base("general_state_access_upper_bound", 6),
    *base("dynamic_state_access_upper_bound", 7),
    *base("indirect_object_access_upper_bound", 8),
    *base("instruction_access_upper_bound", 9),
], ref="SNB PRM vol1 part1 STATE_BASE_ADDRESS")

STATE_SIP = gfx("STATE_SIP", 0x6102, 2, [
    Address("system_instruction_pointer", 1, 31, 4, base="instruction", target="KERNEL",
            doc="drivers without a system routine write 0"),
], ref="SNB PRM vol1 part1 STATE_SIP")

# 6104 no longer encodes PIPELINE_SELECT: on Haswell it is GPGPU_CSR_BASE_ADDRESS.  3DSTATE_VF_STATISTICS keeps
# 780B as its second encoding: nothing else has that code before Gen8.
PIPELINE_SELECT = GEN45.command("PIPELINE_SELECT").changed(ref="SNB PRM vol1 part1 PIPELINE_SELECT")

NO_WRITE = (when("post_sync_operation", PostSyncOperation.NO_WRITE),)
WRITE = (unless("post_sync_operation", PostSyncOperation.NO_WRITE),)

# The flags moved from the header to a dword of their own, and so the address and the data one dword up.
PIPE_CONTROL = gfx("PIPE_CONTROL", 0x7A00, 5, [
    Bool("store_data_index", 1, 21, doc="the address counts from the hardware status page"),
    *bits({
        20: "command_streamer_stall_enable", 19: "global_snapshot_count_reset", 18: "tlb_invalidate",
        17: "synchronize_gfdt_surface", 16: "generic_media_state_clear",
    }, 1),
    Enum("post_sync_operation", 1, 15, 14, PostSyncOperation),
    *bits({
        13: "depth_stall_enable", 12: "render_target_cache_flush_enable", 11: "instruction_cache_invalidate_enable",
        10: "texture_cache_invalidation_enable", 9: "indirect_state_pointers_disable", 8: "notify_enable",
        4: "vf_cache_invalidation_enable", 3: "constant_cache_invalidation_enable",
        2: "state_cache_invalidation_enable", 1: "stall_at_pixel_scoreboard", 0: "depth_cache_flush_enable",
    }, 1),
    Address("address", 2, 31, 3, target="DATA", when=WRITE),
    Ignored(2, 31, 3, when=NO_WRITE),
    Enum("destination_address_type", 2, 2, 2, GraphicsAddressType),
    Uint("immediate_data_low", 3, 31, 0, hex=True),
    Uint("immediate_data_high", 4, 31, 0, hex=True),
], optional=1, ref=_REF + "PIPE_CONTROL", doc="in the form of four dwords, 32 bits are written")

REPLACED: tuple[Block, ...] = (STATE_BASE_ADDRESS, STATE_SIP, PIPELINE_SELECT, PIPE_CONTROL)
REMOVED: tuple[str, ...] = ("URB_FENCE", "CS_URB_STATE", "CONSTANT_BUFFER")
