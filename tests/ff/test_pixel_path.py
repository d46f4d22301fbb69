"""Random draws: the specialised loops of every vector variant leave the memory and the counts of the general path."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from gen4emu._native import lib
from gen4emu.device.options import Options
from gen4emu.device.tiling import Tiling
from gen4emu.hw.formats import SurfaceFormat as F
from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology as T
from gen4emu.trace.events import Engine
from tests.harness import pixel_kernels
from tests.harness.random_state import depth_state_of
from tests.harness.scene import DEPTH, TARGET, Scene, vertex

VARIANTS = range(lib.g4_variant_best() + 1)
D32, D24S8, D24X8, D16 = 1, 2, 3, 5
FACTORS = ["ONE", "SRC_COLOR", "SRC_ALPHA", "DST_ALPHA", "DST_COLOR", "SRC_ALPHA_SATURATE", "ZERO", "INV_SRC_COLOR",
           "INV_SRC_ALPHA", "INV_DST_ALPHA", "INV_DST_COLOR"]
BLEND = ["ADD", "SUBTRACT", "REVERSE_SUBTRACT", "MIN", "MAX"]


@pytest.fixture(autouse=True)
def keep_variant() -> Iterator[None]:
    before = lib.g4_variant_current()
    yield
    lib.g4_set_variant(before)


def blending_of(rng: random.Random) -> dict[str, Any]:
    if rng.random() < 0.4:
        return {}
    if rng.random() < 0.3:
        return {"color_buffer_blend_enable": True, "source_blend_factor": "SRC_ALPHA",
                "destination_blend_factor": "INV_SRC_ALPHA"}
    return {"color_buffer_blend_enable": True, "color_blend_function": rng.choice(BLEND),
            "source_blend_factor": rng.choice(FACTORS), "destination_blend_factor": rng.choice(FACTORS)}


def triangles(rng: random.Random, width: int, height: int) -> list[tuple[float, ...]]:
    """Small and large ones, of all depths, not all inside the target."""
    vertices = []
    for _ in range(14):
        size = rng.choice([8, 40, 300])
        x, y, z = rng.uniform(0, width), rng.uniform(0, height), rng.uniform(-0.1, 1.1)
        for _ in range(3):
            color = tuple(rng.uniform(-0.2, 1.2) for _ in range(4))
            vertices.append(vertex(x + rng.uniform(-size, size), y + rng.uniform(-size, size),
                                   z + rng.choice([0.0, rng.uniform(-0.2, 0.2)]), 1.0, color))
    return vertices


def scene_of(rng: random.Random, options: Options) -> Scene:
    width, height = rng.choice([(32, 32), (96, 64), (100, 70), (131, 97)])
    smaller = {"width": width - rng.randrange(1, 30), "height": height - rng.randrange(1, 30)}
    wide = rng.random() < 0.6
    blocks: dict[str, Any] = {
        "cc": depth_state_of(rng) | blending_of(rng) | {"statistics_enable": True},
        "cc_viewport": rng.choice([{}, {"minimum_depth": 0.2, "maximum_depth": 0.7}]),
        "wm": {"statistics_enable": rng.random() < 0.5, "thread_dispatch_enable": rng.random() < 0.9,
               "dispatch_8_pixel_enable": not wide, "dispatch_16_pixel_enable": wide},
        "surface": {"color_blend_enable": True},
        "depth": smaller if rng.random() < 0.3 else {},
    }
    tiling = rng.choice([Tiling.X, Tiling.Y, Tiling.LINEAR])
    format = rng.choice([F.B8G8R8A8_UNORM, F.B8G8R8A8_UNORM, F.R8G8B8A8_UNORM, F.B8G8R8X8_UNORM, F.B5G6R5_UNORM,
                         F.R16G16B16A16_FLOAT])
    scene = Scene(Gen.CTG, width, height, options=options, format=format, tiling=tiling,
                  depth_format=rng.choice([D24S8, D24S8, D24X8, D32, D16]), depth_clear=0xFFFF, **blocks)
    if wide:
        scene.pixel_kernel = pixel_kernels.INTERPOLATE
    return scene


def outcome(seed: int, variant: int, counting: bool = False, **options: Any) -> tuple[Any, ...]:
    lib.g4_set_variant(variant)
    rng = random.Random(seed)
    scene = scene_of(rng, Options(**options))
    scene.device.counting = counting
    scene.memory.write(TARGET, rng.randbytes(scene.pitch * scene.height))
    scene.memory.write(DEPTH, rng.randbytes(scene.depth_pitch * scene.height))
    scene.draw(triangles(rng, scene.width, scene.height))
    counts = {name: count for name, count in scene.device.counts().items() if not name.endswith("_ns")}
    statistics = [int(c) for c in scene.device.streamers[Engine.RENDER].state.raw.counter]
    return scene.pixels(), scene.depths(), counts, statistics


@cache
def general_outcome(seed: int) -> tuple[Any, ...]:
    return outcome(seed, 0, workers=1, general_only=True)


@pytest.mark.parametrize("variant", VARIANTS)
def test_random_draws_have_the_bits_of_the_general_path(variant: int) -> None:
    for seed in range(60):
        assert outcome(seed, variant, workers=1 + seed % 3) == general_outcome(seed), seed


@pytest.mark.parametrize("variant", VARIANTS)
def test_tiles_that_an_object_covers_have_the_bits_of_listed_subspans(variant: int) -> None:
    """Counters need a list of subspans for each tile.  Objects overlap, so that their order matters, too."""
    for seed in range(100, 160):
        pixels, depths, _, statistics = outcome(seed, variant)
        listed_pixels, listed_depths, _, listed_statistics = outcome(seed, variant, counting=True)
        assert (pixels, depths, statistics) == (listed_pixels, listed_depths, listed_statistics), seed


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("tiling", [Tiling.X, Tiling.Y])
@pytest.mark.parametrize("left", [0, 2, 4, 6])
def test_rows_may_begin_within_a_column_of_a_tile(left: int, tiling: Tiling, variant: int) -> None:
    def pixels(options: Options) -> Any:
        scene = Scene(Gen.CTG, 96, 64, options=options, tiling=tiling, surface={"color_blend_enable": True},
                      cc={"color_buffer_blend_enable": True, "source_blend_factor": "SRC_ALPHA",
                          "destination_blend_factor": "INV_SRC_ALPHA"},
                      wm={"dispatch_8_pixel_enable": False, "dispatch_16_pixel_enable": True})
        scene.pixel_kernel = pixel_kernels.INTERPOLATE
        scene.memory.write(TARGET, random.Random(1).randbytes(scene.pitch * scene.height))
        colors = ((0.1, 0.2, 0.9, 0.5), (0.9, 0.2, 0.3, 0.5), (0.4, 0.8, 0.3, 0.7))
        corners = ((left + 64, 50), (left, 50), (left, 0))
        scene.draw([vertex(x, y, 0.5, 1.0, color) for (x, y), color in zip(corners, colors, strict=True)], T.RECTLIST)
        return scene.pixels()

    lib.g4_set_variant(variant)
    assert pixels(Options(workers=1)) == pixels(Options(workers=1, general_only=True))
