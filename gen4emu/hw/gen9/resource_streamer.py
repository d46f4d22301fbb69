"""Commands of Gen9 for its resource streamer: DX9 constants, which it keeps and writes to memory, and gather tables.

Kaby Lake PRM vol. 2a.  Public drivers send none of these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Field, Float, Mbz, Sint, Uint
from gen4emu.hw.gen4.common import DATA_DWORD
from gen4emu.hw.gen8 import shader_stages
from gen4emu.hw.gen8.vertex_fetch import memory_object_control_state
from gen4emu.hw.layout import Block, Command
from gen4emu.hw.reserved import block, gfx


class GatherTableUpdate(IntEnum):
    """Whether the gather happens with the next binding table pointer."""

    COMMIT_GATHER = 0
    NON_COMMIT_GATHER = 1


class OnDieTable(IntEnum):
    """Whether the gather table comes with the command."""

    LOAD = 0
    READ = 1


class ShaderSelect(IntEnum):
    """The shader whose constants are moved."""

    VS = 0
    PS = 4


class ConstantMove(IntEnum):
    """The direction of a move.  The manual's prose reverses it; its table does not."""

    STORE = 0
    LOAD = 1


# --- gather tables ----------------------------------------------------------------------------------------------------
def _gather_constant(command: Command) -> Command:
    direct3d9: list[Field] = []
    if command.name.endswith(("VS", "PS")):
        direct3d9 = [Bool("dx9_on_die_register_read_enable", 1, 0)]
    return command.changed(
        Enum("update_gather_table_only", 1, 1, 1, enum=GatherTableUpdate), *direct3d9,
        Enum("on_die_table", 2, 3, 3, enum=OnDieTable))


GATHER_CONSTANTS: tuple[Command, ...] = tuple(map(_gather_constant, shader_stages.GATHER_CONSTANTS))

RS_CONSTANT_POINTER = gfx("3DSTATE_RS_CONSTANT_POINTER", 0x7854, 4, [
    Enum("shader_select", 1, 30, 28, enum=ShaderSelect),
    Enum("operation_load_or_store", 1, 12, 12, enum=ConstantMove),
    Address("global_constant_buffer_address", 2, 47, 6, target="DATA"),
], ref="KBLv2a 3DSTATE_RS_CONSTANT_POINTER")

# --- DX9 constants ----------------------------------------------------------------------------------------------------
DX9_CONSTANT_BUFFER_POOL_ALLOC = gfx("3DSTATE_DX9_CONSTANT_BUFFER_POOL_ALLOC", 0x791B, 4, [
    Address("dx9_constant_buffer_pool_base_address", 1, 47, 13, target="DATA"),
    Bool("dx9_constant_buffer_pool_enable", 1, 10, doc="off also clears the local valid bits"),
    memory_object_control_state("surface_object_control_state", 1, 6, 0),
    Uint("dx9_constant_buffer_pool_buffer_size", 3, 31, 13, scale=8192, doc="in bytes"),
], ref="KBLv2a 3DSTATE_DX9_CONSTANT_BUFFER_POOL_ALLOC")


def _four(name: str, kind: Callable[[str, int, int, int], Field]) -> Block:
    return block(name, 4, [kind(f"component_{axis}", i, 31, 0) for i, axis in enumerate("xyzw")],
                       ref="KBLv2a 3DSTATE_DX9_CONSTANTF_VS, 3DSTATE_DX9_CONSTANTI_VS")


DX9_CONSTANTF_ENTRY = _four("DX9_CONSTANTF_ENTRY", Float)
DX9_CONSTANTI_ENTRY = _four("DX9_CONSTANTI_ENTRY", Sint)


def _dx9_constants(kind: str, stage: str, code: int, index_hi: int, entry: Block,
                   length: tuple[int, int] = (7, 0)) -> Command:
    name = f"3DSTATE_DX9_CONSTANT{kind}_{stage}"
    return gfx(name, code, 2, [
        Bool("global_constant_register", 1, 15, doc="else a local one"),
        Uint("constant_register_index", 1, index_hi, 0, doc="the first one"),
        Array("entries", 2, entry),
    ], length=length, ref=f"KBLv2a {name}")


def _generate_active(stage: str, code: int) -> Command:
    name = f"3DSTATE_DX9_GENERATE_ACTIVE_{stage}"
    return gfx(name, code, 2, [
        Uint(f"pointer_to_{stage.lower()}_constant_buffer", 1, 23, 13, scale=8192, hex=True,
             doc="bytes from the DX9 constant buffer pool's base"),
        Bool("dx9_enable", 1, 12, doc="valid local registers shadow the global ones"),
        Bool("clamp_enable", 1, 11, doc="of global registers, to -1 to 1"),
        Bool("local_valid_bit_reset_enable", 1, 10),
        Bool("buffer_write_disable", 1, 9),
        Mbz(1, 8, 8, doc="Disable Produce to Command Stream: for context restore by the hardware"),
    ], ref=f"KBLv2a {name}")


def _local_valid(stage: str, code: int) -> Command:
    name = f"3DSTATE_DX9_LOCAL_VALID_{stage}"
    floats: Sequence[Field] = [
        Uint(f"local_constantf_valid_bits_{i}", 1 + i, 31, 0, hex=True) for i in range(8)]
    return gfx(name, code, 11, [
        *floats,
        Uint("local_constanti_valid_bits", 9, 31, 0, hex=True),
        Uint("local_constantb_valid_bits", 10, 15, 0, hex=True),
    ], ref=f"KBLv2a {name}")


REPLACED: tuple[Command, ...] = GATHER_CONSTANTS
ADDED: tuple[Block, ...] = (
    DX9_CONSTANTF_ENTRY, DX9_CONSTANTI_ENTRY, RS_CONSTANT_POINTER, DX9_CONSTANT_BUFFER_POOL_ALLOC,
    _dx9_constants("F", "VS", 0x7839, 7, DX9_CONSTANTF_ENTRY, (10, 0)),
    _dx9_constants("F", "PS", 0x783A, 7, DX9_CONSTANTF_ENTRY, (10, 0)),
    _dx9_constants("I", "VS", 0x783B, 4, DX9_CONSTANTI_ENTRY),
    _dx9_constants("I", "PS", 0x783C, 4, DX9_CONSTANTI_ENTRY),
    _dx9_constants("B", "VS", 0x783D, 3, DATA_DWORD),
    _dx9_constants("B", "PS", 0x783E, 3, DATA_DWORD),
    _local_valid("VS", 0x783F), _local_valid("PS", 0x7840),
    _generate_active("VS", 0x7841), _generate_active("PS", 0x7842),
)
