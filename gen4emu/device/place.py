"""The position of a draw in a trace: frame, submission and draw, all numbered from 0 (docs/identity.md)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any


class DrawKind(Enum):
    """The commands that have a draw number."""

    PRIMITIVE = "draw"
    BLIT = "blit"
    MEDIA_OBJECT = "media object"
    DISPATCH = "dispatch"  # of thread groups: GPGPU_WALKER

    __hash__ = object.__hash__  # that of Enum is executed in Python, and draws are counted by their kind

    @classmethod
    def of(cls, command: str) -> DrawKind:
        """The kind of the draw command with this name."""
        if "BLT" in command:
            return cls.BLIT
        if command.startswith("MEDIA"):
            return cls.MEDIA_OBJECT
        return cls.DISPATCH if command.startswith("GPGPU") else cls.PRIMITIVE


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A draw command of a trace.  Before the first draw of a submission: the next draw."""

    frame: int
    submission: int
    draw: int

    def __str__(self) -> str:
        return f"draw {self.draw}"

    @property
    def text(self) -> str:
        """All three numbers, for error messages."""
        return f"frame {self.frame}, submission {self.submission}, draw {self.draw}"

    def as_json(self) -> dict[str, int]:
        return {"frame": self.frame, "submission": self.submission, "draw": self.draw}


class DrawNumbers:
    """Numbers the draw commands of a device, across its engines."""

    __slots__ = ("address", "counts", "draw", "ended", "first", "kind", "total", "words")

    def __init__(self) -> None:
        self.total = 0  # draw commands that have begun
        self.counts = dict.fromkeys(DrawKind, 0)
        # The last one that has begun.
        self.draw = 0
        self.first = 0  # media objects run together: the first one of those that have not ended; else `draw`
        self.ended = True  # its results are in memory
        self.kind = DrawKind.PRIMITIVE
        self.address = 0
        self.words: memoryview = memoryview(b"").cast("I")

    def save(self) -> tuple[object, ...]:
        """Everything, for `load`."""
        return (self.total, tuple(self.counts.items()), self.draw, self.first, self.ended, self.kind, self.address,
                self.words.tobytes())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Take over what `save` has returned."""
        self.total, counts, self.draw, self.first, self.ended, self.kind, self.address, words = saved
        self.counts = dict(counts)
        self.words = memoryview(words).cast("I")

    def begin(self, kind: DrawKind, address: int, words: memoryview) -> None:
        """A draw command is about to run."""
        self.draw = self.total
        self.total += 1
        self.counts[kind] += 1
        if kind is not DrawKind.MEDIA_OBJECT or self.kind is not kind or self.ended:
            self.first = self.draw
        self.ended = False
        self.kind, self.address, self.words = kind, address, words

    def core_drew(self, primitives: int, blits: int, kind: DrawKind, address: int, words: memoryview) -> None:
        """Count primitives and blits that the core has run; the last one is of this kind, `words` at `address`."""
        self.total += primitives + blits
        self.counts[DrawKind.PRIMITIVE] += primitives
        self.counts[DrawKind.BLIT] += blits
        self.draw = self.first = self.total - 1
        self.ended = True
        self.kind, self.address, self.words = kind, address, words
