"""`--check-depth`: all programs of these tests run with hierarchical depth buffers that are checked."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.checked.sitecustomize import LOG, check_depth

_totals: Counter[str] = Counter()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--check-depth", action="store_true",
                     help="run every program with --hiz on, and fail if an entry contradicts the depth buffer")


@pytest.fixture(scope="session")
def depth_log(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    if not request.config.getoption("--check-depth", default=False):
        return None
    path = tmp_path_factory.mktemp("depth") / "log"
    path.touch()
    paths = [str(Path(__file__).parent / "checked"), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ |= {LOG: str(path), "PYTHONPATH": os.pathsep.join(paths)}
    check_depth(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC))
    return path


@pytest.fixture(autouse=True)
def checked_depth(request: pytest.FixtureRequest, depth_log: Path | None) -> Iterator[None]:
    """Fails a test whose devices found a contradiction, unless it leaves out what the driver does against them."""
    if depth_log is None or request.node.get_closest_marker("contradicts_depth"):
        yield
        return
    before = depth_log.stat().st_size
    yield
    with depth_log.open() as file:
        file.seek(before)
        for line in file:
            found = json.loads(line)
            device = found.pop("device")
            _totals.update(found)
            _totals["devices"] += 1
            assert found["contradictions"] == 0, f"{device}: {line}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _totals:
        terminalreporter.write_line(
            f"hierarchical depth: {_totals['devices']} devices, {_totals['groups_tested']} groups tested, "
            f"{_totals['passed']} halves passed, {_totals['failed']} failed, {_totals['plane_exact']} decided by "
            f"planes, {_totals['undecided']} undecided, {_totals['contradictions']} contradictions")
