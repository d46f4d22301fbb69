"""What a draw or dispatch is doing while it runs."""

from __future__ import annotations

from pathlib import Path

from gen4emu.core_enums import DebugAction, TrapKind
from gen4emu.debugger.debugger import Debugger, Stop
from gen4emu.device.device import Device
from gen4emu.device.observer import Trap
from gen4emu.device.replay import Replay
from gen4emu.trace.reader import open as open_trace
from tests.harness.compute import Compute
from tests.harness.group_kernels import LANES

TRACES = Path(__file__).parents[2] / "traces"


def noted(device: Device, steps: list[str]) -> None:
    """Note the step of each thread that starts: under a debugger, jobs run in order."""
    def stop(at: Stop) -> DebugAction:
        step = device.step()
        steps.append("none" if step is None else str(step))
        return DebugAction.GO

    Debugger(device, stop).add(Trap(TrapKind.EVERY_THREAD), "all")


def test_a_draw_sets_up_ranges_of_objects_and_then_draws_tiles() -> None:
    steps: list[str] = []
    run = Replay(open_trace(str(TRACES / "triangle-g4x.aub.xz")), on_start=lambda device: noted(device, steps))
    for _ in run.frames():
        pass
    run.close()
    tiles = [f"tile {number} of 64" for number in range(1, 65)]
    first = steps[:steps.index(tiles[-1]) + 1]
    assert list(dict.fromkeys(first)) == ["range of objects 1 of 1", *tiles]


def test_a_dispatch_runs_groups() -> None:
    steps: list[str] = []
    machine = Compute("ivb")
    noted(machine.device, steps)
    machine.dispatch(LANES, (2, 1, 3))
    assert steps == [f"thread group {number} of 6" for number in range(1, 7)]
    assert machine.device.step() is None


def test_a_device_between_draws_has_no_step() -> None:
    steps = []
    trace = open_trace(str(TRACES / "later" / "triangle-ivb.aub.xz"))

    def note(device: Device) -> None:
        steps.append(device.step())

    run = Replay(trace, on_start=note, on_draw=lambda number: note(run.device) if run.device is not None else None)
    for _ in run.frames():
        pass
    assert len(steps) > 2 and set(steps) == {None}
    run.close()
    assert run.device is not None and run.device.step() is None  # closed
