"""The memory interface commands of Ivy Bridge and Bay Trail, as differences to Sandy Bridge.

IVB PRM vol. 1 part 3, "Memory Interface Commands for Rendering Engine".
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Uint
from gen4emu.hw.gen4.common import DATA_DWORD
from gen4emu.hw.gen6 import mi as gen6
from gen4emu.hw.layout import Block
from gen4emu.hw.reserved import bits, mi
from gen4emu.hw.topology import PatchTopology

_REF = "IVB PRM vol1 part3 "


class FlipPlane(IntEnum):
    """The plane that is flipped: sprites have numbers between those of the planes."""

    DISPLAY_PLANE_A = 0
    DISPLAY_PLANE_B = 1
    DISPLAY_SPRITE_A = 2
    DISPLAY_SPRITE_B = 3
    DISPLAY_PLANE_C = 4
    DISPLAY_SPRITE_C = 5


class PredicateLoad(IntEnum):
    """The use of the combined result: the predicate keeps its value, takes it, or takes its inverse."""

    KEEP = 0
    LOAD = 2
    LOADINV = 3


class PredicateCombine(IntEnum):
    """The combination of the comparison with the predicate."""

    SET = 0
    AND = 1
    OR = 2
    XOR = 3


class PredicateCompare(IntEnum):
    """The comparison of MI_PREDICATE_SRC0, SRC1 and DATA."""

    TRUE = 0
    FALSE = 1
    SRCS_EQUAL = 2
    DELTAS_EQUAL = 3


MI_WAIT_FOR_EVENT = gen6.MI_WAIT_FOR_EVENT.changed(*bits({
    22: "display_pipe_c_horizontal_blank_wait_enable", 21: "display_pipe_c_vertical_blank_wait_enable",
    20: "display_sprite_c_flip_pending_wait_enable", 15: "display_plane_c_flip_pending_wait_enable",
    14: "display_pipe_c_scan_line_wait_enable",
}), ref=_REF + "MI_WAIT_FOR_EVENT", doc="the third pipe took the bits that were free")

MI_PREDICATE = mi("MI_PREDICATE", 0x0C, 1, [
    Enum("load_operation", 0, 7, 6, PredicateLoad),
    Enum("combine_operation", 0, 4, 3, PredicateCombine),
    Enum("compare_operation", 0, 1, 0, PredicateCompare),
], ref=_REF + "MI_PREDICATE")

MI_TOPOLOGY_FILTER = mi("MI_TOPOLOGY_FILTER", 0x0D, 1, [
    Uint("topology_filter_value", 0, 5, 0, high=max(PatchTopology), doc="a topology that is drawn; 0 draws all"),
], ref=_REF + "MI_TOPOLOGY_FILTER")

# No public source has the fields of this command.
MI_SET_APPID = mi("MI_SET_APPID", 0x0E, 1, [
    Uint("application_id", 0, 22, 0, hex=True),
], ref="Linux i915_cmd_parser.c", privileged=True)

MI_DISPLAY_FLIP = gen6.MI_DISPLAY_FLIP.changed(
    Enum("display_plane_select", 0, 21, 19, FlipPlane), ref="Linux intel_gpu_commands.h")

MI_SET_CONTEXT = gen6.MI_SET_CONTEXT.changed(remove=["hd_dvd_context"], ref=_REF + "MI_SET_CONTEXT")

MI_CLFLUSH = mi("MI_CLFLUSH", 0x27, 3, [
    Bool("use_global_gtt", 0, 22),
    Address("page_base_address", 1, 31, 12),
    Uint("starting_cacheline_offset", 1, 11, 6),
    Uint("page_base_address_high", 2, 15, 0, hex=True),
    Array("dw_representing_a_half_cache_line", 3, DATA_DWORD, doc="ignored: one for each half of a line"),
], length=(9, 0), ref=_REF + "MI_CLFLUSH")

MI_REPORT_PERF_COUNT = mi("MI_REPORT_PERF_COUNT", 0x28, 3, [
    Address("memory_address", 1, 31, 6, target="DATA"),
    Bool("use_global_gtt", 1, 0),
    Uint("report_id", 2, 31, 0, hex=True),
], ref=_REF + "MI_REPORT_PERF_COUNT")

MI_LOAD_REGISTER_MEM = mi("MI_LOAD_REGISTER_MEM", 0x29, 3, gen6.register_and_memory(
    Bool("async_mode_enable", 0, 21),
), length=(7, 0), ref=_REF + "MI_LOAD_REGISTER_MEM", privileged=True)

REPLACED: tuple[Block, ...] = (MI_WAIT_FOR_EVENT, MI_DISPLAY_FLIP, MI_SET_CONTEXT, MI_CLFLUSH)
ADDED: tuple[Block, ...] = (
    MI_PREDICATE, MI_TOPOLOGY_FILTER, MI_SET_APPID, MI_REPORT_PERF_COUNT, MI_LOAD_REGISTER_MEM,
)
