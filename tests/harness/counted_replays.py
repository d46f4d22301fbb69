"""Captures that are replayed with counted lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gen4emu.core_enums import CountedPixels as P
from gen4emu.device.counters import CountedDraw, Fragments, KernelCount
from gen4emu.device.device import Device
from gen4emu.device.memory import Missing
from gen4emu.device.options import Options
from gen4emu.device.replay import Replay
from gen4emu.trace import open as open_trace
from tests.harness.scene import vertex

TRACES = Path(__file__).parents[2] / "traces"
CAPTURES = sorted(TRACES.glob("*.aub.xz")) + [TRACES / "later" / f"triangle-{name}.aub.xz"
                                              for name in ("ivb", "byt", "hsw")]
SQUARE = [vertex(8, 8), vertex(0, 8), vertex(0, 0)]


def count_lines(device: Device) -> None:
    device.counting = True
    device.count_lines()


def counted(path: Path, **options: Any) -> tuple[list[KernelCount], list[CountedDraw], bytes]:
    """The kernels and draws of a trace, and its pictures."""
    draws: list[CountedDraw] = []
    pictures = b""
    run = Replay(open_trace(str(path)), None, Options(**options), on_start=count_lines, on_counters=draws.append)
    for frame in run.frames():
        for target in frame.targets:
            assert run.device is not None
            pictures += run.device.memory.read(target.address, target.pitch * target.height, Missing.ZERO)
    assert run.device is not None and run.device.lost_line_counts == 0
    kernels = run.device.kernel_counts()
    run.close()
    return kernels, draws, pictures


def uncounted_pictures(path: Path) -> bytes:
    run = Replay(open_trace(str(path)), None, Options())
    found = b"".join(run.device.memory.read(t.address, t.pitch * t.height, Missing.ZERO)
                     for frame in run.frames() for t in frame.targets if run.device is not None)
    run.close()
    return found


def sums(fragments: Fragments) -> dict[P, int]:
    """The sums that the maps must have."""
    return {P.COVERED: fragments.fragments, P.STENCIL_FAILED: fragments.stencil_failed,
            P.DEPTH_FAILED: fragments.depth_failed, P.SHADED: fragments.shaded, P.ENDED: fragments.ended,
            P.ALPHA_FAILED: fragments.alpha_failed, P.WRITTEN: fragments.written, P.UNWRITTEN: fragments.unwritten}
