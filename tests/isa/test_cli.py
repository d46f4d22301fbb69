"""`gen4emu asm` and `gen4emu disasm` from the outside."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from gen4emu.cli.main import run
from gen4emu.isa.code_text import code_from
from tests.harness.parts import LATER, names

ADD = "add(16) g6<1>F g6<8,8,1>F g8<8,8,1>F { align1 compr };\n"
SEND = "send(8) 1 null<1>F g0<8,8,1>F 0x86108000 urb { align1 EOT };\n"
ADD_BYTES = "40 20 80 00 bd 77 c0 20 c0 00 8d 00 00 01 8d 00"


def test_asm_reverses_disasm(tmp_path: Path) -> None:
    source, code, listing, again = (tmp_path / n for n in ("k.g4a", "k.bin", "k.txt", "again.bin"))
    source.write_text(ADD + SEND)
    assert run(["asm", str(source), "-o", str(code)]) == 0
    assert len(code.read_bytes()) == 32
    assert run(["disasm", str(code), "--hex", "-o", str(listing)]) == 0
    assert ADD_BYTES in listing.read_text()
    assert run(["asm", str(listing), "-o", str(again)]) == 0
    assert again.read_bytes() == code.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again.bin", "k.bin", "k.g4a", "k.txt"]


def test_hex_text_goes_both_ways(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                 monkeypatch: pytest.MonkeyPatch) -> None:
    code, text = tmp_path / "k.bin", tmp_path / "k.hex"
    source = tmp_path / "k.asm"
    source.write_text(ADD)
    assert run(["asm", str(source), "--hex", "-o", str(text)]) == 0
    assert text.read_text() == ADD_BYTES + "\n"
    assert run(["disasm", "--no-offsets", str(text)]) == 0
    assert " ".join(capsys.readouterr().out.split()) == ADD.strip()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(bytes.fromhex(ADD_BYTES))))
    assert run(["disasm", "--device", "965gm", "-"]) == 0
    assert "add(16)" in capsys.readouterr().out
    assert not code.exists()


@pytest.mark.parametrize("device", names(LATER))
def test_asm_reverses_disasm_on_later_devices(device: str, tmp_path: Path) -> None:
    source, code, listing, again = (tmp_path / n for n in ("k.g4a", "k.bin", "k.txt", "again.bin"))
    source.write_text("""
        (+f0.0) if(8) JIP: L UIP: L { align1 1Q };
        add(8) g2<1>F g3<8,8,1>F g4<8,8,1>F { align1 1Q compacted };
        L: endif(8) JIP: M { align1 1Q };
        M: send(8) g2<1>UW g6<8,8,1>UD 0x82410001 sampler { align1 1Q EOT };
    """.replace("UIP: L", "" if device == "snb" else "UIP: L"))
    assert run(["asm", "--device", device, str(source), "-o", str(code)]) == 0
    assert len(code.read_bytes()) == 56
    assert run(["disasm", "--device", device, "--offset", "0", str(code), "-o", str(listing)]) == 0
    assert listing.read_text().count("L_00") == (4 if device == "snb" else 5)
    assert run(["asm", "--device", device, str(listing), "-o", str(again)]) == 0
    assert again.read_bytes() == code.read_bytes()


def test_an_offset_shows_one_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, code = tmp_path / "k.asm", tmp_path / "k.bin"
    source.write_text(ADD + SEND + ADD + SEND)
    assert run(["asm", str(source), "-o", str(code)]) == 0
    assert run(["disasm", str(code), "--offset", "0x10", "--base", "0x1000"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 1 and out[0].startswith("/* 00001010 */ send(8)")
    assert run(["disasm", str(code)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert run(["disasm", str(code), "--offset", "0x999"]) == 2
    assert "offset 0x999 is beyond the end" in capsys.readouterr().err


def test_errors_go_to_stderr_and_leave_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, code = tmp_path / "k.asm", tmp_path / "k.bin"
    source.write_bytes(b"nop;\n  frob(8) g1;\n")
    assert run(["asm", str(source), "-o", str(code)]) == 2
    assert f"{source}:2:3: unknown opcode frob" in capsys.readouterr().err
    assert not code.exists()
    source.write_bytes(b"nop;\n \xff")
    assert run(["asm", str(source)]) == 2
    assert f"{source}:2:2: byte 0xff is not UTF-8 text" in capsys.readouterr().err
    assert run(["asm", str(source), "--device", "voodoo"]) == 2


def test_kinds_of_code_files() -> None:
    code = bytes.fromhex(ADD_BYTES)
    assert code_from(ADD_BYTES.encode()) == code
    dwords = ", ".join(f"0x{int.from_bytes(code[i:i + 4], 'little'):08x}" for i in range(0, 16, 4))
    assert code_from(f"   {{ {dwords} }},\n /* x */ {{ {dwords} }},\n".encode()) == code * 2
    assert code_from(code) == code
    assert code_from(b"{ not code }") == b"{ not code }"
