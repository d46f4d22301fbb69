"""How fast a gang of eight threads executes, by kind of instruction and in loops.

    python bench/eu.py [--general]

Billions of channel instructions per second on one core, for each vector variant; `mandelbrot` is a loop of the kind
that shader-bound scenes spend their time in.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gen4emu._native import lib
from gen4emu.hw.gen import Gen
from tests.harness.probe import Probe

VARIANTS = ["plain", "avx2", "avx512"]
REPEAT = 32  # of the line in a loop
LOOPS = 400
SECONDS = 0.25

# name -> generation, channels of the line, the line
LINES: dict[str, tuple[Gen, int, str]] = {
    "add packed packed (16)": (Gen.EL, 16, "add(16) g20<1>F g22<8,8,1>F g24<8,8,1>F { align1 compr };"),
    "mul packed scalar (16)": (Gen.EL, 16, "mul(16) g20<1>F g22<8,8,1>F g2<0,1,0>F { align1 compr };"),
    "mul packed imm (8)": (Gen.EL, 8, "mul(8) g20<1>F g22<8,8,1>F 1.5F { align1 };"),
    "add.sat predicated (16)": (Gen.EL, 16, "(+f0.1) add.sat(16) g20<1>F g22<8,8,1>F -g24<8,8,1>F { align1 compr };"),
    "pln (16)": (Gen.EL, 16, "pln(16) g20<1>F g2.4<0,1,0>F g22<8,8,1>F { align1 compr };"),
    "line, mac (8)": (Gen.BW, 16, "line(8) null<1>F g2.4<0,1,0>F g22<8,8,1>F { align1 };\n"
                                  "mac(8) g20<1>F g2.1<0,1,0>F g23<8,8,1>F { align1 };"),
    "cmp to flags (16)": (Gen.EL, 16, "cmp.l.f0.0(16) null<1>F g22<8,8,1>F g24<8,8,1>F { align1 compr };"),
    "sel (16)": (Gen.EL, 16, "(+f0.0) sel(16) g20<1>F g22<8,8,1>F g24<8,8,1>F { align1 compr };"),
    "mov to message compr4 (16)": (Gen.EL, 16, "mov(16) m3<1>F g22<8,8,1>F { align1 compr4 };"),
    "mov D to F (16)": (Gen.EL, 16, "mov(16) g20<1>F g22<8,8,1>D { align1 compr };"),
    "add D (16)": (Gen.EL, 16, "add(16) g20<1>D g22<8,8,1>D 3D { align1 compr };"),
    "align16 mul swizzled (8)": (Gen.EL, 8, "mul(8) g20<1>.xyzF g22<4>.xyzzF g24<4>.wF { align16 };"),
    "align16 dp4 (8)": (Gen.EL, 8, "dp4(8) g20<1>.xF g22<4>F g3<0>F { align16 };"),
    "prologue word + vector (16)": (Gen.EL, 16, "add(16) g20<1>UW g2.4<2,4,0>UW 0x10101010V { align1 };"),
    "prologue words to floats (8)": (Gen.EL, 8, "add(8) g20<1>F g22<8,8,1>UW -g2<0,1,0>F { align1 };"),
    "scalar add D (1)": (Gen.EL, 1, "add(1) g20<1>D g22<0,1,0>D 3D { align1 nomask };"),
    "address add (1)": (Gen.EL, 1, "add(1) a0<1>UW a0<0,1,0>UW 0UW { align1 nomask };"),
    "indirect mov (4)": (Gen.EL, 4, "mov(4) g20<1>F g[a0]<4,4,1>F { align1 nomask };"),
    "indirect mov to indirect (4)": (Gen.EL, 4, "mov(4) g[a0 496]<1>F g[a0 16]<4,4,1>F { align1 nomask };"),
    "avg words (16)": (Gen.EL, 16, "avg(16) g20<1>W g22<16,16,1>W g24<16,16,1>W { align1 };"),
    "bytes to words (16)": (Gen.EL, 16, "add(16) g20<1>W g22.3<16,16,1>UB g24<16,16,1>UB { align1 };"),
    "words to bytes, saturated (16)": (Gen.EL, 16, "mov.sat(16) g20<2>UB g22<16,16,1>W { align1 };"),
}

# z = z*z + c until |z| > 2, as a driver would write it
MANDELBROT = """
    do(16) { align1 };
L_top:
    mul(16) g30<1>F g20<8,8,1>F g20<8,8,1>F { align1 compr };
    mul(16) g32<1>F g22<8,8,1>F g22<8,8,1>F { align1 compr };
    add(16) g34<1>F g30<8,8,1>F g32<8,8,1>F { align1 compr };
    cmp.g.f0.0(16) null<1>F g34<8,8,1>F g2.2<0,1,0>F { align1 compr };
    (+f0.0) break(16) Jump: L_end Pop: 0 { align1 };
    mul(16) g36<1>F g20<8,8,1>F g22<8,8,1>F { align1 compr };
    add(16) g38<1>F g30<8,8,1>F -g32<8,8,1>F { align1 compr };
    add(16) g20<1>F g38<8,8,1>F g24<8,8,1>F { align1 compr };
    add(16) g40<1>F g36<8,8,1>F g36<8,8,1>F { align1 compr };
    add(16) g22<1>F g40<8,8,1>F g26<8,8,1>F { align1 compr };
    add(16) g28<1>F g28<8,8,1>F 1.0F { align1 compr };
    cmp.ge.f0.0(16) null<1>F g28<8,8,1>F g2.3<0,1,0>F { align1 compr };
    (+f0.0) break(16) Jump: L_end Pop: 0 { align1 };
    while(16) Jump: L_top { align1 };
L_end:
"""


def loop(line: str) -> str:
    body = "\n".join([line] * REPEAT)
    return f"L_top:\n{body}\nadd.nz.f1.0(1) g100<1>D g100<0,1,0>D -1D {{ align1 nomask }};\n".replace("f1.0", "f0.0") \
        + "(+f0.0) jmpi(1) L_top:D { align1 nomask };\n"


def fill(probe: Probe, spread: bool) -> None:
    probe.start(8, 0xFFFF)
    for t in range(8):
        for reg in range(20, 42):
            probe.grf(reg, t).view(np.float32)[:] = 0
        probe.grf(2, t).view(np.float32)[:] = [0.5, 0.25, 4, 255 if spread else 1000, 1.5, 2.5, 0, 3.5]
        probe.grf(100, t)[0] = LOOPS
        for half in range(2):
            x = -2.0 + 2.5 * (np.arange(8) + 8 * half) / 16 if spread else np.full(8, -0.1)
            probe.grf(24 + half, t).view(np.float32)[:] = x
            probe.grf(26 + half, t).view(np.float32)[:] = -1.2 + 2.4 * t / 8 if spread else 0.1
        probe.set_flags(0x5A5A0000, t)


def rate(probe: Probe, code: str, channels: float, spread: bool, general: bool) -> float:
    """Billions of channel instructions a second; channels is the average of an instruction."""
    best = 0.0
    end = time.perf_counter() + SECONDS
    fill(probe, spread)
    probe.run_to_end(code, general_only=general)
    while time.perf_counter() < end:
        fill(probe, spread)
        before = probe.instructions
        start = time.perf_counter()
        probe.run_to_end(general_only=general)
        seconds = time.perf_counter() - start
        best = max(best, (probe.instructions - before) * channels / seconds / 1e9)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--general", action="store_true", help="the general handler instead of the fast ones")
    general = parser.parse_args().general
    variants = VARIANTS[: lib.g4_variant_best() + 1]
    # kernels are translated for the variant at their first run
    probes = [{gen: Probe(gen, watchdog=1000) for gen in (Gen.EL, Gen.BW)} for _ in variants]
    print(f"{'G channel instructions/s':34}" + "".join(f"{name:>9}" for name in variants))

    def row(name: str, gen: Gen, code: str, channels: float, spread: bool = False) -> None:
        values = []
        for variant in range(len(variants)):
            lib.g4_set_variant(variant)
            values.append(rate(probes[variant][gen], code, channels, spread, general))
        print(f"{name:34}" + "".join(f"{value:9.2f}" for value in values), flush=True)

    for name, (gen, channels, line) in LINES.items():
        row(name, gen, loop(line), channels / (line.count("\n") + 1))
    row("mandelbrot, all channels alike", Gen.EL, MANDELBROT, 16)
    row("mandelbrot, channels differ", Gen.EL, MANDELBROT, 16, spread=True)


if __name__ == "__main__":
    main()
