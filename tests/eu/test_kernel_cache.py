"""The memory of decoded kernels in the cache is limited (native/eu/kernel.c)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20
LIMIT = 256 * MIB  # of the cache
STARTS = 160  # of 3 MiB each

# A start every 16 bytes in code that does not end within 64 KiB; each becomes a kernel of 4,096 instructions.
OVERLAPPING = f"""
from pathlib import Path

from tests.harness.probe import KERNEL_ADDRESS, Probe
from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble

def peak_bytes():  # getrusage would begin with what the parent process had
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024

probe = Probe(Gen.EL)
add = assemble("add(16) g20<1>F g22<8,8,1>F g24<8,8,1>F {{ align1 compr }};", Gen.EL)
probe.load(add * ({STARTS} + 4095) + assemble(probe.end, Gen.EL))
before = peak_bytes()
for start in range({STARTS}):
    probe.start(kernel_address=KERNEL_ADDRESS + 16 * start)
    probe.run_to_end()
print(peak_bytes() - before)
"""


def test_overlapping_kernels_hold_no_more_memory_than_the_limit() -> None:
    # AddressSanitizer keeps what is freed, which is not what is measured here
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
    path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT)])
    done = subprocess.run([sys.executable, "-c", OVERLAPPING], capture_output=True, text=True, check=True,
                          env={**os.environ, "ASAN_OPTIONS": sanitizer, "PYTHONSAFEPATH": "1", "PYTHONPATH": path})
    assert 0 < int(done.stdout) < LIMIT + 48 * MIB
