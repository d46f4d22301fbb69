"""Devices that are closed, and devices that are forgotten."""

from __future__ import annotations

import gc
import os
from typing import Any

import pytest

from gen4emu.decode.in_force import StateTracker
from gen4emu.device import device as module
from gen4emu.device.device import Device
from gen4emu.hw.chips import BY_NAME


@pytest.fixture
def freed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The devices of the core that have been freed."""
    found: list[Any] = []
    free = module._free_native

    def noted(native: Any, memory: Any, process: int) -> None:
        found.append(native)
        free(native, memory, process)

    monkeypatch.setattr(module, "_free_native", noted)
    return found


@pytest.mark.parametrize("chip", ["965gm", "g45", "ivb", "hsw", "kbl"])
def test_a_device_that_is_forgotten_is_freed(chip: str, freed: list[Any]) -> None:
    device = Device(BY_NAME[chip])
    StateTracker(device)
    native = device.native
    del device
    gc.collect()
    assert native in freed


def test_a_device_is_freed_once(freed: list[Any]) -> None:
    device = Device(BY_NAME["g45"])
    native = device.native
    device.close()
    device.close()
    del device
    gc.collect()
    assert freed.count(native) == 1


def test_a_copy_of_the_process_does_not_wait_for_threads_that_it_does_not_have() -> None:
    device = Device(BY_NAME["g45"])
    child = os.fork()
    if child == 0:
        del device
        gc.collect()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    device.close()
