"""Messages: the descriptor dword of a `send` to each shared function, message headers and responses.

965 PRM vol. 4, 4.8, 5.10, 6.1, 7.1 and 8.4; differences of Gen4.5: Mesa's brw_eu_defines.h.  The payload of a spawned
thread is in `gen4emu.hw.gen4.media`, payloads of the threads of 3D units in `gen4emu.hw.gen4.payload`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Field, Ignored, Mbz, Sint, Uint, unless, when
from gen4emu.hw.gen4.payload import PAYLOAD_PS_R1
from gen4emu.hw.layout import Block, Message
from gen4emu.hw.topology import PrimitiveTopology


class SharedFunction(IntEnum):
    """SFID, equal on all four parts.  8 to 15 are unassigned."""

    NULL = 0
    EXTENDED_MATH = 1
    SAMPLER = 2
    MESSAGE_GATEWAY = 3
    DATA_PORT_READ = 4
    DATA_PORT_WRITE = 5
    URB = 6
    THREAD_SPAWNER = 7


class MathFunction(IntEnum):
    """The function of the extended math unit; LOG and EXP are base 2, angles are radians."""

    INV = 1
    LOG = 2
    EXP = 3
    SQRT = 4
    RSQ = 5
    SIN = 6
    COS = 7
    SINCOS = 8
    POW = 0xA
    INT_DIV_BOTH = 0xB  # quotient, then remainder
    INT_DIV_QUOTIENT = 0xC
    INT_DIV_REMAINDER = 0xD


class SamplerReturnFormat(IntEnum):
    """The data type that a sampler message returns; on Gen4.5 the surface format determines it."""

    FLOAT32 = 0
    UINT32 = 2
    SINT32 = 3


class TargetCache(IntEnum):
    """The cache that a data port read goes through.  No effect here: all of them are coherent."""

    DATA = 0
    RENDER = 1
    SAMPLER = 2


class DataPortReadTypeGen4(IntEnum):
    """Two bits on 965."""

    OWORD_BLOCK = 0
    OWORD_DUAL_BLOCK = 1
    MEDIA_BLOCK = 2
    DWORD_SCATTERED = 3


class DataPortWriteTypeGen4(IntEnum):
    """The type of a data port write on 965."""

    OWORD_BLOCK = 0
    OWORD_DUAL_BLOCK = 1
    MEDIA_BLOCK = 2
    DWORD_SCATTERED = 3
    RENDER_TARGET = 4
    FLUSH_RENDER_CACHE = 7


class OwordBlockSize(IntEnum):
    """The number of OWords; a single one is in one half of its register."""

    OWORDS_1_LOW = 0
    OWORDS_1_HIGH = 1
    OWORDS_2 = 2
    OWORDS_4 = 3
    OWORDS_8 = 4


class OwordDualBlockSize(IntEnum):
    """The number of OWords in each of the two blocks."""

    OWORDS_1 = 0
    OWORDS_4 = 2


class DwordScatteredSize(IntEnum):
    """The number of offsets."""

    DWORDS_8 = 2
    DWORDS_16 = 3


class RenderTargetWriteType(IntEnum):
    """The contents of the color registers of a render target write."""

    SIMD16 = 0
    SIMD16_REPLICATED = 1
    SIMD8_DUAL_SOURCE_SUBSPANS_01 = 2
    SIMD8_DUAL_SOURCE_SUBSPANS_23 = 3
    SIMD8_SUBSPANS_01 = 4


class UrbOpcode(IntEnum):
    """The operation of a URB message."""

    URB_WRITE = 0


class UrbSwizzle(IntEnum):
    """The order in which message registers become URB rows."""

    NONE = 0
    INTERLEAVED = 1
    TRANSPOSE = 2


class GatewayFunction(IntEnum):
    """The operation of a message gateway message."""

    OPEN_GATEWAY = 0
    CLOSE_GATEWAY = 1
    FORWARD_MSG = 2


class GatewaySize(IntEnum):
    """The number of registers that others may write."""

    REGISTERS_1 = 0
    REGISTERS_2 = 1
    REGISTERS_4 = 2
    REGISTERS_8 = 3
    REGISTERS_16 = 4
    REGISTERS_32 = 5


class GatewayLength(IntEnum):
    """The amount of data that a message forwards."""

    BYTE = 0
    DWORDS_1 = 2
    DWORDS_2 = 3
    DWORDS_4 = 4


class GatewayError(IntEnum):
    """The response of the gateway."""

    SUCCESSFUL = 0
    GATEWAY_SIZE_EXCEEDED = 1
    GATEWAY_CLOSED = 2
    KEY_MISMATCHED = 3
    LIMIT_EXCEEDED = 4
    OPCODE_ERROR = 5
    INVALID_MESSAGE_SIZE = 6


class ThreadSpawnerOpcode(IntEnum):
    """The operation of a thread spawner message."""

    DEREFERENCE_RESOURCE = 0
    SPAWN_THREAD = 1


class ThreadSpawnerRequester(IntEnum):
    """The sender of a message."""

    ROOT_THREAD = 0
    CHILD_THREAD = 1


class SpawnTarget(IntEnum):
    """The kind of thread that a spawn message starts."""

    CHILD_THREAD = 0
    SYNCHRONIZED_ROOT_THREAD = 1


class DereferenceTarget(IntEnum):
    """Whether the URB handle of a thread that ends goes back."""

    DEREFERENCE_URB_HANDLE = 0
    KEEP_URB_HANDLE = 1


# --- the descriptor ---------------------------------------------------------------------------------------------------
def _lengths() -> list[Field]:
    return [Mbz(0, 30, 28),
            Enum("shared_function", 0, 27, 24, SharedFunction),
            Uint("message_length", 0, 23, 20, low=1, doc="registers, with the header"),
            Uint("response_length", 0, 19, 16, doc="registers")]


MESSAGE_DESCRIPTOR = Block("MESSAGE_DESCRIPTOR", 1, [
    Bool("end_of_thread", 0, 31, doc="ignored if the descriptor is in a register"),
    *_lengths(),
    Uint("function_control", 0, 15, 0, hex=True),
], ref="965v4 2.6", doc="what all descriptors have in common")


@dataclass(frozen=True, slots=True, init=False)
class _NotAllowed(Bool):
    """A bit that this unit takes for an error."""

    def complaint(self, raw: int) -> str | None:
        return "is not allowed here" if raw else None


def _descriptor(*, may_end_thread: bool = True) -> list[Field]:
    """The upper half of every descriptor."""
    return [(Bool if may_end_thread else _NotAllowed)("end_of_thread", 0, 31), *_lengths()]


_BLOCK_MESSAGES = ("OWORD_BLOCK", "OWORD_DUAL_BLOCK", "MEDIA_BLOCK", "DWORD_SCATTERED")


def _block_messages(types: type[IntEnum], top: int, *others: int) -> list[Field]:
    """The message specific control, bits `top`..8, of the four messages that both directions have.

    `others` are the types whose control the caller lays out; that of the rest is in no source.
    """
    values = [types[name].value for name in _BLOCK_MESSAGES]
    oword, dual, media, scattered = ((when("message_type", value),) for value in values)
    unknown = (unless("message_type", *values, *others),)
    fields: list[Field] = [
        Enum("oword_block_size", 0, 10, 8, OwordBlockSize, when=oword),
        Mbz(0, 10, 10, when=dual),
        Enum("oword_dual_block_size", 0, 9, 8, OwordDualBlockSize, when=dual),
        Bool("vertical_line_stride_override", 0, 10, when=media),
        Bool("override_vertical_line_stride", 0, 9, when=media),
        Uint("override_vertical_line_stride_offset", 0, 8, 8, when=media),
        Mbz(0, 10, 10, when=scattered),
        Enum("dword_scattered_block_size", 0, 9, 8, DwordScatteredSize, when=scattered),
        Uint("message_specific_control", 0, top, 8, hex=True, when=unknown),
    ]
    if top == 11:
        fields.append(Mbz(0, 11, 11, when=(when("message_type", *values),)))
    return fields


def _binding_table_index() -> Field:
    return Uint("binding_table_index", 0, 7, 0)


def data_port_read_message(types: type[IntEnum], type_low: int) -> Message:
    """The descriptor of a read, whose type is in bits 13..`type_low`."""
    return Message("DATA_PORT_READ_MESSAGE", SharedFunction.DATA_PORT_READ, [
        *_descriptor(may_end_thread=False),
        Enum("target_cache", 0, 15, 14, TargetCache),
        Enum("message_type", 0, 13, type_low, types),
        *_block_messages(types, type_low - 1),
        _binding_table_index(),
    ], ref="965v4 5.10.1.1")


_RENDER_TARGET = (when("message_type", DataPortWriteTypeGen4.RENDER_TARGET),)
_FLUSH = (when("message_type", DataPortWriteTypeGen4.FLUSH_RENDER_CACHE),)
_SPAWN = (when("opcode", ThreadSpawnerOpcode.SPAWN_THREAD),)
_DEREFERENCE = (when("opcode", ThreadSpawnerOpcode.DEREFERENCE_RESOURCE),)

MESSAGES: tuple[Message, ...] = (
    Message("NULL_MESSAGE", SharedFunction.NULL, [
        *_descriptor(),
        Ignored(0, 15, 0),
    ], ref="G45v2 10.9"),
    Message("EXTENDED_MATH_MESSAGE", SharedFunction.EXTENDED_MATH, [
        *_descriptor(may_end_thread=False),
        Mbz(0, 15, 9),
        Bool("snapshot", 0, 8, doc="for debugging"),
        Bool("scalar", 0, 7, doc="the first of each four channels is the operand of all four"),
        Bool("saturate", 0, 6, doc="to [0,1]; not for integers"),
        Bool("partial_precision", 0, 5, doc="a hint, in alternate mode only"),
        Bool("signed_integer", 0, 4, doc="of the three divisions"),
        Enum("math_function", 0, 3, 0, MathFunction),
    ], ref="965v4 6.1.1.1"),
    Message("SAMPLER_MESSAGE", SharedFunction.SAMPLER, [
        *_descriptor(may_end_thread=False),
        Uint("message_type", 0, 15, 14, doc="with the length: see sampler_message()"),
        Enum("return_format", 0, 13, 12, SamplerReturnFormat),
        Uint("sampler_index", 0, 11, 8, doc="not used by ld and resinfo"),
        _binding_table_index(),
    ], ref="965v4 4.8.1.1"),
    Message("GATEWAY_MESSAGE", SharedFunction.MESSAGE_GATEWAY, [
        *_descriptor(),
        Bool("notify", 0, 15, doc="bit 16 belongs to the response length"),
        Bool("acknowledge", 0, 14),
        Mbz(0, 13, 2),
        Enum("gateway_function", 0, 1, 0, GatewayFunction),
    ], ref="965v4 7.1.1"),
    data_port_read_message(DataPortReadTypeGen4, 12),
    Message("DATA_PORT_WRITE_MESSAGE", SharedFunction.DATA_PORT_WRITE, [
        *_descriptor(),
        Bool("send_write_commit_message", 0, 15),
        Enum("message_type", 0, 14, 12, DataPortWriteTypeGen4),
        *_block_messages(DataPortWriteTypeGen4, 11, DataPortWriteTypeGen4.RENDER_TARGET,
                         DataPortWriteTypeGen4.FLUSH_RENDER_CACHE),
        Bool("last_render_target_select", 0, 11, when=_RENDER_TARGET),
        Enum("render_target_write_type", 0, 10, 8, RenderTargetWriteType, when=_RENDER_TARGET),
        Ignored(0, 11, 8, when=_FLUSH),
        _binding_table_index(),
    ], ref="965v4 5.10.1.1"),
    Message("URB_MESSAGE", SharedFunction.URB, [
        *_descriptor(),
        Bool("complete", 0, 15, doc="no more writes to the entry"),
        Bool("used", 0, 14, doc="with complete: the entry is output, else it is given back"),
        Bool("allocate", 0, 13, doc="requests one more handle"),
        Mbz(0, 12, 12),
        Enum("swizzle_control", 0, 11, 10, UrbSwizzle),
        Uint("offset", 0, 9, 4, doc="in rows of 256 bits"),
        Enum("urb_opcode", 0, 3, 0, UrbOpcode),
    ], ref="965v4 8.4.2"),
    Message("THREAD_SPAWNER_MESSAGE", SharedFunction.THREAD_SPAWNER, [
        *_descriptor(),
        Mbz(0, 15, 5),
        Enum("spawn_target", 0, 4, 4, SpawnTarget, when=_SPAWN),
        Enum("dereference_target", 0, 4, 4, DereferenceTarget, when=_DEREFERENCE),
        Mbz(0, 3, 2),
        Enum("requester", 0, 1, 1, ThreadSpawnerRequester),
        Enum("opcode", 0, 0, 0, ThreadSpawnerOpcode),
    ], ref="G45v2 10.8.1"),
)


# --- headers and answers ----------------------------------------------------------------------------------------------
def _ignored(*dwords: int) -> list[Field]:
    return [Ignored(dword) for dword in dwords]


def _fftid() -> list[Field]:
    """M0.5 of most headers.  What it says is not to be trusted: media kernels leave junk there."""
    return [Ignored(5, 31, 8), Uint("fftid", 5, 7, 0)]


def _offset(axis: str, lo: int) -> Field:
    return Sint(f"{axis}_offset", 2, lo + 3, lo, doc="in texels")


SAMPLER_MESSAGE_HEADER = Block("SAMPLER_MESSAGE_HEADER", 8, [
    *_ignored(0, 1),
    Ignored(2, 31, 17),
    Bool("force_lod_to_zero", 2, 16),
    Bool("alpha_write_channel_mask", 2, 15, doc="1: the channel is not returned"),
    Bool("blue_write_channel_mask", 2, 14),
    Bool("green_write_channel_mask", 2, 13),
    Bool("red_write_channel_mask", 2, 12),
    _offset("u", 8),
    _offset("v", 4),
    _offset("r", 0),
    Address("sampler_state_pointer", 3, 31, 5, base="general_state", target="SAMPLER_STATE"),
    Ignored(3, 4, 0),
    *_ignored(4, 5, 6, 7),
], ref="965v4 4.8.1.2", align=32)

DATA_PORT_MESSAGE_HEADER = Block("DATA_PORT_MESSAGE_HEADER", 8, [
    *_ignored(0, 1),
    Uint("global_offset", 2, 31, 0, hex=True, doc="in bytes"),
    *_ignored(3, 4),
    Address("immediate_buffer_base_address", 5, 31, 10, base="general_state", target="SCRATCH",
            doc="of binding table index 255"),
    Ignored(5, 9, 8),
    Uint("fftid", 5, 7, 0),
    *_ignored(6, 7),
], ref="965v4 5.10.1.2", align=32, doc="of OWord block, OWord dual block and DWord scattered messages")

OWORD_DUAL_BLOCK_OFFSETS = Block("OWORD_DUAL_BLOCK_OFFSETS", 8, [
    Uint("block_offset_0", 0, 31, 0, hex=True, doc="in bytes"),
    *_ignored(1, 2, 3),
    Uint("block_offset_1", 4, 31, 0, hex=True),
    *_ignored(5, 6, 7),
], ref="965v4 5.10.3.2", align=32)

MEDIA_BLOCK_MESSAGE_HEADER = Block("MEDIA_BLOCK_MESSAGE_HEADER", 8, [
    Sint("x_offset", 0, 31, 0, doc="in bytes"),
    Sint("y_offset", 1, 31, 0, doc="in rows"),
    Ignored(2, 31, 22),
    Uint("block_height", 2, 21, 16, bias=1, doc="in rows; 8 registers are the limit"),
    Ignored(2, 15, 5),
    Uint("block_width", 2, 4, 0, bias=1, doc="in bytes"),
    *_ignored(3, 4),
    *_fftid(),
    *_ignored(6, 7),
], ref="965v4 5.10.4.2", align=32)

RENDER_TARGET_WRITE_HEADER = Block("RENDER_TARGET_WRITE_HEADER", 16, [
    Uint("dispatched_pixel_enables", 0, 31, 16, hex=True),
    Uint("pixel_enables", 0, 15, 0, hex=True, doc="these gate the write; the execution mask does not"),
    Address("color_calculator_state_pointer", 1, 31, 6, base="general_state", target="COLOR_CALC_STATE"),
    Ignored(1, 5, 0),
    *_ignored(2, 3, 4),
    *_fftid(),
    *_ignored(6, 7),
    Array("m1", 8, PAYLOAD_PS_R1, 1, doc="R1 as it was dispatched"),
], ref="965v4 5.10.6.3", align=32)

URB_WRITE_MESSAGE_HEADER = Block("URB_WRITE_MESSAGE_HEADER", 8, [
    Uint("handle_id_0", 0, 31, 16),
    Uint("urb_return_handle_0", 0, 15, 0, doc="in units of 512 bits"),
    Uint("handle_id_1", 1, 31, 16, doc="this and the next: interleaved writes only"),
    Uint("urb_return_handle_1", 1, 15, 0),
    Ignored(2, 31, 7),
    Enum("handle_0_prim_type", 2, 6, 2, PrimitiveTopology, doc="this and the next two: GS and CLIP, with complete"),
    Bool("handle_0_prim_start", 2, 1),
    Bool("handle_0_prim_end", 2, 0),
    *_ignored(3, 4),
    *_fftid(),
    *_ignored(6, 7),
], ref="965v4 8.4.3.1", align=32)

URB_ALLOCATE_RESPONSE = Block("URB_ALLOCATE_RESPONSE", 8, [
    Uint("handle_id", 0, 31, 16),
    Uint("urb_return_handle", 0, 15, 0),
    *(Mbz(dword) for dword in range(1, 8)),
], ref="965v4 8.4.3.3", align=32)


def _gateway_dispatch_id() -> list[Field]:
    return [Uint("dispatch_id", 5, 7, 0, doc="only of a root thread that ends here"), *_ignored(6, 7)]


GATEWAY_OPEN_PAYLOAD = Block("GATEWAY_OPEN_PAYLOAD", 8, [
    *_ignored(0, 1, 2, 3),
    Mbz(4, 31, 16),
    Uint("key", 4, 15, 0, hex=True),
    Mbz(5, 31, 29),
    Uint("register_base", 5, 28, 21, high=127),
    Mbz(5, 20, 11),
    Enum("gateway_size", 5, 10, 8, GatewaySize),
    *_gateway_dispatch_id(),
], ref="965v4 7.1.2.1", align=32)

GATEWAY_CLOSE_PAYLOAD = Block("GATEWAY_CLOSE_PAYLOAD", 8, [
    *_ignored(0, 1, 2, 3, 4),
    Ignored(5, 31, 8),
    *_gateway_dispatch_id(),
], ref="965v4 7.1.3.1", align=32)

GATEWAY_FORWARD_PAYLOAD = Block("GATEWAY_FORWARD_PAYLOAD", 8, [
    *(Uint(f"data_segment_dword_{dword}", dword, 31, 0, hex=True) for dword in range(4)),
    Ignored(4, 31, 28),
    Uint("euid", 4, 27, 24),
    Ignored(4, 23, 18),
    Uint("tid", 4, 17, 16),
    Uint("key", 4, 15, 0, hex=True),
    Mbz(5, 31, 29),
    Uint("offset", 5, 28, 16, high=4095, doc="in bytes from the register base of the recipient"),
    Mbz(5, 15, 11),
    Enum("length", 5, 10, 8, GatewayLength),
    *_gateway_dispatch_id(),
], ref="965v4 7.1.4.1", align=32)

GATEWAY_TIME_STAMP_PAYLOAD = Block("GATEWAY_TIME_STAMP_PAYLOAD", 8, [
    *_ignored(0, 1, 2, 3, 4),
    Bool("to_high_half", 5, 31, doc="of the response: dwords 4 to 7"),
    Ignored(5, 30, 8),
    *_gateway_dispatch_id(),
], ref="965v4 7.1.5", align=32)

GATEWAY_TIME_STAMP_RESPONSE = Block("GATEWAY_TIME_STAMP_RESPONSE", 4, [
    field for at, name in ((0, "absolute"), (2, "relative")) for field in (
        Uint(f"{name}_fraction", at, 31, 20, doc="of 4096"), Mbz(at, 19, 0),
        Uint(f"{name}_ticks", at + 1, 31, 0, doc="of 1.024 microseconds"))
], ref="965v4 7.1.5", doc="half of a response")

GATEWAY_RESPONSE = Block("GATEWAY_RESPONSE", 8, [
    Ignored(0, 31, 20),
    Enum("shared_function", 0, 19, 16, SharedFunction),
    Ignored(0, 15, 3),
    Enum("error_code", 0, 2, 0, GatewayError),
    *_ignored(*range(1, 8)),
], ref="965v4 7.1.2.2", align=32, doc="only dword 0 is written")

BLOCKS: tuple[Block, ...] = (
    MESSAGE_DESCRIPTOR, SAMPLER_MESSAGE_HEADER, DATA_PORT_MESSAGE_HEADER, OWORD_DUAL_BLOCK_OFFSETS,
    MEDIA_BLOCK_MESSAGE_HEADER, RENDER_TARGET_WRITE_HEADER, URB_WRITE_MESSAGE_HEADER, URB_ALLOCATE_RESPONSE,
    GATEWAY_OPEN_PAYLOAD, GATEWAY_CLOSE_PAYLOAD, GATEWAY_FORWARD_PAYLOAD, GATEWAY_RESPONSE,
    GATEWAY_TIME_STAMP_PAYLOAD, GATEWAY_TIME_STAMP_RESPONSE,
)
