"""Compares the reference EU and the C core on random programs.

    python tests/eu/fuzz_eu.py --count 1000000 --seed 1

`--count` is in instructions of straight programs and of programs with branches, each executed by one to eight threads
of each vector variant with its back end.
`--gen7` compares Ivy Bridge, Haswell and Kaby Lake instead of Gen4 and Gen4.5, `--gen9` Kaby Lake alone.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gen4emu._native import lib
from gen4emu.hw.gen import Gen
from tests.eu import flow_programs, gen7_programs, gen9_programs
from tests.eu.differential import (
    PARTS,
    Bench,
    Case,
    Straight,
    differences,
    extend,
    reference_run,
    straight_case,
    text,
)
from tests.eu.reference import Thread, Unspecified

VARIANTS = ("plain", "avx2", "avx512")
WATCHDOG = 100_000  # million instructions: enough for loops to become machine code


def variants() -> Iterator[str]:
    """Selects one variant after the other."""
    for number in range(lib.g4_variant_best() + 1):
        lib.g4_set_variant(number)
        yield VARIANTS[number]


def check(bench: Bench, case: Case, threads: list[Thread], seed: int, *, fast: bool) -> list[str]:
    found = []
    for variant in variants():
        for general_only in (True, False) if fast else (True,):
            lines = differences(threads, bench.run(case, general_only=general_only))
            if lines:
                handlers = f"{variant}, {'general' if general_only else 'fast'} handlers"
                found.append(f"seed {seed} {case.gen.name}, {handlers}: {len(lines)} differences")
                found += lines[:6]
    return found


def shortest(bench: Bench, straight: Straight, seed: int, *, fast: bool) -> tuple[str, list[str]]:
    """The instruction from which on a program differs, and the differences."""
    start = straight.case
    for count in range(1, len(straight.program) + 1):
        case = Case(start.gen, b"", start.dmasks, start.grf, start.mrf, start.flags, start.alternate)
        part = Straight(case, [case.thread(t) for t in range(len(case.dmasks))])
        for inst in straight.program[:count]:
            extend(part, inst)
        if not part.threads[0].ended:
            extend(part, straight.program[-1])
        found = check(bench, part.case, part.threads, seed, fast=fast)
        if found:
            size = 16 * (1 if count == len(straight.program) else 2)
            last = Case(start.gen, part.case.code[-size:-16] or part.case.code[-16:], [], start.grf, start.mrf, [])
            return text(last), found
    return text(start), []


def later_flow_case(seed: int, gen: Gen) -> Case:
    if gen is Gen.KBL and seed % 8 < 6:
        return gen9_programs.flow_case(seed, wide=seed % 8 == 0)
    return gen7_programs.flow_case(seed, gen, plain=seed % 4 < 2)


def later_straight_case(seed: int, gen: Gen, length: int) -> gen7_programs.Straight:
    if gen is Gen.KBL and seed % 8 < 6:
        return gen9_programs.straight_case(seed, length, wide=seed % 8 == 0)
    return gen7_programs.straight_case(seed, gen, length)


def compare_later(parts: tuple[Gen, ...], count: int, seed: int, length: int, stop: int) -> int:
    """Random programs of Gen7 to Gen9; the number of mismatches."""
    executed = mismatches = cases = skipped = 0
    began = time.monotonic()
    benches: dict[int, Bench] = {}
    while executed < count and mismatches < stop:
        gen = parts[seed % len(parts)]
        if cases % 2000 == 0:
            benches = {}
        bench = benches.get(int(gen)) or benches.setdefault(int(gen), Bench(gen, watchdog=WATCHDOG))
        found: list[str] | None
        if seed % 20 >= 18:
            case = later_flow_case(seed, gen)
            executed += len(case.code) // 16
            found = gen7_programs.check_flow(bench, case, variants)
            skipped += found is None
            where = text(case) if found else ""
        else:
            straight = later_straight_case(seed, gen, length)
            executed += len(straight.program)
            found = gen7_programs.check(bench, straight, variants=variants)
            first = gen7_programs.first_difference(bench, straight) if found else None
            where = str(first[0]) if first else ""
        if found:
            mismatches += 1
            print(f"seed {seed}", *found, where, sep="\n", flush=True)
        cases += 1
        seed += 1
        if cases % 1000 == 0:
            print(f"{cases} programs, {executed} instructions, {mismatches} mismatches", file=sys.stderr, flush=True)
    print(f"{cases} programs, {executed} instructions, {mismatches} mismatches, {skipped} skipped, "
          f"{time.monotonic() - began:.0f} s")
    return mismatches


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100000, help="instructions")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--length", type=int, default=24, help="instructions of a straight program")
    parser.add_argument("--general", action="store_true", help="the general handler only")
    parser.add_argument("--stop", type=int, default=20, help="mismatches to show before giving up")
    parser.add_argument("--gen7", action="store_true", help="Ivy Bridge, Haswell and Kaby Lake")
    parser.add_argument("--gen9", action="store_true", help="Kaby Lake")
    args = parser.parse_args()
    if args.gen7 or args.gen9:
        parts = gen7_programs.PARTS if args.gen7 else (Gen.KBL,)
        return 1 if compare_later(parts, args.count, args.seed, args.length, args.stop) else 0
    executed = mismatches = cases = skipped = 0
    seed, began = args.seed, time.monotonic()
    benches: dict[int, Bench] = {}
    while executed < args.count and mismatches < args.stop:
        gen = PARTS[seed % len(PARTS)]
        if cases % 2000 == 0:
            benches = {}
        bench = benches.get(int(gen)) or benches.setdefault(int(gen), Bench(gen, watchdog=WATCHDOG))
        cases += 1
        if seed % 5 == 4:
            case = flow_programs.flow_case(seed, gen)
            try:
                threads = reference_run(case)
            except Unspecified:
                skipped += 1
                seed += 1
                continue
            executed += len(case.code) // 16
            found = check(bench, case, threads, seed, fast=not args.general)
            if found:
                mismatches += 1
                print("\n".join(found), text(case), sep="\n", flush=True)
        else:
            straight = straight_case(seed, gen, args.length)
            executed += len(straight.program)
            found = check(bench, straight.case, straight.threads, seed, fast=not args.general)
            if found:
                mismatches += 1
                where, lines = shortest(bench, straight, seed, fast=not args.general)
                print("\n".join(lines or found), where, sep="\n", flush=True)
        seed += 1
        if cases % 1000 == 0:
            print(f"{cases} programs, {executed} instructions, {mismatches} mismatches, {skipped} skipped, "
                  f"{time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    print(f"{cases} programs, {executed} instructions, {mismatches} mismatches, {skipped} skipped, "
          f"{time.monotonic() - began:.0f} s")
    return 1 if mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
