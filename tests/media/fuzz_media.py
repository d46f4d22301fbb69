"""Runs damaged media work on whole devices: slices, state, descriptors, kernels, inline and indirect data.

    python tests/media/fuzz_media.py --count N [--seed S] [--first I] [--only NAME] [--trace]

Nothing but the project's own errors may come out, and every run must end soon.  Each run depends on the seed and its
number; `--trace` prints the number before each run.  Run it on a core with sanitizers to see more.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent.parent))

from gen4emu.device.device import Device
from gen4emu.device.memory import Missing
from gen4emu.device.options import Options
from gen4emu.errors import Gen4emuError
from gen4emu.hw.catalogue import command_named
from gen4emu.hw.chips import BY_PCI_ID
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.media import VfeMode
from gen4emu.trace import events
from gen4emu.trace.reader import open as open_trace
from tests.harness.media import CURBE, DATA, DESCRIPTORS, END, EXTENDED, KERNELS, TABLES, VFE, Media, vld
from tests.harness.spawning import CHILD_END, SPAWN_CHILD, WAIT, forward, open_gateway, spawn, urb_write

MEDIA_OBJECT, MEDIA_STATE_POINTERS = (command_named(name, Gen.CTG) for name in ("MEDIA_OBJECT", "MEDIA_STATE_POINTERS"))

TRACES = Path(__file__).parents[2] / "traces"
OPTIONS = Options(workers=1, watchdog=1, max_batch_dwords=1 << 14)
SLOW_SECONDS = 20.0
MODES = (*VfeMode, 3, 15)


class Captures:
    """The pictures of the VA driver: what was written before each, and its batch."""

    def __init__(self) -> None:
        self.pictures: list[tuple[int, list[events.Event], events.Submission]] = []
        for name in ("mpeg2", "interlaced"):
            before: list[events.Event] = []
            for event in open_trace(str(TRACES / f"{name}-g4x.aub.xz")):
                if isinstance(event, events.Header):
                    part = event.pci_id or 0
                elif isinstance(event, events.Submission):
                    self.pictures.append((part, list(before), event))
                else:
                    before.append(event)

    def device(self, rng: random.Random) -> tuple[Device, events.Submission]:
        part, before, submission = rng.choice(self.pictures)
        device = Device(BY_PCI_ID[part], OPTIONS)
        for event in before:
            device.apply(event)
        return device, submission


def damaged(rng: random.Random, data: bytes, most: int = 8) -> bytes:
    """Bits turned, bytes changed, the end cut off."""
    result = bytearray(data)
    for _ in range(rng.randint(1, most)):
        if result:
            at = rng.randrange(len(result))
            result[at] = result[at] ^ 1 << rng.randrange(8) if rng.random() < 0.6 else rng.randrange(256)
    if rng.random() < 0.3:
        del result[rng.randrange(len(result) + 1):]
    return bytes(result)


def damage(rng: random.Random, device: Device, address: int, size: int) -> None:
    data = device.memory.read(address, size, Missing.ZERO)
    device.memory.write(address, damaged(rng, data).ljust(size, b"\0"))


def slices(rng: random.Random, captures: Captures) -> None:
    """Whole pictures with damaged slices."""
    device, submission = captures.device(rng)
    batch = int.from_bytes(bytes(submission.ring)[4:8], "little")
    words = list(device.memory.read_dwords(batch, 400, Missing.ZERO))
    objects = [i for i, word in enumerate(words) if MEDIA_OBJECT.has_opcode_of(word) and MEDIA_OBJECT.length(word) == 6]
    with device:
        for _ in range(rng.randint(1, 4)):
            at = rng.choice(objects)
            damage(rng, device, words[at + 3], max(1, words[at + 2]))
            if rng.random() < 0.3:
                damage(rng, device, batch + 4 * at + 4, 20)
        device.submit(submission)


def kernels(rng: random.Random, captures: Captures) -> None:
    """Run recorded media commands with damaged kernels, state and tables."""
    device, submission = captures.device(rng)
    batch = int.from_bytes(bytes(submission.ring)[4:8], "little")
    words = list(device.memory.read_dwords(batch, 64, Missing.ZERO))
    pointers = next(i for i, word in enumerate(words) if MEDIA_STATE_POINTERS.has_opcode_of(word))
    vfe, extended = words[pointers + 2], words[pointers + 1] & ~31
    descriptors = device.memory.read_dwords(vfe, 3)[2] & ~15
    number = rng.randrange(15)
    kernel, table = (device.memory.read_dwords(descriptors + 16 * number, 4)[i] & ~63 for i in (0, 3))
    places = [(vfe, 12), (extended, 16), (descriptors, 240), (kernel, 5000), (table, 48), (batch, 200)]
    with device:
        for address, size in rng.sample(places, rng.randint(1, 3)):
            damage(rng, device, address, size)
        device.submit(submission)


def syntax(rng: random.Random) -> None:
    """Random bits as slices of random pictures."""
    media = vld(rng.choice(("gm45", "gm45", "965gm")), picture_structure=rng.randrange(4),
                picture_coding_type=rng.randrange(4), **{
                    name: rng.random() < 0.5 for name in (
                        "frame_prediction_frame_dct", "concealment_motion_vector_flag", "top_field_first",
                        "intra_vlc_format", "scan_order", "quantizer_scale_type")}, **{
                    f"f_code_{way}_{axis}": rng.randrange(16)
                    for way in ("forward", "backward") for axis in ("horizontal", "vertical")})
    with media.device:
        for i in range(rng.randint(1, 12)):
            bits = rng.choice((0.3, 0.5, 0.7))
            data = bytes(sum((rng.random() < bits) << k for k in range(8)) for _ in range(rng.randint(1, 300)))
            media.slice(data, x=rng.randrange(128), y=rng.randrange(128), q=rng.randrange(1, 32), bit=rng.randrange(8),
                        count=rng.choice((127, rng.randrange(128))), at=DATA + 0x1000 * i)
        media.execute()


def state(rng: random.Random) -> None:
    """Random state and data in all modes."""
    media = Media(rng.choice(("gm45", "965gm", "g965")), extended={}, options=OPTIONS,
                  constants=rng.randbytes(1024))
    with media.device:
        vfe = [rng.getrandbits(32) for _ in range(3)]
        if rng.random() < 0.8:
            vfe[1] = vfe[1] & ~0x78 | int(rng.choice(MODES)) << 3
            vfe[2] = DESCRIPTORS
        media.memory.write(VFE, b"".join(v.to_bytes(4, "little") for v in vfe))
        media.memory.write(EXTENDED, rng.randbytes(32))
        for place, size in ((DESCRIPTORS, 256), (CURBE, 64), (TABLES, 64)):
            if rng.random() < 0.3:
                damage(rng, media.device, place, size)
        media.select()
        for i in range(rng.randint(1, 8)):
            words = [rng.getrandbits(32) for _ in range(rng.randrange(20))]
            data = rng.randbytes(rng.randrange(2000))
            name = rng.choice(("MEDIA_OBJECT", "MEDIA_OBJECT_EX", "MEDIA_OBJECT_PRT"))
            if name == "MEDIA_OBJECT_PRT" or media.gen.name in ("BW", "CL"):
                name, data = ("MEDIA_OBJECT", data)
            media.object(words, data, at=DATA + 0x1000 * i, name=name)
        commands = damaged(rng, media.commands) if rng.random() < 0.3 else media.commands
        media.commands = commands[:len(commands) & ~3]
        media.execute()


def threads(rng: random.Random) -> None:
    """Kernels that spawn, wait and talk to each other, damaged."""
    media = Media(children_present=rng.random() < 0.8, maximum_number_of_threads=rng.randint(1, 28),
                  number_of_urb_entries=rng.randint(1, 28), options=OPTIONS)
    pieces = [open_gateway(80, 0), urb_write(2, 0, 1), forward("g1<0,1,0>UD", "g2<0,1,0>UD")]
    if rng.random() < 0.3:
        pieces += [WAIT, spawn(0, 4, 2, SPAWN_CHILD | 0x10)]
    with media.device:
        for number in range(3):
            others = range(3) if rng.random() < 0.1 else range(number + 1, 3)  # else no end of children
            text = "".join(rng.choice([*pieces, *(spawn(n, 2, 1) for n in others)]) for _ in range(rng.randint(0, 6)))
            media.kernel(number, text + rng.choice((END, CHILD_END)))
            if rng.random() < 0.4:
                damage(rng, media.device, KERNELS + 0x2000 * number, 160)
        media.select()
        for _ in range(rng.randint(1, 10)):
            media.object((rng.randrange(8), rng.randrange(32)), interface_descriptor_offset=rng.randrange(3),
                         thread_synchronization=rng.random() < 0.05)
        media.execute()


def run(number: int, seed: int, captures: Captures, only: str | None = None) -> tuple[str, str]:
    """One run: its subject, and how it ended."""
    rng = random.Random(f"{seed}-{number}")
    subjects: dict[str, Callable[[random.Random], None]] = {
        "slices": lambda r: slices(r, captures), "kernels": lambda r: kernels(r, captures), "syntax": syntax,
        "state": state, "threads": threads}
    name = only or rng.choice(list(subjects))
    try:
        subjects[name](rng)
    except Gen4emuError as e:
        return name, type(e).__name__
    return name, "good"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only")
    parser.add_argument("--trace", action="store_true")
    options = parser.parse_args()
    captures, ends = Captures(), Counter[tuple[str, str]]()
    for number in range(options.first, options.first + options.count):
        if options.trace:
            print(number, flush=True)
        started = time.perf_counter()
        ends[run(number, options.seed, captures, options.only)] += 1
        seconds = time.perf_counter() - started
        if seconds > SLOW_SECONDS:
            print(f"run {number} took {seconds:.1f} s", flush=True)
    for (name, end), count in sorted(ends.items()):
        print(f"{name:10s} {end:12s} {count}")


if __name__ == "__main__":
    main()
