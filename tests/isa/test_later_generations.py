"""Gen6 to Gen9: encodings of the manuals' and drivers' instructions, their text, jumps and messages."""

from __future__ import annotations

import pytest

from gen4emu.errors import AssemblyError
from gen4emu.hw.gen import Gen
from gen4emu.isa import Syntax, assemble, compact, decode_word, disassemble, kernel_length, listing
from gen4emu.isa.codec import codec_of
from gen4emu.isa.instruction import Immediate, Instruction
from gen4emu.isa.message_text import describe
from gen4emu.isa.opcodes import Shape
from gen4emu.isa.registers import ImmType, RegType


def native(code: str, gen: Gen) -> Instruction:
    return decode_word(int.from_bytes(bytes.fromhex(code), "little"), gen, compacted=len(bytes.fromhex(code)) == 8)


# an instruction, and the text of which `disassemble` makes it
INSTRUCTIONS = [
    (Gen.SNB, "22 01 61 00 8f 10 02 00 04 00 0e 00 04 00 0e 00", "(+f0.0) if(8) JIP: 2 { align16 1Q };"),
    (Gen.SNB, "27 00 60 00 8f 10 fe ff 00 00 8d 00 00 00 8d 00", "while(8) JIP: -2 { align1 1Q };"),
    (Gen.SNB, "28 01 60 00 84 1c 0f 20 04 00 6e 00 02 00 06 00", "break(8) JIP: 2 UIP: 6 { align16 1Q };"),
    (Gen.SNB, "5b 01 60 00 00 00 1e 0b 01 4e 20 c0 08 20 47 02",
     "mad(8) g11<1>F g4.7<0,1,0>F g4.3<0,1,0>F g9<4,4,1>F { align16 1Q };"),
    (Gen.SNB, "38 00 60 01 bd 73 e0 20 40 01 8d 00 00 00 8d 00",
     "math inv(8) g7<1>F g10<8,8,1>F null<8,8,1>F { align1 1Q };"),
    (Gen.IVB, "22 00 61 00 84 3c 00 20 00 00 00 00 08 00 02 00", "(+f0.0) if(8) JIP: 8 UIP: 2 { align1 1Q };"),
    (Gen.IVB, "27 00 80 00 84 3c 00 20 00 00 8d 00 fe ff 00 00", "while(16) JIP: -2 { align1 1H };"),
    (Gen.IVB, "18 01 60 00 00 28 1e 21 c8 21 03 39 80 20 c7 07",
     "bfe(8) g33<1>UD g50<4,4,1>UD g64<4,4,1>UD g31<4,4,1>UD { align16 1Q };"),
    (Gen.IVB, "13 00 60 00 ad 03 c0 44 a0 01 8d 00 00 00 00 00", "f32to16(8) g38<2>W g13<8,8,1>F { align1 1Q };"),
    (Gen.IVB, "5a 00 80 00 bd 77 00 2f c0 00 00 00 40 00 8d 00",
     "pln(16) g120<1>F g6<0,1,0>F g2<8,8,1>F { align1 1H };"),
    (Gen.HSW, "01 01 40 00 39 03 81 20 44 00 04 00 00 00 00 00", "mov(4) g4<1>.xDF g2<0>.xyxyDF { align16 1N };"),
    (Gen.HSW, "0a 02 00 00 f9 73 80 20 00 00 00 00 00 00 18 40",
     "dim(1) g4<1>DF 0x4018000000000000F /* 6F */ { align1 WE_all 1N };"),
    (Gen.BDW, "22 00 61 00 20 0e 00 20 50 00 00 00 20 00 00 00", "(+f0.0) if(8) JIP: 32 UIP: 80 { align1 1Q };"),
    (Gen.BDW, "27 00 80 00 20 0e 00 20 00 00 00 08 f0 ff ff ff", "while(16) JIP: -16 { align1 1H };"),
    (Gen.BDW, "25 00 60 00 00 0e 00 00 00 00 00 08 30 00 00 00", "endif(8) JIP: 48 { align1 1Q };"),
    (Gen.BDW, "2a 00 76 00 21 0e 00 20 40 00 00 00 40 00 00 00",
     "(-f0.1.any4h) halt(8) JIP: 64 UIP: 64 { align1 1Q };"),
    (Gen.BDW, "49 00 60 10 08 02 60 22 20 02 8d 06 ab aa aa aa",
     "mach(8) g19<1>UD g17<8,8,1>UD 0xaaaaaaabUD { align1 1Q AccWrEnable };"),
    (Gen.BDW, "01 00 60 00 e8 52 a0 20 40 00 00 00 00 00 00 00", "mov(8) g5<1>F g2<0,1,0>HF { align1 1Q };"),
    (Gen.BDW, "4c 00 00 00 0c 00 60 23 00 08 00 00 00 00 00 00",
     "fbl(1) g27<1>UD mask0<0,1,0>UD { align1 WE_all 1N };"),
    (Gen.BDW, "12 01 60 02 80 00 1e 0f c8 b1 00 39 16 20 c7 02",
     "csel.nz(8) g15<1>F g11<4,4,1>F (abs)g11<4,4,1>F g11<4,4,1>F { align16 1Q };"),
    (Gen.SKL, "33 00 60 0c 10 40 02 00 44 04 00 00 01 50 03 04",
     "sends(8) nullUD g34UD g36UD 0x04035001 0x00000100 dp data 1 MsgDesc: (DC typed surface write, Surface = 1, "
     "SIMD16, Mask = 0x0) mlen 2 ex_mlen 4 rlen 0 { align1 1Q };"),
    (Gen.SKL, "05 80 00 00 00 00 00 30 00 10 00 06 3f fb ff ff",
     "and(1) cr0<1>UD cr0<0,1,0>UD 0xfffffb3fUD { align1 1N switch };"),
]


@pytest.mark.parametrize(("gen", "code", "text"), INSTRUCTIONS, ids=lambda v: v if isinstance(v, str) else "")
def test_text_of_an_instruction(gen: Gen, code: str, text: str) -> None:
    data = bytes.fromhex(code)
    (line,) = disassemble(data, gen, end=len(data), labels=False)
    assert " ".join(line.text.split()) == text
    assert assemble(text, gen, syntax=Syntax.MESA) == data


def test_types_have_the_codes_of_the_generation() -> None:
    def kinds(text: str, gen: Gen) -> tuple[RegType | ImmType, ...]:
        inst = native(assemble(text, gen, syntax=Syntax.MESA).hex(), gen)
        return tuple(o.type for o in (inst.dst, inst.src0) if o is not None)

    assert kinds("mov(8) g1<1>UW 0x76543210UV { align1 1Q };", Gen.SNB) == (RegType.UW, ImmType.UV)
    assert kinds("mov(8) g1<1>DF g2<4,4,1>DF { align1 1Q };", Gen.IVB) == (RegType.DF, RegType.DF)
    assert kinds("mov(8) g1<1>Q 0x0000000100000000Q { align1 1Q };", Gen.BDW) == (RegType.Q, ImmType.Q)
    assert kinds("mov(8) g1<1>HF 0x3c00HF { align1 1Q };", Gen.SKL) == (RegType.HF, ImmType.HF)
    assert kinds("mov(8) g1<1>DF 0x4018000000000000DF { align1 1Q };", Gen.KBL) == (RegType.DF, ImmType.DF)


def test_a_64_bit_immediate_covers_the_flag_of_gen7() -> None:
    code = bytes.fromhex("0a020000e97380200000200400001840")
    inst = native(code.hex(), Gen.HSW)
    assert (inst.flag_reg, inst.flag_subreg, inst.src0) == (0, 0, Immediate(ImmType.F, 0x4018000004200000))
    assert assemble(listing(code, Gen.HSW, end=16), Gen.HSW, syntax=Syntax.MESA) == code
    with pytest.raises(AssemblyError, match="a 64-bit immediate takes the place of this field"):
        assemble("(+f0.1) dim(1) g4<1>DF 0x4018000000000000F { align1 WE_all 1N };", Gen.HSW)


def test_kernels_of_intels_media_assembler_leave_the_type_of_an_unused_source_zero() -> None:
    code = bytes.fromhex("010000006801002600000000ffffffff")  # f0 = 0xffff, from a kernel of the VA driver
    (line,) = disassemble(code, Gen.IVB, end=16)
    assert "igt" in line.text and assemble(line.text, Gen.IVB, syntax=Syntax.MESA) == code
    assert assemble("mov (8) g1<1>UW 0x1234UW {align1};", Gen.IVB, syntax=Syntax.IGT)[4:8].hex() == "69012020"


def test_a_gen6_if_may_compare_two_sources() -> None:
    text = "if.l(8) JIP: 4 g2<4>.xF g3<4>.yF { align16 1Q };"
    code = assemble(text, Gen.SNB, syntax=Syntax.MESA)
    assert " ".join(next(disassemble(code, Gen.SNB, end=16, labels=False)).text.split()) == text
    assert native(code.hex(), Gen.SNB).cond_modifier == 5


def test_the_top_bit_of_an_address_immediate_is_apart_on_gen8() -> None:
    text = "mov(8) g[a0.9 -16]<1>F g[a0.15 -512]<VxH,1,0>F { align1 1Q };"
    code = assemble(text, Gen.BDW, syntax=Syntax.MESA)
    word = int.from_bytes(code, "little")
    assert word >> 47 & 1 and word >> 95 & 1 and word >> 57 & 15 == 9 and word >> 73 & 15 == 15
    assert " ".join(next(disassemble(code, Gen.BDW, end=16)).text.split()) == text
    with pytest.raises(AssemblyError, match="address subregister 9 is out of range"):
        assemble(text, Gen.HSW, syntax=Syntax.MESA)


LOOP = """
        (+f0.0) if(8)   JIP: other      UIP: out        { align1 1Q };
    again:
        add(8)          g2<1>D          g2<8,8,1>D      1D { align1 1Q compacted };
        (-f0.0) break(8) JIP: last      UIP: last       { align1 1Q };
    last:
        while(8)        JIP: again                      { align1 1Q };
    other:
        endif(8)        JIP: out                        { align1 1Q };
    out:
        nop;
"""


@pytest.mark.parametrize(("gen", "unit"), [(Gen.IVB, 8), (Gen.HSW, 8), (Gen.BDW, 1), (Gen.KBL, 1)])
def test_jumps_count_in_the_units_of_the_generation(gen: Gen, unit: int) -> None:
    code = assemble(LOOP, gen, syntax=Syntax.MESA)
    lines = list(disassemble(code, gen, end=len(code)))
    assert [line.offset for line in lines] == [0, 16, 24, 40, 56, 72]
    branches = [line.inst for line in lines if line.inst is not None and line.inst.branch_targets(line.offset)]
    assert [(b.jip * unit, b.uip * unit) for b in branches] == [(56, 72), (16, 16), (-24, 0), (16, 0)]
    assert [line.label for line in lines] == ["", "L_0010", "", "L_0028", "L_0038", "L_0048"]
    assert assemble(listing(code, gen, end=len(code)), gen, syntax=Syntax.MESA) == code


@pytest.mark.parametrize(("gen", "count"), [(Gen.SNB, 2), (Gen.IVB, 2), (Gen.HSW, 16), (Gen.BDW, 16), (Gen.KBL, 16)])
def test_jmpi_counts_from_its_own_end(gen: Gen, count: int) -> None:
    code = assemble("jmpi(1) out:D { align1 WE_all 1N }; nop; out: nop;", gen, syntax=Syntax.MESA)
    assert int.from_bytes(code[12:16], "little") == count
    assert native(code[:16].hex(), gen).branch_targets(0x100) == (0x120,)


END = "sendc(8) null<1>UW g120<8,8,1>F 0x88031400 render { align1 1Q EOT };"


def test_a_kernel_ends_at_the_end_of_thread_that_no_branch_jumps_over() -> None:
    body = "(+f0.0) if(8) JIP: L UIP: L { align1 1Q };" + END + "L: endif(8) JIP: M { align1 1Q };M:" + END + "illegal;"
    code = assemble(body, Gen.KBL, syntax=Syntax.MESA)
    assert kernel_length(code, Gen.KBL) == 64


def test_end_of_thread_is_a_bit_of_the_instruction_even_if_the_descriptor_is_in_a_register() -> None:
    text = "send(8) g4<1>UW g6<8,8,1>UD a0<0,1,0>UD 0x80000200 sampler MsgDesc: indirect { align1 1Q EOT };"
    code = assemble(text, Gen.HSW, syntax=Syntax.MESA)
    inst = native(code.hex(), Gen.HSW)
    assert inst.eot and inst.descriptor is None and inst.sfid == 2
    assert " ".join(next(disassemble(code, Gen.HSW, end=16)).text.split()) == text
    on_gen4 = assemble("send(8) 1 g4<1>F g6<8,8,1>F a0<0,1,0>UD { align1 };", Gen.CTG)
    assert not native(on_gen4.hex(), Gen.CTG).eot


def test_the_descriptor_has_the_shared_function_of_the_instruction() -> None:
    inst = native(assemble(END, Gen.KBL, syntax=Syntax.MESA).hex(), Gen.KBL)
    descriptor = inst.descriptor
    assert inst.is_send and descriptor is not None
    assert (descriptor.sfid, descriptor.mlen, descriptor.rlen, descriptor.eot) == (5, 4, 0, True)


def test_compacted_immediates_have_13_bits_and_a_sign() -> None:
    for value, fits in ((4095, True), (-4096, True), (4096, False), (-4097, False)):
        inst = native(assemble(f"add(8) g2<1>D g3<8,8,1>D {value}D {{ align1 1Q }};", Gen.KBL).hex(), Gen.KBL)
        short = compact(inst)
        assert (short is not None) == fits
        if short is not None:
            assert decode_word(short, Gen.KBL, compacted=True).src1 == Immediate(ImmType.D, value & 0xFFFFFFFF)


def test_an_instruction_with_three_sources_has_a_compacted_form_on_gen8() -> None:
    text = "mad(8) g11<1>F g4.3<4,4,1>F g9<4,4,1>F -g5<4,4,1>F {{ align16 1Q{} }};"
    for gen in (Gen.BDW, Gen.SKL):
        full, short = (assemble(text.format(more), gen, syntax=Syntax.MESA) for more in ("", " compacted"))
        assert len(short) == 8
        assert codec_of(gen).compactor(0x5B).expand(int.from_bytes(short, "little")) == int.from_bytes(full, "little")
    with pytest.raises(AssemblyError, match="mad has no compacted form"):
        assemble(text.format(" compacted"), Gen.HSW, syntax=Syntax.MESA)


def test_a_compacted_word_with_an_unusual_index_is_data() -> None:
    # entries 23 and 25 of Gen6's data types are equal; the compactor takes the first
    short = int.from_bytes(assemble("add(8) g2<1>F g3<8,8,1>F g4<8,8,1>F { align1 1Q compacted };", Gen.SNB), "little")
    assert short >> 13 & 31 == 23
    word = short ^ (23 ^ 25) << 13
    assert decode_word(word, Gen.SNB, compacted=True).compact_residue
    (line,) = disassemble(word.to_bytes(8, "little"), Gen.SNB, end=8)
    assert line.text.startswith(".dword") and line.comment == "add, compacted in an unusual way"


@pytest.mark.parametrize(("gen", "sfid", "descriptor", "words"), [
    (Gen.SNB, 2, 0x08414002, "sample_d SIMD8"), (Gen.SNB, 5, 0x90019800, "RT write SIMD16 Hi LastRT"),
    (Gen.SNB, 6, 0x8608C400, "offset 0 urb_write interleave used complete"),
    (Gen.SNB, 9, 0x02184200, "(bti 0, msg_ctrl 2, msg_type 2, write_commit 0)"),
    (Gen.IVB, 10, 0x02116E00, "(DC untyped surface read, bti 0, 46)"),
    (Gen.IVB, 10, 0x021C0009, "(scratch read oword, offset 9, registers = 1)"),
    (Gen.BDW, 10, 0x020F3001, "(scratch write dword, offset 1, registers = 8)"),
    (Gen.IVB, 3, 0x02000004, "(barrier msg)"), (Gen.IVB, 11, 0x02205002, "(linear, sample_position, 0x02)"),
    (Gen.HSW, 12, 0x02106E00, "(untyped surface read, Surface = 0, SIMD8, Mask = 0xe)"),
    (Gen.HSW, 12, 0x0210A700, "(DC untyped atomic op, Surface = 0, SIMD16, add)"),
    (Gen.KBL, 12, 0x0616C2FD, "(DC untyped atomic float op, Surface = 253, SIMD16, fmin)"),
    (Gen.KBL, 6, 0x0A0A8327, "offset 50 SIMD8 write per-slot masked"),
    (Gen.KBL, 5, 0x044B4100, "RT read SIMD8 Surface = 0"), (Gen.KBL, 2, 0x4242A001, "resinfo SIMD8 HP"),
    (Gen.IVB, 2, 0x045E8003, "deinterlace SIMD32/64 Surface = 3"), (Gen.IVB, 2, 0x044EB400, "sample_8x8 SIMD32/64"),
    (Gen.SNB, 10, 0, "unsupported shared function ID 10"),
])
def test_words_of_a_message(gen: Gen, sfid: int, descriptor: int, words: str) -> None:
    assert describe(descriptor, gen, sfid).startswith(words)


@pytest.mark.parametrize(("gen", "text", "column", "what"), [
    (Gen.IVB, "mov(8) m1<1>F g2<8,8,1>F { align1 1Q };", 8, "m1 does not exist on gen7: messages are in g registers"),
    (Gen.SNB, "mov(8) m24<1>F g2<8,8,1>F { align1 1Q };", 8, "register m24 is out of range: the last is m23"),
    (Gen.SNB, "mov(4) g1<1>F g2<4,4,1>F { align1 2N };", 35, "gen6 has no odd nibbles"),
    (Gen.SNB, "(+f1.0) mov(8) g1<1>F g2<8,8,1>F { align1 };", 3, "f1 is not a flag register: there is only f0"),
    (Gen.IVB, "mov(8) g1<1>Q g2<4,4,1>Q { align1 };", 13, "Q is not a register type of gen7"),
    (Gen.SNB, "bfrev(8) g1<1>UD g2<8,8,1>UD { align1 };", 1, "bfrev does not exist on gen6"),
    (Gen.KBL, "do(8) { align1 };", 1, "do does not exist on gen9"),
    (Gen.KBL, "mad(8) g1<1>F g2<8,8,1>F g3<4,4,1>F g4<4,4,1>F { align16 };", 15,
     "a source of an instruction with three is <4,4,1> or <0,1,0>"),
    (Gen.KBL, "math foo(8) g1<1>F g2<8,8,1>F null<8,8,1>F { align1 };", 6, "unknown math function foo (known: inv, "),
    (Gen.KBL, "send(8) g1<1>F g2<8,8,1>F 0x02101000 write { align1 };", 38,
     "expected a shared function, not 'write' (known: null, sampler, "),
    (Gen.KBL, "add(8) g1<1>F g2<8,8,1>F g3<8,8,1>F { align1 BranchCtrl };", 46, "add has no BranchCtrl"),
    (Gen.IVB, "while(8) JIP: 40000 { align1 };", 15, "JIP 40000 does not fit 16 bits"),
])
def test_errors_say_where_and_what_would_be_right(gen: Gen, text: str, column: int, what: str) -> None:
    with pytest.raises(AssemblyError) as e:
        assemble(text, gen, syntax=Syntax.MESA)
    assert what in str(e.value)
    assert (e.value.line, e.value.column) == (1, column)


def test_every_later_opcode_of_three_sources_is_ternary() -> None:
    inst = native(assemble("lrp(8) g1<1>F g2<4,4,1>F g3<4,4,1>F g4<4,4,1>F { align16 1Q };", Gen.SNB).hex(), Gen.SNB)
    assert inst.info is not None and inst.info.shape is Shape.TERNARY and inst.info.sources == 3
