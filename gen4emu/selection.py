"""Selections of frames, submissions and draws: `4`, `100-120`, `4,9`, `0-1000/10`, `50-`, `all`, `@file`.

Every command that takes `--frames`, `--submissions` or `--draws` reads them with `Selection.parse`, so one notation
holds everywhere.  All three are numbered from 0, in the order of the trace.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from gen4emu.errors import SelectionError

_PART = re.compile(r"(\d{1,15})(?:(-)(\d{1,15})?)?(?:/(\d{1,15}))?|(?:all|\*)(?:/(\d{1,15}))?", re.IGNORECASE)
_MAX_FILE_BYTES = 1 << 20
_NO_END = 1 << 62


@dataclass(frozen=True, slots=True)
class Selection:
    """A set of numbers.  `text` is the notation that it was read from, for messages."""

    text: str = "all"
    ranges: tuple[range, ...] = field(default=(range(_NO_END),))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the notation; raises SelectionError that says which part is wrong."""
        return cls(text, tuple(_range(part.strip(), text) for part in _parts(text)))

    @property
    def is_all(self) -> bool:
        return any(r.start == 0 and r.stop == _NO_END and r.step == 1 for r in self.ranges)

    @property
    def first(self) -> int:
        """The smallest number."""
        return min(r.start for r in self.ranges)

    @property
    def last(self) -> int | None:
        """The largest number; None if there is no end."""
        largest = max(r[-1] if r.stop < _NO_END else _NO_END for r in self.ranges)
        return None if largest == _NO_END else largest

    def __contains__(self, number: object) -> bool:
        return any(number in r for r in self.ranges)

    def overlaps(self, first: int, last: int) -> bool:
        """Whether one of the numbers from `first` to `last`, both inclusive, is inside."""
        return any(_from(r, first) <= min(last, r.stop - 1) for r in self.ranges)

    def within(self, first: int, end: int | None) -> Selection | None:
        """The numbers from `first` up to, not including, `end`; None if there is none."""
        ranges = (range(_from(r, first), r.stop if end is None else min(r.stop, end), r.step) for r in self.ranges)
        found = tuple(r for r in ranges if r.start < r.stop)
        return Selection(self.text, found) if found else None

    def is_over(self, number: int) -> bool:
        """Whether `number` and everything after it is outside."""
        last = self.last
        return last is not None and number > last

    def require_any(self, count: int, noun: str, file: str) -> None:
        """Raise SelectionError unless one of the numbers is below `count`: how many there are of the noun."""
        if self.first < count:
            return
        there = f"it has {_some(count, noun)}" + (f", 0 to {count - 1}" if count > 1 else ", 0" if count else "")
        raise SelectionError(f"{file}: no {noun} {self.text}: {there}")


ALL = Selection()


def _from(numbers: range, least: int) -> int:
    """The first number of a range, were it endless, that is not below `least`."""
    return max(least + (numbers.start - least) % numbers.step, numbers.start)


def _some(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}" if count else f"no {noun}s"


def _parts(text: str) -> list[str]:
    if text.startswith("@"):
        text = _file(Path(text[1:]))
    return text.split(",")


def _file(path: Path) -> str:
    """A file of selections, separated by commas or white space; # starts a comment."""
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_FILE_BYTES + 1)
    except OSError as e:
        raise SelectionError(f"{path}: cannot be opened: {e.strerror or e}") from None
    if len(data) > _MAX_FILE_BYTES:
        raise SelectionError(f"{path}: a selection of more than {_MAX_FILE_BYTES >> 20} MiB")
    words = [word for line in data.decode("utf-8", "replace").splitlines()
             for word in re.split(r"[\s,]+", line.partition("#")[0]) if word]
    if not words:
        raise SelectionError(f"{path}: selects nothing")
    return ",".join(words)


def _range(part: str, text: str) -> range:
    found = _PART.fullmatch(part)
    if found is None:
        whole = f" in {text!r}" if part != text else ""
        raise SelectionError(f"invalid selection {part!r}{whole} (examples: 4  100-120  4,9  0-1000/10  50-  @file)")
    first, dash, last, step, step_of_all = found.groups()
    every = int(step or step_of_all or 1)
    if every == 0:
        raise SelectionError(f"invalid selection {part!r}: a step of 0")
    if first is None:
        return range(0, _NO_END, every)
    start = int(first)
    end = start if not dash and step is None else int(last) if last else _NO_END - 1
    if end < start:
        raise SelectionError(f"invalid selection {part!r}: it ends before it starts")
    return range(start, end + 1, every)
