"""How fast rectangles move between tiled memory and rows of pixels, for each tiling and each vector variant.

    python bench/tiling.py

GB/s of pixels, for a surface that stays in the cache and for one that does not; memcpy is what the machine can do.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from gen4emu._native import ffi, lib
from gen4emu.device.memory import Memory
from gen4emu.device.tiling import SurfaceLayout, Swizzle, Tiling

SIZES = {"256 KiB": (1024, 256), "16 MiB": (8192, 2048)}  # pitch in bytes, rows
VARIANTS = ["plain", "avx2", "avx512"]
SECONDS = 0.15


def rate(size: int, work: Callable[[], object]) -> float:
    """GB/s: the best of many runs, since other programs share the machine."""
    best, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return size / best / 1e9


def row(name: str, values: list[float]) -> None:
    print(f"{name:34}" + "".join(f"{value:9.1f}" for value in values))


def main() -> None:
    variants = VARIANTS[: lib.g4_variant_best() + 1]
    for title, (pitch, rows) in SIZES.items():
        size = pitch * rows
        source, target = ffi.from_buffer(bytearray(size)), ffi.from_buffer(bytearray(size))
        print(f"{title + ', GB/s':34}" + "".join(f"{name:>9}" for name in variants))
        copy = rate(size, lambda s=source, t=target, n=size: ffi.memmove(t, s, n))
        row("memcpy", [copy] * len(variants))
        for tiling in Tiling:
            for swizzle in (Swizzle.NONE, Swizzle.BIT_9_10):
                if tiling is Tiling.LINEAR and swizzle is not Swizzle.NONE:
                    continue
                with Memory() as memory:
                    layout = SurfaceLayout(0, pitch, pitch, rows, 1, tiling, swizzle)
                    layout.write(memory, bytes(size))
                    native, whole = layout._native(), layout._rectangle(0, 0, None, None)
                    reads, writes = [], []
                    for variant in range(len(variants)):
                        lib.g4_set_variant(variant)
                        reads.append(rate(size, lambda n=native, w=whole, p=memory.port, t=target, s=size, x=pitch:
                                          lib.g4_surface_read(p, n, w, t, s, x)))
                        writes.append(rate(size, lambda n=native, w=whole, p=memory.port, t=target, s=size, x=pitch:
                                           lib.g4_surface_write(p, n, w, t, s, x)))
                name = f"{tiling.name}, swizzle {swizzle.name}"
                row(f"{name}: read", reads)
                row(f"{name}: write", writes)
        print()


if __name__ == "__main__":
    main()
