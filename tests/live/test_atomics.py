"""Atomics of pixel shaders: their totals are those of Mesa's software renderer, their order does not vary."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import pytest

from tests.live.real_client import TIMEOUT, client, environment, needs_client

_CELLS, _SIDE = 8, 160
_TOTALS = 4 * (2 + 2 * _CELLS * _CELLS)  # counter, sum, and two images; the exchanged dword depends on the order
_BYTES = _TOTALS + 4 + _SIDE * _SIDE * (4 + 16)


@cache
def result(device: str, workers: int) -> bytes:
    command = ["run", "-q", "--strict", "--device", device, "--workers", str(workers), "--", client("atomics")]
    return subprocess.run([sys.executable, "-m", "gen4emu", *command], env=environment(EGL_PLATFORM="surfaceless"),
                          check=True, timeout=TIMEOUT, stdout=subprocess.PIPE).stdout


def totals(printed: bytes) -> bytes:
    assert len(printed) == _BYTES
    return printed[:8] + printed[12:_TOTALS + 4]


@needs_client
@pytest.mark.parametrize("device", ["hsw", "kbl"])
def test_totals_are_those_of_llvmpipe(device: str) -> None:
    done = subprocess.run([client("atomics")], check=True, timeout=TIMEOUT, stdout=subprocess.PIPE, env=environment(
        EGL_PLATFORM="surfaceless", LIBGL_ALWAYS_SOFTWARE="1", GALLIUM_DRIVER="llvmpipe"))
    assert totals(result(device, 1)) == totals(done.stdout)


@needs_client
@pytest.mark.parametrize(("device", "workers"), [("hsw", 3), ("kbl", 2), ("kbl", 5)])
def test_every_pixel_gets_the_same_numbers_from_any_number_of_workers(device: str, workers: int) -> None:
    assert result(device, workers) == result(device, 1)
