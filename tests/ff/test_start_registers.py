"""Registers are zero when a thread starts, whatever threads before it have left in them."""

from __future__ import annotations

from typing import Any

import pytest

from gen4emu.device.options import Options
from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology
from gen4emu.isa import assemble
from tests.harness.messages import INVERSE, WRITE_16
from tests.harness.scene import Scene, vertex

GEN = Gen.CTG
ZERO, HALF, ONE = 0x00000000, 0x80808080, 0xFFFFFFFF

# Write g40 and g41 as red, green, blue and alpha.
WRITE = "".join(f"mov(16) m{3 + channel}<1>F g40<8,8,1>F {{ align1 compr4 }};\n" for channel in range(4)) + f"""
mov(8) m2<1>UD g1<8,8,1>UD {{ align1 nomask }};
send(16) 1 null<1>UW g0<8,8,1>UW {WRITE_16} write {{ align1 EOT }};
"""
# Leave 0.5 in all registers that the kernels below use.  It is made from the place of the pixel: one color for all
# pixels would be found without running threads.  Machine code stores the registers because any could be read by its
# address.
FILL = """
mov(16) g18<1>F g1.4<2,4,0>UW { align1 compr };
mul(16) g18<1>F g18<8,8,1>F 0.0F { align1 compr };
""" + "".join(f"add(16) g{register}<1>F g18<8,8,1>F 0.5F {{ align1 compr }};\n" for register in range(20, 60, 2)) + """
mov(1) a0<1>UW 1280UW { align1 };
mov(16) g60<1>F g[a0]<8,8,1>F { align1 compr };
""" + WRITE
PLACE = "add(16) g18<1>F g1.4<2,4,0>UW 0.0F { align1 compr };\n"  # or one thread would do for all

KERNELS = {
    "never written": ("", {ZERO}),
    "written whole": ("mov(16) g40<1>F 1.0F { align1 compr };", {ONE}),
    "written after it was read": ("add(16) g40<1>F g40<8,8,1>F 0.0F { align1 compr };", {ZERO}),
    "one half": ("mov(8) g40<1>F 1.0F { align1 };", {ZERO, ONE}),
    "four channels": ("mov(4) g40<1>F 1.0F { align1 };", {ZERO, ONE}),
    "every other channel": ("mov(8) g40<2>F 1.0F { align1 };", {ZERO, ONE}),
    "under a false predicate": ("cmp.ne.f0(16) null<1>F g30<8,8,1>F g30<8,8,1>F { align1 compr };\n"
                                "(+f0) mov(16) g40<1>F 1.0F { align1 compr };", {ZERO}),
    "by an address": ("mov(1) a0<1>UW 1280UW { align1 };\nmov(16) g40<1>F g[a0]<8,8,1>F { align1 compr };", {ZERO}),
    "copied, never written": ("mov(16) g40<1>F g44<8,8,1>F { align1 compr };", {ZERO}),
    "after a branch": ("cmp.ne.f0(16) null<1>F g30<8,8,1>F g30<8,8,1>F { align1 compr };\n"
                        "(+f0) if(16) 3 0 { align1 };\nmov(16) g40<1>F 1.0F { align1 compr };\n"
                        "else(16) 2 1 { align1 };\nendif(16) 1 { align1 };", {ZERO}),
}
# Kernels that change what they have read.  Gangs of an object are started again without storing what they have in
# common.
CHANGING = {
    "a register": ("add(16) g40<1>F g40<8,8,1>F 0.5F { align1 compr };", {HALF}),
    "coefficients": ("mov(16) g40<1>F g8<0,1,0>F { align1 compr };\nmov(8) g8<1>F 0.5F { align1 nomask };", {ZERO}),
    "words of a register": ("mov(16) g44<1>UW g40<16,16,1>UW { align1 };\n"
                            "mov(16) g40<1>UW 0x3800UW { align1 };\n"
                            "mov(8) g40<1>F g44<8,8,1>UW { align1 };\n"
                            "mov(8) g41<1>F g44.8<8,8,1>UW { align1 sechalf };", {ZERO}),
    "the header": ("mov(16) g40<1>F g1<0,1,0>F { align1 compr };\nadd(1) g1<1>F g1<0,1,0>F 0.5F { align1 nomask };",
                   {ZERO}),
    "a flag": ("(+f0) mov(16) g40<1>F 1.0F { align1 compr };\n"
               "cmp.e.f0(16) null<1>F g30<8,8,1>F g30<8,8,1>F { align1 compr };", {ZERO}),
    "an address": ("mov(16) g44<1>UW a0<0,1,0>UW { align1 };\nadd(1) a0<1>UW a0<0,1,0>UW 32UW { align1 nomask };\n"
                   "mov(8) g40<1>F g44<8,8,1>UW { align1 };\nmov(8) g41<1>F g44.8<8,8,1>UW { align1 sechalf };",
                   {ZERO}),
    "an accumulator": ("mac(16) g40<1>F g30<8,8,1>F g30<8,8,1>F { align1 compr };\n"
                       "add(16) null<1>F g40<8,8,1>F 0.5F { align1 compr };", {ZERO}),
}


def scene_of_16(*, general: bool = False, **wm: Any) -> Scene:
    """Its pixel shader has threads of 16 pixels."""
    return Scene(GEN, 64, 64, options=Options(workers=1, general_only=general),
                 wm={"dispatch_8_pixel_enable": False, "dispatch_16_pixel_enable": True} | wm)


def draw(scene: Scene, kernel: str) -> set[int]:
    """The colors of the pixels of a rectangle, which has gangs of which all channels run."""
    scene.pixel_kernel = assemble(kernel, GEN)
    corners = [vertex(x, y, 0.5, 1.0, (0.0, 0.0, 0.0, 0.0)) for x, y in ((64, 64), (0, 64), (0, 0))]
    scene.run(scene.prepare(corners) + scene.primitive(PrimitiveTopology.RECTLIST, 3))
    return {pixel for row in scene.pixels() for pixel in row}


@pytest.mark.parametrize("name", KERNELS)
def test_registers_start_with_zeros(name: str) -> None:
    kernel, expected = KERNELS[name]
    scene = scene_of_16()
    for _ in range(3):  # at first by the interpreter, later as machine code
        assert draw(scene, FILL) == {HALF}
        assert draw(scene, f"{kernel}\n{WRITE}") == expected


@pytest.mark.parametrize("general", [False, True])
@pytest.mark.parametrize("name", CHANGING)
def test_threads_of_an_object_start_alike(name: str, general: bool) -> None:
    kernel, expected = CHANGING[name]
    scene = scene_of_16(general=general)
    for _ in range(3):
        assert draw(scene, f"{kernel}\n{PLACE}{WRITE}") == expected


def test_coefficients_may_replace_the_source_depth() -> None:
    """They begin at g2, where the payload has put the depths of the pixels."""
    scene = scene_of_16(pixel_shader_uses_source_depth=True, dispatch_grf_start_register=2)
    assert draw(scene, f"mov(16) g40<1>F g2<8,8,1>F {{ align1 compr }};\n{PLACE}{WRITE}") == {ZERO}


def test_a_payload_that_wraps_around_starts_with_zeros() -> None:
    """Red of eight pixels is m15; the colors of the next eight are m3 to m6, which another kernel has written."""
    scene = scene_of_16()
    assert draw(scene, FILL) == {HALF}
    assert draw(scene, PLACE + f"""
        mov(8) m14<1>UD g1<8,8,1>UD {{ align1 nomask }};
        mov(8) m15<1>F 0.5F {{ align1 }};
        send(16) 13 null<1>UW g0<8,8,1>UW {WRITE_16} write {{ align1 EOT }};
    """) == {ZERO, HALF & 0x00FF0000}


def test_a_response_that_wraps_around_changes_the_header() -> None:
    """The response to the second half of a message is in g0, after g127."""
    scene = scene_of_16()
    assert draw(scene, PLACE + f"""
        mov(16) g40<1>F g0.5<0,1,0>F {{ align1 compr }};
        mov(8) g30<1>UD g0<8,8,1>UD {{ align1 nomask }};
        mov(16) g20<1>F 2.0F {{ align1 compr }};
        send(16) 1 g127<1>F g20<8,8,1>F {INVERSE} math {{ align1 compr }};
    """ + WRITE.replace(" g0<", " g30<")) == {ZERO}
