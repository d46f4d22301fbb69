"""Stream output of Gen7, which also shows the vertices of objects (IVB PRM vol. 2 part 1, "Stream Output Logic")."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from gen4emu.hw.gen6.pipeline import ReorderMode
from gen4emu.hw.gen7.pipeline import VertexAccessType
from gen4emu.hw.topology import PrimitiveTopology as Topology
from tests.harness.commands import Machine, Words, command

VERTICES, INDICES, OUTPUT = 0x40000, 0x50000, 0x60000
UNTOUCHED = 0xCDCDCDCD
SRC, ZERO, ONE, VERTEX_ID, INSTANCE_ID = 1, 2, 3, 5, 6  # Vertex Component Control


class Streamer(Machine):
    """A machine without shaders whose vertex i is at (i, i + 0.25, 0, 1)."""

    def __init__(self, name: str = "ivb") -> None:
        super().__init__(name)
        self.device.memory.write(VERTICES, b"".join(struct.pack("<2f", i, i + 0.25) for i in range(64)))
        self.device.memory.write(OUTPUT, struct.pack("<I", UNTOUCHED) * 1024)
        self.device.memory.write(INDICES, bytes(0x1000))

    def do(self, name: str, **fields: Any) -> Words:
        return command(name, self.gen, **fields)

    def stream(self, topology: Topology, count: int, *, reorder: ReorderMode = ReorderMode.TRAILING,
               declarations: list[dict[str, Any]] | None = None, pitches: tuple[int, ...] = (4,),
               sizes: tuple[int, ...] = (4096,), instances: int = 1, more: tuple[Words, ...] = (),
               **primitive: Any) -> None:
        """Draw vertices 0 to count - 1; nothing but stream output sees the objects."""
        declarations = declarations or [{"stream_0_register_index": 1, "stream_0_component_mask": 1}]
        buffers = [self.do("3DSTATE_SO_BUFFER", so_buffer_index=b, surface_pitch=pitch,
                           surface_base_address=OUTPUT + 0x800 * b, surface_end_address=OUTPUT + 0x800 * b + size)
                   for b, (pitch, size) in enumerate(zip(pitches, sizes, strict=True))]
        self.run(
            self.do("3DSTATE_VERTEX_BUFFERS", vertex_buffers=[{
                "address_modify_enable": True, "buffer_pitch": 8, "buffer_starting_address": VERTICES,
                "end_address": VERTICES + 511}]),
            self.do("3DSTATE_VERTEX_ELEMENTS", vertex_elements=[
                {"valid": True, "source_element_format": 0x085, "component_0_control": ZERO,
                 "component_1_control": ZERO, "component_2_control": ZERO, "component_3_control": ZERO},
                {"valid": True, "source_element_format": 0x085, "component_0_control": SRC,
                 "component_1_control": SRC, "component_2_control": ZERO, "component_3_control": ONE}]),
            self.do("3DSTATE_VF_STATISTICS", statistics_enable=True),
            self.do("3DSTATE_INDEX_BUFFER", index_format=0, buffer_starting_address=INDICES,
                    buffer_ending_address=INDICES + 0xFFF, **(
                        {"cut_index_enable": True} if self.device.info.name == "ivb" else {})),
            self.do("3DSTATE_STREAMOUT", so_function_enable=True, rendering_disable=True, reorder_mode=reorder,
                    so_statistics_enable=True, **{f"so_buffer_enable_{b}": True for b in range(len(pitches))}),
            self.do("3DSTATE_SO_DECL_LIST", stream_to_buffer_selects_0=(1 << len(pitches)) - 1,
                    num_entries_0=len(declarations), entries=declarations),
            *buffers, *more,
            self.do("3DPRIMITIVE", primitive_topology_type=topology, vertex_count_per_instance=count,
                    instance_count=instances, **primitive))

    def floats(self, count: int, buffer: int = 0) -> list[float]:
        data = self.device.memory.read(OUTPUT + 0x800 * buffer, 4 * count)
        return list(struct.unpack(f"<{count}f", data))

    def written(self) -> int:
        return self.register("SO_NUM_PRIMS_WRITTEN0")


@pytest.mark.parametrize(("topology", "count", "trailing", "leading"), [
    (Topology.POINTLIST, 3, [0, 1, 2], [0, 1, 2]),
    (Topology.LINELIST, 5, [0, 1, 2, 3], [0, 1, 2, 3]),
    (Topology.LINESTRIP, 3, [0, 1, 1, 2], [0, 1, 1, 2]),
    (Topology.LINELOOP, 3, [0, 1, 1, 2, 2, 0], [0, 1, 1, 2, 2, 0]),
    (Topology.LINELIST_ADJ, 4, [1, 2], [1, 2]),
    (Topology.TRILIST, 7, [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]),
    (Topology.TRISTRIP, 5, [0, 1, 2, 2, 1, 3, 2, 3, 4], [0, 1, 2, 1, 3, 2, 2, 3, 4]),
    (Topology.TRIFAN, 4, [0, 1, 2, 0, 2, 3], [0, 1, 2, 0, 2, 3]),
    (Topology.TRILIST_ADJ, 6, [0, 2, 4], [0, 2, 4]),
    (Topology.QUADLIST, 4, [0, 1, 3, 1, 2, 3], [3, 0, 1, 3, 1, 2]),
    (Topology.QUADSTRIP, 6, [2, 0, 3, 0, 1, 3, 4, 2, 5, 2, 3, 5], [3, 2, 0, 3, 0, 1, 5, 4, 2, 5, 2, 3]),
])
def test_strips_are_decomposed_into_objects(topology: Topology, count: int, trailing: list[int],
                                            leading: list[int]) -> None:
    for reorder, expected in ((ReorderMode.TRAILING, trailing), (ReorderMode.LEADING, leading)):
        machine = Streamer()
        machine.stream(topology, count, reorder=reorder)
        assert machine.floats(len(expected)) == expected
        assert machine.dwords(OUTPUT + 4 * len(expected), 1) == [UNTOUCHED]
        assert machine.register("SO_WRITE_OFFSET0") == 4 * len(expected)


def test_objects_that_do_not_fit_are_counted_only() -> None:
    machine = Streamer()
    machine.stream(Topology.TRILIST, 6, sizes=(5 * 4,))
    assert machine.dwords(OUTPUT + 12, 1) == [UNTOUCHED]
    assert (machine.written(), machine.register("SO_PRIM_STORAGE_NEEDED0")) == (1, 2)
    assert machine.register("SO_WRITE_OFFSET0") == 12


def test_the_smallest_buffer_stops_all() -> None:
    declarations = [{"stream_0_register_index": 1, "stream_0_component_mask": 1},
                    {"stream_0_register_index": 1, "stream_0_component_mask": 2, "stream_0_output_buffer_slot": 1}]
    machine = Streamer()
    machine.stream(Topology.POINTLIST, 4, declarations=declarations, pitches=(4, 8), sizes=(4096, 16))
    assert (machine.floats(2), machine.floats(1, 1)) == ([0, 1], [0.25])
    assert machine.dwords(OUTPUT + 8, 1) == machine.dwords(OUTPUT + 0x804, 1) == [UNTOUCHED]
    assert [machine.register(f"SO_WRITE_OFFSET{b}") for b in (0, 1)] == [8, 16]


def test_holes_leave_memory_as_it_is() -> None:
    declarations = [{"stream_0_hole_flag": True, "stream_0_component_mask": 3},
                    {"stream_0_register_index": 1, "stream_0_component_mask": 0b1010}]
    machine = Streamer()
    machine.stream(Topology.POINTLIST, 1, declarations=declarations, pitches=(16,))
    assert machine.dwords(OUTPUT, 2) == [UNTOUCHED, UNTOUCHED]
    assert machine.floats(4)[2:] == [0.25, 1.0]


def test_draws_continue_where_the_last_one_ended() -> None:
    machine = Streamer()
    machine.stream(Topology.POINTLIST, 2)
    machine.stream(Topology.POINTLIST, 3, start_vertex_location=10)
    assert machine.floats(5) == [0, 1, 10, 11, 12]
    machine.set("SO_WRITE_OFFSET0", 4)
    machine.stream(Topology.POINTLIST, 1, start_vertex_location=20)
    assert machine.floats(3) == [0, 20, 10]
    assert machine.written() == 6


def test_many_objects_of_many_instances_keep_their_order() -> None:
    """Ranges of them are written by several workers."""
    machine = Streamer()
    machine.stream(Topology.POINTLIST, 60, instances=8)
    assert machine.floats(480) == [float(i) for _ in range(8) for i in range(60)]


def test_vertices_beyond_the_end_of_their_buffer_are_zero() -> None:
    """The end address is that of the last byte; constants of the element stay."""
    machine = Streamer()
    machine.stream(Topology.POINTLIST, 3, start_vertex_location=62, pitches=(16,),
                   declarations=[{"stream_0_register_index": 1, "stream_0_component_mask": 15}])
    assert machine.floats(12) == [62, 62.25, 0, 1, 63, 63.25, 0, 1, 0, 0, 0, 1]


@pytest.mark.parametrize(("device", "more", "indices"), [
    ("ivb", None, [0, 1, 2, 0xFF, 4, 5, 6]), ("hsw", 3, [0, 1, 2, 3, 4, 5, 6])])
def test_a_cut_index_ends_a_strip(device: str, more: int | None, indices: list[int]) -> None:
    """Ivy Bridge cuts at the largest index, Haswell at that of 3DSTATE_VF."""
    machine = Streamer(device)
    machine.device.memory.write(INDICES, bytes(indices))
    vf = () if more is None else (machine.do("3DSTATE_VF", indexed_draw_cut_index_enable=True, cut_index=more),)
    machine.stream(Topology.TRISTRIP, 7, more=vf, vertex_access_type=VertexAccessType.RANDOM)
    assert machine.floats(6) == [0, 1, 2, 4, 5, 6]
    assert machine.written() == 2


def test_primitives_are_counted_once_whatever_they_become() -> None:
    machine = Streamer()
    machine.stream(Topology.QUADLIST, 8)
    assert (machine.register("IA_VERTICES_COUNT"), machine.register("IA_PRIMITIVES_COUNT")) == (8, 2)
    assert machine.written() == 4


@pytest.mark.parametrize("device", ["ivb", "hsw"])
@pytest.mark.parametrize("offset", [0x1000, 0x80000000, 0xFFFFFFFC, 0xFFFFFFF0])
def test_nothing_is_written_beyond_the_end_whatever_the_offset_is(device: str, offset: int) -> None:
    machine = Streamer(device)
    machine.set("SO_WRITE_OFFSET0", offset)
    machine.stream(Topology.POINTLIST, 2)
    assert set(machine.dwords(OUTPUT, 1024)) == {UNTOUCHED}
    assert (machine.written(), machine.register("SO_PRIM_STORAGE_NEEDED0")) == (0, 2)
    assert machine.register("SO_WRITE_OFFSET0") == offset


@pytest.mark.parametrize(("pitch", "places", "end"), [(2048, [0, 512], 4096), (0, [0], 0)])
def test_the_pitch_of_a_buffer_may_be_0_or_2048(pitch: int, places: list[int], end: int) -> None:
    """With a pitch of 0 the last vertex stays."""
    machine = Streamer()
    machine.stream(Topology.POINTLIST, 2, pitches=(pitch,), start_vertex_location=5)
    assert [machine.floats(1024)[place] for place in places] == [5, 6][-len(places):]
    assert machine.register("SO_WRITE_OFFSET0") == end
    assert machine.written() == 2


@pytest.mark.parametrize("device", ["ivb", "hsw"])
def test_a_loop_is_closed_before_each_cut(device: str) -> None:
    machine = Streamer(device)
    machine.device.memory.write(INDICES, bytes([0, 1, 2, 0xFF, 4, 5, 6]))
    vf = () if device == "ivb" else (machine.do("3DSTATE_VF", indexed_draw_cut_index_enable=True, cut_index=0xFF),)
    machine.stream(Topology.LINELOOP, 7, more=vf, vertex_access_type=VertexAccessType.RANDOM)
    assert machine.floats(12) == [0, 1, 1, 2, 2, 0, 4, 5, 5, 6, 6, 4]


def generated(machine: Streamer, **fields: Any) -> Words:
    """Elements whose second one is the vertex, and whose third one is an integer of a vertex buffer."""
    element = {"valid": True, "source_element_format": 0x085, "component_0_control": ZERO, "component_1_control": ZERO,
               "component_2_control": ZERO, "component_3_control": ZERO}
    return machine.do("3DSTATE_VERTEX_ELEMENTS", vertex_elements=[
        element, element | {"component_0_control": SRC, "component_1_control": SRC}, element | fields])


@pytest.mark.parametrize("device", ["ivb", "hsw"])
def test_numbers_of_vertices_and_instances_count_from_the_start_of_the_draw(device: str) -> None:
    """Without the start of the vertices and the instances; of indices, without the base vertex."""
    machine = Streamer(device)
    elements = generated(machine, component_0_control=VERTEX_ID, component_1_control=INSTANCE_ID)
    declarations = [{"stream_0_register_index": 2, "stream_0_component_mask": 3}]
    machine.stream(Topology.POINTLIST, 2, instances=2, more=(elements,), pitches=(8,), declarations=declarations,
                   start_vertex_location=10, start_instance_location=7)
    assert machine.dwords(OUTPUT, 8) == [0, 0, 1, 0, 0, 1, 1, 1]
    machine.device.memory.write(INDICES, bytes([3, 9]))
    machine.stream(Topology.POINTLIST, 2, more=(elements,), pitches=(8,), declarations=declarations,
                   base_vertex_location=20, vertex_access_type=VertexAccessType.RANDOM)
    assert machine.dwords(OUTPUT + 32, 4) == [3, 0, 9, 0]


@pytest.mark.parametrize("device", ["ivb", "hsw"])
@pytest.mark.parametrize(("rate", "found"), [(0, [7, 7, 7, 7]), (1, [7, 8, 9, 10]), (3, [7, 7, 7, 8])])
def test_instance_data_counts_from_the_start_instance(device: str, rate: int, found: list[int]) -> None:
    machine = Streamer(device)
    buffer = machine.do("3DSTATE_VERTEX_BUFFERS", vertex_buffers=[{
        "vertex_buffer_index": 1, "address_modify_enable": True, "buffer_pitch": 8, "end_address": VERTICES + 511,
        "buffer_starting_address": VERTICES, "buffer_access_type": "INSTANCEDATA", "instance_data_step_rate": rate}])
    machine.stream(Topology.POINTLIST, 1, instances=4, start_instance_location=7, more=(
        buffer, generated(machine, vertex_buffer_index=1, component_0_control=SRC)),
        declarations=[{"stream_0_register_index": 2, "stream_0_component_mask": 1}])
    assert machine.floats(4) == found


@pytest.mark.parametrize("device", ["ivb", "hsw"])
def test_an_edge_flag_is_not_a_part_of_the_vertex(device: str) -> None:
    machine = Streamer(device)
    machine.stream(Topology.TRILIST, 3, more=(generated(machine, edge_flag_enable=True, component_0_control=SRC),),
                   pitches=(8,), declarations=[{"stream_0_register_index": r, "stream_0_component_mask": 1}
                                               for r in (1, 2)])
    assert machine.floats(6) == [0, 0, 1, 0, 2, 0]


@pytest.mark.parametrize("device", ["ivb", "hsw"])
@pytest.mark.parametrize(("mode", "leave"), [("NORMAL", 2), ("REJECT_ALL", 0), ("ACCEPT_ALL", 2)])
@pytest.mark.parametrize("disabled", [False, True])
def test_the_clipper_counts_objects_that_enter_and_the_setup_those_that_leave(device: str, mode: str, leave: int,
                                                                              disabled: bool) -> None:
    """Each with its own statistics bit; objects that are not rendered do not enter."""
    for clip, setup in ((True, True), (True, False), (False, True)):
        machine = Streamer(device)
        machine.stream(Topology.TRILIST, 6, more=(
            machine.do("3DSTATE_STREAMOUT", rendering_disable=disabled),
            machine.do("3DSTATE_CLIP", statistics_enable=clip, clip_enable=True, clip_mode=mode),
            machine.do("3DSTATE_SF", statistics_enable=setup)))
        assert machine.register("CL_INVOCATION_COUNT") == (2 if clip and not disabled else 0)
        assert machine.register("CL_PRIMITIVES_COUNT") == (leave if setup and not disabled else 0)
