"""MPEG-2 with ffmpeg and the installed, unmodified VA driver on the emulated GPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.live import fuzz_video, real_client
from tests.live.video_clips import accelerated, encode, needs_video
from tests.media.mpeg2_random import DUAL, WITH_B, Step, random_stream
from tests.media.va_capture import decode

INTERLACED = ["-flags", "+ildct+ilme", "-alternate_scan", "1", "-intra_vlc", "1", "-non_linear_quant", "1", "-qmax",
              "28", "-dc", "10", "-top", "1"]


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
    encode(clip, size, 6, options)
    gen4emu("capture", "--device", "gm45", "--frames", str(tmp_path / "live"), "-o", str(trace), "--",
            *accelerated(clip))
    gen4emu("replay", str(trace), "-o", str(tmp_path / "replayed"))
    live, replayed = pictures(tmp_path / "live"), pictures(tmp_path / "replayed")
    assert len(live) == 6
    assert all(np.array_equal(a, b) for a, b in zip(live, replayed, strict=True))
    decoded = list(decode(trace))
    assert {p.coding_type for p in decoded} == {1, 2, 3}
    for picture in decoded:
        assert picture.differences == [0, 0, 0]
        assert picture.complaints == []


@needs_video
@pytest.mark.parametrize(("size", "steps"), [((48, 32), DUAL), ((96, 64), WITH_B)], ids=["dual-prime", "b"])
def test_random_syntax_equals_the_model_and_the_writer_s_record(size: tuple[int, int], steps: tuple[Step, ...],
                                                                  tmp_path: Path) -> None:
    """Field pictures, dual prime, 16x8, concealment vectors, all codes, which ffmpeg's encoder does not produce."""
    clip, trace = tmp_path / "clip.m2v", tmp_path / "clip.aub"
    stream = random_stream(f"live-{size}", *size, steps)
    clip.write_bytes(stream.data)
    gen4emu("capture", "--device", "gm45", "-o", str(trace), "--", *accelerated(clip))
    for picture, coded in zip(decode(trace), stream.pictures, strict=True):
        assert picture.wrong_threads(coded.macroblocks) == []
        assert picture.differences == [0, 0, 0]
        assert picture.complaints == []


@needs_video
@pytest.mark.parametrize("options", [["-bf", "1"], ["-bf", "1", *INTERLACED]], ids=["progressive", "interlaced"])
def test_television_size_equals_the_model(options: list[str], tmp_path: Path) -> None:
    """720 is not a multiple of 32; the model follows the layout of the driver's surfaces."""
    clip, trace = tmp_path / "clip.m2v", tmp_path / "clip.aub"
    encode(clip, "720x576", 3, options)
    gen4emu("capture", "--device", "gm45", "-o", str(trace), "--", *accelerated(clip))
    decoded = list(decode(trace))
    assert [p.coding_type for p in decoded] == [1, 2, 3]
    for picture in decoded:
        assert len(picture.threads) == 45 * 36
        assert picture.differences == [0, 0, 0]
        assert picture.complaints == []


@needs_video
def test_damaged_streams_end_normally_and_are_reported(tmp_path: Path) -> None:
    """Thirty in one file; `fuzz_video.py` tests any number."""
    outcome = fuzz_video.decode([fuzz_video.damaged(n) for n in range(30)], tmp_path)
    assert outcome.status == 0
    assert outcome.batches >= 30
    assert outcome.hangs == 0
    # Vectors of damaged streams point outside the picture, and outside the buffer.
    assert {line.partition(":")[0] for line in outcome.messages} <= {
        "illegal code in slice data, the rest of the slice is dropped", "read of an address that nothing maps"}
    assert any("illegal code" in line for line in outcome.messages)
    assert outcome.complaints > 0


@needs_video
def test_the_first_picture_in_a_surface_is_skewed(tmp_path: Path) -> None:
    """A bug of the driver if the width is not a multiple of 32."""
    clip, trace = tmp_path / "clip.m2v", tmp_path / "clip.aub"
    encode(clip, "48x32", 6, ["-bf", "1"])
    gen4emu("capture", "--device", "gm45", "-o", str(trace), "--", *accelerated(clip))
    used: dict[int, list[int]] = {}
    for picture in decode(trace):
        used.setdefault(picture.address, []).append(picture.decoded[0].pitch)
    assert sum(len(pitches) > 1 for pitches in used.values()) >= 2
    for first, *others in used.values():
        assert first == 48
        assert set(others) <= {64}
