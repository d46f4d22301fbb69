"""How fast real programs run: `python bench/live.py [--size N] [--frames N] [--device NAME] [SCENE ...]`.

Each scene of tests/live/programs under `gen4emu run`, llvmpipe and softpipe, in turn, in the same run: milliseconds per
frame, our time as a multiple of each of theirs, and the first frame with its multiple of the others, ours and
llvmpipe's: the same work with kernels, textures and state that are new, the compiler of the driver included.  Wants the
packages that tests marked `client` want.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gen4emu.device.options import Options
from gen4emu.hw.chips import device_named
from gen4emu.live.server import Server
from tests.live import real_client

SCENES = {"fill": "16 layers of blended texture", "mandelbrot": "shader loops", "march": "ray march",
          "grid-125k": "125,000 triangles", "gears": "gears", "draws-500": "500 small draws"}


def milliseconds(scene: str, size: int, frames: int, environment: dict[str, str]) -> tuple[float, float]:
    """Of the first frame, and of one of the others."""
    done = subprocess.run([real_client.scenes("gl"), scene, "-", str(size), str(frames)], check=True, text=True,
                          env=environment, stdout=subprocess.PIPE)
    words = done.stdout.split()
    return float(words[-5]), float(words[-2])


def main() -> None:
    parser = argparse.ArgumentParser(description="Real programs: gen4emu, llvmpipe, softpipe.")
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--frames", type=int, default=10)
    parser.add_argument("--device", default="g45")
    parser.add_argument("--rounds", type=int, default=2, help="the best of so many counts")
    parser.add_argument("scenes", nargs="*", default=list(SCENES))
    options = parser.parse_args()
    part = device_named(options.device)
    if real_client.missing() or part is None:
        sys.exit(real_client.missing() or f"no device {options.device}")
    software = {name: real_client.environment(LIBGL_ALWAYS_SOFTWARE="1", GALLIUM_DRIVER=name)
                for name in ("llvmpipe", "softpipe")}
    print(f"{'ms per frame':14}{'gen4emu':>10}{'llvmpipe':>10}{'softpipe':>10}{'/ llvmpipe':>12}{'/ softpipe':>12}"
          f"{'first frame':>13}{'/ others':>10}{'first, llvmpipe':>17}{'/ others':>10}")
    for scene in options.scenes:
        with Server(part, Options()) as server:
            places = {"gen4emu": real_client.on_server(server.directory)} | software
            times = {name: [milliseconds(scene, options.size, options.frames, place) for _ in range(options.rounds)]
                     for name, place in places.items()}
        best = {name: min(other for _, other in found) for name, found in times.items()}
        ours = best["gen4emu"]
        first = {name: found[0][0] for name, found in times.items()}  # later rounds find the server's caches filled
        print(f"{scene:14}" + "".join(f"{best[name]:10.2f}" for name in places)
              + f"{ours / best['llvmpipe']:12.2f}{ours / best['softpipe']:12.2f}"
              + "".join(f"{first[name]:{width}.2f}{first[name] / best[name]:10.2f}"
                        for name, width in (("gen4emu", 13), ("llvmpipe", 17))),
              flush=True)


if __name__ == "__main__":
    main()
