"""Alpha to coverage with shaders that write a sample mask, on the installed driver."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.live.real_client import TIMEOUT, client, environment, needs_client


@needs_client
@pytest.mark.parametrize("device", ["ivb", "hsw", "kbl"])
def test_a_sample_mask_from_the_shader_turns_alpha_to_coverage_off(device: str) -> None:
    """The shader of the driver applies the alpha of the first target to its mask; three of four samples are left."""
    command = ["run", "-q", "--strict", "--device", device, "--", client("coverage")]
    done = subprocess.run([sys.executable, "-m", "gen4emu", *command], env=environment(EGL_PLATFORM="surfaceless"),
                          check=False, timeout=TIMEOUT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [int(line) for line in done.stdout.split()] == [round(255 * 3 / 4)] * 2
