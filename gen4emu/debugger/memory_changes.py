"""The draw or upload that changed some ranges of memory last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.memory import Missing
from gen4emu.device.place import Place
from gen4emu.hw.command_reader import Words

Range = tuple[int, int]  # address and size


@dataclass(frozen=True, slots=True)
class Change:
    """How memory got its contents."""

    place: Place | None  # None: it has never changed
    by_draw: bool  # else by the trace itself, before this draw

    @property
    def text(self) -> str:
        if self.place is None:
            return "never written"
        return f"written by draw {self.place.draw}" if self.by_draw else f"uploaded before draw {self.place.draw}"

    def as_json(self) -> dict[str, Any]:
        if self.place is None:
            return {"kind": "none", "draw": None}
        return {"kind": "draw" if self.by_draw else "upload", **self.place.as_json()}


class MemoryChanges(Listener):
    """Compares ranges of memory at the start and the end of each draw.  Writes of equal bytes are not seen."""

    def __init__(self, ranges: Iterable[Range], draw: int) -> None:
        """Up to the start of a draw."""
        self.found: dict[Range, Change] = {r: Change(None, by_draw=False) for r in ranges}
        self._draw = draw
        self._before: dict[Range, bytes] = {(address, size): bytes(size) for address, size in self.found}
        self._device: Device | None = None

    def join(self, device: Device) -> None:
        self._device = device
        device.add_listener(self)

    def draw_started(self, words: Words) -> None:
        self._compare(by_draw=False)

    def draw_done(self) -> None:
        self._compare(by_draw=True)

    def _compare(self, *, by_draw: bool) -> None:
        assert self._device is not None
        place = self._device.place
        if place.draw > self._draw or (by_draw and place.draw == self._draw):
            return
        for (address, size), before in self._before.items():
            now = self._device.memory.read(address, size, Missing.ZERO)
            if now != before:
                self._before[address, size] = now
                self.found[address, size] = Change(place, by_draw)
