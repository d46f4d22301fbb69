"""Extended math: special values, channels, precision (965 PRM vol. 4, 6; docs/decisions.md 22, 25)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from gen4emu._native import lib
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.messages import MathFunction
from tests.harness.messages import INVERSE, SCALAR_INVERSE
from tests.harness.messages import descriptor as message_of
from tests.harness.probe import Event, Probe

_NAME = "EXTENDED_MATH_MESSAGE"
INV, LOG, EXP, SQRT, RSQ, SIN, COS, SINCOS, POW, DIV_BOTH, DIV_Q, DIV_R = (int(MathFunction[name]) for name in (
    "INV", "LOG", "EXP", "SQRT", "RSQ", "SIN", "COS", "SINCOS", "POW", "INT_DIV_BOTH", "INT_DIV_QUOTIENT",
    "INT_DIV_REMAINDER"))
SIGNED, SATURATE, SCALAR = (
    message_of(_NAME, Gen.EL, **{field: True}) ^ message_of(_NAME, Gen.EL)
    for field in ("signed_integer", "saturate", "scalar"))
LENGTHS = {SINCOS: (1, 2), POW: (2, 1), DIV_BOTH: (2, 2), DIV_Q: (2, 1), DIV_R: (2, 1)}
PINF, MINF, PMAX, MMAX, NAN = 0x7F800000, 0xFF800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7FC00000
P0, M0, PD, MD, ONE = 0, 0x80000000, 0x00000001, 0x80000001, 0x3F800000
QUIET, SIGNALLING = 0xFFC12345, 0x7F812345
RUNS = 4096
VARIANTS = {"plain": lib.G4_VARIANT_PLAIN, "avx2": lib.G4_VARIANT_AVX2, "avx512": lib.G4_VARIANT_AVX512}

U32 = NDArray[np.uint32]


def f(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def descriptor(function: int, flags: int = 0) -> int:
    mlen, rlen = LENGTHS.get(function, (1, 1))
    return message_of(_NAME, Gen.EL, length=mlen, response=rlen, math_function=function) | flags


class Math:
    def __init__(self, alternate: bool = False) -> None:
        self.probe = Probe(Gen.EL)
        self.probe.start(8, alternate_fp=alternate)

    def many(self, function: int, x: U32, y: U32 | None = None, flags: int = 0) -> tuple[U32, U32]:
        """Both results for arrays of operands, 64 at a time."""
        p, out = self.probe, np.zeros((2, len(x)), np.uint32)
        views = [[view(reg, t) for t in range(8)] for view, reg in ((p.mrf, 2), (p.mrf, 3), (p.grf, 4), (p.grf, 5))]
        for start in range(0, len(x), 64):
            for t in range(8):
                part = slice(start + 8 * t, start + 8 * t + 8)
                count = len(x[part])
                views[0][t][:count] = x[part]
                if y is not None:
                    views[1][t][:count] = y[part]
            p.send(descriptor(function, flags), mrf=2, dst=4, emask=[0xFF] * 8)
            for t in range(8):
                part = slice(start + 8 * t, start + 8 * t + 8)
                for k in range(2):
                    out[k, part] = views[2 + k][t][:len(x[part])]
        return out[0], out[1]

    def one(self, function: int, x: int, y: int = 0, flags: int = 0) -> int:
        return int(self.many(function, np.array([x], np.uint32), np.array([y], np.uint32), flags)[0][0])


@pytest.fixture(scope="module")
def ieee() -> Math:
    return Math()


@pytest.fixture(scope="module")
def alt() -> Math:
    return Math(alternate=True)


# --- values ---

@pytest.mark.parametrize(("function", "x", "y", "expected"), [
    (INV, 3.0, 0, 0x3EAAAAAB), (RSQ, 2.0, 0, 0x3F3504F3), (RSQ, 3.0, 0, 0x3F13CD3A), (SQRT, 2.0, 0, 0x3FB504F3),
    (SQRT, 3.0, 0, 0x3FDDB3D7), (LOG, 10.0, 0, 0x40549A78), (LOG, 3.0, 0, 0x3FCAE00D), (EXP, 0.5, 0, 0x3FB504F3),
    (EXP, -1.5, 0, 0x3EB504F3), (EXP, 10.0, 0, 0x44800000), (EXP, 127.5, 0, 0x7F3504F3), (SIN, 1.0, 0, 0x3F576AA4),
    (COS, 1.0, 0, 0x3F0A5140), (SIN, 100.0, 0, 0xBF01A12E), (POW, 3.0, 2.5, 0x41796A52), (POW, -0.5, 0.5, 0x3F3504F3),
])
def test_known_values_are_correctly_rounded(ieee: Math, function: int, x: float, y: float, expected: int) -> None:
    assert ieee.one(function, f(x), f(y)) == expected


F4, MF4 = f(4.0), f(-4.0)


@pytest.mark.parametrize(("function", "x", "in_ieee", "in_alt"), [
    (INV, PINF, P0, P0), (INV, P0, PINF, PMAX), (INV, PD, PINF, PMAX), (INV, M0, MINF, MMAX), (INV, MD, MINF, MMAX),
    (INV, MINF, M0, M0), (INV, MF4, f(-0.25), f(-0.25)), (INV, 0x7F000000, P0, P0), (INV, 0xFF000000, M0, M0),
    (LOG, PINF, PINF, PMAX), (LOG, P0, MINF, MMAX), (LOG, PD, MINF, MMAX), (LOG, M0, MINF, MMAX),
    (LOG, MINF, NAN, PMAX), (LOG, MF4, NAN, f(2.0)), (LOG, ONE, P0, P0),
    (EXP, PINF, PINF, PMAX), (EXP, P0, ONE, ONE), (EXP, MD, ONE, ONE), (EXP, MINF, P0, P0),
    (EXP, f(200.0), PINF, PMAX), (EXP, f(-200.0), P0, P0), (EXP, f(128.0), PINF, PMAX), (EXP, f(-127.0), P0, P0),
    (EXP, f(-126.0), 0x00800000, 0x00800000),
    (SQRT, PINF, PINF, PMAX), (SQRT, P0, P0, P0), (SQRT, PD, P0, P0), (SQRT, M0, M0, P0), (SQRT, MD, M0, P0),
    (SQRT, MINF, NAN, PMAX), (SQRT, MF4, NAN, f(2.0)),
    (RSQ, PINF, P0, P0), (RSQ, P0, PINF, PMAX), (RSQ, M0, MINF, PMAX), (RSQ, MD, MINF, PMAX), (RSQ, MINF, NAN, P0),
    (RSQ, MF4, NAN, f(0.5)), (RSQ, F4, f(0.5), f(0.5)),
    (SIN, PINF, NAN, NAN), (SIN, MINF, NAN, NAN), (SIN, P0, P0, P0), (SIN, PD, P0, P0), (SIN, M0, M0, M0),
    (SIN, MD, M0, M0), (COS, PINF, NAN, NAN), (COS, P0, ONE, ONE), (COS, M0, ONE, ONE), (COS, MD, ONE, ONE),
])
def test_special_values_are_those_of_the_tables(ieee: Math, alt: Math, function: int, x: int, in_ieee: int,
                                                in_alt: int) -> None:
    assert hex(ieee.one(function, x)) == hex(in_ieee)
    assert hex(alt.one(function, x)) == hex(in_alt)


@pytest.mark.parametrize("function", [INV, LOG, EXP, SQRT, RSQ, SIN, COS, POW])
def test_a_nan_stays_and_becomes_quiet(ieee: Math, alt: Math, function: int) -> None:
    for math in ieee, alt:
        assert math.one(function, SIGNALLING, ONE) == 0x7FC12345
        assert math.one(function, QUIET, ONE) & 0x7FFFFFFF == QUIET & 0x7FFFFFFF
    assert ieee.one(POW, ONE, SIGNALLING) == 0x7FC12345


BIG, SMALL = f(2.5), f(0.4)
POW_ROWS = [  # y; x: |F|>1, |F|<1, 1, inf, 0, -0, -inf, NaN
    (PINF, [PINF, P0, NAN, PINF, P0, P0, PINF, NAN]),
    (P0, [ONE, ONE, ONE, NAN, NAN, NAN, NAN, NAN]),
    (MD, [ONE, ONE, ONE, NAN, NAN, NAN, NAN, NAN]),
    (MINF, [P0, PINF, NAN, P0, PINF, PINF, P0, NAN]),
    (f(-2.0), [f(1 / 6.25), None, ONE, P0, PINF, PINF, P0, NAN]),
    (f(2.0), [f(6.25), None, ONE, PINF, P0, P0, PINF, NAN]),
    (NAN, [NAN] * 8),
]


@pytest.mark.parametrize(("y", "row"), POW_ROWS)
def test_powers_follow_from_two_to_the_y_times_log(ieee: Math, y: int, row: list[int | None]) -> None:
    for x, expected in zip([BIG, SMALL, ONE, PINF, PD, M0, MINF, NAN], row, strict=True):
        if expected is not None:
            assert hex(ieee.one(POW, x, y)) == hex(expected), hex(x)
            assert hex(ieee.one(POW, x ^ 0x80000000, y)) == hex(expected), hex(x)


def test_powers_of_alternate_mode(alt: Math) -> None:
    for x in BIG, SMALL, ONE, P0, M0, PD:
        assert alt.one(POW, x, P0) == alt.one(POW, x, MD) == ONE
    assert [alt.one(POW, x, f(-1.0)) for x in (P0, M0, MD)] == [PMAX] * 3
    assert [alt.one(POW, x, f(3.0)) for x in (P0, M0, MD)] == [P0] * 3
    assert alt.one(POW, NAN, P0) == NAN
    assert alt.one(POW, f(-2.0), f(3.0)) == f(8.0)


@pytest.mark.parametrize(("function", "x", "expected"), [
    (EXP, f(2.0), ONE), (EXP, f(-1.0), f(0.5)), (SIN, f(-1.0), P0), (INV, M0, P0), (INV, P0, ONE), (SQRT, M0, P0),
    (SQRT, MF4, P0), (COS, f(3.0), P0),
])
def test_saturation_ends_in_zero_to_one(ieee: Math, alt: Math, function: int, x: int, expected: int) -> None:
    assert ieee.one(function, x, flags=SATURATE) == expected
    if (function, x) != (SQRT, MF4):
        assert alt.one(function, x, flags=SATURATE) == expected


@pytest.mark.parametrize(("numerator", "denominator", "signed", "quotient", "remainder"), [
    (7, -2, True, 0xFFFFFFFD, 1), (-7, 2, True, 0xFFFFFFFD, 0xFFFFFFFF), (5, 0, True, 0x7FFFFFFF, 0x7FFFFFFF),
    (-5, 0, True, 0x80000000, 0x80000000), (0, 0, True, 0x7FFFFFFF, 0x7FFFFFFF), (5, 0, False, 0xFFFFFFFF, 0xFFFFFFFF),
    (0xFFFFFFFF, 3, False, 0x55555555, 0), (0x80000000, -1, True, 0x80000000, 0), (0x80000000, 0xFFFFFFFF, False, 0,
                                                                                 0x80000000),
])
def test_divisions_have_the_denominator_first(ieee: Math, numerator: int, denominator: int, signed: bool, quotient: int,
                                              remainder: int) -> None:
    x, y = (np.array([v & 0xFFFFFFFF], np.uint32) for v in (denominator, numerator))
    for flags in (SIGNED,) if signed else (0, SATURATE):
        flags |= SIGNED if signed else 0
        both = ieee.many(DIV_BOTH, x, y, flags)
        assert (int(both[0][0]), int(both[1][0])) == (quotient, remainder)
        assert ieee.one(DIV_Q, int(x[0]), int(y[0]), flags) == quotient
        assert ieee.one(DIV_R, int(x[0]), int(y[0]), flags) == remainder


def test_random_divisions_truncate(ieee: Math) -> None:
    random = np.random.default_rng(3)
    n, d = (random.integers(0, 1 << 32, RUNS, np.uint64) >> random.integers(0, 32, RUNS, np.uint64) for _ in range(2))
    d[d == 0] = 1
    q, r = ieee.many(DIV_BOTH, d.astype(np.uint32), n.astype(np.uint32))
    assert (q == n // d).all()
    assert (r == n % d).all()
    n, d = (v.astype(np.uint32).view(np.int32).astype(np.int64) for v in (n, d))
    q, r = ieee.many(DIV_BOTH, d.astype(np.uint32), n.astype(np.uint32), SIGNED)
    expected = np.abs(n) // np.abs(d) * np.sign(n) * np.sign(d)
    assert (q.view(np.int32) == expected).all()
    assert (r.view(np.int32) == n - expected * d).all()


@pytest.mark.usefixtures("any_variant")
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_quotients_next_to_an_integer_truncate(variant: int) -> None:
    """One below, at and one above multiples of denominators of all sizes, the largest multiples among them."""
    if lib.g4_set_variant(variant) != lib.G4_OK:
        pytest.skip("this processor does not have the instructions")
    random = np.random.default_rng(4)
    d = np.maximum(random.integers(0, 1 << 32, RUNS, np.uint64) >> random.integers(0, 32, RUNS, np.uint64), 1)
    largest = np.uint64(0xFFFFFFFF) // d
    multiple = d * np.where(random.integers(0, 2, RUNS), largest, random.integers(1, largest + 1, dtype=np.uint64))
    math = Math()
    for n in multiple - 1, multiple, np.minimum(multiple + 1, 0xFFFFFFFF):
        q, r = math.many(DIV_BOTH, d.astype(np.uint32), n.astype(np.uint32))
        assert (q == n // d).all()
        assert (r == n % d).all()


# --- precision ---

def operands(seed: int, low: int = 1, high: int = 254) -> U32:
    random = np.random.default_rng(seed)
    return (random.integers(low, high + 1, RUNS).astype(np.uint32) << 23
            | random.integers(0, 1 << 23, RUNS).astype(np.uint32))


def flushed(bits: U32) -> U32:
    return np.where(bits & 0x7F800000, bits, bits & 0x80000000).astype(np.uint32)


def test_reciprocals_and_roots_are_the_nearest_floats(ieee: Math) -> None:
    """Exact arithmetic: the float next to the result on either side is no nearer (within 1 ULP)."""
    x = operands(1, 2, 252)
    exact = [Fraction(float(v)) for v in x.view(np.float32)]
    half_powers: dict[int, Callable[[Fraction, Fraction], Fraction]] = {
        INV: lambda v, x: v * x - 1, SQRT: lambda v, x: v * v - x, RSQ: lambda v, x: v * v * x - 1}
    for function, distance in half_powers.items():
        got, _ = ieee.many(function, x)
        lower = [(Fraction(float(a)) + Fraction(float(b))) / 2 for a, b in zip(
            got.view(np.float32), np.nextafter(got.view(np.float32), np.float32(0)), strict=True)]
        upper = [(Fraction(float(a)) + Fraction(float(b))) / 2 for a, b in zip(
            got.view(np.float32), np.nextafter(got.view(np.float32), np.float32(np.inf)), strict=True)]
        assert all(distance(v, x) <= 0 for v, x in zip(lower, exact, strict=True))
        assert all(distance(v, x) >= 0 for v, x in zip(upper, exact, strict=True))


def nearest(values: NDArray[np.longdouble]) -> U32:
    with np.errstate(over="ignore", under="ignore"):
        return flushed(values.astype(np.float32).view(np.uint32))


def wide(bits: U32) -> NDArray[np.longdouble]:
    return bits.view(np.float32).astype(np.longdouble)


@pytest.mark.parametrize(("function", "x", "expected"), [
    (LOG, operands(2), np.log2), (LOG, operands(3, 126, 127), np.log2),
    (EXP, operands(4, 90, 132), np.exp2), (EXP, operands(5, 110, 133) | np.uint32(M0), np.exp2),
    (SIN, operands(6, 100, 134), np.sin), (COS, operands(7, 100, 134), np.cos),
], ids=["log", "log near 1", "exp", "exp of negatives", "sin", "cos"])
def test_functions_are_correctly_rounded(ieee: Math, function: int, x: U32,
                                         expected: Callable[[NDArray[np.longdouble]], NDArray[np.longdouble]]) -> None:
    got, _ = ieee.many(function, x)
    assert np.count_nonzero(got != nearest(expected(wide(x)))) == 0


def test_powers_are_as_good_as_their_product(ieee: Math) -> None:
    x, y = operands(8, 117, 137), operands(9, 110, 131)
    got, _ = ieee.many(POW, x, y)
    assert np.count_nonzero(got != nearest(np.exp2(wide(y) * np.log2(wide(x))))) == 0


def test_sines_of_large_angles_stay_in_range(ieee: Math) -> None:
    x = operands(10, 135, 254)
    for result in ieee.many(SINCOS, x):
        assert (np.abs(result.view(np.float32)) <= 1).all()
    sine, cosine = (r.view(np.float32).astype(float) for r in ieee.many(SINCOS, x))
    assert np.abs(sine**2 + cosine**2 - 1).max() < 1e-6


def test_sincos_is_sine_then_cosine(ieee: Math) -> None:
    x = operands(11, 100, 134)
    sine, cosine = ieee.many(SINCOS, x)
    assert (sine == ieee.many(SIN, x)[0]).all()
    assert (cosine == ieee.many(COS, x)[0]).all()


@pytest.fixture
def any_variant() -> Iterator[None]:
    before = lib.g4_variant_current()
    yield
    lib.g4_set_variant(before)


@pytest.mark.usefixtures("any_variant")
def test_bits_do_not_depend_on_the_vectors() -> None:
    random = np.random.default_rng(12)
    x, y = (random.integers(0, 1 << 32, RUNS, np.uint64).astype(np.uint32) for _ in range(2))
    special = np.array([P0, M0, PD, MD, PINF, MINF, NAN, SIGNALLING, ONE, PMAX, MMAX, 0x00800000], np.uint32)
    x[:144], y[:144] = np.repeat(special, 12), np.tile(special, 12)
    for alternate in False, True:
        found = []
        for variant in VARIANTS.values():
            if lib.g4_set_variant(variant) != lib.G4_OK:
                continue
            math = Math(alternate)
            found.append([r.tobytes() for function in (INV, LOG, EXP, SQRT, RSQ, SINCOS, POW, DIV_BOTH)
                          for r in math.many(function, x, y, SIGNED)])
        assert all(results == found[0] for results in found)


# --- channels ---

def test_disabled_channels_stay() -> None:
    """send(8) with the write mask .w and channels 3 and 7."""
    p = Probe(Gen.EL)
    p.mrf(0)[:] = f(4.0)
    p.grf(4)[:] = 7
    p.send(descriptor(INV), dst=4, emask=0x88)
    assert list(p.grf(4)) == [7, 7, 7, f(0.25), 7, 7, 7, f(0.25)]
    p.send(descriptor(INV), dst=5, emask=0xFF00)
    assert list(p.grf(5)) == [0] * 8


def test_scalar_operands_stand_for_groups_of_four() -> None:
    """The second operand is the channel's own (docs/decisions.md 22)."""
    p = Probe(Gen.EL)
    p.mrf(0)[:] = [f(v) for v in (2, 9, 9, 9, 4, 9, 9, 9)]
    p.mrf(1)[:] = [f(v) for v in range(8)]
    p.send(descriptor(POW, SCALAR), dst=4)
    assert list(p.grf(4).view(np.float32)) == [1, 2, 4, 8, 4**4, 4**5, 4**6, 4**7]
    p.send(descriptor(INV, SCALAR), dst=5)
    assert list(p.grf(5).view(np.float32)) == [0.5] * 4 + [0.25] * 4
    p.mrf(0)[:] = [10, 9, 9, 9, 7, 9, 9, 9]
    p.mrf(1)[:] = [100, 101, 102, 103, 104, 105, 106, 107]
    p.send(descriptor(DIV_R, SCALAR), dst=6)
    assert list(p.grf(6)) == [0, 1, 2, 3, 6, 0, 1, 2]


def test_one_channel_lands_in_its_dword() -> None:
    """CLIP: send(1) g5.3 <- 1/g5.3, the other dwords are in use."""
    p = Probe(Gen.EL)
    p.grf(5)[:] = [f(v) for v in range(1, 9)]
    p.run_to_end(f"send(1) 0 g5.3<1>F g5.3<0,1,0>F {SCALAR_INVERSE}UD {{ align1 nomask }};\n"
                 f"send(1) 0 g5.6<1>F g5.1<0,1,0>F {SCALAR_INVERSE}UD {{ align1 nomask }};")
    assert list(p.grf(5).view(np.float32)) == [1, 2, 3, 0.25, 5, 6, 0.5, 8]


def test_a_region_that_runs_into_the_next_register() -> None:
    """SF: send(4) g6.0 <- 1/g1.3 to g1.6, and results that begin at dword 6."""
    p = Probe(Gen.EL)
    p.grf(1)[:] = [f(v) for v in (1, 1, 1, 2, 4, 8, 16, 1)]
    p.run_to_end(f"send(4) 0 g6<1>F g1.3<4,4,1>F {INVERSE}UD {{ align1 }};\n"
                 f"send(4) 0 g8.6<1>F g1.3<4,4,1>F {INVERSE}UD {{ align1 }};\n"
                 f"send(4) 0 g127.6<1>F g1.3<4,4,1>F {INVERSE}UD {{ align1 }};")
    assert list(p.grf(6).view(np.float32)) == [0.5, 0.25, 0.125, 0.0625, 0, 0, 0, 0]
    assert list(p.grf(8).view(np.float32)[6:]) + list(p.grf(9).view(np.float32)[:2]) == [0.5, 0.25, 0.125, 0.0625]
    assert list(p.grf(127).view(np.float32)[6:]) == [0.5, 0.25]


def test_a_compressed_send_is_two_of_eight() -> None:
    """Gen4.5: m2 <- g10 and m3 <- g11, to g12 and g13."""
    p = Probe(Gen.CTG)
    p.start(dmask=0x81FF)
    p.grf(10)[:], p.grf(11)[:] = f(2.0), f(4.0)
    p.run_to_end(f"send(16) 2 g12<1>F g10<8,8,1>F {INVERSE}UD {{ align1 compr }};")
    assert list(p.grf(12).view(np.float32)) == [0.5] * 8
    assert list(p.grf(13).view(np.float32)) == [0.25] + [0] * 6 + [0.25]
    assert list(p.mrf(3).view(np.float32)) == [4] * 8


def test_the_mode_is_that_of_cr0_at_the_time_of_the_send() -> None:
    p = Probe(Gen.EL)
    p.run_to_end(f"send(8) 0 g4<1>F g1<8,8,1>F {INVERSE}UD {{ align1 }};\n"
                 "or(1) cr0<1>UD cr0<0,1,0>UD 1UD { align1 nomask switch };\n"
                 f"send(8) 0 g5<1>F g1<8,8,1>F {INVERSE}UD {{ align1 }};")
    assert (int(p.grf(4)[0]), int(p.grf(5)[0])) == (PINF, PMAX)


# --- messages that are none ---

@pytest.mark.parametrize("function", [0, 9, 14, 15])
def test_reserved_functions_write_nothing(function: int) -> None:
    p = Probe(Gen.EL)
    p.grf(4)[:] = 7
    p.send(descriptor(function), dst=4)
    assert list(p.grf(4)) == [7] * 8
    assert p.events() == {Event.BAD_MESSAGE: p.event(Event.BAD_MESSAGE)}


def test_lengths_are_checked() -> None:
    p = Probe(Gen.EL)
    p.grf(4)[:] = 7
    p.send(message_of(_NAME, Gen.EL, response=1, math_function=POW), dst=4)
    assert p.event(Event.BAD_LENGTH).count == 1
    assert list(p.grf(4)) == [7] * 8
    p.grf(5)[:] = 7
    p.send(message_of(_NAME, Gen.EL, response=2, math_function=INV), dst=4)
    assert p.event(Event.BAD_RESPONSE).count == 1
    assert int(p.grf(4)[0]) == PINF
    assert list(p.grf(5)) == [7] * 8
