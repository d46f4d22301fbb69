"""How fast MPEG-2 is decoded on the emulated media pipeline: pictures a second, and where the time goes.

    python bench/media.py [-n REPEATS] [TRACE ...]

Traces are captures of the VA driver.  Without, those of the repository, whose pictures have 128x96 pixels; figures for
352x288 and 720x576 are worked out from the time of a macroblock, and real ones come from captures of that size.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from gen4emu.device.device import Device
from gen4emu.device.options import Options
from gen4emu.hw.chips import BY_PCI_ID
from gen4emu.trace import events
from gen4emu.trace.reader import open as open_trace

TRACES = Path(__file__).parent.parent / "traces"
DEFAULT = ("mpeg2-g4x", "interlaced-g4x")
SIZES = {"352x288": 396, "720x576": 1620}  # macroblocks


def measure(path: Path, repeats: int) -> str:
    stream = list(open_trace(str(path)))
    header = next(e for e in stream if isinstance(e, events.Header))
    best, counts = float("inf"), {}
    for _ in range(repeats):
        with Device(BY_PCI_ID[header.pci_id or 0], Options(workers=1)) as device:
            seconds = 0.0
            for event in stream:
                started = time.process_time()  # one core's time: the machine may have other things to do
                device.apply(event)
                if isinstance(event, events.Submission):
                    seconds += time.process_time() - started
            counts = device.counts()
        best = min(best, seconds)
    pictures = sum(isinstance(e, events.Submission) for e in stream)
    macroblock = best / counts["media_macroblocks"]
    threads = counts["media_thread_ns"] / max(1, counts["media_ns"])
    rates = " ".join(f"{1 / (macroblock * n):8.1f}" for n in SIZES.values())
    return (f"{path.name.partition('.')[0]:20s} {pictures:8d} {counts['media_macroblocks']:8d} "
            f"{counts['instructions'] / counts['media_macroblocks']:8.0f} {1e6 * macroblock:8.1f} "
            f"{pictures / best:8.1f} {rates} {threads:8.0%} {1 - threads:8.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--repeats", type=int, default=5)
    parser.add_argument("traces", nargs="*", type=Path)
    args = parser.parse_args()
    print(f"{'trace':20s} {'pictures':>8s} {'macrobl.':>8s} {'instr/mb':>8s} {'us/mb':>8s} {'pict/s':>8s} "
          + " ".join(f"{name:>8s}" for name in SIZES) + f" {'threads':>8s} {'VFE, TS':>8s}")
    for path in args.traces or [TRACES / f"{name}.aub.xz" for name in DEFAULT]:
        print(measure(path, args.repeats), flush=True)


if __name__ == "__main__":
    main()
