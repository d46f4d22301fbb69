"""`gen4emu check`: replay the traces of manifests against golden pictures, for CI."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree

import click

from gen4emu.device.device import Options
from gen4emu.image.golden import Result, check_all, read_manifest
from gen4emu.image.picture import replacing


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("-j", "--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, show_default="processors",
              help="Traces replayed at the same time.")
@click.option("--update", is_flag=True, help="Make what is drawn now the golden pictures, and say what changed.")
@click.option("--results", type=click.Path(path_type=Path, file_okay=False), default="check-results",
              show_default=True, help="Where failures leave actual, expected and heat map.")
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), help="Write a JUnit report.")
def check(paths: tuple[Path, ...], jobs: int, update: bool, results: Path, junit: Path | None) -> int:
    """Replay the traces of manifests (TOML; a directory means its manifest.toml) and compare with golden pictures.

    \b
    Exit status: 0 all alike, 1 some differ, 2 bad input.
    Example:
      gen4emu check traces/ --junit report.xml
    """
    cases = [case for path in paths for case in read_manifest(path)]
    done: list[Result] = []
    for result in check_all(cases, results, update, jobs, Options(workers=1 if jobs > 1 else 0)):
        done.append(result)
        _say(result)
    failed = sum(not r.passed for r in done)
    click.echo(f"{len(done) - failed} passed, {failed} failed")
    if junit is not None:
        _write_junit(junit, done)
    return 1 if failed else 0


def _say(result: Result) -> None:
    word = "ok" if result.passed else "FAILED"
    click.echo(f"{result.case.name}: {word} ({result.pictures} pictures, {result.seconds:.2f} s)")
    for line in (*result.failures, *result.changes):
        click.echo(f"  {line}")


def _write_junit(path: Path, results: list[Result]) -> None:
    failed = sum(not r.passed for r in results)
    suite = ElementTree.Element("testsuite", name="gen4emu check", tests=str(len(results)), failures=str(failed),
                                time=f"{sum(r.seconds for r in results):.3f}")
    for result in results:
        case = ElementTree.SubElement(suite, "testcase", classname="gen4emu.check", name=result.case.name,
                                      time=f"{result.seconds:.3f}")
        for failure in result.failures:
            ElementTree.SubElement(case, "failure", message=failure)
    with replacing(path) as file:
        ElementTree.ElementTree(suite).write(file, encoding="utf-8", xml_declaration=True)
