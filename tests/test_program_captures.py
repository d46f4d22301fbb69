"""Captures of the programs of tests/live on later generations: their pictures, and the memory after them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gen4emu._native import lib
from gen4emu.check.execute import Task, run_case
from gen4emu.check.manifest import Case, read_manifest
from gen4emu.core_enums import HierarchicalDepthMode
from gen4emu.device.options import Options
from gen4emu.device.replay import Replay
from gen4emu.trace.reader import open as open_trace
from tests.harness.counted_replays import count_lines
from tests.harness.device_contents import memory_digest

CASES = read_manifest(Path(__file__).parent.parent / "traces" / "programs").cases


def ids(case: Case) -> str:
    return case.name


def memory_after(case: Case, *, observed: bool = False, **options: Any) -> str:
    replay = Replay(open_trace(str(case.trace)), None, Options(**options), on_start=count_lines if observed else None)
    try:
        for _ in replay.frames():
            pass
        assert replay.device is not None
        return memory_digest(replay.device)
    finally:
        replay.close()


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_pictures_have_the_recorded_digests(case: Case) -> None:
    assert run_case(case, Task()).failures == []


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_memory_does_not_depend_on_workers_handlers_or_vectors(case: Case) -> None:
    expected = memory_after(case, workers=1)
    assert memory_after(case, workers=3) == expected
    assert memory_after(case, general_only=True) == expected
    before = lib.g4_variant_current()
    try:
        for variant in range(lib.g4_variant_best()):
            assert lib.g4_set_variant(variant) == lib.G4_OK
            assert memory_after(case, workers=2) == expected
    finally:
        lib.g4_set_variant(before)


@pytest.mark.parametrize("mode", [HierarchicalDepthMode.ON, HierarchicalDepthMode.STRICT])
@pytest.mark.parametrize("case", [c for c in CASES if c.name.startswith(("depth", "order", "samples"))], ids=ids)
def test_hierarchical_depth_does_not_depend_on_handlers_or_observers(case: Case, mode: HierarchicalDepthMode) -> None:
    expected = memory_after(case, workers=1, hierarchical_depth=mode)
    assert memory_after(case, workers=3, hierarchical_depth=mode) == expected
    assert memory_after(case, general_only=True, hierarchical_depth=mode) == expected
    assert memory_after(case, observed=True, hierarchical_depth=mode) == expected
