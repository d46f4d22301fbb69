"""Rules that kernels and messages broke, first errors of shared functions, and hangs, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gen4emu.core_enums import Event, Status, Unit
from gen4emu.errors import HangError

# Texts of the events of the core.
EVENT_TEXT: dict[Event, str] = {
    Event.BAD_SFID: "message to a function that does not exist",
    Event.BAD_MESSAGE: "message that its function does not define",
    Event.BAD_LENGTH: "message of the wrong length",
    Event.BAD_RESPONSE: "response length that does not fit",
    Event.EOT_IGNORED: "end of thread in a register descriptor",
    Event.EOT_WRONG_UNIT: "end of thread sent to a unit that cannot end one",
    Event.ILLEGAL_OPCODE: "illegal opcode",
    Event.MASK_STACK: "mask stack overflow or underflow",
    Event.GRF_RANGE: "register outside the thread's allocation",
    Event.INDIRECT_CARRY: "indirect address with a carry that is lost",
    Event.EXCEPTION: "exception",
    Event.URB_RANGE: "URB write beyond the entry",
    Event.URB_PROTOCOL: "URB write with Allocate and end of thread",
    Event.BAD_SURFACE: "surface that the message cannot use",
    Event.BAD_FORMAT: "format that the unit does not support",
    Event.BAD_TOPOLOGY: "topology that the unit cannot take",
    Event.BAD_STATE: "reserved value in a state block",
    Event.RT_FLAGS: "render target write whose length contradicts its header",
    Event.UNMODELLED: "not modelled",
    Event.SILICON_DIFFERS: "real G4x returns something else here",
    Event.BITSTREAM: "illegal code in slice data, the rest of the slice is dropped",
    Event.THREAD_LEAK: "root thread that ended without a message to the thread spawner",
    Event.DEADLOCK: "media threads that wait for each other",
    Event.NO_DEPTH_BUFFER: "a pixel shader computes depth, but there is no depth buffer",
    Event.LARGE_OBJECT: "object of more than 8192 pixels, which the manual tells software to avoid",
    Event.HIERARCHICAL_DEPTH: "entry of a hierarchical depth buffer that contradicts the depth buffer",
    Event.STALE_DEPTH: "read of depth that only the hierarchical depth buffer has: a resolve is missing",
    Event.URB_READ_RANGE: "URB read beyond the entry",
}
_NOTES = frozenset({Event.SILICON_DIFFERS, Event.NO_DEPTH_BUFFER, Event.LARGE_OBJECT})

_STATUS_TEXT: dict[int, str] = {
    Status.FAULT: "a kernel could not be read", Status.BAD_VALUE: "state that cannot be used",
    Status.NO_MEMORY: "out of memory", Status.HANG: "threads do not end", Status.STOPPED: "stopped by a debugger",
}


@dataclass(frozen=True, slots=True)
class EventCount:
    """How often kernels or messages broke one rule, and where first."""

    kind: int
    text: str
    count: int
    address: int
    value: int

    @property
    def is_note(self) -> bool:
        """Whether it is only worth knowing, not an error."""
        return self.kind in _NOTES

    def __str__(self) -> str:
        return f"{self.text}: {self.count} times, first at 0x{self.address:08x} (value 0x{self.value:08x})"


@dataclass(frozen=True, slots=True)
class ErrorRecord:
    """The first bad message of a shared function, as the function's debug registers hold it."""

    function: int
    unit: Unit  # the unit whose thread sent it
    euid: int
    tid: int
    descriptor: int
    header: tuple[int, int]  # dwords 6 and 7
    cause: int  # bit of the function's error code
    address: int

    def as_json(self) -> dict[str, object]:
        return {"function": self.function, "unit": self.unit.name, "euid": self.euid, "tid": self.tid,
                "descriptor": self.descriptor, "header": list(self.header), "cause": self.cause,
                "address": self.address}

    def __str__(self) -> str:
        return (f"function {self.function}: message 0x{self.descriptor:08x} of a {self.unit.name} thread on eu "
                f"{self.euid}, slot {self.tid}, at 0x{self.address:08x}, R0.6 0x{self.header[0]:08x}, "
                f"R0.7 0x{self.header[1]:08x}, cause {self.cause}")


class BlitHang(HangError):
    """The blits of a batch write too many pixels."""


class EuHang(HangError):
    """Threads do not end, or a kernel cannot be run."""

    def __init__(self, address: int, doing: str, status: int, fault: Any) -> None:
        """`address` is that of the command; `fault` is the core's `struct g4_fault`."""
        why = _STATUS_TEXT[status]
        if status == Status.HANG and fault.address and fault.what in EVENT_TEXT:
            why += f": {EVENT_TEXT[fault.what]}"
        super().__init__(f"hang at 0x{address:08x} in {doing}: {why} (unit {Unit(fault.unit).name}, "
                         f"address 0x{fault.address:08x}, value 0x{fault.value:08x})")
