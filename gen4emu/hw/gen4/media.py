"""The media pipeline: its commands, the state of VFE and VLD, and the messages between thread spawner and threads.

G45 PRM vol. 2, 10.6 to 10.8; where the manual contradicts itself, as in intel-vaapi-driver.  The data of a macroblock
in each VFE mode, in a command and in a thread's registers, is in `gen4emu.hw.gen4.media_inline`.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Field, Ignored, Mbz, Uint, unless, when
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import media_inline
from gen4emu.hw.gen4.media_inline import PictureCodingType, PictureStructure, QuantizerScaleType
from gen4emu.hw.gen4.payload import binding_table, sampler_and_scratch, scratch_pointer
from gen4emu.hw.gen4.state import FloatingPointMode, ThreadPriority, exception_enables
from gen4emu.hw.layout import Block, Command, gfx


class VfeModeBw(IntEnum):
    """The operation of VFE for a MEDIA_OBJECT, on 965G."""

    GENERIC = 0
    IS = 2


class VfeModeCl(IntEnum):
    """965GM decodes MPEG-2, too."""

    GENERIC = 0
    VLD = 1
    IS = 2


class VfeMode(IntEnum):
    """The modes of all generations; G4x has all of them."""

    GENERIC = 0
    VLD = 1
    IS = 2
    AVC_MC = 4
    AVC_IT = 7
    VC1_IT = 0xB


class DebugCounterControl(IntEnum):
    """The change of the counter of root threads."""

    FREE_RUNNING = 0
    FROZEN = 1
    INITIALIZED_ONCE = 2
    INITIALIZED_ALWAYS = 3


class InverseScanType(IntEnum):
    """The order of the coefficients in the bitstream."""

    ZIGZAG = 0
    ALTERNATE_VERTICAL = 1


# --- state ------------------------------------------------------------------------------------------------------------
VFE_STATE = Block("VFE_STATE", 3, [
    Address("scratch_space_base_pointer", 0, 31, 10, base="general_state", target="SCRATCH"),
    Mbz(0, 9, 8),
    Mbz(0, 7, 7),
    Mbz(0, 6, 4),
    Uint("per_thread_scratch_space", 0, 3, 0, bias=1, scale=1024, high=12 * 1024,
         doc="in bytes; linear, unlike that of the 3D units"),
    Uint("maximum_number_of_threads", 1, 31, 25, bias=1, high=32, doc="root threads"),
    Uint("urb_entry_allocation_size", 1, 24, 16, bias=1, high=256, doc="in units of 512 bits"),
    Uint("number_of_urb_entries", 1, 15, 9, low=1, high=64),
    Mbz(1, 8, 7),
    Enum("vfe_mode", 1, 6, 3, VfeModeBw, gens=Gen.BW),
    Enum("vfe_mode", 1, 6, 3, VfeModeCl, gens=Gen.CL),
    Bool("children_present", 1, 2, doc="threads may spawn; not in VLD mode"),
    Enum("debug_counter_control", 1, 1, 0, DebugCounterControl),
    Address("interface_descriptor_base_pointer", 2, 31, 4, base="general_state", target="INTERFACE_DESCRIPTOR"),
    Mbz(2, 3, 0),
], ref="G45v2 10.6.2", align=32)


VLD_STATE = Block("VLD_STATE", 4, [
    Uint("f_code_backward_vertical", 0, 31, 28),
    Uint("f_code_backward_horizontal", 0, 27, 24),
    Uint("f_code_forward_vertical", 0, 23, 20),
    Uint("f_code_forward_horizontal", 0, 19, 16),
    Uint("intra_dc_precision", 0, 15, 14, doc="8 to 11 bits"),
    Enum("picture_structure", 0, 13, 12, PictureStructure),
    Bool("top_field_first", 0, 11, doc="of a field: it is a top one and comes first, or a bottom one and second"),
    Bool("frame_prediction_frame_dct", 0, 10),
    Bool("concealment_motion_vector_flag", 0, 9),
    Enum("quantizer_scale_type", 0, 8, 8, QuantizerScaleType),
    Bool("intra_vlc_format", 0, 7, doc="table B-15 instead of B-14"),
    Enum("scan_order", 0, 6, 6, InverseScanType),
    Ignored(0, 5, 0),
    Ignored(1, 31, 11),
    Enum("picture_coding_type", 1, 10, 9, PictureCodingType),
    Ignored(1, 8, 0),
    Ignored(2),
    Ignored(3),
], ref="G45v2 10.6.3", gens=Gen.CL, align=32)

INTERFACE_DESCRIPTOR = Block("INTERFACE_DESCRIPTOR", 4, [
    Address("kernel_start_pointer", 0, 31, 6, base="general_state", target="KERNEL"),
    Mbz(0, 5, 4),
    Uint("grf_register_count", 0, 3, 0, bias=1, scale=8),
    Uint("constant_urb_entry_read_length", 1, 31, 26, doc="in rows of 256 bits"),
    Uint("constant_urb_entry_read_offset", 1, 25, 20),
    Mbz(1, 19, 19),
    Bool("single_program_flow", 1, 18),
    Enum("thread_priority", 1, 17, 17, ThreadPriority),
    Enum("floating_point_mode", 1, 16, 16, FloatingPointMode),
    *exception_enables(),
    Address("sampler_state_pointer", 2, 31, 5, base="general_state", target="SAMPLER_STATE", count="sampler_count"),
    Uint("sampler_count", 2, 4, 2, scale=4, high=16, doc="rounded up to 4; for prefetching only"),
    Mbz(2, 1, 0),
    Address("binding_table_pointer", 3, 31, 5, base="surface_state", target="BINDING_TABLE_STATE"),
    Uint("binding_table_entry_count", 3, 4, 0, doc="for prefetching only"),
], ref="G45v2 10.6.5", align=16, doc="an array; children take the last two dwords from their parent")

# --- commands ---------------------------------------------------------------------------------------------------------
INLINE_DATA = Block("INLINE_DATA", 1, [
    Uint("data", 0, 31, 0, hex=True, doc="laid out by the VFE mode"),
], ref="G45v2 10.7.2")


def indirect_data() -> list[Field]:
    """The end of dword 2, and dword 3.  The manual limits the offset to 512 MB, but drivers use bits 31:29, too."""
    return [
        Uint("indirect_data_length", 2, 16, 0, doc="in bytes"),
        Address("indirect_data_start_address", 3, 31, 0, base="indirect_object", target="INDIRECT_DATA",
                count="indirect_data_length", when=(unless("indirect_data_length", 0),)),
        Ignored(3, when=(when("indirect_data_length", 0),)),
    ]


LENGTH = (15, 0)
_EXTENDED = (when("extended_vfe_state_enable", 1),)
_NOT_EXTENDED = (unless("extended_vfe_state_enable", 1),)

COMMANDS: tuple[Command, ...] = (
    gfx("MEDIA_STATE_POINTERS", 0x7000, 3, [
        Address("extended_state_pointer", 1, 31, 5, base="general_state", target="VLD_STATE", when=_EXTENDED,
                doc="VFE_STATE_EX unless VFE is in VLD mode"),
        Ignored(1, 31, 5, when=_NOT_EXTENDED),
        Mbz(1, 4, 1),
        Bool("extended_vfe_state_enable", 1, 0),
        Address("pointer_to_vfe_state", 2, 31, 5, base="general_state", target="VFE_STATE"),
        Mbz(2, 4, 0),
    ], length=LENGTH, ref="G45v2 10.7.1"),
    gfx("MEDIA_OBJECT", 0x7100, 4, [
        Uint("object_id", 1, 31, 8, doc="for the debug counter"),
        Mbz(1, 7, 7),
        Uint("interface_descriptor_offset", 1, 6, 0, doc="in descriptors; not used in VLD mode"),
        Mbz(2, 31, 29),
        Bool("retain_bit", 2, 28, doc="the last 256 bits of this object's data begin that of the next"),
        Mbz(2, 27, 25),
        Bool("thread_synchronization", 2, 24, doc="waits for a spawn root thread message"),
        Mbz(2, 23, 17),
        *indirect_data(),
        Array("inline_data", 4, INLINE_DATA),
    ], length=LENGTH, ref="G45v2 10.7.2"),
)

# --- threads ----------------------------------------------------------------------------------------------------------
PAYLOAD_MEDIA_R0 = Block("PAYLOAD_MEDIA_R0", 8, [
    Ignored(0, 31, 16),
    Uint("urb_handle", 0, 15, 0, doc="to be returned if children may be present; not used in VLD mode"),
    Ignored(1),
    Address("interface_descriptor_pointer", 2, 31, 4, base="general_state", target="INTERFACE_DESCRIPTOR"),
    Ignored(2, 3, 0),
    *sampler_and_scratch(),
    *binding_table(),
    scratch_pointer(),
    Ignored(5, 9, 8),
    Uint("fftid", 5, 7, 0),
    Ignored(6, 31, 24),
    Uint("thread_count", 6, 23, 0, doc="the debug counter"),
    Bool("snapshot_flag", 7, 31),
    Ignored(7, 30, 24),
    Uint("parent_thread_count", 7, 23, 0, doc="0 in a root thread"),
], ref="G45v2 10.8.1.1", align=32, doc="of root threads; a child's is what its parent wrote")

THREAD_SPAWNER_MESSAGE_HEADER = Block("THREAD_SPAWNER_MESSAGE_HEADER", 8, [
    Ignored(0, 31, 16),
    Uint("dispatch_urb_handle", 0, 15, 0, doc="in units of 512 bits"),
    Ignored(1),
    Address("interface_descriptor_pointer", 2, 31, 4, base="general_state", target="INTERFACE_DESCRIPTOR",
            doc="of the child to be spawned"),
    Ignored(2, 3, 0),
    Ignored(3),
    Ignored(4, 31, 16),
    Uint("dispatch_urb_length", 4, 15, 10, doc="registers: a child's after R0, or all that a root thread is handed"),
    Uint("urb_handle_offset", 4, 9, 0, doc="in rows of 256 bits"),
    Ignored(5, 31, 8),
    Uint("fftid", 5, 7, 0),
    Ignored(6),
    Ignored(7),
], ref="G45v2 10.8.2.2", align=32)

BLOCKS: tuple[Block, ...] = (
    VFE_STATE, VLD_STATE, INTERFACE_DESCRIPTOR, INLINE_DATA, PAYLOAD_MEDIA_R0,
    THREAD_SPAWNER_MESSAGE_HEADER, *media_inline.BLOCKS,
)
