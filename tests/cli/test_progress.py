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


@pytest.mark.parametrize("command", [
    "replay --no-pictures -j 1", "replay --no-pictures -j 2", "index", "digest", "report -o {out}", "info --draws all",
    "bisect --devices ivb,byt", "report --devices ivb,byt -o {out}", "trim --draws 0 -o {out}.aub",
    "minimise --pixel 4,4 -o {out}.aub"])
def test_a_long_draw_shows_how_far_it_is(command: str, tmp_path: Path) -> None:
    """The watchdog of this draw takes minutes; the line is there within seconds."""
    trace = endless("later/triangle-ivb", "4", tmp_path)
    terminal, end = pty.openpty()
    arguments = command.format(out=tmp_path / "out").split()
    process = subprocess.Popen([sys.executable, "-m", "gen4emu", *arguments, str(trace)],
                               stdout=subprocess.DEVNULL, stderr=end)
    os.close(end)
    shown = b""
    try:
        limit = time.monotonic() + 120
        while len(re.findall(rb"draw 0: tile \d+ of \d+", shown)) < 2 and time.monotonic() < limit:
            if select.select([terminal], [], [], 1)[0]:
                shown += os.read(terminal, 4096)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
    begun = re.findall(rb"submission 0, draw 0: tile (\d+) of (\d+)", shown)
    assert len(begun) >= 2
    assert all(0 < int(tile) <= int(tiles) for tile, tiles in begun)


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
def test_the_process_that_executes_for_an_index_ends_with_the_one_that_was_killed(sent: int, tmp_path: Path) -> None:
    trace = endless("later/triangle-ivb", "4", tmp_path)
    process = subprocess.Popen([sys.executable, "-m", "gen4emu", "-v", "index", str(trace)], stderr=subprocess.DEVNULL)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    try:
        limit = time.monotonic() + 60
        while not (found := children.read_text().split()) and time.monotonic() < limit:
            time.sleep(0.05)
        assert len(found) == 1
        process.send_signal(sent)
        assert process.wait() == -sent
        while Path(f"/proc/{found[0]}").exists() and time.monotonic() < limit:
            time.sleep(0.05)
        assert not Path(f"/proc/{found[0]}").exists()
    finally:
        process.kill()
