"""Render target writes of Gen7 to Gen9, one shader at a time (tests/harness/canvas_gen7.py)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gen4emu._native import lib
from gen4emu.device.tiling import SurfaceLayout, Tiling
from tests.harness.canvas_gen7 import SIDE, TARGETS, Canvas7, color, send

SHIFTS = (0, 5, 24, 27)
PARTS = pytest.mark.parametrize("part", ["ivb", "hsw", "skl", "kbl"])


def filled(x1: int, y1: int, x2: int, y2: int, *pixel: int) -> np.ndarray:
    expected = np.zeros((SIDE, SIDE, len(pixel)), np.uint8)
    expected[y1:y2, x1:x2] = pixel
    return expected


@PARTS
def test_a_shader_writes_the_pixels_of_its_object_only(part: str) -> None:
    canvas = Canvas7(part)
    image = canvas.draw(color(1.0, 0.5, 0.0, 1.0) + send(canvas.write()), 3, 2, 21, 9)
    assert np.array_equal(image, filled(3, 2, 21, 9, 255, 128, 0, 255))
    assert canvas.device.events() == []
    assert canvas.device.findings.count == {}


@PARTS
def test_each_message_writes_the_target_that_it_names(part: str) -> None:
    canvas = Canvas7(part, ("R8G8B8A8_UNORM", "R32G32B32A32_FLOAT"))
    canvas.draw(color(0.0, 1.0, 0.0, 1.0) + send(canvas.write(last=False), last=False) +
                color(-2.5, 1e9, 0.25, 7.0) + send(canvas.write(target=1)), 4, 4, 8, 8)
    assert np.array_equal(canvas.image(0), filled(4, 4, 8, 8, 0, 255, 0, 255))
    floats = np.array([-2.5, 1e9, 0.25, 7.0], np.float32).view(np.uint8)
    assert np.array_equal(canvas.image(1), filled(4, 4, 8, 8, *floats))
    assert canvas.device.events() == []


@PARTS
def test_the_blend_state_of_the_target_applies(part: str) -> None:
    canvas = Canvas7(part)
    kernel = color(0.5, 0.5, 0.5, 0.5) + send(canvas.write())
    added = {"color_buffer_blend_enable": True, "color_blend_function": "ADD", "source_blend_factor": "ONE",
             "destination_blend_factor": "ONE", "alpha_blend_function": "ADD", "source_alpha_blend_factor": "ONE",
             "destination_alpha_blend_factor": "ONE", "write_disable_green": True}
    enable = {"3DSTATE_PS_BLEND": {"color_buffer_blend_enable": True}} if part in ("skl", "kbl") else {}
    canvas.draw(kernel, 0, 0, 8, 8)
    image = canvas.draw(kernel, 0, 0, 8, 8, blend=added, commands=enable)
    assert image[0, 0].tolist() == [255, 128, 255, 255]
    assert np.array_equal(image, filled(0, 0, 8, 8, 255, 128, 255, 255))


@PARTS
@pytest.mark.parametrize(("format", "one"), [("R8G8B8A8_UNORM", 255), ("R8G8B8A8_SNORM", 127), ("R8G8B8A8_UINT", 1),
                                             ("R8G8B8A8_SINT", 1)])
def test_logic_ops_are_for_unorm_and_from_gen8_on_for_integers(part: str, format: str, one: int) -> None:
    """Broadwell PRM vol. 7, Logic Ops: "all blendable render targets and render targets with *INT formats"."""
    canvas = Canvas7(part, (format,))
    canvas.device.memory.write(TARGETS, bytes([0x5A]) * (4 * SIDE * SIDE))
    kernel = color(1.0, 1.0, 1.0, 1.0)
    if format.endswith("INT"):
        kernel = kernel.replace("<1>F 1.0F", "<1>UD 0x1UD")
    image = canvas.draw(kernel + send(canvas.write()), blend={"logic_op_enable": True, "logic_op_function": "XOR"})
    applies = format.endswith("UNORM") or part in ("skl", "kbl")
    assert image[0, 0].tolist() == [one ^ 0x5A if applies else one] * 4
    assert canvas.device.events() == []


@PARTS
@pytest.mark.parametrize(("format", "pixel"), [("R8G8B8A8_UNORM_SRGB", [255] * 4), ("R16G16_FLOAT", [0, 0x3C] * 2)])
def test_logic_ops_let_floats_and_srgb_pass(part: str, format: str, pixel: list[int]) -> None:
    canvas = Canvas7(part, (format,))
    image = canvas.draw(color(1.0, 1.0, 1.0, 1.0) + send(canvas.write()),
                        blend={"logic_op_enable": True, "logic_op_function": "CLEAR"})
    assert image[0, 0].tolist() == pixel


@PARTS
def test_commands_change_the_draw(part: str) -> None:
    canvas = Canvas7(part)
    kernel = color(1.0, 1.0, 1.0, 1.0) + send(canvas.write())
    image = canvas.draw(kernel, commands={"3DSTATE_DRAWING_RECTANGLE": {"clipped_drawing_rectangle_x_max": 9}})
    assert np.array_equal(image, filled(0, 0, 10, SIDE, 255, 255, 255, 255))
    black = color(0.0, 0.0, 0.0, 0.0) + send(canvas.write())
    image = canvas.draw(black, commands={"3DPRIMITIVE": {"start_vertex_location": 3}})
    assert np.array_equal(image, filled(0, 0, 10, SIDE, 255, 255, 255, 255)), "no vertex is in the buffer"
    image = canvas.draw(black, commands={"3DSTATE_LINE_STIPPLE": {"line_stipple_pattern": 0xFFFF}})
    assert not image.any()


@pytest.fixture(params=range(lib.g4_variant_best() + 1))
def variant(request: pytest.FixtureRequest) -> Iterator[int]:
    before = lib.g4_variant_current()
    lib.g4_set_variant(request.param)
    yield request.param
    lib.g4_set_variant(before)


@PARTS
@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.usefixtures("variant")
def test_integers_of_eight_bits_are_clamped(part: str, tiled: bool) -> None:
    """Drivers copy with them, sixteen pixels a message; integers are unsigned up to 32 bits."""
    kernel = "mov(16) g110<1>UD g1.4<2,4,0>UW { align1 1H };\n" + "".join(
        f"shl(16) g{112 + 2 * c}<1>UD g110<8,8,1>UD {shift}UD {{ align1 1H }};\n" for c, shift in enumerate(SHIFTS))
    canvas = Canvas7(part, ("R8G8B8A8_UINT",))
    if tiled:
        gen9 = part in ("skl", "kbl")
        canvas.surface(0, surface_format="R8G8B8A8_UINT",
                       **{"tile_mode": "YMAJOR"} if gen9 else {"tiled_surface": True, "tile_walk": "YMAJOR"})
    canvas.draw(kernel + f"sendc(16) null<1>UW g112<8,8,1>UD {canvas.write(8, 'SIMD16')} {{ align1 1H EOT }};\n",
                3, 1, 30, 13, commands={
                    "3DSTATE_PS": {"dispatch_8_pixel_enable": False, "dispatch_16_pixel_enable": True}})
    layout = SurfaceLayout(TARGETS, 4 * SIDE, SIDE, SIDE, 4, Tiling.Y if tiled else Tiling.LINEAR)
    image = np.frombuffer(layout.read(canvas.device.memory), np.uint8).reshape(SIDE, SIDE, 4)
    column = np.arange(SIDE)[:, None] & ~1  # a channel has the place of its subspan
    expected = np.zeros((SIDE, SIDE, 4), np.uint8)
    expected[1:13, 3:30] = np.minimum(column << np.array(SHIFTS), 255).astype(np.uint8)[3:30]
    assert np.array_equal(image, expected)
    assert canvas.device.events() == []
