"""Signals that end a run; critical sections finish first."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """The first signal that ends a process raises KeyboardInterrupt.  Further ones are only listed."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self._held = 0
        self._raised = False

    @contextmanager
    def delivered(self) -> Iterator[None]:
        """Signals raise it in this block.  A signal that is already ignored stays ignored, as under nohup."""
        self.numbers = []
        self._raised = False
        before = {number: signal.signal(number, self._enter) for number in _ENDING
                  if signal.getsignal(number) is not signal.SIG_IGN}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """A block that signals do not interrupt.

        An exception inside Python's own library may leave a lock taken, for which other threads then wait forever.
        """
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
        self._raise()

    def _enter(self, number: int, frame: object) -> None:
        self.numbers.append(number)
        self._raise()

    def _raise(self) -> None:
        if self.numbers and not self._held and not self._raised:
            self._raised = True
            raise KeyboardInterrupt


INTERRUPTS = Interrupts()  # of the process
