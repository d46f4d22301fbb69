"""Threads of groups under the debugger."""

from __future__ import annotations

import pytest

from gen4emu.core_enums import DebugAction, TrapKind
from gen4emu.debugger.debugger import Debugger, Stop
from gen4emu.device.counters import CountedDraw
from gen4emu.device.listener import Listener
from gen4emu.device.observer import Trap
from gen4emu.device.place import DrawKind
from gen4emu.hw.gen7.media import SimdSize
from tests.harness.compute import Compute
from tests.harness.group_kernels import LANES, per_thread, reversed_through_shared_memory, rows


@pytest.mark.parametrize("device", ["ivb", "hsw", "kbl"])
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


@pytest.mark.parametrize("observer", ["debugger", "counters", "general handlers"])
def test_threads_of_32_channels_give_the_same_bits_with_an_observer(observer: str) -> None:
    """Each quarter writes its number to a place of its own, but for the channels that the mask disables."""
    machine = Compute("byt", general_only=observer == "general handlers")
    kernel = LANES + "".join(f"add(8) g{20 + 2 * q}<1>UD g11<8,8,1>UD {32 * q}UD {{ align1 WE_all 1Q }};\n"
                             f"mov(8) g{21 + 2 * q}<1>UD {q + 1}UD {{ align1 {q + 1}Q }};\n"
                             + machine.store(20 + 2 * q).replace("1Q", f"{q + 1}Q") + "\n" for q in range(4))
    seen: list[tuple[int, int]] = []
    counted = Counted()

    def stop(at: Stop) -> DebugAction:
        assert at.live_thread is not None
        state = at.live_thread.state()
        seen.append((state.dmask, state.channels))
        return DebugAction.GO

    if observer == "debugger":
        Debugger(machine.device, stop).add(Trap(TrapKind.EVERY_THREAD), "all")
    elif observer == "counters":
        machine.device.add_listener(counted)
        machine.device.counting = True
    machine.dispatch(kernel, simd=SimdSize.SIMD32, mask=0x8001F00F)
    assert machine.dwords(0, 32) == [c // 8 + 1 if 0x8001F00F >> c & 1 else 0 for c in range(32)]
    assert seen == ([(0x8001F00F, 0x8001F00F)] if observer == "debugger" else [])
    if observer == "counters":
        assert counted.draws[0].counters.stages["media"].instructions == 17
