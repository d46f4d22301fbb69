"""How fast traces are read and written, in MB of decompressed file per second.

    python bench/trace.py [--mib 256] [FILE ...]
"""

from __future__ import annotations

import argparse
import random
import resource
import struct
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from gen4emu import trace
from gen4emu.hw.chips import BY_NAME
from gen4emu.trace import AubWriter, ascii85
from gen4emu.trace.events import Engine
from gen4emu.trace.source import Source

MIB = 1 << 20
GM45 = BY_NAME["gm45"]


def aub(path: Path, mib: int, block_bytes: int) -> None:
    """A capture of random pages in blocks of one size, a submission each 4 MiB."""
    pages = random.Random(1).randbytes(4 * MIB)
    with AubWriter(path, GM45, application="bench") as writer:
        for number in range(mib // 4):
            for at in range(0, len(pages), block_bytes):
                writer.write_memory(0x100000 + at, pages[at:at + block_bytes] if number else bytes(block_bytes))
                writer.gpu_wrote(0x100000 + at, block_bytes)
            writer.submit(Engine.RENDER, struct.pack("<2I", 0x18800000, 0x100000), 0x1000)


def error_state(path: Path, mib: int, lines: Callable[[bytes], Iterator[str]]) -> None:
    data = (random.Random(1).randbytes(MIB // 4) + bytes(MIB // 4 * 3)) * mib
    with path.open("w") as file:
        file.write("PCI ID: 0x2a42\nEIR: 0x00000000\nrcs0 --- user = 0x00000000 00100000\n")
        file.writelines(lines(data))


def compressed(data: bytes) -> Iterator[str]:
    yield ":" + ascii85.encode(zlib.compress(data, 1)).decode() + "\n"


def plain(data: bytes) -> Iterator[str]:
    yield "~" + ascii85.encode(data).decode() + "\n"


def rows(data: bytes) -> Iterator[str]:
    for i, (value,) in enumerate(struct.iter_unpack("<I", data)):
        yield f"{4 * i:08x} :  {value:08x}\n"


def measure(name: str, path: Path) -> None:
    start = time.perf_counter()
    opened = trace.open(path)
    events = sum(1 for _ in opened)
    seconds = time.perf_counter() - start
    with path.open("rb", buffering=0) as file:
        size = Source(file, name, owned=False).skip(1 << 62)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name:32} {size / 1e6:8.1f} MB  {events:8} events  {size / 1e6 / seconds:8.1f} MB/s   peak {peak:.0f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--mib", type=int, default=256, help="size of the made-up AUB files")
    parser.add_argument("files", nargs="*", type=Path, help="traces to read instead")
    options = parser.parse_args()
    if options.files:
        for path in options.files:
            measure(path.name, path)
        return
    with tempfile.TemporaryDirectory() as folder:
        for block_bytes in (32768, 4096, 512):
            path = Path(folder) / f"{block_bytes}.aub"
            start = time.perf_counter()
            aub(path, options.mib, block_bytes)
            rate = path.stat().st_size / 1e6 / (time.perf_counter() - start)
            measure(f"aub, blocks of {block_bytes}", path)
            print(f"{'  written':32} {rate:43.1f} MB/s")
        for suffix in (".gz", ".xz", ".zst"):
            path = Path(folder) / f"packed.aub{suffix}"
            aub(path, 16, 32768)
            measure(f"aub{suffix}, decompressed", path)
        for name, lines in (("compressed", compressed), ("plain ascii85", plain), ("hexdump", rows)):
            path = Path(folder) / "error"
            error_state(path, 1, lines)
            sum(1 for _ in trace.open(path))  # the first one of a device takes longer
            error_state(path, 4, lines)
            measure(f"error state, {name}", path)


if __name__ == "__main__":
    main()
