"""Draws and counts of Kaby Lake without shaders, seen through stream output (KBL PRM vol. 2a, 3DPRIMITIVE)."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from gen4emu.hw.gen6.pipeline import ReorderMode
from gen4emu.hw.topology import PrimitiveTopology as Topology
from tests.harness.commands import Machine, Words, command

VERTICES, INDICES, OUTPUT = 0x40000, 0x48000, 0x60000
ZERO, SRC = 2, 1  # Vertex Component Control
UNTOUCHED = -1.0
ROOM = 64  # floats
RANDOM = {"vertex_access_type": 1}


class Streamed(Machine):
    """Vertex i is the float i + 1.  Each draw streams its vertices from the start of the buffer on."""

    def __init__(self) -> None:
        super().__init__("kbl")
        self.device.memory.write(VERTICES, struct.pack("<64f", *range(1, 65)))
        self.device.memory.write(INDICES, struct.pack("<32H", *range(31, -1, -1)))

    def draw(self, topology: Topology, *more: Words, size: int = 256, pitch: int = 4, indices: int = 64,
             enabled: bool = True, reorder: ReorderMode = ReorderMode.LEADING, raw: int = 0,
             **primitive: Any) -> list[float]:
        """`raw` is added to dword 1 of the draw; `size` and `indices` are bytes of the buffers."""
        self.device.memory.write(OUTPUT, struct.pack(f"<{ROOM}f", *[UNTOUCHED] * ROOM))
        last = command("3DPRIMITIVE", self.gen, **{"instance_count": 1} | primitive)
        last[1] |= raw
        self.run(
            command("3DSTATE_VERTEX_BUFFERS", self.gen, vertex_buffers=[{
                "address_modify_enable": True, "buffer_pitch": pitch, "buffer_starting_address": VERTICES,
                "buffer_size": size}]),
            command("3DSTATE_VERTEX_ELEMENTS", self.gen, vertex_elements=[{
                "valid": True, "source_element_format": 0x0D8, "component_0_control": SRC,
                **{f"component_{i}_control": ZERO for i in range(1, 4)}}]),
            command("3DSTATE_INDEX_BUFFER", self.gen, index_format=1, buffer_starting_address=INDICES,
                    buffer_size=indices),
            command("3DSTATE_VF_STATISTICS", self.gen, statistics_enable=True),
            command("3DSTATE_VF_TOPOLOGY", self.gen, primitive_topology_type=topology),
            command("3DSTATE_STREAMOUT", self.gen, so_function_enable=True, api_rendering_disable=True,
                    so_statistics_enable=True, reorder_mode=reorder, buffer_0_surface_pitch=4),
            command("3DSTATE_SO_DECL_LIST", self.gen, stream_to_buffer_selects_0=1, num_entries_0=1, entries=[
                {"stream_0_register_index": 0, "stream_0_component_mask": 1}]),
            command("3DSTATE_SO_BUFFER", self.gen, so_buffer_enable=enabled, so_buffer_index=0,
                    surface_base_address=OUTPUT, surface_size=4 * ROOM, stream_offset_write_enable=True),
            *more, last)
        floats = struct.unpack(f"<{ROOM}f", self.device.memory.read(OUTPUT, 4 * ROOM))
        return [value for value in floats if value != UNTOUCHED]

    def counters(self) -> list[int]:
        return [self.register(name) for name in ("IA_VERTICES_COUNT", "IA_PRIMITIVES_COUNT", "SO_PRIM_STORAGE_NEEDED0",
                                                 "SO_NUM_PRIMS_WRITTEN0")]


def test_the_topology_of_the_draw_itself_is_ignored() -> None:
    machine = Streamed()
    assert machine.draw(Topology.POINTLIST, vertex_count_per_instance=4, raw=Topology.TRILIST) == [1, 2, 3, 4]


@pytest.mark.parametrize("counts", [{"vertex_count_per_instance": 0}, {"vertex_count_per_instance": 3,
                                                                      "instance_count": 0}])
def test_a_draw_of_nothing_counts_nothing(counts: dict[str, int]) -> None:
    machine = Streamed()
    assert machine.draw(Topology.POINTLIST, **counts) == []
    assert machine.counters() == [0, 0, 0, 0]


@pytest.mark.parametrize(("topology", "count", "expected"), [
    (Topology.TRILIST, 5, [1, 2, 3]), (Topology.LINELIST, 3, [1, 2]), (Topology.TRISTRIP, 2, []),
    (Topology.LINELIST_ADJ, 7, [2, 3])])
def test_an_object_without_all_its_vertices_is_dropped(topology: Topology, count: int, expected: list[float]) -> None:
    assert Streamed().draw(topology, vertex_count_per_instance=count) == expected


def test_vertices_behind_the_end_of_their_buffer_are_zeros() -> None:
    assert Streamed().draw(Topology.POINTLIST, size=10, vertex_count_per_instance=4) == [1, 2, 0, 0]


def test_indices_behind_the_end_of_their_buffer_are_zeros() -> None:
    assert Streamed().draw(Topology.POINTLIST, indices=4, vertex_count_per_instance=4, **RANDOM) == [32, 31, 1, 1]


def test_the_base_vertex_is_added_to_indices_only() -> None:
    machine = Streamed()
    fields = {"vertex_count_per_instance": 2, "start_vertex_location": 1, "base_vertex_location": -2}
    assert machine.draw(Topology.POINTLIST, **fields, **RANDOM) == [29, 28]
    assert machine.draw(Topology.POINTLIST, **fields) == [2, 3]


@pytest.mark.parametrize(("result", "expected"), [(0, []), (1, [1, 2])])
def test_a_predicate_skips_a_draw_and_its_counts(result: int, expected: list[float]) -> None:
    machine = Streamed()
    machine.device.registers.write(machine.device.registers.offset("MI_PREDICATE_RESULT"), result)
    assert machine.draw(Topology.POINTLIST, vertex_count_per_instance=2, predicate_enable=True) == expected
    assert machine.counters() == [2 * result] * 4


def test_parameters_come_from_registers() -> None:
    machine = Streamed()
    for name, value in (("VERTEX_COUNT", 2), ("START_VERTEX", 3), ("INSTANCE_COUNT", 1), ("START_INSTANCE", 0),
                        ("BASE_VERTEX", -1 & 0xFFFFFFFF)):
        machine.device.registers.write(machine.device.registers.offset(f"3DPRIM_{name}"), value)
    fields = {"indirect_parameter_enable": True, "vertex_count_per_instance": 9, "instance_count": 9}
    assert machine.draw(Topology.POINTLIST, **fields) == [4, 5]
    assert machine.draw(Topology.POINTLIST, **fields, **RANDOM) == [28, 27]


@pytest.mark.parametrize(("offset", "topology", "expected"), [
    (12, Topology.POINTLIST, [1, 2, 3]), (15, Topology.POINTLIST, [1, 2, 3]), (16, Topology.POINTLIST, [1, 2, 3, 4]),
    (20, Topology.TRILIST, [1, 2, 3]), (3, Topology.POINTLIST, [])])
def test_a_draw_to_the_end_offset_has_whole_vertices(offset: int, topology: Topology, expected: list[float]) -> None:
    machine = Streamed()
    machine.device.registers.write(machine.device.registers.offset("3DPRIM_END_OFFSET"), offset)
    assert machine.draw(topology, vertex_count_per_instance=9, end_offset_enable=True) == expected
    assert machine.counters()[0] == offset // 4


@pytest.mark.parametrize(("vertices", "objects"), [(1, 0), (2, 2), (7, 7)])
def test_the_closing_segment_of_a_loop_is_counted(vertices: int, objects: int) -> None:
    machine = Streamed()
    machine.draw(Topology.LINELOOP, vertex_count_per_instance=vertices)
    assert machine.counters() == [vertices, objects, objects, objects]


def test_a_draw_to_the_end_offset_needs_a_pitch() -> None:
    machine = Streamed()
    machine.device.registers.write(machine.device.registers.offset("3DPRIM_END_OFFSET"), 64)
    assert machine.draw(Topology.POINTLIST, pitch=0, end_offset_enable=True) == []
    (streamer,) = (s for s in machine.device.streamers.values() if s.findings.count)
    assert list(streamer.findings.count) == [
        "3DPRIMITIVE with End Offset Enable draws nothing: vertex buffer 0 has no structures"]


def test_a_disabled_buffer_overflows_at_once() -> None:
    machine = Streamed()
    assert machine.draw(Topology.POINTLIST, enabled=False, vertex_count_per_instance=3) == []
    assert machine.counters() == [3, 3, 3, 0]


@pytest.mark.parametrize(("mode", "expected"), [
    (ReorderMode.LEADING, [1, 2, 3, 2, 4, 3, 3, 4, 5]), (ReorderMode.TRAILING, [1, 2, 3, 3, 2, 4, 3, 4, 5])])
def test_the_reorder_mode_tells_which_vertex_of_odd_triangles_stays(mode: ReorderMode, expected: list[float]) -> None:
    assert Streamed().draw(Topology.TRISTRIP, reorder=mode, vertex_count_per_instance=5) == expected


def test_state_between_two_draws_belongs_to_the_later_one() -> None:
    machine = Streamed()
    assert machine.draw(Topology.POINTLIST, command("3DPRIMITIVE", machine.gen, vertex_count_per_instance=1,
                                                    instance_count=1),
                        command("3DSTATE_VF_TOPOLOGY", machine.gen, primitive_topology_type=Topology.LINELIST),
                        vertex_count_per_instance=3, start_vertex_location=4) == [1, 5, 6]
