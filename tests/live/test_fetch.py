"""Shaders that read the framebuffer, on Kaby Lake: what they add is what blending adds, sample by sample."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from tests.live.real_client import TIMEOUT, client, environment, needs_client

_SIDE, _ATTACHMENTS = 96, 2


@needs_client
@pytest.mark.parametrize(("samples", "workers"), [(1, 1), (1, 3), (2, 1), (4, 3), (16, 1)])
def test_reading_the_framebuffer_equals_blending(samples: int, workers: int) -> None:
    """Pixels are drawn over many times by triangles of one draw; sums of small integers are exact."""
    command = ["run", "-q", "--strict", "--device", "kbl", "--workers", str(workers), "--", client("fetch"),
               str(samples)]
    done = subprocess.run([sys.executable, "-m", "gen4emu", *command], env=environment(EGL_PLATFORM="surfaceless"),
                          check=True, timeout=TIMEOUT, stdout=subprocess.PIPE)
    pixels = np.frombuffer(done.stdout, np.float32).reshape(2, _ATTACHMENTS, samples, _SIDE, _SIDE, 4)
    blended, read = pixels
    assert (blended == read).all()
    triangles = blended[0, :, :, :, 1] - 0.25
    assert (triangles == blended[1, :, :, :, 0] - 3).all()
    assert (triangles.min(), triangles.max() > 6) == (0, True)
    if samples > 1:
        assert (blended[0, 0] != blended[0, 1]).any()
