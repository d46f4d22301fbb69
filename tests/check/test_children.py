"""Child processes end in time."""

from __future__ import annotations

import signal
import time
from multiprocessing.connection import Connection

from gen4emu.children import Child, forked


def test_a_copy_that_does_not_end_is_killed_after_the_patience() -> None:
    def work(handle: int) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        Connection(handle).send("ready")
        time.sleep(30)

    child = Child(forked(work))
    assert child.connection.recv() == "ready"
    started = time.monotonic()
    child.ask_to_end()
    how, _ = child.end(0.2)
    assert how == "SIGKILL"
    assert 0.2 < time.monotonic() - started < 10
