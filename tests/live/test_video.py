"""MPEG-2 through ffmpeg and the installed, unmodified VA driver on the emulated GPU (spec/70 5, 7 T19)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gen4emu.live import program
from tests.live import real_client
from tests.media.va_capture import decode

ENCODE = ["ffmpeg", "-hide_banner", "-loglevel", "error", "-y", "-f", "lavfi"]
INTERLACED = ["-flags", "+ildct+ilme", "-alternate_scan", "1", "-intra_vlc", "1", "-non_linear_quant", "1", "-qmax",
              "28", "-dc", "10", "-top", "1"]
DRIVERS = ("/usr/lib/x86_64-linux-gnu/dri", "/usr/lib64/dri", "/usr/lib/dri")


@cache
def missing() -> str:
    if not program.SHIM.exists():
        return "the shim is not built"
    if shutil.which("ffmpeg") is None:
        return "there is no ffmpeg"
    if not any(Path(p, "i965_drv_video.so").exists() for p in DRIVERS):
        return "the i965 VA driver is not installed"
    return ""


def needs_video(test: object) -> object:
    """Marks a test that needs ffmpeg and the VA driver."""
    return pytest.mark.client(pytest.mark.skipif(bool(missing()), reason=missing())(test))


def gen4emu(*arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", "gen4emu.cli.main", *arguments], check=False, capture_output=True,
                          text=True, timeout=real_client.TIMEOUT, env=real_client.environment(LIBVA_DRIVER_NAME="i965"))
    assert done.returncode == 0, done.stderr


def pictures(directory: Path) -> list[np.ndarray]:
    return [np.asarray(Image.open(p)) for p in sorted(directory.glob("*.png"))]


@needs_video
@pytest.mark.parametrize(("size", "options"), [
    ("64x48", ["-bf", "2"]), ("96x64", ["-bf", "2", "-slices", "2", *INTERLACED]), ("48x32", ["-bf", "1"])])
def test_decoded_video_equals_the_model_and_the_replay_of_its_capture(size: str, options: list[str],
                                                                      tmp_path: Path) -> None:
    clip, trace = tmp_path / "clip.m2v", tmp_path / "clip.aub"
    subprocess.run([*ENCODE, "-i", f"testsrc2=size={size}:rate=25", "-frames:v", "6", "-c:v", "mpeg2video", "-g", "6",
                    "-qmin", "2", "-q:v", "4", *options, str(clip)], check=True, timeout=real_client.TIMEOUT)
    gen4emu("capture", "--device", "gm45", "--frames", str(tmp_path / "live"), "-o", str(trace), "--",
            "ffmpeg", "-hide_banner", "-loglevel", "error", "-y", "-hwaccel", "vaapi", "-hwaccel_device",
            "/dev/dri/renderD128", "-hwaccel_output_format", "vaapi", "-i", str(clip), "-fps_mode", "passthrough",
            "-f", "null", "-")
    gen4emu("replay", str(trace), "-o", str(tmp_path / "replayed"))
    live, replayed = pictures(tmp_path / "live"), pictures(tmp_path / "replayed")
    assert len(live) == 6
    assert all(np.array_equal(a, b) for a, b in zip(live, replayed, strict=True))
    decoded = list(decode(trace))
    assert {p.coding_type for p in decoded} == {1, 2, 3}
    for picture in decoded:
        assert picture.differences == [0, 0, 0]
        assert picture.complaints == []
