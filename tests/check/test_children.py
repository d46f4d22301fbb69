"""Child processes end in time."""

from __future__ import annotations

import os
import signal
import stat
import struct
import time
from contextlib import suppress
from multiprocessing.connection import Connection

import pytest

from gen4emu import children
from gen4emu.children import Child, Ended, Tell, forked, messages


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


def _send_half(tell: Tell) -> None:
    """Send the begin of a message, and no more."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for handle in range(3, 1024):
        with suppress(OSError):
            if stat.S_ISSOCK(os.fstat(handle).st_mode):  # the child has no other
                os.write(handle, struct.pack("!i", 100) + b"[")
    time.sleep(30)


def test_a_child_that_sends_half_a_message_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "_GRACE_SECONDS", 0.2)
    started = time.monotonic()
    told = list(messages([_send_half, lambda tell: tell("whole")], 2))
    assert time.monotonic() - started < 10
    assert sorted((i, message) for i, message in told if not isinstance(message, Ended)) == [(1, "whole")]
    assert {i: message.how for i, message in told if isinstance(message, Ended)} == {0: "SIGKILL", 1: "exit status 0"}


def test_a_child_that_sends_messages_forever_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    def flood(tell: Tell) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            tell("more")

    monkeypatch.setattr(children, "_GRACE_SECONDS", 0.2)
    running = messages([flood], 1)
    assert next(running) == (0, "more")
    started = time.monotonic()
    running.close()
    assert time.monotonic() - started < 10
