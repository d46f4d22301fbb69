"""docs/assembler.md says what the assembler does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gen4emu.errors import AssemblyError
from gen4emu.hw.gen import Gen
from gen4emu.isa import Syntax, assemble, disassemble

PAGE = (Path(__file__).parents[2] / "docs" / "assembler.md").read_text()
_BEFORE, _FROM, _REST = PAGE.partition("## From Gen6 on\n")
LATER, _, _AFTER = _REST.partition("\n## ")
GEN4 = _BEFORE + _AFTER


def block(language: str, page: str = GEN4) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert isinstance(found, str)
    return found


def cell(name: str, page: str = GEN4) -> list[str]:
    """The code in one cell of the table of statements."""
    (row,) = re.findall(rf"^\| {name} \| (.*) \|$", page, re.MULTILINE)
    return re.findall(r"`([^`]+)`", row)


@pytest.mark.parametrize("gen", [Gen.IVB, Gen.HSW, Gen.BDW, Gen.SKL, Gen.KBL])
def test_example_of_later_generations_is_what_the_disassembler_writes(gen: Gen) -> None:
    code = assemble(block("asm", LATER), gen)
    lines = [re.sub(r"/\*.*?\*/|MsgDesc.*?(?=\{)", "", line.text) for line in disassemble(code, gen, end=len(code))]
    assert [" ".join(line.split()) for line in lines] == [" ".join(line.split())
                                                          for line in block("asm", LATER).splitlines()]


@pytest.mark.parametrize("option", cell("options", LATER)[0].split())
def test_options_of_later_generations(option: str) -> None:
    text = {"EOT": "send(8) null<1>UD g2<8,8,1>UD 0x02000000 urb", "BranchCtrl": "else(8) JIP: 8 UIP: 8"}.get(
        option, "mov(8) g1<1>F g2<4>F" if option == "align16" else "mov(8) g1<1>F g2<8,8,1>F")
    assert assemble(f"{text} {{ {option} }};", Gen.KBL, syntax=Syntax.MESA)


def test_split_send_of_the_page() -> None:
    (text,) = [t for t in cell("split sends", LATER) if "sends" in t]
    assert assemble(f"{text} {{ align1 1Q }};", Gen.SKL, syntax=Syntax.MESA)[12:].hex() == "01500304"


def test_example_assembles_to_the_code_shown() -> None:
    for gen in (Gen.CL, Gen.CTG):
        code = assemble(block("asm"), gen)
        assert code == bytes.fromhex(block("hex"))
        text = "\n".join(line.render() for line in disassemble(code, gen))
        assert "(-f0.0) while(8) Jump: L_0030" in text
        assert assemble(text, gen) == code


@pytest.mark.parametrize("source", [s for name in ("source", "indirect", "immediates") for s in cell(name)])
def test_sources(source: str) -> None:
    align = "align16" if ".xxxx" in source else "align1"
    kind = {"D": "D", "W": "W", "V": "W"}.get(source[-1], "F")
    assert assemble(f".syntax mesa\nmov(8) g9<1>{kind} {source} {{ {align} }};", Gen.CTG)


@pytest.mark.parametrize("destination", cell("destination"))
def test_destinations(destination: str) -> None:
    align = "align16" if ".xyz" in destination else "align1"
    source = "g4<4>F" if align == "align16" else "g4<4,4,1>F"
    assert assemble(f"mov(4) {destination} {source} {{ {align} }};", Gen.CTG)


@pytest.mark.parametrize("option", " ".join(cell("options")).split())
def test_options(option: str) -> None:
    text = {
        "EOT": "send(8) 0 null<1>UD g0<8,8,1>UD urb 0 used complete mlen 1 rlen 0 { align1 EOT };",
        "compr4": "mov(16) m3<1>F g4<8,8,1>F { align1 compr4 };",
        "align16": "mov(8) g3<1>F g4<4>F { align16 };",
        "compacted": "add(16) g6<1>F g6<8,8,1>F g8<8,8,1>F { align1 compr compacted };",
    }.get(option, f"mov(8) g3<1>F g4<8,8,1>F {{ align1 {option} }};")
    plain = assemble(text.replace(option, "", 1) if option != "align16" else text.replace("align16", "align1")
                     .replace("<4>", "<8,8,1>"), Gen.CTG, syntax=Syntax.MESA)
    assert (assemble(text, Gen.CTG, syntax=Syntax.MESA) == plain) == (option == "align1")


@pytest.mark.parametrize("predicate", ["(+f0.0)", "(-f0.1)", "(+f0.0.any4h)", "(+f0.0.all8h)"])
def test_predicates(predicate: str) -> None:
    assert predicate in PAGE or predicate == "(+f0.0.all8h)"
    assert assemble(f"{predicate} mov(8) g3<1>F g4<8,8,1>F {{ align1 }};", Gen.CTG)


@pytest.mark.parametrize("name", [r for r in cell("registers") if r not in ("r", "ip", "null")])
def test_registers(name: str) -> None:
    kind = "UD" if name[0] in "grmn" else "UW"
    if name[0] == "m" and name[1:].isdigit():
        assert assemble(f"mov(1) {name}<1>{kind} g1<0,1,0>{kind} {{ align1 }};", Gen.CTG)
    else:
        assert assemble(f"mov(1) g1<1>{kind} {name}<0,1,0>{kind} {{ align1 }};", Gen.CTG)


def test_differences_of_the_two_languages() -> None:
    def code(text: str, syntax: Syntax) -> bytes:
        return assemble(text, Gen.CTG, syntax=syntax)

    sub = "mov(8) g1.4<1>F g2<8,8,1>F { align1 };"
    assert [code(sub, s)[6] & 31 for s in (Syntax.MESA, Syntax.IGT)] == [16, 4]
    two = "mov(8) g1<1>F 2F { align1 };"
    assert [code(two, s)[12:].hex() for s in (Syntax.MESA, Syntax.IGT)] == ["02000000", "00000040"]
    wide = "mov(16) g2<1>F g4<8,8,1>F { align1 };"
    assert [code(wide, s)[1] >> 5 & 1 for s in (Syntax.MESA, Syntax.IGT)] == [0, 1]


def test_error_shown() -> None:
    (line,) = re.findall(r"^gen4emu: (kernel\.g4a:.*)$", PAGE, re.MULTILINE)
    with pytest.raises(AssemblyError) as caught:
        assemble("mov(8) g2<1>F 1.0F;\nmov(8) g200<1>F g2<8,8,1>F { align1 };", Gen.CTG, "kernel.g4a")
    assert str(caught.value) == line
