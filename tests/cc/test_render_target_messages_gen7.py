"""The parts of render target messages of Gen7 to Gen9: headers, masks, second colors, replicated data, reads."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from gen4emu.hw.catalogue import block_named
from tests.harness.canvas_gen7 import SIDE, TARGETS, Canvas7, color, send
from tests.harness.messages import descriptor

PARTS = pytest.mark.parametrize("part", ["ivb", "hsw", "skl", "kbl"])
LATER = pytest.mark.parametrize("part", ["skl", "kbl"])
WIDTH, HEIGHT = 8, 4  # of the rectangles: two threads of 8 pixels in a row, and two rows of them
WHITE = color(1.0, 1.0, 1.0, 1.0)
# g118 and g119 become the header.  The channels of a thread are two subspans of 2x2 pixels.
HEADER = ("mov(8) g118<1>UD g0<8,8,1>UD { align1 WE_all 1Q };\n"
          "mov(8) g119<1>UD g1<8,8,1>UD { align1 WE_all 1Q };\n")


def lit(image: np.ndarray) -> set[tuple[int, int]]:
    return {(int(x), int(y)) for y, x in np.argwhere(image.any(axis=2))}


def pixels(columns: set[int], rows: set[int]) -> set[tuple[int, int]]:
    return {(x, y) for x in columns for y in rows}


def or_in(dword: str, bits: int) -> str:
    return f"or(1) {dword}<1>UD {dword}<0,1,0>UD 0x{bits:08x}UD {{ align1 WE_all 1N }};\n"


def block_bit(name: str, canvas: Canvas7) -> int:
    """A flag in dword 0 of the header."""
    return block_named("RENDER_TARGET_WRITE_HEADER", canvas.gen).field(name, canvas.gen).mask


@PARTS
def test_the_mask_of_a_header_gates_the_write(part: str) -> None:
    canvas = Canvas7(part)
    kernel = WHITE + HEADER + ("and(1) g119.7<1>UD g119.7<0,1,0>UD 0xFFFF0035UD { align1 WE_all 1N };\n" +
                               send(canvas.write(6, header_present=True), 118))
    image = canvas.draw(kernel, 0, 0, WIDTH, HEIGHT)
    # 0x35: channels 0 and 2, the left column of the first subspan, and 4 and 5, the upper row of the second one
    assert lit(image) == pixels({0, 4}, {0, 1, 2, 3}) | pixels({2, 3, 6, 7}, {0, 2})
    assert canvas.device.events() == []


@PARTS
@pytest.mark.parametrize("by_header", [False, True])
def test_an_output_mask_of_zero_drops_a_pixel(part: str, by_header: bool) -> None:
    """The mask has a word for each channel; with one sample, bit 0 counts."""
    canvas = Canvas7(part)
    gen9 = part in ("skl", "kbl")
    masks = "".join(f"mov(1) g120.{channel}<1>UW {mask}UW {{ align1 WE_all 1N }};\n"
                    for channel, mask in enumerate((1, 0, 0, 0xFFFF, 2, 3, 0xFFFE, 0)))
    kernel = color(1.0, 1.0, 1.0, 1.0, 121) + masks
    if by_header:
        bit = block_bit("output_mask_present", canvas)
        kernel += HEADER + or_in("g118", bit) + send(canvas.write(7, header_present=True), 118)
    else:
        kernel += send(canvas.write(5))
    commands = ({"3DSTATE_PS_EXTRA": {"omask_present_to_render_target": True}} if gen9 else
                {"3DSTATE_PS": {"omask_present_to_rendertarget": True}})
    image = canvas.draw(kernel, 0, 0, WIDTH, HEIGHT, commands=commands)
    # channels 0, 3 and 5
    assert lit(image) == pixels({0, 4}, {0, 2}) | pixels({1, 5}, {1, 3}) | pixels({3, 7}, {0, 2})
    assert canvas.device.events() == []


@PARTS
def test_the_second_color_is_a_blend_factor(part: str) -> None:
    canvas = Canvas7(part)
    gen9 = part in ("skl", "kbl")
    blend = {"color_buffer_blend_enable": True, "color_blend_function": "ADD", "source_blend_factor": "SRC1_COLOR",
             "destination_blend_factor": "ZERO"}
    commands = {"3DSTATE_PS_BLEND": {"color_buffer_blend_enable": True}} if gen9 else {
        "3DSTATE_PS": {"dual_source_blend_enable": True}}
    kernel = (color(1.0, 1.0, 0.5, 1.0, 110) + color(0.0, 1.0, 1.0, 0.25, 114) +
              send(canvas.write(8, "SIMD8_DUAL_SOURCE_LOW"), 110))
    image = canvas.draw(kernel, 0, 0, WIDTH, HEIGHT, blend=blend, commands=commands)
    assert image[0, 0].tolist() == [0, 255, 128, 64], "alpha has the factor of the colors"
    assert lit(image) == pixels(set(range(WIDTH)), set(range(HEIGHT)))
    assert canvas.device.events() == []


@PARTS
def test_replicated_data_are_one_color_for_sixteen_pixels(part: str) -> None:
    canvas = Canvas7(part)
    kernel = "".join(f"mov(1) g120.{i}<1>F {value}F {{ align1 WE_all 1N }};\n"
                     for i, value in enumerate((1.0, 0.0, 0.5, 1.0)))
    kernel += (f"sendc(16) null<1>UW g120<8,8,1>UD {canvas.write(1, 'SIMD16_REPLICATED')} "
               "{ align1 1H EOT };\n")
    image = canvas.draw(kernel, 0, 0, WIDTH, HEIGHT, commands={
        "3DSTATE_PS": {"dispatch_8_pixel_enable": False, "dispatch_16_pixel_enable": True}})
    assert lit(image) == pixels(set(range(WIDTH)), set(range(HEIGHT)))
    assert np.unique(image[:HEIGHT, :WIDTH].reshape(-1, 4), axis=0).tolist() == [[255, 0, 128, 255]]
    assert canvas.device.events() == []


@LATER
def test_a_shader_reads_the_target_at_its_pixels(part: str) -> None:
    canvas = Canvas7(part, ("R32G32B32A32_FLOAT",))
    start = np.random.default_rng(1).normal(size=(SIDE, SIDE, 4)).astype(np.float32)
    canvas.device.memory.write(TARGETS, start.tobytes())
    read = descriptor("RENDER_CACHE_DATA_PORT_MESSAGE", canvas.gen, length=2, response=4, header_present=True,
                      message_type="RENDER_TARGET_READ", read_simd8=True)
    kernel = HEADER + (f"sendc(8) g110<1>UW g118<8,8,1>UD 0x{read:08x} render {{ align1 1Q }};\n" +
                       "".join(f"mov(8) g{120 + i}<1>F g{110 + (i + 1) % 4}<8,8,1>F {{ align1 1Q }};\n"
                               for i in range(4)) + send(canvas.write()))
    image = canvas.draw(kernel, 0, 0, WIDTH, HEIGHT).view(np.float32)
    expected = start.copy()
    expected[:HEIGHT, :WIDTH] = np.roll(start[:HEIGHT, :WIDTH], -1, axis=2)
    assert np.array_equal(image, expected)
    assert canvas.device.events() == []


@LATER
@pytest.mark.parametrize("slot_group", [False, True])
@pytest.mark.parametrize(("surface_format", "code", "value"), [
    ("R32_UNORM", 0x80000000, 0.5), ("R32_UNORM", 0xFFFFFFFF, 1.0), ("R32_SNORM", 0xC0000000, -0.5),
    ("R32_SNORM", 0x80000000, -1.0), ("R24_UNORM_X8_TYPELESS", 0x13FFFFFF, 1.0)])
def test_reads_of_normalized_channels_of_many_bits(part: str, surface_format: str, code: int, value: float,
                                                   slot_group: bool) -> None:
    """By threads of 8 pixels, for which the slot group has no effect (docs/decisions.md 234)."""
    canvas = Canvas7(part, ("R32G32B32A32_FLOAT", surface_format))
    canvas.device.memory.write(canvas.address(1), struct.pack("<I", code) * (SIDE * SIDE))
    read = descriptor("RENDER_CACHE_DATA_PORT_MESSAGE", canvas.gen, length=2, response=4, header_present=True,
                      message_type="RENDER_TARGET_READ", read_simd8=True, slot_group=slot_group, binding_table_index=1)
    kernel = HEADER + (f"sendc(8) g110<1>UW g118<8,8,1>UD 0x{read:08x} render {{ align1 1Q }};\n"
                       + "".join(f"mov(8) g{120 + i}<1>F g110<8,8,1>F {{ align1 1Q }};\n" for i in range(4))
                       + send(canvas.write()))
    image = canvas.draw(kernel, 0, 0, WIDTH, HEIGHT).view(np.float32)
    assert np.array_equal(image[:HEIGHT, :WIDTH], np.full((HEIGHT, WIDTH, 4), value, np.float32))
