"""How fast glmark2 runs: `python bench/glmark2.py [--frames N] [--rounds N] [--device NAME] [SCENE ...]`.

Every scene of glmark2 2023.01, off-screen at 1024x768, on gen4emu and on llvmpipe in turn: medians of milliseconds per
frame, as glmark2 measures them and of all processors, and their quotients; at the end the geometric means of the
quotients.  Wants the packages that tests marked `client` want, and glmark2-es2-drm.  GEN4EMU_VARIANT=avx2 measures what
hosts without AVX-512 do.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gen4emu._native import lib
from gen4emu.device.options import Options
from gen4emu.hw.chips import device_named
from gen4emu.live.server import Server
from tests.live import real_client

PROGRAM = "glmark2-es2-drm"
SIZE = "1024x768"
VARIANTS = ("plain", "avx2", "avx512")
SCENES = ("build", "texture", "shading", "bump", "effect2d", "pulsar", "desktop", "buffer", "ideas", "jellyfish",
          "terrain", "shadow", "refract", "conditionals", "function", "loop")

_FRAME_TIME = re.compile(r"FrameTime: +([0-9.]+) ms")


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds of a frame."""

    elapsed: float
    processors: float


def processor_seconds() -> float:
    """Of this process, which is the server, and of the programs it has run."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def run(scene: str, frames: int, environment: dict[str, str]) -> tuple[float, float]:
    """Milliseconds of one frame, and processor seconds of all frames with the start."""
    before = processor_seconds()
    done = subprocess.run([PROGRAM, "--off-screen", "-b", f"{scene}:nframes={frames}:duration=600"], check=True,
                          text=True, env=environment, capture_output=True)
    found = _FRAME_TIME.search(done.stdout)
    if found is None:
        raise ValueError(f"no frame time in the output of {PROGRAM}: {done.stdout}")
    return float(found[1]), processor_seconds() - before


def measure(scene: str, frames: int, environment: dict[str, str]) -> Cost:
    """The start of the program does not count.  If it hides the frames, more of them are drawn."""
    _, short = run(scene, 1, environment)
    elapsed, long = run(scene, 1 + frames, environment)
    if long <= short:
        return measure(scene, 2 * frames, environment)
    return Cost(elapsed, 1000 * (long - short) / frames)


def geometric_mean(numbers: list[float]) -> float:
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="ascii").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown processor"


def main() -> None:
    parser = argparse.ArgumentParser(description="glmark2: gen4emu and llvmpipe.")
    parser.add_argument("--frames", type=int, default=20, help="frames of each measurement")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of which to take the median")
    parser.add_argument("--device", default="g45")
    parser.add_argument("scenes", nargs="*", default=list(SCENES))
    options = parser.parse_args()
    part = device_named(options.device)
    if real_client.missing() or part is None:
        sys.exit(real_client.missing() or f"no device {options.device}")
    if shutil.which(PROGRAM) is None:
        sys.exit(f"{PROGRAM} is not installed")
    unknown = [scene for scene in options.scenes if scene not in SCENES]
    if unknown:
        parser.error(f"unknown scene {unknown[0]!r} (known: {', '.join(SCENES)})")
    load = os.getloadavg()[0]
    print(f"# {processor()}, {os.cpu_count()} processors, load {load:.1f}, {VARIANTS[lib.g4_variant_current()]}")
    print(f"{'ms per frame':14}{'gen4emu':>10}{'llvmpipe':>10}{'/ llvmpipe':>12}"
          f"{'gen4emu, CPU':>14}{'llvmpipe, CPU':>15}{'/ llvmpipe':>12}", flush=True)
    quotients: tuple[list[float], list[float]] = ([], [])
    for scene in options.scenes:
        with Server(part, Options()) as server:
            ours = real_client.on_server(server.directory) | {"GEN4EMU_MODE": SIZE}
            # Both have the shim's display; llvmpipe draws to dumb buffers.
            theirs = ours | {"MESA_LOADER_DRIVER_OVERRIDE": "kms_swrast", "GALLIUM_DRIVER": "llvmpipe"}
            pairs = [(measure(scene, options.frames, ours), measure(scene, options.frames, theirs))
                     for _ in range(options.rounds)]
        elapsed = [median(pair[i].elapsed for pair in pairs) for i in range(2)]
        processors = [median(pair[i].processors for pair in pairs) for i in range(2)]
        quotients[0].append(elapsed[0] / elapsed[1])
        quotients[1].append(processors[0] / processors[1])
        print(f"{scene:14}{elapsed[0]:10.2f}{elapsed[1]:10.2f}{quotients[0][-1]:12.2f}"
              f"{processors[0]:14.2f}{processors[1]:15.2f}{quotients[1][-1]:12.2f}", flush=True)
    means = [geometric_mean(numbers) for numbers in quotients]
    print(f"{'geometric mean':14}{'-':>10}{'-':>10}{means[0]:12.2f}{'-':>14}{'-':>15}{means[1]:12.2f}")


if __name__ == "__main__":
    main()
