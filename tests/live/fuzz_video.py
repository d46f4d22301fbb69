"""Damaged MPEG-2 through ffmpeg and the unmodified VA driver on the emulated GPU.

    python tests/live/fuzz_video.py --count N [--first I] [--batch M]

Streams of random syntax with inverted bits, changed bytes and truncated ends; several in one file, because starting
programs takes longest.  Each stream depends on its number only.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from tests.live import real_client
from tests.media.mpeg2_random import random_stream, steps

SIZE = (64, 32)
STEPS = (steps("I0 P2t B1"), steps("I0t P1", dual_prime=True), steps("I0 P1b P2"))
LIMIT_SECONDS = 120
_STATS = re.compile(r"(\d+) batches, .* (\d+) hangs")


@dataclass
class Outcome:
    """The result of one file."""

    status: int
    seconds: float
    messages: list[str]  # of the emulator
    batches: int
    hangs: int
    complaints: int  # lines of ffmpeg


def damaged(number: int) -> bytes:
    """Damages mostly slices, sometimes also headers of pictures; at another size ffmpeg would reject the file."""
    rng = random.Random(f"damage-{number}")
    data = bytearray(random_stream(f"damaged-{number}", *SIZE, rng.choice(STEPS)).data)
    first = data.index(b"\0\0\1\0" if rng.random() < 0.1 else b"\0\0\1\1")  # picture or slice
    for _ in range(rng.choice((1, 2, 4, 16))):
        at = rng.randrange(first, len(data))
        data[at] = data[at] ^ 1 << rng.randrange(8) if rng.random() < 0.7 else rng.randrange(256)
    if rng.random() < 0.3:
        del data[rng.randrange(first, len(data)):]
    return bytes(data)


def decode(streams: list[bytes], directory: Path) -> Outcome:
    clip = directory / "damaged.m2v"
    clip.write_bytes(b"".join(streams))
    command = [sys.executable, "-m", "gen4emu.cli.main", "run", "--stats", "--device", "gm45", "--", "ffmpeg",
               "-hide_banner", "-nostats", "-loglevel", "error", "-y", "-hwaccel", "vaapi", "-hwaccel_device",
               "/dev/dri/renderD128", "-hwaccel_output_format", "vaapi", "-f", "mpegvideo", "-i", str(clip),
               "-fps_mode", "passthrough", "-f", "null", "-"]
    started = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=LIMIT_SECONDS,
                          check=False, env=real_client.environment(LIBVA_DRIVER_NAME="i965"))
    lines = done.stderr.splitlines()
    said = [line.removeprefix("gen4emu: ") for line in lines if line.startswith("gen4emu: ")]
    (stats,) = (m for line in lines if (m := _STATS.search(line)))
    return Outcome(done.returncode, time.monotonic() - started, said, int(stats[1]), int(stats[2]),
                   len(lines) - len(said))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--batch", type=int, default=20)
    options = parser.parse_args()
    ends, said = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as directory:
        for first in range(options.first, options.first + options.count, options.batch):
            numbers = range(first, min(first + options.batch, options.first + options.count))
            outcome = decode([damaged(n) for n in numbers], Path(directory))
            ends[f"status {outcome.status}"] += len(numbers)
            said.update(re.sub(r"\d[\da-fx]*", "N", line) for line in outcome.messages)
            print(first, outcome, flush=True)
    print(dict(ends))
    for line, count in said.most_common():
        print(count, line)


if __name__ == "__main__":
    main()
