"""Pytest collects `manifest.toml` files of traces: one test a trace (docs/check.md).

The plugin is loaded in every project of an environment.  So it imports nothing heavy, reads only files that look like
our manifests, and never raises while tests are collected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gen4emu.check.manifest import Case, Listing
    from gen4emu.check.results import Result
    from gen4emu.check.runner import Runner

_MANIFEST = "manifest.toml"
_MAX_BYTES = 1 << 20
_OURS = re.compile(rb"""
    ^ [ \t]* \[\[ [ \t]* trace [ \t]* \]\] [^\n]* \n  # a [[trace]] table
    (?: (?! [ \t]* \[ ) [^\n]* \n )*?                   # and in it, before any other header,
    [ \t]* file [ \t]* =                                 # a file
    """, re.MULTILINE | re.VERBOSE)
_RUNNER = pytest.StashKey["Runner"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("gen4emu").addoption(
        "--gen4emu-results", metavar="DIR", default=None,
        help="where traces that fail leave actual, expected and heat map (default: check-results below the root)")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A file named manifest.toml with a [[trace]] table that has a `file` is ours; all others are left alone."""
    if file_path.name != _MANIFEST or not _is_ours(file_path):
        return None
    return ManifestFile.from_parent(parent, path=file_path)


def _is_ours(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError:
        return False
    return len(data) <= _MAX_BYTES and _OURS.search(data) is not None


def pytest_unconfigure(config: pytest.Config) -> None:
    runner = config.stash.get(_RUNNER, None)
    if runner is not None:
        runner.close()


class ManifestFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        from gen4emu.check.manifest import read_manifest, unknown_names
        from gen4emu.errors import Gen4emuError

        try:
            manifest = read_manifest(self.path)
        except Gen4emuError as e:
            yield BrokenManifest.from_parent(self, name="manifest", text=str(e))
            return
        for case in manifest.cases:
            yield GoldenItem.from_parent(self, name=case.name, case=case, listings=manifest.listings)
        stale = unknown_names(manifest)
        if stale:
            yield BrokenManifest.from_parent(self, name="lists", text="\n".join(stale))


class BrokenManifest(pytest.Item):
    """A failing test for a manifest that cannot be read, or that lists traces that it does not have."""

    def __init__(self, *, text: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.text = text

    def runtest(self) -> None:
        raise GoldenMismatch(self.text)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"manifest {self.path.name}"


class GoldenItem(pytest.Item):
    """Replays one trace in a child process and compares its pictures."""

    def __init__(self, *, case: Case, listings: list[Listing], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.case, self.listings = case, listings

    def runtest(self) -> None:
        from gen4emu.check.results import Outcome
        from gen4emu.check.verdict import judge, skipped

        known = skipped(self.case, self.listings, None, update=False)
        if known is not None:
            pytest.skip(known.reason)
        [(_, result)] = self._runner().run([self.case])
        judge(result, self.listings)
        if result.outcome in (Outcome.EXPECTED_FAIL, Outcome.FLAKE):
            pytest.xfail(f"{result.outcome}: {result.reason or '; '.join(result.notes)}")
        if result.is_bad:
            raise GoldenMismatch(_text(result))

    def _runner(self) -> Runner:
        """The worker process of this session."""
        from dataclasses import replace

        from gen4emu.check.execute import Task
        from gen4emu.check.runner import Runner

        runner = self.config.stash.get(_RUNNER, None)
        if runner is None:
            runner = self.config.stash[_RUNNER] = Runner(Task())
        chosen = self.config.getoption("--gen4emu-results")
        results = self.config.invocation_params.dir / chosen if chosen else self.config.rootpath / "check-results"
        parent = self.path.parent
        if parent.is_relative_to(self.config.rootpath):
            parent = parent.relative_to(self.config.rootpath)
        runner.task = replace(runner.task, results=results.joinpath(*parent.parts[1 if parent.is_absolute() else 0:]))
        return runner

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        if isinstance(excinfo.value, GoldenMismatch):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"pictures of {self.case.name}"


def _text(result: Result) -> str:
    lines = [*result.messages]
    for picture in result.pictures:
        if picture.message:
            lines.append(f"{picture.name}: {picture.message}")
            lines += [f"  {kind}: {path}" for kind, path in (("actual", picture.actual), ("expected", picture.expected),
                                                             ("heat map", picture.heatmap)) if path is not None]
    return "\n".join([*lines, *result.log.splitlines()])


class GoldenMismatch(Exception):
    """A trace does not draw what its manifest expects."""
