"""Runs mutated scenes: state, kernels, surfaces, vertices and commands with random damage.

    python tests/device/fuzz_batches.py --count N [--seed S]

Nothing but the project's own errors may come out, and every run must end soon.  Run it on a core with sanitizers
(native/build.py --sanitize) to see more.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent.parent))

from gen4emu.device.device import Options
from gen4emu.device.memory import Missing
from gen4emu.errors import Gen4emuError
from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology
from tests.scene import BATCH, DEPTH, KERNELS, STATE, SURFACES, TARGET, VERTICES, Scene, vertex

SLOW_SECONDS = 20.0
REGIONS = {"state": (STATE, 0x700), "surfaces": (SURFACES, 0x404), "setup kernel": (KERNELS, 0x400),
           "pixel kernel": (KERNELS + 0x1000, 0x200), "batch": (BATCH, 0x180), "vertices": (VERTICES, 0x80)}
INTERESTING = (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F800000, 0x7FC00000, 0xFF800000, 0x3F800000, 0x00010000)


def scenes() -> list[Scene]:
    """What is mutated: both generations, with depth, clipping and a GS."""
    options = Options(workers=1, watchdog=1, max_batch_dwords=1 << 12)
    made = []
    for gen in (Gen.CTG, Gen.CL):
        for blocks in ({}, {"clip": {"guardband_clip_test_enable": True}}, {"cc": {
                "depth_test_enable": True, "depth_test_function": 2, "depth_buffer_write_enable": True,
                "stencil_test_enable": True, "color_buffer_blend_enable": True}}):
            scene = Scene(gen, 16, 16, options=options, depth_format=2, **blocks)
            scene.draw([vertex(1, 1), vertex(14, 2, 0.5), vertex(3, 13, 1.0)], PrimitiveTopology.TRILIST)
            made.append(scene)
    return made


def damage(rng: random.Random, data: bytearray) -> None:
    """One to six changed dwords, bits or bytes."""
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data) // 4) * 4
        kind = rng.randrange(4)
        if kind == 0:
            data[at:at + 4] = rng.choice(INTERESTING).to_bytes(4, "little")
        elif kind == 1:
            data[at + rng.randrange(4)] ^= 1 << rng.randrange(8)
        elif kind == 2:
            data[at:at + 4] = rng.randbytes(4)
        else:
            other = rng.randrange(len(data) // 4) * 4
            data[at:at + 4] = data[other:other + 4]


class Fuzzer:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.scenes = scenes()
        self.good = [{name: s.memory.read(at, size, Missing.ZERO) for name, (at, size) in REGIONS.items()}
                     for s in self.scenes]
        self.errors = 0

    def one(self) -> None:
        """Damage one scene, run it twice, mend it."""
        index = self.rng.randrange(len(self.scenes))
        scene = self.scenes[index]
        for name in self.rng.sample(list(REGIONS), self.rng.choice((1, 1, 1, 2, 3))):
            data = bytearray(self.good[index][name])
            damage(self.rng, data)
            scene.memory.write(REGIONS[name][0], bytes(data))
        started = time.monotonic()
        try:
            scene.device.run_batch(BATCH)
        except Gen4emuError:
            self.errors += 1
        took = time.monotonic() - started
        assert took < SLOW_SECONDS, f"a run took {took:.1f} s"
        for name, (at, _) in REGIONS.items():
            scene.memory.write(at, self.good[index][name])
        if self.rng.randrange(64) == 0:
            scene.memory.write(TARGET, bytes(0x4000))
            scene.memory.write(DEPTH, bytes(0x1000))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    fuzzer = Fuzzer(args.seed)
    started = time.monotonic()
    for i in range(args.count):
        fuzzer.one()
        if (i + 1) % 10000 == 0:
            print(f"{i + 1} runs, {fuzzer.errors} with an error, {time.monotonic() - started:.0f} s", flush=True)
    print(f"{args.count} runs, {fuzzer.errors} ended with an error, {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
