"""The sampler of Skylake and Kaby Lake: the layout of surfaces, and formats that Gen8 and Gen9 added."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gen4emu.device.tiling import Tiling
from gen4emu.hw.gen6.messages import SamplerMessageType as Message
from tests.harness.texturing_gen7 import RESPONSE
from tests.harness.texturing_gen9 import Texturing9

BC4_WHITE, BC4_BLACK = bytes([255] + 7 * [0]), bytes(8)


@pytest.fixture
def t() -> Texturing9:
    return Texturing9()


@pytest.mark.parametrize(("format", "block", "aligned"), [
    ("R8_UNORM", (1, 1), (4, 4)),
    ("BC4_UNORM", (4, 4), (16, 16)),
    ("ASTC_LDR_2D_8X5_FLT16", (8, 5), (32, 20)),
    ("ASTC_LDR_2D_12X10_U8SRGB", (12, 10), (48, 40)),
])
def test_levels_of_compressed_formats_are_aligned_to_four_blocks(t: Texturing9, format: str, block: tuple[int, int],
                                                                 aligned: tuple[int, int]) -> None:
    """Level 0 has 2x2 blocks, or texels; level 1 is below it, level 2 beside level 1."""
    t.surface(format, 2 * block[0], 2 * block[1], levels=3, tiling=Tiling.Y)
    assert t.place(1) == (0, aligned[1])
    assert t.place(2) == (aligned[0], aligned[1])


def test_the_pitch_of_slices_counts_rows_of_blocks(t: Texturing9) -> None:
    t.surface("ASTC_LDR_2D_10X8_FLT16", 20, 16, 3, surface_qpitch=12)
    assert t.place(0, 2) == (0, 2 * 12 * 8)


def test_a_smaller_level_of_blocks_is_sampled(t: Texturing9) -> None:
    """Level 1 of 8x8 texels is one block in row 4."""
    t.surface("BC4_UNORM", 8, 8, levels=2, pitch=64,
              data=(BC4_BLACK * 8) * 4 + BC4_WHITE + bytes(4096))
    t.sampler("NEAREST", "NEAREST")
    assert t.at_level(1.0)[0] == 1.0
    assert t.at_level(0.0)[0] == 0.0


@pytest.mark.parametrize(("format", "data", "expected"), [
    ("A4B4G4R4_UNORM", [0x5A, 0xF0], [1.0, 0.0, 5 / 15, 10 / 15]),
    ("R8G8B8_UNORM_SRGB", [0xFF, 0x00, 0xBC], [1.0, 0.0, ((188 / 255 + 0.055) / 1.055) ** 2.4, 1.0]),
    ("ETC1_RGB8", [0] * 8, [2 / 255, 2 / 255, 2 / 255, 1.0]),
])
def test_formats_of_colors(t: Texturing9, format: str, data: list[int], expected: list[float]) -> None:
    t.surface(format, 4, 4, data=bytes(data) + bytes(256))
    assert t.at(0.1, 0.1) == pytest.approx(expected)


@pytest.mark.parametrize(("format", "data", "expected"), [
    ("L8_UINT", [200], [200, 200, 200, 1]),
    ("L8_SINT", [200], [-56, -56, -56, 1]),
    ("I8_UINT", [200], [200, 200, 200, 200]),
    ("I8_SINT", [200], [-56, -56, -56, -56]),
    ("L8A8_UINT", [200, 3], [200, 200, 200, 3]),
    ("L8A8_SINT", [3, 200], [3, 3, 3, -56]),
    ("R8G8B8_UINT", [1, 2, 255], [1, 2, 255, 1]),
    ("R16G16B16_SINT", [1, 0, 255, 255, 2, 0], [1, -1, 2, 1]),
])
def test_formats_of_integers(t: Texturing9, format: str, data: list[int], expected: list[int]) -> None:
    t.surface(format, 4, 4, data=bytes(data) + bytes(256))
    assert np.array(t.load(0), np.uint32).view(np.int32).tolist() == expected


@pytest.mark.parametrize(("format", "expected"), [
    ("R8G8B8A8_UINT", [255, 7, 0, 255]), ("R8G8B8A8_SINT", [127, 7, -1, 127]),
    ("R32G32_UINT", [300, 7, 0, 1]), ("R16G16B16A16_SINT", [300, 7, -1, 300]),
])
def test_a_border_of_integers_has_a_dword_for_each_channel(t: Texturing9, format: str, expected: list[int]) -> None:
    """Limited to the range of the channel; -1 as an unsigned number is beyond it."""
    border = np.array([300, 7, -1, 300], np.int32)
    t.surface(format, 4, 4)
    t.sampler(mode="CLAMP_BORDER", border=border.view(np.float32).tolist())
    found = np.array(t.at(-1.0, -1.0), np.float32).view(np.int32).tolist()
    unsigned = format.endswith("UINT") and "8" in format
    assert found == [255 if unsigned and c == 2 else value for c, value in enumerate(expected)]


@pytest.mark.parametrize(("format", "texel", "key"), [
    ("B8G8R8A8_UNORM", [1, 2, 3, 4], 0x04030201), ("B5G6R5_UNORM", [0b01100001, 0b10101110], 0xFFADCF08),
    ("L8_UNORM", [0x42], 0xFF424242)])
def test_keys_compare_channels_of_eight_bits(t: Texturing9, format: str, texel: list[int], key: int) -> None:
    """Those of narrower formats are replicated first."""
    for low, black in ((key & 0xFFFFFF, True), ((key & 0xFFFFFF) + 1, False)):
        t.surface(format, 4, 4, data=bytes(texel) + bytes(256))
        t.sampler(chromakey_enable=True, chromakey_index=3, chromakey_mode="REPLACE_BLACK")
        t.probe.state.chroma_key[3] = (low, key | 0xFF000000)
        assert (t.at(0.01, 0.01)[:3] == [0.0] * 3) == black


@pytest.mark.parametrize("enabled", [False, True])
def test_a_key_that_kills_names_the_pixels_that_live(t: Texturing9, enabled: bool) -> None:
    """KEYFILTER_KILL_ON_ANY_MATCH leaves colors alone; sample+killpix has a register for the pixels."""
    t.surface("B8G8R8A8_UNORM", 2, 1, data=bytes([1, 2, 3, 4, 9, 9, 9, 9]) + bytes(256))
    t.sampler(chromakey_enable=enabled, chromakey_index=2, chromakey_mode="KILL_ON_ANY_MATCH")
    t.probe.state.chroma_key[2] = (0x04030201, 0x04030201)
    u = [0.1, 0.9, 0.9, 0.1, 0.1, 0.1, 0.9, 0.1]
    colors = t.message(Message.SAMPLE_KILLPIX, u=u, v=0.5).view(np.float32)
    assert [round(255 * float(color[0])) for color in colors] == [9 if place > 0.5 else 3 for place in u]
    living = sum((place > 0.5 or not enabled) << i for i, place in enumerate(u))
    assert t.probe.grf(RESPONSE + 4)[0] == 0xFFFFFF00 | living
    t.message(Message.SAMPLE_KILLPIX, header={"red_write_channel_mask": True, "alpha_write_channel_mask": True},
              u=u, v=0.5, rlen=3)
    assert t.probe.grf(RESPONSE + 2)[0] == 0xFFFFFF00 | living


def test_palettes_give_colors(t: Texturing9) -> None:
    """3DSTATE_SAMPLER_PALETTE_LOAD0 and 1 fill them."""
    t.probe.state.sampler_palette[200], t.probe.state.sampler_palette1[200] = 0x33010203, 0x44040506
    t.surface("P8_UNORM_PALETTE0", 4, 4, data=bytes([200]) * 256)
    t.sampler()
    assert [round(255 * value) for value in t.at(0.1, 0.1)] == [1, 2, 3, 255]
    t.surface("P8_UNORM_PALETTE1", 4, 4, data=bytes([200]) * 256)
    assert [round(255 * value) for value in t.at(0.1, 0.1)] == [4, 5, 6, 255]
    t.surface("P8A8_UNORM_PALETTE0", 4, 4, data=bytes([200, 51]) * 256)
    assert [round(255 * value) for value in t.at(0.1, 0.1)] == [1, 2, 3, 51]


@pytest.mark.parametrize(("size", "place", "mean"), [
    ((0, 0), 8.0, 0.5), ((1, 1), 8.0, 0.5), ((1, 1), 7.5, 0.0), ((4, 2), 8.0, 0.5), ((4, 2), 9.0, 0.75),
    ((4, 2), 6.5, 0.125)])
def test_the_context_has_the_size_of_the_mono_filter(t: Texturing9, size: tuple[int, int], place: float,
                                                     mean: float) -> None:
    """Rows of bits, of which all from the eighth on are set."""
    t.surface("MONO8", 32, 8, pitch=64, data=bytes([0, 255, 255, 255, *bytes(60)]) * 8)
    t.sampler("MONO", mode="CLAMP_BORDER")
    t.probe.state.mono_filter_size[0], t.probe.state.mono_filter_size[1] = size
    assert t.at(place / 32, 0.5)[0] == mean


@pytest.mark.parametrize(("filter", "u", "v", "red"), [
    ("NEAREST", -3.0, 0.5, 0.0), ("NEAREST", 1.0, 0.5, 1.0), ("NEAREST", 0.3, 0.5, 0.0),
    ("LINEAR", 0.25, 0.5, 0.0), ("LINEAR", 0.5, 0.5, 0.5), ("LINEAR", 0.0, 0.5, 0.25), ("LINEAR", -9.0, 0.5, 0.25),
    ("LINEAR", 9.0, 0.5, 0.75), ("LINEAR", 9.0, 9.0, 0.625),
])
def test_half_borders_end_at_the_edge_of_the_map(t: Texturing9, filter: str, u: float, v: float, red: float) -> None:
    """Two columns, black and white; the border has red 0.5.  Outside of both axes it counts for three quarters."""
    t.surface("R8_UNORM", 2, 2, data=bytes([0, 255]).ljust(64, b"\0") * 2)
    t.sampler(filter, mode="HALF_BORDER", border=[0.5, 0.0, 0.0, 1.0])
    assert t.at(u, v)[0] == pytest.approx(red, abs=1e-6)


def test_lines_are_filtered_along_u_alone(t: Texturing9) -> None:
    """Across, there is no border beside them, as there is before Gen8."""
    t.surface("R8_UNORM", 2, 1, type="SURFTYPE_1D", data=bytes([255, 255]).ljust(64, b"\0"))
    t.sampler("LINEAR", mode="CLAMP_BORDER", border=[0.0, 0.0, 0.0, 0.0])
    assert t.at(0.5)[0] == 1.0
    assert t.at(0.0)[0] == 0.5


def test_texels_of_w_tiles_are_found_by_the_bits_of_both_coordinates(t: Texturing9) -> None:
    """The pitch of the surface counts two rows."""
    data = np.random.default_rng(5).integers(0, 256, 2 * 4096, np.uint8)
    t.surface("R8_UINT", 100, 60, tiling=Tiling.W, pitch=256, data=data.tobytes())
    for x, y in ((0, 1), (5, 2), (63, 59), (64, 0), (99, 33)):
        inside = sum((x >> b & 1) << at for b, at in enumerate((0, 2, 4, 9, 10, 11)))
        inside += sum((y >> b & 1) << at for b, at in enumerate((1, 3, 5, 6, 7, 8)))
        assert t.load(x, y)[0] == data[x // 64 * 4096 + inside]


@pytest.mark.parametrize(("kind", "red"), [(Message.SAMPLE_LZ, 0.0), (Message.SAMPLE, 1.0)])
def test_messages_that_deliver_level_0_do_not_compute_it(t: Texturing9, kind: Message, red: float) -> None:
    """Level 0 is black and level 1 white; coordinates are two texels apart."""
    t.surface("R8_UNORM", 8, 8, levels=2, pitch=64, data=bytes(8 * 64) + b"\xff" * 4096)
    t.sampler("NEAREST", "NEAREST")
    found = t.message(kind, u=[0.0, 0.25] * 4, v=[0.0, 0.0, 0.25, 0.25] * 2).view(np.float32)
    assert found[:, 0].tolist() == [red] * 8


REDUCTIONS = {"MINIMUM": min, "MAXIMUM": max}


def reducing(t: Texturing9, kind: str, filter: str = "LINEAR", mip: str = "NONE", **fields: Any) -> None:
    t.sampler(filter, mip, reduction_type=kind, reduction_type_enable=1, **fields)


@pytest.mark.parametrize("kind", REDUCTIONS)
@pytest.mark.parametrize("format", ["R8_UNORM", "R8G8B8A8_UNORM", "R32_FLOAT"])
def test_a_reduction_returns_the_least_or_greatest_texel_with_a_weight(t: Texturing9, kind: str, format: str) -> None:
    """Vulkan 1.3, 16.9.3 Texel Reduction; texels of weight 0 do not count."""
    codes = np.array([[51, 204], [102, 153]], np.uint8)
    t.surface(format, 2, 2)
    t.texels((codes / np.float32(255)).astype(np.float32) if format == "R32_FLOAT" else
             codes if format == "R8_UNORM" else np.repeat(codes[..., np.newaxis], 4, 2))
    reducing(t, kind)
    reduce = REDUCTIONS[kind]
    assert t.at(0.3, 0.3)[0] == pytest.approx(reduce(0.2, 0.8, 0.4, 0.6))
    assert t.at(0.7, 0.25)[0] == pytest.approx(reduce(0.2, 0.8))  # on the upper row
    assert t.at(0.75, 0.6)[0] == pytest.approx(reduce(0.8, 0.6))  # on the right column
    assert t.at(0.25, 0.75)[0] == pytest.approx(0.4)
    reducing(t, kind, "NEAREST")
    assert t.at(0.3, 0.3)[0] == pytest.approx(0.2)


def test_a_reduction_that_is_not_enabled_is_a_mean(t: Texturing9) -> None:
    t.surface("R8_UNORM", 2, 1)
    t.texels(np.array([[0, 255]], np.uint8))
    fields: dict[str, Any]
    for fields in ({"reduction_type": "MINIMUM"}, {"reduction_type": "STD_FILTER", "reduction_type_enable": 1}):
        t.sampler("LINEAR", **fields)
        assert t.at(0.5)[0] == 0.5


@pytest.mark.parametrize("kind", REDUCTIONS)
def test_nan_counts_in_a_reduction_only_if_nothing_else_does(t: Texturing9, kind: str) -> None:
    t.surface("R32_FLOAT", 2, 1)
    reducing(t, kind)
    for texels in ([np.nan, 3.0], [3.0, np.nan]):
        t.texels(np.array([texels], np.float32))
        assert t.at(0.5)[0] == 3.0
    t.texels(np.full((1, 2), np.nan, np.float32))
    assert np.isnan(t.at(0.5)[0])


@pytest.mark.parametrize("kind", REDUCTIONS)
def test_a_reduction_covers_both_levels_and_both_slices(t: Texturing9, kind: str) -> None:
    reduce = REDUCTIONS[kind]
    t.surface("R32_FLOAT", 2, 2, levels=2)
    t.texels(np.array([[2.0, 8.0], [4.0, 6.0]], np.float32))
    t.texels(np.array([[{"MINIMUM": 1.0, "MAXIMUM": 9.0}[kind]]], np.float32), level=1)
    reducing(t, kind, mip="LINEAR")
    assert t.at_level(0.5)[0] == reduce(1.0, 9.0)
    assert t.at_level(0.0)[0] == reduce(2.0, 8.0)
    t.surface("R32_FLOAT", 1, 1, 2, type="SURFTYPE_3D")
    for z, value in enumerate((5.0, 7.0)):
        t.texels(np.array([[value]], np.float32), slice=z)
    reducing(t, kind)
    assert t.at(0.5, 0.5, 0.5)[0] == reduce(5.0, 7.0)
    assert t.at(0.5, 0.5, 0.25)[0] == 5.0


@pytest.mark.parametrize("kind", REDUCTIONS)
def test_a_reduction_covers_all_samples_of_an_anisotropic_lookup(t: Texturing9, kind: str) -> None:
    """A footprint of eight texels around the center, which is one of them."""
    values = np.arange(1.0, 33.0, dtype=np.float32)
    t.surface("R32_FLOAT", 32, 1)
    t.texels(values[np.newaxis])
    reducing(t, kind, "ANISOTROPIC", maximum_anisotropy=16)
    u = 16.5 / 32 + np.array([-4, 4, -4, 4, -4, 4, -4, 4], np.float32) / 32
    got = t.message(Message.SAMPLE, u=u, v=np.array([0.5, 0.5, 0.51, 0.51] * 2, np.float32)).view(np.float32)[0, 0]
    center = 13.0  # of lane 0
    assert (got < center - 2.0) if kind == "MINIMUM" else (got > center + 2.0)


def test_a_compare_has_no_reduction(t: Texturing9) -> None:
    t.surface("R32_FLOAT", 2, 1)
    t.texels(np.array([[0.25, 0.75]], np.float32))
    reducing(t, "MINIMUM", shadow_function="LEQUAL")
    got = t.message(Message.SAMPLE_C, ref=0.5, u=0.5, v=0.5).view(np.float32)[0, 0]
    assert got == 0.5


@pytest.mark.parametrize("kind", REDUCTIONS)
def test_a_reduction_covers_the_three_faces_of_a_corner(t: Texturing9, kind: str) -> None:
    t.surface("R32_FLOAT", 1, 1, 6, type="SURFTYPE_CUBE", surface_array=0)
    for face in range(6):
        t.texels(np.array([[face + 1.0]], np.float32), slice=face)
    reducing(t, kind, mode="CUBE")
    positive = (1.0, 3.0, 5.0)  # +X, +Y, +Z
    assert t.at(1.0, 1.0, 1.0)[0] == REDUCTIONS[kind](positive)
