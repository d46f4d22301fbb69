"""What a trace says, as typed events in file order, whatever the container.

A reader yields these; the decoder, the replay and the writers consume them.  `offset` is the byte position in the
(decompressed) file, for error messages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Engine(Enum):
    RENDER = "render"
    BSD = "bsd"
    BLT = "blt"


class Space(Enum):
    """The address space that a memory write names."""

    GRAPHICS = "graphics"  # through the GTT: what every Gen4 command uses
    PHYSICAL = "physical"


@dataclass(slots=True, frozen=True)
class Header:
    """Who made the trace, and on which device.  First event where the container says it; may come again."""

    offset: int
    pci_id: int | None
    application: str = ""
    comment: str = ""


@dataclass(slots=True, frozen=True)
class MemoryWrite:
    """Bytes placed in memory by the CPU.  At most 1 MiB an event: larger writes are split."""

    offset: int
    address: int
    data: bytes | memoryview
    space: Space = Space.GRAPHICS
    kind: str = ""  # what the container calls it: "batch", "ring", "vs_state", "surface_state", "user", ...


@dataclass(slots=True, frozen=True)
class GttWrite:
    """Page table entries, from entry number `first` on."""

    offset: int
    first: int
    entries: tuple[int, ...]
    entry_bytes: int = 4  # 8 in memtrace packets, even those of Gen4 files


@dataclass(slots=True, frozen=True)
class RegisterWrite:
    offset: int
    register: int
    value: int


@dataclass(slots=True, frozen=True)
class Submission:
    """Ring contents to run, from `head` to the end of `ring`.

    `ring` holds dwords that live at `ring_address`.  An error state adds where the command streamer stood.
    """

    offset: int
    engine: Engine
    ring: bytes
    ring_address: int
    acthd: int | None = None  # graphics address of the command that hung, error states only
    hung: bool = False
    batch_address: int | None = None  # error states: the batch object that was running
    wrap: tuple[int, int] | None = None  # start and size of a ring whose end lies inside `ring`: it goes on at start
    page_table: int | None = None  # Gen8+: the root of the context's own page table; batch addresses go through it

    def address_of(self, position: int) -> int:
        """Where the byte `ring[position]` lives."""
        address = self.ring_address + position
        if self.wrap is None:
            return address
        start, size = self.wrap
        return start + (address - start) % size


@dataclass(slots=True, frozen=True)
class FrameBoundary:
    offset: int
    note: str = ""


@dataclass(slots=True, frozen=True)
class SurfaceDump:
    """A request to save a surface as a picture (AUB BMP packet)."""

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
    """What memory held at this point when the trace was made, by `capture_format.digest`."""

    offset: int
    address: int
    size: int
    digest: bytes


@dataclass(slots=True, frozen=True)
class Comment:
    offset: int
    text: str


@dataclass(slots=True, frozen=True)
class Warning:
    """Something in the file that was skipped or repaired: what was good is still delivered."""

    offset: int
    text: str
    damage: bool = field(default=False, compare=False)  # the file is cut short: what follows is missing


@dataclass(slots=True, frozen=True)
class ErrorState:
    """The registers and tables of an i915 error state that are not memory.

    Kernels since 5.6 print the registers of a second engine after the buffers of the first: then a second event says
    what is new.
    """

    offset: int
    fields: dict[str, str] = field(default_factory=dict)  # "Kernel", "Platform", ... as printed
    registers: dict[str, int] = field(default_factory=dict)  # "EIR", "PGTBL_ER", "render.ACTHD", "fence[0]", ...
    buffers: tuple[tuple[str, int, int], ...] = ()  # (list name, address, size) of the buffer tables


Event = (Header | MemoryWrite | GttWrite | RegisterWrite | Submission | FrameBoundary | SurfaceDump | Comment
         | Warning | ErrorState | ExpectedMemory)
