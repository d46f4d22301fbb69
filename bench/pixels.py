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
from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology
from gen4emu.isa import assemble
from tests.harness.scene import SURFACES, Scene, vertex

GEN = Gen.CTG
VARIANTS = ["plain", "avx2", "avx512"]
WIDTH, HEIGHT, TEXELS = 1024, 512, 256
SECONDS = 0.4
TEXTURE, SAMPLER = 0x9000000, 0x2F000

# the pixels' distances from the start of the object, as Mesa's kernels compute them: x and y of each half in g50 to g53
PLACE = """
add(16) g46<1>UW g1.4<2,4,0>UW 0x10101010V { align1 };
add(16) g48<1>UW g1.5<2,4,0>UW 0x11001100V { align1 };
add(8) g50<1>F g46<8,8,1>UW -g1<0,1,0>F { align1 };
add(8) g51<1>F g48<8,8,1>UW -g1.1<0,1,0>F { align1 };
add(8) g52<1>F g46.8<8,8,1>UW -g1<0,1,0>F { align1 sechalf };
add(8) g53<1>F g48.8<8,8,1>UW -g1.1<0,1,0>F { align1 sechalf };
"""
WRITE = """
mov(8) m2<1>UD g1<8,8,1>UD { align1 nomask };
send(16) 1 null<1>UW g0<8,8,1>UW 0x85a04800 write { align1 EOT };
"""
SAMPLE = """
pln(16) m2<1>F g8<0,1,0>F g50<8,8,1>F { align1 compr };
pln(16) m4<1>F g8.4<0,1,0>F g50<8,8,1>F { align1 compr };
send(16) 1 g20<1>UW g0<8,8,1>UW 0x02580001 sampler { align1 };
"""
# red and green of the vertices are the texture's coordinates; blue and alpha tint
COLOR = "".join(f"pln(16) m{3 + i}<1>F g{8 + i // 2}.{4 * (i % 2)}<0,1,0>F g50<8,8,1>F {{ align1 compr4 }};\n"
                for i in range(4))
COPY = "".join(f"mov(16) m{3 + i}<1>F g{20 + 2 * i}<8,8,1>F {{ align1 compr4 }};\n" for i in range(4))
TINT = "pln(16) g40<1>F g9<0,1,0>F g50<8,8,1>F { align1 compr };\n" + "".join(
    f"mul(16) m{3 + i}<1>F g{20 + 2 * i}<8,8,1>F g40<8,8,1>F {{ align1 compr4 }};\n" for i in range(4))
KERNELS = {"color": PLACE + COLOR + WRITE, "texture": PLACE + SAMPLE + COPY + WRITE,
           "tinted texture": PLACE + SAMPLE + TINT + WRITE}

D24S8 = 3
OVER: dict[str, Any] = {"color_buffer_blend_enable": True, "source_blend_factor": "SRC_ALPHA",
                        "destination_blend_factor": "INV_SRC_ALPHA"}
LEQUAL: dict[str, Any] = {"depth_test_enable": True, "depth_test_function": "LEQUAL",
                          "depth_buffer_write_enable": True}
CASES: list[tuple[str, str, dict[str, Any], str]] = [
    # title, kernel, tests and blending, filter
    ("color", "color", {}, "NEAREST"),
    ("color, D24", "color", LEQUAL, "NEAREST"),
    ("color, over", "color", OVER, "NEAREST"),
    ("nearest texture", "texture", {}, "NEAREST"),
    ("nearest texture, D24", "texture", LEQUAL, "NEAREST"),
    ("bilinear texture", "texture", {}, "LINEAR"),
    ("bilinear texture, D24", "texture", LEQUAL, "LINEAR"),
    ("tinted bilinear texture, over", "tinted texture", OVER, "LINEAR"),
]


def scene_of(kernel: str, cc: dict[str, Any], filter: str) -> Scene:
    scene = Scene(GEN, WIDTH, HEIGHT, tiling=Tiling.X, depth_format=D24S8, depth_clear=0x00FFFFFF,
                  cc=cc, surface={"color_blend_enable": True},
                  wm={"dispatch_8_pixel_enable": False, "dispatch_16_pixel_enable": True,
                      "sampler_state_pointer": SAMPLER, "sampler_count": 4})
    scene.pixel_kernel = assemble(KERNELS[kernel], GEN)
    scene.memory.write(TEXTURE, np.random.default_rng(1).integers(0, 256, 4 * TEXELS * TEXELS, np.uint8).tobytes())
    scene.memory.write(SURFACES + 0x100, block_named("SURFACE_STATE", GEN).build(
        GEN, surface_type=1, surface_format=SurfaceFormat.R8G8B8A8_UNORM, width=TEXELS, height=TEXELS, depth=1,
        surface_base_address=TEXTURE, surface_pitch=4 * TEXELS, tiled_surface=True))
    scene.memory.write(SURFACES + 0x404, struct.pack("<I", SURFACES + 0x100))
    scene.memory.write(SAMPLER, block_named("SAMPLER_STATE", GEN).build(
        GEN, min_mode_filter=filter, mag_mode_filter=filter, max_lod=13.0,
        u_address_mag_filter_rounding_enable=filter == "LINEAR", u_address_min_filter_rounding_enable=filter == "LINEAR",
        v_address_mag_filter_rounding_enable=filter == "LINEAR",
        v_address_min_filter_rounding_enable=filter == "LINEAR"))
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
