"""How many lookups a second the sampling engine does on one core, for each vector variant.

    python bench/sampler.py

A kernel of sample messages, eight threads of 16 pixels each, whose coordinates walk over a tiled texture of 256x256
texels as the pixels of a screen would; those of a cube map stay on one face.  Million lookups a second; the
interpreter's own part is in the first row.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gen4emu._native import lib
from gen4emu.device.memory import Memory
from gen4emu.device.tiling import Tiling
from gen4emu.hw.catalogue import block_named
from gen4emu.hw.formats import SurfaceFormat, format_info
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.sampler import MapFilter, MipFilter, TextureCoordinateMode
from gen4emu.hw.gen4.surface import SurfaceType, TileWalk
from tests.harness.probe import Probe

GEN = Gen.EL
SURFACE, TABLE, SAMPLER, TEXTURE = 0x1000, 0x2000, 0x3000, 0x100000
SIZE, THREADS, MESSAGES, SECONDS = 256, 8, 200, 0.3
VARIANTS = ["plain", "avx2", "avx512"]
SAMPLE_UV = 0x02580000  # SIMD16 sample with u and v
SAMPLE_UVR = 0x02780000  # with r, too
FACES = [f"cube_face_enable_{sign}_{axis}" for axis in "xyz" for sign in ("positive", "negative")]


def texture(memory: Memory, format: SurfaceFormat, levels: int, tiling: Tiling, *, cube: bool = False) -> None:
    info = format_info(format)
    assert info is not None
    pitch = 2 * SIZE * info.block_bits // 8 // info.block_width
    fields: dict[str, int] = dict.fromkeys(FACES, 1) if cube else {}
    if tiling is Tiling.X:
        fields["tile_walk"] = TileWalk.XMAJOR
    words = block_named("SURFACE_STATE", GEN).pack(
        GEN, surface_type=SurfaceType.SURFTYPE_CUBE if cube else SurfaceType.SURFTYPE_2D, surface_format=format,
        width=SIZE, height=SIZE, mip_count_or_lod=levels - 1, surface_base_address=TEXTURE,
        surface_pitch=max(pitch, 512), tiled_surface=tiling is not Tiling.LINEAR, **fields)
    memory.write(SURFACE, np.array(words, np.uint32).tobytes())
    memory.write(TABLE, np.array([SURFACE], np.uint32).tobytes())
    memory.write(TEXTURE, np.random.default_rng(1).integers(0, 256, 1 << 22, np.uint8).tobytes())


def sampler(memory: Memory, filter: MapFilter, mip: MipFilter, mode: TextureCoordinateMode) -> None:
    words = block_named("SAMPLER_STATE", GEN).pack(
        GEN, lod_preclamp_enable=1, min_mode_filter=filter, mag_mode_filter=filter, mip_mode_filter=mip, max_lod=13.0,
        tcx_address_control_mode=mode, tcy_address_control_mode=mode, tcz_address_control_mode=mode,
        maximum_anisotropy=4, u_address_mag_filter_rounding_enable=1, u_address_min_filter_rounding_enable=1,
        v_address_mag_filter_rounding_enable=1, v_address_min_filter_rounding_enable=1)
    memory.write(SAMPLER, np.array(words, np.uint32).tobytes())


def payload(probe: Probe, texels_per_pixel: float, cube: bool) -> None:
    lane = np.arange(16)
    x = (lane // 4 % 2) * 2 + lane % 2
    y = lane // 8 * 2 + lane // 2 % 2
    for t in range(THREADS):
        u = (37.3 + (x + 4 * (t % 4)) * texels_per_pixel) / SIZE
        v = (91.6 + (y + 4 * (t // 4)) * texels_per_pixel * 0.9) / SIZE
        probe.mrf(1, t)[:] = [0, 0, 0, SAMPLER, 0, 0, 0, 0]
        coordinates = [np.ones(16), 2 * v - 1, 2 * u - 1] if cube else [u, v]
        for i, values in enumerate(np.reshape(coordinates, (-1, 8))):
            probe.mrf(2 + i, t)[:] = values.astype(np.float32).view(np.uint32)


def rate(probe: Probe, memory: Memory, descriptor: int, texels_per_pixel: float) -> float:
    send = f"send(16) 1 g20<1>UD null<8,8,1>UD 0x{descriptor:08x}UD {{ align1 }};\n"
    probe.start(THREADS, binding_table=TABLE)
    probe.load(send * MESSAGES + probe.end)
    best, finish = 0.0, time.perf_counter() + SECONDS
    while time.perf_counter() < finish:
        probe.start(THREADS, binding_table=TABLE)
        payload(probe, texels_per_pixel, descriptor == SAMPLE_UVR)
        start = time.thread_time()  # not of other programs that share the machine
        probe.run_to_end()
        best = max(best, MESSAGES * THREADS * 16 / (time.thread_time() - start) / 1e6)
    return best


F, L, N, A = SurfaceFormat, MapFilter.LINEAR, MapFilter.NEAREST, MapFilter.ANISOTROPIC
CASES = [
    # format, filter, mip filter, texels per pixel, levels, tiling
    ("RGBA8 nearest", F.R8G8B8A8_UNORM, N, MipFilter.NONE, 0.7, 1, Tiling.X),
    ("RGBA8 sRGB nearest", F.R8G8B8A8_UNORM_SRGB, N, MipFilter.NONE, 0.7, 1, Tiling.X),
    ("L8 nearest", F.L8_UNORM, N, MipFilter.NONE, 0.7, 1, Tiling.X),
    ("B5G6R5 nearest", F.B5G6R5_UNORM, N, MipFilter.NONE, 0.7, 1, Tiling.X),
    ("RGBA16F nearest", F.R16G16B16A16_FLOAT, N, MipFilter.NONE, 0.7, 1, Tiling.X),
    ("BC1 nearest", F.BC1_UNORM, N, MipFilter.NONE, 0.7, 1, Tiling.LINEAR),
    ("RGBA8 bilinear", F.R8G8B8A8_UNORM, L, MipFilter.NONE, 0.7, 1, Tiling.X),
    ("RGBA8 bilinear, linear memory", F.R8G8B8A8_UNORM, L, MipFilter.NONE, 0.7, 1, Tiling.LINEAR),
    ("BGRX8 bilinear", F.B8G8R8X8_UNORM, L, MipFilter.NONE, 0.7, 1, Tiling.X),
    ("RGBA8 sRGB bilinear", F.R8G8B8A8_UNORM_SRGB, L, MipFilter.NONE, 0.7, 1, Tiling.X),
    ("L8 bilinear", F.L8_UNORM, L, MipFilter.NONE, 0.7, 1, Tiling.X),
    ("B5G6R5 bilinear", F.B5G6R5_UNORM, L, MipFilter.NONE, 0.7, 1, Tiling.X),
    ("RGBA16F bilinear", F.R16G16B16A16_FLOAT, L, MipFilter.NONE, 0.7, 1, Tiling.X),
    ("RGBA8 bilinear, nearest mip", F.R8G8B8A8_UNORM, L, MipFilter.NEAREST, 1.7, 8, Tiling.X),
    ("RGBA8 trilinear", F.R8G8B8A8_UNORM, L, MipFilter.LINEAR, 1.7, 8, Tiling.X),
    ("RGBA8 anisotropic", F.R8G8B8A8_UNORM, A, MipFilter.LINEAR, 1.7, 8, Tiling.X),
    ("BC1 bilinear", F.BC1_UNORM, L, MipFilter.NONE, 0.7, 1, Tiling.LINEAR),
    ("BC3 bilinear", F.BC3_UNORM, L, MipFilter.NONE, 0.7, 1, Tiling.LINEAR),
    ("BC3 trilinear", F.BC3_UNORM, L, MipFilter.LINEAR, 1.7, 6, Tiling.LINEAR),
    ("BC3 anisotropic", F.BC3_UNORM, A, MipFilter.LINEAR, 1.7, 6, Tiling.LINEAR),
]
CUBES = [
    # format, filter, tiling
    ("cube, RGBA8 nearest", F.R8G8B8A8_UNORM, N, Tiling.X),
    ("cube, RGBA8 bilinear", F.R8G8B8A8_UNORM, L, Tiling.X),
    ("cube, BC1 nearest", F.BC1_UNORM, N, Tiling.LINEAR),
    ("cube, BC1 bilinear", F.BC1_UNORM, L, Tiling.LINEAR),
    ("cube, BC3 bilinear", F.BC3_UNORM, L, Tiling.LINEAR),
]


def main() -> None:
    variants = VARIANTS[: lib.g4_variant_best() + 1]
    memory = Memory()
    probe = Probe(GEN, memory, watchdog=1000)
    print(f"{'million lookups/s':34}" + "".join(f"{name:>9}" for name in variants))

    def row(name: str, descriptor: int, texels_per_pixel: float) -> None:
        values = []
        for variant in range(len(variants)):
            lib.g4_set_variant(variant)
            values.append(rate(probe, memory, descriptor, texels_per_pixel))
        print(f"{name:34}" + "".join(f"{value:9.1f}" for value in values), flush=True)

    row("null message", 0x00500000, 1.0)
    for name, format, filter, mip, texels_per_pixel, levels, tiling in CASES:
        texture(memory, format, levels, tiling)
        sampler(memory, filter, mip, TextureCoordinateMode.WRAP)
        row(name, SAMPLE_UV, texels_per_pixel)
    for name, format, filter, tiling in CUBES:
        texture(memory, format, 1, tiling, cube=True)
        sampler(memory, filter, MipFilter.NONE, TextureCoordinateMode.CLAMP)
        row(name, SAMPLE_UVR, 0.7)


if __name__ == "__main__":
    main()
