"""3DSTATE_SAMPLE_MASK of Gen7 to Gen9 with one sample a pixel, and in contexts that never had the command."""

from __future__ import annotations

import pytest

from tests.harness.canvas_gen7 import Canvas7, color, send
from tests.harness.commands import command
from tests.harness.depth_only import DepthOnly, corners

DEVICES = ["ivb", "hsw", "kbl"]
WHITE = color(1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("mask", "drawn"), [(0x0, False), (0x1, True), (0xFE, False), (0xFF, True), (None, True)])
def test_bit_0_of_the_sample_mask_decides_about_pixels_of_one_sample(device: str, mask: int | None,
                                                                     drawn: bool) -> None:
    """IVB PRM vol. 2 part 1, 3DSTATE_SAMPLE_MASK; None: the command was never sent."""
    canvas = Canvas7(device)
    image = canvas.draw(WHITE + send(canvas.write()), commands={
        "3DSTATE_SAMPLE_MASK": None if mask is None else {"sample_mask": mask}})
    assert (image == (0xFF if drawn else 0)).all()


@pytest.mark.parametrize(("mask", "samples"), [(0x0, 0), (0x1, 1), (0xA, 2), (0xF, 4), (None, 4)])
def test_each_bit_of_the_sample_mask_is_a_sample_unless_the_command_was_never_sent(mask: int | None,
                                                                                   samples: int) -> None:
    """A depth buffer has the four samples of a pixel side by side."""
    machine = DepthOnly()
    machine.run(command("3DSTATE_MULTISAMPLE", machine.gen, number_of_multisamples="FOUR"))
    found = machine.draw(corners(0, 0, 4, 4), raster={"cull_mode": "NONE", "dx_multisample_rasterization_enable": True},
                         sample_mask=None if mask is None else {"sample_mask": mask})
    assert len(found) == 16 * samples
