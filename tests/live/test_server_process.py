"""The process of the device server, seen from the one that starts it."""

from __future__ import annotations

import os
import struct
import time
from multiprocessing import Pipe

import pytest

from gen4emu.live.server_process import Apart, ProgramEnd, ServerLost


def test_a_server_that_sends_a_part_of_its_answer_is_killed_in_time() -> None:
    ours, theirs = Pipe()
    server = os.fork()
    if server == 0:
        os.write(theirs.fileno(), struct.pack("!i", 100))
        time.sleep(60)
        os._exit(0)
    theirs.close()
    apart = Apart.__new__(Apart)  # without a device
    apart._connection, apart._process = ours, server
    begin = time.monotonic()
    with pytest.raises(ServerLost, match="the device server was killed: 1 s after it had been told to end"):
        apart.end(ProgramEnd(), 1.0)
    assert time.monotonic() - begin < 30
