"""`gen4emu results`: files of results joined, compared, over time (docs/suite.md)."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import click

from gen4emu.check.results import Outcome
from gen4emu.cli.printable import printable
from gen4emu.cli.terminal import complain, is_quiet
from gen4emu.image.picture import replacing
from gen4emu.suite.combine import KINDS, by_key, diff, history, label, merge
from gen4emu.suite.lines import Line, read
from gen4emu.suite.reports import write_html, write_junit

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_MARKS = {Outcome.PASS: ".", Outcome.FAIL: "F", Outcome.CRASH: "C", Outcome.TIMEOUT: "T", Outcome.UNEXPECTED_PASS: "P",
          Outcome.EXPECTED_FAIL: "x", Outcome.FLAKE: "f", Outcome.SKIP: "s"}


@click.group()
def results() -> None:
    """Join and compare results that `check` and `suite` wrote with --jsonl.

    \b
    Examples:
      gen4emu results merge part-*.jsonl -o all.jsonl --junit report.xml --html report.html
      gen4emu results diff before.jsonl after.jsonl
      gen4emu results history before.jsonl after.jsonl
    """


@results.command("merge")
@click.argument("files", nargs=-1, required=True, type=_FILE)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write all results to this file.")
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a JUnit report.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write an HTML page.")
@click.option("--partial", is_flag=True, help="Ignore a last line that is cut short.")
def merge_files(files: tuple[Path, ...], output: Path | None, junit: Path | None, html: Path | None,
                partial: bool) -> int:
    """Join the results of shards; if a case has several results, the last one counts.

    Exit status 1 if a case failed, or if shards of the same version drew different pictures of a case.
    """
    lines, conflicts = merge([read(path, cut_is_fine=partial) for path in files])
    if output is not None:
        with replacing(output) as file:
            file.write("".join(line.to_json() + "\n" for line in lines).encode())
    if junit is not None:
        write_junit(junit, lines)
    if html is not None:
        write_html(html, lines, "gen4emu results", conflicts)
    for line in lines:
        if line.is_bad:
            click.echo(printable(f"{label(line)}: {line.outcome}"))
    for text in conflicts:
        complain(f"different pictures: {text}")
    if not is_quiet():
        click.echo(_counts(lines))
    return int(bool(conflicts) or any(line.is_bad for line in lines))


@results.command("diff")
@click.argument("old", type=_FILE)
@click.argument("new", type=_FILE)
@click.option("--json", "as_json", is_flag=True, help="Print the changes as JSON.")
def diff_files(old: Path, new: Path, as_json: bool) -> int:
    """Show what is broken, fixed, drawn differently, new or missing in NEW.

    Exit status 1 if something is broken, changed or removed.
    """
    changes = diff(by_key(read(old)), by_key(read(new)))
    counts = Counter(change.kind for change in changes)
    status = int(any(counts[kind] for kind in ("broken", "changed", "removed")))
    if as_json:
        found = [{"kind": c.kind, "suite": c.line.suite, "device": c.line.device, "name": c.line.name,
                  "old": None if c.old is None else asdict(c.old), "new": None if c.new is None else asdict(c.new)}
                 for c in changes]
        click.echo(json.dumps({"schema": "gen4emu.results.diff/1", "status": status, "changes": found}, indent=1))
        return status
    for change in changes:
        click.echo(printable(change.text))
    if not is_quiet():
        click.echo(", ".join(f"{counts[kind]} {kind}" for kind in KINDS if counts[kind]) or "no changes")
    return status


@results.command("history")
@click.argument("files", nargs=-1, required=True, type=_FILE)
@click.option("--all", "everything", is_flag=True, help="Show cases whose result never changed, too.")
@click.option("--json", "as_json", is_flag=True, help="Print the cases as JSON.")
def history_files(files: tuple[Path, ...], everything: bool, as_json: bool) -> int:
    """Show the results of each case in several runs, one FILE per run, oldest first; most changes come first.

    \b
    Marks: . pass  F fail  C crash  T timeout  P unexpected pass  x expected failure  f flake  s skip
           - not run  * pictures differ from those of the previous run
    """
    stories = [s for s in history([by_key(read(path)) for path in files]) if everything or s.is_eventful]
    if as_json:
        found = [{"suite": s.key[0], "device": s.key[1], "name": s.key[2], "flips": s.flips,
                  "outcomes": [None if line is None else line.outcome for line in s.lines],
                  "digests": [None if line is None else line.digest or None for line in s.lines]} for s in stories]
        click.echo(json.dumps({"schema": "gen4emu.results.history/1", "files": [str(path) for path in files],
                               "cases": found}, indent=1))
        return 0
    for story in stories:
        last = next(line for line in reversed(story.lines) if line is not None)
        click.echo(printable(f"{_row(story.lines)}  {label(last)}"))
    return 0


def _row(lines: tuple[Line | None, ...]) -> str:
    marks, before = [], ""
    for line in lines:
        if line is None:
            marks.append("-")
            continue
        changed = bool(before and line.digest and line.digest != before)
        marks.append("*" if changed and line.outcome is Outcome.PASS else _MARKS[line.outcome])
        before = line.digest or before
    return "".join(marks)


def _counts(lines: list[Line]) -> str:
    counts = Counter(line.outcome for line in lines)
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome]) or "no results"
