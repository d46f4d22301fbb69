"""Illegal code, exceptions and the system routine, wait."""

from __future__ import annotations

import pytest

from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble
from tests.harness.probe import Event, Probe, Status

ILLEGAL = bytes(16)
UNDEFINED = bytes([0x0A]) + bytes(15)  # rsr, which the hardware does not have
SYSTEM_ROUTINE = 0x40000


def place(probe: Probe, address: int, text: str) -> None:
    kernel, probe.kernel_address = probe.kernel_address, address
    probe.load(text)
    probe.kernel_address = kernel


def test_opcode_zero_stops_the_thread_and_reports_its_address() -> None:
    probe = Probe()
    probe.start(2, 0xFF)
    assert probe.run(ILLEGAL) == Status.HANG
    found = probe.event(Event.ILLEGAL_OPCODE)
    assert (found.count, found.address) == (2, probe.kernel_address)


def test_a_kernel_in_unwritten_memory_does_not_start() -> None:
    probe = Probe()
    probe.start(1, 0xFF, kernel_address=0x700000)
    assert probe.run() == Status.FAULT


def test_unwritten_memory_after_a_kernel_is_illegal_code() -> None:
    probe = Probe()
    probe.start(1, 0xFF)
    probe.load("mov(8) g2<1>D 1D { align1 };")
    assert probe.run() == Status.HANG
    assert probe.event(Event.ILLEGAL_OPCODE).address == probe.kernel_address + 16


def test_an_undefined_opcode_does_nothing_and_is_reported() -> None:
    probe = Probe()
    probe.start(1, 0xFF)
    code = UNDEFINED + assemble("mov(8) g2<1>D 1D { align1 };\n" + probe.end, probe.gen)
    assert probe.run(code) == Status.OK
    assert probe.event(Event.ILLEGAL_OPCODE).value == 0x0A
    assert list(probe.grf(2)) == [1] * 8


def test_an_enabled_illegal_opcode_enters_the_system_routine_and_comes_back() -> None:
    probe = Probe()
    probe.state.system_instruction_pointer = SYSTEM_ROUTINE
    probe.start(1, 0xFF, exceptions=2)  # cr0.1[12]
    place(probe, SYSTEM_ROUTINE, """
        mov(8) g3<1>D 7D { align1 };
        mov(1) g4<1>UD cr0.1<0,1,0>UD { align1 nomask };
        mov(1) g5<1>UD cr0.2<0,1,0>UD { align1 nomask };
        add(1) cr0.2<1>UD cr0.2<0,1,0>UD 16UD { align1 nomask };
        and(1) cr0<1>UD cr0<0,1,0>UD 0x7fffffffUD { align1 nomask };
    """)
    code = ILLEGAL + assemble("add(8) g3<1>D g3<8,8,1>D 1D { align1 };\n" + probe.end, probe.gen)
    assert probe.run(code) == Status.OK
    assert list(probe.grf(3)) == [8] * 8
    assert probe.grf(4)[0] == 1 << 12 | 1 << 28
    assert probe.grf(5)[0] == probe.kernel_address
    assert probe.event(Event.EXCEPTION).count == 1


def test_a_software_exception_enters_the_system_routine() -> None:
    probe = Probe()
    probe.state.system_instruction_pointer = SYSTEM_ROUTINE
    probe.start(2, 0xFF, exceptions=4)  # cr0.1[13]
    place(probe, SYSTEM_ROUTINE, "mov(8) g3<1>D 7D { align1 };\n" + probe.end)
    assert probe.run("or(1) cr0.1<1>UD cr0.1<0,1,0>UD 0x20000000UD { align1 nomask };\n"
                     "mov(8) g3<1>D 1D { align1 };\n") == Status.OK
    assert [probe.grf(3, t)[0] for t in range(2)] == [7, 7]


def test_an_enabled_exception_without_routine_stops_the_thread() -> None:
    probe = Probe()
    probe.start(1, 0xFF, exceptions=2)
    assert probe.run(ILLEGAL) == Status.HANG
    assert probe.event(Event.EXCEPTION).count == 1


def test_a_breakpoint_is_taken_before_its_instruction_and_only_when_enabled() -> None:
    text = "mov(8) g2<1>D 1D { align1 breakpoint };\n"
    for exceptions, expected in ((0, 1), (16, 0)):
        probe = Probe()
        probe.state.system_instruction_pointer = SYSTEM_ROUTINE
        probe.start(2, 0xFF, exceptions=exceptions)
        place(probe, SYSTEM_ROUTINE, probe.end)
        assert probe.run(text) == Status.OK
        assert {int(probe.grf(2, t)[0]) for t in range(2)} == {expected}


def test_a_suppressed_breakpoint_lets_one_instruction_pass() -> None:
    probe = Probe()
    probe.state.system_instruction_pointer = SYSTEM_ROUTINE
    probe.start(1, 0xFF, exceptions=16)
    place(probe, SYSTEM_ROUTINE, probe.end)
    assert probe.run("or(1) cr0<1>UD cr0<0,1,0>UD 0x8000UD { align1 nomask };\n"
                     "mov(8) g2<1>D 1D { align1 breakpoint };\n"
                     "mov(8) g3<1>D 1D { align1 breakpoint };\n") == Status.OK
    assert probe.grf(2)[0] == 1 and probe.grf(3)[0] == 0


def test_a_thread_waits_until_its_count_is_set_and_clears_it() -> None:
    """wait as IGT encodes it; the kernel writes n0 itself instead of a notification."""
    wait = bytes.fromhex("30000000 00000020 00120000 00000100".replace(" ", ""))
    probe = Probe()
    probe.start(1, 0xFF)
    head = assemble("mov(1) n0<1>UD 1UD { align1 nomask };\n", probe.gen)
    tail = assemble("mov(1) g2<1>UD n0<0,1,0>UD { align1 nomask };\nmov(8) g3<1>D 1D { align1 };\n" + probe.end,
                    probe.gen)
    assert probe.run(head + wait + tail) == Status.OK
    assert probe.grf(2)[0] == 0 and probe.grf(3)[0] == 1

    probe.start(1, 0xFF)
    assert probe.run(wait + tail) == Status.OK  # returns with the thread still waiting
    assert probe.grf(3)[0] == 0
    executed = probe.instructions
    assert probe.run() == Status.OK
    assert probe.instructions == executed + 1  # the wait was executed once more


# ---- the floating point environment of the host ----

LEAST_DENORMAL = 1
MULTIPLY = "mul(8) g3<1>F g2<8,8,1>F g4<8,8,1>F { align1 };\n"
END_GEN7 = "send(8) null<1>UD g2<8,8,1>UD 0x82000000 null MsgDesc: mlen 1 rlen 0 { align1 EOT };\n"
FOREVER = "L_again: jmpi(1) L_again:D { align1 nomask };\n"


def ending(probe: Probe) -> str:
    return END_GEN7 if probe.gen in (Gen.IVB, Gen.KBL) else probe.end


@pytest.mark.parametrize("general_only", [False, True])
@pytest.mark.parametrize("gen", [Gen.BW, Gen.EL, Gen.IVB, Gen.KBL])
@pytest.mark.parametrize("code", [MULTIPLY, MULTIPLY + FOREVER, MULTIPLY + "illegal { align1 };\n", FOREVER])
def test_the_host_computes_as_before_however_a_gang_ends(code: str, gen: Gen, general_only: bool) -> None:
    probe = Probe(gen)
    probe.start(8, 0xFF)
    numbers = [0.1, 0.2, 5e-324]
    done = probe.run(assemble(code + ending(probe), gen), general_only=general_only)
    assert done is (Status.OK if code == MULTIPLY else Status.HANG)
    assert numbers[0] + numbers[1] == 0.30000000000000004, "rounded to nearest"
    assert numbers[2] * len(numbers) > 0, "not flushed"


@pytest.mark.parametrize("general_only", [False, True])
@pytest.mark.parametrize("gen", [Gen.BW, Gen.EL, Gen.IVB, Gen.KBL])
def test_threads_flush_denormals_after_others_have_ended(gen: Gen, general_only: bool) -> None:
    probe = Probe(gen)
    probe.start(2, 0xFF)
    probe.set_flags(0xFF, 1)
    for t in range(2):
        probe.grf(2, t)[:] = LEAST_DENORMAL
        probe.grf(4, t)[:] = 0x3F800000
    code = f"(+f0.0) jmpi(1) L_late:D {{ align1 nomask }};\n{ending(probe)}L_late: {MULTIPLY}{ending(probe)}"
    assert probe.run(assemble(code, gen), general_only=general_only) is Status.OK
    assert [list(probe.grf(3, t)) for t in range(2)] == [[0] * 8, [0] * 8]
    assert list(probe.grf(2, 1)) == [LEAST_DENORMAL] * 8
