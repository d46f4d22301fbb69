"""Media and GPGPU on Ivy Bridge, as differences to Sandy Bridge: groups of threads with barriers and shared memory.

IVB PRM vol. 2 part 2.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Bool, Enum, Field, Ignored, Uint, unless, when
from gen4emu.hw.gen6 import media as gen6
from gen4emu.hw.gen7.pipeline import RoundingMode
from gen4emu.hw.layout import Block
from gen4emu.hw.reserved import block, gfx

_REF = "IVB PRM vol2 part2 "


class GatewayMmioAccessControl(IntEnum):
    """The registers that threads may access through the message gateway."""

    NO_MMIO_READ_WRITE_ALLOWED = 0
    MMIO_READ_WRITE_TO_ANY_ADDRESS = 2


class HalfSliceDestinationSelect(IntEnum):
    """The half-slice that takes the thread."""

    EITHER_HALF_SLICE = 0
    HALF_SLICE_0 = 1
    HALF_SLICE_1 = 2


class SimdSize(IntEnum):
    """The channels of a GPGPU thread."""

    SIMD8 = 0
    SIMD16 = 1
    SIMD32 = 2


class SharedLocalMemorySize(IntEnum):
    """The shared memory of a thread group, in units of 4 KiB."""

    ENCODES_0K = 0
    ENCODES_4K = 1
    ENCODES_8K = 2
    ENCODES_16K = 4
    ENCODES_32K = 8
    ENCODES_64K = 16


VFE_STATE = gen6.VFE_STATE.changed(
    Uint("maximum_number_of_threads", 2, 31, 16, bias=1, high=128),
    Enum("gateway_mmio_access_control", 2, 4, 3, GatewayMmioAccessControl),
    Bool("gpgpu_mode", 2, 2),
    remove=["fast_preempt"], ref=_REF + "MEDIA_VFE_STATE")

STATE_FLUSH = gfx("MEDIA_STATE_FLUSH", 0x7004, 2, [
    Bool("watermark_required", 1, 6),
    Uint("interface_descriptor_offset", 1, 5, 0, doc="in descriptors: whose resources must be free"),
], length=gen6.LENGTH, ref=_REF + "MEDIA_STATE_FLUSH")


def thread_group() -> list[Field]:
    """Dword 5 of an interface descriptor, where Sandy Bridge has a barrier's return."""
    return [
        Enum("rounding_mode", 5, 23, 22, RoundingMode),
        Bool("barrier_enable", 5, 21),
        Enum("shared_local_memory_size", 5, 20, 16, SharedLocalMemorySize),
        Uint("number_of_threads_in_gpgpu_thread_group", 5, 7, 0),
    ]


INTERFACE_DESCRIPTOR_DATA = block("INTERFACE_DESCRIPTOR_DATA", 8, [
    *gen6.thread_start(),
    Address("binding_table_pointer", 3, 15, 5, base="surface_state", target="BINDING_TABLE_STATE"),
    Uint("constant_urb_entry_read_length", 4, 31, 16, doc="in rows of 256 bits"),
    Uint("constant_urb_entry_read_offset", 4, 15, 0, doc="in rows of 256 bits"),
    *thread_group(),
], ref=_REF + "INTERFACE_DESCRIPTOR_DATA", align=32)

_DESTINATION = Enum("half_slice_destination_select", 2, 18, 17, HalfSliceDestinationSelect)

OBJECT = gen6.OBJECT.changed(_DESTINATION, ref=_REF + "MEDIA_OBJECT")

GPGPU_OBJECT = gfx("GPGPU_OBJECT", 0x7104, 8, [
    Bool("predicate_enable", 0, 8),
    Bool("shared_local_memory_fixed_offset", 1, 7),
    gen6.descriptor(),
    Uint("shared_local_memory_offset", 2, 31, 28, scale=4096, doc="in bytes"),
    Bool("end_of_thread_group", 2, 24),
    _DESTINATION,
    Uint("indirect_data_length", 2, 16, 0, doc="in bytes"),
    Address("indirect_data_start_address", 3, 31, 0, base="indirect_object", target="INDIRECT_DATA",
            count="indirect_data_length"),
    *(Uint(f"thread_group_id_{axis}", dword, 31, 0) for dword, axis in ((4, "x"), (5, "y"), (6, "z"))),
    Uint("execution_mask", 7, 31, 0, hex=True),
], ref=_REF + "GPGPU_OBJECT")

_DIRECT = (unless("indirect_parameter_enable", 1),)
_INDIRECT = (when("indirect_parameter_enable", 1),)


def _groups(axis: str, dword: int) -> list[Field]:
    return [
        Uint(f"thread_group_id_starting_{axis}", dword, 31, 0),
        Uint(f"thread_group_id_{axis}_dimension", dword + 1, 31, 0, when=_DIRECT, doc="the end, not the size"),
        Ignored(dword + 1, 31, 0, when=_INDIRECT),
    ]


GPGPU_WALKER = gfx("GPGPU_WALKER", 0x7105, 11, [
    Bool("indirect_parameter_enable", 0, 10, doc="the dimensions come from registers"),
    Bool("predicate_enable", 0, 8),
    gen6.descriptor(),
    Enum("simd_size", 2, 31, 30, SimdSize),
    Uint("thread_depth_counter_maximum", 2, 21, 16),
    Uint("thread_height_counter_maximum", 2, 13, 8),
    Uint("thread_width_counter_maximum", 2, 5, 0, doc="threads of a group - 1 if the other two are 0"),
    *_groups("x", 3),
    *_groups("y", 5),
    *_groups("z", 7),
    Uint("right_execution_mask", 9, 31, 0, hex=True, doc="of the last thread of a row"),
    Uint("bottom_execution_mask", 10, 31, 0, hex=True),
], ref=_REF + "GPGPU_WALKER")

REPLACED: tuple[Block, ...] = (VFE_STATE, STATE_FLUSH, INTERFACE_DESCRIPTOR_DATA, OBJECT)
ADDED: tuple[Block, ...] = (GPGPU_OBJECT, GPGPU_WALKER)
REMOVED: tuple[str, ...] = ("MEDIA_GATEWAY_STATE", "MEDIA_OBJECT_EX")
