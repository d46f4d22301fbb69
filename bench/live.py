"""How fast real programs run: `python bench/live.py [--size N] [--frames N] [--device NAME] [SCENE ...]`.

Each scene of tests/live/programs under `gen4emu run`, llvmpipe and softpipe, in turn, in the same run: milliseconds per
frame, our time as a multiple of each of theirs.  Then the first frame, for which the server is new, too: the same work
with kernels, textures and state that are new.  Much of it is the driver's compiler, which runs in the process of the
program.  The columns `without driver` leave out the processor time that it needs beyond that of another frame.

A scene may have a size of its own, as in `triangle-64`.  Wants the packages that tests marked `client` want.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gen4emu.device.options import Options
from gen4emu.hw.chips import Device as Chip
from gen4emu.hw.chips import device_named
from gen4emu.live.server import Server
from tests.live import real_client

# Scenes of different kinds.  Those with a size of their own are small frames, drawn many times.
SCENES = ("fill", "mandelbrot", "march", "grid-125k", "grid", "gears", "draws-500", "game", "texture", "blend",
          "stencil", "fbo", "sprites", "cubemap", "volumes", "clear-64", "triangle-64", "clear-512", "triangle-512")
SMALL_FRAMES = 1000

_SIZED = re.compile(r"(clear|triangle)-(\d+)")
_TIMES = re.compile(r"first ([\d.]+) ms, others ([\d.]+) ms, processor ([\d.]+) ms, ([\d.]+) ms")


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds of the first frame and of one of the others: elapsed, and of the program's processor time."""

    first: float
    others: float
    first_process: float
    others_process: float

    def first_without_driver(self) -> float:
        return max(self.first - max(self.first_process - self.others_process, 0.0), 0.0)


def measure(scene: str, size: int, frames: int, environment: dict[str, str], runner: Sequence[str] = ()) -> Times:
    """Run a scene, by the command `runner`."""
    sized = _SIZED.fullmatch(scene)
    if sized:
        scene, size, frames = sized[1], int(sized[2]), SMALL_FRAMES
    command = [*runner, real_client.scenes("gl"), scene, "-", str(size), str(frames)]
    done = subprocess.run(command, check=True, text=True, env=environment, stdout=subprocess.PIPE)
    found = _TIMES.search(done.stdout)
    if found is None:
        raise ValueError(f"no times in the output of scene {scene}: {done.stdout}")
    return Times(*map(float, found.groups()))


def parse(parser: argparse.ArgumentParser, scenes: Sequence[str]) -> tuple[argparse.Namespace, Chip]:
    """The options that benchmarks of scenes have in common, and their device; exits if a client is missing."""
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--device", default="g45")
    parser.add_argument("scenes", nargs="*", default=list(scenes))
    options = parser.parse_args()
    chip = device_named(options.device)
    if real_client.missing() or chip is None:
        sys.exit(real_client.missing() or f"no device {options.device}")
    return options, chip


def main() -> None:
    parser = argparse.ArgumentParser(description="Real programs: gen4emu, llvmpipe, softpipe.")
    parser.add_argument("--frames", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=2, help="the best of so many counts, twice for gen4emu")
    options, chip = parse(parser, SCENES)
    software = {name: real_client.environment(LIBGL_ALWAYS_SOFTWARE="1", GALLIUM_DRIVER=name)
                for name in ("llvmpipe", "softpipe")}
    runner = [sys.executable, "-m", "gen4emu", "run", "--quiet", "--device", chip.name, "--"]
    print(f"{'ms per frame':14}{'gen4emu':>10}{'llvmpipe':>10}{'softpipe':>10}{'/ llvmpipe':>12}{'/ softpipe':>12}"
          f"{'first frame':>13}{'/ others':>10}{'without driver':>16}{'/ others':>10}{'first, llvmpipe':>17}"
          f"{'/ others':>10}")
    for scene in options.scenes:
        with Server(chip, Options()) as server:
            places = {"gen4emu": real_client.on_server(server.directory)} | software
            times = {name: [measure(scene, options.size, options.frames, place) for _ in range(options.rounds)]
                     for name, place in places.items()}
        best = {name: min(each.others for each in found) for name, found in times.items()}
        times["gen4emu"] = [measure(scene, options.size, options.frames, real_client.environment(), runner)
                            for _ in range(options.rounds)]
        first = {name: min(each.first for each in found) for name, found in times.items()}
        rest = min(each.first_without_driver() for each in times["gen4emu"])
        print(f"{scene:14}" + "".join(f"{best[name]:10.3f}" for name in places)
              + f"{best['gen4emu'] / best['llvmpipe']:12.2f}{best['gen4emu'] / best['softpipe']:12.2f}"
              + f"{first['gen4emu']:13.2f}{first['gen4emu'] / best['gen4emu']:10.2f}"
              + f"{rest:16.2f}{rest / best['gen4emu']:10.2f}"
              + f"{first['llvmpipe']:17.2f}{first['llvmpipe'] / best['llvmpipe']:10.2f}", flush=True)


if __name__ == "__main__":
    main()
