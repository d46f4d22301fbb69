"""Delta debugging: leaving out parts as long as something stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

_T = TypeVar("_T")


def leave_out(items: Sequence[_T], stays: Callable[[list[_T]], bool], budget: int,
              announce: Callable[[Iterator[list[_T]]], object] = lambda following: None) -> list[_T]:
    """The items without ranges of them, in halves, quarters and so on, for which `stays` is true of the rest.

    `stays` is called at most `budget` times.  Before each call, `announce` gets the lists that `stays` would be called
    with after it, if it were false of all.
    """
    kept = list(items)
    size = len(kept)
    while size > 1 and budget > 0:
        size = -(-size // 2)
        at = 0
        while at < len(kept) and budget > 0:
            fewer = kept[:at] + kept[at + size:]
            budget -= 1
            announce(_after(kept, size, at))
            if stays(fewer):
                kept = fewer
            else:
                at += size
    return kept


def _after(kept: list[_T], size: int, at: int) -> Iterator[list[_T]]:
    while True:
        at += size
        if at >= len(kept):
            if size <= 1:
                return
            size, at = -(-size // 2), 0
        yield kept[:at] + kept[at + size:]
