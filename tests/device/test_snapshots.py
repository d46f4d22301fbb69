"""Debug registers that a batch programs: snapshots, breakpoints, halts, colors (965 PRM vol. 4, chapter 3)."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest

from gen4emu.core_enums import DebugAction, TrapKind
from gen4emu.debugger.debugger import Debugger, Stop
from gen4emu.device.debug_registers import FFID
from gen4emu.device.events import EuHang
from gen4emu.device.memory import Unit
from gen4emu.device.observer import Trap
from gen4emu.device.options import Options
from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology as T
from gen4emu.isa import assemble
from tests.harness.messages import WRITE_8_WITH_DEPTH, urb_write
from tests.harness.scene import KERNELS, Scene, vertex

COMPLETE = 1 << 31
ROUTINE = 0x70000
RESULT = 0x600000  # where system routines leave their mark


def triangle(z: float = 0.5) -> list[tuple[float, ...]]:
    return [vertex(0, 0, z), vertex(16, 0, z), vertex(0, 16, z)]


def load(scene: Scene, **registers: int) -> bytes:
    """MI_LOAD_REGISTER_IMM of each."""
    return b"".join(struct.pack("<3I", 0x11000001, scene.device.registers.offset(name), value)
                    for name, value in registers.items())


def read(scene: Scene, name: str) -> int:
    return scene.device.registers.read(scene.device.registers.offset(name))


def returned(scene: Scene, unit: str, mux: int) -> int:
    """The debug data that the mux selects."""
    control = scene.device.registers.offset(f"{unit}_CTL")
    scene.device.write_register(control, scene.device.registers.read(control) & ~0xFF00 | mux << 8)
    return read(scene, f"{unit}_RDATA")


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene(Gen.CTG, 16, 16, options=Options(workers=2))
    yield made
    made.device.close()


# --- snapshots --------------------------------------------------------------------------------------------------------
def test_a_pixel_s_snapshot_has_kernel_count_and_primitive(scene: Scene) -> None:
    head = load(scene, WIZ_STRG_VAL=3 << 16 | 2, WIZ_CTL=2 << 16 | 1 << 4 | 1)  # the second time
    scene.run(head + scene.prepare([*triangle(), *triangle(), *triangle()]) + scene.primitive(T.TRILIST, 9))
    assert read(scene, "WIZ_CTL") & COMPLETE
    assert [returned(scene, "WIZ", mux) for mux in range(4)] == [KERNELS + 0x1000, 2, 1, 0]


def test_without_a_count_only_the_first_occurrence_is_trapped(scene: Scene) -> None:
    scene.run(load(scene, WIZ_STRG_VAL=3 << 16 | 2, WIZ_CTL=1))
    scene.draw([*triangle(), *triangle()])
    assert returned(scene, "WIZ", 2) == 0
    scene.draw(triangle())
    assert returned(scene, "WIZ", 2) == 0
    assert not scene.device.observer.attached  # no subscriber is left
    scene.run(load(scene, WIZ_CTL=1))  # the bit cleared
    scene.draw(triangle())
    assert returned(scene, "WIZ", 2) == 3


def test_a_pixel_trap_can_be_limited_to_the_upstream_primitive(scene: Scene) -> None:
    scene.run(load(scene, SF_STRG_VAL=1, WIZ_STRG_VAL=3 << 16 | 2, WIZ_CTL=1 << 3 | 1))
    scene.draw([*triangle(), *triangle()])
    assert (returned(scene, "WIZ", 1), returned(scene, "WIZ", 2)) == (1, 1)


def test_a_setup_thread_s_snapshot_names_its_vertices(scene: Scene) -> None:
    scene.run(load(scene, SF_STRG_VAL=1, SF_CTL=1))
    scene.draw([*triangle(), *triangle()])
    assert read(scene, "SF_CTL") & COMPLETE
    ids = [returned(scene, "SF", mux) for mux in (0, 2, 4)]
    assert sorted(ids) == [FFID[Unit.VF] << 28 | n for n in (3, 4, 5)]  # VS is off: they come from VF
    assert [returned(scene, "SF", mux) for mux in (1, 3, 5, 6, 7)] == [0, 0, 0, 3, KERNELS]


def test_a_vertex_that_is_not_shaded_completes_its_snapshot(scene: Scene) -> None:
    scene.run(load(scene, VF_STRG_VAL=2, VF_CTL=1 << 4 | 1))
    scene.draw(triangle())
    assert read(scene, "VF_CTL") & COMPLETE
    assert returned(scene, "VF", 0) == 0


def test_vertex_shader_snapshots_show_the_index_and_the_thread_of_a_vertex() -> None:
    scene = shaded_scene()
    scene.run(load(scene, VF_STRG_VAL=2, VF_CTL=1, VS_STRG_VAL=1, VS_CTL=1))  # sequence 2; thread 1
    scene.draw(triangle(), indices=[2, 1, 0])
    assert read(scene, "VF_CTL") & read(scene, "VS_CTL") & COMPLETE
    assert returned(scene, "VF", 0) == 1  # the third vertex is the second thread's
    assert [returned(scene, "VS", mux) for mux in (0, 2, 3)] == [0, 1, 0x5000 + KERNELS]


def shaded_scene() -> Scene:
    """A vertex shader that passes two vertices through."""
    code = ["mov(8) m1<1>UD g1<8,8,1>UD { align1 nomask };", "mov(8) m2<1>UD g2<8,8,1>UD { align1 nomask };",
            "mov(8) m3<1>UD g3<8,8,1>UD { align1 nomask };", "mov(8) m4<1>UD g4<8,8,1>UD { align1 nomask };",
            f"send(8) 0 null<1>UD g0<4>UD {urb_write(5, swizzle='INTERLEAVED')} urb {{ align16 EOT }};"]
    scene = Scene(Gen.CTG, 16, 16, vs={
        "vs_function_enable": True, "kernel_start_pointer": KERNELS + 0x5000, "grf_register_count": 128,
        "dispatch_grf_start_register": 1, "vertex_urb_entry_read_length": 2, "maximum_number_of_threads": 8})
    scene.memory.write(KERNELS + 0x5000, assemble("\n".join(code), Gen.CTG))
    return scene


def test_a_snapshot_of_all_threads_keeps_the_last_one(scene: Scene) -> None:
    scene.run(load(scene, SF_CTL=1 << 2))
    scene.draw([*triangle(), *triangle()])
    scene.draw(triangle())
    assert sorted(returned(scene, "SF", mux) & 0xFFFFFF for mux in (0, 2, 4)) == [6, 7, 8]


def test_a_flagged_thread_s_urb_message_is_captured(scene: Scene) -> None:
    """965 PRM vol. 4, 3.4.9: register n of the message of a thread whose R0 has the flag."""
    scene.run(load(scene, SF_STRG_VAL=1, SF_CTL=3, URB_CTL=3 << 16 | 1))
    scene.draw([*triangle(), vertex(0, 0, 0.5), vertex(16, 0, 0.5), vertex(0, 16, 0.25)])
    assert read(scene, "URB_CTL") & COMPLETE
    assert (returned(scene, "URB", 1), returned(scene, "URB", 2)) == (1, COMPLETE)  # R0.6, R0.7 of its header
    values = [struct.unpack("<f", struct.pack("<I", returned(scene, "URB", 8 + i)))[0] for i in range(8)]
    assert 0.5 in values or 0.25 in values  # C0 of the attributes: depths among them


# --- what a thread sees -----------------------------------------------------------------------------------------------
def test_r0_holds_thread_numbers_and_flags(scene: Scene) -> None:
    found = []

    def stop(stop: Stop) -> DebugAction:
        assert stop.live_thread is not None
        r0 = stop.live_thread.grf(0)
        found.append((stop.thread.unit if stop.thread else None, int(r0[6]), int(r0[7])))
        return DebugAction.GO

    debugger = Debugger(scene.device, stop)
    debugger.add(Trap(TrapKind.EVERY_THREAD, unflagged=True), "all")
    debugger.add(Trap(TrapKind.OBJECT, value=1, quiet=True), "flagged")
    scene.draw([vertex(1, 1), vertex(3, 1), vertex(1, 3)] * 2)
    setups = [(six, seven) for unit, six, seven in found if unit is Unit.SF]
    pixels = [(six, seven) for unit, six, seven in found if unit is Unit.WM]
    assert setups == [(0, 0), (1, COMPLETE)]
    assert {seven for _, seven in pixels} == {0, 1}  # the primitive's number
    assert next(six for six, seven in pixels if seven == 1) == 0  # counted within the primitive


def test_threads_run_on_the_execution_units_and_slots_left_by_the_masks(scene: Scene) -> None:
    places = set()

    def stop(stop: Stop) -> DebugAction:
        assert stop.thread is not None
        assert stop.live_thread is not None
        assert stop.live_thread.state().sr0 == stop.thread.euid << 8 | stop.thread.tid
        places.add((stop.thread.euid, stop.thread.tid))
        return DebugAction.GO

    Debugger(scene.device, stop).add(Trap(TrapKind.EVERY_THREAD, units=1 << Unit.WM), "all")
    scene.run(load(scene, TD_WIZ_EMSK=0b100100, TD_CTL2=2 << 16 | 1 << 8 | 1 << 6))
    scene.draw(triangle())
    assert places == {(2, 0), (2, 1), (5, 0), (5, 1)}


def test_flagged_threads_paint_the_debug_color(scene: Scene) -> None:
    plain = Scene(Gen.CTG, 16, 16)
    plain.draw(triangle())
    scene.run(load(scene, WIZ_STRG_VAL=2 << 16 | 2, WIZ_CTL=3, RC_DEF_CLR=0x11223344, RC_CTL=1 << 2))
    scene.draw(triangle())
    painted = {(x, y) for y, row in enumerate(scene.pixels()) for x, value in enumerate(row) if value == 0x11223344}
    assert {(2, 2), (3, 2), (2, 3), (3, 3)} <= painted
    assert len(painted) <= 8  # one thread of eight pixels
    assert scene.lit() == plain.lit()


def test_single_subspan_dispatch_has_one_block_a_thread_where_the_message_tests() -> None:
    blocks: list[int] = []

    def stop(stop: Stop) -> DebugAction:
        assert stop.thread is not None
        blocks.append(len(stop.thread.subspans))
        return DebugAction.GO

    pictures = []
    for single in (0, 1 << 6):
        scene = Scene(Gen.CTG, 16, 16, wm={"pixel_shader_kill_pixel": True}, depth_format=2, depth_clear=0xFFFFFF,
                      cc={"depth_test_enable": True, "depth_test_function": "LESS", "depth_buffer_write_enable": True})
        scene.pixel_kernel = scene.pixel_kernel[:-16] + assemble(
            "mov(8) m6<1>F g2<8,8,1>F { align1 };"
            f"send(8) 0 null<1>UW g0<8,8,1>UW {WRITE_8_WITH_DEPTH} write {{ align1 EOT }};", Gen.CTG)
        blocks.clear()
        Debugger(scene.device, stop).add(Trap(TrapKind.EVERY_THREAD, units=1 << Unit.WM), "all")
        scene.run(load(scene, WIZ_CTL=single))
        scene.draw(triangle())
        pictures.append((scene.pixels(), scene.depths(), max(blocks), sum(blocks)))
    (a, b, most, count), (c, d, single_most, single_count) = pictures
    assert (a, b, count) == (c, d, single_count)
    assert (most, single_most) == (2, 1)


# --- breakpoints, exceptions, halts -----------------------------------------------------------------------------------
def routine(scene: Scene, cr0: int, cr1_clear: int) -> None:
    """A system routine that counts its calls in g120.0 and keeps cr0.1 in g121.0, then goes back.

    `cr0` is what cr0.0 becomes (suppress); `cr1_clear` the bits of cr0.1 that are cleared.
    """
    code = f"""
        add(1) g120<1>UD g120<0,1,0>UD 1UD {{ align1 nomask }};
        mov(1) g121<1>UD cr0.1<0,1,0>UD {{ align1 nomask }};
        and(1) cr0.1<1>UD cr0.1<0,1,0>UD 0x{~cr1_clear & 0xFFFFFFFF:08x}UD {{ align1 nomask }};
        mov(1) cr0<1>UD 0x{cr0:08x}UD {{ align1 nomask }};
    """
    scene.memory.write(ROUTINE, assemble(code, scene.gen))


def with_routine(scene: Scene) -> bytes:
    return scene._command("STATE_SIP", system_instruction_pointer=ROUTINE)


def run_with_routine(scene: Scene, **registers: int) -> list[tuple[int, int]]:
    """Calls of the routine and the cr0.1 it saw, of every pixel shader thread."""
    found = []

    def stop(stop: Stop) -> DebugAction:
        assert stop.live_thread is not None
        if stop.kind.name == "MESSAGE":
            return DebugAction.GO
        found.append((int(stop.live_thread.grf(120)[0]), int(stop.live_thread.grf(121)[0])))
        return DebugAction.GO

    observed = Debugger(scene.device, stop)
    observed.on_message = lambda message: None
    marks: list[tuple[int, int]] = []

    def note(event: object) -> DebugAction:
        from gen4emu.debugger.inspect import LiveThread
        from gen4emu.debugger.model import thread_of

        live_thread = LiveThread(scene.device, thread_of(event), 0)
        marks.append((int(live_thread.grf(120)[0]), int(live_thread.grf(121)[0])))
        return DebugAction.GO

    from gen4emu.device.observer import DebugKind

    observed.subscription.handlers[DebugKind.MESSAGE] = note
    observed.subscription.messages, observed.subscription.message_units = True, 1 << Unit.WM
    observed.update()
    batch = scene.prepare([vertex(1, 1), vertex(3, 1), vertex(1, 3)]) + with_routine(scene)
    scene.run(batch + load(scene, **registers) + scene.primitive(T.TRILIST, 3))
    return marks


SUPPRESS = 1 << 15
NO_OPCODE = struct.pack("<4I", 0x6A | 3 << 21, 0, 0, 0)
BREAKPOINT = 1 << 31


def test_an_address_breakpoint_enters_the_system_routine_once(scene: Scene) -> None:
    routine(scene, SUPPRESS, BREAKPOINT)
    marks = run_with_routine(scene, TD_CTL=1 << 4, ISC_L1CA_BP_ADR1=KERNELS + 0x1010 | 1)
    assert marks
    assert {calls for calls, _ in marks} == {1}
    assert all(cr1 & BREAKPOINT and cr1 >> 15 & 1 for _, cr1 in marks)


def test_leaving_the_status_bit_set_is_single_stepping(scene: Scene) -> None:
    """965 PRM vol. 4, 3.6, "Single Stepping": every instruction after the breakpoint meets it again."""
    routine(scene, SUPPRESS, 0)
    marks = run_with_routine(scene, TD_CTL=1 << 4, ISC_L1CA_BP_ADR1=KERNELS + 0x1010 | 1)
    instructions = len(scene.pixel_kernel) // 16
    assert {calls for calls, _ in marks} == {instructions - 1}  # all but the first


def test_unflagged_threads_ignore_breakpoints(scene: Scene) -> None:
    routine(scene, SUPPRESS, BREAKPOINT)
    assert {calls for calls, _ in run_with_routine(scene, TD_CTL=1 << 2, ISC_L1CA_BP_OPC1=0x31 << 16 | 1)} == {0}


def test_flagged_threads_break_at_an_opcode(scene: Scene) -> None:
    routine(scene, SUPPRESS, BREAKPOINT)
    marks = run_with_routine(scene, TD_CTL=1 << 2, WIZ_CTL=1 << 2 | 1 << 1, ISC_L1CA_BP_OPC2=0x31 << 16 | 1)
    assert {calls for calls, _ in marks} == {1}


def test_an_external_halt_starts_threads_in_their_system_routine(scene: Scene) -> None:
    routine(scene, 0, 0)
    marks = run_with_routine(scene, TD_0_7_EHTRG_VAL=0, TD_0_7_EHTRG_MSK=0xFFFFFF, TD_CTL=1 << 7)
    assert {calls for calls, _ in marks} == {1}
    assert all(cr1 >> 30 & 1 for _, cr1 in marks)


def test_a_forced_halt_stops_only_the_next_thread(scene: Scene) -> None:
    routine(scene, 0, 0)
    assert {calls for calls, _ in run_with_routine(scene, TD_CTL=1 << 6)} == {0}  # it was the setup thread


def test_exceptions_can_be_forced_on(scene: Scene) -> None:
    """TD_CTL bit 5: illegal opcodes, whatever the state blocks say."""
    scene.pixel_kernel = NO_OPCODE + scene.pixel_kernel
    scene.draw(triangle())  # an opcode that does not exist does nothing
    routine(scene, 0, 0)
    scene.memory.write(ROUTINE, assemble("""
        add(1) g120<1>UD g120<0,1,0>UD 1UD { align1 nomask };
        add(1) cr0.2<1>UD cr0.2<0,1,0>UD 16UD { align1 nomask };
        mov(1) cr0<1>UD 0UD { align1 nomask };
    """, scene.gen))
    marks = run_with_routine(scene, TD_CTL2=1 << 28, TD_CTL=1 << 5)
    assert {calls for calls, _ in marks} == {1}


def test_a_forced_exception_without_a_routine_is_a_hang(scene: Scene) -> None:
    scene.pixel_kernel = NO_OPCODE + scene.pixel_kernel
    scene.run(load(scene, TD_CTL2=1 << 28, TD_CTL=1 << 5))
    with pytest.raises(EuHang, match="exception"):
        scene.draw(triangle())


def test_the_debugger_detaches_when_the_registers_enable_nothing(scene: Scene) -> None:
    scene.run(load(scene, WIZ_CTL=1, TD_CTL2=1 << 25, SF_CTL=0, WIZ_STRG_VAL=5))
    assert scene.device.observer.attached
    scene.run(load(scene, WIZ_CTL=0))
    assert not scene.device.observer.attached
