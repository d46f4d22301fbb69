"""The numbers of AUB packets, for reader and writer: headers, operations, spaces, names."""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache

from gen4emu.trace.events import Engine

PACKET_CLIENT = 7  # bits 31:29 of every packet header
OPCODE_LEGACY = 0x01
OPCODE_MEMTRACE = 0x2E
MAX_BLOCK_BYTES = 32 << 10  # of data that writers put into one block
FRAME_NOTE = "frame boundary:"  # opens the comments by which our writer marks a frame without a picture


class Legacy(IntEnum):
    """Sub-opcodes of legacy packets."""

    HEADER = 0x05
    BMP = 0x1E  # written as 0x9E: its bit 7 falls on a bit of the opcode that is set anyway
    BLOCK = 0x41


class Memtrace(IntEnum):
    """Sub-opcodes of memtrace packets."""

    VERSION = 0x00
    REG_CMP = 0x01
    REG_POLL = 0x02
    REG_WRITE = 0x03
    MEM_CMP = 0x04
    MEM_POLL = 0x05
    MEM_WRITE = 0x06
    FRAME_BEGIN = 0x07
    COMMENT = 0x08
    TRACE_DELAY = 0x09
    MEM_DUMP = 0x0A
    MEM_WRITE_DISCONT = 0x0B
    TEST_PHASE_MARKER = 0x0C
    MEM_CONT_REGION = 0x0D
    VERSION_EXT = 0x0E
    PREDICATE = 0x0F
    DUMP_COMPRESS = 0x10


class Operation(IntEnum):
    """What a legacy block does."""

    COMMENT = 0
    DATA_WRITE = 1
    COMMAND_WRITE = 2
    MMIO_WRITE = 3


class LegacySpace(IntEnum):
    """Address spaces of legacy blocks."""

    GTT = 0
    LOCAL = 1
    NONLOCAL = 2
    PCI = 3
    GTT_ENTRY = 4


class MemtraceSpace(IntEnum):
    """Address spaces of memtrace memory packets."""

    GGTT = 0
    LOCAL = 1
    PHYSICAL = 2
    GGTT_ENTRY = 4


ENGINE_OF_RING = {2: Engine.RENDER, 3: Engine.BSD, 4: Engine.BLT}  # types of command writes: PRB0, PRB1, PRB2
RING_OF_ENGINE = {engine: ring for ring, engine in ENGINE_OF_RING.items()}

# Data writes: (type, subtype) and what events call them.  Subtype 0 stands for those that are not listed.
KINDS: dict[tuple[int, int], str] = {
    (0, 0): "",
    (1, 0): "batch",
    (5, 0): "vertex_buffer",
    (6, 0): "map_2d",
    (7, 0): "map_cube",
    (9, 0): "map_volume",
    (10, 0): "map_1d",
    (11, 0): "vs_constants",
    (11, 1): "wm_constants",
    (12, 0): "constant_urb",
    (13, 0): "index_buffer",
    (14, 0): "general",
    (14, 0x01): "vs_state",
    (14, 0x02): "gs_state",
    (14, 0x03): "clip_state",
    (14, 0x04): "sf_state",
    (14, 0x05): "wm_state",
    (14, 0x06): "cc_state",
    (14, 0x07): "clip_viewport",
    (14, 0x08): "sf_viewport",
    (14, 0x09): "cc_viewport",
    (14, 0x0A): "sampler",
    (14, 0x0B): "kernel",
    (14, 0x0C): "scratch",
    (14, 0x0D): "default_color",
    (14, 0x15): "scissor",
    (14, 0x16): "blend_state",
    (14, 0x17): "depth_stencil",
    (15, 0): "surface",
    (15, 0x100): "binding_table",
    (15, 0x200): "surface_state",
}
TYPE_OF_KIND = {kind: number for number, kind in KINDS.items()}


@lru_cache(256)
def kind_name(type_number: int, subtype: int) -> str:
    """What events call the data of a block: its subtype's name, else its type's, else nothing."""
    return KINDS.get((type_number, subtype)) or KINDS.get((type_number, 0), "")


def legacy_header(sub_opcode: int, dwords: int) -> int:
    return PACKET_CLIENT << 29 | OPCODE_LEGACY << 23 | sub_opcode << 16 | (dwords - 2)


def memtrace_header(sub_opcode: int, dwords: int) -> int:
    return PACKET_CLIENT << 29 | OPCODE_MEMTRACE << 23 | sub_opcode << 16 | (dwords - 1)
