"""The shader stages of Gen7's geometry on a machine: vertices in, stream output out.

Vertex i is at (i, i + 0.25, 0, 1).  Kernels are in Gen7's assembly language; URB messages have names here.
"""

from __future__ import annotations

import struct
from typing import Any

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen7.messages import UrbOpcodeGen7
from gen4emu.hw.gen7.pipeline import DispatchMode
from gen4emu.hw.topology import PrimitiveTopology as Topology
from gen4emu.isa import assemble
from tests.harness.commands import Machine, Words, command
from tests.harness.messages import operand

VERTICES, OUTPUT, KERNELS = 0x40000, 0x60000, 0x80000
UNTOUCHED = 0xCDCDCDCD
SRC, ZERO, ONE = 1, 2, 3  # Vertex Component Control
ALL = 0xFF00  # channel mask of a URB message
_BUFFER_BYTES = 0x2000
_EVERY_LANE = "{ align1 WE_all 1Q }"
_ONE_LANE = "{ align1 WE_all 1N }"


def put(register: str, value: str | int) -> str:
    """One dword becomes a number or another dword."""
    source = f"0x{value:08x}UD" if isinstance(value, int) else f"{value}<0,1,0>UD"
    return f"mov(1) {register}<1>UD {source} {_ONE_LANE};\n"


def bits(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def urb(opcode: UrbOpcodeGen7, header: int, registers: int, offset: int = 0, *, response: int | None = None,
        interleave: bool = False, end: bool = False) -> str:
    """A message whose header and data are in registers from `header` on; interleaved, for the thread's channels."""
    message = operand("URB_MESSAGE", Gen.IVB, length=1 + registers, response=0 if response is None else 1,
                      header_present=True, interleave=interleave, offset=offset, urb_opcode=opcode)
    to = "null<1>UW" if response is None else f"g{response}<1>UW"
    options = " ".join(["align1", *([] if interleave else ["WE_all"]), "1Q", *(["EOT"] if end else [])])
    return f"send(8) {to} g{header}<8,8,1>UD {message} urb {{ {options} }};\n"


def write_row(header: int, offset: int, *, end: bool = False) -> str:
    """The register after the header to a row of entry 0."""
    return urb(UrbOpcodeGen7.WRITE_HWORD, header, 1, offset, end=end)


def start(header: int) -> str:
    """A message header with the thread's handles and all channels."""
    return f"mov(8) g{header}<1>UD g0<8,8,1>UD {_EVERY_LANE};\n" + put(f"g{header}.5", ALL)


def clear(register: int) -> str:
    return f"mov(8) g{register}<1>UD 0x00000000UD {_EVERY_LANE};\n"


def end_gs(header: int, first: int, second: int = 0) -> str:
    """The end of a geometry shader thread with its numbers of vertices."""
    return put(f"g{header}.2", second << 16 | first) + urb(UrbOpcodeGen7.WRITE_HWORD, header, 0, end=True)


class Stages(Machine):
    def __init__(self, name: str = "ivb", **options: Any) -> None:
        super().__init__(name, **options)
        self.device.memory.write(VERTICES, b"".join(struct.pack("<2f", i, i + 0.25) for i in range(256)))
        self.device.memory.write(OUTPUT, struct.pack("<I", UNTOUCHED) * (4 * _BUFFER_BYTES // 4))
        self._kernels = 0

    def do(self, name: str, **fields: Any) -> Words:
        return command(name, self.gen, **fields)

    def kernel(self, text: str) -> int:
        """Its offset from the instruction base, which is 0."""
        address = KERNELS + 0x1000 * self._kernels
        self._kernels += 1
        self.device.memory.write(address, assemble(text, self.gen))
        return address

    def gs(self, text: str, **fields: Any) -> list[Words]:
        """A geometry shader whose vertices have two slots; its payload has the primitive IDs and one row a vertex."""
        return [
            self.do("3DSTATE_URB_GS", gs_urb_entry_allocation_size=16, gs_number_of_urb_entries=64),
            self.do("3DSTATE_GS", **{
                "enable": True, "kernel_start_pointer": self.kernel(text), "statistics_enable": True,
                "dispatch_mode": DispatchMode.SINGLE, "include_primitive_id": True, "output_vertex_size": 2,
                "output_topology": Topology.POINTLIST, "vertex_urb_entry_read_length": 1,
                "dispatch_grf_start_register_for_urb_data": 2, "maximum_number_of_threads": 8} | fields)]

    def tessellation(self, hull: str, domain: str, *, hs: dict[str, Any] | None = None,
                     ds: dict[str, Any] | None = None, **te: Any) -> list[Words]:
        return [
            self.do("3DSTATE_URB_HS", hs_urb_entry_allocation_size=4, hs_number_of_urb_entries=32),
            self.do("3DSTATE_URB_DS", ds_urb_entry_allocation_size=1, ds_number_of_urb_entries=64),
            self.do("3DSTATE_HS", **{
                "enable": True, "kernel_start_pointer": self.kernel(hull), "statistics_enable": True,
                "include_vertex_handles": True, "dispatch_grf_start_register_for_urb_data": 5,
                "maximum_number_of_threads": 16} | (hs or {})),
            self.do("3DSTATE_TE", **{"te_enable": True, "maximum_tessellation_factor_odd": 63.0,
                                     "maximum_tessellation_factor_not_odd": 64.0} | te),
            self.do("3DSTATE_DS", **{
                "enable": True, "kernel_start_pointer": self.kernel(domain), "statistics_enable": True,
                "dispatch_grf_start_register_for_urb_data": 2, "compute_w_coordinate_enable": True,
                "maximum_number_of_threads": 8} | (ds or {}))]

    def draw(self, topology: int, count: int, *stages: list[Words], streams: int = 1, size: int = _BUFFER_BYTES,
             reorder: int = 1, **primitive: Any) -> None:
        """Draw vertices 0 to count - 1; each stream writes both slots of its vertices to a buffer of its own."""
        entries = [{f"stream_{s}_{name}": value for s in range(streams) for name, value in (
            ("register_index", slot), ("component_mask", 15), ("output_buffer_slot", s))} for slot in (0, 1)]
        self.run(
            self.do("3DSTATE_VERTEX_BUFFERS", vertex_buffers=[{
                "address_modify_enable": True, "buffer_pitch": 8, "buffer_starting_address": VERTICES,
                "end_address": VERTICES + 2047}]),
            self.do("3DSTATE_VERTEX_ELEMENTS", vertex_elements=[
                {"valid": True, "source_element_format": 0x085, "component_0_control": ZERO,
                 "component_1_control": ZERO, "component_2_control": ZERO, "component_3_control": ZERO},
                {"valid": True, "source_element_format": 0x085, "component_0_control": SRC,
                 "component_1_control": SRC, "component_2_control": ZERO, "component_3_control": ONE}]),
            self.do("3DSTATE_STREAMOUT", so_function_enable=True, rendering_disable=True, so_statistics_enable=True,
                    reorder_mode=reorder, **{f"so_buffer_enable_{b}": True for b in range(streams)}),
            self.do("3DSTATE_SO_DECL_LIST", entries=entries, **{
                name: value for s in range(streams) for name, value in (
                    (f"stream_to_buffer_selects_{s}", 1 << s), (f"num_entries_{s}", 2))}),
            *(self.do("3DSTATE_SO_BUFFER", so_buffer_index=b, surface_pitch=32,
                      surface_base_address=OUTPUT + _BUFFER_BYTES * b,
                      surface_end_address=OUTPUT + _BUFFER_BYTES * b + size) for b in range(streams)),
            *(words for stage in stages for words in stage),
            self.do("3DPRIMITIVE", primitive_topology_type=topology, vertex_count_per_instance=count,
                    instance_count=1, **primitive))

    def vertex(self, number: int, stream: int = 0) -> list[int]:
        """The eight dwords of a vertex that was written."""
        return self.dwords(OUTPUT + _BUFFER_BYTES * stream + 32 * number, 8)

    def vertices(self, stream: int = 0) -> list[list[int]]:
        written = self.register(f"SO_WRITE_OFFSET{stream}") // 32
        return [self.vertex(i, stream) for i in range(written)]
