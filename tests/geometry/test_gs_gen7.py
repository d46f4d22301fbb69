"""Geometry shaders of Gen7: objects in their payloads, and the vertices that they write (IVB PRM vol. 2 part 1)."""

from __future__ import annotations

import pytest

from gen4emu.errors import HangError
from gen4emu.hw.gen6.pipeline import ReorderMode
from gen4emu.hw.gen7.messages import UrbOpcodeGen7
from gen4emu.hw.gen7.pipeline import ControlDataFormat, DispatchMode
from gen4emu.hw.topology import PrimitiveTopology as T
from tests.harness.stages_gen7 import Stages, bits, clear, end_gs, put, start, urb, write_row

DEVICES = ("ivb", "hsw")

# One point: the first position component of up to six vertices, then the topology and the primitive ID.
STAGED = (start(20) + clear(21) + "".join(put(f"g21.{v}", f"g{2 + v}.4") for v in range(6))
          + put("g21.6", "g0.2") + put("g21.7", "g1") + write_row(20, 0) + end_gs(20, 1))


def staged(topology: T, count: int, device: str = "ivb", **fields: object) -> list[list[int]]:
    machine = Stages(device)
    machine.draw(topology, count, machine.gs(STAGED, **fields))
    return machine.vertices()


def positions(vertex: list[int], number: int) -> list[float]:
    """Vertices whose position is a small whole number."""
    known = {bits(float(i)): float(i) for i in range(64)}
    return [known[x] for x in vertex[:number]]


@pytest.mark.parametrize(("topology", "count", "number", "trailing", "leading"), [
    (T.POINTLIST, 2, 1, [[0], [1]], None),
    (T.LINELIST, 4, 2, [[0, 1], [2, 3]], None),
    (T.LINESTRIP, 3, 2, [[0, 1], [1, 2]], None),
    (T.LINELOOP, 3, 2, [[0, 1], [1, 2], [2, 0]], None),
    (T.LINELIST_ADJ, 8, 4, [[0, 1, 2, 3], [4, 5, 6, 7]], None),
    (T.LINESTRIP_ADJ, 5, 4, [[0, 1, 2, 3], [1, 2, 3, 4]], None),
    (T.TRILIST, 7, 3, [[0, 1, 2], [3, 4, 5]], None),
    (T.TRISTRIP, 5, 3, [[0, 1, 2], [2, 1, 3], [2, 3, 4]], [[0, 1, 2], [1, 3, 2], [2, 3, 4]]),
    (T.TRIFAN, 4, 3, [[0, 1, 2], [0, 2, 3]], None),
    (T.TRILIST_ADJ, 6, 6, [[0, 1, 2, 3, 4, 5]], None),
    (T.TRISTRIP_ADJ, 10, 6, [[0, 1, 2, 6, 4, 3], [4, 0, 2, 5, 6, 8], [4, 2, 6, 9, 8, 7]],
     [[0, 1, 2, 6, 4, 3], [2, 5, 6, 8, 4, 0], [4, 2, 6, 9, 8, 7]]),
])
def test_objects_and_their_adjacent_vertices(topology: T, count: int, number: int, trailing: list[list[float]],
                                             leading: list[list[float]] | None) -> None:
    for mode, expected in ((ReorderMode.TRAILING, trailing), (ReorderMode.LEADING, leading or trailing)):
        found = staged(topology, count, reorder_mode=mode)
        assert [positions(vertex, number) for vertex in found] == expected
        assert [vertex[7] for vertex in found] == list(range(len(expected)))  # primitive IDs


def test_adjacent_vertices_can_be_discarded() -> None:
    found = staged(T.TRILIST_ADJ, 6, discard_adjacency=True)
    assert [positions(vertex, 6) for vertex in found] == [[0, 2, 4, 0, 0, 0]]


def test_r0_names_the_topology_of_each_object() -> None:
    assert [vertex[6] for vertex in staged(T.TRISTRIP, 4)] == [T.TRISTRIP, T.TRISTRIP_REVERSE]


def patches(vertices: int) -> int:
    """The topology of lists of patches."""
    return 0x1F + vertices


def test_patches_reach_the_geometry_shader_without_tessellation() -> None:
    machine = Stages()
    machine.draw(patches(5), 10, machine.gs(STAGED))
    assert [positions(vertex, 5) for vertex in machine.vertices()] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


@pytest.mark.parametrize("device", DEVICES)
def test_statistics(device: str) -> None:
    machine = Stages(device)
    machine.draw(T.TRILIST, 9, machine.gs(STAGED, instance_control=2))
    assert machine.register("GS_INVOCATION_COUNT") == machine.register("GS_PRIMITIVES_COUNT") == 6


# ---- output ----
def strip(count: int, control: int | None = None) -> str:
    """`count` vertices at 0, 1, 2, ... after a row of control data."""
    text = start(20) + clear(21)
    rows = 0
    if control is not None:
        text += put("g21", control) + write_row(20, 0) + put("g21", 0)
        rows = 1
    return text + "".join(put("g21.4", bits(v)) + write_row(20, rows + v) for v in range(count)) + end_gs(20, count)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("control", "expected"), [
    (0b000100, [[0, 1, 2], [3, 4, 5]]),
    (0, [[0, 1, 2], [2, 1, 3], [2, 3, 4], [4, 3, 5]]),
    (0b100001, [[1, 2, 3], [3, 2, 4], [3, 4, 5]]),  # a vertex alone is no triangle
])
def test_cut_bits_end_strips(device: str, control: int, expected: list[list[float]]) -> None:
    machine = Stages(device)
    machine.draw(T.POINTLIST, 1, machine.gs(strip(6, control), output_topology=T.TRISTRIP, control_data_header_size=1,
                                            control_data_format=ControlDataFormat.CUT))
    found = [positions([vertex[4]], 1)[0] for vertex in machine.vertices()]
    assert [found[i:i + 3] for i in range(0, len(found), 3)] == expected
    assert machine.register("GS_PRIMITIVES_COUNT") == len(expected)


def test_without_control_data_all_vertices_are_one_strip() -> None:
    machine = Stages()
    machine.draw(T.POINTLIST, 1, machine.gs(strip(4), output_topology=T.LINESTRIP))
    assert [positions([vertex[4]], 1)[0] for vertex in machine.vertices()] == [0, 1, 1, 2, 2, 3]


@pytest.mark.parametrize("device", DEVICES)
def test_stream_ids_send_vertices_to_streams(device: str) -> None:
    machine = Stages(device)
    machine.draw(T.POINTLIST, 2, machine.gs(strip(5, 0b01_11_00_01_00), control_data_header_size=1,
                                            control_data_format=ControlDataFormat.SID), streams=4)
    found = [[positions([vertex[4]], 1)[0] for vertex in machine.vertices(stream)] for stream in range(4)]
    assert found == [[0, 2, 0, 2], [1, 4, 1, 4], [], [3, 3]]
    assert [machine.register(f"SO_NUM_PRIMS_WRITTEN{s}") for s in range(4)] == [4, 4, 0, 2]


def test_the_default_stream_is_that_of_all_vertices_without_stream_ids() -> None:
    machine = Stages()
    machine.draw(T.POINTLIST, 1, machine.gs(strip(2), default_streamid=2), streams=4)
    assert [len(machine.vertices(stream)) for stream in range(4)] == [0, 0, 2, 0]


def test_objects_that_do_not_fit_are_counted_only() -> None:
    """Room for five vertices: two strips of two triangles each fill it with the first triangle."""
    machine = Stages()
    machine.draw(T.POINTLIST, 2, machine.gs(strip(4), output_topology=T.TRISTRIP), size=5 * 32)
    assert len(machine.vertices()) == 3
    assert (machine.register("SO_NUM_PRIMS_WRITTEN0"), machine.register("SO_PRIM_STORAGE_NEEDED0")) == (1, 4)


def test_more_vertices_than_fit_into_the_entry_are_dropped() -> None:
    machine = Stages()
    machine.draw(T.POINTLIST, 1, machine.gs(start(20) + end_gs(20, 1000)))
    assert len(machine.vertices()) == 32  # 16 * 64 bytes


def test_vertices_count_against_the_watchdog() -> None:
    """Each of the 6,400 threads says that it has written 2,046 vertices; 15,625 are allowed."""
    machine = Stages(watchdog=1)
    shader = machine.gs(start(20) + end_gs(20, 2046), instance_control=32, output_vertex_size=1)
    shader[0] = machine.do("3DSTATE_URB_GS", gs_urb_entry_allocation_size=512, gs_number_of_urb_entries=64)
    with pytest.raises(HangError, match=r"threads do not end .*unit GS"):
        machine.draw(T.POINTLIST, 200, shader)


def test_many_objects_keep_their_order() -> None:
    machine = Stages()
    machine.draw(T.POINTLIST, 200, machine.gs(STAGED))
    assert [vertex[7] for vertex in machine.vertices()] == list(range(200))


# ---- dispatch ----
INSTANCE = start(20) + clear(21) + put("g21", "g0") + put("g21.4", "g2.4") + write_row(20, 0) + end_gs(20, 1)


def test_each_instance_is_a_thread() -> None:
    machine = Stages()
    machine.draw(T.POINTLIST, 2, machine.gs(INSTANCE, instance_control=3))
    assert [(vertex[0] >> 27, *positions([vertex[4]], 1)) for vertex in machine.vertices()] == [
        (instance, point) for point in (0, 1) for instance in range(3)]


# Interleaved: slot 0 has both header dwords, slot 1 the position of the vertex.
PAIR = (start(20) + clear(21) + clear(22) + put("g21", "g0") + put("g21.4", "g0.1") + put("g22", "{first}")
        + put("g22.4", "{second}") + urb(UrbOpcodeGen7.WRITE_HWORD, 20, 2, interleave=True) + end_gs(20, 1, 1))


def pair(first: str, second: str) -> str:
    return PAIR.replace("{first}", first).replace("{second}", second)


def test_two_instances_share_a_thread() -> None:
    machine = Stages()
    machine.draw(T.POINTLIST, 2, machine.gs(pair("g2.4", "g2.4"), instance_control=3,
                                            dispatch_mode=DispatchMode.DUAL_INSTANCE))
    assert [(vertex[0] >> 27, *positions([vertex[4]], 1)) for vertex in machine.vertices()] == [
        (instance, point) for point in (0, 1) for instance in range(3)]


@pytest.mark.parametrize("device", DEVICES)
def test_two_objects_share_a_thread(device: str) -> None:
    """Each register has a slot of both: g2 and g3 are those of vertex 0, g4 and g5 of vertex 1."""
    machine = Stages(device)
    machine.draw(T.LINELIST, 10, machine.gs(pair("g5", "g5.4"), dispatch_mode=DispatchMode.DUAL_OBJECT))
    assert [positions([vertex[4]], 1)[0] for vertex in machine.vertices()] == [1, 3, 5, 7, 9]


def test_vertices_are_pulled_by_their_handles() -> None:
    """Handles follow the primitive IDs: dword v of g2 is that of vertex v."""
    text = (clear(20) + put("g20", "g2.1") + put("g20.5", 0xFF00)
            + urb(UrbOpcodeGen7.READ_HWORD, 20, 0, response=30)
            + start(20) + clear(21) + put("g21.4", "g30.4") + write_row(20, 0) + end_gs(20, 1))
    machine = Stages()
    machine.draw(T.LINELIST, 4, machine.gs(text, include_vertex_handles=True, vertex_urb_entry_read_length=0,
                                           dispatch_grf_start_register_for_urb_data=3))
    assert [positions([vertex[4]], 1)[0] for vertex in machine.vertices()] == [1, 3]


def test_a_read_returns_the_enabled_dwords_only() -> None:
    """The channel mask of the header has dwords 4 and 5: those of the position's first components."""
    text = (clear(20) + put("g20", "g2") + put("g20.5", 0x3000)
            + clear(30) + put("g30.6", 7) + urb(UrbOpcodeGen7.READ_HWORD, 20, 0, response=30)
            + start(20) + "mov(8) g21<1>UD g30<8,8,1>UD { align1 WE_all 1Q };\n" + write_row(20, 0) + end_gs(20, 1))
    machine = Stages()
    machine.draw(T.POINTLIST, 2, machine.gs(text, include_vertex_handles=True, vertex_urb_entry_read_length=0,
                                            dispatch_grf_start_register_for_urb_data=3))
    assert machine.vertices()[1] == [0, 0, 0, 0, bits(1.0), bits(1.25), 7, 0]
