"""The end of a server that a signal requests."""

from __future__ import annotations

import subprocess
import sys

from gen4emu.live.server_process import Stop

# A handler of signals runs between any two lines of Python: here, once between all lines of each wait.
INTERRUPTED = """
import sys
from gen4emu.live.server_process import Stop

def at_each_line(frame, event, argument):
    if event == "line":
        sys.settrace(None)
        stop.set()
        sys.settrace(at_each_line)
    return at_each_line

stop = Stop()
sys.settrace(at_each_line)
stop.wait()
sys.settrace(None)
assert stop.is_set()
"""


def test_a_handler_of_signals_may_set_it_at_any_point_of_a_wait() -> None:
    subprocess.run([sys.executable, "-c", INTERRUPTED], check=True, timeout=60)


def test_it_stays_set_and_may_be_set_more_often_than_a_pipe_has_room() -> None:
    stop = Stop()
    assert not stop.is_set()
    for _ in range(100_000):
        stop.set()
    stop.wait()
    stop.wait()
    assert stop.is_set()
