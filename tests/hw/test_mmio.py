"""MMIO registers and the GTT entry: offsets, fields and values."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gen4emu.hw import catalogue
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import registers
from gen4emu.hw.gen4.registers import AutomaticHeadReport, FenceTileWalk, PageTableEntryType, PageTableSize
from gen4emu.hw.layout import Register, View
from tests.harness.parts import GEN4_PARTS
from tests.hw.by_name import ByName, parts_with

BY_NAME = {r.name: ByName(r.name) for r in (*registers.REGISTERS, *catalogue.GEN45.registers)}


def view(name: str, *words: int, gen: Gen = Gen.EL) -> View:
    return BY_NAME[name].view(words, gen=gen)


# Offsets of Linux's i915_reg.h and of 965 PRM vol. 4, chapter 3.
@pytest.mark.parametrize(("name", "offset"), [
    ("RENDER_RING_TAIL", 0x2030), ("RENDER_RING_HEAD", 0x2034), ("RENDER_RING_START", 0x2038),
    ("RENDER_RING_CTL", 0x203C), ("RENDER_IPEIR", 0x2064), ("RENDER_IPEHR", 0x2068), ("RENDER_INSTDONE", 0x206C),
    ("RENDER_INSTPS", 0x2070), ("RENDER_ACTHD", 0x2074), ("RENDER_DMA_FADD", 0x2078), ("INSTDONE1", 0x207C),
    ("RENDER_HWS_PGA", 0x2080), ("3D_CHICKEN", 0x2084), ("RENDER_NOPID", 0x2094), ("HWSTAM", 0x2098),
    ("RENDER_MI_MODE", 0x209C), ("IER", 0x20A0), ("IIR", 0x20A4), ("IMR", 0x20A8), ("ISR", 0x20AC), ("EIR", 0x20B0),
    ("EMR", 0x20B4), ("ESR", 0x20B8), ("RENDER_INSTPM", 0x20C0), ("RENDER_BBSTATE", 0x2110),
    ("CACHE_MODE_0", 0x2120), ("CACHE_MODE_1", 0x2124), ("RENDER_BBADDR", 0x2140), ("GFX_FLSH_CNTL", 0x2170),
    ("CCID", 0x2180), ("CXT_SIZE", 0x21A0), ("ECOSKPD", 0x21D0), ("VIDEO_RING_TAIL", 0x4030),
    ("VIDEO_RING_CTL", 0x403C), ("VIDEO_ACTHD", 0x4074), ("PGTBL_CTL", 0x2020), ("PGTBL_ER", 0x2024),
    ("PGTBL_CTL2", 0x20C4), ("IA_VERTICES_COUNT", 0x2310), ("PS_DEPTH_COUNT", 0x2350), ("TIMESTAMP", 0x2358),
    ("SVG_CTL", 0x7400), ("VF_MAX_PRIM", 0x7514), ("CL_CTL", 0x7A00), ("SF_CLIP_RMAX", 0x7B14),
    ("WIZ_STRG_VAL", 0x7C04), ("TS_RDATA", 0x7E0C), ("TD_TS_EMSK", 0x8030), ("MATH_CTL", 0x8100),
    ("ISC_L1CA_BP_OPC2", 0x8298), ("MA_DEBUG_1", 0x8300), ("RC_DEF_CLR", 0x8604), ("URB_RDATA", 0x8708),
    ("EU_ATT_CLR", 0x8830),
])
def test_offsets(name: str, offset: int) -> None:
    register = catalogue.register_named(name, Gen.EL)
    assert register.offset == offset
    assert catalogue.register_at(offset, Gen.EL) is register


def test_statistics_are_64_bits_in_a_row() -> None:
    names = ["IA_VERTICES", "IA_PRIMITIVES", "VS_INVOCATION", "GS_INVOCATION", "GS_PRIMITIVES", "CL_INVOCATION",
             "CL_PRIMITIVES", "PS_INVOCATION", "PS_DEPTH"]
    for i, name in enumerate(names):
        assert catalogue.register_named(f"{name}_COUNT", Gen.EL).offset == 0x2310 + 8 * i
    assert view("PS_DEPTH_COUNT", 0x89ABCDEF, 0x01234567).count == 0x0123456789ABCDEF
    assert view("TIMESTAMP", 0xFFFFFFFF, 0xFFFFFFFF).ticks == 2**36 - 1


def test_the_ring_of_the_example() -> None:
    ctl = view("RENDER_RING_CTL", 0x00003001)
    assert ctl.enable
    assert ctl.buffer_length == 4 * 4096
    assert ctl.automatic_head_report is AutomaticHeadReport.OFF
    head = view("RENDER_RING_HEAD", 0x00200010)
    assert (head.wrap_count, head.head_offset) == (1, 0x10)
    assert view("RENDER_RING_TAIL", 0x3FF8).tail_offset == 0x3FF8
    assert view("RENDER_RING_START", 0x10000).starting_address == 0x10000


def test_the_video_ring_exists_on_g4x_alone() -> None:
    video = [name for name in BY_NAME if name.startswith("VIDEO_")]
    assert len(video) == 17 and all(parts_with(name) == {Gen.CTG, Gen.EL} for name in video)
    assert catalogue.register_at(0x4074, Gen.BW) is None


def test_masked_registers() -> None:
    masked = {r.name for r in catalogue.GEN45.registers if r.masked}
    assert masked == {"RENDER_MI_MODE", "RENDER_INSTPM", "VIDEO_MI_MODE", "VIDEO_INSTPM", "CACHE_MODE_0",
                      "CACHE_MODE_1", "ECOSKPD"}
    value = view("RENDER_INSTPM", 0x00400040)
    assert value.mask == 0x40
    assert value.constant_buffer_address_offset_disable
    assert view("CACHE_MODE_1", 0x10001000).mask == 0x1000
    for name in masked:
        assert BY_NAME[name].field("mask", Gen.EL).lo == 16


def test_error_bits_differ() -> None:
    assert view("EIR", 0x10, gen=Gen.CL).page_table
    assert view("EIR", 0x20, gen=Gen.CTG).page_table
    assert view("EIR", 0x10, gen=Gen.CTG).memory_privilege
    assert view("EIR", 0x08, gen=Gen.EL).command_privilege


def test_interrupt_bits() -> None:
    assert view("IIR", 1 << 1).user_interrupt
    assert view("IIR", 1 << 15).master_error
    assert view("IIR", 1 << 18).pipe_control_notify
    assert view("IIR", 1 << 25).video_user_interrupt
    assert "video_user_interrupt" not in view("IIR", 1 << 25, gen=Gen.CL).to_dict()


def test_page_table_registers() -> None:
    control = view("PGTBL_CTL", 0x7F80_0021, gen=Gen.CL)
    assert (control.page_table_base, control.physical_address_high, control.enable) == (0x7F800000, 2, True)
    assert control.size is PageTableSize.SIZE_512_KIB
    assert [name for name, on in view("PGTBL_ER", 0x01100000).to_dict().items() if on] == ["render", "command_fetch"]


def test_an_idle_gpu() -> None:
    assert all(view("RENDER_INSTDONE", 0xFFFFFFFF).to_dict().values())
    busy = [name for name, idle in view("RENDER_INSTDONE", 0xFFFFFFFE & ~(1 << 21)).to_dict().items() if not idle]
    assert busy == ["windower", "ring_enabled"]


def test_the_command_that_executes() -> None:
    acthd = view("RENDER_ACTHD", 0x00123455)
    assert (acthd.address, acthd.in_batch) == (0x00123454, True)
    assert view("RENDER_IPEIR", 8).in_batch


@pytest.mark.parametrize(("value", "fields"), [
    (0x0013F000_0010003D, (0x100000, 0x100000 + 0x40000 - 4096, 2048, FenceTileWalk.XMAJOR)),
    (0x0020F000_0020000F, (0x200000, 0x200000 + 0x10000 - 4096, 512, FenceTileWalk.YMAJOR)),
])
def test_fences(value: int, fields: tuple[int, int, int, FenceTileWalk]) -> None:
    words = [value & 0xFFFFFFFF, value >> 32]
    fence = registers.FENCES[15]
    assert fence.offset == 0x3078
    shown = fence.view(words, gen=Gen.CL)
    assert shown.valid
    assert (shown.start_address, shown.last_page_address, shown.pitch_bytes, shown.tile_walk) == fields
    assert fence.pack(Gen.CL, **shown.to_dict()) == words


@pytest.mark.parametrize(("physical", "entry_type", "entry"), [
    (0x12345000, PageTableEntryType.UNCACHED, 0x12345001),
    (0x212345000, PageTableEntryType.UNCACHED, 0x12345021),
    (0x212345000, PageTableEntryType.SNOOPED, 0x12345027),
    (0xFFFFFF000, PageTableEntryType.UNCACHED, 0xFFFFF0F1),
    (0xFFFFFF000, PageTableEntryType.SNOOPED, 0xFFFFF0F7),
])
def test_gtt_entries(physical: int, entry_type: PageTableEntryType, entry: int) -> None:
    packed = registers.GTT_ENTRY.pack(
        Gen.CL, physical_address_low=physical & 0xFFFFF000, physical_address_high=physical >> 32,
        entry_type=entry_type, valid=True)
    assert packed == [entry]
    shown = registers.GTT_ENTRY.view([entry], gen=Gen.CL)
    assert shown.physical_address_high << 32 | shown.physical_address_low == physical


def test_reserved_bits_of_a_gtt_entry() -> None:
    assert [c.what for c in registers.GTT_ENTRY.complaints([0x123], gen=Gen.CL)] == [
        "reserved bits are 0x1, must be zero", "1 is reserved"]


def test_undocumented_bits_of_a_dump_are_no_fault() -> None:
    for name in ("RENDER_INSTPS", "CCID", "PGTBL_ER", "IIR", "EIR", "RENDER_MI_MODE", "DCC"):
        gen = Gen.CTG
        assert BY_NAME[name].complaints([0xFFFFFFFC & ~0x2], gen=gen) == [], name


def test_debug_registers_by_their_manual() -> None:
    windower = view("WIZ_CTL", 1 << 31 | 3 << 16 | 2 << 8 | 1 << 6 | 1)
    assert windower.snapshot_complete and windower.single_subspan_dispatch and windower.snapshot_enable
    assert (windower.subspan_instance_number, windower.output_mux_select) == (3, 2)
    assert view("SF_CLIP_RMIN", 0x00100020).to_dict() == {"minimum_y": 16, "minimum_x": 32}
    assert view("ISC_L1CA_BP_ADR1", 0x12345671).breakpoint_address == 0x12345670
    assert view("EU_ATT_DATA", 1, 2, 0, 0).attention_data == 0x2_0000_0001
    assert [c.dword for c in BY_NAME["EU_ATT"].complaints([1, 0, 4, 0], gen=Gen.EL)] == [2]


def test_registers_do_not_overlap() -> None:
    for part in GEN4_PARTS:
        here: list[Register] = sorted(catalogue.catalogue_of(part).registers, key=lambda r: r.offset)
        for a, b in pairwise(here):
            assert a.offset + 4 * a.size(part) <= b.offset, (a.name, b.name)
