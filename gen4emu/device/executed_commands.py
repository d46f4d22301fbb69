"""Commands that a device has executed, as readers of the state in force and indexes keep them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gen4emu.device.place import Place


@dataclass(slots=True, frozen=True, eq=False)
class ExecutedCommand:
    """A state command that was executed."""

    serial: int
    name: str
    address: int
    data: bytes
    place: Place  # its draw is the last one that had begun
    first: bool  # no draw before it
    bases: Mapping[str, int]  # those that its pointers count from, if it resolves them when it is executed
    parts: tuple[int | str, ...]  # the parts of the state that it set
