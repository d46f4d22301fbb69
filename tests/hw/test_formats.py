"""The table of surface formats, against a second transcript of the manual's tables."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gen4emu.hw import formats_c
from gen4emu.hw.added_formats import format_info_on
from gen4emu.hw.format_support import supports
from gen4emu.hw.formats import FORMATS, Channel, ChannelType, DataClass, Encoding, FormatInfo, format_info
from gen4emu.hw.formats import SurfaceFormat as F
from gen4emu.hw.gen import Gen
from gen4emu.hw.later_formats import AstcSurfaceFormat, LaterSurfaceFormat
from tests.harness.parts import LATER_EXECUTING

NONE, ALL, GEN45 = Gen(0), Gen.ALL4, Gen.GEN45


def info(code: int) -> FormatInfo:
    found = format_info(code)
    assert found is not None
    return found


def places(channels: tuple[Channel, ...]) -> list[tuple[str, int, int]]:
    return [(c.name, c.at, c.bits) for c in channels]


def outputs(code: int) -> str:
    return "".join(c.name for c in info(code).outputs)


def codes(*ranges: str) -> set[int]:
    """`043-046 08D`: ranges of codes in hexadecimal."""
    found: set[int] = set()
    for text in " ".join(ranges).split():
        first, _, last = text.partition("-")
        found |= set(range(int(first, 16), int(last or first, 16) + 1))
    return found


# --- the table as a whole -------------------------------------------------------------------------------------------
def test_every_code_has_one_row_and_every_row_a_code() -> None:
    assert sorted(f.format for f in FORMATS) == sorted(F)
    assert len(FORMATS) == 168


def test_a_reserved_code_is_no_format() -> None:
    assert [c for c in (0x009, 0x047, 0x0C6, 0x150, 0x1A0, 0x1FF, 0x200, -1) if format_info(c) is not None] == []


@pytest.mark.parametrize("f", FORMATS, ids=lambda f: f.name)
def test_stored_channels_fill_a_block_without_gaps(f: FormatInfo) -> None:
    at = 0
    for c in f.channels:
        assert c.at == at and c.bits > 0
        at += c.bits
    assert at == (0 if f.encoding >= Encoding.BC1 else f.block_bits)


@pytest.mark.parametrize("f", [f for f in FORMATS if f.encoding is Encoding.PLAIN and f.format != F.MONO8],
                         ids=lambda f: f.name)
def test_names_say_what_the_channels_are(f: FormatInfo) -> None:
    name = "".join(f"{c.name}{c.bits}" for c in f.channels)
    assert re.sub("_|TYPELESS|FLOAT|[US]NORM", "", f.name).startswith(name)
    assert f.srgb == f.name.endswith("SRGB")
    assert (f.palette is not None) == ("PALETTE" in f.name)


# --- capabilities ---------------------------------------------------------------------------------------------------
def test_vertex_fetch_takes_exactly_the_formats_of_its_chapter() -> None:
    only_vertex_fetch = codes("003 004 005 007 008 043-046 08B-08D 093-096 0F1-0F9 11C-11F 149 14A 193-198 19C-19F")
    also = codes("000-002 040-042 080-087 0C0 0C2 0C4 0C5 0C7 0C9-0D0 0D3 0D6-0D8 106-10E 140-143")
    assert {int(f.format) for f in FORMATS if f.support.vertex_fetch} == only_vertex_fetch | also
    assert {int(f.format) for f in FORMATS if f.support.vertex_fetch and not f.support.sample} == only_vertex_fetch
    assert all(f.support.vertex_fetch in (NONE, ALL) for f in FORMATS)


def test_render_targets_are_exactly_those_of_the_windower_chapter() -> None:
    blended = codes("000 084 085 0C0-0C2 0C7 0C8 0D0-0D3 0D8 100-106 10E 11A 11B 140 144")
    blended_on_g4x = codes("080 0CC 10A")
    not_blended = codes("001 002 081-083 086 087 0C4 0C9-0CB 0CD-0CF 0D6 0D7 107-109 10B-10D 141-143 182 183 18F 190")
    assert {int(f.format) for f in FORMATS if f.support.render_target == ALL} == blended | blended_on_g4x | not_blended
    assert {int(f.format) for f in FORMATS if f.support.render_target not in (ALL, NONE)} == set()
    assert {int(f.format) for f in FORMATS if f.support.blend == ALL} == blended
    assert {int(f.format) for f in FORMATS if f.support.blend == GEN45} == blended_on_g4x


def test_the_second_palette_and_srgb_luminance_came_with_g4x() -> None:
    assert {int(f.format) for f in FORMATS if f.support.sample == GEN45} == codes("118 14B-14F 180 184 185")


def test_listed_but_unsupported_codes_can_do_nothing() -> None:
    unsupported = {int(f.format) for f in FORMATS if f.support == type(f.support)()}
    assert unsupported == codes("10F 110 122 123 19B")


def test_shadow_compare_works_on_depth_like_formats() -> None:
    assert {int(f.format) for f in FORMATS if f.support.shadow} == codes(
        "088 0D8 0D9 0E0-0E5 10A 111-113 115-117")


def test_chroma_key_formats() -> None:
    keyed = {int(f.format) for f in FORMATS if f.support.chroma_key == ALL}
    assert keyed == codes("0C0 0E9 100 102 104 107 114 119 144 146 182 183 186-188")
    assert info(F.R8_UNORM).support.chroma_key == GEN45


def test_silicon_filters_depth_in_24_bits_but_no_32_bit_float() -> None:
    undocumented = {f.format for f in FORMATS if f.support.filter_on_silicon != f.support.filter}
    assert undocumented == {F.R24_UNORM_X8_TYPELESS, F.I24X8_UNORM, F.L24X8_UNORM, F.A24X8_UNORM}
    wide = [f for f in FORMATS if any(c.bits == 32 and c.type is ChannelType.FLOAT for c in f.channels)]
    assert {int(f.format) for f in wide} == codes("000 006 040 085 088 08A 090-092 0D8 0E3-0E5")
    assert not any(f.support.filter_on_silicon for f in wide)


# --- channels -------------------------------------------------------------------------------------------------------
def test_blue_first_formats_have_blue_in_byte_0() -> None:
    assert places(info(F.B8G8R8A8_UNORM).channels) == [("B", 0, 8), ("G", 8, 8), ("R", 16, 8), ("A", 24, 8)]
    assert places(info(F.B8G8R8A8_UNORM).outputs) == [("R", 16, 8), ("G", 8, 8), ("B", 0, 8), ("A", 24, 8)]
    assert places(info(F.B5G6R5_UNORM).outputs) == [("R", 11, 5), ("G", 5, 6), ("B", 0, 5), ("1", 0, 0)]


def test_positions_of_packed_channels() -> None:
    assert places(info(F.R10G10B10A2_UNORM).outputs) == [("R", 0, 10), ("G", 10, 10), ("B", 20, 10), ("A", 30, 2)]
    assert places(info(F.R11G11B10_FLOAT).outputs)[:3] == [("R", 0, 11), ("G", 11, 11), ("B", 22, 10)]
    assert places(info(F.R9G9B9E5_SHAREDEXP).channels)[3] == ("E", 27, 5)
    assert places(info(F.P4A4_UNORM_PALETTE0).channels) == [("P", 0, 4), ("A", 4, 4)]
    assert places(info(F.A4P4_UNORM_PALETTE1).channels) == [("A", 0, 4), ("P", 4, 4)]


def test_mixed_formats_have_a_type_for_each_channel() -> None:
    types = [c.type.name for c in info(F.R10G10B10_SNORM_A2_UNORM).channels]
    assert types == ["SNORM", "SNORM", "SNORM", "UNORM"]
    assert [c.type.name for c in info(F.R5G5_SNORM_B6_UNORM).channels] == ["SNORM", "SNORM", "UNORM"]


@pytest.mark.parametrize(("code", "expected"), [
    (F.R32_FLOAT, "R001"), (F.R16G16_UNORM, "RG01"), (F.R32G32B32_FLOAT, "RGB1"), (F.B8G8R8X8_UNORM, "RGB1"),
    (F.A8_UNORM, "000A"), (F.A24X8_UNORM, "000A"), (F.L8A8_UNORM, "LLLA"), (F.L16_FLOAT, "LLL1"), (F.I8_UNORM, "IIII"),
    (F.I24X8_UNORM, "IIII"), (F.X24_TYPELESS_G8_UINT, "0G01"), (F.X32_TYPELESS_G8X24_UINT, "0G01"),
    (F.R32_FLOAT_X8X24_TYPELESS, "R001"), (F.BC1_UNORM, "RGBA"), (F.BC1_RGB, "RGB1"), (F.BC4_SNORM, "R001"),
    (F.BC5_UNORM, "RG01"), (F.FXT1, "RGBA"), (F.P8_UNORM_PALETTE1, "PPP1"), (F.A4P4_UNORM_PALETTE0, "PPPA"),
    (F.YCRCB_SWAPY, "RGB1"), (F.MONO8, "IIII"), (F.R1_UNORM, "R001"),
])
def test_output_channels(code: F, expected: str) -> None:
    assert outputs(code) == expected


@pytest.mark.parametrize(("code", "cr", "y", "cb"), [
    (F.YCRCB_NORMAL, 24, 0, 8), (F.YCRCB_SWAPUV, 8, 0, 24), (F.YCRCB_SWAPY, 16, 8, 0), (F.YCRCB_SWAPUVY, 0, 8, 16),
])
def test_yuv_pairs(code: F, cr: int, y: int, cb: int) -> None:
    f = info(code)
    assert [c.at for c in f.outputs[:3]] == [cr, y, cb]
    assert [c.at for c in f.channels if c.name == "G"] == [y, y + 16]
    assert (f.block_width, f.block_height, f.bits_per_texel, f.yuv) == (2, 1, 16, True)


@pytest.mark.parametrize(("code", "bits", "width", "height", "per_texel"), [
    (F.BC1_UNORM, 64, 4, 4, 4), (F.BC2_UNORM_SRGB, 128, 4, 4, 8), (F.BC4_UNORM, 64, 4, 4, 4),
    (F.BC5_SNORM, 128, 4, 4, 8), (F.FXT1, 128, 8, 4, 4), (F.MONO8, 1, 1, 1, 1), (F.P2_UNORM_PALETTE0, 2, 1, 1, 2),
    (F.R8G8B8_UNORM, 24, 1, 1, 24),
    (F.R64G64B64A64_FLOAT, 256, 1, 1, 256),
])
def test_blocks(code: F, bits: int, width: int, height: int, per_texel: int) -> None:
    f = info(code)
    assert (f.block_bits, f.block_width, f.block_height, f.bits_per_texel) == (bits, width, height, per_texel)


def test_the_class_of_a_format_is_what_a_kernel_sees() -> None:
    assert info(F.R8G8B8A8_UINT).data_class is DataClass.UINT
    assert info(F.R16_SINT).data_class is DataClass.SINT
    assert info(F.X24_TYPELESS_G8_UINT).data_class is DataClass.UINT
    assert {info(c).data_class for c in (F.R8_USCALED, F.R9G9B9E5_SHAREDEXP, F.BC3_UNORM, F.P8_UNORM_PALETTE0)} == {
        DataClass.FLOAT}


def test_components_are_what_vertex_fetch_can_store() -> None:
    assert [info(c).components for c in (F.R10G10B10X2_USCALED, F.R32_FLOAT, F.R8G8B8A8_SINT, F.R64G64_FLOAT)] == [
        3, 1, 4, 2]


# --- C --------------------------------------------------------------------------------------------------------------
PROGRAM = """
#include <stdint.h>
#include <stdio.h>
#include "formats.h"

int main(void)
{
    for (int i = 0; i < G4_FORMATS; i++) {
        const struct g4_format *f = &g4_formats[i];
        printf("%d %d %d %d %d %d", f->block_bits, f->block_width, f->block_height, f->encoding, f->data_class,
               f->components);
        printf(" %d %d %d %d %d %d", f->srgb, f->palette, f->sample, f->filter, f->filter_on_silicon, f->shadow);
        printf(" %d %d %d %d", f->chroma_key, f->render_target, f->blend, f->vertex_fetch);
        printf(" %d %d %d", f->typed_read, f->typed_write, f->parts);
        for (int c = 0; c < 4; c++)
            printf(" %d %d %d", f->channel[c].type, f->channel[c].bits, f->channel[c].at);
        printf("\\n");
    }
    return 0;
}
"""


USES = ("sample", "filter", "filter_on_silicon", "shadow", "chroma_key", "render_target", "blend", "vertex_fetch",
        "typed_read", "typed_write")


def parts_with(code: int, use: str) -> int:
    """Of Gen4, Gen7, Gen7.5 and Gen9."""
    gen4 = format_info(code)
    found = int(getattr(gen4.support, use, 0)) if gen4 is not None else 0
    return found | sum(part for part in LATER_EXECUTING if supports(code, use.removesuffix("_on_silicon"), part))


def expected_line(code: int) -> str:
    f = format_info_on(code, Gen.KBL)
    if f is None:
        return " ".join(["0"] * 31)
    numbers: list[int] = [
        f.block_bits, f.block_width, f.block_height, f.encoding, f.data_class, f.components, f.srgb,
        0 if f.palette is None else f.palette + 1, *(parts_with(code, use) for use in USES),
        sum(part for part in LATER_EXECUTING if format_info_on(code, part)) |
        (Gen.ALL4 if format_info(code) is not None else 0)]
    for c in f.outputs:
        numbers += [c.type, c.bits, c.at]
    return " ".join(str(int(n)) for n in numbers)


def test_formats_that_ivy_bridge_added_are_reserved_on_gen4() -> None:
    code = LaterSurfaceFormat["BC7_UNORM"]
    assert format_info_on(code, Gen.EL) is None
    added = format_info_on(code, Gen.IVB)
    assert added is not None and added.encoding is Encoding.BC7
    assert format_info_on(int(F.R8_UNORM), Gen.IVB) is format_info(F.R8_UNORM)


@pytest.mark.parametrize("part", [Gen.HSW, Gen.KBL])
def test_every_format_that_a_part_reads_is_described(part: Gen) -> None:
    read = {code for code in AstcSurfaceFormat
            if any(supports(code, use, part) for use in ("sample", "render_target", "vertex_fetch"))}
    missing = {code.name for code in read if format_info_on(code, part) is None}
    assert missing == ({"R64G64_PASSTHRU", "R64_PASSTHRU", "R64G64B64A64_PASSTHRU", "R64G64B64_PASSTHRU"}
                       if part is Gen.KBL else set())


def test_formats_of_gen9_are_reserved_on_gen7() -> None:
    added = {code.name for code in AstcSurfaceFormat
             if format_info_on(code, Gen.KBL) is not None and format_info_on(code, Gen.HSW) is None}
    astc = {name for name in added if name.startswith("ASTC_LDR")}
    assert len(astc) == 28
    assert added - astc == {"A4B4G4R4_UNORM", "L8A8_UINT", "L8A8_SINT", "L8_UINT", "L8_SINT", "I8_UINT", "I8_SINT",
                            "R8G8B8_UNORM_SRGB"}
    block = format_info_on(AstcSurfaceFormat["ASTC_LDR_2D_10X6_U8SRGB"], Gen.SKL)
    assert block is not None and (block.block_width, block.block_height, block.srgb) == (10, 6, True)


def test_c_has_the_same_table(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler is not None, "the core needs a C compiler anyway"
    (tmp_path / "formats.h").write_text(formats_c.generate())
    (tmp_path / "print.c").write_text(PROGRAM)
    subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "print.c", "-o", "print"], cwd=tmp_path,
                   check=True)
    printed = subprocess.run([tmp_path / "print"], check=True, capture_output=True, text=True).stdout
    lines = printed.splitlines()
    assert len(lines) == 0x280
    fields = ("block_bits", "block_width", "block_height", "encoding", "data_class", "components", "srgb", "palette",
              *USES, "parts")
    wrong = []
    for code, line in enumerate(lines):
        pairs = zip(line.split(), expected_line(code).split(), strict=True)
        wrong += [f"0x{code:03x}: {fields[i] if i < len(fields) else 'channels'} is {found}, not {wanted}"
                  for i, (found, wanted) in enumerate(pairs) if found != wanted]
    assert wrong == []
