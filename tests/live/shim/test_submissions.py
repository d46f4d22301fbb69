"""EXECBUFFER2: checks, addresses, relocations, CPU views."""

from __future__ import annotations

import ctypes
import errno
import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path

from tests.live.shim.drm import (
    APERTURE,
    BSD_RING,
    CARD,
    CONTEXT_CREATE,
    CONTEXT_DESTROY,
    CROCUS,
    END,
    GATE,
    GTT,
    HANG,
    PAD_TO_SIZE,
    PAGE,
    PINNED,
    RENDER_RING,
    RESET_STATS,
    SLEEP,
    WRITE,
    Device,
    Object,
    Relocs,
    fails,
    in_client,
    open_gate,
)

LUT_FIRST = 1 << 12 | 1 << 18
X, Y = 1, 2
MIB = 1 << 20


# --- relocations ------------------------------------------------------------------------------------------------------
@in_client
def test_relocations_by_index_and_by_handle_write_final_addresses(d: Device) -> None:
    target = d.create()
    for by_index in (True, False):
        batch = d.batch(END, 0, 0, 0)
        name = 1 if by_index else target
        relocs = Relocs((name, 0x40, 8, 0, 0, 0), (name, 0xFFFFFFF0, 12, 0, 2, 2))
        objects = [Object(batch, relocs), Object(target)]
        if by_index:
            d.exec(objects)
        else:
            objects.reverse()  # as libdrm: the batch last, targets by handle
            d.exec(objects, flags=RENDER_RING)
            objects.reverse()
        address = objects[1].offset
        assert address >= MIB
        assert objects[0].offset >= MIB
        assert address % PAGE == 0
        assert relocs.presumed(0) == relocs.presumed(1) == address
        low, high = (int.from_bytes(d.read(batch, 4, at), "little") for at in (8, 12))
        assert low == address + 0x40
        assert high == address - 0x10


@in_client
def test_a_correct_presumed_offset_writes_nothing(d: Device) -> None:
    target, batch = d.create(), d.batch(END, 0, 0, 0)
    first = Object(target)
    d.exec([Object(batch, Relocs((1, 0, 8, 0, 0, 0))), first])
    d.write(batch, b"\xEF\xBE\xAD\xDE", 8)
    d.exec([Object(batch, Relocs((1, 0, 8, first.offset, 0, 0), (1, 0, 1 << 40, first.offset, 0, 0))), Object(target)])
    assert d.read(batch, 4, 8) == b"\xEF\xBE\xAD\xDE"


@in_client
def test_no_reloc_skips_relocations_if_nothing_has_moved(d: Device) -> None:
    target, batch = Object(d.create()), Object(d.batch(END, 0, 0, 0))
    flags = RENDER_RING | LUT_FIRST | 1 << 11
    d.exec([batch, target], flags=flags)
    batch.relocs = Relocs((7, 0, 8, 5, 0, 0))
    d.exec([batch, target], flags=flags)
    target.offset += PAGE  # a wrong expected address
    with fails(errno.ENOENT):
        d.exec([batch, target], flags=flags)
    with fails(errno.ENOENT):
        d.exec([batch, target], flags=RENDER_RING | LUT_FIRST)


@in_client
def test_wrong_relocations_are_refused(d: Device) -> None:
    target, batch, stranger = d.create(), d.batch(END, 0), d.create()
    wrong: list[tuple[int, tuple[int, int, int, int, int, int], bool]] = [
        (errno.EINVAL, (1, 0, 2, 1, 0, 0), True), (errno.EINVAL, (1, 0, PAGE, 1, 0, 0), True),
        (errno.EINVAL, (1, 0, (1 << 64) - 4, 1, 0, 0), True), (errno.EINVAL, (1, 0, 0, 1, 0, 6), True),
        (errno.EINVAL, (1, 0, 0, 1, 1, 1), True), (errno.ENOENT, (2, 0, 0, 1, 0, 0), True),
        (errno.ENOENT, (stranger, 0, 0, 1, 0, 0), False), (errno.ENOENT, (99, 0, 0, 1, 0, 0), False),
    ]
    for number, entry, by_index in wrong:
        with fails(number):
            d.exec([Object(batch, Relocs(entry)), Object(target)], flags=RENDER_RING | 1 << 18 | by_index << 12)
    gone = Relocs((1, 0, 0, 1, 0, 0))
    gone.data = (ctypes.c_char * 32).from_address(16)
    with fails(errno.EFAULT):
        d.exec([Object(batch, gone), Object(target)])


@in_client
def test_relocations_in_read_only_memory_are_applied(d: Device) -> None:
    import mmap
    page = mmap.mmap(-1, PAGE)
    entry = Relocs((1, 4, 8, 0, 0, 0))
    page[:32] = entry.data.raw[:32]
    at = ctypes.addressof(ctypes.c_char.from_buffer(page))
    libc = ctypes.CDLL(None)
    assert libc.mprotect(ctypes.c_void_p(at), ctypes.c_size_t(PAGE), 1) == 0
    entry.data = (ctypes.c_char * 32).from_address(at)
    target, batch = Object(d.create()), d.batch(END, 0, 0, 0)
    d.exec([Object(batch, entry), target])
    assert int.from_bytes(d.read(batch, 4, 8), "little") == target.offset + 4


# --- refusals ---------------------------------------------------------------------------------------------------------
@in_client
def test_each_wrong_argument_has_its_error(d: Device) -> None:
    batch, other = d.batch(END, 0), d.create()
    objects = [Object(batch)]
    for number, wrong in (
        (errno.EINVAL, {"count": 0}), (errno.EINVAL, {"start": 4}), (errno.EINVAL, {"length": 12}),
        (errno.EINVAL, {"flags": 3}), (errno.EINVAL, {"flags": 4}), (errno.EINVAL, {"flags": 5}),
        (errno.EPERM, {"flags": 1 << 9}), (errno.EINVAL, {"flags": 1 << 22}), (errno.EINVAL, {"flags": 1 << 6}),
        (errno.EINVAL, {"flags": 1 << 15}), (errno.EINVAL, {"flags": 1 << 13}), (errno.EINVAL, {"cliprect_count": 1}),
        (errno.EINVAL, {"cliprects": 8}), (errno.EFAULT, {"pointer": 0}), (errno.EFAULT, {"pointer": 16}),
        (errno.EINVAL, {"dr1": 1}), (errno.EINVAL, {"dr4": 1}), (errno.ENOENT, {"context": 7}),
        (errno.EINVAL, {"length": 2 * PAGE}), (errno.EINVAL, {"start": PAGE}), (errno.EINVAL, {"start": 0xFFFFFFF8}),
    ):
        with fails(number):
            d.exec(objects, **wrong)
    d.exec(objects, dr4=0xFFFFFFFF)
    for number, entries in ((errno.ENOENT, [Object(99)]), (errno.EINVAL, [Object(batch), Object(batch)]),
                            (errno.EINVAL, [Object(batch, flags=WRITE)]),
                            (errno.EINVAL, [Object(batch), Object(other, alignment=24)]),
                            (errno.EINVAL, [Object(batch), Object(other, flags=1 << 8)]),
                            (errno.EINVAL, [Object(batch), Object(other, flags=PINNED, offset=12)]),
                            (errno.EINVAL, [Object(batch), Object(other, flags=PINNED, offset=1 << 31)])):
        with fails(number):
            d.exec(entries)


@in_client
def test_a_privileged_master_may_submit_secure_batches(d: Device) -> None:
    card = Device(CARD)
    secure = 1 << 9
    batch = Object(card.batch(END, 0))
    if os.geteuid() == 0:
        card.exec([batch], flags=secure)
        os.seteuid(65534)
    with fails(errno.EPERM):
        card.exec([batch], flags=secure)
    with fails(errno.EPERM):
        d.exec([Object(d.batch(END, 0))], flags=secure)  # a render node has no master


@in_client
def test_flags_of_the_video_ring_and_of_stream_output_need_their_engine(d: Device) -> None:
    batch = Object(d.batch(END, 0))
    d.exec([batch], flags=BSD_RING | 3 << 13)
    with fails(errno.EINVAL):
        d.exec([batch], flags=RENDER_RING | 1 << 13)
    with fails(errno.EINVAL):
        d.exec([batch], flags=1 << 8)  # only Gen7 resets offsets of stream output


@in_client
def test_too_many_contexts_fail_without_closing_the_device(d: Device) -> None:
    made = 0
    with fails(errno.ENOMEM):
        while made < 1 << 15:
            d.call(CONTEXT_CREATE, "II", 0, 0)
            made += 1
    assert made > 4096
    d.exec([Object(d.batch(END, 0))], context=made)


@in_client
def test_g4x_has_a_video_engine(d: Device) -> None:
    d.exec([Object(d.batch(END, 0))], flags=BSD_RING)


@in_client(device="965gm")
def test_crestline_has_no_video_engine(d: Device) -> None:
    with fails(errno.EINVAL):
        d.exec([Object(d.batch(END, 0))], flags=BSD_RING)


# --- addresses --------------------------------------------------------------------------------------------------------
@in_client
def test_addresses_are_stable_and_aligned_as_requested(d: Device) -> None:
    batch = d.batch(END, 0)
    small, large = Object(d.create()), Object(d.create(), alignment=64 << 10)
    d.exec([Object(batch), small, large])
    assert large.offset % (64 << 10) == 0
    before = small.offset, large.offset
    d.exec([Object(batch), large, small])
    assert (small.offset, large.offset) == before
    small.alignment = 1 << 20
    d.exec([Object(batch), small])
    assert small.offset % (1 << 20) == 0


@in_client
def test_pinned_buffers_get_the_requested_addresses(d: Device) -> None:
    batch, moved, pinned = Object(d.batch(END, 0)), Object(d.create()), Object(d.create(), flags=PINNED)
    d.exec([batch, moved])
    pinned.offset = moved.offset
    d.exec([batch, moved, pinned])
    assert moved.offset != pinned.offset
    pinned.offset = 0
    d.exec([batch, pinned])
    assert pinned.offset == 0
    twin = Object(d.create(), flags=PINNED, offset=0)
    with fails(errno.ENOSPC):
        d.exec([batch, pinned, twin])


@in_client
def test_an_address_that_the_client_proposes_is_taken_if_it_is_free(d: Device) -> None:
    batch, address = Object(d.batch(END, 0)), 0x3000_0000
    first = Object(d.create(2 * PAGE), offset=address)
    low = Object(d.create(), offset=PAGE)
    d.exec([batch, first, low])
    assert (first.offset, low.offset) == (address, PAGE)
    first.offset = 0x1000_0000
    d.exec([batch, first])
    assert first.offset == address  # it stays where it is
    for taken in (address, address + PAGE):
        second = Object(d.create(), offset=taken)
        d.exec([batch, first, second])
        assert second.offset not in (address, address + PAGE)


@in_client
def test_an_invalid_proposal_of_an_address_is_ignored(d: Device) -> None:
    batch, end = Object(d.batch(END, 0)), 1 << 31
    for offset, alignment in ((0x3000_0123, 0), (end - PAGE, 0), (end, 0), (1 << 40, 0), ((1 << 64) - 1, 0),
                              (0x3000_1000, 0x10000)):
        one = Object(d.create(2 * PAGE), offset=offset, alignment=alignment)
        d.exec([batch, one])
        assert one.offset != offset
        assert MIB <= one.offset <= end - 2 * PAGE
        assert one.offset % max(PAGE, alignment) == 0
    relocated = Object(d.batch(END, 0, 0, 0), Relocs((1, 0, 8, 1, 0, 0)), offset=PAGE)
    d.exec([relocated, Object(d.create())])
    assert relocated.offset >= MIB  # low addresses are not for batches with relocations


@in_client
def test_proposed_addresses_do_not_keep_out_what_would_fit(d: Device) -> None:
    quarter = 1 << 29
    batch = Object(d.batch(END, 0))
    apart = [Object(d.create(), offset=at) for at in (quarter, 2 * quarter, 3 * quarter)]
    d.exec([batch, *apart])
    d.exec([batch, *apart, Object(d.create(3 * quarter))])
    assert max(one.offset for one in apart) - min(one.offset for one in apart) < quarter


@in_client
def test_no_other_buffer_is_in_the_padding_after_one(d: Device) -> None:
    batch, other = Object(d.batch(END, 0), flags=PINNED, offset=1 << 30), Object(d.create(), flags=PINNED)
    padded = Object(d.create(), flags=PINNED | PAD_TO_SIZE, pad_to_size=16 * MIB)
    for offset in (PAGE, 16 * MIB - PAGE):
        other.offset = offset
        with fails(errno.ENOSPC):
            d.exec([batch, padded, other])
    other.offset = 16 * MIB
    d.exec([batch, padded, other])
    assert (padded.offset, other.offset) == (0, 16 * MIB)
    padded.pad_to_size += PAGE
    with fails(errno.ENOSPC):
        d.exec([batch, padded, other])
    other.flags = 0
    d.exec([batch, padded, other])
    assert other.offset > 16 * MIB
    padded.pad_to_size = (1 << 31) + PAGE
    with fails(errno.EINVAL):
        d.exec([batch, padded])
    d.drop(padded.handle)
    other.flags, other.offset = PINNED, PAGE  # the padding is free again
    d.exec([batch, other])


@in_client
def test_the_device_chooses_no_address_in_padding(d: Device) -> None:
    batch = Object(d.batch(END, 0))
    padded = [Object(d.create(), flags=PAD_TO_SIZE, pad_to_size=4 * MIB) for _ in range(3)]
    d.exec([batch, *padded])
    ends = sorted([(o.offset, o.offset + 4 * MIB) for o in padded] + [(batch.offset, batch.offset + PAGE)])
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(ends))


@in_client(device="g965")
def test_the_least_recently_used_buffers_are_evicted(d: Device) -> None:
    batch = Object(d.batch(END, 0))
    large = [Object(d.create(200 * MIB)) for _ in range(4)]  # two of them fit into 512 MiB
    for _ in range(3):
        for one in large:
            d.exec([batch, one])
    d.exec([batch, large[0], large[1]])
    assert abs(large[0].offset - large[1].offset) >= 200 * MIB
    with fails(errno.ENOSPC):
        d.exec([batch, *large])
    odd = Object(d.create(300 * MIB))  # fits only if the free space becomes contiguous
    d.exec([batch, large[3], odd])
    d.exec([batch, large[2], large[3]])
    d.exec([batch, odd])
    assert d.call(APERTURE, "QQ", 0, 0)[0] == 512 * MIB


def test_only_changes_of_the_address_space_are_sent(start_live: Callable) -> None:
    with start_live() as live:
        live.call(client_that_binds)
        (connection,) = live.connections
        assert [e["length"] for e in connection.execs] == [PAGE, 16, PAGE - 8]
        bound = [b for b in connection.binds if b[1] == 0]
        assert len(bound) == 2  # the batch and the data, which then moves into its own memfd
        assert [b[0] for b in connection.binds if b[1] == 1] == [bound[1][0]]
        flags = [[o[1] for o in e["objects"]] for e in connection.execs]
        assert flags == [[0, 1], [2, 0], [0]]
        assert connection.execs[1]["objects"][1][3:] == (X, 512)
        assert connection.execs[2]["address"] == connection.execs[0]["address"] + 8


def test_buffers_are_not_sent_to_a_server_that_does_not_record_them(start_live: Callable) -> None:
    with start_live(records_buffers=False) as live:
        live.call(client_that_binds)
        (connection,) = live.connections
        assert [(len(e["words"]) > 0, e["objects"]) for e in connection.execs] == 3 * [(True, [])]


def client_that_binds(d: Device) -> None:
    batch, data = d.batch(END, 0, END, 0), d.create()
    d.exec([Object(batch), Object(data, flags=WRITE)])
    d.set_tiling(data, X, 512)
    fd = d.export(data)
    d.exec([Object(batch, flags=128), Object(data)], length=16)
    d.exec([Object(batch)], start=8)
    os.close(fd)


@in_client
def test_a_submission_as_crocus_makes_them(d: Device) -> None:
    assert CROCUS == 0xC1801
    batch, state, target = d.batch(END, 0), d.create(0x4000), d.create()
    sync = d.sync()
    objects = [Object(batch, flags=128), Object(state, Relocs((2, 8, 16, 0, 0, 0)), flags=128),
               Object(target, flags=WRITE)]
    d.exec(objects, flags=CROCUS, length=8, fences=[(sync, 2)])
    assert d.sync_wait([sync], timeout_ns=10**9) == 0
    assert int.from_bytes(d.read(state, 4, 16), "little") == objects[2].offset + 8


@in_client
def test_many_objects_in_one_submission(d: Device) -> None:
    batch = Object(d.batch(END, 0))
    objects = [Object(d.create()) for _ in range(5000)]
    d.exec([batch, *objects])
    assert len({o.offset for o in objects}) == 5000


# --- results ----------------------------------------------------------------------------------------------------------
@in_client
def test_every_reader_sees_the_gpu_s_writes(d: Device) -> None:
    target = d.create()
    d.store(target, 8, 0x11, SLEEP | 50)
    assert d.read(target, 4, 8) == b"\x11\0\0\0"
    m = d.map(target)
    d.store(target, 8, 0x22, SLEEP | 50)
    d.wait(target)
    assert m[8] == 0x22
    d.store(target, 8, 0x33, SLEEP | 50)
    d.call(0x5F, "III", target, 1, 0)
    assert m[8] == 0x33
    d.store(target, 8, 0x44, SLEEP | 50)
    d.write(target, b"\x55", 8)  # after the GPU
    assert m[8] == 0x55


@in_client
def test_a_submission_does_not_wait(d: Device) -> None:
    target = d.create()
    d.store(target, 0, 1, GATE)
    assert d.busy(target) == 0x10001
    with fails(errno.ETIME):
        d.wait(target, 0)
    with fails(errno.ETIME):
        d.wait(target, 10_000_000)
    open_gate()
    assert d.call(0x6C, "IIq", target, 0, 5 * 10**9)[2] < 5 * 10**9
    assert d.busy(target) == 0
    d.wait(target, 0)
    with fails(errno.EINVAL):
        d.call(0x6C, "IIq", target, 1, 0)
    with fails(errno.ENOENT):
        d.wait(99)


@in_client
def test_more_submissions_than_may_be_pending(d: Device) -> None:
    target = d.create()
    for i in range(300):
        d.store(target, 4 * i, i + 1)
    data = d.read(target, 1200)
    assert [int.from_bytes(data[i:i + 4], "little") for i in range(0, 1200, 4)] == list(range(1, 301))


@in_client
def test_a_client_that_takes_new_buffers_for_each_submission_waits(d: Device) -> None:
    """With more than 256 MiB of them, for earlier submissions; with buffers that it has used before it does not."""
    targets = [d.create(100 * MIB) for _ in range(6)]
    for target in targets:
        d.store(target, 0, 1, SLEEP | 50)
    assert not any(d.busy(target) for target in targets[:3])
    for target in targets:
        d.wait(target)
    start = time.monotonic()
    for target in 3 * targets:
        d.store(target, 0, 1, GATE)
    assert time.monotonic() - start < 10  # a wait for a submission at the gate lasts a second, for each of them
    assert d.busy(targets[3])
    open_gate()


def test_the_wait_of_a_client_that_takes_new_buffers_ends(start_live: Callable) -> None:
    """The first submission may itself wait for the client."""
    with start_live() as live:
        client = live.start_function(client_that_gets_ahead_of_a_gate)
        live.until((live.directory / "ahead").exists)
        live.gate.touch()
        live.finish(client)


def client_that_gets_ahead_of_a_gate(d: Device) -> None:
    first = d.create(300 * MIB)
    d.store(first, 0, 1, GATE)
    start = time.monotonic()
    d.store(d.create(), 0, 1)
    assert 1 < time.monotonic() - start < 10
    assert d.busy(first)
    Path(os.environ["GEN4EMU_LIVE"], "ahead").touch()
    d.wait(first)


@in_client
def test_memory_of_a_closed_buffer_is_not_reused_while_the_gpu_writes_it(d: Device) -> None:
    target = d.create(64 * PAGE)
    d.store(target, 0, 0xFFFFFFFF, SLEEP | 200)
    d.drop(target)
    others = [d.create(64 * PAGE) for _ in range(4)]
    time.sleep(0.4)
    assert all(d.read(o, 4) == bytes(4) for o in others)


# --- CPU views of tiled buffers ---------------------------------------------------------------------------------------
@in_client
def test_a_view_shows_the_gpu_s_writes_without_a_call(d: Device) -> None:
    target = d.create(16 * 1024)
    d.set_tiling(target, X, 1024)
    view = d.map(target, 16 * 1024, GTT)
    d.store(target, 0x1000, 0x5A, SLEEP | 30)
    assert view[512] == 0x5A


@in_client
def test_a_submission_sees_writes_through_a_view(d: Device) -> None:
    target = d.create(16 * 1024)
    d.set_tiling(target, X, 1024)
    view = d.map(target, 16 * 1024, GTT)
    raw = d.map(target, 16 * 1024)
    for i in range(3):
        view[512 + i] = i + 1
        d.exec([Object(d.batch(END, 0)), Object(target)])
        assert raw[0x1000 + i] == i + 1


@in_client
def test_the_program_and_the_gpu_write_different_parts_of_a_view(d: Device) -> None:
    target = d.create(32 * 1024)
    d.set_tiling(target, Y, 256)
    view = d.map(target, 32 * 1024, GTT)
    for i in range(20):
        view[i] = i + 1
        d.store(target, 16 * i + 512, 0x80 + i)
        assert view[i] == i + 1
        assert view[256 * i + 16] == 0x80 + i
    view.unmap()
    assert d.read(target, 16) == bytes(range(1, 17))


@in_client
def test_writes_into_a_view_by_the_program_and_by_the_kernel_are_seen(d: Device) -> None:
    size = 1 << 20
    target = d.create(size)
    d.set_tiling(target, X, 4096)
    view, raw = d.map(target, size, GTT), d.map(target, size)
    batch = d.batch(END, 0)
    reader, writer = os.pipe()
    for i in range(0, 256, 5):  # rows; the first 512 bytes of a row are contiguous
        assert view[4096 * i] == 0
        d.exec([Object(batch), Object(target)])
        os.write(writer, bytes([i % 255 + 1]))
        os.readv(reader, [(ctypes.c_char * 1).from_address(view.address + 4096 * i)])  # the kernel writes into the view
        d.exec([Object(batch), Object(target)])
        assert raw[i // 8 * 32768 + i % 8 * 512] == i % 255 + 1
        view[4096 * i + 1] = 9
        d.exec([Object(batch), Object(target)])
        assert raw[i // 8 * 32768 + i % 8 * 512 + 1] == 9


@in_client
def test_writes_into_a_view_that_was_unchanged_for_a_while_are_seen(d: Device) -> None:
    """Pages found unchanged are dropped from the program's page table; those that change often are not."""
    size = 64 * PAGE
    target = d.create(size)
    d.set_tiling(target, X, 4096)
    view, raw = d.map(target, size, GTT), d.map(target, size)
    batch = d.batch(END, 0)
    for value, idle, again in ((1, 0, 0), (2, 3, 0), (3, 0, 1), (4, 1, 1), (5, 2, 0)):
        for row in range(0, 64, 3):
            view[4096 * row] = value
        for _ in range(1 + idle):
            d.exec([Object(batch), Object(target)])
        for row in range(0, 64, 3):
            assert raw[row // 8 * 32768 + row % 8 * 512] == value
            if again:
                view[4096 * row] = value  # unchanged


@in_client
def test_writes_behind_a_view_do_no_harm(d: Device) -> None:
    """crocus writes small levels of volumes beyond the end of the buffer."""
    target = d.create(16 * 1024)
    d.set_tiling(target, X, 1024)
    views = [d.map(target, 16 * 1024, GTT)]
    ctypes.memset(views[0].address + 16 * 1024, 0xEE, 64 * 1024)
    views[0][5] = 7
    d.exec([Object(d.batch(END, 0)), Object(target)])
    assert d.read(target, 16 * 1024) == bytes(5) + b"\7" + bytes(16 * 1024 - 6)
    views.append(d.map(target, 16 * 1024, GTT))
    assert views[1][5] == 7
    for view in views:
        view.unmap()
    with open("/proc/self/maps") as file:
        before = len(file.readlines())
    for _ in range(20):
        again = d.map(target, 16 * 1024, GTT)
        assert again[5] == 7
        again.unmap()
    with open("/proc/self/maps") as file:
        assert len(file.readlines()) <= before + 1


@in_client
def test_two_maps_share_one_view(d: Device) -> None:
    target = d.create(16 * 1024)
    d.set_tiling(target, X, 1024)
    first, second = d.map(target, 16 * 1024, GTT), d.map(target, 16 * 1024, GTT)
    first[100] = 5
    assert second[100] == 5
    first.unmap()
    second[101] = 6
    second.unmap()
    assert d.read(target, 2, 100) == b"\5\6"
    assert d.map(target, 16 * 1024, GTT)[101] == 6


# --- contexts and hangs -----------------------------------------------------------------------------------------------
@in_client
def test_contexts_are_numbered_from_one(d: Device) -> None:
    batch = Object(d.batch(END, 0))
    assert [d.call(CONTEXT_CREATE, "II", 0, 0)[0] for _ in range(2)] == [1, 2]
    d.exec([batch], context=2)
    d.call(CONTEXT_DESTROY, "II", 1, 0)
    with fails(errno.ENOENT):
        d.exec([batch], context=1)
    with fails(errno.ENOENT):
        d.call(CONTEXT_DESTROY, "II", 1, 0)
    other = Device()
    assert other.call(CONTEXT_CREATE, "II", 0, 0)[0] == 1


@in_client
def test_context_parameters(d: Device) -> None:
    get, set_ = 0x74, 0x75
    context = d.call(CONTEXT_CREATE, "II", 0, 0)[0]
    values = {3: 2 << 30, 4: 0, 5: 1, 6: 0, 8: 1, 0xB: 1}
    for param, value in values.items():
        assert d.call(get, "IIQQ", context, 0, param, 99)[3] == value
    for param in (7, 9):
        with fails(errno.ENODEV):
            d.call(get, "IIQQ", context, 0, param, 0)
    for param in (0, 1, 2, 0xC, 99):  # Linux 5.14 has dropped BAN_PERIOD, NO_ZEROMAP and RINGSIZE
        for call in (get, set_):
            with fails(errno.EINVAL):
                d.call(call, "IIQQ", context, 0, param, 0)
    with fails(errno.EINVAL):  # ENGINES can only be set
        d.call(get, "IIQQ", context, 0, 0xA, 0)
    d.call(set_, "IIQQ", context, 0, 4, 1)
    assert d.call(get, "IIQQ", context, 0, 4, 0)[3] == 1
    with fails(errno.ENOENT):
        d.call(get, "IIQQ", 9, 0, 3, 0)
    setparam = ctypes.create_string_buffer(__import__("struct").pack("<QII16xIIQQ", 0, 0, 0, 0, 0, 8, 0))
    extended = d.call(CONTEXT_CREATE, "IIQ", 0, 1, ctypes.addressof(setparam))[0]
    assert d.call(get, "IIQQ", extended, 0, 8, 9)[3] == 0
    with fails(errno.EFAULT):
        d.call(CONTEXT_CREATE, "IIQ", 0, 1, 16)


@in_client
def test_a_hang_is_reported_and_bans_a_context_without_recovery(d: Device) -> None:
    stubborn, patient = (d.call(CONTEXT_CREATE, "II", 0, 0)[0] for _ in range(2))
    d.call(0x75, "IIQQ", stubborn, 0, 8, 0)
    hang, fine = d.batch(HANG, 0), d.batch(END, 0)
    for context in (stubborn, patient):
        d.exec([Object(hang)], context=context)
        d.wait(hang)
        assert d.call(RESET_STATS, "IIIIII", context, 0, 0, 0, 0, 0)[3:5] == (1, 0)
    with fails(errno.EIO):
        d.exec([Object(fine)], context=stubborn)
    d.exec([Object(fine)], context=patient)
    d.exec([Object(fine)])
    for _ in range(2):
        d.exec([Object(hang)], context=patient)
    d.wait(hang)
    with fails(errno.EIO):  # the third hang in a row bans the context
        d.exec([Object(fine)], context=patient)
    with fails(errno.EINVAL):
        d.call(RESET_STATS, "IIIIII", 0, 1, 0, 0, 0, 0)
    with fails(errno.ENOENT):
        d.call(RESET_STATS, "IIIIII", 9, 0, 0, 0, 0, 0)
    assert d.call(RESET_STATS, "IIIIII", 0, 0, 5, 5, 5, 0)[2:5] == (0, 0, 0)
