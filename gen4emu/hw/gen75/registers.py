"""The MMIO registers of Haswell that Ivy Bridge lacks: the video enhancement ring and the registers of MI_MATH.

Sources: Linux 6.1, drivers/gpu/drm/i915 (intel_engine_regs.h, intel_gt_regs.h, intel_gtt.h); HSW PRM vol. 2c; Mesa's
gen75.xml for the bits of INSTDONE and of the L3 registers.
"""

from __future__ import annotations

from gen4emu.hw.fields import Bool, Field, Uint
from gen4emu.hw.gen6 import registers as gen6
from gen4emu.hw.gen6.registers import GT_REF, RING_REF, instdone, mask_and_bits, numbered
from gen4emu.hw.gen7 import registers as gen7
from gen4emu.hw.layout import Block, Register
from gen4emu.hw.reserved import bits, register

_XML_REF = "Mesa gen75.xml"

_SC_INSTDONE = {bit: name for bit, name in gen7.SC_INSTDONE.items() if name not in ("iecp", "vsc")}
_SAMPLER_INSTDONE = {**gen7.SAMPLER_INSTDONE, 0: "ime", 14: "cre", **numbered(("ft1", "dm1", "mt1"), 19)}
_ROW_INSTDONE = {
    **gen7.ROW_INSTDONE, 15: "ma0_ss0", 20: "eu04_ss0", 25: "eu14_ss0", 26: "ma1_ss0",
}

def _performance_counter(name: str, offset: int) -> Register:
    control: list[Field] = [
        Uint("event_selection", 1, 27, 20),
        *bits({31: "counter_enable", 30: "overflow_enable", 29: "edge_detect", 28: "counter_clear"}, 1),
    ]
    return register(name, offset, [Uint("value", 0, 43, 0), *control], dwords=2, ref=_XML_REF)


REGISTERS: list[Register] = [
    *gen6.ring("VIDEO_ENHANCEMENT", 0x1A000, status_page=0x4380),
    gen6.timestamp("VIDEO_ENHANCEMENT_TIMESTAMP", 0x1A000),
    gen6.fault("VIDEO_ENHANCEMENT", 0x4394),
    instdone("VIDEO_ENHANCEMENT_INSTDONE", 0x1A06C, {0: "ring_enabled", 30: "vecs", 31: "gam"}, _XML_REF),
    instdone("RENDER_INSTDONE", 0x206C, {**gen7.RENDER_INSTDONE, 20: "rs", 21: "cs"}, _XML_REF),
    instdone("SC_INSTDONE", 0x7100, _SC_INSTDONE, _XML_REF),
    instdone("SAMPLER_INSTDONE", 0xE160, _SAMPLER_INSTDONE, _XML_REF),
    instdone("ROW_INSTDONE", 0xE164, _ROW_INSTDONE, _XML_REF),
    register("ERROR_GEN6", 0x40A0, [Uint("pending_page_faults", 0, 15, 9), *bits(gen6.ERROR_BITS)], ref=GT_REF,
             doc="GFX_ARB_ERROR_RPT"),
    register("MI_PREDICATE_RESULT_1", 0x241C, [Bool("result", 0, 0)], ref=RING_REF),
    register("MI_PREDICATE_RESULT_2", 0x2214, [Bool("result", 0, 0)], ref=RING_REF, doc="1 is GT3"),
    *(register(f"CS_GPR_R{i}", 0x2600 + 8 * i, [Uint("value", 0, 63, 0, hex=True)], dwords=2, ref=RING_REF)
      for i in range(16)),
    gen7.L3SQCREG1.changed(
        Uint("l3sq_general_priority_credit_initialization", 0, 23, 19),
        Uint("l3sq_high_priority_credit_initialization", 0, 18, 14)),
    gen7.L3CNTLREG2.changed(remove=["all_allocation"]),
    register("SCRATCH1", 0xB038, bits({27: "l3_atomic_disable"}), ref=_XML_REF),
    register("CHICKEN3", 0xE49C, mask_and_bits({6: "l3_atomic_disable"}), masked=True, ref=_XML_REF),
    register("HALF_SLICE_CHICKEN2", 0xE180, mask_and_bits({13: "sampler_l2_bypass"}), masked=True, ref=GT_REF),
    _performance_counter("PERFCNT1", 0x91B8),
    _performance_counter("PERFCNT2", 0x91C0),
]

GTT_ENTRY = gen7.GTT_ENTRY.changed(
    Bool("cacheability_control_high", 0, 11),
    Uint("physical_address_high", 0, 10, 4, hex=True, doc="bits 38:32"),
    Uint("cacheability_control", 0, 3, 1, doc="1 uncached, 2 LLC write back; with bit 11 one of eight"),
    remove=["graphics_data_type"])

_OLD = {r.name for r in (*gen6.REGISTERS, *gen7.REGISTERS)}

REPLACED: tuple[Block, ...] = (*(r for r in REGISTERS if r.name in _OLD), GTT_ENTRY)
ADDED: tuple[Block, ...] = tuple(r for r in REGISTERS if r.name not in _OLD)
