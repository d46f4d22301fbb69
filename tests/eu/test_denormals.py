"""Threads that keep denormals, as those of OpenCL kernels do, have the bits of the general handler.

All of them keep those of floats and doubles: fast handlers and machine code execute them.  The general handler is
compared with numbers in tests/eu/test_gen7.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from gen4emu._native import lib
from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble, encode_bytes
from tests.eu import gen7_programs, gen9_programs
from tests.eu.differential import Bench, Case, compare
from tests.eu.gen7_programs import PARTS, end, result
from tests.harness.probe import Probe

KEEP = "or(1) cr0<1>UD cr0<0,1,0>UD 0x04c0UW { align1 WE_all 1N };\n"
KEEP_FLOATS = "or(1) cr0<1>UD cr0<0,1,0>UD 0x0080UW { align1 WE_all 1N };\n"
FLUSH = "and(1) cr0<1>UD cr0<0,1,0>UD 0xfffffb3fUD { align1 WE_all 1N };\n"
LEAST = 0x00800000  # the least normal float


@pytest.fixture(autouse=True, params=range(lib.g4_variant_best() + 1))
def _variant(request: pytest.FixtureRequest) -> Iterator[None]:
    before = lib.g4_variant_current()
    lib.g4_set_variant(request.param)
    yield
    lib.g4_set_variant(before)


# All variants run one set of programs: the reference, which makes them, takes longer than the core.
@cache
def straight(gen: Gen, seed: int) -> Case:
    return gen7_programs.straight_case(5000 + seed, gen, 32, doubles=seed % 3 == 2).case


@cache
def straight_gen9(seed: int, wide: bool) -> Case:
    return gen9_programs.straight_case(6000 + seed, 32, wide=wide).case


@cache
def branches(gen: Gen, seed: int, wide: bool) -> Case:
    return gen7_programs.flow_case(7000 + seed, gen, plain=True, wide=wide)


def after(text: str, case: Case, seed: int) -> Case:
    """A program that begins with other instructions, in whose registers many floats are denormal or nearly so."""
    numbers = np.random.default_rng(seed)
    small = numbers.random(case.grf.shape) < 0.3
    tiny = numbers.integers(0, 4 * LEAST, case.grf.shape, np.uint32) | numbers.integers(0, 2, case.grf.shape,
                                                                                       np.uint32) << 31
    grf = np.where(small, tiny, case.grf).astype(np.uint32)
    grf[:, 127] = case.grf[:, 127]  # addresses
    return replace(case, code=assemble(text, case.gen) + case.code, grf=grf)


@pytest.mark.parametrize("text", [KEEP, KEEP_FLOATS, KEEP + FLUSH], ids=["both", "floats", "flush again"])
@pytest.mark.parametrize("gen", [Gen.IVB, Gen.HSW, Gen.KBL])
def test_straight_programs_have_the_bits_of_the_general_handler(gen: Gen, text: str) -> None:
    bench = Bench(gen)
    for seed in range(9):
        compare(bench, after(text, straight(gen, seed), seed))


@pytest.mark.parametrize("wide", [False, True])
def test_programs_of_gen9_have_the_bits_of_the_general_handler(wide: bool) -> None:
    bench = Bench(Gen.KBL)
    for seed in range(12):
        compare(bench, after(KEEP, straight_gen9(seed, wide), seed))


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("gen", PARTS)
def test_branches_and_loops_have_the_bits_of_the_general_handler(gen: Gen, wide: bool) -> None:
    bench = Bench(gen, watchdog=1 if wide else 1000)  # some loops of wide threads are endless
    for seed in range(2 if wide else 6):
        case = branches(gen, seed, wide)  # with its own registers, which have the counts of loops
        compare(bench, replace(case, code=assemble(KEEP, gen) + case.code))


@pytest.mark.parametrize("gen", PARTS)
@pytest.mark.parametrize(("function", "value", "expected"), [
    ("inv", 0x00400000, 0x7F800000), ("sqrt", 0x00400000, 0), ("rsq", 0x80400000, 0xFF800000), ("inv", 0x7F7FFFFF, 0),
    ("inv", 0x40000000, 0x3F000000),
])
def test_extended_math_flushes_denormals(gen: Gen, function: str, value: int, expected: int) -> None:
    math = f"math {function}(8) g10<1>F g2<8,8,1>F null<8,8,1>F {{ align1 1Q }};"
    assert result(gen, KEEP + math, {2: value}) == [expected] * 8


def test_threads_with_different_modes_have_their_own() -> None:
    """The first of two threads keeps denormals."""
    probe = Probe(Gen.KBL)
    probe.start(2, [0xFF, 0xFF])
    probe.set_flags(0xFFFF, 0)
    for t in range(2):
        probe.grf(2, t)[:] = 1
        probe.grf(3, t)[:] = 2
    code = "(+f0.0) " + KEEP.replace("WE_all ", "") + "add(8) g10<1>F g2<8,8,1>F g3<8,8,1>F { align1 1Q };"
    probe.run_to_end(assemble(code, Gen.KBL) + encode_bytes(end(Gen.KBL)))
    assert [probe.grf(10, t)[0] for t in range(2)] == [3, 0]
