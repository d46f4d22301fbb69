"""Threads of Gen7's media pipeline that start others and send them messages (docs/decisions.md 121)."""

from __future__ import annotations

from typing import Any

import pytest

from gen4emu.device.events import EuHang
from gen4emu.device.memory import Missing
from gen4emu.hw.gen6.messages import GatewayFunctionGen6 as GatewayFunction
from gen4emu.isa import assemble
from gen4emu.isa.encodings import encoding_of
from tests.harness.media_gen7 import DESCRIPTORS, KERNELS, PICTURES, TABLE, MediaGen7, block_header, write_block
from tests.harness.spawning import awaited_children
from tests.harness.spawning_gen7 import (
    CHILD_END,
    END,
    GEN7,
    KEY,
    RELEASE_ROOT,
    WAIT,
    end,
    fill,
    forward,
    gateway,
    open_gateway,
    spawn,
    urb_write,
)


def store(reg: int, line: int = 0, surface: int = 0) -> str:
    """A register to a line of a surface.  Uses g121 and g122."""
    return (block_header(121, "0UD", f"{line}UD", 32, 1) +
            f"mov(8) g122<1>UD g{reg}<8,8,1>UD {{ align1 nomask }};\n" + write_block(surface, 121, 1))


def started(part: str = "ivb", **options: Any) -> MediaGen7:
    media = MediaGen7(part, **options)
    media.surface(0, PICTURES, 64, 64, 64)
    return media


def go(media: MediaGen7, *words: int, **fields: Any) -> None:
    media.object(words, **{"children_present": True} | fields)


def numbers(media: MediaGen7) -> list[int]:
    return [(thread.descriptor - DESCRIPTORS) // 32 for thread in media.run()]


def stored(media: MediaGen7, line: int = 0, surface: int = 0) -> list[int]:
    data = media.memory.read(PICTURES + 0x10000 * surface + 64 * line, 32, Missing.ZERO)
    return [int.from_bytes(data[i:i + 4], "little") for i in range(0, 32, 4)]


# --- children ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("part", ["ivb", "byt", "hsw"])
def test_a_child_starts_with_what_its_parent_wrote(part: str) -> None:
    media = started(part, constants=bytes([7]) * 1024)
    media.kernel(0, fill(40, 0xA0) + fill(41, 0xA1) + fill(42, 0xA2) + urb_write(4, 40, 41, 42) + spawn(1, 4, 2) + END)
    media.kernel(1, CHILD_END, constant_urb_entry_read_length=1)
    media.select()
    go(media, 1)
    root, child = media.run()
    assert (root.child, child.child) == (False, True)
    assert child.header == (0xA0,) * 8
    assert child.constants == ((0x07070707,) * 8,)
    assert child.data == ((0xA1,) * 8, (0xA2,) * 8)
    assert child.descriptor == DESCRIPTORS + 32
    assert media.complaints() == []


def test_children_find_what_vfe_put_into_the_entry() -> None:
    media = started(urb_entry_allocation_size=5)
    media.kernel(0, spawn(1, 1, 1) + END)
    media.kernel(1, CHILD_END)
    media.select()
    for first in (0, 100):
        media.object(range(first, first + 24), children_present=True)
    roots, children = [], []
    for thread in media.run():
        (children if thread.child else roots).append(thread)
    assert [t.header[0] for t in roots] == [0, 5]
    assert sorted(t.registers for t in children) == [
        tuple(tuple(range(first + i, first + i + 8)) for i in (8, 16)) for first in (0, 100)]


def test_a_child_uses_the_tables_its_parent_names() -> None:
    media = started()
    media.kernel(0, fill(40, 0) + f"mov(1) g40.4<1>UD 0x{TABLE + 0x100:x}UD {{ align1 nomask }};\n" +
                 urb_write(2, 40) + spawn(1, 2, 0) + END)
    media.kernel(1, fill(50, 0x11223344) + store(50) + CHILD_END)
    media.select()
    media.surface(0x40, PICTURES + 0x10000, 64, 64, 64)  # entry 0 of the table that the parent names
    go(media, 1)
    media.run()
    assert media.complaints() == []
    assert (stored(media), stored(media, surface=1)) == ([0] * 8, [0x11223344] * 8)


def test_children_start_before_roots() -> None:
    media = started(maximum_number_of_threads=1)
    media.kernel(0, urb_write(2, 0) + spawn(1, 2, 0) + END)
    media.kernel(1, CHILD_END)
    media.select()
    go(media, 1)
    go(media, 1)
    assert [t.child for t in media.run()] == [False, True, False, True]


def test_more_spawns_than_the_queue_holds_wait() -> None:
    media = started()
    media.kernel(0, urb_write(2, 0, 1) + spawn(1, 2, 1) * 60 + END)
    media.kernel(1, CHILD_END)
    media.select()
    go(media, 9)
    threads = media.run()
    assert len(threads) == 61
    assert {t.data[0][0] for t in threads} == {9}
    assert media.complaints() == []


def test_rows_outside_of_the_urb_are_zeros_and_reported() -> None:
    media = started(number_of_urb_entries=64, urb_entry_allocation_size=64)
    media.kernel(0, spawn(1, 100, 1) + END)
    media.kernel(1, CHILD_END)
    media.select()
    for i in range(64):
        go(media, i)
    children = [t for t in media.run() if t.child]
    assert len(children) == 64
    assert all(t.registers == ((0,) * 8,) * 2 for t in children[32:])
    assert any("URB" in c for c in media.complaints())


def test_a_thread_may_not_end_by_spawning() -> None:
    media = started()
    media.kernel(0, urb_write(2, 0) + spawn(1, 2, 0, end_of_thread="EOT"))
    media.kernel(1, CHILD_END)
    media.select()
    go(media, 1)
    assert len(media.run()) == 1
    assert any("does not define" in c for c in media.complaints())


# --- roots ------------------------------------------------------------------------------------------------------------
def test_a_synchronized_root_waits_for_its_message() -> None:
    media = started()
    media.kernel(0, fill(40, 0xB0) + urb_write(4, 40) + spawn(0, 4, 1, RELEASE_ROOT) + END)
    media.kernel(1, END)
    media.kernel(2, END)
    media.select()
    go(media, 1)
    go(media, 2, interface_descriptor_offset=1, thread_synchronization=True)
    go(media, 3, interface_descriptor_offset=2)
    first, synchronized, last = media.run()
    assert [(t.descriptor - DESCRIPTORS) // 32 for t in (first, synchronized, last)] == [0, 1, 2]
    assert synchronized.data == ((0xB0,) * 8, (2, 0, 0, 0, 0, 0, 0, 0))


def test_a_synchronized_root_without_a_message_is_a_deadlock() -> None:
    media = started()
    media.select()
    go(media, 2, thread_synchronization=True)
    with pytest.raises(EuHang, match="wait for each other"):
        media.run()


def test_a_fence_holds_roots_until_something_is_spawned() -> None:
    media = started()
    media.kernel(0, urb_write(2, 0) + spawn(1, 2, 0) + END)
    media.kernel(1, CHILD_END)
    media.kernel(2, END)
    media.select()
    go(media, 1, name="MEDIA_OBJECT_PRT", prt_fence_needed=True)
    go(media, 1, interface_descriptor_offset=2)
    assert numbers(media) == [0, 1, 2]
    media.kernel(0, END)
    media.load()
    go(media, 1, name="MEDIA_OBJECT_PRT", prt_fence_needed=True)
    go(media, 1, interface_descriptor_offset=2)
    with pytest.raises(EuHang, match="wait for each other"):
        media.run()


def test_a_fence_for_the_flush_of_state_holds_no_root() -> None:
    media = started()
    media.kernel(0, END)
    media.select()
    go(media, 1, name="MEDIA_OBJECT_PRT", prt_fence_needed=True, prt_fencetype="VFE_STATE_FLUSH")
    go(media, 1)
    assert numbers(media) == [0, 0]


# --- entries ----------------------------------------------------------------------------------------------------------
def test_entries_are_kept_until_they_are_given_back() -> None:
    media = started(number_of_urb_entries=2, urb_entry_allocation_size=4)
    media.kernel(0, END)
    media.select()
    for i in range(5):
        go(media, i)
    assert sorted({t.header[0] for t in media.run()}) == [0, 4]
    media.kernel(0, end(keep=True))
    media.load()
    for i in range(3):
        go(media, i)
    with pytest.raises(EuHang, match="wait for each other"):
        media.run()


def test_objects_without_children_release_their_entries_at_once() -> None:
    media = started(number_of_urb_entries=2)
    media.kernel(0, end(keep=True))
    media.select()
    for i in range(5):
        media.object((i,))
    assert len(media.run()) == 5
    assert media.complaints() == []


def test_an_entry_can_be_given_back_by_a_child_once() -> None:
    media = started(number_of_urb_entries=1)
    media.kernel(0, urb_write(2, 0) + spawn(1, 2, 0) + end(keep=True))
    media.kernel(1, end(child=True))  # R0 is that of the parent: it names the entry
    media.select()
    for i in range(3):
        go(media, i)
    assert len(media.run()) == 6
    assert media.complaints() == []
    media.kernel(0, urb_write(2, 0) + spawn(1, 2, 0) + END)
    media.load()
    go(media, 1)
    media.run()
    assert any("URB write" in c for c in media.complaints())


def test_entries_without_a_size_all_begin_at_the_first_row() -> None:
    media = started(urb_entry_allocation_size=0)
    media.select()
    for i in range(3):
        go(media, i)
    assert {t.header[0] for t in media.run()} == {0}


# --- the gateway ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("part", ["ivb", "hsw"])
@pytest.mark.parametrize("children", [4, 16])
def test_a_parent_waits_for_notifications_of_its_children(children: int, part: str) -> None:
    """Each child sets a byte of the parent's g80, which the parent stores when all are there."""
    media = started(part, number_of_urb_entries=1, urb_entry_allocation_size=64)
    media.kernel(0, awaited_children(GEN7, children) + store(80) + END)
    media.kernel(1, forward("g1<0,1,0>UD", "g2<0,1,0>UD") + CHILD_END)
    media.select()
    go(media, 1)
    assert len(media.run()) == 1 + children
    assert media.complaints() == []
    assert stored(media) == [0x01010101] * (children // 4) + [0] * (8 - children // 4)


def test_messages_are_acknowledged_with_what_went_wrong() -> None:
    """Sent by a thread to itself: before it opens its registers, with the wrong key, the right one, and after it closes
    them."""
    media = started()
    me = "mov(1) g70<1>UD sr0<0,1,0>UD { align1 nomask };\n"
    send = [forward("g70<0,1,0>UD", "2UD", f"g{60 + i}<1>UD", key)
            for i, key in enumerate((KEY, KEY + 1, KEY, KEY))]
    media.kernel(0, me + fill(80, 0) + "".join(fill(60 + i, 0x77) for i in range(4)) + send[0] + open_gateway(80) +
                 send[1] + send[2] + gateway(GatewayFunction.CLOSE_GATEWAY) + send[3] +
                 "".join(store(60 + i, i) for i in range(4)) + store(80, 4) + END)
    media.select()
    go(media, 1)
    media.run()
    assert [stored(media, i)[:2] for i in range(4)] == [[0x30002, 0x77], [0x30003, 0x77], [0x30000, 0x77],
                                                         [0x30002, 0x77]]
    assert stored(media, 4)[0] == 1 << 16


@pytest.mark.parametrize("part", ["ivb", "hsw"])
def test_without_the_protocol_all_registers_are_open(part: str) -> None:
    """A thread on every execution unit waits; the last object writes to all of them, with any key."""
    media = started(part, bypass_gateway_control="BYPASSING_OPENGATEWAY_CLOSEGATEWAY_PROTOCOL")
    units = media.device.info.eu_count
    media.kernel(0, fill(80, 0) + WAIT + block_header(121, "0UD", "g1<0,1,0>UD", 32, 1) +
                 "mov(8) g122<1>UD g80<8,8,1>UD { align1 nomask };\n" + write_block(0, 121, 1) + END)
    media.kernel(1, "".join(f"mov(1) g70<1>UD 0x{unit << 8:x}UD {{ align1 nomask }};\n"
                            f"mov(1) g71<1>UD 0x{80 * 32 + unit:x}UD {{ align1 nomask }};\n" +
                            forward("g70<0,1,0>UD", "g71<0,1,0>UD", key=unit) for unit in range(units)) + END)
    media.select()
    for unit in range(units):
        media.object((unit,))
    media.object((), interface_descriptor_offset=1)
    media.run()
    assert media.complaints() == []
    for unit in range(units):
        assert stored(media, unit) == [1 << 8 * (unit % 4) if i == unit // 4 else 0 for i in range(8)]


def test_time_stamps_increase_with_the_instructions_that_have_run() -> None:
    media = started()
    media.kernel(0, fill(119, 0) + fill(60, 0x77) +
                 gateway(GatewayFunction.GET_TIMESTAMP, "g60<1>UD", acknowledge=True) + store(60) + END)
    media.select()
    times = []
    for _ in range(3):
        go(media, 1)
        media.run()
        low, high, *same = stored(media)
        assert same == [low, high] + [0x77] * 4
        times.append(high << 12 | low >> 20)
    assert media.complaints() == []
    assert times[0] < times[1] < times[2]


@pytest.mark.parametrize("function", [GatewayFunction.UPDATE_GATEWAY_STATE, GatewayFunction.MMIO_READ_WRITE])
def test_gateway_messages_without_a_public_payload_are_reported(function: GatewayFunction) -> None:
    """The thread continues, and its registers stay as they are."""
    media = started()
    media.kernel(0, fill(119, 0) + fill(60, 0x77) + gateway(function, "g60<1>UD", acknowledge=True) + store(60) + END)
    media.select()
    go(media, 1)
    media.run()
    assert stored(media) == [0x77] * 8
    (complaint,) = media.complaints()
    assert complaint.startswith("message that"), complaint


# --- code -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("part", ["ivb", "hsw"])
def test_code_in_the_middle_of_an_instruction_reads_registers_of_its_kernel(part: str) -> None:
    """The kernel becomes machine code when its threads have run often, with the hidden code decoded as a part of it."""
    media = started(part)
    start = fill(22, 7) + f"jmpi(1) {8 // encoding_of(media.gen).jmpi_unit}D {{ align1 WE_all 1N }};\n"
    hidden = bytearray(assemble("""mov(8) g21<1>UD g22<0,1,0>UD { align1 nomask };
                                   mov(8) g30<1>F g31<8,8,1>F { align1 1Q compacted };""", media.gen))
    hidden[12:16] = 0x420.to_bytes(4, "little")  # then its end and what follows are a harmless `add` for the analyses
    offset = media.kernel(0, start + "nop { align1 };\n" * 2 + store(21) + END)
    media.memory.write(media.far + KERNELS + offset + len(assemble(start, media.gen)) + 8, bytes(hidden))
    media.select()
    for _ in range(40):
        media.memory.write(PICTURES, bytes(32))
        go(media, 1)
        media.run()
        assert stored(media) == [7] * 8
