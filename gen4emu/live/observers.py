"""What may be watched of a connection: captures and pictures do (gen4emu.live.recorder, gen4emu.live.pictures)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gen4emu.trace.events import Submission


@dataclass(frozen=True, slots=True)
class BufferUse:
    """A buffer that a submission names."""

    address: int
    size: int
    written: bool  # the batch may write it
    capture: bool  # belongs into an error state
    tiling: int
    pitch: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A frame is complete; address 0: nothing is shown."""

    address: int
    width: int
    height: int
    pitch: int
    tiling: int
    fourcc: int


class Observer:
    """Told of everything that one connection does; in its thread."""

    wants_targets = False  # whether the device shall keep what was drawn to

    def before(self, submission: Submission, buffers: Sequence[BufferUse]) -> None:
        """A submission is about to run."""

    def after(self, submission: Submission, buffers: Sequence[BufferUse]) -> None:
        """It has run, or hung."""

    def mark(self, mark: Mark) -> None:
        """A frame is complete."""

    def close(self) -> None:
        """The connection ends; memory is still there."""
