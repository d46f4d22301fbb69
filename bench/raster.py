"""How fast the rasterizer is: coverage of large triangles, number of small ones.

    python bench/raster.py

Processor time of one core; setup is not part of it.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.harness.setup import Bench

SIZE = 1024
SECONDS = 0.5


def measure(bench: Bench) -> tuple[float, float]:
    """Repetitions and pixels a second."""
    repeat = 1
    while True:
        start = time.process_time()
        pixels = bench.count(repeat)
        spent = time.process_time() - start
        if spent > SECONDS:
            return repeat / spent, pixels / spent
        repeat *= 2


def small_triangles(count: int) -> list[tuple[float, float]]:
    dice = random.Random(1)
    vertices = []
    for _ in range(count):
        x, y = dice.uniform(0, SIZE - 4), dice.uniform(0, SIZE - 4)
        vertices += [(x, y), (x + dice.uniform(1, 4), y + dice.uniform(0, 1)),
                     (x + dice.uniform(0, 1), y + dice.uniform(1, 4))]
    return vertices


def main() -> None:
    bench = Bench(width=SIZE, height=SIZE)
    bench.primitive([(0, 0), (SIZE, 100), (30, SIZE - 24)])
    print(f"large triangles: {measure(bench)[1] / 1e6:8.0f} M pixels/s")
    count = 2000
    bench.primitive(small_triangles(count))
    repetitions, pixels = measure(bench)
    size = pixels / repetitions / count
    print(f"small triangles: {repetitions * count / 1e6:8.1f} M triangles/s of {size:.1f} pixels")


if __name__ == "__main__":
    main()
