"""How fast the assembler and disassembler are: `python bench/isa.py [CODE ...]`.

CODE are files of machine code (`gen4emu asm -o`); without, a mix of the instruction shapes that drivers emit.  "cold"
sees every instruction for the first time, "warm" has them in the cache, as when kernels repeat in a trace.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from pathlib import Path

from gen4emu.hw.gen import Gen
from gen4emu.isa import Syntax, assemble, disassemble, instructions, listing
from gen4emu.isa import disassembler as disassembler_module
from gen4emu.isa.code_text import code_from

SHAPES = (
    "add(16) g{a}<1>F g{b}<8,8,1>F g{c}<8,8,1>F {{ align1 compr }};",
    "mul(16) g{a}<1>F g{b}.{s}<0,1,0>F g{c}<8,8,1>F {{ align1 compr }};",
    "mov(16) m{m}<1>F g{b}<8,8,1>F {{ align1 compr4 }};",
    "mul(8) g{a}<1>.xyzF g{b}<4>.xyzzF g{c}<4>.wF {{ align16 }};",
    "cmp.nz.f0.0(16) null<1>F g{b}<8,8,1>F 0x3f800000F {{ align1 compr }};",
    "(+f0.0) sel(16) g{a}<1>F g{b}<8,8,1>F -g{c}<8,8,1>F {{ align1 compr }};",
    "add(1) a0.{t}<1>UW g{b}<0,1,0>UW 0x0020UW {{ align1 nomask }};",
    "send(8) {m} g{a}<1>F g{b}<8,8,1>F 0x01110001 math {{ align1 sechalf }};",
)


def sample(count: int) -> bytes:
    """Instructions of the usual shapes with random registers."""
    rng = random.Random(1)
    return assemble("\n".join(
        rng.choice(SHAPES).format(a=2 * rng.randrange(64), b=2 * rng.randrange(63), c=2 * rng.randrange(63),
                                  s=rng.randrange(8), t=rng.randrange(8), m=rng.randrange(1, 8))
        for _ in range(count)), Gen.CTG)


def timed(what: str, count: int, work: Callable[[], object], unit: str = "instructions") -> None:
    started = time.perf_counter()
    work()
    seconds = time.perf_counter() - started
    print(f"{what:28} {count / seconds:12,.0f} {unit}/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("code", nargs="*", type=Path)
    parser.add_argument("--count", type=int, default=20000, help="instructions when no files are given")
    arguments = parser.parse_args()
    code = b"".join(code_from(path.read_bytes()) for path in arguments.code) or sample(arguments.count)
    count = sum(1 for _ in instructions(code, Gen.CTG))
    disassembler_module.clear_cache()
    timed("decode, cold", count, lambda: list(instructions(code, Gen.CTG)))
    timed("decode, warm", count, lambda: list(instructions(code, Gen.CTG)))
    disassembler_module.clear_cache()
    timed("disassemble, cold", count, lambda: list(disassemble(code, Gen.CTG, end=len(code))))
    timed("disassemble, warm", count, lambda: list(disassemble(code, Gen.CTG, end=len(code))))
    text = listing(code, Gen.CTG, end=len(code))
    timed("assemble", count, lambda: assemble(text, Gen.CTG, syntax=Syntax.MESA))


if __name__ == "__main__":
    main()
