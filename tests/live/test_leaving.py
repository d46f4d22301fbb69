"""Programs that end while the GPU still works for them, with the installed driver."""

from __future__ import annotations

import subprocess
import sys

from tests.live.real_client import TIMEOUT, client, environment, needs_client


@needs_client
def test_draws_go_on_after_the_program_has_closed_the_device() -> None:
    """They take longer than the two seconds for which a close waits, and need their kernels to the end."""
    command = ["run", "-q", "--strict", "--workers", "1", "--device", "hsw", "--", client("leave")]
    done = subprocess.run([sys.executable, "-m", "gen4emu", *command], env=environment(EGL_PLATFORM="surfaceless"),
                          check=False, timeout=TIMEOUT, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
