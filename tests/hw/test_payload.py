"""Vertex headers and thread payloads: positions of fields, and values that kernels compute with."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import payload
from gen4emu.hw.gen4.payload import (
    ATTRIBUTE_COEFFICIENTS,
    PAYLOAD_GS_R0,
    PAYLOAD_PS_R0,
    PAYLOAD_PS_R1,
    PAYLOAD_PS_SUBSPANS_4_7,
    PAYLOAD_SF_R0,
    PAYLOAD_SF_R1,
    PAYLOAD_SF_R2,
    PAYLOAD_VS_R0,
    VERTEX_HEADER,
)
from gen4emu.hw.gen45.payload import ADDED
from gen4emu.hw.layout import Block
from gen4emu.hw.topology import PrimitiveTopology
from tests.hw.by_name import ByName, on_parts, parts_with
from tests.hw.claims import misclaimed, repacked

PAYLOAD_CLIP_R0 = ByName("PAYLOAD_CLIP_R0")
PAYLOAD_PS_ANTIALIAS_STENCIL = ByName("PAYLOAD_PS_ANTIALIAS_STENCIL")
PAYLOAD_PS_CONTIGUOUS_R0 = ByName("PAYLOAD_PS_CONTIGUOUS_R0")

LAYOUTS = [b.name for b in (*payload.BLOCKS, *ADDED, payload.SUBSPAN_BYTES, payload.SUBSPAN_PAIR_NIBBLES)]
ON_PARTS = [pytest.param(b, g, id=f"{b.name}-{g.name}") for b, g in on_parts(LAYOUTS)]


@pytest.mark.parametrize(("layout", "gen"), ON_PARTS)
def test_every_bit_is_claimed_once(layout: Block, gen: Gen) -> None:
    assert misclaimed(layout, gen) == []


@pytest.mark.parametrize(("layout", "gen"), ON_PARTS)
@settings(max_examples=40)
@given(data=st.data())
def test_values_pack_to_the_bits_they_came_from(layout: Block, gen: Gen, data: st.DataObject) -> None:
    size = layout.size(gen)
    words = data.draw(st.lists(st.integers(0, 0xFFFFFFFF), min_size=size, max_size=size))
    before, after = repacked(layout, words, gen)
    assert after == before


def test_registers_have_eight_dwords() -> None:
    assert {ByName(name).size(Gen.EL) for name in LAYOUTS if name.startswith("PAYLOAD_")} == {8}


# --- vertex header ----------------------------------------------------------------------------------------------------
def test_texture_coordinates_in_the_header_are_tolerated() -> None:
    """(s, t, 1, 1) over D0 to D3."""
    words = [0x3F000000, 0x3EAAAAAB, 0x3F800000, 0x3F800000, 0, 0, 0, 0]
    assert VERTEX_HEADER.complaints(words, gen=Gen.CTG) == []
    v = VERTEX_HEADER.view(words, gen=Gen.CTG)
    assert (v.render_target_array_index, v.viewport_index) == (0x2AB, 0x3F800000)


def test_point_width_is_what_the_shader_truncates_it_to() -> None:
    """trunc(size * 2048) & 0x7FF00."""
    for size, width in ((1.0, 1.0), (2.3, 2.25), (255.99, 255.875), (257.0, 1.0)):
        words = [0, 0, 0, int(size * 2048) & 0x7FF00 | 0x81, 0, 0, 0, 0]
        v = VERTEX_HEADER.view(words, gen=Gen.CTG)
        assert (v.point_width, v.user_clip_codes) == (width, 0x81)


# --- VS, GS -----------------------------------------------------------------------------------------------------------
def test_vs_r0() -> None:
    words = PAYLOAD_VS_R0.pack(
        Gen.CTG, handle_id_0=1, urb_return_handle_0=2, handle_id_1=0x1FF, urb_return_handle_1=0x180,
        sampler_state_pointer=0x109000, per_thread_scratch_space=3, binding_table_pointer=0x400,
        scratch_space_pointer=0x2000, fftid=15, thread_id=0xABCDEF, snapshot_flag=True)
    assert words == [0x00010002, 0x01FF0180, 0, 0x00109003, 0x400, 0x200F, 0xABCDEF, 0x80000000]


def test_gs_r0_of_a_polygon() -> None:
    words = PAYLOAD_GS_R0.pack(Gen.CTG, handle_id=127, urb_return_handle=511, primitive_topology_type="POLYGON",
                               edge_indicator_0=True, edge_indicator_1=True, fftid=1)
    assert words == [0x007F01FF, 0, 0x30E, 0, 0, 1, 0, 0]


# --- CLIP -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("r0_2", "flags", "topology"), [
    (0x10400004, {"vp_y_max", "gb_y_max"}, PrimitiveTopology.TRILIST),
    (0x08000004, {"vp_z_min"}, PrimitiveTopology.TRILIST),
    (0xC3000004, {"vp_x_min", "vp_x_max", "gb_x_min", "gb_x_max"}, PrimitiveTopology.TRILIST),
    (0x00002004, {"bad"}, PrimitiveTopology.TRILIST),
    (0x00004004, {"user_clip_0"}, PrimitiveTopology.TRILIST),
    (0xFFC01003, {"vp_x_min", "vp_x_max", "vp_y_min", "vp_y_max", "vp_z_min", "vp_z_max", "gb_x_min", "gb_x_max",
                  "gb_y_min", "gb_y_max", "neg_w"}, PrimitiveTopology.LINESTRIP),
    (0xBFC01003, {"vp_x_min", "vp_y_min", "vp_y_max", "vp_z_min", "vp_z_max", "gb_x_min", "gb_x_max",
                  "gb_y_min", "gb_y_max", "neg_w"}, PrimitiveTopology.LINESTRIP),
])
def test_object_outcodes(r0_2: int, flags: set[str], topology: PrimitiveTopology) -> None:
    values = PAYLOAD_CLIP_R0.view([0, 0, r0_2, 0, 0, 0, 0, 0], gen=Gen.CTG).to_dict()
    prefix = "object_outcode_"
    assert {name.removeprefix(prefix) for name, value in values.items() if name.startswith(prefix) and value} == flags
    assert values["primitive_topology_type"] is topology
    made = PAYLOAD_CLIP_R0.pack(Gen.CTG, primitive_topology_type=topology, **{prefix + name: True for name in flags})
    assert made[2] == r0_2


def test_plane_mask_of_the_clip_kernels() -> None:
    """R0.2 >> 26, ZMax at bit 0 up to XMin at bit 5; user planes by 0xFF << 14."""
    for bit, name in enumerate(("vp_z_max", "vp_z_min", "vp_y_max", "vp_y_min", "vp_x_max", "vp_x_min")):
        assert PAYLOAD_CLIP_R0.pack(Gen.CL, **{f"object_outcode_{name}": True})[2] >> 26 == 1 << bit
    for plane in range(8):
        assert PAYLOAD_CLIP_R0.pack(Gen.CL, **{f"object_outcode_user_clip_{plane}": True})[2] == 1 << 14 + plane


def test_negative_w_outcode_is_of_g4x() -> None:
    words = [0, 0, 0x1004, 0, 0, 0, 0, 0]
    assert PAYLOAD_CLIP_R0.view(words, gen=Gen.EL).object_outcode_neg_w
    assert "object_outcode_neg_w" not in PAYLOAD_CLIP_R0.view(words, gen=Gen.CL).to_dict()


# --- SF ---------------------------------------------------------------------------------------------------------------
def test_sf_r0() -> None:
    words = PAYLOAD_SF_R0.pack(Gen.EL, handle_id=0x1234, urb_return_handle=0xB4, fftid=23, scratch_space_pointer=0x400)
    assert words == [0x123400B4, 0, 0, 0, 0, 0x417, 0, 0]


def test_deltas_of_a_rectangle() -> None:
    """(8,6) (2,6) (2,3) starts upper left; R1.3 on reads dX0, dX2, dY0, dY2."""
    words = PAYLOAD_SF_R1.pack(Gen.EL, primitive_type="RECTLIST", provoking_vertex=1, determinant=18.0,
                               dx0=6.0, dx2=0.0, dy0=3.0, dy2=3.0)
    assert words == [0x0F, 1, 0x41900000, 0x40C00000, 0, 0x40400000, 0x40400000, 0]


def test_back_facing_sprites() -> None:
    words = PAYLOAD_SF_R1.pack(Gen.EL, primitive_type="POINTLIST_BF", sprite_point_enable=True, back_facing=True)
    assert words[0] == 0x30011


def test_depths_and_inverse_ws_alternate() -> None:
    words = PAYLOAD_SF_R2.pack(Gen.EL, z0=1.0, inverse_w0=2.0, z1=4.0, inverse_w1=8.0, z2=16.0, inverse_w2=32.0)
    assert words == [0x3F800000, 0x40000000, 0x40800000, 0x41000000, 0x41800000, 0x42000000, 0, 0]


def test_plane_of_an_attribute() -> None:
    """Attribute x over the rectangle is {1, 0, -, 2}."""
    assert ATTRIBUTE_COEFFICIENTS.pack(Gen.EL, cx=1.0, cy=0.0, c0=2.0) == [0x3F800000, 0, 0, 0x40000000]


# --- PS ---------------------------------------------------------------------------------------------------------------
def test_two_subspans() -> None:
    """Subspans at (10,20) and (12,20), one pixel of the first and all of the second."""
    r1 = PAYLOAD_PS_R1.pack(Gen.EL, subspan_0_x=10, subspan_0_y=20, subspan_1_x=12, subspan_1_y=20)
    assert r1[2:4] == [0x0014000A, 0x0014000C]
    assert PAYLOAD_PS_R0.pack(Gen.EL, pixel_mask=0xF1, pixel_mask_copy=0xF1)[0] == 0x00F100F1


def test_depth_flags_are_the_iz_outputs() -> None:
    """Source depth to the EU and to the render target."""
    words = PAYLOAD_PS_R1.pack(Gen.EL, source_depth_present=True, source_depth_to_render_target=True,
                               primitive_topology_type="TRILIST")
    assert words[6] >> 27 & 0xF == 0b1100
    words = PAYLOAD_PS_R1.pack(Gen.EL, back_facing=True, destination_depth_present=True,
                               destination_stencil_present=True, antialias_alpha_to_render_target=True,
                               antialias_alpha_present=True)
    assert words[6] == 0x9E000000


def test_viewport_and_array_index() -> None:
    assert PAYLOAD_PS_R1.pack(Gen.EL, viewport_index=15, render_target_array_index=2047)[7] == 0x7FFF0000


def test_state_pointers_of_a_pixel_thread() -> None:
    words = PAYLOAD_PS_R0.pack(Gen.EL, color_calculator_state_pointer=0x109080, sampler_state_pointer=0x109000,
                               binding_table_pointer=0x460, scratch_space_pointer=0xC00, color_code=2, fftid=49,
                               thread_id=7, primitive_thread_id=9)
    assert words == [0, 0x109080, 0, 0x109000, 0x460, 0xE31, 7, 9]


def test_second_half_of_a_32_pixel_dispatch() -> None:
    words = PAYLOAD_PS_SUBSPANS_4_7.pack(Gen.BW, pixel_mask=0xFFFF, pixel_mask_copy=0xFFFF, subspan_7_x=14,
                                         subspan_7_y=2)
    assert words == [0xFFFFFFFF, 0, 0, 0, 0, 0x0002000E, 0, 0]


def test_coverage_has_a_nibble_a_pixel_on_gen4() -> None:
    """Nibble 4 * subspan + pixel from bit 0 of dword 6 on."""
    words = [0x44332211, 0, 0, 0, 0, 0, 0x76543210, 0xFEDCBA98]
    v = PAYLOAD_PS_ANTIALIAS_STENCIL.view(words, gen=Gen.CL)
    assert [[a.subspan_0_pixel_0, a.subspan_0_pixel_3, a.subspan_1_pixel_0, a.subspan_1_pixel_3]
            for a in v.antialias_alpha_u0_4] == [[0, 3, 4, 7], [8, 11, 12, 15]]
    stencil = v.destination_stencil[0]
    assert [stencil.pixel_0, stencil.pixel_1, stencil.pixel_2, stencil.pixel_3] == [0x11, 0x22, 0x33, 0x44]


def test_coverage_has_a_byte_a_pixel_on_g4x() -> None:
    words = [0, 0, 0, 0, 0x03020100, 0x07060504, 0x0B0A0908, 0x0F0E0D0C]
    v = PAYLOAD_PS_ANTIALIAS_STENCIL.view(words, gen=Gen.EL)
    assert [a.pixel_1 for a in v.antialias_alpha_u0_8] == [1, 5, 9, 13]


def test_contiguous_dispatch_is_of_g4x() -> None:
    assert parts_with("PAYLOAD_PS_CONTIGUOUS_R0") == {Gen.CTG, Gen.EL}
    words = PAYLOAD_PS_CONTIGUOUS_R0.pack(Gen.EL, x=64, y=8, pixel_mask_0=0xFFFF0000, fftid=3)
    assert words == [64, 8, 0xFFFF0000, 0, 0, 3, 0, 0]
