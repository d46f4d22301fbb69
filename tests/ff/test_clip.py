"""The decisions of the clipper, for every row of its table of modes."""

from __future__ import annotations

from typing import Any

import pytest

from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology as T
from gen4emu.isa import assemble
from tests.harness.front_end import CLIP_KERNEL, ECHO_R0, FrontEnd

NAN = float("nan")
TESTS = {"viewport_xy_clip_test_enable": True, "viewport_z_clip_test_enable": True, "guardband_clip_test_enable": True,
         "negative_w_clip_test_enable": True, "user_clip_flags_must_clip_enable": True,
         "user_clip_flags_clip_test_enable_bitmask": 1}
GUARD = {"x_min_clip_guardband": -64.0, "x_max_clip_guardband": 64.0, "y_min_clip_guardband": -64.0,
         "y_max_clip_guardband": 64.0}
Points = list[tuple[float, float, float, float]]


def clip(points: Points, topology: T = T.TRILIST, flags: list[int] | None = None, **state: Any) -> str | int:
    """"TA", "TR", or R0.2 of the thread that clips the object."""
    end = FrontEnd(Gen.CTG, clip=TESTS | state, clip_viewport=GUARD)
    end.positions(points, flags)
    objects = end.objects(topology, len(points))
    if not objects:
        return "TR"
    assert len(objects) == 1
    if objects[0].topology == T.POINTLIST and topology != T.POINTLIST:
        return int(objects[0].entry[0][2])
    return "TA"


INSIDE: Points = [(-.5, -.5, 0, 1), (.5, -.5, 0, 1)]


@pytest.mark.parametrize(("points", "topology", "expected"), [
    ([*INSIDE, (0, 70, 0, 1)], T.TRILIST, 0x10400004),
    ([*INSIDE, (0, 3, 0, 1)], T.TRILIST, "TA"),
    ([*INSIDE, (-0.0, -0.0, -0.0, -1)], T.TRILIST, 0xFFC01004),
    ([(2, 0, 0, 1), (3, 0, 0, 1), (2, 9, 0, 1)], T.TRILIST, "TR"),
    ([(0, 0, -1.5, 1), (.5, 0, 0, 1), (0, .5, 0, 1)], T.TRILIST, 0x08000004),
    ([(0, 0, -.5, 1), (.5, 0, 0, 1), (0, .5, 0, 1)], T.TRILIST, "TA"),
    ([(1, 0, 0, 1), (1, 1, 1, 1), (-1, -1, -1, 1)], T.TRILIST, "TA"),
    ([(NAN, 0, 0, 1), (0, 0, 0, 1), (0, .5, 0, 1)], T.TRILIST, 0xC3000004),
    ([(0, 0, 0, NAN), (0, 0, 0, 1), (0, .5, 0, 1)], T.TRILIST, "TR"),
    ([(1.2, 0, 0, 1)], T.POINTLIST, "TR"),
    ([(5, 0, 0, -1), (.5, 0, 0, 1)], T.LINESTRIP, 0xBFC01003),
    ([(-1, 0, 0, -1), (.5, 0, 0, 1)], T.LINESTRIP, 0xFFC01003),
])
def test_outcodes_and_decisions(points: Points, topology: T, expected: str | int) -> None:
    assert clip(points, topology) == expected


def test_d3d_puts_the_near_plane_at_zero() -> None:
    assert clip([(0, 0, -.5, 1), (.5, 0, 0, 1), (0, .5, 0, 1)], api_mode="D3D") == 0x08000004


def test_a_bad_vertex_reaches_the_threads_of_mode_all() -> None:
    assert clip([(0, 0, 0, NAN), (0, 0, 0, 1), (0, .5, 0, 1)], clip_mode="ALL") == 0x00002004


def test_user_clip_flags_must_clip_or_may_wait_for_all() -> None:
    points: Points = [(0, 0, 0, 1), (.5, 0, 0, 1), (0, .5, 0, 1)]
    assert clip(points, flags=[1, 0, 0]) == 0x00004004
    assert clip(points, flags=[1, 0, 0], user_clip_flags_must_clip_enable=False) == "TA"
    assert clip(points, flags=[1, 1, 1]) == "TR"


@pytest.mark.parametrize(("mode", "inside", "crossing", "outside"), [
    ("NORMAL", "TA", 0x10400004, "TR"), ("ALL", 4, 0x10400004, 0x40000004), ("NON_REJECTED", 4, 0x10400004, "TR"),
    ("REJECT_ALL", "TR", "TR", "TR"), ("ACCEPT_ALL", "TA", "TA", "TA")])
def test_clip_modes(mode: str, inside: str | int, crossing: str | int, outside: str | int) -> None:
    assert clip([*INSIDE, (0, .5, 0, 1)], clip_mode=mode) == inside
    assert clip([*INSIDE, (0, 70, 0, 1)], clip_mode=mode) == crossing
    assert clip([(2, 0, 0, 1), (3, 0, 0, 1), (2, .9, 0, 1)], clip_mode=mode) == outside


def test_polygons_tell_their_own_edges() -> None:
    end = FrontEnd(Gen.CTG, clip=TESTS | {"clip_mode": "ALL"}, clip_viewport=GUARD)
    end.positions([(0, 0, 0, 1), (.5, 0, 0, 1), (.5, .5, 0, 1), (0, .5, 0, 1), (-.5, .5, 0, 1)])
    edges = [o.entry[0][2] >> 8 & 3 for o in end.objects(T.POLYGON, 5)]
    assert edges == [1, 0, 2]


def test_strips_keep_their_parity_around_missing_triangles() -> None:
    end = FrontEnd(Gen.CTG, clip=TESTS, clip_viewport=GUARD)
    end.positions([(2, 0, 0, 1), (2, .1, 0, 1), (2, .2, 0, 1), (0, 0, 0, 1), (0, .5, 0, 1)])
    objects = end.objects(T.TRISTRIP, 5)
    assert [(o.topology, o.invert_orientation) for o in objects] == [(T.TRISTRIP_REVERSE, True), (T.TRISTRIP, False)]


def test_a_line_strip_that_was_broken_restarts_its_stipple() -> None:
    end = FrontEnd(Gen.CTG, clip=TESTS, clip_viewport=GUARD)
    end.positions([(0, 0, 0, 1), (.5, 0, 0, 1), (2, 0, 0, 1), (2, .5, 0, 1), (0, .5, 0, 1), (0, 0, 0, 1)])
    assert [o.continue_stipple for o in end.objects(T.LINESTRIP, 6)] == [False, True, False, True]


def test_objects_stay_in_order_around_clipped_ones() -> None:
    end = FrontEnd(Gen.CTG, clip=TESTS, clip_viewport=GUARD)
    inside, crossing = [*INSIDE, (0, .5, 0, 1)], [*INSIDE, (0, 70, 0, 1)]
    end.positions([*inside, *crossing, *inside])
    assert [o.topology for o in end.objects(T.TRILIST, 9)] == [T.TRILIST, T.POINTLIST, T.TRILIST]


def test_first_generation_takes_flag_7_for_a_bad_vertex() -> None:
    end = FrontEnd(Gen.CL, clip=TESTS | {"user_clip_flags_clip_test_enable_bitmask": 0x80,
                                         "negative_w_clip_test_enable": False} , clip_viewport=GUARD)
    del end.blocks["clip"]["negative_w_clip_test_enable"]
    end.positions([(0, 0, 0, 1), (.5, 0, 0, 1), (0, .5, 0, 1)], [0x80, 0, 0])
    assert [o.entry[0][2] for o in end.objects(T.TRILIST, 3)] == [0x00002004]


def test_registers_are_zero_at_the_start_of_the_first_thread_of_a_kernel() -> None:
    """Clip kernels are made ready by the first thread, which must not see what another kernel left."""
    end = FrontEnd(Gen.CTG, clip=TESTS, clip_viewport=GUARD)
    end.positions([*INSIDE, (0, 70, 0, 1)])
    for code, expected in (("mov(8) g50<1>UD 0x1234UD { align1 nomask };" + ECHO_R0, 0x10400004),
                           (ECHO_R0.replace("g0<8,8,1>UD", "g50<8,8,1>UD", 1), 0)):
        end.memory.write(CLIP_KERNEL, assemble(code, Gen.CTG))
        (clipped,) = end.objects(T.TRILIST, 3)
        assert clipped.entry[0][2] == expected
