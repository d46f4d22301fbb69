"""Results that the server reports in shared memory instead of sending packets."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from tests.live.shim.drm import CONTEXT_CREATE, END, HANG, RESET_STATS, SLEEP, Device, Object


def client_that_waits(d: Device) -> None:
    """Short and long waits, several submissions at once, and hangs between them."""
    target = d.create()
    context = d.call(CONTEXT_CREATE, "II", 0, 0)[0]
    for milliseconds in (0, 0, 20, 0, 1):
        d.store(target, 0, milliseconds + 1, SLEEP | milliseconds)
        d.wait(target)
        assert d.read(target, 4) == (milliseconds + 1).to_bytes(4, "little")
    slow, hang, fine = (d.batch(command, END) for command in (SLEEP | 2, HANG, 0))
    for _ in range(2):
        for batch in (fine, slow, hang, slow, fine):
            d.exec([Object(batch)], context=context)
        d.wait(fine)
    assert d.call(RESET_STATS, "IIIIII", context, 0, 0, 0, 0, 0)[3:5] == (2, 0)


def client_that_polls(d: Device) -> None:
    fine = d.batch(END, 0)
    for _ in range(10):
        d.exec([Object(fine)])
        while d.busy(fine):
            time.sleep(0.001)


def client_with_threads(d: Device) -> None:
    """Two threads sleep for a result while a third one submits and waits."""
    slow, fine = d.batch(SLEEP | 300, END), d.batch(END, 0)
    d.exec([Object(slow)])
    threads = [threading.Thread(target=d.wait, args=(slow,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    d.exec([Object(fine)])
    d.wait(fine)
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


def test_a_program_that_does_not_sleep_needs_no_packets(start_live: Callable) -> None:
    with start_live() as live:
        live.call(client_that_polls)
        (connection,) = live.connections
        assert (len(connection.execs), connection.results) == (10, 0)


def test_waits_end_with_and_without_packets(start_live: Callable) -> None:
    with start_live() as live:
        live.call(client_that_waits)
        (connection,) = live.connections
        assert connection.progress is not None
        assert 2 <= connection.results <= len(connection.execs)  # each hang has a packet


def test_results_may_all_be_packets(start_live: Callable) -> None:
    with start_live() as live:
        live.reports_progress = False
        live.call(client_that_waits)
        (connection,) = live.connections
        assert connection.results == len(connection.execs)


def test_threads_that_sleep_are_woken(start_live: Callable) -> None:
    with start_live() as live:
        live.call(client_with_threads)


def test_progress_that_lags_is_completed_by_packets(start_live: Callable) -> None:
    lies_do_no_harm(start_live, 0)


def test_progress_beyond_what_was_submitted_is_not_believed(start_live: Callable) -> None:
    lies_do_no_harm(start_live, 1000)


def test_progress_backwards_is_not_believed(start_live: Callable) -> None:
    lies_do_no_harm(start_live, 0xFFFFFFFF)


def lies_do_no_harm(start_live: Callable, lie: int) -> None:
    with start_live() as live:
        live.lies_about_progress = lie
        live.call(client_that_waits)
        (connection,) = live.connections
        assert connection.results == len(connection.execs)
