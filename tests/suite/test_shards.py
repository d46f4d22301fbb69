"""Shards: every case is in exactly one, and with durations they take the same time."""

from __future__ import annotations

import pytest

from gen4emu.errors import SelectionError
from gen4emu.suite.shards import Shard

NAMES = [f"case-{i}" for i in range(200)]


def parts(count: int, seconds: dict[str, float]) -> list[list[str]]:
    return [Shard(i + 1, count).of(NAMES, seconds) for i in range(count)]


@pytest.mark.parametrize("seconds", [{}, {name: float(i * i) for i, name in enumerate(NAMES)}])
@pytest.mark.parametrize("count", [1, 3, 7])
def test_every_case_is_in_one_shard_in_order(count: int, seconds: dict[str, float]) -> None:
    found = parts(count, seconds)
    assert sorted(name for part in found for name in part) == sorted(NAMES)
    assert all(part == sorted(part, key=NAMES.index) for part in found)


def test_durations_balance_shards() -> None:
    seconds = {name: 1000.0 if name == "case-7" else 10.0 for name in NAMES}
    times = sorted(sum(seconds[name] for name in part) for part in parts(2, seconds))
    assert times == [1490.0, 1500.0]


def test_a_case_without_a_duration_counts_as_the_median() -> None:
    seconds = {"case-0": 1.0, "case-1": 1.0, "case-2": 9.0}
    found = [Shard(i, 2).of([*seconds, "new"], seconds) for i in (1, 2)]
    assert found == [["case-2"], ["case-0", "case-1", "new"]]


def test_a_new_case_moves_no_other_case_of_a_hashed_shard() -> None:
    before, after = Shard(1, 3).of(NAMES, {}), Shard(1, 3).of(["new", *NAMES], {})
    assert [name for name in after if name != "new"] == before


@pytest.mark.parametrize("text", ["0/2", "3/2", "1/0", "1", "a/b", "-1/2", "1/2/3"])
def test_invalid_shards_are_refused(text: str) -> None:
    with pytest.raises(SelectionError, match="shard"):
        Shard.parse(text)
