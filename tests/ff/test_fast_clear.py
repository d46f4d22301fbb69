"""Fast clears on Gen7: whole rows of a tile, which are filled, have the pixels of tiles that are written in parts."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.options import Options
from gen4emu.hw.catalogue import block_named, command_named
from gen4emu.hw.chips import BY_PCI_ID
from gen4emu.hw.gen import Gen
from gen4emu.trace import events
from gen4emu.trace.reader import open as open_trace

TRACE = Path(__file__).parents[2] / "traces" / "later" / "triangle-ivb.aub.xz"
CLEAR = 2  # the draw that clears the target
TARGET, TARGET_BYTES = 0x115000, 64 * 256
BLUE_AND_RED = bytes((255, 0, 255, 0))


@dataclass
class FastClear(Listener):
    """Makes a draw clear a target of another size, without threads; `contents`: of its memory after the draw."""

    device: Device
    width: int
    height: int
    tiled: bool
    draws: int = 0
    contents: bytes = b""

    def draw_started(self, words: Any) -> None:
        if self.draws == CLEAR:
            self._change_state()

    def _change_state(self) -> None:
        self.device.memory.write(TARGET, b"\x11" * TARGET_BYTES)
        state, memory = self.device.state, self.device.memory
        gen7, surfaces = state.gen7, state.surface_state_base
        clear = command_named("3DSTATE_PS", Gen.IVB).field("render_target_fast_clear_enable", Gen.IVB)
        gen7.ps[clear.dword] |= clear.mask_in(clear.dword)
        place = surfaces + memory.read_dwords(surfaces + gen7.binding_table_pointers_ps[1], 1)[0]
        block = block_named("RENDER_SURFACE_STATE", Gen.IVB)
        words = memory.read_dwords(place, 8)
        for name in ("red_clear_color", "blue_clear_color"):
            field = block.field(name, Gen.IVB)
            words[field.dword] |= field.mask_in(field.dword)
        for name, size in (("width", self.width), ("height", self.height)):
            field = block.field(name, Gen.IVB)
            words[field.dword] &= ~field.mask_in(field.dword)
            words[field.dword] |= size - 1 << field.lo
        tiling = block.field("tiled_surface", Gen.IVB)
        words[tiling.dword] &= ~(0 if self.tiled else tiling.mask_in(tiling.dword))
        memory.write(place, struct.pack("<8I", *words))

    def draw_done(self) -> None:
        if self.draws == CLEAR:
            self.contents = self.device.memory.read(TARGET, TARGET_BYTES)
        self.draws += 1


def cleared(width: int, height: int, tiled: bool, general_only: bool) -> tuple[bytes, dict[str, int]]:
    stream = list(open_trace(str(TRACE)))
    header = next(e for e in stream if isinstance(e, events.Header))
    with Device(BY_PCI_ID[header.pci_id or 0], Options(workers=1, general_only=general_only)) as device:
        listener = FastClear(device, width, height, tiled)
        device.add_listener(listener)
        for event in stream:
            device.apply(event)
        counts = {name: count for name, count in device.counts().items() if not name.endswith("_ns")}
        return listener.contents, counts


@pytest.mark.parametrize("tiled", [True, False])
@pytest.mark.parametrize(("width", "height"), [(64, 64), (64, 40), (64, 33), (40, 64), (33, 31), (2, 2)])
def test_a_fast_clear_gives_its_pixels_the_clear_color(width: int, height: int, tiled: bool) -> None:
    filled, counts = cleared(width, height, tiled, general_only=False)
    assert filled.count(BLUE_AND_RED) == width * height
    assert filled.count(b"\x11" * 4) == 64 * 64 - width * height
    assert (filled, counts) == cleared(width, height, tiled, general_only=True)
