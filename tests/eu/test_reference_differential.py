"""Random programs give the same bits on the reference, the general handler and the fast handlers of every variant.

`tests/eu/fuzz_eu.py` runs more of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gen4emu._native import lib
from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble, encode_bytes
from tests.eu.differential import PARTS, Bench, Case, differences, random_start, reference_run, straight_case, text
from tests.eu.flow_programs import flow_case
from tests.eu.generate import end
from tests.eu.reference import Thread, Unspecified

VARIANTS = tuple(range(lib.g4_variant_best() + 1))


@pytest.fixture(autouse=True)
def same_variant_afterwards() -> Iterator[None]:
    before = lib.g4_variant_current()
    yield
    lib.g4_set_variant(before)


def compare(bench: Bench, case: Case, threads: list[Thread]) -> None:
    found = differences(threads, bench.run(case, general_only=True))
    assert not found, "\n".join([*found[:8], "general handler", text(case)])
    for variant in VARIANTS:
        lib.g4_set_variant(variant)
        found = differences(threads, bench.run(case, general_only=False))
        assert not found, "\n".join([*found[:8], f"fast handlers, variant {variant}", text(case)])


@pytest.mark.parametrize("gen", PARTS, ids=lambda g: g.name)
def test_straight_programs_agree(gen: Gen) -> None:
    bench = Bench(gen)
    for seed in range(28):
        straight = straight_case(1000 * int(gen) + seed, gen, 20)
        compare(bench, straight.case, straight.threads)


@pytest.mark.parametrize("gen", [Gen.CL, Gen.EL], ids=lambda g: g.name)
def test_programs_with_branches_agree(gen: Gen) -> None:
    bench = Bench(gen)
    compared = 0
    for seed in range(25):
        case = flow_case(1000 * int(gen) + seed, gen)
        try:
            threads = reference_run(case)
        except Unspecified:
            continue
        compare(bench, case, threads)
        compared += 1
    assert compared >= 20


@pytest.mark.parametrize("source", [
    "(-f0.0.any16h) cmp.g.f0.0(16) g15<1>B g4.4<0,1,0>B g7<16,16,1>B { align1 };",
    "(+f0.0.all16h) shr.nz.f0.0(16) m9<1>W g9.3<1,16,4>UW -g115.27<8,8,1>B { align1 nomask };",
])
def test_a_predicate_over_all_channels_is_read_before_the_flags_are_written(source: str) -> None:
    bench = Bench(Gen.EL)
    for seed in range(12):
        case = random_start(seed, Gen.EL)
        case.code = assemble(source, Gen.EL) + encode_bytes(end(Gen.EL))
        case.flags = [(0, 0xFFFF, 0xFF00, 0x00FF, 0x8000, 0xFFFE, 1, 0x7FFF)[t] for t in range(len(case.dmasks))]
        compare(bench, case, reference_run(case))
