"""Fuzzing that is guided by coverage (docs/testing.md).

    python -m tests.fuzz --seconds 60 kernel message
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from gen4emu.image.digest import Blake3
from gen4emu.image.picture import replacing
from tests.fuzz import build, scenes
from tests.fuzz.targets import TARGETS, Target

ROOT = Path(__file__).resolve().parents[2]
SECONDS_OF_AN_INPUT = 60
MEMORY_MIB = 3072
# Inputs allocate and free large blocks: without stacks and with a short quarantine that takes a fraction of the time.
ASAN = "malloc_context_size=2:quarantine_size_mb=4:allocator_release_to_os_interval_ms=-1:detect_leaks=0"
_COVERAGE = re.compile(r"^#\d+\t\S+ +cov: (\d+)", re.MULTILINE)
_EXECUTIONS = re.compile(r"^stat::number_of_executed_units: (\d+)$", re.MULTILINE)
_FINDING = re.compile(r"Test unit written to (\S+)")
_PROGRESS = re.compile(r"^(#\d+\t|INFO: )")


@dataclass(slots=True)
class Outcome:
    """A run of one target."""

    executions: int = 0
    first_edges: int = 0  # of the seeds
    edges: int = 0
    inputs: int = 0  # in the corpus at the end
    findings: list[Path] = field(default_factory=list)
    report: str = ""  # of a finding: what libFuzzer says, with the input in base 64
    failure: str = ""  # the target did not run
    processor: float = 0.0  # seconds

    def __add__(self, later: Outcome) -> Outcome:
        """Of two runs, one after the other."""
        return Outcome(self.executions + later.executions, self.first_edges or later.first_edges,
                       max(self.edges, later.edges), later.inputs, self.findings + later.findings,
                       later.report, later.failure, self.processor + later.processor)


def outcome_of(log: str, status: int) -> Outcome:
    """The output of libFuzzer."""
    coverage = [int(number) for number in _COVERAGE.findall(log)]
    executions = _EXECUTIONS.search(log)
    found = Outcome(int(executions[1]) if executions else 0, coverage[0] if coverage else 0, max(coverage, default=0),
                    findings=[Path(path) for path in _FINDING.findall(log)])
    if found.findings:
        found.report = "\n".join(line[:2000] for line in log.splitlines() if not _PROGRESS.match(line))
    if not coverage or (status != 0 and not found.findings):
        found.failure = f"exit status {status}: {(log.strip().splitlines() or ['no output'])[-1]}"
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="target", help="all if there is none: " + ", ".join(TARGETS))
    parser.add_argument("--seconds", type=int, default=60, help="for each target (60)")
    parser.add_argument("--total", type=int, default=0, metavar="N",
                        help="begin again until all targets have N executions together, in this and earlier runs, or "
                             "one has a finding")
    parser.add_argument("--seed", type=int, default=0, help="of random numbers; 0: another one in each run (0)")
    parser.add_argument("--jobs", type=int, default=1, help="targets at the same time (1)")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "fuzz",
                        help="for programs, corpora and findings (build/fuzz)")
    options = parser.parse_args()
    for name in options.targets:
        if name not in TARGETS:
            parser.error(f"{name}: is not a target; there are {', '.join(TARGETS)}")
    if options.seconds < 1 or options.jobs < 1:
        parser.error("--seconds and --jobs: at least 1")
    chosen = [TARGETS[name] for name in options.targets or TARGETS]
    problem = missing(chosen)
    if problem:
        parser.error(problem)
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    prepare(chosen, folder)
    outcomes = [Outcome() for _ in chosen]
    totals = Totals(folder / "totals.json")
    while True:
        with ThreadPoolExecutor(options.jobs) as pool:
            latest = list(pool.map(lambda target: run(target, folder, options.seconds, options.seed), chosen))
        outcomes = [before + later for before, later in zip(outcomes, latest, strict=True)]
        totals.add({target.name: outcome for target, outcome in zip(chosen, latest, strict=True)})
        if totals.sum >= options.total or any(outcome.findings or outcome.failure for outcome in latest):
            break
        print(f"{totals.sum:,} executions in all runs", flush=True)
    print(table(chosen, outcomes))
    print(f"{totals.sum:,} executions in all runs: {totals.path}")
    for target, outcome in zip(chosen, outcomes, strict=True):
        for path in outcome.findings:
            print(f"{target.name}: finding {path}; log {folder / 'logs' / target.name}")
        if outcome.report:
            print(outcome.report)
        if outcome.failure:
            print(f"{target.name}: {outcome.failure}; log {folder / 'logs' / target.name}")
    return 1 if any(outcome.findings or outcome.failure for outcome in outcomes) else 0


class Totals:
    """The executions of each target in all runs with this folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._executions: dict[str, int] = json.loads(path.read_text()) if path.exists() else {}

    @property
    def sum(self) -> int:
        return sum(self._executions.values())

    def add(self, outcomes: Mapping[str, Outcome]) -> None:
        for name, outcome in outcomes.items():
            self._executions[name] = self._executions.get(name, 0) + outcome.executions
        with replacing(self.path) as file:
            file.write(json.dumps(self._executions, indent=1).encode() + b"\n")


def missing(chosen: Sequence[Target]) -> str:
    """The programs that these targets need and this machine lacks."""
    if any(target.program for target in chosen) and build.clang() is None:
        return "clang with libFuzzer was not found (Debian: apt-get install clang libclang-rt-14-dev)"
    if not all(target.program for target in chosen) and importlib.util.find_spec("atheris") is None:
        return "atheris was not found: pip install 'gen4emu[fuzz]'"
    return ""


def prepare(chosen: Sequence[Target], folder: Path) -> None:
    """Programs, scenes and seeds."""
    if any(target.program for target in chosen):
        build.build(folder)
    of_scenes = [target for target in chosen if target.gen is not None]
    if of_scenes:
        print("recording scenes", flush=True)
        recorded = scenes.record()
        for target in of_scenes:
            assert target.gen is not None
            recorded[scenes.RECORDED.get(target.gen, target.gen)].write(folder / f"{target.name}.scenes", target.gen,
                                                                        target.kind)
    for target in chosen:
        place = folder / "seeds" / target.name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        for seed in target.seeds():
            (place / Blake3(seed).hexdigest()[:32]).write_bytes(seed)


def run(target: Target, folder: Path, seconds: int, seed: int) -> Outcome:
    """Run a target for some seconds, beginning with the corpus of earlier runs."""
    corpus, found = folder / "corpus" / target.name, folder / "findings" / target.name
    for place in (corpus, found, folder / "logs"):
        place.mkdir(parents=True, exist_ok=True)
    command = ([str(folder / target.program)] if target.program
               else [sys.executable, "-m", "tests.fuzz.run_reader", target.name])
    command += [str(corpus), str(folder / "seeds" / target.name), f"-max_total_time={seconds}", f"-seed={seed}",
                f"-max_len={target.most_bytes}", "-len_control=20", "-entropic=0", f"-timeout={SECONDS_OF_AN_INPUT}",
                f"-report_slow_units={SECONDS_OF_AN_INPUT}",
                f"-rss_limit_mb={MEMORY_MIB}", "-print_final_stats=1", "-reload=0", "-detect_leaks=0",
                "-print_funcs=0",  # their names take longer to find than a corpus to run
                f"-artifact_prefix={found}{os.sep}"]
    environment = os.environ | {
        "GEN4EMU_FUZZ_SCENES": str(folder / f"{target.name}.scenes"), "UBSAN_OPTIONS": "print_stacktrace=1",
        "ASAN_OPTIONS": ASAN,
        "XDG_STATE_HOME": str(folder / "state"), "PYTHONPATH": str(ROOT)}
    log = folder / "logs" / target.name
    started = time.monotonic()
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, cwd=ROOT,
                                   env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    outcome = outcome_of(log.read_text(errors="replace"), process.returncode)
    outcome.processor = usage.ru_utime + usage.ru_stime
    outcome.inputs = sum(1 for _ in corpus.iterdir())
    print(f"{target.name}: {time.monotonic() - started:.0f} s", flush=True)
    return outcome


def table(chosen: Sequence[Target], outcomes: Sequence[Outcome]) -> str:
    """Executions a second are those of processor time."""
    rows = [("target", "executions", "a second", "edges of the seeds", "edges", "corpus", "findings")]
    rows += [(target.name, f"{o.executions:,}", f"{o.executions / max(o.processor, 0.001):,.0f}", f"{o.first_edges:,}",
              f"{o.edges:,}", f"{o.inputs:,}", str(len(o.findings)))
             for target, o in zip(chosen, outcomes, strict=True)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join([row[0].ljust(widths[0])] + [text.rjust(width) for text, width in
                                                            zip(row[1:], widths[1:], strict=True)]) for row in rows)


if __name__ == "__main__":
    sys.exit(main())
