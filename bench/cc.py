"""How fast the color calculator is: render target writes and early depth tests, for each vector variant.

    python bench/cc.py

Million pixels a second of one core, gangs of eight SIMD16 threads over 32x32 tiles of a 1024x512 target.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gen4emu._native import lib
from gen4emu.hw.formats import SurfaceFormat, format_info
from tests.harness.pixel_probe import PixelProbe
from tests.harness.probe import THREADS

VARIANTS = ["plain", "avx2", "avx512"]
WIDTH, HEIGHT = 1024, 512
ACROSS, TILES = WIDTH // 32, (WIDTH // 32) * (HEIGHT // 32)
TARGET, DEPTH = 0x1000000, 0x2000000
SECONDS = 0.25

OVER: dict[str, Any] = {"color_buffer_blend_enable": True, "source_blend_factor": "SRC_ALPHA",
                        "destination_blend_factor": "INV_SRC_ALPHA"}
ADD: dict[str, Any] = {"color_buffer_blend_enable": True, "source_blend_factor": "ONE",
                       "destination_blend_factor": "ONE"}
XOR: dict[str, Any] = {"logic_op_enable": True, "logic_op_function": "XOR"}
CASES: list[tuple[str, str, dict[str, Any], bool]] = [
    ("B8G8R8A8 replace", "B8G8R8A8_UNORM", {}, True),
    ("B8G8R8A8 replace, X tiled", "B8G8R8A8_UNORM", {}, False),
    ("B8G8R8A8 over", "B8G8R8A8_UNORM", OVER, True),
    ("B8G8R8A8 over, X tiled", "B8G8R8A8_UNORM", OVER, False),
    ("B8G8R8A8 add", "B8G8R8A8_UNORM", ADD, True),
    ("B8G8R8A8 xor", "B8G8R8A8_UNORM", XOR, True),
    ("B8G8R8A8_SRGB replace", "B8G8R8A8_UNORM_SRGB", {}, True),
    ("B8G8R8A8_SRGB over", "B8G8R8A8_UNORM_SRGB", OVER, True),
    ("B5G6R5 replace", "B5G6R5_UNORM", {}, True),
    ("B5G6R5 over", "B5G6R5_UNORM", OVER, True),
    ("R8 over", "R8_UNORM", OVER, True),
    ("A8 replace", "A8_UNORM", {}, True),
    ("R16G16B16A16_FLOAT replace", "R16G16B16A16_FLOAT", {}, True),
    ("R16G16B16A16_FLOAT over", "R16G16B16A16_FLOAT", OVER, True),
    ("R32G32B32A32_FLOAT over", "R32G32B32A32_FLOAT", OVER, False),
    ("R8G8B8A8_UINT", "R8G8B8A8_UINT", {}, True),
]

LEQUAL: dict[str, Any] = {"depth_test_enable": True, "depth_test_function": "LEQUAL",
                          "depth_buffer_write_enable": True}
STENCIL: dict[str, Any] = LEQUAL | {
    "stencil_test_enable": True, "stencil_buffer_write_enable": True, "stencil_test_function": "ALWAYS",
    "stencil_pass_depth_pass_op": "INCR", "stencil_test_mask": 255, "stencil_write_mask": 255}
DEPTH_CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("D24S8 lequal", "D24_UNORM_S8_UINT", LEQUAL),
    ("D24S8 lequal, read only", "D24_UNORM_S8_UINT", LEQUAL | {"depth_buffer_write_enable": False}),
    ("D24S8 lequal and stencil", "D24_UNORM_S8_UINT", STENCIL),
    ("D32F lequal", "D32_FLOAT", LEQUAL),
    ("D32F_S8X24 lequal and stencil", "D32_FLOAT_S8X24_UINT", STENCIL),
]


def rate(pixels: int, work: Callable[[], object]) -> float:
    """Million pixels a second: the best of many runs, since other programs share the machine."""
    best, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        start = time.thread_time()
        work()
        best = min(best, time.thread_time() - start)
    return pixels / best / 1e6


def target(name: str, cc: dict[str, Any], y_tiled: bool) -> PixelProbe:
    probe = PixelProbe()
    format = SurfaceFormat[name]
    info = format_info(format)
    assert info is not None
    pitch = WIDTH * info.block_bits // 8
    probe.memory.write(TARGET, bytes(pitch * HEIGHT))
    probe.add_surface(surface_type="SURFTYPE_2D", surface_format=format, width=WIDTH, height=HEIGHT, depth=1,
                      surface_pitch=pitch, surface_base_address=TARGET, tiled_surface=True,
                      tile_walk="YMAJOR" if y_tiled else "XMAJOR", color_blend_enable=True)
    probe.begin(THREADS, cc=cc)
    rng = np.random.default_rng(4)
    for t in range(THREADS):
        probe.header(t)
        probe.color16(rng.random((16, 4), dtype=np.float32), t)
    return probe


def depth(name: str, cc: dict[str, Any]) -> PixelProbe:
    probe = PixelProbe()
    probe.memory.write(DEPTH, b"\xff\xff\xff\x00" * (2 * WIDTH * HEIGHT))
    pitch = WIDTH * (8 if name == "D32_FLOAT_S8X24_UINT" else 4)
    probe.depth_buffer(surface_type="SURFTYPE_2D", surface_format=name, width=WIDTH, height=HEIGHT, depth=1,
                       surface_pitch=pitch, surface_base_address=DEPTH, tiled_surface=True, tile_walk="YMAJOR")
    probe.begin(1, cc=cc)
    return probe


def main() -> None:
    variants = VARIANTS[: lib.g4_variant_best() + 1]
    print(f"{'million pixels/s':34}" + "".join(f"{name:>9}" for name in variants))
    for title, name, cc, y_tiled in CASES:
        values = []
        for variant in range(len(variants)):
            lib.g4_set_variant(variant)
            probe = target(name, cc, y_tiled)
            values.append(rate(WIDTH * HEIGHT, lambda p=probe: p.fill(TILES, ACROSS)))
        print(f"{title:34}" + "".join(f"{value:9.0f}" for value in values))
    for title, name, cc in DEPTH_CASES:
        values = []
        for variant in range(len(variants)):
            lib.g4_set_variant(variant)
            probe = depth(name, cc)
            values.append(rate(WIDTH * HEIGHT, lambda p=probe: p.fill_depth(TILES, ACROSS, 0.5)))
        print(f"{title:34}" + "".join(f"{value:9.0f}" for value in values))


if __name__ == "__main__":
    main()
