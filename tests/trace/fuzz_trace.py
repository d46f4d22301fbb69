"""Mutates small valid traces of every kind and reads them: only Gen4emuError may escape.

    python tests/trace/fuzz_trace.py --count 1000000 --seed 7
"""

from __future__ import annotations

import argparse
import gzip
import lzma
import random
import struct
import sys
import time
from pathlib import Path

from backports import zstd

sys.path.append(str(Path(__file__).parents[2]))

from gen4emu import trace
from gen4emu.errors import Gen4emuError
from gen4emu.trace.events import Event, GttWrite, MemoryWrite, RegisterWrite, Submission, Warning
from tests.trace.hang_reports import Engine, Section, linux_3_16, linux_4_19, linux_6_1
from tests.trace.trace_files import everything

INTERESTING = (0, 1, 3, 4, 7, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF, 0x1000, 0x8000,
               0xE0C10003, 0xE0850000, 0xE09E0004, 0xF7060005, 0xF7030005, 0xF70B0000, 0xF70E0000)
TOKENS = (b"\n", b"\r\n", b":", b"~", b"z", b"---", b" = 0x", b"0x", b"PCI ID: 0x2a42\n", b"Time: 1 s 1 us\n",
          b"[0000] ", b"command stream:\n", b"rcs0 --- ring = 0x00000000 00001000\n", b"ffffffff", b"ffffffff ffffffff",
          b"  HEAD: 0x", b"  TAIL: 0x", b"  CTL: 0x", b"\0", b"\xff", b"[ 12.345678] ",
          b"vecs0 --- batch = 0x7fffffff fffff000\n", b"vcs1 command stream:\n", b"PCI ID: 0x5912\n",
          b"rcs0 --- user = 0xffffffff fffff000\n", b"global --- ring = 0x00000000 00001000\n")
KINDS = ("aub", "error-state", "raw", "hexdump")
HUNG = Engine(acthd=0xFFFEFFFEE008, sections=[
    Section("batch", 0xFFFEFFFEE000, bytes(range(64))), Section("user", 1 << 32, bytes(64)),
    Section("ring", 0x12000, bytes(range(128)))])
HUNG_OLD = Engine("vecs0", acthd=0x100008, sections=[
    Section("batch", 0x100000, bytes(range(64))), Section("ring", 0x12000, bytes(range(128)))])
WORK_LIMIT = 100_000  # events from a file of a few hundred bytes


def mutate(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """A few random edits: bits, dwords, tokens, cuts, copies, splices."""
    out = bytearray(data)
    for _ in range(1 + rng.randrange(4)):
        at = rng.randrange(len(out) + 1)
        match rng.randrange(9):
            case 0 if out:
                out[at % len(out)] ^= 1 << rng.randrange(8)
            case 1 if out:
                out[at % len(out)] = rng.randrange(256)
            case 2 if len(out) >= 4:
                struct.pack_into("<I", out, at % (len(out) // 4) * 4, rng.choice(INTERESTING))
            case 3 if len(out) >= 4:
                place = at % (len(out) // 4) * 4
                value = struct.unpack_from("<I", out, place)[0] + rng.choice((-1, 1, -4, 4, 1 << 16, 1 << 28))
                struct.pack_into("<I", out, place, value & 0xFFFFFFFF)
            case 4:
                del out[at:]
            case 5:
                del out[at:at + rng.randrange(64)]
            case 6:
                out[at:at] = out[at:at + rng.randrange(200)]
            case 7:
                out[at:at] = rng.choice(TOKENS)
            case _:
                other = rng.choice(others)
                start = rng.randrange(len(other))
                out[at:] = other[start:]
    return bytes(out[:8192])


def corpus() -> list[bytes]:
    plain = [*everything().values(), *(text.encode() for text in later_error_states())]
    packed = [pack(data) for pack in (lzma.compress, gzip.compress, zstd.compress) for data in plain[:3]]
    return plain + packed


def later_error_states() -> list[str]:
    return [linux_6_1(0x5912, "KABYLAKE", [HUNG]), linux_4_19(0x1616, "BROADWELL", [HUNG]),
            linux_3_16(0x0412, [HUNG_OLD])]


def read(data: bytes, rng: random.Random) -> list[Event]:
    """Read a file with random options; return its events."""
    return read_as(
        data, device=rng.choice((*[None] * 6, "gm45", "ivb", "kbl")), base=rng.choice((0, 0x1000, 0xFFFFFFF0)),
        strict=rng.random() < 0.1, kind=rng.choice(KINDS) if rng.random() < 0.1 else None)


def read_as(data: bytes, *, device: str | None, base: int, strict: bool, kind: str | None) -> list[Event]:
    """Read a file with these options; return its events."""
    found: list[Event] = []
    try:
        opened = trace.open_bytes(data, device=device, base=base, strict=strict, kind=kind)
        for event in opened:
            found.append(event)
            assert len(found) < WORK_LIMIT, "too many events"
    except Gen4emuError as e:
        assert str(e).startswith("bytes"), f"error without the file's name: {e}"
        assert "\n" not in str(e), f"error of more than one line: {e!r}"
    for event in found:
        check(event)
    return found


def check(event: Event) -> None:
    """Check the invariants on which consumers rely."""
    assert event.offset >= 0
    if isinstance(event, MemoryWrite):
        assert event.address >= 0 and event.address + len(event.data) <= 1 << 52
        assert 0 < len(event.data) <= 1 << 20
    elif isinstance(event, Submission):
        assert len(event.ring) <= 2 << 20
        assert 0 <= event.ring_address < 1 << 48
    elif isinstance(event, RegisterWrite):
        assert 0 <= event.register < 1 << 32 and 0 <= event.value < 1 << 32
    elif isinstance(event, GttWrite):
        assert 0 <= event.first <= (1 << 32) - len(event.entries)
    elif isinstance(event, Warning):
        assert event.text and event.text.isprintable()


def run(count: int, seed: int, progress: int = 0) -> tuple[int, int]:
    """Read `count` mutated files; return the numbers of events and of refused files."""
    rng = random.Random(seed)
    seeds = corpus()
    events = refused = 0
    start = time.monotonic()
    for number in range(1, count + 1):
        data = mutate(rng.choice(seeds), rng, seeds)
        begin = time.monotonic()
        try:
            found = read(data, rng)
        except Exception:
            path = Path(f"fuzz-{seed}-{number}.bin")
            path.write_bytes(data)
            print(f"input {number} is saved as {path}; it fails again with this seed", file=sys.stderr)
            raise
        assert time.monotonic() - begin < 5, f"input {number}: reading takes too long"
        events += len(found)
        refused += not found
        if progress and number % progress == 0:
            print(f"{number} inputs, {events} events, {refused} refused, {number / (time.monotonic() - start):.0f}/s",
                  flush=True)
    return events, refused


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    events, refused = run(options.count, options.seed, progress=50_000)
    print(f"{options.count} inputs, seed {options.seed}: {events} events, {refused} refused, nothing escaped")


if __name__ == "__main__":
    main()
