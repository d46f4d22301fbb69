"""How much memory a piece of Python needs, in a process of its own that runs the same core as the test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]


def peak_bytes() -> int:
    """The most memory that this process has had; getrusage would begin with what its parent had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024


def number_from_child(code: str) -> int:
    """What the code prints."""
    # AddressSanitizer keeps what is freed, which is not what is measured here
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
    path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(_ROOT)])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                          env={**os.environ, "ASAN_OPTIONS": sanitizer, "PYTHONSAFEPATH": "1", "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    return int(done.stdout)
