"""How fast the shared functions are, but for the sampler: extended math, data port and URB, for each vector variant.

    python bench/shared.py

Million results (math), OWords (data port) or rows (URB) a second of one core, messages of gangs of eight threads.
"""

from __future__ import annotations

import struct
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gen4emu._native import ffi, lib
from gen4emu.device.memory import Unit
from gen4emu.hw.catalogue import block_named
from tests.harness.native import harness
from tests.harness.probe import THREADS, Probe

VARIANTS = ["plain", "avx2", "avx512"]
SECONDS = 0.2
BATCH = 2000
BASE, TABLE, DATA = 0x10000, 0x11000, 0x20000

# name, descriptor, results a thread
CASES = [
    ("math INV", 0x01110001, 8), ("math SQRT", 0x01110004, 8), ("math RSQ", 0x01110005, 8),
    ("math LOG", 0x01110002, 8), ("math EXP", 0x01110003, 8), ("math SIN", 0x01110006, 8),
    ("math POW", 0x0121000A, 8), ("math INT DIV", 0x0121001C, 8),
    ("read 4 OWords", 0x04120300, 4), ("read dual OWord", 0x04211000, 2), ("read 16 DWords", 0x04323300, 4),
    ("write 4 OWords", 0x05300300, 4), ("write dual OWord", 0x05301000, 2),
    ("URB interleaved", 0x0690C400, 8), ("URB transpose", 0x0640C800, 4),
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


def rate(probe: Probe, descriptor: int, results: int) -> float:
    masks = ffi.new("uint16_t[]", [0xFFFF] * THREADS)
    mrf = 4 if descriptor >> 24 == 1 else 0
    handle, count = probe.handle, 0
    start = time.perf_counter()
    while (elapsed := time.perf_counter() - start) < SECONDS:
        harness().g4_probe_repeat(handle, BATCH, descriptor, mrf, 20, masks)
        count += BATCH
    return count * THREADS * results / elapsed / 1e6


def main() -> None:
    print(f"{'M/s':18}" + "".join(f"{name:>10}" for name in VARIANTS))
    probe = bench_probe()
    for name, descriptor, results in CASES:
        row = []
        for variant in range(len(VARIANTS)):
            able = lib.g4_set_variant(variant) == lib.G4_OK
            row.append(f"{rate(probe, descriptor, results):10.0f}" if able else f"{'-':>10}")
        print(f"{name:18}" + "".join(row), flush=True)


if __name__ == "__main__":
    main()
