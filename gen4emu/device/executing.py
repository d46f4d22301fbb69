"""The devices of this process that execute now, for another thread that shows how far they are."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Protocol

from gen4emu.device.place import Place


class Executes(Protocol):
    """What is needed of a device."""

    @property
    def place(self) -> Place:
        """The draw that runs, or ran last."""

    def step(self) -> object | None:
        """What that draw is doing, as text; None between draws."""


_lock = threading.Lock()  # while it is held, none of the devices can be closed
_devices: list[Executes] = []


class Executing:
    """Within a `with` block, `device` executes a submission or a batch."""

    __slots__ = ("_device",)

    def __init__(self, device: Executes) -> None:
        self._device = device

    def __enter__(self) -> None:
        _devices.append(self._device)  # without the lock: appending is atomic

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 traceback: TracebackType | None) -> None:
        with _lock:
            _devices.remove(self._device)


def now() -> str:
    """What is executed: "frame 2, submission 4, draw 12: tile 40 of 192"; empty if nothing is.

    Of several devices, of which all but one may rest inside a submission, that which draws.
    """
    with _lock:
        steps = [(device, device.step()) for device in _devices]
        if not steps:
            return ""
        device, step = next((pair for pair in reversed(steps) if pair[1] is not None), steps[-1])
        return device.place.text if step is None else f"{device.place.text}: {step}"
