"""Messages of Gen6: the descriptor of a `send` to each shared function.

Sandy Bridge PRM vol. 4 part 1 and 2; Mesa, src/intel/compiler/brw_inst.h and brw_eu_defines.h.  The shared function is
in the instruction, not in the descriptor.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from gen4emu.hw.fields import Bool, Enum, Field, Ignored, Uint, unless, when
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block, Message
from gen4emu.hw.reserved import with_reserved


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
    """The contents of the colour registers of a render target write."""

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
        Bool("keep_urb_handle", 0, 4),
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

# Against Gen4: all layouts are new, and math has become an opcode.
REPLACED: tuple[Block, ...] = (MESSAGE_DESCRIPTOR, *(m for m in MESSAGES if m.name in (
    "NULL_MESSAGE", "SAMPLER_MESSAGE", "GATEWAY_MESSAGE", "URB_MESSAGE", "THREAD_SPAWNER_MESSAGE")))
ADDED: tuple[Block, ...] = tuple(m for m in MESSAGES if m not in REPLACED)
REMOVED = ("EXTENDED_MATH_MESSAGE", "DATA_PORT_READ_MESSAGE", "DATA_PORT_WRITE_MESSAGE")
