"""`gen4emu selftest`: known digests on this host, and the facts about it that a bug report needs."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from gen4emu.selftest import cases, host

SCHEMA = "gen4emu.selftest/1"


@click.command()
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text (docs/json.md).")
def selftest(as_json: bool) -> int:
    """Check this installation: replay small traces in every way that this host supports, and compare digests.

    Takes about two seconds. Paste the output into a bug report. Exit status 1 means that a digest differs.

    \b
    Example:
      gen4emu selftest --json
    """
    facts, outcome = host.facts(), cases.run()
    status = 1 if outcome.findings else 0
    if as_json:
        document = {"schema": SCHEMA, "file": None, "host": facts, "ways": [way.name for way in outcome.ways],
                    "replays": outcome.replays, "seconds": round(outcome.seconds, 3),
                    "findings": [asdict(finding) for finding in outcome.findings], "errors": [], "status": status}
        click.echo(json.dumps(document, indent=1))
        return status
    width = max(map(len, facts))
    for name, value in facts.items():
        click.echo(f"{name:<{width}}  {value}")
    click.echo(f"{'ways':<{width}}  {'; '.join(way.name for way in outcome.ways)}")
    for finding in outcome.findings:
        click.echo(f"{finding.trace}: {finding.way}: {finding.message}")
    verdict = "ok" if not outcome.findings else f"FAILED: {len(outcome.findings)} differ"
    click.echo(f"{verdict} ({outcome.replays} replays, {outcome.seconds:.1f} s)")
    return status
