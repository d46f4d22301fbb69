"""Products of dwords through the accumulator, and quotients: the fast handler has the bits of the general one."""

from __future__ import annotations

import numpy as np
import pytest

from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble, encode_bytes
from tests.eu.gen7_programs import PARTS, end
from tests.harness.probe import Probe

# Of all shapes that lanes have: packed, scalar, swizzled, immediate; with disabled channels; in two passes.
PROGRAMS = [
    (Gen.BW, """
        mul(8) acc0<1>{kind} g2<8,8,1>{kind} g3<8,8,1>{kind} {{ align1 }};
        mach(8) g8<1>{kind} g2<8,8,1>{kind} g3<8,8,1>{kind} {{ align1 }};
        mov(8) g9<1>{kind} acc0<8,8,1>{kind} {{ align1 }};
    """),
    (Gen.EL, """
        mul(8) acc0<1>{kind} g2<0,1,0>{kind} g3<8,8,1>{kind} {{ align1 }};
        (+f0.0) mul(8) acc0<1>{kind} g3<8,8,1>{kind} g4<8,8,1>{kind} {{ align1 }};
        (-f0.0) mach(8) g8<1>{kind} g2<0,1,0>{kind} g3<8,8,1>{kind} {{ align1 }};
        mov(8) g9<1>{kind} acc0<8,8,1>{kind} {{ align1 }};
    """),
    (Gen.HSW, """
        mul(8) acc0<1>{kind} g2<4>.wzyx{kind} g3<0>.y{kind} {{ align16 1Q }};
        mach(8) g8<1>.xzw{kind} g2<4>.wzyx{kind} g3<0>.y{kind} {{ align16 1Q AccWrEnable }};
        mov(8) g9<1>{kind} acc0<8,8,1>{kind} {{ align1 1Q }};
    """),
    (Gen.HSW, """
        mul(16) acc0<1>{kind} g2<8,8,1>{kind} 0xaaaaaaab{kind} {{ align1 1H }};
        (+f0.0) mach(16) g8<1>{kind} g2<8,8,1>{kind} 0xaaaaaaab{kind} {{ align1 1H AccWrEnable }};
        mov(16) g10<1>{kind} acc0<8,8,1>{kind} {{ align1 1H }};
    """),
    (Gen.IVB, """
        mul(8) acc0<1>{kind} g2<8,8,1>{kind} g3<0,1,0>{kind} {{ align1 2Q }};
        mach(8) g8<2>{kind} g2<8,8,1>{kind} g3<0,1,0>{kind} {{ align1 2Q AccWrEnable }};
        mach(8) null<1>{kind} g4<8,8,1>{kind} g3<8,8,1>{kind} {{ align1 2Q AccWrEnable }};
        mov(8) g10<1>{kind} acc0<8,8,1>{kind} {{ align1 2Q }};
    """),
    (Gen.HSW, """
        math intdiv(8) g8<1>{kind} g2<4>.wzyx{kind} g3<0>.y{kind} {{ align16 1Q }};
        math intmod(8) g9<1>.xzw{kind} g2<4>{kind} g3<4>{kind} {{ align16 1Q }};
        (+f0.0) math intdiv(8) g10<1>{kind} g3<8,8,1>{kind} g4<8,8,1>{kind} {{ align1 2Q }};
        math intmod(8) g11<1>{kind} g4<8,8,1>{kind} g3<0,1,0>{kind} {{ align1 1Q }};
    """),
    (Gen.IVB, "math intmod(16) g8<1>{kind} g2<8,8,1>{kind} g4<8,8,1>{kind} {{ align1 1H }};"),
]
NUMBERS = np.array([0, 1, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xAAAAAAAB], np.uint32)


def kernel(gen: Gen, code: str) -> str | bytes:
    return assemble(code, gen) + encode_bytes(end(gen)) if gen in PARTS else code


def results(gen: Gen, code: str, general_only: bool) -> list[int]:
    random = np.random.default_rng(15)
    probe = Probe(gen)
    probe.start(8, 0xFFFF)
    for t in range(8):
        for reg in range(2, 6):
            probe.grf(reg, t)[:] = np.where(random.random(8) < 0.5, random.choice(NUMBERS, 8),
                                            random.integers(0, 1 << 32, 8, np.uint32))
        probe.grf(6, t)[:] = random.integers(0, 1 << 16, 8, np.uint32)
    code = f"mov(1) f0.0<1>UW g6<0,1,0>UW {{ align1 nomask }};\n{code}"
    probe.run_to_end(kernel(gen, code), general_only=general_only)
    return [int(x) for t in range(8) for reg in range(8, 12) for x in probe.grf(reg, t)]


@pytest.mark.parametrize("kind", ["D", "UD"])
@pytest.mark.parametrize(("gen", "code"), PROGRAMS)
def test_the_results_are_those_of_the_general_handler(gen: Gen, code: str, kind: str) -> None:
    text = code.format(kind=kind)
    expected = results(gen, text, general_only=True)
    assert len(set(expected)) > 40
    assert results(gen, text, general_only=False) == expected


@pytest.mark.parametrize("general_only", [False, True])
@pytest.mark.parametrize("kind", ["D", "UD"])
def test_mach_completes_a_product(general_only: bool, kind: str) -> None:
    probe = Probe(Gen.HSW)
    probe.start(8, 0xFFFF)
    pairs = [(int(a), int(b)) for a in NUMBERS for b in NUMBERS]
    for t in range(8):
        probe.grf(2, t)[:], probe.grf(3, t)[:] = np.array(pairs[8 * t:8 * t + 8], np.uint32).T
    probe.run_to_end(kernel(Gen.HSW, f"""
        mul(8) acc0<1>{kind} g2<8,8,1>{kind} g3<8,8,1>{kind} {{ align1 1Q }};
        mach(8) g8<1>{kind} g2<8,8,1>{kind} g3<8,8,1>{kind} {{ align1 1Q AccWrEnable }};
    """), general_only=general_only)

    def number(bits: int) -> int:
        return bits - (bits >> 31 << 32) if kind == "D" else bits

    expected = [number(a) * number(b) >> 32 & 0xFFFFFFFF for a, b in pairs]
    assert [int(x) for t in range(8) for x in probe.grf(8, t)] == expected
