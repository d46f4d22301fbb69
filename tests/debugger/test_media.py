"""Media threads under the debugger: traps by debug ID, flags, attention (965 PRM vol. 4, 3.3.10, 3.5)."""

from __future__ import annotations

import pytest

from gen4emu.core_enums import DebugAction, DebugKind, TrapKind
from gen4emu.debugger.debugger import Debugger, Stop
from gen4emu.device.memory import Unit
from gen4emu.device.observer import Trap
from tests.harness.media import END, TARGETS, Media, store

MARK = f"mov(8) g10<1>UD 0x1234UD {{ align1 nomask }};\n{store(10, f'0x{TARGETS:x}UD')}{END}"
WAIT = f"mov(1) cr0<1>UD 4UD {{ align1 nomask }};\nwait n1;\n{MARK}"


def machine(kernel: str, part: str = "gm45", objects: int = 1) -> Media:
    media = Media(part)
    media.kernel(0, kernel)
    media.select()
    media.pointers()
    for _ in range(objects):
        media.object([0] * 4)
    return media


def test_a_root_thread_is_trapped_by_its_debug_id() -> None:
    stops: list[Stop] = []

    def stop(at: Stop) -> DebugAction:
        stops.append(at)
        assert at.live_thread is not None
        assert at.live_thread.grf(0)[7] >> 31 == 1
        assert at.live_thread.payload()["g0"]["thread_count"] == 2
        return DebugAction.STEP if len(stops) < 3 else DebugAction.GO

    media = machine(MARK, objects=3)
    Debugger(media.device, stop).add(Trap(TrapKind.DEBUG_ID, 1 << Unit.TS, 2, 0xFFFFFF), "third")
    media.execute()
    assert media.dwords(TARGETS, 8) == [0x1234] * 8
    assert [at.kind for at in stops] == [DebugKind.THREAD, DebugKind.INSTRUCTION, DebugKind.INSTRUCTION]
    assert stops[0].thread is not None
    assert (stops[0].thread.unit, stops[0].thread.number) == (Unit.TS, 2)


@pytest.mark.parametrize(("part", "bits"), [("gm45", 64), ("965gm", 32)])
def test_a_thread_that_waits_for_the_host_is_seen_and_released_through_registers(part: str, bits: int) -> None:
    media = machine(WAIT, part)
    r = media.device.registers
    attention, data, clear = (r.offset(f"EU_ATT{name}") for name in ("", "_DATA", "_CLR"))
    media.memory.write(0x10000, media.commands + b"\0\0\0\x05")
    with pytest.raises(Exception, match="wait for each other"):
        media.device.run_batch(0x10000)  # there is no answer
    media.device.reset()
    seen: list[tuple[int, int]] = []

    def stop(at: Stop) -> DebugAction:
        seen.append((at.thread.euid if at.thread else -1, at.value))
        high = 4 * (bits // 32 - 1)
        assert (r.read(attention + high) >> 31, r.read(data + high) >> 31) == (1, 1)  # EU 0 thread 0 is the top bit
        media.device.write_register(clear, 1)  # and the lowest one here
        return DebugAction.GO

    debugger = Debugger(media.device, stop)
    debugger.add(Trap(TrapKind.EVERY_THREAD, quiet=True), "keeps the debugger there")
    media.execute()
    assert seen == [(0, 1)]
    assert media.dwords(TARGETS, 8) == [0x1234] * 8


def test_media_threads_run_on_the_execution_units_that_they_may() -> None:
    places = []

    def stop(at: Stop) -> DebugAction:
        assert at.thread is not None
        places.append((at.thread.euid, at.thread.tid))
        return DebugAction.GO

    media = machine(MARK, objects=6)
    debugger = Debugger(media.device, stop)
    debugger.subscription.eu_masks = {Unit.TS: 0b1010}
    debugger.subscription.threads_per_eu = 1
    debugger.add(Trap(TrapKind.EVERY_THREAD, 1 << Unit.TS), "all")
    media.execute()
    assert len(places) == 6
    assert set(places) == {(1, 0), (3, 0)}


def test_messages_of_media_threads_are_traced() -> None:
    texts: list[str] = []
    media = machine(MARK)
    debugger = Debugger(media.device, lambda stop: DebugAction.GO, lambda message: texts.append(message.text))
    debugger.subscription.messages = True
    debugger.update()
    media.execute()
    assert len(texts) == 2
    assert texts[0].startswith("oword block write")
    assert "dereference" in texts[1]
