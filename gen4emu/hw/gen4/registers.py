"""MMIO registers that clients, the kernel and error states use: rings, status, errors, statistics, fences; GTT entry.

Sources: Linux 6.1, drivers/gpu/drm/i915 (i915_reg.h, intel_engine_regs.h, intel_ggtt_fencing.c).  Undocumented bits are
`Ignored`, not `Mbz`: it is not an error if a dump has them set.  Debug registers are in `debug_registers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from gen4emu.core_enums import FENCE_COUNT as FENCE_COUNT
from gen4emu.hw.fields import Address, Bool, Enum, Field, Ignored, Mbz, Uint
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import debug_registers
from gen4emu.hw.layout import Block, Register

REF_RING = "Linux intel_engine_regs.h"
REF_OTHER = "Linux i915_reg.h"


class AutomaticHeadReport(IntEnum):
    """The interval at which the ring writes its head to the status page."""

    OFF = 0
    EVERY_64_KIB = 1
    EVERY_128_KIB = 2


class PageTableSize(IntEnum):
    """The bytes of page table entries that PGTBL_CTL announces."""

    SIZE_512_KIB = 0
    SIZE_256_KIB = 1
    SIZE_128_KIB = 2
    SIZE_1_MIB = 3
    SIZE_2_MIB = 4
    SIZE_1_5_MIB = 5


class PageTableEntryType(IntEnum):
    """The caching of a page of graphics memory."""

    UNCACHED = 0
    SNOOPED = 3


class FenceTileWalk(IntEnum):
    """The tiling of a fenced region."""

    XMAJOR = 0
    YMAJOR = 1


class ChannelAddressingMode(IntEnum):
    """The distribution of addresses over the channels of a mobile memory controller."""

    SINGLE_CHANNEL = 0
    DUAL_CHANNEL_ASYMMETRIC = 1
    DUAL_CHANNEL_INTERLEAVED = 2


# --- shapes that several registers share ------------------------------------------------------------------------------
def _fill(fields: Sequence[Field], hi: int = 31, lo: int = 0) -> list[Field]:
    """One-dword fields, the highest first, and `Ignored` for the bits of `hi`..`lo` between them."""
    out: list[Field] = []
    top = hi
    for f in fields:
        if f.hi < top:
            out.append(Ignored(0, top, f.hi + 1))
        out.append(f)
        top = f.lo - 1
    if top >= lo:
        out.append(Ignored(0, top, lo))
    return out


def bits(names: dict[int, str], hi: int = 31, lo: int = 0) -> list[Field]:
    """Single bits by number, the highest first; the others are ignored."""
    return _fill([Bool(names[bit], 0, bit) for bit in sorted(names, reverse=True)], hi, lo)


def value(name: str = "value") -> list[Field]:
    """A register that holds one number, or whose bits are undocumented."""
    return [Uint(name, 0, 31, 0, hex=True)]


def _masked(names: dict[int, str]) -> list[Field]:
    """Bits 15:0 of which a write changes those whose mask bit is set."""
    return [Uint("mask", 0, 31, 16, hex=True, doc="on writes: bits 15:0 that change"), *bits(names, 15)]


# --- rings ------------------------------------------------------------------------------------------------------------
# Bits 5:2: the names in public drivers have row 0 in the higher bit of each pair.
_INSTDONE = {
    31: "row_0_eu_0", 30: "row_0_eu_1", 29: "row_0_eu_2", 28: "row_0_eu_3",
    27: "row_1_eu_0", 26: "row_1_eu_1", 25: "row_1_eu_2", 24: "row_1_eu_3",
    23: "setup", 22: "strips", 21: "windower", 18: "dispatcher", 17: "projection", 16: "dependent_address_generator",
    15: "quad_cache", 14: "texture_fetch", 13: "texture_decompress", 12: "sampler_cache", 11: "filter", 10: "bypass",
    9: "pixel_shader", 8: "color_calculator", 7: "map_filter", 6: "map_l2",
    5: "message_arbiter_row_0", 4: "message_arbiter_row_1", 3: "instruction_cache_row_0",
    2: "instruction_cache_row_1", 1: "command_parser", 0: "ring_enabled",
}
_INSTDONE1 = dict(enumerate((
    "vf", "vs", "gs", "clip", "isc", "urb", "uc_0", "uc_1", "em_0", "em_1", "maw", "masf", "masm", "svtw", "svrr",
    "svrw", "svdr", "svdw", "svsm", "gateway",
)))


def ring(name: str, base: int, *status_page: Field) -> list[Register]:
    """The registers that every ring has, at the same offsets from its base.  `status_page` are bits 7:4 of HWS_PGA."""

    def register(suffix: str, offset: int, fields: list[Field], *, masked: bool = False, doc: str = "") -> Register:
        return Register(f"{name}_{suffix}", base + offset, fields, masked=masked, ref=REF_RING, doc=doc)

    return [
        register("RING_TAIL", 0x30, [
            Mbz(0, 31, 21),
            Uint("tail_offset", 0, 20, 3, scale=8, hex=True),
            Mbz(0, 2, 0),
        ]),
        register("RING_HEAD", 0x34, [
            Uint("wrap_count", 0, 31, 21),
            Uint("head_offset", 0, 20, 2, scale=4, hex=True),
            Mbz(0, 1, 0),
        ]),
        register("RING_START", 0x38, [Address("starting_address", 0, 31, 12), Mbz(0, 11, 0)]),
        register("RING_CTL", 0x3C, [
            Mbz(0, 31, 21),
            Uint("buffer_length", 0, 20, 12, bias=1, scale=4096, doc="bytes"),
            Bool("waiting_for_event", 0, 11),
            Ignored(0, 10, 10, doc="semaphore wait, from Gen6 on"),
            Mbz(0, 9, 3),
            Enum("automatic_head_report", 0, 2, 1, enum=AutomaticHeadReport),
            Bool("enable", 0, 0),
        ]),
        register("IPEIR", 0x64, bits({3: "in_batch"}), doc="the failing instruction: where it came from"),
        register("IPEHR", 0x68, value("header"), doc="the header of the command that executes or executed last"),
        register("INSTPS", 0x70, value(), doc="state of the parser"),
        register("ACTHD", 0x74, [
            Address("address", 0, 31, 2),
            Ignored(0, 1, 1),
            Bool("in_batch", 0, 0),
        ], doc="the address of the command that executes"),
        register("DMA_FADD", 0x78, [Address("address", 0, 31, 0)], doc="the next fetch"),
        register("HWS_PGA", 0x80, [
            Address("status_page_address", 0, 31, 12, doc="physical before GM45"),
            Mbz(0, 11, 8),
            *status_page,
            Mbz(0, 3, 0),
        ]),
        register("NOPID", 0x94, [
            Ignored(0, 31, 22),
            Uint("identification", 0, 21, 0, hex=True),
        ], doc="the last MI_NOOP that identified itself"),
        register("MI_MODE", 0x9C, _masked({
            14: "async_flip_performance_disable", 9: "ring_idle", 8: "stop_ring", 6: "vs_timer_dispatch",
        }), masked=True),
        register("INSTPM", 0xC0, _masked({
            9: "tlb_invalidate", 6: "constant_buffer_address_offset_disable", 5: "sync_flush_enable",
        }), masked=True),
        register("BBSTATE", 0x110, value()),
        register("BBADDR", 0x140, [
            Address("address", 0, 31, 3),
            Ignored(0, 2, 1),
            Bool("valid", 0, 0),
        ], doc="the batch"),
    ]


# --- interrupts and errors --------------------------------------------------------------------------------------------
_INTERRUPTS = {
    18: "pipe_control_notify", 15: "master_error", 12: "sync_status", 11: "plane_a_flip_pending",
    10: "plane_b_flip_pending", 9: "overlay_flip_pending", 8: "plane_c_flip_pending", 7: "pipe_a_vertical_blank",
    6: "pipe_a_event", 5: "pipe_b_vertical_blank", 4: "pipe_b_event", 1: "user_interrupt", 0: "asle",
}


def _interrupts(name: str, offset: int, doc: str) -> Register:
    return Register(name, offset, [
        Ignored(0, 31, 26),
        Ignored(0, 25, 25),
        *bits(_INTERRUPTS, 24),
    ], ref="Linux i915_reg.h", doc=doc)


def error_registers(names: dict[int, str]) -> list[Register]:
    """EIR, EMR and ESR, whose bits are those errors."""
    return [Register(name, offset, bits(names), ref="Linux i915_reg.h", doc=doc) for name, offset, doc in (
        ("EIR", 0x20B0, "identity, cleared by writing 1"), ("EMR", 0x20B4, "mask"), ("ESR", 0x20B8, "status"))]


def instdone1(names: dict[int, str]) -> Register:
    return Register("INSTDONE1", 0x207C, bits(names), ref=REF_RING, doc="1 is idle")


_RENDER: list[Register] = [
    Register("RENDER_INSTDONE", 0x206C, bits(_INSTDONE), ref="IGT lib/instdone.c", doc="1 is idle"),
    instdone1(_INSTDONE1),
    Register("3D_CHICKEN", 0x2084, value(), ref=REF_RING),
    Register("3D_CHICKEN_1", 0x208C, value(), ref=REF_RING),
    Register("3D_CHICKEN_2", 0x2090, value(), ref=REF_RING),
    _interrupts("HWSTAM", 0x2098, "1 keeps that interrupt out of dword 0 of the status page"),
    _interrupts("IER", 0x20A0, "enable"),
    _interrupts("IIR", 0x20A4, "identity, cleared by writing 1"),
    _interrupts("IMR", 0x20A8, "mask"),
    _interrupts("ISR", 0x20AC, "status"),
    *error_registers({4: "page_table", 1: "memory_refresh", 0: "instruction"}),
    Register("CACHE_MODE_0", 0x2120, _masked({
        8: "pipelined_render_flush_disable", 6: "iz_optimization_disable", 5: "zr_optimization_disable",
        4: "depth_evict_disable", 3: "color_evict_disable", 1: "depth_write_disable",
        0: "render_cache_operational_flush",
    }), masked=True, ref=REF_RING),
    Register("CACHE_MODE_1", 0x2124, _masked({12: "media_indirect_load"}), masked=True, ref=REF_RING,
             doc="bit 12 is what the media start sequence toggles (G45v2 10.3, whose text says bit 15)"),
    Register("GFX_FLSH_CNTL", 0x2170, value(), ref=REF_RING, doc="a write flushes writes through the GTT"),
    Register("CCID", 0x2180, _fill([
        Address("logical_context_address", 0, 31, 12),
        Bool("global_gtt", 0, 8),
        Bool("extended_state_save_enable", 0, 3),
        Bool("extended_state_restore_enable", 0, 2),
        Bool("valid", 0, 0),
    ]), ref=REF_RING, doc="the logical context that runs"),
    Register("CXT_SIZE", 0x21A0, [
        Ignored(0, 31, 16),
        Uint("size", 0, 15, 0, bias=1, scale=64, doc="bytes"),
    ], ref=REF_RING),
    Register("ECOSKPD", 0x21D0, _masked({4: "constant_buffer_save_restore_disable"}), masked=True, ref=REF_RING),
]

# --- page table and memory controller ---------------------------------------------------------------------------------
_MEMORY: list[Register] = [
    Register("PGTBL_CTL", 0x2020, [
        Address("page_table_base", 0, 31, 12, doc="physical"),
        Ignored(0, 11, 8),
        Uint("physical_address_high", 0, 7, 4, hex=True, doc="bits 35:32"),
        Enum("size", 0, 3, 1, enum=PageTableSize),
        Bool("enable", 0, 0),
    ], ref=REF_OTHER),
    Register("PGTBL_ER", 0x2024, bits({
        26: "sampler", 24: "render", 23: "instruction_state", 21: "vertex_fetch", 20: "command_fetch",
        19: "command_streamer", 18: "cursor", 17: "overlay", 8: "display_b", 4: "display_a",
        1: "illegal_memory", 0: "host",
    }), ref=REF_OTHER),
]


def memory_controller(mobile: Gen, desktop: Gen) -> list[Register]:
    """The registers that tell about swizzling; mobile parts have others than desktop parts.

    Linux reads DCC at 0x10200 and 16 bits at 0x10206 and 0x10606 (intel_ggtt_fencing.c).
    """
    boundary = [Uint("rank_boundary", 0, 31, 16, hex=True, doc="C0DRB3 and C1DRB3 differ: no swizzle"),
                Ignored(0, 15, 0)]
    return [
        Register("DCC", 0x10200, _fill([
            Bool("channel_xor_disable", 0, 10),
            Bool("channel_xor_bit_17", 0, 9),
            Enum("addressing_mode", 0, 1, 0, enum=ChannelAddressingMode),
        ]), ref=REF_OTHER, gens=mobile),
        Register("C0DRB2_3", 0x10204, boundary, ref=REF_OTHER, gens=desktop),
        Register("C1DRB2_3", 0x10604, boundary, ref=REF_OTHER, gens=desktop),
    ]


# --- statistics -------------------------------------------------------------------------------------------------------
def counter(name: str, offset: int) -> Register:
    return Register(name, offset, [Uint("count", 0, 63, 0)], dwords=2, ref=REF_OTHER)


STATISTICS: tuple[Register, ...] = (
    counter("IA_VERTICES_COUNT", 0x2310),
    counter("IA_PRIMITIVES_COUNT", 0x2318),
    counter("VS_INVOCATION_COUNT", 0x2320),
    counter("GS_INVOCATION_COUNT", 0x2328),
    counter("GS_PRIMITIVES_COUNT", 0x2330),
    counter("CL_INVOCATION_COUNT", 0x2338),
    counter("CL_PRIMITIVES_COUNT", 0x2340),
    counter("PS_INVOCATION_COUNT", 0x2348),
    counter("PS_DEPTH_COUNT", 0x2350),
)

TIMESTAMP = Register("TIMESTAMP", 0x2358, [
    Uint("ticks", 0, 35, 0, doc="80 ns each"),
    Ignored(0, 63, 36),
], dwords=2, ref=REF_OTHER)

# --- fences -----------------------------------------------------------------------------------------------------------

FENCES: tuple[Register, ...] = tuple(Register(f"FENCE_{i}", 0x3000 + 8 * i, [
    Address("start_address", 0, 31, 12),
    Uint("pitch_bytes", 0, 11, 2, bias=1, scale=128),
    Enum("tile_walk", 0, 1, 1, enum=FenceTileWalk),
    Bool("valid", 0, 0),
    Address("last_page_address", 1, 31, 12),
    Mbz(1, 11, 0),
], dwords=2, ref="Linux intel_ggtt_fencing.c") for i in range(FENCE_COUNT))

GTT_ENTRY = Block("GTT_ENTRY", 1, [
    Address("physical_address_low", 0, 31, 12),
    Mbz(0, 11, 8),
    Uint("physical_address_high", 0, 7, 4, hex=True, doc="bits 35:32"),
    Mbz(0, 3, 3),
    Enum("entry_type", 0, 2, 1, enum=PageTableEntryType),
    Bool("valid", 0, 0),
], ref="Linux intel-gtt.c")

BLOCKS: tuple[Block, ...] = (GTT_ENTRY,)

REGISTERS: tuple[Register, ...] = (
    *ring("RENDER", 0x2000, Uint("physical_address_high", 0, 7, 4, hex=True, doc="bits 35:32")),
    *_RENDER,
    *_MEMORY,
    *memory_controller(mobile=Gen.CL, desktop=Gen.BW),
    *STATISTICS,
    TIMESTAMP,
    *FENCES,
    *debug_registers.REGISTERS,
)
