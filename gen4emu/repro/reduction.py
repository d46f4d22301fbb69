"""Delta debugging: leaving out parts as long as something stays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

_T = TypeVar("_T")


def leave_out(items: Sequence[_T], stays: Callable[[list[_T]], bool], budget: int) -> list[_T]:
    """The items without ranges of them, in halves, quarters and so on, for which `stays` is true of the rest.

    `stays` is called at most `budget` times.
    """
    kept = list(items)
    size = len(kept)
    while size > 1 and budget > 0:
        size = -(-size // 2)
        at = 0
        while at < len(kept) and budget > 0:
            fewer = kept[:at] + kept[at + size:]
            budget -= 1
            if stays(fewer):
                kept = fewer
            else:
                at += size
    return kept
