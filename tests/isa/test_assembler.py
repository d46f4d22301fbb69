"""The assembler: encodings, both syntaxes, labels, and errors with their position."""

from __future__ import annotations

import pytest

from gen4emu.errors import AssemblyError
from gen4emu.hw.gen import Gen
from gen4emu.isa import Syntax, assemble, detect_syntax


def asm(text: str, gen: Gen = Gen.CTG, syntax: Syntax | None = None) -> str:
    return assemble(text, gen, syntax=syntax).hex(" ")


# instructions of drivers and their words
MESA = [
    ("add(16) g6<1>F g6<8,8,1>F g8<8,8,1>F { align1 compr };", "40 20 80 00 bd 77 c0 20 c0 00 8d 00 00 01 8d 00"),
    ("add(16) g6<1>F g6<8,8,1>F g8<8,8,1>F { align1 compr compacted };", "40 66 00 60 08 06 06 08"),
    ("pln(16) g6<1>F g3.4<0,1,0>F g8<8,8,1>F { align1 compr };", "5a 20 80 00 bd 77 c0 20 70 00 00 00 00 01 8d 00"),
    ("pln(16) g6<1>F g3.4<0,1,0>F g8<8,8,1>F { align1 compr compacted };", "5a 66 08 20 08 06 03 08"),
    ("cmp.nz.f0.0(16) g20<1>F g4<8,8,1>F g16<8,8,1>F { align1 compr };",
     "10 20 80 02 bd 77 80 22 80 00 8d 00 00 02 8d 00"),
    ("nenop { compacted };", "7d 00 00 20 00 00 00 00"),
    ("mul(8) g5<1>.xyzF g4<4>.xyzzF g5<4>.wF { align16 };", "41 01 60 00 bd 77 a7 20 84 00 6a 00 af 00 6f 00"),
    ("mov(16) m3<1>F g4<8,8,1>F { align1 compr4 };", "01 20 80 00 be 03 60 30 80 00 8d 00 00 00 00 00"),
    ("add(8) g10<1>F g2.8<8,8,1>UW -g1<0,1,0>F { align1 sechalf };",
     "40 10 60 00 3d 75 40 21 50 00 8d 00 20 40 00 00"),
    ("add(16) g2<1>UW g1.4<2,4,0>UW 0x10101010V { align1 };", "40 00 80 00 29 6d 40 20 28 00 48 00 10 10 10 10"),
    ("mov(1) mask0<1>UW sr0.2<0,1,0>UW { align1 nomask switch };", "01 82 00 00 08 01 00 28 04 0e 00 00 00 00 00 00"),
    ("send(8) 2 g13<1>F g11<8,8,1>F 0x01110001 math MsgDesc: inv mlen 1 rlen 1 { align1 sechalf };",
     "31 10 60 02 bd 0f a0 21 60 01 8d 00 01 00 11 01"),
    ("(+f0.0) if(16) Jump: 15 { align1 switch };", "22 80 81 00 00 1c 00 34 00 14 60 00 0f 00 00 00"),
    ("else(8) Jump: 3 Pop: 1 { align16 switch };", "24 81 60 00 00 1c 0f 34 04 14 6e 00 03 00 01 00"),
    ("endif(16) Pop: 1 { align1 switch };", "25 80 80 00 84 1c 00 20 00 00 8d 00 00 00 01 00"),
    ("do(16) { align1 };", "26 00 80 00 9c 73 00 20 00 00 8d 00 00 00 8d 00"),
    ("while(16) Jump: -10 { align1 };", "27 00 80 00 00 1c 00 34 00 14 60 00 f6 ff 00 00"),
    ("(+f0.0) jmpi(1) 0x00000002UD { align1 nomask };", "20 02 01 00 00 0c 00 34 00 14 00 00 02 00 00 00"),
]


@pytest.mark.parametrize(("text", "code"), MESA)
def test_mesa_syntax(text: str, code: str) -> None:
    assert asm(text) == code


# one-line programs and the output of IGT's assembler
IGT = [
    ("mov (1) g0<1>UD g1<0,1,0>UD { align1 };", "01 00 00 00 21 00 00 20 20 00 00 00 00 00 00 00"),
    ("mov (1) g0<1>UD -2147483648D { align1 };", "01 00 00 00 e1 00 00 20 00 00 00 00 00 00 00 80"),
    ("wait n0;", "30 00 00 00 00 00 00 20 00 12 00 00 00 00 01 00"),
    ("jmpi 2;", "20 00 00 00 00 1c 00 34 00 14 01 00 02 00 00 00"),
    ("else 2;", "24 00 00 00 00 1c 00 34 00 14 01 00 02 00 01 00"),
    ("break 65538;", "28 00 00 00 00 1c 00 34 00 14 01 00 02 00 01 00"),
    ("endif;", "25 00 00 00 00 1c 00 00 00 00 00 00 00 00 01 00"),
    ("mov (8) g1.8<1>F 1.5F { align1 };", "01 00 60 00 fd 03 28 20 00 00 00 00 00 00 c0 3f"),
    ("mov (8) g1<1>F 2F { align1 };", "01 00 60 00 fd 03 20 20 00 00 00 00 00 00 00 40"),
    ("mov (16) g4<1>F g6<8,8,1>F { align1 };", "01 20 80 00 bd 03 80 20 c0 00 8d 00 00 00 00 00"),  # compressed
    ("mov (1) g1<1>UW g[a0.2, 32]<0,1,0>UW { align1 mask_disable };",
     "01 02 00 00 29 01 20 20 20 84 00 00 00 00 00 00"),
]


@pytest.mark.parametrize(("text", "code"), IGT)
def test_igt_syntax(text: str, code: str) -> None:
    assert detect_syntax(text) is Syntax.IGT
    assert asm(text) == code


def test_igt_message_targets() -> None:
    def descriptor(target: str, gen: Gen = Gen.CL) -> int:
        code = assemble(f"send (8) 0 null g0<8,8,1>UD {target} {{ align1 }};", gen)
        return int.from_bytes(code[12:16], "little")

    assert descriptor("math inv mlen 1 rlen 1") == 0x01110001
    assert descriptor("math pow scalar mlen 2 rlen 1") == 0x0121008A
    assert descriptor("urb 0 transpose used complete mlen 4 rlen 0") == 0x0640C800
    assert descriptor("write (0, 8, 4, 0) mlen 10 rlen 0") == 0x05A04800
    assert descriptor("read (3, 2, 0, 2) mlen 1 rlen 8", Gen.CTG) == 0x0418A003
    assert descriptor("sampler (1, 0, F) mlen 5 rlen 8") == 0x02580001
    assert descriptor("sampler (1, 2, UD) mlen 3 rlen 8") == 0x02382201
    assert descriptor("thread_spawner (0, 0, 0) mlen 1 rlen 0") == 0x07100000
    assert descriptor("null mlen 1 rlen 0") == 0x00100000


def test_igt_declared_registers_and_pragmas() -> None:
    text = """
        .kernel foo
        .default_execution_size 8
        .declare X Base=g99.0 ElementSize=4 SrcRegion=<8,8,1> DstRegion=<1> Type=F
        mov X(1) X(2,4)<0,1,0>;
        .end_kernel
    """
    assert asm(text) == asm("mov (8) g100<1>F g101.4<0,1,0>F {align1};", syntax=Syntax.IGT)


def test_igt_conventions_that_its_kernels_need() -> None:
    # a label may be defined several times: the next one counts
    code = assemble("a: jmpi a; nop; jmpi a; a: nop; jmpi a;", Gen.CTG, syntax=Syntax.IGT)
    assert [int.from_bytes(code[at:at + 4], "little", signed=True) for at in (12, 44, 76)] == [-1, 0, -5]
    # only a number after jmpi brings the odd region for ip; a stride that cannot matter may be anything
    assert code[8:12].hex() == "00140000"
    assert asm("add (2) g32<1>D g40<8,1,8>D g40.16<8,1,8>D {align1};") == \
        asm("add (2) g32<1>D g40<8,1,0>D g40.16<8,1,0>D {align1};")


def test_the_same_subregister_counts_bytes_or_elements() -> None:
    text = "mov(8) g1.4<1>F g2<8,8,1>F { align1 };"
    mesa, igt = (assemble(text, Gen.CTG, syntax=s) for s in Syntax)
    assert mesa[6] & 0x1F == 16 and igt[6] & 0x1F == 4


def test_labels_count_16_bytes_from_the_branch_or_from_the_next() -> None:
    code = assemble("""
    top:
        add(8) g1<1>F g1<8,8,1>F 0x3f800000F { align1 };
        (+f0.0) if(8) Jump: after { align1 };
        jmpi(1) top:D { align1 nomask };
    after:
        while(8) Jump: top { align1 };
    """, Gen.CTG)
    counts = [int.from_bytes(code[at:at + 2], "little", signed=True) for at in (28, 44, 60)]
    assert counts == [2, -3, -3]


def test_16_bit_immediates_fill_both_halves_unless_written_in_full() -> None:
    def last(imm: str) -> str:
        return asm(f"mov(8) g1<1>W {imm} {{ align1 }};")[-11:]

    assert last("0x0040UW") == "40 00 40 00"
    assert last("-2W") == "fe ff fe ff"
    assert last("0x00000040UW") == "40 00 00 00"
    assert last("0x07UB") == "07 00 00 00"


def test_eot_and_the_name_of_the_function_complete_the_descriptor() -> None:
    full = asm("send(8) 1 null<1>F g0<4>F 0x8640c400 urb MsgDesc: anything mlen 4 { align16 EOT };")
    assert full == asm("send(8) 1 null<1>F g0<4>F 0x0040c400 urb { align16 EOT };")
    assert full.endswith("00 c4 40 86")


def test_data_and_unnamed_bits() -> None:
    assert asm(".dword 0x12345678 1; .byte 7 8;") == "78 56 34 12 01 00 00 00 07 08"
    assert asm("mov(8) g1<1>F g2<8,8,1>F { align1 dw3^0x80 dw1^0x8000 };") == \
        "01 00 60 00 bd 83 20 20 40 00 8d 00 80 00 00 00"


def test_comments_and_line_markers() -> None:
    assert asm("// x\n/* y ; */ nop; # 3 \"z\"\nnop;".replace("; #", ";\n#")) == asm("nop;nop;")


@pytest.mark.parametrize(("text", "line", "column", "what"), [
    ("nop;\n  foo(8) g1<1>F g2<8,8,1>F;", 2, 3, "unknown opcode foo"),
    ("mov(8) g128<1>F g2<8,8,1>F {align1};", 1, 8, "g128 is out of range: the last is g127"),
    ("mov(8) g1<1>F m16<8,8,1>F {align1};", 1, 15, "m16 is out of range"),
    ("mov(8) g1<1>F g2.8<8,8,1>F {align1};", 1, 15, "subregister 8 of type F"),
    ("mov(8) g1<3>F g2<8,8,1>F {align1};", 1, 8, "the region of a destination"),
    ("mov(8) g1<1>F g2<8,8,3>F {align1};", 1, 15, "horizontal stride 3"),
    ("mov(8) g1<1>F g2<9,8,1>F {align1};", 1, 15, "vertical stride 9"),
    ("mov(7) g1<1>F g2<8,8,1>F {align1};", 1, 5, "execution size 7"),
    ("add(8) g1<1>F 1F g2<8,8,1>F {align1};", 1, 1, "only the last source may be an immediate"),
    ("mov(8) g1<1>F 70000UW {align1};", 1, 15, "70000 does not fit 16 bits"),
    ("mov(8) g1<1>F 5 {align1};", 1, 15, "an immediate needs a type"),
    ("rnde(8) g1<1>F g2<8,8,1>D {align1};", 1, 1, "rnde takes float sources"),
    ("mov(8) g1<1>.xF g2<8,8,1>F {align1};", 1, 8, "only align16 instructions have a write mask"),
    ("mov(8) g1<1>.yxF g2<4>F {align16};", 1, 8, "write mask .yx"),
    ("mov(8) g1<1>F g[a0.8]<8,8,1>F {align1};", 1, 20, "address subregister 8"),
    ("mov(8) g1<1>F g[a0 512]<8,8,1>F {align1};", 1, 20, "address offset 512"),
    ("(+f1.0) mov(8) g1<1>F g2<8,8,1>F {align1};", 1, 3, "there is only f0"),
    ("(+f0.2) mov(8) g1<1>F g2<8,8,1>F {align1};", 1, 6, "flag subregister 2"),
    ("if.sat(8) Jump: 1 {align1};", 1, 4, "takes no modifier .sat"),
    ("if(8) Jump: 40000 {align1};", 1, 13, "jump count 40000"),
    ("if(8) Jump: nowhere {align1};", 1, 13, "unknown label nowhere"),
    ("a: nop; a: nop;", 1, 9, "label a is defined twice"),
    ("send(8) 16 null<1>F g0<4>F 0 urb {align16};", 1, 9, "message register 16"),
    ("send(8) 1 null<1>F g0<4>F 0x01110001 urb {align16};", 1, 38, "is not for urb"),
    ("mov(8) g1<1>F g2<8,8,1>F {align1 EOT};", 1, 1, "EOT needs a send"),
    ("mov(8) g1<1>F g2<8,8,1>F {align1 compr4};", 1, 1, "compr4 needs a message register"),
    ("mov(32) g1<1>F g2<8,8,1>F {align1 compacted};", 1, 1, "mov has no compacted form"),
    ("mov(8) g1<1>F g2<8,8,1>F {align2};", 1, 27, "unknown option 'align2'"),
    ("mov(8) g1<1>F g2<8,8,1>F {align1}", 1, 34, "expected ';', not the end of the text"),
    ("nop; /* never ends", 1, 6, "comment without end"),
    ("nop ?;", 1, 5, "unexpected character '?'"),
    ("mov(8) g1<1>F 99999999999999999999999D;", 1, 15, "number too large"),
    (".dword 0x100000000;", 1, 8, "does not fit 4 bytes"),
    ("dp4(8) g1<1>F g2<4>F g3<4>F {align16};\n# 70 \"x.g4i\"\nbar (1) g1;", 70, 1, "unknown opcode bar"),
])
def test_errors_name_line_column_and_cause(text: str, line: int, column: int, what: str) -> None:
    with pytest.raises(AssemblyError) as caught:
        assemble(text, Gen.CTG, "k.asm")
    error = caught.value
    assert (error.line, error.column) == (line, column)
    assert what in error.what
    assert error.file == ("x.g4i" if line == 70 else "k.asm")


def test_an_opcode_of_another_generation_is_rejected() -> None:
    text = "pln(8) g6<1>F g3.4<0,1,0>F g8<8,8,1>F { align1 };"
    assert assemble(text, Gen.CTG)
    with pytest.raises(AssemblyError, match=r"1:1: pln does not exist on gen4$"):
        assemble(text, Gen.CL)


def test_nesting_is_bounded() -> None:
    with pytest.raises(AssemblyError, match="nested too deep"):
        assemble(".default_execution_size " + "(" * 100000 + "8" + ")" * 100000 + " nop;", Gen.CTG)
    with pytest.raises(AssemblyError, match="nested too deep"):
        assemble("send (8) " + "(-" * 100000, Gen.CTG)
    with pytest.raises(AssemblyError, match="number too large"):
        assemble("send (8) (" + "99999999*" * 10000 + "9)", Gen.CTG)


@pytest.mark.parametrize(("text", "syntax"), [
    ("mov(8) g1<1>F g2<8,8,1>F { align1 };", Syntax.MESA),
    ("mov (8) g1<1>F g2<8,8,1>F { align1 };", Syntax.IGT),
    (".syntax mesa\nmov (8) g1<1>F g2<8,8,1>F { align1 };", Syntax.MESA),
    ("/* mov (1) mov (1) */ mov(8) g1<1>F 0x0F { align1 };", Syntax.MESA),
    ("send(8) 0 null g0<8,8,1>UD urb 0 complete mlen 4 rlen 0 { EOT };", Syntax.IGT),
    ("send (8) 1 null<1>F g0<4>F 0 urb MsgDesc: 0 mlen 4 rlen 0 { align16 };", Syntax.MESA),
    ("nop;", Syntax.MESA),
])
def test_the_syntax_of_a_text_is_detected(text: str, syntax: Syntax) -> None:
    assert detect_syntax(text) is syntax
