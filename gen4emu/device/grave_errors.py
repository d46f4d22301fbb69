"""Rules that no working driver breaks: commands that execute a trace end with exit status 1 after them."""

from __future__ import annotations

from gen4emu._native import lib
from gen4emu.device.device import Device
from gen4emu.device.memory import FaultKind

_EVENTS = (lib.G4_EVENT_ILLEGAL_OPCODE,)
_FAULTS = (FaultKind.UNMAPPED_READ, FaultKind.UNMAPPED_WRITE, FaultKind.READ_ONLY_WRITE, FaultKind.NO_MEMORY_WRITE)


def has_grave_errors(device: Device) -> bool:
    """Whether the device met one of them."""
    return any(kind in device.faults.counts for kind in _FAULTS) or any(e.kind in _EVENTS for e in device.events())
