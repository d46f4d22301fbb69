"""How fast captures are executed: milliseconds a replay, EU instructions and channels a second, shares of the phases.

    python bench/replay.py [-n REPEATS] [-j WORKERS] [TRACE ...]
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

from gen4emu.device.device import Device
from gen4emu.device.options import Options
from gen4emu.hw.chips import BY_PCI_ID
from gen4emu.trace import events
from gen4emu.trace.reader import open as open_trace

TRACES = Path(__file__).parent.parent / "traces"


def measure(path: Path, repeats: int, workers: int) -> str:
    stream = list(open_trace(str(path)))
    header = next(e for e in stream if isinstance(e, events.Header))
    info = BY_PCI_ID[header.pci_id or 0]
    whole: list[float] = []
    inside: dict[str, int] = {}
    for _ in range(repeats):
        with Device(info, Options(workers=workers)) as device:
            seconds = 0.0
            for event in stream:  # in order: later writes reuse the ring and the buffers of earlier submissions
                if isinstance(event, events.Submission):
                    started = time.perf_counter()
                    device.submit(event)
                    seconds += time.perf_counter() - started
                else:
                    device.apply(event)
            whole.append(seconds)
            inside = device.counts()
    best = min(whole)
    geometry, raster = inside["geometry_ns"] / 1e9, inside["raster_ns"] / 1e9
    rest = max(0.0, whole[-1] - geometry - raster)
    return (f"{path.name.partition('.')[0]:20s} {1e3 * best:8.2f} {1e3 * statistics.median(whole):8.2f} "
            f"{inside['draws']:6d} {inside['objects']:8d} {inside['instructions'] / 1e6:9.2f} "
            f"{inside['instructions'] / 1e6 / best:8.1f} {inside['channel_ops'] / 1e9 / best:7.2f} "
            f"{geometry / whole[-1]:6.0%} {raster / whole[-1]:6.0%} {rest / whole[-1]:6.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--repeats", type=int, default=5)
    parser.add_argument("-j", "--workers", type=int, default=1)
    parser.add_argument("traces", nargs="*", type=Path)
    args = parser.parse_args()
    print(f"{'trace':20s} {'best ms':>8s} {'median':>8s} {'draws':>6s} {'objects':>8s} {'M instr':>9s} {'M/s':>8s} "
          f"{'Gch/s':>7s} {'geom':>6s} {'raster':>6s} {'rest':>6s}   workers={args.workers}")
    for path in args.traces or sorted(TRACES.glob("*.aub.xz")):
        print(measure(path, args.repeats, args.workers), flush=True)


if __name__ == "__main__":
    main()
