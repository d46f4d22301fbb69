"""SURFACE_STATE and the binding table, against the manual and against what crocus writes (965v4 4.7.1, 4.7.2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gen4emu.errors import FieldError
from gen4emu.hw.formats import SurfaceFormat
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.surface import (
    BINDING_TABLE_STATE,
    MediaBoundaryPixelMode,
    MipMapLayoutMode,
    SurfaceType,
    TileWalk,
    buffer_entries,
    buffer_entry_fields,
)
from tests.hw.by_name import ByName

SURFACE_STATE = ByName("SURFACE_STATE")


def hexes(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


def what(words: list[int], gen: Gen) -> list[str]:
    return [str(c) for c in SURFACE_STATE.complaints(words, gen=gen)]


# SURFACE_STATEs that crocus binds in draws on GM45: the window, a cube map, constants.
WINDOW = hexes("2300203f 00113000 07f83fc0 00001ffa 00000000 00000000")
CUBE = hexes("631c003f 00397000 01f80fc0 00000ffa 00000000 00000000")
CONSTANTS = hexes("80000000 00154040 000003c0 00000000 00000000 00000000")


def test_a_window() -> None:
    s = SURFACE_STATE.view(WINDOW, gen=Gen.CTG)
    assert (s.surface_type, s.surface_format) == (SurfaceType.SURFTYPE_2D, SurfaceFormat.B8G8R8A8_UNORM)
    assert (s.width, s.height, s.depth, s.surface_pitch) == (256, 256, 1, 1024)
    assert s.color_blend_enable and s.tiled_surface and s.tile_walk == TileWalk.XMAJOR
    assert s.surface_base_address == 0x113000
    assert what(WINDOW, Gen.CTG) == []


def test_a_cube_map_has_all_its_faces() -> None:
    s = SURFACE_STATE.view(CUBE, gen=Gen.CTG)
    assert (s.surface_type, s.width, s.height, s.surface_pitch) == (SurfaceType.SURFTYPE_CUBE, 64, 64, 512)
    faces = [f"cube_face_enable_{sign}_{axis}" for axis in "xyz" for sign in ("negative", "positive")]
    assert [getattr(s, face) for face in faces] == [True] * 6
    assert [name for name in s.to_dict() if name.startswith("cube_face")] == faces
    assert what(CUBE, Gen.CTG) == []


def test_faces_are_bits_5_to_0_from_negative_x_to_positive_z() -> None:
    cube = {"surface_type": SurfaceType.SURFTYPE_CUBE}
    assert SURFACE_STATE.pack(Gen.EL, **cube, cube_face_enable_negative_x=True)[0] == 0x60000020
    assert SURFACE_STATE.pack(Gen.EL, **cube, cube_face_enable_positive_y=True)[0] == 0x60000004
    assert SURFACE_STATE.pack(Gen.EL, **cube, cube_face_enable_positive_z=True)[0] == 0x60000001


def test_a_buffer_of_constants_has_16_entries() -> None:
    s = SURFACE_STATE.view(CONSTANTS, gen=Gen.CTG)
    assert (s.surface_type, s.surface_format) == (SurfaceType.SURFTYPE_BUFFER, SurfaceFormat.R32G32B32A32_FLOAT)
    assert buffer_entries(s) == 16
    assert "width" not in s.to_dict() and "depth" not in s.to_dict()


@given(st.integers(1, 1 << 27))
def test_the_number_of_entries_goes_through_its_three_places(entries: int) -> None:
    words = SURFACE_STATE.pack(Gen.CL, surface_type=SurfaceType.SURFTYPE_BUFFER, **buffer_entry_fields(entries))
    assert buffer_entries(SURFACE_STATE.view(words, gen=Gen.CL)) == entries
    assert what(words, Gen.CL) == []


@pytest.mark.parametrize("entries", [0, (1 << 27) + 1])
def test_a_buffer_has_1_to_2_to_the_27_entries(entries: int) -> None:
    with pytest.raises(FieldError, match="buffer_entries_26_20"):
        SURFACE_STATE.pack(Gen.CL, surface_type=SurfaceType.SURFTYPE_BUFFER, **buffer_entry_fields(entries))


def test_the_largest_buffer_has_7_13_and_7_bits() -> None:
    words = SURFACE_STATE.pack(Gen.CL, **buffer_entry_fields(1 << 27))
    assert (words[2], words[3]) == (0xFFF80000 | 0x7F << 6, 0x7F << 21)


def test_the_upper_bits_of_a_buffer_size_are_reserved() -> None:
    words = [0x80000000, 0, 1 << 13, 1 << 28, 0]
    assert what(words, Gen.BW) == [
        "SURFACE_STATE: reserved_2_18_13 (dword 2, bits 18:13) reserved bits are 0x1, must be zero",
        "SURFACE_STATE: reserved_3_31_28 (dword 3, bits 31:28) reserved bits are 0x1, must be zero",
    ]


def test_offsets_exist_on_g4x_only_in_units_of_4_texels_and_2_rows() -> None:
    assert (SURFACE_STATE.size(Gen.CL), SURFACE_STATE.size(Gen.EL)) == (5, 6)
    words = SURFACE_STATE.pack(Gen.EL, x_offset=508, y_offset=30)
    assert words[5] == 127 << 25 | 15 << 20
    with pytest.raises(FieldError, match="not a multiple of 4"):
        SURFACE_STATE.pack(Gen.EL, x_offset=6)
    with pytest.raises(FieldError, match="no field x_offset"):
        SURFACE_STATE.pack(Gen.CL, x_offset=4)


def test_media_boundary_modes_came_with_g4x() -> None:
    words = SURFACE_STATE.pack(Gen.EL, media_boundary_pixel_mode=MediaBoundaryPixelMode.INTERLACED)
    assert words[0] == 0xC0
    assert what(words, Gen.EL) == []
    assert what(words, Gen.CL) == ["SURFACE_STATE: media_boundary_pixel_mode (dword 0, bits 7:6) 3 is above 0"]


def test_write_disables_are_alpha_red_green_blue_from_the_top() -> None:
    bits = [SURFACE_STATE.pack(Gen.CL, **{f"color_write_disable_{c}": True})[0]
            for c in ("alpha", "red", "green", "blue")]
    assert bits == [1 << 17, 1 << 16, 1 << 15, 1 << 14]


def test_array_fields_of_dword_4() -> None:
    words = SURFACE_STATE.pack(Gen.CL, surface_min_lod=13, minimum_array_element=2047, render_target_view_extent=512)
    assert words[4] == 13 << 28 | 2047 << 17 | 511 << 8


def test_the_layout_of_levels_is_bit_10_and_skipped_lines_bits_12_and_11() -> None:
    words = SURFACE_STATE.pack(Gen.CL, mip_map_layout_mode=MipMapLayoutMode.RIGHT, vertical_line_stride=True,
                               vertical_line_stride_offset=1)
    assert words[0] == 0x1C00


def test_a_null_surface_has_no_address_to_follow() -> None:
    words = [7 << 29, 0xDEADBEEF, 0, 2, 0]
    assert "surface_base_address" not in SURFACE_STATE.view(words, gen=Gen.CL).to_dict()
    assert what(words, Gen.CL) == []


def test_a_reserved_surface_type_is_reported() -> None:
    assert what([5 << 29, 0, 0, 0, 0], Gen.CL) == ["SURFACE_STATE: surface_type (dword 0, bits 31:29) 5 is reserved"]


def test_a_binding_table_entry_points_to_32_bytes() -> None:
    assert BINDING_TABLE_STATE.view([0x1E40], gen=Gen.EL).surface_state_pointer == 0x1E40
    assert [str(c) for c in BINDING_TABLE_STATE.complaints([0x1E41], gen=Gen.EL)] == [
        "BINDING_TABLE_STATE: reserved_0_4_0 (dword 0, bits 4:0) reserved bits are 0x1, must be zero"]
    with pytest.raises(FieldError, match="not aligned to 32 bytes"):
        BINDING_TABLE_STATE.pack(Gen.EL, surface_state_pointer=0x1E48)
