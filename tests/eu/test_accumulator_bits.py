"""All handlers and variants write the same bits to the accumulator, as integer instructions read them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gen4emu._native import lib
from gen4emu.hw.gen import Gen
from tests.harness.probe import Probe

SPECIAL = np.array([0x7FC00000, 0xFFC12345, 0x7F800000, 0xFF800000, 0x3F800000, 0, 0x80000001, 0x7F7FFFFF], np.uint32)


@pytest.fixture
def variants() -> Iterator[range]:
    before = lib.g4_variant_current()
    yield range(lib.g4_variant_best() + 1)
    lib.g4_set_variant(before)


def run(general_only: bool) -> list[int]:
    probe = Probe(Gen.BW)
    probe.start(8, 0xFFFF)
    for t in range(8):
        probe.grf(2, t)[:] = np.roll(SPECIAL, t)
        probe.grf(3, t)[:] = np.roll(SPECIAL, 2 * t + 3)
        probe.grf(4, t)[:] = np.roll(SPECIAL, 3 * t + 5)
    probe.run_to_end("""
        line(8) null<1>F g2<0,1,0>F g3<8,8,1>F { align1 };
        mac(8) g5<1>F g2<8,8,1>F g4<8,8,1>F { align1 };
        mach(8) g6<1>D g7<8,8,1>D g7<8,8,1>D { align1 };
    """, general_only=general_only)
    return [int(x) for t in range(8) for reg in (5, 6) for x in probe.grf(reg, t)]


def test_every_variant_writes_the_same_bits(variants: range) -> None:
    expected = run(general_only=True)
    assert 0x7FC00000 in expected and 0x7FF80000 in expected  # one NaN, in single and in double
    for variant in variants:
        lib.g4_set_variant(variant)
        assert run(general_only=False) == expected
