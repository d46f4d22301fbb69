"""The memory interface (MI) commands of Gen8 that Gen7.5 lacks or that have 64-bit addresses: semaphores, atomics.

Mesa's gen8.xml and Linux intel_gpu_commands.h: the part of the manual with these commands is not published.  Addresses
have 48 bits; the hardware ignores the 16 above where a field ends at bit 47.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Field, Mbz, Uint, unless, when
from gen4emu.hw.gen4.common import DATA_DWORD
from gen4emu.hw.gen4.mi import REGISTER_WRITE
from gen4emu.hw.gen6.mi import AddressSpaceIndicator, ScanLinePlane
from gen4emu.hw.gen8.common import AddressSpace
from gen4emu.hw.gen8.vertex_fetch import address_48
from gen4emu.hw.layout import Block, Command
from gen4emu.hw.reserved import block, mi
from gen4emu.hw.topology import PatchTopology


class PredicateEnableGen8(IntEnum):
    """When MI_SET_PREDICATE lets the commands after it pass."""

    NOOP_NEVER = 0
    NOOP_ON_RESULT2_CLEAR = 1
    NOOP_ON_RESULT2_SET = 2
    NOOP_ON_RESULT_CLEAR = 3
    NOOP_ON_RESULT_SET = 4
    EXECUTE_WHEN_ONE_SLICE_ENABLED = 5
    EXECUTE_WHEN_TWO_SLICES_ENABLED = 6
    EXECUTE_WHEN_THREE_SLICES_ENABLED = 7
    NOOP_ALWAYS = 15


class TargetEngine(IntEnum):
    """The engine whose semaphores are signalled."""

    RCS = 0
    VCS0 = 1
    BCS = 2
    VECS = 3
    VCS1 = 4


class SemaphoreCompare(IntEnum):
    """The relation of the data in memory (SAD) to that in the command (SDD) that ends the wait."""

    SAD_GREATER_THAN_SDD = 0
    SAD_GREATER_THAN_OR_EQUAL_SDD = 1
    SAD_LESS_THAN_SDD = 2
    SAD_LESS_THAN_OR_EQUAL_SDD = 3
    SAD_EQUAL_SDD = 4
    SAD_NOT_EQUAL_SDD = 5


class SemaphoreWaitMode(IntEnum):
    """Whether a semaphore is polled, or read when it is signalled."""

    SIGNAL = 0
    POLLING = 1


class AddressedMemory(IntEnum):
    """The address space of a semaphore or an atomic operation."""

    PER_PROCESS_GRAPHICS_ADDRESS = 0
    GLOBAL_GRAPHICS_ADDRESS = 1


class AtomicDataSize(IntEnum):
    """The size of the operands of MI_ATOMIC."""

    DWORD = 0
    QWORD = 1
    OCTWORD = 2


ATOMIC_OPERATION = 0x1F  # in an AtomicOpcode; the other bits are the size


class AtomicOpcode(IntEnum):
    """The operation of MI_ATOMIC, by the size of its operands."""

    AND = 0x01
    OR = 0x02
    XOR = 0x03
    MOVE = 0x04
    INC = 0x05
    DEC = 0x06
    ADD = 0x07
    SUB = 0x08
    RSUB = 0x09
    IMAX = 0x0A
    IMIN = 0x0B
    UMAX = 0x0C
    UMIN = 0x0D
    CMP_WR = 0x0E
    PREDEC = 0x0F
    AND8B = 0x21
    OR8B = 0x22
    XOR8B = 0x23
    MOVE8B = 0x24
    INC8B = 0x25
    DEC8B = 0x26
    ADD8B = 0x27
    SUB8B = 0x28
    RSUB8B = 0x29
    IMAX8B = 0x2A
    IMIN8B = 0x2B
    UMAX8B = 0x2C
    UMIN8B = 0x2D
    CMP_WR8B = 0x2E
    PREDEC8B = 0x2F
    CMP_WR16B = 0x4E


class FlushPostSync(IntEnum):
    """The value that MI_FLUSH_DW writes when it is complete."""

    NO_WRITE = 0
    WRITE_IMMEDIATE_DATA = 1
    WRITE_TIMESTAMP = 3


class BatchLevel(IntEnum):
    """Whether a batch returns to its caller."""

    FIRST = 0
    SECOND = 1


def _command(name: str, opcode: int, dwords: int, fields: Iterable[Field | Array] = (), *,
             length: tuple[int, int] = (7, 0), privileged: bool = False, ref: str = "Mesa gen8.xml",
             doc: str = "") -> Command:
    return mi(name, opcode, dwords, fields, length=length, privileged=privileged, ref=f"{ref} {name}", doc=doc)


def _register(name: str, dword: int) -> Field:
    return Uint(name, dword, 22, 2, scale=4, hex=True)


def _one_dword(name: str, opcode: int, *fields: Field, privileged: bool = False, doc: str = "") -> Command:
    return _command(name, opcode, 1, fields, privileged=privileged, doc=doc)


_GLOBAL = Bool("use_global_gtt", 0, 22)

# --- one dword --------------------------------------------------------------------------------------------------------
_PRIVILEGED: tuple[Command, ...] = (
    _one_dword("MI_USER_INTERRUPT", 0x02, privileged=True),
    _one_dword("MI_REPORT_HEAD", 0x07, privileged=True),
    _one_dword("MI_ARB_ON_OFF", 0x08, Bool("arbitration_enable", 0, 0), privileged=True),
    _one_dword("MI_SUSPEND_FLUSH", 0x0B, Bool("suspend_flush", 0, 0), privileged=True),
)

MI_SET_PREDICATE = _one_dword("MI_SET_PREDICATE", 0x01, Enum("predicate_enable", 0, 3, 0, enum=PredicateEnableGen8))

MI_TOPOLOGY_FILTER = _one_dword(
    "MI_TOPOLOGY_FILTER", 0x0D,
    Enum("topology_filter_value", 0, 5, 0, enum=PatchTopology, when=(unless("topology_filter_value", 0),)),
    Mbz(0, 5, 0, when=(when("topology_filter_value", 0),)),
    doc="drops primitives of other topologies; 0 is off")


def wait_for_event(events: dict[int, str]) -> Command:
    """MI_WAIT_FOR_EVENT with the display events of its bits."""
    return _one_dword("MI_WAIT_FOR_EVENT", 0x03, *(
        Bool(f"display_{event}_wait_enable", 0, bit) for bit, event in events.items()), privileged=True)


MI_WAIT_FOR_EVENT = wait_for_event({
    21: "pipe_c_vertical_blank", 20: "sprite_c_flip_pending", 15: "plane_c_flip_pending", 14: "pipe_c_scan_line",
    11: "pipe_b_vertical_blank", 10: "sprite_b_flip_pending", 9: "plane_b_flip_pending", 8: "pipe_b_scan_line",
    3: "pipe_a_vertical_blank", 2: "sprite_a_flip_pending", 1: "plane_a_flip_pending", 0: "pipe_a_scan_line",
})

MI_LOAD_SCAN_LINES_INCL = _command("MI_LOAD_SCAN_LINES_INCL", 0x12, 2, [
    Enum("display_plane_select", 0, 21, 19, enum=ScanLinePlane),
    Uint("scan_line_event_done_forward", 0, 18, 17),
    Uint("start_scan_line_number", 1, 28, 16),
    Uint("end_scan_line_number", 1, 12, 0),
], length=(5, 0), privileged=True, doc="the window to wait for")

# --- semaphores and atomics -------------------------------------------------------------------------------------------
MI_SEMAPHORE_SIGNAL = _command("MI_SEMAPHORE_SIGNAL", 0x1B, 2, [
    Bool("post_sync_operation", 0, 21),
    Enum("target_engine_select", 0, 17, 15, enum=TargetEngine),
    Uint("target_context_id", 1, 31, 0, hex=True),
])

MI_SEMAPHORE_WAIT = _command("MI_SEMAPHORE_WAIT", 0x1C, 4, [
    Enum("memory_type", 0, 22, 22, enum=AddressedMemory),
    Enum("wait_mode", 0, 15, 15, enum=SemaphoreWaitMode),
    Enum("compare_operation", 0, 14, 12, enum=SemaphoreCompare),
    Uint("semaphore_data_dword", 1, 31, 0, hex=True),
    *address_48("semaphore_address", 2, 2),
])

MI_ATOMIC_OPERANDS = block("MI_ATOMIC_OPERANDS", 2, [
    Uint("operand1_data_dword", 0, 31, 0, hex=True),
    Uint("operand2_data_dword", 1, 31, 0, hex=True),
], ref="Mesa gen8.xml MI_ATOMIC", doc="dword n of both operands; there are four of these with inline data")

MI_ATOMIC = _command("MI_ATOMIC", 0x2F, 3, [
    Enum("memory_type", 0, 22, 22, enum=AddressedMemory),
    Bool("post_sync_operation", 0, 21),
    Enum("data_size", 0, 20, 19, enum=AtomicDataSize),
    Bool("inline_data", 0, 18),
    Bool("cs_stall", 0, 17),
    Bool("return_data_control", 0, 16, doc="the old value goes to the registers CS_GPR; needs a stall"),
    Enum("atomic_opcode", 0, 15, 8, enum=AtomicOpcode),
    *address_48("memory_address", 1, 2),
    Array("operands", 3, MI_ATOMIC_OPERANDS),
])

# --- memory and registers ---------------------------------------------------------------------------------------------
MI_FORCE_WAKEUP = _command("MI_FORCE_WAKEUP", 0x1D, 2, [
    Uint("mask_bits", 1, 31, 16, hex=True, doc="bits 15:0 that change"),
    Bool("force_render_awake", 1, 1),
    Bool("force_media_awake", 1, 0),
], ref="Mesa gen9.xml")

MI_STORE_DATA_IMM = _command("MI_STORE_DATA_IMM", 0x20, 4, [
    _GLOBAL,
    Bool("store_qword", 0, 21),
    *address_48("address", 1, 2),
    Bool("core_mode_enable", 1, 0),
    Uint("data_dword_0", 3, 31, 0, hex=True),
    Array("data_dword_1", 4, DATA_DWORD, doc="the second dword of a qword"),
], length=(9, 0))

MI_STORE_DATA_INDEX = _command("MI_STORE_DATA_INDEX", 0x21, 3, [
    Bool("use_per_process_hardware_status_page", 0, 21),
    Uint("offset", 1, 11, 2, scale=4, hex=True, doc="bytes into the hardware status page"),
    Uint("data_dword_0", 2, 31, 0, hex=True),
    Array("data_dword_1", 3, DATA_DWORD, doc="the second dword of a qword"),
])

# The hardware ignores writes of registers that a batch may not reach.
MI_LOAD_REGISTER_IMM = _command("MI_LOAD_REGISTER_IMM", 0x22, 1, [
    Uint("byte_write_disables", 0, 11, 8, hex=True, doc="bit i keeps byte i of the register"),
    Array("writes", 1, REGISTER_WRITE),
])

MI_STORE_REGISTER_MEM = _command("MI_STORE_REGISTER_MEM", 0x24, 4, [
    _GLOBAL,
    Bool("predicate_enable", 0, 21),
    _register("register_address", 1),
    Address("memory_address", 2, 63, 2, target="DATA"),
])

MI_FLUSH_DW = _command("MI_FLUSH_DW", 0x26, 4, [
    Bool("store_data_index", 0, 21),
    Bool("tlb_invalidate", 0, 18),
    Enum("post_sync_operation", 0, 15, 14, enum=FlushPostSync),
    Bool("notify_enable", 0, 8),
    Bool("video_pipeline_cache_invalidate", 0, 7),
    *address_48("address", 1, 3),
    Enum("destination_address_type", 1, 2, 2, enum=AddressSpace),
    Uint("immediate_data_low", 3, 31, 0, hex=True),
    Array("immediate_data_high", 4, DATA_DWORD, doc="absent in the form of four dwords"),
], length=(5, 0), doc="for the blitter and the video engines")

MI_CLFLUSH = _command("MI_CLFLUSH", 0x27, 3, [
    _GLOBAL,
    *address_48("page_base_address", 1, 12),
    Uint("starting_cacheline_offset", 1, 11, 6),
    Array("dw_representing_a_half_cache_line", 3, DATA_DWORD),
], length=(9, 0))

MI_REPORT_PERF_COUNT = _command("MI_REPORT_PERF_COUNT", 0x28, 4, [
    Address("memory_address", 1, 63, 6, target="DATA"),
    Bool("core_mode_enable", 1, 4),
    Bool("use_global_gtt", 1, 0),
    Uint("report_id", 3, 31, 0, hex=True),
], length=(5, 0))

MI_LOAD_REGISTER_MEM = _command("MI_LOAD_REGISTER_MEM", 0x29, 4, [
    _GLOBAL,
    Bool("async_mode_enable", 0, 21),
    _register("register_address", 1),
    Address("memory_address", 2, 63, 2, target="DATA"),
])

MI_RS_STORE_DATA_IMM = _command("MI_RS_STORE_DATA_IMM", 0x2B, 4, [
    Address("destination_address", 1, 63, 2, target="DATA"),
    Bool("core_mode_enable", 1, 0),
    Uint("data_dword_0", 3, 31, 0, hex=True),
])


def _urb_mem(name: str, opcode: int) -> Command:
    return _command(name, opcode, 4, [
        Uint("urb_address", 1, 14, 2, scale=4, hex=True),
        Address("memory_address", 2, 63, 6, target="DATA"),
    ])


MI_LOAD_URB_MEM = _urb_mem("MI_LOAD_URB_MEM", 0x2C)
MI_STORE_URB_MEM = _urb_mem("MI_STORE_URB_MEM", 0x2D)

MI_COPY_MEM_MEM = _command("MI_COPY_MEM_MEM", 0x2E, 5, [
    Bool("use_global_gtt_source", 0, 22),
    Bool("use_global_gtt_destination", 0, 21),
    Address("destination_memory_address", 1, 63, 2, target="DATA"),
    Address("source_memory_address", 3, 63, 2, target="DATA"),
])

# --- batches ----------------------------------------------------------------------------------------------------------
MI_BATCH_BUFFER_START = _command("MI_BATCH_BUFFER_START", 0x31, 3, [
    Enum("second_level_batch_buffer", 0, 22, 22, enum=BatchLevel),
    Bool("add_offset_enable", 0, 16),
    Bool("predication_enable", 0, 15),
    Bool("resource_streamer_enable", 0, 10),
    Enum("address_space_indicator", 0, 8, 8, enum=AddressSpaceIndicator),
    *address_48("batch_buffer_start_address", 1, 2, target="BATCH"),
])

# The XML has three dwords, but an address that ends in the fourth, as Gen9's does.
MI_CONDITIONAL_BATCH_BUFFER_END = _command("MI_CONDITIONAL_BATCH_BUFFER_END", 0x36, 4, [
    _GLOBAL,
    Bool("compare_semaphore", 0, 21),
    Uint("compare_data_dword", 1, 31, 0, hex=True),
    *address_48("compare_address", 2, 3),
])

REPLACED: tuple[Block, ...] = (
    *_PRIVILEGED, MI_LOAD_REGISTER_IMM, MI_SET_PREDICATE, MI_TOPOLOGY_FILTER, MI_WAIT_FOR_EVENT,
    MI_LOAD_SCAN_LINES_INCL, MI_STORE_DATA_IMM, MI_STORE_DATA_INDEX, MI_STORE_REGISTER_MEM, MI_FLUSH_DW, MI_CLFLUSH,
    MI_REPORT_PERF_COUNT, MI_LOAD_REGISTER_MEM, MI_RS_STORE_DATA_IMM, MI_LOAD_URB_MEM, MI_STORE_URB_MEM,
    MI_BATCH_BUFFER_START, MI_CONDITIONAL_BATCH_BUFFER_END,
)
ADDED: tuple[Block, ...] = (
    MI_SEMAPHORE_SIGNAL, MI_SEMAPHORE_WAIT, MI_COPY_MEM_MEM, MI_ATOMIC, MI_ATOMIC_OPERANDS,
)
REMOVED: tuple[str, ...] = ("MI_FLUSH", "MI_SEMAPHORE_MBOX")
