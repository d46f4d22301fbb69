"""Pytest collects `manifest.toml` files of golden pictures: one test a trace (docs/replay.md)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gen4emu.image.golden import MANIFEST, Case, check, read_manifest


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Only files named manifest.toml with [[trace]] tables are ours."""
    if file_path.name != MANIFEST or "[[trace]]" not in file_path.read_text(encoding="utf-8"):
        return None
    return ManifestFile.from_parent(parent, path=file_path)


class ManifestFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        for case in read_manifest(self.path):
            item = GoldenItem.from_parent(self, name=case.name)
            item.case = case
            yield item


class GoldenItem(pytest.Item):
    """Replays one trace and compares its pictures."""

    case: Case

    def runtest(self) -> None:
        result = check(self.case)
        if not result.passed:
            raise GoldenMismatch("\n".join(result.failures))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        if isinstance(excinfo.value, GoldenMismatch):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"golden pictures of {self.case.name}"


class GoldenMismatch(Exception):
    """A trace does not draw what its golden pictures show."""
