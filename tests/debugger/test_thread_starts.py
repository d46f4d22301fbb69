"""The registers of pixel shader threads that start under the debugger, which shows those that no kernel reads, too."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gen4emu.core_enums import DebugAction, TrapKind, Unit
from gen4emu.debugger.debugger import Debugger, Stop
from gen4emu.device.device import Device
from gen4emu.device.observer import Trap
from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology
from gen4emu.isa import assemble
from tests.harness.canvas_gen7 import SIDE, Canvas7, color, send
from tests.harness.messages import WRITE_8
from tests.harness.scene import Scene, vertex

GRFS, MRFS = 128, 16
HEADER = 2  # registers


def threads_with_leftovers(device: Device, draw: Callable[[], object]) -> list[bool]:
    """Whether each thread of a draw starts with registers that hold more than its header.

    The draw is repeated: first it leaves something in all registers, without the debugger.
    """
    found = []

    def stop(at: Stop) -> DebugAction:
        thread = at.live_thread
        assert thread is not None
        assert thread.grf(1).any()
        mrfs = range(MRFS if device.info.gen in Gen.ALL4 else 0)
        found.append(any(thread.grf(r).any() for r in range(HEADER, GRFS)) or any(thread.mrf(r).any() for r in mrfs))
        return DebugAction.GO

    draw()
    Debugger(device, stop).add(Trap(TrapKind.EVERY_THREAD, units=1 << Unit.WM), "all")
    draw()
    return found


# The place of the pixels keeps one thread from standing for all.
LEAVE = "mov(8) g60<1>UD g1.2<0,1,0>UD {{ align1 {mask} }};\n" + "".join(
    f"mov(8) g{r}<1>F 0.5F {{{{ align1 {{mask}} }}}};\n" for r in range(HEADER, GRFS) if r != 60)


@pytest.mark.parametrize("name", ["ivb", "hsw", "kbl"])
def test_pixel_threads_start_without_what_threads_before_left(name: str) -> None:
    canvas = Canvas7(name)
    kernel = LEAVE.format(mask="1Q") + color(1.0, 1.0, 1.0, 1.0) + send(canvas.write())
    found = threads_with_leftovers(canvas.device, lambda: canvas.draw(kernel, commands={
        "3DSTATE_PS": {"dispatch_grf_start_register_for_constant_setup_data_0": HEADER}}))
    assert found == [False] * (SIDE * SIDE // 8)


@pytest.mark.parametrize("gen", [Gen.CL, Gen.CTG])
def test_pixel_threads_of_gen4_start_without_what_threads_before_left(gen: Gen) -> None:
    scene = Scene(gen, SIDE, SIDE, wm={"setup_urb_entry_read_length": 0, "dispatch_grf_start_register": HEADER})
    scene.pixel_kernel = assemble(LEAVE.format(mask="nomask") + "".join(
        f"mov(8) m{r}<1>F 0.5F {{ align1 nomask }};\n" for r in range(MRFS)) + f"""
        mov(8) m1<1>UD g1<8,8,1>UD {{ align1 nomask }};
        send(8) 0 null<1>UW g0<8,8,1>UW {WRITE_8} write {{ align1 EOT }};
    """, gen)
    corners = [vertex(x, y) for x, y in ((SIDE, SIDE), (0, SIDE), (0, 0))]
    found = threads_with_leftovers(scene.device, lambda: scene.draw(corners, PrimitiveTopology.RECTLIST))
    assert found == [False] * (SIDE * SIDE // 8)
