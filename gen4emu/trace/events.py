"""The contents of a trace as typed events in file order, independent of the container.

Readers yield them; the decoder, the replay and the writers consume them.  `offset` is the byte position in the
decompressed file, for error messages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from gen4emu.hw import layout
from gen4emu.hw.command_reader import wrapped
from gen4emu.trace.gl_notes import GlNote


class Engine(Enum):
    RENDER = "render"
    BSD = "bsd"
    BLT = "blt"
    VEBOX = "vebox"

    __hash__ = object.__hash__  # that of Enum is executed in Python, and each submission looks its engine up


# The engines as layouts of commands name them.
HARDWARE_ENGINES = {Engine.RENDER: layout.Engine.RENDER, Engine.BSD: layout.Engine.VIDEO,
                    Engine.BLT: layout.Engine.BLITTER, Engine.VEBOX: layout.Engine.VIDEO_ENHANCEMENT}


class Space(Enum):
    """Address spaces of memory writes."""

    GRAPHICS = "graphics"  # through the GTT, as in all Gen4 commands
    PHYSICAL = "physical"
    GLOBAL = "global"  # through the GTT, of chips whose programs have address spaces of their own: rings, contexts


def from_canonical(address: int) -> int:
    """A 48-bit address from its canonical form, in which bits 63 to 48 repeat bit 47; other numbers unchanged."""
    return address & (1 << 48) - 1 if address >> 47 == 0x1FFFF else address


@dataclass(slots=True, frozen=True)
class Header:
    """The program that made the trace, and the device.  The first event if the container has it; may be repeated."""

    offset: int
    pci_id: int | None
    application: str = ""
    comment: str = ""


@dataclass(slots=True, frozen=True)
class MemoryWrite:
    """Bytes that the CPU wrote to memory.  At most 1 MiB: larger writes are split."""

    offset: int
    address: int
    data: bytes | memoryview
    space: Space = Space.GRAPHICS
    kind: str = ""  # the container's name: "batch", "ring", "vs_state", "surface_state", "user", ...


@dataclass(slots=True, frozen=True)
class GttWrite:
    """Consecutive page table entries, starting with number `first`."""

    offset: int
    first: int
    entries: tuple[int, ...]
    entry_bytes: int = 4  # 8 in memtrace packets, even in Gen4 files


@dataclass(slots=True, frozen=True)
class RegisterWrite:
    offset: int
    register: int
    value: int


@dataclass(slots=True)
class Submission:
    """Ring contents to run: the dwords in `ring`, which are at `ring_address`.

    In an error state, `acthd` is the position of the command streamer.  Not frozen, unlike the other events: live
    programs make one for each batch, and a frozen one of so many fields takes four times as long to make.
    """

    offset: int
    engine: Engine
    ring: bytes
    ring_address: int
    acthd: int | None = None  # graphics address of the command that hung, error states only
    hung: bool = False
    batch_address: int | None = None  # error states: the batch object that was running
    wrap: tuple[int, int] | None = None  # start and size of a ring that wraps inside `ring`
    page_table: int | None = None  # Gen8+: root of the context's page table, which maps batch addresses
    context: int = 0  # number of the logical context, in the container or in the run that is recorded

    def address_of(self, position: int) -> int:
        """The address of the byte `ring[position]`."""
        address = self.ring_address + position
        return address if self.wrap is None else wrapped(address, self.wrap)


@dataclass(slots=True, frozen=True)
class FrameBoundary:
    offset: int
    note: str = ""


@dataclass(slots=True, frozen=True)
class SurfaceDump:
    """A request to save a surface as a picture (the AUB BMP packet)."""

    offset: int
    address: int
    x: int
    y: int
    width: int
    height: int
    bytes_per_pixel: int
    pitch_bytes: int
    format: int
    tiling: str  # "linear", "x", "y"


@dataclass(slots=True, frozen=True)
class ExpectedMemory:
    """The digest (`capture.digest`) of memory contents at this point of the original run."""

    offset: int
    address: int
    size: int
    digest: bytes


@dataclass(slots=True, frozen=True)
class Comment:
    offset: int
    text: str


@dataclass(slots=True, frozen=True)
class GlNotes:
    """GL notes of the program that precede the next submission, in order."""

    offset: int
    notes: tuple[GlNote, ...]


@dataclass(slots=True, frozen=True)
class Warning:
    """Something in the file was skipped or repaired; everything valid is still delivered."""

    offset: int
    text: str
    damage: bool = field(default=False, compare=False)  # the file is truncated or damaged: contents are missing


@dataclass(slots=True, frozen=True)
class ErrorState:
    """The registers and tables of an i915 error state.

    Kernels since 5.6 print the registers of a second engine after the buffers of the first one; a second event has
    only the new ones.
    """

    offset: int
    fields: dict[str, str] = field(default_factory=dict)  # "Kernel", "Platform", ... as printed
    registers: dict[str, int] = field(default_factory=dict)  # "EIR", "PGTBL_ER", "render.ACTHD", "fence[0]", ...
    buffers: tuple[tuple[str, int, int], ...] = ()  # (list name, address, size) of the buffer tables


Event = (Header | MemoryWrite | GttWrite | RegisterWrite | Submission | FrameBoundary | SurfaceDump | Comment
         | GlNotes | Warning | ErrorState | ExpectedMemory)
