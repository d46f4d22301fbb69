"""Objects of one value: what is filled is what threads and early tests would have written, and counts the same."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from gen4emu.device.options import Options
from gen4emu.device.tiling import Tiling
from gen4emu.hw.formats import SurfaceFormat as F
from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology as T
from gen4emu.isa import assemble
from gen4emu.trace.events import Engine
from tests.harness.messages import WRITE_8, WRITE_16
from tests.harness.scene import DEPTH, TARGET, Scene, vertex

D32, D24S8, D24X8, D16 = 1, 2, 3, 5
HEADER = "mov(8) m1<1>UD g1<8,8,1>UD { align1 nomask };"
SEND8 = f"send(8) 0 null<1>UW g0<8,8,1>UW {WRITE_8} write {{ align1 EOT }};"
# red, green, blue and alpha of the first vertex: attributes 8 to 11
CONSTANT = [f"mov(8) m{2 + i}<1>F g{8 + i // 2}.{3 + 4 * (i % 2)}<0,1,0>F {{ align1 }};" for i in range(4)]
CONSTANT_16 = [f"mov(16) m{3 + i}<1>F g{8 + i // 2}.{3 + 4 * (i % 2)}<0,1,0>F {{ align1 compr4 }};"
               for i in range(4)]
ARITHMETIC = [
    "add(8) g60<1>F g8.3<0,1,0>F 0.25F { align1 };",
    "mul.sat(8) m2<1>F g60<8,8,1>F -g60<8,8,1>F { align1 };",
    "mov(8) m3<1>F g60<8,8,1>F { align1 };",
    "mov.sat(8) m4<1>F (abs)g9.3<0,1,0>F { align1 };",
    "mov(8) m5<1>F 1.0F { align1 };",
]


def kernel(*lines: str) -> bytes:
    return assemble("\n".join(lines), Gen.CTG)


FLAT = {
    "constant": kernel(*CONSTANT, HEADER, SEND8),
    "arithmetic": kernel(*ARITHMETIC, HEADER, SEND8),
    "header first": kernel(HEADER, *CONSTANT, SEND8),
}
# what must not be taken for flat: something differs from pixel to pixel, or is not what it seems
VARIED = {
    "coordinates": kernel("mov(8) m2<1>F g1.4<2,4,0>UW { align1 };", *CONSTANT[1:], HEADER, SEND8),
    "a row as it is": kernel("mov(8) m2<1>F g8<8,8,1>F { align1 };", *CONSTANT[1:], HEADER, SEND8),
    "packed immediate": kernel("mov(8) m2<1>F 0x48403020VF { align1 };", *CONSTANT[1:], HEADER, SEND8),
    "header changed": kernel(*CONSTANT, HEADER, "mov(1) m1.2<1>UD 0x00040004UD { align1 nomask };", SEND8),
    "header overwritten": kernel(HEADER, "mov(8) m1<1>F 0.0F { align1 };", *CONSTANT, SEND8),
    "mask changed": kernel("mov(1) g0<1>UD 0x00050005UD { align1 nomask };", *CONSTANT, HEADER, SEND8),
    "all coordinates changed": kernel("mov(8) g1<1>UD 0x00040004UD { align1 nomask };", *CONSTANT, HEADER, SEND8),
    "half a register": kernel(*CONSTANT[1:], "mov(4) m2<1>F 0.5F { align1 };", HEADER, SEND8),
    "by pixel mask": kernel("mov(8) m2<1>F g0<0,1,0>UW { align1 };", *CONSTANT[1:], HEADER, SEND8),
    "color missing": kernel(*CONSTANT[1:], HEADER, SEND8),
    "flags": kernel("cmp.l.f0(8) null<1>F g8.3<0,1,0>F g1<8,8,1>F { align1 };", "mov(8) m2<1>F 0.0F { align1 };",
                    "(+f0) mov(8) m2<1>F 1.0F { align1 };", *CONSTANT[1:], HEADER, SEND8),
}

Triangles = Sequence[tuple[float, ...]]


def large(rng: random.Random, width: int, height: int) -> Triangles:
    """Triangles that cover much, in colors of their own: flat, for all corners have the same."""
    vertices = []
    for _ in range(6):
        red, green, blue, alpha = (rng.choice((0.0, 1.0, rng.random(), -rng.random())) for _ in range(4))
        z = rng.random()
        for _ in range(3):
            vertices.append(vertex(rng.uniform(-width, 2 * width), rng.uniform(-height, 2 * height), z, 1.0,
                                   (red, green, blue, alpha)))
    return vertices


def outcome(pixel_kernel: bytes | None, draw: Callable[[Scene], None], size: tuple[int, int] = (67, 45),
            general_only: bool = False, **scene: Any) -> tuple[Any, ...]:
    made = Scene(Gen.CTG, *size, options=Options(workers=1, general_only=general_only), **scene)
    if pixel_kernel is not None:
        made.pixel_kernel = pixel_kernel
    made.memory.write(TARGET, random.Random(1).randbytes(made.pitch * made.height))
    draw(made)
    counts = {name: count for name, count in made.device.counts().items() if not name.endswith("_ns")}
    depths = made.depths() if made.depth_format is not None else None
    statistics = [int(c) for c in made.device.streamers[Engine.RENDER].state.raw.counter]
    return made.pixels(), depths, counts, statistics


def same(pixel_kernel: bytes | None, draw: Callable[[Scene], None], **scene: Any) -> tuple[Any, ...]:
    """With and without fills; `general_only` has none."""
    filled = outcome(pixel_kernel, draw, **scene)
    assert filled == outcome(pixel_kernel, draw, general_only=True, **scene)
    return filled


@pytest.mark.parametrize("name", FLAT)
@pytest.mark.parametrize("tiling", list(Tiling))
def test_flat_kernels_fill_what_their_threads_would(name: str, tiling: Tiling) -> None:
    rng = random.Random(name)
    for _ in range(4):
        vertices = large(rng, 67, 45)
        same(FLAT[name], lambda scene, v=vertices: scene.draw(v), tiling=tiling)


IMMEDIATE = kernel(*(f"mov(8) m{2 + i}<1>F {value}F {{ align1 }};" for i, value in enumerate((0.25, 0.5, 0.75, 1.0))),
                   HEADER, SEND8)


def small_and_large(rng: random.Random, width: int, height: int) -> Triangles:
    vertices = []
    for _ in range(80):
        x, y, size = rng.uniform(0, width), rng.uniform(0, height), rng.choice((2, 5, 9, 20, 60))
        color = tuple(rng.choice((0.0, 0.5, 1.0)) for _ in range(4))
        vertices += [vertex(x + rng.uniform(-size, size), y + rng.uniform(-size, size), rng.random(), 1.0, color)
                     for _ in range(3)]
    return vertices


@pytest.mark.parametrize("tiling", [Tiling.LINEAR, Tiling.X, Tiling.Y])
@pytest.mark.parametrize("masked", ["", "green"])
@pytest.mark.parametrize("code", [FLAT["constant"], IMMEDIATE], ids=["own colors", "one color"])
def test_many_objects_of_all_sizes(code: bytes, masked: str, tiling: Tiling) -> None:
    """In tiles that are whole and at edges; objects of one color after another may share what is known of it."""
    vertices = small_and_large(random.Random(f"{masked} {tiling}"), 131, 99)
    pixels, _, _, _ = same(code, lambda scene: scene.draw(vertices), size=(131, 99), tiling=tiling,
                           surface={f"color_write_disable_{c}": True for c in masked.split()})
    colors = {value & (0xFFFF00FF if masked else 0xFFFFFFFF) for row in pixels for value in row}
    assert (0xFF4000BF if masked else 0xFF4080BF) in colors or code is not IMMEDIATE


@pytest.mark.parametrize("depth_format", [D32, D24S8, D16])
def test_objects_of_one_color_whose_pixels_fail_the_depth_test(depth_format: int) -> None:
    vertices = small_and_large(random.Random(depth_format), 131, 99)
    clear = 0x8000 if depth_format == D16 else 0x3F000000 if depth_format == D32 else 0x800000
    _, depths, _, _ = same(
        IMMEDIATE, lambda scene: scene.draw(vertices), size=(131, 99), depth_format=depth_format, depth_clear=clear,
        cc={"depth_test_enable": True, "depth_test_function": "LESS", "depth_buffer_write_enable": True},
        wm={"statistics_enable": True})
    assert len({depth for row in depths for depth in row}) > 100


@pytest.mark.parametrize("name", VARIED)
def test_other_kernels_run_for_every_pixel(name: str) -> None:
    color = (0.25, 0.5, 0.75, 1.0)
    corners = [vertex(x, y, 0.0, 1.0, color) for x, y in ((0, 0), (67, 0), (67, 45), (0, 45))]
    same(VARIED[name], lambda scene: scene.draw(corners, T.TRIFAN))


@pytest.mark.parametrize("depth_format", [None, D32, D24S8, D24X8, D16])
@pytest.mark.parametrize("tiling", list(Tiling))
@pytest.mark.parametrize("size", [(160, 96), (130, 100)], ids=["whole tiles", "edges"])
def test_whole_tiles_get_the_value_of_an_earlier_one(size: tuple[int, int], tiling: Tiling,
                                                     depth_format: int | None) -> None:
    """Two rectangles, one after the other, of which each covers several tiles; the second leaves some of the first."""
    corners = []
    for x, z, color in ((0, 0.25, (1.0, 0.5, 0.25, 1.0)), (size[0] - 70, 0.75, (0.0, 0.25, 1.0, 0.5))):
        corners += [vertex(right, bottom, z, 1.0, color) for right, bottom in (size, (x, size[1]), (x, 0))]
    same(FLAT["constant"], lambda scene: scene.draw(corners, T.RECTLIST), size=size, tiling=tiling,
         depth_format=depth_format, depth_clear=0x3F3F3F3F & (0xFFFF if depth_format == D16 else 0xFFFFFFFF),
         cc={"depth_test_enable": True, "depth_test_function": "ALWAYS", "depth_buffer_write_enable": True},
         wm={"statistics_enable": True})


def test_a_large_rectangle_of_one_color_is_one_color() -> None:
    color = (1.0, 0.0, 0.2, 0.6)
    corners = [vertex(x, y, 0.0, 1.0, color) for x, y in ((64, 40), (3, 40), (3, 5))]
    pixels, _, counts, _ = same(FLAT["constant"], lambda scene: scene.draw(corners, T.RECTLIST))
    assert {pixels[y][x] for y in range(5, 40) for x in range(3, 64)} == {0x99FF0033}
    assert sum(value == 0x99FF0033 for row in pixels for value in row) == 61 * 35
    assert counts["instructions"] >= 6 * 61 * 35 / 8


@pytest.mark.parametrize("fields", [
    {"cc": {"alpha_test_enable": True, "alpha_test_function": "GREATER", "alpha_reference_value_as_float32": 0.5}},
    {"cc": {"logic_op_enable": True, "logic_op_function": 6}},
    {"surface": {"color_blend_enable": True},
     "cc": {"color_buffer_blend_enable": True, "color_blend_function": "ADD", "source_blend_factor": "ONE",
            "destination_blend_factor": "ONE"}},
    {"wm": {"statistics_enable": True}, "cc": {"statistics_enable": True}},
    {"wm": {"dispatch_8_pixel_enable": False, "dispatch_32_pixel_enable": True}},
    {"wm": {"polygon_stipple_enable": True}},
])
def test_state_that_matters_is_seen(fields: dict[str, Any]) -> None:
    vertices = large(random.Random(3), 67, 45)
    same(FLAT["constant"], lambda scene: scene.draw(vertices), **fields)


@pytest.mark.parametrize("format", [F.B8G8R8A8_UNORM, F.B8G8R8X8_UNORM, F.R8G8B8A8_SNORM, F.R16G16_UNORM, F.R32_FLOAT,
                                    F.B5G6R5_UNORM, F.R8_UNORM, F.R16G16B16A16_FLOAT, F.R32G32B32A32_FLOAT,
                                    F.B10G10R10A2_UNORM, F.B8G8R8A8_UNORM_SRGB, F.B4G4R4A4_UNORM])
def test_every_size_of_pixel(format: F) -> None:
    vertices = large(random.Random(5), 67, 45)
    same(FLAT["constant"], lambda scene: scene.draw(vertices), format=format)


@pytest.mark.parametrize("tiling", [Tiling.LINEAR, Tiling.X, Tiling.Y])
@pytest.mark.parametrize("masked", ["red", "alpha", "red green", "red green blue", "red green blue alpha"])
@pytest.mark.parametrize("format", [F.B8G8R8A8_UNORM, F.B8G8R8X8_UNORM, F.R16G16B16A16_UNORM, F.R8_UNORM])
def test_channels_that_are_not_written_stay(format: F, masked: str, tiling: Tiling) -> None:
    """Beside depth and stencil, which the same draw clears, in whole tiles and in others."""
    color = (0.25, 0.5, 0.75, 1.0)
    corners = [vertex(x, y, 0.5, 1.0, color) for x, y in ((121, 93), (7, 93), (7, 3))]
    pixels, _, _, _ = same(
        FLAT["constant"], lambda scene: scene.draw(corners, T.RECTLIST), size=(150, 110), format=format, tiling=tiling,
        depth_format=D24S8, depth_clear=0xABCDEF, surface={f"color_write_disable_{c}": True for c in masked.split()},
        cc={"depth_test_enable": True, "depth_test_function": "ALWAYS", "depth_buffer_write_enable": True,
            "stencil_test_enable": True, "stencil_buffer_write_enable": True, "stencil_test_function": "ALWAYS",
            "stencil_write_mask": 0x0F, "stencil_reference_value": 0x5A, "stencil_pass_depth_pass_op": "REPLACE"},
        wm={"statistics_enable": True})
    if format == F.B8G8R8A8_UNORM:
        kept = {"red": 0xFF0000, "green": 0xFF00, "blue": 0xFF, "alpha": 0xFF000000}
        written = 0xFFFFFFFF & ~sum(kept[c] for c in masked.split())
        inside = {pixels[y][x] for y in range(3, 93) for x in range(7, 121)}
        assert {value & written for value in inside} == {0xFF4080BF & written}
        assert len(inside) > 1


def test_wide_threads_of_a_flat_kernel() -> None:
    code = kernel(*CONSTANT_16, "mov(8) m2<1>UD g1<8,8,1>UD { align1 nomask };",
                  f"send(16) 1 null<1>UW g0<8,8,1>UW {WRITE_16} write {{ align1 EOT }};")
    wide = {"dispatch_8_pixel_enable": False, "dispatch_16_pixel_enable": True}
    for seed in range(6):
        vertices = large(random.Random(seed), 130, 90)
        same(code, lambda scene, v=vertices: scene.draw(v), size=(130, 90),
             tiling=[Tiling.X, Tiling.Y][seed & 1], wm=wide)


@pytest.mark.parametrize("format", [D32, D24S8, D24X8, D16])
@pytest.mark.parametrize("function", ["ALWAYS", "LESS", None])
@pytest.mark.parametrize("slope", [0.0, 0.001])
def test_depth_that_is_flat(format: int, function: str | None, slope: float) -> None:
    test = {"depth_test_enable": function is not None, "depth_test_function": function or "NEVER",
            "depth_buffer_write_enable": True}
    vertices = [vertex(x, y, 0.3 + slope * x, 1.0) for x, y in ((1, 1), (66, 1), (66, 44), (1, 44))]
    for threads in (True, False):
        pixels, depths, _, _ = same(
            FLAT["constant"], lambda scene: scene.draw(vertices, T.TRIFAN), depth_format=format, depth_clear=0xABCD,
            cc=test, wm={"thread_dispatch_enable": threads, "statistics_enable": True})
        passes = function != "LESS" or format == D16  # 0.3 is less than 0xabcd of 16 bits, not of more
        assert (depths[20][20] != 0xABCD) == passes
        assert (pixels[20][20] == 0xFFFFFFFF) == (threads and passes)


@pytest.mark.parametrize("threads", [True, False])
def test_flat_depth_of_which_the_left_pixels_are_outside_of_the_buffer(threads: bool) -> None:
    """The first row of subspans begins with a pixel of its lower row, which has no depth."""
    vertices = [vertex(x, y, 0.5, 1.0) for x, y in ((31, 0), (-40, 2), (31, 40))]
    _, depths, _, _ = same(
        FLAT["constant"], lambda scene: scene.draw(vertices), size=(64, 48), depth_format=D32, depth_clear=0xABCD,
        depth={"depth_coordinate_offset_x": -8}, wm={"thread_dispatch_enable": threads, "statistics_enable": True},
        cc={"depth_test_enable": True, "depth_test_function": "ALWAYS", "depth_buffer_write_enable": True})
    assert {depth for row in depths for depth in row} == {0xABCD, 0x3F000000}


def test_stencil_beside_flat_depth_stays() -> None:
    corners = [vertex(x, y, 0.5, 1.0) for x, y in ((0, 0), (67, 0), (67, 45), (0, 45))]

    def draw(scene: Scene) -> None:
        scene.memory.write(DEPTH, bytes(i // 4 % 251 if i % 4 == 3 else 0 for i in range(scene.depth_pitch * 64)))
        before = scene.depths()
        scene.draw(corners, T.TRIFAN)
        assert scene.depths() == [[value | 0x800000 for value in row] for row in before]

    same(FLAT["constant"], draw, depth_format=D24S8, cc={"depth_buffer_write_enable": True},
         wm={"thread_dispatch_enable": False})


@pytest.mark.parametrize("operation", ["KEEP", "ZERO", "REPLACE", "INCRSAT", "DECR", "INVERT"])
@pytest.mark.parametrize("function", ["ALWAYS", "NEVER", "EQUAL"])
@pytest.mark.parametrize("write", [True, False])
def test_stencil_that_is_written_beside_flat_depth(operation: str, function: str, write: bool) -> None:
    """As drivers clear both; what depends on a pixel's own stencil value is not filled."""
    corners = [vertex(x, y, 0.5, 1.0) for x, y in ((0, 0), (67, 0), (67, 45), (0, 45))]

    def draw(scene: Scene) -> None:
        scene.memory.write(DEPTH, random.Random(2).randbytes(scene.depth_pitch * 64))
        scene.draw(corners, T.TRIFAN)

    for mask, double_sided in ((0xFF, False), (0x3C, False), (0, False), (0xFF, True)):
        _, depths, _, _ = same(
            FLAT["constant"], draw, depth_format=D24S8, wm={"thread_dispatch_enable": False},
            cc={"depth_buffer_write_enable": True, "stencil_test_enable": True, "stencil_buffer_write_enable": write,
                "stencil_test_function": function, "stencil_test_mask": 0xFF, "stencil_write_mask": mask,
                "stencil_reference_value": 0x5A, "stencil_pass_depth_pass_op": operation,
                "stencil_fail_op": "INVERT", "double_sided_stencil_enable": double_sided,
                "backface_stencil_test_function": "ALWAYS", "backface_stencil_test_mask": 0xFF,
                "backface_stencil_write_mask": 0xF0, "backface_stencil_reference_value": 0x77,
                "backface_stencil_pass_depth_pass_op": "REPLACE"})
        if function == "ALWAYS" and operation == "REPLACE" and write and mask == 0xFF and not double_sided:
            assert {value for row in depths for value in row} == {0x5A800000}


def test_a_kernel_that_reads_source_depth_is_not_flat() -> None:
    code = kernel("mov(8) m2<1>F g2<0,1,0>F { align1 };", *CONSTANT[1:], HEADER, SEND8)
    corners = [vertex(x, y, x / 100, 1.0) for x, y in ((0, 0), (67, 0), (67, 45), (0, 45))]
    pixels, _, _, _ = same(code, lambda scene: scene.draw(corners, T.TRIFAN), depth_format=D32,
                           wm={"pixel_shader_uses_source_depth": True})
    assert pixels[5][5] != pixels[5][50]


def test_flat_depth_reaches_a_kernel_that_reads_it() -> None:
    code = kernel("mov(8) m2<1>F g2<8,8,1>F { align1 };", *CONSTANT[1:], HEADER, SEND8)
    corners = [vertex(x, y, 0.3, 1.0) for x, y in ((0, 0), (67, 0), (67, 45), (0, 45))]
    pixels, depths, _, _ = same(code, lambda scene: scene.draw(corners, T.TRIFAN), depth_format=D32,
                                cc={"depth_buffer_write_enable": True}, wm={"pixel_shader_uses_source_depth": True})
    assert {value for row in pixels for value in row} == {0xFF4DFFFF}
    assert len({value for row in depths for value in row[:67]}) == 1


def test_tiles_are_tested_before_a_kernel_that_reads_the_depth_of_their_pixels() -> None:
    code = kernel("mov(8) m2<1>F g2<8,8,1>F { align1 };", *CONSTANT[1:], HEADER, SEND8)
    slopes = [[vertex(x, y, (x if across else y) / 100, 1.0) for x, y in ((0, 0), (67, 0), (67, 45), (0, 45))]
              for across in (True, False)]
    pixels, depths, _, _ = same(code, lambda scene: [scene.draw(slope, T.TRIFAN) for slope in slopes],
                                depth_format=D24S8, depth_clear=0xffffff,
                                wm={"pixel_shader_uses_source_depth": True},
                                cc={"depth_buffer_write_enable": True, "depth_test_enable": True,
                                    "depth_test_function": "LEQUAL"})
    for x, y in ((60, 10), (10, 40), (33, 32), (31, 33)):
        assert pixels[y][x] >> 16 & 0xff == round(255 * (min(x, y) + .5) / 100)
        assert depths[y][x] & 0xffffff == pytest.approx((2 ** 24 - 1) * (min(x, y) + .5) / 100, abs=2)


def test_each_object_has_its_own_color_and_depth_in_every_tile() -> None:
    """They are set up in the same memory, since 16384 objects are a batch."""
    def draw(scene: Scene) -> None:
        outside = [vertex(x, y, 0.0, 1.0) for x, y in ((-9, -9), (-8, -9), (-9, -8))] * 16383
        vertices = []
        for z, value in ((0.25, 1.0), (0.5, 0.75), (0.75, 0.5)):
            vertices += [vertex(x, y, z, 1.0, (value, 0.0, 1.0, 1.0))
                         for x, y in ((-200, -200), (600, 40 * z), (-20, 400))]
            vertices += outside
        scene.draw(vertices)

    depth = {"depth_buffer_write_enable": True, "depth_test_enable": True, "depth_test_function": "ALWAYS"}
    same(FLAT["constant"], draw, size=(200, 150), depth_format=D32, cc=depth)


@pytest.mark.parametrize("depth_format", [D32, D24S8])
@pytest.mark.parametrize(("z", "green"), [(0.25, 1.0), (0.25, 0.0), (0.5, 1.0)], ids=["equal", "color", "depth"])
def test_the_triangles_of_a_rectangle_share_values_only_if_these_are_equal(z: float, green: float,
                                                                           depth_format: int) -> None:
    """In a row of tiles, there is one triangle, then both, then the other one."""
    vertices = []
    for value, color, third in ((0.25, 1.0, (160, 0)), (z, green, (0, 128))):
        vertices += [vertex(x, y, value, 1.0, (0.0, color, 1.0, 1.0)) for x, y in ((0, 0), (160, 128), third)]
    pixels, depths, _, _ = same(
        FLAT["constant"], lambda scene: scene.draw(vertices), size=(160, 128), depth_format=depth_format,
        depth_clear=0x123456, wm={"statistics_enable": True},
        cc={"depth_buffer_write_enable": True, "depth_test_enable": True, "depth_test_function": "ALWAYS"})
    assert {pixels[0][159], pixels[127][0]} == {0xFF00FFFF, 0xFF00FFFF if green else 0xFF0000FF}
    assert (depths[0][159] == depths[127][0]) == (z == 0.25)


def test_a_color_that_fails_the_alpha_test_leaves_what_there_was() -> None:
    def draw(scene: Scene) -> None:
        small, big = (vertex(0, 0, 0.0, 1.0, (1.0, 1.0, 0.0, 1.0)), vertex(0, 0, 0.0, 1.0, (0.0, 0.0, 1.0, 0.25)))
        scene.draw([(x, y, *color[2:]) for color, w, h in ((small, 9, 9), (big, 67, 45))
                    for x, y in ((w, h), (0, h), (0, 0))], T.RECTLIST)

    pixels, _, _, _ = same(FLAT["constant"], draw, cc={
        "alpha_test_enable": True, "alpha_test_function": "GREATER", "alpha_test_format": 1,
        "alpha_reference_value_as_float32": 0.5})
    assert {(x, y) for y, row in enumerate(pixels) for x, value in enumerate(row) if value == 0xFFFFFF00} == {
        (x, y) for y in range(9) for x in range(9)}


def test_what_lies_under_a_fill_is_drawn_before_and_what_lies_over_it_after() -> None:
    def draw(scene: Scene) -> None:
        vertices = []
        for i, (x, y, w, h) in enumerate(((0, 0, 9, 9), (0, 0, 67, 45), (8, 8, 5, 5), (2, 2, 60, 40), (20, 20, 3, 3))):
            color = (i / 4, 1 - i / 4, 0.5, 1.0)
            vertices += [vertex(a, b, 0.0, 1.0, color) for a, b in ((x + w, y + h), (x, y + h), (x, y))]
        scene.draw(vertices, T.RECTLIST)

    pixels, _, _, _ = same(FLAT["constant"], draw, tiling=Tiling.X)
    assert pixels[21][21] == 0xFFFF0080
    assert pixels[30][50] == pixels[10][10] == 0xFFBF4080
    assert pixels[44][66] == 0xFF40BF80


@pytest.mark.parametrize("tiling", list(Tiling))
@pytest.mark.parametrize("surface", [
    {"width": 33, "height": 31}, {"height": 50}, {"width": 50}, {"surface_base_address": 0xF000000},
    {"surface_type": 7}, {"x_offset": 8, "y_offset": 4, "width": 120, "height": 120}])
def test_a_surface_that_ends_inside_of_the_object_lies_elsewhere_or_is_not_there(tiling: Tiling,
                                                                                 surface: dict[str, int]) -> None:
    if tiling is Tiling.LINEAR and "x_offset" in surface:
        surface = {}  # offsets are of tiled surfaces alone
    corners = [vertex(x, y, 0.0, 1.0) for x, y in ((128, 128), (0, 128), (0, 0))]
    same(FLAT["constant"], lambda scene: scene.draw(corners, T.RECTLIST), size=(128, 128), surface=surface,
         tiling=tiling)
