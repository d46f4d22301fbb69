"""A ring buffer driven through its registers: HEAD, TAIL, START, CTL.

A write to TAIL executes the commands between HEAD and TAIL.  Traces that carry ring contents do not use this module.
"""

from __future__ import annotations

from collections.abc import Callable

from gen4emu.device.command_streamer import CommandStreamer
from gen4emu.device.memory import Memory, Missing, Unit
from gen4emu.device.registers import RegisterFile


class Ring:
    """The registers of one ring; `prefix` is RENDER or VIDEO."""

    def __init__(self, prefix: str, memory: Memory, registers: RegisterFile,
                 streamer: Callable[[], CommandStreamer]) -> None:
        self._memory, self._registers, self._streamer = memory, registers, streamer
        self._tail, self._head, self._start, self._ctl = (
            f"{prefix}_RING_{name}" for name in ("TAIL", "HEAD", "START", "CTL"))
        registers.on_write(registers.offset(self._tail), self._run)

    def _run(self, tail: int) -> None:
        """Execute the commands from HEAD to the new TAIL.  HEAD follows and counts how often the ring wrapped."""
        r = self._registers
        control = r.view(self._ctl)
        if not control.enable:
            return
        size, start, head = control.buffer_length, r.view(self._start).starting_address, r.view(self._head)
        at, end = head.head_offset % size, r.view(self._tail).tail_offset % size
        if at == end:
            return
        wraps = end < at
        pieces = [(at, size), (0, end)] if wraps else [(at, end)]
        data = b"".join(self._memory.read(start + a, b - a, Missing.ZERO, Unit.CS) for a, b in pieces if a < b)
        self._streamer().run_ring(data, start + at, wrap=(start, size))
        turns = head.wrap_count + wraps & r.field(self._head, "wrap_count").mask
        r.poke(r.offset(self._head), r.pack(self._head, wrap_count=turns, head_offset=end))
