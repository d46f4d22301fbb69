"""The submission that a server executes before the first program arrives."""

from __future__ import annotations

from typing import Any

import pytest

from gen4emu.device.device import Device
from gen4emu.hw.chips import BY_NAME
from gen4emu.hw.chips import Device as Chip
from gen4emu.live import rehearsal
from gen4emu.live.server import Server

EXECUTING = [chip for chip in BY_NAME.values() if chip.executes]


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[Device]:
    """The devices of rehearsals that have ended, each with its counters."""
    found: list[Device] = []

    class Kept(Device):
        def close(self) -> None:
            assert not self.faults.counts and not self.findings.count and not any(e.count for e in self.events())
            super().close()
            found.append(self)

    monkeypatch.setattr(rehearsal, "Device", Kept)
    rehearsal.rehearse.cache_clear()
    return found


@pytest.mark.parametrize("chip", EXECUTING, ids=lambda chip: chip.name)
def test_a_chip_is_rehearsed_once_and_without_complaints(chip: Chip, closed: list[Any]) -> None:
    rehearsal.rehearse(chip)
    rehearsal.rehearse(chip)
    assert [(device.info, device.submissions, device.native) for device in closed] == [(chip, 2, None)]


def test_chips_that_do_not_execute_are_not_rehearsed(closed: list[Any]) -> None:
    for chip in BY_NAME.values():
        if not chip.executes:
            rehearsal.rehearse(chip)
    assert not closed


def test_a_server_rehearses_and_counts_nothing_of_it(closed: list[Any]) -> None:
    with Server(BY_NAME["g45"]) as server:
        pass
    assert len(closed) == 1
    assert server.totals.batches == server.totals.connections == 0


def test_a_server_without_memory_for_a_rehearsal_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any, **options: Any) -> Device:
        raise MemoryError

    monkeypatch.setattr(rehearsal, "Device", fail)
    rehearsal.rehearse.cache_clear()
    rehearsal.rehearse(BY_NAME["g45"])
    rehearsal.rehearse.cache_clear()  # so that later servers rehearse
