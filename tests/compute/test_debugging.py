"""Threads of groups under the debugger."""

from __future__ import annotations

import pytest

from gen4emu.core_enums import DebugAction, TrapKind
from gen4emu.debugger.debugger import Debugger, Stop
from gen4emu.device.counters import CountedDraw
from gen4emu.device.listener import Listener
from gen4emu.device.observer import Trap
from gen4emu.device.place import DrawKind
from tests.compute.test_groups import LANES, per_thread, reversed_through_shared_memory, rows
from tests.harness.compute import Compute


@pytest.mark.parametrize("device", ["ivb", "hsw"])
def test_trapped_threads_have_their_numbers_and_compute_the_same(device: str) -> None:
    seen: list[tuple[int, int, int]] = []

    def stop(at: Stop) -> DebugAction:
        assert at.live_thread is not None
        r0 = at.live_thread.payload()["g0"]
        seen.append((r0["thread_group_id_x"], r0["thread_group_id_z"], int(at.live_thread.grf(1)[0])))
        return DebugAction.GO

    machine, threads = Compute(device), 11
    Debugger(machine.device, stop).add(Trap(TrapKind.EVERY_THREAD), "all")
    machine.dispatch(reversed_through_shared_memory(machine, threads), (2, 1, 3), threads, starts=(1, 0, 2),
                     constants=rows(threads), **per_thread(device))
    assert seen == [(1, 2, t) for t in range(threads)]
    assert machine.dwords(0, 8 * threads) == [100 + threads - 1 - t for t in range(threads) for _ in range(8)]


class Counted(Listener):
    def __init__(self) -> None:
        self.draws: list[CountedDraw] = []

    def draw_counted(self, draw: CountedDraw) -> None:
        self.draws.append(draw)


def test_a_dispatch_is_a_draw_with_counters() -> None:
    machine, counted = Compute("ivb"), Counted()
    machine.device.add_listener(counted)
    machine.device.counting = True
    machine.dispatch(LANES + "mov(8) g12<1>UD 1UD { align1 1Q };\n" + machine.store(11), (4, 1, 1))
    assert machine.dwords(0, 8) == [1] * 8
    (draw,) = counted.draws
    media = draw.counters.stages["media"]
    assert (draw.kind, draw.place.draw) == (DrawKind.DISPATCH, 0)
    assert (media.instructions, media.messages[10], media.messages[7]) == (4 * 7, 4, 4)
