"""When kernels become machine code: after they have run often, or before a draw with many pixels."""

from __future__ import annotations

from pathlib import Path

import pytest

from gen4emu._native import lib
from gen4emu.device.options import Options
from gen4emu.isa import assemble
from tests.harness.scene import Scene, draw

pytestmark = pytest.mark.skipif(int(lib.g4_variant_best()) == 0, reason="kernels of this host are never machine code")


def code_pages() -> int:
    """The pages of machine code: executable memory that belongs to no file."""
    lines = (line.split() for line in Path("/proc/self/maps").read_text().splitlines())
    ranges = (fields[0].split("-") for fields in lines if "x" in fields[1] and len(fields) == 5)
    return sum(int(end, 16) - int(start, 16) for start, end in ranges) // 4096


def test_a_small_triangle_is_interpreted_until_it_was_drawn_often() -> None:
    scene = Scene(options=Options(workers=1))
    before = code_pages()
    draw(scene, 16.0, 1)
    assert code_pages() == before
    draw(scene, 16.0, 300)
    assert code_pages() > before


def test_a_large_triangle_is_drawn_by_machine_code_at_once() -> None:
    scene = Scene(width=1024, height=1024, options=Options(workers=1))
    before = code_pages()
    draw(scene, 1024.0, 1)
    assert code_pages() > before


BRANCH = """
    mov(8) g60<1>D 0D { align1 };
    (+f0.0) if(8) Jump: L_else { align1 };
    mov(8) g60<1>D 1D { align1 };
L_else:
    else(8) Jump: L_end Pop: 1 { align1 };
    mov(8) g60<1>D 2D { align1 };
    endif(8) Pop: 1 { align1 };
L_end:
"""
LOOP = """
    mov(8) g60<1>D 0D { align1 };
    do(8) { align1 };
L_top:
    add(8) g60<1>D g60<8,8,1>D 1D { align1 };
    cmp.ge.f0.0(8) null<1>D g60<8,8,1>D 3D { align1 };
    (-f0.0) while(8) Jump: L_top { align1 };
"""


@pytest.mark.parametrize(("code", "early"), [("", False), (BRANCH, False), (LOOP, True)],
                         ids=["straight", "branch", "loop"])
def test_loops_are_translated_earlier_than_branches(code: str, early: bool) -> None:
    scene = Scene(options=Options(workers=1))
    if code:
        scene.pixel_kernel = assemble(code, scene.gen) + scene.pixel_kernel
    before = code_pages()
    draw(scene, 16.0, 5)  # 10 to 15 gangs of pixels
    assert (code_pages() > before) == early
