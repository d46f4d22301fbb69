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


@pytest.mark.parametrize("name", PARTS)
def test_attributes_may_replace_barycentric_coordinates(name: str) -> None:
    """Their coefficients begin at g2, where the payload has put the coordinates of each pixel."""
    canvas = Canvas7(name)
    kernel = PLACE + "add(8) g50<1>F g2<8,8,1>F 0.5F { align1 1Q };\n" + filled(50) + send(canvas.write())
    image = canvas.draw(kernel, commands={
        "3DSTATE_SBE": {"number_of_sf_output_attributes": 1}, "3DSTATE_WM": {"barycentric_interpolation_mode": 1},
        **AFTER_HEADER})
    assert (image == 0x80).all()


@pytest.mark.parametrize(("name", "split"), [*((name, False) for name in PARTS), ("kbl", True)])
def test_a_payload_that_wraps_around_has_the_registers_of_a_start(name: str, split: bool) -> None:
    """Red is g127, and so is green of a split payload.  The others are the header, whose integers are tiny as floats,
    and g2."""
    canvas = Canvas7(name, ("R8G8B8A8_UNORM",) * 2)
    wrapped = send(canvas.write(last=False), 127, last=False)
    if split:  # three of four registers are the second payload
        message, function = canvas.write(1, last=False).split()
        wrapped = f"sendsc(8) nullUD g127UD g127UD {message} 0x{3 << 6:08x} {function} {{ align1 1Q }};\n"
    changes = "".join(f"mov(8) g{register}<1>F 0.5F {{ align1 1Q WE_all }};\n" for register in range(3))
    kernel = PLACE + "mov(8) g127<1>F 0.5F { align1 1Q };\n" + wrapped + changes + send(canvas.write(target=1))
    for _ in range(3):
        assert (canvas.draw(kernel, commands=AFTER_HEADER) == (0x80, 0x80 * split, 0, 0)).all()


@pytest.mark.parametrize("name", PARTS)
def test_a_gang_is_full_only_with_the_second_halves_of_its_threads(name: str) -> None:
    """The rectangle has 60 subspans: the last of eight threads of 32 pixels has only the first half."""
    canvas = Canvas7(name)
    kernel = PLACE + "".join([
        "mov(16) g40<1>F 1.0F { align1 2H };\n",
        *(f"mov(16) g{_COLOR + 2 * i}<1>F g40<8,8,1>F {{ align1 1H WE_all }};\n" for i in range(4)),
        "mov(16) g40<1>F 0.5F { align1 1H WE_all };\n",
        f"sendc(16) null<1>UW g{_COLOR}<8,8,1>UD {canvas.write(8, 'SIMD16')} {{ align1 1H EOT }};\n"])
    for _ in range(3):
        image = canvas.draw(kernel, 0, 0, 24, 10, commands={
            "3DSTATE_PS": {"dispatch_8_pixel_enable": False, "dispatch_32_pixel_enable": True, f"{FIRST}2": 3}})
        assert set(image.flat) == {0, 0xFF}  # 0 also where only second halves draw
