"""The codes of surface formats that Gen5 to Gen9 added: no two formats share one, and Gen4's keep theirs."""

from __future__ import annotations

from gen4emu.hw.formats import SurfaceFormat
from gen4emu.hw.later_formats import AstcSurfaceFormat, LaterSurfaceFormat


def test_the_codes_of_gen4_keep_their_meaning() -> None:
    for code in SurfaceFormat:
        assert LaterSurfaceFormat(code).name == AstcSurfaceFormat(code).name == code.name


def test_the_number_of_formats() -> None:
    assert len(LaterSurfaceFormat) == len(SurfaceFormat) + 56
    assert len(AstcSurfaceFormat) == len(LaterSurfaceFormat) + 3 * 14


def test_the_codes_of_one_width_fit_its_field() -> None:
    assert max(LaterSurfaceFormat) == LaterSurfaceFormat["RAW"] == 0x1FF
    assert max(AstcSurfaceFormat) == AstcSurfaceFormat["ASTC_HDR_2D_12X12_FLT16"] == 895


def test_codes_of_new_formats() -> None:
    assert LaterSurfaceFormat["BC7_UNORM_SRGB"] == 0x1A3
    assert LaterSurfaceFormat["ETC2_EAC_SRGB8_A8"] == 0x1C3
    assert AstcSurfaceFormat["ASTC_LDR_2D_8X6_U8SRGB"] == 546
    assert AstcSurfaceFormat["ASTC_LDR_2D_10X5_FLT16"] == 625
