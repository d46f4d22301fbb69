"""How fast OpenCL kernels run: `python bench/opencl.py [--device NAME] [KERNEL ...]`.

The kernels of tests/live/clients/kernels.c on Intel's unmodified driver, captured and executed again with one worker:
milliseconds of processor time per launch, without the program and its driver, for each vector variant.  The figure is
the best of several launches after the first one, which runs with cold caches and translates the kernel.  Needs the
packages of tests/live/test_opencl.py.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gen4emu._native import lib
from gen4emu.device.device import Device
from gen4emu.device.options import Options
from gen4emu.hw.chips import Device as Chip
from gen4emu.hw.chips import device_named
from gen4emu.trace import events
from gen4emu.trace.reader import open as open_trace
from tests.live import opencl_client

VARIANTS = ("plain", "avx2", "avx512")


def capture(kernel: str, device: str, path: Path) -> None:
    """Record the launches of a kernel, and check its results."""
    command = [sys.executable, "-m", "gen4emu", "capture", "-q", "--device", device, "-o", str(path), "--",
               opencl_client.program("kernels"), kernel]
    done = subprocess.run(command, env=opencl_client.environment(), check=True, text=True, stdout=subprocess.PIPE)
    if not done.stdout.rstrip().endswith(": right"):
        raise ValueError(f"kernel {kernel}: {done.stdout.rstrip()}")


def execute(stream: list[events.Event], chip: Chip) -> float:
    """Processor time of the fastest launch except the first, in milliseconds; other submissions take almost no time."""
    times = []
    with Device(chip, Options(workers=1), finds_targets=False) as device:
        for event in stream:
            if isinstance(event, events.Submission):
                began = time.thread_time()
                device.submit(event)
                times.append(1e3 * (time.thread_time() - began))
            else:
                device.apply(event)
    launches = [each for each in times[1:] if each > max(times[1:]) / 4]
    return min(launches)


def main() -> None:
    parser = argparse.ArgumentParser(description="OpenCL kernels: processor time of a launch.")
    parser.add_argument("--device", default="kbl")
    parser.add_argument("--rounds", type=int, default=3, help="executions, of which the best one counts")
    parser.add_argument("kernels", nargs="*", default=list(opencl_client.KERNELS))
    options = parser.parse_args()
    chip = device_named(options.device)
    if chip is None:
        sys.exit(f"no device {options.device}")
    if opencl_client.missing():
        print(f"# Not measured: {opencl_client.missing()}.")
        return
    variants = VARIANTS[:lib.g4_variant_best() + 1]
    print(f"{'ms per launch':16}" + "".join(f"{name:>10}" for name in variants))
    with tempfile.TemporaryDirectory() as folder:
        for kernel in options.kernels:
            path = Path(folder) / f"{kernel}.g4c"
            capture(kernel, options.device, path)
            stream = list(open_trace(path))
            best = []
            for number in range(len(variants)):
                lib.g4_set_variant(number)
                best.append(min(execute(stream, chip) for _ in range(options.rounds)))
            print(f"{kernel:16}" + "".join(f"{each:10.3f}" for each in best), flush=True)


if __name__ == "__main__":
    main()
