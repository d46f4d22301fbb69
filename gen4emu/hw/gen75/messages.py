"""Messages of Gen7.5: those of Gen7, and data cache 1 with the messages to untyped and typed surfaces.

Haswell PRM vol. 7; Mesa, src/intel/compiler/brw_inst.h and brw_eu_defines.h.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from gen4emu.hw.fields import Bool, Enum, Field, Uint, unless, when
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen6.messages import SharedFunctionGen6, binding_table_index, descriptor, message
from gen4emu.hw.gen7.messages import AtomicOperation, OwordBlockSizeGen7, gen7_messages
from gen4emu.hw.layout import Block, Message


class DataCache1Type(IntEnum):
    """The type of a message to data cache 1; those from 16 on came with Gen8 (A64_SCATTERED_READ, A64_OWORD_*, *FLOAT:
    Gen9)."""

    UNTYPED_SURFACE_READ = 1
    UNTYPED_ATOMIC = 2
    UNTYPED_ATOMIC_SIMD4X2 = 3
    MEDIA_BLOCK_READ = 4
    TYPED_SURFACE_READ = 5
    TYPED_ATOMIC = 6
    TYPED_ATOMIC_SIMD4X2 = 7
    UNTYPED_SURFACE_WRITE = 9
    MEDIA_BLOCK_WRITE = 10
    ATOMIC_COUNTER = 11
    ATOMIC_COUNTER_SIMD4X2 = 12
    TYPED_SURFACE_WRITE = 13
    A64_SCATTERED_READ = 0x10
    A64_UNTYPED_SURFACE_READ = 0x11
    A64_UNTYPED_ATOMIC = 0x12
    A64_OWORD_BLOCK_READ = 0x14
    A64_OWORD_BLOCK_WRITE = 0x15
    A64_UNTYPED_SURFACE_WRITE = 0x19
    A64_SCATTERED_WRITE = 0x1A
    UNTYPED_ATOMIC_FLOAT = 0x1B
    A64_UNTYPED_ATOMIC_FLOAT = 0x1D


class SurfaceSimdMode(IntEnum):
    """The number of channels of a message to a surface; typed messages have 8, of the lower or the upper slots."""

    SIMD4X2 = 0
    SIMD16 = 1
    SIMD8 = 2
    SIMD8_UPPER = 3


class ScatteredElement(IntEnum):
    """The elements of an A64 scattered message."""

    BYTE = 0
    DWORD = 1
    QWORD = 2


class FloatAtomicOperation(IntEnum):
    """The operation of an atomic on floats."""

    FMAX = 1
    FMIN = 2
    FCMPWR = 3
    FADD = 4


INTEGER_ATOMICS = (DataCache1Type.UNTYPED_ATOMIC, DataCache1Type.UNTYPED_ATOMIC_SIMD4X2, DataCache1Type.TYPED_ATOMIC,
                   DataCache1Type.TYPED_ATOMIC_SIMD4X2, DataCache1Type.ATOMIC_COUNTER,
                   DataCache1Type.ATOMIC_COUNTER_SIMD4X2)
SURFACE_ACCESS = (DataCache1Type.UNTYPED_SURFACE_READ, DataCache1Type.UNTYPED_SURFACE_WRITE,
                  DataCache1Type.TYPED_SURFACE_READ, DataCache1Type.TYPED_SURFACE_WRITE)


def data_cache_1_message(type_top: int, gens: Gen, ref: str, *, atomics: Iterable[int] = INTEGER_ATOMICS,
                         accesses: Iterable[int] = SURFACE_ACCESS, floats: Iterable[int] = (),
                         blocks: Iterable[int] = (), scattered: Iterable[int] = ()) -> Message:
    """A message to data cache 1, with the types whose control is laid out in each of five ways."""
    integer, access, floating, block, elements = (
        tuple(types) for types in (atomics, accesses, floats, blocks, scattered))
    fields: list[Field] = [
        Enum("message_type", 0, type_top, 14, DataCache1Type),
        binding_table_index(),
        Bool("return_data", 0, 13, when=(when("message_type", *integer, *floating),)),
        Bool("simd8", 0, 12, when=(when("message_type", *integer, *floating),), doc="of A64 messages: 64-bit data"),
        Enum("atomic_operation", 0, 11, 8, AtomicOperation, when=(when("message_type", *integer),)),
        Enum("simd_mode", 0, 13, 12, SurfaceSimdMode, when=(when("message_type", *access),)),
        Uint("channel_mask", 0, 11, 8, hex=True, when=(when("message_type", *access),),
             doc="1: the channel is not transferred"),
    ]
    if floating:
        fields.append(Enum("float_atomic_operation", 0, 11, 8, FloatAtomicOperation,
                           when=(when("message_type", *floating),)))
    if block:
        fields += [Uint("reserved_control", 0, 13, 13, when=(when("message_type", *block),)),
                   Uint("alignment", 0, 12, 11, when=(when("message_type", *block),)),
                   Enum("oword_block_size", 0, 10, 8, OwordBlockSizeGen7, when=(when("message_type", *block),))]
    if elements:
        fields += [Uint("reserved_scattered", 0, 13, 13, when=(when("message_type", *elements),)),
                   Bool("simd16", 0, 12, when=(when("message_type", *elements),)),
                   Uint("element_count_log2", 0, 11, 10, when=(when("message_type", *elements),),
                        doc="elements of a channel"),
                   Enum("element", 0, 9, 8, ScatteredElement, when=(when("message_type", *elements),))]
    others = (unless("message_type", *integer, *floating, *access, *block, *elements),)
    fields.append(Uint("message_control", 0, 13, 8, hex=True, when=others))
    return message("DATA_CACHE_DATA_PORT_1_MESSAGE", SharedFunctionGen6.DATA_CACHE_DATA_PORT_1, fields, gens, ref)


def check_and_refinement_message(gens: Gen, ref: str) -> Message:
    return message("CHECK_AND_REFINEMENT_MESSAGE", SharedFunctionGen6.CHECK_AND_REFINEMENT, [
        Uint("message_control", 0, 18, 8, hex=True), binding_table_index(),
    ], gens, ref)


MESSAGE_DESCRIPTOR = descriptor(Gen.GEN75, "HSWv7")
MESSAGES: tuple[Message, ...] = (
    *gen7_messages(Gen.GEN75, "HSWv7"),
    data_cache_1_message(17, Gen.GEN75, "HSWv7"),
    check_and_refinement_message(Gen.GEN75, "HSWv7"),
)

# against Gen7
ADDED: tuple[Block, ...] = MESSAGES[-2:]
REPLACED: tuple[Block, ...] = (MESSAGE_DESCRIPTOR, *MESSAGES[:-2])
REMOVED: tuple[str, ...] = ()
