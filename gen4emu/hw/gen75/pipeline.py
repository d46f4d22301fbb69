"""The 3D commands of Haswell, as differences to Ivy Bridge: more threads, the resource streamer, cut indices anywhere.

HSW PRM vol. 2a, "Command Reference: Instructions".
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Field, Uint
from gen4emu.hw.gen6 import common as gen6_common
from gen4emu.hw.gen6 import pipeline as gen6
from gen4emu.hw.gen7 import pipeline as gen7
from gen4emu.hw.gen7.pipeline import STAGES, stages
from gen4emu.hw.gen75.state import BINDING_TABLE_EDIT_ENTRY, GATHER_CONSTANT_ENTRY
from gen4emu.hw.layout import Block, Command
from gen4emu.hw.reserved import gfx, must_be_one

_REF = "HSW PRM vol2a "


class CoreModeSelect(IntEnum):
    """The cores that take the rectangle."""

    LEGACY = 0
    CORE_0_ENABLED = 1
    CORE_1_ENABLED = 2


class BindingTableEditTarget(IntEnum):
    """The core that takes an edit of a binding table."""

    CORE_0 = 1
    CORE_1 = 2
    ALL_CORES = 3


class RasterizationMultisamples(IntEnum):
    """NUMRASTSAMPLES_*."""

    NUMRASTSAMPLES_1 = 0
    NUMRASTSAMPLES_2 = 1
    NUMRASTSAMPLES_4 = 2
    NUMRASTSAMPLES_8 = 3
    NUMRASTSAMPLES_16 = 4


# --- bases ------------------------------------------------------------------------------------------------------------
STATE_BASE_ADDRESS = gen6_common.STATE_BASE_ADDRESS.changed(
    remove=["stateless_data_port_access_force_write_thru"], ref=_REF + "STATE_BASE_ADDRESS")

GPGPU_CSR_BASE_ADDRESS = gfx("GPGPU_CSR_BASE_ADDRESS", 0x6104, 2, [
    Address("gpgpu_csr_base_address", 1, 31, 12),
], ref=_REF + "GPGPU_CSR_BASE_ADDRESS", doc="6104 was PIPELINE_SELECT on the 965G")

# --- vertex fetch -----------------------------------------------------------------------------------------------------
INDEX_BUFFER = gen6.INDEX_BUFFER.changed(remove=["cut_index_enable"], ref=_REF + "3DSTATE_INDEX_BUFFER")

VF = gfx("3DSTATE_VF", 0x780C, 2, [
    Bool("indexed_draw_cut_index_enable", 0, 8),
    Uint("cut_index", 1, 31, 0, hex=True),
], ref=_REF + "3DSTATE_VF")


# --- URB and push constants: addresses of one more bit ----------------------------------------------------------------
# Entries of each stage: of the GT2 and GT3.
_URB_ENTRIES = {"VS": 1664, "HS": 128, "DS": 960, "GS": 640}


def _urb(stage: str, code: int) -> Command:
    return gen7.urb(stage, code, _REF, 30, _URB_ENTRIES[stage])


def _push_constant_alloc(stage: str, code: int) -> Command:
    return gen7.push_constant_alloc(stage, code, _REF, 20, 5)


# --- the shader stages ------------------------------------------------------------------------------------------------
def _priority(dword: int) -> Field:
    return Enum("thread_priority", dword, 17, 17, gen6.ThreadDispatchPriority)


VS = gen7.VS.changed(
    _priority(2),
    Bool("vs_accesses_uav", 2, 12),
    Uint("maximum_number_of_threads", 5, 31, 23, bias=1, high=280),
    ref=_REF + "3DSTATE_VS")

HS = gen7.HS.changed(
    Enum("thread_dispatch_priority", 1, 17, 17, gen6.ThreadDispatchPriority),
    Bool("software_exception_enable", 1, 12),
    Uint("maximum_number_of_threads", 1, 7, 0, bias=1, high=256),
    Bool("hs_accesses_uav", 5, 25),
    Uint("semaphore_handle", 6, 12, 0, hex=True, doc="a URB address, in rows of 512 bits"),
    ref=_REF + "3DSTATE_HS")

DS = gen7.DS.changed(
    Enum("thread_dispatch_priority", 2, 17, 17, gen6.ThreadDispatchPriority),
    Bool("accesses_uav", 2, 14),
    Uint("maximum_number_of_threads", 5, 29, 21, bias=1, high=280),
    ref=_REF + "3DSTATE_DS")

# The wider number of threads displaced the format of control data.
GS = gen7.GS.changed(
    Bool("gs_accesses_uav", 2, 12),
    Uint("maximum_number_of_threads", 5, 31, 24, bias=1, high=256),
    Enum("control_data_format", 6, 31, 31, gen7.ControlDataFormat),
    Uint("semaphore_handle", 6, 12, 0, hex=True, doc="a URB address, in rows of 512 bits"),
    ref=_REF + "3DSTATE_GS")

SF = gen7.SF.changed(
    Bool("line_stipple_enable", 2, 14, doc="drivers set it as that of 3DSTATE_WM"),
    Bool("rt_independent_rasterization_enable", 2, 10),
    ref=_REF + "3DSTATE_SF")

WM = gen7.WM.changed(
    Bool("rt_independent_rasterization_enable", 1, 5),
    Bool("ps_uav_only", 2, 30),
    ref=_REF + "3DSTATE_WM")

PS = gen7.PS.changed(
    _priority(2),
    Uint("maximum_number_of_threads", 4, 31, 23, bias=1, high=408),
    Uint("sample_mask", 4, 19, 12, hex=True, doc="equal to that of 3DSTATE_SAMPLE_MASK"),
    Bool("ps_accesses_uav", 4, 5),
    ref=_REF + "3DSTATE_PS")

# --- depth, multisampling, drawing ------------------------------------------------------------------------------------
STENCIL_BUFFER = gen7.STENCIL_BUFFER.changed(Bool("stencil_buffer_enable", 1, 31), ref=_REF + "3DSTATE_STENCIL_BUFFER")

MULTISAMPLE = gen7.MULTISAMPLE.changed(Bool("multi_sample_enable", 1, 5), ref=_REF + "3DSTATE_MULTISAMPLE")

RAST_MULTISAMPLE = gfx("3DSTATE_RAST_MULTISAMPLE", 0x790E, 6, [
    Enum("number_of_rasterization_multisamples", 1, 3, 1, RasterizationMultisamples),
    *gen6.sample_offsets(2, 16),
], ref=_REF + "3DSTATE_RAST_MULTISAMPLE", doc="790E was 3DSTATE_STENCIL_BUFFER on Sandy Bridge")

DRAWING_RECTANGLE = gen6.DRAWING_RECTANGLE.changed(
    Enum("core_mode_select", 0, 15, 14, CoreModeSelect), ref=_REF + "3DSTATE_DRAWING_RECTANGLE")

PRIMITIVE = gen7.PRIMITIVE.changed(Bool("uav_coherency_required", 0, 9), ref=_REF + "3DPRIMITIVE")


# --- the resource streamer --------------------------------------------------------------------------------------------
def _binding_table_edit(stage: str, code: int) -> Command:
    name = f"3DSTATE_BINDING_TABLE_EDIT_{stage}"
    return gfx(name, code, 2, [
        Uint("binding_table_block_clear", 1, 31, 16, hex=True, doc="bit i clears entries 16i to 16i + 15 first"),
        Enum("binding_table_edit_target", 1, 1, 0, BindingTableEditTarget),
        Array("entries", 2, BINDING_TABLE_EDIT_ENTRY),
    ], length=(8, 0), ref=_REF + name)


def _gather_constant(stage: str, code: int) -> Command:
    name = f"3DSTATE_GATHER_CONSTANT_{stage}"
    dx9 = [Bool("constant_buffer_dx9_enable", 2, 4)] if stage in ("VS", "PS") else []
    return gfx(name, code, 3, [
        Uint("constant_buffer_valid", 1, 31, 16, hex=True),
        Uint("constant_buffer_binding_table_block", 1, 15, 12, doc="the block of 16 entries"),
        Uint("gather_buffer_offset", 2, 22, 6, scale=64, hex=True, doc="bytes from the gather pool"),
        *dx9,
        Array("entries", 3, GATHER_CONSTANT_ENTRY),
    ], ref=_REF + name)


BINDING_TABLE_POOL_ALLOC = gfx("3DSTATE_BINDING_TABLE_POOL_ALLOC", 0x7919, 3, [
    Address("binding_table_pool_base_address", 1, 31, 12),
    Bool("binding_table_pool_enable", 1, 11),
    Uint("surface_object_control_state", 1, 10, 7, hex=True),
    Address("binding_table_pool_upper_bound", 2, 31, 12),
], ref=_REF + "3DSTATE_BINDING_TABLE_POOL_ALLOC")

GATHER_POOL_ALLOC = gfx("3DSTATE_GATHER_POOL_ALLOC", 0x791A, 3, [
    Address("gather_pool_base_address", 1, 31, 12),
    Bool("gather_pool_enable", 1, 11),
    must_be_one(1, 5),
    must_be_one(1, 4),
    Uint("memory_object_control_state", 1, 3, 0, hex=True),
    Address("gather_pool_upper_bound", 2, 31, 12),
], ref=_REF + "3DSTATE_GATHER_POOL_ALLOC")

REPLACED: tuple[Block, ...] = (
    STATE_BASE_ADDRESS, INDEX_BUFFER, *stages(_urb, 0x7830, STAGES[:4]), *stages(_push_constant_alloc, 0x7912), VS, HS,
    DS, GS, SF, WM, PS, STENCIL_BUFFER, MULTISAMPLE, DRAWING_RECTANGLE, PRIMITIVE,
)
ADDED: tuple[Block, ...] = (
    GPGPU_CSR_BASE_ADDRESS, VF, RAST_MULTISAMPLE,
    *stages(_binding_table_edit, 0x7843, ("VS", "GS", "HS", "DS", "PS")),
    *stages(_gather_constant, 0x7834, ("VS", "GS", "HS", "DS", "PS")), BINDING_TABLE_POOL_ALLOC, GATHER_POOL_ALLOC,
)
