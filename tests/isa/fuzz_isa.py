"""Hostile input for the decoder, the disassembler and the assembler.

`python tests/isa/fuzz_isa.py --count N` runs N inputs and counts them by kind; `test_fuzz.py` runs a few.
The assembler may raise only AssemblyError, the other two nothing; every listing must assemble to its bytes, and no
input may take long.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable

from gen4emu.errors import AssemblyError
from gen4emu.hw.gen import Gen
from gen4emu.isa import Syntax, assemble, detect_syntax, kernel_length, listing
from gen4emu.isa.encodings import encodings
from gen4emu.isa.opcodes import OPCODES

SLOW_SECONDS = 2.0  # of processor time
_PARTS = tuple(part for encoding in encodings() for part in encoding.gens)
_NUMBERS = {part: sorted(o.number for o in OPCODES if o.gens & part) for part in _PARTS}

SEEDS = (
    "add(16) g6<1>F g6<8,8,1>F -(abs)g8<8,8,1>F { align1 compr compacted };",
    "(+f0.1.any4h) mov.sat.nz.f0.1(8) m3.4<2>.xyF g[a0.3 -16]<VxH,1,0>F { align16 NoDDClr,NoDDChk };",
    "send(8) 1 null<1>F g0<4>F 0x8640c400 urb MsgDesc: 0 urb_write mlen 4 rlen 0 { align16 EOT };",
    "L: (-f0.0) if(16) Jump: L { align1 switch };\nelse(8) Jump: 3 Pop: 1 { align16 };\njmpi(1) L:D { nomask };",
    ".declare X Base=g99.0 ElementSize=4 SrcRegion=<8,8,1> DstRegion=<1> Type=F\nadd (8) X(1,2*3) X 1.5F {align1};",
    "send (16) 0 null g0<8,8,1>UW write (0, 8, 4, 0) mlen 10 rlen 0 { align1 EOT };\nwait n0;\nendif;",
    "mov(8) g1<1>F [0x30, 0x40, 0, 1]VF { align1 dw3^0x80 };\n.dword 1 0x2; // x\n/* y */ nop;\n# 3 \"f\"",
)
_WORDS = ("0x3f800000F", "-1D", "(abs)", "<8,8,1>", "<VxH,1,0>", ".xyzw", "g127", "m15", "a0.7", "f0.1", "ip", "null",
          "{", "}", "(", ")", ";", ":", ",", "compr4", "compacted", "EOT", "Jump:", "MsgDesc:", ".sat", ".declare", "~",
          "99999999999999999999999999", "/*", "//", "#", "\"", "\n", "\x00", "é", "0x", "1.5", "[", "dw0^0xffffffff")


CODE_SEEDS = tuple(assemble(text, Gen.CTG) for text in (
    "add(16) g6<1>F g6<8,8,1>F -(abs)g8<8,8,1>F { align1 compr };",
    "(+f0.1.any4h) mov.sat.nz.f0.1(8) g3<2>F g[a0.3 -16]<VxH,1,0>F { align1 NoDDClr };",
    "mul(8) g5<1>.xyzF g4<4>.xyzzF g5<4>.wF { align16 };",
    "mov(16) m3<1>F g4<8,8,1>F { align1 compr4 };",
    "cmp.l.f0.0(8) null<1>F g4<8,8,1>F 0x3f800000F { align1 sechalf };",
    "add(16) g2<1>UW g1.4<2,4,0>UW 0x10101010V { align1 };",
    "send(8) 1 null<1>F g0<4>F 0x8640c400 urb { align16 EOT };",
    "send(8) 2 g4<1>F g6<8,8,1>F a0<0,1,0>UD { align1 };",
    "(-f0.0) if(16) Jump: 1 { align1 switch };", "else(8) Jump: 3 Pop: 1 { align16 };",
    "endif(8) Pop: 1 { align1 };", "do(8) { align1 };", "while(8) Jump: -2 { align1 };",
    "jmpi(1) -2D { align1 nomask };", "wait(1) n0<0,1,0>UD { align1 nomask };", "nop;", "add(1) ip ip 64D { align1 };",
    "add(16) g6<1>F g6<8,8,1>F g8<8,8,1>F { align1 compr compacted };", "nenop { compacted };",
))


def mutated_code(rng: random.Random) -> bytes:
    """Valid instructions with up to four bits flipped."""
    code = bytearray(b"".join(rng.choice(CODE_SEEDS) for _ in range(rng.randrange(1, 5))))
    for _ in range(rng.randrange(5)):
        bit = rng.randrange(8 * len(code))
        code[bit // 8] ^= 1 << bit % 8
    return bytes(code)


def random_code(rng: random.Random, gen: Gen) -> bytes:
    """Noise, known opcodes with random operands, or nearly valid instructions; compacted or not."""
    kind = rng.random()
    if kind < 0.1:
        return rng.randbytes(rng.randrange(64))
    if kind < 0.6:
        return mutated_code(rng)
    out = b""
    for _ in range(rng.randrange(1, 4)):
        opcode = rng.choice(_NUMBERS[gen])
        compacted = rng.random() < 0.3
        size = 8 if compacted else 16
        word = rng.getrandbits(8 * size)
        if rng.random() < 0.5:  # sparse words reach the printable forms more often
            word &= rng.getrandbits(8 * size) & rng.getrandbits(8 * size)
        word = word & ~(0x7F | 1 << 29) | opcode | (1 << 29 if compacted else 0)
        out += word.to_bytes(size, "little")
    return out


def random_text(rng: random.Random) -> str:
    """A seed with pieces removed, doubled, swapped or inserted."""
    text = rng.choice(SEEDS)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(text) + 1)
        end = min(len(text), at + rng.randrange(12))
        action = rng.randrange(5)
        if action == 0:
            text = text[:at] + text[end:]
        elif action == 1:
            text = text[:end] + text[at:end] * rng.randrange(1, 4) + text[end:]
        elif action == 2:
            text = text[:at] + rng.choice(_WORDS) + text[at:]
        elif action == 3:
            text = text[:at] + rng.choice(SEEDS)[rng.randrange(40):] + text[end:]
        else:
            text = text[:at] + chr(rng.randrange(32, 127)) + text[at + 1:]
    return text


def check_code(rng: random.Random) -> str:
    gen = rng.choice(_PARTS)
    code = random_code(rng, gen)
    kernel_length(code, gen)
    text = listing(code, gen, end=len(code), hexadecimal=rng.random() < 0.5)
    back = assemble(text, gen, syntax=Syntax.MESA)
    if back != code:
        raise AssertionError(f"{code.hex()} on {gen!r} came back as {back.hex()} from:\n{text}")
    return "code: some raw" if ".dword" in text or ".byte" in text else "code: all in words"


def check_text(rng: random.Random) -> str:
    text, gen = random_text(rng), rng.choice(_PARTS)
    detect_syntax(text)
    try:
        code = assemble(text, gen, syntax=rng.choice((None, *Syntax)))
    except AssemblyError as e:
        if e.line < 0 or e.column < 1:
            raise AssertionError(f"{e} has no place, for:\n{text}") from e
        return "text: refused"
    if assemble(listing(code, gen, end=len(code)), gen, syntax=Syntax.MESA) != code:
        raise AssertionError(f"the code of this text does not come back on {gen!r}:\n{text}")
    return "text: assembled"


CHECKS: tuple[Callable[[random.Random], str], ...] = (check_code, check_text)


def fuzz(count: int, seed: int, progress: bool = False) -> Counter[str]:
    """Run inputs and count their outcomes; failures name the seed of the input."""
    outcomes: Counter[str] = Counter()
    for i in range(count):
        rng = random.Random(f"{seed}:{i}")
        started = time.process_time()
        try:
            outcomes[CHECKS[i % len(CHECKS)](rng)] += 1
        except Exception as e:
            raise AssertionError(f"input {i} of seed {seed}: {e}") from e
        if time.process_time() - started > SLOW_SECONDS:
            raise AssertionError(f"input {i} of seed {seed} took too long")
        if progress and i % 50000 == 0:
            print(i, dict(outcomes), file=sys.stderr, flush=True)
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(dict(fuzz(arguments.count, arguments.seed, progress=True)))


if __name__ == "__main__":
    main()
