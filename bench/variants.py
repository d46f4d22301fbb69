"""Shader-bound scenes with each vector variant: `python bench/variants.py [--size N] [--device NAME] [SCENE ...]`.

Scenes of tests/live/programs are captured, then executed again with one worker and each variant, in turn: milliseconds
per frame without the program and its driver, and how much longer AVX2 takes than AVX-512.
Wants the packages that tests marked `client` want.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.live import parse
from bench.workers import capture, execute
from gen4emu._native import lib
from gen4emu.device.options import Options

SCENES = ["mandelbrot", "march"]
VARIANTS = ("plain", "avx2", "avx512")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="the median of so many counts")
    options, chip = parse(parser, SCENES)
    variants = VARIANTS[:int(lib.g4_variant_best()) + 1]
    last = f"{variants[1]} / {variants[-1]}" if len(variants) > 1 else ""
    print(f"{'ms per frame':14}" + "".join(f"{name:>15}" for name in (*variants, last)))
    for scene in options.scenes:
        stream = capture(scene, chip, options.size)
        times: list[list[float]] = [[] for _ in variants]
        for _ in range(options.rounds):
            for variant in range(len(variants)):
                lib.g4_set_variant(variant)
                times[variant].append(execute(stream, chip, Options(workers=1)).milliseconds)
        medians = [statistics.median(each) for each in times]
        quotient = [medians[1] / medians[-1]] if last else []
        print(f"{scene:14}" + "".join(f"{value:15.2f}" for value in (*medians, *quotient)), flush=True)


if __name__ == "__main__":
    main()
