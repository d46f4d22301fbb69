"""Entries of hierarchical depth that pixel shaders write, because depth is tested after them."""

from __future__ import annotations

import pytest

from gen4emu.core_enums import HierarchicalDepthMode
from gen4emu.isa import assemble
from tests.harness.canvas_gen7 import SIDE, Canvas7, color, send
from tests.harness.commands import command

DEPTH, ENTRIES = 0x200000, 0x210000
ENTRY_BYTES = 16
Rectangle = tuple[int, int, int, int, float]  # two corners and a depth
LARGE, SMALL = (2, 0, 32, 4, 0.4), (0, 0, 2, 2, 0.5)


class Killing(Canvas7):
    """Draws with a shader for 8 and one for 16 pixels, which may end pixels, so that depth is tested after them."""

    def __init__(self, **options: int) -> None:
        super().__init__("kbl", hierarchical_depth=HierarchicalDepthMode.ON, **options)
        self.device.memory.write(DEPTH, bytes(4 * SIDE * SIDE))
        self.device.memory.write(ENTRIES, bytes(0x2000))
        self.run(command("3DSTATE_HIER_DEPTH_BUFFER", self.gen, surface_base_address=ENTRIES, surface_pitch=128))
        narrow = color(1.0, 0.5, 0.0, 1.0) + send(self.write())
        narrow += "nop;\n" * (-len(assemble(narrow, self.gen)) % 64 // 16)
        self.second = len(assemble(narrow, self.gen))
        wide = "".join(f"mov(16) g{100 + 2 * i}<1>F {value}F {{ align1 1H }};\n"
                       for i, value in enumerate((1.0, 0.5, 0.0, 1.0)))
        self.shaders = narrow + wide + (f"sendc(16) null<1>UW g100<8,8,1>UD {self.write(8, 'SIMD16')} "
                                        "{ align1 1H EOT };\n")

    def rectangles(self, *chosen: Rectangle) -> None:
        vertices = [(x, y, z) for x1, y1, x2, y2, z in chosen for x, y in ((x2, y2), (x1, y2), (x1, y1))]
        self.draw(self.shaders, vertices=vertices, commands={
            "3DSTATE_PS": {"dispatch_8_pixel_enable": True, "dispatch_16_pixel_enable": True,
                           "kernel_start_pointer_2": self.second},
            "3DSTATE_PS_EXTRA": {"pixel_shader_valid": True, "pixel_shader_kills_pixel": True},
            "3DSTATE_WM_DEPTH_STENCIL": {"depth_test_enable": True, "depth_test_function": "ALWAYS",
                                         "depth_buffer_write_enable": True},
            "3DSTATE_DEPTH_BUFFER": {"surface_type": "SURFTYPE_2D", "surface_format": "D32_FLOAT",
                                     "depth_write_enable": True, "width": SIDE, "height": SIDE, "depth": 1,
                                     "surface_pitch": 4 * SIDE, "surface_qpitch": SIDE, "surface_base_address": DEPTH,
                                     "hierarchical_depth_buffer_enable": True}})


@pytest.mark.parametrize("order", [(LARGE, SMALL), (SMALL, LARGE)], ids=["large first", "small first"])
def test_entries_follow_the_order_of_objects_for_any_handlers_and_observers(order: tuple[Rectangle, ...]) -> None:
    """The small rectangle is drawn by the shader for 8 pixels, which does not run after that for 16."""
    found = []
    for in_one_draw in (True, False):
        for general_only, counting in ((False, False), (True, False), (False, True)):
            canvas = Killing(workers=1, general_only=general_only)
            canvas.device.counting = counting
            canvas.rectangles((0, 0, 1, 1, 0.9))
            for part in [order] if in_one_draw else [(one,) for one in order]:
                canvas.rectangles(*part)
            found.append(canvas.device.memory.read(ENTRIES, ENTRY_BYTES))
    assert any(found[0])
    assert set(found) == {found[0]}
