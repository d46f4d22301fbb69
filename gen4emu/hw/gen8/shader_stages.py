"""The shader stages of Gen8: VS, HS, TE, DS, GS and PS, the URB they share, and their push constants.

Kaby Lake PRM vol. 2a, which Broadwell shares but for what `gen4emu.hw.gen9` changes; for commands that the published
part of that volume lacks, Mesa's gen8.xml.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Field, Ignored, Uint, unless, when
from gen4emu.hw.gen4.state import FloatingPointMode
from gen4emu.hw.gen6.pipeline import PositionXyOffsetSelect, ReorderMode, ThreadDispatchPriority
from gen4emu.hw.gen7.pipeline import ControlDataFormat, DenormalMode, RoundingMode
from gen4emu.hw.gen75 import GEN75
from gen4emu.hw.layout import Block, Command
from gen4emu.hw.reserved import block, gfx
from gen4emu.hw.topology import PatchTopology


class GsDispatchMode(IntEnum):
    """The objects and instances that a GS thread works on."""

    SINGLE = 0
    DUAL_INSTANCE = 1
    DUAL_OBJECT = 2
    SIMD8 = 3


class DsDispatchMode(IntEnum):
    """The domain points that a DS thread works on."""

    SIMD4X2 = 0
    SIMD8_SINGLE_PATCH = 1


# --- fields that several stages have ----------------------------------------------------------------------------------
def kernel(dword: int, name: str = "kernel_start_pointer") -> Field:
    return Address(name, dword, 63, 6, base="instruction", target="KERNEL")


def scratch(dword: int, name: str = "per_thread_scratch_space") -> list[Field]:
    return [
        Address("scratch_space_base_pointer", dword, 63, 10, base="general_state", target="SCRATCH"),
        Uint(name, dword, 3, 0, high=11, doc="bytes are 1024 << n"),
    ]


def thread_control(dword: int, mask_bit: int | None = 30) -> list[Field]:
    """Counts for prefetching and modes that a thread starts with."""
    return [
        *([] if mask_bit is None else [Bool("vector_mask_enable", dword, mask_bit)]),
        Uint("sampler_count", dword, 29, 27, scale=4, high=16, doc="rounded up to 4; for prefetching only"),
        Uint("binding_table_entry_count", dword, 25, 18, doc="for prefetching only"),
        Enum("thread_dispatch_priority", dword, 17, 17, enum=ThreadDispatchPriority),
        Enum("floating_point_mode", dword, 16, 16, enum=FloatingPointMode),
        Bool("illegal_opcode_exception_enable", dword, 13, doc="CR0.1 bit 12"),
    ]


def _software_exceptions(dword: int) -> Field:
    return Bool("software_exception_enable", dword, 7, doc="CR0.1 bit 13")


def _mask_stack_exceptions(dword: int) -> Field:
    return Bool("mask_stack_exception_enable", dword, 11, doc="CR0.1 bit 11")


def _vertex_reads(dword: int) -> list[Field]:
    return [
        Uint("vertex_urb_entry_read_length", dword, 16, 11, doc="in rows of 256 bits"),
        Uint("vertex_urb_entry_read_offset", dword, 9, 4, doc="in rows of 256 bits"),
    ]


def _output(dword: int) -> list[Field]:
    """The part of the output that SBE reads, and the clip distances in it."""
    return [
        Uint("vertex_urb_entry_output_read_offset", dword, 26, 21, doc="in rows of 256 bits"),
        Uint("vertex_urb_entry_output_length", dword, 20, 16, doc="in rows of 256 bits, without the header"),
        Uint("user_clip_distance_clip_test_enable_bitmask", dword, 15, 8, hex=True),
        Uint("user_clip_distance_cull_test_enable_bitmask", dword, 7, 0, hex=True),
    ]


# --- the stages -------------------------------------------------------------------------------------------------------
GS_ON, GS_OFF = (when("enable", 1),), (unless("enable", 1),)

VS = gfx("3DSTATE_VS", 0x7810, 9, [
    kernel(1),
    Bool("single_vertex_dispatch", 3, 31),
    *thread_control(3),
    Bool("accesses_uav", 3, 12),
    _software_exceptions(3),
    *scratch(4),
    Uint("dispatch_grf_start_register_for_urb_data", 6, 24, 20),
    *_vertex_reads(6),
    Uint("maximum_number_of_threads", 7, 31, 23, bias=1),
    Bool("statistics_enable", 7, 10),
    Bool("simd8_dispatch_enable", 7, 2),
    Bool("vertex_cache_disable", 7, 1),
    Bool("enable", 7, 0),
    *_output(8),
], ref="Mesa gen8.xml 3DSTATE_VS")

HS = gfx("3DSTATE_HS", 0x781B, 9, [
    *thread_control(1, None),
    Bool("software_exception_enable", 1, 12, doc="CR0.1 bit 13; bit 7 in the other stages"),
    Bool("enable", 2, 31),
    Bool("statistics_enable", 2, 29),
    Uint("maximum_number_of_threads", 2, 16, 8, bias=1, high=504),
    Uint("instance_count", 2, 3, 0, bias=1, doc="threads of a patch"),
    kernel(3),
    *scratch(5),
    Bool("single_program_flow", 7, 27),
    Bool("vector_mask_enable", 7, 26),
    Bool("accesses_uav", 7, 25),
    Bool("include_vertex_handles", 7, 24),
    Uint("dispatch_grf_start_register_for_urb_data", 7, 23, 19),
    *_vertex_reads(7),
], ref="KBLv2a 3DSTATE_HS")

DS = gfx("3DSTATE_DS", 0x781D, 9, [
    kernel(1),
    Bool("single_domain_point_dispatch", 3, 31),
    *thread_control(3),
    Bool("accesses_uav", 3, 14),
    _software_exceptions(3),
    *scratch(4),
    Uint("dispatch_grf_start_register_for_urb_data", 6, 24, 20),
    Uint("patch_urb_entry_read_length", 6, 17, 11, high=64, doc="in rows of 256 bits"),
    Uint("patch_urb_entry_read_offset", 6, 9, 4, doc="in rows of 256 bits"),
    Uint("maximum_number_of_threads", 7, 29, 21, bias=1, high=504),
    Bool("statistics_enable", 7, 10),
    Enum("dispatch_mode", 7, 3, 3, enum=DsDispatchMode),
    Bool("compute_w_coordinate_enable", 7, 2, doc="W = 1 - U - V"),
    Bool("cache_disable", 7, 1),
    Bool("function_enable", 7, 0),
    Ignored(8, 27, 27),
    *_output(8),
], ref="KBLv2a 3DSTATE_DS")

GS = gfx("3DSTATE_GS", 0x7811, 10, [
    kernel(1),
    Bool("single_program_flow", 3, 31),
    *thread_control(3),
    Ignored(3, 26, 26),
    Bool("accesses_uav", 3, 12),
    _mask_stack_exceptions(3),
    _software_exceptions(3),
    Uint("expected_vertex_count", 3, 5, 0, doc="1 to 32; objects with another count are dropped"),
    *scratch(4),
    Uint("output_vertex_size", 6, 28, 23, bias=1, scale=16, doc="in bytes"),
    Enum("output_topology", 6, 22, 17, enum=PatchTopology, when=GS_ON),
    Ignored(6, 22, 17, when=GS_OFF),
    Uint("vertex_urb_entry_read_length", 6, 16, 11, doc="in rows of 256 bits"),
    Bool("include_vertex_handles", 6, 10),
    Uint("vertex_urb_entry_read_offset", 6, 9, 4, doc="in rows of 256 bits"),
    Uint("dispatch_grf_start_register_for_urb_data", 6, 3, 0),
    Uint("maximum_number_of_threads", 7, 31, 24, bias=1, scale=2),
    Uint("control_data_header_size", 7, 23, 20, scale=32, high=256, doc="in bytes"),
    Uint("instance_control", 7, 19, 15, bias=1, doc="instances of an object"),
    Uint("default_stream_id", 7, 14, 13),
    Enum("dispatch_mode", 7, 12, 11, enum=GsDispatchMode),
    Bool("statistics_enable", 7, 10),
    Uint("invocations_increment_value", 7, 9, 5, bias=1),
    Bool("include_primitive_id", 7, 4, doc="in R1"),
    Uint("hint", 7, 3, 3, doc="to the payload"),
    Enum("reorder_mode", 7, 2, 2, enum=ReorderMode),
    Bool("discard_adjacency", 7, 1),
    Bool("enable", 7, 0),
    Enum("control_data_format", 8, 31, 31, enum=ControlDataFormat),
    Bool("static_output", 8, 30),
    Uint("static_output_vertex_count", 8, 26, 16),
    Ignored(9, 27, 27),
    *_output(9),
], ref="KBLv2a 3DSTATE_GS")

PS = gfx("3DSTATE_PS", 0x7820, 12, [
    kernel(1, "kernel_start_pointer_0"),
    Bool("single_program_flow", 3, 31),
    *thread_control(3),
    Enum("single_precision_denormal_mode", 3, 26, 26, enum=DenormalMode),
    Enum("rounding_mode", 3, 15, 14, enum=RoundingMode),
    _mask_stack_exceptions(3),
    _software_exceptions(3),
    *scratch(4),
    Uint("maximum_number_of_threads_per_psd", 6, 31, 23, bias=1, low=2, high=64),
    Bool("push_constant_enable", 6, 11),
    Bool("render_target_fast_clear_enable", 6, 8),
    Bool("render_target_resolve_enable", 6, 6),
    Enum("position_xy_offset_select", 6, 4, 3, enum=PositionXyOffsetSelect),
    Bool("dispatch_32_pixel_enable", 6, 2),
    Bool("dispatch_16_pixel_enable", 6, 1),
    Bool("dispatch_8_pixel_enable", 6, 0),
    Uint("dispatch_grf_start_register_for_constant_setup_data_0", 7, 22, 16),
    Uint("dispatch_grf_start_register_for_constant_setup_data_1", 7, 14, 8),
    Uint("dispatch_grf_start_register_for_constant_setup_data_2", 7, 6, 0),
    kernel(8, "kernel_start_pointer_1"),
    kernel(10, "kernel_start_pointer_2"),
], ref="KBLv2a 3DSTATE_PS")


# --- URB and push constants -------------------------------------------------------------------------------------------
def each_stage(make: Callable[[str, int], Command], codes: dict[str, int]) -> tuple[Command, ...]:
    """The commands of a family, one for each stage."""
    return tuple(make(stage, code) for stage, code in codes.items())


_URB_CODES = {"VS": 0x7830, "HS": 0x7831, "DS": 0x7832, "GS": 0x7833}
_URB_ENTRIES = {"VS": 2560, "HS": 504, "DS": 1536, "GS": 960}  # of the chips that have the most


def urb(stage: str, most: int) -> Command:
    """The region of a stage in the URB, with the number of entries that it has at most."""
    name = f"3DSTATE_URB_{stage}"
    low = stage.lower()
    return gfx(name, _URB_CODES[stage], 2, [
        Uint(f"{low}_urb_starting_address", 1, 31, 25, scale=8192, hex=True, doc="in bytes"),
        Uint(f"{low}_urb_entry_allocation_size", 1, 24, 16, bias=1, scale=64, doc="in bytes"),
        Uint(f"{low}_number_of_urb_entries", 1, 15, 0, high=most),
    ], ref=f"Mesa gen8.xml {name}")


def _push_constant_alloc(stage: str) -> Command:
    """There are 32 KiB on all parts."""
    return GEN75.command(f"3DSTATE_PUSH_CONSTANT_ALLOC_{stage}").changed(
        Uint("constant_buffer_size", 1, 5, 0, scale=1024, high=32 * 1024, doc="in bytes; a multiple of 2048"))


def _constant_body(first: int) -> list[Field]:
    """Four lengths, then four pointers, of which those with length 0 are ignored."""
    fields: list[Field] = []
    for i in range(4):
        lo = 16 * (i % 2)
        fields.append(Uint(f"constant_buffer_{i}_read_length", first + i // 2, lo + 15, lo, high=64,
                           doc="in rows of 256 bits; the sum is at most 64"))
    for i in range(4):
        length = f"constant_buffer_{i}_read_length"
        fields += [
            Address(f"pointer_to_constant_buffer_{i}", first + 2 + 2 * i, 63, 5, target="CONSTANTS", count=length,
                    when=(unless(length, 0),),
                    doc="may be relative to the dynamic state base, by a mode register" if i == 0 else ""),
            Ignored(first + 2 + 2 * i, 63, 5, when=(when(length, 0),)),
        ]
    return fields


CONSTANT_BODY = block("3DSTATE_CONSTANT_BODY", 10, _constant_body(0), ref="Mesa gen8.xml 3DSTATE_CONSTANT_BODY",
                            doc="dwords 1 to 10 of 3DSTATE_CONSTANT_*")


def _constant(stage: str, code: int) -> Command:
    name = f"3DSTATE_CONSTANT_{stage}"
    return gfx(name, code, 11, _constant_body(1), ref=f"KBLv2a {name}",
                       doc="takes effect with the next 3DSTATE_BINDING_TABLE_POINTERS of the stage")


CONSTANTS = each_stage(_constant, {"VS": 0x7815, "GS": 0x7816, "PS": 0x7817, "HS": 0x7819, "DS": 0x781A})

# --- gather constants, which the resource streamer collects from constant buffers ------------------------------------
def _gather_constant(stage: str, code: int) -> Command:
    name = f"3DSTATE_GATHER_CONSTANT_{stage}"
    direct3d9 = [Bool("constant_buffer_dx9_enable", 2, 4)] if stage in ("VS", "PS") else []
    return gfx(name, code, 3, [
        Uint("constant_buffer_valid", 1, 31, 16, hex=True),
        Uint("constant_buffer_binding_table_block", 1, 15, 12, doc="in blocks of 16 entries"),
        Uint("gather_buffer_offset", 2, 22, 6, scale=64, hex=True, doc="bytes from the gather pool's base"),
        Bool("constant_buffer_dx9_generate_stall", 2, 5),
        *direct3d9,
        Array("entries", 3, GEN75.layout("GATHER_CONSTANT_ENTRY")),
    ], ref=f"KBLv2a {name}")


GATHER_CONSTANTS = each_stage(_gather_constant, {
    "VS": 0x7834, "GS": 0x7835, "HS": 0x7836, "DS": 0x7837, "PS": 0x7838})

REPLACED: tuple[Block, ...] = (
    VS, HS, DS, GS, PS,
    *each_stage(urb, _URB_ENTRIES),
    *map(_push_constant_alloc, ("VS", "HS", "DS", "GS", "PS")),
    *CONSTANTS, CONSTANT_BODY, *GATHER_CONSTANTS,
)
