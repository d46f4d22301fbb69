"""Kernels as machine code of the host: the same bits and counts as the general handler gives (native/eu/translate.h).

What is compared are programs as compilers lay them out, with loops and branches that become machine code whole, and
messages to the math unit among them.  On a host without AVX-512 this compares the handlers.
"""

from __future__ import annotations

import numpy as np
import pytest

from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble
from gen4emu.isa.instruction import encode_bytes
from tests.eu.differential import PARTS, Bench, Case, random_start, text
from tests.eu.flow_programs import flow_case
from tests.eu.generate import end


def compare(bench: Bench, case: Case) -> None:
    expected = bench.run(case, general_only=True)
    for _ in range(2):
        found = bench.run(case, general_only=False)
        assert found.status == expected.status, text(case)
        assert np.array_equal(found.grf, expected.grf), text(case)
        assert np.array_equal(found.mrf, expected.mrf), text(case)
        assert found.flags == expected.flags, text(case)
        assert found.instructions == expected.instructions, text(case)


@pytest.mark.parametrize("gen", PARTS, ids=lambda g: g.name)
def test_programs_of_compilers_agree(gen: Gen) -> None:
    bench = Bench(gen)
    for seed in range(60):
        compare(bench, flow_case(7000 * int(gen) + seed, gen, plain=True))


def program(source: str, **registers: list[float]) -> Case:
    case = random_start(4, Gen.EL)
    case.dmasks = [0xFFFF] * len(case.dmasks)
    case.alternate = False
    case.code = assemble(source, Gen.EL) + encode_bytes(end(Gen.EL))
    for name, values in registers.items():
        number = int(name[1:])
        case.grf[:, number:number + 2] = np.resize(np.array(values, np.float32).view(np.uint32), 16).reshape(2, 8)
    return case


NEWTON = """
    mov(16) g20<1>D 0D {align1 compr};
    do(16) {align1};
    start:
    mul(16) g12<1>F g10<8,8,1>F g10<8,8,1>F {align1 compr};
    add(16) g12<1>F g12<8,8,1>F -g14<8,8,1>F {align1 compr};
    send(16) 2 g16<1>F g10<8,8,1>F 0x01110001 {align1 compr};
    mul(16) g12<1>F g12<8,8,1>F g16<8,8,1>F {align1 compr};
    mul(16) g12<1>F g12<8,8,1>F 0.5F {align1 compr};
    add(16) g10<1>F g10<8,8,1>F -g12<8,8,1>F {align1 compr};
    cmp.l.f0.0(16) null<1>F (abs)g12<8,8,1>F 0.0001F {align1 compr};
    (+f0.0) break(16) done {align1};
    add(16) g20<1>D g20<8,8,1>D 1D {align1 compr};
    cmp.l.f0.0(16) null<1>D g20<8,8,1>D 50D {align1 compr};
    (+f0.0) while(16) start {align1};
    done:
"""


@pytest.mark.parametrize("start", [
    [1.0, 2.0, 3.0, 0.5], [1.0, np.inf, 2.0], [np.nan, 1.0], [0.0, 1.0], [3e38, 1.0], [1e-38, 1.0], [-0.0, -1.0]],
    ids=str)
def test_a_loop_whose_lanes_leave_one_by_one(start: list[float]) -> None:
    """Square roots; also where a lane meets infinities, NaN, overflow and denormals on the way."""
    compare(Bench(Gen.EL), program(NEWTON, g10=start, g14=[2.0, 3.0, 4.0, 1e6, 1e-6]))


def test_a_loop_without_end_is_stopped_as_ever() -> None:
    source = """
        do(16) {align1};
        start:
        add(16) g10<1>F g10<8,8,1>F 1.0F {align1 compr};
        while(16) start {align1};
    """
    bench = Bench(Gen.EL)
    case = program(source, g10=[0.0])
    expected = bench.run(case, general_only=True)
    found = bench.run(case, general_only=False)
    assert found.status == expected.status != 0
    assert found.instructions == expected.instructions
