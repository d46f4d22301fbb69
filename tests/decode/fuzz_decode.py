"""Hostile batches, state, kernels and captures through the whole decoder: `python fuzz_decode.py --count N`.

Only errors of our own may come out, every JSON must parse, and no input may take long.  Seeds are printed on failure;
`--seed S --count 1` repeats one input.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

from gen4emu import trace
from gen4emu.decode import RENDERERS, Decoder, Document, Item, JsonRenderer, Options, Tally, TraceStart
from gen4emu.decode.json_text import counted
from gen4emu.decode.select import at, only
from gen4emu.decode.summary import summarize
from gen4emu.errors import Gen4emuError
from gen4emu.hw import chips
from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.fields import Address, Const, Enum, Mbz
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block
from gen4emu.trace.events import Engine, MemoryWrite, Submission

DEVICES = chips.DEVICES
ENGINES = (*[Engine.RENDER] * 8, Engine.BLT, Engine.BSD)
TRACES = Path(__file__).parents[2] / "traces"
SECONDS = 10.0  # of the processor: no input may take longer
_BATCH, _STATE, _PAGES = 0x1000, 0x4000, 16
_EDGES = (0, 1, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0x05000000, 0x18800000, 0x7B000004, 0x31000000)
_BATCH_OPTIONS = (*[Options(), Options(lint=True), Options(repeat=True, lint=True)] * 6, Options(max_rows=-1),
                  Options(follow=False))


class Fuzzer:
    """Inputs by seed; machines are kept for a while, so that state of one input meets the next."""

    def __init__(self) -> None:
        self.captures = [[e for e in trace.open(p) if isinstance(e, MemoryWrite | Submission)]
                         for p in sorted(TRACES.glob("*.aub*"))]
        self.files = [p.read_bytes() for p in sorted(TRACES.glob("*.aub*"))]
        self.commands = {device.gen: catalogue_of(device.gen).commands for device in DEVICES}
        self.blocks = {device.gen: catalogue_of(device.gen).blocks for device in DEVICES}
        self.pools: dict[tuple[str, Gen], list[list[int]]] = {}
        self.decoder: Decoder | None = None
        self.age = 0

    def run(self, seed: int) -> None:
        chance = random.Random(seed)
        kind = chance.random()
        start = time.process_time()
        if kind < 0.8:
            self._consume(self._small(chance), chance)
        elif kind < 0.99:
            self._consume(self._batch(chance), chance)
        elif kind < 0.998:
            self._consume(self._capture(chance), chance)
        else:
            self._file(chance)
        seconds = time.process_time() - start
        if seconds > SECONDS:
            raise AssertionError(f"took {seconds:.1f} s")

    # --- inputs --------------------------------------------------------------------------------------------------
    def _machine(self, chance: random.Random) -> Decoder:
        if self.decoder is None or self.age > 500:
            if self.decoder is not None:
                self.decoder.memory.close()
            self.decoder, self.age = Decoder(chance.choice(DEVICES), options=chance.choice(_BATCH_OPTIONS)), 0
        self.age += 1
        return self.decoder

    def _small(self, chance: random.Random) -> list[Item]:
        """One command and what it points to; every other time, one block has changed."""
        decoder = self._machine(chance)
        gen = decoder.gen
        if chance.random() < 0.5:
            block = chance.choice(self.blocks[gen])
            decoder.memory.write(self._somewhere(chance), _bytes(self._pooled(block, gen, chance)))
        command = self._pooled(chance.choice(self.commands[gen]), gen, chance)
        decoder.memory.write(_BATCH, _bytes([*command, 0x05000000]))
        return list(decoder.batch(_BATCH))

    def _batch(self, chance: random.Random) -> list[Item]:
        decoder = self._machine(chance)
        gen = decoder.gen
        for _ in range(chance.choice((0, 0, 1, 3))):
            block = chance.choice(self.blocks[gen])
            decoder.memory.write(self._somewhere(chance), _bytes(self._pooled(block, gen, chance)))
        if chance.random() < 0.2:
            decoder.memory.write(self._somewhere(chance) & ~15, chance.randbytes(chance.randrange(1, 256)))
        words: list[int] = []
        for _ in range(chance.choice((1, 1, 2, 2, 3, 10))):
            if chance.random() < 0.1:
                words += [chance.choice((*_EDGES, chance.getrandbits(32))) for _ in range(chance.randrange(1, 6))]
            else:
                words += self._pooled(chance.choice(self.commands[gen]), gen, chance)
        if chance.random() < 0.8:
            words.append(0x05000000)
        for _ in range(chance.choice((0, 0, 1, 4))):
            words[chance.randrange(len(words))] ^= 1 << chance.randrange(32)
        decoder.memory.write(_BATCH, _bytes(words[:4096]))
        decoder.changed()
        ring = starts(gen) + [chance.choice(_EDGES) for _ in range(chance.randrange(3))]
        acthd = self._somewhere(chance) if chance.random() < 0.2 else None
        return list(decoder.submission(Submission(0, chance.choice(ENGINES), _bytes(ring), 0x800, acthd=acthd,
                                                  hung=acthd is not None)))

    def _pooled(self, layout: Block, gen: Gen, chance: random.Random) -> list[int]:
        """Dwords of a layout: new ones sometimes, else earlier ones with a few bits changed."""
        pool = self.pools.setdefault((layout.name, gen), [])
        if len(pool) < 4 or chance.random() < 0.1:
            words = self._words(layout, gen, chance)
            pool.append(words)
            if len(pool) > 32:
                pool.pop(0)
            return words
        words = list(chance.choice(pool))
        for _ in range(chance.choice((0, 1, 1, 2))):
            words[chance.randrange(len(words))] ^= 1 << chance.randrange(32)
        return words

    def _words(self, layout: Block, gen: Gen, chance: random.Random) -> list[int]:
        arrays = [a for a in layout.arrays_for(gen) if a.count is None]
        words = layout.pack(gen, **{a.name: [{} for _ in range(chance.randrange(1, 4))] for a in arrays})
        for f in layout.fields_for(gen):
            if f.last_dword >= len(words) or isinstance(f, Const) or f.name == "dword_length":
                continue
            if isinstance(f, Address):
                f.insert(words, self._somewhere(chance) >> f.lo)
            elif isinstance(f, Mbz):
                f.insert(words, chance.getrandbits(f.width) if chance.random() < 0.02 else 0)
            elif isinstance(f, Enum) and chance.random() < 0.95:
                f.insert(words, int(chance.choice(list(f.enum))))
            else:
                f.insert(words, chance.choice((0, 1, f.mask, chance.getrandbits(f.width))))
        for a in arrays:
            step = a.item.size(gen)
            for i in range(a.dword, len(words) - step + 1, step):
                words[i:i + step] = self._words(a.item, gen, chance)
        return words

    def _somewhere(self, chance: random.Random) -> int:
        if chance.random() < 0.05:
            return chance.getrandbits(32) & 0x7FFFFFFF
        return (_STATE + chance.randrange(_PAGES * 4096)) & ~chance.choice((31, 63, 3))

    def _capture(self, chance: random.Random) -> list[Item]:
        events = chance.choice(self.captures)
        items: list[Item] = []
        decoder = Decoder(chance.choice(DEVICES), options=chance.choice(_BATCH_OPTIONS))
        for event in events:
            if isinstance(event, MemoryWrite):
                data = bytearray(event.data)
                for _ in range(chance.choice((0, 1, 3, 10))):
                    i = chance.randrange(len(data) // 4) * 4
                    if event.address == 0x100000:  # the batch: near its start
                        i = chance.randrange(256) * 4
                    struct.pack_into("<I", data, i, chance.choice((*_EDGES, chance.getrandbits(32),
                                                                   event.address + chance.randrange(4096))))
                decoder.memory.write(event.address, data)
                decoder.changed()
            else:
                items += decoder.submission(event)
        decoder.memory.close()
        return items

    def _file(self, chance: random.Random) -> None:
        """A damaged file through the reader, too."""
        data = bytearray(chance.choice(self.files))
        for _ in range(chance.randrange(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            opened = trace.open_bytes(bytes(data))
            items = list(Document(opened, container=opened.kind, options=Options(lint=True, all_batches=True)))
        except Gen4emuError:
            return
        self._consume(items, chance)

    # --- what is done with them ----------------------------------------------------------------------------------
    def _consume(self, items: list[Item], chance: random.Random) -> None:
        choice = chance.random()
        if choice < 0.45:
            renderer = RENDERERS[chance.choice(list(RENDERERS))](offsets=chance.random() < 0.9)
            for item in items:
                renderer.render(item)
        elif choice < 0.9:
            check_json(items)
        elif choice < 0.95:
            summarize(items)
        else:
            check_json(list(at(only(items, ["*_STATE", "kernel"]), self._somewhere(chance))))


def check_json(items: list[Item]) -> None:
    renderer, tally = JsonRenderer(), Tally()
    parts = [renderer.begin(TraceStart("", "", None))]
    for item in items:
        counted(tally, item)
        if not isinstance(item, TraceStart):
            parts.append(renderer.render(item))
    parts.append(renderer.finish(tally))
    json.loads("".join(parts))


def starts(gen: Gen) -> list[int]:
    """A command that starts the batch."""
    start = catalogue_of(gen).command("MI_BATCH_BUFFER_START")
    name = next(f.name for f in start.fields_for(gen) if isinstance(f, Address))
    return start.pack(gen, **{name: _BATCH})


def _bytes(words: list[int]) -> bytes:
    return struct.pack(f"<{len(words)}I", *words)


def fuzz(count: int, seed: int, tell: Callable[[str], object] = print) -> int:
    """Run inputs; returns how many failed."""
    fuzzer = Fuzzer()
    failed = 0
    start = time.monotonic()
    for i in range(count):
        try:
            fuzzer.run(seed + i)
        except Exception as e:
            # Our own errors are for files that cannot be read at all: memory that is there always decodes.
            failed += 1
            tell(f"seed {seed + i}: {type(e).__name__}: {e}")
            fuzzer.decoder = None
            if failed > 20:
                break
        if i and i % 50000 == 0:
            tell(f"{i} inputs, {failed} failed, {i / (time.monotonic() - start):.0f}/s")
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    failed = fuzz(arguments.count, arguments.seed)
    print(f"{arguments.count} inputs, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
