"""Messages of Gen6: the descriptor of a `send` to each shared function.

Sandy Bridge PRM vol. 4 part 1 and 2; Mesa, src/intel/compiler/brw_inst.h and brw_eu_defines.h.  The shared function is
in the instruction, not in the descriptor.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from gen4emu.hw.fields import Address, Bool, Enum, Field, Ignored, Sint, Uint, unless, when
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.messages import SpawnTarget
from gen4emu.hw.layout import Block, Message
from gen4emu.hw.reserved import with_reserved
from gen4emu.hw.topology import PrimitiveTopology


class SharedFunctionGen6(IntEnum):
    """SFID from Gen6 on; no part has all of them."""

    NULL = 0
    SAMPLER = 2
    MESSAGE_GATEWAY = 3
    SAMPLER_CACHE_DATA_PORT = 4
    RENDER_CACHE_DATA_PORT = 5
    URB = 6
    THREAD_SPAWNER = 7
    VIDEO_MOTION_ESTIMATION = 8
    CONSTANT_CACHE_DATA_PORT = 9
    DATA_CACHE_DATA_PORT = 10  # from Gen7 on
    PIXEL_INTERPOLATOR = 11
    DATA_CACHE_DATA_PORT_1 = 12  # from Gen7.5 on
    CHECK_AND_REFINEMENT = 13


class MathFunctionGen6(IntEnum):
    """The function of the opcode `math`."""

    INV = 1
    LOG = 2
    EXP = 3
    SQRT = 4
    RSQ = 5
    SIN = 6
    COS = 7
    SINCOS = 8
    FDIV = 9
    POW = 10
    INT_DIV_BOTH = 11
    INT_DIV_QUOTIENT = 12
    INT_DIV_REMAINDER = 13
    INVM = 14  # from Gen8 on
    RSQRTM = 15


class SamplerMessageType(IntEnum):
    """The operation of a sampler message.  GATHER4 and those from 16 on came after Gen6."""

    SAMPLE = 0
    SAMPLE_B = 1
    SAMPLE_L = 2
    SAMPLE_C = 3
    SAMPLE_D = 4
    SAMPLE_B_C = 5
    SAMPLE_L_C = 6
    LD = 7
    GATHER4 = 8
    LOD = 9
    RESINFO = 10
    SAMPLEINFO = 11
    SAMPLE_KILLPIX = 12
    GATHER4_C = 16
    GATHER4_PO = 17
    GATHER4_PO_C = 18
    SAMPLE_D_C = 20
    SAMPLE_LZ = 24
    SAMPLE_C_LZ = 25
    LD_LZ = 26
    LD2DMS_W = 28
    LD_MCS = 29
    LD2DMS = 30
    LD2DSS = 31


class SamplerSimdMode(IntEnum):
    """The number of channels of a sampler message.  Gen9 takes 0 for SIMD8D unless the header says SIMD4x2."""

    SIMD4X2 = 0
    SIMD8 = 1
    SIMD16 = 2
    SIMD32_64 = 3


class DataPortTypeGen6(IntEnum):
    """The type of a message to one of the three caches."""

    OWORD_BLOCK_READ = 0
    RENDER_TARGET_UNORM_READ = 1
    OWORD_DUAL_BLOCK_READ = 2
    MEDIA_BLOCK_READ = 4
    UNALIGNED_OWORD_BLOCK_READ = 5
    DWORD_SCATTERED_READ = 6
    DWORD_ATOMIC_WRITE = 7
    OWORD_BLOCK_WRITE = 8
    OWORD_DUAL_BLOCK_WRITE = 9
    MEDIA_BLOCK_WRITE = 10
    DWORD_SCATTERED_WRITE = 11
    RENDER_TARGET_WRITE = 12
    STREAMED_VERTEX_BUFFER_WRITE = 13
    RENDER_TARGET_UNORM_WRITE = 14


class RenderTargetWriteTypeGen6(IntEnum):
    """The contents of the color registers of a render target write."""

    SIMD16 = 0
    SIMD16_REPLICATED = 1
    SIMD8_DUAL_SOURCE_LOW = 2
    SIMD8_DUAL_SOURCE_HIGH = 3
    SIMD8 = 4
    SIMD8_IMAGE_WRITE = 5
    SIMD16_REPLICATED_7 = 7


class UrbOpcodeGen6(IntEnum):
    """The operation of a URB message."""

    URB_WRITE = 0
    FF_SYNC = 1


class UrbSwizzleGen6(IntEnum):
    """The order in which message registers become URB rows."""

    NONE = 0
    INTERLEAVED = 1
    TRANSPOSE = 2


class GatewayFunctionGen6(IntEnum):
    """The operation of a message gateway message; a client of 3D uses barriers only."""

    OPEN_GATEWAY = 0
    CLOSE_GATEWAY = 1
    FORWARD_MSG = 2
    GET_TIMESTAMP = 3
    BARRIER_MSG = 4
    UPDATE_GATEWAY_STATE = 5
    MMIO_READ_WRITE = 6


class ThreadSpawnerOpcodeGen6(IntEnum):
    """The operation of a thread spawner message."""

    DEREFERENCE_RESOURCE = 0
    SPAWN_THREAD = 1


class ThreadSpawnerRequesterGen6(IntEnum):
    """The sender of a message."""

    ROOT_THREAD = 0
    CHILD_THREAD = 1


# --- the descriptor ---------------------------------------------------------------------------------------------------
def lengths() -> list[Field]:
    """The upper part of every descriptor."""
    return [Bool("end_of_thread", 0, 31, doc="a bit of the instruction, also if the descriptor is in a register"),
            Uint("message_length", 0, 28, 25, low=1, doc="registers, with the header"),
            Uint("response_length", 0, 24, 20, doc="registers"),
            Bool("header_present", 0, 19)]


def descriptor(gens: Gen, ref: str) -> Block:
    return Block("MESSAGE_DESCRIPTOR", 1,
                 with_reserved([*lengths(), Uint("function_control", 0, 18, 0, hex=True)], 1), ref=ref, gens=gens,
                 doc="what all descriptors have in common")


def message(name: str, sfid: SharedFunctionGen6, fields: Iterable[Field], gens: Gen, ref: str) -> Message:
    """A message; bits that it does not list are reserved."""
    return Message(name, sfid, with_reserved([*lengths(), *fields], 1), ref=ref, gens=gens)


def binding_table_index() -> Field:
    return Uint("binding_table_index", 0, 7, 0)


def null_message(gens: Gen, ref: str) -> Message:
    return message("NULL_MESSAGE", SharedFunctionGen6.NULL, [Ignored(0, 18, 0)], gens, ref)


def thread_spawner_message(gens: Gen, ref: str) -> Message:
    return message("THREAD_SPAWNER_MESSAGE", SharedFunctionGen6.THREAD_SPAWNER, [
        Bool("keep_urb_handle", 0, 4, when=(when("opcode", ThreadSpawnerOpcodeGen6.DEREFERENCE_RESOURCE),)),
        Enum("spawn_target", 0, 4, 4, SpawnTarget, when=(when("opcode", ThreadSpawnerOpcodeGen6.SPAWN_THREAD),)),
        Enum("requester", 0, 1, 1, ThreadSpawnerRequesterGen6),
        Enum("opcode", 0, 0, 0, ThreadSpawnerOpcodeGen6),
    ], gens, ref)


def gateway_message(gens: Gen, ref: str) -> Message:
    return message("GATEWAY_MESSAGE", SharedFunctionGen6.MESSAGE_GATEWAY, [
        Uint("notify", 0, 16, 15),
        Bool("acknowledge", 0, 14),
        Enum("gateway_function", 0, 2, 0, GatewayFunctionGen6),
    ], gens, ref)


def video_motion_estimation_message(gens: Gen, ref: str) -> Message:
    return message("VIDEO_MOTION_ESTIMATION_MESSAGE", SharedFunctionGen6.VIDEO_MOTION_ESTIMATION, [
        Uint("message_control", 0, 18, 8, hex=True), binding_table_index(),
    ], gens, ref)


_REF = "SNBv4p1"
_RENDER_TARGET = (when("message_type", DataPortTypeGen6.RENDER_TARGET_WRITE),)
_OTHERS = (unless("message_type", DataPortTypeGen6.RENDER_TARGET_WRITE),)


def _cache(name: str, sfid: SharedFunctionGen6) -> Message:
    return message(name, sfid, [
        Bool("send_write_commit_message", 0, 17),
        Enum("message_type", 0, 16, 13, DataPortTypeGen6),
        Uint("message_control", 0, 12, 8, hex=True),
        binding_table_index(),
    ], Gen.GEN6, f"{_REF} 2.9")


MESSAGE_DESCRIPTOR = descriptor(Gen.GEN6, f"{_REF} 1.5")

MESSAGES: tuple[Message, ...] = (
    null_message(Gen.GEN6, f"{_REF} 1.5"),
    message("SAMPLER_MESSAGE", SharedFunctionGen6.SAMPLER, [
        Enum("simd_mode", 0, 17, 16, SamplerSimdMode),
        Enum("message_type", 0, 15, 12, SamplerMessageType),
        Uint("sampler_index", 0, 11, 8, doc="not used by ld and resinfo"),
        binding_table_index(),
    ], Gen.GEN6, f"{_REF} 1.14"),
    gateway_message(Gen.GEN6, "SNBv4p2 4.3"),
    _cache("SAMPLER_CACHE_DATA_PORT_MESSAGE", SharedFunctionGen6.SAMPLER_CACHE_DATA_PORT),
    message("RENDER_CACHE_DATA_PORT_MESSAGE", SharedFunctionGen6.RENDER_CACHE_DATA_PORT, [
        Bool("send_write_commit_message", 0, 17),
        Enum("message_type", 0, 16, 13, DataPortTypeGen6),
        Bool("last_render_target_select", 0, 12, when=_RENDER_TARGET),
        Bool("slot_group", 0, 11, when=_RENDER_TARGET, doc="slots 16 to 31"),
        Enum("render_target_write_type", 0, 10, 8, RenderTargetWriteTypeGen6, when=_RENDER_TARGET),
        Uint("message_control", 0, 12, 8, hex=True, when=_OTHERS),
        binding_table_index(),
    ], Gen.GEN6, f"{_REF} 2.9"),
    message("URB_MESSAGE", SharedFunctionGen6.URB, [
        Bool("complete", 0, 15, doc="no more writes to the entry"),
        Bool("used", 0, 14, doc="with complete: the entry is output, else it is given back"),
        Bool("allocate", 0, 13, doc="requests one more handle"),
        Enum("swizzle_control", 0, 11, 10, UrbSwizzleGen6),
        Uint("offset", 0, 9, 4, doc="in rows of 256 bits"),
        Enum("urb_opcode", 0, 3, 0, UrbOpcodeGen6),
    ], Gen.GEN6, "SNBv2p1 11"),
    thread_spawner_message(Gen.GEN6, "SNBv4p2 5"),
    video_motion_estimation_message(Gen.GEN6, "SNBv4p1 3"),
    _cache("CONSTANT_CACHE_DATA_PORT_MESSAGE", SharedFunctionGen6.CONSTANT_CACHE_DATA_PORT),
)


# --- headers and answers ----------------------------------------------------------------------------------------------
def header(name: str, fields: Iterable[Field], ref: str, *, dwords: int = 8, doc: str = "") -> Block:
    """Registers at the start of a payload; bits that it does not list are ignored."""
    return Block(name, dwords, with_reserved(fields, dwords, Ignored), ref=ref, align=32, doc=doc)


def sampler_header_fields() -> list[Field]:
    return [
        Bool("alpha_write_channel_mask", 2, 15, doc="1: the channel is not returned"),
        Bool("blue_write_channel_mask", 2, 14),
        Bool("green_write_channel_mask", 2, 13),
        Bool("red_write_channel_mask", 2, 12),
        Sint("u_offset", 2, 11, 8, doc="in texels"),
        Sint("v_offset", 2, 7, 4),
        Sint("r_offset", 2, 3, 0),
        Address("sampler_state_pointer", 3, 31, 5, base="dynamic_state", target="SAMPLER_STATE"),
    ]


def render_target_header_fields() -> list[Field]:
    """R0 and R1 of the thread, in which a kernel changes the lower fields."""
    return [
        Uint("viewport_index", 0, 30, 27),
        Uint("render_target_array_index", 0, 26, 16),
        Bool("back_facing", 0, 15),
        Bool("source_depth_present", 0, 13),
        Bool("output_mask_present", 0, 12),
        Bool("source0_alpha_present", 0, 11),
        Uint("render_target_index", 2, 2, 0, doc="chooses the blend state"),
        *(Uint(f"subspan_{i}_y", 10 + i, 31, 16) for i in range(4)),
        *(Uint(f"subspan_{i}_x", 10 + i, 15, 0) for i in range(4)),
        Uint("dispatched_pixel_enables", 15, 31, 16, hex=True),
        Uint("pixel_enables", 15, 15, 0, hex=True, doc="these gate the write; the execution mask does not"),
    ]


def data_port_header_fields() -> list[Field]:
    return [
        Uint("global_offset", 2, 31, 0, hex=True, doc="in OWords; of unaligned block reads in bytes"),
        Address("immediate_buffer_base_address", 5, 31, 10, base="general_state", target="SCRATCH",
                doc="of binding table index 255"),
    ]


def dual_block_offset_fields() -> list[Field]:
    return [Uint("block_offset_0", 0, 31, 0, hex=True, doc="in OWords"), Uint("block_offset_1", 4, 31, 0, hex=True)]


HEADERS: tuple[Block, ...] = (
    header("SAMPLER_MESSAGE_HEADER", sampler_header_fields(), f"{_REF} 1.14"),
    header("DATA_PORT_MESSAGE_HEADER", data_port_header_fields(), f"{_REF} 2.9"),
    header("OWORD_DUAL_BLOCK_OFFSETS", dual_block_offset_fields(), f"{_REF} 2.9"),
    header("RENDER_TARGET_WRITE_HEADER", render_target_header_fields(), f"{_REF} 2.9", dwords=16),
    header("URB_WRITE_MESSAGE_HEADER", [
        Uint("urb_return_handle_0", 0, 15, 0),
        Uint("urb_return_handle_1", 1, 15, 0, doc="of interleaved writes"),
        Uint("stream_output_primitives", 2, 31, 16, doc="with end of thread: primitives written to streamed buffers"),
        Enum("primitive_type", 2, 6, 2, PrimitiveTopology, doc="this and the next two: of the geometry shader"),
        Bool("primitive_start", 2, 1),
        Bool("primitive_end", 2, 0),
    ], "SNBv2p1 11"),
    header("URB_ALLOCATE_RESPONSE", [
        Uint("urb_return_handle", 0, 15, 0),
        *(Uint(f"streamed_vertex_buffer_index_{i}", 1 + i, 31, 0, doc="of FF_SYNC") for i in range(4)),
    ], "SNBv2p1 11"),
)
FF_SYNC_PAYLOAD = header("FF_SYNC_PAYLOAD", [
    Uint("stream_output_vertices", 0, 31, 16),
    Uint("stream_output_primitives", 0, 15, 0),
    Uint("number_of_primitives", 1, 31, 0),
], "SNBv2p1 11")
BARRIER_PAYLOAD = header("BARRIER_PAYLOAD", [
    Uint("barrier_id", 2, 27, 24),
    Bool("barrier_count_valid", 2, 15),
    Uint("barrier_count", 2, 14, 9, doc="threads of the group, if it is valid"),
], "IVBv4p2 6")

# Against Gen4: all layouts are new, and math has become an opcode.  Those of the other messages of the gateway, which
# no client of 3D sends, are described for parts whose media pipeline executes (gen7).
REPLACED: tuple[Block, ...] = (MESSAGE_DESCRIPTOR, *HEADERS, *(m for m in MESSAGES if m.name in (
    "NULL_MESSAGE", "SAMPLER_MESSAGE", "GATEWAY_MESSAGE", "URB_MESSAGE", "THREAD_SPAWNER_MESSAGE")))
ADDED: tuple[Block, ...] = (FF_SYNC_PAYLOAD, *(m for m in MESSAGES if m not in REPLACED))
REMOVED = ("EXTENDED_MATH_MESSAGE", "DATA_PORT_READ_MESSAGE", "DATA_PORT_WRITE_MESSAGE", "GATEWAY_OPEN_PAYLOAD",
           "GATEWAY_CLOSE_PAYLOAD", "GATEWAY_FORWARD_PAYLOAD", "GATEWAY_RESPONSE")
