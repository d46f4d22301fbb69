"""Commands of Gen8 that 3D, media and GPGPU share: base addresses, pipeline selection, PIPE_CONTROL.

Mesa's gen8.xml: the part of the manual with these commands is not published.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Bool, Enum, Field, Ignored, Mbz, Uint, unless, when
from gen4emu.hw.gen4.common import PostSyncOperation
from gen4emu.hw.gen8.vertex_fetch import memory_object_control_state
from gen4emu.hw.layout import Command
from gen4emu.hw.reserved import gfx


class AddressSpace(IntEnum):
    """The page tables that translate an address."""

    PPGTT = 0
    GGTT = 1


# --- bases ------------------------------------------------------------------------------------------------------------
def base_address(name: str, dword: int) -> list[Field]:
    return [
        Address(f"{name}_base_address", dword, 63, 12),
        Mbz(dword, 11, 11),
        memory_object_control_state(f"{name}_memory_object_control_state", dword, 10, 4),
        Mbz(dword, 3, 1),
        Bool(f"{name}_base_address_modify_enable", dword, 0),
    ]


def _buffer_size(name: str, dword: int) -> list[Field]:
    return [
        Uint(f"{name}_buffer_size", dword, 31, 12, scale=4096, hex=True, doc="in bytes"),
        Bool(f"{name}_buffer_size_modify_enable", dword, 0),
    ]


STATE_BASE_ADDRESS = gfx("STATE_BASE_ADDRESS", 0x6101, 16, [
    *base_address("general_state", 1),
    memory_object_control_state("stateless_data_port_access_memory_object_control_state", 3, 22, 16),
    *base_address("surface_state", 4),
    *base_address("dynamic_state", 6),
    *base_address("indirect_object", 8),
    *base_address("instruction", 10),
    *_buffer_size("general_state", 12),
    *_buffer_size("dynamic_state", 13),
    *_buffer_size("indirect_object", 14),
    *_buffer_size("instruction", 15),
], ref="Mesa gen8.xml STATE_BASE_ADDRESS", doc="changes the bases and sizes whose modify bit is set")

STATE_SIP = gfx("STATE_SIP", 0x6102, 3, [
    Address("system_instruction_pointer", 1, 63, 4, base="instruction", target="KERNEL"),
], ref="Mesa gen8.xml STATE_SIP")

GPGPU_CSR_BASE_ADDRESS = gfx("GPGPU_CSR_BASE_ADDRESS", 0x6104, 3, [
    Address("gpgpu_csr_base_address", 1, 63, 12, target="DATA"),
], ref="Mesa gen8.xml GPGPU_CSR_BASE_ADDRESS", doc="where preempted threads are saved")

# --- synchronisation --------------------------------------------------------------------------------------------------
_LRI = (when("lri_post_sync_operation", 1),)
_NO_WRITE = (unless("lri_post_sync_operation", 1), when("post_sync_operation", PostSyncOperation.NO_WRITE))
_WRITE = (unless("lri_post_sync_operation", 1), unless("post_sync_operation", PostSyncOperation.NO_WRITE))
_IMMEDIATE = (unless("lri_post_sync_operation", 1),
              when("post_sync_operation", PostSyncOperation.WRITE_IMMEDIATE_DATA))
_NO_IMMEDIATE = (unless("lri_post_sync_operation", 1),
                 unless("post_sync_operation", PostSyncOperation.WRITE_IMMEDIATE_DATA))

PIPE_CONTROL = gfx("PIPE_CONTROL", 0x7A00, 6, [
    Enum("destination_address_type", 1, 24, 24, enum=AddressSpace),
    Bool("lri_post_sync_operation", 1, 23, doc="writes the immediate data to a register"),
    Bool("store_data_index", 1, 21, doc="the address is an offset into the status page"),
    Bool("command_streamer_stall_enable", 1, 20),
    Bool("global_snapshot_count_reset", 1, 19),
    Bool("tlb_invalidate", 1, 18),
    Bool("generic_media_state_clear", 1, 16),
    Enum("post_sync_operation", 1, 15, 14, enum=PostSyncOperation),
    Bool("depth_stall_enable", 1, 13),
    Bool("render_target_cache_flush_enable", 1, 12),
    Bool("instruction_cache_invalidate_enable", 1, 11),
    Bool("texture_cache_invalidation_enable", 1, 10),
    Bool("indirect_state_pointers_disable", 1, 9),
    Bool("notify_enable", 1, 8),
    Bool("pipe_control_flush_enable", 1, 7),
    Bool("dc_flush_enable", 1, 5),
    Bool("vf_cache_invalidation_enable", 1, 4),
    Bool("constant_cache_invalidation_enable", 1, 3),
    Bool("state_cache_invalidation_enable", 1, 2),
    Bool("stall_at_pixel_scoreboard", 1, 1),
    Bool("depth_cache_flush_enable", 1, 0),
    Address("address", 2, 47, 2, target="DATA", when=_WRITE),
    Mbz(2, 1, 0, when=_WRITE),
    Ignored(2, 63, 48, when=_WRITE),
    Uint("register_offset", 2, 22, 2, scale=4, hex=True, when=_LRI),
    Mbz(2, 1, 0, when=_LRI),
    Mbz(2, 31, 23, when=_LRI),
    Ignored(3, 31, 0, when=_LRI),
    Ignored(2, 63, 0, when=_NO_WRITE),
    Uint("immediate_data", 4, 63, 0, hex=True, when=_IMMEDIATE),
    Uint("register_data", 4, 31, 0, hex=True, when=_LRI),
    Ignored(5, 31, 0, when=_LRI),
    Ignored(4, 63, 0, when=_NO_IMMEDIATE),
], optional=1, ref="Mesa gen8.xml PIPE_CONTROL", doc="in the form of five dwords, 32 bits are written")

REPLACED: tuple[Command, ...] = (STATE_BASE_ADDRESS, STATE_SIP, GPGPU_CSR_BASE_ADDRESS, PIPE_CONTROL)
