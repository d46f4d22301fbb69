"""Messages of Gen8: types have five bits, the URB has SIMD8 messages, and data cache 1 has 64-bit addresses.

Broadwell PRM vol. 7; Mesa, src/intel/compiler/brw_inst.h and brw_eu_defines.h.
"""

from __future__ import annotations

from gen4emu.hw.fields import Bool, Enum, Field, Uint, unless, when
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen6.messages import (
    SamplerSimdMode,
    SharedFunctionGen6,
    descriptor,
    header,
    message,
    sampler_header_fields,
)
from gen4emu.hw.gen7.messages import (
    RenderCacheTypeGen7,
    UrbOpcodeGen7,
    common_messages,
    data_cache_message,
    render_cache_message,
    sampler_cache_message,
    sampler_message,
)
from gen4emu.hw.gen75.messages import (
    INTEGER_ATOMICS,
    SURFACE_ACCESS,
    DataCache1Type,
    check_and_refinement_message,
    data_cache_1_message,
)
from gen4emu.hw.layout import Block, Message

_SIMD8 = (UrbOpcodeGen7.SIMD8_WRITE, UrbOpcodeGen7.SIMD8_READ)
ATOMICS = (*INTEGER_ATOMICS, DataCache1Type.A64_UNTYPED_ATOMIC)
ACCESSES = (*SURFACE_ACCESS, DataCache1Type.A64_UNTYPED_SURFACE_READ, DataCache1Type.A64_UNTYPED_SURFACE_WRITE)


def gen8_messages(gens: Gen, ref: str) -> list[Message]:
    """The messages that Gen8 and Gen9 have alike."""
    simd_mode: list[Field] = [
        Bool("return_half_precision", 0, 30),
        Bool("simd_mode_high", 0, 29),
        Enum("simd_mode", 0, 18, 17, SamplerSimdMode),
    ]
    return [
        *common_messages(gens, ref),
        sampler_message(simd_mode, gens, ref),
        sampler_cache_message("SAMPLER_CACHE_DATA_PORT_MESSAGE", SharedFunctionGen6.SAMPLER_CACHE_DATA_PORT, 18, gens,
                              ref),
        sampler_cache_message("CONSTANT_CACHE_DATA_PORT_MESSAGE", SharedFunctionGen6.CONSTANT_CACHE_DATA_PORT, 18,
                              gens, ref),
        data_cache_message(17, gens, ref),
        message("URB_MESSAGE", SharedFunctionGen6.URB, [
            Bool("per_slot_offset", 0, 17),
            Bool("channel_mask_present", 0, 15, when=(when("urb_opcode", *_SIMD8),)),
            Bool("interleave", 0, 15, when=(unless("urb_opcode", *_SIMD8),)),
            Uint("offset", 0, 14, 4, doc="in rows of 256 bits, of OWord and SIMD8 messages in rows of 128 bits"),
            Enum("urb_opcode", 0, 3, 0, UrbOpcodeGen7),
        ], gens, ref),
        check_and_refinement_message(gens, ref),
    ]


MESSAGE_DESCRIPTOR = descriptor(Gen.GEN8, "BDWv7")
MESSAGES: tuple[Message, ...] = (
    *gen8_messages(Gen.GEN8, "BDWv7"),
    render_cache_message(RenderCacheTypeGen7, Gen.GEN8, "BDWv7"),
    data_cache_1_message(18, Gen.GEN8, "BDWv7", atomics=ATOMICS, accesses=ACCESSES),
)

SAMPLER_MESSAGE_HEADER = header("SAMPLER_MESSAGE_HEADER", [
    *sampler_header_fields(),
    Bool("pixel_null_mask_enable", 2, 23, doc="one more register tells which pixels were null"),
    Uint("gather_component", 2, 17, 16, doc="of gather4"),
], "BDWv7")

# SIMD8 messages to the URB: a dword of each channel in these registers of the payload.
URB_SIMD8: tuple[Block, ...] = (
    header("URB_SIMD8_HANDLE", [Uint("urb_handle", 0, 15, 0)], "BDWv7", dwords=1),
    header("URB_SIMD8_OFFSET", [Uint("offset", 0, 15, 0)], "BDWv7", dwords=1, doc="with per_slot_offset"),
    header("URB_SIMD8_CHANNEL_MASK", [Uint("channel_mask", 0, 23, 16, hex=True, doc="of 8 dwords")], "BDWv7",
           dwords=1, doc="with channel_mask_present"),
)

# against Gen7.5: the same shared functions
ADDED: tuple[Block, ...] = URB_SIMD8
REPLACED: tuple[Block, ...] = (MESSAGE_DESCRIPTOR, SAMPLER_MESSAGE_HEADER, *MESSAGES)
