"""The windower: dispatch, payloads, early tests, depth, statistics."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

from gen4emu._native import lib
from gen4emu.device.options import Options
from gen4emu.hw.catalogue import block_named
from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology as T
from gen4emu.trace.events import Engine
from tests.ff.dump import Dump, rectangle
from tests.harness.scene import KERNELS, STATE, SURFACES, Scene, setup_kernel, vertex
from tests.harness.setup import Bench

D24 = 2
TEST = {"depth_test_enable": True, "depth_test_function": "LESS"}
WRITE = {"depth_buffer_write_enable": True}
STENCIL = {"stencil_test_enable": True, "stencil_test_function": "ALWAYS"}


def f32(bits: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


# ---- which threads ----

def modes(*pixels: int, contiguous: tuple[int, ...] = ()) -> dict[str, bool]:
    return {f"dispatch_{n}_pixel_enable": True for n in pixels} | {
        f"contiguous_{n}_pixel_dispatch_enable": True for n in contiguous}


@pytest.mark.parametrize(("gen", "enabled", "expected"), [
    (Gen.CL, (8,), {1: 8, 4: 8, 16: 8}),
    (Gen.CL, (16,), {1: 16, 2: 16, 16: 16}),
    (Gen.CL, (32,), {1: 32, 16: 32}),
    (Gen.CL, (8, 16), {1: 8, 2: 8, 3: 16, 8: 16}),
    (Gen.CL, (16, 32), {1: 16, 7: 16, 8: 32}),
    (Gen.CL, (8, 16, 32), {2: 8, 3: 16, 7: 16, 8: 32}),
    (Gen.CTG, (8, 16), {1: 8, 2: 16, 4: 16}),
    (Gen.CTG, (8, 16, 32), {1: 8, 2: 16, 3: 16, 4: 32}),
    (Gen.CTG, (16, 32), {1: 16, 3: 16, 4: 32}),
    (Gen.EL, (32,), {1: 32}),
])
def test_the_number_of_subspans_left_picks_the_width(gen: Gen, enabled: tuple[int, ...],
                                                     expected: dict[int, int]) -> None:
    bench = Bench(gen, wm=modes(*enabled))
    assert {n: bench.dispatch(n)[0] for n in expected} == expected


@pytest.mark.parametrize(("enabled", "contiguous", "entries"), [
    ((8,), (), {8: 0}), ((16,), (), {16: 0}), ((8, 16), (), {16: 2, 8: 0}), ((32,), (), {32: 0}),
    ((16, 32), (), {32: 1, 16: 2}), ((8, 16, 32), (), {32: 1, 16: 2, 8: 0}),
])
def test_each_width_has_its_entry_point(enabled: tuple[int, ...], contiguous: tuple[int, ...],
                                        entries: dict[int, int]) -> None:
    bench = Bench(Gen.CTG, wm=modes(*enabled, contiguous=contiguous))
    found = dict(bench.dispatch(n) for n in (1, 2, 3, 4, 8))
    assert found == entries


@pytest.mark.parametrize(("enabled", "contiguous", "both", "one", "normal"), [
    ((), (32,), (32, 0), (32, 0), None),
    ((32,), (32,), (32, 1), (32, 1), {32: 0}),
    ((16, 32), (32,), (32, 2), (32, 2), {32: 1, 16: 0}),
    ((), (64,), (64, 0), (64, 0), None),
    ((32,), (64,), (64, 1), (64, 1), {32: 0}),
    ((16, 32), (64,), (64, 2), (64, 2), {32: 1, 16: 0}),
    ((), (32, 64), (64, 1), (32, 0), None),
    ((32,), (32, 64), (64, 2), (32, 1), {32: 0}),
    ((16, 32), (32, 64), (64, 3), (32, 2), {32: 1, 16: 0}),
])
def test_contiguous_blocks_have_theirs(enabled: tuple[int, ...], contiguous: tuple[int, ...], both: tuple[int, int],
                                       one: tuple[int, int], normal: dict[int, int] | None) -> None:
    bench = Bench(Gen.CTG, wm=modes(*enabled, contiguous=contiguous))
    assert bench.dispatch_contiguous(True) == both
    assert bench.dispatch_contiguous(False) == one
    if normal is not None:
        assert dict(bench.dispatch(n) for n in (1, 4)) == normal


# ---- R0 and R1 ----

@pytest.mark.parametrize("gen", [Gen.CL, Gen.CTG])
def test_r0_and_r1_of_an_8_pixel_thread(gen: Gen) -> None:
    r0, r1 = Dump(gen).registers([0, 1], rectangle(10, 20, 14, 22), at=(10, 20))
    first = block_named("PAYLOAD_PS_R0", gen).view(r0, gen=gen)
    assert (first.pixel_mask, first.pixel_mask_copy) == (0xff, 0xff)
    assert first.color_calculator_state_pointer == STATE + 0x100
    assert first.binding_table_pointer == SURFACES + 0x400
    assert r0[2] == 0
    assert (f32(r1[0]), f32(r1[1])) == (9.5, 19.5)
    assert r1[2:6] == [0x0014000A, 0x0014000C, 0, 0]
    assert r1[6] == T.RECTLIST
    assert r1[7] == 0


def test_partly_lit_subspans_of_a_16_pixel_thread() -> None:
    """Only the upper left pixel of the subspan at (10,20) and all of (12,20): R0.0 = 0x00F100F1."""
    stipple = [0] * 32
    stipple[20], stipple[21] = (1 << 21 | 3 << 18), 3 << 18
    dump = Dump(wide=True, wm={"polygon_stipple_enable": True}, before=[
        "mov(16) g110<1>UD 0x7UD { align1 };",  # in channels that run
        *(f"mov(8) g{100 + channel + 4 * half}<1>UD g{source}<0,1,0>UD {{ align1 nomask }};"
          for channel, source in enumerate(["0", "110.1", "110.7", "111"]) for half in (0, 1))])
    for row in (20, 21):
        dump.raw.poly_stipple[1 + row] = stipple[row]
    pixels = dump.show([0], [vertex(0, 0), vertex(64, 0), vertex(0, 64)], T.TRILIST)
    assert set(pixels) == {(10, 20), (12, 20), (13, 20), (12, 21), (13, 21)}
    assert set(pixels.values()) == {(0x00F100F1, 7, 7, 0)}


def test_helper_pixels_run_and_empty_subspans_do_not() -> None:
    """One pixel of two subspans is lit: channels 0 to 3 run, 4 to 7 do not."""
    for channel, ran in enumerate([7, 7, 7, 7, 0, 0, 0, 0]):
        dump = Dump(before=["mov(8) g110<1>UD 0x7UD { align1 };",
                            f"mov(8) g101<1>UD g110.{channel}<0,1,0>UD {{ align1 nomask }};"])
        pixels = dump.show([0, 0], rectangle(5, 7, 6, 8))
        assert set(pixels) == {(5, 7)}
        assert pixels[5, 7][1] == ran


def test_a_back_facing_triangle_says_so() -> None:
    r1 = Dump(sf={"front_winding": 1}).registers([1], [vertex(0, 0), vertex(16, 0), vertex(0, 16)], T.TRILIST)[0]
    assert r1[6] == 1 << 31 | T.TRILIST


def test_the_primitive_number_counts_objects() -> None:
    pixels = Dump().show([0], [*rectangle(0, 0, 4, 2), *rectangle(8, 0, 12, 2)])
    assert [pixels[x, 1][0] & 0xffffff for x in (3, 11)] == [0, 1]  # dword 7 of R0


# ---- optional registers ----

SLOPE = [(32.0, 32.0, .75, 1.0), (0.0, 32.0, .25, 1.0), (0.0, 0.0, .5, 1.0)]  # z = .5 + x / 64 - y / 128


def test_source_depth_comes_first_and_takes_two_registers() -> None:
    dump = Dump(wm={"pixel_shader_uses_source_depth": True}, depth_format=D24)
    sz, beyond = dump.registers([2, 3], SLOPE, at=(4, 6))
    expected = [.5 + (4 + 2 * (c // 4) + c % 2 + .5) / 64 - (6 + c % 4 // 2 + .5) / 128 for c in range(8)]
    assert [f32(bits) for bits in sz] == expected
    assert beyond == [0] * 8


@pytest.mark.parametrize(("cc", "wm", "flags", "setup_at"), [
    (TEST | WRITE, {"pixel_shader_kill_pixel": True}, 0b1100, 4),  # N: R0, R1, SZ, SZ
    (TEST | WRITE | STENCIL | {"stencil_buffer_write_enable": True},
     {"pixel_shader_computed_depth": True}, 0b0111, 5),  # C: R0, R1, AS, DZ, DZ
    ({}, {"pixel_shader_kill_pixel": True}, 0b0000, 2),
    ({}, {"pixel_shader_kill_pixel": True, "statistics_enable": True}, 0b1100, 4),
])
def test_the_iz_decision_shapes_the_payload(cc: dict[str, Any], wm: dict[str, Any], flags: int, setup_at: int) -> None:
    """Setup data follow the optional registers."""
    dump = Dump(wm=wm | {"dispatch_grf_start_register": setup_at}, cc=cc, depth_format=D24, depth_clear=0xffffff)
    r1, setup = dump.registers([1, setup_at + 3], SLOPE)
    assert r1[6] >> 27 & 15 == flags
    z = block_named("ATTRIBUTE_COEFFICIENTS", dump.gen).view(setup, gen=dump.gen)
    assert (z.cx, z.cy, z.c0) == (1 / 64, -1 / 128, .5)


def test_destination_stencil_and_depth_follow_in_order() -> None:
    """Mode C with stencil: AS at g2 has the stencil of pixel p in byte p, DZ at g3 the raw 24 bits."""
    dump = Dump(wm={"pixel_shader_computed_depth": True}, cc=TEST | WRITE | STENCIL | {
        "stencil_buffer_write_enable": True}, depth_format=D24, depth_clear=0x5A123456)
    stencil, depth = dump.registers([2, 3], SLOPE)
    assert stencil == [0x5A5A5A5A] * 2 + [0] * 6
    assert depth == [0x123456] * 8


@pytest.mark.parametrize("gen", [Gen.CL, Gen.CTG])
def test_an_antialiased_line_brings_its_coverage(gen: Gen) -> None:
    sf = {"antialiasing_enable": True, "line_width": 4.0}
    if gen & Gen.GEN45:
        sf["aa_line_distance_mode"] = 1
    line = [vertex(-8.5, 8.5), vertex(40.5, 8.5)]
    pixels = Dump(gen, sf=sf).show([2, 1], line, T.LINELIST)
    full = {Gen.CL: (6, 0xffffffff), Gen.CTG: (4, 0xffffffff)}[gen]
    lit = {y for _, y in pixels}
    assert lit == {6, 7, 8, 9}  # the sample of row 6 is on the upper edge: lit, coverage 0
    dword, value = full
    place = (8 + 2 * (dword // 4) + dword % 2, 8 + dword % 4 // 2)
    assert pixels[place][0] == value
    flags = pixels[8 + 2, 9][1]  # dword 6 of R1 is channel 6
    assert flags >> 25 & 3 == 3
    upper = Dump(gen, sf=sf).show([2], line, T.LINELIST)
    place = (8 + 2 * (dword // 4) + dword % 2, 6 + dword % 4 // 2)
    assert upper[place][0] == {Gen.CL: 0xff00ff00, Gen.CTG: 0xffff0000}[gen]


def test_constants_start_at_the_dispatch_register_and_setup_follows() -> None:
    dump = Dump(wm={"dispatch_grf_start_register": 3, "constant_urb_entry_read_length": 2,
                    "constant_urb_entry_read_offset": 1})
    dump.raw.curbe_rows = 2
    for i in range(16):
        dump.raw.curbe[i] = 100 + i
    gap, first, second, setup = dump.registers([2, 3, 4, 5 + 3], SLOPE)
    assert gap == [0] * 8
    assert first == [108 + i for i in range(8)]
    assert second == [0] * 8  # beyond the constant buffer
    assert f32(setup[3]) == .5


def test_the_setup_data_starts_at_its_offset() -> None:
    dump = Dump(wm={"setup_urb_entry_read_offset": 3, "setup_urb_entry_read_length": 1})
    row, beyond = dump.registers([4, 5], SLOPE)
    assert [f32(v) for v in row] == [1 / 64, -1 / 128, 0, .5, 0, 0, 0, 1]
    assert beyond == [0] * 8


# ---- wider threads ----

def test_32_pixel_threads_name_eight_subspans_and_double_the_start() -> None:
    dump = Dump(wide=True, wm={"dispatch_16_pixel_enable": False, "dispatch_32_pixel_enable": True,
                               "dispatch_grf_start_register": 2, "setup_urb_entry_read_offset": 3})
    pixels = dump.show([0, 2, 4, 4, 1, 1, 1, 1], rectangle(0, 0, 16, 2))
    places = [(2 * (c // 4) + c % 2, c % 4 // 2) for c in range(16)]
    r0 = [pixels[p][0] for p in places[:8]]
    r1 = [pixels[p][0] for p in places[8:]]
    r2 = [pixels[p][1] for p in places[:8]]
    r4 = [pixels[p][2] for p in places[:8]]
    assert r0[0] == 0xffffffff
    assert r1[2:6] == [0, 2, 4, 6]
    assert r2 == [0xffffffff, 0, 8, 10, 12, 14, 0, 0]
    assert f32(r4[3]) == 0.0  # setup row 3 of this flat rectangle: z
    assert f32(r4[7]) == 1.0  # and 1/w


def test_contiguous_threads_are_given_a_block_and_its_masks() -> None:
    """The kernel builds an ordinary header to show its registers in the corner of the block."""
    before = ["mov(1) m1.4<1>UW g0<0,1,0>UW { align1 nomask };", "mov(1) m1.5<1>UW g0.2<0,1,0>UW { align1 nomask };",
              "add(1) m1.6<1>UW g0<0,1,0>UW 0x2UW { align1 nomask };",
              "mov(1) m1.7<1>UW g0.2<0,1,0>UW { align1 nomask };",
              "mov(1) g0<1>UD 0xffUD { align1 nomask };"]
    dump = Dump(wm={"dispatch_8_pixel_enable": False, "contiguous_32_pixel_dispatch_enable": True,
                    "contiguous_64_pixel_dispatch_enable": True}, before=before)
    # Entry points 16 bytes apart: nothing stands in front of the first instruction that both need.
    vertices = [*rectangle(8, 8, 16, 16), *rectangle(16, 4, 24, 8), *rectangle(25, 25, 26, 26)]
    pixels = dump.show([100, 0, 1], vertices)
    at = {(x, y): [pixels[x + 2 * (c // 4) + c % 2, y + c % 4 // 2] for c in range(8)]
          for x, y in ((8, 8), (16, 4), (24, 24))}
    assert [at[8, 8][c][1] for c in range(3)] == [8, 8, 0xffffffff]
    assert at[8, 8][2][2] == 0xffffffff
    assert [at[16, 4][c][1] for c in range(3)] == [16, 4, 0xffffffff]
    assert at[16, 4][2][2] == 0
    assert [at[24, 24][c][1] for c in range(3)] == [24, 24, 0b1000]


# ---- early tests ----

def depth_scene(**arguments: Any) -> Scene:
    return Scene(depth_format=D24, depth_clear=0xffffff, **arguments)


def test_early_tests_remove_pixels_before_the_shader_runs() -> None:
    scene = depth_scene(cc=TEST | WRITE, wm={"statistics_enable": True})
    scene.draw(rectangle(0, 0, 16, 32, .25), T.RECTLIST)
    scene.draw(rectangle(0, 0, 32, 32, .5), T.RECTLIST)
    before = scene.device.counts()["instructions"]
    scene.draw(rectangle(0, 0, 32, 32, .75), T.RECTLIST)
    ran = scene.device.counts()["instructions"] - before
    assert ran == len(setup_kernel(2, scene.gen)) // 16  # one setup thread, no pixel thread
    depths = scene.depths()
    assert {row[0] for row in depths} == {0x400000}
    assert {row[31] for row in depths} == {0x800000}


def test_depth_is_written_without_pixel_threads() -> None:
    """Crocus clears depth with ThreadDispatchEnable = 0."""
    scene = depth_scene(cc=TEST | WRITE | {"depth_test_function": "ALWAYS"}, wm={"thread_dispatch_enable": False})
    scene.draw(rectangle(0, 0, 32, 32, .5), T.RECTLIST)
    assert {z for row in scene.depths() for z in row} == {0x800000}
    assert scene.lit() == set()


def test_invocations_and_samples_are_counted() -> None:
    """PS_INVOCATION_COUNT includes the pixels that the early test removes."""
    def counters(scene: Scene) -> tuple[int, int]:
        counter = scene.device.streamers[Engine.RENDER].state.raw.counter
        return int(counter[7]), int(counter[8])
    scene = depth_scene(cc=TEST | WRITE | {"statistics_enable": True}, wm={"statistics_enable": True})
    scene.draw(rectangle(0, 0, 4, 8, .25), T.RECTLIST)
    assert counters(scene) == (32, 32)
    scene.draw(rectangle(0, 0, 8, 8, .5), T.RECTLIST)
    assert counters(scene) == (32 + 64, 32 + 32)


# ---- depth offset ----

@pytest.mark.parametrize(("constant", "expected"), [(0.0, 0x800000), (2.0, 0x800001), (-2.0, 0x7FFFFE),
                                                    (1.0, 0x800000)])
def test_the_constant_depth_offset_is_in_units_of_24_bits(constant: float, expected: int) -> None:
    """Depth offset in units of GL, which the driver doubles."""
    scene = depth_scene(cc=TEST | WRITE | {"depth_test_function": "ALWAYS"},
                        wm={"global_depth_offset_enable": True, "global_depth_offset_constant": constant})
    scene.draw([vertex(0, 0, .5), vertex(64, 0, .5), vertex(0, 64, .5)])
    assert {z for row in scene.depths() for z in row} == {expected}


def test_rectangles_are_not_offset() -> None:
    scene = depth_scene(cc=TEST | WRITE | {"depth_test_function": "ALWAYS"},
                        wm={"global_depth_offset_enable": True, "global_depth_offset_constant": 100.0})
    scene.draw(rectangle(0, 0, 32, 32, .5), T.RECTLIST)
    assert {z for row in scene.depths() for z in row} == {0x800000}


def single(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def offset(constant: float = 0.0, scale: float = 0.0, clamp: float = 0.0, depth_format: int = D24,
           legacy: bool = False) -> Bench:
    return Bench(wm={"global_depth_offset_enable": True, "global_depth_offset_constant": constant,
                     "global_depth_offset_scale": scale, "legacy_global_depth_bias_enable": legacy},
                 commands={"3DSTATE_GLOBAL_DEPTH_OFFSET_CLAMP": {"global_depth_offset_clamp": clamp},
                           "3DSTATE_DEPTH_BUFFER": {"surface_type": 1, "surface_format": depth_format}})


@pytest.mark.parametrize(("clamp", "expected"), [(0.0, -.0045), (-.001, -.001), (.001, -.0045)])
def test_the_sloped_offset_and_its_clamp(clamp: float, expected: float) -> None:
    """A slope of 0.0045 with a scale of -1; a clamp of 0 does not limit it."""
    assert offset(scale=-1.0, clamp=clamp).depth_offset(.0045, -.001, [.5] * 3) == single(expected)


@pytest.mark.parametrize(("depth_format", "z", "bits"), [
    (2, .5, 0x33800001), (5, .5, 0x37800080), (1, 1.5, 0x34000000), (1, .5, 0x33800000), (0, .75, 0x33800000)])
def test_the_unit_depends_on_the_depth_format(depth_format: int, z: float, bits: int) -> None:
    """The smallest step: a constant for UNORM formats, 2^(exponent - 23) for floats."""
    assert offset(1.0, depth_format=depth_format).depth_offset(0, 0, [-z, 0.0, z / 4]) == f32(bits)


def test_the_legacy_bias_is_used_as_it_is() -> None:
    assert offset(.125, legacy=True).depth_offset(0, 0, [.5] * 3) == .125


# ---- setup data as kernels without transposing writes leave it ----

def test_transposed_reads_present_coefficients_by_attribute() -> None:
    dump = Dump(wm={"transposed_urb_read_enable": True, "setup_urb_entry_read_offset": 3,
                    "pixel_shader_uses_source_depth": True})
    dump.memory.write(KERNELS, setup_kernel(2, Gen.CTG, transpose=False))
    depth, row = dump.registers([2, 4], SLOPE)
    assert [f32(v) for v in row] == [1 / 64, -1 / 128, 0, .5, 0, 0, 0, 1]
    assert f32(depth[0]) == .5 + .5 / 64 - .5 / 128


# ---- order ----

def painted(workers: int, seed: int) -> list[list[int]]:
    dice = random.Random(seed)
    scene = Scene(width=96, height=80, options=Options(workers=workers))
    vertices = [vertex(dice.uniform(-20, 120), dice.uniform(-20, 100),
                       color=((t // 16) / 255, (t % 16) / 255, 1.0, 1.0)) for t in range(200) for _ in range(3)]
    scene.draw(vertices)
    return scene.pixels()


def test_later_triangles_cover_earlier_ones_in_every_pixel() -> None:
    dice = random.Random(1)
    bench = Bench(Gen.CTG, width=96, height=80)
    top = [[0] * 96 for _ in range(80)]
    for t in range(200):
        corners = [(dice.uniform(-20, 120), dice.uniform(-20, 100)) for _ in range(3)]
        for x, y in bench.lit(corners):
            top[y][x] = 0xff0000ff | (t // 16) << 16 | (t % 16) << 8
    assert painted(1, 1) == top


def test_the_picture_does_not_depend_on_the_number_of_workers() -> None:
    assert painted(1, 2) == painted(3, 2)


def test_without_any_dispatch_mode_nothing_runs_and_the_state_is_reported() -> None:
    scene = Scene(wm={"dispatch_8_pixel_enable": False})
    scene.draw(rectangle(0, 0, 4, 4), T.RECTLIST)
    assert scene.lit() == set()
    assert [event.kind for event in scene.device.events()] == [lib.G4_EVENT_BAD_STATE]
