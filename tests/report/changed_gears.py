"""Captures of gears that differ."""

from __future__ import annotations

from pathlib import Path

import gen4emu
from gen4emu.decode.nodes import Kernel
from tests.harness.changed_trace import memory, with_change

TRACES = Path(__file__).parents[2] / "traces"
GEARS, MORE_GEARS = TRACES / "gears-g4x.aub.xz", TRACES / "gears-4frames-g4x.aub.xz"


def bad_gears(tmp_path: Path) -> str:
    """Gears with another instruction in the kernel of the wheels."""
    code = memory(GEARS, 2, Kernel, "ps")
    at = next(i for i in range(0, len(code), 8) if code[i] & 0x7F == 0x5A)  # PLN
    return with_change(GEARS, tmp_path / "bad.aub", code, at, 0x5A ^ 0x59)  # LINE


def turned_gears(tmp_path: Path) -> str:
    """Gears with another constant for the first wheel."""
    with gen4emu.open(GEARS) as opened:
        (node,) = (n for n in opened.state(2).nodes() if n.title == "CONSTANTS")
        constants = opened.at(draw=2).read(node.address, node.size)
    return with_change(GEARS, tmp_path / "bad.aub", constants, 0x02, 0x40)
