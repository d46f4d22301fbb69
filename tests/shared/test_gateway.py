"""The message gateway and the thread spawner's messages (965 PRM vol. 4, 7; G45 PRM vol. 2, 10.8)."""

from __future__ import annotations

from typing import Any

import pytest

from gen4emu.device.memory import Unit
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.messages import GatewayFunction, SpawnTarget, ThreadSpawnerOpcode, ThreadSpawnerRequester
from tests.harness.messages import descriptor
from tests.harness.probe import Event, Probe, Status

OPEN, CLOSE, FORWARD = GatewayFunction.OPEN_GATEWAY, GatewayFunction.CLOSE_GATEWAY, GatewayFunction.FORWARD_MSG
RESERVED = 3
A, B = 1, 2  # the two threads, as masks
OK, TOO_LARGE, CLOSED, WRONG_KEY, LIMIT, BAD_OPCODE, BAD_SIZE = range(7)
BYTE, DWORD, DWORDS_2, DWORDS_4 = 0, 2, 3, 4
ANSWER = 20  # the register that acknowledgements go to


def message(function: int, **fields: Any) -> int:
    return descriptor("GATEWAY_MESSAGE", Gen.EL, gateway_function=function, **fields)


def acknowledged(function: int) -> int:
    return message(function, response=1, acknowledge=True)


class Talk:
    """Two threads: A opens, B forwards to it."""

    def __init__(self, gen: Gen = Gen.EL) -> None:
        self.probe = Probe(gen)
        self.probe.start(2, unit=Unit.TS)
        for reg in range(128):
            self.probe.grf(reg, 0)[:] = 0xAAAAAAAA

    def send(self, function: int, thread: int, m0: list[int]) -> int:
        t = thread - 1
        self.probe.mrf(3, t)[:] = m0
        self.probe.grf(ANSWER, t)[:] = 0x77777777
        self.probe.send(acknowledged(function), mrf=3, dst=ANSWER, threads=thread)
        answer = list(self.probe.grf(ANSWER, t))
        assert answer[1:] == [0x77777777] * 7
        assert answer[0] >> 16 == 3
        return int(answer[0]) & 0xFFFF

    def open(self, base: int = 4, size: int = 1, key: int = 0x1212) -> int:
        return self.send(OPEN, A, [0, 0, 0, 0, key, base << 21 | size << 8, 0, 0])

    def close(self) -> int:
        return self.send(CLOSE, A, [0xFFFFFFFF] * 8)

    def forward(self, offset: int, length: int = DWORD, data: list[int] | None = None, *, key: int = 0x1212,
                tid: int = 0, euid: int = 0) -> int:
        words = data if data is not None else [0x11111111, 0x22222222, 0x33333333, 0x44444444]
        return self.send(FORWARD, B, [*words, euid << 24 | tid << 16 | key, offset << 16 | length << 8, 0, 0])


def test_a_dword_arrives_where_the_offset_says() -> None:
    talk = Talk()
    assert talk.open() == OK
    assert talk.forward(0x28, DWORD) == OK
    assert list(talk.probe.grf(5)) == [0xAAAAAAAA, 0xAAAAAAAA, 0x11111111, *[0xAAAAAAAA] * 5]
    assert talk.probe.events() == {}


def test_a_byte_changes_one_byte() -> None:
    talk = Talk()
    talk.open()
    assert talk.forward(3, BYTE, [0xFFFFFFFF, 0, 0, 0]) == OK
    assert list(talk.probe.grf(4)) == [0xFFAAAAAA, *[0xAAAAAAAA] * 7]


@pytest.mark.parametrize(("length", "offset", "expected"), [
    (DWORDS_2, 0x18, [0xAAAAAAAA] * 6 + [0x11111111, 0x22222222]),
    (DWORDS_4, 0x10, [0xAAAAAAAA] * 4 + [0x11111111, 0x22222222, 0x33333333, 0x44444444]),
])
def test_two_and_four_dwords_arrive(length: int, offset: int, expected: list[int]) -> None:
    talk = Talk()
    talk.open()
    assert talk.forward(offset, length) == OK
    assert list(talk.probe.grf(4)) == expected


def test_errors_have_their_codes_and_write_nothing() -> None:
    talk = Talk()
    assert talk.forward(0) == CLOSED
    talk.open()
    assert talk.forward(0x40) == LIMIT  # two registers are open
    assert talk.forward(0x3C) == OK
    assert talk.forward(0, key=0x1213) == WRONG_KEY
    assert talk.forward(0, 5) == BAD_SIZE
    assert talk.forward(0, 1) == BAD_SIZE
    assert talk.forward(0, tid=3) == CLOSED
    assert talk.forward(0, euid=1) == CLOSED
    assert talk.send(RESERVED, B, [0] * 8) == BAD_OPCODE
    assert list(talk.probe.grf(4)) == [0xAAAAAAAA] * 8
    assert talk.close() == OK
    assert talk.forward(0) == CLOSED
    assert talk.probe.event(Event.BAD_MESSAGE).count == 9


def test_the_largest_gateway_is_64_registers_on_gen45_and_32_before() -> None:
    assert [Talk(Gen.EL).open(size=size) for size in range(8)] == [OK] * 7 + [TOO_LARGE]
    assert [Talk(Gen.CL).open(size=size) for size in range(8)] == [OK] * 6 + [TOO_LARGE] * 2


def test_opening_again_replaces_what_was_open() -> None:
    talk = Talk()
    talk.open(base=4, key=1)
    talk.open(base=8, size=0, key=2)
    assert talk.forward(0, key=1) == WRONG_KEY
    assert talk.forward(4, key=2) == OK
    assert int(talk.probe.grf(8)[1]) == 0x11111111


def test_a_gateway_at_the_end_of_the_file_ends_there() -> None:
    talk = Talk()
    assert talk.open(base=127, size=3) == OK
    assert talk.forward(0x1C) == OK
    assert talk.forward(0x20) == LIMIT
    assert int(talk.probe.grf(127)[7]) == 0x11111111
    assert talk.open(base=255, size=5) == OK
    assert talk.forward(0) == LIMIT


def test_without_acknowledgement_nothing_comes_back() -> None:
    talk = Talk()
    talk.probe.grf(ANSWER, 1)[:] = 5
    talk.probe.send(message(FORWARD), dst=ANSWER, threads=B)
    assert list(talk.probe.grf(ANSWER, 1)) == [5] * 8


def test_a_thread_that_ends_closes_its_gateway_whatever_its_message_says() -> None:
    for function in OPEN, CLOSE:
        talk = Talk()
        talk.open()
        talk.probe.mrf(0)[:] = 0, 0, 0, 0, 0x1212, 4 << 21 | 1 << 8, 0, 0
        talk.probe.send(message(function, end_of_thread=True), threads=A)
        assert talk.forward(0) == CLOSED


def test_notification_wakes_a_waiting_thread() -> None:
    """Thread 1 forwards to thread 0, which waits before it looks; both run the same kernel."""
    probe = Probe(Gen.EL)
    probe.start(2, unit=Unit.TS)
    opened = [0, 0, 0, 0, 0x55, 10 << 21, 0, 0]
    forwarded = [0xCAFE, 0, 0, 0, 0x55, DWORD << 8, 0, 0]
    for t, m0 in enumerate((opened, forwarded)):
        probe.grf(1, t)[:] = m0
        probe.grf(2, t)[0] = t
    code = f"""
        mov(8) m0<1>UD g1<8,8,1>UD {{ align1 nomask }};
        cmp.ne.f0.0(8) null<1>UD g2<0,1,0>UD 0x0UD {{ align1 nomask }};
        (+f0.0) jmpi(1) SENDER:D {{ align1 nomask }};
        send(8) 0 null<1>UD null<8,8,1>UD 0x{message(OPEN):08x}UD {{ align1 nomask }};
        wait(1) n0<0,1,0>UD {{ align1 nomask }};
        jmpi(1) LOOK:D {{ align1 nomask }};
        SENDER: send(8) 0 null<1>UD null<8,8,1>UD 0x{message(FORWARD, notify=True):08x}UD {{ align1 nomask }};
        LOOK: mov(1) g11<1>UD g10<0,1,0>UD {{ align1 nomask }};
    """
    assert probe.run(code) == Status.OK
    assert int(probe.grf(10, 0)[0]) == 0xCAFE
    assert int(probe.grf(11, 0)[0]) == 0xCAFE


# --- the thread spawner ---

END_ROOT = descriptor("THREAD_SPAWNER_MESSAGE", Gen.EL, end_of_thread=True)
SPAWN: dict[str, Any] = {"opcode": ThreadSpawnerOpcode.SPAWN_THREAD}
SPAWN_CHILD = descriptor("THREAD_SPAWNER_MESSAGE", Gen.EL, **SPAWN)
CHILD_SPAWNS_ROOT = descriptor("THREAD_SPAWNER_MESSAGE", Gen.EL, **SPAWN, requester=ThreadSpawnerRequester.CHILD_THREAD,
                               spawn_target=SpawnTarget.SYNCHRONIZED_ROOT_THREAD)
END_BY_SPAWNING = descriptor("THREAD_SPAWNER_MESSAGE", Gen.EL, **SPAWN, end_of_thread=True)


def test_the_owner_hears_of_a_thread_that_ends() -> None:
    probe = Probe(Gen.EL)
    probe.start(1, unit=Unit.TS)
    probe.listen()
    probe.mrf(0)[:] = range(1, 9)
    assert probe.send(END_ROOT) == Status.OK
    (heard,) = probe.heard()
    assert (heard.descriptor, heard.header) == (END_ROOT, (1, 2, 3, 4, 5, 6, 7, 8))
    assert probe.events() == {}


def test_the_owner_learns_which_thread_spawns_a_child() -> None:
    probe = Probe(Gen.EL)
    probe.start(2, unit=Unit.TS)
    probe.listen()
    probe.send(SPAWN_CHILD, threads=B)
    probe.send(CHILD_SPAWNS_ROOT, threads=A)
    assert [(h.thread, h.descriptor) for h in probe.heard()] == [(1, SPAWN_CHILD), (0, CHILD_SPAWNS_ROOT)]


def test_a_thread_can_not_end_by_spawning() -> None:
    probe = Probe(Gen.EL)
    probe.start(1, unit=Unit.TS)
    probe.listen()
    probe.send(END_BY_SPAWNING)
    assert probe.heard() == []
    assert probe.event(Event.BAD_MESSAGE).value == END_BY_SPAWNING


def test_a_thread_without_spawner_is_reported() -> None:
    probe = Probe(Gen.EL)
    probe.send(END_ROOT)
    assert probe.event(Event.BAD_MESSAGE).count == 1


def test_the_null_function_takes_anything() -> None:
    probe = Probe(Gen.EL)
    anything = descriptor("NULL_MESSAGE", Gen.EL, length=15, response=15, end_of_thread=True)
    assert probe.send(anything, dst=0) == Status.OK
    assert probe.events() == {}


def test_time_stamps_are_a_wish_and_go_to_one_half_of_a_register() -> None:
    """965v4 7.1.5: absolute, then relative; 0.25 ns in the upper 12 bits of the low dword, 1.024 us in the high one."""
    for wanted in (False, True):
        p = Probe(Gen.EL, gateway_time=wanted)
        p.start(1, unit=Unit.TS)
        p.run("mov(8) g2<1>UD 0UD { align1 };\n" * 300 + p.end)
        p.start(1, unit=Unit.TS)
        p.grf(ANSWER)[:] = 0x77777777
        for high in (0, 1):
            p.mrf(3)[:] = 0, 0, 0, 0, 0, high << 31, 0, 0
            p.send(acknowledged(RESERVED), mrf=3, dst=ANSWER)
            if not wanted:
                assert int(p.grf(ANSWER)[0]) == 3 << 16 | BAD_OPCODE
                break
            low, more = (int(w) for w in p.grf(ANSWER)[4 * high:4 * high + 2])
            assert more << 12 | low >> 20 == 301 * 16
            assert low & 0xFFFFF == 0
            assert list(p.grf(ANSWER)[4 * high + 2:4 * high + 4]) == [low, more]
            assert high or list(p.grf(ANSWER)[4:]) == [0x77777777] * 4
