"""Bad messages: error records, the policies for their senders, and attention (965 PRM vol. 4, 3.4 and 3.5)."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

from gen4emu.cli.main import run
from gen4emu.core_enums import DebugAction, DebugKind, ErrorPolicy, TrapKind
from gen4emu.debugger.debugger import Debugger, Stop
from gen4emu.device.events import EuHang
from gen4emu.device.memory import Unit
from gen4emu.device.observer import Trap
from gen4emu.device.options import Options
from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble
from tests.harness.scene import KERNELS, Scene, vertex

TRIANGLE = [vertex(0, 0), vertex(16, 0), vertex(0, 16)]
NO_FUNCTION, NO_OPCODE, TOO_LONG = 0x09110000, 0x01110000, 0x01210001


def scene_with(*code: str) -> Scene:
    scene = Scene(Gen.CTG, 16, 16)
    scene.pixel_kernel = assemble("\n".join(code), Gen.CTG) + scene.pixel_kernel
    return scene


def send(descriptor: int) -> str:
    return f"send(8) 1 g60<1>UD g0<8,8,1>UD 0x{descriptor:08x}UD {{ align1 }};"


@pytest.mark.parametrize(("descriptor", "function", "cause"), [
    (NO_FUNCTION, 6, 4),  # the URB decodes functions that do not exist
    (NO_OPCODE, 1, 1), (TOO_LONG, 1, 0),
    (0x04110000, 4, 5),  # of a surface that is no buffer
])
def test_the_first_bad_message_is_on_record(descriptor: int, function: int, cause: int) -> None:
    scene = scene_with(send(descriptor))
    Debugger(scene.device, lambda stop: DebugAction.GO).add(Trap(TrapKind.EVERY_THREAD, quiet=True), "flags")
    scene.draw(TRIANGLE)
    (record,) = scene.device.error_records()
    assert (record.function, record.cause, record.descriptor) == (function, cause, descriptor)
    assert record.address == KERNELS + 0x1000
    assert record.unit is Unit.WM
    assert record.header[1] >> 31 == 1  # R0.7, as the message carried it
    assert scene.lit()


def test_math_s_record_can_be_read_as_its_register_has_it() -> None:
    scene = scene_with(send(NO_OPCODE))
    scene.draw(TRIANGLE)
    value = scene.device.registers.read(scene.device.registers.offset("MATH_RDATA"))
    assert value & 0xFFFF == 1 << 12 | 1 << 8 | 0 << 4 | 1 << 1  # rlen, mlen, opcode, "invalid opcode"


def hang(scene: Scene, policy: ErrorPolicy) -> tuple[list[Stop], str | None]:
    stops: list[Stop] = []

    def stop(at: Stop) -> DebugAction:
        stops.append(at)
        return DebugAction.GO

    debugger = Debugger(scene.device, stop)
    debugger.subscription.errors, debugger.subscription.gang = policy, 1
    debugger.update()
    try:
        scene.draw(TRIANGLE)
    except EuHang as e:
        return stops, str(e)
    return stops, None


@pytest.mark.parametrize("descriptor", [NO_FUNCTION, NO_OPCODE])
def test_lenient_counts_strict_stops(descriptor: int) -> None:
    assert hang(scene_with(send(descriptor)), ErrorPolicy.LENIENT) == ([], None)
    stops, text = hang(scene_with(send(descriptor)), ErrorPolicy.STRICT)
    assert stops == []
    assert text is not None
    assert f"address 0x{KERNELS + 0x1000:08x}, value 0x{descriptor:08x}" in text


def test_hardware_hangs_when_the_register_is_touched_and_only_then() -> None:
    assert hang(scene_with(send(NO_OPCODE)), ErrorPolicy.HARDWARE) == ([], None)
    for touch in ("mov(8) g70<1>UD g60<8,8,1>UD { align1 };", "mov(8) g60<1>UD 0UD { align1 };",
                  "add(16) g70<1>UD g59<8,8,1>UD 1UD { align1 };"):
        stops, text = hang(scene_with(send(NO_OPCODE), touch), ErrorPolicy.HARDWARE)
        assert [stop.kind for stop in stops] == [DebugKind.IN_FLIGHT]
        assert stops[0].address == KERNELS + 0x1010
        assert text is not None
    untouched = "mov(8) g61<1>UD g62<8,8,1>UD { align1 };"
    assert hang(scene_with(send(NO_OPCODE), untouched), ErrorPolicy.HARDWARE) == ([], None)


def test_records_do_not_depend_on_worker_count() -> None:
    records = []
    for workers in (1, 2, 4):
        scene = Scene(Gen.CTG, 128, 128, options=Options(workers=workers))
        scene.pixel_kernel = assemble(send(NO_OPCODE), Gen.CTG) + scene.pixel_kernel
        for _ in range(3):
            scene.draw([vertex(0, 0), vertex(128, 0), vertex(0, 128), vertex(9, 9), vertex(128, 9), vertex(9, 128)])
        records.append(scene.device.error_records())
    assert records[0] == records[1] == records[2]


def test_replay_has_the_policies(tmp_path: Path) -> None:
    trace = str(Path(__file__).parent.parent.parent / "traces" / "clear-g4x.aub.xz")
    for policy in ErrorPolicy:
        assert run(["replay", trace, "--bad-messages", policy.name.lower(), "-o", str(tmp_path)]) == 0


def test_a_device_that_was_watched_leaves_nothing_behind() -> None:
    found = []
    for close in (True, False):
        scene = Scene(Gen.CTG, 16, 16)
        debugger = Debugger(scene.device, lambda stop: DebugAction.GO)
        number = debugger.add(Trap(TrapKind.EVERY_THREAD), "all")
        scene.draw(TRIANGLE)
        if close:
            scene.device.close()
            debugger.add(Trap(TrapKind.EVERY_THREAD), "of a device that is gone")
        else:
            debugger.remove(number)
            debugger.close()
        found.append(weakref.ref(scene.device.observer))
        del scene, debugger
    gc.collect()
    assert [ref() for ref in found] == [None, None]


# --- attention --------------------------------------------------------------------------------------------------------
def test_a_thread_that_waits_for_attention_continues_when_the_host_clears_it() -> None:
    scene = scene_with("mov(1) cr0<1>UD 4UD { align1 nomask };", "wait n1;")
    stops: list[Stop] = []

    def stop(at: Stop) -> DebugAction:
        stops.append(at)
        assert at.live_thread is not None
        debugger.clear_attention()
        return DebugAction.GO

    debugger = Debugger(scene.device, stop)
    debugger.add(Trap(TrapKind.EVERY_THREAD, quiet=True), "keeps the debugger there")
    scene.draw(TRIANGLE)
    plain = Scene(Gen.CTG, 16, 16)
    plain.draw(TRIANGLE)
    assert scene.lit() == plain.lit()
    assert stops
    assert {at.kind for at in stops} == {DebugKind.ATTENTION}
    assert {at.reason for at in stops} == {"attention, data 1"}
    assert {at.address for at in stops} == {KERNELS + 0x1010}
