"""Kernels as machine code of the host: the same bits and counts as the general handler gives (native/eu/translate.h).

What is compared are programs as compilers lay them out, with loops and branches that become machine code whole, and
messages to the math unit among them.  On a host without AVX-512 this compares the handlers.
"""

from __future__ import annotations

import numpy as np
import pytest

from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble
from gen4emu.isa.instruction import Align1Region, DestRegion, Instruction, encode_bytes
from gen4emu.isa.opcodes import Opcode
from gen4emu.isa.registers import EXEC_SIZE_CODES, HSTRIDE_CODES, VSTRIDE_CODES, WIDTH_CODES, RegType
from tests.eu.differential import PARTS, Bench, Case, random_start, text
from tests.eu.flow_programs import flow_case
from tests.eu.generate import end, grf

MANY = 1000  # million instructions: a region is entered only when it cannot use up what is left


def compare(bench: Bench, case: Case) -> None:
    expected = bench.run(case, general_only=True)
    for _ in range(2):
        found = bench.run(case, general_only=False)
        assert found.status == expected.status, text(case)
        assert np.array_equal(found.grf, expected.grf), text(case)
        assert np.array_equal(found.mrf, expected.mrf), text(case)
        assert found.flags == expected.flags, text(case)
        assert found.instructions == expected.instructions, text(case)
        assert found.channel_ops == expected.channel_ops, text(case)
        assert found.math_messages == expected.math_messages, text(case)


@pytest.mark.parametrize("gen", PARTS, ids=lambda g: g.name)
def test_programs_of_compilers_agree(gen: Gen) -> None:
    bench = Bench(gen, MANY)
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
    compare(Bench(Gen.EL, MANY), program(NEWTON, g10=start, g14=[2.0, 3.0, 4.0, 1e6, 1e-6]))


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


def test_an_endless_loop_around_others_is_stopped_as_ever() -> None:
    """What a region has executed counts, also for the group that goes on behind it."""
    source = """
        again:
        mov(16) g20<1>D 0D {align1 compr};
        do(16) {align1};
        start:
        add(16) g20<1>D g20<8,8,1>D 1D {align1 compr};
        cmp.l.f0.0(16) null<1>D g20<8,8,1>D 500D {align1 compr};
        (+f0.0) while(16) start {align1};
        jmpi(1) again {align1 nomask};
    """
    bench = Bench(Gen.EL)
    case = program(source)
    del case.dmasks[1:], case.flags[1:]
    case.grf, case.mrf = case.grf[:1], case.mrf[:1]
    expected = bench.run(case, general_only=True)
    found = bench.run(case, general_only=False)
    assert found.status == expected.status != 0
    assert found.instructions == expected.instructions == 1_000_000


def test_what_is_only_written_stays_when_a_lane_took_a_wrong_way() -> None:
    """3e9 becomes 0x7fffffff (spec/40 3.4), where the host has 0x80000000, which would go into the branch."""
    source = """
        do(16) {align1};
        start:
        mov(16) g12<1>D g10<8,8,1>F {align1 compr};
        cmp.l.f0.0(16) null<1>D g12<8,8,1>D 0D {align1 compr};
        (+f0.0) if(16) mid {align1};
        mov(16) g20<1>D 7D {align1 compr};
        mov(16) m3<1>F g10<8,8,1>F {align1 compr};
        mid:
        endif(16) 1 {align1};
        mov.z.f0.0(16) null<1>D 0D {align1 compr};
        (-f0.0) while(16) start {align1};
    """
    compare(Bench(Gen.EL, MANY), program(source, g10=[3e9, 1.0, -3.0], g20=[5.0]))


def test_lanes_of_the_other_half_have_not_been_written() -> None:
    """A NaN in a lane that the first half does not enable, and that the second half reads."""
    source = """
        do(16) {align1};
        start:
        mul(8) g12<1>F g10<8,8,1>F g10<8,8,1>F {align1};
        add(8) g14<1>F g12<8,8,1>F g10<8,8,1>F {align1 sechalf};
        mov.z.f0.0(16) null<1>D 0D {align1 compr};
        (-f0.0) while(16) start {align1};
    """
    case = program(source, g10=[1.0])
    case.dmasks = [0xF00F] * len(case.dmasks)
    case.grf[:, 12] = 0xFFC12345
    compare(Bench(Gen.EL, MANY), case)


@pytest.mark.parametrize(("op", "size", "dst", "src0", "src1"), [
    (Opcode.MOV, 8, (RegType.D, 0), (RegType.W, 1, 8), None),
    (Opcode.MOV, 8, (RegType.D, 0), (RegType.W, 15, 8), None),
    (Opcode.ADD, 8, (RegType.D, 0), (RegType.D, 2, 1), (RegType.D, 0, 8)),
    (Opcode.ADD, 8, (RegType.D, 0), (RegType.D, 5, 1), (RegType.D, 0, 8)),
    (Opcode.MOV, 4, (RegType.D, 2), (RegType.D, 0, 4), None),
    (Opcode.MOV, 1, (RegType.D, 5), (RegType.D, 4, 1), None),
], ids=str)
def test_operands_between_dwords_agree(op: Opcode, size: int, dst: tuple[RegType, int],
                                       src0: tuple[RegType, int, int], src1: tuple[RegType, int, int] | None) -> None:
    def source(kind: RegType, sub: int, width: int, nr: int) -> object:
        stride = 0 if width == 1 else 1
        region = Align1Region(VSTRIDE_CODES[width * stride], WIDTH_CODES[width], HSTRIDE_CODES[stride])
        return grf(nr, kind, region, sub)

    members = {"dst": grf(10, dst[0], DestRegion(1), dst[1]), "src0": source(*src0, 12)}
    if src1:
        members["src1"] = source(*src1, 14)
    case = program("nop;")
    case.code = encode_bytes(Instruction(op, Gen.EL, EXEC_SIZE_CODES[size], **members)) + case.code  # type: ignore[arg-type]
    compare(Bench(Gen.EL), case)


def test_messages_of_threads_that_failed_are_counted_once() -> None:
    source = "send(16) 2 g16<1>F g10<8,8,1>F 0x01110001 {align1 compr};"
    case = program(source, g10=[1.0, 2.0])
    case.grf[0, 10, 0] = 0  # its inverse is infinite
    assert len(case.dmasks) > 2
    compare(Bench(Gen.EL), case)
