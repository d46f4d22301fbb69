"""Rectangles of one color, in targets of every pixel size and tiling: fills write and count the same as threads."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from gen4emu._native import lib
from gen4emu.device.tiling import Tiling
from gen4emu.hw.formats import SurfaceFormat as F
from tests.harness.canvas_gen7 import TARGETS, Canvas7, color, send

VARIANTS = range(lib.g4_variant_best() + 1)
BYTES = 0x40000  # of a target
WIDTH, HEIGHT = 150, 110
CHANNELS = ("red", "green", "blue", "alpha")
FORMATS = ["B8G8R8A8_UNORM", "B8G8R8X8_UNORM", "R8_UNORM", "B5G6R5_UNORM", "R16G16B16A16_FLOAT", "R32G32B32A32_UINT",
           "R32G32B32A32_FLOAT", "R10G10B10A2_UNORM", "R8G8_UINT", "R32_UINT", "R32G32_UINT"]
MODE = {Tiling.LINEAR: "LINEAR", Tiling.X: "XMAJOR", Tiling.Y: "YMAJOR"}


@pytest.fixture(autouse=True)
def keep_variant() -> Iterator[None]:
    before = lib.g4_variant_current()
    yield
    lib.g4_set_variant(before)


def masks(rng: random.Random) -> list[str]:
    """The channels that are not written; often none."""
    return [c for c in CHANNELS if rng.random() < rng.choice([0, 0.5])]


def counts_of(machine: Canvas7) -> tuple[dict[str, int], list[int]]:
    counts = {name: count for name, count in machine.device.counts().items() if not name.endswith("_ns")}
    return counts, [int(c) for c in machine.state.counter]


def layout_of(device: str, tiling: Tiling) -> dict[str, Any]:
    if device == "kbl":
        return {"tile_mode": MODE[tiling]}
    return {} if tiling is Tiling.LINEAR else {"tiled_surface": True, "tile_walk": MODE[tiling]}


def outcome(device: str, name: str, tiling: Tiling, seed: int, variant: int, **options: Any) -> tuple[Any, ...]:
    """Random rectangles, in random colors, in a target of random size."""
    lib.g4_set_variant(variant)
    rng = random.Random(f"{name} {tiling} {seed}")
    canvas = Canvas7(device, (name,), **options)
    canvas.device.memory.write(TARGETS, rng.randbytes(BYTES))
    pitch = -(-WIDTH * canvas.pixel_bytes[0] // 512) * 512
    width, height = WIDTH - rng.choice([0, 22, 23]), HEIGHT - rng.choice([0, 14, 15])
    canvas.surface(0, surface_format=F[name], width=width, height=height, surface_pitch=pitch,
                   **layout_of(device, tiling))
    for _ in range(3):
        x, y = rng.choice([0, rng.randrange(70)]), rng.choice([0, rng.randrange(70)])
        red, green, blue, alpha = (rng.choice([0.0, 1.0, 0.25, 0.7]) for _ in CHANNELS)
        canvas.draw(color(red, green, blue, alpha) + send(canvas.write()),
                    x, y, x + rng.randrange(8, WIDTH), y + rng.randrange(8, HEIGHT),
                    blend={f"write_disable_{c}": True for c in masks(rng)},
                    commands={"3DSTATE_DRAWING_RECTANGLE": {"clipped_drawing_rectangle_x_max": WIDTH - 1,
                                                            "clipped_drawing_rectangle_y_max": HEIGHT - 1},
                              "3DSTATE_WM": {"statistics_enable": True}})
    return bytes(canvas.device.memory.read(TARGETS, BYTES)), counts_of(canvas)


@pytest.mark.parametrize("device", ["ivb", "kbl"])
@pytest.mark.parametrize("tiling", list(MODE))
@pytest.mark.parametrize("name", FORMATS)
def test_rectangles_of_one_color_are_those_of_threads(name: str, tiling: Tiling, device: str) -> None:
    drawn = 0
    for seed in range(4):
        expected = outcome(device, name, tiling, seed, 0, general_only=True)
        drawn += expected[1][0]["instructions"]
        assert outcome(device, name, tiling, seed, seed % len(VARIANTS)) == expected, seed
    assert drawn > 0
