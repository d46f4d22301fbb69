"""How fast the shared functions are, but for the sampler: extended math, data port and URB, for each vector variant.

    python bench/shared.py

Million results (math), OWords (data port) or rows (URB) a second of one core, messages of gangs of eight threads.
"""

from __future__ import annotations

import struct
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gen4emu._native import ffi, lib
from gen4emu.device.memory import Unit
from gen4emu.hw.catalogue import block_named
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.messages import MESSAGE_DESCRIPTOR, SharedFunction
from tests.harness.messages import descriptor
from tests.harness.native import harness
from tests.harness.probe import THREADS, Probe

VARIANTS = ["plain", "avx2", "avx512"]
SECONDS = 0.2
BATCH = 2000
BASE, TABLE, DATA = 0x10000, 0x11000, 0x20000



def math(function: str, length: int = 1, **fields: Any) -> int:
    return descriptor("EXTENDED_MATH_MESSAGE", Gen.CTG, length=length, response=1, math_function=function, **fields)


def port(way: str, kind: str, length: int, response: int = 0, **fields: Any) -> int:
    return descriptor(f"DATA_PORT_{way}_MESSAGE", Gen.CTG, length=length, response=response, message_type=kind,
                      **fields)


def urb(swizzle: str, length: int) -> int:
    return descriptor("URB_MESSAGE", Gen.CTG, length=length, complete=True, used=True, swizzle_control=swizzle)


# name, descriptor, results a thread
CASES = [
    *((f"math {name}", math(name), 8) for name in ("INV", "SQRT", "RSQ", "LOG", "EXP", "SIN")),
    ("math POW", math("POW", 2), 8), ("math INT DIV", math("INT_DIV_QUOTIENT", 2, signed_integer=True), 8),
    ("read 4 OWords", port("READ", "OWORD_BLOCK", 1, 2, oword_block_size="OWORDS_4"), 4),
    ("read dual OWord", port("READ", "OWORD_DUAL_BLOCK", 2, 1), 2),
    ("read 16 DWords", port("READ", "DWORD_SCATTERED", 3, 2, dword_scattered_block_size="DWORDS_16"), 4),
    ("write 4 OWords", port("WRITE", "OWORD_BLOCK", 3, oword_block_size="OWORDS_4"), 4),
    ("write dual OWord", port("WRITE", "OWORD_DUAL_BLOCK", 3), 2),
    ("URB interleaved", urb("INTERLEAVED", 9), 8), ("URB transpose", urb("TRANSPOSE", 4), 4),
]


def bench_probe() -> Probe:
    probe = Probe()
    probe.start(THREADS, unit=Unit.SF, surface_state_base=BASE, binding_table=TABLE, urb_rows=64)
    probe.memory.write(BASE + 0x40, block_named("SURFACE_STATE", probe.gen).build(
        probe.gen, surface_type="SURFTYPE_BUFFER", surface_base_address=DATA, buffer_entries_19_7=16))
    probe.memory.write(TABLE, struct.pack("<I", 0x40))
    probe.memory.write(DATA, bytes(0x8000))
    random = np.random.default_rng(1)
    for t in range(THREADS):
        for reg in range(16):
            probe.mrf(reg, t)[:] = 0
        for reg in (4, 5):
            probe.mrf(reg, t)[:] = random.uniform(0.5, 9, 8).astype(np.float32).view(np.uint32)
    return probe


def rate(probe: Probe, message: int, results: int) -> float:
    masks = ffi.new("uint16_t[]", [0xFFFF] * THREADS)
    function = MESSAGE_DESCRIPTOR.view([message], gen=Gen.CTG).shared_function
    mrf = 4 if function == SharedFunction.EXTENDED_MATH else 0
    handle, count = probe.handle, 0
    start = time.perf_counter()
    while (elapsed := time.perf_counter() - start) < SECONDS:
        harness().g4_probe_repeat(handle, BATCH, message, mrf, 20, masks)
        count += BATCH
    return count * THREADS * results / elapsed / 1e6


def main() -> None:
    print(f"{'M/s':18}" + "".join(f"{name:>10}" for name in VARIANTS))
    probe = bench_probe()
    for name, message, results in CASES:
        row = []
        for variant in range(len(VARIANTS)):
            able = lib.g4_set_variant(variant) == lib.G4_OK
            row.append(f"{rate(probe, message, results):10.0f}" if able else f"{'-':>10}")
        print(f"{name:18}" + "".join(row), flush=True)


if __name__ == "__main__":
    main()
