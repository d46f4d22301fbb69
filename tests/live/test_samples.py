"""Samples of multisampled textures: places, numbers, coverage, masks, depth and resolves, on the installed driver."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.live.real_client import TIMEOUT, client, environment, needs_client


@needs_client
@pytest.mark.parametrize(("device", "samples"), [("hsw", 4), ("hsw", 8), *(("kbl", n) for n in (2, 4, 8, 16))])
def test_each_sample_is_what_gl_says(device: str, samples: int) -> None:
    command = ["run", "-q", "--strict", "--device", device, "--", client("samples"), str(samples)]
    done = subprocess.run([sys.executable, "-m", "gen4emu", *command], env=environment(EGL_PLATFORM="surfaceless"),
                          check=False, timeout=TIMEOUT, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr
