"""The MMIO registers of Sandy Bridge: three rings, faults, fences of 64 bits; debug registers of the units are gone.

Sources: Linux 6.1, drivers/gpu/drm/i915 (intel_engine_regs.h, intel_gt_regs.h, i915_reg.h, intel_ggtt_fencing.c);
SNB PRM vol. 1 part 3; Mesa's gen6.xml for the bits of INSTDONE.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum

from gen4emu.hw.fields import Address, Bool, Enum, Field, Mbz, Uint
from gen4emu.hw.gen4 import registers as gen4
from gen4emu.hw.gen4.registers import FENCE_COUNT, FenceTileWalk
from gen4emu.hw.gen45 import GEN45
from gen4emu.hw.layout import Block, Register
from gen4emu.hw.reserved import bits, block, register

RING_REF = "Linux intel_engine_regs.h"
GT_REF = "Linux intel_gt_regs.h"
DISPLAY_REF = "Linux i915_reg.h"


class AutomaticReportHeadPointer(IntEnum):
    """MI_AUTOREPORT_*: the interval at which the ring writes its head to the status page."""

    OFF = 0
    EVERY_64_KIB = 1
    EVERY_4_KIB = 2
    EVERY_128_KIB = 3


class FaultType(IntEnum):
    """The step of the translation that failed."""

    PAGE_FAULT = 0
    INVALID_PD_FAULT = 1
    UNLOADED_PD_FAULT = 2
    INVALID_AND_UNLOADED_PD_FAULT = 3


class FaultTranslation(IntEnum):
    """GTTSEL."""

    PPGTT = 0
    GGTT = 1


# --- shapes -----------------------------------------------------------------------------------------------------------
def value(name: str = "value") -> list[Field]:
    """A register that holds one number, or whose bits are undocumented."""
    return [Uint(name, 0, 31, 0, hex=True)]


def mask_and_bits(names: Mapping[int, str], *fields: Field) -> list[Field]:
    """Bits 15:0 of which a write changes those whose mask bit is set."""
    return [Uint("mask", 0, 31, 16, hex=True, doc="on writes: bits 15:0 that change"), *bits(dict(names)), *fields]


def counter(name: str, offset: int, ref: str = RING_REF) -> Register:
    """A counter of 64 bits."""
    return register(name, offset, [Uint("count", 0, 63, 0)], dwords=2, ref=ref)


def numbered(names: Sequence[str], first: int = 0) -> dict[int, str]:
    """Names of consecutive bits; an empty one leaves its bit out."""
    return {first + i: name for i, name in enumerate(names) if name}


def ring(name: str, base: int, *, status_page: int) -> list[Register]:
    """The registers that every ring has, at the same offsets from its base but for the status page."""

    def of(suffix: str, offset: int, fields: list[Field], *, masked: bool = False, doc: str = "") -> Register:
        return register(f"{name}_{suffix}", base + offset, fields, masked=masked, ref=RING_REF, doc=doc)

    disable = [] if name == "RENDER" else [Bool("disable_register_accesses", 0, 8)]
    return [
        of("RING_TAIL", 0x30, [Mbz(0, 31, 21), Uint("tail_offset", 0, 20, 3, scale=8, hex=True), Mbz(0, 2, 0)]),
        of("RING_HEAD", 0x34, [
            Uint("wrap_count", 0, 31, 21), Uint("head_offset", 0, 20, 2, scale=4, hex=True), Mbz(0, 1, 0),
        ]),
        of("RING_START", 0x38, [Address("starting_address", 0, 31, 12), Mbz(0, 11, 0)]),
        of("RING_CTL", 0x3C, [
            Uint("buffer_length", 0, 20, 12, bias=1, scale=4096, doc="bytes"),
            Bool("waiting_for_event", 0, 11),
            Bool("semaphore_wait", 0, 10),
            *disable,
            Enum("automatic_head_report", 0, 2, 1, AutomaticReportHeadPointer),
            Bool("enable", 0, 0),
        ]),
        *(of(f"SYNC_{i}", 0x40 + 4 * i, value("semaphore_data")) for i in range(2)),
        of("PSMI_CTL", 0x50, mask_and_bits({4: "idle_message_disable", 3: "idle_indicator"}), masked=True),
        of("MAX_IDLE", 0x54, value("idle_count")),
        of("IPEIR", 0x64, bits({3: "in_batch"}), doc="the failing instruction: where it came from"),
        of("IPEHR", 0x68, value("header"), doc="the header of the command that executes or executed last"),
        of("INSTPS", 0x70, value(), doc="state of the parser"),
        of("ACTHD", 0x74, [Address("address", 0, 31, 2), Bool("in_batch", 0, 0)],
           doc="the address of the command that executes"),
        of("DMA_FADD", 0x78, [Address("address", 0, 31, 0)], doc="the next fetch"),
        register(f"{name}_HWS_PGA", status_page, [Address("status_page_address", 0, 31, 12), Mbz(0, 11, 0)],
                 ref=RING_REF, doc="in the GGTT"),
        of("NOPID", 0x94, [Uint("identification", 0, 21, 0, hex=True)],
           doc="the last MI_NOOP that identified itself"),
        of("HWSTAM", 0x98, value(), doc="1 keeps that interrupt out of dword 0 of the status page"),
        of("MI_MODE", 0x9C, mask_and_bits({
            14: "async_flip_performance_disable", 9: "ring_idle", 8: "stop_ring", 6: "vs_timer_dispatch",
        }), masked=True),
        of("IMR", 0xA8, value(), doc="interrupt mask"),
        of("EIR", 0xB0, bits({0: "instruction"}), doc="error identity, cleared by writing 1"),
        of("EMR", 0xB4, bits({0: "instruction"}), doc="error mask"),
        of("ESR", 0xB8, bits({0: "instruction"}), doc="error status"),
        of("INSTPM", 0xC0, mask_and_bits({
            9: "tlb_invalidate", 7: "force_ordering", 6: "constant_buffer_address_offset_disable",
            5: "sync_flush_enable", 3: "media_instruction_disable", 2: "3d_rendering_instruction_disable",
            1: "3d_state_instruction_disable",
        }), masked=True),
        of("BBSTATE", 0x110, value()),
        of("BBADDR", 0x140, [Address("address", 0, 31, 3), Bool("valid", 0, 0)], doc="the batch"),
        of("PP_DIR_DCLV", 0x220, value(), doc="the lines of the page directory that are valid"),
        of("PP_DIR_BASE", 0x228, [Address("page_directory_base", 0, 31, 16)]),
    ]


def timestamp(name: str, base: int) -> Register:
    """The 80 ns clock of an engine."""
    return register(name, base + 0x358, [Uint("ticks", 0, 35, 0, doc="80 ns each")], dwords=2, ref=RING_REF)


def fault(name: str, offset: int) -> Register:
    """The last fault of an engine's translations."""
    return register(f"{name}_FAULT_REG", offset, [
        Address("virtual_address_of_fault", 0, 31, 12),
        Enum("gttsel", 0, 11, 11, FaultTranslation),
        Uint("srcid_of_fault", 0, 10, 3),
        Enum("fault_type", 0, 2, 1, FaultType),
        Bool("valid", 0, 0),
    ], ref=GT_REF)


def instdone(name: str, offset: int, names: Mapping[int, str], ref: str = "Mesa gen6.xml") -> Register:
    """The units of an engine: 1 is idle."""
    return register(name, offset, bits(dict(names)), ref=ref, doc="1 is idle")


# --- idle units -------------------------------------------------------------------------------------------------------
_RENDER_INSTDONE = numbered((
    "ring_enabled", "avs", "hiz", "gw", "ts", "", "td", "vfe", "ief", "vsc", "isc2_3", "isc1_0", "ic0", "ic1", "ic2",
    "ic3", "eu00", "eu01", "eu02", "ma0", "eu10", "eu11", "eu12", "ma1", "eu20", "eu21", "eu22", "ma2", "eu30", "eu31",
    "eu32", "ma3",
))
_INSTDONE1 = numbered((
    "vf", "vs0", "gs", "cl", "sf", "vme", "pl", "so", "si", "dg", "ft", "dm", "sc", "fl", "qc", "svsm", "wmfe", "iz",
    "psd", "dap", "rcz", "vdi", "rcpbe", "rcpfe", "mt", "isc", "svg", "rcc", "svrw", "wmbe", "cs", "gam",
))
BLITTER_INSTDONE = numbered(("ring_enabled", "blitter", "gab", "bcs"))
VIDEO_INSTDONE = numbered((
    "ring_enabled", "usb", "qrc", "sec", "mpc", "vft", "bsp", "vlf", "vop", "vmc", "vip", "vit", "vds", "vmx", "vcp",
    "vcd", "vad", "vmd", "vis", "vac", "vam", "jpg", "vbp", "vhr", "vci", "vcr", "vin", "vpr", "vtq", "", "vcs", "gac",
))

# --- interrupts and errors --------------------------------------------------------------------------------------------
_GT_INTERRUPTS = {
    25: "blitter_cs_error", 22: "blitter_user_interrupt", 15: "video_cs_error", 12: "video_user_interrupt",
    4: "render_pipe_control_notify", 3: "render_cs_error", 2: "render_sync_status", 0: "render_user_interrupt",
}
ERROR_BITS = numbered((
    "tlb_page_fault_error", "context_page_fault_error", "invalid_page_directory_entry_error",
    "hardware_status_page_fault_error", "tlb_page_vtd_translation_error", "context_page_vtd_translation_error",
    "page_directory_entry_vtd_translation_error", "hardware_status_page_vtd_translation_error", "unloaded_pd_error",
))


def gt_interrupts(names: Mapping[int, str]) -> list[Register]:
    """Status, mask, identity and enable of the interrupts of all engines."""
    return [register(name, 0x44010 + 4 * i, bits(dict(names)), ref=DISPLAY_REF)
            for i, name in enumerate(("GTISR", "GTIMR", "GTIIR", "GTIER"))]


_ERRORS: list[Register] = [
    *gt_interrupts(_GT_INTERRUPTS),
    register("DERRMR", 0x44050, value(), ref=DISPLAY_REF, doc="display events that go to the rings"),
    register("GAM_ECOCHK", 0x4090, bits({13: "snoop_bit_set", 10: "dis_tlb"}), ref=GT_REF),
    fault("RENDER", 0x4094), fault("VIDEO", 0x4194), fault("BLITTER", 0x4294),
    register("ERROR_GEN6", 0x40A0, bits(dict(ERROR_BITS)), ref=GT_REF, doc="GFX_ARB_ERROR_RPT"),
    register("DONE_REG", 0x40B0, value(), ref=GT_REF),
]

# --- modes of the render engine ---------------------------------------------------------------------------------------
GFX_MODE_BITS = {
    13: "tlb_invalidate_explicit", 12: "surface_fault_enable", 11: "replay_mode", 10: "psmi_granularity",
    9: "ppgtt_enable",
}

_MODES: list[Register] = [
    register("3D_CHICKEN", 0x2084, mask_and_bits({10: "hiz_plane_disable_msaa_4x_snb"}), masked=True, ref=GT_REF),
    register("3D_CHICKEN_1", 0x208C, value(), ref=GT_REF),
    register("3D_CHICKEN_2", 0x2090, mask_and_bits({10: "sf_disable_object_cull", 5: "sf_disable_fastclip_cull"}),
             masked=True, ref=GT_REF),
    register("GT_MODE", 0x20D0, mask_and_bits({
        9: "wiz_hashing_high", 7: "wiz_hashing_low", 5: "td_four_row_dispatch_disable",
    }), masked=True, ref=GT_REF),
    register("CACHE_MODE_0", 0x2120, mask_and_bits({
        6: "iz_optimization_disable", 5: "stc_evict_disable_lra", 1: "depth_write_disable",
        0: "render_cache_operational_flush",
    }), masked=True, ref=GT_REF),
    register("CACHE_MODE_1", 0x2124, mask_and_bits({6: "pixel_subspan_collect_opt_disable"}), masked=True, ref=GT_REF),
    register("CCID", 0x2180, [
        Address("logical_context_address", 0, 31, 12),
        *bits({8: "global_gtt", 3: "extended_state_save_enable", 2: "extended_state_restore_enable", 0: "valid"}),
    ], ref=RING_REF, doc="the logical context that runs"),
    register("ECOSKPD", 0x21D0, mask_and_bits({4: "constant_buffer_save_restore_disable", 3: "flip_done_disable"}),
             masked=True, ref=GT_REF),
    register("GFX_MODE", 0x2520, mask_and_bits(GFX_MODE_BITS), masked=True, ref=GT_REF),
    # Y-tiled surfaces of the blitter: the header of a command only says "tiled".
    register("BCS_SWCTRL", 0x22200, mask_and_bits({1: "destination_is_y_tiled", 0: "source_is_y_tiled"}), masked=True,
             ref=GT_REF),
    register("GAB_CTL", 0x24000, bits({8: "continue_after_page_fault"}), ref=GT_REF),
    register("GAC_ECO_BITS", 0x14090, bits({13: "snoop_bit_set", 8: "ppgtt_cache64b"}), ref=GT_REF),
    register("MBCTL", 0x907C, bits({4: "enable_boot_fetch"}), ref=GT_REF),
    register("UCGCTL1", 0x9400, value(), ref=GT_REF, doc="clock gates that are off"),
    register("UCGCTL2", 0x9404, value(), ref=GT_REF, doc="clock gates that are off"),
    register("RPSTAT1", 0xA01C, [
        Uint("current_gt_frequency", 0, 14, 7, doc="in units of 50 MHz"),
        Uint("previous_gt_frequency", 0, 6, 0, doc="in units of 50 MHz"),
    ], ref="Mesa gen6.xml"),
    register("FORCEWAKE", 0xA18C, bits({0: "wake"}), ref=GT_REF),
]

_STATISTICS: list[Register] = [
    counter("SO_PRIM_STORAGE_NEEDED", 0x2280),
    counter("SO_NUM_PRIMS_WRITTEN", 0x2288),
]


# --- fences and page table --------------------------------------------------------------------------------------------
def fences(count: int) -> list[Register]:
    """The pitch moved to the dword of the end."""
    return [register(f"FENCE_{i}", 0x100000 + 8 * i, [
        Address("start_address", 0, 31, 12),
        Enum("tile_walk", 0, 1, 1, FenceTileWalk),
        Bool("valid", 0, 0),
        Address("last_page_address", 1, 31, 12),
        Uint("pitch_bytes", 1, 11, 0, bias=1, scale=128),
    ], dwords=2, ref="Linux intel_ggtt_fencing.c") for i in range(count)]


GTT_ENTRY = block("GTT_ENTRY", 1, [
    Address("physical_address_low", 0, 31, 12),
    Uint("physical_address_high", 0, 11, 4, hex=True, doc="bits 39:32"),
    Bool("graphics_data_type", 0, 3),
    Uint("cacheability_control", 0, 2, 1, doc="1 uncached, 2 LLC"),
    Bool("valid", 0, 0),
], ref="Linux intel_gtt.h")

_FENCES = fences(FENCE_COUNT)

REGISTERS: list[Register] = [
    *ring("RENDER", 0x2000, status_page=0x4080),
    *ring("VIDEO", 0x12000, status_page=0x14080),
    *ring("BLITTER", 0x22000, status_page=0x24080),
    instdone("RENDER_INSTDONE", 0x206C, _RENDER_INSTDONE),
    instdone("INSTDONE1", 0x207C, _INSTDONE1),
    instdone("VIDEO_INSTDONE", 0x1206C, VIDEO_INSTDONE),
    instdone("BLITTER_INSTDONE", 0x2206C, BLITTER_INSTDONE),
    *_ERRORS,
    *_MODES,
    *_STATISTICS,
    timestamp("VIDEO_TIMESTAMP", 0x12000),
    timestamp("BLITTER_TIMESTAMP", 0x22000),
    *_FENCES,
]

_INHERITED = {register.name for register in (*gen4.STATISTICS, gen4.TIMESTAMP)}
_GEN4_NAMES = {register.name for register in GEN45.registers}
_OURS = {register.name for register in REGISTERS}

REPLACED: tuple[Block, ...] = (*(r for r in REGISTERS if r.name in _GEN4_NAMES), GTT_ENTRY)
ADDED: tuple[Block, ...] = tuple(r for r in REGISTERS if r.name not in _GEN4_NAMES)
REMOVED: tuple[str, ...] = tuple(sorted(_GEN4_NAMES - _OURS - _INHERITED))
