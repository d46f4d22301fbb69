"""The progress line during one long draw."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.harness.endless import endless


@pytest.mark.parametrize("command", ["replay --no-pictures -j 1", "replay --no-pictures -j 2", "index"])
def test_a_long_draw_shows_how_far_it_is(command: str, tmp_path: Path) -> None:
    """The watchdog of this draw takes minutes; the line is there within seconds."""
    trace = endless("later/triangle-ivb", "4", tmp_path)
    terminal, end = pty.openpty()
    process = subprocess.Popen([sys.executable, "-m", "gen4emu", *command.split(), str(trace)],
                               stdout=subprocess.DEVNULL, stderr=end)
    os.close(end)
    shown = b""
    try:
        limit = time.monotonic() + 120
        while len(re.findall(rb"draw 0: tile \d+ of \d+", shown)) < 2 and time.monotonic() < limit:
            if select.select([terminal], [], [], 1)[0]:
                shown += os.read(terminal, 4096)
    finally:
        # A signal reaches a process that draws when the draw ends; `index` waits for such a process, and ends it.
        process.send_signal(signal.SIGINT if command == "index" else signal.SIGKILL)
        process.wait()
        os.close(terminal)
    begun = re.findall(rb"submission 0, draw 0: tile (\d+) of (\d+)", shown)
    assert len(begun) >= 2
    assert all(0 < int(tile) <= int(tiles) for tile, tiles in begun)
