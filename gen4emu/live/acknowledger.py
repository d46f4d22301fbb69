"""A device that acknowledges batches without executing them, for chips that only record.

Programs see every batch complete at once.  Memory stays as the program wrote it, but for the few values without which
programs wait for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gen4emu.device.events import EventCount
from gen4emu.device.memory import Faults
from gen4emu.hw import chips
from gen4emu.live.buffer_memory import BufferMemory
from gen4emu.live.immediate_writes import ImmediateWrites
from gen4emu.trace.events import Submission


class Findings:
    """Unmodelled operations: none, because nothing is executed."""

    count: dict[str, int] = {}


class Acknowledger:
    """The part of a Device that a connection uses."""

    waited_for: frozenset[int] = frozenset()  # no batch waits for a program

    def __init__(self, info: chips.Device) -> None:
        self.info = info
        self.memory = BufferMemory(info.address_space_bytes)
        self.findings = Findings()
        self.faults = Faults({}, {})
        self._writes = ImmediateWrites(info)
        self._ticks = 0

    def timestamp(self) -> int:
        """A clock that counts its readings and the batches."""
        self._ticks += 1
        return self._ticks

    def submit(self, submission: Submission) -> None:
        self._ticks += 1
        for address, data in self._writes.of(submission.batch_address or 0, self.memory.read, self.timestamp):
            self.memory.write(address, data)

    def reset(self) -> None:
        """Nothing has a state."""

    def leave_processor(self) -> None:
        """Nothing takes so long that it would matter."""

    def counts(self) -> dict[Any, int]:
        return {}

    def hierarchical_depth_counts(self) -> dict[str, int]:
        return {}

    def events(self) -> Iterator[EventCount]:
        return iter(())

    def close(self) -> None:
        """Nothing is owned."""
