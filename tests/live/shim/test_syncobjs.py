"""Synchronization objects and sync files."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import select
import struct
import threading
import time
from collections.abc import Callable

from tests.live.shim.drm import (
    DIE,
    END,
    EXEC,
    FENCE_IN,
    FENCE_OUT,
    GATE,
    RENDER_RING,
    SLEEP,
    SYNC_DESTROY,
    SYNC_FROM_FD,
    SYNC_RESET,
    SYNC_SIGNAL,
    SYNC_TO_FD,
    TIMELINE_QUERY,
    TIMELINE_SIGNAL,
    TIMELINE_WAIT,
    TRANSFER,
    Device,
    Object,
    address_of,
    fails,
    in_client,
    open_gate,
)

ALL, FOR_SUBMIT, AVAILABLE = 1, 2, 4
SIGNAL, WAIT = 2, 1
MS = 1_000_000


def _numbers(kind: type, *values: int) -> ctypes.Array:
    return (kind * len(values))(*values)


@in_client
def test_a_submission_signals_and_waits(d: Device) -> None:
    sync, batch = d.sync(), d.batch(SLEEP | 100, END)
    d.exec([Object(batch)], fences=[(sync, SIGNAL)])
    with fails(errno.ETIME):
        d.sync_wait([sync])
    assert d.sync_wait([sync], timeout_ns=10**10) == 0
    d.exec([Object(batch)], fences=[(sync, WAIT | SIGNAL)])
    other = Device()
    fd = d.call(SYNC_TO_FD, "IIiI", sync, 0, -1, 0)[2]
    known = other.call(SYNC_FROM_FD, "IIiI", 0, 0, fd, 0)[0]
    start = time.monotonic()
    other.exec([Object(other.batch(END, 0))], fences=[(known, WAIT)])
    assert time.monotonic() - start > 0.03  # after the other file's submission
    assert d.sync_wait([sync]) == 0


@in_client
def test_waiting_for_an_unsubmitted_point_is_an_error(d: Device) -> None:
    sync, done = d.sync(), d.sync(1)
    with fails(errno.EINVAL):
        d.sync_wait([sync])
    with fails(errno.EINVAL):
        d.exec([Object(d.batch(END, 0))], fences=[(sync, WAIT)])
    start = time.monotonic()
    with fails(errno.ETIME):
        d.sync_wait([sync], FOR_SUBMIT, 10 * MS)
    assert 0.01 <= time.monotonic() - start < 1
    assert d.sync_wait([sync, done], FOR_SUBMIT) == 1
    with fails(errno.ETIME):
        d.sync_wait([sync, done], FOR_SUBMIT | ALL, MS)
    with fails(errno.ENOENT):
        d.sync_wait([99])
    with fails(errno.EINVAL):
        d.sync_wait([done], 8)


@in_client
def test_a_thread_waits_until_another_one_submits(d: Device) -> None:
    sync, batch = d.sync(), d.batch(END, 0)
    results: list[int] = []
    thread = threading.Thread(target=lambda: results.append(d.sync_wait([sync], FOR_SUBMIT, 10**10)))
    thread.start()
    time.sleep(0.05)
    d.exec([Object(batch)], fences=[(sync, SIGNAL)])
    thread.join(10)
    assert results == [0]


@in_client
def test_signal_reset_and_destroy(d: Device) -> None:
    a, b = d.sync(), d.sync()
    both = _numbers(ctypes.c_uint32, a, b)
    d.call(SYNC_SIGNAL, "QII", address_of(both), 2, 0)
    assert d.sync_wait([a, b], ALL) == 0
    d.call(SYNC_RESET, "QII", address_of(both), 1, 0)
    with fails(errno.EINVAL):
        d.sync_wait([a, b], ALL)
    with fails(errno.EINVAL):
        d.call(SYNC_SIGNAL, "QII", address_of(both), 0, 0)
    with fails(errno.EFAULT):
        d.call(SYNC_SIGNAL, "QII", 16, 2, 0)
    d.call(SYNC_DESTROY, "II", a, 0)
    with fails(errno.EINVAL):
        d.call(SYNC_DESTROY, "II", a, 0)
    with fails(errno.EINVAL):
        d.call(0xBF, "II", 0, 2)


@in_client
def test_wait_any_ends_with_the_first(d: Device) -> None:
    slow, quick, other = d.sync(), d.sync(), Device()
    d.exec([Object(d.batch(GATE, END))], fences=[(slow, SIGNAL)])
    theirs = other.sync()
    other.exec([Object(other.batch(SLEEP | 50, END))], fences=[(theirs, SIGNAL)])
    fd = other.call(SYNC_TO_FD, "IIiI", theirs, 0, -1, 0)[2]
    mine = d.call(SYNC_FROM_FD, "IIiI", 0, 0, fd, 0)[0]
    assert d.sync_wait([slow, quick, mine], FOR_SUBMIT, 10**10) == 2
    open_gate()


# --- sync files -------------------------------------------------------------------------------------------------------
@in_client
def test_sync_files_are_readable_when_the_work_has_completed(d: Device) -> None:
    target = d.create()
    batch = d.batch(SLEEP | 50, END)
    fd = d.exec([Object(batch), Object(target)], flags=RENDER_RING | 1 << 18 | FENCE_OUT) >> 32
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    assert poll.poll(5000) == [(fd, select.POLLIN | select.POLLHUP)]  # the server has closed its end
    epoll = select.epoll()
    epoll.register(fd, select.EPOLLIN)
    assert epoll.poll(5) == [(fd, select.EPOLLIN | select.EPOLLHUP)]
    d.exec([Object(batch)], flags=RENDER_RING | FENCE_IN, sync=fd)
    info = bytearray(struct.pack("<32siIIIQ", b"", 0, 0, 0, 0, 0))
    fcntl.ioctl(fd, 0xC0383E04, info)
    assert struct.unpack("<32siIIIQ", info)[1:4] == (1, 0, 1)
    merge = bytearray(struct.pack("<32siiII", b"both", fd, -1, 0, 0))
    fcntl.ioctl(fd, 0xC0303E03, merge)
    merged = struct.unpack("<32siiII", merge)[2]
    assert select.select([merged], [], [], 0)[0] == [merged]
    with fails(errno.EINVAL):
        d.exec([Object(batch)], flags=RENDER_RING | FENCE_IN, sync=0)


def status_of(fd: int) -> int:
    info = bytearray(struct.pack("<32siIIIQ", b"", 0, 0, 0, 0, 0))
    fcntl.ioctl(fd, 0xC0383E04, info)
    return int(struct.unpack("<32siIIIQ", info)[1])


def merge_of(first: int, second: int) -> int:
    merge = bytearray(struct.pack("<32siiII", b"both", second, -1, 0, 0))
    fcntl.ioctl(first, 0xC0303E03, merge)
    return int(struct.unpack("<32siiII", merge)[2])


@in_client
def test_sync_files_are_pending_while_the_work_runs(d: Device) -> None:
    flags = RENDER_RING | FENCE_OUT
    slow, quick = d.batch(GATE, END), d.batch(END, 0)
    first = d.exec([Object(slow)], flags=flags) >> 32
    second = d.exec([Object(quick)], flags=flags | FENCE_IN, sync=first) >> 32
    merged = merge_of(first, second)
    sync = d.sync()
    d.call(SYNC_FROM_FD, "IIiI", sync, 1, merged, 0)
    again = d.call(SYNC_TO_FD, "IIiI", sync, 1, -1, 0)[2]
    files = [first, second, merged, again]
    assert [status_of(fd) for fd in files] == [0, 0, 0, 0]
    assert select.select(files, [], [], 0)[0] == []
    with fails(errno.ETIME):
        d.sync_wait([sync])
    opener = threading.Timer(0.1, open_gate)
    opener.start()
    other = Device()
    other.exec([Object(other.batch(END, 0))], flags=RENDER_RING | FENCE_IN, sync=merged)  # waits
    assert d.busy(slow) == d.busy(quick) == 0
    assert d.sync_wait([sync]) == 0
    assert select.select([again], [], [], 5)[0] == [again]
    assert [status_of(fd) for fd in files] == [1, 1, 1, 1]


@in_client
def test_sync_files_of_two_devices_are_merged(d: Device) -> None:
    other = Device()
    slow = d.exec([Object(d.batch(SLEEP | 200, END))], flags=RENDER_RING | FENCE_OUT) >> 32
    quick = other.exec([Object(other.batch(SLEEP | 20, END))], flags=RENDER_RING | FENCE_OUT) >> 32
    merged = merge_of(quick, slow)
    assert select.select([merged], [], [], 5)[0] == [merged]
    assert status_of(slow) == status_of(quick) == 1
    assert status_of(merge_of(slow, quick)) == 1


def test_sync_files_are_signalled_when_the_server_ends(start_live: Callable) -> None:
    with start_live() as live:
        client = live.start_function(client_whose_server_ends)
        live.finish(client)


def client_whose_server_ends(d: Device) -> None:
    d.exec([Object(d.batch(SLEEP | 50, DIE))])
    fd = d.exec([Object(d.batch(END, 0))], flags=RENDER_RING | FENCE_OUT) >> 32
    assert select.select([fd], [], [], 10)[0] == [fd]


@in_client
def test_sync_files_are_imported_and_exported(d: Device) -> None:
    sync, other = d.sync(), d.sync()
    with fails(errno.EINVAL):
        d.call(SYNC_TO_FD, "IIiI", sync, 1, -1, 0)
    d.exec([Object(d.batch(SLEEP | 30, END))], fences=[(sync, SIGNAL)])
    fd = d.call(SYNC_TO_FD, "IIiI", sync, 1, -1, 0)[2]
    d.call(SYNC_FROM_FD, "IIiI", other, 1, fd, 0)
    assert d.sync_wait([sync], 0, 10**10) == 0
    assert d.sync_wait([other]) == 0
    assert select.select([fd], [], [], 5)[0] == [fd]
    for wrong in (0, 999):
        with fails(errno.EINVAL):
            d.call(SYNC_FROM_FD, "IIiI", 0, 0, wrong, 0)


@in_client
def test_a_descriptor_refers_to_its_object(d: Device) -> None:
    sync = d.sync()
    fd = d.call(SYNC_TO_FD, "IIiI", sync, 0, -1, 0)[2]
    twin = d.call(SYNC_FROM_FD, "IIiI", 0, 0, os.dup(fd), 0)[0]
    handles = _numbers(ctypes.c_uint32, twin)
    d.call(SYNC_SIGNAL, "QII", address_of(handles), 1, 0)
    assert d.sync_wait([sync]) == 0


# --- timelines --------------------------------------------------------------------------------------------------------
def _query(d: Device, handle: int, flags: int = 0) -> int:
    handles, points = _numbers(ctypes.c_uint32, handle), _numbers(ctypes.c_uint64, 99)
    d.call(TIMELINE_QUERY, "QQII", address_of(handles), address_of(points), 1, flags)
    return int(points[0])


def _wait(d: Device, handle: int, point: int, flags: int = 0, timeout_ns: int = 0) -> int:
    handles, points = _numbers(ctypes.c_uint32, handle), _numbers(ctypes.c_uint64, point)
    return d.call(TIMELINE_WAIT, "QQqIIII", address_of(handles), address_of(points), time.monotonic_ns() + timeout_ns,
                  1, flags, 7, 0)[5]


def _signal(d: Device, handle: int, point: int) -> None:
    handles, points = _numbers(ctypes.c_uint32, handle), _numbers(ctypes.c_uint64, point)
    d.call(TIMELINE_SIGNAL, "QQII", address_of(handles), address_of(points), 1, 0)


@in_client
def test_timelines_reach_points_in_order(d: Device) -> None:
    line = d.sync()
    assert _query(d, line) == 0
    _signal(d, line, 5)
    assert _query(d, line) == 5
    assert _wait(d, line, 3) == 0
    with fails(errno.EINVAL):
        _wait(d, line, 6)
    with fails(errno.ETIME):
        _wait(d, line, 6, FOR_SUBMIT, MS)
    with fails(errno.ETIME):
        _wait(d, line, 6, AVAILABLE, MS)
    fences, values = _numbers(ctypes.c_uint32, line, SIGNAL), _numbers(ctypes.c_uint64, 8)
    extension = ctypes.create_string_buffer(
        struct.pack("<QII16xQQQ", 0, 0, 0, 1, address_of(fences), address_of(values)))
    batch = d.batch(SLEEP | 100, END)
    array = ctypes.create_string_buffer(struct.pack("<IIQQQQQQ", batch, 0, 0, 0, 0, 0, 0, 0))
    d.call(EXEC, "QIIIIIIQQQQ", address_of(array), 1, 0, 0, 0, 0, 0, address_of(extension), 1 | 1 << 21, 0, 0)
    assert _wait(d, line, 8, AVAILABLE) == 0
    assert _query(d, line, 1) == 8
    assert _query(d, line) == 5
    assert _wait(d, line, 8, 0, 10**10) == 0
    assert _query(d, line) == 8


@in_client
def test_transfer_copies_points(d: Device) -> None:
    line, binary = d.sync(), d.sync()
    _signal(d, line, 2)
    d.call(TRANSFER, "IIQQII", line, binary, 2, 0, 0, 0)
    assert d.sync_wait([binary]) == 0
    d.call(TRANSFER, "IIQQII", binary, line, 0, 9, 0, 0)
    assert _query(d, line) == 9
    with fails(errno.EINVAL):
        d.call(TRANSFER, "IIQQII", line, binary, 99, 0, 0, 0)
    with fails(errno.ENOENT):
        d.call(TRANSFER, "IIQQII", 77, binary, 0, 0, 0, 0)
