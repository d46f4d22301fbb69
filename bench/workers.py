"""The speed-up by a second worker: `python bench/workers.py [--size N] [--device NAME] [--apart] [SCENE ...]`.

Scenes of tests/live/programs are captured, then executed again with one worker and with two, in turn: milliseconds per
frame without the program and its driver, and their quotient.  The first third of the frames is left out, in which
the system provides memory.  `draws` says how many draws a frame has, `joined` how many of them were drawn together with
the one before; --apart draws each by itself.  The last columns are processor time, for a machine that is not idle: of
one worker, of two, and of the one of these that also reads the commands.
Wants the packages that tests marked `client` want.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.live import parse
from gen4emu._native import ffi, lib
from gen4emu.device.device import Device
from gen4emu.device.options import Options
from gen4emu.hw.chips import Device as Chip
from gen4emu.live.recorder import watch_capture
from gen4emu.live.server import Server
from gen4emu.trace import events
from gen4emu.trace.reader import open as open_trace
from tests.live import real_client

SCENES = ["game", "fill", "mandelbrot", "march", "grid-125k", "gears", "draws-500"]
FRAMES = 12


@dataclass(frozen=True, slots=True)
class Execution:
    milliseconds: float  # of a frame
    processors: float  # milliseconds of all threads
    caller: float  # of the calling thread
    draws: int
    joined: int


def capture(scene: str, chip: Chip, size: int) -> list[events.Event]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "scene.aub")
        with Server(chip, Options()) as server:
            watch_capture(server, path)
            subprocess.run([real_client.scenes("gl"), scene, "-", str(size), str(FRAMES)], check=True,
                           env=real_client.on_server(server.directory), stdout=subprocess.DEVNULL)
        return list(open_trace(str(path)))


def execute(stream: Sequence[events.Event], chip: Chip, options: Options) -> Execution:
    times: list[list[float]] = []
    clocks = (time.perf_counter, time.process_time, time.thread_time)
    with Device(chip, options, finds_targets=False) as device:
        for event in stream:
            if isinstance(event, events.Submission):
                start = [clock() for clock in clocks]
                device.submit(event)
                times.append([clock() - begin for clock, begin in zip(clocks, start, strict=True)])
            else:
                device.apply(event)
        counts = ffi.new("struct g4_device_counts *")
        lib.g4_device_counts(device.native, counts)
        later = times[len(times) // 3:]
        frames = FRAMES * len(later) / len(times)
        elapsed, processors, caller = (1e3 * sum(seconds) / frames for seconds in zip(*later, strict=True))
        return Execution(elapsed, processors, caller, int(counts.draws) // FRAMES, int(counts.joined) // FRAMES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="the median of so many counts")
    parser.add_argument("--apart", action="store_true")
    options, chip = parse(parser, SCENES)
    names = ("draws", "joined", "one worker", "two", "quotient", "CPU, one", "CPU, two", "caller")
    print(f"{'ms per frame':14}" + "".join(f"{name:>13}" for name in names))
    for scene in options.scenes:
        stream = capture(scene, chip, options.size)
        pairs = [[execute(stream, chip, Options(workers=workers, draws_apart=options.apart)) for workers in (1, 2)]
                 for _ in range(options.rounds)]
        second = pairs[0][1]  # one worker joins fewer draws
        one, two = (statistics.median(pair[i].milliseconds for pair in pairs) for i in (0, 1))
        cpu = (min(pair[0].processors for pair in pairs), min(pair[1].processors for pair in pairs),
               min(pair[1].caller for pair in pairs))
        print(f"{scene:14}{second.draws:13}{second.joined:13}{one:13.2f}{two:13.2f}{one / two:13.2f}"
              + "".join(f"{milliseconds:13.2f}" for milliseconds in cpu), flush=True)


if __name__ == "__main__":
    main()
