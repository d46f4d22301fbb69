"""The execution units of Skylake and Kaby Lake: what Gen7.5 does not have.  tests/eu/test_gen7.py has the rest."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest

from gen4emu._native import lib
from gen4emu.core_enums import Status
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen6.messages import MathFunctionGen6
from gen4emu.isa import assemble, encode_bytes
from gen4emu.isa.encodings import encoding_of
from tests.eu.differential import Bench
from tests.eu.gen7_programs import check, check_flow, end, first_difference, result
from tests.eu.gen9_programs import flow_case, straight_case
from tests.harness.messages import operand
from tests.harness.probe import Probe

GEN = Gen.KBL
WIDE = "{}(4) g10<1>{type} g2<4,4,1>{type} g3<4,4,1>{type} {{ align1 1N }};"
HALF = "{}(8) g10<1>{to} g2<8,8,1>{type} g3<8,8,1>{type} {{ align1 1Q }};"


def quads(*values: int) -> list[int]:
    """Four numbers of 64 bits as eight dwords."""
    whole = [value & (1 << 64) - 1 for value in values * (4 // len(values))]
    return [part for value in whole for part in (value & 0xFFFFFFFF, value >> 32)]


def with_type(text: str, operand: str, code: int) -> str:
    """An instruction as dwords, with another code for the type of an operand."""
    field = encoding_of(GEN).by_name[f"{operand}_type"]
    word = int.from_bytes(assemble(text, GEN), "little")
    words = (word & ~field.put((1 << field.width) - 1) | field.put(code)).to_bytes(16, "little")
    return ".dword " + " ".join(hex(dword) for dword in struct.unpack("<4I", words)) + ";\n"


def halves(*values: float) -> list[int]:
    """Sixteen half floats as eight dwords."""
    data = np.array(values * (16 // len(values)), np.float16).tobytes()
    return list(struct.unpack("<8I", data))


@pytest.mark.parametrize(("name", "kind", "a", "b", "expected"), [
    ("add", "Q", 0xFFFFFFFF, 1, 1 << 32), ("add", "UQ", (1 << 64) - 1, 2, 1), ("add", "Q", -3, 1, -2),
    ("shl", "UQ", 1, 40, 1 << 40), ("shr", "UQ", 1 << 63, 60, 8), ("asr", "Q", -(1 << 62), 60, -4),
    ("and", "UQ", 0xFF00FF00FF00, 0x0FF00FF00FF0, 0x0F000F000F00), ("xor", "Q", -1, 5, ~5),
    ("mul", "Q", 1 << 20, 1 << 21, 1 << 41),
])
def test_integers_of_64_bits(name: str, kind: str, a: int, b: int, expected: int) -> None:
    found = result(GEN, WIDE.format(name, type=kind), {2: quads(a), 3: quads(b), 10: 0})
    assert found == quads(expected)


@pytest.mark.parametrize(("code", "value", "count", "expected"), [
    ("shl(4) g10<1>Q g2<4,4,1>D g3<4,4,1>UD", -3, 33, -3 << 33),
    ("shl(4) g10<1>UQ g2<4,4,1>UD g3<4,4,1>UD", 0xFFFFFFFF, 32, 0xFFFFFFFF << 32),
    ("asr(4) g10<1>Q g2<4,4,1>D g3<4,4,1>UD", -64, 35, -1),
    ("shr(4) g10<1>UQ g2<4,4,1>UD g3<4,4,1>UD", 64, 65, 32),
])
def test_shifts_of_dwords_to_64_bits_have_64(code: str, value: int, count: int, expected: int) -> None:
    words = [value & 0xFFFFFFFF] * 8
    assert result(GEN, code + " { align1 1N };", {2: words, 3: [count] * 8, 10: 0}) == quads(expected)


def test_the_type_of_a_shift_count_does_not_matter() -> None:
    code = "shl(4) g10<1>UD g2<4,4,1>UD g3<4,4,1>UQ { align1 1N };"
    assert result(GEN, code, {2: [3] * 8, 3: quads(33), 10: 0}) == [6, 6, 6, 6, 0, 0, 0, 0]


@pytest.mark.parametrize(("kind", "a", "b", "greater"), [
    ("UQ", 1 << 63, 1, 0xF), ("Q", -(1 << 63), 1, 0), ("UQ", 1, (1 << 63) + 1, 0), ("Q", 1 << 40, (1 << 40) - 1, 0xF),
])
def test_integers_of_64_bits_are_compared_with_their_sign(kind: str, a: int, b: int, greater: int) -> None:
    code = f"cmp.g.f0.0(4) null<1>{kind} g2<4,4,1>{kind} g3<4,4,1>{kind} {{ align1 1N }};\n" \
           "mov(1) g10<1>UD f0<0,1,0>UW { align1 WE_all 1N };"
    assert result(GEN, code, {2: quads(a), 3: quads(b), 10: 0})[0] == greater


@pytest.mark.parametrize(("source", "to", "value", "expected"), [
    ("Q", "DF", -5, struct.unpack("<Q", struct.pack("<d", -5.0))[0]),
    ("UQ", "DF", 1 << 63, struct.unpack("<Q", struct.pack("<d", 2.0 ** 63))[0]),
    ("DF", "Q", struct.unpack("<Q", struct.pack("<d", -2.5))[0], -2),
    ("DF", "UQ", struct.unpack("<Q", struct.pack("<d", 2.0 ** 63))[0], 1 << 63),
    ("DF", "UQ", struct.unpack("<Q", struct.pack("<d", -1.0))[0], 0),
])
def test_integers_of_64_bits_are_converted(source: str, to: str, value: int, expected: int) -> None:
    code = f"mov(4) g10<1>{to} g2<4,4,1>{source} {{ align1 1N }};"
    assert result(GEN, code, {2: quads(value), 10: 0}) == quads(expected)


def test_a_dword_becomes_64_bits() -> None:
    code = "mov(4) g10<1>Q g2<4,4,1>D { align1 1N };"
    found = result(GEN, code, {2: [0xFFFFFFFE, 7, 0, 1, 0, 0, 0, 0], 10: 0})
    assert found == [0xFFFFFFFE, 0xFFFFFFFF, 7, 0, 0, 0, 1, 0]


@pytest.mark.parametrize(("kind", "literal", "expected"), [
    ("DF", "0x3ff8000000000000DF", 0x3FF8000000000000), ("UQ", "0x123456789abcdef0UQ", 0x123456789ABCDEF0),
])
def test_immediates_have_64_bits(kind: str, literal: str, expected: int) -> None:
    code = f"mov(4) g10<1>{kind} {literal} {{ align1 1N }};"
    assert result(GEN, code, {10: 0}) == quads(expected)


@pytest.mark.parametrize("code", range(11, 16))
@pytest.mark.parametrize("operand", ["dst", "src0", "src1"])
def test_reserved_types_are_unsigned_dwords(operand: str, code: int) -> None:
    a, b = 0x80000001, 0x70000000
    assert result(GEN, with_type("avg(8) g10<1>UD g2<8,8,1>UD g3<8,8,1>UD { align1 1Q };", operand, code),
                  {2: a, 3: b}) == [(a + b + 1) // 2] * 8


@pytest.mark.parametrize("code", range(12, 16))
def test_immediates_of_reserved_types_are_unsigned_dwords(code: int) -> None:
    text = "avg(8) g10<1>UD g2<8,8,1>UD 0x80000001UD { align1 1Q };"
    assert result(GEN, with_type(text, "src1", code), {2: 0x70000000}) == [0x78000001] * 8


@pytest.mark.parametrize("code", range(5, 8))
def test_reserved_types_of_three_sources_are_unsigned_dwords(code: int) -> None:
    text = "bfi2(8) g10<1>UD g2<4,4,1>UD g3<4,4,1>UD g4<4,4,1>UD { align16 1Q };"
    whole = with_type(with_type(text, "ternary_src", code), "ternary_dst", code)
    registers = {2: 0xFF00, 3: 0x12, 4: 0xFFFFFFFF}
    assert result(GEN, whole, dict(registers)) == result(GEN, text, dict(registers)) == [0xFFFF12FF] * 8


@pytest.mark.parametrize(("a", "b", "kind", "expected"), [
    (0x12345678, 0x9ABCDEF0, "UD", 0x12345678 * 0x9ABCDEF0 & 0xFFFFFFFF),
    (0x10001, 0x10001, "D", 0x20001),
])
def test_the_product_of_dwords_is_whole(a: int, b: int, kind: str, expected: int) -> None:
    code = f"mul(8) g10<1>{kind} g2<8,8,1>{kind} g3<8,8,1>{kind} {{ align1 1Q }};"
    assert result(GEN, code, {2: a, 3: b}) == [expected] * 8


def test_the_product_of_dwords_fits_64_bits() -> None:
    code = "mul(4) g10<1>UQ g2<4,4,1>UD g3<4,4,1>UD { align1 1N };"
    assert result(GEN, code, {2: 0xFFFFFFFF, 3: 0xFFFFFFFF, 10: 0}) == quads(0xFFFFFFFF ** 2)


@pytest.mark.parametrize(("name", "expected"), [("and", 0x0A & ~0x06), ("or", 0x0A | ~0x06), ("xor", 0x0A ^ ~0x06)])
def test_negation_inverts_the_operand_of_a_logic_instruction(name: str, expected: int) -> None:
    code = f"{name}(8) g10<1>UD g2<8,8,1>UD ~g3<8,8,1>UD {{ align1 1Q }};"
    assert result(GEN, code, {2: 0x0A, 3: 0x06}) == [expected & 0xFFFFFFFF] * 8


@pytest.mark.parametrize(("name", "a", "b", "expected"), [
    ("add", 1.0, 2.0 ** -11, 1.0), ("add", 1.0, 3 * 2.0 ** -11, 1 + 2.0 ** -9), ("mul", 2.0 ** -14, 0.5, 2.0 ** -15),
    ("add", 65504.0, 16.0, float("inf")), ("mul", 300.0, 300.0, float("inf")), ("add", 2048.0, 1.0, 2048.0),
])
def test_half_floats_are_rounded_to_nearest_even(name: str, a: float, b: float, expected: float) -> None:
    found = result(GEN, HALF.format(name, to="HF", type="HF"), {2: halves(a), 3: halves(b), 10: 0})
    assert found[:4] == halves(expected)[:4] and found[4:] == [0] * 4


def test_the_sum_of_a_half_float_and_a_tiny_one_is_rounded_once() -> None:
    """Rounded to a float first, 2048 + 2^-14 + 1 would be a tie."""
    code = "mad(8) g10<1>HF g2<4,4,1>HF g3<4,4,1>HF g4<4,4,1>HF { align16 1Q };"
    found = result(GEN, code, {2: halves(2049 - 1.0), 3: halves(1.0009765625), 4: halves(1.0), 10: 0})
    assert found[0] & 0xFFFF == np.array([2050.0], np.float16).view(np.uint16)[0]


@pytest.mark.parametrize(("code", "source", "expected"), [
    ("mov(8) g10<1>F g2<8,8,1>HF { align1 1Q };", halves(1.5), 0x3FC00000),
    ("mov(8) g10<1>F -g2<8,8,1>HF { align1 1Q };", halves(2.0 ** -24), 0xB3800000),
    ("mov(8) g10<1>D g2<8,8,1>HF { align1 1Q };", halves(-3.7), 0xFFFFFFFD),
])
def test_half_floats_are_converted(code: str, source: list[int], expected: int) -> None:
    assert result(GEN, code, {2: source}) == [expected] * 8


def test_floats_become_half_floats() -> None:
    code = "mov(8) g10<2>HF g2<8,8,1>F { align1 1Q };"
    values = np.array([1.0, 65519.0, 65520.0, 2.0 ** -24, 2.0 ** -25, 3 * 2.0 ** -25, -0.0, 0.1], np.float32)
    found = result(GEN, code, {2: [int(v) for v in values.view(np.uint32)], 10: 0, 11: 0})
    assert found == [0x3C00, 0x7BFF, 0x7C00, 0x0001, 0x0000, 0x0002, 0x8000, 0x2E66]


def test_csel_compares_its_third_source_with_zero() -> None:
    code = "csel.l(8) g10<1>F g2<4,4,1>F g3<4,4,1>F g4<4,4,1>F { align16 1Q };"
    values = [int(v) for v in np.array([-1, 1, 0, -2, 3, -0.0, -5, 5], np.float32).view(np.uint32)]
    found = result(GEN, code, {2: 0x3F800000, 3: 0x40000000, 4: values})
    assert found == [0x3F800000 if v < 0 else 0x40000000 for v in (-1, 1, 0, -2, 3, 0, -5, 5)]


def test_a_split_send_joins_two_payloads() -> None:
    """A header in one place and the data of an OWord block write in another."""
    write = operand("DATA_CACHE_DATA_PORT_MESSAGE", GEN, header_present=True, message_type="OWORD_BLOCK_WRITE",
                    oword_block_size="OWORDS_2", binding_table_index=255)
    code = f"sends(8) nullUD g2UD g20UD {write} 0x00000040 data {{ align1 WE_all 1Q }};"
    data = [0x11111111 * n for n in range(8)]
    for general_only in (True, False):
        probe = Probe(GEN)
        probe.start(1)
        probe.grf(2)[:] = [0, 0, 0x4000 // 16, 0, 0, 0, 0, 0]
        probe.grf(20)[:] = data
        assert probe.run(assemble(code, GEN) + encode_bytes(end(GEN)), general_only=general_only) is Status.OK
        assert not probe.events()
        assert list(probe.memory.read_dwords(0x4000, 8)) == data


def test_a_response_may_take_the_place_of_the_second_payload() -> None:
    """A compare-and-swap of sixteen channels: the response to the first eight lies where the others have what they
    compare with."""
    atomic = operand("DATA_CACHE_DATA_PORT_1_MESSAGE", GEN, length=2, response=2, message_type="UNTYPED_ATOMIC",
                     atomic_operation="CMPWR", return_data=True, binding_table_index=255)
    code = f"sends(16) g19UD g2UD g18UD {atomic} 0x00000100 dp data 1 {{ align1 WE_all 1H }};"
    probe = Probe(GEN)
    probe.memory.write(0x4000, np.arange(16, dtype=np.uint32).tobytes())
    probe.start(1)
    offsets, expected, stored = (np.arange(16, dtype=np.uint32) * step + first
                                 for first, step in ((0x4000, 4), (0, 1), (100, 1)))
    for reg, values in ((2, offsets), (18, expected), (20, stored)):
        probe.grf(reg)[:], probe.grf(reg + 1)[:] = values[:8], values[8:]
    assert probe.run(assemble(code, GEN) + encode_bytes(end(GEN))) is Status.OK
    assert list(probe.memory.read_dwords(0x4000, 16)) == list(stored)
    assert [*probe.grf(19), *probe.grf(20)] == list(expected)


@pytest.mark.parametrize("function", range(16))
def test_messages_need_no_unit_that_is_not_modelled(function: int) -> None:
    """Surface 1 exists, and no part of it is understood."""
    for kind in range(32):
        probe = Probe(GEN)
        probe.memory.write(0x2000, struct.pack("<2I", 0, 0x1000))
        probe.memory.write(0x1000, bytes(range(64)))
        probe.start(2, binding_table=0x2000, sampler_state=0x3000)
        descriptor = 4 << 25 | 4 << 20 | (kind & 1) << 19 | kind >> 1 << 14 | 1
        assert probe.send_gen7(function, descriptor, 20, 40, emask=0xFFFF) is Status.OK


def test_a_branch_counts_bytes() -> None:
    code = """
        cmp.l.f0.0(8) null<1>D g2<8,8,1>D 4D { align1 1Q };
        (+f0.0) if(8) JIP: 48 UIP: 64 { align1 1Q };
        mov(8) g10<1>D 1D { align1 1Q };
        else(8) JIP: 32 UIP: 32 { align1 1Q };
        mov(8) g10<1>D 2D { align1 1Q };
        endif(8) JIP: 16 { align1 1Q };
    """
    assert result(GEN, code, {2: [0, 1, 2, 3, 4, 5, 6, 7]}) == [1, 1, 1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize(("code", "expected"), [
    ("mov(8) g10<1>UW 0x76543210UV { align1 1Q };", [0x10000, 0x30002, 0x50004, 0x70006, 0, 0, 0, 0]),
    ("mov(4) g10<1>UD 0x0c080400UV { align1 1N };", [0, 4, 8, 12, 0, 0, 0, 0]),
    ("mov(8) g10<1>D 0x0f080400V { align1 1Q };", [0, 4, 0xFFFFFFF8, 0xFFFFFFFF, 0, 4, 0xFFFFFFF8, 0xFFFFFFFF]),
    ("mov(8) g10<2>UW 0x70503010UV { align1 1Q };", [0, 0, 0, 0, 0, 0, 0, 0]),
    ("mov(2) g10<1>UQ 0x00020001UV { align1 1N };", [1, 0, 2, 0, 0, 0, 0, 0]),
])
def test_elements_of_packed_vectors_lie_at_words(code: str, expected: list[int]) -> None:
    assert result(GEN, code, {10: 0}) == expected


SKIPPED = """
    cmp.l.f0.0(8) null<1>D g2<8,8,1>D 4D {{ align1 1Q }};
    {predicate}goto(8) JIP: 32 UIP: 32 {{ align1 1Q }};
    mov(8) g10<1>D 1D {{ align1 1Q }};
    join(8) JIP: 16 {{ align1 1Q }};
    add(8) g10<1>D g10<8,8,1>D 10D {{ align1 1Q }};
"""


@pytest.mark.parametrize(("predicate", "expected"), [
    ("(+f0.0) ", [11, 11, 11, 11, 10, 10, 10, 10]), ("(-f0.0) ", [10, 10, 10, 10, 11, 11, 11, 11]), ("", [11] * 8)])
def test_goto_skips_instructions_for_channels_whose_predicate_is_false(predicate: str, expected: list[int]) -> None:
    assert result(GEN, SKIPPED.format(predicate=predicate), {2: list(range(8)), 10: 0}) == expected


def test_goto_with_branch_control_repeats_instructions_for_channels_whose_predicate_is_true() -> None:
    code = """
        add(8) g10<1>D g10<8,8,1>D 1D { align1 1Q };
        cmp.l.f0.0(8) null<1>D g10<8,8,1>D g2<8,8,1>D { align1 1Q };
        (+f0.0) goto(8) JIP: 16 UIP: -32 { align1 1Q BranchCtrl };
        join(8) JIP: 16 { align1 1Q };
        add(8) g10<1>D g10<8,8,1>D 100D { align1 1Q };
    """
    assert result(GEN, code, {2: [0, 1, 2, 3, 4, 5, 6, 7], 10: 0}) == [101, 101, 102, 103, 104, 105, 106, 107]


def macro_step(function: MathFunctionGen6, dst: int, src0: int, src1: int) -> str:
    """Of 4 doubles: `math` in Align16, whose destination is the accumulator 2 and whose sources are none."""
    text = f"math inv(4) g{dst}<1>.xyzwDF g{src0}<4>.xyzwDF g{src1}<4>.xyzwDF {{ align16 1N }};"
    encoding = encoding_of(GEN)
    word = int.from_bytes(assemble(text, GEN), "little")
    for name, value in (("math_function", function), ("dst_writemask", 0)):
        field = encoding.by_name[name]
        word = word & ~field.put((1 << field.width) - 1) | field.put(value)
    words = struct.unpack("<4I", word.to_bytes(16, "little"))
    return ".dword " + " ".join(hex(dword) for dword in words) + ";\n"


@pytest.mark.parametrize(("function", "a", "b", "expected"), [
    (MathFunctionGen6.INVM, 1.0, 3.0, 1 / 3), (MathFunctionGen6.INVM, -7.0, 0.0, -math.inf),
    (MathFunctionGen6.INVM, 1e308, 1e-308, math.inf), (MathFunctionGen6.RSQRTM, 2.0, 0.0, math.sqrt(2)),
    (MathFunctionGen6.RSQRTM, math.inf, 0.0, math.inf),
])
def test_the_first_step_of_a_macro_has_its_result_and_ends_it(function: MathFunctionGen6, a: float, b: float,
                                                              expected: float) -> None:
    code = macro_step(function, 10, 2, 3) + "mov(1) g11<1>UD f0<0,1,0>UW { align1 WE_all 1N };\n"
    numbers = {n: list(struct.unpack("<8I", struct.pack("<4d", *[x] * 4))) for n, x in ((2, a), (3, b))}
    assert result(GEN, code, numbers | {10: 0}) == list(struct.unpack("<8I", struct.pack("<4d", *[expected] * 4)))
    assert result(GEN, code, numbers | {11: 0}, reg=11)[0] == 0xF


def test_the_other_steps_of_a_macro_are_sums_of_whole_registers() -> None:
    code = "madm(4) g10<1>.xDF g2<4,4,1>.xzxxDF -g3<4,4,1>.xzxxDF g4<4,4,1>.yxxxDF { align16 1N };"
    packed = {n: list(struct.unpack("<8I", struct.pack("<4d", *values)))
              for n, values in ((2, (1, 2, 3, 4)), (3, (5, 6, 7, 8)), (4, (10, 20, 30, 40)))}
    expected = [1 - 50, 2 - 120, 3 - 210, 4 - 320]
    assert result(GEN, code, packed | {10: 0}) == list(struct.unpack("<8I", struct.pack("<4d", *expected)))


def test_compacted_instructions_are_expanded() -> None:
    words = encode_bytes(end(GEN))
    code = assemble("mov(8) g10<1>F g2<8,8,1>F { align1 1Q compacted };", GEN)
    assert len(code) == 8
    probe = Probe(GEN)
    probe.start(1)
    probe.grf(2)[:] = 0x40490FDB
    assert probe.run(code + words) is Status.OK
    assert probe.grf(10).tolist() == [0x40490FDB] * 8


@pytest.mark.parametrize("first", [0, 3])
def test_rows_of_sixteen_channels_have_sixteen_addresses(first: int) -> None:
    """Channel c reads register 14, element (c + first) mod 16."""
    code = """
        shl(16) a0<1>UW g2<16,16,1>UW 2UW { align1 WE_all 1H };
        mov(16) g10<1>UD g[a0 448]<VxH,1,0>UD { align1 WE_all 1H };
    """
    words = [(c + first) % 16 for c in range(16)]
    lanes = [words[2 * i] | words[2 * i + 1] << 16 for i in range(8)]
    registers: dict[int, list[int] | int] = {
        2: lanes, 14: list(range(100, 108)), 15: list(range(108, 116)), 10: 0, 11: 0}
    assert result(GEN, code, dict(registers)) == [100 + word for word in words[:8]]
    assert result(GEN, code, dict(registers), reg=11) == [100 + word for word in words[8:]]


@pytest.mark.parametrize(("kind", "a", "b", "expected"), [
    ("D", 5, -(1 << 31), (1 << 31) - 1), ("D", -7, 1, -8), ("UD", 3, 5, 0), ("UD", 1 << 31, 1, (1 << 31) - 1),
])
def test_a_region_of_the_accumulator_is_that_of_the_channels(kind: str, a: int, b: int, expected: int) -> None:
    """The difference saturates, and the negated accumulator has a bit more."""
    code = f"""
        mov(8) acc0<1>{kind} g3<8,8,1>{kind} {{ align1 1Q }};
        add.sat(8) g10<1>{kind} -acc0<0,1,0>{kind} g2<8,8,1>{kind} {{ align1 1Q }};
    """
    others = [n & 0xFFFFFFFF for n in (b, 0, b, 0, 0, b, 0, b)]
    found = result(GEN, code, {2: a & 0xFFFFFFFF, 3: others})
    assert found == [(expected if b & 0xFFFFFFFF == other else a) & 0xFFFFFFFF for other in others]


@pytest.mark.parametrize(("kind", "a", "b", "expected"), [
    ("Q", (1 << 63) - 2, 5, (1 << 63) - 1), ("Q", -(1 << 63), -1, -(1 << 63)), ("Q", 1 << 62, -1, (1 << 62) - 1),
    ("UQ", (1 << 64) - 2, 5, (1 << 64) - 1), ("UQ", 1 << 63, 1 << 62, 3 << 62),
])
def test_sums_of_64_bits_saturate(kind: str, a: int, b: int, expected: int) -> None:
    found = result(GEN, WIDE.format("add.sat", type=kind), {2: quads(a), 3: quads(b), 10: 0})
    assert found == quads(expected)


def test_an_unsigned_difference_of_64_bits_ends_at_zero() -> None:
    code = "add.sat(4) g10<1>UQ g2<4,4,1>UQ -g3<4,4,1>UQ { align1 1N };"
    assert result(GEN, code, {2: quads(3), 3: quads((1 << 63) + 9), 10: 0}) == quads(0)
    assert result(GEN, code, {2: quads((1 << 64) - 1), 3: quads(1 << 63), 10: 0}) == quads((1 << 63) - 1)


@pytest.mark.parametrize("variant", range(lib.g4_variant_best() + 1))
@pytest.mark.parametrize(("instruction", "expected"), [
    # the positions of sixteen pixels: x and y of four subspans, two registers
    ("add(32) g10<1>UW g2.4<2,8,0>UW 0x11001010V { align1 WE_all 1H };",
     [[4, 5, 4, 5, 4, 4, 5, 5, 6, 7, 6, 7, 6, 6, 7, 7], [8, 9, 8, 9, 8, 8, 9, 9, 10, 11, 10, 11, 10, 10, 11, 11]]),
    ("add(32) g10<1>UW g2<16,16,1>UW 3UW { align1 WE_all 1H };",
     [[n + 3 for n in range(16)], [n + 3 for n in range(16, 32)]]),
    ("mov(32) g10<1>W -g2<16,16,1>W { align1 WE_all 1H };",
     [[-n & 0xFFFF for n in range(16)], [-n & 0xFFFF for n in range(16, 32)]]),
    ("mul(32) g10<1>UW g2<16,16,1>UW g2<0,1,0>UW { align1 WE_all 1H };", [[0] * 16, [0] * 16]),
    # the second half reads what the first has written
    ("add(32) g3<1>UW g2<16,16,1>UW 1UW { align1 WE_all 1H };\nmov(16) g10<1>UD g3<8,8,1>UD { align1 WE_all 1H };",
     [[n + 1 for n in range(16)], [n + 2 for n in range(16)]]),
])
def test_words_of_32_channels(instruction: str, expected: list[list[int]], variant: int) -> None:
    before = lib.g4_variant_current()
    lib.g4_set_variant(variant)
    try:
        words = {2 + r: [2 * n + 16 * r | 2 * n + 1 + 16 * r << 16 for n in range(8)] for r in range(2)}
        for dmask in (0xFFFF, 0x0101, 1 << 15):
            found = [result(GEN, instruction, dict(words), reg=10 + r, dmask=dmask) for r in range(2)]
            assert [np.array(row, np.uint32).view(np.uint16).tolist() for row in found] == expected
    finally:
        lib.g4_set_variant(before)


@pytest.mark.parametrize(("instruction", "expected"), [
    ("mov(32) g10<1>UW 7UW { align1 1H };", {0: 7 << 16, 10: 7}),
    ("mov(32) g10<1>UB 7UW { align1 1H };", {0: 7 << 8, 5: 7}),
    ("mov(1) f0<1>UD 0UD { align1 WE_all 1N };\ncmp.z.f0.0(32) null<1>UW g2<0,1,0>UW g2<0,1,0>UW { align1 1H };\n"
     "mov(1) g10<1>UD f0<0,1,0>UD { align1 WE_all 1N };", {0: 0x00100002}),
])
def test_instructions_of_32_channels_write_those_that_are_enabled(instruction: str, expected: dict[int, int]) -> None:
    """Of a thread that has channels 1 and 20.  `expected`: the dwords of two registers that are not zero."""
    machine = Probe(GEN)
    machine.start(1, dmask=0x00100002, wide=True)
    assert machine.run(assemble(instruction, GEN) + encode_bytes(end(GEN))) is Status.OK
    words = [*machine.grf(10).tolist(), *machine.grf(11).tolist()]
    assert {n: word for n, word in enumerate(words) if word} == expected


@pytest.mark.parametrize(("kind", "a", "b", "flags"), [
    ("UQ", (1 << 63) + 5, 1, {"g": 15, "l": 0, "z": 0}), ("UQ", (1 << 64) - 1, 1, {"g": 0, "l": 0, "z": 15}),
    ("Q", (1 << 63) - 1, 1, {"g": 0, "l": 15, "z": 0}), ("Q", -(1 << 63), -1, {"g": 15, "l": 0, "z": 0}),
])
def test_conditions_see_the_64_bits_of_a_sum_that_are_stored(kind: str, a: int, b: int, flags: dict[str, int]) -> None:
    for condition, expected in flags.items():
        code = f"add.{condition}.f0.0(4) g10<1>{kind} g2<4,4,1>{kind} g3<4,4,1>{kind} {{ align1 1N }};\n" \
               "mov(1) g11<1>UD f0<0,1,0>UW { align1 WE_all 1N };"
        assert result(GEN, code, {2: quads(a), 3: quads(b), 11: 0}, reg=11)[0] == expected


def test_the_top_bit_of_an_unsigned_logic_result_is_not_a_sign() -> None:
    code = "or.l.f0.0(4) g10<1>UQ g2<4,4,1>UQ g3<4,4,1>UQ { align1 1N };\n" \
           "mov(1) g11<1>UD f0<0,1,0>UW { align1 WE_all 1N };"
    assert result(GEN, code, {2: quads(1 << 63), 3: quads(1), 11: 0}, reg=11)[0] == 0


@pytest.mark.parametrize(("kinds", "a", "b", "greater"), [
    ("UQ Q", 1 << 63, -1, 15), ("Q UQ", -1, 0, 0), ("UQ D", (1 << 64) - 1, -1, 15), ("Q UD", -1, 1, 0),
])
def test_signed_and_unsigned_numbers_are_compared_as_numbers(kinds: str, a: int, b: int, greater: int) -> None:
    first, second = kinds.split()
    code = f"cmp.g.f0.0(4) null<1>Q g2<4,4,1>{first} g3<4,4,1>{second} {{ align1 1N }};\n" \
           "mov(1) g10<1>UD f0<0,1,0>UW { align1 WE_all 1N };"
    right = quads(b) if second.endswith("Q") else [b & 0xFFFFFFFF] * 8
    assert result(GEN, code, {2: quads(a), 3: right, 10: 0})[0] == greater


@pytest.mark.parametrize(("code", "value", "expected"), [
    ("mov.sat(4) g10<1>UQ g2<4,4,1>Q", -5, 0), ("mov.sat(4) g10<1>Q g2<4,4,1>UQ", 1 << 63, (1 << 63) - 1),
    ("mov(4) g10<1>DF -g2<4,4,1>UQ", 5, struct.unpack("<Q", struct.pack("<d", -5.0))[0]),
    ("shr(4) g10<1>UQ -g2<4,4,1>UQ 4UD", 16, -1),
])
def test_numbers_of_64_bits_keep_their_sign(code: str, value: int, expected: int) -> None:
    assert result(GEN, code + " { align1 1N };", {2: quads(value), 10: 0}) == quads(expected)


def test_whole_products_saturate() -> None:
    code = "mul.sat(8) g10<1>UD g2<8,8,1>UD g3<8,8,1>UD { align1 1Q };"
    assert result(GEN, code, {2: 0xFFFFFFFF, 3: 0xFFFFFFFF}) == [0xFFFFFFFF] * 8


@pytest.mark.parametrize(("code", "a", "b"), [
    ("add(8) g10<1>HF g2<8,8,1>HF g3<8,8,1>HF", float("inf"), float("-inf")),
    ("mul(8) g10<1>HF -g2<8,8,1>HF g3<8,8,1>HF", float("nan"), 1.0),
    ("math sqrt(8) g10<1>HF g2<8,8,1>HF null<8,8,1>HF", -1.0, 0.0),
])
def test_nan_has_one_pattern_as_a_half_float(code: str, a: float, b: float) -> None:
    assert result(GEN, code + " { align1 1Q };", {2: halves(a), 3: halves(b), 10: 0})[:4] == [0x7E007E00] * 4


@pytest.mark.parametrize(("name", "a", "b", "expected"), [
    ("inv", 3.0, 0.0, 0x3555), ("sqrt", 2.0, 0.0, 0x3DA8), ("fdiv", 1.0, 10.0, 0x2E66), ("pow", -2.0, 10.0, 0x6400),
    ("exp", -20.0, 0.0, 0x0010), ("log", 2.0 ** -24, 0.0, 0xCE00),
])
def test_extended_math_of_half_floats(name: str, a: float, b: float, expected: int) -> None:
    code = f"math {name}(8) g10<1>HF g2<8,8,1>HF g3<8,8,1>HF {{ align1 1Q }};"
    assert result(GEN, code, {2: halves(a), 3: halves(b), 10: 0})[:4] == [expected << 16 | expected] * 4


def test_the_fraction_of_a_half_float_is_below_1() -> None:
    code = "frc(8) g10<1>HF g2<8,8,1>HF { align1 1Q };"
    assert result(GEN, code, {2: halves(-2.0 ** -24), 10: 0})[:4] == [0x3BFF3BFF] * 4


@pytest.mark.parametrize(("a", "b", "c"), [(2048.0, 1 + 2.0 ** -10, 1 + 2.0 ** -10), (2049.0, 2.0 ** -100, 1.0)])
def test_a_tiny_term_decides_a_tie_between_half_floats(a: float, b: float, c: float) -> None:
    """2049 lies between two half floats; the second term is far below the last bit of a double."""
    values = {reg: int(np.array([x], np.float32).view(np.uint32)[0]) for reg, x in ((2, a), (3, b), (4, c))}
    code = "mad(8) g10<1>HF g2<4,4,1>F g3<4,4,1>F g4<4,4,1>F { align16 1Q };"
    assert result(GEN, code, {**values, 10: 0})[:4] == halves(2050.0)[:4]
    code = "mul(8) g4<1>F g3<8,8,1>F g4<8,8,1>F { align1 1Q };\nadd(8) g10<1>HF g2<8,8,1>F g4<8,8,1>F { align1 1Q };"
    assert result(GEN, code, {**values, 10: 0})[:4] == halves(2050.0)[:4]


@pytest.mark.parametrize("wide", [False, True])
def test_straight_programs_agree_with_the_reference_in_all_variants(wide: bool) -> None:
    """`tests/eu/fuzz_eu.py --gen9` runs more of them."""
    bench = Bench(GEN)
    before = lib.g4_variant_current()
    for seed in range(24 if wide else 48):
        straight = straight_case(seed, 24, wide=wide)
        for variant in range(lib.g4_variant_best() + 1):
            lib.g4_set_variant(variant)
            found = check(bench, straight)
            lib.g4_set_variant(before)
            assert not found, (found, first_difference(bench, straight))


@pytest.mark.parametrize("wide", [False, True])
def test_compacted_programs_with_branches_agree_with_the_reference(wide: bool) -> None:
    bench = Bench(GEN)
    compared = 0
    for seed in range(12):
        found = check_flow(bench, flow_case(seed, wide=wide))
        assert not found
        compared += found is not None
    assert compared >= 10
