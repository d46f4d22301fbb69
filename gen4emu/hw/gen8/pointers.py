"""The commands of Gen8 that point to state in memory, and those that load the tables of the sampler.

Kaby Lake PRM vol. 2a; for commands that the published part of that volume lacks, Mesa's gen8.xml.  The state is in
`gen4emu.hw.gen8.state` and `gen4emu.hw.gen8.surface`.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Field, Ignored, Uint
from gen4emu.hw.gen8.shader_stages import each_stage
from gen4emu.hw.gen8.vertex_fetch import memory_object_control_state
from gen4emu.hw.layout import Block, Command
from gen4emu.hw.reserved import block, gfx


class BindingTableEditTarget(IntEnum):
    """The cores that take an edit of a binding table."""

    CORE_0 = 1
    CORE_1 = 2
    ALL_CORES = 3


# --- state of the fixed functions -------------------------------------------------------------------------------------
BLEND_STATE_POINTERS = gfx("3DSTATE_BLEND_STATE_POINTERS", 0x7824, 2, [
    Address("blend_state_pointer", 1, 31, 6, base="dynamic_state", target="BLEND_STATE"),
    Bool("blend_state_pointer_valid", 1, 0, doc="else the fetched state stays"),
], ref="KBLv2a 3DSTATE_BLEND_STATE_POINTERS")

CC_STATE_POINTERS = gfx("3DSTATE_CC_STATE_POINTERS", 0x780E, 2, [
    Address("color_calc_state_pointer", 1, 31, 6, base="dynamic_state", target="COLOR_CALC_STATE"),
    Bool("color_calc_state_pointer_valid", 1, 0),
], ref="KBLv2a 3DSTATE_CC_STATE_POINTERS")

VIEWPORT_STATE_POINTERS_CC = gfx("3DSTATE_VIEWPORT_STATE_POINTERS_CC", 0x7823, 2, [
    Address("cc_viewport_pointer", 1, 31, 5, base="dynamic_state", target="CC_VIEWPORT"),
], ref="Mesa gen8.xml 3DSTATE_VIEWPORT_STATE_POINTERS_CC")

VIEWPORT_STATE_POINTERS_SF_CLIP = gfx("3DSTATE_VIEWPORT_STATE_POINTERS_SF_CLIP", 0x7821, 2, [
    Address("sf_clip_viewport_pointer", 1, 31, 6, base="dynamic_state", target="SF_CLIP_VIEWPORT"),
], ref="Mesa gen8.xml 3DSTATE_VIEWPORT_STATE_POINTERS_SF_CLIP")

SCISSOR_STATE_POINTERS = gfx("3DSTATE_SCISSOR_STATE_POINTERS", 0x780F, 2, [
    Address("scissor_rect_pointer", 1, 31, 5, base="dynamic_state", target="SCISSOR_RECT"),
], ref="KBLv2a 3DSTATE_SCISSOR_STATE_POINTERS")


# --- binding tables and samplers of the stages ------------------------------------------------------------------------
def _binding_table_pointers(stage: str, code: int) -> Command:
    name = f"3DSTATE_BINDING_TABLE_POINTERS_{stage}"
    return gfx(name, code, 2, [
        Address(f"pointer_to_{stage.lower()}_binding_table", 1, 15, 5, base="surface_state",
                target="BINDING_TABLE_STATE",
                doc="counts from the pool, in units of 64 bytes, when a binding table pool is enabled"),
    ], ref=f"KBLv2a {name}", doc="also commits the constants of the stage")


def _sampler_state_pointers(stage: str, code: int) -> Command:
    name = f"3DSTATE_SAMPLER_STATE_POINTERS_{stage}"
    return gfx(name, code, 2, [
        Address(f"pointer_to_{stage.lower()}_sampler_state", 1, 31, 5, base="dynamic_state", target="SAMPLER_STATE"),
    ], ref=f"KBLv2a {name}")


BINDING_TABLE_EDIT_ENTRY = block("BINDING_TABLE_EDIT_ENTRY", 1, [
    Uint("binding_table_index", 0, 23, 16),
    Uint("surface_state_pointer", 0, 15, 0, scale=64, hex=True, doc="bytes from the surface state base"),
], ref="Mesa gen8.xml BINDING_TABLE_EDIT_ENTRY")


def _binding_table_edit(stage: str, code: int) -> Command:
    name = f"3DSTATE_BINDING_TABLE_EDIT_{stage}"
    return gfx(name, code, 2, [
        Uint("binding_table_block_clear", 1, 31, 16, hex=True, doc="bit i clears entries 16i to 16i + 15 first"),
        Enum("binding_table_edit_target", 1, 1, 0, enum=BindingTableEditTarget),
        Array("entries", 2, BINDING_TABLE_EDIT_ENTRY),
    ], length=(8, 0), ref=f"KBLv2a {name}")


def pool_alloc(name: str, code: int, pool: str, control_state: str) -> Command:
    """A pool of memory: its base, and its size in dword 3."""
    return gfx(name, code, 4, [
        Address(f"{pool}_base_address", 1, 63, 12, target="DATA"),
        Bool(f"{pool}_enable", 1, 11),
        *([Ignored(1, 10, 7)] if pool == "binding_table_pool" else []),
        memory_object_control_state(control_state, 1, 6, 0),
        Uint(f"{pool}_buffer_size", 3, 31, 12, scale=4096, doc="in bytes; accesses behind the end read 0"),
    ], ref=f"KBLv2a {name}")


BINDING_TABLE_POOL_ALLOC = pool_alloc("3DSTATE_BINDING_TABLE_POOL_ALLOC", 0x7919, "binding_table_pool",
                                      "surface_object_control_state")
GATHER_POOL_ALLOC = pool_alloc("3DSTATE_GATHER_POOL_ALLOC", 0x791A, "gather_pool", "memory_object_control_state")


# --- tables of the sampler --------------------------------------------------------------------------------------------
def _key(dword: int, bound: str) -> list[Field]:
    """One bound of a key, inclusive: unsigned bytes, or sign and magnitude for SNORM formats."""
    return [Uint(f"chromakey_{bound}_{channel}", dword, lo + 7, lo, hex=True)
            for channel, lo in (("alpha", 24), ("red_or_cr", 16), ("green_or_y", 8), ("blue_or_cb", 0))]


CHROMA_KEY = gfx("3DSTATE_CHROMA_KEY", 0x7904, 4, [
    Uint("chromakey_table_index", 1, 31, 30),
    *_key(2, "low_value"),
    *_key(3, "high_value"),
], ref="KBLv2a 3DSTATE_CHROMA_KEY")

MONOFILTER_SIZE = gfx("3DSTATE_MONOFILTER_SIZE", 0x7911, 2, [
    Uint("monochrome_filter_width", 1, 5, 3, low=1),
    Uint("monochrome_filter_height", 1, 2, 0, low=1),
], ref="KBLv2a 3DSTATE_MONOFILTER_SIZE")

PALETTE_ENTRY = block("PALETTE_ENTRY", 1, [
    Uint("alpha", 0, 31, 24),
    Uint("red", 0, 23, 16),
    Uint("green", 0, 15, 8),
    Uint("blue", 0, 7, 0),
], ref="Mesa gen8.xml PALETTE_ENTRY")


def _palette_load(n: int, code: int) -> Command:
    name = f"3DSTATE_SAMPLER_PALETTE_LOAD{n}"
    return gfx(name, code, 1, [Array("entries", 1, PALETTE_ENTRY)], ref=f"KBLv2a {name}",
                       doc="1 to 256 entries, from entry 0 on; the others keep their colours")


COMMANDS: tuple[Command, ...] = (
    BLEND_STATE_POINTERS, CC_STATE_POINTERS, VIEWPORT_STATE_POINTERS_CC, VIEWPORT_STATE_POINTERS_SF_CLIP,
    SCISSOR_STATE_POINTERS,
    *each_stage(_binding_table_pointers, {"VS": 0x7826, "HS": 0x7827, "DS": 0x7828, "GS": 0x7829, "PS": 0x782A}),
    *each_stage(_sampler_state_pointers, {"VS": 0x782B, "HS": 0x782C, "DS": 0x782D, "GS": 0x782E, "PS": 0x782F}),
    *each_stage(_binding_table_edit, {"VS": 0x7843, "GS": 0x7844, "HS": 0x7845, "DS": 0x7846, "PS": 0x7847}),
    BINDING_TABLE_POOL_ALLOC, GATHER_POOL_ALLOC, CHROMA_KEY, MONOFILTER_SIZE,
    _palette_load(0, 0x7902), _palette_load(1, 0x790C),
)
BLOCKS: tuple[Block, ...] = (BINDING_TABLE_EDIT_ENTRY, PALETTE_ENTRY)
