"""Multisampled targets that a driver marks as clear without drawing, in memory that has other contents."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gen4emu.device.device import Device
from gen4emu.device.options import Options
from gen4emu.hw.chips import BY_NAME
from gen4emu.trace.reader import open as open_trace
from tests.harness.fixed import SAMPLES
from tests.live.real_client import TIMEOUT, client, environment, needs_client

SIZE = 256
TRIANGLE = ((3277, 3277), (62259, 9830), (29491, 62259))  # what the client draws, in 1/256 pixel
DRAW = {"ivb": 9, "hsw": 8}  # the triangle in the last multisampled buffer


def alphas(device: str, *arguments: str) -> dict[int, int]:
    """The number of pixels of each alpha value, as the client prints them."""
    command = ["run", "-q", "--strict", "--device", device, "--", client("reused"), *arguments]
    done = subprocess.run([sys.executable, "-m", "gen4emu", *command], env=environment(EGL_PLATFORM="surfaceless"),
                          check=False, timeout=TIMEOUT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    numbers = [int(word) for word in done.stdout.split()]
    return dict(zip(numbers[::2], numbers[1::2], strict=True))


@needs_client
@pytest.mark.parametrize("device", ["ivb", "hsw", "kbl"])
def test_samples_that_a_triangle_leaves_out_have_the_clear_color(device: str) -> None:
    found = alphas(device)
    assert list(found) == [round(64 * covered / 4) for covered in range(5)]
    assert alphas(device, "samples") == found


def coverage(samples: int) -> NDArray[np.int64]:
    """The number of samples of each pixel in the triangle; none lies on an edge."""
    y, x = np.mgrid[:SIZE, :SIZE] * 256
    inside = np.zeros((SIZE, SIZE), np.int64)
    for dx, dy in SAMPLES[samples]:
        sides = [(bx - ax) * (y + 16 * dy - ay) - (by - ay) * (x + 16 * dx - ax)
                 for (ax, ay), (bx, by) in zip(TRIANGLE, TRIANGLE[1:] + TRIANGLE[:1], strict=True)]
        assert all(side.all() for side in sides)
        inside += np.all([side > 0 for side in sides], axis=0)
    return inside


@needs_client
@pytest.mark.parametrize("device", ["ivb", "hsw"])
@pytest.mark.parametrize(("samples", "clear", "each"), [(4, 0xFF, 0xE4), (8, 0xFFFFFFFF, 0x76543210)])
def test_entries_of_the_control_surface_have_their_values(device: str, samples: int, clear: int, each: int,
                                                          tmp_path: Path) -> None:
    """All ones where nothing was drawn, 0 in the triangle, and all elements by number along its edges."""
    trace = tmp_path / "reused.g4c"
    command = ["capture", "-q", "--device", device, "-o", str(trace), "--", client("reused"), "plain", str(samples)]
    subprocess.run([sys.executable, "-m", "gen4emu", *command], env=environment(EGL_PLATFORM="surfaceless"), check=True,
                   timeout=TIMEOUT, stdout=subprocess.DEVNULL)
    command = ["state", str(trace), "--draw", str(DRAW[device])]
    shown = subprocess.run([sys.executable, "-m", "gen4emu", *command], check=True, timeout=TIMEOUT,
                           capture_output=True, text=True).stdout
    found = re.search(rf"MULTISAMPLECOUNT_{samples},.*?mcs_base_address=0x(\w+), mcs_surface_pitch=(\d+), mcs_enable",
                      shown, re.DOTALL)
    assert found
    base, tiles = int(found[1], 16), int(found[2])
    with Device(BY_NAME[device], Options(workers=1)) as machine:
        for event in open_trace(trace):
            machine.apply(event)
        data = np.frombuffer(machine.memory.read(base, 4096 * tiles * (SIZE // 32)), np.uint8)
    # Y tiles of 128x32 bytes, in columns of 16
    rows = data.reshape(SIZE // 32, tiles, 8, 32, 16).transpose(0, 3, 1, 2, 4)
    entries = rows.reshape(SIZE, -1).copy().view("<u1" if samples == 4 else "<u4")[:, :SIZE]
    covered = coverage(samples)
    assert len(set(covered.flat)) > 4
    expected = np.where(covered == 0, clear, np.where(covered == samples, 0, each))
    assert np.array_equal(entries, expected)
