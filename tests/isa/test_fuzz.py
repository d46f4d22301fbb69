"""A short run of `fuzz_isa`; the long one is `python tests/isa/fuzz_isa.py --count N`."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path

import pytest

from gen4emu.errors import AssemblyError
from gen4emu.hw.gen import Gen
from gen4emu.isa import Syntax, assemble, detect_syntax, listing
from gen4emu.isa.code_text import code_from

_SPEC = importlib.util.spec_from_file_location("fuzz_isa", Path(__file__).with_name("fuzz_isa.py"))
assert _SPEC is not None and _SPEC.loader is not None
fuzz_isa = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(fuzz_isa)


def test_hostile_inputs_are_rejected_or_assemble_to_themselves() -> None:
    outcomes = fuzz_isa.fuzz(4000, seed=20)
    assert set(outcomes) == {"code: some raw", "code: all in words", "text: refused", "text: assembled"}


def test_time_is_linear_in_the_length_of_the_text() -> None:
    def seconds(text: str) -> float:
        started = time.process_time()
        code = assemble(text, Gen.CTG, syntax=Syntax.MESA)
        assert assemble(listing(code, Gen.CTG, end=len(code)), Gen.CTG) == code
        return time.process_time() - started

    labels = [f"l{i}: if(8) Jump: l{i} {{ align1 }};\n" for i in range(4000)]
    seconds("".join(labels[:10]))
    small, large = seconds("".join(labels[:500])), seconds("".join(labels))
    assert large < 8 * small * 6


PIECES = ["/* ", "//", "/**", ";(", "do  ", ". ", "mov (", "0x1  ", "{ 0x1  ", "# 1\n", "a:b "]


@pytest.mark.parametrize("piece", PIECES, ids=repr)
def test_no_text_makes_the_readers_slow(piece: str) -> None:
    text = piece * (300_000 // len(piece)) + "\n!"
    started = time.process_time()
    detect_syntax(text)
    code_from(text.encode())
    code_from(b"{" + text.encode())
    with pytest.raises(AssemblyError):
        assemble(text, Gen.CTG)
    assert time.process_time() - started < 10
