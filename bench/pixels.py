"""How fast the whole pixel path is, from coverage to the render target, for each vector variant.

    python bench/pixels.py

Million pixels a second of one core: a rectangle over a 1024x512 target whose kernel interpolates a color, copies a
texture or tints it, with and without a depth test.  The best of many draws.
"""

from __future__ import annotations

import struct
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gen4emu._native import lib
from gen4emu.device.tiling import Tiling
from gen4emu.hw.catalogue import block_named
from gen4emu.hw.formats import SurfaceFormat
from gen4emu.hw.topology import PrimitiveTopology
from tests.harness import pixel_kernels
from tests.harness.scene import SURFACES, Scene, vertex

GEN = pixel_kernels.GEN
VARIANTS = ["plain", "avx2", "avx512"]
WIDTH, HEIGHT, TEXELS = 1024, 512, 256
SECONDS = 0.4
TEXTURE, SAMPLER = 0x9000000, 0x2F000

D24S8 = 3
OVER: dict[str, Any] = {"color_buffer_blend_enable": True, "source_blend_factor": "SRC_ALPHA",
                        "destination_blend_factor": "INV_SRC_ALPHA"}
LEQUAL: dict[str, Any] = {"depth_test_enable": True, "depth_test_function": "LEQUAL",
                          "depth_buffer_write_enable": True}
CASES: list[tuple[str, bytes, dict[str, Any], str]] = [
    # title, kernel, tests and blending, filter
    ("color", pixel_kernels.INTERPOLATE, {}, "NEAREST"),
    ("color, D24", pixel_kernels.INTERPOLATE, LEQUAL, "NEAREST"),
    ("color, over", pixel_kernels.INTERPOLATE, OVER, "NEAREST"),
    ("nearest texture", pixel_kernels.COPY, {}, "NEAREST"),
    ("nearest texture, D24", pixel_kernels.COPY, LEQUAL, "NEAREST"),
    ("bilinear texture", pixel_kernels.COPY, {}, "LINEAR"),
    ("bilinear texture, D24", pixel_kernels.COPY, LEQUAL, "LINEAR"),
    ("tinted bilinear texture, over", pixel_kernels.TINT, OVER, "LINEAR"),
]


def scene_of(kernel: bytes, cc: dict[str, Any], filter: str) -> Scene:
    scene = Scene(GEN, WIDTH, HEIGHT, tiling=Tiling.X, depth_format=D24S8, depth_clear=0x00FFFFFF,
                  cc=cc, surface={"color_blend_enable": True},
                  wm={"dispatch_8_pixel_enable": False, "dispatch_16_pixel_enable": True,
                      "sampler_state_pointer": SAMPLER, "sampler_count": 4})
    scene.pixel_kernel = kernel
    scene.memory.write(TEXTURE, np.random.default_rng(1).integers(0, 256, 4 * TEXELS * TEXELS, np.uint8).tobytes())
    scene.memory.write(SURFACES + 0x100, block_named("SURFACE_STATE", GEN).build(
        GEN, surface_type=1, surface_format=SurfaceFormat.R8G8B8A8_UNORM, width=TEXELS, height=TEXELS, depth=1,
        surface_base_address=TEXTURE, surface_pitch=4 * TEXELS, tiled_surface=True))
    scene.memory.write(SURFACES + 0x404, struct.pack("<I", SURFACES + 0x100))
    rounding = {f"{axis}_address_{which}_filter_rounding_enable": filter == "LINEAR" for axis in "uv"
                for which in ("mag", "min")}
    scene.memory.write(SAMPLER, block_named("SAMPLER_STATE", GEN).build(
        GEN, min_mode_filter=filter, mag_mode_filter=filter, max_lod=13.0, **rounding))
    return scene


def corners() -> Sequence[tuple[float, ...]]:
    return [vertex(x, y, 0.5, 1.0, (x / 300, y / 300, 0.2 + x / 2000, 0.9)) for x, y in
            ((WIDTH, HEIGHT), (0, HEIGHT), (0, 0))]


def rate(scene: Scene) -> float:
    batch = scene.prepare(corners()) + scene.primitive(PrimitiveTopology.RECTLIST, 3)
    best, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        start = time.thread_time()
        scene.run(batch)
        best = min(best, time.thread_time() - start)
    return WIDTH * HEIGHT / best / 1e6


def main() -> None:
    variants = VARIANTS[: lib.g4_variant_best() + 1]
    print(f"{'million pixels/s':34}" + "".join(f"{name:>9}" for name in variants))
    for title, kernel, cc, filter in CASES:
        values = []
        for variant in range(len(variants)):
            lib.g4_set_variant(variant)
            values.append(rate(scene_of(kernel, cc, filter)))
        print(f"{title:34}" + "".join(f"{value:9.1f}" for value in values), flush=True)


if __name__ == "__main__":
    main()
