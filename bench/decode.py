"""How fast batches are decoded: `python bench/decode.py [--megabytes N] [TRACE ...]`.

Two batches in memory: the batches of captures over and over (what drivers send), and packed commands whose values never
repeat (nothing can be kept).  Prints MB of batch per second, and the time to decode each whole trace.
"""

from __future__ import annotations

import argparse
import random
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from gen4emu import trace
from gen4emu.decode import Decoder, Item, JsonRenderer, TextRenderer, TraceStart
from gen4emu.hw import catalogue
from gen4emu.hw.chips import Device, device_named
from gen4emu.hw.fields import Const, Enum, Field, Mbz, Uint
from gen4emu.trace.events import MemoryWrite, Submission

_BASE = 0x1000_0000
_END = struct.pack("<2I", 0x05000000, 0)
_SKIPPED = frozenset({"MI_BATCH_BUFFER_START", "MI_BATCH_BUFFER", "MI_BATCH_BUFFER_END", "STATE_BASE_ADDRESS",
                      "3DSTATE_PIPELINED_POINTERS", "MEDIA_STATE_POINTERS", "STATE_SIP", "CONSTANT_BUFFER"})


def captured(path: Path, size: int) -> tuple[Device, list[MemoryWrite], bytes]:
    """The memory of a capture and its first batch, repeated."""
    device = device_named("gm45")
    assert device is not None
    writes: list[MemoryWrite] = []
    for event in trace.open(path):
        if isinstance(event, MemoryWrite):
            writes.append(event)
        elif isinstance(event, Submission):
            break
    decoder = _loaded(device, writes)
    address = int(struct.unpack_from("<I", event.ring, 4)[0])
    batch = decoder.peek.available(address, 1 << 20)
    end = 4 * struct.unpack(f"<{len(batch) // 4}I", batch).index(0x05000000)
    return device, writes, batch[:end] * (size // end) + _END


def unique(size: int) -> tuple[Device, list[MemoryWrite], bytes]:
    """Commands of all kinds with random values."""
    device = device_named("gm45")
    assert device is not None
    chance = random.Random(1)
    commands = [c for c in catalogue.catalogue_of(device.gen).commands if c.name not in _SKIPPED
                and not any(f.name == "dword_length" and f.width < 6 for f in c.all_fields)]
    out = bytearray()
    while len(out) < size:
        c = chance.choice(commands)
        words = c.pack(device.gen, **{a.name: [{}] for a in c.arrays_for(device.gen) if a.count is None})
        for f in c.fields_for(device.gen):
            if f.last_dword < len(words) and f.name != "dword_length":
                f.insert(words, _legal(f, chance))
        out += struct.pack(f"<{len(words)}I", *words)
    return device, [], bytes(out) + _END


def _legal(f: Field, chance: random.Random) -> int:
    """Raw bits that break no rule."""
    if isinstance(f, Mbz):
        return 0
    if isinstance(f, Const):
        return f.value
    if isinstance(f, Enum):
        return int(chance.choice(list(f.enum)))
    for _ in range(8):
        raw = chance.getrandbits(f.width)
        if f.complaint(raw) is None:
            return raw
    return f.encode(f.low) if isinstance(f, Uint) and f.low is not None else 0


def _loaded(device: Device, writes: Iterable[MemoryWrite]) -> Decoder:
    decoder = Decoder(device)
    for w in writes:
        decoder.memory.write(w.address, w.data)
    return decoder


def _text(items: Iterator[Item]) -> int:
    render = TextRenderer().render
    return sum(len(render(item)) for item in items)


def _json(items: Iterator[Item]) -> int:
    renderer = JsonRenderer()
    renderer.begin(TraceStart("", "", None))
    return sum(len(renderer.render(item)) for item in items)


def measure(what: str, device: Device, writes: list[MemoryWrite], batch: bytes) -> None:
    renderings: tuple[tuple[str, Callable[[Iterator[Item]], int]], ...] = (("text", _text), ("json", _json))
    for name, render in renderings:
        decoder = _loaded(device, writes)
        decoder.memory.write(_BASE, batch)
        start = time.process_time()
        out = render(decoder.batch(_BASE))
        seconds = time.process_time() - start
        speed = len(batch) / seconds / 1e6
        print(f"{what:<24} {name:<5} {speed:8.2f} MB/s of batch  ({out / seconds / 1e6:.0f} MB/s out)")


def whole(path: Path) -> None:
    start = time.perf_counter()
    command = [sys.executable, "-m", "gen4emu.cli.main", "decode", str(path)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    print(f"{path.name:<24} whole {time.perf_counter() - start:8.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=4.0)
    parser.add_argument("traces", type=Path, nargs="*", default=sorted(Path("traces").glob("*.aub*")))
    arguments = parser.parse_args()
    size = int(arguments.megabytes * 1e6)
    for path in arguments.traces:
        measure(f"repeated {path.name.partition('.')[0]}", *captured(path, size))
        whole(path)
    measure("never the same twice", *unique(size))


if __name__ == "__main__":
    main()
