"""The media and GPGPU commands of Gen8 for the render engine, and the interface descriptors of their threads.

Mesa's gen8.xml: the part of the manual with these commands is not published.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Field, Ignored, Sint, Uint, unless, when
from gen4emu.hw.gen4.common import DATA_DWORD
from gen4emu.hw.gen4.state import FloatingPointMode
from gen4emu.hw.gen6.media import ScoreboardType
from gen4emu.hw.gen6.pipeline import ThreadDispatchPriority
from gen4emu.hw.gen7.media import SharedLocalMemorySize, SimdSize
from gen4emu.hw.gen7.pipeline import RoundingMode
from gen4emu.hw.layout import Block, Command
from gen4emu.hw.reserved import block, gfx


class DenormMode(IntEnum):
    """The treatment of denormals that a GPGPU thread starts with."""

    FTZ = 0
    SET_BY_KERNEL = 1


class SliceDisable(IntEnum):
    """The slices and subslices that get threads."""

    ALL_SUBSLICES = 0
    SLICE_0 = 1
    SLICE_0_SUBSLICE_0 = 3


class GroupIdLoop(IntEnum):
    """The loop of a media walker that counts groups."""

    NO_GROUPS = 0
    COLOR_GROUPS = 1
    INNER_LOCAL_GROUPS = 2
    MID_LOCAL_GROUPS = 3
    OUTER_LOCAL_GROUPS = 4
    INNER_GLOBAL_GROUPS = 5


_LENGTH = (15, 0)

# --- state ------------------------------------------------------------------------------------------------------------
INTERFACE_DESCRIPTOR_DATA = block("INTERFACE_DESCRIPTOR_DATA", 8, [
    Address("kernel_start_pointer", 0, 47, 6, base="instruction", target="KERNEL"),
    Enum("denorm_mode", 2, 19, 19, enum=DenormMode),
    Bool("single_program_flow", 2, 18),
    Enum("thread_priority", 2, 17, 17, enum=ThreadDispatchPriority),
    Enum("floating_point_mode", 2, 16, 16, enum=FloatingPointMode),
    Bool("illegal_opcode_exception_enable", 2, 13),
    Bool("mask_stack_exception_enable", 2, 11),
    Bool("software_exception_enable", 2, 7),
    Address("sampler_state_pointer", 3, 31, 5, base="dynamic_state", target="SAMPLER_STATE", count="sampler_count"),
    Uint("sampler_count", 3, 4, 2, scale=4, high=16, doc="rounded up to 4; for prefetching only"),
    Address("binding_table_pointer", 4, 15, 5, base="surface_state", target="BINDING_TABLE_STATE"),
    Uint("binding_table_entry_count", 4, 4, 0, doc="for prefetching only"),
    Uint("constant_urb_entry_read_length", 5, 31, 16, doc="in rows of 256 bits, for each thread"),
    Uint("constant_urb_entry_read_offset", 5, 15, 0, doc="in rows of 256 bits"),
    Enum("rounding_mode", 6, 23, 22, enum=RoundingMode),
    Bool("barrier_enable", 6, 21),
    Enum("shared_local_memory_size", 6, 20, 16, enum=SharedLocalMemorySize),
    Uint("number_of_threads_in_gpgpu_thread_group", 6, 9, 0),
    Uint("cross_thread_constant_data_read_length", 7, 7, 0, doc="in rows of 256 bits"),
], ref="Mesa gen8.xml INTERFACE_DESCRIPTOR_DATA", align=64)


def _scoreboard(dword: int, first: int) -> list[Field]:
    """The distances of four threads on which a thread depends."""
    return [field for i in reversed(range(4)) for field in (
        Sint(f"scoreboard_{first + i}_delta_y", dword, 8 * i + 7, 8 * i + 4),
        Sint(f"scoreboard_{first + i}_delta_x", dword, 8 * i + 3, 8 * i),
    )]


MEDIA_VFE_STATE = gfx("MEDIA_VFE_STATE", 0x7000, 9, [
    Address("scratch_space_base_pointer", 1, 47, 10, base="general_state", target="SCRATCH"),
    Uint("stack_size", 1, 7, 4, doc="bytes are 1024 << n"),
    Uint("per_thread_scratch_space", 1, 3, 0, high=11, doc="bytes are 1024 << n"),
    Uint("maximum_number_of_threads", 3, 31, 16, bias=1),
    Uint("number_of_urb_entries", 3, 15, 8),
    Bool("reset_gateway_timer", 3, 7),
    Bool("bypass_gateway_control", 3, 6),
    Enum("slice_disable", 4, 1, 0, enum=SliceDisable),
    Uint("urb_entry_allocation_size", 5, 31, 16, doc="in rows of 256 bits"),
    Uint("curbe_allocation_size", 5, 15, 0, doc="in rows of 256 bits"),
    Bool("scoreboard_enable", 6, 31),
    Enum("scoreboard_type", 6, 30, 30, enum=ScoreboardType),
    Uint("scoreboard_mask", 6, 7, 0, hex=True),
    *_scoreboard(7, 0),
    *_scoreboard(8, 4),
], length=_LENGTH, ref="Mesa gen8.xml MEDIA_VFE_STATE")

MEDIA_STATE_FLUSH = gfx("MEDIA_STATE_FLUSH", 0x7004, 2, [
    Bool("flush_to_go", 1, 7),
    Bool("watermark_required", 1, 6),
    Uint("interface_descriptor_offset", 1, 5, 0),
], length=_LENGTH, ref="Mesa gen8.xml MEDIA_STATE_FLUSH")

GPGPU_WALKER = gfx("GPGPU_WALKER", 0x7105, 15, [
    Bool("indirect_parameter_enable", 0, 10, doc="the dimensions come from GPGPU_DISPATCHDIM*"),
    Bool("predicate_enable", 0, 8),
    Uint("interface_descriptor_offset", 1, 5, 0, doc="in descriptors"),
    Uint("indirect_data_length", 2, 16, 0, doc="in bytes"),
    Address("indirect_data_start_address", 3, 31, 6, base="indirect_object", target="INDIRECT_DATA",
            count="indirect_data_length", when=(unless("indirect_data_length", 0),)),
    Ignored(3, 31, 6, when=(when("indirect_data_length", 0),)),
    Enum("simd_size", 4, 31, 30, enum=SimdSize),
    Uint("thread_depth_counter_maximum", 4, 21, 16),
    Uint("thread_height_counter_maximum", 4, 13, 8),
    Uint("thread_width_counter_maximum", 4, 5, 0),
    Uint("thread_group_id_starting_x", 5, 31, 0),
    Uint("thread_group_id_x_dimension", 7, 31, 0, doc="exclusive, as the other two"),
    Uint("thread_group_id_starting_y", 8, 31, 0),
    Uint("thread_group_id_y_dimension", 10, 31, 0),
    Uint("thread_group_id_starting_resume_z", 11, 31, 0),
    Uint("thread_group_id_z_dimension", 12, 31, 0),
    Uint("right_execution_mask", 13, 31, 0, hex=True, doc="of the last thread of a row"),
    Uint("bottom_execution_mask", 14, 31, 0, hex=True, doc="of the threads of the last row"),
], ref="Mesa gen8.xml GPGPU_WALKER")


# --- media objects ----------------------------------------------------------------------------------------------------
def indirect_data() -> list[Field]:
    return [
        Uint("indirect_data_length", 2, 16, 0, doc="in bytes"),
        Address("indirect_data_start_address", 3, 31, 0, base="indirect_object", target="INDIRECT_DATA",
                count="indirect_data_length", when=(unless("indirect_data_length", 0),)),
        Ignored(3, 31, 0, when=(when("indirect_data_length", 0),)),
    ]


def _placed_thread() -> list[Field]:
    """Where a thread runs, and the coordinates by which others depend on it."""
    return [
        Uint("interface_descriptor_offset", 1, 5, 0, doc="in descriptors"),
        Bool("force_destination", 2, 22),
        Bool("use_scoreboard", 2, 21),
        Uint("slice_destination_select", 2, 20, 19),
        Uint("subslice_destination_select", 2, 18, 17),
        *indirect_data(),
        Uint("scoreboard_y", 4, 24, 16),
        Uint("scoreboard_x", 4, 8, 0),
        Uint("scoreboard_color", 5, 19, 16),
        Uint("scoreboard_mask", 5, 7, 0, hex=True),
    ]


MEDIA_OBJECT = gfx("MEDIA_OBJECT", 0x7100, 6, [
    *_placed_thread(),
    Bool("children_present", 2, 31),
    Bool("thread_synchronization", 2, 24, doc="waits for a spawn root thread message"),
    Array("inline_data", 6, DATA_DWORD),
], length=_LENGTH, ref="Mesa gen8.xml MEDIA_OBJECT")

MEDIA_OBJECT_GRPID = gfx("MEDIA_OBJECT_GRPID", 0x7106, 7, [
    *_placed_thread(),
    Bool("end_of_thread_group", 2, 23),
    Uint("groupid", 6, 31, 0),
    Array("inline_data", 7, DATA_DWORD),
], length=_LENGTH, ref="Mesa gen8.xml MEDIA_OBJECT_GRPID")

def walker_loops(bits: int) -> list[Field]:
    """Dwords 7 to 16: counts, positions and steps of the loops.  Signed numbers have `bits` bits, others one less."""

    def pair(dword: int, name: str, signed: bool) -> list[Field]:
        kind = Sint if signed else Uint
        top = bits - (1 if signed else 2)
        return [kind(f"{name}_y", dword, 16 + top, 16), kind(f"{name}_x", dword, top, 0)]

    return [
        Uint("global_loop_exec_count", 7, 15 + bits, 16),
        Uint("local_loop_exec_count", 7, bits - 1, 0),
        *pair(8, "block_resolution", False),
        *pair(9, "local_start", False),
        *pair(11, "local_outer_loop_stride", True),
        *pair(12, "local_inner_loop_unit", True),
        *pair(13, "global_resolution", False),
        *pair(14, "global_start", True),
        *pair(15, "global_outer_loop_stride", True),
        *pair(16, "global_inner_loop_unit", True),
    ]


def media_object_walker(bits: int, *header: Field) -> Command:
    return gfx("MEDIA_OBJECT_WALKER", 0x7103, 17, [
        Uint("interface_descriptor_offset", 1, 5, 0, doc="in descriptors"),
        Bool("thread_synchronization", 2, 24, doc="waits for a spawn root thread message"),
        Bool("use_scoreboard", 2, 21),
        *header,
        *indirect_data(),
        Enum("group_id_loop_select", 5, 31, 8, enum=GroupIdLoop),
        Uint("scoreboard_mask", 5, 7, 0, hex=True),
        Uint("color_count_minus_one", 6, 27, 24),
        Uint("middle_loop_extra_steps", 6, 20, 16),
        Sint("local_mid_loop_unit_y", 6, 13, 12),
        Sint("mid_loop_unit_x", 6, 9, 8),
        *walker_loops(bits),
        Array("inline_data", 17, DATA_DWORD),
    ], length=_LENGTH, ref="Mesa gen8.xml, gen9.xml MEDIA_OBJECT_WALKER")


MEDIA_OBJECT_WALKER = media_object_walker(10, Bool("children_present", 2, 31))

REPLACED: tuple[Block, ...] = (
    MEDIA_VFE_STATE, MEDIA_STATE_FLUSH, GPGPU_WALKER, MEDIA_OBJECT, MEDIA_OBJECT_WALKER, INTERFACE_DESCRIPTOR_DATA,
)
ADDED: tuple[Block, ...] = (MEDIA_OBJECT_GRPID,)
# The state of media sampling has 64-bit addresses and other coefficients, of which no public source has every field.
REMOVED: tuple[str, ...] = (
    "GPGPU_OBJECT", "MEDIA_SURFACE_STATE", "SAMPLER_8x8", "SAMPLER_8x8_STATE", "AVS_COEFFICIENTS",
)
