"""Multisampled targets that a driver marks as clear without drawing, in memory that has other contents."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.live.real_client import TIMEOUT, client, environment, needs_client


@needs_client
@pytest.mark.parametrize("device", ["ivb", "hsw"])
def test_samples_that_a_triangle_leaves_out_have_the_clear_color(device: str) -> None:
    command = ["run", "-q", "--strict", "--device", device, "--", client("reused")]
    done = subprocess.run([sys.executable, "-m", "gen4emu", *command], env=environment(EGL_PLATFORM="surfaceless"),
                          check=False, timeout=TIMEOUT, capture_output=True, text=True)
    quarters = [round(64 * covered / 4) for covered in range(5)]
    assert (done.returncode, done.stdout.split()) == (0, [str(alpha) for alpha in quarters]), done.stderr
