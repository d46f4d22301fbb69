"""The commands of Gen8 that point to state in memory, and those that load the tables of the sampler.

Kaby Lake PRM vol. 2a; for commands that the published part of that volume lacks, Mesa's gen8.xml.  The state is in
`gen4emu.hw.gen8.state` and `gen4emu.hw.gen8.surface`.
"""

from __future__ import annotations

from gen4emu.hw.fields import Address, Bool, Ignored, Uint
from gen4emu.hw.gen8.vertex_fetch import memory_object_control_state
from gen4emu.hw.gen75 import GEN75
from gen4emu.hw.layout import Block, Command
from gen4emu.hw.reserved import gfx

# --- state of the fixed functions -------------------------------------------------------------------------------------
BLEND_STATE_POINTERS = gfx("3DSTATE_BLEND_STATE_POINTERS", 0x7824, 2, [
    Address("blend_state_pointer", 1, 31, 6, base="dynamic_state", target="BLEND_STATE"),
    Bool("blend_state_pointer_valid", 1, 0, doc="else the fetched state stays"),
], ref="KBLv2a 3DSTATE_BLEND_STATE_POINTERS")

CC_STATE_POINTERS = gfx("3DSTATE_CC_STATE_POINTERS", 0x780E, 2, [
    Address("color_calc_state_pointer", 1, 31, 6, base="dynamic_state", target="COLOR_CALC_STATE"),
    Bool("color_calc_state_pointer_valid", 1, 0),
], ref="KBLv2a 3DSTATE_CC_STATE_POINTERS")

# --- binding tables and samplers of the stages ------------------------------------------------------------------------
def pool_alloc(name: str, code: int, pool: str, control_state: str) -> Command:
    """A pool of memory: its base, and its size in dword 3."""
    return gfx(name, code, 4, [
        Address(f"{pool}_base_address", 1, 63, 12, target="DATA"),
        Bool(f"{pool}_enable", 1, 11),
        *([Ignored(1, 10, 7)] if pool == "binding_table_pool" else []),
        memory_object_control_state(control_state, 1, 6, 0),
        Uint(f"{pool}_buffer_size", 3, 31, 12, scale=4096, doc="in bytes; accesses beyond the end read 0"),
    ], ref=f"KBLv2a {name}")


BINDING_TABLE_POOL_ALLOC = pool_alloc("3DSTATE_BINDING_TABLE_POOL_ALLOC", 0x7919, "binding_table_pool",
                                      "surface_object_control_state")
GATHER_POOL_ALLOC = pool_alloc("3DSTATE_GATHER_POOL_ALLOC", 0x791A, "gather_pool", "memory_object_control_state")


# --- tables of the sampler --------------------------------------------------------------------------------------------
BINDING_TABLE_EDIT_ENTRY = GEN75.layout("BINDING_TABLE_EDIT_ENTRY").changed(
    Uint("surface_state_pointer", 0, 15, 0, scale=64, hex=True, doc="bytes from the surface state base"))

REPLACED: tuple[Block, ...] = (
    BINDING_TABLE_EDIT_ENTRY, BLEND_STATE_POINTERS, CC_STATE_POINTERS, BINDING_TABLE_POOL_ALLOC, GATHER_POOL_ALLOC,
)
REMOVED: tuple[str, ...] = ("3DSTATE_DEPTH_STENCIL_STATE_POINTERS", "DEPTH_STENCIL_STATE", "3DSTATE_RAST_MULTISAMPLE")
