"""Hostile input for the decoder, the disassembler and the assembler.

`python tests/isa/fuzz_isa.py --count N` runs N inputs and counts them by kind; `test_fuzz.py` runs a few.
The assembler may raise only AssemblyError, the other two nothing; every listing must assemble to its bytes, and no
input may take long.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

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
LATER_SEEDS = (
    "(+f0.1) sel.ge(16) g4<1>F g2<8,8,1>F 0x40400000F { align1 1H };\n"
    "cmp.l.f0.0(8) null<1>D g3<0,1,0>D 1D { align1 2Q };",
    "mad.sat(8) g11.4<1>.xyF g4.3<0,1,0>F -(abs)g9<4,4,1>.xyzzF g5<4,4,1>F { align16 NoDDClr,NoDDChk 1Q };",
    "math.sat pow(8) g7<1>F g10<8,8,1>F -g3<8,8,1>F { align1 WE_all 1Q AccWrEnable };",
    "L: (-f0.0.any4h) while(8) JIP: L { align1 1Q };\nbreak(8) JIP: L UIP: M { align1 1Q };\nM: endif(8) JIP: 16 { };",
    "send(8) g2<1>UW g6<8,8,1>UD 0x02410001 sampler MsgDesc: x mlen 1 { align1 1Q };\n"
    "sendc(16) null<1>UW g120<8,8,1>F 0x90031400 render { align1 1H EOT };",
    "send(8) g2<1>UW g6<8,8,1>UD a0<0,1,0>UD 0x00000200 pixel interp { align1 1Q };\njmpi(1) 16D { align1 WE_all 1N };",
    "sends(8) nullUD g34UD g36.1UD 0x04035001 0x00000100 dp data 1 MsgDesc: x { align1 1Q };\n"
    "sendsc(16) g[a0.1 16]UD g[a0.2]UD nullUD a0<0>UD a0.2<0>UD data { align1 1H EOT };",
    "mov(4) g3<2>DF g[a0.3 -16]<VxH,1,0>DF { align1 2N };\nmov(8) g1<1>Q 0x0000000100000000Q { align1 1Q };",
    "dim(1) g4<1>DF 0x4018000000000000F { align1 WE_all 1N };\nmov(8) g1<1>HF 0x3c00HF { align1 1Q };",
    "if.l(8) JIP: 4 g2<4>.xF g3<4>.yF { align16 1Q };\nwait(1) n0.1<1>UD { align1 WE_all 1N };\n"
    "and(8) g1<1>UD ~g2<8,8,1>UD g3<8,8,1>UD { align1 1Q compacted };",
)
_WORDS = ("0x3f800000F", "-1D", "(abs)", "<8,8,1>", "<VxH,1,0>", ".xyzw", "g127", "m15", "a0.7", "f0.1", "ip", "null",
          "{", "}", "(", ")", ";", ":", ",", "compr4", "compacted", "EOT", "Jump:", "MsgDesc:", ".sat", ".declare", "~",
          "99999999999999999999999999", "/*", "//", "#", "\"", "\n", "\x00", "é", "0x", "1.5", "[", "dw0^0xffffffff",
          "JIP:", "UIP:", "WE_all", "2N", "4Q", "2H", "DF", "Q", "UV", "0x8000000000000000Q", "f1.1", "a0.15", "sat")


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


def _later_code_seeds(part: Gen) -> tuple[bytes, ...]:
    """The instructions of the later seeds that a part has."""
    found = []
    for line in re.sub(r"\b[LM]: ", "", re.sub(r"IP: [LM]", "IP: 8", "\n".join(LATER_SEEDS))).split("\n"):
        with suppress(AssemblyError):
            found.append(assemble(line, part, syntax=Syntax.MESA))
    return tuple(found)


SEEDS_OF = {part: CODE_SEEDS if part & Gen.ALL4 else _later_code_seeds(part) for part in _PARTS}


def mutated_code(rng: random.Random, gen: Gen) -> bytes:
    """Valid instructions with up to four bits flipped."""
    code = bytearray(b"".join(rng.choice(SEEDS_OF[gen]) for _ in range(rng.randrange(1, 5))))
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
        return mutated_code(rng, gen)
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


def random_text(rng: random.Random, gen: Gen) -> str:
    """A seed with pieces removed, doubled, swapped or inserted."""
    seeds = SEEDS if gen & Gen.ALL4 or rng.random() < 0.1 else LATER_SEEDS
    text = rng.choice(seeds)
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
            text = text[:at] + rng.choice(seeds)[rng.randrange(40):] + text[end:]
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
    gen = rng.choice(_PARTS)
    text = random_text(rng, gen)
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
