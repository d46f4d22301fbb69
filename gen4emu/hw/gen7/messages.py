"""Messages of Gen7: the descriptor of a `send` to each shared function.

Ivy Bridge PRM vol. 4 part 1 and 2; Mesa, src/intel/compiler/brw_inst.h and brw_eu_defines.h.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Bool, Enum, Field, Ignored, Uint, When, unless, when
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import messages as gen4
from gen4emu.hw.gen6.messages import (
    BARRIER_PAYLOAD,
    RenderTargetWriteTypeGen6,
    SamplerMessageType,
    SamplerSimdMode,
    SharedFunctionGen6,
    binding_table_index,
    data_port_header_fields,
    descriptor,
    gateway_message,
    header,
    message,
    null_message,
    sampler_header_fields,
    thread_spawner_message,
    video_motion_estimation_message,
)
from gen4emu.hw.layout import Block, Message, View


class RenderCacheTypeGen7(IntEnum):
    """The type of a message to the render cache."""

    MEDIA_BLOCK_READ = 4
    TYPED_SURFACE_READ = 5
    TYPED_ATOMIC = 6
    MEMORY_FENCE = 7
    MEDIA_BLOCK_WRITE = 10
    RENDER_TARGET_WRITE = 12
    TYPED_SURFACE_WRITE = 13


class DataCacheTypeGen7(IntEnum):
    """The type of a message to the data cache.  Those of untyped surfaces go to data cache 1 from Gen7.5 on."""

    OWORD_BLOCK_READ = 0
    UNALIGNED_OWORD_BLOCK_READ = 1
    OWORD_DUAL_BLOCK_READ = 2
    DWORD_SCATTERED_READ = 3
    BYTE_SCATTERED_READ = 4
    UNTYPED_SURFACE_READ = 5
    UNTYPED_ATOMIC = 6
    MEMORY_FENCE = 7
    OWORD_BLOCK_WRITE = 8
    OWORD_DUAL_BLOCK_WRITE = 10
    DWORD_SCATTERED_WRITE = 11
    BYTE_SCATTERED_WRITE = 12
    UNTYPED_SURFACE_WRITE = 13


class OwordBlockSizeGen7(IntEnum):
    """The number of OWords; a single one is in one half of its register."""

    OWORDS_1_LOW = 0
    OWORDS_1_HIGH = 1
    OWORDS_2 = 2
    OWORDS_4 = 3
    OWORDS_8 = 4


class AtomicOperation(IntEnum):
    """The operation of an integer atomic; it returns the old value, but PREDEC the new one."""

    CMPWR64 = 0
    AND = 1
    OR = 2
    XOR = 3
    MOV = 4
    INC = 5
    DEC = 6
    ADD = 7
    SUB = 8
    REVSUB = 9
    IMAX = 10
    IMIN = 11
    UMAX = 12
    UMIN = 13
    CMPWR = 14
    PREDEC = 15


class ScratchOperation(IntEnum):
    """The direction of a scratch block message."""

    READ = 0
    WRITE = 1


class ScratchUnit(IntEnum):
    """How the channels of a scratch block message enable its data."""

    OWORD = 0
    DWORD = 1


class UrbOpcodeGen7(IntEnum):
    """The operation of a URB message; ATOMIC_ADD and the SIMD8 messages came with Gen8."""

    WRITE_HWORD = 0
    WRITE_OWORD = 1
    READ_HWORD = 2
    READ_OWORD = 3
    ATOMIC_MOV = 4
    ATOMIC_INC = 5
    ATOMIC_ADD = 6
    SIMD8_WRITE = 7
    SIMD8_READ = 8


class InterpolatorMessageType(IntEnum):
    """The place at which the pixel interpolator interpolates."""

    SHARED_OFFSET = 0
    SAMPLE_POSITION = 1
    CENTROID = 2
    PER_SLOT_OFFSET = 3


_RENDER_TARGET = (when("message_type", RenderCacheTypeGen7.RENDER_TARGET_WRITE),)
_OTHERS = (unless("message_type", RenderCacheTypeGen7.RENDER_TARGET_WRITE),)


def render_target_write(condition: tuple[When, ...]) -> list[Field]:
    """The message control of a render target write."""
    return [
        Bool("per_sample", 0, 13, when=condition),
        Bool("last_render_target_select", 0, 12, when=condition),
        Bool("slot_group", 0, 11, when=condition, doc="slots 16 to 31"),
        Enum("render_target_write_type", 0, 10, 8, RenderTargetWriteTypeGen6, when=condition),
    ]


def sampler_cache_message(name: str, sfid: SharedFunctionGen6, type_top: int, gens: Gen, ref: str) -> Message:
    """A message to the sampler cache or the constant cache."""
    return message(name, sfid, [
        Enum("message_type", 0, type_top, 14, DataCacheTypeGen7),
        Uint("message_control", 0, 13, 8, hex=True),
        binding_table_index(),
    ], gens, ref)


def message_control(view: View) -> int:
    """Bits 13:8 of a descriptor as a number, which Mesa's listings show whatever the fields in it."""
    return view.words[view.at] >> 8 & 0x3F


def data_cache_message(type_top: int, gens: Gen, ref: str, *types_with_atomics: int) -> Message:
    """A message to the data cache: bit 18 makes it a scratch block message.

    `types_with_atomics` are the types whose control holds an atomic operation.
    """
    block = (DataCacheTypeGen7.OWORD_BLOCK_READ, DataCacheTypeGen7.OWORD_BLOCK_WRITE)
    dwords = (DataCacheTypeGen7.DWORD_SCATTERED_READ, DataCacheTypeGen7.DWORD_SCATTERED_WRITE)
    elements = (DataCacheTypeGen7.BYTE_SCATTERED_READ, DataCacheTypeGen7.BYTE_SCATTERED_WRITE)
    normal, scratch = when("scratch", 0), when("scratch", 1)
    fields: list[Field] = [
        Bool("scratch", 0, 18),
        Enum("message_type", 0, 17, 14, DataCacheTypeGen7, when=(normal,)),
        Uint("alignment", 0, 12, 11, when=(normal, when("message_type", *block))),
        Enum("oword_block_size", 0, 10, 8, OwordBlockSizeGen7, when=(normal, when("message_type", *block))),
        Uint("reserved_control", 0, 13, 13, when=(normal, when("message_type", *block))),
        Uint("message_control", 0, 13, 8, hex=True,
             when=(normal, unless("message_type", *block, *dwords, *elements, *types_with_atomics))),
        Bool("simd16", 0, 8, when=(normal, when("message_type", *dwords, *elements))),
        Uint("reserved_scattered_dwords", 0, 13, 9, when=(normal, when("message_type", *dwords)),
             doc="bit 9 is set: block sizes 2 and 3 are 8 and 16 dwords"),
        Uint("reserved_scattered_bytes", 0, 13, 12, when=(normal, when("message_type", *elements))),
        Uint("element_bytes_log2", 0, 11, 10, when=(normal, when("message_type", *elements)), doc="3: reserved"),
        Uint("reserved_scattered_bytes_low", 0, 9, 9, when=(normal, when("message_type", *elements))),
        Uint("binding_table_index", 0, 7, 0, when=(normal,)),
        Enum("scratch_operation", 0, 17, 17, ScratchOperation, when=(scratch,)),
        Enum("scratch_unit", 0, 16, 16, ScratchUnit, when=(scratch,)),
        Bool("invalidate_after_read", 0, 15, when=(scratch,)),
        Uint("reserved_scratch", 0, 14, 14, when=(scratch,)),
        Uint("scratch_block_size", 0, 13, 12, when=(scratch,), doc="registers, less one (Gen8: log2 of their number)"),
        Uint("scratch_offset", 0, 11, 0, when=(scratch,), doc="in registers"),
    ]
    if types_with_atomics:
        atomic = (normal, when("message_type", *types_with_atomics))
        fields += [
            Bool("return_data", 0, 13, when=atomic),
            Bool("simd8", 0, 12, when=atomic),
            Enum("atomic_operation", 0, 11, 8, AtomicOperation, when=atomic),
        ]
    return message("DATA_CACHE_DATA_PORT_MESSAGE", SharedFunctionGen6.DATA_CACHE_DATA_PORT, fields, gens, ref)


def pixel_interpolator_message(gens: Gen, ref: str) -> Message:
    return message("PIXEL_INTERPOLATOR_MESSAGE", SharedFunctionGen6.PIXEL_INTERPOLATOR, [
        Bool("simd16", 0, 16),
        Bool("linear", 0, 14, doc="no perspective"),
        Enum("message_type", 0, 13, 12, InterpolatorMessageType),
        Bool("slot_group", 0, 11, doc="slots 16 to 31"),
        Uint("message_data", 0, 7, 0, hex=True, doc="offsets in x and y, or the number of the sample"),
    ], gens, ref)


def sampler_message(fields: list[Field], gens: Gen, ref: str) -> Message:
    return message("SAMPLER_MESSAGE", SharedFunctionGen6.SAMPLER, [
        *fields,
        Enum("message_type", 0, 16, 12, SamplerMessageType),
        Uint("sampler_index", 0, 11, 8, doc="not used by ld and resinfo"),
        binding_table_index(),
    ], gens, ref)


def common_messages(gens: Gen, ref: str) -> list[Message]:
    """The messages that all parts from Gen7 on have alike."""
    return [null_message(gens, ref), gateway_message(gens, ref), thread_spawner_message(gens, ref),
            video_motion_estimation_message(gens, ref), pixel_interpolator_message(gens, ref)]


def render_cache_message(types: type[IntEnum], gens: Gen, ref: str, *more: Field,
                         others: tuple[When, ...] = _OTHERS) -> Message:
    return message("RENDER_CACHE_DATA_PORT_MESSAGE", SharedFunctionGen6.RENDER_CACHE_DATA_PORT, [
        Enum("message_type", 0, 17, 14, types),
        *render_target_write(_RENDER_TARGET),
        *more,
        Uint("message_control", 0, 13, 8, hex=True, when=others),
        binding_table_index(),
    ], gens, ref)


def gen7_messages(gens: Gen, ref: str, *types_with_atomics: int) -> list[Message]:
    """The messages of Gen7; Gen7.5 has more."""
    return [
        *common_messages(gens, ref),
        sampler_message([Enum("simd_mode", 0, 18, 17, SamplerSimdMode)], gens, ref),
        sampler_cache_message("SAMPLER_CACHE_DATA_PORT_MESSAGE", SharedFunctionGen6.SAMPLER_CACHE_DATA_PORT, 17, gens,
                              ref),
        sampler_cache_message("CONSTANT_CACHE_DATA_PORT_MESSAGE", SharedFunctionGen6.CONSTANT_CACHE_DATA_PORT, 17,
                              gens, ref),
        render_cache_message(RenderCacheTypeGen7, gens, ref),
        data_cache_message(17, gens, ref, *types_with_atomics),
        message("URB_MESSAGE", SharedFunctionGen6.URB, [
            Bool("per_slot_offset", 0, 16),
            Bool("complete", 0, 15),
            Bool("interleave", 0, 14),
            Uint("offset", 0, 13, 3, doc="in rows of 256 bits, of OWord messages in rows of 128 bits"),
            Enum("urb_opcode", 0, 2, 0, UrbOpcodeGen7),
        ], gens, ref),
    ]


MESSAGE_DESCRIPTOR = descriptor(Gen.GEN7, "IVBv4p1")
MESSAGES: tuple[Message, ...] = tuple(gen7_messages(Gen.GEN7, "IVBv4p1", DataCacheTypeGen7.UNTYPED_ATOMIC))

_NEW = (SharedFunctionGen6.DATA_CACHE_DATA_PORT, SharedFunctionGen6.PIXEL_INTERPOLATOR)

SAMPLER_MESSAGE_HEADER = header("SAMPLER_MESSAGE_HEADER", [
    *sampler_header_fields(),
    Uint("gather_component", 2, 17, 16, doc="of gather4"),
], "IVBv4p1")
DATA_PORT_MESSAGE_HEADER = header("DATA_PORT_MESSAGE_HEADER", [
    *data_port_header_fields(),
    Uint("pixel_mask", 7, 15, 0, hex=True, doc="of messages to surfaces: these gate the access"),
], "IVBv4p1")
URB_WRITE_MESSAGE_HEADER = header("URB_WRITE_MESSAGE_HEADER", [
    Uint("urb_return_handle_0", 0, 15, 0),
    Uint("urb_return_handle_1", 1, 15, 0, doc="of interleaved writes"),
    Uint("vertex_count_1", 2, 31, 16, doc="this and the next: of a geometry shader, with end of thread"),
    Uint("vertex_count_0", 2, 15, 0),
    Uint("slot_0_offset", 3, 31, 0, doc="with per_slot_offset, in the unit of the offset"),
    Uint("slot_1_offset", 4, 31, 0),
    Uint("channel_mask", 5, 15, 8, hex=True, doc="of 8 dwords, or of vertex 1 and vertex 0"),
], "IVBv4p1")

# Messages between threads of the media pipeline: as on Gen4, but for more EUs and threads; docs/decisions.md 121.
_GATEWAY = "IVBv4p2 6"
GATEWAY_PAYLOADS: tuple[Block, ...] = (
    gen4.GATEWAY_OPEN_PAYLOAD.changed(ref=_GATEWAY),
    gen4.GATEWAY_CLOSE_PAYLOAD.changed(ref=_GATEWAY),
    gen4.GATEWAY_FORWARD_PAYLOAD.changed(
        Ignored(4, 31, 29), Uint("euid", 4, 28, 24), Ignored(4, 23, 19), Uint("tid", 4, 18, 16),
        remove=["reserved_4_31_28", "reserved_4_23_18"], ref=_GATEWAY),
    gen4.GATEWAY_RESPONSE.changed(Enum("shared_function", 0, 19, 16, SharedFunctionGen6), ref=_GATEWAY),
)

# against Gen6, whose geometry shaders allocate their entries themselves
ADDED: tuple[Block, ...] = (BARRIER_PAYLOAD, *GATEWAY_PAYLOADS, *(m for m in MESSAGES if m.sfid in _NEW))
REPLACED: tuple[Block, ...] = (MESSAGE_DESCRIPTOR, SAMPLER_MESSAGE_HEADER, DATA_PORT_MESSAGE_HEADER,
                               URB_WRITE_MESSAGE_HEADER, *(m for m in MESSAGES if m.sfid not in _NEW))
REMOVED = ("FF_SYNC_PAYLOAD", "URB_ALLOCATE_RESPONSE")
