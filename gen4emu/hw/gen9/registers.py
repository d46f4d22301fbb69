"""The MMIO registers of Gen9 that Broadwell lacks or has with other bits: modes, memory object control, forcewake.

Sources: Linux 6.1, drivers/gpu/drm/i915 (intel_gt_regs.h, intel_mocs.c); Mesa's gen9.xml for the bits of modes.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Bool, Enum, Field, Uint
from gen4emu.hw.gen6.registers import GT_REF, instdone, mask_and_bits
from gen4emu.hw.gen8 import GEN8
from gen4emu.hw.gen8.registers import CACHE_MODE_1, SC_INSTDONE, cache_mode_1
from gen4emu.hw.layout import Register
from gen4emu.hw.reserved import bits, register

_REF = "Mesa gen9.xml"
_MOCS_REF = "Linux intel_mocs.c"


class ReplayMode(IntEnum):
    """Where a context may be preempted."""

    MID_COMMAND_BUFFER = 0
    OBJECT_LEVEL = 1


class L2Arbitration(IntEnum):
    """The requests that come first in the second level cache of samplers."""

    ROUND_ROBIN = 0
    FETCH_FIRST = 1
    CONSTANTS_FIRST = 2


class SliceHashing(IntEnum):
    """The pixels that go to one slice."""

    NORMAL = 0
    DISABLED = 1
    HASH_32X16 = 2
    HASH_32X32 = 3


class SubsliceHashing(IntEnum):
    """The pixels that go to one subslice."""

    HASH_8X8 = 0
    HASH_16X4 = 1
    HASH_8X4 = 2
    HASH_16X16 = 3


class BarrierMode(IntEnum):
    """The use of barriers on Gemini Lake."""

    GPGPU = 0
    HULL_3D = 1


class MocsCacheability(IntEnum):
    """LE_*: the caching of memory in the last level cache."""

    PAGE_TABLE = 0
    UNCACHED = 1
    WRITE_THROUGH = 2
    WRITE_BACK = 3


# --- modes ------------------------------------------------------------------------------------------------------------
_MODES: list[Register] = [
    register("CACHE_MODE_0", 0x7000, mask_and_bits({
        15: "sampler_l2_disable", 11: "sampler_set_remapping_for_3d_disable", 9: "sampler_l2_tlb_prefetch_enable",
        5: "stc_pma_optimization_enable", 4: "rcc_eviction_policy", 2: "hierarchical_z_raw_stall_optimization_disable",
        1: "disable_clock_gating_in_the_pixel_backend", 0: "null_tile_fix_disable",
    }, Uint("msaa_compression_plane_number_threshold_for_ellc", 0, 14, 12),
        Enum("sampler_l2_request_arbitration", 0, 7, 6, L2Arbitration)), masked=True, ref=_REF),
    cache_mode_1({
        **CACHE_MODE_1, 15: "color_compression_disable", 14: "blend_optimization_fix_disable",
        9: "msc_raw_hazard_avoidance_bit", 4: "float_blend_optimization_enable", 1: "partial_resolve_disable_in_vc",
    }),
    register("GT_MODE", 0x7008, mask_and_bits({}, Enum("slice_hashing", 0, 12, 11, SliceHashing),
                                              Enum("subslice_hashing", 0, 9, 8, SubsliceHashing)),
             masked=True, ref=_REF),
    register("CS_DEBUG_MODE2", 0x20D8, mask_and_bits({
        4: "constant_buffer_address_offset_disable", 1: "media_instruction_disable",
        0: "3d_rendering_instruction_disable",
    }), masked=True, ref=_REF),
    register("CS_CHICKEN1", 0x2580, mask_and_bits({}, Enum("replay_mode", 0, 0, 0, ReplayMode)), masked=True, ref=_REF),
    register("SLICE_COMMON_ECO_CHICKEN1", 0x731C, mask_and_bits({}, Enum("glk_barrier_mode", 0, 7, 7, BarrierMode)),
             masked=True, ref=_REF),
    instdone("SC_INSTDONE", 0x7100, {**SC_INSTDONE, 19: "dc3", 23: "gw3"}, _REF),
    register("RPSTAT0", 0xA01C, [
        Uint("current_gt_frequency", 0, 31, 23, doc="in units of 50/3 MHz"),
        Uint("previous_gt_frequency", 0, 8, 0, doc="in units of 50/3 MHz"),
    ], ref=_REF),
    *(register(f"FORCEWAKE_{domain}", offset, mask_and_bits({0: "wake"}), masked=True, ref=GT_REF)
      for domain, offset in (("MEDIA", 0xA270), ("RENDER", 0xA278))),
]

# --- memory object control: what the index in a command or state block stands for -------------------------------------
_MOCS_TABLES = {"GFX": 0xC800, "MFX0": 0xC900, "MFX1": 0xCA00, "VEBOX": 0xCB00, "BLT": 0xCC00}


def _l3(index: int, lo: int) -> list[Field]:
    return [
        Enum(f"l3_cacheability_{index}", 0, lo + 5, lo + 4, MocsCacheability),
        Uint(f"skip_caching_control_{index}", 0, lo + 3, lo + 1),
        Bool(f"skip_caching_enable_{index}", 0, lo),
    ]


_MOCS: list[Register] = [
    *(register(f"{table}_MOCS_{i}", base + 4 * i, [
        *bits({14: "snoop_control", 7: "reverse_skip_caching", 6: "allocate_on_miss"}),
        Uint("page_faulting_mode", 0, 13, 11), Uint("skip_caching_control", 0, 10, 8), Uint("age", 0, 5, 4),
        Uint("target_cache", 0, 3, 2, doc="0 page table, 1 LLC, 2 LLC and eLLC, 3 eLLC"),
        Enum("cacheability", 0, 1, 0, MocsCacheability),
    ], ref=_MOCS_REF) for table, base in _MOCS_TABLES.items() for i in range(62)),
    *(register(f"LNCFCMOCS{i}", 0xB020 + 4 * i, [*_l3(2 * i + 1, 16), *_l3(2 * i, 0)], ref=_MOCS_REF,
               doc="two entries for the L3") for i in range(32)),
]

REGISTERS: list[Register] = [*_MODES, *_MOCS]
_OLD = {r.name for r in GEN8.registers}

REPLACED: tuple[Register, ...] = tuple(r for r in REGISTERS if r.name in _OLD)
ADDED: tuple[Register, ...] = tuple(r for r in REGISTERS if r.name not in _OLD)
REMOVED: tuple[str, ...] = ("RPSTAT1",)
