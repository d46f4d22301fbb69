"""Commands that a device has executed, as readers of the state in force and indexes keep them."""

from __future__ import annotations

from dataclasses import dataclass

from gen4emu.device.place import Place


@dataclass(slots=True, frozen=True, eq=False)
class Executed:
    """A state command that was executed."""

    serial: int
    name: str
    address: int
    data: bytes
    place: Place  # its draw is the last one that had begun
    first: bool  # no draw before it
    bases: tuple[int, int, int]  # general state, surface state, indirect objects: as they were before it
    parts: tuple[int | str, ...]  # the parts of the state that it set
