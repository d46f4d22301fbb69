"""The execution units of Gen7, Gen7.5 and Gen9: values by number, flow control, random programs on the reference."""

from __future__ import annotations

import numpy as np
import pytest

from gen4emu._native import lib
from gen4emu.core_enums import Status
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen6.messages import MathFunctionGen6
from gen4emu.isa import assemble, encode_bytes
from gen4emu.isa.encodings import encoding_of
from tests.eu.differential import Bench
from tests.eu.gen7_programs import PARTS, check, check_flow, end, first_difference, flow_case, result, straight_case
from tests.harness.probe import Probe

both = pytest.mark.parametrize("gen", (Gen.IVB, Gen.HSW), ids=lambda g: g.name)
every = pytest.mark.parametrize("gen", PARTS, ids=lambda g: g.name)


def bits(*values: float) -> list[int]:
    return [int(b) for b in np.array(values, np.float32).view(np.uint32)]


BINARY = "{}(8) g10<1>{type} g2<8,8,1>{type} g3<8,8,1>{type} {{ align1 1Q }};"
TERNARY = "{}(8) g10<1>{type} g2<4,4,1>{type} g3<4,4,1>{type} g4<4,4,1>{type} {{ align16 1Q }};"
UNARY = "{}(8) g10<1>{to} g2<8,8,1>{type} {{ align1 1Q }};"


@every
@pytest.mark.parametrize(("name", "a", "b", "expected"), [
    ("mul", 0.1, 3.0, 0x3E99999A), ("add", 0.1, 0.2, 0x3E99999A), ("mul", 0.1, 0.1, 0x3C23D70B),
])
def test_floats_are_rounded_to_nearest_even(gen: Gen, name: str, a: float, b: float, expected: int) -> None:
    code = BINARY.format(name, type="F")
    assert result(gen, code, {2: bits(a)[0], 3: bits(b)[0]}) == [expected] * 8


def test_a_double_that_rounds_to_the_least_normal_float_is_not_flushed() -> None:
    """docs/decisions.md 147."""
    doubles = np.array([float.fromhex("0x1.fffffep-127"), -float.fromhex("0x1.ffffffp-127"),
                        float.fromhex("0x1.fffffdp-127"), -float.fromhex("0x1p-126")])
    code = "mov(8) g10<2>F g2<4,4,1>DF { align1 1Q };"
    registers = {2: [int(v) for v in doubles.view(np.uint32)], 3: [0] * 8}
    assert result(Gen.HSW, code, registers)[::2] == [0x00800000, 0x80800000, 0, 0x80800000]


@every
@pytest.mark.parametrize(("value", "kind", "expected"), [
    (16777217, "D", 0x4B800000), (16777219, "D", 0x4B800002), (0xFFFFFFFF, "UD", 0x4F800000),
])
def test_integers_become_the_nearest_float(gen: Gen, value: int, kind: str, expected: int) -> None:
    assert result(gen, UNARY.format("mov", to="F", type=kind), {2: value}) == [expected] * 8


@every
@pytest.mark.parametrize(("mode", "value", "expected"), [
    (0, 1.0, 0x3F800000), (1, 1.0, 0x3F800001), (2, 1.0, 0x3F800000), (3, -1.0, 0xBF800000), (2, -1.0, 0xBF800001),
])
def test_the_control_register_sets_the_rounding(gen: Gen, mode: int, value: float, expected: int) -> None:
    code = f"mov(1) cr0<1>UD {mode << 4}UD {{ align1 WE_all 1N }};\n" + BINARY.format("add", type="F")
    assert result(gen, code, {2: bits(value)[0], 3: bits(2.0 ** -25 * value)[0]}) == [expected] * 8


@every
@pytest.mark.parametrize(("mode", "value", "expected"), [
    (0, 1.0, 0x3F800000), (1, 1.0, 0x3F800001), (2, -1.0, 0xBF800001), (3, -1.0, 0xBF800000),
])
def test_threads_start_with_the_rounding_mode_of_their_state(gen: Gen, mode: int, value: float, expected: int) -> None:
    code = BINARY.format("add", type="F") + "\nmov(1) g11<1>UD cr0<0,1,0>UD { align1 WE_all 1N };"
    registers: dict[int, list[int] | int] = {2: bits(value)[0], 3: bits(2.0 ** -25 * value)[0]}
    assert result(gen, code, registers, rounding_mode=mode) == [expected] * 8
    assert result(gen, code, registers, rounding_mode=mode, reg=11)[0] == mode << 4


FLOATS, DOUBLES = 0x80, 0x40  # bits of cr0 with which denormals are kept


def control(value: int) -> str:
    return f"mov(1) cr0<1>UD {value}UD {{ align1 WE_all 1N }};\n"


@every
@pytest.mark.parametrize(("cr0", "a", "b", "expected"), [
    (0, 1, 1, 0), (FLOATS, 1, 1, 2), (DOUBLES, 1, 1, 0), (FLOATS | DOUBLES, 1, 1, 2),
    (FLOATS, 0x00800001, 0x80800000, 1), (0, 0x00800001, 0x80800000, 0), (DOUBLES, 0x00800001, 0x80800000, 0),
    (FLOATS | 0x10, 0x00800001, 0x80000001, 0x00800000), (0, 0x00800001, 0x80000001, 0x00800001),
])
def test_the_control_register_keeps_denormals_of_floats(gen: Gen, cr0: int, a: int, b: int, expected: int) -> None:
    assert result(gen, control(cr0) + BINARY.format("add", type="F"), {2: a, 3: b}) == [expected] * 8


@every
def test_threads_start_with_the_denormal_mode_of_their_state(gen: Gen) -> None:
    code = BINARY.format("mul", type="F")
    assert result(gen, code, {2: bits(0.5)[0], 3: 0x80000006}, retains_denormals=True) == [0x80000003] * 8
    assert result(gen, code, {2: bits(0.5)[0], 3: 0x80000006}) == [0x80000000] * 8


@pytest.mark.parametrize("gen", (Gen.HSW, Gen.KBL), ids=lambda g: g.name)
@pytest.mark.parametrize(("cr0", "expected"), [(0, 0), (FLOATS, 0), (DOUBLES, 3), (FLOATS | DOUBLES, 3)])
def test_the_control_register_keeps_denormals_of_doubles(gen: Gen, cr0: int, expected: int) -> None:
    code = control(cr0) + "add(4) g10<1>DF g2<4,4,1>DF g3<4,4,1>DF { align1 1N };"
    assert result(gen, code, {2: [1, 0] * 4, 3: [2, 0] * 4}) == [expected, 0] * 4
    # 2 ** -1022 + 2 ** -1074, less 2 ** -1022
    assert result(gen, code, {2: [1, 0x00100000] * 4, 3: [0, 0x80100000] * 4}) == [int(expected > 0), 0] * 4


@pytest.mark.parametrize("gen", (Gen.HSW, Gen.KBL), ids=lambda g: g.name)
@pytest.mark.parametrize(("cr0", "expected"), [(0, 0), (FLOATS, 1), (DOUBLES, 0), (FLOATS | DOUBLES, 1)])
def test_denormals_of_floats_are_kept_in_conversions_from_doubles(gen: Gen, cr0: int, expected: int) -> None:
    code = control(cr0) + "mov(4) g10<2>F g2<4,4,1>DF { align1 1N };"
    registers: dict[int, list[int] | int] = {2: [0, 0x36A00000] * 4}  # 2 ** -149
    assert result(gen, code, registers)[::2] == [expected] * 4


@every
def test_mad_rounds_once(gen: Gen) -> None:
    code = TERNARY.format("mad", type="F")
    near = bits(1 + 2.0 ** -12)[0]
    assert result(gen, code, {2: bits(-1.0)[0], 3: near, 4: near}) == [0x3A000400] * 8


@every
def test_lrp_weighs_the_second_source_with_the_first(gen: Gen) -> None:
    code = TERNARY.format("lrp", type="F")
    assert result(gen, code, {2: bits(0.25)[0], 3: bits(8.0)[0], 4: bits(4.0)[0]}) == bits(5.0) * 8


@every
@pytest.mark.parametrize(("name", "kind", "sources", "expected"), [
    ("bfe", "UD", (4, 4, 0xF0), 0xF), ("bfe", "D", (4, 4, 0xF0), 0xFFFFFFFF), ("bfe", "UD", (0, 4, 0xF0), 0),
    ("bfe", "UD", (16, 24, 0xAB000000), 0xAB), ("bfi2", "UD", (0xFF0, 0xAB, 0xFFFFFFFF), 0xFFFFFABF),
    ("bfi2", "UD", (0, 0xAB, 0x1234), 0x1234),
])
def test_bit_fields(gen: Gen, name: str, kind: str, sources: tuple[int, int, int], expected: int) -> None:
    registers: dict[int, list[int] | int] = dict(zip((2, 3, 4), sources, strict=True))
    assert result(gen, TERNARY.format(name, type=kind), registers) == [expected] * 8


@every
@pytest.mark.parametrize(("name", "kind", "value", "expected"), [
    ("bfrev", "UD", 1, 0x80000000), ("fbh", "UD", 0x00010000, 15), ("fbh", "UD", 0, 0xFFFFFFFF),
    ("fbh", "D", 0xFFFFFFFF, 0xFFFFFFFF), ("fbh", "D", 0xFFFFFFFE, 31), ("fbh", "D", 1, 31),
    ("fbl", "UD", 0x00010000, 16), ("fbl", "UD", 0, 0xFFFFFFFF), ("cbit", "UD", 0xF0F0F0F0, 16),
    ("lzd", "UD", 0x00010000, 15), ("lzd", "D", 0xFFFFFFFF, 0),
])
def test_bits_are_counted(gen: Gen, name: str, kind: str, value: int, expected: int) -> None:
    assert result(gen, UNARY.format(name, to="UD", type=kind), {2: value}) == [expected] * 8


@both
def test_half_floats_are_rounded_to_nearest_even(gen: Gen) -> None:
    values = bits(1.0, 65504.0, 65519.0, 65520.0, 2.0 ** -24, 2.0 ** -25, 3 * 2.0 ** -25, 0.0)
    found = result(gen, "f32to16(8) g10<2>W g2<8,8,1>F { align1 1Q };", {2: values})
    assert found == [0x3C00, 0x7BFF, 0x7BFF, 0x7C00, 0x0001, 0x0000, 0x0002, 0x0000]


@every
def test_sel_with_a_condition_prefers_the_number(gen: Gen) -> None:
    nan, minus = 0x7FC00000, 0x80000000
    registers: dict[int, list[int] | int] = {2: [nan, *bits(2.0), minus, 0, *bits(1.0, 3.0), 0, 0],
                                              3: [*bits(2.0), nan, 0, minus, *bits(2.0, 2.0), 0, 0]}
    two = bits(2.0)[0]
    assert result(gen, "sel.l(8) g10<1>F g2<8,8,1>F g3<8,8,1>F { align1 1Q };", registers) == [
        two, two, 0, minus, *bits(1.0), two, 0, 0]


@both
def test_the_second_dword_of_a_product_has_16_bits(gen: Gen) -> None:
    assert result(gen, BINARY.format("mul", type="D"), {2: 0x00012345, 3: 0x00010000}) == [0] * 8
    code = """mul(8) acc0<1>UD g2<8,8,1>UD g3<8,8,1>UD { align1 1Q };
              mach(8) g10<1>UD g2<8,8,1>UD g3<8,8,1>UD { align1 1Q AccWrEnable };"""
    assert result(gen, code, {2: 0xFFFFFFFF, 3: 0xFFFFFFFF}) == [0xFFFFFFFE] * 8


@every
@pytest.mark.parametrize(("name", "a", "b", "expected", "carry"), [
    ("addc", 0xFFFFFFFF, 2, 1, 1), ("subb", 1, 2, 0xFFFFFFFF, 1), ("subb", 2, 1, 1, 0),
])
def test_the_accumulator_receives_the_carry(gen: Gen, name: str, a: int, b: int, expected: int, carry: int) -> None:
    code = f"""{name}(8) g10<1>UD g2<8,8,1>UD g3<8,8,1>UD {{ align1 1Q AccWrEnable }};
               mov(8) g11<1>UD acc0<8,8,1>UD {{ align1 1Q }};"""
    assert result(gen, code, {2: a, 3: b}) == [expected] * 8
    assert result(gen, code, {2: a, 3: b}, reg=11) == [carry] * 8


@every
@pytest.mark.parametrize(("add", "kind", "a", "b", "expected"), [
    ("add.z", "D", 0x80000000, 0x80000000, 1), ("add.nz", "D", 0x80000000, 0x80000000, 0),
    ("add.nz", "UD", 0xFFFFFFFF, 1, 0), ("add.g", "UD", 0xFFFFFFFF, 2, 1), ("add.le", "UD", 0xFFFFFFFF, 1, 1),
    ("add.l", "D", 0x7FFFFFFF, 1, 1), ("add.g", "D", 0x80000000, 0xFFFFFFFF, 1), ("add.ge", "D", 5, 0xFFFFFFFA, 0),
    ("mov.z", "UW", 0x30000, 0, 1), ("mov.l", "W", 0x18000, 0, 1), ("add.z", "W", 0xFFFF, 1, 1),
    ("add.sat.g", "D", 0x7FFFFFFF, 1, 1),
])
def test_conditions_test_what_is_stored_of_an_integer(gen: Gen, add: str, kind: str, a: int, b: int,
                                                      expected: int) -> None:
    """docs/decisions.md 212."""
    name, _, condition = add.rpartition(".")
    source = "UD" if kind == "UD" else "D"
    second = f"g3<8,8,1>{source} " if name != "mov" else ""
    stride = 2 if kind.endswith("W") else 1
    code = f"""{name}.{condition}.f0.0(8) null<{stride}>{kind} g2<8,8,1>{source} {second}{{ align1 1Q }};
               mov(8) g10<1>UD 0UD {{ align1 1Q }};
               (+f0.0) mov(8) g10<1>UD 1UD {{ align1 1Q }};"""
    assert result(gen, code, {2: a, 3: b}) == [expected] * 8


@every
@pytest.mark.parametrize(("kind", "source", "add", "a", "b", "expected"), [
    ("UD", "-acc0", "add.sat", 16, 128, 112), ("UD", "-acc0", "add.sat", 128, 16, 0),
    ("UD", "-acc0", "add", 0xFFFFFFFF, 0, 1), ("D", "-acc0", "add", 5, 3, 0xFFFFFFFE),
    ("D", "(abs)acc0", "add", 0xFFFFFFFB, 3, 8), ("D", "-(abs)acc0", "add", 0xFFFFFFFB, 3, 0xFFFFFFFE),
    ("F", "-acc0", "add", bits(5.0)[0], bits(3.0)[0], bits(-2.0)[0]),
    ("F", "(abs)acc0", "add", bits(-5.0)[0], bits(3.0)[0], bits(8.0)[0]),
])
def test_modifiers_see_all_bits_of_the_accumulator(gen: Gen, kind: str, source: str, add: str, a: int, b: int,
                                                   expected: int) -> None:
    """docs/decisions.md 148."""
    code = f"""mov(8) acc0<1>{kind} g2<8,8,1>{kind} {{ align1 1Q }};
        {add}(8) g10<1>{kind} {source}<8,8,1>{kind} g3<8,8,1>{kind} {{ align1 1Q }};"""
    assert result(gen, code, {2: a, 3: b}) == [expected] * 8


@every
@pytest.mark.parametrize(("name", "x", "y", "expected"), [
    ("inv", 3.0, 0.0, 0x3EAAAAAB), ("sqrt", 2.0, 0.0, 0x3FB504F3), ("exp", 0.5, 0.0, 0x3FB504F3),
    ("fdiv", 1.0, 3.0, 0x3EAAAAAB), ("pow", 2.0, 10.0, 0x44800000),
])
def test_math_is_an_instruction(gen: Gen, name: str, x: float, y: float, expected: int) -> None:
    code = f"math {name}(8) g10<1>F g2<8,8,1>F g3<8,8,1>F {{ align1 1Q }};"
    assert result(gen, code, {2: bits(x)[0], 3: bits(y)[0]}) == [expected] * 8


@every
@pytest.mark.parametrize(("operands", "expected"), [
    ("sqrt(8) g10<1>F g2<8,8,1>W null<8,8,1>F", 0), ("inv(8) g10<1>F g3<8,8,1>W null<8,8,1>F", 0xFFFFFFC1),
    ("fdiv(8) g10<1>F g3<8,8,1>W g4<8,8,1>F", 0xFFFFFFC1), ("pow(8) g10<1>F g4<8,8,1>F g2<8,8,1>UB", 0x3F800000),
])
def test_math_takes_the_bits_of_integers_for_floats(gen: Gen, operands: str, expected: int) -> None:
    code = f"math {operands} {{ align1 1Q }};"
    assert result(gen, code, {2: 0x00040004, 3: 0xFFC1FFC1, 4: 0x40400000}) == [expected] * 8


@every
@pytest.mark.parametrize(("name", "kind", "a", "b", "expected"), [
    ("intdiv", "UD", 7, 2, 3), ("intmod", "UD", 7, 2, 1), ("intdiv", "D", 0xFFFFFFF9, 2, 0xFFFFFFFD),
    ("intmod", "D", 0xFFFFFFF9, 2, 0xFFFFFFFF),
])
def test_integers_are_divided(gen: Gen, name: str, kind: str, a: int, b: int, expected: int) -> None:
    code = f"math {name}(8) g10<1>{kind} g2<8,8,1>{kind} g3<8,8,1>{kind} {{ align1 1Q }};"
    assert result(gen, code, {2: a, 3: b}) == [expected] * 8


@both
def test_both_sides_of_an_if_run_and_all_channels_meet_behind_it(gen: Gen) -> None:
    code = """(+f0.0) if(8) JIP: ELSE UIP: END { align1 1Q };
              mov(8) g10<1>UD 1UD { align1 1Q };
              else(8) JIP: END { align1 1Q };
              ELSE:
              mov(8) g10<1>UD 2UD { align1 1Q };
              END:
              endif(8) JIP: NEXT { align1 1Q };
              NEXT:
              add(8) g10<1>UD g10<8,8,1>UD 16UD { align1 1Q };"""
    assert result(gen, code, {}, flags=0x0F) == [17] * 4 + [18] * 4
    assert result(gen, code, {}, flags=0x00) == [18] * 8
    assert result(gen, code, {}, flags=0xFF) == [17] * 8
    assert result(gen, code, {}, flags=0x0F, dmask=0x3C) == [0, 0, 17, 17, 18, 18, 0, 0]


@every
def test_channels_leave_a_loop_one_by_one(gen: Gen) -> None:
    code = """LOOP:
              add(8) g10<1>D g10<8,8,1>D 1D { align1 1Q };
              cmp.ge.f0.0(8) null<1>D g10<8,8,1>D g2<8,8,1>D { align1 1Q };
              (+f0.0) break(8) JIP: END UIP: END { align1 1Q };
              END:
              while(8) JIP: LOOP { align1 1Q };"""
    assert result(gen, code, {2: list(range(8))}) == [1, 1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("gen", [Gen.IVB, Gen.HSW])
def test_thirty_two_channels_use_the_masks_of_sixteen_twice(gen: Gen) -> None:
    code = "mov(32) g10<1>UW 1UW { align1 1Q };"
    half = [0, 0, 0x10001, 0x10001, 0, 0, 0x10001, 0x10001]
    assert [result(gen, code, {}, dmask=0xF0F0, reg=reg) for reg in (10, 11)] == [half, half]


@pytest.mark.parametrize("gen", [Gen.IVB, Gen.HSW])
@pytest.mark.parametrize("nibble", [1, 2, 3, 4])
def test_four_channels_begin_at_any_nibble(gen: Gen, nibble: int) -> None:
    """It moves masks and flags, not registers."""
    code = f"(+f0.0) mov(4) g10<1>UD 1UD {{ align1 {nibble}N }};"
    first = 4 * (nibble - 1)
    for dmask, flags in ((0xFFFF, 0x7B5E), (0x5A3C, 0xFFFF)):
        found = result(gen, code, {}, dmask=dmask, flags=flags)
        assert found[:4] == [(dmask & flags) >> first + i & 1 for i in range(4)]


SINGLE = "or(1) cr0<1>UD cr0<0,1,0>UD 4UD { align1 WE_all 1N switch };\n"


@every
@pytest.mark.parametrize(("first", "expected"), [(0, 0x111), (1, 0x100)])
def test_in_single_program_flow_the_first_channel_takes_all_to_the_second_target(gen: Gen, first: int,
                                                                                 expected: int) -> None:
    """No channel waits, so what lies between does not run, not even without masks."""
    code = SINGLE + """cmp.z.f0.0(8) null<1>D g2<8,8,1>D 1D { align1 1Q };
              (+f0.0) halt(8) JIP: NEAR UIP: FAR { align1 1Q };
              add(8) g10<1>D g10<8,8,1>D 1D { align1 1Q };
              NEAR:
              add(8) g10<1>D g10<8,8,1>D 0x10D { align1 WE_all 1Q };
              FAR:
              add(8) g10<1>D g10<8,8,1>D 0x100D { align1 1Q };"""
    assert result(gen, code, {2: [first, 1, 0, 1, 0, 1, 0, 1]}) == [expected] * 8


@every
def test_in_single_program_flow_a_break_leaves_the_loop(gen: Gen) -> None:
    code = SINGLE + """LOOP:
              add(8) g10<1>D g10<8,8,1>D 1D { align1 1Q };
              cmp.ge.f0.0(8) null<1>D g10<8,8,1>D g2<8,8,1>D { align1 1Q };
              (+f0.0) break(8) JIP: END UIP: END { align1 1Q };
              END:
              while(8) JIP: LOOP { align1 1Q };"""
    assert result(gen, code, {2: [3, 1, 2, 9, 9, 9, 9, 9]}) == [3] * 8


@every
@pytest.mark.parametrize("dmask", [0xFF, 0x3C])
@pytest.mark.parametrize("size", [2, 8])  # 2: of the call's destination
def test_a_subroutine_returns_behind_its_call(gen: Gen, dmask: int, size: int) -> None:
    unit = 8 if gen is Gen.IVB else 1  # of calls and of jmpi
    code = f"""mov(8) g10<1>UD 1UD {{ align1 1Q }};
               call({size}) g20<1>D g0<8,8,1>D {48 // unit}D {{ align1 1Q }};
               add(8) g10<1>UD g10<8,8,1>UD 0x100UD {{ align1 1Q }};
               jmpi(1) {32 // unit}D {{ align1 WE_all 1Q }};
               add(8) g10<1>UD g10<8,8,1>UD 0x10UD {{ align1 1Q }};
               ret({size}) null<1>D g20<2,2,1>D {{ align1 1Q }};
               add(8) g10<1>UD g10<8,8,1>UD 0x1000UD {{ align1 1Q }};"""
    assert result(gen, code, {}, dmask=dmask) == [0x1111 * (dmask >> c & 1) for c in range(8)]
    assert result(gen, code, {}, dmask=dmask, reg=20)[1] == dmask


@every
def test_halted_channels_are_on_again_behind_the_last_halt(gen: Gen) -> None:
    code = """(+f0.0) halt(8) JIP: END UIP: END { align1 1Q };
              add(8) g10<1>D g10<8,8,1>D 1D { align1 1Q };
              halt(8) JIP: END UIP: END { align1 1Q };
              END:
              add(8) g10<1>D g10<8,8,1>D 16D { align1 1Q };"""
    assert result(gen, code, {}, flags=0x0F) == [16] * 4 + [17] * 4


@every
@pytest.mark.parametrize("general_only", [True, False])
def test_each_read_of_the_clock_gives_a_greater_number(gen: Gen, general_only: bool) -> None:
    probe = Probe(gen)
    probe.start(8)
    code = """mov(4) g10<1>UD tm0<4,4,1>UD { align1 WE_all 1N };
              mov(4) g11<1>UD tm0<4,4,1>UD { align1 WE_all 1N };
              mov(8) g2<1>UD g3<8,8,1>UD { align1 1Q };
              mov(4) g12<1>UD tm0<4,4,1>UD { align1 WE_all 1N };"""
    assert probe.run(assemble(code, gen) + encode_bytes(end(gen)), general_only=general_only) is Status.OK
    for thread in range(8):
        first, second, third = (int(probe.grf(reg, thread)[0]) for reg in (10, 11, 12))
        assert 0 < first < second < third


@every
def test_straight_programs_agree_with_the_reference(gen: Gen) -> None:
    bench = Bench(gen)
    for seed in range(40):
        straight = straight_case(1000 * int(gen) + seed, gen, 24)
        found = check(bench, straight)
        assert not found, (found, first_difference(bench, straight))


@every
def test_programs_of_doubles_agree_with_the_reference_in_all_variants(gen: Gen) -> None:
    bench = Bench(gen)
    before = lib.g4_variant_current()
    for seed in range(20):
        straight = straight_case(2000 * int(gen) + seed, gen, 32, doubles=True)
        for variant in range(lib.g4_variant_best() + 1):
            lib.g4_set_variant(variant)
            found = check(bench, straight)
            lib.g4_set_variant(before)
            assert not found, (found, first_difference(bench, straight))


@every
def test_programs_with_branches_agree_with_the_reference(gen: Gen) -> None:
    bench = Bench(gen)
    compared = 0
    for seed in range(12):
        found = check_flow(bench, flow_case(1000 * int(gen) + seed, gen))
        assert not found
        compared += found is not None
    assert compared >= 10


@both
def test_straight_programs_of_32_channels_agree_with_the_reference(gen: Gen) -> None:
    bench = Bench(gen)
    for seed in range(40):
        straight = straight_case(3000 * int(gen) + seed, gen, 24, wide=True)
        found = check(bench, straight)
        assert not found, (found, first_difference(bench, straight))


@both
def test_branches_of_32_channels_agree_with_the_reference(gen: Gen) -> None:
    bench = Bench(gen)
    compared = 0
    for seed in range(24):
        found = check_flow(bench, flow_case(3000 * int(gen) + seed, gen, wide=True))
        assert not found
        compared += found is not None
    assert compared >= 20


@both
def test_threads_of_32_channels_have_masks_of_32_bits(gen: Gen) -> None:
    """The dispatch mask in sr0.2 and the enabled channels in ce0; enables of the quarters."""
    probe = Probe(gen)
    probe.start(1, 0x8421C0FF, wide=True)
    probe.set_flags(0x0FFFFFF1)
    code = """mov(1) g10<1>UD sr0.2<0,1,0>UD { align1 WE_all 1N };
              (+f0.0) if(32) JIP: L_end UIP: L_end { align1 };
              mov(1) g10.1<1>UD mask0<0,1,0>UD { align1 };
              L_end:
              endif(32) JIP: L_next { align1 };
              L_next:
              mov(8) g11<1>UD 1UD { align1 1Q };
              mov(8) g12<1>UD 2UD { align1 2Q };
              mov(8) g13<1>UD 3UD { align1 3Q };
              mov(8) g14<1>UD 4UD { align1 4Q };"""
    assert probe.run(assemble(code, gen) + encode_bytes(end(gen))) is Status.OK
    assert [int(v) for v in probe.grf(10)[:2]] == [0x8421C0FF, 0x0421C0F1 | ~0x8421C0FF & 0xFFFFFFFF]
    found = [sum(1 << c for c in range(8) if probe.grf(11 + q)[c]) for q in range(4)]
    assert found == [0xFF, 0xC0, 0x21, 0x84]


@pytest.mark.parametrize("gen", [Gen.CL, Gen.EL, *PARTS], ids=lambda g: g.name)
def test_every_opcode_decodes_without_operands(gen: Gen) -> None:
    """Those that no part of the generation has, too; some of another generation have three sources."""
    for number in range(128):
        for general_only in (True, False):
            probe = Probe(gen)
            assert probe.run(number.to_bytes(16, "little"), general_only=general_only) in Status


@every
@pytest.mark.parametrize(("quarter", "legal"), [("2Q", "1H"), ("4Q", "2H")])
def test_sixteen_channels_begin_at_a_half(gen: Gen, quarter: str, legal: str) -> None:
    code = "(+f0.0) sel(16) g10<1>D g2<8,8,1>D g4<8,8,1>D {{ align1 {} }};"
    registers: dict[int, list[int] | int] = {2: 1, 3: 2, 4: 3, 5: 4}
    for reg in (10, 11):
        found = result(gen, code.format(quarter), registers, flags=0x12345678, reg=reg)
        assert found == result(gen, code.format(legal), registers, flags=0x12345678, reg=reg)


@every
def test_branches_wrap_around_the_address_space(gen: Gen) -> None:
    probe = Probe(gen)
    code = assemble("mov(1) g2<1>UD 0UD { align1 1N };\njmpi(1) 1879048192D { align1 WE_all 1N };", gen)
    assert probe.run(code) in Status


@every
@pytest.mark.parametrize("operand", ["g3.2<0,1,0>DF", "g[a0.0]<0,1,0>DF"])  # the second straddles two registers
def test_the_count_of_jmpi_is_the_lower_half_of_a_wide_operand(gen: Gen, operand: str) -> None:
    code = f"""mov(1) a0<1>UW 124UW {{ align1 WE_all 1N }};
               jmpi(1) {operand} {{ align1 WE_all 1N }};
               mov(8) g10<1>UD 1UD {{ align1 1Q }};
               mov(8) g11<1>UD 1UD {{ align1 1Q }};"""
    probe = Probe(gen)
    probe.start(1)
    for reg, first in ((3, 4), (3, 7)):
        probe.grf(reg)[first] = 2 if gen is Gen.IVB else 16  # the next instruction, in units of 8 bytes or of one
    probe.grf(4)[0] = 0xFFFFFFFF  # the upper half of the operand that straddles
    probe.grf(10)[:] = probe.grf(11)[:] = 7
    assert probe.run(assemble(code, gen) + encode_bytes(end(gen))) is Status.OK
    assert [probe.grf(10)[0], probe.grf(11)[0]] == [7, 1]


@pytest.mark.parametrize("general", [False, True])
@pytest.mark.parametrize("gen", [Gen.IVB, Gen.HSW, Gen.KBL])
def test_reserved_functions_of_math_give_0(gen: Gen, general: bool) -> None:
    field = encoding_of(gen).by_name["math_function"]
    known = {int(function) for function in MathFunctionGen6} - ({14, 15} if gen is not Gen.KBL else set())
    text = "math inv(8) g10<1>F g2<8,8,1>F g3<8,8,1>F { align1 1Q };"
    for function in set(range(16)) - known:
        word = int.from_bytes(assemble(text, gen), "little")
        word = word & ~field.put((1 << field.width) - 1) | field.put(function)
        probe = Probe(gen, general_only=general)
        probe.start(1)
        probe.grf(2)[:] = 0x40490FDB
        probe.grf(10)[:] = 7
        assert probe.run(word.to_bytes(16, "little") + encode_bytes(end(gen))) is Status.OK
        assert probe.grf(10).tolist() == [0] * 8, function
