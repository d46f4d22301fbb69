"""The memory of decoded kernels in the cache is limited (native/eu/kernel.c)."""

from __future__ import annotations

from tests.harness.peak_memory import number_from_child

MIB = 1 << 20
LIMIT = 256 * MIB  # of the cache
STARTS = 160  # of 3 MiB each

# A start every 16 bytes in code that does not end within 64 KiB; each becomes a kernel of 4,096 instructions.
OVERLAPPING = f"""
from tests.harness.peak_memory import peak_bytes
from tests.harness.probe import KERNEL_ADDRESS, Probe
from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble

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
    assert 0 < number_from_child(OVERLAPPING) < LIMIT + 48 * MIB
