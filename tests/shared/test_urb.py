"""URB_WRITE: destinations of rows, notifications of the owner of the thread (965 PRM vol. 4, 8.4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gen4emu.device.memory import Unit
from gen4emu.hw.gen import Gen
from tests.harness.messages import descriptor as message_of
from tests.harness.probe import Event, Probe

_NAME = "URB_MESSAGE"
SFID = message_of(_NAME, Gen.EL, length=0)
NONE = 0


def _part(**fields: Any) -> int:
    return message_of(_NAME, Gen.EL, length=0, **fields) & ~SFID


COMPLETE, USED, ALLOCATE, EOT = (_part(**{name: True}) for name in ("complete", "used", "allocate", "end_of_thread"))
INTERLEAVE, TRANSPOSE = (_part(swizzle_control=name) for name in ("INTERLEAVED", "TRANSPOSE"))


def descriptor(mlen: int, *flags: int, offset: int = 0, rlen: int = 0) -> int:
    return message_of(_NAME, Gen.EL, length=mlen, response=rlen, offset=offset) | sum(flags)


def started(unit: Unit = Unit.SF, rows: int = 64) -> Probe:
    probe = Probe(Gen.EL)
    probe.start(unit=unit, urb_rows=rows)
    for row in range(rows):
        probe.urb_row(row)[:] = 0xEEEE0000 + row
    return probe


def fill(probe: Probe, registers: int) -> None:
    """M1 on: a0..a3 b0..b3, c, d; e, f; ... as 0x100 * register + dword."""
    for reg in range(1, registers + 1):
        probe.mrf(reg)[:] = 0x100 * reg + np.arange(8)


def untouched(row: int) -> list[int]:
    return [0xEEEE0000 + row] * 8


def test_transpose_makes_rows_of_attributes() -> None:
    probe = started()
    probe.mrf(0)[0] = 5
    for reg in range(3):
        probe.mrf(1 + reg)[:] = 10 * np.arange(8) + reg
    probe.send(descriptor(4, TRANSPOSE, COMPLETE, USED, offset=4))
    assert list(probe.urb_row(14)) == [0, 1, 0, 2, 10, 11, 0, 12]
    assert list(probe.urb_row(15)) == [20, 21, 0, 22, 30, 31, 0, 32]
    assert list(probe.urb_row(17)) == [60, 61, 0, 62, 70, 71, 0, 72]
    assert list(probe.urb_row(13)) == untouched(13)
    assert list(probe.urb_row(18)) == untouched(18)


def test_transpose_takes_several_groups_and_no_notice_of_channels() -> None:
    probe = started()
    fill(probe, 6)
    probe.send(descriptor(7, TRANSPOSE), emask=0)
    assert list(probe.urb_row(0)) == [0x100, 0x200, 0, 0x300, 0x101, 0x201, 0, 0x301]
    assert list(probe.urb_row(4)) == [0x400, 0x500, 0, 0x600, 0x401, 0x501, 0, 0x601]
    assert list(probe.urb_row(7)) == [0x406, 0x506, 0, 0x606, 0x407, 0x507, 0, 0x607]


def test_a_transpose_of_two_registers_or_at_an_odd_row_is_reported() -> None:
    for message in descriptor(3, TRANSPOSE), descriptor(4, TRANSPOSE, offset=1):
        probe = started()
        probe.send(message)
        assert probe.event(Event.BAD_LENGTH).value == message


def interleaved(emask: int = 0xFF) -> Probe:
    probe = started()
    probe.mrf(0)[:2] = 3, 8
    fill(probe, 3)
    probe.send(descriptor(4, INTERLEAVE, COMPLETE, USED, offset=1), emask=emask)
    return probe


def test_interleave_gives_each_entry_its_half_of_the_registers() -> None:
    probe = interleaved()
    assert list(probe.urb_row(7)) == [0x100, 0x101, 0x102, 0x103, 0x200, 0x201, 0x202, 0x203]
    assert list(probe.urb_row(8)) == [0x300, 0x301, 0x302, 0x303, *untouched(8)[:4]]
    assert list(probe.urb_row(17)) == [0x104, 0x105, 0x106, 0x107, 0x204, 0x205, 0x206, 0x207]
    assert list(probe.urb_row(18)) == [0x304, 0x305, 0x306, 0x307, *untouched(18)[:4]]


def test_interleave_writes_enabled_dwords_only() -> None:
    low = interleaved(0x0F)
    assert list(low.urb_row(7)) == list(interleaved().urb_row(7))
    assert list(low.urb_row(17)) == untouched(17)
    some = interleaved(0x84)
    old = 0xEEEE0007
    assert list(some.urb_row(7)) == [old, old, 0x102, old, old, old, 0x202, old]
    assert list(some.urb_row(18)) == [0xEEEE0012, 0xEEEE0012, 0xEEEE0012, 0x307, *untouched(18)[:4]]


def test_interleave_of_one_register_writes_half_a_row() -> None:
    """Mesa ends vertices of 13 slots this way: 12 rows of four first, then one."""
    probe = started(Unit.VS)
    probe.mrf(0)[:2] = 0, 16
    fill(probe, 12)
    probe.send(descriptor(13, INTERLEAVE, USED))
    fill(probe, 1)
    probe.mrf(1)[:] = range(8)
    probe.send(descriptor(2, INTERLEAVE, COMPLETE, USED, EOT, offset=6))
    assert [int(probe.urb_row(row)[0]) for row in range(6)] == [0x100, 0x300, 0x500, 0x700, 0x900, 0xB00]
    assert list(probe.urb_row(6)) == [0, 1, 2, 3, *untouched(6)[:4]]
    assert list(probe.urb_row(38)) == [4, 5, 6, 7, *untouched(38)[:4]]
    assert list(probe.urb_row(37)) == [0xB04, 0xB05, 0xB06, 0xB07, 0xC04, 0xC05, 0xC06, 0xC07]
    assert probe.events() == {}


def test_plain_rows_ignore_the_channels() -> None:
    probe = started()
    probe.mrf(0)[0] = 0x00550002
    fill(probe, 2)
    probe.send(descriptor(3, NONE, offset=3), emask=0)
    assert list(probe.urb_row(7)) == list(probe.mrf(1))
    assert list(probe.urb_row(8)) == list(probe.mrf(2))
    assert list(probe.urb_row(9)) == untouched(9)


def test_rows_beyond_the_end_are_dropped_and_reported() -> None:
    probe = started(rows=4)
    fill(probe, 3)
    probe.mrf(0)[0] = 1
    probe.send(descriptor(4, NONE))
    assert list(probe.urb_row(3)) == list(probe.mrf(2))
    assert probe.event(Event.URB_RANGE).count == 1
    assert probe.event(Event.URB_RANGE).value == 4
    probe.mrf(0)[0] = 0xFFFF
    probe.send(descriptor(4, INTERLEAVE, offset=63))
    assert probe.event(Event.URB_RANGE).count > 1


@pytest.mark.parametrize(("opcode", "lengths", "event"), [
    ("WRITE_OWORD", (2, 0), Event.URB_RANGE), ("READ_OWORD", (1, 1), Event.URB_READ_RANGE)])
def test_offsets_of_slots_beyond_the_end_are_reported(opcode: str, lengths: tuple[int, int], event: Event) -> None:
    """Gen7, interleaved, slot 2 of both entries: one at row 1, the other one far away."""
    probe = Probe(Gen.IVB)
    probe.start(1, unit=Unit.DS, urb_rows=4)
    probe.urb_row(1)[:] = range(8)
    probe.grf(40)[:] = [0, 0, 0, 0, 0x0FFFFFFF, 0xFF00, 0, 0]
    probe.grf(20)[:] = 7
    word = message_of(_NAME, Gen.IVB, length=lengths[0], response=lengths[1], header_present=True, per_slot_offset=True,
                      interleave=True, offset=2, urb_opcode=opcode)
    probe.send_gen7(6, word, 40, 20 if opcode == "READ_OWORD" else None)
    found = probe.events()
    assert set(found) == {event}
    assert (found[event].count, found[event].value) == (1, 0x10000001 // 2)
    if opcode == "READ_OWORD":
        assert list(probe.grf(20)) == [0, 1, 2, 3, 0, 0, 0, 0]


def test_complete_tells_the_owner_with_the_header() -> None:
    probe = started(Unit.CLIP)
    probe.listen()
    probe.mrf(0)[:] = 7, 0, 0x13, 0, 0, 0, 0, 0
    fill(probe, 2)
    partial = descriptor(3, NONE, USED)
    probe.send(partial)
    assert probe.heard() == []
    last = descriptor(3, NONE, USED, COMPLETE, EOT)
    probe.send(last)
    (heard,) = probe.heard()
    assert (heard.descriptor, heard.thread) == (last, 0)
    assert heard.header == (7, 0, 0x13, 0, 0, 0, 0, 0)


def test_a_thread_may_allocate_into_the_register_that_holds_its_header() -> None:
    """CLIP's R0 becomes the handle, the other dwords zero; its next header still counts as its own."""
    probe = started(Unit.CLIP)
    probe.listen(handle=0x00090004)
    probe.mrf(0)[:] = probe.grf(0)[:] = 2, 0, 0x21, 0, 0, 0xAB, 0x1234, 0x5678
    probe.send(descriptor(1, COMPLETE, USED, ALLOCATE, rlen=1), dst=0)
    assert list(probe.grf(0)) == [0x00090004, 0, 0, 0, 0, 0, 0, 0]
    probe.mrf(0)[:] = probe.grf(0)
    probe.send(descriptor(1, COMPLETE, USED, EOT))
    assert [h.header[0] for h in probe.heard()] == [2, 0x00090004]
    assert probe.events() == {}


def test_clip_gives_a_handle_back_with_a_message_of_one_register() -> None:
    probe = started(Unit.CLIP)
    probe.listen()
    probe.mrf(0)[0] = 6
    probe.send(descriptor(1, COMPLETE, EOT))
    assert [h.header[0] for h in probe.heard()] == [6]
    assert probe.events() == {}
    assert list(probe.urb_row(12)) == untouched(12)


@pytest.mark.parametrize(("unit", "message"), [
    (Unit.CLIP, descriptor(1, COMPLETE, USED, ALLOCATE, EOT, rlen=1)),
    (Unit.SF, descriptor(1, COMPLETE)),
    (Unit.VS, descriptor(1, ALLOCATE, rlen=1)),
])
def test_what_the_protocol_forbids_is_reported(unit: Unit, message: int) -> None:
    probe = started(unit)
    probe.send(message, dst=1)
    assert probe.event(Event.URB_PROTOCOL).value == message


@pytest.mark.parametrize("message", [descriptor(2, 1), descriptor(2, 15), descriptor(2, 3 << 10)])
def test_reserved_opcodes_and_swizzles_write_nothing(message: int) -> None:
    probe = started()
    probe.listen()
    fill(probe, 1)
    probe.send(message | COMPLETE)
    assert probe.event(Event.BAD_MESSAGE).count == 1
    assert list(probe.urb_row(0)) == untouched(0)
    assert probe.heard() == []


def test_a_message_without_header_is_dropped() -> None:
    probe = started()
    probe.listen()
    probe.send(descriptor(0, COMPLETE, USED))
    assert probe.event(Event.BAD_LENGTH).count == 1
    assert probe.heard() == []


def test_threads_of_a_gang_write_to_their_own_windows() -> None:
    probe = Probe(Gen.CTG)
    probe.start(8, unit=Unit.SF, urb_rows=8)
    probe.listen()
    for t in range(8):
        probe.mrf(0, t)[0] = t % 3
        probe.mrf(1, t)[:] = 0x1000 * t + np.arange(8)
    probe.send(descriptor(2, NONE, COMPLETE, USED), threads=0b10110101)
    for t in range(8):
        expected = 0x1000 * t + np.arange(8) if 0b10110101 >> t & 1 else np.zeros(8)
        assert list(probe.urb_row(2 * (t % 3), t)) == list(expected)
    assert [h.thread for h in probe.heard()] == [0, 2, 4, 5, 7]
