"""The registers of an i915 error state in words: busy units, causes, ring position, fences.

The layouts are those of `gen4emu.hw.gen4.registers`; only the names that error states use for them are here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gen4emu.decode.nodes import Registers
from gen4emu.hw import catalogue
from gen4emu.hw.chips import Device
from gen4emu.hw.fields import Bool, Ignored, Mbz
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Register, View
from gen4emu.trace.events import ErrorState

_RINGS = {"render": "RENDER", "bsd": "VIDEO"}
_RING_NAMES = {"HEAD": "RING_HEAD", "TAIL": "RING_TAIL", "START": "RING_START", "CTL": "RING_CTL", "FADDR": "DMA_FADD",
               "HWS": "HWS_PGA", "BB_STATE": "BBSTATE"}
_FENCE = re.compile(r"fence\[(\d+)\]$")
_IDLE_WHEN_SET = re.compile(r"INSTDONE")
_NAMED_BITS = re.compile(r"^(EIR|EMR|ESR|PGTBL_ER|IER|IIR|IMR|ISR|HWSTAM)$")


def registers(state: ErrorState, device: Device | None) -> Registers:
    """All registers of an error state, each with its meaning."""
    gen = None if device is None else device.gen
    lines = []
    for name, value in state.registers.items():
        text = "" if gen is None else meaning(name, value, gen)
        if name.endswith("ACTHD"):
            text = _position(name, value, state.registers)
        lines.append((name, value, text))
    return Registers(state, tuple(lines))


def register_for(name: str, gen: Gen) -> Register | None:
    """The register that an error state calls `render.HEAD`, `EIR`, `fence[3]`."""
    fence = _FENCE.match(name)
    if fence is not None:
        return _named(f"FENCE_{fence[1]}", gen)
    ring, _, rest = name.rpartition(".")
    prefix = _RINGS.get(ring, "RENDER")
    candidates = (f"{prefix}_{_RING_NAMES.get(rest, rest)}", rest)
    return next((r for r in (_named(c, gen) for c in candidates) if r is not None), None)


def _named(name: str, gen: Gen) -> Register | None:
    try:
        return catalogue.register_named(name, gen)
    except KeyError:
        return None


def meaning(name: str, value: int, gen: Gen) -> str:
    """One register in words; empty when its bits are not documented."""
    register = register_for(name, gen)
    if register is None:
        return ""
    words = [value >> 32 * i & 0xFFFFFFFF for i in range(register.size(gen))]
    view = register.view(words, gen=gen)
    short = name.rpartition(".")[2]
    if _IDLE_WHEN_SET.search(short):
        busy = [f.name for f, raw in view.fields() if isinstance(f, Bool) and not raw and f.name != "ring_enabled"]
        return f"busy: {', '.join(busy)}" if busy else "idle"
    if _NAMED_BITS.match(short):
        return ", ".join(f.name for f, raw in view.fields() if isinstance(f, Bool) and raw)
    if register.name.startswith("FENCE_"):
        return _fence(view)
    if short == "IPEHR":
        command = catalogue.command_for(value, gen)
        return "" if command is None else command.name
    shown = [f"{f.name}={f.text(raw)}" if not isinstance(f, Bool) else f.name for f, raw in view.fields()
             if not isinstance(f, Mbz | Ignored) and (raw or not isinstance(f, Bool))]
    return ", ".join(shown) if len(register.fields_for(gen)) > 1 else ""


def _fence(view: View) -> str:
    if not view.valid:
        return "not valid"
    end = view.last_page_address + 0xFFF
    tiling = "X" if not view.raw("tile_walk") else "Y"
    return f"{tiling}-tiled, pitch {view.pitch_bytes}, 0x{view.start_address:08x} to 0x{end:08x}"


def _view(name: str, value: int) -> View:
    """A register that is the same in all generations."""
    return catalogue.register_named(name, Gen.EL).view((value,), gen=Gen.EL)


def _position(name: str, value: int, known: Mapping[str, int]) -> str:
    """Whether the command streamer stood in the ring or in a batch."""
    ring = name.rpartition(".")[0]
    start = known.get(f"{ring}.START" if ring else "START")
    ctl = known.get(f"{ring}.CTL" if ring else "CTL")
    if ctl is None:
        return ""
    length = _view("RENDER_RING_CTL", ctl).buffer_length
    first = 0 if start is None else _view("RENDER_RING_START", start).starting_address
    if first <= value < first + length:
        return f"in the ring, at 0x{value - first:x}"
    return "in a batch"
