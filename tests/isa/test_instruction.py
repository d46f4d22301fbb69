"""Decoding and encoding: exact values, and identity on any bits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gen4emu.errors import FieldError
from gen4emu.hw.gen import Gen
from gen4emu.isa import compact, decode, decode_word, encode, encode_bytes
from gen4emu.isa.codec import encode_word
from gen4emu.isa.instruction import (
    Align1Region,
    Align16Region,
    DestRegion,
    DirectOperand,
    Immediate,
    IndirectOperand,
    Instruction,
)
from gen4emu.isa.opcodes import OPCODES, Opcode
from gen4emu.isa.registers import Compression, ImmType, RegFile, RegType

PARTS = st.sampled_from([Gen.BW, Gen.CL, Gen.CTG, Gen.EL, Gen.SNB, Gen.IVB, Gen.HSW, Gen.BDW, Gen.SKL])
KNOWN = st.sampled_from([(o.number, part) for o in OPCODES for part in o.gens])


def native(text: str, gen: Gen = Gen.CTG) -> Instruction:
    return decode_word(int.from_bytes(bytes.fromhex(text), "little"), gen)


@given(st.integers(0, (1 << 128) - 1), PARTS)
def test_any_128_bits_encode_to_themselves(word: int, gen: Gen) -> None:
    assert encode_word(decode_word(word, gen)) == word


@given(st.integers(0, (1 << 128) - 1), KNOWN)
def test_any_bits_after_a_known_opcode_encode_to_themselves(word: int, known: tuple[int, Gen]) -> None:
    opcode, gen = known
    word = word & ~0x7F | opcode
    assert encode_word(decode_word(word, gen)) == word


@given(st.integers(0, (1 << 64) - 1), KNOWN)
def test_any_compacted_bits_of_a_known_opcode_encode_to_themselves(word: int, known: tuple[int, Gen]) -> None:
    opcode, gen = known
    word = word & ~0x7F | opcode
    assert encode_word(decode_word(word, gen, compacted=True)) == word


@given(st.integers(0, (1 << 64) - 1), PARTS)
def test_any_64_bits_encode_to_themselves(word: int, gen: Gen) -> None:
    assert encode_word(decode_word(word, gen, compacted=True)) == word


@given(st.lists(st.integers(0, (1 << 32) - 1), min_size=4, max_size=4))
def test_dwords_encode_to_themselves(words: list[int]) -> None:
    assert encode(decode(words, Gen.CTG)) == tuple(words)


def test_align1_registers() -> None:
    inst = native("40 10 60 00 3d 75 40 21 50 00 8d 00 20 40 00 00")
    grf = RegFile.GRF
    assert inst.opcode == Opcode.ADD and inst.channels == 8 and inst.compression is Compression.SECHALF
    assert inst.dst == DirectOperand(grf, RegType.F, 10, 0, DestRegion(1))
    assert inst.src0 == DirectOperand(grf, RegType.UW, 2, 16, Align1Region(4, 3, 1))
    assert inst.src1 == DirectOperand(grf, RegType.F, 1, 0, Align1Region(0, 0, 0), negate=True)
    assert inst.residue == 0


def test_align16_swizzles_and_write_mask() -> None:
    inst = native("41 01 60 00 bd 77 a7 20 84 00 6a 00 af 00 6f 00")
    assert inst.align16 and inst.dst is not None
    assert inst.dst.region == DestRegion(1, 0b0111)
    assert isinstance(inst.src0, DirectOperand) and isinstance(inst.src1, DirectOperand)
    assert inst.src0.region == Align16Region(3, 0 | 1 << 2 | 2 << 4 | 2 << 6)
    assert inst.src1.region == Align16Region(3, 0xFF)


def test_a_vector_immediate() -> None:
    inst = native("40 00 80 00 29 6d 40 20 28 00 48 00 10 10 10 10")
    assert inst.src1 == Immediate(ImmType.V, 0x10101010)


def test_an_indirect_source_with_a_negative_offset() -> None:
    operand = IndirectOperand(RegFile.GRF, RegType.F, 3, -16, Align1Region(4, 3, 1))
    target = DirectOperand(RegFile.GRF, RegType.F, 40, 0, DestRegion(1))
    inst = Instruction(Opcode.MOV, Gen.CTG, exec_size=3, dst=target, src0=operand)
    back = decode(encode(inst), Gen.CTG)
    assert back == inst
    assert encode(inst)[2] == 0x008D8000 | 3 << 10 | 0x3F0


def test_a_message() -> None:
    inst = native("31 10 60 02 bd 0f a0 21 60 01 8d 00 01 00 11 01")
    assert inst.base_mrf == 2 and inst.compression is Compression.SECHALF and not inst.eot
    descriptor = inst.descriptor
    assert descriptor is not None
    assert (descriptor.sfid, descriptor.mlen, descriptor.rlen, descriptor.function_control) == (1, 1, 1, 1)


def test_end_of_thread_needs_an_immediate_descriptor() -> None:
    inst = native("31 00 80 01 28 0d 00 20 00 00 8d 00 00 48 a0 85")
    assert inst.eot
    register = replace(inst, src1=DirectOperand(RegFile.ARF, RegType.UD, 0x10, 0, Align1Region(0, 0, 0)))
    assert not register.eot and register.descriptor is None


@pytest.mark.parametrize(("text", "target"), [
    ("22 80 81 00 00 1c 00 34 00 14 60 00 0f 00 00 00", 0x100 + 15 * 16),  # if, from itself
    ("27 00 80 00 00 1c 00 34 00 14 60 00 f6 ff 00 00", 0x100 - 10 * 16),  # while
    ("20 02 01 00 00 0c 00 34 00 14 00 00 02 00 00 00", 0x110 + 2 * 16),  # jmpi, from the next
    ("25 80 80 00 84 1c 00 20 00 00 8d 00 00 00 01 00", None),  # endif
    ("40 00 00 00 00 1c 00 34 00 14 00 00 40 00 00 00", 0x140),  # add ip ip 64D
    ("40 20 80 00 bd 77 c0 20 c0 00 8d 00 00 01 8d 00", None),
])
def test_branch_targets(text: str, target: int | None) -> None:
    assert native(text).branch_target(0x100) == target


def test_a_compacted_word_decodes_to_the_full_instruction() -> None:
    short = decode([0x60006640, 0x08060608], Gen.CTG)
    full = native("40 20 80 00 bd 77 c0 20 c0 00 8d 00 00 01 8d 00")
    assert replace(short, compacted=False) == full
    assert short.size == 8 and encode_bytes(short).hex() == "4066006008060608"
    assert compact(full) == 0x0806060860006640


def test_compacted_nenop_and_nop_have_no_residue() -> None:
    for text in ("7d00002000000000", "7e00002000000000"):
        inst = decode_word(int.from_bytes(bytes.fromhex(text), "little"), Gen.CTG, compacted=True)
        assert inst == Instruction(inst.opcode, Gen.CTG, compacted=True)


def test_a_value_that_does_not_fit_is_rejected_with_the_name_of_its_field() -> None:
    dst = DirectOperand(RegFile.GRF, RegType.F, 256, 0, DestRegion(1))
    src = DirectOperand(RegFile.GRF, RegType.F, 1, 0, Align1Region(4, 3, 1))
    with pytest.raises(FieldError, match="dst_reg_nr: 256 does not fit bits 28:21 of dword 1"):
        encode(Instruction(Opcode.MOV, Gen.CTG, dst=dst, src0=src))
    with pytest.raises(FieldError, match="swizzle"):
        encode(Instruction(Opcode.MOV, Gen.CTG, align16=True, dst=replace(dst, nr=2), src0=src))
    with pytest.raises(FieldError, match="no compacted form"):
        encode(Instruction(Opcode.MOV, Gen.CTG, exec_size=5, dst=replace(dst, nr=2), src0=src, compacted=True))
    with pytest.raises(FieldError, match="2 or 4 dwords"):
        decode([1, 2, 3], Gen.CTG)
