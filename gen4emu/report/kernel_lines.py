"""Of each instruction of a kernel: how often it was executed, and how many registers it needs."""

from __future__ import annotations

from gen4emu._native import ffi, lib
from gen4emu.device.counters import KernelCount, LineCount
from gen4emu.device.memory import PAGE_SIZE, Memory
from gen4emu.hw.gen import Gen

_STEP = 8  # bytes: of a compacted instruction


def line_counts(codes: list[bytes], counted: list[KernelCount]) -> list[dict[int, LineCount] | None]:
    """The executed instructions of each kernel, by byte offset; None for a kernel that has not run.

    The core may decode more or fewer instructions beyond the end of a kernel than the decoder, so kernels are
    the same if one begins with the other.  If several do, the longest is meant.
    """
    found: list[dict[int, LineCount] | None] = [None] * len(codes)
    for kernel in counted:
        same = [i for i, code in enumerate(codes) if code.startswith(kernel.code) or kernel.code.startswith(code)]
        if not same:
            continue
        into = max(same, key=lambda i: min(len(codes[i]), len(kernel.code)))
        lines = found[into] or {}
        for offset, line in kernel.lines.items():
            lines[offset] = lines.get(offset, LineCount(0, 0)) + line
        found[into] = lines
    return found


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
