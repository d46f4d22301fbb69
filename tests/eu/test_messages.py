"""The send instruction in the EU: implied move, enables, descriptors, end of threads."""

from __future__ import annotations

import numpy as np
import pytest

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.messages import MESSAGE_DESCRIPTOR
from tests.harness.messages import END_MESSAGE, descriptor
from tests.harness.probe import Event, Probe, Status

NULL_MESSAGE = descriptor("NULL_MESSAGE", Gen.CTG)
INV, SQRT = (descriptor("EXTENDED_MATH_MESSAGE", Gen.CTG, response=1, math_function=name) for name in ("INV", "SQRT"))
# One register and one back; no shared function has this number.
UNKNOWN = MESSAGE_DESCRIPTOR.pack(Gen.CTG, shared_function=11, message_length=1, response_length=1)[0]


def send(dst: str, src: str, descriptor: int, size: int = 8, mrf: int = 2, options: str = "align1") -> str:
    return f"send({size}) {mrf} {dst} {src} 0x{descriptor:08x}UD {{ {options} }};\n"


@pytest.mark.parametrize("size", [1, 8, 16])
def test_the_implied_move_copies_a_whole_register_for_every_execution_size(size: int) -> None:
    probe = Probe()
    probe.start(2, 0)
    probe.grf(5, 1)[:] = [0x00000001, 0x80000001, 0x7F800001, 3, 4, 5, 6, 7]  # bits survive
    probe.run_to_end(send("null<1>F", "g5<8,8,1>F", NULL_MESSAGE, size))
    assert list(probe.mrf(2, 1)) == list(probe.grf(5, 1))


def test_the_implied_move_honours_region_and_modifiers() -> None:
    probe = Probe()
    probe.start(1, 0xFF)
    probe.grf(5).view(np.float32)[:] = [-1, 2, -3, 4, -5, 6, -7, 8]
    probe.grf(6).view(np.float32)[:] = [9, -10, 11, 12, 13, 14, 15, 16]
    probe.run_to_end(
        send("null<1>F", "(abs)g5.1<0,1,0>F", NULL_MESSAGE, mrf=1)
        + send("null<1>F", "-g5.4<4,4,1>F", NULL_MESSAGE, 4, mrf=3)
        + send("null<1>.xF", "g5<4>.xxyyF", NULL_MESSAGE, mrf=4, options="align16"))
    assert list(probe.mrf(1).view(np.float32)) == [2] * 8
    assert list(probe.mrf(3).view(np.float32)) == [5, -6, 7, -8, -9, 10, -11, -12]
    assert list(probe.mrf(4).view(np.float32)) == [-1, -1, 2, 2, -5, -5, 6, 6]


def test_math_writes_only_the_channels_of_the_execution_size() -> None:
    """Clip kernels keep counters in the register of the result."""
    probe = Probe()
    probe.start(1, 0xF)
    probe.grf(19).view(np.float32)[:] = [4, 1, 2, 3, 4, 5, 6, 7]
    probe.run_to_end(send("g19<1>F", "g19<0,1,0>F", INV, 1, options="align1 nomask"))
    assert list(probe.grf(19).view(np.float32)) == [0.25, 1, 2, 3, 4, 5, 6, 7]


def test_the_write_mask_of_the_destination_gates_the_response() -> None:
    probe = Probe()
    probe.start(1, 0xFF)
    probe.grf(4).view(np.float32)[:] = [2, 0, 0, 0, 8, 0, 0, 0]
    probe.grf(5).view(np.float32)[:] = 7
    probe.run_to_end(send("g5<1>.yF", "g4<4>.xF", INV, options="align16"))
    assert list(probe.grf(5).view(np.float32)) == [7, 0.5, 7, 7, 7, 0.125, 7, 7]


def test_second_half_sends_deliver_their_channels_in_the_low_bits() -> None:
    probe = Probe()
    probe.start(1, 0x0F00)
    probe.grf(4).view(np.float32)[:] = 2
    probe.run_to_end(send("g5<1>F", "g4<8,8,1>F", INV, options="align1 sechalf"))
    assert list(probe.grf(5).view(np.float32)) == [0.5] * 4 + [0] * 4


def test_a_compressed_send_is_two_messages() -> None:
    probe = Probe(Gen.EL)
    probe.start(3, 0xFF0F)
    for t in range(3):
        probe.grf(4, t).view(np.float32)[:] = 2
        probe.grf(5, t).view(np.float32)[:] = 4
    probe.run_to_end(send("g8<1>F", "g4<8,8,1>F", INV, 16, options="align1 compr"))
    for t in range(3):
        assert list(probe.grf(8, t).view(np.float32)) == [0.5] * 4 + [0] * 4
        assert list(probe.grf(9, t).view(np.float32)) == [0.25] * 8
        assert list(probe.mrf(3, t).view(np.float32)) == [4] * 8


def test_predicates_gate_the_channels_but_not_the_message() -> None:
    probe = Probe()
    probe.start(1, 0xFF)
    probe.set_flags(0x11)
    probe.grf(4).view(np.float32)[:] = 2
    probe.run_to_end("(+f0.0) " + send("g5<1>F", "g4<8,8,1>F", INV))
    assert list(probe.grf(5).view(np.float32)) == [0.5, 0, 0, 0, 0.5, 0, 0, 0]
    probe.start(1, 0xFF)
    assert probe.run("(+f0.0) " + probe.end) == Status.OK  # false everywhere, and ends all the same


def test_threads_may_send_with_different_descriptors_from_a0() -> None:
    probe = Probe()
    probe.start(4, 0xFF)
    for t in range(4):
        probe.grf(2, t)[0] = INV if t & 1 else SQRT
        probe.grf(4, t).view(np.float32)[:] = 16
    probe.run_to_end("mov(1) a0<1>UD g2<0,1,0>UD { align1 nomask };\n"
                     "send(8) 2 g5<1>F g4<8,8,1>F a0<0,1,0>UD { align1 };\n")
    assert [probe.grf(5, t).view(np.float32)[0] for t in range(4)] == [4, 0.0625, 4, 0.0625]


def test_an_end_in_a_register_descriptor_is_ignored_and_reported() -> None:
    probe = Probe()
    probe.start(2, 0xFF)
    for t in range(2):
        probe.grf(2, t)[0] = descriptor("NULL_MESSAGE", Gen.CTG, end_of_thread=True)
    probe.run_to_end("mov(1) a0<1>UD g2<0,1,0>UD { align1 nomask };\n"
                     "send(8) 2 null<1>F g4<8,8,1>F a0<0,1,0>UD { align1 };\n"
                     "mov(8) g5<1>D 1D { align1 };\n")
    assert probe.event(Event.EOT_IGNORED).count == 2
    assert list(probe.grf(5)) == [1] * 8


def test_a_message_to_an_unknown_function_is_reported_and_changes_nothing() -> None:
    probe = Probe()
    probe.start(1, 0xFF)
    probe.run_to_end(send("g5<1>F", "g4<8,8,1>F", UNKNOWN))
    found = probe.event(Event.BAD_SFID)
    assert (found.count, found.address, found.value) == (1, probe.kernel_address, UNKNOWN)
    assert not probe.grf(5).any()


def test_an_end_of_thread_sent_to_the_math_unit_is_reported_and_ends_the_thread() -> None:
    probe = Probe()
    probe.start(1, 0xFF)
    ending = descriptor("EXTENDED_MATH_MESSAGE", Gen.CTG, end_of_thread=True, math_function="INV")
    assert probe.run(send("null<1>F", "g4<8,8,1>F", ending) + "mov(8) g5<1>D 1D { align1 };\n") == Status.OK
    assert probe.event(Event.EOT_WRONG_UNIT).count == 1
    assert not probe.grf(5).any()


def test_the_dummy_destination_of_shipped_kernels_may_end_a_thread() -> None:
    probe = Probe()
    probe.start(1, 0xFFFF)
    assert probe.run(f"send(16) 0 acc0<1>UW g0<8,8,1>UW {END_MESSAGE}UD {{ align1 }};\n") == Status.OK


def test_messages_run_in_the_usual_floating_point_environment() -> None:
    """1/3 rounds to nearest in the math unit, whatever the rounding of the EU (the result is just above 1/3)."""
    values = []
    for to_nearest in (False, True):
        probe = Probe(round_to_nearest=to_nearest)
        probe.start(1, 0xFF)
        probe.grf(4).view(np.float32)[:] = 3
        probe.run_to_end(send("g5<1>F", "g4<8,8,1>F", INV))
        values.append(int(probe.grf(5)[0]))
    assert values[0] == values[1]
