"""`gen4emu lint`: the rules that a trace breaks, for CI."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from gen4emu import trace as traces
from gen4emu.cli import options
from gen4emu.cli.sandbox_options import Confinement, confinement_options
from gen4emu.cli.terminal import Progress, Write, complain, damaged, output, some
from gen4emu.decode.document import Document
from gen4emu.decode.findings import Baseline, Finding, Report, damage_texts, findings
from gen4emu.decode.lint_rules import RULES, RuleSelection, Severity, rule_named
from gen4emu.decode.nodes import Item
from gen4emu.decode.options import Options
from gen4emu.errors import Gen4emuError, SelectionError
from gen4emu.hw.chips import Device
from gen4emu.trace.reader import Trace

SCHEMA = "gen4emu.lint/1"
_SEVERITIES = [severity.value for severity in Severity]


def _threshold(ctx: click.Context, param: click.Parameter, value: str) -> Severity:
    return Severity(value)


@click.command()
@click.argument("files", nargs=-1, metavar="TRACE...")
@click.option("--select", "--rule", "select", default="", metavar="RULE,-RULE,...",
              help="Only these rules, whatever their severity; with -, all but these.")
@click.option("--severity", "threshold", type=click.Choice(_SEVERITIES), default="warning", show_default=True,
              callback=_threshold, help="Report findings of this severity or worse.")
@click.option("--baseline", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Do not report the known findings that this file lists.")
@click.option("--update-baseline", is_flag=True, help="Write all findings to the baseline and report none.")
@click.option("--rules", is_flag=True, help="List the rules with their severities.")
@click.option("--explain", metavar="RULE", help="Explain a rule.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text (docs/json.md).")
@options.trace_options
@click.option("-o", "--output", "output_path", metavar="PATH", help="Write to this file.")
@confinement_options
@options.verbosity_options
def lint(files: tuple[str, ...], select: str, threshold: Severity, baseline: Path | None, update_baseline: bool,
         rules: bool, explain: str | None, as_json: bool, kind: str | None, base: int, device: Device | None,
         force_device: bool, partial: bool, output_path: str | None, confinement: Confinement) -> int:
    """Report the rules that traces break.

    Errors are commands that cannot be followed; warnings are state with which hardware may not do what the driver
    intended (docs/lint.md).

    \b
    Exit status: 0 clean, 1 findings, 2 bad input or damage.
    Examples:
      gen4emu lint trace.aub.xz
      gen4emu lint --severity info --select -message-at-m0 trace.aub.xz
      gen4emu lint --baseline lint.toml --update-baseline trace.aub.xz
    """
    if rules or explain is not None:
        with output(output_path, pager=False) as write:
            write(_rules(explain, as_json))
        return 0
    if not files:
        raise click.UsageError("name a TRACE, or --rules")
    if update_baseline and baseline is None:
        raise click.UsageError("--update-baseline needs --baseline FILE")
    try:
        selection = RuleSelection(select, threshold)
    except SelectionError as e:
        raise click.BadParameter(str(e), param_hint="--select") from None
    confinement.limit(", ".join(files))
    old = Baseline() if baseline is None or update_baseline else Baseline.read(baseline)
    report, errors = Report(selection, old), _Errors(partial)

    confinement.enter(*files, outputs=(baseline if update_baseline else None,
                                       None if output_path is None else Path(output_path)))

    def opened(file: str) -> Trace:
        return traces.open(file, device=device, force_device=force_device, base=base, kind=kind, again=True)

    found = report.sort(_all(files, opened, device, errors))
    if update_baseline and baseline is not None:
        return _update(baseline, found, errors)
    with output(output_path, pager=False) as write:
        if as_json:
            write_json(found, write, files, report, lambda: errors.texts)
        else:
            write_text(found, write, report)
    for line in old.stale(files):
        complain(f"{baseline}: {line}")
    return errors.status or (1 if report.reported else 0)


class _Errors:
    """Traces that cannot be read, or not completely."""

    def __init__(self, partial: bool) -> None:
        self.partial = partial  # damage is a warning
        self.texts: list[str] = []
        self.status = 0

    def failed(self, error: Gen4emuError) -> None:
        self.texts.append(str(error))
        self.status = 2
        complain(str(error))

    def damaged(self, file: str, document: Document) -> None:
        if not self.partial:
            self.texts += damage_texts(document)
        self.status = max(self.status, damaged(file, document.damage, self.partial))


def _all(files: Iterable[str], opened: Callable[[str], Trace], device: Device | None, errors: _Errors) \
        -> Iterator[Finding]:
    for file in files:
        try:
            trace = opened(file)
            document = Document(trace, file=file, container=trace.kind, device=device,
                                options=Options(lint=True, max_rows=0))
            yield from findings(_watched(document, trace), document, trace.has_marks())
        except Gen4emuError as e:
            errors.failed(e)
            continue
        errors.damaged(file, document)


def _watched(document: Document, trace: Trace) -> Iterator[Item]:
    progress = Progress(f"checking {document.file}", lambda: trace.fraction, scrolls=True)
    try:
        for item in document:
            progress.tick(lambda: some(document.number, "submission"))
            yield item
    finally:
        progress.done()


def _update(baseline: Path, found: Iterable[Finding], errors: _Errors) -> int:
    """Write a baseline of complete traces only: a finding after the damage of one would look new later."""
    new = Baseline()
    for finding in found:
        new.add(finding)
    if errors.status:
        complain(f"{baseline}: not written")
        return errors.status
    new.write(baseline)
    click.echo(f"{baseline}: {some(new.counts.total(), 'known finding')}")
    return 0


def write_text(found: Iterable[Finding], write: Write, report: Report) -> None:
    """A line for each finding, then how many of each rule."""
    for finding in found:
        write(f"{finding}\n")
    total = report.reported.total()
    write(f"{some(total, 'finding')}: {_by_rule(report.reported)}\n" if total else "no findings\n")
    for counts, text in ((report.known, "known"), (report.hidden, "not reported")):
        if counts:
            write(f"{text}: {_by_rule(counts)}\n")


def write_json(found: Iterable[Finding], write: Write, files: tuple[str, ...], report: Report,
               errors: Callable[[], list[str]]) -> None:
    """One document, a finding a line, written as they are found."""
    head = {"schema": SCHEMA, "file": files[0] if len(files) == 1 else None, "files": list(files)}
    write(f'{json.dumps(head)[:-1]}, "findings": [')
    separator = "\n"
    for finding in found:
        write(separator + json.dumps(finding.as_json()))
        separator = ",\n"
    texts = errors()
    status = 2 if texts else 1 if report.reported else 0
    counts = {name: dict(c.most_common()) for name, c in (
        ("reported", report.reported), ("known", report.known), ("not_reported", report.hidden))}
    write(f'\n], {json.dumps({"counts": counts, "errors": texts, "status": status})[1:]}\n')


def _by_rule(counts: Counter[str]) -> str:
    return ", ".join(f"{n} {rule} ({RULES[rule].severity.value})" for rule, n in counts.most_common())


def _rules(name: str | None, as_json: bool) -> str:
    if name is None:
        chosen = list(RULES.values())
    else:
        try:
            chosen = [rule_named(name)]
        except SelectionError as e:
            raise click.BadParameter(str(e), param_hint="--explain") from None
    if as_json:
        rules: list[dict[str, Any]] = [{"rule": r.name, "severity": r.severity.value, "text": r.text,
                                        "reason": r.reason} for r in chosen]
        return json.dumps({"schema": SCHEMA, "file": None, "rules": rules, "errors": [], "status": 0}, indent=1) + "\n"
    if name is not None:
        rule = chosen[0]
        return f"{rule.name} ({rule.severity.value}): {rule.text}\n" + (f"\n{rule.reason}\n" if rule.reason else "")
    wide = max(len(rule.name) for rule in chosen)
    return "".join(f"{rule.name:<{wide}}  {rule.severity.value:<7}  {rule.text}\n" for rule in chosen)
