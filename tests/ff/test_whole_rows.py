"""Gangs of two whole rows of a tile, whose places are taken from the windower if the kernel sends its header unchanged.

Kernels draw the same rectangle, larger than a tile, once as usual and once on the general path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from gen4emu._native import lib
from gen4emu.device.options import Options
from gen4emu.device.tiling import Tiling
from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology
from gen4emu.isa import assemble
from tests.harness.messages import INVERSE, WRITE_16, operand, target_write
from tests.harness.scene import DEPTH, Scene, vertex

GEN = Gen.CTG
WIDTH, HEIGHT = 128, 96
VARIANTS = range(lib.g4_variant_best() + 1)

# Red and green are the coordinates.
COLORS = """
add(16) g46<1>UW g1.4<2,4,0>UW 0x10101010V { align1 };
add(16) g48<1>UW g1.5<2,4,0>UW 0x11001100V { align1 };
mov(8) g50<1>F g46<8,8,1>UW { align1 };
mov(8) g51<1>F g46.8<8,8,1>UW { align1 sechalf };
mov(8) g52<1>F g48<8,8,1>UW { align1 };
mov(8) g53<1>F g48.8<8,8,1>UW { align1 sechalf };
mul(16) m3<1>F g50<8,8,1>F 0.0078125F { align1 compr4 };
mul(16) m4<1>F g52<8,8,1>F 0.0078125F { align1 compr4 };
mov(16) m5<1>F 0.25F { align1 compr4 };
mov(16) m6<1>F 1.0F { align1 compr4 };
"""
COPY = "mov(8) m2<1>UD g1<8,8,1>UD { align1 nomask };\n"
TO_THE_RIGHT = "add(4) g{0}.2<1>UD g1.2<4,4,1>UD 8UD {{ align1 nomask }};\n"
ELSEWHERE = "mov(8) g30<1>UD g1<8,8,1>UD { align1 nomask };\n" + TO_THE_RIGHT.format(30)
END = f"send(16) 1 null<1>UW g0<8,8,1>UW {WRITE_16} write {{ align1 EOT }};\n"
FIRST_OF_TWO = operand("DATA_PORT_WRITE_MESSAGE", length=10, message_type="RENDER_TARGET",
                       render_target_write_type="SIMD16")
ALIKE = {
    "as dispatched": COPY,
    "after a message that has used its register":
        f"mov(8) g30<1>F 2.0F {{ align1 }};\nsend(8) 2 g32<1>F g30<8,8,1>F {INVERSE} math {{ align1 }};\n"
        + COPY,
    "copied twice": COPY + COPY,
}
DIFFERENT = {
    "changed before": TO_THE_RIGHT.format(1) + COPY,
    "another register": ELSEWHERE + "mov(8) m2<1>UD g30<8,8,1>UD { align1 nomask };\n",
    "replaced after the copy": ELSEWHERE + COPY + "mov(8) m2<1>UD g30<8,8,1>UD { align1 nomask };\n",
    "replaced by the implied move of another message":
        ELSEWHERE + COPY + f"send(8) 2 g32<1>F g30<8,8,1>F {INVERSE} math {{ align1 }};\n",
    "positions replaced after the copy": TO_THE_RIGHT.format(30) + COPY
                                         + "mov(4) m2.2<1>UD g30.2<4,4,1>UD { align1 nomask };\n",
    "replaced by the second half of an instruction":
        "mov(8) g30<1>UD 0UD { align1 nomask };\nmov(8) g31<1>UD g1<8,8,1>UD { align1 nomask };\n"
        + TO_THE_RIGHT.format(31) + COPY + "mov(16) m1<1>UD g30<8,8,1>UD { align1 compr nomask };\n",
    "pixels masked in R0": COPY + "and(1) g0<1>UD g0<0,1,0>UD 0x5a5aUD { align1 nomask };\n",
    "pixels masked in another register":
        COPY + "and(8) g30<1>UD g0<8,8,1>UD 0x5a5aUD { align1 nomask };\n" + END.replace(" g0<", " g30<"),
    "eight pixels": COPY + END.replace(WRITE_16, target_write(6)),
    # To the left, where the tile before is complete.
    "two messages, the first elsewhere":
        "mov(8) m2<1>UD g1<8,8,1>UD { align1 nomask };\nadd(4) m2.2<1>UD g1.2<4,4,1>UD -8D { align1 nomask };\n"
        + f"send(16) 1 null<1>UW g0<8,8,1>UW {FIRST_OF_TWO} write {{ align1 }};\n" + COPY,
    # Red is 1, because the product is infinite.  In ALT mode it would be 0, because the product would be the largest
    # number.  A thread sets that mode at its end, so none computes in it.
    "a control register that is changed at the end":
        "mov(16) g30<1>UD 0x7f000000UD { align1 compr };\nmul(16) g32<1>F g30<8,8,1>F 1000.0F { align1 compr };\n"
        "mov(16) g34<1>UD 0x7f7fffffUD { align1 compr };\n"
        "add(16) m3<1>F g32<8,8,1>F -g34<8,8,1>F { align1 compr4 };\n"
        "or(1) cr0<1>UD cr0<0,1,0>UD 1UD { align1 nomask };\n" + COPY,
}


@pytest.fixture(autouse=True)
def keep_variant() -> Iterator[None]:
    before = lib.g4_variant_current()
    yield
    lib.g4_set_variant(before)


def draw(header: str, tiling: Tiling = Tiling.X, general: bool = False, wm: Mapping[str, Any] | None = None,
         surface: Mapping[str, Any] | None = None) -> list[list[int]]:
    scene = Scene(GEN, WIDTH, HEIGHT, options=Options(workers=1, general_only=general), tiling=tiling,
                  wm={"dispatch_8_pixel_enable": False, "dispatch_16_pixel_enable": True, **(wm or {})},
                  surface=surface or {})
    scene.pixel_kernel = assemble(COLORS + header + ("" if "EOT" in header else END), GEN)
    corners = [vertex(x, y, 0.5, 1.0, (0.0, 0.0, 0.0, 0.0)) for x, y in ((110, 90), (3, 90), (3, 2))]
    for _ in range(3):  # at first by the interpreter, later as machine code
        scene.run(scene.prepare(corners) + scene.primitive(PrimitiveTopology.RECTLIST, 3))
    return [list(row) for row in scene.pixels()]


def byte_of(coordinate: int) -> int:
    return int(coordinate / 128 * 255 + 0.5)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("tiling", [Tiling.X, Tiling.Y, Tiling.LINEAR])
@pytest.mark.parametrize("name", ALIKE)
def test_threads_write_where_they_were_dispatched(name: str, tiling: Tiling, variant: int) -> None:
    lib.g4_set_variant(variant)
    pixels = draw(ALIKE[name], tiling)
    assert pixels == draw(ALIKE[name], tiling, general=True)
    for y in range(2, 90):
        assert [pixel >> 16 & 0xFF for pixel in pixels[y][3:110]] == [byte_of(x) for x in range(3, 110)]
        assert {pixel >> 8 & 0xFF for pixel in pixels[y][3:110]} == {byte_of(y)}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", DIFFERENT)
def test_threads_write_where_their_message_says(name: str, variant: int) -> None:
    lib.g4_set_variant(variant)
    pixels = draw(DIFFERENT[name])
    assert pixels == draw(DIFFERENT[name], general=True)
    assert pixels != draw(COPY)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("start", [0, 1, 2])
def test_coefficients_may_replace_the_header(start: int, variant: int) -> None:
    lib.g4_set_variant(variant)
    wm = {"dispatch_grf_start_register": start}
    pixels = draw(COPY, wm=wm)
    assert pixels == draw(COPY, general=True, wm=wm)
    assert (pixels == draw(COPY)) == (start == 2)


SURFACES: Mapping[str, Mapping[str, Any]] = {
    "every other line": {"vertical_line_stride": True, "height": HEIGHT // 2},
    "that begins within a tile": {"x_offset": 12, "y_offset": 4},
    "narrower than the object": {"width": 77},
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("tiling", [Tiling.X, Tiling.Y])
@pytest.mark.parametrize("name", SURFACES)
def test_rows_of_a_target(name: str, tiling: Tiling, variant: int) -> None:
    lib.g4_set_variant(variant)
    pixels = draw(COPY, tiling, surface=SURFACES[name])
    assert pixels == draw(COPY, tiling, general=True, surface=SURFACES[name])
    assert pixels != draw(COPY, tiling)


# Red is the destination depth, which the payload has in front of the coefficients; it is kept.
OF_DESTINATION_DEPTH = "".join(
    f"mov(16) m{3 + channel}<1>F g2<8,8,1>F {{ align1 compr4 }};\n" for channel in range(4)) + f"""
mov(16) m11<1>F g2<8,8,1>F {{ align1 compr }};
mov(16) m13<1>F g2<8,8,1>F {{ align1 compr }};
{COPY}send(16) 1 null<1>UW g0<8,8,1>UW {target_write(14, "SIMD16")} write {{ align1 EOT }};
"""


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_gang_has_its_own_destination_depths(variant: int) -> None:
    lib.g4_set_variant(variant)
    scene = Scene(GEN, WIDTH, HEIGHT, options=Options(workers=1), depth_format=1,  # D32_FLOAT
                  cc={"depth_test_enable": True, "depth_test_function": "ALWAYS"},
                  wm={"dispatch_8_pixel_enable": False, "dispatch_16_pixel_enable": True,
                      "pixel_shader_computed_depth": True})
    depths = np.linspace(0, 1, scene.depth_pitch // 4 * HEIGHT, dtype=np.float32)
    scene.memory.write(DEPTH, depths.tobytes())
    before = np.array(scene.depths(), np.uint32)
    scene.pixel_kernel = assemble(OF_DESTINATION_DEPTH, GEN)
    corners = [vertex(x, y, 0.5, 1.0, (0.0, 0.0, 0.0, 0.0)) for x, y in ((WIDTH, HEIGHT), (0, HEIGHT), (0, 0))]
    scene.run(scene.prepare(corners) + scene.primitive(PrimitiveTopology.RECTLIST, 3))
    red = np.array(scene.pixels(), np.uint32) >> 16 & 0xFF
    assert (red == np.floor(before.view(np.float32) * np.float32(255) + np.float32(0.5))).all()
    assert (np.array(scene.depths(), np.uint32) == before).all()
