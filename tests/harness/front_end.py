"""The front end alone: state, vertices, one 3DPRIMITIVE, and the objects that reach SF."""

from __future__ import annotations

import struct
from typing import Any

from gen4emu._native import lib
from gen4emu.device.device import Device
from gen4emu.device.options import Options
from gen4emu.hw.catalogue import block_named, command_named
from gen4emu.hw.chips import BY_NAME
from gen4emu.hw.formats import SurfaceFormat
from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology
from gen4emu.isa import assemble
from gen4emu.trace.events import Engine
from tests.harness.messages import ONE_VERTEX, urb_write
from tests.harness.native import ffi, harness

STATE, KERNEL, CLIP_KERNEL, GS_KERNEL, VS_KERNEL = 0x20000, 0x30000, 0x31000, 0x32000, 0x33000
VERTICES, INDICES, BATCH = 0x40000, 0x60000, 0x10000
STORE = {f"component_{c}_control": 1 for c in range(4)}
EOT = f"send(8) 0 null<1>F g0<8,8,1>F {urb_write(4, swizzle='TRANSPOSE', offset=4)} urb {{ align1 EOT }};"
# A thread of CLIP or GS that puts out one point whose first row is its own R0.
ECHO_R0 = f"""
mov(8) m1<1>UD g0<8,8,1>UD {{ align1 nomask }};
mov(8) g10<1>UD g0<8,8,1>UD {{ align1 nomask }};
mov(1) g10.2<1>UD 0x7UD {{ align1 nomask }};
send(8) 0 null<1>UD g10<8,8,1>UD {ONE_VERTEX} urb {{ align1 nomask EOT }};
"""


class FrontEnd:
    """Vertices are rows of dwords; every element of four dwords is copied from dword 0 of the entry on."""

    def __init__(self, gen: Gen = Gen.CTG, **blocks: dict[str, Any]) -> None:
        self.gen, self.blocks = gen, blocks
        self.device = Device(BY_NAME["gm45"] if gen & Gen.GEN45 else BY_NAME["965gm"], Options(workers=1))
        self.memory = self.device.memory
        self.elements: list[dict[str, Any]] | None = None
        self.buffers: list[dict[str, Any]] | None = None
        self.memory.write(KERNEL, assemble(EOT, gen))
        self.memory.write(CLIP_KERNEL, assemble(ECHO_R0, gen))
        self.memory.write(GS_KERNEL, assemble(ECHO_R0, gen))

    @property
    def state(self) -> Any:
        return self.device.streamers[Engine.RENDER].state.raw

    def _block(self, name: str, address: int, fields: dict[str, Any]) -> None:
        self.memory.write(address, block_named(name, self.gen).build(self.gen, **fields))

    def command(self, name: str, **fields: Any) -> bytes:
        return command_named(name, self.gen).build(self.gen, **fields)

    def setup(self, stride: int) -> None:
        """State, vertex buffers and elements."""
        b = self.blocks
        thread = {"grf_register_count": 128, "urb_entry_allocation_size": 2, "vertex_urb_entry_read_length": 1,
                  "dispatch_grf_start_register": 1, "number_of_urb_entries": 8}
        self._block("VS_STATE", STATE, {"urb_entry_allocation_size": 2, "number_of_urb_entries": 8} | b.get("vs", {}))
        self._block("GS_STATE", STATE + 0x100, thread | {"kernel_start_pointer": GS_KERNEL} | b.get("gs", {}))
        self._block("CLIP_STATE", STATE + 0x200, thread | {
            "kernel_start_pointer": CLIP_KERNEL, "clipper_viewport_state_pointer": STATE + 0x300} | b.get("clip", {}))
        self._block("CLIP_VIEWPORT", STATE + 0x300, b.get("clip_viewport", {}))
        self._block("SF_STATE", STATE + 0x400, {"kernel_start_pointer": KERNEL} | b.get("sf", {}))
        pointers: dict[str, Any] = {"pointer_to_vs_state": STATE, "pointer_to_sf_state": STATE + 0x400}
        if "gs" in b:
            pointers |= {"pointer_to_gs_state": STATE + 0x100, "gs_enable": True}
        if "clip" in b:
            pointers |= {"pointer_to_clip_state": STATE + 0x200, "clip_enable": True}
        elements = self.elements or [
            {"valid": True, "source_element_format": SurfaceFormat.R32G32B32A32_FLOAT, "source_element_offset": 16 * i,
             "destination_element_offset": 4 * i, **STORE} for i in range(stride // 16)]
        buffers = self.buffers or [{"buffer_pitch": stride, "buffer_starting_address": VERTICES}]
        self.run(self.command("3DSTATE_PIPELINED_POINTERS", **pointers)
                 + self.command("3DSTATE_VERTEX_BUFFERS", vertex_buffers=buffers)
                 + self.command("3DSTATE_VERTEX_ELEMENTS", vertex_elements=elements))

    def run(self, commands: bytes) -> None:
        self.memory.write(BATCH, commands + self.command("MI_BATCH_BUFFER_END"))
        self.device.run_batch(BATCH)

    def index_buffer(self, indices: list[int], size: int = 2, cut: bool = False, end: int = 0) -> None:
        code = {1: "B", 2: "H", 4: "I"}[size]
        self.memory.write(INDICES, struct.pack(f"<{len(indices)}{code}", *indices))
        self.run(self.command("3DSTATE_INDEX_BUFFER", index_format={1: 0, 2: 1, 4: 2}[size], cut_index_enable=cut,
                              buffer_starting_address=INDICES, buffer_ending_address=end))

    def objects(self, topology: PrimitiveTopology, count: int, **fields: Any) -> list[Any]:
        words = command_named("3DPRIMITIVE", self.gen).pack(self.gen, **{
            "primitive_topology_type": topology, "vertex_count_per_instance": count, "instance_count": 1} | fields)
        capacity = 4096
        out, number = ffi.new("struct g4_object_view[]", capacity), ffi.new("uint32_t *")
        status = harness().g4_device_objects(self.device.native, ffi.new("uint32_t[]", words), out, capacity, number,
                                             ffi.new("struct g4_fault *"))
        assert status == lib.G4_OK
        assert number[0] <= capacity
        self.keep = out
        return [out[i] for i in range(number[0])]

    def vertices(self, rows: list[list[int]]) -> None:
        """Vertex data as dwords."""
        self.memory.write(VERTICES, b"".join(struct.pack(f"<{len(r)}I", *r) for r in rows))

    def positions(self, points: list[tuple[float, float, float, float]], flags: list[int] | None = None) -> None:
        """Entries of one row: user clip flags in D3, then the position."""
        flags = flags or [0] * len(points)
        self.vertices([[0, 0, 0, f, *struct.unpack("<4I", struct.pack("<4f", *p))]
                       for p, f in zip(points, flags, strict=True)])
        self.setup(32)


def numbered(end: FrontEnd, count: int) -> None:
    """Vertices whose first dword is their number."""
    end.vertices([[i, 0, 0, 0, 0, 0, 0, 0] for i in range(count)])
    end.setup(32)


def tuples(objects: list[Any]) -> list[tuple[int, ...]]:
    """The numbers of each object's vertices."""
    return [tuple(o.entry[v][0] for v in range(o.vertices)) for o in objects]
