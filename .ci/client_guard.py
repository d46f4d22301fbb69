"""A pytest plugin for .ci/run: a skipped test that needs a real client program fails the run.

Such tests skip on a developer's machine that lacks the program.  Where the packages were just installed, a skip means
that the main claim of the project went untested.
"""

from __future__ import annotations

import pytest

_skipped: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and "client" in report.keywords and not hasattr(report, "wasxfail"):
        _skipped.append(report.nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if _skipped and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for name in _skipped:
        terminalreporter.write_line(f"client test skipped: {name}")
