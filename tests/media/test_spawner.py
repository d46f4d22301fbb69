"""The thread spawner: children, synchronized roots, fences, limits, URB entries, waits (G45 PRM vol. 2, 10.5)."""

from __future__ import annotations

from typing import Any

import pytest

from gen4emu.device.events import EuHang
from gen4emu.device.options import Options
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.messages import ThreadSpawnerOpcode
from tests.harness.media import DESCRIPTORS, END, SCRATCH, TARGETS, Media, store
from tests.harness.messages import descriptor, operand
from tests.harness.spawning import (
    CHILD_END,
    GEN4,
    KEEP_END,
    RELEASE_ROOT,
    SPAWN_CHILD,
    WAIT,
    awaited_children,
    fill,
    forward,
    open_gateway,
    parent,
    spawn,
    urb_write,
)


def test_a_child_starts_with_what_its_parent_wrote() -> None:
    media = parent(constants=bytes([7]) * 1024)
    media.kernel(0, fill(40, 0xA0) + fill(41, 0xA1) + fill(42, 0xA2) + urb_write(4, 40, 41, 42) + spawn(1, 4, 2) + END)
    media.kernel(1, CHILD_END, constant_urb_entry_read_length=1)
    media.object((1,))
    root, child = media.run()
    assert (root.child, child.child) == (False, True)
    assert child.header == (0xA0,) * 8
    assert child.constants == ((0x07070707,) * 8,)
    assert child.data == ((0xA1,) * 8, (0xA2,) * 8)
    assert child.descriptor == DESCRIPTORS + 16
    assert media.complaints() == []


def test_a_length_of_zero_is_the_header_alone() -> None:
    media = parent()
    media.kernel(0, fill(40, 0xA0) + urb_write(4, 40) + spawn(1, 4, 0) + END)
    media.kernel(1, CHILD_END)
    media.object((1,))
    assert media.run()[1].registers == ((0xA0,) * 8,)


def test_children_find_what_vfe_put_into_the_entry() -> None:
    media = parent()
    media.kernel(0, spawn(1, 1, 1) + END)
    media.kernel(1, CHILD_END)
    media.object(range(24))
    child = media.run()[1]
    assert child.registers == (tuple(range(8, 16)), tuple(range(16, 24)))


def test_a_child_uses_the_tables_its_parent_names() -> None:
    media = parent()
    media.kernel(0, "mov(8) g40<1>UD 0UD { align1 nomask };\nmov(1) g40.4<1>UD 0x90200UD { align1 nomask };\n" +
                 urb_write(2, 40) + spawn(1, 2, 0) + END)
    write = operand("DATA_PORT_WRITE_MESSAGE", length=2, message_type="MEDIA_BLOCK")
    child = f"""mov(8) m1<1>UD 0UD {{ align1 nomask }};
mov(1) m1.2<1>UD 3UD {{ align1 nomask }};
mov(8) m2<1>UD 0x11223344UD {{ align1 nomask }};
send(8) 1 null<1>UD null<8,8,1>UD {write} {{ align1 nomask }};
"""
    media.kernel(1, child + CHILD_END, binding_table_pointer=0x90000)
    media.surface(0, TARGETS, 4, 1, 16)
    media.surface(0x80, TARGETS + 0x100, 4, 1, 16)  # entry 0 of the table at 0x90200
    media.object((1,))
    media.execute()
    assert media.dwords(TARGETS, 1) == [0]
    assert media.dwords(TARGETS + 0x100, 1) == [0x11223344]


def test_children_start_before_roots() -> None:
    media = parent(maximum_number_of_threads=1)
    media.kernel(0, urb_write(2, 0) + spawn(1, 2, 0) + END)
    media.kernel(1, CHILD_END)
    media.object((1,))
    media.object((1,))
    assert [t.child for t in media.run()] == [False, True, False, True]


def test_a_tree_of_threads_grows_to_its_leaves() -> None:
    """Thread n spawns threads 2n and 2n + 1, up to 31; what it hands them lies at places of their own."""
    media = parent()
    one = """add(1) g50<1>UD g50<0,1,0>UD 1UD { align1 nomask };
add(1) g51<1>UD g51<0,1,0>UD 2UD { align1 nomask };
"""
    hand_over = f"""mov(8) m1<1>UD 0UD {{ align1 nomask }};
mov(1) m1<1>UD g51<0,1,0>UD {{ align1 nomask }};
mov(8) m2<1>UD g0<8,8,1>UD {{ align1 nomask }};
mov(8) m3<1>UD g50<8,8,1>UD {{ align1 nomask }};
send(8) 1 null<1>UD null<8,8,1>UD {operand("URB_MESSAGE", length=3)} {{ align1 nomask }};
mov(8) m11<1>UD 0UD {{ align1 nomask }};
mov(1) m11<1>UD g51<0,1,0>UD {{ align1 nomask }};
mov(1) m11.2<1>UD 0x{DESCRIPTORS + 16:x}UD {{ align1 nomask }};
mov(1) m11.4<1>UD 0x{1 << 10:x}UD {{ align1 nomask }};
send(8) 11 null<1>UD null<8,8,1>UD 0x{SPAWN_CHILD:08x} {{ align1 nomask }};
"""
    body = """cmp.ge.f0.0(1) null<1>UD g1<0,1,0>UD 16UD { align1 nomask };
(+f0.0) jmpi(1) done:D { align1 nomask };
shl(1) g50<1>UD g1<0,1,0>UD 1UD { align1 nomask };
shl(1) g51<1>UD g1<0,1,0>UD 2UD { align1 nomask };
""" + hand_over + one + hand_over + "done:\n"
    media.kernel(0, body + END)
    media.kernel(1, body + CHILD_END)
    media.object((1,))
    assert sorted(t.data[0][0] for t in media.run()) == list(range(1, 32))
    assert media.complaints() == []


def test_more_spawns_than_the_queue_holds_wait_for_room() -> None:
    media = parent()
    count = "mov(1) g50<1>UD g1<0,1,0>UD { align1 nomask };\n"
    media.kernel(0, count + urb_write(2, 0, 1) + spawn(1, 2, 1) * 60 + END)
    media.kernel(1, CHILD_END)
    media.object((9,))
    threads = media.run()
    assert len(threads) == 61
    assert {t.data[0][0] for t in threads} == {9}


def test_a_synchronized_root_waits_for_its_message() -> None:
    media = parent()
    media.kernel(0, fill(40, 0xB0) + urb_write(4, 40) + spawn(0, 4, 1, RELEASE_ROOT) + END)
    media.kernel(1, END, constant_urb_entry_read_length=1)
    media.kernel(2, END)
    media.object((1,), interface_descriptor_offset=0)
    media.object((2,), interface_descriptor_offset=1, thread_synchronization=True)
    media.object((3,), interface_descriptor_offset=2)
    first, synchronized, last = media.run()
    assert [(t.descriptor - DESCRIPTORS) // 16 for t in (first, synchronized, last)] == [0, 1, 2]
    assert synchronized.data == ((0xB0,) * 8, (2, 0, 0, 0, 0, 0, 0, 0))


def test_a_synchronized_root_at_the_head_blocks_those_behind_it() -> None:
    media = parent()
    media.object((2,), thread_synchronization=True)
    media.object((3,))
    with pytest.raises(EuHang, match="wait for each other"):
        media.execute()


def test_a_message_without_a_synchronized_root_is_a_deadlock() -> None:
    media = parent()
    media.kernel(0, urb_write(4, 0) + spawn(0, 4, 1, RELEASE_ROOT) + END)
    media.object((1,))
    with pytest.raises(EuHang, match="wait for each other"):
        media.execute()


def test_a_fence_holds_roots_until_something_is_spawned() -> None:
    media = parent()
    media.kernel(0, urb_write(2, 0) + spawn(1, 2, 0) + END)
    media.kernel(1, CHILD_END)
    media.kernel(2, END)
    media.object((1,), name="MEDIA_OBJECT_PRT", prt_fence_needed=True)
    media.object((1,), interface_descriptor_offset=2)
    assert [(t.descriptor - DESCRIPTORS) // 16 for t in media.run()] == [0, 1, 2]
    media.kernel(0, END)
    media.object((1,), name="MEDIA_OBJECT_PRT", prt_fence_needed=True)
    media.object((1,), interface_descriptor_offset=2)
    with pytest.raises(EuHang, match="wait for each other"):
        media.execute()


@pytest.mark.parametrize("limit", [1, 3, 28])
def test_no_more_roots_live_than_allowed(limit: int) -> None:
    media = Media(maximum_number_of_threads=limit, scratch_space_base_pointer=SCRATCH)
    media.select()
    for i in range(40):
        media.object((i,))
    threads = media.run()
    assert [t.data[0][0] for t in threads] == list(range(40))
    assert {t.header[5] & 0xFF for t in threads} <= set(range(limit))
    assert all(t.header[5] == SCRATCH + 1024 * (t.header[5] & 0xFF) | t.header[5] & 0xFF for t in threads)


def test_entries_are_kept_until_they_are_given_back() -> None:
    media = parent(number_of_urb_entries=2, urb_entry_allocation_size=4)
    for i in range(5):
        media.object((i,))
    assert sorted({t.header[0] for t in media.run()}) == [0, 4]
    media.kernel(0, KEEP_END)
    for i in range(3):
        media.object((i,))
    with pytest.raises(EuHang, match="wait for each other"):
        media.execute()


def test_an_entry_can_be_given_back_by_a_child_once() -> None:
    media = parent(number_of_urb_entries=1)
    media.kernel(0, urb_write(2, 0) + spawn(1, 2, 0) + KEEP_END)
    media.kernel(1, END)  # R0 is that of the parent: it names the entry
    for i in range(3):
        media.object((i,))
    assert len(media.run()) == 6
    assert media.complaints() == []
    media.kernel(0, urb_write(2, 0) + spawn(1, 2, 0) + END)
    media.object((1,))
    media.execute()
    assert any("URB write" in c for c in media.complaints())


def test_a_root_that_never_tells_the_spawner_is_a_leak() -> None:
    media = Media(maximum_number_of_threads=2)
    media.select()
    message = descriptor("NULL_MESSAGE", Gen.EL, end_of_thread=True)
    media.kernel(0, f"send(8) 0 null<1>UD g0<8,8,1>UD 0x{message:08x} {{ align1 nomask EOT }};")
    media.object((1,))
    media.execute()
    assert any("without a message" in c for c in media.complaints())
    media.object((1,))
    media.object((1,))
    with pytest.raises(EuHang, match="wait for each other"):
        media.execute()


def test_a_thread_may_not_end_by_spawning() -> None:
    media = parent()
    message = descriptor("THREAD_SPAWNER_MESSAGE", Gen.EL, opcode=ThreadSpawnerOpcode.SPAWN_THREAD, end_of_thread=True)
    media.kernel(0, urb_write(2, 0) + spawn(1, 2, 0, message))
    media.object((1,))
    threads = media.run()
    assert len(threads) == 1
    assert any("does not define" in c for c in media.complaints())


# --- waits and the gateway ---

def waiting_parent(children: int, **options: Any) -> Media:
    """A root that spawns children, each of which sets a byte of its g80, and stores g80 when all are there."""
    media = parent(number_of_urb_entries=1, options=Options(workers=1, **options))
    media.kernel(0, awaited_children(GEN4, children) + store(80, f"0x{TARGETS:x}UD") + END)
    media.kernel(1, forward("g1<0,1,0>UD", "g2<0,1,0>UD") + CHILD_END)
    media.object((1,))
    return media


@pytest.mark.parametrize("general_only", [False, True])
@pytest.mark.parametrize("children", [4, 16])
def test_a_parent_waits_for_notifications_of_its_children(children: int, general_only: bool) -> None:
    media = waiting_parent(children, general_only=general_only)
    threads = media.run()
    assert len(threads) == 1 + children
    assert media.dwords(TARGETS, 8) == [0x01010101] * (children // 4) + [0] * (8 - children // 4)
    assert media.complaints() == []


def test_a_thread_that_is_never_notified_is_a_deadlock_with_an_address() -> None:
    media = Media()
    media.select()
    address = media.kernel(0, "mov(8) g2<1>UD 0UD { align1 };\n" + WAIT + END)
    media.object((1,))
    with pytest.raises(EuHang, match=f"wait for each other .*address 0x{address + 16:08x}"):
        media.execute()
    media.kernel(0, END)
    media.object((1,))
    assert len(media.run()) == 1  # the machine is free again


def test_a_waiting_root_is_woken_by_an_object_that_comes_later() -> None:
    media = Media(number_of_urb_entries=4)
    media.select()
    media.kernel(0, open_gateway(80, 0) + WAIT + store(80, f"0x{TARGETS:x}UD") + END)
    media.kernel(1, "mov(1) g50<1>UD 0UD { align1 nomask };\nmov(1) g51<1>UD 5UD { align1 nomask };\n" +
                 forward("g50<0,1,0>UD", "g51<0,1,0>UD") + END)
    media.object((1,))
    media.pointers()  # lets the first thread run until it waits
    media.object((1,), interface_descriptor_offset=1)
    media.execute()
    assert media.dwords(TARGETS, 2) == [0, 0x0100]


def test_threads_that_poll_get_their_turns() -> None:
    """The parent spins without `wait` until its child has written."""
    media = parent()
    media.kernel(0, open_gateway(80, 0) + fill(80, 0) + "mov(1) g70<1>UD sr0<0,1,0>UD { align1 nomask };\n" +
                 fill(71, 0) + urb_write(2, 0, 70, 71) + spawn(1, 2, 2) + """again:
cmp.z.f0.0(1) null<1>UD g80<0,1,0>UD 0UD { align1 nomask };
(+f0.0) jmpi(1) again:D { align1 nomask };
""" + store(80, f"0x{TARGETS:x}UD") + END)
    media.kernel(1, forward("g1<0,1,0>UD", "g2<0,1,0>UD", notify=False) + CHILD_END)
    media.object((1,))
    media.execute()
    assert media.dwords(TARGETS, 1) == [1]


def test_endless_threads_hang() -> None:
    media = Media(options=Options(workers=1, watchdog=1))
    media.select()
    media.kernel(0, "again:\njmpi(1) again:D { align1 nomask };\n" + END)
    media.object((1,))
    with pytest.raises(EuHang, match="threads do not end"):
        media.execute()


def test_a_kernel_that_is_not_there_hangs() -> None:
    media = Media()
    media.select()
    media.kernel(0, END, kernel_start_pointer=0x7FFF0000)
    media.object((1,))
    with pytest.raises(EuHang):
        media.execute()
