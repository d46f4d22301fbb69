"""The tables of fields and opcodes: every bit of every form has one owner."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import pytest

from gen4emu.hw.gen import Gen
from gen4emu.isa.codec import Codec
from gen4emu.isa.compaction import Compactor
from gen4emu.isa.encodings import encoding_of, encodings
from gen4emu.isa.fields import Encoding, InstField, When
from gen4emu.isa.gen4 import COMPACT, COMPACT_FIELDS, CONTROL, DATA_TYPE, FIELDS, GEN4, SOURCE, SUBREG
from gen4emu.isa.gen9 import GEN9
from gen4emu.isa.opcodes import OPCODES, Flag, Opcode, Shape, opcode_info, opcode_named

F = GEN4.by_name
COMPACTOR = Compactor(GEN4, COMPACT)


def owners(fields: Iterable[InstField]) -> list[int]:
    count = [0] * 128
    for f in fields:
        for hi, lo in f.parts:
            for bit in range(lo, hi + 1):
                count[bit] += 1
    return count


FORMS = list(product([False, True], repeat=4))
LATER = encodings()[1:]


@pytest.mark.parametrize("encoding", encodings(), ids=lambda e: e.name)
@pytest.mark.parametrize("form", FORMS)
def test_every_bit_of_a_register_form_has_one_owner(encoding: Encoding, form: tuple[bool, ...]) -> None:
    align16, dst, src0, src1 = form
    assert owners(encoding.register_fields(align16=align16, dst=dst, src0=src0, src1=src1)) == [1] * 128


@pytest.mark.parametrize("use", [When.IMMEDIATE, When.BRANCH, When.SEND])
def test_every_bit_of_the_last_dword_has_one_owner_in_its_other_uses(use: When) -> None:
    count = owners([f for f in FIELDS if f.when is use and f.lo >= 96])
    assert count == [0] * 96 + [1] * 32


@pytest.mark.parametrize("encoding", LATER, ids=lambda e: e.name)
def test_every_bit_of_a_send_since_gen6_has_one_owner(encoding: Encoding) -> None:
    count = owners(f for f in encoding.fields if f.when is When.SEND)
    assert count == [0] * 24 + [1] * 4 + [0] * 68 + [1] * 32


def control(encoding: Encoding, *, ternary: bool = False) -> set[InstField]:
    """The fields that all forms have."""
    codec = Codec(encoding)
    found = {f for _, f, _ in (codec._ternary_control if ternary else codec._control)}
    return found | {encoding.by_name[name] for name in ("opcode", "reserved_7", "compact_control")}


@pytest.mark.parametrize("encoding", LATER, ids=lambda e: e.name)
def test_every_bit_of_an_instruction_with_three_sources_has_one_owner(encoding: Encoding) -> None:
    fields = control(encoding, ternary=True) | {f for f in encoding.fields if f.when is When.TERNARY}
    assert owners(fields | {encoding.by_name["cond_modifier"]}) == [1] * 128


@pytest.mark.parametrize("form", [When.SPLIT_SEND_DIRECT, When.SPLIT_SEND_INDIRECT])
def test_every_bit_of_a_split_send_has_one_owner(form: When) -> None:
    fields = control(GEN9) | {f for f in GEN9.fields if f.when in (When.SPLIT_SEND, form)}
    count = owners(fields | {GEN9.by_name["sfid"]})
    if form is When.SPLIT_SEND_INDIRECT:  # the number of the register has more bits than its address
        count = [1 if bit in (*range(52, 61), *range(68, 77)) and n <= 1 else n for bit, n in enumerate(count)]
    assert count == [1] * 128


@pytest.mark.parametrize("encoding", LATER, ids=lambda e: e.name)
def test_codes_of_types_are_unique(encoding: Encoding) -> None:
    for types in (encoding.register_types, encoding.immediate_types, encoding.ternary_types):
        assert len(set(types.values())) == len(types)


def test_field_names_are_unique() -> None:
    assert len(F) == len(FIELDS)


@pytest.mark.parametrize(("name", "dword", "hi", "lo"), [
    ("opcode", 0, 6, 0), ("compression", 0, 13, 12), ("exec_size", 0, 23, 21), ("cond_modifier", 0, 27, 24),
    ("saturate", 0, 31, 31), ("src1_type", 1, 14, 12), ("dst_reg_nr", 1, 28, 21), ("src0_reg_nr", 2, 12, 5),
    ("src0_vstride", 2, 24, 21), ("flag_subreg", 2, 25, 25), ("src1_negate", 3, 14, 14), ("pop_count", 3, 19, 16),
    ("message_length", 3, 23, 20), ("shared_function", 3, 27, 24), ("end_of_thread", 3, 31, 31),
])
def test_fields_are_at_the_bits_of_mesa(name: str, dword: int, hi: int, lo: int) -> None:
    assert (F[name].hi, F[name].lo) == (32 * dword + hi, 32 * dword + lo)


def test_a_signed_field_reads_negative_and_keeps_its_missing_low_bits() -> None:
    word = F["src0_addr_imm16"].put(-32)
    assert F["src0_addr_imm16"].get(word) == -32
    assert word >> 64 == 0b11_1110 << 4


def test_compaction_claims_every_bit_of_its_word_and_no_place_twice() -> None:
    bits = sorted(b for f in COMPACT_FIELDS for b in range(f.lo, f.hi + 1))
    assert bits == list(range(64))
    places = [b for f in COMPACT_FIELDS for hi, lo in f.to for b in range(lo, hi + 1)]
    assert len(places) == len(set(places))


def test_tables_have_32_different_entries() -> None:
    assert all(len(t) == len(set(t)) == 32 for t in COMPACT.tables.values())


def test_compaction_table_entries_have_their_meaning() -> None:
    assert CONTROL[14] == 0x18020  # (16) sat compr
    assert DATA_TYPE[3] == 0x0F7BD  # g:F<1> g:F g:F
    assert SUBREG[27] == 24 | 16 << 5
    assert SOURCE[1] == 0x468  # <8;8,1>


def word(text: str) -> int:
    return int.from_bytes(bytes.fromhex(text), "little")


# full and compacted words
COMPACTED = [
    ("40 20 80 00 bd 77 c0 20 c0 00 8d 00 00 01 8d 00", "40 66 00 60 08 06 06 08"),
    ("5a 20 80 00 bd 77 c0 20 70 00 00 00 00 01 8d 00", "5a 66 08 20 08 06 03 08"),
    ("10 20 80 02 bd 77 80 22 80 00 8d 00 00 02 8d 00", "10 66 00 62 08 14 04 10"),
]


@pytest.mark.parametrize(("full", "short"), COMPACTED)
def test_compaction_goes_both_ways(full: str, short: str) -> None:
    assert COMPACTOR.compact(word(full)) == word(short)
    assert COMPACTOR.expand(word(short)) == word(full)


def test_a_word_outside_the_tables_has_no_compacted_form() -> None:
    assert COMPACTOR.compact(word("40 21 80 00 bd 77 c0 20 c0 00 8d 00 00 01 8d 00")) is None  # compressed Align16
    assert COMPACTOR.compact(word("40 20 80 00 bd 77 c0 20 c0 00 8d 00 00 01 8d 02")) is None  # a reserved bit


def test_opcodes_are_unique_and_known_where_they_exist() -> None:
    for part in Gen.ALL4:
        numbers = [o.number for o in OPCODES if o.gens & part]
        assert len(numbers) == len(set(numbers))
    assert {o.number for o in OPCODES if o.gens & Gen.ALL4} == set(Opcode)
    assert opcode_info(Opcode.PLN, Gen.CL) is None
    assert opcode_info(Opcode.PLN, Gen.CTG) is not None
    assert opcode_info(0x0A, Gen.CTG) is None  # rsr was removed


@pytest.mark.parametrize("info", [o for o in OPCODES if o.gens & Gen.ALL4], ids=lambda o: o.name)
def test_accumulator_writers_are_the_opcodes_from_40_on(info: object) -> None:
    assert isinstance(info, type(OPCODES[0]))
    arithmetic = 0x40 <= info.number < Opcode.NENOP
    assert bool(info.flags & Flag.ACC_WRITE) == arithmetic


def test_accumulator_readers_and_jump_bases() -> None:
    assert {o.number for o in OPCODES if o.flags & Flag.ACC_READ} == {Opcode.MAC, Opcode.MACH, Opcode.SADA2}
    assert [o.number for o in OPCODES if o.flags & Flag.JUMP_NEXT] == [Opcode.JMPI]
    assert {o.sources for o in OPCODES if o.shape is Shape.BINARY} == {2}


@pytest.mark.parametrize("gen", [part for encoding in encodings() for part in encoding.gens])
def test_every_device_has_one_encoding(gen: Gen) -> None:
    assert [e for e in encodings() if e.gens & gen] == [encoding_of(gen)]


@pytest.mark.parametrize("gen", [part for encoding in encodings() for part in encoding.gens])
def test_a_device_has_one_opcode_by_number_and_by_name(gen: Gen) -> None:
    rows = [o for o in OPCODES if o.gens & gen]
    assert len({o.number for o in rows}) == len({o.name for o in rows}) == len(rows)
    assert all(opcode_info(o.number, gen) is o and opcode_named(o.name, gen) is o for o in rows)


def test_a_derived_encoding_replaces_adds_and_removes_fields_by_name() -> None:
    wide = InstField("compression", 14, 12)
    extra = InstField("dst_reg_file_ex", 47, 47)
    later = GEN4.derive("later", Gen.KBL, changes=(wide, extra), without=frozenset({"reserved_47"}))
    fields = {f.name: f for f in later.fields}
    assert fields["compression"] is wide and fields["dst_reg_file_ex"] is extra and "reserved_47" not in fields
    assert fields["opcode"] is F["opcode"] and later.compact_form is GEN4.compact_form
    assert [f.name for f in later.fields][:7] == [f.name for f in FIELDS][:7]
