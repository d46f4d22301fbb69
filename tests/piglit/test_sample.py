"""Fixed samples of piglit on emulated devices: what silicon passes, they pass, without a word from the driver."""

from __future__ import annotations

import os
import warnings

import pytest

from gen4emu.suite.piglit import profiles, runner
from gen4emu.suite.piglit.expectations import Expectations, Summary, Verdict, sample
from tests.live.real_client import missing

REASON = missing() or ("" if profiles.root() else "piglit is not installed")


@pytest.mark.long
@pytest.mark.client
@pytest.mark.skipif(bool(REASON), reason=REASON)
@pytest.mark.parametrize(("device", "least"), [("g41", 600), ("ivb", 400), ("hsw", 400), ("kbl", 400)])
def test_the_sample_passes_where_silicon_does(device: str, least: int) -> None:
    names = sample(device).read_text().splitlines()
    tests = [test for profile in ("quick_gl", "quick_shader") for test in profiles.load(profile) if test.name in names]
    assert {test.name for test in tests} == set(names)
    with runner.server(device) as server:
        outcomes = list(runner.run(tests, server, os.cpu_count() or 1, seconds=120))
    summary = Summary.of(outcomes, Expectations.of(device), server.rest)
    assert (summary.bad, summary.stale, summary.warnings) == ([], [], {}), summary.text()
    assert summary.counts[Verdict.PASS] > least
    # One run in some ten thousand stalls after its last batch, for a reason not known: seen once, never reproduced.
    assert len(summary.stalls) <= 1, summary.text()
    if summary.stalls:
        warnings.warn(summary.text(), stacklevel=1)
