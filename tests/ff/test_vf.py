"""Vertex fetch: conversions, indices, instances, topologies."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from gen4emu.hw.catalogue import command_named
from gen4emu.hw.formats import SurfaceFormat
from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology as T
from tests.harness.front_end import INDICES, STORE, VERTICES, FrontEnd, numbered, tuples
from tests.harness.scene import TARGET, Scene, vertex


def fetched(name: str, data: bytes) -> list[int]:
    end = FrontEnd()
    end.memory.write(VERTICES, data.ljust(64, b"\0"))
    end.elements = [{"valid": True, "source_element_format": SurfaceFormat[name], **STORE}]
    end.setup(32)
    return list(end.objects(T.POINTLIST, 1)[0].entry[0][0:4])


BYTES = bytes([0x80, 0x01, 0xFF, 0x00])


@pytest.mark.parametrize(("name", "data", "expected"), [
    ("R8G8B8A8_UNORM", BYTES, [0x3F008081, 0x3B808081, 0x3F800000, 0]),
    ("R8G8B8A8_SNORM", BYTES, [0xBF800000, 0x3C010204, 0xBC010204, 0]),
    ("R8G8B8A8_USCALED", BYTES, [0x43000000, 0x3F800000, 0x437F0000, 0]),
    ("R8G8B8A8_SINT", BYTES, [0xFFFFFF80, 1, 0xFFFFFFFF, 0]),
    ("B8G8R8A8_UNORM", BYTES, [0x3F800000, 0x3B808081, 0x3F008081, 0]),
    ("R16_UNORM", struct.pack("<H", 0x8000), [0x3F000080, 0, 0, 0]),
    ("R16_SNORM", struct.pack("<H", 1), [0x38000100, 0, 0, 0]),
    ("R16_SNORM", struct.pack("<H", 0x8001), [0xBF800000, 0, 0, 0]),
    ("R16_SNORM", struct.pack("<H", 0x8000), [0xBF800000, 0, 0, 0]),
    ("R16_SSCALED", struct.pack("<H", 0x8000), [0xC7000000, 0, 0, 0]),
    ("R32_USCALED", struct.pack("<I", 0xFFFFFFFF), [0x4F800000, 0, 0, 0]),
    ("R32_UNORM", struct.pack("<I", 0x80000000), [0x3F000000, 0, 0, 0]),
    ("R32_SNORM", struct.pack("<I", 1), [0x30000000, 0, 0, 0]),
    ("R64_FLOAT", struct.pack("<d", 0.1), [0x3DCCCCCD, 0, 0, 0]),
    ("R16_FLOAT", struct.pack("<H", 1), [0x33800000, 0, 0, 0]),
    ("R10G10B10A2_UINT", struct.pack("<I", 0xC0000401), [1, 1, 0, 3]),
    ("R11G11B10_FLOAT", struct.pack("<I", 0x781E03C0), [0x3F800000, 0x3F800000, 0x3F800000, 0]),
    ("R32G32B32_FLOAT", struct.pack("<3I", 1, 0x7FC12345, 3), [1, 0x7FC12345, 3, 0]),
])
def test_source_formats(name: str, data: bytes, expected: list[int]) -> None:
    assert fetched(name, data) == expected


def id_elements(**controls: int) -> list[dict[str, Any]]:
    return [{"valid": True, "source_element_format": SurfaceFormat.R32G32B32A32_UINT, **STORE},
            {"valid": True, "source_element_format": SurfaceFormat.R32G32B32A32_UINT,
             "destination_element_offset": 4, **controls}]


def test_indices_add_start_and_base() -> None:
    end = FrontEnd()
    end.elements = id_elements(component_0_control=5, component_1_control=3)
    numbered(end, 10)
    end.index_buffer([5, 6, 7, 8])
    entry = end.objects(T.POINTLIST, 1, vertex_access_type=1, start_vertex_location=2, base_vertex_location=-7)[0].entry
    assert (entry[0][0], entry[0][4], entry[0][5]) == (0, 7, 0x3F800000)


def test_an_index_beyond_max_index_gives_zeros_but_constants_stay() -> None:
    end = FrontEnd()
    end.elements = id_elements(component_0_control=1, component_3_control=3)
    end.buffers = [{"buffer_pitch": 32, "buffer_starting_address": VERTICES, "max_index": 3}]
    end.vertices([[9] * 8] * 10)
    end.setup(32)
    end.index_buffer([7])
    entry = end.objects(T.POINTLIST, 1, vertex_access_type=1, base_vertex_location=-8)[0].entry[0]
    assert (entry[0], entry[4], entry[7]) == (0, 0, 0x3F800000)


def test_indices_past_the_end_of_the_buffer_are_zero_and_never_cut() -> None:
    end = FrontEnd()
    numbered(end, 10)
    end.index_buffer([4, 3, 2, 1, 0xFFFF, 0xFFFF], cut=True, end=INDICES + 7)
    assert tuples(end.objects(T.POINTLIST, 6, vertex_access_type=1)) == [(4,), (3,), (2,), (1,), (0,), (0,)]


def test_a_cut_index_ends_strips_and_short_ones_vanish() -> None:
    end = FrontEnd()
    numbered(end, 16)
    end.index_buffer([0, 1, 2, 3, 0xFFFF, 4, 5, 0xFFFF, 6, 7, 8], cut=True)
    assert tuples(end.objects(T.TRISTRIP, 11, vertex_access_type=1)) == [(0, 1, 2), (1, 2, 3), (6, 7, 8)]


def test_instance_data_advances_by_its_step_rate() -> None:
    end = FrontEnd()
    end.elements = [{"valid": True, "source_element_format": SurfaceFormat.R32G32B32A32_UINT,
                     "component_0_control": 1, "component_1_control": 6}]
    end.buffers = [{"buffer_pitch": 32, "buffer_starting_address": VERTICES, "buffer_access_type": 1,
                    "instance_data_step_rate": 2}]
    numbered(end, 10)
    seen = end.objects(T.POINTLIST, 1, instance_count=5, start_instance_location=3)
    assert [(o.entry[0][0], o.entry[0][1]) for o in seen] == [(3, 0), (3, 1), (4, 2), (4, 3), (5, 4)]


@pytest.mark.parametrize(("topology", "count", "expected"), [
    (T.TRILIST, 5, [(0, 1, 2)]),
    (T.LINELIST, 5, [(0, 1), (2, 3)]),
    (T.LINESTRIP, 4, [(0, 1), (1, 2), (2, 3)]),
    (T.LINESTRIP, 1, []),
    (T.TRISTRIP, 5, [(0, 1, 2), (1, 2, 3), (2, 3, 4)]),
    (T.TRIFAN, 5, [(0, 1, 2), (0, 2, 3), (0, 3, 4)]),
    (T.POLYGON, 4, [(0, 1, 2), (0, 2, 3)]),
    (T.RECTLIST, 6, [(0, 1, 2), (3, 4, 5)]),
    (T.TRILIST_ADJ, 12, [(0, 2, 4), (6, 8, 10)]),
    (T.LINELIST_ADJ, 9, [(1, 2), (5, 6)]),
    (T.LINESTRIP_ADJ, 5, [(1, 2), (2, 3)]),
    (T.TRISTRIP_ADJ, 9, [(0, 2, 4), (2, 4, 6)]),
])
def test_topologies_without_a_gs(topology: T, count: int, expected: list[tuple[int, ...]]) -> None:
    end = FrontEnd()
    numbered(end, 16)
    assert tuples(end.objects(topology, count)) == expected


@pytest.mark.parametrize("topology", [T.QUADLIST, T.QUADSTRIP, T.LINELOOP])
def test_quads_and_loops_need_a_gs(topology: T) -> None:
    end = FrontEnd()
    numbered(end, 16)
    assert end.objects(topology, 8) == []
    assert [e.text for e in end.device.events()] == ["topology that the unit cannot take"]


def test_long_strips_and_fans_are_the_same_over_all_ranges() -> None:
    end = FrontEnd()
    end.buffers = [{"buffer_pitch": 4, "buffer_starting_address": VERTICES}]
    end.memory.write(VERTICES, struct.pack("<8192I", *range(8192)))
    end.elements = [{"valid": True, "source_element_format": SurfaceFormat.R32_UINT, "component_0_control": 1}]
    end.setup(16)
    strip = end.objects(T.TRISTRIP, 3000)
    assert tuples(strip) == [(k, k + 1, k + 2) for k in range(2998)]
    assert [o.invert_orientation for o in strip[:4]] == [False, True, False, True]
    assert [o.topology for o in strip[:2]] == [T.TRISTRIP, T.TRISTRIP_REVERSE]
    assert [o.last_of_primitive for o in strip] == [False] * 2997 + [True]
    assert tuples(end.objects(T.TRIFAN, 3000)) == [(0, k + 1, k + 2) for k in range(2998)]


def test_a_large_primitive_is_the_same_over_larger_ranges() -> None:
    """33,000 triangles: the clipper leaves every twentieth, so that a few are to be looked at."""
    end = FrontEnd(clip={"viewport_xy_clip_test_enable": True})
    points = [(0.0 if i // 3 % 20 == 0 else 2.0, 0.0, float(i), 1.0) for i in range(99)]
    end.buffers = [{"buffer_pitch": 32, "buffer_starting_address": VERTICES}]
    end.positions(points)
    end.index_buffer([i % 60 for i in range(99000)])
    seen = [tuple(o.entry[v][6] for v in range(3)) for o in end.objects(T.TRILIST, 99000, vertex_access_type=1)]
    word = [struct.unpack("<I", struct.pack("<f", float(i)))[0] for i in range(3)]
    assert seen == [tuple(word)] * 1650


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("shift", [0, 1, 2, 3])
def test_indices_lie_anywhere_and_go_on_over_pages(size: int, shift: int) -> None:
    end = FrontEnd()
    numbered(end, 200)
    indices = [(7 * i + i // 200) % 200 for i in range(3000)]
    start = INDICES + 4096 * 2 - shift
    code = {1: "B", 2: "H", 4: "I"}[size]
    end.memory.write(start, struct.pack(f"<{len(indices)}{code}", *indices))
    end.run(end.command("3DSTATE_INDEX_BUFFER", index_format={1: 0, 2: 1, 4: 2}[size], buffer_starting_address=start,
                        buffer_ending_address=start + 2500 * size - 1))
    flat = [i for t in tuples(end.objects(T.TRILIST, 2997, vertex_access_type=1, start_vertex_location=3)) for i in t]
    assert flat == (indices[:2500] + [0] * 500)[3:]


def test_unmapped_indices_are_zero() -> None:
    end = FrontEnd()
    numbered(end, 4)
    end.run(end.command("3DSTATE_INDEX_BUFFER", index_format=1, buffer_starting_address=0xF0000000))
    assert set(tuples(end.objects(T.POINTLIST, 300, vertex_access_type=1))) == {(0,)}


@pytest.mark.parametrize(("topology", "last", "ids"), [
    (T.LINELIST_ADJ, 8, {2: 0, 6: 1}), (T.LINESTRIP, 4, {1: 0, 2: 1, 3: 2}), (T.TRISTRIP, 5, {2: 0, 3: 1, 4: 2}),
    (T.TRISTRIP_ADJ, 10, {4: 0, 6: 1, 8: 2}),
])
def test_primitive_ids_per_vertex(topology: T, last: int, ids: dict[int, int]) -> None:
    end = FrontEnd()
    end.elements = id_elements(component_0_control=7)
    numbered(end, 16)
    seen = {}
    for o in end.objects(topology, last):
        for v in range(o.vertices):
            seen[o.entry[v][0]] = o.entry[v][4]
    assert {k: seen[k] for k in ids} == ids


def test_primitive_ids_go_on_after_a_cut() -> None:
    """Decision 17."""
    end = FrontEnd()
    end.elements = id_elements(component_0_control=7)
    numbered(end, 16)
    end.index_buffer([0, 1, 2, 0xFFFF, 3, 4, 5], cut=True)
    seen = end.objects(T.TRISTRIP, 7, vertex_access_type=1)
    assert [o.entry[2][4] for o in seen] == [0, 1]


def test_a_pitch_of_2048_is_2048() -> None:
    end = FrontEnd()
    end.buffers = [{"buffer_pitch": 2048, "buffer_starting_address": VERTICES}]
    end.vertices([[1]])
    end.memory.write(VERTICES + 2048, struct.pack("<I", 2))
    end.setup(16)
    assert tuples(end.objects(T.POINTLIST, 2)) == [(1,), (2,)]


def test_the_header_is_read_back() -> None:
    end = FrontEnd()
    end.vertices([[0, 0x7FF, 7, 0x12 << 8, 0, 0, 0, 0], [0, 0, 0x3F800000, 0, 0, 0, 0, 0]])
    end.setup(32)
    first, second = end.objects(T.POINTLIST, 2)
    assert (first.viewport[0], first.array_index[0], first.point_width[0]) == (7, 0x7FF, 0x12)
    assert second.viewport[0] == 0


def test_unmapped_vertices_read_as_zero() -> None:
    end = FrontEnd()
    end.buffers = [{"buffer_pitch": 16, "buffer_starting_address": 0xF0000000}]
    end.setup(16)
    assert list(end.objects(T.POINTLIST, 1)[0].entry[0][0:4]) == [0, 0, 0, 0]


def test_repeated_indices_share_their_vertex_without_a_difference() -> None:
    end = FrontEnd()
    numbered(end, 4)
    indices = [0, 1, 2, 2, 1, 3] * 100
    end.index_buffer(indices)
    flat = [i for t in tuples(end.objects(T.TRILIST, 600, vertex_access_type=1)) for i in t]
    assert flat == indices


def test_the_closing_segment_of_a_loop_is_not_counted() -> None:
    end = FrontEnd()
    numbered(end, 8)
    end.run(end.command("3DSTATE_VF_STATISTICS", statistics_enable=True))
    end.run(end.command("3DPRIMITIVE", primitive_topology_type=T.LINELOOP, vertex_count_per_instance=7,
                        instance_count=1))
    assert (end.state.counter[0], end.state.counter[1]) == (7, 6)


def test_statistics_count_fetched_vertices_and_whole_objects() -> None:
    end = FrontEnd()
    numbered(end, 16)
    end.run(end.command("3DSTATE_VF_STATISTICS", statistics_enable=True))
    end.index_buffer([0, 1, 2, 3, 0xFFFF, 4, 5, 0xFFFF, 6, 7, 8], cut=True)
    end.run(end.command("3DPRIMITIVE", primitive_topology_type=T.TRISTRIP, vertex_count_per_instance=11,
                        instance_count=1, vertex_access_type=1))
    assert (end.state.counter[0], end.state.counter[1]) == (9, 3)


def test_an_indirect_draw_reads_its_number_of_vertices_once() -> None:
    """The first point overwrites it with 0.  More objects than are planned at once are left then."""
    scene = Scene(Gen.CTG)
    scene.memory.write(TARGET, struct.pack("<I", 40000))
    batch = scene.prepare([vertex(0.5, 0.5, color=(0.0, 0.0, 0.0, 0.0))], [0] * 40000)
    scene.run(batch + command_named("3DPRIMITIVE", Gen.CTG).build(
        Gen.CTG, primitive_topology_type=T.POINTLIST, vertex_access_type=1, indirect_vertex_count=True,
        vertex_count_address=TARGET, instance_count=1))
    assert scene.pixel(0, 0) == 0
    assert scene.device.counts()["objects"] == 40000
