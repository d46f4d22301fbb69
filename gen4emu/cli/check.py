"""`gen4emu check`: replay the traces of manifests and compare with the expected results, for CI (docs/check.md)."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import click

import gen4emu
from gen4emu.check.execute import Task
from gen4emu.check.history import SHOWN, append, key, read, run_of
from gen4emu.check.manifest import Case, Listing, Manifest, read_manifest, unknown_names
from gen4emu.check.reports import Report, write_junit
from gen4emu.check.results import Outcome, Result, count
from gen4emu.check.runner import Limits, Runner
from gen4emu.check.selecting import select
from gen4emu.check.update import update_manifests
from gen4emu.check.verdict import judge, skipped
from gen4emu.cli import options
from gen4emu.cli.printable import printable
from gen4emu.cli.results_options import dask_option, in_shard, results_options, writer
from gen4emu.cli.sandbox_options import sandbox_option
from gen4emu.cli.terminal import Progress, complain, is_quiet, is_verbose, some, wants_color
from gen4emu.cluster.pool import ClusterLost
from gen4emu.cluster.traces import ClusterRunner
from gen4emu.core_enums import HierarchicalDepthMode
from gen4emu.device.options import Options
from gen4emu.hw.chips import Device
from gen4emu.sandbox import Mode
from gen4emu.suite.lines import Writer
from gen4emu.suite.shards import Shard
from gen4emu.suite.traces import SUITE, input_digest, line_of, result_of

_LOG_LINES = 20  # of a crashed process; reports have more
_COLORS = {Outcome.PASS: "green", Outcome.FAIL: "red", Outcome.CRASH: "red", Outcome.TIMEOUT: "red",
           Outcome.UNEXPECTED_PASS: "red", Outcome.EXPECTED_FAIL: "yellow", Outcome.FLAKE: "yellow",
           Outcome.SKIP: "yellow"}
_WORDS = {Outcome.PASS: "ok", Outcome.FAIL: "FAILED", Outcome.CRASH: "CRASHED", Outcome.TIMEOUT: "TIMED OUT",
          Outcome.UNEXPECTED_PASS: "UNEXPECTED PASS", Outcome.EXPECTED_FAIL: "expected failure",
          Outcome.FLAKE: "flake", Outcome.SKIP: "skipped"}


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("-k", "expression", metavar="EXPRESSION",
              help="Only traces whose name contains a word; and, or, not, parentheses; gears*, =gears-g4x.")
@click.option("-j", "--jobs", type=click.IntRange(1, 1024), default=os.cpu_count() or 1, show_default="processors",
              help="Traces replayed at the same time.")
@options.device_option
@options.force_device_option
@options.hiz_option
@click.option("--update", is_flag=True, help="Record the current results as expected, and print the changes.")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), metavar="SECONDS",
              help="Time limit for each trace.  [default: from the manifest, or 300]")
@click.option("--memory", callback=options.size, metavar="SIZE",
              help="Limit on the address space of each replay, such as 4G.")
@sandbox_option
@click.option("--results", type=click.Path(path_type=Path, file_okay=False), default="check-results",
              show_default=True, help="Directory for the actual and expected pictures and heat maps of failures.")
@results_options
@dask_option
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a JUnit report.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write an HTML page of the run, with all pictures of failures.")
@click.option("--history", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Add the results to this file, a line for each run; the HTML page shows them by revision.")
@click.option("--revision", default=gen4emu.__version__, metavar="NAME",
              help="The name of this run in --history, such as a commit.  [default: the version of gen4emu]")
@options.verbosity_options
def check(paths: tuple[Path, ...], expression: str | None, jobs: int, device: Device | None, force_device: bool,
          hiz: HierarchicalDepthMode, update: bool, timeout: float | None, memory: int, mode: Mode, results: Path,
          shard: Shard | None, earlier: tuple[Path, ...], jsonl: Path | None, resume: bool, dask: str | None,
          as_json: bool, junit: Path | None, html: Path | None, history: Path | None, revision: str) -> int:
    """Replay the traces of manifests (TOML; a directory means its manifest.toml) and compare with expected pictures.

    \b
    Exit status: 0 all as expected, 1 differences, crashes or timeouts, 2 bad input or a damaged trace.
    Examples:
      gen4emu check traces/
      gen4emu check traces/ -k "gears and not brw" --junit report.xml --html report.html
    """
    manifests = [read_manifest(path) for path in dict.fromkeys(paths)]
    if expression is not None:
        chosen = {id(case) for case in select([case for m in manifests for case in m.cases], expression)}
        manifests = [replace(m, cases=[c for c in m.cases if id(c) in chosen]) for m in manifests]
    stale = [] if expression is not None else [text for m in manifests for text in unknown_names(m)]
    if shard is not None or earlier:
        names = set(in_shard([key(case) for m in manifests for case in m.cases], SUITE, shard, earlier))
        manifests = [replace(m, cases=[c for c in m.cases if key(c) in names]) for m in manifests]
    for other, value in (("--jsonl", jsonl), ("--dask", dask)):
        if update and value is not None:
            raise click.UsageError(f"{other} and --update exclude each other")
    if update and mode is Mode.ON:
        raise click.UsageError("--sandbox on and --update exclude each other")
    file = writer(jsonl, resume)
    runs = [] if history is None else read(history)
    single = jobs > 1 or dask is not None
    task = Task(results, update, Options(workers=1 if single else 0, hierarchical_depth=hiz), device, force_device,
                thumbnails=html is not None)
    limits = Limits(timeout, memory, mode)
    report = Report([m.file for m in manifests], stale=stale)
    lost = False
    started = time.perf_counter()
    say = _Printer(sum(len(m.cases) for m in manifests), as_json)
    with ExitStack() as stack:
        if file is not None:
            stack.callback(file.close)
        runner: Runner | ClusterRunner
        if dask is not None:
            runner = ClusterRunner(task, limits, dask, [case for m in manifests for case in m.cases])
        else:
            runner = Runner(task, limits, min(jobs, max(1, say.total)), fork=True)
        log = _Log(file, task, hiz)
        try:
            stack.enter_context(runner)
            for manifest, directory in zip(manifests, _directories(manifests, results), strict=True):
                runner.task = replace(task, results=directory)
                first = len(report.results)
                for result in _run(manifest, runner, say, log):
                    report.results.append(result)
                if update:
                    update_manifests(report.results[first:])
                for result in report.results[first:] if update else []:
                    say.result(result)
        except ClusterLost as e:
            lost = True
            complain(f"{e}; the results so far:")
    report.seconds = time.perf_counter() - started
    if junit is not None:
        write_junit(junit, report)
    if history is not None:
        append(history, run_of(report, revision))
        runs = [*runs, run_of(report, revision)][-SHOWN:]
    if html is not None:
        from gen4emu.check.page import check_page, write_page

        write_page(html, check_page(report, [*map(str, paths)], runs=runs))
    if as_json:
        click.echo(json.dumps(report.as_json(), indent=1))
    else:
        if isinstance(runner, ClusterRunner):
            say.cluster(runner)
        say.summary(report, junit, html, paths, update)
    return 2 if lost else report.status


def _directories(manifests: Sequence[Manifest], results: Path) -> list[Path]:
    """Where each manifest's failures go: names of traces are unique within one manifest only."""
    if len(manifests) == 1:
        return [results]
    taken: dict[str, int] = {}
    directories = []
    for manifest in manifests:
        name = manifest.file.absolute().parent.name or "root"
        taken[name] = taken.get(name, 0) + 1
        directories.append(results / (name if taken[name] == 1 else f"{name}-{taken[name]}"))
    return directories


class _Log:
    """The --jsonl file, and the results that it holds of an earlier run with the same options."""

    def __init__(self, file: Writer | None, task: Task, hiz: HierarchicalDepthMode) -> None:
        self._file = file
        self._details = {"hiz": hiz.name.lower(), "device": None if task.device is None else task.device.name}
        self._done = {line.name: line for line in (file.done if file is not None else [])
                      if line.suite == SUITE and line.version == gen4emu.__version__
                      and line.details.get("options") == self._details}

    def earlier(self, case: Case, listings: Sequence[Listing]) -> Result | None:
        """The result of a case that is not run again: its expectations and its trace are as they were."""
        line = self._done.get(key(case))
        if line is None or line.details.get("input") != input_digest(case, listings):
            return None
        return result_of(case, line)

    def add(self, result: Result, listings: Sequence[Listing]) -> None:
        if self._file is not None:
            self._file.add(line_of(result, listings, self._details))


def _run(manifest: Manifest, runner: Runner | ClusterRunner, say: _Printer, log: _Log) -> Iterator[Result]:
    """The results of a manifest, in its order; if the cluster is lost, those that there are."""
    task = runner.task
    done: dict[int, Result] = {}
    todo: list[tuple[int, Case]] = []
    for i, case in enumerate(manifest.cases):
        result = skipped(case, manifest.listings, task.device, task.update)
        if result is None:
            result = log.earlier(case, manifest.listings)
        elif log.earlier(case, manifest.listings) is None:
            log.add(result, manifest.listings)
        if result is None:
            todo.append((i, case))
        else:
            done[i] = result
    say.progress(len(done))
    following = 0
    ended = runner.run([case for _, case in todo])
    while following < len(manifest.cases):
        while following not in done:
            try:
                index, result = next(ended)
            except ClusterLost:
                for i in sorted(done):
                    say.result(done[i])
                    yield done[i]
                raise
            done[todo[index][0]] = judge(result, [] if task.update else manifest.listings)
            log.add(result, manifest.listings)
            say.progress(1)
        result = done.pop(following)
        following += 1
        if not task.update:
            say.result(result)
        yield result


class _Printer:
    """Prints each case as it ends, and the summary after the last one."""

    def __init__(self, total: int, as_json: bool) -> None:
        self.total, self.as_json = total, as_json
        self.done = 0
        self._color = wants_color("auto")
        self._bar = Progress("check", lambda: self.done / self.total if self.total else None)

    def progress(self, more: int) -> None:
        self.done += more
        self._bar.tick(lambda: f"{self.done} of {some(self.total, 'trace')}")

    def result(self, result: Result) -> None:
        if self.as_json or (is_quiet() and not result.is_bad):
            return
        pictures = sum(bool(p.digest) for p in result.pictures)
        about = [] if result.outcome is Outcome.SKIP else [some(pictures, "picture"), f"{result.seconds:.2f} s"]
        about += [result.reason] * bool(result.reason)
        word = click.style(_WORDS[result.outcome], fg=_COLORS[result.outcome], bold=result.is_bad)
        self._echo(f"{printable(result.case.name)}: {word} ({printable(', '.join(about))})")
        for line in self._details(result):
            self._echo(f"  {printable(line)}")

    def _details(self, result: Result) -> Iterator[str]:
        for picture in result.pictures:
            if picture.message:
                yield f"{picture.name}: {picture.message}"
                for kind, path in (("actual", picture.actual), ("expected", picture.expected),
                                   ("heat map", picture.heatmap)):
                    if path is not None:
                        yield f"  {kind + ':':<10}{path}"
            elif is_verbose():
                yield f"{picture.name}: {picture.digest}"
        yield from (*result.messages, *result.notes, *result.changes)
        yield from (f"| {line}" for line in result.log.splitlines()[-_LOG_LINES:])

    def cluster(self, runner: ClusterRunner) -> None:
        if not is_quiet():
            self._echo(f"ran on {some(len(runner.hosts), 'machine')}, {some(runner.twice, 'trace')} on two workers")

    def summary(self, report: Report, junit: Path | None, html: Path | None, paths: Sequence[Path],
                update: bool) -> None:
        self._bar.done()
        for line in report.stale:
            self._echo(click.style(printable(line), fg="red"))
        if is_quiet():
            return
        counts = count(report.results)
        always = (Outcome.PASS, Outcome.FAIL)
        parts = [f"{counts[o]} {text}" for o, text in _SUMMARY.items() if counts[o] or o in always]
        self._echo(", ".join(parts) + f" in {report.seconds:.1f} s")
        if html is not None:
            self._echo(f"page: {printable(str(html))}")
        elif not update and any(p.actual for r in report.results for p in r.pictures):
            again = shlex.join(["gen4emu", "check", *map(str, paths), "--update"])
            self._echo(f"to accept what is drawn now: {printable(again)} [-k NAME]")

    def _echo(self, text: str) -> None:
        self._bar.clear()
        click.echo(text, color=self._color)


_SUMMARY = {Outcome.PASS: "passed", Outcome.FAIL: "failed", Outcome.CRASH: "crashed", Outcome.TIMEOUT: "timed out",
            Outcome.UNEXPECTED_PASS: "passed unexpectedly", Outcome.EXPECTED_FAIL: "failed as expected",
            Outcome.FLAKE: "flaked", Outcome.SKIP: "skipped"}
