"""OpenCL kernels on Intel's unmodified compute driver, on Kaby Lake and Skylake."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.live import opencl_client
from tests.live.real_client import TIMEOUT

KERNELS = ("words", "doubles", "branches", "group", "private_array", "image")

needs_opencl = pytest.mark.skipif(bool(opencl_client.missing()), reason=opencl_client.missing())


def run(program: str, device: str) -> list[str]:
    command = [sys.executable, "-m", "gen4emu", "run", "-q", "--strict", "--device", device, "--",
               opencl_client.program(program)]
    done = subprocess.run(command, env=opencl_client.environment(), check=False, timeout=TIMEOUT, capture_output=True,
                          text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.client
@needs_opencl
@pytest.mark.parametrize("device", ["kbl", "skl"])
def test_results_are_those_of_the_processor(device: str) -> None:
    assert run("opencl", device) == [f"{name}: right" for name in KERNELS]


@pytest.mark.client
@needs_opencl
def test_kernels_of_usual_programs_are_right() -> None:
    """Those that bench/opencl.py measures: threads of 32 channels, local memory, integers of 64 bits, bytes."""
    found = [(line.split(":")[0], line.rsplit(": ", 1)[1]) for line in run("kernels", "kbl")]
    assert found == [(name, "right") for name in opencl_client.KERNELS]
