"""Vertex fetch of Gen8: 3DPRIMITIVE, vertex and index buffers, vertex elements, and the 3DSTATE_VF_* commands.

Kaby Lake PRM vol. 2a, which Broadwell shares but for what `gen4emu.hw.gen9` changes; for commands that the published
part of that volume lacks, Mesa's gen8.xml.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Bool, Enum, Field, Ignored, Sint, Uint, unless, when
from gen4emu.hw.gen4.pipeline import IndexFormat, VertexAccessType
from gen4emu.hw.gen75 import GEN75
from gen4emu.hw.layout import Block
from gen4emu.hw.reserved import block, gfx
from gen4emu.hw.topology import PatchTopology


class ComponentControl(IntEnum):
    """VFCOMP_*: the value that VF stores in one component.  3DSTATE_VF_SGVS adds the vertex and instance numbers."""

    NOSTORE = 0
    STORE_SRC = 1
    STORE_0 = 2
    STORE_1_FP = 3
    STORE_1_INT = 4
    STORE_PID = 7


def memory_object_control_state(name: str, dword: int, hi: int, lo: int) -> Field:
    """Seven bits that control caching, called MOCS by drivers: cache controls on Gen8, an index from Gen9 on."""
    return Uint(name, dword, hi, lo, hex=True)


def address_48(name: str, dword: int, lo: int, *, target: str = "DATA", count: int | str = 1) -> list[Field]:
    """An address of which the bits above 47 are ignored."""
    return [Ignored(dword, 63, 48), Address(name, dword, 47, lo, target=target, count=count)]


# --- the primitive ----------------------------------------------------------------------------------------------------
# With "indirect" set, the registers 3DPRIM_* replace dwords 2 to 6; an end offset replaces the vertex count alone.
_INDIRECT = (when("indirect_parameter_enable", 1),)
_DIRECT = (unless("indirect_parameter_enable", 1),)
_COUNTED = (*_DIRECT, unless("end_offset_enable", 1))
_TO_THE_END = (*_DIRECT, when("end_offset_enable", 1))

PRIMITIVE = gfx("3DPRIMITIVE", 0x7B00, 7, [
    Ignored(0, 15, 15),
    Ignored(0, 12, 11),
    Bool("indirect_parameter_enable", 0, 10),
    Bool("uav_coherency_required", 0, 9),
    Bool("predicate_enable", 0, 8),
    Bool("end_offset_enable", 1, 9, doc="the vertices of vertex buffer 0 up to the register 3DPRIM_END_OFFSET"),
    Enum("vertex_access_type", 1, 8, 8, enum=VertexAccessType),
    Ignored(1, 5, 0, doc="a topology here is ignored: 3DSTATE_VF_TOPOLOGY gives it"),
    Uint("vertex_count_per_instance", 2, 31, 0, when=_COUNTED, doc="0 is a no-op"),
    Ignored(2, 31, 0, when=_TO_THE_END),
    Uint("start_vertex_location", 3, 31, 0, when=_DIRECT, doc="a vertex, or a place in the index buffer"),
    Uint("instance_count", 4, 31, 0, when=_DIRECT, doc="0 is a no-op"),
    Uint("start_instance_location", 5, 31, 0, when=_DIRECT),
    Sint("base_vertex_location", 6, 31, 0, when=_DIRECT, doc="added to indices; RANDOM only"),
    *(Ignored(dword, 31, 0, when=_INDIRECT) for dword in range(2, 7)),
], ref="KBLv2a 3DPRIMITIVE")

# --- buffers and elements ---------------------------------------------------------------------------------------------
VERTEX_BUFFER_STATE = block("VERTEX_BUFFER_STATE", 4, [
    Uint("vertex_buffer_index", 0, 31, 26, high=32),
    memory_object_control_state("memory_object_control_state", 0, 22, 16),
    Bool("address_modify_enable", 0, 14, doc="else the address stays as it was"),
    Bool("null_vertex_buffer", 0, 13),
    Uint("buffer_pitch", 0, 11, 0, high=2048, doc="in bytes"),
    Address("buffer_starting_address", 1, 63, 0, target="VERTEX_DATA"),
    Uint("buffer_size", 3, 31, 0, doc="in bytes; what lies beyond reads as 0"),
], ref="Mesa gen8.xml VERTEX_BUFFER_STATE")

VERTEX_ELEMENT_STATE = GEN75.layout("VERTEX_ELEMENT_STATE").changed(
    *(Enum(f"component_{i}_control", 1, 30 - 4 * i, 28 - 4 * i, enum=ComponentControl) for i in range(4)))

INDEX_BUFFER = gfx("3DSTATE_INDEX_BUFFER", 0x780A, 5, [
    Enum("index_format", 1, 9, 8, enum=IndexFormat),
    memory_object_control_state("memory_object_control_state", 1, 6, 0),
    Address("buffer_starting_address", 2, 63, 0, target="INDEX_DATA"),
    Uint("buffer_size", 4, 31, 0, doc="in bytes; indices past the end read as 0"),
], ref="KBLv2a 3DSTATE_INDEX_BUFFER")

# --- 3DSTATE_VF_* -----------------------------------------------------------------------------------------------------
VF_STATISTICS = gfx("3DSTATE_VF_STATISTICS", 0x680B, 1, [
    Bool("statistics_enable", 0, 0, doc="counts IA_VERTICES and IA_PRIMITIVES"),
], length=None, ref="Mesa gen8.xml 3DSTATE_VF_STATISTICS", doc="without the second encoding of older parts")

VF_INSTANCING = gfx("3DSTATE_VF_INSTANCING", 0x7849, 3, [
    Bool("instancing_enable", 1, 8),
    Uint("vertex_element_index", 1, 5, 0, high=33),
    Uint("instance_data_step_rate", 2, 31, 0, doc="0 never advances"),
], ref="Mesa gen8.xml 3DSTATE_VF_INSTANCING")

VF_SGVS = gfx("3DSTATE_VF_SGVS", 0x784A, 2, [
    Bool("instance_id_enable", 1, 31),
    Uint("instance_id_component_number", 1, 30, 29),
    Uint("instance_id_element_offset", 1, 21, 16, high=33),
    Bool("vertex_id_enable", 1, 15),
    Uint("vertex_id_component_number", 1, 14, 13),
    Uint("vertex_id_element_offset", 1, 5, 0, high=33),
], ref="Mesa gen8.xml 3DSTATE_VF_SGVS", doc="system-generated values, stored after the components of the element")

VF_TOPOLOGY = gfx("3DSTATE_VF_TOPOLOGY", 0x784B, 2, [
    Enum("primitive_topology_type", 1, 5, 0, enum=PatchTopology),
], ref="Mesa gen8.xml 3DSTATE_VF_TOPOLOGY")

REPLACED: tuple[Block, ...] = (
    PRIMITIVE, INDEX_BUFFER, VERTEX_BUFFER_STATE, VERTEX_ELEMENT_STATE, VF_STATISTICS,
)
ADDED: tuple[Block, ...] = (VF_INSTANCING, VF_SGVS, VF_TOPOLOGY)
