"""Vertex fetch of Gen9: elements of 64-bit components, which are stored as they are."""

from __future__ import annotations

import struct

import pytest

from gen4emu.hw.later_formats import LaterSurfaceFormat as Format
from gen4emu.hw.topology import PrimitiveTopology as Topology
from tests.harness.commands import Machine, command

VERTICES, OUTPUT = 0x40000, 0x60000
NOSTORE, SRC, ZERO, ONE, VERTEX_ID = 0, 1, 2, 3, 5  # Vertex Component Control
UNTOUCHED = 0xDEADBEEF
ENTRY = 16  # dwords of a vertex that are streamed


def qword(number: int) -> int:
    """As pass through units that convert neither floats nor integers: the upper half is a signalling NaN."""
    return 0x7FA00000_00000000 | number << 32 | 0xC0DE0000 | number


def dwords(*numbers: int) -> list[int]:
    return [half for n in numbers for half in (qword(n) & 0xFFFFFFFF, qword(n) >> 32)]


class Fetcher(Machine):
    """Without shaders: vertex entries are streamed."""

    def __init__(self, size: int = 8 * 64) -> None:
        super().__init__("kbl")
        self.size = size
        self.device.memory.write(VERTICES, struct.pack("<64Q", *map(qword, range(64))))
        self.device.memory.write(OUTPUT, struct.pack("<I", UNTOUCHED) * 256)

    def fetch(self, *elements: tuple[str, int, tuple[int, int, int, int]], vertices: int = 2, pitch: int = 80,
              **values: int) -> list[list[int]]:
        """The dwords of each vertex; elements are a format, an offset and component controls."""
        fetched = [{"valid": True, "source_element_format": Format[name], "source_element_offset": offset,
                    **{f"component_{i}_control": c for i, c in enumerate(controls)}}
                   for name, offset, controls in elements]
        self.run(
            command("3DSTATE_VERTEX_BUFFERS", self.gen, vertex_buffers=[{
                "address_modify_enable": True, "buffer_pitch": pitch, "buffer_starting_address": VERTICES,
                "buffer_size": self.size}]),
            command("3DSTATE_VERTEX_ELEMENTS", self.gen, vertex_elements=fetched),
            command("3DSTATE_VF_SGVS", self.gen, **values),
            command("3DSTATE_VF_TOPOLOGY", self.gen, primitive_topology_type=Topology.POINTLIST),
            command("3DSTATE_STREAMOUT", self.gen, so_function_enable=True, api_rendering_disable=True,
                    stream_0_vertex_read_length=1, buffer_0_surface_pitch=4 * ENTRY),
            command("3DSTATE_SO_DECL_LIST", self.gen, stream_to_buffer_selects_0=1, num_entries_0=4, entries=[
                {"stream_0_register_index": i, "stream_0_component_mask": 15} for i in range(4)]),
            command("3DSTATE_SO_BUFFER", self.gen, so_buffer_enable=True, surface_base_address=OUTPUT,
                    surface_size=0x400, stream_offset_write_enable=1),
            command("3DPRIMITIVE", self.gen, vertex_count_per_instance=vertices, instance_count=1))
        return [self.dwords(OUTPUT + 4 * ENTRY * i, ENTRY) for i in range(vertices)]


@pytest.mark.parametrize(("name", "controls", "stored"), [
    ("R64_PASSTHRU", (SRC, ZERO, NOSTORE, NOSTORE), 1),
    ("R64G64_PASSTHRU", (SRC, SRC, NOSTORE, NOSTORE), 2),
])
def test_short_elements_have_128_bits(name: str, controls: tuple[int, int, int, int], stored: int) -> None:
    rows = Fetcher().fetch((name, 8, controls), ("R32_UINT", 0, (SRC, ONE, ZERO, ZERO)))
    for i, row in enumerate(rows):
        first = 10 * i + 1
        wide = dwords(*range(first, first + stored))
        assert row[:4] == wide + [0] * (4 - len(wide))
        assert row[4:8] == [qword(10 * i) & 0xFFFFFFFF, 0x3F800000, 0, 0]


@pytest.mark.parametrize(("name", "controls", "stored"), [
    ("R64_PASSTHRU", (SRC, ZERO, ZERO, ZERO), 1),
    ("R64G64_PASSTHRU", (SRC, SRC, ZERO, ZERO), 2),
    ("R64G64_PASSTHRU", (SRC, SRC, SRC, SRC), 2),  # the format has no more
    ("R64G64B64_PASSTHRU", (SRC, SRC, SRC, ZERO), 3),
    ("R64G64B64A64_PASSTHRU", (SRC, SRC, SRC, SRC), 4),
])
def test_long_elements_have_256_bits(name: str, controls: tuple[int, int, int, int], stored: int) -> None:
    rows = Fetcher().fetch((name, 16, controls), ("R32_UINT", 0, (SRC, ONE, ZERO, ZERO)))
    for i, row in enumerate(rows):
        first = 10 * i + 2
        wide = dwords(*range(first, first + stored))
        assert row[:8] == wide + [0] * (8 - len(wide))
        assert row[8:12] == [qword(10 * i) & 0xFFFFFFFF, 0x3F800000, 0, 0]


def test_an_element_that_ends_beyond_its_buffer_is_zero_as_a_whole() -> None:
    machine = Fetcher(size=80 + 31)
    first, second = machine.fetch(("R64G64B64A64_PASSTHRU", 0, (SRC, SRC, SRC, SRC)))
    assert first[:8] == dwords(0, 1, 2, 3)
    assert second[:8] == [0] * 8
    first, second = machine.fetch(("R64G64B64_PASSTHRU", 0, (SRC, SRC, SRC, ZERO)))
    assert second[:8] == [*dwords(10, 11, 12), 0, 0]


def test_generated_values_count_elements_not_their_parts() -> None:
    rows = Fetcher().fetch(("R64G64B64A64_PASSTHRU", 0, (SRC, SRC, SRC, SRC)), ("R32_UINT", 0, (SRC, ZERO, ZERO, ZERO)),
                           vertex_id_enable=1, vertex_id_element_offset=1, vertex_id_component_number=2)
    assert [row[8:12] for row in rows] == [[qword(10 * i) & 0xFFFFFFFF, 0, i, 0] for i in range(2)]


def test_as_many_long_elements_as_there_can_be() -> None:
    long = ("R64G64B64A64_PASSTHRU", 0, (SRC, SRC, SRC, SRC))
    rows = Fetcher().fetch(*[long] * 34)
    assert rows[1] == dwords(10, 11, 12, 13) * 2


@pytest.mark.parametrize("packs", [False, True])
def test_packed_components_follow_each_other(packs: bool) -> None:
    """Each bit of 3DSTATE_VF_COMPONENT_PACKING is a component; the first element has the lowest four."""
    machine = Fetcher()
    machine.run(command("3DSTATE_VF", machine.gen, component_packing_enable=packs),
                command("3DSTATE_VF_COMPONENT_PACKING", machine.gen, vertex_element_00_enables=0b1010,
                        vertex_element_01_enables=0b0000, vertex_element_02_enables=0b1111,
                        vertex_element_03_enables=0b0101))
    rows = machine.fetch(("R32G32_UINT", 0, (SRC, SRC, ZERO, ONE)), ("R32_UINT", 8, (SRC, ZERO, ZERO, ONE)),
                         ("R32G32B32A32_UINT", 16, (SRC, SRC, SRC, SRC)), ("R32_UINT", 32, (SRC, ZERO, ZERO, ZERO)),
                         vertex_id_enable=1, vertex_id_element_offset=3, vertex_id_component_number=2)
    for i, row in enumerate(rows):
        first, second, third, fourth, fifth = (dwords(10 * i + n) for n in range(5))
        elements = [[*first, 0, 0x3F800000], [second[0], 0, 0, 0x3F800000], [*third, *fourth], [fifth[0], 0, i, 0]]
        packed = [first[1], 0x3F800000, *elements[2], fifth[0], i]
        assert row[:8] == packed if packs else row == [dword for element in elements for dword in element]


def test_packing_names_whole_components_of_64_bits() -> None:
    machine = Fetcher()
    machine.run(command("3DSTATE_VF", machine.gen, component_packing_enable=True),
                command("3DSTATE_VF_COMPONENT_PACKING", machine.gen, vertex_element_00_enables=0b0101,
                        vertex_element_01_enables=0b0001))
    rows = machine.fetch(("R64G64B64_PASSTHRU", 0, (SRC, SRC, SRC, ZERO)), ("R32_UINT", 24, (SRC, ONE, ZERO, ZERO)))
    for i, row in enumerate(rows):
        assert row[:5] == [*dwords(10 * i, 10 * i + 2), dwords(10 * i + 3)[0]]
