"""The MMIO registers of Ivy Bridge that Sandy Bridge lacks or has elsewhere: predicates, parameters, stream output.

Sources: Linux 6.1, drivers/gpu/drm/i915 (intel_engine_regs.h, intel_gt_regs.h, i915_reg.h); IVB PRM vol. 1 part 3;
Mesa's gen7.xml for the bits of INSTDONE and of the L3 registers.
"""

from __future__ import annotations

from collections.abc import Mapping

from gen4emu.hw.fields import Address, Bool, Field, Uint
from gen4emu.hw.gen6 import registers as gen6
from gen4emu.hw.gen6.registers import GT_REF, RING_REF, counter, instdone, mask_and_bits, numbered, value
from gen4emu.hw.layout import Block, Register
from gen4emu.hw.reserved import bits, register

XML_REF = "Mesa gen7.xml"

# --- idle units -------------------------------------------------------------------------------------------------------
RENDER_INSTDONE: dict[int, str] = {
    **numbered(("ring_enabled", "vfg", "vs", "hs", "te", "ds", "gs", "sol", "cl", "sf")),
    **numbered(("tdg", "urbm", "svg", "gafs", "vfe", "tsg", "gafm", "gam", "", "", "sde", "rccfbc_cs"), 12),
}
SC_INSTDONE: dict[int, str] = {
    **numbered(("svl", "wmfe", "wmbe", "hiz", "stc", "iz", "sbe")),
    **numbered(("rcz", "rcc", "rcpbe", "rcpfe", "dapb", "daprbe", "iecp", "sarb", "vsc"), 8),
}
SAMPLER_INSTDONE: dict[int, str] = numbered((
    "vme", "pl0", "so0", "dg0", "ft0", "dm0", "sc", "fl0", "qc", "svsm", "si0", "mt0", "avs", "ief", "vdi",
    "svsm_arb3", "svsm_arb2", "svsm_arb1", "svsm_adapter",
))
ROW_INSTDONE: dict[int, str] = {
    **numbered(("bc", "psd", "dc", "dapr", "", "", "tdl", "", "gw", "", "", "", "ic")),
    **numbered(("eu00_ss0", "eu01_ss0", "eu02_ss0", "eu03_ss0", "ma0_ss0", "eu10_ss0", "eu11_ss0", "eu12_ss0",
                "eu13_ss0", "ma1"), 16),
}

_IDLE: list[Register] = [
    instdone("RENDER_INSTDONE", 0x206C, RENDER_INSTDONE, XML_REF),
    instdone("SC_INSTDONE", 0x7100, SC_INSTDONE, XML_REF),
    instdone("SAMPLER_INSTDONE", 0xE160, SAMPLER_INSTDONE, XML_REF),
    instdone("ROW_INSTDONE", 0xE164, ROW_INSTDONE, XML_REF),
]

# --- interrupts and errors --------------------------------------------------------------------------------------------
_GT_INTERRUPTS: Mapping[int, str] = {
    25: "blitter_cs_error", 22: "blitter_user_interrupt", 15: "video_cs_error", 12: "video_user_interrupt",
    11: "l3_parity_error_slice_1", 5: "l3_parity_error", 4: "render_pipe_control_notify", 3: "render_cs_error",
    0: "render_user_interrupt",
}

_ERRORS: list[Register] = [
    *gen6.gt_interrupts(_GT_INTERRUPTS),
    # Mesa's gen7.xml has other names for these bits, of faults of planes; Linux acts on these.
    register("ERR_INT", 0x44040, bits({
        31: "poison", 13: "mmio_unclaimed", 8: "pipe_crc_done_c", 6: "fifo_underrun_c", 5: "pipe_crc_done_b",
        3: "fifo_underrun_b", 2: "pipe_crc_done_a", 0: "fifo_underrun_a",
    }), ref=gen6.DISPLAY_REF),
]


def status_pages(engines: Mapping[str, int]) -> list[Register]:
    """The status pages of the engines, side by side."""
    return [register(f"{name}_HWS_PGA", offset, [Address("status_page_address", 0, 31, 12)], ref=RING_REF,
                     doc="in the GGTT") for name, offset in engines.items()]


# --- predicates, and parameters of indirect draws and dispatches ------------------------------------------------------
def _parameter(name: str, offset: int) -> Register:
    return register(name, offset, [Uint("parameter", 0, 31, 0)], ref=RING_REF)


_PARAMETERS: list[Register] = [
    *(register(f"MI_PREDICATE_{name}", 0x2400 + 8 * i, [Uint("value", 0, 63, 0, hex=True)], dwords=2, ref=RING_REF)
      for i, name in enumerate(("SRC0", "SRC1", "DATA"))),
    register("MI_PREDICATE_RESULT", 0x2418, [Bool("result", 0, 0)], ref=RING_REF),
    _parameter("3DPRIM_END_OFFSET", 0x2420),
    _parameter("3DPRIM_START_VERTEX", 0x2430),
    _parameter("3DPRIM_VERTEX_COUNT", 0x2434),
    _parameter("3DPRIM_INSTANCE_COUNT", 0x2438),
    _parameter("3DPRIM_START_INSTANCE", 0x243C),
    _parameter("3DPRIM_BASE_VERTEX", 0x2440),
    *(_parameter(f"GPGPU_DISPATCHDIM{axis}", 0x2500 + 4 * i) for i, axis in enumerate("XYZ")),
]

_STATISTICS: list[Register] = [
    counter("CS_INVOCATION_COUNT", 0x2290),
    counter("HS_INVOCATION_COUNT", 0x2300),
    counter("DS_INVOCATION_COUNT", 0x2308),
    *(counter(f"SO_NUM_PRIMS_WRITTEN{i}", 0x5200 + 8 * i) for i in range(4)),
    *(counter(f"SO_PRIM_STORAGE_NEEDED{i}", 0x5240 + 8 * i) for i in range(4)),
    *(register(f"SO_WRITE_OFFSET{i}", 0x5280 + 4 * i, [
        Uint("write_offset", 0, 31, 2, scale=4, hex=True, doc="bytes from the base of the buffer"),
    ], ref="IVB PRM vol2 part1 SO_WRITE_OFFSET") for i in range(4)),
]


# --- L3 and modes -----------------------------------------------------------------------------------------------------
def _share(name: str, hi: int, low_bandwidth: int | None = None) -> list[Field]:
    """The part of the L3 that a client has, in ways."""
    more = [] if low_bandwidth is None else [Bool(f"{name}_low_bandwidth", 0, low_bandwidth)]
    return [*more, Uint(f"{name}_allocation", 0, hi, hi - 5)]


L3SQCREG1 = register("L3SQCREG1", 0xB010, [
    *bits({27: "convert_t_uc", 26: "convert_c_uc", 25: "convert_is_uc", 24: "convert_dc_uc"}),
    Uint("l3sq_general_priority_credit_initialization", 0, 23, 20),
    Uint("l3sq_high_priority_credit_initialization", 0, 19, 16),
], ref=XML_REF)
L3CNTLREG2 = register("L3CNTLREG2", 0xB020, [
    *_share("dc", 26, 27), *_share("ro", 19, 20), *_share("all", 13), *_share("urb", 6, 7), Bool("slm_enable", 0, 0),
], ref=XML_REF)

_MODES: list[Register] = [
    register("FF_THREAD_MODE", 0x20A0, value(), ref=GT_REF, doc="IER was here on Gen4"),
    register("GFX_MODE", 0x229C, mask_and_bits(gen6.GFX_MODE_BITS), masked=True, ref=GT_REF),
    register("CACHE_MODE_0", 0x7000, mask_and_bits({2: "hiz_raw_stall_opt_disable", 0: "rc_op_flush_enable"}),
             masked=True, ref=GT_REF),
    register("CACHE_MODE_1", 0x7004, mask_and_bits({
        11: "msaa_optimization_reduc_disable", 6: "pixel_subspan_collect_opt_disable",
    }), masked=True, ref=GT_REF),
    register("GT_MODE", 0x7008, mask_and_bits({9: "wiz_hashing_high", 7: "wiz_hashing_low"}), masked=True, ref=GT_REF),
    register("COMMON_SLICE_CHICKEN1", 0x7010, mask_and_bits({10: "rhwo_optimization_disable"}), masked=True,
             ref=GT_REF),
    register("L3CNTLREG1", 0xB01C, value(), ref=GT_REF),
    L3SQCREG1,
    L3CNTLREG2,
    register("L3CNTLREG3", 0xB024, [*_share("t", 20, 21), *_share("c", 13, 14), *_share("is", 6, 7)], ref=XML_REF),
    register("L3SQCREG4", 0xB034, bits({27: "lqsc_ro_perf_disable"}), ref=GT_REF),
    register("HALF_SLICE_CHICKEN1", 0xE100, mask_and_bits({
        10: "max_ps_thread_dep", 4: "single_subscan_dispatch_enable", 3: "psd_single_port_dispatch_enable",
    }), masked=True, ref=GT_REF),
    register("HALF_SLICE_CHICKEN3", 0xE184, mask_and_bits({8: "sampler_power_bypass", 1: "sample_c_performance"}),
             masked=True, ref=GT_REF),
    register("ROW_CHICKEN2", 0xE4F4, mask_and_bits({0: "dop_clock_gating_disable"}), masked=True, ref=GT_REF),
    register("FORCEWAKE_MT", 0xA188, mask_and_bits({0: "wake"}), masked=True, ref=GT_REF),
]

GTT_ENTRY = gen6.GTT_ENTRY.changed(
    Uint("cacheability_control", 0, 2, 1, doc="1 uncached, 2 LLC, 3 L3 and LLC; Bay Trail: snooped, writeable"))

_FENCES = gen6.fences(32)  # Bay Trail has the first 16

REGISTERS: list[Register] = [
    *_IDLE, *_ERRORS, *status_pages({"RENDER": 0x4080, "VIDEO": 0x4180, "BLITTER": 0x4280}), *_PARAMETERS,
    *_STATISTICS, *_MODES, *_FENCES,
]
_OLD = {register.name for register in gen6.REGISTERS}

REPLACED: tuple[Block, ...] = (*(r for r in REGISTERS if r.name in _OLD), GTT_ENTRY)
ADDED: tuple[Block, ...] = tuple(r for r in REGISTERS if r.name not in _OLD)
REMOVED: tuple[str, ...] = ("INSTDONE1", "SO_PRIM_STORAGE_NEEDED", "SO_NUM_PRIMS_WRITTEN")
