"""The clock that shaders read counts instructions: the same for any number of workers."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.live.real_client import TIMEOUT, client, environment, needs_client


def picture(device: str, workers: int) -> bytes:
    command = ["run", "-q", "--strict", "--device", device, "--workers", str(workers), "--", client("clock")]
    done = subprocess.run([sys.executable, "-m", "gen4emu", *command], env=environment(EGL_PLATFORM="surfaceless"),
                          check=False, timeout=TIMEOUT, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_client
@pytest.mark.parametrize("device", ["ivb", "hsw", "kbl"])
def test_times_do_not_depend_on_workers(device: str) -> None:
    alone = picture(device, 1)
    assert len({alone[i:i + 3] for i in range(0, len(alone), 4)}) > 256, "times differ from thread to thread"
    assert [picture(device, workers) == alone for workers in (2, 3, 5)] == [True] * 3
