"""A program may change kernels while they are decoded: those that are cached are the ones that were read."""

from __future__ import annotations

import threading

from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble
from tests.harness.probe import Probe

LENGTH = 4000  # instructions; the core takes some milliseconds to decode them
TRIALS = 30


def test_a_kernel_that_changes_while_it_is_decoded_is_decoded_again() -> None:
    probe = Probe(Gen.EL)
    old, new = (assemble(f"add(1) g{20 + i}<1>UD g{20 + i}<0,1,0>UD 1UD {{ align1 }};", Gen.EL) * LENGTH
                + assemble(probe.end, Gen.EL) for i in range(2))
    for trial in range(TRIALS):
        probe.start(kernel_address=probe.kernel_address)
        probe.load(old)
        change = threading.Timer(0.0001 * trial, probe.load, [new])
        change.start()
        probe.run_to_end()
        change.join()
        probe.start(kernel_address=probe.kernel_address)
        probe.run_to_end()
        assert (probe.grf(20)[0], probe.grf(21)[0]) == (0, LENGTH)
