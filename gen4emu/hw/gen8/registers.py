"""The MMIO registers of Broadwell that Haswell lacks or has elsewhere: execution lists, page directories, faults.

Sources: Linux 6.1, drivers/gpu/drm/i915 (intel_engine_regs.h, intel_gt_regs.h, intel_lrc_reg.h, intel_gtt.h,
i915_reg.h); Mesa's gen8.xml for the bits of INSTDONE, faults and the L3.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from gen4emu.hw.fields import Address, Bool, Enum, Field, Ignored, Mbz, Uint
from gen4emu.hw.gen6.registers import (
    DISPLAY_REF,
    GT_REF,
    RING_REF,
    FaultTranslation,
    instdone,
    mask_and_bits,
    numbered,
    ring,
    value,
)
from gen4emu.hw.gen7.registers import RENDER_INSTDONE
from gen4emu.hw.gen75 import GEN75
from gen4emu.hw.layout import Block, Register
from gen4emu.hw.reserved import bits, block, register

XML_REF = "Mesa gen8.xml"
ENGINES = {"RENDER": 0x2000, "VIDEO": 0x12000, "VIDEO_2": 0x1C000, "VIDEO_ENHANCEMENT": 0x1A000, "BLITTER": 0x22000}


class TranslationFault(IntEnum):
    """The entry of the page tables that was invalid."""

    INVALID_PTE_FAULT = 0
    INVALID_PDE_FAULT = 1
    INVALID_PDPE_FAULT = 2
    INVALID_PML4E_FAULT = 3


class FaultEngine(IntEnum):
    """The engine whose access failed."""

    GFX = 0
    MFX0 = 1
    MFX1 = 2
    VEBX = 3
    BLT = 4
    GUC = 5


class AddressingMode(IntEnum):
    """The address space of a logical ring context."""

    ADVANCED_32_BITS = 0
    LEGACY_32_BITS = 1
    ADVANCED_64_BITS = 2
    LEGACY_64_BITS = 3


class NonPrivilegedAccess(IntEnum):
    """The accesses of batches that are let through."""

    READ_WRITE = 0
    READ = 1
    WRITE = 2
    INVALID = 3


# --- rings and execution lists ----------------------------------------------------------------------------------------
_MODE_BITS = {
    15: "run_list_enable", 13: "tlb_invalidate_explicit", 12: "surface_fault_enable", 11: "replay_mode",
    10: "psmi_granularity", 9: "ppgtt_enable", 7: "ppgtt_48_bits",
}


def _upper(name: str = "address_high") -> list[Field]:
    return [Uint(name, 0, 15, 0, hex=True, doc="bits 47:32")]


def execution_lists(name: str, base: int) -> list[Register]:
    """The registers of an engine for addresses of 48 bits, and for contexts that it switches by itself."""

    def of(suffix: str, offset: int, fields: list[Field], *, dwords: int = 1, masked: bool = False,
           doc: str = "") -> Register:
        return register(f"{name}_{suffix}", base + offset, fields, dwords=dwords, masked=masked, ref=RING_REF, doc=doc)

    return [
        of("ACTHD_UDW", 0x5C, _upper("head_pointer_upper_dword")),
        of("DMA_FADD_UDW", 0x60, _upper()),
        of("HWS_PGA", 0x80, [Address("status_page_address", 0, 31, 12)], doc="in the GGTT"),
        of("SBBADDR", 0x114, [Address("address", 0, 31, 2), Bool("valid", 0, 0)], doc="the second level batch"),
        of("SBBSTATE", 0x118, value()),
        of("SBBADDR_UDW", 0x11C, _upper()),
        of("BB_OFFSET", 0x158, value()),
        of("BBADDR_UDW", 0x168, _upper()),
        of("BB_PER_CTX_PTR", 0x1C0, [Address("address", 0, 31, 12), Bool("valid", 0, 0)]),
        of("INDIRECT_CTX", 0x1C4, [Address("address", 0, 31, 6), Uint("size", 0, 5, 0, scale=64, doc="bytes")]),
        of("INDIRECT_CTX_OFFSET", 0x1C8, [Uint("offset", 0, 15, 6)]),
        of("EXECLIST_SUBMIT_PORT", 0x230, value("descriptor_dword"),
           doc="four writes: two context descriptors, the second first, upper dwords first"),
        of("EXECLIST_STATUS", 0x234, [
            Uint("current_context_id", 1, 31, 0, hex=True),
            *bits({17: "element_1_active", 16: "element_0_active", 4: "element_1_valid", 3: "element_0_valid"}),
        ], dwords=2),
        of("CONTEXT_CONTROL", 0x244, mask_and_bits({
            3: "inhibit_synchronous_context_switch", 2: "engine_context_save_inhibit",
            1: "resource_streamer_context_enable", 0: "engine_context_restore_inhibit",
        }), masked=True),
        *(of(f"PDP{i}", 0x270 + 8 * i, [Address("page_directory_pointer", 0, 63, 12)], dwords=2,
             doc="PDP0 is the PML4 with addresses of 48 bits" if i == 0 else "") for i in range(4)),
        register("GFX_MODE" if name == "RENDER" else f"{name}_GFX_MODE", base + 0x29C, mask_and_bits(_MODE_BITS),
                 masked=True, ref=GT_REF),
        *(of(f"CONTEXT_STATUS_BUFFER_{i}", 0x370 + 8 * i, [
            *bits({15: "lite_restore", 4: "context_complete", 3: "active_to_idle", 2: "element_switch",
                   1: "preempted", 0: "idle_to_active"}),
            Uint("context_id", 1, 31, 0, hex=True),
        ], dwords=2) for i in range(6)),
        of("CONTEXT_STATUS_PTR", 0x3A0, [
            Uint("mask", 0, 31, 16, hex=True, doc="on writes: bits 15:0 that change"),
            Uint("read_pointer", 0, 10, 8), Uint("write_pointer", 0, 2, 0),
        ], masked=True),
        of("CTX_TIMESTAMP", 0x3A8, [Uint("ticks", 0, 31, 0)], doc="of the time that this context ran"),
        *(of(f"FORCE_TO_NONPRIV_{i}", 0x4D0 + 4 * i, [
            Bool("deny", 0, 30), Enum("access", 0, 29, 28, NonPrivilegedAccess),
            Uint("register_offset", 0, 25, 2, scale=4, hex=True),
            Uint("range", 0, 1, 0, doc="1, 4, 16 or 64 registers"),
        ], doc="a register that batches without privileges may reach") for i in range(12)),
    ]


CONTEXT_DESCRIPTOR = block("CONTEXT_DESCRIPTOR", 2, [
    Bool("privilege_access", 0, 8),
    Bool("l3llc_coherency", 0, 5),
    Enum("addressing_mode", 0, 4, 3, AddressingMode),
    Bool("force_restore", 0, 2),
    Bool("force_page_directory_restore", 0, 1),
    Bool("valid", 0, 0),
    Address("logical_ring_context_address", 0, 31, 12, doc="in the GGTT"),
    Uint("context_id", 1, 31, 0, hex=True),
], ref="Linux intel_lrc_reg.h", doc="an element of an execution list")

# --- interrupts and faults --------------------------------------------------------------------------------------------
_ENGINE_INTERRUPTS = {11: "wait_semaphore", 8: "context_switch", 4: "flush_notify", 3: "cs_error", 0: "user_interrupt"}


def _interrupts(index: int, low: str, high: str = "") -> list[Register]:
    names = {bit: f"{low}_{name}" for bit, name in _ENGINE_INTERRUPTS.items()} if low else {}
    names |= {16 + bit: f"{high}_{name}" for bit, name in _ENGINE_INTERRUPTS.items()} if high else {}
    return [register(f"GT_{kind}_{index}", 0x44300 + 0x10 * index + 4 * i, bits(names) or value(), ref=DISPLAY_REF)
            for i, kind in enumerate(("ISR", "IMR", "IIR", "IER"))]


_ERRORS: list[Register] = [
    register("MASTER_IRQ", 0x44200, bits({
        31: "enable", 30: "pcu", 23: "display_audio", 22: "display_misc", 20: "display_port", 18: "display_pipe_c",
        17: "display_pipe_b", 16: "display_pipe_a", 6: "gt_video_enhancement", 4: "gt_power_management",
        3: "gt_video_2", 2: "gt_video", 1: "gt_blitter", 0: "gt_render",
    }), ref=DISPLAY_REF),
    *_interrupts(0, "render", "blitter"), *_interrupts(1, "video", "video_2"), *_interrupts(2, ""),
    *_interrupts(3, "video_enhancement"),
    register("FAULT_REG", 0x4094, [
        Enum("engine_id", 0, 14, 12, FaultEngine),
        Enum("gttsel", 0, 11, 11, FaultTranslation),
        Uint("srcid_of_fault", 0, 10, 3),
        Enum("fault_type", 0, 2, 1, TranslationFault),
        Bool("valid_bit", 0, 0),
    ], ref=XML_REF, doc="the last fault of all engines"),
    register("FAULT_TLB_DATA", 0x4B10, [
        Uint("virtual_address_43_12", 0, 31, 0, hex=True),
        Enum("gttsel", 1, 4, 4, FaultTranslation),
        Uint("virtual_address_47_44", 1, 3, 0, hex=True),
    ], dwords=2, ref=GT_REF, doc="the address of the last fault"),
    register("ERROR_GEN6", 0x40A0, bits(numbered((
        "tlb_page_fault_error", "rstrm_pavp_read_invalid", "invalid_page_directory_entry_error",
        "rostrm_pavp_invalid_physical_address", "tlb_page_vtd_translation_error", "wrdp_pavp_invalid",
        "page_directory_entry_vtd_translation_error", "", "unloaded_pd_error",
        "guc_vtd_translation_page_fault_2nd_level", "non_wb_memory_type_for_advanced_context", "pasid_not_enabled",
        "pasid_boundary_violation", "pasid_not_valid", "pasid_was_zero_for_untranslated_request",
        "context_was_not_marked_as_present_when_doing_dma",
    ))), ref=XML_REF, doc="GFX_ARB_ERROR_RPT"),
]

# --- idle units: one of each per slice, or per subslice, as MCR_SELECTOR says -----------------------------------------
SC_INSTDONE = {
    **numbered(("svl", "wmfe", "wmbe", "hiz", "stc", "iz", "sbe")),
    **numbered(("rcz", "rcc", "rcpbe", "rcpfe", "dapb", "daprbe", "", "sarb", "dc0", "dc1", "dc2"), 8),
    **numbered(("gw0", "gw1", "gw2"), 20), 24: "tdc",
}
_SAMPLER_INSTDONE = numbered((
    "ime", "pl0", "so0", "dg0", "ft0", "dm0", "sc", "fl0", "qc", "svsm", "si0", "mt0", "avs", "ief", "cre", "svsm_arb3",
    "svsm_arb2", "svsm_arb1", "svsm_adapter", "bdm",
))
_ROW_INSTDONE = {
    0: "bc", 1: "psd", 3: "dapr", 6: "tdl", 12: "ic", 15: "ma0",
    **numbered(("eu00_ss0", "eu01_ss0", "eu02_ss0", "eu03_ss0"), 16),
    **numbered(("eu10_ss0", "eu11_ss0", "eu12_ss0", "eu13_ss0"), 21), 26: "ma1_ss0",
}
_VIDEO_INSTDONE = numbered((
    "ring_enable", "usb", "qrc", "sec", "mpc", "vft", "bsp", "vlf", "vop", "vmc", "vip", "vit", "vds", "vmx", "vcp",
    "vcd", "vad", "vmd", "vis", "vac", "vam", "jpg", "vbp", "vhr", "vci", "vcr", "vin", "vpr", "vtq", "", "vcs", "gac",
))

_IDLE: list[Register] = [
    instdone("RENDER_INSTDONE", 0x206C, {**RENDER_INSTDONE, 20: "rs", 21: "cs"}, XML_REF),
    instdone("SC_INSTDONE", 0x7100, SC_INSTDONE, XML_REF),
    instdone("SAMPLER_INSTDONE", 0xE160, _SAMPLER_INSTDONE, XML_REF),
    instdone("ROW_INSTDONE", 0xE164, _ROW_INSTDONE, XML_REF),
    instdone("VIDEO_INSTDONE", 0x1206C, _VIDEO_INSTDONE, XML_REF),
    instdone("VIDEO_2_INSTDONE", 0x1C06C, _VIDEO_INSTDONE, XML_REF),
    register("MCR_SELECTOR", 0xFDC, [Uint("slice", 0, 27, 26), Uint("subslice", 0, 25, 24)], ref=GT_REF,
             doc="the slice and subslice whose registers are read"),
]

# --- modes ------------------------------------------------------------------------------------------------------------
CACHE_MODE_1 = {
    13: "np_early_z_fails_disable", 12: "hiz_eviction_policy", 11: "np_pma_fix_enable",
    6: "4x4_rcpfe_stc_optimization_disable", 5: "mcs_cache_disable",
    3: "depth_read_hit_write_only_optimization_disable", 2: "rcz_read_after_expansion_control_fix_2",
}


def cache_mode_1(names: Mapping[int, str]) -> Register:
    return register("CACHE_MODE_1", 0x7004, mask_and_bits(names, Uint("sampler_cache_set_xor_selection", 0, 8, 7)),
                    masked=True, ref=XML_REF)


L3CNTLREG = register("L3CNTLREG", 0x7034, [
    Uint("all_allocation", 0, 31, 25), Uint("dc_allocation", 0, 24, 18), Uint("ro_allocation", 0, 17, 11),
    Uint("urb_allocation", 0, 7, 1), Bool("slm_enable", 0, 0),
], ref=XML_REF)

_MODES: list[Register] = [
    cache_mode_1({**CACHE_MODE_1, 14: "msc_resolve_optimization_disable"}),
    L3CNTLREG,
    register("COMMON_SLICE_CHICKEN2", 0x7014, value(), ref=GT_REF),
    register("HDC_CHICKEN0", 0x7300, value(), ref=GT_REF),
    register("HDC_CHICKEN1", 0x7304, value(), ref=GT_REF),
    register("L3SQCREG1", 0xB100, value(), ref=GT_REF),
    register("L3SQCREG4", 0xB118, value(), ref=GT_REF),
    register("MI_PREDICATE_RESULT_2", 0x23BC, [Bool("result", 0, 0)], ref=RING_REF),
]

# --- page tables: entries of 64 bits ----------------------------------------------------------------------------------
GTT_ENTRY = block("GTT_ENTRY", 2, [
    Address("physical_address", 0, 38, 12),
    Ignored(0, 11, 1, doc="the global table takes its caching from elsewhere"),
    Bool("valid", 0, 0),
    Mbz(1, 31, 7),
], ref="Linux intel_gtt.h")


def _page_table_entry(name: str, *fields: Field, doc: str) -> Block:
    return block(name, 2, [
        Ignored(1, 31, 7), Address("physical_address", 0, 38, 12), *fields, Ignored(0, 6, 5),
        Bool("cache_disable", 0, 4), Bool("write_through", 0, 3), Ignored(0, 2, 2), Bool("writeable", 0, 1),
        Bool("present", 0, 0),
    ], ref="Linux intel_gtt.h", doc=doc)


PAGE_DIRECTORY_ENTRY = _page_table_entry(
    "PAGE_DIRECTORY_ENTRY", Ignored(0, 11, 8), Bool("large_page", 0, 7, doc="of 2 MiB, in the level above the last"),
    doc="of the three levels above the page tables")
PAGE_TABLE_ENTRY = _page_table_entry(
    "PAGE_TABLE_ENTRY", Ignored(0, 11, 8), Bool("pat", 0, 7), doc="of the last level")

REGISTERS: list[Register] = [
    *(r for r in ring("VIDEO_2", ENGINES["VIDEO_2"], status_page=ENGINES["VIDEO_2"] + 0x80)
      if not r.name.endswith(("_SYNC_0", "_SYNC_1", "_PP_DIR_DCLV", "_PP_DIR_BASE", "_HWS_PGA"))),
    *(r for name, base in ENGINES.items() for r in execution_lists(name, base)),
    *_ERRORS, *_IDLE, *_MODES,
]

_OLD = {r.name for r in GEN75.registers}

REPLACED: tuple[Block, ...] = (*(r for r in REGISTERS if r.name in _OLD), GTT_ENTRY)
ADDED: tuple[Block, ...] = (
    *(r for r in REGISTERS if r.name not in _OLD), CONTEXT_DESCRIPTOR, PAGE_DIRECTORY_ENTRY, PAGE_TABLE_ENTRY,
)
# Semaphores lie in memory, page directories have registers of 64 bits, and interrupts and faults others.
REMOVED: tuple[str, ...] = (
    *(f"{name}_{suffix}" for name in ENGINES if name != "VIDEO_2"
      for suffix in ("SYNC_0", "SYNC_1", "PP_DIR_DCLV", "PP_DIR_BASE", "FAULT_REG")),
    "GTISR", "GTIMR", "GTIIR", "GTIER", "ERR_INT", "L3CNTLREG1", "L3CNTLREG2", "L3CNTLREG3", "SCRATCH1", "CHICKEN3",
)
