"""Hull and domain shaders of Gen7, and the objects that patches become (IVB PRM vol. 2 part 1)."""

from __future__ import annotations

import struct

import pytest

from gen4emu.errors import HangError
from gen4emu.hw.gen7.messages import UrbOpcodeGen7
from gen4emu.hw.gen7.pipeline import TessellationDomain as Domain
from gen4emu.hw.gen7.pipeline import TessellationOutput as Output
from gen4emu.hw.topology import PrimitiveTopology as T
from tests.harness.messages import ARRIVE
from tests.harness.stages_gen7 import Stages, bits, clear, end_gs, put, start, urb, write_row
from tests.harness.tessellation import DOMAIN, END, PATCHES_OF_3, TRI, hull, record

DEVICES = ("ivb", "hsw")
BARRIER = clear(26) + (f"send(8) null<1>UW g26<8,8,1>UD {ARRIVE} gateway {{ align1 WE_all 1Q }};\n"
                       "wait n0<1>UD { align1 WE_all 1N };\n")


def number(word: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", word))[0])


def coordinates(machine: Stages) -> list[tuple[float, float, float]]:
    return [(number(v[0]), number(v[1]), number(v[2])) for v in machine.vertices()]


@pytest.mark.parametrize("device", DEVICES)
def test_a_patch_becomes_the_triangles_of_its_domain(device: str) -> None:
    machine = Stages(device)
    machine.draw(PATCHES_OF_3, 3, machine.tessellation(hull(2, 2, 2, 2), DOMAIN, **TRI))
    found = coordinates(machine)
    assert len(found) == 18
    assert {(u, v) for u, v, _ in found} == {(0, 1), (0, 0.5), (0, 0), (0.5, 0), (1, 0), (0.5, 0.5),
                                             (0x5555 / 65536, 0x5555 / 65536)}
    assert all(u + v + w == 1 for u, v, w in found)
    assert machine.register("HS_INVOCATION_COUNT") == 1
    assert machine.register("DS_INVOCATION_COUNT") == 7  # points, not corners of triangles


@pytest.mark.parametrize(("output", "corners"), [(Output.POINT, 1), (Output.LINE, 2)])
def test_isolines_are_lines_or_points(output: Output, corners: int) -> None:
    """The patch record has the density before the detail."""
    machine = Stages()
    machine.draw(PATCHES_OF_3, 3, machine.tessellation(hull(2, 3), DOMAIN, te_domain=Domain.ISOLINE,
                                                       output_topology=output))
    assert machine.register("DS_INVOCATION_COUNT") == 9
    assert len(machine.vertices()) == (9 if corners == 1 else 12)
    assert {v for _, v, _ in coordinates(machine)} == {0, 0x5555 / 65536, 0xAAAB / 65536}


def test_w_is_0_unless_it_is_computed() -> None:
    machine = Stages()
    machine.draw(PATCHES_OF_3, 3, machine.tessellation(hull(1, 1, 1, 1), DOMAIN,
                                                       ds={"compute_w_coordinate_enable": False}, **TRI))
    assert coordinates(machine) == [(0, 1, 0), (0, 0, 0), (1, 0, 0)]


def test_a_culled_patch_has_a_hull_and_no_domain() -> None:
    machine = Stages()
    machine.draw(PATCHES_OF_3, 6, machine.tessellation(hull(2, 0, 2, 2), DOMAIN, **TRI))
    assert machine.vertices() == []
    assert machine.register("HS_INVOCATION_COUNT") == 2
    assert machine.register("DS_INVOCATION_COUNT") == 0


def test_the_record_is_pushed_to_the_domain_shader() -> None:
    """Its second row has the third vertex's position, read by handle, and the primitive ID."""
    text = (clear(22) + put("g22", "g1.2") + put("g22.5", 0xFF00)
            + urb(UrbOpcodeGen7.READ_HWORD, 22, 0, response=30)
            + record(1, 1, 1, 1) + write_row(20, 0)
            + clear(21) + put("g21", "g30.4") + put("g21.1", "g0.1") + write_row(20, 1) + END)
    machine = Stages()
    machine.draw(PATCHES_OF_3, 9, machine.tessellation(text, DOMAIN, ds={"patch_urb_entry_read_length": 2}, **TRI))
    assert [(number(v[4]), v[5]) for v in machine.vertices()[::3]] == [(2, 0), (5, 1), (8, 2)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("instances", [2, 7, 12])
def test_hull_threads_wait_for_each_other(device: str, instances: int) -> None:
    """The first thread uses what the last one has written before the barrier; 12 need more than one gang."""
    shift = 17 if device == "hsw" else 16
    text = start(20) + f"shr(1) g25<1>UD g0.2<0,1,0>UD 0x{shift:08x}UD {{ align1 WE_all 1N }};\n"
    text += f"cmp.e.f0.0(8) null<1>UD g25<0,1,0>UD 0x{instances - 1:08x}UD {{ align1 1Q }};\n"
    # only the last thread writes row 1
    text += clear(21) + put("g21", bits(1.0))
    text += "(+f0.0) if(8) JIP: last UIP: last { align1 1Q };\n" + write_row(20, 1)
    text += "last:\nendif(8) JIP: on { align1 1Q };\non:\n" + BARRIER
    text += urb(UrbOpcodeGen7.READ_HWORD, 20, 0, 1, response=30)
    text += clear(21) + "".join(put(f"g21.{7 - i}", "g30") for i in range(4)) + write_row(20, 0) + END
    machine = Stages(device)
    machine.draw(PATCHES_OF_3, 6, machine.tessellation(text, DOMAIN, hs={"instance_count": instances}, **TRI))
    assert len(machine.vertices()) == 6


def test_a_barrier_that_a_thread_never_reaches_is_a_hang() -> None:
    text = start(20) + "shr(1) g25<1>UD g0.2<0,1,0>UD 0x00000010UD { align1 WE_all 1N };\n"
    text += "cmp.e.f0.0(8) null<1>UD g25<0,1,0>UD 0x00000000UD { align1 1Q };\n"
    text += "(+f0.0) if(8) JIP: rest UIP: rest { align1 1Q };\n"
    text += BARRIER + "rest:\nendif(8) JIP: on { align1 1Q };\non:\n" + END
    machine = Stages()
    with pytest.raises(HangError):
        machine.draw(PATCHES_OF_3, 3, machine.tessellation(text, DOMAIN, hs={"instance_count": 2}, **TRI))


@pytest.mark.parametrize("device", DEVICES)
def test_a_geometry_shader_takes_the_triangles(device: str) -> None:
    """All triangles of a patch have its primitive ID."""
    text = start(20) + clear(21) + put("g21.4", "g0.2") + put("g21.5", "g1") + write_row(20, 0) + end_gs(20, 1)
    machine = Stages(device)
    machine.draw(PATCHES_OF_3, 6, machine.tessellation(hull(2, 2, 2, 2), DOMAIN, **TRI), machine.gs(text))
    assert [(v[4], v[5]) for v in machine.vertices()] == [(T.TRILIST, patch) for patch in (0, 1) for _ in range(6)]


def test_points_of_patches_count_against_the_watchdog() -> None:
    """A patch has some 3,000 points; 15,625 are allowed."""
    machine = Stages(watchdog=1)
    with pytest.raises(HangError, match=r"threads do not end .*unit DS"):
        machine.draw(PATCHES_OF_3, 30, machine.tessellation(hull(64, 64, 64, 64), DOMAIN, **TRI))


def test_many_patches_keep_their_order() -> None:
    text = record(1, 1, 1, 1) + write_row(20, 0) + clear(21) + put("g21", "g0.1") + write_row(20, 1) + END
    machine = Stages()
    machine.draw(PATCHES_OF_3, 60, machine.tessellation(text, DOMAIN, ds={"patch_urb_entry_read_length": 2}, **TRI))
    assert [v[4] for v in machine.vertices()] == [patch for patch in range(20) for _ in range(3)]
