"""All pairs of two executions: complete, in order, and the best ones where that can be known."""

from __future__ import annotations

import random
import time
from difflib import SequenceMatcher

import pytest

from gen4emu.bisect.pairing import Pair, pairs


def of_one_key(left: str, right: str) -> list[Pair]:
    return pairs([(c,) for c in left], [(c,) for c in right])


def longest(left: str, right: str) -> int:
    """The length of a longest common subsequence."""
    row = [0] * (len(right) + 1)
    for a in left:
        before = row
        row = [0]
        for j, b in enumerate(right):
            row.append(before[j] + 1 if a == b else max(before[j + 1], row[j]))
    return row[-1]


def check(found: list[Pair], left: int, right: int) -> None:
    """Every item once, in order."""
    assert [i for i, _ in found if i is not None] == list(range(left))
    assert [j for _, j in found if j is not None] == list(range(right))


def test_an_inserted_and_a_removed_draw_have_no_counterpart() -> None:
    assert of_one_key("abcd", "abxcd") == [(0, 0), (1, 1), (None, 2), (2, 3), (3, 4)]
    assert of_one_key("abcd", "acd") == [(0, 0), (1, None), (2, 1), (3, 2)]
    assert of_one_key("", "ab") == [(None, 0), (None, 1)]
    assert of_one_key("", "") == []


@pytest.mark.parametrize("seed", range(40))
def test_as_many_as_possible_are_paired(seed: int) -> None:
    choose = random.Random(seed)
    left, right = ("".join(choose.choices("abc", k=choose.randrange(40))) for _ in range(2))
    found = of_one_key(left, right)
    check(found, len(left), len(right))
    both = [(i, j) for i, j in found if i is not None and j is not None]
    assert all(left[i] == right[j] for i, j in both) and len(both) == longest(left, right)


def test_items_without_counterpart_cost_the_search_no_edits() -> None:
    """Thousands of them between others, of which none gets lost."""
    left, right = ([(f"{side} {n}",) if n % 8 else ("common", n) for n in range(16_000)] for side in ("left", "right"))
    started = time.process_time()
    found = pairs([(item,) for item in left], [(item,) for item in right])
    assert time.process_time() - started < 2, "seconds; it takes some hundredths of one"
    check(found, 16_000, 16_000)
    assert [i for i, j in found if i is not None and j is not None] == list(range(0, 16_000, 8))


def test_what_is_alike_in_every_way_is_paired_first() -> None:
    left = [("first", "quad"), ("second", "quad"), ("third", "quad")]
    right = [("new", "quad"), ("first", "quad"), ("2nd", "quad"), ("third", "quad")]
    assert pairs(left, right) == [(None, 0), (0, 1), (1, 2), (2, 3)]


def test_frames_keep_draws_that_are_all_alike_together() -> None:
    frame = [("end",)] + [("quad",)] * 4
    longer = [("end",)] + [("quad",)] * 5
    found = pairs(frame * 6, [*frame, *frame, *longer, *frame, *frame, *frame])
    assert [j for i, j in found if i is None] == [15]
    assert found[-1] == (29, 30)


@pytest.mark.parametrize("kind", ["same", "inserted", "random", "other"])
def test_ten_thousand_draws_take_little_time(kind: str) -> None:
    choose = random.Random(7)
    left = [(n % 10, n % 5) for n in range(10_000)]
    right = {"same": left, "inserted": [x for n, x in enumerate(left) for x in [x] * (1 + (n % 97 == 0))],
             "random": [(choose.randrange(1000), choose.randrange(300)) for _ in left],
             "other": [(-1, -2)] * len(left)}[kind]
    began = time.process_time()
    found = pairs(left, right)
    took = time.process_time() - began
    check(found, len(left), len(right))
    print(kind, took)
    assert took < 60, "seconds of the processor; it takes less than a fifth of that"
    matched = sum(i is not None and j is not None for i, j in found)
    if kind in ("same", "inserted"):
        assert matched == len(left)
    elif kind == "other":
        assert matched == 0
    else:
        common = SequenceMatcher(None, [k for _, k in left], [k for _, k in right], autojunk=False)
        assert matched > sum(block.size for block in common.get_matching_blocks()) // 2
