"""Damaged batches under a debugger that looks at everything: errors of ours only, and soon over."""

from __future__ import annotations

import random

from gen4emu.device.device import Device
from tests.debugger.nosy import Nosy
from tests.device.fuzz_batches import Fuzzer


def test_damaged_batches_under_a_nosy_debugger() -> None:
    fuzzer = Fuzzer(7, "", nosy=True)
    for number in range(250):
        fuzzer.one(number)
    assert sum(nosy.events for nosy in fuzzer.nosy.values()) > 0


def test_a_nosy_debugger_depends_on_its_seed_alone(monkeypatch: object) -> None:
    from gen4emu.hw.chips import BY_NAME

    wanted = []
    for _ in range(2):
        with Device(BY_NAME["g45"]) as device:
            nosy = Nosy(device)
            nosy.change(random.Random(5).getrandbits(32))
            wanted.append((list(nosy.subscription.traps), list(nosy.subscription.breakpoints), nosy.subscription.pixel))
    assert wanted[0] == wanted[1]
