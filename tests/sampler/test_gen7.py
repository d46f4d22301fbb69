"""The sampler of Ivy Bridge and Haswell (IVB PRM vol. 4 part 1, 2)."""

from __future__ import annotations

import numpy as np
import pytest

from gen4emu.device.tiling import Tiling
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen6.messages import SamplerMessageType as Message
from gen4emu.hw.gen6.messages import SamplerSimdMode as Simd
from tests.harness.messages import descriptor
from tests.harness.probe import Event
from tests.harness.texturing_gen7 import BORDER, CONTROL, JUNK, RESPONSE, TABLE, TEXTURE, Texturing7

ONE = 0x3F800000
UNKNOWN = 13  # a type that no message has


@pytest.fixture
def t() -> Texturing7:
    return Texturing7()


def numbered(width: int, height: int, first: int = 0) -> np.ndarray:
    """Texels of R32: 1, 2, ... of each row, then of the next."""
    return (first + np.arange(width * height)).astype(np.uint32).reshape(height, width)


def levels_of(t: Texturing7, count: int, size: int = 64) -> None:
    """A float texture whose level L has the value L everywhere."""
    t.surface("R32_FLOAT", size, size, levels=count)
    for level in range(count):
        edge = max(1, size >> level)
        t.texels(np.full((edge, edge), level, np.float32), level)


# --- messages -------------------------------------------------------------------------------------------------------
def message(length: int, simd: Simd = Simd.SIMD8, kind: int = Message.SAMPLE) -> int:
    return descriptor("SAMPLER_MESSAGE", Gen.IVB, length=length, response=8 if simd is Simd.SIMD16 else 4,
                      simd_mode=simd, message_type=kind, binding_table_index=1)


@pytest.mark.parametrize(("simd", "mlen"), [(Simd.SIMD8, 1), (Simd.SIMD8, 2), (Simd.SIMD16, 4)])
def test_messages_of_clients_sample(t: Texturing7, simd: Simd, mlen: int) -> None:
    t.surface("R8G8B8A8_UNORM", 1, 1, data=bytes([255, 0, 255, 255]) + bytes(60))
    response = t.send(message(mlen, simd), [np.full(8, 0.5, np.float32)] * mlen)
    simd16 = simd is Simd.SIMD16
    assert [int(x) for x in response[:8 if simd16 else 4, 0]] == (
        [ONE, ONE, 0, 0, ONE, ONE, ONE, ONE] if simd16 else [ONE, 0, ONE, ONE])
    assert t.events() == set()


def test_ld_has_the_level_behind_the_first_coordinate(t: Texturing7) -> None:
    t.surface("R32_UINT", 8, 8, levels=2)
    t.texels(numbered(8, 8), 0)
    t.texels(numbered(4, 4, 100), 1)
    response = t.send(message(3, kind=Message.LD), [np.full(8, x, np.uint32) for x in (3, 1, 2)])
    assert response[0, 0] == 100 + 4 * 2 + 3
    assert [int(x) for x in response[1:4, 0]] == [0, 0, 1]


@pytest.mark.parametrize("simd", [Simd.SIMD4X2, Simd.SIMD8, Simd.SIMD16])
def test_ld_reads_each_texel_of_a_tiled_surface(t: Texturing7, simd: Simd) -> None:
    for tiling in (Tiling.LINEAR, Tiling.X, Tiling.Y):
        t.surface("R32_UINT", 40, 40, tiling=tiling)
        t.texels(numbered(40, 40))
        got = t.message(Message.LD, simd, u=np.arange(1, 3) if simd is Simd.SIMD4X2 else 5, v=33, lod=0, integers=True)
        columns = [1, 2] if simd is Simd.SIMD4X2 else [5, 5]
        assert [int(x) for x in got[:2, 0]] == [33 * 40 + column for column in columns]


def test_ld_outside_returns_0_and_alpha_1_where_there_is_none(t: Texturing7) -> None:
    t.surface("R32_UINT", 4, 4)
    t.texels(numbered(4, 4, 7))
    assert t.load(4, 0) == [0, 0, 0, 1]
    assert t.load(-1, 0) == [0, 0, 0, 1]
    assert t.load(0, 0, 0, 1) == [0, 0, 0, 1]
    assert t.load(0, 0) == [7, 0, 0, 1]


def test_the_reference_comes_before_the_bias(t: Texturing7) -> None:
    t.surface("R32_FLOAT", 1, 1)
    t.texels(np.full((1, 1), 0.5, np.float32))
    t.sampler(shadow_function="LESS")
    compared = t.message(Message.SAMPLE_B_C, ref=0.75, bias=0.25, u=0.5, v=0.5).view(np.float32)
    assert list(compared[0]) == [0.0, 0.0, 0.0, 1.0], "0.5 < 0.75: the table is inverted"
    compared = t.message(Message.SAMPLE_B_C, ref=0.25, bias=0.75, u=0.5, v=0.5).view(np.float32)
    assert list(compared[0]) == [1.0, 0.0, 0.0, 1.0]


def test_masked_channels_are_removed_and_a_response_may_be_shorter(t: Texturing7) -> None:
    t.surface("R8G8B8A8_UNORM", 1, 1, data=bytes([255, 0, 255, 0]) + bytes(60))
    got = t.message(Message.SAMPLE, header={"green_write_channel_mask": 1}, rlen=3, u=0.5, v=0.5)
    assert [int(x) for x in got[0]] == [ONE, ONE, 0, JUNK]
    got = t.message(Message.SAMPLE, rlen=1, u=0.5, v=0.5)
    assert [int(x) for x in got[0]] == [ONE, JUNK, JUNK, JUNK]
    assert t.events() == set()


def test_an_offset_of_the_header_is_in_texels(t: Texturing7) -> None:
    t.surface("R32_FLOAT", 8, 1)
    t.texels(np.arange(8, dtype=np.float32)[np.newaxis])
    assert t.at(4.5 / 8, header={"u_offset": -2}) == [2.0, 0.0, 0.0, 1.0]


def test_unknown_messages_return_zeros(t: Texturing7) -> None:
    t.surface("R8G8B8A8_UNORM", 1, 1, data=bytes([255]) * 64)
    response = t.send(message(1, kind=UNKNOWN), [np.zeros(8, np.uint32)])
    assert (response[:4] == 0).all()
    assert Event.BAD_LENGTH in t.events()


def test_sample_d_c_came_with_haswell() -> None:
    for gen, events in ((Gen.IVB, {Event.BAD_LENGTH}), (Gen.HSW, set())):
        t = Texturing7(gen)
        t.surface("R32_FLOAT", 1, 1)
        t.message(Message.SAMPLE_D_C, ref=0.5, u=0.5, v=0.5)
        assert t.events() == events


# --- gather4 --------------------------------------------------------------------------------------------------------
def test_gather4_returns_the_four_texels_counterclockwise(t: Texturing7) -> None:
    t.surface("R8_UNORM", 2, 2)
    t.texels(np.array([[1, 2], [3, 4]], np.uint8))
    for filter in ("NEAREST", "LINEAR"):
        t.sampler(filter)
        got = t.message(Message.GATHER4, header={}, u=0.5, v=0.5).view(np.float32)[0]
        assert [round(float(x) * 255) for x in got] == [3, 4, 2, 1]
    alpha = t.message(Message.GATHER4, header={"gather_component": 3}, u=0.5, v=0.5).view(np.float32)[0]
    assert list(alpha) == [1.0] * 4


def test_gather4_of_a_channel_that_a_format_lacks_is_0(t: Texturing7) -> None:
    """But alpha is 1."""
    t.surface("R8G8_UNORM", 2, 2, data=bytes([255]) * 4096)
    for component, value in enumerate((1.0, 1.0, 0.0, 1.0)):
        got = t.message(Message.GATHER4, header={"gather_component": component}, u=0.5, v=0.5).view(np.float32)[0]
        assert list(got) == [value] * 4


def test_gather4_needs_all_four_texels_even_at_their_centres(t: Texturing7) -> None:
    t.surface("R8_UNORM", 4, 4)
    t.texels(np.arange(16, dtype=np.uint8).reshape(4, 4))
    got = t.message(Message.GATHER4, header={}, u=1.5 / 4, v=1.5 / 4).view(np.float32)[0]
    assert [round(float(x) * 255) for x in got] == [9, 10, 6, 5]


@pytest.mark.parametrize("size", [16, 17, 32, 33, 64])
@pytest.mark.parametrize("mode", ["WRAP", "MIRROR", "MIRROR_ONCE", "CLAMP"])
def test_gather4_keeps_the_order_of_texels_where_the_map_is_reflected(t: Texturing7, mode: str, size: int) -> None:
    """docs/decisions.md 206; the offsets are the least, none, and the greatest."""
    def texel(i: int) -> int:
        if mode == "MIRROR":
            return min(i % (2 * size), 2 * size - 1 - i % (2 * size))
        return i % size if mode == "WRAP" else min(max(i if mode == "CLAMP" or i >= 0 else -1 - i, 0), size - 1)

    t.surface("R8_UNORM", size, 1)
    t.texels(np.arange(size, dtype=np.uint8).reshape(1, size))
    t.sampler("LINEAR", mode=mode)
    offsets = [-32, -32, 0, 0, 31, 31, -1, 7]
    for place in range(-2 * size, 2 * size + 1):  # between two texels
        got = t.message(Message.GATHER4_PO, header={}, u=(place + 0.25) / size, v=0.5,
                        off_u=np.array(offsets, np.int32).view(np.float32)).view(np.float32)
        for lane, offset in enumerate(offsets):
            first, second = texel(place - 1 + offset), texel(place + offset)
            assert [round(255 * float(x)) for x in got[lane]] == [first, second, second, first], (place, offset)


def test_gather4_reads_the_first_slice_of_a_volume_whatever_came_before(t: Texturing7) -> None:
    def gathered() -> list[int]:
        t.surface("R8_UNORM", 2, 2, 4, type="SURFTYPE_3D", data=bytes([7]) * 4096)
        t.texels(np.array([[1, 2], [3, 4]], np.uint8))
        got = t.message(Message.GATHER4, header={}, u=0.5, v=0.5).view(np.float32)[0]
        return [round(float(x) * 255) for x in got]

    assert gathered() == [3, 4, 2, 1]
    t.surface("R8_UNORM", 2, 2, 4, type="SURFTYPE_2D", surface_array=1, data=bytes(4096))
    t.message(Message.SAMPLE, u=0.5, v=0.5, r=3.0)
    assert gathered() == [3, 4, 2, 1]


def test_gather4_c_compares_each_texel(t: Texturing7) -> None:
    t.surface("R32_FLOAT", 2, 2)
    t.texels(np.array([[0.1, 0.2], [0.3, 0.4]], np.float32))
    t.sampler(shadow_function="LESS")
    got = t.message(Message.GATHER4_C, header={}, ref=0.25, u=0.5, v=0.5).view(np.float32)[0]
    assert list(got) == [1.0, 1.0, 0.0, 0.0]


def test_gather4_po_has_six_bits_of_offset_for_each_lane(t: Texturing7) -> None:
    t.surface("R32_FLOAT", 64, 4)
    t.texels(np.arange(256, dtype=np.float32).reshape(4, 64))
    offsets = np.array([0x28, 1, 0, 31, 0x3F, 0, 0, 0], np.uint32).view(np.float32)
    got = t.message(Message.GATHER4_PO, header={}, u=32.0 / 64, v=0.5 / 4, off_u=offsets).view(np.float32)
    assert [float(x) for x in got[:5, 3]] == [31 - 24, 32, 31, 62, 30], "0x28 is -24"


def test_green_of_two_floats_is_gathered_where_blue_is(t: Texturing7) -> None:
    for name, green in (("R32G32_FLOAT_LD", 2.0), ("R32G32_FLOAT", 0.0)):
        t.surface(name, 1, 1, data=np.array([1.0, 2.0], np.float32).tobytes() + bytes(56))
        for component, value in ((0, 1.0), (1, green), (2, 2.0)):
            got = t.message(Message.GATHER4, header={"gather_component": component}, u=0.5, v=0.5).view(np.float32)[0]
            assert list(got) == [value] * 4


def test_haswell_selects_the_channel_of_two_floats_before_it_gathers() -> None:
    t = Texturing7(Gen.HSW)
    t.surface("R32G32_FLOAT_LD", 1, 1, data=np.array([1.0, 2.0], np.float32).tobytes() + bytes(56),
              shader_channel_select_green=6, shader_channel_select_blue=0, shader_channel_select_alpha=1)
    for component, value in ((0, 1.0), (1, 2.0), (2, 0.0), (3, 1.0)):
        got = t.message(Message.GATHER4, header={"gather_component": component}, u=0.5, v=0.5).view(np.float32)[0]
        assert list(got) == [value] * 4


# --- resinfo, sampleinfo, lod ---------------------------------------------------------------------------------------
def test_resinfo_of_each_type(t: Texturing7) -> None:
    def info(lod: int = 0) -> list[int]:
        return [int(x) for x in t.message(Message.RESINFO, lod=lod, integers=True)[0]]

    t.surface("R8_UNORM", 64, 32, levels=6)
    assert info() == [64, 32, 1, 6]
    assert info(2) == [16, 8, 1, 6]
    assert info(6) == [0, 0, 0, 6]
    t.surface("R8_UNORM", 64, 1, 4, type="SURFTYPE_1D", surface_array=1)
    assert info() == [64, 4, 0, 1]
    t.surface("R8_UNORM", 8, 4, 16, type="SURFTYPE_3D", levels=3)
    assert info(2) == [2, 1, 4, 3]
    t.surface("R8_UNORM", 8, 8, 3, type="SURFTYPE_CUBE", surface_array=1)
    assert info() == [8, 8, 3, 1]
    t.surface("R32_UINT", 1000, type="SURFTYPE_BUFFER")
    assert info() == [1000, 0, 0, 0]
    t.surface("R8_UNORM", 8, 8, type="SURFTYPE_NULL")
    assert info() == [0, 0, 0, 0]


def test_sampleinfo_returns_the_number_of_samples(t: Texturing7) -> None:
    for code, samples in (("MULTISAMPLECOUNT_1", 1), ("MULTISAMPLECOUNT_4", 4), ("MULTISAMPLECOUNT_8", 8)):
        t.surface("R8_UNORM", 8, 8, number_of_multisamples=samples.bit_length() - 1)
        assert t.message(Message.SAMPLEINFO, header={})[0, 0] == samples, code


def test_the_lod_message_returns_the_level_with_and_without_limits(t: Texturing7) -> None:
    levels_of(t, 6)
    t.sampler(mip="LINEAR", max_lod=2.5)
    u = np.array([0, 8, 0, 8] * 2, np.float32) / 64
    v = np.array([0, 0, 8, 8] * 2, np.float32) / 64
    assert list(t.message(Message.LOD, u=u, v=v).view(np.float32)[0]) == [2.5, 3.0, 0.0, 0.0]
    t.sampler(mip="NEAREST", max_lod=2.5)
    assert list(t.message(Message.LOD, u=u, v=v).view(np.float32)[0]) == [3.0, 3.0, 0.0, 0.0]


# --- layout ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("vertical", "spacing", "rows"), [
    ("VALIGN_4", "FULL", 144), ("VALIGN_2", "FULL", 120), ("VALIGN_4", "LOD0", 64), ("VALIGN_2", "LOD0", 64)])
def test_array_elements_are_two_levels_and_12_units_apart_or_one_level(
        t: Texturing7, vertical: str, spacing: str, rows: int) -> None:
    t.surface("R8G8B8A8_UNORM", 64, 64, 3, surface_array=1, surface_vertical_alignment=vertical,
              surface_array_spacing=spacing)
    assert [t.place(0, element) for element in range(3)] == [(0, 0), (0, rows), (0, 2 * rows)]


def test_cubes_are_arrays_of_faces(t: Texturing7) -> None:
    t.surface("R8G8B8A8_UNORM", 64, 64, 2, type="SURFTYPE_CUBE", levels=7, surface_vertical_alignment="VALIGN_4")
    assert [t.place(0, face) for face in (0, 1, 11)] == [(0, 0), (0, 144), (0, 11 * 144)]
    assert t.place(2, 3) == (32, 3 * 144 + 64)


def test_levels_are_aligned_to_the_units_of_the_state(t: Texturing7) -> None:
    t.surface("R8_UNORM", 20, 20, levels=3, surface_horizontal_alignment="HALIGN_8",
              surface_vertical_alignment="VALIGN_4")
    assert [t.place(level) for level in range(3)] == [(0, 0), (0, 20), (16, 20)]
    t.surface("BC7_UNORM", 20, 20, levels=3)
    assert [t.place(level) for level in range(3)] == [(0, 0), (0, 20), (12, 20)]


def test_slices_of_a_volume_are_packed_as_on_gen4(t: Texturing7) -> None:
    t.surface("R8_UNORM", 64, 32, 5, type="SURFTYPE_3D", levels=4, surface_vertical_alignment="VALIGN_4")
    assert [t.place(0, z) for z in range(5)] == [(0, 32 * z) for z in range(5)]
    assert [t.place(1, z) for z in range(2)] == [(0, 160), (32, 160)]


def test_buffers_count_entries_in_three_fields(t: Texturing7) -> None:
    t.surface("R32_UINT", 1000, type="SURFTYPE_BUFFER")
    assert (t.state[2] & 0x7F, t.state[2] >> 16) == (103, 7)
    t.memory.write(TEXTURE, np.arange(1200, dtype=np.uint32).tobytes())
    assert t.load(999) == [999, 0, 0, 1]
    assert t.load(1000) == [0, 0, 0, 1]


# --- cubes, arrays --------------------------------------------------------------------------------------------------
def test_an_array_of_cubes_takes_the_cube_from_ai(t: Texturing7) -> None:
    t.surface("R32_FLOAT", 4, 4, 3, type="SURFTYPE_CUBE", surface_array=1, minimum_array_element=6)
    for element in range(24):
        t.texels(np.full((4, 4), element, np.float32), 0, element)
    directions = np.array([[1, -1, 0, 0, 0, 0], [0, 0, 1, -1, 0, 0], [0, 0, 0, 0, 1, -1]], np.float32)
    x, y, z = (np.append(axis, [1, 1]).astype(np.float32) for axis in directions)
    for cube in (0.0, 2.0, 9.0):
        got = t.message(Message.SAMPLE_L, u=x, v=y, r=z, ai=cube).view(np.float32)[:6, 0]
        assert [int(v) for v in got] == [6 + 6 * min(int(cube), 2) + face for face in range(6)]
    cubes = np.array([0, 1, 2, 0, 1, 2, 0, 1], np.float32)
    got = t.message(Message.SAMPLE_L, u=1, v=0, r=0, ai=cubes).view(np.float32)[:, 0]
    assert [int(v) for v in got] == [6 + 6 * int(c) for c in cubes]


def test_compares_read_the_element_of_the_index(t: Texturing7) -> None:
    t.surface("R32_FLOAT", 4, 4, 3, surface_array=1)
    for element in range(3):
        t.texels(np.full((4, 4), element, np.float32), 0, element)
    t.sampler(shadow_function="LESS")
    got = t.message(Message.SAMPLE_C, ref=1.5, u=0.5, v=0.5, r=np.array([0, 1, 2, 7, -3, 1.4, 1.6, 0], np.float32))
    assert list(got.view(np.float32)[:, 0]) == [0, 0, 1, 1, 0, 0, 1, 0]


# --- level of detail ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("levels", "lod", "state", "surface", "value"), [
    (7, 9.0, {"mip": "NEAREST", "max_lod": 2.5}, {}, 3.0),  # rounded after the clamp
    (7, 127 / 256, {"mip": "NEAREST"}, {}, 0.0),
    (7, 0.5, {"mip": "NEAREST"}, {}, 1.0),
    (7, 2.25, {"mip": "LINEAR"}, {}, 2.25),
    (7, 2.25 + 1 / 256, {"mip": "LINEAR"}, {}, 2.25 + 1 / 256),
    (5, 2.25, {"mip": "LINEAR"}, {"surface_min_lod": 1}, 3.25),
    (7, 0.0, {"mip": "NEAREST", "min_lod": 1.25, "lod_preclamp_enable": 0}, {}, 1.0),
    (7, 0.25, {"mip": "LINEAR", "lod_preclamp_enable": 0}, {"resource_min_lod": 1.5}, 1.5),
    (7, 3.0, {"mip": "NONE"}, {}, 0.0),
    (7, 1.0, {"mip": "LINEAR", "texture_lod_bias": -0.5}, {}, 0.5),
])
def test_levels_of_sample_l(t: Texturing7, levels: int, lod: float, state: dict[str, float | str],
                            surface: dict[str, float], value: float) -> None:
    t.surface("R32_FLOAT", 64, 64, levels=levels, **surface)
    for level in range(7):
        edge = 64 >> level
        t.texels(np.full((edge, edge), level, np.float32), level)
    t.sampler(**state)  # type: ignore[arg-type]  # the values fit the fields that they name
    assert t.at_level(lod)[0] == value


def test_levels_beyond_those_present_are_black(t: Texturing7) -> None:
    levels_of(t, 7)
    t.surface("R32_FLOAT", 64, 64, levels=7, resource_min_lod=7.0, data=bytes([255]) * 4096)
    t.sampler(mip="NEAREST")
    assert t.at_level(0) == [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize(("gen", "filter", "mip", "expected"), [
    (Gen.IVB, "ANISOTROPIC", "NEAREST", [0.0, 0.0, 0.0, 0.0]),
    (Gen.HSW, "ANISOTROPIC", "NEAREST", [0.0, 0.0, 0.0, 1.0]),
    (Gen.IVB, "LINEAR", "LINEAR", [5.0, 0.0, 0.0, 1.0]), (Gen.HSW, "LINEAR", "LINEAR", [0.0, 0.0, 0.0, 1.0]),
    (Gen.IVB, "LINEAR", "NEAREST", [0.0, 0.0, 0.0, 1.0])])
def test_ivy_bridge_has_two_errata_beyond_the_levels(gen: Gen, filter: str, mip: str, expected: list[float]) -> None:
    """IVB PRM vol. 4 part 1, 2.2.1.5: an alpha of 0, and texels of the first level."""
    t = Texturing7(gen)
    select = {} if gen is Gen.IVB else {f"shader_channel_select_{name}": 4 + i
                                        for i, name in enumerate(("red", "green", "blue", "alpha"))}
    t.surface("R32_FLOAT", 64, 64, levels=7, resource_min_lod=7.0, **select)
    t.texels(np.full((64, 64), 5, np.float32))
    t.sampler(filter, mip=mip)
    assert t.at_level(0) == expected


@pytest.mark.parametrize("message", [Message.SAMPLE_C, Message.SAMPLE_L_C, Message.GATHER4_C])
def test_shadow_messages_beyond_the_levels_compare_with_0(t: Texturing7, message: Message) -> None:
    """Texels are replaced before the compare; those of the surface are 5."""
    t.surface("R32_FLOAT", 64, 64, levels=7, resource_min_lod=7.0)
    t.texels(np.full((64, 64), 5, np.float32))
    t.sampler(mip="NEAREST", shadow_function="LESS")
    reference = np.array([-1, 0, 1, 6, -2, 4.5, -0.5, 5], np.float32)
    found = t.message(message, u=0.5, v=0.5, ref=reference).view(np.float32)[:, 0]
    assert found.tolist() == [float(r <= 0) for r in reference]  # LESS clears the texels that are less


def test_levels_beyond_those_present_are_black_in_formats_of_bytes(t: Texturing7) -> None:
    """Vectors look such formats up by themselves."""
    t.sampler(mip="NONE")
    for lod in (3.75, 1.0):
        t.surface("R8G8B8A8_UNORM", 16, 16, levels=3, resource_min_lod=lod, data=bytes([255]) * 4096)
        response = t.message(Message.SAMPLE, simd=Simd.SIMD16, u=0.5, v=0.5)
        assert set(response[:8].ravel().tolist()) == {0 if lod > 2 else ONE}


def test_one_level_can_be_minified_after_a_preclamp(t: Texturing7) -> None:
    """17/256 of a level is below the one level of the view, but not at or below its base."""
    t.surface("R32_FLOAT", 64, 1)
    t.texels(np.arange(64, dtype=np.float32)[np.newaxis])
    t.sampler(mag_mode_filter="LINEAR", min_mode_filter="NEAREST")
    step = 2.0 ** (17 / 256) / 64
    u = np.array([10.75 / 64, 10.75 / 64 + step] * 4, np.float32)
    assert t.message(Message.SAMPLE, u=u, v=0.5).view(np.float32)[0, 0] == 10.0
    u = np.array([10.75 / 64, 11.75 / 64] * 4, np.float32)
    assert t.message(Message.SAMPLE, u=u, v=0.5).view(np.float32)[0, 0] == 10.25


def test_computed_levels_are_exact_at_powers_of_two(t: Texturing7) -> None:
    levels_of(t, 7)
    t.sampler("LINEAR", "LINEAR")
    for level in range(7):
        u = np.array([0, 1, 0, 1] * 2, np.float32) * 2.0 ** level / 64
        v = np.array([0, 0, 1, 1] * 2, np.float32) * 2.0 ** level / 64
        assert t.message(Message.SAMPLE, u=u, v=v).view(np.float32)[0, 0] == level
    root = np.sqrt(np.float32(2))
    u = np.array([0, root, 0, root] * 2, np.float32) / 64
    assert t.message(Message.SAMPLE, u=u, v=0.5).view(np.float32)[0, 0] == 0.5


def test_computed_levels_count_from_the_first_of_the_view(t: Texturing7) -> None:
    t.surface("R32_FLOAT", 64, 64, levels=4, surface_min_lod=2)
    for level in range(2, 6):
        t.texels(np.full((64 >> level, 64 >> level), level, np.float32), level)
    t.sampler(mip="NEAREST")
    for texels, level in ((1, 2), (4, 2), (8, 3), (16, 4)):
        u = np.array([0, 1, 0, 1] * 2, np.float32) * texels / 64
        v = np.array([0, 0, 1, 1] * 2, np.float32) * texels / 64
        assert t.message(Message.SAMPLE, u=u, v=v).view(np.float32)[0, 0] == level
        assert t.message(Message.SAMPLE_B, bias=1, u=u, v=v).view(np.float32)[0, 0] == max(level + (texels > 1), 2)
        got = t.message(Message.SAMPLE_D, u=0.5, dudx=texels / 64, v=0.5).view(np.float32)
        assert got[0, 0] == level


def test_gradients_are_interleaved_with_coordinates(t: Texturing7) -> None:
    levels_of(t, 7)
    t.sampler("LINEAR", "LINEAR")
    got = t.message(Message.SAMPLE_D, u=0.5, dudx=4 / 64, dudy=0.0, v=0.5, dvdx=0.0, dvdy=2 / 64)
    assert got.view(np.float32)[0, 0] == 2.0
    got = t.message(Message.SAMPLE_D, Simd.SIMD4X2, u=0.5, v=0.5, dudx=4 / 64, dvdy=2 / 64)
    assert got.view(np.float32)[0, 0] == 2.0


# --- state ----------------------------------------------------------------------------------------------------------
def test_coordinates_that_are_not_normalized_count_texels(t: Texturing7) -> None:
    t.surface("R32_FLOAT", 10, 6)
    t.texels(np.arange(60, dtype=np.float32).reshape(6, 10))
    t.sampler(non_normalized_coordinate_enable=1)
    assert t.at(7.5, 3.5)[0] == 37.0
    t.sampler("LINEAR", non_normalized_coordinate_enable=1, rounding=True)
    assert t.at(7.0, 3.5)[0] == 36.5
    t.surface("R32_FLOAT", 10, 6, surface_min_lod=1)
    t.texels(np.arange(15, dtype=np.float32).reshape(3, 5), 1)
    assert t.at(3.5, 1.5)[0] == 8.0, "texels of the first level of the view"


def test_texels_that_are_counted_are_exact(t: Texturing7) -> None:
    """Neither 1/129 nor its products are floats."""
    t.surface("R32_FLOAT", 129, 129)
    t.texels(np.arange(129 * 129, dtype=np.float32).reshape(129, 129))
    t.sampler(mode="CLAMP", non_normalized_coordinate_enable=1)
    assert [t.at(x, x)[0] for x in range(129)] == [130 * x for x in range(129)]


@pytest.mark.parametrize("filter", ["NEAREST", "LINEAR"])
@pytest.mark.parametrize("rounding", [False, True])
@pytest.mark.parametrize("threads", [1, 8])
def test_counted_texels_are_those_of_normalized_coordinates(filter: str, rounding: bool, threads: int) -> None:
    """Of sizes that are powers of two, by which products are exact."""
    rng = np.random.default_rng(31)
    t = Texturing7(threads=threads)
    t.surface("R8G8B8A8_UNORM", 128, 64, data=rng.integers(0, 256, 1 << 18, np.uint8).tobytes())
    for _ in range(50):
        u, v = (rng.uniform(-20, 150, 8).astype(np.float32) for _ in range(2))
        u[0], v[1], u[2] = np.nan, np.inf, 3e38
        t.sampler(filter, rounding=rounding, non_normalized_coordinate_enable=1)
        counted = t.message(Message.SAMPLE, u=u, v=v)
        t.sampler(filter, rounding=rounding)
        assert np.array_equal(counted, t.message(Message.SAMPLE, u=u / 128, v=v / 64))


def test_the_third_coordinate_of_a_volume_counts_slices(t: Texturing7) -> None:
    t.surface("R32_FLOAT", 4, 4, 8, type="SURFTYPE_3D")
    for z in range(8):
        t.texels(np.full((4, 4), z, np.float32), slice=z)
    t.sampler("LINEAR", non_normalized_coordinate_enable=1, rounding=True)
    assert [t.at(2.0, 2.0, r)[0] for r in (0.5, 1.0, 5.5, 9.0)] == [0.0, 0.5, 5.0, 7.0]
    t.surface("R32_FLOAT", 4, 4, 8, surface_array=1)
    for z in range(8):
        t.texels(np.full((4, 4), z, np.float32), slice=z)
    assert t.at(2.0, 2.0, 5.0)[0] == 5.0, "the index of an array stays"


def test_border_colors_are_floats_or_bytes(t: Texturing7) -> None:
    t.surface("R32G32B32A32_FLOAT", 4, 4)
    t.sampler(mode="CLAMP_BORDER", border=[0.1, 0.2, 0.3, 0.4])
    assert t.at(2.0) == [float(np.float32(x)) for x in (0.1, 0.2, 0.3, 0.4)]
    t.sampler(mode="CLAMP_BORDER", texture_border_color_mode="DX9")
    t.memory.write(BORDER, bytes([255, 0, 51, 102]))
    assert t.at(2.0) == [1.0, 0.0, float(np.float32(0.2)), float(np.float32(0.4))]


@pytest.mark.parametrize(("format", "low", "high"), [
    ("R8_UNORM", 0.0, 1.0), ("R8_SNORM", -1.0, 1.0), ("R24_UNORM_X8_TYPELESS", 0.0, 1.0), ("BC4_SNORM", -1.0, 1.0),
    ("B8G8R8A8_UNORM_SRGB", 0.0, 1.0), ("R16_FLOAT", -3.0, 3.0), ("R32_FLOAT", -3.0, 3.0)])
@pytest.mark.parametrize("filter", ["NEAREST", "LINEAR"])
def test_a_border_has_the_range_of_the_channel(t: Texturing7, format: str, low: float, high: float,
                                               filter: str) -> None:
    """docs/decisions.md 207."""
    t.surface(format, 4, 4, data=bytes(4096))
    for border, expected in ((-3.0, low), (3.0, high), (0.5, 0.5), (-0.0, 0.0)):
        t.sampler(filter, mode="CLAMP_BORDER", border=[border] * 4)
        assert t.at(2.0)[0] == expected


def integer_border(gen: Gen, name: str, words: list[int], more: list[int]) -> list[int]:
    t = Texturing7(gen)
    t.surface(name, 4, 4)
    t.sampler(mode="CLAMP_BORDER")
    t.memory.write(BORDER, np.array(words, np.uint32).tobytes())
    t.memory.write(BORDER + 64, np.array(more, np.uint32).tobytes())
    return [int(x) for x in t.message(Message.SAMPLE, u=2.0, v=0.5)[0]]


def test_integer_borders() -> None:
    negative = 2 ** 32 - 5
    assert integer_border(Gen.HSW, "R32G32_UINT", [1, 1, 1, 1], [7, 0, 9, 0]) == [7, 9, 0, 1]
    assert integer_border(Gen.HSW, "R8G8B8A8_UINT", [1, 1, 1, 1], [0x04030201, 0, 0, 0]) == [1, 2, 3, 4]
    assert integer_border(Gen.HSW, "R16G16B16A16_SINT", [1] * 4, [0xFFFB0002, 0, 0x00040003, 0]) == [2, negative, 3, 4]
    assert integer_border(Gen.IVB, "R8G8B8A8_UINT", [1, 300, 3, 4], [0] * 4) == [1, 255, 3, 4]
    assert integer_border(Gen.IVB, "R8G8B8A8_SINT", [1, negative, 300, 2 ** 32 - 300], [0] * 4) == [
        1, negative, 127, 2 ** 32 - 128]


def test_channel_selects_are_haswells() -> None:
    data = np.array([1.0, 2.0, 3.0, 4.0], np.float32).tobytes() + bytes(48)
    selects = {"shader_channel_select_red": 7, "shader_channel_select_green": 1, "shader_channel_select_blue": 0,
               "shader_channel_select_alpha": 4}
    t = Texturing7(Gen.HSW)
    t.surface("R32G32B32A32_FLOAT", 1, 1, data=data, **selects)
    assert t.at(0.5) == [4.0, 1.0, 0.0, 1.0]
    gathered = t.message(Message.GATHER4, header={"gather_component": 1}, u=0.5, v=0.5).view(np.float32)[0]
    assert list(gathered) == [1.0] * 4
    t.surface("R32G32B32A32_FLOAT", 1, 1, data=data, **dict.fromkeys(selects, 0))
    assert t.at(0.5) == [0.0] * 4
    ivy = Texturing7(Gen.IVB)
    ivy.surface("R32G32B32A32_FLOAT", 1, 1, data=data)
    assert ivy.at(0.5) == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("gen", [Gen.IVB, Gen.HSW])
@pytest.mark.parametrize("enabled", [False, True])
def test_a_key_that_kills_names_the_pixels_that_live(gen: Gen, enabled: bool) -> None:
    """sample+killpix: colors stay, and a register behind those of the channels that are not masked has the pixels."""
    t = Texturing7(gen)
    t.surface("B8G8R8A8_UNORM", 2, 1, data=bytes([1, 2, 3, 4, 9, 9, 9, 9]) + bytes(256))
    t.sampler(chroma_key_enable=enabled, chroma_key_index=2, chroma_key_mode="KILL_ON_ANY_MATCH")
    t.probe.state.chroma_key[2] = (0x04030201, 0x04030201)
    u = [0.1, 0.9, 0.9, 0.1, 0.1, 0.1, 0.9, 0.1]
    colors = t.message(Message.SAMPLE_KILLPIX, u=u, v=0.5).view(np.float32)
    assert [round(255 * float(color[0])) for color in colors] == [9 if place > 0.5 else 3 for place in u]
    living = sum((place > 0.5 or not enabled) << i for i, place in enumerate(u))
    assert t.probe.grf(RESPONSE + 4)[0] == 0xFFFFFF00 | living
    t.message(Message.SAMPLE_KILLPIX, header={"red_write_channel_mask": True, "alpha_write_channel_mask": True},
              u=u, v=0.5, rlen=3)
    assert t.probe.grf(RESPONSE + 2)[0] == 0xFFFFFF00 | living


@pytest.mark.parametrize("quality", range(4))
def test_the_quality_of_mixed_levels_is_always_full(quality: int) -> None:
    """Nor do magnified lookups of Haswell have levels with HIGH_MAG_CLAMP_MIPFILTER."""
    t = Texturing7(Gen.HSW)
    levels_of(t, 7)
    t.sampler("LINEAR", "LINEAR", trilinear_filter_quality=quality)
    assert [t.at_level(lod)[0] for lod in (-0.5, 0.25, 1.0, 2.75)] == [0.0, 0.25, 1.0, 2.75]
    t.sampler("LINEAR", "LINEAR", trilinear_filter_quality=quality, lod_preclamp_enable=False, min_lod=0.5)
    assert t.at_level(0.0)[0] == 0.0


# --- samples --------------------------------------------------------------------------------------------------------
def multisampled(t: Texturing7, samples: int, **fields: object) -> None:
    t.surface("R32_UINT", 8, 4, 3, surface_array=1, surface_vertical_alignment="VALIGN_4", tiling=Tiling.Y,
              number_of_multisamples=samples.bit_length() - 1, **fields)


def sample_of(t: Texturing7, message: Message, u: int, v: int, r: int, **more: int) -> int:
    return int(t.message(message, u=u, v=v, r=r, integers=True, **more)[0, 0])


@pytest.mark.parametrize("samples", [4, 8])
def test_samples_are_in_elements_of_their_own(t: Texturing7, samples: int) -> None:
    multisampled(t, samples)
    for element in range(3 * samples):
        t.texels(numbered(8, 4, 100 * element), 0, element)
    assert t.place(0, samples + 1) == (0, 4 * (samples + 1))
    for layer, sample in ((0, 0), (1, 2), (2, samples - 1)):
        expected = 100 * (layer * samples + sample) + 8 * 2 + 5
        assert sample_of(t, Message.LD2DSS, 5, 2, layer, si=sample) == expected
        assert sample_of(t, Message.LD2DMS, 5, 2, layer, si=sample, mcs=0xFFFFFFFF) == expected, "no control surface"
    assert sample_of(t, Message.LD2DSS, 8, 2, 0, si=0) == 0


def test_samples_beyond_the_last_one_start_again(t: Texturing7) -> None:
    multisampled(t, 4)
    for element in range(12):
        t.texels(numbered(8, 4, 100 * element), 0, element)
    for message in (Message.LD2DSS, Message.LD2DMS):
        assert [sample_of(t, message, 0, 0, 1, si=si) for si in (4, 7, 0xFFFFFFFD)] == [400, 700, 500]


def test_other_messages_read_sample_0_and_are_reported(t: Texturing7) -> None:
    multisampled(t, 4)
    for element in range(12):
        t.texels(numbered(8, 4, 100 * element), 0, element)
    assert t.load(3, 1, 2) == [811, 0, 0, 1]
    assert t.events() == {Event.BAD_SURFACE}


@pytest.mark.parametrize(("samples", "sample", "x", "y"), [(4, 3, 7, 6), (8, 5, 15, 4)])
def test_interleaved_samples_are_beside_each_other(t: Texturing7, samples: int, sample: int, x: int, y: int) -> None:
    multisampled(t, samples, multisampled_surface_storage_format="DEPTH_STENCIL", pitch=256)
    t.rows(np.full((1, 1, 4), 0, np.uint8) + np.array([9, 0, 0, 0], np.uint8), x, y)
    assert sample_of(t, Message.LD2DMS, 3, 2, 0, si=sample, mcs=0) == 9
    assert sample_of(t, Message.LD2DMS, 3, 2, 0, si=0, mcs=0) == 0


def test_the_control_surface_names_the_element_of_a_sample(t: Texturing7) -> None:
    for samples, entry, sample, element in ((4, 0xE4, 2, 2), (4, 0x05, 0, 1), (4, 0x05, 3, 0), (8, 0x76543210, 5, 5)):
        multisampled(t, samples, mcs_enable=1, mcs_base_address=CONTROL, mcs_surface_pitch=1)
        for each in range(samples):
            t.texels(numbered(8, 4, 100 * each), 0, each)
        assert sample_of(t, Message.LD2DMS, 1, 0, 0, si=sample, mcs=entry) == 100 * element + 1


@pytest.mark.parametrize(("samples", "clear"), [(4, 0xFF), (8, 0xFFFFFFFF)])
def test_entries_of_all_ones_are_the_clear_color(t: Texturing7, samples: int, clear: int) -> None:
    multisampled(t, samples, mcs_enable=1, mcs_base_address=CONTROL, mcs_surface_pitch=1, red_clear_color=1)
    t.texels(numbered(8, 4, 50), 0, 0)
    assert sample_of(t, Message.LD2DMS, 1, 0, 0, si=2, mcs=clear) == 1
    assert sample_of(t, Message.LD2DSS, 1, 0, 0, si=0) == 51


def test_ld_mcs_reads_the_entry_of_a_texel(t: Texturing7) -> None:
    multisampled(t, 4, mcs_enable=1, mcs_base_address=CONTROL, mcs_surface_pitch=1)
    t.memory.write(CONTROL + 16 * (4 * 2 + 1) + 5, bytes([0x1B]))  # row 1 of layer 2, in the first column of a Y tile
    assert sample_of(t, Message.LD_MCS, 5, 1, 2) == 0x1B
    assert sample_of(t, Message.LD_MCS, 8, 1, 2) == 0
    multisampled(t, 4)
    assert sample_of(t, Message.LD_MCS, 5, 1, 2) == 0


def test_the_binding_table_can_name_a_null_surface(t: Texturing7) -> None:
    t.surface("R8_UNORM", 8, 8, type="SURFTYPE_NULL")
    assert t.at(0.5) == [0.0] * 4
    assert t.memory.read(TABLE, 4) is not None


@pytest.mark.parametrize(("format", "size", "one"), [
    ("R8G8B8A8_UINT", np.uint8, 1), ("R16G16B16A16_UINT", np.uint16, 1), ("R32G32B32A32_FLOAT", np.uint32, ONE)])
def test_ld_returns_the_channels_that_the_surface_selects(format: str, size: type, one: int) -> None:
    """HSW PRM vol. 2d, RENDER_SURFACE_STATE, Shader Channel Select Red."""
    t = Texturing7(Gen.HSW)
    data = np.array([5, 6, 7, 8], size).tobytes() + bytes(64)
    zero, alpha, red, full = 0, 7, 4, 1
    t.surface(format, 1, 1, data=data, shader_channel_select_red=alpha, shader_channel_select_green=zero,
              shader_channel_select_blue=red, shader_channel_select_alpha=full)
    assert t.load(0) == [8, 0, 5, one]
    assert t.load(1) == [0, 0, 0, one]
    t.surface(format, 4, type="SURFTYPE_BUFFER", data=data, shader_channel_select_red=red,
              shader_channel_select_green=red, shader_channel_select_blue=red, shader_channel_select_alpha=red)
    assert t.load(0) == [5, 5, 5, 5]


# --- texel offsets --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("filter", ["NEAREST", "LINEAR"])
@pytest.mark.parametrize("offset", [-8, -3, -1, 1, 7])
@pytest.mark.parametrize("mode", ["MIRROR", "MIRROR_ONCE"])
def test_an_offset_is_added_before_the_texel_number_is_reflected(t: Texturing7, mode: str, offset: int,
                                                                 filter: str) -> None:
    """docs/decisions.md 146."""
    size = 16
    t.surface("R8_UNORM", size, 1)
    t.texels(np.arange(size, dtype=np.uint8).reshape(1, size))
    t.sampler(filter, mode=mode)
    for place in range(-3 * size, 3 * size):  # the middle of a texel
        got = t.message(Message.SAMPLE, header={"u_offset": offset}, u=(place + 0.5) / size, v=0.5).view(np.float32)
        texel = place + offset
        if mode == "MIRROR":
            texel %= 2 * size
            texel = min(texel, 2 * size - 1 - texel)
        else:
            texel = min(texel if texel >= 0 else -1 - texel, size - 1)
        assert round(255 * float(got[0, 0])) == texel, place


@pytest.mark.parametrize("mode", ["WRAP", "CLAMP", "MIRROR", "CLAMP_BORDER"])
def test_the_last_texels_of_the_widest_texture_are_found(t: Texturing7, mode: str) -> None:
    """IVB PRM vol. 4 part 1, SURFACE_STATE, Width: up to 16384 texels."""
    size = 16384
    t.surface("R8_UNORM", size, 1, data=bytes([1]) * (size - 1) + bytes([2]) + bytes(size))
    for filter in ("NEAREST", "LINEAR"):
        t.sampler(filter, mode=mode)
        assert [round(255 * t.at((x + 0.5) / size)[0]) for x in (12288, size - 2, size - 1)] == [1, 1, 2]
