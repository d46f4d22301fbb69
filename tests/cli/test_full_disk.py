"""Commands whose output does not fit: an error that names the file, exit status 2, nothing half-written."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TRACE = str(ROOT / "traces/triangle-g4x.aub.xz")
# Python 3.11 would keep incomplete files of bytecode.
ENVIRONMENT = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
LIMIT_BYTES = 64  # the kernel writes this much of a file, then fails

# The arguments, and what the error names.
COMMANDS = {
    "replay": (["replay", TRACE, "-o", "out"], "out/frame-00000-color-00113000.png"),
    "replay, exact values": (["replay", TRACE, "-o", "out", "--npy"], "out/frame-00000-color-00113000.npy"),
    "report": (["report", TRACE, "-o", "out"], "out/data/"),
    "report, one file": (["report", TRACE, "-o", "report.html"], "report.html"),
    "convert": (["convert", TRACE, "out.g4c"], "out.g4c"),
    "convert, compressed": (["convert", TRACE, "out.aub.xz"], "out.aub.xz"),
    "trim": (["trim", TRACE, "--draws", "0", "-o", "out.g4c"], "out.g4c"),
    "export": (["export", TRACE, "--draw", "0", "-o", "out"], "/memory/"),
    "digest": (["digest", TRACE, "-o", "out"], "out"),
    "kernels": (["kernels", TRACE, "-o", "out"], "out/kernel-"),
    "man": (["man", "--write", "."], "gen4emu.1"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_write_that_fails_names_the_file_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    arguments, file = COMMANDS[name]
    done = subprocess.run([sys.executable, "-m", "gen4emu", *arguments], cwd=tmp_path, check=False,
                          capture_output=True, text=True, env=ENVIRONMENT,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, LIMIT_BYTES)))
    assert done.returncode == 2, done.stderr
    message = done.stderr.splitlines()[-1]
    assert file in message and message.endswith("File too large")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
