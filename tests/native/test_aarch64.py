"""The core for aarch64: the same bits, under qemu."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.long
def test_aarch64_compiles_without_a_warning_and_gives_the_same_bits() -> None:
    """.ci/aarch64 names what it needs and downloads the rest into a folder."""
    if not (shutil.which("qemu-aarch64-static") and shutil.which("apt-get")):
        pytest.skip("needs apt and the package qemu-user-static (see .ci/aarch64)")
    done = subprocess.run([ROOT / ".ci" / "aarch64"], env={**os.environ, "PYTHON": sys.executable}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout[-5000:]
