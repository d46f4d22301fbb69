"""Seeds of native/kernel.c and decode.c: the random programs of tests/eu."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from gen4emu.hw.gen import Gen
from tests.eu import differential, flow_programs, gen7_programs

PARTS = (Gen.CL, Gen.EL, Gen.IVB, Gen.HSW, Gen.KBL)  # as in kernel.c
_HEADER = struct.Struct("<2BH2I")
_OF_EACH = 6


def seeds() -> Iterator[bytes]:
    for index, gen in enumerate(PARTS):
        old = bool(gen & Gen.ALL4)
        for seed in range(_OF_EACH):
            straight = differential.straight_case(seed, gen, 12) if old else gen7_programs.straight_case(seed, gen, 12)
            flow = flow_programs.flow_case(seed, gen) if old else gen7_programs.flow_case(seed, gen)
            for case in (straight.case, flow):
                threads = min(len(case.dmasks), 8)
                options = threads - 1 | case.alternate << 3 | seed % 2 << 5
                yield _HEADER.pack(index, options, case.dmasks[0], seed + 1, case.flags[0]) + case.code


def codes() -> Iterator[bytes]:
    for seed in seeds():
        yield (seed[:1] + seed[_HEADER.size:])[:513]
