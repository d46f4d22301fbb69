"""Compute shaders and interpolateAt* of real programs: the bytes of Mesa's software renderer."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from tests.live.real_client import TIMEOUT, client, environment, needs_client

_BYTES = 14 * 65536 + 5 * 64 * 64 * 4


@cache
def reference() -> bytes:
    done = subprocess.run([client("compute")], check=True, timeout=TIMEOUT, capture_output=True, env=environment(
        EGL_PLATFORM="surfaceless", LIBGL_ALWAYS_SOFTWARE="1", GALLIUM_DRIVER="llvmpipe"))
    return done.stdout


@needs_client
@pytest.mark.parametrize(("device", "workers", "debug"), [
    ("ivb", 1, ""), ("ivb", 3, ""), ("hsw", 2, ""), ("byt", 1, ""), ("ivb", 1, "do32"), ("hsw", 2, "do32"),
    ("byt", 2, "do32"), ("kbl", 2, ""), ("kbl", 1, "do32")])
def test_results_are_those_of_llvmpipe(device: str, workers: int, debug: str) -> None:
    """Groups, barriers, shared memory, atomics, indirect dispatches; offsets, samples, both also dynamically.

    Groups of 1024 invocations have 32 channels a thread on Bay Trail, and with do32 all groups that can.
    """
    path = Path(mkdtemp(prefix="gen4emu-test-")) / "result.json"
    command = ["run", "-q", "--strict", "--device", device, "--workers", str(workers), "--json", str(path), "--",
               client("compute")]
    done = subprocess.run([sys.executable, "-m", "gen4emu", *command],
                          env=environment(EGL_PLATFORM="surfaceless", INTEL_DEBUG=debug),
                          check=False, timeout=TIMEOUT, capture_output=True)
    document = json.loads(path.read_text(encoding="utf-8"))
    assert (done.returncode, document["events"]) == (0, []), done.stderr
    assert len(reference()) == _BYTES
    assert done.stdout == reference()
