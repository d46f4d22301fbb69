"""How long reports of long traces take: seconds, and the processor time of all processes.

    python bench/report.py [-n DRAWS] [--keep DIR]

The trace is that of four frames of gears again and again; the other one has another instruction in a pixel shader.  On
a busy machine the processor time counts: two sides are executed at a time.
"""

from __future__ import annotations

import argparse
import lzma
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import gen4emu
from gen4emu.decode.nodes import Kernel

TRACE = Path(__file__).parent.parent / "traces" / "gears-4frames-g4x.aub.xz"
WHEEL = 2  # a draw of one
PLN, LINE = 0x5A, 0x59


def traces(directory: Path, draws: int) -> tuple[Path, Path]:
    """A trace with so many draws, and one with other pixels."""
    data = lzma.decompress(TRACE.read_bytes())
    with gen4emu.open(TRACE) as trace:
        count = sum(1 for _ in trace.draws())
        code = next(node.code.code for node in trace.state(WHEEL).nodes()
                    if isinstance(node, Kernel) and node.role == "ps")
    at = next(i for i in range(0, len(code), 8) if code[i] & 0x7F == PLN)
    changed = bytearray(code)
    changed[at] ^= PLN ^ LINE
    good, bad = directory / "good.aub", directory / "bad.aub"
    good.write_bytes(data * -(-draws // count))
    bad.write_bytes(data.replace(code, changed) * -(-draws // count))
    return good, bad


def measure(name: str, arguments: list[str], to: Path) -> None:
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "gen4emu", "-q", "report", *arguments, "-o", str(to)], check=False,
                          stdout=subprocess.DEVNULL)
    if done.returncode not in (0, 1):
        raise SystemExit(done.returncode)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = sum(getattr(after, kind) - getattr(before, kind) for kind in ("ru_utime", "ru_stime"))
    size = sum(file.stat().st_size for file in to.rglob("*.*")) / 1e6
    print(f"{name:<24}{seconds:>10.1f}{used:>10.1f}{size:>10.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--draws", type=int, default=10_000)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave the traces and reports there")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        directory = args.keep or Path(temporary)
        directory.mkdir(parents=True, exist_ok=True)
        good, bad = map(str, traces(directory, args.draws))
        print(f"{'report':<24}{'seconds':>10}{'CPU':>10}{'MB':>10}")
        measure("one trace", [good], directory / "one")
        measure("--against, equal", [good, "--against", good], directory / "equal")
        measure("--against, other pixels", [good, "--against", bad], directory / "other")


if __name__ == "__main__":
    main()
