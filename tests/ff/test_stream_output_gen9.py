"""Stream output of Gen9: offsets of buffers that memory keeps (KBL PRM vol. 2a, 3DSTATE_SO_BUFFER)."""

from __future__ import annotations

import struct

from gen4emu.hw.topology import PrimitiveTopology as Topology
from tests.harness.commands import DATA, Machine, Words, command

VERTICES, OUTPUT, STORED = 0x40000, 0x60000, DATA
ZERO, SRC = 2, 1  # Vertex Component Control
FROM_MEMORY = 0xFFFFFFFF


class Streamer(Machine):
    """A machine without shaders whose vertex i is the float i, and whose draws are streamed."""

    def __init__(self) -> None:
        super().__init__("kbl")
        self.device.memory.write(VERTICES, struct.pack("<16f", *range(16)))
        self.device.memory.write(OUTPUT, bytes(0x1000))

    def buffer(self, index: int = 0, **fields: int) -> Words:
        place = OUTPUT + 0x400 * index
        return command("3DSTATE_SO_BUFFER", self.gen, so_buffer_enable=True, so_buffer_index=index,
                       surface_base_address=place, surface_size=64, **fields)

    def stream(self, first: int, count: int, *buffers: Words) -> None:
        controls = {f"component_{i}_control": ZERO for i in range(1, 4)}
        self.run(
            command("3DSTATE_VERTEX_BUFFERS", self.gen, vertex_buffers=[{
                "address_modify_enable": True, "buffer_pitch": 4, "buffer_starting_address": VERTICES,
                "buffer_size": 64}]),
            command("3DSTATE_VERTEX_ELEMENTS", self.gen, vertex_elements=[
                {"valid": True, "source_element_format": 0x0D8, "component_0_control": SRC, **controls}]),
            command("3DSTATE_VF_TOPOLOGY", self.gen, primitive_topology_type=Topology.POINTLIST),
            command("3DSTATE_STREAMOUT", self.gen, so_function_enable=True, api_rendering_disable=True,
                    buffer_0_surface_pitch=4, buffer_1_surface_pitch=8),
            command("3DSTATE_SO_DECL_LIST", self.gen, stream_to_buffer_selects_0=3, num_entries_0=2, entries=[
                {"stream_0_register_index": 0, "stream_0_component_mask": 1, "stream_0_output_buffer_slot": slot}
                for slot in range(2)]),
            *buffers,
            command("3DPRIMITIVE", self.gen, vertex_count_per_instance=count, instance_count=1,
                    start_vertex_location=first))

    def floats(self, count: int) -> list[float]:
        return list(struct.unpack(f"<{count}f", self.device.memory.read(OUTPUT, 4 * count)))


def test_a_draw_stores_the_offsets_behind_its_objects() -> None:
    machine = Streamer()
    machine.device.memory.write(STORED, struct.pack("<3I", 11, 12, 13))
    kept = {"stream_offset_write_enable": 1, "stream_output_buffer_offset_address_enable": 1}
    machine.stream(0, 3, machine.buffer(0, stream_output_buffer_offset_address=STORED, **kept),
                   machine.buffer(1, stream_output_buffer_offset_address=STORED + 8, **kept))
    assert machine.dwords(STORED, 3) == [12, 12, 24]
    machine.stream(5, 1)
    assert machine.dwords(STORED, 3) == [16, 12, 32]
    assert machine.floats(4) == [0, 1, 2, 5]


def test_nothing_is_stored_without_an_enabled_address() -> None:
    machine = Streamer()
    machine.device.memory.write(STORED, struct.pack("<I", 11))
    machine.stream(0, 3, machine.buffer(0, stream_output_buffer_offset_address=STORED), machine.buffer(1))
    assert machine.dwords(STORED, 1) == [11]
    assert machine.register("SO_WRITE_OFFSET0") == 12


def test_a_buffer_continues_at_the_offset_in_memory() -> None:
    """Pausing and resuming: another buffer is set between, and the stored offset is loaded."""
    machine = Streamer()
    kept = {"stream_offset_write_enable": 1, "stream_output_buffer_offset_address_enable": 1,
            "stream_output_buffer_offset_address": STORED}
    machine.stream(1, 2, machine.buffer(0, **kept), machine.buffer(1))
    machine.run(command("3DSTATE_SO_BUFFER", machine.gen, so_buffer_index=0, stream_offset_write_enable=1,
                        stream_offset=40))
    assert machine.register("SO_WRITE_OFFSET0") == 40
    machine.stream(7, 1, machine.buffer(0, stream_offset=FROM_MEMORY, **kept))
    assert machine.floats(3) == [1, 2, 7]
    assert machine.dwords(STORED, 1) == [12]


def test_objects_that_do_not_fit_do_not_move_the_stored_offset() -> None:
    machine = Streamer()
    kept = {"stream_offset_write_enable": 1, "stream_output_buffer_offset_address_enable": 1}
    machine.stream(0, 12, machine.buffer(0, stream_output_buffer_offset_address=STORED, **kept), machine.buffer(1))
    assert machine.dwords(STORED, 1) == [32]  # buffer 1 is full after eight
