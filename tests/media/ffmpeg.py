"""ffmpeg's own MPEG-2 decoder: frames of a stream."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

QUIET = ["ffmpeg", "-hide_banner", "-loglevel", "error", "-y"]


def software(data: bytes, size: tuple[int, int], directory: Path) -> list[list[NDArray[np.uint8]]]:
    """Y, U and V of every frame as it is shown; the plain C code of the transform that `iso_model` has, too."""
    clip, raw = directory / "software.m2v", directory / "software.yuv"
    clip.write_bytes(data)
    done = subprocess.run([*QUIET, "-threads", "1", "-idct", "simple", "-cpuflags", "0", "-i", str(clip), "-f",
                           "rawvideo", "-pix_fmt", "yuv420p", "-fps_mode", "passthrough", str(raw)], check=True,
                          capture_output=True, text=True, timeout=120)
    assert done.stderr == ""
    width, height = size
    frames = np.fromfile(raw, np.uint8).reshape(-1, width * height * 3 // 2)
    return [[frame[:width * height].reshape(height, width),
             *frame[width * height:].reshape(2, height // 2, width // 2)] for frame in frames]
