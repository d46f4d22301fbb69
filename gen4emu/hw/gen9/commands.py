"""The first commands of the Kaby Lake command reference: proof that the language carries later generations.

"Kaby Lake PRM volume 2a", in its order from 3DPRIMITIVE on; the first one with a 64-bit address is among them.  No
device runs these: a decoder can name them and a builder can make them.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Field, Fixed, Ignored, Mbz, Sint, Uint, unless, when
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import command_length
from gen4emu.hw.generation import Generation
from gen4emu.hw.layout import Block, Command, gfx


class BindingTableEditTarget(IntEnum):
    """The core that takes an edit of a binding table."""

    CORE_0 = 1
    CORE_1 = 2
    ALL_CORES = 3


class VertexAccess(IntEnum):
    """Whether vertices come in order or by way of the index buffer."""

    SEQUENTIAL = 0
    RANDOM = 1


# With "indirect" set, registers replace dwords 2 to 6; an end offset replaces the vertex count alone.
_INDIRECT = (when("indirect_parameter_enable", 1),)
_DIRECT = (unless("indirect_parameter_enable", 1),)
_COUNTED = (*_DIRECT, unless("end_offset_enable", 1))
_TO_THE_END = (*_DIRECT, when("end_offset_enable", 1))

PRIMITIVE = gfx("3DPRIMITIVE", 0x7B00, 7, [
    Mbz(0, 15, 11),
    Bool("indirect_parameter_enable", 0, 10),
    Bool("uav_coherency_required", 0, 9),
    Bool("predicate_enable", 0, 8),
    Mbz(1, 31, 10),
    Bool("end_offset_enable", 1, 9),
    Enum("vertex_access_type", 1, 8, 8, enum=VertexAccess),
    Mbz(1, 7, 6),
    Ignored(1, 5, 0, doc="3DSTATE_VF_TOPOLOGY gives the topology"),
    Uint("vertex_count_per_instance", 2, 31, 0, when=_COUNTED),
    Ignored(2, 31, 0, when=_TO_THE_END),
    Uint("start_vertex_location", 3, 31, 0, when=_DIRECT),
    Uint("instance_count", 4, 31, 0, when=_DIRECT),
    Uint("start_instance_location", 5, 31, 0, when=_DIRECT),
    Sint("base_vertex_location", 6, 31, 0, when=_DIRECT),
    *(Ignored(dword, 31, 0, when=_INDIRECT) for dword in range(2, 7)),
], ref="KBLv2a 3DPRIMITIVE")


def _coverage(name: str, dword: int, hi: int) -> Field:
    return Fixed(name, dword, hi, hi - 7, frac=8)


AA_LINE_PARAMETERS = gfx("3DSTATE_AA_LINE_PARAMETERS", 0x790A, 3, [
    Mbz(0, 15, 8),
    _coverage("aa_point_coverage_bias", 1, 31),
    _coverage("aa_coverage_bias", 1, 23),
    _coverage("aa_point_coverage_slope", 1, 15),
    _coverage("aa_coverage_slope", 1, 7),
    _coverage("aa_point_coverage_endcap_bias", 2, 31),
    _coverage("aa_coverage_endcap_bias", 2, 23),
    _coverage("aa_point_coverage_endcap_slope", 2, 15),
    _coverage("aa_coverage_endcap_slope", 2, 7),
], ref="KBLv2a 3DSTATE_AA_LINE_PARAMETERS")

# --- binding tables ---------------------------------------------------------------------------------------------------
BINDING_TABLE_EDIT_ENTRY = Block("BINDING_TABLE_EDIT_ENTRY", 1, [
    Mbz(0, 31, 24),
    Uint("binding_table_index", 0, 23, 16),
    Uint("surface_state_pointer", 0, 15, 0, scale=64, hex=True, doc="bytes from the surface state base"),
], ref="KBLv2d BINDING_TABLE_EDIT_ENTRY")


def _binding_table_edit(stage: str, code: int) -> Command:
    name = f"3DSTATE_BINDING_TABLE_EDIT_{stage}"
    return gfx(name, code, 2, [
        Mbz(0, 15, 9),
        Uint("binding_table_block_clear", 1, 31, 16, hex=True, doc="bit i clears entries 16i to 16i + 15 first"),
        Mbz(1, 15, 2),
        Enum("binding_table_edit_target", 1, 1, 0, enum=BindingTableEditTarget),
        Array("entries", 2, BINDING_TABLE_EDIT_ENTRY),
    ], length=(8, 0), ref=f"KBLv2a {name}")


def _binding_table_pointers(stage: str, code: int) -> Command:
    name = f"3DSTATE_BINDING_TABLE_POINTERS_{stage}"
    return gfx(name, code, 2, [
        Mbz(0, 15, 8),
        Mbz(1, 31, 16),
        Address("binding_table_pointer", 1, 15, 5, base="surface_state", target="BINDING_TABLE_STATE",
                doc="counts from the pool, in units of 64 bytes, when a binding table pool is enabled"),
        Mbz(1, 4, 0),
    ], ref=f"KBLv2a {name}")


BINDING_TABLE_POOL_ALLOC = gfx("3DSTATE_BINDING_TABLE_POOL_ALLOC", 0x7919, 4, [
    Mbz(0, 15, 8),
    Address("binding_table_pool_base_address", 1, 63, 12),
    Bool("binding_table_pool_enable", 1, 11),
    Mbz(1, 10, 7),
    Uint("surface_object_control_state", 1, 6, 0, hex=True),
    Uint("binding_table_pool_buffer_size", 3, 31, 12, doc="pages of 4 KiB"),
    Mbz(3, 11, 0),
], ref="KBLv2a 3DSTATE_BINDING_TABLE_POOL_ALLOC")

COMMANDS: tuple[Command, ...] = (
    PRIMITIVE,
    AA_LINE_PARAMETERS,
    _binding_table_edit("DS", 0x7846),
    _binding_table_edit("GS", 0x7844),
    _binding_table_edit("HS", 0x7845),
    _binding_table_edit("PS", 0x7847),
    _binding_table_edit("VS", 0x7843),
    _binding_table_pointers("DS", 0x7828),
    _binding_table_pointers("GS", 0x7829),
    _binding_table_pointers("HS", 0x7827),
    _binding_table_pointers("PS", 0x782A),
    _binding_table_pointers("VS", 0x7826),
    BINDING_TABLE_POOL_ALLOC,
)

GEN9 = Generation("gen9", Gen.GEN9, command_length, COMMANDS)
