"""The media pipeline of Sandy Bridge: its state is in commands, and VFE has one mode, the generic one.

SNB PRM vol. 2 part 2.  Decoding moved to the video engine, whose commands are in `gen4emu.hw.gen6.mfx`.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Field, Sint, Uint
from gen4emu.hw.gen4 import media as gen4
from gen4emu.hw.gen4.common import DATA_DWORD
from gen4emu.hw.gen4.media import INLINE_DATA
from gen4emu.hw.gen4.state import FloatingPointMode
from gen4emu.hw.gen6.pipeline import ThreadDispatchPriority, kernel, scratch
from gen4emu.hw.gen45 import media as gen45
from gen4emu.hw.gen45 import media_inline
from gen4emu.hw.layout import Block, Command
from gen4emu.hw.reserved import block, gfx

_REF = "SNB PRM vol2 part2 "
LENGTH = (15, 0)


class ScoreboardType(IntEnum):
    """Whether a thread waits before or after its dispatch."""

    STALLING = 0
    NON_STALLING = 1


class PrtFenceType(IntEnum):
    """The event that a fence of a persistent root thread waits for."""

    ROOT_THREAD_QUEUE = 0
    VFE_STATE_FLUSH = 1


class GatewayControl(IntEnum):
    """Whether threads open and close the message gateway."""

    MAINTAINING_OPENGATEWAY_FORWARDMSG_CLOSEGATEWAY_PROTOCOL = 0
    BYPASSING_OPENGATEWAY_CLOSEGATEWAY_PROTOCOL = 1


# --- state ------------------------------------------------------------------------------------------------------------
def vfe_sizes() -> list[Field]:
    """Dword 4 of MEDIA_VFE_STATE."""
    return [
        Uint("urb_entry_allocation_size", 4, 31, 16, doc="in rows of 256 bits"),
        Uint("curbe_allocation_size", 4, 15, 0, doc="in rows of 256 bits"),
    ]


def scoreboard() -> list[Field]:
    """Dwords 5 to 7 of MEDIA_VFE_STATE: the eight neighbours that a thread may depend on."""
    return [
        Bool("scoreboard_enable", 5, 31),
        Enum("scoreboard_type", 5, 30, 30, ScoreboardType),
        Uint("scoreboard_mask", 5, 7, 0, hex=True),
        *(Sint(f"scoreboard_{i}_delta_{axis}", 6 + i // 4, 8 * (i % 4) + lo + 3, 8 * (i % 4) + lo)
          for i in range(8) for axis, lo in (("y", 4), ("x", 0))),
    ]


VFE_STATE = gfx("MEDIA_VFE_STATE", 0x7000, 8, [
    scratch(1)[0],
    Uint("per_thread_scratch_space", 1, 3, 0, bias=1, scale=1024, high=12 * 1024, doc="in bytes"),
    Uint("maximum_number_of_threads", 2, 31, 16, bias=1, high=60),
    Uint("number_of_urb_entries", 2, 15, 8, high=64),
    Bool("reset_gateway_timer", 2, 7),
    Enum("bypass_gateway_control", 2, 6, 6, GatewayControl),
    Uint("fast_preempt", 2, 5, 5, doc="0 preempts at persistent root threads only"),
    *vfe_sizes(),
    *scoreboard(),
], length=LENGTH, ref=_REF + "MEDIA_VFE_STATE", doc="7000 was MEDIA_STATE_POINTERS")

CURBE_LOAD = gfx("MEDIA_CURBE_LOAD", 0x7001, 4, [
    Uint("curbe_total_data_length", 2, 16, 0, doc="in bytes"),
    Address("curbe_data_start_address", 3, 31, 0, base="dynamic_state", target="CONSTANTS",
            count="curbe_total_data_length"),
], length=LENGTH, ref=_REF + "MEDIA_CURBE_LOAD")

INTERFACE_DESCRIPTOR_LOAD = gfx("MEDIA_INTERFACE_DESCRIPTOR_LOAD", 0x7002, 4, [
    Uint("interface_descriptor_total_length", 2, 16, 0, doc="in bytes: 32 for each descriptor"),
    Address("interface_descriptor_data_start_address", 3, 31, 0, base="dynamic_state",
            target="INTERFACE_DESCRIPTOR_DATA", count="interface_descriptor_total_length"),
], length=LENGTH, ref=_REF + "MEDIA_INTERFACE_DESCRIPTOR_LOAD")

GATEWAY_STATE = gfx("MEDIA_GATEWAY_STATE", 0x7003, 2, [
    Uint("barrier_id", 1, 23, 16, high=15),
    Uint("barrier_byte", 1, 15, 8),
    Uint("barrier_thread_count", 1, 7, 0),
], length=LENGTH, ref=_REF + "MEDIA_GATEWAY_STATE")

STATE_FLUSH = gfx("MEDIA_STATE_FLUSH", 0x7004, 2, [
    Uint("thread_count_watermark", 1, 23, 16),
    Uint("barrier_mask", 1, 15, 0, hex=True),
], length=LENGTH, ref=_REF + "MEDIA_STATE_FLUSH")


def thread_start() -> list[Field]:
    """Dwords 0 to 2 of an interface descriptor, and the count of dword 3."""
    return [
        kernel(0),
        Bool("single_program_flow", 1, 18),
        Enum("thread_priority", 1, 17, 17, ThreadDispatchPriority),
        Enum("floating_point_mode", 1, 16, 16, FloatingPointMode),
        Bool("illegal_opcode_exception_enable", 1, 13),
        Bool("mask_stack_exception_enable", 1, 11),
        Bool("software_exception_enable", 1, 7),
        Address("sampler_state_pointer", 2, 31, 5, base="dynamic_state", target="SAMPLER_STATE",
                count="sampler_count"),
        Uint("sampler_count", 2, 4, 2, scale=4, high=16, doc="rounded up to 4; for prefetching only"),
        Uint("binding_table_entry_count", 3, 4, 0, doc="for prefetching only"),
    ]


INTERFACE_DESCRIPTOR_DATA = block("INTERFACE_DESCRIPTOR_DATA", 8, [
    *thread_start(),
    Address("binding_table_pointer", 3, 31, 5, base="surface_state", target="BINDING_TABLE_STATE"),
    Uint("constant_urb_entry_read_length", 4, 31, 16, doc="in rows of 256 bits"),
    Uint("constant_urb_entry_read_offset", 4, 15, 0, doc="in rows of 256 bits"),
    Uint("barrier_return_grf_offset", 5, 31, 24),
    Uint("barrier_return_byte", 5, 15, 8),
    Uint("barrier_id", 5, 3, 0),
], ref=_REF + "INTERFACE_DESCRIPTOR_DATA", align=32)


# --- objects ----------------------------------------------------------------------------------------------------------
def descriptor(hi: int = 4) -> Field:
    """Dword 1 of every object."""
    return Uint("interface_descriptor_offset", 1, hi, 0, doc="in descriptors")


def object_data() -> list[Field]:
    """Dwords 2 and 3 of objects with indirect data."""
    return [
        Bool("children_present", 2, 31),
        Bool("thread_synchronization", 2, 24, doc="waits for a spawn root thread message"),
        Bool("use_scoreboard", 2, 21),
        Uint("indirect_data_length", 2, 16, 0, doc="in bytes"),
        Address("indirect_data_start_address", 3, 31, 0, base="indirect_object", target="INDIRECT_DATA",
                count="indirect_data_length"),
    ]


OBJECT = gfx("MEDIA_OBJECT", 0x7100, 6, [
    descriptor(),
    *object_data(),
    Uint("scoreboard_y", 4, 24, 16),
    Uint("scoreboard_x", 4, 8, 0),
    Uint("scoreboard_color", 5, 19, 16),
    Uint("scoreboard_mask", 5, 7, 0, hex=True),
    Array("inline_data", 6, INLINE_DATA),
], length=LENGTH, ref=_REF + "MEDIA_OBJECT")

OBJECT_PRT = gfx("MEDIA_OBJECT_PRT", 0x7102, 16, [
    descriptor(),
    Bool("children_present", 2, 31),
    Bool("prt_fence_needed", 2, 23),
    Enum("prt_fencetype", 2, 22, 22, PrtFenceType),
    Array("inline_data", 4, INLINE_DATA, 12),
], length=LENGTH, ref=_REF + "MEDIA_OBJECT_PRT")


def _pair(name: str, dword: int, hi: int, kind: type[Uint | Sint] = Uint) -> list[Field]:
    return [kind(f"{name}_y", dword, 16 + hi, 16), kind(f"{name}_x", dword, hi, 0)]


def walk(*, local_end: bool = True) -> list[Field]:
    """Dwords 5 to 16 of MEDIA_OBJECT_WALKER: three nested loops over the blocks of a picture."""
    return [
        Uint("scoreboard_mask", 5, 7, 0, hex=True),
        Bool("dual_mode", 6, 31),
        Bool("repel", 6, 30),
        Uint("color_count_minus_one", 6, 27, 24),
        Uint("middle_loop_extra_steps", 6, 20, 16),
        Sint("local_mid_loop_unit_y", 6, 13, 12),
        Sint("mid_loop_unit_x", 6, 9, 8),
        Uint("global_loop_exec_count", 7, 25, 16),
        Uint("local_loop_exec_count", 7, 9, 0),
        *_pair("block_resolution", 8, 8),
        *_pair("local_start", 9, 8),
        *(_pair("local_end", 10, 8) if local_end else []),
        *_pair("local_outer_loop_stride", 11, 9, Sint),
        *_pair("local_inner_loop_unit", 12, 9, Sint),
        *_pair("global_resolution", 13, 8),
        *_pair("global_start", 14, 9, Sint),
        *_pair("global_outer_loop_stride", 15, 9, Sint),
        *_pair("global_inner_loop_unit", 16, 9, Sint),
    ]


OBJECT_WALKER = gfx("MEDIA_OBJECT_WALKER", 0x7103, 17, [
    descriptor(),
    *object_data(),
    *walk(),
    Array("inline_data", 17, INLINE_DATA),
], length=LENGTH, ref=_REF + "MEDIA_OBJECT_WALKER")

# Nothing public lays out this command of Sandy Bridge, and no driver sends it.
OBJECT_EX = gfx("MEDIA_OBJECT_EX", 0x7101, 1, [Array("data", 1, DATA_DWORD)], length=LENGTH,
                ref=_REF + "MEDIA_OBJECT_EX")

# The Gen4 blocks of VFE and VLD, the layouts of its inline data, and the payloads of threads that they made.
_GEN4_BLOCKS = tuple(b.name for b in (*gen4.BLOCKS, *gen45.ADDED, *media_inline.ADDED)
                     if b is not INLINE_DATA and not isinstance(b, Command))

REPLACED: tuple[Block, ...] = (OBJECT, OBJECT_EX, OBJECT_PRT)
ADDED: tuple[Block, ...] = (
    VFE_STATE, CURBE_LOAD, INTERFACE_DESCRIPTOR_LOAD, GATEWAY_STATE, STATE_FLUSH, INTERFACE_DESCRIPTOR_DATA,
    OBJECT_WALKER,
)
REMOVED: tuple[str, ...] = ("MEDIA_STATE_POINTERS", *_GEN4_BLOCKS)
