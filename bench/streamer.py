"""The cost of the command streamer: microseconds for each command, and for a whole 3DPRIMITIVE.

    python bench/streamer.py [-n COMMANDS]

The core executes state commands in runs, and primitives too unless something observes each draw, as the search for
render targets does.  A primitive's share of drawing, with nothing to draw in it, is measured by itself and taken off.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gen4emu._native import ffi, lib
from gen4emu.hw.catalogue import command_named
from gen4emu.hw.topology import PrimitiveTopology
from tests.harness.scene import Scene, vertex

COMMANDS = ("MI_NOOP", "MI_FLUSH", "PIPE_CONTROL", "3DSTATE_PIPELINED_POINTERS", "3DSTATE_BINDING_TABLE_POINTERS",
            "3DSTATE_DRAWING_RECTANGLE", "URB_FENCE", "CS_URB_STATE")
REPEATS = 3


def seconds(scene: Scene, batch: bytes, state: bytes) -> float:
    best = 1e9
    for _ in range(REPEATS):
        scene.run(state)
        start = time.process_time()
        scene.run(batch)
        best = min(best, time.process_time() - start)
    return best


def native(scene: Scene, primitive: bytes, count: int) -> float:
    device = scene.device
    fault = ffi.new("struct g4_fault *")
    words = ffi.from_buffer("uint32_t[]", primitive)
    start = time.process_time()
    for _ in range(count):
        lib.g4_device_draw(device.native, words, fault)
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--commands", type=int, default=10_000)
    count = parser.parse_args().commands
    scene = Scene()
    corner = vertex(-9.0, -9.0)
    state = scene.prepare([corner, corner, corner])
    print(f"{'us each':34}{'command':>8}{'draw':>8}")
    for name in COMMANDS:
        words = command_named(name, scene.gen).pack(scene.gen)
        batch = b"".join(word.to_bytes(4, "little") for word in words) * count
        print(f"{name:34}{1e6 * seconds(scene, batch, state) / count:8.2f}", flush=True)
    primitive = scene.primitive(PrimitiveTopology.TRILIST, 3)
    for observed in (False, True):
        scene.device._finds_targets = observed
        whole = seconds(scene, primitive * count, state)
        core = native(scene, primitive, count)
        name = "3DPRIMITIVE, observed" if observed else "3DPRIMITIVE"
        print(f"{name:34}{1e6 * max(0, whole - core) / count:8.2f}{1e6 * core / count:8.2f}")


if __name__ == "__main__":
    main()
