"""Two streams of draws side by side: those without a counterpart, and the first pair that differs."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import SequenceMatcher

from gen4emu.bisect.digests import DrawDigest, Stream

WINDOW = 512  # draws that are searched for a counterpart
_SURE = 3  # draws in a row that make a counterpart certain
MOST_LISTED = 1000  # draws without a counterpart that are kept
SIDES = ("left", "right")


@dataclass(slots=True)
class Pair:
    """Two draws that do the same work and write different pixels."""

    left: DrawDigest
    right: DrawDigest
    target: int  # the index of the first target that differs


@dataclass(slots=True)
class Alignment:
    """The result of going through two streams."""

    same: int = 0  # pairs with the same pixels before the first one that differs
    last_same: DrawDigest | None = None  # on the left
    unmatched: dict[str, list[DrawDigest]] = field(default_factory=lambda: {side: [] for side in SIDES})
    unmatched_count: int = 0
    first: Pair | None = None
    hangs: dict[str, str] = field(default_factory=dict)

    @property
    def differs(self) -> bool:
        return self.first is not None or self.unmatched_count > 0 or self.one_hangs

    @property
    def one_hangs(self) -> bool:
        return len(self.hangs) == 1

    @property
    def comparable(self) -> bool:
        """False if no draw of one side has a counterpart on the other, and not because a side hung before it."""
        return bool(self.same or self.first is not None or not self.unmatched_count or self.one_hangs)

    def leave_out(self, side: str, draws: list[DrawDigest]) -> None:
        self.unmatched_count += len(draws)
        listed = self.unmatched[side]
        listed += draws[:max(0, MOST_LISTED - len(listed))]


def align(left: Stream, right: Stream) -> Alignment:
    """Go through both streams up to the first pair of draws that differs."""
    found = Alignment()
    while found.first is None:
        pair = (left.window(1), right.window(1))
        if pair[0] and pair[1] and pair[0][0].key == pair[1][0].key:
            _compare(found, pair[0][0], pair[1][0])
            left.skip(1)
            right.skip(1)
        elif pair[0] or pair[1]:
            _resume(found, left, right)
        else:
            break
    found.hangs = {side: stream.hang for side, stream in zip(SIDES, (left, right), strict=True) if stream.hang}
    return found


def _compare(found: Alignment, left: DrawDigest, right: DrawDigest) -> None:
    target = left.first_difference(right)
    if target is None:
        found.same += 1
        found.last_same = left
    else:
        found.first = Pair(left, right, target)


def _resume(found: Alignment, left: Stream, right: Stream) -> None:
    """Skip the draws before the next ones that both sides have."""
    windows = left.window(WINDOW), right.window(WINDOW)
    keys = [[draw.key for draw in window] for window in windows]
    blocks = SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_matching_blocks()[:-1]
    block = next((b for b in blocks if b.size >= _SURE), max(blocks, key=lambda b: b.size, default=None))
    skipped = (len(windows[0]), len(windows[1])) if block is None else (block.a, block.b)
    for side, stream, window, count in zip(SIDES, (left, right), windows, skipped, strict=True):
        found.leave_out(side, window[:count])
        stream.skip(count)
