"""What the connections of a device server did, summed up when they end."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Hang:
    """A batch that hung."""

    program: str
    pid: int
    reason: str
    error_state: Path | None  # its file


@dataclass(frozen=True, slots=True)
class Capture:
    """A trace that is complete."""

    path: Path
    program: str
    submissions: int
    size_bytes: int


@dataclass(slots=True)
class Totals:
    """Sums over all connections that have ended."""

    opened: int = 0  # connections, also of those that only look at the device
    used: int = 0  # connections of drivers that worked with it
    connections: int = 0  # with a device
    batches: int = 0
    hangs: int = 0
    marks: int = 0
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    complaints: Counter[str] = field(default_factory=Counter)  # unmodelled operations, faults
    events: Counter[str] = field(default_factory=Counter)  # rules that kernels and messages broke


def number(count: int, noun: str, nouns: str = "") -> str:
    """`1 batch`, `2 batches`."""
    return f"{count} {noun if count == 1 else nouns or noun + 's'}"
