"""The state blocks of Haswell that differ from Ivy Bridge.

HSW PRM vol. 2d, "Command Reference: Structures".
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Enum, Field, Float, Uint
from gen4emu.hw.gen7 import state as gen7
from gen4emu.hw.layout import Block
from gen4emu.hw.reserved import block

_REF = "HSW PRM vol2d "


class ShaderChannelSelect(IntEnum):
    """SCS_*: what the sampler returns as a channel."""

    ZERO = 0
    ONE = 1
    RED = 4
    GREEN = 5
    BLUE = 6
    ALPHA = 7


class TrilinearFilterQuality(IntEnum):
    """TRIQUAL_*."""

    FULL = 0
    HIGH_MAG_CLAMP_MIPFILTER = 1
    MED = 2
    LOW = 3


class LlcCacheability(IntEnum):
    """Whether data is cached as the page table entry says, or where."""

    USE_GTT_ENTRY = 0
    UNCACHED = 1
    LLC_WRITE_BACK = 2
    ELLC_WRITE_BACK = 3


RENDER_SURFACE_STATE = gen7.RENDER_SURFACE_STATE.changed(
    Uint("integer_surface_format", 3, 20, 18, high=1, doc="drivers set 1 for integer formats"),
    *(Enum(f"shader_channel_select_{channel}", 7, lo + 2, lo, ShaderChannelSelect)
      for lo, channel in ((25, "red"), (22, "green"), (19, "blue"), (16, "alpha"))),
    ref=_REF + "RENDER_SURFACE_STATE")

SAMPLER_STATE = gen7.SAMPLER_STATE.changed(
    Enum("trilinear_filter_quality", 3, 12, 11, TrilinearFilterQuality), ref=_REF + "SAMPLER_STATE")


def _integers(dword: int) -> list[Field]:
    """The color of integer formats: of 32 bits a channel.  Smaller channels are packed into the same dwords."""
    notes = {"red": "8-bit formats: four bytes; 16-bit formats: red, green", "blue": "16-bit formats: blue, alpha"}
    return [Uint(f"border_color_32bit_{channel}", dword + i, 31, 0, hex=True, doc=notes.get(channel, ""))
            for i, channel in enumerate(("red", "green", "blue", "alpha"))]


SAMPLER_BORDER_COLOR_STATE = block("SAMPLER_BORDER_COLOR_STATE", 20, [
    *(Float(f"border_color_float_{channel}", i, 31, 0)
      for i, channel in enumerate(("red", "green", "blue", "alpha"))),
    *_integers(16),
], ref=_REF + "SAMPLER_BORDER_COLOR_STATE", align=512)

BINDING_TABLE_EDIT_ENTRY = block("BINDING_TABLE_EDIT_ENTRY", 1, [
    Uint("binding_table_index", 0, 23, 16),
    Uint("surface_state_pointer", 0, 15, 0, scale=32, hex=True, doc="bytes from the surface state base"),
], ref=_REF + "BINDING_TABLE_EDIT_ENTRY")

GATHER_CONSTANT_ENTRY = block("GATHER_CONSTANT_ENTRY", 1, [
    f for i, at in ((1, 16), (0, 0)) for f in (
        Uint(f"entry_{i}_constant_buffer_offset", 0, at + 15, at + 8, scale=16, doc="in bytes"),
        Uint(f"entry_{i}_channel_mask", 0, at + 7, at + 4, hex=True),
        Uint(f"entry_{i}_binding_table_index_offset", 0, at + 3, at))
], ref=_REF + "GATHER_CONSTANT_ENTRY", doc="a pair of entries")

MEMORY_OBJECT_CONTROL_STATE = block("MEMORY_OBJECT_CONTROL_STATE", 1, [
    Enum("llc_ellc_cacheability_control", 0, 2, 1, LlcCacheability),
    Uint("l3_cacheability_control", 0, 0, 0),
], ref=_REF + "MEMORY_OBJECT_CONTROL_STATE", doc="four bits of a command or block")

REPLACED: tuple[Block, ...] = (
    RENDER_SURFACE_STATE, SAMPLER_STATE, SAMPLER_BORDER_COLOR_STATE, MEMORY_OBJECT_CONTROL_STATE,
)
ADDED: tuple[Block, ...] = (BINDING_TABLE_EDIT_ENTRY, GATHER_CONSTANT_ENTRY)
