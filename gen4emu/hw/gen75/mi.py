"""The memory interface commands of Haswell, as differences to Ivy Bridge: arithmetic, registers, the resource streamer.

HSW PRM vol. 2a, "Command Reference: Instructions".
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Uint
from gen4emu.hw.gen6 import mi as gen6
from gen4emu.hw.gen7 import mi as gen7
from gen4emu.hw.layout import Block, Command
from gen4emu.hw.reserved import block, mi

_REF = "HSW PRM vol2a "


class PredicateEnable(IntEnum):
    """The condition on MI_PREDICATE_RESULT_2 under which commands have no effect."""

    NOOP_NEVER = 0
    NOOP_ON_RESULT2_CLEAR = 1
    NOOP_ON_RESULT2_SET = 2
    NOOP_ALWAYS = 3


class ResourceStreamerControl(IntEnum):
    """MI_RS_CONTROL."""

    STOP = 0
    START = 1


class ResourceStreamerSave(IntEnum):
    """MI_RS_CONTEXT."""

    RESTORE = 0
    SAVE = 1


class AluOpcode(IntEnum):
    """The operation of an instruction of MI_MATH; LOADINV and STOREINV invert every bit."""

    NOOP = 0x000
    LOAD = 0x080
    LOAD0 = 0x081
    ADD = 0x100
    SUB = 0x101
    AND = 0x102
    OR = 0x103
    XOR = 0x104
    STORE = 0x180
    LOADINV = 0x480
    LOAD1 = 0x481
    STOREINV = 0x580


class AluOperand(IntEnum):
    """A 64-bit register of MI_MATH: general purpose, source, accumulator, zero flag, carry flag."""

    REG0 = 0x00
    REG1 = 0x01
    REG2 = 0x02
    REG3 = 0x03
    REG4 = 0x04
    REG5 = 0x05
    REG6 = 0x06
    REG7 = 0x07
    REG8 = 0x08
    REG9 = 0x09
    REG10 = 0x0A
    REG11 = 0x0B
    REG12 = 0x0C
    REG13 = 0x0D
    REG14 = 0x0E
    REG15 = 0x0F
    SRCA = 0x20
    SRCB = 0x21
    ACCU = 0x31
    ZF = 0x32
    CF = 0x33


MI_SET_PREDICATE = mi("MI_SET_PREDICATE", 0x01, 1, [
    Enum("predicate_enable", 0, 1, 0, PredicateEnable),
], ref=_REF + "MI_SET_PREDICATE")

MI_RS_CONTROL = mi("MI_RS_CONTROL", 0x06, 1, [
    Enum("resource_streamer_control", 0, 0, 0, ResourceStreamerControl),
], ref=_REF + "MI_RS_CONTROL")

MI_URB_ATOMIC_ALLOC = mi("MI_URB_ATOMIC_ALLOC", 0x09, 1, [
    Uint("urb_atomic_storage_offset", 0, 19, 12),
    Uint("urb_atomic_storage_size", 0, 8, 0),
], ref=_REF + "MI_URB_ATOMIC_ALLOC")

MI_RS_CONTEXT = mi("MI_RS_CONTEXT", 0x0F, 1, [
    Enum("resource_streamer_save", 0, 0, 0, ResourceStreamerSave),
], ref=_REF + "MI_RS_CONTEXT")

MI_SEMAPHORE_MBOX = gen6.MI_SEMAPHORE_MBOX.changed(
    Uint("general_register_select", 0, 13, 8, doc="if the register select says so"), ref=_REF + "MI_SEMAPHORE_MBOX")

# The resource streamer has the two bits of the extended state.
MI_SET_CONTEXT = gen7.MI_SET_CONTEXT.changed(
    Bool("core_mode_enable", 1, 4),
    Bool("resource_streamer_state_save_enable", 1, 3),
    Bool("resource_streamer_state_restore_enable", 1, 2),
    remove=["extended_state_save_enable", "extended_state_restore_enable"], ref=_REF + "MI_SET_CONTEXT")

MI_URB_CLEAR = gen6.MI_URB_CLEAR.changed(
    Uint("urb_clear_length", 1, 29, 16, doc="in rows of 256 bits"),
    Uint("urb_address", 1, 14, 0, doc="in rows of 256 bits"),
    ref=_REF + "MI_URB_CLEAR")

MI_MATH_ALU_INSTRUCTION = block("MI_MATH_ALU_INSTRUCTION", 1, [
    Enum("alu_opcode", 0, 31, 20, AluOpcode),
    Enum("operand_1", 0, 19, 10, AluOperand),
    Enum("operand_2", 0, 9, 0, AluOperand),
], ref=_REF + "MI_MATH")

MI_MATH = mi("MI_MATH", 0x1A, 1, [
    Array("instructions", 1, MI_MATH_ALU_INSTRUCTION),
], ref=_REF + "MI_MATH")

MI_STORE_REGISTER_MEM = gen6.MI_STORE_REGISTER_MEM.changed(
    Bool("predicate_enable", 0, 21), ref=_REF + "MI_STORE_REGISTER_MEM")

MI_REPORT_PERF_COUNT = gen7.MI_REPORT_PERF_COUNT.changed(
    Bool("core_mode_enable", 1, 4), ref=_REF + "MI_REPORT_PERF_COUNT")

MI_LOAD_REGISTER_REG = mi("MI_LOAD_REGISTER_REG", 0x2A, 3, [
    Uint("source_register_address", 1, 22, 2, scale=4, hex=True),
    Uint("destination_register_address", 2, 22, 2, scale=4, hex=True),
], length=(7, 0), ref=_REF + "MI_LOAD_REGISTER_REG")

MI_RS_STORE_DATA_IMM = mi("MI_RS_STORE_DATA_IMM", 0x2B, 4, [
    Address("destination_address", 2, 31, 2, target="DATA"),
    Bool("core_mode_enable", 2, 0),
    Uint("data_dword_0", 3, 31, 0, hex=True),
], length=(7, 0), ref=_REF + "MI_RS_STORE_DATA_IMM")


def _urb_and_memory(name: str, opcode: int) -> Command:
    return mi(name, opcode, 3, [
        Uint("urb_address", 1, 14, 2, scale=4, hex=True),
        Address("memory_address", 2, 31, 6, target="DATA"),
    ], length=(7, 0), ref=_REF + name)


MI_BATCH_BUFFER_START = gen6.MI_BATCH_BUFFER_START.changed(
    Bool("second_level_batch_buffer", 0, 22, doc="MI_BATCH_BUFFER_END returns after this command"),
    Bool("add_offset_enable", 0, 16),
    Bool("predication_enable", 0, 15),
    Bool("non_privileged", 0, 13),
    Bool("resource_streamer_enable", 0, 10),
    ref=_REF + "MI_BATCH_BUFFER_START")

REPLACED: tuple[Block, ...] = (
    MI_SEMAPHORE_MBOX, MI_SET_CONTEXT, MI_URB_CLEAR, MI_STORE_REGISTER_MEM, MI_REPORT_PERF_COUNT,
    MI_BATCH_BUFFER_START,
)
ADDED: tuple[Block, ...] = (
    MI_SET_PREDICATE, MI_RS_CONTROL, MI_URB_ATOMIC_ALLOC, MI_RS_CONTEXT, MI_MATH_ALU_INSTRUCTION, MI_MATH,
    MI_LOAD_REGISTER_REG, MI_RS_STORE_DATA_IMM, _urb_and_memory("MI_LOAD_URB_MEM", 0x2C),
    _urb_and_memory("MI_STORE_URB_MEM", 0x2D),
)
