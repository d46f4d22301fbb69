"""Media and GPGPU on Haswell, as differences to Ivy Bridge: descriptors of one more bit, slices, and shared constants.

HSW PRM vol. 2a and 2d.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Bool, Enum, Field, Uint
from gen4emu.hw.gen6 import media as gen6
from gen4emu.hw.gen7 import media as gen7
from gen4emu.hw.layout import Block

_REF = "HSW PRM vol2a "


class SliceDestinationSelect(IntEnum):
    """The slice that takes the thread; either one if no half-slice is named."""

    SLICE_0 = 0
    SLICE_1 = 1


VFE_STATE = gen7.VFE_STATE.changed(
    Uint("stack_size", 1, 7, 4),
    Uint("per_thread_scratch_space", 1, 3, 0, high=10, doc="bytes are 2048 << n"),
    Uint("maximum_number_of_threads", 2, 31, 16, bias=1, high=280),
    Uint("half_slice_disable", 3, 1, 0, high=3),
    remove=["gateway_mmio_access_control"], ref=_REF + "MEDIA_VFE_STATE")

STATE_FLUSH = gen7.STATE_FLUSH.changed(
    Bool("disable_preemption", 1, 8), Bool("flush_to_go", 1, 7), ref=_REF + "MEDIA_STATE_FLUSH")

INTERFACE_DESCRIPTOR_DATA = gen7.INTERFACE_DESCRIPTOR_DATA.changed(
    Uint("cross_thread_constant_data_read_length", 6, 7, 0, doc="in rows of 256 bits, before those of the thread"),
    remove=["constant_urb_entry_read_offset"], ref="HSW PRM vol2d INTERFACE_DESCRIPTOR_DATA")

_DESCRIPTOR = gen6.descriptor(5)


def _slice() -> Field:
    return Enum("slice_destination_select", 2, 19, 19, SliceDestinationSelect)


OBJECT = gen7.OBJECT.changed(_DESCRIPTOR, _slice(), ref=_REF + "MEDIA_OBJECT")
OBJECT_PRT = gen6.OBJECT_PRT.changed(_DESCRIPTOR, ref=_REF + "MEDIA_OBJECT_PRT")
OBJECT_WALKER = gen6.OBJECT_WALKER.changed(
    _DESCRIPTOR, Bool("quad_mode", 6, 29), remove=["local_end_x", "local_end_y"], ref=_REF + "MEDIA_OBJECT_WALKER")
GPGPU_OBJECT = gen7.GPGPU_OBJECT.changed(_DESCRIPTOR, _slice(), ref=_REF + "GPGPU_OBJECT")
GPGPU_WALKER = gen7.GPGPU_WALKER.changed(_DESCRIPTOR, ref=_REF + "GPGPU_WALKER")

REPLACED: tuple[Block, ...] = (
    VFE_STATE, STATE_FLUSH, INTERFACE_DESCRIPTOR_DATA, OBJECT, OBJECT_PRT, OBJECT_WALKER, GPGPU_OBJECT, GPGPU_WALKER,
)
