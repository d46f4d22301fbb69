"""Whether depth is tested before or after the pixel shader, as a GL program sees it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.live.real_client import TIMEOUT, client, environment, needs_client

# The left pixel is discarded, and a second draw lies behind.  Early tests count samples that are discarded later
# (ARB_shader_image_load_store), and ignore computed depth.
EXPECTED = """\
plain: 2 0 samples, colors 255 255, depths 0.25 0.25
kills: 1 0 samples, colors 0 255, depths 1.00 0.25
kills, early tests: 2 0 samples, colors 0 255, depths 0.25 0.25
computes depth: 2 0 samples, colors 255 255, depths 0.90 0.10
computes depth, early tests: 2 0 samples, colors 255 255, depths 0.25 0.25
"""


@needs_client
@pytest.mark.parametrize(("device", "mode"), [
    *((device, mode) for device in ("ivb", "hsw") for mode in ("off", "on", "strict")), ("kbl", "off"), ("kbl", "on")])
def test_discarded_pixels_keep_their_depth_unless_tests_come_first(device: str, mode: str) -> None:
    command = ["run", "-q", "--strict", "--device", device, "--hiz", mode, "--", client("order")]
    done = subprocess.run([sys.executable, "-m", "gen4emu", *command], env=environment(EGL_PLATFORM="surfaceless"),
                          check=False, timeout=TIMEOUT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, EXPECTED), done.stderr
