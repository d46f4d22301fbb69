"""Machine code gives the bits and counts of the general handler (native/eu/jit/jit.h).

The programs are like those of compilers, with loops and branches that are translated as a whole and messages to the
math unit.  All tests run with each back end that the host can execute; without one, they compare the fast handlers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gen4emu._native import lib
from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble, encode_bytes
from gen4emu.isa.instruction import Align1Region, DestRegion, Instruction
from gen4emu.isa.opcodes import Opcode
from gen4emu.isa.registers import (
    EXEC_SIZE_CODES,
    HSTRIDE_CODES,
    VSTRIDE_CODES,
    WIDTH_CODES,
    CondMod,
    Predicate,
    RegType,
)
from tests.eu import gen7_programs
from tests.eu.differential import PARTS, Bench, Case, Outcome, compare, random_start, straight_case, text
from tests.eu.flow_programs import flow_case
from tests.eu.generate import end, grf
from tests.harness.messages import INVERSE, INVERSE_ROOT, ROOT
from tests.harness.native import harness
from tests.harness.probe import Event

MANY = 1000  # million instructions: the code of a loop runs only if it cannot use up the rest


VARIANTS = ("plain", "avx2", "avx512")
BACK_ENDS = VARIANTS[1:lib.g4_variant_best() + 1] or VARIANTS[:1]


@pytest.fixture(autouse=True, params=BACK_ENDS)
def _back_end(request: pytest.FixtureRequest) -> Iterator[None]:
    before = lib.g4_variant_current()
    lib.g4_set_variant(VARIANTS.index(request.param))
    yield
    lib.g4_set_variant(before)


# All back ends run one set of programs: the reference, which makes them, takes longer than the core.
@cache
def flow(seed: int, gen: Gen) -> Case:
    return flow_case(seed, gen, plain=True)


@cache
def flow_gen7(seed: int, gen: Gen, overlaps: bool = False) -> Case:
    return gen7_programs.flow_case(seed, gen, plain=True, overlaps=overlaps)


@cache
def straight(seed: int, gen: Gen) -> Case:
    return straight_case(seed, gen, 24).case


@pytest.mark.parametrize("gen", PARTS, ids=lambda g: g.name)
def test_programs_like_those_of_compilers_agree(gen: Gen) -> None:
    bench = Bench(gen, MANY)
    for seed in range(60):
        compare(bench, flow(7000 * int(gen) + seed, gen))


@pytest.mark.parametrize("gen", gen7_programs.PARTS, ids=lambda g: g.name)
def test_programs_with_channel_pointers_agree(gen: Gen) -> None:
    bench = Bench(gen, MANY)
    for seed in range(80):
        compare(bench, flow_gen7(7000 * int(gen) + seed, gen))


def with_epilogue(case: Case, rows: list[int], flags: str = "", length: int = 4) -> Case:
    """The program, with the sum without carries of some pairs of registers in m2 and m3 at its end, and a last message
    that reads `length` registers of the MRF.  `flags` is an instruction that reads flags."""
    lines = ["mov(16) g90<1>UD 0UD {align1 compr};", flags]
    lines += [f"xor(16) g90<1>UD g90<8,8,1>UD g{row}<8,8,1>UD {{align1 compr}};" for row in rows]
    lines += ["mov(16) m2<1>UD g90<8,8,1>UD {align1 compr};"]
    message = (0x80000000 | length << 20).to_bytes(4, "little")
    return replace(case, code=case.code[:-16] + assemble("\n".join(lines), case.gen) + case.code[-16:-4] + message)


READ_FLAGS = ("", "(+f0.0) mov(16) g90<1>UD 0x12345678UD {align1 compr};", "mov(8) g90<1>UW f0<0,1,0>UW {align1};",
              "(+f0.1) mov(16) g90<1>UD 0x12345678UD {align1 compr};")


def compare_what_is_read(bench: Bench, case: Case, rows: list[int], flags: str = "", length: int = 4) -> None:
    """The last message gets what the general handler sends, if only registers that are read again are kept."""
    harness().g4_probe_keep_registers(bench.probe._probe, False)
    case = with_epilogue(case, rows, flags, length)
    expected = bench.run(case, general_only=True)
    for _ in range(2):
        found = bench.run(case, general_only=False)
        assert found.status == expected.status, text(case)
        assert np.array_equal(found.mrf[:, :length], expected.mrf[:, :length]), text(case)
        assert found.instructions == expected.instructions, text(case)


@pytest.mark.parametrize("gen", PARTS, ids=lambda g: g.name)
def test_registers_that_are_read_again_have_their_values(gen: Gen) -> None:
    """What no instruction reads needs no store; all else must be in memory when it is read."""
    bench = Bench(gen, MANY)
    rng = random.Random(int(gen))
    for seed in range(120):
        compare_what_is_read(bench, flow(9000 * int(gen) + seed, gen), rng.sample(range(10, 60, 2), rng.randrange(8)),
                             rng.choice(READ_FLAGS), rng.choice((4, 4, 9, 15)))


@pytest.mark.parametrize("overlaps", [False, True], ids=["pairs", "overlaps"])
@pytest.mark.parametrize("gen", gen7_programs.PARTS, ids=lambda g: g.name)
def test_payload_registers_have_their_values(gen: Gen, overlaps: bool) -> None:
    """Since Gen7 messages read registers: the last one those of the sum of some others.

    With `overlaps`, channels of both halves use a register, for values of their own or for the same ones.
    """
    bench = Bench(gen, MANY)
    harness().g4_probe_keep_registers(bench.probe._probe, False)
    rng = random.Random(int(gen))
    for seed in range(60):
        case = flow_gen7(9000 * int(gen) + seed, gen, overlaps)
        lines = ["mov(8) g2<1>UD 0UD { align1 1Q };",
                 rng.choice(("", "(+f0.0) mov(8) g2<1>UD 0x12345678UD { align1 1Q };"))]
        for row in rng.sample([*range(10, 40, 2), *range(80, 110, 1 if overlaps else 2), 6], rng.randrange(8)):
            lines += [f"xor(8) g2<1>UD g2<8,8,1>UD g{row}<8,8,1>UD {{ align1 1Q }};"]
        case = replace(case, code=case.code[:-16] + assemble("\n".join(lines), gen) + case.code[-16:])
        expected = bench.run(case, general_only=True)
        for _ in range(2):
            found = bench.run(case, general_only=False)
            assert found.status == expected.status, text(case)
            assert np.array_equal(found.grf[:, 2], expected.grf[:, 2]), text(case)
            assert found.instructions == expected.instructions, text(case)


# Instructions that place pixels and interpolate: rows of words, and plane equations in registers that change.
WORDS = (
    "add(16) g{w}<1>{word} g{v}<16,16,1>{word} g{u}<16,16,1>{word} {{ align1 }};",
    "add(16) g{w}<1>UW g{v}<16,16,1>UW 0x11001100V {{ align1 }};",
    "mov(16) g{w}<1>{word} g{v}<16,16,1>{word} {{ align1 nomask }};",
    "(+f0) mov(16) g{w}<1>UW g{v}<16,16,1>UW {{ align1 }};",
    "add(8) g{w}{half}<1>UW g{v}{other}<8,8,1>UW 0x7fffUW {{ align1 {channels} }};",
    "add(8) g{f}<1>F g{w}{half}<8,8,1>{word} -g1<0,1,0>F {{ align1 {channels} }};",
    "add(8) g{f}<1>F g{w}{half}<8,8,1>{word} g1.1<0,1,0>F {{ align1 }};",
    "add(8) g{f}<1>F g{w}{half}<8,8,1>{word} g1.2<0,1,0>F {{ align1 sechalf }};",
    "mov(8) g{f}<1>UD g{w}.2<8,8,1>UW {{ align1 }};",
    "mov(16) g{f}<1>F g{p}<8,8,1>F {{ align1 compr }};",
)
PLANES = (
    "pln(16) g{f}<1>F g{c}{half_plane}<0,1,0>F g{p}<8,8,1>F {{ align1 compr }};",
    "pln(8) g{f}<1>F g{c}{half_plane}<0,1,0>F g{p}<8,8,1>F {{ align1 {channels} }};",
    "line(8) g{f}<1>F g{c}.1<0,1,0>F g{p}<8,8,1>F {{ align1 {channels} }};",
    "mov(1) g{c}.{dword}<1>F g{p}.3<0,1,0>F {{ align1 nomask }};",
    "mov(8) g{c}<1>F g{p}<8,8,1>F {{ align1 }};",
    "mul(16) g{f}<1>F g{p}<8,8,1>F g{q}<8,8,1>F {{ align1 compr }};",
    "(+f0) mul(16) g{f}<1>F g{p}<8,8,1>F g{q}<8,8,1>F {{ align1 compr }};",
    "cmp.l.f0(16) null<1>F g{p}<8,8,1>F g{q}<8,8,1>F {{ align1 compr }};",
    f"send(16) 2 g{{f}}<1>F g{{p}}<8,8,1>F {INVERSE} {{{{ align1 compr }}}};",
    "mac(16) g{f}<1>F g{p}<8,8,1>F g{q}<8,8,1>F {{ align1 compr }};",
)


def places(seed: int, *, special: bool) -> Case:
    """A program of them; all registers that it reads as floats are numbers, or hold infinities and NaN, too."""
    rng = random.Random(seed)
    case = random_start(seed, Gen.CTG)
    case.alternate = False
    floats = np.random.default_rng(seed).uniform(-300, 300, case.grf[:, :64].shape).astype(np.float32)
    if special:
        floats.flat[rng.randrange(floats.size)] = rng.choice((float("inf"), float("nan"), 3e38))
    words = case.grf[:, 20:24].copy()
    case.grf[:, :64] = floats.view(np.uint32)
    case.grf[:, 20:24] = words
    if rng.random() < 0.5:
        case.dmasks = [0xFFFF] * len(case.dmasks)
    lines = ""
    for _ in range(rng.randrange(6, 30)):
        w, v, u = (rng.randrange(20, 24) for _ in range(3))
        f, p, q = (rng.randrange(30, 50, 2) for _ in range(3))
        lines += rng.choice(rng.choice((WORDS, PLANES))).format(
            w=w, v=v, u=u, f=f, p=p, q=q, c=rng.randrange(8, 12), word=rng.choice(("UW", "W")), dword=rng.randrange(8),
            half=rng.choice(("", ".8")), other=rng.choice(("", ".8")), half_plane=rng.choice(("", ".4")),
            channels=rng.choice(("", "sechalf"))) + "\n"
    case.code = assemble(lines, Gen.CTG) + encode_bytes(end(Gen.CTG))
    return case


@pytest.mark.parametrize("keeps", [True, False], ids=["all registers", "those that are read again"])
@pytest.mark.parametrize("special", [False, True], ids=["numbers", "special"])
def test_words_and_planes_agree(special: bool, keeps: bool) -> None:
    bench = Bench(Gen.CTG, MANY)
    harness().g4_probe_keep_registers(bench.probe._probe, keeps)
    for seed in range(150):
        case = places(seed, special=special)
        if keeps:
            compare(bench, case)
            continue
        case = with_epilogue(case, random.Random(seed).sample(range(30, 50, 2), 4))
        expected = bench.run(case, general_only=True)
        found = bench.run(case, general_only=False)
        assert np.array_equal(found.mrf, expected.mrf), text(case)
        assert found.flags == expected.flags, text(case)


def gen7_program(source: str, threads: int, **registers: list[float]) -> Case:
    case = random_start(4, Gen.IVB)
    case.dmasks = [0xFFFF] * len(case.dmasks)
    case.alternate = False
    case.code = assemble(source, Gen.IVB) + encode_bytes(gen7_programs.end(Gen.IVB))
    for name, values in registers.items():
        number = int(name[1:])
        case.grf[:, number:number + 2] = np.resize(np.array(values, np.float32).view(np.uint32), 16).reshape(2, 8)
    case.grf, case.mrf = case.grf[:threads], case.mrf[:threads]
    del case.dmasks[threads:], case.flags[threads:]
    return case


def test_an_endless_loop_without_a_first_instruction_is_stopped_by_the_watchdog() -> None:
    source = """
        TOP:
        add(16) g10<1>F g10<8,8,1>F g12<8,8,1>F { align1 1H };
        while(16) JIP: TOP { align1 1H };
    """
    bench = Bench(Gen.IVB)
    case = gen7_program(source, 2, g10=[0.0], g12=[1.0])
    expected = bench.run(case, general_only=True)
    found = bench.run(case, general_only=False)
    assert found.status == expected.status != 0
    assert found.instructions == expected.instructions


@pytest.mark.parametrize("start", [
    [1.0, 2.0, 3.0, 0.5], [1.0, np.inf, 2.0], [np.nan, 1.0], [0.0, 1.0], [3e38, 1.0], [1e-38, 1.0], [-0.0, -1.0]],
    ids=str)
def test_channels_wait_behind_a_loop_inside_of_a_branch(start: list[float]) -> None:
    """Square roots, with a break in each side of a branch, and constants that only some threads write."""
    source = """
        mov(16) g20<1>D 0D { align1 1H };
        cmp.g.f0.0(16) null<1>F g14<8,8,1>F g18<8,8,1>F { align1 1H };
        (+f0.0) if(16) JIP: BEHIND UIP: BEHIND { align1 1H };
        TOP:
        mov(1) g6<1>F 0.5F { align1 WE_all 1N };
        math inv(16) g16<1>F g10<8,8,1>F null<8,8,1>F { align1 1H };
        mad(8) g12<1>F -g14<4,4,1>F g10<4,4,1>F g10<4,4,1>F { align16 1Q };
        mad(8) g13<1>F -g15<4,4,1>F g11<4,4,1>F g11<4,4,1>F { align16 2Q };
        mul(16) g12<1>F g12<8,8,1>F g16<8,8,1>F { align1 1H };
        mul(16) g12<1>F g12<8,8,1>F g6<0,1,0>F { align1 1H };
        add(16) g10<1>F g10<8,8,1>F -g12<8,8,1>F { align1 1H };
        cmp.l.f0.0(16) null<1>F g12<8,8,1>F g8<8,8,1>F { align1 1H };
        (+f0.0) if(16) JIP: OTHER UIP: END { align1 1H };
        mov(1) g6.1<1>F 0.25F { align1 WE_all 1N };
        add(16) g22<1>F g22<8,8,1>F g6.1<0,1,0>F { align1 1H };
        cmp.g.f0.0(16) null<1>F g12<8,8,1>F -g8<8,8,1>F { align1 1H };
        (+f0.0) break(16) JIP: ELSE UIP: LAST { align1 1H };
        ELSE:
        else(16) JIP: END { align1 1H };
        OTHER:
        add(16) g20<1>D g20<8,8,1>D 1D { align1 1H };
        cmp.g.f0.0(16) null<1>D g20<8,8,1>D 50D { align1 1H };
        (+f0.0) break(16) JIP: END UIP: LAST { align1 1H };
        END:
        endif(16) JIP: LAST { align1 1H };
        LAST:
        while(16) JIP: TOP { align1 1H };
        add(16) g24<1>F g10<8,8,1>F g24<8,8,1>F { align1 1H };
        BEHIND:
        endif(16) JIP: REST { align1 1H };
        REST:
        add(16) g26<1>F g10<8,8,1>F g26<8,8,1>F { align1 1H };
    """
    case = gen7_program(source, 4, g8=[1e-4], g10=start, g14=[2.0, 3.0, 4.0, 1e6, 1e-6], g18=[1.0], g22=[0.0],
                        g24=[1.0], g26=[1.0])
    compare(Bench(Gen.IVB, MANY), case)


def program(source: str, **registers: list[float]) -> Case:
    case = random_start(4, Gen.EL)
    case.dmasks = [0xFFFF] * len(case.dmasks)
    case.alternate = False
    case.code = assemble(source, Gen.EL) + encode_bytes(end(Gen.EL))
    for name, values in registers.items():
        number = int(name[1:])
        case.grf[:, number:number + 2] = np.resize(np.array(values, np.float32).view(np.uint32), 16).reshape(2, 8)
    return case


NEWTON = f"""
    mov(16) g20<1>D 0D {{align1 compr}};
    do(16) {{align1}};
    start:
    mul(16) g12<1>F g10<8,8,1>F g10<8,8,1>F {{align1 compr}};
    add(16) g12<1>F g12<8,8,1>F -g14<8,8,1>F {{align1 compr}};
    send(16) 2 g16<1>F g10<8,8,1>F {INVERSE} {{align1 compr}};
    mul(16) g12<1>F g12<8,8,1>F g16<8,8,1>F {{align1 compr}};
    mul(16) g12<1>F g12<8,8,1>F 0.5F {{align1 compr}};
    add(16) g10<1>F g10<8,8,1>F -g12<8,8,1>F {{align1 compr}};
    cmp.l.f0.0(16) null<1>F (abs)g12<8,8,1>F 0.0001F {{align1 compr}};
    (+f0.0) break(16) done {{align1}};
    add(16) g20<1>D g20<8,8,1>D 1D {{align1 compr}};
    cmp.l.f0.0(16) null<1>D g20<8,8,1>D 50D {{align1 compr}};
    (+f0.0) while(16) start {{align1}};
    done:
"""


@pytest.mark.parametrize("start", [
    [1.0, 2.0, 3.0, 0.5], [1.0, np.inf, 2.0], [np.nan, 1.0], [0.0, 1.0], [3e38, 1.0], [1e-38, 1.0], [-0.0, -1.0]],
    ids=str)
def test_a_loop_whose_lanes_leave_one_by_one(start: list[float]) -> None:
    """Square roots; also in lanes with infinities, NaN, overflow and denormals."""
    compare(Bench(Gen.EL, MANY), program(NEWTON, g10=start, g14=[2.0, 3.0, 4.0, 1e6, 1e-6]))


def test_an_endless_loop_is_stopped_by_the_watchdog() -> None:
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


def test_an_endless_loop_around_other_loops_is_stopped_by_the_watchdog() -> None:
    """Instructions of a loop count against the budget of the group that continues after it."""
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


def test_rows_that_are_only_written_are_restored_on_failure() -> None:
    """3e9 becomes 0x7fffffff; the host gives 0x80000000, which would enter the branch."""
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


def test_lanes_of_the_other_half_keep_their_old_values() -> None:
    """A NaN in a lane that is disabled in the first half and read in the second half."""
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


@pytest.mark.parametrize("factor", [1.0, float("nan")], ids=["success", "failure"])
@pytest.mark.parametrize(("dmask", "line"), [
    (0x00F0, "mov(8) g6<1>UW g12<8,8,1>UW {align1};"),
    (0x000F, "mov(4) g6.4<1>D g12<4,4,1>D {align1};"),
], ids=["words", "dwords"])
def test_stores_to_other_lanes_than_those_that_execute_agree(dmask: int, line: str, factor: float) -> None:
    """The product covers only the lanes that execute; the sum reads another one before it is overwritten."""
    element = "g6.2" if dmask == 0x00F0 else "g6.5"
    source = f"""
        mul(8) g6<1>F g10<8,8,1>F g10<8,8,1>F {{align1}};
        add(8) g8<1>D {element}<0,1,0>D g14<8,8,1>D {{align1}};
        {line}
        mul(8) g20<1>F g16<8,8,1>F g16<8,8,1>F {{align1}};
    """
    case = program(source, g10=[2.0, 3.0], g12=[4.0, 5.0, 6.0], g16=[factor])
    case.dmasks = [dmask] * len(case.dmasks)
    compare(Bench(Gen.EL, MANY), case)


@pytest.mark.parametrize("alternate", [False, True])
@pytest.mark.parametrize("line", [f"{select}(16) g20<1>F {sources} {{align1 compr}};"
                                  for select in ("sel.ge", "sel.l", "sel.z", "sel.nz", "(+f0.0) sel")
                                  for sources in ("g10<8,8,1>F (abs)g12<8,8,1>F", "-g10<8,8,1>F g12<8,8,1>F",
                                                  "-g10<8,8,1>F 1.0F")])
def test_a_sel_copies_one_float_and_flushes_the_other_one(line: str, alternate: bool) -> None:
    special = np.array([0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0x7FC12345, 0x7F812345],
                       np.uint32)
    values = np.concatenate([special, special | 0x80000000])
    for chosen in (values, values[:5]):  # without infinities and NaN, machine code does not leave to the handlers
        case = program(line)
        case.alternate = alternate
        case.grf[:, 10:14] = np.random.default_rng(7).choice(chosen, (len(case.dmasks), 4, 8))
        compare(Bench(Gen.EL), case)


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
    case.code = encode_bytes(Instruction(op, Gen.EL, EXEC_SIZE_CODES[size], **members)) + case.code
    compare(Bench(Gen.EL), case)


def test_messages_of_threads_that_failed_are_counted_once() -> None:
    source = f"send(16) 2 g16<1>F g10<8,8,1>F {INVERSE} {{align1 compr}};"
    case = program(source, g10=[1.0, 2.0])
    case.grf[0, 10, 0] = 0  # its inverse is infinite
    assert len(case.dmasks) > 2
    compare(Bench(Gen.EL), case)


@pytest.mark.parametrize("gen", [Gen.CL, Gen.EL], ids=lambda g: g.name)
@pytest.mark.parametrize("other", [RegType.D, RegType.UD, RegType.UW, RegType.F], ids=lambda t: t.name)
@pytest.mark.parametrize("op", [
    Opcode.MOV, Opcode.SEL, Opcode.NOT, Opcode.AND, Opcode.SHR, Opcode.SHL, Opcode.ASR, Opcode.CMP, Opcode.CMPN,
    Opcode.ADD, Opcode.MUL, Opcode.AVG], ids=lambda o: o.name)
def test_the_reserved_type_is_unsigned_dwords_for_all_handlers(op: Opcode, other: RegType, gen: Gen) -> None:
    """Code 6 in any operand, on registers with their highest bit set as well as clear."""
    if op not in (Opcode.MOV, Opcode.SEL, Opcode.CMP, Opcode.CMPN, Opcode.ADD, Opcode.MUL) and other is RegType.F:
        other = RegType.W
    bench = Bench(gen)
    packed = Align1Region(VSTRIDE_CODES[8], WIDTH_CODES[8], HSTRIDE_CODES[1])
    condition = CondMod.L if op in (Opcode.CMP, Opcode.CMPN) else CondMod.NONE
    predicate = Predicate.NORMAL if op is Opcode.SEL else Predicate.NONE

    def run(types: tuple[RegType, RegType, RegType], *, general_only: bool) -> Outcome:
        members: dict[str, Any] = {"dst": grf(20, types[0], DestRegion(1)), "src0": grf(22, types[1], packed)}
        if op not in (Opcode.MOV, Opcode.NOT):
            members["src1"] = grf(24, types[2], packed)
        case = random_start(11, gen)
        case.alternate = False
        case.code = encode_bytes(Instruction(op, gen, EXEC_SIZE_CODES[8], cond_modifier=condition,
                                             predicate=predicate, **members)) + encode_bytes(end(gen))
        return bench.run(case, general_only=general_only)

    for place in range(3):
        types = [other] * 3
        types[place] = RegType.UD
        expected = run(tuple(types), general_only=True)
        types[place] = RegType.RESERVED
        for general_only in (True, False):
            found = run(tuple(types), general_only=general_only)
            assert np.array_equal(found.grf, expected.grf)
            assert found.flags == expected.flags


CARRIES = 0x7C  # the last dword of register 3: an offset of 4 or more carries
BEYOND = 0xFFC  # the last dword of register 127


@pytest.mark.parametrize("address", [CARRIES, BEYOND], ids=hex)
@pytest.mark.parametrize("line", [
    "mov(4) g20<1>F g[a0 16]<4,4,1>F { align1 };",
    "mov(16) g20<1>F g[a0 16]<8,8,1>F { align1 compr };",
    "mov(8) g20<1>F g[a0 16]<0,1,0>F { align1 };",
    "mov(8) g20<1>D g[a0 16]<8,8,1>W { align1 };",
    "mov(8) g20<1>F g[a0 16]<VxH,1,0>F { align1 };",
    "mov(8) g20<1>F g[a0 16]<VxH,4,1>F { align1 };",
    "mov(8) g[a0 16]<1>F g20<8,8,1>F { align1 };",
    "mov(8) g[a0 16]<2>W g20<8,8,1>D { align1 };",
    "(+f0.0) mov(8) g[a0.1 16]<1>F g[a0 16]<8,8,1>F { align1 };",
    "add(8) g20<1>F g[a0 16]<8,8,1>F g[a0.1 16]<8,8,1>F { align1 };",
    "mul(8) g20<1>F g[a0 16]<8,8,1>F g[a0 16]<8,8,1>F { align1 };",  # overflows: only the general handler
    "(-f0.0) sel(8) g20<1>F g[a0 16]<8,8,1>F g22<8,8,1>F { align1 };",
    "cmp.l.f0.0(8) null<1>D g[a0 16]<8,8,1>D g22<8,8,1>D { align1 };",
], ids=str)
def test_events_of_addresses_are_counted_alike_by_all_handlers(line: str, address: int) -> None:
    """Also if no channel of some threads is on, if an operand is read twice, and if only the last thread carries."""
    bench = Bench(Gen.EL)
    for last_only in (False, True):
        case = program(f"mov(8) a0<1>UW g127<8,8,1>UW {{ align1 nomask }};\n{line}")
        threads = len(case.dmasks)
        case.dmasks = [0, *[0xFFFF] * (threads - 1)]
        case.grf[:] = 0x7F000000
        case.grf[:, 127, :4] = 0x00400040
        case.grf[-1 if last_only else slice(None), 127, :4] = address << 16 | address
        compare(bench, case)
        assert bench.run(case, general_only=False).events.keys() <= {Event.INDIRECT_CARRY, Event.GRF_RANGE}


@pytest.mark.parametrize(("line", "count"), [
    ("mov(8) g20<1>F g[a0 16]<8,8,1>F { align1 };", 1),
    ("mov(16) g20<1>F g[a0 16]<8,8,1>F { align1 compr };", 2),
    ("mov(8) g20<1>F g[a0 16]<VxH,4,1>F { align1 };", 2),
    ("mov(8) g20<1>F g[a0 16]<VxH,1,0>F { align1 };", 8),
    ("add(8) g[a0 16]<1>F g[a0 16]<8,8,1>F g[a0.1 16]<8,8,1>F { align1 };", 3),
    ("line(8) g20<1>F g[a0 16]<0,1,0>F g22<8,8,1>F { align1 };", 1),
], ids=str)
def test_a_carry_counts_once_for_each_thread_pass_operand_and_row(line: str, count: int) -> None:
    case = program(f"mov(8) a0<1>UW g127<8,8,1>UW {{ align1 nomask }};\n{line}")
    case.grf[:, 127, :4] = CARRIES << 16 | CARRIES
    compare(Bench(Gen.EL), case)
    assert Bench(Gen.EL).run(case, general_only=False).events == {Event.INDIRECT_CARRY: count * len(case.dmasks)}


@pytest.mark.parametrize("gen", PARTS, ids=lambda g: g.name)
def test_random_programs_cause_the_same_events(gen: Gen) -> None:
    bench = Bench(gen)
    for seed in range(24):
        compare(bench, straight(seed, gen))


# Operations whose results with infinities are exact or infinite, so that the host computes them as the EU does.
GEN4_FLOATS = (
    "add(16) g{d}<1>F g{a}<8,8,1>F {n}g{b}<8,8,1>F {{ align1 compr }};",
    "add.sat(16) g{d}<1>F g{a}<8,8,1>F 0.5F {{ align1 compr }};",
    "mul(16) g{d}<1>F g{a}<8,8,1>F {n}g{b}<8,8,1>F {{ align1 compr }};",
    "mul.g.f0.0(16) g{d}<1>F g{a}<8,8,1>F g{b}.1<0,1,0>F {{ align1 compr }};",
    "mov.sat(16) g{d}<1>F {n}g{a}<8,8,1>F {{ align1 compr }};",
    "mov(16) g{d}<1>D g{a}<8,8,1>F {{ align1 compr }};",
    "cmp.{c}.f0.0(16) null<1>F g{a}<8,8,1>F g{b}<8,8,1>F {{ align1 compr }};",
    "(+f0.0) sel(16) g{d}<1>F (abs)g{a}<8,8,1>F g{b}<8,8,1>F {{ align1 compr }};",
    "sel.{c}(16) g{d}<1>F g{a}<8,8,1>F {n}g{b}<8,8,1>F {{ align1 compr }};",
    "frc(16) g{d}<1>F g{a}<8,8,1>F {{ align1 compr }};",
    "rndd(16) g{d}<1>F g{a}<8,8,1>F {{ align1 compr }};",
    "(+f0.0) add(16) g{d}<1>F g{a}<8,8,1>F g{b}<8,8,1>F {{ align1 compr }};",
    "mac(16) g{d}<1>F g{a}<8,8,1>F g{b}<8,8,1>F {{ align1 compr }};",
    "line(8) null<1>F g{a}<0,1,0>F g{b}<8,8,1>F {{ align1 }};",
    "pln(16) g{d}<1>F g{a}<0,1,0>F g{b}<8,8,1>F {{ align1 compr }};",
    "dp4(8) g{d}<1>F g{a}<4>F g{b}<4>F {{ align16 }};",
    f"send(16) 2 g{{d}}<1>F g{{a}}<8,8,1>F {INVERSE} {{{{ align1 compr }}}};",
    f"send(16) 2 g{{d}}<1>F g{{a}}<8,8,1>F {INVERSE_ROOT} {{{{ align1 compr }}}};",
)
GEN7_FLOATS = (
    *(line.replace("align1 compr", "align1 1H").replace("align1 }}", "align1 1Q }}")
      for line in GEN4_FLOATS if not line.startswith(("send", "mac", "line", "dp4"))),
    "math inv(16) g{d}<1>F g{a}<8,8,1>F null<8,8,1>F {{ align1 1H }};",
    "math rsq(16) g{d}<1>F (abs)g{a}<8,8,1>F null<8,8,1>F {{ align1 1H }};",
    "math sqrt(16) g{d}<1>F (abs)g{a}<8,8,1>F null<8,8,1>F {{ align1 1H }};",
    "mad(8) g{d}<1>F g{a}<4>F g{b}<4>F g{a}<4>F {{ align16 1Q }};",
    "lrp(8) g{d}<1>F g{a}<4>F g{b}<4>F g{a}<4>F {{ align16 1Q }};",
)
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -3.75, 1e-30, 1e30, 3.4028235e38, 1e-40, np.inf, -np.inf], np.float32)


def special_program(gen: Gen, lines: tuple[str, ...], seed: int) -> Case:
    rng = random.Random(seed)
    case = program("nop;")
    source = [rng.choice(lines).format(d=rng.randrange(10, 30, 2), a=rng.randrange(10, 30, 2),
                                       b=rng.randrange(10, 30, 2), n=rng.choice(("", "-")),
                                       c=rng.choice(("l", "le", "g", "ge", "z", "nz")))
              for _ in range(rng.randint(1, 6))]
    case.gen = gen
    case.code = assemble("\n".join(source), gen) + encode_bytes(end(gen) if gen == Gen.EL else gen7_programs.end(gen))
    case.alternate = seed % 4 == 3
    values = rng.sample(list(SPECIAL), rng.randint(1, 5)) + [1.0] * rng.randint(0, 12)
    case.grf[:, 10:32] = np.random.default_rng(seed).choice(np.array(values, np.float32).view(np.uint32),
                                                            case.grf[:, 10:32].shape)
    return case


@pytest.mark.parametrize("gen", [Gen.EL, Gen.IVB, Gen.KBL], ids=lambda g: g.name)
def test_infinities_agree(gen: Gen) -> None:
    bench = Bench(gen)
    for seed in range(300):
        compare(bench, special_program(gen, GEN4_FLOATS if gen == Gen.EL else GEN7_FLOATS, seed))


@pytest.mark.parametrize(("alternate", "stays"), [(False, True), (True, False)])
def test_machine_code_divides_by_zero(alternate: bool, stays: bool) -> None:
    """In ALT mode, the handlers make a number of the infinity."""
    case = gen7_program("""
        math inv(16) g20<1>F g10<0,1,0>F null<8,8,1>F { align1 1H };
        mul(16) g22<1>F g20<8,8,1>F g12<8,8,1>F { align1 1H };
        sel.l(16) g24<1>F g22<8,8,1>F g14<8,8,1>F { align1 1H };
    """, 4, g10=[0.0], g12=[3.0, -2.0], g14=[100.0])
    case.alternate = alternate
    bench = Bench(Gen.IVB)
    compare(bench, case)
    failures = harness().g4_probe_failures(bench.probe._probe)
    if lib.g4_variant_current() == 0:
        assert failures == -1  # this host has no machine code
    else:
        assert (failures == 0) == stays


# ---- what is checked for NaN, and in ALT mode for infinities ----

NAN = 0xFFC12345  # the EU gives another pattern to results
INFINITY = 0x7F800000
LARGE = 0x7E000000
NUMBERS = """
    mul(16) g40<1>F g10<8,8,1>F 0.5F {align1 compr};
    mul(16) g42<1>F g12<8,8,1>F 0.5F {align1 compr};
"""  # two rows that need no check


def compare_special(case: Case, *, matters: bool) -> None:
    """The handlers execute the block if a special value matters, and only then."""
    bench = Bench(case.gen, MANY)
    compare(bench, case)
    failures = harness().g4_probe_failures(bench.probe._probe)
    assert failures == -1 if lib.g4_variant_current() == 0 else (failures > 0) == matters, text(case)


@pytest.mark.parametrize("alternate", [False, True])
@pytest.mark.parametrize("value", [NAN, INFINITY, LARGE], ids=hex)
@pytest.mark.parametrize("dword", range(8))
def test_a_special_coefficient_of_a_plane_is_found(dword: int, value: int, alternate: bool) -> None:
    """In one thread, also if few of its channels are enabled; plane equations leave out two of eight dwords."""
    case = program(NUMBERS + """
        pln(16) g20<1>F g8<0,1,0>F g40<8,8,1>F {align1 compr};
        pln(16) g22<1>F g8.4<0,1,0>F g40<8,8,1>F {align1 compr};
    """, g8=[1.0, 2.0, 3.0, 4.0], g10=[3.0], g12=[5.0])
    case.alternate = alternate
    case.grf[-1, 8, dword] = value
    matters = dword not in (2, 6) and (value == NAN or (value == INFINITY and alternate))
    compare_special(case, matters=matters)
    case.dmasks[-1] = 0x0100
    if matters:
        compare_special(case, matters=True)
    else:  # what the other channels hold may raise an exception
        compare(Bench(Gen.EL, MANY), case)


@pytest.mark.parametrize("value", [NAN, INFINITY], ids=hex)
@pytest.mark.parametrize("row", range(10, 14))
@pytest.mark.parametrize("half", [0, 1])
def test_a_special_coordinate_is_found_in_the_half_that_uses_it(half: int, row: int, value: int) -> None:
    """The first instruction proves nothing about lanes that only the second one enables."""
    case = program("""
        pln(8) g20<1>F g8<0,1,0>F g10<8,8,1>F {align1};
        pln(8) g22<1>F g8.4<0,1,0>F g10<8,8,1>F {align1 sechalf};
        pln(8) g24<1>F g8.4<0,1,0>F g12<8,8,1>F {align1 sechalf};
        pln(8) g26<1>F g8.4<0,1,0>F g12<8,8,1>F {align1};
    """, g8=[1.0, 2.0, 3.0, 4.0], g10=[3.0], g12=[5.0])
    case.dmasks = [0xFFFF] * (len(case.dmasks) - 1) + [0xFF00 if half else 0x00FF]
    case.alternate = True
    case.grf[-1, row, 5] = value
    compare_special(case, matters=True)


@pytest.mark.parametrize("known", ["u", "v"])
@pytest.mark.parametrize("after_line", [False, True])
def test_both_coordinates_have_to_be_known(known: str, after_line: bool) -> None:
    """What line reads says nothing about the next register."""
    line = "line(8) null<1>F g8<0,1,0>F g39<8,8,1>F {align1};" if after_line else ""
    case = program(f"""
        mul(8) {"g40" if known == "u" else "g41"}<1>F g12<8,8,1>F 0.5F {{align1}};
        mov(8) g22<1>UD g40<8,8,1>UD {{align1}};
        {line}
        pln(8) g20<1>F g8<0,1,0>F g40<8,8,1>F {{align1}};
    """, g8=[1.0, 2.0, 3.0, 4.0], g12=[5.0], g38=[6.0], g40=[6.0])
    case.grf[-1, 41 if known == "u" else 40, 5] = NAN
    compare_special(case, matters=True)


@pytest.mark.parametrize("first", ["pln(16) g20<1>F g8<0,1,0>F g50<8,8,1>F {align1 compr};",
                                   "(+f0) pln(16) g20<1>F g8<0,1,0>F g50<8,8,1>F {align1 compr};",
                                   "pln(4) g20<1>F g8<0,1,0>F g50<4,4,1>F {align1};",
                                   "mov(8) g50<1>UD g14<8,8,1>UD {align1};",
                                   "(+f0) mov(16) g50<1>UD g14<8,8,1>UD {align1 compr};",
                                   "mov(4) g50.4<1>UD g14<4,4,1>UD {align1};",
                                   "mov(1) g8.7<1>UD g14<0,1,0>UD {align1 nomask};",
                                   "mov(8) g8<1>UD g14<8,8,1>UD {align1};",
                                   f"mov(1) g8.4<1>UD 0x{NAN:x}UD {{align1 nomask}};"], ids=str)
@pytest.mark.parametrize("special", [(50, 0), (50, 5), (53, 7), (14, 0), (14, 7), (30, 0)], ids=str)
def test_what_is_known_of_rows_that_change_is_right(first: str, special: tuple[int, int]) -> None:
    case = program(NUMBERS + f"""
        pln(16) g18<1>F g8.4<0,1,0>F g40<8,8,1>F {{align1 compr}};
        {first}
        pln(16) g22<1>F g8.4<0,1,0>F g50<8,8,1>F {{align1 compr}};
        pln(16) g24<1>F g8<0,1,0>F g50<8,8,1>F {{align1 compr}};
        pln(16) g26<1>F g8.4<0,1,0>F g40<8,8,1>F {{align1 compr}};
    """, g8=[1.0, 2.0, 3.0, 4.0], g10=[3.0], g12=[5.0], g14=[7.0], g50=[3.0], g52=[5.0])
    case.flags = [0] * len(case.flags)
    case.grf[-1, special[0], special[1]] = NAN
    compare(Bench(Gen.EL, MANY), case)


@pytest.mark.parametrize("value", [NAN, INFINITY], ids=hex)
@pytest.mark.parametrize("dword", range(8))
def test_a_special_scalar_is_found(dword: int, value: int) -> None:
    """A check of a dword serves until the row changes."""
    case = program("""
        mul(16) g20<1>F g10<8,8,1>F g8.1<0,1,0>F {align1 compr};
        add(16) g22<1>F g10<8,8,1>F -g8.6<0,1,0>F {align1 compr};
        mov(1) g8.4<1>UD g14<0,1,0>UD {align1 nomask};
        mul(16) g24<1>F g10<8,8,1>F g8.4<0,1,0>F {align1 compr};
        mul(16) g26<1>F g10<8,8,1>F (abs)g8.3<0,1,0>F {align1 compr};
        mov(8) g8<1>D g14<8,8,1>D {align1 nomask};
        mul(16) g28<1>F g10<8,8,1>F g8.5<0,1,0>F {align1 compr};
    """, g8=[1.0, 2.0, 3.0, 4.0], g10=[3.0], g14=[4.0])
    case.alternate = value == INFINITY
    for row in (8, 14):
        changed = replace(case, grf=case.grf.copy())
        changed.grf[-1, row, dword] = value
        compare_special(changed, matters=dword in ((1, 3, 6) if row == 8 else (0, 5)))


@pytest.mark.parametrize("value", [NAN, INFINITY, LARGE], ids=hex)
@pytest.mark.parametrize("special", [None, (8, 0), (8, 1), (8, 3), (9, 0), (9, 2), (9, 3), (9, 6), (10, 5), (12, 5)],
                         ids=str)
@pytest.mark.parametrize("width", [8, 16])
def test_special_values_of_line_and_mac_are_found(width: int, special: tuple[int, int] | None, value: int) -> None:
    """Without a special operand, the first mac, whose operands are numbers, adds to a sum that is special."""
    tail = "{align1 compr}" if width == 16 else "{align1}"
    before = f"""
        mov(8) acc0<1>F g14<8,8,1>F {{align1}};
        mac({width}) g30<1>F g8.1<0,1,0>F 0.5F {tail};
        mul({width}) g32<1>F -g30<8,8,1>F 0.5F {tail};
    """
    source = f"""
        {"" if special else before}
        line({width}) null<1>F g8<0,1,0>F g10<8,8,1>F {tail};
        mac({width}) g20<1>F g8.1<0,1,0>F g12<8,8,1>F {tail};
        line({width}) null<1>F g9<0,1,0>F g10<8,8,1>F {tail};
        mac({width}) g22<1>F g9.6<0,1,0>F g12<8,8,1>F {tail};
    """
    case = program(source, g8=[1.0, 2.0, 3.0, 4.0], g10=[3.0], g12=[5.0], g14=[7.0])
    row, dword = special or (14, 5)
    case.grf[-1, row, dword] = value
    for alternate in (False, True):
        compare(Bench(Gen.EL, MANY), replace(case, alternate=alternate))


@pytest.mark.parametrize("value", [NAN, INFINITY, LARGE], ids=hex)
@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("flow", [False, True], ids=["straight", "branch"])
def test_a_special_source_of_lrp_is_found(flow: bool, place: int, value: int) -> None:
    """The other two are results of the block."""
    sources = ["g40<4,4,1>F", "g42<4,4,1>F", "g44<4,4,1>F"]
    sources[place] = "g10<4,4,1>F"
    scalars = ["g40<4,4,1>F", "g42<4,4,1>F", "g44<4,4,1>F"]
    scalars[place] = "g8.2<0,1,0>F"
    body = f"""
        mul(16) g40<1>F g12<8,8,1>F 0.5F {{ align1 1H }};
        mul(16) g42<1>F g12<8,8,1>F 2.5F {{ align1 1H }};
        mul(16) g44<1>F g12<8,8,1>F 1.5F {{ align1 1H }};
        lrp(8) g20<1>F {" ".join(sources)} {{ align16 1Q }};
        lrp(8) g22<1>F {" ".join(scalars)} {{ align16 1Q }};
        lrp(8) g24<1>F g40<4,4,1>F g42<4,4,1>F g44<4,4,1>F {{ align16 1Q }};
    """
    if flow:
        body = f"""
            cmp.g.f0.0(16) null<1>F g12<8,8,1>F 0F {{ align1 1H }};
            (+f0.0) if(16) JIP: END UIP: END {{ align1 1H }};
            {body}
            END:
            endif(16) JIP: REST {{ align1 1H }};
            REST:
            mul(16) g46<1>F g12<8,8,1>F 1.5F {{ align1 1H }};
        """
    for row, dword in ((8, 2), (10, 5), (8, 3)):
        case = gen7_program(body, 4, g8=[1.0, 2.0, 3.0, 4.0], g10=[3.0], g12=[5.0])
        case.grf[-1, row, dword] = value
        for alternate in (False, True):
            compare(Bench(Gen.IVB, MANY), replace(case, alternate=alternate))


def test_results_of_planes_that_overflow_are_found() -> None:
    """All sources are numbers; only the conversion of the result may raise an exception."""
    case = program("""
        mov(16) g40<1>F g10<8,8,1>D {align1 compr};
        mov(16) g42<1>F g12<8,8,1>D {align1 compr};
        pln(16) g20<1>F g8<0,1,0>F g40<8,8,1>F {align1 compr};
    """, g8=[1.0])
    case.grf[:, 10:14] = 2
    compare_special(case, matters=False)
    case.grf[0, 8, 0] = 0x7F7FFFFF
    compare_special(case, matters=True)


@pytest.mark.parametrize("source", ["g30<8,8,1>F", "-g12<8,8,1>F"])
@pytest.mark.parametrize("writer", ["line(8) null<1>F g8<0,1,0>F {} {{align1}};",
                                    "mul(8) g22<1>F g8<0,1,0>F {} {{align1}};",
                                    "mac(8) g22<1>F g8<0,1,0>F {} {{align1}};"])
def test_sums_are_written_in_channels_that_are_not_enabled(writer: str, source: str) -> None:
    """From the registers as they are, although the block has changed their enabled channels."""
    case = program("mul(8) g30<1>F g10<8,8,1>F 0.5F {align1};\n" + writer.format(source) + """
        mac(8) g20<1>F g8.1<0,1,0>F g14<8,8,1>F {align1 nomask};
    """, g8=[1.0, 2.0, 3.0, 4.0], g10=[3.0], g12=[5.0], g14=[7.0], g30=[9.0])
    case.dmasks = [0x0F0F] * len(case.dmasks)
    compare(Bench(Gen.EL, MANY), case)


# ---- left out: products of planes without slopes, divisions by 1, lanes that are never read ----

PLACES = """
    mul(8) g40<1>F g10<8,8,1>F 0.5F {align1};
    mul(8) g41<1>F g11<8,8,1>F 0.5F {align1};
    mul(8) g42<1>F g12<8,8,1>F 0.5F {align1 sechalf};
    mul(8) g43<1>F g13<8,8,1>F 0.5F {align1 sechalf};
"""  # coordinates of both halves, which need no check
CONSTANTS = [0x3FC00000, 0xC2F70000, 0x00800000, 0x80800000, 0x007FFFFF, 0x807FFFFF, 1, 0x80000001, 0, 0x80000000,
             0x7F7FFFFF, INFINITY, NAN]


@pytest.mark.parametrize("half", ["", ".4"])
@pytest.mark.parametrize("slopes", [(0, 0), (0x80000000, 0), (0, 0x80000000), (0x80000000, 0x80000000), (1, 0), (0, 1),
                                    (0x3F800000, 0), (0, 0x3F800000)], ids=str)
@pytest.mark.parametrize("constant", CONSTANTS, ids=hex)
def test_planes_without_slopes_agree(constant: int, slopes: tuple[int, int], half: str) -> None:
    """Zeros of all signs; coordinates, too, are negative, positive and zero."""
    case = program(PLACES + f"""
        pln(16) g20<1>F g8{half}<0,1,0>F g40<8,8,1>F {{align1 compr}};
        mul(16) g22<1>F g20<8,8,1>F g14<8,8,1>F {{align1 compr}};
        pln(8) g24<1>F g8{half}<0,1,0>F g40<8,8,1>F {{align1}};
        (+f0) pln(16) g26<1>F g8{half}<0,1,0>F g40<8,8,1>F {{align1 compr}};
        pln.sat.l.f0.0(16) g28<1>F g8{half}<0,1,0>F g40<8,8,1>F {{align1 compr}};
    """, g8=[1.0, 2.0, 3.0, 4.0], g10=[3.0, -1.0, 0.0, -0.0, 2.0], g12=[-5.0, 0.0, 2.0], g14=[7.0, -7.0])
    first = 4 if half else 0
    case.grf[:, 8, first:first + 2] = slopes
    case.grf[:, 8, first + 3] = constant
    compare(Bench(Gen.EL, MANY), case)


@pytest.mark.parametrize("value", [0, 0x3F000000, 0x40000000, 0x80000000], ids=hex)
@pytest.mark.parametrize("dword", [0, 1, 3])
@pytest.mark.parametrize("thread", [0, 1, -1])
def test_planes_without_slopes_of_different_threads_agree(thread: int, dword: int, value: int) -> None:
    case = program(PLACES + "pln(16) g20<1>F g8<0,1,0>F g40<8,8,1>F {align1 compr};",
                   g8=[0.0, 0.0, 3.0, 4.0], g10=[3.0, -1.0], g12=[-5.0, 2.0])
    case.grf[thread, 8, dword] = value
    compare_special(case, matters=False)


@pytest.mark.parametrize("value", [NAN, INFINITY], ids=hex)
@pytest.mark.parametrize("row", range(10, 14))
def test_a_special_coordinate_of_a_plane_without_slopes_is_found(row: int, value: int) -> None:
    """Zero times infinity is NaN."""
    case = program("pln(16) g20<1>F g8<0,1,0>F g10<8,8,1>F {align1 compr};", g8=[0.0, 0.0, 3.0, 4.0], g10=[3.0],
                   g12=[5.0])
    case.grf[-1, row, 3] = value
    compare_special(case, matters=True)


@pytest.mark.parametrize("alternate", [False, True])
@pytest.mark.parametrize("value", [INFINITY, 0xFF800000, LARGE], ids=hex)
@pytest.mark.parametrize("row", range(10, 14))
def test_computed_coordinates_of_a_plane_without_slopes_may_be_infinite(row: int, value: int, alternate: bool) -> None:
    """The block has computed them, so it knows that they are not NaN."""
    case = program(PLACES.replace("0.5F", "1.0E20F") + "pln(16) g20<1>F g8<0,1,0>F g40<8,8,1>F {align1 compr};",
                   g8=[0.0, -0.0, 3.0, 4.0], g10=[3.0], g12=[5.0])
    case.grf[-1, row, 3] = value
    case.alternate = alternate
    compare(Bench(Gen.EL, MANY), case)


@pytest.mark.parametrize("line", ["pln(16) g8<1>F g8<0,1,0>F g40<8,8,1>F {align1 compr};",
                                  "pln(16) g7<1>F g8<0,1,0>F g40<8,8,1>F {align1 compr};",
                                  "pln(16) g40<1>F g8<0,1,0>F g40<8,8,1>F {align1 compr};",
                                  "pln(16) g41<1>F g8<0,1,0>F g40<8,8,1>F {align1 compr};",
                                  "pln(16) g42<1>F g8<0,1,0>F g40<8,8,1>F {align1 compr};",
                                  "pln(16) g43<1>F g8<0,1,0>F g40<8,8,1>F {align1 compr};",
                                  "pln(16) g39<1>F g8<0,1,0>F g40<8,8,1>F {align1 compr};"], ids=str)
@pytest.mark.parametrize("slopes", [[0.0, 0.0], [1.0, 2.0]], ids=str)
def test_planes_whose_first_half_replaces_what_the_second_one_reads_agree(line: str, slopes: list[float]) -> None:
    case = program(PLACES + line + "\npln(16) g20<1>F g8.4<0,1,0>F g40<8,8,1>F {align1 compr};",
                   g8=[*slopes, 3.0, 4.0], g10=[3.0, -1.0], g12=[-5.0, 2.0])
    compare(Bench(Gen.EL, MANY), case)


@pytest.mark.parametrize("dmask", [0xFFFF, 0xFF0F, 0x00FF])
@pytest.mark.parametrize("value", [0x3F800000, 0x3F800001, 0xBF800000, 0x40000000, 0, 0x80000000, NAN, INFINITY],
                         ids=hex)
@pytest.mark.parametrize("lane", [0, 5, 7, 8])
def test_inverses_of_1_agree(lane: int, value: int, dmask: int) -> None:
    """In all lanes but one, which may not be enabled."""
    case = program(f"""
        send(16) 2 g16<1>F g10<8,8,1>F {INVERSE} {{align1 compr}};
        mul(16) g18<1>F g12<8,8,1>F g16<8,8,1>F {{align1 compr}};
    """, g10=[1.0], g12=[3.0])
    case.grf[-1, 10 + lane // 8, lane % 8] = value
    case.dmasks = [dmask] * len(case.dmasks)
    compare(Bench(Gen.EL, MANY), case)


POWERS = [2.0**e for e in (-126, -125, -124, -79, -78, -77, -2, -1, 0, 1, 2, 123, 124, 125, 126, 127)]


def near(values: list[float]) -> NDArray[np.uint32]:
    """Floats and their neighbours."""
    bits = np.array(values, np.float32).view(np.uint32)
    return np.concatenate([bits - 1, bits, bits + 1, bits + 2])


@pytest.mark.parametrize("alternate", [False, True])
@pytest.mark.parametrize("sign", [0, 0x80000000], ids=hex)
@pytest.mark.parametrize("numbers", [
    near(POWERS), near([i * i / 4.0 for i in range(1, 200)]), near([1 / i for i in range(1, 200)]),
    np.array([0, 1, 0x7FFFFF, 0x800000, INFINITY, NAN & 0x7FFFFFFF, 0x7F7FFFFF], np.uint32),
    np.random.default_rng(1).integers(0x3F800000, 0x40800000, 4096, np.uint32),
    np.random.default_rng(2).integers(0, INFINITY, 4096, np.uint32)],
    ids=["powers of two", "squares", "inverses", "special", "between 1 and 4", "all exponents"])
@pytest.mark.parametrize("message", [INVERSE, ROOT, INVERSE_ROOT], ids=["inverse", "root", "inverse root"])
def test_math_is_rounded_to_the_nearest_float(message: str, numbers: NDArray[np.uint32], sign: int,
                                              alternate: bool) -> None:
    case = program(f"send(16) 2 g16<1>F g10<8,8,1>F {message} {{align1 compr}};")
    case.alternate = alternate
    bench = Bench(Gen.EL, MANY)
    each = 16 * len(case.dmasks)
    for first in range(0, len(numbers), each):
        case.grf[:, 10:12] = np.resize(numbers[first:first + each], each).reshape(-1, 2, 8) | sign
        compare(bench, case)


@pytest.mark.parametrize("op", ["add", "mul"])
def test_a_scalar_that_the_handler_takes_as_its_other_source_is_kept(op: str) -> None:
    case = program(f"""
        mul(8) g50<1>F g46<8,8,1>F g44<0,1,0>F {{align1}};
        (+f0.0) if(8) Jump: L_end {{align1}};
        {op}(8) g58<1>F g50<0,1,0>F g56<8,8,1>F {{align1}};
        L_end:
        endif(8) Pop: 1 {{align1}};
    """, g44=[2.0], g46=[1.0, 2.0], g50=[100.0], g56=[0.5])
    compare_what_is_read(Bench(Gen.EL, MANY), case, [58])


@pytest.mark.parametrize("length", [3, 4])
@pytest.mark.parametrize("after", ["send(16) 2 g18<1>F g14<8,8,1>F {} {{align1 compr}};",
                                   "(+f0.0) send(16) 2 g18<1>F g14<8,8,1>F {} {{align1 compr}};",
                                   "send(8) 2 g18<1>F g14<8,8,1>F {} {{align1}};", ""], ids=str)
def test_payloads_are_kept_until_a_message_replaces_them(after: str, length: int) -> None:
    """In channels that are not enabled, too."""
    case = program(f"""
        mov(16) g16<1>D 0D {{align1 compr}};
        do(16) {{align1}};
        top:
        send(16) 2 g10<1>F g12<8,8,1>F {INVERSE} {{align1 compr}};
        mul(16) g12<1>F g10<8,8,1>F g20<8,8,1>F {{align1 compr}};
        cmp.ge.f0.0(16) null<1>D g16<8,8,1>D 3D {{align1 compr}};
        (+f0.0) break(16) done {{align1}};
        add(16) g16<1>D g16<8,8,1>D 1D {{align1 compr}};
        add(16) g12<1>F g12<8,8,1>F g10<8,8,1>F {{align1 compr}};
        while(16) top {{align1}};
        done:
        {after.format(INVERSE)}
    """, g12=[1.0, 2.0, 3.0], g14=[5.0, 6.0], g20=[0.5, 4.0])
    case.dmasks = [0x0F35, 0xFFFF, 0x8001, 0x00FF][:len(case.dmasks)] + [0xFF00] * (len(case.dmasks) - 4)
    compare_what_is_read(Bench(Gen.EL, MANY), case, [12, 18], "", length)


# The instruction inside writes no flag, or those of eight channels.
BRANCH = """
    cmp.g.f0.0(16) null<1>F g20<8,8,1>F 8.0F {{align1 compr}};
    (+f0.0) if(16) Jump: L_end {{align1}};
    {}
    (+f0.0) add(16) g20<1>F g20<8,8,1>F g22<8,8,1>F {{align1 compr}};
    L_end:
    endif(16) Pop: 1 {{align1}};
"""


@pytest.mark.parametrize("flags", READ_FLAGS, ids=["unread", "f0.0", "all", "f0.1"])
@pytest.mark.parametrize("inside", ["(+f0.0) add(16) g20<1>F g20<8,8,1>F 1.0F {align1 compr};",
                                    "(-f0.0) sel(16) g20<1>F g20<8,8,1>F 1.0F {align1 compr};",
                                    "(+f0.0) cmp.g.f0.0(16) null<1>F g20<8,8,1>F 9.0F {align1 compr};"
                                    "(+f0.0) add(16) g20<1>F g20<8,8,1>F 2.0F {align1 compr};"
                                    "(-f0.0) add(16) g20<1>F g20<8,8,1>F 0.25F {align1 compr};",
                                    "cmp.g.f0.0(8) null<1>F g20<8,8,1>F 9.0F {align1};",
                                    BRANCH.format("sel.l(16) g22<1>F g20<8,8,1>F g12<8,8,1>F {align1 compr};"),
                                    BRANCH.format("cmp.l.f0.0(8) null<1>F g12<8,8,1>F 2.5F {align1};"), ""],
                         ids=["add", "sel", "cmp", "cmp of 8", "branch with sel", "branch with cmp of 8", "none"])
@pytest.mark.parametrize("leave", ["cmp.l.f0.0(16) null<1>F g10<8,8,1>F 1.5F {align1 compr};", ""], ids=["new", "old"])
def test_flags_that_are_read_again_have_their_values(leave: str, inside: str, flags: str) -> None:
    """Those of lanes that have left the loop stay as they were."""
    case = program(f"""
        mov(16) g16<1>D 0D {{align1 compr}};
        cmp.g.f0.0(16) null<1>F g12<8,8,1>F 2.0F {{align1 compr}};
        do(16) {{align1}};
        top:
        {leave}
        (+f0.0) break(16) done {{align1}};
        {inside}
        add(16) g10<1>F g10<8,8,1>F -0.5F {{align1 compr}};
        add(16) g16<1>D g16<8,8,1>D 1D {{align1 compr}};
        cmp.l.f0.0(16) null<1>D g16<8,8,1>D 5D {{align1 compr}};
        (+f0.0) while(16) top {{align1}};
        done:
    """, g10=[9.0, 2.0, 3.0, 1.0, 2.5], g12=[1.0, 3.0, 2.0], g20=[7.0, 9.0],
                   g22=[1.5, 0.5])
    compare(Bench(Gen.EL, MANY), case)
    compare_what_is_read(Bench(Gen.EL, MANY), case, [10, 20], flags)


@pytest.mark.parametrize("read", ["g20.3<0,1,0>F", "g21.2<0,1,0>F", "g20<0,1,0>F"])
def test_elements_of_lanes_that_have_left_a_loop_have_their_values(read: str) -> None:
    """The lanes that stay read them."""
    case = program(f"""
        mov(16) g16<1>D 0D {{align1 compr}};
        do(16) {{align1}};
        top:
        mul(16) g20<1>F g10<8,8,1>F g14<8,8,1>F {{align1 compr}};
        cmp.l.f0.0(16) null<1>F g10<8,8,1>F 1.5F {{align1 compr}};
        (+f0.0) break(16) done {{align1}};
        add(16) g22<1>F g22<8,8,1>F {read} {{align1 compr}};
        add(16) g10<1>F g10<8,8,1>F -0.5F {{align1 compr}};
        add(16) g16<1>D g16<8,8,1>D 1D {{align1 compr}};
        cmp.l.f0.0(16) null<1>D g16<8,8,1>D 9D {{align1 compr}};
        (+f0.0) while(16) top {{align1}};
        done:
    """, g10=[2.5, 9.0, 3.0, 2.0, 7.5], g14=[1.0, 3.0, 2.0], g20=[7.0, 8.0], g22=[0.0])
    compare(Bench(Gen.EL, MANY), case)
    compare_what_is_read(Bench(Gen.EL, MANY), case, [10, 22])


@pytest.mark.parametrize("seed", range(20))
def test_loops_that_wait_for_roots_agree(seed: int) -> None:
    """With AVX2, two threads execute together: they leave at different turns, or only one takes part."""
    rng = np.random.default_rng(seed)
    case = gen7_program("""
        mov(16) g20<1>D 0D { align1 1H };
        TOP:
        math sqrt(16) g12<1>F (abs)g10<8,8,1>F null<8,8,1>F { align1 1H };
        lrp(8) g14<1>F g16<4,4,1>F g12<4,4,1>F g10<4,4,1>F { align16 1Q };
        lrp(8) g15<1>F g17<4,4,1>F g13<4,4,1>F g11<4,4,1>F { align16 2Q };
        math inv(16) g18<1>F g14<8,8,1>F null<8,8,1>F { align1 1H };
        cmp.g.f0.0(16) null<1>F g18<8,8,1>F 0.75F { align1 1H };
        (+f0.0) sel(16) g18<1>F g18<8,8,1>F g14<8,8,1>F { align1 1H };
        add(16) g10<1>F g18<8,8,1>F g8<0,1,0>F { align1 1H };
        mov(1) g6<1>F 0.5F { align1 WE_all 1N };
        add(16) g20<1>D g20<8,8,1>D 1D { align1 1H };
        cmp.l.f0.0(16) null<1>D g20<8,8,1>D g22<8,8,1>D { align1 1H };
        (+f0.0) while(16) JIP: TOP { align1 1H };
        add(16) g24<1>F g10<8,8,1>F g6<0,1,0>F { align1 1H };
    """, 8, g8=[0.25], g10=[1.0, 2.0, 0.5], g16=[0.25, 0.75])
    case.grf[:, 10:12] = rng.uniform(0.1, 9, (len(case.dmasks), 2, 8)).astype(np.float32).view(np.uint32)
    case.grf[:, 22:24] = rng.integers(1, 9, (len(case.dmasks), 2, 8)) * rng.integers(1, 4, (len(case.dmasks), 1, 1))
    case.dmasks = [int(rng.choice((0xFFFF, 0x00FF, 0xF00F, 0x8000))) for _ in case.dmasks]
    if seed % 4 == 0:
        case.grf[rng.integers(len(case.dmasks)), 10, 3] = rng.choice((NAN, INFINITY, 0x7F7FFFFF))
    compare(Bench(Gen.IVB, MANY), case)


FLOW = "(+f0.0) if(16) Jump: L_in {align1};\nL_in:\nendif(16) Pop: 1 {align1};"


@pytest.mark.parametrize("flow", ["", FLOW], ids=["one block", "two blocks"])
@pytest.mark.parametrize("first", ["add(16) g20<1>UD g22<8,8,1>UD 7UD {align1 compr nomask};",
                                   "add(4) g20.4<1>UD g22<4,4,1>UD 7UD {align1};",
                                   "add(8) g20.8<1>UW g22<8,8,1>UW 7UW {align1};"],
                         ids=["without a mask", "in other lanes", "words"])
def test_what_is_written_for_channels_that_wait_is_kept(first: str, flow: str) -> None:
    """The second sum replaces it only in the channels of the branch."""
    case = program(f"""
        mov(16) g20<1>UD 3UD {{align1 compr}};
        mov(16) g22<1>UD 3UD {{align1 compr}};
        cmp.g.f0.0(16) null<1>F g12<8,8,1>F 2.0F {{align1 compr}};
        (+f0.0) if(16) Jump: L_end {{align1}};
        {first}
        add(16) g24<1>UD g22<8,8,1>UD 7UD {{align1 compr}};
        {flow}
        add(16) g20<1>UD g22<8,8,1>UD 5UD {{align1 compr}};
        L_end:
        endif(16) Pop: 1 {{align1}};
        add(16) g26<1>UD g20<8,8,1>UD g24<8,8,1>UD {{align1 compr}};
    """, g12=[3.0, 3.0, 5.0, 5.0, 0.0, 0.0, 0.0, 0.0, 3.0, 1.0])
    compare_what_is_read(Bench(Gen.EL, MANY), case, [26])


@pytest.mark.parametrize("behind", ["L_next", "L_while"])
def test_a_loop_that_begins_with_a_branch_gets_its_flags(behind: str) -> None:
    """It has no instruction of its own, and nothing else reads the flags."""
    case = gen7_program(f"""
        mov(16) g20<1>D 0D {{ align1 1H }};
        mov(16) g24<1>D 0D {{ align1 1H }};
        OUTER:
        add(16) g22<1>D g20<8,8,1>D 0D {{ align1 1H }};
        cmp.g.f0.0(16) null<1>F g10<8,8,1>F 2.5F {{ align1 1H }};
        TOP:
        (+f0.0) if(16) JIP: L_end UIP: L_end {{ align1 1H }};
        add(16) g20<1>D g20<8,8,1>D 16D {{ align1 1H }};
        L_end:
        endif(16) JIP: {behind} {{ align1 1H }};
        L_next:
        add(16) g20<1>D g20<8,8,1>D 1D {{ align1 1H }};
        add(16) g22<1>D g22<8,8,1>D 1D {{ align1 1H }};
        cmp.l.f0.0(16) null<1>D g22<8,8,1>D 5D {{ align1 1H }};
        L_while:
        (+f0.0) while(16) JIP: TOP {{ align1 1H }};
        add(16) g24<1>D g24<8,8,1>D 1D {{ align1 1H }};
        cmp.l.f0.0(16) null<1>D g24<8,8,1>D 3D {{ align1 1H }};
        (+f0.0) while(16) JIP: OUTER {{ align1 1H }};
        mov(16) g2<1>D g20<8,8,1>D {{ align1 1H }};
    """, 8, g10=[1.0, 2.0, 3.0, 4.0, 5.0, 1.0, 2.0, 3.0])
    bench = Bench(Gen.IVB, MANY)
    harness().g4_probe_keep_registers(bench.probe._probe, False)
    expected = bench.run(case, general_only=True)
    for _ in range(2):
        found = bench.run(case, general_only=False)
        assert np.array_equal(found.grf[:, 2], expected.grf[:, 2])
        assert found.instructions == expected.instructions


@pytest.mark.parametrize("skips", [0x55, 0xAA, 0x0F, 0xFE])
def test_threads_that_pass_over_a_loop_keep_their_registers(skips: int) -> None:
    """Constants that all other threads write are stored behind the loop."""
    case = gen7_program("""
        (+f0.0) jmpi(1) PAST { align1 WE_all 1N };
        mov(16) g20<1>D 0D { align1 1H };
        TOP:
        mov(1) g6.2<1>F 0.5F { align1 WE_all 1N };
        math sqrt(16) g12<1>F (abs)g10<8,8,1>F null<8,8,1>F { align1 1H };
        math inv(16) g14<1>F g12<8,8,1>F null<8,8,1>F { align1 1H };
        add(16) g10<1>F g14<8,8,1>F g6.2<0,1,0>F { align1 1H };
        add(16) g20<1>D g20<8,8,1>D 1D { align1 1H };
        cmp.l.f0.0(16) null<1>D g20<8,8,1>D 4D { align1 1H };
        (+f0.0) while(16) JIP: TOP { align1 1H };
        PAST:
        add(16) g24<1>F g10<8,8,1>F g6.2<0,1,0>F { align1 1H };
    """, 8, g6=[9.0], g10=[1.0, 2.0, 0.5])
    case.flags = [0xFFFFFFFF * (skips >> t & 1) for t in range(len(case.flags))]
    compare(Bench(Gen.IVB, MANY), case)


@pytest.mark.parametrize("constant", [-0x80000000, -1, 0, 0x7FFFFFFF])
@pytest.mark.parametrize("condition", ["l", "le", "g", "ge", "z", "nz"])
@pytest.mark.parametrize("kind", ["D", "UD"])
def test_comparisons_with_constants_agree(kind: str, condition: str, constant: int) -> None:
    case = program(f"""
        cmp.{condition}.f0.0(16) null<1>{kind} g10<8,8,1>{kind} 0x{constant & 0xFFFFFFFF:08x}{kind} {{align1 compr}};
        (+f0.0) sel(16) g20<1>UD g12<8,8,1>UD g14<8,8,1>UD {{align1 compr}};
    """)
    case.grf[:, 10:12] = np.resize(np.array([0x80000000, 0x80000001, 0xFFFFFFFF, 0, 1, 0x7FFFFFFE, 0x7FFFFFFF],
                                            np.uint32), 16).reshape(2, 8)
    compare(Bench(Gen.EL, MANY), case)


READERS = ["mov(16) g60<1>UD g20<8,8,1>UD {align1 compr};",
           "mov(16) g60<1>UD g20<8,8,1>UD {align1 compr nomask};",
           "mov(8) g60<1>UD g20<8,8,1>UD {align1 sechalf};",
           "mov(8) g60<1>UD g21<8,8,1>UD {align1};",
           "(+f0) mov(16) g60<1>UD g20<8,8,1>UD {align1 compr};",
           "(-f0) mov(8) g60<1>UD g20<8,8,1>UD {align1};",
           "mov(8) g60<1>UD g20.1<0,1,0>UD {align1};",
           "mov(8) g60<1>UD g20<4,4,1>UW {align1};",
           "mov(4) g60<1>UD g20.4<4,4,1>UD {align1};",
           "add(8) g60<1>UD g20<8,8,1>UD g21<8,8,1>UD {align1};",
           "cmp.g.f0.0(8) g60<1>D g20<8,8,1>D g22<8,8,1>D {align1};",
           "(+f0) sel(8) g60<1>UD g20<8,8,1>UD g21<8,8,1>UD {align1 nomask};",
           "dp4(8) g60<1>F g20<4,4,1>F g12<4,4,1>F {align1};",
           "pln(8) g60<1>F g8<0,1,0>F g20<8,8,1>F {align1 nomask};",
           "mac(8) g60<1>F g20<8,8,1>F g12<8,8,1>F {align1};"]


@pytest.mark.parametrize("seed", range(60))
def test_lanes_that_are_not_written_keep_their_values_for_all_readers(seed: int) -> None:
    """Rows are written in some lanes and read in others; what a reader gets, another one reads again."""
    rng = random.Random(seed)
    lines = ["mov(16) g20<1>F g10<8,8,1>F {align1 compr nomask};", "mov(16) g22<1>F g12<8,8,1>F {align1 compr nomask};"]
    for _ in range(rng.randrange(3, 9)):
        lines.append(rng.choice((
            "mul(16) g20<1>F g20<8,8,1>F g14<8,8,1>F {align1 compr};",
            "add(8) g20<1>F g20<8,8,1>F g22<8,8,1>F {align1};",
            "mul(8) g21<1>F g22<8,8,1>F g14<8,8,1>F {align1 sechalf};",
            "(+f0) mov(16) g20<1>F g14<8,8,1>F {align1 compr};",
            "add(16) g20<1>UW g10<8,8,1>UW 3UW {align1};",
            "pln(16) g20<1>F g8<0,1,0>F g40<8,8,1>F {align1 compr};")))
        reader = rng.choice(READERS)
        row = rng.choice((20, 21, 22, 23))
        lines.append(reader.replace("g60", f"g{row}" if "UW" not in reader else "g60"))
        lines.append(rng.choice(READERS).replace("g60", f"g{rng.randrange(60, 70)}"))
    case = program(PLACES + "\n".join(lines), g8=[0.5, 0.25, 3.0, 4.0], g10=[3.0, 1.5], g12=[0.5, 2.0, 1.0],
                   g14=[1.25, 0.75, 1.0])
    case.dmasks = [rng.choice((0xFFFF, 0x0F3C, 0x00FF, 0xFF00, 0x8001)) for _ in case.dmasks]
    bench = Bench(Gen.EL, MANY)
    compare(bench, case)
    harness().g4_probe_keep_registers(bench.probe._probe, False)
    case = with_epilogue(case, [20, 22, *rng.sample(range(60, 70), 3)])
    expected = bench.run(case, general_only=True)
    found = bench.run(case, general_only=False)
    assert np.array_equal(found.mrf, expected.mrf), text(case)
    assert found.flags == expected.flags, text(case)
