"""The vector variants: chosen when the program runs, the same bits (native/core/variant.h)."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import gen4emu
from gen4emu._native import lib
from gen4emu.device.memory import Memory
from gen4emu.device.tiling import SurfaceLayout, Swizzle, Tiling

NAMES = ["plain", "avx2", "avx512"]
HERE = NAMES[: lib.g4_variant_best() + 1]


@pytest.fixture(autouse=True)
def keep_the_choice() -> Iterator[None]:
    before = lib.g4_variant_current()
    yield
    assert lib.g4_set_variant(before) == lib.G4_OK


def copies(variant: int) -> list[bytes]:
    """Reads and writes of many rectangles, small and large, by one variant."""
    assert lib.g4_set_variant(variant) == lib.G4_OK
    assert lib.g4_variant_current() == variant
    rng = random.Random(4)
    seen = []
    for tiling in (Tiling.X, Tiling.Y, Tiling.W):
        for swizzle in Swizzle:
            with Memory() as memory:
                layout = SurfaceLayout(0x10000, 1024, 1024, 96, 1, tiling, swizzle)
                layout.write(memory, rng.randbytes(1024 * 96))
                for _ in range(4):
                    x, y = rng.randrange(1024), rng.randrange(96)
                    width, height = rng.randrange(1, 1025 - x), rng.randrange(1, 97 - y)
                    layout.write(memory, rng.randbytes(width * height), x, y, width, height)
                    seen.append(bytes(layout.read(memory, x // 2, y // 2)))
                seen.append(memory.read(0x10000, 1024 * 96))
    return seen


@pytest.mark.parametrize("name", HERE[1:])
def test_variant_gives_the_bits_of_the_plain_one(name: str) -> None:
    assert copies(NAMES.index(name)) == copies(0)


def test_variant_that_the_processor_lacks_is_refused() -> None:
    assert lib.g4_set_variant(len(HERE)) == lib.G4_BAD_VALUE
    assert lib.g4_variant_current() < len(HERE)


@pytest.mark.parametrize(("wish", "expected"), [*((name, name) for name in HERE), ("", HERE[-1]), ("sse9", HERE[-1])])
def test_environment_chooses_the_variant(wish: str, expected: str) -> None:
    code = "from gen4emu._native import lib; print(lib.g4_variant_current())"
    here = str(Path(gen4emu.__file__).parent.parent)  # the very core that is under test
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True,
                          env={**os.environ, "GEN4EMU_VARIANT": wish, "PYTHONPATH": here})
    assert done.stdout.strip() == str(NAMES.index(expected))
