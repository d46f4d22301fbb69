"""The commands of Ivy Bridge that 3D, media and GPGPU share, as differences to Sandy Bridge.

IVB PRM vol. 2 part 1 and vol. 1 part 1.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Bool, Enum, Ignored, Mbz, Uint, unless, when
from gen4emu.hw.gen4.common import GraphicsAddressType
from gen4emu.hw.gen6 import common as gen6
from gen4emu.hw.layout import Block
from gen4emu.hw.reserved import gfx


class PipelineSelection(IntEnum):
    """The pipeline that PIPELINE_SELECT switches to; "3D" is THREE_D."""

    THREE_D = 0
    MEDIA = 1
    GPGPU = 2


class LriPostSyncOperation(IntEnum):
    """Whether the immediate data goes to the register at the address."""

    NO_LRI_OPERATION = 0
    MMIO_WRITE_IMMEDIATE_DATA = 1


PIPELINE_SELECT = gen6.PIPELINE_SELECT.changed(
    Enum("pipeline_selection", 0, 1, 0, PipelineSelection), ref="IVB PRM vol1 part1 PIPELINE_SELECT")

SWTESS_BASE_ADDRESS = gfx("SWTESS_BASE_ADDRESS", 0x6103, 2, [
    Address("sw_tessellation_base_address", 1, 31, 12),
    Uint("sw_tessellation_memory_object_control_state", 1, 11, 8, hex=True),
], ref="IVB PRM vol1 part1 SWTESS_BASE_ADDRESS")

_LRI = when("lri_post_sync_operation", LriPostSyncOperation.MMIO_WRITE_IMMEDIATE_DATA)
_NO_LRI = unless("lri_post_sync_operation", LriPostSyncOperation.MMIO_WRITE_IMMEDIATE_DATA)

# The address has two more bits, and its type moved to the flags.
PIPE_CONTROL = gen6.PIPE_CONTROL.changed(
    Enum("destination_address_type", 1, 24, 24, GraphicsAddressType),
    Enum("lri_post_sync_operation", 1, 23, 23, LriPostSyncOperation),
    Bool("pipe_control_flush_enable", 1, 7),
    Bool("dc_flush_enable", 1, 5),
    Address("address", 2, 31, 2, target="DATA", when=(_NO_LRI, *gen6.WRITE)),
    Ignored(2, 31, 2, when=(_NO_LRI, *gen6.NO_WRITE)),
    Mbz(2, 31, 23, when=(_LRI,)),
    Uint("register_offset", 2, 22, 2, scale=4, hex=True, when=(_LRI,)),
    remove=["synchronize_gfdt_surface", "reserved_2_31_3"], ref="IVB PRM vol2 part1 PIPE_CONTROL")

REPLACED: tuple[Block, ...] = (PIPELINE_SELECT, PIPE_CONTROL)
ADDED: tuple[Block, ...] = (SWTESS_BASE_ADDRESS,)
