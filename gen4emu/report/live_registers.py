"""The registers that a kernel needs at each of its instructions."""

from __future__ import annotations

from gen4emu._native import ffi, lib
from gen4emu.device.memory import PAGE_SIZE, Memory
from gen4emu.hw.gen import Gen

_STEP = 8  # bytes: of a compacted instruction


def live_registers(code: bytes, gen: Gen) -> dict[int, int] | None:
    """The number of registers that may be read again before each instruction, by byte offset.

    Registers that are read as scalars, with strides or as payloads count everywhere.  Instructions that are not
    reached from the first one are missing.  None: unknown, because channels may continue anywhere or any register may
    be read.
    """
    slots = len(code) // _STEP
    live = ffi.new("uint8_t[]", slots)
    with Memory() as memory:
        memory.write(PAGE_SIZE, code)
        if not lib.g4_kernel_live_registers(memory.handle, int(gen), PAGE_SIZE, live, slots):
            return None
    return {_STEP * slot: live[slot] for slot in range(slots) if live[slot] != lib.G4_LIVE_NONE}
