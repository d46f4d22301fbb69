"""The enumerations and numbers that Python and the C core share, each written once, here.

`generate()` makes native/generated/enums.h of them, for the core and for cffi.  The text after a number describes the
member; it becomes the comment in the header.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Self

PAGE_SHIFT = 12
PAGE_SIZE = 1 << PAGE_SHIFT
GRF_COUNT = 128
MRF_COUNT = 16  # of Gen4
FENCE_COUNT = 16  # of the aperture
DEBUG_NUMBERS = 0xFFFFFF  # threads, objects and vertices are numbered modulo one more than this


class CoreEnum(IntEnum):
    """A number with a description."""

    doc: str

    def __new__(cls, value: int, doc: str = "") -> Self:
        member = int.__new__(cls, value)
        member._value_ = value
        member.doc = doc
        return member


class Status(CoreEnum):
    """How a call of the core ended."""

    OK = 0
    FAULT = 1, "a memory access that stops a strict device; the port's log says which"
    BAD_VALUE = 2, "an argument or a field that cannot be used"
    NO_MEMORY = 3, "the host's memory or the limit given to g4_mem_create is used up"
    HANG = 4, "a thread does not end, or cannot continue"
    STOPPED = 5, "the debugger abandoned the draw"


class Unit(CoreEnum):
    """The hardware unit that accesses memory."""

    CPU = 0
    CS = 1
    VF = 2
    VS = 3
    GS = 4
    CLIP = 5
    SF = 6
    WM = 7
    CC = 8
    VFE = 9
    TS = 10
    EU = 11
    SAMPLER = 12
    DATA_PORT = 13
    BLT = 14
    APERTURE = 15
    HS = 16
    DS = 17


class FaultKind(CoreEnum):
    """Why a memory access failed."""

    UNMAPPED_READ = 0, "no valid page table entry: reads as 0"
    UNMAPPED_WRITE = 1, "no valid page table entry: dropped"
    READ_ONLY_WRITE = 2, "dropped"
    NO_MEMORY_WRITE = 3, "no host page left: dropped"
    UNWRITTEN_READ = 4, "a page without contents: reads as 0, never stops the device"

    @property
    def text(self) -> str:
        """The fault in words for users."""
        return _FAULT_TEXT[self]


_FAULT_TEXT = {
    FaultKind.UNMAPPED_READ: "read of an address that nothing maps",
    FaultKind.UNMAPPED_WRITE: "write to an address that nothing maps",
    FaultKind.READ_ONLY_WRITE: "write to a read-only page",
    FaultKind.NO_MEMORY_WRITE: "write to a page for which no memory is left",
    FaultKind.UNWRITTEN_READ: "read of memory that nothing has written",
}


class PageFlags(IntFlag):
    """The state of a page."""

    PRESENT = 1
    EXTERNAL = 2
    WRITTEN = 4
    READ_ONLY = 8
    MISSED_READ = 16
    MISSED_WRITE = 32


_PAGE_FLAGS_DOC = {
    PageFlags.PRESENT: "the page table entry is valid; without a page table: the page has been written",
    PageFlags.EXTERNAL: "memory that the core does not own",
    PageFlags.WRITTEN: "has contents",
    PageFlags.READ_ONLY: "writes of the device are dropped",
    PageFlags.MISSED_READ: "was read while unmapped or unwritten",
    PageFlags.MISSED_WRITE: "a write was dropped",
}


class Tiling(CoreEnum):
    """The order of a surface's bytes in memory."""

    LINEAR = 0
    X = 1
    Y = 2
    W = 3

    @property
    def tile(self) -> tuple[int, int]:
        """Bytes across and rows down of a tile."""
        return _TILES[self]


_TILES = {Tiling.LINEAR: (1, 1), Tiling.X: (512, 8), Tiling.Y: (128, 32), Tiling.W: (64, 64)}


class Swizzle(CoreEnum):
    """The address bits that are XORed into bit 6, with the numbers that Linux reports."""

    NONE = 0
    BIT_9 = 1
    BIT_9_10 = 2
    BIT_9_11 = 3
    BIT_9_10_11 = 4
    UNKNOWN = 5
    BIT_9_17 = 6
    BIT_9_10_17 = 7


class Counter(CoreEnum):
    """Pipeline statistics."""

    IA_VERTICES = 0
    IA_PRIMITIVES = 1
    VS_INVOCATIONS = 2
    GS_INVOCATIONS = 3
    GS_PRIMITIVES = 4
    CL_INVOCATIONS = 5
    CL_PRIMITIVES = 6
    PS_INVOCATIONS = 7
    PS_DEPTH = 8
    CS_INVOCATIONS = 9
    HS_INVOCATIONS = 10
    DS_INVOCATIONS = 11


class Event(CoreEnum):
    """A rule that a kernel, a message or a command broke.  Counted, never fatal by itself."""

    BAD_SFID = 0, "value: descriptor"
    BAD_MESSAGE = 1, "unknown opcode or type; value: descriptor"
    BAD_LENGTH = 2, "message length that the opcode does not allow; value: descriptor"
    BAD_RESPONSE = 3, "response length that does not fit; value: descriptor"
    EOT_IGNORED = 4, "EOT in a register descriptor"
    EOT_WRONG_UNIT = 5, "EOT to a unit that may not end threads"
    ILLEGAL_OPCODE = 6, "value: first dword"
    MASK_STACK = 7, "overflow or underflow"
    GRF_RANGE = 8, "register outside the thread's allocation"
    INDIRECT_CARRY = 9, "the sum of address register and offset exceeds its field"
    EXCEPTION = 10, "an enabled exception was taken; value: cr0.1"
    URB_RANGE = 11, "URB write beyond the entry window; value: row"
    URB_PROTOCOL = 12, "Complete/Used/Allocate combination that is not allowed; value: descriptor"
    BAD_SURFACE = 13, "surface state that the message cannot use; value: binding table index"
    BAD_FORMAT = 14, "format that the unit does not support; value: format"
    BAD_TOPOLOGY = 15, "value: topology code"
    BAD_STATE = 16, "a state field with a reserved value; value: the field"
    RT_FLAGS = 17, "render target write whose length contradicts M1.6; value: descriptor"
    UNMODELLED = 18, "legal, but not modelled; value: the feature"
    SILICON_DIFFERS = 19, "real G4x returns something else (docs/decisions.md 34); value: descriptor"
    BITSTREAM = 20, "an illegal code in slice data, the rest is dropped; value: bit"
    THREAD_LEAK = 21, "a root thread ended without a message to the spawner; value: FFTID"
    DEADLOCK = 22, "media threads wait for each other; value: their number"
    NO_DEPTH_BUFFER = 23, ("note: pixel shader outputs depth but no depth buffer is bound; value: dword 1 of "
                           "3DSTATE_DEPTH_BUFFER")
    LARGE_OBJECT = 24, "note: wider or higher than 8192 pixels, which hardware need not get right; value: pixels"
    HIERARCHICAL_DEPTH = 25, ("an entry of the hierarchical depth buffer, whose address it is, contradicts the depth "
                              "buffer; value: its address")
    STALE_DEPTH = 26, ("unresolved depth is read through the surface state at the address, or by the depth test if "
                       "that is 0; value: address of the depth buffer")
    URB_READ_RANGE = 27, "URB read beyond the entry window; value: row"


class HierarchicalDepthMode(CoreEnum):
    """How hierarchical depth buffers are modelled."""

    OFF = 0, "they are neither read nor written"
    ON = 1, "their entries are kept, and checked against the depth buffer, which has all depths at any time"
    STRICT = 2, "some depths are only in the entries until they are resolved"


class CountedStage(CoreEnum):
    """Units whose threads are counted separately."""

    VS = 0
    GS = 1
    CLIP = 2
    SF = 3
    WM = 4
    MEDIA = 5
    HS = 6
    DS = 7


class CountedPixels(CoreEnum):
    """Counts that the core can keep for each pixel."""

    COVERED = 0  # by objects, after stipples
    STENCIL_FAILED = 1
    DEPTH_FAILED = 2
    SHADED = 3  # given to pixel shader threads
    ENDED = 4  # in the messages that end them
    ALPHA_FAILED = 5
    WRITTEN = 6
    UNWRITTEN = 7  # passed all tests without a render target to write
    INSTRUCTIONS = 8  # of the threads that shade it


class MeshStage(CoreEnum):
    """The stages whose vertices and objects the core can record."""

    VS = 0, "or vertex fetch, without a vertex shader"
    DS = 1, "from domain shaders"
    GS = 2, "from geometry shaders"
    CLIP = 3, "as SF takes them"


class SurfaceRole(CoreEnum):
    """How a surface is used."""

    VERTEX_BUFFER = 0
    INDEX_BUFFER = 1
    TEXTURE = 2, "read by the sampler"
    BUFFER = 3, "accessed by the data port's buffer messages: mostly constants"
    SCRATCH = 4, "stateless memory"
    MEDIA_BLOCK = 5, "accessed by media block messages"
    RENDER_TARGET = 6
    DEPTH_BUFFER = 7


class DebugKind(CoreEnum):
    """Events that the core reports to a debugger."""

    THREAD = 0, "a thread has its payload and is about to start"
    SETTLED = 1, "all traps of a thread have been reported: now they may be changed"
    VERTEX = 2, "a trap's vertex was fetched, in a draw without a vertex shader"
    INSTRUCTION = 3, "a thread is about to execute an instruction"
    WRITE = 4, "a message of the thread has changed a watched range"
    MESSAGE = 5, "a message of the thread was answered"
    EXCEPTION = 6, "an enabled exception; value: bit of cr0.1's enables, from 11"
    ATTENTION = 7, "the thread waits for the host (`wait n1`)"
    IN_FLIGHT = 8, "the thread accesses a register that waits for a response that never comes; value: the register"
    OBJECT = 9, "an object that may cover the watched pixel, or that a trap names, has been set up"
    FRAGMENT = 10, "the fate of a fragment of the watched pixel"
    NOT_FINITE = 11, "a thread has computed its first NaN or infinity"
    DENORMAL = 12, "a thread has read or computed its first denormal"


class DebugAction(CoreEnum):
    """How a draw continues after an event."""

    GO = 0
    STEP = 1, "report the thread's next instruction"
    FINISH = 2, "report the instruction that ends the thread"
    ABANDON = 3, "end the draw with G4_STOPPED"
    BACK = 4, "execute the thread again: after g4_debug_go_back"


class TrapKind(CoreEnum):
    """The threads that a trap matches as they start."""

    THREAD = 0, "number `value` of `units`"
    EVERY_THREAD = 1, "of `units`"
    OBJECT = 2, "the setup thread of object `value`"
    PIXEL = 3, "pixel shader threads with the 2x2 block of x, y"
    VERTEX_INDEX = 4, "the vertex shader thread of index `value`"
    VERTEX_SEQUENCE = 5, "the vertex shader thread of the vertex with sequence number `value`"
    DEBUG_ID = 6, "R0.6 and R0.7 under masks, threads of `units`"


class BreakKind(CoreEnum):
    """The instructions that a breakpoint matches."""

    ADDRESS = 0, "graphics address in low..high"
    OPCODE = 1, "low"
    END = 2, "messages that end the thread"
    MESSAGE = 3, "descriptor & mask == low"
    DEBUG_CONTROL = 4, "the instruction's Debug Control bit"
    WRITE = 5, "messages that change memory in low..high"
    EVERY = 6, "any instruction"
    NOT_FINITE = 7, "the first of a thread that computes a NaN or an infinity, after it"
    DENORMAL = 8, "the first of a thread that reads or computes a denormal, after it"
    FUNCTION = 9, "messages to the shared function with this number, which is low"


class OperandFile(CoreEnum):
    """The registers of an operand."""

    NONE = 0
    IMMEDIATE = 1
    GRF = 2
    MRF = 3
    ACCUMULATOR = 4
    ARCHITECTURE = 5, "flags, addresses, control"


class ErrorPolicy(CoreEnum):
    """How bad messages are handled."""

    LENIENT = 0
    STRICT = 1, "the thread stops"
    HARDWARE = 2, "the destination stays in flight; a thread that accesses it hangs"


class Fate(CoreEnum):
    """How a fragment ended."""

    STIPPLED = 0
    EARLY_STENCIL = 1, "failed before the shader"
    EARLY_DEPTH = 2, "failed before the shader"
    DEPTH_ONLY = 3, "passed, and no shader runs"
    KILLED = 4, "the shader cleared its bit"
    ALPHA = 5
    STENCIL = 6
    DEPTH = 7
    OUTSIDE = 8, "of the render target"
    NO_COLOR = 9, "passed, no color is written"
    WRITTEN = 10


class BltPattern(CoreEnum):
    """The pattern of a blit."""

    NONE = 0
    SOLID = 1
    COLOR = 2
    MONO = 3


class BltSource(CoreEnum):
    """The source of a blit."""

    NONE = 0
    COLOR = 1
    MONO = 2


class NoteKind(CoreEnum):
    """The kind of a note about a program's GL calls, with its words (docs/formats.md)."""

    SOURCE = 1, "shader, stage; GLSL"
    COMPILE = 2, "shader"
    ATTACH = 3, "program, shader"
    DETACH = 4, "program, shader"
    LINK = 5, "program"
    USE = 6, "program"
    LABEL = 7, "kind of object, its name; text"
    PUSH = 8, "source, id; the name of a debug group"
    POP = 9
    MARKER = 10, "text"
    DRAW = 11, "topology, vertices, instances, draws; UINT32_MAX: not known"
    LOST = 12, "how many notes are missing here"
    DIGEST = 13, "shader, SHA-1 of the source as GL got it; only where the text of SOURCE differs from that"
    DRIVER = 64, "a section of what the driver printed about a shader"


# Class, the C enumeration, the prefix of its members, and the name of their number if C uses it.
_EMITTED: list[tuple[type[IntEnum] | type[IntFlag], str, str, str]] = [
    (Status, "g4_status", "G4_", ""),
    (Unit, "g4_unit", "G4_UNIT_", ""),
    (FaultKind, "g4_fault_kind", "G4_FAULT_", "G4_FAULT_KINDS"),
    (PageFlags, "g4_page_flags", "G4_PAGE_", ""),
    (Tiling, "g4_tiling", "G4_TILING_", ""),
    (Swizzle, "g4_swizzle", "G4_SWIZZLE_", "G4_SWIZZLE_COUNT"),
    (Counter, "g4_counter", "G4_COUNTER_", "G4_COUNTERS"),
    (Event, "g4_event", "G4_EVENT_", "G4_EVENTS"),
    (HierarchicalDepthMode, "g4_hierarchical_depth_mode", "G4_HIERARCHICAL_DEPTH_MODE_", ""),
    (CountedStage, "g4_counted_stage", "G4_COUNTED_", "G4_COUNTED_STAGES"),
    (CountedPixels, "g4_counted_pixels", "G4_MAP_", "G4_PIXEL_MAPS"),
    (MeshStage, "g4_mesh_stage", "G4_MESH_", "G4_MESH_STAGES"),
    (SurfaceRole, "g4_surface_role", "G4_ROLE_", "G4_SURFACE_ROLES"),
    (DebugKind, "g4_debug_kind", "G4_DEBUG_", ""),
    (DebugAction, "g4_debug_action", "G4_DEBUG_", ""),
    (TrapKind, "g4_trap_kind", "G4_TRAP_", ""),
    (BreakKind, "g4_breakpoint_kind", "G4_BREAK_", ""),
    (OperandFile, "g4_operand_file", "G4_OPERAND_", ""),
    (ErrorPolicy, "g4_error_policy", "G4_ERRORS_", ""),
    (Fate, "g4_debug_fate", "G4_FATE_", ""),
    (BltPattern, "g4_blt_pattern", "G4_BLT_PATTERN_", ""),
    (BltSource, "g4_blt_source", "G4_BLT_SOURCE_", ""),
    (NoteKind, "gl_note_kind", "GL_NOTE_", ""),
]


# The numbers above by their names in C.
_NUMBERS = {"G4_PAGE_SHIFT": PAGE_SHIFT, "G4_PAGE_SIZE": PAGE_SIZE, "G4_GRF_COUNT": GRF_COUNT,
            "G4_MRF_COUNT": MRF_COUNT, "G4_FENCE_COUNT": FENCE_COUNT, "G4_DEBUG_NUMBERS": DEBUG_NUMBERS}


def _member(member: IntEnum | IntFlag, prefix: str) -> str:
    doc = _PAGE_FLAGS_DOC[member] if isinstance(member, PageFlags) else getattr(member, "doc", "")
    name = str(member.name).removeprefix("BIT_") if isinstance(member, Swizzle) else member.name
    return f"    {prefix}{name} = {int(member)},{f' /* {doc} */' if doc else ''}\n"


def generate() -> str:
    """The C header with all enumerations and numbers, and the dimensions of tiles."""
    parts = ["/* Generated from gen4emu/core_enums.py: do not edit. */\n#ifndef G4_GENERATED_ENUMS_H\n"
             "#define G4_GENERATED_ENUMS_H\n"]
    numbers = [f"    {name} = {value},\n" for name, value in _NUMBERS.items()]
    parts.append(f"\n/* Numbers. */\nenum g4_numbers {{\n{''.join(numbers)}}};\n")
    for cls, name, prefix, count in _EMITTED:
        members = [_member(member, prefix) for member in cls]
        if count:
            members.append(f"    {count} = {len(members)},\n")
        parts.append(f"\n/* {(cls.__doc__ or '').strip()} */\nenum {name} {{\n{''.join(members)}}};\n")
    tiles = [f"    G4_TILE_{t.name}_WIDTH = {t.tile[0]},\n    G4_TILE_{t.name}_HEIGHT = {t.tile[1]},\n"
             for t in Tiling if t is not Tiling.LINEAR]
    parts.append(f"\n/* A tile in bytes across and rows down. */\nenum g4_tile_dimensions {{\n{''.join(tiles)}}};\n")
    return "".join([*parts, "\n#endif\n"])
