"""The sampler's state and its two commands, against the manual and against what clients write (965v4 4.7.3-4.7.6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gen4emu.errors import FieldError
from gen4emu.hw import catalogue
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.sampler import (
    SAMPLER_BORDER_COLOR_STATE,
    SAMPLER_STATE,
    ChromaKeyMode,
    CubeSurfaceControlMode,
    MapFilter,
    MipFilter,
    PrefilterOperation,
    TextureCoordinateMode,
)


def what(words: list[int], gen: Gen = Gen.EL) -> list[str]:
    return [str(c) for c in SAMPLER_STATE.complaints(words, gen=gen)]


def test_what_crocus_writes_for_a_blit() -> None:
    words = [0x00024000, 0x00000092, 0, 0x0007E000]
    s = SAMPLER_STATE.view(words, gen=Gen.CTG)
    assert (s.min_mode_filter, s.mag_mode_filter, s.mip_mode_filter) == (
        MapFilter.LINEAR, MapFilter.LINEAR, MipFilter.NONE)
    modes = {s.tcx_address_control_mode, s.tcy_address_control_mode, s.tcz_address_control_mode}
    assert modes == {TextureCoordinateMode.CLAMP}
    rounding = [name for name in s.to_dict() if "rounding" in name]
    assert len(rounding) == 6 and all(getattr(s, name) for name in rounding)
    assert (s.min_lod, s.max_lod, s.lod_preclamp_enable) == (0.0, 0.0, False)
    assert what(words) == []


def test_each_field_of_dword_0() -> None:
    words = SAMPLER_STATE.pack(Gen.CL, sampler_disable=True, lod_preclamp_enable=True, base_mip_level=12.5,
                               mip_mode_filter=MipFilter.LINEAR, mag_mode_filter=MapFilter.ANISOTROPIC,
                               min_mode_filter=MapFilter.LINEAR, texture_lod_bias=-1.0,
                               shadow_function=PrefilterOperation.GEQUAL)
    assert words[0] == 1 << 31 | 1 << 28 | 25 << 22 | 3 << 20 | 2 << 17 | 1 << 14 | (-64 & 0x7FF) << 3 | 7


def test_each_field_of_dword_1() -> None:
    words = SAMPLER_STATE.pack(Gen.CL, min_lod=1.5, max_lod=13.0,
                               cube_surface_control_mode=CubeSurfaceControlMode.OVERRIDE,
                               tcx_address_control_mode=TextureCoordinateMode.MIRROR_ONCE,
                               tcy_address_control_mode=TextureCoordinateMode.CLAMP_BORDER,
                               tcz_address_control_mode=TextureCoordinateMode.CUBE)
    assert words[1] == 96 << 22 | 832 << 12 | 1 << 9 | 5 << 6 | 4 << 3 | 3


def test_each_field_of_dword_3() -> None:
    words = SAMPLER_STATE.pack(Gen.CL, chroma_key_enable=True, chroma_key_index=3,
                               chroma_key_mode=ChromaKeyMode.REPLACE_BLACK, maximum_anisotropy=16,
                               u_address_mag_filter_rounding_enable=True, r_address_min_filter_rounding_enable=True)
    assert words[3] == 1 << 25 | 3 << 23 | 1 << 22 | 7 << 19 | 1 << 18 | 1 << 13


@given(st.integers(-1024, 1023))
def test_the_bias_is_s4_6(sixty_fourths: int) -> None:
    words = SAMPLER_STATE.pack(Gen.EL, texture_lod_bias=sixty_fourths / 64)
    assert SAMPLER_STATE.view(words, gen=Gen.EL).texture_lod_bias == sixty_fourths / 64
    assert words[0] >> 3 & 0x7FF == sixty_fourths & 0x7FF


@pytest.mark.parametrize("bias", [16.0, -16.5])
def test_the_bias_stops_at_16(bias: float) -> None:
    with pytest.raises(FieldError, match="texture_lod_bias"):
        SAMPLER_STATE.pack(Gen.EL, texture_lod_bias=bias)


def test_anisotropy_is_even() -> None:
    assert [SAMPLER_STATE.view([0, 0, 0, n << 19], gen=Gen.CL).maximum_anisotropy for n in range(8)] == [
        2, 4, 6, 8, 10, 12, 14, 16]


def test_the_bit_that_two_drivers_set_is_not_reported_but_its_neighbour_is() -> None:
    assert what([1 << 29, 0, 0, 0]) == []
    assert what([1 << 30, 0, 0, 0]) == [
        "SAMPLER_STATE: reserved_0_30_30 (dword 0, bits 30) reserved bits are 0x1, must be zero"]


def test_levels_end_at_13() -> None:
    assert what([0, 833 << 12, 0, 0]) == ["SAMPLER_STATE: max_lod (dword 1, bits 21:12) 13.0156 is above 13"]


def test_reserved_filters_and_modes_are_reported() -> None:
    assert what([2 << 20, 6 << 6, 0, 0]) == [
        "SAMPLER_STATE: mip_mode_filter (dword 0, bits 21:20) 2 is reserved",
        "SAMPLER_STATE: tcx_address_control_mode (dword 1, bits 8:6) 6 is reserved"]


def test_the_size_of_the_monochrome_filter_matters_to_that_filter_only() -> None:
    assert what([0, 0, 0, 0]) == []
    mono = 6 << 17 | 6 << 14
    assert [c.split(" ")[1] for c in what([mono, 0, 0, 0])] == ["monochrome_filter_height", "monochrome_filter_width"]
    view = SAMPLER_STATE.view([mono, 0, 0, 7 << 29 | 5 << 26], gen=Gen.BW)
    assert (view.monochrome_filter_height, view.monochrome_filter_width) == (7, 5)


def test_border_colors_are_four_floats() -> None:
    words = SAMPLER_BORDER_COLOR_STATE.pack(Gen.BW, border_color_red=0.5, border_color_alpha=1.0)
    assert words == [0x3F000000, 0, 0, 0x3F800000]


def test_chroma_key() -> None:
    command = catalogue.command_named("3DSTATE_CHROMA_KEY", Gen.CL)
    words = command.pack(Gen.CL, chroma_key_table_index=2, chroma_key_low_red_or_cr=0x10,
                         chroma_key_high_alpha=0xFF, chroma_key_high_blue_or_cb=0x20)
    assert words == [0x79040002, 0x80000000, 0x00100000, 0xFF000020]
    assert catalogue.command_for(0x79040002, Gen.EL) is command


def test_a_palette_of_three_colors() -> None:
    command = catalogue.command_named("3DSTATE_SAMPLER_PALETTE_LOAD0", Gen.CL)
    colors = [{"palette_color_red": i, "palette_color_green": 2, "palette_color_blue": 3} for i in range(3)]
    words = command.pack(Gen.CL, palette_colors=colors)
    assert words == [0x79020002, 0x00000203, 0x00010203, 0x00020203]
    words[1] |= 0xFF000000  # where a client keeps an alpha
    assert command.complaints(words, gen=Gen.CL) == []


def test_the_second_palette_has_256_colors_with_alpha_on_g4x() -> None:
    command = catalogue.command_for(0x790C00FF, Gen.EL)
    assert command is not None and catalogue.command_for(0x790C00FF, Gen.CL) is None
    words = [0x790C00FF, *(i << 24 for i in range(256))]
    colors = command.view(words, gen=Gen.EL).palette_colors
    assert [c.palette_color_alpha for c in colors] == list(range(256))
