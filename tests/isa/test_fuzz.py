"""A short run of `fuzz_isa`; the long one is `python tests/isa/fuzz_isa.py --count N`."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path

from gen4emu.hw.gen import Gen
from gen4emu.isa import Syntax, assemble, listing

_SPEC = importlib.util.spec_from_file_location("fuzz_isa", Path(__file__).with_name("fuzz_isa.py"))
assert _SPEC is not None and _SPEC.loader is not None
fuzz_isa = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(fuzz_isa)


def test_hostile_inputs_are_refused_or_come_back() -> None:
    outcomes = fuzz_isa.fuzz(4000, seed=20)
    assert set(outcomes) == {"code: some raw", "code: all in words", "text: refused", "text: assembled"}


def test_time_grows_with_the_text_and_not_faster() -> None:
    def seconds(text: str) -> float:
        started = time.perf_counter()
        code = assemble(text, Gen.CTG, syntax=Syntax.MESA)
        assert assemble(listing(code, Gen.CTG, end=len(code)), Gen.CTG) == code
        return time.perf_counter() - started

    labels = [f"l{i}: if(8) Jump: l{i} {{ align1 }};\n" for i in range(4000)]
    seconds("".join(labels[:10]))
    small, large = seconds("".join(labels[:500])), seconds("".join(labels))
    assert large < 8 * small * 6
