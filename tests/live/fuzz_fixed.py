"""Compares pictures of random state of OpenGL's fixed functions with those of software renderers.

    python tests/live/fuzz_fixed.py --device ivb --count 300 --seed 1

Prints the seeds whose pictures differ from those of llvmpipe and of softpipe by more than rounding: the number of
pixels of color, stencil and depth and of numbers that differ, and a small set of features that is enough for that.
With `--against`, the other renderer is another device.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gen4emu.device.options import Options
from gen4emu.hw.chips import BY_NAME
from gen4emu.live.server import Server
from tests.live.fixed_pictures import Painter, differs_from_all, features, mask, needed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="ivb")
    parser.add_argument("--against", help="another device instead of the software renderers")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--without", action="append", default=[], choices=features(), metavar="FEATURE")
    options = parser.parse_args()
    chosen, found = mask(*options.without), 0
    with ExitStack() as stack:
        def of_device(name: str) -> Painter:
            server = stack.enter_context(Server(BY_NAME[name], Options(workers=1)))
            return stack.enter_context(Painter(server.directory))

        one = of_device(options.device)
        others = ([of_device(options.against)] if options.against
                  else [stack.enter_context(Painter(name)) for name in ("llvmpipe", "softpipe")])
        for seed in range(options.seed, options.seed + options.count):
            differs = differs_from_all(seed, chosen, one, others)
            if differs:
                found += 1
                small = needed(seed, chosen, one, others)
                names = ", ".join(name for bit, name in enumerate(features()) if small >> bit & 1)
                print(f"seed {seed}: {tuple(differs)}; {small:x}: {names}", flush=True)
    print(f"{options.count} pictures, {found} differ")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
