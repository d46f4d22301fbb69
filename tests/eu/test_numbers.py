"""Instructions with exact results, on the reference and on the C core."""

from __future__ import annotations

import struct

import pytest

from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble
from tests.eu.conftest import MakeMachine
from tests.harness.messages import END_MESSAGE, operand

NULL_MESSAGE = operand("NULL_MESSAGE")
NAN, INF = float("nan"), float("inf")


def f(value: float) -> int:
    """Bits of the nearest float."""
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def one(make: MakeMachine, text: str, sources: list[tuple[str, float]], kind: str = "UD", **setup: object) -> float:
    """Element 0 of r10 after a text whose sources are in element 0 of r2, r3, ..."""
    m = make(**setup)
    for i, (t, value) in enumerate(sources):
        m.put(2 + i, t, value)
    m.run(text)
    return m.get(10, kind, 1)[0]


def op(name: str, dst: str, *kinds: str) -> str:
    """One channel of r10 from r2, r3."""
    sources = " ".join(f"g{2 + i}<0,1,0>{k}" for i, k in enumerate(kinds))
    return f"{name}(1) g10<1>{dst} {sources} {{align1}};"


# --- encoding ---

ENCODINGS = {
    "add(16) g6<1>F g6<8,8,1>F g8<8,8,1>F {align1 compr};": "40208000bd77c020c0008d0000018d00",
    "add(16) g6<1>F g6<8,8,1>F g8<8,8,1>F {align1 compr compacted};": "4066006008060608",
    "pln(16) g6<1>F g3.4<0,1,0>F g8<8,8,1>F {align1 compr};": "5a208000bd77c0207000000000018d00",
    "pln(16) g6<1>F g3.4<0,1,0>F g8<8,8,1>F {align1 compr compacted};": "5a66082008060308",
    "cmp.nz.f0.0(16) g20<1>F g4<8,8,1>F g16<8,8,1>F {align1 compr};": "10208002bd77802280008d0000028d00",
    "cmp.nz.f0.0(16) g20<1>F g4<8,8,1>F g16<8,8,1>F {align1 compr compacted};": "1066006208140410",
    "mul(8) g5<1>.xyzF g4<4>.xyzzF g5<4>.wF {align16};": "41016000bd77a72084006a00af006f00",
    "mov(16) m3<1>F g4<8,8,1>F {align1 compr4};": "01208000be03603080008d0000000000",
    "add(8) g10<1>F g2.8<8,8,1>UW -g1<0,1,0>F {align1 sechalf};": "401060003d7540215000 8d0020400000".replace(" ", ""),
    "add(16) g2<1>UW g1.4<2,4,0>UW 0x10101010V {align1};": "40008000296d40202800480010101010",
    "mov(1) mask0<1>UW sr0.2<0,1,0>UW {align1 nomask switch};": "0182000008010028040e000000000000",
}


@pytest.mark.parametrize("text", ENCODINGS)
def test_an_instruction_assembles_to_its_words(text: str) -> None:
    assert assemble(text, Gen.EL).hex() == ENCODINGS[text]


# --- floats ---

@pytest.mark.parametrize(("name", "a", "b", "bits"), [
    ("mul", 0.1, 3.0, 0x3E999999), ("add", 0.1, 0.2, 0x3E999999), ("add", 1.0, -2.0 ** -25, 0x3F7FFFFF),
    ("mul", 0.1, 0.1, 0x3C23D70A), ("add", 1e-40, 0.0, 0), ("add", INF, -INF, None), ("mul", 0.0, INF, None),
    ("mul", 1.5, 1.0, f(1.5)), ("add", -2.5, -0.0, f(-2.5)), ("add", -0.0, 0.0, 0), ("mul", 2.0 ** -100, -2.0 ** -27,
                                                                                     0x80000000)])
def test_float_arithmetic_rounds_toward_zero_and_flushes(machine: MakeMachine, name: str, a: float, b: float,
                                                         bits: int | None) -> None:
    found = one(machine, op(name, "F", "F", "F"), [("F", a), ("F", b)])
    assert found == bits if bits is not None else int(found) & 0x7FFFFFFF > 0x7F800000


def test_overflow_is_infinite_in_ieee_mode_and_the_largest_number_in_alt_mode(machine: MakeMachine) -> None:
    largest = struct.unpack("<f", struct.pack("<I", 0x7F7FFFFF))[0]
    sources = [("F", largest), ("F", largest)]
    assert one(machine, op("add", "F", "F", "F"), sources) == 0x7F800000
    assert one(machine, op("add", "F", "F", "F"), sources, alternate=True) == 0x7F7FFFFF


def test_mac_adds_the_whole_product(machine: MakeMachine) -> None:
    m = machine()
    m.put(2, "F", [0.1] * 8)
    m.put(3, "F", [0.01] * 8)
    m.run("""mul(8) acc0<1>F g2<8,8,1>F g2<8,8,1>F {align1};
             mac(8) g10<1>F g3<8,8,1>F -1.0F {align1};
             mul(8) g11<1>F g2<8,8,1>F g2<8,8,1>F {align1};
             add(8) g11<1>F g11<8,8,1>F -g3<8,8,1>F {align1};""")
    assert m.get(10) == [0x300F5C29] * 8
    assert m.get(11) == [0] * 8


def test_a_raw_mov_keeps_the_bits_of_denormals_and_nans(machine: MakeMachine) -> None:
    m = machine()
    m.put(2, "UD", [1, 0x807FFFFF, 0x7FA00001, 0xFFC12345, 0x7F800000, 0, 0x80000000, 3])
    m.run("mov(8) g10<1>F g2<8,8,1>F {align1};\nmov(8) g11<1>F -g2<8,8,1>F {align1};")
    assert m.get(10) == m.get(2)
    assert m.get(11)[:2] == [0x80000000, 0]


@pytest.mark.parametrize("eight", ["g2<8,8,1>F", "g2<2,4,0>F"])  # with a fast handler, and without
def test_a_mov_with_modifiers_keeps_the_payload_of_a_nan(machine: MakeMachine, eight: str) -> None:
    m = machine()
    m.put(2, "UD", [0x7FFFFFE0, 0xFFC12345, 0x7FA00001, 0x7F800000, 0x7FFFFFE0, 0x7FFFFFE0, 0x7FFFFFE0, 1])
    m.run(f"mov(8) g10<1>F -{eight} {{align1}};\nmov(8) g11<1>F -(abs){eight} {{align1}};\n"
          f"mov.sat(8) g12<1>F -{eight} {{align1}};\nadd(8) g13<1>F -{eight} 0.0F {{align1}};")
    lanes = range(8) if "8,8" in eight else [0] * 4 + [2] * 4
    same = [0xFFFFFFE0] * 3
    assert m.get(10) == [[0xFFFFFFE0, 0x7FC12345, 0xFFE00001, 0xFF800000, *same, 0x80000000][i] for i in lanes]
    assert m.get(11) == [[0xFFFFFFE0, 0xFFC12345, 0xFFE00001, 0xFF800000, *same, 0x80000000][i] for i in lanes]
    assert m.get(12) == [0] * 8
    assert m.get(13)[0] == 0x7FC00000


def test_a_negated_null_is_a_negative_zero(machine: MakeMachine) -> None:
    m = machine()
    m.run("mov(8) g10<1>F -null<8,8,1>F {align1};")
    assert m.get(10) == [0x80000000] * 8


@pytest.mark.parametrize(("value", "bits"), [(-1e-10, 0x3F7FFFFF), (-0.25, 0x3F400000), (-0.0, 0), (2.5, f(0.5))])
def test_frc_is_the_distance_from_the_floor(machine: MakeMachine, value: float, bits: int) -> None:
    assert one(machine, op("frc", "F", "F"), [("F", value)]) == bits


# --- conversions ---

@pytest.mark.parametrize(("kind", "value", "bits"), [
    ("D", 16777217, 0x4B800000), ("D", -16777219, 0xCB800001), ("D", 0x7FFFFFFF, 0x4EFFFFFF),
    ("UD", 0xFFFFFFFF, 0x4F7FFFFF)])
def test_integers_lose_low_bits_when_they_become_floats(machine: MakeMachine, kind: str, value: int, bits: int) -> None:
    assert one(machine, op("mov", "F", kind), [(kind, value)]) == bits


@pytest.mark.parametrize(("value", "kind", "expected"), [
    (-1.9, "D", -1), (-1.5, "UD", 0), (3.99, "UB", 3), (300.0, "UB", 255), (-200.0, "B", -128), (70000.0, "UW", 0xFFFF),
    (NAN, "D", 0), (3e9, "D", 0x7FFFFFFF), (INF, "W", 0x7FFF), (-INF, "D", -0x80000000)])
def test_floats_are_truncated_and_clamped_to_integers(machine: MakeMachine, value: float, kind: str,
                                                      expected: int) -> None:
    assert one(machine, op("mov", kind, "F"), [("F", value)], kind) == expected


def test_a_negative_word_becomes_a_sign_extended_unsigned_dword(machine: MakeMachine) -> None:
    assert one(machine, op("mov", "UD", "W"), [("W", -1)]) == 0xFFFFFFFF


def test_vf_bytes_are_small_floats(machine: MakeMachine) -> None:
    m = machine()
    m.run("mov(4) g10<1>F 0x01482030VF {align1};\nmov(4) g11<1>F 0x30FF800FVF {align1};")
    assert m.get(10, count=4) == [f(1.0), f(0.5), f(3.0), 0x3E080000]
    assert m.get(11, count=4) == [0x3E780000, 0x80000000, f(-31.0), f(1.0)]


def test_v_nibbles_are_signed_words_and_repeat(machine: MakeMachine) -> None:
    m = machine()
    m.run("mov(16) g10<1>W 0x11001100V {align1};\nmov(8) g11<1>W 0xF0000007V {align1};")
    assert m.get(10, "W", 16) == [0, 0, 1, 1] * 4
    assert m.get(11, "W", 8) == [7, 0, 0, 0, 0, 0, 0, -1]


# --- rounding ---

@pytest.mark.parametrize(("name", "flags", "after"), [
    ("rndz", 0b0110010, [1, -1, 2, 3, -2, -3, 2]), ("rnde", 0b0011011, [2, -1, 2, 4, -2, -4, 2])])
def test_rounding_leaves_a_floor_and_a_flag(machine: MakeMachine, name: str, flags: int, after: list[int]) -> None:
    m = machine()
    m.put(2, "F", [1.75, -1.25, 2.5, 3.5, -2.5, -3.5, 2.0])
    m.run(f"""{name}.r.f0.0(8) g10<1>F g2<8,8,1>F {{align1}};
              mov(8) g11<1>F g10<8,8,1>F {{align1}};
              (+f0.0) add(8) g11<1>F g11<8,8,1>F 1.0F {{align1}};""")
    assert m.get(10, "F", 7) == [1, -2, 2, 3, -3, -4, 2]
    assert m.flags & 0x7F == flags
    assert m.get(11, "F", 7) == after


# --- integers ---

def test_mul_of_dwords_takes_sixteen_bits_and_mach_the_rest(machine: MakeMachine) -> None:
    m = machine()
    m.put(2, "D", [0x00012345, -3] * 4)
    m.put(3, "D", [0x00010000, 7] * 4)
    m.run("""mul(8) g10<1>D g2<8,8,1>D g3<8,8,1>D {align1};
             mul(8) acc0<1>D g2<8,8,1>D g3<8,8,1>D {align1};
             mov(8) g11<1>D acc0<8,8,1>D {align1};
             mach(8) g12<1>D g2<8,8,1>D g3<8,8,1>D {align1};
             mov(8) g13<1>D acc0<8,8,1>D {align1};""")
    assert m.get(10, "D", 2) == [0x23450000, -21]
    assert m.get(11, "UD", 2) == [0x23450000, 0x6FFEB]
    assert m.get(12, "D", 2) == [1, -1]
    assert m.get(13, "D", 2) == [0x23450000, -21]


@pytest.mark.parametrize(("kind", "product"), [("D", -(0x10000 - 37800) * 7), ("UD", 37800 * 7)])
def test_a_lone_mul_of_dwords_has_the_sign_of_its_type(machine: MakeMachine, kind: str, product: int) -> None:
    """Compilers multiply by small constants this way (docs/decisions.md 41); a following mach is exact."""
    m = machine()
    m.put(2, "D", [37800] * 8)
    m.put(3, "D", [7] * 8)
    m.run(f"""mul(8) g10<1>{kind} g2<8,8,1>{kind} g3<8,8,1>{kind} {{align1}};
              mach(8) g12<1>{kind} g2<8,8,1>{kind} g3<8,8,1>{kind} {{align1}};
              mov(8) g13<1>{kind} acc0<8,8,1>{kind} {{align1}};""")
    assert m.get(10, "D", 1) == [product]
    assert m.get(12, "D", 1) == [0]
    assert m.get(13, "D", 1) == [37800 * 7]


def test_mul_of_a_dword_and_a_word_is_exact(machine: MakeMachine) -> None:
    m = machine()  # inverse quantization of MPEG-2
    m.put(2, "D", [-52, 0x12345] * 4)
    m.put(3, "UW", [8, 3] * 4)
    m.run("""mul(8) g10<1>D g2<8,8,1>D g3<8,8,1>UW {align1};
             mul(8) g11<1>D g2<8,8,1>D -3W {align1};""")
    assert m.get(10, "D", 2) == [-416, 0x369CF]
    assert m.get(11, "D", 2) == [156, -3 * 0x12345]


@pytest.mark.parametrize(("dmask", "second"), [(0xFFFF, 0x430), (0xF0F6, 0x430), (0xFFFF, 0x438)])
def test_dp4_of_words_and_dwords(machine: MakeMachine, dmask: int, second: int) -> None:
    m = machine(dmask=dmask)  # the inverse transform of MPEG-2, also with words that straddle registers
    words = [7 * i * (-1) ** i for i in range(48)]
    dwords = [100003 * i - 800024 for i in range(16)]
    m.put(32, "W", words)
    m.put(40, "D", dwords)
    m.put(50, "D", [5] * 16)
    m.run(f"""mov(1) a0.0<1>UW 0x400UW {{align1 nomask}};
              mov(1) a0.1<1>UW 0x{second:x}UW {{align1 nomask}};
              dp4(16) g50<1>D g[a0.0]<8,8,1>W g40<8,8,1>D {{align1 compr}};""")
    picked = words[:8] + words[(second - 0x400) // 2:][:8]
    sums = [sum(a * b for a, b in list(zip(picked, dwords, strict=True))[c & ~3:(c & ~3) + 4]) for c in range(16)]
    assert m.get(50, "D", 16) == [s if dmask >> c & 1 else 5 for c, s in enumerate(sums)]


@pytest.mark.parametrize(("kind", "a", "b", "expected"), [
    ("UB", 3, 4, 4), ("UB", 255, 255, 255), ("W", -3, -4, -3)])
def test_avg_rounds_up(machine: MakeMachine, kind: str, a: int, b: int, expected: int) -> None:
    assert one(machine, op("avg", kind, kind, kind), [(kind, a), (kind, b)], kind) == expected


@pytest.mark.parametrize(("name", "kind", "value", "count", "to", "expected"), [
    ("shr", "D", -5242880, 20, "W", -5), ("shr", "UD", 0x80000000, 31, "UD", 1), ("shr", "UD", 6, 33, "UD", 3),
    ("asr", "D", -8, 1, "D", -4), ("shl", "UD", 3, 31, "UD", 0x80000000)])
def test_shifts_count_five_bits_and_fill_with_the_sign(machine: MakeMachine, name: str, kind: str, value: int,
                                                       count: int, to: str, expected: int) -> None:
    assert one(machine, op(name, to, kind, "UD"), [(kind, value), ("UD", count)], to) == expected


@pytest.mark.parametrize(("value", "expected"), [(1, 31), (0, 32), (0xFFFFFFFF, 0)])
def test_lzd_counts_zeros(machine: MakeMachine, value: int, expected: int) -> None:
    assert one(machine, op("lzd", "UD", "UD"), [("UD", value)]) == expected


def test_not_of_a_negated_boolean_inverts_it(machine: MakeMachine) -> None:
    m = machine()
    m.put(2, "D", [0, 1, -1, 5, 0, 0, 0, 0])
    m.run("not(8) g10<1>D -g2<8,8,1>D {align1};")
    assert m.get(10, "D", 4) == [-1, 0, -2, 4]  # ~-x = x - 1


# --- planes and dots ---

def test_line_is_p_u_plus_q(machine: MakeMachine) -> None:
    m = machine()
    m.put(2, "F", [2, 0, 0, 10, 5, 0, 0, 7])
    m.put(3, "F", [3] * 8)
    m.run("line(8) g10<1>F g2<0,1,0>F g3<8,8,1>F {align1};\nline(8) g11<1>F g2.4<0,1,0>F g3<8,8,1>F {align1};")
    assert m.get(10, "F") == [16] * 8
    assert m.get(11, "F") == [22] * 8


def test_pln_is_p_u_plus_q_v_plus_r(machine_45: MakeMachine) -> None:
    m = machine_45()
    m.put(2, "F", [2, 3, 0, 10])
    for i, value in enumerate((4, 5, 6, 7)):
        m.put(4 + i, "F", [value] * 8)
    m.run("pln(16) g10<1>F g2<0,1,0>F g4<8,8,1>F {align1 compr};")
    assert m.get(10, "F") == [33] * 8
    assert m.get(11, "F") == [43] * 8


@pytest.mark.parametrize(("name", "expected"), [("dph", 39), ("dp4", 95), ("dp3", 32), ("dp2", 14)])
def test_dot_products_are_replicated(machine: MakeMachine, name: str, expected: float) -> None:
    m = machine()
    m.put(2, "F", [1, 2, 3, 9] * 2)
    m.put(3, "F", [4, 5, 6, 7] * 2)
    m.run(f"{name}(8) g10<1>.xwF g2<4>F g3<4>F {{align16}};")
    assert m.get(10, "F") == [expected, 0, 0, expected] * 2


# --- comparisons ---

@pytest.mark.parametrize("kind", ["D", "F"])
def test_cmp_writes_all_ones_for_every_type(machine: MakeMachine, kind: str) -> None:
    m = machine()
    m.put(2, "F", [1, 3])
    m.put(3, "F", [2, 2])
    m.run(f"cmp.l.f0.0(2) g10<1>{kind} g2<2,2,1>F g3<2,2,1>F {{align1}};")
    assert m.get(10, count=2) == [0xFFFFFFFF, 0]
    assert m.flags == 1


def test_cmpn_prefers_the_number_over_the_nan(machine: MakeMachine) -> None:
    m = machine()
    m.put(2, "F", [5, NAN, 5])
    m.put(3, "F", [NAN, 5, 7])
    m.run("""cmpn.l.f0.0(8) null<1>F g2<8,8,1>F g3<8,8,1>F {align1};
             (+f0.0) sel(8) g10<1>F g2<8,8,1>F g3<8,8,1>F {align1};
             cmpn.nz.f0.1(8) null<1>F g2<8,8,1>F g3<8,8,1>F {align1};""")
    assert m.flags & 7 == 0b101
    assert m.get(10, "F", 3) == [5, 5, 5]
    assert m.flags >> 16 & 7 == 0b110


def test_a_negated_unsigned_dword_has_its_sign_in_a_comparison(machine_45: MakeMachine) -> None:
    m = machine_45()
    m.put(2, "UD", [1])
    m.put(3, "UD", [0xFFFFFFFF])
    m.run("cmp.z.f0.0(1) null<1>UD -g2<0,1,0>UD g3<0,1,0>UD {align1};")
    assert m.flags == 0


def test_flags_see_the_true_sum(machine: MakeMachine) -> None:
    m = machine()
    m.put(2, "D", [0x7FFFFFFF])
    m.run("add.l.f0.0(1) g10<1>D g2<0,1,0>D 1D {align1};")
    assert m.get(10, count=1) == [0x80000000]
    assert m.flags == 0


@pytest.mark.parametrize("dst", ["g10<1>D", "null<1>D"])
@pytest.mark.parametrize(("kind", "cond", "flags"), [
    ("D", "z", 0b00001111), ("D", "nz", 0b11110000), ("D", "l", 0b01010000), ("D", "ge", 0b10101111),
    ("UD", "z", 0b01011111), ("UD", "g", 0b10100000), ("UD", "l", 0)])
def test_a_condition_sees_the_integer_that_a_float_becomes(machine: MakeMachine, dst: str, kind: str, cond: str,
                                                           flags: int) -> None:
    m = machine()
    m.put(2, "F", [0.5, -0.5, 0.99, NAN, -1, 1, -7.5, 1e20])
    m.run(f"mov.{cond}.f0.0(8) {dst[:-1]}{kind} g2<8,8,1>F {{align1}};")
    assert m.flags & 0xFF == flags


@pytest.mark.parametrize(("kind", "cond", "flags"), [("D", "z", 0b0011), ("D", "nz", 0b1100), ("D", "l", 0b1000),
                                                     ("UD", "z", 0b0011), ("UD", "g", 0b1100)])
def test_a_condition_does_not_see_what_shl_has_shifted_out(machine: MakeMachine, kind: str, cond: str,
                                                           flags: int) -> None:
    m = machine()
    m.put(2, "D", [-12, 0, 3, 1] * 2)
    m.put(3, "D", [30, 5, 29, 31] * 2)
    m.run(f"shl.{cond}.f0.0(8) null<1>{kind} g2<8,8,1>{kind} g3<8,8,1>D {{align1}};")
    assert m.flags & 0xF == flags


def test_a_condition_sees_the_integer_that_a_float_saturates_to(machine: MakeMachine) -> None:
    m = machine()
    m.put(2, "F", [0.5, -0.5, -3, 3, 1000, 0, 1, -1])
    m.run("mov.sat.nz.f0.0(8) g10<2>UB g2<8,8,1>F {align1};")
    assert m.flags & 0xFF == 0b01011000


# --- indirect ---

def test_an_indirect_address_loses_the_carry_of_its_low_bits(machine: MakeMachine) -> None:
    m = machine()
    for r in (1, 2, 6):
        m.put(r, "UB", range(r, r + 32))
    m.run("""mov(1) a0.1<1>UW 0x00A0UW {align1};
             mov(1) g10<1>UB g[a0.1 32]<0,1,0>UB {align1};
             mov(1) a0.0<1>UW 0x003FUW {align1};
             mov(1) g10.1<1>UB g[a0.0 1]<0,1,0>UB {align1};""")
    assert m.get(10, "UB", 2) == [6, 1]


def test_most_address_registers_hold_twelve_bits(machine: MakeMachine) -> None:
    m = machine()
    m.run("""mov(1) a0.3<1>UW 0xF123UW {align1};
             mov(1) a0.1<1>UW 0xF123UW {align1};
             mov(1) g10<1>UD a0.3<0,1,0>UW {align1};
             mov(1) g11<1>UD a0.1<0,1,0>UW {align1};""")
    assert m.get(10, count=1) + m.get(11, count=1) == [0x0123, 0xF123]


# --- compression ---

def test_unstrided_words_move_to_the_next_register_in_the_second_half(machine: MakeMachine) -> None:
    m = machine()
    m.put(109, "UW", 3)
    m.put(110, "UW", 5)
    m.put(116, "D", range(16))
    m.run("mul(16) g116<1>D g116<8,8,1>D g109<8,8,0>UW {align1 compr};")
    assert m.get(116, "D", 16) == [3 * i for i in range(8)] + [5 * i for i in range(8, 16)]


def test_the_second_half_uses_the_next_address_register(machine: MakeMachine) -> None:
    m = machine()
    m.put(56, "W", range(-3, 13))
    m.run("""mov(1) a0.0<1>UW 0x700UW {align1};
             mov(1) a0.1<1>UW 0x710UW {align1};
             mov(16) g40<1>D g[a0.0]<8,8,1>W {align1 compr};""")
    assert m.get(40, "D", 16) == list(range(-3, 13))


def test_the_second_half_sees_what_the_first_one_wrote(machine: MakeMachine) -> None:
    m = machine()
    m.put(4, "F", 1.0)
    m.put(6, "F", [10.0] * 16)
    m.run("add(16) g4<1>F g4<0,1,0>F g6<8,8,1>F {align1 compr};")
    assert m.get(4, "F", 16) == [11.0] * 8 + [21.0] * 8


def test_packed_words_fill_both_halves_from_one_register(machine: MakeMachine) -> None:
    m = machine()
    m.put(2, "UW", range(16))
    m.run("mov(16) g10<1>F g2<8,8,1>UW {align1 compr};")
    assert m.get(10, "F", 16) == list(range(16))


def test_compr4_writes_four_message_registers_apart(machine_45: MakeMachine) -> None:
    m = machine_45()
    m.put(4, "D", range(16))
    m.run("mov(16) m3<1>F g4<8,8,1>F {align1 compr4};")
    assert m.message(3, "D") == list(range(8))
    assert m.message(7, "D") == list(range(8, 16))


# --- predicates ---

@pytest.mark.parametrize(("predicate", "channels"), [
    ("+f0.0.any4h", 0x00F0), ("+f0.0.all4h", 0), ("-f0.0.any4h", 0xFF0F), ("+f0.0.anyv", 0x0021),
    ("+f0.0.any16h", 0xFFFF), ("+f0.0.any8h", 0x00FF), ("-f0.0.all2h", 0xFFFF), ("+f0.0", 0x0020)])
def test_predicates_combine_groups_of_flags(machine: MakeMachine, predicate: str, channels: int) -> None:
    m = machine()
    m.flags = 0x0001_0020
    m.run(f"({predicate}) mov(16) g10<1>UW 1UW {{align1}};")
    assert sum(int(v) << i for i, v in enumerate(m.get(10, "UW", 16))) == channels


# --- flow ---

LOOP = """
    mov(8) g20<1>D 0D {align1};
    do(8) {align1};
    %s
    cmp.ge.f0.0(8) null<1>D g20<8,8,1>D g3<8,8,1>D {align1};
    (+f0.0) break(8) JumpPop {align1};
    add(8) g20<1>D g20<8,8,1>D 1D {align1};
    while(8) Back {align1};
"""


def loop(middle: str, size: int) -> str:
    """A counting loop with something in its middle that has `size` instructions."""
    text = LOOP % middle
    return text.replace("JumpPop", "Jump: 3 Pop: 0").replace("Back", f"Jump: {-(size + 3)}")


def test_each_channel_leaves_a_loop_on_its_own(machine: MakeMachine) -> None:
    m = machine(dmask=0xF)
    m.put(3, "D", range(8))
    m.run(loop("", 0) + "mov(1) g30<1>UD mask0.2<0,1,0>UW {align1 nomask};\n"
          "mov(1) g31<1>UD msd0.0<0,1,0>UD {align1 nomask};")
    assert m.get(20, "D") == [0, 1, 2, 3, 0, 0, 0, 0]
    assert m.get(30, count=1) == [0xFFFF]
    assert m.get(31, count=1) == [0]


def test_cont_inside_an_if_starts_the_next_iteration(machine: MakeMachine) -> None:
    """Odd iterations only count; even ones also add to r21."""
    m = machine(dmask=0xFF)
    m.put(3, "D", [5, 4, 3, 2, 6, 1, 0, 7])
    m.run("""
    mov(8) g20<1>D 0D {align1};
    do(8) {align1};
    cmp.ge.f0.0(8) null<1>D g20<8,8,1>D g3<8,8,1>D {align1};
    (+f0.0) break(8) Jump: 9 Pop: 0 {align1};
    add(8) g20<1>D g20<8,8,1>D 1D {align1};
    and.nz.f0.0(8) null<1>D g20<8,8,1>D 1D {align1};
    (+f0.0) if(8) Jump: 3 {align1};
    cont(8) Jump: 4 Pop: 1 {align1};
    nop;
    endif(8) {align1};
    add(8) g21<1>D g21<8,8,1>D 1D {align1};
    while(8) Jump: -9 {align1};
    """)
    assert m.get(20, "D") == [5, 4, 3, 2, 6, 1, 0, 7]
    assert m.get(21, "D") == [2, 2, 1, 1, 3, 0, 0, 3]


def test_an_if_without_taken_channels_runs_its_else_with_all_channels(machine: MakeMachine) -> None:
    m = machine(dmask=0xF)
    m.run("""
    (+f0.0) if(16) Jump: 2 {align1};
    mov(16) g10<1>UW 1UW {align1};
    else(16) Jump: 4 Pop: 1 {align1};
    mov(1) g11<1>UD mask0.1<0,1,0>UW {align1 nomask};
    add(16) g10<1>UW g10<16,16,1>UW 2UW {align1};
    endif(16) {align1};
    mov(1) g12<1>UD msd0.0<0,1,0>UD {align1 nomask};
    """)
    assert m.get(10, "UW", 16) == [2] * 4 + [0] * 12
    assert (m.get(11, count=1)[0] & 0xF, m.get(12, count=1)) == (0xF, [0])


def test_an_iff_without_taken_channels_pushes_nothing(machine: MakeMachine) -> None:
    m = machine(dmask=0xF)
    m.run("""
    (+f0.0) iff(16) Jump: 3 {align1};
    mov(16) g10<1>UW 1UW {align1};
    endif(16) {align1};
    mov(1) g11<1>UD msd0.0<0,1,0>UD {align1 nomask};
    """)
    assert m.get(10, "UW", 16) == [0] * 16
    assert m.get(11, count=1) == [0]


def test_a_break_of_all_channels_inside_two_ifs_pops_both_ifs(machine: MakeMachine) -> None:
    m = machine(dmask=0xFF)
    m.flags = 0xFF
    m.run("""
    do(8) {align1};
    (+f0.0) if(8) Jump: 6 {align1};
    (+f0.0) if(8) Jump: 4 {align1};
    break(8) Jump: 6 Pop: 2 {align1};
    mov(8) g10<1>D 1D {align1};
    nop;
    endif(8) {align1};
    endif(8) {align1};
    while(8) Jump: -7 {align1};
    mov(1) g11<1>UD msd0.0<0,1,0>UD {align1 nomask};
    mov(4) g12<1>UW mask0<4,4,1>UW {align1 nomask};
    """)
    assert m.get(10, "D") == [0] * 8
    assert m.get(11, count=1) == [0]
    assert m.get(12, "UW", 4) == [0xFF, 0xFFFF, 0xFFFF, 0xFFFF]


def test_a_break_beside_a_cont_does_not_leave_the_loop(machine: MakeMachine) -> None:
    """In the first iteration channels 0 to 3 execute cont and channels 4 to 7 break; the former stay in the loop."""
    m = machine(dmask=0xFF)
    m.flags = 0x0F
    m.run("""
    do(8) {align1};
    add(8) g10<1>D g10<8,8,1>D 1D {align1};
    cmp.ge.f0.1(8) null<1>D g10<8,8,1>D 3D {align1};
    (+f0.1) break(8) Jump: 4 Pop: 0 {align1};
    (+f0.0) cont(8) Jump: 2 Pop: 0 {align1};
    break(8) Jump: 2 Pop: 0 {align1};
    while(8) Jump: -5 {align1};
    """)
    assert m.get(10, "D") == [3] * 4 + [1] * 4


def test_a_halt_stops_channels_until_the_mask_is_restored(machine: MakeMachine) -> None:
    m = machine()
    m.flags = 0x000F
    m.run("""
    (+f0.0) halt(16) Jump: 2 {align1};
    mov(16) g10<1>UW 1UW {align1};
    mov(1) mask0<1>UW sr0.2<0,1,0>UW {align1 nomask};
    mov(16) g11<1>UW 1UW {align1};
    """)
    assert m.get(10, "UW", 16) == [0] * 4 + [1] * 12
    assert m.get(11, "UW", 16) == [1] * 16


def test_ip_is_a_source_and_a_destination(machine: MakeMachine) -> None:
    m = machine()
    m.run("""
    mov(1) g10<1>UD ip<0,1,0>UD {align1};
    add(1) ip<1>UD ip<0,1,0>UD 32D {align1};
    mov(1) g11<1>UD 1UD {align1};
    add(1) g12<1>UD ip<0,1,0>UD -g10<0,1,0>UD {align1};
    """)
    assert m.get(11, count=1) == [0]
    assert m.get(12, count=1) == [48]


def test_jmpi_counts_from_the_next_instruction(machine: MakeMachine) -> None:
    m = machine()
    m.run("jmpi(1) 1D {align1};\nmov(1) g10<1>UD 1UD {align1};\nmov(1) g11<1>UD 1UD {align1};")
    assert m.get(10, count=1) + m.get(11, count=1) == [0, 1]


# --- send ---

@pytest.mark.parametrize(("source", "expected"), [
    ("g2<8,8,1>D", list(range(1, 9))), ("g2.4<4,4,1>D", list(range(5, 13))), ("g2<0,1,0>D", [1] * 8),
    ("-g2<8,8,1>D", list(range(-1, -9, -1)))])
def test_the_implied_move_fills_a_register_for_every_execution_size(machine: MakeMachine, source: str,
                                                             expected: list[int]) -> None:
    m = machine()
    m.put(2, "D", range(1, 17))
    m.run(f"send(1) 5 null<1>D {source} {NULL_MESSAGE}UD {{align1}};")
    assert m.message(5, "D") == expected


def test_an_end_of_thread_may_name_a_destination(machine: MakeMachine) -> None:
    m = machine()
    m.execute(assemble(f"mov(1) g10<1>UD 7UD {{align1}};\nsend(16) 0 acc0<1>UW g0<8,8,1>UW {END_MESSAGE}UD {{align1}};"
                       "\nmov(1) g10<1>UD 8UD {align1};", m.gen))
    assert m.get(10, count=1) == [7]
