"""The files of a device server, on a full disk or without descriptors: an error names them, the program goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = """
import os, resource, sys, time
from pathlib import Path
from gen4emu.device.options import Options
from gen4emu.hw.chips import BY_NAME
from gen4emu.live.error_states import ErrorStates
from gen4emu.live.frames import frame_writer, watch_frames
from gen4emu.live.recorder import watch_capture
from gen4emu.live.server import Server
from tests.live.frame_client import BATCH, connected, show

limit, number = sys.argv[1:]
server = Server(BY_NAME["g45"], Options(workers=1))
server.error_state = ErrorStates(server, Path("error.txt"))
watch_capture(server, Path("out.g4c"))
watch_frames(server, frame_writer(server, Path("frames")))
with server:
    with connected(server) as client:
        show(client, 0)  # all modules are imported
        client.words(0x10000, 0x05000000, 0)
        assert client.run(BATCH) == 0
    while server.connections:
        time.sleep(0.01)
    for path in [Path("out.g4c"), *Path("frames").iterdir()]:
        path.unlink()
    with connected(server) as client:
        client.words(0x10000, 0x05000000, 0)
        _, hard = resource.getrlimit(getattr(resource, limit))
        top = max(map(int, os.listdir("/proc/self/fd")))
        while os.dup(0) < top:
            pass  # no number below is free
        resource.setrlimit(getattr(resource, limit), (int(number) if number else top, hard))
        show(client, 1)
        client.words(0x10000, 0x18800000, 0x7F000000)
        print(client.run(BATCH))  # a hang
        client.words(0x10000, 0x05000000, 0)
        print(client.run(BATCH))
print(len(server.totals.errors), server.totals.hangs)
"""


@pytest.mark.parametrize(("limit", "number", "reason"), [("RLIMIT_FSIZE", "64", "File too large"),
                                                         ("RLIMIT_NOFILE", "", "Too many open files")])
def test_files_that_cannot_be_written_do_not_affect_the_program(limit: str, number: str, reason: str,
                                                                tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", CODE, limit, number], cwd=tmp_path, capture_output=True, text=True,
                          check=False, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    results, totals = done.stdout.splitlines()[:2], done.stdout.splitlines()[-1]
    assert results == ["1", "0"] and totals.split()[1] == "1"
    assert int(totals.split()[0]) >= 2  # the capture and the pictures
    for name in ("out-2.g4c", "frames/connection-2", "error.txt"):
        assert any(name in line and reason in line for line in done.stderr.splitlines()), (name, done.stderr)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
