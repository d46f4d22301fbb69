"""The disassembler: its output assembles to the same bytes, whatever they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.fields import Enum
from gen4emu.hw.gen import Gen
from gen4emu.isa import Syntax, assemble, detect_syntax, disassemble, instructions, kernel_length, listing
from gen4emu.isa.encodings import encodings
from gen4emu.isa.message_text import describe
from gen4emu.isa.opcodes import OPCODES
from gen4emu.isa.printer import restricted_float

PARTS = st.sampled_from([Gen.CL, Gen.CTG, Gen.SNB, Gen.IVB, Gen.HSW, Gen.BDW, Gen.KBL])
BY_PART = {part: sorted(o.number for o in OPCODES if o.gens & part)
           for encoding in encodings() for part in encoding.gens}
WORDS = PARTS.flatmap(lambda part: st.tuples(st.just(part), st.lists(
    st.tuples(st.sampled_from(BY_PART[part]), st.integers(0, (1 << 128) - 1)), max_size=6)))


def one(text: str, gen: Gen = Gen.CTG) -> str:
    """The statement of one instruction, with single blanks."""
    code = bytes.fromhex(text)
    (line,) = disassemble(code, gen, end=len(code))
    return " ".join(line.text.split())


# instructions of drivers
PRINTED = [
    ("40 20 80 00 bd 77 c0 20 c0 00 8d 00 00 01 8d 00", "add(16) g6<1>F g6<8,8,1>F g8<8,8,1>F { align1 compr };"),
    ("40 66 00 60 08 06 06 08", "add(16) g6<1>F g6<8,8,1>F g8<8,8,1>F { align1 compr compacted };"),
    ("5a 66 08 20 08 06 03 08", "pln(16) g6<1>F g3.4<0,1,0>F g8<8,8,1>F { align1 compr compacted };"),
    ("7d 00 00 20 00 00 00 00", "nenop { compacted };"),
    ("41 01 60 00 bd 77 a7 20 84 00 6a 00 af 00 6f 00", "mul(8) g5<1>.xyzF g4<4>.xyzzF g5<4>.wF { align16 };"),
    ("01 20 80 00 be 03 60 30 80 00 8d 00 00 00 00 00", "mov(16) m3<1>F g4<8,8,1>F { align1 compr4 };"),
    ("40 00 80 00 29 6d 40 20 28 00 48 00 10 10 10 10", "add(16) g2<1>UW g1.4<2,4,0>UW 0x10101010V { align1 };"),
    ("01 82 00 00 08 01 00 28 04 0e 00 00 00 00 00 00",
     "mov(1) mask0<1>UW sr0.2<0,1,0>UW { align1 nomask switch };"),
    ("31 10 60 02 bd 0f a0 21 60 01 8d 00 01 00 11 01",
     "send(8) 2 g13<1>F g11<8,8,1>F 0x01110001 math MsgDesc: inv mlen 1 rlen 1 { align1 sechalf };"),
    ("31 00 80 01 28 0d 00 20 00 00 8d 00 00 48 a0 85",
     "send(16) 1 null<1>UW g0<8,8,1>UW 0x85a04800 write MsgDesc: render target write SIMD16 LastRT Surface = 0 "
     "mlen 10 rlen 0 { align1 EOT };"),
    ("24 81 60 00 00 1c 0f 34 04 14 6e 00 03 00 01 00", "else(8) Jump: 3 Pop: 1 { align16 switch };"),
    ("20 02 01 00 00 0c 00 34 00 14 00 00 02 00 00 00", "(+f0.0) jmpi(1) 0x00000002UD { align1 nomask };"),
    ("30 00 00 00 00 00 00 20 00 12 00 00 00 00 01 00", "wait(1) n0<0,1,0>UD { align1 igt };"),
    ("0a 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00", ".dword 0x0000000a 0x00000000 0x00000000 0x00000000;"),
    ("40 20 80 00 bd 77 c0 20 c0 00 8d 04 00 01 8d 00",
     "add(16) g6<1>F g6<8,8,1>F g8<8,8,1>F { align1 compr dw2^0x4000000 };"),
]


@pytest.mark.parametrize(("code", "text"), PRINTED)
def test_text(code: str, text: str) -> None:
    assert one(code) == text
    assert assemble(text, Gen.CTG) == bytes.fromhex(code)


def test_pln_is_data_on_a_part_without_it() -> None:
    assert one("5a 20 80 00 bd 77 c0 20 70 00 00 00 00 01 8d 00", Gen.CL).startswith(".dword 0x0080205a")


@given(st.binary(max_size=200), PARTS)
def test_the_disassembly_of_any_bytes_assembles_to_them(code: bytes, gen: Gen) -> None:
    text = listing(code, gen, end=len(code), hexadecimal=True)
    assert assemble(text, gen, syntax=Syntax.MESA) == code


@given(WORDS)
def test_the_disassembly_of_any_operands_assembles_to_them(words: tuple[Gen, list[tuple[int, int]]]) -> None:
    gen, pairs = words
    code = b"".join((word & ~(0x7F | 1 << 29) | opcode).to_bytes(16, "little") for opcode, word in pairs)
    assert assemble(listing(code, gen, end=len(code)), gen, syntax=Syntax.MESA) == code


@given(WORDS)
def test_the_disassembly_of_any_compacted_words_assembles_to_them(words: tuple[Gen, list[tuple[int, int]]]) -> None:
    gen, pairs = words
    code = b"".join((word >> 64 & ~0x7F | opcode | 1 << 29).to_bytes(8, "little") for opcode, word in pairs)
    text = listing(code, gen, end=len(code))
    assert assemble(text, gen, syntax=Syntax.MESA) == code
    assert ".dword" in text or text.count("compacted") == len(pairs)


LOOP = """
    do(8) { align1 };
L_0010:
    (+f0.0) if(8) Jump: L_0040 { align1 switch };
    break(8) Jump: L_0060 Pop: 1 { align1 };
    nop;
L_0040:
    endif(8) Pop: 1 { align1 switch };
    while(8) Jump: L_0010 { align1 };
L_0060:
    (-f0.0) jmpi(1) L_0080:D { align1 nomask };
    send(8) 1 null<1>F g0<8,8,1>F 0x86108000 urb { align1 EOT };
L_0080:
    add(1) ip ip -128D { align1 };
    send(8) 1 null<1>F g0<8,8,1>F 0x86108000 urb { align1 EOT };
"""


def test_labels_are_at_branch_targets() -> None:
    code = assemble(LOOP, Gen.CTG)
    lines = list(disassemble(code, Gen.CTG, end=len(code)))
    assert [line.label for line in lines] == ["L_0000", "L_0010", "", "", "L_0040", "", "L_0060", "", "L_0080", ""]
    assert "Jump: L_0060" in lines[2].text and lines[8].comment == "to L_0000"
    assert assemble(listing(code, Gen.CTG, base=0x1000, end=len(code)), Gen.CTG) == code
    numbers = listing(code, Gen.CTG, end=len(code), labels=False)
    assert "L_" not in numbers and assemble(numbers, Gen.CTG) == code


def test_a_kernel_ends_after_the_last_end_of_thread_that_no_branch_jumps_over() -> None:
    code = assemble(LOOP, Gen.CTG)
    assert kernel_length(code + code, Gen.CTG) == len(code)
    assert [line.offset for line in disassemble(bytes(48) + code + code, Gen.CTG, start=48)][-1] == 48 + len(code) - 16


def test_a_kernel_without_an_end_stops_at_an_undefined_opcode() -> None:
    nops = assemble("nop; nop;", Gen.CTG)
    assert kernel_length(nops, Gen.CTG) == 32
    assert kernel_length(nops + bytes(64), Gen.CTG) == 32
    assert kernel_length(nops + b"\x0a" + bytes(15), Gen.CTG) == 32
    assert kernel_length(b"", Gen.CTG) == kernel_length(b"\x01\x02", Gen.CTG) * 0 == 0


def test_a_truncated_instruction_is_shown_as_bytes() -> None:
    code = assemble("nop;", Gen.CTG) + b"\x40\x20\x80"
    lines = list(disassemble(code, Gen.CTG, end=len(code)))
    assert lines[1].inst is None and lines[1].text == ".byte 0x40 0x20 0x80;"
    assert assemble(listing(code, Gen.CTG, end=len(code)), Gen.CTG) == code


def test_offsets_and_addresses() -> None:
    code = assemble("nop; nenop { compacted }; nop;", Gen.CTG)
    lines = list(disassemble(code, Gen.CTG, base=0x1000, end=len(code)))
    assert [(line.offset, line.address, line.size, line.compacted) for line in lines] == [
        (0, 0x1000, 16, False), (16, 0x1010, 8, True), (24, 0x1018, 16, False)]
    assert [offset for offset, _ in instructions(code, Gen.CTG)] == [0, 16, 24]


def test_own_text_is_recognised_as_mesa_syntax() -> None:
    assert detect_syntax(listing(assemble(LOOP, Gen.CTG), Gen.CTG)) is Syntax.MESA


# descriptors of drivers
MESSAGES = [
    (0x0121008A, "pow scalar mlen 2 rlen 1"),
    (0x0121009C, "intdiv signed scalar mlen 2 rlen 1"),
    (0x02580001, "sample SIMD16 (u v) Surface = 1 Sampler = 0 mlen 5 rlen 8"),
    (0x053190FF, "oword dual block write owords 1 Surface = 255 commit mlen 3 rlen 1"),
    (0x041203BB, "oword block read owords 4 data cache Surface = 187 mlen 1 rlen 2"),
    (0x0418A003, "media block read sampler cache Surface = 3 mlen 1 rlen 8"),
    (0x8650C460, "6 urb write interleaved used complete mlen 5 rlen 0"),
    (0x86108000, "0 urb write complete mlen 1 rlen 0"),
    (0x0640C800, "0 urb write transpose used complete mlen 4 rlen 0"),
    (0x87100000, "dereference resource root thread dereference urb handle mlen 1 rlen 0"),
    (0x03114000, "open gateway ack mlen 1 rlen 1"),
    (0x80100000, "mlen 1 rlen 0"),
    (0x09100000, "unknown function mlen 1 rlen 0"),
]


@pytest.mark.parametrize(("descriptor", "text"), MESSAGES)
def test_messages_in_words(descriptor: int, text: str) -> None:
    assert describe(descriptor, Gen.CTG) == text


def test_the_return_format_is_in_the_descriptor_on_gen4_only() -> None:
    assert "sample_l SIMD16 (u v r lod) Surface = 1 Sampler = 0 float32" in describe(0x02984001, Gen.CL)
    assert "sample_l SIMD16 (u v r lod) Surface = 1 Sampler = 0 mlen" in describe(0x02981001, Gen.CTG)


@given(st.integers(0, (1 << 32) - 1), st.integers(0, 15), PARTS)
def test_any_descriptor_has_words_without_braces(descriptor: int, sfid: int, gen: Gen) -> None:
    text = describe(descriptor, gen, sfid)
    assert not set(text) & set("{};\n") and "mlen" in text


@pytest.mark.parametrize("gen", [Gen.BW, Gen.EL, Gen.SNB, Gen.IVB, Gen.HSW, Gen.BDW, Gen.KBL])
def test_every_type_of_message_has_words(gen: Gen) -> None:
    types = [(message, kind) for message in catalogue_of(gen).messages for field in message.fields_for(gen)
             if field.name == "message_type" and isinstance(field, Enum) for kind in field.enum if kind <= field.mask]
    assert types
    for message, kind in types:
        values = {"shared_function": message.sfid} if gen in Gen.ALL4 else {}
        (word,) = message.pack(gen, message_type=kind, **values)
        assert f"reserved{int(kind)}" not in describe(word, gen, message.sfid), f"{message.name} {kind.name}"


def test_restricted_floats() -> None:
    values = {0x30: 1.0, 0x20: 0.5, 0x48: 3.0, 0x01: 0.1328125, 0x0F: 0.2421875, 0xFF: -31.0}
    assert {byte: restricted_float(byte) for byte in values} == values
    assert str(restricted_float(0x80)) == "-0.0"
