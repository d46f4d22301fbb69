"""The memory interface (MI) commands of the command streamer: batches, flushes, waits, register and memory writes.

The volume of the manual that has these commands is not public for Gen4; the sources are Linux (intel_gpu_commands.h),
Mesa (gen4.xml) and libdrm (intel_decode.c).  `LATER_MI_OPCODES` names the commands of later generations, which a
decoder skips.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Field, Ignored, Mbz, Uint, when
from gen4emu.hw.gen4.common import DATA_DWORD
from gen4emu.hw.layout import Block, Command, mi


class DisplayPipe(IntEnum):
    """The display pipe whose scan lines are counted."""

    A = 0
    B = 1


class DisplayPlane(IntEnum):
    """The display plane that is flipped."""

    A = 0
    B = 1
    C = 2


class OverlayFlipMode(IntEnum):
    """The effect of MI_OVERLAY_FLIP on the overlay."""

    CONTINUE = 0
    ON = 1
    OFF = 2


class BatchMemorySpace(IntEnum):
    """The memory space of a batch.  Captures and some drivers leave it 0 but mean the GTT."""

    UNSPECIFIED = 0
    GTT = 2


class ContextAddressSpace(IntEnum):
    """The memory space of a logical context."""

    PHYSICAL = 0
    GTT = 1


class ConditionCode(IntEnum):
    """The condition code of EXCC that must be clear before the stream continues."""

    NONE = 0
    CODE_1 = 1
    CODE_2 = 2
    CODE_3 = 3
    CODE_4 = 4
    CODE_5 = 5


# --- one dword --------------------------------------------------------------------------------------------------------
MI_NOOP = mi("MI_NOOP", 0x00, 1, [
    Bool("identification_write_enable", 0, 22),
    Uint("identification", 0, 21, 0, hex=True, doc="goes to NOPID when enabled"),
], ref="Linux intel_gpu_commands.h")

MI_USER_INTERRUPT = mi("MI_USER_INTERRUPT", 0x02, 1, [Mbz(0, 22, 0)], ref="Linux intel_gpu_commands.h")

MI_WAIT_FOR_EVENT = mi("MI_WAIT_FOR_EVENT", 0x03, 1, [
    Mbz(0, 22, 19),
    Bool("pipe_b_start_of_vertical_blank", 0, 18),
    Bool("pipe_a_start_of_vertical_blank", 0, 17),
    Bool("overlay_flip_pending", 0, 16),
    Mbz(0, 15, 15),
    Bool("pipe_b_horizontal_blank", 0, 14),
    Bool("pipe_a_horizontal_blank", 0, 13),
    Enum("condition_code", 0, 12, 9, enum=ConditionCode),
    Bool("plane_c_flip_pending", 0, 8),
    Bool("pipe_b_vertical_blank", 0, 7),
    Bool("plane_b_flip_pending", 0, 6),
    Bool("pipe_b_scan_line_window", 0, 5),
    Bool("fbc_idle", 0, 4),
    Bool("pipe_a_vertical_blank", 0, 3),
    Bool("plane_a_flip_pending", 0, 2),
    Bool("pipe_a_scan_line_window", 0, 1),
    Mbz(0, 0, 0),
], ref="Linux intel_gpu_commands.h")

MI_FLUSH = mi("MI_FLUSH", 0x04, 1, [
    Mbz(0, 22, 7),
    Mbz(0, 6, 5),
    Bool("generic_media_state_clear", 0, 4),
    Bool("global_snapshot_count_reset", 0, 3, doc="zeroes the debug counters, not the statistics"),
    Bool("render_cache_flush_inhibit", 0, 2),
    Bool("state_instruction_cache_invalidate", 0, 1),
    Bool("sampler_cache_invalidate", 0, 0, doc="happens on Gen4 in any case"),
], ref="Linux intel_gpu_commands.h")

MI_ARB_CHECK = mi("MI_ARB_CHECK", 0x05, 1, [Mbz(0, 22, 0)], ref="Linux intel_gpu_commands.h")

MI_REPORT_HEAD = mi("MI_REPORT_HEAD", 0x07, 1, [Mbz(0, 22, 0)], ref="Linux intel_gpu_commands.h")

MI_ARB_ON_OFF = mi("MI_ARB_ON_OFF", 0x08, 1, [
    Mbz(0, 22, 1),
    Bool("arbitration_enable", 0, 0),
], ref="Linux intel_gpu_commands.h", doc="does nothing before GM45")

MI_BATCH_BUFFER_END = mi("MI_BATCH_BUFFER_END", 0x0A, 1, [Mbz(0, 22, 0)], ref="Linux intel_gpu_commands.h")

# --- display ----------------------------------------------------------------------------------------------------------
MI_OVERLAY_FLIP = mi("MI_OVERLAY_FLIP", 0x11, 2, [
    Enum("mode", 0, 22, 21, enum=OverlayFlipMode),
    Mbz(0, 20, 6),
    Address("register_file_address", 1, 31, 3, doc="a physical address on 965GM"),
    Mbz(1, 2, 1),
    Bool("load_coefficients", 1, 0),
], ref="Linux intel_gpu_commands.h", doc="G4x has no overlay")


def _load_scan_lines(name: str, opcode: int, doc: str) -> Command:
    return mi(name, opcode, 2, [
        Mbz(0, 22, 22),
        Enum("pipe", 0, 21, 20, enum=DisplayPipe),
        Mbz(0, 19, 6),
        Uint("start_scan_line", 1, 31, 16),
        Uint("end_scan_line", 1, 15, 0),
    ], ref="Linux intel_gpu_commands.h", doc=doc)


MI_LOAD_SCAN_LINES_INCL = _load_scan_lines("MI_LOAD_SCAN_LINES_INCL", 0x12, "the window to wait for")
MI_LOAD_SCAN_LINES_EXCL = _load_scan_lines("MI_LOAD_SCAN_LINES_EXCL", 0x13, "the window to avoid")

# Linux ORs the panel fitter's enable bit and the size of the pipe's source, both from registers, into one dword.
DISPLAY_FLIP_SOURCE = Block("DISPLAY_FLIP_SOURCE", 1, [
    Bool("panel_fitter_enable", 0, 31),
    Mbz(0, 30, 28),
    Uint("source_width", 0, 27, 16, bias=1),
    Mbz(0, 15, 12),
    Uint("source_height", 0, 11, 0, bias=1),
], ref="Linux intel_gpu_commands.h")

MI_DISPLAY_FLIP = mi("MI_DISPLAY_FLIP", 0x14, 3, [
    Bool("asynchronous_flip", 0, 22),
    Enum("plane", 0, 21, 20, enum=DisplayPlane),
    Mbz(0, 19, 6),
    Mbz(1, 31, 16),
    Uint("pitch_bytes", 1, 15, 3, scale=8),
    Mbz(1, 2, 0),
    Address("base_address", 2, 31, 12),
    Mbz(2, 11, 1),
    Bool("tiled", 2, 0),
    Array("source", 3, DISPLAY_FLIP_SOURCE, doc="absent in the form of three dwords"),
], ref="Linux intel_gpu_commands.h")


# --- contexts, memory and registers -----------------------------------------------------------------------------------
MI_SET_CONTEXT = mi("MI_SET_CONTEXT", 0x18, 2, [
    Mbz(0, 22, 6),
    Address("logical_context_address", 1, 31, 12),
    Mbz(1, 11, 9),
    Enum("address_space", 1, 8, 8, enum=ContextAddressSpace),
    Mbz(1, 7, 4),
    Bool("extended_state_save_enable", 1, 3),
    Bool("extended_state_restore_enable", 1, 2),
    Bool("force_restore", 1, 1),
    Bool("restore_inhibit", 1, 0),
], ref="Linux intel_gpu_commands.h")


def _physical_high(hi: int, lo: int) -> list[Field]:
    """Bits 35:32 of an address that is not translated."""
    return [
        Uint("physical_address_high", 1, hi, lo, hex=True, when=(when("use_global_gtt", 0),)),
        Mbz(1, hi, lo, when=(when("use_global_gtt", 1),)),
    ]


MI_STORE_DATA_IMM = mi("MI_STORE_DATA_IMM", 0x20, 4, [
    Bool("use_global_gtt", 0, 22, doc="else the address is physical"),
    Bool("store_qword", 0, 21, doc="without a documented meaning here: the length decides"),
    Mbz(0, 20, 6),
    Mbz(1, 31, 4),
    *_physical_high(3, 0),
    Address("address", 2, 31, 2),
    Mbz(2, 1, 0),
    Uint("data", 3, 31, 0, hex=True),
    Array("data_high", 4, DATA_DWORD, doc="the second dword of a qword"),
], ref="Linux intel_gpu_commands.h", privileged=True)

MI_STORE_DATA_INDEX = mi("MI_STORE_DATA_INDEX", 0x21, 3, [
    Mbz(0, 22, 6),
    Mbz(1, 31, 12),
    Uint("offset", 1, 11, 2, scale=4, low=0x40, hex=True, doc="bytes into the hardware status page"),
    Mbz(1, 1, 0),
    Uint("data", 2, 31, 0, hex=True),
    Array("data_high", 3, DATA_DWORD, doc="the second dword of a qword"),
], ref="Linux intel_gpu_commands.h")

REGISTER_WRITE = Block("REGISTER_WRITE", 2, [
    Ignored(0, 31, 23),
    Uint("register_offset", 0, 22, 2, scale=4, hex=True),
    Mbz(0, 1, 0),
    Uint("data", 1, 31, 0, hex=True),
], ref="Linux intel_gpu_commands.h")

MI_LOAD_REGISTER_IMM = mi("MI_LOAD_REGISTER_IMM", 0x22, 1, [
    Mbz(0, 22, 12),
    Uint("byte_write_disables", 0, 11, 8, hex=True, doc="bit i keeps byte i of the register"),
    Array("writes", 1, REGISTER_WRITE),
], length=(7, 0), ref="Linux intel_gpu_commands.h", privileged=True)

MI_STORE_REGISTER_MEM = mi("MI_STORE_REGISTER_MEM", 0x24, 3, [
    Bool("use_global_gtt", 0, 22, doc="else the address is physical"),
    Mbz(0, 21, 8),
    *_physical_high(31, 28),
    Mbz(1, 27, 23),
    Uint("register_offset", 1, 22, 2, scale=4, hex=True),
    Mbz(1, 1, 0),
    Address("address", 2, 31, 2),
    Mbz(2, 1, 0),
], length=(7, 0), ref="Linux intel_gpu_commands.h", privileged=True)

# --- batches ----------------------------------------------------------------------------------------------------------
MI_BATCH_BUFFER = mi("MI_BATCH_BUFFER", 0x30, 3, [
    Mbz(0, 22, 6),
    Address("start_address", 1, 31, 2, target="BATCH"),
    Mbz(1, 1, 1),
    Bool("non_secure", 1, 0),
    Address("end_address", 2, 31, 2, doc="of the last dword"),
    Mbz(2, 1, 0),
], ref="Linux intel_gpu_commands.h")

MI_BATCH_BUFFER_START = mi("MI_BATCH_BUFFER_START", 0x31, 2, [
    Mbz(0, 22, 9),
    Bool("non_secure", 0, 8),
    Enum("memory_space", 0, 7, 6, enum=BatchMemorySpace),
    Address("address", 1, 31, 2, target="BATCH"),
    Ignored(1, 1, 0, doc="bit 0 said non-secure on Gen3"),
], ref="Linux intel_gpu_commands.h")

COMMANDS: tuple[Command, ...] = (
    MI_NOOP, MI_USER_INTERRUPT, MI_WAIT_FOR_EVENT, MI_FLUSH, MI_ARB_CHECK, MI_REPORT_HEAD, MI_ARB_ON_OFF,
    MI_BATCH_BUFFER_END, MI_OVERLAY_FLIP, MI_LOAD_SCAN_LINES_INCL, MI_LOAD_SCAN_LINES_EXCL,
    MI_DISPLAY_FLIP, MI_SET_CONTEXT, MI_STORE_DATA_IMM, MI_STORE_DATA_INDEX, MI_LOAD_REGISTER_IMM,
    MI_STORE_REGISTER_MEM, MI_BATCH_BUFFER, MI_BATCH_BUFFER_START,
)

# Opcodes that later generations added: names for commands that are skipped by their length.
LATER_MI_OPCODES: dict[int, str] = {
    0x01: "MI_SET_PREDICATE",
    0x09: "MI_URB_ATOMIC_ALLOC",
    0x0C: "MI_PREDICATE",
    0x0D: "MI_TOPOLOGY_FILTER",
    0x0E: "MI_SET_APPID",
    0x0F: "MI_RS_CONTEXT",
    0x16: "MI_SEMAPHORE_MBOX",
    0x1A: "MI_MATH",
    0x1B: "MI_SEMAPHORE_SIGNAL",
    0x1C: "MI_SEMAPHORE_WAIT",
    0x23: "MI_UPDATE_GTT",
    0x26: "MI_FLUSH_DW",
    0x27: "MI_CLFLUSH",
    0x28: "MI_REPORT_PERF_COUNT",
    0x29: "MI_LOAD_REGISTER_MEM",
    0x2A: "MI_LOAD_REGISTER_REG",
    0x2E: "MI_COPY_MEM_MEM",
    0x2F: "MI_ATOMIC",
    0x36: "MI_CONDITIONAL_BATCH_BUFFER_END",
}


def later_name(header: int) -> str | None:
    """The name of an MI command that only later generations have."""
    return LATER_MI_OPCODES.get(header >> MI_NOOP.opcode_low & 0x3F)
