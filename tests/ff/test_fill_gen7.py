"""Objects of one color on Gen7: what is filled is what threads would have written, and counts the same.

The triangle of a capture is drawn with other pixel shaders.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gen4emu._native import lib
from gen4emu.device.device import Device
from gen4emu.device.options import Options
from gen4emu.hw.chips import BY_PCI_ID
from gen4emu.hw.gen4.state import BlendFactor
from gen4emu.hw.topology import PrimitiveTopology
from gen4emu.isa import assemble
from gen4emu.trace import events
from gen4emu.trace.reader import open as open_trace
from tests.harness import canvas_gen7
from tests.harness.replacement_shaders import FLAT_8, FLAT_16, REPLICATED, WRITE_8, WRITE_16, Shader

TRACES = Path(__file__).parents[2] / "traces" / "later"
TARGET, TARGET_BYTES = 0x115000, 64 * 256


def color(first: str) -> str:
    return f"mov(4) g114<1>UD {first} {{ align1 WE_all 1N }};"


KERNELS: dict[str, tuple[list[str], list[str]]] = {
    "one color": ([*FLAT_8, WRITE_8], [*FLAT_16, WRITE_16]),
    "replicated": ([*FLAT_8, WRITE_8], [color("g6.3<8,2,4>UD"), REPLICATED]),
    "arithmetic": (["add(8) g60<1>F g4.3<0,1,0>F 0.25F { align1 1Q };", *FLAT_8[1:],
                    "mul.sat(8) g124<1>F g60<8,8,1>F g60<8,8,1>F { align1 1Q };", WRITE_8],
                   [*FLAT_16[1:], "mov(16) g120<1>F 0.5F { align1 1H };", WRITE_16]),
    "a color of each width": ([*(f"mov(8) g{124 + i}<1>F {0.25 * i}F {{ align1 1Q }};" for i in range(4)), WRITE_8],
                              [*(f"mov(16) g{120 + 2 * i}<1>F {1 - 0.25 * i}F {{ align1 1H }};" for i in range(4)),
                               WRITE_16]),
    # something differs from thread to thread, or from pixel to pixel
    "coordinates": (["mov(8) g124<1>F g1.4<2,4,0>UW { align1 1Q };", *FLAT_8[1:], WRITE_8],
                    [*FLAT_16[1:], "mov(16) g120<1>F g1.4<2,4,0>UW { align1 1H };", WRITE_16]),
    "replicated coordinates": ([*FLAT_8, WRITE_8], [color("g1.2<4,4,1>UD"), REPLICATED]),
    "replicated, but written before": ([*FLAT_8, WRITE_8], [
        "mov(8) g6<1>UD g1<8,8,1>UD { align1 WE_all 1Q };", color("g6.3<8,2,4>UD"), REPLICATED]),
    "replicated, but changed after": ([*FLAT_8, WRITE_8], [
        color("g6.3<8,2,4>UD"), "mov(8) g114<1>UD g1<8,8,1>UD { align1 WE_all 1Q };", REPLICATED]),
    "a color of one register": ([*FLAT_8, WRITE_8], [*FLAT_16[1:], color("g6.3<8,2,4>UD").replace("g114", "g120"),
                                                     WRITE_16]),
    "barycentrics": (["mov(8) g124<1>F g2<8,8,1>F { align1 1Q };", *FLAT_8[1:], WRITE_8],
                     ["mov(16) g120<1>F g2<8,8,1>F { align1 1H };", *FLAT_16[1:], WRITE_16]),
    "a color missing": ([*FLAT_8[1:], WRITE_8], [*FLAT_16[1:], WRITE_16]),
}


# fields of BLEND_STATE of all targets
BLENDING: dict[str, dict[str, Any]] = {
    "none": {},
    "over": {"color_buffer_blend_enable": True, "source_blend_factor": BlendFactor.SRC_ALPHA,
             "destination_blend_factor": BlendFactor.INV_SRC_ALPHA},
    "sum": {"color_buffer_blend_enable": True, "source_blend_factor": BlendFactor.DST_COLOR,
            "destination_blend_factor": BlendFactor.INV_SRC_COLOR},
}


def outcome(device: str, name: str, general_only: bool,
            blending: str = "none") -> tuple[bytes, dict[str, int], list[int]]:
    stream = list(open_trace(str(TRACES / f"triangle-{device}.aub.xz")))
    header = next(e for e in stream if isinstance(e, events.Header))
    info = BY_PCI_ID[header.pci_id or 0]
    with Device(info, Options(workers=1, general_only=general_only)) as made:
        eight, sixteen = (assemble("\n".join(lines), info.gen) for lines in KERNELS[name])
        made.add_listener(Shader(made, (eight, sixteen), BLENDING[blending]))
        for event in stream:
            made.apply(event)
        counts = {count: value for count, value in made.counts().items() if not count.endswith("_ns")}
        return made.memory.read(TARGET, TARGET_BYTES), counts, [int(c) for c in made.state.counter]


@pytest.mark.parametrize("device", ["ivb", "byt", "hsw"])
@pytest.mark.parametrize("name", KERNELS)
def test_pixels_and_counts_are_those_of_threads(name: str, device: str) -> None:
    filled = outcome(device, name, general_only=False)
    assert filled == outcome(device, name, general_only=True)
    assert len({filled[0][at:at + 4] for at in range(0, TARGET_BYTES, 4)}) > 1


def test_threads_of_each_width_may_write_a_target_of_their_own() -> None:
    """In the same color: the last subspans of an object have threads of eight pixels."""
    images = []
    for general in (False, True):
        canvas = canvas_gen7.Canvas7("ivb", ("R8G8B8A8_UNORM", "R8G8B8A8_UNORM"), general_only=general)
        sixteen = [*(f"mov(16) g{112 + 2 * i}<1>F 0.5F {{ align1 1H }};" for i in range(4)),
                   f"sendc(16) null<1>UW g112<8,8,1>UD {canvas.write(8, 'SIMD16')} {{ align1 1H EOT }};"]
        canvas.device.memory.write(canvas_gen7.KERNEL + 0x400, assemble("\n".join(sixteen), canvas.gen))
        canvas.draw(
            canvas_gen7.color(0.5, 0.5, 0.5, 0.5) + canvas_gen7.send(canvas.write(target=1)),
            vertices=[(x, y, 0.5) for i in range(6) for x, y in ((0, i), (31 - 5 * i, 3 * i), (2 * i, 31))],
            commands={"3DPRIMITIVE": {"primitive_topology_type": PrimitiveTopology.TRILIST}, "3DSTATE_PS": {
                "dispatch_16_pixel_enable": True, "kernel_start_pointer_2": 0x400,
                "dispatch_grf_start_register_for_constant_setup_data_0": 8,
                "dispatch_grf_start_register_for_constant_setup_data_2": 8}})
        images.append([canvas.image(target).tobytes() for target in (0, 1)])
    assert images[0] == images[1]
    assert all(set(image) == {0, 128} for image in images[0])


TRIANGLES = {"3DSTATE_VF_TOPOLOGY": {"primitive_topology_type": PrimitiveTopology.TRILIST}, "3DPRIMITIVE": {},
             "3DSTATE_PS": {"dispatch_grf_start_register_for_constant_setup_data_0": 2}}


@pytest.mark.parametrize(("front", "back"), [("SOLID", "WIREFRAME"), ("WIREFRAME", "SOLID"), ("SOLID", "SOLID")])
def test_a_wide_antialiased_line_is_not_filled_as_a_triangle_of_the_same_color(front: str, back: str) -> None:
    """Lines of Gen9 may cover whole tiles, and their coverage scales alpha."""
    commands = TRIANGLES | {
        "3DSTATE_SF": {"line_width": 64.0, "line_end_cap_antialiasing_region_width": 3},
        "3DSTATE_WM": {"line_antialiasing_region_width": 3, "line_end_cap_antialiasing_region_width": 3},
        "3DSTATE_RASTER": {"cull_mode": "NONE", "antialiasing_enable": True, "front_face_fill_mode": front,
                           "back_face_fill_mode": back}}
    corners = [(-100.0, -100.0, 0.5), (200.0, -100.0, 0.5), (-100.0, 200.0, 0.5),
               (-200.0, 0.0, 0.5), (-200.0, 0.5, 0.5), (200.0, 0.0, 0.5)]
    filled, drawn = (
        canvas.draw(canvas_gen7.color(1.0, 0.5, 0.25, 1.0) + canvas_gen7.send(canvas.write()), vertices=corners,
                    commands=commands)
        for canvas in (canvas_gen7.Canvas7("kbl", general_only=general) for general in (False, True)))
    assert (filled == drawn).all()
    assert (len({tuple(pixel) for pixel in drawn.reshape(-1, 4).tolist()}) > 1) == ("WIREFRAME" in (front, back))


def test_constants_that_begin_inside_of_the_barycentrics_are_not_flat() -> None:
    shader = "".join(f"mov(8) g{120 + i}<1>F g2.0<0,1,0>F {{ align1 1Q }};\n" for i in range(4))
    commands = TRIANGLES | {
        "3DSTATE_WM": {"barycentric_interpolation_mode": 1},
        "3DSTATE_SBE": {"vertex_urb_entry_read_length": 0, "number_of_sf_output_attributes": 0}}
    corners = [(-10.0, -10.0, 0.5), (100.0, -10.0, 0.5), (-10.0, 100.0, 0.5)]
    filled, drawn = (
        canvas.draw(shader + canvas_gen7.send(canvas.write()), vertices=corners, commands=commands)
        for canvas in (canvas_gen7.Canvas7("kbl", general_only=general) for general in (False, True)))
    assert (filled == drawn).all()
    assert len({tuple(pixel) for pixel in drawn.reshape(-1, 4).tolist()}) > 1


@pytest.mark.parametrize("variant", range(lib.g4_variant_best() + 1))
@pytest.mark.parametrize("blending", ["over", "sum"])
def test_threads_are_blended_together_as_one_by_one(blending: str, variant: int) -> None:
    before = lib.g4_variant_current()
    lib.g4_set_variant(variant)
    try:
        found = outcome("hsw", "barycentrics", False, blending)
        assert found == outcome("hsw", "barycentrics", True, blending)
        assert found[0] != outcome("hsw", "barycentrics", False)[0]
    finally:
        lib.g4_set_variant(before)
