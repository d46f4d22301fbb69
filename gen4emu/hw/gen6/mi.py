"""The memory interface commands of Sandy Bridge, as differences to G45.

SNB PRM vol. 1 part 2, "Memory Interface Commands"; Linux intel_gpu_commands.h for what the kernel alone sends.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Field, Ignored, Uint, unless, when
from gen4emu.hw.gen4 import mi as gen4
from gen4emu.hw.gen4.common import DATA_DWORD, GraphicsAddressType, PostSyncOperation
from gen4emu.hw.gen4.mi import DisplayPlane
from gen4emu.hw.gen45 import GEN45
from gen4emu.hw.layout import Block, Command
from gen4emu.hw.reserved import bits, mi, must_be_one

_REF = "SNB PRM vol1 part2 "


class AddressSpaceIndicator(IntEnum):
    """The page table that translates the addresses of a batch."""

    GGTT = 0
    PPGTT = 1


class ScanLinePlane(IntEnum):
    """The display plane whose scan lines are waited for."""

    DISPLAY_PLANE_A = 0
    DISPLAY_PLANE_B = 1
    DISPLAY_PLANE_C = 4


class FlipType(IntEnum):
    """When a flip takes effect."""

    SYNC_FLIP = 0
    ASYNC_FLIP = 1


class SemaphoreRegister(IntEnum):
    """The mailbox of another ring, seen from the render ring; USE_GENERAL_REGISTER_SELECT is Haswell's."""

    RVSYNC = 0
    RVESYNC = 1
    RBSYNC = 2
    USE_GENERAL_REGISTER_SELECT = 3


MI_WAIT_FOR_EVENT = mi("MI_WAIT_FOR_EVENT", 0x03, 1, [
    Uint("condition_code_wait_select", 0, 19, 16, high=5, doc="0 waits for no condition code"),
    *bits({
        13: "display_pipe_b_horizontal_blank_wait_enable", 11: "display_pipe_b_vertical_blank_wait_enable",
        10: "display_sprite_b_flip_pending_wait_enable", 9: "display_plane_b_flip_pending_wait_enable",
        8: "display_pipe_b_scan_line_wait_enable", 5: "display_pipe_a_horizontal_blank_wait_enable",
        3: "display_pipe_a_vertical_blank_wait_enable", 2: "display_sprite_a_flip_pending_wait_enable",
        1: "display_plane_a_flip_pending_wait_enable", 0: "display_pipe_a_scan_line_wait_enable",
    }),
], ref=_REF + "MI_WAIT_FOR_EVENT", doc="every bit moved: sprites and, later, a third pipe got places between them")

MI_FLUSH = GEN45.command("MI_FLUSH").changed(
    remove=["protected_memory_enable", "sampler_cache_invalidate"], ref=_REF + "MI_FLUSH",
    doc="render ring only; the other rings have MI_FLUSH_DW")


def _load_scan_lines(name: str, opcode: int) -> Command:
    return mi(name, opcode, 2, [
        Enum("display_plane_select", 0, 21, 19, ScanLinePlane),
        Uint("start_scan_line_number", 1, 28, 16),
        Uint("end_scan_line_number", 1, 12, 0),
    ], ref=_REF + name, privileged=True)


MI_LOAD_SCAN_LINES_INCL = _load_scan_lines("MI_LOAD_SCAN_LINES_INCL", 0x12)
MI_LOAD_SCAN_LINES_EXCL = _load_scan_lines("MI_LOAD_SCAN_LINES_EXCL", 0x13)


def flip_surface() -> list[Field]:
    """Dwords 1 and 2 of MI_DISPLAY_FLIP: on Gen4 the tiling was in dword 2."""
    return [
        Uint("display_buffer_pitch", 1, 15, 6, scale=64, doc="in bytes"),
        Uint("tile_parameter", 1, 2, 0, high=1, doc="1 is X-tiled"),
        Address("display_buffer_base_address", 2, 31, 12, target="DATA"),
        Enum("flip_type", 2, 1, 0, FlipType),
    ]


MI_DISPLAY_FLIP = mi("MI_DISPLAY_FLIP", 0x14, 3, [
    Bool("async_flip_indicator", 0, 22),
    Enum("display_plane_select", 0, 21, 20, DisplayPlane),
    *flip_surface(),
    Array("source", 3, gen4.DISPLAY_FLIP_SOURCE, doc="absent in the form of three dwords"),
], ref="Linux intel_gpu_commands.h", privileged=True)

MI_SEMAPHORE_MBOX = mi("MI_SEMAPHORE_MBOX", 0x16, 3, [
    Bool("use_global_gtt", 0, 22),
    Bool("update_semaphore", 0, 21, doc="write the dword, else compare with it"),
    Bool("compare_semaphore", 0, 20),
    Bool("compare_register", 0, 18, doc="the mailbox register, else memory"),
    Enum("register_select", 0, 17, 16, SemaphoreRegister),
    Uint("semaphore_data_dword", 1, 31, 0, hex=True),
    Address("semaphore_address", 2, 31, 2, target="DATA"),
], length=(7, 0), ref=_REF + "MI_SEMAPHORE_MBOX", privileged=True, doc="continues when memory is above the dword")

MI_SET_CONTEXT = mi("MI_SET_CONTEXT", 0x18, 2, [
    Address("logical_context_address", 1, 31, 12, target="DATA"),
    Bool("hd_dvd_context", 1, 9),
    must_be_one(1, 8),  # on Gen4 it selected the GTT
    *bits({
        3: "extended_state_save_enable", 2: "extended_state_restore_enable", 1: "force_restore", 0: "restore_inhibit",
    }, 1),
], length=(7, 0), ref=_REF + "MI_SET_CONTEXT", privileged=True)

MI_URB_CLEAR = mi("MI_URB_CLEAR", 0x19, 2, [
    Uint("urb_clear_length", 1, 28, 16, doc="in rows of 256 bits"),
    Uint("urb_address", 1, 13, 0, doc="in rows of 256 bits"),
], length=(7, 0), ref=_REF + "MI_URB_CLEAR")

# --- memory and registers ---------------------------------------------------------------------------------------------
MI_STORE_DATA_IMM = mi("MI_STORE_DATA_IMM", 0x20, 4, [
    Bool("use_global_gtt", 0, 22),
    Ignored(0, 21, 21, doc="store qword: the length decides"),
    Address("address", 2, 31, 2, target="DATA"),
    Bool("core_mode_enable", 2, 0),
    Uint("data_dword_0", 3, 31, 0, hex=True),
    Array("data_dword_1", 4, DATA_DWORD, doc="the second dword of a qword"),
], ref=_REF + "MI_STORE_DATA_IMM", privileged=True)

MI_STORE_DATA_INDEX = mi("MI_STORE_DATA_INDEX", 0x21, 3, [
    Uint("offset", 1, 11, 2, scale=4, low=0x40, hex=True, doc="bytes into the hardware status page of the engine"),
    Uint("data_dword_0", 2, 31, 0, hex=True),
    Array("data_dword_1", 3, DATA_DWORD, doc="the second dword of a qword"),
], length=(7, 0), ref=_REF + "MI_STORE_DATA_INDEX")

MI_UPDATE_GTT = mi("MI_UPDATE_GTT", 0x23, 2, [
    Bool("use_global_gtt", 0, 22),
    Address("entry_address", 1, 31, 12, doc="of the page whose entry is the first of those that follow"),
    Array("entry_data", 2, DATA_DWORD),
], ref=_REF + "MI_UPDATE_GTT", privileged=True)


def register_and_memory(*header: Field) -> list[Field]:
    """The operands of MI_STORE_REGISTER_MEM and MI_LOAD_REGISTER_MEM."""
    return [
        Bool("use_global_gtt", 0, 22),
        *header,
        Uint("register_address", 1, 22, 2, scale=4, hex=True),
        Address("memory_address", 2, 31, 2, target="DATA"),
    ]


MI_STORE_REGISTER_MEM = mi("MI_STORE_REGISTER_MEM", 0x24, 3, register_and_memory(), length=(7, 0),
                           ref=_REF + "MI_STORE_REGISTER_MEM", privileged=True)

_WRITES = (unless("post_sync_operation", PostSyncOperation.NO_WRITE),)
_WRITES_NOTHING = (when("post_sync_operation", PostSyncOperation.NO_WRITE),)

MI_FLUSH_DW = mi("MI_FLUSH_DW", 0x26, 4, [
    Bool("store_data_index", 0, 21, doc="the address counts from the hardware status page"),
    Bool("tlb_invalidate", 0, 18),
    Bool("synchronize_gfdt_surface", 0, 17),
    Enum("post_sync_operation", 0, 15, 14, PostSyncOperation),
    Bool("notify_enable", 0, 8),
    Bool("video_pipeline_cache_invalidate", 0, 7, doc="video ring only"),
    Address("address", 1, 31, 3, target="DATA", when=_WRITES),
    Ignored(1, 31, 3, when=_WRITES_NOTHING),
    Enum("destination_address_type", 1, 2, 2, GraphicsAddressType),
    Uint("immediate_data_low", 2, 31, 0, hex=True),
    Uint("immediate_data_high", 3, 31, 0, hex=True),
], ref=_REF + "MI_FLUSH_DW", doc="of the blitter, video and video enhancement rings")

MI_CLFLUSH = mi("MI_CLFLUSH", 0x27, 2, [
    Bool("use_global_gtt", 0, 22),
    Address("page_base_address", 1, 31, 12),
    Uint("starting_cacheline_offset", 1, 11, 6),
    Array("dw_representing_a_half_cache_line", 2, DATA_DWORD, doc="ignored: one for each half of a line"),
], ref=_REF + "MI_CLFLUSH")

# --- batches ----------------------------------------------------------------------------------------------------------
MI_BATCH_BUFFER_START = mi("MI_BATCH_BUFFER_START", 0x31, 2, [
    Bool("clear_command_buffer_enable", 0, 11),
    Enum("address_space_indicator", 0, 8, 8, AddressSpaceIndicator, doc="a batch in the PPGTT is not secure"),
    Address("batch_buffer_start_address", 1, 31, 2, target="BATCH"),
], length=(7, 0), ref=_REF + "MI_BATCH_BUFFER_START")

# A length field of 0 would make two dwords, as Mesa's gen6.xml says, but the address is in the third.
MI_CONDITIONAL_BATCH_BUFFER_END = mi("MI_CONDITIONAL_BATCH_BUFFER_END", 0x36, 3, [
    Bool("use_global_gtt", 0, 22),
    Bool("compare_semaphore", 0, 21),
    Uint("compare_data_dword", 1, 31, 0, hex=True, doc="the batch ends unless memory is greater"),
    Address("compare_address", 2, 31, 3, target="DATA"),
], length=(7, 0), ref=_REF + "MI_CONDITIONAL_BATCH_BUFFER_END")

REPLACED: tuple[Block, ...] = (
    MI_WAIT_FOR_EVENT, MI_FLUSH, MI_LOAD_SCAN_LINES_INCL, MI_LOAD_SCAN_LINES_EXCL, MI_DISPLAY_FLIP, MI_SET_CONTEXT,
    MI_STORE_DATA_IMM, MI_STORE_DATA_INDEX, MI_STORE_REGISTER_MEM, MI_BATCH_BUFFER_START,
)
ADDED: tuple[Block, ...] = (
    MI_SEMAPHORE_MBOX, MI_URB_CLEAR, MI_UPDATE_GTT, MI_FLUSH_DW, MI_CLFLUSH, MI_CONDITIONAL_BATCH_BUFFER_END,
)
REMOVED: tuple[str, ...] = ("MI_BATCH_BUFFER",)
