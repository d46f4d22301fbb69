"""The geometry shader stage: the objects in its payloads, and the vertices that its threads emit."""

from __future__ import annotations

import pytest

from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology as T
from gen4emu.isa import assemble
from tests.harness.front_end import GS_KERNEL, FrontEnd, numbered
from tests.harness.messages import NO_VERTEX, ONE_VERTEX, urb_write

# Puts out one point: row 0 is dword 0 of up to six vertices (one register each from g1 on), then R0.2 and R0.0.
STAGED = """
mov(8) m1<1>UD 0UD { align1 nomask };
""" + "\n".join(f"mov(1) m1.{v}<1>UD g{1 + v}<0,1,0>UD {{ align1 nomask }};" for v in range(6)) + f"""
mov(1) m1.6<1>UD g0.2<0,1,0>UD {{ align1 nomask }};
mov(8) g10<1>UD g0<8,8,1>UD {{ align1 nomask }};
mov(1) g10.2<1>UD 0x7UD {{ align1 nomask }};
send(8) 0 null<1>UD g10<8,8,1>UD {ONE_VERTEX} urb {{ align1 nomask EOT }};
"""
FIRST = 1  # the vertices are numbered from 1, so that an absent one shows as 0


def staged(topology: T, count: int, gen: Gen = Gen.CTG, **gs: object) -> list[tuple[tuple[int, ...], int]]:
    end = FrontEnd(gen, gs={"single_program_flow": True, **gs})
    end.memory.write(GS_KERNEL, assemble(STAGED, gen))
    numbered(end, 32)
    return [(tuple(o.entry[0][0:6]), o.entry[0][6]) for o in end.objects(topology, count)]


def vertices(topology: T, count: int, number: int, **gs: object) -> list[tuple[int, ...]]:
    return [v[:number] for v, _ in staged(topology, count, **gs)]


@pytest.mark.parametrize(("topology", "count", "number", "expected"), [
    (T.QUADLIST, 8, 4, [(0, 1, 2, 3), (4, 5, 6, 7)]),
    (T.QUADSTRIP, 7, 4, [(0, 1, 3, 2), (2, 3, 5, 4)]),
    (T.LINELOOP, 3, 2, [(0, 1), (1, 2), (2, 0)]),
    (T.LINELOOP, 2, 2, [(0, 1), (1, 0)]),
    (T.LINELOOP, 1, 2, []),
    (T.TRISTRIP_ADJ, 10, 6, [(0, 1, 2, 6, 4, 3), (2, 5, 6, 8, 4, 0), (4, 2, 6, 9, 8, 7)]),
    (T.TRISTRIP_ADJ, 6, 6, [(0, 1, 2, 5, 4, 3)]),
    (T.TRISTRIP_ADJ, 9, 6, [(0, 1, 2, 6, 4, 3), (2, 5, 6, 7, 4, 0)]),
    (T.TRIFAN, 4, 3, [(0, 1, 2), (0, 2, 3)]),
    (T.LINESTRIP_ADJ, 5, 4, [(0, 1, 2, 3), (1, 2, 3, 4)]),
])
def test_staging(topology: T, count: int, number: int, expected: list[tuple[int, ...]]) -> None:
    assert vertices(topology, count, number) == expected


def test_reorder_keeps_the_winding_of_strips() -> None:
    assert vertices(T.TRISTRIP, 5, 3) == [(0, 1, 2), (1, 2, 3), (2, 3, 4)]
    assert vertices(T.TRISTRIP, 5, 3, reorder_enable=True) == [(0, 1, 2), (1, 3, 2), (2, 3, 4)]
    assert vertices(T.TRISTRIP_REVERSE, 4, 3, reorder_enable=True) == [(0, 2, 1), (1, 2, 3)]


def test_r0_names_the_topology_of_each_triangle() -> None:
    assert [r & 31 for _, r in staged(T.TRISTRIP, 5)] == [5, 13, 5]
    assert [r for _, r in staged(T.POLYGON, 5)] == [0x10E, 0x0E, 0x20E]


def test_discard_adjacency_passes_the_inner_vertices() -> None:
    assert vertices(T.LINELIST_ADJ, 8, 2, discard_adjacency=True) == [(1, 2), (5, 6)]
    assert vertices(T.TRILIST_ADJ, 6, 3, discard_adjacency=True) == [(0, 2, 4)]


def test_long_quad_strips_are_the_same_over_all_ranges() -> None:
    end = FrontEnd(gs={"single_program_flow": True})
    end.memory.write(GS_KERNEL, assemble(STAGED, Gen.CTG))
    numbered(end, 2000)
    got = [tuple(o.entry[0][0:4]) for o in end.objects(T.QUADSTRIP, 2000)]
    assert got == [(2 * k, 2 * k + 1, 2 * k + 3, 2 * k + 2) for k in range(999)]


def test_a_loop_of_many_ranges_closes_at_its_first_vertex() -> None:
    end = FrontEnd(gs={"single_program_flow": True})
    end.memory.write(GS_KERNEL, assemble(STAGED, Gen.CTG))
    numbered(end, 1000)
    got = [tuple(o.entry[0][0:2]) for o in end.objects(T.LINELOOP, 1000)]
    assert got == [(k, (k + 1) % 1000) for k in range(1000)]


def test_the_viewport_must_be_within_the_state_maximum() -> None:
    source = STAGED.replace("mov(1) m1.2<1>UD g3<0,1,0>UD", "mov(1) m1.2<1>UD 7UD")
    for maximum, expected in ((0, 0), (7, 7)):
        end = FrontEnd(gs={"single_program_flow": True, "maximum_vp_index": maximum})
        end.memory.write(GS_KERNEL, assemble(source, Gen.CTG))
        numbered(end, 4)
        assert end.objects(T.POINTLIST, 1)[0].viewport[0] == expected


_ONE_MORE = urb_write(2, end=False, complete=True, allocate=True, response=1)  # the vertex is output
# Two triangles of a strip from one point: allocates a handle for each of four vertices.
STRIP = f"""
mov(8) g10<1>UD g0<8,8,1>UD {{ align1 nomask }};
mov(8) m1<1>UD g1<8,8,1>UD {{ align1 nomask }};
mov(1) g10.2<1>UD 0x16UD {{ align1 nomask }};
send(8) 0 g11<1>UD g10<8,8,1>UD {_ONE_MORE} urb {{ align1 nomask }};
mov(1) g11.2<1>UD 0x14UD {{ align1 nomask }};
send(8) 0 g12<1>UD g11<8,8,1>UD {_ONE_MORE} urb {{ align1 nomask }};
mov(1) g12.2<1>UD 0x14UD {{ align1 nomask }};
send(8) 0 g13<1>UD g12<8,8,1>UD {_ONE_MORE} urb {{ align1 nomask }};
mov(1) g13.2<1>UD 0x15UD {{ align1 nomask }};
send(8) 0 null<1>UD g13<8,8,1>UD {ONE_VERTEX} urb {{ align1 nomask EOT }};
"""


def test_a_thread_puts_out_a_strip_with_allocated_handles() -> None:
    end = FrontEnd(gs={"single_program_flow": True})
    end.memory.write(GS_KERNEL, assemble(STRIP, Gen.CTG))
    numbered(end, 16)
    objects = end.objects(T.POINTLIST, 11)
    assert len(objects) == 22
    assert [o.topology for o in objects[:2]] == [T.TRISTRIP, T.TRISTRIP_REVERSE]
    assert [o.entry[0][0] for o in objects] == [i // 2 for i in range(22)]


def test_a_thread_may_give_its_handle_back() -> None:
    source = STRIP.splitlines()[1] + f"\nsend(8) 0 null<1>UD g10<8,8,1>UD {NO_VERTEX} urb {{ align1 nomask EOT }};"
    end = FrontEnd(gs={"single_program_flow": True})
    end.memory.write(GS_KERNEL, assemble(source, Gen.CTG))
    numbered(end, 4)
    assert end.objects(T.POINTLIST, 4) == []
