"""`gen4emu suite`: piglit, dEQP and traces on an emulated device (docs/suite.md)."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import click

from gen4emu.cli import options
from gen4emu.cli.check import check
from gen4emu.cli.printable import printable
from gen4emu.cli.results_options import dask_option, in_shard, results_options, writer
from gen4emu.cli.terminal import Progress, complain, some
from gen4emu.cluster.pool import ClusterLost
from gen4emu.cluster.programs import run_on_cluster
from gen4emu.hw.chips import Device
from gen4emu.ownership import is_own_process
from gen4emu.suite import deqp as dedicated
from gen4emu.suite.interrupts import INTERRUPTS
from gen4emu.suite.judging import line_of, outcomes_of
from gen4emu.suite.lines import Line
from gen4emu.suite.piglit import profiles, runner
from gen4emu.suite.piglit.expectations import Expectations, Summary, names, skips
from gen4emu.suite.piglit.outcome import Outcome
from gen4emu.suite.reports import write_html, write_junit
from gen4emu.suite.shards import Shard

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_Command = Callable[..., object]


def _variables(context: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    found = [text.partition("=") for text in texts]
    for name, equals, value in found:
        if not name or not equals or "\0" in value:
            raise click.BadParameter(f"{name!r} is not NAME=VALUE", context, option)
    return tuple((name, value) for name, _, value in found)


_RUN_OPTIONS = (
    options.device_option,
    click.option("-j", "--jobs", type=click.IntRange(1, 1024), default=os.cpu_count() or 1, show_default="processors",
                 help="Programs at the same time."),
    click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True,
                 help="Worker threads of the device for each program."),
    click.option("--timeout", type=click.FloatRange(0, min_open=True), default=60, show_default=True,
                 metavar="SECONDS", help="Time limit for each test."),
    click.option("--memory", callback=options.size, metavar="SIZE",
                 help="Limit on the address space of a program, such as 4G."),
    click.option("--env", "variables", multiple=True, callback=_variables, metavar="NAME=VALUE",
                 help="A variable for the environment of the programs; may be repeated."),
    click.option("--silicon", type=_FILE, metavar="FILE", help="The list of tests that silicon fails."),
    click.option("--flakes", type=_FILE, metavar="FILE", help="The list of tests that are unstable."),
    click.option("--ours", type=_FILE, metavar="FILE", help="The list of tests that only the model fails."),
    click.option("--skips", "skip_list", type=_FILE, metavar="FILE", help="Tests that are not run: TEST | REASON."),
    results_options,
    dask_option,
    click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
                 help="Write a JUnit report."),
    click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
                 help="Write an HTML page of the run."),
    options.verbosity_options,
)


@dataclass(frozen=True, slots=True)
class _How:
    """How the tests of a suite are run: the options that all suites of programs have."""

    device: Device | None
    jobs: int
    workers: int
    timeout: float
    memory: int
    variables: tuple[tuple[str, str], ...]
    silicon: Path | None
    flakes: Path | None
    ours: Path | None
    skip_list: Path | None
    shard: Shard | None
    earlier: tuple[Path, ...]
    jsonl: Path | None
    resume: bool
    dask: str | None
    junit: Path | None
    html: Path | None

    @property
    def device_name(self) -> str:
        return "g41" if self.device is None else self.device.name

    def known(self, known: Expectations) -> Expectations:
        """Lists of the command line replace those of the device."""
        for kind, path in (("silicon", self.silicon), ("flakes", self.flakes), ("ours", self.ours)):
            if path is not None:
                setattr(known, kind, names(path))
        if self.skip_list is not None:
            known.skips = skips(self.skip_list)
        return known


def _run_options(command: _Command) -> _Command:
    for option in reversed(_RUN_OPTIONS):
        command = option(command)
    return command


@click.group()
def suite() -> None:
    """Run piglit, dEQP or traces on an emulated device, and compare with known results.

    Shards, results and resuming are the same for all of them; `gen4emu results` joins and compares the results.

    \b
    Examples:
      gen4emu suite traces traces/ --shard 1/2 --jsonl results.jsonl
    """


suite.add_command(check, "traces")


@suite.command()
@click.option("--profile", "chosen", multiple=True, default=("quick_gl", "quick_shader"), show_default=True,
              metavar="NAME", help="quick_gl, quick_shader, ...; may be repeated.")
@click.option("--match", default="", metavar="REGEX", help="Only tests whose name this regular expression finds.")
@click.option("--list", "listed", type=_FILE, metavar="FILE", help="Only the tests in this file.")
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Only N tests, spread over the groups.")
@click.option("--seed", type=int, default=1, show_default=True, help="The seed of --sample.")
@_run_options
def piglit(chosen: tuple[str, ...], match: str, listed: Path | None, sample: int | None, seed: int,
           **common: object) -> int:
    """Run an installed piglit and compare with what real silicon passes.

    \b
    Exit status: 0 same as silicon, 1 failures that silicon does not have or complaints of drivers, 2 bad input.
    """
    how = _how(common)
    tests = profiles.matching([test for name in chosen for test in profiles.load(name)], match)
    if listed is not None:
        wanted = set(listed.read_text(encoding="utf-8").splitlines())
        tests = [test for test in tests if test.name in wanted]
    if sample is not None:
        tests = profiles.spread(tests, sample, seed)
    by_name = {test.name: test for test in tests}

    def run(left: Sequence[str], server: runner.Server) -> Generator[Outcome, None, None]:
        return runner.run([by_name[name] for name in left], server, how.jobs, how.timeout, memory=how.memory)

    return _run("piglit", list(by_name), how, how.known(Expectations.of(how.device_name)), run,
                lambda left, rest: _on_cluster(how, [by_name[name] for name in left], None, rest))


@suite.command()
@click.argument("program", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.argument("case_list", metavar="LIST", type=_FILE)
@click.option("--match", default="", metavar="REGEX", help="Only tests whose name this regular expression finds.")
@click.option("--argument", "arguments", multiple=True, metavar="ARGUMENT",
              help="An argument for PROGRAM, instead of the default ones; may be repeated.")
@click.option("--batch", type=click.IntRange(1, 10000), default=50, show_default=True, metavar="N",
              help="Tests per process.")
@_run_options
def deqp(program: Path, case_list: Path, match: str, arguments: tuple[str, ...], batch: int, **common: object) -> int:
    """Run the tests of LIST with PROGRAM, a module of dEQP such as deqp-gles2.

    Lists of expectations have the format of deqp-runner: NAME or NAME,Fail on each line.

    \b
    Exit status: 0 all as expected, 1 failures or complaints of drivers, 2 bad input.
    """
    how = _how(common)
    module = dedicated.Program(program.absolute(), *([arguments] if arguments else []))
    found = profiles.matching([profiles.Case(name, ()) for name in dedicated.read_cases(case_list)], match)

    def run(left: Sequence[str], server: runner.Server) -> Generator[Outcome, None, None]:
        return dedicated.run(module, left, server, how.jobs, how.timeout, how.memory, batch)

    return _run("deqp", [test.name for test in found], how, how.known(Expectations()), run,
                lambda left, rest: _on_cluster(how, [profiles.Case(name, ()) for name in left], module, rest))


def _how(common: Mapping[str, object]) -> _How:
    return _How(**common)  # type: ignore[arg-type]  # click has converted them


def _on_cluster(how: _How, tests: Sequence[profiles.Case], program: dedicated.Program | None,
                rest: list[str]) -> Iterator[Outcome]:
    assert how.dask is not None
    return run_on_cluster(how.dask, tests, program, how.device_name, how.workers, how.timeout, how.memory,
                          how.variables, rest)


def _run(kind: str, chosen: Sequence[str], how: _How, known: Expectations,
         run: Callable[[Sequence[str], runner.Server], Generator[Outcome, None, None]],
         run_far: Callable[[Sequence[str], list[str]], Iterator[Outcome]]) -> int:
    """Run what is chosen and not done, here or on a cluster, and report everything."""
    if not chosen:
        raise click.UsageError("no test is selected")
    chosen = in_shard(chosen, kind, how.shard, how.earlier)
    lines: list[Line] = []
    outcomes: list[Outcome] = []
    rest: list[str] = []
    status = None
    with ExitStack() as stack:
        file = writer(how.jsonl, how.resume)
        if file is not None:
            stack.callback(file.close)
            wanted = set(chosen)
            outcomes = [o for o in outcomes_of(how.jsonl or Path(), file.done, kind, how.device_name)
                        if o.name in wanted]
        lines = [line_of(kind, how.device_name, outcome, known) for outcome in outcomes]
        done = {outcome.name for outcome in outcomes}
        left = [name for name in chosen if name not in done]
        progress = Progress(kind, lambda: len(outcomes) / len(chosen))
        stack.callback(progress.done)

        def add(outcome: Outcome) -> None:
            outcomes.append(outcome)
            lines.append(line_of(kind, how.device_name, outcome, known))
            if file is not None:
                file.add(lines[-1])
            progress.tick(lambda: f"{len(outcomes)} of {some(len(chosen), 'test')}")

        for name in left:
            if known.skip_reason(name):
                add(Outcome(name, "skip"))
        left = [name for name in left if not known.skip_reason(name)]
        if is_own_process():
            stack.enter_context(INTERRUPTS.delivered())
        try:
            if left and how.dask is not None:
                for outcome in run_far(left, rest):
                    with INTERRUPTS.deferred():
                        add(outcome)
            elif left:
                with (runner.server(how.device_name, how.workers, dict(how.variables)) as server,
                      closing(run(left, server)) as ran):
                    for outcome in ran:
                        with INTERRUPTS.deferred():
                            add(outcome)
                rest = server.rest
        except KeyboardInterrupt:
            status = 128 + (INTERRUPTS.numbers[0] if INTERRUPTS.numbers else signal.SIGINT)
        except (runner.ServerDied, ClusterLost) as e:
            complain(f"{e}; the results so far:")
            status = 2
    if how.junit is not None:
        write_junit(how.junit, lines)
    if how.html is not None:
        write_html(how.html, lines, f"gen4emu suite {kind}", rest)
    summary = Summary.of(outcomes, known, rest)
    for text in summary.text().splitlines():
        click.echo(printable(text))
    return status if status is not None else int(not summary.good)
