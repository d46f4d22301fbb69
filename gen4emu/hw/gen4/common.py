"""Commands that the 3D and the media pipeline share: bases, URB, constants, pipeline selection, synchronisation.

Sources: Mesa's gen4.xml and gen45.xml; PIPE_CONTROL: G45 PRM vol. 2, 2.8.4.  Commands of only one pipeline are in
`gen4emu.hw.gen4.pipeline` and `gen4emu.hw.gen4.media`.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Bool, Enum, Field, Ignored, Mbz, Uint, unless, when
from gen4emu.hw.layout import Block, Command, View, gfx

DATA_DWORD = Block("DATA_DWORD", 1, [Uint("value", 0, 31, 0, hex=True)],
                   doc="one dword of a tail whose length the command's header gives")


class Pipeline(IntEnum):
    """The pipeline that PIPELINE_SELECT switches to."""

    THREE_D = 0
    MEDIA = 1


class PostSyncOperation(IntEnum):
    """The data that PIPE_CONTROL writes when it retires."""

    NO_WRITE = 0
    WRITE_IMMEDIATE_DATA = 1
    WRITE_PS_DEPTH_COUNT = 2
    WRITE_TIMESTAMP = 3


class GraphicsAddressType(IntEnum):
    """The table that translates an address.  Gen4 has one table, so both values have the same meaning."""

    PROCESS_LOCAL = 0
    GLOBAL = 1


# --- PIPELINE_SELECT and 3DSTATE_VF_STATISTICS: two encodings each, both accepted everywhere ------------------------
def pipeline_select(code: int, *fields: Field, written: bool) -> Command:
    return gfx("PIPELINE_SELECT", code, 1, fields, length=None, ref="Mesa gen4.xml, gen45.xml", written=written)


def vf_statistics(code: int, *, written: bool) -> Command:
    return gfx("3DSTATE_VF_STATISTICS", code, 1, [
        Mbz(0, 15, 1),
        Bool("statistics_enable", 0, 0, doc="counts IA_VERTICES and IA_PRIMITIVES"),
    ], length=None, ref="Mesa gen4.xml, gen45.xml", written=written)


_SELECTION = (Mbz(0, 15, 1), Enum("pipeline_selection", 0, 0, 0, enum=Pipeline))

PIPELINE_SELECTS = (pipeline_select(0x6104, *_SELECTION, written=True),
                    pipeline_select(0x6904, *_SELECTION, written=False))
VF_STATISTICS = (vf_statistics(0x780B, written=True), vf_statistics(0x680B, written=False))


def is_media(selection: View) -> bool:
    """Whether a PIPELINE_SELECT selects the media pipeline.  Of G4x's two bits, the low one decides."""
    return bool(selection.raw("pipeline_selection") & Pipeline.MEDIA)



# --- bases ------------------------------------------------------------------------------------------------------------
def _base(name: str, dword: int, *, doc: str = "") -> list[Field]:
    return [
        Address(name, dword, 31, 12, doc=doc),
        Mbz(dword, 11, 1),
        Bool(f"{name}_modify_enable", dword, 0),
    ]


STATE_BASE_ADDRESS = gfx("STATE_BASE_ADDRESS", 0x6101, 6, [
    Mbz(0, 15, 8),
    *_base("general_state_base_address", 1),
    *_base("surface_state_base_address", 2),
    *_base("indirect_object_base_address", 3),
    *_base("general_state_access_upper_bound", 4, doc="0 means unbounded"),
    *_base("indirect_object_access_upper_bound", 5, doc="0 means unbounded"),
], ref="Mesa gen4.xml, gen45.xml")

STATE_SIP = gfx("STATE_SIP", 0x6102, 2, [
    Mbz(0, 15, 8),
    Address("system_instruction_pointer", 1, 31, 4, base="general_state", target="KERNEL",
            doc="drivers without a system routine write 0"),
    Mbz(1, 3, 0),
], ref="Mesa gen4.xml, gen45.xml")

STATE_PREFETCH = gfx("STATE_PREFETCH", 0x6003, 2, [
    Mbz(0, 15, 8),
    Address("prefetch_pointer", 1, 31, 6, base="general_state"),
    Mbz(1, 5, 3),
    Uint("prefetch_count", 1, 2, 0, bias=1, doc="lines of 64 bytes"),
], ref="Mesa gen4.xml, gen45.xml", doc="a hint without an effect that a program can see")

# --- URB and constants ------------------------------------------------------------------------------------------------
URB_FENCE = gfx("URB_FENCE", 0x6000, 3, [
    Mbz(0, 15, 14),
    Bool("cs_urb_reallocation_request", 0, 13),
    Bool("vfe_urb_reallocation_request", 0, 12),
    Bool("sf_urb_reallocation_request", 0, 11),
    Bool("clip_urb_reallocation_request", 0, 10),
    Bool("gs_urb_reallocation_request", 0, 9),
    Bool("vs_urb_reallocation_request", 0, 8),
    Mbz(1, 31, 30),
    Uint("clip_fence", 1, 29, 20, doc="a fence is the row of 512 bits just past the unit's region"),
    Uint("gs_fence", 1, 19, 10),
    Uint("vs_fence", 1, 9, 0),
    Mbz(2, 31, 31),
    Uint("cs_fence", 2, 30, 20),
    Uint("vfe_fence", 2, 19, 10),
    Uint("sf_fence", 2, 9, 0),
], ref="Mesa gen4.xml, gen45.xml")

CS_URB_STATE = gfx("CS_URB_STATE", 0x6001, 2, [
    Mbz(0, 15, 8),
    Mbz(1, 31, 9),
    Uint("urb_entry_allocation_size", 1, 8, 4, bias=1, doc="rows of 512 bits"),
    Mbz(1, 3, 3),
    Uint("number_of_urb_entries", 1, 2, 0, high=4),
], ref="Mesa gen4.xml, gen45.xml")

CONSTANT_BUFFER = gfx("CONSTANT_BUFFER", 0x6002, 2, [
    Mbz(0, 15, 9),
    Bool("valid", 0, 8),
    Address("buffer_starting_address", 1, 31, 6, base="general_state", target="CONSTANTS", count="buffer_length",
            doc="absolute when INSTPM says so"),
    Uint("buffer_length", 1, 5, 0, bias=1, high=32, doc="units of 64 bytes, at most a CS URB entry"),
], ref="Mesa gen4.xml, gen45.xml")

# --- synchronisation --------------------------------------------------------------------------------------------------
_NO_WRITE = (when("post_sync_operation", PostSyncOperation.NO_WRITE),)
_WRITE = (unless("post_sync_operation", PostSyncOperation.NO_WRITE),)
_IMMEDIATE = (when("post_sync_operation", PostSyncOperation.WRITE_IMMEDIATE_DATA),)
_NO_IMMEDIATE = (unless("post_sync_operation", PostSyncOperation.WRITE_IMMEDIATE_DATA),)

PIPE_CONTROL = gfx("PIPE_CONTROL", 0x7A00, 4, [
    Enum("post_sync_operation", 0, 15, 14, enum=PostSyncOperation),
    Bool("depth_stall_enable", 0, 13),
    Bool("write_cache_flush_enable", 0, 12, doc="ignored with a depth stall"),
    Bool("instruction_state_cache_flush_enable", 0, 11),
    Mbz(0, 10, 9),
    Bool("notify_enable", 0, 8),
    Address("destination_address", 1, 31, 3, target="DATA", when=_WRITE),
    Enum("destination_address_type", 1, 2, 2, enum=GraphicsAddressType, when=_WRITE),
    Ignored(1, 31, 2, when=_NO_WRITE),
    Mbz(1, 1, 0),
    Uint("immediate_data_low", 2, 31, 0, hex=True, when=_IMMEDIATE),
    Uint("immediate_data_high", 3, 31, 0, hex=True, when=_IMMEDIATE),
    Ignored(2, 31, 0, when=_NO_IMMEDIATE),
    Ignored(3, 31, 0, when=_NO_IMMEDIATE),
], ref="G45v2 2.8.4")

COMMANDS: tuple[Command, ...] = (
    URB_FENCE, CS_URB_STATE, CONSTANT_BUFFER, STATE_PREFETCH, STATE_BASE_ADDRESS, STATE_SIP,
    *PIPELINE_SELECTS, *VF_STATISTICS, PIPE_CONTROL,
)
