"""Places in a trace at which decoding can begin (gen4emu.decode.landmarks finds them), as indexes keep them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Landmark:
    """A submission at which decoding can begin, if a few before it are decoded, too."""

    submission: int
    draws: int  # before it
    needed: tuple[tuple[int, int], ...]  # the submissions whose state is still in force, and the draws before each
    kernels: int  # that were seen before it
    calls: int  # GL calls before it, whose draws come later
    topology: int | None  # that a command has set for the draws after it


@dataclass(frozen=True, slots=True)
class Landmarks:
    """The places at which decoding can begin."""

    places: tuple[Landmark, ...] = ()  # in the order of the trace
    kernels: tuple[bytes, ...] = ()  # the code of all kernels, by number
    has_gl: bool | None = None  # whether the trace has notes of GL calls, if that is known

    def before(self, draw: int) -> Landmark | None:
        """The last place before a draw."""
        at = bisect_right(self.places, draw, key=lambda place: place.draws)
        return self.places[at - 1] if at else None
