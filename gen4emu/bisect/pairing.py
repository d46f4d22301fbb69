"""All draws of two executions side by side: pairs, and draws that only one side has.

`align` walks two streams up to their first difference; this has both whole, and continues to their ends.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

Pair = tuple[int | None, int | None]  # indices on the left and on the right
_MOST_EDITS = 512  # of one search; time is at most draws * edits, memory edits * edits


def pairs(left: Sequence[Sequence[Hashable]], right: Sequence[Sequence[Hashable]]) -> list[Pair]:
    """Pair the items of two sequences, in order; every item occurs once.

    An item has keys, the strictest one first.  The first keys are matched over everything, the next ones in the gaps
    that are left, and so on: what is alike in every way is matched before what is alike in one.
    """
    gaps = [(0, len(left), 0, len(right))]
    matched: list[tuple[int, int]] = []
    for level in range(len(next(iter(left or right), ()))):
        keys = [item[level] for item in left], [item[level] for item in right]
        still: list[tuple[int, int, int, int]] = []
        for a, a_end, b, b_end in gaps:
            found = [(a + i, b + j) for i, j in _common(keys[0][a:a_end], keys[1][b:b_end])]
            matched += found
            for i, j in [*found, (a_end, b_end)]:
                if i > a and j > b:
                    still.append((a, i, b, j))
                a, b = i + 1, j + 1
        gaps = still
    return _with_rest(sorted(matched), len(left), len(right))


def _with_rest(matched: list[tuple[int, int]], left: int, right: int) -> list[Pair]:
    found: list[Pair] = []
    a = b = 0
    for i, j in [*matched, (left, right)]:
        found += [(n, None) for n in range(a, i)]
        found += [(None, n) for n in range(b, j)]
        if i < left and j < right:
            found.append((i, j))
        a, b = i + 1, j + 1
    return found


def _common(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[int, int]]:
    """A longest common subsequence, where no part needs more edits than `_MOST_EDITS`; else a long one."""
    found: list[tuple[int, int]] = []
    # Items that one side alone has are in no pair, and would cost the search edits.
    in_both = set(left) & set(right)
    places = [[i for i, item in enumerate(side) if item in in_both] for side in (left, right)]
    items = [left[i] for i in places[0]], [right[j] for j in places[1]]
    a = b = 0
    while a < len(items[0]) and b < len(items[1]):
        matched, a, b = _search(*items, a, b)
        found += [(places[0][i], places[1][j]) for i, j in matched]
    return found


def _search(left: Sequence[Hashable], right: Sequence[Hashable], a: int,
            b: int) -> tuple[list[tuple[int, int]], int, int]:
    """Search from (a, b) on as in Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), 4.

    Returns the pairs, and where the search ended: at the end of both, or where most items were behind it.
    """
    width, height = len(left) - a, len(right) - b
    furthest = {1: 0}  # by diagonal, left minus right: how many items of the left side are behind
    history: list[dict[int, int]] = []
    best = 0, 0, 0, 0  # items behind, of them on the left, the diagonal, the edits
    for edits in range(min(_MOST_EDITS, width + height) + 1):
        history.append(dict(furthest))
        for k in range(-edits, edits + 1, 2):
            x, _ = _entered(furthest, k, edits)
            while x < width and x - k < height and left[a + x] == right[b + x - k]:
                x += 1
            furthest[k] = x
            if x <= width and x - k <= height and 2 * x - k > best[0]:
                best = 2 * x - k, x, k, edits
        if best[0] == width + height:
            break
    _, x, k, edits = best
    return [(a + i, b + j) for i, j in _backwards(history, x, k, edits)], a + x, b + x - k


def _entered(furthest: dict[int, int], k: int, edits: int) -> tuple[int, int]:
    """Where a diagonal is entered, and from which: from its neighbour that is further, by leaving out an item."""
    if k == -edits or (k != edits and furthest[k - 1] < furthest[k + 1]):
        return furthest[k + 1], k + 1
    return furthest[k - 1] + 1, k - 1


def _backwards(history: list[dict[int, int]], x: int, k: int, edits: int) -> list[tuple[int, int]]:
    """The pairs on the way to a place."""
    found: list[tuple[int, int]] = []
    for step in range(edits, -1, -1):
        entered, before = _entered(history[step], k, step)
        found += [(i, i - k) for i in range(x - 1, entered - 1, -1)]
        x, k = entered - (before < k), before
    return found[::-1]
