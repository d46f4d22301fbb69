"""The media pipeline of Gen4.5: more VFE modes, their state, two more commands (G45 PRM vol. 2, 10.6 and 10.7)."""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Array, Bool, Enum, Field, Mbz, Uint
from gen4emu.hw.gen4 import media
from gen4emu.hw.gen4.media import INLINE_DATA, LENGTH, VfeMode, indirect_data
from gen4emu.hw.layout import Block, gfx


class IndirectSubFieldPresent(IntEnum):
    """The data before the residual in the indirect data of AVC."""

    NO_MV = 0
    NO_WO = 1
    MV_AND_WO = 3


VFE_STATE = media.VFE_STATE.changed(
    Bool("extended_vfe_state_present", 0, 7, doc="the bit in MEDIA_STATE_POINTERS decides"),
    Uint("maximum_number_of_threads", 1, 31, 25, bias=1, high=50, doc="root threads"),
    Enum("vfe_mode", 1, 6, 3, VfeMode))


def _remap(dword: int, first: int) -> list[Field]:
    """Eight nibbles of a table from the index of a descriptor to its number."""
    return [Uint(f"interface_descriptor_remap_{first + i}", dword, 4 * i + 3, 4 * i) for i in reversed(range(8))]


VLD_STATE = media.VLD_STATE.changed(*_remap(2, 0), *_remap(3, 8), remove=["reserved_2_31_0", "reserved_3_31_0"])

VFE_STATE_EX = Block("VFE_STATE_EX", 8, [
    Uint("object_id", 0, 31, 8, doc="the debug counter starts here if it is initialized once"),
    Mbz(0, 7, 0),
    # AVC-IT and AVC-MC; the whole dword must be zero in VC1-IT mode.
    Mbz(1, 31, 27),
    Bool("residual_data_fixed_source_offset_flag", 1, 26),
    Enum("indirect_sub_field_present_flag", 1, 25, 24, IndirectSubFieldPresent),
    Uint("residual_data_source_offset", 1, 23, 16, doc="in dwords, a multiple of 8"),
    Mbz(1, 15, 13),
    Uint("inter_weight_offset_grf_destination_offset", 1, 12, 8, doc="in registers from the motion vectors"),
    Mbz(1, 7, 5),
    Uint("inter_residual_data_grf_destination_offset", 1, 4, 0, doc="in registers from the motion vectors"),
    *_remap(2, 0),
    *_remap(3, 8),
    *(Mbz(dword) for dword in range(4, 8)),
], ref="G45v2 10.6.4", align=32)

REPLACED: tuple[Block, ...] = (VFE_STATE, VLD_STATE)
ADDED: tuple[Block, ...] = (
    VFE_STATE_EX,
    gfx("MEDIA_OBJECT_EX", 0x7101, 4, [
        Mbz(1),
        Mbz(2, 31, 31),
        Uint("interface_descriptor_offset", 2, 30, 24, doc="before the remapping"),
        Mbz(2, 23, 21),
        Bool("thread_synchronization", 2, 20),
        Mbz(2, 19, 17),
        *indirect_data(),
        Array("inline_data", 4, INLINE_DATA),
    ], length=LENGTH, ref="G45v2 10.7.3"),
    gfx("MEDIA_OBJECT_PRT", 0x7102, 4, [
        Mbz(1),
        Mbz(2, 31, 31),
        Uint("interface_descriptor_offset", 2, 30, 24),
        Bool("prt_fence_needed", 2, 23),
        Mbz(2, 22, 21),
        Bool("thread_synchronization", 2, 20),
        Mbz(2, 19, 0),
        Mbz(3),
        Array("inline_data", 4, INLINE_DATA),
    ], length=LENGTH, ref="G45v2 10.7.4"),
)
