"""A ring buffer driven through its registers: HEAD, TAIL, START, CTL (spec/05 2.4, 3.1).

A write of TAIL executes what lies between HEAD and TAIL.  Traces that carry ring contents do not come through here.
"""

from __future__ import annotations

from gen4emu.device.command_streamer import CommandStreamer
from gen4emu.device.memory import Memory, Missing, Unit
from gen4emu.device.registers import RegisterFile

_PAGE = 4096
_WRAP = 0x200000  # one more turn, in HEAD
_OFFSET = 0x1FFFFC


class Ring:
    """One ring's registers, `prefix` being RENDER or VIDEO."""

    def __init__(self, prefix: str, memory: Memory, registers: RegisterFile, streamer: CommandStreamer) -> None:
        self._memory, self._registers, self._streamer = memory, registers, streamer
        self._tail, self._head, self._start, self._ctl = (
            registers.offset(f"{prefix}_RING_{name}") for name in ("TAIL", "HEAD", "START", "CTL"))
        registers.on_write(self._tail, self._run)

    @property
    def size(self) -> int:
        return ((self._registers.read(self._ctl) >> 12 & 0x1FF) + 1) * _PAGE

    def _run(self, tail: int) -> None:
        """Everything from HEAD to the new TAIL; HEAD follows, wraps counted."""
        r = self._registers
        if not r.read(self._ctl) & 1:
            return
        size, start, head = self.size, r.read(self._start) & ~(_PAGE - 1), r.read(self._head)
        at, end = (head & _OFFSET) % size, (tail & 0x1FFFF8) % size
        if at == end:
            return
        wraps = end < at
        pieces = [(at, size), (0, end)] if wraps else [(at, end)]
        data = b"".join(self._memory.read(start + a, b - a, Missing.ZERO, Unit.CS) for a, b in pieces if a < b)
        self._streamer.run_ring(data, start + at, wrap=(start, size))
        turned = (head & ~_OFFSET & 0xFFFFFFFF) + (_WRAP if wraps else 0)
        r.poke(self._head, turned & 0xFFE00000 | end)
