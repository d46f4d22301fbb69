"""Gangs of an object are started again without what their payloads have in common (native/raster/pixel_dispatch.c)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.canvas_gen7 import SIDE, Canvas7, color, send

PARTS = ["ivb", "hsw", "kbl"]
_COLOR = 120
# Constants and attributes begin after the header.  A gang is not started again if they could replace the payload.
FIRST = "dispatch_grf_start_register_for_constant_setup_data_"
AFTER_HEADER: dict[str, dict[str, Any] | None] = {"3DSTATE_PS": {f"{FIRST}0": 2}}


def filled(register: int) -> str:
    """Make a register the color."""
    return "".join(f"mov(8) g{_COLOR + i}<1>F g{register}<8,8,1>F {{ align1 1Q }};\n" for i in range(4))


# Kernels that read a register as 0 and change it.  The place of the pixels keeps one thread from standing for all.
PLACE = "mov(8) g60<1>UD g1.2<0,1,0>UD { align1 1Q };\n"
CHANGES = {
    "a register": "add(8) g50<1>F g40<8,8,1>F 0.5F { align1 1Q };\nmov(8) g40<1>F 0.5F { align1 1Q };\n",
    "a remainder": ("add(8) g50<1>F g41<8,8,1>F 0.5F { align1 1Q };\n"
                    "mov(8) g42<1>UD 0x3f000000UD { align1 1Q };\nmov(8) g43<1>UD 0x40000000UD { align1 1Q };\n"
                    "math intdivmod(8) g40<1>UD g42<8,8,1>UD g43<8,8,1>UD { align1 1Q };\n"),
    "the header": ("add(8) g50<1>F g0.6<0,1,0>F 0.5F { align1 1Q };\nmov(8) g0<1>F 0.5F { align1 1Q WE_all };\n"),
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("change", CHANGES)
def test_threads_of_an_object_start_alike(change: str, name: str) -> None:
    canvas = Canvas7(name)
    for _ in range(3):  # at first by the interpreter, later as machine code
        image = canvas.draw(PLACE + CHANGES[change] + filled(50) + send(canvas.write()), commands=AFTER_HEADER)
        assert (image == 0x80).all()


@pytest.mark.parametrize("name", PARTS)
def test_threads_of_two_widths_may_share_a_kernel(name: str) -> None:
    """A kernel for 8 pixels draws the first half of those of threads of 16 pixels."""
    canvas = Canvas7(name)
    image = canvas.draw(color(1.0, 1.0, 1.0, 1.0) + send(canvas.write()), 0, 0, 10, 2, commands={
        "3DSTATE_PS": {"dispatch_8_pixel_enable": True, "dispatch_16_pixel_enable": True}})
    lit = {(int(x), int(y)) for y, x in zip(*image.any(axis=2).nonzero(), strict=True)}
    assert lit == {(x, y) for x in (0, 1, 2, 3, 8, 9) for y in (0, 1)}
    assert image.shape == (SIDE, SIDE, 4)
