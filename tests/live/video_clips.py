"""MPEG-2 clips from ffmpeg, and the VA driver."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from gen4emu.live import program
from tests.live import real_client

ENCODE = ["ffmpeg", "-hide_banner", "-loglevel", "error", "-y", "-f", "lavfi"]
DRIVERS = ("/usr/lib/x86_64-linux-gnu/dri", "/usr/lib64/dri", "/usr/lib/dri")


@cache
def missing() -> str:
    if not program.SHIM.exists():
        return "the shim is not built"
    if shutil.which("ffmpeg") is None:
        return "ffmpeg is not installed"
    if not any(Path(p, "i965_drv_video.so").exists() for p in DRIVERS):
        return "the i965 VA driver is not installed"
    return ""


def needs_video(test: object) -> object:
    """Marks a test that needs ffmpeg and the VA driver."""
    return pytest.mark.client(pytest.mark.skipif(bool(missing()), reason=missing())(test))


def encode(clip: Path, size: str, frames: int, options: list[str]) -> None:
    """A moving test picture as MPEG-2."""
    subprocess.run([*ENCODE, "-i", f"testsrc2=size={size}:rate=25", "-frames:v", str(frames), "-c:v", "mpeg2video",
                    "-g", str(frames), "-qmin", "2", "-q:v", "4", *options, str(clip)], check=True,
                   timeout=real_client.TIMEOUT)


def accelerated(clip: Path) -> list[str]:
    """The command that decodes a clip on the GPU and discards the output."""
    return ["ffmpeg", "-hide_banner", "-loglevel", "error", "-y", "-hwaccel", "vaapi", "-hwaccel_device",
            "/dev/dri/renderD128", "-hwaccel_output_format", "vaapi", "-i", str(clip), "-fps_mode", "passthrough", "-f",
            "null", "-"]
