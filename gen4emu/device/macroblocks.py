"""Media threads as lines of JSON: `gen4emu replay --macroblocks FILE`.

One line a thread, in the order in which they start.  What VFE's modes make of a macroblock is taken apart by the
layouts of `media_inline` in gen4emu.hw.gen4 and gen45; docs/media.md has the format.
"""

from __future__ import annotations

import json
import struct
from enum import IntEnum
from typing import Any, Protocol

from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.media import MediaPayload, MediaPayloads
from gen4emu.hw.catalogue import block_named
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.media import VfeMode
from gen4emu.selection import ALL, Selection

MAX_THREADS = 512  # of one command; 2 MB
BLOCKS = ("y0", "y1", "y2", "y3", "cb", "cr")
_BLOCK_REGISTERS = 4

# The layout at the start of a thread's data.
_LAYOUTS: dict[int, str] = {
    VfeMode.VLD: "PAYLOAD_VLD_R1", VfeMode.IS: "MEDIA_INLINE_IS", VfeMode.AVC_IT: "PAYLOAD_AVC_INLINE",
    VfeMode.AVC_MC: "PAYLOAD_AVC_INLINE", VfeMode.VC1_IT: "MEDIA_INLINE_VC1_IT",
}
_WITH_BLOCKS = (VfeMode.VLD, VfeMode.IS, VfeMode.VC1_IT)  # followed by the coefficients of coded blocks


def describe(payload: MediaPayload, gen: Gen) -> dict[str, Any]:
    """A thread's registers by name."""
    child = {"child": True} if payload.child else {}
    header = block_named("PAYLOAD_MEDIA_R0", gen).view(payload.header, gen=gen)
    found: dict[str, Any] = {
        **child, "mode": _mode(payload.mode), "descriptor": f"0x{payload.descriptor:08x}",
        "kernel": f"0x{payload.kernel:08x}", "count": header.thread_count}
    rows = payload.data
    name = _LAYOUTS.get(payload.mode)
    taken = 0
    if name is not None:
        layout = block_named(name, gen)
        words = [word for row in rows for word in row]
        view = layout.view(words, gen=gen, dwords=layout.size(gen))
        found["macroblock"] = {name: _plain(value) for name, value in view.to_dict().items()}
        taken = (layout.size(gen) + 7) // 8
        if payload.mode in _WITH_BLOCKS:
            coded = [name for name in BLOCKS if found["macroblock"][f"coded_block_{name}"]]
            first = max(taken, len(rows) - _BLOCK_REGISTERS * len(coded))  # inline data may be longer than its layout
            found["blocks"] = {name: _coefficients(rows[first + _BLOCK_REGISTERS * i:][:_BLOCK_REGISTERS])
                               for i, name in enumerate(coded)}
            rows = rows[:first]
    if rows[taken:]:
        found["registers"] = [" ".join(f"{word:08x}" for word in row) for row in rows[taken:]]
    return found


def _mode(mode: int) -> str:
    return VfeMode(mode).name if mode in set(VfeMode) else str(mode)


def _plain(value: Any) -> Any:
    return value.name if isinstance(value, IntEnum) else value


def _coefficients(rows: tuple[tuple[int, ...], ...]) -> list[tuple[int, int]]:
    """The coefficients that are not 0: index, which is row * 8 + column, and value."""
    words = [word for row in rows for word in row]
    values = struct.unpack(f"<{2 * len(words)}h", struct.pack(f"<{len(words)}I", *words))
    return [(index, value) for index, value in enumerate(values) if value]


class TextOutput(Protocol):
    def write(self, text: str, /) -> object: ...


class MacroblockWriter(Listener):
    """Writes every thread that a device starts.  Keeps only the threads of one command."""

    def __init__(self, device: Device, output: TextOutput, submissions: Selection = ALL) -> None:
        """Writes only threads of `submissions`."""
        self._gen, self._output, self._submissions = device.info.gen, output, submissions
        self._device, self._last, self._thread = device, -1, 0

    def start(self) -> None:
        self._payloads = MediaPayloads(self._device.native, MAX_THREADS)
        self._device.add_listener(self)

    def media_done(self) -> None:
        started = self._payloads.started
        if not started:
            return
        number = self._device.submissions
        if number != self._last:
            self._last, self._thread = number, 0
        if number in self._submissions:
            for i in range(len(self._payloads)):
                self._write(1, describe(self._payloads[i], self._gen))
            if started > MAX_THREADS:
                self._write(started - MAX_THREADS, {"lost": started - MAX_THREADS})
        self._payloads.restart()

    def _write(self, threads: int, line: dict[str, Any]) -> None:
        place = self._device.place
        json.dump({"submission": self._last, "draw": place.draw, "thread": self._thread, **line}, self._output,
                  separators=(",", ":"))
        self._output.write("\n")
        self._thread += threads
