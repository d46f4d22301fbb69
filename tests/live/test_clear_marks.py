"""Multisampled targets that a driver marks as clear without drawing, in memory that has other contents."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.live.real_client import TIMEOUT, client, environment, needs_client


def alphas(device: str, *arguments: str) -> dict[int, int]:
    """The number of pixels of each alpha value, as the client prints them."""
    command = ["run", "-q", "--strict", "--device", device, "--", client("reused"), *arguments]
    done = subprocess.run([sys.executable, "-m", "gen4emu", *command], env=environment(EGL_PLATFORM="surfaceless"),
                          check=False, timeout=TIMEOUT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    numbers = [int(word) for word in done.stdout.split()]
    return dict(zip(numbers[::2], numbers[1::2], strict=True))


@needs_client
@pytest.mark.parametrize("device", ["ivb", "hsw", "kbl"])
def test_samples_that_a_triangle_leaves_out_have_the_clear_color(device: str) -> None:
    found = alphas(device)
    assert list(found) == [round(64 * covered / 4) for covered in range(5)]
    assert alphas(device, "samples") == found
